"""Reading a yes/no reply.

Ours, ``strict``, is strict on purpose: a reply that is not clearly yes, no or unknown is UNPARSED,
is counted in its own column and decides nothing. The rule of the ViPlan reference implementation,
``prefix``, takes any word that *starts with* "yes" or "no", so that "not", "now", "none" and
"nobody" all become "no"; it is here to reproduce published numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from sightplan.model import Verdict
from sightplan.vlm.replies import after_thoughts

Parser = Callable[[str], Verdict]

_OPEN, _CLOSE = '<answer>', '</answer>'
_LEADING = re.compile(r'[^\w<]*+(yes|no)(?![\w\'’]|-\w)', re.UNICODE)
_EMPTY = re.compile(r'<answer>\s*+</answer>')
_OTHER = re.compile(r'(\W*+)((?:or|and)\b\W*+)?(?:yes|no|unknown)\b')
_APOSTROPHE = "['’]?"
_I = r'(?:(?:i|we|you|one)\s+)?'
_IT_IS = rf'(?:(?:(?:it|this|that)\s+is|it{_APOSTROPHE}s|i\s+am|i{_APOSTROPHE}m)\s+)?'
_CANNOT = rf'(?:can\s?not|can{_APOSTROPHE}t)\s+'
_NOT_KNOWING = '|'.join((
    rf'{_I}(?:do\s+not|don{_APOSTROPHE}t)\s+know',
    rf'{_I}{_CANNOT}(?:tell|say|determine|judge)',
    rf'(?:(?:it|this|that)\s+)?{_CANNOT}be\s+(?:told|said|known|determined|judged)',
    rf'{_IT_IS}(?:unknown|undetermined|unclear|unsure|uncertain)',
    rf'{_IT_IS}not\s+(?:sure|clear|certain|known)',
    rf'{_IT_IS}impossible\s+to\s+(?:tell|say|determine|judge)',
    r'(?:not\s+enough|insufficient)\s+information'))
_UNKNOWN = re.compile(rf"[^\w<]*+(?:{_NOT_KNOWING})(?![\w'’]|-\w)", re.UNICODE)
_EITHER = re.compile(r'\b(?:yes|no)\b')


def parse_yes_no(text: str) -> Verdict:
    """Read one reply to a yes/no question.

    Case and surrounding white space, quotes, asterisks and punctuation do not matter. Thoughts at
    the beginning (``<think>...</think>``) are left aside; where they do not end, nothing is said.
    Then:

    1. With answer tags, exactly one ``<answer>...</answer>`` must stand in the reply and its
       content is read by rule 2; text around it (a reasoning) is ignored, and so are empty pairs
       beside it. The closing tag may be missing at the very end, because servers cut the reply
       off *before* a stop word; then the content must be the bare word.
    2. The text must begin with the whole word "yes" or "no"; what follows is ignored, unless it
       offers the other word as an alternative ("yes or no", "yes/no").
    3. Or it must begin with words for not knowing, and hold neither "yes" nor "no" anywhere, so
       that no answer is lost: "unknown" ("undetermined", "unclear", "unsure", "uncertain", "not
       sure", "not clear", "not known", "impossible to tell"), "I do not know", "I cannot tell"
       ("say", "determine", "judge"), "it cannot be told" ("determined", ...), "not enough
       information". They are read so whether or not the prompt offers that answer.
    4. All else is UNPARSED, in particular an empty text, a reasoning without an answer, and
       words that merely start alike ("not", "now", "none", "no-one", "yesterday").

    Args:
        text: the raw reply of a model.

    Returns:
        YES, NO, UNKNOWN or UNPARSED.
    """
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
        folded = content
    match = _LEADING.match(folded)
    if match is None:
        unknown = _UNKNOWN.match(folded) and not _EITHER.search(folded)
        return Verdict.UNKNOWN if unknown else Verdict.UNPARSED
    other = _OTHER.match(folded, match.end())
    if other is not None and (other[2] or '/' in other[1] or '|' in other[1]):
        return Verdict.UNPARSED
    return Verdict.YES if match.group(1) == 'yes' else Verdict.NO


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
"""Rules by name."""
