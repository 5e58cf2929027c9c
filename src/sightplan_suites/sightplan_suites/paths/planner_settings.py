"""Settings of the planners of paths."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.model import param

PLANNERS = ('rrt', 'rrt_connect', 'prm')


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    """Settings of planning paths.

    The defaults are those of PathEval's runs as far as it states them.
    """

    planner: str = param('rrt', 'planner of OMPL', choices=PLANNERS)
    runs: int = param(30, 'runs on a map, each with a robot of its own', low=1, high=1000)
    samples: int = param(60_000, 'samples after which a run gives up', low=1, high=10_000_000)
    step: float = param(5.0, 'longest step of a tree; 0: a fifth of the diagonal, as OMPL has it',
                        low=0.0, high=1000.0)
    simplify: bool = param(True, 'shorten and smooth paths as OMPL does by default')
    min_radius: float = param(0.5, 'least radius of a robot', low=0.01, high=100.0)
    max_radius: float = param(1.5, 'greatest radius of a robot', low=0.01, high=100.0)
