"""Pictures of pairs of paths, and their vectors by the encoder of ``embedded``.

The encoder is the network that reads paths in pictures from above, up to the cells that its maps
are made of. A picture becomes one vector: mean and greatest value of every channel over all cells.
Pictures are read once, at the size at which the network reads them, and vectors of the encoder as
it is shipped are computed once; both are kept in a folder, in parts, so that an interrupted
command goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightplan_models import _unlike
from sightplan_models._embedded_paths import load_network
from sightplan_models._embedded_paths_network import Network, Shape, prepared
from sightplan_suites.patheval import building, records, samples
from sightplan_suites.patheval.items import Item
from sightplan_suites.paths.labels import ORDER
from sightplan_suites.paths.scenarios import SPELLED

SHIPPED = _unlike.SHIPPED / 'paths'
VIEW = 'top'
_PART = 256
"""Pictures of a part."""
_BATCH = 16
_INDEX = 'rows.json'
"""File with the rows of the items' pictures; it is written when all parts are."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """Distinct pictures of one path each, and which of them items show.

    Attributes:
        pixels: for each part a file (n, H, W, 3) of uint8, mapped into memory.
        features: (N, C) float32 of the encoder as it is shipped.
        rows: by the name of what is pictured, the numbers of the left and the right picture.
    """

    pixels: list[NDArray[np.uint8]]
    features: Tensor
    rows: dict[str, tuple[int, int]]

    def of(self, items: Sequence[Item]) -> Tensor:
        """(n, 2) int64: numbers of the pictures of items."""
        return torch.tensor([self.rows[item.pictured.name] for item in items])

    def load(self, numbers: Sequence[int]) -> Tensor:
        """(n, 3, H, W) float in [0, 1]."""
        found = np.stack([self.pixels[number // _PART][number % _PART] for number in numbers])
        return torch.from_numpy(found).permute(0, 3, 1, 2).float().div(255).contiguous(
            memory_format=torch.channels_last)


def parts(numbers: Tensor, size: int) -> list[Tensor]:
    """Split numbers into parts of at most ``size``."""
    return [numbers[start:start + size] for start in range(0, len(numbers), size)]


def distinct(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Each number once, in order, and for every given one where it is there."""
    found, where = torch.unique(numbers, return_inverse=True)
    return found, where


def load_encoder(folder: Path = SHIPPED) -> Network:
    """The network for pictures from above."""
    network = load_network(folder, VIEW, Shape())
    for parameter in network.parameters():
        if parameter.dim() == 4:  # twice as fast on CPU
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    return network


def pooled(encoder: Network, pictures: Tensor) -> Tensor:
    """(N, C): mean and greatest value of each channel over all cells, differentiable.

    Args:
        encoder: of C / 2 channels.
        pictures: (N, 3, H, W) float in [0, 1].
    """
    cells = encoder.features(pictures).flatten(2)
    return torch.cat((cells.mean(2), cells.amax(2)), 1)


def train_items(folder: Path) -> tuple[list[Item], str]:
    """Items of the folder of the split ``train``, and a hash of its data.

    Raises:
        InputError: the folder cannot be read, or a record of it cannot be used.
    """
    found = records.read_records(folder)
    if found.skipped or not found.items:
        raise SystemExit(f'{folder}: {len(found.items)} records can be used, '
                         f'{len(found.skipped)} cannot; write it with "sightplan suite patheval '
                         f'generate --split train --form spelled --out {folder}"')
    return found.items, found.sha256


def test_items() -> tuple[list[Item], str]:
    """The items of the split ``test``, tasks spelled out, and a hash of their data."""
    digest = hashlib.sha256(building.SHIPPED.read_bytes()).hexdigest()
    return samples.shipped_items(form=SPELLED), digest[:12]


def values_of(items: Sequence[Item]) -> Tensor:
    """(n, 2, 7): descriptors of the paths of items, in ``labels.ORDER``."""
    return torch.tensor([[[float(getattr(one, name)) for name in ORDER] for one in item.values]
                         for item in items])


def read_pictures(items: Sequence[Item], encoder: Network, folder: Path,
                  progress: Callable[[str, int], None] = lambda what, done: None) -> Pictures:
    """Read the pictures of items and encode them, except those that are in the folder already.

    Args:
        items: of one set of data.
        encoder: as it is shipped.
        folder: of the parts, for these items and this encoder alone; it is made.
        progress: is told of what how much is done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_flush_denormal(True)
    index = folder / _INDEX
    if index.exists():
        there = {name: (left, right) for name, (left, right) in json.loads(
            index.read_text('utf-8')).items()}
        if set(there) != {item.pictured.name for item in items}:
            raise SystemExit(f'{folder}: holds the pictures of other items (name another folder)')
        return _kept(folder, there)
    known: dict[bytes, int] = {}
    rows: dict[str, tuple[int, int]] = {}
    waiting: list[NDArray[np.uint8]] = []
    part = 0
    for picture, name, side in _halves(items):
        digest = hashlib.sha256(picture.tobytes()).digest()
        if digest not in known:
            known[digest] = len(known)
            waiting.append(picture)
        number = known[digest]
        rows[name] = (number, -1) if side == 0 else (rows[name][0], number)
        if len(waiting) == _PART:
            _write(folder, part, waiting, encoder)
            part, waiting = part + 1, []
            progress('pictures', len(known))
    if waiting:
        _write(folder, part, waiting, encoder)
    progress('pictures', len(known))
    index.write_text(json.dumps(rows), 'utf-8')
    return _kept(folder, rows)


def _kept(folder: Path, rows: dict[str, tuple[int, int]]) -> Pictures:
    count = -(-(1 + max(max(pair) for pair in rows.values())) // _PART)
    features = [np.load(folder / f'features_{k:03}.npy') for k in range(count)]
    pixels = [np.load(folder / f'pixels_{k:03}.npy', mmap_mode='r') for k in range(count)]
    return Pictures(pixels, torch.from_numpy(np.concatenate(features)), rows)


def _halves(items: Sequence[Item]) -> Iterator[tuple[NDArray[np.uint8], str, int]]:
    """Each picture at the size at which it is read, the name of its pair, and its side."""
    seen: set[str] = set()
    for item in items:
        name = item.pictured.name
        if name in seen:
            continue
        seen.add(name)
        for side, half in enumerate(item.pictured.halves('2d')):
            pixels = (prepared(half) * 255).round().to(torch.uint8)
            yield pixels.permute(1, 2, 0).contiguous().numpy(), name, side


def _write(folder: Path, part: int, pictures: Sequence[NDArray[np.uint8]],
           encoder: Network) -> None:
    """Write a part, unless it is there; the features come last."""
    file = folder / f'features_{part:03}.npy'
    if file.exists():
        return
    stacked = np.stack(pictures)
    np.save(folder / f'pixels_{part:03}.npy', stacked)
    found = []
    with torch.no_grad():
        for start in range(0, len(stacked), _BATCH):
            batch = torch.from_numpy(stacked[start:start + _BATCH]).permute(0, 3, 1, 2)
            found.append(pooled(encoder, batch.float().div(255).contiguous(
                memory_format=torch.channels_last)).numpy())
    partial = file.with_suffix('.partial.npy')
    np.save(partial, np.concatenate(found))
    partial.replace(file)
