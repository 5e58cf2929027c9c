"""``Generate``: a prompt of texts and pictures, to be answered in free text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

from sightplan.model.query import NOT_SHOWN, Part, Query, Reply

T = TypeVar('T')
SEAM = '\n'
"""Put between two texts, unless there is white space already where they meet."""


@dataclass(frozen=True, slots=True)
class TextReply(Reply):
    """A model's reply in free text.

    Attributes:
        text: text of the reply.
        truncated: whether it was cut off at ``max_tokens``.
    """

    text: str
    truncated: bool = False

    def summary(self) -> str:
        """Return the text of the model's reply."""
        return self.text


@dataclass(frozen=True, eq=False)
class Generate(Query[TextReply]):
    """A prompt of texts and any number of pictures, to be answered in free text.

    Attributes:
        system: text of the system role, '' for none.
        parts: what the user says, texts and pictures in their order.
        max_tokens: most tokens of the reply.
        json_schema: schema that the reply is to follow, for models that can be held to it; None
            without.
        draw: number of the request about the same thing; a model that draws its replies at random
            draws another one for each.
    """

    system: str
    parts: tuple[Part, ...]
    max_tokens: int = 1024
    json_schema: Mapping[str, Any] | None = field(default=None, metadata=NOT_SHOWN)
    draw: int = field(default=0, metadata=NOT_SHOWN)

    kind: ClassVar[str] = 'text'
    reply_type: ClassVar[type[Reply]] = TextReply
    cannot_answer: ClassVar[str] = 'writes no text'

    def without_hidden(self) -> Self:
        """Return the query itself: schema and number of the draw are for the model's server."""
        return self

    def summary(self) -> str:
        """Return the last text of the prompt."""
        texts = [part for part in self.parts if isinstance(part, str)]
        return texts[-1] if texts else self.system


def joined_texts(parts: Sequence[str | T]) -> tuple[str | T, ...]:
    """Return the parts of a prompt with neighbouring texts joined, and without empty texts.

    Args:
        parts: texts and pictures.
    """
    found: list[str | T] = []
    for part in parts:
        last = found[-1] if found else None
        if not isinstance(part, str) or (part and not isinstance(last, str)):
            found.append(part)
        elif part and isinstance(last, str):
            touching = last[-1].isspace() or part[0].isspace()
            found[-1] = f'{last}{part}' if touching else f'{last}{SEAM}{part}'
    return tuple(found)
