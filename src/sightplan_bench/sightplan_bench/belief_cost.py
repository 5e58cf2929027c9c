"""Cost of estimating the joint state."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterable, Sequence
from typing import Any

from sightplan.domains import Domain, load_domain
from sightplan.domains.blocksworld.generator import facts_of
from sightplan.model import Answer, Atom, Problem
from sightplan_belief.estimator import Estimator, Evidence

SIZES = tuple((blocks, 4 if blocks <= 6 else 6) for blocks in range(3, 13))
"""Numbers of blocks and columns."""

ERRORS = (0.02, 0.08)
"""Fractions of wrong answers: as of the best models, and of middling ones."""


def measure(sizes: Iterable[tuple[int, int]] = SIZES, errors: Sequence[float] = ERRORS,
            cases: int = 50, seed: int = 0) -> list[dict[str, Any]]:
    """Time estimates from one answer about every ground atom, in this process and thread.

    Args:
        sizes: blocks and columns.
        errors: fractions of wrong answers.
        cases: random states for each size and fraction.
        seed: of states and errors.

    Returns:
        for each size and fraction plain JSON data: ``blocks``, ``columns``, ``error``,
        ``answers``, ``median_s`` and ``max_s`` of an estimate, ``setup_s`` (median, once per
        problem: reading the constraints into solvers), ``exact`` (fraction of estimates that are
        the true state).
    """
    domain = load_domain('blocksworld')
    first = random_problem(domain, 2, 2, random.Random(seed), 'warm_up')
    Estimator(domain, first).estimate(noisy_answers(domain, first, 0.0, random.Random(seed)))
    found = []
    for blocks, columns in sizes:
        for error in errors:
            rng = random.Random(f'{seed}/{blocks}/{columns}/{error}')
            setups, seconds, exact, answers = [], [], 0, 0
            for number in range(cases):
                problem = random_problem(domain, blocks, columns, rng, f'case_{number}')
                evidence = noisy_answers(domain, problem, error, rng)
                began = time.perf_counter()
                estimator = Estimator(domain, problem)
                setups.append(time.perf_counter() - began)
                began = time.perf_counter()
                estimate = estimator.estimate(evidence)
                seconds.append(time.perf_counter() - began)
                exact += estimate.state == problem.init
                answers = len(evidence)
            found.append({
                'blocks': blocks, 'columns': columns, 'error': error, 'answers': answers,
                'median_s': statistics.median(seconds), 'max_s': max(seconds),
                'setup_s': statistics.median(setups), 'exact': exact / cases})
    return found


def random_problem(domain: Domain, blocks: int, columns: int, rng: random.Random,
                   name: str) -> Problem:
    """A random state of a number of blocks, without a goal."""
    names = [f'b{number}' for number in range(blocks)]
    places = [f'c{number + 1}' for number in range(columns)]
    stacks: list[list[str]] = [[] for _ in places]
    for block in rng.sample(names, blocks):
        rng.choice(stacks).append(block)
    order = {Atom('leftof', (a, b)) for i, a in enumerate(places) for b in places[i + 1:]}
    order |= {Atom('rightof', atom.args[::-1]) for atom in order}
    init = facts_of(stacks, places) | order
    return Problem(name, domain.name, {**dict.fromkeys(names, 'block'),
                                       **dict.fromkeys(places, 'column')},
                   frozenset(init), (), domain.pddl)


def noisy_answers(domain: Domain, problem: Problem, error: float, rng: random.Random,
                  ) -> list[Evidence]:
    """An answer about every ground atom, wrong with probability ``error``."""
    return [Evidence(atom, Answer('Yes' if (atom in problem.init) is (rng.random() >= error)
                                  else 'No'), 'image') for atom in domain.model(problem).atoms]
