"""Bags of ``belief`` on sliding puzzles: the pictures that were asked about can be made again."""

from __future__ import annotations

import numpy as np
import pytest

from sightplan.grounding.views import view
from sightplan.model import Asked, AskPurpose, Observation
from sightplan.records import topics
from sightplan.records.bag_reading import open_bag
from sightplan.replay.asking import CurrentTruth, ask_again
from sightplan.replay.rescored import differences, rescore
from sightplan.replay.sources import Sources
from sightplan.runs import RunSettings, load_suite, run
from sightplan.vlm.api import make_backend

pytest.importorskip('sightplan_sim.sliding.world')

OPTIONS = {'table': 'gpt-4o', 'repeat': 0.8}


@pytest.fixture(scope='module', params=['pictured', 'told'])
def played(request, tmp_path_factory):
    """The sources of a run of one episode, with its goal shown or told."""
    folder = tmp_path_factory.mktemp(request.param)
    run(RunSettings(domain='sliding', split='geoms', episodes=1, method='belief', max_actions=3,
                    backend='noisy_reader', backend_options=OPTIONS, goal=request.param,
                    world_options={'pictures': 'none'}, bags='all', out=str(folder)))
    return Sources.find([folder])


def test_every_picture_that_was_asked_about_is_found(played):
    [source] = played.read()
    episode = source.episode
    asked = [event for event in episode.events if isinstance(event, Asked)]
    purposes = {event.purpose for event in asked if event.observation.altered is not None}
    assert AskPurpose.ENUMERATION in purposes
    assert (AskPurpose.PICTURED_GOAL in purposes) is episode.spec.pictured_goal
    for event in asked:
        seen = episode.with_image(event.observation)
        assert seen.image is not None
        assert Observation(seen.image).image_id == event.observation.image_id
    goals = list(open_bag(episode.bag).messages([f'/{topics.GOAL_IMAGE}']))
    assert len(goals) == episode.spec.pictured_goal


def test_metrics_are_the_same_again(played):
    [source] = played.read()
    assert differences(played.live(source), rescore(source.episode, load_suite('ivispar'))) == []


def test_a_model_that_is_asked_again_says_the_same(played):
    truth = CurrentTruth()
    backend = make_backend('noisy_reader', {**OPTIONS, 'seed': 0}, truth)
    replies = list(ask_again(played.read(), backend, truth=truth))
    assert len({reply.batch.event.observation.image_id for reply in replies}) > 3
    for reply in replies:
        assert not reply.lacks
        assert [answer.verdict for answer in reply.answers] == [
            answer.verdict for answer in reply.batch.event.answers]


def test_a_view_says_how_it_was_made():
    rng = np.random.default_rng(3)
    seen = Observation(rng.integers(0, 256, (48, 64, 3), np.uint8), 7)
    assert view(seen, 0) is seen and seen.altered is None
    others = [view(seen, number) for number in range(1, 20)]
    assert len({other.altered for other in others}) == 19
    assert len({other.image_id for other in others} - {seen.image_id}) == 19
