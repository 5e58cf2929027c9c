"""Install the core: the whole of the thinking, without ROS."""

from setuptools import find_packages, setup

NAME = 'sightplan'

setup(
    name=NAME,
    version='0.2.0',
    description='Visual planning: predicates from pixels, symbolic plans, measured episodes',
    license='Apache-2.0',
    maintainer='sightplan developers',
    maintainer_email='maintainers@sightplan.invalid',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    # Data is found by kind, not listed file by file: a new domain or model is just a new folder.
    package_data={NAME: ['py.typed', *(f'**/*.{kind}' for kind in (
        'pddl', 'yaml', 'json', 'jsonl', 'safetensors', 'md', 'txt', 'jinja', 'msg', 'html', 'css',
        'gz', 'js'))]},
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
        'rosbags',
        'scipy',
        'unified-planning',
        'up-fast-downward',
    ],
    extras_require={
        'all': [
            'sightplan_arm', 'sightplan_belief', 'sightplan_models[openai,torch]',
            'sightplan_report', 'sightplan_sim[paths]', 'sightplan_suites[report]',
            'sightplan[bars]'],
        'bars': ['rich'],  # progress as a bar instead of lines
        'ray': ['ray'],
        'test': ['pytest'],
    },
    entry_points={
        'console_scripts': ['sightplan = sightplan.__main__:main'],
        'sightplan.commands': [f'{name} = sightplan.commands.{name}:add_parser' for name in (
            'doctor', 'problems', 'prompts', 'run', 'suite', 'sweep', 'up')],
        'sightplan.methods': [f'{name} = sightplan.agent.methods.{name}' for name in (
            'action', 'action_cot', 'ask', 'ask_cot', 'astar', 'compare', 'decoupled', 'ground',
            'ground_cot', 'ground_mem', 'ground_mem_cot', 'grounded_plan', 'human', 'idle',
            'moves', 'oracle', 'plan', 'plan_cot', 'random', 'random_valid', 'set_of_marks',
            'votes')],
    },
)
