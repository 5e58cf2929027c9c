"""Graph files: which nodes run with which parameters, and the arguments to choose them by.

A graph file (``config/graphs/<name>.yaml``) is the one definition of a graph. The launch file of
that name translates it for ``ros2 launch``; ``sightplan up`` starts the very same nodes where
there is no ``ros2 launch``.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import pydantic

from sightplan.model import InputError, config_files, did_you_mean
from sightplan.model.reading import Record, read_file
from sightplan.model.type_words import type_in_words

Value = str | int | float | bool

Kind = type[Value]
TYPES: dict[str, Kind] = {'str': str, 'int': int, 'float': float, 'bool': bool}
_VARIABLE = re.compile(r'\$\(var ([a-z_]+)\)')
_CONDITION = re.compile(r'\$\(var ([a-z_]+)\)(?: *== *(\S+))?')
_NAMESPACE = re.compile(r'|[a-z_][a-z0-9_]*(?:/[a-z_][a-z0-9_]*)*')
_DISCOVERED = {'domains': ('sightplan.domains', 'domain_names'),
               'suites': ('sightplan.runs', 'suite_names'),
               'methods': ('sightplan.agent', 'every_method'),
               'backends': ('sightplan.vlm', 'backend_names')}
_FOLDERS = {'domains': ('sightplan.domains', 'domain_reference'),
            'suites': ('sightplan.runs', 'suite_reference')}
"""Kinds that may also be given by a folder's path, and the function that makes it absolute."""
_METHOD = 'method'
_TRUE, _FALSE = ('true', 'yes', 'on', '1'), ('false', 'no', 'off', '0')


class Argument(Record):
    """An argument that a graph can be started with.

    Attributes:
        name: as in ``name:=value``.
        type: name of its type.
        default: default value, of that type.
        description: text for people.
        choices: allowed values; None: all.
        choices_of: kind of installed things whose names are allowed, for domains and suites also
            the path of a folder; None: see ``choices``.
    """

    name: str
    type: Literal['str', 'int', 'float', 'bool']
    default: Value
    description: str
    choices: tuple[str, ...] | None = None
    choices_of: Literal['domains', 'suites', 'methods', 'backends'] | None = None

    @pydantic.model_validator(mode='after')
    def _consistent(self) -> Self:
        if self.choices_of is not None and self.choices is not None:
            raise ValueError('choices_of and choices do not go together; leave one out')
        if type(self.default) is not self.kind:
            raise ValueError(f'the default of argument {self.name} is not a {self.type}: '
                             f'{self.default!r}')
        return self

    @property
    def kind(self) -> Kind:
        """Python type of the argument's values."""
        return TYPES[self.type]

    @property
    def folders(self) -> bool:
        """Whether the path of a folder is an allowed value, too."""
        return self.choices_of in _FOLDERS

    @property
    def allowed(self) -> tuple[str, ...] | None:
        """Allowed values; None if every value is allowed."""
        if self.choices_of is None:
            return self.choices
        module, function = _DISCOVERED[self.choices_of]
        return tuple(getattr(importlib.import_module(module), function)())

    def read(self, text: str) -> Value:
        """Return the value that a text stands for.

        Raises:
            InputError: it is not of the argument's type, or not one of its choices.
        """
        value: Value | None = text
        if self.kind is bool:
            folded = text.strip().lower()
            value = True if folded in _TRUE else False if folded in _FALSE else None
        elif self.kind is not str:
            try:
                value = self.kind(text)
            except ValueError:
                value = None
        if value is None:
            raise InputError(f'{self.name}:={text} must be {type_in_words(self.kind)} '
                             f'({self.description})')
        if self.choices_of in _FOLDERS and '/' in text:
            module, reference = _FOLDERS[self.choices_of]
            return str(getattr(importlib.import_module(module), reference)(text))
        allowed = self.allowed
        if allowed is not None and text not in (*allowed, self.default):
            folder = ', or the path of a folder' if self.folders else ''
            raise InputError(f'{self.name}:={text} must be one of {", ".join(allowed)}'
                             f'{folder} ({self.description}){did_you_mean(text, allowed)}')
        return value


class Condition(Record):
    """A condition on the value of an argument.

    Attributes:
        argument: name of the argument.
        value: the required value; None: the value must be true or not empty.
    """

    argument: str
    value: str | None = None

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Return whether the condition holds with these values of the graph's arguments."""
        given = values[self.argument]
        return bool(given) if self.value is None else given == self.value


class NodeSpec(Record):
    """A node of a graph.

    Attributes:
        package, executable: ROS package, and the executable of it that is run.
        name: name of the node.
        parameters: value by name; strings may hold ``$(var argument)``.
        ends_graph: whether the graph ends, with the node's exit code, when the node exits.
        only_for: attribute that the method named by the argument ``method`` must declare for the
            node to be started; '' for a node that is always started.
        only_if: conditions that must all hold for the node to be started. In the file
            ``$(var argument)`` (it must be given), ``$(var argument) == value``, or a mapping of
            arguments to values.
        namespace: namespace of its names; '': none.
        restarts: whether the node may be restarted while the graph runs, if it is deaf; else the
            graph ends. It is false for nodes that move something, or hold the state of an episode
            or run.
    """

    package: str
    executable: str
    name: str
    parameters: Mapping[str, Value] = pydantic.Field({})
    ends_graph: bool = False
    only_for: Literal['', 'needs_grounder', 'needs_planner', 'needs_visual_planner'] = ''
    only_if: tuple[Condition, ...] = ()
    namespace: str = ''
    restarts: bool = False

    @pydantic.field_validator('only_if', mode='before')
    @classmethod
    def _conditions(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and all(isinstance(value, str) for value in given.values()):
            return tuple(Condition(argument=argument, value=value)
                         for argument, value in given.items())
        found = _CONDITION.fullmatch(str(given))
        if found is None:
            raise ValueError('must be of the form $(var ARGUMENT), $(var ARGUMENT) == VALUE or '
                             '{ARGUMENT: VALUE, ...}')
        return (Condition(argument=found.group(1), value=found.group(2)),)

    @pydantic.field_validator('namespace')
    @classmethod
    def _names(cls, given: str) -> str:
        if not _NAMESPACE.fullmatch(given):
            raise ValueError('must be names of small letters, digits and _, with / between them')
        return given

    @pydantic.model_validator(mode='after')
    def _one_reason(self) -> Self:
        if self.only_for and self.only_if:
            raise ValueError('only_if does not go with only_for; leave one out')
        return self

    @property
    def full_name(self) -> str:
        """Namespace and name of the node, without a leading slash."""
        return f'{self.namespace}/{self.name}' if self.namespace else self.name

    def wanted(self, values: Mapping[str, Value]) -> bool:
        """Return whether the node is started with these values of the graph's arguments.

        Raises:
            InputError: the method is unknown.
        """
        if not all(condition.holds(values) for condition in self.only_if):
            return False
        return not self.only_for or self.wanted_by(str(values[_METHOD]))

    def wanted_by(self, method: str) -> bool:
        """Return whether a method needs the node.

        Raises:
            InputError: the method is unknown.
        """
        agent = importlib.import_module('sightplan.agent')
        if agent.answers_only_samples(method):
            needs = agent.answerer_class(method).needs_model
            return not self.only_for or bool(needs and self.only_for == 'needs_grounder')
        return not self.only_for or bool(getattr(agent, self.only_for)(method))

    def resolved(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Return the parameters with the arguments' values put in, keeping their types."""
        return {name: _resolve(value, values) for name, value in self.parameters.items()}


class Graph(Record):
    """A graph file, read.

    Attributes:
        description: what it is for.
        arguments: in the order of the file.
        nodes: in the order of the file; they are stopped in the opposite order.
    """

    description: str
    arguments: tuple[Argument, ...] = ()
    nodes: tuple[NodeSpec, ...]
    _name: str = pydantic.PrivateAttr('')

    @pydantic.model_validator(mode='after')
    def _consistent(self) -> Self:
        known = {argument.name: argument for argument in self.arguments}
        for node in self.nodes:
            if node.only_for and _METHOD not in known:
                raise ValueError(f'node {node.name} has only_for, but there is no argument '
                                 f'{_METHOD!r}; declare it (choices_of: methods)')
            for condition in node.only_if:
                _check_condition(node, condition, known.get(condition.argument))
            for name, value in node.parameters.items():
                unknown = set(_VARIABLE.findall(str(value))) - known.keys()
                if unknown:
                    raise ValueError(f'parameter {name} of node {node.name} uses an argument that '
                                     f'is not declared: {", ".join(sorted(unknown))}')
        if sum(node.ends_graph for node in self.nodes) > 1:
            raise ValueError('more than one node has ends_graph')
        return self

    @property
    def name(self) -> str:
        """Stem of the file's name."""
        return self._name

    def values(self, given: Sequence[str]) -> dict[str, Value]:
        """Return the values of all arguments: the defaults, and those given as ``name:=value``.

        Raises:
            InputError: an unknown argument (the nearest is suggested) or a bad value.
        """
        known = {argument.name: argument for argument in self.arguments}
        values = {argument.name: argument.default for argument in self.arguments}
        for text in given:
            name, assigned, value = text.partition(':=')
            if not assigned:
                raise InputError(f'{text!r} is not of the form name:=value'
                                 + (f' (did you mean {text.replace("=", ":=", 1)}?)'
                                    if '=' in text else ''))
            if name not in known:
                raise InputError(f'graph {self.name!r} has no argument {name!r}'
                                 f'{did_you_mean(name, tuple(known))} (--show-args lists them)')
            values[name] = known[name].read(value)
        return values

    def chosen(self, values: Mapping[str, Value]) -> Graph:
        """Return the graph with the nodes that these values ask for."""
        return self._with(node for node in self.nodes if node.wanted(values))

    def only(self, names: Sequence[str]) -> Graph:
        """Return the graph with just these nodes, whether a method needs them or not.

        Raises:
            InputError: there is no such node; the nearest is suggested.
        """
        known = tuple(node.full_name for node in self.nodes)
        for name in names:
            if name not in known:
                raise InputError(f'graph {self.name!r} has no node {name!r}; there are '
                                 f'{", ".join(known)}{did_you_mean(name, known)}')
        return self._with(node for node in self.nodes if node.full_name in names)

    def _with(self, nodes: Iterable[NodeSpec]) -> Graph:
        return self.model_copy(update={'nodes': tuple(nodes)})


def _resolve(value: Value, values: Mapping[str, Value]) -> Value:
    if not isinstance(value, str):
        return value
    whole = _VARIABLE.fullmatch(value)
    if whole is not None:
        return values[whole.group(1)]
    return _VARIABLE.sub(lambda match: str(values[match.group(1)]), value)


def find_graph(name: str) -> Graph:
    """Load an installed graph by name, or a file by its path.

    Raises:
        InputError: there is none; names what there is and the remedy.
    """
    path = Path(name)
    if path.suffix in ('.yaml', '.yml'):
        return load_graph(path)
    files = config_files('graphs')
    if name not in files:
        if not files:
            raise InputError('no graphs are installed: build the workspace (make build) and use '
                             '.venv/bin/sightplan, or source install/setup.bash')
        raise InputError(f'graph {name!r} is unknown; choose one of {", ".join(files)}'
                         f'{did_you_mean(name, tuple(files))}')
    return load_graph(files[name])


def load_graph(path: Path) -> Graph:
    """Read a graph file.

    Raises:
        InputError: it cannot be read, or is malformed; names file, field and remedy.
    """
    graph = read_file(Graph, path)
    graph._name = path.stem
    return graph


def _check_condition(node: NodeSpec, condition: Condition, argument: Argument | None) -> None:
    """Check that a node's condition can be evaluated, and can hold.

    Raises:
        ValueError: the condition cannot be evaluated, or can never hold.
    """
    name, value = condition.argument, condition.value
    types = ('str', 'bool') if value is None else ('str',)
    if argument is None or argument.type not in types:
        raise ValueError(f'node {node.name} has only_if: $(var {name}), but there is no such '
                         f'argument of type {" or ".join(types)}; declare it')
    allowed = argument.allowed
    if value is not None and allowed is not None and value not in allowed:
        raise ValueError(f'node {node.name} has only_if: $(var {name}) == {value}, which it never '
                         f'is; it is one of {", ".join(allowed)}')
