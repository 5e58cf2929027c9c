"""Reading a yes/no reply.

Ours, ``strict``, takes a reply for what a careful person takes it for: one that is not clearly
yes, no or unknown is UNPARSED, is counted in its own column and decides nothing. The rule of the
ViPlan reference implementation, ``prefix``, takes any word that *starts with* "yes" or "no", so
that "not", "now", "none" and "nobody" all become "no", wherever they stand (in thoughts, too); it
is here to reproduce published numbers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from sightplan.model.perception import Verdict
from sightplan.model.reply_text import (
    NOT_KNOWING,
    after_thoughts,
    hedges,
    refuses,
    why_cannot_tell,
)

Parser = Callable[[str], Verdict]

_OPEN, _CLOSE = '<answer>', '</answer>'
_EMPTY = re.compile(r'<answer>\s*+</answer>')
_REASONS = re.compile(r'<explanation>.*?(?:</explanation>|\Z)', re.DOTALL)
_MARKED = re.compile(r'\banswer\W{0,8}:')
_MARKED_REASONS = re.compile(r'\bexplanation\W{0,8}:')
_QUOTED = re.compile(r"'(yes|no|unknown)'")
_BARE = re.compile(r'[^\w<]*+(true|false)[^\w<]*+')
_LIKE_YES = re.compile(r'[^\w<]*+i\s+think\s+so\b')
_LIKE_NO = re.compile(
    r"[^\w<]*+(?:i\s+(?:do\s+not|don['’]?t)\s+think\s+so\b|not\s+(?:really|at\s+all)\b"
    r'|(?:probably|definitely|absolutely|certainly|clearly|likely|of\s+course)\s+not\b)')
_UNKNOWN = re.compile(rf"[^\w<]*+(?:{NOT_KNOWING})(?![\w'’]|-\w)", re.UNICODE)
_BEGINS = re.compile(r'[^\w<]*+(?:(yes|yep|yeah|true)|no|nope|false)\b')
"""A reply that begins with an answer's word; group 1 is there if that is a yes."""
_EITHER = re.compile(r'\b(?:yes|no(?!\s?(?:one|idea|clue|way)\b))\b')
_WORD = re.compile(r"(?<!\w)(?<!\w['’-])(?:(yes|yep|yeah)|no|nope)(?![\w'’]|-\w)")
_ANY = r'(?:yes|no|unknown)'
_ALTERNATIVES = re.compile(
    rf'\b{_ANY}(?:\W{{0,20}}(?:\b(?:or|and|nor)\b|[/|])\W{{0,20}}{_ANY}\b)+'
    rf'(?:[ ,]{{1,20}}{_ANY}\b)*'
    rf'|\b{_ANY}\W{{1,20}}{_ANY}\W{{1,20}}(?:or|and)\W{{1,20}}{_ANY}\b')
_BLANK = ' \t*_`"\'“”‘’'
_NO_GOES_ON = frozenset({
    'it', 'is', 'cannot', 'this', 'that', 'the', 'there', 'these', 'those', 'they', 'its', 'i',
    'because', 'since', 'as', 'or', 'and', 'but', 'not'})
"""Words before which "no" without a comma is an answer, not an article ("no block is")."""
_CUES = frozenset({
    'a', 'is', 'say', 'think', 'answer', 'so', 'then', 'therefore', 'thus', 'hence', 'be',
    'otherwise', 'else', 'probably', 'likely', 'definitely', 'clearly', 'certainly', 'absolutely',
    'simply', 'mean'})
"""Words after which a yes or no that ends its clause is an answer."""
_CONCLUDES = re.compile(
    r'\b(?:answer\s+(?:is|would\s+be)|therefore|thus|hence|so|wait|actually|correction|rather'
    r'|conclusion|final|i\s+mean)[\s,:*"\'(]*\Z')
"""Words before an answer that replaces earlier answers."""
_DENIED = re.compile(
    r"(?:\b(?:not|never|cannot|wrong\s+to)|n['’]t)"
    r"(?:\s+(?!(?:so|therefore|thus|hence|then)\b)[\w'’]+){0,5}\Z")
"""Words before a yes or no that is not the answer ("I would not say yes")."""
_GUESSED = re.compile(r'\b(?:could|might|may)\s+(?:\w+\s+)?be(?:\s+an?)?\Z')
"""Words before an answer that is only possible ("it could be yes")."""
_AROUND, _MOST_ANSWERS = 60, 1000
_SENTENCE_END = re.compile(r'[.!?\n]')


def parse_yes_no(text: str) -> Verdict:
    """Read one reply to a yes/no question as a careful person would.

    Case and surrounding white space, quotes, asterisks and punctuation do not matter. Thoughts
    (``model.reply_text.after_thoughts``) are left aside; where they do not end, nothing is said.
    Then:

    1. With answer tags, exactly one ``<answer>...</answer>`` must stand in the reply and its
       content is read by the rules below; text around it (a reasoning) is ignored, and so are
       empty pairs beside it. The closing tag may be missing at the very end, because servers cut
       the reply off *before* a stop word; then the content must be the bare word. Without tags,
       what follows the last ``Answer:``, up to ``Explanation:``, is read where there is one.
    2. What begins with words for not knowing ("unknown", "not sure", "I cannot tell", "no idea",
       "no way to tell", ...) is UNKNOWN if it holds neither "yes" nor "no" as an answer, so that
       none is lost, else UNPARSED. So it is read whether or not the prompt offers that answer.
    3. An answer is a "yes" or "no" at the beginning ("yes, the red block is"), or one that is a
       clause of its own ("based on the picture, no."; "so the answer is yes"). The article is none
       ("no block is on it", "no image was provided"), and neither are alternatives ("yes or
       no?", "yes/no"). Where answers contradict each other, the last one counts if it says that
       it corrects or concludes ("wait, no", "so the answer is no"), else the reply is UNPARSED.
    4. An answer in a sentence that says it is not sure ("maybe yes", "it might be yes", "no, I am
       not sure") is UNPARSED, and so is a reply whose model says that it saw no picture.
    5. A word that is denied ("I would not say yes") or asked ("is it a yes?") is no answer.
    6. A reply without such a word that says that the thing in question is not visible, hidden,
       outside the picture or not there ("I do not see a red block"), or that it cannot be told, is
       UNKNOWN: it tells neither yes nor no.
    7. All else is UNPARSED, in particular an empty text, a reasoning without an answer, and
       words that merely start alike ("not", "now", "none", "no-one", "yesterday").

    Args:
        text: the raw reply of a model.

    Returns:
        YES, NO, UNKNOWN or UNPARSED.
    """
    if refuses(text):
        return Verdict.UNPARSED
    folded = after_thoughts(text).casefold()
    filled = _EMPTY.sub('', folded)
    if _OPEN in filled:
        folded = filled
    if _OPEN in folded or _CLOSE in folded:
        if folded.count(_OPEN) != 1 or folded.count(_CLOSE) > 1:
            return Verdict.UNPARSED
        content, closed, _ = folded.partition(_OPEN)[2].partition(_CLOSE)
        if not closed and (_CLOSE in folded or len(re.findall(r'\w+', content)) != 1):
            return Verdict.UNPARSED
        return _statement(content)
    folded = _REASONS.sub('', folded)
    return _statement(_MARKED_REASONS.split(_MARKED.split(folded)[-1], maxsplit=1)[0])


def says_unknown(text: str) -> bool:
    """Whether a reply begins by saying that it is not known, as a prompt may offer."""
    return _UNKNOWN.match(_QUOTED.sub(r' \1 ', after_thoughts(text).casefold())) is not None


def _statement(text: str) -> Verdict:
    """Return the verdict of a text in small letters, without thoughts and tags."""
    text = _QUOTED.sub(r' \1 ', text)
    if _UNKNOWN.match(text):
        return Verdict.UNPARSED if _EITHER.search(text) else Verdict.UNKNOWN
    answers = _answers(text)
    if not answers:
        if bare := _BARE.fullmatch(text):
            return Verdict.YES if bare[1] == 'true' else Verdict.NO
        if _LIKE_YES.match(text) or _LIKE_NO.match(text):
            return Verdict.YES if _LIKE_YES.match(text) else Verdict.NO
        return Verdict.UNKNOWN if why_cannot_tell(text) else Verdict.UNPARSED
    last = answers[-1]
    if len({found[1] for found in answers}) > 1 and not _CONCLUDES.search(
            text, max(0, last.start() - _AROUND), last.start()):
        return Verdict.UNPARSED
    if hedges(_sentence(text, last)) or _GUESSED.search(_before(text, last)):
        return Verdict.UNPARSED
    return Verdict.YES if last[1] else Verdict.NO


def _answers(text: str) -> list[re.Match[str]]:
    """Words of a text that are answers; group 1 is there if it is a yes."""
    offered = [found.span() for found in itertools.islice(
        _ALTERNATIVES.finditer(text), _MOST_ANSWERS)]
    alone = len(re.findall(r'\w+', text)) == 1
    found = []
    for word in itertools.islice(_WORD.finditer(text), _MOST_ANSWERS):
        if any(begin <= word.start() < end for begin, end in offered):
            continue
        before = _before(text, word)
        after = text[word.end():word.end() + _AROUND].lstrip(_BLANK)
        if _DENIED.search(before) or (after.startswith('?') and not alone):
            continue
        next_word = _first_word(after)
        ends = not next_word
        leads = not any(char.isalnum() or char == '<' for char in before) and (
            word.start() <= _AROUND or not before)
        said = next_word in ('yes', 'no', 'unknown')
        cue = (before.split() or [''])[-1]
        apart = not before or not before[-1].isalnum() or cue in {*_CUES, 'yes', 'no'}
        if (leads and (word[1] or ends or said or next_word in _NO_GOES_ON)) or (
                apart and (ends or said)):
            found.append(word)
    return found


def _before(text: str, word: re.Match[str]) -> str:
    """Return the text shortly before a word, without marks and spaces at its end."""
    return text[max(0, word.start() - _AROUND):word.start()].rstrip(_BLANK)


def _first_word(text: str) -> str:
    """The word with which a text begins, '' if it begins with another character."""
    word = re.match(r'\w*', text)
    return word[0] if word else ''


def _sentence(text: str, word: re.Match[str]) -> str:
    """The sentence that a word stands in, as far as it is near."""
    before = _SENTENCE_END.split(text[max(0, word.start() - 5 * _AROUND):word.start()])[-1]
    after = _SENTENCE_END.split(text[word.end():word.end() + 5 * _AROUND], maxsplit=1)[0]
    return f'{before}{word[0]}{after}'


def probabilities_apply(text: str, verdict: Verdict) -> bool:
    """Whether probabilities at the first word of a reply are those of an answer.

    They are not where the reply begins with "yes" or "no" and says something else ("No idea.",
    "Yes, no", "No doubt about it: yes."): they are about a word that decides nothing.

    Args:
        text: the reply.
        verdict: verdict that was read from the reply.
    """
    begun = _BEGINS.match(after_thoughts(text).casefold())
    return begun is None or verdict.says is (begun[1] is not None)


def parse_prefix(text: str) -> Verdict:
    """Read one reply as the ViPlan reference implementation does.

    The content of the first answer tag, if there is one, else the whole text; it says what its
    beginning says ("nothing" says no), or else its first word that begins with "yes" or "no". A
    reasoning without an answer tag is UNPARSED, and nothing is UNKNOWN.

    Args:
        text: the raw reply of a model.

    Returns:
        YES, NO or UNPARSED.
    """
    folded = text.lower()
    if _OPEN in folded:
        folded = folded.partition(_OPEN)[2].partition(_CLOSE)[0]
    elif '<explanation>' in folded:
        return Verdict.UNPARSED
    folded = folded.strip().strip('.,!?')
    for word in (folded, *folded.split(' ')):
        for verdict in (Verdict.YES, Verdict.NO):
            if word.startswith(verdict.value):
                return verdict
    return Verdict.UNPARSED


PARSERS: Mapping[str, Parser] = MappingProxyType({'strict': parse_yes_no, 'prefix': parse_prefix})
"""Parsers of replies by name."""
