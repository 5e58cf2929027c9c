"""Proposing rules from random rollouts of a domain's model, and checking rules on states.

Candidates are drawn from templates over the domain's predicates. One is proposed if no state of
the training rollouts breaks it, no simpler rule would do, no state of held-out rollouts breaks
it and it does not follow from the others. A person reviews the proposal: what no rollout showed
may still be possible.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sightplan.domains import Domain
from sightplan.domains.instantiation import InstantiatedModel
from sightplan.domains.schema import Pattern, Same, Schema
from sightplan.model import Atom, DomainError, Problem, State, check_settings
from sightplan_belief.constraints import (
    AcyclicRule,
    CardinalityRule,
    Constraints,
    ImplicationRule,
    Rule,
    RuleLiteral,
    Vocabulary,
    check_rule,
    form,
    instantiate,
    pattern_text,
)
from sightplan_belief.learning.rollouts import RolloutSettings, draw_problems, model_states
from sightplan_belief.possible_states import Consequences, possible_states
from sightplan_belief.theory import Acyclic, GroundLiteral, Group

Progress = Callable[[str, int, int], None]
"""Callback for progress: name of the stage, number done, and total."""

_MAX_ATOMS = 700
_MAX_PATTERNS = 4


@dataclass(frozen=True, slots=True)
class Count:
    """Number of times that a rule applied (its premise held), and that it was broken then."""

    cases: int = 0
    broken: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.cases + other.cases, self.broken + other.broken)


@dataclass(frozen=True, slots=True)
class Sample:
    """States of one problem, each once.

    Attributes:
        problem: its name.
        vocabulary: its atoms.
        states: the states.
        true: of each atom a set of states, those in which it is true: bit k is state k.
    """

    problem: str
    vocabulary: Vocabulary
    states: tuple[State, ...]
    true: tuple[int, ...]

    @classmethod
    def of(cls, problem: Problem, schema: Schema, states: Iterable[State]) -> Sample:
        """The sample of a problem's states."""
        vocabulary = Vocabulary(schema, problem.objects)
        distinct = tuple(dict.fromkeys(states))
        return cls(problem.name, vocabulary, distinct, tuple(
            sum((atom in state) << k for k, state in enumerate(distinct))
            for atom in vocabulary.atoms))

    def count(self, rule: Rule) -> Count:
        """Count a rule's cases and violations.

        A case is a state with an instance of the rule whose premise holds there, or any
        instance of a rule that forbids its premise.
        """
        cases = broken = 0
        if isinstance(rule, AcyclicRule):
            theory = instantiate(Constraints((rule,)), self.vocabulary.schema,
                                 self.vocabulary.objects)
            for graph in theory.acyclic:
                edges = {self.vocabulary.atoms[i] for i, _, _ in graph.edges}
                for state in self.states:
                    cases += not edges.isdisjoint(state)
                    broken += not theory.possible(state & edges)
        elif isinstance(rule, CardinalityRule):
            for group in self.vocabulary.groups(rule):
                once = twice = 0
                for i in group:
                    twice |= once & self.true[i]
                    once |= self.true[i]
                cases += len(self.states)
                broken += (twice | (self._hold(()) & ~once if rule.required else 0)).bit_count()
        else:
            for case in self.vocabulary.cases(rule):
                open_ = self._hold(case.premise)
                cases += open_.bit_count() if rule.conclusion else len(self.states)
                for option in case.options:
                    open_ &= ~self._hold(option)
                broken += open_.bit_count()
        return Count(cases, broken)

    def _hold(self, literals: Iterable[GroundLiteral]) -> int:
        """The set of states in which all literals hold."""
        found = (1 << len(self.states)) - 1
        for i, positive in literals:
            found &= self.true[i] if positive else ~self.true[i]
        return found


def count_all(rule: Rule, samples: Iterable[Sample]) -> Count:
    """Count a rule's cases and violations in all samples."""
    return sum((sample.count(rule) for sample in samples), Count())


# -------------------------------------------------------------------------------- candidates


def candidates(schema: Schema) -> list[Rule]:
    """The rules that the templates give, each once; cardinalities of up to two patterns."""
    found: dict[object, Rule] = {}
    for rule in itertools.chain(_cardinalities(schema), _relations(schema), _clauses(schema),
                                _existences(schema)):
        if _fits(rule, schema):
            found.setdefault(_key(rule), rule)
    return [_named(rule) for rule in found.values()]


def _patterns(schema: Schema) -> list[tuple[str | None, Pattern]]:
    """Patterns with stars and at most one variable, and whether there is one."""
    found: list[tuple[str | None, Pattern]] = []
    for predicate in schema.predicates.values():
        arity = len(predicate.parameters)
        found.append((None, Pattern(predicate.name, ('*',) * arity)))
        found.extend(('?x', Pattern(predicate.name, tuple(
            '?x' if i == place else '*' for i in range(arity)))) for place in range(arity))
    return found


def _cardinalities(schema: Schema) -> Iterator[Rule]:
    patterns = _patterns(schema)
    sets = [(p,) for _, p in patterns if '*' in p.terms]
    for predicate in schema.predicates.values():  # two and more variables
        arity = len(predicate.parameters)
        for size in range(2, arity):
            for places in itertools.combinations(range(arity), size):
                sets.append((Pattern(predicate.name, tuple(
                    f'?x{i}' if i in places else '*' for i in range(arity))),))
    pairs = [(p, q) for (x, p), (y, q) in itertools.combinations(patterns, 2) if x == y]
    for group in (*sets, *pairs):
        for required in (True, False):
            yield CardinalityRule('', group, required)


def _relations(schema: Schema) -> Iterator[Rule]:
    for predicate in schema.predicates.values():
        yield AcyclicRule('', predicate.name)


def _clauses(schema: Schema) -> Iterator[Rule]:
    """Yield candidate implications without existential variables."""
    arity = {p.name: len(p.parameters) for p in schema.predicates.values()}
    variables = ('?x', '?y', '?z', '?u', '?v', '?w')
    both = (True, False)

    def literal(name: str, terms: Iterable[str], positive: bool = True) -> RuleLiteral:
        return RuleLiteral(Pattern(name, tuple(terms)), positive)

    def rule(premise: Iterable[RuleLiteral], *conclusion: RuleLiteral) -> ImplicationRule:
        return ImplicationRule('', tuple(premise), conclusion)

    for p, n in arity.items():
        own = variables[:n]
        yield rule([literal(p, own)])
        yield rule([], literal(p, own))
        for i, j in itertools.combinations(range(n), 2):  # one object in two places
            loop = [own[i] if place == j else v for place, v in enumerate(own)]
            yield rule([literal(p, loop)])
            yield rule([], literal(p, loop))
        for q, m in arity.items():
            for terms in itertools.permutations(own, m):
                for given, positive in itertools.product(both, both):
                    if (p, own) != (q, terms):
                        yield rule([literal(p, own, given)], literal(q, terms, positive))
    unary, binary = ([p for p, n in arity.items() if n == size] for size in (1, 2))
    x, y, z = variables[:3]
    for p, q in itertools.combinations_with_replacement(binary, 2):  # one or the other
        for ends in ((x, y), (y, x)):
            yield rule([RuleLiteral(Same(x, y), False)], literal(p, (x, y)), literal(q, ends))
    for p, q in itertools.product(binary, binary):  # chains and forks
        for second, left in itertools.product(((y, z), (z, y), (x, z), (z, x)),
                                              dict.fromkeys((p, q))):
            for ends, positive in itertools.product(((x, z), (z, x), (y, z), (z, y)), both):
                yield rule([literal(p, (x, y)), literal(q, second)],
                           literal(left, ends, positive))
    for q, s, t in itertools.product(binary, unary, unary):  # from one end to the other
        for first, last in ((x, y), (y, x)):
            for given, positive in itertools.product(both, both):
                yield rule([literal(q, (x, y)), literal(s, (first,), given)],
                           literal(t, (last,), positive))
    for s, q in itertools.product(unary, binary):  # the only one
        for order in (1, -1):
            yield rule([literal(s, (x,)), literal(q, (x, y)[::order]),
                        literal(s, (z,)), literal(q, (z, y)[::order])], RuleLiteral(Same(x, z)))


def _existences(schema: Schema) -> Iterator[Rule]:
    unary, binary = ([p.name for p in schema.predicates.values() if len(p.parameters) == size]
                     for size in (1, 2))

    def literal(name: str, *terms: str, positive: bool = True) -> RuleLiteral:
        return RuleLiteral(Pattern(name, terms), positive)

    def rule(given: RuleLiteral, *conclusion: RuleLiteral) -> ImplicationRule:
        return ImplicationRule('', (given,), conclusion, exists=True)

    for q in binary:
        for order in (1, -1):
            for p in unary:
                for positive in (True, False):  # p(x) means that some y is with x
                    yield rule(literal(p, '?x', positive=positive), literal(
                        q, *('?x', '?y')[::order]))
                yield rule(literal(q, *('?x', '?z')[::order]), literal(p, '?y'), literal(
                    q, *('?y', '?z')[::order]))
            for p in binary:  # what is with something is with something else
                for other in (1, -1):
                    yield rule(literal(p, *('?x', '?z')[::other]), literal(
                        q, *('?x', '?y')[::order]))


def _key(rule: Rule) -> object:
    """Equal for rules that differ in the names of variables, or in the order of literals."""
    if isinstance(rule, AcyclicRule):
        return rule.predicate
    if isinstance(rule, CardinalityRule):
        return rule.required, frozenset(rule.patterns)
    signed = [(literal, False) for literal in rule.premise]
    signed += [(literal, True) for literal in rule.conclusion]
    variables = list(dict.fromkeys(v for literal, _ in signed for v in literal.variables))

    def renamed(names: Sequence[str]) -> list[tuple[str, bool, bool, tuple[str, ...]]]:
        new = dict(zip(variables, names, strict=True))
        found = []
        for literal, concluded in signed:
            if isinstance(literal.part, Same):
                terms = tuple(sorted(new.get(t, t) for t in (literal.part.left,
                                                             literal.part.right)))
                name = '='
            else:
                terms = tuple(new.get(t, t) for t in literal.part.terms)
                name = literal.part.predicate
            positive = literal.positive
            if not rule.exists:  # a clause: "if a" is "not a or"
                concluded, positive = True, positive is concluded
            found.append((name, positive, concluded, terms))
        return sorted(set(found))

    numbers = [f'?{i}' for i in range(len(variables))]
    return rule.exists, min(map(tuple, map(renamed, itertools.permutations(numbers))))


def _named(rule: Rule) -> Rule:
    """The rule, named by its form; "always not p" becomes "p never"."""
    if (isinstance(rule, ImplicationRule) and not rule.premise and not rule.exists
            and not any(literal.positive for literal in rule.conclusion)):
        rule = dataclasses.replace(rule, conclusion=(), premise=tuple(
            RuleLiteral(literal.part) for literal in rule.conclusion))
    if isinstance(rule, AcyclicRule):
        name = f'{rule.predicate} has no cycles'
    elif isinstance(rule, CardinalityRule):
        name = (f'{"exactly" if rule.required else "at most"} one of '
                f'{" and ".join(map(pattern_text, rule.patterns))}')
    else:
        word = ' and ' if rule.exists else ' or '
        conclusion = word.join(map(str, rule.conclusion)) or 'never'
        premise = ' and '.join(map(str, rule.premise)) or 'always'
        name = f'{premise}: {"there is " * rule.exists}{conclusion}'
    return dataclasses.replace(rule, name=name)


# ---------------------------------------------------------------------------------- learning


@dataclass(frozen=True, slots=True)
class LearnedRule:
    """A proposed rule with its counts in the training and the held-out states."""

    rule: Rule
    training: Count
    held_out: Count


@dataclass(frozen=True, slots=True)
class Learned:
    """Result of learning rules.

    Attributes:
        rules: the proposal.
        rejected: rules that only held-out states break.
        candidates: how many rules were tried.
        unbroken: how many of them no training state breaks.
        redundant: how many were dropped because they follow from others.
        training_states: number of distinct states learned from.
        held_out_states: number of distinct states verified with.
        seconds: wall-clock time, the drawing of states included.
    """

    rules: tuple[LearnedRule, ...]
    rejected: tuple[LearnedRule, ...]
    candidates: int
    unbroken: int
    redundant: int
    training_states: int
    held_out_states: int
    seconds: float


def learn(domain: Domain, splits: Sequence[str], settings: RolloutSettings | None = None,
          progress: Progress = lambda what, done, total: None) -> Learned:
    """Propose rules for a domain from random rollouts of its PDDL model.

    Args:
        domain: whose model and problems are used.
        splits: whose problems are drawn.
        settings: how states are drawn.
        progress: see ``Progress``.

    Raises:
        InputError: a setting is out of bounds, or a split is unknown.
    """
    settings = settings or RolloutSettings()
    check_settings(settings, 'constraints')
    start = time.monotonic()
    rng = random.Random(settings.seed)
    sets = []
    groups = draw_problems(domain, splits, settings.problems, rng)
    for what, problems in zip(('training states', 'held-out states'), groups, strict=True):
        samples = []
        for number, problem in enumerate(problems):
            progress(what, number, len(problems))
            samples.append(Sample.of(problem, domain.schema, model_states(
                problem, settings.rollouts, settings.steps, rng)))
        sets.append(samples)
    training, held_out = sets
    search = _Search(domain.schema, training, settings.min_support)
    tried = candidates(domain.schema)
    for number, rule in enumerate(tried):
        progress('candidates', number, len(tried))
        search.try_rule(rule)
    search.grow()
    valid = search.found()
    counted = [LearnedRule(rule, count_all(rule, training), count_all(rule, held_out))
               for rule in valid]
    good = [item for item in counted if not item.held_out.broken]
    progress('redundant rules', 0, 1)
    kept = without_redundant([item.rule for item in good], domain.schema,
                             [problem.objects for some in groups for problem in some])
    return Learned(
        rules=tuple(item for item in good if item.rule in kept),
        rejected=tuple(item for item in counted if item.held_out.broken),
        candidates=search.tried, unbroken=len(valid), redundant=len(good) - len(kept),
        training_states=sum(len(s.states) for s in training),
        held_out_states=sum(len(s.states) for s in held_out),
        seconds=time.monotonic() - start)


class _Search:
    """Finds the simplest rules that no training state breaks."""

    def __init__(self, schema: Schema, samples: Sequence[Sample], min_support: int) -> None:
        self._schema = schema
        self._samples = samples
        self._support = min_support
        self._valid: dict[object, Rule] = {}
        self._known: dict[object, bool] = {}
        self.tried = 0

    def found(self) -> list[Rule]:
        """The rules, strong and short ones first."""
        return sorted(self._valid.values(), key=_rank)

    def try_rule(self, rule: Rule) -> bool:
        """Try a rule; if it is unbroken, it or simpler rules that imply it are taken.

        Returns:
            whether no training state breaks it.
        """
        key = _key(rule)
        if key not in self._known:
            self.tried += 1
            self._known[key] = not any(sample.count(rule).broken for sample in self._samples)
            if self._known[key]:
                for simpler in self._simpler(rule):
                    self.try_rule(simpler)
                if self._is_supported(rule):
                    self._valid[key] = _named(rule)
        return self._known[key]

    def grow(self) -> None:
        """Try cardinalities of more patterns, all smaller sets of which are unbroken."""
        waiting = [rule for rule in self._valid.values() if isinstance(rule, CardinalityRule)]
        while waiting:
            rule = waiting.pop()
            if rule.required or len(rule.patterns) >= _MAX_PATTERNS:
                continue
            for other in list(self._valid.values()):
                if (not isinstance(other, CardinalityRule) or other.required
                        or _pattern_variables(other) != _pattern_variables(rule)):
                    continue
                more = (*rule.patterns, *(p for p in other.patterns if p not in rule.patterns))
                if len(more) != len(rule.patterns) + 1:
                    continue
                for required in (True, False):
                    larger = CardinalityRule('', more, required)
                    key = _key(larger)
                    if key in self._known or not _fits(larger, self._schema):
                        continue
                    if self.try_rule(larger):
                        if key in self._valid:
                            waiting.append(larger)
                        break

    def _simpler(self, rule: Rule) -> Iterator[Rule]:
        """Stronger rules with a literal less."""
        if not isinstance(rule, ImplicationRule):
            return
        for i in range(len(rule.premise)):
            yield from self._fitting(dataclasses.replace(
                rule, premise=rule.premise[:i] + rule.premise[i + 1:]))
        if rule.exists:
            yield dataclasses.replace(rule, conclusion=(), exists=False)
        else:
            for i in range(len(rule.conclusion)):
                yield from self._fitting(dataclasses.replace(
                    rule, conclusion=rule.conclusion[:i] + rule.conclusion[i + 1:]))

    def _fitting(self, rule: ImplicationRule) -> Iterator[Rule]:
        outer = {v for literal in rule.premise for v in literal.variables}
        if rule.exists and not any(outer.intersection(x.variables) for x in rule.conclusion):
            return
        if _fits(rule, self._schema):
            yield rule

    def _is_supported(self, rule: Rule) -> bool:
        """Whether the rule says more than a simpler one in enough cases."""
        if isinstance(rule, CardinalityRule):
            demands: list[Rule] = [
                ImplicationRule('', (RuleLiteral(_opened(pattern)),), ())
                for pattern in rule.patterns]
        elif isinstance(rule, AcyclicRule):
            demands = [ImplicationRule(
                '', (RuleLiteral(Pattern(rule.predicate, ('?x', '?y'))),), ())]
        else:
            demands = list(self._simpler(rule))
        return all(self._often_broken(demand) for demand in demands)

    def _often_broken(self, rule: Rule) -> bool:
        broken = problems = 0
        for sample in self._samples:
            own = sample.count(rule).broken
            broken += own
            problems += own > 0
            if broken >= self._support and problems >= min(2, len(self._samples)):
                return True
        return False


def _pattern_variables(rule: CardinalityRule) -> set[frozenset[str]]:
    """The sets of variables in a rule's patterns."""
    return {frozenset(term for term in p.terms if term != '*') for p in rule.patterns}


def _opened(pattern: Pattern) -> Pattern:
    return Pattern(pattern.predicate, tuple(
        f'?star{i}' if term == '*' else term for i, term in enumerate(pattern.terms)))


def _fits(rule: Rule, schema: Schema) -> bool:
    """Whether a rule is no tautology, and objects can stand for its variables."""
    if isinstance(rule, ImplicationRule) and set(rule.premise) & set(rule.conclusion):
        return False
    try:
        check_rule(rule, schema)
    except DomainError:
        return False
    return True


def _rank(rule: Rule) -> tuple[int, int, str]:
    if isinstance(rule, CardinalityRule):
        return (0 if rule.required else 1), -len(rule.patterns), rule.name
    if isinstance(rule, AcyclicRule):
        return 2, 0, rule.name
    return 3 + rule.exists, len(rule.premise) + len(rule.conclusion), rule.name


def without_redundant(rules: Sequence[Rule], schema: Schema,
                      objects: Sequence[Mapping[str, str]]) -> list[Rule]:
    """The rules that do not follow from the others; earlier ones are preferred.

    That one follows is decided for a few objects of each type. Where the rules contradict each
    other about so many objects, it is decided for the largest problem.

    Args:
        rules: hard rules, the most wanted first.
        schema: the vocabulary.
        objects: the objects of problems in which the rules do not contradict each other.
    """
    kinds = sorted({kind for some in objects for kind in some.values()})
    invented = [{f'{kind}{i}': kind for kind in kinds for i in range(size)} for size in (4, 3, 2)]
    everything = Constraints(tuple(rules))
    for names in (*invented, *sorted(objects, key=len, reverse=True)):
        vocabulary = Vocabulary(schema, names)
        if len(vocabulary.atoms) <= _MAX_ATOMS and possible_states(
                instantiate(everything, schema, names), limit=1):
            break
    theories = {rule: instantiate(Constraints((rule,)), schema, vocabulary.objects)
                for rule in rules}
    kept: list[Rule] = []
    known = Consequences(vocabulary.atoms)
    for rule in rules:
        if not known.imply(theories[rule]):
            known.add(theories[rule])
            kept.append(rule)
    for rule in kept[::-1]:
        known = Consequences(vocabulary.atoms)
        for other in kept:
            if other is not rule:
                known.add(theories[other])
        if known.imply(theories[rule]):
            kept.remove(rule)
    return kept


def to_yaml(learned: Learned, title: str) -> str:
    """The text of a ``constraints.yaml`` with the learned rules, for a person to review.

    Args:
        learned: the rules.
        title: what they were learned from.
    """
    states = f'{learned.training_states} states of the problems learned from'
    states += f', {learned.held_out_states} of others'
    lines = [f'# Proposed by "sightplan constraints learn" from {title}.',
             f'# Nothing breaks a rule: {states}.',
             '# Review each one: is it true by necessity, or did chance make it so? Say in words',
             '# what it means; then run "sightplan constraints check --world".',
             'rules:' if learned.rules else 'rules: []']
    for item in learned.rules:
        lines.append(f"  - name: '{item.rule.name}'")
        for key, value in form(item.rule).items():
            text = value if isinstance(value, str) else (
                '[' + ', '.join(f"'{literal}'" for literal in value) + ']')
            lines.append(f'    {key}: {text}')
        lines.append(f'    violation_rate: 0  # {item.training.cases} and '
                     f'{item.held_out.cases} cases')
    return '\n'.join(lines) + '\n'


# ---------------------------------------------------------------------------------- checking


@dataclass(frozen=True, slots=True)
class Violation:
    """An example of a broken rule.

    Attributes:
        problem: name of the problem.
        atoms: those that the broken instance speaks of, and whether they were true.
    """

    problem: str
    atoms: dict[Atom, bool]


def find_violation(rule: Rule, samples: Iterable[Sample]) -> Violation | None:
    """First violation of a rule in some samples; None if there is none."""
    for sample in samples:
        if not sample.count(rule).broken:
            continue
        atoms = sample.vocabulary.atoms
        theory = instantiate(Constraints((rule,)), sample.vocabulary.schema,
                             sample.vocabulary.objects)
        for state in sample.states:
            for item in theory.broken(state):
                if isinstance(item, Acyclic):
                    involved = [i for i, _, _ in item.edges if atoms[i] in state]
                elif isinstance(item, Group):
                    involved = [i for i in item.variables if atoms[i] in state or item.required]
                else:
                    involved = []
                    for i, _ in item.literals:
                        involved += [i] if i < len(atoms) else [
                            part for part, _ in theory.definitions[i - len(atoms)]]
                return Violation(sample.problem, {
                    atoms[i]: atoms[i] in state for i in dict.fromkeys(involved)})
    return None


@dataclass(frozen=True, slots=True)
class Completeness:
    """Number of a problem's states that the rules allow, and that the model can reach.

    Static atoms are as the problem says. A limited number is a lower bound.

    Attributes:
        problem: its name.
        allowed: number of states that break no hard rule.
        reachable: number of states that actions lead to from the initial state.
        forbidden: number of these that the rules do not allow.
        limit: where counting stopped.
    """

    problem: str
    allowed: int
    reachable: int
    forbidden: int
    limit: int

    @property
    def exact(self) -> bool:
        """Whether both numbers are final."""
        return self.allowed < self.limit and self.reachable < self.limit


def completeness(constraints: Constraints, schema: Schema, problem: Problem, limit: int = 5000,
                 ) -> Completeness:
    """Compare the states that rules allow with the states that can be reached.

    Args:
        constraints: the rules.
        schema: the vocabulary.
        problem: a small problem.
        limit: stop counting there.
    """
    theory = instantiate(constraints, schema, problem.objects)
    known = {atom: atom in problem.init for atom in theory.atoms
             if atom.predicate in schema.static}
    allowed = len(possible_states(theory, limit, known))
    model = InstantiatedModel(problem)
    reached = {problem.init: None}
    for state in (waiting := [problem.init]):
        for action in model.actions if len(reached) < limit else ():
            if model.applicable(action, state):
                after = model.apply(action, state)
                if after not in reached and len(reached) < limit:
                    reached[after] = None
                    waiting.append(after)
    return Completeness(problem.name, allowed, len(reached),
                        sum(not theory.possible(state) for state in reached), limit)
