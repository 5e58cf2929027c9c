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
    ProposalForm,
    Question,
)
from sightplan.model.reading import Record

PLAIN_FORM = ProposalForm()
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
        steps: earlier steps, of which the last ones have past pictures: what was proposed then,
            and what became of it, '' where the model is not told.
        before_past, before_goal: text before a past picture (``{action}``, ``{outcome}``: what was
            done then) and before the picture of the goal.
        sha256: SHA-256 of the files it was made from, first 12 hex digits.
        lists_parameters: whether a reply, as ViPlan's reference implementation reads it, has the
            parameters of an action as a list, without names.
        opening: text after the picture of the goal where that alone is shown, so that the model
            begins the episode; '' where the next action is asked for.
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
    opening: str = ''

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
            words = self.before_past if outcome else _without(self.before_past, 'outcome')
            parts += [_fill(words, {'action': action, 'outcome': outcome}), earlier]
        if goal is not None:
            parts += [self.before_goal, goal]
        parts += ([self.opening] if self.opening else
                  [self.before_image, scene, self.after_image])
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
    """``prompts.yaml`` of a domain.

    Attributes:
        environment: what a model is told about the surroundings.
        drawings: how things look, put after it where a model is shown pictures.
        actions, facts, negated_facts, privileged_facts: see ``templates/README.md``.
    """

    environment: _Text
    drawings: _Text = ''
    actions: Annotated[dict[str, ActionWords], BY_NAME]
    facts: Annotated[dict[str, str], BY_NAME] = pydantic.Field(default={})
    negated_facts: Annotated[dict[str, str], BY_NAME] = pydantic.Field(default={})
    privileged_facts: FactsInWords = FactsInWords()
    flat_words: dict[str, str] = pydantic.Field(default={})

    def surroundings(self, described: bool) -> str:
        """Return what a model is told about the surroundings.

        Args:
            described: whether it reads descriptions of scenes instead of looking at pictures.
        """
        return ' '.join(filter(None, (self.environment, '' if described else self.drawings)))

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
        words = [path, folder / 'questions.yaml', folder / 'goal.yaml']
        self._made: dict[tuple[str, bool], _Made] = {}
        self._unusable: dict[str, InputError] = {}
        for described in (False, True):
            sources = _Sources(folder / 'prompts', self._chosen, described)
            for name in sources.names():
                if described and not sources.says_otherwise(self._made.get((name, False))):
                    continue
                try:
                    template, files = sources.read(name)
                    self._check_facts(name, template)
                except InputError as error:
                    if self._chosen is None:
                        raise
                    self._unusable[name] = error  # is of no matter to methods with other prompts
                    continue
                if template is not None:
                    used = frozenset({*files, *words})
                    self._made[name, described] = _Made(template, used, _digest(used))
        self.names = tuple(name for name, described in self._made if not described)

    def _check_facts(self, name: str, template: _Template | None) -> None:
        """Check that a template's own words for facts fit the domain's vocabulary."""
        if isinstance(template, _PlanningTemplate):
            check_templates(Path(name), 'facts', template.facts, self._schema)
            check_names(Path(name), 'written', template.written, self._schema.actions)

    def sha256(self, name: str, described: bool = False) -> str:
        """Return the hash of the files that make up a prompt, first 12 hex digits.

        Args:
            name: of the prompt.
            described: whether scenes are shown as descriptions instead of pictures.
        """
        return self._find(name, _Template, described).sha256

    def grounding(self, name: str, memory: str = '', problem: Problem | None = None,
                  described: bool = False) -> GroundingPrompt:
        """Return the words around yes/no questions, or those that ask for a list of everything.

        Args:
            name: of the prompt, for example ``ground``, ``ground_cot`` or ``ground_read``.
            memory: text about an earlier attempt, put before the questions; '' for none.
            problem: its objects are named by a prompt that asks for a list; None: no names.
            described: whether the scene is shown as a description, of which the prompt then
                speaks instead of a picture.
        """
        values = {'environment': self._words.surroundings(described), 'memory': memory,
                  'objects': ''}
        found = self._find(name, _Template, described)
        if isinstance(found.template, _ReadingTemplate):
            reading = found.template
            if problem is not None:
                values['objects'] = ', '.join(self._objects(problem.objects,
                                                             reading.object))
            system, before, after = (_compose(text, values) for text in reading.around)
            return GroundingPrompt(
                name, system, before, after, reasoning=reading.reasoning,
                max_tokens=reading.max_tokens, sha256=found.sha256, reading=self._reference)
        template = self._template(name, _QuestionTemplate, described)
        system, before, after = (_compose(text, values) for text in template.around)
        return GroundingPrompt(name, system, before, after, template.question,
                               template.reasoning, template.max_tokens, found.sha256,
                               template.unknown)

    def max_tokens(self, name: str) -> int:
        """Return the most tokens of a reply to a prompt."""
        return self._template(name, _Template).max_tokens

    def window(self, name: str) -> int:
        """Return how many past pictures a planning prompt shows."""
        return self._template(name, _PlanningTemplate).window

    def remembers(self, name: str) -> bool:
        """Whether a prompt for questions can tell of an earlier attempt."""
        template = self._template(name, _Template)
        return isinstance(template, _QuestionTemplate) and template.memory is not None

    def memory(self, name: str, outcome: MemoryOf, action: Action,
               pairs: Sequence[tuple[str, str]], as_call: bool = False,
               described: bool = False) -> str:
        """Return the words about an earlier attempt, for ``grounding``.

        Args:
            name: of the prompt, for example ``ground_mem``.
            outcome: what became of the attempt.
            action: what was attempted.
            pairs: questions that were asked before it, and the answers.
            as_call: whether the action is named as ``moveblock(r, c1)`` instead of in words.
            described: see ``grounding``.

        Raises:
            InputError: there is no such prompt, or it has no words for a memory.
        """
        memory = self._template(name, _QuestionTemplate, described).memory
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
                 described: bool = False, form: ProposalForm = PLAIN_FORM,
                 ) -> PlanningPrompt:
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
            form: what is told besides; a history as JSON is in the form and words that the
                domain has for prompts in text files, if the prompt itself does not have it so.

        Raises:
            InputError: there is no such prompt, or it has no words for an opening or for a
                description that the form asks for.
        """
        template = self._planning_template(name, form.history == 'json', described)
        if form.flat and not self._words.flat_words:
            raise InputError(f'domain {self._reference} has no words for flat shapes (leave '
                             'method option shapes out, or add flat_words to prompts.yaml)')
        own = self._chosen is None  # files of others say themselves what shapes are called
        flat = functools.partial(_replaced, words=self._words.flat_words if form.flat else {})
        for key, wanted in (('opening', bool(form.opening)),
                            ('description', form.description and own)):
            if wanted and not (getattr(template, key) and (
                    key != 'description' or '{description}' in ''.join(template.around))):
                raise InputError(f'prompt {name!r} of domain {self._reference} has no words for '
                                 f'method option {key} (leave it out, or add the key {key})')
        view = {'view': 'description' if described else 'picture'}

        def listed(items: Sequence[str]) -> str:
            return '\n'.join(_fill(template.item, {'text': item}) for item in items)

        known = [self._fact(atom, holds, template.facts)
                 for atom, holds in (privileged_facts or {}).items()
                 if self._words.privileged_facts.covers(atom, holds)]
        values = view | {
            'environment': self._words.surroundings(described or form.flat),
            'actions': '' if not form.lists else '\n\n'.join(_fill(template.action, {
                'name': action, 'about': words.about, 'parameters': ', '.join(words.parameters),
                'described': listed([f'{key}: {what}' for key, what in words.parameters.items()]),
                'preconditions': listed(words.preconditions), 'effects': listed(words.effects),
            }) for action, words in self.actions.items()),
            'objects': '' if not form.lists else listed(self._objects(
                {**problem.objects, **self._schema.constants}, template.object)),
            'goal': (_fill(template.pictured_goal, view) if pictured_goal
                     else self._wording.goal_text(problem)),
            'privileged_facts': (_fill(template.privileged_facts, {'facts': listed(known)})
                                 if known else ''),
            'history': '' if form.history == 'none' else flat(self._history(template, history)),
            'done': '' if stops_at_goal else _fill(template.done, view),
            'description': template.description if form.description else '',
        }
        system, before, after = (_compose(_without_empty_sections(text, values), values)
                                 for text in template.around)
        made = self._find(name, _PlanningTemplate, described)
        sha256 = made.sha256
        if template.earlier is not None and self._chosen is None:
            sha256 = _digest([*made.files, *self._code_files])
        before_past, before_goal, before = (
            text if form.marks in ('both', 'word') else _MARKED.sub('', text)
            for text in (template.before_past, _fill(template.before_goal, view), before))
        opening = _fill(template.opening, view) if form.opening else ''
        if own:
            system, before, after, before_past, before_goal, opening = map(flat, (
                system, before, after, before_past, before_goal, opening))
        return PlanningPrompt(name, system, before, after, template.max_tokens, template.single,
                              template.reasoning, dict(template.outcomes), sha256,
                              before_past, before_goal,
                              tuple((flat(self._written(template, step)), flat(step.outcome))
                                    for step in history),
                              template.earlier is not None
                              and template.earlier.parameters == 'list', opening)

    @property
    def flat_words(self) -> Mapping[str, str]:
        """Names of solid shapes to those that flat pictures show."""
        return self._words.flat_words

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

    def _planning_template(self, name: str, json_history: bool, described: bool = False,
                           ) -> _PlanningTemplate:
        """Return a template, with the history as a JSON list if that is wanted."""
        template = self._template(name, _PlanningTemplate, described)
        code = self._code.planning
        if not json_history or template.earlier is not None:
            return template
        return template.model_copy(update={
            'earlier': _Earlier(keys=code.outcome_keys, parameters=code.parameters),
            'outcomes': template.outcomes.model_copy(update=code.outcomes)})

    def _objects(self, objects: Mapping[str, str], template: str) -> list[str]:
        """Return objects in words, each by the template."""
        return [_fill(template, {'name': thing, 'words': words if words != thing else kind,
                                 'called': words})
                for thing, kind in objects.items()
                for words in [self._wording.object_text(thing, kind)]]

    def _history(self, template: _PlanningTemplate, history: Sequence[PastStep]) -> str:
        """Return the earlier steps as lines, or as a JSON list if the template has them so."""
        if template.earlier is not None:
            return json.dumps([self._earlier(template.earlier, step) for step in history],
                              ensure_ascii=False)
        return '\n'.join(
            _fill(template.step if step.outcome else _before(template.step, 'outcome'), {
                'number': str(number), 'action': self._written(template, step),
                'outcome': step.outcome})
            for number, step in enumerate(history, start=1)) or template.no_history

    def _written(self, template: _PlanningTemplate, step: PastStep) -> str:
        """Return the action of an earlier step in the form in which replies have it."""
        call = _CALL.fullmatch(step.action)
        form = None if call is None else template.written.get(call[1])
        if call is None or form is None:
            return step.action or template.no_action
        schema, words = self._schema.actions[call[1]], self.actions[call[1]]
        args = [arg.strip() for arg in call[2].split(',')]
        return _fill(form, {key: self._wording.object_text(arg, parameter.type) for (
            key, arg, parameter) in zip(words.parameters, args, schema.parameters, strict=True)})

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

    def _template(self, name: str, kind: type[T], described: bool = False) -> T:
        found = self._find(name, kind, described).template
        assert isinstance(found, kind)
        return found

    def _find(self, name: str, kind: type[_Template], described: bool) -> _Made:
        """Return a template of a kind, with its files.

        Raises:
            InputError: there is none of this name and kind, or its files are wrong.
        """
        if name in self._unusable:
            raise self._unusable[name]
        found = self._made.get((name, described), self._made.get((name, False)))
        if found is None and self._chosen is not None:
            raise self._chosen.missing(name)
        if found is None or not isinstance(found.template, kind):
            fitting = [n for n in self.names if isinstance(self._made[n, False].template, kind)]
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
_Scene = Annotated[_Free, _known(*_SCENE, 'view', 'description')]
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
    """Form of earlier steps in a JSON list.

    Attributes:
        keys: those that hold the outcome, whose words have a value for each, with "; " between.
        parameters: whether parameters are a list, or have their names.
    """

    keys: tuple[str, ...] = ('outcome',)
    parameters: Literal['names', 'list'] = 'names'


_BETWEEN_OUTCOMES = '; '
"""Text between the values of several keys of an outcome, see ``_Earlier``."""
_MARKED = re.compile(r',? marked "(?:past|active|goal)"')
"""Words about the words in the corners of pictures, for prompts about pictures without them."""
_CALL = re.compile(r'\s*([^\s()]+)\s*\((.*)\)\s*', re.DOTALL)
"""An action as it is written: ``moveblock(r, c1)``."""


class _PlanningTemplate(_Template):
    kind: Literal['planning']
    system: _Scene
    before_image: _Scene
    after_image: _Scene
    action: Annotated[_Free, _known('name', 'about', 'parameters', 'described', 'preconditions',
                                    'effects')]
    object: Annotated[_Free, _known('name', 'words', 'called')]
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
    written: Annotated[dict[str, _Free], BY_NAME] = pydantic.Field(default={})
    opening: _AboutView = ''
    description: _Text = ''


T = TypeVar('T', bound=_Template)


@dataclass(frozen=True)
class _Made:
    """A template with all that it inherits.

    Attributes:
        template: its texts.
        files: those that it and its words were made from.
        sha256: hash of them, first 12 hex digits.
    """

    template: _Template
    files: frozenset[Path]
    sha256: str


_DESCRIBED = 'described'
"""Folder beside templates with what files of the same name say otherwise about descriptions."""
_KINDS: Mapping[str, type[_Template]] = {
    'questions': _QuestionTemplate, 'reading': _ReadingTemplate, 'planning': _PlanningTemplate}
_AMONG = {kind: f' among those for {name}' for name, kind in _KINDS.items()}


class _Sources:
    """The places of a domain's templates: a chosen folder, the domain's own, the general ones.

    Args:
        own: folder of the domain's own templates; need not exist.
        chosen: folder that replaces the prompts of both; None for none.
        described: whether templates are read as they are said of descriptions of scenes, which a
            model reads instead of looking at pictures: the keys of ``described/NAME.yaml``
            beside a template replace its own.
    """

    def __init__(self, own: Path, chosen: PromptFolder | None = None, described: bool = False,
                 ) -> None:
        self._own, self._chosen, self._described = own, chosen, described

    def names(self) -> list[str]:
        """Return the names of all templates."""
        return sorted(self._chosen.names() if self._chosen is not None else {
            file.stem for place in (_TEMPLATES, self._own) for file in place.glob('*.yaml')})

    def says_otherwise(self, made: _Made | None) -> bool:
        """Whether any file of a template has one beside it about descriptions."""
        return made is not None and any(_of_descriptions(file).is_file() for file in made.files)

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
        planning = data['kind'] == 'planning'
        base = (self._place(name) if 'before_image' not in data
                or (planning and self._chosen.code.planning.own) else
                _TEMPLATES / f'{"plan" if planning else "ground"}.yaml')
        general = self._merged(base, files)
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
        if self._described and (instead := _of_descriptions(path)).is_file():
            files.append(instead)
            data |= read_yaml(instead)
        if depth > 8:
            raise DomainError(f'{path}:1: like: is {list(head.like)} (name templates '
                              'without a circle)')
        for name in head.like:
            data = {**self._inherited(name, path, files, depth + 1), **data}
        return data

    def _inherited(self, name: str, path: Path, files: list[Path], depth: int) -> dict[str, Any]:
        """Return the keys of the template that one names as being like it.

        A template that bears the name of the one that replaces it means the next more general.
        Only those of the chosen folder mean others of it.
        """
        if self._chosen is not None and path.parent == self._chosen.folder:
            other = self._chosen.template(name)
            if other is not None and other != path:
                return self._merged(other, files, depth)
            if other is None and (found := self._chosen.text(name)):
                return self._with_general(*found, name, files)
        other = self._place(name)
        return self._merged(_TEMPLATES / other.name if other == path else other, files, depth)


def _of_descriptions(path: Path) -> Path:
    """Return the path of what a template says otherwise about descriptions of scenes."""
    return path.parent / _DESCRIBED / path.name


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


def _replaced(text: str, words: Mapping[str, str]) -> str:
    """Return a text with other words in place of some, and of their plurals."""
    if not words:
        return text
    return re.sub(rf'\b({"|".join(words)})(?=s?\b)', lambda match: words[match[1]], text)


def _without(text: str, name: str) -> str:
    """Return a text without the lines that hold a placeholder."""
    return '\n'.join(line for line in text.splitlines() if f'{{{name}}}' not in line)


def _before(text: str, name: str) -> str:
    """Return what stands before a placeholder, without the signs that lead over to it."""
    return text.partition(f'{{{name}}}')[0].rstrip(' :-(')


def _without_empty_sections(text: str, values: Mapping[str, str]) -> str:
    """Return a text without paragraphs of headings and placeholders that all have empty values."""
    def empty(paragraph: str) -> bool:
        names = _PLACEHOLDER.findall(paragraph)
        rest = [line for line in _PLACEHOLDER.sub('', paragraph).splitlines()
                if line.strip() and not line.startswith('#')]
        return bool(names) and not rest and not any(values.get(name, name) for name in names)
    return '\n\n'.join(part for part in text.split('\n\n') if not empty(part))


def _compose(text: str, values: Mapping[str, str]) -> str:
    """Return a filled text, without the blank lines that empty values leave."""
    return re.sub(r'\n{3,}', '\n\n', _fill(text, values)).strip()
