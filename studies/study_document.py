"""Documents of studies: their tables are generated, their text is written by hand.

Tables stand between ``<!-- table NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sightplan.model import InputError

DATA = Path(__file__).resolve().parent / 'data'
"""Folder of measured data, one folder a study; a page is written from it again."""

STUDIES = DATA.parent
"""Pages that prove figures, with their pictures."""

DOCS = STUDIES.parent / 'docs'
"""Folder of the pages."""

_BLOCK = re.compile(r'(<!-- table (\S+) -->\n).*?(<!-- end -->)', re.DOTALL)


@functools.cache
def commit() -> str:
    """Commit of the checkout when this process first asked; '' without one."""
    return subprocess.run(['git', 'rev-parse', '--short=12', 'HEAD'], capture_output=True,
                          text=True, check=False, cwd=Path(__file__).parent).stdout.strip()


def store(path: Path, measured: object) -> None:
    """Write what was measured as JSON.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        path.write_text(json.dumps(measured, indent=1) + '\n', 'utf-8')
    except OSError as error:
        raise InputError(f'{path}: cannot be written ({error.strerror}); name the directory of '
                         f'the sweeps') from error


def rewrite(document: Path, made: Mapping[str, str]) -> list[str]:
    """Write tables into a document.

    Returns:
        what was written, and what was left as it is.

    Raises:
        InputError: the document cannot be read, or has no place for a table.
    """
    try:
        before = document.read_text('utf-8')
    except OSError as error:
        raise InputError(f'{document}: cannot be read ({error.strerror}); --out names the folder '
                         f'that has it') from error
    document.write_text(fill(before, made, str(document)), 'utf-8')
    said = [f'{document}: tables {", ".join(made)}']
    left = [name for name in names_of(before) if name not in made]
    if left:
        said.append(f'{document}: left as they are, for want of results: {", ".join(left)}')
    return said


def names_of(document: str) -> list[str]:
    """Names of the tables that a document has room for."""
    return [match.group(2) for match in _BLOCK.finditer(document)]


def fill(document: str, made: Mapping[str, str], source: str) -> str:
    """The document with new tables in the places of the old ones.

    Raises:
        InputError: there is no place for a table.
    """
    missing = [name for name in made if name not in names_of(document)]
    if missing:
        raise InputError(f'{source}: has no place for {", ".join(missing)}; add '
                         f'"<!-- table {missing[0]} -->" and "<!-- end -->" on lines of their own')

    def put(match: re.Match[str]) -> str:
        head, name, end = match.groups()
        return f'{head}\n{made[name]}\n\n{end}' if name in made else match.group(0)

    return _BLOCK.sub(put, document)
