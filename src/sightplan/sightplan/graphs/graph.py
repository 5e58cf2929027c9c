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

from sightplan.graphs.placing import (
    NAMESPACE,
    REMAP,
    Remap,
    check_nodes,
    graph_topics,
    is_name,
    joined,
    read_namespace,
    read_remaps,
    resolve,
)
from sightplan.model import InputError, config_files, did_you_mean
from sightplan.model.reading import Record, read_file
from sightplan.model.type_words import type_in_words

Value = str | int | float | bool

Kind = type[Value]
TYPES: dict[str, Kind] = {'str': str, 'int': int, 'float': float, 'bool': bool}
_VARIABLE = re.compile(r'\$\(var ([a-z_]+)\)')
_CONDITION = re.compile(r'\$\(var ([a-z_]+)\)(?: *== *(\S+))?')
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


PLACE = (
    Argument(name=NAMESPACE, type='str', default='', description=(
        'Namespace of all nodes, topics, services and actions, such as robot1, also the prefix of '
        'frames; graphs in different namespaces share a ROS domain')),
    Argument(name=REMAP, type='str', default='', description=(
        'Other names for topics, services and actions, [NODE:]FROM:=TO with spaces between them; '
        'relative names are in the namespace')))
"""The arguments that every graph has, beside those of its file."""


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
        namespace: namespace of its names, within that of the graph; '': none.
        remap: names of its topics, services and actions, and the names to use instead.
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
    remap: Mapping[str, str] = pydantic.Field({})
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
        try:
            return read_namespace(given)
        except InputError as error:
            raise ValueError(str(error)) from error

    @pydantic.field_validator('remap')
    @classmethod
    def _remappings(cls, given: Mapping[str, str]) -> Mapping[str, str]:
        for name in (*given, *given.values()):
            if not is_name(name):
                raise ValueError(f'{name!r} is not a name of a topic, service or action')
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

    def resolve(self, name: str) -> str:
        """Return the absolute name that ROS makes of a name that the node uses."""
        return resolve(name, self.namespace, self.name, self.remap.items())

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
        hint: what to do once its nodes are up, printed at the start, '' for nothing; $(place),
            $(goal) and $(thing) are filled in by ``runs.graph_check.hint_of``.
        arguments: in the order of the file, then ``PLACE``.
        nodes: in the order of the file; they are stopped in the opposite order.
        namespace: namespace in which the graph is placed, '' for none; see ``placed``.
    """

    description: str
    hint: str = ''
    arguments: tuple[Argument, ...] = pydantic.Field((), validate_default=True)
    nodes: tuple[NodeSpec, ...]
    _name: str = pydantic.PrivateAttr('')
    _namespace: str = pydantic.PrivateAttr('')
    _remaps: tuple[Remap, ...] = pydantic.PrivateAttr(())

    @pydantic.field_validator('arguments')
    @classmethod
    def _placeable(cls, given: tuple[Argument, ...]) -> tuple[Argument, ...]:
        for argument in given:
            if argument.name in (NAMESPACE, REMAP):
                raise ValueError(f'every graph has the argument {argument.name}; leave it out')
        return (*given, *PLACE)

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

    @property
    def namespace(self) -> str:
        """Namespace in which the graph is placed, without slashes around it."""
        return self._namespace

    def values(self, given: Sequence[str]) -> dict[str, Value]:
        """Return the values of all arguments: the defaults, and those given as ``name:=value``.

        The last value of an argument counts; remappings add up.

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
            if name == REMAP:
                value = f'{values[name]} {value}'.strip()
            values[name] = known[name].read(value)
        values[NAMESPACE] = read_namespace(str(values[NAMESPACE]))
        check_nodes(read_remaps(str(values[REMAP])), {node.name for node in self.nodes})
        return values

    def chosen(self, values: Mapping[str, Value], outside: str = '') -> Graph:
        """Return the graph with the nodes that these values ask for; arguments as ``placed``."""
        return self._with(
            node for node in self.nodes if node.wanted(values)).placed(values, outside)

    def placed(self, values: Mapping[str, Value], outside: str = '') -> Graph:
        """Return the graph in the namespace and with the remappings of these values.

        Args:
            values: of its arguments.
            outside: namespace around that of the arguments.

        Raises:
            InputError: a value is not a namespace, or not a list of remappings.
        """
        space = joined(outside, read_namespace(str(values.get(NAMESPACE, ''))))
        given = read_remaps(str(values.get(REMAP, '')))
        remaps = (*(remap.within(space) for remap in given), *graph_topics(space))
        placed = self._with(node.model_copy(update={
            'namespace': joined(space, node.namespace),
            # Of several rules for a name the first one counts: those of a person come first.
            'remap': {remap.source: remap.target for remap in remaps
                      if remap.node in ('', node.name)} | dict(node.remap)})
            for node in self.nodes)
        placed._namespace, placed._remaps = space, remaps
        return placed

    def beside(self, name: str) -> NodeSpec:
        """Return a node of ours that people start beside the graph, placed as its nodes are."""
        return _beside(name, self._namespace, self._remaps)

    def only(self, names: Sequence[str], values: Mapping[str, Value]) -> Graph:
        """Return the graph with just these nodes, whether a method needs them or not, placed.

        Args:
            names: of nodes, as in the file.
            values: of the graph's arguments.

        Raises:
            InputError: there is no such node; the nearest is suggested.
        """
        known = tuple(node.full_name for node in self.nodes)
        for name in names:
            if name not in known:
                raise InputError(f'graph {self.name!r} has no node {name!r}; there are '
                                 f'{", ".join(known)}{did_you_mean(name, known)}')
        return self._with(
            node for node in self.nodes if node.full_name in names).placed(values)

    def _with(self, nodes: Iterable[NodeSpec]) -> Graph:
        return self.model_copy(update={'nodes': tuple(nodes)})


def beside(name: str, place: Mapping[str, str]) -> NodeSpec:
    """Return a node of ours that people start beside a graph.

    Args:
        name: of the node.
        place: the graph's arguments ``namespace`` and ``remap``, as far as they were given.

    Raises:
        InputError: a value is not a namespace, or not a list of remappings.
    """
    space = read_namespace(place.get(NAMESPACE, ''))
    return _beside(name, space, [remap.within(space)
                                 for remap in read_remaps(place.get(REMAP, ''))])


def _beside(name: str, namespace: str, remaps: Iterable[Remap]) -> NodeSpec:
    return NodeSpec(
        package='sightplan_nodes', executable=name, name=name, parameters={}, namespace=namespace,
        remap={remap.source: remap.target for remap in remaps if not remap.node})


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
