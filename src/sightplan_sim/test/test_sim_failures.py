"""The failure model: frequencies, seeds, and that the agent is told nothing."""

import collections
import math
import subprocess
import sys

import numpy as np
import pytest

from sightplan.model import Action, Feedback, FeedbackStatus
from sightplan_sim.blocksworld.world import _draw_outcome, make_world
from sim_cases import atoms, episode, move

STACKS = {'c1': [], 'c2': ['r', 'g'], 'c3': [], 'c4': ['b'], 'c5': []}


def act(world, block, column):
    return world.execute(Action('moveblock', (block, column)))


def near(count, n, probability):
    """Within five standard deviations of a binomial."""
    return abs(count - n * probability) <= 5 * math.sqrt(n * probability * (1 - probability))


@pytest.mark.parametrize('probability', [0.0, 0.1, 0.5, 1.0])
def test_frequencies(probability):
    n = 8000
    rng = np.random.default_rng(11)
    kinds = collections.Counter(_draw_outcome(rng, probability, 1, 3, 5)[0] for _ in range(n))
    expected = {'success': 1 - probability, 'no_op': probability / 2,
                'dropped_target': probability / 4, 'dropped_source': probability / 4}
    assert set(kinds) == {kind for kind, fraction in expected.items() if fraction > 0}
    for kind, fraction in expected.items():
        assert near(kinds[kind], n, fraction), (kind, kinds)


def test_neighbours_are_one_away_and_inward_at_the_edges():
    rng = np.random.default_rng(12)
    landed = collections.defaultdict(collections.Counter)
    for source, target in ((1, 3), (0, 4), (4, 0)):
        for _ in range(3000):
            kind, column = _draw_outcome(rng, 1.0, source, target, 5)
            landed[source, target, kind][column] += 1
    for (source, target, kind), columns in landed.items():
        middle = target if kind == 'dropped_target' else source
        if kind == 'no_op':
            assert set(columns) == {source}
            continue
        wanted = {c for c in (middle - 1, middle + 1) if 0 <= c < 5}
        assert set(columns) == wanted
        for count in columns.values():
            assert near(count, columns.total(), 1 / len(wanted))


def test_two_columns_drop_on_the_only_neighbour():
    rng = np.random.default_rng(13)
    for _ in range(200):
        kind, column = _draw_outcome(rng, 1.0, 0, 1, 2)
        assert column == {'no_op': 0, 'dropped_target': 0, 'dropped_source': 1}[kind]


def test_what_happens_is_what_the_outcome_says(world):
    """Over many seeds: state after each failure, and the picture where nothing moved."""
    seen = collections.Counter()
    for seed in range(80):
        world.reset(episode(STACKS, seed=seed, failure=0.8))
        before = world.observe().image_id
        feedback = act(world, 'g', 'c3')
        assert feedback == Feedback(FeedbackStatus.EXECUTED, '', feedback.stamp_ns)
        outcome = world.last_outcome()
        after = world.observe().image_id
        if outcome == 'no_op':
            assert world.state() == atoms(STACKS)
            assert after == before
        elif outcome == 'success':
            assert world.state() == atoms(move(STACKS, 'g', 'c3'))
        else:
            kind, _, replacement = outcome.partition(':')
            done = Action.parse(replacement)
            assert done.args[0] == 'g'
            expected = move(STACKS, *done.args)
            own = expected is None
            assert world.state() == atoms(STACKS if own else expected)
            assert (after == before) is own
            assert done.args[1] in {'dropped_target': ('c2', 'c4'),
                                    'dropped_source': ('c1', 'c3')}[kind]
            seen['own column' if own else 'lands on a stack' if done.args[1] == 'c4' else
                 'goal after all' if done.args[1] == 'c3' else 'elsewhere'] += 1
        seen[outcome.partition(':')[0]] += 1
    assert {'success', 'no_op', 'dropped_target', 'dropped_source', 'own column',
            'lands on a stack', 'goal after all'} <= set(seen), seen


def test_feedback_never_tells_a_failure_and_takes_the_same_time(world):
    feedbacks = collections.defaultdict(set)
    for seed in range(60):
        world.reset(episode(STACKS, seed=seed, failure=0.7))
        start = world.now_ns()
        feedback = act(world, 'g', 'c3')
        kind = world.last_outcome().partition(':')[0]
        feedbacks[kind].add((feedback.status, feedback.message, feedback.stamp_ns - start))
    assert len(feedbacks) == 4
    assert len(set.union(*feedbacks.values())) == 1


def play(world, seed, failure, name='p'):
    world.reset(episode(STACKS, seed=seed, failure=failure, name=name))
    outcomes = []
    for block, column in [('g', 'c3'), ('b', 'c1'), ('r', 'c5'), ('g', 'c5')] * 4:
        act(world, block, column)
        outcomes.append(world.last_outcome())
    return outcomes


def test_failures_are_seeded_by_episode(world):
    first = play(world, 1, 0.5)
    assert play(world, 1, 0.5) == first
    assert play(world, 2, 0.5) != first
    assert play(world, 1, 0.5, name='q') != first


def test_illegal_actions_use_no_luck(world):
    world.reset(episode(STACKS, seed=3, failure=0.5))
    for _ in range(4):
        assert act(world, 'r', 'c1').status is FeedbackStatus.REJECTED
    act(world, 'g', 'c3')
    with_rejections = world.last_outcome()
    world.reset(episode(STACKS, seed=3, failure=0.5))
    act(world, 'g', 'c3')
    assert world.last_outcome() == with_rejections


def test_legality_comes_first(world):
    world.reset(episode(STACKS, failure=1.0))
    assert act(world, 'r', 'c1').status is FeedbackStatus.REJECTED
    assert world.last_outcome() == 'illegal'


def test_probability_zero_never_fails(world):
    outcomes = {outcome for seed in range(20) for outcome in play(world, seed, 0.0)}
    assert outcomes <= {'success', 'illegal'}


SCRIPT = '''
import sys; sys.path.insert(0, sys.argv[1])
from sim_cases import episode
from sightplan.model import Action
from sightplan_sim.blocksworld import make_world
with make_world(width=160, height=120) as world:
    for seed in range(3):
        world.reset(episode({'c1': ['r', 'g'], 'c2': [], 'c3': ['b']}, seed=seed, failure=0.6))
        for block, column in [('g', 'c2'), ('b', 'c2'), ('r', 'c3'), ('g', 'c1')]:
            feedback = world.execute(Action('moveblock', (block, column)))
            print(world.last_outcome(), feedback.stamp_ns, world.observe().image_id,
                  sorted(map(str, world.state())))
'''


def test_an_episode_is_the_same_in_every_process():
    from pathlib import Path
    runs = [subprocess.run([sys.executable, '-c', SCRIPT, str(Path(__file__).parent)],
                           capture_output=True, text=True, timeout=600, check=True).stdout
            for _ in range(2)]
    assert len(runs[0].splitlines()) == 12
    assert runs[0] == runs[1]


def test_failures_are_reported_where_so_set():
    """ViPlan: a no-op and the move that happened instead are said; the own column is illegal."""
    seen = collections.Counter()
    with make_world(pictures='none', failures='reported') as world:
        for seed in range(80):
            world.reset(episode(STACKS, seed=seed, failure=0.8))
            feedback = act(world, 'g', 'c3')
            kind, _, done = world.last_outcome().partition(':')
            if kind == 'illegal':
                assert (feedback.status, feedback.message) == (
                    FeedbackStatus.REJECTED, 'not legal')
                assert world.state() == atoms(STACKS)
            else:
                assert feedback.status is FeedbackStatus.EXECUTED
                assert feedback.message == {'success': '', 'no_op': 'no-op'}.get(kind, done)
                assert done != 'moveblock(g, c2)'
            seen[kind] += 1
    assert set(seen) == {'success', 'no_op', 'dropped_target', 'dropped_source', 'illegal'}


def test_failures_of_one_seed_are_the_same_for_all_problems_and_trials():
    with make_world(pictures='none', failure_seed=1) as world:
        first = play(world, 1, 0.5)
        assert play(world, 2, 0.5, name='q') == first
    with make_world(pictures='none', failure_seed=2) as world:
        assert play(world, 1, 0.5) != first
