"""``sightplan bench arm``: how often problems are solved by an arm, and how its moves went.

Problems of a domain run in process on the world with ``execution=arm``: physics grasps, nothing
is injected. Success is counted by the scorer from the truth; what became of each move is told
twice, by the robot's own report and by the truth.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import signal
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sightplan.commands.flags import option
from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    note,
    print_table,
    read_options,
    stop_flag,
)
from sightplan.commands.shared_flags import settings_flag
from sightplan.console.progress import EpisodeBar
from sightplan.metrics import measures
from sightplan.model import (
    EpisodeEnded,
    EpisodeStarted,
    InputError,
    SightplanError,
    Stepped,
    TruthSource,
    World,
)
from sightplan.model.event_handler import EventHandler
from sightplan.model.journal import Journal
from sightplan_arm.skills.report import SkillReport

MOVES = 'moves.jsonl'
"""File in a run's directory with one line per episode: the outcome of each of its moves."""

GROUPS = {'perceive': ('perceive', 'verify'), 'plan': ('plan',)}
"""Phases of a skill by group; all other phases are motions."""

_OF_MOTION = ('ArmStoppedError: ', 'StoppedError: ', 'WorldError: ')
"""Beginnings of error messages that arm and table may have caused."""
_POLL_S = 1.0

_EXAMPLES = """\
examples:
  sightplan bench arm
  sightplan bench arm --split hard --episodes 5 --world-option calibration_error_mm=5
  sightplan bench arm --out runs/arm --jobs 3 --json
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Arguments of ``sightplan bench arm``."""

    domain: str = option('blocksworld', 'domain of the problems')
    split: tuple[str, ...] = option(
        (), 'a split (repeatable; default: all of the domain)', metavar='NAME')
    episodes: int = option(0, 'episodes per split (default: one per problem)')
    seed: int = option(0, 'of looks and noise')
    method: str = option('belief', 'method of the episodes')
    backend: str = option('embedded', 'backend of the model')
    world_option: tuple[str, ...] = settings_flag('the simulated world besides execution=arm')
    out: str | None = option(
        None, 'directory of the results; the same command takes it up again (default: '
        'runs/<time>-bench-arm)', metavar='DIR')
    jobs: int = option(1, 'splits at the same time')


@runtime_checkable
class WorldWithArm(TruthSource, Protocol):
    """A world whose actions an arm carries out."""

    @property
    def skill_reports(self) -> Sequence[SkillReport]:
        """The robot's own report of each skill of the episode, without the truth."""


class MovesLog(EventHandler):
    """Recorder of the outcome of each move: the world's own report, and the truth.

    Args:
        path: of the file; a line is added when an episode ends.
        world: with an arm.
    """

    def __init__(self, path: Path, world: WorldWithArm) -> None:
        self._path, self._world = path, world
        self._moves: list[dict[str, Any]] = []
        self._episode = ''

    def on_started(self, event: EpisodeStarted) -> None:
        """Start the moves of an episode."""
        self._episode, self._moves, self._reported = event.spec.id, [], 0

    def on_stepped(self, event: Stepped) -> None:
        """Record the outcome of a move."""
        self._note(self._world.last_outcome())

    def on_ended(self, event: EpisodeEnded) -> None:
        """Add a line to the file."""
        self._note('')  # ended in an error
        with Journal(self._path) as journal:
            journal.open()
            journal.take_up()
            journal.append({'episode_id': self._episode, 'moves': self._moves})

    def _note(self, outcome: str) -> None:
        try:
            reports = self._world.skill_reports[self._reported:]
        except SightplanError:
            reports = []
        for report in reports:
            self._moves.append({
                'action': str(report.action), 'cause': report.cause,
                'message': report.message, 'outcome': outcome.partition(':')[0],
                **{clock: dict(zip(report.phases, getattr(report, clock), strict=True))
                   for clock in ('seconds', 'cpu_seconds', 'wall_seconds')}})
        self._reported += len(reports)


def read_moves(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Moves by episode; of a repeated episode, those of its last run."""
    return {line.data['episode_id']: line.data['moves'] for line in Journal(path).read()}


def describe(lines: Sequence[Mapping[str, Any]], moves: Iterable[Mapping[str, Any]],
             planned: int) -> dict[str, Any]:
    """Figures of some episodes.

    Args:
        lines: of the run store.
        moves: of these episodes.
        planned: number of episodes that were to be run.

    Returns:
        ``planned``, ``episodes`` (that have ended), ``infrastructure`` (those of them that ended
        in an error that no motion caused) and ``counted``: ``planned`` without these; ``solved``
        of them, ``rate`` and ``interval95`` (see ``metrics.intervals``). What a motion ended in
        (stops of the gate, a table that is not ready, blocks that do not stay), and what was not
        run, is not solved.
        ``unsolved`` and ``errors`` of infrastructure, by episode; ``moves``;
        ``causes`` by the robot's reports, ``outcomes`` by the truth and ``causes_by_outcome``;
        ``ms`` per move that was carried out, medians: ``perceive``, ``plan`` and ``motion`` as
        CPU and ``motion_clock`` on the arm's clock, ``all`` as CPU and ``wall``; and ``failed``:
        the moves that went wrong.
    """
    from sightplan.metrics.intervals import fraction_of
    moves = list(moves)
    broken = [line for line in lines if _infrastructure(line)]
    counted = planned - len(broken)
    known = [line for line in lines if line not in broken]
    missing = counted - len(known)  # each of a problem of its own
    solved = fraction_of([*(bool(measures.solved(line)) for line in known), *[0] * missing],
                               [*(line['cluster'] for line in known), *range(missing)])
    carried_out = [move for move in moves if 'approach' in move['seconds']]
    found: dict[str, Any] = {
        'planned': planned, 'episodes': len(lines), 'infrastructure': len(broken),
        'counted': counted, 'solved': solved.successes, 'rate': solved.rate,
        'interval95': solved.interval if counted else None,
        'errors': [f'{line["id"]}: {line["message"]}' for line in broken],
        'unsolved': [f'{line["id"]}: '
                     f'{line["stop"] if measures.scored(line) else line["message"]}'
                     for line in lines if not measures.solved(line) and line not in broken],
        'moves': len(moves),
        'causes': dict(Counter(move['cause'] for move in moves).most_common()),
        'outcomes': dict(Counter(move['outcome'] or 'error' for move in moves).most_common()),
        'causes_by_outcome': _crossed(moves),
        'failed': [move for move in moves
                   if move['cause'] != 'done' or move['outcome'] != 'success'],
    }
    if carried_out:
        found['ms'] = {
            **{group: _median_ms(carried_out, 'cpu_seconds', group)
               for group in (*GROUPS, 'motion', 'all')},
            'wall': _median_ms(carried_out, 'wall_seconds', 'all'),
            'motion_clock': _median_ms(carried_out, 'seconds', 'motion')}
    return found


def _infrastructure(line: Mapping[str, Any]) -> bool:
    """Whether an episode ended in an error that neither arm nor table can have caused."""
    return not measures.scored(line) and not str(line['message']).startswith(_OF_MOTION)


def _crossed(moves: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for (outcome, cause), count in sorted(Counter(
            (move['outcome'] or 'error', move['cause']) for move in moves).items()):
        table.setdefault(outcome, {})[cause] = count
    return table


def _median_ms(moves: Sequence[Mapping[str, Any]], clock: str, group: str) -> float:
    """Median over moves of the milliseconds in a group of phases."""
    named = {phase for phases in GROUPS.values() for phase in phases}
    return round(1e3 * float(statistics.median(
        sum(seconds for phase, seconds in move[clock].items()
            if group == 'all' or (phase in GROUPS[group] if group in GROUPS
                                  else phase not in named))
        for move in moves)), 1)


def run_split(settings: Any) -> dict[str, Any]:
    """Run the episodes of a split that are missing, with a log of their moves.

    Args:
        settings: RunSettings, with ``out``.

    Raises:
        InputError: the world has no arm.
    """
    from sightplan.runs import make_world, run
    cancelled = _stop.is_set if _stop is not None else lambda: False
    world: Any = make_world(settings.domain, settings.world_options)
    try:
        if not isinstance(world, WorldWithArm):
            raise InputError(f'the world of domain {settings.domain!r} has no arm with '
                             f'{settings.world_options}')
        return run(settings, world=_as_world(world), cancelled=cancelled,
                   recorders=[MovesLog(Path(settings.out) / MOVES, world)])
    finally:
        world.close()


_stop: Any = None  # an event that tells this process to end, in workers


def _begin_worker(stop: Any) -> None:
    """Set up a worker process: only the parent handles Ctrl-C, and sets ``stop``."""
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _as_world(world: Any) -> World:
    found: World = world
    return found


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan bench arm``."""
    add_command(
        subparsers, 'arm', measure, 'a simulated arm: problems solved, and how its moves went',
        settings=Arguments, examples=_EXAMPLES,
        exits='0 done; 1 something failed, or episodes are missing; 2 bad usage',
        kept='finished episodes are kept')


def measure(arguments: Arguments) -> Result:
    """Run the episodes, and print the result."""
    runs = _settings(arguments)
    failures = _run_all(runs, max(1, arguments.jobs))
    result = _result(arguments, runs)
    _show(result)
    for failure in failures:
        note(f'sightplan bench arm: {failure}')
    whole = all(split['episodes'] == split['planned'] and not split['infrastructure']
                for split in result['splits'].values())
    return result, DONE if whole and not failures else FAILED


def _settings(arguments: Arguments) -> list[Any]:
    """RunSettings of each split.

    Raises:
        InputError: an argument is wrong.
    """
    from sightplan.domains import load_domain
    from sightplan.runs import RunSettings
    options = {'execution': 'arm',
               **read_options(arguments.world_option, None, '--world-option')}
    out = Path(arguments.out or time.strftime('runs/%Y%m%d-%H%M%S-bench-arm'))
    settings = []
    for split in arguments.split or load_domain(arguments.domain).splits:
        one = RunSettings(domain=arguments.domain, split=split, method=arguments.method,
                          backend=arguments.backend, episodes=arguments.episodes,
                          seed=arguments.seed, world_options=options, out=str(out / split))
        one.check()
        load_domain(arguments.domain).split_problems(split)
        settings.append(one)
    return settings


def _run_all(runs: Sequence[Any], jobs: int) -> list[str]:
    """Run splits in processes of their own, and show progress; returns failures, in words.

    Raises:
        InputError: a split cannot be run with these settings.
    """
    failures = []
    planned = sum(map(_planned, runs))
    spawn = multiprocessing.get_context('spawn')
    told = spawn.Event()
    with (stop_flag() as stop, EpisodeBar() as bar, concurrent.futures.ProcessPoolExecutor(
            jobs, spawn, _begin_worker, (told,)) as pool):
        bar.say(f'results: {Path(runs[0].out).parent}')
        bar.begin('episodes', planned, sum(len(_lines(one)) for one in runs))
        waiting = {pool.submit(run_split, one): one for one in runs}
        while waiting:
            done, _ = concurrent.futures.wait(
                waiting, _POLL_S, concurrent.futures.FIRST_COMPLETED)
            lines = [line for one in runs for line in _lines(one)]
            if len(lines) != bar.done:
                solved = sum(bool(measures.solved(line)) for line in lines)
                bar.update(len(lines), f'solved {solved} of {len(lines)}')
                if bar.plain:
                    bar.say(f'[{bar.done}/{bar.total}] solved {solved}, ETA {bar.time_left}')
            if stop() and not told.is_set():
                told.set()
                failures.append('stopped; the same command with '
                                f'--out {Path(runs[0].out).parent} goes on from there')
            for future in done:
                one = waiting.pop(future)
                error = None if future.cancelled() else future.exception()
                if error is not None:
                    told.set()  # the others need not go on
                if isinstance(error, InputError):
                    raise error
                if error is not None:
                    failures.append(f'{one.split}: {type(error).__name__}: {error}')
    return failures


def _planned(settings: Any) -> int:
    from sightplan.runs import specify
    return len(specify(settings).items)


def _lines(settings: Any) -> list[dict[str, Any]]:
    from sightplan.records import RunStore
    folder = Path(settings.out)
    return RunStore(folder).lines() if folder.exists() else []


def _result(arguments: Arguments, runs: Sequence[Any]) -> dict[str, Any]:
    from sightplan.records.provenance import provenance
    splits: dict[str, Any] = {}
    every_line: list[dict[str, Any]] = []
    every_move: list[dict[str, Any]] = []
    for one in runs:
        lines, moves = _lines(one), read_moves(Path(one.out) / MOVES)
        mine = [{**move, 'episode_id': line['id']} for line in lines
                for move in moves.get(line['id'], ())]
        splits[one.split] = describe(lines, mine, _planned(one))
        every_line += lines
        every_move += mine
    return {'out': str(Path(runs[0].out).parent), 'domain': arguments.domain,
            'method': arguments.method, 'backend': arguments.backend, 'seed': arguments.seed,
            'world': dict(runs[0].world_options), 'cpus': os.cpu_count(),
            'splits': splits, 'all': describe(
                every_line, every_move, sum(split['planned'] for split in splits.values())),
            'provenance': provenance()}


def _show(result: Mapping[str, Any]) -> None:
    """Print figures as a table."""
    rows = []
    for name, split in (*result['splits'].items(), ('all', result['all'])):
        low, high = split['interval95'] or (0.0, 1.0)
        ms = split.get('ms', {})
        cells = [f'{ms[key]:.0f}' if key in ms else '-' for key in (*GROUPS, 'motion', 'all')]
        cells += [f'{ms["motion_clock"] / 1e3:.1f} s' if ms else '-']
        rows.append((name, f'{split["solved"]} of {split["counted"]}',
                     f'{low:.3f}-{high:.3f}', str(split['moves']), *cells))
    print_table(('split', 'solved', '95 %', 'moves', 'perceive', 'plan', 'motion', 'all', 'arm'),
                rows, f'{result["domain"]}, {result["method"]}, {result["backend"]}, '
                f'{result["world"]}')
    everything = result['all']
    missing = everything['planned'] - everything['episodes']
    print('perceive to all: CPU milliseconds, arm: seconds on its clock; medians per move '
          f'that was carried out; solved: by the truth; of {everything["planned"]} episodes '
          f'{missing} are missing (counted as not solved), {everything["infrastructure"]} ended '
          'in errors apart from motion (not counted)')
    for title, counts in (('moves by the report', everything['causes']),
                          ('moves by the truth', everything['outcomes'])):
        print(f'{title}: ' + (', '.join(f'{k} {v}' for k, v in counts.items()) or '-'))
    for move in everything['failed']:
        print(f'  {move["episode_id"]} {move["action"]}: {move["cause"]} '
              f'(truth: {move["outcome"] or "error"}) {move["message"]}')
    for kind in ('unsolved', 'errors'):
        for text in everything[kind]:
            print(f'{kind}: {text}')
