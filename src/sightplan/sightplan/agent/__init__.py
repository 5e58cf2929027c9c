"""The tools of methods, the episode loop, and methods: policies for episodes, answerers."""

from sightplan.agent.answerer import Answerer, AnswererBase, SampleTruth
from sightplan.agent.asking import ask_atoms, ask_questions, detect_instances, plan_from
from sightplan.agent.context import AskedModel, Context, Reason, WorldContext
from sightplan.agent.loop import Limits, run_episode
from sightplan.agent.policy import (
    Act,
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
    method_choices,
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
    'Act', 'Answerer', 'AnswererBase', 'AskedModel', 'Context', 'Decision', 'FactsFromTruth',
    'Forfeit', 'Limits', 'Policy', 'PolicyBase', 'Reason', 'SampleTruth', 'Stop', 'Withhold',
    'WorldContext', 'answerer_class', 'answerer_names', 'answerer_settings',
    'answers_only_samples', 'ask_atoms', 'ask_questions', 'check_reads_goal',
    'detect_instances', 'every_method', 'make_answerer', 'make_policy', 'method_choices',
    'method_files', 'method_names', 'needs_grounder', 'needs_model', 'needs_planner',
    'needs_truth', 'needs_visual_planner', 'plan_from', 'policy_class', 'policy_settings',
    'prompt_name', 'reads_instruction', 'run_episode',
]
