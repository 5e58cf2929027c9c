"""Measure what an arm takes that is asked for things of which a third is not there.

Use::

    python studies/absent_grasps_study.py run --n 300 --out runs/absent_grasps.jsonl
    python studies/absent_grasps_study.py run --n 300 --out runs/other_weights.jsonl \
        --earlier runs/absent_grasps.jsonl
    python studies/absent_grasps_study.py table runs/absent_grasps.jsonl

Each request is on a table of its own with 6 to 12 household things that no training had, before
a simulated arm (``sightplan bench pointing`` has the same world and errors of the camera). Two of
three name a thing that is there and can be grasped; every third one names a thing that is not:
half of these look like something that is there (mostly in another colour, some are another kind
that looks alike), a quarter are other kinds, and a quarter are words that no catalogue has.

What ``sightplan arm grasp`` does is done in one process: the shipped network (``embedded``) is
asked as the node ``grounder`` asks it, ``choose_grasp`` decides, and the arm's skills take the
point that was chosen. Compared are three rules on the same answers and the same grasps: the place
is at least .5 probable; it is called sure at .9 (the rule before); ``choose_grasp``. The truth
counts what was lifted, and no rule sees it. What only the first rule takes for an absent thing is
not grasped. A run that was broken off goes on where it was; with ``--earlier`` a thing that an
earlier run took on the same table, with other weights, is not taken again: the outcome is its.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from sightplan.metrics import wilson
from sightplan.model import InputError, Region, Target, WorldError
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.region import LEAST_TO_ACT
from sightplan.vlm.api import make_backend
from sightplan_belief import BackendLocator, Found
from sightplan_belief.grasp_choice import choose_grasp
from sightplan_bench.pointing_grasps import (
    ERRORS,
    LIFTED,
    SETTLE_S,
    WRONG,
    Scenes,
    Sight,
    outcome_of,
)
from sightplan_sim.tabletop.absences import absent_targets
from sightplan_sim.tabletop.arm_world import Settings, TabletopArmWorld

FIRST = 30_000
"""Seed of the first table; limits were chosen on tables from 20,000 on."""
THERE = 'there'
ABSENT_KINDS = ('colour', 'kind', 'colour', 'unknown', 'similar', 'kind', 'colour', 'unknown')
"""Kinds of the requests for what is not there, in turn."""
RULES = ('half', 'sure', 'choice')
"""Rules by which a place is grasped: at least .5 probable; sure at .9; ``choose_grasp``."""
_GRASPED = ('outcome', 'arm_cause', 'arm_message', 'lifted')
_DONE, _USAGE = 0, 2


def request_of(number: int, sight: Sight) -> tuple[str, str]:
    """Kind and words of a request; a kind that a table does not allow is replaced by another.

    Args:
        number: of the request, from 0.
        sight: of its table.
    """
    if number % 3 < 2:
        return THERE, sight.text
    absent = {one.kind: one.text for one in absent_targets(sight.table, Random(number))}
    wanted = ABSENT_KINDS[number // 3 % len(ABSENT_KINDS)]
    kind = next(one for one in (wanted, 'colour', 'kind', 'unknown') if one in absent)
    return kind, absent[kind]


class Study:
    """Runner of requests.

    Args:
        world: with the arm.
        earlier: lines of an earlier run, whose grasps are not repeated.
    """

    def __init__(self, world: TabletopArmWorld, earlier: Sequence[Mapping[str, Any]] = ()) -> None:
        self._world, self._scenes = world, Scenes(world)
        self._earlier = {(line['id'], line['text'], line['thing']): line for line in earlier
                         if 'outcome' in line}
        self._locator = BackendLocator('embedded', make_backend('embedded', {}))

    def run(self, number: int) -> dict[str, Any]:
        """Run a request; returns its line of results."""
        sight = self._scenes.show(FIRST + number)
        if sight is None:
            return {'number': number, 'skipped': 'nothing on the table can be named and grasped'}
        kind, text = request_of(number, sight)
        asked: list[int] = []

        def ask(targets: Sequence[Target], settings: PointerSettings | None) -> list[Found]:
            asked.append(len(targets))
            return self._locator.locate(
                sight.rgbd.rgb, targets, settings or PointerSettings(accept=LEAST_TO_ACT),
                depth_m=sight.rgbd.depth_m, camera=sight.camera)
        begun_s = time.process_time()
        choice = choose_grasp(text, ask)
        found = choice.found
        chance = found.probability or 0.0
        taken = {'half': bool(found.regions) and chance >= 0.5,
                 'sure': found.sure and bool(found.regions) and chance >= LEAST_TO_ACT,
                 'choice': choice.region is not None}
        line: dict[str, Any] = {
            'number': number, 'id': sight.table.id, 'kind': kind, 'text': text,
            'model': found.model, 'whereabouts': str(found.whereabouts),
            'probability': _rounded(found.probability), 'present': _rounded(found.present),
            'chosen': _rounded(choice.present), 'colour': _rounded(choice.colour),
            'cause': choice.cause, 'message': choice.message,
            'like': [{'text': one.target.text, 'thing': sight.thing_at(one.regions[0])}
                     for one in choice.like],
            'taken': taken, 'askings': sum(asked),
            'cpu_s': round(time.process_time() - begun_s, 2)}
        if taken['sure'] or taken['choice'] or (kind == THERE and taken['half']):
            line['thing'] = sight.thing_at(found.regions[0])
            name = sight.name if kind == THERE else ''
            before = self._earlier.get((sight.table.id, text, line['thing']))
            line |= ({key: before[key] for key in _GRASPED} if before is not None else
                     self._grasp(found.regions[0], text, name))
        return line

    def _grasp(self, region: Region, text: str, name: str) -> dict[str, Any]:
        world = self._world
        try:
            report = world.skills.grasp_at(region, text).report
            cause, message = report.cause, report.message
        except WorldError as error:
            cause, message = 'error', f'{type(error).__name__}: {error}'
        world.arm.wait(SETTLE_S)
        truth = world.truth()
        return dict(zip(_GRASPED, (outcome_of(name, truth.lifted, truth.dropped), cause, message,
                                   list(truth.lifted)), strict=True))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def run(n: int, out: Path, earlier: Path | None = None) -> None:
    """Run the first n requests, and append each one's line to a file; go on where it ends."""
    lines = read(out) if out.exists() else []
    out.write_text(''.join(f'{json.dumps(line)}\n' for line in lines), 'utf-8')
    errors: dict[str, Any] = dict(ERRORS)
    with TabletopArmWorld(Settings(**errors)) as world, out.open('a', encoding='utf-8') as file:
        study = Study(world, read(earlier) if earlier else ())
        for number in range(len(lines), n):
            line = study.run(number)
            file.write(json.dumps(line) + '\n')
            file.flush()
            print(number, line.get('kind', 'skipped'), line.get('text'), line.get('taken'),
                  line.get('outcome'), line.get('message'), flush=True)


def read(path: Path) -> list[dict[str, Any]]:
    """Lines of a file; one that was broken off at the end is left out."""
    lines = []
    for text in path.read_text('utf-8').splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            break
    return lines


def outcome(line: Mapping[str, Any], rule: str) -> str:
    """Outcome of a request by a rule; the cause where nothing was tried."""
    if line['taken'][rule]:
        return str(line.get('outcome', 'taken'))
    if rule == 'choice':
        return str(line['cause'])
    return 'refused'


def rows(lines: Sequence[Mapping[str, Any]], rule: str) -> list[dict[str, Any]]:
    """Figures by kind of request, of all that are there, and of all that are not."""
    counted = [line for line in lines if 'skipped' not in line]

    def row(name: str, fits: Callable[[str], bool]) -> dict[str, Any]:
        mine = [line for line in counted if fits(line['kind'])]
        outcomes = Counter(outcome(line, rule) for line in mine)
        good = outcomes[LIFTED] if name == THERE else outcomes[WRONG]
        return {'kind': name, 'rule': rule, 'n': len(mine), 'lifted': good,
                'rate': good / len(mine) if mine else None,
                'interval95': list(wilson(good, len(mine))) if mine else None,
                'outcomes': dict(outcomes.most_common())}
    kinds = [kind for kind in dict.fromkeys(ABSENT_KINDS)
             if any(line['kind'] == kind for line in counted)]
    return [row(THERE, lambda kind: kind == THERE), row('absent', lambda kind: kind != THERE),
            *(row(kind, lambda one, kind=kind: one == kind) for kind in kinds)]  # type: ignore[misc]


def table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Figures as Markdown: right things that were lifted, and any that was for an absent one."""
    head = ('asked for', 'rule', 'n', 'lifted (95 %)', 'what became of the requests')
    text = [f'| {" | ".join(head)} |', '|---' * len(head) + '|']
    for number in range(len(rows(lines, RULES[0]))):
        for rule in RULES:
            one = rows(lines, rule)[number]
            low, high = one['interval95'] or (0.0, 1.0)
            said = ', '.join(f'{key} {count}' for key, count in one['outcomes'].items())
            text.append(f'| {one["kind"]} | {rule} | {one["n"]} | {one["lifted"]} '
                        f'({low:.3f}-{high:.3f}) | {said} |')
    return '\n'.join(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; returns the exit code."""
    parser = argparse.ArgumentParser(prog='python studies/absent_grasps_study.py',
                                     description='Measure what is grasped for absent things.')
    commands = parser.add_subparsers(dest='command', required=True)
    measure = commands.add_parser('run', help='run requests')
    measure.add_argument('--n', type=int, default=300, help='number of requests (default: 300)')
    measure.add_argument('--out', type=Path, required=True, metavar='FILE', help='JSON lines')
    measure.add_argument('--earlier', type=Path, metavar='FILE',
                         help='lines of a run with other weights, whose grasps are not repeated')
    show = commands.add_parser('table', help='print figures of a run')
    show.add_argument('file', type=Path)
    arguments = parser.parse_args(argv)
    try:
        if arguments.command == 'run':
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            run(arguments.n, arguments.out, arguments.earlier)
        print(table(read(arguments.out if arguments.command == 'run' else arguments.file)))
    except (InputError, OSError) as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    return _DONE


if __name__ == '__main__':
    sys.exit(main())
