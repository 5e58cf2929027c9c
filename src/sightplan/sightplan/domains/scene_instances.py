"""Scene instances of problems: one problem file that stands for several scenes.

Some data sets list, in a file ``metadata.json`` beside the problem files, the scenes in which each
problem is posed, such as iGibson's homes and the arrangements in them. Each is an episode of its
own. How the file is laid out differs; ``read_instances`` takes several forms.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sightplan.model import InputError, Problem
from sightplan.model.reading import read_data

METADATA = 'metadata.json'

Instance = tuple[str, str]
"""A scene and the instance of it, such as ``('Beechwood_0_int', '3')``."""

_PROBLEM = ('problem', 'problem_file', 'problem_path', 'problem_name', 'pddl', 'pddl_file', 'file',
            'filename', 'path', 'name', 'task', 'task_name', 'activity', 'activity_name')
_SCENE = ('scene', 'scene_id', 'scene_name', 'scene_model')
_INSTANCE = ('instance', 'instance_id', 'instance_number', 'scene_instance', 'scene_instance_id',
             'task_instance', 'activity_instance', 'instances', 'instance_ids', 'scene_instances')
_LISTS = ('scene_instance_pairs', 'scene_instances', 'scenes', 'instances', 'pairs', 'triplets',
          'configs', 'episodes')
_ALL = ('problems', 'tasks', 'triplets', 'episodes', 'entries', 'data')
_FORM = ('write {"FILE.pddl": [{"scene": "Beechwood_0_int", "instance": 0}, ...], ...}, or remove '
         'the file to have one episode for each problem file')
_NUMBERED = re.compile(r'(.*\D)[_ -](\d+)')
_SAFE = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]*')
_MOST = 1_000


def read_instances(path: Path, split: str, stems: Mapping[str, Iterable[str]],
                   ) -> dict[str, list[Instance]]:
    """Read the scene instances of the problems of one split, from a file for one or for several.

    These forms are read, alone or below the name of the split, or below a key such as
    ``problems``:

    * a mapping of problem files to their instances, or a list of entries that name their problem
      (``problem``, ``file``, ``task``, ...);
    * the instances of a problem: an entry with ``scene`` (or ``scene_id``, ``scene_name``) and
      ``instance`` (or ``instance_id``, ``scene_instance``; a number, or a list of them); a list of
      such entries, of pairs ``[scene, instance]`` or of names that end in the number; or a mapping
      of scenes to numbers; below a key such as ``scenes`` or directly.

    Args:
        path: the file.
        split: name of the split; '' if it is not known.
        stems: names of the problem files without their suffix, by the splits that the file may
            be about.

    Returns:
        by problem file without its suffix, its instances in the order of the file; a problem that
        the file does not name is left out.

    Raises:
        InputError: the file is no JSON, names a problem that has no file, has no scene for one,
            or names an instance twice; says where and what to do.
    """
    known = {stem for several in stems.values() for stem in several}
    found: dict[str, list[Instance]] = {}
    data, mine = read_data(path), set(stems[split])
    for name, content in _entries(data, split, known):
        stem = _stem(name)
        if stem not in known:
            raise InputError(f'{path}: {name}: there is no problem file {stem}.pddl (there are '
                             f'{", ".join(sorted(known))}; add it, or remove the entry)')
        if stem not in mine or _is_of_another(name, split, stems):
            continue
        instances = list(_instances(content))
        if not instances:
            raise InputError(f'{path}: {name}: names no scene; it has {_shown(content)} ({_FORM})')
        found.setdefault(stem, []).extend(instances)
    if not any(list(_entries(data, one, known)) for one in stems):
        raise InputError(f'{path}: names none of the problem files {", ".join(sorted(known))} '
                         f'({_FORM})')
    for stem, instances in found.items():
        _check(path, stem, instances)
    return found


def posed_in(problem: Problem, instance: Instance) -> Problem:
    """Return a problem as it is posed in a scene: with the scene and instance in its name.

    Worlds that make a scene from a problem's name so show another one for each instance. The name
    is the one in published result files, ``NAME_SCENE_INSTANCE``.
    """
    return dataclasses.replace(problem, name='_'.join((problem.name, *instance)))


def _entries(data: Any, split: str, known: set[str]) -> Iterator[tuple[str, Any]]:
    """Yield the name of each problem in the metadata, and what is said about it."""
    if isinstance(data, list):
        for item in data:
            name = _first(item, _PROBLEM) if isinstance(item, dict) else None
            if isinstance(name, str):
                yield name, item
        return
    if not isinstance(data, dict):
        return
    named = [key for key in data if key.endswith('.pddl') or _stem(key) in known]
    if named:
        yield from ((key, data[key]) for key in named)
        return
    for key in (split, *_ALL):
        if key and isinstance(data.get(key), (dict, list)):
            yield from _entries(data[key], split, known)
            return


def _is_of_another(name: str, split: str, splits: Iterable[str]) -> bool:
    """Whether the path of a problem file tells another split."""
    told = set(re.split(r'[\\/]', name)[:-1]) & set(splits)
    return bool(told) and split not in told


def _stem(name: str) -> str:
    return name.replace('\\', '/').rpartition('/')[2].removesuffix('.pddl')


def _first(data: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((data[name] for name in names if name in data), None)


def _instances(content: Any) -> Iterator[Instance]:
    """Yield the instances in what is said about a problem; none if no form fits."""
    if isinstance(content, str):
        yield _split_name(content)
    elif isinstance(content, list):
        if len(content) == 2 and isinstance(content[0], str) and _is_number(content[1]):
            yield content[0], str(content[1])
            return
        for item in content:
            yield from _instances(item)
    elif isinstance(content, dict):
        yield from _of_mapping(content)


def _of_mapping(content: Mapping[str, Any]) -> Iterator[Instance]:
    scene = _first(content, _SCENE)
    if isinstance(scene, str):
        numbers = _first(content, _INSTANCE)
        if numbers is None:
            yield _split_name(scene)
        for number in numbers if isinstance(numbers, list) else [numbers]:
            if _is_number(number) or isinstance(number, str):
                yield scene, str(number)
        return
    for key in _LISTS:
        listed = content.get(key)
        if isinstance(listed, dict):
            yield from _of_scenes(listed)
            return
        if isinstance(listed, list):
            yield from _instances(listed)
            return
    if all('_int' in key or '_gar' in key for key in content):
        yield from _of_scenes(content)


def _of_scenes(scenes: Mapping[str, Any]) -> Iterator[Instance]:
    """Yield the instances of a mapping of scenes to one number or several."""
    for scene, numbers in scenes.items():
        for number in numbers if isinstance(numbers, list) else [numbers]:
            if _is_number(number) or isinstance(number, str):
                yield scene, str(number)


def _is_number(value: Any) -> bool:
    """Whether a value is a number of an instance, or the text of one."""
    if isinstance(value, str):
        return value.isdecimal()
    return isinstance(value, int) and not isinstance(value, bool)


def _split_name(name: str) -> Instance:
    """Return scene and instance of a name such as ``Rs_int_2``; without a number instance 0."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], match[2]) if match else (name, '0')


def _check(path: Path, stem: str, instances: list[Instance]) -> None:
    if len(instances) > _MOST:
        raise InputError(f'{path}: {stem}: has {len(instances)} instances (at most {_MOST})')
    for instance in instances:
        if not all(_SAFE.fullmatch(part) for part in instance):
            raise InputError(f'{path}: {stem}: scene {instance[0]!r}, instance {instance[1]!r}: '
                             'names are letters, digits, "_", "-" and "." (rename it)')
        if instances.count(instance) > 1:
            raise InputError(f'{path}: {stem}: scene {instance[0]}, instance {instance[1]} stands '
                             'there twice (keep one)')


def _shown(content: Any) -> str:
    if isinstance(content, dict):
        return f'the keys {", ".join(map(str, list(content)[:12])) or "(none)"}'
    return f'{str(content)[:60]!r}'
