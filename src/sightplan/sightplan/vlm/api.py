"""Requests to and replies from vision-language backends, and how a backend is found.

There are four kinds of request: many yes/no questions about one image, which a backend answers in
one batch and, where it can, from probabilities without generating text; a prompt of texts and
images to which the model replies in free text; a thing to be found in an image (``locating``); and
options to choose among (``choosing``).

A backend is one module, ``sightplan_models.<name>`` or an entry point of another package in
the group ``sightplan.backends``, holding a frozen settings dataclass
``Settings`` and a class ``Backend(settings, truth=None)``; it is chosen by that name, never by
searching a model's name. Heavy libraries are imported only inside the module. A backend whose
answers do not depend on the prompt around the questions has ``reads_prompt = False``. One that
can point has ``locates = True`` and the method ``locate`` (``Locator``); one that can tell in its
own way whether a place is right has a method ``check`` (else ``locating.check`` draws a mark and
asks a yes/no question). One that can choose among options in a way of its own has ``chooses =
True`` and the method ``choose`` (``choosing.Chooser``); of one that replies in free text the reply
is read. One that finds all things in a picture has ``detects = True`` and the method ``detect``
(``detecting.Detector``). One that answers no yes/no questions has ``answers = False``, and
``answer`` raises. One that looks at pixels, and answers yes/no questions about an observation that
is a text alone, too, has ``answers_texts = True`` (``can_answer_texts``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

import sightplan_models as backends
from sightplan.model import (
    BARE,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    SightplanError,
    Usage,
    settings_fields,
)
from sightplan.model.plugins import Registry
from sightplan.vlm.locating import LocateReply, LocateRequest

GROUP = 'sightplan.backends'
"""Entry points of other packages' backends."""


@dataclass(frozen=True, slots=True)
class YesNoRequest:
    """Many yes/no questions about one observation, to be answered in one batch.

    Attributes:
        observation: what the model sees.
        questions: the questions; a real model uses their ``text`` only.
        timeout_s: wall-clock limit of the whole batch [s]; None for the backend's own.
        prompt: the words around the questions; a model that was made for bare questions
            (``embedded``) or needs none (``noisy_oracle``) does without them.
        partial: whether answers to some of the questions are of use where others fail, so that
            the rest is asked although one has failed.
    """

    observation: Observation
    questions: tuple[Question, ...]
    timeout_s: float | None = None
    prompt: GroundingPrompt = BARE
    partial: bool = False


@dataclass(frozen=True, slots=True)
class YesNoReply:
    """The raw reply to one question.

    Attributes:
        text: what the model said.
        p_yes: probability of "yes", summed over its spellings; None if not offered.
        p_no: probability of "no", likewise.
        p_unknown: probability of "unknown", likewise, where the prompt offers that answer.
    """

    text: str
    p_yes: float | None = None
    p_no: float | None = None
    p_unknown: float | None = None


Part = str | NDArray[np.uint8]
"""A piece of a prompt: text, or an image of shape (H, W, 3), uint8 RGB."""


@dataclass(frozen=True, eq=False)
class TextRequest:
    """A prompt of texts and any number of images, to be answered in free text.

    Attributes:
        system: text of the system role, '' for none.
        parts: what the user says, texts and images in their order.
        max_tokens: most tokens of the reply.
        timeout_s: wall-clock limit [s]; None for the backend's own.
    """

    system: str
    parts: tuple[Part, ...]
    max_tokens: int = 1024
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class TextReply:
    """A model's reply in free text.

    Attributes:
        text: what it said.
        truncated: whether it was cut off at ``max_tokens``.
    """

    text: str
    truncated: bool = False


class Backend(Protocol):
    """A way to run a vision-language model."""

    needs_truth: bool
    """Whether the backend is an oracle that must be given ground truth (``noisy_oracle``)."""

    needs_pixels: bool
    """Whether it looks at the image, so that a world without pictures is of no use to it."""

    generates: bool
    """Whether it can reply in free text, so that it can plan; else ``generate`` raises."""

    @property
    def model(self) -> str:
        """Exact name and version of the model that answers."""

    @property
    def usage(self) -> Usage | None:
        """What all calls so far cost; None where nobody counts."""

    def answer(self, request: YesNoRequest) -> list[YesNoReply]:
        """Answer all questions, in order.

        Where some questions were answered before it failed, ``partial`` of the error has a reply
        or None for each.

        Raises:
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """

    def generate(self, request: TextRequest) -> TextReply:
        """Reply in free text.

        Raises:
            InputError: the backend cannot (``generates`` is false).
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """


@runtime_checkable
class PictureCheck(Protocol):
    """A backend that may lose pictures on their way to the model, and can find that out."""

    @property
    def pictures_lost(self) -> str:
        """Why pictures do not reach the model, with the remedy; '' if they may, as far as known.

        Then every request with a picture raises a BackendError.
        """

    def check_pictures(self) -> None:
        """Find out whether pictures reach the model, before the next picture is sent.

        What that costs counts as other requests do. Where it cannot be found out, a warning says
        so.
        """


class Locator(Protocol):
    """A backend that can point."""

    locates: bool
    """Whether it can: true."""

    @property
    def model(self) -> str:
        """Exact name and version of the model that answers."""

    def locate(self, request: LocateRequest) -> LocateReply:
        """Find something in a picture.

        A reply that cannot be read is no error: it comes back with its reason (``unread``).

        Raises:
            InputError: it is not told in which convention the model says places.
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """


def picture_check(backend: object) -> PictureCheck | None:
    """A backend as one that may lose pictures and can find that out; None if it is none."""
    return backend if isinstance(backend, PictureCheck) else None


def make_checked_backend(name: str, values: Mapping[str, Any], *truth: Any) -> Backend:
    """Make a backend that finds out before the first picture whether pictures reach its model.

    Args:
        name: see ``make_backend``; likewise ``values`` and ``truth``.
        values: its settings.
        truth: for an oracle.

    Raises:
        InputError: an unknown backend or field, or a bad value.
        InfrastructureError: the backend cannot be used.
    """
    backend = make_backend(name, values, *truth)
    if (check := picture_check(backend)) is not None:
        check.check_pictures()
    return backend


def can_locate(backend: object) -> bool:
    """Whether a backend, or its class, can point."""
    return bool(getattr(backend, 'locates', False))


def locator(name: str, backend: Backend) -> Locator:
    """A backend as one that points.

    Args:
        name: of the backend.
        backend: as ``make_backend`` made it.

    Raises:
        InputError: it cannot; names those that can.
    """
    if can_locate(backend):
        return cast(Locator, backend)
    able = [other for other in backend_names() if can_locate(backend_class(other))]
    raise InputError(f'backend {name!r} cannot point at things; choose one that can: '
                     f'{", ".join(able) or "none"}')


class BackendUser:
    """What asks a backend: passes on what is known of it.

    Args:
        backend: see ``make_backend``.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def model(self) -> str:
        """Exact name and version of the model that answers."""
        return self._backend.model

    @property
    def usage(self) -> Usage | None:
        """What all calls so far cost; None where nobody counts."""
        return self._backend.usage

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Tell a backend that keeps a history (``noisy_oracle``) that a new episode begins."""
        start = getattr(self._backend, 'start_episode', None)
        if start is not None:
            start(episode_id, split)


class RunDomain(Protocol):
    """What a run's domain decides about its backend; ``sightplan.domains.Domain`` is one."""

    reference: str
    """What the domain is found by: its name, or the path of its folder."""

    errors_together: float
    """How strongly a model's errors on one picture hang together, from 0 to 1."""


BACKENDS: Registry[Backend] = Registry('backend', backends, GROUP, 'Backend', (
    'needs_truth', 'needs_pixels', 'generates'), Backend,
    {'answer': 'answers', 'generate': 'generates'})
backend_names, backend_class = BACKENDS.names, BACKENDS.cls
backend_settings, make_backend = BACKENDS.settings, BACKENDS.make


def resolved_options(name: str, values: Mapping[str, Any], seed: int,
                     reasoning: bool | None = None,
                     domain: RunDomain | None = None) -> dict[str, Any]:
    """A backend's options, with what they leave open and the run decides.

    Args:
        name: of the backend.
        values: the options as given.
        seed: of the run; seeds a backend that has a ``seed`` and was given none.
        reasoning: whether the model is asked for its reasons; decides about ``cot: auto``. None:
            not known beforehand.
        domain: of the run; chooses the model of a backend that has one for each ``domain``, and
            how errors hang ``together`` in a simulated one, where they were not given. None: not
            known beforehand.

    Raises:
        InputError: an unknown backend or field, or a bad value.
    """
    options = dict(values)
    fields = {f.name for f in settings_fields(BACKENDS.module(name).Settings)}
    decided: dict[str, Any] = {'seed': seed}
    if domain is not None:
        decided |= {'domain': domain.reference, 'together': domain.errors_together}
    for key, value in decided.items():
        if key in fields:
            options.setdefault(key, value)
    settings = backend_settings(name, options)
    if reasoning is not None and getattr(settings, 'cot', '') == 'auto':
        options['cot'] = 'yes' if reasoning else 'no'
    return options


def backend_can_be_shared(name: str) -> bool:
    """Whether runs may use one backend, one after another.

    Not one that sees a run's world, keeps track of its episodes, or of what it costs.
    """
    backend = backend_class(name)
    return not (backend.needs_truth or hasattr(backend, 'start_episode')
                or hasattr(backend, 'carry_over'))


def can_answer_texts(backend: object) -> bool:
    """Whether yes/no questions to a backend, or its class, may be about a text without a picture.

    One without ``needs_pixels`` answers them, too, unless it says otherwise.
    """
    return bool(getattr(backend, 'answers', True)) and bool(getattr(
        backend, 'answers_texts', not getattr(backend, 'needs_pixels', True)))


def backend_reads_prompt(name: str) -> bool:
    """Whether answers depend on the prompt around the questions."""
    return bool(getattr(backend_class(name), 'reads_prompt', True))


def model_of(backend: Backend, part: Literal['locator', 'chooser', 'detector']) -> str:
    """Exact name of the model by which a backend does a part of its work.

    Args:
        backend: that does it.
        part: ``locator`` (it points), ``chooser`` (it compares) or ``detector`` (it finds all
            things in a picture). A backend that has a model of its own for it tells its name as
            ``locator_model`` and so on; else it is the backend's ``model``.

    Raises:
        InputError: the backend cannot do it.
        BackendError: its model for that is missing or unfit.
    """
    return str(getattr(backend, f'{part}_model', '') or backend.model)


def backend_content(name: str, values: Mapping[str, Any]) -> str:
    """Hash of what a backend's options refer to, as far as that is known before it is made.

    A backend's module tells it with a function ``content(settings)``: hash of a table, a script or
    weights that lie in a folder of ours.

    Returns:
        '' if the backend cannot tell, or what it refers to cannot be read.

    Raises:
        InputError: an unknown backend or field, or a bad value.
    """
    content = getattr(BACKENDS.module(name), 'content', None)
    settings = backend_settings(name, values)
    try:
        return str(content(settings)) if content is not None else ''
    except (SightplanError, OSError):
        return ''


def choosing_content(name: str, values: Mapping[str, Any]) -> str:
    """Hash of what a backend chooses by, where it has a model of its own for that.

    A backend's module tells it with a function ``choosing_content(settings)``; else it is as
    ``backend_content``.

    Raises:
        InputError: an unknown backend or field, or a bad value.
    """
    return _part_content(name, values, 'choosing_content')


def detecting_content(name: str, values: Mapping[str, Any]) -> str:
    """Hash of what a backend finds things by; likewise, ``detecting_content(settings)``.

    Raises:
        InputError: an unknown backend or field, or a bad value.
    """
    return _part_content(name, values, 'detecting_content')


def locating_content(name: str, values: Mapping[str, Any]) -> str:
    """Hash of what a backend points by; likewise, ``locating_content(settings)``.

    Raises:
        InputError: an unknown backend or field, or a bad value.
    """
    return _part_content(name, values, 'locating_content')


def _part_content(name: str, values: Mapping[str, Any], function: str) -> str:
    content = getattr(BACKENDS.module(name), function, None)
    if content is None:
        return backend_content(name, values)
    try:
        return str(content(backend_settings(name, values)))
    except (SightplanError, OSError):
        return ''


def cannot_generate(name: str) -> InputError:
    """The error of a backend that only answers yes/no questions."""
    able = [other for other in backend_names() if backend_class(other).generates]
    return InputError(f'backend {name!r} answers yes/no questions only, it cannot plan; choose '
                      f'one that can: {", ".join(able) or "none"}')


@runtime_checkable
class MadeForDomain(Protocol):
    """A backend whose model was made for the questions of one domain, in that domain's words."""

    @property
    def made_for(self) -> str:
        """Name of the domain; '': none, it reads any question, or says that it cannot."""


class AnswersOnly:
    """What a backend of yes/no questions alone has in common with others of that kind."""

    generates = False

    def generate(self, request: TextRequest) -> TextReply:
        """Refuse: it cannot.

        Raises:
            InputError: always.
        """
        raise cannot_generate(type(self).__module__.rpartition('.')[2])


class NoWords:
    """What a backend that neither answers questions nor speaks has in common with its kind."""

    generates = False
    answers = False
    only = ''
    """What it does, in words."""

    def answer(self, request: YesNoRequest) -> list[YesNoReply]:
        """Refuse: it cannot.

        Raises:
            InputError: always; names those that can.
        """
        able = [name for name in backend_names() if getattr(backend_class(name), 'answers', True)]
        raise self._refusal('it does not answer yes/no questions', 'does', able)

    def generate(self, request: TextRequest) -> TextReply:
        """Refuse: it cannot.

        Raises:
            InputError: always; names those that can.
        """
        able = [name for name in backend_names() if backend_class(name).generates]
        raise self._refusal('it cannot plan', 'can', able)

    def _refusal(self, cannot: str, verb: str, able: list[str]) -> InputError:
        name = type(self).__module__.rpartition('.')[2]
        return InputError(f'backend {name!r} {self.only} only, {cannot}; choose one that {verb}: '
                          f'{", ".join(able) or "none"}')
