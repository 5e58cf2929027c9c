"""Messages of a request, in the form that chat templates and servers take.

Three things differ between servers and templates, and are settled here: how texts that follow one
another are joined (some servers put a line feed between them, some a space, some nothing; so they
are joined before they are sent, and a prompt without pictures is one string), whether there is a
role for the system text, and whether pictures stay where they stand among the texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightplan.queries.generate import joined_texts
from sightplan.vlm.replies import without_surrogates

SYSTEM_ROLES = ('auto', 'system', 'developer', 'user')
"""Choices of the setting ``system_role``; with ``user`` the text begins the user's message."""
_NO_SYSTEM = re.compile(
    r"system (?:role|message|prompt)s?\b.{0,40}\b(?:not|n't|unsupported|no longer)"
    r"|(?:unsupported|unknown|unexpected|invalid|no|not?.{0,20}support\w*).{0,20}"
    r"\b(?:system|developer)\b(?:.{0,3} )?(?:role|message|prompt)"
    r"|not support ['\"]?(?:system|developer)\b"
    r"|roles? must alternate|only (?:support\w* )?(?:the )?['\"]?user['\"]?(?:,| and)"
    r"|after the optional system message|role ['\"]?(?:system|developer)['\"]?.{0,20}\bnot\b",
    re.IGNORECASE)
"""Words with which servers and templates refuse a message of the system's."""
FIRST, SECOND = 'alpha', 'omega'
"""Texts before the first and the second picture, in the prompt that tests a template."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Prompt to a model: texts and pictures.

    Attributes:
        system: the system text, '' for none.
        parts: texts, and pictures in the protocol's form (``{'type': 'image_url', ...}``).
    """

    system: str
    parts: tuple[str | Mapping[str, Any], ...]

    @property
    def depends_on_order(self) -> bool:
        """Whether texts tell several pictures apart by standing before them."""
        pictures = [number for number, part in enumerate(self.parts) if not isinstance(part, str)]
        return len(pictures) > 1 and any(
            isinstance(part, str) for part in self.parts[:pictures[-1]])


def messages(prompt: Prompt, system_role: str = 'system',
             numbered: bool = False) -> list[dict[str, Any]]:
    """The messages of a request.

    Args:
        prompt: what is said.
        system_role: role of the system text; ``user``: it begins the user's message.
        numbered: whether "Picture 1:" and so on stands before each picture, where there are
            several, so that a template may move them.
    """
    system = without_surrogates(prompt.system)
    parts = [without_surrogates(part) if isinstance(part, str) else part for part in prompt.parts]
    own = [system] if system and system_role == 'user' else []
    content = _joined([*own, *(_numbered(parts) if numbered else parts)])
    role = [{'role': system_role, 'content': system}] if system and not own else []
    return [*role, {'role': 'user', 'content': content}]


def refuses_system(text: str) -> bool:
    """Whether the text of a refusal is about the role of the system text."""
    return _NO_SYSTEM.search(text) is not None


def moves_pictures(rendered: str) -> bool | None:
    """Whether a chat template puts pictures elsewhere than where they stand among the texts.

    Args:
        rendered: the prompt that the template made of: ``FIRST``, a picture, ``SECOND``, a
            picture.

    Returns:
        None if the two texts are not found in their order.
    """
    found = re.search(f'{FIRST}(.*?){SECOND}', rendered, re.DOTALL)
    return None if found is None else not found[1].strip()


def _numbered(parts: Sequence[str | Mapping[str, Any]]) -> list[str | Mapping[str, Any]]:
    if sum(not isinstance(part, str) for part in parts) < 2:
        return list(parts)
    found: list[str | Mapping[str, Any]] = []
    number = 0
    for part in parts:
        if not isinstance(part, str):
            number += 1
            found.append(f'Picture {number}:')
        found.append(part)
    return found


def _joined(parts: Sequence[str | Mapping[str, Any]]) -> str | list[dict[str, Any]]:
    """Content of a message: a string if there are only texts, else parts with texts joined."""
    found = [{'type': 'text', 'text': part} if isinstance(part, str) else dict(part)
             for part in joined_texts(parts)]
    if all(part['type'] == 'text' for part in found):
        return str(found[0]['text']) if found else ''
    return found
