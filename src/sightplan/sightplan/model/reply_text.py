"""Read what is common to the replies of all models: thoughts, refusals and hedges.

All readers of replies use these: what a model thinks before it answers is never its answer, and
neither is a refusal, nor a guess that says it is one.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThinkingMarks:
    """Marks that models of one make put around their thoughts, as regular expressions.

    Attributes:
        opening: before thoughts; '' if only the end is marked.
        closing: after thoughts.
        models: models that write them.
        source: where they are defined.
        channel: whether ``<|end|>`` ends the thoughts, too. Elsewhere it ends whole replies.
    """

    opening: str
    closing: str
    models: str
    source: str
    channel: bool = False


THINKING_MARKS = (
    ThinkingMarks(
        r'<\|?(?:think|thinking|thoughts?|reasoning)\|?>',
        r'<\|?/(?:think|thinking|thoughts?|reasoning)\|?>',
        'DeepSeek-R1, Qwen3, GLM-4.1V and 4.5V, MiMo-VL, Phi-4-reasoning, EXAONE Deep, Marco-o1, '
        'Reka Flash 3', 'chat templates of the models; reasoning parsers of vLLM and SGLang'),
    ThinkingMarks(r'\[THINK\]', r'\[/THINK\]', 'Magistral, Ministral 3',
                  "mistral-common; vLLM's reasoning parser mistral"),
    ThinkingMarks('◁think▷', '◁/think▷', 'Kimi-VL-Thinking', 'model card of Kimi-VL'),
    ThinkingMarks('<seed:think>', '</seed:think>', 'Seed-OSS',
                  "chat template of Seed-OSS; vLLM's reasoning parser seed_oss"),
    ThinkingMarks(r'<\|begin_of_thoughts?\|>', r'<\|end_of_thoughts?\|>',
                  'Sky-T1, OpenThinker', 'system prompts of their model cards'),
    ThinkingMarks(r'<\|START_(?:OF_)?(?:THINKING|REASONING)\|>',
                  r'<\|END_(?:OF_)?(?:THINKING|REASONING)\|>',
                  'Command A Reasoning, Command R7B', 'common/chat.cpp of llama.cpp'),
    ThinkingMarks(r'<\|inner_prefix\|>', r'<\|inner_suffix\|>', 'Apertus',
                  'common/chat.cpp of llama.cpp'),
    ThinkingMarks(r'\A\s*Here(?: is|\'s) my thought process:',
                  r'\bHere(?: is|\'s) my response:', 'Granite 3.2',
                  "vLLM's reasoning parser granite"),
    ThinkingMarks(r'\A\s*(?-i:<SUMMARY>)', '(?-i:<CONCLUSION>)', 'LLaVA-CoT',
                  'Xu et al. 2024, section 3.1: summary, caption and reasoning, in this order'),
    ThinkingMarks('', r'<\|end\|>\s*<\|begin\|>assistant(?:<\|content\|>)?', 'Solar Open',
                  "vLLM's reasoning parser solar_open"),
    ThinkingMarks(
        r'<\|channel\|>\s*(?:analysis|commentary)[^<]*(?:<\|message\|>)?'
        r'|\A\s*(?-i:analysis(?=[A-Z]))',
        r'<\|channel\|>\s*final[^<]*<\|message\|>|(?-i:assistantfinal)', 'gpt-oss',
        'harmony response format of OpenAI; with its special tokens left out by a server',
        channel=True),
    ThinkingMarks(r'<\|channel>thought', r'<channel\|>', 'Gemma 4',
                  'common/chat.cpp of llama.cpp', channel=True))
"""The marks around thoughts, in any case of letters."""

ANSWER_MARKS = (
    (r'<\|(?:begin|end)_of_box\|>', 'GLM-4.1V and 4.5V', 'model card of GLM-4.5V'),
    (r'<\|(?:begin|end)_of_solution\|>', 'Sky-T1, OpenThinker',
     'system prompts of their model cards'),
    (r'<\|(?:START|END)_RESPONSE\|>', 'Command A Reasoning, Command R7B',
     'common/chat.cpp of llama.cpp'),
    (r'</?(?:response|CONCLUSION)>', 'Granite 3.3, ERNIE 4.5, LLaVA-CoT',
     "vLLM's reasoning parsers; Xu et al. 2024, section 3.1"))
"""The marks around answers: regular expression, models, source. They are left out of replies."""

# All marks are tried only where one can begin, as the first of its characters tells.
_MARKS = re.compile(r'(?:\A|(?=[<\[◁ha]))(?:' + '|'.join((
    f'(?P<open>{"|".join(m.opening for m in THINKING_MARKS if m.opening and not m.channel)})',
    f'(?P<close>{"|".join(m.closing for m in THINKING_MARKS)})',
    f'(?P<channel>{"|".join(m.opening for m in THINKING_MARKS if m.channel)})',
    r'(?P<end><\|end\|>)')) + ')', re.IGNORECASE)
_AROUND_ANSWER = re.compile(f'(?=<)(?:{"|".join(mark for mark, *_ in ANSWER_MARKS)})',
                            re.IGNORECASE)

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


_REFUSED = re.compile('image|picture|photo|screenshot|visual|help|assist|comply')
"""Words of which every refusal has one."""
_SEEN_IN = rf'(?:the|this|that|your)\s+(?:{_PICTURE}|scene|frame|view|photo)'
_THING = r'(?:(?!(?:on|above|under|below|beneath|of|in)\b)\w+\s+){0,3}?(?!(?:on|above|under)\b)\w+'
_NO_SUCH_THING = re.compile(
    rf'\bno\s+such\b'
    rf'|\bthere\s+(?:is|are)\s+no\s+{_THING}\s*(?:\b(?:in|visible|here)\b|[.,;!]|$)'
    rf'|\bthere\s+(?:is|are)(?:\s+not|n{_APOSTROPHE}t)\s+(?:an?|any)\s+{_THING}'
    r'\s*(?:\b(?:in|visible|here)\b|[.,;!]|$)'
    rf'|\b(?:do\s+not|don{_APOSTROPHE}t)\s+see\s+(?:an?|any|the|such)\b|\bi\s+see\s+no\b'
    rf'|\b{_PICTURE}\s+(?:does|do)(?:\s+not|n{_APOSTROPHE}t)\s+(?:show|contain|depict|include)\b'
    rf'|\bno\s+{_THING}\s+(?:is|are)\s+(?:visible|shown|seen|present)\b'
    rf'|\bnot\s+(?:in|present\s+in|shown\s+in|part\s+of)\s+{_SEEN_IN}')
"""Words that say that the thing in question is not in the picture."""
_IS = r'(?<!nothing )(?<!none )\b(?:is|are|was|were)\s+(?:\w+ly\s+)?'
_REASONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ('outside the picture', re.compile(
        rf'{_IS}(?:outside|beyond|out)\s+(?:of\s+)?(?:{_SEEN_IN}|view|frame)\b'
        rf'|{_IS}(?:cut\s+off|cropped)\s+(?:by|at)\s+the\s+(?:edge|border)')),
    ('hidden', re.compile(rf'{_IS}(?:hidden|occluded|obscured)\b(?!\s*by\s*$)')),
    ('too small or unclear', re.compile(
        r'\btoo\s+(?:small|blurr(?:y|ed)|dark|far(?:\s+away)?|grainy|low)\s+to\s+'
        r'(?:see|tell|judge|make|say|recogni[sz]e|read|be\s+(?:seen|sure|certain))\b')),
    ('no such thing is seen', _NO_SUCH_THING),
    ('not visible', re.compile(
        rf'\bnot\s+(?:clearly\s+|fully\s+)?visible\b|{CANNOT}\s+(?:\w+\s+)?(?:see|be\s+seen)\b')))
"""Why it cannot be told, and the words in a reply that say so, the most particular first."""
_CANNOT_TELL = re.compile(
    rf'{CANNOT}\s+(?:\w+\s+)?(?:be\s+)?'
    r'(?:tell|told|say|said|know|known|determined?|judged?|decided?|compared?|assess|answered)\b')


def why_cannot_tell(text: str) -> str:
    """Return why a reply says that it cannot tell; '' if it does not say so.

    For example ``hidden``, ``outside the picture`` or ``not visible``; ``the model says so`` where
    it gives no reason. Whether the reply answers all the same is for its reader to find out.
    """
    said = after_thoughts(text).lower()
    for reason, words in _REASONS:
        if words.search(said):
            return reason
    return 'the model says so' if _CANNOT_TELL.search(said) else ''


def says_cannot_tell(text: str) -> bool:
    """Whether a reply says in these words that it cannot tell, whatever the reason."""
    return _CANNOT_TELL.search(after_thoughts(text).lower()) is not None


def says_absent(text: str) -> bool:
    """Whether a reply says that the thing in question is not in the picture."""
    return _NO_SUCH_THING.search(after_thoughts(text).lower()) is not None


def hedges(text: str) -> bool:
    """Whether a text says that it is not sure, cannot tell, or only guesses."""
    return _HEDGE.search(text.lower()) is not None


def refuses(text: str) -> bool:
    """Whether a reply says that its model saw no picture, or will not help.

    Whatever else stands in such a reply, such as an example of the form that was asked for, is
    not about the picture. Thoughts do not count.
    """
    said = after_thoughts(text).lower()
    return _REFUSED.search(said) is not None and _REFUSAL.search(said) is not None


# --------------------------------------------------------------------------------------- thoughts


@functools.lru_cache(maxsize=16)
def after_thoughts(text: str) -> str:
    """Return a reply without its thoughts.

    ``THINKING_MARKS`` lists the marks around thoughts. The opening mark may be missing, where it
    was the prompt that opened it: then all before the closing one is thought. Thoughts that do not
    end reach to the end. Marks around the answer (``ANSWER_MARKS``) are left out, too.
    """
    rest, end = [], 0
    for start, stop in thought_spans(text):
        rest.append(text[end:start])
        end = stop
    said = _AROUND_ANSWER.sub('', ''.join([*rest, text[end:]]))
    return said if not rest or said.strip() else ''


def answer_mark_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans (start, end) of marks around answers in characters, in order."""
    return [found.span() for found in _AROUND_ANSWER.finditer(text)]


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
