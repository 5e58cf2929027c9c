"""Makes the page of all settings: ``python studies/settings_page.py`` writes docs/settings.md.

Everything on it comes from the dataclasses that commands, runs, methods, models, worlds and nodes
read, and from the files of graphs.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, get_type_hints

from sightplan import cli
from sightplan.commands.flags import Flag, flag_name
from sightplan.commands.suite import verbs_of
from sightplan.graphs.graph import find_graph
from sightplan.model import config_files
from sightplan.runs.suite_finding import suite_names
from study_document import DOCS

PAGE = DOCS / 'settings.md'
PACKAGES = ('sightplan', 'sightplan_models', 'sightplan_belief', 'sightplan_suites',
            'sightplan_report', 'sightplan_arm', 'sightplan_sim', 'sightplan_nodes')

_OPTION = '`--{0}-option NAME=VALUE`; in files of sweeps `{0}_options.NAME`.'
_OF_RUNS = 'Flags of `sightplan run`, fields of `base` and axes in the files of sweeps.'
_OF_ARMS = (
    'Settings of the skills: `skill_options` (blocks) and `pointing_options` (things that are '
    'named or pointed at) of the nodes below, as NAME=VALUE; those of the safety gate: the ROS '
    'parameters `gate.NAME`.')
_OF_METHODS = f'{_OPTION.format("method")} A method has the settings of what it is built on, too.'

GROUPS: dict[str, tuple[str, str]] = {
    'Runs': ('.runs.', _OF_RUNS),
    'Methods': ('.methods.', _OF_METHODS),
    'Models': ('sightplan_models.', _OPTION.format('backend')),
    'Worlds': ('sightplan_sim.', _OPTION.format('world')),
    'Suites': ('.samples', _OPTION.format('suite')),
    'Problems': ('.generator', 'Flags of `sightplan problems generate`.'),
    'Arm': ('sightplan_arm.', _OF_ARMS),
    'Nodes': ('sightplan_nodes.', 'ROS parameters.'),
    'Library': ('sightplan', 'Arguments of functions and classes in Python.'),
}
"""Headings of the page: what marks the modules that belong there, and what is said first."""

_INTRODUCTION = """\
# Settings

Look up what a flag, an option or a parameter means, what it is by default, and which values it
takes. The same text stands in the help of each command (`sightplan run --help`), in the
description of each ROS parameter (`ros2 param describe`), and in the list of the arguments of a
graph (`sightplan up experiment --show-args`).

Programs that call services and actions, such as [`act_in_world.py`](../examples/act_in_world.py),
are [here](graph.md#clients).

This page is generated: `python studies/settings_page.py` writes it.
"""


def page() -> str:
    """The whole page as Markdown."""
    parts = [_INTRODUCTION, '## Commands\n', *_commands(), '## Graphs\n',
             'Arguments of `sightplan up GRAPH NAME:=VALUE` and of `ros2 launch`.\n', *_graphs()]
    classes = list(settings_classes())
    for heading, (mark, about) in GROUPS.items():
        parts += [f'## {heading}\n', about + '\n']
        for cls in [one for one in classes if mark in _path(one)]:
            parts.append(_settings(cls))
            classes.remove(cls)
    assert not classes
    return '\n'.join(parts)


def settings_classes() -> Iterator[type]:
    """All dataclasses of the packages that declare described fields of their own."""
    for package in PACKAGES:
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__,
                                           f'{package}.'):
            if 'commands' in found.name or found.name.endswith('__main__'):
                continue
            source = importlib.util.find_spec(found.name)
            if source is None or source.origin is None or 'param(' not in _text(source.origin):
                continue
            module = importlib.import_module(found.name)
            for cls in vars(module).values():
                if isinstance(cls, type) and cls.__module__ == module.__name__ and _own(cls):
                    yield cls


def _text(path: str) -> str:
    with open(path, encoding='utf-8') as file:
        return file.read()


def _path(cls: type) -> str:
    return f'{cls.__module__}.{cls.__qualname__}'


def _own(cls: type) -> list[dataclasses.Field[Any]]:
    """Described fields that a class declares itself."""
    if not dataclasses.is_dataclass(cls):
        return []
    return [field for field in dataclasses.fields(cls) if 'description' in field.metadata
            and field.name in cls.__annotations__]


def _settings(cls: type) -> str:
    """Heading and table of a class."""
    bases = [base.__name__ for base in cls.__mro__[1:]
             if dataclasses.is_dataclass(base) and _own(base)]
    also = f' Also all of {", ".join(f"`{base}`" for base in bases)}.' if bases else ''
    module = cls.__module__.rpartition('.')[2].lstrip('_')
    name = module if cls.__name__ == 'Settings' else cls.__name__
    if name in ('samples', 'generator', 'settings', 'world'):
        name = cls.__module__.split('.')[-2]
    about = f'`{cls.__module__}`.{also}'
    return f'### {name}\n\n{about}\n\n' + _table(
        ('name', 'default', 'values', 'meaning'),
        [(f'`{field.name}`', _default_of(field), _values(field.metadata),
          field.metadata['description']) for field in _own(cls)])


def _default_of(field: dataclasses.Field[Any]) -> str:
    auto = field.metadata.get('auto')
    return 'auto' if auto is not None and auto == field.default else _default(field.default)


def _commands() -> Iterator[str]:
    shown = {}
    for parser in _parsers(cli.make_parser()):
        shown[parser.prog] = parser.get_default('command_settings')
    for suite in suite_names():
        for parser in _parsers(verbs_of(suite)):
            cls = parser.get_default('command_settings')
            every = cls.__module__ == verbs_of.__module__  # of the verbs that all suites have
            shown[parser.prog.replace(suite, 'NAME') if every else parser.prog] = cls
    for prog, cls in shown.items():
        rows = []
        hints = get_type_hints(cls)
        for field in dataclasses.fields(cls):
            if 'description' not in field.metadata:
                continue
            flag: Flag = field.metadata.get('flag') or Flag()
            default = '' if hints[field.name] is bool and not field.default else _default(
                field.default)
            rows.append((f'`{flag_name(field)}`', default, _values(field.metadata, flag),
                         field.metadata['description']))
        if rows:
            yield f'### {prog}\n\n' + _table(('flag', 'default', 'values', 'meaning'), rows)


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield all parsers of commands below a parser, and the parser itself if it is one."""
    if parser.get_default('command_settings') is not None:
        yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _parsers(below)


def _graphs() -> Iterator[str]:
    for name in config_files('graphs'):
        graph = find_graph(name)
        yield f'### Graph {name}\n\n' + _table(('name', 'default', 'values', 'meaning'), [
            (f'`{one.name}`', _default(one.default),
             ', '.join(one.choices) if one.choices else one.choices_of or '', one.description)
            for one in graph.arguments])


def _default(value: Any) -> str:
    if value is dataclasses.MISSING:
        return 'must be given'
    if value is None or value in ('', ()):
        return ''
    if isinstance(value, float):
        return f'{value:g}'
    if isinstance(value, tuple):
        return ', '.join(_default(one) for one in value)
    return str(value)


def _values(metadata: Mapping[str, Any], flag: Flag | None = None) -> str:
    """Choices or bounds; choices that depend on what is installed are left out."""
    choices = flag.choices if flag is not None else metadata['choices']
    if callable(choices):
        return 'what is installed'
    if choices:
        return ', '.join(str(one.value if isinstance(one, Enum) else one) for one in choices)
    low, high = metadata['low'], metadata['high']
    if metadata.get('auto') is not None and metadata['auto'] == low:
        return f'auto, or 1 to {high:g}'
    if low is None and high is None:
        return ''
    if high is None:
        return f'from {low:g}'
    return f'up to {high:g}' if low is None else f'{low:g} to {high:g}'


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ['---'] * len(headings), *rows]
    return '\n'.join(f'| {" | ".join(map(_cell, line))} |' for line in lines) + '\n'


def _cell(text: str) -> str:
    return ' '.join(text.split()).replace('|', '\\|').replace('<', '&lt;')


if __name__ == '__main__':
    PAGE.write_text(page(), 'utf-8')
    sys.stdout.write(f'written: {PAGE}\n')
