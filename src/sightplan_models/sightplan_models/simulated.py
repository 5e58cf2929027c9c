"""``simulated``: the truth with errors, for every kind of query that defines its errors.

A kind of query knows what the truth replies (``Query.true_reply``) and how a model errs about it
(``Query.wrong_reply``). This backend gives the one or the other, wrong with probability ``error``.
It stands in for a model in experiments with a kind for which nobody has published errors; for the
others there are ``noisy_oracle``, ``noisy_reader``, ``noisy_locator`` and ``noisy_critic``.

Every draw is a hash of seed, episode and all that the query shows, so that the order of queries
does not matter, and the same query always gets the same reply.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sightplan.model import TruthSource, param
from sightplan.model.query import (
    Deadline,
    Query,
    Reply,
    Traits,
    check_accepts,
    known_kinds,
)
from sightplan_models._hashed_draws import uniform


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the backend ``simulated``."""

    error: float = param(0.1, 'Probability that a reply is wrong', low=0.0, high=1.0)
    seed: int = param(0, 'Seed of the errors', low=0)


class _KindsWithTruth:
    """Attribute of a class and of its instances: all imported kinds that state their truth."""

    def __get__(self, instance: object, owner: type | None = None,
                ) -> frozenset[type[Query[Any]]]:
        return frozenset(kind for kind in known_kinds().values()
                         if kind.true_reply is not Query.true_reply)


class Backend:
    """Replies as the truth does, but for errors.

    Args:
        settings: see Settings.
        truth: what is true.
    """

    accepts = _KindsWithTruth()
    traits = Traits('state', pixels=False, texts=True, prompt=False, history=True)
    usage = None

    def __init__(self, settings: Settings, truth: TruthSource) -> None:
        self._settings, self._truth = settings, truth
        self._episode = ''

    @property
    def name(self) -> str:
        """Settings, for example ``simulated(error 0.1, seed 0)``."""
        return f'simulated(error {self._settings.error:g}, seed {self._settings.seed})'

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Errors of another episode are drawn afresh."""
        self._episode = episode_id

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Reply as the truth does, but for errors; contract in ``Model``.

        Raises:
            InputError: a kind does not tell what is true, or how models err about it.
        """
        return [self._reply(query) for query in queries]

    def _reply(self, query: Query[Any]) -> Reply:
        if type(query).true_reply is Query.true_reply:
            check_accepts(self, type(query))
        draw = functools.partial(uniform, str(self._settings.seed), self._episode, query.key)
        wrong = self._settings.error > 0.0 and draw('wrong') < self._settings.error
        reply: Reply = (query.wrong_reply(self._truth, draw) if wrong
                        else query.true_reply(self._truth))
        return reply
