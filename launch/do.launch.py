"""A world, a model, planner and agent that wait for goals.

The arguments and nodes are those of config/graphs/do.yaml.
"""

import runpy
from pathlib import Path


def generate_launch_description():
    shared = runpy.run_path(str(Path(__file__).with_name('from_graph.py')))
    return shared['describe']('do')
