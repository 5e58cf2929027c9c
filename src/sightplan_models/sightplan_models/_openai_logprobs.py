"""The ``logprobs`` of a server's reply: which tokens the answer begins with, and how likely.

Servers list only the likeliest tokens of each place; list the token that was chosen a second time,
sometimes with its bytes and sometimes without; and cut words as the model's tokenizer does. So a
token counts once, a word outside the list has a bound instead of the probability 0, and a word
that is cut in pieces is put together.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightplan.model.reply_text import after_thoughts, answer_mark_spans
from sightplan.vlm.replies import answer_place

OPEN_TAG = '<answer>'
LEAST = 1e-9
"""Least probability of a word. Servers round, and report -9999 for tokens that they do not
list."""
_SPELLINGS = 6
"""Number of tokens that one word commonly has: in small letters, in capitals and with one capital,
each with and without a space before it."""
_MOST = 1.02
"""Most that the listed probabilities of a place sum to. Logarithms are rounded to two digits."""
_SAME = 1e-6
"""Relative difference up to which two probabilities are of one token that is listed twice."""
_REST = re.compile(r'(?:\s|</answer>|</?s>|<eos>|<end_of_turn>|<\|[^<>|]*\|>|<｜[^<>｜]*｜>)*')
"""Tokens that may follow the text of a message: a stop word, and special tokens."""
_STORED = str.maketrans('▁ĠĊ', '  \n')
_WORD = re.compile(r'[^\W_]+')


@dataclass(frozen=True, slots=True)
class Likely:
    """The likely tokens of one place of a reply.

    Attributes:
        tokens: (text, probability); each token once.
        bound: a token that is not listed has at most this probability.
        cut: the word that begins here, where it is cut into several tokens; else ''.
        first: whether it is the first place of the reply, so that one token asked for again in
            the same words stands in the same place.
    """

    tokens: tuple[tuple[str, float], ...]
    bound: float
    cut: str = ''
    first: bool = False

    @property
    def flaw(self) -> str:
        """Explain why the numbers are no probabilities; '' if they may be."""
        total = math.fsum(chance for _, chance in self.tokens)
        if math.isnan(total):
            return 'the probability of a token is not a number'
        return f'the probabilities of tokens sum to {total:.3g}' if total > _MOST else ''

    def lists(self, words: Sequence[str], read: Callable[[str], str]) -> bool:
        """Whether any of the words is among the tokens; ``read`` gives the word of a token."""
        return any(chance >= LEAST and read(token) in words for token, chance in self.tokens)

    def absent(self, words: Sequence[str], read: Callable[[str], str]) -> tuple[str, ...]:
        """The words whose probability is only bounded: not listed, or listed by a first piece."""
        return tuple(word for word in words if not any(
            chance >= LEAST and read(token) == word for token, chance in self.tokens))

    def in_longer(self, longer: Likely) -> Likely:
        """The longer list of the same place, with the word that is cut in pieces as it is here."""
        whole = tuple(pair for pair in self.tokens if self.cut and pair[0] == self.cut)
        return dataclasses.replace(longer, tokens=(*longer.tokens, *whole), cut=self.cut,
                                   first=self.first)

    def _word(self, token: str, words: Sequence[str], read: Callable[[str], str]) -> str:
        """The word that a token stands for: where words are cut, also its first piece."""
        word = read(token)
        if word and word not in words and self.cut and read(self.cut) in words:
            return next((whole for whole in words if whole.startswith(word)), word)
        return word

    def probabilities(self, words: Sequence[str], read: Callable[[str], str]) -> list[float]:
        """Probability of each word: at least LEAST each, at most 1 together.

        A word that is not listed gets the most that it may have: ``_SPELLINGS`` times the
        probability of the least likely token of the list, or its part of what the list leaves
        over, whichever is less.

        Args:
            words: the answers that may be given.
            read: which of the words a token is; anything else if it is none.
        """
        masses = [math.fsum(chance for token, chance in self.tokens
                            if self._word(token, words, read) == word)
                  for word in words]
        absent = sum(mass < LEAST for mass in masses)
        left = max(0.0, 1 - math.fsum(chance for _, chance in self.tokens))
        bound = max(LEAST, min(_SPELLINGS * self.bound, left / absent)) if absent else 0.0
        masses = [bound if mass < LEAST else mass for mass in masses]
        total = math.fsum(masses)
        return [mass / total for mass in masses] if total > 1 else masses


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a reply.

    Attributes:
        text: as it stands in the reply.
        chance: its probability; None if the server does not say.
        likely: the tokens that might have stood in its place.
    """

    text: str
    chance: float | None
    likely: Likely


def bare_word(token: str) -> str:
    """A token in small letters, without spaces and marks around it."""
    return re.sub(r'^[\W_]+|[\W_]+$', '', token).lower()


def has_nan(logprobs: object) -> bool:
    """Whether a token that was chosen has no number as its probability: the model failed."""
    content = logprobs.get('content') if isinstance(logprobs, dict) else None
    return any(isinstance(entry, dict) and isinstance(entry.get('logprob'), float)
               and math.isnan(entry['logprob'])
               for entry in (content if isinstance(content, list) else ()))


def read_tokens(logprobs: object) -> tuple[Token, ...] | None:
    """Tokens of a reply; None if the server gives none, or something else."""
    content = logprobs.get('content') if isinstance(logprobs, dict) else None
    if not isinstance(content, list) or not content:
        return None
    tokens = []
    for entry in content:
        if not isinstance(entry, dict) or not isinstance(entry.get('token'), str):
            return None
        listed = _listed(entry)
        if not listed:
            return None
        tokens.append(Token(_text_of(entry), _probability(entry), Likely(
            tuple((_text_of(item), chance) for item, chance in listed),
            min(chance for _, chance in listed))))
    return tuple(tokens)


def likely_at_answer(content: str, tokens: Sequence[Token], reasoning: bool) -> Likely | None:
    """The likely tokens where the answer stands: at its first token with a letter in it.

    Servers with a parser of reasoning report its tokens, too, but leave it out of the message. So
    the tokens must end with what is said in the message from the answer's tag, or the end of
    thoughts, on; only a stop word, special tokens and white space may follow. With ``reasoning``
    the answer must stand in a tag. A word that is cut into several tokens is put together, and has
    the product of their probabilities.
    """
    spoken = after_thoughts(content)
    tag = spoken.lower().rfind(OPEN_TAG)
    tagged = reasoning or tag >= 0
    spoken = _plain(spoken[max(tag, 0):]).rstrip()
    tokens = _without_answer_marks(tokens)
    whole = ''.join(token.text for token in tokens)
    start = whole.rfind(spoken) if spoken else -1
    stop = start + len(spoken)
    if start < 0 or not _REST.fullmatch(whole, stop):
        return None
    end, pieces = 0, []
    for token in tokens:
        begin, end = end, end + len(token.text)
        if end > start and begin < stop:
            pieces.append(token)
    place = answer_place([piece.text for piece in pieces], tagged)
    if place is None:
        return None
    return dataclasses.replace(_joined(pieces[place:]), first=pieces[place] is tokens[0])


def _without_answer_marks(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens without the characters of marks around answers, as in ``after_thoughts``."""
    spans = answer_mark_spans(''.join(token.text for token in tokens))
    if not spans:
        return tokens
    found, end = [], 0
    for token in tokens:
        begin, end = end, end + len(token.text)
        found.append(dataclasses.replace(token, text=''.join(
            char for place, char in enumerate(token.text, begin)
            if not any(start <= place < stop for start, stop in spans))))
    return found


def _joined(tokens: Sequence[Token]) -> Likely:
    """The likely tokens of the first place, with the whole word in place of its first piece."""
    first, whole = tokens[0], ''.join(token.text for token in tokens)
    word = _WORD.search(whole)
    if word is None or word.end() <= len(first.text):
        return first.likely
    chance, end, others = 1.0, 0, list(first.likely.tokens)
    for token in tokens:
        if end >= word.end():
            break
        if token.chance is None:
            return first.likely
        chance, end = chance * token.chance, end + len(token.text)
    for number, (text, _) in enumerate(others):
        if text == first.text:
            others[number] = word[0], chance
            break
    return Likely(tuple(others), first.likely.bound, word[0])


def _listed(entry: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], float]]:
    """The tokens of a place with their probabilities: the chosen one, and the likeliest."""
    top = entry.get('top_logprobs')
    found: list[tuple[Mapping[str, Any], float]] = []
    read: list[tuple[Mapping[str, Any], float]] = []  # with those that are there already
    for item in [*(top if isinstance(top, list) else []), entry]:
        chance = _probability(item)
        if chance is None:
            continue
        if not any(_is_same(item, other) and (item is entry or math.isclose(
                chance, known, rel_tol=_SAME)) for other, known in read):
            found.append((item, chance))
        read.append((item, chance))
    return found


def _is_same(item: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two entries may be one token: their bytes are equal, as far as both state them."""
    own, others = item.get('bytes'), other.get('bytes')
    if own is not None and others is not None:
        return bool(own == others)
    return bool(item['token'] == other['token'])


def _probability(item: object) -> float | None:
    """Probability of a token, from its logarithm; infinite or no number if that is nonsense."""
    if not isinstance(item, dict) or not isinstance(item.get('token'), str):
        return None
    value = item.get('logprob')
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return math.inf if value > 1 else math.exp(value)


def _text_of(item: Mapping[str, Any]) -> str:
    """A token as text: by its bytes, if they are a text (some servers name tokens by numbers)."""
    own = item.get('bytes')
    if isinstance(own, list) and own and all(
            isinstance(byte, int) and 0 <= byte < 256 for byte in own):
        with contextlib.suppress(UnicodeDecodeError):
            return _plain(bytes(own).decode())
    return _plain(item['token'])


def _plain(text: str) -> str:
    """A token as text: some servers write white space as tokenizers store it."""
    return text.translate(_STORED)
