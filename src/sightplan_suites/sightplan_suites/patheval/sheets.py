"""Tables that people write with a spreadsheet program: the first sheet of ``.xlsx``, or CSV.

Only texts and numbers of cells are read: no formulas, formats or other sheets.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from sightplan.model import InputError

Rows = list[list[str]]
"""Cells by row and column, as text without spaces around it; '' where a cell is empty."""
MOST_BYTES = 2**25
"""Largest unpacked part of a workbook that is read [bytes]."""
MOST_COLUMNS = 16_384
_NAMESPACE = re.compile(r'\{[^}]*\}')
_REFERENCE = re.compile(r'([A-Z]{1,3})[0-9]+')
_DELIMITERS = ';\t'
"""Delimiters of CSV that count where the first line has more of them than of commas."""


def read_rows(path: Path) -> Rows:
    """Read the rows of a table that are not empty.

    Args:
        path: an ``.xlsx`` workbook, or CSV in UTF-8 with commas, semicolons or tabs.

    Raises:
        InputError: the file cannot be read; names file and remedy.
    """
    try:
        content = path.read_bytes()
        rows = (_rows_of_workbook(content) if zipfile.is_zipfile(io.BytesIO(content))
                else _rows_of_csv(content))
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror or error}); name a file .xlsx '
                         'or .csv') from error
    except (ValueError, LookupError, EOFError, StopIteration, NotImplementedError, RuntimeError,
            csv.Error, zlib.error, ElementTree.ParseError, zipfile.BadZipFile) as error:
        raise InputError(f'{path}: is no table ({error}); save it as .xlsx, or as .csv in UTF-8'
                         ) from error
    return [row for row in rows if any(row)]


def _rows_of_csv(content: bytes) -> Rows:
    text = content.decode('utf-8-sig')
    first = text.split('\n', 1)[0]
    delimiter = max(',', *_DELIMITERS, key=first.count)
    return [[cell.strip() for cell in row]
            for row in csv.reader(io.StringIO(text, newline=''), delimiter=delimiter)]


def _rows_of_workbook(content: bytes) -> Rows:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        texts = _shared_texts(packed)
        return [_cells(row, texts) for row in _found(_part(packed, _first_sheet(packed)), 'row')]


def _part(packed: zipfile.ZipFile, name: str) -> ElementTree.Element:
    """Parse one part of a workbook.

    Raises:
        ValueError: it is too large, or defines entities of its own.
    """
    with packed.open(name) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f'{name} unpacks to more than {MOST_BYTES} bytes')
    if b'<!' in content.replace(b'\0', b'').replace(b'<!--', b''):
        raise ValueError(f'{name} has declarations, which no spreadsheet program writes')
    return ElementTree.fromstring(content)  # noqa: S314 (entities are refused above)


def _first_sheet(packed: zipfile.ZipFile) -> str:
    """Path of the part with the first sheet in the order of the workbook."""
    sheet = next(_found(_part(packed, 'xl/workbook.xml'), 'sheet'))
    wanted = next(value for key, value in sheet.attrib.items() if _plain(key) == 'id')
    for one in _found(_part(packed, 'xl/_rels/workbook.xml.rels'), 'Relationship'):
        if one.get('Id') == wanted:
            target = one.attrib['Target']
            return target.lstrip('/') if target.startswith('/') else f'xl/{target}'
    raise ValueError('the first sheet is missing')


def _shared_texts(packed: zipfile.ZipFile) -> list[str]:
    name = 'xl/sharedStrings.xml'
    return [] if name not in packed.namelist() else [
        _text(one) for one in _found(_part(packed, name), 'si')]


def _cells(row: ElementTree.Element, texts: list[str]) -> list[str]:
    found: dict[int, str] = {}
    for cell in _found(row, 'c'):
        column = _column(cell.get('r', ''), len(found))
        if column >= MOST_COLUMNS:
            raise ValueError(f'cell {cell.get("r")!r} lies beyond the last column')
        found[column] = _value(cell, texts).strip()
    return [found.get(column, '') for column in range(max(found, default=-1) + 1)]


def _column(reference: str, after: int) -> int:
    """Column of a cell, from 0; of one without reference the place in its row."""
    named = _REFERENCE.fullmatch(reference)
    if named is None:
        return after
    number = 0
    for letter in named[1]:
        number = number * 26 + ord(letter) - ord('A') + 1
    return number - 1


def _value(cell: ElementTree.Element, texts: list[str]) -> str:
    kind = cell.get('t', 'n')
    if kind == 'inlineStr':
        return _text(cell)
    value = next(_found(cell, 'v'), None)
    text = '' if value is None else value.text or ''
    return texts[int(text)] if kind == 's' and text else text


def _text(element: ElementTree.Element) -> str:
    """All texts of a cell, without hints on how to pronounce them."""
    if _plain(element.tag) == 'rPh':
        return ''
    own = element.text or '' if _plain(element.tag) == 't' else ''
    return own + ''.join(map(_text, element))


def _found(element: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (one for one in element.iter() if _plain(one.tag) == name)


def _plain(tag: str) -> str:
    return _NAMESPACE.sub('', tag)
