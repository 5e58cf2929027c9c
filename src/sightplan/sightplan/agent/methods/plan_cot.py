"""``plan_cot``: as ``plan``, but the model writes down its reasons first."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.agent.methods._planning import PlanningPolicy, PlanningSettings


@dataclass(frozen=True, slots=True)
class Settings(PlanningSettings):
    """Settings of ``plan_cot``."""


class Policy(PlanningPolicy):
    """Ask for reasons and a plan, act, ask again."""

    prompt = 'plan_cot'
