"""A model as the judge of traces: its requests, and the reading of its replies."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightplan.model.query import Model, ask_one
from sightplan.model.reply_text import after_thoughts, refuses
from sightplan.queries.generate import Generate
from sightplan.queries.literals import MOST_CHARS, find_literals
from sightplan.runs.suite import Suite
from sightplan.runs.suite_parts import Unread
from sightplan_suites.point_it_out.agreement import Preference, Rating, Ratings
from sightplan_suites.point_it_out.drawing import draw_trace
from sightplan_suites.point_it_out.traces import ShownTrace

LEAST, MOST = 1, 5
"""Lowest and highest rating."""
Better = Literal['A', 'B']
_DIGIT = re.compile(r'\s*([1-5])\s*')


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's rating of one trace, or choice between two.

    Attributes:
        value: a rating from 1 to 5, or which of two traces is better.
        explanation: why; '' where it does not say.
    """

    value: int | Better
    explanation: str


def rating_request(suite: Suite, trace: ShownTrace) -> Generate:
    """The query that asks for a rating of a trace.

    Raises:
        InputError: the picture or the prompt cannot be read.
    """
    return _request(suite, 'judge', (_picture(trace),))


def pair_request(suite: Suite, a: ShownTrace, b: ShownTrace) -> Generate:
    """The query that lets choose the better of two traces for one task; see ``rating_request``."""
    return _request(suite, 'judge_pair', (_picture(a), _picture(b)))


def read_rating(text: str) -> Judgement:
    """The rating in a judge's reply: of several objects with one, all must give the same.

    Raises:
        Unread: there is none, or no whole number from 1 to 5.
    """
    return _only(text, 'score', _rating)


def read_better(text: str) -> Judgement:
    """The better trace in a judge's reply; see ``read_rating``.

    Raises:
        Unread: it is neither A nor B.
    """
    return _only(text, 'better', _better)


class Judge:
    """Judge of traces by a model; earlier judgements are not asked for again.

    Args:
        suite: whose prompts are used.
        backend: that can write text.
        before: earlier judgements; those of this backend's model are not asked for again.
    """

    def __init__(self, suite: Suite, backend: Model, before: Ratings) -> None:
        self._suite, self._backend = suite, backend
        self._rated = {(one.id, one.model) for one in before.ratings
                       if one.judge and one.rater == backend.name}
        self._compared = {(one.id, *one.models) for one in before.preferences
                          if one.judge and one.rater == backend.name}

    def ratings(self, traces: Sequence[ShownTrace]) -> Iterator[Rating]:
        """A rating of each trace.

        Raises:
            InputError: the backend cannot write text, or a picture cannot be read.
            BackendError: the model could not answer.
        """
        for trace in traces:
            if (trace.id, trace.model) not in self._rated:
                found, unread = self._ask(rating_request(self._suite, trace), read_rating)
                yield Rating(id=trace.id, model=trace.model, rater=self._backend.name, judge=True,
                             score=None if found is None else int(found.value), unread=unread,
                             explanation='' if found is None else found.explanation)

    def pairs(self, traces: Sequence[ShownTrace]) -> Iterator[Preference]:
        """A choice for each two models' traces of an item, in both orders; see ``ratings``."""
        by_item: dict[str, list[ShownTrace]] = {}
        for trace in traces:
            by_item.setdefault(trace.id, []).append(trace)
        for item, shown in by_item.items():
            for a, b in itertools.permutations(shown, 2):
                if (item, a.model, b.model) not in self._compared:
                    found, unread = self._ask(pair_request(self._suite, a, b), read_better)
                    yield Preference(
                        id=item, models=(a.model, b.model), rater=self._backend.name,
                        better=None if found is None else (a if found.value == 'A' else b).model,
                        unread=unread, explanation='' if found is None else found.explanation)

    def _ask(self, query: Generate, read: Callable[[str], Judgement],
             ) -> tuple[Judgement | None, str]:
        """Ask the model; returns its judgement, or None and the reason why it cannot be read."""
        try:
            return read(ask_one(self._backend, query).text), ''
        except Unread as error:
            return None, str(error)


def _request(suite: Suite, name: str, pictures: tuple[NDArray[np.uint8], ...],
             ) -> Generate:
    prompt = suite.prompt(name)
    return Generate(prompt.system, (prompt.before, *pictures, prompt.after), prompt.max_tokens)


def _picture(trace: ShownTrace) -> NDArray[np.uint8]:
    return draw_trace(trace.load(), trace.points, trace.text)


def _only(text: str, key: str, read: Any) -> Judgement:
    said = after_thoughts(text)
    if refuses(said):
        raise Unread('the reply says that no picture was seen, or that it will not answer')
    values = (literal.value for literal in find_literals(said[:MOST_CHARS])[0])
    found = [entry for value in values for entry in (value if isinstance(value, list) else [value])
             if isinstance(entry, dict) and key in entry]
    if not found:
        raise Unread(f'no JSON object with "{key}"')
    judged = {read(entry[key]) for entry in found}
    if len(judged) > 1:
        raise Unread(f'several objects with different values of "{key}"')
    explanation = found[-1].get('explanation')
    return Judgement(judged.pop(), explanation if isinstance(explanation, str) else '')


def _rating(value: Any) -> int:
    if isinstance(value, str) and (match := _DIGIT.fullmatch(value)):
        value = int(match[1])
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value not in range(
            LEAST, MOST + 1):
        raise Unread(f'score = {str(value)[:40]!r} is not a whole number from {LEAST} to {MOST}')
    return int(value)


def _better(value: Any) -> Better:
    match value.strip().upper() if isinstance(value, str) else None:
        case 'A':
            return 'A'
        case 'B':
            return 'B'
    raise Unread(f'better = {str(value)[:40]!r} is neither A nor B')
