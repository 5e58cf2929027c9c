"""The frame of all sub-commands: parsers, ``--json``, errors, exit codes, options and signals.

A command is a settings dataclass (see ``flags``) and a function that takes an instance of it and
returns its result, plain JSON data or None, and its exit code. What it prints is for people. With
``--json`` that goes to standard error, and the result is the last line of standard output.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import logging
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from sightplan.commands.flags import add_flags, settings_of
from sightplan.console.tables import table_lines, terminal_width
from sightplan.model import (
    InfrastructureError,
    InputError,
    SightplanError,
    user_path,
)
from sightplan.model.option_pairs import read_options as read_options
from sightplan.model.redaction import Formatter, print_exception, without_secrets
from sightplan.model.settings import NoSettings

DONE, FAILED, USAGE = 0, 1, 2
"""Exit codes of all commands."""

Result = tuple[Mapping[str, Any] | None, int]
"""The return value of a command: its result, if it has one, and its exit code."""

Main = Callable[[Any], Result]
"""A command: a function of its settings."""

_log = logging.getLogger(__name__)
_stdout: ContextVar[TextIO | None] = ContextVar('standard output of the command', default=None)
_json: ContextVar[bool] = ContextVar('whether the command was given --json', default=False)


def log_to_stderr(level: int) -> None:
    """Write a command's log, from a level on, and unexpected exceptions to standard error.

    Both are written without secrets.
    """
    sys.excepthook = print_exception
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter('%(levelname)s %(name)s: %(message)s'))
    logging.basicConfig(level=level, handlers=[handler])


def add_command(subparsers: Any, name: str, main: Main, about: str, description: str = '', *,
                settings: type = NoSettings, examples: str = '',
                exits: str = '0 done; 2 bad usage', kept: str = '',
                failures: tuple[type[SightplanError], ...] = (),
                ) -> argparse.ArgumentParser:
    """Add a command, with the option ``--json``.

    Args:
        subparsers: what ``add_subparsers`` or ``add_group`` returned.
        name: of the command.
        main: see the module.
        about: one line for the list of commands.
        description: for ``--help``; '': the line ``about``.
        settings: dataclass that its flags are made from; ``main`` gets an instance.
        examples: text below the options.
        exits: the exit codes and what they mean.
        kept: what is kept when a person interrupts, for the message.
        failures: errors that are no bad usage although they are an InputError.

    Returns:
        Its parser.
    """
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name, help=about, description=description or f'{about[0].upper()}{about[1:]}.',
        epilog=f'{examples}\nexit codes: {exits}.'.lstrip(),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--json', action='store_true',
                        help='print the result as JSON, the last line of standard output; all '
                             'else goes to standard error')
    add_flags(parser, settings)
    parser.set_defaults(command_parser=parser, command_settings=settings, main=functools.partial(
        _call, parser.prog, main, kept, failures))
    return parser


def add_group(subparsers: Any, name: str, about: str, description: str = '',
              examples: str = '') -> Any:
    """Add a command that has sub-commands; returns what ``add_command`` adds them to."""
    parser = subparsers.add_parser(
        name, help=about, description=description or f'{about[0].upper()}{about[1:]}.',
        epilog=f'{examples}\nexit codes: 0 done; 1 failed; 2 bad usage.'.lstrip(),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    return parser.add_subparsers(dest=f'{name}_command', required=True, metavar='COMMAND')


def _call(prog: str, main: Main, kept: str, failures: tuple[type[SightplanError], ...],
          arguments: argparse.Namespace) -> int:
    """Run a command; an error becomes a message and an exit code."""
    token = _stdout.set(sys.stdout)
    _json.set(arguments.json)
    try:
        with contextlib.redirect_stdout(sys.stderr if arguments.json else sys.stdout):
            result, code = main(settings_of(arguments))
        if arguments.json and result is not None:
            emit(result)
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        return _over(prog, f'interrupted{"; " if kept else ""}{kept}', FAILED)
    except FileNotFoundError as error:
        return _over(prog, f'{error.filename or "a file"}: {error.strerror or error}; correct the '
                     'path, or put the file there', FAILED)
    except OSError as error:
        return _over(prog, f'{error.filename or "output"}: {error.strerror or error}; choose '
                     'another path', FAILED)
    except SightplanError as error:
        known = not isinstance(error, InfrastructureError) or type(error) is InfrastructureError
        usage = isinstance(error, InputError) and not isinstance(error, failures)
        return _over(prog, str(error) if known else f'{type(error).__name__}: {error}',
                     USAGE if usage else FAILED)
    finally:
        _stdout.reset(token)
    return code


def _over(prog: str, message: str, code: int) -> int:
    _log.info('the command ended early', exc_info=True)
    print(f'{prog}: {without_secrets(message)}', file=sys.stderr, flush=True)
    return code


def file_to_write(given: Path | str, option: str = '--out') -> Path:
    """Return the path of a file to write, checked before any work is done.

    Raises:
        InputError: the path is a folder, or its folder is missing; names option, path and remedy.
    """
    path = user_path(given)
    if path.is_dir():
        raise InputError(f'{option} {given} is a folder (name a file in it)')
    if not path.parent.is_dir():
        raise InputError(f'{option} {given}: there is no folder {path.parent} (make it first)')
    return path


def json_wanted() -> bool:
    """Whether the command that runs was given ``--json``."""
    return _json.get()


def emit(result: Mapping[str, Any]) -> None:
    """Print a line of JSON on standard output, of a command that has many results."""
    print(json.dumps(result, allow_nan=False), file=_stdout.get() or sys.stdout, flush=True)


def note(text: str) -> None:
    """Print a line on standard error, whatever is quoted in it."""
    print(text.encode('utf-8', 'backslashreplace').decode(), file=sys.stderr, flush=True)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]], title: str = '', *,
                left: int = 1, bold: Collection[int] = ()) -> None:
    """Print a table.

    Args:
        headings: of the columns; all empty for a table without a first line.
        rows: their cells.
        title: above it.
        left: number of columns that are flush left; the others are flush right.
        bold: numbers of the rows that a terminal shows in bold, as it does the headings.
    """
    width, headed = terminal_width(), any(headings)
    if title:
        print(title)
    found = table_lines(headings if headed else (), rows, left=left, width=width)
    for number, lines in enumerate(found, -1 if headed else 0):
        strong = width and (number == -1 or number in bold)
        for line in lines:
            print(f'\033[1m{line}\033[0m' if strong else line)


def read_numbers(text: str | None, flag: str, names: Sequence[str]) -> Any:
    """Numbers from ``1,2.5``, as many as there are names; None for None.

    Args:
        text: the option's value.
        flag: the option, for the message.
        names: what each number is called, such as X and Y.

    Raises:
        InputError: they are other than that.
    """
    if text is None:
        return None
    try:
        numbers = tuple(float(part) for part in text.split(','))
    except ValueError:
        numbers = ()
    if len(numbers) != len(names):
        raise InputError(f'{flag} {text!r} must have the form {",".join(names)}')
    return numbers


class Stop:
    """Becomes true at the first Ctrl-C or SIGTERM; the second one interrupts at once.

    As long as nobody has asked, while a model loads or scenes are drawn, there is no step that
    could end, and the first one interrupts at once.
    """

    def __init__(self, message: str) -> None:
        """Print ``message`` at the first signal, unless it is ''."""
        self._message, self._set, self._heeded = message, False, False

    def __call__(self) -> bool:
        """Return whether to stop."""
        self._heeded = True
        return self._set

    def wait(self, over: Callable[[], bool] = lambda: False) -> None:
        """Wait until it is time to stop, or ``over`` is true."""
        while not (self() or over()):
            time.sleep(0.05)  # an Event might deadlock: handlers run in this very thread

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: set the flag, or raise KeyboardInterrupt."""
        if self._set or not self._heeded:
            raise KeyboardInterrupt
        self._set = True
        if self._message:
            note(f'\n{self._message}')


@contextlib.contextmanager
def stop_flag(message: str = 'stopping after the current step; once more to stop at once',
              ) -> Iterator[Stop]:
    """Turn signals into a flag, and put the handlers back afterwards."""
    stop = Stop(message)
    try:
        before = {number: signal.signal(number, stop.handle)
                  for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread: the caller has the signals
        yield stop
        return
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
