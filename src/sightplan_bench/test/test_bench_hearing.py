"""``sightplan bench hearing``: what counts, and a short one."""

import json

import pytest

from sightplan import cli
from sightplan.model.journal import Journal
from sightplan_bench import hearing
from sightplan_bench.hearing import outcome
from sightplan_bench.hearing_trials import ENDED, FIXED, SILENT, WHOLE, Trial, read_trials

pytest.importorskip('rclpy')


def trial(number, kind, node='agent', said=(), episode='', session=0):
    return Trial(number, session, node, kind, 1.0 + number, list(said), episode, 2.0)


def test_trials_are_counted():
    found = outcome([trial(0, WHOLE), trial(1, WHOLE, 'grounder', episode=None),
                     trial(2, FIXED, said=['grounder is deaf'], episode='late'),
                     trial(3, ENDED, said=['agent ended'], episode=None),
                     trial(4, SILENT, episode=None, session=1)])
    assert (found['n'], found['sessions']) == (5, 2)
    assert found['outcomes'] == {WHOLE: 2, FIXED: 1, ENDED: 1, SILENT: 1}
    assert found['killed'] == {'agent': 4, 'grounder': 1}
    assert [one['number'] for one in found['said']] == [2, 3]
    assert found['seconds'][WHOLE]['n'] == 2 and found['seconds'][WHOLE]['max'] == 2.0
    assert found['episodes'] == 2 and found['commits'] == []
    assert found['episodes_failed'] == [{'number': 2, 'killed': 'agent', 'said': 'late'}]
    assert json.dumps(found) and outcome([])['n'] == 0


class Graph:
    """A graph that ends with the second kill, and is silent with the fourth."""

    kinds = (WHOLE, ENDED, WHOLE, SILENT, WHOLE)
    begun = 0

    def __init__(self, logs, episodes):
        self.runs = True

    def __enter__(self):
        type(self).begun += 1
        return self

    def __exit__(self, *_):
        pass

    def trial(self, number, session, node, pause_s, limit_s):
        self.runs = self.kinds[number] != ENDED
        return trial(number, self.kinds[number], node, session=session)


@pytest.fixture
def graph(monkeypatch):
    module = pytest.importorskip('sightplan_bench.hearing_graph')
    monkeypatch.setattr(module, 'HearingGraph', Graph)
    monkeypatch.setattr(Graph, 'begun', 0)
    return Graph


def test_it_goes_on_where_it_was_and_with_another_graph(graph, tmp_path, capsys, monkeypatch):
    out = tmp_path / 'out'
    monkeypatch.setattr(hearing, 'provenance', lambda: {'commit': 'a'})
    assert cli.main(['bench', 'hearing', '--kills', '3', '--out', str(out)]) == 0
    assert graph.begun == 2, 'the first one ended'
    monkeypatch.setattr(hearing, 'provenance', lambda: {'commit': 'b'})
    assert cli.main(['bench', 'hearing', '--kills', '5', '--out', str(out), '--json']) == 1
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result['outcomes'] == {WHOLE: 3, ENDED: 1, SILENT: 1}
    assert graph.begun == 4, 'one that was silent is not used any more'
    trials = read_trials(Journal(out / hearing.TRIALS))
    assert [one.number for one in trials] == [0, 1, 2, 3, 4]
    assert [one.session for one in trials] == [0, 0, 1, 2, 3]
    written = json.loads((out / hearing.RESULT).read_text())
    assert written['n'] == 5 and written['provenance']['commit'] == 'b'
    assert written['commits'] == ['a', 'b'] == list(dict.fromkeys(one.commit for one in trials))


def test_bad_usage(capsys):
    assert cli.main(['bench', 'hearing', '--limit', '0']) == 2
    assert '--limit' in capsys.readouterr().err


@pytest.mark.slow
def test_a_short_one(tmp_path):
    out = tmp_path / 'out'
    assert cli.main(['bench', 'hearing', '--kills', '2', '--out', str(out)]) == 0
    trials = read_trials(Journal(out / hearing.TRIALS))
    assert [one.outcome for one in trials] == [WHOLE] * 2
    assert [one.episode for one in trials] == [''] * 2
