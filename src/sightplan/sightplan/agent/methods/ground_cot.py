"""``ground_cot``: as ``ground``, but the model writes down its reasons before each answer."""

from __future__ import annotations

from sightplan.agent.methods import ground
from sightplan.agent.methods.ground import Settings as Settings


class Policy(ground.Policy):
    """Enumerate, plan, check, act, check, and start over, with reasons for each answer."""

    prompt = 'ground_cot'
