"""``scripted``: replies from a file; no model. For dry runs of methods, and for tests.

The file is YAML or JSON::

    replies:                     # to prompts; a list begins anew with each episode, and with
                                 # each cluster of samples, such as a picture
      - {plan: [{action: moveblock, parameters: [r, c2]}]}    # data is sent as JSON text
      - 'I think that the plan is done.'
    repeat: last                 # after the end of a list: last, or error (the default)
    answers:                     # to yes/no questions, by their text
      'Is the red block on top of the green block?': 'Yes'
      'Is the red block the topmost of its column?': {text: 'Yes', p_yes: 0.9, p_no: 0.1}
      default: 'No'
    locate:                      # to requests to point, by what is to be found
      the red mug: '[(0.31, 0.42)]'
      the handle of the pan: ['[(0.5, 0.6)]', 'I do not see it.']     # one for each attempt
      default: '[]'
    detect:                      # to requests to find all things; a list begins anew likewise
      - [{label: red mug, box: [0.2, 0.4, 0.3, 0.5]}, {label: tray, box: [0.5, 0.4, 0.8, 0.6]}]
    coordinates: unit_xy         # convention of places; unit_xy is the default
    resized: [644, 476]          # width and height that resized_pixel_xy counts in
    kinds:                       # to queries of any other kind, by its name; lists likewise
      count: [{count: 3}, 'There are two.']     # data is the reply, text is read as the kind does

``replies``, ``detect`` and each of ``kinds`` may also be mappings of episodes to lists: by episode
id, by the name of the problem, or ``default``. A file that is a list holds replies alone. What
comes after the end of a list of ``locate`` is for ``repeat`` to say, too. A prompt
whose last text is an entry of ``answers`` gets that answer, where the file has no ``replies``.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import pydantic
import yaml
from pydantic import BeforeValidator, Field, PositiveInt

from sightplan.model import BackendError, InputError, Usage, param, user_path
from sightplan.model.query import (
    Deadline,
    ModelByKind,
    Query,
    Reply,
    Traits,
    answers,
    ask_in_batches,
    known_kinds,
)
from sightplan.model.reading import Record, validated
from sightplan.model.yaml_text import load_yaml
from sightplan.queries import (
    Answer,
    Detect,
    DetectReply,
    Generate,
    Locate,
    LocateReply,
    TextReply,
    YesNo,
)
from sightplan.queries.chat import ChatStyle
from sightplan.queries.coordinates import Coordinates
from sightplan.queries.detect import read_detections
from sightplan.queries.locate import read_places
from sightplan.vlm.wrapping import Prompted

T = TypeVar('T')
_DEFAULT = 'default'


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the backend ``scripted``."""

    script: str = param('', 'File of replies, .yaml or .json: answers: {"Is it red?": {text: '
                        '"Yes", p_yes: 0.9, p_no: 0.1}, default: "No"} (to yes/no questions, by '
                        'their text); replies: ["...", ...] (to prompts, in order; the list '
                        'begins anew with each episode, and with each picture of samples; '
                        'repeat: last says the last one again); locate: {the red mug: '
                        '"[(0.31, 0.42)]"} (to requests to point); detect and kinds, see the '
                        'documentation of sightplan_models.scripted')


def content(settings: Settings, kind: object = None) -> str:
    """Hash of the file; see ``api.backend_content``."""
    return hashlib.sha256(user_path(settings.script).read_bytes()).hexdigest()[:12]


class Backend(Prompted):
    """Model that replies what a file states.

    Args:
        settings: see Settings.

    Raises:
        InputError: the file is not given, not there, or not of the form; names file and field.
    """

    accepts = frozenset({Query})
    traits = Traits(pixels=False, texts=True, history=True)

    def __init__(self, settings: Settings) -> None:
        super().__init__(_Script(settings))


def _text(value: object) -> str:
    """A reply's text; an unquoted yes or no is a truth value in YAML.

    Raises:
        ValueError: it is neither a text nor data.
    """
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    raise ValueError('must be a text (quote it), or data to be sent as JSON')


def _answer(value: object) -> object:
    return value if isinstance(value, dict) else {'text': value}


def _in_a_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _by_episode(value: object) -> object:
    return {_DEFAULT: value} if isinstance(value, list) else value


_Text = Annotated[str, BeforeValidator(_text)]
_Chance = Annotated[float, Field(ge=0, le=1)]
_Lists = Annotated[dict[str, list[_Text]], BeforeValidator(_by_episode)]
"""Replies by episode, problem or ``default``."""
_DataOrText = Annotated[dict[str, Any] | _Text, Field(union_mode='left_to_right')]
"""A reply as data, or as text; data are not made text here."""
_Attempts = Annotated[list[_Text], BeforeValidator(_in_a_list)]
"""Replies to one attempt after another."""


class _Said(Record):
    """The answer to a yes/no question."""

    text: _Text
    p_yes: _Chance | None = None
    p_no: _Chance | None = None
    p_unknown: _Chance | None = None


class _File(Record):
    """Content of a file of replies; see the module."""

    replies: _Lists | None = None
    repeat: Literal['error', 'last'] = 'error'
    answers: dict[str, Annotated[_Said, BeforeValidator(_answer)]] = Field(default_factory=dict)
    locate: dict[str, _Attempts] = Field(default_factory=dict)
    detect: _Lists = Field(default_factory=dict)
    coordinates: Coordinates = Coordinates.UNIT_XY
    resized: tuple[PositiveInt, PositiveInt] | None = None
    kinds: dict[str, Annotated[dict[str, list[_DataOrText]],
                               BeforeValidator(_by_episode)]] = Field(default_factory=dict)

    @pydantic.model_validator(mode='after')
    def _has_content(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f'must be a list of replies, or a mapping of '
                             f'{", ".join(type(self).model_fields)}')
        return self


class _Script(ModelByKind):
    """The replies of a file; kinds that it does not have are asked by chat."""

    def __init__(self, settings: Settings) -> None:
        if not settings.script:
            raise InputError('backend scripted: script is missing; name a file of replies with '
                             '--backend-option script=replies.yaml')
        self._path = user_path(settings.script)
        raw, data = _load(self._path)
        self._file = file = validated(_File, {'replies': data} if isinstance(data, list) else data,
                                      self._path)
        if file.coordinates is Coordinates.RESIZED_PIXEL_XY and file.resized is None:
            raise InputError(f'{self._path}: resized is missing; {file.coordinates} counts in the '
                             'pixels of a picture of that width and height')
        self.name = f'scripted({self._path.name}@{hashlib.sha256(raw).hexdigest()[:12]})'
        self._episode = ''
        self._given: Counter[str] = Counter()
        self._requests = 0

    @property
    def usage(self) -> Usage:
        """Number of requests so far."""
        return Usage(self._requests)

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Begin the list of an episode."""
        self._episode = episode_id
        self._given.clear()

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Reply what the file states; see ``Model``."""
        return ask_in_batches(queries, lambda batch: (
            [self._other(query) for query in batch] if batch[0].kind in self._file.kinds
            else self._ask_batch(batch, deadline)))

    @property
    def accepts(self) -> frozenset[type[Query[Any]]]:  # type: ignore[override]
        """Kinds of queries for which the file has a section."""
        return frozenset({YesNo, Generate, Locate, Detect, *(
            kind for name, kind in known_kinds().items() if name in self._file.kinds)})

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Answer by the texts of the questions.

        Raises:
            BackendError: the file has no answer to one of them, and no default.
        """
        return [self._answer(query.question.text) for query in queries]

    def _answer(self, text: str) -> Answer:
        """The answer to a question by its text; raises as ``answer``."""
        said = self._file.answers.get(text, self._file.answers.get(_DEFAULT))
        if said is None:
            raise BackendError(f'{self._path}: answers has no entry {text!r}; add it, or an '
                               f'entry {_DEFAULT!r}')
        self._requests += 1
        return Answer(said.text, said.p_yes, said.p_no, said.p_unknown)

    @answers(Generate)
    def generate(self, query: Generate, deadline: Deadline) -> TextReply:
        """The next reply of the episode's list; of a file without replies an answer to the text.

        Raises:
            BackendError: there is none left, or no list for this episode.
        """
        texts = [part for part in query.parts if isinstance(part, str)]
        if self._file.replies is None and texts and texts[-1] in self._file.answers:
            return TextReply(self._answer(texts[-1]).text)
        return TextReply(self._next('replies', self._file.replies or {}))

    @answers(Detect)
    def detect(self, query: Detect, deadline: Deadline) -> DetectReply:
        """The next reply of the episode's list, read in the file's convention.

        Raises:
            BackendError: there is none left, or no list for this episode.
        """
        return read_detections(self._next('detect', self._file.detect), self._file.coordinates,
                               query.size, self._file.resized)

    def _other(self, query: Query[Any]) -> Reply:
        """The next reply of the episode's list to a query of another kind.

        Raises:
            BackendError: there is none left, or no list for this episode.
            InputError: it is data of another form than the kind's replies.
        """
        reply = self._next(f'kinds.{query.kind}', self._file.kinds[query.kind])
        if isinstance(reply, Mapping):
            return query.reply_type.from_json(reply)
        said: Reply = query.as_chat(ChatStyle()).read(TextReply(reply))
        return said

    def _next(self, kind: str, lists: Mapping[str, list[T]]) -> T:
        found = next((name for name in _names(self._episode) if name in lists), None)
        if found is None:
            raise BackendError(f'{self._path}: {kind} has no list for episode '
                               f'{self._episode or "(none)"}; add it, or one named {_DEFAULT!r}')
        replies, given = lists[found], self._given[kind]
        if given >= len(replies) and not (self._file.repeat == 'last' and replies):
            raise BackendError(f'{self._path}: all {len(replies)} replies of list {found!r} of '
                               f'{kind} are used up in episode {self._episode or "(none)"}; add '
                               'more, or "repeat: last"')
        self._given[kind] += 1
        self._requests += 1
        return replies[min(given, len(replies) - 1)]

    @answers(Locate)
    def locate(self, query: Locate, deadline: Deadline) -> LocateReply:
        """The reply to a target and an attempt, read in the file's convention.

        Raises:
            BackendError: the file has none for the target, and no default, or none left.
        """
        target = query.target.text
        name = target if target in self._file.locate else _DEFAULT
        replies = self._file.locate.get(name)
        if replies is None:
            raise BackendError(f'{self._path}: locate has no entry {target!r}; add it, or an '
                               f'entry {_DEFAULT!r}')
        if query.attempt >= len(replies) and not (self._file.repeat == 'last' and replies):
            raise BackendError(f'{self._path}: locate[{name!r}] has {len(replies)} replies, and '
                               f'attempt {query.attempt} (counted from 0) was asked for; add '
                               'more, or "repeat: last"')
        self._requests += 1
        return read_places(replies[min(query.attempt, len(replies) - 1)], query,
                           self._file.coordinates, self._file.resized)


def _names(episode_id: str) -> Iterator[str]:
    """Names of an episode's list, the most telling first."""
    yield episode_id
    without_trial = episode_id.rpartition('#')[0] or episode_id
    yield without_trial
    yield without_trial.rpartition('/')[2]
    yield _DEFAULT


def _load(path: Path) -> tuple[bytes, Any]:
    """The file, and its content; JSON is YAML, too."""
    try:
        raw = path.read_bytes()
        return raw, load_yaml(raw.decode())
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror}); name a file of '
                         f'replies') from error
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InputError(f'{path}: is neither YAML nor JSON ({error})') from error
