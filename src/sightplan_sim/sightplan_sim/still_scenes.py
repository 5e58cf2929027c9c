"""Base class of scene sources whose scenes have no motion."""

from __future__ import annotations

from typing import Any

from sightplan.model.errors import InputError
from sightplan.model.region import Point
from sightplan.model.scene import TraceTask
from sightplan_sim.closing import Closing


class StillScenes(Closing):
    """Source of scenes without motion tasks."""

    def follow(self, scene_id: str, task: TraceTask, trace: tuple[Point, ...]) -> dict[str, Any]:
        """Refuse: scenes of this source have no motions. See ``model.scene.SceneSource``.

        Raises:
            InputError: always.
        """
        raise InputError(f'{scene_id}: such scenes have no motions to draw')
