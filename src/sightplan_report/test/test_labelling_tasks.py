"""What is to be labelled: each question about a picture once, chosen and sampled."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from doubles import MemoryWorld, SearchPlanner
from labelling_case import CLEAR, IDS, OFF, ON, asked, episode, picture, three_pictures
from sightplan.model import AskPurpose, Atom, InputError, Observation, Verdict
from sightplan.runs import RunSettings, run
from sightplan_report.labelling import tasks as tasks_module
from sightplan_report.labelling.tasks import Pictures, choose, collect, collect_bags


def pairs(tasks):
    return [(image.image_id, question.atom)
            for image in tasks.images for question in image.questions]


def test_each_pair_is_asked_once():
    tasks = collect([
        episode(asked(0, {ON: 'yes', CLEAR: 'no'}), asked(0, {ON: 'no'}, AskPurpose.EFFECT),
                asked(1, {ON: 'no'})),
        episode(asked(0, {ON: 'yes', OFF: 'no'}, model='other'), bag='bags/b')])
    assert pairs(tasks) == [(IDS[0], ON), (IDS[0], OFF), (IDS[0], CLEAR), (IDS[1], ON)]
    first = tasks.images[0]
    assert (first.bag, first.episode) == (Path('bags/a'), 'blocksworld/simple/problem_00#0')
    assert first.observation.stamp_ns == 1_000
    question = first.questions[0]
    assert question.text == 'Is it true that on r,g?'
    assert question.answers == (('tiny', Verdict.YES), ('tiny', Verdict.NO),
                                ('other', Verdict.YES))
    assert question.purposes == {AskPurpose.ENUMERATION, AskPurpose.EFFECT}
    assert question.kind == ('on', 'mixed')
    assert first.questions[2].kind == ('clear', 'no')
    assert tasks.questions == 4


def test_pictures_that_are_lost_are_said():
    damaged = episode(asked(0, {ON: 'yes'}), asked(1, {ON: 'yes'}), asked(1, {CLEAR: 'yes'}),
                      warnings=['the end is missing'], without=(1,))
    tasks = collect([damaged])
    assert pairs(tasks) == [(IDS[0], ON)]
    assert tasks.warnings[0].endswith('the end is missing')
    assert tasks.warnings[1].startswith('2 batches of questions are left out')


def test_looks_without_a_picture_are_no_tasks():
    blind = asked(0, {ON: 'yes'})
    object.__setattr__(blind, 'observation', type(blind.observation).elsewhere('', 5))
    strange = asked(0, {ON: 'yes'})
    object.__setattr__(strange, 'observation', type(blind.observation).elsewhere('../x', 5))
    assert not collect([episode(blind, strange)]).images


def test_only_some_are_chosen():
    tasks = collect([episode(asked(0, {ON: 'yes', CLEAR: 'no'}),
                             asked(0, {ON: 'yes'}, AskPurpose.EFFECT), asked(1, {CLEAR: 'no'}),
                             asked(2, {OFF: 'no'}))])
    assert pairs(choose(tasks, [AskPurpose.EFFECT])) == [(IDS[0], ON)]
    assert pairs(choose(tasks, predicates=['clear'])) == [(IDS[0], CLEAR), (IDS[1], CLEAR)]
    assert [image.image_id for image in choose(tasks, limit=2).images] == IDS[:2]
    assert pairs(choose(tasks)) == pairs(tasks)
    with pytest.raises(InputError, match='--predicate at: never asked; there are clear, on'):
        choose(tasks, predicates=['at'])
    with pytest.raises(InputError, match='give another --purpose'):
        choose(tasks, [AskPurpose.GOAL])


def test_a_sample_is_balanced_over_predicates_and_answers():
    many = {Atom('on', (f'x{n}', 'g')): 'no' for n in range(50)}
    few = {Atom('on', (f'y{n}', 'g')): 'yes' for n in range(2)}
    clear = {Atom('clear', (f'x{n}',)): 'yes' for n in range(20)}
    tasks = collect([episode(asked(0, many | few), asked(1, clear))])

    def drawn(number, seed=0):
        return choose(tasks, sample=number, seed=seed)

    def kinds(found):
        return Counter(q.kind for image in found.images for q in image.questions)
    assert kinds(drawn(14)) == {('on', 'no'): 6, ('on', 'yes'): 2, ('clear', 'yes'): 6}
    assert drawn(15).questions == 15
    assert drawn(1000).questions == 72
    assert pairs(drawn(14)) == pairs(drawn(14))
    assert pairs(drawn(14)) != pairs(drawn(14, seed=1))
    # What cannot be divided is left to chance: no kind is preferred.
    single = sum((kinds(drawn(1, seed)) for seed in range(90)), Counter())
    assert min(single.values()) > 10 and len(single) == 3


def test_pictures_come_from_their_bags(monkeypatch):
    read = []

    def read_episodes(bag):
        read.append(bag)
        yield three_pictures() if bag == Path('bags/a') else episode(
            asked(3, {ON: 'yes'}), bag=bag)
    monkeypatch.setattr(tasks_module, 'read_episodes', read_episodes)
    tasks = collect([three_pictures(), episode(asked(3, {ON: 'no'}), bag='bags/b')])
    pictures = Pictures(most=1)
    for number, image in enumerate(tasks.images):
        np.testing.assert_array_equal(pictures.get(image), picture(number))
    assert read == [Path('bags/a'), Path('bags/b')]
    pictures.get(tasks.images[0])
    assert len(read) == 3


def test_a_picture_that_has_gone_is_said(monkeypatch):
    (image,) = collect([episode(asked(0, {ON: 'yes'}))]).images
    for left in ([], [episode(asked(0, {ON: 'yes'}), without=(0,))]):
        monkeypatch.setattr(tasks_module, 'read_episodes', lambda bag, left=left: iter(left))
        with pytest.raises(InputError, match=f'holds no picture {IDS[0]}'):
            Pictures().get(image)


def test_bags_that_cannot_be_read_are_left_out(monkeypatch):
    def read_episodes(bag):
        if bag == Path('bad'):
            raise InputError('bad: is no bag')
        yield episode(asked(0, {ON: 'yes'}), bag=bag)
    monkeypatch.setattr(tasks_module, 'read_episodes', read_episodes)
    monkeypatch.setattr(tasks_module, 'find_bags', lambda path: [Path(path), Path('bad')])
    seen = []
    tasks = collect_bags(['a', 'a', 'b'], lambda done, of: seen.append((done, of)))
    assert pairs(tasks) == [(IDS[0], ON)]
    assert tasks.warnings == ('bad: is no bag',)
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    monkeypatch.setattr(tasks_module, 'find_bags', lambda path: [Path('bad')])
    with pytest.raises(InputError, match='1 bags hold no picture with questions .bad: is no bag'):
        collect_bags(['x'])


def test_a_recorded_run_is_labelled(tmp_path):
    run(RunSettings(split='simple', episodes=2, backend='noisy_oracle',
                    backend_options={'table': 'gpt-4.1'}, bags='all', out=str(tmp_path / 'run')),
        world=MemoryWorld(), planner=SearchPlanner())
    tasks = collect_bags([tmp_path / 'run'])
    assert tasks.warnings == ()
    asked_of = {image.episode: image for image in reversed(tasks.images)}
    assert len(asked_of) == 2
    pictures = Pictures()
    for image in tasks.images:
        assert Observation(pictures.get(image)).image_id == image.image_id
        assert image.questions
    questions = asked_of['blocksworld/simple/problem_00#0'].questions
    assert Counter(question.atom.predicate for question in questions)['on'] == 9
    assert questions[0].text.startswith('Is the ')
