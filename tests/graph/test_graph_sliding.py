"""Sliding puzzles over the whole graph: boards in words, goals in pictures, changed pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from graph_testing import result
from recorded_testing import check_recorded

from fake_openai import FakeServer
from sightplan.domains import load_domain
from sightplan.domains.sliding.planner import plan
from sightplan.metrics import measures
from sightplan.model import Asked, Observed, Proposed
from sightplan.records.recorded import read_episodes
from sightplan.runs import RunSettings, run
from test_ivispar_modalities import Player, check_words, data, words

pytestmark = pytest.mark.slow


def inside(out: Path, **settings: object) -> dict[str, object]:
    """The result of one episode in process."""
    run(RunSettings(domain='sliding', split='geoms', episodes=1, out=str(out), **settings))
    line, = (json.loads(line) for line in (out / 'episodes.jsonl').read_text().splitlines())
    return line


def test_a_board_in_words_is_played_on_ros_as_in_process(start, tmp_path: Path) -> None:
    problem = load_domain('sliding').split_problems('geoms')[0]
    moves = [f'action: move {action.args[0].replace("_", " ")} {action.args[1]}'
             for action in plan(problem, '').plan]
    file = tmp_path / 'moves.json'
    file.write_text(json.dumps(moves))
    graph = start('domain:=sliding', 'split:=geoms', 'method:=action', 'backend:=scripted',
                  f'backend_options:=script={file}', 'world_options:=view=text', 'episodes:=1',
                  f'record:={tmp_path / "record"}')
    line = inside(tmp_path / 'inside', method='action', backend='scripted',
                  backend_options={'script': str(file)}, world_options={'view': 'text'})
    assert graph.wait() == 0, graph.text
    lines = graph.lines()
    assert [result(one) for one in lines] == [result(line)]
    assert measures.solved(lines[0]) and lines[0]['steps'] == len(moves)
    assert (lines[0]['images'], lines[0]['images_missing']) == (0, 0)
    episode, = read_episodes(graph.out / lines[0]['bag'])
    texts = [event.observation.text for event in episode.events if isinstance(event, Observed)]
    assert len(texts) == len(set(texts)) == len(moves)
    shown = [event.observation.text for event in episode.events if isinstance(event, Proposed)]
    assert shown == texts
    check_recorded(graph.out, lines)
    replies = (tmp_path / 'record' / 'replies-vlm_planner.jsonl').read_text()
    assert all(json.dumps(text)[1:-1] in replies for text in texts), 'the model is told the board'


@pytest.mark.parametrize('method', ['action', 'ground'])
def test_a_served_model_reads_boards_in_words_on_ros(start, tmp_path: Path, method: str) -> None:
    with FakeServer(Player('text')) as server:
        graph = start('suite:=ivispar', f'problems:={data(tmp_path / "mine")}',
                      f'method:={method}', 'backend:=openai',
                      f'backend_options:=base_url={server.url},model=served,retries=0',
                      'world_options:=view=text')
        assert graph.wait() == 0, graph.text
    line, = graph.lines()
    assert (line['domain'], line['goal'], line['stop_at_goal']) == ('sliding', 'pictured', True)
    assert not line['error'] and line['measures']['solved_optimally'] == 1.0
    assert server.bodies and not server.checks
    for body in server.bodies:
        check_words('text', 'pictured', *words(body))


def test_belief_takes_the_models_rates_at_once_and_its_pictures_are_recorded(
        start, tmp_path: Path) -> None:
    graph = start('domain:=sliding', 'split:=geoms', 'method:=belief', 'backend:=embedded',
                  'episodes:=1', 'max_actions:=3')
    line = inside(tmp_path / 'inside', method='belief', backend='embedded', max_actions=3)
    assert graph.wait() == 0, graph.text
    lines = graph.lines()
    assert [result(one) for one in lines] == [result(line)], 'the same questions, too'
    check_recorded(graph.out, lines)


def test_changed_pictures_and_goals_are_found_in_bags(start) -> None:
    graph = start('domain:=sliding', 'split:=geoms', 'method:=belief', 'backend:=noisy_reader',
                  'backend_options:=table=gpt-4o', 'world_options:=pictures=none', 'episodes:=1',
                  'max_actions:=3')
    assert graph.wait() == 0, graph.text
    lines = graph.lines()
    check_recorded(graph.out, lines)
    episode, = read_episodes(graph.out / lines[0]['bag'])
    asked = [event.observation for event in episode.events if isinstance(event, Asked)]
    assert {seen.altered is None for seen in asked if seen.shows_goal} == {True, False}
    assert {seen.altered is None for seen in asked if not seen.shows_goal} == {True, False}
