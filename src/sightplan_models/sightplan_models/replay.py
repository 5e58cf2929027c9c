"""``replay``: the recorded replies of another backend; no model.

It answers from files written with ``sightplan run --record`` (``sightplan.vlm.recording``), so
that a run can be repeated bit for bit, on a machine without the model. A request finds its reply
by its episode and its key, which is a hash of all that the model was shown; the same request asked
several times in an episode gets the recorded replies in order. What was not asked, or less often,
in the recorded episode is refused; and a call that failed then fails again with the same error.
Only if the recording knows no such episode, a request that shows an image finds its reply by the
key alone, the last one again and again: other problems or seeds can be tried on the recorded
replies, as far as they show the same images.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from sightplan.model import BackendError, InputError, SightplanError, Usage, param, user_path
from sightplan.vlm.api import TextReply, TextRequest, YesNoReply, YesNoRequest
from sightplan.vlm.choosing import ChoiceReply, ChoiceRequest
from sightplan.vlm.detecting import DetectReply, DetectRequest
from sightplan.vlm.locating import CheckRequest, LocateReply, LocateRequest
from sightplan.vlm.recording import (
    Entry,
    Recording,
    check_key,
    choice_key,
    detect_key,
    has_image,
    locate_key,
    part_id,
    read_recording,
    text_key,
    yes_no_keys,
)

_REMEDY = ('repeat the command of the recorded run (same problems, seed, world, method and '
           'prompts), or record this one with its model and --record')


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of ``replay``."""

    path: str = param('', 'Recording: a file, or a folder (such as a run directory) of which all '
                      'replies*.jsonl are read')


class _Replies:
    """Replies by key, each list with the place of its next one."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries: dict[str, list[Entry]] = {}
        self._next: dict[str, int] = {}
        for entry in entries:
            self._entries.setdefault(entry.key, []).append(entry)

    def restart(self) -> None:
        self._next.clear()

    def take(self, key: str, repeat: bool = False) -> Entry | None:
        """The next reply; after the last one that once more if ``repeat``, else None."""
        entries = self._entries.get(key, [])
        place = self._next.get(key, 0)
        if place < len(entries):
            self._next[key] = place + 1
            return entries[place]
        return entries[-1] if entries and repeat else None


class Backend:
    """Answers as the recorded model did."""

    needs_truth = False
    needs_pixels = False
    generates = True
    locates = True
    detects = True

    def __init__(self, settings: Settings) -> None:
        """Read the recording.

        Raises:
            InputError: it is not given, not there, damaged, or of several models.
        """
        self._path = settings.path
        recordings = _read(settings.path)
        self._model = recordings[0].model
        for other in recordings[1:]:
            if other.model != self._model:
                raise InputError(f'{other.path}: holds replies of {other.model!r}, but '
                                 f'{recordings[0].path} those of {self._model!r}; replay one of '
                                 f'them')
        episodes: dict[str, list[Entry]] = {}
        for recording in recordings:
            for episode, entries in recording.episodes.items():
                episodes.setdefault(episode, []).extend(entries)
        every = [entry for entries in episodes.values() for entry in entries]
        self._episodes = {name: _Replies(entries) for name, entries in episodes.items()
                          if name or entries}
        self._all = _Replies(entry for entry in every if entry.error is None)
        self._images = {image for entry in every for image in entry.images}
        self._questions = {entry.question for entry in every}
        self._usage = (Usage() if any(recording.counted for recording in recordings) else None)
        self._episode = ''
        self._lock = threading.Lock()
        self.chooses = any(isinstance(entry.reply, ChoiceReply) for entry in every)
        self.detects = any(isinstance(entry.reply, DetectReply) for entry in every)
        if any(entry.checks for entry in every):
            self.check = self._check
        self.generates = any(recording.generates for recording in recordings)
        self.answers_texts = any(recording.answers_texts for recording in recordings)
        self.locator_model = next((entry.locator_model for entry in every[::-1]
                                   if entry.locator_model), '')
        self.detector_model = next((entry.detector_model for entry in every[::-1]
                                    if entry.detector_model), '')

    @property
    def model(self) -> str:
        """Name of the recorded model."""
        return self._model

    @property
    def usage(self) -> Usage | None:
        """What the replies given so far had cost; None if nobody counted then."""
        return self._usage

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Begin an episode: its replies are given from the first one on."""
        self._episode = episode_id
        self._episodes.get(episode_id, self._all).restart()

    def answer(self, request: YesNoRequest) -> list[YesNoReply]:
        """Give the recorded replies, in the order of the questions.

        Raises:
            BackendError: one of them was not recorded; names question and image.
            SightplanError: the recorded error.
        """
        found = []
        for question, key in zip(request.questions, yes_no_keys(request), strict=True):
            entry = self._find(key, has_image(request))
            if entry is None:
                raise self._missing(f'the question {question.text!r} with the prompt '
                                    f'{request.prompt.name!r}',
                                    [request.observation.image_id], question.text)
            found.append(entry)
        try:
            return [cast(YesNoReply, _reply(entry)) for entry in found]
        except SightplanError as error:
            error.partial = [entry.reply for entry in found]
            raise

    def generate(self, request: TextRequest) -> TextReply:
        """Give the recorded reply.

        Raises:
            BackendError: it was not recorded.
            SightplanError: the recorded error.
        """
        entry = self._find(text_key(request), has_image(request))
        if entry is None:
            start = next((part for part in request.parts if isinstance(part, str)), '')
            raise self._missing(f'the prompt that begins {(request.system or start)[:60]!r}',
                                [part_id(part) for part in request.parts
                                 if not isinstance(part, str)])
        return cast(TextReply, _reply(entry))

    def locate(self, request: LocateRequest) -> LocateReply:
        """Give the recorded reply.

        Raises:
            BackendError: it was not recorded.
            SightplanError: the recorded error.
        """
        entry = self._find(locate_key(request), image=True)
        if entry is None:
            raise self._missing(f'the request to find {request.target.text!r} '
                                f'({request.target.form}, attempt {request.attempt})',
                                [part_id(request.image)])
        return cast(LocateReply, _reply(entry))

    def detect(self, request: DetectRequest) -> DetectReply:
        """Give the recorded reply.

        Raises:
            BackendError: it was not recorded.
            SightplanError: the recorded error.
        """
        entry = self._find(detect_key(request), image=True)
        if entry is None:
            raise self._missing('the request to find all things '
                                f'(attempt {request.attempt})', [part_id(request.image)])
        return cast(DetectReply, _reply(entry))

    def choose(self, request: ChoiceRequest) -> ChoiceReply:
        """Give the recorded reply of a model that chose in its own way.

        Raises:
            BackendError: it was not recorded.
            SightplanError: the recorded error.
        """
        entry = self._find(choice_key(request), image=True)
        if entry is None:
            raise self._missing(f'the choice among {", ".join(request.options)}',
                                [part_id(part) for part in request.parts
                                 if not isinstance(part, str)])
        return cast(ChoiceReply, _reply(entry))

    def _check(self, request: CheckRequest) -> YesNoReply:
        """The recorded answer of a model that checked places in its own way."""
        entry = self._find(check_key(request), image=True)
        if entry is None:
            raise self._missing(f'the question whether a place is {request.target.text!r} '
                                f'(attempt {request.attempt})', [part_id(request.image)])
        return cast(YesNoReply, _reply(entry))

    def _find(self, key: str, image: bool) -> Entry | None:
        with self._lock:
            entry = None
            if self._episode in self._episodes:
                entry = self._episodes[self._episode].take(key)
            elif image:
                entry = self._all.take(key, repeat=True)
            if entry is not None and entry.usage is not None:
                self._usage = (self._usage or Usage()) + entry.usage
        return entry

    def _missing(self, what: str, images: list[str], question: str = '') -> BackendError:
        shown = [image for image in images if image]
        where = f' about image {", ".join(shown)}' if shown else ''
        if unknown := [image for image in shown if image not in self._images]:
            why = f'image {", ".join(unknown)} is not in the recording'
        elif question and question not in self._questions:
            why = 'that question was never asked'
        elif self._episode not in self._episodes:
            why = 'that episode was not recorded'
        else:
            why = 'it was asked otherwise, or less often'
        return BackendError(f'replay: {self._path} holds no reply to {what}{where} in episode '
                            f'{self._episode or "(none)"}: {why}; {_REMEDY}')


def _reply(entry: Entry) -> (
        YesNoReply | TextReply | LocateReply | ChoiceReply | DetectReply | None):
    if entry.error is not None:
        raise type(entry.error)(*entry.error.args)
    return entry.reply


def _read(given: str) -> list[Recording]:
    if not given:
        raise InputError('backend replay: path is missing; name a recording with --backend-option '
                         'path=..., for example a run directory that was made with --record')
    path = user_path(given)
    files = sorted(path.glob('replies*.jsonl')) if path.is_dir() else [path]
    if not files:
        raise InputError(f'{path}: holds no recording (replies*.jsonl); make one with "sightplan '
                         f'run --record"')
    return [read_recording(file) for file in files]
