"""Places in replies of models, in whatever shape: objects, lists, tuples or tags.

What is read:

* objects with the keys ``point``, ``point_2d``, ``points``; ``bbox``, ``bbox_2d``, ``box``,
  ``box_2d``; ``min_x``, ``min_y``, ``max_x``, ``max_y`` (or ``x_min``, ..., or ``x1``, ...);
  ``x``, ``y``; ``trajectory``, ``trace``; alone, in lists, or below other keys;
* lists and tuples of numbers: two are a point, four a box, lists of them several;
* tags: ``<point x="" y="">``, ``<points x1="" y1="" x2="" y2="">``, ``<points coords="image number
  x y number x y">``.

They may stand in fences, after thoughts, within ``<answer>`` tags, between prose, and hold
comments. Where there is a fence with a place in it, only fences are read; where objects or tags
name a place, bare numbers elsewhere are not read.

What cannot be read has a reason, and no place: numbers that are too many, too few or cannot be
meant as declared; corners of a box in the wrong order; another form than was asked for; what is
cut off; two different answers; a reply that refuses. "It is not there" is an empty list, null,
``object_exists: false`` or "there are none": no place, and no reason.

Where a point was asked for and one list or tag gives several, all are kept, the first one first;
likewise boxes. Several that stand apart are different answers, unless several were asked for.
Points where a trace was asked for are its points, in order. A box where a point was asked for is
its centre only if the caller says that the model may answer so (``centre_of_box``; a family of
prompts declares it as ``box_as_point``).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from sightplan.model.region import Form, Point, Region
from sightplan.model.reply_text import after_thoughts, refuses
from sightplan.queries.coordinates import Coordinates, Misdeclared, Size, to_unit
from sightplan.queries.literals import MOST_CHARS, Literal, Value, find_literals

MOST_PLACES = 1000
"""Most points, boxes or points of a trace that a reply may hold."""
_LABEL_CHARS = 200

# Not possessive: Python 3.11.2 then misses what follows an empty answer.
_ANSWER = re.compile(r'<answer>((?:(?!</?answer>).)*)</answer>', re.IGNORECASE | re.DOTALL)
_FENCE = re.compile(r'```[\w+-]*(.*?)(?:```|\Z)', re.DOTALL)
_NONE = re.compile(r'\W*there (?:is|are) (?:none|no|nothing)\b[^<>\[\](){}]*',
                   re.IGNORECASE)
"""Pattern of a reply in words that says that the target is not there."""
_DENIED = re.compile(r'\b(?:not|nothing)(?: (?:at|in|on|near))?\s?\Z', re.IGNORECASE)
"""Pattern of words before a place that is said not to be the target."""
_NEAR = 16
_BETWEEN = re.compile(r'[\s,;]*')
_TAG = re.compile(r'<points?\b([^<>]*)>(?:([^<>]*)</points?>)?', re.IGNORECASE)
_CUT_TAG = re.compile(r'<points?\b[^<>]*\Z', re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<!\w)([A-Za-z_]\w*)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_AXIS = re.compile(r'([xy])(\d{0,4})\Z')
_NUMBER = re.compile(r'[-+]?(?:\d++(?:\.\d*+)?|\.\d++)\Z')

_EXISTS_KEYS = ('objectexists', 'exists', 'found')
_LABEL_KEYS = ('label', 'name', 'alt')


class _Kind(enum.StrEnum):
    """Kinds of places that numbers in a reply can mean."""

    POINT = 'point'
    BOX = 'box'
    TRACE = 'trace'


_KEYS = {
    _Kind.POINT: ('point', 'point2d', 'points', 'points2d'),
    _Kind.BOX: ('bbox', 'bbox2d', 'box', 'box2d', 'boundingbox', 'boxes', 'bboxes'),
    _Kind.TRACE: ('trajectory', 'trace')}
"""Keys of each kind of place, without case and signs."""
_NAMES: dict[_Kind, tuple[tuple[str, ...], ...]] = {
    _Kind.POINT: (('x', 'y'),),
    _Kind.BOX: (('minx', 'miny', 'maxx', 'maxy'), ('xmin', 'ymin', 'xmax', 'ymax'),
                ('x1', 'y1', 'x2', 'y2')),
    _Kind.TRACE: ()}
"""Keys of single numbers, x first."""
_WANTED = {
    Form.POINT: (_Kind.POINT, _Kind.BOX, _Kind.TRACE),
    Form.POINTS: (_Kind.POINT, _Kind.BOX, _Kind.TRACE),
    Form.BOX: (_Kind.BOX, _Kind.POINT, _Kind.TRACE),
    Form.TRACE: (_Kind.TRACE, _Kind.POINT, _Kind.BOX)}
"""Kinds of places by the form asked for; the first kind that a JSON object holds counts."""
_SEVERAL = (Form.POINTS, Form.TRACE)


@dataclass(frozen=True, slots=True)
class _Place:
    """A place as the model said it; ``pairs`` are in the order of its convention."""

    kind: _Kind
    pairs: tuple[Point, ...]
    label: str = ''


_Places = tuple[_Place, ...]
"""An answer; empty: it is not there."""


@dataclass(frozen=True, slots=True)
class ReadRegions:
    """The places that a reply names.

    Attributes:
        regions: in unit coordinates, in the order of the reply; empty: it is not there, or the
            reply cannot be read (then ``unread`` says why).
        rounded: number of coordinates that lay just beyond an edge and were set to it.
        unread: why the reply cannot be used; '' if it can.
    """

    regions: tuple[Region, ...] = ()
    rounded: int = 0
    unread: str = ''


class _UnreadError(Exception):
    """Raised when a reply cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A piece of a text that may be the answer.

    Attributes:
        named: whether it says itself that it is a place.
        places: the answer; None if the piece is wrong.
        wrong: why the piece cannot be used.
    """

    named: bool
    places: _Places | None
    wrong: str = ''


def read_regions(text: str, form: Form, coordinates: Coordinates, size: Size,
                 resized: Size | None = None, *, centre_of_box: bool = False) -> ReadRegions:
    """Read what a model replied to a request to locate something; see the module.

    Args:
        text: the reply.
        form: the form of place that was asked for.
        coordinates: the convention that the model is declared to use.
        size: width and height of the picture as it was sent.
        resized: size of the picture as the model saw it; needed for ``resized_pixel_xy``.
        centre_of_box: whether a box counts as its centre where a point was asked for.
    """
    try:
        places = _answer(text, form, coordinates.y_first)
        regions, rounded = _regions(places, form, coordinates, size, resized, centre_of_box)
    except (_UnreadError, Misdeclared) as error:
        return ReadRegions(unread=str(error))
    return ReadRegions(regions, rounded)


# From places to regions -------------------------------------------------------------------------

def _regions(places: _Places, form: Form, coordinates: Coordinates, size: Size,
             resized: Size | None, centre_of_box: bool) -> tuple[tuple[Region, ...], int]:
    """Places in unit coordinates, and how many numbers were rounded."""
    if sum(len(place.pairs) for place in places) > MOST_PLACES:
        raise _UnreadError(f'the reply holds more than {MOST_PLACES} points')
    if form is Form.TRACE:
        places = _as_trace(places)
    for place in places:
        _check_kind(place.kind, form, centre_of_box)
    converted = to_unit((pair for place in places for pair in place.pairs), coordinates, size,
                        resized)
    points = iter(converted.points)
    return tuple(_region(place, tuple(next(points) for _ in place.pairs), form)
                 for place in places), converted.rounded


def _as_trace(places: _Places) -> _Places:
    """The one trace that is meant; single points in a row are one."""
    if places and all(place.kind is _Kind.POINT for place in places):
        places = (_Place(_Kind.TRACE, tuple(place.pairs[0] for place in places)),)
    if len(places) > 1:
        raise _UnreadError('the reply holds several traces where one was asked for')
    if places and places[0].kind is _Kind.TRACE and len(places[0].pairs) < 2:
        raise _UnreadError('a trace has two points at least, the reply holds one')
    return places


def _check_kind(kind: _Kind, form: Form, centre_of_box: bool) -> None:
    asked = _Kind.POINT if form is Form.POINTS else _Kind(form.value)
    if kind is asked or (kind is _Kind.BOX and asked is _Kind.POINT and centre_of_box):
        return
    raise _UnreadError(f'the reply holds a {kind} where {_FORMS[form]} asked for')


_FORMS = {Form.POINT: 'a point was', Form.POINTS: 'points were', Form.BOX: 'a box was',
          Form.TRACE: 'a trace was'}


def _region(place: _Place, points: tuple[Point, ...], form: Form) -> Region:
    if place.kind is _Kind.BOX:
        (x1, y1), (x2, y2) = points
        if x1 > x2 or y1 > y2:
            raise _UnreadError('the corners of the box are not top left and bottom right, in this '
                               'order')
    if place.kind is _Kind.BOX and form is not Form.BOX:
        return Region(Form.POINT, (Region(Form.BOX, points).centre,), place.label)
    return Region(Form(place.kind.value), points, place.label)


# From text to places ----------------------------------------------------------------------------

def _answer(text: str, form: Form, y_first: bool) -> _Places:
    """Return the one answer that a reply gives."""
    rest = after_thoughts(text)
    if not rest.strip():
        raise _UnreadError('the reply ends within its thoughts' if text.strip()
                           else 'the reply is empty')
    if len(rest) > MOST_CHARS:
        raise _UnreadError(f'the reply is longer than {MOST_CHARS} characters')
    if refuses(rest):
        raise _UnreadError('the reply says that no picture was seen, or that it will not answer')
    if _NONE.fullmatch(rest):
        return ()
    answers = [found for found in _ANSWER.findall(rest) if found.strip()]
    rest = answers[-1] if answers else rest
    found = [piece for fence in _FENCE.findall(rest) for piece in _pieces(fence, form, y_first)]
    return _only(found or _pieces(rest, form, y_first))


def _only(found: Sequence[_Found]) -> _Places:
    """The one answer among pieces of a text; named places count before bare numbers."""
    chosen = [piece for piece in found if piece.named] or list(found)
    if not chosen:
        raise _UnreadError('the reply holds no place that can be read')
    for piece in chosen:
        if piece.places is None:
            raise _UnreadError(piece.wrong)
    answers = {tuple((place.kind, place.pairs) for place in piece.places or ())
               for piece in chosen}
    if len(answers) > 1:
        raise _UnreadError(f'the reply gives {len(answers)} different answers')
    return chosen[0].places or ()


def _pieces(text: str, form: Form, y_first: bool) -> list[_Found]:
    """Return the pieces of a text that may be the answer."""
    literals, damaged = find_literals(text)
    literals = [one for one in literals
                if not _DENIED.search(text, max(0, one.start - _NEAR), one.start)]
    if damaged or _CUT_TAG.search(text):
        return [_Found(True, None, 'a list, object or tag in the reply is cut off or malformed')]
    reader = _Reader(form, y_first)
    tags = [(tag[1], (tag[2] or '').strip()) for tag in _TAG.finditer(text) if tag[1].strip(' /')]
    groups = [tags] if form in _SEVERAL and tags else [[tag] for tag in tags]
    found = [_tried(True, reader.tags, group) for group in groups]
    found += [_tried(_holds_object(value), reader.literal, value)
              for value in _joined(literals, text, form)]
    return [piece for piece in found if piece is not None]


def _tried(named: bool, read: Callable[[Any], _Places | None], value: Any) -> _Found | None:
    """A piece as far as it can be read; None if it is about no place."""
    try:
        places = read(value)
    except _UnreadError as error:
        return _Found(named, None, str(error))
    return None if places is None else _Found(named, places)


def _joined(literals: Sequence[Literal], text: str, form: Form) -> Iterator[Value]:
    """Values of literals; single places with nothing between them are one list of several.

    Where one place was asked for they are not joined: they are different answers.
    """
    run: list[Literal] = []
    for literal in literals:
        if run and not (form in _SEVERAL and _is_single(literal.value)
                        and _is_single(run[-1].value)
                        and _BETWEEN.fullmatch(text, run[-1].end, literal.start)):
            yield run[0].value if len(run) == 1 else [item.value for item in run]
            run = []
        run.append(literal)
    if run:
        yield run[0].value if len(run) == 1 else [item.value for item in run]


def _is_single(value: Value) -> bool:
    return isinstance(value, dict) or (_is_flat(value) and len(value) > 1)


def _is_flat(value: Value) -> TypeGuard[Sequence[float]]:
    """Whether it is a list of numbers."""
    return isinstance(value, (list, tuple)) and bool(value) and all(
        isinstance(item, float) for item in value)


def _holds_object(value: Value) -> bool:
    return isinstance(value, dict) or (isinstance(value, (list, tuple))
                                       and any(map(_holds_object, value)))


class _Reader:
    """Reads places from values and tags.

    Args:
        form: what was asked for: of an object that holds several kinds of places this one counts.
        y_first: whether y comes first in lists; names of axes tell it by themselves.
    """

    def __init__(self, form: Form, y_first: bool) -> None:
        self._wanted = _WANTED[form]
        self._y_first = y_first

    def literal(self, value: Value) -> _Places | None:
        """Places of a list or object; None if it is about something else."""
        if isinstance(value, dict):
            return self._object(value)
        return self._list(value) if isinstance(value, (list, tuple)) else None

    def tags(self, tags: Iterable[tuple[str, str]]) -> _Places:
        """Places of tags, given as attributes and content."""
        return tuple(place for tag in tags for place in self._tag(*tag))

    # Lists

    def _list(self, items: Sequence[Value]) -> _Places | None:
        if not items:
            return None if isinstance(items, tuple) else ()  # () is prose, as in "locate()"
        if _is_flat(items):
            return None if len(items) == 1 else (_bare(items),)  # [1] is a footnote
        if any(isinstance(item, dict) for item in items):
            return self._objects(items)
        if not all(isinstance(item, (list, tuple)) for item in items):
            return None
        if len(items) == 1:
            return self.literal(items[0])
        places = tuple(_bare(item) for item in items if _is_flat(item))
        if len(places) < len(items) or len({place.kind for place in places}) > 1:
            raise _UnreadError('the reply holds a list of which some entries are no place, or of '
                               'another kind than others')
        return places

    def _objects(self, items: Sequence[Value]) -> _Places | None:
        found = [self._object(item) if isinstance(item, dict) else None for item in items]
        read = [places for places in found if places is not None]
        if not read:
            return None
        if len(read) < len(items):
            raise _UnreadError('the reply holds a list of which some entries have no place')
        return tuple(place for places in read for place in places)

    # Objects

    def _object(self, item: Mapping[str, Value]) -> _Places | None:
        keys = _plain_keys(item)
        answers = next(filter(None, (self._of_kind(keys, kind) for kind in self._wanted)),
                       None) or self._below(item)
        exists = {value for key, value in keys if key in _EXISTS_KEYS and isinstance(value, bool)}
        if not answers:
            if True not in exists:
                return () if exists else None
            answers = [()]
        if any(answer != answers[0] for answer in answers):
            raise _UnreadError('the reply gives different answers in one object')
        places = answers[0]
        if not places and True in exists:
            raise _UnreadError('the reply says that it is there, but not where')
        if False in exists:
            if any(number for place in places for pair in place.pairs for number in pair):
                raise _UnreadError('the reply says that it is not there, and where')
            return ()
        label = next((value[:_LABEL_CHARS] for key, value in keys
                      if key in _LABEL_KEYS and isinstance(value, str)), '')
        return tuple(_Place(place.kind, place.pairs, place.label or label) for place in places)

    def _below(self, item: Mapping[str, Value]) -> list[_Places]:
        """Return the places of objects that are nested below other keys."""
        found = [self.literal(value) for value in item.values() if _holds_object(value)]
        return [places for places in found if places is not None]

    def _of_kind(self, keys: Sequence[tuple[str, Value]], kind: _Kind) -> list[_Places]:
        """Return the places that each of the keys of a kind holds."""
        found = [self._places(value, kind) for key, value in keys if key in _KEYS[kind]]
        names = [names for names in _NAMES[kind] if {key for key, _ in keys} & set(names)]
        for axes in names:
            found.append((_place(kind, self._by_name(dict(keys), axes)),))
        return found

    def _places(self, value: Value, kind: _Kind) -> _Places:
        """Return the places that the value of a key of a kind holds."""
        if kind is not _Kind.TRACE:
            return tuple(_place(kind, numbers) for numbers in self._vectors(value, kind))
        while isinstance(value, list) and len(value) == 1 and not _is_flat(value):
            value = value[0]
        if isinstance(value, (list, tuple)) and any(
                isinstance(item, (list, tuple)) and not _is_flat(item) for item in value):
            raise _UnreadError('the reply holds several traces where one was asked for')
        pairs = tuple(_place(_Kind.POINT, numbers).pairs[0]
                      for numbers in self._vectors(value, _Kind.POINT))
        return (_Place(_Kind.TRACE, pairs),) if pairs else ()

    def _vectors(self, value: Value, kind: _Kind) -> list[Sequence[float]]:
        """Return the numbers of each place in a value."""
        if value is None:
            return []
        if isinstance(value, str):
            return self._vectors(_only_literal(value), kind)
        if isinstance(value, dict):
            keys = _plain_keys(value)
            below = next((item for key, item in keys if key in _KEYS[kind]), None)
            if below is not None:
                return self._vectors(below, kind)
            names = dict(keys)
            axes = next((axes for axes in _NAMES[kind] if axes[0] in names), _NAMES[kind][0])
            return [self._by_name(names, axes)]
        if _is_flat(value):
            return [value]
        if not isinstance(value, (list, tuple)):
            raise _UnreadError(f'the reply holds {str(value)[:40]!r} where a {kind} should stand')
        if kind is _Kind.BOX and len(value) == 2 and all(
                _is_flat(item) and len(item) == 2 for item in value):
            return [[number for pair in value for number in pair]]
        return [numbers for item in value for numbers in self._vectors(item, kind)]

    def _by_name(self, keys: Mapping[str, Value], axes: Sequence[str]) -> list[float]:
        """Numbers of named axes (x, y, ...), in the order of the convention."""
        numbers = [keys.get(axis) for axis in axes]
        if not _is_flat(numbers):
            raise _UnreadError(f'the reply does not give numbers for all of {", ".join(axes)}')
        return self._in_order(numbers)

    def _in_order(self, numbers: Sequence[float]) -> list[float]:
        """Numbers x, y, x, y ... in the order of the convention."""
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        return [number for pair in pairs for number in (pair[::-1] if self._y_first else pair)]

    # Tags

    def _tag(self, attributes: str, content: str) -> _Places:
        values = {found[1].lower(): found[2] or found[3] or ''
                  for found in _ATTRIBUTE.finditer(attributes)}
        numbers = (_numbered_points(values['coords']) if 'coords' in values
                   else _axis_points(values))
        if not numbers:
            raise _UnreadError('the reply holds a tag without coordinates')
        label = (values.get('alt') or content)[:_LABEL_CHARS]
        return tuple(_place(_Kind.POINT, self._in_order(point), label) for point in numbers)


def _plain_keys(item: Mapping[str, Value]) -> list[tuple[str, Value]]:
    """Keys without case and signs, and their values."""
    return [(re.sub(r'[^a-z0-9]', '', key.lower()), value) for key, value in item.items()]


def _bare(numbers: Sequence[float]) -> _Place:
    """A place of numbers without a name."""
    if len(numbers) not in (2, 4):
        raise _UnreadError(f'{len(numbers)} numbers are neither a point nor a box')
    return _place(_Kind.POINT if len(numbers) == 2 else _Kind.BOX, numbers)


def _place(kind: _Kind, numbers: Sequence[float], label: str = '') -> _Place:
    wanted = 2 if kind is _Kind.POINT else 4
    if len(numbers) != wanted:
        raise _UnreadError(f'a {kind} has {wanted} numbers, the reply gives {len(numbers)}')
    return _Place(kind, tuple(zip(numbers[::2], numbers[1::2], strict=True)), label)


def _only_literal(text: str) -> Value:
    """The list that a text in quotes consists of."""
    found, damaged = find_literals(text)
    if damaged or len(found) != 1 or text.strip() != text[found[0].start:found[0].end]:
        raise _UnreadError(f'the reply holds the text {text[:40]!r} where a place should stand')
    return found[0].value


def _axis_points(values: Mapping[str, str]) -> list[tuple[float, float]]:
    """Points of attributes x and y, or x1, y1, x2, y2 ..., in the order of their numbers."""
    axes: dict[str, dict[int, float]] = {'x': {}, 'y': {}}
    for name, value in values.items():
        if found := _AXIS.match(name):
            axes[found[1]][int(found[2] or 0)] = _number(value)
    if set(axes['x']) != set(axes['y']):
        raise _UnreadError('the reply holds a tag with unequal numbers of x and y')
    return [(axes['x'][index], axes['y'][index]) for index in sorted(axes['x'])]


def _numbered_points(text: str) -> list[tuple[float, float]]:
    """Points of ``image number x y number x y``; groups of pictures are parted by ; or ,."""
    pictures, points = set(), []
    for group in filter(str.strip, re.split('[;,]', text)):
        picture, *numbers = map(_number, group.split())
        pictures.add(picture)
        if len(numbers) % 3 or not numbers:
            raise _UnreadError('the reply holds a tag whose coords are not: image, and then '
                               'number, x, y for each point')
        points += list(zip(numbers[1::3], numbers[2::3], strict=True))
    if len(pictures) > 1:
        raise _UnreadError(f'the reply points into {len(pictures)} pictures, one was sent')
    return points


def _number(text: str) -> float:
    if not _NUMBER.match(text.strip()):
        raise _UnreadError(f'the reply holds a tag with {text[:40]!r} where a number should stand')
    return float(text)
