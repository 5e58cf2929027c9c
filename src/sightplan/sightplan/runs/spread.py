"""Which problems a run takes that has fewer episodes than there are problems.

The first ones of a list are of one split and often of one task, and so say little about the
others. So problems are taken in turn from all splits, within a split from all tasks, and within a
task from all over its list. A longer choice begins with the shorter one, and nothing is drawn: the
same problems are chosen by everybody.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TypeVar

from sightplan.model import Problem

T = TypeVar('T')
_NUMBER = re.compile(r'[-_ ]*\d+$')


def chosen(count: int, pairs: Sequence[tuple[str, Problem]]) -> list[tuple[int, int]]:
    """Return trial and index of each episode of a run.

    Args:
        count: number of episodes; more than there are problems: further trials of them.
        pairs: (split, problem) in order.

    Returns:
        whole rounds over the problems in their order, and then as many of the next round as are
        left, in the order of ``spread``.
    """
    rounds, left = divmod(count, len(pairs))
    whole = [(trial, index) for trial in range(rounds) for index in range(len(pairs))]
    return whole + [(rounds, index) for index in (spread(pairs)[:left] if left else ())]


def spread(pairs: Sequence[tuple[str, Problem]]) -> list[int]:
    """Return the indices of all problems in the order in which a part of them is taken.

    Args:
        pairs: (split, problem) in order. A problem's task is its name without the number at its
            end: ``sorting_books`` of ``sorting_books_3``.
    """
    splits: dict[str, dict[str, list[int]]] = {}
    for index, (split, problem) in enumerate(pairs):
        task = _NUMBER.sub('', problem.name)
        splits.setdefault(split, {}).setdefault(task, []).append(index)
    return _in_turn(_in_turn(map(_halving, tasks.values())) for tasks in splits.values())


def _in_turn(lists: Iterable[Iterable[T]]) -> list[T]:
    """The items of all lists: the first of each, then the second of each, and so on."""
    waiting = deque(deque(items) for items in lists)
    found = []
    while waiting:
        if items := waiting.popleft():
            found.append(items.popleft())
            waiting.append(items)
    return found


def _halving(items: Sequence[T]) -> list[T]:
    """Items in an order whose every beginning is spread over the list.

    Each takes the middle of what the ones before it leave (van der Corput's sequence).
    """
    bits = max(1, (len(items) - 1).bit_length())
    reverse = (int(f'{number:0{bits}b}'[::-1], 2) for number in range(2 ** bits))
    return [items[index] for index in reverse if index < len(items)]
