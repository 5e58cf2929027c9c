"""Requests to and replies from vision-language backends, and how a backend is found.

A backend is one module, ``sightplan.vlm.backends.<name>``, holding a frozen settings dataclass
``Settings`` and a class ``Backend(settings, truth=None)``; it is chosen by that name, never by
searching a model's name. Heavy libraries are imported only inside the module.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sightplan.model import (
    InputError,
    Observation,
    Question,
    TruthSource,
    check_settings,
    settings_fields,
)


@dataclass(frozen=True, slots=True)
class YesNoRequest:
    """Many yes/no questions about one observation, to be answered in one batch.

    Attributes:
        observation: what the model sees.
        questions: the questions; a real model uses their ``text`` only.
        timeout_s: wall-clock limit of the whole batch [s]; None for the backend's own.
    """

    observation: Observation
    questions: tuple[Question, ...]
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class YesNoReply:
    """The raw reply to one question.

    Attributes:
        text: what the model said.
        p_yes: probability of "yes", summed over its spellings; None if not offered.
        p_no: probability of "no", likewise.
    """

    text: str
    p_yes: float | None = None
    p_no: float | None = None


class Backend(Protocol):
    """A way to run a vision-language model."""

    needs_truth: bool
    """Whether the backend is an oracle that must be given ground truth (``noisy_oracle``)."""

    needs_pixels: bool
    """Whether it looks at the image, so that a world without pictures is of no use to it."""

    @property
    def model(self) -> str:
        """Exact name and version of the model that answers."""

    def answer(self, request: YesNoRequest) -> list[YesNoReply]:
        """Answer all questions, in order.

        Raises:
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
        """


def backend_names() -> tuple[str, ...]:
    """Names of the installed backends."""
    from sightplan.vlm import backends
    return tuple(sorted(m.name for m in pkgutil.iter_modules(backends.__path__)
                        if not m.name.startswith('_')))


def _module(name: str) -> Any:
    if name not in backend_names():
        raise InputError(f'backend {name!r} is unknown; '
                         f'choose one of {", ".join(backend_names())}')
    return importlib.import_module(f'sightplan.vlm.backends.{name}')


def backend_settings(name: str, values: Mapping[str, Any] | None = None) -> Any:
    """A backend's settings with ``values`` over the defaults.

    Raises:
        InputError: an unknown backend or field, or a bad value.
    """
    cls = _module(name).Settings
    known = {f.name for f in settings_fields(cls)}
    for key in values or {}:
        if key not in known:
            raise InputError(f'backend {name!r} has no setting {key!r}; it has '
                             f'{", ".join(sorted(known)) or "none"}')
    settings = cls(**(values or {}))
    check_settings(settings, f'backend {name}')
    return settings


def backend_needs_truth(name: str) -> bool:
    """Whether a backend is an oracle that must be given ground truth.

    Raises:
        InputError: an unknown backend.
    """
    return bool(_module(name).Backend.needs_truth)


def backend_needs_pixels(name: str) -> bool:
    """Whether a backend looks at the image.

    Raises:
        InputError: an unknown backend.
    """
    return bool(_module(name).Backend.needs_pixels)


def make_backend(name: str, values: Mapping[str, Any] | None = None,
                 truth: TruthSource | None = None) -> Backend:
    """Make a backend by name; truth is handed only to a backend that declares ``needs_truth``.

    Raises:
        InputError: unknown name, bad settings, or truth is needed and missing.
        BackendError: the model could not be loaded.
    """
    settings = backend_settings(name, values)
    cls = _module(name).Backend
    backend: Backend
    if not cls.needs_truth:
        backend = cls(settings)
        return backend
    if truth is None:
        raise InputError(f'backend {name!r} reads ground truth, which this world does not offer')
    backend = cls(settings, truth)
    return backend
