"""Whether a picture is one of those that the networks of the backend ``embedded`` were made for.

One small classifier serves all of them. It sees a picture of 160x120 as the first layers of the
shipped locator do: the mean and the standard deviation of each of their 264 channels over the
picture. It tells which kind of picture it is, such as a table or a board, or none of these.
``world.json`` says which kinds each network was made for, and how its probability is calibrated:
that a picture is of another kind, if that is as likely as not beforehand.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from sightplan.model import BackendError
from sightplan_models._embedded_network import Floats, convolve_normed, relu
from sightplan_models._locator_pictures import channels, fit, put_image
from sightplan_models._small_networks import digest_of

WEIGHTS_FILE, SETTINGS_FILE = 'world.safetensors', 'world.json'
SEEN = 160, 120
"""Width and height of the picture that is looked at [px]."""
FARTHEST = 6.0
"""Features farther from the mean, in standard deviations, count as this far."""
_LAYERS = ('stem', 'four', 'eight', 'sixteen')
_LEAST = 1e-7
_KEPT = 64


class Features:
    """Features of pictures: what the first layers of a locator see.

    Args:
        folder: of the locator.
    """

    def __init__(self, folder: Path) -> None:
        weights = {name.removeprefix('vision.'): value
                   for name, value in sorted(load_file(folder / 'locator.safetensors').items())
                   if name.startswith(tuple(f'vision.{layer}.' for layer in _LAYERS))}
        digest = hashlib.sha256()
        for name, value in weights.items():
            digest.update(name.encode() + value.tobytes())
        self.digest = digest.hexdigest()[:12]
        self._weights = {name: value.astype(np.float32) for name, value in weights.items()}
        self._blocks = [sum(name.startswith(f'{layer}.') and name.endswith('.first.0.weight')
                            for name in weights) for layer in _LAYERS]

    def of(self, image: NDArray[np.uint8]) -> Floats:
        """Features (528,) of a picture (H, W, 3), all of it and nothing beside it."""
        frame = fit((image.shape[1], image.shape[0]), SEEN)
        seen: Floats = channels(put_image(image, frame, SEEN), None)
        found, step = list[Floats](), 1
        for layer, blocks in zip(_LAYERS, self._blocks, strict=True):
            seen, step = self._layer(seen, layer, blocks), 4 if step == 2 else 2 * step
            top, left = frame.top // step, frame.left // step
            part = seen[:, top:max(-(-(frame.top + frame.height) // step), top + 1),
                        left:max(-(-(frame.left + frame.width) // step), left + 1)]
            part = part.reshape(len(part), -1)
            found += [part.mean(1), part.std(1)]
        return np.sqrt(np.concatenate(found))

    def _layer(self, maps: Floats, name: str, blocks: int) -> Floats:
        """Maps of a layer of ``_locator_network.Trunk``: half as many rows and columns.

        Args:
            maps: (channels, rows, columns) before it.
            name: of the layer.
            blocks: number of its residual blocks; 0: it is a convolution alone.
        """
        maps = relu(self._convolve(maps, f'{name}.0' if blocks else name, 2))
        for block in range(1, blocks + 1):
            inner = relu(self._convolve(maps, f'{name}.{block}.first'))
            maps = relu(maps + self._convolve(inner, f'{name}.{block}.second'))
        return maps

    def _convolve(self, maps: Floats, name: str, stride: int = 1) -> Floats:
        return convolve_normed(self._weights, maps, f'{name}.0', f'{name}.1', stride)


class PictureClassifier:
    """Tells whether pictures are of the kinds that shipped networks were made for.

    Args:
        folder: of the classifier.
        locator: folder of the locator whose first layers it was fitted to.

    Raises:
        BackendError: it is incomplete, or was fitted to other layers.
    """

    def __init__(self, folder: Path, locator: Path) -> None:
        try:
            found: dict[str, Any] = json.loads((folder / SETTINGS_FILE).read_text())
            self._features = Features(locator)
            self._kinds = [str(kind) for kind in found['kinds']]
            self._networks = {str(name): ([self._kinds.index(kind) for kind in one['kinds']],
                                          tuple(map(float, one['calibration'])))
                              for name, one in found['networks'].items()}
            self._weights: dict[str, Floats] = {
                name: value.astype(np.float32)
                for name, value in load_file(folder / WEIGHTS_FILE).items()}
            if found['layers'] != self._features.digest:
                raise ValueError(f'it was fitted to layers {found["layers"]}, the locator has '
                                 f'{self._features.digest}')
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError,
                SafetensorError) as error:
            raise BackendError(
                f'embedded: {folder} does not tell foreign pictures ({type(error).__name__}: '
                f'{error}); fit it with training/train_world.py') from error
        self._lock = threading.Lock()
        self._known: OrderedDict[str, NDArray[np.float64]] = OrderedDict()

    def foreign(self, image: NDArray[np.uint8], network: str) -> float:
        """Probability that a picture is of no kind that a network was made for.

        Args:
            image: (H, W, 3) uint8 RGB.
            network: name of its folder, such as ``locator`` or ``blocksworld``.
        """
        kinds, (bias, weight) = self._networks[network]
        odds = foreign_log_odds(self._chances(image), kinds)
        return float(1 / (1 + np.exp(-(bias + weight * odds))))

    def _chances(self, image: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Probability of each kind of picture, the last one for none of them."""
        key = digest_of(image)
        with self._lock:
            found = self._known.pop(key, None)
            if found is None:
                found = classified(self._features.of(image)[None], self._weights)[0]
            self._known[key] = found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found


def classified(features: Floats, weights: dict[str, Floats]) -> NDArray[np.float64]:
    """Probabilities (N, kinds + 1) of pictures with given features (N, D).

    Args:
        features: see ``Features``.
        weights: ``mean`` and ``scale`` (D,) of features; ``first`` (M, H, D) and ``first_bias``,
            ``second`` (M, kinds + 1, H) and ``second_bias`` of M networks, of which the mean
            counts.
    """
    seen = ((features - weights['mean']) / weights['scale']).clip(-FARTHEST, FARTHEST)
    hidden = relu(seen @ weights['first'].swapaxes(1, 2) + weights['first_bias'][:, None])
    out = hidden @ weights['second'].swapaxes(1, 2) + weights['second_bias'][:, None]
    out = np.exp(out.astype(np.float64) - out.max(-1, keepdims=True))
    found: NDArray[np.float64] = (out / out.sum(-1, keepdims=True)).mean(0)
    return found


def foreign_log_odds(chances: NDArray[np.float64], kinds: list[int]) -> float:
    """Log odds that a picture is of none of some kinds, from the probability of each."""
    mine = min(max(float(chances[kinds].sum()), _LEAST), 1 - _LEAST)
    return float(np.log1p(-mine) - np.log(mine))
