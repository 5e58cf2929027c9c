"""Success and accuracy by method (the paper's table 1 and figure 5), model and predicate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from sightplan.agent import needs_grounder, needs_visual_planner
from sightplan.metrics import mean_sem
from sightplan.metrics.intervals import Share, errors_apart, mean_over
from sightplan.model import AskPurpose, InputError
from sightplan.records.evidence import file_name
from sightplan.report import conditions
from sightplan.report.conditions import Fields
from sightplan.report.results import Group, Results, are_known
from sightplan.report.tables.common import (
    GROUP,
    UNSCORED,
    WILSON,
    group_cells,
    groups_by_split,
    published,
    row_of,
    share_cells,
    share_columns,
    solved,
    suite_of,
    unlike_published,
    unscored,
)
from sightplan.report.tables.model import Column, Table

ALL = 'all'
_PERFECT = 'perfect'
_ALIKE = ('domain', 'method', 'backend', 'failure_probability', 'privileged', 'calibrated')
_SETTINGS_OF_DOMAIN = ('constraints',)
_FIVE = 'mean of five'
_CLASSES = {'planner_average': (needs_visual_planner, 'methods whose model plans'),
            'grounder_average': (needs_grounder, 'methods whose model answers questions')}


_Pair = tuple[str, str]
"""A method and a model."""


# ------------------------------------------------------------------------------- by method


@dataclass(frozen=True)
class _Row:
    """What is averaged in one row of table 1.

    Attributes:
        cells: what names the row.
        splits: of which the mean over splits is made.
        rates: (method, model) to split to share of solved episodes.
        theirs: likewise what the paper has of the same; values are None where it has nothing.
        method: as the suite's published means are called.
        unscored: number of episodes.
        settings: of the method, or those that all methods have in common.
        condition: see ``Group.condition``.
        named: what sweeps call the variant.
        as_published: whether all episodes are what the suite lays down.
    """

    cells: Mapping[str, Any]
    splits: tuple[str, ...]
    rates: Mapping[_Pair, Mapping[str, Share]]
    theirs: Mapping[_Pair, Mapping[str, float | None]]
    method: str
    unscored: int
    settings: Fields
    condition: Fields
    named: frozenset[str]
    as_published: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Of the models."""
        return tuple(dict.fromkeys(model for _, model in self.rates if model))

    def whole(self) -> list[Mapping[str, Share]]:
        """Shares of those with scored episodes of all splits."""
        return [self.rates[pair] for pair in self.means()]

    def means(self) -> dict[_Pair, float]:
        """Mean over the splits, of each that has scored episodes of all."""
        return {pair: fmean(rates[split].rate or 0.0 for split in self.splits)
                for pair, rates in self.rates.items()
                if all(split in rates and rates[split].n for split in self.splits)}

    def their_means(self) -> dict[_Pair, float]:
        """Likewise of the paper's numbers, of the same; empty unless it has all of them."""
        found: dict[_Pair, float] = {}
        for pair in self.means():
            values = [self.theirs[pair].get(split) for split in self.splits]
            known = [value for value in values if value is not None]
            if len(known) < len(values):
                return {}
            found[pair] = fmean(known)
        return found


def _rows(results: Results) -> list[_Row]:
    """One row for each domain, method, settings and condition: its models."""
    parts: dict[tuple[Any, ...], list[Group]] = {}
    for group in results.groups:
        cells = group_cells(group)
        parts.setdefault((*(cells[key] for key in _ALIKE), group.settings, group.condition,
                          group.model == _PERFECT), []).append(group)
    rows = []
    for groups in parts.values():
        first = groups[0]
        present = {split for group in groups for split in group.splits}
        names = dict(zip(map(id, groups), _model_names(groups), strict=True))
        rows.append(_Row(
            {**group_cells(first), 'model': None},
            tuple(split for split in results.splits if split in present),
            {(group.method, names[id(group)]): {
                split: solved(group.of_split(split)) for split in group.splits}
             for group in groups},
            {(group.method, names[id(group)]): {
                split: published(group, split)[0] for split in group.splits}
             for group in groups}, first.method,
            sum(unscored(group.lines) for group in groups), first.settings, first.condition,
            frozenset(name for group in groups for name in group.named),
            not any(unlike_published(group, split) for group in groups
                    for split in group.splits)))
    return _told_apart(rows)


def _model_names(groups: Sequence[Group]) -> list[str]:
    """Short names, exact ones for what shares a short one, so that none is there twice."""
    short, exact = (Counter(names) for names in (
        [group.model for group in groups], [group.exact_model for group in groups]))
    return [group.model if short[group.model] == 1 else group.exact_model
            if exact[group.exact_model] == 1 else f'{group.exact_model}, {group.variant}'
            for group in groups]


def _told_apart(rows: Iterable[_Row]) -> list[_Row]:
    """Rows with the variant that tells them from others, which look alike without it."""
    found = list(rows)
    parts: dict[tuple[Any, ...], list[int]] = {}
    for number, row in enumerate(found):
        parts.setdefault((*(row.cells[key] for key in _ALIKE), _PERFECT in row.names),
                         []).append(number)
    for numbers in parts.values():
        texts = conditions.texts_apart([(found[number].named, {
            **dict(found[number].settings), **dict(found[number].condition)})
            for number in numbers])
        for number, text in zip(numbers, texts, strict=True):
            found[number] = replace(found[number], cells={**found[number].cells,
                                                          'variant': text or None})
    return found


def _families(rows: Iterable[_Row], what: Callable[[_Row], Any], kin: Callable[[_Row], Any],
              close: Callable[[_Row], Any]) -> list[list[_Row]]:
    """Rows that can be averaged over what they differ in, each value of it once.

    Where one is there several times, those belong together that are closer; what is ambiguous
    even then is left out.
    """
    def parts(key: Callable[[_Row], Any], among: Iterable[_Row]) -> list[list[_Row]]:
        found: dict[Any, list[_Row]] = {}
        for row in among:
            found.setdefault(key(row), []).append(row)
        return list(found.values())

    def single(members: Sequence[_Row]) -> bool:
        return len({what(row) for row in members}) == len(members)

    families = [part for members in parts(kin, rows)
                for part in ([members] if single(members) else parts(close, members))]
    return [members for members in families if len(members) > 1 and single(members)]


def _settings(row: _Row, *left_out: str) -> Fields:
    """Settings of the method without its prompt, of which each method has its own."""
    return tuple((name, value) for name, value in row.settings
                 if not name.startswith('prompt') and name not in left_out)


def _class_rows(rows: Sequence[_Row]) -> list[_Row]:
    """Averages over the methods of a class, of those that the suite publishes."""
    found = []
    for name, (belongs, words) in _CLASSES.items():
        mine = [row for row in rows if (suite := suite_of(str(row.cells['domain'])))
                and suite.publishes(row.method) and _is(belongs, row.method)]
        for members in _families(
                mine, lambda row: row.method,
                lambda row: (*(row.cells[key] for key in _ALIKE if key != 'method'),
                             row.condition, _PERFECT in row.names),
                lambda row: (_settings(row), row.named)):
            splits = [row.splits for row in members]
            common = tuple(s for s in splits[0] if all(s in other for other in splits))
            found.append(_Row(
                {**members[0].cells, 'method': f'mean of {len(members)} {words}'}, common,
                {pair: rates for row in members for pair, rates in row.rates.items()},
                {pair: theirs for row in members for pair, theirs in row.theirs.items()}, name,
                sum(row.unscored for row in members),
                tuple(field for field in members[0].settings
                      if all(field in row.settings for row in members)), members[0].condition,
                members[0].named if len({row.named for row in members}) == 1 else frozenset(),
                all(row.as_published for row in members)))
    return _told_apart(found)


def _is(belongs: Any, method: str) -> bool:
    try:
        return bool(belongs(method))
    except InputError:  # a method of another version
        return False


def _combined_rows(rows: Sequence[_Row]) -> list[tuple[_Row, list[_Row]]]:
    """Rows of several domains whose means can be averaged model by model.

    The first of each pair names them. What a domain has of its own may differ: its hashes, its
    world, the settings of the backend for it, and what is told, if that is what the suite grants.
    """
    families = [members for members in _families(
        rows, lambda row: row.cells['domain'],
        lambda row: (*(row.cells[key] for key in ('method', 'backend', 'failure_probability',
                                                  'calibrated')), _told(row),
                     conditions.for_domains(row.condition),
                     _settings(row, *_SETTINGS_OF_DOMAIN), _PERFECT in row.names),
        lambda row: (row.named, tuple(field for field in row.condition
                                      if not field[0].endswith('sha256'))))
        if _common(members)]
    names = _told_apart(
        replace(members[0], cells={**members[0].cells, 'domain': ALL, 'privileged': None},
                settings=_settings(members[0], *_SETTINGS_OF_DOMAIN),
                named=frozenset.union(*(row.named for row in members)),
                as_published=all(row.as_published for row in members)) for members in families)
    return list(zip(names, families, strict=True))


def _told(row: _Row) -> object:
    """What is told about what is hidden, None if the suite grants just that."""
    told = row.cells['privileged']
    domain = str(row.cells['domain'])
    return None if all(conditions.laid_down('privileged', domain, row.method, split) == told
                       for split in row.splits) else told


def _common(members: Sequence[_Row]) -> list[_Pair]:
    """Methods and models of which every row has a mean."""
    return [pair for pair in members[0].means()
            if all(pair in row.means() for row in members[1:])]


def success(results: Results) -> Table:
    """The layout of the paper's table 1: methods, means over splits and models."""
    columns = [*(c for c in GROUP if c.key != 'model'), Column('models', 'models', 'count'),
               Column('names', 'which')]
    for split in results.splits:
        columns += [Column(f'{split}_success', 'success', 'share', split),
                    Column(f'{split}_success_sem', 'SE', 'share', split),
                    Column(f'{split}_success_n', 'n', 'count', split),
                    Column(f'{split}_paper', 'paper', 'share', split)]
    columns += [
        Column('mean', 'success', 'share', 'mean over splits'),
        Column('mean_sem', 'SE over models', 'share', 'mean over splits'),
        Column('mean_within_sem', 'SE over episodes', 'share', 'mean over splits'),
        Column('mean_n', 'n', 'count', 'mean over splits'),
        Column('mean_of', 'of', 'count', 'mean over splits'),
        Column('mean_splits', 'splits', group='mean over splits'),
        Column('unscored', 'unscored', 'count'),
        Column('paper_mean', 'same models', 'share', 'paper'),
        Column('paper_sem', 'SE', 'share', 'paper'),
        Column('paper_five', 'its five models', 'share', 'paper'),
        Column('paper_five_sem', 'SE of these', 'share', 'paper')]
    rows = _rows(results)
    classes = _class_rows(rows)
    found = [row_of(columns, _success_cells(row)) for row in (*rows, *classes)]
    found += [row_of(columns, _combined_cells(first, members))
              for first, members in _combined_rows([*rows, *classes])]
    return Table('success', 'Success by method', tuple(columns), tuple(found), (
        'Share of solved episodes, mean over models; each model counts the same. SE over models: '
        "sample deviation of the models' means over splits, over the root of their number, as in "
        'the paper; it needs two models. SE over episodes: what the number of episodes leaves '
        'open for these very models and problems. "same models": mean of the numbers in the paper '
        'of the models in the row, where it has all. "its five models": table 1 and figure 5 of '
        'the paper. Domain "all": mean of the domains, model by model. A mean over splits is that '
        'of the splits named, over the models (of a mean of methods: models and methods), as many '
        'as "of" says, that have scored episodes of all of them. A row has models under the same '
        'conditions and settings only; versions of a model count as models, by their exact names. '
        f'Why numbers of the paper are left out, table "models" says. {UNSCORED}'))


def _success_cells(row: _Row) -> dict[str, Any]:
    cells = {**row.cells, 'models': len(row.names), 'names': ', '.join(row.names) or None,
             'unscored': row.unscored}
    for split in dict.fromkeys(split for rates in row.rates.values() for split in rates):
        present = [pair for pair, rates in row.rates.items() if split in rates and rates[split].n]
        shares = [row.rates[pair][split] for pair in present]
        theirs = [row.theirs[pair].get(split) for pair in present]
        mean, error = mean_over([share.rate or 0.0 for share in shares])
        if len(shares) == 1:
            error = shares[0].sem
        known = [value for value in theirs if value is not None]
        cells |= {f'{split}_success': mean, f'{split}_success_sem': error,
                  f'{split}_success_n': sum(s.n for s in shares),
                  f'{split}_paper': fmean(known) if known and len(known) == len(theirs) else None}
    means = list(row.means().values())
    cells['mean'], cells['mean_sem'] = mean_over(means)
    shares = [rates[split] for rates in row.whole() for split in row.splits]
    cells |= {'mean_n': sum(share.n for share in shares), 'mean_of': len(means),
              'mean_within_sem': mean_sem([share.sem or 0.0 for share in shares])
              if shares else None,
              'mean_splits': ', '.join(row.splits)}
    suite = suite_of(str(row.cells['domain']))
    if suite and set(row.splits) == set(suite.domains[str(row.cells['domain'])].splits):
        cells['paper_mean'], cells['paper_sem'] = mean_over(
            list(row.their_means().values()))
        cells |= _five(str(row.cells['domain']), str(row.cells['domain']), row)
    return cells


def _five(domain: str, of: str, row: _Row) -> dict[str, Any]:
    """The paper's mean over its five models, of a domain or of all of its suite."""
    suite = suite_of(of)
    found = suite.published(
        _FIVE, 'solved', domain=domain, method=row.method, split=ALL,
        failure_probability=row.cells['failure_probability'],
    ) if suite and row.as_published else None
    return {} if found is None else {'paper_five': found.value, 'paper_five_sem': found.sem}


def _combined_cells(first: _Row, members: Sequence[_Row]) -> dict[str, Any]:
    common = _common(members)
    names = list(dict.fromkeys(model for _, model in common if model))
    shares = [row.rates[pair][split] for row in members for pair in common
              for split in row.splits]
    cells = {**first.cells, 'models': len(names),
             'names': ', '.join(names) or None, 'mean_of': len(common),
             'unscored': sum(row.unscored for row in members),
             'mean_n': sum(share.n for share in shares),
             'mean_within_sem': mean_sem([share.sem or 0.0 for share in shares]),
             'mean_splits': ', '.join(dict.fromkeys(s for row in members for s in row.splits))}
    cells['mean'], cells['mean_sem'] = mean_over(
        [fmean(row.means()[pair] for row in members) for pair in common])
    theirs = [row.their_means() for row in members]
    if all(pair in means for means in theirs for pair in common):
        cells['paper_mean'], cells['paper_sem'] = mean_over(
            [fmean(means[pair] for means in theirs) for pair in common])
    return {**cells, **_five(ALL, members[0].cells['domain'], first)}


def figure5(results: Results) -> Table:
    """What the paper's figure 5 shows: success of each method on each split."""
    columns = (*(c for c in GROUP if c.key != 'model'), Column('split', 'split'),
               Column('models', 'models', 'count'), Column('names', 'which'),
               Column('success', 'success', 'share'), Column('success_sem', 'SE', 'share'),
               Column('success_n', 'n', 'count'),
               Column('paper', 'same models', 'share', 'paper'),
               Column('paper_five', 'its five models', 'share', 'paper'))
    found = []
    for row in _rows(results):
        cells = _success_cells(row)
        for split in row.splits:
            suite = suite_of(str(row.cells['domain']))
            five = suite.published(
                _FIVE, 'solved', domain=str(row.cells['domain']), method=row.method, split=split,
                failure_probability=row.cells['failure_probability'],
            ) if suite and row.as_published else None
            count = sum(split in rates and rates[split].n > 0 for rates in row.rates.values())
            found.append(row_of(columns, {
                **cells, 'split': split, 'models': count if row.names else 0,
                **{key: cells[f'{split}_{key}']
                   for key in ('success', 'success_sem', 'success_n')},
                'paper': cells[f'{split}_paper'],
                'paper_five': None if five is None else five.value}))
    return Table('figure5', 'Success by method, domain and split', columns, tuple(found), (
        'Mean over models. SE: over models where there are several (sample deviation over the '
        'root of their number), else that of the share of solved episodes.'))


# -------------------------------------------------------------------------------- by model


_MODELS = (
    *GROUP, Column('split', 'split'), *share_columns('success', 'success'),
    Column('unscored', 'unscored', 'count'),
    Column('accuracy', 'accuracy', 'share', 'answers to enumerations'),
    Column('accuracy_sem', 'SE', 'share', 'answers to enumerations'),
    Column('accuracy_n', 'readable', 'count', 'answers to enumerations'),
    Column('accuracy_unparsed', 'unreadable', 'count', 'answers to enumerations'),
    Column('macro_accuracy', 'mean of predicates', 'share', 'answers to enumerations'),
    Column('all_accuracy', 'accuracy, all answers', 'share'),
    Column('action_accuracy', 'action accuracy', 'share', 'actions'),
    Column('executable', 'executable', 'share', 'actions'),
    Column('actions_n', 'n', 'count', 'actions'),
    Column('paper_success', 'success', 'share', 'paper: success'),
    Column('paper_success_sem', 'SE', 'share', 'paper: success'),
    Column('success_errors', 'difference / SE', 'number', 'paper: success'),
    Column('paper_accuracy', 'accuracy', 'share', 'paper: accuracy'),
    Column('paper_accuracy_sem', 'SE', 'share', 'paper: accuracy'),
    Column('accuracy_errors', 'difference / SE', 'number', 'paper: accuracy'),
    Column('paper_source', 'paper: where'), Column('paper_apart', 'paper: not compared'),
    Column('exact_model', 'exact model'))


def models(results: Results) -> Table:
    """All scores of every group and split."""
    found = [row_of(_MODELS, {**group_cells(group), **_model_cells(group, split)})
             for group, split in groups_by_split(results)]
    return Table('models', 'Scores by model, method and split', _MODELS, tuple(found), (
        f'{WILSON} SE of a share p: sqrt(p (1 - p) / n), as in the paper; it is 0 at 0 and 1. '
        'Accuracy: share of right ones of the readable answers to enumeration questions. Action '
        'accuracy: share of actions that were carried out with every answer about them right, of '
        'the actions taken and those still planned. Executable: share of the actions decided on '
        'that the world carried out. "difference / SE": ours minus that of the paper, in standard '
        'errors of the difference; episodes and answers taken for independent. With backend '
        'noisy_oracle the model stands for its published rates of errors. The paper is compared '
        'with where budget, end at the goal and what is told are those of the suite, the problems '
        "are the shipped ones (which are not the paper's own), and rates are of the kind that "
        'the method asks for; "not compared" says what is not so. A model is taken for the one '
        f'that its server or folder says it is: see its exact name. {UNSCORED}'))


def _model_cells(group: Group, split: str) -> dict[str, Any]:
    lines, summary = group.of_split(split), group.summaries[split]
    share, accuracy = solved(lines), summary['predicate_accuracy']
    counts = summary['predicates'].get(AskPurpose.ENUMERATION.value, {}).values()
    asked, unread = (sum(c[key] for c in counts) for key in ('asked', 'unparsed'))
    theirs, their_sem, source = published(group, split)
    right, right_sem, _ = published(group, split, 'predicate_accuracy')
    actions = summary['actions']
    return {
        'split': split, **share_cells('success', share), 'unscored': unscored(lines),
        'accuracy': accuracy['overall'], 'accuracy_sem': accuracy['sem'],
        'accuracy_n': asked - unread if asked else None,
        'accuracy_unparsed': unread if asked else None,
        'macro_accuracy': accuracy['macro'], 'all_accuracy': accuracy['all_questions'],
        'action_accuracy': summary.get('action_accuracy'), 'executable': summary['executable'],
        'actions_n': actions['executed'] + actions['rejected'] + actions['invalid']
        if share.n and are_known(lines, 'executed', 'rejected', 'invalid') else None,
        'paper_success': theirs, 'paper_success_sem': their_sem,
        'success_errors': errors_apart(share.rate, share.sem, theirs, their_sem),
        'paper_accuracy': right, 'paper_accuracy_sem': right_sem,
        'accuracy_errors': errors_apart(accuracy['overall'], accuracy['sem'], right, right_sem),
        'paper_source': source, 'exact_model': group.exact_model or None,
        'paper_apart': (unlike_published(group, split) or None) if group.model else None}


def model_table(results: Results) -> Table:
    """The layout of the paper's tables 6 to 13: models, and success and accuracy by split."""
    columns = list(GROUP)
    for split in results.splits:
        for what, n in (('success', 'n'), ('accuracy', 'answers')):
            above = f'{split}: {what}'
            columns += [Column(f'{split}_{what}', what, 'share', above),
                        Column(f'{split}_{what}_sem', 'SE', 'share', above),
                        Column(f'{split}_{what}_n', n, 'count', above),
                        Column(f'{split}_paper_{what}', 'paper', 'share', above)]
    found = []
    for group in results.groups:
        cells = group_cells(group)
        for split in group.splits:
            cells |= {f'{split}_{key}': value
                      for key, value in _model_cells(group, split).items()}
        found.append(row_of(columns, cells))
    return Table('model_table', 'Models: success and accuracy by split', tuple(columns),
                 tuple(found), 'See the table "models" for intervals and definitions.')


# ---------------------------------------------------------------------------- by predicate


_PREDICATES = (
    *GROUP, Column('split', 'split'), Column('predicate', 'predicate'),
    *share_columns('accuracy', 'accuracy', 'readable'),
    Column('unparsed', 'unreadable', 'count'),
    Column('yes_accuracy', 'right', 'share', 'true atoms'),
    Column('yes_n', 'n', 'count', 'true atoms'),
    Column('no_accuracy', 'right', 'share', 'false atoms'),
    Column('no_n', 'n', 'count', 'false atoms'),
    Column('paper', 'accuracy', 'share', 'paper'), Column('paper_sem', 'SE', 'share', 'paper'),
    Column('errors', 'difference / SE', 'number', 'paper'),
    Column('paper_source', 'where', group='paper'))


def predicates(results: Results) -> Table:
    """Accuracy by predicate, of enumeration questions."""
    found: list[dict[str, Any]] = []
    for group, split in groups_by_split(results):
        table = group.summaries[split]['predicates'].get(AskPurpose.ENUMERATION.value, {})
        found += [row_of(_PREDICATES, {
            **group_cells(group), 'split': split,
            **_predicate_cells(group, split, predicate, counts)})
            for predicate, counts in table.items()]
    return Table('predicates', 'Accuracy by predicate', _PREDICATES, tuple(found), (
        'Answers to enumeration questions. Accuracy counts readable answers; of true and false '
        'atoms unreadable ones count as wrong. Low and high: 95 % Wilson interval, which takes '
        'answers for independent; answers about one picture are not, so that it is too narrow.'))


def _predicate_cells(group: Group, split: str, predicate: str, counts: Mapping[str, Any],
                     ) -> dict[str, Any]:
    share = Share(counts['right'], counts['asked'] - counts['unparsed'])
    theirs, their_sem, source = published(group, split, f'predicate_accuracy.{predicate}')
    return {'predicate': predicate, **share_cells('accuracy', share),
            'unparsed': counts['unparsed'], 'yes_accuracy': counts['yes_accuracy'],
            'yes_n': counts['yes_asked'], 'no_accuracy': counts['no_accuracy'],
            'no_n': counts['no_asked'], 'paper': theirs, 'paper_sem': their_sem,
            'errors': errors_apart(share.rate, share.sem, theirs, their_sem),
            'paper_source': source}


def predicate_tables(results: Results) -> list[Table]:
    """The layout of the paper's tables 16 to 19: models, and splits by predicate."""
    tables = []
    rows = predicates(results).rows
    for domain in results.domains:
        own = [row for row in rows if row['domain'] == domain]
        names = sorted({row['predicate'] for row in own})
        splits = [split for split in results.splits if any(r['split'] == split for r in own)]
        columns = [*GROUP]
        for name in names:
            for split in splits:
                columns += [Column(f'{name}_{split}', split, 'share', name),
                            Column(f'{name}_{split}_n', 'n', 'count', name),
                            Column(f'{name}_{split}_paper', 'paper', 'share', name)]
        wide: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in own:
            cells = wide.setdefault(tuple(row[c.key] for c in GROUP),
                                    {c.key: row[c.key] for c in GROUP})
            place = f'{row["predicate"]}_{row["split"]}'
            cells |= {place: row['accuracy'], f'{place}_n': row['accuracy_n'],
                      f'{place}_paper': row['paper']}
        tables.append(Table(
            f'predicates_{file_name(domain)}', f'Accuracy by predicate and split: {domain}',
            tuple(columns), tuple(row_of(columns, cells) for cells in wide.values()),
            'See the table "predicates" for intervals and definitions.'))
    return tables
