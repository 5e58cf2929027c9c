#!/usr/bin/env python3
"""Train the part of a locator that tells whether a target is there; all else stays as it is.

What the rest of the network makes of pictures and targets is computed once and kept in a folder
(``--data``), by several processes; interrupted, they go on. Then the small part learns from that,
in minutes. Of each picture some ten targets are there, said in many ways, and a dozen are not:
other kinds, similar ones, other colours, the colour of another thing, parts of these and places to
act on them, what nothing there serves for, places where no such thing is, and unknown words.
Scenes of other makers have targets of other scenes whose kind they do not have.

Learned are, beside whether a target is there, which thing is meant, which things are of the kind
that a word names, and, from its colours alone, the colour of each thing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

os.environ.setdefault('OMP_NUM_THREADS', '1')

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
import yaml
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from locator_data import DEPTH_RATE, THINGS, View, packed, scene_source, shown_picture
from locator_evaluate import calibrate_existence
from locator_wording import Wording, made_up
from shards import Arrays, render
from sightplan.metrics.separation import auroc
from sightplan.model.scene import PointingScene
from sightplan_models._embedded_locator import SETTINGS_FILE, WEIGHTS_FILE
from sightplan_models._locator_network import (
    Asked,
    Existence,
    ExistenceLogits,
    Network,
    Shape,
    Sight,
)
from sightplan_models._locator_words import ids_of, mirrored, pieces, tints, words_of
from sightplan_sim.tabletop.absences import Absences
from sightplan_sim.tabletop.source import table_of
from sightplan_sim.tabletop.table import Table
from sightplan_sim.tabletop.wording import wording

FIRST = 600_000
"""Seed of the first scene; neither the rest of the network nor its calibration has such ones."""
SCENES = 25
"""Scenes of a file of what is known of them."""
TARGETS, LENGTH = 26, 32
TURNS = ('tabletop',) * 16 + ('blocksworld', 'household')
"""Makers of the scenes of one file after another."""
_KNOWN_RATE, _MISSPELT_RATE = 0.97, 0.05
KEEP_RATES = torch.tensor([0.9, 0.6])
"""Chances that the category, and what became of a thing, are seen while learning."""
_ABSENT = ('colour', 'colour', 'swapped', 'swapped', 'swapped', 'similar', 'similar', 'kind',
           'kind', 'relation', 'relation', 'unknown', 'unknown')


@dataclass(frozen=True, slots=True)
class Target:
    """A target, and what it is.

    Attributes:
        text: the target.
        kind: of task, or of ``Absence``.
        absent: whether it is not there.
        piece: name of the thing that it is about; '' for none.
    """

    text: str
    kind: str
    absent: bool = False
    piece: str = ''


# Targets ---------------------------------------------------------------------------------------

@cache
def strangers() -> tuple[str, ...]:
    """Unknown nouns to learn from."""
    lines = yaml.safe_load(Path(__file__).with_suffix('.yaml').read_text())
    return tuple(word for line in lines for word in line.split())


def on_table(scene: PointingScene, table: Table, rng: random.Random) -> list[Target]:
    """Targets of a table, half of which are there."""
    names, words = Absences(table, rng, strangers()), wording()
    tasks = [task for task in scene.tasks if task.mask.any()]
    rng.shuffle(tasks)
    first = [task for task in tasks if task.stage == 's1']
    second = [task for task in tasks if task.stage != 's1']
    found = [Target(task.text, task.kind, piece=task.piece) for task in first[:7] + second[:3]]
    shown = {piece.name for piece in scene.pieces}
    for _ in range(2):
        text, name = names.true_place()
        if name in shown:
            found.append(Target(text, 'relation there', piece=name))
    for kind in _ABSENT:
        if kind == 'relation' or rng.random() < 0.6:
            one = names.target(kind)
            if one is not None:
                found.append(Target(one.text, kind, True))
        else:
            name = names.named(kind)
            purpose = rng.choice((*words.afd, *words.contact, *words.safety, words.object_part))
            if name:
                parts = getattr(purpose, 'parts', {})
                if not parts or any(category in name for category in parts):
                    text = rng.choice(purpose.training)
                    found.append(Target(text.format(
                        thing=name, part=rng.choice(words.part_words)), kind, True))
    serving = [purpose for purpose in (*words.recommend, *words.predict_things)
               if not {one.thing.category for one in table.things}
               & {*purpose.things, *purpose.unless}]
    if serving and rng.random() < 0.5:
        found.append(Target(rng.choice(rng.choice(serving).training), 'purpose', True))
    if rng.random() < 0.5:
        said = ' '.join(made_up(rng) for _ in range(rng.randint(1, 2)))
        found.append(Target(rng.choice(('the ', 'a ', '')) + said, 'unknown', True))
    return found


def elsewhere(scenes: Sequence[PointingScene], k: int, rng: random.Random) -> list[Target]:
    """Targets of a scene of another maker: its own, and those of others whose kind it lacks."""
    scene = scenes[k]
    found = [Target(task.text, task.kind, piece=task.piece)
             for task in scene.tasks if task.mask.any()][:10]
    here = {word for piece in scene.pieces for name in (piece.name, piece.category)
            for word in name.replace('_', ' ').split()}
    others = [(task, piece) for other in scenes for task in other.tasks for piece in other.pieces
              if task.piece == piece.name and task.kind in ('object', 'object part')]
    rng.shuffle(others)
    for task, piece in others:
        # Blocks have the name of their colour, other things that of their kind.
        name = piece.name if piece.category == 'block' else piece.category
        if name in task.text.lower() and not set(name.split()) & here:
            found.append(Target(task.text, 'kind', True))
        if len(found) >= TARGETS - 4:
            break
    for name in rng.sample(strangers(), 2):
        found.append(Target(f'the {name}', 'unknown', True))
    return found


def misspelt(text: str, rng: random.Random) -> str:
    """A text with a letter of one of its longer words lost, doubled or exchanged with the next."""
    words = text.split()
    long = [k for k, word in enumerate(words) if len(word) > 3]
    if not long:
        return text
    k = rng.choice(long)
    word, at = words[k], rng.randrange(1, len(words[k]) - 1)
    words[k] = rng.choice((word[:at] + word[at + 1:], word[:at] + word[at] + word[at:],
                           word[:at] + word[at + 1] + word[at] + word[at + 2:]))
    return ' '.join(words)


# What is known of scenes -----------------------------------------------------------------------

def read_network(folder: Path) -> tuple[Network, dict[str, int]]:
    """A model folder's network, whose existence part may be missing, and ids of its words."""
    found = json.loads((folder / SETTINGS_FILE).read_text())
    shape: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value
                             for key, value in found['shape'].items()}
    network = Network(Shape(**shape)).eval()
    held = load_file(folder / WEIGHTS_FILE)
    if not any(name.startswith('existence.') for name in held):
        held |= {name: value for name, value in network.state_dict().items()
                 if name.startswith('existence.')}
    network.load_state_dict({name: value.float() for name, value in held.items()}, strict=False)
    return network, {word: k for k, word in enumerate(found['words'], 1)}


def draw(folder: str, seed: int) -> Arrays:
    """What the network of a folder makes of the scenes of a seed and of targets."""
    torch.set_num_threads(1)
    network, ids = _network(folder)
    maker = _maker(TURNS[seed % len(TURNS)])
    scenes = [maker.scene(FIRST + seed * SCENES + k, held_out=False) for k in range(SCENES)]
    rng, draws = random.Random(seed), np.random.default_rng(seed)
    rows = [_row(network, ids, scenes, k, rng, draws) for k in range(SCENES)]
    return {key: np.stack([row[key] for row in rows]) for key in rows[0]}


@cache
def _network(folder: str) -> tuple[Network, dict[str, int]]:
    return read_network(Path(folder))


@cache
def _maker(name: str) -> Any:
    return scene_source(name)


def _row(network: Network, ids: dict[str, int], scenes: Sequence[PointingScene], k: int,
         rng: random.Random, draws: np.random.Generator) -> Arrays:
    """What is known of a scene and its targets; see ``Sight`` and ``Asked``."""
    scene, data = scenes[k], packed([scenes[k]])
    view = View.draw(data, 0, draws)
    depth = bool(draws.random() < DEPTH_RATE)
    picture = torch.from_numpy(shown_picture(data, 0, view, depth, draws))[None]
    table = table_of(scene.id) if scene.id.startswith('tabletop/') else None
    targets = elsewhere(scenes, k, rng) if table is None else on_table(scene, table, rng)
    rng.shuffle(targets)
    targets = targets[:TARGETS]
    says = Wording(piece.category for piece in scene.pieces)
    said = []
    for target in targets:
        words = words_of(says.reworded(target.text, rng))
        if rng.random() < _MISSPELT_RATE:
            words = words_of(misspelt(' '.join(words), rng))
        said.append((mirrored(words) if view.flip else words)[:LENGTH])
    known = [[word in ids and rng.random() < _KNOWN_RATE for word in words] for words in said]
    with torch.inference_mode():
        seen = network.look(picture)
        text, padding, flags = _vectors(network, ids, said, known)
        reply = network.point(seen, text[None], padding[None])[-1]
        sight = Sight.of(seen)
        asked = Asked.of(seen, reply, text[None], padding[None], flags[None],
                         torch.full_like(padding, -1, dtype=torch.long)[None])
    names = [piece.name for piece in scene.pieces][:THINGS]
    owner = torch.from_numpy(view.warped(data['owner'][0])[::2, ::2].astype(int)).flatten()[
        seen.at[0]].numpy()
    colour = dict(zip(names, tints([table.named(name).thing.colour if table else name
                                    for name in names]), strict=True))
    piece = [names.index(target.piece) + 1 if target.piece in names else 0 for target in targets]
    count, half = len(targets), np.float16
    out: Arrays = {
        'kinds': sight.kinds[0].numpy().astype(half),
        'colours': sight.colours[0].numpy().astype(half),
        'places': sight.places[0].numpy().astype(half),
        'state': _padded(asked.things[0], TARGETS),
        'chosen': _padded(asked.chosen[0], TARGETS), 'shown': _padded(asked.colours[0], TARGETS),
        'numbers': _padded(asked.numbers[0], TARGETS),
        'colour': np.array([colour[names[k - 1]] if k else -1 for k in owner], np.int8),
        'category': np.array([str(data['category'][0, k - 1]) if k else '' for k in owner], 'U24'),
        'word': np.full((TARGETS, LENGTH), '', 'U20'), 'known': np.zeros((TARGETS, LENGTH), bool),
        'about': np.zeros((TARGETS, len(owner)), bool), 'absent': np.zeros(TARGETS, bool),
        'used': np.arange(TARGETS) < count, 'kind': np.zeros(TARGETS, 'U24')}
    for j, target in enumerate(targets):
        out['word'][j, :len(said[j])], out['known'][j, :len(said[j])] = said[j], known[j]
        out['about'][j] = (owner == piece[j]) & (piece[j] > 0)
        out['absent'][j], out['kind'][j] = target.absent, target.kind
    return out


def _padded(values: Tensor, count: int) -> NDArray[np.float16]:
    out = np.zeros((count, *values.shape[1:]), np.float16)
    out[:len(values)] = values.float().numpy()
    return out


def _vectors(network: Network, ids: dict[str, int], said: Sequence[Sequence[str]],
             known: Sequence[Sequence[bool]]) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors of texts' words (T, L, width), where there is none, and which are known."""
    width = max(map(len, said))
    padding, flags = torch.ones(len(said), width, dtype=torch.bool), torch.zeros(
        len(said), width, dtype=torch.bool)
    text = torch.zeros(len(said), width, network.shape.width)
    for j, (words, knows) in enumerate(zip(said, known, strict=True)):
        padding[j, :len(words)] = False
        flags[j, :len(words)] = torch.tensor(knows)
        text[j, :len(words)] = word_vectors(network, ids, words, knows)
    return text, padding, flags


def word_vectors(network: Network, ids: dict[str, int], words: Sequence[str],
                 known: Sequence[bool]) -> Tensor:
    """(L, width) vectors of words, of which some count as unknown."""
    found = [pieces(word, network.shape.grams) for word in words]
    numbers = [k if knows else 0 for k, knows in zip(ids_of(words, ids), known, strict=True)]
    return network.words(torch.tensor(numbers), torch.tensor([p for one in found for p in one]),
                         torch.tensor(np.cumsum([0, *map(len, found[:-1])])))


# Learning --------------------------------------------------------------------------------------

class Corpus:
    """What is known of scenes and targets, all of it in memory, and vectors of all words.

    Attributes:
        data: the arrays of ``draw``, by scene.
        at: (N, 2) scene and number of each target.
        length: (N,) of its words.

    Args:
        paths: of files of it.
        network: whose words count.
        ids: of its words.
    """

    def __init__(self, paths: Sequence[Path], network: Network, ids: dict[str, int]) -> None:
        parts = [{path.stem: np.load(path) for path in sorted(folder.glob('*.npy'))}
                 for folder in paths]
        self.data = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
        word = self.data.pop('word')
        names, index = np.unique(word, return_inverse=True)
        self._padding, index = word == '', index.reshape(word.shape)
        self._index = 2 * index + self.data['known']
        self.at = np.argwhere(self.data['used'])
        self.length = (~self._padding).sum(-1)[tuple(self.at.T)]
        with torch.inference_mode():
            vectors = torch.cat([word_vectors(network, ids, [str(name)], [knows])
                                 for name in names for knows in (False, True)])
        self._vectors = vectors.clone()
        categories, category = np.unique(self.data.pop('category'), return_inverse=True)
        self._category = category.reshape(self.data['colour'].shape)
        self._named = np.array([[bool(name) and str(name) in str(category).split()
                                 for category in categories] for name in names])
        self._tint = np.array(tints([str(name) for name in names]))

    def of_targets(self, key: str) -> NDArray[Any]:
        """An array of the targets, (N, ...)."""
        return self.data[key][tuple(self.at.T)]

    def batch(self, rows: NDArray[np.int64]) -> tuple[Sight, Asked, dict[str, Tensor]]:
        """Batch of targets, each with its picture, and what is right."""
        scene, number = self.at[rows].T
        length = max(1, int(self.length[rows].max()))

        def seen(key: str) -> Tensor:
            found = torch.from_numpy(self.data[key][scene])
            return found.float() if found.dtype == torch.float16 else found

        def said(key: str) -> Tensor:
            found = torch.from_numpy(self.data[key][scene, number][:, None])
            return found.float() if found.dtype == torch.float16 else found

        padding, index = (values[scene, number][:, None, :length]
                          for values in (self._padding, self._index))
        word = index // 2
        asked = Asked(self._vectors[torch.from_numpy(index)], torch.from_numpy(padding),
                      said('known')[..., :length], torch.from_numpy(self._tint[word]),
                      said('state'), said('chosen'), said('shown'), said('numbers'))
        named = self._named[word[..., None], self._category[scene][:, None, None]]
        told = np.asarray(self._named.any(1))[word] & ~padding
        return Sight(seen('kinds'), seen('colours'), seen('places')), asked, {
            'absent': said('absent'), 'about': said('about'), 'colour': seen('colour').long(),
            'named': torch.from_numpy(named), 'told': torch.from_numpy(told)}


def losses(logits: ExistenceLogits, right: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weighted parts of the loss by name."""
    absent, about, colour = right['absent'], right['about'], right['colour']
    # Of what is about no thing that was found, all that is known is that something is there.
    here = about | (~absent & ~about.any(-1))[..., None]
    meant = torch.cat([here, (~absent & ~about.any(-1))[..., None], absent[..., None]], -1)
    hit = logits.which.logsumexp(-1) - logits.which.masked_fill(~meant, -1e9).logsumexp(-1)
    return {'which': 0.3 * hit.clamp(max=20).mean(),
            'there': F.binary_cross_entropy_with_logits(logits.there, (~absent).float()),
            'word': 0.5 * F.binary_cross_entropy_with_logits(
                logits.meant[right['told']], right['named'][right['told']].float()),
            'colour': 0.2 * F.cross_entropy(logits.colour[colour >= 0], colour[colour >= 0])}


def rounds(corpus: Corpus, batch: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Batches of targets of about the same length, again and again all of them."""
    while True:
        order = rng.permutation(len(corpus.at))
        for first in range(0, len(order), 16 * batch):
            some = order[first:first + 16 * batch]
            some = some[np.argsort(corpus.length[some], kind='stable')]
            starts = np.arange(0, len(some), batch)
            rng.shuffle(starts)
            yield from (some[start:start + batch] for start in starts)


def learn(part: Existence, corpus: Corpus, steps: int, rate: float, batch: int, seed: int,
          validation: Corpus, log: Path) -> dict[str, Tensor]:
    """Train; returns the running mean of the weights."""
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(part.parameters(), lr=rate, weight_decay=0.03, betas=(0.9, 0.98))
    mean = {name: value.clone() for name, value in part.state_dict().items()}
    figures: list[dict[str, float]] = []
    started = time.monotonic()
    for step, rows in enumerate(itertools.islice(rounds(corpus, batch, rng), steps)):
        for group in optimizer.param_groups:
            group['lr'] = rate * min(1.0, (step + 1) / 100) * (
                0.02 + 0.49 * (1 + np.cos(np.pi * step / steps)))
        sight, asked, right = corpus.batch(rows)
        keep = (torch.rand(len(rows), 1, 2) < KEEP_RATES).float()
        parts = losses(part(sight, asked, keep), right)
        optimizer.zero_grad()
        torch.stack(list(parts.values())).sum().backward()
        torch.nn.utils.clip_grad_norm_(part.parameters(), 2.0)
        optimizer.step()
        for name, value in part.state_dict().items():
            mean[name].lerp_(value, 1 - min(0.995, step / (step + 20)))
        figures.append({key: value.item() for key, value in parts.items()})
        if (step + 1) % 50 == 0 or step + 1 == steps:
            line: dict[str, Any] = {'step': step + 1, 'seconds': round(time.monotonic() - started)}
            line |= {key: round(float(np.mean([one[key] for one in figures])), 4)
                     for key in figures[0]}
            if (step + 1) % 500 == 0 or step + 1 == steps:
                line['auroc'] = measure(part, mean, validation)
            print(json.dumps(line), flush=True)
            with log.open('a') as file:
                file.write(json.dumps(line) + '\n')
            figures = []
    return mean


def measure(part: Existence, mean: dict[str, Tensor], corpus: Corpus) -> dict[str, float]:
    """Area under the ROC curve of each kind of absent targets against those that are there."""
    held = {name: value.clone() for name, value in part.state_dict().items()}
    part.load_state_dict(mean)
    order = np.argsort(corpus.length, kind='stable')
    score = np.zeros(len(order))
    with torch.inference_mode():
        for first in range(0, len(order), 200):
            rows = order[first:first + 200]
            sight, asked, _ = corpus.batch(rows)
            score[rows] = part(sight, asked).there[:, 0].numpy()
    part.load_state_dict(held)
    absent, kind = corpus.of_targets('absent'), corpus.of_targets('kind')
    return {str(name): round(auroc(score[~absent], score[absent & (kind == name)]), 4)
            for name in np.unique(kind[absent])}


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    build = Path('build/training/locator_existence')
    parser.add_argument('--start', type=Path, required=True, metavar='DIR',
                        help='model folder whose network is kept as it is')
    parser.add_argument('--out', type=Path, required=True, metavar='DIR',
                        help='model folder to write')
    parser.add_argument('--data', type=Path, default=build / 'known',
                        help='folder of what is known of scenes; what is missing is made first')
    parser.add_argument('--files', type=int, default=48, help=f'of {SCENES} scenes each')
    parser.add_argument('--held-out', type=int, default=3, help='first files kept for validation')
    parser.add_argument('--processes', type=int, default=2)
    parser.add_argument('--steps', type=int, default=1300)
    parser.add_argument('--rate', type=float, default=2e-3)
    parser.add_argument('--batch', type=int, default=128, help='targets')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--calibrate', type=int, default=60, metavar='SCENES',
                        help='tables on which it is calibrated (default: %(default)s)')
    parser.add_argument('--gather-only', action='store_true', help='stop before training')
    args = parser.parse_args(argv)
    render(args.data, 0, args.files, args.processes, partial(draw, str(args.start)))
    if args.gather_only:
        return
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    network, ids = read_network(args.start)
    folders = sorted(args.data.glob('shard_??????'))[:args.files]
    corpus = Corpus(folders[args.held_out:], network, ids)
    validation = Corpus(folders[:args.held_out], network, ids)
    part = Existence(network.shape)
    args.out.mkdir(parents=True, exist_ok=True)
    log = args.out / 'existence_log.jsonl'
    log.unlink(missing_ok=True)
    print(f'{len(corpus.at)} targets', flush=True)
    mean = learn(part, corpus, args.steps, args.rate, args.batch, args.seed, validation, log)
    kept = {name: value for name, value in load_file(args.start / WEIGHTS_FILE).items()
            if not name.startswith('existence.')}
    save_file(kept | {f'existence.{name}': value.half().contiguous()
                      for name, value in mean.items()}, args.out / WEIGHTS_FILE)
    if args.out.resolve() != args.start.resolve():
        shutil.copy(args.start / SETTINGS_FILE, args.out / SETTINGS_FILE)
    if args.calibrate:
        print('existence', calibrate_existence(args.out, args.calibrate))
    print(f'model written to {args.out}')


if __name__ == '__main__':
    main()
