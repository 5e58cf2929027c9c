"""The queries and replies of an event as JSON data; the observation that they are about is apart.

Any kind of query is written and read; one of another package is read where that was imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sightplan.model import (
    BARE,
    Asked,
    Atom,
    GroundingPrompt,
    InputError,
    Observation,
    prompt_id,
)
from sightplan.model import dataclass_json as codec
from sightplan.model.query import Failed, Query, Reply

_OBSERVED = 'observed'
"""Stands for the observation that the event is about."""
_FAILED = 'failed'
"""The only field of what stands for a reply where the model could not answer: the error."""
_WRITERS: Mapping[Any, codec.Hook] = {
    Atom: str, Observation: lambda seen: _OBSERVED,
    GroundingPrompt: lambda words: prompt_id(words.name, words.sha256)}


def queries_to_json(event: Asked) -> list[dict[str, Any]]:
    """Return a batch's queries as JSON data, with pictures by id and prompts by name and hash."""
    return [query.to_json(hooks=_WRITERS) for query in event.queries]


def replies_to_json(event: Asked) -> list[dict[str, Any]]:
    """Return a batch's replies as JSON data."""
    return [{_FAILED: reply.error} if isinstance(reply, Failed) else
            reply.to_json(hooks=_WRITERS) for reply in event.replies]


def read_asked(queries: Sequence[Mapping[str, Any]], replies: Sequence[Mapping[str, Any]],
               seen: Observation) -> tuple[tuple[Query[Any], ...], tuple[Reply, ...]]:
    """Queries and replies out of JSON data.

    Prompts come with name and hash and without their words, pictures without their pixels.

    Args:
        queries: see ``queries_to_json``.
        replies: one for each query.
        seen: the observation that the event is about.

    Raises:
        InputError: they are something else, or of a kind that nobody has imported.
    """
    if len(queries) != len(replies):
        raise InputError(f'{len(queries)} queries with {len(replies)} replies')

    hooks: Mapping[Any, codec.Hook] = {
        Atom: Atom.parse, Observation: lambda _: seen, GroundingPrompt: named_prompt}
    asked = tuple(Query.from_json(one, codec.PictureElsewhere, hooks=hooks) for one in queries)
    replied = tuple(
        Failed(str(one[_FAILED])) if set(one) == {_FAILED} else
        codec.decode(query.reply_type, one, codec.PictureElsewhere, hooks=hooks)
        for query, one in zip(asked, replies, strict=True))
    return asked, replied


def named_prompt(name: str) -> GroundingPrompt:
    """A prompt without its words, of the name and hash that ``prompt_id`` gives."""
    name, _, sha256 = name.partition('@')
    return GroundingPrompt(name, sha256=sha256) if name else BARE
