"""The settings of a run, and what follows from them alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.agent import needs_grounder, needs_visual_planner, prompt_name
from sightplan.domains import Domain, load_domain
from sightplan.grounding import PARSERS
from sightplan.model import InputError, Privileged, check_settings, param, user_path
from sightplan.model.redaction import holds_secret, without_secrets
from sightplan.queries.propose import Propose
from sightplan.records import bag_policy
from sightplan.runs.worlds import describes
from sightplan.vlm import recording
from sightplan.vlm.api import (
    backend_reads_prompt,
    check_backend,
    resolved_options,
)

ALL_SPLITS = 'all'
TOLD, PICTURED = 'told', 'pictured'
"""Ways in which a method learns the goal: in words and atoms, or from a picture of it."""
OURS = 'ours'
"""The protocol of every suite that sets nothing: runs are as its rules and the settings say."""
RULED = ('max_actions', 'stop_at_goal', 'privileged', 'goal')
"""Settings that a suite rules for each split; their default follows the suite."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run; call ``check`` before use, as ``run`` does."""

    suite: str = param('', 'Suite: a name, or the path of a folder, of a Python file, or of a '
                       'table of questions about pictures (.csv); empty: the one that domain and '
                       'split belong to, if any')
    domain: str = param('blocksworld', 'Domain: the name of an installed one, or the path of its '
                        'folder')
    split: str = param('simple', f'Split of the domain; "{ALL_SPLITS}": all of them; unless '
                       'given, a domain without it has its first split')
    problems: str = param('', 'Folder of problem files to use instead of those shipped, or of '
                         'such folders, one for each split; named like splits of a suite, the '
                         'files keep its rules')
    domain_file: str = param('', 'Another domain file of the same vocabulary, with problems; it '
                             'may have further types')
    prompts: str = param('', "Folder of prompts to use instead of the domain's own: a clone of a "
                         "paper's repository that holds its prompt files, or templates of one's "
                         'own')
    protocol: str = param(OURS, 'Rule set of the suite: a name under protocols in its suite.yaml, '
                          'such as paper (all that its paper fixes), or ours (nothing besides '
                          'the settings)')
    method: str = param('ground', 'Method: a module of sightplan.agent.methods; unless given, '
                        '"sightplan run" asks samples by ask')
    backend: str = param('embedded', 'Vision-language backend: a module of sightplan_models')
    answers: str = param('strict', 'How replies are read: strict, or prefix (as the ViPlan '
                         'reference does: "not" and "now" are no)', choices=tuple(PARSERS))
    episodes: int = param(0, 'Number of episodes; 0: one per problem; fewer than there are '
                          'problems or samples: spread over splits, tasks (of samples: kinds) and '
                          'problems, always the same ones (a larger number adds to them); more: '
                          'further rounds over the problems, with other seeds', low=0)
    seed: int = param(0, 'Seed of everything random: looks, failures, noise', low=0,
                      high=2**32 - 1)
    max_actions: int = param(0, "Budget of actions per episode; 0: the suite's", low=0)
    failure_probability: float = param(0.0, 'Chance that the world fails at a legal action',
                                       low=0.0, high=1.0)
    stop_at_goal: str = param('suite', 'Whether an episode ends as soon as the goal holds in the '
                              'true state, which no robot is told: yes, no, or suite (as the '
                              'suite grants it to the method; no, where there is no suite)',
                              choices=('suite', 'yes', 'no'))
    privileged: str = param('suite', 'When a method is told true facts about what is out of view: '
                            'none (never), initial (before its first action), always, reference '
                            '(always, and to the methods of the ViPlan paper also about what is '
                            'in view, as its code reads them), or suite (as the suite grants '
                            'it for the domain; none, where there is no suite)',
                            choices=('suite', *(level.value for level in Privileged)))
    goal: str = param('suite', 'How a method learns the goal: told, pictured (it is shown a '
                      'picture of it, where the world can draw one), or suite (as the suite shows '
                      'it; told, where there is no suite)', choices=('suite', TOLD, PICTURED))
    planner_search: str = param('lama-first', "Search of the planner: lama-first (the paper's), "
                                'short (plans close to the shortest), optimal (shortest plans; '
                                'lama-first where that takes long), or one of Fast Downward; of '
                                'the first three, a domain that brings a planner of its own uses '
                                'that')
    planner_timeout_s: float = param(60.0, 'Wall-clock limit of one planner call [s]', low=0.1,
                                     identity=False)
    grounder_timeout_s: float = param(300.0, 'Wall-clock limit of one grounder call [s]; of '
                                      'samples, of yes/no questions alone', low=0.1,
                                      identity=False)
    propose_timeout_s: float = param(300.0, 'Wall-clock limit of one call of a model that plans '
                                     '[s]; of samples, of one that is asked for a place, a choice '
                                     'or a text', low=0.1, identity=False)
    out: str = param('', 'Run directory; empty: runs/<time>-<domain>-<split>-<method>',
                     identity=False)
    resume: bool = param(True, 'Take up a run that is already there (else that is an error)',
                         identity=False)
    retry_errors: bool = param(True, 'When resuming, repeat episodes that ended in an error',
                               identity=False)
    answers_log: bool = param(False, 'Write all answers and executed actions, with the truth, to '
                              'answers.jsonl in the run directory, for "sightplan calibrate"',
                              identity=False)
    failure_images: bool = param(True, 'Write a picture of each failed episode, where the world '
                                 'draws any, to failures/ in the run directory', identity=False)
    bags: str = param(bag_policy.NONE, 'Write a rosbag2 bag of each episode to bags/ in the run '
                      'directory, as the recorder on ROS does, and keep none, those of failed '
                      'episodes, the last ones, or all', choices=bag_policy.KEEP, identity=False)
    bags_kept: int = param(bag_policy.KEPT, 'With bags last: how many are kept', low=1,
                           identity=False)
    record: bool = param(False, 'Write all requests to and replies from the model to '
                         f'{recording.NAME} in the run directory, for backend replay',
                         identity=False)
    record_images: bool = param(False, 'With record: also write each image once, to '
                                f'{recording.IMAGES}/ in the run directory', identity=False)
    backend_options: Mapping[str, Any] = field(default_factory=dict)
    method_options: Mapping[str, Any] = field(default_factory=dict)
    world_options: Mapping[str, Any] = field(default_factory=dict)
    suite_options: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Check types, bounds and combinations.

        Raises:
            InputError: names the field and the remedy.
        """
        check_settings(self)
        from sightplan.planning.symbolic import check_search
        check_search(self.planner_search, 'planner_search')
        if self.domain_file and not self.problems:
            raise InputError('domain_file goes with problems: name their folder, too')
        for kind in ('backend', 'method', 'world', 'suite'):
            for name, value in getattr(self, f'{kind}_options').items():
                if holds_secret(json.dumps([name, value], default=str, ensure_ascii=False)):
                    raise InputError(
                        f'{kind}_options: {without_secrets(str(name))} looks as if it held a key, '
                        'or what an environment variable keeps secret, and settings are written '
                        'to results; name the variable, where an option takes one (openai: '
                        'api_key_env)')


def prompts_folder(settings: RunSettings) -> Path | None:
    """The folder of prompts of a run; None: the domain's own prompts."""
    return user_path(settings.prompts) if settings.prompts else None


def resolved_backend_options(settings: RunSettings) -> dict[str, Any]:
    """The backend's options, with what they leave open and seed and method decide.

    Raises:
        InputError: unknown backend, unknown option or bad value, or a backend that cannot plan
            for a method that lets the model plan.
    """
    if needs_visual_planner(settings.method):
        check_backend(settings.backend, Propose, None, settings.backend_options)
    return resolved_options(settings.backend, settings.backend_options, settings.seed,
                            asks_for_reasons(settings.method, settings.domain),
                            load_domain(settings.domain))


def asks_for_reasons(method: str, domain: str) -> bool:
    """Whether a method asks its questions so that the answers begin with reasons.

    Raises:
        InputError: unknown method or domain.
    """
    prompt = prompt_name(method)
    return (needs_grounder(method) and bool(prompt)
            and load_domain(domain).grounding_prompt(prompt).reasoning)


def answering_prompt(settings: RunSettings, domain: Domain) -> str:
    """Prompt around the questions, ``name@sha256``; '' if answers do not depend on it."""
    return (domain.prompt_id(prompt_name(settings.method, settings.method_options),
                             describes(domain, settings.world_options))
            if backend_reads_prompt(settings.backend) else '')
