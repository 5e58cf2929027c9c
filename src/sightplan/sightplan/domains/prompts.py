"""Prompts for vision-language models: templates filled with the words of a domain.

Templates are YAML files in ``templates/`` beside this file, one a prompt; ``templates/README.md``
lists their keys. A domain fills them from its ``prompts.yaml`` and may replace any of them by a
file of the same name in its folder ``prompts/``. A user may replace them all by a folder
(``--prompts``): of such files, or of text files as authors of papers publish them
(``text_prompts``).
"""

from __future__ import annotations

import enum
import functools
import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import pydantic
from numpy.typing import NDArray

from sightplan.domains.schema import Schema
from sightplan.domains.text_prompts import CODE_FILE, PromptFolder, PromptOrigin, filling_code
from sightplan.domains.wording import (
    BY_NAME,
    Names,
    Wording,
    check_names,
    check_templates,
    checked,
    read_record,
    read_yaml,
)
from sightplan.model import (
    Action,
    Atom,
    DomainError,
    GroundingPrompt,
    InputError,
    PastStep,
    Problem,
    Question,
)
from sightplan.model.reading import Record

_TEMPLATES = Path(__file__).resolve().parent / 'templates'
_PLACEHOLDER = re.compile(r'\{([a-z_][a-z0-9_]*)\}')


class MemoryOf(enum.Enum):
    """Outcome of an earlier attempt that a prompt mentions; the values are keys of templates.

    FAILED: the action was sent and refused.
    WITHHELD: it was called off, because a precondition was judged not to hold.
    UNOBSERVED: it was sent and refused, and of what it needs not all was in view or provided.
    """

    FAILED = 'failed'
    WITHHELD = 'withheld'
    UNOBSERVED = 'unobserved'


class Became(enum.Enum):
    """Outcome of a proposal that the next prompt mentions; the values are keys of templates.

    EXECUTED: it was carried out.
    REJECTED: it was sent and refused.
    UNREADABLE: the reply was not of the asked form.
    CUT_OFF: the reply was not of the asked form, because it was too long.
    EMPTY: it had no action.
    UNKNOWN_ACTION: it named no action of the domain.
    WRONG_PARAMETERS: it gave other parameters than the action has.
    NO_NAMES: it gave parameters that cannot be names.
    UNKNOWN_OBJECT: it named an object that is not there.
    UNFIT_OBJECT: it named an object of another type.
    """

    EXECUTED = 'executed'
    REJECTED = 'rejected'
    UNREADABLE = 'unreadable'
    CUT_OFF = 'cut_off'
    EMPTY = 'empty'
    UNKNOWN_ACTION = 'unknown_action'
    WRONG_PARAMETERS = 'wrong_parameters'
    NO_NAMES = 'no_names'
    UNKNOWN_OBJECT = 'unknown_object'
    UNFIT_OBJECT = 'unfit_object'


Scene = NDArray[np.uint8] | str
"""A scene that a model is shown: (H, W, 3) uint8 RGB picture, or description."""


@dataclass(frozen=True, slots=True)
class PlanningPrompt:
    """A planning prompt without its pictures.

    Attributes:
        name: name of the template, for example ``plan_cot``.
        system: text of the system role.
        before_image: text before the picture.
        after_image: text after it, '' for none.
        max_tokens: most tokens of the reply.
        single: whether one action is asked for instead of a plan.
        reasoning: whether the reply is to have an explanation.
        outcomes: templates of what became of a proposal, by the values of ``Became``.
        steps: the last steps, as many as there are past pictures to show: what was proposed then,
            and what became of it.
        before_past, before_goal: text before a past picture (``{action}``, ``{outcome}``: what was
            done then) and before the picture of the goal.
        sha256: SHA-256 of the files it was made from, first 12 hex digits.
        lists_parameters: whether a reply, as ViPlan's reference implementation reads it, has the
            parameters of an action as a list, without names.
    """

    name: str
    system: str
    before_image: str
    after_image: str
    max_tokens: int
    single: bool
    reasoning: bool
    outcomes: Mapping[str, str]
    sha256: str
    before_past: str = ''
    before_goal: str = ''
    steps: tuple[tuple[str, str], ...] = ()
    lists_parameters: bool = False

    def became(self, what: Became, **values: str) -> str:
        """Return the outcome of a proposal in words for the next prompt.

        Args:
            what: it is.
            **values: for the placeholders of its template.
        """
        return _fill(self.outcomes[what.value], values)

    def parts(self, scene: Scene, past: Sequence[Scene] = (), goal: Scene | None = None,
              ) -> tuple[Scene, ...]:
        """Return the user message: texts, with the scenes (image or description) in their places.

        Args:
            scene: as it is now.
            past: those before the last steps, in order.
            goal: as it shall be; None: the goal is told.
        """
        parts: list[Scene] = []
        steps = self.steps[len(self.steps) - len(past):]
        for earlier, (action, outcome) in zip(past, steps, strict=True):
            parts += [_fill(self.before_past, {'action': action, 'outcome': outcome}), earlier]
        if goal is not None:
            parts += [self.before_goal, goal]
        parts += [self.before_image, scene, self.after_image]
        return tuple(part for part in parts if not isinstance(part, str) or part)


def _known(*names: str) -> pydantic.AfterValidator:
    """Return a validator that allows only these placeholders in a text."""
    def check(text: str) -> str:
        _check_placeholders(text, names)
        return text
    return pydantic.AfterValidator(check)


def _check_placeholders(text: str, known: Collection[str]) -> None:
    for name in _PLACEHOLDER.findall(text):
        if name not in known:
            raise ValueError(f'unknown placeholder {{{name}}} (known: '
                             f'{", ".join(known) or "none"})')


_Free = Annotated[str, pydantic.StringConstraints(strip_whitespace=True)]
_Text = Annotated[_Free, _known()]
_Word = Annotated[str, pydantic.StringConstraints(pattern=r'^[a-z_][a-z0-9_]*$')]


class ActionWords(Record):
    """Words that describe an action to a model.

    Attributes:
        about: what it does, in one sentence without its subject.
        phrase: completes "the robot tried to ...", with parameters in braces.
        parameters: their names in replies, in PDDL order, and what they are.
        preconditions: what must hold before it, one sentence each.
        effects: what holds after it, one sentence each.
    """

    about: _Text
    parameters: dict[_Word, str]
    phrase: _Free
    preconditions: tuple[str, ...]
    effects: tuple[str, ...]

    @pydantic.field_validator('phrase')
    @classmethod
    def _fits(cls, text: str, info: pydantic.ValidationInfo) -> str:
        if 'parameters' in info.data:
            _check_placeholders(text, info.data['parameters'])
        return text


class FactsInWords(Record):
    """Selection of the privileged facts that a planning model is told in words.

    Attributes:
        predicates: their predicates; None: all.
        only_true: whether those that do not hold are left out.
    """

    predicates: Names | None = None
    only_true: bool = False

    def covers(self, atom: Atom, holds: bool) -> bool:
        """Whether a fact is put in words."""
        return ((self.predicates is None or atom.predicate in self.predicates)
                and (holds or not self.only_true))


class _Words(Record):
    """``prompts.yaml`` of a domain."""

    environment: _Text
    actions: Annotated[dict[str, ActionWords], BY_NAME]
    facts: Annotated[dict[str, str], BY_NAME] = pydantic.Field(default={})
    negated_facts: Annotated[dict[str, str], BY_NAME] = pydantic.Field(default={})
    privileged_facts: FactsInWords = FactsInWords()

    def check(self, path: Path, schema: Schema) -> None:
        """Check that the words fit the domain's vocabulary.

        Raises:
            DomainError: a field does not fit; names file, field and what is known.
        """
        check_names(path, 'actions', self.actions, schema.actions)
        check_names(path, 'privileged_facts.predicates', self.privileged_facts.predicates or (),
                    schema.predicates)
        for name, action in schema.actions.items():
            if name not in self.actions:
                raise DomainError(f'{path}:1: actions: nothing about {name} (describe it)')
            if len(self.actions[name].parameters) != len(action.parameters):
                raise DomainError(f'{path}:1: actions.{name}.parameters: must name the '
                                  f'{len(action.parameters)} parameters, in the order of the '
                                  'domain file')
        check_templates(path, 'facts', self.facts, schema)
        check_templates(path, 'negated_facts', self.negated_facts, schema)


class Prompts:
    """The prompts of a domain; methods raise an InputError for an unknown prompt.

    Args:
        folder: the domain's folder; its ``prompts.yaml`` is read.
        schema: its vocabulary.
        wording: its questions, names of objects and goals.
        reference: of the domain.
        chosen: folder of prompts that replace all of the domain's; None: the domain's own.

    Attributes:
        actions: what a model is told about each action, in the order of the domain file.
        names: of the prompts.
        origin: where they were read from, if they replace the domain's own; else None.

    Raises:
        DomainError: a file is missing or wrong; names file and key.
        InputError: the chosen folder holds no prompts.
    """

    def __init__(self, folder: Path, schema: Schema, wording: Wording, reference: str,
                 chosen: Path | None = None) -> None:
        self._schema, self._wording, self._reference = schema, wording, reference
        path = folder / 'prompts.yaml'
        self._words = read_record(_Words, path)
        self._words.check(path, schema)
        self.actions = {name: self._words.actions[name] for name in schema.actions}
        self._facts = {True: self._words.facts, False: self._words.negated_facts}
        self._chosen = None if chosen is None else PromptFolder(chosen, folder)
        code = folder / CODE_FILE
        self._code, self._code_files = filling_code(folder)
        check_templates(code, 'questions.words', self._code.questions.words, schema)
        check_names(code, 'planning.untold_if', [
            name for name in [self._code.planning.untold_if] if name], schema.predicates)
        self.origin: PromptOrigin | None = (None if self._chosen is None
                                            else self._chosen.origin)
        sources = _Sources(folder / 'prompts', self._chosen)
        words = [path, folder / 'questions.yaml', folder / 'goal.yaml']
        self._templates: dict[str, _Template] = {}
        self._sha256: dict[str, str] = {}
        self._files: dict[str, set[Path]] = {}
        self._unusable: dict[str, InputError] = {}
        for name in sources.names():
            try:
                template, files = sources.read(name)
                self._check_facts(name, template)
            except InputError as error:
                if self._chosen is None:
                    raise
                self._unusable[name] = error  # is of no matter to methods with other prompts
                continue
            if template is not None:
                self._templates[name] = template
                self._files[name] = {*files, *words}
                self._sha256[name] = _digest(self._files[name])
        self.names = tuple(self._templates)

    def _check_facts(self, name: str, template: _Template | None) -> None:
        """Check that a template's own words for facts fit the domain's vocabulary."""
        if isinstance(template, _PlanningTemplate):
            check_templates(Path(name), 'facts', template.facts, self._schema)

    def sha256(self, name: str) -> str:
        """Return the hash of the files that make up a prompt, first 12 hex digits."""
        self._template(name, _Template)
        return self._sha256[name]

    def grounding(self, name: str, memory: str = '', problem: Problem | None = None,
                  ) -> GroundingPrompt:
        """Return the words around yes/no questions, or those that ask for a list of everything.

        Args:
            name: of the prompt, for example ``ground``, ``ground_cot`` or ``ground_read``.
            memory: text about an earlier attempt, put before the questions; '' for none.
            problem: its objects are named by a prompt that asks for a list; None: no names.
        """
        values = {'environment': self._words.environment, 'memory': memory, 'objects': ''}
        if isinstance(self._templates.get(name), _ReadingTemplate):
            reading = self._template(name, _ReadingTemplate)
            if problem is not None:
                values['objects'] = ', '.join(self._objects(problem.objects,
                                                             reading.object))
            system, before, after = (_compose(text, values) for text in reading.around)
            return GroundingPrompt(
                name, system, before, after, reasoning=reading.reasoning,
                max_tokens=reading.max_tokens, sha256=self._sha256[name], reading=self._reference)
        template = self._template(name, _QuestionTemplate)
        system, before, after = (_compose(text, values) for text in template.around)
        return GroundingPrompt(name, system, before, after, template.question,
                               template.reasoning, template.max_tokens, self._sha256[name],
                               template.unknown)

    def max_tokens(self, name: str) -> int:
        """Return the most tokens of a reply to a prompt."""
        return self._template(name, _Template).max_tokens

    def window(self, name: str) -> int:
        """Return how many past pictures a planning prompt shows."""
        return self._template(name, _PlanningTemplate).window

    def remembers(self, name: str) -> bool:
        """Whether a prompt for questions can tell of an earlier attempt."""
        return getattr(self._template(name, _Template), 'memory', None) is not None

    def memory(self, name: str, outcome: MemoryOf, action: Action,
               pairs: Sequence[tuple[str, str]], as_call: bool = False) -> str:
        """Return the words about an earlier attempt, for ``grounding``.

        Args:
            name: of the prompt, for example ``ground_mem``.
            outcome: what became of the attempt.
            action: what was attempted.
            pairs: questions that were asked before it, and the answers.
            as_call: whether the action is named as ``moveblock(r, c1)`` instead of in words.

        Raises:
            InputError: there is no such prompt, or it has no words for a memory.
        """
        memory = self._template(name, _QuestionTemplate).memory
        if memory is None:
            raise InputError(f'prompt {name!r} has no words for a memory')
        asked = '\n'.join(_fill(memory.pair, {'question': question, 'answer': answer})
                          for question, answer in pairs)
        return _compose(getattr(memory, outcome.value),
                        {'pairs': asked, 'call': str(action),
                         'action': str(action) if as_call else self.phrase(action)})

    def phrase(self, action: Action) -> str:
        """Return an action in words: ``move the red block into the column labeled "c1"``."""
        words, schema = self.actions[action.name], self._schema.actions[action.name]
        names = {key: self._wording.object_text(arg, parameter.type) for key, arg, parameter
                 in zip(words.parameters, action.args, schema.parameters, strict=True)}
        return _fill(words.phrase, names)

    def became(self, name: str, what: Became, json_history: bool = False, info: str = '') -> str:
        """Return the words for an ``EXECUTED`` or ``REJECTED`` proposal, for ``PastStep``.

        The words of the others have placeholders, which ``PlanningPrompt.became`` fills.

        Args:
            name: of the prompt.
            what: outcome of the proposal.
            json_history: see ``planning``.
            info: what the world says of an executed action; it stands at the key ``info`` of a
                history as JSON, where that has one.
        """
        template = self._planning_template(name, json_history)
        words = str(getattr(template.outcomes, what.value))
        keys = () if template.earlier is None else template.earlier.keys
        if info and 'info' in keys:
            values = words.split(_BETWEEN_OUTCOMES, len(keys) - 1)
            values[keys.index('info')] = info
            return _BETWEEN_OUTCOMES.join(values)
        return words

    def planning(self, name: str, problem: Problem, history: Sequence[PastStep] = (),
                 privileged_facts: Mapping[Atom, bool] | None = None,
                 stops_at_goal: bool = False, pictured_goal: bool = False,
                 described: bool = False, json_history: bool = False) -> PlanningPrompt:
        """Return all of a planning prompt but the picture.

        Nothing of the problem's initial state is in it.

        Args:
            name: of the prompt, for example ``plan`` or ``action_cot``.
            problem: objects and goal.
            history: earlier steps, in order.
            privileged_facts: those that a suite grants.
            stops_at_goal: whether the episode ends by itself at the goal; if not, the model is
                asked to say when it is reached.
            pictured_goal: whether the goal is shown instead of told.
            described: whether scenes are shown as descriptions, which the prompt then speaks of
                instead of pictures.
            json_history: whether the history is a JSON list, in the form and words that the
                domain has for prompts in text files, if the prompt itself does not have it so.
        """
        template = self._planning_template(name, json_history)
        view = {'view': 'description' if described else 'picture'}

        def listed(items: Sequence[str]) -> str:
            return '\n'.join(_fill(template.item, {'text': item}) for item in items)

        known = [self._fact(atom, holds, template.facts)
                 for atom, holds in (privileged_facts or {}).items()
                 if self._words.privileged_facts.covers(atom, holds)]
        values = view | {
            'environment': self._words.environment,
            'actions': '\n\n'.join(_fill(template.action, {
                'name': action, 'about': words.about, 'parameters': ', '.join(words.parameters),
                'described': listed([f'{key}: {what}' for key, what in words.parameters.items()]),
                'preconditions': listed(words.preconditions), 'effects': listed(words.effects),
            }) for action, words in self.actions.items()),
            'objects': listed(self._objects({**problem.objects, **self._schema.constants},
                                            template.object)),
            'goal': (_fill(template.pictured_goal, view) if pictured_goal
                     else self._wording.goal_text(problem)),
            'privileged_facts': (_fill(template.privileged_facts, {'facts': listed(known)})
                                 if known else ''),
            'history': self._history(template, history),
            'done': '' if stops_at_goal else _fill(template.done, view),
        }
        system, before, after = (_compose(text, values) for text in template.around)
        sha256 = self._sha256[name]
        if template.earlier is not None and self._chosen is None:
            sha256 = _digest([*self._files[name], *self._code_files])
        return PlanningPrompt(name, system, before, after, template.max_tokens, template.single,
                              template.reasoning, dict(template.outcomes), sha256,
                              template.before_past, _fill(template.before_goal, view),
                              tuple((step.action or template.no_action, step.outcome)
                                    for step in history[-template.window or len(history):]),
                              template.earlier is not None
                              and template.earlier.parameters == 'list')

    @property
    def has_paper_words(self) -> bool:
        """Whether the paper's code asks any question in other words than the domain."""
        return bool(self._code.questions.words)

    def question_of_paper(self, atom: Atom) -> Question:
        """Return the yes/no question about an atom in the words of the paper's code."""
        words = self._code.questions.words
        if atom.predicate not in words:
            return self._wording.question(atom)
        return Question(atom, self._wording.fill(words, atom))

    def reference_facts(self, facts: Mapping[Atom, bool], in_view: Callable[[Atom], bool],
                        ) -> dict[Atom, bool]:
        """Return the facts that ViPlan's reference implementation tells a model that plans.

        Args:
            facts: all facts, also about what is in view (``Privileged.REFERENCE``).
            in_view: whether all objects of an atom are in view.
        """
        reach = self._code.planning.untold_if
        return {atom: holds for atom, holds in facts.items()
                if (not facts.get(Atom(reach, atom.args[:1]), False) if reach
                    else not in_view(atom))}

    def _planning_template(self, name: str, json_history: bool) -> _PlanningTemplate:
        """Return a template, with the history as a JSON list if that is wanted."""
        template = self._template(name, _PlanningTemplate)
        code = self._code.planning
        if not json_history or template.earlier is not None:
            return template
        return template.model_copy(update={
            'earlier': _Earlier(keys=code.outcome_keys, parameters=code.parameters),
            'outcomes': template.outcomes.model_copy(update=code.outcomes)})

    def _objects(self, objects: Mapping[str, str], template: str) -> list[str]:
        """Return objects in words, each by the template."""
        return [_fill(template, {'name': thing, 'words': words if words != thing else kind})
                for thing, kind in objects.items()
                for words in [self._wording.object_text(thing, kind)]]

    def _history(self, template: _PlanningTemplate, history: Sequence[PastStep]) -> str:
        """Return the earlier steps as lines, or as a JSON list if the template has them so."""
        if template.earlier is not None:
            return json.dumps([self._earlier(template.earlier, step) for step in history],
                              ensure_ascii=False)
        return '\n'.join(
            _fill(template.step, {'number': str(number),
                                  'action': step.action or template.no_action,
                                  'outcome': step.outcome})
            for number, step in enumerate(history, start=1)) or template.no_history

    def _earlier(self, form: _Earlier, step: PastStep) -> dict[str, Any]:
        """Return an earlier step as JSON data."""
        call = _CALL.fullmatch(step.action)
        name, given = (step.action, '') if call is None else call.groups()
        args = [arg.strip() for arg in given.split(',') if arg.strip()]
        words = self.actions.get(name)
        keys = list(words.parameters) if words is not None else []
        outcomes = step.outcome.split(_BETWEEN_OUTCOMES, len(form.keys) - 1)
        named = [tuple(arg.split('=', 1)) for arg in args if '=' in arg]
        return {'action': name, 'parameters': (
            dict(named) if args and len(named) == len(args) else
            dict(zip(keys, args, strict=True))
            if form.parameters == 'names' and len(keys) == len(args) else args),
            **dict(zip(form.keys, outcomes, strict=False))}

    def _fact(self, atom: Atom, holds: bool, own: Mapping[str, str]) -> str:
        """Return a fact in words: the template's own for it if it holds, else the domain's."""
        if holds and atom.predicate in own:
            return self._wording.fill(own, atom)
        if atom.predicate in self._facts[holds]:
            return self._wording.fill(self._facts[holds], atom)
        return f'{self._wording.question(atom).text} {"Yes" if holds else "No"}.'

    def _template(self, name: str, kind: type[T]) -> T:
        found = self._templates.get(name)
        if name in self._unusable:
            raise self._unusable[name]
        if found is None and self._chosen is not None:
            raise self._chosen.missing(name)
        if not isinstance(found, kind):
            fitting = [n for n, t in self._templates.items() if isinstance(t, kind)]
            raise InputError(f'prompt {name!r} is unknown{_AMONG.get(kind, "")}; '
                             f'there are {", ".join(fitting)}')
        return found


# ---------------------------------------------------------------------------------- templates


class _Head(Record):
    """The kind of a template, and the templates that it inherits from."""

    model_config = pydantic.ConfigDict(extra='ignore')

    kind: Literal['questions', 'reading', 'planning', 'memory']
    like: tuple[str, ...] = ()


_Recalled = Annotated[_Free, _known('pairs', 'action', 'call')]


class _Memory(Record):
    """Words about an earlier attempt; fields besides ``pair`` are values of ``MemoryOf``."""

    pair: Annotated[_Free, _known('question', 'answer')]
    failed: _Recalled
    withheld: _Recalled
    unobserved: _Recalled


_Around = Annotated[_Free, _known('environment', 'memory')]
_Listing = Annotated[_Free, _known('environment', 'objects')]


class _Template(Record):
    """Base of templates; each kind declares its texts with the allowed placeholders."""

    system: str
    before_image: str
    after_image: str
    reasoning: bool
    max_tokens: Annotated[int, pydantic.Field(ge=1, le=1 << 16)]

    @property
    def around(self) -> tuple[str, str, str]:
        """The texts around the questions or the scene: system, before and after."""
        return self.system, self.before_image, self.after_image


class _QuestionTemplate(_Template):
    kind: Literal['questions']
    system: Annotated[_Free, _known('environment')]
    before_image: _Around
    after_image: _Around
    question: Annotated[_Free, _known('question', 'question_cut')]
    unknown: bool = False
    memory: _Memory | None = None

    @pydantic.field_validator('question')
    @classmethod
    def _asks(cls, text: str) -> str:
        if '{question}' not in text and '{question_cut}' not in text:
            raise ValueError('has no {question} (put it in)')
        return text


_SCENE = ('environment', 'actions', 'objects', 'goal', 'privileged_facts',
          'history', 'done')
_Scene = Annotated[_Free, _known(*_SCENE, 'view')]
_AboutView = Annotated[_Free, _known('view')]
_Allowed = Annotated[_Free, _known('known')]
_Misfit = Annotated[_Free, _known('name', 'type', 'known')]


class _Outcomes(Record):
    """Words for each outcome of a proposal; the fields are the values of ``Became``."""

    executed: _Text
    rejected: _Text
    unreadable: _Text
    cut_off: _Text
    empty: _Text
    unknown_action: _Allowed
    wrong_parameters: _Allowed
    no_names: _Text
    unknown_object: _Misfit
    unfit_object: _Misfit


class _ReadingTemplate(_Template):
    kind: Literal['reading']
    system: _Listing
    before_image: _Listing
    after_image: _Listing
    object: Annotated[_Free, _known('name', 'words')]


class _Earlier(Record):
    """How earlier steps stand in a JSON list.

    Attributes:
        keys: those that hold the outcome, whose words have a value for each, with "; " between.
        parameters: whether parameters are a list, or have their names.
    """

    keys: tuple[str, ...] = ('outcome',)
    parameters: Literal['names', 'list'] = 'names'


_BETWEEN_OUTCOMES = '; '
"""Text between the values of several keys of an outcome, see ``_Earlier``."""
_CALL = re.compile(r'\s*([^\s()]+)\s*\((.*)\)\s*', re.DOTALL)
"""An action as it is written: ``moveblock(r, c1)``."""


class _PlanningTemplate(_Template):
    kind: Literal['planning']
    system: _Scene
    before_image: _Scene
    after_image: _Scene
    action: Annotated[_Free, _known('name', 'about', 'parameters', 'described', 'preconditions',
                                    'effects')]
    object: Annotated[_Free, _known('name', 'words')]
    item: Annotated[_Free, _known('text')]
    privileged_facts: Annotated[_Free, _known('facts')]
    step: Annotated[_Free, _known('number', 'action', 'outcome')]
    no_history: _Text
    no_action: _Text
    done: _AboutView
    single: bool
    outcomes: _Outcomes
    window: Annotated[int, pydantic.Field(ge=0, le=16)] = 0
    before_past: Annotated[_Free, _known('action', 'outcome')] = ''
    facts: Annotated[dict[str, str], BY_NAME] = pydantic.Field(default={})
    earlier: _Earlier | None = None
    before_goal: _AboutView = ''
    pictured_goal: _AboutView = ''


T = TypeVar('T', bound=_Template)
_KINDS: Mapping[str, type[_Template]] = {
    'questions': _QuestionTemplate, 'reading': _ReadingTemplate, 'planning': _PlanningTemplate}
_AMONG = {kind: f' among those for {name}' for name, kind in _KINDS.items()}


class _Sources:
    """The places of a domain's templates: a chosen folder, the domain's own, the general ones.

    Args:
        own: folder of the domain's own templates; need not exist.
        chosen: folder that replaces the prompts of both; None for none.
    """

    def __init__(self, own: Path, chosen: PromptFolder | None = None) -> None:
        self._own, self._chosen = own, chosen

    def names(self) -> list[str]:
        """Return the names of all templates."""
        return sorted(self._chosen.names() if self._chosen is not None else {
            file.stem for place in (_TEMPLATES, self._own) for file in place.glob('*.yaml')})

    def read(self, name: str) -> tuple[_Template | None, list[Path]]:
        """Return a template with all that it inherits, and its files; None for a ``memory`` part.

        Raises:
            InputError: a file cannot be used, or the chosen folder has none of this name.
        """
        files: list[Path] = []
        path, data = self._content(name, files)
        if data['kind'] == 'memory':
            return None, files
        template = checked(_KINDS[data['kind']], data, path)
        if path.suffix == '.yaml':
            _check_needed(template, data, path)
        return template, files

    def _content(self, name: str, files: list[Path]) -> tuple[Path, dict[str, Any]]:
        """Return the path of a template and its keys, with inherited ones; adds its files."""
        chosen = self._chosen and self._chosen.template(name)
        if chosen is None and self._chosen is not None and (found := self._chosen.text(name)):
            path, data = found
            return path, self._with_general(path, data, name, files)
        path = chosen or self._place(name)
        return path, self._merged(path, files)

    def _with_general(self, path: Path, data: Mapping[str, Any], name: str, files: list[Path],
                      ) -> dict[str, Any]:
        """Return the keys of a text file, those of the general template, and a memory's words."""
        assert self._chosen is not None
        files += [path, *self._chosen.code_files]
        general = self._merged(_TEMPLATES / f'{"plan" if data["kind"] == "planning" else "ground"}'
                               '.yaml', files)
        memory: dict[str, Any] = {}
        if '_mem' in name:
            _, memory = self._content('memory', files)
            if 'memory' not in memory:
                raise self._chosen.missing(name)
        return {**general, **{key: value for key, value in memory.items() if key == 'memory'},
                **data}

    def _place(self, name: str) -> Path:
        """Return the path of a template: the domain's own if there is one, else the general."""
        file = self._own / f'{name}.yaml'
        return file if file.is_file() else _TEMPLATES / file.name

    def _merged(self, path: Path, files: list[Path], depth: int = 0) -> dict[str, Any]:
        """Return a YAML template's keys, its own over inherited ones, and add its files."""
        files.append(path)
        data = read_yaml(path)
        head = checked(_Head, data, path)
        data.pop('like', None)
        if depth > 8:
            raise DomainError(f'{path}:1: like: is {list(head.like)} (name templates '
                              'without a circle)')
        for name in head.like:
            data = {**self._inherited(name, path, files, depth + 1), **data}
        return data

    def _inherited(self, name: str, path: Path, files: list[Path], depth: int) -> dict[str, Any]:
        """Return the keys of the template that one names as being like it.

        A template that bears the name of the one that replaces it means the next more general.
        """
        if self._chosen is not None:
            other = self._chosen.template(name)
            if other is not None and other != path:
                return self._merged(other, files, depth)
            if other is None and (found := self._chosen.text(name)):
                return self._with_general(*found, name, files)
        other = self._place(name)
        return self._merged(_TEMPLATES / other.name if other == path else other, files, depth)


def _check_needed(template: _Template, data: Mapping[str, Any], path: Path) -> None:
    """Check that a YAML template says all that its kind has to say."""
    needed = (_SCENE if data['kind'] == 'planning' else
              ('environment', 'objects') if data['kind'] == 'reading' else
              ('environment', 'memory') if 'memory' in data else ('environment',))
    for key in sorted(needed):
        if f'{{{key}}}' not in ''.join(template.around):
            raise DomainError(f'{path}:1: system, before_image, after_image: none of them has '
                              f'{{{key}}} (put it where it is to be said)')


def has_prompt_without_domain(name: str) -> bool:
    """Whether ``prompt_without_domain`` knows a prompt."""
    return (_TEMPLATES / f'{name}.yaml').is_file() and isinstance(
        _Sources(_TEMPLATES).read(name)[0], _QuestionTemplate)


@functools.cache
def prompt_without_domain(name: str) -> GroundingPrompt:
    """Return the words around yes/no questions that belong to no domain.

    Args:
        name: of the prompt, for example ``ground`` or ``ground_cot``.

    Raises:
        InputError: there is none of this name for such questions.
    """
    if not has_prompt_without_domain(name):
        raise InputError(f'there is no prompt {name!r} for yes/no questions without a domain; '
                         'choose ground or ground_cot')
    template, files = _Sources(_TEMPLATES).read(name)
    assert isinstance(template, _QuestionTemplate)
    system, before, after = (_compose(text, {'environment': '', 'memory': ''})
                             for text in template.around)
    return GroundingPrompt(name, system, before, after, template.question, template.reasoning,
                           template.max_tokens, _digest(files), template.unknown)


def _digest(files: Collection[Path]) -> str:
    """Return a hash of files and their names in the folder: 12 hex digits, for any location."""
    digest = hashlib.sha256()
    for title, file in sorted((f'{file.parent.name}/{file.name}', file) for file in files):
        digest.update(title.encode() + b'\0' + file.read_bytes() + b'\0')
    return digest.hexdigest()[:12]


def _fill(text: str, values: Mapping[str, str]) -> str:
    """Replace placeholders by values, once: placeholders within values stay."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def _compose(text: str, values: Mapping[str, str]) -> str:
    """Return a filled text, without the blank lines that empty values leave."""
    return re.sub(r'\n{3,}', '\n\n', _fill(text, values)).strip()
