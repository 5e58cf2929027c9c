"""The sliding world as a port: the PDDL model's twin in all but what is seen."""

import dataclasses
import random
import subprocess
import sys

import numpy as np
import pytest

from sightplan.domains import load_domain
from sightplan.domains.sliding.boards import DIRECTIONS, Board, shortest
from sightplan.model import (
    Action,
    Atom,
    FeedbackStatus,
    InputError,
    TruthSource,
    World,
    WorldError,
)
from sightplan.model.ports import CalibratedWorld, PosedWorld
from sightplan_sim.sliding import Settings, make_world
from sliding_cases import episode, geoms, problem, tiles

SMALL = {'width': 120, 'height': 90, 'supersampling': 1}


@pytest.fixture(scope='module')
def world():
    with make_world(**SMALL) as made:
        yield made


def move(world, piece, direction):
    return world.execute(Action('move', (piece, direction)))


def test_it_fills_both_ports(world):
    assert isinstance(world, World)
    assert isinstance(world, TruthSource)
    assert world.pictures and 'sliding 3d, OpenCV' in world.renderer


def test_entry_point():
    from importlib.metadata import entry_points
    found = [e for e in entry_points(group='sightplan.worlds') if e.name == 'sliding']
    if not found:
        pytest.skip('the workspace is not built')
    assert found[0].load() is make_world


@pytest.mark.parametrize(('board', 'start'), [geoms(2, 2), geoms(4, 11, 1), geoms(6, 20, 2),
                                              tiles(3), tiles(5, 1)])
def test_a_random_walk_follows_the_pddl(board, start):
    spec = episode(board, start)
    model = load_domain('sliding').model(spec.problem)
    rng, state, outcomes = random.Random(0), spec.problem.init, set()
    with make_world(view='text') as world:
        world.reset(spec)
        assert world.state() == state
        for _ in range(40):
            action = Action('move', (rng.choice(board.pieces), rng.choice(sorted(DIRECTIONS))))
            feedback = world.execute(action)
            try:
                state = model.apply(action, state)
                assert feedback.status is FeedbackStatus.EXECUTED
            except InputError:
                assert feedback.status is FeedbackStatus.REJECTED
            assert world.state() == state
            outcomes.add(world.last_outcome())
    assert outcomes == {'success', 'illegal'}


def test_verdicts(world):
    board = Board(2, ('red_cube', 'blue_sphere'), ('cube', 'sphere'))
    world.reset(episode(board, (0, 1)))
    assert move(world, 'red_cube', 'right').message == 'destination occupied'
    assert move(world, 'red_cube', 'left').message == 'destination out of bounds'
    assert move(world, 'red_cube', 'down').message == 'destination out of bounds'
    assert world.last_outcome() == 'illegal'
    assert move(world, 'red_cube', 'up').message == ''
    assert Atom('at', ('red_cube', 'a2')) in world.state()


@pytest.mark.parametrize('action', [
    Action('push', ('red_cube', 'up')), Action('move', ('red_cube',)),
    Action('move', ('red_cone', 'up')), Action('move', ('red_cube', 'north'))])
def test_unknown_words_are_rejected(world, action):
    world.reset(episode(Board(2, ('red_cube',), ('cube',)), (0,)))
    assert world.execute(action).status is FeedbackStatus.REJECTED
    assert world.last_outcome() == 'illegal'


def test_failures_come_with_their_probability_and_the_same_luck(world):
    board, tried = Board(3, ('red_cube',), ('cube',)), {}
    for probability in (0.3, 0.6):
        world.reset(episode(board, (4,), failure=probability))
        failed = []
        for _ in range(200):
            before = world.state()
            legal = next(d for d in DIRECTIONS if world.execute(
                Action('move', ('red_cube', d))).status is FeedbackStatus.EXECUTED)
            assert legal
            assert (world.state() == before) == (world.last_outcome() == 'no_op')
            failed.append(world.last_outcome() == 'no_op')
        tried[probability] = failed
        assert abs(np.mean(failed) - probability) < 0.12
    assert all(b for a, b in zip(*tried.values(), strict=True) if a)


def test_a_failure_is_not_told(world):
    board = Board(2, ('red_cube',), ('cube',))
    world.reset(episode(board, (0,), failure=1.0))
    failed = move(world, 'red_cube', 'up')
    world.reset(episode(board, (0,)))
    done = move(world, 'red_cube', 'up')
    assert (failed.status, failed.message) == (done.status, done.message)


@pytest.mark.parametrize('view', ['3d', '2d', 'text'])
def test_the_goal_looks_as_it_does_when_it_is_reached(view):
    board, start = geoms(3, 3)
    _, goal = geoms(3, 3, 5)
    found = shortest(3, start, goal)
    with make_world(**SMALL, view=view) as world:
        world.reset(episode(board, start, goal))
        shown = world.goal_observation()
        before = world.observe()
        for action in board.plan(found.moves):
            world.execute(action)
        reached = world.observe()
    assert (shown.image_id, shown.text) == (reached.image_id, reached.text)
    assert (before.image_id, before.text) != (reached.image_id, reached.text)


def test_text(world):
    board = Board(3, ('light_blue_prism', 'red_cube', 'tile_5'), ('prism', 'cube', 'tile'))
    seen = {}
    for order in ('board', 'engine'):
        with make_world(view='text', text_order=order) as world:
            world.reset(episode(board, (7, 3, 1)))
            look = world.observe()
            assert look.image is None and not world.pictures
            seen[order] = look.text
    assert seen == {'board': 'B1 tile 5\nA2 red cube\nB3 light blue prism',
                    'engine': 'B3 light blue prism\nA2 red cube\nB1 tile 5'}


def test_observation(world):
    board, start = geoms(4, 5)
    world.reset(episode(board, start))
    look = world.observe()
    assert look.image.shape == (90, 120, 3) and look.text is None
    assert look.frame_id == 'camera_optical_frame'
    with pytest.raises(ValueError, match='read-only'):
        look.image[0, 0] = 0
    assert world.observe().image_id == look.image_id


def test_looks_follow_the_seed(world):
    board, start = geoms(4, 5)
    seen = []
    for seed in (1, 1, 2):
        world.reset(episode(board, start, seed=seed))
        seen.append(world.observe().image_id)
    assert seen[0] == seen[1] != seen[2]
    with make_world(**SMALL, look=0.0) as plain:
        ids = set()
        for seed in (1, 2):
            plain.reset(episode(board, start, seed=seed))
            ids.add(plain.observe().image_id)
        assert len(ids) == 1


def test_without_pictures_the_image_changes_with_the_scene():
    board = Board(3, ('red_cube',), ('cube',))
    with make_world(pictures='none') as bare:
        bare.reset(episode(board, (0,)))
        ids = [bare.observe().image_id]
        assert bare.observe().image.shape == (2, 2, 3)
        for direction in ('up', 'down', 'down'):
            move(bare, 'red_cube', direction)
            ids.append(bare.observe().image_id)
        assert not bare.pictures and bare.renderer == 'none'
        assert ids[0] == ids[2] == ids[3] != ids[1]
        goal = bare.goal_observation()
        assert goal.image_id == ids[0]


def test_without_pictures_opencv_is_not_even_imported():
    script = ('import sys; from sightplan_sim.sliding import make_world; '
              'make_world(pictures="none"); print("cv2" in sys.modules)')
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True,
                          timeout=600, check=True)
    assert done.stdout.strip() == 'False'


def test_nothing_works_before_reset():
    with make_world(**SMALL) as fresh:
        for call in (fresh.observe, fresh.state, fresh.goal_observation):
            with pytest.raises(WorldError, match='reset'):
                call()


def changed(board, **changes):
    start = tuple(range(len(board.pieces)))
    spec = episode(board, start)
    return dataclasses.replace(spec, problem=dataclasses.replace(spec.problem, **changes))


PLAIN = Board(2, ('red_cube',), ('cube',))


@pytest.mark.parametrize(('spec', 'message'), [
    (changed(Board(2, ('mauve_cube',), ('cube',))), 'colour of mauve_cube.*red, green.*CSS'),
    (changed(Board(2, ('red_cube',), ('cone',))), 'red_cube is a cone'),
    (changed(Board(2, ('tile_5',), ('tile',))), 'tile_5 is not a tile.*tile_4'),
    (changed(Board(2, ('gray_cube', 'grey_cube'), ('cube', 'cube'))), 'look the same'),
    (changed(PLAIN, domain='blocksworld'), 'domain'),
    (changed(PLAIN, init=problem(PLAIN, (0,), (0,)).init - {Atom('empty', ('b2',))}),
     r'lacks \(empty'),
    (changed(PLAIN, init=problem(PLAIN, (0,), (0,)).init | {Atom('next', ('a1', 'b2', 'up'))}),
     'next.*contradicts'),
])
def test_what_cannot_be_shown_is_refused_beforehand(world, spec, message):
    with pytest.raises(InputError, match=message):
        world.check([spec])
    with pytest.raises(WorldError, match=message):
        world.reset(spec)


def test_a_pictured_goal_must_be_whole(world):
    spec = changed(Board(2, ('red_cube', 'red_cone'), ('cube', 'cone')), goal=())
    world.check([spec])
    with pytest.raises(InputError, match='goal'):
        world.check([dataclasses.replace(spec, pictured_goal=True)])
    world.reset(spec)
    with pytest.raises(WorldError, match='goal'):
        world.goal_observation()


@pytest.mark.parametrize('wrong', [{'view': '4d'}, {'labels': 'all'}, {'width': 10},
                                   {'execution': 'magic'}, {'physics_hz': 100.0},
                                   {'size': 4}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        make_world(**wrong)


def test_settings_have_the_papers_size():
    with make_world(width=1200, height=900, look=0.0) as world:
        board, start = geoms(4, 11)
        world.reset(episode(board, start))
        assert world.observe().image.shape == (900, 1200, 3)
    assert Settings().labels == 'both'


@pytest.mark.parametrize('size', [3, 6])
def test_calibration_and_pose_say_where_each_cell_is_seen(size):
    board = Board(size, ('red_cube',), ('cube',))
    with make_world(**SMALL, size=0.62) as world:
        assert isinstance(world, CalibratedWorld) and isinstance(world, PosedWorld)
        for seed, cell in enumerate((0, size - 1, size * size - 2)):
            world.reset(episode(board, (cell,), seed=seed))  # each with a look of its own
            info, pose = world.camera_info(), world.camera_pose()
            y, x = divmod(cell, size)
            local = (np.array([x + 0.5, y + 0.5, 0.3]) - pose[:3, 3]) @ pose[:3, :3]
            column, row = (info.matrix @ local / local[2])[:2].round().astype(int)
            assert (info.width, info.height) == (world.observe().image.shape[1::-1])
            shown = world._current().shown.scene.segmentation((cell,))
            assert shown[row, column] == 1


@pytest.mark.parametrize('settings', [{'view': '2d'}, {'view': 'text'}, {'pictures': 'none'}])
def test_what_no_camera_sees_has_no_calibration(settings):
    with make_world(**settings) as world:
        assert not isinstance(world, CalibratedWorld) and not isinstance(world, PosedWorld)
