"""Finding methods by name: one registry; a method says itself which kinds of tasks it does.

A method does episodes if its module has a class ``Policy``, and samples if it has one called
``Answerer``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sightplan.agent.answerer import Answerer
from sightplan.agent.method_choices import MethodChoices
from sightplan.agent.method_files import MethodFiles
from sightplan.agent.policy import Policy, offering_unknown, reading_all
from sightplan.model import InputError
from sightplan.model.plugins import Registry, T
from sightplan.model.settings import picked

GROUP = 'sightplan.methods'
"""Entry points of methods, ours as a stranger's."""
_POLICY, _ANSWERER = 'Policy', 'Answerer'
_SAMPLE_SETTINGS = 'SampleSettings'


class _Methods(Registry[T]):
    """The methods that do one kind of task.

    Args:
        part: the class that such a method's module has.
        contract: the protocol of that class.
        declares: class attributes that it must have.
        settings: names of the settings dataclass, the first of them that a module has.
        hint: for who asks for a method that does the other kind only.
    """

    def __init__(self, part: str, contract: type, declares: Sequence[str],
                 settings: Sequence[str], hint: str) -> None:
        super().__init__('method', GROUP, part, declares, contract)
        self._settings, self._hint = settings, hint

    def every(self) -> tuple[str, ...]:
        """Names of all methods, whatever they do; none is imported for it."""
        return super().names()

    def names(self) -> tuple[str, ...]:
        """Names of the methods that do this kind of task; all methods are imported for it."""
        return tuple(name for name in self.every() if self._does(name))

    def module(self, name: str) -> Any:
        """The module of a name; see ``Registry.module``."""
        if name in self.every() and not self._does(name):
            raise InputError(f'method {name!r} {self._hint} choose one of '
                             f'{", ".join(self.names())}')
        return super().module(name)

    def _settings_class(self, name: str) -> type[Any]:
        module = self.module(name)
        found: type[Any] = next(getattr(module, one) for one in self._settings
                                if hasattr(module, one))
        return found

    def _does(self, name: str) -> bool:
        """Whether a method does this kind of task; True for one that cannot be used at all."""
        try:
            module = self._load(name)
        except InputError:
            return True
        return hasattr(module, self._part) or not any(
            hasattr(module, part) for part in (_POLICY, _ANSWERER))


_POLICIES: _Methods[Policy] = _Methods(_POLICY, Policy, (
    'needs_truth', 'needs_grounder', 'needs_planner', 'needs_visual_planner', 'reads_goal',
    'reads_instruction', 'reads_visible_facts', 'files', 'model', 'prompt'),
    ('Settings',), 'answers samples; for episodes')
_ANSWERERS: _Methods[Answerer] = _Methods(_ANSWERER, Answerer, (
    'needs_truth', 'needs_model', 'sees_pictures', 'prompt', 'suite_prompt',
    'instruction_prompt', 'tells_apart'),
    (_SAMPLE_SETTINGS, 'Settings'), 'acts in episodes; for samples')

every_method = _POLICIES.every
method_names, policy_settings = _POLICIES.names, _POLICIES.settings
policy_class, make_policy = _POLICIES.cls, _POLICIES.make
answerer_names, answerer_settings = _ANSWERERS.names, _ANSWERERS.settings
answerer_class, make_answerer = _ANSWERERS.cls, _ANSWERERS.make


def answers_only_samples(name: str) -> bool:
    """Whether the method answers samples and does no episodes, so that it needs no world."""
    return name in answerer_names() and name not in method_names()


def needs_truth(name: str) -> bool:
    """Whether the method is an oracle that must be given ground truth."""
    return _POLICIES.cls(name).needs_truth


def needs_grounder(name: str) -> bool:
    """Whether the method asks questions; if not, no model need be loaded."""
    return _POLICIES.cls(name).needs_grounder


def needs_planner(name: str) -> bool:
    """Whether a symbolic planner plans for the method."""
    return _POLICIES.cls(name).needs_planner


def needs_visual_planner(name: str) -> bool:
    """Whether a vision-language model plans for the method."""
    return _POLICIES.cls(name).needs_visual_planner


def reads_instruction(name: str) -> bool:
    """Whether the method is given an instruction in words, and neither objects nor goal."""
    return _POLICIES.cls(name).reads_instruction


def method_files(name: str) -> MethodFiles | None:
    """The files that a method reads; None for none."""
    return _POLICIES.cls(name).files


def needs_model(name: str) -> bool:
    """Whether the method uses a vision-language model: to answer questions, or to plan."""
    return needs_grounder(name) or needs_visual_planner(name)


def method_choices(name: str, options: Mapping[str, Any] | None = None) -> MethodChoices:
    """The settings of a method of episodes that a run reads.

    Args:
        name: of the method.
        options: its settings; those left out have their defaults.

    Raises:
        InputError: there is no such method or setting, or a value is wrong.
    """
    return picked(MethodChoices, policy_settings(name, options or {}))


def check_reads_goal(method: str, policy: Policy | type[Policy] | None = None) -> None:
    """Check that a method can learn its goal from a picture.

    A method that lets a symbolic planner plan needs the goal as literals; if it cannot read them
    from a picture (class attribute ``reads_goal``) it would take the goal for empty, and claim
    that it holds. An oracle is told the goal, a visual planner is shown it, and a method that does
    not plan has no use for it.

    Args:
        method: its name.
        policy: the policy, where it is at hand; None: that of the name.

    Raises:
        InputError: it cannot; says which methods can.
    """
    if _reads_goal(_POLICIES.cls(method) if policy is None else policy):
        return
    readers = [name for name in _POLICIES.names() if needs_planner(name) and not needs_truth(name)
               and _reads_goal(_POLICIES.cls(name))]
    raise InputError(f'method {method!r} cannot read a goal from a picture; choose goal=told, or '
                     f'one of {", ".join(readers)}')


def _reads_goal(policy: Policy | type[Policy]) -> bool:
    return not policy.needs_planner or policy.needs_truth or policy.reads_goal


def prompt_name(name: str, options: Mapping[str, Any] | None = None) -> str:
    """Name of the prompt file that the method's questions or proposals use, '' for none.

    Args:
        name: of the method.
        options: its settings; with ``unknown`` or ``reading``, of a method that has it, the
            prompt is the one that offers that answer, or that asks for all there is in one reply.
    """
    prompt, choices = _POLICIES.cls(name).prompt, method_choices(name, options)
    if prompt and choices.unknown:
        prompt = offering_unknown(prompt)
    return reading_all(prompt) if prompt and choices.reading else prompt
