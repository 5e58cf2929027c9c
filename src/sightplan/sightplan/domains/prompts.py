"""The words that a vision-language model is given: templates, filled with a domain's own words.

Templates are YAML files in ``templates/`` beside this file, one a prompt; ``templates/README.md``
lists their keys. A domain fills them from its ``prompts.yaml`` and may replace any of them by a
file of the same name in its folder ``prompts/``.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.domains.schema import ActionSchema, Schema
from sightplan.domains.wording import Wording, read_yaml, templates_of
from sightplan.model import (
    Action,
    Atom,
    DomainError,
    GroundingPrompt,
    InputError,
    PastStep,
    Problem,
)

_TEMPLATES = Path(__file__).resolve().parent / 'templates'
_PLACEHOLDER = re.compile(r'\{([a-z_]+)\}')
_MAX_TOKENS = 1 << 16
_AROUND = ('system', 'before_image', 'after_image')
_SCENE = ('environment', 'actions', 'objects', 'goal', 'told', 'history', 'done')


class MemoryOf(enum.Enum):
    """What became of the attempt that is told about; the values are keys of templates.

    FAILED: the action was sent and refused.
    WITHHELD: it was called off, because a precondition was judged not to hold.
    UNOBSERVED: it was sent and refused, and of what it needs not all could be seen, or was told.
    """

    FAILED = 'failed'
    WITHHELD = 'withheld'
    UNOBSERVED = 'unobserved'


class Became(enum.Enum):
    """What became of a proposal, told with the next prompt; the values are keys of templates.

    EXECUTED: it was carried out.
    REJECTED: it was sent and refused.
    UNREADABLE: the reply was not of the asked form.
    CUT_OFF: likewise, because it was too long.
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


@dataclass(frozen=True, slots=True)
class PlanningPrompt:
    """All that a model is given to plan from, but for the picture.

    Attributes:
        name: name of the template, for example ``plan_cot``.
        system: text of the system role.
        before_image: text before the picture.
        after_image: text after it, '' for none.
        max_tokens: most tokens of the reply.
        single: whether one action is asked for instead of a plan.
        reasoning: whether the reply is to have an explanation.
        outcomes: templates of what became of a proposal, by the values of ``Became``.
        sha256: SHA-256 of the files it was made from, first 12 hex digits.
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

    def became(self, what: Became, **values: str) -> str:
        """What became of a proposal, in words for the next prompt.

        Args:
            what: it is.
            **values: for the placeholders of its template.
        """
        return _fill(self.outcomes[what.value], values)

    def parts(self, scene: NDArray[np.uint8] | str) -> tuple[str | NDArray[np.uint8], ...]:
        """What the user says: texts, and the scene (image or description) in its place."""
        parts = (self.before_image, scene, self.after_image)
        return tuple(part for part in parts if not isinstance(part, str) or part)


@dataclass(frozen=True, slots=True)
class ActionWords:
    """What a model is told about an action.

    Attributes:
        about: what it does, in one sentence without its subject.
        phrase: completes "the robot tried to ...", with parameters in braces.
        parameters: their names in replies, in PDDL order, and what they are.
        preconditions: what must hold before it, one sentence each.
        effects: what holds after it, likewise.
    """

    about: str
    phrase: str
    parameters: Mapping[str, str]
    preconditions: tuple[str, ...]
    effects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToldFacts:
    """Which of the facts that a suite grants are put in words for a model that plans.

    Attributes:
        predicates: their predicates.
        only_true: whether those that do not hold are left out.
    """

    predicates: tuple[str, ...]
    only_true: bool

    def covers(self, atom: Atom, holds: bool) -> bool:
        """Whether a fact is put in words."""
        return atom.predicate in self.predicates and (holds or not self.only_true)


class Prompts:
    """The prompts of a domain.

    Args:
        folder: the domain's folder; its ``prompts.yaml`` is read.
        schema: its vocabulary.
        wording: its questions, names of objects and goals.

    Attributes:
        actions: what a model is told about each action, in the order of the domain file.

    Raises:
        DomainError: a file is missing or wrong; names file and key.
    """

    def __init__(self, folder: Path, schema: Schema, wording: Wording) -> None:
        self._schema, self._wording = schema, wording
        path = folder / 'prompts.yaml'
        data = read_yaml(path)
        for key in data:
            if key not in ('environment', 'actions', 'facts', 'negated_facts', 'told'):
                raise DomainError(f'{path}:1: {key}: is unknown (there are environment, actions, '
                                  'facts, negated_facts and told)')
        self._environment = _text(path, data, 'environment', ())
        self.actions = _read_actions(path, data, schema)
        self._facts = {True: templates_of(path, data, 'facts', schema, complete=False),
                       False: templates_of(path, data, 'negated_facts', schema, complete=False)}
        self._told = _read_told(path, data, schema)
        own = folder / 'prompts'
        names = {file.stem for place in (_TEMPLATES, own) for file in place.glob('*.yaml')}
        words = [path, folder / 'questions.yaml', folder / 'goal.yaml']
        self._templates = {name: template for name in sorted(names)
                           if (template := _read_template(name, own, words)) is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the prompts."""
        return tuple(self._templates)

    def sha256(self, name: str) -> str:
        """Hash of the files a prompt is made from, first 12 hex digits.

        Raises:
            InputError: there is no such prompt.
        """
        return self._template(name).sha256

    def grounding(self, name: str, memory: str = '') -> GroundingPrompt:
        """The words around yes/no questions; see ``Domain.grounding_prompt``."""
        template = self._template(name, 'questions')
        values = {'environment': self._environment, 'memory': memory}
        system, before, after = (_compose(template.texts[key], values) for key in _AROUND)
        return GroundingPrompt(name, system, before, after, template.texts['question'],
                               template.reasoning, template.max_tokens, template.sha256)

    def remembers(self, name: str) -> bool:
        """Whether a prompt for questions can tell of an earlier attempt."""
        return bool(self._template(name, 'questions').memory)

    def memory(self, name: str, outcome: MemoryOf, action: Action,
               pairs: Sequence[tuple[str, str]]) -> str:
        """What is said about an earlier attempt; see ``Domain.memory``."""
        template = self._template(name, 'questions')
        if not template.memory:
            raise InputError(f'prompt {name!r} has no words for a memory')
        told = '\n'.join(_fill(template.memory['pair'], {'question': question, 'answer': answer})
                         for question, answer in pairs)
        return _compose(template.memory[outcome.value],
                        {'pairs': told, 'action': self.phrase(action)})

    def phrase(self, action: Action) -> str:
        """An action in words, for example ``move the red block into the column labeled "c1"``."""
        words, schema = self.actions[action.name], self._schema.actions[action.name]
        names = {key: self._wording.object_text(arg, parameter.type) for key, arg, parameter
                 in zip(words.parameters, action.args, schema.parameters, strict=True)}
        return _fill(words.phrase, names)

    def became(self, name: str, what: Became) -> str:
        """What became of a proposal; see ``Domain.became``."""
        return self._template(name, 'planning').outcomes[what.value]

    def planning(self, name: str, problem: Problem, history: Sequence[PastStep],
                 told: Mapping[Atom, bool], stops_at_goal: bool) -> PlanningPrompt:
        """What a model is given to plan from; see ``Domain.planning_prompt``."""
        template = self._template(name, 'planning')
        texts = template.texts

        def listed(items: Sequence[str]) -> str:
            return '\n'.join(_fill(texts['item'], {'text': item}) for item in items)

        objects = {**problem.objects, **self._schema.constants}
        known = [self._fact(atom, holds) for atom, holds in told.items()
                 if self._told.covers(atom, holds)]
        values = {
            'environment': self._environment,
            'actions': '\n\n'.join(_fill(texts['action'], {
                'name': action, 'about': words.about, 'parameters': ', '.join(words.parameters),
                'described': listed([f'{key}: {what}' for key, what in words.parameters.items()]),
                'preconditions': listed(words.preconditions), 'effects': listed(words.effects),
            }) for action, words in self.actions.items()),
            'objects': listed([
                _fill(texts['object'], {
                    'name': thing, 'words': words if words != thing else kind})
                for thing, kind in objects.items()
                for words in [self._wording.object_text(thing, kind)]]),
            'goal': self._wording.goal_text(problem),
            'told': _fill(texts['told'], {'facts': listed(known)}) if known else '',
            'history': '\n'.join(
                _fill(texts['step'], {'number': str(number),
                                      'action': step.action or texts['no_action'],
                                      'outcome': step.outcome})
                for number, step in enumerate(history, start=1)) or texts['no_history'],
            'done': '' if stops_at_goal else texts['done'],
        }
        system, before, after = (_compose(texts[key], values) for key in _AROUND)
        return PlanningPrompt(name, system, before, after, template.max_tokens, template.single,
                              template.reasoning, template.outcomes, template.sha256)

    def _fact(self, atom: Atom, holds: bool) -> str:
        if atom.predicate in self._facts[holds]:
            return self._wording.fill(self._facts[holds], atom)
        return f'{self._wording.question(atom).text} {"Yes" if holds else "No"}.'

    def _template(self, name: str, kind: str = '') -> _Template:
        found = self._templates.get(name)
        if found is None or kind not in ('', found.kind):
            fitting = [n for n, t in self._templates.items() if kind in ('', t.kind)]
            raise InputError(f'prompt {name!r} is unknown{kind and " among those for " + kind}; '
                             f'there are {", ".join(fitting)}')
        return found


# ---------------------------------------------------------------------------------- templates


@dataclass(frozen=True, slots=True)
class _Template:
    kind: str
    texts: Mapping[str, str]
    reasoning: bool
    max_tokens: int
    single: bool
    memory: Mapping[str, str]
    outcomes: Mapping[str, str]
    sha256: str


_TEXTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    # kind: key: the placeholders it may have.
    'questions': {
        'system': ('environment',),
        'before_image': ('environment', 'memory'),
        'after_image': ('environment', 'memory'),
        'question': ('question',),
    },
    'planning': {
        'system': _SCENE, 'before_image': _SCENE, 'after_image': _SCENE,
        'action': ('name', 'about', 'parameters', 'described', 'preconditions', 'effects'),
        'object': ('name', 'words'),
        'item': ('text',),
        'told': ('facts',),
        'step': ('number', 'action', 'outcome'),
        'no_history': (),
        'no_action': (),
        'done': (),
    },
}
_MEMORY = {'pair': ('question', 'answer'),
           **{outcome.value: ('pairs', 'action') for outcome in MemoryOf}}
_OUTCOMES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((outcome.value for outcome in Became), ()),
    **dict.fromkeys(('unknown_action', 'wrong_parameters'), ('known',)),
    **dict.fromkeys(('unknown_object', 'unfit_object'), ('name', 'type', 'known'))}
_FLAGS: Mapping[str, tuple[str, ...]] = {
    'questions': ('reasoning',), 'planning': ('reasoning', 'single')}


def _read_template(name: str, own: Path, words: Sequence[Path]) -> _Template | None:
    """A template with all it takes over; None for a mere part of others.

    Raises:
        DomainError: a file is missing or wrong; names file and key.
    """
    files: list[Path] = []
    path = _place(name, own)
    data = _merged(path, own, files)
    kind = data.pop('kind')
    if kind == 'memory':
        return None
    for key in data:
        if key not in (*_TEXTS[kind], *_FLAGS[kind], 'max_tokens',
                       'memory' if kind == 'questions' else 'outcomes'):
            raise DomainError(f'{path}:1: {key}: is unknown in a prompt of kind {kind}')
    texts = {key: _text(path, data, key, known) for key, known in _TEXTS[kind].items()}
    flags = {key: _checked(path, data, key, lambda v: isinstance(v, bool), 'true or false')
             for key in _FLAGS[kind]}
    max_tokens = _checked(path, data, 'max_tokens', lambda v: type(v) is int
                          and 0 < v <= _MAX_TOKENS, f'a number from 1 to {_MAX_TOKENS}')
    memory = _texts(path, data, 'memory', _MEMORY) if 'memory' in data else {}
    outcomes = _texts(path, data, 'outcomes', _OUTCOMES) if kind == 'planning' else {}
    around = ''.join(texts[key] for key in _AROUND)
    needed = {'planning': set(_SCENE), 'questions': {'environment', *(['memory'] * bool(memory))},
              }[kind] - set(_PLACEHOLDER.findall(around))
    if needed:
        raise DomainError(f'{path}:1: system, before_image, after_image: none of them has '
                          f'{{{sorted(needed)[0]}}} (put it where it is to be said)')
    if kind == 'questions' and '{question}' not in texts['question']:
        raise DomainError(f'{path}:1: question: has no {{question}} (put it in)')
    digest = hashlib.sha256()
    # Named by folder and file, so that the hash is the same wherever the files lie.
    for title, file in sorted((f'{file.parent.name}/{file.name}', file)
                              for file in {*files, *words}):
        digest.update(title.encode() + b'\0' + file.read_bytes() + b'\0')
    return _Template(kind, texts, flags['reasoning'], max_tokens, flags.get('single', False),
                     memory, outcomes, digest.hexdigest()[:12])


def _place(name: str, own: Path) -> Path:
    """Where a template is: the domain's own comes first."""
    file = own / f'{name}.yaml'
    return file if file.is_file() else _TEMPLATES / file.name


def _merged(path: Path, own: Path, files: list[Path], depth: int = 0) -> dict[str, Any]:
    """A template's keys, its own before those it takes over; all files go into ``files``."""
    files.append(path)
    data = read_yaml(path)
    kind = data.get('kind')
    if kind not in (*_TEXTS, 'memory'):
        raise DomainError(f'{path}:1: kind: is {kind!r} (write questions, planning or memory)')
    like = data.pop('like', [])
    if not isinstance(like, list) or not all(isinstance(n, str) for n in like) or depth > 8:
        raise DomainError(f'{path}:1: like: is {like!r} (give a list of names of templates, '
                          'without a circle)')
    for name in like:
        # A template that bears the name of its domain's own means the general one.
        other = _place(name, own)
        inherited = _merged(_TEMPLATES / other.name if other == path else other, own, files,
                            depth + 1)
        data = {**inherited, **data}
    return data


def _read_actions(path: Path, data: Mapping[str, Any], schema: Schema) -> dict[str, ActionWords]:
    given = _checked(path, data, 'actions', lambda v: isinstance(v, dict),
                     'a mapping from actions to their words')
    for name in given:
        if name not in schema.actions:
            raise DomainError(f'{path}:1: actions.{name}: there is no such action (known: '
                              f'{", ".join(schema.actions)})')
    missing = [name for name in schema.actions if name not in given]
    if missing:
        raise DomainError(f'{path}:1: actions: nothing about {", ".join(missing)} (describe it)')
    return {name: _read_action(path, f'actions.{name}', given[name], action)
            for name, action in schema.actions.items()}


def _read_action(path: Path, key: str, given: object, action: ActionSchema) -> ActionWords:
    keys = ('about', 'phrase', 'parameters', 'preconditions', 'effects')
    if not isinstance(given, dict) or set(given) != set(keys):
        raise DomainError(f'{path}:1: {key}: must have {", ".join(keys)} and nothing else')
    parameters = given['parameters']
    if (not isinstance(parameters, dict) or len(parameters) != len(action.parameters)
            or not all(isinstance(word, str) and re.fullmatch(r'[a-z_]+', word)
                       and isinstance(what, str) for word, what in parameters.items())):
        raise DomainError(f'{path}:1: {key}.parameters: must name the {len(action.parameters)} '
                          'parameters in the order of the domain file, in small letters and '
                          'underscores, and say what each is')
    for part in ('preconditions', 'effects'):
        if not isinstance(given[part], list) or not all(isinstance(s, str) for s in given[part]):
            raise DomainError(f'{path}:1: {key}.{part}: is not a list of sentences (write them '
                              'as "- ..." lines)')
    return ActionWords(
        _text(path, given, 'about', (), key), _text(path, given, 'phrase', parameters, key),
        dict(parameters), tuple(given['preconditions']), tuple(given['effects']))


def _read_told(path: Path, data: Mapping[str, Any], schema: Schema) -> ToldFacts:
    given = data.get('told', {})
    if not isinstance(given, dict) or not set(given) <= {'predicates', 'only_true'}:
        raise DomainError(f'{path}:1: told: is {given!r} (give predicates and only_true, or one '
                          'of them)')
    predicates = given.get('predicates', list(schema.predicates))
    if not isinstance(predicates, list) or not all(p in schema.predicates for p in predicates):
        raise DomainError(f'{path}:1: told.predicates: is {predicates!r} (give a list of '
                          f'predicates; known: {", ".join(schema.predicates)})')
    only_true = given.get('only_true', False)
    if not isinstance(only_true, bool):
        raise DomainError(f'{path}:1: told.only_true: is {only_true!r} (give true or false)')
    return ToldFacts(tuple(predicates), only_true)


def _checked(path: Path, data: Mapping[str, Any], key: str, good: Callable[[Any], bool],
             wanted: str) -> Any:
    if key not in data:
        raise DomainError(f'{path}:1: {key}: is missing (give {wanted})')
    if not good(data[key]):
        raise DomainError(f'{path}:1: {key}: is {data[key]!r} (give {wanted})')
    return data[key]


def _text(path: Path, data: Mapping[str, Any], key: str, known: Sequence[str] | Mapping[str, Any],
          within: str = '') -> str:
    """A text of a file whose placeholders are all known.

    Raises:
        DomainError: it is missing, no text, or has an unknown placeholder.
    """
    where = f'{path}:1: {within and within + "."}{key}'
    value = data.get(key)
    if not isinstance(value, str):
        raise DomainError(f'{where}: is {"missing" if value is None else "not a text"} (write it)')
    for name in _PLACEHOLDER.findall(value):
        if name not in known:
            raise DomainError(f'{where}: unknown placeholder {{{name}}} (known: '
                              f'{", ".join(known) or "none"})')
    return value.strip()


def _texts(path: Path, data: Mapping[str, Any], key: str,
           known: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """A mapping of texts, each with its own placeholders.

    Raises:
        DomainError: see ``_text``, or the keys are others.
    """
    given = _checked(path, data, key, lambda v: isinstance(v, dict) and set(v) == set(known),
                     f'a mapping of {", ".join(known)}')
    return {name: _text(path, given, name, places, key) for name, places in known.items()}


def _fill(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of their names, once: what they contain is left as it is."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def _compose(text: str, values: Mapping[str, str]) -> str:
    """A filled text, without the gaps of what was left out."""
    return re.sub(r'\n{3,}', '\n\n', _fill(text, values)).strip()
