"""Common part of the small networks of the backend ``embedded`` that see pictures.

Each is a folder with weights and a JSON file of settings: the network's shape, the words that it
knows, and how its probabilities are calibrated.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from sightplan.model import BackendError, InputError, Usage
from sightplan.model.query import ModelByKind
from sightplan.queries.detect import Detect
from sightplan.queries.locate import Locate

if TYPE_CHECKING:
    from sightplan_models._locator_network import Shape

KEPT = 4
"""Number of the last pictures of which a network keeps what it made: up to some 4 MB each."""

T = TypeVar('T')


@dataclass(frozen=True, slots=True)
class NetworkFiles:
    """The files of one kind of network.

    Attributes:
        kind: for messages, such as ``locator``; the setting that names its folder is KIND_dir.
        weights, settings: names of the files.
    """

    kind: str
    weights: str
    settings: str

    def name(self, folder: Path, more: bytes) -> str:
        """Folder and hash of the files and ``more``: ``embedded_model/locator@0f3a5c...``."""
        digest = hashlib.sha256()
        for name in (self.weights, self.settings):
            digest.update((folder / name).read_bytes())
        digest.update(more)
        return f'{folder.parent.name}/{folder.name}@{digest.hexdigest()[:12]}'

    @contextmanager
    def loading(self, folder: Path) -> Iterator[None]:
        """Turn whatever goes wrong while a network is loaded into a BackendError."""
        try:
            yield
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError,
                SafetensorError) as error:
            raise BackendError(
                f'embedded: {folder} holds no {self.kind} ({type(error).__name__}: {error}); name '
                f'as {self.kind}_dir a folder with {self.settings} and {self.weights} '
                '(training/README.md), or leave it empty') from error

    def read(self, folder: Path) -> tuple[dict[str, Any], Shape]:
        """Settings of a network, and its shape."""
        from sightplan_models._locator_network import Shape

        found = json.loads((folder / self.settings).read_text())
        shape: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value
                                 for key, value in found['shape'].items()}
        return found, Shape(**shape)


class SmallNetworkModel(ModelByKind, Generic[T]):
    """A small network as a model, for any thread; it keeps what it made of the last pictures.

    Args:
        name: exact name, see ``NetworkFiles.name``.
        use_depth: whether to look at depth where a query has it.
    """

    def __init__(self, name: str, use_depth: bool) -> None:
        self._name, self._use_depth, self._asked = name, use_depth, 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, int], T] = OrderedDict()

    @property
    def name(self) -> str:
        """Folder and hash of weights and settings: ``embedded_model/locator@0f3a5c...``."""
        return self._name

    @property
    def usage(self) -> Usage:
        """Number of queries so far."""
        return Usage(self._asked)

    def _recent(self, query: Detect | Locate, depth_m: NDArray[np.float32] | None,
                make: Callable[[], T]) -> T:
        """Result for a picture, its depth and an attempt: kept, or made now; locked."""
        key = digest_of(query.image), digest_of(depth_m), query.attempt
        if key not in self._kept:
            self._kept[key] = make()
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return self._kept[key]


def check_picture(image: Any, depth_m: NDArray[np.float32] | None) -> None:
    """Refuse what is no picture.

    Raises:
        InputError: the image is not (H, W, 3) uint8, or the depth not (H, W).
    """
    if (not isinstance(image, np.ndarray) or image.ndim != 3 or image.shape[2] != 3
            or image.dtype != np.uint8 or not image.size):
        what = (f'{image.dtype} {image.shape}' if isinstance(image, np.ndarray)
                else type(image).__name__)
        raise InputError(f'embedded: the image is {what}; it must be uint8 RGB of shape (height, '
                         f'width, 3)')
    if depth_m is not None and (depth_m.ndim != 2 or not depth_m.size):
        raise InputError(f'embedded: the depth has shape {depth_m.shape}; it must be (height, '
                         f'width), in metres')


def digest_of(array: NDArray[Any] | None) -> str:
    """Hash of type, shape and content of an array; '' for None."""
    return '' if array is None else f'{array.dtype}{array.shape}' + hashlib.blake2b(
        np.ascontiguousarray(array).data, digest_size=16).hexdigest()
