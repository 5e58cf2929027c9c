"""Protocols of services that answer typed questions about an input with probabilities.

``OpenAIWire`` is ``POST /v1/decisions`` as the types of the ``openai`` package describe it: the
input is a list of messages, the questions a list of 1 to 400, each a predicate (how likely a
statement is true), a choice among 2 to 255 values, or a score; answers come in the same order, and
any of them may be a refusal.

``SystemOneWire`` is ``POST /v1/systemone``, which TypeSafe began and vLLM, SGLang, llama.cpp and
Ollama serve for open models that score all options of a question jointly: a ``state`` (text, or a
list), and questions by name, each a ``noul`` (a statement), a choice or a score. How a picture is
sent differs: ``parts`` (an ``image_url`` part in the list of the state: OpenRouter, Perplexity),
``images`` (a list beside the state, before all text: SGLang, Cloudflare), ``assets`` (named files
that the state mentions, behind a header: TypeSafe's own). Sources: docs.vllm.ai (structured
decisions), docs.sglang.io (pplx-decider), openrouter.ai/docs (decisions), docs.litellm.ai
(decisions).

``sightplan serve`` puts the reply of its model into each answer, too, as the field ``EXACT``.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sightplan.model import BackendError
from sightplan.model.query import Part, Rgb
from sightplan.vlm.images import MEDIA, encode

EXACT = 'sightplan_reply'
"""Field of an answer in which ``sightplan serve`` puts the reply of its model as it is."""
PICTURES = ('parts', 'images', 'assets')
_UNROUNDED = 1e-4
"""Largest distance of a sum of probabilities in half precision from 1, before any rounding."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of all questions of a request.

    Attributes:
        system: text of the system role; '' for none.
        parts: texts and pictures in their order.
    """

    system: str
    parts: tuple[Part, ...]

    @property
    def pictures(self) -> list[Rgb]:
        """The pictures."""
        return [part for part in self.parts if not isinstance(part, str)]


@dataclass(frozen=True, slots=True)
class TypedQuestion:
    """One typed question.

    Attributes:
        instructions: text of the question.
        options: what to choose from; empty: how likely it is that the answer is yes.
    """

    instructions: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TypedAnswer:
    """The answer to one typed question, as the service gave it.

    Attributes:
        probabilities: of the options in their order, or of yes alone; empty: refused.
        exact: the model's own reply, from ``sightplan serve``; None from others.
    """

    probabilities: tuple[float, ...] = ()
    exact: Mapping[str, Any] | None = None


class Wire(Protocol):
    """A protocol: how a request looks, and how its answers are read."""

    path: str
    most_questions: int

    def body(self, model: str, subject: Subject, asked: Sequence[TypedQuestion]) -> dict[str, Any]:
        """The request."""

    def headers(self, subject: Subject) -> dict[str, str]:
        """Further headers of the request."""

    def answers(self, reply: Mapping[str, Any], asked: Sequence[TypedQuestion],
                ) -> list[Any] | None:
        """One answer of the reply for each question; None where they are not all there."""

    def read(self, answer: Any, asked: TypedQuestion) -> TypedAnswer:
        """Read one answer.

        Raises:
            BackendError: it is none to this question.
        """


class OpenAIWire:
    """OpenAI's ``/v1/decisions``."""

    path = 'decisions'
    most_questions = 400

    def __init__(self, image_format: str, decimals: int, detail: str) -> None:
        """Send pictures in a format, and with a level of detail ('' for the service's own).

        ``decimals``: to which the service rounds probabilities; 0: it does not.
        """
        self._format, self._decimals, self._detail = image_format, decimals, detail

    def body(self, model: str, subject: Subject, asked: Sequence[TypedQuestion]) -> dict[str, Any]:
        """System text and input as messages, questions as a list; contract in ``Wire``."""
        content = [self._part(part) for part in subject.parts]
        messages = [{'type': 'message', 'role': role, 'content': said} for role, said in (
            ('system', subject.system), ('user', content)) if said]
        return {'model': model, 'input': messages, 'questions': [
            {'type': 'choice', 'instructions': one.instructions,
             'choices': [{'value': option} for option in one.options]} if one.options else
            {'type': 'predicate', 'instructions': one.instructions} for one in asked]}

    def headers(self, subject: Subject) -> dict[str, str]:
        """None; contract in ``Wire``."""
        return {}

    def answers(self, reply: Mapping[str, Any], asked: Sequence[TypedQuestion],
                ) -> list[Any] | None:
        """The list of answers; contract in ``Wire``."""
        found = reply.get('answers')
        return found if isinstance(found, list) and len(found) == len(asked) else None

    def read(self, answer: Any, asked: TypedQuestion) -> TypedAnswer:
        """Read one answer; contract in ``Wire``."""
        kind, exact = _kind(answer)
        if kind == 'refusal':
            return TypedAnswer(exact=exact)
        _expect(kind, 'choice' if asked.options else 'predicate')
        if not asked.options:
            return TypedAnswer((_share(answer.get('probability')),), exact)
        listed = answer.get('probabilities')
        shares = {one['value']: one.get('probability') for one in listed
                  if isinstance(one, Mapping) and isinstance(one.get('value'), str)
                  } if isinstance(listed, list) else {}
        return TypedAnswer(_distribution(shares, asked.options, self._decimals), exact)

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {'type': 'input_text', 'text': part}
        detail = {'detail': self._detail} if self._detail else {}
        return {'type': 'input_image', 'image_url': data_url(part, self._format), **detail}


class SystemOneWire:
    """The ``/v1/systemone`` of TypeSafe and of servers of open models."""

    path = 'systemone'
    most_questions = 64

    def __init__(self, image_format: str, decimals: int, pictures: str) -> None:
        """Send pictures in a format, in one of the ways of ``PICTURES``.

        ``decimals``: to which the service rounds probabilities; 0: it does not.
        """
        self._format, self._decimals, self._pictures = image_format, decimals, pictures

    def body(self, model: str, subject: Subject, asked: Sequence[TypedQuestion]) -> dict[str, Any]:
        """The state as a list, questions by name; contract in ``Wire``."""
        state: list[Any] = [subject.system] if subject.system else []
        images: list[str] = []
        assets: dict[str, Any] = {}
        for part in subject.parts:
            if isinstance(part, str):
                state.append(part)
            elif self._pictures == 'parts':
                state.append({'type': 'image_url',
                              'image_url': {'url': data_url(part, self._format)}})
            elif self._pictures == 'images':
                images.append(_base64(part, self._format))
            else:
                name = f'picture-{len(assets) + 1}'
                state.append(name)
                assets[name] = {'type': 'image', 'data_base64': _base64(part, self._format),
                                'format': 'jpg' if self._format == 'jpeg' else self._format}
        return {'model': model, 'state': state,
                **({'images': images} if images else {}), **({'assets': assets} if assets else {}),
                'questions': {_name(number): {
                    'type': 'choice', 'instructions': one.instructions,
                    'criteria': dict.fromkeys(one.options)} if one.options else
                    {'type': 'noul', 'instructions': one.instructions}
                    for number, one in enumerate(asked)}}

    def headers(self, subject: Subject) -> dict[str, str]:
        """The header without which TypeSafe refuses assets; contract in ``Wire``."""
        wanted = self._pictures == 'assets' and subject.pictures
        return {'TypeSafe-Danger-Zone-Images': 'true'} if wanted else {}

    def answers(self, reply: Mapping[str, Any], asked: Sequence[TypedQuestion],
                ) -> list[Any] | None:
        """The answers by the names of the questions; contract in ``Wire``."""
        found = reply.get('answers')
        names = [_name(number) for number in range(len(asked))]
        if not isinstance(found, Mapping) or not all(name in found for name in names):
            return None
        return [found[name] for name in names]

    def read(self, answer: Any, asked: TypedQuestion) -> TypedAnswer:
        """Read one answer; contract in ``Wire``."""
        kind, exact = _kind(answer)
        if kind == 'refusal':
            return TypedAnswer(exact=exact)
        _expect(kind, 'choice' if asked.options else 'noul')
        if not asked.options:
            return TypedAnswer((_share(answer.get('noul')),), exact)
        shares = answer.get('probabilities')
        told = shares if isinstance(shares, Mapping) else {}
        return TypedAnswer(_distribution(told, asked.options, self._decimals), exact)


def data_url(picture: Rgb, kind: str) -> str:
    """A picture as a data URL."""
    return f'data:{MEDIA[kind]};base64,{_base64(picture, kind)}'


def _base64(picture: Rgb, kind: str) -> str:
    return base64.b64encode(encode(picture, kind)).decode()


def _name(number: int) -> str:
    return f'q{number + 1}'


def _kind(answer: Any) -> tuple[str, Mapping[str, Any] | None]:
    """The type of an answer, and the exact reply in it."""
    if not isinstance(answer, Mapping):
        raise BackendError(f'an answer is a {type(answer).__name__}, not an object; ask again '
                           'later, or choose another service')
    exact = answer.get(EXACT)
    return str(answer.get('type', '')), exact if isinstance(exact, Mapping) else None


def _expect(kind: str, wanted: str) -> None:
    if kind != wanted:
        raise BackendError(f'the answer to a question of type {wanted!r} has the type {kind!r}; '
                           'set wire to the protocol of the service')


def _share(value: Any) -> float:
    """A probability.

    Raises:
        BackendError: it is none.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise BackendError(f'the service gave {value!r} as a probability; it lies in [0, 1], so that '
                       'the service or its model has failed: ask again later')


def _distribution(shares: Mapping[Any, Any], options: Sequence[str],
                  decimals: int) -> tuple[float, ...]:
    """Probabilities of all options, as they were given, rounded to some decimals (0: not at all).

    Raises:
        BackendError: one is missing or none, or they do not sum to 1 within their rounding.
    """
    if set(shares) != set(options):
        raise BackendError(f'the service gave probabilities of {sorted(map(str, shares))}, and '
                           f'the options are {sorted(options)}; ask again later')
    found = tuple(_share(shares[option]) for option in options)
    most_off = _UNROUNDED + (0.5 * 10.0 ** -decimals * len(found) if decimals else 0.0)
    if abs(math.fsum(found) - 1) > most_off:
        raise BackendError(f'the probabilities of the options sum to {math.fsum(found):.4g}, not '
                           'to 1, so that the service or its model has failed: ask again later')
    return found
