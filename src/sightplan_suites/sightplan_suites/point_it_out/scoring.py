"""Measures of places and traces.

Boxes have three measures: the paper's IoU with the mask over that of the mask's tight box, the
box-to-box IoU of the released evaluator, and an older fraction of mask in the box. Points have
one: the fraction that lies on the mask. What the paper's table 7 shows of a model, ``score``, is
the first of these for a model that draws boxes and the last for one that points: the two cannot
be compared with each other, so that tables say which it is.

A reply that cannot be read counts 0; measures with ``_dropped`` leave it out, as the released
code does. A trace on a scene of our own is carried out in the simulator (``done``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sightplan.metrics.measures import MEAN, SHARE, Measure, grouped
from sightplan.model import Form, Region
from sightplan.model.region import Mask, Point, pixel
from sightplan.model.sample import Sample, SampleReply
from sightplan.runs.suite_parts import Scored
from sightplan_suites.point_it_out import masks, reading, scenes
from sightplan_suites.point_it_out.masks import Box, Ring, Size

UNREAD, NOTHING, DEGENERATE, MISSED = 'unread', 'nothing', 'degenerate', 'missed'
"""Causes: no valid answer; an answer of "not there"; a box without area; all outside the mask."""
TOUCHED, NOT_DONE = 'touched', 'not_done'
"""Causes of traces: other things were moved; the task was not done."""
OUTPUTS = {Form.BOX: 'box', Form.POINT: 'points', Form.POINTS: 'points', Form.TRACE: 'trace'}
"""Names of the forms of answers in tables."""

_BOXES = {
    'iou_normalised': 'IoU of box and mask over IoU of tight box and mask; may exceed 1',
    'iou_released': 'IoU of box and bounding box of the first ring, as in the released evaluator',
    'precision': 'fraction of the box that is mask, an older measure of the release'}
_POINTS = {'on_mask': 'fraction of the points that lie on the mask'}
_DROPPED = '_dropped'

_SCORE = {'score': 'iou_normalised of boxes, on_mask of points, done of traces'}

MEASURES = (
    *(Measure(f'{name}{ending}', f'{about}{words}', SHARE, primary=(name + ending) == 'score',
              bounded_by=name if ending else '',
              may_exceed_one=name in ('score', 'iou_normalised'))
      for name, about in {**_SCORE, **_BOXES, **_POINTS}.items()
      for ending, words in (('', ''), (_DROPPED, '; unread replies left out'))),
    Measure('done', 'fraction of traces that do the task in the simulator'),
    Measure('start_error', 'distance of a trace from its start, as a fraction of the diagonal',
            MEAN, higher_is_better=False),
    Measure('unread', 'fraction of replies without a valid answer', higher_is_better=False),
)
_NOT_SCORED: Mapping[str, float | None] = {measure.name: None for measure in MEASURES}


# ------------------------------------------------------------------------------------- measures


def iou_normalised(box: Box, mask: Mask) -> float:
    """The paper's measure (its appendix D): IoU(box, mask) / IoU(tight box of mask, mask).

    Args:
        box: predicted, in pixels.
        mask: (H, W) bool, not empty.

    Returns:
        not capped: a box may fit a mask better than its tight box does.
    """
    height, width = mask.shape
    x1, y1, x2, y2 = (min(max(value, 0), most) for value, most in zip(
        box, (width, height, width, height), strict=True))
    return _iou_with(mask, (x1, y1, x2, y2)) / _iou_with(mask, masks.tight_box(mask))


def iou_released(box: Sequence[float], ring: Ring, size: Size) -> float | None:
    """The released evaluator's measure: IoU of two boxes.

    Args:
        box: predicted, x1, y1, x2, y2 in pixels and fractions of them; clamped to the last column
            and row, and not rounded.
        ring: the first one of the mask; the other rings do not count.
        size: of the picture.

    Returns:
        None where the ring's box has no area.
    """
    (width, height), truth = size, masks.ring_box(ring)
    x1, y1, x2, y2 = (min(value, most) for value, most in zip(
        box, (width - 1, height - 1, width - 1, height - 1), strict=True))
    shared = _area((max(x1, truth[0]), max(y1, truth[1]), min(x2, truth[2]), min(y2, truth[3])))
    return (shared / (_area((x1, y1, x2, y2)) + _area(truth) - shared) if _area(truth) else None)


def precision(box: Box, mask: Mask) -> float:
    """The release's older measure: pixels of the mask in the box / ((x2 - x1 + 1)(y2 - y1 + 1)).

    The pixels are those of the half-open box, so that it never quite reaches 1.
    """
    x1, y1, x2, y2 = box
    return float(mask[max(y1, 0):max(y2, 0), max(x1, 0):max(x2, 0)].sum()
                 ) / ((x2 - x1 + 1) * (y2 - y1 + 1))


def on_mask(points: Sequence[Point], mask: Mask) -> float:
    """The fraction of points that lie on a mask.

    Args:
        points: one or more, in unit coordinates; 1 is in the last column or row, what lies beside
            the picture misses.
        mask: (H, W) bool.
    """
    return sum(_hits(point, mask) for point in points) / len(points)


def _hits(point: Point, mask: Mask) -> bool:
    height, width = mask.shape
    x, y = pixel(point[0] * width), pixel(point[1] * height)
    if x < 0 or y < 0 or x > width or y > height:
        return False
    return bool(mask[min(y, height - 1), min(x, width - 1)])


def _iou_with(mask: Mask, box: Box) -> float:
    x1, y1, x2, y2 = box
    shared = int(mask[y1:y2, x1:x2].sum())
    return shared / (_area(box) + int(mask.sum()) - shared)


def _area(box: Sequence[float]) -> float:
    return max(0, box[2] - box[0]) * max(0, box[3] - box[1])


# ------------------------------------------------------------------------------------- answers


def score(item: Sample, answer: Sequence[Mapping[str, Any]] | None, truth: Mapping[str, Any],
          reply: SampleReply) -> Scored:
    """Score one sample's answer.

    Args:
        item: the sample.
        answer: regions, as ``Region.to_json`` has them; None: unread.
        truth: ``size``, and of a place ``polygon``, of a trace ``start`` and ``task``.
        reply: not used.
    """
    regions = None if answer is None else [Region.from_json(region) for region in answer]
    form = reading.asked(item)
    if regions and reading.misfit(regions, form):
        regions = None
    return score_regions(form, regions, truth)


def score_regions(form: Form, regions: Sequence[Region] | None, truth: Mapping[str, Any],
                  ) -> Scored:
    """Score regions of one form.

    Args:
        form: what was asked for.
        regions: the answer; empty: that nothing is there; None: unread. Of several boxes or traces
            the first counts.
        truth: see ``score``.
    """
    if not regions:
        return _score_without_place(form, truth, UNREAD if regions is None else NOTHING)
    if regions[0].form is Form.TRACE:
        return _trace(regions[0].points, truth)
    if regions[0].form is Form.BOX:
        return _box(regions[0], truth)
    return _points([region.points[0] for region in regions], truth)


def truth_regions(truth: Mapping[str, Any]) -> list[Region]:
    """The outline of the mask as closed traces, or the start of a trace, to be drawn.

    Empty for a trace that may begin anywhere.
    """
    width, height = truth['size']
    if truth.get('polygon') is None:
        start = truth['start']
        return [] if start is None else [Region(Form.POINT, (tuple(start),))]
    rings = [list(zip(ring[::2], ring[1::2], strict=True)) for ring in truth['polygon']]
    return [Region(Form.TRACE, tuple((x / width, y / height) for x, y in (*ring, ring[0])))
            for ring in rings]


def output_of(line: Mapping[str, Any]) -> str:
    """Form of a line's answer: ``box``, ``points`` or ``trace``; if unread, the form asked for."""
    answer = line['answer']
    return OUTPUTS[Form(answer[0]['form'] if answer else line['details']['form'])]


def _score_without_place(form: Form, truth: Mapping[str, Any], cause: str) -> Scored:
    """An answer without a place, which the released code would ask for again and then drop."""
    names = (('done',) if truth['task'] is not None else ()) if form is Form.TRACE else (
        tuple(_BOXES) if form is Form.BOX else tuple(_POINTS))
    zeros = dict.fromkeys((*names, 'score') if names else (), 0.0)
    return Scored({**_NOT_SCORED, **zeros, 'unread': float(cause == UNREAD)}, cause)


def _box(region: Region, truth: Mapping[str, Any]) -> Scored:
    width, height = truth['size']
    (x1, y1), (x2, y2) = region.pixels(width, height)
    exact = [round(place * size, 6) for point in region.points  # conventions differ beyond
             for place, size in zip(point, (width, height), strict=True)]
    released = iou_released(exact, truth['polygon'][0], (width, height))
    if x2 <= x1 or y2 <= y1:
        return _place(dict.fromkeys(_BOXES, 0.0) | {'iou_released': released}, DEGENERATE)
    box, mask = (x1, y1, x2, y2), masks.fill(truth['polygon'], (width, height))
    found = {'iou_normalised': iou_normalised(box, mask), 'iou_released': released,
             'precision': precision(box, mask)}
    return _place(found, None if found['iou_normalised'] else MISSED)


def _points(points: Sequence[Point], truth: Mapping[str, Any]) -> Scored:
    width, height = truth['size']
    found = on_mask(points, masks.fill(truth['polygon'], (width, height)))
    return _place({'on_mask': found}, None if found else MISSED)


def _place(found: Mapping[str, float | None], cause: str | None) -> Scored:
    found = {'score': next(iter(found.values())), **found}
    return Scored({**_NOT_SCORED, **found, 'unread': 0.0,
                   **{f'{name}{_DROPPED}': value for name, value in found.items()}}, cause)


def _trace(points: tuple[Point, ...], truth: Mapping[str, Any]) -> Scored:
    (width, height), start = truth['size'], truth['start']
    away = None if start is None else math.hypot(
        (points[0][0] - start[0]) * width,
        (points[0][1] - start[1]) * height) / math.hypot(width, height)
    found = None if truth['task'] is None else scenes.follow(truth['task'], points)
    measures = {**_NOT_SCORED, 'start_error': away, 'unread': 0.0}
    if found is None:
        return Scored(measures)
    done = float(bool(found['done']))
    return Scored({**measures, 'done': done, 'score': done, f'score{_DROPPED}': done},
                  None if done else TOUCHED if found['touched'] else NOT_DONE)


# ------------------------------------------------------------------------------------- summary


def summarise(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The measures by part of the run.

    Returns:
        ``outputs`` (how many boxes, points and traces), ``by_output``, ``by_split``,
        ``by_subclass`` (such as ``s1/object``), ``by_source`` and ``by_scenario``: name to
        measures, each with ``value``, ``interval95`` (over pictures), ``n``, ``clusters``.
    """
    outputs = [output_of(line) for line in lines]
    groups: dict[str, Callable[[Mapping[str, Any]], str]] = {
        'by_output': output_of, 'by_split': lambda line: line['split'],
        'by_subclass': subclass_of, 'by_source': lambda line: line['details']['source'],
        'by_scenario': lambda line: line['details']['scenario']}
    return {'outputs': {name: outputs.count(name) for name in dict.fromkeys(outputs)},
            **{name: grouped(lines, key, MEASURES) for name, key in groups.items()}}


def subclass_of(line: Mapping[str, Any]) -> str:
    """Split and subclass of a line: ``s1/object part``; of a trace the split alone."""
    return '/'.join(filter(None, (line['split'], line['details']['subclass'])))
