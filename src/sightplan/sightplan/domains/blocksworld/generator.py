"""Draws blocksworld problems from seeds and finds their shortest plans.

One seed gives one candidate problem: the blocks' colours are drawn without replacement, each
block is put on a random column that is not full, and goals are drawn in the same way (without the
height limit) until the shortest plan's length is in range. The candidate is a function of the
arguments alone, on every machine.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sightplan.domains.domain import Domain
from sightplan.domains.domain import write_folder as write_folder
from sightplan.domains.problem_generator import Seeds, Split
from sightplan.model import (
    Action,
    Atom,
    InputError,
    Literal,
    Plan,
    Problem,
    State,
    param,
)

COLOURS = 'rgbyop'
GOALS_PER_SEED = 100
VAIN_SEEDS = 100  # so many in a row without a new problem: there are no more

Stacks = tuple[tuple[str, ...], ...]
"""Blocks from bottom to top in each column; columns from left to right."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the generator: sizes of a problem and range of plan lengths."""

    blocks: int = param(3, 'blocks per problem', low=1, high=len(COLOURS))
    columns: int = param(4, 'columns per problem', low=1, high=8)
    max_height: int = param(6, 'highest stack at the start', low=1, high=len(COLOURS))
    min_length: int = param(1, 'shortest allowed length of a shortest plan', low=0, high=100)
    max_length: int = param(100, 'longest allowed length of a shortest plan', low=0, high=100)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A problem that a seed gives.

    Attributes:
        blocks: the colours, in the order in which they were drawn.
        init: where they are.
        goal: where all of them shall be.
        length: of a shortest plan.
    """

    blocks: tuple[str, ...]
    init: Stacks
    goal: Stacks
    length: int


# ViPlan, Table 4 (its plan lengths are those of Fast Downward's lama-first).
SPLITS = {
    'simple': Split(Settings(3, 4, 2, 3, 5), (3, 5)),
    'medium': Split(Settings(5, 5, 4, 4, 7), (5, 10)),
    'hard': Split(Settings(6, 4, 5, 5, 10), (8, 15)),
}


def generate(domain: Domain, settings: Settings, count: int, first_seed: int = 0, *,
             accept: Callable[[Problem], bool] = lambda _: True) -> Iterator[tuple[int, Problem]]:
    """Draw distinct problems from one seed after the other.

    No two are alike, not even after renaming colours.

    Args:
        domain: blocksworld.
        settings: what the problems are like.
        count: how many.
        first_seed: where to begin.
        accept: a further condition on a problem (its name is not final then).

    Yields:
        Seed and problem (named ``problem_00`` onwards, with its optimal length).

    Raises:
        InputError: there are no such problems, or too few.
    """
    if settings.min_length > settings.max_length:
        raise InputError(f'no plan is at least {settings.min_length} and at most '
                         f'{settings.max_length} long (swap the limits)')
    if settings.blocks > settings.columns * settings.max_height:
        raise InputError(f'{settings.blocks} blocks do not fit on {settings.columns} columns of '
                         f'height {settings.max_height} (allow more columns or height)')
    seen: set[tuple[Stacks, Stacks]] = set()
    seeds = Seeds(count, first_seed, VAIN_SEEDS, 'distinct problems', 'nothing new',
                  'ask for fewer, or for other sizes or lengths')
    for seed in seeds:
        candidate = draw(settings, seed)
        if candidate is None:
            continue
        key = _without_colours(candidate)
        if key in seen:
            continue
        problem = make_problem(domain, f'problem_{seeds.found:02}', candidate)
        if accept(problem):
            seen.add(key)
            seeds.gave()
            yield seed, problem


def draw(settings: Settings, seed: int) -> Candidate | None:
    """The candidate of a seed; None if no goal was in range."""
    rng = random.Random(f'blocks {settings.blocks} columns {settings.columns} height '
                        f'{settings.max_height} length {settings.min_length} to '
                        f'{settings.max_length} seed {seed}')
    colours = list(COLOURS)
    blocks = [colours.pop(_below(rng, len(colours))) for _ in range(settings.blocks)]
    init = _draw_stacks(rng, blocks, settings.columns, settings.max_height)
    for _ in range(GOALS_PER_SEED):
        goal = _draw_stacks(rng, blocks, settings.columns, len(blocks))
        plan = shortest_plan(init, goal)
        if plan is not None and settings.min_length <= len(plan) <= settings.max_length:
            return Candidate(tuple(blocks), init, goal, len(plan))
    return None


def _below(rng: random.Random, bound: int) -> int:
    """Return a random integer from 0 to ``bound`` - 1, the same in all versions of Python."""
    return int(rng.random() * bound)


def _draw_stacks(rng: random.Random, blocks: list[str], columns: int, max_height: int) -> Stacks:
    stacks: list[tuple[str, ...]] = [()] * columns
    rest = list(blocks)
    while rest:
        block = rest.pop(_below(rng, len(rest)))
        free = [index for index, stack in enumerate(stacks) if len(stack) < max_height]
        index = free[_below(rng, len(free))]
        stacks[index] += (block,)
    return tuple(stacks)


def _without_colours(candidate: Candidate) -> tuple[Stacks, Stacks]:
    names = {block: str(number)
             for number, block in enumerate(itertools.chain.from_iterable(candidate.init))}
    first, second = (tuple(tuple(names[b] for b in stack) for stack in stacks)
                     for stacks in (candidate.init, candidate.goal))
    return first, second


def _least_moves(stacks: Stacks, goal: Stacks) -> int:
    """Return a lower bound of moves: misplaced blocks move, some of them twice."""
    homes = {block: index for index, stack in enumerate(goal) for block in stack}
    moves = 0
    for index, (stack, wanted) in enumerate(zip(stacks, goal, strict=True)):
        settled = True
        for height, block in enumerate(stack):
            settled = settled and height < len(wanted) and wanted[height] == block
            if not settled:
                moves += 2 if homes[block] == index else 1
    return moves


def shortest_plan(init: Stacks, goal: Stacks) -> list[tuple[str, int]] | None:
    """Return a shortest plan, by A*: pairs of block and target column; None if there is none.

    Args:
        init: where the blocks are.
        goal: where all of them shall be.
    """
    costs = {init: 0}
    parents: dict[Stacks, tuple[Stacks, tuple[str, int]]] = {}
    ticket = itertools.count()
    queue = [(_least_moves(init, goal), 0, next(ticket), init)]
    while queue:
        _, negative_cost, _, stacks = heapq.heappop(queue)
        cost = -negative_cost
        if cost > costs[stacks]:
            continue
        if stacks == goal:
            moves = []
            while stacks != init:
                stacks, move = parents[stacks]
                moves.append(move)
            return moves[::-1]
        for source, target in itertools.permutations(range(len(stacks)), 2):
            if not stacks[source]:
                continue
            block = stacks[source][-1]
            columns = list(stacks)
            columns[source] = columns[source][:-1]
            columns[target] += (block,)
            after = tuple(columns)
            if cost + 1 < costs.get(after, 1 << 30):
                costs[after] = cost + 1
                parents[after] = stacks, (block, target)
                estimate = cost + 1 + _least_moves(after, goal)
                heapq.heappush(queue, (estimate, -cost - 1, next(ticket), after))
    return None


def optimal_plan(problem: Problem) -> Plan | None:
    """Return a shortest plan of a problem with complete initial and goal configurations.

    Raises:
        InputError: start or goal does not put every block in one place.
    """
    columns = problem.of_type('column')
    goal = frozenset(literal.atom for literal in problem.goal if literal.positive)
    plan = shortest_plan(stacks_of(problem, problem.init), stacks_of(problem, goal))
    return None if plan is None else tuple(
        Action('moveblock', (block, columns[target])) for block, target in plan)


def stacks_of(problem: Problem, facts: State) -> Stacks:
    """Return the configuration that facts describe, columns in the order of the objects.

    Raises:
        InputError: they do not describe one place for every block.
    """
    below = {atom.args[0]: atom.args[1] for atom in facts if atom.predicate == 'on'}
    columns = problem.of_type('column')
    stacks: list[tuple[str, ...]] = []
    for column in columns:
        rest = [b for b in problem.of_type('block') if Atom('incolumn', (b, column)) in facts]
        stack: list[str] = []
        while rest:
            following = [b for b in rest if below.get(b) == (stack[-1] if stack else None)]
            if not following:
                break
            rest.remove(following[0])
            stack.append(following[0])
        stacks.append(tuple(stack))
    placed = sorted(itertools.chain.from_iterable(stacks))
    moving = frozenset(a for a in facts if a.predicate in ('on', 'clear', 'incolumn'))
    if placed != sorted(problem.of_type('block')) or facts_of(stacks, columns) != moving:
        raise InputError(f'{problem.name}: the facts do not give every block one place '
                         '(state on, clear and incolumn completely)')
    return tuple(stacks)


def facts_of(stacks: Sequence[Sequence[str]], columns: Sequence[str]) -> State:
    """Return the atoms on, clear and incolumn of a configuration."""
    facts = set()
    for stack, column in zip(stacks, columns, strict=True):
        facts |= {Atom('incolumn', (block, column)) for block in stack}
        facts |= {Atom('on', (upper, lower)) for lower, upper in itertools.pairwise(stack)}
        facts |= {Atom('clear', (block,)) for block in stack[-1:]}
    return frozenset(facts)


def make_problem(domain: Domain, name: str, candidate: Candidate) -> Problem:
    """Return a candidate as a problem of the domain."""
    columns = [f'c{number + 1}' for number in range(len(candidate.init))]
    left = [Atom('leftof', pair) for pair in itertools.combinations(columns, 2)]
    right = [Atom('rightof', atom.args[::-1]) for atom in left]
    rank = {'on': 0, 'clear': 1, 'incolumn': 2}
    goal = sorted(facts_of(candidate.goal, columns),
                  key=lambda a: (rank[a.predicate], candidate.blocks.index(a.args[0])))
    return Problem(
        name=name, domain=domain.reference,
        objects={**dict.fromkeys(candidate.blocks, 'block'), **dict.fromkeys(columns, 'column')},
        init=facts_of(candidate.init, columns).union(left, right),
        goal=tuple(Literal(atom) for atom in goal),
        domain_pddl=domain.pddl, optimal_length=candidate.length)
