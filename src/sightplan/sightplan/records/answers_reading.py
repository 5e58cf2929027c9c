"""Reading answers and actions: logs of runs (``answers.jsonl``), and files written by hand."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sightplan.grounding import parse_yes_no
from sightplan.grounding.calibration import LoggedAction, LoggedAnswer
from sightplan.model import Action, Atom, InputError, Verdict, user_path
from sightplan.model.journal import read_lines

_LOG = logging.getLogger(__name__)


def read_answers(path: Path | str) -> tuple[list[LoggedAnswer], list[LoggedAction]]:
    """Read answers and actions, as ``AnswersLog`` writes them or by hand.

    All that an answer needs is ``atom`` and ``answer``; a file without ``episode`` is one episode.
    A last line without its end that is not JSON was cut off by a crash: it is left out, with a
    warning.

    Raises:
        InputError: the file cannot be read, or a line is malformed; names file, line and field.
    """
    path = user_path(path)
    answers, actions = [], []
    content = read_lines(path)
    if content.truncated:
        _LOG.warning('%s: its last line was cut off and is left out', path)
    for line in content.lines:
        if 'action' in line.data:
            actions.append(_parse_action(line.data, line.where, str(path)))
        else:
            answers.append(parse_answer(line.data, line.where, str(path)))
    return answers, actions


def parse_answer(entry: Mapping[str, Any], where: str, episode: str = '') -> LoggedAnswer:
    """Read one answer.

    Args:
        entry: ``atom``, and ``answer``: "yes", "no", any other text or null, which is unreadable;
            the rest is optional.
        where: file and line, for messages.
        episode: instead of a missing one.

    Raises:
        InputError: a field is malformed; names it and the remedy.
    """
    truth = entry.get('truth')
    if truth is not None and not isinstance(truth, bool):
        raise InputError(f'{where}: truth = {truth!r} must be true, false or null')
    return LoggedAnswer(
        parse_atom(entry.get('atom'), where), parse_verdict(entry.get('answer'), where), truth,
        _probability(entry, 'p_yes', where), _probability(entry, 'p_no', where),
        _text(entry, 'image', where), _text(entry, 'episode', where) or episode,
        _text(entry, 'problem', where), _text(entry, 'domain', where),
        _text(entry, 'model', where), _text(entry, 'questions_sha256', where),
        _text(entry, 'prompt', where) if entry.get('prompt') is not None else None)


def parse_atom(text: object, where: str) -> Atom:
    """Read an atom such as "on r,g", in any case.

    Raises:
        InputError: it is not one.
    """
    try:
        if isinstance(text, str):
            return Atom.parse(text)
    except ValueError:
        pass
    raise InputError(f'{where}: {text!r} is not an atom; write it as "on r,g"')


def parse_verdict(answer: object, where: str) -> Verdict:
    """Read "yes", "no", another text or null (unreadable).

    Raises:
        InputError: it is neither text nor null.
    """
    if answer is None:
        return Verdict.UNPARSED
    if not isinstance(answer, str):
        raise InputError(f'{where}: answer = {answer!r} must be "yes", "no" or null')
    return parse_yes_no(answer)


def _parse_action(entry: Mapping[str, Any], where: str, episode: str) -> LoggedAction:
    try:
        action = Action.parse(_text(entry, 'action', where))
    except ValueError as error:
        raise InputError(f'{where}: action: {error}') from error
    status = entry.get('status')
    if status not in ('executed', 'rejected'):
        raise InputError(f'{where}: status = {status!r} must be "executed" or "rejected"')
    states = []
    for name in ('before', 'after'):
        atoms = entry.get(name)
        if not isinstance(atoms, list):
            raise InputError(f'{where}: {name} must be the list of the true atoms')
        states.append(frozenset(parse_atom(atom, f'{where}: {name}') for atom in atoms))
    return LoggedAction(action, status == 'executed', states[0], states[1],
                        _text(entry, 'episode', where) or episode,
                        _text(entry, 'problem', where), _text(entry, 'domain', where))


def _probability(entry: Mapping[str, Any], name: str, where: str) -> float | None:
    value = entry.get(name)
    if value is None:
        return None
    if (not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value)
            or not 0.0 <= value <= 1.0):
        raise InputError(f'{where}: {name} = {value!r} must be a number in [0, 1] or null')
    return float(value)


def _text(entry: Mapping[str, Any], name: str, where: str) -> str:
    value = entry.get(name)
    if value is None:
        return ''
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise InputError(f'{where}: {name} = {value!r} must be text')
    return str(value)
