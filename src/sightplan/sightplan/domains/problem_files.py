"""Reads and writes problem files."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping
from pathlib import Path

import pydantic

from sightplan.domains.schema import OBJECT, Schema
from sightplan.domains.sexpr import Group, Node, Source, check_name
from sightplan.model import (
    Atom,
    DomainError,
    Literal,
    Problem,
    ProblemError,
    SightplanError,
    State,
)
from sightplan.model.reading import Record

MAX_BYTES = 1 << 20
"""Largest problem or domain file that is read [bytes]."""


class Closure(Record):
    """Rules by which facts follow from those of a problem file.

    Attributes:
        transitive: predicates p for which p(x, y) and p(y, z) give p(x, z).
        inverse: p: q for which p(x, y) gives q(y, x) and the other way round.
    """

    transitive: tuple[str, ...] = ()
    inverse: dict[str, str] = pydantic.Field(default={})

    def close(self, facts: State) -> State:
        """Return the facts with all that follow from them."""
        closed = set(facts)
        for first, second in self.inverse.items():
            for source, target in ((first, second), (second, first)):
                closed |= {Atom(target, atom.args[::-1])
                           for atom in closed if atom.predicate == source}
        for predicate in self.transitive:
            after: dict[str, set[str]] = {}
            for atom in closed:
                if atom.predicate == predicate:
                    after.setdefault(atom.args[0], set()).add(atom.args[1])
            for middle in list(after):
                for reached in after.values():
                    if middle in reached:
                        reached.update(after[middle])
            closed |= {Atom(predicate, (x, y)) for x, reached in after.items() for y in reached}
        return frozenset(closed)


def read_text(path: Path, error: type[SightplanError]) -> str:
    """Return the text of a file.

    Raises:
        SightplanError: the class given, if the file is missing, too large or not UTF-8.
    """
    try:
        with path.open('rb') as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as failure:
        raise error(f'{path}:1: cannot be read: {failure.strerror} '
                    '(check the path and its permissions)') from failure
    if len(data) > MAX_BYTES:
        raise error(f'{path}:1: larger than {MAX_BYTES} bytes (is this a PDDL file?)')
    try:
        return data.decode('utf-8-sig')
    except UnicodeDecodeError as failure:
        line = data[:failure.start].count(b'\n') + 1
        raise error(f'{path}:{line}: not UTF-8 text (save it as UTF-8)') from failure


def named_domain(text: str) -> str:
    """Return the domain that a problem's text names, in lower case; '' if it names none."""
    found = re.search(r'\(\s*:domain\s+([^\s()]+)', text.lower())
    return found.group(1) if found else ''


def parse(schema: Schema, closure: Closure, text: str, *, name: str, domain: str,
          domain_pddl: str, source: str, known: Collection[str] = (),
          names: Collection[str] = (), needs_init: bool = True) -> Problem:
    """Read a problem's text, case folded, with the facts that follow from its own.

    Args:
        schema: the vocabulary.
        closure: what to add to the initial facts.
        text: the PDDL text.
        name: the problem's name.
        domain: name of the domain folder.
        domain_pddl: text of the domain file.
        source: what to call the text in messages.
        known: predicates whose initial facts are no secret (``Problem.known``).
        names: what the text may call the domain besides the name in the domain file, lower case.
        needs_init: whether the section ``:init`` must be there.

    Raises:
        ProblemError: the text cannot be used; ``file:line: reason (remedy)``.
    """
    reader = _Reader(Source(text, source, ProblemError), schema, {schema.name, *names})
    objects, init, goal = reader.read(needs_init)
    facts = closure.close(init)
    return Problem(name=name, domain=domain, objects=objects, init=facts, goal=goal,
                   domain_pddl=domain_pddl, source=source,
                   known=frozenset(atom for atom in facts if atom.predicate in known))


class _Reader:
    def __init__(self, source: Source, schema: Schema, names: Collection[str]) -> None:
        self._source = source
        self._fail = source.fail
        self._schema = schema
        self._names = names
        self._universe: dict[str, str] = dict(schema.constants)

    def read(self, needs_init: bool = True) -> tuple[dict[str, str], State, tuple[Literal, ...]]:
        root = self._source.read()
        if root.head != 'define':
            self._fail(root, f'{root} is not a problem', 'begin with "(define (problem NAME)"')
        sections: dict[str, Group] = {}
        for item in root.tail:
            if not isinstance(item, Group) or not item.head:
                self._fail(item, f'{item} is not a section', 'remove it')
            if item.head == 'domain':
                self._fail(item, 'this is a domain file', 'give a problem file')
            if item.head not in ('problem', ':domain', ':requirements', ':objects', ':init',
                                 ':goal'):
                self._fail(item, f'section "{item.head}" is not supported in a problem',
                           'use problem, :domain, :objects, :init and :goal only')
            if item.head in sections:
                self._fail(item, f'a second section "{item.head}"', 'merge the two')
            sections[item.head] = item
        wanted = ['problem', ':domain', ':objects', ':init', ':goal']
        if self._schema.constants:
            wanted.remove(':objects')
        if not needs_init:
            wanted.remove(':init')
        for section in wanted:
            if section not in sections:
                self._fail(root, f'section "{section}" is missing', f'add "({section} ...)"')
        for section in ('problem', ':domain'):
            words = self._source.words(sections[section].tail)
            if len(words) != 1:
                self._fail(sections[section], f'"{section}" needs one name',
                           f'write "({section} NAME)"')
        named = sections[':domain'].tail[0]
        if str(named) not in self._names:
            self._fail(named, f'this is a problem of domain "{named}"',
                       f'write "(:domain {self._schema.name})" if it is of this domain, or choose '
                       f'the other domain')
        objects = self._objects(sections[':objects']) if ':objects' in sections else {}
        init = self._init(sections[':init']) if ':init' in sections else frozenset()
        return objects, init, self._goal(sections[':goal'])

    def _objects(self, group: Group) -> dict[str, str]:
        objects: dict[str, str] = {}
        for word, kind in self._source.typed(group.tail, OBJECT):
            if kind.text not in self._schema.types and kind.text != OBJECT:
                self._fail(kind, f'unknown type "{kind}"',
                           f'known: {", ".join(self._schema.types) or OBJECT}')
            if check_name(self._source, word) in self._universe:
                self._fail(word, f'object "{word}" is declared twice', 'names fold case; keep one')
            objects[word.text] = self._universe[word.text] = kind.text
        return objects

    def _atom(self, node: Node) -> Atom:
        if not isinstance(node, Group) or not node.head:
            self._fail(node, f'{node} is not a fact', 'write "(predicate object ...)"')
        predicate = self._schema.predicates.get(node.head)
        if predicate is None:
            self._fail(node, f'unknown predicate "{node.head}" in {node}',
                       f'known: {", ".join(self._schema.predicates)}')
        words = self._source.words(node.tail)
        if len(words) != len(predicate.parameters):
            self._fail(node, f'{node} has {len(words)} arguments',
                       f'"{predicate.name}" takes {len(predicate.parameters)}')
        for word, parameter in zip(words, predicate.parameters, strict=True):
            kind = self._universe.get(word.text)
            if kind is None:
                self._fail(word, f'unknown object "{word}" in {node}',
                           'declare it under :objects')
            if not self._schema.is_a(kind, parameter.type):
                self._fail(word, f'"{word}" in {node} is of type {kind}',
                           f'"{predicate.name}" wants {parameter.type} there')
        return Atom(predicate.name, tuple(w.text for w in words))

    def _literal(self, node: Node) -> Literal:
        if isinstance(node, Group) and node.head == 'not':
            if len(node.items) != 2:
                self._fail(node, f'{node} is not a negated fact', 'write "(not (fact object))"')
            return Literal(self._atom(node.items[1]), False)
        return Literal(self._atom(node))

    def _init(self, group: Group) -> State:
        truth: dict[Atom, bool] = {}
        for node in group.tail:
            literal = self._literal(node)
            if truth.setdefault(literal.atom, literal.positive) is not literal.positive:
                self._fail(node, f'{literal.atom} is stated and denied', 'keep one of the two')
        return frozenset(atom for atom, true in truth.items() if true)

    def _goal(self, group: Group) -> tuple[Literal, ...]:
        if len(group.items) != 2 or not isinstance(group.items[1], Group):
            self._fail(group, '":goal" needs one condition', 'write "(:goal (and (...) ...))"')
        waiting: list[Node] = [group.items[1]]
        goal: dict[Literal, None] = {}
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, Group) and (node.head == 'and' or not node.items):
                waiting[:0] = node.tail
            elif isinstance(node, Group) and node.head in ('or', 'imply', 'forall', 'exists', '='):
                self._fail(node, f'"{node.head}" in the goal',
                           'a goal is a conjunction of facts and negated facts')
            else:
                goal[self._literal(node)] = None
        return tuple(goal)


def write(schema: Schema, problem: Problem, init: State | None = None) -> str:
    """Return the PDDL text of a problem; the same facts give the same bytes.

    Args:
        schema: the problem's vocabulary.
        problem: what to write.
        init: an initial state instead of the problem's. For each static predicate (one that
            no action changes) of which it holds no atom, the problem's own facts are added.
    """
    facts = problem.init
    if init is not None:
        missing = schema.static - {atom.predicate for atom in init}
        facts = init | {atom for atom in problem.init if atom.predicate in missing}

    def pddl(atom: Atom) -> str:
        return f'({" ".join((atom.predicate, *atom.args))})'

    rank = {name: index for index, name in enumerate((*schema.constants, *problem.objects))}
    predicates = list(schema.predicates)
    title = re.sub(r'[^a-z0-9_-]+', '-', problem.name.lower())
    lines = [f'(define (problem {title})', f'  (:domain {schema.name})', '  (:objects']
    for kind, group in itertools.groupby(problem.objects.items(), key=lambda item: item[1]):
        lines.append(f'    {" ".join(name for name, _ in group)} - {kind}')
    lines[-1] += ')'
    lines.append('  (:init')
    order = sorted(facts, key=lambda a: (predicates.index(a.predicate), [rank[n] for n in a.args]))
    for _, atoms in itertools.groupby(order, key=lambda atom: atom.predicate):
        lines.append(f'    {" ".join(pddl(atom) for atom in atoms)}')
    lines[-1] += ')'
    lines.append('  (:goal (and')
    lines.extend(f'    {pddl(x.atom)}' if x.positive else f'    (not {pddl(x.atom)})'
                 for x in problem.goal)
    lines[-1] += ')))'
    return '\n'.join(lines) + '\n'


def check_same_vocabulary(expected: Schema, found: Schema, source: str) -> dict[str, str]:
    """Check that another domain file has the vocabulary of the folder's own.

    It may have further types, as long as those that both have are related alike: nothing that
    the domain knows is about them.

    Returns:
        by further type, the nearest type above it that the folder's own file has.

    Raises:
        DomainError: its types, predicates or action headings differ.
    """
    def nearest(kind: str) -> str:
        while kind not in expected.types and kind in found.types:
            kind = found.types[kind]
        return kind

    def headings(schema: Schema) -> Mapping[str, str]:
        return {
            'types': ', '.join(sorted(f'{k} - {nearest(v)}' for k, v in schema.types.items()
                                      if k in expected.types)),
            'constants': ', '.join(sorted(f'{k} - {v}' for k, v in schema.constants.items())),
            'predicates': ', '.join(sorted(
                f'{p.name}({", ".join(p.types)})' for p in schema.predicates.values())),
            'actions': ', '.join(sorted(
                f'{a.name}({", ".join(p.type for p in a.parameters)})'
                for a in schema.actions.values()))}

    theirs = headings(found)
    for what, ours in headings(expected).items():
        if theirs[what] != ours:
            raise DomainError(f'{source}:1: its {what} are [{theirs[what]}] '
                              f'(this domain needs [{ours}])')
    return {kind: nearest(kind) for kind in found.types if kind not in expected.types}
