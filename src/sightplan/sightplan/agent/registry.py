"""Finding methods by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sightplan.agent import methods
from sightplan.agent.answerer import Answerer, SampleTruth
from sightplan.agent.policy import Policy
from sightplan.model import InputError, TruthSource, check_settings, plugins, settings_fields

METHODS = 'sightplan.methods'
"""Entry points of other packages' methods."""

ANSWERERS = 'sightplan.answerers'
"""Entry points of other packages' answerers."""

_POLICY = {'Settings': (), 'Policy': ('needs_truth', 'needs_grounder', 'needs_planner',
                                      'needs_visual_planner', 'prompt')}
_ANSWERER = {'Settings': (), 'Answerer': ('needs_truth', 'needs_model', 'looks', 'prompt',
                                        'suite_prompt')}


def method_names() -> tuple[str, ...]:
    """Names of the methods: the modules of ``sightplan.agent.methods``, and other packages'."""
    return plugins.module_names(methods, METHODS)


def _module(name: str) -> Any:
    try:
        return plugins.load_module('method', name, methods, METHODS, _POLICY)
    except InputError:
        if name in method_names() or name not in answerer_names():
            raise
    raise InputError(f'method {name!r} answers samples; for episodes choose one of '
                     f'{", ".join(method_names())}')


def needs_truth(name: str) -> bool:
    """Whether the method is an oracle that must be given ground truth."""
    return bool(_module(name).Policy.needs_truth)


def needs_grounder(name: str) -> bool:
    """Whether the method asks questions; if not, no model need be loaded."""
    return bool(_module(name).Policy.needs_grounder)


def needs_planner(name: str) -> bool:
    """Whether a symbolic planner plans for the method."""
    return bool(_module(name).Policy.needs_planner)


def needs_visual_planner(name: str) -> bool:
    """Whether a vision-language model plans for the method."""
    return bool(_module(name).Policy.needs_visual_planner)


def needs_model(name: str) -> bool:
    """Whether the method uses a vision-language model: to answer questions, or to plan."""
    return needs_grounder(name) or needs_visual_planner(name)


def prompt_name(name: str) -> str:
    """Name of the prompt file that the method's questions or proposals use, '' for none."""
    return str(_module(name).Policy.prompt)


def policy_settings(name: str, values: Mapping[str, Any] | None = None) -> Any:
    """A method's settings with ``values`` over the defaults.

    Raises:
        InputError: an unknown method or field, or a bad value.
    """
    return _settings(name, _module(name).Settings, values)


def make_policy(name: str, values: Mapping[str, Any] | None = None,
                truth: TruthSource | None = None) -> Policy:
    """Make a method by name; truth is handed only to a method that declares ``needs_truth``.

    Raises:
        InputError: unknown name, bad settings, or truth is needed and missing.
    """
    settings = policy_settings(name, values)
    cls = _module(name).Policy
    if not cls.needs_truth:
        policy: Policy = cls(settings)
        return policy
    if truth is None:
        raise InputError(f'method {name!r} reads ground truth, which this world does not offer')
    oracle: Policy = cls(settings, truth)
    return oracle


def answerer_names() -> tuple[str, ...]:
    """Names of the methods for samples: ``sightplan.agent.answerers``, and installed ones."""
    from sightplan.agent import answerers
    return plugins.module_names(answerers, ANSWERERS)


def answerer_class(name: str) -> type[Answerer]:
    """The class of an answerer, whose attributes say what it needs.

    Raises:
        InputError: there is none of that name, or it cannot be imported.
    """
    found: type[Answerer] = _answerer_module(name).Answerer
    return found


def answerer_settings(name: str, values: Mapping[str, Any] | None = None) -> Any:
    """An answerer's settings with ``values`` over the defaults.

    Raises:
        InputError: an unknown answerer or field, or a bad value.
    """
    return _settings(name, _answerer_module(name).Settings, values)


def make_answerer(name: str, values: Mapping[str, Any] | None = None,
                  truth: SampleTruth | None = None) -> Answerer:
    """Make an answerer by name; truth is handed only to one that declares ``needs_truth``.

    Raises:
        InputError: unknown name, bad settings, or truth is needed and missing.
    """
    settings = answerer_settings(name, values)
    cls: Any = answerer_class(name)
    if not cls.needs_truth:
        answerer: Answerer = cls(settings)
        return answerer
    if truth is None:
        raise InputError(f'method {name!r} reads the truth, which is not known here')
    oracle: Answerer = cls(settings, truth)
    return oracle


def _answerer_module(name: str) -> Any:
    from sightplan.agent import answerers
    names = answerer_names()
    if name not in names and name in method_names():
        raise InputError(f'method {name!r} acts in episodes; for samples choose one of '
                         f'{", ".join(names)}')
    return plugins.load_module('method', name, answerers, ANSWERERS, _ANSWERER)


def _settings(name: str, cls: Any, values: Mapping[str, Any] | None) -> Any:
    known = [f.name for f in settings_fields(cls)]
    for key in values or {}:
        if key not in known:
            raise InputError(f'method {name!r} has no setting {key!r}; it has '
                             f'{", ".join(known) or "none"}')
    settings = cls(**(values or {}))
    check_settings(settings, f'method {name}')
    return settings
