"""The ``sightplan`` command."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence

import sightplan
from sightplan.commands.plugins import COMMANDS, add_plugins

SUBCOMMANDS = tuple(f'sightplan.commands.{name}' for name in (
    'run', 'ask', 'locate', 'sweep', 'up', 'problems', 'prompts', 'estimate', 'calibrate',
    'constraints', 'priors', 'failures', 'replay', 'label', 'play', 'paths', 'report', 'suite',
    'doctor'))
"""Modules with ``add_parser(subparsers)``, whose parser sets ``main``: Namespace to exit code.

Other packages add theirs by entry points: ``sightplan.commands.plugins``.
"""


def make_parser() -> argparse.ArgumentParser:
    """The whole command line; modules import what is heavy only when they run."""
    parser = argparse.ArgumentParser(
        prog='sightplan',
        description='Visual planning for robots: see, symbols, plan, act, measure.')
    parser.add_argument('--version', action='version',
                        version=f'sightplan {sightplan.__version__}')
    parser.add_argument('-v', '--verbose', action='store_true', help='log what happens')
    subparsers = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    for name in SUBCOMMANDS:
        importlib.import_module(name).add_parser(subparsers)
    add_plugins(subparsers, COMMANDS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sub-command; exit codes: 0 done, 1 failed, 2 bad usage."""
    arguments = make_parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO if arguments.verbose else logging.WARNING,
                        format='%(levelname)s %(name)s: %(message)s', stream=sys.stderr)
    try:
        code: int = arguments.main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # as with "| head": nobody reads on, and nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


if __name__ == '__main__':
    sys.exit(main())
