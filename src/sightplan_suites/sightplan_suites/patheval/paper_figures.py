"""Tables 1, 2 and 3 of the paper, made again from its models' outputs, beside what it prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightplan.metrics.measures import aggregate
from sightplan.runs.published import Published, PublishedNumbers
from sightplan_suites.patheval.asking import CHOICE, PERCEPTION, key_of
from sightplan_suites.patheval.scoring import lower_measure, measure_of, positions
from sightplan_suites.paths.descriptors import NAMES

Line = Mapping[str, Any]
NO_IMAGES, TEST = 'no_images', 'test'
VIEWS = {'2d': '2D', '3d': '3D'}
CONDITIONS = {
    'seen_2d': ('2D', '2d', 'none'), 'described_2d': ('2D, described', '2d', 'descriptors'),
    'seen_3d': ('3D', '3d', 'none'), 'described_3d': ('3D, described', '3d', 'descriptors'),
    'values': ('values alone', '', NO_IMAGES)}
"""The columns of table 1: heading, view and variant."""
ORDERS = {'none': 'default', 'flipped': 'flipped', 'random': 'random names'}
"""The columns of table 2."""
PLACES = ('first', 'second')
EQUAL = 'equal'
_COLUMNS = {1: [heading for heading, *_ in CONDITIONS.values()],
            2: [f'{heading}, {place}' for heading in ORDERS.values() for place in PLACES],
            3: list(VIEWS.values())}
"""Columns of each table, in the paper's order."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that a table of the paper has, too.

    Attributes:
        table: its number.
        model: the paper's name of the model, or that of the outputs.
        row: what else names the row, '' for nothing.
        column: heading of the column.
        value: from the outputs: a fraction, or a count.
        n: number of outputs that it is of.
        printed: the printed figure, None where there is none.
    """

    table: int
    model: str
    row: str
    column: str
    value: float
    n: int
    printed: float | None

    @property
    def digits(self) -> int:
        """Digits behind the point that the table prints."""
        return {1: 3, 2: 0, 3: 2}[self.table]

    @property
    def difference(self) -> str:
        """``equal`` if the figure rounds to the printed one, else by how much it differs."""
        if self.printed is None:
            return ''
        if abs(self.value - self.printed) <= 0.5 * 10 ** -self.digits + 1e-9:
            return EQUAL
        return f'{self.value - self.printed:+.{self.digits}f}'

    @property
    def text(self) -> str:
        """The figure as a cell: alone, or with the printed one and the difference."""
        value = f'{self.value:.{self.digits}f}'
        if self.printed is None:
            return value
        beside = '' if self.difference == EQUAL else f'paper {self.printed:.{self.digits}f}, '
        return f'{value} ({beside}{self.difference})'

    def as_json(self) -> dict[str, Any]:
        """The figure as plain data."""
        return {'table': self.table, 'model': self.model, 'row': self.row, 'column': self.column,
                'value': self.value, 'n': self.n, 'printed': self.printed,
                'difference': self.difference}


def figures_of(lines: Iterable[Line], published: PublishedNumbers) -> list[Figure]:
    """All figures of the tables 1, 2 and 3 that lines give, table by table.

    Args:
        lines: of the split ``test``, of any models.
        published: the paper's numbers.
    """
    by_model: dict[str, list[Line]] = {}
    for line in lines:
        by_model.setdefault(line['model'], []).append(line)
    makers: tuple[Callable[[str, Sequence[Line], PublishedNumbers], Iterator[Figure]], ...] = (
        _accuracy, _positions, _perception)
    return [figure for make in makers for model, own in by_model.items()
            for figure in make(model, own, published)]


def condition_of(lines: Sequence[Line], view: str, variant: str) -> list[Line]:
    """The lines about choices in a view ('' for any) and a variant."""
    return [line for line in lines if line['details']['asks'] == CHOICE
            and line['details']['variant'] == variant
            and (not view or line['details']['view'] == view)]


def published_accuracy(published: PublishedNumbers, model: str, view: str, variant: str,
                       ) -> Published | None:
    """The cell of table 1 with a model's accuracy."""
    where = {'split': TEST, 'variant': variant} | ({'view': view} if view else {})
    return published.find(model, 'solved', **where)


def published_count(published: PublishedNumbers, model: str, view: str, variant: str, place: str,
                    ) -> Published | None:
    """The cell of table 2 with how often a model named the first or second path."""
    return published.find(model, f'{place}_count', split=TEST, view=view, variant=variant)


def published_perception(published: PublishedNumbers, model: str, view: str, name: str,
                         pairs: str = TEST) -> Published | None:
    """The cell of table 3 with a model's accuracy in a descriptor."""
    return published.find(model, 'perceived', set=pairs, view=view, descriptor=name)


def _value(found: Published | None) -> float | None:
    return None if found is None else found.value


def _accuracy(model: str, lines: Sequence[Line], published: PublishedNumbers) -> Iterator[Figure]:
    for heading, view, variant in CONDITIONS.values():
        own = condition_of(lines, view, variant)
        found = aggregate(own, measure_of('solved'), resamples=0)
        if found.value is not None:
            yield Figure(1, model, '', heading, found.value, found.n,
                         _value(published_accuracy(published, model, view, variant)))


def _positions(model: str, lines: Sequence[Line], published: PublishedNumbers) -> Iterator[Figure]:
    for view, row in VIEWS.items():
        for variant, heading in ORDERS.items():
            own = condition_of(lines, view, variant)
            counts = positions(own)
            for place in PLACES if own else ():
                yield Figure(2, model, row, f'{heading}, {place}', counts[place], len(own),
                             _value(published_count(published, model, view, variant, place)))


def _perception(model: str, lines: Sequence[Line], published: PublishedNumbers,
                ) -> Iterator[Figure]:
    asked = [line for line in lines if line['details']['asks'] == PERCEPTION]
    for name in NAMES:
        for view, heading in VIEWS.items():
            own = [line for line in asked if line['details']['view'] == view]
            found = aggregate(own, measure_of(lower_measure(name)), resamples=0)
            if found.value is not None:
                yield Figure(3, model, key_of(name), heading, found.value, found.n,
                             _value(published_perception(published, model, view, name)))


def layout(figures: Sequence[Figure], table: int) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of a table as the paper prints it; empty where it has no figure."""
    own = [figure for figure in figures if figure.table == table]
    there = {figure.column for figure in own}
    columns = [column for column in _COLUMNS[table] if column in there]
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for figure in own:
        rows.setdefault((figure.model, figure.row), {})[figure.column] = figure.text
    headings = {1: (), 2: ('view',), 3: ('descriptor',)}[table]
    return ['model', *headings, *columns] if own else [], [
        [model, *([row] if headings else []), *(cells.get(column, '-') for column in columns)]
        for (model, row), cells in rows.items()]
