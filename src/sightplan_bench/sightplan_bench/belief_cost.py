"""Cost of estimating the joint state, and its robustness against any evidence."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sightplan.domains import Domain, load_domain
from sightplan.domains.blocksworld.generator import facts_of
from sightplan.model import Atom, Problem, Verdict
from sightplan_belief.constraints import instantiate, read_constraints
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


def fuzz(cases: int, seed: int = 0) -> dict[str, Any]:
    """Estimate from evidence of every kind, sensible or not, about problems of all splits.

    Kinds and problems take turns; kinds that leave nothing to chance come once per problem.
    Generic rates.

    Args:
        cases: number of estimates.
        seed: of the evidence.

    Returns:
        plain JSON data: ``seed``; ``kinds``, by name, and ``all``: ``cases``, ``impossible``
        (states that break a hard constraint), ``out_of_bounds`` (estimates with a marginal that
        is not inside (0, 1)), ``exceptions``, ``median_s`` and ``max_s`` of an estimate; and
        ``faults``: what each case that went wrong was, in words, at most 20 of them.
    """
    domain = load_domain('blocksworld')
    constraints = read_constraints(domain)
    problems = [(split, p) for split in domain.splits for p in domain.split_problems(split)]
    counts = {kind: {'impossible': 0, 'out_of_bounds': 0, 'exceptions': 0} for kind in KINDS}
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    faults: list[str] = []
    # Problem by problem, so that one estimator at a time is alive.
    for index, (split, problem) in enumerate(problems):
        numbers = [n for n in range(cases) if n // len(KINDS) % len(problems) == index]
        if not numbers:
            continue
        estimator = Estimator(domain, problem, constraints)
        theory = instantiate(constraints, domain.schema,
                             {**domain.schema.constants, **problem.objects})
        for number in numbers:
            kind = _kind(number, len(problems))
            evidence = KINDS[kind](domain, problem, random.Random(f'{seed}/{number}'))
            wrong = []
            began = time.perf_counter()
            try:
                estimate = estimator.estimate(evidence)
            except Exception as error:  # the bench tests that there is none
                wrong.append(('exceptions', f'{type(error).__name__}: {error}'))
            else:
                if not theory.possible(estimate.state):
                    wrong.append(('impossible', 'an impossible state'))
                if not all(0.0 < p < 1.0 for p in estimate.marginals.values()):
                    wrong.append(('out_of_bounds', 'a marginal outside of (0, 1)'))
            seconds[kind].append(time.perf_counter() - began)
            for key, what in wrong:
                counts[kind][key] += 1
                faults.append(f'case {number} of seed {seed} ({kind}, {split} {problem.name}): '
                              f'{what}')
    kinds = {kind: _summary(seconds[kind], counts[kind]) for kind in KINDS if seconds[kind]}
    total = {key: sum(found[key] for found in counts.values()) for key in counts['random']}
    return {'seed': seed, 'kinds': kinds,
            'all': _summary([s for found in seconds.values() for s in found], total),
            'faults': faults[:20]}


def _kind(number: int, problems: int) -> str:
    turn, kind = number // len(KINDS), list(KINDS)[number % len(KINDS)]
    varied = [name for name in KINDS if not name.startswith('all ')]
    return kind if turn < problems or kind in varied else varied[number % len(varied)]


def _summary(seconds: Sequence[float], counts: dict[str, int]) -> dict[str, Any]:
    return {'cases': len(seconds), **counts,
            'median_s': statistics.median(seconds) if seconds else 0.0,
            'max_s': max(seconds, default=0.0)}


Kind = Callable[[Domain, Problem, random.Random], list[Evidence]]


def _all(verdict: Verdict) -> Kind:
    def answers(domain: Domain, problem: Problem, rng: random.Random) -> list[Evidence]:
        return [Evidence(atom, verdict, 'image') for atom in domain.model(problem).atoms]
    return answers


def _at_random(domain: Domain, problem: Problem, rng: random.Random) -> list[Evidence]:
    return [Evidence(atom, rng.choice(list(Verdict)), 'image')
            for atom in domain.model(problem).atoms]


def _contradictions(images: int) -> Kind:
    """Each atom is asked about 2 to 5 times, and both answers are given."""
    def answers(domain: Domain, problem: Problem, rng: random.Random) -> list[Evidence]:
        found = []
        for atom in domain.model(problem).atoms:
            verdicts = [Verdict.YES, Verdict.NO,
                        *(rng.choice(list(Verdict)) for _ in range(rng.randrange(4)))]
            rng.shuffle(verdicts)
            found += [Evidence(atom, verdict, f'image {number % images}')
                      for number, verdict in enumerate(verdicts)]
        return found
    return answers


def _sparse(domain: Domain, problem: Problem, rng: random.Random) -> list[Evidence]:
    """Random answers about at most a tenth of the atoms, or about none."""
    atoms = domain.model(problem).atoms
    return [Evidence(atom, rng.choice([Verdict.YES, Verdict.NO]), 'image')
            for atom in rng.sample(list(atoms), rng.randrange(len(atoms) // 10 + 1))]


def _noisy(domain: Domain, problem: Problem, rng: random.Random) -> list[Evidence]:
    return noisy_answers(domain, problem, 0.1, rng)


KINDS: dict[str, Kind] = {
    'all yes': _all(Verdict.YES),
    'all no': _all(Verdict.NO),
    'all unreadable': _all(Verdict.UNPARSED),
    'random': _at_random,
    'contradictory, one image': _contradictions(1),
    'contradictory, several images': _contradictions(5),
    'sparse': _sparse,
    '10 % wrong': _noisy,
}
"""Evidence of each kind about a problem."""


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
    return [Evidence(atom, Verdict.YES if (atom in problem.init) is (rng.random() >= error)
                     else Verdict.NO, 'image') for atom in domain.model(problem).atoms]
