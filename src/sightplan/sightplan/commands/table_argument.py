"""``--table``, wherever a command takes one: short for the backend that answers by tables."""

from __future__ import annotations

from sightplan.model import InputError

OF_TABLES = 'noisy_oracle'


def backend_with(table: str | None, backend: str | None) -> str | None:
    """The backend that is meant.

    Args:
        table: value of ``--table``; None: not given.
        backend: value of ``--backend``; None: not given.

    Raises:
        InputError: they do not go together.
    """
    if table is None:
        return backend
    if backend not in (None, OF_TABLES):
        raise InputError(f'--table is for --backend {OF_TABLES}, not {backend}; leave one of the '
                         'two out')
    return OF_TABLES
