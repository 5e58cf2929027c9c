"""Templates of pages: every value is escaped, and nothing is loaded from elsewhere.

A page is one file. Its policy of content forbids whatever is not in it: it loads nothing, and runs
no script but the one that is named by its hash, so that no text of a model can become one.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import Any

import jinja2

from sightplan.model.whole_files import replacing

_FOLDER = Path(__file__).resolve().parent
NONE = '–'
"""Text that stands where there is no number."""
_MOST_TEXT = 4000


def render(template: str, script: bool = False, **context: Any) -> str:
    """Fill a template of this folder.

    Args:
        template: name of the file.
        script: whether the page has ``report.js``.
        context: what the template uses; all texts are escaped, but those that the template calls
            safe: plots and sections that were made here.
    """
    code = _read('report.js') if script else ''
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = ("default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; "
              "form-action 'none'; script-src " + (f"'sha256-{digest}'" if script else "'none'"))
    return _environment().get_template(template).render(
        style=_read('report.css'), script=code, policy=policy, **context)


def write_page(path: Path, html: str) -> None:
    """Write a page so that it is whole or not there; names may hold lone surrogates."""
    with replacing(path, synced=True) as temporary:
        temporary.write_text(html, 'utf-8', errors='replace')


def fraction(value: float | None, digits: int = 2) -> str:
    """A fraction as text: ``0.93``."""
    return NONE if value is None else f'{value:.{digits}f}'


def seconds(value: float | None) -> str:
    """A time span as text: ``0.4 s``, ``3 min 20 s``."""
    if value is None:
        return NONE
    if value < 10:
        return f'{value:.1f} s' if value >= 0.05 or not value else f'{1000 * value:.0f} ms'
    if value < 120:
        return f'{value:.0f} s'
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f'{hours} h {minutes} min' if hours else f'{minutes} min {rest} s'


def words(name: str) -> str:
    """A name of the code in words: ``effect misread``."""
    return name.replace('_', ' ')


def cut(text: str) -> str:
    """A text of which only the beginning is shown, if it is very long."""
    return text if len(text) <= _MOST_TEXT else (
        f'{text[:_MOST_TEXT]} … ({len(text):,} characters)')


def jpeg_uri(data: bytes) -> str:
    """A JPEG file as a URI that holds it."""
    return f'data:image/jpeg;base64,{base64.b64encode(data).decode()}'


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {'cut': cut, 'fraction': fraction, 'seconds': seconds,
                            'words': words}
    environment.globals |= {'NONE': NONE}
    return environment


@functools.cache
def _read(name: str) -> str:
    return (_FOLDER / name).read_text('utf-8')
