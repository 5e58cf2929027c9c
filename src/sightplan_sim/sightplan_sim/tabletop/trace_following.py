"""Carrying out a trace in physics: does a thing that is moved along it arrive?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightplan.model.errors import InputError, WorldError
from sightplan.model.region import Point
from sightplan.model.scene import TraceTask
from sightplan_sim.bullet import Bullet
from sightplan_sim.closing import Closing
from sightplan_sim.meshes import Floats
from sightplan_sim.tabletop.bodies import Body, add_thing, pose_of
from sightplan_sim.tabletop.shapes import Placed
from sightplan_sim.tabletop.table import Table, convex_gap, footprint, turned
from sightplan_sim.tabletop.traces import rays_of, to_table

STEP_S = 1 / 240
SPEED_M_S = 0.20
"""Speed with which a thing is dragged [m/s]."""
FORCE_N = 25.0
"""Most force with which it is dragged."""
LIFT_M = 0.001
"""Height above its place at which a thing slides, so that the table does not brake it [m]."""
SETTLE_STEPS = 60
GRIP_M = 0.03
"""A trace that begins on the table, not on the thing, begins at most this far from it."""
MOVED_M = 0.005
"""Distance from which a thing counts as moved [m]."""
TABLE_HALF_M = 0.05
"""Half the thickness of the table to stand on."""


@dataclass(frozen=True, slots=True)
class _Scene:
    """Bodies in the client, by name, and where they were once they had come to rest."""

    bodies: Mapping[str, Body]
    at: Mapping[str, Floats]


class Follower(Closing):
    """Drags things along traces, in a physics client of its own."""

    def __init__(self) -> None:
        self._bullet = Bullet()

    def close(self) -> None:
        """Give the client back."""
        self._bullet.close()

    def follow(self, table: Table, task: TraceTask, trace: tuple[Point, ...]) -> dict[str, Any]:
        """Drag the task's thing along a trace.

        The thing's frame, on the table in the middle of its foot, is taken from where it is to
        the second point of the trace and so on: points of the trace are seen through to the
        table's plane. It keeps upright, and stops where the trace leaves the table.

        Args:
            table: with everything at its place.
            task: one of this table's.
            trace: two or more points, in unit coordinates.

        Returns:
            ``done``, ``reached``, ``touched`` and ``distance_m``, as ``SceneSource`` has them.

        Raises:
            InputError: the task is not one of this table, or a trace has less than two points.
        """
        if len(trace) < 2:
            raise InputError(f'a trace has two points or more, not {len(trace)}')
        goal = _named(table, task.goal.get('next_to', ''))
        moved = _named(table, task.piece)
        scene = self._build(table)
        if self._begins_on(table, scene, moved, trace[0]):
            touched = self._drag(table, scene, moved.name, self._way(table, trace))
        else:
            touched = set()
        gone = {name for name, body in scene.bodies.items()
                if math.dist(pose_of(self._bullet, body)[0], scene.at[name]) > MOVED_M}
        avoided = (touched | gone) & set(task.goal.get('avoid', ()))
        distance = convex_gap(*(self._outline(scene, one) for one in (moved, goal)))
        upright = pose_of(self._bullet, scene.bodies[moved.name])[1][2, 2] > 0.9
        reached = bool(upright and distance <= float(task.goal['reach_m']))
        return {'done': reached and not avoided, 'reached': reached, 'touched': sorted(avoided),
                'distance_m': round(distance, 4)}

    def _build(self, table: Table) -> _Scene:
        """Everything where it is at the start."""
        bullet = self._bullet
        bullet.resetSimulation()
        bullet.setGravity(0.0, 0.0, -9.81)
        bullet.setPhysicsEngineParameter(fixedTimeStep=STEP_S, numSolverIterations=30,
                                         deterministicOverlappingPairs=1)
        shape = bullet.createCollisionShape(
            bullet.GEOM_BOX, halfExtents=[*table.look.half_m, TABLE_HALF_M])
        top = bullet.createMultiBody(0.0, shape, -1, (0.0, 0.0, -TABLE_HALF_M))
        if top < 0:
            raise WorldError('PyBullet made no table')
        bodies = {one.name: add_thing(bullet, one.thing, one.pose, seen=False)
                  for one in table.things}
        for _ in range(SETTLE_STEPS):
            bullet.stepSimulation()
        return _Scene(bodies, {name: pose_of(bullet, body)[0] for name, body in bodies.items()})

    def _begins_on(self, table: Table, scene: _Scene, moved: Placed, start: Point) -> bool:
        """Whether a point of the picture is on a thing, or on the table under it or close by."""
        view = table.look.view()
        at = to_table(view, (start,))
        if np.isfinite(at).all() and convex_gap(at, self._outline(scene, moved)) < GRIP_M:
            return True
        ray, = rays_of(view, (start,))
        hit = self._bullet.rayTest(view.position_m.tolist(),
                                   (view.position_m + 5.0 * ray).tolist())[0]
        return bool(hit[0] == scene.bodies[moved.name].id)

    def _way(self, table: Table, trace: tuple[Point, ...]) -> list[Floats]:
        """The trace's points but the first on the table, up to where it leaves that."""
        half = np.array(table.look.half_m)
        way = []
        for point in to_table(table.look.view(), trace[1:]):
            if not (np.abs(point) <= half).all():  # NaN, too
                break
            way.append(point)
        return way

    def _drag(self, table: Table, scene: _Scene, name: str, way: Iterable[Floats]) -> set[str]:
        """Drag a thing along points (2,) of the plane.

        Returns the names of the things it touches.
        """
        bullet, body = self._bullet, scene.bodies[name]
        position, quaternion = bullet.getBasePositionAndOrientation(body.id)
        hold = bullet.createConstraint(body.id, -1, -1, -1, bullet.JOINT_FIXED, (0, 0, 0),
                                       (0, 0, 0), position, (0, 0, 0, 1), quaternion)
        # The frame's origin and the base's centre, whose constraint this is, differ.
        offset = np.array(position) - scene.at[name]
        target = np.array(scene.at[name])
        names = {other.id: key for key, other in scene.bodies.items() if key != name}
        touched: set[str] = set()
        for point in way:
            end = np.array([*point, scene.at[name][2] + LIFT_M])
            steps = max(1, math.ceil(math.dist(target, end) / (SPEED_M_S * STEP_S)))
            for place in target + np.linspace(0.0, 1.0, steps + 1)[1:, None] * (end - target):
                bullet.changeConstraint(hold, (place + offset).tolist(), quaternion,
                                        maxForce=FORCE_N)
                bullet.stepSimulation()
                touched |= {names[other] for contact in bullet.getContactPoints(bodyA=body.id)
                            if (other := contact[2]) in names and contact[9] > 0.0}
            target = end
        for _ in range(SETTLE_STEPS):
            bullet.stepSimulation()
        bullet.removeConstraint(hold)
        return touched

    def _outline(self, scene: _Scene, placed: Placed) -> Floats:
        """(N, 2) a thing's footprint where it is now."""
        origin, turn = pose_of(self._bullet, scene.bodies[placed.name])
        yaw = math.atan2(turn[1, 0], turn[0, 0])
        return turned(footprint(placed.thing), yaw) + origin[:2]


def _named(table: Table, name: str) -> Placed:
    try:
        return table.named(name)
    except KeyError as error:
        raise InputError(f'{table.id} has no {name!r}; it has '
                         f'{", ".join(one.name for one in table.things)}') from error
