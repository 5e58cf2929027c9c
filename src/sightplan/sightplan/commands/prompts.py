"""``sightplan prompts``: what a vision-language model is sent, word for word."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sightplan.commands.flags import option, option_like
from sightplan.commands.frame import DONE, Result, add_command
from sightplan.commands.run import RunArguments, settings_from
from sightplan.commands.shared_flags import domain_flag, settings_flag
from sightplan.model import Action, InputError, user_path
from sightplan.runs import RunSettings

_EXAMPLES = """\
examples:
  sightplan prompts --method plan_cot
  sightplan prompts blocksworld --method ground_mem --split hard
  sightplan prompts household --method plan --split medium --protocol paper
  sightplan prompts sliding --method action --protocol paper --world-option view=2d --requests 4
  sightplan prompts --method action --problem mine.pddl --stop-at-goal yes
  sightplan prompts --suite grounded_plan --split short --method ask --suite-option count=1
  sightplan prompts --suite point_it_out --method ask --backend-option pointing=xml_percent
  sightplan prompts --suite point_it_out --method ask --suite-option family=qwen --prompts ~/PIO
  sightplan prompts --method ground_cot --prompts ~/ViPlan
  sightplan prompts sliding --method action --world-option view=text

The first problem or sample is begun as "sightplan run" would with the same options, with a model
that notes what it is sent. A suite that draws its samples draws a whole split before the first one
is shown, which may take a minute; its option count makes them fewer. Lines that begin with "#### "
are not sent. The files that a prompt is made from, and how a domain replaces them:
sightplan/domains/templates/README.md.
"""
_BACKEND = 'openai'


def _methods() -> tuple[str, ...]:
    from sightplan.agent import every_method
    return tuple(every_method())


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptsArguments:
    """Arguments of ``sightplan prompts``; those of ``sightplan run`` mean the same."""

    domain: str | None = domain_flag(optional=True, positional=True)
    suite: str = option_like(RunSettings, 'suite', metavar='NAME|FOLDER')
    split: str | None = option(None, 'split whose first problem or sample is begun (default: the '
                               'first split)', exclusive='where')
    problem: str | None = option(None, 'a problem file', metavar='FILE', exclusive='where')
    prompts: str = option_like(RunSettings, 'prompts', metavar='DIR')
    protocol: str = option_like(RunSettings, 'protocol', metavar='NAME')
    method: str = option('plan', 'method whose requests are shown', choices=_methods)
    method_option: tuple[str, ...] = settings_flag('the method')
    backend_option: tuple[str, ...] = settings_flag(
        f'backend {_BACKEND}, where requests depend on it, such as pointing=FAMILY')
    world_option: tuple[str, ...] = settings_flag('the simulated world')
    suite_option: tuple[str, ...] = settings_flag('a suite of samples')
    stop_at_goal: str = option_like(RunSettings, 'stop_at_goal')
    privileged: str = option_like(RunSettings, 'privileged')
    goal: str = option_like(RunSettings, 'goal')
    seed: int = option_like(RunSettings, 'seed')
    requests: int = option(0, 'how often the model is asked, questions about one picture counting '
                           'as one; 0: once, and twice where it plans', low=0, high=1000)
    reply: tuple[str, ...] = option(
        (), 'what the model replies, in turn, the last one for all that follow (repeatable); '
        'without it a model that plans proposes the first action, and others say nothing',
        metavar='TEXT')
    given: frozenset[str] = frozenset()


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan prompts``."""
    add_command(
        subparsers, 'prompts', show_prompt, 'show what a vision-language model is sent',
        'Print the first requests of a run, as a model gets them.',
        settings=PromptsArguments, examples=_EXAMPLES)


def show_prompt(arguments: PromptsArguments) -> Result:
    """Print the requests; the result holds them as data, too."""
    from sightplan.runs.first_requests import as_json, first_requests, in_lines
    with ExitStack() as stack:
        settings = _settings(arguments, stack)
        found = first_requests(settings, arguments.requests or _usual(settings.method),
                               arguments.reply)
        lines = [*_head(settings), *_sources(settings), *in_lines(found), *_memories(settings)]
    print('\n'.join(lines))
    return {'method': arguments.method, 'text': '\n'.join(lines),
            'requests': [as_json(one) for one in found]}, DONE


def _settings(arguments: PromptsArguments, stack: ExitStack) -> RunSettings:
    """The settings of the run whose requests are shown.

    Raises:
        InputError: an argument is wrong.
    """
    from sightplan.agent import method_names
    from sightplan.domains import load_domain
    from sightplan.runs.suite_finding import load_suite
    from sightplan.vlm.api import backend_settings
    known = {field.name for field in fields(RunArguments)}
    values = {field.name: getattr(arguments, field.name)
              for field in fields(PromptsArguments) if field.name in known}
    suite = load_suite(arguments.suite) if arguments.suite else None
    domain = arguments.domain
    episodes = arguments.method in method_names()
    if suite is not None and suite.domains and domain is None and arguments.split is None and (
            episodes or not suite.splits):
        domain = next(iter(suite.domains))
    if arguments.split is None and not arguments.problem:
        splits = (suite.rules(load_domain(domain).name).splits if suite is not None and domain
                  else suite.splits if suite is not None
                  else load_domain(domain or RunSettings().domain).splits)
        values['split'] = next(iter(splits), '')
    if arguments.problem:
        values |= {'problems': str(_folder_with(user_path(arguments.problem), stack)),
                   'split': RunSettings().split}
    options = arguments.backend_option
    if not backend_settings(_BACKEND).model and not any(
            pair.startswith('model=') for pair in options):
        options = (*options, 'model=any')
    return settings_from(RunArguments(**{
        **values, 'domain': domain, 'backend': _BACKEND, 'backend_option': options}))


def _folder_with(file: Path, stack: ExitStack) -> Path:
    """A folder with a copy of one problem file alone."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='sightplan-problem-')))
    try:
        shutil.copy(file, folder)
    except OSError as error:
        raise InputError(f'{file}: cannot be read ({error.strerror}); name a problem file'
                         ) from error
    return folder


def _usual(method: str) -> int:
    """Usual number of times that the model is asked."""
    from sightplan.agent import method_names, needs_visual_planner
    return 2 if method in method_names() and needs_visual_planner(method) else 1


def _head(settings: RunSettings) -> Iterator[str]:
    """Yield lines about the method, the protocol and the files that prompts are made from."""
    from sightplan.domains import load_domain
    from sightplan.runs.settings import OURS, prompts_folder
    from sightplan.runs.suite_finding import sample_suite
    protocol = '' if settings.protocol == OURS else f', protocol {settings.protocol}'
    if (suite := sample_suite(settings.suite, settings.split)) is not None:
        yield (f'#### suite {suite.name}, split {settings.split}, method {settings.method}'
               f'{protocol}')
        return
    domain = load_domain(settings.domain, prompts=prompts_folder(settings))
    if (origin := domain.prompts.origin) is not None:
        yield (f'#### prompts of {origin.folder}@{origin.sha256}, '
               + ('text files' if origin.official else 'templates'))
    name = _prompt_name(settings)
    described = _described(settings)
    prompt = f', prompt {name}@{domain.prompt_hash(name, described)}' if name else ''
    yield f'#### domain {domain.name}, method {settings.method}{protocol}{prompt}'


def _sources(settings: RunSettings) -> Iterator[str]:
    """Yield where in a folder of prompts the words that ask for places were found."""
    from sightplan.runs.protocols import apply
    from sightplan.runs.settings import prompts_folder
    from sightplan.runs.suite_finding import sample_suite
    suite, folder = sample_suite(settings.suite, settings.split), prompts_folder(settings)
    if suite is not None and folder is not None and suite.reads_place_words:
        found = suite.place_words(folder, [settings.split], apply(settings).suite_options)
        yield from (f'#### words of {where}' for where in found.sources.values())


def _described(settings: RunSettings) -> bool:
    """Whether scenes are described in words."""
    from sightplan.runs.worlds import describes
    try:
        return describes(settings.domain, settings.world_options)
    except InputError:  # the world is not installed, and pictures stand for it
        return False


def _prompt_name(settings: RunSettings) -> str:
    from sightplan.agent import prompt_name
    return prompt_name(settings.method, settings.method_options)


def _memories(settings: RunSettings) -> Iterator[str]:
    """Yield what a prompt for questions says about earlier attempts, after its picture."""
    from sightplan.agent import method_names, needs_grounder
    from sightplan.domains import MemoryOf, load_domain
    from sightplan.runs.episodes import select_problems
    from sightplan.runs.settings import prompts_folder
    from sightplan.runs.suite_finding import sample_suite
    if sample_suite(settings.suite, settings.split) is not None or (
            settings.method not in method_names() or not needs_grounder(settings.method)):
        return
    domain = load_domain(settings.domain, prompts=prompts_folder(settings))
    name = _prompt_name(settings)
    if not name or not domain.prompts.remembers(name):
        return
    described = _described(settings)
    _, [(_, problem), *_], _ = select_problems(settings)
    model = domain.model(problem.for_agent())
    action: Action | None = next(iter(model.actions), None)
    if action is None:
        return
    pairs = [(domain.question(literal.atom).text, 'Yes' if literal.positive else 'No')
             for literal in model.preconditions(action)]
    for outcome in MemoryOf:
        yield f'#### later, after the picture, when {action} was {outcome.value}:'
        yield domain.grounding_prompt(
            name, domain.memory(name, outcome, action, pairs, described=described),
            described=described).after_image
