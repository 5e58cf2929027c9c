"""``plan``: a vision-language model makes a whole plan at each step; its first action is sent."""

from __future__ import annotations

from sightplan.agent.methods._planning import PlanningPolicy, PlanningSettings

Settings = PlanningSettings


class Policy(PlanningPolicy):
    """Ask for a plan, act, ask again."""

    prompt = 'plan'
