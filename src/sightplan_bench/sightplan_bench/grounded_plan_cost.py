"""Cost of plans that point at the picture: scoring, scenes, detection, arm, planner."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from sightplan.agent.grounded_plans import grounded_steps
from sightplan.domains import load_domain
from sightplan.grounding.instructions import instances_of, read_instruction, resolve
from sightplan.model import EpisodeSpec, PlanningTask, SightplanError
from sightplan.model.grounded_plan import GroundedStep, PlanBlock, PlanUnit, Primitive, UnitKind
from sightplan.model.query import ask_one
from sightplan.model.region import Form, Region
from sightplan.model.scene import Piece
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan.queries.detect import Detect
from sightplan.vlm.api import make_backend
from sightplan_sim.tabletop.grounded_scenes import make_source, pieces
from sightplan_sim.tabletop.render import Painter
from sightplan_sim.tabletop.tidying import Tidying
from sightplan_sim.tabletop.visible import Visible
from sightplan_sim.tabletop.world import TabletopWorld, make_world
from sightplan_suites.grounded_plan.scoring import score_plan

_PLANS, _THINGS, _ACTIONS = 1000, 11, 4
_HORIZONS = ('short', 'medium', 'long')


def measure(repeats: int, seed: int) -> dict[str, float]:
    """Costs on one core.

    Args:
        repeats: scenes of each horizon.
        seed: of scenes and plans.

    Returns:
        ``plans_score_s`` (1,000 plans of 13 units with look-alikes), ``tidy_scene_s`` (a scene
        with instructions, plans and its picture), ``tidy_picture_ms`` (its picture with masks),
        ``tidy_detect_ms`` (all things of a picture told apart by ``embedded``), and
        ``tidy_plan_ms`` (an instruction read, resolved and planned for).
    """
    cases = _cases(random.Random(seed))
    started = time.perf_counter()
    for blocks, steps in cases:
        score_plan(blocks, steps)
    found = {'plans_score_s': round(time.perf_counter() - started, 3)}
    return {**found, **_scenes(repeats, seed)}


def arm(repeats: int, seed: int) -> dict[str, float]:
    """Speed of the simulated arm on one core.

    Args:
        repeats: tables of each horizon on which the first actions of a right plan are carried out.
        seed: of the first.

    Returns:
        ``tidy_arm_real_time_HORIZON``: simulated seconds per second of this process' time, with
        the planning of motions, the gate, physics and pictures; at the worst table, too.
    """
    domain, found = load_domain('tabletop'), dict[str, float]()
    with (make_world(execution='arm', true_places=True) as world, make_source() as source,
          FastDownwardPlanner() as planner):
        assert isinstance(world, TabletopWorld)
        for horizon in _HORIZONS:
            rates = []
            for number in range(repeats):
                problem = source.problem(domain, seed + number, horizon)
                assert problem is not None, 'an explicit instruction has one goal'
                world.reset(EpisodeSpec(f'{problem.name}#0', problem, 'oracle', horizon, seed))
                plan = planner.plan(PlanningTask(
                    domain.pddl, domain.write_problem(problem, problem.init)), 60.0).plan or ()
                began, started = world.arm.now_s(), time.process_time()
                for action in plan[:_ACTIONS]:
                    world.execute(action)
                rates.append((world.arm.now_s() - began) / (time.process_time() - started))
            found[f'tidy_arm_real_time_{horizon}'] = round(statistics.median(rates), 2)
            found[f'tidy_arm_real_time_{horizon}_least'] = round(min(rates), 2)
    return found


def _cases(rng: random.Random) -> list[tuple[tuple[PlanBlock, ...], list[GroundedStep]]]:
    """Plans with look-alikes in unordered blocks, and predictions that are nearly right."""
    def region(left: float) -> Region:
        return Region(Form.BOX, ((left, 0.2), (left + 0.05, 0.3)))

    drawer = Region(Form.BOX, ((0.7, 0.7), (0.9, 0.9)))
    cases: list[tuple[tuple[PlanBlock, ...], list[GroundedStep]]] = []
    boxes = [region(one / 16) for one in range(_THINGS)]
    point = Region(Form.POINT, (drawer.centre,))
    blocks = (PlanBlock((PlanUnit(UnitKind.OPEN, 'drawer', drawer),)),
              PlanBlock(tuple(PlanUnit(UnitKind.PICK_PLACE, f'cup {k}', one, 'drawer', drawer)
                              for k, one in enumerate(boxes)), unordered=True),
              PlanBlock((PlanUnit(UnitKind.CLOSE, 'drawer', drawer),)))
    for _ in range(_PLANS):
        said = rng.sample(boxes, len(boxes))
        said[0] = rng.choice(boxes)
        steps = [GroundedStep(Primitive.OPEN.value, 'drawer', drawer)]
        for one in said:
            steps += [GroundedStep(Primitive.GRASP.value, 'cup', one),
                      GroundedStep(Primitive.PLACE.value, 'drawer', point)]
        cases.append((blocks, [*steps, GroundedStep(Primitive.CLOSE.value, 'drawer', drawer)]))
    return cases


def _scenes(repeats: int, seed: int) -> dict[str, float]:
    built, drawn, told, planned = [], [], [], []
    eyes = make_backend('embedded', {})
    domain = load_domain('tabletop')
    with make_source() as source, Painter() as painter, FastDownwardPlanner() as planner:
        for number in range(repeats + 1):  # the first warms up
            for horizon in _HORIZONS:
                scene, seconds = _timed(partial(source.scene, seed + number, horizon))
                built.append(seconds)
                tidy = source.tidying(seed + number, horizon)
                drawn.append(_timed(partial(_with_masks, painter, tidy))[1])
                reply, seconds = _timed(partial(ask_one, eyes, Detect(scene.image)))
                told.append(seconds)
                seen = instances_of([reply])
                for task in scene.tasks:
                    started = time.perf_counter()
                    try:
                        grounded_steps(resolve(read_instruction(task.instruction), seen), seen,
                                       domain, lambda one: planner.plan(one, 60.0))
                    except SightplanError:
                        continue  # it was not told apart rightly; how often is the suite's matter
                    planned.append(time.perf_counter() - started)
    first = len(_HORIZONS)
    return {'tidy_scene_s': round(statistics.median(built[first:]), 3),
            'tidy_picture_ms': round(1e3 * statistics.median(drawn[first:]), 1),
            'tidy_detect_ms': round(1e3 * statistics.median(told[first:]), 1),
            'tidy_plan_ms': round(1e3 * statistics.median(planned), 1)}


def _with_masks(painter: Painter, tidy: Tidying) -> list[Piece]:
    table = tidy.arrangement.table
    return list(pieces(tidy, Visible(table, painter.draw(table))))


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    found = call()
    return found, time.perf_counter() - started
