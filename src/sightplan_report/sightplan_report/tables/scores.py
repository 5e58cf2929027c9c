"""Success and accuracy by method (the paper's table 1 and figure 5), model and predicate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from sightplan.agent import needs_grounder, needs_visual_planner
from sightplan.metrics import mean_sem, measures
from sightplan.metrics.intervals import (
    Fraction,
    errors_apart,
    fraction_of_counts,
    mean_over,
    pooled,
)
from sightplan.metrics.measures import solved_of
from sightplan.model import AskPurpose, InputError
from sightplan.records.evidence import file_name
from sightplan.runs.published import Published
from sightplan.runs.rules import of_suite
from sightplan.runs.suite import Suite
from sightplan_report import conditions
from sightplan_report.conditions import Fields
from sightplan_report.grouping import grouped
from sightplan_report.results import Group, Results
from sightplan_report.tables.common import (
    ALL,
    fraction_cells,
    group_cells,
    groups_by_split,
    published,
    unlike_model,
    unlike_published,
    unscored,
)
from sightplan_report.tables.like_for_like import (
    joined,
    measured,
    method_defaults,
    published_with,
    unlike_paper,
)
from sightplan_report.tables.model import Table, group_columns, make

_PERFECT = 'perfect'
_ALIKE = ('domain', 'method', 'backend', 'failure_probability', 'privileged', 'calibrated')
_SETTINGS_OF_DOMAIN = ('constraints',)
_FIVE = 'mean of five'
_GOES_ON = 'unread: the episode goes on'
_THEIR_OWN = "the authors' own episodes"
"""Words in place of the distance of imported results."""
_CLASSES = {'planner_average': (needs_visual_planner, 'methods whose model plans'),
            'grounder_average': (needs_grounder, 'methods whose model answers questions')}

_Pair = tuple[str, str]
"""A method and a model."""
_Place = tuple[str, str]
"""A domain and a split."""


# ------------------------------------------------------------------------------- by method


@dataclass(frozen=True, slots=True)
class _Rate:
    """Solved episodes, and the paper's value; None where it has none."""

    fraction: Fraction
    paper: float | None


@dataclass(frozen=True)
class _Row:
    """Data that one row of table 1 averages.

    Attributes:
        cells: what names the row.
        places: of which the mean is made: over the splits of a domain, then over domains.
        rates: of each method and model, by place.
        method: as the suite's published means are called.
        unscored: number of episodes.
        settings: of the method, or those that all methods have in common.
        condition: see ``Group.condition``.
        named: what sweeps call the variant.
        as_published: whether all episodes are what the suite rules.
        suite: that the episodes of all places belong to; None for none, and for several.
        parts: the groups and splits that it is about.
    """

    cells: Mapping[str, Any]
    places: tuple[_Place, ...]
    rates: Mapping[_Pair, Mapping[_Place, _Rate]]
    method: str
    unscored: int
    settings: Fields
    condition: Fields
    named: frozenset[str]
    as_published: bool
    suite: Suite | None
    parts: tuple[tuple[Group, str], ...]

    @property
    def domain(self) -> str:
        """Domain of the episodes; the first one of several."""
        return self.places[0][0]

    @property
    def published_methods(self) -> frozenset[str]:
        """The methods that its suite's paper has numbers of."""
        return frozenset() if self.suite is None else self.suite.published.methods

    @property
    def perfect(self) -> bool:
        """Whether its one model makes no errors."""
        return any(model == _PERFECT for _, model in self.rates)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models, each once."""
        return tuple(dict.fromkeys(model for _, model in self.rates if model))

    @property
    def all_published_splits(self) -> bool:
        """Whether the mean is over exactly the splits of each domain that the paper averages."""
        by_domain = grouped(self.places, lambda place: place[0])
        return self.suite is not None and all(
            {split for _, split in places} == self.suite.published_splits(domain)
            for domain, places in by_domain.items())

    def whole(self) -> dict[_Pair, list[_Rate]]:
        """The rates of all places, of each method and model with scored episodes of all."""
        return {pair: [rates[place] for place in self.places] for pair, rates in self.rates.items()
                if all(place in rates and rates[place].fraction.n for place in self.places)}

    def mean(self, values: Iterable[float]) -> float:
        """The mean over domains of the means over their splits, of a value for each place."""
        by_domain = grouped(zip(self.places, values, strict=True), lambda item: item[0][0])
        return fmean(fmean(value for _, value in part) for part in by_domain.values())


def _rows(results: Results) -> list[_Row]:
    """Rows of table 1: one for each domain, method, settings and condition, over its models."""
    parts = grouped(results.groups, lambda group: (
        *(group_cells(group)[key] for key in _ALIKE), group.settings, group.condition,
        group.model == _PERFECT))
    rows = []
    for groups in parts.values():
        first = groups[0]
        present = {split for group in groups for split in group.splits}
        rows.append(_Row(
            {**group_cells(first), 'model': None},
            tuple((first.domain, split) for split in results.splits if split in present),
            {(group.method, name): {
                (group.domain, split): _Rate(solved_of(lines), published(group, split)[0])
                for split, lines in group.by_split.items()}
             for group, name in zip(groups, _model_names(groups), strict=True)},
            first.method, sum(unscored(group.lines) for group in groups), first.settings,
            first.condition, frozenset(name for group in groups for name in group.named),
            not any(unlike_published(group, split) for group in groups
                    for split in group.splits),
            _suite_of(groups), tuple((group, split) for split in results.splits
                                     for group in groups if split in group.splits)))
    return _distinguished(rows)


def _suite_of(groups: Iterable[Group]) -> Suite | None:
    """The suite of groups, None for none and for several."""
    found = {suite.name: suite for group in groups if (suite := group.runs[0].ruling_suite)}
    return next(iter(found.values())) if len(found) == 1 else None


def _model_names(groups: Sequence[Group]) -> list[str]:
    """Short names of models; exact ones where two would share a short one."""
    short, exact = (Counter(names) for names in (
        [group.model for group in groups], [group.exact_model for group in groups]))
    return [group.model if short[group.model] == 1 else group.exact_model
            if exact[group.exact_model] == 1 else f'{group.exact_model}, {group.variant}'
            for group in groups]


def _distinguished(rows: Iterable[_Row]) -> list[_Row]:
    """Rows with the variants that distinguish them from rows that look equal."""
    found = list(rows)
    alike = grouped(range(len(found)), lambda number: (
        *(found[number].cells[key] for key in _ALIKE), found[number].perfect))
    for numbers in alike.values():
        texts = conditions.disambiguate_labels([(found[number].named, {
            **dict(found[number].settings), **dict(found[number].condition)})
            for number in numbers])
        for number, text in zip(numbers, texts, strict=True):
            found[number] = replace(found[number], cells={**found[number].cells,
                                                          'variant': text or None})
    return found


def _families(rows: Iterable[_Row], what: Callable[[_Row], Any], kin: Callable[[_Row], Any],
              close: Callable[[_Row], Any]) -> list[list[_Row]]:
    """Rows that can be averaged, one for each value of what they differ in.

    Where one is there several times, those belong together that are closer; what is ambiguous
    even then is left out.
    """
    def single(members: Sequence[_Row]) -> bool:
        return len(set(map(what, members))) == len(members)

    families = [part for members in grouped(rows, kin).values()
                for part in ([members] if single(members) else grouped(members, close).values())]
    return [members for members in families if len(members) > 1 and single(members)]


def _settings(row: _Row, *left_out: str) -> Fields:
    """Settings of the method without its prompt, of which each method has its own."""
    return tuple((name, value) for name, value in row.settings
                 if not name.startswith('prompt') and name not in left_out)


def _condition(row: _Row) -> Fields:
    """Condition without the limit of tokens, of which each method has its own."""
    return tuple(field for field in row.condition if field[0] != 'reply_tokens')


def _merged(members: Sequence[_Row], places: tuple[_Place, ...], **cells: Any) -> _Row:
    """One row for the data of several; it keeps the settings and names that they share."""
    first = members[0]
    return replace(
        first, cells={**first.cells, **cells}, places=places,
        rates={pair: {place: rate for row in members
                      for place, rate in row.rates.get(pair, {}).items()}
               for pair in dict.fromkeys(pair for row in members for pair in row.rates)},
        unscored=sum(row.unscored for row in members),
        settings=tuple(field for field in first.settings
                       if all(field in row.settings for row in members)),
        named=first.named if len({row.named for row in members}) == 1 else frozenset(),
        as_published=all(row.as_published for row in members),
        suite=first.suite if all(row.suite == first.suite for row in members) else None,
        parts=tuple(part for row in members for part in row.parts
                    if (part[0].domain, part[1]) in places))


def _class_rows(rows: Sequence[_Row]) -> list[_Row]:
    """Averages over the methods of a class that the suite publishes.

    The paper's own average stands beside one that has all of its methods.
    """
    found = []
    for name, (belongs, words) in _CLASSES.items():
        mine = [row for row in rows
                if row.method in row.published_methods and _is(belongs, row.method)]
        for members in _families(
                mine, lambda row: row.method,
                lambda row: (*(row.cells[key] for key in _ALIKE if key != 'method'),
                             _condition(row), row.perfect),
                lambda row: (_settings(row), row.named, row.condition)):
            common = tuple(place for place in members[0].places
                           if all(place in row.places for row in members))
            row = _merged(members, common, method=f'mean of {len(members)} {words}')
            if common:
                found.append(replace(
                    row, method=name,
                    condition=tuple(field for field in row.condition
                                    if all(field in member.condition for member in members)),
                    as_published=row.as_published and all(
                        method in {member.method for member in members}
                        for method in members[0].published_methods if _is(belongs, method))))
    return _distinguished(found)


def _is(belongs: Callable[[str], bool], method: str) -> bool:
    try:
        return belongs(method)
    except InputError:  # a method of another version
        return False


def _combined_rows(rows: Sequence[_Row]) -> list[_Row]:
    """Rows of several domains whose means can be averaged model by model.

    What a domain has of its own may differ: its hashes, its world, the settings of the backend
    for it, and privileged facts, if they are what the suite grants.
    """
    families = _families(
        rows, lambda row: row.cells['domain'],
        lambda row: (*(row.cells[key] for key in ('method', 'backend', 'failure_probability',
                                                  'calibrated')), _privileged(row),
                     conditions.for_domains(row.condition),
                     _settings(row, *_SETTINGS_OF_DOMAIN, *_set_by_protocol(row)), row.perfect),
        lambda row: (row.named, tuple(field for field in row.condition
                                      if not field[0].endswith('sha256'))))
    merged = []
    for members in families:
        row = _merged(members, tuple(place for row in members for place in row.places),
                      domain=ALL, privileged=None)
        row = replace(row, rates={pair: row.rates[pair] for pair in row.whole()},
                      settings=_settings(members[0], *_SETTINGS_OF_DOMAIN,
                                         *_set_by_protocol(members[0])),
                      named=frozenset.union(*(row.named for row in members)))
        if row.rates:
            merged.append(row)
    return _distinguished(merged)


def _set_by_protocol(row: _Row) -> frozenset[str]:
    """Names of settings of the method that are as the protocol has them in the row's domain.

    Only what the protocol sets in some domain of the suite counts; where it does not set it, that
    is the default.
    """
    protocol, suite = str(dict(row.condition)['protocol']), row.suite
    if suite is None or protocol not in suite.protocols:
        return frozenset()
    method = row.parts[0][0].method
    values: dict[str, Any] = {}
    for domain, rules in suite.domains.items():
        for name in suite.protocol_settings(protocol, domain, method, rules.splits[0]):
            head, _, option = name.partition('.')
            if head == 'method_options':
                values[option] = method_defaults(method).get(option)
    values |= {name.partition('.')[2]: value for name, (value, _) in suite.protocol_settings(
        protocol, row.domain, method, row.places[0][1]).items()}
    return frozenset(name for name, value in row.settings if name in values
                     and values[name] == value)


def _privileged(row: _Row) -> object:
    """Level of privileged facts; None if it is what the suite grants."""
    level, protocol = row.cells['privileged'], str(dict(row.condition)['protocol'])
    return None if all(of_suite('privileged', row.suite, domain, row.method, split,
                                protocol) == level
                       for domain, split in row.places) else level


def success(results: Results) -> Table:
    """The layout of the paper's table 1: methods, means over splits and models."""
    rows = _rows(results)
    rows += _class_rows(rows)
    return make('success', map(_success_cells, [*rows, *_combined_rows(rows)]),
                split=results.splits)


def table1(results: Results) -> Table:
    """The paper's table 1: a row for each method, with the means of each domain and of all."""
    rows = _rows(results)
    combined = _combined_rows(rows + _class_rows(rows))
    domains = dict.fromkeys(domain for row in combined for domain, _ in row.places)
    return make('table1', map(_cells_by_domain, combined),
                domain={**{domain: domain for domain in domains}, ALL: 'all domains'})


def _cells_by_domain(row: _Row) -> dict[str, Any]:
    """The cells of ``success`` that are means, for each domain of a combined row and for all."""
    cells = {**row.cells, 'models': len(row.names), 'names': ', '.join(row.names) or None,
             'unscored': row.unscored, **compared(row.parts),
             'splits': ', '.join(dict.fromkeys(split for _, split in row.places))}
    for domain in (*dict.fromkeys(domain for domain, _ in row.places), ALL):
        part = row if domain == ALL else replace(
            row, cells={**row.cells, 'domain': domain},
            places=tuple(place for place in row.places if place[0] == domain))
        found = _success_cells(part)
        error = found['mean_within_sem'] if found['mean_of'] == 1 else found['mean_sem']
        cells |= {f'{domain}_mean': found['mean'], f'{domain}_sem': error,
                  f'{domain}_n': found['mean_n'],
                  f'{domain}_paper': found.get('paper_mean'),
                  f'{domain}_paper_five': found.get('paper_five'),
                  f'{domain}_paper_five_sem': found.get('paper_five_sem')}
    return cells


def _success_cells(row: _Row) -> dict[str, Any]:
    domain, whole = str(row.cells['domain']), row.whole()
    cells = {**row.cells, 'models': len(row.names), 'names': ', '.join(row.names) or None,
             'unscored': row.unscored, **compared(row.parts)}
    for place in dict.fromkeys(place for rates in row.rates.values() for place in rates):
        if domain != ALL:
            cells |= _cells_of_split(place[1], [
                rates[place] for rates in row.rates.values()
                if place in rates and rates[place].fraction.n])
    fractions = [rate.fraction for rates in whole.values() for rate in rates]
    cells['mean'], cells['mean_sem'] = mean_over(
        [row.mean(rate.fraction.rate or 0.0 for rate in rates) for rates in whole.values()])
    cells |= {'mean_n': sum(fraction.n for fraction in fractions), 'mean_of': len(whole),
              'mean_within_sem': mean_sem([fraction.sem or 0.0 for fraction in fractions])
              if fractions else None,
              'mean_splits': ', '.join(dict.fromkeys(split for _, split in row.places))}
    if row.all_published_splits:
        theirs = [[rate.paper for rate in rates if rate.paper is not None]
                  for rates in whole.values()]
        if all(len(known) == len(row.places) for known in theirs):
            cells['paper_mean'], cells['paper_sem'] = mean_over(list(map(row.mean, theirs)))
        if five := _mean_of_five(row, domain, ALL):
            cells |= {'paper_five': five.value, 'paper_five_sem': five.sem}
    return cells


def _cells_of_split(split: str, rates: Sequence[_Rate]) -> dict[str, Any]:
    """Mean over models of one split, and the paper's mean if it has all of these models."""
    mean, error = mean_over([rate.fraction.rate or 0.0 for rate in rates])
    if len(rates) == 1:
        error = rates[0].fraction.sem
    known = [rate.paper for rate in rates if rate.paper is not None]
    every = pooled(rate.fraction for rate in rates)
    return {f'{split}_success': mean, f'{split}_success_sem': error,
            f'{split}_success_n': sum(rate.fraction.n for rate in rates),
            f'{split}_success_low': every.low, f'{split}_success_high': every.high,
            f'{split}_paper': fmean(known) if known and len(known) == len(rates) else None}


def compared(parts: Iterable[tuple[Group, str]]) -> dict[str, Any]:
    """Conditions of splits of groups, those of the paper, and the differences."""
    found = list(parts)
    return {'measured': str(joined(measured(*part) for part in found)),
            'paper_measured': published_with(*found) or None,
            'paper_unlike': _each(_unlike_success(*part) for part in found)}


def _unlike_success(group: Group, split: str) -> str:
    """Differences from the conditions of the paper's success, in few words."""
    goes_on = _unreadable_note(group, group.summaries[split])
    return ', '.join(filter(None, (unlike_paper(group, split).short, goes_on and _GOES_ON)))


def _each(texts: Iterable[str | None]) -> str | None:
    """Different texts, each once; None if all are empty."""
    return '; '.join(dict.fromkeys(part for text in texts if text
                                   for part in text.split('; '))) or None


def _mean_of_five(row: _Row, domain: str, split: str) -> Published | None:
    """The paper's mean over its five models, of a split or of all, of a domain or of all."""
    return row.suite.published.find(
        _FIVE, 'solved', domain=domain, method=row.method, split=split,
        failure_probability=row.cells['failure_probability'],
    ) if row.suite and row.as_published else None


def figure5(results: Results) -> Table:
    """Table of the paper's figure 5: success of each method on each split."""
    def rows() -> Iterator[dict[str, Any]]:
        for row in _rows(results):
            cells = _success_cells(row)
            for domain, split in row.places:
                five = _mean_of_five(row, domain, split)
                count = sum((domain, split) in rates and rates[domain, split].fraction.n > 0
                            for rates in row.rates.values())
                yield {**cells, 'split': split, 'models': count if row.names else 0,
                       **compared(part for part in row.parts
                                   if (part[0].domain, part[1]) == (domain, split)),
                       **{key: cells[f'{split}_{key}']
                          for key in ('success', 'success_sem', 'success_low', 'success_high',
                                      'success_n', 'paper')},
                       'paper_five': five and five.value}
    return make('figure5', rows())


# -------------------------------------------------------------------------------- by model


def models(results: Results) -> Table:
    """Table of all scores of every group and split."""
    return make('models', ({**group_cells(group), **_model_cells(group, split)}
                           for group, split in groups_by_split(results)))


def _model_cells(group: Group, split: str) -> dict[str, Any]:
    lines, summary = group.by_split[split], group.summaries[split]
    fraction, accuracy = solved_of(lines), summary['predicate_accuracy']
    counts = summary['predicates'].get(AskPurpose.ENUMERATION.value, {}).values()
    asked, unread, unknown, answered_right = (sum(c[key] for c in counts) for key in (
        'asked', 'unparsed', 'unknown', 'right'))
    counted = fraction_of_counts([(split, answered_right, asked)])
    theirs, their_sem, source = published(group, split)
    right, right_sem, _ = published(group, split, 'predicate_accuracy')
    goes_on, abstains = _unreadable_note(group, summary), _abstains(unknown)
    unlike, actions = unlike_paper(group, split), summary['actions']
    own = _THEIR_OWN if group.imported else ''
    return {
        'split': split, **fraction_cells('success', fraction), 'unscored': unscored(lines),
        'accuracy': accuracy['overall'], 'accuracy_sem': accuracy['sem'],
        'accuracy_n': asked - unread - unknown if asked else None,
        'accuracy_unparsed': unread if asked else None,
        'accuracy_unknown': unknown if asked else None,
        'macro_accuracy': accuracy['macro'], 'all_accuracy': accuracy['all_questions'],
        'action_accuracy': summary.get('action_accuracy'), 'executable': summary['executable'],
        'actions_n': actions['executed'] + actions['rejected'] + actions['invalid']
        if fraction.n else None,
        'paper_success': theirs, 'paper_success_sem': their_sem,
        **_distance('success_', [own, unlike.short, goes_on and _GOES_ON], fraction, theirs,
                    their_sem),
        'counted_accuracy': counted.rate, 'counted_accuracy_sem': counted.sem,
        'counted_accuracy_n': asked or None,
        'paper_accuracy': right, 'paper_accuracy_sem': right_sem,
        **_distance('accuracy_', [own, unlike.short, abstains and 'answers of "unknown"'], counted,
                    right, right_sem),
        'measured': str(measured(group, split)),
        'paper_measured': published_with((group, split)) if theirs is not None or (
            right is not None) else None,
        'paper_source': source, 'exact_model': group.exact_model or None,
        'paper_differs': ', '.join(filter(None, (
            goes_on if theirs is not None else '', abstains if right is not None else '',
            unlike.details if theirs is not None or right is not None else ''))) or None,
        'paper_apart': ', '.join(filter(None, (
            unlike_published(group, split), unlike_model(group, split)))) or None
        if group.model else None}


def _distance(key: str, unlike: Sequence[str], ours: Fraction, theirs: float | None,
              their_sem: float | None) -> dict[str, Any]:
    """Our distance from the paper's number in standard errors, or why there is none."""
    words = ', '.join(filter(None, unlike))
    return {f'{key}errors': None if words else errors_apart(
        ours.rate, ours.sem, theirs, their_sem),
        f'{key}unlike': words if words and theirs is not None else None}


def _unreadable_note(group: Group, summary: Mapping[str, Any]) -> str:
    """Difference of our success from the paper's after unreadable replies; '' if there is none."""
    if group.imported:
        return ''
    unread = summary['unparsed'] + summary['proposals'].get('unparsed', 0)
    if not unread or dict(group.settings).get('on_unparsed') == 'stop':
        return ''
    return (f'success: episodes go on after an unreadable reply ({unread} of them), and end '
            'there in the paper (on_unparsed=stop)')


def _abstains(unknown: int) -> str:
    """Difference of our accuracy from the paper's where models abstain; '' if there is none."""
    return (f'accuracy: {unknown} answers are "unknown", which counts as wrong here, and which '
            'no prompt of the paper allows') if unknown else ''


def model_table(results: Results) -> Table:
    """The layout of the paper's tables 6 to 13: models, and success and accuracy by split."""
    return make('model_table', ({**group_cells(group), **compared([
        (group, split) for split in group.splits]), **{
        f'{split}_{key}': value for split in group.splits
        for key, value in _model_cells(group, split).items()}} for group in results.groups),
        split=results.splits)


# ---------------------------------------------------------------------------- by predicate


def predicates(results: Results) -> Table:
    """Accuracy by predicate, of enumeration questions."""
    return make('predicates', (
        {**group_cells(group), 'split': split, **_predicate_cells(group, split, name, counts)}
        for group, split in groups_by_split(results) for name, counts in
        group.summaries[split]['predicates'].get(AskPurpose.ENUMERATION.value, {}).items()))


def _predicate_cells(group: Group, split: str, predicate: str, counts: Mapping[str, Any],
                     ) -> dict[str, Any]:
    kind = AskPurpose.ENUMERATION.value
    answers = [(line['cluster'], own) for line in group.by_split[split] if measures.scored(line)
               and (own := line['predicates'].get(kind, {}).get(predicate))]
    fraction = fraction_of_counts(
        (cluster, own['right'], own['asked'] - own['unparsed'] - own['unknown'])
        for cluster, own in answers)
    counted = fraction_of_counts((cluster, own['right'], own['asked']) for cluster, own in answers)
    theirs, their_sem, source = published(group, split, f'predicate_accuracy.{predicate}')
    unlike = unlike_paper(group, split).short
    return {'predicate': predicate, **fraction_cells('accuracy', fraction),
            'unparsed': counts['unparsed'], 'unknown': counts['unknown'],
            'yes_accuracy': counts['yes_accuracy'],
            'yes_n': counts['yes_asked'], 'no_accuracy': counts['no_accuracy'],
            'no_n': counts['no_asked'], 'counted': counted.rate, 'counted_sem': counted.sem,
            'counted_n': counted.n or None, 'paper': theirs, 'paper_sem': their_sem,
            **_distance('', [_THEIR_OWN if group.imported else '', unlike,
                             'answers of "unknown"' if counts['unknown'] else ''],
                        counted, theirs, their_sem),
            'measured': str(measured(group, split)),
            'paper_measured': None if theirs is None else published_with((group, split)),
            'paper_source': source}


def predicate_tables(results: Results) -> list[Table]:
    """The layout of the paper's tables 16 to 19: models, and splits by predicate."""
    tables = []
    keys = [column.key for column in group_columns()]
    for domain, own in grouped(predicates(results).rows, lambda row: row['domain']).items():
        present = {row['split'] for row in own}
        wide: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in own:
            place = f'{row["predicate"]}_{row["split"]}'
            cells = {key: row[key] for key in keys}
            mine = wide.setdefault(tuple(cells.values()), cells)
            mine |= {place: row['counted'], f'{place}_n': row['counted_n'],
                     f'{place}_paper': row['paper'], **{
                         name: _each((mine.get(name), row[key]))
                         for name, key in (('measured', 'measured'), ('paper_unlike', 'unlike'),
                                           ('paper_measured', 'paper_measured'))}}
        table = make('predicates_of', wide.values(),
                     predicate=sorted({row['predicate'] for row in own}),
                     split=[split for split in results.splits if split in present])
        tables.append(replace(table, name=f'predicates_{file_name(domain)}',
                              title=f'{table.title}: {domain}'))
    return tables
