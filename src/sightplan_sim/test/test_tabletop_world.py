"""The world of the domain ``tabletop``, with an arm and without."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from sightplan.domains import load_domain
from sightplan.model import (
    Action,
    Atom,
    EpisodeSpec,
    FeedbackStatus,
    InputError,
    WorldError,
)
from sightplan.runs import RunSettings, run
from sightplan_sim.tabletop.grounded_scenes import box_of
from sightplan_sim.tabletop.tidy_problems import object_name
from sightplan_sim.tabletop.world import BareTable, TabletopWorld, make_world


@pytest.fixture(scope='module')
def world():
    with make_world(execution='arm') as made:
        assert isinstance(made, TabletopWorld)
        yield made


def spec(split: str, name: str) -> EpisodeSpec:
    problem, = (one for one in load_domain('tabletop').split_problems(split) if one.name == name)
    return EpisodeSpec(f'tabletop/{split}/{name}#0', problem, 'oracle', split)


@pytest.mark.parametrize(('split', 'name'), [('short', 'short_0'), ('long', 'long_0')])
def test_the_table_begins_as_the_problem_says(world, split: str, name: str) -> None:
    one = spec(split, name)
    world.check([one])
    world.reset(one)
    assert world.state() == one.problem.init
    assert not one.problem.goal_met(world.state())
    seen = world.observe()
    assert seen.image.shape == (480, 640, 3) and seen.depth_m.shape == (480, 640)
    assert np.isfinite(seen.depth_m).any() and seen.frame_id == world.camera_info().frame_id


def test_every_problem_comes_with_its_instruction() -> None:
    domain = load_domain('tabletop')
    told = [problem.instruction for split in domain.splits
            for problem in domain.split_problems(split)]
    assert len(told) == 75 and all(told) and len(set(told)) > 60


def test_an_action_without_a_place_is_rejected_and_nothing_moves(world) -> None:
    one = spec('short', 'short_0')
    world.reset(one)
    before = world.arm.state().positions.copy()
    feedback = world.execute(Action('grasp', ('apple_1',)))
    assert feedback.status is FeedbackStatus.REJECTED
    assert 'place in the picture' in feedback.message
    assert world.last_outcome() == 'illegal' and world.state() == one.problem.init
    np.testing.assert_allclose(world.arm.state().positions, before, atol=1e-3)


def test_simulated_models_are_told_what_is_seen_now(world) -> None:
    name = next(problem.name for problem in load_domain('tabletop').split_problems('medium')
                if 'drawer_1' in problem.objects)
    world.reset(spec('medium', name))
    things = world.things_by_name()
    image = world.observe().image
    assert len(world.things()) == len(things)
    assert all(thing.mask.shape == image.shape[:2] and thing.mask.any()
               for thing in things.values())
    shown = {object_name(name): thing for name, thing in things.items()}
    open_now = {atom.args[0] for atom in world.state() if atom.predicate == 'open'}
    drawers = {name: thing for name, thing in shown.items() if name.startswith('drawer')}
    assert drawers and all(thing.opened is (name in open_now) and not thing.colour
                           for name, thing in drawers.items())
    movable = [atom.args[0] for atom in world.state() if atom.predicate in ('on', 'in')]
    assert set(movable) <= set(shown)
    assert all(name.startswith(shown[name].category) and shown[name].colour for name in movable)
    # Two things have no pixel in common; a drawer's pixels are its cabinet's, too.
    assert np.sum([shown[name].mask for name in movable], axis=0).max() == 1


def test_what_is_in_the_hand_is_not_seen(world) -> None:
    one = spec('short', 'short_0')
    world.reset(one)
    before = world.things_by_name()
    goal = next(atom for literal in one.problem.goal if (atom := literal.atom).predicate
                in ('on', 'in'))
    name = next(name for name in before if object_name(name) == goal.args[0])
    box = box_of(before[name].mask)
    assert world.execute(Action('grasp', goal.args[:1], box)).message == ''
    assert Atom('held', goal.args[:1]) in world.state()
    assert name not in world.things_by_name()


def test_a_problem_that_tells_no_scene_is_named(world) -> None:
    one = spec('short', 'short_0')
    other = dataclasses.replace(one, problem=dataclasses.replace(one.problem, name='mine'))
    with pytest.raises(InputError, match='mine: its name does not name a scene'):
        world.check([other])
    with pytest.raises(WorldError, match='mine'):
        world.reset(other)


def test_without_an_arm_there_are_no_pictures_and_no_settings_of_arms() -> None:
    with make_world() as bare:
        assert isinstance(bare, BareTable) and not bare.pictures
    with pytest.raises(InputError, match='execution=arm'):
        make_world(depth_noise_mm=3.0)
    with pytest.raises(InputError, match='colour'):
        make_world(colour='red')


@pytest.mark.slow
@pytest.mark.parametrize(('method', 'options'), [
    ('oracle', {'execution': 'arm', 'true_places': True}),
    ('grounded_plan', {'execution': 'arm'})])
def test_a_method_solves_a_problem_with_the_arm(tmp_path, method: str, options: dict) -> None:
    summary = run(RunSettings(domain='tabletop', split='short', method=method, episodes=1,
                              backend='embedded', world_options=options, bags='all',
                              out=str(tmp_path / 'run')))
    line = json.loads((tmp_path / 'run' / 'episodes.jsonl').read_text())
    assert summary['measures']['solved']['value'] == 1.0, line
    assert line['cause'] is None and line['executed'] >= 2
