"""Lists of all things in a picture, in replies of models that write text.

Boxes are read as ``queries.pointing_replies`` reads them, in whatever shape; a thing's label says
what it is, by colour and kind ("red mug", "bottom drawer, open"). Unknown words are no error:
such a thing is ``other``, and what is not said has no probability. A model that writes text gives
none for what it does say; several looks do.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

from sightplan.model.region import Form, Region
from sightplan.queries.coordinates import Coordinates, Size
from sightplan.queries.detect import (
    CATEGORIES,
    COLOURS,
    DRAWER,
    DRAWERS,
    LEVELS,
    OTHER,
    Detection,
    DetectReply,
    apart,
)
from sightplan.queries.pointing_replies import read_regions

MOST_THINGS = 200
"""So many things may a reply hold."""

_LEVEL_WORDS = {'top': LEVELS[0], 'upper': LEVELS[0], 'bottom': LEVELS[1], 'lower': LEVELS[1]}
_BEGINS_MORE = ('on', 'in', 'of', 'with', 'beside', 'at', 'under', 'next', 'from', 'by', 'behind')
"""What follows says more about a thing: "red mug on the tray" is a mug."""
_SPELLINGS = {'gray': 'grey', 'violet': 'purple'}


def read_detections(text: str, coordinates: Coordinates, size: Size, resized: Size | None = None,
                    synonyms: Mapping[str, str] | None = None) -> DetectReply:
    """Read what a model replied to a request to find all things; see the module.

    Args:
        text: the reply.
        coordinates: the convention that the model is declared to use.
        size: width and height of the picture as it was sent.
        resized: of the picture as the model saw it; needed for ``resized_pixel_xy``.
        synonyms: other words for categories.
    """
    found = read_regions(text, Form.BOX, coordinates, size, resized)
    if found.unread:
        return DetectReply(text=text, unread=found.unread)
    if len(found.regions) > MOST_THINGS:
        return DetectReply(text=text, unread=f'the reply holds {len(found.regions)} things; at '
                                             f'most {MOST_THINGS} are read')
    return DetectReply(apart(_detection(region, synonyms or {}) for region in found.regions), text)


def _detection(region: Region, synonyms: Mapping[str, str]) -> Detection:
    """A thing as its label says what it is."""
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
    return Detection(box, {kinds[-1] if kinds else OTHER: 1.0}, {colour: 1.0} if colour else {})


def _kind(word: str, synonyms: Mapping[str, str]) -> str:
    """The category that a word means, also in the plural; '' for none."""
    singular = {word, word.removesuffix('s'), word.removesuffix('es'),
                re.sub('ves$', 'fe', word)}
    for one in singular:
        meant = synonyms.get(one, one)
        if meant in CATEGORIES and meant not in DRAWERS:
            return meant
    return ''
