"""The episode loop and the methods (policies) that run in it, over ports only."""

from sightplan.agent.loop import Limits, run_episode
from sightplan.agent.policy import Act, Context, Decision, Forfeit, Policy, Stop, Withhold
from sightplan.agent.privileged import PrivilegedFacts
from sightplan.agent.registry import (
    make_policy,
    method_names,
    needs_grounder,
    needs_model,
    needs_planner,
    needs_truth,
    needs_visual_planner,
    policy_settings,
    prompt_name,
)

__all__ = [
    'Act', 'Context', 'Decision', 'Forfeit', 'Limits', 'Policy', 'PrivilegedFacts', 'Stop',
    'Withhold', 'make_policy', 'method_names', 'needs_grounder', 'needs_model',
    'needs_planner', 'needs_truth', 'needs_visual_planner', 'policy_settings', 'prompt_name',
    'run_episode',
]
