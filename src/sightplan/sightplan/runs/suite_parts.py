"""The values that a suite gives and takes: samples with their truth, scores, reports of checks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.grounding import parse_yes_no
from sightplan.model import InputError, MaskSource, State, TruthSource, Verdict
from sightplan.model.reading import Record
from sightplan.model.sample import Picture, Sample
from sightplan.queries.choose import PreferenceSource


class Unread(Exception):
    """A reply cannot be read; the message says why."""


def read_yes_no(text: str) -> bool:
    """Return the answer of a reply to a yes/no question: True for yes.

    Raises:
        Unread: the reply is neither clearly yes nor clearly no.
    """
    verdict = parse_yes_no(text)
    if verdict.says is None:
        raise Unread('cannot tell' if verdict is Verdict.UNKNOWN
                     else 'neither yes nor no' if text.strip() else 'empty reply')
    return verdict.says


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of an answer.

    Attributes:
        measures: value of each measure by name; None: the answer is not scored in it.
        cause: why the answer failed, None if it did not.
    """

    measures: Mapping[str, float | None]
    cause: str | None = None


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
    """

    system: str = ''
    before: str = ''
    after: str = ''
    max_tokens: int = 1024


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

        Args:
            pairs: each sample, and what is true of it (plain JSON data).
            files: whose content results depend on, such as the pictures.
            skipped: the samples that cannot be used, and why, in words.

        Raises:
            InputError: a file cannot be read.
        """
        pairs, digest = tuple(pairs), hashlib.sha256()
        for sample, truth in pairs:
            digest.update(json.dumps([sample.id, truth, [
                part.name if isinstance(part, Picture) else part for part in sample.parts]]
                ).encode())
        for path in sorted(set(files)):
            try:
                content = path.read_bytes()
            except OSError as error:
                raise InputError(f'{path}: cannot be read ({error.strerror}); put the file there, '
                                 'or correct the path') from error
            digest.update(content)
        truths = {sample.id: truth for sample, truth in pairs}
        return cls(tuple(sample for sample, _ in pairs), truths.__getitem__,
                   {'sha256': digest.hexdigest()[:12]}, skipped)


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
        generate: replaces the verb ``generate``; takes the suite and the arguments, returns what
            ``--json`` prints and the exit code.
        generate_arguments: dataclass of the arguments of the verb ``generate``, if it has others.
        score: replaces the verb ``score``; takes and returns the same as ``generate``.
        score_arguments: dataclass of the arguments of the verb ``score``, if it has others.
    """

    add_parsers: Callable[[Any], None] | None = None
    generate: Callable[[Any, Any], tuple[dict[str, Any], int]] | None = None
    generate_arguments: type | None = None
    score: Callable[[Any, Any], tuple[dict[str, Any], int]] | None = None
    score_arguments: type | None = None
