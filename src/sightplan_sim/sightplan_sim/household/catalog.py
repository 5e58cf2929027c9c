"""Models of objects, chosen by the category in an object's name, else by its PDDL type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from sightplan.model import WorldError
from sightplan_sim.household import decor, furniture, things
from sightplan_sim.household.decor import floor, wall, wall_colour
from sightplan_sim.household.rooms import ROOMS
from sightplan_sim.household.shapes import Model

__all__ = ['CONTAINERS', 'DECOR', 'FURNITURE', 'MOVABLES', 'category_of', 'floor', 'make_decor',
           'make_model', 'wall', 'wall_colour']

ModelFactory = Callable[[str, np.random.Generator], Model]

CONTAINERS: Mapping[str, ModelFactory] = {
    'cabinet': furniture.cabinet, 'carton': furniture.carton, 'door': furniture.door,
    'fridge': furniture.fridge, 'window': furniture.window, 'drawers': furniture.drawers,
}
"""Models of containers and other things that open, by category."""

FURNITURE: Mapping[str, ModelFactory] = {
    'bed': furniture.bed, 'chair': furniture.chair, 'coffee_table': decor.coffee_table,
    'counter': furniture.counter, 'desk': furniture.table, 'shelf': furniture.shelf,
    'sink': furniture.sink, 'sofa': furniture.sofa, 'stove': furniture.stove,
    'table': furniture.table,
}
"""Models of furniture that does not open and stays where it is, by category."""

MOVABLES: Mapping[str, ModelFactory] = {
    'apple': things.apple, 'ball': things.ball, 'banana': things.banana,
    'basket': things.basket, 'book': things.book, 'bottle': things.bottle, 'bowl': things.bowl,
    'box': things.parcel, 'bucket': things.bucket, 'cloth': things.cloth, 'cup': things.cup,
    'document': things.document, 'folder': things.folder, 'fork': things.fork,
    'gym_shoe': things.gym_shoe, 'hardback': things.hardback, 'knife': things.knife,
    'lemon': things.lemon, 'marker': things.marker, 'mug': things.mug,
    'notebook': things.notebook, 'orange': things.orange, 'pen': things.pen,
    'plate': things.plate, 'sandwich': things.sandwich, 'saucepan': things.saucepan,
    'snack_food': things.snack_food, 'sock': things.sock, 'spoon': things.spoon,
}
"""Models of movable things, by category; a ``plaything`` takes its category from its number."""

DECOR: Mapping[str, ModelFactory] = {
    'bed': furniture.bed, 'bicycle': decor.bicycle, 'bookcase': decor.bookcase,
    'chair': furniture.chair, 'coffee_table': decor.coffee_table, 'counter': furniture.counter,
    'desk': decor.desk, 'file_cabinet': decor.file_cabinet,
    'lamp': decor.lamp, 'picture': decor.picture, 'plant': decor.plant, 'rack': decor.rack,
    'rug': decor.rug, 'side_table': decor.side_table, 'sofa': furniture.sofa,
    'stove': furniture.stove, 'wardrobe': decor.wardrobe,
}
"""Models that furnish a room besides the problem's objects, by category."""

_SUFFIX = re.compile(r'(?:[._][nvars][._]\d+)$')
_NUMBER = re.compile(r'_(\d+)$')


def category_of(name: str) -> str:
    """The category in an object's name: without its number and without a WordNet suffix.

    ``bowl_1``, ``bowl.n.01_1`` and ``bowl_n_01_1`` are bowls.
    """
    bare = _SUFFIX.sub('', name.lower())
    if bare == name.lower():
        bare = _SUFFIX.sub('', _NUMBER.sub('', bare))
    return bare or name


def make_model(name: str, kind: str, rng: np.random.Generator, *,
               hint: frozenset[str] = frozenset()) -> Model:
    """A model for an object of a problem; equal generators give equal models.

    Args:
        name: of the PDDL object, for example ``bowl_1``.
        kind: its PDDL type: ``movable``, ``container`` or ``object``.
        rng: draws size, proportions and colours.
        hint: words on what happens to it: with ``held``, ``inside`` or ``ontop`` an unknown
            container is a carton.

    Returns:
        The model; ``Model.category`` is what ``category_of`` says.

    Raises:
        WorldError: the kind is none of the three.
    """
    if kind not in ('movable', 'container', 'object'):
        raise WorldError(f'object {name!r} has type {kind!r}; a home knows movable, container '
                         'and object')
    category = category_of(name)
    if kind == 'movable':
        known = _known(category, (*MOVABLES, 'plaything'))
        if known == 'plaything':
            return things.plaything(category, rng, _number(name))
        return (MOVABLES[known] if known else things.plain)(category, rng)
    if kind == 'container':
        known = _known(category, CONTAINERS)
        if known is None:
            known = 'carton' if hint & {'held', 'inside', 'ontop'} else 'cabinet'
        return CONTAINERS[known](category, rng)
    known = _known(category, FURNITURE)
    return FURNITURE[known or 'table'](category, rng)


def make_decor(category: str, rng: np.random.Generator) -> Model:
    """Model of a decor item, which is no object of a problem; see ``DECOR``."""
    return DECOR[category](category, rng)


def _known(category: str, among: Mapping[str, ModelFactory] | tuple[str, ...]) -> str | None:
    if category in among:
        return category
    other = ROOMS.aliases.get(category)
    return other if other in among else None


def _number(name: str) -> int:
    found = _NUMBER.search(name)
    return max(1, int(found[1])) if found else 1
