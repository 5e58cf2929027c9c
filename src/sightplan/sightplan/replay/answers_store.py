"""The directory of a replay with another model: every answer is on disk before the next batch.

``replay.json``
    hashes of the bags that were asked about, and the answering model with its settings; a resumed
    replay must agree with them.
``answers.jsonl``
    one line per answer, with the recorded answer beside it (``recorded``); the lines of a batch
    are written with one call. ``sightplan calibrate`` reads this file as it reads the logs of
    runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from sightplan.domains.problem_keys import problem_key
from sightplan.model import (
    Answer,
    Atom,
    InputError,
    Question,
    Verdict,
    user_path,
)
from sightplan.model.journal import Journal, Line
from sightplan.records.answers_reading import parse_answer
from sightplan.records.bag_reading import SUFFIXES
from sightplan.records.description import Description
from sightplan.replay.batches import Batch

NAME, ANSWERS = 'replay.json', 'answers.jsonl'
_OTHERS = ('bags', 'episodes.jsonl', 'metadata.yaml', 'run.json')
Key = tuple[str, str, int, int]
"""Key of a batch: bag, episode, attempt and number."""
Stored = tuple[tuple[Atom, Answer], ...]
"""The stored answers of a batch, each with its atom."""


def check_folder(folder: Path | str) -> Path:
    """Check that a directory may hold a replay's answers, and return it; nothing is created yet.

    Raises:
        InputError: it holds a run or a bag, cannot be written, or ``~name`` names no user.
    """
    try:
        path = user_path(folder).resolve()
        names = {file.name for file in path.iterdir()} if path.is_dir() else set()
        other = next((name for name in sorted(names) if name in _OTHERS
                      or name.endswith(SUFFIXES)), '')
        if not other:
            above = next(p for p in (path, *path.parents) if p.exists())
            tempfile.TemporaryFile(dir=above).close()
    except OSError as error:
        raise InputError(f'{folder}: cannot be written ({error.strerror}); choose another '
                         f'--out') from error
    if other:
        raise InputError(f'{path}: holds {other}, of a run or a bag; choose another --out')
    return path


class AnswersStore:
    """Keeps what another model answers. A context manager; one process at a time."""

    def __init__(self, folder: Path | str) -> None:
        """Name the directory; nothing is touched.

        Raises:
            InputError: see ``check_folder``.
        """
        self.folder = check_folder(folder)
        self._journal = Journal(self.folder / ANSWERS)
        self._description = Description(self.folder / NAME, 'replay')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._journal.close()

    def open(self, identity: Mapping[str, Any], session: Mapping[str, Any] | None = None,
             ) -> dict[Key, Stored]:
        """Begin a replay, or take it up again.

        Args:
            identity: all that answers depend on, plain JSON data.
            session: further data to note about this start.

        Returns:
            the answers of complete batches; what a crash left of another one is removed.

        Raises:
            InputError: the directory holds another replay (names what differs), is in use, cannot
                be written, or a line is damaged.
        """
        self._journal.open()
        self._journal.lock()
        info = self._description.take_up(identity, self._journal.path, self._journal.empty)
        info['sessions'] = [*info['sessions'], dict(session or {})]
        self._description.write(info)
        _, content = self._journal.take_up()
        done, whole = _batches(content.lines)
        if whole < len(content.lines):
            self._journal.replace(line.data for line in content.lines[:whole])
        return done

    @property
    def info(self) -> Mapping[str, Any]:
        """Content of ``replay.json``."""
        return self._description.read()

    def note(self, key: str, value: object) -> None:
        """Set a field of ``replay.json``."""
        self._description.note(key, value)

    def append(self, batch: Batch, questions: Sequence[Question], answers: Sequence[Answer],
               truths: Sequence[bool | None], model: str, prompt: str, seconds: float) -> None:
        """Commit the answers of a batch; when this returns they are on disk.

        Args:
            batch: the recorded questions and answers.
            questions: questions as they were asked now, about the same atoms.
            answers: one per question.
            truths: whether each atom held; None: nobody knows.
            model: name of the model that answered.
            prompt: name and hash of the prompt; '' if answers do not depend on one.
            seconds: wall-clock time of the batch [s].

        Raises:
            StorageError: the answers could not be written; none of them is kept.
        """
        bag, episode, attempt, number = batch.key
        recorded, event = batch.source.episode, batch.event
        domain, spec, seen = recorded.domain, recorded.spec, event.observation
        worded = all(domain.question(q.atom).text == q.text for q in questions)
        self._journal.append(*({
            'bag': bag, 'episode': episode, 'attempt': attempt, 'batch': number,
            'number': place, 'of': len(event.questions), 'split': spec.split,
            'problem': problem_key(spec.problem),
            'domain': domain.name, 'model': model,
            'questions_sha256': domain.question_hash if worded else '', 'prompt': prompt,
            'step': batch.step, 'image': seen.image_id or f'stamp {seen.stamp_ns}',
            'stamp_ns': seen.stamp_ns, 'purpose': event.purpose.value,
            'atom': str(question.atom), 'question': question.text, 'recorded': _verdict(old),
            'recorded_p_yes': old.p_yes, 'recorded_p_no': old.p_no, 'answer': _verdict(new),
            'p_yes': new.p_yes, 'p_no': new.p_no,
            **({'bounded': True} if new.bounded else {}), 'text': new.text, 'truth': truth,
            'seconds': round(seconds, 6)}
            for place, (question, old, new, truth) in enumerate(zip(
                questions, event.answers, answers, truths, strict=True))))

    def update_truths(self, truths: Mapping[Key, Sequence[bool | None]]) -> int:
        """Write the truth, as far as it is known by now, beside existing answers.

        Args:
            truths: truths of each batch by its key, one per question; other batches are unchanged.

        Returns:
            the number of lines that were changed.

        Raises:
            StorageError: the truths could not be written; the old ones are kept.
        """
        lines, changed = [line.data for line in self._journal.read()], 0
        for entry in lines:
            known = truths.get(_key(entry), ())
            if entry['number'] < len(known) and entry.get('truth') != known[entry['number']]:
                entry['truth'] = known[entry['number']]
                changed += 1
        if changed:
            self._journal.replace(lines)
        return changed


def kept(done: Mapping[Key, Stored], batch: Batch) -> tuple[Answer, ...] | None:
    """The stored answers to a batch; None if it was not asked yet.

    Raises:
        InputError: the stored answers are to other questions.
    """
    stored = done.get(batch.key)
    if stored is None:
        return None
    if [atom for atom, _ in stored] != [question.atom for question in batch.event.questions]:
        raise InputError(f'{ANSWERS}: batch {batch.number} of {batch.source.key} has answers to '
                         f'other questions than the bag; choose another --out')
    return tuple(answer for _, answer in stored)


def _verdict(answer: Answer) -> str | None:
    return None if answer.verdict is Verdict.UNPARSED else answer.verdict.value


def _batches(lines: Sequence[Line]) -> tuple[dict[Key, Stored], int]:
    """The complete batches, and the number of lines up to the end of the last one."""
    done: dict[Key, Stored] = {}
    batch: list[tuple[Atom, Answer]] = []
    whole = 0
    for number, (where, entry, _) in enumerate(lines, 1):
        try:
            key = _key(entry)
            answer = parse_answer(entry, where)
            place, of = _count(entry, 'number'), _count(entry, 'of')
        except (KeyError, ValueError) as error:
            raise InputError(f'{where}: is not an answer of a replay; remove the lines from '
                             f'there on by hand') from error
        if place != len(batch):
            batch = []
        if place == len(batch):
            batch.append((answer.atom, answer.answer))
        if len(batch) == of:
            done[key], batch, whole = tuple(batch), [], number
    return done, whole


def _key(entry: Mapping[str, Any]) -> Key:
    return (str(entry['bag']), str(entry['episode']), _count(entry, 'attempt'),
            _count(entry, 'batch'))


def _count(entry: Mapping[str, Any], name: str) -> int:
    value = entry[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f'{name} is no number')
    return value
