"""Recording of a backend's requests and replies, and reading them back.

A recording is a file of JSON lines, written as the replies come:

* ``recording``, the first line: format, exact name of the model, backend and its settings;
* ``episode``: an episode begins. If it begins once more (a resumed run repeats what was broken
  off), only what follows the last start counts;
* ``prompt``: the words around yes/no questions, once per file and session; ``yes_no`` lines name
  it by its hash;
* ``yes_no``: one question about one image, and the reply; ``text``: a prompt and its reply;
* ``locate``: a request to point, and the reply; ``check``: whether a place is right, of a backend
  that tells so in a way of its own (another one is asked a question, which is a ``yes_no`` line);
* ``choice``: options to choose among, and what was chosen, of a backend with a way of its
  own (the choice of another one is read from a ``text`` line);
* ``detect``: a request to find all things in a picture, and the reply;
* ``failure``: a call that ended with an error of sightplan: its keys, name and message of the
  error (without keys and passwords).

A request is known by its key: SHA-256 over the canonical JSON of all that a model is shown, with
images by the hash of their shape and exact bytes, and of the limits of the reply. The backend
``replay`` answers from such a file. Each call of the backend is written at once; a last line that
a crash cut off is left out by readers, and removed before more is appended. More is appended only
under the settings that replies depend on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import (
    GroundingPrompt,
    InfrastructureError,
    InputError,
    Observation,
    Region,
    SightplanError,
    Usage,
    errors,
    identity_values,
    used_between,
    user_path,
)
from sightplan.model.journal import Journal, Line, read_lines
from sightplan.model.redaction import without_secrets
from sightplan.model.type_words import type_in_words
from sightplan.model.whole_files import replacing
from sightplan.vlm import _secrets
from sightplan.vlm.api import (
    Backend,
    BackendUser,
    MadeForDomain,
    Part,
    TextReply,
    TextRequest,
    YesNoReply,
    YesNoRequest,
    can_answer_texts,
    can_locate,
)
from sightplan.vlm.choosing import ChoiceReply, ChoiceRequest
from sightplan.vlm.detecting import Detection, DetectReply, DetectRequest, can_detect
from sightplan.vlm.locating import CheckRequest, LocateReply, LocateRequest, PlaceChecker

FORMAT = 3
NAME = 'replies.jsonl'
"""Name of the recording in a run directory."""
_NO_RECORDING = ('this is no recording of replies (made with "sightplan run --record"); name '
                 'another file')
IMAGES = 'images'
"""Folder of the images beside a recording, as ``<image_id>.png``."""


def part_id(part: Part) -> str:
    """The hash of an image of a prompt, as ``Observation.image_id``; '' for text."""
    return '' if isinstance(part, str) else Observation(image=part).image_id


def yes_no_keys(request: YesNoRequest) -> list[str]:
    """One key per question: see the module."""
    prompt, seen = request.prompt, request.observation
    shared = {'kind': 'yes_no', 'image': seen.image_id, 'observation': seen.text,
              **_prompt_content(prompt)}
    return [_digest({**shared, 'question': prompt.ask(question.text)})
            for question in request.questions]


def text_key(request: TextRequest) -> str:
    """The key of a prompt: see the module."""
    return _digest({'kind': 'text', 'system': request.system, 'parts': _parts(request),
                    'max_tokens': request.max_tokens})


def locate_key(request: LocateRequest) -> str:
    """The key of a request to point: see the module."""
    return _digest({'kind': 'locate', 'start': request.start, 'depth': array_id(request.depth_m),
                    **_asked(request)})


def check_key(request: CheckRequest) -> str:
    """The key of a place to be checked: see the module."""
    return _digest({'kind': 'check', 'region': request.region.to_json(),
                    'mask': array_id(request.mask), **_asked(request)})


def choice_key(request: ChoiceRequest) -> str:
    """The key of options to choose among: see the module."""
    return _digest({'kind': 'choice', **_choice(request)})


def detect_key(request: DetectRequest) -> str:
    """The key of a request to find all things: see the module."""
    return _digest({'kind': 'detect', 'image': part_id(request.image),
                    'depth': array_id(request.depth_m), 'attempt': request.attempt})


def array_id(array: NDArray[Any] | None) -> str:
    """Hash of an array's shape, type and bytes; '' for none."""
    if array is None:
        return ''
    digest = hashlib.sha256(f'{array.shape} {array.dtype}'.encode())
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def has_image(request: YesNoRequest | TextRequest) -> bool:
    """Whether a request shows an image, so that its key tells situations apart."""
    if isinstance(request, YesNoRequest):
        return request.observation.image is not None
    return any(not isinstance(part, str) for part in request.parts)


class RecordingBackend(BackendUser):
    """A backend whose requests and replies are written down; else it is the one it wraps.

    Args:
        backend: any backend.
        path: the file; made, with its folder, if it is not there.
        name: name of the backend, for the file's first line.
        settings: the backend's settings dataclass, likewise (backends keep secrets out of it).
        images: also write each image once, as PNG, to ``images/<image_id>.png`` beside the file.

    Raises:
        InputError: the file cannot be written, is in use, is no recording, or is one of another
            model or of other settings.
    """

    def __init__(self, backend: Backend, path: Path | str, *, name: str = '',
                 settings: Any = None, images: bool = False) -> None:
        self.needs_truth = backend.needs_truth
        self.needs_pixels = backend.needs_pixels
        self.generates = backend.generates
        self.answers = bool(getattr(backend, 'answers', True))
        self.answers_texts = can_answer_texts(backend)
        self.locates = can_locate(backend)
        self.reads_prompt = bool(getattr(backend, 'reads_prompt', True))
        super().__init__(backend)
        self._images = images
        self._episode = ''
        self._prompts: dict[GroundingPrompt, str] = {}
        self._drawn: set[str] = set()
        self._lock = threading.Lock()
        self.path = user_path(path).resolve()
        self._journal = _taken_up(self.path, {
            'kind': 'recording', 'format': FORMAT, 'model': backend.model, 'backend': name,
            'settings': {} if settings is None else dataclasses.asdict(settings),
            'counted': backend.usage is not None, 'generates': bool(backend.generates),
            'answers_texts': self.answers_texts},
            {} if settings is None else identity_values(settings))
        if isinstance(backend, PlaceChecker):
            self.check = self._check
        self.chooses = bool(getattr(backend, 'chooses', False))
        self.detects = can_detect(backend)

    @property
    def locator_model(self) -> str:
        """Exact name of what points, where the backend has a model of its own for that."""
        return str(getattr(self._backend, 'locator_model', ''))

    @property
    def chooser_model(self) -> str:
        """Exact name of what chooses, likewise."""
        return str(getattr(self._backend, 'chooser_model', ''))

    @property
    def detector_model(self) -> str:
        """Exact name of what finds things, likewise."""
        return str(getattr(self._backend, 'detector_model', ''))

    @property
    def made_for(self) -> str:
        """As of the wrapped backend; contract in ``api.MadeForDomain``."""
        return self._backend.made_for if isinstance(self._backend, MadeForDomain) else ''

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Note the episode, and tell the wrapped backend if it cares."""
        self._episode = episode_id
        self._journal.append({'kind': 'episode', 'episode': episode_id, 'split': split})
        super().start_episode(episode_id, split)

    def answer(self, request: YesNoRequest) -> list[YesNoReply]:
        """Answer all questions, in order, and write them down; contract in ``Backend``.

        Raises:
            InfrastructureError: the file cannot be written (disk full).
        """
        with self._lock:
            before, keys = self._backend.usage, yes_no_keys(request)
            try:
                replies = self._backend.answer(request)
            except SightplanError as error:
                partial = error.partial or [None] * len(keys)
                self._commit([*self._answered(request, partial), self._failure(
                    [key for key, reply in zip(keys, partial, strict=False) if reply is None],
                    [request.observation.image], error)], before, [request.observation.image])
                raise
            self._commit(self._answered(request, replies), before, [request.observation.image])
        return replies

    def _answered(self, request: YesNoRequest, replies: Sequence[YesNoReply | None],
                  ) -> list[dict[str, Any]]:
        """The lines of the questions that were answered, with that of the prompt if it is new."""
        prompt, lines = self._prompt(request.prompt)
        image = request.observation.image_id
        for question, key, reply in zip(request.questions, yes_no_keys(request), replies,
                                        strict=False):
            if reply is not None:
                lines.append({
                    'kind': 'yes_no', 'episode': self._episode, 'key': key, 'image': image,
                    'prompt': prompt, 'question': question.text, 'text': reply.text,
                    'p_yes': _number(reply.p_yes), 'p_no': _number(reply.p_no),
                    'p_unknown': _number(reply.p_unknown)})
        return lines

    def generate(self, request: TextRequest) -> TextReply:
        """Reply in free text, and write it down; contract in ``Backend``.

        Raises:
            InfrastructureError: the file cannot be written (disk full).
        """
        with self._lock:
            before = self._backend.usage
            with self._failures([text_key(request)], before, request.parts):
                reply = self._backend.generate(request)
            self._commit([{
                'kind': 'text', 'episode': self._episode, 'key': text_key(request),
                'system': request.system, 'parts': _parts(request),
                'max_tokens': request.max_tokens, 'text': reply.text,
                'truncated': reply.truncated}], before, request.parts)
        return reply

    def locate(self, request: LocateRequest) -> LocateReply:
        """Find something in a picture, and write it down; contract in ``Locator``.

        Raises:
            InfrastructureError: the file cannot be written (disk full).
        """
        backend: Any = self._backend
        with self._lock:
            before, key = backend.usage, locate_key(request)
            with self._failures([key], before, [request.image]):
                reply: LocateReply = backend.locate(request)
            self._commit([{
                'kind': 'locate', 'episode': self._episode, 'key': key, **_asked(request),
                'start': request.start, 'depth': array_id(request.depth_m),
                'model': self.locator_model, 'text': reply.text,
                'regions': [region.to_json() for region in reply.regions],
                'probability': _number(reply.probability), 'unread': reply.unread,
                'rounded': reply.rounded, 'unknown': reply.unknown,
                'named': _number(reply.named)}], before, [request.image])
        return reply

    def detect(self, request: DetectRequest) -> DetectReply:
        """Find all things in a picture, and write it down; contract in ``detecting.Detector``.

        Raises:
            InfrastructureError: the file cannot be written (disk full).
        """
        backend: Any = self._backend
        with self._lock:
            before, key = backend.usage, detect_key(request)
            with self._failures([key], before, [request.image]):
                reply: DetectReply = backend.detect(request)
            self._commit([{
                'kind': 'detect', 'episode': self._episode, 'key': key,
                'image': part_id(request.image), 'attempt': request.attempt,
                'model': self.detector_model, 'text': reply.text, 'unread': reply.unread,
                'detections': [_detection(one) for one in reply.detections]}],
                before, [request.image])
        return reply

    def _check(self, request: CheckRequest) -> YesNoReply:
        """Whether a place is right, in the backend's own way, and write it down."""
        backend: Any = self._backend
        with self._lock:
            before, key = backend.usage, check_key(request)
            with self._failures([key], before, [request.image]):
                reply: YesNoReply = backend.check(request)
            self._commit([{
                'kind': 'check', 'episode': self._episode, 'key': key, **_asked(request),
                'region': request.region.to_json(), 'mask': array_id(request.mask),
                'text': reply.text, 'p_yes': _number(reply.p_yes), 'p_no': _number(reply.p_no),
                'p_unknown': _number(reply.p_unknown)}], before, [request.image])
        return reply

    def choose(self, request: ChoiceRequest) -> ChoiceReply:
        """Choose among options, and write it down; contract in ``choosing.Chooser``.

        Raises:
            InfrastructureError: the file cannot be written (disk full).
        """
        backend: Any = self._backend
        with self._lock:
            before, key = backend.usage, choice_key(request)
            with self._failures([key], before, request.parts):
                reply: ChoiceReply = backend.choose(request)
            self._commit([{
                'kind': 'choice', 'episode': self._episode, 'key': key, **_choice(request),
                'text': reply.text, 'chosen': reply.chosen, 'unread': reply.unread,
                'probabilities': None if reply.probabilities is None
                else [float(p) for p in reply.probabilities]}], before, request.parts)
        return reply

    def carry_over(self, spent: Usage) -> None:
        """Tell a backend with a cap what earlier sessions of the run spent."""
        carry = getattr(self._backend, 'carry_over', None)
        if carry is not None:
            carry(spent)

    def close(self) -> None:
        """Close the file, and the wrapped backend if it can be closed."""
        self._journal.close()
        close = getattr(self._backend, 'close', None)
        if close is not None:
            close()

    def _prompt(self, prompt: GroundingPrompt) -> tuple[str, list[dict[str, Any]]]:
        """Hash of a prompt, and the line that has it if that is not written yet."""
        if prompt in self._prompts:
            return self._prompts[prompt], []
        digest = self._prompts[prompt] = _digest(_prompt_content(prompt))[:16]
        return digest, [{'kind': 'prompt', 'prompt': digest, **dataclasses.asdict(prompt)}]

    @contextlib.contextmanager
    def _failures(self, keys: list[str], before: Usage | None,
                  parts: Sequence[Part | None]) -> Iterator[None]:
        """Write down that a call failed, if it does."""
        try:
            yield
        except SightplanError as error:
            self._commit([self._failure(keys, parts, error)], before, parts)
            raise

    def _failure(self, keys: list[str], parts: Sequence[Part | None], error: SightplanError,
                 ) -> dict[str, Any]:
        """The line of a call that failed."""
        return {'kind': 'failure', 'episode': self._episode, 'keys': keys,
                'images': [part_id(part) for part in parts
                           if part is not None and not isinstance(part, str)],
                'error': type(error).__name__,
                'message': _secrets.redact(without_secrets(str(error)))}

    def _commit(self, lines: list[dict[str, Any]], before: Usage | None,
                parts: Sequence[Part | None]) -> None:
        """Write the lines of one call; the last one bears what the call cost."""
        spent = used_between(before, self._backend.usage)
        if spent is not None and lines:
            lines[-1]['usage'] = dataclasses.asdict(spent)
        if self._images:
            self._draw(parts)
        self._journal.append(*lines)

    def _draw(self, parts: Sequence[Part | None]) -> None:
        from sightplan.vlm.images import encode

        for part in parts:
            if part is None or isinstance(part, str) or part_id(part) in self._drawn:
                continue
            self._drawn.add(part_id(part))
            path = self.path.parent / IMAGES / f'{part_id(part)}.png'
            if path.exists():
                continue
            try:
                path.parent.mkdir(exist_ok=True)
                with replacing(path) as whole:
                    whole.write_bytes(encode(part, 'png'))
            except OSError as error:
                raise InfrastructureError(f'{path}: cannot be written '
                                          f'({error.strerror})') from error


recorded = RecordingBackend


def _taken_up(path: Path, header: Mapping[str, Any], identity: Mapping[str, Any]) -> Journal:
    """The file, open for this process alone."""
    journal = Journal(path, synced=False)
    journal.open()
    try:
        journal.lock()
        lines = journal.take_up()[1].lines
        if not lines:
            journal.append(header)
            return journal
        there = _header(lines[0])
        if there['model'] != header['model']:
            raise InputError(f'{path}: holds replies of {there["model"]!r}, not of '
                             f'{header["model"]!r}; record to another file')
        if other := _difference(there, header, identity):
            raise InputError(f'{path}: was recorded with {other}; set that again, or '
                             f'record to another file')
    except BaseException:
        journal.close()
        raise
    return journal


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded reply.

    Attributes:
        key: of the request.
        reply: to it; None if the call failed.
        images: ids of the images it showed.
        question: text of the question, '' for a prompt.
        usage: what the call cost whose last reply this is; None if nobody counted.
        error: with which the call failed.
        checks: whether it answers whether a place is right, in the backend's own way.
        locator_model: exact name of what pointed, where that is another model than the backend's.
        detector_model: exact name of what found things, likewise.
    """

    key: str
    reply: YesNoReply | TextReply | LocateReply | ChoiceReply | DetectReply | None
    images: tuple[str, ...] = ()
    question: str = ''
    usage: Usage | None = None
    error: SightplanError | None = None
    checks: bool = False
    locator_model: str = ''
    detector_model: str = ''


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file holds.

    Attributes:
        path: the file.
        model: exact name of the recorded model.
        counted: whether usage was counted.
        generates: whether the model writes.
        answers_texts: whether it answers yes/no questions about texts without a picture.
        episodes: episode id ('' before any began) to its entries, in order.
    """

    path: Path
    model: str
    counted: bool
    generates: bool
    answers_texts: bool
    episodes: Mapping[str, Sequence[Entry]]


def read_recording(path: Path) -> Recording:
    """Read a file; a last line that was cut off is left out.

    Raises:
        InputError: there is no such file, or it is no recording; names file and line.
    """
    lines = read_lines(path).lines
    if not lines:
        raise InputError(f'{path}:1: {_NO_RECORDING}')
    header = _header(lines[0])
    return Recording(path, header['model'], bool(header.get('counted')),
                     bool(header.get('generates')), bool(header.get('answers_texts', True)),
                     _entries(lines[1:]))


def _difference(there: Mapping[str, Any], header: Mapping[str, Any],
                identity: Mapping[str, Any]) -> str:
    """What a recording was made with instead; '' if nothing that replies depend on."""
    if there.get('backend') and header['backend'] and there['backend'] != header['backend']:
        return f'backend {there["backend"]!r}, not {header["backend"]!r}'
    found = there.get('settings')
    old: dict[str, Any] = found if isinstance(found, dict) else {}
    for name, value in json.loads(json.dumps(identity)).items():
        if name in old and old[name] != value:
            return f'{name} = {old[name]!r}, not {value!r}'
    return ''


def _header(line: Line) -> dict[str, Any]:
    header = line.data
    if header.get('kind') != 'recording':
        raise InputError(f'{line.where}: {_NO_RECORDING}')
    if header.get('format') != FORMAT or not isinstance(header.get('model'), str):
        raise InputError(f'{line.where}: is a recording of format {header.get("format")!r}; this '
                         f'version reads format {FORMAT}')
    return header


def _entries(lines: Iterable[Line]) -> dict[str, list[Entry]]:
    episodes: dict[str, list[Entry]] = {'': []}
    for where, data, _ in lines:
        try:
            kind = data['kind']
            if kind == 'episode':
                episodes[_typed(data, 'episode', str)] = []
            elif kind == 'yes_no':
                episodes.setdefault(_typed(data, 'episode', str), []).append(_yes_no(data))
            elif kind == 'text':
                episodes.setdefault(_typed(data, 'episode', str), []).append(_text(data))
            elif kind in _OTHERS:
                episodes.setdefault(_typed(data, 'episode', str), []).append(_OTHERS[kind](data))
            elif kind == 'failure':
                episodes.setdefault(_typed(data, 'episode', str), []).extend(_failed(data))
            elif kind != 'prompt':
                raise ValueError(f'unknown kind {kind!r}')
        except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
            raise InputError(f'{where}: is not a line of a recording '
                             f'({type(error).__name__}: {error}); remove it by hand') from error
    return episodes


def _yes_no(data: Mapping[str, Any]) -> Entry:
    image = _typed(data, 'image', str)
    reply = YesNoReply(_typed(data, 'text', str), _number(data['p_yes']), _number(data['p_no']),
                       _number(data['p_unknown']))
    return Entry(_typed(data, 'key', str), reply, (image,) if image else (),
                 _typed(data, 'question', str), _usage(data))


def _text(data: Mapping[str, Any]) -> Entry:
    images = tuple(_typed(part, 'image', str) for part in _typed(data, 'parts', list)
                   if not isinstance(part, str))
    reply = TextReply(_typed(data, 'text', str), _typed(data, 'truncated', bool))
    return Entry(_typed(data, 'key', str), reply, images, '', _usage(data))


def _located(data: Mapping[str, Any]) -> Entry:
    reply = LocateReply(tuple(map(Region.from_json, _typed(data, 'regions', list))),
                        _typed(data, 'text', str), _number(data['probability']),
                        _typed(data, 'unread', str), _typed(data, 'rounded', int),
                        tuple(map(str, data.get('unknown', ()))), _number(data.get('named')))
    return Entry(_typed(data, 'key', str), reply, (_typed(data, 'image', str),), '', _usage(data),
                 locator_model=_typed(data, 'model', str))


def _checked(data: Mapping[str, Any]) -> Entry:
    reply = YesNoReply(_typed(data, 'text', str), _number(data['p_yes']), _number(data['p_no']),
                       _number(data['p_unknown']))
    return Entry(_typed(data, 'key', str), reply, (_typed(data, 'image', str),), '', _usage(data),
                 checks=True)


def _chosen(data: Mapping[str, Any]) -> Entry:
    images = tuple(_typed(part, 'image', str) for part in _typed(data, 'parts', list)
                   if not isinstance(part, str))
    chances = data['probabilities']
    reply = ChoiceReply(
        None if chances is None else tuple(float(p) for p in _typed(data, 'probabilities', list)),
        None if data['chosen'] is None else _typed(data, 'chosen', int),
        _typed(data, 'text', str), _typed(data, 'unread', str))
    return Entry(_typed(data, 'key', str), reply, images, '', _usage(data))


def _detected(data: Mapping[str, Any]) -> Entry:
    reply = DetectReply(tuple(
        Detection(Region.from_json(_typed(one, 'region', dict)), _chances(one, 'categories'),
                  _chances(one, 'colours'), float(one['probability']), _number(one['opened']))
        for one in _typed(data, 'detections', list)),
        _typed(data, 'text', str), _typed(data, 'unread', str))
    return Entry(_typed(data, 'key', str), reply, (_typed(data, 'image', str),), '', _usage(data),
                 detector_model=_typed(data, 'model', str))


def _detection(one: Detection) -> dict[str, Any]:
    return {'region': one.region.to_json(), 'categories': dict(one.categories),
            'colours': dict(one.colours), 'probability': one.probability, 'opened': one.opened}


def _chances(data: Mapping[str, Any], key: str) -> dict[str, float]:
    return {str(name): float(chance) for name, chance in _typed(data, key, dict).items()}


_OTHERS = {'locate': _located, 'check': _checked, 'choice': _chosen, 'detect': _detected}


def _failed(data: Mapping[str, Any]) -> list[Entry]:
    """One entry per key; the last bears what the call cost."""
    keys, images = (tuple(_typed(data, name, list)) for name in ('keys', 'images'))
    name, message = (_typed(data, name, str) for name in ('error', 'message'))
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, SightplanError)):
        raise ValueError(f'unknown error {name!r}')
    if not all(isinstance(text, str) for text in keys + images):
        raise ValueError('keys and images must be texts')
    usages = [None] * (len(keys) - 1) + [_usage(data)]
    return [Entry(key, None, images, usage=usage, error=kind(message))
            for key, usage in zip(keys, usages, strict=False)]


def _typed(data: Mapping[str, Any], key: str, kind: type) -> Any:
    value = data[key]
    if not isinstance(value, kind):
        raise ValueError(f'{key} must be {type_in_words(kind)}')
    return value


def _usage(data: Mapping[str, Any]) -> Usage | None:
    counts = data.get('usage')
    if counts is None:
        return None
    cost = counts['cost_usd']
    requests, prompt, completion = (_typed(counts, key, int)
                                    for key in ('requests', 'prompt_tokens', 'completion_tokens'))
    return Usage(requests, prompt, completion, _number(cost))


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _asked(request: LocateRequest | CheckRequest) -> dict[str, Any]:
    """What requests about places have in common."""
    return {'image': part_id(request.image), 'target': request.target.text,
            'form': str(request.target.form), 'attempt': request.attempt}


def _prompt_content(prompt: GroundingPrompt) -> dict[str, Any]:
    return {'system': prompt.system, 'before_image': prompt.before_image,
            'after_image': prompt.after_image, 'template': prompt.question,
            'reasoning': prompt.reasoning, 'max_tokens': prompt.max_tokens}


def _choice(request: ChoiceRequest) -> dict[str, Any]:
    """All that a choice depends on."""
    return {'system': request.system, 'parts': _parts(request), 'options': list(request.options),
            'subjects': list(request.subjects),
            'properties': [list(one) for one in request.properties],
            'max_tokens': request.max_tokens}


def _parts(request: TextRequest | ChoiceRequest) -> list[Any]:
    """Texts as they are, images by hash."""
    return [part if isinstance(part, str) else {'image': part_id(part)} for part in request.parts]


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()
