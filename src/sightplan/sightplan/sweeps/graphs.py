"""Episodes of a sweep as a ROS graph: ``sightplan up experiment`` for one run.

Each graph has a ROS domain of its own, so that graphs that run at the same time do not meet. It
ends with the worker that started it, however that ended: see ``graph_process``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from sightplan.graphs.graph import find_graph
from sightplan.graphs.up import USAGE, command, transport_environment
from sightplan.metrics import measures
from sightplan.model import InputError
from sightplan.records import RunStore, bag_policy
from sightplan.runs import RunSettings
from sightplan.sweeps.batch import Batch, Outcome
from sightplan.sweeps.cells import is_samples

_PROGRAM = 'sightplan.sweeps.graph_process'
_POLL_S = 0.2
_TAIL = 2000
_ARGUMENTS = {
    'grounder_timeout_s': 'ground_timeout_s', 'propose_timeout_s': 'propose_timeout_s',
    'planner_timeout_s': 'plan_timeout_s', **{name: name for name in (
        'domain', 'split', 'problems', 'domain_file', 'prompts', 'method', 'protocol',
        'stop_at_goal', 'privileged', 'backend', 'answers', 'planner_search', 'episodes', 'seed',
        'failure_probability', 'max_actions', 'out', 'retry_errors')}}
"""Settings of a run, and the arguments of the graph that they are."""
_NOT_ON_ROS = ('record', 'record_images', 'answers_log')


def check_graph(settings: RunSettings) -> None:
    """Check that a run can be made by a graph.

    Raises:
        InputError: it writes what only runs in process write; the bags of a graph have it all.
    """
    if is_samples(settings):
        raise InputError(f'suite {settings.suite}: has samples, which no robot acts on; run it '
                         f'without --graph')
    given = [name for name in _NOT_ON_ROS if getattr(settings, name)]
    if given:
        raise InputError(f'{", ".join(given)}: graphs write bags instead; leave it out, or run '
                         f'without --graph')


def check_installed(runs: Iterable[RunSettings]) -> None:
    """Check that this machine can start the graphs of runs; nothing is started.

    Raises:
        InputError: a node is not installed (there is no ROS, or no workspace), or has no keys; or
            the graph takes no such argument. Says what to do.
        InfrastructureError: the graphs would speak to the whole network.
    """
    try:
        graph = find_graph('experiment')
        for settings in runs:
            values = graph.values(graph_arguments(settings))
            for node in graph.chosen(values).nodes:
                command(node, values)
    except InputError as error:
        raise InputError(f'--graph: {error}; or run the sweep without --graph') from error
    transport_environment(os.environ)


def graph_arguments(settings: RunSettings) -> list[str]:
    """The settings of a run as arguments of the graph ``experiment``."""
    options = {name: json.dumps(dict(getattr(settings, name))) for name in (
        'backend_options', 'method_options', 'world_options') if getattr(settings, name)}
    values: dict[str, Any] = {argument: getattr(settings, name)
                              for name, argument in _ARGUMENTS.items()}
    if settings.bags != bag_policy.NONE:  # which of a graph means: as it does by itself
        values |= {'bags': settings.bags, 'bags_kept': settings.bags_kept}
    return [f'{name}:={str(value).lower() if isinstance(value, bool) else value}'
            for name, value in {**values, **options}.items() if value != '']


def make_graph(batch: Batch, stopped: Callable[[], bool]) -> Outcome:
    """Make the missing episodes of a run with a graph; see ``Worker.make``."""
    with tempfile.TemporaryFile() as log:
        # A domain of its own: the worker's, if it has one, is shared by all workers.
        environment = {name: value for name, value in os.environ.items()
                       if name != 'ROS_DOMAIN_ID'}
        process = subprocess.Popen(
            [sys.executable, '-m', _PROGRAM, str(os.getpid()), *graph_arguments(batch.settings)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment,
            start_new_session=True)
        asked = False
        while process.poll() is None:
            if stopped() and not asked:
                process.send_signal(signal.SIGINT)
                asked = True
            try:
                process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                continue
        size = log.seek(0, os.SEEK_END)
        log.seek(max(0, size - _TAIL))
        words = log.read().decode(errors='replace').strip()
    lines = {line['id']: line for line in RunStore(batch.settings.out).lines()}
    made = tuple(episode for episode in batch.items if episode in lines)
    errors = tuple((episode, str(lines[episode]['error'])) for episode in made
                   if not measures.scored(lines[episode]))
    if len(made) == len(batch.items) or stopped():
        return Outcome(made, errors)
    return Outcome(made, errors, f'the graph ended with exit code {process.returncode}: {words}',
                   process.returncode == USAGE)
