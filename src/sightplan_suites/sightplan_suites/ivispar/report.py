"""Tables and figures that the report adds for this suite: tables 2 to 5 of the paper and more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from textwrap import wrap
from typing import Any

from sightplan.metrics.measures import MEAN, Aggregate, Measure, aggregate
from sightplan.runs.suite_finding import load_suite
from sightplan_report.conditions import disambiguate_labels
from sightplan_report.figures import Figure
from sightplan_report.grouping import grouped
from sightplan_report.labels import labels
from sightplan_report.lines import SAMPLE
from sightplan_report.panels import BarPanel, HeatPanel, StackPanel, bars, heatmaps, stacks
from sightplan_report.plots import Curve, Dot, curves
from sightplan_report.results import Group, Results
from sightplan_report.tables.common import group_cells, unlike_rules
from sightplan_report.tables.like_for_like import compared, paper_compared
from sightplan_report.tables.model import Table, make
from sightplan_suites.ivispar import measures as formulas
from sightplan_suites.ivispar.classes import CLASSES
from sightplan_suites.ivispar.inference import FORMAT_ERRORS
from sightplan_suites.ivispar.scoring import COUNTED, MEASURES, SAMPLE_MEASURES

Line = Mapping[str, Any]
_FILE = Path(__file__).with_name('report.yaml')
_NAMED = ('method', 'backend', 'model', 'variant')
_DOMAIN = 'sliding'
_HUMAN, _GEOMS, _RANDOM, _AVERAGE = 'human', 'geoms', 'Random', 'Average'
_OWN = '-'
"""Split of problems of one's own, which may be the paper's."""
_HERE, _AUTO = 'here', 'auto'
_VIEWS = {'3d': '3D', '2d': '2D', 'text': 'text'}
_ORDER = tuple(_VIEWS)
_SIGNS = re.compile('[^A-Za-z0-9]+')
_EPISODES = {measure.name: measure for measure in MEASURES}
_SAMPLES = {measure.name: measure for measure in SAMPLE_MEASURES}
_MOST_PANELS, _MOST_HEATS, _MOST_CURVES, _TITLE = 9, 6, 8, 32
_STEPS = {'distance': 'distance to the goal [moves]', 'regret': 'regret R(t) [moves]',
          'progress': 'progress [per cent]'}
_RESAMPLES = 300  # bootstrap resamples for each of the 21 steps


@dataclass(frozen=True)
class Row:
    """The items of one method and model on one split, seen in one way.

    Attributes:
        cells: what names it: method, backend, model, variant and others of a group.
        exact_model: the model, with version and settings.
        split: of the items; that of problems of one's own is ``_OWN``.
        view: ``3d``, ``2d`` or ``text``.
        samples: whether the items are boards; else they are episodes.
        lines: the items.
        ruled: whether budget, end at the goal and the way the goal is given are the suite's.
        conditions: what the items were measured with, and what of it is unlike the paper's, see
            ``like_for_like.compared``.
    """

    cells: Mapping[str, Any]
    exact_model: str
    split: str
    view: str
    samples: bool
    lines: tuple[Line, ...] = field(repr=False)
    ruled: bool = True
    conditions: Mapping[str, str | None] = field(default_factory=dict)

    def value(self, name: str, resamples: int = 1000) -> Aggregate:
        """Aggregate of one of the suite's measures over the row's lines."""
        known = _SAMPLES if self.samples else _EPISODES
        return aggregate(self.lines, known[name], resamples)

    @property
    def like_the_papers(self) -> bool:
        """Whether its episodes are of geoms as ruled, or of one's own of known number and c1."""
        if self.samples or self.split != _OWN:
            return not self.samples and self.split == _GEOMS and self.ruled
        known = [line for line in self.lines if line['details']]
        return bool(known) and all(
            line['optimal_length'] is not None and 'pieces' in line['details']
            and not line['details'].get('tiles') for line in known)


def tables(runs: Iterable[Any]) -> list[Table]:
    """Tables of the suite; those without a row of ours are left out.

    Args:
        runs: of this suite (``RunResults``).
    """
    rows = _rows(runs)
    episodes, boards = ([row for row in rows if row.samples is kind] for kind in (False, True))
    made = []
    if episodes:
        made += [make('completed', [*_completed(episodes, boards), *_published(
            episodes, ('completed', 'deviation', 'inference'))], _FILE),
            make('actions', [*_numbers(episodes, CLASSES), *_published(episodes, CLASSES)],
                 _FILE)]
    if boards:
        counts = {name: name for name in COUNTED}
        made += [make('boards', [*_boards(boards), *_published(boards, (*COUNTED, 'inference'))],
                      _FILE, count=counts, kind=list(FORMAT_ERRORS)),
                 make('boards_by_pieces', _by_pieces(boards), _FILE, count=counts)]
    return made


def figures(runs: Iterable[Any]) -> Iterator[Figure]:
    """Figures of the suite; a figure without data has an empty picture.

    Args:
        runs: of this suite (``RunResults``).
    """
    rows = _rows(runs)
    episodes, boards = ([row for row in rows if row.samples is kind] for kind in (False, True))
    for split, found in grouped(episodes, lambda row: row.split).items():
        yield _bars(split, found, 'solved', 'completed', 'Completed',
                    'fraction of episodes completed')
        yield _bars(split, found, 'deviation', 'deviation', 'Step deviation',
                    'distance to the goal after c1 actions', fraction=False)
        yield _stacks(split, found)
        yield _by_step(split, found)
    yield _errors(boards)
    yield _heatmaps(episodes)


# ------------------------------------------------------------------------------- who, and what


def _rows(runs: Iterable[Any]) -> list[Row]:
    """Our rows: each group by split and view, and after people one by one all of them together."""
    parts = []
    for group in Results(tuple(runs)).groups:
        found = grouped(((run, line) for run in group.runs for line in run.lines),
                        lambda pair: (pair[1]['split'] or _OWN, _view(*pair)))
        parts += [(group, split, view, tuple(line for _, line in pairs))
                  for (split, view), pairs in found.items()]
    parts.sort(key=lambda part: _ORDER.index(part[2]))
    alike = grouped(parts, lambda part: (part[0].runs[0].kind, part[0].names, *part[1:3]))
    rows = []
    for (kind, *_), same in alike.items():
        variants = disambiguate_labels([(group.named, _apart(group, split, view))
                                        for group, split, view, _ in same])
        rows += [Row({**group_cells(group), 'model': _model(group), 'variant': variant or None},
                     group.exact_model, split, view, kind == SAMPLE, lines,
                     kind == SAMPLE or not unlike_rules(group, split), compared(group, split))
                 for variant, (group, split, view, lines) in zip(variants, same, strict=True)]
    rows = _joined(rows)
    last = max((at for at, row in enumerate(rows) if row.cells['method'] == _HUMAN), default=-1)
    return [*rows[:last + 1], *_all_rows(rows), *rows[last + 1:]]


def _model(group: Group) -> str | None:
    """The model, or the person."""
    if group.method == _HUMAN:
        return group.exact_model.removeprefix(_HUMAN).strip() or None
    return group.model or None


def _apart(group: Group, split: str, view: str) -> dict[str, Any]:
    """Conditions that distinguish a row from others with the same names on a split and view.

    A backend that is set to a view has it in its model's name and among its settings: there it
    tells rows apart only where it is not the view that is shown (``auto`` always is).
    """
    found = {'model': '' if group.method == _HUMAN else _without_view(group.exact_model, view),
             **dict(group.settings),
             **{name: value for name, value in group.condition
                if not name.startswith(('world.view', 'samples.', 'goal'))}}
    if found.get('backend.view') in (view, _AUTO):
        del found['backend.view']
    run = next((run for run in group.runs if split in run.splits), group.runs[0])
    found['goal'] = run.rules['goal'].get(split)
    own = run.identity.get('samples', {}).get(split, {})
    return found | {('boards' if name == 'sha256' else name): value
                    for name, value in own.items() if name not in ('view', 'seed')}


def _without_view(model: str, view: str) -> str:
    """The name of a model, without the view that is shown."""
    return re.sub(rf' ({view}|{_AUTO})(?=[,)])', '', model)


def _joined(rows: Iterable[Row]) -> list[Row]:
    """Rows of which no two have the same names on the same split and view."""
    alike = grouped(rows, lambda row: (row.samples, row.split, row.view, tuple(
        sorted(row.cells.items(), key=lambda item: item[0]))))
    return [replace(same[0], lines=tuple(line for row in same for line in row.lines))
            for same in alike.values()]


def _view(run: Any, line: Line) -> str:
    """View that the run showed: ``3d``, ``2d`` or ``text``."""
    said = (line['details'].get('view') if run.kind == SAMPLE else
            (run.identity.get('world') or {}).get('view'))
    return str(said) if said in _VIEWS else _ORDER[0]


def _all_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """All people together, on each split and view where there are several."""
    people = [row for row in rows if row.cells['method'] == _HUMAN]
    for (split, view), found in grouped(people, lambda row: (row.split, row.view)).items():
        if len(found) > 1:
            yield Row({**found[0].cells, 'model': f'all {len(found)} people', 'variant': None}, '',
                      split, view, False, tuple(line for row in found for line in row.lines))


def _labelled(rows: Sequence[Row]) -> list[tuple[str, Row]]:
    """Rows with a name each, the same in all panels; a backend is named, unless its model is."""
    cells = [{**row.cells, 'backend': None if row.cells['backend'] == row.cells['model'] else
              row.cells['backend']} for row in rows]
    return list(zip(labels(cells, ('method', 'model', 'backend')), rows, strict=True))


# -------------------------------------------------------------------------------------- tables


def _named(row: Row) -> dict[str, Any]:
    return {'source': _HERE, **{key: row.cells[key] for key in _NAMED}, 'split': row.split,
            'view': row.view, **row.conditions}


def _interval(name: str, found: Aggregate) -> dict[str, Any]:
    return {name: found.value, f'{name}_low': found.low, f'{name}_high': found.high}


def _completed(rows: Iterable[Row], boards: Iterable[Row]) -> Iterator[dict[str, Any]]:
    def reader(row: Row) -> tuple[str, ...]:
        return str(row.cells['backend']), _without_view(row.exact_model, row.view), row.view
    inferred = {reader(row): row for row in boards if row.exact_model}
    for row in rows:
        completed = row.value('solved')
        board = inferred.get(reader(row))
        yield {**_named(row), 'n': completed.n, **_interval('completed', completed),
               **_interval('deviation', row.value('deviation')),
               **{name: row.value(name, 0).value for name in (
                   'solved_optimally', 'minimum', 'described_accuracy')},
               **({} if board is None else _interval('inference', board.value('accuracy')))}


def _numbers(rows: Iterable[Row], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {**_named(row), 'n': row.value('solved', 0).n,
               **{name: row.value(name, 0).value for name in names}}


def _boards(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    for row in rows:
        accuracy = row.value('accuracy')
        yield {**_named(row), **_interval('accuracy', accuracy), 'n': accuracy.n,
               **{name: row.value(name, 0).value for name in ('whole', *COUNTED)},
               **{kind: sum(line['measures'].get(kind) or 0 for line in row.lines)
                  for kind in FORMAT_ERRORS}}


def _by_pieces(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    for row in rows:
        for pieces, part in _by_count(row):
            accuracy = part.value('accuracy')
            yield {**_named(part), 'pieces': pieces, **_interval('accuracy', accuracy),
                   'n': accuracy.n, **{name: part.value(name, 0).value for name in COUNTED}}


def _by_count(row: Row) -> Iterator[tuple[int, Row]]:
    """The boards of a row by their number of pieces."""
    found = grouped(row.lines, lambda line: int(line['details']['pieces']))
    for pieces in sorted(found):
        yield pieces, Row(row.cells, row.exact_model, row.split, row.view, row.samples,
                          tuple(found[pieces]))


def _published(rows: Sequence[Row], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The paper's rows of the views that ours have."""
    suite = load_suite(Path(__file__).parent.name)
    views = dict.fromkeys(row.view for row in rows if row.samples or row.like_the_papers)
    for view in views:
        for model in suite.published.models:
            found = {name: row for name in names
                     if (row := suite.published.find(model, name, modality=view)) is not None}
            if not found or set(found) == {'inference'}:
                continue
            values: dict[str, float | None] = {name: row.value for name, row in found.items()}
            if 'correct' in values:
                values['accuracy'] = values.get('inference')
            first = next(iter(found.values()))
            actions = None if 'correct' in names else suite.budget(_DOMAIN, 'action', _GEOMS)
            yield {'source': f'paper, {first.source}', 'model': model, 'split': _GEOMS,
                   'view': view, 'n': first.n, **paper_compared(suite, actions), **values}


# ------------------------------------------------------------------------------------- figures


def _name(what: str, split: str) -> str:
    """Name of a figure in the page."""
    return f'ivispar-{what}' + ('' if split == _GEOMS else f'-{_SIGNS.sub("", split)}')


def _bars(split: str, rows: Sequence[Row], measure: str, published: str, title: str, xlabel: str,
          fraction: bool = True) -> Figure:
    panels = []
    for view, found in grouped(_labelled(rows), lambda pair: pair[1].view).items():
        values = [(label, row.value(measure)) for label, row in found]
        dots = tuple(Dot(label, '', one.value, one.value if one.low is None else one.low,
                         one.value if one.high is None else one.high, one.n)
                     for label, one in values if one.value is not None)
        panels.append(BarPanel(_VIEWS[view], dots, {
            model: value[published] for model, value in _paper(rows, view, (published,))}))
    counts = sorted({bar.n for panel in panels for bar in panel.bars})
    return Figure(
        bars(_name(published, split), panels, f'{title}, {split}', xlabel, fraction),
        f'{split}: {title.lower()}, with 95 % intervals; n = {_range(counts)} episodes.'
        + (' Lines: the numbers of the paper for its models' if any(
            panel.lines for panel in panels) else '')
        + (', and for random legal moves' if any(
            _RANDOM in panel.lines for panel in panels) else '')
        + ('. It has no number of people; it says that they solve all in 3D on nearly shortest '
           'ways.' if any(row.like_the_papers for row in rows) else ''))


def _paper(rows: Iterable[Row], view: str, names: Sequence[str],
           ) -> Iterator[tuple[str, dict[str, float]]]:
    """Numbers of the paper beside rows, on a view, by model, without its means over models."""
    suite = load_suite(Path(__file__).parent.name)
    for model in suite.published.models if any(row.like_the_papers for row in rows) else ():
        found = {name: row.value for name in names
                 if (row := suite.published.find(model, name, modality=view)) is not None}
        if found and model != _AVERAGE:
            yield model, found


def _range(counts: Sequence[int]) -> str:
    return '' if not counts else f'{counts[0]}' if len(counts) == 1 else (
        f'{counts[0]} to {counts[-1]}')


def _stacks(split: str, rows: Sequence[Row]) -> Figure:
    panels = []
    for view, found in grouped(_labelled(rows), lambda pair: pair[1].view).items():
        ours = [(label, parts) for label, row in found
                if (parts := _values(row, CLASSES)) is not None]
        theirs = [(f'paper: {model}', found) for model, found in _paper(rows, view, CLASSES)]
        panels.append(StackPanel(_VIEWS[view], (*ours, *theirs),
                                 frozenset(label for label, _ in theirs)))
    about = {'EM': 'effective', 'IM': 'ineffective', 'OD': 'onto a piece', 'OB': 'off the board',
             'IC': 'illegal command'}
    panels = [StackPanel(panel.title, tuple(
        (label, {f'{kind} {about[kind]}': value for kind, value in parts.items()})
        for label, parts in panel.rows), panel.faint) for panel in panels]
    return Figure(
        stacks(_name('actions', split), panels, f'Classes of actions, {split}',
               'actions of an episode'),
        f'{split}: mean number of actions of an episode, by class'
        + ('; paler: table 3 of the paper.' if any(panel.faint for panel in panels) else '.'))


def _values(row: Row, names: Sequence[str]) -> dict[str, float] | None:
    """Means of measures; None where one is not scored."""
    found = {name: value for name in names if (value := row.value(name, 0).value) is not None}
    return found if len(found) == len(names) else None


def _by_step(split: str, rows: Sequence[Row]) -> Figure:
    lines = []
    for view, found in grouped(_labelled(rows), lambda pair: pair[1].view).items():
        for label, row in found[:_MOST_CURVES]:
            steps = [_stepwise(line) for line in row.lines if _known(line)]
            lines += [Curve(label, _points(steps, name), panel=f'{title}, {_VIEWS[view]}')
                      for name, title in _STEPS.items()]
    more = len(rows) - len(lines) // len(_STEPS)
    return Figure(
        curves(_name('steps', split), lines, f'Step by step, {split}', 'actions',
               'mean over episodes', fraction=False),
        f'{split}: distance to the goal, regret R(t) = d(s_t) - (d(s_0) - t) and progress '
        '100 (1 - d / c1) after each action, with 95 % bootstrap intervals over puzzles. An '
        'episode that has ended keeps its last values. Episodes with a distance that is not known '
        'are left out. The paper has no numbers of single steps.'
        + (f' {more} more rows are in the tables.' if more > 0 else ''))


def _known(line: Line) -> bool:
    """Whether all distances of an episode are known."""
    way = line['details'].get('distances', ()) if line['details'] else ()
    return bool(way) and None not in formulas.until_solved(way)


def _stepwise(line: Line) -> Line:
    """The curves of an episode as measures of a line, each step one."""
    found = formulas.curves(line['details']['distances'])
    return {'cluster': line['cluster'], 'measures': {
        f'{name} {step}': value for name in _STEPS
        for step, value in enumerate(getattr(found, name))}}


def _points(lines: Sequence[Line], name: str,
            ) -> tuple[tuple[float, float, float, float, int], ...]:
    """The mean of one curve at each step, with interval and number of episodes."""
    points = []
    for step in range(formulas.STEPS + 1):
        found = aggregate(lines, Measure(f'{name} {step}', '', MEAN), _RESAMPLES)
        if found.value is not None:
            low, high = (found.value if end is None else end for end in (found.low, found.high))
            points.append((float(step), found.value, low, high, found.n))
    return tuple(points)


def _errors(rows: Sequence[Row]) -> Figure:
    lines = []
    shown = _labelled(rows)[:_MOST_PANELS]
    for label, row in shown:
        for name in COUNTED:
            if not any(line['measures'].get(name) for line in row.lines):
                continue
            points = tuple(_per_piece(pieces, found) for pieces, part in _by_count(row)
                           if (found := part.value(name)).value is not None)
            lines.append(Curve(name, points,
                               panel='\n'.join(wrap(f'{label}: {_VIEWS[row.view]}', _TITLE))))
    more = len(rows) - len(shown)
    return Figure(
        curves('ivispar-boards', sorted(lines, key=lambda one: list(COUNTED).index(one.name)),
               'Board inference by number of pieces',
               'pieces on the board', 'fraction of them'),
        'What is said of boards, by the number of pieces, as a fraction of the pieces (values '
        'above 1 are drawn at 1), with 95 % bootstrap intervals over boards. What never occurs is '
        'left out. One piece may have errors of cell and of colour or shape.'
        + (f' {more} more are in the table.' if more > 0 else ''))


def _per_piece(pieces: int, found: Aggregate) -> tuple[float, float, float, float, int]:
    """A point of a curve: a number of a board as a fraction of its pieces, at most 1."""
    value = found.value or 0.0
    value, low, high = (min(1.0, (value if end is None else end) / pieces)
                        for end in (value, found.low, found.high))
    return float(pieces), value, low, high, found.n


def _heatmaps(rows: Sequence[Row]) -> Figure:
    panels = []
    shown = [(label, row) for label, row in _labelled(rows) if any(
        way[-1] for ways in _sizes(row).values() for way in ways)]
    for label, row in shown[:_MOST_HEATS]:
        for what, of in (('at the end', lambda way: way[-1]), ('smallest', min)):
            cells = {size: fmean(of(way) for way in ways) for size, ways in _sizes(row).items()}
            panels.append(HeatPanel(f'{label} ({_VIEWS[row.view]}): {what}', cells))
    more = len(shown) - _MOST_HEATS
    return Figure(
        heatmaps('ivispar-distances', panels, 'Distance to the goal by pieces and length',
                 'c1: moves of a shortest solution', 'k: pieces'),
        'Mean distance to the goal [moves] by number of pieces and length of the puzzle: at the '
        'end of the episode, and the smallest one that was reached. Who reached every goal is '
        'left out.'
        + (f' Only the first {_MOST_HEATS} of {len(shown)} are drawn.' if more > 0 else ''))


def _sizes(row: Row) -> dict[tuple[int, int], list[list[int]]]:
    """Distances step by step of the episodes of each (c1, k), as far as they are all known."""
    found: dict[tuple[int, int], list[list[int]]] = {}
    for line in row.lines if row.like_the_papers else ():
        details = line['details']
        if _known(line) and 'pieces' in details and line['optimal_length'] is not None:
            found.setdefault((line['optimal_length'], details['pieces']), []).append(
                [d for d in formulas.until_solved(details['distances']) if d is not None])
    return found
