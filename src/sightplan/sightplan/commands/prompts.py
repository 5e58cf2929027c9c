"""``sightplan prompts``: what a vision-language model is shown, word for word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.commands.flags import option, option_like
from sightplan.commands.frame import DONE, Result, add_command, read_options
from sightplan.commands.shared_flags import domain_flag
from sightplan.model import Action, Atom, InputError, PastStep, Problem, user_path
from sightplan.runs import RunSettings

_IMAGE = '[the picture]'

_EXAMPLES = """\
examples:
  sightplan prompts --method plan_cot
  sightplan prompts blocksworld --method ground_mem --split hard
  sightplan prompts --method action --problem mine.pddl --stop-at-goal
  sightplan prompts household --method belief --method-option unknown=true
  sightplan prompts household --method plan --split medium --privileged-facts
  sightplan prompts --method ground_cot --prompts ~/ViPlan

Lines that begin with "#### " are not part of a prompt. The files that a prompt is made from, and
how a domain replaces them: sightplan/domains/templates/README.md.
"""


def _methods() -> tuple[str, ...]:
    from sightplan.agent import method_names, prompt_name
    return tuple(name for name in method_names() if prompt_name(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptsArguments:
    """Arguments of ``sightplan prompts``."""

    domain: str = domain_flag(positional=True)
    method: str = option('plan', 'method whose prompt is shown', choices=_methods)
    method_option: tuple[str, ...] = option(
        (), 'setting of the method (repeatable), where a prompt depends on it',
        metavar='KEY=VALUE')
    prompts: str = option_like(RunSettings, 'prompts', metavar='DIR')
    problem: str | None = option(None, 'a problem file', metavar='FILE', exclusive='where')
    split: str | None = option(
        None, 'first problem of this split (default: the first split)', exclusive='where')
    stop_at_goal: bool = option(False, 'as in episodes that end by themselves at the goal')
    privileged_facts: bool = option(
        False, 'with facts that an episode may grant to a method whose model plans: here all '
        'that there are where nothing is in view')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan prompts``."""
    add_command(
        subparsers, 'prompts', show_prompt, 'show what a vision-language model is given to read',
        'Print the prompt of a method for a problem, as a model gets it.',
        settings=PromptsArguments, examples=_EXAMPLES)


def show_prompt(arguments: PromptsArguments) -> Result:
    """Print the prompt."""
    lines = list(_lines(arguments))
    print('\n'.join(lines))
    return {'method': arguments.method, 'text': '\n'.join(lines)}, DONE


def _lines(arguments: PromptsArguments) -> Iterator[str]:
    from sightplan.agent import needs_visual_planner, policy_settings, prompt_name
    from sightplan.domains import Domain, load_domain
    domain: Domain = load_domain(arguments.domain, prompts=user_path(
        arguments.prompts) if arguments.prompts else None)
    whole = (domain.read_problem(Path(arguments.problem)) if arguments.problem
             else domain.split_problems(arguments.split or next(iter(domain.splits), ''))[0])
    problem = whole.for_agent()
    name = prompt_name(arguments.method, read_options(
        arguments.method_option, type(policy_settings(arguments.method)), '--method-option'))
    if (origin := domain.prompts.origin) is not None:
        yield (f'#### prompts of {origin.folder}@{origin.sha256}, '
               + ('text files' if origin.official else 'templates'))
    yield (f'#### method {arguments.method}, problem {whole.name}, '
           f'prompt {name}@{domain.prompt_hash(name)}')
    if needs_visual_planner(arguments.method):
        facts = ({atom: atom in whole.init for atom in domain.worth_asking(whole)}
                 if arguments.privileged_facts else {})
        yield from _planning(domain, problem, name, arguments.stop_at_goal, facts)
    elif arguments.privileged_facts:
        raise InputError(f'--privileged-facts: no prompt of {arguments.method} has any (choose a '
                         f'method whose model plans, for example plan)')
    else:
        yield from _questions(domain, problem, name)


def _planning(domain: Any, problem: Problem, name: str, stops_at_goal: bool,
              facts: Mapping[Atom, bool]) -> Iterator[str]:
    from sightplan.domains import Became
    model = domain.model(problem)
    done = str(next(iter(model.actions), 'NAME(OBJECT, ...)'))
    step = PastStep(done, domain.became(name, Became.EXECUTED))
    first, later = (domain.planning_prompt(name, problem, history, facts, stops_at_goal)
                    for history in ((), (step,)))
    yield from ('#### system', first.system, '#### user', *first.parts(_IMAGE))
    yield f'#### (at most {first.max_tokens} tokens of reply)'
    yield '#### later, what was tried is listed in its place:'
    yield from (line for line in '\n'.join(later.parts(_IMAGE)).splitlines()
                if line not in '\n'.join(first.parts(_IMAGE)).splitlines())


def _questions(domain: Any, problem: Problem, name: str) -> Iterator[str]:
    from sightplan.domains import MemoryOf
    prompt = domain.grounding_prompt(name, problem=problem)
    model = domain.model(problem)
    yield from ('#### system', prompt.system, '#### user')
    yield from (part for part in (prompt.before_image, _IMAGE, prompt.after_image) if part)
    if prompt.reading:
        yield (f'#### (at most {prompt.max_tokens} tokens of reply, which answers all '
               f'{len(domain.worth_asking(problem))} questions)')
        return
    yield (f'#### and, each by itself, one of {len(model.atoms)} questions (at most '
           f'{prompt.max_tokens} tokens of reply):')
    yield from (prompt.ask(domain.question(atom).text) for atom in model.atoms)
    action: Action | None = next(iter(model.actions), None)
    if action is None or not domain.prompts.remembers(name):
        return
    pairs = [(domain.question(literal.atom).text, 'Yes' if literal.positive else 'No')
             for literal in model.preconditions(action)]
    for outcome in MemoryOf:
        yield f'#### after the picture, when {action} was {outcome.value}:'
        yield domain.grounding_prompt(
            name, domain.memory(name, outcome, action, pairs)).after_image
