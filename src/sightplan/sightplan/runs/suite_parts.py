"""The values that a suite gives and takes: samples with their truth, scores, reports of checks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import Answer, InputError, MaskSource, State, TruthSource, Verdict
from sightplan.model.reading import Record
from sightplan.model.region import GivenWords, Region
from sightplan.model.sample import SHOWN_HASH, Picture, Sample, SampleData
from sightplan.queries.choose import PreferenceSource

_GAP_PX = 8
"""Width of the white strip between two pictures of a sample."""


class Unread(Exception):
    """A reply cannot be read; the message says why."""


def read_yes_no(text: str) -> bool:
    """Return the answer of a reply to a yes/no question: True for yes.

    Raises:
        Unread: the reply is neither clearly yes nor clearly no.
    """
    return says_yes([Answer(text)])


def says_yes(data: SampleData) -> bool:
    """Return the answer of a model to a yes/no question: True for yes.

    Args:
        data: the one answer.

    Raises:
        Unread: it says neither.
    """
    [said] = data
    if not isinstance(said, Answer):
        raise Unread(f'a {type(said).__name__} is no answer to a yes/no question')
    if said.verdict.says is None:
        raise Unread('cannot tell' if said.verdict is Verdict.UNKNOWN
                     else 'neither yes nor no' if said.text.strip() else 'empty reply')
    return said.verdict.says


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of an answer.

    Attributes:
        measures: value of each measure by name; None: the answer is not scored in it.
        cause: why the answer failed, None if it did not.
    """

    measures: Mapping[str, float | None]
    cause: str | None = None


@dataclass(frozen=True, eq=False)
class SamplePage:
    """Page for people about a sample, its truth and an answer.

    Attributes:
        picture: (H, W, 3) uint8 RGB, with truth and answer drawn into it as far as they can be;
            None where the sample has no picture.
        asked: what was asked, in words.
        truth: what is true, in words.
        answer: what was answered, in words; '' where no answer was read.
        key: what the colours and marks in the picture mean; '' without any.
        marks: label and regions of what is still to be drawn into the picture, each in a colour
            of its own; for suites that draw nothing themselves.
    """

    picture: NDArray[np.uint8] | None
    asked: str
    truth: str
    answer: str
    key: str = ''
    marks: Sequence[tuple[str, tuple[Region, ...]]] = ()


def shown_pictures(sample: Sample) -> NDArray[np.uint8] | None:
    """The pictures of a sample side by side, (H, W, 3) uint8 RGB; None if it has none.

    Raises:
        InputError: one cannot be loaded; names the file.
    """
    images = [part.load() for part in sample.parts if isinstance(part, Picture)]
    if len(images) < 2:
        return images[0] if images else None
    height = max(image.shape[0] for image in images)
    padded = [np.pad(image, ((0, height - image.shape[0]), (0, _GAP_PX), (0, 0)),
                     constant_values=255) for image in images]
    return np.concatenate(padded, axis=1)[:, :-_GAP_PX]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a suite's check of a folder of data.

    Attributes:
        counts: number of usable entries, by kind.
        skipped: ``file`` and ``reason`` of each unusable entry.
        noted: ``file`` and ``reason`` of each usable entry that states something untrue.
    """

    counts: Mapping[str, int]
    skipped: list[dict[str, str]] = field(default_factory=list)
    noted: list[dict[str, str]] = field(default_factory=list)


class SuitePrompt(Record):
    """The words around samples that are no yes/no questions: ``prompts/<name>.yaml`` of a suite.

    Attributes:
        system: text of the system role.
        before: text before the sample's parts.
        after: text after them.
        max_tokens: most tokens of the reply.
        pictures_only: whether the sample's own texts are left out, since these texts say all.
    """

    system: str = ''
    before: str = ''
    after: str = ''
    max_tokens: int = 1024
    pictures_only: bool = False


@dataclass(frozen=True, slots=True)
class PlaceWords:
    """Words of a folder (``--prompts``) that ask for places.

    Attributes:
        words: by split.
        sources: where each was found: the file, and the name of the text in it.
    """

    words: Mapping[str, GivenWords]
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a split, as a suite makes or loads them.

    Attributes:
        items: the samples, in order.
        truth: function from a sample's id to its truth, plain JSON; for scoring and ``oracle``.
        identity: content that results depend on, such as the hash of the data; plain JSON. Reports
            put splits together that differ in their content alone (``sha256`` and the like, see
            ``report.conditions``); all else says how samples are shown, and tells runs apart.
        skipped: the samples that cannot be used, and why, in words.
        truth_source: the state that a sample's question is about, for the backend
            ``noisy_oracle``; None where there is none.
        mask_source: masks of the objects in a sample's picture, for the backend
            ``noisy_locator``; None where there is none.
        preference_source: the better one of two subjects, for the backend ``noisy_critic``; None
            where there is none.
        shown: a sample of one choice between two, shown the other way round and under other
            names: called with the sample, whether to swap, and whether names shall mean nothing.
            None: its samples can be shown in one way only.
    """

    items: Sequence[Sample]
    truth: Callable[[str], Any]
    identity: Mapping[str, Any]
    skipped: Sequence[str] = ()
    truth_source: Callable[[Sample], TruthSource | None] = lambda sample: None
    mask_source: Callable[[Sample], MaskSource | None] = lambda sample: None
    preference_source: Callable[[Sample], PreferenceSource | None] = lambda sample: None
    shown: Callable[[Sample, bool, bool], Sample] | None = None

    @classmethod
    def of(cls, pairs: Iterable[tuple[Sample, Any]], files: Iterable[Path] = (),
           skipped: Sequence[str] = ()) -> Samples:
        """Samples with their truths; the identity is a hash of what they say and of files.

        A second hash, ``shown_sha256``, leaves the truths out: what a model is shown.

        Args:
            pairs: each sample, and what is true of it (plain JSON data).
            files: whose content results depend on, such as the pictures.
            skipped: the samples that cannot be used, and why, in words.

        Raises:
            InputError: a file cannot be read.
        """
        pairs, digest, shown = tuple(pairs), hashlib.sha256(), hashlib.sha256()
        for sample, truth in pairs:
            parts = [part.name if isinstance(part, Picture) else part for part in sample.parts]
            digest.update(json.dumps([sample.id, truth, parts]).encode())
            shown.update(json.dumps([sample.id, parts]).encode())
        for path in sorted(set(files)):
            try:
                content = path.read_bytes()
            except OSError as error:
                raise InputError(f'{path}: cannot be read ({error.strerror}); put the file there, '
                                 'or correct the path') from error
            digest.update(content)
            shown.update(content)
        truths = {sample.id: truth for sample, truth in pairs}
        hashes = {'sha256': digest.hexdigest()[:12], SHOWN_HASH: shown.hexdigest()[:12]}
        return cls(tuple(sample for sample, _ in pairs), truths.__getitem__, hashes, skipped)


class KnownState:
    """A TruthSource whose state never changes: that of a picture."""

    def __init__(self, state: State) -> None:
        """Keep the state."""
        self._state = state

    def state(self, stamp_ns: int | None = None) -> State:
        """The state, at whatever time."""
        return self._state

    def last_outcome(self) -> str:
        """Nothing was done."""
        return ''


@dataclass(frozen=True, slots=True)
class Verbs:
    """A suite's changes to ``sightplan suite NAME``; a field that is None changes nothing.

    Attributes:
        add_parsers: adds verbs of the suite; takes the ``add_subparsers`` object of argparse.
        check: replaces the verb ``check``; takes and returns the same as ``generate``.
        check_arguments: dataclass of the arguments of the verb ``check``, if it has others.
        generate: replaces the verb ``generate``; takes the suite and the arguments, returns what
            ``--json`` prints and the exit code.
        generate_arguments: dataclass of the arguments of the verb ``generate``, if it has others.
        score: replaces the verb ``score``; takes and returns the same as ``generate``.
        score_arguments: dataclass of the arguments of the verb ``score``, if it has others.
    """

    add_parsers: Callable[[Any], None] | None = None
    check: Callable[[Any, Any], tuple[dict[str, Any], int]] | None = None
    check_arguments: type | None = None
    generate: Callable[[Any, Any], tuple[dict[str, Any], int]] | None = None
    generate_arguments: type | None = None
    score: Callable[[Any, Any], tuple[dict[str, Any], int]] | None = None
    score_arguments: type | None = None
