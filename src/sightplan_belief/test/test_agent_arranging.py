"""Acting on a belief over an arrangement, with readings that a test decides about."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sightplan.agent.policy import Act, Stop
from sightplan.domains import load_domain
from sightplan.domains.sliding import planner
from sightplan.model import (
    GOAL_NS,
    Action,
    Answer,
    AskPurpose,
    Atom,
    Feedback,
    FeedbackStatus,
    Literal,
    Observation,
    PlanningResult,
    PlanningTask,
    Problem,
    State,
    StopReason,
    Verdict,
)
from sightplan_belief.arrangement import structure_of
from sightplan_belief.constraints import read_constraints
from sightplan_belief.methods._arranging import Arranging, ArrangingSettings
from sightplan_belief.observation_model import ObservationModel

SLIDING = load_domain('sliding')
PROBLEM = next(problem for problem in SLIDING.split_problems('geoms')
               if len(problem.goal) == 3 and problem.optimal_length == 4)
STRUCTURE = structure_of(SLIDING, PROBLEM, read_constraints(SLIDING))
MODEL = SLIDING.model(PROBLEM)
SETTINGS: dict[str, Any] = {
    'looks': 3, 'goal_looks': 4, 'memory': True, 'settle': 0.9, 'accept': 0.9, 'near': 4.0,
    'patience': 0.3, 'search': 'short'}
EXECUTED, REFUSED = Feedback(FeedbackStatus.EXECUTED), Feedback(FeedbackStatus.REJECTED)


class World:
    """A context whose answers a test gives; it notes what it is asked."""

    def __init__(self, reads: Callable[[Observation, Atom, State], Verdict],
                 stop_at_goal: bool = True) -> None:
        self.problem, self.model, self.rng = PROBLEM, MODEL, random.Random(0)
        self.spec = SimpleNamespace(stop_at_goal=stop_at_goal)
        self.prompt, self.domain = '', SimpleNamespace(
            question=SLIDING.question, pddl=SLIDING.pddl, write_problem=self._write_problem)
        self.state, self._reads = PROBLEM.init, reads
        self.asked: list[tuple[str, AskPurpose, Action | None]] = []
        self.plans: list[State] = []
        self.beliefs: list[State] = []

    def observe(self) -> Observation:
        return Observation(np.full((4, 4, 3), 90, np.uint8) + np.uint8(len(self.asked)), 5)

    def goal_observation(self) -> Observation:
        return Observation(np.full((4, 4, 3), 30, np.uint8), GOAL_NS)

    def asking(self, observation: Observation, backend: str = '', reason: Any = None) -> Any:
        def ask(queries: Sequence[Any], deadline: Any) -> list[Answer]:
            atoms = tuple(query.question.atom for query in queries)
            assert atoms == STRUCTURE.atoms, 'the whole picture is read at once'
            self.asked.append((observation.image_id, reason.purpose, reason.action))
            goal = frozenset(literal.atom for literal in PROBLEM.goal)
            seen = goal if observation.shows_goal else self.state
            return [Answer(verdict=self._reads(observation, atom, seen)) for atom in atoms]
        return SimpleNamespace(ask=ask)

    def believe(self, state: State, probabilities: Any = None) -> None:
        self.beliefs.append(state)

    def adopt_goal(self, goal: Sequence[Literal], source: str = '') -> None:
        self.problem = dataclasses.replace(self.problem, goal=tuple(goal))

    def _write_problem(self, problem: Problem, state: State) -> str:
        self.plans.append(state)
        return ''

    def plan(self, task: PlanningTask) -> PlanningResult:
        return planner.plan(dataclasses.replace(
            self.problem, init=self.plans[-1] | PROBLEM.known), task.search)

    def do(self, agent: Arranging, action: Action) -> None:
        """Carry an action out, or refuse it, as the true state says."""
        done = MODEL.applicable(action, self.state)
        if done:
            self.state = MODEL.apply(action, self.state)
        agent.learn(self, action, EXECUTED if done else REFUSED)


def rightly(observation: Observation, atom: Atom, state: State) -> Verdict:
    return Verdict.YES if atom in state else Verdict.NO


def unread(observation: Observation, atom: Atom, state: State) -> Verdict:
    return Verdict.UNPARSED


def arranging(**changed: Any) -> Arranging:
    return Arranging(STRUCTURE, MODEL, ObservationModel.default(),
                     ArrangingSettings(**{**SETTINGS, **changed}))


def act(agent: Arranging, world: World) -> Action:
    decision = agent.decide(world)
    assert isinstance(decision, Act)
    return decision.action


def test_readings_end_when_the_best_arrangement_is_likely_enough() -> None:
    sure, unsure = World(rightly), World(unread)
    arranging(settle=0.5).look(sure, AskPurpose.ENUMERATION)
    arranging().look(unsure, AskPurpose.ENUMERATION)
    assert len(sure.asked) < len(unsure.asked) == 3
    assert len({image for image, _, _ in unsure.asked}) == 3, 'each in another view'
    assert sure.beliefs == [PROBLEM.init - PROBLEM.known]


def test_a_goal_that_is_shown_is_read_in_as_many_views_as_it_may_take() -> None:
    world = World(unread)
    arranging().read_goal(world)
    assert [purpose for _, purpose, _ in world.asked] == [AskPurpose.PICTURED_GOAL] * 4
    assert len({image for image, _, _ in world.asked}) == 4
    world = World(rightly)
    arranging(settle=0.5).read_goal(world)
    assert len(world.asked) < 4


def test_without_readings_things_are_taken_to_be_where_they_shall_be() -> None:
    world = World(unread)
    arranging().look(world, AskPurpose.ENUMERATION)
    goal = {literal.atom for literal in PROBLEM.goal}
    assert goal <= world.beliefs[-1]


@pytest.mark.parametrize('memory', [True, False])
def test_earlier_readings_count_with_memory_only(memory: bool) -> None:
    blind = False

    def reads(observation: Observation, atom: Atom, state: State) -> Verdict:
        return Verdict.UNPARSED if blind else rightly(observation, atom, state)
    world, agent = World(reads), arranging(memory=memory)
    agent.look(world, AskPurpose.ENUMERATION)
    blind = True
    agent.look(world, AskPurpose.ENUMERATION)
    assert (world.beliefs[-1] == world.beliefs[0]) is memory


@pytest.mark.parametrize('pictured', [True, False])
def test_one_plan_serves_an_episode_that_goes_as_planned(pictured: bool) -> None:
    world, agent = World(rightly), arranging()
    if pictured:
        agent.read_goal(world)
    agent.look(world, AskPurpose.ENUMERATION)
    for left in (4, 3, 2, 1):
        action = act(agent, world)
        assert agent.remaining == left
        world.do(agent, action)
        assert world.asked[-1][1:] == (AskPurpose.EFFECT, action)
        assert world.beliefs[-1] == world.state - PROBLEM.known
    assert PROBLEM.goal_met(world.state)
    # To three goals at most, since a picture leaves doubts; never again from a later state.
    assert set(world.plans) == {PROBLEM.init - PROBLEM.known}
    assert len(world.plans) == 1 or pictured


def test_what_was_refused_is_not_tried_again_before_something_moves() -> None:
    """The eyes say that it is possible, and the world refuses all the same."""
    world, agent = World(rightly), arranging()
    agent.look(world, AskPurpose.ENUMERATION)
    refused: list[Action] = []
    for _ in range(5):
        action = act(agent, world)
        assert action not in refused
        refused.append(action)
        agent.learn(world, action, REFUSED)
        assert world.asked[-1][1:] == (AskPurpose.PRECONDITION, action)
        assert agent.remaining == 0
    world.do(agent, next(one for one in MODEL.actions if MODEL.applicable(one, world.state)))
    assert not agent._refused, 'all may be tried again'


def test_an_episode_that_goes_on_is_not_at_its_goal() -> None:
    """The goal is read as the state that it is in: then it is another one."""
    def reads(observation: Observation, atom: Atom, state: State) -> Verdict:
        return rightly(observation, atom, PROBLEM.init)
    world, agent = World(reads), arranging()
    agent.read_goal(world)
    agent.look(world, AskPurpose.ENUMERATION)
    assert agent._goal is not None
    start = agent._state.best(1)[0][0]
    before = dict(agent._goal.best(32))[start]
    act(agent, world)
    assert before > 0.3
    assert dict(agent._goal.best(32)).get(start, 0.0) < before
    after = agent._goal.best(32)
    act(agent, world)
    assert agent._goal.best(32) == after, 'the same look says it once'


@pytest.mark.parametrize('pictured', [True, False])
def test_an_episode_that_does_not_end_itself_is_ended_at_the_goal(pictured: bool) -> None:
    world, agent = World(rightly, stop_at_goal=False), arranging(looks=6, settle=0.999)
    if pictured:
        agent.read_goal(world)
    world.state = frozenset(literal.atom for literal in PROBLEM.goal) | PROBLEM.known
    agent.look(world, AskPurpose.ENUMERATION)
    decision = agent.decide(world)
    assert isinstance(decision, Stop)
    assert decision.reason is StopReason.PLAN_DONE


def test_it_is_not_ended_before() -> None:
    world, agent = World(rightly, stop_at_goal=False), arranging()
    agent.look(world, AskPurpose.ENUMERATION)
    assert isinstance(agent.decide(world), Act)
