"""Style in which queries are put to a model that only chats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sightplan.model.errors import InputError
from sightplan.model.query import Rgb
from sightplan.queries.coordinates import Size
from sightplan.queries.pointing import DEFAULT_FAMILY, Pointing


def _unknown_size(picture: Rgb) -> Size:
    raise InputError('it is not known to which size the model brings pictures, so that '
                     'resized_pixel_xy cannot be read; set another convention of coordinates')


@dataclass(frozen=True)
class ChatStyle:
    """Style in which queries are put to a model that only chats.

    Attributes:
        pointing: the prompts that ask for places, and the convention of the coordinates.
        resized: returns the width and height of a picture as the model sees it; called only if
            the model counts coordinates in that size.
    """

    pointing: Pointing = field(default_factory=lambda: Pointing.declared(DEFAULT_FAMILY))
    resized: Callable[[Rgb], Size] = _unknown_size
