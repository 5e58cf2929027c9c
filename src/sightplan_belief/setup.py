"""Install belief from uncertain answers: calibration, constraints, priors, joint beliefs."""

from setuptools import find_packages, setup

NAME = 'sightplan_belief'

setup(
    name=NAME,
    version='0.2.0',
    description='Belief from uncertain answers: calibration, constraints, priors, joint beliefs',
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
        'clingo',
        'numpy',
        'opencv-python-headless',
        'ortools',
        'pydantic',
        'PyYAML',
        'scipy',
        'sightplan',
    ],
    extras_require={'test': ['pytest']},
    entry_points={
        'sightplan.parts': [
            'calibration = sightplan_belief.learning.calibration',
            'estimates = sightplan_belief.replay.estimates',
            'locator = sightplan_belief.locate_picture',
            'observation_model = sightplan_belief.observation_model',
        ],
        'sightplan.methods': [
            'belief = sightplan_belief.methods.belief',
            'blind = sightplan_belief.methods.blind',
            'decode = sightplan_belief.methods.decode',
            'log_odds = sightplan_belief.methods.log_odds',
            'three_valued = sightplan_belief.methods.three_valued',
        ],
        'sightplan.commands': [
            'ask = sightplan_belief.commands.ask:add_parser',
            'calibrate = sightplan_belief.commands.calibrate:add_parser',
            'constraints = sightplan_belief.commands.constraints:add_parser',
            'estimate = sightplan_belief.commands.estimate:add_parser',
            'locate = sightplan_belief.commands.locate:add_parser',
            'priors = sightplan_belief.commands.priors:add_parser',
        ],
    },
)
