"""A repeated line of results counts once, and is named, by whatever reads the run."""

import json

import pytest

from report_cases import line
from sightplan import cli
from sightplan.records import RunStore
from sightplan.runs.samples import sample_answers
from sightplan.sweeps.committed import Committed
from sightplan_report.failures import read_columns
from sightplan_report.results import gather

FIRST = 'blocksworld/simple/problem_00#0'


def run_once(out, *more, method='ground'):
    return cli.main(['run', '--out', str(out), '--split', 'simple', '--method', method, '--table',
                     'perfect', '--world-option', 'pictures=none', '--episodes', '3', '--json',
                     *more])


@pytest.fixture
def torn(tmp_path):
    """A run of three episodes whose first line stands in the file again."""
    out = tmp_path / 'run'
    assert run_once(out) == 0
    path = out / 'episodes.jsonl'
    first = path.read_text().splitlines()[0]
    assert json.loads(first)['id'] == FIRST
    path.write_text(path.read_text() + first + '\n')
    return out


def test_a_resumed_run_and_its_report_count_the_same_lines(torn, capsys):
    capsys.readouterr()
    assert run_once(torn) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    results = gather(torn)
    assert summary['episodes'] == summary['planned'] == len(results.runs[0].lines) == 3
    assert summary['success_rate'] == results.runs[0].summary['success_rate']
    assert summary['questions'] == results.runs[0].summary['questions']
    assert summary['repeated_lines'] == [FIRST]
    assert json.loads((torn / 'summary.json').read_text())['repeated_lines'] == [FIRST]
    (warning,) = results.warnings
    assert warning.endswith(f'episodes.jsonl: 1 repeated line is left out, of {FIRST}')


def test_people_are_told_of_repeated_lines(torn, capsys):
    out = ['run', '--out', str(torn), '--split', 'simple', '--method', 'ground', '--table',
           'perfect', '--world-option', 'pictures=none', '--episodes', '3']
    capsys.readouterr()
    assert cli.main(out) == 0
    told = ' '.join(capsys.readouterr().out.split())
    assert 'repeated lines' in told and '1 left out' in told


def test_failures_and_sweeps_count_a_repeated_line_once_too(torn):
    notes = []
    (column,) = read_columns([torn], notes.append)
    assert column.episodes == 3 and ['1 repeated line is left out' in text for text in notes] == [
        True]
    committed = Committed(torn)
    committed.update()
    assert [entry.id for entry in committed.entries].count(FIRST) == 1
    with (torn / 'episodes.jsonl').open('a') as file:
        file.write((torn / 'episodes.jsonl').read_text().splitlines()[1] + '\n')
    committed.update()
    assert len(committed.entries) == 3, 'what is read on is held against what was read before'


def test_of_two_different_lines_of_an_episode_the_first_counts(tmp_path):
    path = tmp_path / 'episodes.jsonl'
    path.write_text(''.join(json.dumps(one) + '\n' for one in (
        line(0), line(1), line(0, False), line(0))))
    store = RunStore(tmp_path)
    assert [one['measures']['solved'] for one in store.lines()] == [1.0, 1.0]
    assert store.repeated == ['blocksworld/simple/p0#0'] * 2
    (warning,) = store.warnings
    assert warning.startswith(f'{path}: 2 repeated lines are left out')


def test_answers_to_learn_from_are_not_counted_twice(tmp_path):
    out = tmp_path / 'run'
    assert cli.main(['run', '--suite', 'predicates', '--split', 'simple', '--method', 'ask',
                     '--table', 'perfect', '--suite-option', 'count=1', '--suite-option',
                     'domain=blocksworld', '--episodes', '4', '--out', str(out)]) == 0
    count = len(sample_answers(out))
    path = out / 'episodes.jsonl'
    path.write_text(path.read_text() * 2)
    assert len(sample_answers(out)) == count == 4
