"""What a viewer of Rerun is shown: written to a file, and read back."""

import builtins
import dataclasses
import json

import numpy as np
import pytest

from doubles import MemoryWorld, spec_of, two_blocks
from sightplan.model import (
    Action,
    Answer,
    AskPurpose,
    Atom,
    Belief,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeStarted,
    Feedback,
    FeedbackStatus,
    InfrastructureError,
    InputError,
    Observation,
    Observed,
    Planned,
    PlanningResult,
    PlanningStatus,
    Proposal,
    ProposalStatus,
    Proposed,
    Question,
    Stepped,
    StopReason,
    Verdict,
)
from sightplan.model.timeline import Timeline
from sightplan.queries import answered
from sightplan_report import rerun_log
from sightplan_report.rerun_log import RerunLog, log_episode

pytest.importorskip('rerun')

ON = Atom('on', ('r', 'g'))
MOVE = Action('moveblock', ('r', 'c1'))
EVIL = '| <b>[x](y)</b>\n# *so* `so`'


class Recording:
    """What a file holds: rows by entity, in the order of the time line ``event``."""

    def __init__(self, path):
        from rerun.chunk import RrdReader
        reader = RrdReader(str(path))
        (recording,), self.blueprints = reader.recordings(), reader.blueprints()
        self.rows = {}
        for chunk in reader.stream(store=recording).to_chunks():
            if chunk.is_static:
                continue
            for row in chunk.to_record_batch().to_pylist():
                self.rows.setdefault(chunk.entity_path.lstrip('/'), []).append(row)
        for rows in self.rows.values():
            rows.sort(key=lambda row: row['event'])

    def texts(self, entity, component='TextDocument:text'):
        return [row[component][0] for row in self.rows[entity] if row.get(component)]


def look(stamp_ns=100, value=7):
    return Observation(image=np.full((6, 8, 3), value, np.uint8), stamp_ns=stamp_ns)


def events(start_ns=10**9, episode_id='e/1'):
    first, second = look(start_ns), look(start_ns + 10**9, 9)
    yield EpisodeStarted(spec_of(two_blocks(), id=episode_id))
    yield Observed(first)
    yield Observed(dataclasses.replace(first, stamp_ns=start_ns + 1))
    yield answered(first, (Question(ON, f'Is red on green? {EVIL}'), Question(ON, 'Again?')),
                (Answer('yes', 0.6, 0.2), Answer(EVIL, verdict=Verdict.UNPARSED)),
                (False, None), AskPurpose.PRECONDITION, MOVE, 0.5, 'a-model')
    yield BeliefUpdated(Belief(frozenset({ON}), {
        ON: 0.5, Atom('clear', ('r',)): 1.0, Atom('clear', ('g',)): 0.0}))
    yield Planned(PlanningResult(PlanningStatus.SOLVED, (MOVE, MOVE)))
    yield Stepped(0, MOVE, Feedback(FeedbackStatus.REJECTED, 'not legal', start_ns + 10**8),
                  start_ns)
    yield Observed(second)
    yield Proposed(second, Proposal(ProposalStatus.UNPARSED, message=EVIL, model='a-model'))
    yield Stepped(1, None, Feedback(FeedbackStatus.INVALID, EVIL, start_ns + 10**9))
    yield EpisodeEnded(StopReason.UNPARSED, EVIL, 2, 0, start_ns + 2 * 10**9, 3.0)


def test_an_episode(tmp_path):
    path = tmp_path / 'deep' / 'one.rrd'
    with RerunLog(str(path)) as log:
        for event in events():
            log.record(event)
    found = Recording(path)
    assert len(found.blueprints) == 1
    assert rerun_log.TRUTH not in found.rows, 'nobody asked for the truth'
    assert [row['step'] for row in found.rows['log']] == [0] * 6 + [1, 1, 1, 2, 2]
    assert [row['world_time'].total_seconds() for row in found.rows['log']][-1] == 3.0
    images = [row['Image:buffer'][0] for row in found.rows['camera/image']]
    assert [bytes(image)[0] for image in images] == [7, 9], 'the same picture is sent once'

    (answers,) = found.texts('answers/last')
    assert answers.startswith('precondition of moveblock(r, c1), a\\-model, 0.50 s')
    question, again = answers.splitlines()[-2:]
    assert question.endswith('| yes (!) | 0.750 | no |')
    assert again == '| Again? | unparsed |  |  |'
    levels = found.texts('answers/log', 'TextLog:level')
    assert levels == ['WARN', 'WARN']

    (belief,) = found.texts('belief/atoms')
    rows = belief.splitlines()
    assert rows[0] == '3 atoms, 1 in doubt'
    assert [row.split(' | ')[:2] for row in rows[4:]] == [
        ['| on r,g', '0.500'], ['| clear r', '1.000'], ['| clear g', '0.000']]
    assert found.texts('belief/state') == ['- on r,g']
    assert found.texts('belief/doubt', 'Scalars:scalars') == [1.0]

    plan, proposal = found.texts('plan')
    assert plan.startswith('Plan of 2 actions')
    assert plan.splitlines()[-2:] == ['1. moveblock\\(r, c1\\)', '2. moveblock\\(r, c1\\)']
    assert proposal.startswith('unparsed: 0 actions by a\\-model')
    assert found.texts('action')[0].startswith(
        'Step 1: moveblock\\(r, c1\\): rejected \\(not legal\\)')
    assert 'invalid' in found.texts('action')[1]
    begun, ended = found.texts('episode')
    assert begun.endswith('Under way.')
    assert 'Ended after 2 actions and 3.0 s: unparsed' in ended
    for text in (question, proposal, ended, found.texts('action')[1]):
        assert '<b>' not in text
        assert '\n#' not in text
        assert '\\<b\\>\\[x\\]\\(y\\)\\</b\\> \\# \\*so\\* \\`so\\`' in text


def test_times_go_on_over_episodes(tmp_path):
    """Whether a world goes on with its time (as on ROS) or begins anew."""
    path = tmp_path / 'x.rrd'
    with RerunLog(str(path)) as log:
        for start_ns in (10**9, 10 * 10**9, 10**9):
            for event in events(start_ns, f'e/{start_ns}'):
                log.record(event)
    times = [row['world_time'].total_seconds() for row in Recording(path).rows['log']]
    assert times == sorted(times)
    assert [times[0], times[10], times[21], times[32]] == [0.0, 3.0, 12.0, 15.0]
    steps = [row['step'] for row in Recording(path).rows['action']]
    assert max(steps) == 6
    assert len(Recording(path).rows['camera/image']) == 6


def test_the_file_can_be_read_at_any_time(tmp_path):
    path = tmp_path / 'x.rrd'
    log = RerunLog(str(path))
    for number, event in enumerate(events()):
        log.record(event)
        if number == 5:
            with pytest.warns(match='no footer'):
                assert Recording(path).texts('plan')
    log.close()


def test_the_truth_only_for_those_who_ask(tmp_path):
    world = MemoryWorld()
    spec = spec_of(two_blocks())
    world.reset(spec)
    with RerunLog(str(tmp_path / 'x.rrd'), world) as log:
        log.record(EpisodeStarted(spec))
        log.record(Observed(world.observe()))
    (text,) = Recording(tmp_path / 'x.rrd').texts('truth')
    assert text.splitlines() == [f'- {atom}'.replace('_', '\\_') for atom in sorted(world.state())]


def test_a_recorded_episode_has_its_pictures(tmp_path):
    class Recorded:
        timeline = Timeline.of_events([EpisodeStarted(spec_of(two_blocks())),
                                       Observed(Observation.elsewhere('abc', 10**9))])

        @staticmethod
        def with_image(observation):
            assert observation.image_id == 'abc'
            return look(observation.stamp_ns)

    with RerunLog(str(tmp_path / 'x.rrd')) as log:
        log_episode(Recorded, log)
    assert len(Recording(tmp_path / 'x.rrd').rows['camera/image']) == 1


@pytest.mark.parametrize(('target', 'kind', 'words'), [
    ('there.rrd', InputError, 'exists already'),
    ('run.txt', InputError, 'FILE.rrd, "spawn"'),
    ('rerun+http://127.0.0.1:1/proxy', InfrastructureError, 'no Rerun viewer listens'),
    ('rerun+http://127.0.0.1:99999/proxy', InputError, '99999')])
def test_wrong_targets_are_named(tmp_path, monkeypatch, target, kind, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'there.rrd').write_text('mine')
    with pytest.raises(kind, match=words):
        RerunLog(target)
    assert (tmp_path / 'there.rrd').read_text() == 'mine'


def test_without_a_display_no_viewer_starts(monkeypatch):
    for name in ('DISPLAY', 'WAYLAND_DISPLAY', 'WAYLAND_SOCKET'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(rerun_log, 'PORT', 19876)
    with pytest.raises(InfrastructureError, match='display'):
        RerunLog('spawn')


def test_without_the_extra_it_is_named(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith('rerun'):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, '__import__', missing)
    with pytest.raises(InputError, match='make extras'):
        RerunLog('x.rrd')


def test_a_run_is_shown_while_it_goes(tmp_path, monkeypatch, capsys):
    """``sightplan run --rerun``: the same scores, and every look, answer and step in the file."""
    from sightplan.cli import main
    monkeypatch.chdir(tmp_path)
    assert main(['run', '--method', 'ground', '--table', 'perfect', '--episodes', '2',
                 '--world-option', 'pictures=none', '--rerun', 'x.rrd', '--out', 'run',
                 '--json']) == 0
    capsys.readouterr()
    lines = [json.loads(line)
             for line in (tmp_path / 'run' / 'episodes.jsonl').read_text().splitlines()]
    found = Recording(tmp_path / 'x.rrd')
    assert len(found.texts('action')) == sum(line['steps'] for line in lines)
    assert len(found.texts('answers/log', 'TextLog:text')) == sum(
        line['questions'] for line in lines)
    assert sum('Ended' in text for text in found.texts('episode')) == 2
    assert 'truth' not in found.rows
    assert main(['run', '--rerun', 'y.rrd', '--split', 'simpl', '--out', 'other']) == 2
    assert 'simpl' in capsys.readouterr().err and not (tmp_path / 'y.rrd').exists()
    assert main(['run', '--rerun', 'x.rrd', '--out', 'other']) == 2
    assert 'exists already' in capsys.readouterr().err
    assert not (tmp_path / 'other').exists()
