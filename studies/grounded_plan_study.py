"""Regenerates the tables of ``studies/grounded_plan.md``: instances against names, and runs.

Use::

    python studies/grounded_plan_study.py compare --out studies/data/grounded_plan/compare.json
    python studies/grounded_plan_study.py baselines DATA ... --out FILE.json
    python studies/grounded_plan_study.py tables [RUNS ...]

``compare`` asks what knowing instances is worth where the eyes are equally bad. The planner of
``decoupled`` is perfect here: it says every step of the true plan in order, each thing by its
category and colour, or, where the instruction says which of several, by words that mean just that
one. ``noisy_locator`` then finds each; of several things that fit the words equally it means one,
the same each time (GroundedPlanBench names four napkins that are all grounded to one). Its rate of
hits is fitted so that ``decoupled`` gets the published ARR of a system at each horizon. Ours reads
the instruction, has the same locator with the same rate find all things in several looks, takes as
many as the instruction says, and plans.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sightplan.agent.grounded_plans import grounded_steps
from sightplan.domains import load_domain
from sightplan.grounding.instructions import (
    UnreadError,
    instances_of,
    read_instruction,
    resolve,
)
from sightplan.metrics import wilson
from sightplan.metrics.paired import mcnemar_exact
from sightplan.model import (
    Form,
    InputError,
    PlannerError,
    StopReason,
    Target,
    TargetMasks,
)
from sightplan.model.grounded_plan import GroundedPlanTask, GroundedStep, Primitive, UnitKind
from sightplan.model.query import ask_one
from sightplan.model.region import Mask, Region, TrueThing, box_iou
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan.queries.detect import Detect
from sightplan.queries.locate import Locate
from sightplan.runs import load_suite
from sightplan_models._hashed_draws import uniform
from sightplan_models.noisy_locator import Backend, Settings
from sightplan_sim.tabletop.grounded_scenes import make_source, true_thing
from sightplan_sim.tabletop.intentions import intentions
from sightplan_sim.tabletop.meanings import Choice
from sightplan_suites.grounded_plan.coordinates import box_region
from sightplan_suites.grounded_plan.records import INSTRUCTION_KINDS, Item, read_records
from sightplan_suites.grounded_plan.scoring import Score, best_score, score_plan
from study_document import DATA, STUDIES, commit, rewrite, store

DOCUMENT = 'grounded_plan.md'
HORIZONS = ('short', 'medium', 'long')
SYSTEM = 'GPT 5.2 + ER1'
BOX_IOU, REPEAT, CONFUSABLE = 0.75, 0.45, 0.5
LOOKS = (1, 5, 9)
_USAGE = 2


@dataclass(frozen=True)
class Case:
    """A scene's task with all that is true in its picture.

    Attributes:
        id: of the scene.
        task: with its true plan.
        names: of the things.
        packed: their masks, compressed.
        shape: of the masks.
        kinds: category, colour and whether it stands open of each.
        words: of each unit's target and destination, those for which somebody looks.
        fitting: of each of these words, the names that they fit.
    """

    id: str
    task: GroundedPlanTask
    names: tuple[str, ...]
    packed: tuple[bytes, ...]
    shape: tuple[int, int]
    kinds: tuple[tuple[str, str, bool | None], ...]
    words: tuple[tuple[str, str], ...]
    fitting: Mapping[str, tuple[str, ...]]

    def mask(self, number: int) -> Mask:
        """(H, W) of a thing."""
        bits = np.frombuffer(zlib.decompress(self.packed[number]), np.uint8)
        found: Mask = np.unpackbits(bits, count=self.shape[0] * self.shape[1]).reshape(
            self.shape).astype(bool)
        return found


class Truth:
    """Truth for ``noisy_locator`` about one case."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._masks = [case.mask(number) for number in range(len(case.names))]

    def masks(self, target: str) -> TargetMasks:
        """True masks of one thing that the words fit (always the same), and of all others."""
        fitting = self._case.fitting[target]
        chosen = fitting[int(uniform(self._case.id, target, 'means') * len(fitting))]
        number = self._case.names.index(chosen)
        return TargetMasks(self._masks[number], tuple(
            self._masks[:number] + self._masks[number + 1:]))

    def things(self) -> tuple[TrueThing, ...]:
        """All things of the case, with their true kinds."""
        return tuple(TrueThing(mask, *kind) for mask, kind in zip(
            self._masks, self._case.kinds, strict=True))


def cases(horizon: str, count: int, seed: int) -> list[Case]:
    """Explicit tasks of held-out scenes."""
    found = []
    with make_source() as source:
        for number in range(count):
            scene = source.scene(seed + number, horizon)
            tidy = source.tidying(seed + number, horizon)
            table = tidy.arrangement.table
            opened = {name for one in table.things for name, out in dict(one.opened).items()
                      if out > 0}
            things = [true_thing(piece, table, opened) for piece in scene.pieces]
            kinds = [(one.category, one.colour, one.opened) for one in things]
            task = next(one for one in scene.tasks if one.explicit)
            meant = next(one for one in tidy.tasks if one.explicit).meaning
            own = {name for reference in meant.references if reference.choice is not Choice.ALL
                   for name in reference.names}
            plain = {piece.name: ' '.join(filter(None, (kind[1], kind[0])))
                     for piece, kind in zip(scene.pieces, kinds, strict=True)}
            words = {name: name if name in own else text for name, text in plain.items()}
            fitting: dict[str, tuple[str, ...]] = {}
            for name, text in words.items():
                fitting[text] = (name,) if name in own else tuple(
                    other for other, said in plain.items() if said == text)
            found.append(Case(
                scene.id, task, tuple(piece.name for piece in scene.pieces),
                tuple(zlib.compress(np.packbits(piece.mask).tobytes()) for piece in scene.pieces),
                scene.image.shape[:2], tuple(kinds),
                tuple((words[unit.target], words.get(unit.destination, ''))
                      for block in task.blocks for unit in block.units), fitting))
            _say(f'{horizon}: {number + 1} of {count} scenes')
    return found


def _image(case: Case) -> Any:
    """A stand-in for the picture: all that counts is that each scene has its own."""
    return np.full((1, 1, 3), zlib.crc32(case.id.encode()) % 251, np.uint8)


def decoupled(case: Case, hit: float, askings: int = 1) -> Score:
    """Score a perfect plan in words whose places a model with hit rate ``hit`` locates."""
    backend = _backend(case, hit)

    def place(text: str, form: Form) -> Region | None:
        said = [ask_one(backend, Locate(_image(case), Target(text, form), attempt=attempt))
                for attempt in range(askings)]
        return _most_said([reply.regions[0] for reply in said if reply.regions])

    steps = []
    units = [unit for block in case.task.blocks for unit in block.units]
    for unit, (target, destination) in zip(units, case.words, strict=True):
        if unit.kind is UnitKind.PICK_PLACE:
            steps += [GroundedStep(Primitive.GRASP, target, place(target, Form.BOX)),
                      GroundedStep(Primitive.PLACE, destination, place(destination, Form.POINT))]
        else:
            steps.append(GroundedStep(unit.kind.value, target, place(target, Form.BOX)))
    return score_plan(case.task.blocks, steps)


def _most_said(regions: Sequence[Region]) -> Region | None:
    """The one that most others agree with; of several the first."""
    return max(regions, key=lambda one: sum(_agree(one, other) for other in regions),
               default=None)


def _agree(one: Region, other: Region) -> bool:
    if one.form is Form.BOX:
        return box_iou(one, other) >= 0.5
    return math.dist(one.centre, other.centre) < 0.05


def ours(case: Case, hit: float, looks: int, plan: Callable[[Any], Any]) -> Score | None:
    """Instances; None: no plan."""
    backend = _backend(case, hit)
    try:
        seen = instances_of([ask_one(backend, Detect(_image(case), attempt=attempt))
                             for attempt in range(looks)])
        steps = grounded_steps(resolve(read_instruction(case.task.instruction), seen), seen,
                               load_domain('tabletop'), plan)
    except (InputError, PlannerError) as error:
        _say(f'{case.id}: {looks} looks: no plan: {error}')
        return None
    return score_plan(case.task.blocks, steps)


def _backend(case: Case, hit: float) -> Backend:
    return Backend(Settings(hit=hit, confusable=CONFUSABLE, repeat=REPEAT, box_iou=BOX_IOU),
                   Truth(case))


def fitted(found: Sequence[Case], arr: float) -> float:
    """Rate of hits with which ``decoupled`` gets an ARR, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(9):
        middle = (low + high) / 2
        if np.mean([decoupled(case, middle).arr for case in found]) < arr:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def compare(count: int, seed: int) -> dict[str, Any]:
    """Ours against decoupled, paired, at each horizon."""
    suite, cells = load_suite('grounded_plan'), []
    with FastDownwardPlanner() as planner:
        def plan(task: Any) -> Any:
            return planner.plan(task, 60.0)
        for horizon in HORIZONS:
            found = cases(horizon, count, seed)
            row = suite.published.find(SYSTEM, 'arr', split=horizon, instruction='explicit',
                                  system='decoupled')
            if row is None:
                raise InputError(f'published.json has no ARR of {SYSTEM} at {horizon}')
            hit = fitted(found, row.value)
            scores: dict[tuple[str, int], list[Score | None]] = {}
            for looks in LOOKS:
                scores['decoupled', looks] = [decoupled(case, hit, looks) for case in found]
            for looks in LOOKS:
                scores['ours', looks] = [ours(case, hit, looks, plan) for case in found]
            for (way, looks), own in scores.items():
                cells.append({
                    'horizon': horizon, 'way': way, 'looks': looks, 'n': len(own),
                    'solved': sum(_right(own)),
                    'arr': float(np.mean([0.0 if score is None else score.arr
                                          for score in own])),
                    'hit': round(hit, 4), 'published_arr': row.value,
                    'against_one': _paired(_right(own), _right(scores['decoupled', 1])),
                    'against_equal': _paired(_right(own), _right(scores['decoupled', looks]))})
                _say(json.dumps(cells[-1]))
    return {'system': SYSTEM, 'seed': seed, 'commit': commit(), 'box_iou': BOX_IOU,
            'repeat': REPEAT, 'confusable': CONFUSABLE, 'cells': cells}


# ------------------------------------------------------------------------- without understanding

NOUNS = {'knives': 'knife', 'toys': 'ball', 'toy': 'ball', 'food': ('apple', 'banana'),
         'fruit': ('apple', 'banana'), 'cutlery': ('fork', 'knife', 'spoon'),
         'silverware': ('fork', 'knife', 'spoon'), 'tools': ('hammer', 'screwdriver'),
         'tool': ('hammer', 'screwdriver')}
"""Words for things besides their categories and regular plurals."""
HOLDERS = ('tray', 'crate', 'bowl', 'plate')
DRAWER_WORDS = {'upper': 'drawer 1', 'top': 'drawer 1', 'high': 'drawer 1', 'lower': 'drawer 2',
                'bottom': 'drawer 2', 'low': 'drawer 2'}
CUPBOARD_WORDS = frozenset(
    ('drawer', 'cabinet', 'open', 'close', 'shut', 'hide', 'sight', 'compartment', 'front'))


def keyword_steps(item: Item) -> list[GroundedStep]:
    """Plan of a reader of keywords with perfect eyes.

    Everything is moved whose category is named, to the place that is named, else to a drawer where
    a word speaks of the cabinet, else to the first tray, crate, bowl or plate that there is.
    """
    words = re.findall(r'[a-z]+', item.task.instruction.lower())
    kinds: set[str] = set()
    for word in words:
        meant = NOUNS.get(word, (word, word.removesuffix('s'), word.removesuffix('es')))
        kinds |= {meant} if isinstance(meant, str) else set(meant)
    boxes = {name: box_region(box) for name, box in item.things}
    drawers = [name for name in boxes if name.startswith('drawer')]
    named = [name for name in boxes if _kind_of(name) in kinds]
    places = [name for kind in HOLDERS for name in boxes if _kind_of(name) == kind]
    place = next((name for name in named if name in places), '')
    if not place and drawers and CUPBOARD_WORDS & set(words):
        place = next((DRAWER_WORDS[word] for word in words if word in DRAWER_WORDS), drawers[0])
    place = place or next(iter(places), '')
    moved = [name for name in named if name not in (*places, *drawers) and 'cabinet' not in name]
    steps: list[GroundedStep] = []
    if place in drawers:
        steps.append(GroundedStep('open', place, boxes[place]))
    if place:
        for name in moved:
            steps += [GroundedStep(Primitive.GRASP, name, boxes[name]), GroundedStep(
                Primitive.PLACE, place, Region(Form.POINT, (boxes[place].centre,)))]
    if place in drawers and moved:
        steps.append(GroundedStep('close', place, boxes[place]))
    return steps


def blind_steps(item: Item, usual: Mapping[str, Region]) -> list[GroundedStep]:
    """The true plan, each thing where things of its kind are on the mean of other tables."""
    steps: list[GroundedStep] = []
    for unit in (unit for block in item.task.blocks for unit in block.units):
        box = usual[_kind_of(unit.target)]
        if unit.kind is UnitKind.PICK_PLACE:
            there = usual[_kind_of(unit.destination)].centre
            steps += [GroundedStep(Primitive.GRASP, unit.target, box), GroundedStep(
                Primitive.PLACE, unit.destination, Region(Form.POINT, (there,)))]
        else:
            steps.append(GroundedStep(unit.kind.value, unit.target, box))
    return steps


def _kind_of(name: str) -> str:
    """Category of a thing by its name in the scene; drawers are kinds of their own."""
    return name if name.startswith('drawer') else name.rpartition(' ')[0]


def _usual(items: Iterable[Item]) -> dict[str, Region]:
    """Mean box of each kind of thing."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for item in items:
        for name, box in item.things:
            found.setdefault(_kind_of(name), []).append(box)
    return {kind: box_region(tuple(np.mean(boxes, axis=0).tolist()))
            for kind, boxes in found.items()}


def baselines(folders: Sequence[Path]) -> dict[str, Any]:
    """Scores of the oracle, of keywords and of a blind planner, by horizon and instruction."""
    cells = []
    for folder in folders:
        data = read_records(folder, pictures=False)
        scenes = {item.scene: item for item in data.items}
        for kind in INSTRUCTION_KINDS:
            items = [item for item in data.items if item.kind == kind]
            scores: dict[str, list[Score]] = {'oracle': [], 'keywords': [], 'blind': []}
            for item in items:
                others = _usual(one for name, one in scenes.items() if name != item.scene)
                own = {'oracle': _oracle_steps(item), 'keywords': keyword_steps(item),
                       'blind': blind_steps(item, others)}
                for way, steps in own.items():
                    scores[way].append(best_score(item.task.plans, steps))
            said = [len(item.task.instruction.split()) for item in items]
            for way, some in scores.items():
                cells.append({
                    'horizon': items[0].horizon, 'instruction': kind, 'way': way, 'n': len(some),
                    'solved': sum(_right(some)), 'arr': float(np.mean([one.arr for one in some])),
                    'words': [min(said), float(np.mean(said)), max(said)]})
    return {'commit': commit(), 'cells': cells, 'wordings': {
        'tuning': readable(held_out=False), 'held_out': readable(held_out=True)}}


def readable(held_out: bool) -> list[int]:
    """Numbers of wordings of intentions that the reader does not refuse, and of all."""
    catalogue = intentions()
    texts = [text.format(**{'into': 'onto the tray', 'in': 'on the tray', 'like': 'the sky'})
             for name in catalogue.kinds for text in catalogue.wordings(name, held_out)]
    read = 0
    for text in texts:
        with contextlib.suppress(UnreadError):
            read_instruction(text)
            read += 1
    return [read, len(texts)]


def _oracle_steps(item: Item) -> list[GroundedStep]:
    steps: list[GroundedStep] = []
    for unit in (unit for block in item.task.blocks for unit in block.units):
        if unit.place is not None:
            steps += [GroundedStep(Primitive.GRASP, unit.target, unit.region), GroundedStep(
                Primitive.PLACE, unit.destination, Region(Form.POINT, (unit.place.centre,)))]
        else:
            steps.append(GroundedStep(unit.kind.value, unit.target, unit.region))
    return steps


def of_baselines(measured: Mapping[str, Any]) -> str:
    """The table of ``baselines``."""
    heads = ('horizon', 'instructions', 'words: least, mean, most', 'n', 'oracle', 'keywords',
             'blind')
    rows = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    parts: dict[tuple[str, str], dict[str, Any]] = {}
    for cell in measured['cells']:
        parts.setdefault((cell['horizon'], cell['instruction']), {})[cell['way']] = cell
    for (horizon, kind), ways in parts.items():
        least, mean, most = ways['oracle']['words']
        values = []
        for way in ('oracle', 'keywords', 'blind'):
            low, high = wilson(ways[way]['solved'], ways[way]['n'])
            values.append(f'{ways[way]["solved"] / ways[way]["n"]:.3f} ({low:.3f}-{high:.3f})')
        rows.append(f'| {horizon} | {kind} | {least}, {mean:.1f}, {most} '
                    f'| {ways["oracle"]["n"]} | {" | ".join(values)} |')
    tuning, held_out = (measured['wordings'][name] for name in ('tuning', 'held_out'))
    return '\n'.join([
        *rows, '', (f'TSR with its interval; commit {measured["commit"]}. The reader of words '
                   f'reads {tuning[0]} of the {tuning[1]} wordings of intentions for tuning, and '
                   f'{held_out[0]} of the {held_out[1]} held-out ones; it refuses the others.')])


def _right(scores: Iterable[Score | None]) -> list[bool]:
    return [score is not None and score.tsr == 1 for score in scores]


def _paired(right: Sequence[bool], others: Sequence[bool]) -> dict[str, float]:
    """Numbers of tasks that only one of two gets right, and McNemar's exact p."""
    pairs = list(zip(right, others, strict=True))
    wins = sum(a and not b for a, b in pairs)
    losses = sum(b and not a for a, b in pairs)
    return {'wins': wins, 'losses': losses, 'p': mcnemar_exact(wins, losses)}


def comparison(measured: Mapping[str, Any]) -> str:
    """The table of ``compare``."""
    heads = ('horizon', 'rate of hits', 'way', 'TSR', 'ARR',
             'better / worse than `decoupled` with one asking, p', 'with as many as looks, p')
    rows = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    for cell in measured['cells']:
        low, high = wilson(cell['solved'], cell['n'])
        own = cell['way'] == 'ours'
        against = ['' if not of_interest else
                   f'{cell[key]["wins"]} / {cell[key]["losses"]}, p = {cell[key]["p"]:.2g}'
                   for key, of_interest in (('against_one', own or cell['looks'] > 1),
                                            ('against_equal', own and cell['looks'] > 1))]
        word = 'look' if own else 'asking'
        rows.append(f'| {cell["horizon"]} | {cell["hit"]:.3f} '
                    f'| {cell["way"]}, {cell["looks"]} {word}{"s" * (cell["looks"] > 1)} '
                    f'| **{cell["solved"] / cell["n"]:.3f}** ({low:.3f}-{high:.3f}) '
                    f'| {cell["arr"]:.3f} | {" | ".join(against)} |')
    rows += ['', (f'n = {measured["cells"][0]["n"]} explicit tasks a horizon, scenes from seed '
                  f'{measured["seed"]}; commit {measured["commit"]}.')]
    return '\n'.join(rows)


def keep(folder: Path, out: Path) -> None:
    """Write the fields of a run that the tables need, one line per item, as OUT/SPLIT.jsonl."""
    info = json.loads((folder / 'run.json').read_text('utf-8'))
    commits = sorted({one['commit'][:12] for one in info['sessions']})
    identity, rows = info['identity'], []
    for line in _lines(folder / 'episodes.jsonl'):
        row = {'id': line['id'], 'split': line['split'], 'method': identity['method']['name'],
               'backend': identity['backend']['name'], 'commits': commits,
               'cause': line.get('cause')}
        if line['kind'] == 'episode':
            row |= {'solved': bool(line['measures']['solved']), 'stop': line['stop'],
                    'error': bool(line['error']), 'steps': line['steps'],
                    'message': line['message']}
        else:
            row |= {'instruction': line['details']['instruction_type'], **{
                name: line['measures'][name] for name in ('tsr', 'tsr_lenient', 'arr')}}
        rows.append(row)
    out.mkdir(parents=True, exist_ok=True)
    (out / f'{rows[0]["split"]}.jsonl').write_text(
        ''.join(f'{json.dumps(row)}\n' for row in rows), 'utf-8')


def of_runs(files: Iterable[Path]) -> str:
    """TSR and ARR of runs, by horizon and instruction."""
    rows = ['| horizon | instructions | method, model | n | TSR | lenient | ARR | causes |',
            '|---|---|---|---|---|---|---|---|']
    for path in files:
        lines = _lines(path)
        for kind in ('explicit', 'implicit'):
            own = [line for line in lines if line['instruction'] == kind]
            solved = round(sum(line['tsr'] or 0.0 for line in own))
            low, high = wilson(solved, len(own))
            causes = Counter(line['cause'] for line in own if line['cause'])
            said = ', '.join(f'{name.replace("_", " ")} {number}'
                             for name, number in causes.most_common(3))
            mean = {name: sum(line[name] or 0.0 for line in own) / len(own)
                    for name in ('tsr_lenient', 'arr')}
            rows.append(
                f'| {own[0]["split"]} | {kind} | `{own[0]["method"]}`, '
                f'`{own[0]["backend"]}` | {len(own)} | **{solved / len(own):.3f}** '
                f'({low:.3f}-{high:.3f}) | {mean["tsr_lenient"]:.3f} | {mean["arr"]:.3f} '
                f'| {said} |')
    return '\n'.join(rows)


def of_episodes(files: Iterable[Path]) -> str:
    """Table of instructions on the arm; an episode that the gate ended is not solved."""
    rows = ['| horizon | solved | steps | places found anew | steps done again | the rest |',
            '|---|---|---|---|---|---|']
    for path in files:
        lines = _lines(path)
        right = sum(line['solved'] for line in lines)
        low, high = wilson(right, len(lines))
        counts = [found for line in lines if (found := re.search(
            r'looking again: (\d+); steps repeated: (\d+)', line['message']))]
        causes = Counter(
            'stopped by the arm' if line['error'] else 'gave up' if line['stop'] == 'gave_up'
            else 'not noticed' if line['stop'] == 'plan_done' else line['stop'].replace('_', ' ')
            for line in lines if not line['solved'])
        said = ', '.join(f'{cause} {number}' for cause, number in causes.most_common())
        rows.append(
            f'| {lines[0]["split"]} | **{right} of {len(lines)}** ({low:.3f}-{high:.3f}) '
            f'| {np.median([line["steps"] for line in lines]):.0f} '
            f'| {sum(int(found[1]) for found in counts)} '
            f'| {sum(int(found[2]) for found in counts)} | {said} |')
    return '\n'.join(rows)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text('utf-8').splitlines()]


WAYS = ('decoupled', 'ours')


def of_pairs(files: Iterable[Path]) -> str:
    """Executed success of both, paired; lines of ``grounded_plan_arm_study.py``."""
    heads = ('horizon', 'n', '`decoupled`', 'ours', 'only ours / only `decoupled`, p',
             'of plans that ended: found anew, done again, found late', 'ours: the rest')
    rows = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    for path in files:
        lines = _lines(path)
        by_way = {way: {line['seed']: line for line in lines if line['way'] == way}
                  for way in WAYS}
        base, mine = (by_way[way] for way in WAYS)
        seeds = sorted(set(base) & set(mine))
        cells = []
        for way in WAYS:
            right = sum(by_way[way][seed]['solved'] for seed in seeds)
            low, high = wilson(right, len(seeds))
            cells.append(f'**{right / len(seeds):.3f}** ({low:.3f}-{high:.3f})')
        paired = _paired([mine[seed]['solved'] for seed in seeds],
                         [base[seed]['solved'] for seed in seeds])
        again = [found.groups() for seed in seeds if (found := re.search(
            r'looking again: (\d+); steps repeated: (\d+); things found late: (\d+)',
            mine[seed]['said']))]
        rest = Counter(_how_ended(mine[seed]['said']) for seed in seeds
                       if not mine[seed]['solved'])
        rows.append(
            f'| {lines[0]["horizon"]} | {len(seeds)} | {cells[0]} | {cells[1]} '
            f'| {paired["wins"]} / {paired["losses"]}, p = {paired["p"]:.2g} '
            f'| {", ".join(str(sum(map(int, column))) for column in zip(*again, strict=True))} '
            f'| {", ".join(f"{cause} {number}" for cause, number in rest.most_common())} |')
    return '\n'.join(rows)


def _how_ended(said: str) -> str:
    """Reason in words why an episode ended that did not solve its scene."""
    for reason, words in ((StopReason.PLAN_DONE, 'not noticed'), (StopReason.GAVE_UP, 'gave up'),
                          (StopReason.ERROR, 'stopped by the arm')):
        if said.startswith(f'{reason}:'):
            return words
    return 'stopped by the arm' if said.startswith('stopped') else 'budget'


def of_arm(files: Iterable[Path]) -> str:
    """Table of the arm's actions and right plans; from lines of ``tabletop_arm_study.py``."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path in files:
        for text in path.read_text('utf-8').splitlines():
            data = json.loads(text)
            groups.setdefault(data.get('action') or f'right plans, {data["horizon"]}',
                              []).append(data)
    rows = ['| what | right | simulated time | causes of the rest |', '|---|---|---|---|']
    for name, own in groups.items():
        right = sum(bool(line['right']) for line in own)
        low, high = wilson(right, len(own))
        causes: dict[str, int] = {}
        for line in own:
            if not line['right']:
                causes[line['cause']] = causes.get(line['cause'], 0) + 1
        said = ', '.join(f'{cause.replace("_", " ")} {number}' for cause, number in sorted(
            causes.items(), key=lambda pair: -pair[1]))
        what = f'{name} a drawer' if name in ('open', 'close') else name
        rows.append(f'| {what} | **{right} of {len(own)}** ({low:.3f}-{high:.3f}) '
                    f'| {np.median([line["seconds"] for line in own]):.0f} s | {said} |')
    return '\n'.join(rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure or regenerate; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog='python studies/grounded_plan_study.py',
        description='Measure and regenerate the tables of studies/grounded_plan.md.')
    parts = parser.add_subparsers(dest='what', required=True)
    part = parts.add_parser('compare', help='instances against names, equally bad eyes')
    part.add_argument('--count', type=int, default=200, help='tasks a horizon (default: 200)')
    part.add_argument('--seed', type=int, default=50_000, help='first scene (default: 50000)')
    part.add_argument('--out', type=Path, required=True, metavar='FILE.json')
    part = parts.add_parser('baselines', help='oracle, keywords and a blind planner')
    part.add_argument('data', nargs='+', type=Path,
                      help='folders of "sightplan suite grounded_plan make", one a horizon')
    part.add_argument('--out', type=Path, required=True, metavar='FILE.json')
    part = parts.add_parser('tables', help='rewrite the page by studies/data/grounded_plan')
    part.add_argument('runs', nargs='*', type=Path,
                      help='run directories of the suite: their scores are kept there')
    part.add_argument('--episodes', nargs='*', type=Path, default=[], metavar='RUN',
                      help='likewise, of the domain tabletop on the arm')
    part.add_argument('--out', type=Path, default=STUDIES, metavar='DIR')
    arguments = parser.parse_args(argv)
    try:
        if arguments.what == 'compare':
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            store(arguments.out, compare(arguments.count, arguments.seed))
            return 0
        if arguments.what == 'baselines':
            store(arguments.out, baselines(arguments.data))
            return 0
        folder = DATA / 'grounded_plan'
        for run in arguments.runs:
            keep(run, folder / 'runs')
        for run in arguments.episodes:
            keep(run, folder / 'episodes')
        made = {'compare': comparison(json.loads((folder / 'compare.json').read_text('utf-8'))),
                'arm': of_arm(sorted(folder.glob('*.jsonl'))),
                'baselines': of_baselines(
                    json.loads((folder / 'baselines.json').read_text('utf-8')))}
        for name, table in (('executed', of_pairs), ('runs', of_runs), ('episodes', of_episodes)):
            made[name] = table(folder / name / f'{horizon}.jsonl' for horizon in HORIZONS)
        for line in rewrite(arguments.out / DOCUMENT, made):
            print(line)
    except InputError as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == '__main__':
    sys.exit(main())
