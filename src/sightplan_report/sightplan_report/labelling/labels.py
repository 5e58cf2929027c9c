"""Labels: people's judgements of pictures, one JSON object a line.

``image`` (the picture's id, as bags and results name it), ``atom`` ("on r,g") and ``label``
("yes", "no", "unclear", or null, which takes the person's label back) must be there; ``who``,
``time`` (ISO 8601), ``question``, ``bag``, ``episode`` and ``stamp_ns`` may be. A file only ever
grows. Of one person's labels of an atom in a picture, the last counts.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pydantic

from sightplan.metrics.agreement import cohens_kappa
from sightplan.model import Atom, InfrastructureError, user_path
from sightplan.model.journal import Journal, read_lines
from sightplan.model.reading import Record, validated
from sightplan.records.answers_reading import AtomField

_MOST_SHOWN = 500  # letters of a line that was cut off
Key = tuple[str, Atom]
"""Id of a picture, and an atom."""
About = tuple[str, str, Atom]
"""A person, id of a picture, and an atom."""


class LabelValue(enum.Enum):
    """Value of a label; UNCLEAR means that the picture does not show it."""

    YES = 'yes'
    NO = 'no'
    UNCLEAR = 'unclear'


def _value(value: object) -> LabelValue | None:
    try:
        return (value if value is None or isinstance(value, LabelValue) else
                LabelValue(str(value).strip().lower()))
    except ValueError:
        raise ValueError('must be "yes", "no", "unclear" or null') from None


def _text(value: object) -> str:
    if value is None:
        return ''
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError('must be text on one line')
    return value


def _time(value: object) -> datetime.datetime | None:
    try:
        if value is None:
            return None
        time = datetime.datetime.fromisoformat(str(value))
        return (time if time.tzinfo else time.replace(tzinfo=datetime.UTC)).astimezone(
            datetime.UTC)
    except (ValueError, OverflowError):
        raise ValueError('must be like "2026-03-01T12:00:00Z", or left out') from None


ValueField = Annotated[LabelValue | None, pydantic.PlainValidator(_value),
                       pydantic.PlainSerializer(lambda value: value and value.value)]
"""A person's label: "yes", "no", "unclear" or null, in any case."""
_Text = Annotated[str, pydantic.PlainValidator(_text)]
_Time = Annotated[
    datetime.datetime | None, pydantic.PlainValidator(_time),
    pydantic.PlainSerializer(lambda time: time and time.isoformat(timespec='milliseconds'))]


class Label(Record):
    """One person's label of one atom in one picture: a line of a file.

    Attributes:
        image: id of the picture (``Observation.image_id``).
        atom: what was asked.
        value: what was seen (``label`` in files); None takes an earlier label of the same person
            back.
        who: name of the person, '' for one who is not named.
        time: when, with time zone; None if the file does not say.
        question: the words that the person read.
        bag: where the picture is.
        episode: id of its episode.
        stamp_ns: world time of the picture [ns].
    """

    model_config = pydantic.ConfigDict(extra='ignore')
    image: Annotated[_Text, pydantic.Field(min_length=1)]
    atom: Annotated[AtomField, pydantic.PlainSerializer(str)]
    value: ValueField = pydantic.Field(alias='label')
    who: _Text = ''
    time: _Time = None
    question: _Text = ''
    bag: _Text = ''
    episode: _Text = ''
    stamp_ns: int = 0

    @property
    def key(self) -> Key:
        """Picture and atom of the label."""
        return self.image, self.atom

    def to_json(self) -> dict[str, Any]:
        """The label as a JSON object of a file."""
        return self.model_dump(mode='json', by_alias=True)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two people on what both labelled; "unclear" is a label like any other."""

    first: str
    second: str
    n: int
    agreed: int
    kappa: float | None


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of several people; its length is the number of labels that count.

    Attributes:
        latest: per person, per picture and atom, the label that counts.
        warnings: what was wrong with the files and could be got over, in words.
    """

    latest: Mapping[str, Mapping[Key, Label]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.latest.values()))

    def __iter__(self) -> Iterator[Label]:
        return itertools.chain.from_iterable(own.values() for own in self.latest.values())

    @property
    def people(self) -> tuple[str, ...]:
        """Names of the labelling people, sorted."""
        return tuple(sorted(who for who, own in self.latest.items() if own))

    @property
    def images(self) -> frozenset[str]:
        """Ids of the pictures with a label."""
        return frozenset(label.image for label in self)

    def of(self, image_id: str, atom: Atom) -> dict[str, LabelValue]:
        """The label of each person of an atom in a picture."""
        found = ((who, own.get((image_id, atom))) for who, own in self.latest.items())
        return {who: label.value for who, label in found if label is not None and label.value}

    def truth(self, image_id: str, atom: Atom) -> bool | None:
        """Whether most people saw an atom hold in a picture.

        Returns:
            None if nobody labelled it, if no label leads, or if "unclear" does.
        """
        votes = Counter(self.of(image_id, atom).values()).most_common(2)
        if not votes or votes[0][0] is LabelValue.UNCLEAR:
            return None
        if len(votes) > 1 and votes[0][1] == votes[1][1]:
            return None
        return votes[0][0] is LabelValue.YES

    def agreement(self) -> tuple[Agreement, ...]:
        """Agreement of each two people."""
        return tuple(_agreement(first, second, self.latest[first], self.latest[second])
                     for first, second in itertools.combinations(self.people, 2))

    def summary(self) -> dict[str, Any]:
        """Counts for people: JSON-ready."""
        predicates: defaultdict[str, Counter[str]] = defaultdict(Counter)
        people: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for label in self:
            assert label.value is not None
            predicates[label.atom.predicate][label.value.value] += 1
            people[label.who][label.value.value] += 1
        pairs = {label.key for label in self}
        return {
            'labels': len(self), 'images': len(self.images), 'questions': len(pairs),
            'decided': sum(self.truth(*key) is not None for key in pairs),
            'predicates': {name: _counts(predicates[name]) for name in sorted(predicates)},
            'people': {who: _counts(people[who]) for who in sorted(people)},
            'agreement': [dataclasses.asdict(agreed) for agreed in self.agreement()],
            'warnings': list(self.warnings)}


def _counts(found: Counter[str]) -> dict[str, int]:
    return {value.value: found[value.value] for value in LabelValue}


def _agreement(first: str, second: str, one: Mapping[Key, Label],
               other: Mapping[Key, Label]) -> Agreement:
    pairs = [(one[key].value, other[key].value) for key in one.keys() & other.keys()]
    agreed = sum(a is b for a, b in pairs)
    return Agreement(first, second, len(pairs), agreed, cohens_kappa(pairs))


def read_labels(paths: Path | str | Iterable[Path | str]) -> Labels:
    """Read one or several files of labels.

    In a file, a later line of the same person about the same atom and picture wins. Among files
    a later one wins, unless its latest time (of what is about the same atom and picture) is before
    one of an earlier file. A last line that was cut off is left out, with a warning in
    ``Labels.warnings``.

    Raises:
        InputError: a file cannot be read, or a line is malformed; names file, line and field.
    """
    merged: dict[About, Label] = {}
    newest: dict[About, datetime.datetime] = {}
    warnings = []
    for path in map(user_path, [paths] if isinstance(paths, Path | str) else paths):
        content = read_lines(path)
        if content.truncated:
            warnings.append(f'{path}: its last line was cut off and is left out: '
                            f'{_excerpt(content.truncated)}')
        last: dict[About, Label] = {}
        times: dict[About, datetime.datetime] = {}
        for line in content.lines:
            label = validated(Label, line.data, line.where)
            about = label.who, *label.key
            last[about] = label
            if label.time is not None:
                times[about] = max(label.time, times.get(about, label.time))
        older = {about for about, time in times.items()
                 if about in newest and time < newest[about]}
        merged |= {about: label for about, label in last.items() if about not in older}
        newest |= {about: time for about, time in times.items() if about not in older}
    counting: defaultdict[str, dict[Key, Label]] = defaultdict(dict)
    for label in merged.values():
        if label.value is not None:
            counting[label.who][label.key] = label
    return Labels(counting, tuple(warnings))


def _excerpt(data: bytes) -> str:
    text = data.decode('utf-8', 'replace')
    return repr(text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + '...')


def printable(text: str) -> str:
    """Text from a bag as a label may hold it: on one line."""
    return ''.join(letter if letter.isprintable() else ' ' for letter in text)


class LabelFile:
    """A file of labels that is open for more.

    Every ``append`` is one write at the end, synced to the disk before it returns; processes that
    append to the same file wait for each other. Use it from one thread at a time, and close it.
    """

    def __init__(self, path: Path | str) -> None:
        """Read the labels in the file, and create the file if it does not exist.

        A last line that was cut off is removed from the file, with a warning in ``warnings``.

        Raises:
            InputError: the file cannot be read or written, or a line is malformed.
        """
        self.path = user_path(path)
        self.warnings: list[str] = []
        self._journal = Journal(self.path)
        self._journal.open(parents=False)
        try:
            with self._journal.locked():
                self._labels = self._added()
        except BaseException:
            self.close()
            raise

    def of(self, who: str) -> list[Label]:
        """The lines of one person that were there when the file was opened, in order."""
        return [label for label in self._labels if label.who == who]

    def append(self, decide: Callable[[Sequence[Label]], Sequence[Label]]) -> None:
        """Write labels that depend on other people's; the file is locked meanwhile.

        Args:
            decide: gets the labels that others have added since this file was opened, or since
                it was last written to here, in order, and returns what is to be written, which
                may be nothing.

        Raises:
            InputError: a line that somebody added is malformed; names file, line and field.
            InfrastructureError: they cannot be written; then the file is as it was before.
        """
        if not self._journal.in_place:
            raise InfrastructureError(f'{self.path}: was deleted, or another file took its place; '
                                      f'start again')
        with self._journal.locked():
            labels = decide(self._added())
            self._journal.append(*(label.to_json() for label in labels))

    def _added(self) -> list[Label]:
        content = self._journal.take_up()[1]
        labels = [validated(Label, line.data, line.where) for line in content.lines]
        if content.truncated:
            self.warnings.append(f'{self.path}: its last line was cut off and is removed: '
                                 f'{_excerpt(content.truncated)}')
        return labels

    def close(self) -> None:
        """Close the file."""
        self._journal.close()
