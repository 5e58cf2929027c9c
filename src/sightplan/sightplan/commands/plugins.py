"""Commands are found by entry points of the group ``sightplan.commands``, ours as a stranger's.

A package declares them in its ``setup.py``, for example::

    entry_points={
        'sightplan.commands': ['arm = sightplan_arm.command:add_parser'],
    }

``sightplan arm`` is there as soon as the package is installed. Each
entry point is a function ``add_parser(subparsers)`` that adds one parser with the entry point's
name and sets its ``main`` (Namespace to exit code) with ``set_defaults``. Its module imports what
is heavy in ``main`` only.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from typing import Any

from sightplan.model.plugins import entry_points

COMMANDS = 'sightplan.commands'

BROUGHT_BY = {
    'sightplan_belief': ('ask', 'calibrate', 'constraints', 'estimate', 'locate', 'priors'),
    'sightplan_models': ('serve',),
    'sightplan_suites': ('paths', 'plan'),
    'sightplan_report': ('explain', 'failures', 'label', 'play', 'replay', 'report'),
    'sightplan_arm': ('arm',),
    'sightplan_nodes': ('do', 'security'),
    'sightplan_bench': ('bench',),
}
"""Packages of ours that need not be installed, and the commands that each brings."""


def missing_package(command: str) -> str:
    """The package of ours that brings a command and is not installed; '' if there is none."""
    if command in entry_points(COMMANDS):
        return ''
    return next((package for package, commands in BROUGHT_BY.items() if command in commands), '')


def add_commands(subparsers: Any, only: str = '') -> None:
    """Add the parsers of the commands of all packages, sorted by name.

    One that cannot be used takes nothing else with it: its command is listed as broken, and says
    what is wrong when it is run.

    Args:
        subparsers: of ``argparse``.
        only: name of the one command to add, if it is there; '': all.
    """
    points = entry_points(COMMANDS)
    for point in [points[only]] if only in points else points.values():
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
