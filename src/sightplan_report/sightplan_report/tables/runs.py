"""Table of the runs behind all other tables."""

from __future__ import annotations

from typing import Any

from sightplan_report.conditions import protocol_of
from sightplan_report.results import Results, RunResults
from sightplan_report.tables.model import Table, make

_PROVENANCE = ('sightplan', 'python', 'platform')
_COUNTS = ('episodes', 'scored', 'solved', 'errors', 'cancelled', 'seconds')


def runs(results: Results) -> Table:
    """Provenance of every run."""
    return make('runs', map(_row, results.runs))


def _row(run: RunResults) -> dict[str, Any]:
    summary, identity = run.summary, run.identity
    last = run.sessions[-1] if run.sessions else {}
    return {
        'run': run.name, 'domain': run.domain, 'splits': ', '.join(run.splits),
        'protocol': protocol_of(identity),
        'method': run.method, 'backend': run.backend or None, 'model': run.model or None,
        'exact_model': _text(run.exact_model), 'seed': run.seed,
        'failure_probability': run.failure_probability, 'privileged': run.privileged or None,
        'calibrated': run.calibrated, 'planned': run.planned,
        **{key: summary[key] for key in _COUNTS}, 'sessions': len(run.sessions) or None,
        'started': _text(run.sessions[0].get('started')) if run.sessions else None,
        'commits': ', '.join(run.commits) or None,
        **{key: _text(last.get(key)) for key in _PROVENANCE},
        'packages': ', '.join(f'{name} {version}' for name, version in
                              last.get('packages', {}).items()) or None,
        'imported': _text((identity.get('imported') or {}).get('file')),
        **{key: _text(identity.get(key)) for key in ('domain_sha256', 'questions_sha256')},
        **{f'{key}_sha256': _text((identity.get(key) or {}).get('sha256'))
           for key in ('prompt', 'problems')},
        'cost_usd': (summary['usage'] or {}).get('cost_usd'), 'folder': str(run.folder)}


def _text(value: object) -> str | None:
    return str(value) if value else None
