"""``sightplan play``: a person plays the episodes of a run, in a local web page."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.domain_argument import add_domain
from sightplan.commands.frame import DONE, FAILED, Result, add_command, note, read_options
from sightplan.console.progress import ProgressBar
from sightplan.console.results_table import show
from sightplan.model import InputError, settings_fields
from sightplan_report.commands.label import serve

if TYPE_CHECKING:
    from sightplan.runs import RunSettings
    from sightplan_report.playing import Game

METHOD = 'human'
_DOMAIN, _SPLIT = 'sliding', 'geoms'
_PORTS = range(65536)
_LONGEST_NAME = 60
_FAREWELL_S = 3.0  # for the page to learn that nothing is left
_POLL_S = 0.05

_EXAMPLES = """\
examples:
  sightplan play --player ann --episodes 10
  sightplan play --player ann --out runs/ann --world-option view=2d
  sightplan play --split tiles --seed 3
  sightplan play --suite ivispar --problems my_puzzles/ --goal pictured --stop-at-goal yes

A page in the browser shows the puzzle; hold Ctrl to see the goal. Choose a piece and press an
arrow key, or type commands: "red cube left, blue sphere up 2". The page is served to this machine
alone. Results are those of "sightplan run" (run.json, episodes.jsonl, summary.json in --out), with
the method "human" and the model "human NAME". Ctrl-C ends; the same command with the same --out
goes on, and begins with the puzzle that was not finished. Problems of your own (--problems) belong
to no suite unless you name one: --suite ivispar --problems DIR has its measures (distances,
classes of moves), and --goal pictured --stop-at-goal yes its rules.
"""


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan play``."""
    from sightplan.runs import RunSettings
    about = {f.name: f for f in settings_fields(RunSettings)}
    parser = add_command(
        subparsers, 'play', play, 'play episodes yourself, in a local web page',
        'Play puzzles in a local web page; the results are those of a run of any method.',
        examples=_EXAMPLES, exits='0 done, or ended by Ctrl-C; 1 failed, or not one episode could '
        'be scored; 2 bad usage', kept='finished episodes are kept')

    def add(group: Any, name: str, **extra: Any) -> None:
        info = about[name]
        default = extra.pop('default', info.default)
        extra.setdefault('help', info.description.replace('%', '%%') + (
            f' (default: {default})' if default not in ('', 0) else ''))
        group.add_argument(f'--{name.replace("_", "-")}', default=default, type=info.type,
                           choices=info.choices, **extra)

    who = parser.add_argument_group('who plays, and where')
    who.add_argument('--player', default='', metavar='NAME',
                     help='who plays, for the records (default: your login name); each person '
                     'has a run of their own')
    who.add_argument('--port', type=int, default=0, metavar='N',
                     help='port of the page (default: any free one)')
    who.add_argument('--no-browser', action='store_true',
                     help='only print the address of the page')
    what = parser.add_argument_group('what to play')
    add(what, 'suite', metavar='NAME|FOLDER')
    add_domain(what, optional=True, help='name of an installed domain that can be played by hand, '
               f'or the path of its folder (default: {_DOMAIN})')
    add(what, 'split', default=_SPLIT)
    add(what, 'problems', metavar='DIR')
    what.add_argument('--world-option', action='append', default=[], metavar='KEY=VALUE',
                      help='setting of the simulated world (repeatable), such as view=2d, '
                      'view=text, width=1200')
    for name in ('episodes', 'seed', 'max_actions', 'stop_at_goal', 'goal',
                 'failure_probability'):
        add(what, name)
    where = parser.add_argument_group('results')
    add(where, 'out', metavar='DIR')
    where.add_argument('--no-resume', dest='resume', action='store_false',
                       help='refuse to take up a run that is already in --out')
    where.add_argument('--retry-errors', action=argparse.BooleanOptionalAction, default=True,
                       help=about['retry_errors'].description)
    where.add_argument('--failure-images', action=argparse.BooleanOptionalAction, default=True,
                       help=about['failure_images'].description)
    add(where, 'bags')
    add(where, 'bags_kept')


def settings_from(arguments: argparse.Namespace) -> RunSettings:
    """The settings of the run; the player's name is filled in.

    Raises:
        InputError: an option cannot be used; names it.
    """
    from sightplan.runs import RunSettings
    if arguments.port not in _PORTS:
        raise InputError(f'--port {arguments.port}: must be 0 (any free one) to {_PORTS[-1]}')
    if not arguments.player:
        with contextlib.suppress(KeyError, OSError):
            arguments.player = getpass.getuser()
    name = arguments.player = arguments.player.strip()
    if not name.isprintable() or len(name) > _LONGEST_NAME:
        raise InputError(f'--player {name!r}: must be a name on one line, of at most '
                         f'{_LONGEST_NAME} characters')
    world = read_options(arguments.world_option, None, '--world-option')
    if world.get('pictures') == 'none' and world.get('view') != 'text':
        raise InputError('--world-option pictures=none: a person would see nothing; leave it out, '
                         'or add --world-option view=text')
    names = ('suite', 'split', 'problems', 'episodes', 'seed', 'max_actions', 'stop_at_goal',
             'goal', 'failure_probability', 'out', 'resume', 'retry_errors', 'failure_images',
             'bags', 'bags_kept')
    return RunSettings(**{field: getattr(arguments, field) for field in names}, method=METHOD,
                       domain=arguments.domain or _DOMAIN, world_options=world)


def play(arguments: argparse.Namespace) -> Result:
    """Let a person play; returns the summary, and 1 if nothing could be scored."""
    from sightplan.domains import load_domain
    from sightplan_report.playing import Game
    settings = settings_from(arguments)
    game = Game(load_domain(settings.domain), arguments.player)
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
            arguments: argparse.Namespace) -> dict[str, Any]:
    """Serve the page while the episodes run in a thread of their own; the summary."""
    from sightplan_report.playing.server import PlayServer
    with PlayServer(game, arguments.port) as server:
        running = _start(settings, game, bar)
        while not (game.open or running.done()):
            time.sleep(_POLL_S)
        if not running.done():
            bar.say(f'open {server.url}\nCtrl-C ends')
            serve(server, not arguments.no_browser, _Over(game, running))
            game.close()
        return running.result()


def _start(settings: RunSettings, game: Game, bar: ProgressBar) -> Future[dict[str, Any]]:
    """Begin the run; whoever ends the command twice does not wait for it."""
    from sightplan.agent.methods.human import Policy, Settings
    from sightplan.runs import run
    found: Future[dict[str, Any]] = Future()

    def work() -> None:
        try:
            found.set_result(run(settings, _Together(bar, game), cancelled=lambda: game.closed,
                                 recorders=[game], policy=Policy(Settings(), game)))
        except BaseException as error:
            found.set_exception(error)
        game.ended()
    threading.Thread(target=work, daemon=True).start()
    return found


class _Over:
    """Whether nothing is left to play, and the page knows it or nobody looks at it."""

    def __init__(self, game: Game, running: Future[dict[str, Any]]) -> None:
        self._game, self._running = game, running
        self._until: float | None = None

    def __call__(self) -> bool:
        if not self._running.done():
            return False
        now = time.monotonic()
        self._until = self._until or now + _FAREWELL_S
        return self._game.end_shown or now > self._until


class _Together:
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
