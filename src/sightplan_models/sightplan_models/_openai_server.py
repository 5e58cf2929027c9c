"""One OpenAI-compatible server: requests, retries, redaction, spending.

The ``openai`` client sends; its own retries are off. What becomes of a request is one of four:

* it is answered;
* it may be tried again: the server limits the rate (429), is out of order (5xx, no connection,
  no reply in time), or its answer makes no sense (no JSON, no choices);
* it is refused for good: the message says what to change;
* the cap is reached, so that it is not even sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import email.utils
import enum
import itertools
import logging
import os
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sightplan.model import (
    BackendError,
    DeadlineError,
    InputError,
    RefusedError,
    SightplanError,
    SpendingCapError,
    Usage,
    excerpt,
    settings_fields,
)
from sightplan.model.json_text import load_json
from sightplan.model.redaction import (
    SHORTEST_SECRET,
    environment_secrets,
    without,
    without_secrets,
)
from sightplan.vlm import _secrets
from sightplan_models._openai_slots import DEFAULT_CONCURRENCY, Slots, find_slots

_LOG = logging.getLogger(__name__)
_sleep = asyncio.sleep
_LONGEST_PAUSE_S = 60.0
_LONGEST_RETRY_AFTER_S = 600.0
_MESSAGE_CHARS, _START_BYTES = 400, 4000
_NO_KEY = 'none'
_INTERNAL = (500, 501)
"""HTTP statuses of internal errors, with which some servers refuse requests for good."""
ABOUT_ONE = (400, 413, 422)
"""HTTP statuses of refusals that may concern one request alone, such as one that is too long."""
_AWAY = re.compile(r'(?i)connection (?:error|refused|reset)|(?:cannot|could not|failed to) connect'
                   r'|timed? ?out|overloaded|unavailable')
"""Words in an internal error by which a gateway says that the server behind it is away for now."""
_SAME_ERRORS = 3
"""Internal errors in the same words in a row after which a server is taken to refuse a request."""
_TOKENS_OF_AN_IMAGE = 1000
"""Estimate of tokens of an image until the first reply; models make 200 to 1600 of 640 x 480."""
_TOKENS_AROUND = 64
"""Estimate of the tokens of a chat template around the texts of a request."""
_ASIDE_S = 5.0
"""Limit of a request for what the server is, beside the requests of the run [s]."""
_NOT_SENT = ('ConnectError', 'ConnectTimeout', 'PoolTimeout', 'ProxyError', 'UnsupportedProtocol')
"""Errors of the HTTP library before a request leaves."""
_TOKEN_COUNTS = (('prompt_tokens', 'input_tokens'), ('completion_tokens', 'output_tokens'))
"""Names of the counts of tokens in and out, by protocol."""
_DETAILS = ('prompt_tokens_details', 'input_tokens_details')
TOKEN_FIELDS = ('max_tokens', 'max_completion_tokens')
_LOGGERS = ('openai', 'openai._base_client', 'openai._legacy_response', 'openai._response',
            'httpx2', *(f'httpcore2.{part}' for part in (
                'connection', 'http11', 'http2', 'proxy', 'socks')))
"""Loggers that report requests and replies; a filter is not inherited."""
DEFAULT_VARIABLE = 'OPENAI_API_KEY'


class Kind(enum.Enum):
    """Reasons why a request was not answered."""

    RATE = 'the server limits the rate'
    OUTAGE = 'the server is out of order'
    NONSENSE = 'the server answers nonsense'
    NO_ANSWER = 'the reply is not an answer'
    REFUSED = 'the server refuses the request'


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that was not answered.

    Attributes:
        kind: why.
        message: details without secrets.
        status: HTTP status, 0 without.
        code: the server's own name of the error, '' without.
        param: the field of the request that is wrong, '' without.
        retry_after_s: how long the server asks to wait [s], None if it does not say.
        unreached: whether there was no connection at all.
    """

    kind: Kind
    message: str
    status: int = 0
    code: str = ''
    param: str = ''
    retry_after_s: float | None = None
    unreached: bool = False

    @property
    def refused_parameters(self) -> bool:
        """Whether the server reports that it does not know, or not accept, the request's form.

        What a model may not be asked for is forbidden (403) by some, and by gateways not found.
        """
        return self.status in (400, 403, 404, 405, 422, *_INTERNAL)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of tokens, and caps on spending.

    Attributes:
        prompt: USD per million prompt tokens; 0 with ``completion`` 0: not known.
        cached: likewise, for prompt tokens in the server's cache; None: as ``prompt``.
        completion: USD per million completion tokens.
        max_cost_usd: cap; 0: none.
        max_tokens_total: cap on prompt and completion tokens together; 0: none.
    """

    prompt: float = 0.0
    cached: float | None = None
    completion: float = 0.0
    max_cost_usd: float = 0.0
    max_tokens_total: int = 0

    @property
    def known(self) -> bool:
        """Whether prices are known."""
        return bool(self.prompt or self.completion)

    @property
    def capped(self) -> bool:
        """Whether there is a cap."""
        return bool(self.max_cost_usd or self.max_tokens_total)


@dataclass(frozen=True, slots=True)
class Size:
    """Upper bounds of a request's size.

    Attributes:
        text: bytes of its texts; a token is a byte at least.
        images: how many there are.
        limit: most tokens of the reply.
    """

    text: int = 0
    images: int = 0
    limit: int = 0

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Size:
        """The size of a request to chat completions."""
        text = images = 0
        for message in body['messages']:
            content = message['content']
            for part in [content] if isinstance(content, str) else content:
                if isinstance(part, str):
                    text += len(part.encode('utf-8', 'replace'))
                elif part['type'] == 'text':
                    text += len(part['text'].encode('utf-8', 'replace'))
                else:
                    images += 1
        fields = {**body, **body.get('extra_body', {})}
        limits = [count(fields, name) or 0 for name in TOKEN_FIELDS]
        return cls(text, images, max(limits))


@dataclass(frozen=True, slots=True)
class Exchange:
    """A kind of request to a server: how it is sent, how large it is, and what a reply needs.

    Attributes:
        send: sends the body of a request with the client of the ``openai`` library; returns the
            raw reply.
        size: upper bounds of a request's size.
        fault: why a reply, which is a JSON object, cannot be one to such a request; '' if it can.
    """

    send: Callable[[Any, Mapping[str, Any]], Awaitable[Any]]
    size: Callable[[Mapping[str, Any]], Size]
    fault: Callable[[Mapping[str, Any]], str]


def _without_choices(reply: Mapping[str, Any]) -> str:
    choices = reply.get('choices')
    good = (isinstance(choices, list) and bool(choices) and isinstance(choices[0], dict)
            and isinstance(choices[0].get('message'), dict))
    return '' if good else 'choices'


CHAT = Exchange(lambda client, body: client.chat.completions.with_raw_response.create(**body),
                Size.of, _without_choices)
"""Requests to ``/chat/completions``."""


class Meter:
    """Counts requests and tokens, and keeps the caps.

    Before a request is sent, the most it may take is set aside: its texts, its images like the
    dearest one so far, and the limit of its reply (or the longest reply so far, for servers that
    do not obey). It waits while that does not fit beside what is spent and set aside; alone, it
    is sent as long as the cap is not reached. So a cap is passed by one request at most. Because
    servers may take more than was thought, no more requests are under way than were answered.
    A request without a reply stays set aside, because the server may have worked.

    Used from one thread, the event loop's.
    """

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._requests = self._prompt = self._cached = self._completion = 0
        self._earlier = Usage()
        self._under_way: dict[int, Usage] = {}
        self._numbers = itertools.count()
        self._lost = Usage()
        self._per_image = 0
        self._longest = 0
        self._changed = asyncio.Event()

    @property
    def usage(self) -> Usage:
        """Usage since the start, without the carried-over part."""
        cost = self._cost(self._prompt, self._cached, self._completion)
        return Usage(self._requests, self._prompt, self._completion, cost)

    def carry_over(self, spent: Usage) -> None:
        """Count earlier spending towards the caps."""
        self._earlier = spent

    async def reserve(self, size: Size) -> int:
        """Reserve the estimated usage of a request that is about to be sent, if it fits the caps.

        Returns:
            its number, for ``settle``.

        Raises:
            SpendingCapError: a cap is reached.
        """
        while self._prices.capped:
            spent = self._spent()
            self._check(spent)
            most = self._largest_usage(size)
            if not self._under_way or (
                    len(self._under_way) < self._requests
                    and self._fits(sum(self._under_way.values(), spent + most))):
                break
            await self._changed.wait()
        number = next(self._numbers)
        self._under_way[number] = self._largest_usage(size)
        return number

    def settle(self, number: int, lost: bool = False) -> None:
        """Release a request's reservation; ``lost``: it was sent, and its usage is not known."""
        amount = self._under_way.pop(number)
        if lost:
            self._lost += amount
        self._changed.set()
        self._changed = asyncio.Event()

    def answered(self, reply: Mapping[str, Any], size: Size) -> None:
        """Count a reply by the usage that the server reports.

        Raises:
            SpendingCapError: there is a cap, and the server does not say.
        """
        self._requests += 1
        usage = reply.get('usage')
        counts = [next((found for name in names
                        if (found := count(usage, name)) is not None), None)
                  for names in _TOKEN_COUNTS]
        if counts[0] is None or counts[1] is None:
            if self._prices.capped:
                raise SpendingCapError(
                    'the server does not say how many tokens its replies take (no "usage"), so '
                    'that the cap cannot be kept; set max_cost_usd and max_tokens_total to 0, or '
                    'use a server that counts')
            return
        details = next((usage[name] for name in _DETAILS if usage.get(name)), None
                       ) if isinstance(usage, dict) else None
        cached = min(count(details, 'cached_tokens') or 0, counts[0])
        self._prompt += counts[0]
        self._cached += cached
        self._completion += counts[1]
        self._longest = max(self._longest, counts[1])
        if size.images:
            self._per_image = max(self._per_image, -(-counts[0] // size.images))

    def _spent(self) -> Usage:
        """Usage that counts towards the caps, without requests under way."""
        return self._earlier + self.usage + self._lost

    def _largest_usage(self, size: Size) -> Usage:
        per_image = self._per_image or _TOKENS_OF_AN_IMAGE
        prompt = size.text + _TOKENS_AROUND + size.images * per_image
        completion = max(size.limit, self._longest)
        return Usage(0, prompt, completion, max(self._cost(prompt, 0, completion) or 0.0,
                                                self._cost(prompt, prompt, completion) or 0.0))

    def _fits(self, amount: Usage) -> bool:
        prices = self._prices
        return ((not prices.max_tokens_total or _tokens(amount) <= prices.max_tokens_total) and
                (not prices.max_cost_usd or (amount.cost_usd or 0.0) <= prices.max_cost_usd))

    def _check(self, spent: Usage) -> None:
        prices, tokens, cost = self._prices, _tokens(spent), spent.cost_usd or 0.0
        lost = (f' (about {_tokens(self._lost)} tokens of them by requests without a reply)'
                if _tokens(self._lost) else '')
        for name, cap, reached, unit, form in (
                ('max_tokens_total', prices.max_tokens_total, tokens, 'tokens', ''),
                ('max_cost_usd', prices.max_cost_usd, cost, 'USD', '.4f')):
            if cap and reached >= cap:
                raise SpendingCapError(
                    f'the cap is reached: {reached:{form}} {unit} of {name} = {cap:.12g} are '
                    f'spent{lost}; raise it with --backend-option {name}=..., and the same '
                    f'command with the same --out goes on from there')

    def _cost(self, prompt: int, cached: int, completion: int) -> float | None:
        prices = self._prices
        if not prices.known:
            return None
        per_cached = prices.prompt if prices.cached is None else prices.cached
        return ((prompt - cached) * prices.prompt + cached * per_cached
                + completion * prices.completion) / 1e6


class Server:
    """Sends requests; used from one thread, the event loop's, but for its constructor."""

    def __init__(self, *, base_url: str, api_key_env: str, concurrency: int, timeout_s: float,
                 retries: int, backoff_s: float, prices: Prices, label: str = 'openai',
                 headers: Mapping[str, str] | None = None) -> None:
        """Make the client; no request is sent.

        Args:
            base_url: address of the server; '' for that of the library.
            api_key_env: name of the environment variable with the key.
            concurrency: most requests at a time; 0: as many as the server works on.
            timeout_s: limit of one request [s].
            retries: most further tries of a request.
            backoff_s: pause before the second try [s].
            prices: prices of tokens, and caps.
            label: name of the backend, for messages.
            headers: further headers of each request.

        Raises:
            BackendError: the ``openai`` library is missing.
            InputError: there is no key, or it cannot be one.
        """
        self._openai = _library(label)
        self._key = _read_key(api_key_env, label)
        if not self._key and not base_url and not os.environ.get('OPENAI_BASE_URL'):
            raise InputError(f'backend {label}: the service of OpenAI needs a key; put it into '
                             f'{variable(api_key_env)}, or name your own server with base_url')
        self._client = self._openai.AsyncOpenAI(
            api_key=self._key or _NO_KEY, base_url=base_url or None, max_retries=0,
            timeout=timeout_s, default_headers=headers)
        check_url(str(self._client.base_url), 'OPENAI_BASE_URL', label)
        self._filter = _KeyFilter(self.redact)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self._filter)
        self.host = host(str(self._client.base_url))
        self.meter = Meter(prices)
        self._slots = asyncio.Semaphore(concurrency) if concurrency else None
        self._own = bool(base_url or os.environ.get('OPENAI_BASE_URL'))
        self._finding_slots = asyncio.Lock()
        self._timeout_s, self._retries, self._backoff_s = timeout_s, retries, backoff_s
        self._pause_until = 0.0
        self._owner: str | None = None
        self._reached = False
        self.repeated: Counter[Kind] = Counter()
        """Number of requests that were sent again, by the reason."""

    async def complete(self, compose: Callable[[], Mapping[str, Any]],
                       deadline: float | None = None,
                       exchange: Exchange = CHAT,
                       understood: Callable[[Failure], bool] = lambda failure: False,
                       ) -> dict[str, Any] | Failure:
        """Send a request, a chat completion by default, with retries where they may help.

        Args:
            compose: gives the request; called when it is about to be sent.
            deadline: time of the event loop's clock at which nobody waits any more.
            exchange: kind of the request.
            understood: whether an internal error of the server (HTTP 500, 501) says what it
                refuses, so that it is no outage and the same request would fail again. One that
                comes ``_SAME_ERRORS`` times in the same words, while the server lists its models,
                is none either, unless a gateway says that the server behind it is away.

        Returns:
            the reply, which has what the exchange needs; or why the server refuses it.

        Raises:
            BackendError: the server could not be reached, or answers nonsense, again and again.
            RefusedError: the same, of a server that was never reached.
            DeadlineError: the server asks to wait longer than the deadline.
            SpendingCapError: a cap is reached.
        """
        attempt = same = 0
        last = ''
        while True:
            async with await self._open_slots():
                found = await self._once(compose(), exchange)
            if not isinstance(found, Failure):
                return found
            if found.status in _INTERNAL:
                same, last = (same + 1 if found.message == last else 1), found.message
                if understood(found) or (same >= _SAME_ERRORS and not _AWAY.search(found.message)
                                         and await self.models()):
                    found = dataclasses.replace(found, kind=Kind.REFUSED)
            if found.kind is Kind.REFUSED:
                return found
            if not self.may_repeat(attempt):
                never = found.unreached and not self._reached
                raise (RefusedError if never else BackendError)(self._given_up(found, attempt + 1))
            await self.pause(found, attempt, deadline)
            attempt += 1

    def may_repeat(self, attempt: int, most: int | None = None) -> bool:
        """Whether a request may be sent again after a number of retries, ``most`` at most."""
        return attempt < (self._retries if most is None else min(most, self._retries))

    async def pause(self, failure: Failure, attempt: int, deadline: float | None) -> None:
        """Wait before a request is sent again, and log it.

        Raises:
            BackendError: the server asks to wait too long.
            DeadlineError: the next try would be too late.
        """
        pause_s = self._pause(failure, attempt, deadline)
        self.repeated[failure.kind] += 1
        _LOG.warning('%s: %s (%s); try %d in %.1f s', self.host, failure.kind.value,
                     failure.message, attempt + 2, pause_s)
        if failure.kind is Kind.RATE:
            self._pause_until = max(self._pause_until, self._now() + pause_s)
        else:
            await _sleep(pause_s)

    async def _open_slots(self) -> asyncio.Semaphore:
        """The limit of requests at a time; the server is asked for its slots the first time."""
        async with self._finding_slots:
            if self._slots is None:
                found = await find_slots(self._get) if self._own else Slots(
                    DEFAULT_CONCURRENCY, 'it is a public service')
                _LOG.info('%s: %d requests at a time (%s); concurrency=N sets another number',
                          self.host, found.count, found.reason)
                self._slots = asyncio.Semaphore(found.count)
        return self._slots

    async def _get(self, path: str) -> Any:
        """The JSON at a path from the server's root; None if there is none."""
        root = str(self._client.base_url).rstrip('/').removesuffix('/v1')
        try:
            async with asyncio.timeout(min(_ASIDE_S, self._timeout_s)):
                # some servers end a connection after an error: the next request would be lost
                return await self._client.get(root + path, cast_to=object, options={
                    'headers': {'Connection': 'close'}})
        except (self._openai.OpenAIError, TimeoutError, ValueError):
            return None

    async def models(self) -> list[str]:
        """Names of the server's models, if it reports them."""
        try:
            async with asyncio.timeout(self._timeout_s):
                raw = await self._client.models.with_raw_response.list()
            names = [entry['id'] for entry in load_json(raw.http_response.content)['data']]
        except (self._openai.OpenAIError, TimeoutError, ValueError, LookupError, TypeError):
            return []
        return [self.redact(str(name)) for name in names]

    async def owner(self) -> str:
        """Owner of the server's first model: 'vllm', 'sglang', 'llamacpp' or other; '' if unknown.

        It is asked for once.
        """
        if self._owner is None:
            try:
                async with asyncio.timeout(self._timeout_s):
                    raw = await self._client.models.with_raw_response.list()
                entry = load_json(raw.http_response.content)['data'][0]
                self._owner = str(entry.get('owned_by') or '').lower()
            except (self._openai.OpenAIError, TimeoutError, ValueError, LookupError, TypeError,
                    AttributeError):
                self._owner = ''
        return self._owner

    async def rendered(self, model: str, messages: Sequence[Mapping[str, Any]],
                       deadline: float | None) -> str:
        """The prompt that the chat template makes of messages, where the server shows it; else ''.

        llama.cpp shows it at ``/apply-template``, vLLM shows its tokens at ``/tokenize``.
        """
        path, field = {'llamacpp': ('apply-template', 'prompt'),
                       'vllm': ('tokenize', 'token_strs')}.get(await self.owner(), ('', ''))
        if not path:
            return ''
        root = str(self._client.base_url).rstrip('/').removesuffix('/v1')
        try:
            async with asyncio.timeout(self._timeout_s):
                raw = await self._client.post(
                    f'{root}/{path}', cast_to=object, body={
                        'model': model, 'messages': messages, 'return_token_strs': True})
            found = raw.get(field) if isinstance(raw, dict) else ''
        except (self._openai.OpenAIError, TimeoutError, ValueError):
            return ''
        return found if isinstance(found, str) else ''.join(map(str, found or ()))

    async def close(self) -> None:
        """Close the connections to the server, and log how often requests were sent again."""
        if self.repeated:
            _LOG.warning('%s: requests were sent again: %s', self.host, '; '.join(
                f'{count} x {kind.value}' for kind, count in self.repeated.most_common()))
            self.repeated.clear()
        await self._client.close()
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self._filter)

    def redact(self, text: str) -> str:
        """The text without the key."""
        return without(text, self._key) if len(self._key) >= SHORTEST_SECRET else text

    def redact_error(self, text: str) -> str:
        """Message of a server on one line of bounded length, without any secret."""
        text = ' '.join(_secrets.redact(without_secrets(self.redact(text))).split())
        return text if len(text) <= _MESSAGE_CHARS else text[:_MESSAGE_CHARS] + '...'

    async def _wait_for_all(self) -> None:
        """Wait until the end of the pause after a rate limit, which is for all requests."""
        left_s = self._pause_until - self._now()
        if left_s > 0:
            await _sleep(left_s)

    async def _once(self, body: Mapping[str, Any],
                    exchange: Exchange) -> dict[str, Any] | Failure:
        """Send once. Exceptions of the client hold the key: they do not leave this function."""
        openai, size = self._openai, exchange.size(body)
        number, lost = await self.meter.reserve(size), False
        try:
            await self._wait_for_all()
            lost = True
            async with asyncio.timeout(self._timeout_s):
                raw = await exchange.send(self._client, body)
            self._reached = True
            found = self._parsed(raw.http_response.content)
            if isinstance(found, Failure):
                return found
            lost = not isinstance(found.get('usage'), dict)
            return self._checked(found, size, exchange)
        except openai.APIStatusError as error:
            lost, self._reached = False, True
            return self._status_failure(error)
        except (openai.APITimeoutError, TimeoutError) as error:
            lost = type(error.__cause__).__name__ not in _NOT_SENT
            return Failure(Kind.OUTAGE, f'no reply within timeout_s = {self._timeout_s:g} s')
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            lost = type(cause).__name__ not in _NOT_SENT
            return Failure(Kind.OUTAGE, self.redact_error(
                f'no connection ({type(cause).__name__}: {cause})'), unreached=not lost)
        except SightplanError:
            raise
        except Exception as error:  # of whatever type: it may show the whole request
            lost = False
            return Failure(Kind.REFUSED, self.redact_error(f'{type(error).__name__}: {error}'))
        finally:
            self.meter.settle(number, lost)

    def _parsed(self, content: bytes) -> dict[str, Any] | Failure:
        try:
            reply = load_json(content)
        except (ValueError, RecursionError):
            start = self.redact_error(content[:_START_BYTES].decode('utf-8', 'replace'))
            return Failure(Kind.NONSENSE, f'no JSON: {excerpt(start)}')
        return reply if isinstance(reply, dict) else Failure(Kind.NONSENSE, 'no JSON object')

    def _checked(self, reply: dict[str, Any], size: Size,
                 exchange: Exchange) -> dict[str, Any] | Failure:
        """The reply, counted, if it has what the exchange needs."""
        missing = exchange.fault(reply)
        if not missing or reply.get('usage') is not None:
            self.meter.answered(reply, size)
        if missing:
            error = reply.get('error')
            return Failure(Kind.NONSENSE, self.redact_error(
                f'no {missing}, but {words(error)}' if error else f'a reply without {missing}'))
        return reply

    def _status_failure(self, error: Any) -> Failure:
        status, inner = int(error.status_code), _inner(error.body)
        code = str(inner.get('code') or error.code or '')
        said = words(error.body) or str(error.response.text or error.message)
        message = self.redact_error(f'HTTP {status}: {said}')
        if status == 429 and 'quota' not in code and 'billing' not in code:
            kind = Kind.RATE
        elif error.response.headers.get('x-should-retry') == 'false':
            kind = Kind.REFUSED
        elif status >= 500 or status in (408, 409, 425):
            kind = Kind.OUTAGE
        else:
            kind = Kind.REFUSED
        return Failure(kind, message, status, code, str(inner.get('param') or error.param or ''),
                       retry_after_s(error.response.headers))

    def _pause(self, failure: Failure, attempt: int, deadline: float | None) -> float:
        """Seconds to wait: as long as the server asks, else longer each time, with jitter."""
        asked = failure.retry_after_s
        pause_s = (asked if asked is not None else
                   min(_LONGEST_PAUSE_S, self._backoff_s * 2.0 ** attempt)
                   * random.uniform(0.5, 1.0))
        if asked is not None and asked > _LONGEST_RETRY_AFTER_S:
            raise BackendError(f'{self.host}: {failure.kind.value} and asks to wait {asked:.0f} s '
                               f'({failure.message}); come back later')
        if deadline is not None and self._now() + pause_s > deadline:
            raise DeadlineError(f'{self.host}: {failure.kind.value} ({failure.message}); the next '
                                f'try, in {pause_s:.1f} s, would be too late. Lower concurrency, '
                                f'or raise the time limit of the call')
        return pause_s

    def _given_up(self, failure: Failure, tries: int) -> str:
        remedy = {
            Kind.RATE: 'lower concurrency, or raise retries or backoff_s',
            Kind.OUTAGE: (
                'check the server behind it' if failure.status in _INTERNAL and _AWAY.search(
                    failure.message) else 'check that it runs and that base_url is right'
            ) + ', or raise retries or timeout_s',
            Kind.NONSENSE: 'check that base_url is that of an OpenAI-compatible server (it often '
                           'ends in /v1)',
        }[failure.kind]
        return (f'{self.host}: {failure.kind.value}, given up after {tries} tries '
                f'({failure.message}); {remedy}')

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


class _KeyFilter(logging.Filter):
    """Filter that removes the key from libraries' log entries about a server that returns it."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        redacted = self._redact(message)
        if redacted != message:
            record.msg, record.args = redacted, ()
        return True


def check_url(url: str, where: str, label: str = 'openai') -> None:
    """Refuse an address that is not a server's, or contains a secret.

    Raises:
        InputError: without the address, which may hold a secret.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ('http', 'https') and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise InputError(f'backend {label}: {where} is not an address; it must be like '
                         f'http://localhost:8000/v1') from None
    if '@' in parts.netloc or parts.query or parts.fragment:
        raise InputError(f'backend {label}: {where} must hold no user, password or query, because '
                         f'it is written to results; put the key into an environment variable and '
                         f'name that with api_key_env')
    if not good:
        raise InputError(f'backend {label}: {where} is not an address; it must be like '
                         f'http://localhost:8000/v1')


def check_secrets(settings: Any, label: str) -> None:
    """Refuse settings that could carry a secret into results.

    Args:
        settings: dataclass of settings, with ``base_url`` and ``api_key_env`` among them.
        label: name of the backend, for messages.

    Raises:
        InputError: names the field, but not its value.
    """
    if isinstance(settings.base_url, str) and settings.base_url:
        check_url(settings.base_url, 'base_url', label)
    given = settings.api_key_env
    if not isinstance(given, str) or (given and not (
            _secrets.is_variable(given)
            or (given in os.environ and not _secrets.holds_key(given)))):
        raise InputError(f'backend {label}: api_key_env is the NAME of an environment variable, '
                         'such as OPENAI_API_KEY (in capitals, or set already); never write '
                         'the key itself into settings')
    key = os.environ.get(given, '').strip()
    secrets = [*environment_secrets(), *([key] if len(key) >= SHORTEST_SECRET else [])]
    for field in settings_fields(type(settings)):
        value = getattr(settings, field.name)
        if field.name != 'api_key_env' and _is_secret(value, secrets):
            raise InputError(f'backend {label}: {field.name} looks as if it held a key or a '
                             f'password, and settings are written to results; put the key '
                             f'into an environment variable and name that with api_key_env')


def _is_secret(value: object, secrets: Sequence[str]) -> bool:
    """Whether a setting holds one of these secrets, or seems to hold another."""
    data = value
    if isinstance(value, str):
        with contextlib.suppress(ValueError, RecursionError):
            data = load_json(value)
    if _secrets.secret_field(data):
        return True
    return any(_secrets.holds_key(text) or any(secret in text for secret in secrets)
               for text in (str(value), *_secrets.texts(data)))


def host(url: str) -> str:
    """Host, port and path of an address."""
    parts = urlsplit(url)
    return (parts.netloc + parts.path).rstrip('/')


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Time that a server asks to wait [s]: stated in milliseconds, seconds, or as a date."""
    try:
        return max(0.0, float(headers['retry-after-ms']) / 1000)
    except (KeyError, ValueError):
        pass
    text = headers.get('retry-after', '')
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None


def variable(name: str) -> str:
    """Words for the key's environment variable in messages: its name, if that cannot be a key."""
    known = name == DEFAULT_VARIABLE or name in os.environ
    return f'the environment variable {name if known else "that api_key_env names"}'


def _read_key(name: str, label: str) -> str:
    """Read the key from the environment, '' without one; an InputError if it cannot be a key."""
    key = os.environ.get(name, '').strip() if name else ''
    if not key.isascii() or not key.isprintable() or ' ' in key:
        raise InputError(f'backend {label}: {variable(name)} holds no key (a key is one word of '
                         f'plain letters, digits and signs)')
    return key


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens


def count(usage: object, name: str) -> int | None:
    """Number of tokens that a reply reports; None if it does not."""
    value = usage.get(name) if isinstance(usage, dict) else None
    good = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if good else None


def words(body: object) -> str:
    """Text of a server's error, in the forms that are in use; '' if there is none.

    A gateway's own words are followed by those of the server behind it.
    """
    said = next((body[key] for key in ('message', 'detail', 'error') if body.get(key)), body
                ) if isinstance(body, dict) else body
    behind = _inner(body).get('message')
    return (f'{said}: {behind}' if behind else str(said)) if said else ''


def _inner(body: object) -> Mapping[str, Any]:
    """The error of the server behind a gateway, which hands it on as ``metadata.raw``."""
    metadata = body.get('metadata') if isinstance(body, dict) else None
    raw = metadata.get('raw') if isinstance(metadata, dict) else None
    if isinstance(raw, str):
        try:
            raw = load_json(raw)
        except (ValueError, RecursionError):
            return {'message': raw}
    if isinstance(raw, dict):
        raw = raw.get('error', raw)
    return raw if isinstance(raw, dict) else {'message': str(raw)} if raw else {}


def _library(label: str) -> Any:
    try:
        import openai
    except ImportError as error:
        raise BackendError(f'backend {label} needs the library openai ({error}); install it: '
                           'pip install "sightplan_models[openai]"') from error
    return openai
