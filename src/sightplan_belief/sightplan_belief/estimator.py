"""Estimator of the most probable joint state, and of each atom's probability, from answers.

Answers are noisy measurements of one possible world. Every answer adds its log likelihood ratio
to the score of its atom; the constraints say which joint states are possible; the posterior over
those is listed, best first, per group of atoms that constraints tie together.

Example::

    estimator = Estimator(load_domain('blocksworld'), problem)
    estimate = estimator.estimate([Evidence(Atom('on', ('r', 'g')), Answer('Yes')), ...])
    estimate.state, estimate.marginals
"""

from __future__ import annotations

import dataclasses
import functools
import heapq
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import Domain
from sightplan.domains.schema import Schema
from sightplan.model import (
    Answer,
    Atom,
    InputError,
    Literal,
    Problem,
    State,
    Verdict,
    check_settings,
    param,
)
from sightplan.model.odds import probabilities
from sightplan_belief.constraints import (
    CardinalityRule,
    Constraints,
    Vocabulary,
    instantiate,
    read_constraints,
)
from sightplan_belief.observation_model import ObservationModel
from sightplan_belief.priors import Priors, read_priors
from sightplan_belief.solver import Bools, Floats, Solutions, StateSolver
from sightplan_belief.state_sampling import Parts, Rules, sample_states
from sightplan_belief.theory import Clause, Theory

MARGINAL_BOUNDS = 1e-4, 1.0 - 1e-4
"""Least and largest probability of an atom: states that are not listed are not impossible."""

_CORRELATION = 0.27
"""Correlation of errors about a common thing by the fraction of their common cause (measured)."""

_SAMPLED = 512  # states that marginals come from where there are too many to list

CERTAIN = 60.0
"""Weight of a fact that the world itself provides: practically certain [nats]."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """An answer with what it is about.

    Attributes:
        atom: what was asked.
        answer: what was answered.
        image: which image it was about; the same text means the same image.
    """

    atom: Atom
    answer: Answer
    image: str = ''


def evidence_of(answers: Mapping[Atom, Answer], image: str = '') -> list[Evidence]:
    """Answers about one picture as evidence.

    Args:
        answers: by what was asked.
        image: id of the picture.
    """
    return [Evidence(atom, answer, image) for atom, answer in answers.items()]


MOST_LISTED = 100_000
"""Most states that may be listed per group. Estimates about one scene list as many, as they have
the time: all states of ten blocks and columns without any evidence take some seconds."""


@dataclass(frozen=True, slots=True)
class EstimatorSettings:
    """Settings of an Estimator."""

    k: int = param(64, 'Joint states kept', low=1, high=4096)
    window: float = param(10.0, 'States are listed down to this far below the best one [nats]',
                          low=0.5, high=100.0)
    limit: int = param(512, 'Most states listed per group', low=2,
                       high=MOST_LISTED)
    seed: int = param(0, 'Seed of the tie-breaking', low=0)
    correlated: bool = param(True, 'Whether errors about a common thing in one picture are taken '
                             'to hang together as the domain says (else to be independent)')


@dataclass(frozen=True, slots=True)
class Estimate:
    """Result of an estimation.

    Attributes:
        state: the most probable joint state: always a possible one.
        marginals: P(atom is true) in ``MARGINAL_BOUNDS``, for all atoms.
        log_evidence: log of the sum, over the possible states, of the likelihood of all answers,
            each possible state weighing what the prior odds of its true atoms multiply to, and
            every violation of a soft rule costing its penalty [nats]. A lower bound where states
            outside of the window matter.
        solutions: up to k joint states with their normalised probabilities, best first.
        complete: whether all states in the window were listed.
        seconds: wall-clock time spent [s].
    """

    state: State
    marginals: dict[Atom, float]
    log_evidence: float
    solutions: tuple[tuple[State, float], ...]
    complete: bool
    seconds: float

    @property
    def caveat(self) -> str:
        """Warning about the probabilities if not all likely states were listed; else ''."""
        return '' if self.complete else (
            'too many states are likely to list them all: the probabilities come from a part of '
            'them and are approximate; more answers make them exact')


Reasons = tuple[Sequence[Sequence[Literal]], float]
"""Conjunctions of literals of which one holds, and the cost if none does [nats]."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """The arrays behind an Estimate.

    Attributes:
        values: (K, n) bool, joint states, best first; columns as ``Estimator.atoms``.
        scores: (K,) float64 log weights [nats], descending.
        marginals: (n,) float64 P(atom is true), from all listed states.
        log_sum: log of the sum of the weights of all listed states [nats].
        complete: whether all states within the window were listed.
    """

    values: Bools
    scores: Floats
    marginals: Floats
    log_sum: float
    complete: bool


class Estimator:
    """Joint estimation of one problem's state.

    Args:
        domain: whose vocabulary and constraints hold.
        problem: whose objects there are; its initial state is never read.
        constraints: instead of the domain's own ``constraints.yaml``.
        observation_model: what answers are worth; for predicates and actions that it does not
            know, and where it is None, what the priors say.
        settings: see ``EstimatorSettings``.
        atoms: only these and what constraints tie to them; None: all that may hold.
        priors: what may be expected; None: the domain's. ``estimate`` begins with those of a
            scene (``Priors.of_scene``).

    Attributes:
        atoms: the atoms it is about, sorted by name; never one that cannot hold
            (``Domain.worth_asking``).
        number: atom to column.
        observation_model: as given, completed.
        correlation: of two errors about a common thing on one picture.

    Raises:
        DomainError: the constraints cannot be read, or do not fit.
        InputError: a setting is out of bounds, or objects are missing without which a rule of the
            constraints cannot hold.
    """

    def __init__(self, domain: Domain, problem: Problem, constraints: Constraints | None = None,
                 observation_model: ObservationModel | None = None,
                 settings: EstimatorSettings | None = None,
                 atoms: Iterable[Atom] | None = None,
                 priors: Priors | None = None) -> None:
        self.settings = settings or EstimatorSettings()
        check_settings(self.settings, 'estimator')
        priors = read_priors(domain) if priors is None else priors
        self.observation_model = priors.complete(observation_model)
        self.correlation = (_CORRELATION * domain.errors_together
                            if self.settings.correlated else 0.0)
        constraints = read_constraints(domain) if constraints is None else constraints
        objects = {**domain.schema.constants, **problem.objects}
        theory = instantiate(constraints, domain.schema, objects, domain.worth_asking(problem))
        _check_possible(theory, constraints, domain.schema, objects)
        parts = theory.split()
        if atoms is not None:
            wanted = set(atoms)
            parts = [part for part in parts if wanted.intersection(part.atoms)]
            parts = [_only(part, wanted) for part in parts]
        self.atoms: tuple[Atom, ...] = tuple(sorted(a for part in parts for a in part.atoms))
        self.number: Mapping[Atom, int] = {atom: i for i, atom in enumerate(self.atoms)}
        self._parts = [
            (np.array([self.number[a] for a in part.atoms], np.intp),
             StateSolver(part, self.settings.seed)) for part in parts]
        self._unasked: dict[int, Solutions] = {}
        known = priors.of_scene(self.atoms)
        p = np.clip([known.get(atom, 0.5) for atom in self.atoms], *MARGINAL_BOUNDS)
        self._prior = np.log(p / (1.0 - p))

    @property
    def parts(self) -> Sequence[tuple[NDArray[np.intp], StateSolver]]:
        """Independent groups of atoms: their columns, and their possible states."""
        return self._parts

    @functools.cached_property
    def rules(self) -> Parts:
        """The constraints of the parts, for many states at once."""
        return [(columns, Rules(solver.theory)) for columns, solver in self._parts]

    def estimate(self, evidence: Sequence[Evidence], facts: Mapping[Atom, bool] | None = None,
                 ) -> Estimate:
        """The state, marginals and best joint states given all answers.

        Readable answers about one atom on one image are one measurement (their weights are
        averaged, so that contradicting ones cancel); on further images they count by what they
        add.

        Args:
            evidence: in the order in which it came; may contradict itself, may be empty.
            facts: those that are as good as certain; those that it is not about are left out.

        Raises:
            InputError: an atom of the evidence is none of this problem's.
        """
        start = time.perf_counter()
        scores, base = self.scores(evidence)
        scores = scores + self._prior
        for atom, value in (facts or {}).items():
            if atom in self.number:
                scores[self.number[atom]] = CERTAIN if value else -CERTAIN
                base -= CERTAIN if value else 0.0  # a state that agrees gains nothing
        posterior = self.solve(scores)
        weights = np.exp(posterior.scores - posterior.scores[0])
        solutions = tuple((self.state(row), float(w)) for row, w in zip(
            posterior.values, weights / weights.sum(), strict=True))
        return Estimate(
            solutions[0][0], dict(zip(self.atoms, map(float, posterior.marginals), strict=True)),
            posterior.log_sum + base, solutions, posterior.complete, time.perf_counter() - start)

    def scores(self, evidence: Sequence[Evidence]) -> tuple[Floats, float]:
        """Log likelihood ratios of the atoms, given the answers.

        Returns:
            (n,) float64 log likelihood ratios of true to false [nats], and the log likelihood of
            all answers if all atoms were false [nats].

        Raises:
            InputError: an atom is none of this problem's.
        """
        scores, base = np.zeros(len(self.atoms)), 0.0
        images: dict[tuple[int, str], list[Evidence]] = {}
        for item in evidence:
            if item.atom not in self.number:
                raise InputError(f'{item.atom} is not an atom of this problem (atoms have the '
                                 f'form "{self.atoms[0] if self.atoms else "on a,b"}")')
            images.setdefault((self.number[item.atom], item.image), []).append(item)
        last: dict[int, Verdict] = {}
        for (number, _), items in images.items():
            readable = [item for item in items if item.answer.verdict.says is not None]
            pairs = [self.observation_model.log_likelihoods(
                item.atom.predicate, item.answer, last.get(number)) for item in readable or items]
            false, true = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
            scores[number] += true - false
            base += false
            if readable:
                last[number] = readable[-1].answer.verdict
        return scores, base

    def solve(self, scores: Floats, reasons: Sequence[Reasons] = ()) -> Posterior:
        """Posterior under any scores.

        Args:
            scores: (n,) what each atom adds to the log weight when true [nats].
            reasons: what else is likely; one whose atoms no constraint ties together is left
                out (see ``ties``). An atom that it is not about counts as false.
        """
        marginals, log_sum, complete = np.empty(len(self.atoms)), 0.0, True
        lists: list[tuple[Bools, Floats]] = []
        known = [(self._known(conjunctions), cost) for conjunctions, cost in reasons]
        for index, (columns, solver) in enumerate(self._parts):
            part = scores[columns]
            fitting = [reason for reason in known if _about(solver.theory, reason[0])]
            if not fitting and not _tied(solver.theory):  # independent atoms: exact
                solutions = _independent(part, self.settings.k)
                marginals[columns] = probabilities(part)
                log_sum += float(np.logaddexp(0.0, part).sum())
            else:
                solutions = self._near_best(index, solver, part, fitting)
                weights = np.exp(solutions.scores - solutions.scores[0])
                if not solutions.complete and not fitting and self._may_be_empty[index]:
                    marginals[columns] = self._sampled(index, part)
                else:
                    marginals[columns] = weights @ solutions.values / weights.sum()
                log_sum += float(solutions.scores[0] + np.log(weights.sum()))
                complete = complete and solutions.complete
            lists.append((solutions.values, solutions.scores))
        values, found = self._product(lists)
        return Posterior(values, found, np.clip(marginals, *MARGINAL_BOUNDS), log_sum, complete)

    def ties(self, conjunctions: Sequence[Sequence[Literal]]) -> bool:
        """Whether constraints tie the atoms of reasons together, or none is tied to any."""
        known = self._known(conjunctions)
        return any(_about(solver.theory, known) for _, solver in self._parts)

    def _known(self, conjunctions: Sequence[Sequence[Literal]]) -> list[tuple[Literal, ...]]:
        """Conjunctions that may hold, of the atoms that it is about; all others are false."""
        return [tuple(literal for literal in literals if literal.atom in self.number)
                for literals in conjunctions
                if not any(literal.positive and literal.atom not in self.number
                           for literal in literals)]

    def possible(self, row: Bools) -> bool:
        """Whether a row of values breaks no hard constraint."""
        state = self.state(row)
        return all(solver.theory.possible(state) for _, solver in self._parts)

    def state(self, row: Bools) -> State:
        """The state that a row of values stands for."""
        return frozenset(self.atoms[i] for i in np.flatnonzero(row))

    def _near_best(self, index: int, solver: StateSolver, scores: Floats,
                   reasons: Sequence[Reasons]) -> Solutions:
        window, limit = self.settings.window, self.settings.limit
        if reasons:
            theory = _with_reasons(solver.theory, reasons)
            return StateSolver(theory, self.settings.seed).near_best(scores, window, limit)
        if scores.any():
            return solver.near_best(scores, window, limit)
        if index not in self._unasked:
            self._unasked[index] = solver.near_best(scores, window, limit)
        return self._unasked[index]

    @functools.cached_property
    def _may_be_empty(self) -> list[bool]:
        """Whether all atoms of each part may be false, so that its states can be sampled."""
        return [solver.theory.possible(frozenset()) for _, solver in self._parts]

    def _sampled(self, index: int, scores: Floats) -> Floats:
        """(m,) marginals of a part that has too many likely states to list."""
        return np.asarray(sample_states(
            scores, self._parts[index][1].theory.atoms, self.rules[index][1], _SAMPLED,
            np.random.default_rng(self.settings.seed)).mean(axis=0))

    def _product(self, lists: Sequence[tuple[Bools, Floats]]) -> tuple[Bools, Floats]:
        """The k best combinations of one state of each part."""
        first = tuple(0 for _ in lists)
        heap = [(-sum(scores[0] for _, scores in lists), first)]
        seen, found = {first}, []
        rows: list[Bools] = []
        while heap and len(rows) < self.settings.k:
            cost, choice = heapq.heappop(heap)
            row = np.zeros(len(self.atoms), np.bool_)
            for (columns, _), (values, _), i in zip(self._parts, lists, choice, strict=True):
                row[columns] = values[i]
            rows.append(row)
            found.append(-cost)
            for part, (_, scores) in enumerate(lists):
                i = choice[part] + 1
                following = (*choice[:part], i, *choice[part + 1:])
                if i < len(scores) and following not in seen:
                    seen.add(following)
                    heapq.heappush(heap, (cost + scores[i - 1] - scores[i], following))
        return np.array(rows, np.bool_).reshape(-1, len(self.atoms)), np.array(found)


def _check_possible(theory: Theory, constraints: Constraints, schema: Schema,
                    objects: Mapping[str, str]) -> None:
    """Check that each rule can hold among the objects.

    Raises:
        InputError: one cannot, such as "each block is in one column" without a column.
    """
    never = next((one for one in theory.clauses if one.hard and not one.literals), None)
    if never is None:
        return
    rule = constraints.rules[never.rule]
    patterns = rule.patterns if isinstance(rule, CardinalityRule) else ()
    kinds = {kind for one in patterns for kind in schema.predicates[one.predicate].types}
    vocabulary = Vocabulary(schema, objects, ())
    missing = sorted(kind for kind in kinds if not vocabulary.of_type(kind))
    remedy = (f'name the objects of type {" and ".join(missing)}, too' if missing else
              'are all objects named, with their types?')
    raise InputError(f'the rule {rule.name!r} cannot hold among the objects '
                     f'{", ".join(objects) or "(none)"}: {remedy}')


def _only(part: Theory, wanted: set[Atom]) -> Theory:
    """The wanted atoms, and those that make the constraints say more about them."""
    return part.without({a for a in part.atoms if a not in wanted})


def _tied(theory: Theory) -> bool:
    return bool(theory.clauses or theory.groups or theory.acyclic)


def _about(theory: Theory, conjunctions: Sequence[Sequence[Literal]]) -> bool:
    """Whether a theory is about all atoms of some conjunctions, none of which always holds."""
    return bool(conjunctions) and all(conjunctions) and all(
        literal.atom in theory.number for literals in conjunctions for literal in literals)


def _with_reasons(theory: Theory, reasons: Sequence[Reasons]) -> Theory:
    """A theory with soft clauses: one of the conjunctions of each of the reasons holds."""
    clauses, definitions = list(theory.clauses), list(theory.definitions)
    for conjunctions, cost in reasons:
        clause = []
        for literals in conjunctions:
            parts = tuple((theory.number[literal.atom], literal.positive) for literal in literals)
            if len(parts) > 1:
                definitions.append(parts)
                parts = ((len(theory.atoms) + len(definitions) - 1, True),)
            clause.append(parts[0])
        clauses.append(Clause(tuple(clause), cost))
    return dataclasses.replace(theory, clauses=tuple(clauses), definitions=tuple(definitions))


def _independent(scores: Floats, k: int) -> Solutions:
    """The k best states of unconstrained atoms.

    Best first: the best state has every atom at its likelier value; the others flip some of them,
    and a set of flips costs the sum of the scores' sizes (subsets in the order of their sums).
    """
    best = scores > 0.0
    order = np.argsort(np.abs(scores), kind='stable')
    costs = np.abs(scores)[order]
    rows, found = [best], [0.0]
    heap: list[tuple[float, tuple[int, ...]]] = [(float(costs[0]), (0,))] if len(costs) else []
    while heap and len(rows) < k:
        cost, flips = heapq.heappop(heap)
        row = best.copy()
        row[order[list(flips)]] ^= True
        rows.append(row)
        found.append(-cost)
        following = flips[-1] + 1
        if following < len(costs):
            step = float(costs[following])
            heapq.heappush(heap, (cost + step, (*flips, following)))
            heapq.heappush(heap, (cost + step - float(costs[flips[-1]]),
                                  (*flips[:-1], following)))
    return Solutions(np.array(rows, np.bool_), np.array(found) + float(scores[best].sum()),
                     len(rows) == 2 ** min(len(scores), 62))
