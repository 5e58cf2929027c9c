"""A vision-language model that plans: the port VisualPlanner over a backend, and reading replies.

A reply is data. It is first read in the form that was asked for, then by one bounded repair, which
is counted separately. Its names are looked up among the problem's own actions and objects. Nothing
is evaluated and nothing is invented: a reply that cannot be read proposes nothing.

A domain folder may hold ``proposals.py``, whose ``read_proposal(text, prompt, model, truncated)``
reads single actions in a form of its own, and ``marks.py``, whose ``mark(image, what, how)`` marks
pictures as past, active or goal (``how``: one of ``model.planning.MARKS`` but ``none``).
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from sightplan.domains import Became, Domain, InstantiatedModel, PlanningPrompt, load_domain
from sightplan.domains.prompts import ActionWords, Scene
from sightplan.model import (
    Action,
    InputError,
    Observation,
    Problem,
    Proposal,
    ProposalForm,
    ProposalStatus,
    VisualTask,
)
from sightplan.model.query import Model, ask_one, can_ask, traits_of
from sightplan.model.reply_text import after_thoughts, refuses
from sightplan.queries.literals import find_literals
from sightplan.queries.propose import Propose
from sightplan.vlm.api import ModelUser

MAX_CHARS = 100_000
"""Longest reply that is read, or kept."""

MAX_DEPTH = 16
"""Deepest nesting that is read; a plan of the asked form has 4 levels."""

MAX_STEPS = 1_000
"""Most actions of a plan that are read."""

_PAST, _ACTIVE, _GOAL = 'past', 'active', 'goal'
_NAME_CHARS = 60
_MESSAGE_CHARS = 400


class BackendVisualPlanner(ModelUser):
    """Show a model prompt and picture, and read its reply.

    Args:
        model: one that replies in free text.
        domain: whose prompts are used; None: the shipped domain that a problem names.
        prompts: folder of prompts that replace those of the domain a problem names.

    Raises:
        InputError: the model writes no text.
    """

    def __init__(self, model: Model, domain: Domain | None = None,
                 prompts: Path | None = None) -> None:
        if not can_ask(model, Propose):
            raise InputError(f'{model.name} answers yes/no questions only, it cannot plan; '
                             f'choose a backend that can')
        super().__init__(model)
        self._domain, self._prompts = domain, prompts
        self._known: tuple[Problem, InstantiatedModel] | None = None

    def propose(self, observation: Observation, task: VisualTask,
                timeout_s: float | None = None) -> Proposal:
        """Let the model propose a plan or the next action; contract in the port.

        Raises:
            InputError: unknown domain or prompt, or an observation that shows nothing.
        """
        problem = task.problem
        domain = self._domain or load_domain(
            problem.domain, domain_pddl=problem.domain_pddl or None, prompts=self._prompts)
        prompt = domain.planning_prompt(task.prompt, problem, task.history,
                                        observation.privileged_facts, task.stops_at_goal,
                                        task.goal is not None, observation.described,
                                        task.form)
        own = domain.part('proposals')
        scene = functools.partial(_scene, marks=domain.part('marks'), form=task.form,
                                  looks=traits_of(self._model).pixels)
        parts = prompt.parts(scene(observation, what=_ACTIVE),
                             [scene(past, what=_PAST) for past in task.past],
                             None if task.goal is None else scene(task.goal, what=_GOAL))
        if self._known is None or self._known[0] != problem:
            self._known = problem, domain.model(problem)
        max_tokens = task.form.max_tokens or prompt.max_tokens
        reply = ask_one(self._model, Propose(
            prompt.system, parts, max_tokens, task=task, stamp_ns=observation.stamp_ns,
            single=prompt.single, reasoning=prompt.reasoning), timeout_s)
        if own is not None and prompt.single:
            proposal: Proposal = own.read_proposal(reply.text[:MAX_CHARS], prompt, self._known[1],
                                         reply.truncated)
        else:
            proposal = read_proposal(reply.text, prompt, domain.prompts.actions, self._known[1],
                                     reply.truncated, task.form.reading == 'braces')
        return dataclasses.replace(proposal, model=self.model, prompt_sha256=prompt.sha256,
                                   cut_at=max_tokens if reply.truncated else 0)


def _scene(observation: Observation, what: str, marks: Any, form: ProposalForm, looks: bool,
           ) -> Scene:
    """Return the observation's text or picture for a model.

    Args:
        observation: what is seen.
        what: past, active or goal.
        marks: module of the domain that marks pictures so, None for none.
        form: which marks are wanted.
        looks: whether the model looks at pictures; one that does not is shown '' where there is
            neither picture nor text.

    Raises:
        InputError: the observation has neither image nor text, and the model looks at it.
    """
    if observation.image is None:
        if observation.text is None and not looks:
            return ''
        if observation.text is None:
            raise InputError('a model that plans must be shown something; this observation has '
                             'neither image nor text')
        return observation.text
    if marks is None or form.marks == 'none':
        return observation.image
    marked: Scene = marks.mark(observation.image, what, form.marks)
    return marked


def read_proposal(text: str, prompt: PlanningPrompt, words: Mapping[str, ActionWords],
                  model: InstantiatedModel, truncated: bool = False,
                  between_braces: bool = False) -> Proposal:
    """Read a model's reply to a planning prompt.

    Strictly read, the whole reply (or what stands in the one code fence that it consists of) is
    one JSON object with the keys asked for and no other, none of them twice; every step has
    ``action`` (a text) and ``parameters``: a mapping with the names told in the prompt, in any
    order, or a list in their order.

    What is not, gets one repair (``repaired``), if it has no more than MAX_CHARS characters:

    * the text from the first "{" to the last "}" is taken (a list around it, too; nothing of a
      model's thoughts), and read with single or double quotes, line breaks within texts, commas
      before a closing bracket, and the constants of JSON or Python;
    * where it holds several objects, the one that is a plan (or an action, where one was asked
      for) counts; of several different ones the last, if words before it say that it corrects
      those before ("wait", "corrected", "final");
    * a plan may stand where one action was asked for and the other way round, a list without
      ``{"plan": ...}``, one step without its list; ``parameters`` or the explanation may be
      missing, other keys are ignored.

    Never repaired are: two different plans, keys that come twice, brackets that are not closed (a
    reply that was cut off), actions written as text ("moveblock(r, c1)"), and a reply that says
    that no picture was seen or that it will not help.

    Case and surrounding white space of names do not matter; objects are known by their names
    alone, not by what they look like. The first step decides about the status; later ones are
    kept up to the first that is not right.

    Args:
        text: the raw reply.
        prompt: the prompt, which says what was asked for.
        words: names of actions and of their parameters.
        model: actions and objects of the problem.
        truncated: whether the reply was cut off.
        between_braces: whether, instead of all this, what stands from the first "{" of the reply
            to its last "}" is read as JSON, as in ViPlan's reference implementation. Then a key
            may come twice (the last counts), and there may be others; parameters are a mapping, or
            a list where the prompt says so (``lists_parameters``).

    Returns:
        the proposal, without model and hash.
    """
    kept = _clean(text[:MAX_CHARS])
    read = _read_between_braces(text, prompt) if between_braces else _read(text, prompt)
    if read is None:
        return Proposal(ProposalStatus.UNPARSED, text=kept,
                        message=prompt.became(Became.CUT_OFF if truncated
                                              else Became.UNREADABLE))
    steps, explanation, repaired = read
    actions: list[Action] = []
    refused = (ProposalStatus.EMPTY, '', prompt.became(Became.EMPTY))
    for step in steps[:MAX_STEPS]:
        found = _action(step, prompt, words, model)
        if not isinstance(found, Action):
            refused = found
            break
        actions.append(found)
    status, named, message = ((ProposalStatus.PLANNED, str(actions[0]), '') if actions
                              else refused)
    return Proposal(status, tuple(actions), named, message, _clean(explanation), repaired, kept)


def written_proposal(domain: Domain, action: Action, single: bool) -> str:
    """Return a reply that proposes one action, in the form that ``read_proposal`` reads strictly.

    Args:
        domain: the domain, which may have single actions in a form of its own
            (``write_proposal(action)`` of its ``proposals.py``).
        action: one of its actions.
        single: whether the next action was asked for instead of a plan.
    """
    own = domain.part('proposals')
    if own is not None and single:
        return str(own.write_proposal(action))
    words = domain.prompts.actions[action.name]
    step = {'action': action.name,
            'parameters': dict(zip(words.parameters, action.args, strict=True))}
    return json.dumps(step if single else {'plan': [step]})


# ------------------------------------------------------------------------------------ the form


class _FormError(ValueError):
    """Raised when a reply has not the form that was asked for."""


def _read(text: str, prompt: PlanningPrompt) -> tuple[Sequence[Any], str, bool] | None:
    """Steps, explanation and whether they were repaired; None: unreadable."""
    said = after_thoughts(text)
    if len(text) > MAX_CHARS or refuses(said):
        return None
    try:
        value = _json(_unfenced(text))
    except (ValueError, RecursionError):
        value = None
    else:
        steps = _asked_form(value, prompt)
        if steps is not None:
            return steps, value.get('explanation', ''), False
    try:
        if value is None:
            value = _repaired(said, prompt.single)
        steps = _other_form(value, prompt.single)
    except (ValueError, RecursionError):
        return None
    explanation = value.get('explanation') if isinstance(value, dict) else ''
    return steps, explanation if isinstance(explanation, str) else '', True


def _read_between_braces(text: str, prompt: PlanningPrompt,
                         ) -> tuple[Sequence[Any], str, bool] | None:
    """Steps, explanation and False (nothing is repaired); None: no JSON of the asked form."""
    start, end = text.find('{'), text.rfind('}')
    if len(text) > MAX_CHARS or not 0 <= start < end:
        return None
    try:
        value = json.loads(text[start:end + 1])
    except (ValueError, RecursionError):
        return None
    key = 'action' if prompt.single else 'plan'
    if not isinstance(value, dict) or key not in value:
        return None
    explanation = value.get('explanation')
    steps = value[key]
    if prompt.single:
        steps = [] if steps is None else [steps if isinstance(steps, dict) else value]
    if not isinstance(steps, list) or not all(
            isinstance(step, dict) and isinstance(step.get('action'), str) for step in steps[:1]):
        return None
    kinds = (dict, list) if prompt.lists_parameters else dict
    return ([{**step, 'parameters': step.get('parameters') if isinstance(
                step.get('parameters'), kinds) else {}} if isinstance(step, dict) else step
             for step in steps], explanation if isinstance(explanation, str) else '', False)


def _unfenced(text: str) -> str:
    """Return the content of the code fence that a text consists of; else the text itself."""
    text = text.strip()
    if text.startswith('```') and text.endswith('```'):
        language, _, inside = text[3:-3].partition('\n')
        if language.strip().lower() in ('', 'json'):
            return inside
    return text


def _json(text: str, **more: Any) -> Any:
    """Parse a JSON text whose keys are unique.

    Raises:
        ValueError: the text is not JSON, or a key occurs twice.
    """
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise _FormError('a key comes twice')
        return dict(pairs)

    def refuse(constant: str) -> NoReturn:
        raise _FormError(f'{constant} is no JSON')

    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse, **more)


def _asked_form(value: object, prompt: PlanningPrompt) -> list[Any] | None:
    """The steps of a value that is exactly as asked for, else None."""
    wanted = {'action', 'parameters'} if prompt.single else {'plan'}
    if prompt.reasoning:
        wanted.add('explanation')
    if not isinstance(value, dict) or set(value) != wanted:
        return None
    if not isinstance(value.get('explanation', ''), str):
        return None
    if not prompt.single:
        steps = value['plan']
        good = isinstance(steps, list) and all(
            isinstance(step, dict) and set(step) == {'action', 'parameters'} and _is_step(step)
            for step in steps)
        return steps if good else None
    if value['action'] is None and not value['parameters']:
        return []
    return [value] if _is_step(value) else None


def _is_step(step: Mapping[str, Any]) -> bool:
    return isinstance(step.get('action'), str) and isinstance(
        step.get('parameters', {}), (dict, list))


def _other_form(value: object, single: bool) -> list[Any]:
    """The steps of a value in any of the forms that are repaired; else a _FormError."""
    if isinstance(value, dict):
        # A reply with both keys says what was asked for with the one that was asked for.
        key = next((k for k in (('action', 'plan') if single else ('plan', 'action'))
                    if k in value), None)
        if key is None:
            raise _FormError('neither a plan nor an action')
        value = value['plan'] if key == 'plan' else ([] if value['action'] is None else value)
    steps = [value] if isinstance(value, dict) else value
    if not isinstance(steps, list):
        raise _FormError('a plan is a list')
    if steps and not (isinstance(steps[0], dict) and _is_step(steps[0])):
        raise _FormError('the first step is not one')
    return steps


_CORRECTED = re.compile(
    r'\b(?:wait|correct(?:ed|ion)|actually|mistake|instead|revised|final|sorry)\b', re.IGNORECASE)


def _repaired(text: str, single: bool) -> Any:
    """The one object or list that a text without thoughts means.

    Raises:
        ValueError: there is none, or several different ones.
    """
    try:
        return _json(_strict(_slice(text)), parse_int=float)
    except (ValueError, RecursionError):
        literals, damaged = find_literals(text)
        if damaged or len(literals) < 2:
            raise
    wanted = 'action' if single else 'plan'
    chosen: Any = None
    end = 0
    for literal in literals:
        if isinstance(literal.value, dict) and wanted in literal.value:
            found = _json(_strict(text[literal.start:literal.end]), parse_int=float)
            if chosen is not None and found != chosen and not _CORRECTED.search(
                    text, end, literal.start):
                raise _FormError('several different ones')
            chosen, end = found, literal.end
    return chosen


def _slice(text: str) -> str:
    """Text from the first "{" to the last "}", or the list around it."""
    start, end = text.find('{'), text.rfind('}')
    if not 0 <= start < end:
        raise _FormError('no object')
    before = text[:start].rstrip()
    if before.endswith('['):
        return text[len(before) - 1:text.rfind(']') + 1]
    return text[start:end + 1]


_TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')|(?P<mark>[{}\[\],:])'
    r'|(?P<word>[A-Za-z]+)|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?))', re.DOTALL)
_CONSTANTS = {'true': 'true', 'false': 'false', 'null': 'null', 'True': 'true', 'False': 'false',
              'None': 'null'}
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(.))', re.DOTALL)
_ESCAPED = {'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f',
            '\\': '\\', '/': '/', '"': '"', "'": "'"}


def _strict(text: str) -> str:
    """A mixture of JSON and Python as JSON: quotes, constants, commas before a closing bracket."""
    tokens: list[str] = []
    position = depth = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _FormError('an unknown character')
        position, token = match.end(), match[match.lastgroup or 0]
        if match.lastgroup == 'text':
            token = json.dumps(_ESCAPE.sub(_unescaped, token[1:-1]))
        elif match.lastgroup == 'word':
            token = _CONSTANTS.get(token, token)
        elif match.lastgroup == 'number':
            token = json.dumps(float(token))
        elif token in '{[':
            depth += 1
            if depth > MAX_DEPTH:
                raise _FormError('nested too deeply')
        elif token in ']}':
            depth -= 1
            if tokens[-1:] == [','] and tokens[-2:-1] not in (['{'], ['['], [',']):
                tokens.pop()
        tokens.append(token)
    return ' '.join(tokens)


def _unescaped(match: re.Match[str]) -> str:
    # An unknown escape stays as it is: without its backslash it might become a name.
    return chr(int(match[1], 16)) if match[1] else _ESCAPED.get(match[2], match[0])


# --------------------------------------------------------------------------------- the content


def _action(step: object, prompt: PlanningPrompt, words: Mapping[str, ActionWords],
            model: InstantiatedModel) -> Action | tuple[ProposalStatus, str, str]:
    """A step's action, or else status, the action as it was named, and what is wrong with it."""
    if not isinstance(step, dict) or not _is_step(step):
        return ProposalStatus.UNPARSED, '', prompt.became(Became.UNREADABLE)
    name, parameters = step['action'], step.get('parameters', {})
    known = words.get(_folded(name))
    wanted = tuple(known.parameters) if known else ()
    named = _named(name, parameters, wanted)
    if known is None:
        return (ProposalStatus.UNKNOWN_ACTION, named,
                prompt.became(Became.UNKNOWN_ACTION, known=', '.join(words)))

    def wrong(what: Became, **values: str) -> tuple[ProposalStatus, str, str]:
        return (ProposalStatus.WRONG_ARGUMENTS, named,
                prompt.became(what, **values)[:_MESSAGE_CHARS])

    args = list(parameters) if isinstance(parameters, list) else _ordered(parameters, wanted)
    if args is None or len(args) != len(wanted):
        return wrong(Became.WRONG_PARAMETERS, known=', '.join(wanted) or '-')
    try:
        action = Action(_folded(name), tuple(
            _folded(arg) if isinstance(arg, str) else '' for arg in args))
    except ValueError:
        return wrong(Became.NO_NAMES)
    misfit = model.misfit(action)
    if misfit is not None:
        return wrong(Became.UNFIT_OBJECT if misfit.known else Became.UNKNOWN_OBJECT,
                     name=misfit.name, type=misfit.type, known=', '.join(misfit.fitting))
    return action


def _ordered(parameters: Mapping[str, Any], wanted: Sequence[str]) -> list[Any] | None:
    """The values of a mapping in the order of the action's parameters; None: other names."""
    given = {_folded(key): value for key, value in parameters.items()}
    if len(given) != len(parameters) or set(given) != set(wanted):
        return None
    return [given[key] for key in wanted]


def _named(name: str, parameters: Mapping[str, Any] | Sequence[Any], wanted: Sequence[str]) -> str:
    """The action in the model's own words, on one line and of bounded length."""
    if isinstance(parameters, Mapping):
        ordered = _ordered(parameters, wanted)
        items = ([f'{_short(key)}={_short(value)}' for key, value in
                  [*parameters.items()][:MAX_DEPTH]] if ordered is None
                 else [_short(value) for value in ordered])
    else:
        items = [_short(value) for value in parameters[:MAX_DEPTH]]
    return f'{_short(name)}({", ".join(items)})'


def _short(value: object) -> str:
    if not isinstance(value, str):
        value = '...' if isinstance(value, (dict, list)) else json.dumps(value)
    text = ' '.join(''.join(c if c.isprintable() else ' ' for c in value[:1000]).split())
    return text if len(text) <= _NAME_CHARS else f'{text[:_NAME_CHARS]}...'


def _folded(name: str) -> str:
    return name.strip().lower()


def _clean(text: str) -> str:
    """Replace the characters of a text that a file or a message cannot hold."""
    return text.encode('utf-8', 'replace').decode('utf-8').replace('\0', ' ')
