"""sightplan: visual planning for robots (see, symbols, plan, act, measure); no ROS in here.

The names below are what a user of the library needs; everything else is internal. They are loaded
when they are first used.

* See: ``Observation`` (a picture), ``ask`` and ``locate`` (about a picture of one's own; of
  ``sightplan_belief``), ``make_model`` (a model by name), ``Grounder`` (asks it about atoms).
* Symbols and plans: ``load_domain``, ``Atom``, ``Action``, ``Problem``, ``PlanningTask``,
  ``Planner`` (Fast Downward).
* Act and measure: ``make_world``, ``EpisodeSpec``, ``RunSettings``, ``run``, ``RunStore`` (the
  lines of a run), ``read_episodes`` (the recorded episodes of bags, as timelines).
"""

import importlib
from typing import Any

__version__ = '0.2.0'

_HOMES = {
    'Action': 'sightplan.model',
    'ask': 'sightplan_belief',
    'Atom': 'sightplan.model',
    'EpisodeSpec': 'sightplan.model',
    'Grounder': 'sightplan.grounding:BackendGrounder',
    'load_domain': 'sightplan.domains',
    'locate': 'sightplan_belief',
    'make_model': 'sightplan.vlm.api:make_backend',
    'make_world': 'sightplan.runs',
    'Observation': 'sightplan.model',
    'Planner': 'sightplan.planning.symbolic:FastDownwardPlanner',
    'PlanningTask': 'sightplan.model',
    'Problem': 'sightplan.model',
    'read_episodes': 'sightplan.records.recorded',
    'run': 'sightplan.runs',
    'RunSettings': 'sightplan.runs',
    'RunStore': 'sightplan.records',
}
"""Module of each public name, with its name there where that is another one."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """A public name, from the module that holds it.

    Raises:
        AttributeError: there is no such name.
        ImportError: the package that brings it is not installed.
    """
    if name not in _HOMES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    module, _, other = _HOMES[name].partition(':')
    try:
        return getattr(importlib.import_module(module), other or name)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ImportError(f'sightplan.{name} needs {module}, which is not installed '
                          f'(pip install {module})') from error


def __dir__() -> list[str]:
    """The public names, and what every module has."""
    return sorted({*globals(), *__all__})
