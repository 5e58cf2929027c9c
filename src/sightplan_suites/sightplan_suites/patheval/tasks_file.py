"""The benchmark's own file of tasks, and its thresholds: read where a user has them.

A file of tasks is a table (``.xlsx`` or CSV): the sentence, and a column named after each of the
seven descriptors, with 1 where more of it is better, -1 where less is, and 0 where it does not
matter. Tasks are numbered by their rows, from 1. A file of thresholds, ``params.txt``, has the
smallest difference that counts of each descriptor, one a line, in the order of the records.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sightplan.model import InputError
from sightplan_suites.patheval.scenarios import scenarios
from sightplan_suites.patheval.sheets import read_rows
from sightplan_suites.paths.descriptors import KEYS, NAMES
from sightplan_suites.paths.labels import ORDER, Thresholds, Vector, check_vector
from sightplan_suites.paths.scenarios import ABSTRACT, FORMS

TASKS_FILES = ('Scenarios.xlsx', 'Scenarios.csv')
"""Names under which a folder of data may hold a file of tasks."""
THRESHOLDS_FILE = 'params.txt'
_SIGNS = {'': 0, '0': 0, '1': 1, '-1': -1}
_LONGER = (
    (r'\([^)]*\)', ' '), (r'[\s._-]+', ' '), (r'^ | $', ''), (r'\bmin\b', 'minimum'),
    (r'\bmax\b', 'maximum'), (r'\b(avg|mean)\b', 'average'),
    (r'^(the )?(number of|num|no|#) ?', ''), (r'^length$', 'path length'))
"""Patterns that bring the heading of a column to the name of its descriptor, in this order."""
_NAMES = {key.lower(): name for key, name in zip(KEYS, NAMES, strict=True)}


@dataclass(frozen=True)
class Task:
    """A sentence, and what is better by it, in ``labels.ORDER``."""

    text: str
    vector: Vector


@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks by number.

    Attributes:
        by_number: each with its sentence.
        sha256: of their sentences and vectors.
        others: further sentences of them, with their numbers.
    """

    by_number: Mapping[int, Task]
    sha256: str
    others: Mapping[str, int] = field(default_factory=dict)

    def number(self, sentence: str) -> int:
        """Number of the task with this sentence; 0: there is none."""
        return self._numbers.get(sentence_key(sentence), 0)

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {**{sentence_key(text): number for text, number in self.others.items()},
                **{sentence_key(task.text): number for number, task in self.by_number.items()}}


@functools.cache
def our_tasks(form: str = ABSTRACT) -> Tasks:
    """The tasks in our words; they are known by all their wordings.

    Args:
        form: of their sentences, see ``paths.scenarios``.
    """
    tasks = {number: Task(one.wordings(form)[0], one.vector)
             for number, one in scenarios().items()}
    return Tasks(tasks, hashlib.sha256(repr(tasks).encode()).hexdigest()[:12], {
        text: number for number, one in scenarios().items() for each in FORMS
        for text in one.wordings(each)})


def sentence_key(sentence: str) -> str:
    """A sentence without what may differ: width of spaces, and full stops at its end."""
    return ' '.join(sentence.split()).rstrip(' .')


def find_tasks(folder: Path | None, file: Path | None) -> Tasks | None:
    """Read the file of tasks that is named, or else the one that a folder holds.

    Returns:
        its tasks; None: there is no such file.

    Raises:
        InputError: it cannot be used, or the folder holds several different ones.
    """
    if file is not None:
        return read_tasks(file)
    found = [read_tasks(path) for path in _files(folder, TASKS_FILES)]
    if len({one.sha256 for one in found}) > 1:
        raise InputError(f'{folder}: holds several files of tasks, which differ; choose one by '
                         'scenarios=FILE')
    return found[0] if found else None


def read_tasks(path: Path) -> Tasks:
    """Read a file of tasks.

    Raises:
        InputError: it cannot be read, a column is missing, a value is none of -1, 0 and 1, or a
            sentence is there twice; names file, row, column and remedy.
    """
    rows = read_rows(path)
    header = next((row for row in rows if sum(map(bool, map(_descriptor, row))) > 1), None)
    if header is None:
        raise InputError(f'{path}: no row names the descriptors (write a first row with the '
                         f'columns Scenario, {", ".join(KEYS)})')
    columns = {name: column for column, text in reversed(list(enumerate(header)))
               if (name := _descriptor(text))}
    for name, key in zip(NAMES, KEYS, strict=True):
        if name not in columns:
            raise InputError(f'{path}: column {key} is missing (add it, with -1, 0 or 1)')
    body = rows[rows.index(header) + 1:]
    at = _sentences_column(path, body, set(columns.values()))
    found: dict[int, Task] = {}
    for row in body:
        text = _cell(row, at)
        if not text:
            continue
        number, where = len(found) + 1, f'{path}: task {len(found) + 1} ({text[:40]!r})'
        vector = tuple(_sign(_cell(row, columns[name]), name, where) for name in ORDER)
        check_vector(vector, where)
        found[number] = Task(text, vector)
    tasks = Tasks(found, hashlib.sha256(repr(found).encode()).hexdigest()[:12])
    for number, task in found.items():
        if tasks.number(task.text) != number:
            raise InputError(f'{path}: task {number} ({task.text[:40]!r}) is there twice (keep '
                             'one of them)')
    if not found:
        raise InputError(f'{path}: holds no task (write one a row, below the names of columns)')
    return tasks


def _sentences_column(path: Path, body: Iterable[list[str]], others: set[int]) -> int:
    """First column with words that is no descriptor's: a column of numbers may precede it."""
    for column in range(max(others, default=0) + 2):
        if column not in others and any(
                re.search(r'[^\W\d]\s+\S', _cell(row, column)) for row in body):
            return column
    raise InputError(f'{path}: no column holds sentences (write the tasks into the first column)')


def _cell(row: list[str], column: int) -> str:
    return row[column] if column < len(row) else ''


def _descriptor(text: str) -> str:
    """Name of the descriptor that a heading means, '' for none."""
    words = text.lower()
    for pattern, longer in _LONGER:
        words = re.sub(pattern, longer, words)
    return _NAMES.get(words, '')


def _sign(text: str, name: str, where: str) -> int:
    plain = re.sub(r'\.0*$', '', text.replace('\N{MINUS SIGN}', '-').lstrip('+'))
    if plain not in _SIGNS:
        raise InputError(f'{where}: {KEYS[NAMES.index(name)]} = {text!r} (give -1, 0 or 1)')
    return _SIGNS[plain]


# ------------------------------------------------------------------------------------ thresholds


def find_thresholds(folder: Path) -> Thresholds | None:
    """Read the thresholds that a folder holds; None: it holds none.

    Raises:
        InputError: the file cannot be used, or there are several different ones.
    """
    found = {read_thresholds(path) for path in _files(folder, (THRESHOLDS_FILE,))}
    if len(found) > 1:
        raise InputError(f'{folder}: holds several files {THRESHOLDS_FILE}, which differ; keep '
                         'one of them')
    return next(iter(found), None)


def read_thresholds(path: Path) -> Thresholds:
    """Read a file of thresholds: seven numbers, one a line, or lines ``name: number``.

    Raises:
        InputError: it cannot be read, or holds not seven finite numbers from 0 on; names file,
            line and remedy.
    """
    remedy = f'(write one number a line, of {", ".join(KEYS)})'
    try:
        lines = path.read_text('utf-8-sig').splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(f'{path}: cannot be read: {error} {remedy}') from error
    plain: list[float] = []
    named: dict[str, float] = {}
    for number, line in enumerate(lines, 1):
        text = line.partition('#')[0].strip()
        if not text:
            continue
        label, _, value = text.rpartition(':' if ':' in text else '=')
        name = _descriptor(label)
        if label and not name:
            raise InputError(f'{path}:{number}: {label.strip()!r} is no descriptor {remedy}')
        if name:
            named[name] = _threshold(value, f'{path}:{number}', remedy)
        else:
            plain.append(_threshold(value, f'{path}:{number}', remedy))
    if named and not plain and len(named) == len(NAMES):
        return Thresholds(**named)
    if named or len(plain) != len(NAMES):
        raise InputError(f'{path}: holds {len(plain) + len(named)} thresholds, not {len(NAMES)} '
                         f'{remedy}')
    return Thresholds(**dict(zip(NAMES, plain, strict=True)))


def _threshold(text: str, where: str, remedy: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f'{where}: {text.strip()!r} is no threshold {remedy}')
    return value


def _files(folder: Path | None, names: Iterable[str]) -> list[Path]:
    """Files of a folder that bear one of some names, in any case."""
    wanted = {name.lower() for name in names}
    return [] if folder is None else [path for path in sorted(folder.rglob('*'))
                                      if path.name.lower() in wanted and path.is_file()]
