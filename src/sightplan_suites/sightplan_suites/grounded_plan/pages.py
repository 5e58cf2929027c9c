"""Page for people about a task: the true plan beside the predicted one, both on the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sightplan.model.grounded_plan import GroundedStep
from sightplan.model.sample import Sample
from sightplan.runs.suite_parts import SamplePage, Scored, shown_pictures
from sightplan_suites.grounded_plan import drawing, reading, scoring

KEY = ('Left the true plan (blue), right the predicted one (green: steps of units that are '
       'right, red: of units that are not); boxes are grasped, opened or closed, points are '
       'places. Steps with one letter may come in any order.')


def page(item: Sample, answer: Sequence[Mapping[str, Any]] | None, truth: Mapping[str, Any],
         scored: Scored) -> SamplePage:
    """Contract in ``runs.suite.Suite``."""
    plans = scoring.plans_of(truth)
    steps = [GroundedStep.from_json(step) for step in answer or ()]
    found = scoring.best_score(plans, steps, item.details['grasp_criterion'])
    image = shown_pictures(item)
    drawn = None if image is None else drawing.draw_plans(
        image, '', plans, steps, right_steps(found, steps),
        _verdict(answer, scored), found.plan)
    others = f' (plan {found.plan + 1} of {len(plans)} right ones)' if len(plans) > 1 else ''
    return SamplePage(drawn, item.details['instruction'],
                      _listed(drawing.true_steps(plans[found.plan])) + others,
                      _listed(f'{step.action or "?"} {step.target}' for step in steps), KEY)


def right_steps(found: scoring.Score, steps: Sequence[GroundedStep]) -> list[bool]:
    """For each step of a predicted plan, whether its unit is matched with a true one.

    Args:
        found: score of the plan.
        steps: of the plan.
    """
    units, _ = reading.units_of(steps)
    right = {number for one in found.matched if one is not None for number in units[one].steps}
    return [number in right for number in range(len(steps))]


def _verdict(answer: object, scored: Scored) -> str:
    if answer is None:
        return 'cannot be read'
    cause = (scored.cause or '').replace('_', ' ')
    return f'wrong ({cause})' if cause else 'right'


def _listed(steps: Any) -> str:
    return '; '.join(f'{number}. {text}' for number, text in enumerate(steps, 1))
