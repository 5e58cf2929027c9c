"""Simulate what votes and checks add to a model that points, at published error rates.

Use::

    python studies/pointing_study.py --n 3000 --out studies/data/pointing

Scenes are eight pieces on a background; nothing is rendered, and the target is always one of the
pieces. A simulated model points at the target with a published hit rate; a miss is on another
piece or on the background, each half of the time. With probability ``repeat`` an asking gets the
answer of the asking before it. Whether a marked piece is right it answers correctly with a given
probability, and a second answer about the same piece is the first one with probability
``CHECK_REPEAT``. All draws are hashes of the target, so that every way of asking meets the same
errors.

Compared are one point, votes alone, and votes and checks, with at most nine askings in all; and
what is known of the model: everything (``known``); nothing, though each target teaches something
while nobody tells what was right (``session``), or while it becomes known whether the chosen piece
was right, as after a grasp (``told``); what 200 other targets with labels taught (``fitted``);
nothing, for ever (``none``). Written are ``votes.json`` and ``votes.md``.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sightplan.metrics import reliability, wilson
from sightplan.model import InputError, Region, Target
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.query import Deadline, ModelByKind, answers, ask_one
from sightplan.model.region import Form
from sightplan.queries import Answer, Check
from sightplan.queries.locate import Locate, LocateReply
from sightplan_belief.pointing import (
    Answers,
    CheckerRates,
    Pieces,
    Pointer,
    PointerRates,
    Reliability,
    fit,
)
from study_document import DATA, store

MODELS = {'molmo-7b': 0.533, 'roborefer': 0.581}
"""Hit rates in S1 of Point-It-Out (arXiv 2509.25794, Table 7)."""
REPEATS = (0.45, 0.8)
CHECKERS = (0.9, 0.8)
CHECK_REPEAT = 0.8
CONFUSABLE = 0.5
ASKINGS = 9
LABELLED = 200
KNOWLEDGE = ('known', 'fitted', 'told', 'session', 'none')
PRESENT = 0.99
"""Probability beforehand that a target is there; all are (``existence_study`` has others)."""
WAYS = {'one point': PointerSettings(max_askings=1, checks=False, prior_present=PRESENT),
        'votes': PointerSettings(max_askings=ASKINGS, checks=False, prior_present=PRESENT),
        'votes and checks': PointerSettings(max_askings=ASKINGS, prior_present=PRESENT)}
_SEED_OF_LABELLED = 1_000_000
_DONE, _USAGE = 0, 2

_ROWS, _COLUMNS, _CELL = 2, 4, 16
_IMAGE = np.zeros((_ROWS * _CELL, _COLUMNS * _CELL, 3), np.uint8)


@dataclass(frozen=True, slots=True)
class Noise:
    """Error rates of a simulated model.

    Attributes:
        name: of the model whose hit rate it has.
        hit: probability that a point is on the target.
        repeat: probability that an asking gets the answer of the one before it.
        checker: probability that a check is answered correctly.
    """

    name: str
    hit: float
    repeat: float
    checker: float


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one way of asking one model.

    Attributes:
        model: name.
        hit: rate.
        repeat: of the model.
        checker: how often its checks are right; None where it is not asked to check.
        knowledge: what is known of the model.
        way: of asking.
        n: number of targets.
        success: fraction whose best piece is the right one.
        low: lower end of its 95 % interval (Wilson).
        high: upper end.
        gain: over one point.
        ece: expected calibration error of the probability of the best piece.
        probability: its mean.
        sure: fraction of targets of which a place came out as probable as is to be accepted.
        right_if_sure: fraction of those that are right.
        points: mean number of askings to point.
        checks: mean number of checks.
    """

    model: str
    hit: float
    repeat: float
    checker: float | None
    knowledge: str
    way: str
    n: int
    success: float
    low: float
    high: float
    gain: float
    ece: float
    probability: float
    sure: float
    right_if_sure: float
    points: float
    checks: float


class SimulatedModel(ModelByKind):
    """Points and checks with errors; targets are numbers.

    Args:
        noise: how often it errs.
    """

    name = 'simulated'

    def __init__(self, noise: Noise) -> None:
        self._noise = noise

    @answers(Locate)
    def locate(self, request: Locate, deadline: Deadline) -> LocateReply:
        """Point at the target, or miss; see ``queries.locate``."""
        target, noise = request.target.text, self._noise
        key = (target, 'point', str(_drawn_at(request.attempt, noise.repeat, target, 'again')))
        right = truth_of(target)
        place: int | None = right
        if uniform(*key, 'hit') >= noise.hit:
            others = [piece for piece in range(PIECES.count) if piece != right]
            place = (others[int(uniform(*key, 'other') * len(others))]
                     if uniform(*key, 'confused') < CONFUSABLE else None)
        inside = BACKGROUND if place is None else np.flatnonzero(PIECES.labels == place)
        row, column = divmod(int(inside[int(uniform(*key, 'pixel') * len(inside))]),
                             PIECES.labels.shape[1])
        height, width = PIECES.labels.shape
        point = (column + 0.5) / width, (row + 0.5) / height
        return LocateReply((Region(Form.POINT, (point,)),))

    @answers(Check)
    def check(self, request: Check, deadline: Deadline) -> Answer:
        """Whether a marked place is the target."""
        marked = PIECES.at(request.region.centre)
        place = str(marked if marked is not None else request.region.centre)
        target = request.target.text
        number = _drawn_at(request.attempt, CHECK_REPEAT, target, 'check again', place)
        correct = uniform(target, 'check', place, str(number)) < self._noise.checker
        return Answer('Yes' if (marked == truth_of(target)) is correct else 'No')


def truth_of(target: str) -> int:
    """The piece that a target is."""
    return int(uniform(target, 'truth') * PIECES.count)


def uniform(*key: str) -> float:
    """A draw in [0, 1) that is its key's alone."""
    digest = hashlib.sha256('\x1f'.join(key).encode()).digest()
    return int.from_bytes(digest[:6], 'big') / 2.0 ** 48


def scene() -> Pieces:
    """Eight squares with background around them."""
    labels = np.full(_IMAGE.shape[:2], -1, np.int32)
    for piece in range(_ROWS * _COLUMNS):
        row, column = (_CELL * number + _CELL // 4 for number in divmod(piece, _COLUMNS))
        labels[row:row + _CELL // 2, column:column + _CELL // 2] = piece
    return Pieces(labels)


PIECES = scene()
BACKGROUND = np.array([index for index in np.flatnonzero(PIECES.labels < 0) if PIECES.at((
    (index % _IMAGE.shape[1] + 0.5) / _IMAGE.shape[1],
    (index // _IMAGE.shape[1] + 0.5) / _IMAGE.shape[0])) is None])
"""Pixels that are not near any piece."""


def knowledge_of(noise: Noise, knowledge: str) -> Reliability:
    """Reliability of a model that is known before the first target."""
    if knowledge == 'known':
        return Reliability(PointerRates.known(noise.hit, noise.repeat, CONFUSABLE, silent=0.0),
                           CheckerRates.known(noise.checker, noise.checker, CHECK_REPEAT),
                           Reliability.default().places)
    if knowledge == 'fitted':
        return fit(labelled(noise))
    return Reliability.default()


def labelled(noise: Noise) -> list[tuple[Answers, int]]:
    """Answers to nine askings about each of some other targets, and what was right."""
    pointer = Pointer(SimulatedModel(noise),
                      PointerSettings(max_askings=ASKINGS, accept=1.0, prior_present=PRESENT))
    return [(pointer.locate(_request(number), pieces=PIECES).belief.answers, truth_of(str(number)))
            for number in range(_SEED_OF_LABELLED, _SEED_OF_LABELLED + LABELLED)]


def measure(noise: Noise, knowledge: str, way: str, n: int) -> Row:
    """Ask a model about n targets."""
    model = SimulatedModel(noise)
    pointer = Pointer(model, WAYS[way], knowledge_of(noise, knowledge))
    right, chances, sure, points, checks, first = [], [], [], [], [], []
    for number in range(n):
        found = pointer.locate(_request(number), pieces=PIECES)
        right.append(found.place == truth_of(str(number)))
        chances.append(found.probability)
        sure.append(found.probability >= WAYS[way].accept)
        points.append(found.askings)
        checks.append(found.checks)
        reply = ask_one(model, _request(number))
        first.append(PIECES.at(reply.regions[0].centre) == truth_of(str(number)))
        if knowledge in ('told', 'session'):
            pointer.learn(found, right[-1] if knowledge == 'told' else None)
    low, high = wilson(sum(right), n)
    surely = [ok for ok, certain in zip(right, sure, strict=True) if certain]
    return Row(
        noise.name, noise.hit, noise.repeat, noise.checker if WAYS[way].checks else None,
        knowledge, way, n, float(np.mean(right)), low, high,
        float(np.mean(right) - np.mean(first)), reliability(chances, right, resamples=0).ece,
        float(np.mean(chances)), float(np.mean(sure)),
        float(np.mean(surely)) if surely else float('nan'), float(np.mean(points)),
        float(np.mean(checks)))


def study(n: int, workers: int) -> list[Row]:
    """Measure all models, ways of asking and kinds of knowledge."""
    jobs = []
    for (name, hit), repeat, knowledge in (
            (model, repeat, knowledge) for model in MODELS.items() for repeat in REPEATS
            for knowledge in KNOWLEDGE):
        for way, settings in WAYS.items():
            for checker in CHECKERS if settings.checks else CHECKERS[:1]:
                jobs.append((Noise(name, hit, repeat, checker), knowledge, way, n))
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(measure, *zip(*jobs, strict=True)))


def table(rows: Sequence[Row], knowledge: str) -> str:
    """Rows of one kind of knowledge as Markdown."""
    head = ('model', 'repeat', 'asked', 'checker', 'success', 'over one point', 'ECE', 'sure',
            'right if sure', 'points', 'checks')
    lines = [f'| {" | ".join(head)} |', '|---' * len(head) + '|']
    for row in rows:
        if row.knowledge == knowledge:
            sure = f'{row.right_if_sure:.3f}' if row.sure else ''
            lines.append(
                f'| {row.model} ({row.hit:.3f}) | {row.repeat:g} | {row.way} | '
                f'{"" if row.checker is None else f"{row.checker:g}"} | {row.success:.3f} '
                f'({row.low:.3f}-{row.high:.3f}) | {row.gain:+.3f} | {row.ece:.3f} | '
                f'{row.sure:.2f} | {sure} | {row.points:.1f} | {row.checks:.1f} |')
    return '\n'.join(lines)


def document(rows: Sequence[Row]) -> str:
    """All tables, as Markdown."""
    return '\n\n'.join(f'**{knowledge}**\n\n{table(rows, knowledge)}'
                       for knowledge in KNOWLEDGE) + '\n'


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; returns the exit code."""
    parser = argparse.ArgumentParser(prog='python studies/pointing_study.py',
                                     description='Simulate one point, votes, and checks.')
    parser.add_argument('--n', type=int, default=3000, help='targets (default: 3000)')
    parser.add_argument('--workers', type=int, default=1, help='processes (default: 1)')
    parser.add_argument('--out', type=Path, default=DATA / 'pointing', metavar='DIR',
                        help='where votes.json and votes.md are written (default: %(default)s)')
    arguments = parser.parse_args(argv)
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
        rows = study(arguments.n, arguments.workers)
        store(arguments.out / 'votes.json', [_plain(row) for row in rows])
        (arguments.out / 'votes.md').write_text(document(rows), 'utf-8')
    except (InputError, OSError) as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    print(document(rows))
    return _DONE


def read_rows(path: Path) -> list[Row]:
    """Rows that an earlier study measured."""
    return [Row(**{**row, 'right_if_sure': float('nan') if row['right_if_sure'] is None
                   else row['right_if_sure']}) for row in json.loads(path.read_text('utf-8'))]


def _plain(row: Row) -> dict[str, Any]:
    data = dataclasses.asdict(row)
    return {**data, 'right_if_sure': data['right_if_sure'] if row.sure else None}


def _request(number: int) -> Locate:
    return Locate(_IMAGE, Target(str(number)))


def _drawn_at(attempt: int, repeat: float, *key: str) -> int:
    """Number of the asking whose draws this one repeats; its own if it is drawn afresh."""
    while attempt > 0 and uniform(*key, str(attempt)) < repeat:
        attempt -= 1
    return attempt


if __name__ == '__main__':
    sys.exit(main())
