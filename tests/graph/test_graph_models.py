"""Models that plan, and recorded models, over the whole graph."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path

import pytest
from graph_testing import LIMIT_S, read_bag, result, script
from rosbags.rosbag2 import Reader

from sightplan.metrics import measures
from sightplan.runs import RunSettings, run

pytestmark = pytest.mark.slow
CHECK = (10 + 110, 2)
"""Prompt and completion tokens of the check whether pictures arrive, at the fake server."""


def test_a_model_plans_on_ros_as_in_process(start, tmp_path: Path) -> None:
    file = script(tmp_path, 2)
    graph = start('method:=plan', 'backend:=scripted', f'backend_options:=script={file}',
                  'episodes:=2')
    run(RunSettings(method='plan', backend='scripted', backend_options={'script': str(file)},
                    episodes=2, out=str(tmp_path / 'inside')))
    assert graph.wait() == 0, graph.text
    inside = [json.loads(line)
              for line in (tmp_path / 'inside' / 'episodes.jsonl').read_text().splitlines()]
    lines = graph.lines()
    assert [result(line) for line in lines] == [result(line) for line in inside]
    assert [line['stop'] for line in lines] == ['goal_reached'] * 2
    assert all(measures.solved(line) and line['stop_at_goal'] for line in lines)
    assert {action['status'] for action in lines[0]['actions']} >= {'executed'}
    for line in lines:
        counts = read_bag(graph.out / line['bag'])
        assert counts['/agent/proposal'] == line['steps'] == counts['/agent/step']
        assert '/agent/asked' not in counts
    identities = [json.loads((folder / 'run.json').read_text())['identity']
                  for folder in (tmp_path / 'inside', graph.out)]
    assert identities[0] == identities[1]
    for node in ('grounder', 'symbolic_planner'):
        assert f'[{node}]' not in graph.text, 'it is not started'


@pytest.mark.parametrize('method', ['plan_cot', 'action', 'ground_cot', 'ground_mem'])
def test_the_other_methods_on_ros_as_in_process(start, tmp_path: Path, method: str) -> None:
    """One episode each; other tests have the rest."""
    if method.startswith('ground'):
        backend, options = 'noisy_oracle', {'table': 'gpt-4.1'}
    else:
        backend, options = 'scripted', {'script': str(script(tmp_path, 1))}
    graph = start(f'method:={method}', f'backend:={backend}', 'episodes:=1', 'seed:=3',
                  'failure_probability:=0.3', f'backend_options:={json.dumps(options)}')
    run(RunSettings(method=method, backend=backend, backend_options=options, episodes=1, seed=3,
                    failure_probability=0.3, out=str(tmp_path / 'inside')))
    assert graph.wait() == 0, graph.text
    (inside,) = [json.loads(line) for line
                 in (tmp_path / 'inside' / 'episodes.jsonl').read_text().splitlines()]
    (line,) = graph.lines()
    assert result(line) == result(inside)
    assert measures.scored(line)
    assert line['steps'] > 0
    identities = [json.loads((folder / 'run.json').read_text())['identity']
                  for folder in (tmp_path / 'inside', graph.out)]
    assert identities[0] == identities[1]
    assert identities[0]['method']['name'] == method


def test_a_recorded_run_is_replayed(start, tmp_path: Path) -> None:
    shared = ('method:=ground_mem_cot', 'episodes:=2', 'seed:=3', 'failure_probability:=0.3')
    recorded = start(*shared, 'backend_options:=table=gpt-4.1',
                     f'record:={tmp_path / "record"}')
    assert recorded.wait() == 0, recorded.text
    replayed = start(*shared, 'backend:=replay', f'backend_options:=path={tmp_path / "record"}')
    assert replayed.wait() == 0, replayed.text
    assert len(recorded.lines()) == 2
    assert '(gpt-4.1/cot, ' in recorded.lines()[0]['model'], 'the errors of answers with reasons'
    assert [result(line) for line in replayed.lines()] == [
        result(line) for line in recorded.lines()]


def test_what_was_recorded_in_process_is_replayed_on_ros(start, tmp_path: Path) -> None:
    run(RunSettings(method='action_cot', backend='scripted', episodes=2, seed=3, record=True,
                    backend_options={'script': str(script(tmp_path, 2))},
                    failure_probability=0.3, out=str(tmp_path / 'inside')))
    graph = start('method:=action_cot', 'episodes:=2', 'seed:=3', 'failure_probability:=0.3',
                  'backend:=replay', f'backend_options:=path={tmp_path / "inside"}')
    assert graph.wait() == 0, graph.text
    inside = [json.loads(line)
              for line in (tmp_path / 'inside' / 'episodes.jsonl').read_text().splitlines()]
    assert len(inside) == 2
    assert [result(line) for line in graph.lines()] == [result(line) for line in inside]


def test_a_backend_that_cannot_plan_is_refused_before_a_node_starts(start) -> None:
    graph = start('method:=plan')
    assert graph.wait() == 2
    assert "backend 'noisy_oracle' cannot plan" in graph.text
    assert not graph.lines()


def test_a_limit_on_spending_stops_the_run_which_can_be_taken_up(
        start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the next session, which does not begin to count anew."""
    from fake_openai import FakeServer, chat
    key = 'sk-very-secret-key-0123456789'
    monkeypatch.setenv('OPENAI_API_KEY', key)

    def options(cap: int) -> tuple[str, ...]:
        backend = f'model=one,base_url={server.url},max_tokens_total={cap}'
        return ('method:=plan', 'episodes:=3', 'backend:=openai', f'backend_options:={backend}')

    # An episode is 10 requests of 102 tokens: the simple split's budget, used up for nothing.
    with FakeServer(lambda body, number: chat('I would rather not.')) as server:
        first = start(*options(1500))
        assert first.wait() == 1, first.text
        assert [line['stop'] for line in first.lines()] == ['budget']
        assert 'experiment: vlm_planner: the cap is reached' in first.text
        assert 'broken off after 1 of 3 episodes' in first.text
        spent, checks = len(server.bodies), len(server.checks)
        assert checks, 'it is found out whether pictures arrive'
        run_info = json.loads((first.out / 'run.json').read_text())
        assert run_info['spent']['requests'] == spent + checks
        tokens = sum(run_info['spent'][f'{kind}_tokens'] for kind in ('prompt', 'completion'))
        assert 1500 <= tokens < 1500 + 102

        again = start(*options(1500), out=first.out)
        assert again.wait() == 1, again.text
        assert 'the cap is reached' in again.text
        assert len(server.bodies) == spent, 'not one more request'
        assert len(again.lines()) == 1

        raised = start(*options(100_000), out=first.out)
        assert raised.wait() == 1, raised.text
        assert 'not one of 30 replies could be read' in raised.text
        assert [line['stop'] for line in raised.lines()] == ['budget'] * 3
        assert len(server.bodies) == spent + 20
        assert {headers['authorization'] for headers in server.headers} == {f'Bearer {key}'}
    said = [graph.text.encode() for graph in (first, again, raised)]
    said += [file.read_bytes() for file in first.out.glob('*.json*')]
    bags = list((first.out / 'bags').iterdir())
    for bag in bags:
        with Reader(bag) as reader:
            said += [bytes(data) for _, _, data in reader.messages()]
    assert sum(b'I would rather not.' in text for text in said) > 20
    assert not any(key.encode() in text for text in said)


@pytest.mark.parametrize('ending', ['cap', 'outage', 'deadline', 'SIGINT'])
def test_half_a_batch_of_questions_counts_as_spent(
        start, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    """In ``run.json``, so that the next session knows, whatever messages of the episode say."""
    from fake_openai import FakeServer, Reply, chat, error
    monkeypatch.setenv('OPENAI_API_KEY', 'sk-0123456789-0123456789')
    answered = 10
    ended = threading.Event()

    def behave(body: dict, number: int) -> Reply:
        if number < answered or ending == 'cap':
            return chat('No')
        if ending == 'outage':
            return error(500, 'out of order near \ud83d')
        assert ended.wait(LIMIT_S)
        return error(404, 'too late')

    with FakeServer(behave) as server:
        options = f'model=one,base_url={server.url},concurrency=1,retries=0,max_tokens_total='
        shared = ('method:=ground', 'backend:=openai', 'episodes:=1',
                  f'ground_timeout_s:={15 if ending == "deadline" else 300}')
        cap = 102 * answered + sum(CHECK) if ending == 'cap' else 100_000
        first = start(*shared, f'backend_options:={options}{cap}')
        if ending == 'SIGINT':
            server.wait_for(answered + 1)
            first.process.send_signal(signal.SIGINT)
        assert first.wait() == 1, first.text
        ended.set()
        run_info = json.loads((first.out / 'run.json').read_text())
        checks = len(server.checks)
        assert run_info['spent']['requests'] == answered + checks
        assert run_info['spent']['prompt_tokens'] == 100 * answered + CHECK[0]
        summary = json.loads((first.out / 'summary.json').read_text())
        assert summary['spent'] == run_info['spent']
        # What came before an outage belongs to the failed request, which the episode knows.
        assert all(bool(line.get('usage')) is (ending == 'outage') for line in first.lines())
        came = len(server.bodies)
        assert (came > answered) is (ending != 'cap')

        if ending == 'outage':
            assert r'out of order near \ud83d' in first.text
            assert r'out of order near \ud83d' in first.lines()[0]['message']
        if ending != 'cap':
            return
        again = start(*shared, f'backend_options:={options}{cap}', out=first.out)
        assert again.wait() == 1, again.text
        assert f'{cap} tokens of max_tokens_total' in again.text
        assert len(server.bodies) == came, 'not one more request'
