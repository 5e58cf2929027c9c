"""The ``sightplan`` command."""

from __future__ import annotations

import argparse
import importlib
import io
import logging
import os
import sys
from collections.abc import Sequence

import sightplan
from sightplan.commands.frame import log_to_stderr
from sightplan.commands.plugins import COMMANDS, add_plugins

SUBCOMMANDS = tuple(f'sightplan.commands.{name}' for name in (
    'run', 'ask', 'locate', 'sweep', 'up', 'problems', 'prompts', 'estimate', 'calibrate',
    'constraints', 'priors', 'failures', 'explain', 'replay', 'label', 'play', 'paths', 'report',
    'suite', 'doctor'))
"""Modules with ``add_parser(subparsers)``, whose parser sets ``main``: Namespace to exit code.

Other packages add theirs by entry points: ``sightplan.commands.plugins``.
"""


def make_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The command line; modules import what is heavy only when they run.

    Args:
        argv: what will be parsed: where it begins with one of our own commands, the parser knows
            no other one, and is made several times as fast.
    """
    parser = argparse.ArgumentParser(
        prog='sightplan',
        description='Visual planning for robots: see, symbols, plan, act, measure.')
    parser.add_argument('--version', action='version',
                        version=f'sightplan {sightplan.__version__}')
    parser.add_argument('-v', '--verbose', action='store_true', help='log what happens')
    subparsers = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    command = next((word for word in argv if word not in ('-v', '--verbose')), '')
    if f'sightplan.commands.{command}' in SUBCOMMANDS:
        importlib.import_module(f'sightplan.commands.{command}').add_parser(subparsers)
        return parser
    for name in SUBCOMMANDS:
        importlib.import_module(name).add_parser(subparsers)
    add_plugins(subparsers, COMMANDS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sub-command; exit codes: 0 done, 1 failed, 2 bad usage."""
    argv = sys.argv[1:] if argv is None else argv
    parser = make_parser(argv)
    arguments, left = parser.parse_known_args(argv)
    if left and arguments.command == 'up' and all(
            ':=' in word and not word.startswith('-') for word in left):
        arguments.arguments += left  # argparse takes a list up to the next option only
    elif left:
        parser.error(f'unrecognized arguments: {" ".join(left)}')
    log_to_stderr(logging.INFO if arguments.verbose else logging.WARNING)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a model may say what no terminal can show
        sys.stdout.reconfigure(errors='backslashreplace')
    try:
        code: int = arguments.main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # as with "| head": nobody reads on, and nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


if __name__ == '__main__':
    sys.exit(main())
