"""Read what is common to the replies of all models: thoughts, refusals and hedges.

All readers of replies use these: what a model thinks before it answers is never its answer, and
neither is a refusal, nor a guess that says it is one.
"""

from __future__ import annotations

import re

_NAME = r'(?:seed:)?(?:begin_of_|start_of_|start_)?(?:think|thinking|thoughts?|reasoning)'
_NAME_END = r'(?:end_of_|end_)(?:thinking|thoughts?|reasoning)'
_MARKS = re.compile(
    rf'(?P<open>(?:<\|?|\[|◁){_NAME}(?:\|?>|\]|▷))'
    rf'|(?P<close>(?:<\|?/|\[/|◁/){_NAME}(?:\|?>|\]|▷)|<\|{_NAME_END}\|>'
    r'|<channel\|>|<\|channel\|>\s*final[^<]*<\|message\|>|(?-i:assistantfinal))'
    r'|(?P<channel><\|channel\|>\s*(?:analysis|commentary)[^<]*(?:<\|message\|>)?'
    r'|<\|channel>thought|\A\s*(?-i:analysis(?=[A-Z])))'
    r'|(?P<end><\|end\|>)', re.IGNORECASE)
"""Pattern of the marks around thoughts, as models of different makers write them.

``<|end|>`` ends thoughts in a channel alone, because it also ends whole replies.
"""

# ------------------------------------------------------------------------------------ not knowing

_APOSTROPHE = "['’]?"
CANNOT = (rf'(?:(?:can|could)(?:\s?not|n?{_APOSTROPHE}t)|(?:not\s+able|unable|impossible)\s+to'
          r'|(?:not\s+possible|hard|difficult)\s+to)')
"""Words for not being able to, as part of a regular expression for text in small letters."""
_TELL = r'(?:tell|say|know|determine|judge|decide|see)'
_I = r'(?:(?:i|we|you|one)\s+)?'
_IT_IS = rf'(?:(?:(?:it|this|that)\s+is|it{_APOSTROPHE}s|i\s+am|i{_APOSTROPHE}m)\s+)?'
NOT_KNOWING = '|'.join((
    rf'{_I}(?:do\s+not|don{_APOSTROPHE}t)\s+know',
    rf'{_I}can(?:\s?not|{_APOSTROPHE}t)\s+(?:tell|say|determine|judge)',
    (rf'(?:(?:it|this|that)\s+)?can(?:\s?not|{_APOSTROPHE}t)\s+'
     r'be\s+(?:told|said|known|determined|judged)'),
    rf'{_IT_IS}(?:unknown|undetermined|unclear|unsure|uncertain)',
    rf'{_IT_IS}not\s+(?:sure|clear|certain|known)',
    rf'{_IT_IS}(?:impossible|not\s+possible)\s+to\s+(?:tell|say|determine|judge)',
    r'no\s+(?:idea|clue)', rf'no\s+way\s+(?:to|of)\s+{_TELL}(?:ing)?',
    rf'no\s?one\s+(?:can|could)\s+{_TELL}',
    r'(?:not\s+enough|insufficient)\s+information'))
"""Words that say, at the beginning of an answer, that it is not known."""
_HEDGE = re.compile(
    rf'\b(?:not\s+(?:\w+ly\s+)?(?:sure|certain|clear)|unsure|uncertain|unclear|maybe|perhaps'
    rf'|possibly|guess(?:ing)?|do(?:\s+not|n{_APOSTROPHE}t)\s+know|no\s+(?:idea|clue)'
    rf'|{CANNOT}\s+(?:be\s+(?:told|said|known|determined|judged)|tell|say|know|determine|judge'
    r'|decide|compare|choose|assess|evaluate))\b')
_PICTURE = r'(?:image|picture|photo|photograph|screenshot|visual)'
_THE = (r'(?:an?|any|the|this|that|these|those|your|actual|attached|current|given|provided|such'
        r'|uploaded)')
_REFUSAL = re.compile(
    rf'{CANNOT}\s+(?:\w+ly\s+)?(?:see|view|access|open|load|process|display|analy[sz]e|interpret)'
    rf'\s+(?:{_THE}\s+){{0,3}}{_PICTURE}s?\b(?!\s+(?:clearly|well))'
    rf'|\b(?:no\s+{_PICTURE}s?|{_PICTURE}s?\s+(?:was|were|is|are|has|have)\s+not)\s+(?:\w+\s+)?'
    r'(?:provided|attached|uploaded|given|loaded|shown)\b'
    rf'|\b(?:do\s+not|don{_APOSTROPHE}t)\s+(?:have\s+access\s+to\s+(?:{_THE}\s+){{0,3}}{_PICTURE}s?\b'
    rf'|see\s+(?:{_THE}\s+){{0,3}}{_PICTURE}s?(?:\s+(?:attached|provided|uploaded|shared)\b'
    r'|\s+in\s+(?:our|this|the|your)\s+(?:conversation|chat|message)\b|\s*(?:[.,;!]|$)))'
    rf'|\b{_PICTURE}s?\s+(?:failed\s+to\s+load|(?:did\s+not|didn{_APOSTROPHE}t)\s+load'
    rf'|(?:could|can)(?:\s?not|n?{_APOSTROPHE}t)\s+be\s+(?:loaded|opened|displayed|viewed|accessed))\b'
    rf'|{CANNOT}\s+(?:help|assist|comply)(?:\s+(?:you|with)\b|\s*(?:[.,;!]|$))', re.MULTILINE)


def hedges(text: str) -> bool:
    """Whether a text says that it is not sure, cannot tell, or only guesses."""
    return _HEDGE.search(text.lower()) is not None


def refuses(text: str) -> bool:
    """Whether a reply says that its model saw no picture, or will not help.

    Whatever else stands in such a reply, such as an example of the form that was asked for, is
    not about the picture. Thoughts do not count.
    """
    return _REFUSAL.search(after_thoughts(text).lower()) is not None


# --------------------------------------------------------------------------------------- thoughts


def after_thoughts(text: str) -> str:
    """Return a reply without its thoughts.

    Thoughts stand in ``<think>...</think>``, ``<thinking>``, ``<reasoning>``, ``[THINK]``,
    ``◁think▷``, ``<|begin_of_thought|>`` or the channel ``analysis`` of the harmony format, in
    any case of letters. The opening mark may be missing, where it was the prompt that opened it:
    then all before the closing one is thought. Thoughts that do not end reach to the end.
    """
    rest, end = [], 0
    for start, stop in thought_spans(text):
        rest.append(text[end:start])
        end = stop
    said = ''.join([*rest, text[end:]])
    return said if not rest or said.strip() else ''


def thought_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of the thoughts (start, end) in characters, in order."""
    spans: list[tuple[int, int]] = []
    begun: int | None = None
    in_channel = False
    for mark in _MARKS.finditer(text):
        match mark.lastgroup:
            case 'open' | 'channel' if begun is None:
                begun, in_channel = mark.start(), mark.lastgroup == 'channel'
            case 'close' if begun is None:
                spans = [(0, mark.end())]
            case 'close':
                spans.append((begun or 0, mark.end()))
                begun = None
            case 'end' if begun is not None and in_channel:
                spans.append((begun, mark.end()))
                begun = None
    return spans if begun is None else [*spans, (begun, len(text))]
