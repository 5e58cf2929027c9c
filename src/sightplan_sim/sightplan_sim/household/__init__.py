"""Household: homes of one to three rooms, and a robot that fetches and carries in them.

``make_world`` is the entry point of group ``sightplan.worlds``.
"""

from sightplan_sim.household.settings import Settings
from sightplan_sim.household.world import HouseholdWorld, make_world

__all__ = ['HouseholdWorld', 'Settings', 'make_world']
