"""Install the skills of arms."""

from setuptools import find_packages, setup

NAME = 'sightplan_arm'

setup(
    name=NAME,
    version='0.2.0',
    description='Symbolic actions as motions of a robot arm, behind a safety gate',
    license='Apache-2.0',
    maintainer='sightplan developers',
    maintainer_email='maintainers@sightplan.invalid',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed', *(f'**/*.{kind}' for kind in ('yaml', 'md', 'urdf'))]},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
    ],
    zip_safe=False,
    python_requires='>=3.11',
    install_requires=[
        'coal',
        'numpy',
        'opencv-python-headless',
        'pillow',
        'pin',
        'pydantic',
        'PyYAML',
        'scipy',
        'sightplan',
    ],
    extras_require={'test': ['pytest']},
    # Skills are found by the name of the domain whose actions they carry out.
    entry_points={
        'sightplan.skills': [
            'blocksworld = sightplan_arm.skills.blocksworld:make_skills',
            'sliding = sightplan_arm.skills.sliding:make_skills',
            'tabletop = sightplan_arm.skills.tabletop:make_skills',
        ],
        'sightplan.commands': ['arm = sightplan_arm.command:add_parser'],
        'sightplan.parts': ['robots = sightplan_arm.config'],
    },
)
