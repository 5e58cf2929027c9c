"""Tasks of PathEval: their texts and vectors of preferences."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from sightplan.model import InputError
from sightplan.model.reading import Record, read_data, validated
from sightplan_suites.paths.labels import ORDER, Vector, check_vector, needed

FILE = Path(__file__).with_name('scenarios.yaml')


class _Entry(Record):
    id: int
    theme: str
    prefers: dict[str, int]
    text: str
    paraphrases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A task for which one path can be better than another.

    Attributes:
        id: its number in the paper.
        theme: what it is about, in a few words.
        vector: what it prefers, in the order of ``labels.ORDER``.
        text: the task in words.
        paraphrases: the same in other words.
    """

    id: int
    theme: str
    vector: Vector
    text: str
    paraphrases: tuple[str, ...]

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
        texts = [' '.join(text.split()) for text in (entry.text, *entry.paraphrases)]
        if not all(texts):
            raise InputError(f'{where}: text or a paraphrase is empty (write two or three '
                             'sentences)')
        found[entry.id] = Scenario(entry.id, entry.theme, vector, texts[0], tuple(texts[1:]))
    return tuple(found.values())
