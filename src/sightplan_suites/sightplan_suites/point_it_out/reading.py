"""A reply as places in a picture, and back.

The text of a reply is a JSON list of regions in unit coordinates, as ``Region.to_json`` writes
them. Replies of models that point come through the backends, which know how a model says places.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

from sightplan.model import Form, InputError, Region
from sightplan.model.json_text import load_json
from sightplan.model.region import Point
from sightplan.model.sample import Sample
from sightplan.queries.coordinates import Coordinates, Misdeclared, to_unit
from sightplan.runs.suite_parts import Unread
from sightplan_suites.point_it_out import masks

MOST_REGIONS = 1000
_UNIT = (1, 1)


def read(text: str, item: Sample) -> list[dict[str, Any]]:
    """The regions of a reply, as ``Region.to_json`` has them; all are of one form.

    Raises:
        Unread: it is no such list, or its places cannot be what was asked for.
    """
    try:
        content = load_json(text)
    except (ValueError, RecursionError) as error:
        raise Unread('empty reply' if not text.strip() else
                     f'no JSON list of regions ({str(error)[:80]})') from error
    if not isinstance(content, list) or not 0 < len(content) <= MOST_REGIONS:
        raise Unread('no JSON list of one or more regions')
    regions = [_region(entry) for entry in content]
    wrong = misfit(regions, asked(item))
    if wrong:
        raise Unread(wrong)
    return [region.to_json() for region in regions]


def asked(item: Sample) -> Form:
    """Form of answer that a sample asks for."""
    return Form.POINT if item.target is None else item.target.form


def misfit(regions: Sequence[Region], form: Form) -> str:
    """Explain why regions cannot be the answer; '' if they can.

    A place may be pointed at or boxed whatever was asked for: some models can do one of both only.
    """
    forms = {region.form for region in regions}
    if len(forms) > 1:
        return 'points, boxes and traces are mixed'
    if Form.TRACE in forms and form is not Form.TRACE:
        return 'a trace instead of a place'
    if Form.TRACE not in forms and form is Form.TRACE:
        return 'a place instead of a trace'
    return ''


def write(truth: Any, item: Sample) -> str:
    """The reply that is true: the tight box, a point well inside, or the trace of the oracle.

    Raises:
        InputError: no true trace is known.
    """
    form = asked(item)
    if form is Form.TRACE:
        if truth['task'] is None:
            raise InputError(f'{item.id}: no trace is known to be right, so that there is no '
                             'oracle; choose another method, or scenes of our own (leave out '
                             'data)')
        return reply(form, [truth['task']['oracle']])
    width, height = truth['size']
    mask = masks.fill(truth['polygon'], (width, height))
    if form is Form.BOX:
        x1, y1, x2, y2 = masks.tight_box(mask)
        return reply(form, [[(x1 / width, y1 / height), (x2 / width, y2 / height)]])
    return reply(Form.POINT, [[masks.inner_point(mask)]])


def guess(item: Sample, rng: random.Random) -> str:
    """A valid reply at random: a point or box anywhere, or a trace from its start."""
    form = asked(item)
    if form is Form.TRACE:
        start = [] if item.start is None else [item.start]
        return reply(form, [[*start, *((rng.random(), rng.random())
                                       for _ in range(rng.randint(2, 5)))]])
    if form is Form.BOX:
        (x1, x2), (y1, y2) = (sorted((rng.random(), rng.random())) for _ in range(2))
        return reply(form, [[(x1, y1), (x2, y2)]])
    return reply(Form.POINT, [[(rng.random(), rng.random())]])


def reply(form: Form, regions: Iterable[Iterable[Sequence[float]]]) -> str:
    """Regions of one form as the text of a reply; each is given by its points."""
    return json.dumps([Region(form, tuple((x, y) for x, y in points)).to_json()
                       for points in regions])


def _region(entry: Any) -> Region:
    try:
        region = Region.from_json(entry)
        points: tuple[Point, ...] = to_unit(region.points, Coordinates.UNIT_XY, _UNIT).points
    except (InputError, Misdeclared) as error:
        raise Unread(str(error)[:200]) from error
    return Region(region.form, points, region.label, region.probability)
