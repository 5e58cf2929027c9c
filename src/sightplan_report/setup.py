"""Installation of the package of reports, explanations and pages."""

from setuptools import find_packages, setup

NAME = 'sightplan_report'

setup(
    name=NAME,
    version='0.2.0',
    description='Reports, explanations and pages: what people see of runs',
    license='Apache-2.0',
    maintainer='sightplan developers',
    maintainer_email='maintainers@sightplan.invalid',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    # Data is found by kind, not listed file by file.
    package_data={NAME: ['py.typed', *(f'**/*.{kind}' for kind in (
        'yaml', 'json', 'jsonl', 'safetensors', 'md', 'txt', 'jinja', 'html', 'css', 'gz',
        'js'))]},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
    ],
    zip_safe=False,
    python_requires='>=3.11',
    install_requires=[
        'jinja2',
        'matplotlib',
        'numpy',
        'opencv-python-headless',
        'pillow',
        'pyarrow',
        'pydantic',
        'sightplan',
    ],
    extras_require={
        'estimators': ['sightplan_belief'], 'rerun': ['rerun-sdk'], 'test': ['pytest']},
    entry_points={
        'sightplan.parts': [
            'contact_sheet = sightplan_report.contact_sheet',
            'marks = sightplan_report.marks',
            'picture = sightplan_report.picture',
            'rerun = sightplan_report.rerun_log',
        ],
        'sightplan.commands': [
            'explain = sightplan_report.commands.explain:add_parser',
            'failures = sightplan_report.commands.failures:add_parser',
            'label = sightplan_report.commands.label:add_parser',
            'play = sightplan_report.commands.play:add_parser',
            'replay = sightplan_report.commands.replay:add_parser',
            'report = sightplan_report.commands.report:add_parser',
        ],
    },
)
