"""Install the benchmarks of five papers, and the paths that they compare."""

from setuptools import find_packages, setup

NAME = 'sightplan_suites'

setup(
    name=NAME,
    version='0.2.0',
    description='The benchmarks of five papers, and the paths that they compare',
    license='Apache-2.0',
    maintainer='sightplan developers',
    maintainer_email='maintainers@sightplan.invalid',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    # Data is found by kind, not listed file by file.
    package_data={NAME: ['py.typed', *(f'**/*.{kind}' for kind in (
        'yaml', 'json', 'jsonl', 'safetensors', 'md', 'txt', 'jinja', 'html', 'css', 'gz',
        'js', 'msg'))]},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
    ],
    zip_safe=False,
    python_requires='>=3.11',
    install_requires=[
        'numpy',
        'ompl',
        'opencv-python-headless',
        'pillow',
        'pydantic',
        'scipy',
        'shapely',
        'sightplan',
        'sightplan_belief',
    ],
    extras_require={'report': ['matplotlib', 'sightplan_report'], 'test': ['pytest']},
    entry_points={
        'sightplan.suites': [
            'grounded_plan = sightplan_suites.grounded_plan',
            'ivispar = sightplan_suites.ivispar',
            'patheval = sightplan_suites.patheval',
            'point_it_out = sightplan_suites.point_it_out',
            'predicates = sightplan_suites.predicates',
            'viplan = sightplan_suites.viplan',
        ],
        'sightplan.commands': [
            'paths = sightplan_suites.commands.paths:add_parser',
            'plan = sightplan_suites.commands.plan:add_parser',
        ],
    },
)
