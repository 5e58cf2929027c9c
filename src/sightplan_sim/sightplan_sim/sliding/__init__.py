"""Sliding puzzles: solid pieces on a labelled board, seen in 3D, in 2D or as a text.

``make_world`` is the entry point of group ``sightplan.worlds``; the renderers alone are
``sightplan_sim.sliding.drawing.make_scene``.
"""

from sightplan_sim.sliding.settings import Settings
from sightplan_sim.sliding.world import SlidingWorld, make_world, world_identity

__all__ = ['Settings', 'SlidingWorld', 'make_world', 'world_identity']
