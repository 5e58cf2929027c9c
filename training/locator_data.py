"""Scenes to learn to point from: shards on disk, and batches made of them.

Arrays of a shard, for n scenes of up to THINGS things and TASKS tasks: ``image`` (n, 240, 320, 3)
uint8 and ``depth`` (n, 240, 320) uint16 [mm, 0 unknown], as the network sees them; ``owner``
(n, 120, 160) uint8, 1 + index of the thing that is seen there, or 0; ``category`` (n, THINGS) its
category, '' for none; ``text``, ``kind`` (n, TASKS) of a task, '' for none; ``piece`` (n, TASKS)
int8, index of the thing that it is about, or -1; ``mask`` (n, TASKS, 2400) uint8, its mask at the
size of the heat map, as bits.
"""

from __future__ import annotations

import pkgutil
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from locator_wording import Wording
from shards import Arrays
from sightplan.model.plugins import load_object
from sightplan.model.scene import PointingScene, SceneSource
from sightplan_models._locator_network import COARSE, HEIGHT, MAP, WIDTH
from sightplan_models._locator_pictures import channels, fit, put_depth, put_image
from sightplan_models._locator_words import ids_of, mirrored, pieces, words_of

SCENES = 'sightplan.scenes'
"""Entry points of makers of scenes."""
THINGS, TASKS = 24, 48
MOST_TEXTS = 20_000
"""Number of texts from which the vocabulary is made."""
_CELLS = MAP[0] * MAP[1]
_SEEN = WIDTH, HEIGHT
DEPTH_RATE, POOR_RATE, FLIP_RATE, MOVE_RATE, KNOWN_RATE = 0.65, 0.6, 0.5, 0.7, 0.93
"""Chances that a picture has depth, that it is a poor sensor's, that the picture is mirrored, that
it is moved and scaled, and that a known word counts as known."""


def scene_source(name: str) -> SceneSource:
    """The maker of scenes of that name, or of ``module:function``.

    Raises:
        InputError: there is none.
    """
    make = pkgutil.resolve_name(name) if ':' in name else load_object(
        'maker of scenes', name, SCENES)
    found: SceneSource = make()
    return found


def draw_shard(sources: Sequence[str], scenes: int, seed: int) -> Arrays:
    """Render a shard: the scenes for training from ``seed * scenes`` on, by makers in turn."""
    maker = scene_source(sources[seed % len(sources)])
    return packed([maker.scene(seed * scenes + k, held_out=False) for k in range(scenes)])


def drawer(sources: Sequence[str], scenes: int) -> Any:
    """Function that renders the shard of a seed, for ``shards.render``."""
    return partial(draw_shard, tuple(sources), scenes)


# Shards ----------------------------------------------------------------------------------------

def packed(scenes: Sequence[PointingScene]) -> Arrays:
    """The arrays of a shard."""
    rows = [_row(scene) for scene in scenes]
    return {key: np.stack([row[key] for row in rows]) for key in rows[0]}


def _row(scene: PointingScene) -> dict[str, Any]:
    height, width = scene.image.shape[:2]
    frame = fit((width, height), _SEEN)
    depth = put_depth(scene.depth_m, frame, _SEEN)
    owner = np.zeros(MAP, np.uint8)
    names = [piece.name for piece in scene.pieces][:THINGS]
    share = np.full(MAP, 0.5)
    for index, piece in enumerate(scene.pieces[:THINGS], 1):
        covered = _shrunk(piece.mask)
        owner[covered >= share] = index
        share = np.maximum(share, covered)
    out: dict[str, Any] = {
        'image': put_image(scene.image, frame, _SEEN),
        'depth': np.clip(np.where(np.isfinite(depth), depth, 0) * 1e3, 0, 65535).astype(np.uint16),
        'owner': owner, 'category': np.zeros(THINGS, 'U24'), 'text': np.zeros(TASKS, 'U160'),
        'kind': np.zeros(TASKS, 'U24'), 'piece': np.full(TASKS, -1, np.int8),
        'mask': np.zeros((TASKS, _CELLS // 8), np.uint8)}
    out['category'][:len(names)] = [piece.category for piece in scene.pieces[:THINGS]]
    for k, task in enumerate(scene.tasks[:TASKS]):
        out['text'][k], out['kind'][k] = task.text, f'{task.stage} {task.kind}'
        out['piece'][k] = names.index(task.piece) if task.piece in names else -1
        covered = _shrunk(task.mask)
        out['mask'][k] = np.packbits(covered >= min(0.5, 0.7 * covered.max()))
    return out


def _shrunk(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Covered fraction of each cell of the heat map."""
    return np.asarray(cv2.resize(mask.astype(np.float32), MAP[::-1],
                                 interpolation=cv2.INTER_AREA), np.float64)


# Vocabulary ------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Vocabulary:
    """Words and categories that a network knows.

    Attributes:
        words: known words; the first, '', stands for all others.
        categories: of things.
    """

    words: tuple[str, ...]
    categories: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str], categories: Iterable[str], least: int = 3) -> Vocabulary:
        """Collect the words that occur at least ``least`` times in the texts and rewordings."""
        names = tuple(sorted({name for name in categories if name}))
        wording, rng, count = Wording(names), random.Random(0), Counter[str]()
        texts = list(texts)
        for text in rng.sample(texts, min(len(texts), MOST_TEXTS)):
            for said in (text, *(wording.reworded(text, rng) for _ in range(4))):
                count.update(words_of(said))
        known = sorted(word for word, times in count.items() if times >= least and word)
        return cls(('', *known), names)

    def extended(self, other: Vocabulary) -> Vocabulary:
        """Copy of this vocabulary with the additional entries of another one after its own."""
        return Vocabulary(*(
            (*own, *(name for name in more if name not in own))
            for own, more in ((self.words, other.words), (self.categories, other.categories))))

    def ids(self) -> dict[str, int]:
        """Id of each word."""
        return {word: index for index, word in enumerate(self.words)}


# Batches ---------------------------------------------------------------------------------------

@dataclass(frozen=True, eq=False)
class Batch:
    """Pictures with targets.

    Attributes:
        picture: (B, CHANNELS, HEIGHT, WIDTH) float32.
        word, grams, starts: of the batch's different words; see ``Network.words``.
        text: (B, T, L) which of those words.
        padding: (B, T, L) bool, where there is no word.
        used: (B, T) bool, whether there is such a target.
        absent: (B, T) bool, whether it is not in the picture.
        mask: (B, T, *MAP) bool.
        kind: of each target, ``s1 object`` and the like.
        piece: (B, T) 1 + index of the thing that it is about; 0 for none.
        owner: (B, *COARSE) 1 + index of the thing that is there; 0 for none.
        heat: (B, *COARSE) how near a thing's centre is, 1 at it.
        where: (B, 4, *COARSE) offset to the centre and size of the thing that is there.
        category: (B, THINGS) 1 + category of each thing, 0 for none.
        named: (B, T, L, THINGS + 1) bool, whether a word is of the category of a thing; the first
            is no thing.
    """

    picture: torch.Tensor
    word: torch.Tensor
    grams: torch.Tensor
    starts: torch.Tensor
    text: torch.Tensor
    padding: torch.Tensor
    used: torch.Tensor
    absent: torch.Tensor
    mask: torch.Tensor
    kind: list[list[str]]
    piece: torch.Tensor
    owner: torch.Tensor
    heat: torch.Tensor
    where: torch.Tensor
    category: torch.Tensor
    named: torch.Tensor


@dataclass(frozen=True, eq=False)
class _Target:
    words: tuple[str, ...]
    mask: NDArray[np.uint8] | None
    kind: str = ''
    piece: int = 0


class Batches:
    """Makes batches of shards' scenes.

    Args:
        vocabulary: of the network.
        grams: pieces of words that it tells apart.
        targets: of each picture, at most.
    """

    def __init__(self, vocabulary: Vocabulary, grams: int, targets: int) -> None:
        self._vocabulary, self._grams, self._targets = vocabulary, grams, targets
        self._ids = vocabulary.ids()
        self._wording = Wording(vocabulary.categories)
        self._categories = {name: k for k, name in enumerate(vocabulary.categories, 1)}

    def make(self, data: Arrays, rng: np.random.Generator | None) -> Batch:
        """A batch; varied if a generator is given, else all of it as it is."""
        count = len(data['image'])
        views = [View.draw(data, k, rng) for k in range(count)]
        targets = [self._chosen(data, k, views[k], rng) for k in range(count)]
        depth = [rng is None or rng.random() < DEPTH_RATE for _ in range(count)]
        picture = np.stack([shown_picture(data, k, views[k], depth[k], rng) for k in range(count)])
        owner = np.stack([view.warped(data['owner'][k]) for k, view in enumerate(views)])
        dense = [_dense(owner[k]) for k in range(count)]
        most = max(1, max(map(len, targets)))
        masks = np.zeros((count, most, *MAP), bool)
        piece = np.zeros((count, most), np.int64)
        used, absent = np.zeros((2, count, most), bool)
        for k, row in enumerate(targets):
            for j, target in enumerate(row):
                used[k, j], absent[k, j] = True, target.mask is None
                piece[k, j] = target.piece
                if target.mask is not None:
                    masks[k, j] = target.mask
        return Batch(
            torch.from_numpy(picture).contiguous(memory_format=torch.channels_last),
            **self._text(targets, data['category'], rng), used=torch.from_numpy(used),
            absent=torch.from_numpy(absent), mask=torch.from_numpy(masks),
            kind=[[target.kind for target in row] for row in targets],
            piece=torch.from_numpy(piece), owner=torch.from_numpy(owner[:, ::2, ::2].astype(int)),
            category=torch.tensor([[self._categories.get(str(name), 0) for name in row]
                                   for row in data['category']]),
            **{key: torch.from_numpy(np.stack([one[key] for one in dense])) for key in dense[0]})

    def _chosen(self, data: Arrays, k: int, view: View, rng: np.random.Generator | None,
                ) -> list[_Target]:
        """Targets of a scene."""
        there = np.flatnonzero(data['text'][k] != '')
        if rng is None:
            return [_Target(words_of(str(data['text'][k, j])), _unpacked(data['mask'][k, j]),
                            str(data['kind'][k, j]), int(data['piece'][k, j]) + 1)
                    for j in there]
        other = _stranger(data, k, rng) if len(data['text']) > 1 else None
        out = [] if other is None else [_Target(self._said(other, view, rng), None, 'absent')]
        for j in rng.permutation(there):
            before = _unpacked(data['mask'][k, j])
            mask = view.warped(before)
            if len(out) < self._targets and mask.sum() >= max(
                    1.0, 0.9 * view.area * float(before.sum())):
                out.append(_Target(self._said(str(data['text'][k, j]), view, rng), mask,
                                   str(data['kind'][k, j]), int(data['piece'][k, j]) + 1))
        return out

    def _said(self, text: str, view: View, rng: np.random.Generator) -> tuple[str, ...]:
        words = words_of(self._wording.reworded(
            text, random.Random(int(rng.integers(2**62)))))
        return mirrored(words) if view.flip else words

    def _text(self, targets: list[list[_Target]], categories: NDArray[np.str_],
              rng: np.random.Generator | None) -> dict[str, torch.Tensor]:
        """The arrays of the words."""
        most = max(1, max(map(len, targets)))
        longest = max((len(target.words) for row in targets for target in row), default=1)
        text = np.zeros((len(targets), most, longest), np.int64)
        padding = np.ones(text.shape, bool)
        named = np.zeros((*text.shape, THINGS + 1), bool)
        vocabulary: dict[tuple[str, bool], int] = {}
        for k, row in enumerate(targets):
            parts = [set(str(name).split()) for name in categories[k]]
            for j, target in enumerate(row):
                padding[k, j, :len(target.words)] = False
                for i, word in enumerate(target.words):
                    known = rng is None or rng.random() < KNOWN_RATE
                    text[k, j, i] = vocabulary.setdefault((word, known), len(vocabulary))
                    named[k, j, i, 1:] = [word in part for part in parts]
        if not vocabulary:
            vocabulary['', True] = 0
        found = [pieces(word, self._grams) for word, _ in vocabulary]
        ids = [i if known else 0 for (_, known), i in zip(
            vocabulary, ids_of([word for word, _ in vocabulary], self._ids), strict=True)]
        starts = np.cumsum([0, *map(len, found[:-1])])
        return {'word': torch.tensor(ids), 'grams': torch.tensor([p for f in found for p in f]),
                'starts': torch.from_numpy(starts), 'text': torch.from_numpy(text),
                'padding': torch.from_numpy(padding), 'named': torch.from_numpy(named)}


def _dense(owner: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Targets of each place of the coarser map."""
    rows, columns = COARSE
    y, x = np.mgrid[:rows, :columns]
    heat = np.zeros(COARSE, np.float32)
    where = np.zeros((4, *COARSE), np.float32)
    small = owner[::2, ::2]
    for index in np.unique(small[small > 0]):
        at = np.argwhere(small == index)
        middle = at.mean(0)
        row, column = at[np.argmin(((at - middle) ** 2).sum(1))]
        low, high = at.min(0), at.max(0) + 1
        wide = 0.6 + 0.08 * float(min(high - low))
        heat = np.maximum(heat, np.exp(-((y - row) ** 2 + (x - column) ** 2) / (2 * wide**2)))
        inside = small == index
        where[:, inside] = np.stack([
            (column - x[inside]) / columns, (row - y[inside]) / rows,
            np.full(len(at), (high[1] - low[1]) / columns),
            np.full(len(at), (high[0] - low[0]) / rows)])
    return {'heat': heat.astype(np.float32), 'where': where}


def _unpacked(bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.unpackbits(bits).reshape(MAP)


def _stranger(data: Arrays, k: int, rng: np.random.Generator) -> str | None:
    """A text of another scene about a category that this scene does not have."""
    here = set(data['category'][k].tolist()) - {''}
    for _ in range(8):
        other = int(rng.integers(len(data['text'])))
        there = np.flatnonzero((data['piece'][other] >= 0)
                               & np.isin(data['kind'][other], ('s1 object', 's1 object part')))
        if other == k or not len(there):
            continue
        j = rng.choice(there)
        text, category = str(data['text'][other, j]), str(
            data['category'][other, data['piece'][other, j]])
        if category not in here and category in text.lower():
            return text
    return None


@dataclass(frozen=True, eq=False)
class View:
    """Transformation of a scene's picture: mirroring, shift and scale.

    Attributes:
        flip: whether it is mirrored.
        turn: (2, 3) matrix from a scene's pixels at the network's size to those that are shown;
            None: as it is.
        area: by which things grow.
    """

    flip: bool = False
    turn: NDArray[np.float64] | None = None
    area: float = 1.0

    @classmethod
    def draw(cls, data: Arrays, k: int, rng: np.random.Generator | None) -> View:
        """A view in which all things are wholly in the picture, as far as they were."""
        if rng is None:
            return cls()
        flip = bool(rng.random() < FLIP_RATE)
        if rng.random() >= MOVE_RATE:
            return cls(flip)
        scale, shift = rng.uniform(0.82, 1.2), rng.uniform(-1, 1, 2) * (0.1 * WIDTH, 0.1 * HEIGHT)
        middle = np.array([WIDTH / 2, HEIGHT / 2])
        turn = np.column_stack([np.eye(2) * scale, middle - scale * middle + shift])
        view = cls(flip, turn, scale**2)
        before = np.bincount(data['owner'][k].ravel(), minlength=THINGS + 1)[1:]
        after = np.bincount(view.warped(data['owner'][k]).ravel(), minlength=THINGS + 1)[1:]
        return view if (after >= 0.9 * view.area * before - 2).all() else cls(flip)

    def warped(self, values: NDArray[Any], beside: Any = 0, smooth: bool = False) -> NDArray[Any]:
        """An array of the picture's size or of the heat map's, as it is shown."""
        if self.turn is not None:
            size = values.shape[1], values.shape[0]
            turn = self.turn.copy()
            turn[:, 2] *= size[0] / WIDTH
            values = cv2.warpAffine(
                np.ascontiguousarray(values), turn, size, borderValue=beside,
                flags=cv2.INTER_LINEAR if smooth else cv2.INTER_NEAREST)
        return values[:, ::-1] if self.flip else values


def shown_picture(data: Arrays, k: int, view: View, depth: bool, rng: np.random.Generator | None,
             ) -> NDArray[np.float32]:
    """Input of the network for a scene."""
    image = view.warped(data['image'][k], beside=(128, 128, 128), smooth=True)
    depth_m = (view.warped(data['depth'][k]).astype(np.float32) / 1e3) if depth else None
    if rng is None:
        return channels(image, depth_m)
    if depth_m is not None and rng.random() < POOR_RATE:
        depth_m = _poor(depth_m, rng)
    out = channels(image, depth_m)
    gain = 1 + 0.12 * rng.uniform(-1, 1) + 0.05 * rng.uniform(-1, 1, 3)
    colours = (out[:3] + 1) * gain[:, None, None] - 1 + 0.06 * rng.uniform(-1, 1)
    if rng.random() < 0.5:
        colours += rng.normal(0, rng.uniform(0, 0.05), colours.shape)
    if rng.random() < 0.15:
        colours = np.asarray(cv2.GaussianBlur(colours.transpose(1, 2, 0), (3, 3), 0),
                             colours.dtype).transpose(2, 0, 1)
    out[:3] = np.clip(colours, -1, 1)
    return out


def _poor(depth_m: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Depth as a poor sensor gives it: noise that grows with the distance, holes, steps."""
    noisy = depth_m * (1 + rng.normal(0, rng.uniform(0, 0.004), depth_m.shape)).astype(np.float32)
    step = float(rng.choice([0.001, 0.002, 0.005]))
    noisy = np.asarray(np.round(noisy / step) * step, noisy.dtype)
    holes = cv2.resize(rng.random((HEIGHT // 8, WIDTH // 8)).astype(np.float32), (WIDTH, HEIGHT),
                       interpolation=cv2.INTER_CUBIC)
    edges = np.abs(cv2.Laplacian(depth_m, cv2.CV_32F)) > 0.02
    return np.where((holes > rng.uniform(0.9, 1.1)) | (edges & (rng.random() < 0.5))
                    | (depth_m <= 0), 0, noisy).astype(np.float32)
