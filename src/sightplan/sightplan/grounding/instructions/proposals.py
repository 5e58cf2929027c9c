"""Goals that a vision-language model proposes for an instruction, checked against what is seen.

The model is shown the picture with a number at each thing, and says by number what is to be where.
Its reply is data: nothing in it becomes a goal that names a thing that is not seen, or puts
something where nothing can be put.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sightplan.domains.tabletop.uses import FILE as USES
from sightplan.grounding.instructions.ideas import FILE as IDEAS
from sightplan.grounding.instructions.instances import Stage, UnresolvedError
from sightplan.grounding.instructions.reader import LONGEST, UnreadError
from sightplan.grounding.instructions.words import FILE as LEXICON
from sightplan.model import InputError, Instance
from sightplan.model.query import Model, ask_one, can_ask
from sightplan.model.reading import Record, read_file
from sightplan.model.reply_text import after_thoughts, refuses
from sightplan.queries.detect import CABINET, DRAWERS, PLACES
from sightplan.queries.generate import Generate
from sightplan.queries.literals import MOST_CHARS, Value, find_literals
from sightplan.queries.marks import numbered

FILE = Path(__file__).with_name('goal_prompt.yaml')
MOST_STAGES = 20
"""Most stages that a reply may have."""
MOST_PUT = 200
"""Most things that a stage may put somewhere."""

_KEYS = ('put', 'open', 'close')
_SAID, _REPEATED = 200, 4000


class _Prompt(Record):
    """The words of the prompt around an instruction."""

    system: str
    text: str
    again: str
    max_tokens: Annotated[int, Field(gt=0)]


@functools.cache
def _prompt() -> _Prompt:
    return read_file(_Prompt, FILE)


def content() -> str:
    """Hash of the words that are read, and of those with which a goal is asked for.

    The first 12 hex digits.
    """
    return hashlib.sha256(
        b'\0'.join(one.read_bytes() for one in (LEXICON, USES, IDEAS, FILE))
    ).hexdigest()[:12]


def propose_goal(model: Model, picture: NDArray[np.uint8], seen: Sequence[Instance],
                 instruction: str, tries: int = 1, timeout_s: float | None = None,
                 any_kind: bool = False) -> tuple[str, tuple[Stage, ...]]:
    """Let a model say what an instruction wants of the things that are seen.

    A reply that cannot be used is answered with the reason, and the model is asked again.

    Args:
        model: one that writes text about pictures.
        picture: (H, W, 3) uint8 RGB, without marks.
        seen: all things in it, told apart.
        instruction: text of the instruction.
        tries: most times that the model is asked.
        timeout_s: wall-clock limit of each request [s]; None for the model's own.
        any_kind: see ``read_goal``.

    Returns:
        its reply, and the stages that ``read_goal`` reads in it.

    Raises:
        UnreadError: the instruction is empty or too long, or no reply could be used; says why.
        UnresolvedError: nothing is seen, or the model says that it is unclear what is meant.
        InputError: the model writes no text.
        BackendError: the model could not answer.
        DeadlineError: not within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    if not instruction.strip() or len(instruction) > LONGEST:
        raise UnreadError(f'the instruction has {len(instruction.strip())} characters; 1 to '
                          f'{LONGEST} are read')
    if not seen:
        raise UnresolvedError('no thing is seen in the picture')
    if not can_ask(model, Generate):
        raise InputError(f'{model.name} writes no text, so it cannot say what an instruction '
                         'wants; choose a backend that does, or the reader of plain instructions')
    words = _prompt()
    marked = numbered(picture, [one.region for one in seen])
    asked, again = words.text.replace('{instruction}', instruction.strip()), tuple[str, ...]()
    why = ''
    for _ in range(max(1, tries)):
        reply = ask_one(model, Generate(words.system, (marked, asked, *again),
                                        words.max_tokens), timeout_s)
        try:
            if reply.truncated:
                raise UnreadError(f'the reply was cut off after {words.max_tokens} tokens')
            return reply.text, read_goal(reply.text, seen, any_kind)
        except UnreadError as error:
            why = str(error)
            again = (words.again.replace('{why}', why).replace('{reply}', reply.text[:_REPEATED]),)
    raise UnreadError(f'the goal that {model.name} proposed cannot be used: {why}')


def read_goal(text: str, seen: Sequence[Instance], any_kind: bool = False) -> tuple[Stage, ...]:
    """Read and check a model's goal.

    Args:
        text: the reply; the last object with ``stages`` or ``unclear`` counts.
        seen: the things, in the order of their numbers, from 1.
        any_kind: whether things of any kind can hold others, be moved, or be opened, as the model
            says; else only kinds that the robot's skills know.

    Returns:
        Stages, without probabilities.

    Raises:
        UnreadError: the goal has another form, names absent things, or is impossible.
        UnresolvedError: the model says that it is unclear what is meant.
    """
    rest = after_thoughts(text)
    if len(rest) > MOST_CHARS:
        raise UnreadError(f'the reply is longer than {MOST_CHARS} characters')
    if refuses(rest):
        raise UnreadError('the reply says that no picture was seen, or that it will not answer')
    found = [literal.value for literal in find_literals(rest)[0]
             if isinstance(literal.value, dict)
             and ({'stages', 'unclear'} & literal.value.keys())]
    if not found:
        raise UnreadError('the reply holds no object with "stages"')
    goal = found[-1]
    if unclear := goal.get('unclear'):
        raise UnresolvedError(f'the model finds it unclear what is meant: {str(unclear)[:_SAID]}')
    stages = goal.get('stages')
    if not isinstance(stages, list) or not 1 <= len(stages) <= MOST_STAGES:
        raise UnreadError(f'"stages" must be a list of 1 to {MOST_STAGES} stages')
    return tuple(_Checked(seen, number, any_kind).stage(one)
                 for number, one in enumerate(stages, 1))


class _Checked:
    """Reads one stage; says in messages which."""

    def __init__(self, seen: Sequence[Instance], number: int, any_kind: bool) -> None:
        self._seen, self._where, self._any_kind = seen, f'stage {number}', any_kind

    def stage(self, said: Value) -> Stage:
        if not isinstance(said, dict) or not set(said) <= set(_KEYS) or not said:
            raise self._wrong(f'must be an object with {", ".join(_KEYS)}')
        if 'open' in said and 'close' in said:
            raise self._wrong('opens and closes; one drawer belongs to a stage')
        pairs = tuple(self._pairs(said.get('put', [])))
        placed = [thing.name for thing, _ in pairs]
        if len(set(placed)) < len(placed):
            raise self._wrong('puts one thing to two places')
        closed = 'close' in said
        drawer = self._thing(said['close' if closed else 'open'],
                             'close' if closed else 'open') if len({*said} - {'put'}) else None
        if drawer is not None and drawer.category not in DRAWERS and not self._any_kind:
            raise self._wrong(f'number {self._number(drawer)} is a {drawer.category}, no drawer')
        self._check_drawers(pairs, drawer)
        if not pairs and drawer is None:
            raise self._wrong('wants nothing')
        unknown = drawer is not None and drawer.opened is None
        return Stage(tuple((thing.name, place.name) for thing, place in pairs),
                     '' if drawer is None else drawer.name, closed, None,
                     True if unknown and closed and not pairs else None)

    def _pairs(self, said: Value) -> Iterator[tuple[Instance, Instance]]:
        if not isinstance(said, list) or len(said) > MOST_PUT:
            raise self._wrong(f'"put" must be a list of at most {MOST_PUT} entries')
        for entry in said:
            if not isinstance(entry, dict) or set(entry) != {'thing', 'into'}:
                raise self._wrong('each entry of "put" is {"thing": number, "into": number}')
            thing, place = (self._thing(entry[key], key) for key in ('thing', 'into'))
            if place.category not in (*PLACES, *DRAWERS) and not self._any_kind:
                raise self._wrong(f'nothing can be put in or on number {self._number(place)}, a '
                                  f'{place.category}')
            fixed = (CABINET, *DRAWERS) if self._any_kind else (*PLACES, CABINET, *DRAWERS)
            if thing.category in fixed:
                raise self._wrong(f'number {self._number(thing)}, a {thing.category}, cannot be '
                                  'put anywhere')
            if place is thing:
                raise self._wrong(f'puts number {self._number(place)} into itself')
            yield thing, place

    def _check_drawers(self, pairs: Sequence[tuple[Instance, Instance]],
                       drawer: Instance | None) -> None:
        used = {place.name: place for _, place in pairs if place.category in DRAWERS}
        if len({*used, *([drawer.name] if drawer else ())}) > 1:
            raise self._wrong('is about two drawers; give each a stage of its own')
        if used and drawer is None:
            raise self._wrong('puts things into a drawer, and does not tell whether that is to be '
                              'open or closed at the end')

    def _thing(self, said: Value, key: str) -> Instance:
        number = said
        if isinstance(said, str) and said.isdecimal() and len(said) < 5:
            number = int(said)
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if isinstance(number, bool) or not isinstance(number, int) or not (
                1 <= number <= len(self._seen)):
            raise self._wrong(f'"{key}" must be a number from 1 to {len(self._seen)}, not '
                              f'{str(said)[:40]!r}')
        return self._seen[number - 1]

    def _number(self, one: Instance) -> int:
        return 1 + next(k for k, other in enumerate(self._seen) if other.name == one.name)

    def _wrong(self, why: str) -> UnreadError:
        return UnreadError(f'{self._where} {why}')
