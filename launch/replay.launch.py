"""Publish the topics of a bag again, with their clock.

The arguments and nodes are those of config/graphs/replay.yaml.
"""

import runpy
from pathlib import Path


def generate_launch_description():
    shared = runpy.run_path(str(Path(__file__).with_name('from_graph.py')))
    return shared['describe']('replay')
