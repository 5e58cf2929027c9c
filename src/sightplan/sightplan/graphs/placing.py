"""The place of a graph in a ROS domain: its namespace, and the remappings of its names.

All names of the nodes are relative, so that a namespace moves a whole graph. What ROS knows as
global (the log, ``/diagnostics``, ``/tf``) stays so; two topics that belong to one graph alone
(``GRAPH_TOPICS``) go into its namespace, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from sightplan.model import InputError, did_you_mean

NAMESPACE, REMAP = 'namespace', 'remap'
"""Names of the arguments that every graph has."""
GRAPH_TOPICS = ('/clock', '/presence')
"""Absolute topics of one graph: its simulated time, and which of its nodes hear each other."""

_SPACES = re.compile(r'[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z_][A-Za-z0-9_]*)*')
_NAME = re.compile(rf'(?:~/|/)?{_SPACES.pattern}')
_RULE = re.compile(rf'(?:(?P<node>[A-Za-z_][A-Za-z0-9_]*):)?(?P<source>{_NAME.pattern})')
_ACTION = tuple(f'/_action/{part}' for part in (
    'send_goal', 'get_result', 'cancel_goal', 'feedback', 'status'))
"""The services and topics of an action, which ROS 2 Jazzy remaps one by one only."""
_HOW = 'write FROM:=TO, as in camera/image_raw:=/front/image'
_SPECIAL = {'__ns': f'{NAMESPACE}:=NAME is for that',
            '__node': 'other nodes find it by its name, so it keeps that',
            '__name': 'other nodes find it by its name, so it keeps that'}


@dataclass(frozen=True, slots=True)
class Remap:
    """A remapping of ROS.

    Attributes:
        source: name that is replaced: relative, absolute, or private (``~/name``).
        target: name that is used instead.
        node: name of the node for which it holds; '' for all.
    """

    source: str
    target: str
    node: str = ''

    def within(self, namespace: str) -> Remap:
        """Return the remapping with absolute names, of which relative ones are in a namespace."""
        return Remap(_within(namespace, self.source), _within(namespace, self.target), self.node)


def flag_of(*namespaces: str) -> str:
    """The flags of a command that choose namespaces, to copy."""
    return ' or '.join(f'--{NAMESPACE} {space.strip("/")}' if space.strip('/') else
                       f'no namespace (leave --{NAMESPACE} out)' for space in namespaces)


def read_namespace(text: str) -> str:
    """Return a namespace without slashes around it; '' for none.

    Raises:
        InputError: ROS allows no such name.
    """
    name = text.strip().strip('/')
    if name and (not _SPACES.fullmatch(name) or '__' in name):
        raise InputError(f'{NAMESPACE}:={text} is not a namespace of ROS: write names of letters, '
                         'digits and single _ that begin with no digit, with / between them, as '
                         'in robot1')
    return name


def read_remaps(text: str) -> tuple[Remap, ...]:
    """Return the remappings ``[NODE:]FROM:=TO`` that a text lists, with spaces between them.

    Raises:
        InputError: one of them is not of that form.
    """
    return tuple(map(_read_remap, text.split()))


def check_nodes(remaps: Iterable[Remap], nodes: Collection[str]) -> None:
    """Check that the nodes that remappings name are among those that there are.

    Raises:
        InputError: one is not; suggests the nearest.
    """
    for remap in remaps:
        if remap.node and remap.node not in nodes:
            raise InputError(f'{REMAP}:={remap.node}:{remap.source}:={remap.target}: there is no '
                             f'node {remap.node!r}{did_you_mean(remap.node, sorted(nodes))}')


def words_on_unused(remaps: Iterable[Remap], namespace: str,
                    used: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Return a sentence on each remapping of a name that no node is known to use.

    Args:
        remaps: as they were given.
        namespace: of the graph, without slashes around it.
        used: absolute names that each node uses without remappings, by its full name.
    """
    said = []
    for remap in remaps:
        source, relative = remap.within(namespace).source, f'/{joined(namespace)}/'
        if source in GRAPH_TOPICS:
            continue
        there = {name: names for name, names in used.items()
                 if remap.node in ('', name.rpartition('/')[2])}
        if any((f'/{node}{source[1:]}' if source.startswith('~') else source) in names
               for node, names in there.items()):
            continue
        near = {name.removeprefix(relative if namespace else '/')
                for names in there.values() for name in names}
        asked = remap.source.removeprefix('/')
        rule = f'{remap.node}:{remap.source}' if remap.node else remap.source
        said.append(f'{REMAP}:={rule}:={remap.target}: no node here is known to have '
                    f'{remap.source}{did_you_mean(asked, sorted(near))}')
    return tuple(said)


def _read_remap(rule: str) -> Remap:
    source, assigned, target = rule.partition(':=')
    found = _RULE.fullmatch(source)
    special = source.rpartition(':')[2]
    if special in _SPECIAL:
        raise InputError(f'{rule} is not a remapping of a topic, service or action: '
                         f'{_SPECIAL[special]}')
    if not assigned or found is None or not _NAME.fullmatch(target):
        raise InputError(f'{rule!r} is not a remapping: {_HOW}')
    return Remap(found.group('source'), target, found.group('node') or '')


def is_name(text: str) -> bool:
    """Whether a text can be one side of a remapping."""
    return _NAME.fullmatch(text) is not None


def graph_topics(namespace: str) -> tuple[Remap, ...]:
    """Return the remappings that put the topics of one graph into its namespace."""
    return tuple(Remap(topic, _within(namespace, topic[1:]))
                 for topic in GRAPH_TOPICS) if namespace else ()


def with_actions(remaps: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return remappings and, since a name may be that of an action, those of its parts."""
    return [(source + part, target + part) for source, target in remaps
            for part in ('', *(() if source in GRAPH_TOPICS else _ACTION))]


def joined(*spaces: str) -> str:
    """Return namespaces within one another as one, without slashes around it."""
    return '/'.join(filter(None, (space.strip('/') for space in spaces)))


def resolve(name: str, namespace: str, node: str, remaps: Iterable[tuple[str, str]]) -> str:
    """Return the absolute name that ROS makes of one that a node uses.

    Args:
        name: relative, absolute, or private.
        namespace: of the node, without slashes around it.
        node: its name.
        remaps: from and to, of which the first that fits counts.
    """
    found = _absolute(name, namespace, node)
    return next((_absolute(target, namespace, node) for source, target in remaps
                 if _absolute(source, namespace, node) == found), found)


def _absolute(name: str, namespace: str, node: str) -> str:
    return _within(joined(namespace, node), name[2:]) if name.startswith('~/') else _within(
        namespace, name)


def _within(namespace: str, name: str) -> str:
    return name if name.startswith(('/', '~')) else f'/{joined(namespace, name)}'
