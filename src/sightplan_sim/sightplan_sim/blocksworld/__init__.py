"""Blocksworld: coloured cubes in labelled columns, seen by a camera.

``make_world`` is the entry point of group ``sightplan.worlds``; the renderer alone is
``sightplan_sim.blocksworld.scene``.
"""

from sightplan_sim.blocksworld.settings import Settings
from sightplan_sim.blocksworld.world import BlocksworldWorld, make_world, world_identity

__all__ = ['BlocksworldWorld', 'Settings', 'make_world', 'world_identity']
