"""Read commands of sliding puzzles in replies of models and lines of people.

The rules are iVISPAR's. In a model's reply every line break becomes a space, ``*`` and ``#`` are
dropped, the rest becomes lower case, and names of flat shapes become those of solid ones
(``square``: ``cube``; of two that overlap the longer one). What follows the last ``action: move``
counts, and of it only letters, digits and spaces. Words are then looked for as parts of that text;
of each list below the first entry that occurs counts, wherever it stands: the command
(``COMMANDS``), the object (``OBJECTS``), the direction (``DIRECTIONS``). The colour is the word
before the object; the number of a tile is the word after it. A digit or number word, at most two
words after the direction, repeats the move. So "move the blue cube right" can be carried out, and
"red cube right, then left" is a move to the left.

Before all that, thoughts (``model.reply_text.after_thoughts``) and the list of objects after
``description:``, which the paper's prompt asks for at the end of a reply, are taken off.

Where these rules find no command that can be carried out, repairs are tried. Each has a name, and
a command says which ones it needed, so that results can be counted with and without them:

=================== ==========================================================================
``marker``          the mark is written otherwise: ``action - move``, ``action:move``
``separators``      other characters stand between words: ``move red_cube right``
``plural``          the object has an ending: ``red cubes``
``colour_filler``   words between colour and object: ``red coloured cube``
``tile_number``     the number is not the word after "tile": ``tile number 5``, ``tile five``,
                    ``tile5``, ``the 5 tile``
``verb``            "move" is missing or another verb: ``action: red cube right``,
                    ``action: push red cube right``
``command``         ``action: start`` (or ``done``, ``reset``)
``bare``            no mark, but the last line is a command and nothing else
``two_word_colour`` ``light blue prism``: the rules alone take "blue" for the colour
=================== ==========================================================================
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sightplan.domains.sliding.boards import DIRECTIONS, TILE
from sightplan.model.reply_text import after_thoughts

MOVE, START, RESET, DONE = 'move', 'start', 'reset', 'done'
COMMANDS = (MOVE, START, RESET, DONE)
"""Commands, in the order in which they are looked for."""

OBJECTS = ('cube', 'pyramid', 'sphere', 'cylinder', 'cone', 'prism', TILE)
"""Types of pieces, in the order in which they are looked for."""

FLAT_SHAPES = {'square': 'cube', 'circle': 'sphere', 'triangle': 'pyramid', 'hexagon': 'cylinder',
               'semicircle': 'cone', 'diamond': 'prism'}
"""Solid shape that each name of a flat shape stands for."""

NO_MARKER, NO_COMMAND, NO_OBJECT = 'no_marker', 'no_command', 'no_object'
NO_COLOUR, NO_DIRECTION, ABSENT = 'no_colour', 'no_direction', 'absent'
NOT_A_MOVE = 'not_a_move'
REASONS = (NO_MARKER, NO_COMMAND, NO_OBJECT, NO_COLOUR, NO_DIRECTION, ABSENT, NOT_A_MOVE)
"""Reasons why a command gives no move.

In order: no mark; no command word; no object; no colour, or for a tile no number; no direction;
no such piece on the board; a command other than ``move``.
"""

COUNTS = {word: number for number, word in enumerate(
    ('one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'), start=1)}
NUMBERS = COUNTS | {word: number for number, word in enumerate(
    ('ten', 'eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen',
     'eighteen', 'nineteen', 'twenty'), start=10)}
"""Values of number words; ``COUNTS`` are counts of moves, ``NUMBERS`` numbers of tiles."""
_AFTER_DIRECTION = 2  # words after the direction in which a count may stand
_NO_COLOURS = frozenset({MOVE, 'the', 'a', 'an', 'this', 'that'})
_COLOUR_FILLERS = frozenset({'colored', 'coloured', 'color', 'colour', 'solid'})
_COLOUR_PARTS = frozenset({'light', 'dark', 'pale', 'deep', 'sky', 'navy'})
_TILE_FILLERS = frozenset({'number', 'no', 'nr', 'num', 'the', 'with', 'labelled', 'labeled',
                           'numbered', 'marked'})

_FLAT = re.compile('|'.join(sorted(FLAT_SHAPES, key=len, reverse=True)))
_MARK = re.compile('action: move ')
_DIGITS = re.compile('[0-9]{1,3}')
_SEPARATOR = r'[-–—=>→:"\'`<(\[{_~|]'
_LOOSE_MARK = re.compile(
    rf'actions?(?:\s+[0-9]+)?\s*{_SEPARATOR}(?:{_SEPARATOR}|\s)*move[^a-z0-9]+')
_LOOSE_ACTION = re.compile(rf'actions?(?:\s+[0-9]+)?\s*{_SEPARATOR}(?:{_SEPARATOR}|\s)*')
_WHAT = rf'(?:the )?(?:\w+ ){{1,2}}(?:{"|".join(OBJECTS[:-1])})|(?:the )?{TILE} [0-9]{{1,3}}'
_WHERE = '|'.join(DIRECTIONS)
_WITHOUT_VERB = re.compile(rf'(?:(?:push|slide|shift) )?(?P<rest>(?:{_WHAT}) (?:{_WHERE}))\b')
_WHOLE = re.compile(rf'move (?:{_WHAT}) (?:{_WHERE})(?: [a-z0-9]+)?')
_OTHER_COMMAND = re.compile(rf'(?:{START}|{DONE}|{RESET})\b')
_DESCRIPTION = re.compile(r'description[ \t*_#]*:[*_]*', re.IGNORECASE)
_ACTION_LINE = re.compile(r'\n[^\w\n]*actions?\W+move\b', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Command:
    """A command read from a reply.

    Attributes:
        verb: ``start``, ``move``, ``done``, ``reset``; '' for none.
        colour: of the piece, '' for none; of a tile ''.
        shape: of the piece, one of ``OBJECTS``; '' for none.
        number: of a tile.
        direction: one of ``DIRECTIONS``, '' for none.
        times: how often to move, 1 to 9.
        reason: '' if it can be carried out as far as words go, else one of ``REASONS``.
        repairs: names of the repairs it needed, see the module.
    """

    verb: str = ''
    colour: str = ''
    shape: str = ''
    number: int | None = None
    direction: str = ''
    times: int = 1
    reason: str = ''
    repairs: tuple[str, ...] = ()

    @property
    def repaired(self) -> bool:
        """Whether the command needed repairs beyond iVISPAR's own rules."""
        return bool(self.repairs)

    @property
    def text(self) -> str:
        """Plain form of the command, ``move red cube right``; '' if it cannot be carried out."""
        if self.reason:
            return ''
        if self.verb != MOVE:
            return self.verb
        words = [MOVE, *([TILE, str(self.number)] if self.shape == TILE else
                         [self.colour, self.shape]), self.direction]
        return ' '.join([*words, *([str(self.times)] if self.times > 1 else [])])


def read_reply(reply: str, strict: bool = False, flat: bool = True) -> Command:
    """Read the command in a model's reply.

    Args:
        reply: its text, in any form.
        strict: by iVISPAR's own rules alone, without repairs; they read thoughts, too.
        flat: whether names of flat shapes stand for those of solid ones.
    """
    rest, _ = split_description(reply if strict else after_thoughts(reply))
    text = _normal(rest, flat)
    if text.strip() in COMMANDS[1:]:
        return Command(text.strip())
    after = _after(_MARK, text)
    by_rules = Command(reason=NO_MARKER) if after is None else _search(f'{MOVE} {_kept(after)}')
    if strict:
        return by_rules
    if not by_rules.reason:
        return _with_whole_colour(by_rules, _kept(after or ''))
    return _first_good(_repaired_texts(rest, text, after, flat)) or by_rules


def read_command(line: str) -> Command:
    """Read the command in a line without a mark by the rules for replies; commas separate nothing.

    Words that belong to nothing are passed over; ``by_hand`` refuses them in what people type.
    """
    text = _normal(line)
    by_rules = _search(_kept(text))
    if not by_rules.reason:
        return _with_whole_colour(by_rules, _kept(text))
    return _first_good(iter([((), _kept(text)), (('separators',), _spaced(text))])) or by_rules


def split_description(reply: str) -> tuple[str, str]:
    """Return a reply without its list of objects, and that list as it is written.

    The list follows the last ``description:``. It ends with the reply, or before a later line that
    begins with ``action: move``.

    Returns:
        The rest of the reply, and the list; '' if there is none.
    """
    found = None
    for found in _DESCRIPTION.finditer(reply):  # noqa: B007 (the last one)
        pass
    if found is None:
        return reply, ''
    end = _ACTION_LINE.search(reply, found.end())
    stop = end.start() if end else len(reply)
    return reply[:found.start()] + reply[stop:], reply[found.end():stop].strip()


def named_move(command: Command, pieces: Sequence[str]) -> tuple[str, str] | str:
    """Return the piece and direction that a command means.

    Args:
        command: what was read.
        pieces: names of those on the board, such as ``red_cube``, ``light_blue_prism``,
            ``tile_5``: all before the last ``_`` is the colour.

    Returns:
        Name of the piece and direction; or why there is no move, one of ``REASONS``. Where no
        piece has a colour of two words, the last of them counts, as in iVISPAR's rules.
    """
    if command.reason:
        return command.reason
    if command.verb != MOVE:
        return NOT_A_MOVE
    if command.shape == TILE:
        name = f'{TILE}_{command.number}'
        return (name, command.direction) if name in pieces else ABSENT
    for colour in (command.colour, command.colour.rpartition(' ')[2]):
        for piece in pieces:
            its, _, shape = piece.rpartition('_')
            if shape == command.shape and _joined(its) == _joined(colour):
                return piece, command.direction
    return ABSENT


def _joined(colour: str) -> str:
    return re.sub('[ _-]', '', colour)


# ------------------------------------------------------------------------------ cleaning the text


def plain_text(text: str, flat: bool = True) -> str:
    """Return text in lower case without ``*`` and ``#``, the marks of Markdown.

    Args:
        text: of a model or a person.
        flat: whether names of flat shapes become those of solid ones, the longest names first
            (``semicircle`` holds ``circle``).
    """
    text = text.replace('*', '').replace('#', '').lower()
    return _FLAT.sub(lambda found: FLAT_SHAPES[found[0]], text) if flat else text


def _normal(text: str, flat: bool = True) -> str:
    """Return plain text on one line; see ``plain_text``."""
    return plain_text(text.replace('\n', ' '), flat)


def _kept(text: str) -> str:
    """Return the letters, digits and spaces of a text."""
    return ''.join(mark for mark in text if mark.isalnum() or mark == ' ')


def _spaced(text: str) -> str:
    """Return the letters and digits of a text, with one space for all between them."""
    return ' '.join(''.join(mark if mark.isalnum() else ' ' for mark in text).split())


def _after(pattern: re.Pattern[str], text: str) -> str | None:
    """Return the text after the last match, up to a description; None without a match."""
    ends = [found.end() for found in pattern.finditer(text)]
    return _DESCRIPTION.split(text[ends[-1]:], maxsplit=1)[0] if ends else None


# -------------------------------------------------------------------------------------- searching


def _search(text: str, lenient: bool = False) -> Command:
    """Search a text for a command and return it, with a reason if it is incomplete.

    Args:
        text: of letters, digits and spaces.
        lenient: whether to repair ``plural``, ``colour_filler`` and ``tile_number``.
    """
    verb = _first_in(COMMANDS, text)
    if verb != MOVE:
        return Command(verb, reason='' if verb else NO_COMMAND)
    shape, direction = _first_in(OBJECTS, text), _first_in(DIRECTIONS, text)
    if not shape:
        return Command(MOVE, direction=direction, reason=NO_OBJECT)
    words = text.split()
    named = _tile(words, lenient) if shape == TILE else _geom(words, shape, lenient)
    if named is None:
        return Command(MOVE, shape=shape, direction=direction, reason=NO_COLOUR)
    colour, number, places, repairs = named
    return Command(MOVE, colour, shape, number, direction,
                   _times(words, direction, places), '' if direction else NO_DIRECTION, repairs)


_Named = tuple[str, int | None, frozenset[int], tuple[str, ...]]
"""Colour, tile number, indices of words that are not a count of moves, and repairs."""


def _geom(words: Sequence[str], shape: str, lenient: bool) -> _Named | None:
    """Find the colour before a shape; None if there is none."""
    repairs = []
    if shape in words:
        place = words.index(shape)
    else:
        places = [at for at, word in enumerate(words) if word.startswith(shape)]
        if not lenient or not places:
            return None
        place, repairs = places[0], ['plural']
    before = place - 1
    while lenient and before > 0 and words[before] in _COLOUR_FILLERS:
        before, repairs = before - 1, [*repairs, 'colour_filler']
    if before < 0 or words[before] in _NO_COLOURS | _COLOUR_FILLERS:
        return None
    return words[before], None, frozenset(), tuple(dict.fromkeys(repairs))


def _tile(words: Sequence[str], lenient: bool) -> _Named | None:
    """Find the number of a tile; None if there is none."""
    place = words.index(TILE) if TILE in words else -1
    if 0 <= place < len(words) - 1 and _DIGITS.fullmatch(words[place + 1]):
        return '', int(words[place + 1]), frozenset({place + 1}), ()
    if not lenient:
        return None
    place = next(at for at, word in enumerate(words) if TILE in word)
    joined = re.fullmatch(rf'{TILE}s?([0-9]{{1,3}})', words[place])
    if joined:
        return '', int(joined[1]), frozenset(), ('tile_number',)
    after = place + 1
    while after < len(words) and words[after] in _TILE_FILLERS:
        after += 1
    for at in (after, place - 1):
        if 0 <= at < len(words) and (number := _number(words[at])) is not None:
            return '', number, frozenset({at}), ('tile_number',)
    return None


def _number(word: str) -> int | None:
    return int(word) if _DIGITS.fullmatch(word) else NUMBERS.get(word)


def _times(words: Sequence[str], direction: str, taken: frozenset[int]) -> int:
    """Return the count of moves: the first digit or number word that is no tile's number, or 1."""
    last = next((at for at, word in enumerate(words) if direction and direction in word), 0)
    for at, word in enumerate(words[:last + _AFTER_DIRECTION + 1]):
        if at not in taken and (word in COUNTS or re.fullmatch('[1-9]', word)):
            return COUNTS.get(word) or int(word)
    return 1


def _first_in(words: Iterable[str], text: str) -> str:
    """Return the first of the words that is part of a text; '' for none."""
    return next((word for word in words if word in text), '')


# -------------------------------------------------------------------------------------- repairing


def _first_good(texts: Iterator[tuple[tuple[str, ...], str]]) -> Command | None:
    """Return the first command that can be carried out; None if there is none.

    Args:
        texts: names of the repairs that were made, and cleaned text; the least repaired first.
    """
    for repairs, text in texts:
        for lenient in (False, True):
            command = _search(text, lenient)
            if not command.reason:
                command = dataclasses.replace(command, repairs=(*repairs, *command.repairs))
                return _with_whole_colour(command, text)
    return None


def _repaired_texts(reply: str, text: str, after: str | None, flat: bool,
                    ) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield pairs of repairs and a text that may be a command, the least repaired first.

    Args:
        reply: without description, with its line breaks.
        text: the same in normal form.
        after: what follows the mark, None without one.
        flat: see ``read_reply``.
    """
    if after is not None:
        yield (), f'{MOVE} {_kept(after)}'
        yield ('separators',), f'{MOVE} {_spaced(after)}'
    loose = _after(_LOOSE_MARK, text)
    if loose is not None:
        yield ('marker',), f'{MOVE} {_kept(loose)}'
        yield ('marker', 'separators'), f'{MOVE} {_spaced(loose)}'
    action = _after(_LOOSE_ACTION, text)
    if action is not None:
        if found := _OTHER_COMMAND.match(action):
            yield ('command',), found[0]
        elif said := _WITHOUT_VERB.match(_spaced(action)):
            yield ('verb',), f'{MOVE} {said["rest"]}'
    lines = [line for line in reply.splitlines() if _spaced(line)]
    last = _spaced(_normal(lines[-1], flat)) if lines else ''
    if last in COMMANDS[1:] or _WHOLE.fullmatch(last):
        yield ('bare',), last


def _with_whole_colour(command: Command, text: str) -> Command:
    """Return a command with both words of a colour such as "light blue"."""
    words = f'{MOVE} {text}'.split()
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        if word == command.colour and after.startswith(command.shape or ' '):
            if before in _COLOUR_PARTS:
                return dataclasses.replace(command, colour=f'{before} {word}',
                                           repairs=(*command.repairs, 'two_word_colour'))
            break
    return command
