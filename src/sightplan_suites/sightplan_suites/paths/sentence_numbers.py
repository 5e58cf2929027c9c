"""Numbers, units, limits and trade-offs of sentences about paths, as patterns of characters.

A sentence is normalised first (``normalised``): lower case, contractions written out, and each
quantity as one word, ``#0.5m`` (metres), ``#60deg``, ``#20pct``, ``#2x`` (times), ``#5min`` or a
bare ``#2``. Limits and trade-offs that stand in it are then taken out of it (``take_limits``),
each leaving the word ``§`` (a limit) or ``§§`` (a trade-off) where it stood.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

from sightplan.grounding.instructions.words import lexicon
from sightplan.model.reading import Record, read_file
from sightplan_suites.paths.limits import (
    ABOVE_LEAST,
    ABSOLUTE,
    AT_LEAST,
    AT_MOST,
    TIMES_LEAST,
    Limit,
    PathLimits,
    TradeOff,
)

TAKEN, TRADED = '§', '§§'
"""Stand in a normalised sentence where a limit, and where a trade-off, was taken out."""
MUCH = 0.5
"""Excess over the shortest, as a fraction of it, that "much longer" is taken to mean."""

_FILE = Path(__file__).with_name('sentence_limits.yaml')
_UNITS = {
    'm': (1.0, 'm'), 'metre': (1.0, 'm'), 'meter': (1.0, 'm'), 'km': (1000.0, 'm'),
    'kilometre': (1000.0, 'm'), 'kilometer': (1000.0, 'm'), 'cm': (0.01, 'm'),
    'centimetre': (0.01, 'm'), 'centimeter': (0.01, 'm'), 'mm': (0.001, 'm'),
    'millimetre': (0.001, 'm'), 'millimeter': (0.001, 'm'), 'inch': (0.0254, 'm'),
    'inche': (0.0254, 'm'), 'foot': (0.3048, 'm'), 'feet': (0.3048, 'm'), 'ft': (0.3048, 'm'),
    'yard': (0.9144, 'm'), 'mile': (1609.344, 'm'), 'deg': (1.0, 'deg'), 'degree': (1.0, 'deg'),
    '°': (1.0, 'deg'), '%': (1.0, 'pct'), 'percent': (1.0, 'pct'), 'per cent': (1.0, 'pct'),
    'time': (1.0, 'x'), 'x': (1.0, 'x'), 'fold': (1.0, 'x'), 'min': (1.0, 'min'),
    'minute': (1.0, 'min'), 'second': (1 / 60, 'min'), 'sec': (1 / 60, 'min'),
    'hour': (60.0, 'min')}
_TENS = {'ten': 10, 'twenty': 20, 'thirty': 30, 'forty': 40, 'fifty': 50, 'sixty': 60,
         'seventy': 70, 'eighty': 80, 'ninety': 90}
_TEENS = {'eleven': 11, 'twelve': 12, 'thirteen': 13, 'fourteen': 14, 'fifteen': 15,
          'sixteen': 16, 'seventeen': 17, 'eighteen': 18, 'nineteen': 19}


class _Patterns(Record):
    """Content of ``sentence_limits.yaml``, which explains its fields."""

    spellings: dict[str, str]
    fractions: dict[str, str]
    parts: dict[str, str]
    unreadable: tuple[str, ...]
    limits: tuple[tuple[str, str], ...]
    conditions: tuple[str, ...]
    negative_conditions: tuple[str, ...]
    longer: str
    vague: str
    condition_words: str
    consequence_words: str
    concessions: tuple[str, ...]


@functools.cache
def _patterns() -> _Patterns:
    return read_file(_Patterns, _FILE)


def normalised(text: str) -> str:
    """Return a sentence in lower case with single spaces and quantities; see the module."""
    plain = text.lower().translate({0x2019: "'", 0x2018: "'", 0x201c: ' ', 0x201d: ' ', 34: ' ',
                                    0x2265: '>=', 0x2264: '<=', 0x2026: '.'})
    plain = re.sub(r'(\d),(\d{3})\b', r'\1\2', plain)
    plain = re.sub(r'(\d),(\d)', r'\1.\2', plain)
    plain = re.sub(r'[\u2013\u2014]|\s-+\s|--+|[():]', ' , ', plain)
    plain = re.sub(r'(?<=[a-z])-(?=[a-z])|(?<=\d)-(?=[a-z])', ' ', plain)
    plain = re.sub(r'(\d)\s*["\u2033](?!\w)', r'\1 inch ', plain)
    plain = re.sub(r'([a-z])\1{2,}', r'\1\1', plain)
    plain = re.sub(r'[!?\n]+|\.(?!\d)', ' . ', plain)
    plain = re.sub(r'(?<!\d)\.(?=\d)', '0.', plain)
    plain = re.sub(r'([;,/&%°+]|[<>]=?|=)', r' \1 ', plain)
    words = _patterns().spellings
    found = []
    for word in re.findall(r"[a-z][a-z']*|\d+(?:\.\d+)?|[^\sa-z\d]=?", plain):
        word = words.get(word, word)
        for ending, full in (("n't", ' not'), ("'re", ' are'), ("'ve", ' have'), ("'ll", ' will'),
                             ("'d", ' would'), ("'m", ' am'), ("'s", " 's")):
            if word.endswith(ending) and len(word) > len(ending):
                word = word.removesuffix(ending) + full
                break
        found.append(word.strip("'") or word if word != "'s" else word)
    plain = re.sub(r'\b(leave .*?) be(?= [.;,]| and |$)', r'\1 alone', ' '.join(found))
    return _quantities(' '.join(plain.split()))


def _quantities(text: str) -> str:
    """Write number words as figures, and quantities as single words."""
    small = {name: value for name, value in lexicon().numbers.items()
             if name not in ('both', 'pair')}
    values = {**small, **_TEENS, **_TENS}
    for pattern, to in _patterns().fractions.items():
        text = re.sub(rf'\b(?:{pattern})\b', to, text)
    name = '|'.join(sorted((word for word in values if word != 'one'), key=len, reverse=True))
    tens = '|'.join(_TENS)
    text = re.sub(rf'\b({tens}) ({"|".join(small)})\b',
                  lambda m: f'{values[m[1]] + values[m[2]]}', text)
    text = re.sub(rf'\b({name})\b', lambda m: f'{values[m[1]]}', text)
    text = re.sub(r'\b(\d+|a|one) hundred(?: and)?(?: (\d+))?\b', lambda m: str(
        100 * (1 if m[1] in ('a', 'one') else int(m[1])) + int(m[2] or 0)), text)
    text = re.sub(r'\b(\d+|one) and a half\b', lambda m: f'{m[1].replace("one", "1")}.5', text)
    text = re.sub(r'\bnot be (?=\w+(?:er|re|over)\b)', 'not ', text)
    units = '|'.join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
    text = re.sub(r'\b(?:1|one|a) (metre|meter|m) (?:and a half|50)\b', '1.5 m', text)
    text = re.sub(rf'\b(?:(\d+) |one |a )?(?:metre|meter|m) (\d0)\b(?! ?(?:{units})s?\b)',
                  lambda m: f'{int(m[1] or 1) + int(m[2]) / 100:g} m', text)
    text = re.sub(r'\b(\d+) (metre|meter|m|feet|foot|yard)s? and a half\b', r'\1.5 \2', text)
    text = re.sub(rf'\b(?:a|one) (?:(?:good|full|whole|clear|solid|bare|single) )?({units})(?!\w)',
                  r'1 \1', text)
    text = re.sub(r'\b(\d+(?:\.\d+)?) (?:good|full|whole|clear|solid) ', r'\1 ', text)

    def quantity(match: re.Match[str]) -> str:
        factor, unit = _UNITS[match[2]]
        return f'#{float(match[1]) * factor:g}{unit}'

    text = re.sub(rf'(?<![\w.])(\d+(?:\.\d+)?) ({units})s?(?!\w)', quantity, text)
    text = re.sub(r'(#[\d.]+deg) (?:at once|in one go|at a time)\b', r'\1', text)
    return re.sub(r'(?<![#\w.])(\d+(?:\.\d+)?)\b(?![a-z])', r'#\1', text)


@functools.cache
def _compiled() -> tuple[tuple[re.Pattern[str], str], ...]:
    words = _patterns()
    return tuple((_pattern(pattern), effect) for pattern, effect in words.limits)


@functools.cache
def _pattern(pattern: str) -> re.Pattern[str]:
    for name, part in _patterns().parts.items():
        pattern = pattern.replace(f'<{name}>', f'(?:{part})')
    for unit, ending in (('M', 'm'), ('DEG', 'deg'), ('PCT', 'pct'), ('X', 'x'), ('N', '')):
        pattern = pattern.replace(f'<#{unit}>', rf'#([\d.]+){ending}\b')
    return re.compile(rf'(?<!\S)(?:{pattern})(?!\S)')


def _unread_numbers(text: str) -> str:
    """Put "?" after numbers that no limit says, such as "at most #0.5m from": no pattern has them.

    After a negation ("never within #1m of") they may be limits.
    """
    def marked(match: re.Match[str]) -> str:
        before = re.split('[.;,§]', text[:match.start()])[-1]
        if re.search(r'(?<!\S)(?:no|not|never|nothing|nobody|none|without|avoid)(?!\S)', before):
            return match[0]
        return re.sub(r'(#[\d.]+[a-z]*)(?!\S)', r'\1?', match[0])

    for pattern in _patterns().unreadable:
        text = _pattern(pattern).sub(marked, text)
    return text


def take_limits(text: str) -> tuple[str, PathLimits, tuple[str, ...]]:
    """Take limits and trade-offs out of a normalised sentence.

    Returns:
        The sentence with ``§`` and ``§§`` in their places; the limits; and what was assumed, in
        words.
    """
    limits: list[Limit] = []
    trades: list[TradeOff] = []
    assumed: list[str] = []
    text = _unread_numbers(_take_conditions(text, trades, assumed))
    for pattern, effect in _compiled():
        def taken(match: re.Match[str], effect: str = effect) -> str:
            values = [float(value) for value in match.groups() if value is not None]
            limits.extend(_limit(effect, values[0] if values else 0.0))
            return TAKEN
        text = pattern.sub(taken, text)
    text = re.sub(r'#[\d.]+m (?:long|wide|high|tall|deep|across|thick|broad|apart)\b', '#1', text)
    return text, PathLimits(tuple(dict.fromkeys(limits)),
                            trade_offs=tuple(dict.fromkeys(trades))), tuple(assumed)


_MAKERS: dict[str, Callable[[float], Limit]] = {
    'clearance>=': lambda x: Limit('minimum_clearance', AT_LEAST, x),
    'gap>=': lambda x: Limit('minimum_clearance', AT_LEAST, x / 2),
    'length<=': lambda x: Limit('path_length', AT_MOST, x),
    'length>=': lambda x: Limit('path_length', AT_LEAST, x),
    'length<=x': lambda x: Limit('path_length', AT_MOST, x, TIMES_LEAST),
    'length<=%': lambda x: Limit('path_length', AT_MOST, 1 + x / 100, TIMES_LEAST),
    'length<=+': lambda x: Limit('path_length', AT_MOST, x, ABOVE_LEAST),
    'turn<=': lambda x: Limit('maximum_angle', AT_MOST, x),
    'turning<=': lambda x: Limit('smoothness', AT_MOST, x),
    'sharp<=0': lambda x: Limit('sharp_turns', AT_MOST, 0.0),
    'sharp<': lambda x: Limit('sharp_turns', AT_MOST, max(x - 1, 0.0), ABSOLUTE),
    'sharp<=': lambda x: Limit('sharp_turns', AT_MOST, x, ABSOLUTE)}


def _limit(effect: str, value: float) -> list[Limit]:
    if effect == 'length<=x' and value < 1:
        return []
    return [_MAKERS[effect](value)]


def _take_conditions(text: str, trades: list[TradeOff], assumed: list[str]) -> str:
    """Take "unless it is #10m longer" and its like out of a sentence."""
    words = _patterns()
    for pattern in words.concessions:
        text = _pattern(pattern).sub(lambda m: _traded(m, trades), text)
    for conditions, negative in ((words.negative_conditions, True), (words.conditions, False)):
        for word in conditions:
            found = re.search(rf'(?<!\S){word}(?!\S)([^.;,§]*)', text)
            if found is None:
                continue
            rest, end = found[1].strip(), found.end()
            trade = _condition(rest, negative, word, assumed)
            if trade is None:
                continue
            trades.append(trade)
            if word.endswith(' if') or word == 'if':
                after = re.match(r'[^.;]*', text[end:])
                said = after[0].strip() if after else ''
                if re.fullmatch(rf'(?:(?:{words.consequence_words}|,) ?)*', said):
                    end += len(after[0]) if after else 0
            text = f'{text[:found.start()]}{TRADED} {text[end:]}'
    return ' '.join(text.split())


def _traded(match: re.Match[str], trades: list[TradeOff]) -> str:
    value = next(value for value in match.groups() if value is not None)
    unit = re.search(rf'#{re.escape(value)}(m|pct|x)', match[0])
    trades.append(_trade(float(value), unit[1] if unit else 'm'))
    return TRADED


def _trade(value: float, unit: str) -> TradeOff:
    if unit == 'm':
        return TradeOff('path_length', value)
    return TradeOff('path_length', value / 100 if unit == 'pct' else max(value - 1, 0.0), True)


def _condition(rest: str, negative: bool, word: str, assumed: list[str]) -> TradeOff | None:
    """The trade-off of a condition; None if it is not read, so that its words stay."""
    words = _patterns()
    amount = re.search(r'#([\d.]+)(m|pct|x)\b', rest)
    denied = re.search(r'(?<!\S)(?:not|no|less|under|within|below|at most|never|up to)(?!\S)',
                       rest)
    if negative != bool(denied) and not word.endswith('not'):
        return None
    longer = re.search(rf'(?<!\S)(?:{words.longer})(?!\S)', rest)
    vague = re.search(rf'(?<!\S)(?:{words.vague})(?!\S)', rest)
    if not (amount and longer) and not vague:
        return None
    left = rest
    for part in (amount, longer, vague):
        left = left.replace(part[0], ' ') if part else left
    left = re.sub(rf'(?<!\S)(?:{words.condition_words}|{words.longer})(?!\S)', ' ', left)
    if left.split():
        return None
    if amount:
        return _trade(float(amount[1]), amount[2])
    assumed.append(f'"{rest}" taken for {100 * MUCH:.0f} % more than the shortest')
    return TradeOff('path_length', MUCH, True)
