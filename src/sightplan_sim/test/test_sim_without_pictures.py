"""A world without pictures: the same world in all but what is seen."""

import random
import subprocess
import sys

import pytest

from sightplan.model import Action, EpisodeSpec, WorldError
from sightplan_sim.blocksworld import make_world
from sim_cases import episode

STACKS = {'c1': ['r', 'g'], 'c2': [], 'c3': ['b', 'y'], 'c4': ['p']}


@pytest.fixture(scope='module')
def bare():
    with make_world(pictures='none') as made:
        yield made


def moves(seed, n=12):
    """Actions of all kinds: legal, illegal and unknown."""
    rng = random.Random(seed)
    blocks, columns = [*'rgbyp', 'o'], [*STACKS, 'c9']
    return [Action('moveblock', (rng.choice(blocks), rng.choice(columns))) for _ in range(n)]


def play(world, spec: EpisodeSpec, actions):
    """All that can be learned from an episode but the pixels, and which looks are alike."""
    world.reset(spec)
    seen, images = [], {}
    for action in (None, *actions):
        if action is not None:
            feedback = world.execute(action)
            seen.append((feedback, world.last_outcome()))
        for look in (world.observe(), world.observe()):
            number = images.setdefault(look.image_id, len(images))
            seen.append((number, look.stamp_ns, look.frame_id, world.state(look.stamp_ns),
                         world.state()))
    return seen


@pytest.mark.parametrize('failure', [0.0, 0.5, 1.0])
@pytest.mark.parametrize('seed', range(8))
def test_it_is_the_same_world(seed, failure):
    """States, outcomes, feedback, stamps, and when the picture changes, step by step."""
    spec = episode(STACKS, seed=seed, failure=failure, name=f'p{seed}')
    # The clock of a world goes on over episodes; compare from a common start.
    fresh = [make_world(width=160, height=120, supersampling=1), make_world(pictures='none')]
    drawn, undrawn = [play(w, spec, moves(seed)) for w in fresh]
    for w in fresh:
        w.close()
    assert drawn == undrawn


def test_every_kind_of_failure_was_compared(bare):
    kinds = set()
    for seed in range(8):
        for failure in (0.5, 1.0):
            seen = play(bare, episode(STACKS, seed=seed, failure=failure, name=f'p{seed}'),
                        moves(seed))
            kinds |= {entry[1].partition(':')[0] for entry in seen if len(entry) == 2}
    assert kinds == {'success', 'illegal', 'no_op', 'dropped_target', 'dropped_source'}


def test_the_image_is_a_few_pixels_and_differs_between_episodes(bare):
    ids = set()
    for seed in range(3):
        for name in ('one', 'two'):
            bare.reset(episode(STACKS, seed=seed, name=name))
            look = bare.observe()
            assert look.image.shape == (2, 2, 3) and look.depth_m is None
            ids.add(look.image_id)
    assert len(ids) == 6
    assert not bare.pictures and bare.renderer == 'none'


def test_what_cannot_be_shown_is_refused_all_the_same(bare):
    with pytest.raises(WorldError, match='8'):
        bare.reset(episode({f'c{n}': [] for n in range(9)}))
    with make_world(pictures='none', distance_m=0.5) as near, \
            pytest.raises(WorldError, match='distance_m'):
        near.reset(episode({f'c{k}': [] for k in range(8)}))


def test_no_simulator_is_even_imported():
    script = ('import sys; from sightplan_sim.blocksworld import make_world; '
              'make_world(pictures="none"); '
              'print([m for m in ("pybullet", "cv2") if m in sys.modules])')
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True,
                          timeout=600, check=True)
    assert done.stdout.strip() == '[]'
