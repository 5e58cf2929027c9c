"""Backend ``decisions``: services that answer typed questions about a picture with probabilities.

All questions about one observation go into one request, and the service returns a probability for
each: a yes/no question is a predicate (one that offers "unknown" is a choice of yes, no and
unknown), ``Choose`` a choice, ``Check`` and ``Exists`` yes/no questions about pictures. Nothing is
written or parsed. ``wire`` names the protocol: OpenAI's ``/v1/decisions``, or ``/v1/systemone``,
that of TypeSafe and of servers of open models (``_decisions_wire``); ``sightplan`` is that of
``sightplan serve``, which answers every kind of query as its model does in process
(``_query_wire``).

A question that the service refuses is an error of that question, never an answer. Probabilities
are kept as the service tells them, but for 0 and 1 of a service that rounds (``decimals``): they
stand for all that is rounded to them, and become half a step. Retries, caps, prices, deadlines and
secrets are those of the backend ``openai``.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightplan.model import (
    BackendError,
    DeadlineError,
    InputError,
    RefusedError,
    SightplanError,
    SpendingCapError,
    param,
)
from sightplan.model.query import (
    Deadline,
    ModelByKind,
    Part,
    Query,
    R,
    Reply,
    Rgb,
    Traits,
    answers,
    check_accepts,
)
from sightplan.queries import Answer, Check, ChoiceReply, Choose, Exists, YesNo
from sightplan.vlm.images import MEDIA
from sightplan.vlm.wrapping import Prompted
from sightplan_models import _openai_server
from sightplan_models._decisions_wire import (
    PICTURES,
    OpenAIWire,
    Subject,
    SystemOneWire,
    TypedAnswer,
    TypedQuestion,
    Wire,
)
from sightplan_models._openai_pictures import QUESTION, ChecksPictures, Said
from sightplan_models._openai_server import Exchange, Failure, Size
from sightplan_models._query_wire import to_wire
from sightplan_models._server_client import ServerClient, ServerSettings

_RAW = 'X-Stainless-Raw-Response'
"""Header by which the ``openai`` library is told to return a reply as it came; it is not sent."""
_UNKNOWN = ('yes', 'no', 'unknown')
_WHICH = 'Which of the options is right?'
_COLOURS = ('red', 'green', 'blue')
_CHECK_S = 120.0
"""Limit of each request that tests whether pictures reach the model [s]."""
_ERRORS: Mapping[str, type[SightplanError]] = {
    'input_error': InputError, 'backend_error': BackendError, 'refused': RefusedError,
    'deadline': DeadlineError}
"""Errors of the model behind ``sightplan serve``, by the codes that it gives them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(ServerSettings):
    """Settings of the backend ``decisions``."""

    backend = 'decisions'

    model: str = param('', "The model, by the service's name for it (needed, but by a server of "
                       'one model such as "sightplan serve")')
    wire: str = param('openai', 'Protocol: openai (/decisions), systemone (/systemone), sightplan '
                      '(/queries of "sightplan serve": all kinds of queries, exact replies)',
                      choices=('openai', 'systemone', 'sightplan'))
    path: str = param('', 'Path of the requests below base_url; empty: that of the protocol')
    questions_per_request: int = param(0, 'Most questions of one request; more are split; 0: what '
                                       'the protocol allows (openai 400, systemone 64)', low=0)
    decimals: int = param(2, 'Decimals to which the service rounds probabilities: its 0 and 1 are '
                          'taken as half a step (.005 and .995 at 2); 0: it does not round',
                          low=0, high=12)
    pictures: str = param('parts', 'How systemone is sent pictures: parts (in the state: '
                          'OpenRouter, Perplexity), images (beside it: SGLang, Cloudflare), '
                          'assets (by name: TypeSafe)', choices=PICTURES)
    image_format: str = param('png', 'How images are sent; jpeg is smaller but not exact',
                              choices=tuple(MEDIA))
    detail: str = param('', 'Detail of images (low, high, auto, original), for openai; empty: not '
                        'sent', choices=('', 'low', 'high', 'auto', 'original'))
    concurrency: int = param(8, 'Most requests at a time', low=1, high=1024, identity=False)


class Backend(Prompted):
    """Asks a service; may be used by several threads at once.

    Args:
        settings: see Settings.

    Raises:
        InputError: a setting is missing or wrong, or there is no key.
        BackendError: the ``openai`` library is missing.
    """

    accepts = frozenset({YesNo, Choose, Check, Exists})
    traits = Traits(texts=True, capped=True)

    def __init__(self, settings: Settings) -> None:
        self.service: Decisions | Queries = (
            Queries(settings) if settings.wire == 'sightplan' else Decisions(settings))
        super().__init__(self.service)
        if self.answers_all(settings):
            self.accepts = frozenset({Query})

    @staticmethod
    def answers_all(settings: Settings) -> bool:
        """Whether the server takes every kind; contract in ``vlm.api.AnswersAllWithSettings``."""
        return settings.wire == 'sightplan'

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Ask the service; contract in ``Model``."""
        for query in queries:
            check_accepts(self, type(query))
        return super().ask(queries, deadline)


class _Service(ServerClient[Settings]):
    """A server, the requests to it, and what they cost."""

    def __init__(self, settings: Settings) -> None:
        s = settings
        if s.wire != 'sightplan' and not s.model:
            raise InputError('backend decisions: model is missing; name it with --backend-option '
                             'model=..., for a graph backend_options:=model=...')
        if s.wire != 'openai' and not s.base_url:
            raise InputError(f'backend decisions: base_url is missing; wire={s.wire} has no '
                             'address of its own: set base_url, such as http://localhost:8000/v1')
        super().__init__(s, s.model, s.concurrency)
        self._accepted = False

    async def _post(self, path: str, body: Mapping[str, Any], exchange: Exchange,
                    deadline: float | None) -> dict[str, Any]:
        """Send a request, and return the reply.

        Raises:
            RefusedError: the service refuses it for good: it would refuse the like again, or has
                accepted none yet.
            SightplanError: there is none.
        """
        found = await self._server.complete(lambda: body, deadline, exchange)
        if not isinstance(found, Failure):
            self._accepted = True
            return found
        error = _ERRORS.get(found.code)
        if error is not None:
            raise error(f'{self.name}: {found.message}')
        about_one = self._accepted and found.status in _openai_server.ABOUT_ONE
        raise (BackendError if about_one else RefusedError)(
            f'{self.name}: {found.kind.value} ({found.message}); {self._remedy(found, path)}')

    def _remedy(self, failure: Failure, path: str) -> str:
        s = self._settings
        if failure.status in (401, 403):
            return (f'put a valid key into {_openai_server.variable(s.api_key_env)}'
                    if s.api_key_env else 'name the environment variable of the key: api_key_env')
        if failure.status in (404, 405, 501):
            return (f'check model and base_url, and whether the service has /{path} (wire, path); '
                    'a server that only chats is asked by the backend openai')
        if failure.status == 413:
            return 'send less at once: lower questions_per_request, or choose image_format=jpeg'
        if failure.status == 429:
            return 'the account has no quota left; pay, or use another one'
        return 'change the settings of the backend (wire, pictures, questions_per_request)'


class Decisions(_Service, ChecksPictures, ModelByKind):
    """A service that answers yes/no questions and choices, many in one request."""

    def __init__(self, settings: Settings) -> None:
        """Make the client; no request is sent yet.

        Raises:
            InputError: a setting is missing or wrong, or there is no key.
            BackendError: the ``openai`` library is missing.
        """
        _Service.__init__(self, settings)
        ChecksPictures.__init__(self)
        self._wire: Wire = (OpenAIWire(settings.image_format, settings.decimals, settings.detail)
                            if settings.wire == 'openai' else
                            SystemOneWire(settings.image_format, settings.decimals,
                                          settings.pictures))

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Answer all questions about one observation, in as few requests as possible."""
        prompt, seen = queries[0].prompt, queries[0].observation
        if prompt.reasoning:
            raise InputError(f'{self.name}: prompt {prompt.name} asks for reasons, and a decision '
                             'service gives none; choose a prompt whose answer is one word')
        shown: Part = (seen.text or '') if seen.image is None else seen.image
        if isinstance(shown, str) and not shown.strip():
            raise BackendError(f'{self.name}: the observation holds neither an image nor a text; '
                               'there is nothing to answer questions about')
        parts = tuple(part for part in (prompt.before_image, shown, prompt.after_image)
                      if not isinstance(part, str) or part)
        asked = [TypedQuestion(prompt.ask(query.question.text), _UNKNOWN if prompt.unknown else ())
                 for query in queries]
        return self._ask_typed(Subject(prompt.system, parts), asked, deadline, self._yes_no)

    @answers(Choose)
    def choose(self, query: Choose, deadline: Deadline) -> ChoiceReply:
        """Choose one of several options; the last text of the query is the question."""
        *parts, last = query.parts
        asks = isinstance(last, str) and bool(parts)
        subject = Subject(query.system, tuple(parts if asks else query.parts))
        asked = TypedQuestion(last if asks and isinstance(last, str) else _WHICH, query.options)
        [reply] = self._ask_typed(subject, [asked], deadline, self._choice)
        return reply

    def _ask_typed(self, subject: Subject, asked: Sequence[TypedQuestion], deadline: Deadline,
                   read: Callable[[TypedAnswer, TypedQuestion], R]) -> list[R]:
        """Ask, and read the answers.

        Raises:
            SightplanError: a question was refused, or could not be answered; ``partial`` has the
                replies to the others.
        """
        if subject.pictures:
            self._before_pictures()
        found: list[R | None] = [None] * len(asked)
        failures: list[SightplanError] = []
        try:
            self._loop.call_within(functools.partial(
                self._ask_all, subject, asked, found, failures, read, deadline.keep_going),
                deadline, self.name, f'{len(asked)} questions')
            if failures:
                raise next((error for error in failures if isinstance(error, SpendingCapError)),
                           failures[0])
        except SightplanError as error:
            error.partial = list(found)
            raise
        self._warn_if_unchecked()
        return [reply for reply in found if reply is not None]

    async def _ask_all(self, subject: Subject, asked: Sequence[TypedQuestion],
                       found: list[R | None], failures: list[SightplanError],
                       read: Callable[[TypedAnswer, TypedQuestion], R],
                       partial: bool, deadline: float | None) -> None:
        """Send the questions in requests of bounded size, the first one alone.

        Then the service has the picture in its cache when the others come.
        """
        most = self._settings.questions_per_request or self._wire.most_questions
        starts = range(0, len(asked), most)

        async def ask(start: int) -> None:
            chunk = asked[start:start + most]
            try:
                reply = await self._request(subject, chunk, deadline)
            except SightplanError as error:
                failures.append(error)
                return
            for number, answer in enumerate(self._wire.answers(reply, chunk) or ()):
                try:
                    found[start + number] = read(self._wire.read(answer, chunk[number]),
                                                 chunk[number])
                except BackendError as error:
                    failures.append(BackendError(f'{self.name}: {chunk[number].instructions!r}: '
                                                 f'{error}'))

        await ask(0)
        if not failures or (partial and any(reply is not None for reply in found)):
            await asyncio.gather(*(ask(start) for start in starts[1:]))

    async def _request(self, subject: Subject, asked: Sequence[TypedQuestion],
                       deadline: float | None) -> dict[str, Any]:
        wire, path = self._wire, self._settings.path or self._wire.path
        headers = wire.headers(subject)
        texts = [subject.system, *(part for part in subject.parts if isinstance(part, str)),
                 *(text for one in asked for text in (one.instructions, *one.options))]
        size = Size(sum(len(text.encode('utf-8', 'replace')) for text in texts),
                    len(subject.pictures))
        exchange = Exchange(
            functools.partial(_send, path, headers), lambda body: size,
            lambda reply: '' if wire.answers(reply, asked) is not None
            else 'answers to all questions')
        return await self._post(path, wire.body(self._settings.model, subject, asked), exchange,
                                deadline)

    def _yes_no(self, given: TypedAnswer, asked: TypedQuestion) -> Answer:
        if given.exact is not None:
            return _exact(Answer, given)
        if not given.probabilities:
            raise BackendError('the service refuses to answer this question; ask it otherwise, or '
                               'choose another model')
        if asked.options:
            yes, no, unknown = shares = self._unrounded(given.probabilities)
            word = asked.options[max(range(3), key=shares.__getitem__)]
            return Answer(word.capitalize(), yes, no, unknown)
        [yes] = given.probabilities
        yes = min(max(yes, self._half_step), 1.0 - self._half_step)
        no = 1.0 - yes
        return Answer('Yes' if yes >= no else 'No', yes, no)

    def _choice(self, given: TypedAnswer, asked: TypedQuestion) -> ChoiceReply:
        if given.exact is not None:
            return _exact(ChoiceReply, given)
        if not given.probabilities:
            raise BackendError('the service refuses to choose; ask otherwise, or choose another '
                               'model')
        shares = self._unrounded(given.probabilities)
        chosen = max(range(len(shares)), key=shares.__getitem__)
        return ChoiceReply(shares, chosen, asked.options[chosen])

    @property
    def _half_step(self) -> float:
        """Probability that 0 stands for, as the service rounds."""
        return 0.5 * 10.0 ** -self._settings.decimals if self._settings.decimals else 0.0

    def _unrounded(self, shares: Sequence[float]) -> tuple[float, ...]:
        """Probabilities of options that sum to 1; none is 0 where the service rounds."""
        raised = [max(share, self._half_step) for share in shares]
        return tuple(share / sum(raised) for share in raised)

    def _colour_of(self, picture: Rgb | None) -> Said:
        """Ask the model for the colour of a uniform picture, or without a picture."""
        asked = [TypedQuestion(QUESTION, _COLOURS)]
        pictures = () if picture is None else (picture,)
        subject = Subject('', ('A picture follows, or none.', *pictures))
        try:
            reply = self._loop.call_within(
                functools.partial(self._request, subject, asked), Deadline(_CHECK_S), self.name,
                'a check of pictures')
            given = self._wire.read((self._wire.answers(reply, asked) or [None])[0], asked[0])
        except (BackendError, DeadlineError, InputError) as error:
            return Said(None, failure=str(error), refused=isinstance(error, RefusedError))
        tokens = _openai_server.count(reply.get('usage'), 'input_tokens')
        shares = given.probabilities
        return Said(tokens, _COLOURS[max(range(3), key=shares.__getitem__)] if shares else '')


class Queries(_Service):
    """The model of ``sightplan serve``: answers every kind of query as it does in process."""

    accepts = frozenset({Query})

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Reply to queries, in their order; contract in ``Model``."""
        if not queries:
            return []
        return self._loop.call_within(functools.partial(self._ask, queries, deadline), deadline,
                                      self.name, f'{len(queries)} queries')

    async def _ask(self, queries: Sequence[Query[Any]], limit: Deadline,
                   deadline: float | None) -> list[Reply]:
        s, path = self._settings, self._settings.path or 'queries'
        body = {'model': s.model, **to_wire(queries)}
        size = Size(sum(map(len, body['arrays'].values())) // 100, 0)
        left_s = limit.left_s
        headers = {} if left_s is None else {'Sightplan-Timeout': f'{max(left_s, 0.001):.3f}'}
        exchange = Exchange(functools.partial(_send, path, headers), lambda _: size,
                            lambda reply: '' if _all_there(reply, len(queries)) else 'replies')
        reply = await self._post(path, body, exchange, deadline)
        return [query.reply_type.from_json(one)
                for query, one in zip(queries, reply['replies'], strict=True)]


def _all_there(reply: Mapping[str, Any], number: int) -> bool:
    replies = reply.get('replies')
    return (isinstance(replies, list) and len(replies) == number
            and all(isinstance(one, Mapping) for one in replies))


async def _send(path: str, headers: Mapping[str, str], client: Any,
                body: Mapping[str, Any]) -> Any:
    """Send a request to a path of the server with the client of the ``openai`` library."""
    return await client.post(f'/{path}', cast_to=object, body=body,
                             options={'headers': {**headers, _RAW: 'raw'}})


def _exact(kind: type[R], given: TypedAnswer) -> R:
    """The reply as the model behind ``sightplan serve`` gave it.

    Raises:
        BackendError: it is no such reply.
    """
    try:
        return kind.from_json(given.exact or {})
    except InputError as error:
        raise BackendError(f'the exact reply cannot be read ({error}); give server and client the '
                           'same version of sightplan') from error
