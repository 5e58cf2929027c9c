"""A small model says nothing of a picture that is unlike those that it was made for.

Of the networks that come with the package a classifier beside them tells which pictures these are,
see ``_embedded_world``; of others nothing is known.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sightplan.model.whereabouts import UNLIKE, is_foreign

if TYPE_CHECKING:
    from sightplan_models._embedded_world import PictureClassifier

Unlike = Callable[[NDArray[np.uint8]], str]
"""Says why a picture, (H, W, 3) uint8 RGB, is unlike those that a model was made for; '' if it is
like them."""
Foreign = Callable[[NDArray[np.uint8]], float]
"""Tells the probability that a picture is unlike those that a model was made for."""

SHIPPED = Path(__file__).resolve().parent / 'embedded_model'
"""Folder of the networks that come with the package."""
FOLDER = 'world'
"""Name of the folder beside them of the classifier that tells foreign pictures."""


def never(picture: NDArray[np.uint8]) -> str:
    """Take every picture for one that the model was made for."""
    return ''


@functools.cache
def _classifier() -> PictureClassifier:
    from sightplan_models._embedded_world import PictureClassifier
    return PictureClassifier(SHIPPED / FOLDER, SHIPPED / 'locator')


def foreign_by(folder: Path) -> Foreign | None:
    """Foreign pictures for the network of a folder; None if it does not come with the package."""
    if folder.resolve().parent != SHIPPED:
        return None

    return lambda picture: _classifier().foreign(picture, folder.name)


def unlike_by(folder: Path) -> Unlike:
    """Pictures of which the network of a folder can tell nothing; none if it is not shipped."""
    foreign = foreign_by(folder)
    return never if foreign is None else (
        lambda picture: UNLIKE if is_foreign(foreign(picture)) else '')


def world_bytes(folder: Path) -> bytes:
    """Content of the classifier on which the replies of a folder's network depend, if any."""
    shipped = folder.resolve().parent == SHIPPED
    return b''.join(file.read_bytes() for file in sorted(
        (SHIPPED / FOLDER).glob('world.*'), reverse=True) if shipped)


def with_world(name: str, folder: Path) -> str:
    """The name of a folder's network that ends in a hash, with the classifier hashed, too."""
    content = world_bytes(folder)
    head, at, digest = name.partition('@')
    return name if not content else (
        f'{head}{at}{hashlib.sha256(digest.encode() + content).hexdigest()[:12]}')
