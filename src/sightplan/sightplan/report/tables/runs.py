"""What was run: the runs behind all other tables."""

from __future__ import annotations

from typing import Any

from sightplan.report.results import Results, RunResults, are_known
from sightplan.report.tables.model import Column, Table

_COLUMNS = (
    Column('run', 'run'), Column('domain', 'domain'), Column('splits', 'splits'),
    Column('method', 'method'), Column('backend', 'backend'), Column('model', 'model'),
    Column('exact_model', 'exact model'), Column('seed', 'seed', 'count'),
    Column('failure_probability', 'failing actions', 'share'),
    Column('privileged', 'told what is hidden'), Column('calibrated', 'calibrated', 'bool'),
    Column('planned', 'planned', 'count', 'episodes'),
    Column('episodes', 'done', 'count', 'episodes'),
    Column('scored', 'scored', 'count', 'episodes'),
    Column('solved', 'solved', 'count', 'episodes'),
    Column('errors', 'errors', 'count', 'episodes'),
    Column('cancelled', 'cancelled', 'count', 'episodes'),
    Column('sessions', 'sessions', 'count'), Column('started', 'first start'),
    Column('commits', 'commits'), Column('sightplan', 'sightplan'), Column('python', 'Python'),
    Column('platform', 'platform'), Column('packages', 'packages'),
    Column('domain_sha256', 'domain', group='hashes'),
    Column('questions_sha256', 'questions', group='hashes'),
    Column('prompt_sha256', 'prompt', group='hashes'),
    Column('problems_sha256', 'problems', group='hashes'),
    Column('seconds', 'seconds', 'seconds'), Column('cost_usd', 'USD', 'usd'),
    Column('folder', 'folder'))


def runs(results: Results) -> Table:
    """Provenance of every run."""
    return Table('runs', 'Runs', _COLUMNS, tuple(_row(run) for run in results.runs), (
        'A row for each run directory. "+" after a commit: files had been changed since. Versions '
        'are those of the last session. Spend counts committed episodes only, and is empty where '
        'nobody counted it.'))


def _row(run: RunResults) -> dict[str, Any]:
    summary, identity = run.summary, run.identity
    last = run.provenance
    packages = last.get('packages')
    usage = summary['usage'] or {}
    return {
        'run': run.name, 'domain': run.domain, 'splits': ', '.join(run.splits),
        'method': run.method, 'backend': run.backend or None, 'model': run.model or None,
        'exact_model': _text(identity.get('model')), 'seed': run.seed,
        'failure_probability': run.failure_probability, 'privileged': run.privileged or None,
        'calibrated': run.calibrated, 'planned': run.planned, 'episodes': summary['episodes'],
        'scored': summary['scored'], 'solved': summary['solved'], 'errors': summary['errors'],
        'cancelled': summary['cancelled'], 'sessions': len(run.sessions) or None,
        'started': _text(run.sessions[0].get('started')) if run.sessions else None,
        'commits': ', '.join(run.commits) or None,
        'sightplan': _text(last.get('sightplan')), 'python': _text(last.get('python')),
        'platform': _text(last.get('platform')),
        'packages': ', '.join(f'{name} {version}' for name, version in packages.items())
        if isinstance(packages, dict) and packages else None,
        'domain_sha256': _text(identity.get('domain_sha256')),
        'questions_sha256': _text(identity.get('questions_sha256')),
        'prompt_sha256': _hash(identity.get('prompt')),
        'problems_sha256': _hash(identity.get('problems')),
        'seconds': summary['seconds'] if are_known(run.lines, 'seconds') else None,
        'cost_usd': usage.get('cost_usd'),
        'folder': str(run.folder)}


def _text(value: object) -> str | None:
    return str(value) if value else None


def _hash(section: object) -> str | None:
    return _text(section.get('sha256')) if isinstance(section, dict) else None
