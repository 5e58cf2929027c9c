"""Scores again, from what was recorded: the same line of results as the live scorer's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sightplan.model import EpisodeEnded, EpisodeEvent, Stepped, StopReason
from sightplan.records.recorded import RecordedEpisode
from sightplan.runs import Suite, episode_scorer

NOT_COMPARED = ('bag', 'images', 'images_missing', 'failure.picture')
"""Fields of a line that tell where its files are, not what happened; ``a.b`` is b in a."""

_MOST_CHARACTERS = 200


def rescore(episode: RecordedEpisode, suite: Suite | None = None) -> dict[str, Any]:
    """Score a recorded episode.

    The line equals the live one in all but ``NOT_COMPARED``, whatever the method and the domain.
    An episode that was cut off, or of which an event is lost, ends there with an error of the
    machinery and is not scored, as it is live. Without truth nothing can be scored, either, which
    is no error: what needs no truth is counted.

    Args:
        episode: as ``read_episodes`` gives it.
        suite: that it belongs to, None for none.

    Returns:
        a line of results, see ``EpisodeScorer.result``; plain JSON data.
    """
    truth = None if episode.truth is None else episode.truth.repeated()
    scorer = episode_scorer(truth, suite)
    for event in _whole(episode):
        if isinstance(event, Stepped) and truth is not None:
            truth.look_back_to(event.feedback.stamp_ns)
        scorer.record(event)
    line: dict[str, Any] = json.loads(json.dumps(scorer.result()))
    return line


def _whole(episode: RecordedEpisode) -> Iterator[EpisodeEvent]:
    """The events up to the first that is lost, and an end in any case."""
    events: Sequence[EpisodeEvent] = episode.events
    if episode.lost:
        total = len(episode.events) + len(episode.lost)
        why = f"message {episode.lost[0]} of the agent's {total} was lost"
        events = events[:episode.lost[0]]
    elif not isinstance(events[-1], EpisodeEnded):
        why = 'the recording ends before the episode does'
    yield from events
    if not isinstance(events[-1], EpisodeEnded):
        yield EpisodeEnded(StopReason.ERROR, why)


def differences(live: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """What is not the same in two lines of results of one episode.

    Args:
        live: as it was committed.
        again: of ``rescore``.

    Returns:
        ``field: was X, now Y`` for each field but ``NOT_COMPARED``; empty if they are equal. A
        live line of an earlier version may lack fields; what is not there is compared with null.
    """
    return list(_differences(live, again, ''))


def _differences(live: Any, again: Any, path: str) -> Iterator[str]:
    if isinstance(live, Mapping) and isinstance(again, Mapping):
        for key in dict.fromkeys((*live, *again)):
            inner = f'{path}.{key}' if path else str(key)
            if inner not in NOT_COMPARED:
                yield from _differences(live.get(key), again.get(key), inner)
    elif (isinstance(live, list) and isinstance(again, list) and len(live) == len(again)):
        for number, (before, now) in enumerate(zip(live, again, strict=True)):
            yield from _differences(before, now, f'{path}[{number}]')
    elif live != again:
        yield f'{path}: was {_short(live)}, now {_short(again)}'


def _short(value: Any) -> str:
    words = json.dumps(value)
    return words if len(words) <= _MOST_CHARACTERS else f'{words[:_MOST_CHARACTERS]} ...'
