"""The episode loop and the methods (policies) that run in it, over ports only."""

from sightplan.agent.loop import Limits, run_episode
from sightplan.agent.policy import Act, Context, Decision, Policy, Stop, Withhold
from sightplan.agent.registry import (
    make_policy,
    method_names,
    needs_grounder,
    needs_truth,
    policy_settings,
)

__all__ = [
    'Act', 'Context', 'Decision', 'Limits', 'Policy', 'Stop', 'Withhold', 'make_policy',
    'method_names', 'needs_grounder', 'needs_truth', 'policy_settings', 'run_episode',
]
