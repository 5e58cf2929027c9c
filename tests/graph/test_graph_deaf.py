"""A node that hears no more is found in a graph that runs: restarted, or the graph ends."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from graph_testing import Graph, eventually

from sightplan.graphs.hearing import LOST_S
from sightplan.graphs.up import reserved_domain
from sightplan.model import config_files
from sightplan_nodes.names import SYMBOLIC_PLANNER

pytestmark = pytest.mark.slow

DEAF = '''#!{python}
"""The node, which in its first process (or in all) does not hear agent and experiment."""
from pathlib import Path
from sightplan_nodes import presence
from sightplan_nodes.{node} import main
mark = Path(__file__).with_suffix('.was_there')
if {always} or not mark.exists():
    mark.touch()
    hear = presence.HeardNodes.hear
    presence.HeardNodes.hear = lambda heard_nodes, node, hears: (
        None if node in ('agent', 'experiment') else hear(heard_nodes, node, hears))
main()
'''

SLOW = '''#!{python}
"""The node, which takes its time for a plan: the run outlasts the time after which one is deaf."""
import time
from sightplan_nodes.symbolic_planner import SymbolicPlannerNode, main
plan = SymbolicPlannerNode._plan
SymbolicPlannerNode._plan = lambda *arguments: (time.sleep({pause_s}), plan(*arguments))[1]
main()
'''
EPISODES, PAUSE_S = 15, 2.0
assert EPISODES * PAUSE_S >= 1.5 * LOST_S


def deaf_graph(folder: Path, node: str, always: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    """The graph of an experiment with a node that is deaf; returns its file."""
    programs = folder / 'prefix/lib/deaf'
    programs.mkdir(parents=True)
    for name, text in ((node, DEAF.format(python=sys.executable, node=node, always=always)),
                       (SYMBOLIC_PLANNER, SLOW.format(python=sys.executable, pause_s=PAUSE_S))):
        program = programs / name
        program.write_text(text)
        program.chmod(0o755)
    graph = yaml.safe_load(config_files('graphs')['experiment'].read_text())
    for spec in graph['nodes']:
        if spec['name'] in (node, SYMBOLIC_PLANNER):
            spec['package'] = 'deaf'
    file = folder / 'deaf.yaml'
    file.write_text(yaml.safe_dump(graph))
    monkeypatch.setenv('AMENT_PREFIX_PATH',
                       f'{folder / "prefix"}:{os.environ["AMENT_PREFIX_PATH"]}')
    return str(file)


def begin(start, file: str, out: Path, *more: str, environment: dict[str, str] | None = None):
    return start('--keep-alive', f'out:={out}', 'backend:=noisy_oracle',
                 'backend_options:=table=perfect',
                 'method:=ground', f'episodes:={EPISODES}', 'retry_errors:=true', *more,
                 graph_name=file, out=out, environment=environment)


@pytest.fixture(params=['one launcher', 'a launcher of its own'])
def deaf_grounder(start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                  request: pytest.FixtureRequest) -> Iterator[tuple[Graph, Graph]]:
    """A graph that runs, and what started its deaf grounder."""
    file, out = deaf_graph(tmp_path, 'grounder', False, monkeypatch), tmp_path / 'run'
    if request.param == 'one launcher':
        graph = begin(start, file, out)
        yield graph, graph
        return
    others = [f'--only={name}' for name in (
        'metrics_recorder', 'sim_bridge', 'symbolic_planner', 'agent', 'experiment')]
    with reserved_domain() as domain:
        here = {'ROS_DOMAIN_ID': str(domain)}
        eyes = begin(start, file, out, '--only=grounder', environment=here)
        yield begin(start, file, out, *others, environment=here), eyes
        assert eyes.process.poll() is None, 'it goes on'


def test_a_deaf_node_is_restarted_and_the_run_goes_on(
        deaf_grounder: tuple[Graph, Graph]) -> None:
    graph, launcher = deaf_grounder
    said = re.compile(r'sightplan up: grounder does not hear agent(?:, experiment)?, for \d+ s, '
                      r'though all of them are there: it is deaf; restarting it \(1 of 3\)')
    eventually(lambda: said.search(launcher.text) or graph.process.poll() is not None,
               'the restart')
    assert said.search(launcher.text), launcher.text
    code = graph.wait()
    assert launcher.text.count('is loaded (') == 2, 'one restart was enough'
    lines = graph.lines()
    assert len(lines) == len({line['id'] for line in lines}) == EPISODES, graph.text
    broken = [line for line in lines if line['stop'] == 'error']
    assert len(broken) <= 1, 'at most the episode under way is an error'
    assert code == len(broken), graph.text
    assert all(line['measures']['solved'] for line in lines if line not in broken)


def test_a_deaf_recorder_ends_the_graph_which_goes_on_later(
        start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = deaf_graph(tmp_path, 'metrics_recorder', False, monkeypatch)
    graph = begin(start, file, tmp_path / 'run')
    assert graph.wait() == 1
    assert re.search(r'metrics_recorder does not hear agent(?:, experiment)?, for \d+ s.*must not '
                     'be restarted in a graph that runs; stopping the nodes, the same command '
                     'starts them again', graph.text), graph.text
    done = [line for line in graph.lines() if line['stop'] != 'error']
    assert done and len(graph.lines()) < EPISODES
    again = begin(start, file, tmp_path / 'run')
    assert again.wait() == 0, again.text
    lines = again.lines()
    assert len(lines) == EPISODES and all(line['measures']['solved'] for line in lines)
    assert [line for line in lines if line in done] == done, 'nothing finished is lost'
