"""Plans of ``decoupled`` and ours, carried out by the simulated arm, with equally bad eyes.

Use::

    python studies/grounded_plan_arm_study.py run --horizon medium --out FILE.jsonl
    python studies/grounded_plan_arm_study.py summary FILE.jsonl ...

Scenes, words and rates are those of ``grounded_plan_study.py compare``. ``decoupled`` has the
perfect plan in words; each step is looked for in the picture of that moment, with the rate of hits
with which it gets the published ARR, and carried out there; of several things that the words fit
it means any. What goes to one place is spread over it, and goes into a drawer above its front, as
ours does it. Ours is the method ``grounded_plan`` in the episode loop with the backend
``noisy_locator`` at the same rate, which looks nine times at first and where a part of the work is
done, and five times after each other step.
Neither refuses anything for being unsure of it (``accept`` and ``located`` 0). A scene is solved
if the goal holds in the end; both begin with the same table. A file is gone on with where it ends.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from grounded_plan_study import (
    BOX_IOU,
    CONFUSABLE,
    HORIZONS,
    REPEAT,
    WAYS,
    Case,
    cases,
    of_pairs,
)
from sightplan.agent import make_policy, run_episode
from sightplan.agent.grounded_plans import SURFACE
from sightplan.agent.methods.grounded_plan import room_in, spread
from sightplan.domains import load_domain
from sightplan.grounding.backend_grounder import BackendGrounder
from sightplan.model import (
    Action,
    EpisodeSpec,
    Form,
    MaskSource,
    Problem,
    SightplanError,
    Target,
    TargetMasks,
)
from sightplan.model.grounded_plan import UnitKind
from sightplan.model.query import ask_one
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan.queries.locate import Locate
from sightplan_models._hashed_draws import uniform
from sightplan_models.noisy_locator import Backend, Settings
from sightplan_sim.tabletop.grounded_scenes import make_source
from sightplan_sim.tabletop.tidy_problems import object_name
from sightplan_sim.tabletop.world import TabletopWorld, make_world
from study_document import DATA, commit

LOOKS, LOOKS_AGAIN = 9, 5


class Now:
    """Truth for ``noisy_locator``: the picture of this moment."""

    def __init__(self, world: TabletopWorld, case: Case) -> None:
        self._world, self._case = world, case
        self.step = 0

    def masks(self, target: str) -> TargetMasks:
        """True masks of one thing that the words fit, and of all others."""
        things = self._world.things_by_name()
        fitting = [name for name in self._case.fitting[target] if name in things]
        if not fitting:  # it is in the hand, or hidden
            some = next(iter(things.values())).mask
            return TargetMasks(some & False, tuple(one.mask for one in things.values()))
        chosen = fitting[int(uniform(self._case.id, target, str(self.step)) * len(fitting))]
        return TargetMasks(things[chosen].mask, tuple(
            one.mask for name, one in things.items() if name != chosen))


class _Silent:
    def record(self, event: Any) -> None:
        """Keep nothing of the event."""


def decoupled(world: TabletopWorld, spec: EpisodeSpec, case: Case, hit: float) -> None:
    """Carry out the true plan in words."""
    world.reset(spec)
    now = Now(world, case)
    backend = Backend(_settings(hit), now)
    units = [unit for block in case.task.blocks for unit in block.units]
    all_to = Counter(unit.destination for unit in units)
    put: Counter[str] = Counter()
    for unit, (target, destination) in zip(units, case.words, strict=True):
        names = tuple(map(object_name, filter(None, (unit.target, unit.destination))))
        steps = ([('grasp', target, names[:1]), ('place', destination, names)]
                 if unit.kind is UnitKind.PICK_PLACE else [(unit.kind.value, target, names[:1])])
        for name, text, args in steps:
            now.step += 1
            image = world.observe().image
            assert image is not None
            reply = ask_one(backend, Locate(image, Target(text, Form.BOX)))
            region = reply.regions[0] if reply.regions else None
            if name == 'place' and region is not None:
                kind = spec.problem.objects[args[1]]
                region = spread(room_in(region, kind), put[unit.destination],
                                all_to[unit.destination], inside=kind != SURFACE)
                put[unit.destination] += 1
            world.execute(Action(name, args, region))


def ours(world: TabletopWorld, spec: EpisodeSpec, hit: float,
         planner: FastDownwardPlanner) -> str:
    """The method in the episode loop; returns how it ended."""
    policy = make_policy('grounded_plan', {
        'looks': LOOKS, 'looks_again': LOOKS_AGAIN, 'accept': 0.0, 'located': 0.0}, world)
    grounder = BackendGrounder(Backend(_settings(hit), cast(MaskSource, world)))  # it detects only
    ended = run_episode(spec, policy, world, grounder, planner, _Silent(),
                        load_domain('tabletop'))
    return f'{ended.reason}: {ended.message}'


def _settings(hit: float) -> Settings:
    return Settings(hit=hit, confusable=CONFUSABLE, repeat=REPEAT, box_iou=BOX_IOU)


def measure(horizon: str, seeds: Sequence[int], hit: float, out: Path) -> None:
    """Carry out both ways of each scene, one line a way."""
    done = {(line['seed'], line['way']) for line in _lines(out)}
    domain = load_domain('tabletop')
    with (make_world(execution='arm') as world, make_source() as source,
          FastDownwardPlanner() as planner):
        assert isinstance(world, TabletopWorld)
        for seed in seeds:
            if all((seed, way) in done for way in WAYS):
                continue
            case, = cases(horizon, 1, seed)
            problem = source.problem(domain, seed, horizon)
            assert problem is not None, 'an explicit instruction has one goal'
            for way in WAYS:
                if (seed, way) in done:
                    continue
                spec = EpisodeSpec(f'{problem.name}#0', _said(problem, case), 'grounded_plan',
                                   horizon, seed, max_actions=4 * case.task.horizon)
                started, said = time.process_time(), ''
                try:
                    if way == 'decoupled':
                        decoupled(world, spec, case, hit)
                    else:
                        said = ours(world, spec, hit, planner)
                except SightplanError as error:  # the gate has stopped
                    said = f'stopped: {error}'
                state = world.state()
                unmet = [str(literal) for literal in problem.goal
                         if (literal.atom in state) is not literal.positive]
                with out.open('a', encoding='utf-8') as file:
                    file.write(json.dumps({
                        'seed': seed, 'horizon': horizon, 'way': way, 'hit': hit,
                        'commit': commit(),
                        'solved': not unmet, 'unmet': unmet,
                        'said': re.sub(r'/\S*/', '', said),
                        'cpu_seconds': round(time.process_time() - started, 1)}) + '\n')


def _said(problem: Problem, case: Case) -> Problem:
    """The problem with the instruction that both are given."""
    return dataclasses.replace(problem, instruction=case.task.instruction)


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text('utf-8').splitlines()]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n', 1)[0])
    verbs = parser.add_subparsers(dest='verb', required=True)
    one = verbs.add_parser('run')
    one.add_argument('--horizon', choices=HORIZONS, default='medium')
    one.add_argument('--count', type=int, default=200)
    one.add_argument('--seed', type=int, default=50_000, help='first scene (default: 50000)')
    one.add_argument('--hit', type=float, help='rate of hits (default: that of compare.json)')
    one.add_argument('--out', type=Path, required=True, metavar='FILE.jsonl')
    verbs.add_parser('summary').add_argument('files', type=Path, nargs='+')
    given = parser.parse_args(argv)
    if given.verb == 'summary':
        print(of_pairs(given.files))
        return 0
    hit = given.hit
    if hit is None:
        compared = json.loads((DATA / 'grounded_plan' / 'compare.json').read_text('utf-8'))
        hit = next(cell['hit'] for cell in compared['cells'] if cell['horizon'] == given.horizon)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    measure(given.horizon, range(given.seed, given.seed + given.count), hit, given.out)
    return 0


if __name__ == '__main__':
    sys.exit(main())
