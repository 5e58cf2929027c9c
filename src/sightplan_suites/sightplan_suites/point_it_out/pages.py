"""Page for people about an item: the true place and the answered one, or the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sightplan.model import Form, Region
from sightplan.model.sample import Sample
from sightplan.runs.suite_parts import SamplePage, Scored, shown_pictures
from sightplan_suites.point_it_out import drawing, reading

PLACE_KEY = ('Green area: the true place. Blue box or crosses: the answer; of several boxes the '
             'first one is scored, and drawn thick.')
TRACE_KEY = 'Line from red (its start) to blue (its end): the answered trace.'
START_KEY = ' White ring: where the trace should begin.'
KNOWN_KEY = ' Dotted green: a trace that does the task.'


def page(item: Sample, answer: Sequence[Mapping[str, Any]] | None, truth: Mapping[str, Any],
         scored: Scored) -> SamplePage:
    """Contract in ``runs.suite.Suite``."""
    image = shown_pictures(item)
    regions = [Region.from_json(region) for region in answer or ()]
    asked = item.parts[-1] if isinstance(item.parts[-1], str) else ''
    is_trace = reading.asked(item) is Form.TRACE
    assert image is not None, 'every item has a picture'
    drawn = (drawing.draw_s3(image, regions, truth) if is_trace else
             drawing.draw_place(image, regions, truth['polygon']))
    return SamplePage(drawn, asked, _truth(truth, is_trace), _said(answer, regions, scored),
                      _trace_key(truth) if is_trace else PLACE_KEY)


def _trace_key(truth: Mapping[str, Any]) -> str:
    """The key of a trace's picture: of what is drawn there."""
    return ''.join((TRACE_KEY, START_KEY if truth['start'] is not None else '',
                    KNOWN_KEY if truth['task'] is not None else ''))


def _truth(truth: Mapping[str, Any], is_trace: bool) -> str:
    if not is_trace:
        return 'a place in the green area'
    start = truth['start']
    begin = 'may begin anywhere' if start is None else f'begins at {_point(start)}'
    return begin + ('' if truth['task'] is None else '; is carried out in the simulator')


def _said(answer: object, regions: Sequence[Region], scored: Scored) -> str:
    if answer is None:
        return ''
    if not regions:
        return 'nothing is there'
    values = [f'{name.replace("_", " ")} {value:.2f}' for name in (
        'score', 'iou_normalised', 'iou_released', 'on_mask', 'done', 'start_error')
        if (value := scored.measures.get(name)) is not None]
    places = '; '.join(' to '.join(map(_point, region.points)) if len(region.points) < 4 else
                       f'a trace of {len(region.points)} points' for region in regions[:3])
    more = f' and {len(regions) - 3} more' if len(regions) > 3 else ''
    return f'{regions[0].form}: {places}{more} ({", ".join(values) or "not scored"})'


def _point(point: Sequence[float]) -> str:
    return f'({point[0]:.3f}, {point[1]:.3f})'
