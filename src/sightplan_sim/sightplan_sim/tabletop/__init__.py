"""Household things on a table, seen by a robot's camera, with the truth about things and parts.

``make_source`` makes scenes to point at. Another simulator takes ``sample_table`` and puts the
table's things into its client with ``add_thing``: each is one body with a link for every part.
"""

from sightplan_sim.tabletop.bodies import Body, add_thing, pose_of
from sightplan_sim.tabletop.shapes import Part, Placed, Pose, Thing
from sightplan_sim.tabletop.source import TabletopSource, make_source, table_of
from sightplan_sim.tabletop.table import Table, footprint_of, sample_table

__all__ = [
    'Body', 'Part', 'Placed', 'Pose', 'Table', 'TabletopSource', 'Thing', 'add_thing',
    'footprint_of', 'make_source', 'pose_of', 'sample_table', 'table_of',
]
