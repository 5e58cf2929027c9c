"""Verbs of ``sightplan suite patheval``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sightplan.commands.flags import REQUIRED, argument, option
from sightplan.commands.frame import DONE, FAILED, Result, add_command, note, print_table
from sightplan.model import InputError, check_settings, user_path
from sightplan.model.json_text import load_json
from sightplan_suites.patheval.building import TEST_COUNT, TEST_SEED, TEST_SPARE
from sightplan_suites.paths.descriptors import LINE, RULES
from sightplan_suites.paths.planner_settings import PLANNERS, PlannerSettings

if TYPE_CHECKING:
    from sightplan.runs.suite import Suite
    from sightplan_suites.paths.descriptors import Descriptors
    from sightplan_suites.paths.maps import Point

SUITE = 'patheval'
_EXITS = '0 done; 2 bad usage or bad files'
_MEASURES = 'measures'
_COUNT = 25
"""Default number of items of each scenario that ``generate`` writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateArguments:
    """Arguments of ``sightplan suite patheval generate``."""

    out: Path = option(REQUIRED, 'folder for the files; it is made', metavar='DIR')
    count: int | None = option(
        None, f'items of each scenario (default: {_COUNT}, or what --split has)')
    seed: int | None = option(
        None, 'one seed always gives the same files (default: 0, or what --split has)',
        metavar='S')
    split: str | None = option(
        None, 'write this split: train has 13,500 items (--count 900 --seed 5000000), on maps '
        'that no item of test is about', choices=('train',))
    view: Literal['2d', '3d'] = option('2d', 'what pictures show')
    workers: int = option(1, 'processes that plan; what is written does not depend on them')


generate_arguments = GenerateArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class _EnvironmentArguments:
    """Arguments that the verbs about one environment share."""

    environment: Path = argument(
        'a polygon file, such as SceneMaze_Dims10_0Obstacles.txt', metavar='ENV.txt')


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureArguments(_EnvironmentArguments):
    """Arguments of ``sightplan suite patheval measure``."""

    path: Path = option(
        REQUIRED, 'runs of a planner (see the verb plan), or lines "x y" of one path',
        metavar='F.txt')
    rule: str = option(
        LINE, 'where the least clearance is measured: along the whole line that is driven, 0 '
        'where it touches or crosses an obstacle; or at the waypoints alone, as the items and '
        'tables of PathEval have it', choices=RULES)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelArguments:
    """Arguments of ``sightplan suite patheval label``."""

    scenario: int = option(REQUIRED, '1 to 15')
    first: Path = option(
        REQUIRED, 'descriptors of the first path, as measure --json prints them', metavar='F.json')
    second: Path = option(
        REQUIRED, 'descriptors of the second path, as measure --json prints them',
        metavar='F.json')
    strict: bool = option(
        False, "a difference must exceed its threshold, as the paper's text has it (default: it "
        "must reach it, as its program does)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanArguments(_EnvironmentArguments):
    """Arguments of ``sightplan suite patheval plan``."""

    runs: int = option(30, 'each with a robot of its own')
    seed: int = option(0, 'one seed always gives the same paths', metavar='S')
    planner: str = option(PLANNERS[0], 'of OMPL', choices=PLANNERS)
    out: Path = option(REQUIRED, "file of paths in the benchmark's format", metavar='F.txt')


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportArguments:
    """Arguments of ``sightplan suite patheval export``."""

    out: Path = option(REQUIRED, 'folder for the files; it is made', metavar='DIR')
    view: Literal['2d', '3d'] = option('2d', 'what pictures show')


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildArguments:
    """Arguments of ``sightplan suite patheval build``."""

    out: Path = option(REQUIRED, 'the file to write', metavar='FILE.json.gz')
    count: int = option(TEST_COUNT, 'items of each scenario')
    spare: int = option(TEST_SPARE, 'they are drawn from at least N times as many')
    seed: int = option(TEST_SEED, 'one seed always gives the same file', metavar='S')


def measure(arguments: MeasureArguments) -> Result:
    """Describe the paths of a file on an environment."""
    from sightplan_suites.patheval.official import read_environment
    from sightplan_suites.paths.descriptors import KEYS, describe_all
    file = user_path(arguments.path)
    item, (paths, planned) = read_environment(user_path(arguments.environment)), _paths(file)
    for number, (x, y) in enumerate(paths[0] if not planned else (), 1):
        if not (item.bounds.x_min <= x <= item.bounds.x_max
                and item.bounds.y_min <= y <= item.bounds.y_max):
            raise InputError(f'{file}: point {number}: the path leaves the map at {x:g} {y:g} (it '
                             f'must stay within {item.bounds.x_min:g} to {item.bounds.x_max:g}, '
                             f'{item.bounds.y_min:g} to {item.bounds.y_max:g})')
    try:
        found = [one.to_json() for one in describe_all(item, paths, repeats=planned,
                                                       rule=arguments.rule)]
    except InputError as error:
        raise InputError(f'{file}: {error}') from error
    print_table(('path', *KEYS), [(number, *(f'{value:.2f}' for value in one.values()))
                                  for number, one in enumerate(found, 1)])
    return {_MEASURES: found[0] if len(found) == 1 else found}, DONE


def _paths(file: Path) -> tuple[list[tuple[Point, ...]], bool]:
    """The paths of a file: a planner's runs, or lines ``x y`` of one path; and whether the former.

    Raises:
        InputError: it cannot be read, or holds no path; names file and line.
    """
    from sightplan_suites.paths.path_files import path_runs_from_text
    try:
        text = file.read_text('utf-8')
    except (OSError, UnicodeError) as error:
        raise InputError(f'{file}: cannot be read: {error} (name a file of paths)') from error
    lines = text.split('\n')
    if any(line.strip() == '@' for line in lines):
        return [run.points for run in path_runs_from_text(text, file)], True
    points = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    if not points:
        raise InputError(f'{file}: holds no path (write a line "x y" for each point)')
    return [tuple(_point(words, f'{file}:{number}') for number, words in points)], False


def _point(words: list[str], where: str) -> Point:
    import math
    try:
        x, y = map(float, words)
    except ValueError:
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise InputError(f'{where}: {" ".join(words)[:40]!r} is not a point (give x and y, finite '
                         'numbers)')
    return x, y


def label(arguments: LabelArguments) -> Result:
    """Print which of two described paths is better for a scenario."""
    from sightplan_suites.patheval.asking import key_of
    from sightplan_suites.patheval.scenarios import scenario
    from sightplan_suites.paths.labels import label_pair
    task = scenario(arguments.scenario)
    first, second = (_described(user_path(path)) for path in (arguments.first, arguments.second))
    found = label_pair(first, second, task.vector, strict=arguments.strict)
    signs = dict(zip(map(str, (-1, 1)), ('less is better', 'more is better'), strict=True))
    votes = {key_of(name): path for name, path in found.votes}
    print(f'scenario {task.id}, {task.theme}: {task.text}')
    from sightplan_suites.paths.labels import ORDER
    print_table(('descriptor', 'wanted', 'path 1', 'path 2', 'vote'), [
        (key_of(name), signs[str(sign)], f'{getattr(first, name):.2f}',
         f'{getattr(second, name):.2f}', votes.get(key_of(name), '-'))
        for name, sign in zip(ORDER, task.vector, strict=True) if sign], left=2)
    print(f'Path {found.choice} is better.' if found.reason is None else found.reason.words)
    return {'suite': SUITE, 'scenario': task.id, 'label': found.choice,
            'reason': None if found.reason is None else found.reason.value, 'votes': votes}, DONE


def _described(file: Path) -> Descriptors:
    """The descriptors in a file: an object of the seven keys, alone or below ``measures``.

    Raises:
        InputError: it cannot be read, or a value is missing or wrong; names file and key.
    """
    from sightplan_suites.paths.descriptors import Descriptors
    try:
        content = load_json(file.read_text('utf-8'))
    except OSError as error:
        raise InputError(f'{file}: cannot be read ({error.strerror})') from error
    except (ValueError, RecursionError) as error:
        raise InputError(f'{file}: is not JSON ({error}); write what the verb measure --json '
                         'prints') from error
    if isinstance(content, dict) and _MEASURES in content:
        content = content[_MEASURES]
    if not isinstance(content, dict):
        raise InputError(f'{file}: must hold one object with the descriptors of one path')
    return Descriptors.from_json(content, str(file))


def plan(arguments: PlanArguments) -> Result:
    """Plan paths on an environment."""
    from sightplan_suites.patheval.official import read_environment
    from sightplan_suites.paths.path_files import write_path_runs
    from sightplan_suites.paths.planning import plan_paths
    settings = PlannerSettings(planner=arguments.planner, runs=arguments.runs)
    check_settings(settings)
    found = plan_paths(read_environment(user_path(arguments.environment)), settings,
                       arguments.seed)
    runs = [run for one in found if (run := one.to_run()) is not None]
    failed = Counter(one.reason.words for one in found if one.reason is not None)
    out = user_path(arguments.out)
    for reason, count in failed.items():
        note(f'sightplan suite: {count} of {len(found)} runs have no path: {reason}')
    result = {'suite': SUITE, 'out': str(out), 'runs': len(found), 'found': len(runs),
              'arrived': sum(run.arrived() for run in runs),
              'failed': dict(Counter(one.reason.value for one in found
                                     if one.reason is not None))}
    if not runs:
        return result, FAILED
    write_path_runs(runs, out)
    print(f'{len(runs)} of {len(found)} runs in {out}')
    return result, DONE


def export(arguments: ExportArguments) -> Result:
    """Write the items that are shipped as records with pictures."""
    from sightplan_suites.patheval import official, samples
    out = user_path(arguments.out)
    official.check_empty(out)
    written = official.write_records(out, samples.shipped_items(), arguments.view)
    print(', '.join(f'{count} {name}' for name, count in written.items()) + f' in {out}')
    return {'suite': SUITE, 'out': str(out), 'view': arguments.view, **written}, DONE


def generate(suite: Suite, arguments: GenerateArguments) -> Result:
    """Write a folder of data; an interrupted command can be repeated, and continues."""
    from sightplan.console.progress import EpisodeBar
    from sightplan_suites.patheval import building, generating
    out = user_path(arguments.out)
    usual = (building.TRAIN_COUNT, building.TRAIN_SEED) if arguments.split else (_COUNT, 0)
    count = usual[0] if arguments.count is None else arguments.count
    seed = usual[1] if arguments.seed is None else arguments.seed
    with EpisodeBar() as bar:
        written = generating.generate(out, count, seed, arguments.view, arguments.workers,
                                      bar.stage)
    print(', '.join(f'{number} {name}' for name, number in written.items()) + f' in {out}')
    return {'suite': suite.name, 'out': str(out), 'split': arguments.split, 'count': count,
            'seed': seed, 'view': arguments.view, **written}, DONE


def build(arguments: BuildArguments) -> Result:
    """Make the file of items that is shipped, or one like it."""
    from sightplan_suites.patheval import building
    from sightplan_suites.patheval.scenarios import vectors
    out = user_path(arguments.out)
    made = building.build(arguments.count, arguments.seed, vectors(), note,
                          arguments.spare)
    building.write_file(made.items, out)
    print(f'{len(made.items)} items on {len(made.runs)} maps in {out}')
    return {'suite': SUITE, 'out': str(out), 'items': len(made.items), 'maps': len(made.runs),
            'bytes': out.stat().st_size}, DONE


def add_parsers(verbs: Any) -> None:
    """Register the verbs that this suite has of its own."""
    add_command(
        verbs, 'measure', measure, 'describe paths on an environment by the seven descriptors',
        settings=MeasureArguments, exits=_EXITS)
    add_command(
        verbs, 'label', label, 'say which of two paths is better for a scenario, and why',
        settings=LabelArguments, exits=_EXITS)
    add_command(
        verbs, 'plan', plan, 'plan paths on an environment', settings=PlanArguments,
        exits='0 done; 1 no run found a path; 2 bad usage or bad files')
    add_command(
        verbs, 'export', export, 'write the items that are shipped as records with pictures',
        settings=ExportArguments, exits=_EXITS)
    add_command(
        verbs, 'build', build, 'make the file of items that is shipped again (takes minutes)',
        settings=BuildArguments, exits=_EXITS)


