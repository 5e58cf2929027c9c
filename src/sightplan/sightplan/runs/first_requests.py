"""The first requests of a run, as they would be sent: what ``sightplan prompts`` prints.

The run itself is begun, with its world, its method and its suite, and a model that notes what it
is asked and then breaks the run off. So there is no second place that puts a prompt together. What
is noted are the requests that a server of OpenAI's protocol is sent (backend ``openai``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import SymbolicWorld, load_domain
from sightplan.model import (
    GOAL_NS,
    CancelledError,
    InputError,
    Observation,
    Problem,
    State,
    World,
)
from sightplan.model.query import Deadline, ModelByKind, Part, Query, Reply, Traits, answers
from sightplan.planning.visual import written_proposal
from sightplan.queries import Answer, ChoiceReply, Choose, Generate, Propose, TextReply, YesNo
from sightplan.queries.chat import ChatStyle
from sightplan.queries.choose import LETTER_TOKENS, lettered, read_letter
from sightplan.queries.coordinates import resized_size
from sightplan.queries.generate import joined_texts
from sightplan.queries.pointing import Pointing
from sightplan.runs.run import run
from sightplan.runs.settings import RunSettings
from sightplan.runs.suite_finding import sample_suite
from sightplan.runs.worlds import shown_with, world_maker
from sightplan.vlm.api import backend_settings
from sightplan.vlm.wrapping import Prompted, Wrapper


@dataclass(frozen=True, eq=False)
class SentRequest:
    """A request to a model.

    Attributes:
        system: text of the system role, '' for none.
        parts: texts and pictures of the user's message; no two texts follow one another.
        max_tokens: most tokens of the reply.
        about: parts that it shares with other questions about the same picture, () for none.
        question: text that follows them.
    """

    system: str
    parts: tuple[Part, ...]
    max_tokens: int
    about: tuple[Part, ...] = ()
    question: str = ''


def first_requests(settings: RunSettings, batches: int, replies: Sequence[str] = (),
                   ) -> list[SentRequest]:
    """Begin a run, and return what its model is sent first.

    Args:
        settings: of the run, with what its protocol sets; its first item is begun. The backend is
            one of OpenAI's protocol, whose options decide how it is asked to point.
        batches: how often the model is asked; questions about one picture are one batch.
        replies: what the model replies, in turn, the last one for all that follow. Without any it
            proposes the first action of the problem, and replies nothing else.

    Raises:
        InputError: the settings are wrong, or the method asks no model.
    """
    options = backend_settings(settings.backend, settings.backend_options)
    listener = _Listener(replies, options.answer_tokens)
    model = _Limited(Prompted(listener, _style(options)), batches)
    samples = sample_suite(settings.suite, settings.split) is not None
    with tempfile.TemporaryDirectory(prefix='sightplan-prompts-') as out:
        run(replace(settings, out=out, episodes=1, failure_images=False), backend=model,
            cancelled=lambda: model.done, world=None if samples else _placeholder(settings))
    if not listener.requests:
        raise InputError(f'method {settings.method!r} sends a model no text for these problems '
                         '(choose one that asks a model)')
    return listener.requests


def _style(options: Any) -> ChatStyle:
    """The style in which a backend with such settings is asked to point."""
    return ChatStyle(
        Pointing.declared(options.pointing, options.coordinates, options.axis_ticks),
        lambda picture: resized_size((picture.shape[1], picture.shape[0]),
                                     options.resize_multiple, options.min_pixels,
                                     options.max_pixels))


class _Limited(Wrapper):
    """A model that is asked a number of times, and then breaks off what asks it."""

    def __init__(self, inner: Prompted, batches: int) -> None:
        super().__init__(inner)
        self._left = batches

    @property
    def done(self) -> bool:
        """Whether it was asked so often."""
        return self._left <= 0

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Ask the inner model; contract in ``Model``.

        Raises:
            CancelledError: it was asked often enough.
        """
        replies = [] if self.done else super().ask(queries, deadline)
        self._left -= 1
        if self.done:
            raise CancelledError('all requests that were wanted are noted')
        return replies


class _Listener(ModelByKind):
    """A model that notes requests, and replies as it is told."""

    name = 'listener'
    traits = Traits(texts=True)

    def __init__(self, replies: Sequence[str], answer_tokens: int) -> None:
        self.requests: list[SentRequest] = []
        self._replies, self._answer_tokens = tuple(replies), answer_tokens

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Note questions about one picture, each in the words around it."""
        found = []
        for query in queries:
            chat = cast(Generate, query.as_chat(ChatStyle()).query)
            limit = chat.max_tokens
            if not query.prompt.reasoning and self._answer_tokens:
                limit = min(limit, self._answer_tokens)
            found.append(Answer(self._note(replace(chat, max_tokens=limit), question=True)))
        return found

    @answers(Choose)
    def choose(self, query: Choose, deadline: Deadline) -> ChoiceReply:
        """Note a choice, which is made by a letter."""
        return read_letter(self._note(Generate(query.system, lettered(query), LETTER_TOKENS)),
                           None, query)

    @answers(Generate)
    def generate(self, query: Generate, deadline: Deadline) -> TextReply:
        """Note a prompt; one for a plan or an action is replied with an action."""
        reply = self._note(query)
        if not self._replies and isinstance(query, Propose):
            return TextReply(_some_action(query))
        return TextReply(reply)

    def _note(self, query: Generate, question: bool = False) -> str:
        number = len(self.requests)
        *about, last = query.parts
        self.requests.append(SentRequest(
            query.system, joined_texts(query.parts), query.max_tokens,
            tuple(about) if question else (), str(last) if question else ''))
        return self._replies[min(number, len(self._replies) - 1)] if self._replies else ''


def _some_action(query: Propose) -> str:
    """The first action of a problem in the form of a reply, or the word that begins an episode."""
    problem = query.task.problem
    domain = load_domain(problem.domain, domain_pddl=problem.domain_pddl or None)
    opening = query.task.form.opening
    if opening:
        return f'action: {opening}'
    action = next(iter(domain.model(problem).actions))
    return written_proposal(domain, action, query.single)


def _placeholder(settings: RunSettings) -> World | None:
    """A world that shows black pictures, where a domain has none that shows anything; else None.

    Raises:
        InputError: there is no such domain.
    """
    domain = load_domain(settings.domain)
    try:
        make, _ = world_maker(domain)
    except InputError:
        return _Dark()
    shown = shown_with(settings.domain, settings.world_options)
    draws_none = shown is not None and shown.no_pictures and not shown.describes
    return _Dark() if make is SymbolicWorld or draws_none else None


class _Dark(SymbolicWorld):
    """A world whose pictures are black, and count as pictures of something."""

    def picture(self, problem: Problem, state: State) -> NDArray[np.uint8]:
        """Return a black picture."""
        return np.zeros((48, 64, 3), np.uint8)

    def goal_observation(self) -> Observation:
        """Return a black picture in place of one of the goal."""
        return Observation(np.zeros((48, 64, 3), np.uint8), GOAL_NS, self.frame_id)


def in_lines(requests: Sequence[SentRequest]) -> list[str]:
    """Return requests as lines of text; lines that begin with "#### " are not part of them.

    A picture stands as a line such as ``#### [picture, 640 x 480]``. Questions about one picture
    in the same words are listed below one another, after what stands before each of them.
    """
    lines: list[str] = []
    before: SentRequest | None = None
    for number, one in enumerate(requests, start=1):
        if before is not None and _alike(before, one):
            lines += [f'#### request {number}: the same, with this at its end', one.question]
        else:
            lines += [f'#### request {number}, at most {one.max_tokens} tokens of reply']
            if before is not None and before.system == one.system:
                lines += ['#### system, as before'] if one.system else []
            else:
                lines += ['#### system', one.system] if one.system else []
            lines += ['#### user', *map(_in_words, one.parts)]
        before = one
    return lines


def _alike(first: SentRequest, second: SentRequest) -> bool:
    """Whether two requests are questions about one picture in the same words."""
    return bool(first.about) and first.system == second.system and len(first.about) == len(
        second.about) and all(
            a == b if isinstance(a, str) and isinstance(b, str) else a is b
            for a, b in zip(first.about, second.about, strict=True))


def _in_words(part: Part) -> str:
    if isinstance(part, str):
        return part
    return f'#### [picture, {part.shape[1]} x {part.shape[0]}]'


def as_json(request: SentRequest) -> Mapping[str, Any]:
    """Return a request as plain JSON data; a picture by its width and height [px]."""
    return {'system': request.system, 'max_tokens': request.max_tokens, 'user': [
        part if isinstance(part, str) else {'picture': [part.shape[1], part.shape[0]]}
        for part in request.parts]}
