"""Write domain and problem as PDDL text for a planner, from the parsed files.

Planners are stricter readers than we are: they refuse sections in another order, empty groups,
requirements that nothing uses, a type called ``number`` and letters beyond ASCII. What they get is
therefore always of one form, with the names of predicates, actions and objects as they are.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence

from sightplan.domains.problem_files import write
from sightplan.domains.schema import (
    OBJECT,
    TRUE,
    ActionSchema,
    And,
    Condition,
    Effect,
    Exists,
    ForAll,
    Not,
    Or,
    Parameter,
    Pattern,
    Predicate,
    Same,
    Schema,
    read_schema,
)
from sightplan.model import Problem, State

_NAME = re.compile(r'\??[a-z][a-z0-9_-]*\Z')
_RESERVED = frozenset({'number', 'either', OBJECT})
"""Words that PDDL reserves, which no type may have as its name."""


@dataclasses.dataclass(frozen=True, slots=True)
class PlannerFiles:
    """Domain and problem texts for a planner.

    Attributes:
        domain: text of the domain file.
        problem: text of the problem file.
    """

    domain: str
    problem: str


def planner_files(problem: Problem, init: State | None = None) -> PlannerFiles:
    """Return the PDDL texts of a planning task.

    Types and variables whose names a planner may refuse are renamed; plans contain neither.

    Args:
        problem: objects, initial state, goal, and with ``domain_pddl`` the actions.
        init: an initial state instead of the problem's; as for ``problem_files.write``.

    Raises:
        DomainError: the problem's domain text cannot be used.
    """
    plain, types, domain = _plain(problem.domain_pddl)
    objects = {name: types.get(kind, kind) for name, kind in problem.objects.items()}
    return PlannerFiles(domain, write(plain, dataclasses.replace(problem, objects=objects), init))


@functools.lru_cache(maxsize=64)
def _plain(domain_pddl: str) -> tuple[Schema, Mapping[str, str], str]:
    """Return a domain with plain names, the new names of its types, and its PDDL text."""
    schema = read_schema(domain_pddl)
    types = _renamed(schema.types, 'type')
    plain = _Renaming(types).schema(schema)
    return plain, types, _domain(plain)


def _renamed(names: Sequence[str] | Mapping[str, str], stem: str) -> dict[str, str]:
    """Return new names, by old name, for names that a planner may refuse."""
    taken = set(names)
    found: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        if not _NAME.match(name) or name in _RESERVED:
            new = f'{stem}{number}'
            while new in taken:
                new += '-'
            taken.add(new)
            found[name] = new
    return found


class _Renaming:
    """Renames types and variables; ``types`` has the new names by old name."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self._types = types

    def schema(self, schema: Schema) -> Schema:
        kind = self._kind
        title = re.sub(r'[^a-z0-9_-]+', '-', schema.name)
        return Schema(
            title if title[:1].isalpha() else f'domain-{title}',
            {kind(name): kind(parent) for name, parent in schema.types.items()},
            {name: kind(of) for name, of in schema.constants.items()},
            {name: Predicate(name, self._parameters(predicate.parameters, _variables(
                predicate.parameters))) for name, predicate in schema.predicates.items()},
            {name: self._action(action) for name, action in schema.actions.items()})

    def _kind(self, name: str) -> str:
        return self._types.get(name, name)

    def _parameters(self, parameters: Sequence[Parameter], names: Mapping[str, str],
                    ) -> tuple[Parameter, ...]:
        return tuple(Parameter(names.get(p.name, p.name), self._kind(p.type)) for p in parameters)

    def _action(self, action: ActionSchema) -> ActionSchema:
        names = _variables([*action.parameters, *_quantified(action.precondition), *(
            variable for effect in action.effects
            for variable in (*effect.variables, *_quantified(effect.condition)))])
        return ActionSchema(
            action.name, self._parameters(action.parameters, names),
            self._condition(action.precondition, names),
            tuple(Effect(self._pattern(effect.pattern, names), effect.value,
                         self._condition(effect.condition, names),
                         self._parameters(effect.variables, names)) for effect in action.effects))

    def _pattern(self, pattern: Pattern, names: Mapping[str, str]) -> Pattern:
        return Pattern(pattern.predicate, tuple(names.get(term, term) for term in pattern.terms))

    def _condition(self, condition: Condition, names: Mapping[str, str]) -> Condition:
        if isinstance(condition, Pattern):
            return self._pattern(condition, names)
        if isinstance(condition, Same):
            return Same(names.get(condition.left, condition.left),
                        names.get(condition.right, condition.right))
        if isinstance(condition, Not):
            return Not(self._condition(condition.part, names))
        if isinstance(condition, (And, Or)):
            return type(condition)(tuple(self._condition(part, names)
                                         for part in condition.parts))
        return type(condition)(self._parameters(condition.variables, names),
                               self._condition(condition.part, names))


def _variables(parameters: Sequence[Parameter]) -> dict[str, str]:
    return _renamed(list(dict.fromkeys(p.name for p in parameters)), '?variable')


def _quantified(condition: Condition) -> list[Parameter]:
    """Return the variables that the quantifiers of a condition bind."""
    if isinstance(condition, (And, Or)):
        return [variable for part in condition.parts for variable in _quantified(part)]
    if isinstance(condition, (ForAll, Exists)):
        return [*condition.variables, *_quantified(condition.part)]
    return _quantified(condition.part) if isinstance(condition, Not) else []


# Text ------------------------------------------------------------------------------------------

def _domain(schema: Schema) -> str:
    lines = [f'(define (domain {schema.name})', '  (:requirements :adl)']
    if schema.types:
        lines.append(f'  (:types {" ".join(f"{k} - {v}" for k, v in schema.types.items())})')
    if schema.constants:
        lines.append(
            f'  (:constants {" ".join(f"{k} - {v}" for k, v in schema.constants.items())})')
    lines.append('  (:predicates')
    lines += [f'    ({" ".join((p.name, *_typed(p.parameters)))})'
              for p in schema.predicates.values()]
    lines[-1] += ')'
    for action in schema.actions.values():
        lines += [f'  (:action {action.name}',
                  f'    :parameters ({" ".join(_typed(action.parameters))})',
                  f'    :precondition {_text(action.precondition)}',
                  f'    :effect (and {" ".join(map(_effect, action.effects))}))']
    return '\n'.join(lines) + ')\n'


def _typed(parameters: Sequence[Parameter]) -> list[str]:
    return [f'{p.name} - {p.type}' for p in parameters]


def _fact(pattern: Pattern) -> str:
    return f'({" ".join((pattern.predicate, *pattern.terms))})'


def _text(condition: Condition) -> str:
    if isinstance(condition, Pattern):
        return _fact(condition)
    if isinstance(condition, Same):
        return f'(= {condition.left} {condition.right})'
    if isinstance(condition, Not):
        return f'(not {_text(condition.part)})'
    if isinstance(condition, (And, Or)):
        parts = [part for part in condition.parts if part != TRUE]
        if isinstance(condition, Or) and len(parts) < len(condition.parts):
            return '(and)'  # one of its parts always holds
        return f'({" ".join(("and" if isinstance(condition, And) else "or", *map(_text, parts)))})'
    if not condition.variables:
        return _text(condition.part)
    word = 'forall' if isinstance(condition, ForAll) else 'exists'
    return f'({word} ({" ".join(_typed(condition.variables))}) {_text(condition.part)})'


def _effect(effect: Effect) -> str:
    text = _fact(effect.pattern) if effect.value else f'(not {_fact(effect.pattern)})'
    if effect.condition != TRUE:
        text = f'(when {_text(effect.condition)} {text})'
    if effect.variables:
        text = f'(forall ({" ".join(_typed(effect.variables))}) {text})'
    return text
