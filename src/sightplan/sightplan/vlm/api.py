"""Registry of backends: finds a model by the name of its backend, makes and describes it.

A backend is one module, ``sightplan_models.<name>`` or an entry point of another package in
the group ``sightplan.backends``. The module holds a frozen settings dataclass ``Settings`` and a
class ``Backend(settings)`` that is a ``sightplan.model.query.Model``. A backend is chosen by the
module's name, never by searching a model's name. The class declares the kinds of queries that it
answers (``accepts``) and unusual properties (``traits``); a backend whose ``traits.truth`` is not
empty is built as ``Backend(settings, truth)``. Heavy libraries are imported only inside the
module. The module may have a function ``content(settings, kind)`` that returns a hash of the files
that the settings refer to, see ``backend_content``.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

from sightplan.model import InputError, SightplanError, Usage, settings_fields
from sightplan.model.plugins import Registry
from sightplan.model.query import (
    Model,
    Query,
    can_ask,
    check_pictures,
    start_episode,
    traits_of,
)
from sightplan.model.settings import picked
from sightplan.queries import YesNo

_LOG = logging.getLogger(__name__)
GROUP = 'sightplan.backends'
"""Entry points of other packages' backends."""


@dataclass(frozen=True, slots=True)
class BackendChoices:
    """Settings of a backend that others read; the defaults hold for a backend without them.

    ``backend_choices`` reads them from the settings of the same name.

    Attributes:
        model: name of the model; None: the backend has no such setting.
        domain: name of the domain whose model answers; None: one model answers for all.
        together: how much a simulated model's errors hang together; None: it is not simulated so.
        concurrency: most requests at a time; 0: the model finds out itself.
        retries: how often a request is repeated; None: none is.
        device: where the model computes; '' where it has no device of its own.
        cot: whether the model gives reasons: ``yes``, ``no``, ``auto``; '' without that choice.
        depth: whether depth is looked at.
        price_in: of a million prompt tokens [USD].
        price_out: of a million completion tokens [USD].
    """

    model: str | None = None
    domain: str | None = None
    together: float | None = None
    concurrency: int = 1
    retries: int | None = None
    device: str = ''
    cot: str = ''
    depth: bool | None = None
    price_in: float = 0.0
    price_out: float = 0.0


def backend_choices(name: str, values: Mapping[str, Any]) -> BackendChoices:
    """The settings of a backend that others read.

    Args:
        name: name of the backend.
        values: its settings; those left out have their defaults.

    Raises:
        InputError: an unknown backend or field, or a bad value.
    """
    return picked(BackendChoices, backend_settings(name, values))


@runtime_checkable
class AnswersAllWithSettings(Protocol):
    """The class of a backend whose model answers queries of every kind with some settings."""

    @staticmethod
    def answers_all(settings: Any) -> bool:
        """Whether it does with these settings, an instance of the backend's ``Settings``."""


def make_checked_backend(name: str, values: Mapping[str, Any], *truth: Any) -> Model:
    """Make a model that finds out before the first picture whether pictures reach it.

    Args:
        name: see ``make_backend``, also for ``values`` and ``truth``.
        values: its settings.
        truth: for an oracle.

    Raises:
        InputError: an unknown backend or field, or a bad value.
        InfrastructureError: the backend cannot be used.
    """
    model = make_backend(name, values, *truth)
    check_pictures(model)
    return model


class ModelUser:
    """Base of classes that ask a model: passes on the model's name, usage and new episodes.

    Args:
        model: see ``make_backend``.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def model(self) -> str:
        """Exact name and version of the model that answers."""
        return self._model.name

    @property
    def usage(self) -> Usage | None:
        """Usage of all calls so far; None where it is not counted."""
        return self._model.usage

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Tell a model that keeps a history (``noisy_oracle``) that a new episode begins."""
        start_episode(self._model, episode_id, split)


class RunDomain(Protocol):
    """The properties of a run's domain that its backend depends on, as ``domains.Domain`` has."""

    reference: str
    """Name of the domain, or the path of its folder, by which the domain is found."""

    errors_together: float
    """Strength, from 0 to 1, of the dependence between a model's errors on one picture."""


BACKENDS: Registry[Model] = Registry('backend', GROUP, 'Backend', ('accepts',), Model,
                                     base='sightplan.model.query.ModelByKind, with a method '
                                          'marked @answers(KIND) for each kind of query',
                                     truth_of=lambda cls: traits_of(cls).truth)
backend_names, backend_class = BACKENDS.names, BACKENDS.cls
backend_settings, make_backend = BACKENDS.settings, BACKENDS.make


def usable_backends() -> dict[str, type[Model]]:
    """Return the class of each backend that can be loaded, by name.

    A package that cannot be loaded does not take the others with it; a warning names it, once.
    """
    found = {}
    for name in backend_names():
        try:
            found[name] = backend_class(name)
        except InputError as error:
            _warn_once(str(error))
    return found


@functools.cache
def _warn_once(message: str) -> None:
    _LOG.warning('%s', message)


def backends_that_answer(kind: type[Query[Any]]) -> list[str]:
    """Names of all backends that answer a kind of query, as far as they can be loaded."""
    return [name for name, cls in usable_backends().items() if can_ask(cls, kind)]


def check_backend(name: str, kind: type[Query[Any]], model: object = None,
                  values: Mapping[str, Any] | None = None) -> None:
    """Check that a backend answers a kind of query, before it is loaded.

    Args:
        name: name of the backend.
        kind: kind of queries.
        model: the model from ``make_backend``, if it is made already.
        values: settings with which it will be made, as far as they are known.

    Raises:
        InputError: the backend does not, or a setting is wrong; the message names backends that
            do, or the setting.
    """
    if not answers_kind(name, kind, model, values):
        raise cannot_answer(name, kind)


def answers_kind(name: str, kind: type[Query[Any]], model: object = None,
                 values: Mapping[str, Any] | None = None) -> bool:
    """Whether a backend answers a kind of query; see ``check_backend`` for the arguments.

    Raises:
        InputError: the backend is unknown, or a setting is wrong.
    """
    asked: object = backend_class(name) if model is None else model
    if can_ask(asked, kind):
        return True
    return (model is None and values is not None and isinstance(asked, AnswersAllWithSettings)
            and asked.answers_all(backend_settings(name, values)))


def cannot_answer(name: str, kind: type[Query[Any]]) -> InputError:
    """The error of a backend that does not answer a kind; names those that do."""
    backends, able = usable_backends(), ', '.join(backends_that_answer(kind)) or 'none'
    unmarked = (f' (no method of {name} is marked @answers({kind.__name__}))'
                if name in backends and not cast(Any, backends[name]).accepts else '')
    return InputError(f'backend {name!r} {kind.cannot_answer}; choose one that can: '
                      f'{able}{unmarked}')


def resolved_options(name: str, values: Mapping[str, Any], seed: int,
                     reasoning: bool | None = None,
                     domain: RunDomain | None = None) -> dict[str, Any]:
    """A backend's options, with what they leave open and the run decides.

    Args:
        name: name of the backend.
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
    choices = backend_choices(name, options)
    if reasoning is not None and choices.cot == 'auto':
        options['cot'] = 'yes' if reasoning else 'no'
    return options


def backend_can_be_shared(name: str) -> bool:
    """Whether runs may use one backend, one after another.

    A backend that sees a run's world, keeps a history of episodes, or has a limit on its cost is
    not shared.
    """
    traits = traits_of(backend_class(name))
    return not (traits.truth or traits.history or traits.capped)


def answers_texts(model: object) -> bool:
    """Whether yes/no questions to a model, or its class, may be about a text, not a picture."""
    return can_ask(model, YesNo) and traits_of(model).texts


def backend_reads_prompt(name: str) -> bool:
    """Whether answers depend on the prompt around the questions."""
    return traits_of(backend_class(name)).prompt


def backend_content(name: str, values: Mapping[str, Any],
                    kind: type[Query[Any]] = YesNo) -> str:
    """Hash of what a backend's options refer to, as far as that is known before it is made.

    A backend's module tells it with a function ``content(settings, kind)``: hash of a table, a
    script or weights that lie in a folder of ours.

    Args:
        name: name of the backend.
        values: its options.
        kind: kind of queries that it is asked; a backend may have a model for each.

    Returns:
        '' if the backend cannot tell, or what it refers to cannot be read.

    Raises:
        InputError: an unknown backend or field, or a bad value.
    """
    backend_settings(name, values)
    try:
        return read_backend_content(name, values, kind)
    except (SightplanError, OSError):
        return ''


def read_backend_content(name: str, values: Mapping[str, Any],
                         kind: type[Query[Any]] = YesNo) -> str:
    """Hash of what a backend's options refer to, as ``backend_content``; '' if it cannot tell.

    Raises:
        InputError: an unknown backend or field, or a bad value; or what the options refer to is
            malformed.
        OSError: it cannot be read.
    """
    content = vars(BACKENDS.module(name)).get('content')
    settings = backend_settings(name, values)
    return str(content(settings, kind)) if content is not None else ''
