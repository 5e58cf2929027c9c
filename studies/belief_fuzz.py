"""Estimates of the joint state from evidence of every kind, sensible or not."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from sightplan.domains import Domain, load_domain
from sightplan.model import Answer, Problem, Verdict
from sightplan_belief.constraints import instantiate, read_constraints
from sightplan_belief.estimator import Estimator, Evidence
from sightplan_bench.belief_cost import noisy_answers


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
        return [Evidence(atom, Answer(verdict=verdict), 'image')
                for atom in domain.model(problem).atoms]
    return answers


def _at_random(domain: Domain, problem: Problem, rng: random.Random) -> list[Evidence]:
    return [Evidence(atom, Answer(verdict=rng.choice(list(Verdict))), 'image')
            for atom in domain.model(problem).atoms]


def _contradictions(images: int) -> Kind:
    """Each atom is asked about 2 to 5 times, and both answers are given."""
    def answers(domain: Domain, problem: Problem, rng: random.Random) -> list[Evidence]:
        found = []
        for atom in domain.model(problem).atoms:
            verdicts = [Verdict.YES, Verdict.NO,
                        *(rng.choice(list(Verdict)) for _ in range(rng.randrange(4)))]
            rng.shuffle(verdicts)
            found += [Evidence(atom, Answer(verdict=verdict), f'image {number % images}')
                      for number, verdict in enumerate(verdicts)]
        return found
    return answers


def _sparse(domain: Domain, problem: Problem, rng: random.Random) -> list[Evidence]:
    """Random answers about at most a tenth of the atoms, or about none."""
    atoms = domain.model(problem).atoms
    return [Evidence(atom, Answer(verdict=rng.choice([Verdict.YES, Verdict.NO])), 'image')
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
