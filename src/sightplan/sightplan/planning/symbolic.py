"""Classical planning with Fast Downward, in a process that is killed at the time limit."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sightplan.domains.instantiation import InstantiatedModel
from sightplan.domains.planner_files import planner_files
from sightplan.domains.problem_files import Closure, parse
from sightplan.domains.schema import read_schema
from sightplan.model import (
    Action,
    DeadlineError,
    InputError,
    Plan,
    PlannerError,
    PlanningResult,
    PlanningStatus,
    PlanningTask,
    Problem,
    State,
    check_settings,
    param,
)

SHORT, OPTIMAL = 'short', 'optimal'
"""Names of searches for (nearly) shortest plans, which give way to ``lama-first`` at their limit.

They are asked again and again from other states of one task, whose translation is kept.
"""

SEARCHES = {
    'lama-first': 'lama-first',
    SHORT: 'eager_wastar([ff()], w=2)',
    OPTIMAL: 'let(h, landmark_cost_partitioning(lm_rhw()), astar(h, lazy_evaluator=h))'}
"""Names of search configurations: ViPlan's, one whose plans are close to the shortest, and one
whose plans are the shortest: A* with the admissible heuristic of Karpas and Domshlak (IJCAI 2009)
over the landmarks of Richter, Helmert and Westphal (AAAI 2008), which heeds conditional effects.
"""

_WITH_AXIOMS = {  # blind is the only heuristic that is admissible with derived variables
    SHORT: SEARCHES[SHORT], OPTIMAL: 'astar(blind())'}
_FALLBACK = 'lama-first'
_ALIASES = ('seq-', 'lama')  # how Fast Downward's own names for configurations begin
_TIMERS = (-signal.SIGPROF, -signal.SIGALRM)
_FAST_DOWNWARD = 'fast-downward'
_BAD_SEARCH = 33  # exit code of Fast Downward for a search that it cannot read
_UNREADABLE = 'cannot be used'
_SLOW_TRANSLATION = 21  # exit code of Fast Downward: out of time before the search
_NO_SEARCH = ('the time limit passed while the task was instantiated, before any search, which '
              'says nothing about the plan that was asked for; raise planner_timeout_s, or give '
              'the parameters of actions types')
_START_TIMEOUT_S = 60.0
_TINY_DOMAIN = """\
(define (domain tiny) (:requirements :strips :typing) (:types thing)
  (:predicates (done ?t - thing))
  (:action do :parameters (?t - thing) :precondition () :effect (done ?t)))
"""
_TINY_PROBLEM = """\
(define (problem tiny) (:domain tiny) (:objects t - thing) (:init) (:goal (done t)))
"""


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    """Settings of the symbolic planner."""

    search: str = param(
        'lama-first', 'lama-first (what ViPlan used), short (weighted A* with the FF heuristic: '
        'plans close to the shortest), optimal (A* with a landmark heuristic: shortest plans; '
        'both: beyond gives_way_s lama-first), or a search of Fast Downward such as '
        '"astar(blind())"; a task may ask for another')
    gives_way_s: float = param(
        5.0, 'processor time after which short and optimal give way to lama-first, and half of '
        'what is left of the wall-clock limit at most [s]', low=0.001, high=86400.0)
    engine: str = param(
        _FAST_DOWNWARD, 'fast-downward (called directly), or "unified-planning:NAME" for an '
        'engine of unified-planning (slower; search is not used)')
    cache_size: int = param(4096, 'results kept, by exact task', low=0, high=10**7)
    memory_mib: int = param(4096, 'memory limit of one search [MiB]', low=128, high=10**6)


def check_search(search: str, where: str) -> None:
    """Check that a text can be a search: one of our names, or one of Fast Downward.

    Args:
        search: a name, an alias of Fast Downward, or an expression, which has a bracket.
        where: the field, for the message.

    Raises:
        InputError: the text is neither; the message names the field and the choices.
    """
    if search not in SEARCHES and '(' not in search and not search.startswith(_ALIASES):
        raise InputError(f'{where} = {search!r} is no search; choose {", ".join(SEARCHES)}, or a '
                         'search of Fast Downward such as "astar(blind())"')


class FastDownwardPlanner:
    """A SymbolicPlanner: finds plans with Fast Downward and checks them.

    A worker process waits with everything loaded. Solved and unsolvable tasks are cached by
    their exact texts. A plan is given out only if it is valid under our own model of the task,
    which shares no code with the planner. May be used from several threads; they take turns.

    Args:
        settings: see ``PlannerSettings``.

    Raises:
        InputError: a setting is out of bounds, or names no search.
    """

    def __init__(self, settings: PlannerSettings | None = None) -> None:
        self.settings = settings or PlannerSettings()
        check_settings(self.settings, 'planner')
        check_search(self.settings.search, 'planner: search')
        self._cache: collections.OrderedDict[PlanningTask, PlanningResult]
        self._cache = collections.OrderedDict()
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._closed = False
        if self.settings.search not in SEARCHES and self.settings.engine == _FAST_DOWNWARD:
            self._try_search()

    def _try_search(self) -> None:
        """Let Fast Downward read a search that is not one of our names, to check it early.

        Raises:
            InputError: the search cannot be used.
        """
        try:
            result = self.plan(PlanningTask(_TINY_DOMAIN, _TINY_PROBLEM), _START_TIMEOUT_S)
            if result.status is PlanningStatus.CRASHED and _UNREADABLE in result.message:
                raise InputError(f'planner: {result.message}')
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> FastDownwardPlanner:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def warm_up(self) -> None:
        """Start the worker now, without waiting until it is ready."""
        with self._lock:
            self._get_worker()

    def close(self) -> None:
        """End the worker; a plan that is being searched for ends as CRASHED."""
        self._closed = True
        worker = self._worker
        if worker is not None:
            worker.kill()
            with self._lock:  # whoever is reading from it has noticed then
                worker.dispose()

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        """Search for a plan.

        Args:
            task: the texts of domain and problem.
            timeout_s: wall-clock limit [s], also of waiting for another thread's search; the
                worker's first start does not count.

        Raises:
            DomainError: the domain text cannot be used.
            ProblemError: the problem text cannot be used.
            InputError: the task asks for a search that is none.
            PlannerError: the planner could not be started, or is closed.
        """
        if task.search:
            check_search(task.search, 'search of the planning task')
        schema = read_schema(task.domain_pddl, 'domain of the planning task')
        problem = parse(schema, Closure(), task.problem_pddl, name='planning task', domain='',
                        domain_pddl=task.domain_pddl, source='planning task')
        start = time.monotonic()
        if not self._lock.acquire(timeout=max(timeout_s, 0.0)):
            return PlanningResult(PlanningStatus.CRASHED, seconds=time.monotonic() - start,
                                  message=f'the planner was busy for {timeout_s:g} s')
        try:
            if task in self._cache:
                self._cache.move_to_end(task)
                return dataclasses.replace(self._cache[task], seconds=0.0, cached=True)
            worker = self._get_worker()
            waited = time.monotonic()
            worker.wait_until_ready()
            start += time.monotonic() - waited
            search = task.search or self.settings.search
            if search in _WITH_AXIOMS and self.settings.engine == _FAST_DOWNWARD:
                result = self._search_again(worker, problem, start + timeout_s, search)
            else:
                result = self._search(worker, problem, start + timeout_s, search)
            result = dataclasses.replace(result, seconds=time.monotonic() - start)
            if result.status in (PlanningStatus.SOLVED, PlanningStatus.UNSOLVABLE):
                self._cache[task] = result
                while len(self._cache) > self.settings.cache_size:
                    self._cache.popitem(last=False)
            return result
        finally:
            self._lock.release()

    def _get_worker(self) -> _Worker:
        if self._closed:
            raise PlannerError('the planner is closed (make a new one)')
        if self._worker is not None and not self._worker.alive():
            self._worker.dispose()
            self._worker = None
        if self._worker is None:
            self._worker = _Worker(self.settings)
        return self._worker

    def _search_again(self, worker: _Worker, problem: Problem, deadline: float, search: str,
                      ) -> PlanningResult:
        """Search for a short plan from one of many states; if none is found in time, for any."""
        template = planner_files(problem, problem.init | _changeable(_model_of(problem)))
        result = self._ask(worker, problem, deadline, {
            **dataclasses.asdict(template),
            'state': [f'{atom.predicate}({", ".join(atom.args)})'
                      for atom in problem.init],
            'search': SEARCHES[search], 'search_with_axioms': _WITH_AXIOMS[search],
            'cpu_s': self.settings.gives_way_s,
            'wall_s': max((deadline - time.monotonic()) / 2, 0.001)})
        if (result.status in (PlanningStatus.SOLVED, PlanningStatus.UNSOLVABLE)
                or not worker.alive()):
            return result
        other = self._search(worker, problem, deadline, _FALLBACK)
        if other.status is PlanningStatus.SOLVED:
            other = dataclasses.replace(
                other, message=f'perhaps not the shortest plan: {result.message}')
        return other

    def _search(self, worker: _Worker, problem: Problem, deadline: float, search: str,
                ) -> PlanningResult:
        return self._ask(worker, problem, deadline, {
            **dataclasses.asdict(planner_files(problem)),
            'search': SEARCHES.get(search, search)})

    def _ask(self, worker: _Worker, problem: Problem, deadline: float, request: dict[str, Any],
             ) -> PlanningResult:
        try:
            reply = worker.ask({**request, 'memory_bytes': self.settings.memory_mib << 20},
                               deadline)
        except DeadlineError:
            worker.kill()
            with contextlib.suppress(PlannerError):
                self._get_worker()  # a new one loads while the caller goes on
            if not worker.searching:
                return PlanningResult(PlanningStatus.CRASHED, message=_NO_SEARCH)
            return PlanningResult(PlanningStatus.TIMEOUT, message='killed at the time limit')
        except PlannerError as error:
            worker.kill()
            return PlanningResult(PlanningStatus.CRASHED, message=str(error))
        result = _judge(reply, problem)
        if reply['code'] == _BAD_SEARCH and self.settings.engine == _FAST_DOWNWARD:
            return dataclasses.replace(result, message=(
                f'search = {request["search"]!r} {_UNREADABLE}; choose {", ".join(SEARCHES)}, or '
                f'correct it: {result.message}'))
        return result


def _model_of(problem: Problem) -> InstantiatedModel:
    return _model(problem.domain_pddl, tuple(problem.objects.items()))


@functools.lru_cache(maxsize=64)
def _model(domain_pddl: str, objects: tuple[tuple[str, str], ...]) -> InstantiatedModel:
    """The transition model of all tasks with these objects."""
    return InstantiatedModel(Problem('task', '', dict(objects), frozenset(), (), domain_pddl))


@functools.lru_cache(maxsize=64)
def _changeable(model: InstantiatedModel) -> State:
    """Return the atoms that some action can make true."""
    return model.added_atoms()


def _judge(reply: dict[str, Any], problem: Problem) -> PlanningResult:
    """Convert a reply of the worker to a result, by Fast Downward's documented exit codes."""
    code, log = reply['code'], reply['log'].strip()
    last_lines = '\n'.join(log.splitlines()[-8:])
    if code in (10, 11):
        return PlanningResult(PlanningStatus.UNSOLVABLE, message='proven to have no plan')
    if code == 12:
        return PlanningResult(PlanningStatus.UNSOLVABLE,
                              message='the search space was exhausted without a plan')
    def crashed(message: str) -> PlanningResult:
        return PlanningResult(PlanningStatus.CRASHED, message=message)

    if code == _SLOW_TRANSLATION or (code in _TIMERS and not reply['searched']):
        return crashed(_NO_SEARCH)
    if code in (23, *_TIMERS):
        return PlanningResult(PlanningStatus.TIMEOUT, message=last_lines)
    if code in (20, 22, 24):
        return crashed(f'out of memory\n{last_lines}')
    if code != 0:
        return crashed(f'the planner ended with code {code}\n{last_lines}')
    lines = [line.strip().lower() for line in reply['plan'].splitlines()]
    if not any(lines):  # an empty plan is a file with a comment
        return crashed(f'the planner claims success without a plan\n{last_lines}')
    try:
        plan: Plan = tuple(Action(name, tuple(args)) for name, *args in (
            line.strip('()').split() for line in lines if line.startswith('(')))
    except ValueError as error:
        return crashed(f'unreadable plan: {error}')
    flaw = _model_of(problem).first_flaw(plan, problem.init, problem.goal)
    if flaw is not None:
        return crashed(f'the plan that was found is not valid: {flaw}')
    return PlanningResult(PlanningStatus.SOLVED, plan)


class _Worker:
    """Handle of a worker process, see ``_worker.py``; used by one thread at a time."""

    def __init__(self, settings: PlannerSettings) -> None:
        command = [sys.executable, '-P', str(Path(__file__).with_name('_worker.py')),
                   settings.engine]
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (see dispose)
        # One hash seed for all workers: the same task must give the same plan in every run.
        environment = {**os.environ, 'PYTHONHASHSEED': '0'}
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                start_new_session=True, env=environment, bufsize=0)
        except OSError as error:
            raise PlannerError(f'the planner could not be started: {error}') from error
        self._owner = os.getpid()
        self.searching = False
        """Whether the task that was asked about last is instantiated, and its search has begun."""
        self._ready = False
        self._buffer = b''
        self._finalizer = weakref.finalize(self, _kill_group, self._process, self._owner)

    def alive(self) -> bool:
        """Whether it can be asked, from this process."""
        return self._owner == os.getpid() and self._process.poll() is None

    def kill(self) -> None:
        """Kill the worker and its children; may be called while another thread reads from it."""
        self._finalizer()

    def dispose(self) -> None:
        """Kill the worker and close the pipes."""
        self.kill()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def wait_until_ready(self) -> None:
        """Wait until everything is loaded.

        Raises:
            PlannerError: the worker cannot be started.
        """
        if self._ready:
            return
        try:
            reply = self._read(time.monotonic() + _START_TIMEOUT_S)
        except (DeadlineError, PlannerError) as error:
            self.kill()
            self._errors.seek(0)
            words = self._errors.read().decode(errors='replace').strip().splitlines()
            raise PlannerError('the planner could not be started: '
                               f'{words[-1] if words else error}') from error
        if not reply.get('ready'):
            self.kill()
            raise PlannerError(f'the planner could not be started: {reply.get("error")}')
        self._ready = True

    def ask(self, request: dict[str, Any], deadline: float) -> dict[str, Any]:
        """Send a request and wait for its reply.

        Raises:
            DeadlineError: no reply came by ``deadline`` (of ``time.monotonic``).
            PlannerError: the worker died.
        """
        assert self._process.stdin is not None
        self.searching = False
        try:
            self._process.stdin.write(json.dumps(request).encode() + b'\n')
        except OSError as error:
            raise PlannerError(f'the worker died: {error}') from error
        reply = self._read(deadline)
        if 'code' not in reply:  # the search begins
            self.searching = True
            reply = self._read(deadline)
        return reply

    def _read(self, deadline: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        while b'\n' not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(1000 * left):
                raise DeadlineError('no reply from the planner in time')
            data = os.read(fd, 1 << 16)
            if not data:
                raise PlannerError('the worker died')
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b'\n')
        reply: dict[str, Any] = json.loads(line)
        return reply


def _kill_group(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:  # a fork of the owner: the worker is not ours
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
