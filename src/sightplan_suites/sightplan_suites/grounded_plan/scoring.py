"""Scores of a plan: success (TSR), recall (ARR), precision and F1 of its units, and causes.

A unit is a grasp with its place, an opening, or a closing. It succeeds against a true unit of the
same kind where its box fits the true box, and the point of its place lies in the true box of the
place. Whether a box fits is a question of ``grasp_criterion``: ``iou`` (the paper's: intersection
over union of at least .5), or ``point_in_box`` (its middle, or the point that stands in its place,
lies in the true box; for models that point only). Results of the two are never put together.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sightplan.metrics.measures import SHARE, Measure, grouped
from sightplan.model import Region
from sightplan.model.grounded_plan import GroundedStep, PlanBlock, PlanUnit, UnitKind
from sightplan.model.region import Form, Point
from sightplan.model.sample import Sample, SampleReply
from sightplan.runs.suite_parts import Scored
from sightplan_suites.grounded_plan.coordinates import Box, box_of, box_region
from sightplan_suites.grounded_plan.matching import Matching
from sightplan_suites.grounded_plan.reading import (
    UNPAIRED_GRASP,
    PredictedUnit,
    units_of,
)

IOU, POINT_IN_BOX = 'iou', 'point_in_box'
CRITERIA = (IOU, POINT_IN_BOX)
"""Criteria for when the box of a grasp, an opening or a closing fits."""
LEAST_IOU = 0.5
_ROUNDING = 1e-9
"""Tolerance for rounding of conversions between conventions of coordinates."""

UNREAD, WRONG_ORDER = 'unread', 'wrong_order'
MISSING = {UnitKind.PICK_PLACE: 'missing_unit', UnitKind.OPEN: 'missing_open',
           UnitKind.CLOSE: 'missing_close'}
EXTRA, DUPLICATE, WRONG_THING = 'extra_unit', 'duplicate_grounding', 'wrong_thing'
REGION = {UnitKind.PICK_PLACE: 'grasp_region', UnitKind.OPEN: 'open_region',
          UnitKind.CLOSE: 'close_region'}
PLACE_OUTSIDE, NO_REGION = 'place_outside', 'no_region'
"""Causes of failure in addition to those of ``reading`` for units that can never be right."""

MEASURES = (
    Measure('tsr', 'fraction of plans all of whose units are right and in order, without others',
            primary=True),
    Measure('tsr_lenient', 'fraction of plans that hold a right one, other units left out',
            bounded_by='tsr'),
    Measure('arr', 'fraction of true units that are matched one to one, whatever the order',
            SHARE, bounded_by='precision'),
    Measure('precision', 'fraction of predicted units that are matched', SHARE, bounded_by='arr'),
    Measure('f1', 'harmonic mean of arr and precision of each plan', SHARE),
    Measure('unread', 'fraction of replies without a plan', higher_is_better=False),
    Measure('interleaved', 'fraction of plans with another step between a grasp and its place',
            higher_is_better=False),
)
Fits = Callable[[Region | None, Region], bool]
"""Whether a predicted region fits a true box."""


@dataclass(frozen=True, slots=True)
class Score:
    """Score of one predicted plan.

    Attributes:
        tsr: whether it is right.
        tsr_lenient: whether it is, without some of its units.
        matched: of each true unit, the number of the predicted one that it is matched with.
        predicted: number of predicted units.
        interleaved: pairs with another step between grasp and place.
        causes: why it is not right, the first one first; none if it is.
        plan: number of the right plan that it is compared with, from 0.
    """

    tsr: bool
    tsr_lenient: bool
    matched: tuple[int | None, ...]
    predicted: int
    interleaved: int
    causes: tuple[str, ...]
    plan: int = 0

    @property
    def right(self) -> int:
        """Number of matched units."""
        return sum(one is not None for one in self.matched)

    @property
    def arr(self) -> float:
        """Matched units / true units."""
        return self.right / len(self.matched)

    @property
    def precision(self) -> float:
        """Matched units / predicted units; 0 without any."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return 2 * self.right / (self.predicted + len(self.matched))

    @property
    def measures(self) -> dict[str, float]:
        """The measures by name, as result lines have them."""
        return {'tsr': float(self.tsr), 'tsr_lenient': float(self.tsr_lenient), 'arr': self.arr,
                'precision': self.precision, 'f1': self.f1, 'unread': 0.0,
                'interleaved': float(self.interleaved > 0)}


# ------------------------------------------------------------------------------------- regions


def iou(one: Box, other: Box) -> float:
    """Intersection over union of two boxes; 0 where one has no area or is out of order."""
    if one[2] <= one[0] or one[3] <= one[1] or other[2] <= other[0] or other[3] <= other[1]:
        return 0.0
    width = ((one[2] if one[2] < other[2] else other[2])
             - (one[0] if one[0] > other[0] else other[0]))
    height = ((one[3] if one[3] < other[3] else other[3])
              - (one[1] if one[1] > other[1] else other[1]))
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    union = ((one[2] - one[0]) * (one[3] - one[1])
             + (other[2] - other[0]) * (other[3] - other[1]) - shared)
    return shared / union if union > 0 else 0.0  # an area can be too small for a float


def inside(point: Point, box: Box) -> bool:
    """Whether a point lies in a box or on its border."""
    return (box[0] - _ROUNDING <= point[0] <= box[2] + _ROUNDING
            and box[1] - _ROUNDING <= point[1] <= box[3] + _ROUNDING)


def fits_by_iou(region: Region | None, true: Region) -> bool:
    """Whether a box has enough in common with a true one; a point never has."""
    return (region is not None and region.form is Form.BOX
            and iou(box_of(region), box_of(true)) >= LEAST_IOU - _ROUNDING)


def fits_by_point(region: Region | None, true: Region) -> bool:
    """Whether a point, or the middle of a box, lies in a true box."""
    return region is not None and inside(region.centre, box_of(true))


def _fits(criterion: str) -> Fits:
    return fits_by_point if criterion == POINT_IN_BOX else fits_by_iou


def _touches(region: Region | None, true: Region) -> bool:
    """Whether a box has anything in common with a true one, or its middle lies in it."""
    if region is None:
        return False
    return inside(region.centre, box_of(true)) or (
        region.form is Form.BOX and iou(box_of(region), box_of(true)) > 0)


def succeeds(unit: PredictedUnit, true: PlanUnit, fits: Fits) -> bool:
    """Whether a predicted unit is a true one."""
    return (unit.kind is true.kind and fits(unit.region, true.region)
            and (true.place is None or _placed(unit, true.places)))


def _placed(unit: PredictedUnit, places: Iterable[Region]) -> bool:
    return (unit.place is not None and unit.place.form is Form.POINT
            and any(inside(unit.place.points[0], box_of(place)) for place in places))


# --------------------------------------------------------------------------------------- plans


def best_score(plans: Sequence[Sequence[PlanBlock]], steps: Sequence[GroundedStep],
               criterion: str = IOU, things: Sequence[Region] = ()) -> Score:
    """Score a predicted plan against each right plan, and return the best score.

    The best one is right, else right when units are left out, else has the most matched units; of
    equal ones it is that with the nearest length, then the first.

    Args:
        plans: the right plans, one or more.
        steps: see ``score_plan``.
        criterion: likewise.
        things: likewise.
    """
    scores = [replace(score_plan(blocks, steps, criterion, things), plan=number)
              for number, blocks in enumerate(plans)]
    return max(scores, key=lambda one: (one.tsr, one.tsr_lenient, one.arr, one.f1, -one.plan))


def score_plan(blocks: Sequence[PlanBlock], steps: Sequence[GroundedStep], criterion: str = IOU,
               things: Iterable[Region] = ()) -> Score:
    """Score a predicted plan against the true one.

    Args:
        blocks: the true plan.
        steps: the predicted one.
        criterion: one of ``CRITERIA``.
        things: boxes of things that are known to be in the picture; they only name causes.
    """
    fits = _fits(criterion)
    predicted, interleaved = units_of(steps)
    true = [unit for block in blocks for unit in block.units]
    table = [[number for number, unit in enumerate(true) if succeeds(one, unit, fits)]
             for one in predicted]
    partly = any(block.after is not None for block in blocks)
    order = _PartialOrder(blocks) if partly else None
    parts = list(_parts(blocks))
    strict = len(predicted) == len(true) and (
        _is_right(parts, table) if order is None else order.is_right(table))
    matching = Matching(len(true))
    for number, fitting in enumerate(table):
        matching.add(number, fitting)
    matched = tuple(matching.partner)
    lenient = strict or (matching.size == len(true) and (
        _holds_right(parts, table) if order is None else order.holds_right(table)))
    causes = () if strict else tuple(_causes(true, predicted, matched, lenient, fits,
                                             tuple(things)))
    return Score(strict, lenient, matched, len(predicted), interleaved, causes)


def _parts(blocks: Iterable[PlanBlock]) -> Iterable[range]:
    """Numbers of the true units that may be exchanged, in the order of the plan."""
    at = 0
    for block in blocks:
        sizes = [len(block.units)] if block.unordered else [1] * len(block.units)
        for size in sizes:
            yield range(at, at + size)
            at += size


def _is_right(parts: Sequence[range], table: Sequence[Sequence[int]]) -> bool:
    """Whether the predicted units are the true ones, part by part, in any order within each."""
    for part in parts:
        matching = Matching(len(part))
        if not all(matching.add(number, [one - part.start for one in table[number]
                                         if one in part]) for number in part):
            return False
    return True


def _holds_right(parts: Sequence[range], table: Sequence[Sequence[int]]) -> bool:
    """Whether a right plan remains when some predicted units are left out.

    Every part takes the shortest run of predicted units, from where the part before it ended, in
    which all its units can be matched. What ends earliest leaves the most to what follows, so that
    no other choice does better.
    """
    number = 0
    for part in parts:
        matching = Matching(len(part))
        while matching.size < len(part):
            if number == len(table):
                return False
            matching.add(number, [one - part.start for one in table[number] if one in part])
            number += 1
    return True


class _PartialOrder:
    """Order of the units of a plan whose blocks tell what they come after.

    A state is the set of true units that are done, as bits. Units that are alike (one kind, box
    and places, in one unordered block) are done in the order of the plan, which loses nothing.
    """

    def __init__(self, blocks: Sequence[PlanBlock]) -> None:
        self._before: list[int] = []
        done: list[int] = []
        for number, block in enumerate(blocks):
            after = range(number) if block.after is None else block.after
            before = functools.reduce(operator.or_, (done[one] for one in after), 0)
            everything = before
            for index, unit in enumerate(block.units):
                alike = [other for other in range(index) if not block.unordered
                         or _same(unit, block.units[other])]
                first = len(self._before) - index
                self._before.append(before | sum(1 << first + other for other in alike))
                everything |= 1 << first + index
            done.append(everything)
        self._all = (1 << len(self._before)) - 1

    def is_right(self, table: Sequence[Sequence[int]]) -> bool:
        """Whether the predicted units are the true ones in a right order."""
        states = {0}
        for fitting in table:
            states = {after for state in states for after in self._after(state, fitting)}
        return self._all in states

    def holds_right(self, table: Sequence[Sequence[int]]) -> bool:
        """Whether a right plan remains when some predicted units are left out.

        A unit that may be done is done: to do it later is never better.
        """
        states = {0}
        for fitting in table:
            states = {after for state in states
                      for after in self._after(state, fitting) or [state]}
        return self._all in states

    def _after(self, state: int, fitting: Iterable[int]) -> list[int]:
        return [state | 1 << unit for unit in fitting if not state >> unit & 1
                and self._before[unit] & ~state == 0]


def _same(one: PlanUnit, other: PlanUnit) -> bool:
    return (one.kind, one.region, set(one.places)) == (
        other.kind, other.region, set(other.places))


# -------------------------------------------------------------------------------------- causes


def _causes(true: Sequence[PlanUnit], predicted: Sequence[PredictedUnit],
            matched: Sequence[int | None], lenient: bool, fits: Fits, things: Sequence[Region],
            ) -> Iterable[str]:
    """Yield the causes of failure: of each missing true unit, then of each needless one."""
    missing = [number for number, one in enumerate(matched) if one is None]
    left = [number for number in range(len(predicted)) if number not in matched]
    if not missing and not lenient:
        yield WRONG_ORDER
    judge = _Judge(true, predicted, matched, fits, things)
    found = judge.explain(missing, left)
    yield from (found[number] for number in missing)
    yield from (judge.needless(predicted[number]) for number in left)


class _Judge:
    """Finds out which left over predicted unit was meant to be which missing true one."""

    def __init__(self, true: Sequence[PlanUnit], predicted: Sequence[PredictedUnit],
                 matched: Sequence[int | None], fits: Fits, things: Sequence[Region]) -> None:
        self._true, self._predicted, self._matched = true, predicted, matched
        self._fits, self._things = fits, things

    def explain(self, missing: Sequence[int], left: list[int]) -> dict[int, str]:
        """Find the cause of each missing true unit; likelier explanations are tried first.

        Args:
            missing: numbers of true units.
            left: numbers of predicted units that match none; those that explain are removed.
        """
        found: dict[int, str] = {}
        for cause in (self._badly_placed, self._beside, self._unpaired, self._twice,
                      self._on_another, self._elsewhere):
            for number in missing:
                if number in found:
                    continue
                for one in left:
                    name = cause(self._predicted[one], self._true[number])
                    if name:
                        found[number] = name
                        left.remove(one)
                        break
        return {number: found.get(number, MISSING[self._true[number].kind])
                for number in missing}

    def needless(self, unit: PredictedUnit) -> str:
        """Cause of a predicted unit that explains no missing one."""
        if unit.wrong:
            return unit.wrong
        return DUPLICATE if self._is_twice(unit) else EXTRA

    def _badly_placed(self, unit: PredictedUnit, true: PlanUnit) -> str:
        if unit.kind is not UnitKind.PICK_PLACE or unit.kind is not true.kind or not self._fits(
                unit.region, true.region):
            return ''
        return NO_REGION if unit.place is None else PLACE_OUTSIDE

    def _beside(self, unit: PredictedUnit, true: PlanUnit) -> str:
        """Cause of a box that touches the true one but does not fit; '' if it is not so."""
        if unit.kind is not true.kind or not _touches(unit.region, true.region):
            return ''
        known = self._on_another(unit, true) or self._is_twice(unit)
        return '' if known else REGION[true.kind]

    def _unpaired(self, unit: PredictedUnit, true: PlanUnit) -> str:
        return unit.wrong if (unit.wrong == UNPAIRED_GRASP and true.kind is UnitKind.PICK_PLACE
                              and self._fits(unit.region, true.region)) else ''

    def _twice(self, unit: PredictedUnit, true: PlanUnit) -> str:
        return DUPLICATE if unit.kind is true.kind and self._is_twice(unit) else ''

    def _is_twice(self, unit: PredictedUnit) -> bool:
        """Whether the target of a unit is already matched by another unit of its kind."""
        return any(one is not None and true.kind is unit.kind
                   and self._fits(unit.region, true.region)
                   for one, true in zip(self._matched, self._true, strict=True))

    def _on_another(self, unit: PredictedUnit, true: PlanUnit) -> str:
        if unit.kind is not true.kind or self._fits(unit.region, true.region):
            return ''
        known = (*(other.region for other in self._true), *self._things)
        return WRONG_THING if any(self._fits(unit.region, other) for other in known) else ''

    def _elsewhere(self, unit: PredictedUnit, true: PlanUnit) -> str:
        if unit.kind is not true.kind:
            return ''
        return NO_REGION if unit.region is None else REGION[true.kind]


# ------------------------------------------------------------------------------------- samples


def truth_of(plans: Iterable[Iterable[PlanBlock]], things: Iterable[tuple[str, Box]],
             ) -> dict[str, Any]:
    """The right plans as plain JSON data: ``blocks`` of the first one, and ``accepted`` others."""
    first, *others = ([_block_data(block) for block in plan] for plan in plans)
    return {'blocks': first, **({'accepted': others} if others else {}),
            'things': [[name, list(box)] for name, box in things]}


def _block_data(block: PlanBlock) -> dict[str, Any]:
    units = [{'kind': str(unit.kind), 'target': unit.target, 'box': list(box_of(unit.region)),
              'destination': unit.destination,
              'place': None if unit.place is None else list(box_of(unit.place)),
              **({'others': [[name, list(box_of(one))] for name, one in unit.others]}
                 if unit.others else {})} for unit in block.units]
    return {'unordered': block.unordered, 'units': units,
            **({} if block.after is None else {'after': list(block.after)})}


def plans_of(truth: Mapping[str, Any]) -> list[list[PlanBlock]]:
    """The right plans of a sample's truth, see ``truth_of``."""
    return [list(map(_block, plan)) for plan in (truth['blocks'], *truth.get('accepted', ()))]


def _block(data: Mapping[str, Any]) -> PlanBlock:
    after = data.get('after')
    return PlanBlock(tuple(
        PlanUnit(UnitKind(unit['kind']), unit['target'], box_region(tuple(unit['box'])),
                 unit['destination'],
                 None if unit['place'] is None else box_region(tuple(unit['place'])),
                 tuple((name, box_region(tuple(box))) for name, box in unit.get('others', ())))
        for unit in data['units']), data['unordered'], None if after is None else tuple(after))


def score(item: Sample, answer: Sequence[Mapping[str, Any]] | None, truth: Mapping[str, Any],
          reply: SampleReply) -> Scored:
    """Score one sample's answer.

    Args:
        item: the sample; its details say the criterion.
        answer: steps, see ``reading``; None: unread.
        truth: as ``truth_of`` has it.
        reply: not used.
    """
    if answer is None:
        return unread()
    found = best_score(plans_of(truth), [GroundedStep.from_json(step) for step in answer],
                       item.details['grasp_criterion'],
                       [box_region(tuple(box)) for _, box in truth['things']])
    return Scored(found.measures, next(iter(found.causes), None))


def unread() -> Scored:
    """Score of a reply without a readable plan: 0 in every measure."""
    return Scored({**{measure.name: 0.0 for measure in MEASURES}, 'unread': 1.0}, UNREAD)


def summarise(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The measures by horizon and kind of instruction, and the causes of failure.

    Returns:
        ``grasp_criterion`` of these lines; ``by_part``: such as ``short/explicit`` to measures,
        each with ``value``, ``interval95``, ``n``, ``clusters``; ``causes``: name to how often it
        is the first one.
    """
    causes = Counter(line['cause'] for line in lines if line['cause'])
    criteria = sorted({line['details']['grasp_criterion'] for line in lines})
    return {'grasp_criterion': ', '.join(criteria),
            'by_part': grouped(lines, part_of, MEASURES), 'causes': dict(causes.most_common())}


def part_of(line: Mapping[str, Any]) -> str:
    """Horizon and kind of instruction of a line."""
    return f'{line["details"]["horizon"]}/{line["details"]["instruction_type"]}'
