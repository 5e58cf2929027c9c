"""``plan_cot``: as ``plan``, but the model writes down its reasons first."""

from __future__ import annotations

from sightplan.agent.methods._planning import PlanningPolicy, PlanningSettings

Settings = PlanningSettings


class Policy(PlanningPolicy):
    """Ask for reasons and a plan, act, ask again."""

    prompt = 'plan_cot'
