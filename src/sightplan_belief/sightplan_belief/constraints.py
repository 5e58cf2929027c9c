"""The rules of a domain's ``constraints.yaml``: which joint states of its atoms are possible.

The file holds ``rules: [...]``; a rule is a mapping with a unique ``name``, a ``violation_rate``
(0, the default: it is never broken; else below one half: in which fraction of the cases where its
premise holds it is broken; "if a and b, never" is therefore better said as "if a, not b") and one
of these forms::

    exactly_one: ['incolumn(?b, *)']              # of all atoms that match one of the patterns
    at_most_one: ['on(*, ?b)', 'clear(?b)']
    acyclic: on                                   # a loop is a cycle, too
    if: ['p(?x)', 'not q(?x, ?y)', '?x != ?y']    # all of these ...
    then: ['r(?y)', '?x = ?y']                    # ... imply one of these; [] means never
    if: ['q(?x, ?y)']
    then_some: ['r(?z)', 'not q(?z, ?y)']         # there is a ?z for which all of these hold

A variable begins with a question mark and stands for every object of its type, which is the
narrowest of the types of the arguments where it stands; two variables may stand for one object.
A ``*`` stands for every object of the argument's own type. Other names are constants of the
domain file.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import yaml

from sightplan.domains import Domain
from sightplan.domains.problem_files import read_text
from sightplan.domains.schema import OBJECT, Pattern, Same, Schema
from sightplan.model import Atom, DomainError
from sightplan.model.yaml_text import compose_yaml, error_line
from sightplan_belief.theory import Acyclic, Clause, GroundLiteral, Group, Theory

FILE = 'constraints.yaml'
"""Name of the file in a domain's folder."""

_ANY = '*'
_FORMS = ('exactly_one', 'at_most_one', 'acyclic', 'then', 'then_some')
_KEYS = ('name', 'violation_rate', 'if', *_FORMS)
_NAME = r'[a-z0-9][a-z0-9_.-]*'
_TERM = re.compile(rf'(?:\?{_NAME}|{_NAME}|\*)\Z')
_ATOM = re.compile(rf'({_NAME})\s*(?:\((.*)\))?\Z')
_EQUALITY = re.compile(r'([^\s=!]+)\s*(!?=)\s*([^\s=!]+)\Z')


@dataclass(frozen=True, slots=True)
class RuleLiteral:
    """A pattern or an equality of two terms, or its negation."""

    part: Pattern | Same
    positive: bool = True

    def __str__(self) -> str:
        if isinstance(self.part, Same):
            return f'{self.part.left} {"=" if self.positive else "!="} {self.part.right}'
        return f'{"" if self.positive else "not "}{pattern_text(self.part)}'

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables in it, in order."""
        terms = ((self.part.left, self.part.right) if isinstance(self.part, Same)
                 else self.part.terms)
        return tuple(dict.fromkeys(term for term in terms if term.startswith('?')))


@dataclass(frozen=True, slots=True)
class CardinalityRule:
    """Rule that at most one of the matching atoms holds; exactly one, if ``required``."""

    name: str
    patterns: tuple[Pattern, ...]
    required: bool
    violation_rate: float = 0.0


@dataclass(frozen=True, slots=True)
class AcyclicRule:
    """A predicate's true atoms, read as edges from first to second argument, form no cycle."""

    name: str
    predicate: str
    violation_rate: float = 0.0


@dataclass(frozen=True, slots=True)
class ImplicationRule:
    """A conjunction implies a conclusion.

    Attributes:
        name: what it says, in words.
        premise: literals that must all hold for the rule to say something; may be empty.
        conclusion: literals. Without ``exists`` one of them holds (none: the premise is
            impossible); with it there are objects for the variables that do not occur in
            the premise, such that all of them hold.
        exists: see ``conclusion``.
        violation_rate: fraction of the cases with a true premise in which the conclusion is false.
    """

    name: str
    premise: tuple[RuleLiteral, ...]
    conclusion: tuple[RuleLiteral, ...]
    exists: bool = False
    violation_rate: float = 0.0


Rule = CardinalityRule | AcyclicRule | ImplicationRule


@dataclass(frozen=True, slots=True)
class Constraints:
    """The rules of a domain.

    Attributes:
        rules: in the order of the file; the rules' numbers in a ``Theory`` are their indices.
        source: where they were read from, for messages.
        sha256: of the file, first 12 hex digits; '' without a file.
    """

    rules: tuple[Rule, ...] = ()
    source: str = ''
    sha256: str = ''


@dataclass(frozen=True, slots=True)
class Case:
    """An instance of an ``ImplicationRule``.

    Attributes:
        premise: literals; if all of them hold ...
        options: ... then all literals of at least one of these; an empty one always holds.
    """

    premise: tuple[GroundLiteral, ...]
    options: tuple[tuple[GroundLiteral, ...], ...]


def pattern_text(pattern: Pattern) -> str:
    """A pattern as it is written in the file."""
    terms = f'({", ".join(pattern.terms)})' if pattern.terms else ''
    return f'{pattern.predicate}{terms}'


def form(rule: Rule) -> dict[str, str | list[str]]:
    """A rule's form as it is written in the file: keys and values, without name and rate."""
    if isinstance(rule, AcyclicRule):
        return {'acyclic': rule.predicate}
    if isinstance(rule, CardinalityRule):
        return {'exactly_one' if rule.required else 'at_most_one':
                [pattern_text(pattern) for pattern in rule.patterns]}
    return {'if': [str(literal) for literal in rule.premise],
            'then_some' if rule.exists else 'then': [str(x) for x in rule.conclusion]}


# ----------------------------------------------------------------------------------- reading


def read_constraints(domain: Domain, path: Path | None = None) -> Constraints:
    """Read a domain's rules.

    Args:
        domain: whose vocabulary they use.
        path: of the file; by default the one in the domain's folder, which need not exist.

    Raises:
        DomainError: the file is wrong; names file, line, rule, field and remedy.
    """
    if path is None:
        path = domain.folder / FILE
        if not path.exists():
            return Constraints(source=str(path))
    return _parsed(read_text(path, DomainError), domain, str(path))


@functools.lru_cache(maxsize=32)
def _parsed(text: str, domain: Domain, source: str) -> Constraints:
    """The rules of a text that was read before: many runs in a process read the same."""
    return parse_constraints(text, domain.schema, source)


def parse_constraints(text: str, schema: Schema, source: str) -> Constraints:
    """Read the text of a ``constraints.yaml``.

    Args:
        text: YAML; case is folded in patterns and literals.
        schema: the vocabulary.
        source: what to call the text in messages.

    Raises:
        DomainError: the text is wrong; names source, line, rule, field and remedy.
    """
    rules = _Reader(schema, source).read(text)
    return Constraints(rules, source, hashlib.sha256(text.encode()).hexdigest()[:12])


@functools.lru_cache(maxsize=16)
def _composed(text: str) -> yaml.Node | None:
    """The nodes of a text, which many runs in a process read again; composing takes long."""
    return compose_yaml(text)


class _Reader:
    """Reads YAML nodes, which know their lines, and in which ``on`` is no truth value."""

    def __init__(self, schema: Schema, source: str) -> None:
        self._schema = schema
        self._source = source
        self._rule = ''

    def read(self, text: str) -> tuple[Rule, ...]:
        try:
            root = _composed(text)
        except yaml.YAMLError as error:
            raise DomainError(f'{self._source}:{error_line(error)}: not YAML: {error} '
                              '(correct the syntax; patterns stand in quotes)') from error
        except RecursionError as error:
            raise DomainError(f'{self._source}:1: nested too deep (flatten it)') from error
        if root is None:
            return ()
        fields = self._mapping(root, ('rules',))
        rules: dict[str, Rule] = {}
        if 'rules' not in fields:
            self._fail(root, 'there is no list of rules', 'write "rules: [...]"')
        for number, node in enumerate(self._sequence(fields['rules']), start=1):
            self._rule = f'rule {number}'
            rule = self._read_rule(node)
            if rule.name in rules:
                self._fail(node, 'name: there is another rule of this name', 'rename one of them')
            rules[rule.name] = rule
        return tuple(rules.values())

    def _fail(self, node: yaml.Node, reason: str, remedy: str) -> NoReturn:
        rule = f'{self._rule}: ' if self._rule else ''
        line = node.start_mark.line + 1
        raise DomainError(f'{self._source}:{line}: {rule}{reason} ({remedy})') from None

    def _mapping(self, node: yaml.Node, known: Sequence[str]) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            self._fail(node, 'not a mapping', f'write "key: value" lines; keys: {_listed(known)}')
        fields: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else 'a key'
            if name not in known:
                self._fail(key, f'{name}: is unknown', f'use {_listed(known)}')
            if name in fields:
                self._fail(key, f'{name}: is given twice', 'keep one')
            fields[name] = value
        return fields

    def _sequence(self, node: yaml.Node, name: str = 'rules') -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            self._fail(node, f'{name}: not a list', f'write "{name}: [...]"')
        return list(node.value)

    def _scalar(self, node: yaml.Node, name: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            self._fail(node, f'{name}: not a text', f'write "{name}: ..." with a single value')
        return ' '.join(str(node.value).split())

    def _read_rule(self, node: yaml.Node) -> Rule:
        fields = self._mapping(node, _KEYS)
        if 'name' not in fields:
            self._fail(node, 'name: is missing', 'say in words what the rule means')
        name = self._scalar(fields['name'], 'name')
        self._rule += f' ({name})'
        forms = [key for key in _FORMS if key in fields]
        if len(forms) != 1:
            self._fail(node, f'{" and ".join(forms) or "no form"}: a rule has exactly one form',
                       f'use one of {_listed(_FORMS)}')
        key = forms[0]
        if ('if' in fields) is not key.startswith('then'):
            self._fail(node, 'if: goes with then or then_some, and these with if',
                       'write both; "if: []" always holds')
        rate = self._rate(fields['violation_rate']) if 'violation_rate' in fields else 0.0
        value = fields[key]
        rule: Rule
        if key == 'acyclic':
            rule = AcyclicRule(name, self._scalar(value, key).lower(), rate)
        elif key in ('exactly_one', 'at_most_one'):
            literals = self._literals(value, key, stars=True)
            patterns = tuple(x.part for x in literals if isinstance(x.part, Pattern))
            if len(patterns) < len(literals) or not all(x.positive for x in literals):
                self._fail(value, f'{key}: takes patterns only', 'write no "not", "=" or "!="')
            rule = CardinalityRule(name, patterns, key == 'exactly_one', rate)
        else:
            rule = ImplicationRule(name, self._literals(fields['if'], 'if'),
                                   self._literals(value, key), key == 'then_some', rate)
        check_rule(rule, self._schema, lambda field, reason, remedy: self._fail(
            fields.get(field, value), f'{field}: {reason}', remedy))
        return rule

    def _rate(self, node: yaml.Node) -> float:
        text = self._scalar(node, 'violation_rate')
        try:
            rate = float(text)
        except ValueError:
            rate = math.nan
        if not 0.0 <= rate < 0.5:
            self._fail(node, f'violation_rate: {text} is not in [0, 0.5)',
                       'give 0 for a rule that is never broken; drop one that is broken in half '
                       'of all cases')
        return rate

    def _literals(self, node: yaml.Node, name: str, stars: bool = False,
                  ) -> tuple[RuleLiteral, ...]:
        found: dict[RuleLiteral, None] = {}
        for item in self._sequence(node, name):
            text = self._scalar(item, name)
            literal = parse_literal(text)
            if literal is None:
                self._fail(item, f'{name}: cannot read "{text}"',
                           "write 'p(?x, ?y)' in quotes"
                           + (' with ?x, * or constants' if stars else
                              ", 'not p(?x)', '?x = ?y' or '?x != ?y'"))
            if not stars and isinstance(literal.part, Pattern) and _ANY in literal.part.terms:
                self._fail(item, f'{name}: "*" in "{text}"', 'give it a variable')
            found[literal] = None
        return tuple(found)


def parse_literal(text: str) -> RuleLiteral | None:
    """Read ``p(?x, c, *)``, ``not p(?x)``, ``?x = ?y`` or ``?x != ?y``; None for other texts."""
    text = text.strip().lower()
    equality = _EQUALITY.match(text)
    if equality is not None:
        left, sign, right = equality.groups()
        if not all(_TERM.match(term) and term != _ANY for term in (left, right)):
            return None
        return RuleLiteral(Same(left, right), sign == '=')
    positive = not text.startswith('not ')
    match = _ATOM.match(text if positive else text[4:].strip())
    if match is None:
        return None
    inner = (match.group(2) or '').strip()
    terms = tuple(term.strip() for term in inner.split(',')) if inner else ()
    if not all(_TERM.match(term) for term in terms):
        return None
    return RuleLiteral(Pattern(match.group(1), terms), positive)


def _listed(names: Iterable[str]) -> str:
    return ', '.join(names)


# ---------------------------------------------------------------------------------- checking


Fail = Callable[[str, str, str], NoReturn]
"""Called with field, reason and remedy."""


def check_rule(rule: Rule, schema: Schema, fail: Fail | None = None) -> None:
    """Check that a rule fits a vocabulary.

    Args:
        rule: what to check.
        schema: types, predicates and constants.
        fail: raises the error.

    Raises:
        DomainError: unknown predicate, wrong number of arguments, no object could ever stand
            for a variable, or a rate that this form cannot have.
    """
    def default(field: str, reason: str, remedy: str) -> NoReturn:
        raise DomainError(f'rule "{rule.name}": {field}: {reason} ({remedy})')

    fail = fail or default
    if isinstance(rule, AcyclicRule):
        types = _predicate_types(rule.predicate, schema, 'acyclic', fail)
        if len(types) != 2 or _meet(schema, *types) is None:
            fail('acyclic', f'"{rule.predicate}" has no cycles to forbid',
                 'name a predicate with two arguments of one type')
        if rule.violation_rate:
            fail('violation_rate', 'an acyclic rule cannot be soft',
                 'set it to 0, or forbid short cycles by "if: [p(?x, ?y), p(?y, ?x)], then: []"')
    elif isinstance(rule, CardinalityRule):
        field = 'exactly_one' if rule.required else 'at_most_one'
        if not rule.patterns:
            fail(field, 'is empty', 'give at least one pattern')
        _variable_types(schema, [(field, RuleLiteral(p)) for p in rule.patterns], fail)
    else:
        field = 'then_some' if rule.exists else 'then'
        if rule.exists and not rule.conclusion:
            fail(field, 'is empty', 'give a literal, or write "then: []" for "never"')
        _variable_types(schema, [*(('if', x) for x in rule.premise),
                                 *((field, x) for x in rule.conclusion)], fail)


def _predicate_types(name: str, schema: Schema, field: str, fail: Fail) -> tuple[str, ...]:
    predicate = schema.predicates.get(name)
    if predicate is None:
        fail(field, f'unknown predicate "{name}"', f'known: {_listed(schema.predicates)}')
    return predicate.types


def _meet(schema: Schema, first: str, second: str) -> str | None:
    """The narrower of two types; None if no object has both."""
    if schema.is_a(first, second):
        return first
    return second if schema.is_a(second, first) else None


def _variable_types(schema: Schema, literals: Sequence[tuple[str, RuleLiteral]], fail: Fail,
                    ) -> dict[str, str]:
    """Variables in order of occurrence, and their types."""
    found: dict[str, str] = {}
    for field, literal in literals:
        if isinstance(literal.part, Same):
            continue
        types = _predicate_types(literal.part.predicate, schema, field, fail)
        if len(types) != len(literal.part.terms):
            fail(field, f'"{pattern_text(literal.part)}" has {len(literal.part.terms)} arguments',
                 f'"{literal.part.predicate}" takes {len(types)}')
        for term, kind in zip(literal.part.terms, types, strict=True):
            if term == _ANY:
                continue
            own = found.get(term) if term.startswith('?') else schema.constants.get(term)
            if own is None and not term.startswith('?'):
                fail(field, f'"{term}" is not a constant of the domain',
                     f'write "?{term}" for a variable')
            meet = _meet(schema, own or kind, kind)
            if meet is None or (not term.startswith('?') and meet != own):
                fail(field, f'"{term}" would have to be a {own} and a {kind}',
                     'use another name for one of them')
            if term.startswith('?'):
                found[term] = meet
    for field, literal in literals:
        if isinstance(literal.part, Same):
            for term in (literal.part.left, literal.part.right):
                if term.startswith('?') and term not in found:
                    fail(field, f'"{term}" in "{literal}" has no type',
                         'use it in a predicate, too')
                if not term.startswith('?') and term not in schema.constants:
                    fail(field, f'"{term}" is not a constant of the domain',
                         f'write "?{term}" for a variable')
    return found


# ----------------------------------------------------------------------------- instantiation


class Vocabulary:
    """A problem's objects by type, and its atoms by number.

    Args:
        schema: the vocabulary of the domain.
        objects: names and types; the domain's constants are added.
        atoms: the atoms that can be true; by default all ground atoms.

    Attributes:
        atoms: sorted by name.
        objects: names and types, sorted.
        number: of each atom, by predicate and arguments.
    """

    def __init__(self, schema: Schema, objects: Mapping[str, str],
                 atoms: Iterable[Atom] | None = None) -> None:
        self.schema = schema
        self.objects = dict(sorted({**schema.constants, **objects}.items()))
        self._of_type: dict[str, tuple[str, ...]] = {}
        if atoms is None:
            atoms = (Atom(p.name, args) for p in schema.predicates.values()
                     for args in itertools.product(*map(self.of_type, p.types)))
        self.atoms = tuple(sorted(set(atoms)))
        self.number: dict[tuple[str, tuple[str, ...]], int] = {
            (atom.predicate, atom.args): i for i, atom in enumerate(self.atoms)}

    def of_type(self, kind: str) -> tuple[str, ...]:
        """The objects of a type or one below it, sorted."""
        if kind not in self._of_type:
            self._of_type[kind] = tuple(
                name for name, own in self.objects.items()
                if kind == OBJECT or self.schema.is_a(own, kind))
        return self._of_type[kind]

    def groups(self, rule: CardinalityRule) -> Iterator[tuple[int, ...]]:
        """The sets of atoms that a rule speaks of, one for each binding of its variables."""
        types = _variable_types(self.schema, [('', RuleLiteral(p)) for p in rule.patterns], _never)
        for binding in self._bindings(types):
            found: set[int] = set()
            for pattern in rule.patterns:
                kinds = self.schema.predicates[pattern.predicate].types
                places = [self.of_type(kind) if term == _ANY else (binding.get(term, term),)
                          for term, kind in zip(pattern.terms, kinds, strict=True)]
                found.update(self.number[key] for args in itertools.product(*places)
                             if (key := (pattern.predicate, args)) in self.number)
            yield tuple(sorted(found))

    def edges(self, rule: AcyclicRule) -> tuple[tuple[int, str, str], ...]:
        """The atoms of a relation that can be part of a cycle, as (number, tail, head)."""
        edges = [(i, atom.args[0], atom.args[1]) for i, atom in enumerate(self.atoms)
                 if atom.predicate == rule.predicate]
        count = -1
        while count != len(edges):
            count = len(edges)
            through = {tail for _, tail, _ in edges} & {head for _, _, head in edges}
            edges = [edge for edge in edges if edge[1] in through and edge[2] in through]
        return tuple(edges)

    def cases(self, rule: ImplicationRule) -> Iterator[Case]:
        """Instances of a rule whose premise can be true.

        Equalities are decided, and atoms that cannot be true are false. Two bindings may give
        the same case; each is counted.
        """
        types = _variable_types(
            self.schema, [('', x) for x in (*rule.premise, *rule.conclusion)], _never)
        outer = [v for v in types if not rule.exists or any(v in x.variables
                                                            for x in rule.premise)]
        inner = {v: kind for v, kind in types.items() if v not in outer}
        for binding, premise in self._solutions(outer, types, rule.premise):
            if rule.exists:
                options = tuple(dict.fromkeys(
                    tuple(option) for _, option in self._solutions(
                        list(inner), types, rule.conclusion, binding)))
            else:
                found: dict[tuple[GroundLiteral, ...], None] = {}
                for literal in rule.conclusion:
                    ground = self._ground(literal, binding)
                    if ground is True:
                        found[()] = None
                    elif ground is not False:
                        found[ground,] = None
                options = tuple(found)
            yield Case(premise, options)

    def _bindings(self, types: Mapping[str, str]) -> Iterator[dict[str, str]]:
        for names in itertools.product(*(self.of_type(kind) for kind in types.values())):
            yield dict(zip(types, names, strict=True))

    def _ground(self, literal: RuleLiteral, binding: Mapping[str, str]) -> GroundLiteral | bool:
        part = literal.part
        if isinstance(part, Same):
            same = binding.get(part.left, part.left) == binding.get(part.right, part.right)
            return same is literal.positive
        args = tuple([binding.get(term, term) for term in part.terms])
        number = self.number.get((part.predicate, args))
        return (not literal.positive) if number is None else (number, literal.positive)

    def _solutions(self, variables: Sequence[str], types: Mapping[str, str],
                   literals: Sequence[RuleLiteral], given: Mapping[str, str] | None = None,
                   ) -> Iterator[tuple[dict[str, str], tuple[GroundLiteral, ...]]]:
        """Bindings under which a conjunction can be true, with the literals that must still hold.

        Literals are looked at as soon as their variables are bound.
        """
        binding = dict(given or {})
        due: list[list[RuleLiteral]] = [[] for _ in range(len(variables) + 1)]
        position = {variable: i for i, variable in enumerate(variables, start=1)}
        for literal in literals:
            due[max((position.get(v, 0) for v in literal.variables), default=0)].append(literal)

        def extend(depth: int, kept: dict[GroundLiteral, None],
                   ) -> Iterator[tuple[dict[str, str], tuple[GroundLiteral, ...]]]:
            for literal in due[depth]:
                ground = self._ground(literal, binding)
                if ground is True:
                    continue
                if ground is False or (ground[0], not ground[1]) in kept:
                    return
                kept = {**kept, ground: None}
            if depth == len(variables):
                yield dict(binding), tuple(kept)
                return
            variable = variables[depth]
            for name in self.of_type(types[variable]):
                binding[variable] = name
                yield from extend(depth + 1, kept)

        return extend(0, {})


def _never(field: str, reason: str, remedy: str) -> NoReturn:
    raise DomainError(f'{field}: {reason} ({remedy})')


def instantiate(constraints: Constraints, schema: Schema, objects: Mapping[str, str],
                atoms: Iterable[Atom] | None = None) -> Theory:
    """Make the theory of a problem's objects from the rules.

    Args:
        constraints: the rules.
        schema: the domain's vocabulary.
        objects: names and types of the problem's objects.
        atoms: the atoms that can be true; all others are false. By default all ground atoms.

    Returns:
        A theory without tautologies and repetitions. Constraints that nothing can fulfil are
        clauses without literals.

    Raises:
        DomainError: a rule does not fit the schema.
    """
    vocabulary = Vocabulary(schema, objects, atoms)
    collector = _Collector(vocabulary)
    for number, rule in enumerate(constraints.rules):
        check_rule(rule, schema)
        collector.add(number, rule)
    return collector.theory()


class _Collector:
    """Gathers ground constraints, each once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._hard: dict[tuple[GroundLiteral, ...], int] = {}
        self._soft: dict[tuple[int, tuple[GroundLiteral, ...]], float] = {}
        self._groups: dict[tuple[tuple[int, ...], bool], int] = {}
        self._acyclic: dict[tuple[tuple[int, str, str], ...], int] = {}
        self._definitions: dict[tuple[GroundLiteral, ...], int] = {}

    def theory(self) -> Theory:
        clauses = [Clause(literals, rule=rule) for literals, rule in self._hard.items()]
        clauses += [Clause(literals, penalty, rule)
                    for (rule, literals), penalty in self._soft.items()
                    if literals not in self._hard]
        groups = [Group(variables, required, rule)
                  for (variables, required), rule in self._groups.items()
                  if required or (variables, True) not in self._groups]
        return Theory(self._vocabulary.atoms, tuple(clauses), tuple(groups),
                      tuple(Acyclic(edges, rule) for edges, rule in self._acyclic.items()),
                      tuple(self._definitions))

    def add(self, number: int, rule: Rule) -> None:
        if isinstance(rule, AcyclicRule):
            edges = self._vocabulary.edges(rule)
            if edges:
                self._acyclic.setdefault(edges, number)
        elif isinstance(rule, CardinalityRule):
            for variables in self._vocabulary.groups(rule):
                self._add_group(number, rule, variables)
        else:
            for case in self._vocabulary.cases(rule):
                self._add_case(number, rule, case)

    def _add_group(self, number: int, rule: CardinalityRule, variables: tuple[int, ...]) -> None:
        if rule.violation_rate or len(variables) < 2:
            if rule.required:
                self._add_clause(number, rule, [(i, True) for i in variables])
            for pair in itertools.combinations(variables, 2):
                self._add_clause(number, rule, [(i, False) for i in pair])
        else:
            self._groups.setdefault((variables, rule.required), number)

    def _add_clause(self, number: int, rule: Rule, literals: Iterable[GroundLiteral]) -> None:
        found = set(literals)
        if any((variable, not value) in found for variable, value in found):
            return
        key = tuple(sorted(found))
        if rule.violation_rate:
            rate = rule.violation_rate
            self._soft.setdefault((number, key), math.log((1.0 - rate) / rate))
        else:
            self._hard.setdefault(key, number)

    def _add_case(self, number: int, rule: ImplicationRule, case: Case) -> None:
        denied = [(variable, not value) for variable, value in case.premise]
        options: set[tuple[GroundLiteral, ...]] = set()
        for option in case.options:
            if not any(literal in denied for literal in option):
                options.add(tuple(sorted(x for x in option if x not in case.premise)))
        if () in options:
            return
        if len(options) == 1 and not rule.violation_rate:
            for literal in next(iter(options)):
                self._add_clause(number, rule, [*denied, literal])
            return
        conclusion = []
        for option in sorted(options):
            if len(option) == 1:
                conclusion.append(option[0])
            else:
                index = self._definitions.setdefault(option, len(self._definitions))
                conclusion.append((len(self._vocabulary.atoms) + index, True))
        self._add_clause(number, rule, [*denied, *conclusion])
