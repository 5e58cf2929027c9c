"""The plan of a record: blocks of units, or a flat list of actions, checked and converted.

What is wrong is named with its field, such as ``plan.1.units.0.grasp.bbox``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightplan.model.grounded_plan import PlanBlock, PlanUnit, Primitive, UnitKind
from sightplan.model.region import Region
from sightplan.queries.coordinates import Size
from sightplan.runs.dataset import Unusable
from sightplan_suites.grounded_plan.coordinates import (
    Box,
    Coords,
    box_region,
    box_to_unit,
    in_order,
    numbers_of,
    point_to_unit,
)
from sightplan_suites.grounded_plan.fields import FieldTable, renamed
from sightplan_suites.grounded_plan.plan_texts import call_of, plain_step, worded_plan

MOST_ACTIONS = 400
MOST_PARTLY_ORDERED = 26
"""Largest number of units of a plan whose blocks say what they come after."""
PLACE_TOLERANCE = 0.025
"""Half an edge of the square around a true place that is given as a point, as a fraction of the
picture's diagonal; not of the paper."""
_EDGE = 1e-9  # rounding of a conversion, as a fraction of the picture


def checked_box(value: Any, coords: Coords, size: Size, where: str, name: str) -> Box:
    """A true box in unit coordinates.

    Args:
        value: as the record has it.
        coords: its convention.
        size: of the picture.
        where: file and line of the record.
        name: of the field.

    Raises:
        Unusable: it is no box, is out of order, or reaches beyond the picture.
    """
    numbers = numbers_of(in_order(value, coords), 4)
    if numbers is None:
        raise Unusable(where, f'{name} = {_short(value)} must be four finite numbers, as '
                       f'{coords} has them')
    box = box_to_unit(numbers, coords, size)
    if box[2] <= box[0] or box[3] <= box[1]:
        raise Unusable(where, f'{name} = {_short(value)} is out of order, or has no area, read as '
                       f'{coords} (correct the numbers or coords)')
    if min(box) < -_EDGE or max(box) > 1 + _EDGE:
        raise Unusable(where, f'{name} = {_short(value)} reaches beyond the picture of '
                       f'{size[0]} x {size[1]} pixels, read as {coords} (correct the numbers, '
                       'coords or image_size)')
    return box


def fitting(plan: Any, size: Size | None) -> list[Coords]:
    """The conventions in which all boxes of a plan are in order and within the picture.

    Args:
        plan: as a record has it.
        size: of the picture; None where it is not known.
    """
    boxes = list(_boxes(worded_plan(plan) if isinstance(plan, str) else plan))
    small = all(number <= 1 for box in boxes for number in box)
    width, height = size or (math.inf, math.inf)

    def fits(box: Sequence[float], coords: Coords) -> bool:
        x1, y1, x2, y2 = box
        if coords is Coords.PIXEL_XYWH:
            x2, y2 = x1 + x2, y1 + y2
        right, lower = coords.scale((width, height))  # type: ignore[arg-type]  # or infinite
        return 0 <= x1 < x2 <= right and 0 <= y1 < y2 <= lower
    return [coords for coords in Coords if boxes and small is (coords is Coords.UNIT_XYXY)
            and all(fits(box, coords) for box in boxes)]


def _boxes(plan: Any) -> Iterator[Sequence[float]]:
    """All boxes anywhere in plain data."""
    if numbers := numbers_of(in_order(plan, Coords.PIXEL_XYXY), 4):
        yield numbers
    elif isinstance(plan, Mapping | list):
        for entry in plan.values() if isinstance(plan, Mapping) else plan:
            yield from _boxes((call_of(entry) or {}) if isinstance(entry, str) else entry)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else f'{text[:77]}...'


@dataclass(frozen=True, slots=True)
class _Action:
    """An entry of a flat list, and where it stands."""

    primitive: Primitive
    entry: Mapping[str, Any]
    name: str

    @property
    def group(self) -> Any:
        return self.entry.get('group')

    @property
    def target(self) -> str:
        return str(self.entry.get('target', ''))


class RecordPlan:
    """The plan of a record, in either form.

    Attributes:
        notes: what is usable, but not as the paper has it.
    """

    def __init__(self, plan: Any, coords: Coords, size: Size, table: FieldTable, where: str,
                 place_tolerance: float | None = None) -> None:
        """Keep the plan to be read.

        Args:
            plan: as the record has it.
            coords: convention of its numbers.
            size: of the picture.
            table: names of fields.
            where: file and line of the record.
            place_tolerance: half an edge of the square around a place that is given as a point
                [px]; None: ``PLACE_TOLERANCE``.
        """
        self._plan, self._coords, self._size = plan, coords, size
        self._table, self._where, self._tolerance = table, where, place_tolerance
        self.notes: list[str] = []

    def blocks(self) -> tuple[PlanBlock, ...]:
        """Blocks of the plan.

        Raises:
            Unusable: something is wrong with it.
        """
        plan = self._plan
        if isinstance(plan, str):
            plan = worded_plan(plan)
        if isinstance(plan, list):
            plan = [entry if self._is_block(entry) else plain_step(entry, self._table)
                    for entry in plan]
        if not isinstance(plan, list) or not all(isinstance(entry, dict) for entry in plan) or (
                isinstance(self._plan, str) and not plan):
            raise self._wrong(f'plan = {_short(self._plan)} must be a list of blocks, or of '
                              'actions such as {"action": "grasp", "target": "cup", "bbox": [...]}'
                              ' or "grasp(cup, [x1, y1, x2, y2])"')
        if not 0 < len(plan) <= MOST_ACTIONS:
            raise self._wrong(f'plan has {len(plan)} entries (it has 1 to {MOST_ACTIONS})')
        nested = [self._is_block(entry) for entry in plan]
        if any(nested) and not all(nested):
            raise self._wrong(f'plan.{nested.index(False)}.units is missing (write blocks only, '
                              'or actions only)')
        return self._nested(plan) if all(nested) else self._flat(plan)

    def _is_block(self, entry: Any) -> bool:
        """Whether an entry of a plan holds units."""
        return isinstance(entry, dict) and not entry.keys().isdisjoint(self._table.block['units'])

    def _nested(self, plan: Sequence[Mapping[str, Any]]) -> tuple[PlanBlock, ...]:
        found = []
        for number, entry in enumerate(plan):
            block, name = renamed(entry, self._table.block), f'plan.{number}'
            order, units = block.get('order', 'sequential'), block['units']
            if order not in ('sequential', 'unordered'):
                raise self._wrong(f'{name}.order = {_short(order)} must be sequential or '
                                  'unordered')
            if not isinstance(units, list) or not 0 < len(units) <= MOST_ACTIONS or not all(
                    isinstance(unit, dict) for unit in units):
                raise self._wrong(f'{name}.units must be a list of one or more units')
            found.append(PlanBlock(tuple(
                self._unit(unit, f'{name}.units.{index}') for index, unit in enumerate(units)),
                order == 'unordered' and len(units) > 1, self._after(block, number, name)))
        if any(block.after is not None for block in found) and (
                sum(len(block.units) for block in found) > MOST_PARTLY_ORDERED):
            raise self._wrong(f'plan has blocks with after, and more than {MOST_PARTLY_ORDERED} '
                              'units (leave after out)')
        if sum(len(block.units) for block in found) > MOST_ACTIONS:
            raise self._wrong(f'plan has more than {MOST_ACTIONS} units')
        return tuple(found)

    def _after(self, block: Mapping[str, Any], number: int, name: str) -> tuple[int, ...] | None:
        """Numbers of the blocks that one comes after; None: all before it."""
        after = block.get('after')
        if after is None:
            return None
        if not isinstance(after, list) or not all(
                type(one) is int and 0 <= one < number for one in after):
            raise self._wrong(f'{name}.after = {_short(after)} must be a list of numbers of '
                              'earlier blocks, from 0')
        return tuple(sorted(set(after)))

    def _unit(self, entry: Mapping[str, Any], name: str) -> PlanUnit:
        kind = renamed(entry, self._table.action).get('action')
        if kind == UnitKind.PICK_PLACE:
            parts = []
            for part in (Primitive.GRASP, Primitive.PLACE):
                inner = entry.get(part)
                if not isinstance(inner, dict):
                    raise self._wrong(f'{name}.{part} is missing (every grasp has a place)')
                parts.append(_Action(part, renamed(inner, self._table.action), f'{name}.{part}'))
            return self._pair(*parts)
        if kind not in (UnitKind.OPEN, UnitKind.CLOSE):
            raise self._wrong(f'{name}.type = {_short(kind)} must be pick_place, open or close')
        return self._single(_Action(Primitive(kind), renamed(entry, self._table.action), name))

    def _flat(self, plan: Sequence[Mapping[str, Any]]) -> tuple[PlanBlock, ...]:
        actions = [self._action(entry, f'plan.{number}') for number, entry in enumerate(plan)]
        found: list[tuple[Any, PlanUnit]] = []
        waiting: _Action | None = None
        for action in actions:
            if waiting is not None and action.primitive is not Primitive.PLACE:
                raise self._no_place(waiting)
            if action.primitive is Primitive.GRASP:
                waiting = action
            elif action.primitive is not Primitive.PLACE:
                found.append((action.group, self._single(action)))
            elif waiting is None:
                raise self._wrong(f'{action.name} is a place without a grasp before it (add the '
                                  'grasp)')
            elif waiting.group != action.group:
                raise self._wrong(f'{action.name}.group = {_short(action.group)} differs from '
                                  f'that of its grasp, {_short(waiting.group)} (make them equal)')
            else:
                found.append((action.group, self._pair(waiting, action)))
                waiting = None
        if waiting is not None:
            raise self._no_place(waiting)
        return tuple(_grouped(found))

    def _action(self, entry: Mapping[str, Any], name: str) -> _Action:
        found = renamed(entry, self._table.action)
        said = found.get('action')
        try:
            return _Action(Primitive(str(said).strip().lower()), found, name)
        except ValueError:
            raise self._wrong(f'{name}.action = {_short(said)} must be grasp, place, open or '
                              'close') from None

    def _single(self, action: _Action) -> PlanUnit:
        return PlanUnit(UnitKind(action.primitive.value), action.target,
                        box_region(self._box(action)))

    def _pair(self, grasp: _Action, place: _Action) -> PlanUnit:
        region = self._box(place) if 'bbox' in place.entry else self._around(place)
        return PlanUnit(UnitKind.PICK_PLACE, grasp.target, box_region(self._box(grasp)),
                        place.target, box_region(region), tuple(self._others(place)))

    def _others(self, place: _Action) -> Iterator[tuple[str, Region]]:
        """Other places that are as right as a place."""
        others = place.entry.get('others', ())
        if not isinstance(others, list | tuple) or not all(
                isinstance(one, dict) for one in others):
            raise self._wrong(f'{place.name}.others = {_short(others)} must be a list of places '
                              '(write {"target": ..., "bbox": [...]})')
        for number, one in enumerate(others):
            other = _Action(Primitive.PLACE, renamed(one, self._table.action),
                            f'{place.name}.others.{number}')
            yield other.target, box_region(self._box(other))

    def _box(self, action: _Action) -> Box:
        if 'bbox' not in action.entry:
            raise self._wrong(f'{action.name}.bbox is missing (add it)')
        return checked_box(action.entry['bbox'], self._coords, self._size, self._where,
                            f'{action.name}.bbox')

    def _around(self, place: _Action) -> Box:
        """The square around a true place that is given as a point."""
        value = place.entry.get('point')
        if value is None:
            raise self._wrong(f'{place.name}.bbox is missing (add it)')
        numbers = numbers_of(value, 2)
        if numbers is None:
            raise self._wrong(f'{place.name}.point = {_short(value)} must be two finite numbers')
        x, y = point_to_unit(numbers, self._coords, self._size)
        if not (0 <= x <= 1 and 0 <= y <= 1):
            raise self._wrong(f'{place.name}.point = {_short(value)} lies beside the picture')
        width, height = self._size
        tolerance = self._tolerance
        half = math.hypot(width, height) * PLACE_TOLERANCE if tolerance is None else tolerance
        if not (math.isfinite(half) and half > 0):
            raise self._wrong(f'place_tolerance = {tolerance} must be a number of pixels above 0')
        self.notes.append(f'{place.name} is a point, which the paper never has: points up to '
                          f'{half:.0f} pixels from it in x and in y are taken for right')
        return (max(0.0, x - half / width), max(0.0, y - half / height),
                min(1.0, x + half / width), min(1.0, y + half / height))

    def _no_place(self, grasp: _Action) -> Unusable:
        return self._wrong(f'{grasp.name} is a grasp that no place follows (every grasp has a '
                           'place, which is the next action)')

    def _wrong(self, reason: str) -> Unusable:
        return Unusable(self._where, reason)


def _grouped(units: Iterable[tuple[Any, PlanUnit]]) -> Iterator[PlanBlock]:
    """Blocks of neighbours: equal groups are one unordered block, units without one sequential."""
    own: list[PlanUnit] = []
    before: Any = None
    for group, unit in units:
        if own and group != before:
            yield PlanBlock(tuple(own), before is not None and len(own) > 1)
            own = []
        own.append(unit)
        before = group
    if own:
        yield PlanBlock(tuple(own), before is not None and len(own) > 1)
