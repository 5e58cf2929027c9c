"""``sightplan paths``: paths on maps, and which of them is best for a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import argument, option, option_like, picked
from sightplan.commands.frame import (
    DONE,
    Result,
    add_command,
    add_group,
    print_table,
    read_options,
)
from sightplan.commands.shared_flags import backend_flag, settings_flag
from sightplan.model import InputError, user_path
from sightplan_suites.paths.critic import CriticSettings
from sightplan_suites.paths.wishes import WishSettings

if TYPE_CHECKING:
    from sightplan.model.query import Model
    from sightplan_suites.paths.critic import Critique
    from sightplan_suites.paths.labels import Vector
    from sightplan_suites.paths.path_files import PathRun

_EXAMPLES = """\
examples:
  sightplan paths compare SceneMaze_Dims10_0.txt runs.txt --vector path_length=-1,sharp_turns=-1
  sightplan paths compare warehouse.yaml runs.txt --only 1,4,7 --picture paths.png \\
      --scenario 'A forklift brings glass through the hall.' --backend openai \\
      --backend-option model=NAME
  sightplan paths compare --pictures a.png b.png c.png --scenario 'A taxi.' --backend openai \\
      --backend-option model=NAME

On a known map the paths are measured, and a model is asked in words alone what the task wants:
for each of seven descriptors whether more or less of it is better. The probability that a path is
the best follows from what is believed of that. A vector states it instead, and no model is asked:
NAME=SIGN pairs (1: more is better, -1: less is better), or seven numbers in the order
average_clearance, minimum_clearance, maximum_clearance, path_length, sharp_turns, maximum_angle,
smoothness. A path that touches or crosses an obstacle, between its points, too, is never the best.
With --pictures no map is known: the model compares pictures of the paths in pairs; it is
not checked whether a path crosses an obstacle.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareArguments:
    """Arguments of ``sightplan paths compare``."""

    map: str | None = argument(
        'polygons of PathEval (.txt), a grid of ROS (.yaml beside its picture), or of numpy '
        '(.npz)', default=None, metavar='MAP')
    paths: str | None = argument(
        'file of paths: for each "@", lines "x y", and "Robot Radius: r"', default=None,
        metavar='PATHS')
    pictures: tuple[str, ...] = option(
        (), 'instead of map and paths: a picture of each path, 2 to 16', metavar='PNG',
        listed=True)
    only: str | None = option(
        None, 'compare these paths of the file, counted from 1', metavar='N,N,...')
    scenario: str = option('', 'the task, in words', metavar='TEXT')
    vector: str | None = option(
        None, 'what is better, see below; no model is asked what the task wants', metavar='V')
    backend: str | None = backend_flag(None, 'model that is asked')
    backend_option: tuple[str, ...] = settings_flag('the backend')
    wordings: int = option_like(WishSettings, 'wordings')
    threshold: int = option(
        50, 'a cell of a grid is an obstacle from this value on', metavar='PERCENT')
    unknown_free: bool = option(False, 'unknown cells of a grid are free, not obstacles')
    length_scale: float = option_like(CriticSettings, 'length_scale', metavar='X')
    pairs: int = option_like(CriticSettings, 'pairs')
    picture: str | None = option(
        None, 'write a picture of all paths, the best one marked (.png, .svg or .pdf)',
        metavar='PNG')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan paths`` and its sub-commands."""
    group = add_group(subparsers, 'paths', 'compare paths on maps for a task')
    add_command(
        group, 'compare', compare, 'which of several paths is best for a task',
        'Order 2 to 16 paths by how well they suit a task, with the probability of each to be the '
        'best, what was measured, and why.', settings=CompareArguments, examples=_EXAMPLES,
        exits='0 done; 1 the model failed; 2 bad usage or bad files')


def compare(arguments: CompareArguments) -> Result:
    """Compare, show and draw."""
    from sightplan_suites.paths.preference import vector_from_text
    vector = None if arguments.vector is None else vector_from_text(arguments.vector)
    settings = picked(CriticSettings, arguments)
    if arguments.pictures:
        found = _by_pictures(arguments, vector, settings)
        names: Sequence[object] = arguments.pictures
        numbers = list(range(1, len(names) + 1))
    else:
        found, numbers = _on_map(arguments, vector, settings,
                                 picked(WishSettings, arguments))
        names = numbers
    _show(found, names)
    return {'paths': list(names), **found.to_json(),
            'crossing': [numbers[at] for at in found.crossing],
            'ranking': [numbers[at] for at in found.ranking]}, DONE


def _by_pictures(arguments: CompareArguments, vector: Vector | None,
                 settings: CriticSettings) -> Critique:
    from sightplan.model.picture_files import read_image
    from sightplan_suites.paths.critic import compare_pictures
    if any(value is not None for value in (arguments.map, arguments.picture, arguments.only)):
        raise InputError('--pictures: there is no map to measure or draw on (leave out MAP, '
                         'PATHS, --only and --picture, or --pictures)')
    pictures = [read_image(user_path(name)) for name in arguments.pictures]
    backend = _backend(arguments, 'pictures are compared by a model: choose one with --backend')
    return compare_pictures(backend, pictures, arguments.scenario, settings, vector=vector)


def _on_map(arguments: CompareArguments, vector: Vector | None, settings: CriticSettings,
            wishes: WishSettings) -> tuple[Critique, list[int]]:
    from sightplan_suites.paths.critic import PathCritic, compare_paths
    from sightplan_suites.paths.grid_files import open_map
    from sightplan_suites.paths.path_files import read_path_runs
    from sightplan_suites.paths.wishes import certain
    if arguments.map is None or arguments.paths is None:
        raise InputError('name a file of a MAP and one of PATHS, or --pictures of the paths')
    if arguments.picture is not None:
        from sightplan_suites.paths.picture import check_picture
        check_picture(user_path(arguments.picture))
    item = open_map(user_path(arguments.map), threshold=arguments.threshold,
                    unknown_occupied=not arguments.unknown_free)
    numbers, runs = _chosen(read_path_runs(user_path(arguments.paths), item.bounds), arguments)
    paths = [run.points for run in runs]
    if vector is not None:
        found = compare_paths(item, paths, certain(vector), settings, numbers=numbers)
    else:
        if not arguments.scenario.strip():
            raise InputError('say the task with --scenario, or what is better with --vector')
        backend = _backend(arguments, 'a model must read --scenario: choose one with --backend, '
                           'or say what is better with --vector')
        found = PathCritic(backend, wishes, settings).compare(item, paths, arguments.scenario,
                                                              numbers=numbers)
    if arguments.picture is not None:
        _draw(arguments.picture, arguments.scenario, item, paths, found, numbers)
    return found, numbers


def _chosen(runs: Sequence[PathRun], arguments: CompareArguments,
            ) -> tuple[list[int], list[PathRun]]:
    """The wanted paths of a file, and their numbers from 1."""
    if arguments.only is None:
        if len(runs) > 16:
            raise InputError(f'{arguments.paths}: {len(runs)} paths (2 to 16 can be compared; '
                             'choose with --only 1,4,7)')
        return list(range(1, len(runs) + 1)), list(runs)
    try:
        numbers = [int(part) for part in arguments.only.split(',')]
    except ValueError:
        raise InputError(f'--only {arguments.only!r} must have the form N,N,...') from None
    for number in numbers:
        if not 1 <= number <= len(runs):
            raise InputError(f'--only: path {number} (there are 1 to {len(runs)} in '
                             f'{arguments.paths})')
        if numbers.count(number) > 1:
            raise InputError(f'--only: path {number} is named twice (name each path once)')
    return numbers, [runs[number - 1] for number in numbers]


def _backend(arguments: CompareArguments, missing: str) -> Model:
    from sightplan.model.query import traits_of
    from sightplan.vlm.api import backend_class, backend_settings, make_checked_backend
    if arguments.backend is None:
        raise InputError(missing)
    if traits_of(backend_class(arguments.backend)).truth:
        raise InputError(f'backend {arguments.backend!r} answers from the truth, which is not '
                         'known of a task; choose another')
    options = read_options(arguments.backend_option, type(backend_settings(arguments.backend)),
                           '--backend-option')
    return make_checked_backend(arguments.backend, options)


def _draw(picture: str, scenario: str, item: Any, paths: Any, found: Critique,
          numbers: Sequence[int]) -> None:
    from sightplan_suites.paths.picture import draw_paths, save_paths
    title = f'{scenario.strip()}  {found.reason}'.strip()
    figure = draw_paths(item, paths, found.ranking, found.best, found.descriptors, title,
                        numbers)
    try:
        save_paths(figure, user_path(picture))
    except OSError as error:
        raise InputError(f'--picture {picture}: cannot be written: {error.strerror} '
                         '(choose another file)') from error
    print(f'picture: {picture}')


def _show(found: Critique, names: Sequence[object]) -> None:
    from sightplan_suites.paths.descriptors import KEYS
    measured = bool(found.descriptors)
    rows = [[names[number], f'{found.best[number]:.3f}', *(
        f'{value:.4g}' for value in (found.descriptors[number].values() if measured else ()))]
        for number in found.ranking or found.crossing]
    print_table(['path', 'best', *(KEYS if measured else ())], rows,
                bold=(0,) if found.ranking else ())
    if found.wishes is not None and found.model:
        print_table(['wanted', 'less', 'does not matter', 'more'], [
            [wish.name, f'{wish.less:.3f}', f'{wish.neither:.3f}', f'{wish.more:.3f}']
            for wish in found.wishes.wishes])
    print(found.reason)
