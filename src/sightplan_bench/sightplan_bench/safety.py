"""``sightplan bench safety``: what becomes of a moving arm when something dies or stops it.

A ROS graph of its own with simulated hardware in real time: ``sim_bridge`` in the namespace of
the hardware, ``arm_bridge`` in front of it, and the nodes that an episode needs. Three parts:

*Kills*: in mid-motion, at a random moment, the process of the agent, of the grounder, of the
camera or of the gate itself (``arm_bridge``) is killed (SIGKILL). Measured from then: when the
last command reaches the controller's topic, and from when on all joints stand, by the driver's
joint states, as they arrive here. The killed process is started again, and until the next reset
nothing may move; after the gate's death, in which ``arm_watcher`` stops the arm, nothing before a
person re-arms it, resets refused. ``hang`` instead stops that process for a second (SIGSTOP).

*Stops*: ``~/stop`` in mid-motion or at rest; then, for a random time, everything that arm_bridge
offers is used to get the arm to move. Nothing may, until it was re-armed and reset.

*Moves*: nothing is killed. Whatever holds or stops the arm does so without a reason.

A killed process can leave another one deaf for good. As under ``sightplan up``, the graph then
ends; the trials that are missing are made on a new one.

Times are those at which messages arrive at this process: what the bench itself is late counts
against the arm.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.frame import Result, add_command, stop_flag
from sightplan.commands.frame import Stop as Stopped
from sightplan.commands.progress import Pace
from sightplan.graphs.hearing import deaf, in_words
from sightplan.model import InputError, SightplanError, user_path
from sightplan.model.journal import Journal
from sightplan.records.description import write_json
from sightplan.records.provenance import provenance
from sightplan_bench.output import count, say, shown

if TYPE_CHECKING:
    from sightplan.model import Action
    from sightplan_bench.safety_node import Bench

TRIALS, NODES, RESULT = 'trials.jsonl', 'nodes.log', 'safety.json'
KINDS = ('grounder', 'camera', 'agent', 'arm_bridge')
HANG = 'hang'
_WITH_AGENT = ('agent', 'arm_bridge')
_say = functools.partial(say, 'safety')
LIMIT_MS = 200.0
"""Within which the arm has to hold."""

MOVING_RAD_S = 0.05
"""Of the fastest joint: the arm is in motion."""

STILL_RAD_S = 0.02
"""Of the fastest joint: the arm stands."""

_START_S = 120.0
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


@dataclass(frozen=True)
class Kill:
    """One process killed in mid-motion.

    Attributes:
        kind: of process.
        sign_ms: when its last sign of life came here.
        command_ms: when the last command came to the controller's topic; None if none did: the
            arm came to the end of a motion before it would have been broken off.
        still_ms: from when on no joint moved.
        travel_rad: way of the joint that went farthest after the kill.
        cause: of the gate's hold, or of the watcher's stop where the gate was killed.
        afterwards: causes for which the gate stopped the arm while it held, in their order.
        moved_again: whether anything moved after the arm stood, before the next reset.
        refused: whether the arm refused an action, and after the gate's death a reset, once the
            killed process was back.
        load: of the machine, in the last minute.
    """

    kind: str
    sign_ms: float
    command_ms: float | None
    still_ms: float
    travel_rad: float
    cause: str
    moved_again: bool
    refused: bool
    load: float = 0.0
    afterwards: Sequence[str] = ()


@dataclass(frozen=True)
class Stop:
    """One latched stop. That the arm moves again afterwards shows in the next one in motion.

    Attributes:
        in_motion: whether the arm moved when it was asked for.
        still_ms: from when on no joint moved; 0 if none did.
        attempts: number of attempts to move it.
        moved: whether anything moved or was commanded after the arm stood, or an attempt was not
            refused, before it was re-armed.
        still_after_rearm: whether nothing moved between re-arming and the reset.
        load: of the machine, in the last minute.
    """

    in_motion: bool
    still_ms: float
    attempts: int
    moved: bool
    still_after_rearm: bool
    load: float = 0.0


@dataclass
class Results:
    """Of all parts, and of all graphs on which they were measured.

    Attributes:
        kills, stops: one by one.
        moves: causes of the reports of undisturbed moves, with their numbers.
        needless: holds and stops that nobody caused, by cause, in all parts.
        failed: trials that could not be made, by reason.
        gaps: longest and usual time between messages, undisturbed, by what they are [ms]; of the
            last graph with moves.
        deaf: what was said of a deaf node with which a graph ended.
        graphs: what each was measured with (``conditions``), and by which commit.
        seconds: that all of them ran.
    """

    kills: list[Kill] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    moves: Counter[str] = field(default_factory=Counter)
    needless: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    gaps: dict[str, dict[str, Any]] = field(default_factory=dict)
    deaf: list[str] = field(default_factory=list)
    graphs: list[Mapping[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def take(self, line: Mapping[str, Any]) -> None:
        """Add what a line of the trials tells: an object with one field, by which it is known."""
        ((kind, data),) = line.items()
        match kind:
            case 'kill':
                self.kills.append(Kill(**data))
            case 'stop':
                self.stops.append(Stop(**data))
            case 'move':
                self.moves[data] += 1
            case 'needless':
                self.needless.update(data)
            case 'failed':
                self.failed[data] += 1
            case 'gaps':
                self.gaps = data
            case 'deaf':
                self.deaf.append(data)
            case 'graph':
                self.graphs.append(data)
            case 'seconds':
                self.seconds += data
            case _:
                raise ValueError(f'there is no {kind!r}')

    def count(self, kind: str) -> int:
        """How often a kind of process was killed."""
        return sum(kill.kind == kind for kill in self.kills)

    def summary(self) -> dict[str, Any]:
        """What is printed."""
        found: dict[str, Any] = {}
        if self.kills:
            by_kind = {kind: [k for k in self.kills if k.kind == kind]
                       for kind in (*KINDS, HANG)}
            found['kills'] = {kind: _kills(kills) for kind, kills in by_kind.items() if kills}
            found['kills']['all'] = _kills(self.kills)
        if self.stops:
            moving = [s.still_ms for s in self.stops if s.in_motion]
            found['stops'] = {
                'n': len(self.stops), 'in_motion': len(moving),
                'attempts': sum(s.attempts for s in self.stops),
                'moved': sum(s.moved for s in self.stops),
                'moved_after_rearm_before_reset':
                    sum(not s.still_after_rearm for s in self.stops),
                'still_ms': spread(moving), 'load': spread([s.load for s in self.stops], 2)}
        if self.moves:
            found['moves'] = {'n': sum(self.moves.values()), **self.moves}
            found['gaps_ms'] = self.gaps
        found['needless_holds'] = dict(self.needless)
        found['trials_not_made'] = dict(self.failed)
        found['graphs'], found['deaf'] = len(self.graphs), self.deaf
        found['commits'] = list(dict.fromkeys(graph['commit'] for graph in self.graphs))
        found['seconds'] = round(self.seconds)
        return found

    @property
    def good(self) -> bool:
        """Whether nothing moved that should not, and everything held in time."""
        return (all(k.still_ms <= LIMIT_MS and not k.moved_again and k.refused
                    for k in self.kills)
                and all(not s.moved and s.still_after_rearm for s in self.stops))


def _kills(kills: Sequence[Kill]) -> dict[str, Any]:
    commands = [k.command_ms for k in kills if k.command_ms is not None]
    return {'n': len(kills), 'last_sign_of_life_ms': spread([k.sign_ms for k in kills]),
            'hold_command_ms': spread(commands),
            'standstill_ms': spread([k.still_ms for k in kills]),
            'travel_rad': spread([k.travel_rad for k in kills], 3),
            'moved_again': sum(k.moved_again for k in kills),
            'not_refused': sum(not k.refused for k in kills),
            'causes': dict(Counter(k.cause for k in kills)),
            'stopped_afterwards': dict(Counter(itertools.chain.from_iterable(
                k.afterwards for k in kills))),
            'load': spread([k.load for k in kills], 2)}


def spread(values: Sequence[float], digits: int = 1) -> dict[str, Any]:
    """Number, median, 95th percentile and maximum, and for times how many are over the limit."""
    if not values:
        return {'n': 0}
    ordered = sorted(values)
    at = {'n': len(ordered), 'median': ordered[(len(ordered) - 1) // 2],
          'p95': ordered[min(len(ordered) - 1, -(-95 * len(ordered) // 100) - 1)],
          'max': ordered[-1]}
    rounded: dict[str, Any] = {k: v if k == 'n' else round(v, digits) for k, v in at.items()}
    if digits == 1:
        rounded['over_limit'] = sum(v > LIMIT_MS for v in ordered)
    return rounded


# Processes.

class Processes:
    """The nodes of the graph, started with the environment of this process; each can be killed."""

    def __init__(self, commands: dict[str, Sequence[str]], log: Path) -> None:
        """Nothing runs yet.

        Args:
            commands: of each process, by name.
            log: file of their output.
        """
        self.commands, self.log = commands, log
        self._file = log.open('ab')
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        """Start one that does not run."""
        self._running[name] = subprocess.Popen(
            self.commands[name], stdin=subprocess.DEVNULL, stdout=self._file, stderr=self._file,
            process_group=0)

    def pid(self, name: str) -> int:
        """Of a process that runs."""
        return self._running[name].pid

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal, at once."""
        self._running[name].send_signal(number)

    def reap(self, name: str) -> None:
        """Wait for the end of one that was killed."""
        self._running.pop(name).wait()

    def dead(self) -> list[str]:
        """Those that have ended."""
        return [name for name, process in self._running.items() if process.poll() is not None]

    def close(self) -> None:
        """End all of them."""
        for number in (signal.SIGINT, signal.SIGKILL):
            for process in self._running.values():
                if process.poll() is None:
                    process.send_signal(number)
            for process in self._running.values():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(8.0)
        self._file.close()


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    found: list[int] = []
    for tasks in Path(f'/proc/{pid}/task').glob('*/children'):
        with contextlib.suppress(OSError):
            found += map(int, tasks.read_text().split())
    return found


def camera_pid(pid: int) -> int | None:
    """The process that draws the pictures of a simulated camera, by its parent's; None: none."""
    for child in children(pid):
        with contextlib.suppress(OSError):
            if b'spawn_main' in Path(f'/proc/{child}/cmdline').read_bytes():
                return child
    return None


# What was measured.

def standstill(samples: Sequence[Any], since_s: float, until_s: float,
               settle_s: float = _RETRY_S, gap_s: float = _GAP_S) -> tuple[float, bool, float]:
    """When joints came to rest, and whether they stayed there.

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
        _NotMade: samples are missing.
    """
    seen = [s for s in samples if since_s <= s.at_s <= until_s]
    times = [since_s, *(s.at_s for s in seen), until_s]
    if max(b - a for a, b in itertools.pairwise(times)) > gap_s:
        raise _NotMade(f'no joint states came for more than {gap_s:g} s: nothing is known')
    moving = [k for k, s in enumerate(seen) if s.speed >= STILL_RAD_S]
    first = [k for k in moving if seen[k].at_s - since_s <= settle_s]
    ends = [*(s.at_s for s in seen[1:]), until_s]
    still_ms = 1e3 * (ends[first[-1]] - since_s) if first else 0.0
    ways = zip(*(s.positions for s in seen), strict=True)
    return still_ms, len(moving) > len(first), max((max(way) - min(way) for way in ways),
                                                   default=0.0)


class BrokenGraphError(Exception):
    """The graph does not do what the trials need."""


class _NotMade(Exception):
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
        """Kill a kind of process until that was done so many times."""
        if self._results.count(kind) >= count:
            return
        if kind in _WITH_AGENT and self._processes.commands[AGENT] != self._agent:
            self._processes.commands[AGENT] = self._agent  # the real one instead of its stand-in
            self._restart(AGENT, lambda: self._bench.beat_age_s(AGENT))
        self._repeat(f'{kind} killed', count, lambda: self._results.count(kind),
                     lambda: ('kill', dataclasses.asdict(self._kill(kind))))

    def stops(self, count: int) -> None:
        """Stop the arm until that was done so many times.

        While it works, while it parks in a reset, and at rest.
        """
        if len(self._results.stops) >= count:
            return
        self._repeat('stopped', count, lambda: len(self._results.stops),
                     lambda: ('stop', dataclasses.asdict(self._stop())))
        with contextlib.suppress(_NotMade):
            self._await_motion(self._go(), 0.0)  # the last one ends, too

    def moves(self, count: int) -> None:
        """Move blocks until that was done so many times."""
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
        from sightplan.model import DeadlineError, SightplanError
        pace, before, failed, unanswered = Pace(), made(), 0, 0
        while (there := made()) < count:
            if self._stopped():
                raise KeyboardInterrupt
            self._bench.expecting = False
            breaks = self._bench.breaks.copy()
            try:
                self._note(*trial())
            except (_NotMade, SightplanError) as error:
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
                    _say(f'{what} {there} of {count}, ETA {left}')
            finally:
                if needless := self._bench.breaks - breaks:
                    self._note('needless', needless)
            if there % _CLEAN_EVERY == 0:
                _clean_shared_memory()

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
                raise _NotMade('the motion came to its end before the watcher had to stop it')
            bench.await_world(_START_S)
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
            raise _NotMade('the motion came to its end before it was to be broken off')
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
            raise _NotMade('the camera has no process of its own')
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
            _fails(running)  # or not, if it was at its end
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
        from sightplan.model import SightplanError
        running, self._running = self._go(), None
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
        except _NotMade:
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
            self._bench.wait_for_beats(_START_S)
            running = self._bench.begin(self._bench.execute, self._action())
        self._running = running
        return running

    def _begin_episode(self) -> None:
        """Reset: with the table as it is if that works, else with another problem."""
        from sightplan.model import SightplanError
        bench = self._bench
        if self._ready and self._running is None:
            return
        if self._running is not None:
            _fails(self._running)
            self._running = None
        if bench.status.state == bench.status.STOPPED:  # by itself; it counts as needless
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
        """Those that make sense where the blocks are."""
        state = self._bench.state()
        return [a for a in self._model.actions if self._model.applicable(a, state)]

    def _action(self) -> Action:
        actions = self._actions()
        if not actions:
            raise _NotMade('there is nothing to do where the blocks are')
        return self._rng.choice(actions)

    def _await_motion(self, running: Future[Any], further_s: float) -> None:
        """Wait until the arm moves, and so much longer, and until it moves then.

        Raises:
            _NotMade: the action is over before.
        """
        bench = self._bench
        for seconds in (0.0, further_s):
            end = time.monotonic() + seconds
            while time.monotonic() < end or bench.speed() < MOVING_RAD_S:
                if running.done():
                    error = running.exception()
                    raise _NotMade('the action was over before the arm was to be disturbed'
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
            if time.monotonic() - since_s > _START_S:
                raise BrokenGraphError(f'{name} did not come back')
            time.sleep(0.01)


def _fails(future: Future[Any]) -> bool:
    """Whether an action ends with an error or is not begun (or a reset with an error)."""
    from sightplan.model import SightplanError
    try:
        return bool(getattr(future.result(_SKILL_S), 'status', _EXECUTED) != _EXECUTED)
    except SightplanError:
        return True


def _clean_shared_memory() -> None:
    """Free what killed nodes have left."""
    tool = shutil.which('fastdds')
    if tool is not None:
        subprocess.run([tool, 'shm', 'clean'], stdin=subprocess.DEVNULL, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60.0)


# The graph.

HARDWARE, ARM_BRIDGE, AGENT, GROUNDER = 'hardware', 'arm_bridge', 'agent', 'grounder'
WATCHER = 'arm_watcher'


def graph_commands(folder: Path, robot: str) -> dict[str, Sequence[str]]:
    """Commands of the nodes, as the graph file has them: those that an arm needs."""
    from sightplan.graphs.graph import find_graph
    from sightplan.graphs.up import command
    script = folder / 'script.json'
    script.write_text(json.dumps({'answers': {'default': 'No'}}))
    graph = find_graph('experiment')
    values = graph.values([
        'world:=arm_bridge', 'hardware:=simulated',
        'lockstep:=false',  # times are those of the wall's clock, and time waits for nobody
        'method:=ground', 'backend:=scripted',
        f'backend_options:=script={script}', f'robot:={robot}',
        'setup:=',  # the bench sets the table up itself: a reset shall only park the arm
        'rate_hz:=4'])  # drawing takes a core, which a camera does not
    commands = {}
    for node in graph.chosen(values).nodes:
        name = HARDWARE if node.executable == 'sim_bridge' else node.name
        commands[name] = command(node, values)
    return {name: commands[name] for name in (HARDWARE, WATCHER, ARM_BRIDGE, AGENT, GROUNDER)}


def beater(node: str, needs: Sequence[str]) -> list[str]:
    """Command of a node that does nothing but say that it lives."""
    return [sys.executable, '-m', 'sightplan_bench.safety_node', node, *needs]


@contextlib.contextmanager
def graph(out: Path, robot: str) -> Iterator[tuple[Bench, Processes, Sequence[str]]]:
    """A graph, ready for trials, ended with the context: its client, its processes, and the agent.

    Args:
        out: folder for what its nodes say.
        robot: a name, or a file.

    The agent is a stand-in that does nothing but beat, and needs the grounder as the agent does
    in an episode: the actions come from the bench. Third comes the command of the real one.
    """
    from sightplan_bench.kept_graph import environment
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(environment(folder))
        from sightplan_bench.ros import spinning_node
        from sightplan_bench.safety_node import Bench
        commands = graph_commands(folder, robot)
        real = commands[AGENT]
        commands[AGENT] = beater(AGENT, [GROUNDER])
        processes = Processes(commands, out / NODES)
        stack.callback(processes.close)
        for name in commands:
            processes.start(name)
        bench = stack.enter_context(spinning_node(lambda: Bench(robot)))
        bench.wait_until_there(_START_S)
        yield bench, processes, real


# The command.

def add_parser(subparsers: Any) -> None:
    """Register ``sightplan bench safety``."""
    parser = add_command(
        subparsers, 'safety', measure, 'a moving arm on ROS: something dies, somebody stops it',
        'Start a ROS graph with simulated hardware in real time. Kill the agent, the grounder, '
        'the camera or arm_bridge in mid-motion and measure when the arm holds; stop it and try '
        'everything to get it to move; move blocks undisturbed and count needless holds. With the '
        'same --out it goes on where it was.',
        examples='examples:\n'
                 '  sightplan bench safety --trials 200 --stops 1000 --moves 100\n'
                 '  sightplan bench safety --kill camera --trials 20 --stops 0 --moves 0 --json\n'
                 '\nA kill takes about 10 seconds, a stop 5, a move 10. Other work on the machine '
                 'counts against the arm.\n',
        exits=f'0 everything held within {LIMIT_MS:g} ms and nothing moved that should not; 1 '
              'something did, or it was broken off; 2 bad usage')
    parser.add_argument('--kill', choices=(*KINDS, HANG, 'all'), default='all',
                        help='what is killed (default: %(default)s, in equal parts; not hang, in '
                        'which arm_bridge stands still for a second)')
    parser.add_argument('--trials', type=count, default=200, metavar='N',
                        help='processes killed (default: %(default)s)')
    parser.add_argument('--stops', type=count, default=1000, metavar='N',
                        help='latched stops (default: %(default)s)')
    parser.add_argument('--moves', type=count, default=100, metavar='N',
                        help='undisturbed moves (default: %(default)s)')
    parser.add_argument('--robot', default='panda', metavar='ROBOT',
                        help='a name in config/robots, or a file (default: %(default)s)')
    parser.add_argument('--patience', type=float, default=1.0, metavar='FACTOR',
                        help='of all times, for a busy machine; give a robot with longer '
                             'timeouts, too (default: %(default)s)')
    parser.add_argument('--seed', type=int, default=0, help='of all that is random')
    parser.add_argument('--out', default='safety', metavar='DIR',
                        help="trials, the nodes' output and result (default: %(default)s)")


def measure(arguments: argparse.Namespace) -> Result:
    """Make the trials that are missing, and sum up all of them."""
    if not arguments.patience > 0.0:
        raise InputError('--patience must be more than 0')
    out, results, failed = user_path(arguments.out), Results(), ''
    given = conditions(arguments)
    with stop_flag() as stop, Journal(out / TRIALS) as journal:
        journal.open()
        journal.lock()
        read_trials(journal, results, given)

        def note(kind: str, data: Any) -> None:
            line = {kind: data}
            journal.append(line)
            results.take(line)
        try:
            while not failed and not stop() and not all(
                    there >= asked for there, asked in _wanted(arguments, results)):
                failed = _session(arguments, given, out, results, note, stop)
            failed = failed or ('interrupted' if stop() else '')
        except KeyboardInterrupt:
            failed = 'interrupted'
    if failed:
        _say(f'{failed}; the same command with --out {arguments.out} goes on from there')
    summary = {'machine': f'{platform.machine()}, {os.cpu_count()} CPUs', **given,
               **results.summary(), **({'failed': failed} if failed else {}),
               'provenance': provenance()}
    write_json(out / RESULT, summary)
    return shown(arguments, summary, results.good and not failed)


def conditions(arguments: argparse.Namespace) -> dict[str, Any]:
    """What trials that belong together have in common.

    Raises:
        InputError: there is no such robot.
    """
    from sightplan_arm.config import load_robot
    robot = load_robot(arguments.robot)
    return {'robot': robot.name,
            'robot_sha256': hashlib.sha256(robot.file.read_bytes()).hexdigest(),
            'patience': arguments.patience, 'seed': arguments.seed}


def read_trials(journal: Journal, results: Results, given: Mapping[str, Any]) -> None:
    """Take what was measured before, from a journal that is open; repairs what a crash left.

    Args:
        journal: of the trials.
        results: are added to.
        given: see ``conditions``.

    Raises:
        InputError: it cannot be read, or was measured under other conditions; names file, line
            and what differs.
    """
    for line in journal.take_up()[1].lines:
        try:
            results.take(line.data)
            graph = line.data.get('graph', given)
            differs = [name for name in given if graph[name] != given[name]]
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise InputError(f'{line.where}: is no line of these trials ({error}); choose another '
                             '--out') from error
        if differs:
            raise InputError(f'{line.where}: was measured with another '
                             f'{", another ".join(differs)} ({graph[differs[0]]!r}, not '
                             f'{given[differs[0]]!r}); choose another --out')


def _wanted(arguments: argparse.Namespace, results: Results) -> list[tuple[int, int]]:
    """Of each kind of trial: how many there are, and how many there are to be."""
    return [(results.moves.total(), arguments.moves), (len(results.stops), arguments.stops),
            *((results.count(kind), asked) for kind, asked in _kinds(arguments))]


def _kinds(arguments: argparse.Namespace) -> list[tuple[str, int]]:
    """What is killed, and how often."""
    kinds = KINDS if arguments.kill == 'all' else (arguments.kill,)
    return [(kind, len(range(number, arguments.trials, len(kinds))))
            for number, kind in enumerate(kinds)]


def _session(arguments: argparse.Namespace, given: Mapping[str, Any], out: Path,
             results: Results, note: Callable[[str, Any], None], stop: Stopped) -> str:
    """Make trials on one graph as long as it hears; returns what broke it off, '' for nothing."""
    before, began = _wanted(arguments, results), time.monotonic()
    bench: Bench | None = None
    with contextlib.ExitStack() as stack:
        try:
            bench, processes, agent = stack.enter_context(graph(out, arguments.robot))
            stack.callback(lambda: note('seconds', round(time.monotonic() - began, 1)))
            note('graph', {'commit': provenance()['commit'], **given})
            trials = Trials(bench, processes, f'{arguments.seed} {len(results.graphs)}', results,
                            note, stop, agent, arguments.patience)
            trials.moves(arguments.moves)
            trials.stops(arguments.stops)
            for kind, asked in _kinds(arguments):
                trials.kills(kind, asked)
        except InputError:
            raise
        except (SightplanError, BrokenGraphError, TimeoutError) as error:
            if bench is not None and (lost := bench.lost()):
                words = in_words(deaf(lost), lost)
                note('deaf', words)
                if _wanted(arguments, results) != before:
                    _say(f'{words}; going on with a new graph')
                    return ''
            with contextlib.suppress(OSError):
                sys.stderr.write((out / NODES).read_text(errors='replace')[-4000:])
            return str(error) or type(error).__name__
    return ''
