"""Measure how often the arm opens and closes drawers, and carries out right plans to tidy.

Use::

    python studies/tabletop_arm_study.py drawers --count 200 --out OUT.jsonl
    python studies/tabletop_arm_study.py scenes --horizon short --count 100 --out OUT.jsonl
    python studies/tabletop_arm_study.py summary FILE.jsonl ...

The arm is the simulated one of ``TabletopTaskWorld``, a Panda unless ``--robot`` says otherwise:
physics alone moves things, camera and depth have errors (2 mm, 0.2 degrees, 2 mm of noise). Boxes
and points come from the truth about what is seen in the current picture; nothing else does.
Drawers: a cabinet of a drawn size, place and turn, one of its drawers drawn out by a random part;
the skill gets the box of the drawer. An opening is right if the drawer is out by at least ``OPEN``
afterwards, a closing if by at most ``CLOSED``. Scenes: the plan of the task is carried out step by
step, what may come in any order from back to front, for what stands in front hides what is behind;
a scene is right if every thing is where the plan puts it and every drawer is as the plan
leaves it. A file is gone on with where it ends.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sightplan.metrics import wilson
from sightplan.model.grounded_plan import UnitKind
from sightplan_arm.hardware import ArmStoppedError
from sightplan_arm.skills.report import SkillReport
from sightplan_sim.tabletop.arm_world import Settings, TabletopTaskWorld
from sightplan_sim.tabletop.cabinet import DRAWERS
from sightplan_sim.tabletop.catalogue import colours_of, make_thing
from sightplan_sim.tabletop.draw import Draw
from sightplan_sim.tabletop.grounded_scenes import make_source
from sightplan_sim.tabletop.meanings import NamedBlock, NamedUnit
from sightplan_sim.tabletop.shapes import Placed, Pose
from sightplan_sim.tabletop.table import Table, sample_table
from sightplan_sim.tabletop.tidying import Tidying
from sightplan_sim.tabletop.true_places import (
    drawer_box,
    drawer_of,
    holder_of,
    spot,
    thing_box,
)
from study_document import commit

ERRORS = Settings(calibration_error_mm=2.0, calibration_error_deg=0.2, depth_noise_mm=2.0)
OPEN, CLOSED = 0.7, 0.08
"""Fractions of a drawer's way."""

Line = dict[str, Any]


def drawer_table(seed: int) -> tuple[Table, str, bool]:
    """A table with a cabinet, the drawer to move, and whether it shall be opened."""
    rng = np.random.default_rng([seed, 20])
    draw = Draw(rng, True)
    thing = make_thing(draw, 'cabinet', draw.pick(colours_of('cabinet', True)))
    pose = Pose((rng.uniform(-0.22, 0.22), rng.uniform(0.10, 0.18), 0.0), rng.uniform(-0.5, 0.5))
    drawer, opens = DRAWERS[int(rng.integers(2))], bool(rng.integers(2))
    upper = next(part.slide.upper for part in thing.parts if part.slide)
    out = (rng.uniform(0.0, 0.3) * int(rng.integers(2)) if opens else rng.uniform(0.3, 1.0))
    placed = Placed('cabinet 1', thing, pose, opened=((drawer, float(out * upper)),))
    return Table(seed, True, (placed,), sample_table(seed, True).look), drawer, opens


def try_drawer(world: TabletopTaskWorld, seed: int) -> Line:
    """Open or close one drawer."""
    table, drawer, opens = drawer_table(seed)
    world.reset(table)
    before = world.truth().opened['cabinet 1', drawer]
    act = world.skills.open_at if opens else world.skills.close_at
    started, cpu = world.arm.now_s(), time.process_time()
    report = _done(world, lambda: act(drawer_of(
        table, world.frame(), 'cabinet 1', drawer), drawer))
    after = world.truth().opened['cabinet 1', drawer]
    x, y, _ = table.things[0].pose.position
    return {'seed': seed, 'commit': commit(), 'action': 'open' if opens else 'close',
            'drawer': drawer, 'x': round(x, 3), 'y': round(y, 3),
            'yaw': round(table.things[0].pose.yaw, 3),
            'before': round(before, 3), 'after': round(after, 3), 'cause': report.cause,
            'message': report.message, 'right': after >= OPEN if opens else after <= CLOSED,
            'seconds': round(world.arm.now_s() - started, 1),
            'cpu_seconds': round(time.process_time() - cpu, 1)}


def try_scene(world: TabletopTaskWorld, found: Tidying, seed: int, horizon: str) -> Line:
    """Carry out the right plan of a scene."""
    world.reset(found.arrangement.table)
    steps, started, cpu = [], world.arm.now_s(), time.process_time()
    units = [unit for block in found.tasks[0].blocks for unit in _from_the_back(found, block)]
    for unit in units:
        for name, report in _carry_out(world, found, unit):
            steps.append([name, unit.target, unit.destination, report.cause, report.message])
        if steps[-1][3] == 'stopped':
            break
    wrong = _wrong(world, found, units)
    failed = [step for step in steps if step[3] != 'done']
    return {'seed': seed, 'commit': commit(), 'horizon': horizon,
            'primitives': found.tasks[0].horizon, 'right': not wrong, 'wrong': wrong,
            'failed': failed,
            'cause': '' if not wrong else failed[0][0] + ': ' + failed[0][3] if failed
            else 'not noticed', 'seconds': round(world.arm.now_s() - started, 1),
            'cpu_seconds': round(time.process_time() - cpu, 1)}


def _from_the_back(found: Tidying, block: NamedBlock) -> list[NamedUnit]:
    """Units in an order that their block allows."""
    if not block.unordered:
        return list(block.units)
    return sorted(block.units, key=lambda unit: -found.spot_pose(unit.target).position[1])


def _carry_out(world: TabletopTaskWorld, found: Tidying,
               unit: NamedUnit) -> Iterator[tuple[str, SkillReport]]:
    places, skills = found.arrangement.destinations, world.skills
    if unit.kind is UnitKind.PICK_PLACE:
        report = _done(world, lambda: skills.grasp_at(
            thing_box(
                found.arrangement.table, world.frame(), unit.target), unit.target))
        yield 'grasp', report
        if skills.carried is None:
            return
        yield 'place', _done(world, lambda: skills.place_at(spot(
            found, world.frame(), world.nominal_view, unit.target, unit.destination),
            unit.destination))
        if skills.carried is not None:
            yield 'put back', _done(world, skills.put_back)
        return
    act = skills.open_at if unit.kind is UnitKind.OPEN else skills.close_at
    yield str(unit.kind), _done(world, lambda: act(
        drawer_box(found, world.frame(), places[unit.target]), unit.target))


def _done(world: TabletopTaskWorld, act: Any) -> SkillReport:
    """The report of an action, also where the gate broke it off."""
    try:
        act()
    except (ArmStoppedError, LookupError) as error:
        if isinstance(error, LookupError):
            raise
    return world.skills.reports[-1]


def _wrong(world: TabletopTaskWorld, found: Tidying, units: list[NamedUnit]) -> list[str]:
    """Differences from the state in which the plan leaves things and drawers."""
    truth, places, wrong = world.truth(), found.arrangement.destinations, []
    drawers: dict[str, UnitKind] = {}
    for unit in units:
        if unit.kind is not UnitKind.PICK_PLACE:
            drawers[unit.target] = unit.kind
            continue
        place, holder = places[unit.destination], truth.holders[unit.target]
        if (holder.name, holder.part) != (holder_of(found, place), place.part):
            wrong.append(f'{unit.target} is {holder.relation} {holder.name} {holder.part}'.strip())
    for name, kind in drawers.items():
        out = truth.opened[holder_of(found, places[name]), places[name].part]
        if (out < OPEN) if kind is UnitKind.OPEN else (out > CLOSED):
            wrong.append(f'{name} is out by {out:.2f}')
    return wrong


def _append(path: Path, line: Line) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('a', encoding='utf-8') as file:
        file.write(json.dumps(line) + '\n')


def _seeds_done(path: Path) -> set[int]:
    if not path.exists():
        return set()
    return {json.loads(line)['seed'] for line in path.read_text('utf-8').splitlines()}


def _report(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text('utf-8').splitlines()]
    groups = Counter(line.get('action') or line['horizon'] for line in lines)
    for group, count in sorted(groups.items()):
        own = [line for line in lines if (line.get('action') or line['horizon']) == group]
        right = sum(line['right'] for line in own)
        low, high = wilson(right, count)
        causes = Counter(line['cause'] for line in own if not line['right'])
        speed = sum(line['seconds'] for line in own) / sum(line['cpu_seconds'] for line in own)
        print(f'{group}: {right}/{count} = {right / count:.3f} [{low:.3f}, {high:.3f}], '
              f'{speed:.1f} times real time on one core; failed: {dict(causes)}')


def main(arguments: list[str]) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    verbs = parser.add_subparsers(dest='verb', required=True)
    for verb in ('drawers', 'scenes'):
        one = verbs.add_parser(verb)
        one.add_argument('--count', type=int, default=200)
        one.add_argument('--start', type=int, default=0, help='first seed')
        one.add_argument('--out', type=Path, required=True)
        one.add_argument('--robot', default=ERRORS.robot, help='of config/robots')
        if verb == 'scenes':
            one.add_argument('--horizon', choices=('short', 'medium', 'long'), default='short')
    verbs.add_parser('summary').add_argument('files', type=Path, nargs='+')
    given = parser.parse_args(arguments)
    if given.verb == 'summary':
        for path in given.files:
            _report(path)
        return 0
    seeds = [seed for seed in range(given.start, given.start + given.count)
             if seed not in _seeds_done(given.out)]
    with TabletopTaskWorld(replace(ERRORS, robot=given.robot)) as world:
        if given.verb == 'drawers':
            for seed in seeds:
                _append(given.out, try_drawer(world, seed))
            return 0
        with make_source() as source:
            for seed in seeds:
                _append(given.out, try_scene(world, source.tidying(seed, given.horizon), seed,
                                             given.horizon))
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
