"""``sightplan bench soak``: what counts, and a short one."""

import dataclasses
import json

import pytest

from sightplan import cli
from sightplan.model import InputError
from sightplan.records import RunStore
from sightplan_bench import soak
from sightplan_bench.soak import outcome
from sightplan_bench.soak_samples import Arguments, Sample, read_samples

pytest.importorskip('rclpy')

IDS = [f'e{number}' for number in range(1004)]


def lines(ids=IDS):
    return [{'id': name, 'measures': {'solved': 1}} for name in ids]


def samples(session=0, episodes=1000, *, slow=1.0, growth=1.0, busy=1.0, **values):
    """One a second of wall and of processor; the last hundred may be slower, and memory grow."""
    found, seconds, cpu_s = [], 0.0, 3.0
    for number in range(0, episodes + 1, 20):
        late = number > episodes - 100
        if number:
            seconds += 20 * (slow * busy if late else 1.0)
            cpu_s += 20 * (slow if late else 1.0)
        found.append(Sample(session, number, seconds, cpu_s, {
            'agent': 100.0 * (growth if late else 1.0), 'recorder': 200.0},
            {'agent': 10.0 + number, 'recorder': 7.0},
            **{'disk_bytes': 5000, 'bag_bytes': 4000, 'bags': 7, 'log_bytes': 100, 'load': 1.0,
               **values}))
    return found


def test_all_is_well():
    found = outcome(IDS, lines(), samples(), kept=7)
    assert found['broken'] == []
    assert (found['episodes'], found['done'], found['lost'], found['solved']) == (
        1004, 1004, 0, 1004)
    assert found['session'] == {'episodes': 1000, 'seconds': 1000.0, 'warm_after': 500}
    assert found['pace']['last'] == {'episodes_per_s': 1.0, 'episodes_per_cpu_s': 1.0, 'load': 1.0}
    assert found['memory']['agent'] == {'after_warming_mib': 100.0, 'at_the_end_mib': 100.0,
                                        'growth': 0.0, 'shared_at_the_end_mib': 1010.0}
    assert found['hundreds'] == [found['pace']['first']] * 10
    assert json.dumps(found)


@pytest.mark.parametrize(('broken', 'values'), [
    ('episodes', {'lines': lines(IDS[:-1])}),
    ('episodes', {'lines': [*lines(IDS[:-1]), {'id': IDS[-1], 'measures': {'solved': None}}]}),
    ('episodes', {'lines': [*lines(), *lines(IDS[:1])]}),
    ('memory', {'samples': samples(growth=1.06)}),
    ('disk', {'samples': samples(bags=8)}),
    ('logs', {'samples': samples(log_bytes=2**26)}),
    ('pace', {'samples': samples(slow=1.06)})])
def test_each_bound_can_break(broken, values):
    found = outcome(IDS, values.get('lines', lines()), values.get('samples', samples()), kept=7)
    assert found['broken'] == [broken]


def test_bounds_leave_room_for_what_is_allowed():
    assert outcome(IDS, lines(), samples(growth=1.05, slow=1.05), kept=7)['broken'] == []
    assert outcome(IDS, lines(), samples(bags=5000), kept=None)['broken'] == []


def test_a_busy_machine_is_judged_by_processor_time():
    busy = samples(busy=2.0)
    assert outcome(IDS, lines(), busy, kept=7)['broken'] == ['pace']
    assert outcome(IDS, lines(), busy, kept=7, by_cpu=True)['broken'] == []
    assert outcome(IDS, lines(), samples(slow=1.1), kept=7, by_cpu=True)['broken'] == ['pace']


def test_the_longest_session_counts():
    found = outcome(IDS, lines(), [*samples(0, 200, growth=2.0), *samples(1, 600)], kept=7)
    assert found['sessions'] == 2 and found['broken'] == []
    assert found['session']['episodes'] == 600
    assert found['session']['warm_after'] == 300, 'half of a short one'


def test_nothing_was_measured():
    found = outcome(IDS, [], [], kept=7)
    assert found['broken'] == ['episodes'] and found['too_short_for'] == ['memory', 'pace']


@pytest.mark.parametrize(('episodes', 'short'), [
    (100, ['memory', 'pace']), (400, ['memory']), (1000, [])])
def test_what_is_too_short_to_judge_is_said_and_not_judged(episodes, short):
    bad = outcome(IDS, lines(), samples(0, episodes, growth=2.0, slow=2.0), kept=7)
    assert bad['too_short_for'] == short
    assert bad['broken'] == [name for name in ('memory', 'pace') if name not in short]


def arguments(**values):
    return Arguments(**values)


def test_episodes_take_turns_and_have_names_of_their_own():
    specs = soak.episodes(arguments(episodes=210))
    assert len({spec.id for spec in specs}) == 210
    kinds = [(spec.problem.domain, spec.method) for spec in specs]
    assert kinds[:4] == [('blocksworld', 'oracle'), ('blocksworld', 'belief'),
                         ('household', 'oracle'), ('household', 'belief')]
    assert kinds[4:8] == kinds[:4]
    first, later = ([(spec.method, spec.problem.name) for spec in part]
                    for part in (specs[:100], specs[100:200]))
    assert first == later, 'the first and the last hundred are the same problems'
    assert specs == soak.episodes(arguments(episodes=210))


def test_samples_come_back(tmp_path):
    (tmp_path / 'samples.jsonl').write_text(
        ''.join(json.dumps(dataclasses.asdict(sample)) + '\n' for sample in samples()))
    assert read_samples(tmp_path / 'samples.jsonl') == samples()
    assert read_samples(tmp_path / 'none.jsonl') == []
    (tmp_path / 'other.jsonl').write_text('{"session": 0}\n')
    with pytest.raises(InputError, match=r'other\.jsonl:1: .*choose another --out'):
        read_samples(tmp_path / 'other.jsonl')


def test_bad_usage(tmp_path):
    out = ['--out', str(tmp_path)]
    assert cli.main(['bench', 'soak', '--episodes', '0', *out]) == 2
    assert cli.main(['bench', 'soak', '--domains', 'nowhere', *out]) == 2


@pytest.mark.slow
def test_a_short_one_is_taken_up_again(tmp_path, capsys):
    def go(episodes):
        code = cli.main(['bench', 'soak', '--episodes', str(episodes), '--bags-kept', '3', '--cpu',
                         '--out', str(tmp_path), '--json'])
        return code, json.loads(capsys.readouterr().out.splitlines()[-1])
    _, found = go(5)
    assert found['lost'] == 0 and found['done'] == 5 and not found['broken_off']
    assert set(found['memory']) == {'metrics_recorder', 'sim_bridge', 'grounder',
                                    'symbolic_planner', 'agent', 'experiment'}
    assert all(of['at_the_end_mib'] > 20.0 for of in found['memory'].values())
    assert all(of['shared_at_the_end_mib'] > 0.0 for of in found['memory'].values())
    _, found = go(8)
    assert (found['lost'], found['done'], found['sessions']) == (0, 8, 2)
    assert 'disk' not in found['broken'] and found['disk']['bags'] == 3
    assert len(RunStore(tmp_path / 'run').lines()) == 8
    assert json.loads((tmp_path / 'run' / 'summary.json').read_text())['items'] == 8
    assert json.loads((tmp_path / 'soak.json').read_text()) == found
    assert go(8)[1]['done'] == 8, 'nothing is left to do'
