"""Counts confusion tables from imported results, in the form of those that ship with the package.

Use::

    sightplan suite viplan import ~/ViPlan/results/final --out runs/authors
    python studies/confusion_tables.py runs/authors
    python studies/confusion_tables.py runs/authors --out FOLDER

Counted are the answers of ``ground`` (plain) and ``ground_cot`` (cot) to the questions of
enumerations, without failing actions: in blocksworld about the initial states alone, in household,
where nothing is asked at first, all. It prints which models are new, and whose counts are equal to
the shipped ones. With ``--out`` it writes files of the shipped form: the shipped models, and in
their place or beside them the counted ones.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sightplan_models
from sightplan.metrics import wilson
from sightplan.model import AskPurpose, InputError, user_path
from sightplan.model.whole_files import replacing
from sightplan_report.results import RunResults, gather, split_of

SHIPPED = Path(sightplan_models.__file__).parent / 'data'
MODES = {'ground': 'plain', 'ground_cot': 'cot'}
FROM_THE_START = ('blocksworld',)
"""Domains in which the first enumeration alone is counted."""
DIGITS = 4
"""Digits behind the point of a rate."""
_ROW = re.compile(r'\{\s*("n_false"[^{}]*?)\s*\}')
_DONE, _USAGE = 0, 2

Tables = dict[str, dict[str, dict[str, dict[str, dict[str, Any]]]]]
"""Model, plain or cot, split, predicate and field to value."""


def main(argv: Sequence[str] | None = None) -> int:
    """Count, print and write; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog='python studies/confusion_tables.py',
        description='Count confusion tables from imported results.')
    parser.add_argument('runs', nargs='+', type=Path, metavar='RUNS',
                        help='folders of runs that "sightplan suite viplan import" wrote')
    parser.add_argument('--out', type=Path, metavar='DIR',
                        help='write confusion_DOMAIN.json into this folder')
    arguments = parser.parse_args(argv)
    try:
        counted = count(gather(arguments.runs).runs)
        if not counted:
            raise InputError(f'{", ".join(map(str, arguments.runs))}: hold no imported run of '
                             f'{" or ".join(MODES)}; make some by "sightplan suite viplan import"')
        for domain, tables in counted.items():
            shipped = read_shipped(domain)
            _print(domain, tables, shipped['models'])
            if arguments.out is not None:
                path = user_path(arguments.out) / f'confusion_{domain}.json'
                with replacing(path) as new:
                    new.write_text(text_of({**shipped, 'models': merged(
                        shipped['models'], tables)}), 'utf-8')
                print(f'written: {path}')
    except (InputError, OSError) as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    return _DONE


def count(runs: Iterable[RunResults]) -> dict[str, Tables]:
    """Confusion tables of the imported runs, by domain.

    A table has for each predicate ``n_true`` and ``n_false`` (readable answers about true and
    about false atoms), ``p_yes_true`` and ``p_yes_false`` (rates of yes among them, None without
    any), and ``unparsable`` (answers that cannot be read), unless that is 0.
    """
    found: dict[str, Tables] = {}
    for run in runs:
        if not run.imported or run.failure_probability or run.method not in MODES:
            continue
        for split in run.splits:
            (found.setdefault(run.domain, {}).setdefault(run.exact_model, {})
             .setdefault(MODES[run.method], {}))[split] = _table(run, split)
    return found


def _table(run: RunResults, split: str) -> dict[str, dict[str, Any]]:
    """Rows of a run's split, by predicate."""
    episodes = {line['id'] for line in run.lines if split_of(line) == split}
    counts: Counter[tuple[str, bool, str | None]] = Counter()
    for answer in run.answers():
        if (answer['episode'] in episodes and isinstance(answer.get('truth'), bool)
                and answer.get('purpose') == AskPurpose.ENUMERATION.value
                and (run.domain not in FROM_THE_START or answer['step'] == 0)):
            counts[answer['atom'].partition(' ')[0], answer['truth'], answer['answer']] += 1
    return {predicate: _row(counts, predicate)
            for predicate in sorted({predicate for predicate, *_ in counts})}


def _row(counts: Mapping[tuple[str, bool, str | None], int], predicate: str) -> dict[str, Any]:
    sides: dict[str, tuple[int, float | None]] = {}
    for side, truth in (('false', False), ('true', True)):
        yes, no = (counts.get((predicate, truth, answer), 0) for answer in ('yes', 'no'))
        sides[side] = yes + no, round(yes / (yes + no), DIGITS) if yes + no else None
    unread = sum(counts.get((predicate, truth, None), 0) for truth in (False, True))
    return {'n_false': sides['false'][0], 'n_true': sides['true'][0],
            'p_yes_false': sides['false'][1], 'p_yes_true': sides['true'][1],
            **({'unparsable': unread} if unread else {})}


def read_shipped(domain: str) -> dict[str, Any]:
    """The content of the shipped file of a domain.

    Raises:
        InputError: there is none.
    """
    path = SHIPPED / f'confusion_{domain}.json'
    if not path.is_file():
        raise InputError(f'{path}: is missing; there are tables of blocksworld and household')
    content: dict[str, Any] = json.loads(path.read_text('utf-8'))
    return content


def merged(shipped: Tables, counted: Tables) -> Tables:
    """The shipped tables with the counted ones in their place or beside them, sorted."""
    found = {model: {mode: dict(splits) for mode, splits in modes.items()}
             for model, modes in shipped.items()}
    for model, modes in counted.items():
        for mode, splits in modes.items():
            found.setdefault(model, {}).setdefault(mode, {}).update(splits)
    return {model: {mode: dict(sorted(splits.items())) for mode, splits in sorted(modes.items())}
            for model, modes in sorted(found.items())}


def text_of(content: Mapping[str, Any]) -> str:
    """A file of tables, with one line for each predicate."""
    return _ROW.sub(lambda row: '{' + re.sub(r',\s+', ', ', row[1]) + '}',
                    json.dumps(content, indent=1)) + '\n'


def _print(domain: str, counted: Tables, shipped: Tables) -> None:
    """Say of each counted table what the shipped ones have, and how right its answers are."""
    for model, modes in sorted(counted.items()):
        for mode, splits in sorted(modes.items()):
            for split, rows in splits.items():
                beside = shipped.get(model, {}).get(mode, {}).get(split)
                said = ('new' if beside is None else 'equal to the shipped one'
                        if beside == rows else f'shipped otherwise: {_differing(rows, beside)}')
                right, n = right_of(rows)
                low, high = wilson(right, n)
                print(f'{domain}, {model}, {mode}, {split}: {said}; {n} answers, right '
                      f'{right / n if n else 0:.3f} [{low:.3f}, {high:.3f}]')


def _differing(rows: Mapping[str, Any], beside: Mapping[str, Any]) -> str:
    return ', '.join(sorted(name for name in {*rows, *beside}
                            if rows.get(name) != beside.get(name)))


def right_of(rows: Mapping[str, Mapping[str, Any]]) -> tuple[int, int]:
    """Right answers, and all of them; unreadable ones are wrong."""
    right = sum(round((row['p_yes_true'] or 0.0) * row['n_true'])
                + row['n_false'] - round((row['p_yes_false'] or 0.0) * row['n_false'])
                for row in rows.values())
    return right, sum(row['n_true'] + row['n_false'] + row.get('unparsable', 0)
                      for row in rows.values())


if __name__ == '__main__':
    sys.exit(main())
