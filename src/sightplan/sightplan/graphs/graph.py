"""Graph files: which nodes run with which parameters, and the arguments to choose them by.

A graph file (``config/graphs/<name>.yaml``) is the one definition of a graph. The launch file of
that name translates it for ``ros2 launch``; ``sightplan up`` starts the very same nodes where
there is no ``ros2 launch``.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sightplan.model import InputError, config_folders, did_you_mean

Value = str | int | float | bool

TYPES: dict[str, type] = {'str': str, 'int': int, 'float': float, 'bool': bool}
_VARIABLE = re.compile(r'\$\(var ([a-z_]+)\)')
_CONDITION = re.compile(r'\$\(var ([a-z_]+)\)(?: *== *(\S+))?')
_NAMESPACE = re.compile(r'|[a-z_][a-z0-9_]*(?:/[a-z_][a-z0-9_]*)*')
_ARGUMENT_FIELDS = {'name', 'type', 'default', 'description', 'choices', 'choices_of'}
_DISCOVERED = {'domains': ('sightplan.domains', 'domain_names'),
               'suites': ('sightplan.runs', 'suite_names'),
               'methods': ('sightplan.agent', 'method_names'),
               'backends': ('sightplan.vlm', 'backend_names')}
_FOLDERS = {'domains': ('sightplan.domains', 'domain_reference'),
            'suites': ('sightplan.runs', 'suite_reference')}
"""What may be given by the path of its folder, too, and what makes that an absolute one."""
_NODE_FIELDS = {'package', 'executable', 'name', 'parameters', 'ends_graph', 'only_for',
                'only_if', 'namespace'}
_NEEDS = ('needs_grounder', 'needs_planner', 'needs_visual_planner')
_METHOD = 'method'
_TRUE, _FALSE = ('true', 'yes', 'on', '1'), ('false', 'no', 'off', '0')


@dataclass(frozen=True, slots=True)
class Argument:
    """What a graph can be started with.

    Attributes:
        name: as in ``name:=value``.
        type: str, int, float or bool.
        default: of that type.
        description: for people.
        choices: allowed values; None: all.
        folders: ``domains`` or ``suites``: the path of the folder of one is allowed, too.
    """

    name: str
    type: type
    default: Value
    description: str
    choices: tuple[str, ...] | None = None
    folders: str = ''

    def read(self, text: str) -> Value:
        """The value that a text stands for.

        Raises:
            InputError: it is not of the argument's type, or not one of its choices.
        """
        value: Value | None = text
        if self.type is bool:
            folded = text.strip().lower()
            value = True if folded in _TRUE else False if folded in _FALSE else None
        elif self.type is not str:
            try:
                value = self.type(text)
            except ValueError:
                value = None
        if value is None:
            raise InputError(f'{self.name}:={text} must be a {self.type.__name__} '
                             f'({self.description})')
        if self.folders and '/' in text:
            module, reference = _FOLDERS[self.folders]
            return str(getattr(importlib.import_module(module), reference)(text))
        if self.choices is not None and text not in (*self.choices, self.default):
            folder = ', or the path of a folder' if self.folders else ''
            raise InputError(f'{self.name}:={text} must be one of {", ".join(self.choices)}'
                             f'{folder} ({self.description}){did_you_mean(text, self.choices)}')
        return value


@dataclass(frozen=True, slots=True)
class Condition:
    """What the value of an argument must be.

    Attributes:
        argument: its name.
        value: which it must have; None: it must be given, that is, not empty, or true.
    """

    argument: str
    value: str | None = None

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Whether it does with these values of the graph's arguments."""
        given = values[self.argument]
        return bool(given) if self.value is None else given == self.value


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node of a graph.

    Attributes:
        package, executable: what to run.
        name: of the node.
        parameters: by name; strings may hold ``$(var argument)``.
        ends_graph: whether the graph ends, with its exit code, when it exits.
        only_for: what a method must declare for the node to be started, such as
            ``needs_grounder``; '' for a node that always is. The argument ``method`` names it.
        only_if: conditions that must all hold for the node to be started. In the file
            ``$(var argument)`` (it must be given), ``$(var argument) == value``, or a mapping of
            arguments to values.
        namespace: in which its names stand; '': none.
    """

    package: str
    executable: str
    name: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    ends_graph: bool = False
    only_for: str = ''
    only_if: tuple[Condition, ...] = ()
    namespace: str = ''

    @property
    def full_name(self) -> str:
        """Namespace and name."""
        return f'{self.namespace}/{self.name}' if self.namespace else self.name

    def wanted(self, values: Mapping[str, Value]) -> bool:
        """Whether the node is to be started with these values of the graph's arguments.

        Raises:
            InputError: the method is unknown.
        """
        if not all(condition.holds(values) for condition in self.only_if):
            return False
        return not self.only_for or self.wanted_by(str(values[_METHOD]))

    def wanted_by(self, method: str) -> bool:
        """Whether a method needs the node.

        Raises:
            InputError: the method is unknown.
        """
        agent = importlib.import_module('sightplan.agent')
        return not self.only_for or bool(getattr(agent, self.only_for)(method))

    def resolved(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """The parameters with the arguments' values put in, keeping their types."""
        return {name: _resolve(value, values) for name, value in self.parameters.items()}


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph file, read.

    Attributes:
        name: stem of the file.
        description: what it is for.
        arguments: in the order of the file.
        nodes: in the order of the file; they are stopped in the opposite order.
    """

    name: str
    description: str
    arguments: tuple[Argument, ...]
    nodes: tuple[NodeSpec, ...]

    def values(self, given: Sequence[str]) -> dict[str, Value]:
        """Read ``name:=value`` arguments over the defaults.

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
        """The graph without the nodes that these values do not ask for."""
        return dataclasses.replace(
            self, nodes=tuple(node for node in self.nodes if node.wanted(values)))

    def only(self, names: Sequence[str]) -> Graph:
        """The graph with just these nodes, whether a method needs them or not.

        Raises:
            InputError: there is no such node; the nearest is suggested.
        """
        known = tuple(node.full_name for node in self.nodes)
        for name in names:
            if name not in known:
                raise InputError(f'graph {self.name!r} has no node {name!r}; there are '
                                 f'{", ".join(known)}{did_you_mean(name, known)}')
        return dataclasses.replace(
            self, nodes=tuple(node for node in self.nodes if node.full_name in names))


def _resolve(value: Value, values: Mapping[str, Value]) -> Value:
    if not isinstance(value, str):
        return value
    whole = _VARIABLE.fullmatch(value)
    if whole is not None:
        return values[whole.group(1)]
    return _VARIABLE.sub(lambda match: str(values[match.group(1)]), value)


def graph_files() -> dict[str, Path]:
    """The installed graphs by name."""
    found: dict[str, Path] = {}
    for folder in reversed(config_folders()):
        found.update({path.stem: path for path in sorted((folder / 'graphs').glob('*.yaml'))})
    return found


def find_graph(name: str) -> Graph:
    """Load an installed graph by name, or a file by its path.

    Raises:
        InputError: there is none; names what there is and the remedy.
    """
    path = Path(name)
    if path.suffix in ('.yaml', '.yml'):
        return load_graph(path)
    files = graph_files()
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
        InputError: it cannot be read, or is malformed; names file and field.
    """
    try:
        data = yaml.safe_load(path.read_text('utf-8'))
    except (OSError, yaml.YAMLError) as error:
        raise InputError(f'{path}: cannot be read: {error}') from error
    try:
        graph = Graph(path.stem, str(data['description']),
                      tuple(_argument(path, entry) for entry in data.get('arguments', [])),
                      tuple(_node(path, entry) for entry in data['nodes']))
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(f'{path}: is not a graph file: {type(error).__name__}: {error} (it '
                         'needs description, arguments and nodes)') from error
    known = {argument.name: argument for argument in graph.arguments}
    for node in graph.nodes:
        if node.only_for and _METHOD not in known:
            raise InputError(f'{path}: node {node.name} has only_for, but there is no argument '
                             f'{_METHOD!r}; declare it (choices_of: methods)')
        for condition in node.only_if:
            _check_condition(path, node, condition, known.get(condition.argument))
        for name, value in node.parameters.items():
            unknown = set(_VARIABLE.findall(str(value))) - known.keys()
            if unknown:
                raise InputError(f'{path}: parameter {name} of node {node.name} uses an argument '
                                 f'that is not declared: {", ".join(sorted(unknown))}')
    if sum(node.ends_graph for node in graph.nodes) > 1:
        raise InputError(f'{path}: more than one node has ends_graph')
    return graph


def _argument(path: Path, entry: Mapping[str, Any]) -> Argument:
    _check_fields(path, entry, _ARGUMENT_FIELDS)
    kind = TYPES.get(entry['type'])
    if kind is None:
        raise InputError(f'{path}: argument {entry["name"]}: type {entry["type"]!r} is not one '
                         f'of {", ".join(TYPES)}')
    choices = entry.get('choices')
    if 'choices_of' in entry:
        choices = _discovered(path, entry)
    argument = Argument(str(entry['name']), kind, entry['default'], str(entry['description']),
                        tuple(map(str, choices)) if choices is not None else None,
                        what if (what := entry.get('choices_of')) in _FOLDERS else '')
    if type(argument.default) is not kind:
        raise InputError(f'{path}: the default of argument {argument.name} is not a '
                         f'{kind.__name__}: {argument.default!r}')
    return argument


def _discovered(path: Path, entry: Mapping[str, Any]) -> Sequence[str]:
    """The names of what is installed."""
    what = entry['choices_of']
    if what not in _DISCOVERED or 'choices' in entry:
        raise InputError(f'{path}: argument {entry["name"]}: choices_of must be one of '
                         f'{", ".join(_DISCOVERED)}, and without choices')
    module, function = _DISCOVERED[what]
    names: Sequence[str] = getattr(importlib.import_module(module), function)()
    return names


def _node(path: Path, entry: Mapping[str, Any]) -> NodeSpec:
    _check_fields(path, entry, _NODE_FIELDS)
    only_for = entry.get('only_for', '')
    if only_for and only_for not in _NEEDS:
        raise InputError(f'{path}: node {entry["name"]}: only_for: {only_for} is not one of '
                         f'{", ".join(_NEEDS)}')
    only_if = _conditions(entry.get('only_if', {}))
    if only_if is None or (only_for and only_if):
        raise InputError(f'{path}: node {entry["name"]}: only_if: {entry["only_if"]} must be of '
                         'the form $(var ARGUMENT), $(var ARGUMENT) == VALUE or {ARGUMENT: VALUE, '
                         '...}, and does not go with only_for')
    namespace = str(entry.get('namespace', ''))
    if not _NAMESPACE.fullmatch(namespace):
        raise InputError(f'{path}: node {entry["name"]}: namespace: {namespace} must be names of '
                         'small letters, digits and _, with / between them')
    return NodeSpec(str(entry['package']), str(entry['executable']), str(entry['name']),
                    dict(entry.get('parameters') or {}), bool(entry.get('ends_graph', False)),
                    only_for, only_if, namespace)


def _conditions(given: Any) -> tuple[Condition, ...] | None:
    """The conditions that an entry ``only_if`` states; None if it has no form that is known."""
    if isinstance(given, Mapping):
        values = given.values()
        return (tuple(Condition(str(argument), value) for argument, value in given.items())
                if all(isinstance(value, str) for value in values) else None)
    found = _CONDITION.fullmatch(str(given))
    return None if found is None else (Condition(found.group(1), found.group(2)),)


def _check_condition(path: Path, node: NodeSpec, condition: Condition,
                     argument: Argument | None) -> None:
    """Check that a node's condition can be told, and can hold.

    Raises:
        InputError: it cannot.
    """
    name, value = condition.argument, condition.value
    types = (str, bool) if value is None else (str,)
    if argument is None or argument.type not in types:
        raise InputError(f'{path}: node {node.name} has only_if: $(var {name}), but there is no '
                         f'such argument of type {" or ".join(t.__name__ for t in types)}; '
                         'declare it')
    if value is not None and argument.choices is not None and value not in argument.choices:
        raise InputError(f'{path}: node {node.name} has only_if: $(var {name}) == {value}, which '
                         f'it never is; it is one of {", ".join(argument.choices)}')


def _check_fields(path: Path, entry: Mapping[str, Any], known: set[str]) -> None:
    unknown = set(entry) - known
    if unknown:
        raise InputError(f'{path}: {entry.get("name", entry)}: unknown field '
                         f'{", ".join(sorted(unknown))}; there are {", ".join(sorted(known))}')
