"""``action_cot``: as ``action``, but the model writes down its reasons first."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.agent.methods._planning import PlanningPolicy, PlanningSettings


@dataclass(frozen=True, slots=True)
class Settings(PlanningSettings):
    """Settings of ``action_cot``."""


class Policy(PlanningPolicy):
    """Ask for reasons and one action, act, ask again."""

    prompt = 'action_cot'
