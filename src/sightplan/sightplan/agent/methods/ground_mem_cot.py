"""``ground_mem_cot``: as ``ground_mem``, with the reasons before each answer."""

from __future__ import annotations

from sightplan.agent.methods import ground_mem
from sightplan.agent.methods.ground_mem import Settings as Settings


class Policy(ground_mem.Policy):
    """Enumerate, plan, check, act, check, with reasons and a memory of what went wrong."""

    prompt = 'ground_mem_cot'
