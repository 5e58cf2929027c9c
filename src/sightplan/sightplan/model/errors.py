"""Named errors; each maps to one code, so that a ROS result can carry it (codes are stable)."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from sightplan.model.redaction import without_secrets

_MOST_CHARS, _TAIL, _AHEAD = 4000, 500, 40


class SightplanError(Exception):
    """Base of all expected errors; the message names the remedy.

    Attributes:
        code: stable number for ``error_code`` fields; 0 is "no error".
        partial: of a batch that failed in part: for each of its items, in order, what came of it
            before, None where nothing did. Empty where nobody says.
        defect: whether its cause is an exception that nobody expected, such as one of somebody's
            model: a log of a run shows the traceback, and so does ``sightplan -v``.
    """

    code = 1
    partial: Sequence[Any] = ()
    defect = False

    def __str__(self) -> str:
        """The message: printable, and of a length that a person reads, whatever it quotes."""
        text = super().__str__()
        if len(text) > _MOST_CHARS:
            text = without_secrets(text)
            text = f'{text[:-_TAIL][:_MOST_CHARS - _TAIL]} ... {text[-_TAIL:]}'
        return text if text.isprintable() else ''.join(map(_printable, text))


class InputError(SightplanError):
    """A file, field or argument given by a person is wrong: names it and the remedy."""

    code = 2


class DomainError(InputError):
    """A domain folder or domain file cannot be used."""

    code = 3


class ProblemError(InputError):
    """A problem file cannot be used: names file, line and reason."""

    code = 4


class InfrastructureError(SightplanError):
    """The machinery failed, not the method: the episode is unscored."""

    code = 10


class BackendError(InfrastructureError):
    """A vision-language backend could not answer."""

    code = 11


class RefusedError(BackendError):
    """A server refuses what it is asked, and would refuse the like again: names the remedy.

    A run ends at the third in a row.
    """

    code = 18


class PlannerError(InfrastructureError):
    """The planner could not be run at all (not: found no plan)."""

    code = 12


class WorldError(InfrastructureError):
    """The world (simulator or robot) could not carry out a request."""

    code = 13


class DeadlineError(InfrastructureError):
    """A node or service did not reply within its deadline."""

    code = 14


class StoppedError(WorldError):
    """A robot was stopped and nothing moves before a person re-arms it: the run breaks off."""

    code = 15


class UnknownImageError(InfrastructureError):
    """The model's node does not have the image whose id a request names: send the image."""

    code = 16


class BusyError(InfrastructureError):
    """The request must wait until running work has ended; the caller may send it again then."""

    code = 17


class CancelledError(SightplanError):
    """The work was cancelled from outside."""

    code = 20


class SpendingCapError(CancelledError):
    """A model's limit on tokens or cost is reached: the run stops cleanly, nothing is lost."""

    code = 21


def did_you_mean(text: str, choices: Sequence[str]) -> str:
    """Return the end of a message about an unknown name: the nearest choice, or ''."""
    close = difflib.get_close_matches(text, choices, n=1, cutoff=0.5)
    return f'; did you mean {close[0]!r}?' if close else ''


def counted(count: int, word: str) -> str:
    """Return a number of things in words: 1 point, 2 points."""
    return f'{count} {word}{"" if count == 1 else "s"}'


def reason_of(error: Exception) -> str:
    """Return what went wrong, without the path that messages of the system begin with."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def excerpt(value: object, most: int = 80) -> str:
    """Return input as a message quotes it: on one line, printable, of bounded length."""
    text = str(value)
    whole = len(text) <= most
    if not whole:  # of half a secret nobody could tell that it is one
        text = without_secrets(text[:_AHEAD * most])
    shown = ''.join(char if char.isprintable() else ascii(char)[1:-1] for char in text[:most])
    return shown if whole and len(shown) <= 4 * most else f'{shown[:most]}...'


def _printable(char: str) -> str:
    return char if char.isprintable() or char in '\n\t' else ascii(char)[1:-1]
