"""Installation of the benchmarks' package."""

from setuptools import find_packages, setup

NAME = 'sightplan_bench'

setup(
    name=NAME,
    version='0.2.0',
    description='Benchmarks of sightplan: speed, safety, soak, robustness',
    license='Apache-2.0',
    maintainer='sightplan developers',
    maintainer_email='maintainers@sightplan.invalid',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed', '**/*.md']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
    ],
    zip_safe=False,
    python_requires='>=3.11',
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    entry_points={'sightplan.commands': ['bench = sightplan_bench.command:add_parser']},
)
