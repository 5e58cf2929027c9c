"""Install the ROS 2 nodes."""

from setuptools import find_packages, setup

NAME = 'sightplan_nodes'
NODES = ('sim_bridge', 'grounder', 'symbolic_planner', 'vlm_planner', 'agent', 'metrics_recorder',
         'experiment', 'rerun_viewer', 'bag_player', 'arm_bridge', 'operator_console',
         'path_critic', 'arm_watcher')

setup(
    name=NAME,
    version='0.2.0',
    description='The ROS 2 nodes of sightplan',
    license='Apache-2.0',
    maintainer='sightplan developers',
    maintainer_email='maintainers@sightplan.invalid',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed', '**/*.yaml', '**/*.json', '**/*.md']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
    ],
    zip_safe=False,
    python_requires='>=3.11',
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    entry_points={
        'console_scripts': [f'{node} = {NAME}.{node}:main' for node in NODES],
        'sightplan.parts': [f'interfaces = {NAME}.interfaces'],
        'sightplan.commands': [f'do = {NAME}.do:add_parser',
                               f'security = {NAME}.policy:add_parser'],
    },
)
