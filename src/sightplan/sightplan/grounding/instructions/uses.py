"""Descriptions of things by what they are for: "what one eats with", "something to drink from"."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from sightplan.domains.tabletop.uses import uses
from sightplan.grounding.instructions.words import ENDS, Phrases


@functools.cache
def _heads() -> Phrases:
    words = uses()
    return Phrases(
        [*((phrase, False) for phrase in words.all), *((phrase, True) for phrase in words.one)]
    )


@functools.cache
def _cue_words() -> frozenset[str]:
    return frozenset(
        word for use in uses().uses.values() for cue in use.cues for word in cue.split()
    )


def use_at(
    tokens: Sequence[str], start: int, ends: Callable[[int], bool]
) -> tuple[int, tuple[str, ...], bool] | None:
    """Return the description by use that begins at an index.

    Args:
        tokens: words of the text.
        start: the index.
        ends: whether the description must have ended before an index.

    Returns:
        Its end, the categories that serve, and whether any one of them will do; None if no use is
        told there, or by a word that is not known.
    """
    head = _heads().at(tokens, start)
    if head is None:
        return None
    known = {*uses().between}
    end = start + head[0]
    said: list[str] = []
    while end < len(tokens) and tokens[end] not in ENDS and not (said and ends(end)):
        if tokens[end] not in known and tokens[end] not in _cue_words():
            break
        said.append(tokens[end])
        end += 1
    found = [
        (len(cue.split()), use.things)
        for use in uses().uses.values()
        for cue in use.cues
        if set(cue.split()) <= set(said)
    ]
    most = max((length for length, _ in found), default=0)
    meant = {things for length, things in found if length == most}
    if len(meant) != 1:
        return None
    return end, meant.pop(), bool(head[1])


def doubtful_for(things: tuple[str, ...]) -> tuple[str, ...]:
    """Return what somebody might count in, of a use for which some categories serve."""
    return next((use.doubtful for use in uses().uses.values() if use.things == things), ())


def noun_at(tokens: Sequence[str], index: int) -> tuple[str, ...] | None:
    """Return the categories that a noun such as "toys" means; None if there is none there."""
    name = uses().nouns.get(tokens[index]) if index < len(tokens) else None
    return None if name is None else uses().uses[name].things


def usual_place(verb: str) -> tuple[str, ...]:
    """Return the kinds of places to which a verb brings things, if no place is named."""
    return uses().verbs.get(verb, ())
