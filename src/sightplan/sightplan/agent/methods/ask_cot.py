"""``ask_cot``: as ``ask``, with the reasons before the answer."""

from __future__ import annotations

from sightplan.agent.methods import ask
from sightplan.agent.methods.ask import Settings as Settings


class Answerer(ask.Answerer):
    """Ask for reasons, then for the answer."""

    prompt = 'ground_cot'
    suite_prompt = 'ask_cot'
