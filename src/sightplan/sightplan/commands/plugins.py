"""Commands that other packages bring: entry points of ``sightplan.commands``.

A package declares them in its ``setup.py``, for example::

    entry_points={
        'sightplan.commands': ['arm = sightplan_arm.command:add_parser'],
    }

``sightplan arm`` is there as soon as the package is installed. Each
entry point is a function ``add_parser(subparsers)`` that adds one parser with the entry point's
name and sets its ``main`` (Namespace to exit code) with ``set_defaults``. It runs whenever any
command does: its module imports what is heavy in ``main`` only.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from typing import Any

from sightplan.model.plugins import entry_points

COMMANDS = 'sightplan.commands'


def add_plugins(subparsers: Any, group: str) -> None:
    """Add the parsers of all entry points of a group, sorted by name.

    One that cannot be used takes nothing else with it: its command is listed as broken, and says
    what is wrong when it is run.
    """
    for point in entry_points(group).values():
        if point.name in subparsers.choices:
            continue  # a command of the core
        trial = argparse.ArgumentParser(prog='sightplan').add_subparsers()
        try:
            add_parser = point.load()
            add_parser(trial)
            if list(trial.choices) != [point.name]:
                raise ValueError(f'it adds the commands {sorted(trial.choices)}')
        except (Exception, SystemExit) as error:
            _add_broken(subparsers, point, f'{type(error).__name__}: {error}')
        else:
            add_parser(subparsers)


def _add_broken(subparsers: Any, point: importlib.metadata.EntryPoint, why: str) -> None:
    def main(_: argparse.Namespace) -> int:
        print(f'sightplan: {point.name} cannot be used: {point.value} ({point.group}): {why}; '
              'fix or reinstall the package that brings it', file=sys.stderr)
        return 1
    parser = subparsers.add_parser(point.name, help='(cannot be used; run it to see why)')
    parser.add_argument('rest', nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(main=main)
