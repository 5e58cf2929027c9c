"""Pictures of worlds, their questions and the truth: drawn from seeds, or read from a folder.

A picture is that of a fresh problem from the domain's generator, some actions after its start
(see ``drawing``). Its questions are those about the atoms that may hold (``Domain.worth_asking``)
and whose objects are all in view.

A folder of data holds ``samples.jsonl``, one question a line, and the pictures as PNG. It is read
as it is, whatever made it: it may hold pictures of one's own.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.console.progress import with_progress
from sightplan.domains import Domain, load_domain
from sightplan.model import (
    Atom,
    InputError,
    Observation,
    Question,
    param,
    user_path,
)
from sightplan.model.picture_files import read_image
from sightplan.model.reading import Record
from sightplan.model.sample import Picture, Sample
from sightplan.runs.dataset import (
    Skipped,
    Unusable,
    below,
    check_new,
    checked,
    entries_of,
    skip,
    write_file,
)
from sightplan.runs.suite_finding import load_suite, suite_settings
from sightplan.runs.suite_parts import CheckReport, KnownState, Samples
from sightplan.vlm.images import encode
from sightplan_suites.predicates.drawing import Scene, Studio

SPLITS = ('simple', 'medium', 'hard')
FILE = 'samples.jsonl'


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the suite: its pictures."""

    count: int = param(25, 'pictures of each domain and split', low=1, high=100_000)
    seed: int = param(0, 'seed of the pictures', low=0, high=2**32 - 1)
    domain: str = param('', "only this domain; empty: all of ViPlan's")
    data: str = param('', 'folder of data, see "sightplan suite predicates generate"; empty: '
                      'pictures are drawn from the seed')


class Row(Record):
    """A line of ``samples.jsonl``.

    Attributes:
        id: of the sample, unique.
        picture: path of its picture, below the folder.
        question: its text.
        atom: what is asked, such as ``on r,g``.
        truth: whether it holds.
        split: of the suite.
        domain: of the atom.
        image: hash of the picture's pixels (``Observation.image_id``); '': not checked.
    """

    id: str
    picture: str
    question: str
    atom: str
    truth: bool
    split: str
    domain: str
    image: str = ''


def samples(split: str, options: Mapping[str, Any]) -> Samples:
    """The samples of a split.

    Args:
        split: one of ``SPLITS``.
        options: fields of ``Settings``.

    Raises:
        InputError: an unknown option or a bad value, or data that cannot be used.
        WorldError: a world cannot show its problem.
    """
    settings = suite_settings('predicates', Settings, options)
    if settings.data:
        folder = user_path(settings.data)
        rows = [row for row in read_rows(folder) if row.split == split
                and settings.domain in ('', row.domain)]
        return _as_samples(rows, lambda row: lambda: _picture(folder, row))
    return _drawn(domains(settings), split, settings.count, settings.seed)


@functools.lru_cache(maxsize=len(SPLITS))
def _drawn(names: tuple[str, ...], split: str, count: int, seed: int) -> Samples:
    """The samples of a seed; drawing takes long, and each run of a sweep wants the same ones."""
    images: dict[str, NDArray[np.uint8]] = {}
    rows: list[Row] = []
    for name in names:
        for image, found in draw(name, split, count, seed):
            images[found[0].picture] = image
            rows += found
    return _as_samples(rows, lambda row: lambda: images[row.picture])


def check(data: Path) -> CheckReport:
    """Count the samples of a data folder, and name entries that cannot be used.

    Raises:
        InputError: there is no ``samples.jsonl``.
    """
    counts: Counter[str] = Counter()
    skipped: list[Skipped] = []
    good: dict[tuple[str, str], bool] = {}
    for where, row, error in _lines(data):
        if row is None:
            skipped.append(skip(where, error))
            continue
        key = row.picture, row.image
        if key not in good:
            try:
                _picture(data, row)
                good[key] = True
            except InputError as wrong:
                good[key] = False
                skipped.append(skip(str(data / row.picture), str(wrong)))
        if good[key]:
            counts['samples'] += 1
            counts[f'{row.domain}/{row.split}'] += 1
            counts['true'] += row.truth
    pictures = {picture for (picture, _), usable in good.items() if usable}
    return CheckReport({'samples': 0, 'pictures': len(pictures), **counts}, skipped)


def generate(out: Path, count: int, seed: int) -> dict[str, Any]:
    """Write a folder of data: the pictures of a seed, all domains and splits.

    Args:
        out: the folder; it is made, and must not hold data yet.
        count: pictures of each domain and split.
        seed: of the pictures; one seed always gives the same files.

    Raises:
        InputError: the folder holds data already or cannot be written, or a bad number.
        WorldError: a world cannot show its problem.
    """
    settings = suite_settings('predicates', Settings, {'count': count, 'seed': seed})
    check_new(out / FILE)
    rows: list[Row] = []
    pictures = 0
    for split in SPLITS:
        for name in domains(settings):
            for image, found in draw(name, split, count, seed):
                write_file(out / found[0].picture, encode(image, 'png'))
                pictures += 1
                rows += found
    lines = ''.join(f'{json.dumps(row.model_dump())}\n' for row in rows)
    write_file(out / FILE, lines.encode())
    return {'samples': len(rows), 'pictures': pictures, 'true': sum(row.truth for row in rows)}


def domains(settings: Settings) -> tuple[str, ...]:
    """Domains of the pictures."""
    return (settings.domain,) if settings.domain else tuple(load_suite('viplan').domains)


def draw(domain_name: str, split: str, count: int, seed: int,
         ) -> Iterator[tuple[NDArray[np.uint8], list[Row]]]:
    """Pictures with their questions; each is a function of domain, split, seed and number.

    Raises:
        InputError: the domain has no such split, generator, world or camera.
        WorldError: a world cannot show its problem.
    """
    domain = load_domain(domain_name)
    with Studio(domain, split, seed) as studio:
        for number in with_progress(range(count), f'pictures of {domain.name} drawn', count):
            scene = studio.scene(number)
            yield scene.image, _rows(domain, split, number, scene)


def _rows(domain: Domain, split: str, number: int, scene: Scene) -> list[Row]:
    place = f'{domain.name}/{split}/{number:04}'
    image = Observation(scene.image).image_id
    return [Row(id=f'{place}/{atom.predicate}({",".join(atom.args)})',
                picture=f'pictures/{place}.png',
                question=domain.question(atom).text, atom=str(atom), truth=atom in scene.state,
                split=split, domain=domain.reference, image=image) for atom in scene.atoms]


def read_rows(folder: Path) -> list[Row]:
    """The lines of a folder of data.

    Raises:
        InputError: the file is missing, or a line is wrong; names file, line, field and remedy.
    """
    rows = []
    for where, row, error in _lines(folder):
        if row is None:
            raise InputError(error if error.startswith(where) else f'{where}: {error}')
        rows.append(row)
    if not rows:
        raise InputError(f'{folder / FILE}: holds no sample (make some with "sightplan suite '
                         'predicates generate")')
    return rows


def _lines(folder: Path) -> Iterator[tuple[str, Row | None, str]]:
    """Place of each line, its content, and its error ('' for none)."""
    path = folder / FILE
    try:
        entries = entries_of(path)
    except InputError as error:
        raise InputError(f'{error}; name a folder of data, as "sightplan suite predicates '
                         'generate --out DIR" writes it') from error
    seen: set[str] = set()
    for where, content, wrong in entries:
        try:
            if wrong:
                raise Unusable(where, wrong)
            row = checked(Row, content, where)
            _check_row(row, where)
            if row.id in seen:
                raise Unusable(where, f'id = {row.id!r} is there twice; give each sample its own')
        except Unusable as error:
            yield where, None, error.reason
        except InputError as error:
            yield where, None, str(error)
        else:
            seen.add(row.id)
            yield where, row, ''


def _check_row(row: Row, where: str) -> None:
    if row.split not in SPLITS:
        raise Unusable(where, f'split = {row.split!r} must be one of {", ".join(SPLITS)}')
    if not row.id:
        raise Unusable(where, 'id is empty; give each sample its own')
    atom = _atom(row.atom, f'{where}: atom')
    load_domain(row.domain).question(atom)
    below(row.picture, 'picture', where)


def _atom(text: str, where: str) -> Atom:
    try:
        return Atom.parse(text)
    except ValueError as error:
        raise InputError(f'{where} = {text!r} is not an atom; write it as "on r,g"') from error


def _picture(folder: Path, row: Row) -> NDArray[np.uint8]:
    image = read_image(folder / row.picture)
    found = Observation(image).image_id
    if row.image and found != row.image:
        raise InputError(f'{folder / row.picture}: shows something else than when {FILE} was '
                         f'written (its pixels have the hash {found}, not {row.image}); generate '
                         'the data again, or leave out the field image')
    return image


def _as_samples(rows: Sequence[Row],
                load: Callable[[Row], Callable[[], NDArray[np.uint8]]]) -> Samples:
    pictures: dict[str, Picture] = {}
    states: dict[str, set[Atom]] = {}
    items, truths = [], {}
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row.model_dump()).encode())
        if row.picture not in pictures:
            pictures[row.picture] = Picture(row.picture, load(row))
        question = Question(_atom(row.atom, row.id), row.question)
        states.setdefault(row.picture, set()).update({question.atom} if row.truth else ())
        items.append(Sample(
            row.id, row.split, row.picture, (pictures[row.picture], row.question), question,
            row.domain, details={'predicate': question.atom.predicate, 'atom': row.atom}))
        truths[row.id] = row.truth
    known = {picture: KnownState(frozenset(state)) for picture, state in states.items()}
    return Samples(tuple(items), truths.__getitem__,
                   {'sha256': digest.hexdigest()[:12], 'pictures': len(pictures)},
                   truth_source=lambda sample: known[sample.cluster])
