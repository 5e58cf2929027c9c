"""The identity of a run of episodes, and the record of each start of a run."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import os
from collections.abc import Sequence
from typing import Any

import sightplan
from sightplan.agent import (
    method_choices,
    method_files,
    needs_grounder,
    needs_model,
    needs_planner,
    prompt_name,
    reads_instruction,
)
from sightplan.domains import Domain
from sightplan.grounding import instructions
from sightplan.model import Problem, identity_values
from sightplan.queries.detect import Detect
from sightplan.records import provenance
from sightplan.runs import rules
from sightplan.runs.method_check import check_method
from sightplan.runs.settings import RunSettings, answering_prompt, resolved_backend_options
from sightplan.runs.suite import Suite
from sightplan.runs.suite_rules import EPISODES
from sightplan.runs.worlds import describes, world_identity
from sightplan.vlm.api import backend_content, backend_reads_prompt, backend_settings


def identity(settings: RunSettings, suite: Suite | None, domain: Domain,
             pairs: Sequence[tuple[str, Problem]], model: str | None) -> dict[str, Any]:
    """Return all that changes results, as plain JSON data; a resumed run must agree with it.

    Args:
        settings: settings of the run.
        suite: suite of the run, None for none.
        domain: domain of the run.
        pairs: all problems of the run, with their splits.
        model: exact name of the model that answers, '' for none; None: it is not loaded yet, and
            the rest of the identity is wanted.

    Raises:
        InputError: a setting of the method or a file that it reads is wrong, its calibration
            belongs to another model or domain, or what the world's options refer to cannot be
            read.
    """
    asks = needs_model(settings.method)
    prompt = prompt_name(settings.method, settings.method_options)
    described = describes(domain, settings.world_options)
    origin = domain.prompts.origin
    splits = dict.fromkeys(split for split, _ in pairs)
    options = resolved_backend_options(settings) if asks else {}
    backend = identity_values(backend_settings(settings.backend, options)) if asks else {}
    return {
        'sightplan': sightplan.__version__,
        'suite': '' if suite is None else suite.name,
        'protocol': settings.protocol,
        'kind': EPISODES,
        'domain': domain.name,
        'domain_sha256': hashlib.sha256(domain.pddl.encode()).hexdigest()[:12],
        'domain_settings_sha256': domain.settings_hash,
        'questions_sha256': domain.question_hash,
        'split': '' if settings.problems else settings.split,
        'problems': {'count': len(pairs), 'sha256': problems_sha256(domain, pairs)},
        'method': {'name': settings.method, **_method_identity(settings, domain, model)},
        'backend': {'name': settings.backend, **backend} if asks else None,
        'model': model,
        'prompt': ({'name': prompt, 'sha256': domain.prompt_hash(prompt, described)} if prompt
                   else None),
        **({'prompts': origin.identity()} if prompt and origin is not None else {}),
        'reply_tokens': _reply_tokens(settings, domain, prompt) if asks and prompt else None,
        'answers': settings.answers if needs_grounder(settings.method) else None,
        'seed': settings.seed,
        **rules.of_run(settings, suite, domain.name, splits),
        'failure_probability': settings.failure_probability,
        'planner': ({'search': settings.planner_search} if needs_planner(settings.method)
                    else None),
        'world': world_identity(domain, settings.world_options),
        **({'detecting': backend_content(settings.backend, options, Detect),
            'instructions': instructions.content()} if reads_instruction(settings.method) else {}),
    }


def _reply_tokens(settings: RunSettings, domain: Domain, prompt: str) -> int | None:
    """Most tokens of a reply: the method's setting, else the prompt's; None: none are written."""
    if not backend_reads_prompt(settings.backend):
        return None
    own = method_choices(settings.method, settings.method_options).reply_tokens
    return int(own or domain.prompts.max_tokens(prompt))


def problems_sha256(domain: Domain, pairs: Sequence[tuple[str, Problem]]) -> str:
    """Return the hash of (split, problem) pairs in the identity of a run."""
    key = (domain.folder, domain.pddl, *((split, id(problem)) for split, problem in pairs))
    if (kept := _HASHES.get(key)) is not None:
        return kept[1]
    digest = hashlib.sha256()
    for split, problem in pairs:
        told = f'{problem.instruction}\n' if problem.instruction else ''
        digest.update(
            f'{split}/{problem.name}\n{domain.write_problem(problem)}\n{told}'.encode())
    if len(_HASHES) >= _MOST_HASHES:
        _HASHES.clear()
    # The problems are held, so that no other ones come to have their ids.
    found = digest.hexdigest()[:12]
    _HASHES[key] = tuple(problem for _, problem in pairs), found
    return found


_HASHES: dict[tuple[Any, ...], tuple[tuple[Problem, ...], str]] = {}
"""Hashes of problems, kept because cells of a sweep share problems and hashing is slow."""
_MOST_HASHES = 64


def _method_identity(settings: RunSettings, domain: Domain, model: str | None) -> dict[str, Any]:
    """The method's settings; what they refer to counts by its content."""
    found = check_method(settings, domain)
    values = dataclasses.asdict(found)
    if (files := method_files(settings.method)) is None:
        return values
    asks = needs_grounder(settings.method) and model is not None
    return values | files.identity(found, domain, (
        model, answering_prompt(settings, domain)) if asks and model is not None else None)


def session(settings: RunSettings) -> dict[str, Any]:
    """Return the record of one start of a run: time, provenance, folder and settings."""
    return {
        'started': datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds'),
        **provenance(),
        'directory': os.getcwd(),  # where relative paths of the settings begin
        'settings': dataclasses.asdict(settings),
    }
