"""Checks of the arguments of a graph of episodes, before a node of it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sightplan.agent import needs_grounder, needs_visual_planner
from sightplan.model.option_pairs import parse_options
from sightplan.runs.method_check import check_shown
from sightplan.runs.suite_finding import sample_suite
from sightplan.runs.worlds import shown_with

_NEEDED = ('backend', 'domain', 'method', 'method_options', 'world', 'world_options', 'execution',
           'suite', 'split')
"""Arguments of a graph that runs episodes in a world; other graphs are not checked."""
_SIMULATED, _ARM = 'sim_bridge', 'arm'


def check_graph_arguments(values: Mapping[str, Any]) -> None:
    """Check that the model of a graph can work from what its simulated world shows.

    What only the world itself knows is found out with the first problem.

    Args:
        values: the values of the graph's arguments, by name.

    Raises:
        InputError: it cannot; names the world's option and what to choose instead.
    """
    if any(name not in values for name in _NEEDED) or values['world'] != _SIMULATED:
        return
    method = values['method']
    if (sample_suite(values['suite'], values['split']) is not None
            or not (needs_grounder(method) or needs_visual_planner(method))):
        return
    options = parse_options(values['world_options'], 'world_options')
    if values['execution'] == _ARM:
        options['execution'] = _ARM
    shown = shown_with(values['domain'], options)
    if shown is not None:
        check_shown(values['backend'], method,
                    parse_options(values['method_options'], 'method_options'), shown)
