"""Categories of things: their makers, their colours, and the families they are confused in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sightplan_sim.tabletop import cabinet, containers, solid_things, vessels
from sightplan_sim.tabletop.draw import COLOURS, Draw
from sightplan_sim.tabletop.shapes import Thing

_ALL = tuple(COLOURS)
_BRIGHT = tuple(colour for colour in _ALL if colour not in ('brown', 'black', 'grey'))


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of thing.

    Attributes:
        make: draws one of a colour.
        colours: it comes in.
        family: those of one family are look-alikes.
        also: words for other categories that may mean it, too.
        natural: whether its colours are given by nature, so that no combination is held out.
        likely: weight with which it is drawn.
    """

    make: Callable[[Draw, str], Thing]
    colours: tuple[str, ...] = _ALL
    family: str = ''
    also: tuple[str, ...] = ()
    natural: bool = False
    likely: float = 1.0


CATEGORIES: Mapping[str, Category] = {
    'mug': Category(vessels.mug, family='cups', also=('cup',), likely=2.0),
    'cup': Category(vessels.cup, family='cups'),
    'bowl': Category(vessels.bowl, family='dishes', likely=1.5),
    'plate': Category(vessels.plate, family='dishes'),
    'pan': Category(vessels.pan, family='pans'),
    'pot': Category(vessels.pot, family='pans'),
    'kettle': Category(vessels.kettle, family='pourers'),
    'teapot': Category(vessels.teapot, family='pourers'),
    'jug': Category(vessels.jug, family='pourers'),
    'bottle': Category(vessels.bottle, family='bottles', likely=1.5),
    'can': Category(vessels.can, family='cans', likely=1.5),
    'jar': Category(vessels.jar, family='cans'),
    'tray': Category(vessels.tray, family='trays'),
    'knife': Category(solid_things.knife, family='cutlery'),
    'fork': Category(solid_things.fork, family='cutlery'),
    'spoon': Category(solid_things.spoon, family='cutlery'),
    'spatula': Category(solid_things.spatula, family='cutlery'),
    'screwdriver': Category(solid_things.screwdriver, family='tools'),
    'hammer': Category(solid_things.hammer, family='tools'),
    'brush': Category(solid_things.brush, family='tools'),
    'scissors': Category(solid_things.scissors, family='scissors'),
    'book': Category(solid_things.book, family='books'),
    'box': Category(solid_things.box, family='boxes', likely=1.5),
    'drawer box': Category(solid_things.drawer_box, family='chests', also=('box',)),
    'banana': Category(solid_things.banana, ('yellow',), 'bananas', natural=True),
    'apple': Category(solid_things.apple, ('red', 'green', 'yellow'), 'round things',
                      natural=True),
    'ball': Category(solid_things.ball, _BRIGHT, 'round things'),
}
"""Categories of small things, by the word for them."""

FURNITURE: Mapping[str, Category] = {
    'cabinet': Category(cabinet.cabinet, family='chests'),
    'crate': Category(containers.crate, family='crates'),
    'napkin': Category(containers.napkin, family='napkins'),
}
"""Categories that stand on a table only where a scene wants them, by the word for them."""

HELD_OUT_COLOURS = 3
"""Colours of each category that no training scene shows."""


def colours_of(category: str, held_out: bool) -> tuple[str, ...]:
    """Colours of a category in held-out scenes, or in those for training.

    The two have none in common, but for things whose colours are nature's. Every third colour or
    so is held out, beginning elsewhere for each category, so that each colour is trained often.
    """
    kind = category_of(category)
    if kind.natural:
        return kind.colours
    start = 2 * [*CATEGORIES, *FURNITURE].index(category)
    count = len(kind.colours)
    kept = {(start + 4 * k) % count for k in range(HELD_OUT_COLOURS)}
    return tuple(colour for k, colour in enumerate(kind.colours) if (k in kept) == held_out)


def category_of(name: str) -> Category:
    """The kind of thing that a word means, furniture included.

    Raises:
        KeyError: there is none.
    """
    return CATEGORIES[name] if name in CATEGORIES else FURNITURE[name]


def make_thing(draw: Draw, category: str, colour: str) -> Thing:
    """Draw one of a category and a colour."""
    draw.start()
    return category_of(category).make(draw, colour)
