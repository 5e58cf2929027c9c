"""The arguments of a graph of episodes, before a node of it starts: its protocol, and checks."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from sightplan.agent import (
    answerer_settings,
    needs_grounder,
    needs_visual_planner,
    policy_settings,
)
from sightplan.domains import find_problem, load_domain
from sightplan.model import Atom, InputError, Problem, settings_fields, user_path
from sightplan.model.option_pairs import parse_options
from sightplan.model.plugins import part
from sightplan.records.bag_reading import open_bag
from sightplan.runs.episodes import select_problems
from sightplan.runs.method_check import check_instructions, check_model, check_shown
from sightplan.runs.protocols import apply
from sightplan.runs.settings import OURS, RunSettings
from sightplan.runs.spread import chosen
from sightplan.runs.suite_domain import (
    with_domain_of_suite,
    with_problem_of_domain,
    with_split_of_domain,
)
from sightplan.runs.suite_finding import sample_suite
from sightplan.runs.suite_rules import FREE, OPTIONS
from sightplan.runs.worlds import check_world_options, shown_with, world_choices
from sightplan.vlm.api import backend_settings, usable_backends

_NEEDED = ('backend', 'domain', 'method', 'method_options', 'world', 'world_options', 'execution',
           'suite', 'split')
"""Arguments of a graph of episodes in a world; method and problems of others are not checked."""
_WORLD = ('domain', 'problem', 'world', 'backend')
"""Arguments of a graph whose world begins with a problem and waits for goals."""
_PLAYED = ('bag', 'start_paused')
"""Arguments of a graph that plays a bag."""
_PROBLEMS = ('suite', 'domain', 'split', 'problems', 'domain_file', 'prompts')
"""Arguments of a graph that say which problems are solved, and with which prompts."""
_DOMAIN = RunSettings().domain
"""The usual domain of a run."""
_SIMULATED, _ARM_NODE, _ARM = 'sim_bridge', 'arm_bridge', 'arm'


def with_protocol(values: Mapping[str, Any], named: Collection[str] = ()) -> dict[str, Any]:
    """Return the values of a graph's arguments with what its suite and its protocol set.

    A suite sets the domain where none is named, and a domain the split or the problem.

    Each node gets its own settings from the arguments, so that all of them follow the protocol.

    Args:
        values: the values of the graph's arguments, by name.
        named: names of those that a person gave, as far as that is known.

    Raises:
        InputError: see ``protocols.apply`` and ``with_domain_of_suite``.
    """
    other = values.get('domain', _DOMAIN) != _DOMAIN
    values = found = with_domain_of_suite(values, named or (['domain'] if other else []))
    if 'split' in values:
        values = found = with_split_of_domain(values, named)
    if values.keys() >= set(_WORLD):
        values = found = with_problem_of_domain(values)
    if values.get('protocol', OURS) == OURS:
        return found
    fields = {field.name for field in dataclasses.fields(RunSettings)} - {'out', *OPTIONS}
    options = {name: parse_options(values[name], name, _settings_of(name, values))
               for name in OPTIONS if name in values}
    given = RunSettings(**{name: value for name, value in values.items() if name in fields}
                        | options)
    changed = apply(given, named)
    for name in (*FREE, *OPTIONS):
        if (value := getattr(changed, name)) != getattr(given, name):
            found[name] = value if name in FREE else json.dumps(value)
    return found


def _settings_of(name: str, values: Mapping[str, Any]) -> type | None:
    """The settings dataclass of some options, which gives their values types; None: not known."""
    if name == 'backend_options':
        return type(backend_settings(values['backend']))
    if name == 'method_options':
        samples = sample_suite(values['suite'], values['split']) is not None
        return type((answerer_settings if samples else policy_settings)(values['method']))
    return None


def refuse_settings(given: Sequence[str], known: Collection[str]) -> None:
    """Refuse a setting of a world, a model or a method that is given as an argument of a graph.

    Args:
        given: arguments as ``name:=value``.
        known: names of the graph's arguments.

    Raises:
        InputError: one of them is such a setting; says how it is given.
    """
    values = {name: value for name, _, value in (text.partition(':=') for text in given)}
    if 'world_options' not in known or values.keys() <= set(known):
        return
    domain = with_domain_of_suite(values, values.keys()).get('domain', _DOMAIN)
    method = values.get('method', RunSettings().method)
    for name, value in values.items():
        if name in known:
            continue
        if name in (world_choices(domain) or {}):
            raise InputError(f'{name} is an option of the world of domain {domain}; write '
                             f'world_options:={name}={value}')
        if name in _names(policy_settings(method)):
            raise InputError(f'{name} is a setting of method {method}; write '
                             f'method_options:={name}={value}')
        backends = [one for one in usable_backends() if name in _names(backend_settings(one))]
        backend = values.get('backend', '' if len(backends) != 1 else backends[0])
        if backends and (not backend or backend in backends):
            which = '' if 'backend' in values else f'backend:={backend or "NAME"} '
            raise InputError(f'{name} is a setting of backend {", ".join(backends)}; write '
                             f'{which}backend_options:={name}={value}')


def _names(settings: Any) -> set[str]:
    return {field.name for field in settings_fields(type(settings))}


def _check_options(values: Mapping[str, Any], kind: str,
                   settings: Callable[..., Any]) -> None:
    """Refuse settings of the model or the method that are unknown or out of bounds."""
    option, name = f'{kind}_options', values[kind]
    settings(name, parse_options(values.get(option, ''), option, type(settings(name))))


def check_graph_arguments(values: Mapping[str, Any]) -> None:
    """Check that a graph's problems and prompts are there, and that its model sees enough.

    A model that looks at pictures needs a simulated world that shows some. What only the world
    itself knows is found out with the first problem.

    Args:
        values: the values of the graph's arguments, by name.

    Raises:
        InputError: a file, folder, split or robot that an argument names is not there, a problem
            has no room before the robot, a setting of the model or the method is unknown or out
            of bounds, the model does not answer what the method asks, the folder of results
            cannot be made, or the model would see nothing; names the argument or the world's
            option, and what to choose.
    """
    _check_parts(values)
    if values.get('out'):
        folder = user_path(values['out'])
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f'out:={values["out"]} cannot be made ({error.strerror or error}); '
                             'name a folder that can be written') from error


def _check_parts(values: Mapping[str, Any]) -> None:
    """Check all but the folder of results; see ``check_graph_arguments``."""
    if values.get('backend'):
        _check_options(values, 'backend', backend_settings)
    robot = None
    if 'robot' in values and (
            values.get('execution') == _ARM or values.get('world') == _ARM_NODE):
        robot = part('robots', 'sightplan_arm').load_robot(values['robot'])
    if values.keys() >= set(_WORLD) and values['problem'] and _is_simulated(values):
        _check_room(robot, [_check_problem(values)], values)
    if values.keys() >= set(_PLAYED):
        _check_bag(values['bag'])
    if (any(name not in values for name in _NEEDED)
            or sample_suite(values['suite'], values['split']) is not None):
        return
    _check_options(values, 'method', policy_settings)
    _, pairs, _ = select_problems(
        RunSettings(**{name: values[name] for name in _PROBLEMS if name in values}))
    _check_room(robot, (pairs[index][1] for _, index in chosen(
        values.get('episodes') or len(pairs), pairs)), values)
    method = values['method']
    if values['world'] == _SIMULATED and (
            needs_grounder(method) or needs_visual_planner(method)):
        options = _world_options(values)
        check_world_options(values['domain'], options, 'world_options')
        _check_view(values, options, method,
                    parse_options(values['method_options'], 'method_options'))
    _check_model(values)


def _check_model(values: Mapping[str, Any]) -> None:
    """Refuse a model that does not answer what the method of episodes asks."""
    method = values['method']
    backend = values['backend']
    settings = RunSettings(
        backend=backend, domain=values['domain'], method=method,
        backend_options=parse_options(values.get('backend_options', ''), 'backend_options',
                                      type(backend_settings(backend))) if backend else {},
        method_options=parse_options(values['method_options'], 'method_options',
                                     type(policy_settings(method))))
    check_model(settings)
    check_instructions(settings, ())


def _world_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a simulated world, among them how it carries out actions."""
    options = parse_options(values.get('world_options', ''), 'world_options')
    return {**options, 'execution': _ARM} if values['execution'] == _ARM else options


def _check_view(values: Mapping[str, Any], options: Mapping[str, Any], method: str,
                method_options: Mapping[str, Any]) -> None:
    """Refuse a model that can do nothing with what a world with some options shows."""
    shown = shown_with(values['domain'], options)
    if shown is not None:
        check_shown(values['backend'], method, method_options, shown)


def _is_simulated(values: Mapping[str, Any]) -> bool:
    """Whether the things of a graph's world are simulated, with an arm or without."""
    return values['world'] == _SIMULATED or values.get('hardware') == 'simulated'


def _check_room(robot: Any, problems: Iterable[Problem], values: Mapping[str, Any]) -> None:
    """Refuse problems that do not fit the table before a robot; None: there is no robot."""
    for problem in problems if robot is not None else ():
        if misfit := robot.misfit(problem, one_stack=_is_simulated(values)):
            raise InputError(misfit)


def _check_problem(values: Mapping[str, Any]) -> Problem:
    """Return the problem that a world begins with, if it is there and the world shows it."""
    try:
        problem = find_problem(load_domain(values['domain']), values['problem'])
    except InputError as error:
        raise InputError(f'problem:={values["problem"]}: {error}') from error
    if values['world'] == _SIMULATED and 'execution' in values:
        _check_view(values, _world_options(values), RunSettings().method, {})
    return problem


def _check_bag(given: str) -> None:
    """Check that a bag is given, and can be opened."""
    if not given:
        raise InputError('bag:= is empty: no bag is given; name its folder or file')
    open_bag(given)


def hint_of(hint: str, namespace: str, values: Mapping[str, Any]) -> str:
    """Return what to do once a graph is up, in words that fit its place and its world.

    Args:
        hint: of the graph's file; $(place), $(goal) and $(thing) are filled in.
        namespace: in which the graph is, '' for none.
        values: the values of its arguments, by name.
    """
    found = hint.strip().replace('$(place)', f' --namespace {namespace}' if namespace else '')
    for name, words in (('goal', _goal_to_try), ('thing', _thing_to_try)):
        if (variable := f'$({name})') in found:
            found = found.replace(variable, words(values))
    return found


def _goal_to_try(values: Mapping[str, Any]) -> str:
    """Arguments of ``sightplan do``: the instruction of the world's problem, or one of its goals.

    An arm does not know what is on its table, so that its objects are named, too.
    """
    problem, arm = _problem_to_try(values), values['world'] == _ARM_NODE
    if problem is not None and problem.instruction:
        return f'"{problem.instruction}"'
    found, objects = '--goal "(PREDICATE OBJECT ...)"', 'NAME:TYPE,...'
    if problem is not None:
        atom = _open_goal(problem)
        found = f'--goal "({" ".join((atom.predicate, *atom.args))})"'
        objects = ','.join(f'{name}:{kind}' for name, kind in problem.objects.items())
    return f'{found} --domain {values["domain"]} --objects {objects}' if arm else found


def _thing_to_try(values: Mapping[str, Any]) -> str:
    """Words for a thing of the world's problem; a red block where that is not known."""
    problem = _problem_to_try(values)
    if problem is None:
        return 'red block'
    name = _open_goal(problem).args[0]
    words = load_domain(values['domain']).wording.object_text(name, problem.objects[name])
    return re.sub(r'_\d+$', '', words).replace('_', ' ')


def _problem_to_try(values: Mapping[str, Any]) -> Problem | None:
    """The problem whose things a graph's world has at the start; None: it is not known."""
    if not values.get('problem') or not _is_simulated(values):
        return None
    problem = find_problem(load_domain(values['domain']), values['problem'])
    return problem if any(one.positive and one.atom.args for one in problem.goal) else None


def _open_goal(problem: Problem) -> Atom:
    """An atom of a problem's goal about objects, rather one that does not hold at the start."""
    atoms = [one.atom for one in problem.goal if one.positive and one.atom.args]
    return next((one for one in atoms if one not in problem.init), atoms[0])
