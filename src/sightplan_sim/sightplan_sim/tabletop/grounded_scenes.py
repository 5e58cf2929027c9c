"""Pictures of tables to tidy, with instructions and the true plan of each in the picture."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Container, Iterator

import cv2
import numpy as np

from sightplan.domains import Domain
from sightplan.model import Problem
from sightplan.model.errors import WorldError
from sightplan.model.grounded_plan import (
    GroundedPlanScene,
    GroundedPlanTask,
    PlanBlock,
    PlanUnit,
    UnitKind,
)
from sightplan.model.region import Form, Mask, Region, TrueThing
from sightplan.model.scene import Piece
from sightplan_sim.closing import Closing
from sightplan_sim.tabletop.arrangements import NoRoomError, arrange
from sightplan_sim.tabletop.cabinet import CABINET
from sightplan_sim.tabletop.meanings import NamedUnit, TidyTask
from sightplan_sim.tabletop.meshes import mesh_of
from sightplan_sim.tabletop.packing import Destination
from sightplan_sim.tabletop.references import arm_look
from sightplan_sim.tabletop.render import Painter
from sightplan_sim.tabletop.table import Table, turned
from sightplan_sim.tabletop.tidy_problems import problem_of
from sightplan_sim.tabletop.tidying import Tidying, tidying
from sightplan_sim.tabletop.visible import Visible
from sightplan_sim.tabletop.wants import want_table

ATTEMPTS, WANT_ATTEMPTS = 400, 4000
"""Largest numbers of draws for one scene."""
IMPLICIT = 'implicit_'
"""Begins the names of problems and scenes with implicit instructions."""
MOST_ALIKE = 0.4
"""Largest intersection over union of the boxes of two things."""
LEAST_SEEN = 0.5
"""Smallest visible fraction of a thing."""
LEAST_FRONT = 0.6
"""Smallest visible fraction of a drawer's front."""
LEAST_FRONT_PX = 600
"""Smallest number of visible pixels of a drawer's front."""


class GroundedTables(Closing):
    """Makes scenes; implements ``GroundedPlanSource``.

    The truth about places: a thing's box is the tight box of its visible pixels. What is put into
    a tray, plate, bowl or crate is right in the box of that thing; what is put into a drawer is
    right in the drawer's box: of its front where it is closed in the picture, and of all that is
    seen of it where it is open. Drawers are pieces of their own beside the cabinet, which has
    their pixels, too.

    Holds a physics client to draw with. Not safe for threads; give each process one of its own.
    """

    def __init__(self) -> None:
        self._painter = Painter()
        self._last: tuple[tuple[int, str, bool, bool], tuple[Tidying, Visible]] | None = None

    def close(self) -> None:
        """Give the physics client back."""
        self._painter.close()

    def scene(
        self, seed: int, horizon: str, *, held_out: bool = True, explicit: bool = True
    ) -> GroundedPlanScene:
        """Make a scene; see ``sightplan.model.grounded_plan.GroundedPlanSource``."""
        found, visible = self._found(seed, horizon, held_out, explicit)
        optics, f = visible.view.optics, visible.view.optics.focal_px
        name = scene_id(seed, horizon, held_out, explicit)
        return GroundedPlanScene(
            name, visible.frame.rgb, visible.frame.depth_m,
            (f, f, optics.width / 2, optics.height / 2), tuple(pieces(found, visible)),
            tuple(grounded(task, found, visible, f'{name}/1') for task in found.tasks))

    def tidying(
        self, seed: int, horizon: str, *, held_out: bool = True, explicit: bool = True
    ) -> Tidying:
        """Table of a scene with the meaning of its instructions: the truth, not for methods.

        Raises:
            InputError: there is no such horizon.
        """
        return self._found(seed, horizon, held_out, explicit)[0]

    def problem(self, domain: Domain, seed: int, horizon: str, *, explicit: bool = True,
                ) -> Problem | None:
        """The planning problem of a held-out scene, called by its horizon and seed.

        None if the instruction leaves open which of several goals is reached.

        Args:
            domain: ``tabletop``.
            seed: see ``scene``.
            horizon: likewise.
            explicit: likewise.

        Raises:
            InputError: there is no such horizon.
        """
        found = self.tidying(seed, horizon, explicit=explicit)
        if found.has_several_goals:
            return None
        return problem_of(found, domain, f'{"" if explicit else IMPLICIT}{horizon}_{seed}')

    def _found(
        self,
        seed: int,
        horizon: str,
        held_out: bool,
        explicit: bool,
    ) -> tuple[Tidying, Visible]:
        """The table of a scene and its picture; those of the last scene are kept."""
        key = (seed, horizon, held_out, explicit)
        if self._last is None or self._last[0] != key:
            self._last = key, self._searched(*key)
        return self._last[1]

    def _searched(
        self,
        seed: int,
        horizon: str,
        held_out: bool,
        explicit: bool,
    ) -> tuple[Tidying, Visible]:
        draw, attempts = (arrange, ATTEMPTS) if explicit else (want_table, WANT_ATTEMPTS)
        for attempt in range(attempts):
            try:
                found = tidying(draw(seed, horizon, held_out, attempt))
            except NoRoomError:
                continue
            table = found.arrangement.table
            by_arm = dataclasses.replace(table, look=arm_look(table.look))
            frames = self._painter.draw_both(table, by_arm.look)
            for shown in (by_arm, table):
                visible = Visible(shown, next(frames))
                if not is_clear(found, visible):
                    break
            else:
                return found, visible
        raise WorldError(
            f'no table to tidy was found for seed {seed} and horizon {horizon} in '
            f'{attempts} attempts; take another seed'
        )


def scene_id(seed: int, horizon: str, held_out: bool, explicit: bool = True) -> str:
    """Id of a scene, such as ``tabletop/held_out/short/7``."""
    return (
        f'tabletop/{"held_out" if held_out else "training"}/'
        f'{"" if explicit else IMPLICIT}{horizon}/{seed}'
    )


def make_source() -> GroundedTables:
    """A source of scenes; see ``GroundedTables``."""
    return GroundedTables()


def is_clear(found: Tidying, visible: Visible) -> bool:
    """Whether enough of everything is seen, and no two things have nearly the same box.

    Of drawers only those count that the tasks are about. What the picture's edge cuts off is not
    seen enough, however much of it is: nobody can tell where its middle is.
    """
    things = [one.name for one in found.arrangement.table.things]
    drawers = [found.arrangement.destinations[name] for name in found.arrangement.drawers]
    if not (
        all(visible.shows_thing(name, LEAST_SEEN) for name in things)
        and all(_shows_front(one, found, visible) for one in drawers)
    ):
        return False
    masks = [visible.thing(name) for name in things
             if found.arrangement.table.named(name).thing.category != CABINET]
    masks += [mask_of(one, found, visible) for one in drawers]
    if any(_is_cut_off(mask) for mask in masks):
        return False
    boxes = [box_of(mask) for mask in masks]
    return all(_overlap(one, other) <= MOST_ALIKE
               for one, other in itertools.combinations(boxes, 2))


def _is_cut_off(mask: Mask) -> bool:
    """Whether a mask reaches to an edge of the picture."""
    return bool(mask[[0, -1]].any() or mask[:, [0, -1]].any())


def _shows_front(drawer: Destination, found: Tidying, visible: Visible) -> bool:
    """Whether as much of a drawer is seen as most of its front would be."""
    cabinet = next(one for one in found.arrangement.table.things if one.thing is drawer.thing)
    part = next(one for one in cabinet.thing.parts if one.name == drawer.part)
    out = dict(cabinet.opened).get(drawer.part, 0.0)
    assert part.slide is not None
    corners = mesh_of(part.seen[:1]).vertices + np.array(part.slide.axis) * out
    ground = turned(corners[:, :2], cabinet.pose.yaw) + cabinet.pose.position[:2]
    pixels = visible.view.project(np.column_stack([ground, corners[:, 2]]))
    whole = cv2.contourArea(cv2.convexHull(pixels.astype(np.float32)))
    seen = int(np.count_nonzero(mask_of(drawer, found, visible)))
    return seen >= max(LEAST_FRONT * whole, LEAST_FRONT_PX)


def pieces(found: Tidying, visible: Visible) -> Iterator[Piece]:
    """All things of a table in a picture, and its drawers."""
    for one in found.arrangement.table.things:
        yield Piece(one.name, one.thing.category, visible.thing(one.name))
    for place in found.arrangement.destinations.values():
        if place.part and (mask := mask_of(place, found, visible)).any():
            yield Piece(place.name, place.kind, mask)


def true_thing(piece: Piece, table: Table, opened: Container[str]) -> TrueThing:
    """True category, colour and state of a thing or drawer in a picture.

    Args:
        piece: a thing or a drawer.
        table: what is shown.
        opened: names of the drawers that stand open.
    """
    if piece.category == 'drawer':
        level = 'top' if piece.name == 'drawer 1' else 'bottom'
        return TrueThing(piece.mask, f'drawer:{level}', opened=piece.name in opened)
    return TrueThing(piece.mask, piece.category, table.named(piece.name).thing.colour)


def mask_of(place: Destination, found: Tidying, visible: Visible) -> Mask:
    """(H, W) visible pixels of a destination."""
    if not place.part:
        return visible.thing(place.name)
    name = next(one.name for one in found.arrangement.table.things if one.thing is place.thing)
    return visible.part(name, place.part)


def grounded(task: TidyTask, found: Tidying, visible: Visible, pair: str) -> GroundedPlanTask:
    """A task with the places of its plan in a picture, from whichever camera.

    Args:
        task: one of ``found``.
        found: the table.
        visible: what is seen of it.
        pair: id of the pair.
    """
    blocks, *others = (
        tuple(
            PlanBlock(
                tuple(_unit(unit, found, visible) for unit in block.units),
                block.unordered,
                block.after,
            )
            for block in plan
        )
        for plan in (task.blocks, *task.others)
    )
    return GroundedPlanTask(
        task.instruction, task.explicit, blocks, pair, tuple(others), task.intentions
    )


def _unit(unit: NamedUnit, found: Tidying, visible: Visible) -> PlanUnit:
    def place(name: str) -> Region:
        return box_of(mask_of(found.arrangement.destinations[name], found, visible))
    if unit.kind is not UnitKind.PICK_PLACE:
        return PlanUnit(unit.kind, unit.target, place(unit.target))
    return PlanUnit(unit.kind, unit.target, box_of(visible.thing(unit.target)), unit.destination,
                    place(unit.destination), tuple((name, place(name)) for name in unit.others))


def box_of(mask: Mask) -> Region:
    """The tight box of a mask, in unit coordinates: the outer edges of its outermost pixels.

    Raises:
        ValueError: the mask is empty.
    """
    height, width = mask.shape
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        raise ValueError('an empty mask has no box')
    return Region(Form.BOX, ((int(columns[0]) / width, int(rows[0]) / height),
                             ((int(columns[-1]) + 1) / width, (int(rows[-1]) + 1) / height)))


def _overlap(one: Region, other: Region) -> float:
    """Intersection over union of two boxes."""
    (a, b), (c, d) = one.points
    (e, f), (g, h) = other.points
    both = max(0.0, min(c, g) - max(a, e)) * max(0.0, min(d, h) - max(b, f))
    return both / ((c - a) * (d - b) + (g - e) * (h - f) - both)
