"""``action_cot``: as ``action``, but the model writes down its reasons first."""

from __future__ import annotations

from sightplan.agent.methods._planning import PlanningPolicy, PlanningSettings

Settings = PlanningSettings


class Policy(PlanningPolicy):
    """Ask for reasons and one action, act, ask again."""

    prompt = 'action_cot'
