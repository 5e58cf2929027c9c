"""Results of the checks of ``sightplan doctor``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check.

    Attributes:
        name: what was checked.
        ok: whether the check passed.
        detail: what was found.
        remedy: what to do, or what could be better; '' when there is nothing to do.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ''
