"""Reader of paths of the backend ``embedded``: which of two paths has more of a property.

A folder holds weights for pictures from above and in perspective, and ``paths.json``: their
shapes, and for each descriptor by how much differences of two readings are off (standard
deviation), and from which difference on it is a reason to prefer one path. It reads no sentences:
the query names what is compared (``Choose.properties``).

Of one property it is told which path has more. Where several matter, a path is better if some
differ enough and all that do speak for it, as PathEval labels its items: with independent errors
of the readings, the probability of that is (A - N) / (A + B - 2 N), where A is the probability
that nothing speaks against the first path, B that nothing speaks against the second, and N that
nothing speaks at all.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file

from sightplan.model import BackendError, InputError, Usage
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.queries.choose import ChoiceReply, Choose
from sightplan_models._embedded_paths_network import (
    READINGS,
    Network,
    Shape,
    is_perspective,
    prepared,
    read,
)
from sightplan_models._unlike import Unlike, never

MODEL_TYPE = 'sightplan_paths'
SETTINGS_FILE = 'paths.json'
_KEPT = 64
"""Readings that are kept."""
_NORMAL = NormalDist()
_LEAST = 1e-6


def weights_file(view: str) -> str:
    """Name of the file of a view's weights: ``top`` or ``perspective``."""
    return f'{view}.safetensors'


def load_network(folder: Path, view: str, shape: Shape) -> Network:
    """The network of a view, with its weights from a folder."""
    network = Network(shape)
    network.load_state_dict({key: value.float() if value.is_floating_point() else value
                             for key, value in load_file(folder / weights_file(view)).items()})
    return network.eval()


class PathReader(ModelByKind):
    """Loaded networks that read paths; from any thread.

    Args:
        folder: of the model.
        name: exact name of the networks; '' for the folder's.
        unlike: says why it can tell nothing of a picture.

    Raises:
        BackendError: the folder holds none.
    """

    def __init__(self, folder: Path, name: str = '', unlike: Unlike = never) -> None:
        self._unlike = unlike
        self.name = name or folder.name
        self._asked = 0
        try:
            settings = json.loads((folder / SETTINGS_FILE).read_text())
            self._enough = {key: float(settings['enough'][key]) for key in READINGS}
            views = settings['views']
            self._networks, self._noise = {}, {}
            for name, found in views.items():
                shape = found['shape']
                self._networks[name] = load_network(folder, name, Shape(
                    shape['first'], shape['width'], tuple(shape['dilations'])))
                self._noise[name] = {key: float(found['noise'][key]) for key in READINGS}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError,
                SafetensorError) as error:
            raise BackendError(f'{folder}: holds no reader of paths ({error}); train one with '
                               'training/train_paths.py') from error
        self._kept: OrderedDict[str, NDArray[np.float64]] = OrderedDict()
        self._lock = threading.Lock()

    def readings(self, picture: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Properties (7,) read from a picture of a path; see ``READINGS``.

        Args:
            picture: (H, W, 3) uint8 RGB of one path on its map.
        """
        key = f'{picture.shape} {hashlib.sha256(picture.tobytes()).hexdigest()}'
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            with torch.no_grad():
                maps = self._network(picture)(prepared(picture)[None])
                found = read(maps)[0].double().numpy()
            self._kept[key] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return found

    @property
    def usage(self) -> Usage:
        """Number of queries so far."""
        return Usage(self._asked)

    @answers(Choose)
    def choose(self, query: Choose, deadline: Deadline) -> ChoiceReply:
        """Choose the option that is better in the named properties, taken together.

        Of pictures of which one is unlike those that it was made for it cannot tell.

        Args:
            query: its pictures show one option each, or the first of two options on the left
                and the second on the right of one picture.
            deadline: not needed; the networks take milliseconds.

        Raises:
            InputError: it does not name what is compared, or the pictures do not fit the options.
        """
        unknown = [name for name, _ in query.properties if name not in READINGS]
        if unknown or not query.properties:
            raise InputError('the embedded reader of paths compares named properties, it reads no '
                             f'sentences: {unknown[0] if unknown else "none"} was named (known: '
                             f'{", ".join(READINGS)})')
        pictures = [part for part in query.parts if not isinstance(part, str)]
        if len(pictures) == 1 and len(query.options) == 2:
            middle = pictures[0].shape[1] // 2
            pictures = [pictures[0][:, :middle], pictures[0][:, middle:]]
        if not pictures:
            raise InputError('the embedded reader of paths looks at pictures, and this sample has '
                             'none; choose a backend that reads text, or, to see what a model '
                             'says without them, a white one (suite option blank=true)')
        if len(pictures) != len(query.options):
            raise InputError(f'{len(pictures)} pictures of {len(query.options)} options; show '
                             'one of each, or two side by side in one')
        with self._lock:
            self._asked += 1
        if why := next(filter(None, map(self._unlike, pictures)), ''):
            return ChoiceReply(cannot_tell=why)
        view = self._view(pictures[0])
        read = [self.readings(picture) for picture in pictures]
        wins = np.ones(len(read))
        for i, j in itertools.permutations(range(len(read)), 2):
            wins[i] *= self._better(read[i] - read[j], query.properties, view)
        chances = tuple(float(chance) for chance in wins / wins.sum())
        chosen = int(np.argmax(chances))
        return ChoiceReply(chances, chosen, query.options[chosen])

    def _better(self, differences: NDArray[np.float64], properties: Sequence[tuple[str, int]],
                view: str) -> float:
        """Probability that the first of two is better, from (7,) differences of their readings."""
        noise, enough = self._noise[view], self._enough
        if len(properties) == 1:
            [(name, sign)] = properties
            better = _NORMAL.cdf(sign * differences[READINGS.index(name)] / noise[name])
            return min(max(better, _LEAST), 1 - _LEAST)
        not_worse = not_better = neither = 1.0
        for name, sign in properties:
            difference = sign * differences[READINGS.index(name)]
            more = _NORMAL.cdf((difference - enough[name]) / noise[name])
            less = _NORMAL.cdf((-difference - enough[name]) / noise[name])
            not_worse *= 1 - less
            not_better *= 1 - more
            neither *= max(1 - less - more, 0.0)
        first, second = not_worse - neither + _LEAST, not_better - neither + _LEAST
        return min(max(first / (first + second), _LEAST), 1 - _LEAST)

    def _view(self, picture: NDArray[np.uint8]) -> str:
        return 'perspective' if is_perspective(picture) else 'top'

    def _network(self, picture: NDArray[np.uint8]) -> Network:
        view = self._view(picture)
        if view not in self._networks:
            raise BackendError(f'the embedded reader of paths has no weights for the view {view}; '
                               'train it with training/train_paths.py')
        return self._networks[view]
