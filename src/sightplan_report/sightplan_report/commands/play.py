"""``sightplan play``: a person plays the episodes of a run, in a local web page."""

from __future__ import annotations

import contextlib
import getpass
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import option, option_like
from sightplan.commands.frame import DONE, FAILED, Result, add_command, note, read_options
from sightplan.commands.shared_flags import domain_flag
from sightplan.console.progress import ProgressBar
from sightplan.console.results_table import show
from sightplan.model import InputError
from sightplan.runs import RunSettings
from sightplan.runs.suite_domain import with_domain_of_suite
from sightplan_report.commands.label import serve

if TYPE_CHECKING:
    from sightplan_report.playing import Game


METHOD = 'human'
_DOMAIN, _SPLIT = 'sliding', 'geoms'
_LONGEST_NAME = 60
_FAREWELL_S = 3.0  # time for the page to learn that nothing is left to play
_POLL_S = 0.05

_EXAMPLES = """\
examples:
  sightplan play --player ann --episodes 10
  sightplan play --player ann --out runs/ann --world-option view=2d
  sightplan play --split tiles --seed 3 --goal-beside
  sightplan play --suite ivispar --problems my_puzzles/

A page in the browser shows the puzzle; hold Ctrl to see the goal. Choose a piece and press an
arrow key, or type commands: "red cube left, blue sphere up 2". The page is served to this machine
alone. Results are those of "sightplan run" (run.json, episodes.jsonl, summary.json in --out), with
the method "human" and the model "human NAME". Ctrl-C ends; the same command with the same --out
goes on, and begins with the puzzle that was not finished. Puzzles of your own (--problems DIR)
have iVISPAR's rules (the goal is shown, a puzzle ends at it) and measures with --suite ivispar,
or if their folder is named like a split (geoms, tiles); otherwise no suite's rules hold.
"""


_WHAT, _WHERE = 'what to play', 'results'
"""Headings of the help text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayArguments:
    """Arguments of ``sightplan play``."""

    player: str = option(
        '', 'who plays, for the records (default: your login name); each person has a run of '
        'their own', metavar='NAME', group='who plays, and where')
    port: int = option(
        0, 'port of the page (default: any free one)', low=0, high=65535,
        group='who plays, and where')
    no_browser: bool = option(
        False, 'only print the address of the page', group='who plays, and where')
    goal_beside: bool = option(
        False, 'show the goal beside the board from the start (a button of the page does so, too)',
        group='who plays, and where')
    suite: str = option_like(RunSettings, 'suite', metavar='NAME|FOLDER', group=_WHAT)
    domain: str | None = domain_flag(optional=True, group=_WHAT)
    split: str = option_like(RunSettings, 'split', default=_SPLIT, group=_WHAT)
    problems: str = option_like(RunSettings, 'problems', metavar='DIR', group=_WHAT)
    episodes: int = option_like(RunSettings, 'episodes', group=_WHAT)
    seed: int = option_like(RunSettings, 'seed', group=_WHAT)
    max_actions: int = option_like(RunSettings, 'max_actions', group=_WHAT)
    stop_at_goal: str = option_like(RunSettings, 'stop_at_goal', group=_WHAT)
    goal: str = option_like(RunSettings, 'goal', group=_WHAT)
    failure_probability: float = option_like(RunSettings, 'failure_probability', group=_WHAT)
    world_option: tuple[str, ...] = option(
        (), 'setting of the simulated world (repeatable), such as view=2d, view=text, width=1200',
        metavar='KEY=VALUE', group=_WHAT)
    out: str = option_like(RunSettings, 'out', metavar='DIR', group=_WHERE)
    resume: bool = option_like(RunSettings, 'resume', group=_WHERE)
    retry_errors: bool = option_like(RunSettings, 'retry_errors', group=_WHERE)
    failure_images: bool = option_like(RunSettings, 'failure_images', group=_WHERE)
    bags: str = option_like(RunSettings, 'bags', group=_WHERE)
    bags_kept: int = option_like(RunSettings, 'bags_kept', group=_WHERE)


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan play``."""
    add_command(
        subparsers, 'play', play, 'play episodes yourself, in a local web page',
        'Play puzzles in a local web page; the results are those of a run of any method.',
        settings=PlayArguments, examples=_EXAMPLES,
        exits='0 done, or ended by Ctrl-C; 1 failed, or not one episode could '
        'be scored; 2 bad usage', kept='finished episodes are kept')


def settings_from(arguments: PlayArguments) -> RunSettings:
    """The settings of the run.

    Raises:
        InputError: an option cannot be used; names it.
    """
    world = read_options(arguments.world_option, None, '--world-option')
    if world.get('pictures') == 'none' and world.get('view') != 'text':
        raise InputError('--world-option pictures=none: a person would see nothing; leave it out, '
                         'or add --world-option view=text')
    names = ('suite', 'split', 'problems', 'episodes', 'seed', 'max_actions', 'stop_at_goal',
             'goal', 'failure_probability', 'out', 'resume', 'retry_errors', 'failure_images',
             'bags', 'bags_kept')
    values = {field: getattr(arguments, field) for field in names}
    values['domain'] = arguments.domain or with_domain_of_suite(
        values, ('split',)).get('domain', _DOMAIN)
    return RunSettings(**values, method=METHOD, world_options=world)


def player_name(given: str) -> str:
    """Name of the player: as given, else the login name; '' if there is none.

    Raises:
        InputError: it is too long, or is not one line.
    """
    if not given:
        with contextlib.suppress(KeyError, OSError):
            given = getpass.getuser()
    name = given.strip()
    if not name.isprintable() or len(name) > _LONGEST_NAME:
        raise InputError(f'--player {name!r}: must be a name on one line, of at most '
                         f'{_LONGEST_NAME} characters')
    return name


def play(arguments: PlayArguments) -> Result:
    """Let a person play; returns the summary, and 1 if no episode could be scored."""
    from sightplan.domains import load_domain
    from sightplan_report.playing import Game
    player = player_name(arguments.player)
    settings = settings_from(arguments)
    game = Game(load_domain(settings.domain), player, arguments.goal_beside)
    try:
        with ProgressBar() as bar:
            summary = _played(settings, game, bar, arguments)
    finally:
        game.close()
    show(summary)
    if summary['interrupted']:
        note(f'sightplan play: ended after {summary["items"]} of {summary["planned"]} puzzles; '
             f'the same command with --out {summary["out"]} goes on from there')
    failed = bool(summary['items']) and not summary['scored']
    return summary, FAILED if failed else DONE


def _played(settings: RunSettings, game: Game, bar: ProgressBar,
            arguments: PlayArguments) -> dict[str, Any]:
    """Serve the page while the episodes run in a thread of their own; the summary."""
    from sightplan_report.playing.server import PlayServer
    with PlayServer(game, arguments.port) as server:
        running = _start(settings, game, bar)
        while not (game.open or running.done()):
            time.sleep(_POLL_S)
        if not running.done():
            bar.say(f'open {server.url}\nCtrl-C ends')
            serve(server, not arguments.no_browser, _PlayIsOver(game, running))
            game.close()
        return running.result()


def _start(settings: RunSettings, game: Game, bar: ProgressBar) -> Future[dict[str, Any]]:
    """Start the run in a thread; a second Ctrl-C does not wait for it."""
    from sightplan.agent.methods.human import Policy, Settings
    from sightplan.runs import run
    found: Future[dict[str, Any]] = Future()

    def work() -> None:
        try:
            found.set_result(run(
                settings, _CompositeProgress(bar, game), cancelled=lambda: game.closed,
                recorders=[game], policy=Policy(Settings(), game)))
        except BaseException as error:
            found.set_exception(error)
        game.ended()
    threading.Thread(target=work, daemon=True).start()
    return found


class _PlayIsOver:
    """Check whether nothing is left to play, and the page was told or has stopped asking."""

    def __init__(self, game: Game, running: Future[dict[str, Any]]) -> None:
        self._game, self._running = game, running
        self._until: float | None = None

    def __call__(self) -> bool:
        if not self._running.done():
            return False
        now = time.monotonic()
        self._until = self._until or now + _FAREWELL_S
        return self._game.end_shown or now > self._until


class _CompositeProgress:
    """Progress for the terminal first, then for the page, which may wait.

    The terminal tells no more than the page: no names of puzzles, and not how they ended.
    """

    def __init__(self, bar: ProgressBar, game: Game) -> None:
        self._bar, self._game = bar, game

    def started(self, out: Path, done: Sequence[Mapping[str, Any]], total: int,
                skipped: Sequence[str]) -> None:
        for text in skipped:
            self._bar.say(f'skipped: {text}')
        self._bar.say(f'results: {out}' + (f' (done already: {len(done)})' if done
                                           else ''))
        self._bar.begin('puzzles', total, len(done))
        self._game.started(out, done, total, skipped)

    def item(self, line: Mapping[str, Any]) -> None:
        bar = self._bar
        bar.update(bar.done + 1)
        if bar.plain:
            ended = f'error: {line["error"]}' if line['error'] else f'{line["steps"]} moves'
            bar.say(f'[{bar.done}/{bar.total}] {ended}, {line["seconds"]:.1f} s')
        self._game.item(line)
