"""The arguments of a graph of episodes, before a node of it starts: its protocol, and checks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from typing import Any

from sightplan.agent import (
    answerer_settings,
    needs_grounder,
    needs_visual_planner,
    policy_settings,
)
from sightplan.model.option_pairs import parse_options
from sightplan.runs.episodes import select_problems
from sightplan.runs.method_check import check_shown
from sightplan.runs.protocols import apply
from sightplan.runs.settings import OURS, RunSettings
from sightplan.runs.suite_finding import sample_suite
from sightplan.runs.suite_rules import FREE, OPTIONS
from sightplan.runs.worlds import shown_with
from sightplan.vlm.api import backend_settings

_NEEDED = ('backend', 'domain', 'method', 'method_options', 'world', 'world_options', 'execution',
           'suite', 'split')
"""Arguments of a graph that runs episodes in a world; other graphs are not checked."""
_PROBLEMS = ('suite', 'domain', 'split', 'problems', 'domain_file', 'prompts')
"""Arguments of a graph that say which problems are solved, and with which prompts."""
_SIMULATED, _ARM = 'sim_bridge', 'arm'


def with_protocol(values: Mapping[str, Any], named: Collection[str] = ()) -> dict[str, Any]:
    """Return the values of a graph's arguments with what the protocol of its run sets.

    Each node gets its own settings from the arguments, so that all of them follow the protocol.

    Args:
        values: the values of the graph's arguments, by name.
        named: names of those that a person gave, as far as that is known.

    Raises:
        InputError: see ``protocols.apply``.
    """
    found = dict(values)
    if values.get('protocol', OURS) == OURS:
        return found
    fields = {field.name for field in dataclasses.fields(RunSettings)} - {'out', *OPTIONS}
    options = {name: parse_options(values[name], name, _settings_of(name, values))
               for name in OPTIONS if name in values}
    given = RunSettings(**{name: value for name, value in values.items() if name in fields}
                        | options)
    changed = apply(given, named)
    for name in (*FREE, *OPTIONS):
        if (value := getattr(changed, name)) != getattr(given, name):
            found[name] = value if name in FREE else json.dumps(value)
    return found


def _settings_of(name: str, values: Mapping[str, Any]) -> type | None:
    """The settings dataclass of some options, which gives their values types; None: not known."""
    if name == 'backend_options':
        return type(backend_settings(values['backend']))
    if name == 'method_options':
        samples = sample_suite(values['suite'], values['split']) is not None
        return type((answerer_settings if samples else policy_settings)(values['method']))
    return None


def check_graph_arguments(values: Mapping[str, Any]) -> None:
    """Check that a graph's problems and prompts are there, and that its model sees enough.

    A model that looks at pictures needs a simulated world that shows some. What only the world
    itself knows is found out with the first problem.

    Args:
        values: the values of the graph's arguments, by name.

    Raises:
        InputError: a file, folder or split that an argument names is not there, or the model
            would see nothing; names the argument or the world's option, and what to choose.
    """
    if (any(name not in values for name in _NEEDED)
            or sample_suite(values['suite'], values['split']) is not None):
        return
    select_problems(RunSettings(**{name: values[name] for name in _PROBLEMS if name in values}))
    method = values['method']
    if values['world'] != _SIMULATED or not (
            needs_grounder(method) or needs_visual_planner(method)):
        return
    options = parse_options(values['world_options'], 'world_options')
    if values['execution'] == _ARM:
        options['execution'] = _ARM
    shown = shown_with(values['domain'], options)
    if shown is not None:
        check_shown(values['backend'], method,
                    parse_options(values['method_options'], 'method_options'), shown)
