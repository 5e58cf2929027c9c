"""``sightplan bench starts``: a real start, and one that fails."""

import json

import pytest

from sightplan import cli
from sightplan_bench import starts
from sightplan_bench.starts import Start, summary

pytest.importorskip('rclpy')


@pytest.mark.slow
def test_a_graph_starts_and_one_that_does_not_is_counted(tmp_path, capsys):
    logs = tmp_path / 'logs'
    arguments = ['bench', 'starts', '--count', '1', '--busy', '0', '--json', '--logs', str(logs)]
    assert cli.main([*arguments, '--domain', 'blocksworld']) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found['starts'], found['failed']) == (1, 0)
    assert found['domains']['blocksworld']['seconds'] > 0.0
    assert cli.main([*arguments, '--domain', 'no_such_domain']) == 1
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found['starts'], found['failed']) == (1, 1)
    assert 'no_such_domain' in (logs / 'no_such_domain-0.log').read_text()


def test_a_graph_that_hangs_is_ended_and_fails():
    assert starts.start('blocksworld', 0, limit_s=0.5).code is None


def test_busy_loops_end():
    with starts.busy_loops(2):
        pass


def test_starts_are_counted_by_domain():
    found = summary([Start('a', 0, 3.0, 1), Start('b', None, 9.0, 0), Start('a', 1, 5.0, 2)])
    assert found == {
        'starts': 3, 'failed': 2, 'replies_lost': 3, 'seconds': 5.0, 'domains': {
            'a': {'starts': 2, 'failed': 1, 'replies_lost': 3, 'seconds': 4.0},
            'b': {'starts': 1, 'failed': 1, 'replies_lost': 0, 'seconds': 9.0}}}
