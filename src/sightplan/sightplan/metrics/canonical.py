"""Canonical form of a line of results, so that runs can be compared byte by byte.

Two runs of the same episodes may differ in their durations, in their time stamps (a world's clock
goes on from one episode to the next), in what caches held (plans found before, pictures that a
model has encoded before and does not charge for again), and in the places of their files. All else
must be equal, for any order of the episodes and any number of processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sightplan.metrics.judgements import WRONG_ANSWER

INCIDENTAL = frozenset({
    'seconds', 'timings_s',  # how long it took
    'stamp_ns',  # the world's time
    'cached', 'usage',  # what was kept of earlier episodes
    'message', 'error',  # words for people, which may name times and paths
    'picture', 'bag', 'images', 'images_missing'})  # what else was written, and where
"""Fields, at any depth, of a line of results that depend on more than the episode."""

_STAMP = WRONG_ANSWER.index('stamp_ns')


def canonical(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line of results without its ``INCIDENTAL`` fields."""
    plain: dict[str, Any] = _without(line)
    plain['wrong'] = [[value for place, value in enumerate(answer)
                       if place != _STAMP]
                      for answer in plain.get('wrong', ())]
    return plain


def _without(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without(item) for key, item in value.items() if key not in INCIDENTAL}
    return [_without(item) for item in value] if isinstance(value, list) else value
