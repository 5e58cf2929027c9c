"""Choice of the problems or samples of a run that has fewer episodes than there are.

The first ones of a list are of one split and often of one task, and so say little about the
others. So items are taken in turn from all splits, within a split from all kinds, and within a
kind from all over its list. Kinds that numbers tell apart (pieces and length of a puzzle) come in
an order whose every beginning has all numbers about equally often. A longer choice begins with the
shorter one, and nothing is drawn: the same items are chosen by everybody.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import TypeVar

from sightplan.model import Problem

T = TypeVar('T')
Feature = str | float
"""A property of a kind of items: a word, or a number that may be near to another one."""
Kind = tuple[Feature, ...]

_NUMBER = re.compile(r'[-_ ]*\d+$')
_NUMBERS = re.compile(r'\d+')
_MOST_WEIGHED = 256
"""Most kinds of a split whose order is found by weighing all of them; others follow in turn."""


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
    return whole + [(rounds, index) for index in spread(
        [(split, kind_of_problem(problem.name)) for split, problem in pairs], left)]


def kind_of_problem(name: str) -> Kind:
    """Return the kind of a problem, its task, as its name tells.

    It is the name without the number at its end, such as ``sorting_books`` of
    ``sorting_books_3``. Numbers within it are features of their own: ``g_5_c1_7_i_012`` is of
    5 and of 7.
    """
    task = _NUMBER.sub('', name)
    return (_NUMBERS.sub('#', task), *(float(number[0]) for number in _NUMBERS.finditer(task)))


def spread(items: Sequence[tuple[str, Kind]], count: int | None = None) -> list[int]:
    """Return the indices of items in the order in which a part of them is taken.

    Args:
        items: split and kind of each, in order.
        count: number of indices; None: all.
    """
    splits: dict[str, dict[Kind, list[int]]] = {}
    for index, (split, kind) in enumerate(items):
        splits.setdefault(split, {}).setdefault(kind, []).append(index)
    return list(islice(_in_turn(map(_of_split, splits.values())), count))


def _of_split(kinds: Mapping[Kind, Sequence[int]]) -> Iterator[int]:
    """Return the indices of a split's items by kind, one of each kind in turn."""
    return _in_turn(_halving(kinds[kind]) for kind in _ordered(list(kinds)))


def _ordered(kinds: Sequence[Kind]) -> Iterator[Kind]:
    """Yield kinds so that each beginning has all values of all features about equally often.

    The first one is that of the list. Of those whose values came least often the one that is
    farthest from all before it follows; of several such the first one of the list.
    """
    numbers = [[value for value in column if isinstance(value, float)]
               for column in zip_longest(*kinds)]
    widths = [max(column) - min(column) if column else 0.0 for column in numbers]
    left = dict.fromkeys(kinds, float(len(widths)))  # distance to the nearest one before
    seen: Counter[tuple[int, Feature]] = Counter()
    for _ in range(min(len(kinds), _MOST_WEIGHED)):
        found = min(left, key=lambda kind: (
            sum(seen[place] for place in enumerate(kind)), -left[kind]))
        yield found
        del left[found]
        seen.update(enumerate(found))
        for kind in left:
            left[kind] = min(left[kind], _distance(kind, found, widths))
    yield from left


def _distance(one: Kind, other: Kind, widths: Sequence[float]) -> float:
    """Distance of two kinds: 1 for each word that differs, less for numbers that are near."""
    return sum(
        abs(a - b) / width if isinstance(a, float) and isinstance(b, float) and width
        else float(a != b) for a, b, width in zip_longest(one, other, widths, fillvalue=0.0))


def _in_turn(lists: Iterable[Iterable[T]]) -> Iterator[T]:
    """Yield the items of all lists: the first of each, then the second of each, and so on."""
    new, begun = iter(lists), deque[Iterator[T]]()
    for items in new:
        first = iter(items)
        for item in islice(first, 1):
            yield item
            begun.append(first)
    while begun:
        items = begun.popleft()
        for item in islice(items, 1):
            yield item
            begun.append(items)


def _halving(items: Sequence[T]) -> list[T]:
    """Items in an order whose every beginning is spread over the list.

    Each takes the middle of what the ones before it leave (van der Corput's sequence).
    """
    bits = max(1, (len(items) - 1).bit_length())
    reverse = (int(f'{number:0{bits}b}'[::-1], 2) for number in range(2 ** bits))
    return [items[index] for index in reverse if index < len(items)]
