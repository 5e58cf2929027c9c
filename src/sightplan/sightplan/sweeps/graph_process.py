"""The program that ``graphs.make_graph`` starts: ``sightplan up experiment`` for one run.

It ends with the worker that started it, however that ended: it asks the kernel for a signal then.
The package does not import this module, as Python warns of a program that is imported already.
"""

from __future__ import annotations

import sys

from sightplan.graphs.graph import Graph
from sightplan.graphs.up import run_beside

if __name__ == '__main__':
    sys.exit(run_beside(sys.argv[1:], Graph.chosen))
