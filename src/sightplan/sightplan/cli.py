"""The ``sightplan`` command."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Sequence

import sightplan
from sightplan.commands.flags import CommandParser
from sightplan.commands.frame import log_to_stderr
from sightplan.commands.plugins import add_commands, missing_package


def make_parser(argv: Sequence[str] = ()) -> CommandParser:
    """The command line; modules import what is heavy only when they run.

    Args:
        argv: what will be parsed: where it begins with a command, the parser knows no other one,
            and is made several times as fast.
    """
    parser = CommandParser(
        prog='sightplan',
        description='Visual planning for robots: see, symbols, plan, act, measure.')
    parser.add_argument('--version', action='version',
                        version=f'sightplan {sightplan.__version__}')
    parser.add_argument('-v', '--verbose', action='store_true', help='log what happens')
    subparsers = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    command = next((word for word in argv if word not in ('-v', '--verbose')), '')
    if package := missing_package(command):
        parser.error(f'{command} is a command of {package}, which is not installed '
                     f'(pip install {package})')
    add_commands(subparsers, command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sub-command; exit codes: 0 done, 1 failed, 2 bad usage."""
    return run(argv)


def run(argv: Sequence[str] | None = None, before: Callable[[], object] = lambda: None) -> int:
    """Run a sub-command; see ``main``. ``before`` is called once the command line is read."""
    argv = sys.argv[1:] if argv is None else argv
    parser = make_parser(argv)
    arguments, left = parser.parse_known_args(argv)
    if left and arguments.command == 'up' and all(
            ':=' in word and not word.startswith('-') for word in left):
        arguments.arguments += left  # argparse takes a list up to the next option only
    elif left:
        parser.refuse(arguments, left)
    log_to_stderr(logging.INFO if arguments.verbose else logging.WARNING)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a model may say what no terminal can show
        sys.stdout.reconfigure(errors='backslashreplace')
    before()
    try:
        code: int = arguments.main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # as with "| head": nobody reads on, and nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


if __name__ == '__main__':
    sys.exit(main())
