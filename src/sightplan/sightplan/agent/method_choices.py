"""Settings of methods that a run reads, whatever the method: declared once, read by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MethodChoices:
    """Settings of a method that a run reads; the defaults hold for a method without them.

    ``registry.method_choices`` reads them from the settings of the same name. A method's own
    settings dataclass declares which of them people can set.

    Attributes:
        search: search of the symbolic planner; '' for that of the run.
        reading: whether one reply in free text tells all that a picture shows, instead of answers
            to yes/no questions.
        unknown: whether the model may answer that it cannot tell.
        reader: what reads instructions or plans in words; '' if the method has no such choice.
        question_words: ``own`` for the domain's words, ``paper`` for those of the paper.
        reply_tokens: most tokens of a reply; 0: as many as its prompt allows.
        sequence: name of the sequence of the problem to carry out; None: the method carries out
            none.
    """

    search: str = ''
    reading: bool = False
    unknown: bool = False
    reader: str = ''
    question_words: str = 'own'
    reply_tokens: int = 0
    sequence: str | None = None
