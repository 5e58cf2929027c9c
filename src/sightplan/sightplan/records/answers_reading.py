"""Reading answers and actions: logs of runs (``answers.jsonl``), and files written by hand."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from sightplan.grounding import parse_yes_no
from sightplan.model import Action, Answer, Atom, InputError, Verdict, user_path
from sightplan.model.journal import Line, parse, read_lines
from sightplan.model.logged import LoggedAction, LoggedAnswer
from sightplan.model.reading import Record, validated

_LOG = logging.getLogger(__name__)


def _atom(value: object) -> Atom:
    try:
        if isinstance(value, Atom | str):
            return Atom.parse(str(value))
    except ValueError:
        pass
    raise ValueError('is not an atom; write it as "on r,g"')


def _text(value: object) -> object:
    """Convert a number, or null as '', to a text; return other values unchanged."""
    return '' if value is None else str(value) if type(value) is int else value


def _verdict(value: object) -> Verdict:
    if value is None:
        return Verdict.UNPARSED
    found = parse_yes_no(value) if isinstance(value, str) else Verdict.UNPARSED
    if found is Verdict.UNPARSED:
        raise ValueError('write "yes", "no", "unknown", or null if it could not be read')
    return found


AtomField = Annotated[Atom, pydantic.PlainValidator(_atom)]
"""An atom such as "on r,g", in any case."""
_Text = Annotated[str, pydantic.BeforeValidator(_text)]
_Probability = Annotated[float, pydantic.Field(ge=0.0, le=1.0, allow_inf_nan=False)] | None


class _Place(Record):
    """The episode, problem and domain that answers and actions belong to."""

    model_config = pydantic.ConfigDict(extra='ignore')
    episode: _Text = ''
    problem: _Text = ''
    domain: _Text = ''


class _Answer(_Place):
    atom: AtomField
    answer: Annotated[Verdict, pydantic.PlainValidator(_verdict)]
    truth: bool | None = None
    p_yes: _Probability = None
    p_no: _Probability = None
    bounded: bool = False
    image: _Text = ''
    model: _Text = ''
    questions_sha256: _Text = ''
    prompt: str | None = None


class _Action(_Place):
    action: Annotated[Action, pydantic.PlainValidator(lambda value: Action.parse(str(value)))]
    status: Literal['executed', 'rejected']
    before: list[AtomField]
    after: list[AtomField]


Skip = Callable[[InputError], None]
"""Receives the error text of a line that is left out."""


def read_answers(path: Path | str, skip: Skip | None = None,
                 ) -> tuple[list[LoggedAnswer], list[LoggedAction]]:
    """Read answers and actions, as ``AnswersLog`` writes them or by hand.

    All that an answer needs is ``atom`` and ``answer``; a file without ``episode`` is one episode.
    A last line without its end that is not JSON was cut off by a crash: it is left out, with a
    warning.

    Args:
        path: the file.
        skip: called for each line that cannot be used; None: the first one is an error.

    Raises:
        InputError: the file cannot be read, or a line is malformed; names file, line and field.
    """
    path = user_path(path)
    answers, actions = [], []
    for line in _lines(path, skip):
        try:
            if 'action' in line.data:
                actions.append(_action(line.data, line.where, str(path)))
            else:
                answers.append(parse_answer(line.data, line.where, str(path)))
        except InputError as error:
            if skip is None:
                raise
            skip(error)
    return answers, actions


def read_scene(path: Path | str, skip: Skip) -> list[tuple[str, LoggedAnswer]]:
    """Read answers about one scene, each with its file and line; all other lines are skipped.

    Raises:
        InputError: the file cannot be read.
    """
    found = []
    for line in _lines(user_path(path), skip):
        try:
            found.append((line.where, parse_answer(line.data, line.where)))
        except InputError as error:
            skip(error)
    return found


def _lines(path: Path, skip: Skip | None) -> Iterator[Line]:
    """Yield the lines that are JSON objects."""
    if skip is None:
        content = read_lines(path)
        if content.truncated:
            _LOG.warning('%s: its last line was cut off and is left out', path)
        yield from content.lines
        return
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror}); give a file of JSON '
                         f'lines') from error
    at = 0
    for number, piece in enumerate(raw.split(b'\n')):
        try:
            yield from parse(piece, str(path), start=at, above=number, strict=True).lines
        except InputError as error:
            skip(error)
        at += len(piece) + 1


def parse_answer(entry: Mapping[str, Any], where: str, episode: str = '') -> LoggedAnswer:
    """Read one answer.

    Args:
        entry: ``atom``, and ``answer``: a text that says "yes", "no" or "unknown" (see
            ``parse_yes_no``), or null, which is unreadable; the rest is optional.
        where: file and line, for messages.
        episode: instead of a missing one.

    Raises:
        InputError: a field is missing or malformed; names it and the remedy.
    """
    read = validated(_Answer, entry, where)
    answer = Answer(p_yes=read.p_yes, p_no=read.p_no, bounded=read.bounded, verdict=read.answer)
    return LoggedAnswer(
        read.atom, answer, read.truth, read.image, read.episode or episode, read.problem,
        read.domain, read.model, read.questions_sha256, read.prompt, where)


def _action(entry: Mapping[str, Any], where: str, episode: str) -> LoggedAction:
    read = validated(_Action, entry, where)
    return LoggedAction(
        read.action, read.status == 'executed', frozenset(read.before), frozenset(read.after),
        read.episode or episode, read.problem, read.domain)
