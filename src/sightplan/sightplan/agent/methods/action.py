"""``action``: a vision-language model names the next action at each step."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.agent.methods._planning import PlanningPolicy, PlanningSettings


@dataclass(frozen=True, slots=True)
class Settings(PlanningSettings):
    """Settings of ``action``."""


class Policy(PlanningPolicy):
    """Ask for one action, act, ask again."""

    prompt = 'action'
