"""Items of runs that a report may show on a page of their own."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan_report.results import Group, Line, Results, RunResults


@dataclass(frozen=True, slots=True)
class Chosen:
    """An item, with its run and the group of runs that it is reported in."""

    group: Group
    run: RunResults
    line: Line
    rank: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """Unique key of the item: run folder and id."""
        return str(self.run.folder), str(self.line['id'])


def all_lines(results: Results) -> list[Chosen]:
    """Every item of the results, in the order of groups, runs and lines."""
    return [Chosen(group, run, line) for group in results.groups for run in group.runs
            for line in run.lines]
