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
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from sightplan.model import BackendError
from sightplan_models._locator_network import Trunk
from sightplan_models._locator_pictures import channels, fit, put_image
from sightplan_models._small_networks import NetworkFiles, digest_of

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
        _, shape = NetworkFiles('locator', 'locator.safetensors', 'locator.json').read(folder)
        weights = {name.removeprefix('vision.'): value
                   for name, value in sorted(load_file(folder / 'locator.safetensors').items())
                   if name.startswith(tuple(f'vision.{layer}.' for layer in _LAYERS))}
        digest = hashlib.sha256()
        for name, value in weights.items():
            digest.update(name.encode() + value.numpy().tobytes())
        self.digest = digest.hexdigest()[:12]
        trunk = Trunk(shape)
        trunk.load_state_dict({name: value.float() for name, value in weights.items()},
                              strict=False)
        self._layers = [getattr(trunk.eval(), layer).to(memory_format=torch.channels_last)
                        for layer in _LAYERS]

    def of(self, image: NDArray[np.uint8]) -> Tensor:
        """Features (528,) of a picture (H, W, 3), all of it and nothing beside it."""
        frame = fit((image.shape[1], image.shape[0]), SEEN)
        seen = torch.from_numpy(channels(put_image(image, frame, SEEN), None))[None].contiguous(
            memory_format=torch.channels_last)
        found, step = list[Tensor](), 1
        with torch.inference_mode():
            for layer in self._layers:
                seen, step = layer(seen), 4 if step == 2 else 2 * step
                top, left = frame.top // step, frame.left // step
                part = seen[0, :, top:max(-(-(frame.top + frame.height) // step), top + 1),
                            left:max(-(-(frame.left + frame.width) // step), left + 1)].flatten(1)
                found += [part.mean(1), part.std(1, correction=0)]
        return torch.cat(found).sqrt()


class World:
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
            self._weights = {name: value.float()
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
        odds = log_odds(self._chances(image), kinds)
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


def classified(features: Tensor, weights: dict[str, Tensor]) -> NDArray[np.float64]:
    """Probabilities (N, kinds + 1) of pictures with given features (N, D).

    Args:
        features: see ``Features``.
        weights: ``mean`` and ``scale`` (D,) of features; ``first`` (M, H, D) and ``first_bias``,
            ``second`` (M, kinds + 1, H) and ``second_bias`` of M networks, of which the mean
            counts.
    """
    seen = ((features - weights['mean']) / weights['scale']).clamp(-FARTHEST, FARTHEST)
    hidden = torch.einsum('mhd,nd->mnh', weights['first'], seen) + weights['first_bias'][:, None]
    out = torch.einsum('mkh,mnh->mnk', weights['second'], hidden.relu())
    out = (out + weights['second_bias'][:, None]).double().softmax(-1).mean(0)
    return out.numpy()


def log_odds(chances: NDArray[np.float64], kinds: list[int]) -> float:
    """Log odds that a picture is of none of some kinds, from the probability of each."""
    mine = min(max(float(chances[kinds].sum()), _LEAST), 1 - _LEAST)
    return float(np.log1p(-mine) - np.log(mine))
