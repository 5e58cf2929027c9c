"""``sightplan up``: run a graph with all its processes."""

from sightplan.graphs.up import add_parser

__all__ = ['add_parser']
