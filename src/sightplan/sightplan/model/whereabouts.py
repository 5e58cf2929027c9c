"""``Whereabouts``: the three answers to "where is it?"."""

from __future__ import annotations

from enum import StrEnum


class Whereabouts(StrEnum):
    """Answer about a target in a picture.

    HERE and NOT_HERE come with a probability, CANNOT_TELL with a reason.
    """

    HERE = 'here'
    NOT_HERE = 'not here'
    CANNOT_TELL = 'cannot tell'


UNLIKE = 'the picture is unlike anything the model was made for'
"""Reason why nothing can be told about a foreign picture."""

MOST_FOREIGN = 0.5
"""Largest probability of being foreign at which a picture is answered about."""


def is_foreign(probability: float | None) -> bool:
    """Whether a picture is none of the kind that the model was made for.

    Args:
        probability: that it is none; None where the model does not tell.
    """
    return probability is not None and probability > MOST_FOREIGN
