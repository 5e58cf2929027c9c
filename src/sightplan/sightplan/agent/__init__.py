"""The episode loop and the methods (policies) that run in it, over ports only; and answerers."""

from sightplan.agent.answerer import Answerer, AnswererBase, Desk, SampleTruth
from sightplan.agent.loop import Limits, run_episode
from sightplan.agent.policy import (
    Act,
    Context,
    Decision,
    Forfeit,
    Policy,
    PolicyBase,
    Stop,
    Withhold,
)
from sightplan.agent.privileged import FactsFromTruth
from sightplan.agent.registry import (
    answerer_class,
    answerer_names,
    answerer_settings,
    answers_only_samples,
    check_reads_goal,
    every_method,
    make_answerer,
    make_policy,
    method_files,
    method_names,
    needs_grounder,
    needs_model,
    needs_planner,
    needs_truth,
    needs_visual_planner,
    policy_class,
    policy_settings,
    prompt_name,
    reads_instruction,
)

__all__ = [
    'Act', 'Answerer', 'AnswererBase', 'Context', 'Decision', 'Desk', 'FactsFromTruth',
    'Forfeit', 'Limits', 'Policy', 'PolicyBase', 'SampleTruth', 'Stop', 'Withhold',
    'answerer_class', 'answerer_names', 'answerer_settings', 'answers_only_samples',
    'check_reads_goal', 'every_method', 'make_answerer', 'make_policy', 'method_files',
    'method_names', 'needs_grounder', 'needs_model', 'needs_planner', 'needs_truth',
    'needs_visual_planner', 'policy_class', 'policy_settings', 'prompt_name',
    'reads_instruction', 'run_episode',
]
