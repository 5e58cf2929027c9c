"""``ground_cot``: as ``ground``, but the model writes down its reasons before each answer."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.agent.methods import ground


@dataclass(frozen=True, slots=True)
class Settings(ground.Settings):
    """Settings of ``ground_cot``."""


class Policy(ground.Policy):
    """Enumerate, plan, check, act, check, and start over, with reasons for each answer."""

    prompt = 'ground_cot'
