"""Install models that answer: servers, local weights, shipped small ones, simulated ones."""

from setuptools import find_packages, setup

NAME = 'sightplan_models'

setup(
    name=NAME,
    version='0.2.0',
    description='Models that answer: servers, local weights, shipped small ones, simulated ones',
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
        'numpy',
        'pillow',
        'pydantic',
        'PyYAML',
        'scipy',
        'sightplan',
    ],
    extras_require={
        'openai': ['openai'],  # openai, decisions
        'serve': ['fastapi', 'uvicorn'],
        'torch': ['num2words', 'safetensors', 'tokenizers', 'torch',  # embedded,
                  'transformers'],  # transformers
        'test': ['pytest'],
    },
    entry_points={
        'sightplan.parts': ['confusion = sightplan_models._confusion'],
        'sightplan.commands': ['serve = sightplan_models.serve:add_parser'],
        'sightplan.backends': [
            'boxes = sightplan_models.boxes',
            'decisions = sightplan_models.decisions',
            'embedded = sightplan_models.embedded',
            'noisy_critic = sightplan_models.noisy_critic',
            'noisy_locator = sightplan_models.noisy_locator',
            'noisy_oracle = sightplan_models.noisy_oracle',
            'noisy_planner = sightplan_models.noisy_planner',
            'noisy_reader = sightplan_models.noisy_reader',
            'openai = sightplan_models.openai',
            'replay = sightplan_models.replay',
            'scripted = sightplan_models.scripted',
            'simulated = sightplan_models.simulated',
            'transformers = sightplan_models.transformers',
        ],
    },
)
