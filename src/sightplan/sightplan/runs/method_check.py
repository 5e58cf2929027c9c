"""Checks that a method can work with its settings and with the files of a domain.

What is wrong there would end every episode as an error; it is found before the first one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from sightplan.agent import (
    check_reads_goal,
    method_choices,
    method_files,
    needs_grounder,
    needs_visual_planner,
    policy_settings,
    reads_instruction,
)
from sightplan.agent.grounded_plans import BY_MODEL
from sightplan.agent.method_choices import MethodChoices
from sightplan.domains import Domain, load_domain
from sightplan.domains.problem_keys import problem_key
from sightplan.model import InputError, Problem, excerpt
from sightplan.model.ports import Shown
from sightplan.model.query import Model, can_ask, check_planning, traits_of
from sightplan.model.settings import picked
from sightplan.queries import Detect, Generate, Propose, YesNo
from sightplan.runs import rules
from sightplan.runs.problem_folders import splits_of
from sightplan.runs.settings import OURS, RunSettings
from sightplan.vlm.api import (
    answers_kind,
    answers_texts,
    backend_class,
    backends_that_answer,
    check_backend,
    usable_backends,
)

_LOG = logging.getLogger(__name__)


def check_method(settings: RunSettings, domain: Domain) -> Any:
    """Check a method's settings, the files of the domain that it reads, and how it learns goals.

    Returns:
        the settings of the method.

    Raises:
        InputError: a setting or a file is wrong; names setting or file, and the remedy.
    """
    found = policy_settings(settings.method, settings.method_options)
    choices = picked(MethodChoices, found)
    if choices.search:
        from sightplan.planning.symbolic import check_search
        check_search(choices.search, f'search of method {settings.method}')
    if (files := method_files(settings.method)) is not None:
        files.check(found, domain, needs_grounder(settings.method))
    if choices.reading:
        check_writes(settings, 'reading')
    if choices.reader == BY_MODEL:
        check_writes(settings, 'reader')
    _check_goal(settings, domain)
    return found


def check_shown(backend: str, method: str, method_options: Mapping[str, Any], shown: Shown,
                ) -> None:
    """Check that the model can work from what the world shows: pictures, descriptions or neither.

    Proposals and readings of a whole scene are asked for in free text, which every model that
    writes gives about a description, too; yes/no questions about one are for some models only.

    Args:
        backend: name of the model's backend.
        method: name of the method of episodes.
        method_options: its settings.
        shown: what the world shows.

    Raises:
        InputError: it cannot; names the world's option and what to choose instead.
    """
    model = backend_class(backend)
    if not traits_of(model).pixels or not shown.no_pictures:
        return
    if not shown.describes:
        raise InputError(
            f'backend {backend!r} looks at pictures, but this world draws '
            f'none (world option {shown.no_pictures}); let it draw, or choose a backend '
            f'that needs no pictures, such as noisy_oracle')
    questions = needs_grounder(method) and not method_choices(method, method_options).reading
    if not (answers_texts(model) if questions else can_ask(model, Generate)):
        able = ([name for name, cls in usable_backends().items() if answers_texts(cls)]
                if questions else backends_that_answer(Generate))
        raise InputError(
            f'backend {backend!r} cannot '
            f'{"answer yes/no questions" if questions else "write"} about a description, and this '
            f'world draws no pictures (world option {shown.no_pictures}); leave that option out, '
            f'or choose a backend that reads ({", ".join(able)})')


def check_model(settings: RunSettings, model: Model | None = None) -> None:
    """Check that the model answers what the method of episodes asks: questions, or for plans.

    Args:
        settings: of the run.
        model: as it was made; None: it is not loaded yet, and the class of its backend is asked.

    Raises:
        InputError: it does not; names backends that do.
    """
    method = settings.method
    reading = method_choices(method, settings.method_options).reading
    if needs_grounder(method) and not reading and not reads_instruction(method):
        check_backend(settings.backend, YesNo, model, settings.backend_options)
        if model is not None:
            _check_words(settings, model)
    if needs_visual_planner(method):
        check_backend(settings.backend, Propose, model, settings.backend_options)
        check_planning(model, settings.domain.rpartition('/')[2], method)


def _check_words(settings: RunSettings, model: Model) -> None:
    """Check that a model that knows the domain's own questions alone is asked these.

    Raises:
        InputError: it is asked in other words; names the setting.
    """
    traits = traits_of(model)
    words = method_choices(settings.method, settings.method_options).question_words
    if (words != 'own' and traits.domain and not traits.refuses
            and load_domain(settings.domain).prompts.has_paper_words):
        remedy = ('leave question_words out' if settings.protocol == OURS else
                  f'use protocol {OURS} instead of {settings.protocol}, which sets it')
        raise InputError(
            f"{model.name} knows the questions of domain {traits.domain} in the domain's own "
            f'words alone, and question_words={words} asks in others; choose a '
            f'backend that reads any question, or {remedy}')


def warn_of_learned_problems(settings: RunSettings, pairs: Iterable[tuple[str, Problem]]) -> None:
    """Warn if the method's calibration was learned from answers about problems of the run.

    The run does it, because methods do not know which problem they have. Answers that were
    replayed from a bag name a problem whose goal was pictured without its goal, as the agent knew
    it: then all problems that differ in nothing else count.

    Args:
        settings: of the run.
        pairs: its splits and problems.
    """
    file, files = settings.method_options.get('calibration'), method_files(settings.method)
    if not file or files is None:
        return
    try:
        known = files.learned_problems(policy_settings(settings.method, settings.method_options))
    except InputError:
        return  # the method says what is wrong with it
    problems = [problem for _, problem in pairs]
    learned = [problem.name for problem in problems if problem_key(problem) in known
               or problem_key(problem.for_agent(pictured_goal=True)) in known]
    if learned:
        _LOG.warning('%s: the calibration was learned from answers about %d of the %d problems of '
                     'this run (%s): results on these are not results on unseen problems', file,
                     len(learned), len(problems), excerpt(', '.join(learned)))


def check_writes(settings: RunSettings, setting: str) -> None:
    """Check that the model can reply in free text, as a setting of the method wants it.

    Raises:
        InputError: it cannot; names backends that can.
    """
    if not answers_kind(settings.backend, Generate, None, settings.backend_options):
        able = backends_that_answer(Generate)
        raise InputError(
            f'{setting} of method {settings.method} asks for a reply in free text, and backend '
            f'{settings.backend!r} writes none; leave {setting} out, or choose a backend that '
            f'writes: {", ".join(able) or "none"}')


def check_instructions(settings: RunSettings, pairs: Iterable[tuple[str, Problem]]) -> None:
    """Check that a method that is given an instruction in words gets one, and eyes for it.

    Raises:
        InputError: a problem has none, or the model cannot tell things apart; says what can.
    """
    if not reads_instruction(settings.method):
        return
    for _, problem in pairs:
        problem.with_instruction_only()
    check_backend(settings.backend, Detect, None, settings.backend_options)


def check_sequence(method: Any, pairs: Iterable[tuple[str, Problem]]) -> None:
    """Check that problems have the sequence that a method is to carry out.

    Args:
        method: its settings.
        pairs: split and problem of each episode.

    Raises:
        InputError: one has none of that name; names those that it has.
    """
    name = picked(MethodChoices, method).sequence
    if name is None:
        return
    for _, problem in pairs:
        if name not in problem.plans:
            raise InputError(
                f'{problem.source or problem.name} has no sequence {name!r} (it has '
                f'{", ".join(problem.plans) or "none"}); set sequence to one of these')


def _check_goal(settings: RunSettings, domain: Domain) -> None:
    """Check that a method that is shown the goal as a picture can read it there.

    Raises:
        InputError: it cannot; names methods that can.
    """
    suite = rules.suite_of(settings, domain)
    if any(rules.pictured_goal(settings, suite, domain.name, split)
           for split in splits_of(settings, domain)):
        check_reads_goal(settings.method)


def check_problem(settings: RunSettings, domain: Domain, problem: Problem) -> None:
    """Check that the run's method can work with one of its problems.

    Raises:
        InputError: it cannot; names the setting.
    """
    if (files := method_files(settings.method)) is not None:
        files.check_problem(policy_settings(settings.method, settings.method_options), domain,
                            problem)


def check_starts(settings: RunSettings, domain: Domain,
                 pairs: Iterable[tuple[str, Problem]]) -> None:
    """Check that a method that relies on the domain's rules could ever believe the truth.

    Args:
        settings: of the run.
        domain: of the run.
        pairs: split and problem of each episode.

    Raises:
        InputError: a problem begins in a state that a rule calls impossible; names both.
    """
    if (files := method_files(settings.method)) is not None:
        files.check_starts(policy_settings(settings.method, settings.method_options), domain,
                           pairs)
