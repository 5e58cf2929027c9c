"""Self-contained HTML page that shows why episodes failed and what went wrong with samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sightplan.metrics import RULES
from sightplan.records.evidence import failure_picture
from sightplan.records.failure_picture import for_page
from sightplan_report import sample_page
from sightplan_report.failures import (
    Column,
    Failed,
    FailedEpisode,
    FailedSample,
    history,
    items_word,
)
from sightplan_report.html import jpeg_uri, render


def page(columns: Sequence[Column], chosen: Sequence[tuple[Column, Failed]]) -> str:
    """Make the page.

    Args:
        columns: what is counted.
        chosen: the failures that are shown one by one.

    Returns:
        HTML; pictures are embedded.
    """
    samples, what = sample_page.SamplesOfRuns(), items_word(columns)
    sections = [sample_page.section(failed.view(samples)) for _, failed in chosen
                if isinstance(failed, FailedSample)]
    return render(
        'failures.html.jinja', title=f'Why {what} failed', rules=RULES, columns=columns, what=what,
        failures=[_failure(column, failed) for column, failed in chosen
                  if isinstance(failed, FailedEpisode)], sections=sections)


def _failure(column: Column, failed: FailedEpisode) -> dict[str, Any]:
    data = failure_picture(failed.folder, failed.line)
    return {'column': column, 'line': failed.line,
            'picture': None if data is None else jpeg_uri(for_page(data)),
            'around': history(failed.line, failed.failure['step']), 'every': history(failed.line)}
