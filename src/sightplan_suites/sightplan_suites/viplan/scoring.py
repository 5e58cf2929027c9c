"""Measures of ViPlan: those of every episode, and the paper's action accuracy.

* An episode is *solved* when the goal holds in the true final state, whatever the method believes.
* *Predicate accuracy* counts the questions of enumerations only.
* *Action accuracy* is about answers: an action is right when it was executed and all answers about
  its preconditions and effects are true; the actions that were still planned at the end count as
  not right, and an episode without any plan counts as one action that is not right. Methods that
  ask nothing have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sightplan.metrics.episodes import EPISODE_MEASURES, episode_measures, ratio_of
from sightplan.metrics.measures import (
    MEAN,
    STATISTIC,
    Columns,
    Floats,
    Measure,
    aggregate,
    aggregates,
    total,
)


def _action_accuracy(columns: Columns, weights: Floats) -> Floats:
    found = ratio_of('actions_right', 'actions_counted')(columns, weights)
    return np.where(total(columns['questions'], weights) > 0.0, found, np.nan)


ACTION_ACCURACY = Measure('action_accuracy', 'fraction of actions that were executed with all '
                          'answers about them right', STATISTIC, statistic=_action_accuracy,
                          counts=('actions_right', 'actions_counted'))
MEASURES = (*EPISODE_MEASURES, ACTION_ACCURACY)

DRIVEN = (
    Measure('least_clearance_m', 'least distance of the middle of the robot to an obstacle on all '
            'paths of the episode [m]', MEAN),
    Measure('length_m', 'length of all paths of the episode [m]', MEAN, False),
    Measure('without_path', 'drives for which there was no path', MEAN, False),
)
"""Measures of driven paths, for household with the world option ``paths=planned``."""


def measures(line: Mapping[str, Any], solved: bool | None) -> dict[str, float | None]:
    """An episode's values; contract in ``metrics.episodes.episode_measures``."""
    own = {key: None if solved is None else line[key]
           for key in ('actions_right', 'actions_counted')}
    return {**episode_measures(line, solved), **own, **_driven(line, solved)}


def _driven(line: Mapping[str, Any], solved: bool | None) -> dict[str, float | None]:
    """Values of ``DRIVEN``, where the robot drove along paths."""
    paths = (line.get('details') or {}).get('paths')
    return {} if paths is None else {
        measure.name: None if solved is None else paths[measure.name] for measure in DRIVEN}


def summarise(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Values that ViPlan adds to ``summary.json``."""
    driven = [measure for measure in DRIVEN
              if any(line['measures'].get(measure.name) is not None for line in lines)]
    return {'action_accuracy': aggregate(lines, ACTION_ACCURACY, resamples=0).value,
            **({'paths': aggregates(lines, driven)} if driven else {})}
