"""A domain file's vocabulary and actions: types, predicates, conditions and effects.

The classical part of PDDL 2.1 is read: typing with a hierarchy, constants, negation, equality,
disjunction, quantifiers and conditional effects. Numbers, durations, costs and derived predicates
are refused by name. The contract tests compare the result with unified-planning's own reader.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sightplan.domains.sexpr import Group, Node, Source, Word, check_name
from sightplan.model import Atom, DomainError

OBJECT = 'object'
"""The root of the type hierarchy."""
_CONNECTIVES = ('and', 'or', 'not', 'imply', 'forall', 'exists', 'when', 'increase')
"""Keywords of conditions and effects, which no predicate may have as its name."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A typed variable; ``name`` keeps its question mark."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """A predicate over terms, each a variable (``?x``) or a constant."""

    predicate: str
    terms: tuple[str, ...]

    def ground(self, binding: Mapping[str, str]) -> Atom:
        """Return the ground atom under a binding of all variables."""
        return Atom(self.predicate, tuple(binding.get(t, t) for t in self.terms))


@dataclass(frozen=True, slots=True)
class Same:
    """Equality of two terms."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    part: Condition


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction; true when empty."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction; false when empty."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class ForAll:
    """Universal quantification over typed variables."""

    variables: tuple[Parameter, ...]
    part: Condition


@dataclass(frozen=True, slots=True)
class Exists:
    """Existential quantification over typed variables."""

    variables: tuple[Parameter, ...]
    part: Condition


Condition = Pattern | Same | Not | And | Or | ForAll | Exists
TRUE = And(())


@dataclass(frozen=True, slots=True)
class Effect:
    """``pattern`` becomes ``value`` for every binding of ``variables`` whose condition holds."""

    pattern: Pattern
    value: bool
    condition: Condition = TRUE
    variables: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate's name and typed parameters."""

    name: str
    parameters: tuple[Parameter, ...]

    @property
    def types(self) -> tuple[str, ...]:
        """Types of the predicate's arguments."""
        return tuple(p.type for p in self.parameters)


@dataclass(frozen=True, slots=True)
class ActionSchema:
    """An action with parameters."""

    name: str
    parameters: tuple[Parameter, ...]
    precondition: Condition
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """The content of a PDDL domain file.

    Attributes:
        name: the name inside the file, lower case.
        types: each type and its parent, the root left out.
        constants: objects that exist in every problem, and their types.
        predicates: by name, in the order of the file.
        actions: by name, in the order of the file.
    """

    name: str
    types: Mapping[str, str]
    constants: Mapping[str, str]
    predicates: Mapping[str, Predicate]
    actions: Mapping[str, ActionSchema]

    def is_a(self, kind: str, wanted: str) -> bool:
        """Whether type ``kind`` is ``wanted`` or below it."""
        while kind != wanted:
            if kind not in self.types:
                return wanted == OBJECT
            kind = self.types[kind]
        return True

    @property
    def static(self) -> frozenset[str]:
        """Names of the predicates that no action changes."""
        return frozenset(self.predicates) - {
            effect.pattern.predicate for a in self.actions.values() for effect in a.effects}


@functools.lru_cache(maxsize=64)
def read_schema(text: str, name: str = 'domain text') -> Schema:
    """Read a domain file's text.

    Args:
        text: the PDDL text; case is folded.
        name: what to call it in messages.

    Raises:
        DomainError: the text cannot be used; names file, line, reason and remedy.
    """
    return _Reader(Source(text, name, DomainError)).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._fail = source.fail

    def read(self) -> Schema:
        root = self._source.read()
        if root.head != 'define' or len(root.items) < 2:
            self._fail(root, 'not a PDDL definition', 'begin with "(define (domain NAME)"')
        title = root.items[1]
        if not isinstance(title, Group) or title.head != 'domain' or len(title.items) != 2:
            self._fail(title, f'{title} is not a domain title', 'write "(domain NAME)"')
        name = self._source.words(title.tail)[0].text
        self._types: dict[str, str] = {}
        self._predicates: dict[str, Predicate] = {}
        self._constants: dict[str, str] = {}
        actions: list[Group] = []
        sections: dict[str, Callable[[Group], None]] = {
            ':types': self._read_types, ':constants': self._read_constants,
            ':predicates': self._read_predicates, ':requirements': lambda _: None,
            ':functions': self._read_functions}
        found: dict[str, Group] = {}
        for item in root.items[2:]:
            if not isinstance(item, Group):
                self._fail(item, f'"{item}" outside of any section', 'remove it')
            elif item.head == ':action':
                actions.append(item)
            elif item.head not in sections:
                self._fail(item, f'section {item.head or item} is not supported',
                           'only types, constants, predicates and plain actions are')
            elif item.head in found:
                self._fail(item, f'a second section {item.head}', 'merge the two')
            else:
                found[item.head] = item
        for head, read in sections.items():  # what others name comes first, wherever it stands
            if head in found:
                read(found[head])
        if ':predicates' not in found:
            self._fail(root, 'there is no section :predicates', 'add it')
        schemas: dict[str, ActionSchema] = {}
        for group in actions:
            action = self._action(group)
            if action.name in schemas:
                self._fail(group, f'a second action {action.name}', 'rename one of them')
            schemas[action.name] = action
        return Schema(name, self._types, self._constants, self._predicates, schemas)

    def _read_types(self, group: Group) -> None:
        pairs = self._source.typed(group.tail, OBJECT)
        for word, parent in pairs:
            if word.text in self._types:
                self._fail(word, f'type "{word}" is declared twice', 'keep one')
            if word.text != OBJECT:
                self._types[word.text] = parent.text
        for _, parent in pairs:
            self._types.setdefault(parent.text, OBJECT)
        self._types.pop(OBJECT, None)
        for word, _ in pairs:
            kind, steps = word.text, 0
            while kind in self._types:
                kind, steps = self._types[kind], steps + 1
                if steps > len(self._types):
                    self._fail(word, f'type "{word}" is its own ancestor', 'break the circle')

    def _known_type(self, word: Word) -> str:
        if word.text not in self._types and word.text != OBJECT:
            self._fail(word, f'unknown type "{word}"',
                       f'declare it; known: {", ".join(self._types) or OBJECT}')
        return word.text

    def _read_constants(self, group: Group) -> None:
        for word, kind in self._source.typed(group.tail, OBJECT):
            if word.text in self._constants:
                self._fail(word, f'constant "{word}" is declared twice', 'keep one')
            check_name(self._source, word)
            self._constants[word.text] = self._known_type(kind)

    def _read_functions(self, group: Group) -> None:
        if group.tail:
            self._fail(group.tail[0], 'functions (numbers) are not supported',
                       'remove them; an empty section may stay')

    def _read_predicates(self, group: Group) -> None:
        for item in group.tail:
            if not isinstance(item, Group) or not item.head:
                self._fail(item, f'"{item}" is not a predicate', 'write "(name ?x - type)"')
            if item.head in self._predicates:
                self._fail(item, f'predicate "{item.head}" is declared twice', 'keep one')
            if item.head in _CONNECTIVES:
                self._fail(item, f'"{item.head}" is a word of PDDL itself',
                           'give the predicate another name')
            check_name(self._source, self._source.words(item.items[:1])[0])
            self._predicates[item.head] = Predicate(item.head, self._parameters(item.tail))

    def _parameters(self, items: tuple[Node, ...]) -> tuple[Parameter, ...]:
        found: dict[str, Parameter] = {}
        for word, kind in self._source.typed(items, OBJECT):
            if not word.text.startswith('?') or len(word.text) == 1:
                self._fail(word, f'"{word}" is not a variable', f'write "?{word}"')
            if word.text in found:
                self._fail(word, f'variable "{word}" is declared twice', 'rename one')
            found[word.text] = Parameter(word.text, self._known_type(kind))
        return tuple(found.values())

    def _action(self, group: Group) -> ActionSchema:
        if len(group.items) < 2 or not isinstance(group.items[1], Word):
            self._fail(group, 'an action without a name', 'write "(:action NAME ...)"')
        name = check_name(self._source, group.items[1])
        parts: dict[str, Group] = {}
        for key, value in itertools.zip_longest(group.items[2::2], group.items[3::2]):
            if not isinstance(key, Word) or not isinstance(value, Group):
                self._fail(key, f'"{key}" in action {name} is not followed by a group',
                           'write ":parameters (...) :precondition (...) :effect (...)"')
            if key.text not in (':parameters', ':precondition', ':effect') or key.text in parts:
                self._fail(key, f'"{key}" in action {name} is unknown or comes twice',
                           'use :parameters, :precondition and :effect once each')
            parts[key.text] = value
        if ':effect' not in parts:
            self._fail(group, f'action {name} has no effect', 'add ":effect (...)"')
        parameters = self._parameters(parts[':parameters'].items if ':parameters' in parts else ())
        scope = {p.name: p.type for p in parameters}
        condition = TRUE if ':precondition' not in parts else \
            self._condition(parts[':precondition'], scope)
        effects = self._effects(parts[':effect'], scope, TRUE, ())
        return ActionSchema(name, parameters, condition, effects)

    def _variables(self, group: Group, scope: Mapping[str, str],
                   ) -> tuple[tuple[Parameter, ...], dict[str, str], Group]:
        if (len(group.items) != 3 or not isinstance(group.items[1], Group)
                or not isinstance(group.items[2], Group)):
            self._fail(group, f'"{group.head}" without variables and a body',
                       f'write "({group.head} (?x - type) (...))"')
        variables = self._parameters(group.items[1].items)
        for variable in variables:
            if variable.name in scope:
                self._fail(group, f'variable "{variable.name}" hides another one', 'rename it')
        return variables, {**scope, **{v.name: v.type for v in variables}}, group.items[2]

    def _term(self, word: Word, scope: Mapping[str, str]) -> str:
        if word.text not in scope and word.text not in self._constants:
            self._fail(word, f'"{word}" is neither a variable in scope nor a constant',
                       'declare it')
        return word.text

    def _pattern(self, group: Group, scope: Mapping[str, str]) -> Pattern:
        predicate = self._predicates.get(group.head)
        if predicate is None:
            self._fail(group, f'unknown predicate "{group.head}" in {group}',
                       f'declare it; known: {", ".join(self._predicates)}')
        words = self._source.words(group.tail)
        if len(words) != len(predicate.parameters):
            self._fail(group, f'{group} has {len(words)} arguments',
                       f'{predicate.name} takes {len(predicate.parameters)}')
        return Pattern(predicate.name, tuple(self._term(w, scope) for w in words))

    def _condition(self, group: Group, scope: Mapping[str, str]) -> Condition:
        def parts() -> tuple[Condition, ...]:
            found = []
            for item in group.tail:
                if not isinstance(item, Group):
                    self._fail(item, f'"{item}" is not a condition', 'put it in parentheses')
                found.append(self._condition(item, scope))
            return tuple(found)

        if not group.items:
            return TRUE
        if group.head == 'and':
            return And(parts())
        if group.head == 'or':
            return Or(parts())
        if group.head in ('not', 'imply', '='):
            wanted = 1 if group.head == 'not' else 2
            if len(group.tail) != wanted:
                self._fail(group, f'"{group.head}" with {len(group.tail)} parts',
                           f'it takes {wanted}')
        if group.head == 'not':
            return Not(parts()[0])
        if group.head == 'imply':
            first, second = parts()
            return Or((Not(first), second))
        if group.head == '=':
            left, right = (self._term(w, scope) for w in self._source.words(group.tail))
            return Same(left, right)
        if group.head in ('forall', 'exists'):
            variables, inner, body = self._variables(group, scope)
            kind = ForAll if group.head == 'forall' else Exists
            return kind(variables, self._condition(body, inner))
        return self._pattern(group, scope)

    def _effects(self, group: Group, scope: Mapping[str, str], condition: Condition,
                 variables: tuple[Parameter, ...]) -> tuple[Effect, ...]:
        if not group.items:
            return ()
        if group.head == 'and':
            found: list[Effect] = []
            for item in group.tail:
                if not isinstance(item, Group):
                    self._fail(item, f'"{item}" is not an effect', 'put it in parentheses')
                found.extend(self._effects(item, scope, condition, variables))
            return tuple(found)
        if group.head == 'forall':
            more, inner, body = self._variables(group, scope)
            return self._effects(body, inner, condition, variables + more)
        if group.head == 'when':
            parts = [item for item in group.tail if isinstance(item, Group)]
            if len(parts) != 2 or len(group.items) != 3:
                self._fail(group, '"when" without a condition and an effect',
                           'write "(when (...) (...))"')
            when = self._condition(parts[0], scope)
            both = when if condition == TRUE else And((condition, when))
            return self._effects(parts[1], scope, both, variables)
        if group.head == 'not':
            if len(group.items) != 2 or not isinstance(group.items[1], Group):
                self._fail(group, '"not" in an effect takes one fact', 'write "(not (fact ?x))"')
            return (Effect(self._pattern(group.items[1], scope), False, condition, variables),)
        return (Effect(self._pattern(group, scope), True, condition, variables),)
