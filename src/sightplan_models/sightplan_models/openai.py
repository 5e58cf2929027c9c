"""Backend ``openai``: any server of OpenAI's protocol: vLLM, SGLang, llama.cpp, OpenAI itself.

Every yes/no question is a request of its own; what all questions share comes first and is the same
to the byte (system text, image, then the question), and the first request is awaited before the
others are sent, so that the server's prefix cache holds the image. An observation without an image
is asked about by its text, which stands in the image's place. Probabilities are those the
server reports for the answer's token; a server that reports none gets none: they are never made
up. A key comes from the environment and goes nowhere but into the requests.

It points as the settings ``pointing`` and ``coordinates`` declare (``queries.pointing``): the
prompt's family brings a JSON schema where there is one, to which the server holds the model if it
can; one that refuses it is asked without from then on.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import functools
import logging
import math
import re
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sightplan.model import (
    Answer,
    BackendError,
    DeadlineError,
    InputError,
    RefusedError,
    SightplanError,
    SpendingCapError,
    param,
)
from sightplan.model.dataclass_json import picture_id
from sightplan.model.json_text import load_json
from sightplan.model.query import Deadline, ModelByKind, Part, Query, Rgb, Traits, answers
from sightplan.model.reply_text import after_thoughts
from sightplan.queries.chat import ChatStyle
from sightplan.queries.choose import (
    LETTER_TOKENS,
    LETTERS,
    ChoiceReply,
    Choose,
    lettered,
    read_letter,
)
from sightplan.queries.coordinates import (
    RESIZE_MAX_PIXELS,
    RESIZE_MIN_PIXELS,
    RESIZE_MULTIPLE,
    Misdeclared,
    Size,
    resized_size,
)
from sightplan.queries.generate import Generate, TextReply
from sightplan.queries.pointing import (
    AXIS_TICKS,
    CONVENTIONS,
    DEFAULT_FAMILY,
    Pointing,
    family_hash,
)
from sightplan.queries.yes_no import YesNo
from sightplan.vlm.images import MEDIA, encode
from sightplan.vlm.replies import begins_unknown, without_surrogates
from sightplan.vlm.wrapping import Prompted
from sightplan_models import _openai_server
from sightplan_models._openai_logprobs import (
    Likely,
    Token,
    bare_word,
    has_nan,
    likely_at_answer,
    read_tokens,
)
from sightplan_models._openai_messages import (
    FIRST,
    SECOND,
    SYSTEM_ROLES,
    Prompt,
    messages,
    moves_pictures,
    refuses_system,
)
from sightplan_models._openai_pictures import QUESTION, ChecksPictures, Said, colour_picture
from sightplan_models._openai_server import TOKEN_FIELDS
from sightplan_models._server_client import ServerClient, ServerSettings

_LOG = logging.getLogger(__name__)

WITHHELD = '(withheld by the content filter)'
REFUSED = '(refused by the model)'
NO_ANSWER = '(no answer)'
_OPEN, _CLOSE = '<answer>', '</answer>'
_PATIENCE = 3
"""Replies without logprobs before they are given up."""
T = TypeVar('T')
_FEW_LOGPROBS = 5
_MEDIA_KEPT = 8
_OURS = ('model', 'messages', 'n', 'stream')
LONGER_LIST = 'top_logprobs'
_FORCING: Mapping[str, Callable[[str], dict[str, Any]]] = {
    'structured_outputs': lambda word: {'structured_outputs': {'choice': [word]}},
    'guided_choice': lambda word: {'guided_choice': [word]}}
"""Fields with which vLLM forces a reply, the newest first, as functions of the reply. It reports
the probabilities before the constraint, and the chosen token's also where it is not listed."""
_LONG_LIST = 5000
_NO_SCHEMA = re.compile(r'response_format|schema|structured|guided|grammar')
"""Words with which servers refuse structured output."""
_FILTERED = ('content_filter', 'content_policy_violation')
_ANSWERS = ('yes', 'no', 'unknown')
_SYNONYMS = {'yep': 'yes', 'yeah': 'yes', 'true': 'yes', 'nope': 'no', 'false': 'no'}
"""Other words that are read as answers."""
_PAID_RETRIES = 2
"""Largest number of retries of a request whose reply was paid for but holds no answer."""
_LEAST_TOKENS = 16
"""Limit of a reply that all servers take that refuse smaller ones (OpenAI's is the largest)."""
_NO_PICTURES = re.compile(r'(?:image|picture|vision|multimodal).{0,40}(?:not|unsupported|mmproj)'
                          r'|not? .{0,20}(?:image|multimodal)|mmproj')
_TOO_LONG = re.compile(r'(?:exceed|larger|longer|greater).{0,60}context|context.{0,60}exceed')
_PERMANENT = re.compile(rf'(?i:not support|unsupported|does not (?:take|accept)|jinja|template'
                        rf'|{_NO_PICTURES.pattern}|{_TOO_LONG.pattern})')
"""Words in an internal error (HTTP 500) that make it a refusal, not an outage."""
_BAD_KEY = re.compile(r'no connected db|api[ _-]?key')
"""Words in a refusal of the key whose HTTP status is another one. LiteLLM 1.108.7 without a data
base: "No connected db." (HTTP 400)."""
_NO_SUCH_MODEL = re.compile(r'(?:invalid|unknown|no such) model|model.{0,60} not (?:found|exist)')
"""Words in a refusal of the model's name whose HTTP status is another one than 404."""
_ROUNDED = 1.05
"""Factor by which a forced word may exceed its bound, because probabilities are rounded."""
_CHECK_S = 120.0
"""Limit of each request that tests whether pictures reach the model [s]."""
_TOO_FEW = re.compile(r'below_min|minimum|greater than|>=|\bleast\b')
"""Words with which servers refuse a limit of tokens that is too small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(ServerSettings):
    """Settings of the backend ``openai``."""

    backend = 'openai'

    model: str = param('', "The model, by the server's name for it (needed)")
    temperature: float = param(0.0, 'Temperature of sampling; -1: not sent (some reasoning '
                               'models refuse it)', low=-1.0, high=2.0)
    top_p: float = param(0.0, 'Sampling from the most likely tokens that have this probability '
                         'together, sent with temperatures above 0; 0: not sent', low=0.0,
                         high=1.0)
    top_k: int = param(0, 'Number of most likely tokens to sample from, sent with temperatures '
                       'above 0 (vLLM and SGLang have it, OpenAI has not); 0: not sent', low=0)
    seed: int = param(0, 'Seed of sampling, sent with temperatures above 0', low=0)
    logprobs: str = param('auto', 'Probabilities of answers: auto (if the server offers them), '
                          'on (an error if not), off', choices=('auto', 'on', 'off'))
    top_logprobs: int = param(20, 'Most likely tokens among which yes and no are looked for; 20 '
                              'is the most that most servers give', low=1, high=100)
    ask_again: str = param('auto', 'Whether a second request asks for the probability of a yes or '
                           'no that is not among the likely tokens, by a longer list (llama.cpp, '
                           'SGLang) or by a forced reply (vLLM); auto: where the server can; off: '
                           'it is only bounded', choices=('auto', 'off'))
    answer_tokens: int = param(4, 'Most tokens of an answer without reasoning; 0: as many as the '
                               'prompt allows', low=0)
    failed_replies: str = param('error', 'What a reply without an answer counts as, after it was '
                                'asked for again: error (not scored), or unread (an answer that '
                                'cannot be read, and so wrong, as papers count it)',
                                choices=('error', 'unread'))
    thinking_tokens: int = param(0, 'Tokens allowed in addition for hidden reasoning, for models '
                                 'that reason before they reply', low=0)
    token_field: str = param('auto', 'Field of the limit of tokens; auto: max_tokens, or the '
                             'other where the server refuses that',
                             choices=('auto', *TOKEN_FIELDS))
    system_role: str = param('auto', "Role of the system text; user: it begins the user's message "
                             '(for models without such a role); auto: system, or user where '
                             'the server refuses that', choices=SYSTEM_ROLES)
    number_pictures: str = param(
        'auto', 'Whether "Picture 1:" and so on stands before each of several pictures; auto: '
        'where the chat template of the server is known (llama.cpp, vLLM) to move pictures away '
        'from the texts before them', choices=('auto', 'on', 'off'))
    reasoning_effort: str = param('', 'Effort of reasoning, for models that have it (such as '
                                  'minimal, low, high); empty: not sent')
    image_format: str = param('png', 'How images are sent; jpeg is smaller but not exact',
                              choices=tuple(MEDIA))
    detail: str = param('', 'Detail of images (low, high, auto), where the server knows it; '
                        'empty: not sent')
    extra_body: str = param('', 'Further fields of each request, as a JSON object, such as '
                            '{"chat_template_kwargs": {"enable_thinking": false}}')
    pointing: str = param(DEFAULT_FAMILY, 'How the model is asked to point: a family of prompts '
                          'of sightplan.queries.pointing_prompts, or a .yaml file of yours')
    coordinates: str = param('', 'Convention of the coordinates in replies; empty: that of the '
                             'family', choices=CONVENTIONS)
    axis_ticks: str = param('auto', 'Whether scales are drawn along the edges of pictures in '
                            'which it points; auto: as the family says', choices=AXIS_TICKS)
    structured: str = param('auto', 'Structured output of places, by the JSON schema of the '
                            'family: auto (if the server has it), on (an error if not), off',
                            choices=('auto', 'on', 'off'))
    resize_multiple: int = param(RESIZE_MULTIPLE, "For resized_pixel_xy: the model's processor "
                                 'makes edges of pictures multiples of this (patch size times '
                                 'merge size) [px]', low=1, high=4096)
    min_pixels: int = param(RESIZE_MIN_PIXELS, 'For resized_pixel_xy: the processor enlarges '
                            'pictures with fewer pixels (min_pixels or size.shortest_edge of '
                            'preprocessor_config.json)',
                            low=1)
    max_pixels: int = param(RESIZE_MAX_PIXELS, 'For resized_pixel_xy: the processor reduces '
                            'pictures with more pixels (max_pixels or size.longest_edge)', low=1)
    concurrency: int = param(0, 'Most requests at a time; auto: as many as the server works on '
                             'where it says so (the slots of llama.cpp), 64 for vLLM and SGLang, '
                             'else 8', low=0, high=1024, identity=False, auto=0)


def content(settings: Settings, kind: object = None) -> str:
    """Hash of the prompts with which it points; see ``api.backend_content``."""
    return family_hash(settings.pointing)


@dataclass(frozen=True, slots=True)
class _Dialect:
    """Parts of the protocol that the server was found to support.

    ``again`` is the way to ask for the probability of a word that is not listed: ``LONGER_LIST``,
    the field of vLLM that forces a reply, or '' for none.
    """

    token_field: str
    top_logprobs: int
    stop: bool = True
    structured: bool = True
    least_tokens: int = 0
    system_role: str = 'system'
    numbered: bool = False
    again: str = LONGER_LIST


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Requirements of a request beyond its messages.

    Attributes:
        limit: most tokens of the reply.
        words: answers whose probabilities are wanted where the answer stands; none if empty.
        read: which of the words a token is.
        reasoning: whether reasons first, and then an answer in a tag.
        json_schema: schema that the reply is to follow, None without.
        draw: number of the request about the same thing; changes the seed of sampling.
        longer: whether a longer list of likely tokens is wanted.
        forced: the only reply that the server is to allow, '' for any; see ``_Dialect.again``.
    """

    limit: int
    words: tuple[str, ...] = ()
    read: Callable[[str], str] = bare_word
    reasoning: bool = False
    json_schema: Mapping[str, Any] | None = None
    draw: int = 0
    longer: bool = False
    forced: str = ''

    @property
    def scored(self) -> bool:
        """Whether the probabilities of tokens are wanted."""
        return bool(self.words)


@dataclass(frozen=True, slots=True)
class _Fallback:
    """Way to ask a server further, after it has refused something.

    Attributes:
        dialect: the dialect to use from then on.
        lacks: what the server lacks, in words; '' if nothing is lost without it.
        instead: what is done instead.
        setting: name of the setting that insists on what it lacks; '' or False if none does.
    """

    dialect: _Dialect
    lacks: str = ''
    instead: str = ''
    setting: str | bool = ''


@dataclass(frozen=True, slots=True)
class _Message:
    """Reply of the model, or the reason why there is none.

    Attributes:
        text: the reply.
        truncated: whether the limit of tokens cut it off.
        likely: the likely tokens where the answer stands, with their probabilities; None if the
            server does not offer them, or the place is not known.
        failure: why this is no answer, with the remedy; '' if it is one.
        refused: whether the server refuses the request, and perhaps all others like it.
        prompt_tokens: of the request, by the server's count; None where it does not count.
    """

    text: str
    truncated: bool = False
    likely: Likely | None = None
    failure: str = ''
    refused: bool = False
    prompt_tokens: int | None = None


class Backend(Prompted):
    """Asks a server; may be used by several threads at once.

    Args:
        settings: see Settings.

    Raises:
        InputError: a setting is missing or wrong, or there is no key.
        BackendError: the ``openai`` library is missing.
    """

    accepts = frozenset({Query})
    traits = Traits(texts=True, capped=True)

    def __init__(self, settings: Settings) -> None:
        self.chat = ServerChat(settings)
        super().__init__(self.chat, ChatStyle(self.chat.pointing, self.chat.resized))


class ServerChat(ServerClient[Settings], ChecksPictures, ModelByKind):
    """A model behind a server: answers yes/no questions, writes text, chooses by one letter."""

    def __init__(self, settings: Settings) -> None:
        """Make the client; no request is sent yet.

        Raises:
            InputError: a setting is missing or wrong, or there is no key.
            BackendError: the ``openai`` library is missing.
        """
        ChecksPictures.__init__(self)
        s = settings
        if not s.model:
            raise InputError('backend openai: model is missing; name it with --backend-option '
                             'model=..., for a graph backend_options:=model=... (any name for '
                             'llama.cpp, which serves one model)')
        self._extra = _extra_body(s.extra_body)
        self.pointing = Pointing.declared(s.pointing, s.coordinates, s.axis_ticks)
        if s.min_pixels > s.max_pixels:
            raise InputError(f'backend openai: min_pixels = {s.min_pixels} is above max_pixels = '
                             f'{s.max_pixels}; lower it')
        ServerClient.__init__(self, s, s.model, s.concurrency)
        self._dialect = _Dialect(TOKEN_FIELDS[0] if s.token_field == 'auto' else s.token_field,
                                 0 if s.logprobs == 'off' else s.top_logprobs,
                                 stop=not s.thinking_tokens,
                                 structured=s.structured != 'off',
                                 system_role=('system' if s.system_role == 'auto'
                                              else s.system_role),
                                 numbered=s.number_pictures == 'on')
        self._order_to_check = s.number_pictures != 'on'
        self._accepted = self._offered = False
        self._without = 0
        self._refused: set[str] = set()
        self._images: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Answer all questions about one observation, one request each."""
        prompt, seen = queries[0].prompt, queries[0].observation
        shown: Part = (seen.text or '') if seen.image is None else seen.image
        if isinstance(shown, str) and not shown.strip():
            raise BackendError('openai: the observation holds neither an image nor a text; there '
                               'is nothing to answer questions about')
        shared = self._parts([part for part in (prompt.before_image, shown, prompt.after_image)
                              if not isinstance(part, str) or part])
        limit = prompt.max_tokens
        if not prompt.reasoning and self._settings.answer_tokens:
            limit = min(limit, self._settings.answer_tokens)
        prompts = [Prompt(prompt.system, (*shared, prompt.ask(query.question.text)))
                   for query in queries]
        words = _ANSWERS[:3 if prompt.unknown else 2]
        wanted = _Wanted(limit, words, _answer_word, prompt.reasoning)
        found: list[_Message | None] = [None] * len(prompts)
        try:
            self._call(functools.partial(
                self._ask_all, prompts, wanted, found, deadline.keep_going), deadline,
                f'{len(prompts)} questions')
        except SightplanError as error:
            error.partial = [None if message is None else _reply(message, prompt.unknown, limit)
                             for message in found]
            raise
        return [_reply(message, prompt.unknown, limit)
                for message in found if message is not None]

    @answers(Generate)
    def generate(self, query: Generate, deadline: Deadline) -> TextReply:
        """Reply in free text."""
        prompt = Prompt(query.system, self._parts(query.parts))
        self._check_order(prompt, deadline)
        wanted = _Wanted(query.max_tokens, json_schema=query.json_schema, draw=query.draw)
        found = self._call(functools.partial(self._ask, prompt, wanted), deadline, 'a prompt')
        return TextReply(found.text, found.truncated)

    @answers(Choose)
    def choose(self, query: Choose, deadline: Deadline) -> ChoiceReply:
        """Choose by one letter and its probability."""
        prompt = Prompt(query.system, self._parts(lettered(query)))
        self._check_order(prompt, deadline)
        letters = LETTERS[:len(query.options)].lower()
        wanted = _Wanted(LETTER_TOKENS, tuple(letters))
        found = self._call(functools.partial(self._ask, prompt, wanted), deadline, 'a choice')
        masses = None
        if found.likely is not None and found.likely.lists(letters, bare_word):
            masses = found.likely.probabilities(letters, bare_word)
        return read_letter(found.text, masses, query)

    def resized(self, picture: Rgb) -> Size:
        """Width and height of a picture as the model sees it, by the rule of its processor."""
        size = picture.shape[1], picture.shape[0]
        s = self._settings
        try:
            return resized_size(size, s.resize_multiple, s.min_pixels, s.max_pixels)
        except Misdeclared as error:
            raise BackendError(f'{self.name}: {error}') from error

    def _call(self, work: Callable[[float | None], Coroutine[Any, Any, T]],
              deadline: Deadline, what: str) -> T:
        """Run a coroutine function of a time of the event loop's clock in the event loop."""
        return self._loop.call_within(work, deadline, self.name, what)

    async def _ask_all(self, prompts: Sequence[Prompt], wanted: _Wanted,
                       found: list[_Message | None], partial: bool,
                       deadline: float | None) -> None:
        """Send requests, and put each reply in its place in ``found`` as it comes.

        Those that are on their way when one fails are waited for, because they are paid for. No
        more are sent then; but where a part is of use, they are, unless the server itself has
        failed: a reply that is no answer tells nothing about the others, nor does a refusal after
        others were accepted.

        Raises:
            BackendError: one of the requests failed.
            DeadlineError: the server asks to wait longer than the deadline.
            SpendingCapError: a cap is reached.
        """
        failures: list[SightplanError] = []
        broken: list[SightplanError] = []

        async def ask(number: int) -> None:
            try:
                message = await self._reply_to(prompts[number], wanted, deadline, broken)
            except SightplanError as error:
                failures.append(error)
                broken.append(error)
            else:
                if message.failure:
                    failures.append(self._error(message))
                    if not partial or (message.refused and not number):
                        broken.append(failures[-1])
                else:
                    self._note_accepted()
                    found[number] = message
                    found[number] = await self._with_absent(message, prompts[number], wanted,
                                                            deadline)

        await ask(0)
        tasks = [asyncio.create_task(ask(number)) for number in range(1, len(prompts))
                 if not broken]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if failures:
            raise next((error for error in failures if isinstance(error, SpendingCapError)),
                       (broken or failures)[0])

    async def _ask(self, prompt: Prompt, wanted: _Wanted,
                   deadline: float | None) -> _Message:
        """Send one request, and read the reply.

        Raises:
            BackendError: there is no reply, or it is no answer.
            DeadlineError: the server asks to wait longer than the deadline.
            SpendingCapError: a cap is reached.
        """
        message = await self._reply_to(prompt, wanted, deadline)
        if message.failure:
            raise self._error(message)
        self._note_accepted()
        return await self._with_absent(message, prompt, wanted, deadline)

    def _without_answer(self, why: str) -> _Message:
        """Answer that a reply without one counts as; the one place where a protocol decides."""
        if self._settings.failed_replies == 'unread':
            _LOG.warning('%s; it counts as unread', why)
            return _Message(NO_ANSWER)
        return _Message('', failure=why)

    def _note_accepted(self) -> None:
        """Note that the server has answered a request of the run."""
        self._accepted = True
        self._warn_if_unchecked()

    def _error(self, message: _Message) -> BackendError:
        """The error of a failed message; before the first one is accepted, all may be refused."""
        refused = message.refused and not self._accepted
        return (RefusedError if refused else BackendError)(message.failure)

    async def _reply_to(self, prompt: Prompt, wanted: _Wanted, deadline: float | None,
                        broken: Sequence[SightplanError] = ()) -> _Message:
        """Send one request, and read the reply; again if that is no answer, where it may help.

        Args:
            prompt: what is said to the model.
            wanted: what else is wanted.
            deadline: time of the event loop's clock at which nobody waits any more.
            broken: once there is an error in it, nothing more is sent, and that is raised.
        """
        dialect = self._dialect

        def compose() -> dict[str, Any]:
            nonlocal dialect
            if broken:
                raise broken[0]
            dialect = self._dialect
            return {'messages': messages(prompt, dialect.system_role, dialect.numbered),
                    **self._fields(dialect, wanted)}

        attempt = 0
        while True:
            reply = await self._server.complete(
                compose, deadline,
                understood=lambda failure: self._understands(failure, wanted, prompt))
            if not isinstance(reply, _openai_server.Failure):
                if wanted.reasoning and dialect.stop and self._stopped_in_thoughts(reply):
                    continue
                why, again = self._no_answer(reply)
                if why and again and self._server.may_repeat(attempt, _PAID_RETRIES):
                    await self._server.pause(_openai_server.Failure(
                        _openai_server.Kind.NO_ANSWER, why), attempt, deadline)
                    attempt += 1
                    continue
                message = (self._without_answer(why) if why else self._read(
                    reply, dialect, wanted.scored, wanted.reasoning))
                return dataclasses.replace(message, prompt_tokens=_openai_server.count(
                    reply.get('usage'), 'prompt_tokens'))
            if reply.code in _FILTERED:
                return _Message(WITHHELD)
            if dialect == self._dialect:  # else another request has found out more
                if fallback := self._fallback(dialect, reply, wanted, prompt):
                    self._fall_back(fallback, reply)
                    continue
                why = (f'{self.name}: {reply.kind.value} ({reply.message}); '
                       f'{await self._remedy(reply)}')
                if reply.status not in _openai_server.ABOUT_ONE:
                    raise RefusedError(why)
                return _Message('', failure=why, refused=True)

    async def _with_absent(self, message: _Message, prompt: Prompt, wanted: _Wanted,
                           deadline: float | None) -> _Message:
        """Ask for the probabilities of words that are not listed, where the server has a way.

        What goes wrong on the way leaves the bounds as they are, because the answer is paid for.
        """
        likely = message.likely
        if (likely is None or self._settings.ask_again == 'off' or not likely.first
                or not likely.lists(wanted.words, wanted.read)):
            return message
        while (way := self._dialect.again) and (
                absent := likely.absent(wanted.words, wanted.read)):
            try:
                found = await (self._longer(likely, prompt, wanted, deadline)
                               if way == LONGER_LIST else
                               self._forced(way, likely, absent, prompt, wanted, deadline))
            except SightplanError:
                break
            if found is not None:
                return dataclasses.replace(message, likely=found)
            if way == self._dialect.again:
                await self._give_up(way)
        return message

    async def _give_up(self, way: str) -> None:
        """Go on to the next way to ask for the probability of a word that is not listed."""
        ways = [LONGER_LIST, *(_FORCING if await self._server.owner() == 'vllm' else ()), '']
        self._dialect = dataclasses.replace(self._dialect, again=ways[ways.index(way) + 1])
        if not self._dialect.again:
            _LOG.info('%s lists no more tokens, and forces no reply: what is not listed is '
                      'bounded', self.name)

    async def _longer(self, likely: Likely, prompt: Prompt, wanted: _Wanted,
                      deadline: float | None) -> Likely | None:
        """A longer list of the likely tokens; None: it is no longer, or there is none."""
        tokens = await self._first_token(prompt, dataclasses.replace(
            wanted, limit=1, longer=True), deadline, LONGER_LIST)
        if tokens is None or tokens.likely.flaw or (
                len(tokens.likely.tokens) <= len(likely.tokens)):
            return None
        return likely.in_longer(tokens.likely)

    async def _forced(self, way: str, likely: Likely, absent: Sequence[str], prompt: Prompt,
                      wanted: _Wanted, deadline: float | None) -> Likely | None:
        """The likely tokens with the words that are absent, each forced as the only reply.

        Returns:
            None if the server forces nothing, or reports probabilities after the constraint.
        """
        listed = next(token for token, _ in likely.tokens if wanted.read(token) in wanted.words)
        for word in absent:
            form = _styled_as(word, listed)
            token = await self._first_token(prompt, dataclasses.replace(
                wanted, limit=_LEAST_TOKENS, forced=form), deadline, way)
            if token is None or token.chance is None or not form.strip().startswith(
                    token.text.strip()) or token.chance > likely.bound * _ROUNDED:
                return None
            whole = wanted.read(token.text) == word
            likely = dataclasses.replace(likely, tokens=(
                *likely.tokens, *([(token.text, token.chance)] if whole else [])))
        return likely

    async def _first_token(self, prompt: Prompt, wanted: _Wanted,
                           deadline: float | None, way: str) -> Token | None:
        """The first token of a reply; None if the request is refused, or has no tokens.

        ``way`` is taken although another request may have given it up meanwhile.
        """
        dialect = dataclasses.replace(self._dialect, again=way)
        reply = await self._server.complete(
            lambda: {'messages': messages(prompt, dialect.system_role, dialect.numbered),
                     **self._fields(dialect, wanted)}, deadline, understood=lambda failure: True)
        if isinstance(reply, _openai_server.Failure):
            return None
        tokens = read_tokens(reply['choices'][0].get('logprobs'))
        return tokens[0] if tokens else None

    def _fields(self, dialect: _Dialect, wanted: _Wanted) -> dict[str, Any]:
        s = self._settings
        fields: dict[str, Any] = {'model': s.model, dialect.token_field: max(
            wanted.limit + s.thinking_tokens, dialect.least_tokens)}
        if s.temperature >= 0:
            fields['temperature'] = s.temperature
        if s.temperature > 0:
            fields['seed'] = s.seed + wanted.draw
            if s.top_p:
                fields['top_p'] = s.top_p
        if s.reasoning_effort:
            fields['reasoning_effort'] = s.reasoning_effort
        if wanted.scored and dialect.top_logprobs:
            fields |= {'logprobs': True, 'top_logprobs': (
                _LONG_LIST if wanted.longer else dialect.top_logprobs)}
        if wanted.reasoning and dialect.stop:
            fields['stop'] = [_CLOSE]
        if wanted.json_schema is not None and dialect.structured:
            fields['response_format'] = {'type': 'json_schema', 'json_schema': {
                'name': 'place', 'strict': True, 'schema': wanted.json_schema}}
        extra = {**({'top_k': s.top_k} if s.top_k and s.temperature > 0 else {}), **self._extra,
                 **(_FORCING[dialect.again](wanted.forced) if wanted.forced else {})}
        if extra:
            fields['extra_body'] = extra
        return fields

    def _understands(self, failure: _openai_server.Failure, wanted: _Wanted,
                     prompt: Prompt) -> bool:
        """Whether an internal error of the server says what it refuses."""
        return (_PERMANENT.search(failure.message) is not None
                or self._fallback(self._dialect, failure, wanted, prompt) is not None)

    def _fallback(self, dialect: _Dialect, failure: _openai_server.Failure, wanted: _Wanted,
                  prompt: Prompt) -> _Fallback | None:
        """Way to ask further that the words of a refusal call for; None if they call for none."""
        s, text = self._settings, f'{failure.param} {failure.message}'.lower()
        change = functools.partial(dataclasses.replace, dialect)
        if not failure.refused_parameters:
            return None
        limit = max(wanted.limit + s.thinking_tokens, dialect.least_tokens)
        if limit < _LEAST_TOKENS and _TOO_FEW.search(text) and re.search(
                r'max_(?:output_|completion_|new_)?tokens', text):
            return _Fallback(change(least_tokens=_LEAST_TOKENS),
                             f'takes no limit of {limit} tokens', f'replies may have '
                             f'{_LEAST_TOKENS}; answer_tokens={_LEAST_TOKENS} says so from the '
                             'beginning')
        other = TOKEN_FIELDS[1 - TOKEN_FIELDS.index(dialect.token_field)]
        if s.token_field == 'auto' and dialect.token_field == TOKEN_FIELDS[0] and (
                _names(text, dialect.token_field)):
            return _Fallback(change(token_field=other))
        if 'logprobs' in text and dialect.top_logprobs:
            if dialect.top_logprobs > _FEW_LOGPROBS and (
                    failure.param == 'top_logprobs' or _names(text, 'top_logprobs')
                    or re.search(r'\b(max|greater|exceed|at most|less|between)', text)):
                return _Fallback(change(top_logprobs=_FEW_LOGPROBS))
            return _Fallback(change(top_logprobs=0), 'offers no probabilities of tokens',
                             'answers have none', s.logprobs == 'on' and 'logprobs')
        if prompt.system and dialect.system_role != 'user' and refuses_system(text):
            return _Fallback(change(system_role='user'), 'has no role for a system text',
                             "it begins the user's message",
                             s.system_role != 'auto' and 'system_role')
        if dialect.stop and _names(text, 'stop'):
            return _Fallback(change(stop=False))
        if wanted.json_schema is not None and dialect.structured and _NO_SCHEMA.search(text):
            return _Fallback(change(structured=False), 'has no structured output',
                             'replies are read as free text',
                             s.structured == 'on' and 'structured')
        return None

    def _fall_back(self, fallback: _Fallback, failure: _openai_server.Failure) -> None:
        """Send further requests in another way, after a refusal.

        Raises:
            RefusedError: a setting insists on what the server refuses.
        """
        if fallback.setting:
            raise RefusedError(f'{self.name}: the server {fallback.lacks} ({failure.message}); '
                               f'set {fallback.setting}=auto to do without')
        if fallback.lacks:
            _LOG.warning('%s %s (%s): %s', self.name, fallback.lacks, failure.message,
                         fallback.instead)
        self._dialect = fallback.dialect

    async def _remedy(self, failure: _openai_server.Failure) -> str:
        s, text = self._settings, f'{failure.param} {failure.message}'.lower()
        if failure.status in (401, 403) or _BAD_KEY.search(text):
            return (f'put a valid key into {_openai_server.variable(s.api_key_env)}'
                    if s.api_key_env else 'name the environment variable of the key: api_key_env')
        if failure.status == 404 or _NO_SUCH_MODEL.search(text):
            names = await self._server.models()
            return ('set model to one of the server: ' + ', '.join(names[:10]) if names else
                    'check model and base_url (it often ends in /v1)')
        if failure.status == 429:
            return 'the account has no quota left; pay, or use another one'
        if _NO_PICTURES.search(text):
            return ('serve a model that takes pictures, with its projector for pictures '
                    '(llama.cpp: --mmproj)')
        if _TOO_LONG.search(text):
            return 'start the server with a longer context'
        if _names(text, 'temperature'):
            return 'set temperature=-1 to leave it out'
        for field in ('seed', 'reasoning_effort', 'detail', 'top_p', 'top_k'):
            if _names(text, field):
                return f'change the setting {field}'
        if failure.status >= 500:
            return "read the server's own log; it fails in the same way each time"
        return 'change the settings of the backend'

    def _read(self, reply: dict[str, Any], dialect: _Dialect, scored: bool,
              reasoning: bool) -> _Message:
        choice = reply['choices'][0]
        message, finish = choice['message'], choice.get('finish_reason')
        text = self._server.redact(without_surrogates(_content(message.get('content'))))
        if finish == 'content_filter':
            return _Message(WITHHELD)
        if message.get('refusal') and not text:
            _LOG.info('%s: %s', self.name, self._server.redact_error(str(message['refusal'])))
            return _Message(REFUSED)
        likely = None
        if scored and dialect.top_logprobs:
            tokens = read_tokens(choice.get('logprobs'))
            self._note_logprobs(tokens is not None, bool(text))
            likely = likely_at_answer(_content(message.get('content')), tokens or (), reasoning)
            if likely is not None and likely.flaw:
                self._refuse_probabilities(likely.flaw)
                likely = None
        closed = _CLOSE in after_thoughts(text)
        if reasoning and choice.get('stop_reason') == _CLOSE and not closed:
            text += _CLOSE  # vLLM says which word it stopped at, and leaves it out
        return _Message(text, finish == 'length', likely)

    def _no_answer(self, reply: dict[str, Any]) -> tuple[str, bool]:
        """Reason and remedy why a reply is no answer ('' if it is one); and whether to ask again.

        A refusal of the model and a filtered reply are answers that cannot be read.
        """
        s, choice = self._settings, reply['choices'][0]
        message, finish = choice['message'], choice.get('finish_reason')
        if finish == 'error' or choice.get('error'):
            said = _openai_server.words(choice.get('error')) or 'it does not say why'
            return (f'{self.name}: the server broke the reply off with an error '
                    f'({self._server.redact_error(said)}); ask again later'), True
        if has_nan(choice.get('logprobs')):
            return (f'{self.name}: a token of the reply has a probability that is not a number '
                    f'(NaN), so that the model has failed; load it in another precision, or ask '
                    f'for no probabilities (logprobs=off)'), True
        if finish == 'content_filter' or message.get('refusal'):
            return '', False
        text = _content(message.get('content'))
        if after_thoughts(text).strip():
            return '', False
        thought = bool(text.strip()) or _thought(reply)
        if finish == 'length':
            why = ('the model spent all tokens of the reply on reasoning of its own' if thought
                   else 'the reply has no content, and its limit of tokens is used up')
            return (f'{self.name}: {why}; set thinking_tokens={max(4096, 2 * s.thinking_tokens)} '
                    f'or more, or turn the reasoning off with reasoning_effort or '
                    f'extra_body'), False
        why = ('the reply holds reasoning alone; turn that off with reasoning_effort or '
               'extra_body, or choose a server that reports the answer, too' if thought else
               f'the reply has no content (finish_reason {finish!r}); ask again later, or choose '
               f'another model or server')
        return f'{self.name}: {why}', True

    def _refuse_probabilities(self, why: str) -> None:
        """Log that the probabilities of a reply cannot be right, once for each reason."""
        if self._settings.logprobs == 'on':
            raise BackendError(f'{self.name}: {why}; set logprobs=auto to do without '
                               f'probabilities where they cannot be right')
        kind = why.rstrip('0123456789.e+- ')
        if kind not in self._refused:
            self._refused.add(kind)
            _LOG.warning('%s: %s: such answers have no probabilities (logprobs=off asks for none)',
                         self.name, why)

    def _note_logprobs(self, there: bool, text: bool) -> None:
        """Whether a reply (with a text) held logprobs; they are given up after some without."""
        self._offered = self._offered or there
        if there or not text:
            return
        if self._settings.logprobs == 'on':
            raise BackendError(f'{self.name}: the reply holds no logprobs; set logprobs=auto '
                               f'to do without probabilities')
        self._without += 1
        if self._without >= _PATIENCE and self._dialect.top_logprobs and not self._offered:
            _LOG.warning('%s offers no probabilities of tokens (there are none in the first %d '
                         'replies): answers have none', self.name, self._without)
            self._dialect = dataclasses.replace(self._dialect, top_logprobs=0)

    def _stopped_in_thoughts(self, reply: dict[str, Any]) -> bool:
        """Whether the stop word may have ended a reply before its answer; not sent again then."""
        choice = reply['choices'][0]
        text = _content(choice['message'].get('content'))
        if not (_thought(reply) or after_thoughts(text) != text):
            return False
        if self._dialect.stop:
            _LOG.info('%s thinks before it answers: no stop word is sent', self.name)
            self._dialect = dataclasses.replace(self._dialect, stop=False)
        return choice.get('finish_reason') == 'stop' and _OPEN not in after_thoughts(text)

    def _colour_of(self, picture: NDArray[np.uint8] | None) -> Said:
        """Ask the model for the colour of a uniform picture, or without a picture.

        Raises:
            BackendError: the server cannot be reached, or would refuse all further requests.
        """
        shown = [] if picture is None else [self._image(picture)]
        prompt = Prompt('', (*shown, QUESTION))
        try:
            found = self._call(functools.partial(self._reply_to, prompt, _Wanted(_LEAST_TOKENS)),
                               Deadline(_CHECK_S), 'a check of pictures')
        except DeadlineError as error:
            return Said(None, failure=str(error))
        if found.refused:
            return Said(None, failure=found.failure, refused=True)
        return Said(found.prompt_tokens, '' if found.text in (REFUSED, WITHHELD, NO_ANSWER)
                    else found.text)

    def _parts(self, parts: Sequence[Part]) -> tuple[str | dict[str, Any], ...]:
        """Texts and images as the protocol wants them; the same image is encoded once.

        Raises:
            BackendError: there is an image, and it was found out that images are dropped.
            SpendingCapError: a cap is reached while that is found out.
        """
        if not all(isinstance(part, str) for part in parts):
            self._before_pictures()
        return tuple(part if isinstance(part, str) else self._image(part) for part in parts)

    def _check_order(self, prompt: Prompt, deadline: Deadline) -> None:
        """Find out, once, whether the chat template moves pictures; where it matters first."""
        if not (self._order_to_check and prompt.depends_on_order):
            return
        self._order_to_check = False
        pictures = [self._image(colour_picture(colour)) for colour in ('red', 'blue')]
        asked = messages(Prompt('', (FIRST, pictures[0], SECOND, pictures[1])))
        rendered = self._call(functools.partial(
            self._server.rendered, self._settings.model, asked), deadline,
            'a check of the chat template')
        if not moves_pictures(rendered):
            return
        number = self._settings.number_pictures == 'auto'
        _LOG.warning('%s: the chat template moves pictures away from the texts before them: %s',
                     self.name, 'several pictures are numbered in words' if number else
                     'texts such as "Now:" and "Goal:" lose theirs; set number_pictures=auto')
        if number:
            self._dialect = dataclasses.replace(self._dialect, numbered=True)

    def _image(self, image: Any) -> dict[str, Any]:
        kind, key = self._settings.image_format, picture_id(image)
        with self._lock:
            found = self._images.get(key)
            if found is None:
                data = base64.b64encode(encode(image, kind)).decode()
                url = {'url': f'data:{MEDIA[kind]};base64,{data}'}
                if self._settings.detail:
                    url['detail'] = self._settings.detail
                found = {'type': 'image_url', 'image_url': url}
                while len(self._images) >= _MEDIA_KEPT:
                    del self._images[next(iter(self._images))]
                self._images[key] = found
        return found


def _reply(message: _Message, unknown: bool, limit: int) -> Answer:
    """The answer that a message holds.

    Where neither yes nor no is among the likely first words ("The answer is no."), it has no
    probabilities. Where only one is, that of the other is bounded: by all that it may have, and by
    that of the one that is listed, below which it is set, so that ``Answer.bound`` knows it.

    Args:
        message: the reply.
        unknown: whether "unknown" was offered, so that it has a probability, too.
        limit: the most tokens that the reply was given.
    """
    words, likely = _ANSWERS[:3 if unknown else 2], message.likely
    cut_at = limit if message.truncated else 0
    if likely is None or not likely.lists(words[:2], _answer_word):
        return Answer(message.text, cut_at=cut_at)
    p_yes, p_no, *rest = likely.probabilities(words, _answer_word)
    absent = likely.absent(words[:2], _answer_word)
    if 'yes' in absent:
        p_yes = min(p_yes, math.nextafter(p_no, 0.0))
    elif absent:
        p_no = min(math.nextafter(p_yes, 0.0), p_no)
    return Answer(message.text, p_yes, p_no, rest[0] if rest else None, bool(absent), cut_at)


def _answer_word(token: str) -> str:
    """A token in small letters, other words for yes and no as these.

    Any beginning of "unknown" of two letters or more is that word.
    """
    word = bare_word(token)
    return 'unknown' if begins_unknown(word) else _SYNONYMS.get(word, word)


def _styled_as(word: str, example: str) -> str:
    """A word in small letters with the white space and the capitals of another token."""
    bare = example.strip()
    space = example[:len(example) - len(example.lstrip())]
    return space + (word.upper() if bare.isupper() and len(bare) > 1 else
                    word.capitalize() if bare[:1].isupper() else word)


def _content(content: object) -> str:
    """A message's text: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return ''.join(part['text'] for part in parts
                   if isinstance(part, dict) and isinstance(part.get('text'), str))


def _thought(reply: dict[str, Any]) -> bool:
    """Whether tokens went into reasoning that is not part of the reply."""
    message = reply['choices'][0]['message']
    usage = reply.get('usage')
    details = usage.get('completion_tokens_details') if isinstance(usage, dict) else None
    return bool(message.get('reasoning_content') or message.get('reasoning')
                or (isinstance(details, dict) and details.get('reasoning_tokens')))


def _names(text: str, field: str) -> bool:
    """Whether a message names a field of the request."""
    return re.search(rf'(?<![\w-]){field}(?![\w-])', text) is not None


def _extra_body(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        extra = load_json(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f'backend openai: extra_body is not JSON ({error})') from error
    if not isinstance(extra, dict) or set(extra) & set(_OURS):
        raise InputError(f'backend openai: extra_body must be a JSON object without '
                         f'{", ".join(_OURS)}')
    return extra
