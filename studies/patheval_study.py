r"""Regenerates the tables of ``studies/patheval.md``, from its runs and by simulation.

Use::

    sightplan sweep config/sweeps/patheval.yaml --out runs/patheval
    sightplan sweep config/sweeps/patheval_eyes.yaml --out runs/patheval_eyes
    python studies/patheval_study.py runs/patheval runs/patheval_eyes

What was learned and probed is in ``studies/data/patheval/learned.json``, which is written by::

    sightplan suite patheval generate --split train --form spelled --workers 2 \
        --out runs/patheval_train
    python training/paths_tuned.py --data runs/patheval_train --cache runs/patheval_cache
    python training/paths_probes.py --data runs/patheval_train --cache runs/patheval_cache

Without runs only its tables are regenerated. The text of the document is written by hand; tables
and sentences with numbers in them stand between ``<!-- table NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import json
import math
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

import yaml

from path_reading import read_path
from sightplan.metrics import wilson
from sightplan.metrics.intervals import fraction_of
from sightplan.model import InputError
from sightplan.model.query import ask_one
from sightplan.queries.choose import Choose, compare
from sightplan.vlm.api import make_backend
from sightplan_belief.ranking import RankingBelief, rank
from sightplan_models.noisy_critic import Backend, Settings, published
from sightplan_suites.patheval.building import SHIPPED, PathPair, read_file
from sightplan_suites.patheval.items import Drawn, View, draw
from sightplan_suites.patheval.samples import SEGMENTS, SHORTER, VECTOR, shipped_items
from sightplan_suites.patheval.scenarios import read_task, vectors
from sightplan_suites.paths.descriptors import NAMES, SWEPT, WAYPOINTS, Descriptors, describe_all
from sightplan_suites.paths.drawing import TopView
from sightplan_suites.paths.drawing3d import PerspectiveView
from sightplan_suites.paths.labels import ORDER, PATHEVAL, Vector, label_pair
from sightplan_suites.paths.maps import ObstacleMap
from sightplan_suites.paths.scenarios import ABSTRACT, SPELLED, Scenario, load_scenarios
from sightplan_suites.paths.wishes import WishSettings
from study_document import STUDIES, rewrite
from study_results import Entry, commits_of, dates_of, origin_of, read_entries
from wish_scores import noisy_asker, score_wishes

DOCUMENT = 'patheval.md'
HELD_OUT = STUDIES / 'data/patheval/held_out_sentences.yaml'
RANKINGS = 500
PATHS, ASKED = 8, 14
ERRORS = (0.02, 0.05, 0.1, 0.2, 0.3)
SEEDS = 10
VIEWS: dict[View, TopView | PerspectiveView] = {'2d': TopView(), '3d': PerspectiveView()}
_DONE, _USAGE = 0, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Regenerate; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog='python studies/patheval_study.py',
        description='Regenerate the tables of studies/patheval.md.')
    parser.add_argument('runs', nargs='*', type=Path, metavar='RUNS',
                        help='directory of the sweep; none: only what was learned')
    parser.add_argument('--out', type=Path, default=STUDIES, metavar='DIR',
                        help=f'where {DOCUMENT} is (default: studies)')
    parser.add_argument('--pairs', type=int, default=462, metavar='N',
                        help='pairs that the program reads back (default: all)')
    parser.add_argument('--learned', type=Path, default=Path('studies/data/patheval/learned.json'),
                        metavar='FILE', help='what was learned (default: %(default)s)')
    arguments = parser.parse_args(argv)
    try:
        made = learned(read_learned(arguments.learned))
        if arguments.runs:
            entries = [entry for entry in read_entries(arguments.runs)
                       if entry.lines and len(entry.lines) >= entry.planned]
            costs, understood = sentences(arguments.pairs)
            made |= {**make_tables(entries), 'ranking': rankings(RANKINGS), 'wishes': wishes(),
                     'labels': labels(), 'ceiling': ceiling(arguments.pairs),
                     'sentences': costs, 'understood': understood}
        for line in rewrite(arguments.out / DOCUMENT, made):
            print(line)
    except InputError as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    return _DONE


def make_tables(entries: Sequence[Entry]) -> dict[str, str]:
    """Tables of what was run, by name."""
    critics, own = ([entry for entry in entries if entry.settings['backend'] == backend]
                    for backend in ('noisy_critic', 'embedded'))
    made: dict[str, str] = {}
    if critics:
        made |= {'origin': _origin(critics), 'bias': _bias(critics)}
    if own:
        made |= {'origin_eyes': _origin(own), 'eyes': _eyes(own), 'perception': _perception(own)}
    return made


def _origin(entries: Sequence[Entry]) -> str:
    return origin_of(sum(len(entry.lines) for entry in entries),
                     sum(entry.planned for entry in entries), len(entries), commits_of(entries),
                     dates_of(entries))


# ------------------------------------------------------------------------------------------ bias


def _bias(entries: Iterable[Entry]) -> str:
    """Accuracy in one order and in both, beside what signal detection predicts."""
    found: dict[tuple[str, str, str, str], Sequence[Mapping[str, object]]] = {}
    for entry in entries:
        options = entry.settings['backend_options']
        found[str(options['table']), str(options['answers']), str(options['noise']),
              str(entry.labels['method'])] = entry.lines
    heads = ("model, its d'", 'published, one order', 'one order', 'both, independent noise',
             'predicted', 'both, shared noise', 'predicted', 'both, hard answers')
    rows = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    phi = NormalDist().cdf
    for name, fitted in published().items():
        d = fitted.sensitivity
        cells = [found.get((name, *key)) for key in (
            ('graded', 'independent', 'one order'), ('graded', 'independent', 'both orders'),
            ('graded', 'shared', 'both orders'), ('hard', 'independent', 'both orders'))]
        one, both, shared, hard = (_rate(lines) for lines in cells)
        row = (f'{name}, {_short(d)}', _short(_published(name)), one, both,
                  _short(phi(d / math.sqrt(2))), shared, _short(phi(d / 2)), hard)
        rows.append(f'| {" | ".join(row)} |')
    return '\n'.join(rows)


def _published(name: str) -> float:
    from sightplan.runs import load_suite

    row = load_suite('patheval').published.find(
        name, 'solved', split='test', view='2d', variant='none')
    return math.nan if row is None else row.value


def _rate(lines: Sequence[Mapping[str, Any]] | None) -> str:
    if not lines:
        return '–'
    found = fraction_of([line['measures']['solved'] or 0.0 for line in lines],
                        [line['cluster'] for line in lines])
    low, high = found.interval
    return f'**{_short(found.successes / found.n)}** ({_short(low)}-{_short(high)})'


def _short(value: float) -> str:
    return '–' if math.isnan(value) else f'{value:.3f}'.replace('0.', '.')


# --------------------------------------------------------------------------------------- ranking


class _Places:
    """Preference source that prefers the better place; subjects end with their place."""

    def better(self, first: str, second: str) -> int:
        return 1 if int(first.rpartition('/')[2]) < int(second.rpartition('/')[2]) else -1


def rankings(count: int) -> str:
    """Table: how often the best of eight is found by well chosen pairs, and by all pairs."""
    every_pair = PATHS * (PATHS - 1) // 2
    rows = [f'| errors of | orders | {ASKED} well chosen pairs | all {every_pair} pairs |',
            '|---|---|---|---|']
    for table, orders in (('gpt-4o', 'both'), ('gpt-4o', 'one'), ('gpt-4o-mini', 'both'),
                          ('gpt-4o-mini', 'one')):
        backend = Backend(Settings(table=table), _Places())
        few = every = 0
        for trial in range(count):
            places = random.Random(trial).sample(range(PATHS), PATHS)

            def ask(i: int, j: int, trial: int = trial, places: Sequence[int] = places,
                    backend: Backend = backend, orders: str = orders) -> float:
                subjects = [f'{trial}/{places[k]}' for k in (i, j)]
                return compare(backend, lambda a, b: Choose((), ('Path 1', 'Path 2'),
                        (subjects[a], subjects[b])), orders).log_odds

            few += places[rank(PATHS, ask, ASKED).order[0]] == 0
            belief = RankingBelief(PATHS)
            for i, j in itertools.combinations(range(PATHS), 2):
                belief.add(i, j, ask(i, j))
            every += places[belief.ranking().order[0]] == 0
        rows.append(f'| {table} | {orders} | {_of(few, count)} | {_of(every, count)} |')
    return '\n'.join(rows)


def _of(right: int, count: int) -> str:
    low, high = wilson(right, count)
    return f'**{_short(right / count)}** ({_short(low)}-{_short(high)})'


# ---------------------------------------------------------------------------------------- wishes


def wishes() -> str:
    """Table: how often words become the right vector, by the error rate of answers."""
    scenarios = load_scenarios()
    heads = ('error rate of an answer', 'all seven right, 3 wordings', '1 wording',
             'signs right, 3 wordings', 'worst descriptor')
    rows = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    for error in ERRORS:
        shown = []
        for wordings in (3, 1):
            settings = WishSettings(wordings=wordings)
            found = [score_wishes(noisy_asker(error, error, settings=settings, seed=seed),
                                  scenarios) for seed in range(SEEDS)]
            texts = sum(one.texts for one in found)
            shown.append((sum(one.vectors for one in found), texts,
                          {name: sum(one.signs[name] for one in found) / texts for name in ORDER}))
        (three, texts, signs), (one_, _, _) = shown
        worst = min(signs, key=lambda name: signs[name])
        rows.append(f'| {_short(error)} | {_of(three, texts)} | {_of(one_, texts)} | '
                    f'{_short(sum(signs.values()) / len(signs))} | {worst.replace("_", " ")} '
                    f'{_short(signs[worst])} |')
    return '\n'.join(rows)


# --------------------------------------------------------------------------------------- ceiling


def ceiling(count: int) -> str:
    """Table: how often a program that reads the drawn line back finds the path that has more."""
    pairs = {item.pair: item.pictured for item in shipped_items()}
    drawn = [one for one in list(pairs.values()) if isinstance(one, Drawn)][:count]
    found: dict[tuple[str, str], list[bool]] = {}
    unread = dict.fromkeys(VIEWS, 0)
    for (view, camera), pair in itertools.product(VIEWS.items(), drawn):
        read = [read_path(draw(pair.map, path, view), camera).points for path in pair.paths]
        points = [one for one in read if one is not None]
        if len(points) < len(read):
            unread[view] += 1
            continue
        true, seen = (describe_all(pair.map, paths, rule=WAYPOINTS)
                      for paths in (pair.paths, points))
        for name in NAMES:
            differs = getattr(true[0], name) - getattr(true[1], name)
            if PATHEVAL.significant(name, differs):
                reads = getattr(seen[0], name) - getattr(seen[1], name)
                found.setdefault((name, view), []).append(differs * reads > 0)
    rows = [f'| {" | ".join(("the program is right about", *VIEWS))} |', '|---|---|---|']
    for name in NAMES:
        cells = [found.get((name, view), []) for view in VIEWS]
        rows.append(f'| {name.replace("_", " ")} | ' + ' | '.join(
            f'{_of(sum(cell), len(cell))}, n = {len(cell)}' if cell else '–' for cell in cells)
            + ' |')
    missed = ', '.join(f'{number} of {len(drawn)} in {view}' for view, number in unread.items())
    return '\n'.join([*rows, '', f'{len(drawn)} pairs; not read: {missed}.'])


# ---------------------------------------------------------------------------------------- labels


def labels() -> str:
    """Table: how many of the shipped items have another label, or none, by other rules."""
    chosen = read_file(SHIPPED)
    vector = vectors()
    pairs = {one.pair for one in chosen}

    def labelled(measured: Callable[[PathPair], Sequence[Descriptors]], strict: bool = False,
                 ) -> list[int | None]:
        values = {pair: measured(pair) for pair in pairs}
        return [label_pair(values[one.pair][0], values[one.pair][1], vector[one.scenario],
                           strict=strict).choice for one in chosen]
    was = labelled(lambda pair: pair.values)
    others = {
        'the border is an obstacle': labelled(lambda pair: describe_all(
            _with_border(pair.map), pair.paths, rule=WAYPOINTS)),
        'along the line that is driven (`swept`)': labelled(lambda pair: describe_all(
            pair.map, pair.paths, rule=SWEPT)),
        'a difference must exceed its threshold': labelled(lambda pair: pair.values, strict=True)}
    rows = ['| by another rule | label turns | label vanishes | either |', '|---|---|---|---|']
    clusters = [one.pair.map.name for one in chosen]
    for name, now in others.items():
        turned = [float(new is not None and new != old) for old, new in zip(was, now, strict=True)]
        gone = [float(new is None) for new in now]
        cells = [_share(values, clusters) for values in (
            turned, gone, [max(pair) for pair in zip(turned, gone, strict=True)])]
        rows.append(f'| {name} | {" | ".join(cells)} |')
    return '\n'.join([*rows, '', f'Of {len(chosen)} items; intervals over maps.'])


def _with_border(item: ObstacleMap) -> ObstacleMap:
    """A map whose border is four obstacles, which lie outside of it."""
    box, thick = item.bounds, 1.0
    x, y, right, top = box.x_min, box.y_min, box.x_max, box.y_max
    sides = ((x - thick, y, x, top), (right, y, right + thick, top), (x, y - thick, right, y),
             (x, top, right, top + thick))
    walls = tuple(((left, low), (end, low), (end, high), (left, high))
                  for left, low, end, high in sides)
    return dataclasses.replace(item, polygons=(*item.polygons, *walls))


def _share(values: Sequence[float], clusters: Sequence[str]) -> str:
    found = fraction_of(values, clusters)
    low, high = found.interval
    return (f'**{found.successes:g}**, {_short(found.successes / found.n)} '
            f'({_short(low)}-{_short(high)})')


# ------------------------------------------------------------------------------------------ eyes


def sentences(count: int) -> tuple[str, str]:
    """Tables: what an abstract sentence costs the shipped model, and what is read of sentences.

    It compares the same pictures by the vector of the task and by what the reader of sentences
    finds in each wording of it; where that finds nothing, the shorter path is taken.

    Args:
        count: pairs whose pictures are looked at.
    """
    chosen = list(read_file(SHIPPED))
    pairs = list({one.pair: None for one in chosen})[:count]
    tasks = {one.id: one for one in load_scenarios()}
    ways: dict[tuple[str, str], Callable[[Scenario], Sequence[tuple[tuple[str, int], ...]]]] = {
        ('the vector of the task, told', ''): lambda task: [_signs(task.vector)],
        ('a spelled-out sentence, read', 'the first wording'):
            lambda task: [_read(task.wordings(SPELLED)[0])],
        ('a spelled-out sentence, read', 'all four'):
            lambda task: [*map(_read, task.wordings(SPELLED))],
        ('an abstract sentence, read', 'the first wording'):
            lambda task: [_read(task.wordings(ABSTRACT)[0])],
        ('an abstract sentence, read', 'all four'):
            lambda task: [*map(_read, task.wordings(ABSTRACT))],
        ('an abstract sentence, read', 'two that the reader was not made with'):
            lambda task: [*map(_read, held_out()[task.id])],
        ('nothing: the shorter path', ''): lambda task: [SHORTER]}
    right: dict[tuple[tuple[str, str], View], tuple[list[float], list[str]]] = {}
    eyes = make_backend('embedded', {})
    for pair, view in itertools.product(pairs, VIEWS):
        pictures = tuple(draw(pair.map, path, view) for path in pair.paths)
        answers: dict[tuple[tuple[str, int], ...], int | None] = {}
        for one, (way, wants) in itertools.product(
                (one for one in chosen if one.pair is pair), ways.items()):
            better = label_pair(*pair.values, tasks[one.scenario].vector).choice
            for signs in wants(tasks[one.scenario]):
                if signs not in answers:
                    answers[signs] = ask_one(eyes, Choose(pictures, ('Path 1', 'Path 2'),
                                                          properties=signs)).chosen
                values, maps = right.setdefault((way, view), ([], []))
                values.append(float(better is not None and answers[signs] == better - 1))
                maps.append(pair.map.name)
    rows = [f'| what decides | wording | {" | ".join(VIEWS)} |', '|---' * 4 + '|']
    for way in ways:
        rows.append(f'| {" | ".join(text or "–" for text in way)} | '
                    + ' | '.join(_mean(*right[way, view]) for view in VIEWS) + ' |')
    return '\n'.join(rows), _understood(tasks.values())


@functools.cache
def held_out() -> dict[int, list[str]]:
    """Abstract sentences by task, which the reader of sentences was not made with."""
    content: dict[int, list[str]] = yaml.safe_load(HELD_OUT.read_text('utf-8'))
    return content


def _mean(values: Sequence[float], clusters: Sequence[str]) -> str:
    found = fraction_of(values, clusters)
    low, high = found.interval
    return f'**{_short(found.successes / found.n)}** ({_short(low)}-{_short(high)})'


def _signs(vector: Vector) -> tuple[tuple[str, int], ...]:
    return tuple((name, sign) for name, sign in zip(ORDER, vector, strict=True) if sign)


def _read(sentence: str) -> tuple[tuple[str, int], ...]:
    return read_task(sentence) or SHORTER


def _understood(tasks: Iterable[Scenario]) -> str:
    """Table: of how many wordings the reader finds all that decides, a part, or nothing."""
    heads = ('sentences', 'all that decides, and no more', 'something of it',
             'nothing of it, or the contrary', 'not understood')
    rows = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    every = list(tasks)
    sources: dict[str, Callable[[Scenario], Sequence[str]]] = {
        ABSTRACT: lambda task: task.wordings(ABSTRACT),
        SPELLED: lambda task: task.wordings(SPELLED),
        'abstract, not made with': lambda task: held_out()[task.id]}
    for form, texts in sources.items():
        counts = [0, 0, 0, 0]
        for task in every:
            true = set(_signs(task.vector))
            for text in texts(task):
                found = set(read_task(text))
                turned = any((name, -sign) in true for name, sign in found)
                counts[3 if not found else 0 if found == true else 1 if (
                    found & true and not turned) else 2] += 1
        rows.append(f'| {form}, {sum(counts)} | {" | ".join(map(str, counts))} |')
    return '\n'.join(rows)


_GRANTED = {VECTOR: 'told: the vector of the task'}


def _eyes(entries: Iterable[Entry]) -> str:
    rows = ['| split | view | sentences of tasks | what decides | right |', '|---' * 5 + '|']
    for entry in entries:
        options, split = entry.settings['suite_options'], entry.settings['split']
        if options.get('variant', 'none') == 'none':
            granted = options.get('granted', VECTOR)
            form = 'any' if granted == VECTOR else options.get('form', ABSTRACT)
            told = ('–', '–') if split == SEGMENTS else (form, _GRANTED[granted])
            rows.append(f'| {" | ".join((split, options.get("view", "2d"), *told))} | '
                        f'{_rate(entry.lines)} |')
    return '\n'.join(rows)


def _perception(entries: Iterable[Entry]) -> str:
    """Table: how often the lower path is named, by descriptor and view."""
    by_view = {str(entry.settings['suite_options'].get('view', '2d')): entry.lines
               for entry in entries
               if entry.settings['suite_options'].get('variant') == 'perception'}
    rows = [f'| the lower one in | {" | ".join(by_view)} |',
            '|---' * (len(by_view) + 1) + '|']
    for name in ORDER:
        cells = []
        for lines in by_view.values():
            values = [line['measures'].get(f'lower_{name}') for line in lines]
            known = [value for value in values if value is not None]
            cells.append(_of(round(sum(known)), len(known)) if known else '–')
        rows.append(f'| {name.replace("_", " ")} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(rows)


# --------------------------------------------------------------------------------------- learned


def read_learned(path: Path) -> dict[str, Any]:
    """Read the results that ``training/paths_tuned.py`` and ``training/paths_probes.py`` wrote.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_text('utf-8'))
    except (OSError, ValueError) as error:
        raise InputError(f'{path}: cannot be read ({error}); write it with '
                         'training/paths_tuned.py and training/paths_probes.py') from error
    return content


def learned(content: Mapping[str, Any]) -> dict[str, str]:
    """Tables of what was learned, as far as it is there."""
    made = {}
    if 'same' in content.get('probes', {}):
        made['same'] = _same(content['probes']['same'])
    if 'descriptors' in content.get('probes', {}):
        made['probes'] = _probes(content['probes']['descriptors'])
    if 'tuned' in content:
        made['tuned'] = _tuned(content['tuned'])
    return made


def _same(found: Mapping[str, Any]) -> str:
    """Table of the probe for "same picture or not", to compare with the paper's table 4."""
    heads = ('probe', 'encoder', 'training pairs', 'held-out pairs',
             'cosine of two pictures', 'of two paths on one map')
    rows = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    for row in found['rows']:
        kind = 'frozen' if row['encoder'] == 'frozen' else f'tuned, {row["probe"]}'
        angle = found['cosine'][kind]
        [trained], [held_out] = row['training'], row['held_out']
        rows.append(f'| {row["probe"]} | {row["encoder"]} | {_part(*trained)} | '
                    f'{_of(*held_out)}, n = {held_out[1]} | {_short(angle["any two"])} | '
                    f'{_short(angle["on one map"])} |')
    for encoder in ('frozen', 'tuned'):
        accuracy, angle = (_published_range(measure, encoder)
                           for measure in ('probe_accuracy', 'cosine'))
        rows.append(f'| six published encoders, linear | {encoder} | {accuracy} | – | {angle} | '
                    '– |')
    return '\n'.join(rows)


def _published_range(measure: str, encoder: str) -> str:
    """Least and greatest published value of table 4."""
    from sightplan.runs import load_suite

    suite = load_suite('patheval')
    values = [found.value for model in suite.published.models if (found := suite.published.find(
        model, measure, probe='identical or not', encoder=encoder)) is not None]
    return f'{_short(min(values))} to {_short(max(values))}' if values else '–'


def _probes(found: Mapping[str, Any]) -> str:
    """Tables of the probes for which path has more of a descriptor, and whether they differ."""
    heads = ['descriptor', *(f'{row["probe"]}, {row["encoder"]}' for row in found['rows'])]
    parts = []
    for question, about in enumerate(('which has more of it', 'do they differ by its threshold')):
        rows = [f'| {about}: | {" | ".join(heads[1:])} | n |', '|---' * (len(heads) + 1) + '|']
        for k, name in enumerate(found['order']):
            at = question * len(found['order']) + k
            cells = [f'**{_part(*row["held_out"][at])}** / {_part(*row["training"][at])}'
                     for row in found['rows']]
            rows.append(f'| {name.replace("_", " ")} | {" | ".join(cells)} | '
                        f'{found["rows"][0]["held_out"][at][1]} |')
        parts.append('\n'.join(rows))
    return '\n\n'.join(parts)


def _part(right: int, count: int) -> str:
    return _short(right / count if count else math.nan)


def _tuned(found: Mapping[str, Any]) -> str:
    """Table of a small model that was trained on items, to compare with the paper's table 5."""
    heads = ('shown', 'untuned', 'encoder frozen', 'encoder tuned', 'frozen, other words',
             'LLaVA-NeXT-7b, frozen', 'tuned')
    rows = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    count = found['test']
    for row in found['rows']:
        cells = [_of(row[name], count) if name in row else '–'
                 for name in ('untuned', 'frozen', 'tuned', 'frozen_reworded')]
        theirs = [_table_5(row['inputs'], encoder) for encoder in ('frozen', 'tuned')]
        rows.append(f'| {row["inputs"]} | {" | ".join((*cells, *theirs))} |')
    data = found['data']
    about = (f'{data["items"]:,} items of the split `train` ({data["maps"]} maps), n = {count:,} '
             'items of `test`.')
    return '\n'.join([*rows, '', about])


def _table_5(inputs: str, encoder: str) -> str:
    from sightplan.runs import load_suite

    variant = {'pictures': 'none', 'pictures, random names': 'random',
               'pictures + descriptors': 'descriptors'}.get(inputs, '')
    row = load_suite('patheval').published.find('LLaVA-NeXT-7b, tuned', 'solved', split='test',
                                           view='2d', variant=variant, encoder=encoder)
    return '–' if row is None else _short(row.value)


if __name__ == '__main__':
    sys.exit(main())
