"""``belief``: joint state estimation that asks only what can change the plan.

Many uncertain answers become one possible world: every answer reweights joint states that the
domain's constraints allow, actions move them, and questions are chosen by how much their answers
say about whether the plan in hand works. See ``docs/belief.md`` for the method, and measurements.
"""

from __future__ import annotations

from sightplan.agent.methods._believing import BelievingPolicy, BelievingSettings

Settings = BelievingSettings


class Policy(BelievingPolicy):
    """Look, ask, plan, act, on a joint belief."""
