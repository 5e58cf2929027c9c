"""Goals that say of some pieces only where they shall be."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from doubles import Answering, EventList, spec_of
from sightplan.agent import make_policy, run_episode
from sightplan.domains import load_domain
from sightplan.model import Answer, Atom, Planned, Stepped, StopReason
from sightplan.planning.own import OwnPlanner
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan_belief import ObservationModel
from sightplan_belief.arrangement import ArrangementBelief, structure_of, wanted_places
from sightplan_belief.constraints import read_constraints

sim = pytest.importorskip('sightplan_sim.sliding.world')

SLIDING = load_domain('sliding')
WHOLE = next(problem for problem in SLIDING.split_problems('geoms')
             if len(problem.goal) == 3 and problem.optimal_length == 3)
PARTIAL = dataclasses.replace(WHOLE, goal=WHOLE.goal[:2], optimal_length=None, plans={})


class Reader(Answering):
    """Reads the true board, but for pieces that it takes to be elsewhere."""

    model = 'reader'

    def __init__(self, world, **wrong):
        self._world, self._wrong = world, wrong

    def ground(self, observation, questions, timeout_s=None, prompt=None):
        state = {atom for atom in self._world.state(observation.stamp_ns)
                 if atom.args[0] not in self._wrong}
        state |= {Atom('at', pair) for pair in self._wrong.items()}
        return [Answer('yes' if question.atom in state else 'no')
                for question in questions]


@pytest.fixture(scope='module')
def planner():
    made = OwnPlanner(FastDownwardPlanner, SLIDING)
    yield made
    made.close()


def play(problem, planner, stop_at_goal, **wrong):
    world, events = sim.make_world(pictures='none'), EventList()
    spec = spec_of(problem, method='belief', split='geoms', max_actions=8,
                   stop_at_goal=stop_at_goal)
    ended = run_episode(
        spec, make_policy('belief', {}), world, Reader(world, **wrong), planner, events, SLIDING,
        goal_reached=lambda: problem.goal_met(world.state()))
    return ended, events, problem.goal_met(world.state())


def test_belief_reaches_it_and_knows(planner):
    ended, _, solved = play(PARTIAL, planner, stop_at_goal=False)
    assert ended.reason is StopReason.PLAN_DONE and solved
    assert ended.steps <= WHOLE.optimal_length


def test_where_it_is_believed_to_hold_and_the_episode_goes_on_another_state_is_planned_from(
        planner):
    """The likeliest states differ in what the goal leaves out: none of them is the true one."""
    wrong = {literal.atom.args[0]: literal.atom.args[1] for literal in PARTIAL.goal}
    _, events, _ = play(PARTIAL, planner, stop_at_goal=True, **wrong)
    first = next(n for n, event in enumerate(events.events) if isinstance(event, Stepped))
    plans = [event.result.plan for event in events.events[:first] if isinstance(event, Planned)]
    assert [plan[0] for plan in plans if plan] == [events.events[first].action]


def test_what_is_never_seen_is_taken_to_be_where_the_goal_has_it():
    structure = structure_of(SLIDING, PARTIAL, read_constraints(SLIDING))
    wanted = wanted_places(structure, (literal.atom for literal in PARTIAL.goal))
    assert [None if place is None else structure.places[place] for place in wanted] == [
        {**dict(literal.atom.args for literal in PARTIAL.goal)}.get(thing)
        for thing in structure.things]
    assert wanted.count(None) == 1
    belief = ArrangementBelief(structure, ObservationModel.default())
    before = belief.table.copy()
    belief.prefer(wanted, 0.05)
    best = belief.best(1)[0][0]
    assert all(place in (None, found) for place, found in zip(wanted, best, strict=True))
    row = wanted.index(None)
    assert np.array_equal(belief.table[row], before[row])
    twice = [Atom('at', (structure.things[0], place)) for place in structure.places[:2]]
    assert wanted_places(structure, twice) == (None,) * len(structure.things)
