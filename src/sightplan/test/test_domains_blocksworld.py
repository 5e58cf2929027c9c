"""The generator of blocksworld, and the splits that it made."""

from __future__ import annotations

import collections

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.domains import load_domain, read_folder
from sightplan.domains.blocksworld.drawing import draw
from sightplan.domains.blocksworld.generator import (
    SPLITS,
    Settings,
    facts_of,
    generate,
    make_problem,
    optimal_plan,
    shortest_plan,
    stacks_of,
    write_folder,
)
from sightplan.domains.blocksworld.generator import draw as draw_candidate
from sightplan.model import Atom, InputError

DOMAIN = load_domain('blocksworld')
SIZES = {'simple': (3, 4, 2, 3, 5), 'medium': (5, 5, 4, 4, 7), 'hard': (6, 4, 5, 5, 10)}


def breadth_first_length(init, goal) -> int | None:
    """Length of a shortest plan by the plainest search there is."""
    seen, queue = {init}, collections.deque([(init, 0)])
    while queue:
        stacks, length = queue.popleft()
        if stacks == goal:
            return length
        for i, source in enumerate(stacks):
            for j in range(len(stacks)):
                if i != j and source:
                    after = list(stacks)
                    after[i] = source[:-1]
                    after[j] += source[-1:]
                    if tuple(after) not in seen:
                        seen.add(tuple(after))
                        queue.append((tuple(after), length + 1))
    return None


@pytest.mark.parametrize('split', SIZES)
def test_splits_are_as_the_paper_has_them(split: str) -> None:
    blocks, columns, height, low, high = SIZES[split]
    problems = DOMAIN.split_problems(split)
    assert [p.name for p in problems] == [f'problem_{n:02}' for n in range(25)]
    for problem in problems:
        assert len(problem.of_type('block')) == blocks
        assert len(problem.of_type('column')) == columns
        assert set(problem.of_type('block')) <= set('rgbypo')
        assert low <= problem.optimal_length <= high
        stacks = stacks_of(problem, problem.init)
        assert max(len(stack) for stack in stacks) <= height
        goal = frozenset(literal.atom for literal in problem.goal)
        assert stacks_of(problem, goal) != stacks
        assert all(literal.positive for literal in problem.goal)


@pytest.mark.parametrize('split', SIZES)
def test_no_two_problems_are_alike_even_after_renaming_colours(split: str) -> None:
    seen = set()
    for problem in DOMAIN.split_problems(split):
        goal = frozenset(literal.atom for literal in problem.goal)
        init, wanted = (stacks_of(problem, facts) for facts in (problem.init, goal))
        names = {b: i for i, b in enumerate(b for stack in init for b in stack)}
        seen.add(tuple(tuple(tuple(names[b] for b in stack) for stack in stacks)
                       for stacks in (init, wanted)))
    assert len(seen) == 25


@pytest.mark.parametrize('split', SIZES)
def test_files_are_what_their_seeds_give(split: str) -> None:
    folder = DOMAIN.split_folder(split)
    index = yaml.safe_load((folder / 'index.yaml').read_text())
    assert Settings(**index['settings']) == SPLITS[split].settings
    assert {path.stem for path in folder.glob('*.pddl')} == set(index['problems'])
    for name, entry in index['problems'].items():
        candidate = draw_candidate(SPLITS[split].settings, entry['seed'])
        assert candidate.length == entry['optimal_length']
        text = DOMAIN.write_problem(make_problem(DOMAIN, name, candidate))
        assert (folder / f'{name}.pddl').read_bytes() == text.encode()


@pytest.mark.parametrize(('split', 'numbers'), [
    ('simple', range(25)), ('medium', (0, 7, 19)), ('hard', (3,))])
def test_optimal_lengths_are_those_of_breadth_first_search(split: str, numbers) -> None:
    problems = DOMAIN.split_problems(split)
    for number in numbers:
        problem = problems[number]
        goal = frozenset(literal.atom for literal in problem.goal)
        assert breadth_first_length(
            stacks_of(problem, problem.init), stacks_of(problem, goal)) == problem.optimal_length


@pytest.mark.parametrize('split', SIZES)
def test_exact_plans_have_the_stored_length_and_are_valid(split: str) -> None:
    for problem in DOMAIN.split_problems(split):
        plan = optimal_plan(problem)
        assert len(plan) == problem.optimal_length
        assert DOMAIN.model(problem).first_flaw(plan, problem.init, problem.goal) is None


configurations = st.tuples(st.integers(1, 3), st.integers(1, 4)).flatmap(
    lambda size: st.tuples(*[
        st.permutations('rgby'[:size[1]]).flatmap(
            lambda order: st.lists(st.integers(0, size[0] - 1), min_size=len(order),
                                   max_size=len(order)).map(
                lambda homes: tuple(
                    tuple(b for b, home in zip(order, homes, strict=True) if home == i)
                    for i in range(size[0]))))] * 2))


@settings(max_examples=60, deadline=None)
@given(configurations)
def test_exact_search_agrees_with_breadth_first_search(pair) -> None:
    plan = shortest_plan(*pair)
    assert (None if plan is None else len(plan)) == breadth_first_length(*pair)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(2, 8), st.integers(3, 6), st.integers(0, 10**9))
def test_every_size_can_be_drawn(blocks: int, columns: int, height: int, seed: int) -> None:
    wanted = Settings(blocks, columns, height)
    candidate = draw_candidate(wanted, seed)
    if candidate is None:
        assert columns == 2  # nothing but turning the order round may have been drawn
        return
    assert candidate == draw_candidate(wanted, seed)
    assert max(map(len, candidate.init)) <= height
    assert sorted(sum(candidate.init, ())) == sorted(sum(candidate.goal, ())) == sorted(
        candidate.blocks)
    assert len(set(candidate.blocks)) == blocks and len(candidate.init) == columns


def test_a_written_folder_can_be_read(tmp_path) -> None:
    wanted = Settings(4, 3, 3, 2, 6)
    drawn = list(generate(DOMAIN, wanted, 5, 100))
    assert write_folder(DOMAIN, tmp_path / 'new' / 'folder', wanted, drawn) == 5
    problems, errors = read_folder(DOMAIN, tmp_path / 'new' / 'folder')
    assert not errors
    assert [(p.init, p.goal, p.optimal_length) for p in problems] == [
        (p.init, p.goal, p.optimal_length) for _, p in drawn]
    assert all(2 <= p.optimal_length <= 6 for p in problems)
    with pytest.raises(InputError, match='already'):
        write_folder(DOMAIN, tmp_path / 'new' / 'folder', wanted, drawn)


@pytest.mark.parametrize(('wanted', 'count', 'words'), [
    (Settings(3, 1, 6), 1, 'found only 0 of 1'),
    (Settings(1, 2, 6), 3, 'found only 2 of 3'),
    (Settings(3, 4, 6, 50, 60), 1, 'found only 0 of 1'),
    (Settings(3, 4, 6, 5, 4), 1, 'swap the limits'),
    (Settings(6, 2, 2), 1, 'do not fit')])
def test_what_cannot_be_drawn_is_told(wanted: Settings, count: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        list(generate(DOMAIN, wanted, count))


def test_drawing() -> None:
    problem = DOMAIN.split_problems('simple')[0]
    blocks, columns = problem.of_type('block'), problem.of_type('column')
    a, b, c = blocks
    text = draw(problem, facts_of(((a, b), (), (c,), ()), columns))
    assert text.splitlines() == [b, f'{a}       {c}', '--  --  --  --', 'c1  c2  c3  c4']


@pytest.mark.parametrize('flip', ['clear', 'incolumn', 'on'])
def test_incomplete_configurations_are_refused(flip: str) -> None:
    problem = next(p for p in DOMAIN.split_problems('hard')
                   if any(a.predicate == 'on' for a in p.init))
    gone = next(a for a in sorted(problem.init) if a.predicate == flip)
    for facts in (problem.init - {gone}, problem.init | {Atom(flip, (gone.args[0],) * len(
            gone.args))} if flip == 'on' else problem.init - {gone}):
        with pytest.raises(InputError, match='one place'):
            stacks_of(problem, facts)
