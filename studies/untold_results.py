"""The untold study's results: read from run directories, grouped, and as Markdown tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.agent import needs_grounder
from sightplan.metrics import Cause, Comparison, belief_reliability, compare, measures
from sightplan.metrics.episodes import EPISODE_MEASURES
from sightplan.metrics.intervals import fraction_of
from study_results import (
    Entry,
    commits_of,
    dates_of,
    effort_of,
    fraction,
    number,
    origin_of,
    rate,
    read_entries,
    score,
    table,
)

SPLITS = ('simple', 'medium', 'hard', 'search')
TOLD = {'none': 'never', 'initial': 'before the first action', 'always': 'always'}
TOGETHER, INDEPENDENT = 'together', 'independent'
ERRORS = {TOGETHER: 'correlated errors', INDEPENDENT: 'independent errors'}
RIVALS = ('blind', 'three_valued', 'log_odds')
FULL, PERFECT, USELESS, EMBEDDED = 'full', 'perfect', 'useless', 'embedded'

_SOLVED = next(measure for measure in EPISODE_MEASURES if measure.primary)
_NOTHING_BETTER = 'nothing is known'
"""Message of the method where it ends an episode below the probability of acceptance."""
_TASK = re.compile(r'_\d+$')
_MOST_TASKS = 12

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """The episodes of one run.

    Attributes:
        run: name of its directory; an ablation may share it with a main cell.
        method: name of the method.
        model: whose errors the answers have, or ``embedded``; '' where nobody is asked.
        split: of the problems.
        errors: ``together`` if they are correlated, or ``independent``; '' without a table.
        calibrated: whether the method has a calibration.
        home: which home each problem takes place in.
        privileged: when facts about what is out of view are provided.
        variant: of the method, in ablations; else ''.
        lines: scored episodes.
        planned: how many episodes there should be.
    """

    run: str
    method: str
    model: str
    split: str
    errors: str
    calibrated: bool
    home: int
    privileged: str
    variant: str
    lines: tuple[Line, ...] = field(repr=False)
    planned: int


@dataclass(frozen=True, slots=True)
class Results:
    """All cells of the sweeps, also those without an episode.

    Attributes:
        cells: in the order of the sweeps.
        commits: that the runs were made with.
        dates: on which they were made.
        versions: of sightplan.
        seeds: of the runs.
    """

    cells: tuple[Cell, ...]
    commits: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()

    @property
    def main(self) -> tuple[Cell, ...]:
        """Cells without privileged facts: the method, its rivals, and methods without a model."""
        return tuple(cell for cell in self.cells if not cell.variant and cell.lines
                     and cell.privileged == 'none' and cell.model != EMBEDDED)

    @property
    def models(self) -> list[str]:
        """The models whose published errors the main cells have."""
        return [model for model in _values(self.main, 'model')
                if model not in ('', PERFECT, USELESS)]

    @property
    def told(self) -> tuple[Cell, ...]:
        """Cells by level of privileged facts, without calibration, in the first homes."""
        return tuple(cell for cell in self.cells if not cell.variant and cell.lines
                     and not cell.calibrated and cell.method in ('belief', 'blind')
                     and cell.model not in (PERFECT, USELESS, EMBEDDED) and not cell.home)

    @property
    def embedded(self) -> tuple[Cell, ...]:
        """Cells on rendered pictures."""
        return tuple(cell for cell in self.cells
                     if not cell.variant and cell.lines and cell.model == EMBEDDED)

    @property
    def ablations(self) -> tuple[Cell, ...]:
        """Cells of the method with a part removed or changed."""
        return tuple(cell for cell in self.cells if cell.variant and cell.lines)


def read_results(folders: Sequence[Path]) -> Results:
    """Read the cells of all sweeps in some directories.

    Raises:
        InputError: a directory holds no sweep, or a file is damaged.
    """
    entries = read_entries(folders)
    cells: dict[tuple[str, str], Cell] = {}
    for entry in entries:
        cell = _cell(entry)
        cells.setdefault((cell.run, cell.variant), cell)
    sessions = [session for entry in entries for session in entry.sessions]
    return Results(
        tuple(cells.values()), commits_of(entries), dates_of(entries),
        tuple(dict.fromkeys(str(s['sightplan']) for s in sessions if s.get('sightplan'))),
        tuple(sorted({int(entry.settings['seed']) for entry in entries})))


def _cell(entry: Entry) -> Cell:
    settings, options = entry.settings, entry.settings['backend_options']
    asks = needs_grounder(settings['method'])
    simulated = asks and 'table' in options
    model = Path(str(options['table'])).name if simulated else settings['backend'] if asks else ''
    return Cell(
        entry.run, settings['method'], re.sub(r'\.(ya?ml|json)$', '', model), settings['split'],
        '' if not simulated or model == PERFECT else
        INDEPENDENT if options.get('together') == 0.0 else TOGETHER,
        entry.calibrated, int(settings['world_options'].get('home', 0)), settings['privileged'],
        str(entry.labels.get('variant', '')), entry.lines, entry.planned)


def _values(cells: Iterable[Cell], key: str) -> list[Any]:
    return list(dict.fromkeys(getattr(cell, key) for cell in cells))


def chosen(cells: Iterable[Cell], **wanted: Any) -> list[Cell]:
    """The cells whose fields have the wanted values."""
    return [cell for cell in cells
            if all(getattr(cell, key) == value for key, value in wanted.items())]


def lines_of(cells: Iterable[Cell], **wanted: Any) -> list[Line]:
    """The episodes of the cells whose fields have the wanted values."""
    return [line for cell in chosen(cells, **wanted) for line in cell.lines]


def splits_of(cells: Iterable[Cell]) -> list[str]:
    """The splits of some cells, in order."""
    found = {cell.split for cell in cells}
    return [*(split for split in SPLITS if split in found), *sorted(found - set(SPLITS))]


# ------------------------------------------------------------------------------------- tables

Row = tuple[list[str], list[Cell]]
"""Head of a row, and its cells."""


def _by_split(cells: Sequence[Cell], head: Sequence[str], rows: Iterable[Row],
              show: Callable[[Sequence[Cell]], str]) -> str:
    """A table with a column for each split; rows without any result are left out."""
    splits = splits_of(cells)
    return table([*head, *splits], [
        [*names, *(show(chosen(own, split=split)) for split in splits)]
        for names, own in rows if own], len(head))


def _rate(cells: Sequence[Cell]) -> str:
    """Fraction of solved episodes, with n where episodes are missing."""
    n, planned = sum(len(cell.lines) for cell in cells), sum(cell.planned for cell in cells)
    return rate(lines_of(cells)) + (f', n = {n}' if 0 < n < planned else '')


def _effort(cells: Sequence[Cell]) -> str:
    return effort_of(lines_of(cells))


def _calibration(calibrated: bool) -> str:
    return 'yes' if calibrated else 'no'


def _method_rows(cells: Sequence[Cell], models: Sequence[str]) -> list[Row]:
    """Rows of models, methods and with or without a calibration."""
    return [([model or '(none)', f'`{method}`', _calibration(calibrated)],
             chosen(cells, model=model, method=method, calibrated=calibrated))
            for model in models
            for method in _values(chosen(cells, model=model), 'method')
            for calibrated in (False, True)]


def _main_rows(results: Results, errors: str) -> list[Row]:
    return _method_rows(chosen(results.main, errors=errors), results.models)


_HEAD = ('model', 'method', 'calibration')


def overview(results: Results) -> str:
    """Success by method: over all models together, and of what brackets them."""
    real = [cell for cell in results.main if cell.model in results.models]
    rows: list[Row] = [
        ([f'`{method}`' + (', calibrated' if calibrated else ''), ERRORS[errors]],
         chosen(real, method=method, calibrated=calibrated, errors=errors))
        for method in _values(real, 'method') for calibrated in (False, True)
        for errors in ERRORS]
    rows += [([f'`belief`, {answers} answers' + (', calibrated' if calibrated else ''), ''],
              chosen(results.main, model=answers, calibrated=calibrated))
             for answers in (PERFECT, USELESS) for calibrated in (False, True)]
    rows += [([f'`{method}`', ''], chosen(results.main, method=method, model=''))
             for method in _values(chosen(results.main, model=''), 'method')]
    return _by_split(results.main, ('method', 'answers'), rows, _rate)


def success(results: Results, errors: str) -> str:
    """Success by model, method and split."""
    return _by_split(results.main, _HEAD, _main_rows(results, errors), _rate)


def effort(results: Results, errors: str) -> str:
    """Questions per episode, actions per episode, seconds per action."""
    rows = _main_rows(results, errors)
    rows += _method_rows(results.main, [''])
    return _by_split(results.main, _HEAD, rows, _effort)


def _told(results: Results, show: Callable[[Sequence[Cell]], str]) -> str:
    rows: list[Row] = [
        ([model or 'none: `blind`', ERRORS.get(errors, ''), TOLD[level]],
         chosen(results.told, model=model, errors=errors, privileged=level))
        for model in sorted(_values(results.told, 'model'), key=lambda m: not m)
        for errors in sorted(_values(chosen(results.told, model=model), 'errors'), reverse=True)
        for level in TOLD]
    return _by_split(results.told, ('model', 'answers', 'privileged facts'), rows, show)


def told(results: Results) -> str:
    """Success by model, and by when privileged facts are provided."""
    return _told(results, _rate)


def told_effort(results: Results) -> str:
    """Questions and actions per episode, and seconds per action, by model and privileged facts."""
    return _told(results, _effort)


def embedded(results: Results) -> str:
    """Success, questions, actions and time of the small model on rendered pictures."""
    splits = splits_of(results.embedded)
    return table(['privileged facts', '', *splits], [
        [TOLD[level], name, *(show(chosen(own, split=split)) for split in splits)]
        for level in TOLD if (own := chosen(results.embedded, privileged=level))
        for name, show in (('solved', _rate), ('questions / actions / s', _effort))], 2)


def ablations(results: Results) -> str:
    """Table of the method without its parts."""
    cells = results.ablations
    splits = splits_of(cells)
    rows = []
    for variant in _values(cells, 'variant'):
        own = chosen(cells, variant=variant)
        lines = lines_of(own)
        found, plain = belief_reliability(lines, resamples=0), score(lines)
        rows.append([variant, *(_rate(chosen(own, split=split)) for split in splits),
                     number(plain.questions), number(plain.actions), f'{plain.step_s:.2f}',
                     '–' if found is None else f'{found.ece:.3f}'])
    return table(['variant', *splits, 'questions', 'actions', 's/action', 'ECE'], rows)


# --------------------------------------------------------------------------------- comparisons

Keyed = dict[tuple[str, ...], Line]


def _keyed(cells: Iterable[Cell], *keys: str) -> Keyed:
    """Lines by fields of their cells and the episode's id."""
    return {(*(str(getattr(cell, key)) for key in keys), line['id']): line
            for cell in cells for line in cell.lines}


def _pair(ours: Sequence[Cell], theirs: Sequence[Cell]) -> Comparison | None:
    """Compare the same episodes: with the same model and errors, if the others ask one.

    What asks nobody has the same episodes beside every model.
    """
    if any(cell.model for cell in theirs):
        keys = ('model', 'errors', 'home')
        return compare(_keyed(ours, *keys), _keyed(theirs, *keys), _SOLVED)
    others = _keyed(theirs, 'home')
    beside: Keyed = {
        (cell.model, cell.errors, str(cell.home), line['id']): others[str(cell.home), line['id']]
        for cell in ours for line in cell.lines if (str(cell.home), line['id']) in others}
    return compare(_keyed(ours, 'model', 'errors', 'home'), beside, _SOLVED)


def _compared(results: Results, against: str, calibrated: bool, **wanted: Any,
              ) -> Comparison | None:
    ours = chosen(results.main, method='belief', calibrated=calibrated, **wanted)
    wanted = {key: value for key, value in wanted.items()
              if against != 'blind' or key == 'split'}
    return _pair([cell for cell in ours if cell.model in results.models],
                 chosen(results.main, method=against, **wanted))


def _signed(value: float) -> str:
    return ('+' if value >= 0 else '−') + fraction(abs(value))


def _difference(found: Comparison) -> str:
    """The difference with its interval."""
    if found.difference is None:
        return '–'
    return _signed(found.difference) + (
        '' if found.low is None or found.high is None else
        f' ({_signed(found.low)} to {_signed(found.high)})')


def _equals(p: str) -> str:
    return p if p.startswith('<') else f'= {p}'


def _p(value: float | None) -> str:
    return '–' if value is None else '< .001' if value < 0.001 else f'{value:.3f}'.lstrip('0')


def paired(results: Results) -> str:
    """``belief`` against ``blind`` and its rivals, over all models, on the same episodes.

    Intervals of differences are from a bootstrap over problems, p is of the exact sign-flip test
    over problems.
    """
    rows = []
    for against in RIVALS:
        for errors in ERRORS:
            for calibrated in (False, True):
                for split in (*splits_of(results.main), ''):
                    where = {'split': split} if split else {}
                    found = _compared(results, against, calibrated, errors=errors, **where)
                    if found is None or found.counts is None or found.difference is None:
                        continue
                    rows.append([
                        f'`{against}`', ERRORS[errors], _calibration(calibrated),
                        split or '**all**', str(found.n), fraction(found.first or 0.0),
                        fraction(found.second or 0.0), _difference(found),
                        str(found.counts[1]), str(found.counts[2]), _p(found.p)])
    return table(['against', 'answers', 'calibration', 'split', 'pairs', '`belief`', 'other',
                  'difference', 'only `belief`', 'only other', 'p'], rows, 4)


def compared(results: Results) -> str:
    """Sentences on the number of cells in which ``belief`` is above and below each rival."""
    said = []
    for against in RIVALS:
        cells = {(model, errors, calibrated, split): found
                 for model in results.models for errors in ERRORS for calibrated in (False, True)
                 for split in splits_of(results.main)
                 if (found := _compared(results, against, calibrated, model=model, errors=errors,
                                        split=split)) is not None}
        differences = {key: found.difference or 0.0 for key, found in cells.items()}
        if not differences:
            continue
        above, below = (sum(sign * d > 0 for d in differences.values()) for sign in (1, -1))
        text = (f'* Against `{against}`: of {len(differences)} cells (model, errors, calibration, '
                f'split) `belief` solves more in {above}, as many in '
                f'{len(differences) - above - below}, fewer in {below}')
        if below:
            worst = min(differences, key=differences.__getitem__)
            model, errors, calibrated, split = worst
            text += (f'; furthest below, by {fraction(-differences[worst])}, for {model} on '
                     f'{split} ({ERRORS[errors]}, with{"" if calibrated else "out"} a '
                     f'calibration)')
        for calibrated in (False, True):
            every = _compared(results, against, calibrated)
            if every is not None and every.difference is not None and every.counts is not None:
                text += (f'. With{"" if calibrated else "out"} a calibration, over all cells '
                         f'{_difference(every)}: {every.counts[1]} pairs of episodes that only '
                         f'`belief` solves, {every.counts[2]} that only `{against}` solves, p '
                         f'{_equals(_p(every.p))}')
        said.append(text + '.')
    return '\n'.join(said)


def useless_against_blind(results: Results) -> str:
    """Sentences on the cost of answers without information, split by split."""
    said = []
    for calibrated in (False, True):
        own = chosen(results.main, model=USELESS, calibrated=calibrated)
        parts = []
        for split in splits_of(own):
            found = _pair(chosen(own, split=split),
                          chosen(results.main, method='blind', split=split))
            if found is not None and found.difference is not None:
                parts.append(f'{_signed(found.difference)} on {split}')
        if parts:
            said.append(f'With useless answers and with{"" if calibrated else "out"} a '
                        f'calibration `belief` differs from `blind` by {", ".join(parts)}.')
    return '\n'.join(said)


# ------------------------------------------------------------------------ what was believed

def reliability_rows(results: Results) -> list[tuple[list[str], list[Line]]]:
    """Names and lines of what has an expected calibration error of its own."""
    rows = [([model, ERRORS[errors], _calibration(calibrated)],
             lines_of(results.main, method='belief', model=model, errors=errors,
                      calibrated=calibrated))
            for model in results.models for errors in ERRORS for calibrated in (False, True)]
    rows += [([f'{answers} answers', '', _calibration(calibrated)],
              lines_of(results.main, method='belief', model=answers, calibrated=calibrated))
             for answers in (PERFECT, USELESS) for calibrated in (False, True)]
    rows.append(([EMBEDDED, 'rendered pictures', 'yes'],
                 lines_of(results.embedded, privileged='none')))
    rows.append((['`blind`', '', 'no'], lines_of(results.main, method='blind')))
    return [(names, lines) for names, lines in rows if lines]


def reliability_table(results: Results) -> str:
    """Expected calibration error of the marginals in closed loop, by model."""
    rows = []
    for names, lines in reliability_rows(results):
        found, inner = belief_reliability(lines), belief_reliability(lines, inner=True)
        if found is None or inner is None:
            continue
        rows.append([*names, str(found.n), f'{found.ece:.3f} ({found.low:.3f}–{found.high:.3f})',
                     str(inner.n), f'{inner.ece:.3f} ({inner.low:.3f}–{inner.high:.3f})'])
    return table(['model', 'answers', 'calibration', 'marginals', 'ECE', 'between .05 and .95',
                  'ECE of these'], rows, 3)


def _groups(results: Results) -> list[tuple[str, list[Cell]]]:
    """Groups by which failures are counted."""
    real = [cell for cell in results.main if cell.model in results.models]
    found = [(f'`{method}`' + (', calibrated' if calibrated else ''),
              chosen(real, method=method, calibrated=calibrated))
             for method in _values(real, 'method') for calibrated in (False, True)]
    found += [('`belief`, useless answers', chosen(results.main, model=USELESS)),
              ('`belief`, perfect answers', chosen(results.main, model=PERFECT)),
              ('`belief`, `embedded`', chosen(results.embedded, privileged='none')),
              ('`blind`', chosen(results.main, method='blind'))]
    return [(name, cells) for name, cells in found if lines_of(cells)]


def _claimed(line: Line) -> bool:
    """Whether the episode was ended as done."""
    return bool(line['stop'] == 'plan_done')


def _accepted(line: Line) -> bool:
    """Whether the goal was accepted: claimed, and not for want of anything better to do."""
    return _claimed(line) and _NOTHING_BETTER not in line['message']


def accepted(results: Results) -> str:
    """Goals that were accepted and did not hold, and how the other failures ended."""
    rows = []
    for name, cells in _groups(results):
        lines = lines_of(cells)
        taken = [line for line in lines if _accepted(line)]
        wrong = [line for line in taken if not measures.solved(line)]
        failed = [line for line in lines if not measures.solved(line)]
        below = sum(_claimed(line) and not _accepted(line) for line in failed)
        stops = Counter(line['stop'] for line in failed if not _claimed(line))
        low, high = fraction_of([not measures.solved(line) for line in taken],
                                [line['cluster'] for line in taken]).interval
        rows.append([
            name, str(len(lines)), str(len(taken)), str(len(wrong)),
            f'{fraction(len(wrong) / len(taken))} ({fraction(low)}–{fraction(high)})'
            if taken else '–', str(len(failed)), str(below), str(stops['budget']),
            str(sum(stops.values()) - stops['budget'])])
    return table(['', 'episodes', 'goals accepted', 'of these wrongly', 'fraction', 'failed',
                  'ended as done below .97', 'budget used up', 'otherwise'], rows)


def causes(results: Results) -> str:
    """Failures by cause: their number, by method."""
    groups = _groups(results)
    counts = [Counter(line['failure']['cause'] for line in lines_of(cells) if line['failure'])
              for _, cells in groups]
    rows = [[f'`{cause.value}`', *(str(own[cause.value] or '') for own in counts)]
            for cause in Cause if any(own[cause.value] for own in counts)]
    return table(['cause', *(name for name, _ in groups)], rows)


def tasks(results: Results) -> str:
    """The tasks at which ``belief`` fails most often, over all models and errors."""
    real = [cell for cell in results.main if cell.model in results.models]
    columns = [('`belief`', chosen(real, method='belief', calibrated=False)),
               ('`belief`, calibrated', chosen(real, method='belief', calibrated=True)),
               ('`belief`, perfect answers', chosen(results.main, model=PERFECT)),
               ('`blind`', chosen(results.main, method='blind'))]
    counts: list[dict[tuple[str, str], list[Line]]] = []
    for _, cells in columns:
        own: dict[tuple[str, str], list[Line]] = {}
        for cell in cells:
            for line in cell.lines:
                own.setdefault((cell.split, _TASK.sub('', line['problem'])), []).append(line)
        counts.append(own)
    keys = dict.fromkeys(key for own in counts[:2] for key in own)
    failing = {key: 1.0 - score([line for own in counts[:2] for line in own.get(key, [])]).rate
               for key in keys}
    worst = sorted((key for key in keys if failing[key] > 0.0),
                   key=lambda key: (-failing[key], key))[:_MOST_TASKS]
    return table(['split', 'task', *(name for name, _ in columns)],
                 [[*key, *(rate(own.get(key, [])) for own in counts)] for key in worst], 2)


# --------------------------------------------------------------------------------------- words

def origin(results: Results) -> str:
    """Sentences on the origin of the figures, and on missing runs.

    Raises:
        InputError: there is no finished episode.
    """
    runs = {cell.run: cell for cell in results.cells}.values()
    n, planned = sum(len(cell.lines) for cell in runs), sum(cell.planned for cell in runs)
    made = [cell for cell in runs if cell.lines]
    said = origin_of(n, planned, len(made), results.commits, results.dates)
    seeds = ', '.join(map(str, results.seeds))
    said += (f' sightplan {", ".join(results.versions) or "of unknown version"}; '
             f'seed{"s" if len(results.seeds) > 1 else ""} {seeds}.')
    if len(made) < len(runs):
        said += (f' **{len(runs) - len(made)} of {len(runs)} cells have no results yet; their '
                 f'rows are left out, or show a dash.**')
    return said


def summary(results: Results) -> str:
    """Sentences on the main results, with numbers."""
    said = []
    for split in splits_of(results.main):
        parts = []
        for name, cells in (
                ('`blind` solves', chosen(results.main, method='blind', split=split)),
                ('`belief` with perfect answers',
                 chosen(results.main, model=PERFECT, split=split)),
                ('the oracle', chosen(results.main, method='oracle', split=split))):
            if lines := lines_of(cells):
                parts.append(f'{name} {fraction(score(lines).rate)}')
        for calibrated in (False, True):
            rates = [score(cell.lines).rate for cell in results.main
                     if cell.model in results.models and (
                         cell.method, cell.calibrated, cell.split) == (
                             'belief', calibrated, split)]
            if rates:
                span = ' to '.join(dict.fromkeys(
                    fraction(edge) for edge in (min(rates), max(rates))))
                parts.append(f'`belief` with{"" if calibrated else "out"} a calibration {span}, '
                             f'by model and kind of errors')
        if parts:
            said.append(f'* **{split}**: {"; ".join(parts)}.')
    return '\n'.join(said)


def cost_table(costs: Mapping[str, Any]) -> str:
    """Inference of a step by split, and memory of an episode."""
    rows = [[split, str(own['steps']), number(own['survey_ms']), number(own['step_ms']),
             number(own['step_ms_most'])] for split, own in costs['splits'].items()]
    return (table(['split', 'steps', 'first survey, median [ms]', 'step, median [ms]',
                   'step, slowest [ms]'], rows)
            + f'\n\nAn episode of {costs["memory"]["problem"]}, a home with '
              f'{costs["memory"]["containers"]} containers, takes at most '
              f'{costs["memory"]["mib"]:.0f} MiB: {costs["memory"]["before_mib"]:.0f} MiB of '
              f'these before it begins.')
