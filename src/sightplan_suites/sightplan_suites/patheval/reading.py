"""Replies about paths, read twice: strictly, as the paper does, and leniently.

Strictly, what stands between ``Answer:`` and ``Explanation:`` (the whole reply where there is no
``Answer:``) must be one of the two names exactly, apart from spaces, ``*``, ``.`` and line breaks;
names that mean nothing count wherever they stand there, and the first path's name is looked for
first. Leniently, ``queries.choose.read_choice`` reads what comes after the last ``Answer:``.

An answer is plain JSON data: ``strict`` and ``lenient``, None where that reading finds nothing,
and ``explanation``. Each is the position of what is named, 0 or 1; in the variant ``perception`` a
mapping from descriptors to positions; in ``level1`` a list of descriptors.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sightplan.model.sample import Sample
from sightplan.queries.choose import ChoiceReply, read_choice
from sightplan.runs.suite_parts import Unread
from sightplan_suites.patheval.asking import CHOICE, NEEDED, called, key_of
from sightplan_suites.paths.descriptors import KEYS, NAMES

_ANSWER, _EXPLANATION = 'Answer:', 'Explanation:'
_REASONS = re.compile(r'explanation\W*:', re.IGNORECASE)
_STRIPPED = str.maketrans('', '', ' *.\n')
_NAMES = {key.lower(): name for key, name in zip(KEYS, NAMES, strict=True)}
_KEY = re.compile('|'.join(map(re.escape, _NAMES)), re.IGNORECASE)
_LONGER = ((r'\bmin\b', 'minimum'), (r'\bmax\b', 'maximum'), (r'\bavg\b|\bmean\b', 'average'),
           (r'^(the )?number of ', ''))
_BETWEEN = re.compile(r'[;,\n]')
_MARKS = ' \t*.:"\'`-'

Reader = Callable[[str], int | None]


def read(text: str, item: Sample) -> dict[str, Any]:
    """Read a reply both strictly and leniently.

    Raises:
        Unread: neither finds an answer.
    """
    reasons = _REASONS.split(text, maxsplit=1)
    options = () if not item.choices else item.choices[0].options
    if item.details['asks'] == CHOICE:
        strict: Any = read_strictly(text, options)
        lenient: Any = read_choice(text, options).chosen
    elif item.details['asks'] == NEEDED:
        strict, lenient = _needed(text, strict=True), _needed(text, strict=False)
    else:
        strict = _lower(text, lambda part: read_strictly(part, options))
        lenient = _lower(text, lambda part: read_choice(part, options).chosen)
    if strict is None and lenient is None:
        raise Unread('no valid answer' if text.strip() else 'empty reply')
    return {'strict': strict, 'lenient': lenient,
            'explanation': reasons[1].strip() if len(reasons) > 1 else ''}


def read_strictly(text: str, options: Sequence[str]) -> int | None:
    """The position of the name that a reply gives, None if it gives none; see the module.

    Args:
        text: the reply.
        options: the two names; one of a single word means nothing.
    """
    words = _answer_of(text).translate(_STRIPPED)
    for number, name in enumerate(options):
        if words == name.translate(_STRIPPED) or (' ' not in name and name in words):
            return number
    return None


def _answer_of(text: str) -> str:
    return text.split(_ANSWER, 1)[-1].split(_EXPLANATION, 1)[0]


def _lower(text: str, reader: Reader) -> dict[str, int | None] | None:
    """Path (0 or 1) named as having less of each descriptor; None if none is named for any."""
    body = _answer_of(text)
    found: dict[str, int | None] = dict.fromkeys(NAMES)
    keys = list(_KEY.finditer(body))
    for number, key in enumerate(keys):
        end = keys[number + 1].start() if number + 1 < len(keys) else len(body)
        name = _NAMES[key[0].lower()]
        if found[name] is None:
            found[name] = reader(body[key.end():end].lstrip(' :*'))
    return found if any(value is not None for value in found.values()) else None


def _needed(text: str, strict: bool) -> list[str] | None:
    """The descriptors that are named; None: none is, or strictly one is unknown."""
    body = _answer_of(text)
    parts = body.split(';') if strict else _BETWEEN.split(body)
    found = [_descriptor(part, strict) for part in parts if part.strip(_MARKS + '\n')]
    names = [name for name in NAMES if name in found]
    return names if names and not (strict and None in found) else None


def _descriptor(text: str, strict: bool) -> str | None:
    words = ' '.join(text.strip(_MARKS + '\n').lower().split())
    if not strict:
        words = words.replace('.', '')
        for pattern, longer in _LONGER:
            words = re.sub(pattern, longer, words)
    return _NAMES.get(words)


# ------------------------------------------------------------------------------------- and back


def write(truth: Mapping[str, Any], item: Sample) -> str:
    """Right reply about a sample; of two equal paths it names the first one."""
    if 'needed' in truth:
        return f'{_ANSWER} {"; ".join(map(key_of, truth["needed"]))}'
    if 'lower' in truth:
        return _lines(item, [lower or 0 for lower in truth['lower'].values()])
    return _line(item, truth['better'])


def guess(item: Sample, rng: random.Random) -> str:
    """A valid reply at random."""
    if item.details['asks'] == NEEDED:
        drawn = [key for key in KEYS if rng.random() < 0.5]
        return f'{_ANSWER} {"; ".join(drawn or [rng.choice(KEYS)])}'
    positions = [int(rng.random() * 2) for _ in item.choices]
    return _line(item, positions[0]) if item.details['asks'] == CHOICE else _lines(item, positions)


def compose(item: Sample, replies: Sequence[ChoiceReply]) -> dict[str, Any]:
    """The answer that follows from what was chosen, by both readings.

    Raises:
        Unread: nothing was chosen.
    """
    chosen = [reply.chosen for reply in replies]
    if all(one is None for one in chosen):
        raise Unread('no valid answer')
    found = (chosen[0] if item.details['asks'] == CHOICE
             else dict(zip(NAMES, chosen, strict=True)))
    return {'strict': found, 'lenient': found, 'explanation': ''}


def _line(item: Sample, position: int) -> str:
    return f'{_ANSWER} {called(item.choices[0].options[position])}'


def _lines(item: Sample, positions: Sequence[int | None]) -> str:
    """Reply of the variant ``perception``; unknown descriptors are left out."""
    said = (f'{key}: {called(choice.options[position])}' for key, choice, position in zip(
        KEYS, item.choices, positions, strict=True) if position is not None)
    return '\n'.join((_ANSWER, *said))
