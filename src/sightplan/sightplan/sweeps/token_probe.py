"""Tokens that a server's model makes of text and pictures, measured by three small requests.

Models make 64 to 1,600 tokens of one picture, and nobody but the server knows how many. So before
a sweep starts, a prompt of its first problem is sent with its first picture, without it, and once
only a word; each asks for a reply of one token.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from sightplan.model import BackendError, SightplanError, settings_fields
from sightplan.model.query import Model, Part, ask_one, close, traits_of
from sightplan.queries.generate import Generate
from sightplan.runs import EpisodePlan, specify, worlds
from sightplan.sweeps.cells import Cell, Sweep
from sightplan.sweeps.estimates import Estimator, rates_key
from sightplan.sweeps.guesses import TokenRates
from sightplan.vlm.api import backend_class, backend_settings, make_backend

_TIMEOUT_S = 60.0
_WORD = 'Hello'
_IMPATIENT = {'retries': 0, 'timeout_s': _TIMEOUT_S}
"""Settings of a server's backend for requests that a sweep can do without."""


def measure_tokens(sweep: Sweep, estimator: Estimator,
                   say: Callable[[str], None] = lambda text: None) -> None:
    """Measure the tokens of each server's model and domain of a sweep that are not known yet.

    Nothing is asked once a run has begun: measured episodes tell more, or a cap may be reached.

    Args:
        sweep: whose cells are to be estimated.
        estimator: gets the rates.
        say: told why something could not be measured; the usual rates count then.
    """
    if estimator.begun:
        return
    for key, cell in {rates_key(cell): cell for cell in reversed(sweep.cells)}.items():
        plan = specify(cell.settings)
        if (key in estimator.rates or not isinstance(plan, EpisodePlan)
                or plan.model_options() is None
                or not traits_of(backend_class(cell.settings.backend)).capped):
            continue
        try:
            estimator.rates[key] = _measured(cell, plan)
        except SightplanError as error:
            say(f'tokens of a picture could not be measured, and are guessed ({error})')


def _measured(cell: Cell, plan: EpisodePlan) -> TokenRates:
    """Ask the model; raises as world and backend do."""
    settings, spec = cell.settings, plan.items[0]
    prompt = plan.domain.planning_prompt('plan', spec.problem, described=worlds.describes(
        settings.domain, settings.world_options))
    with ExitStack() as stack:
        world = worlds.make_world(settings.domain, settings.world_options)
        stack.callback(close, world)
        world.reset(spec)
        picture = world.observe().image
        options = plan.model_options() or {}
        known = {field.name for field in settings_fields(type(backend_settings(
            settings.backend, options)))}
        model = make_backend(settings.backend, {**options, **{
            name: value for name, value in _IMPATIENT.items() if name in known}})
        stack.callback(close, model)
        word = _tokens(model, '', (_WORD,))
        text = _tokens(model, prompt.system, (prompt.before_image,))
        both = text if picture is None else _tokens(
            model, prompt.system, (prompt.before_image, picture))
    characters = len(prompt.system) + len(prompt.before_image)
    per_character = max(0.0, text - word) / max(1, characters - len(_WORD))
    return TokenRates(per_character, max(0.0, both - text),
                      max(0.0, word - per_character * len(_WORD)))


def _tokens(model: Model, system: str, parts: tuple[Part, ...]) -> float:
    """Tokens of a prompt by the server's count.

    Raises:
        BackendError: the server did not reply, or does not count.
    """
    before = model.usage
    failed: BackendError | None = None
    try:
        ask_one(model, Generate(system, parts, 1), _TIMEOUT_S)
    except BackendError as error:  # a reply of one token may be no answer, and was counted
        failed = error
    after = model.usage
    if before is None or after is None or not (after - before).prompt_tokens:
        raise failed or BackendError(f'{model.name}: does not say how many tokens a prompt takes')
    used = after - before
    return used.prompt_tokens / used.requests
