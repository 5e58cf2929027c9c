"""Walk a split or folder of problems.

The arguments and nodes are those of config/graphs/experiment.yaml.
"""

import runpy
from pathlib import Path


def generate_launch_description():
    shared = runpy.run_path(str(Path(__file__).with_name('from_graph.py')))
    return shared['describe']('experiment')
