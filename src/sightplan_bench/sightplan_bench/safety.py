"""``sightplan bench safety``: behaviour of a moving arm when a process dies or a stop is sent.

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

import contextlib
import functools
import hashlib
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import option
from sightplan.commands.frame import Result, add_command, stop_flag
from sightplan.commands.frame import Stop as Stopped
from sightplan.graphs.hearing import deaf, in_words
from sightplan.model import InputError, SightplanError, user_path
from sightplan.model.journal import Journal
from sightplan.records.description import write_json
from sightplan.records.provenance import provenance
from sightplan_bench.output import say, shown
from sightplan_bench.safety_graph import NODES, graph
from sightplan_bench.safety_results import HANG, KINDS, LIMIT_MS, Results
from sightplan_bench.safety_trials import BrokenGraphError, Trials

if TYPE_CHECKING:
    from sightplan_bench.safety_node import Bench

TRIALS, RESULT = 'trials.jsonl', 'safety.json'
_say = functools.partial(say, 'safety')

_EXAMPLES = """\
examples:
  sightplan bench safety --trials 200 --stops 1000 --moves 100
  sightplan bench safety --kill camera --trials 20 --stops 0 --moves 0 --json

A kill takes about 10 seconds, a stop 5, a move 10. Other work on the machine counts against
the arm.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Arguments of ``sightplan bench safety``."""

    kill: str = option(
        'all', 'what is killed: all, in equal parts (but not hang, in which arm_bridge stands '
        'still for a second), or this', choices=(*KINDS, HANG, 'all'))
    trials: int = option(200, 'processes killed', low=0)
    stops: int = option(1000, 'latched stops', low=0)
    moves: int = option(100, 'undisturbed moves', low=0)
    robot: str = option('panda', 'a name in config/robots, or a file', metavar='ROBOT')
    patience: float = option(
        1.0, 'of all times, for a busy machine; give a robot with longer timeouts, too', low=0.001,
        metavar='FACTOR')
    seed: int = option(0, 'of all that is random')
    out: str = option('safety', "trials, the nodes' output and result", metavar='DIR')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan bench safety``."""
    add_command(
        subparsers, 'safety', measure, 'a moving arm on ROS: something dies, somebody stops it',
        'Start a ROS graph with simulated hardware in real time. Kill the agent, the grounder, '
        'the camera or arm_bridge in mid-motion and measure when the arm holds; stop it and try '
        'everything to get it to move; move blocks undisturbed and count needless holds. With '
        'the same --out it goes on where it was.', settings=Arguments,
        examples=_EXAMPLES,
        exits=f'0 everything held within {LIMIT_MS:g} ms and nothing moved that should not; 1 '
        'something did, or it was broken off; 2 bad usage')


def measure(arguments: Arguments) -> Result:
    """Make the trials that are missing, and sum up all of them."""
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
    return shown(summary, results.good and not failed)


def conditions(arguments: Arguments) -> dict[str, Any]:
    """Conditions that trials of one result must share.

    Raises:
        InputError: there is no such robot.
    """
    from sightplan_arm.config import load_robot
    robot = load_robot(arguments.robot)
    return {'robot': robot.name,
            'robot_sha256': hashlib.sha256(robot.file.read_bytes()).hexdigest(),
            'patience': arguments.patience, 'seed': arguments.seed}


def read_trials(journal: Journal, results: Results, given: Mapping[str, Any]) -> None:
    """Take in earlier results from an open journal, and repair what a crash left.

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
            raise InputError(f'{line.where}: is not a line of these trials ({error}); choose '
                             'another --out') from error
        if differs:
            raise InputError(f'{line.where}: was measured with another '
                             f'{", another ".join(differs)} ({graph[differs[0]]!r}, not '
                             f'{given[differs[0]]!r}); choose another --out')


def _wanted(arguments: Arguments, results: Results) -> list[tuple[int, int]]:
    """Present and wanted number of each kind of trial."""
    return [(results.moves.total(), arguments.moves), (len(results.stops), arguments.stops),
            *((results.count(kind), asked) for kind, asked in _kinds(arguments))]


def _kinds(arguments: Arguments) -> list[tuple[str, int]]:
    """Kinds of processes to kill, and number of kills of each."""
    kinds = KINDS if arguments.kill == 'all' else (arguments.kill,)
    return [(kind, len(range(number, arguments.trials, len(kinds))))
            for number, kind in enumerate(kinds)]


def _session(arguments: Arguments, given: Mapping[str, Any], out: Path,
             results: Results, note: Callable[[str, Any], None], stop: Stopped) -> str:
    """Make trials on one graph as long as it works; returns what broke it, '' for nothing."""
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
