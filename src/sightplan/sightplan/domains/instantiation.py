"""A problem's ground atoms and actions, and what the actions do."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sightplan.domains.schema import (
    TRUE,
    And,
    Condition,
    Exists,
    ForAll,
    Not,
    Or,
    Parameter,
    Pattern,
    Same,
    Schema,
    read_schema,
)
from sightplan.model import Action, Atom, InputError, Literal, Problem, State

_MOST_INSTANCES = 200_000
"""Most ground atoms, and most ground actions; 810,000 actions took 174 s and 1.8 GB."""


@dataclass(frozen=True, slots=True)
class AllOf:
    """A conjunction: all parts hold."""

    parts: tuple[Ground, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A disjunction: at least one of the parts holds."""

    parts: tuple[Ground, ...] = ()


Ground = Literal | AllOf | AnyOf
"""A condition without variables, in which only literals are negated."""


@dataclass(frozen=True, slots=True)
class GroundAction:
    """An action without variables.

    Attributes:
        precondition: when it is applicable.
        effects: atom, its new value, and when that happens.
    """

    precondition: Ground
    effects: tuple[tuple[Atom, bool, Ground], ...]


@dataclass(frozen=True, slots=True)
class _Test:
    """A condition compiled for fast evaluation.

    Attributes:
        wanted: atoms that must hold.
        barred: atoms that must not hold.
        choices: tuples of tests; at least one test of each tuple must hold, too.
    """

    wanted: State
    barred: State
    choices: tuple[tuple[_Test, ...], ...]

    @classmethod
    def of(cls, condition: Ground) -> _Test:
        """Compile a condition without variables for fast evaluation."""
        atoms: dict[bool, set[Atom]] = {True: set(), False: set()}
        choices: list[tuple[_Test, ...]] = []
        parts = [condition]
        while parts:
            part = parts.pop()
            if isinstance(part, Literal):
                atoms[part.positive].add(part.atom)
            elif isinstance(part, AllOf):
                parts.extend(part.parts)
            else:
                choices.append(tuple(cls.of(choice) for choice in part.parts))
        return cls(frozenset(atoms[True]), frozenset(atoms[False]), tuple(choices))

    def holds_in(self, state: State) -> bool:
        return (self.wanted.issubset(state) and self.barred.isdisjoint(state) and
                (not self.choices or
                 all(any(test.holds_in(state) for test in tests) for tests in self.choices)))


@dataclass(frozen=True, slots=True)
class _Rule:
    """An action compiled for fast execution.

    Attributes:
        test: its precondition.
        effects: atom, its new value, and when that happens; None: always.
    """

    test: _Test
    effects: tuple[tuple[Atom, bool, _Test | None], ...]

    @classmethod
    def of(cls, action: GroundAction) -> _Rule:
        """Compile an action without variables for fast execution."""
        return cls(_Test.of(action.precondition), tuple(
            (atom, value, None if condition == AllOf() else _Test.of(condition))
            for atom, value, condition in action.effects))


@dataclass(frozen=True, slots=True)
class Misfit:
    """An argument of an action that is not an object of the required type.

    Attributes:
        name: the argument.
        known: whether there is an object of that name.
        type: the required type.
        fitting: names of the objects of that type.
    """

    name: str
    known: bool
    type: str
    fitting: tuple[str, ...]


class InstantiatedModel:
    """The transition model of one problem by the rules of PDDL.

    The facts in ``Problem.known`` are evaluated when an action is grounded; the conditions of
    ground actions are about the other atoms.

    Methods that take an action raise the InputError of ``check`` if there is no such action.

    Args:
        problem: whose ``domain_pddl`` gives the actions.

    Attributes:
        atoms: all ground atoms, in the order of predicates and objects; the same object may
            fill two places (``on(r, r)``).
        actions: all ground actions, in the order of schemas and objects.

    Raises:
        DomainError: the problem's domain text cannot be used.
    """

    def __init__(self, problem: Problem) -> None:
        self._schema: Schema = read_schema(problem.domain_pddl, f'domain {problem.domain}')
        self._types: dict[str, str] = {**self._schema.constants, **problem.objects}
        self._known_facts: dict[str, dict[tuple[str, ...], None]] = {}
        for atom in sorted(problem.known):  # decided when an action is grounded
            self._known_facts.setdefault(atom.predicate, {})[atom.args] = None
        self._known_by: dict[tuple[str, int | None, str], tuple[tuple[str, ...], ...]] = {}
        self._of_type: dict[str, tuple[str, ...]] = {}
        self._grounded: dict[Action, GroundAction] = {}
        self._rules: dict[Action, _Rule] = {}
        self._conditions: frozenset[Atom] | None = None

    @functools.cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """All ground atoms, made at first use; see the class.

        Raises:
            InputError: there are too many; names the predicate with most of them.
        """
        self._check_number('atoms', {predicate.name: predicate.parameters
                                     for predicate in self._schema.predicates.values()})
        return tuple(Atom(predicate.name, args) for predicate in self._schema.predicates.values()
                     for args in self._tuples(predicate.parameters))

    @functools.cached_property
    def actions(self) -> tuple[Action, ...]:
        """All ground actions, made at first use; see the class.

        Raises:
            InputError: there are too many; names the action with most of them.
        """
        self._check_number('actions', {schema.name: schema.parameters
                                       for schema in self._schema.actions.values()})
        return tuple(Action(schema.name, args) for schema in self._schema.actions.values()
                     for args in self._tuples(schema.parameters))

    def check(self, action: Action) -> None:
        """Check that an action is one of ``actions``.

        Raises:
            InputError: unknown name, wrong number of arguments, unknown object or wrong type.
        """
        schema = self._schema.actions.get(action.name)
        if schema is None:
            known = ', '.join(self._schema.actions)
            raise InputError(f'{action}: unknown action (known: {known})')
        if len(action.args) != len(schema.parameters):
            raise InputError(f'{action}: {schema.name} takes {len(schema.parameters)} arguments')
        misfit = self.misfit(action)
        if misfit is not None:
            what = 'of another type' if misfit.known else 'unknown'
            raise InputError(f'{action}: {misfit.name} is {what} (a {misfit.type} is wanted: '
                             f'{", ".join(misfit.fitting)})')

    def misfit(self, action: Action) -> Misfit | None:
        """Return the first argument that is no object of the required type; None if all fit.

        Args:
            action: its name is known, and it has as many arguments as it takes.
        """
        parameters = self._schema.actions[action.name].parameters
        for name, parameter in zip(action.args, parameters, strict=True):
            fitting = self._objects(parameter.type)
            if name not in fitting:
                return Misfit(name, name in self._types, parameter.type, fitting)
        return None

    def preconditions(self, action: Action, other_objects: bool = False) -> tuple[Literal, ...]:
        """Return the literals that must hold, in the order of the domain file.

        Quantifiers are expanded and equalities decided. What no single literal can say (a
        disjunction with several open parts) is left out here but heeded by ``applicable``.

        Args:
            action: the action.
            other_objects: whether "for all" means all objects but those of the action.
        """
        condition = self.ground(action).precondition
        if other_objects:
            schema = self._schema.actions[action.name]
            condition = self._condition(schema.precondition, _bind(
                schema.parameters, action.args), True, frozenset(action.args))
        return tuple(dict.fromkeys(_literals(condition)))

    def obstacles(self, action: Action) -> tuple[tuple[Literal, ...], ...]:
        """Return conjunctions of literals; the action is applicable unless one of them holds."""
        return tuple(dict.fromkeys(_denials(self.ground(action).precondition)))

    def applicable(self, action: Action, state: State) -> bool:
        """Whether the action's precondition holds in a state."""
        return self._rule(action).test.holds_in(state)

    def effects(self, action: Action, state: State, last_wins: bool = False,
                ) -> dict[Atom, bool]:
        """Return the atoms that an action sets, with their new values, even if not applicable.

        Atoms that already have the value count.

        Args:
            action: the action.
            state: in which all conditions are evaluated: that before the action.
            last_wins: whether an atom that is both added and deleted gets the value that comes
                last in the domain file; if not, it is added (PDDL's rule).
        """
        values: dict[Atom, bool] = {}
        for atom, value, test in self._rule(action).effects:
            if test is None or test.holds_in(state):
                values[atom] = value or (not last_wins and values.get(atom, False))
        return values

    def apply(self, action: Action, state: State) -> State:
        """Return the state after an action.

        Raises:
            InputError: see ``check``, or the action is not applicable.
        """
        if not self.applicable(action, state):
            raise InputError(f'{action} is not applicable: its preconditions are '
                             f'{", ".join(str(p) for p in self.preconditions(action))}')
        values = self.effects(action, state)
        return frozenset(state.difference(values).union(a for a, true in values.items() if true))

    def conditions(self) -> frozenset[Atom]:
        """Return the atoms in the preconditions and effect conditions of all actions."""
        if self._conditions is None:
            found: set[Atom] = set()
            for action in self.actions:
                grounded = self.ground(action)
                found.update(_atoms(grounded.precondition))
                for _, _, condition in grounded.effects:
                    found.update(_atoms(condition))
            self._conditions = frozenset(found)
        return self._conditions

    def added_atoms(self) -> State:
        """Return the atoms that some action can make true, without listing all actions."""
        found: set[Atom] = set()
        for schema in self._schema.actions.values():
            for effect in schema.effects:
                variables = {variable.name: variable
                             for variable in (*schema.parameters, *effect.variables)}
                used = [variables[term] for term in dict.fromkeys(
                    (*effect.pattern.terms, *_terms(effect.condition))) if term in variables]
                for binding in self._bindings(used, {}) if effect.value else ():
                    if self._condition(effect.condition, binding, True) != AnyOf():
                        found.add(effect.pattern.ground(binding))
        return frozenset(found)

    def involved(self, action: Action) -> frozenset[Atom]:
        """Return the atoms in an action's conditions and those that it may set."""
        grounded = self.ground(action)
        found = set(_atoms(grounded.precondition))
        for atom, _, condition in grounded.effects:
            found.update((atom, *_atoms(condition)))
        return frozenset(found)

    def first_flaw(self, plan: Sequence[Action], init: State, goal: Sequence[Literal],
                   ) -> str | None:
        """Return why a plan is not valid; None if it is.

        Args:
            plan: the actions, in order.
            init: the state it starts in.
            goal: what must hold at the end.
        """
        state = init
        for number, action in enumerate(plan, start=1):
            try:
                state = self.apply(action, state)
            except InputError as error:
                return f'step {number}: {error}'
        missing = [str(literal) for literal in goal if not literal.holds_in(state)]
        return f'the goal is not reached: {", ".join(missing)}' if missing else None

    def _objects(self, kind: str) -> tuple[str, ...]:
        if kind not in self._of_type:
            self._of_type[kind] = tuple(
                name for name, own in self._types.items() if self._schema.is_a(own, kind))
        return self._of_type[kind]

    def _check_number(self, what: str, schemas: Mapping[str, Sequence[Parameter]]) -> None:
        """Raise an InputError if there are more than ``_MOST_INSTANCES`` instances."""
        counts = {name: math.prod(len(self._objects(parameter.type)) for parameter in parameters)
                  for name, parameters in schemas.items()}
        if sum(counts.values()) > _MOST_INSTANCES:
            most = max(counts, key=counts.__getitem__)
            raise InputError(
                f'domain {self._schema.name}: with these objects there are '
                f'{sum(counts.values()):,} {what}, {counts[most]:,} of them of {most}, and a '
                f'method that goes through all of them takes {_MOST_INSTANCES:,} at most; give '
                f'the parameters of {most} types, or choose a method that does not, such as '
                f'oracle')

    def _tuples(self, parameters: Sequence[Parameter]) -> Iterator[tuple[str, ...]]:
        return itertools.product(*(self._objects(p.type) for p in parameters))

    def _bindings(self, variables: Sequence[Parameter], binding: Mapping[str, str],
                  needed: Condition = TRUE) -> Iterator[dict[str, str]]:
        """Yield bindings of variables; those in which ``needed`` cannot hold may be left out.

        Known facts narrow the search: of all pairs of cells only neighbours are tried.
        """
        pattern = next((part for part in _conjuncts(needed) if isinstance(part, Pattern)
                        and part.predicate in self._known_facts), None)
        if pattern is None:
            for names in self._tuples(variables):
                yield {**binding, **_bind(variables, names)}
            return
        own = {variable.name: variable for variable in variables}
        for args in self._matching(pattern, {term: binding.get(term, term) for term in
                                             pattern.terms if term not in own}):
            found = dict(binding)
            if all(self._fits(own, found, term, name)
                   for term, name in zip(pattern.terms, args, strict=True)):
                rest = [variable for variable in variables if variable.name not in found]
                for names in self._tuples(rest):
                    yield {**found, **_bind(rest, names)}

    def _matching(self, pattern: Pattern, names: Mapping[str, str]) -> Sequence[tuple[str, ...]]:
        """Return arguments of a predicate's known facts that agree in the first bound term."""
        at = next((at for at, term in enumerate(pattern.terms) if term in names), None)
        key = pattern.predicate, at, '' if at is None else names[pattern.terms[at]]
        if key not in self._known_by:
            self._known_by[key] = tuple(args for args in self._known_facts[pattern.predicate]
                                        if at is None or args[at] == key[2])
        return self._known_by[key]

    def _fits(self, own: Mapping[str, Parameter], found: dict[str, str], term: str, name: str,
              ) -> bool:
        """Whether a term can stand for an object; binds a free variable to the object."""
        if term in own and term not in found:
            found[term] = name
            return name in self._objects(own[term].type)
        return found.get(term, term) == name

    def ground(self, action: Action) -> GroundAction:
        """Return an action without variables, with its quantifiers expanded."""
        found = self._grounded.get(action)
        if found is None:
            self.check(action)
            schema = self._schema.actions[action.name]
            outer = _bind(schema.parameters, action.args)
            effects: list[tuple[Atom, bool, Ground]] = []
            for (variables, needed), alike in itertools.groupby(
                    schema.effects, lambda effect: (effect.variables, effect.condition)):
                cases = [(binding, self._condition(needed, binding, True))
                         for binding in self._bindings(variables, outer, needed)]
                effects += [(effect.pattern.ground(binding), effect.value, condition)
                            for effect in alike for binding, condition in cases
                            if condition != AnyOf()]
            found = self._grounded[action] = GroundAction(
                self._condition(schema.precondition, outer, True), tuple(effects))
        return found

    def _rule(self, action: Action) -> _Rule:
        found = self._rules.get(action)
        if found is None:
            found = self._rules[action] = _Rule.of(self.ground(action))
        return found

    def _condition(self, condition: Condition, binding: Mapping[str, str], wanted: bool,
                   skipped: frozenset[str] = frozenset()) -> Ground:
        """Return a condition, negated unless ``wanted``, without variables and equalities.

        Variables of "for all" do not stand for the ``skipped`` objects.
        """
        if isinstance(condition, Pattern):
            atom = condition.ground(binding)
            if atom.predicate in self._known_facts:
                holds = atom.args in self._known_facts[atom.predicate]
                return AllOf() if holds is wanted else AnyOf()
            return Literal(atom, wanted)
        if isinstance(condition, Same):
            left, right = (binding.get(t, t) for t in (condition.left, condition.right))
            return AllOf() if (left == right) is wanted else AnyOf()
        if isinstance(condition, Not):
            return self._condition(condition.part, binding, not wanted, skipped)
        if isinstance(condition, (And, Or)):
            parts = [self._condition(part, binding, wanted, skipped) for part in condition.parts]
        else:
            needed = condition.part if isinstance(condition, Exists) else TRUE
            left_out = skipped if isinstance(condition, ForAll) else frozenset[str]()
            parts = [self._condition(condition.part, inner, wanted, skipped)
                     for inner in self._bindings(condition.variables, binding, needed)
                     if left_out.isdisjoint(inner[variable.name]
                                            for variable in condition.variables)]
        kind, other = (AllOf, AnyOf) if isinstance(condition, (And, ForAll)) is wanted else (
            AnyOf, AllOf)
        if other() in parts:
            return other()
        kept = tuple(part for part in parts if part != kind())
        return kept[0] if len(kept) == 1 else kind(kept)


def _conjuncts(condition: Condition) -> Iterator[Condition]:
    """Yield the parts of a conjunction, nested ones included."""
    if isinstance(condition, And):
        for part in condition.parts:
            yield from _conjuncts(part)
    else:
        yield condition


def _terms(condition: Condition) -> Iterator[str]:
    """Yield the variables and constants in a condition."""
    if isinstance(condition, Pattern):
        yield from condition.terms
    elif isinstance(condition, Same):
        yield from (condition.left, condition.right)
    elif isinstance(condition, (And, Or)):
        for part in condition.parts:
            yield from _terms(part)
    else:
        yield from _terms(condition.part)


def _bind(parameters: Sequence[Parameter], names: Sequence[str]) -> dict[str, str]:
    return {p.name: name for p, name in zip(parameters, names, strict=True)}


def _literals(condition: Ground) -> Iterator[Literal]:
    """Yield the literals that must hold; literals in disjunctions are left out."""
    if isinstance(condition, Literal):
        yield condition
    elif isinstance(condition, AllOf):
        for part in condition.parts:
            yield from _literals(part)


def _denials(condition: Ground) -> Iterator[tuple[Literal, ...]]:
    """Yield conjunctions of literals; a condition is false if and only if one of them holds."""
    if isinstance(condition, Literal):
        yield (Literal(condition.atom, not condition.positive),)
    elif isinstance(condition, AllOf):
        for part in condition.parts:
            yield from _denials(part)
    else:
        for parts in itertools.product(*map(_denials, condition.parts)):
            yield tuple(dict.fromkeys(itertools.chain.from_iterable(parts)))


def _atoms(condition: Ground) -> Iterator[Atom]:
    """Yield all atoms of a condition."""
    if isinstance(condition, Literal):
        yield condition.atom
    else:
        for part in condition.parts:
            yield from _atoms(part)
