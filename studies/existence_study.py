"""Measure how well ``locate`` tells whether a target exists, with simulated and embedded models.

Use::

    python studies/existence_study.py simulated --n 200
    python studies/existence_study.py embedded --n 270

``simulated`` asks ``noisy_locator`` at published hit rates, with false alarms, about targets on
eight pieces, of which a part is not there; ``pointing_study`` has the pieces. What is known of the
model is everything (``known``), what 200 other targets with labels taught (``fitted``), what it
taught itself so far while nobody tells what was right (``session``), or nothing (``none``).

``embedded`` asks the shipped network about n rendered tables with things that it was not trained
on, in held-out words: things that are there, and as many that are not: half of them nearly there,
a quarter of other kinds, and a quarter unknown words that it did not learn from
(``sightplan_sim.tabletop.absences``); beside these, things that are there, but not where it is
said. Written are ``existence.json`` and ``existence_embedded.json``; of more than one asking
``existence_embedded_N.json``, so that each has its own.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointing_study import MODELS, PIECES, truth_of, uniform
from sightplan.metrics import reliability, wilson
from sightplan.metrics.separation import auroc
from sightplan.model import InputError, Target, TargetMasks, Usage
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.query import Deadline, Model, ModelByKind, answers, ask_one, part_name
from sightplan.model.whereabouts import Whereabouts, is_foreign
from sightplan.queries.locate import Locate, LocateReply
from sightplan.vlm.api import make_backend
from sightplan_belief.pointing import (
    ABSENT,
    AlarmRates,
    CheckerRates,
    Located,
    Pointer,
    PointerRates,
    Reliability,
    fit,
)
from sightplan_sim.tabletop.absences import LOOKALIKES
from study_document import DATA, store

FALSE_ALARMS = (0.2, 0.4)
PRIORS = (0.5, 0.9)
KNOWLEDGE = ('known', 'fitted', 'session', 'none')
REPEAT, CONFUSABLE, SILENT, CHECKER = 0.45, 0.5, 0.1, 0.9
EXISTS_YES, EXISTS_NO = 0.9, 0.8
ASKINGS = 9
LABELLED = 200
FIRST_TABLE = 2_000
"""Seed of the first table."""
_SEED_OF_LABELLED = 1_000_000
_DONE, _USAGE = 0, 2


@dataclass(frozen=True, slots=True)
class Row:
    """Result of asking about targets of which a part is not there.

    Attributes:
        model: name of the model whose hit rate it has.
        false_alarm: probability that it points at something that is not there.
        prior: fraction of targets that are there, which is also what is believed beforehand.
        knowledge: what is known of the model.
        n: number of targets.
        existence: fraction of targets of which it was told rightly whether they are there.
        low: lower end of its 95 % interval (Wilson).
        high: upper end.
        hits: fraction of the targets that are there whose best place is the right one.
        ece: expected calibration error of the probability of the answer.
        ece_present: of the probability that the target is there, against whether it is.
        sure_absent: fraction of the targets that are not there of which a place is called sure.
        askings: mean number of questions of any kind.
    """

    model: str
    false_alarm: float
    prior: float
    knowledge: str
    n: int
    existence: float
    low: float
    high: float
    hits: float
    ece: float
    ece_present: float
    sure_absent: float
    askings: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A target on a table, and what was answered.

    Attributes:
        kind: ``there``, or a kind of ``Absence``; those nearly there are ``LOOKALIKES``.
        scene: id of the table.
        text: the target.
        whereabouts: the answer.
        probability: of the answer; None where it cannot be told.
        present: probability that it is there at all; None likewise.
        right: whether the place is on the thing, or it is rightly said that it is not there.
        sure: whether a place is called sure.
        exists: what the model itself tells in its first reply, at even odds beforehand, whether or
            not it knows all words.
        model: exact name of the model.
        foreign: whether the model takes the picture for one that it was not made for.
    """

    kind: str
    scene: str
    text: str
    whereabouts: str
    probability: float | None
    present: float | None
    right: bool
    sure: bool
    exists: float
    model: str = ''
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class KindRow:
    """Result for one kind of targets on tables, or for several.

    Attributes:
        kind: see ``Asked``; ``look-alikes`` for those that are nearly there, ``absent`` for all
            that are not there but ``relation``.
        n: number of targets.
        here: fraction of which it is answered that they are here.
        right: fraction that is answered rightly; for those that are there: with the right place.
        sure: fraction of which a place is called sure.
        low: lower end of its 95 % interval (Wilson).
        high: upper end.
        auroc: area under the ROC curve of what the model tells of existence, of those that are
            there against these; None for those that are there.
    """

    kind: str
    n: int
    here: float
    right: float
    sure: float
    low: float
    high: float
    auroc: float | None


class Truth:
    """Where targets are that are named by a number; a part of them is nowhere.

    Args:
        prior: fraction that is there.
    """

    def __init__(self, prior: float) -> None:
        self._prior = prior

    def piece(self, target: str) -> int:
        """The piece that a target is, or ABSENT."""
        return truth_of(target) if uniform(target, 'there') < self._prior else ABSENT

    def masks(self, target: str) -> TargetMasks:
        """Masks of the target and of all other pieces."""
        right = self.piece(target)
        return TargetMasks(PIECES.labels == right if right != ABSENT else
                           np.zeros_like(PIECES.labels, bool),
                           tuple(PIECES.labels == piece for piece in range(PIECES.count)
                                 if piece != right))


def query(number: int) -> Locate:
    """The question where a target is."""
    return Locate(np.zeros((*PIECES.labels.shape, 3), np.uint8), Target(str(number)))


def noisy(hit: float, false_alarm: float, truth: Truth) -> Any:
    """The simulated model."""
    return make_backend('noisy_locator', {
        'hit': hit, 'repeat': REPEAT, 'confusable': CONFUSABLE, 'silent': SILENT,
        'check_accuracy': CHECKER, 'exists_yes': EXISTS_YES, 'exists_no': EXISTS_NO,
        'false_alarm': false_alarm}, truth)


def knowledge_of(knowledge: str, hit: float, false_alarm: float, prior: float) -> Reliability:
    """Reliability of a model that is known before the first target."""
    if knowledge == 'known':
        return Reliability(
            PointerRates.known(hit, REPEAT, CONFUSABLE, SILENT),
            CheckerRates.known(CHECKER, CHECKER, REPEAT), Reliability.default().places,
            CheckerRates.known(EXISTS_YES, EXISTS_NO, REPEAT), AlarmRates.known(false_alarm))
    if knowledge == 'fitted':
        truth = Truth(prior)
        pointer = Pointer(noisy(hit, false_alarm, truth),
                          PointerSettings(ASKINGS, 1.0, prior_present=prior))
        return fit([(pointer.locate(query(number), pieces=PIECES).belief.answers,
                     truth.piece(str(number)))
                    for number in range(_SEED_OF_LABELLED, _SEED_OF_LABELLED + LABELLED)])
    return Reliability.default()


def measure(model: str, false_alarm: float, prior: float, knowledge: str, n: int) -> Row:
    """Ask a simulated model about n targets."""
    truth = Truth(prior)
    pointer = Pointer(noisy(MODELS[model], false_alarm, truth),
                      PointerSettings(ASKINGS, prior_present=prior),
                      knowledge_of(knowledge, MODELS[model], false_alarm, prior))
    found: list[Located] = []
    for number in range(n):
        found.append(pointer.locate(query(number), pieces=PIECES))
        if knowledge == 'session':
            pointer.learn(found[-1])
    right = [truth.piece(str(number)) for number in range(n)]
    there = np.array([piece != ABSENT for piece in right])
    told = np.array([one.whereabouts is Whereabouts.HERE for one in found])
    placed = [one.place == piece for one, piece in zip(found, right, strict=True)]
    correct = int((told == there).sum())
    low, high = wilson(correct, n)
    return Row(
        model, false_alarm, prior, knowledge, n, correct / n, low, high,
        float(np.mean([ok for ok, here in zip(placed, there, strict=True) if here])),
        reliability([one.probability for one in found], placed, resamples=0).ece,
        reliability([one.belief.present for one in found], list(there), resamples=0).ece,
        float(np.mean([one.sure and bool(one.regions) for one, here in zip(
            found, there, strict=True) if not here])),
        float(np.mean([len(one.asked) for one in found])))


def simulated(n: int, models: Sequence[str], knowledge: Sequence[str]) -> Iterator[Row]:
    """Measure models, false alarms, priors and kinds of knowledge."""
    for what in knowledge:
        for prior in PRIORS:
            for model in models:
                for false_alarm in FALSE_ALARMS:
                    yield measure(model, false_alarm, prior, what, n)


class Remembering(ModelByKind):
    """A model that points, and says the same again without being asked again.

    Args:
        model: asked about each target of one picture, and each attempt, once.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._said: dict[tuple[str, int], LocateReply] = {}

    @property
    def name(self) -> str:
        """Name of the model that points."""
        return part_name(self._model, Locate)

    @property
    def usage(self) -> Usage | None:
        """What the model counts."""
        return self._model.usage

    def forget(self) -> None:
        """Begin with another picture."""
        self._said = {}

    @answers(Locate)
    def locate(self, query: Locate, deadline: Deadline) -> LocateReply:
        """Locate a target; see ``Locate``."""
        key = query.target.text, query.attempt
        if key not in self._said:
            self._said[key] = ask_one(self._model, query)
        return self._said[key]


def ask_tables(scenes: int, askings: int) -> Iterator[tuple[float, Asked]]:
    """Ask ``embedded`` about things that are on tables and things that are not, at each prior.

    Args:
        scenes: number of tables.
        askings: most askings about a target.
    """
    from sightplan_belief import BackendLocator
    from sightplan_sim.tabletop import make_source
    from sightplan_sim.tabletop.absences import Absences
    from sightplan_sim.tabletop.source import table_of

    model = Remembering(make_backend('embedded', {}))
    locator, source, rng = BackendLocator('embedded', model), make_source(traces=False), Random(0)
    for seed in range(FIRST_TABLE, FIRST_TABLE + scenes):
        model.forget()
        scene = source.scene(seed)
        absences = Absences(table_of(scene.id), rng)
        near = [away for kind in LOOKALIKES if (away := absences.target(kind)) is not None]
        others = [away for kind in ('kind', 'unknown', 'relation')
                  if (away := absences.target(kind)) is not None]
        asked: list[tuple[str, str, NDArray[np.bool_] | None]] = [
            ('there', task.text, task.mask) for task in scene.tasks if task.kind == 'object']
        asked += [(away.kind, away.text, None) for away in (
            *rng.sample(near, min(2, len(near))), *others)]
        texts = [text for _, text, _ in asked]
        told = [ask_one(model, Locate(scene.image, Target(text), scene.depth_m))
                for text in texts]
        for prior in PRIORS:
            found = locator.locate(scene.image, [Target(text) for text in texts],
                                   PointerSettings(askings, prior_present=prior),
                                   depth_m=scene.depth_m, camera=scene.camera)
            for (kind, text, mask), one, reply in zip(asked, found, told, strict=True):
                right = one.whereabouts is Whereabouts.NOT_HERE
                if mask is not None:
                    height, width = mask.shape
                    places = [region.pixels(width, height)[0] for region in one.regions[:1]]
                    right = any(bool(mask[row, column]) for column, row in places)
                sure = one.sure and bool(one.regions)
                yield prior, Asked(kind, scene.id, text, str(one.whereabouts), one.probability,
                                   one.present, right, sure, reply.exists or 0.0, one.model,
                                   is_foreign(reply.foreign))


def kind_rows(asked: Sequence[Asked]) -> list[KindRow]:
    """Results for each kind of targets, and for some of these together; see ``KindRow``."""
    kinds = {kind: [one for one in asked if one.kind == kind]
             for kind in dict.fromkeys(one.kind for one in asked)}
    kinds['look-alikes'] = [one for one in asked if one.kind in LOOKALIKES]
    kinds['absent'] = [one for one in asked if one.kind not in ('there', 'relation')]
    there = [one.exists for one in asked if one.kind == 'there']
    return [KindRow(kind, len(group), float(np.mean([one.whereabouts == 'here' for one in group])),
                    float(np.mean([one.right for one in group])),
                    sum(one.sure for one in group) / len(group),
                    *wilson(sum(one.sure for one in group), len(group)),
                    None if kind == 'there' else auroc(there, [one.exists for one in group]))
            for kind, group in kinds.items()]


def calibration_of(asked: Sequence[Asked], prior: float) -> tuple[float, float]:
    """ECE of the answer and of existence where both can be told, weighted to a prior.

    Targets that are there are repeated until they are the fraction ``prior``.
    """
    told = [one for one in asked if one.kind != 'relation'
            and one.whereabouts != 'cannot tell' and one.probability is not None]
    there = [one for one in told if one.kind == 'there']
    absent = [one for one in told if one.kind != 'there']
    number = max(1, round(prior / (1 - prior) * len(absent) * 20 / len(there)))
    both = there * number + absent * 20
    return (reliability([one.probability or 0.0 for one in both], [one.right for one in both],
                        resamples=0).ece,
            reliability([one.present or 0.0 for one in both],
                        [one.kind == 'there' for one in both], resamples=0).ece)


def table(rows: Sequence[Row]) -> str:
    """Rows as Markdown."""
    head = ('known of the model', 'there', 'errors of', 'false alarms', 'existence right', 'hits',
            'ECE', 'ECE of existence', 'sure of what is not there', 'askings')
    lines = [f'| {" | ".join(head)} |', '|---' * len(head) + '|']
    for row in rows:
        lines.append(
            f'| {row.knowledge} | {row.prior:g} | {row.model} | {row.false_alarm:g} | '
            f'{row.existence:.3f} ({row.low:.3f}-{row.high:.3f}) | {row.hits:.3f} | '
            f'{row.ece:.3f} | {row.ece_present:.3f} | {row.sure_absent:.3f} | {row.askings:.1f} |')
    return '\n'.join(lines)


def _measure_embedded(scenes: int, askings: int, out: Path) -> None:
    """Ask about tables; print and write the results at each prior."""
    every = list(ask_tables(scenes, askings))
    found: dict[str, Any] = {
        'model': every[0][1].model, 'tables': scenes, 'askings': askings,
        'refused': sorted({one.scene for _, one in every if one.foreign})}
    for prior in PRIORS:
        asked = [one for at, one in every if at == prior]
        rows = kind_rows(asked)
        ece, ece_present = calibration_of(asked, prior)
        for row in rows:
            print(f'| {prior:g} | {row.kind} | {row.n} | {row.here:.3f} | {row.right:.3f} | '
                  f'{row.sure:.3f} ({row.low:.3f}-{row.high:.3f}) | '
                  f'{"" if row.auroc is None else f"{row.auroc:.3f}"} |')
        print(f'prior {prior:g}: ECE {ece:.3f}, of existence {ece_present:.3f}', flush=True)
        found[str(prior)] = {'ece': ece, 'ece_present': ece_present,
                             'rows': [dataclasses.asdict(row) for row in rows]}
    store(out / f'existence_embedded{"" if askings == 1 else f"_{askings}"}.json', found)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; returns the exit code."""
    parser = argparse.ArgumentParser(prog='python studies/existence_study.py',
                                     description='Measure what locate tells of existence.')
    parser.add_argument('part', choices=('simulated', 'embedded'))
    parser.add_argument('--n', type=int, default=200, help='targets or tables (default: 200)')
    parser.add_argument('--askings', type=int, default=1,
                        help='most askings of embedded about a target (default: 1)')
    parser.add_argument('--models', nargs='+', choices=tuple(MODELS), default=list(MODELS))
    parser.add_argument('--knowledge', nargs='+', choices=KNOWLEDGE, default=list(KNOWLEDGE))
    parser.add_argument('--out', type=Path, default=DATA / 'pointing', metavar='DIR',
                        help='where the results are written (default: %(default)s)')
    arguments = parser.parse_args(argv)
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
        if arguments.part == 'embedded':
            _measure_embedded(arguments.n, arguments.askings, arguments.out)
            return _DONE
        rows = []
        for row in simulated(arguments.n, arguments.models, arguments.knowledge):
            rows.append(row)
            print(table([row]).splitlines()[-1], flush=True)
        store(arguments.out / 'existence.json', [dataclasses.asdict(row) for row in rows])
    except (InputError, OSError) as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    print(table(rows))
    return _DONE


if __name__ == '__main__':
    sys.exit(main())
