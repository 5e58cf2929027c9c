"""``Detect``: all things in a picture, told apart."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sightplan.model.errors import InputError
from sightplan.model.instance import Classified
from sightplan.model.query import Chat, Query, Reply, Rgb
from sightplan.model.region import Form, Region, box_iou
from sightplan.model.reply_text import says_absent, why_cannot_tell
from sightplan.queries.coordinates import Coordinates, Size
from sightplan.queries.generate import TextReply
from sightplan.queries.pointing import (
    Pointing,
    PointingPrompt,
    common_words,
    cut_off,
    filled,
    seen_size,
    with_ticks,
    wording,
)
from sightplan.queries.pointing_replies import read_regions

MOVED = ('mug', 'cup', 'can', 'jar', 'bottle', 'box', 'banana', 'apple', 'ball', 'fork', 'spoon',
         'knife', 'screwdriver', 'hammer', 'napkin')
"""Categories of things that are moved."""
PLACES = ('tray', 'plate', 'bowl', 'crate')
"""Categories of things in or on which others are put."""
CABINET = 'cabinet'
"""The one category of things that have drawers."""
DRAWER = 'drawer'
"""The one kind of place that opens and closes."""
LEVELS = ('top', 'bottom')
DRAWERS = tuple(f'{DRAWER}:{level}' for level in LEVELS)
"""Categories of the drawers of a cabinet, the upper one first."""
SAME = 0.5
"""Least intersection over union of two boxes of the same thing."""
OTHER = 'other'
"""Category of all else that stands on a table."""
CATEGORIES = (*MOVED, *PLACES, CABINET, *DRAWERS, OTHER)
COLOURS = ('red', 'orange', 'yellow', 'green', 'blue', 'purple', 'pink', 'brown', 'black', 'white',
           'grey')
MOST_THINGS = 200
"""Most things that a reply may hold."""

_LEVEL_WORDS = {'top': LEVELS[0], 'upper': LEVELS[0], 'bottom': LEVELS[1], 'lower': LEVELS[1]}
_BEGINS_MORE = ('on', 'in', 'of', 'with', 'beside', 'at', 'under', 'next', 'from', 'by', 'behind')
"""Words that begin a further description of a thing: "red mug on the tray" is a mug."""
_SPELLINGS = {'gray': 'grey', 'violet': 'purple'}


@dataclass(frozen=True, slots=True)
class Detection(Classified):
    """A thing in a picture, or a drawer.

    Attributes:
        region: the tight box of what is seen of it, in unit coordinates. Of a drawer that is
            closed its front, of one that is open all that is seen of it.
        categories: probability of each category that it may be, of ``CATEGORIES``; they sum up
            to 1 or less.
        colours: likewise of each colour, of ``COLOURS``: of a thing with a coloured handle that
            of the handle. Empty for drawers.
        probability: probability that the thing is there, in about that box.
        opened: probability that it stands open; None for a thing that does not open.
    """

    region: Region
    categories: Mapping[str, float]
    colours: Mapping[str, float] = field(default_factory=dict)
    probability: float = 1.0
    opened: float | None = None

    def __post_init__(self) -> None:
        """Check it.

        Raises:
            InputError: the region is no box, or a number is no probability.
        """
        if self.region.form is not Form.BOX:
            raise InputError(f'a detection has a box, not a {self.region.form.value}')
        for name, chances in (('categories', self.categories), ('colours', self.colours)):
            if not all(0.0 <= chance <= 1.0 for chance in chances.values()) or sum(
                    chances.values()) > 1.0 + 1e-6:
                raise InputError(f'the {name} of a detection are {dict(chances)}; they must be '
                                 'probabilities that sum up to 1 at most')
        for name, chance in (('probability', self.probability), ('opened', self.opened or 0.0)):
            if not 0.0 <= chance <= 1.0:
                raise InputError(f'{name} of a detection is {chance}; it must be from 0 to 1')


@dataclass(frozen=True, slots=True)
class DetectReply(Reply):
    """Reply to ``Detect``: the things in a picture.

    Attributes:
        detections: one for each thing, the most probable first.
        text: text of the model's reply; '' for a model that does not speak.
        unread: why the reply cannot be used; '' if it can.
        cannot_tell: why it cannot be told what is in the picture, such as a picture unlike those
            that the model was made for; then there are no detections. '' if it can. An empty
            reply without this reason says that there is nothing.
    """

    detections: tuple[Detection, ...] = ()
    text: str = ''
    unread: str = ''
    cannot_tell: str = ''

    def summary(self) -> str:
        """Return the colours and categories of the things as a text."""
        if self.unread:
            return f'unread: {self.unread}'
        if self.cannot_tell:
            return f'cannot tell: {self.cannot_tell}'
        return ', '.join(f'{one.colour} {one.category}'.strip() for one in self.detections)


def same_place(one: Region, category: str, other: Region, other_category: str) -> bool:
    """Whether two boxes are of the same thing, by where they are.

    A drawer that is pulled out may fill half of the box of its cabinet, and is not the cabinet.
    """
    kinds = {category.partition(':')[0], other_category.partition(':')[0]}
    return kinds != {CABINET, DRAWER} and box_iou(one, other) >= SAME


def apart(found: Iterable[Detection]) -> tuple[Detection, ...]:
    """Return the detections without those in the same place as an earlier one."""
    kept: list[Detection] = []
    for one in found:
        if not any(same_place(one.region, one.category, other.region, other.category)
                   for other in kept):
            kept.append(one)
    return tuple(kept)


@dataclass(frozen=True, eq=False)
class Detect(Query[DetectReply]):
    """Query that asks for all things in a picture.

    Attributes:
        image: (H, W, 3) uint8 RGB.
        depth_m: (H, W) float32 distance along the optical axis [m], 0 where unknown; None
            without.
        attempt: number of this query about the same picture, from 0; each is another view of
            it, and a model that draws its replies at random draws another one for each.
    """

    image: Rgb
    depth_m: NDArray[np.float32] | None = None
    attempt: int = 0

    kind: ClassVar[str] = 'detect'
    reply_type: ClassVar[type[Reply]] = DetectReply
    cannot_answer: ClassVar[str] = 'cannot find all things in a picture'

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture."""
        return self.image.shape[1], self.image.shape[0]

    def summary(self) -> str:
        """Return a short text with the number of this look at the picture, from 1."""
        return f'all things, look {self.attempt + 1}'

    def as_chat(self, style: Any) -> Chat[DetectReply]:
        """A request for a list of all things, and the picture."""
        seen = seen_size(style.pointing, functools.partial(style.resized, self.image))
        prompt = compose(self, style.pointing, seen)
        return Chat(prompt.query(self.attempt), functools.partial(
            read_reply, self, style.pointing, seen))


def compose(query: Detect, pointing: Pointing, resized: Size | None) -> PointingPrompt:
    """Compose the prompt that asks a model to find all things in a picture.

    Args:
        query: the picture, and the number of the asking.
        pointing: how the model is asked.
        resized: size of the picture as the model sees it, where coordinates are counted in that.
    """
    words = common_words().detect
    width, height = resized or query.size
    kinds = [kind for kind in CATEGORIES if kind not in DRAWERS]
    values = {'width': str(width), 'height': str(height), 'kinds': ', '.join(kinds),
              'colours': ', '.join(COLOURS), 'ask': wording(words.asks, query.attempt)}
    values['box'] = filled(words.box[pointing.coordinates], values)
    image, text = with_ticks(query.image, filled(words.text, values), pointing, resized)
    return PointingPrompt(words.system, image, text, words.max_tokens)


def read_reply(query: Detect, pointing: Pointing, seen: Size | None,
               reply: TextReply) -> DetectReply:
    """Read the reply of a model that writes text and was asked for all things.

    Args:
        query: the picture.
        pointing: how the model was asked.
        seen: size of the picture as the model sees it, where coordinates are counted in that.
        reply: text of the model's reply.
    """
    words = common_words().detect
    if reply.truncated:
        return DetectReply(text=reply.text, unread=cut_off(
            words.max_tokens, 'a list of all things'))
    return read_detections(reply.text, pointing.coordinates, query.size, seen, words.synonyms)


def read_detections(text: str, coordinates: Coordinates, size: Size, resized: Size | None = None,
                    synonyms: Mapping[str, str] | None = None) -> DetectReply:
    """Read what a model replied to a request to find all things.

    Boxes are read as by ``queries.pointing_replies``, in any notation. A thing's label gives its
    colour and kind ("red mug", "bottom drawer, open"). Unknown words are no error: such a thing is
    ``other``, and its region keeps the label. Anything that is not said has no probability. A
    model that writes text gives no probabilities; several looks at a picture do.

    Args:
        text: the reply.
        coordinates: the convention that the model is declared to use.
        size: width and height of the picture as it was sent.
        resized: size of the picture as the model saw it; needed for ``resized_pixel_xy``.
        synonyms: other words for categories.
    """
    found = read_regions(text, Form.BOX, coordinates, size, resized)
    if not found.regions and not says_absent(text) and (reason := why_cannot_tell(text)):
        return DetectReply(text=text, cannot_tell=reason)
    if found.unread:
        return DetectReply(text=text, unread=found.unread)
    if len(found.regions) > MOST_THINGS:
        return DetectReply(text=text, unread=f'the reply holds {len(found.regions)} things; at '
                                             f'most {MOST_THINGS} are read')
    return DetectReply(apart(_detection(region, synonyms or {}) for region in found.regions), text)


def _detection(region: Region, synonyms: Mapping[str, str]) -> Detection:
    """Return the detection of a thing by its label."""
    words = [_SPELLINGS.get(word, word) for word in re.findall(r'[a-z]+', region.label.lower())]
    head = list(itertools.takewhile(lambda word: word not in _BEGINS_MORE, words))
    box = Region(Form.BOX, region.points)
    if DRAWER in head or f'{DRAWER}s' in head:
        levels = [_LEVEL_WORDS[word] for word in words if word in _LEVEL_WORDS]
        kinds = [f'{DRAWER}:{level}' for level in levels[:1]] or list(DRAWERS)
        opened = {'open': 1.0, 'opened': 1.0, 'closed': 0.0, 'shut': 0.0}
        states = [opened[word] for word in words if word in opened]
        return Detection(box, {kind: 1.0 / len(kinds) for kind in kinds},
                         opened=states[-1] if states else None)
    kinds = [kind for word in head if (kind := _kind(word, synonyms))]
    colour = next((word for word in words if word in COLOURS), '')
    if not kinds:  # its own words are all that tells it from others
        box = Region(Form.BOX, region.points, '' if words == [OTHER] else region.label)
    return Detection(box, {kinds[-1] if kinds else OTHER: 1.0}, {colour: 1.0} if colour else {})


def _kind(word: str, synonyms: Mapping[str, str]) -> str:
    """Return the category that a word means, also in the plural; '' for none."""
    singular = {word, word.removesuffix('s'), word.removesuffix('es'),
                re.sub('ves$', 'fe', word)}
    for one in singular:
        meant = synonyms.get(one, one)
        if meant in CATEGORIES and meant not in DRAWERS:
            return meant
    return ''
