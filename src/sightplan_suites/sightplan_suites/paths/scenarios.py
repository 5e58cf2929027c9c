"""Tasks of PathEval: their texts and vectors of preferences.

A task has sentences of two forms. ``ABSTRACT`` ones name job, vehicle, load and place, as the
paper's do, and what matters has to be inferred; ``SPELLED`` ones say which descriptors decide.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from sightplan.model import InputError
from sightplan.model.reading import Record, read_data, validated
from sightplan_suites.paths.labels import ORDER, Vector, check_vector, needed

FILE = Path(__file__).with_name('scenarios.yaml')

ABSTRACT, SPELLED = 'abstract', 'spelled'
FORMS = (ABSTRACT, SPELLED)
"""Forms of a task's sentences: what matters is to be inferred, or is spelled out."""


class _Entry(Record):
    id: int
    theme: str
    prefers: dict[str, int]
    text: str
    paraphrases: tuple[str, ...] = ()
    abstract: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A task for which one path can be better than another.

    Attributes:
        id: its number in the paper.
        theme: what it is about, in a few words.
        vector: what it prefers, in the order of ``labels.ORDER``.
        text: the task in words that spell out what decides.
        paraphrases: the same in other words.
        abstract: the task in words from which that is to be inferred, each of another job or
            place; may be empty in a file of one's own.
    """

    id: int
    theme: str
    vector: Vector
    text: str
    paraphrases: tuple[str, ...]
    abstract: tuple[str, ...] = ()

    def wordings(self, form: str) -> tuple[str, ...]:
        """All texts of a form, one of ``FORMS``; the first is the one that items have."""
        return self.abstract if form == ABSTRACT else (self.text, *self.paraphrases)

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of the descriptors that matter, in the order of JSON."""
        return needed(self.vector)


@functools.cache
def load_scenarios(file: Path = FILE) -> tuple[Scenario, ...]:
    """Read scenarios, in the order of the file; the default are the paper's fifteen.

    Raises:
        InputError: a field is missing or wrong, a descriptor is unknown, or two scenarios have
            one number; names file, scenario and remedy.
    """
    entries = validated(list[_Entry], read_data(file), file)
    found: dict[int, Scenario] = {}
    for entry in entries:
        where = f'{file}: scenario {entry.id}'
        if entry.id in found:
            raise InputError(f'{where} is there twice (give each its own number)')
        unknown = [name for name in entry.prefers if name not in ORDER]
        if unknown:
            raise InputError(f'{where}: prefers: unknown descriptor {unknown[0]!r} (the names are '
                             f'{", ".join(ORDER)})')
        vector = tuple(entry.prefers.get(name, 0) for name in ORDER)
        check_vector(vector, f'{where}: prefers')
        spelled, abstract = ([' '.join(text.split()) for text in texts] for texts in (
            (entry.text, *entry.paraphrases), entry.abstract))
        if not all((*spelled, *abstract)):
            raise InputError(f'{where}: text, a paraphrase or an abstract wording is empty (write '
                             'two or three sentences)')
        found[entry.id] = Scenario(entry.id, entry.theme, vector, spelled[0], tuple(spelled[1:]),
                                   tuple(abstract))
    return tuple(found.values())
