"""The application behind ``sightplan serve``: ``/v1/decisions`` and ``/v1/queries`` over HTTP.

``/v1/decisions`` is OpenAI's: questions of type predicate, choice (of up to 16 options) and score
about an input of texts and pictures (data URLs; nothing is fetched). The texts go to the model as
they are: a system message says how to answer. Each answer has the model's own reply in the field
``_decisions_wire.EXACT``, too. ``/v1/queries`` takes queries of any kind (``_query_wire``).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import functools
import hmac
import io
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from sightplan.model import (
    Atom,
    BackendError,
    DeadlineError,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    RefusedError,
    SightplanError,
    Usage,
    excerpt,
)
from sightplan.model.json_text import load_json
from sightplan.model.query import Part, Query, Reply, Rgb, check_accepts
from sightplan.model.redaction import without_secrets
from sightplan.queries import Answer, ChoiceReply, Choose, YesNo
from sightplan.queries.choose import MOST_OPTIONS
from sightplan_models._decisions_wire import EXACT
from sightplan_models._loopback import is_loopback, without_port
from sightplan_models._query_wire import from_wire
from sightplan_models._serve_queue import (
    ClosedError,
    FullError,
    QueuedRequest,
    RequestQueue,
    prometheus,
)

T = TypeVar('T')
_MOST_QUESTIONS = 400
_LOOK_S = 0.25
"""Period of looking whether a client has gone away [s]."""
_WORDS = ('yes', 'no', 'unknown')
_MOST_PIXELS = 100_000_000
"""Most pixels of all pictures of a request: a small file may hold a huge picture."""
_FORMATS = ('PNG', 'JPEG', 'WEBP', 'GIF')
"""Formats of pictures. Pillow reads more, some of them with the help of other programs."""
_NOT_AGAIN = {'X-Should-Retry': 'false'}
"""Header by which clients of OpenAI are told not to send a request again."""
_CODES: tuple[tuple[type[SightplanError], int, str], ...] = (
    (InputError, 422, 'input_error'), (DeadlineError, 504, 'deadline'),
    (RefusedError, 422, 'refused'), (BackendError, 422, 'backend_error'))
"""HTTP status and code of the model's errors; none of them is to be tried again by itself."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server.

    Attributes:
        timeout_s: most time of a request [s].
        body_mb: largest request [MB].
        token: what requests must bring as ``Authorization: Bearer``; '' for nothing.
        local: whether the server listens to this machine alone.
    """

    timeout_s: float = 300.0
    body_mb: float = 64.0
    token: str = ''
    local: bool = True


class _Refused(Exception):
    """A request that is refused: HTTP status, message, code and further headers."""

    def __init__(self, status: int, message: str, code: str = 'invalid_request',
                 headers: Mapping[str, str] | None = None, param: str = '') -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param
        self.headers = dict(headers or {})

    def response(self) -> JSONResponse:
        return JSONResponse({'error': {
            'message': without_secrets(str(self)), 'type': self.code, 'code': self.code,
            'param': self.param or None}}, self.status, self.headers)


def make_app(queue: RequestQueue, names: Sequence[str], limits: Limits) -> FastAPI:
    """The application.

    Args:
        queue: the queue before the model.
        names: names by which requests may call the model, its exact one first.
        limits: see there.
    """
    app = FastAPI(title='sightplan serve', docs_url=None, redoc_url=None, openapi_url=None)
    reader = ThreadPoolExecutor(1, 'serve-reader')

    async def read(request: Request, make: Callable[[dict[str, Any]], T]) -> T:
        """Make something of a request's JSON, in the one thread that reads and decodes.

        So the event loop answers others meanwhile, and one request's pictures are decoded at
        a time.
        """
        data = await _body(request, limits)
        return await asyncio.get_running_loop().run_in_executor(
            reader, lambda: _refusing(lambda: make(_parsed(data, names))))

    @app.exception_handler(_Refused)
    async def refuse(request: Request, error: _Refused) -> Response:
        return error.response()

    @app.get('/health')
    async def health() -> dict[str, Any]:
        return {'status': 'ok', 'waiting': queue.waiting, 'under_way': queue.under_way}

    @app.get('/v1/models')
    async def models(request: Request) -> dict[str, Any]:
        _admit(request, limits)
        return {'object': 'list', 'data': [
            {'id': name, 'object': 'model', 'owned_by': 'sightplan'} for name in names]}

    @app.get('/metrics')
    async def metrics(request: Request) -> PlainTextResponse:
        _admit(request, limits)
        return PlainTextResponse(prometheus(queue), media_type='text/plain; version=0.0.4')

    @app.post('/v1/decisions')
    async def decisions(request: Request) -> dict[str, Any]:
        questions, queries = await read(request, lambda body: (
            asked := _questions(body), _typed(body, asked)))
        replies, usage = await _answered(request, queue, queries, limits)
        return {'model': names[0], 'usage': _usage(usage), 'answers': [
            _answer(question, reply) for question, reply in zip(questions, replies, strict=True)]}

    @app.post('/v1/queries')
    async def queries(request: Request) -> dict[str, Any]:
        asked = await read(request, from_wire)
        replies, usage = await _answered(request, queue, asked, limits)
        return {'model': names[0], 'usage': _usage(usage),
                'replies': [reply.to_json() for reply in replies]}

    return app


def _admit(request: Request, limits: Limits) -> None:
    """Refuse who has not the token, or comes by a strange name to a server that needs none."""
    if limits.token:
        given = request.headers.get('authorization', '')
        if not hmac.compare_digest(given.encode(), f'Bearer {limits.token}'.encode()):
            raise _Refused(401, 'this server needs its token; send it as a bearer token (backend '
                           'decisions: api_key_env)', 'invalid_api_key',
                           {'WWW-Authenticate': 'Bearer'})
    elif limits.local and not is_loopback(without_port(request.headers.get('host', ''))):
        raise _Refused(403, 'this server listens to its own machine without a token; call it '
                       'localhost, or start it with a token', 'forbidden')


async def _body(request: Request, limits: Limits) -> bytes:
    """The content of a request that is admitted and not too large."""
    _admit(request, limits)
    if request.headers.get('content-type', '').partition(';')[0].strip() != 'application/json':
        raise _Refused(415, 'send JSON (content-type: application/json)')
    most, data = int(limits.body_mb * 1e6), bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > most:
            raise _Refused(413, f'the request is larger than {limits.body_mb:g} MB; send fewer or '
                           'smaller pictures, or start the server with a larger --body-mb')
    return bytes(data)


def _parsed(data: bytes, names: Sequence[str]) -> dict[str, Any]:
    """The JSON object of a request, to a model that is there."""
    try:
        body = load_json(data)
    except (ValueError, RecursionError) as error:
        raise _Refused(400, f'the request is not JSON ({error})') from error
    if not isinstance(body, dict):
        raise _Refused(400, 'the request is not a JSON object')
    if body.get('model') not in (None, '', *names):
        raise _Refused(404, f'model {excerpt(body["model"])!r} is not here; this server has '
                       f'{" alias ".join(names)}', 'model_not_found', param='model')
    return body


def _refusing(make: Callable[[], T]) -> T:
    """Return the result of a function; its InputError becomes a refusal."""
    try:
        return make()
    except InputError as error:
        raise _Refused(400, str(error), 'input_error') from error


async def _answered(request: Request, queue: RequestQueue, queries: Sequence[Query[Any]],
                    limits: Limits) -> tuple[list[Reply], Usage]:
    """The model's replies, unless the client goes away, or it takes too long."""
    for kind in {type(query) for query in queries}:
        _refusing(functools.partial(check_accepts, queue.model, kind))
    timeout_s = min(limits.timeout_s, _timeout_s(request))
    try:
        queued = queue.submit(queries, timeout_s)
    except FullError as full:
        raise _Refused(429, f'{queue.waiting} requests wait already; come back later',
                       'queue_full', {'Retry-After': f'{full.wait_s:.0f}'}) from full
    except ClosedError as error:
        raise _Refused(503, 'the server ends', 'closing', {'Retry-After': '5'}) from error
    try:
        return await _wait(request, queued, timeout_s)
    except SightplanError as error:
        for known, status, code in _CODES:
            if isinstance(error, known):
                raise _Refused(status, str(error), code, _NOT_AGAIN) from error
        raise _Refused(500, str(error), 'server_error') from error
    finally:
        if not queued.done.done():
            queue.drop(queued)


async def _wait(request: Request, queued: QueuedRequest,
                timeout_s: float) -> tuple[list[Reply], Usage]:
    future = asyncio.wrap_future(queued.done)
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    try:
        while not future.done():
            left_s = end - loop.time()
            if left_s <= 0:
                raise DeadlineError(f'no answer within {timeout_s:g} s; ask less at once, or '
                                    'raise the time limit')
            await asyncio.wait({future}, timeout=min(_LOOK_S, left_s))
            if not future.done() and await request.is_disconnected():
                raise _Refused(499, 'the client went away', 'gone')
        return future.result()
    finally:
        if not future.done():
            future.cancel()


def _timeout_s(request: Request) -> float:
    """The time limit that a request brings [s]."""
    text = request.headers.get('sightplan-timeout', '')
    try:
        found = float(text) if text else float('inf')
    except ValueError:
        found = float('nan')
    if not found > 0:
        raise _Refused(400, f'Sightplan-Timeout: {text!r} is no time in seconds above 0',
                       param='Sightplan-Timeout')
    return found


def _questions(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = body.get('questions')
    if not isinstance(found, list) or not 1 <= len(found) <= _MOST_QUESTIONS or not all(
            isinstance(one, Mapping) for one in found):
        raise _Refused(400, f'questions: must be a list of 1 to {_MOST_QUESTIONS} questions; '
                       'split more into several requests', param='questions')
    return found


def _typed(body: Mapping[str, Any], questions: Sequence[Mapping[str, Any]]) -> list[Query[Any]]:
    """Typed questions about an input as queries."""
    system, parts = _input(body.get('input'))
    places = [place for place, part in enumerate(parts) if not isinstance(part, str)]
    first = places[0] if places else len(parts)
    before, after = ('\n'.join(part for part in some if isinstance(part, str))
                     for some in (parts[:first], parts[first + 1:]))
    if first < len(parts):
        seen = Observation(np.asarray(parts[first]))
    else:
        seen, before, after = Observation(text=before), '', ''
    prompts = {unknown: GroundingPrompt('decisions', system, before, after, unknown=unknown)
               for unknown in (False, True)}
    queries: list[Query[Any]] = []
    for number, question in enumerate(questions):
        where = f'questions.{number}'
        text = _text_of(question.get('instructions'), f'{where}.instructions')
        options = _options(question, where)
        if not options or _offers_unknown(question, options):
            if len(places) > 1:
                raise InputError(f'{where}: a predicate is about one picture; the input has '
                                 f'{len(places)}')
            queries.append(YesNo(seen, Question(Atom('asked', (str(number),)), text),
                                 prompts[bool(options)]))
        else:
            queries.append(Choose((*parts, _described(text, question)), options, system=system))
    return queries


def _offers_unknown(question: Mapping[str, Any], options: Sequence[str]) -> bool:
    """Whether a choice is a yes/no question that offers "unknown"."""
    return question['type'] == 'choice' and sorted(map(str.lower, options)) == sorted(_WORDS)


def _input(given: Any) -> tuple[str, list[Part]]:
    """The system text of an input, and its other parts in their order."""
    if isinstance(given, str):
        return '', [given]
    if not isinstance(given, list) or not given:
        raise InputError('input: must be a text, or a list of messages')
    systems: list[str] = []
    parts: list[Part] = []
    pixels_left = _MOST_PIXELS
    for number, message in enumerate(given):
        where = f'input.{number}'
        role = message.get('role') if isinstance(message, Mapping) else None
        if role not in ('system', 'developer', 'user'):
            raise InputError(f'{where}: only messages of the roles system, developer and user '
                             f'are taken, not {role or message!r}')
        content = message.get('content')
        pieces: list[Part] = [content] if isinstance(content, str) else []
        for place, part in enumerate(content if isinstance(content, list) else ()):
            piece = _part(part, f'{where}.content.{place}', pixels_left)
            pixels_left -= 0 if isinstance(piece, str) else piece.shape[0] * piece.shape[1]
            pieces.append(piece)
        if not pieces:
            raise InputError(f'{where}.content: must be a text, or a list of parts')
        if role == 'user':
            parts += pieces
        else:
            systems += [_text_of(piece, where) for piece in pieces]
    if not parts:
        raise InputError('input: there is no message of the role user')
    return '\n'.join(systems), parts


def _part(part: Any, where: str, most_pixels: int) -> Part:
    kind = part.get('type') if isinstance(part, Mapping) else None
    if kind == 'input_text':
        return _text_of(part.get('text'), where)
    if kind == 'input_json':
        return json.dumps(part.get('data'), ensure_ascii=False)
    if kind == 'input_image':
        return _picture(part.get('image_url'), where, most_pixels)
    raise InputError(f'{where}: parts are input_text, input_image and input_json, not {kind!r}')


def _picture(url: Any, where: str, most_pixels: int) -> Rgb:
    from PIL import Image, UnidentifiedImageError

    if not isinstance(url, str) or not url.startswith('data:image/') or ';base64,' not in url:
        raise InputError(f'{where}: image_url must be a data URL (data:image/png;base64,...); '
                         'this server fetches nothing')
    try:
        data = base64.b64decode(url.partition(';base64,')[2], validate=True)
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > most_pixels:
                raise InputError(f'{where}: the pictures of the request have more than '
                                 f'{_MOST_PIXELS} pixels together; send smaller ones')
            return np.asarray(image.convert('RGB'), np.uint8)
    except (binascii.Error, UnidentifiedImageError, OSError, ValueError, SyntaxError,
            Image.DecompressionBombError) as error:
        raise InputError(f'{where}: the picture cannot be read ({error}); send PNG or '
                         'JPEG') from error


def _text_of(value: Any, where: str) -> str:
    """A text: a string, or a list of parts that are texts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [_part(part, where, _MOST_PIXELS) for part in value]
        if parts and all(isinstance(part, str) for part in parts):
            return '\n'.join(part for part in parts if isinstance(part, str))
    raise InputError(f'{where}: must be a text')


def _options(question: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """The options of a question; empty for a predicate."""
    kind = question.get('type')
    if kind == 'predicate':
        return ()
    field, key = {'choice': ('choices', 'value'), 'score': ('levels', 'label')}.get(
        str(kind), ('', ''))
    listed = question.get(field) if field else None
    if not isinstance(listed, list) or not all(
            isinstance(one, Mapping) and isinstance(one.get(key), (str, bool))
            for one in listed):
        raise InputError(f'{where}: type must be predicate, choice (with choices of a value each) '
                         f'or score (with levels of a label each), not {kind!r}')
    if not 2 <= len(listed) <= MOST_OPTIONS:
        raise InputError(f'{where}: {len(listed)} options; this server takes 2 to {MOST_OPTIONS}')
    return tuple(_said(one[key]) for one in listed)


def _said(value: str | bool) -> str:
    return value if isinstance(value, str) else 'true' if value else 'false'


def _described(text: str, question: Mapping[str, Any]) -> str:
    """The text of a question with the descriptions of its options."""
    described = [f'{_said(one.get("value", one.get("label", "")))}: {one["description"]}'
                 for one in question['choices' if question['type'] == 'choice' else 'levels']
                 if one.get('description')]
    return '\n'.join((text, *described))


def _answer(question: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    """A reply as the answer to a typed question; a refusal if it has no probabilities."""
    kind, exact = question['type'], {EXACT: reply.to_json()}
    answer: dict[str, Any] = {'type': kind, 'name': question.get('name')}
    shares: tuple[float, ...] | None = None
    if isinstance(reply, Answer):
        masses = (reply.p_yes, reply.p_no, reply.p_unknown)
        told = [mass for mass in masses if mass is not None]
        if len(told) > 1 and sum(told) > 0:
            shares = tuple(mass / sum(told) for mass in told)
        if shares is not None and kind == 'predicate':
            return {**answer, 'probability': shares[0], **exact}
        if shares is not None and len(shares) == 3:
            by_word = dict(zip(_WORDS, shares, strict=True))
            shares = tuple(by_word[_said(one['value']).lower()] for one in question['choices'])
        else:
            shares = None
    elif isinstance(reply, ChoiceReply):
        shares = reply.probabilities
    if shares is None:
        return {**answer, 'type': 'refusal', **exact}
    best, number = max(range(len(shares)), key=shares.__getitem__), len(shares)
    answer['confidence'] = min(1.0, max(0.0, (number * shares[best] - 1) / (number - 1)))
    if kind == 'choice':
        values = [one['value'] for one in question['choices']]
        return {**answer, 'choice': values[best], **exact, 'probabilities': [
            {'value': value, 'probability': share}
            for value, share in zip(values, shares, strict=True)]}
    labels = [one['label'] for one in question['levels']]
    return {**answer, 'score': sum(level * share for level, share in enumerate(shares)), **exact,
            'probabilities': [{'value': level, 'label': label, 'probability': share}
                              for level, (label, share) in enumerate(
                                  zip(labels, shares, strict=True))]}


def _usage(usage: Usage) -> dict[str, Any]:
    return {'input_tokens': usage.prompt_tokens, 'output_tokens': usage.completion_tokens,
            'total_tokens': usage.prompt_tokens + usage.completion_tokens,
            'input_tokens_details': {'cached_tokens': 0, 'cache_write_tokens': 0},
            'output_tokens_details': {'reasoning_tokens': 0}}
