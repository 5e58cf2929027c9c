"""Test doubles of the ports: an in-memory world, scripted answers, a small planner."""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from sightplan.domains import Domain, load_domain
from sightplan.model import (
    Action,
    Answer,
    Atom,
    EpisodeEvent,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    Observation,
    PlanningResult,
    PlanningStatus,
    PlanningTask,
    Problem,
    Question,
    State,
    Verdict,
    WorldError,
)


class MemoryWorld:
    """A World and TruthSource without pictures, for any domain.

    Its "image" is a small array that depends on episode, state and number of actions, so that a
    new action gives a new image and looking twice gives the same one. A failing action (with the
    spec's probability) does nothing.
    """

    renderer = 'none (test double)'

    def __init__(self, domain: str = 'blocksworld') -> None:
        self.domain: Domain = load_domain(domain)
        self.resets = self.looks = 0
        self.actions: list[Action] = []
        self._states: dict[int, State] = {}

    def reset(self, spec: EpisodeSpec) -> None:
        self.spec = spec
        self.episode_id = spec.episode_id
        self.model = self.domain.model(spec.problem)
        self.rng = random.Random(spec.seed)
        self.now_ns = 1_000
        self.outcome = ''
        self.actions = []
        self._states = {self.now_ns: spec.problem.init}
        self.resets += 1

    def observe(self) -> Observation:
        self.looks += 1
        self.now_ns += 1
        self._states[self.now_ns] = self._states[self.now_ns - 1]
        key = f'{self.spec.seed}/{len(self.actions)}/{sorted(map(str, self.state()))}'
        pixels = np.frombuffer(hashlib.sha256(key.encode()).digest()[:12], np.uint8)
        return Observation(pixels.reshape(2, 2, 3).copy(), self.now_ns, 'camera')

    def execute(self, action: Action) -> Feedback:
        state = self.state()
        self.now_ns += 1_000
        self._states[self.now_ns] = state
        if not self.model.applicable(action, state):
            self.outcome = 'illegal'
            return Feedback(FeedbackStatus.REJECTED, 'not legal', self.now_ns)
        self.actions.append(action)
        if self.rng.random() < self.spec.failure_probability:
            self.outcome = 'no_op'
        else:
            self.outcome = 'success'
            self._states[self.now_ns] = self.model.apply(action, state)
        return Feedback(FeedbackStatus.EXECUTED, '', self.now_ns)

    def state(self, stamp_ns: int | None = None) -> State:
        stamp = self.now_ns if stamp_ns is None else stamp_ns
        if stamp not in self._states:
            raise WorldError(f'no state at {stamp}')
        return self._states[stamp]

    def last_outcome(self) -> str:
        return self.outcome


class TruthGrounder:
    """Answers from ground truth, with chosen answers replaced.

    ``change`` is called with (atom, true value, number of the call, from 0) and returns the
    verdict to give, or None for the true one.
    """

    model = 'truth'

    def __init__(self, world: MemoryWorld,
                 change: Callable[[Atom, bool, int], Verdict | None] | None = None) -> None:
        self._world, self._change = world, change
        self.calls = 0
        self.asked: list[tuple[Atom, ...]] = []

    def ground(self, observation: Observation, questions: Sequence[Question],
               timeout_s: float | None = None) -> list[Answer]:
        state = self._world.state(observation.stamp_ns)
        answers = []
        for question in questions:
            truth = question.atom in state
            verdict = self._change(question.atom, truth, self.calls) if self._change else None
            verdict = verdict or (Verdict.YES if truth else Verdict.NO)
            answers.append(Answer(question.atom, verdict, text=verdict.value))
        self.calls += 1
        self.asked.append(tuple(q.atom for q in questions))
        return answers


class SearchPlanner:
    """Breadth-first search over the domain's own model: shortest plans of small problems."""

    def __init__(self, domain: str = 'blocksworld', limit: int = 2_000) -> None:
        self._domain, self._limit = load_domain(domain), limit
        self.calls = 0

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        self.calls += 1
        problem = self._domain.parse_problem(task.problem_pddl, 'task')
        model = self._domain.model(problem)
        parents: dict[State, tuple[State, Action] | None] = {problem.init: None}
        queue = deque([problem.init])
        while queue and len(parents) < self._limit:
            state = queue.popleft()
            if problem.goal_met(state):
                plan: list[Action] = []
                while (step := parents[state]) is not None:
                    state = step[0]
                    plan.insert(0, step[1])
                return PlanningResult(PlanningStatus.SOLVED, tuple(plan))
            for action in model.actions:
                if model.applicable(action, state):
                    after = model.apply(action, state)
                    if after not in parents:
                        parents[after] = (state, action)
                        queue.append(after)
        return PlanningResult(PlanningStatus.UNSOLVABLE, message='searched all')


class ScriptedPlanner:
    """Gives prepared results, the last one for ever."""

    def __init__(self, *results: PlanningResult) -> None:
        self._results = list(results)
        self.tasks: list[PlanningTask] = []

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        self.tasks.append(task)
        return self._results.pop(0) if len(self._results) > 1 else self._results[0]


class EventList:
    """A Recorder that keeps all events."""

    def __init__(self) -> None:
        self.events: list[EpisodeEvent] = []

    def record(self, event: EpisodeEvent) -> None:
        self.events.append(event)

    def of(self, kind: type) -> list[EpisodeEvent]:
        """The events of one type, in order."""
        return [event for event in self.events if isinstance(event, kind)]


class BoobyTrap:
    """A TruthSource that must never be touched."""

    def state(self, stamp_ns: int | None = None) -> State:
        raise AssertionError('ground truth was read')

    def last_outcome(self) -> str:
        raise AssertionError('ground truth was read')


TWO_BLOCKS = """
(define (problem two)
  (:domain blocksworld)
  (:objects r g - block c1 c2 c3 - column)
  (:init (on r g) (incolumn r c1) (incolumn g c1) (clear r)
         (leftof c1 c2) (leftof c2 c3) (rightof c2 c1) (rightof c3 c2))
  (:goal (and (on g r) (incolumn r c2) (incolumn g c2) (clear g))))
"""
"""Two moves: moveblock(r, c2), then moveblock(g, c2)."""


def two_blocks() -> Problem:
    """The red block on the green one in column 1; wanted: green on red in column 2."""
    return load_domain('blocksworld').parse_problem(TWO_BLOCKS, 'two')


def spec_of(problem: Problem | None = None, **values: object) -> EpisodeSpec:
    """An episode with defaults."""
    problem = problem or two_blocks()
    fields = {'episode_id': f'test/{problem.name}#0', 'problem': problem, 'method': 'ground',
              'split': 'simple', **values}
    return EpisodeSpec(**fields)  # type: ignore[arg-type]
