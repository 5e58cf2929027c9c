"""Whether a sweep can be run at all, as far as that is known before anything is started.

What is wrong here would end every episode of a cell, or its calibration, in the same error. So it
is found before the first cell, and by ``--dry-run``. No model is loaded and no simulator started.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from sightplan.agent import policy_class
from sightplan.domains import load_domain
from sightplan.model import InputError, check_settings, did_you_mean, settings_fields
from sightplan.model.query import close, traits_of
from sightplan.runs import EpisodePlan, RunSettings, specify, worlds
from sightplan.runs.method_check import (
    check_instructions,
    check_method,
    check_problem,
    check_sequence,
    check_starts,
)
from sightplan.sweeps.calibrations import check_recipe
from sightplan.sweeps.cells import Cell, Sweep, cell_place
from sightplan.sweeps.graphs import check_graph, check_installed
from sightplan.vlm.api import (
    backend_choices,
    backend_class,
    make_backend,
    read_backend_content,
)


def check_sweep(sweep: Sweep, graph: bool = False) -> None:
    """Check what would keep a cell from being run, or a calibration from being learned.

    Args:
        sweep: with the cells that are to be run.
        graph: whether ROS graphs are to run them.

    Raises:
        InputError: a cell can never be run; names file, cell, field and remedy. Or the graphs
            cannot be started on this machine.
        InfrastructureError: the graphs would not stay on this machine.
    """
    seen: set[str] = set()
    for cell in sweep.cells:
        try:
            _check_cell(cell, seen)
            if graph:
                check_graph(cell.settings)
        except InputError as error:
            raise InputError(f'{cell_place(sweep.source, cell.labels)}: {error}') from error
    for calibration in sweep.calibrations:
        try:
            check_recipe(calibration)
        except InputError as error:
            raise InputError(f'{sweep.source}: {error}') from error
    if graph:
        check_installed([cell.settings for cell in sweep.cells])


def _check_cell(cell: Cell, seen: set[str]) -> None:
    settings, plan = cell.settled(Path()), specify(cell.settings)
    options = plan.model_options()
    if options is not None and _is_new(seen, settings.backend, options):
        _check_backend(settings.backend, options)
    if not isinstance(plan, EpisodePlan):
        return
    if 'player' in inspect.signature(policy_class(settings.method)).parameters:
        raise InputError(f'method {settings.method!r} needs a person, and sweeps have none; leave '
                         f'it out, or use sightplan play')
    if _is_new(seen, settings.domain, dict(settings.world_options)):
        _check_world(settings)
    method = check_method(settings, plan.domain)
    check_problem(plan.settings, plan.domain, plan.pairs[0][1])
    check_sequence(method, plan.pairs)
    check_starts(plan.settings, plan.domain, plan.pairs)
    check_instructions(settings, plan.pairs)


def _is_new(seen: set[str], *what: Any) -> bool:
    key = json.dumps(what, sort_keys=True, default=str)
    new = key not in seen
    seen.add(key)
    return new


def _check_backend(name: str, options: dict[str, Any]) -> None:
    """Check that what a backend's options refer to (a table, a script) is there.

    Raises:
        InputError: it is not, or is malformed; or a server is asked for no model.
    """
    try:
        read_backend_content(name, options)
        if backend_choices(name, options).model == '' and traits_of(backend_class(name)).capped:
            close(make_backend(name, options))  # says whether it needs one; nothing is sent
    except InputError as error:
        raise InputError(f'{error} (in a sweep: --set model=NAME)' if 'model is missing' in
                         str(error) else str(error)) from error
    except OSError as error:
        raise InputError(f'backend {name}: {error.filename or "a file"}: cannot be read '
                         f'({error.strerror or error}); correct backend_options') from error


def _check_world(settings: RunSettings) -> None:
    """Check the options of a world; values only where its module has the dataclass ``Settings``.

    Raises:
        InputError: one is unknown or out of bounds.
    """
    if not settings.world_options:
        return
    options = dict(settings.world_options)
    make, where = worlds.world_maker(load_domain(settings.domain))
    parameters = inspect.signature(make).parameters.values()
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    kind = None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        kind = worlds.settings_class(make)
        if kind is None:
            return
    fields = [] if kind is None else [field.name for field in settings_fields(kind)]
    for name in options:
        if name not in (*named, *fields):
            known = fields or named
            raise InputError(f'world_options.{name}: is unknown to {where}'
                             f'{did_you_mean(name, known)}; it has {", ".join(known) or "none"}')
    if kind is not None:
        check_settings(kind(**{name: value for name, value in options.items() if name in fields}),
                       f'world_options of {where}')
