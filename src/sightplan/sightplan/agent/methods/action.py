"""``action``: a vision-language model names the next action at each step."""

from __future__ import annotations

from sightplan.agent.methods._planning import PlanningPolicy, PlanningSettings

Settings = PlanningSettings


class Policy(PlanningPolicy):
    """Ask for one action, act, ask again."""

    prompt = 'action'
