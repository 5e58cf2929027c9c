"""Self-contained HTML page that shows why episodes failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sightplan.metrics import RULES
from sightplan.records.evidence import failure_picture
from sightplan.records.failure_picture import for_page
from sightplan_report.failures import Column, FailedEpisode, history
from sightplan_report.html import jpeg_uri, render


def page(columns: Sequence[Column], chosen: Sequence[tuple[Column, FailedEpisode]]) -> str:
    """Make the page.

    Args:
        columns: what is counted.
        chosen: the failures that are shown one by one.

    Returns:
        HTML; pictures are embedded.
    """
    return render('failures.html.jinja', title='Why episodes failed', rules=RULES,
                  columns=columns,
                  failures=[_failure(column, failed) for column, failed in chosen])


def _failure(column: Column, failed: FailedEpisode) -> dict[str, Any]:
    data = failure_picture(failed.folder, failed.line)
    return {'column': column, 'line': failed.line,
            'picture': None if data is None else jpeg_uri(for_page(data)),
            'around': history(failed.line, failed.failure['step']), 'every': history(failed.line)}
