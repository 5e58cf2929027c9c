"""Trials of ``sightplan bench safety`` on one graph: kills and stops."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from sightplan.commands.frame import Stop as Stopped
from sightplan.console.progress import Pace
from sightplan.graphs.up import clean_shared_memory
from sightplan.model import DeadlineError, SightplanError
from sightplan_bench.output import say
from sightplan_bench.safety_graph import (
    AGENT,
    ARM_BRIDGE,
    HARDWARE,
    START_S,
    Processes,
    camera_pid,
)
from sightplan_bench.safety_results import HANG, LIMIT_MS, Kill, Results, Stop

if TYPE_CHECKING:
    from sightplan.model import Action
    from sightplan_bench.safety_node import Bench

MOVING_RAD_S = 0.05
"""Speed of the fastest joint above which the arm is in motion [rad/s]."""

STILL_RAD_S = 0.02
"""Speed of the fastest joint below which the arm stands [rad/s]."""

_WITH_AGENT = (AGENT, ARM_BRIDGE)
_SKILL_S = 60.0
_AFTER_S = 1.0
_GAP_S = 0.1
_RETRY_S = 0.6
_LONGEST_WAIT_S = 5.0
_STOPS_AT_REST = 0.15
_STOPS_PARKING = 0.75
_PARKING_S = 1.0
_BARRAGE_S = (0.3, 1.2)
_CLEAN_EVERY = 20
_EXECUTED = 1  # as in Step.msg
_UNANSWERED = 3  # calls one after the other: that node will not answer any more


def standstill(samples: Sequence[Any], since_s: float, until_s: float,
               settle_s: float = _RETRY_S, gap_s: float = _GAP_S) -> tuple[float, bool, float]:
    """Time at which joints came to rest, and whether they stayed there.

    Args:
        samples: with ``at_s``, ``speed`` and ``positions``, in order of time.
        since_s: when the reason to stop came.
        until_s: to be looked at.
        settle_s: motion within this time belongs to the stop, later one is a new motion.
        gap_s: longest time without samples.

    Returns:
        milliseconds from ``since_s`` to the first sample after which all were still, or to
        ``until_s`` if there is none; whether there was motion after ``settle_s``; and the way of
        the joint that went farthest [rad].

    Raises:
        NotMadeError: samples are missing.
    """
    seen = [s for s in samples if since_s <= s.at_s <= until_s]
    times = [since_s, *(s.at_s for s in seen), until_s]
    if max(b - a for a, b in itertools.pairwise(times)) > gap_s:
        raise NotMadeError(f'no joint states came for more than {gap_s:g} s: nothing is known')
    moving = [k for k, s in enumerate(seen) if s.speed >= STILL_RAD_S]
    first = [k for k in moving if seen[k].at_s - since_s <= settle_s]
    ends = [*(s.at_s for s in seen[1:]), until_s]
    still_ms = 1e3 * (ends[first[-1]] - since_s) if first else 0.0
    ways = zip(*(s.positions for s in seen), strict=True)
    return still_ms, len(moving) > len(first), max((max(way) - min(way) for way in ways),
                                                   default=0.0)


class BrokenGraphError(Exception):
    """Raised if the graph does not do what the trials need."""


class NotMadeError(Exception):
    """A trial could not be made as it should."""


class Trials:
    """The three parts, over one graph.

    Args:
        bench: client and watcher.
        processes: the graph's.
        seed: of all that is random.
        results: what there is already; what is measured is added.
        note: is told each line of the trials, and adds it to the results.
        stop: says whether somebody wants no more of it.
        agent: command of the real agent.
        patience: factor of all times.
    """

    def __init__(self, bench: Bench, processes: Processes, seed: str, results: Results,
                 note: Callable[[str, Any], None], stop: Stopped, agent: Sequence[str],
                 patience: float) -> None:
        from sightplan.domains import load_domain
        self._bench, self._processes, self._note, self._stopped = bench, processes, note, stop
        self._agent, self._patience, self._results = agent, patience, results
        self._settle_s = _RETRY_S * patience
        self._rng = random.Random(seed)
        self._domain = load_domain('blocksworld')
        self._problems = [problem for split in ('simple', 'medium', 'hard')
                          for problem in self._domain.split_problems(split)]
        self._model: Any = None
        self._request: Any = None
        self._ready = False  # an episode is under way, and nothing broke it off
        self._running: Future[Any] | None = None  # an action of it
        self._episodes = 0

    def kills(self, kind: str, count: int) -> None:
        """Kill a kind of process until there are enough kills."""
        if self._results.count(kind) >= count:
            return
        if kind in _WITH_AGENT and self._processes.commands[AGENT] != self._agent:
            self._processes.commands[AGENT] = self._agent  # the real one instead of its stand-in
            self._restart(AGENT, lambda: self._bench.beat_age_s(AGENT))
        self._repeat(f'{kind} killed', count, lambda: self._results.count(kind),
                     lambda: ('kill', dataclasses.asdict(self._kill(kind))))

    def stops(self, count: int) -> None:
        """Stop the arm until there are enough stops.

        While it works, while it parks in a reset, and at rest.
        """
        if len(self._results.stops) >= count:
            return
        self._repeat('stopped', count, lambda: len(self._results.stops),
                     lambda: ('stop', dataclasses.asdict(self._stop())))
        with contextlib.suppress(NotMadeError):
            self._await_motion(self._go(), 0.0)  # the last one ends, too

    def moves(self, count: int) -> None:
        """Move blocks until there are enough moves."""
        if self._results.moves.total() >= count:
            return
        bench, since_s = self._bench, time.monotonic()
        self._repeat('moved', count, self._results.moves.total, lambda: ('move', self._move()))
        found = {}
        for name, times in (('joint_states', [s.at_s for s in list(bench.samples)]),
                            ('pictures', list(bench.pictures)),
                            *((f'heartbeat {n}', list(t)) for n, t in bench.beats.items())):
            times = [at for at in times if at >= since_s]
            gaps = sorted(1e3 * (b - a) for a, b in itertools.pairwise(times))
            if gaps:
                found[name] = {
                    'n': len(gaps), 'median': round(gaps[len(gaps) // 2], 1),
                    'p999': round(gaps[int(0.999 * (len(gaps) - 1))], 1),
                    'max': round(gaps[-1], 1)}
        self._note('gaps', found)

    def _repeat(self, what: str, count: int, made: Callable[[], int],
                trial: Callable[[], tuple[str, Any]]) -> None:
        """Make trials until there are enough.

        Args:
            what: is done, in words.
            count: how many are enough.
            made: counts those that there are.
            trial: makes one, and returns its line.

        Raises:
            BrokenGraphError: too many cannot be made, or a node is deaf.
            KeyboardInterrupt: somebody wants no more of it.
        """
        pace, before, failed, unanswered = Pace(), made(), 0, 0
        while (there := made()) < count:
            if self._stopped():
                raise KeyboardInterrupt
            self._bench.expecting = False
            breaks = self._bench.breaks.copy()
            try:
                self._note(*trial())
            except (NotMadeError, SightplanError) as error:
                failed += 1
                unanswered = unanswered + 1 if isinstance(error, DeadlineError) else 0
                self._ready, self._running = False, None
                self._note('failed', f'{what}: {error}'[:160])
                if self._bench.lost():
                    raise BrokenGraphError(str(error)) from error
                dead = self._processes.dead()
                if dead or unanswered == _UNANSWERED or failed > 10 + count // 2:
                    gone = f'; dead: {", ".join(dead)}' if dead else ''
                    raise BrokenGraphError(f'{what}: {failed} trials could not be made{gone}; the '
                                           f'last: {error}') from error
            else:
                there, unanswered = there + 1, 0
                if there % 10 == 0 or there == count:
                    left = pace.time_left(there - before, count - there)
                    say('safety', f'{what} {there} of {count}, ETA {left}')
            finally:
                if needless := self._bench.breaks - breaks:
                    self._note('needless', needless)
            if there % _CLEAN_EVERY == 0:
                clean_shared_memory()

    # Trials.

    def _kill(self, kind: str) -> Kill:
        bench = self._bench
        running = self._go()
        next_one = self._rng.choice(self._actions() or self._model.actions)
        self._await_motion(running, self._rng.uniform(0.0, _LONGEST_WAIT_S))
        bench.expecting = True
        pid, number = self._victim(kind)  # found before: that takes a while
        load, since_s = os.getloadavg()[0], time.monotonic()
        bench.causes.clear()
        os.kill(pid, number)
        self._ready, self._running = False, None
        time.sleep(_AFTER_S * self._patience)
        if kind == HANG:
            os.kill(pid, signal.SIGCONT)
        of_gate = kind in (ARM_BRIDGE, HANG)
        causes = [bench.watcher.cause] if of_gate else bench.causes.copy()
        cause = causes[0] if causes else ''
        broken = kind == ARM_BRIDGE or _fails(running)  # nobody is left to say how it ended
        if kind == 'camera':  # its process does not come back without the rest of the hardware
            refused = _fails(bench.begin(bench.execute, next_one))
            until_s = time.monotonic()
            self._restart(HARDWARE, bench.measured_age_s)
            self._request = None
        elif of_gate:
            if kind == ARM_BRIDGE:
                self._restart(kind, lambda: bench.beat_age_s(kind))
            if not cause:
                raise NotMadeError('the motion came to its end before the watcher had to stop it')
            bench.await_world(START_S)
            refused = (_fails(bench.begin(bench.execute, next_one))
                       and _fails(bench.begin(bench.reset, self._request)))
            time.sleep(self._settle_s)
            until_s = time.monotonic()
        else:
            self._restart(kind, lambda: bench.beat_age_s(kind))
            refused = _fails(bench.begin(bench.execute, next_one))
            time.sleep(self._settle_s)
            until_s = time.monotonic()
        still_ms, moved_again, travel = self._standstill(since_s, until_s)
        in_time = still_ms <= LIMIT_MS * self._patience
        if not (broken and cause) and in_time:  # whatever was killed is back by now
            raise NotMadeError('the motion came to its end before it was to be broken off')
        commands = [at for at in list(bench.commands) if since_s < at < until_s]
        signs = list(bench.pictures if kind == 'camera' else
                     bench.beats[ARM_BRIDGE if of_gate else kind])
        sign = max((at for at in signs if at < since_s + _AFTER_S * self._patience), default=0.0)
        return Kill(kind, 1e3 * (sign - since_s),
                    1e3 * (commands[-1] - since_s) if commands else None, still_ms, travel,
                    cause, moved_again, refused, load, causes[1:])

    def _victim(self, kind: str) -> tuple[int, int]:
        """The process to be killed, and the signal."""
        if kind == HANG:
            return self._processes.pid(ARM_BRIDGE), signal.SIGSTOP
        if kind != 'camera':
            return self._processes.pid(kind), signal.SIGKILL
        pid = camera_pid(self._processes.pid(HARDWARE))
        if pid is None:
            raise NotMadeError('the camera has no process of its own')
        return pid, signal.SIGKILL

    def _stop(self) -> Stop:
        bench, rng = self._bench, self._rng
        running = None
        if rng.random() < _STOPS_AT_REST:
            self._begin_episode()
        else:
            running = self._parking() if rng.random() < _STOPS_PARKING else None
            if running is None:
                running = self._go()
                self._await_motion(running, rng.uniform(0.0, _LONGEST_WAIT_S))
        actions = self._actions() or self._model.actions
        bench.expecting = True
        load = os.getloadavg()[0]
        since_s = time.monotonic()
        bench.stop()
        self._ready, self._running = False, None
        attempts = bench.barrage(rng.uniform(*_BARRAGE_S), self._request, actions)
        if running is not None:
            _fails(running)  # it may also succeed, if it was at its end
        time.sleep(max(0.0, since_s + self._settle_s + 0.1 - time.monotonic()))
        until_s = time.monotonic()
        still_ms, moved, _ = self._standstill(since_s, until_s)
        moved |= any(since_s + self._settle_s < at for at in list(bench.commands))
        bench.rearm()
        rearmed_s = time.monotonic()
        refused = _fails(bench.begin(bench.execute, actions[0]))
        time.sleep(0.1)
        still = not any(s.speed >= STILL_RAD_S for s in list(bench.samples)
                        if s.at_s >= rearmed_s)
        return Stop(running is not None, still_ms, attempts, moved or not refused, still, load)

    def _move(self) -> str:
        running, self._running = self._go(), None
        self._note('load', os.getloadavg()[0])
        try:
            result = running.result(_SKILL_S)
        except SightplanError as error:
            self._ready = False
            return self._bench.status.cause or str(error)
        self._ready = self._bench.status.state == self._bench.status.ARMED
        return result.message or 'done'

    # Their pieces.

    def _parking(self) -> Future[Any] | None:
        """A reset that moves the arm, for a moment; None if it does not."""
        if self._request is None or self._running is not None:
            return None
        running = self._bench.begin(self._bench.reset, self._request)
        try:
            self._await_motion(running, self._rng.uniform(0.0, _PARKING_S))
        except NotMadeError:
            return None
        return running

    def _standstill(self, since_s: float, until_s: float) -> tuple[float, bool, float]:
        return standstill(list(self._bench.samples), since_s, until_s, self._settle_s,
                          _GAP_S * self._patience)

    def _go(self) -> Future[Any]:
        """An action under way."""
        if not self._ready:
            self._begin_episode()
        running, self._running = self._running, None
        if running is None or running.done():
            self._bench.wait_for_beats(START_S)
            running = self._bench.begin(self._bench.execute, self._action())
        self._running = running
        return running

    def _begin_episode(self) -> None:
        """Reset: with the table as it is if that works, else with another problem."""
        bench = self._bench
        if self._ready and self._running is None:
            return
        if self._running is not None:
            _fails(self._running)
            self._running = None
        if bench.status.state == bench.status.STOPPED:  # stopped by itself; it counts as needless
            time.sleep(_AFTER_S * self._patience)
            bench.rearm()
        done = False
        if self._request is not None:
            with contextlib.suppress(SightplanError):
                bench.reset(self._request)
                done = bool(self._actions())
        if not done:
            self._episodes += 1
            problem = self._rng.choice(self._problems)
            self._model = self._domain.model(problem)
            self._request = bench.request(f'bench/{self._episodes}', problem,
                                          self._domain.write_problem(problem))
            bench.set_up(self._request)
            bench.reset(self._request)
        bench.expecting = False
        self._ready = True

    def _actions(self) -> list[Action]:
        """Actions that are applicable where the blocks are."""
        state = self._bench.state()
        return [a for a in self._model.actions if self._model.applicable(a, state)]

    def _action(self) -> Action:
        actions = self._actions()
        if not actions:
            raise NotMadeError('there is nothing to do where the blocks are')
        return self._rng.choice(actions)

    def _await_motion(self, running: Future[Any], further_s: float) -> None:
        """Wait until the arm moves, then for some time, and until it moves again.

        Raises:
            NotMadeError: the action is over before.
        """
        bench = self._bench
        for seconds in (0.0, further_s):
            end = time.monotonic() + seconds
            while time.monotonic() < end or bench.speed() < MOVING_RAD_S:
                if running.done():
                    error = running.exception()
                    raise NotMadeError(
                        'the action was over before the arm was to be disturbed'
                        if error is None else f'the action failed by itself: {error}')
                time.sleep(0.002)

    def _restart(self, name: str, age_s: Callable[[], float]) -> None:
        """Start a killed process again, and wait until it gives signs of life."""
        if name not in self._processes.dead():
            self._processes.kill(name)
        self._processes.reap(name)
        since_s = time.monotonic()
        self._processes.start(name)
        while age_s() > time.monotonic() - since_s:
            if time.monotonic() - since_s > START_S:
                raise BrokenGraphError(f'{name} did not come back')
            time.sleep(0.01)


def _fails(future: Future[Any]) -> bool:
    """Whether an action ends with an error or is not begun (or a reset with an error)."""
    try:
        return bool(getattr(future.result(_SKILL_S), 'status', _EXECUTED) != _EXECUTED)
    except SightplanError:
        return True
