"""How a model that only chats wants to be asked."""

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
    """How a model that only chats wants to be asked.

    Attributes:
        pointing: how it is asked for places, and in which convention it says them.
        resized: tells the width and height of a picture as the model sees it; called only where
            coordinates are counted in that.
    """

    pointing: Pointing = field(default_factory=lambda: Pointing.declared(DEFAULT_FAMILY))
    resized: Callable[[Rgb], Size] = _unknown_size
