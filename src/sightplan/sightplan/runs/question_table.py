"""Tables of yes/no questions about pictures: their reader, and the suite that such a file is."""

from __future__ import annotations

import csv
import io
import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.metrics.measures import SHARE, Measure
from sightplan.model import InputError, user_path
from sightplan.model.picture_files import opened
from sightplan.model.sample import Picture, Sample, SampleReply
from sightplan.runs.dataset import Unusable, below, keep_new
from sightplan.runs.suite import Suite
from sightplan.runs.suite_parts import Samples, Scored

SUFFIXES = ('.csv', '.tsv')
"""End of the name of a file that is a table of questions."""
_YES_NO = {**dict.fromkeys(('yes', 'y', 'true', '1'), True),
           **dict.fromkeys(('no', 'n', 'false', '0'), False)}
"""Spellings of a truth, in lower case."""
_NAMES = {'picture': ('picture', 'image', 'file', 'filename'), 'truth': ('truth', 'answer'),
          'question': ('question',)}
"""Names of each column, in lower case; the first one found counts."""
_COLUMNS = tuple(_NAMES)
_SEPARATORS = (',', ';', '\t')
_HEAD = 10_000
"""Number of characters of the first line in which the separator is looked for."""
_MOST_NAMED = 10
"""Lines that cannot be used which an error names; it counts the others."""


@dataclass(frozen=True)
class PictureQuestion:
    """A yes/no question about a picture, as a table has it.

    Attributes:
        id: of the column ``id``; without one the picture's name and the number of the question
            among those about the picture, from 1: ``one.png#2``.
        picture: called by its path below the folder of the table.
        file: of the picture.
        text: the question.
        truth: whether the answer is yes.
    """

    id: str
    picture: Picture
    file: Path
    text: str
    truth: bool


def read_questions(path: Path | str) -> list[PictureQuestion]:
    """The yes/no questions of a table: a CSV file in UTF-8 with picture, truth and question.

    The first line may name the columns: ``picture`` (or ``image``, ``file``, ``filename``),
    ``truth`` (or ``answer``) and ``question`` in any order, perhaps ``id``, and others, which are
    ignored. Without such a line the columns are picture, truth, question. They are separated by
    commas, semicolons or tabs. A question that is the last column may contain the separator
    without quotes. Empty lines, and empty cells at the end of a line, are skipped; many questions
    may be about one picture. A truth is yes, y, true or 1, or no, n, false or 0, in upper or lower
    case.

    Args:
        path: of the table; pictures are files below its folder.

    Raises:
        InputError: the file cannot be read, or lines cannot be used; names file, line, value and
            remedy of each, up to ten.
    """
    path = user_path(path)
    return _Reader(path, _text_of(path)).questions()


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode('utf-8-sig')
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror}); write a table of '
                         f'{", ".join(_COLUMNS)}') from error
    except UnicodeDecodeError as error:
        raise InputError(f'{path}: is not in UTF-8 ({error}); save it as CSV in UTF-8'
                         ) from error


@dataclass
class _Reader:
    """Reads a table.

    Attributes:
        path: of the table.
        text: its content.
        columns: what each column holds: one of ``_COLUMNS``, or any other name.
        pictures: file, and why it cannot be used ('' if it can), by the picture's name.
        counts: number of questions so far, by the picture's name.
    """

    path: Path
    text: str
    columns: Sequence[str] = _COLUMNS
    pictures: dict[str, tuple[Path, str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def questions(self) -> list[PictureQuestion]:
        """All questions, in order.

        Raises:
            InputError: see ``read_questions``.
        """
        found: dict[str, tuple[str, PictureQuestion]] = {}
        asked: dict[tuple[str, str], tuple[str, bool]] = {}
        wrong: list[str] = []
        for where, cells in self._rows():
            try:
                one = self._question(where, cells)
                _check_new(asked, one, where)
                keep_new(found, one.id, where, one)
            except (InputError, Unusable) as error:
                wrong.append(str(error))
        if wrong:
            more = len(wrong) - _MOST_NAMED
            raise InputError('\n'.join([*wrong[:_MOST_NAMED], *(
                [f'and {more} more lines that cannot be used'] if more > 0 else [])]))
        if not found:
            raise InputError(f'{self.path}: holds not one question; write one a line, such as '
                             'one.png,yes,Is there a red thing in the picture?')
        return [one for _, one in found.values()]

    def _rows(self) -> Iterator[tuple[str, list[str]]]:
        """Place and cells of each line that is neither empty nor names the columns.

        Raises:
            InputError: the file is no CSV, or the names of its columns are not enough.
        """
        separator = self._separator()
        reader = csv.reader(io.StringIO(self.text, newline=''), delimiter=separator, strict=True)
        first, begun = True, 1
        try:
            for row in reader:
                where, count = f'{self.path}:{reader.line_num}', _cells_with_text(row)
                begun = reader.line_num + 1
                if not count:
                    continue
                if first and _names_columns(row):
                    self.columns, first = _named_columns(where, row[:count]), False
                    continue
                first = False
                cells = row[:max(count, len(self.columns))]
                if len(cells) > len(self.columns) and self.columns[-1] == 'question':
                    last = len(self.columns) - 1
                    cells = [*cells[:last], separator.join(cells[last:])]
                yield where, [cell.strip() for cell in cells]
        except csv.Error as error:
            raise InputError(f'{self.path}:{begun}: is no CSV ({error}); close each quote that is '
                             'opened, and put a text with quotes or line breaks in quotes'
                             ) from error

    def _separator(self) -> str:
        """The separator with which the first line names columns or has a truth, or has enough."""
        lines = self.text.splitlines()
        first = next((line for line in lines if line.strip(' ,;\t')), '')[:_HEAD]
        rows = {one: next(csv.reader([first], delimiter=one), []) for one in _SEPARATORS}
        enough = [one for one, cells in rows.items() if len(cells) >= len(_COLUMNS)]
        sure = [one for one, cells in rows.items() if _names_columns(cells) or (
            one in enough and cells[1].strip().lower() in _YES_NO)]
        return (*sure, *enough, *_SEPARATORS)[0]

    def _question(self, where: str, cells: list[str]) -> PictureQuestion:
        if len(cells) != len(self.columns):
            raise InputError(f'{where}: has {len(cells)} columns, not {len(self.columns)}; write '
                             f'{",".join(self.columns)} (a text with commas in quotes)')
        row = dict(zip(self.columns, cells, strict=True))
        for name in _COLUMNS:
            if not row[name]:
                raise InputError(f'{where}: {name} is empty; fill it in, or remove the line')
        truth = _YES_NO.get(row['truth'].lower())
        if truth is None:
            first = self.columns is _COLUMNS and where.endswith(':1')
            raise InputError(
                f'{where}: truth = {row["truth"]!r} is neither yes nor no; write yes or no'
                + (f' (the columns are {", ".join(_COLUMNS)}, unless the first line names them in '
                   'another order)' if first else ''))
        name = str(below(row['picture'], 'picture', where))
        if name not in self.pictures:
            self.pictures[name] = _picture_file(self.path.parent / name)
        file, why = self.pictures[name]
        if why:
            raise InputError(f'{where}: {why}')
        number = self.counts[name] = self.counts.get(name, 0) + 1
        return PictureQuestion(row.get('id') or f'{name}#{number}', Picture.of_file(file, name),
                               file, row['question'], truth)


def _cells_with_text(row: Sequence[str]) -> int:
    """Number of cells of a line up to the last one that is not empty."""
    return max((number for number, cell in enumerate(row, 1) if cell.strip()), default=0)


def _names_columns(cells: Sequence[str]) -> bool:
    """Whether cells are names of columns: the question's, and one more."""
    names = {cell.strip().lower() for cell in cells}
    return 'question' in names and not names.isdisjoint((*_NAMES['picture'], *_NAMES['truth']))


def _named_columns(where: str, cells: Sequence[str]) -> list[str]:
    """Meaning of each column, by its name.

    Raises:
        InputError: one is missing.
    """
    names = [cell.strip().lower() for cell in cells]
    for column, known in _NAMES.items():
        found = next((name for name in known if name in names), None)
        if found is None:
            raise InputError(f'{where}: names no column {column}; add it')
        names[names.index(found)] = column
    return names


def _check_new(asked: dict[tuple[str, str], tuple[str, bool]], one: PictureQuestion,
               where: str) -> None:
    """Note that a question is asked about a picture.

    Raises:
        InputError: it was asked before, so that it would count twice.
    """
    before, truth = asked.setdefault((one.picture.name, one.text), (where, one.truth))
    if before != where:
        raise InputError(f'{where}: asks the same about {one.picture.name} as {before}'
                         + ('' if truth == one.truth else ', with another truth')
                         + '; keep one of them')


def _picture_file(file: Path) -> tuple[Path, str]:
    """The file of a picture, and why it cannot be used: '' if it can.

    A name with an umlaut is found in either of its two spellings in Unicode, which look alike.
    """
    alike = (unicodedata.normalize(form, str(file)) for form in ('NFC', 'NFD'))
    file = next((one for one in map(Path, (str(file), *alike)) if os.path.exists(one)), file)
    try:
        if not file.stat().st_size:
            return file, f'{file} is empty; put the picture there'
        with opened(file):
            return file, ''
    except OSError as error:
        return file, (f'{file} cannot be read ({error.strerror}); put the picture there, or '
                      f'correct the line{_suggestion(file)}')
    except InputError as error:
        return file, str(error)


def _suggestion(file: Path) -> str:
    """The end of a message about a file that is missing: one whose name differs in case or end."""
    try:
        alike = sorted(one.name for one in file.parent.iterdir()
                       if one.stem.casefold() == file.stem.casefold())
    except OSError:  # no such folder
        return ''
    return f'; did you mean {alike[0]!r}?' if alike else ''


class QuestionTable(Suite):
    """A table of yes/no questions (``read_questions``) as a suite, which is called like its file.

    Attributes:
        path: of the table.
    """

    splits = ('questions',)

    def __init__(self, path: Path) -> None:
        """Name the table; it is read when its samples are wanted."""
        self.path = path
        self.name, self.title = path.stem, f'Questions of {path.name}'

    @property
    def source(self) -> Path:
        """The table."""
        return self.path

    def samples(self, split: str, options: Mapping[str, Any]) -> Samples:
        """See the base class."""
        rows = read_questions(self.path)
        return Samples.of([(Sample.yes_no(row.id, split, row.picture, row.text), row.truth)
                           for row in rows], [row.file for row in rows])

    def measures(self, kind: str) -> tuple[Measure, ...]:
        """See the base class."""
        return (*super().measures(kind),
                Measure('brier', 'squared error of P(yes)', SHARE, higher_is_better=False))

    def score(self, sample: Sample, answer: Any, truth: Any, reply: SampleReply) -> Scored:
        """See the base class."""
        found = super().score(sample, answer, truth, reply)
        p = reply.yes_probability
        brier = None if p is None else (p - truth) ** 2
        return Scored({**found.measures, 'brier': brier}, found.cause)


def question_table(name: str) -> QuestionTable:
    """The suite that a table is; its lines are read later.

    Args:
        name: path of the table.

    Raises:
        InputError: there is no such file.
    """
    path = user_path(name).resolve()
    if not path.is_file():
        raise InputError(f'suite {name!r}: there is no such file; give the path of a table of '
                         f'{", ".join(_COLUMNS)}, or of a suite')
    return QuestionTable(path)
