"""``sightplan label``: labels by hand for recorded pictures, in a local web page."""

from __future__ import annotations

import contextlib
import dataclasses
import getpass
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import argument, option
from sightplan.commands.frame import (
    DONE,
    Result,
    add_command,
    note,
    print_table,
    stop_flag,
)
from sightplan.console.progress import EpisodeBar
from sightplan.model import AskPurpose, InputError
from sightplan.model.perception import QUESTION_PURPOSES

if TYPE_CHECKING:
    from sightplan_report.labelling.local_page import LocalServer
    from sightplan_report.labelling.tasks import Tasks

_MOST_WARNINGS = 8  # number of warnings printed; damaged bags have one or more each

_EXAMPLES = """\
examples:
  sightplan label runs/arm/bags
  sightplan label runs/arm --out ann.jsonl --who ann --sample 300
  sightplan label runs/arm --predicate on --purpose effect --limit 20
  sightplan label --summary ann.jsonl bob.jsonl
  sightplan replay runs/arm --labels ann.jsonl --labels bob.jsonl

A page in the browser shows each picture with the questions that were asked about it; y, n, u
label, Enter goes on, ? shows all keys. Each label is on the disk before it is shown as saved.
Ctrl-C ends; the same command goes on. What models answered stays hidden, so that it does not sway
you (--show-answers), and ground truth is never read. The page is served to this machine alone.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelArguments:
    """Arguments of ``sightplan label``."""

    bags: tuple[str, ...] = argument(
        'bag, run, sweep, or a folder of these', metavar='BAG_OR_FOLDER', default=())
    out: str = option(
        'labels.jsonl', 'file that labels are added to (default: labels.jsonl)', metavar='FILE')
    who: str = option(
        '', 'who labels (default: your login name); others have labels of their own',
        metavar='NAME')
    purpose: tuple[str, ...] = option(
        (), 'only questions asked for this purpose (repeatable): '
        f'{", ".join(purpose.value for purpose in QUESTION_PURPOSES)}', metavar='NAME',
        choices=tuple(purpose.value for purpose in QUESTION_PURPOSES))
    predicate: tuple[str, ...] = option(
        (), 'only questions about this predicate (repeatable)', metavar='NAME')
    sample: int = option(
        0, 'N questions drawn at random, as many of each predicate and answer of the models',
        low=0)
    seed: int = option(0, 'of the draw', metavar='S')
    limit: int = option(0, 'only N pictures', low=0)
    show_answers: bool = option(
        False, 'show what models answered; your labels are then less independent')
    port: int = option(0, 'port of the page (default: any free one)', low=0, high=65535)
    no_browser: bool = option(False, 'only print the address of the page')
    summary: tuple[str, ...] = option(
        (), 'count the labels in files, and how far people agree; no page', metavar='FILE',
        listed=True)


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan label``."""
    add_command(
        subparsers, 'label', label, 'label the pictures of bags by hand, in a local web page',
        'Show recorded pictures with the questions asked about them, and take labels.',
        settings=LabelArguments, examples=_EXAMPLES,
        exits='0 done; 1 interrupted while bags were read, or failed; 2 bad '
        'usage, no pictures with questions, or a malformed file')


def label(arguments: LabelArguments) -> Result:
    """Serve the page for labelling, or print a summary of labels."""
    if arguments.summary:
        return _summarise(arguments)
    if not arguments.bags:
        raise InputError('name at least one bag or a folder with bags (or --summary FILE)')
    return _label(dataclasses.replace(arguments, who=_person(arguments.who)))


def _person(given: str) -> str:
    """Name of the labelling person: as given, else the login name; '' if there is none.

    Raises:
        InputError: it is not one line.
    """
    if not given:
        with contextlib.suppress(KeyError, OSError):
            given = getpass.getuser()
    if not given.isprintable():
        raise InputError(f'--who {given!r}: must be a name on one line')
    return given


def _summarise(arguments: LabelArguments) -> Result:
    from sightplan_report.labelling import read_labels
    if arguments.bags:
        raise InputError('--summary reads files of labels alone; leave the bags out')
    summary = read_labels(arguments.summary).summary()
    _warn(summary['warnings'])
    _show_summary(summary)
    return summary, DONE


def _show_summary(summary: dict[str, Any]) -> None:
    print(f'{summary["labels"]} labels on {summary["questions"]} questions about '
          f'{summary["images"]} pictures; {summary["decided"]} questions are decided')
    for title, key in (('labels by predicate', 'predicates'), ('labels by person', 'people')):
        print_table(('', 'yes', 'no', 'unclear'), [
            (name or '(not named)', *counts.values()) for name, counts in summary[key].items()],
            title)
    if summary['agreement']:
        print_table(('', 'n', 'alike', 'kappa'), [
            (f'{pair["first"] or "(not named)"}, {pair["second"] or "(not named)"}', pair['n'],
             pair['agreed'], '-' if pair['kappa'] is None else f'{pair["kappa"]:.3f}')
            for pair in summary['agreement']], "agreement of people; kappa: Cohen's")


def _label(arguments: LabelArguments) -> Result:
    from sightplan_report.labelling import LabelFile
    from sightplan_report.labelling.server import LabelServer
    from sightplan_report.labelling.session import LabellingSession
    tasks = _tasks(arguments)
    file = LabelFile(arguments.out)
    try:
        _warn((*file.warnings, *tasks.warnings))
        session = LabellingSession(tasks, file, arguments.who, arguments.show_answers)
        with LabelServer(session, arguments.port, _LabelCounter(lambda: session.labelled,
                                                           tasks.questions)) as server:
            note(f'{tasks.questions} questions about {len(tasks.images)} pictures; '
                 f'{session.labelled} labelled by {arguments.who or "you"} already\n'
                 f'open {server.url}\nCtrl-C ends')
            serve(server, browser=not arguments.no_browser)
        note(f'\n{session.labelled} of {tasks.questions} questions are labelled: {file.path}')
        return {'labelled': session.labelled, 'questions': tasks.questions,
                'images': len(tasks.images), 'who': arguments.who, 'file': str(file.path)}, DONE
    finally:
        file.close()


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings[:_MOST_WARNINGS]:
        note(f'sightplan label: {warning}')
    if len(warnings) > _MOST_WARNINGS:
        note(f'sightplan label: ... and {len(warnings) - _MOST_WARNINGS} more such lines')


def _tasks(arguments: LabelArguments) -> Tasks:
    from sightplan_report.labelling.tasks import choose, collect_bags
    with EpisodeBar(transient=True) as bar:
        bags = collect_bags(arguments.bags, lambda done, of: bar.stage('bags', done, of))
    return choose(bags, [AskPurpose(name) for name in arguments.purpose], arguments.predicate,
                  arguments.sample, arguments.seed, arguments.limit)


class _LabelCounter:
    """Line on a terminal with the number of labelled questions."""

    def __init__(self, labelled: Callable[[], int], of: int) -> None:
        self._labelled, self._of = labelled, of

    def __call__(self) -> None:
        if sys.stderr.isatty():
            print(f'\r[{self._labelled()}/{self._of}] labelled ', end='', file=sys.stderr,
                  flush=True)


def serve(server: LocalServer, browser: bool, over: Callable[[], bool] = lambda: False) -> None:
    """Serve a page until a person interrupts.

    Args:
        server: that listens.
        browser: whether to open the page, where there is a screen.
        over: once true, there is nothing more to serve.
    """
    import threading
    import webbrowser
    with stop_flag('') as stop:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        if browser and (sys.platform == 'darwin' or os.environ.get('DISPLAY')
                        or os.environ.get('WAYLAND_DISPLAY')):
            webbrowser.open(server.url_once)
        stop.wait(over)
        server.shutdown()
        thread.join()
