"""Tables that the report adds for this suite: table I beside ours, measures, causes of failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.metrics.measures import aggregate
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import load_suite
from sightplan_report.conditions import samples_by_split
from sightplan_report.grouping import grouped
from sightplan_report.results import Group, Results
from sightplan_report.tables.like_for_like import compared, paper_compared
from sightplan_report.tables.model import Table, make
from sightplan_suites.grounded_plan.records import HORIZONS, INSTRUCTION_KINDS
from sightplan_suites.grounded_plan.scoring import MEASURES, part_of

Line = Mapping[str, Any]
RowKey = tuple[str, str, str, str, str, str]
"""Method, its options, backend, model, hash of the data, grasp criterion."""
_FILE = Path(__file__).with_name('report.yaml')
_HERE, _PAPER = 'here', 'paper, table I'
_PARTS = {f'{horizon}/{kind}': f'{kind}, {horizon}'
          for kind in INSTRUCTION_KINDS for horizon in HORIZONS}
_MEASURES = {measure.name: measure for measure in MEASURES}
_SYSTEMS = {'end_to_end': 'end to end', 'decoupled': 'decoupled', 'set_of_marks': 'set of marks'}


def tables(runs: Iterable[Any]) -> list[Table]:
    """Tables of the suite; those without a row of ours are left out.

    Args:
        runs: of this suite (``RunResults``).
    """
    groups = grouped(_lines(runs), lambda found: found[0])
    own = {who: [line for _, line, _ in found] for who, found in groups.items()}
    if not own:
        return []
    conditions = {who: compared(found[0][2], found[0][1]['split'])
                  for who, found in groups.items()}
    suite = load_suite(Path(__file__).parent.name)
    made = (make('plans', [*_plans(own, conditions), *_published(suite)], _FILE, part=_PARTS),
            make('measures', _all_measures(own), _FILE),
            make('causes', _causes(own), _FILE, part=_PARTS))
    return [table for table in made if table.rows]


def _lines(runs: Iterable[Any]) -> Iterator[tuple[RowKey, Line, Group]]:
    """Yield scored lines with their row keys, and the groups of runs that they are of."""
    pairs = [(group, run) for group in Results(tuple(runs)).groups for run in group.runs]
    for group, run in pairs:
        options = ', '.join(f'{name} {value}' for name, value in sorted(
            run.identity['method'].items()) if name != 'name')
        # The splits of one run, or of several, are one row: each has data of its own.
        data = sorted({part['sha256'] for member in group.runs
                       for part in samples_by_split(member.identity).values()})
        for line in run.lines:
            if line['measures'].get('tsr') is not None:
                yield (run.method, options, run.backend, line['model'], ' '.join(data),
                       line['details']['grasp_criterion']), line, group


def _named(who: RowKey) -> dict[str, Any]:
    return {key: value or None for key, value in zip(
        ('method', 'options', 'backend', 'model', 'data', 'criterion'), who, strict=True)}


def _plans(own: Mapping[RowKey, Sequence[Line]],
           conditions: Mapping[RowKey, Mapping[str, str | None]]) -> Iterator[dict[str, Any]]:
    for who, lines in own.items():
        row = {'source': _HERE, **_named(who), **conditions[who]}
        for part in _PARTS:
            there = [line for line in lines if part_of(line) == part]
            found = aggregate(there, _MEASURES['tsr'])
            row |= {f'{part}_tsr': found.value, f'{part}_low': found.low,
                    f'{part}_high': found.high, f'{part}_n': found.n,
                    f'{part}_arr': _value('arr', there)}
        yield row


def _published(suite: Suite) -> Iterator[dict[str, Any]]:
    for model in suite.published.models:
        for system, words in _SYSTEMS.items():
            row: dict[str, Any] = {}
            for part in _PARTS:
                horizon, kind = part.split('/')
                for measure in ('tsr', 'arr'):
                    found = suite.published.find(model, measure, split=horizon, instruction=kind,
                                            system=system)
                    if found is not None:
                        row |= {f'{part}_{measure}': found.value, f'{part}_n': found.n}
            if row:
                yield {'source': _PAPER, 'method': words, 'model': model,
                       **paper_compared(suite), **row}


def _all_measures(own: Mapping[RowKey, Sequence[Line]]) -> Iterator[dict[str, Any]]:
    for who, lines in own.items():
        parts = grouped(lines, part_of)
        for part in _PARTS:
            if part not in parts:
                continue
            there = parts[part]
            tsr, arr = (aggregate(there, _MEASURES[name]) for name in ('tsr', 'arr'))
            yield {**_named(who), 'part': _PARTS[part], 'n': tsr.n, 'scenes': tsr.clusters,
                   **{name: _value(name, there) for name in (
                       'tsr_lenient', 'precision', 'f1', 'unread')},
                   'tsr': tsr.value, 'tsr_low': tsr.low, 'tsr_high': tsr.high,
                   'arr': arr.value, 'arr_low': arr.low, 'arr_high': arr.high}


def _causes(own: Mapping[RowKey, Sequence[Line]]) -> Iterator[dict[str, Any]]:
    for who, lines in own.items():
        failed = [line for line in lines if line['cause']]
        counts = Counter(line['cause'] for line in failed)
        for cause, count in counts.most_common():
            there = Counter(part_of(line) for line in failed if line['cause'] == cause)
            yield {**_named(who), 'cause': cause, 'count': count,
                   'fraction': count / len(failed),
                   **{f'{part}_count': there[part] for part in _PARTS}}


def _value(name: str, lines: Sequence[Line]) -> float | None:
    return aggregate(lines, _MEASURES[name], resamples=0).value
