"""Token sequences as trees, and cut into rows: their common beginnings are there once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Suffix = tuple[int, ...]
"""Token ids after a shared prompt."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Suffixes of one row as a tree, nodes in preorder.

    Attributes:
        ids: token of each node.
        depth: its distance from the prompt's end.
        end: index after the last node below it: node j is node i or an ancestor of it exactly
            when j <= i < end[j].
        last: node of each suffix's last token.
    """

    ids: list[int]
    depth: list[int]
    end: list[int]
    last: list[int]


def tree_of(suffixes: Sequence[Suffix]) -> Tree:
    """Sorted suffixes as a tree; equal ones end in one node."""
    made = Tree([], [], [], [])
    path: list[int] = []
    before: Suffix = ()
    for suffix in suffixes:
        shared = common(before, suffix)
        for node in path[shared:]:
            made.end[node] = len(made.ids)
        del path[shared:]
        for depth in range(shared, len(suffix)):
            path.append(len(made.ids))
            made.ids.append(suffix[depth])
            made.depth.append(depth)
            made.end.append(0)
        made.last.append(path[-1])
        before = suffix
    for node in path:
        made.end[node] = len(made.ids)
    return made


def rows_of(order: Sequence[int], suffixes: Sequence[Suffix], width: int) -> list[tuple[int, ...]]:
    """Cut suffixes in sorted order into as few rows as their trees need, evenly filled."""
    def cut(limit: int) -> list[tuple[int, ...]]:
        rows: list[list[int]] = []
        filled = 0
        before: Suffix = ()
        for i in order:
            new = len(suffixes[i]) - common(before, suffixes[i])
            if not rows or filled + new > limit:
                rows.append([])
                filled, new = 0, len(suffixes[i])
            rows[-1].append(i)
            filled += new
            before = suffixes[i]
        return [tuple(row) for row in rows]

    rows = cut(width)
    if len(rows) < 2:
        return rows
    nodes = sum(len(tree_of([suffixes[i] for i in row]).ids) for row in rows)
    longest = max(len(suffixes[i]) for i in order)
    even = cut(min(width, -(-nodes // len(rows)) + longest // 2))
    return even if len(even) == len(rows) else rows


def common(a: Suffix, b: Suffix) -> int:
    """Length of the common beginning."""
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length


def halves(members: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Two parts of about equal length, or the one member there is."""
    middle = (len(members) + 1) // 2
    return [half for half in (members[:middle], members[middle:]) if half]
