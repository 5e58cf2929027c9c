"""Scene source of tables, by seed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from sightplan.model.errors import InputError
from sightplan.model.region import Point
from sightplan.model.scene import Piece, PointingScene, TraceTask
from sightplan_sim.closing import Closing
from sightplan_sim.tabletop.render import Painter
from sightplan_sim.tabletop.table import Table, sample_table
from sightplan_sim.tabletop.tasks import Asker
from sightplan_sim.tabletop.trace_following import Follower
from sightplan_sim.tabletop.traces import ask_traces
from sightplan_sim.tabletop.visible import Visible


class TabletopSource(Closing):
    """Makes scenes; holds a physics client to draw and one to move things, used again each time.

    Not safe for threads; give each process a source of its own.

    Args:
        traces: whether scenes have motions to draw, which take a third of the time.
    """

    def __init__(self, traces: bool = True) -> None:
        self._traces = traces
        self._painter = Painter()
        self._follower: Follower | None = None

    def close(self) -> None:
        """Give the physics clients back."""
        self._painter.close()
        if self._follower is not None:
            self._follower.close()
            self._follower = None

    def scene(self, seed: int, *, held_out: bool = True) -> PointingScene:
        """Make a scene with pointing tasks; see ``sightplan.model.scene.SceneSource``."""
        return self.show(sample_table(seed, held_out))

    def show(self, table: Table) -> PointingScene:
        """Render a table and ask about it."""
        frame = self._painter.draw(table)
        visible = Visible(table, frame)
        rng = np.random.default_rng([table.seed, int(table.held_out), 718])
        asker = Asker(visible, rng)
        optics = visible.view.optics
        f = optics.focal_px
        pieces = tuple(Piece(one.name, one.thing.category, mask) for one in table.things
                       if (mask := visible.thing(one.name)).any())
        return PointingScene(table.id, frame.rgb, frame.depth_m,
                             (f, f, optics.width / 2, optics.height / 2), pieces, asker.tasks(),
                             ask_traces(asker, visible, rng) if self._traces else ())

    def follow(self, scene_id: str, task: TraceTask, trace: tuple[Point, ...]) -> dict[str, Any]:
        """Drag a thing along a trace in physics; see ``sightplan.model.scene.SceneSource``.

        Raises:
            InputError: there is no such scene, the task is not one of it, or the trace has less
                than two points.
        """
        if self._follower is None:
            self._follower = Follower()
        return self._follower.follow(table_of(scene_id), task, trace)


def table_of(scene_id: str) -> Table:
    """The table of a scene.

    Raises:
        InputError: the id is not one of a table.
    """
    found = re.fullmatch(r'tabletop/(held_out|training)/(\d+)', scene_id)
    if found is None:
        raise InputError(f'{scene_id!r} is not a scene of a table; ids are such as '
                         'tabletop/held_out/7')
    return sample_table(int(found[2]), found[1] == 'held_out')


def make_source(traces: bool = True) -> TabletopSource:
    """A source of scenes; see ``TabletopSource``."""
    return TabletopSource(traces)
