"""Test doubles of the ports: an in-memory world, scripted answers, a small planner."""

from __future__ import annotations

import hashlib
import json
import random
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sightplan.agent import FactsFromTruth
from sightplan.domains import Domain, InstantiatedModel, load_domain
from sightplan.model import (
    Action,
    Answer,
    Atom,
    EpisodeEvent,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    GroundingPrompt,
    InputError,
    Observation,
    PlanningResult,
    PlanningStatus,
    PlanningTask,
    Problem,
    Question,
    SeenThings,
    State,
    Verdict,
    WorldError,
)
from sightplan.model.query import (
    Deadline,
    ModelByKind,
    Query,
    Reply,
    Traits,
    answers,
    ask_in_batches,
)
from sightplan.planning.visual import BackendVisualPlanner
from sightplan.queries import DetectInstances, Generate, TextReply, YesNo
from sightplan.sweeps.batch import Batch, Outcome
from sightplan.sweeps.work import Worker


class InsideEngine:
    """Workers of a sweep that work in this process, so that they meet these doubles."""

    died = ()

    def __init__(self, workers: int = 1) -> None:
        self.stopped = False
        self.threads = [ThreadPoolExecutor(1) for _ in range(workers)]
        self.workers = [Worker(lambda: self.stopped) for _ in range(workers)]

    def submit(self, worker: int, batch: Batch) -> Future[Outcome]:
        return self.threads[worker].submit(self.workers[worker].make, batch)

    def replace(self, worker: int, batch: Batch) -> str | None:
        raise AssertionError('a thread does not die')

    def stop(self, now: bool = False) -> None:
        self.stopped = True

    def close(self) -> None:
        for thread, worker in zip(self.threads, self.workers, strict=True):
            thread.submit(worker.close).result()
            thread.shutdown()


class MemoryWorld:
    """A World and TruthSource without pictures, for any domain.

    Its "image" is a small array that depends on episode, state and number of changes, so that a
    change gives a new image, and looking twice gives the same one. A failing action (with the
    spec's probability) does nothing: the image stays the same.

    Args:
        domain: a domain, or the name of one that is shipped.
        visible: names of the objects in view in a state of a problem; None: the world does not
            say.
    """

    renderer = 'none (test double)'

    def __init__(self, domain: str | Domain = 'blocksworld',
                 visible: Callable[[Problem, State], set[str]] | None = None) -> None:
        self.domain: Domain = load_domain(domain) if isinstance(domain, str) else domain
        self.visible = visible
        self.resets = self.observations = self.now_ns = 0
        self.actions: list[Action] = []
        self._states: dict[int, State] = {}

    def reset(self, spec: EpisodeSpec) -> None:
        self.spec = spec
        self.episode_id = spec.id
        self.model = self.domain.model(spec.problem)
        self.rng = random.Random(spec.seed)
        self.now_ns = 1_000
        self.outcome = ''
        self.actions = []
        self.changes = 0
        self._states = {self.now_ns: spec.problem.init}
        self.resets += 1

    def observe(self) -> Observation:
        self.observations += 1
        self.now_ns += 1
        self._states[self.now_ns] = self._states[self.now_ns - 1]
        key = f'{self.spec.seed}/{self.changes}/{sorted(map(str, self.state()))}'
        pixels = np.frombuffer(hashlib.sha256(key.encode()).digest()[:12], np.uint8)
        names = (None if self.visible is None else
                 tuple(sorted(self.visible(self.spec.problem, self.state()))))
        return Observation(pixels.reshape(2, 2, 3).copy(), self.now_ns, 'camera',
                           visible_objects=names)

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
            self.changes += 1
            self._states[self.now_ns] = self.model.apply(action, state)
        return Feedback(FeedbackStatus.EXECUTED, '', self.now_ns)

    def state(self, stamp_ns: int | None = None) -> State:
        stamp = self.now_ns if stamp_ns is None else stamp_ns
        if stamp not in self._states:
            raise WorldError(f'no state at {stamp}')
        return self._states[stamp]

    def last_outcome(self) -> str:
        return self.outcome


class Answering:
    """Base of models that answer all yes/no questions about one observation by ``ground``."""

    accepts = frozenset({YesNo, DetectInstances})
    traits = Traits()
    usage = None
    model = ''

    @property
    def name(self) -> str:
        return self.model

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        return ask_in_batches(queries, lambda batch: self._ask_batch(batch, deadline.timeout_s))

    def _ask_batch(self, batch: list[Any], timeout_s: float | None) -> Sequence[Reply]:
        first = batch[0]
        if isinstance(first, DetectInstances):
            return [self.tell_apart(first.observation, first.looks, timeout_s, first.instruction,
                                    first.tries)]
        return self.ground(first.observation, [query.question for query in batch], timeout_s,
                           first.prompt)

    def tell_apart(self, observation: Observation, looks: int = 1, timeout_s: float | None = None,
                   instruction: str = '', tries: int = 1) -> SeenThings:
        raise InputError('this double cannot find all things in a picture')

    def ground(self, observation: Observation, questions: Sequence[Question],
               timeout_s: float | None = None,
               prompt: GroundingPrompt | None = None) -> list[Answer]:
        raise AssertionError('nothing is asked')


class TruthGrounder(Answering):
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
               timeout_s: float | None = None,
               prompt: GroundingPrompt | None = None) -> list[Answer]:
        state = self._world.state(observation.stamp_ns)
        answers = []
        for question in questions:
            truth = question.atom in state
            verdict = self._change(question.atom, truth, self.calls) if self._change else None
            verdict = verdict or (Verdict.YES if truth else Verdict.NO)
            answers.append(Answer(verdict.value, verdict=verdict))
        self.calls += 1
        self.asked.append(tuple(q.atom for q in questions))
        return answers


class GuessingGrounder(Answering):
    """A model that sees what is in view, and makes something up about the rest.

    About an atom whose objects are all visible the answer is wrong with probability ``error``,
    about any other it is a guess. The same question about the same image gets the same answer.

    Args:
        world: whose truth it sees.
        guess: 'no': always no; 'random': yes or no with equal chance.
        error: chance of a wrong answer about what is in view.
        seed: of guesses and errors.
    """

    def __init__(self, world: MemoryWorld, guess: str = 'no', error: float = 0.0,
                 seed: int = 0) -> None:
        self._world, self._guess, self._error, self._seed = world, guess, error, seed
        self.model = f'guessing {guess}, error {error:g}, seed {seed}'
        self.asked: list[tuple[Atom, ...]] = []

    def ground(self, observation: Observation, questions: Sequence[Question],
               timeout_s: float | None = None,
               prompt: GroundingPrompt | None = None) -> list[Answer]:
        state = self._world.state(observation.stamp_ns)
        seen = observation.visible_objects
        answers = []
        for atom in (question.atom for question in questions):
            rng = random.Random(f'{self._seed}/{self._world.spec.seed}/{observation.image_id}/'
                                f'{atom}')
            if seen is None or set(atom.args) <= set(seen):
                says = (atom in state) is (rng.random() >= self._error)
            else:
                says = self._guess == 'random' and rng.random() < 0.5
            answers.append(Answer('Yes' if says else 'No'))
        self.asked.append(tuple(question.atom for question in questions))
        return answers


class _Space:
    """Where actions lead from the states of one set of objects; worked out once for a state."""

    _LIMIT = 50_000

    def __init__(self, model: InstantiatedModel) -> None:
        self._model = model
        self._steps: dict[State, list[tuple[Action, State]]] = {}
        # The numbers of all actions, each under one atom without which it is not applicable.
        self._waiting: dict[Atom | None, list[int]] = {None: []}
        for number, action in enumerate(model.actions):
            needed = [literal.atom for literal in model.preconditions(action) if literal.positive]
            rarest = min(needed, key=lambda atom: len(self._waiting.get(atom, ())), default=None)
            self._waiting.setdefault(rarest, []).append(number)

    def steps(self, state: State) -> list[tuple[Action, State]]:
        """All applicable actions, in the model's order, and the states after them."""
        found = self._steps.get(state)
        if found is None:
            model = self._model
            waiting = sorted(n for atom in (None, *state) for n in self._waiting.get(atom, ()))
            found = [(action, model.apply(action, state))
                     for action in (model.actions[number] for number in waiting)
                     if model.applicable(action, state)]
            if len(self._steps) >= self._LIMIT:
                self._steps.clear()
            self._steps[state] = found
        return found


class SearchPlanner:
    """Breadth-first search over the domain's own model: shortest plans of small problems.

    What was found once is known to all of them.
    """

    _spaces: ClassVar[dict[tuple[str, str], _Space]] = {}
    _found: ClassVar[dict[tuple[str, str, int], PlanningResult]] = {}

    def __init__(self, domain: str | Domain = 'blocksworld', limit: int = 2_000) -> None:
        self._domain = load_domain(domain) if isinstance(domain, str) else domain
        self._limit = limit
        self.calls = 0

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        self.calls += 1
        key = (self._domain.pddl, task.problem_pddl, self._limit)
        if key not in self._found:
            self._found[key] = self._search(task)
        return self._found[key]

    def _search(self, task: PlanningTask) -> PlanningResult:
        problem = self._domain.parse_problem(task.problem_pddl, 'task')
        objects = (self._domain.pddl, str(sorted(problem.objects.items())))
        if objects not in self._spaces:
            self._spaces[objects] = _Space(self._domain.model(problem))
        space = self._spaces[objects]
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
            for action, after in space.steps(state):
                if after not in parents:
                    parents[after] = (state, action)
                    queue.append(after)
        return PlanningResult(PlanningStatus.UNSOLVABLE, message='searched all')


class TalkingBackend(ModelByKind):
    """A Backend whose replies a function makes; keeps all requests, answers no questions."""

    name = 'talking'
    usage = None

    def __init__(self, say: Callable[[Generate], str | TextReply]) -> None:
        self._say = say
        self.requests: list[Generate] = []

    @answers(Generate)
    def generate(self, request: Generate, deadline: Deadline) -> TextReply:
        self.requests.append(request)
        self.deadline = deadline
        reply = self._say(request)
        return TextReply(reply) if isinstance(reply, str) else reply

    @answers(YesNo, together=True)
    def answer(self, request: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        raise AssertionError('a question was asked')


def seer(world: MemoryWorld) -> Callable[[Generate], str]:
    """Replies of a model that sees perfectly: a shortest plan, in the form that is asked for."""
    planner = SearchPlanner(world.domain, limit=200_000)
    domain = world.domain

    def say(request: Generate) -> str:
        problem = world.spec.problem
        task = PlanningTask(domain.pddl, domain.write_problem(problem, world.state()))
        steps = [{'action': action.name, 'parameters': dict(zip(
            domain.prompts.actions[action.name].parameters, action.args, strict=True))}
            for action in planner.plan(task, 60.).plan]
        reply: dict[str, object] = {'plan': steps}
        if '"plan"' not in request.system:
            reply = steps[0] if steps else {'action': None, 'parameters': {}}
        if '"explanation"' in request.system:
            reply = {'explanation': 'As I see it.', **reply}
        return json.dumps(reply)
    return say


def visual_planner(world: MemoryWorld) -> BackendVisualPlanner:
    """A model that sees perfectly and plans."""
    return BackendVisualPlanner(TalkingBackend(seer(world)), world.domain)


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


PANTRY = Path(__file__).parents[3] / 'tests' / 'contracts' / 'domains' / 'pantry'
"""A domain folder that is not shipped: things in containers that hide what is in them."""


def pantry() -> Domain:
    """The domain of hidden things."""
    return Domain(PANTRY)


def facts_of(world: MemoryWorld, spec: EpisodeSpec) -> FactsFromTruth:
    """The source of what is out of view in an episode of that world."""
    return FactsFromTruth(world, spec, world.domain.worth_asking(spec.problem))


def pantry_view(problem: Problem, state: State) -> set[str]:
    """Table and containers are always in view, a thing unless it is in a closed container."""
    hidden = {atom.args[0] for atom in state if atom.predicate == 'at' and atom.args[1] != 'table'
              and Atom('isopen', atom.args[1:]) not in state}
    return {'table', *problem.objects} - hidden


AUTHORS_HOME = """
(define (problem cleaning_out_drawers_0)
(:domain igibson)
(:objects
bowl_1 - movable
cabinet_1 - container
sink_1 - object
)
(:init
(inside bowl_1 cabinet_1)
(not (open cabinet_1))
)
(:goal (and (ontop bowl_1 sink_1)))
)
"""
"""A problem of household in the vocabulary of ViPlan's authors."""

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
    fields = {'id': f'test/{problem.name}#0', 'problem': problem, 'method': 'ground',
              'split': 'simple', **values}
    return EpisodeSpec(**fields)  # type: ignore[arg-type]


def tried_so_far(request: Generate) -> str:
    """The earlier steps that a planning prompt tells, as it writes them."""
    text = request.parts[0]
    assert isinstance(text, str)
    return text[text.index('# Tried so far\n') + 15:text.index('\n\n# The scene now')]
