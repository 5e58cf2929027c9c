"""The world as a port: reset, look, act, and truth that follows a reference model."""

import gc
import inspect
import re
import resource
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sightplan.domains.episodic_world import START_NS
from sightplan.model import (
    Action,
    EpisodeSpec,
    FeedbackStatus,
    InputError,
    TruthSource,
    World,
    WorldError,
    check_settings,
    settings_fields,
)
from sightplan_sim.blocksworld import Settings, make_world
from sightplan_sim.blocksworld.scene import COLOURS, BlocksScene
from sim_cases import atoms, episode, move

STACKS = {'c1': ['r', 'g'], 'c2': [], 'c3': ['b']}


def act(world, block, column):
    return world.execute(Action('moveblock', (block, column)))


def test_it_fills_both_ports(world):
    assert isinstance(world, World)
    assert isinstance(world, TruthSource)


def test_it_tells_what_draws_its_pictures():
    with make_world(width=80, height=64, supersampling=1) as small:
        assert re.fullmatch(r'PyBullet TinyRenderer \d[\d.]+, 80x64, supersampling 1',
                            small.renderer)


def test_entry_point():
    from importlib.metadata import entry_points
    found = [e for e in entry_points(group='sightplan.worlds') if e.name == 'blocksworld']
    if not found:
        pytest.skip('the workspace is not built')
    assert found[0].load() is make_world


@pytest.mark.parametrize('call', [
    lambda w: w.observe(), lambda w: act(w, 'r', 'c1'), lambda w: w.state(),
    lambda w: w.last_outcome(), lambda w: w.camera_pose()])
def test_nothing_works_before_reset(call):
    with make_world(width=64, height=64) as fresh, pytest.raises(WorldError, match='reset'):
        call(fresh)


def test_a_failed_reset_ends_the_old_episode(world):
    world.reset(episode(STACKS))
    with pytest.raises(WorldError):
        world.reset(episode(STACKS, failure=1.5))
    world.reset(episode(STACKS))
    assert world.state() == atoms(STACKS)


def test_observation(world):
    world.reset(episode(STACKS))
    seen = world.observe()
    assert seen.image.shape == (120, 160, 3)
    assert seen.depth_m.shape == (120, 160)
    assert seen.frame_id == 'camera_optical_frame'
    assert seen.privileged_facts == {}
    assert seen.text is None
    with pytest.raises(ValueError, match='read-only'):
        seen.image[0, 0] = 0


def test_same_picture_with_a_new_stamp_until_something_moves(world, monkeypatch):
    world.reset(episode(STACKS))
    rendered = []
    render = BlocksScene.render
    monkeypatch.setattr(BlocksScene, 'render',
                        lambda *args: rendered.append(1) or render(*args))
    first, second = world.observe(), world.observe()
    assert first.image_id == second.image_id
    assert second.stamp_ns > first.stamp_ns
    act(world, 'r', 'c2')  # not legal
    assert world.observe().image_id == first.image_id
    act(world, 'g', 'c2')
    assert world.observe().image_id != first.image_id
    assert len(rendered) == 2


def test_moving_there_and_back_is_not_the_same_picture(world):
    """A moved block stands a little differently, as in the paper's scenes."""
    world.reset(episode(STACKS))
    first = world.observe()
    act(world, 'g', 'c2')
    act(world, 'g', 'c1')
    assert world.state() == atoms(STACKS)
    assert world.observe().image_id != first.image_id


def test_seeds_and_problem_names_give_looks(world):
    def picture(**kwargs):
        world.reset(episode(STACKS, **kwargs))
        return world.observe().image_id
    assert picture(seed=1) == picture(seed=1)
    assert len({picture(seed=1), picture(seed=2), picture(seed=1, name='other')}) == 3


def test_look_of_strength_zero_is_always_the_same():
    with make_world(width=64, height=64, look=0.0) as plain:
        plain.reset(episode(STACKS, seed=1))
        one = plain.observe().image_id
        plain.reset(episode(STACKS, seed=2))
        assert plain.observe().image_id == one


def test_failures_do_not_change_the_look(world):
    world.reset(episode(STACKS, failure=0.0))
    one = world.observe().image_id
    world.reset(episode(STACKS, failure=1.0))
    assert world.observe().image_id == one


@pytest.mark.parametrize(('action', 'words'), [
    (Action('push', ('r', 'c1')), 'unknown action push'),
    (Action('moveblock', ('r',)), 'takes a block and a column'),
    (Action('moveblock', ('o', 'c1')), 'o is not a block'),
    (Action('moveblock', ('r', 'c7')), 'c7 is not a column'),
    (Action('moveblock', ('c1', 'r')), 'c1 is not a block'),
    (Action('moveblock', ('r', 'c2')), 'not legal'),
    (Action('moveblock', ('g', 'c1')), 'not legal'),
])
def test_rejected_actions_move_nothing(world, action, words):
    world.reset(episode(STACKS, failure=1.0))
    before = world._scene.positions_m()
    feedback = world.execute(action)
    assert feedback.status is FeedbackStatus.REJECTED
    assert words in feedback.message
    assert world.last_outcome() == 'illegal'
    assert world._scene.positions_m() == before
    assert world.state() == atoms(STACKS)


def test_a_rejection_does_not_tell_why_a_move_is_illegal(world):
    """Reasons would be ground truth: covered and already there must read alike."""
    world.reset(episode(STACKS))
    assert act(world, 'r', 'c2').message == act(world, 'g', 'c1').message


@st.composite
def games(draw):
    blocks = draw(st.permutations(COLOURS))[:draw(st.integers(1, 6))]
    columns = [f'c{k + 1}' for k in range(draw(st.integers(1, 8)))]
    stacks = {column: [] for column in columns}
    for block in blocks:
        stacks[draw(st.sampled_from(columns))].append(block)
    moves = draw(st.lists(st.tuples(st.sampled_from(blocks), st.sampled_from(columns)),
                          max_size=12))
    return stacks, moves


@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(games())
def test_truth_follows_the_reference_model(world, game):
    """Whatever is tried, state is what PDDL says, and time tells it back."""
    stacks, moves = game
    world.reset(episode(stacks))
    history = [(world.now_ns(), atoms(stacks))]
    assert world.state() == atoms(stacks)
    for block, column in moves:
        after = move(stacks, block, column)
        feedback = act(world, block, column)
        assert (feedback.status is FeedbackStatus.EXECUTED) is (after is not None)
        assert world.last_outcome() == ('illegal' if after is None else 'success')
        stacks = after or stacks
        assert world.state() == atoms(stacks)
        history.append((feedback.stamp_ns, atoms(stacks)))
    for stamp_ns, state in history:
        assert world.state(stamp_ns) == state


def test_pddl_model_and_world_agree(world):
    """The domain's own ground model steps like the world, on a problem of each split."""
    from sightplan.domains import load_domain
    domain = load_domain('blocksworld')
    rng = np.random.default_rng(0)
    for split in domain.splits:
        made = domain.split_problems(split)[3]
        model, state = domain.model(made), made.init
        world.reset(EpisodeSpec('e', made, 'none'))
        for _ in range(40):
            action = model.actions[rng.integers(len(model.actions))]
            legal = model.applicable(action, state)
            state = model.apply(action, state) if legal else state
            assert (world.execute(action).status is FeedbackStatus.EXECUTED) is legal
            assert world.state() == state


def test_state_at_a_time(world):
    world.reset(episode(STACKS))
    start = world.now_ns()
    look = world.observe()
    feedback = act(world, 'g', 'c3')
    later = atoms({'c1': ['r'], 'c2': [], 'c3': ['b', 'g']})
    assert world.state(start) == world.state(look.stamp_ns) == atoms(STACKS)
    assert world.state(feedback.stamp_ns - 1) == atoms(STACKS)
    assert world.state(feedback.stamp_ns) == later == world.state(world.observe().stamp_ns)
    for wrong in (start - 1, 0, world.now_ns() + 1):
        with pytest.raises(WorldError, match='no state at'):
            world.state(wrong)
    world.reset(episode(STACKS))
    with pytest.raises(WorldError, match='no state at'):
        world.state(feedback.stamp_ns)


def test_simulated_time(world):
    with make_world(width=64, height=64) as fresh:
        assert fresh.now_ns() == START_NS
        fresh.reset(episode(STACKS))
        assert fresh.now_ns() == 2 * START_NS
        assert act(fresh, 'g', 'c2').stamp_ns == 4 * START_NS
        assert act(fresh, 'g', 'c2').stamp_ns == 41 * START_NS // 10
        assert fresh.observe().stamp_ns == 41 * START_NS // 10 + 33_333_333


def test_clock_from_outside_may_stand_still_or_step_back():
    readings = iter([50, 50, 50, 40, 60])
    last = [50]

    def clock():
        last[0] = next(readings, last[0])
        return last[0]

    with make_world(clock, width=64, height=64) as timed:
        timed.reset(episode(STACKS))
        stamps = [timed.observe().stamp_ns, act(timed, 'g', 'c2').stamp_ns,
                  timed.observe().stamp_ns]
        assert stamps == sorted(set(stamps))
        assert timed.state(stamps[0]) == atoms(STACKS)
        assert timed.state(stamps[1]) != atoms(STACKS)


def test_nothing_sleeps():
    import sightplan_sim.blocksworld.world as module
    assert 'sleep' not in inspect.getsource(module)


def test_settings_are_described_and_checked():
    check_settings(Settings())
    assert all(field.description for field in settings_fields(Settings))
    with pytest.raises(InputError, match='width'):
        make_world(width=10)
    with pytest.raises(InputError, match="unknown setting 'with'.*width"):
        make_world(**{'with': 10})


def test_a_camera_too_near_is_refused():
    with make_world(width=64, height=64, distance_m=0.5) as near:
        near.reset(episode({'c1': ['r'], 'c2': []}))
        with pytest.raises(WorldError, match='distance_m'):
            near.reset(episode({f'c{k}': [] for k in range(8)}))


def test_hundreds_of_resets_do_not_grow_memory():
    def megabytes():
        gc.collect()
        with open('/proc/self/statm') as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 2**20
    with make_world(width=64, height=64, supersampling=1) as small:
        def run(seeds):
            for seed in seeds:
                small.reset(episode(STACKS, seed=seed))
                small.observe()
                act(small, 'g', 'c2')
                small.observe()
        run(range(40))
        before = megabytes()
        run(range(200))
        assert megabytes() - before < 6


def test_many_worlds_can_be_made_and_left():
    for k in range(20):
        made = make_world(width=64, height=64)
        made.reset(episode(STACKS))
        if k % 2:
            made.close()
            made.close()
        del made
    gc.collect()
    with make_world(width=64, height=64) as last:
        last.reset(episode(STACKS))
        assert last.observe().image is not None


def test_calls_from_several_threads(world):
    world.reset(episode(STACKS))
    expected = world.observe().image_id
    seen, errors = set(), []

    def look():
        try:
            for _ in range(20):
                seen.add(world.observe().image_id)
                world.state()
        except Exception as error:  # reported below
            errors.append(error)
    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert seen == {expected}
