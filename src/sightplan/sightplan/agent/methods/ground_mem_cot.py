"""``ground_mem_cot``: as ``ground_mem``, with the reasons before each answer."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.agent.methods import ground_mem


@dataclass(frozen=True, slots=True)
class Settings(ground_mem.Settings):
    """Settings of ``ground_mem_cot``."""


class Policy(ground_mem.Policy):
    """Enumerate, plan, check, act, check, with reasons and a memory of what went wrong."""

    prompt = 'ground_mem_cot'
