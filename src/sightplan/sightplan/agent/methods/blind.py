"""``blind``: the belief of ``belief`` with its eyes shut.

The same action model, the same constraints, the same use of what is executed and what is
rejected, but never a question. What this solves, no vision-language model can take credit for.

It uses no picture, nor what the world says is in view. Privileged facts that an episode
grants it gets like the others: it observes for these facts alone, and none at all in
an episode that grants nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.agent.methods._believing import BelievingPolicy, BelievingSettings
from sightplan.model import param


@dataclass(frozen=True, slots=True)
class Settings(BelievingSettings):
    """Settings of ``blind``; those about asking have no effect."""

    accept: float = param(0.5, 'Probability of the goal at which the episode is ended', low=0.0,
                          high=1.0)


class Policy(BelievingPolicy):
    """Act on a joint belief that only actions and their feedback change."""

    needs_grounder = False
    needs_visual_planner = False
    prompt = ''
