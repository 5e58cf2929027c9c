"""Install the simulated worlds."""

from setuptools import find_packages, setup

NAME = 'sightplan_sim'

setup(
    name=NAME,
    version='0.2.0',
    description='PyBullet worlds for sightplan',
    license='Apache-2.0',
    maintainer='sightplan developers',
    maintainer_email='maintainers@sightplan.invalid',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed', *(f'**/*.{kind}' for kind in (
        'yaml', 'json', 'md', 'txt', 'urdf', 'obj', 'mtl', 'png', 'npz'))]},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
    ],
    zip_safe=False,
    python_requires='>=3.11',
    install_requires=[
        'numpy',
        'opencv-python-headless',
        'pybullet',
        'sightplan',
        'sightplan_arm',
    ],
    extras_require={'paths': ['sightplan_suites'], 'test': ['pytest']},
    # A world is found by the name of the domain it shows.
    entry_points={
        'sightplan.worlds': [
            'blocksworld = sightplan_sim.blocksworld:make_world',
            'household = sightplan_sim.household:make_world',
            'sliding = sightplan_sim.sliding:make_world',
            'tabletop = sightplan_sim.tabletop.world:make_world',
        ],
        'sightplan.scenes': [
            'blocksworld = sightplan_sim.blocksworld.pointing:make_source',
            'household = sightplan_sim.household.pointing:make_source',
            'tabletop = sightplan_sim.tabletop:make_source',
        ],
        'sightplan.grounded_plan_scenes': [
            'tabletop = sightplan_sim.tabletop.grounded_scenes:make_source',
        ],
    },
)
