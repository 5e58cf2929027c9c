"""Prompts of each variant, with the names that the two paths have in it."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Sequence

from sightplan_suites.patheval.items import Item
from sightplan_suites.paths.descriptors import KEYS, NAMES, Descriptors

Names = tuple[str, str]
"""Names of the path that is shown first, and of the one that is shown second."""

CHOICE, PERCEPTION, NEEDED = 'choice', 'perception', 'needed'
"""Forms of an answer: one of two paths; for each descriptor one of two; a list of descriptors."""

PLAIN_NAMES: Names = ('Path 1', 'Path 2')
_SIGNS = string.ascii_letters + string.digits
_LENGTH = 4
_KEYS = dict(zip(NAMES, KEYS, strict=True))

_PLACES = ('first', 'second')
_NOTHING_MORE = '.'
_ABOUT_PATHS = (', each as a red line from the red dot to the blue dot. Both are on the same map, '
                'which ends at the frame; the frame is no obstacle.')
_UNEXPLAINED = ('average_clearance',)
"""Descriptors whose meaning the paper's prompts do not explain."""

ABOUT = {
    'minimum_clearance': 'how near the path comes to an obstacle where it is nearest to one',
    'maximum_clearance': 'how far from all obstacles the path is where it is farthest from them',
    'average_clearance': 'how far the nearest obstacle is, on average over the points of the '
                         'path',
    'path_length': 'how long the path is from start to goal',
    'smoothness': 'the angles in degrees of all changes of direction added up, so that 0 is a '
                  'straight line',
    'sharp_turns': 'how many times the path changes its direction by more than 90 degrees',
    'maximum_angle': 'the largest change of direction at one point, in degrees',
}
"""Explanation of each descriptor for a prompt."""


def key_of(name: str) -> str:
    """Name of a descriptor for models and files, such as ``Minimum clearance``."""
    return _KEYS[name]


def random_names(seed: int, what: str) -> Names:
    """Two names of four letters and digits, which differ in more than case.

    Args:
        seed: another one gives other names.
        what: they are drawn for.
    """
    rng = random.Random(f'names {seed} {what}')

    def drawn() -> str:
        return ''.join(_SIGNS[int(rng.random() * len(_SIGNS))] for _ in range(_LENGTH))
    first = second = drawn()
    while second.lower() == first.lower():
        second = drawn()
    return first, second


def called(name: str) -> str:
    """A path's name within a sentence; a meaningless name is preceded by "Path"."""
    return name if ' ' in name else f'Path {name}'


def told(task: str, names: Sequence[str], values: Sequence[Descriptors],
         descriptors: Sequence[str]) -> dict[str, str]:
    """Values that a prompt of one's own may put into its words, by the names of its placeholders.

    Args:
        task: its sentence, '' for none.
        names: of the two paths, in the order shown; empty for none.
        values: of both, in this order, where they are told.
        descriptors: that are asked about.
    """
    found = {'task': task, 'descriptor': ', '.join(map(key_of, descriptors))}
    for place, name in zip(_PLACES, names, strict=False):
        found[place] = called(name)
    for place, one in zip(_PLACES, values, strict=False):
        found[f'{place}_values'] = _numbers(one)
    return {name: text for name, text in found.items() if text}


def task_text(item: Item, names: Names, *, pictures: bool, explained: bool = True,
              values: Sequence[Descriptors] = ()) -> str:
    """Prompt of choosing the better path for a task.

    Args:
        item: with the task.
        names: of the paths.
        pictures: whether there are any.
        explained: whether it says all of what the picture and the values mean, see the README.
        values: of both paths in the order shown; empty: the model is not told them.
    """
    parts = [item.task, 'Which path serves this task better?']
    if pictures:
        parts.append(_paths_text(names, explained))
    if values:
        parts.append(_values_text(names, values, pictures, explained))
    return '\n\n'.join((*parts, answer_form(names)))


def _paths_text(names: Names, explained: bool) -> str:
    return sides_text(names, _ABOUT_PATHS if explained else _NOTHING_MORE)


def sides_text(names: Names, what: str) -> str:
    """Sentence on where the two paths are in the picture, and what follows it on how they look."""
    first, second = map(called, names)
    return f'The left half of the picture shows {first}, the right half shows {second}{what}'


def _values_text(names: Names, values: Sequence[Descriptors], pictures: bool, explained: bool,
                 ) -> str:
    about = '\n'.join(f'- {key_of(name)}: {ABOUT[name]}' for name in NAMES
                      if explained or name not in _UNEXPLAINED)
    numbers = '\n'.join(f'{called(name)}: {_numbers(found)}'
                        for name, found in zip(names, values, strict=True))
    intro = 'These numbers describe the paths' if pictures else (
        'The paths lead from the same start to the same goal on one map. These numbers describe '
        'them')
    return f'{intro}:\n{numbers}\n\nWhat they mean:\n{about}'


def _numbers(values: Descriptors) -> str:
    return json.dumps({key: round(value, 2) for key, value in values.to_json().items()})


def answer_form(names: Names) -> str:
    """Instruction for writing an answer that is one of two names."""
    first, second = map(called, names)
    return f'Write the answer as one line, with one of the two names:\nAnswer: {first} or {second}'


def perception_text(names: Names, explained: bool = True) -> str:
    """Prompt that asks for each descriptor which path has less of it; see ``task_text``."""
    about = '\n'.join(f'- {key_of(name)}: {ABOUT[name]}' for name in NAMES)
    first, second = map(called, names)
    lines = '\n'.join(f'{key}: {first} or {second}' for key in KEYS)
    return (f'{_paths_text(names, explained)}\n\nEach path has these properties:\n{about}\n\n'
            'For each property say which path has the lower value. Write the answer as these '
            f'lines, each with one of the two names:\nAnswer:\n{lines}')


def fine_text(names: Names, name: str, explained: bool = True) -> str:
    """Prompt that asks for one descriptor which path has less of it; see ``task_text``."""
    return (f'{_paths_text(names, explained)}\n\n{key_of(name)} of a path: {ABOUT[name]}.\n\n'
            f'Which path has the lower value?\n\n{answer_form(names)}')


def needed_text(task: str) -> str:
    """Prompt that asks on which descriptors a task depends."""
    about = '\n'.join(f'- {key_of(name)}: {ABOUT[name]}' for name in NAMES)
    return (f'{task}\n\nSeveral paths are proposed. Each is described by these numbers:\n{about}'
            '\n\nWhich of the numbers must be compared to find the path that serves the task '
            'best? Write their names in one line, with a semicolon between them:\nAnswer: '
            'name; name; ...')


def segment_text(kind: str, names: Names) -> str:
    """Prompt that asks which of two points or lines is nearer to an obstacle."""
    more = ('' if kind == 'point' else
            f' A {kind} is as near as the nearer one of its two ends.')
    return (sides_text(names, f'. Each is a red {kind} beside the same rectangular obstacle.')
            + f'\n\nWhich {kind} is nearer to the obstacle?{more}\n\n{answer_form(names)}')
