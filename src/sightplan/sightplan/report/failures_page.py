"""One HTML page, without any other file, that shows why episodes failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sightplan.metrics import RULES, Cause, wilson
from sightplan.records.evidence import failure_picture
from sightplan.records.failure_picture import for_page
from sightplan.report.failures import Column, FailedEpisode, history
from sightplan.report.html import jpeg_uri, render


def page(columns: Sequence[Column], chosen: Sequence[tuple[Column, FailedEpisode]]) -> str:
    """Make the page.

    Args:
        columns: what is counted.
        chosen: the failures that are shown one by one.

    Returns:
        HTML; pictures are embedded.
    """
    return render('failures.html.jinja', title='Why episodes failed', rules=RULES,
                  columns=[_counts(column) for column in columns],
                  failures=[_failure(column, failed) for column, failed in chosen])


def _counts(column: Column) -> dict[str, Any]:
    n = len(column.failed)
    causes = []
    for name, count in column.counts().items():
        low, high = wilson(count, n)
        causes.append({'name': name, 'count': count, 'share': count / n, 'low': low, 'high': high})
    return {'title': ', '.join(filter(None, (column.method, column.model, column.split))),
            'run': column.run, 'episodes': column.episodes, 'solved': column.solved, 'failed': n,
            'causes': causes}


def _failure(column: Column, failed: FailedEpisode) -> dict[str, Any]:
    line, failure = failed.line, failed.failure
    data = failure_picture(failed.folder, line)
    return {
        'key': f'{column.run}/{line["id"]}',
        'line': {'stop': '', 'unreadable': (), **line},
        'failure': failure, 'subtitle': ', '.join(filter(None, (
            column.method, column.model, column.run))),
        'picture': None if data is None else jpeg_uri(for_page(data)),
        'known': failure['cause'] in {cause.value for cause in Cause},
        'around': _steps(history(line, failure['step'])), 'every': _steps(history(line))}


def _steps(steps: Sequence[tuple[int, Mapping[str, Any]]]) -> list[tuple[int, dict[str, Any]]]:
    return [(number, {'action': step.get('action') or '-', 'status': step.get('status') or '',
                      'became': step.get('outcome') or step.get('proposal') or ''})
            for number, step in steps]
