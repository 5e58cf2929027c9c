"""``Locate``: where something is in a picture."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sightplan.model.query import Chat, Query, Reply, Rgb
from sightplan.model.region import (
    PIXEL_ROUNDING,
    PLAIN_WORDING,
    Form,
    GivenWords,
    PlaceWording,
    Presence,
    Region,
    Target,
)
from sightplan.model.whereabouts import UNLIKE, is_foreign
from sightplan.queries.coordinates import Coordinates, Size, from_unit
from sightplan.queries.generate import TextReply
from sightplan.queries.pointing import (
    Pointing,
    PointingPrompt,
    common_words,
    cut_off,
    filled,
    is_sentence,
    seen_size,
    with_ticks,
    wording,
)
from sightplan.queries.pointing_replies import read_regions

_DECIMALS = {Coordinates.UNIT_XY: 3, Coordinates.PERCENT_XY: 1}
"""Decimals with which the start of a trace is said, by convention; 0 in the others."""


@dataclass(frozen=True, slots=True)
class LocateReply(Reply):
    """Reply to ``Locate``: the places of the target in the picture.

    Attributes:
        regions: in unit coordinates (x and y from 0 to 1) and of the form that was asked for
            (points where ``Form.POINTS`` was); the first is the best. Empty: the model says that
            it is not there; or the reply cannot be read (then ``unread`` says why); or the model
            does not know the words (then ``unknown`` has them).
        text: text of the model's reply; '' for a model that does not speak.
        probability: from 0 to 1, that the first region is right; without regions, that the
            target is not there; None where the backend has none.
        unread: why the reply cannot be used; '' if it can.
        rounded: number of coordinates that lay just beyond an edge and were set to it.
        unknown: words of the target that the model does not know; a model that reads any text
            has none. Without regions it means "cannot tell", not "not there".
        exists: probability, from 0 to 1, that the target is in the picture at all, if that is as
            likely as not beforehand, as the model tells apart from pointing; None where it does
            not. What a model points at is then no evidence on whether the target exists.
        foreign: probability, from 0 to 1, that the picture is none of the kind that the model was
            made for; None where it does not tell. Of a picture that rather is foreign, the rest of
            the reply tells nothing.
    """

    regions: tuple[Region, ...] = ()
    text: str = ''
    probability: float | None = None
    unread: str = ''
    rounded: int = 0
    unknown: tuple[str, ...] = ()
    exists: float | None = None
    foreign: float | None = None

    def summary(self) -> str:
        """Return the first three places as text, or why the reply cannot be used."""
        if self.unread:
            return f'unread: {self.unread}'
        if is_foreign(self.foreign):
            return f'cannot tell: {UNLIKE}'
        sure = '' if self.probability is None else f' ({self.probability:.2f})'
        places = [f'{region.form} {region.points}' for region in self.regions[:3]]
        return (', '.join(places) or 'nothing') + sure


@dataclass(frozen=True, eq=False)
class Locate(Query[LocateReply]):
    """Query for the places of something in a picture.

    Attributes:
        image: (H, W, 3) uint8 RGB.
        target: what to find, in words, and what is asked for: point, points, box or trace.
        depth_m: (H, W) float32 distance along the optical axis [m], 0 where unknown; None
            without.
        start: first point of a trace in unit coordinates, where it is prescribed.
        attempt: number of this query about the same thing, from 0; each has a wording of its
            own, and a model that draws its replies at random draws another one for each.
        wording: what the prompt says besides.
    """

    image: Rgb
    target: Target
    depth_m: NDArray[np.float32] | None = None
    start: tuple[float, float] | None = None
    attempt: int = 0
    wording: PlaceWording = PLAIN_WORDING

    kind: ClassVar[str] = 'locate'
    reply_type: ClassVar[type[Reply]] = LocateReply
    cannot_answer: ClassVar[str] = 'cannot point at things'

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture."""
        return self.image.shape[1], self.image.shape[0]

    def summary(self) -> str:
        """Return the target and the number of the asking, from 1, as a short text."""
        return f'{self.target.form} of {self.target.text!r}, asking {self.attempt + 1}'

    def fault_of(self, reply: LocateReply) -> str:
        """Contract in ``Query``: regions with form and coordinates, probabilities, and words."""
        regions: object = reply.regions
        if not isinstance(regions, (tuple, list)):
            return (f'regions is a {type(regions).__name__}; give a tuple of Region, such as '
                    '(region,)')
        for number, region in enumerate(regions):
            if fault := self._fault_of_region(region):
                return f'regions[{number}] {fault}'
        for name, chance in (('probability', reply.probability), ('exists', reply.exists),
                             ('foreign', reply.foreign)):
            if fault := _fault_of_chance(chance):
                return f'{name} {fault}'
        return _fault_of_words(reply)

    def _fault_of_region(self, region: object) -> str:
        """Return what is wrong with a region, without its number; '' if it is right."""
        if not isinstance(region, Region):
            return (f'is a {type(region).__name__}; give a Region, such as '
                    'Region(Form.POINT, ((0.5, 0.5),))')
        form = Form.POINT if self.target.form is Form.POINTS else self.target.form
        if region.form is not form:
            return (f'is a {region.form}, but a {form} was asked for; give that, or reply with '
                    f'unread="..." if the model gives no {form}')
        for axis, values in zip('xy', zip(*region.points, strict=True), strict=True):
            for value in values:
                if not -PIXEL_ROUNDING <= value <= 1.0 + PIXEL_ROUNDING:
                    return (f'has {axis} = {value:g}; unit coordinates lie from 0 to 1: divide x '
                            'by the width and y by the height of the picture')
        fault = _fault_of_chance(region.probability)
        return f'has a probability that {fault}' if fault else ''

    def as_chat(self, style: Any) -> Chat[LocateReply]:
        """The words of the model's pointing family, and the picture."""
        seen = seen_size(style.pointing, functools.partial(style.resized, self.image))
        prompt = compose(self, style.pointing, seen)
        return Chat(prompt.query(self.attempt), functools.partial(
            read_reply, self, style.pointing, seen))


def _fault_of_chance(chance: object) -> str:
    """Return what is wrong with a probability; '' if it is right, or None."""
    if chance is None or (isinstance(chance, (int, float)) and 0.0 <= chance <= 1.0):
        return ''
    return f'is {chance!r}; give a number from 0 to 1, or None where the model has none'


def _fault_of_words(reply: LocateReply) -> str:
    """Return what is wrong with the words of a reply; '' if they are right."""
    unknown: object = reply.unknown
    if not isinstance(unknown, (tuple, list)) or not all(
            isinstance(word, str) for word in unknown):
        return (f'unknown is {unknown!r}; give a tuple of the words that the model does not '
                "know, such as ('unicorn',)")
    words: dict[str, object] = {'unread': reply.unread, 'text': reply.text}
    for name, said in words.items():
        if not isinstance(said, str):
            return f'{name} is {said!r}; give a text'
    return ''


def compose(query: Locate, pointing: Pointing, resized: Size | None) -> PointingPrompt:
    """Compose the prompt that asks a model for the places of the target.

    Args:
        query: the query with the target.
        pointing: how the model is asked.
        resized: size of the picture as the model sees it, where coordinates are counted in that.
    """
    family, form, asked = pointing.family, query.target.form, query.wording
    width, height = resized or query.size
    target = query.target.text.strip()
    words = {'target': target, 'width': str(width), 'height': str(height),
             'start': _start(query, pointing.coordinates, resized), 'mark': asked.start_mark}
    if asked.given is not None:
        return _as_given(asked.given, words, query, pointing, resized)
    if form is Form.TRACE:
        words['target'] = target.rstrip('.')
    may_lack = asked.presence is Presence.OPEN
    system, text = (filled(part, {
        **words, 'ask': filled(_ask(query), words),
        'absent': getattr(family.absent, name) if may_lack else ''}).rstrip()
        for name, part in (('system', family.system), (form.value, getattr(family.text,
                                                                          form.value))))
    image, text = with_ticks(query.image, text, pointing, resized)
    schema = family.json_schema.get(form)
    return PointingPrompt(system, image, text, family.max_tokens,
                          schema if may_lack else _without_null(schema))


def _as_given(given: GivenWords, words: Mapping[str, str], query: Locate, pointing: Pointing,
              resized: Size | None) -> PointingPrompt:
    """The prompt in the words of a user's file."""
    before, text = filled(given.before, words), filled(given.after, words)
    image, text = with_ticks(query.image, text, pointing, resized)
    return PointingPrompt(filled(given.system, words), image, text, given.max_tokens,
                          given.json_schema, before)


def _without_null(schema: Any) -> Any:
    """A JSON schema whose values cannot be null: what may be one thing or null is that thing."""
    if isinstance(schema, Mapping):
        choices = [one for one in schema.get('anyOf', ()) if one != {'type': 'null'}]
        return (_without_null(choices[0]) if len(choices) == 1 else
                {name: _without_null(value) for name, value in schema.items()})
    return [_without_null(one) for one in schema] if isinstance(schema, list) else schema


def read_reply(query: Locate, pointing: Pointing, seen: Size | None,
               reply: TextReply) -> LocateReply:
    """Read the reply of a model that writes text and was asked for places.

    Args:
        query: the query with the target.
        pointing: how the model was asked.
        seen: size of the picture as the model sees it, where coordinates are counted in that.
        reply: text of the model's reply.
    """
    family, given = pointing.family, query.wording.given
    if reply.truncated:
        return LocateReply(text=reply.text, unread=cut_off(
            given.max_tokens, 'the words of a folder') if given else cut_off(
                family.max_tokens, f'the pointing family {family.name}'))
    return read_places(reply.text, query, pointing.coordinates, seen,
                       centre_of_box=family.box_as_point)


def read_places(text: str, query: Locate, coordinates: Coordinates, seen: Size | None = None, *,
                centre_of_box: bool = False) -> LocateReply:
    """Read a text as the reply to a query; see ``queries.pointing_replies``.

    Args:
        text: text of the model's reply.
        query: the query with the target.
        coordinates: the convention that the model is declared to use.
        seen: size of the picture as the model sees it; needed for ``resized_pixel_xy``.
        centre_of_box: whether a box counts as its centre where a point was asked for.
    """
    found = read_regions(text, query.target.form, coordinates, query.size, seen,
                         centre_of_box=centre_of_box)
    return LocateReply(found.regions, text, unread=found.unread, rounded=found.rounded)


def _ask(query: Locate) -> str:
    """Return the sentences that ask, with their placeholders."""
    common, form = common_words(), query.target.form
    if form is Form.TRACE:
        kind = ('trace_anywhere' if query.start is None else
                'trace_marked' if query.wording.start_mark else 'trace')
    else:
        kind = 'sentence' if is_sentence(query.target.text) else form.value
    said = wording(getattr(common.asks, kind), query.attempt)
    stated = query.wording.presence is Presence.STATED and form is not Form.TRACE
    return f'{said} {common.present}' if stated else said


def _start(query: Locate, coordinates: Coordinates, resized: Size | None) -> str:
    """Return the start of a trace in numbers of a convention; '' without one."""
    if query.start is None:
        return ''
    [point] = from_unit([query.start], coordinates, query.size, resized)
    decimals = _DECIMALS.get(coordinates, 0)
    return f'({point[0]:.{decimals}f}, {point[1]:.{decimals}f})'
