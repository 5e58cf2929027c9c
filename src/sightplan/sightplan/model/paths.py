"""Paths that a person gave."""

from __future__ import annotations

from pathlib import Path

from sightplan.model.errors import InputError


def user_path(given: Path | str) -> Path:
    """The path with ``~`` and ``~name`` replaced by home directories.

    Raises:
        InputError: there is no such user, or the home directory is not known.
    """
    try:
        return Path(given).expanduser()
    except RuntimeError as error:
        raise InputError(f'{given}: its home directory is not known; give the path without '
                         f'"~"') from error
