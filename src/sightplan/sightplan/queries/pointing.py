"""The words with which models that write text are asked to point, or to list all things.

A family is one file of the folder ``pointing_prompts``, or a YAML file of a user's: the words for
each form, the convention of coordinates that they ask for, a JSON schema where structured output
can be had, and whether scales are drawn along the edges of the picture. ``common.yaml`` holds the
sentences that ask, for all families. Which family and which convention a model needs is declared
in the settings of its backend; nothing follows from a model's name. The kinds of queries
(``queries.locate``, ``check``, ``detect``) make their prompts from these words.

Askings about the same thing are numbered (``attempt``), and each number has a wording of its own,
ten for places and five for traces; then they begin anew.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from sightplan.model.errors import InputError, did_you_mean
from sightplan.model.paths import user_path
from sightplan.model.reading import Record, read_file
from sightplan.model.region import Form
from sightplan.queries.coordinates import Coordinates, Size
from sightplan.queries.generate import Generate
from sightplan.queries.marks import with_axis_ticks

FOLDER = Path(__file__).parent / 'pointing_prompts'
COMMON = FOLDER / 'common.yaml'
DEFAULT_FAMILY = 'schema_unit'
CONVENTIONS = ('', *(str(convention) for convention in Coordinates))
"""Values of the setting ``coordinates`` of backends; empty: as the family says."""
AXIS_TICKS = ('auto', 'on', 'off')
"""Values of the setting ``axis_ticks`` of backends; auto: as the family says."""

_PLACEHOLDER = re.compile(r'\{(ask|absent|target|width|height|start|mark|kinds|colours|box)\}')
_SENTENCE_ENDS = ('?', '.', '!')


def _with_ask(text: str) -> str:
    if '{ask}' not in text:
        raise ValueError('must hold {ask}, which stands for the sentence that asks')
    return text


_Wordings = Annotated[tuple[str, ...], Field(min_length=1)]
_Text = Annotated[str, AfterValidator(_with_ask)]


class _Asks(Record):
    """Sentences that ask for places, each in several wordings."""

    point: _Wordings
    points: _Wordings
    box: _Wordings
    sentence: _Wordings
    trace: _Wordings
    trace_marked: _Wordings
    trace_anywhere: _Wordings


class _Check(Record):
    """Words of the question whether a marked place is right."""

    system: str
    answer: str
    max_tokens: Annotated[int, Field(gt=0)]
    mask: _Wordings
    box: _Wordings
    point: _Wordings
    mask_sentence: _Wordings
    box_sentence: _Wordings
    point_sentence: _Wordings


class _Exists(Record):
    """Words of the question whether there is such a thing."""

    system: str
    answer: str
    max_tokens: Annotated[int, Field(gt=0)]
    thing: _Wordings
    sentence: _Wordings


class _Detect(Record):
    """Words of the request to find all things."""

    system: str
    asks: _Wordings
    text: _Text
    box: dict[Coordinates, str]
    max_tokens: Annotated[int, Field(gt=0)]
    synonyms: dict[str, str]


class _Common(Record):
    asks: _Asks
    present: str
    ticks: str
    check: _Check
    exists: _Exists
    detect: _Detect


class _Texts(Record):
    """The text of each form."""

    point: _Text
    points: _Text
    box: _Text
    trace: _Text


class _Absent(Record):
    """Sentences of a family about a target that may be missing, in place of {absent}."""

    system: str = ''
    point: str = ''
    points: str = ''
    box: str = ''
    trace: str = ''


class PointingFamily(Record):
    """Prompts that ask models of one kind for places.

    Attributes:
        name: name of the family.
        coordinates: the convention that the texts ask for.
        max_tokens: most tokens of a reply.
        axis_ticks: whether scales are drawn along the top and left edge of the picture.
        box_as_point: whether a box counts as its centre where a point was asked for.
        system: text of the system role, '' for none.
        text: what the user says after the picture, by form. ``{ask}`` stands for the sentence that
            asks, ``{width}`` and ``{height}`` for the size of the picture in pixels (as the model
            sees it where coordinates are counted in that), ``{start}`` for the start of a trace.
        absent: what ``{absent}`` in the texts of the system and of each form stands for where the
            target may be missing; else it stands for nothing.
        json_schema: schema of the reply, by form, where structured output can be had.
    """

    name: Annotated[str, Field(min_length=1)]
    coordinates: Coordinates
    max_tokens: Annotated[int, Field(gt=0)]
    axis_ticks: bool = False
    box_as_point: bool = False
    system: str = ''
    absent: _Absent = _Absent()
    text: _Texts
    json_schema: dict[Form, dict[str, Any]] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pointing:
    """Pointing of one backend: a family of prompts, and what its settings change about it.

    Attributes:
        family: the prompts.
        coordinates: the convention that the model is declared to use.
        axis_ticks: whether scales are drawn.
    """

    family: PointingFamily
    coordinates: Coordinates
    axis_ticks: bool

    @classmethod
    def declared(cls, family: str, coordinates: str = '', axis_ticks: str = 'auto') -> Self:
        """Return the pointing that a backend's settings declare.

        Raises:
            InputError: there is no such family, or its file is wrong.
        """
        found = load_family(family)
        return cls(found, Coordinates(coordinates) if coordinates else found.coordinates,
                   found.axis_ticks if axis_ticks == 'auto' else axis_ticks == 'on')


@dataclass(frozen=True, eq=False)
class PointingPrompt:
    """Prompt that asks a model for places: the picture, and texts around it.

    Attributes:
        system: text of the system role, '' for none.
        image: (H, W, 3) uint8 RGB.
        text: text behind the picture: the question, and the required form of the reply.
        max_tokens: most tokens of the reply.
        json_schema: schema of the reply, for backends that can hold a model to it; None without.
        before: text before the picture.
    """

    system: str
    image: NDArray[np.uint8]
    text: str
    max_tokens: int
    json_schema: Mapping[str, Any] | None = None
    before: str = ''

    def query(self, draw: int) -> Generate:
        """Return the prompt as a query to a model that writes text; ``draw``: asking number."""
        parts = [part for part in (self.before, self.image, self.text)
                 if not isinstance(part, str) or part]
        return Generate(self.system, tuple(parts), self.max_tokens, self.json_schema, draw)


def family_names() -> tuple[str, ...]:
    """Return the names of the families that come with the package."""
    return tuple(sorted(path.stem for path in FOLDER.glob('*.yaml') if path != COMMON))


def load_family(name: str) -> PointingFamily:
    """A family by its name, or by the path of a user's YAML file.

    Raises:
        InputError: there is none; names those that come with the package. Or its file is wrong.
    """
    path = _family_path(name)
    return _read_family(path, path.stat().st_mtime_ns if path.is_file() else 0)


def family_hash(name: str) -> str:
    """Hash of all words that a family asks with, first 12 hex digits.

    Raises:
        InputError: there is no such family.
        OSError: its file cannot be read.
    """
    files = (_family_path(name), COMMON)
    return hashlib.sha256(b'\0'.join(path.read_bytes() for path in files)).hexdigest()[:12]


def seen_size(pointing: Pointing, resized: Callable[[], Size]) -> Size | None:
    """Return the picture's size as the model sees it, if coordinates count in it, else None."""
    return resized() if pointing.coordinates is Coordinates.RESIZED_PIXEL_XY else None


def cut_off(max_tokens: int, what: str) -> str:
    """The reason why a reply that was cut off cannot be used; ``what``: whose limit it is."""
    return f'the reply was cut off after {max_tokens} tokens, the limit of {what}'


def with_ticks(image: NDArray[np.uint8], text: str, pointing: Pointing, resized: Size | None,
               ) -> tuple[NDArray[np.uint8], str]:
    """A picture and a text, both with scales along the edges where the model is to see them."""
    if not pointing.axis_ticks:
        return image, text
    return (with_axis_ticks(image, pointing.coordinates, resized),
            f'{text}\n{common_words().ticks}')


def is_sentence(target: str) -> bool:
    """Whether a target is a question or an instruction of its own, and no name of a thing."""
    return target.rstrip().endswith(_SENTENCE_ENDS)


def wording(wordings: tuple[str, ...], attempt: int) -> str:
    """The wording of an asking by its number; after the last they begin anew."""
    return wordings[attempt % len(wordings)]


def filled(text: str, words: Mapping[str, str]) -> str:
    """A text with what its placeholders stand for; braces in what is filled in are left alone."""
    return _PLACEHOLDER.sub(lambda found: words.get(found[1], found[0]), text)


def _family_path(name: str) -> Path:
    if name in family_names():
        return FOLDER / f'{name}.yaml'
    if name.endswith(('.yaml', '.yml')):
        return user_path(name)
    raise InputError(f'there is no pointing family {name!r}; name one of '
                     f'{", ".join(family_names())}, or a .yaml file of yours'
                     f'{did_you_mean(name, family_names())}')


@functools.lru_cache(maxsize=64)
def _read_family(path: Path, changed_ns: int) -> PointingFamily:
    """The family of a file; ``changed_ns``: when it was last changed."""
    return read_file(PointingFamily, path)


@functools.cache
def common_words() -> _Common:
    """The sentences that ask, of all families."""
    return read_file(_Common, COMMON)
