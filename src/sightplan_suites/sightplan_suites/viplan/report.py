"""Tables that the report adds for this suite."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sightplan_report.tables.model import Table
from sightplan_suites.viplan import imported_tables


def tables(runs: Iterable[Any]) -> list[Table]:
    """Tables of the suite; those without a row are left out.

    Args:
        runs: of this suite (``RunResults``).
    """
    return imported_tables.tables(runs)
