"""What makers of scenes in which nothing moves have in common."""

from __future__ import annotations

from typing import Any

from sightplan.model.errors import InputError
from sightplan.model.region import Point
from sightplan.model.scene import TraceTask
from sightplan_sim.closing import Closing


class StillScenes(Closing):
    """Their scenes have no motions to draw."""

    def follow(self, scene_id: str, task: TraceTask, trace: tuple[Point, ...]) -> dict[str, Any]:
        """See ``sightplan.model.scene.SceneSource``.

        Raises:
            InputError: always.
        """
        raise InputError(f'{scene_id}: such scenes have no motions to draw')
