"""Sweeps whose processes are killed, whose files are cut, whose directory is wanted twice."""

import json
import random
import time
from pathlib import Path

import pytest
import yaml

from doubles import InsideEngine, MemoryWorld, SearchPlanner
from sightplan.metrics import measures
from sightplan.metrics.canonical import canonical
from sightplan.model import InputError, SpendingCapError, Usage, WorldError
from sightplan.records import RunStore
from sightplan.records.answers_reading import read_answers
from sightplan.runs import RunSettings, specify, worlds
from sightplan.sweeps import Options, parse_sweep, run_sweep
from sightplan.sweeps.batch import LOCK, Batch, Outcome
from sightplan.sweeps.schedule import DEATHS, Job, Schedule
from sightplan.sweeps.work import Worker, check_fence

INSIDE = Options(1, engine=InsideEngine)


def sweep_of(text: str, name: str = 'test'):
    return parse_sweep(yaml.safe_load(text), name, f'{name}.yaml')


@pytest.fixture
def memory(monkeypatch):
    """Runs in this process with test doubles instead of simulator and planner."""
    from sightplan.planning import symbolic
    monkeypatch.setattr(worlds, 'make_world', lambda name, options=None: MemoryWorld())
    monkeypatch.setattr(symbolic, 'FastDownwardPlanner', lambda settings=None: SearchPlanner())


def wait_for(check, limit_s=60.0):
    end = time.monotonic() + limit_s
    while not check():
        assert time.monotonic() < end
        time.sleep(0.02)


def lines_of(folder: Path) -> list[dict]:
    return RunStore(folder).lines()


def test_a_worker_of_a_command_that_was_replaced_writes_nothing(memory, tmp_path):
    [cell] = sweep_of('{base: {table: perfect, episodes: 2}, axes: {seed: [0]}}').cells
    lock = tmp_path / LOCK
    settings = cell.settled(tmp_path)
    ids = tuple(item.id for item in specify(settings).items)
    worker = Worker(lambda: False)
    lock.write_text(json.dumps({'command': 'old'}))
    batch = Batch(cell.name, settings, ids[:1], command='old', lock=str(lock))
    assert worker.make(batch).made == ids[:1]
    lock.write_text(json.dumps({'command': 'new'}))
    with pytest.raises(InputError, match='taken over'):
        check_fence(batch)
    outcome = worker.make(Batch(cell.name, settings, ids[1:], command='old', lock=str(lock)))
    assert 'taken over' in outcome.error and not outcome.made
    assert [line['id'] for line in lines_of(tmp_path / cell.name)] == list(ids[:1])
    lock.write_text('')  # while the new one writes it
    assert 'taken over' in worker.make(batch).error


# -------------------------------------------------------------------------------------- cut


ANSWERED = """
base: {table: gpt-4.1, split: simple, episodes: 4, answers_log: true}
axes: {method: [ground]}
"""


@pytest.mark.slow
def test_files_cut_anywhere_cost_what_was_cut_and_no_more(memory, tmp_path):
    sweep = sweep_of(ANSWERED)
    whole = run_sweep(sweep, tmp_path, INSIDE)
    folder = tmp_path / sweep.cells[0].name
    episodes, answers = folder / 'episodes.jsonl', folder / 'answers.jsonl'
    contents = episodes.read_bytes(), answers.read_bytes()
    known = read_answers(answers)
    rng = random.Random(5)
    cuts = [rng.randrange(len(contents[0]) + 1) for _ in range(200)]
    for number, cut in enumerate(cuts):
        episodes.write_bytes(contents[0][:cut])
        kept = contents[0][:cut].count(b'\n')
        assert [line['id'] for line in lines_of(folder)] == [
            json.loads(line)['id'] for line in contents[0].splitlines()[:kept]]
        end = rng.randrange(len(contents[1]) + 1)
        answers.write_bytes(contents[1][:end])
        found = read_answers(answers)
        whole_lines = contents[1][:end].count(b'\n')
        assert len(found[0]) + len(found[1]) in (whole_lines, whole_lines + 1)
        assert found[0] == known[0][:len(found[0])] and found[1] == known[1][:len(found[1])]
        if number % 20:
            continue  # taking it up is slower than reading
        again = run_sweep(sweep, tmp_path, INSIDE)
        assert (again['done'], again['new'], again['duplicates']) == (4, 4 - kept, 0)
        assert again['metrics_sha256'] == whole['metrics_sha256']
        lasting = {json.loads(line)['id'] for line in contents[0].splitlines()[:kept]}
        by_episode = {}
        for answer in read_answers(answers)[0]:
            by_episode[answer.episode] = by_episode.get(answer.episode, 0) + 1
        for answer in known[0]:
            if answer.episode not in lasting:
                assert by_episode[answer.episode] == sum(
                    a.episode == answer.episode for a in known[0]), 'once, and all of them'


# ---------------------------------------------------------------------------------- history


def test_results_do_not_depend_on_what_was_made_before(tmp_path):
    """The same worker, one after another, backwards, and each with everything anew."""
    from sightplan.runs import OpenRun, RunSettings, make_planner, make_world
    for method in ('ground', 'belief'):
        def settings(name, method=method):
            return RunSettings(method=method, backend='noisy_oracle', split='simple', episodes=3,
                               backend_options={'table': 'gemma-3-27b-it'}, seed=4,
                               world_options={'pictures': 'none'},
                               failure_probability=0.2, out=str(tmp_path / method / name))
        world = make_world('blocksworld', {'pictures': 'none'})
        planner = make_planner(settings('x'))
        found = []
        for name, order in (('forward', (0, 1, 2)), ('backward', (2, 1, 0))):
            with OpenRun(settings(name), world=world, planner=planner) as run:
                lines = {n: canonical(run.make(run.work.plan.items[n:n + 1])[0]) for n in order}
            found.append([lines[n] for n in range(3)])
        with OpenRun(settings('alone')) as run:
            alone = canonical(run.make(run.work.plan.items[2:])[0])
        planner.close()
        world.close()
        assert found[0] == found[1] and alone == found[0][2]
        assert len({json.dumps(line, sort_keys=True) for line in found[0]}) == 3


def test_metrics_and_summaries_are_in_the_order_of_the_episodes(memory, tmp_path):
    sweep = sweep_of('{base: {table: gpt-4.1, episodes: 6}, axes: {method: [ground, oracle]}}')
    one = run_sweep(sweep, tmp_path / 'a', INSIDE)
    metrics = json.loads((tmp_path / 'a' / 'metrics.json').read_text())
    assert [cell['dir'] for cell in metrics['cells']] == [cell.name for cell in sweep.cells]
    assert metrics['cells'][0]['metrics']['scored'] == 6
    summary = json.loads((tmp_path / 'a' / sweep.cells[0].name / 'summary.json').read_text())
    assert (summary['planned'], summary['interrupted'], summary['scored']) == (6, False, 6)
    path = tmp_path / 'a' / sweep.cells[0].name / 'episodes.jsonl'
    path.write_text(''.join(reversed(path.read_text().splitlines(keepends=True))))
    (path.parent / 'summary.json').unlink()
    two = run_sweep(sweep, tmp_path / 'a', INSIDE)
    assert two['metrics_sha256'] == one['metrics_sha256'] and two['new'] == 0
    again = json.loads((path.parent / 'summary.json').read_text())
    assert {**again, 'provenance': 0} == {**summary, 'provenance': 0}
    lines = path.read_text().splitlines(keepends=True)
    lines[0] = lines[0].replace('"solved": 1.0', '"solved": 0.0')
    path.write_text(''.join(lines))
    assert run_sweep(sweep, tmp_path / 'a', INSIDE)['metrics_sha256'] != one['metrics_sha256']


# ----------------------------------------------------------------------- errors and schedules


def test_an_episode_that_ends_in_an_error_is_tried_again_and_then_counted(
        memory, tmp_path, monkeypatch):
    tries = []
    names = [item.problem.name for item in specify(RunSettings(episodes=3)).items]

    class Shaky(MemoryWorld):
        def reset(self, spec):
            tries.append(spec.problem.name)
            often = {names[0]: 2, names[1]: 9}.get(spec.problem.name, 0)
            if tries.count(spec.problem.name) <= often:
                raise WorldError('out of order')
            super().reset(spec)
    monkeypatch.setattr(worlds, 'make_world', lambda name, options=None: Shaky())
    sweep = sweep_of('{base: {method: oracle, split: simple, episodes: 3}, axes: {seed: [0]}}')
    result = run_sweep(sweep, tmp_path, INSIDE)
    assert [tries.count(name) for name in names] == [3, 3, 1]
    assert (result['done'], result['failed_infrastructure'], result['scored']) == (3, 1, 2)
    errors = [line['error'] for line in lines_of(tmp_path / sweep.cells[0].name)
              if not measures.scored(line)]
    assert len(errors) == 1 and 'out of order' in errors[0]
    again = run_sweep(sweep, tmp_path, Options(1, retries=0, engine=InsideEngine))
    assert tries.count(names[1]) == 4 and again['failed_infrastructure'] == 1


def test_a_sweep_has_a_cap_over_all_its_runs(memory, tmp_path, monkeypatch):
    from sightplan_models import noisy_oracle
    spent = [0]
    real = noisy_oracle.Backend.answer

    def answer(self, queries, deadline):
        spent[0] += 1
        time.sleep(0.05)
        return real(self, queries, deadline)
    monkeypatch.setattr(noisy_oracle.Backend, 'answer', answer)
    monkeypatch.setattr(noisy_oracle.Backend, 'usage',
                        property(lambda self: Usage(spent[0], 100 * spent[0], 0, 0.5 * spent[0])))
    text = ('{base: {table: perfect, split: simple, episodes: 8}, axes: {seed: [0, 1]}, '
            'max_tokens: 2000}')
    result = run_sweep(sweep_of(text), tmp_path, INSIDE)
    assert result['interrupted'] and 0 < result['done'] < 16
    assert 'tokens of max_tokens = 2000 are spent; raise it' in result['stopped_by']
    assert result['spent']['prompt_tokens'] >= 2000
    more = run_sweep(sweep_of(text), tmp_path, Options(1, max_cost_usd=1.0, engine=InsideEngine))
    assert more['interrupted'] and more['new'] <= 3
    whole = run_sweep(sweep_of(text), tmp_path, Options(1, max_tokens=10**9, engine=InsideEngine))
    assert (whole['done'], whole['interrupted'], whole['duplicates']) == (16, False, 0)


def schedule_of(workers=2, retries=2, graph=False, **episodes):
    jobs = [Job(name, RunSettings(), tuple(f'{name}{n}' for n in range(number)))
            for name, number in episodes.items()]
    return Schedule(jobs, {}, workers=workers, retries=retries, command='c', lock='',
                    graph=graph), jobs


def test_workers_go_on_with_their_run_then_begin_another_then_help():
    schedule, _ = schedule_of(a=12, b=2)
    first, second = schedule.next(), schedule.next()
    assert (first.name, second.name) == ('a', 'b')
    assert first.items == ('a0', 'a1', 'a2') and second.items == ('b0',)
    schedule.over(second, Outcome(('b0',)))
    assert schedule.next('b').items == ('b1',)
    help_ = schedule.next('b')
    assert help_.name == 'a' and len(help_.items) == 2
    schedule.over(first, Outcome(first.items))
    assert schedule.next('a').items[0] == 'a5'


def test_a_graph_has_a_run_for_itself():
    schedule, _ = schedule_of(graph=True, a=3, b=1)
    assert schedule.next().items == ('a0', 'a1', 'a2')
    assert schedule.next().items == ('b0',)


def test_innocent_episodes_are_not_given_up_with_a_deadly_one():
    schedule, (job,) = schedule_of(workers=1, a=8)
    batch = schedule.next()
    assert batch.items == ('a0', 'a1', 'a2', 'a3')
    schedule.died(batch, 'a1', {'a0'})
    for _ in range(DEATHS - 1):
        batch = schedule.next('a')
        assert batch.items == ('a1',), 'a suspect is alone'
        schedule.died(batch, 'a1', {'a0'})
    assert set(job.given_up) == {'a1'}
    made = []
    while (batch := schedule.next('a')) is not None:
        made += batch.items
        schedule.over(batch, Outcome(batch.items))
    assert made == ['a2', 'a3', 'a4', 'a5', 'a6', 'a7'] and job.over


def test_a_run_that_cannot_be_opened_is_given_up():
    schedule, (job,) = schedule_of(workers=1, a=8)
    for _ in range(3):
        schedule.over(schedule.next(), Outcome(error='WorldError: broken'))
    assert job.error == 'WorldError: broken' and schedule.next() is None
    schedule, (job,) = schedule_of(workers=1, a=8)
    while (batch := schedule.next()) is not None:
        schedule.died(batch, '', ())
    assert 'died 6 times' in job.error


def test_a_cap_of_a_run_stops_all(memory):
    schedule, jobs = schedule_of(a=8, b=8)
    batch = schedule.next()
    schedule.over(batch, Outcome(stopped_by=str(SpendingCapError('the cap is reached'))))
    assert schedule.next() is None and schedule.stopped_by.startswith('a: ')
    assert schedule.finished() == [jobs[0]]
