"""Bags of runs in process: what is in them, which are kept, and what is left after a crash."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from doubles import TWO_BLOCKS, MemoryWorld, SearchPlanner, pantry_view
from sightplan.model import (
    EpisodeEnded,
    EpisodeStarted,
    InfrastructureError,
    Observed,
    Stepped,
)
from sightplan.records import topics
from sightplan.records.bag import BagWriter
from sightplan.records.bag_reading import find_bags, open_bag
from sightplan.records.bag_recorder import BagRecorder
from sightplan.records.evidence import file_name, fresh_name
from sightplan.records.messages import image_from_msg, time_from_msg
from sightplan.records.recorded import read_episodes
from sightplan.replay.rescored import differences, rescore
from sightplan.runs import RunSettings, run
from sightplan_report.replay.episodes import find_episodes

HERE = Path(__file__).parent


class LabellingWorld(MemoryWorld):
    """Draws labels, and knows its camera."""

    labels = True

    def observe(self):
        seen = super().observe()
        return dataclasses.replace(seen, image=255 - seen.image, unlabelled=seen.image)

    def camera_info(self):
        return types.SimpleNamespace(width=2, height=2, frame_id='optical',
                                     matrix=np.arange(9.0).reshape(3, 3))


@pytest.fixture
def problems(tmp_path):
    folder = tmp_path / 'problems'
    folder.mkdir()
    for name in 'abc':
        (folder / f'{name}.pddl').write_text(TWO_BLOCKS)
    return folder


@pytest.fixture
def go(tmp_path, problems):
    def call(world=None, recorders=(), cancelled=lambda: False, **values):
        settings = RunSettings(**{
            'problems': str(problems), 'method': 'ground', 'backend': 'noisy_oracle',
            'out': str(tmp_path / 'run'), 'bags': 'all', **values})
        return run(settings, world=world or MemoryWorld(), planner=SearchPlanner(),
                   recorders=recorders, cancelled=cancelled)
    return call


def lines(run_folder):
    return [json.loads(line) for line in (run_folder / 'episodes.jsonl').read_text().splitlines()]


def messages(bag):
    """(relative topic, decoded message) in the order of the bag."""
    opened = open_bag(bag)
    found = [(m.topic.lstrip('/'), opened.decode(m)) for m in opened.messages()]
    assert not opened.warnings
    return found


def bags(folder):
    return sorted(path.name for path in (folder / 'run' / 'bags').iterdir() if path.is_dir())


class Events:
    def __init__(self, at=None):
        self.events, self._at = [], at

    def record(self, event):
        self.events.append(event)
        if self._at is not None:
            self._at(event)


@pytest.mark.parametrize('method', ['ground', 'belief', 'decode', 'oracle'])
def test_a_bag_scores_as_the_live_run_did(go, tmp_path, method):
    events = Events()
    go(method=method, recorders=[events], failure_probability=0.3,
       backend_options={'table': 'gemma-3-27b-it'})
    for line in lines(tmp_path / 'run'):
        (episode,) = read_episodes(tmp_path / 'run' / line['bag'])
        assert episode.warnings == ()
        assert differences(line, rescore(episode)) == []
        assert (line['images'] > 0) is (method != 'oracle') and line['images_missing'] == 0
        live = events.events
        first = next(n for n, event in enumerate(live) if isinstance(event, EpisodeStarted)
                     and event.spec.id == line['id'])
        for event, again in zip(live[first:], episode.events, strict=False):
            assert type(event) is type(again)
            if isinstance(event, Observed):
                seen = episode.with_image(again.observation)
                assert np.array_equal(seen.image, event.observation.image)


def test_pictures_come_before_their_look_and_all_is_numbered(go, tmp_path):
    world = LabellingWorld(visible=pantry_view)
    go(world=world, episodes=1)
    (line,) = lines(tmp_path / 'run')
    found = messages(tmp_path / 'run' / line['bag'])
    names = [topic for topic, _ in found]
    looks = [n for n, topic in enumerate(names) if topic == topics.AGENT_OBSERVATION]
    assert len(looks) == line['images'] == world.observations
    for place in looks:
        info, raw, labelled, look = (message for _, message in found[place - 3:place + 1])
        assert names[place - 3:place] == [topics.CAMERA_INFO, topics.CAMERA_IMAGE,
                                          topics.CAMERA_LABELLED]
        assert look.labelled
        assert len({time_from_msg(m.header.stamp) for m in (info, raw, labelled, look)}) == 1
        assert np.array_equal(255 - image_from_msg(raw), image_from_msg(labelled))
        assert (info.header.frame_id, list(info.k)) == ('optical', list(range(9)))
    numbers = [message.sequence for topic, message in found if topic in topics.EVENTS]
    assert numbers == list(range(len(numbers)))
    assert names[0] == topics.AGENT_EPISODE
    assert found[0][1].domain_pddl and '(:init' in found[0][1].problem_pddl
    assert 'on ' not in found[0][1].problem_pddl.partition('(:init')[2].partition('(:goal')[0], \
        'what the agent must not know is not told'
    assert topics.TRUTH in names
    assert names.index(topics.TRUTH) > names.index(topics.AGENT_OBSERVATION)


def test_failed_keeps_the_failed_ones(go, tmp_path):
    summary = go(bags='failed', max_actions=1)
    kept = [line['bag'] for line in lines(tmp_path / 'run') if 'bag' in line]
    assert summary['solved'] == 0 and len(kept) == 3
    assert [Path(bag).name for bag in kept] == bags(tmp_path)
    go(bags='failed', out=str(tmp_path / 'other'))
    assert all('bag' not in line and 'images' not in line for line in lines(tmp_path / 'other'))
    assert not (tmp_path / 'other' / 'bags').exists()


def test_none_is_the_default_and_recording_changes_no_result(go, tmp_path, problems):
    go()
    go(bags='none', out=str(tmp_path / 'other'))
    with_bags, without = lines(tmp_path / 'run'), lines(tmp_path / 'other')
    assert RunSettings().bags == 'none'
    assert not (tmp_path / 'other' / 'bags').exists()
    for one, two in zip(with_bags, without, strict=True):
        assert set(one) - set(two) == {'bag', 'images', 'images_missing'}
        same = ('measures', 'steps', 'questions', 'predicates', 'checks')
        assert [one[key] for key in same] == [two[key] for key in same]
    shown = [json.loads((tmp_path / name / 'run.json').read_text())['identity']
             for name in ('run', 'other')]
    assert shown[0] == shown[1], 'a run can be taken up with other bags'


def test_readable_after_each_step(go, tmp_path):
    seen = []

    def look(event):
        if isinstance(event, Stepped):
            (hidden,) = (tmp_path / 'run' / 'bags').glob('.under-way-*/*')
            opened = open_bag(hidden)
            steps = sum(m.topic == f'/{topics.AGENT_STEP}' for m in opened.messages())
            seen.append((event.index + 1, steps))
            assert find_bags_or_none(tmp_path / 'run') is None, 'nothing half is found'

    go(episodes=1, recorders=[Events(look)])
    assert seen and all(index == steps for index, steps in seen)


def find_bags_or_none(folder):
    from sightplan.model import InputError
    try:
        return find_bags(folder)
    except InputError:
        return None


def test_a_cancelled_episode_leaves_nothing(go, tmp_path):
    events = Events()
    summary = go(recorders=[events], cancelled=lambda: len(events.events) > 4)
    assert summary['interrupted']
    assert lines(tmp_path / 'run') == []
    assert not (tmp_path / 'run' / 'bags').exists()
    go()
    assert [Path(line['bag']).name for line in lines(tmp_path / 'run')] == bags(tmp_path)


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
from doubles import MemoryWorld, SearchPlanner
from sightplan.model import Stepped
from sightplan.runs import RunSettings, run

class Killer:
    steps = 0
    def record(self, event):
        self.steps += isinstance(event, Stepped)
        if self.steps == 2:
            os.kill(os.getpid(), signal.SIGKILL)

run(RunSettings(problems={problems!r}, method='ground', backend='noisy_oracle', out={out!r},
                bags='all'), world=MemoryWorld(), planner=SearchPlanner(), recorders=[Killer()])
"""


@pytest.mark.parametrize('again', ['all', 'none'])
def test_a_killed_run_is_taken_up_again(go, tmp_path, problems, again):
    code = KILLED.format(here=str(HERE), problems=str(problems), out=str(tmp_path / 'run'))
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == -signal.SIGKILL
    (left,) = (tmp_path / 'run' / 'bags').glob('.under-way-*/*')
    assert any(m.topic == f'/{topics.AGENT_STEP}' for m in open_bag(left).messages())
    go(bags=again)
    kept = [Path(line['bag']).name for line in lines(tmp_path / 'run') if 'bag' in line]
    if again == 'all':
        assert kept == bags(tmp_path), 'and nothing hidden'
    assert len(kept) == (3 if again == 'all' else 0)
    assert (tmp_path / 'run' / 'bags').exists() is (again == 'all')


def test_what_was_never_committed_is_removed_and_nothing_else(go, tmp_path):
    """A crash between the bag's move and its line; a bag by ROS; another process at work."""
    go()
    store = tmp_path / 'run' / 'episodes.jsonl'
    whole = store.read_text().splitlines(keepends=True)
    store.write_text(''.join(whole[:2]))
    by_ros = tmp_path / 'run' / 'bags' / 'of_ros'
    BagWriter(by_ros, custom={'episode_id': 'x'}).close()
    (tmp_path / 'run' / 'bags' / 'notes.txt').write_text('mine')
    other = BagRecorder(tmp_path / 'run', MemoryWorld(), MemoryWorld().domain)
    spec = next(read_episodes(tmp_path / 'run' / json.loads(whole[0])['bag'])).spec
    other.record(EpisodeStarted(spec))
    before = bags(tmp_path)
    go()
    assert bags(tmp_path) == before, 'the third was removed, and is there again'
    assert json.loads(store.read_text().splitlines()[2])['bag'] == json.loads(whole[2])['bag']
    other.close()
    assert len(bags(tmp_path)) == len(before) - 1


def test_an_attempt_on_ros_keeps_its_place(go, tmp_path):
    go(episodes=1)
    (name,) = bags(tmp_path)
    other = tmp_path / 'other' / 'bags' / name
    BagWriter(other, custom={'episode_id': 'x'}).close()
    before = {path.name: path.read_bytes() for path in other.iterdir()}
    go(episodes=1, out=str(tmp_path / 'other'))
    (line,) = lines(tmp_path / 'other')
    assert line['bag'] == f'bags/{name}.2'
    assert open_bag(tmp_path / 'other' / line['bag']).warnings == []
    assert {path.name: path.read_bytes() for path in other.iterdir()} == before


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / 'bags').write_text('a file')
    recorder = BagRecorder(tmp_path, MemoryWorld(), MemoryWorld().domain)
    with pytest.raises(InfrastructureError, match='bags: cannot be written .File exists'):
        recorder.record(EpisodeStarted(types.SimpleNamespace(id='e')))
    recorder.record(EpisodeEnded(None))  # nothing is open, nothing happens
    recorder.close()
    assert os.listdir(tmp_path) == ['bags']


def test_bags_have_plain_names_and_attempts_are_numbered(tmp_path):
    assert fresh_name(tmp_path, 'blocksworld/-/my problem#0') == 'blocksworld_-_my_problem_0'
    assert '/' not in fresh_name(tmp_path, '../..') and fresh_name(tmp_path, '///') == 'episode'
    for name in ('a_0', 'a_0.2', 'a_0.3'):
        assert fresh_name(tmp_path, 'a#0') == name
        (tmp_path / name).mkdir()


def test_last_keeps_the_newest_ones_also_of_a_run_that_is_taken_up_again(go, tmp_path):
    go(bags='last', bags_kept=2)
    assert bags(tmp_path) == [Path(line['bag']).name for line in lines(tmp_path / 'run')[-2:]]
    go(bags='last', bags_kept=2, episodes=5, resume=True)
    kept = [line['bag'] for line in lines(tmp_path / 'run')[-2:]]
    assert len(lines(tmp_path / 'run')) == 5 and bags(tmp_path) == [Path(b).name for b in kept]
    found = {entry.id: entry.read() for entry in find_episodes(tmp_path / 'run')}
    assert [episode is not None for episode, _ in found.values()] == [False] * 3 + [True] * 2
    assert 'this bag was not kept' in next(iter(found.values()))[1]


@pytest.mark.parametrize(('name', 'file'), [
    ('blocksworld/simple/problem_00#0', 'blocksworld_simple_problem_00_0'),
    ('台所.png#1', '台所.png_1'), ('küche 1.jpg#1', 'küche_1.jpg_1'), ('..', 'episode')])
def test_a_file_keeps_the_letters_of_its_episode(name, file):
    assert file_name(name) == file
