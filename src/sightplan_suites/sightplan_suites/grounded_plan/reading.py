"""Replies and lines of predictions as plans: steps in order, then units.

A reply is a JSON list of steps, or an object with ``actions``; it may stand in a fence or between
other words, and then the last one counts, also where it cannot be used or is empty. Objects that
are single steps are a plan only where there is no whole one, and steps in the paper's form
(``plan_texts``) only where there is nothing of JSON. A reply that refuses holds no plan. What is
wrong with a single step never spoils the others: an unknown verb is a unit that fails, and a
region that is not as it should be is none. Regions may reach beyond the picture.

Numbers are in the convention that was asked for. A reply may declare another one: by ``coords``,
or by the key ``box_2d``, with which Gemini's models write thousandths with y first. Numbers that
cannot be meant so are not guessed: the reply is unread, and the reason names what would fit.

An answer is plain JSON data: a list of steps with ``action`` (as it was said), ``target`` and
``region`` (``Region.to_json`` in unit coordinates, or null).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightplan.model import Region
from sightplan.model.grounded_plan import GroundedStep, Primitive, UnitKind
from sightplan.model.region import Form
from sightplan.model.reply_text import after_thoughts, refuses
from sightplan.model.sample import Sample
from sightplan.queries.coordinates import Size
from sightplan.runs.suite_parts import Unread
from sightplan_suites.grounded_plan.coordinates import (
    Box,
    Coords,
    box_from_unit,
    box_region,
    box_to_unit,
    doubtful,
    in_order,
    named_coords,
    numbers_of,
    point_from_unit,
    point_to_unit,
)
from sightplan_suites.grounded_plan.fields import FieldTable, field_table, renamed
from sightplan_suites.grounded_plan.plan_texts import (
    is_step,
    literal_plans,
    plain_step,
    worded_plan,
)

MOST_STEPS = 1000
_MOST_TARGET, _DIGITS = 200, 5
NO_PLAN = 'no plan: no JSON list of actions, and no lines such as grasp(cup, [x1, y1, x2, y2])'
"""Reason why a reply is unread that holds nothing like a plan."""
GEMINI_KEY = 'box_2d'
"""Name of a box that is in thousandths with y first, as Gemini's models write it."""
_BOX_KEYS = frozenset({'bbox', 'box', 'bbox_2d', GEMINI_KEY, 'target_bbox', 'bounding_box'})


@dataclass(frozen=True, slots=True)
class PredictedUnit:
    """Steps that are scored as one.

    Attributes:
        kind: None of what can never be right: an unknown verb, a grasp without a place, a place
            without a grasp.
        steps: numbers of its steps in the plan, from 0.
        target: what is grasped, opened or closed.
        region: of the target, or where its place was said.
        place: where it is placed.
        wrong: of what can never be right, the cause.
    """

    kind: UnitKind | None
    steps: tuple[int, ...]
    target: str = ''
    region: Region | None = None
    place: Region | None = None
    wrong: str = ''


UNKNOWN_VERB, UNPAIRED_GRASP, UNPAIRED_PLACE = 'unknown_verb', 'unpaired_grasp', 'unpaired_place'
"""Reasons why a unit can never be right."""


# ------------------------------------------------------------------------------------- replies


def read(text: str, item: Sample) -> list[dict[str, Any]]:
    """The steps of a reply; numbers are in the convention that the sample asks for.

    Raises:
        Unread: there is no plan in it.
    """
    return [step.to_json() for step in read_text(text, Coords(item.details['coords']),
                                                 size_of(item))]


def compose(item: Sample, steps: Sequence[GroundedStep]) -> list[dict[str, Any]]:
    """The answer that the steps of a planner are: places to a hundred-thousandth of the picture.

    Raises:
        Unread: there is no step, or there are too many.
    """
    if not steps:
        raise Unread('no action in the list')
    if len(steps) > MOST_STEPS:
        raise Unread(f'more than {MOST_STEPS} actions')
    return [GroundedStep(step.action, step.target[:_MOST_TARGET],
                         None if step.region is None else _rounded(step.region)).to_json()
            for step in steps]


def _rounded(region: Region) -> Region:
    return Region(region.form, tuple((round(x, _DIGITS), round(y, _DIGITS))
                                     for x, y in region.points))


def size_of(item: Sample) -> Size:
    """Width and height of a sample's picture."""
    width, height = item.details['image_size']
    return width, height


def read_text(text: str, coords: Coords, size: Size) -> list[GroundedStep]:
    """The steps of a reply.

    Args:
        text: the reply.
        coords: convention of its numbers, where it declares none.
        size: of the picture.

    Raises:
        Unread: there is no plan in it.
    """
    if not text.strip():
        raise Unread('empty reply')
    text = after_thoughts(text)
    if not text:
        raise Unread('the reply ends within its thoughts')
    if refuses(text):
        raise Unread('the reply says that no picture was seen, or that it will not answer')
    wholes, damaged = literal_plans(text, table := field_table())
    wrong = NO_PLAN
    for content in reversed(wholes):
        try:
            return read_steps(content, coords, size)
        except Unread as unread:
            wrong = str(unread)
            if _has_actions(content, table):
                raise  # it takes back what stands before it
    worded = [] if damaged or wrong != NO_PLAN else worded_plan(text)
    if not worded:
        raise Unread(wrong)
    return read_steps(worded, coords, size)


def _has_actions(content: Any, table: FieldTable) -> bool:
    """Whether JSON data is a plan, whether that can be used or not."""
    if isinstance(content, dict):
        content = renamed(content, table.prediction).get('actions')
        return isinstance(content, list | str)
    return any(is_step(entry, table) for entry in content)


def read_steps(content: Any, coords: Coords, size: Size, table: FieldTable | None = None,
               ) -> list[GroundedStep]:
    """The steps of a list of actions, or of an object that has one.

    Args:
        content: plain data; actions may also be a text in the paper's form.
        coords: convention of its numbers, where it declares none.
        size: of the picture.
        table: names of fields; None: those that are shipped.

    Raises:
        Unread: it is no such list, has no step, or its numbers cannot be meant as ``coords``.
    """
    table = table or field_table()
    declared = False
    if isinstance(content, dict):
        found = renamed(content, table.prediction)
        if declared := 'coords' in found:
            coords = declared_coords(found['coords'])
        content = found.get('actions')
    if isinstance(content, str):
        content = worded_plan(content)
    if not isinstance(content, list):
        raise Unread(NO_PLAN)
    if len(content) > MOST_STEPS:
        raise Unread(f'more than {MOST_STEPS} actions')
    if not any(is_step(entry, table) for entry in content):
        raise Unread('no action in the list')
    entries = [plain_step(entry, table) for entry in content]
    asked = coords
    if not declared:
        coords = _by_keys(entries, coords)
    steps = [_step(entry, coords, size, table) for entry in entries]
    if doubt := doubtful([step.region for step in steps if step.region is not None], coords, size):
        by_key = '' if coords is asked else f'{GEMINI_KEY} is in thousandths, y first, but '
        raise Unread(f'{by_key}{doubt}')
    return steps


def declared_coords(said: Any) -> Coords:
    """The convention that a reply or a line declares.

    Raises:
        Unread: there is none of this name; says which there are.
    """
    try:
        return named_coords(said)
    except ValueError as error:
        raise Unread(str(error)) from None


def _by_keys(entries: Iterable[Any], coords: Coords) -> Coords:
    """The convention of numbers by the names under which steps have them.

    Raises:
        Unread: some boxes are Gemini's ``box_2d``, and others are not.
    """
    boxes = {name for entry in entries if isinstance(entry, dict)
             for name in entry if name in _BOX_KEYS}
    if GEMINI_KEY not in boxes:
        return coords
    if len(boxes) > 1:
        raise Unread(f'some boxes are called {GEMINI_KEY} (thousandths, y first), others '
                     f'{", ".join(sorted(boxes - {GEMINI_KEY}))}: declare the convention of all '
                     'in "coords"')
    return Coords.PERMILLE_YXYX


def _step(entry: Any, coords: Coords, size: Size, table: FieldTable) -> GroundedStep:
    found = renamed(entry, table.action) if isinstance(entry, dict) else {}
    action = found.get('action', '')
    step = GroundedStep(action if isinstance(action, str) else '',
                        str(found.get('target', ''))[:_MOST_TARGET])
    box, point = _box(found.get('bbox'), coords, size), _point(found.get('point'), coords, size)
    wanted = (point, box) if step.primitive is Primitive.PLACE else (box, point)
    region = next((one for one in wanted if one is not None), None)
    return GroundedStep(step.action, step.target, region)


def _box(value: Any, coords: Coords, size: Size) -> Region | None:
    numbers = numbers_of(in_order(value, coords), 4)
    return None if numbers is None else _region(
        lambda: box_region(box_to_unit(numbers, coords, size)))


def _point(value: Any, coords: Coords, size: Size) -> Region | None:
    numbers = numbers_of(in_order(value, coords), 2)
    return None if numbers is None else _region(
        lambda: Region(Form.POINT, (point_to_unit(numbers, coords, size),)))


def _region(make: Any) -> Region | None:
    try:
        found: Region = make()
    except ValueError:  # a sum of numbers is not finite
        return None
    return found


# --------------------------------------------------------------------------------------- units


def units_of(steps: Sequence[GroundedStep]) -> tuple[list[PredictedUnit], int]:
    """The units of a plan, in the order of their first steps.

    A grasp opens a pair, and the next place closes it. A grasp before that leaves the earlier one
    unpaired. An opening or closing between grasp and place does not part them.

    Returns:
        the units; and how many pairs have another step between grasp and place.
    """
    units: list[PredictedUnit] = []
    interleaved = 0
    held: int | None = None
    for number, step in enumerate(steps):
        primitive = step.primitive
        if primitive is Primitive.GRASP:
            if held is not None:
                units.append(_unpaired(held, steps[held]))
            held = number
        elif primitive is Primitive.PLACE and held is not None:
            grasp = steps[held]
            units.append(PredictedUnit(UnitKind.PICK_PLACE, (held, number), grasp.target,
                                       grasp.region, step.region))
            interleaved += number > held + 1
            held = None
        elif primitive is Primitive.PLACE:
            units.append(PredictedUnit(None, (number,), step.target, None, step.region,
                                       UNPAIRED_PLACE))
        elif primitive is None:
            units.append(PredictedUnit(None, (number,), step.target, step.region, None,
                                       UNKNOWN_VERB))
        else:
            units.append(PredictedUnit(UnitKind(primitive.value), (number,), step.target,
                                       step.region))
    if held is not None:
        units.append(_unpaired(held, steps[held]))
    return sorted(units, key=lambda unit: unit.steps), interleaved


def _unpaired(number: int, step: GroundedStep) -> PredictedUnit:
    return PredictedUnit(None, (number,), step.target, step.region, None, UNPAIRED_GRASP)


# ------------------------------------------------------------------------------------ and back


def write(truth: Mapping[str, Any], item: Sample) -> str:
    """The reply that is true: every unit in the order of the plan, places in the middle."""
    actions: list[dict[str, Any]] = []
    for unit in (unit for block in truth['blocks'] for unit in block['units']):
        if unit['kind'] == UnitKind.PICK_PLACE:
            x1, y1, x2, y2 = unit['place']
            actions += [_boxed(item, 'grasp', unit['target'], unit['box']),
                        {'action': 'place', 'target': unit['destination'],
                         'point': point_from_unit(((x1 + x2) / 2, (y1 + y2) / 2),
                                                  Coords(item.details['coords']), size_of(item))}]
        else:
            actions.append(_boxed(item, unit['kind'], unit['target'], unit['box']))
    return json.dumps({'actions': actions})


def guess(item: Sample, rng: random.Random) -> str:
    """A valid reply at random: up to four units with boxes and points anywhere."""
    actions: list[dict[str, Any]] = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(list(UnitKind))
        (x1, x2), (y1, y2) = (sorted((rng.random(), rng.random())) for _ in range(2))
        if kind is not UnitKind.PICK_PLACE:
            actions.append(_boxed(item, kind.value, 'something', (x1, y1, x2, y2)))
            continue
        actions += [_boxed(item, 'grasp', 'something', (x1, y1, x2, y2)),
                    {'action': 'place', 'target': 'somewhere', 'point': point_from_unit(
                        (rng.random(), rng.random()), Coords(item.details['coords']),
                        size_of(item))}]
    return json.dumps({'actions': actions})


def _boxed(item: Sample, action: str, target: str, box: Sequence[float]) -> dict[str, Any]:
    x1, y1, x2, y2 = box
    corners: Box = (x1, y1, x2, y2)
    return {'action': action, 'target': target, 'bbox': box_from_unit(
        corners, Coords(item.details['coords']), size_of(item))}
