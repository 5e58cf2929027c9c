"""Verbs of ``sightplan suite patheval``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sightplan.commands import suite as generic
from sightplan.commands.flags import REQUIRED, argument, option
from sightplan.commands.frame import DONE, FAILED, Result, add_command, note, print_table
from sightplan.model import InputError, check_settings, user_path
from sightplan.model.json_text import load_json
from sightplan_suites.patheval.building import TEST_COUNT, TEST_SEED, TEST_SPARE
from sightplan_suites.paths.descriptors import RULES, SWEPT
from sightplan_suites.paths.planner_settings import PLANNERS, PlannerSettings
from sightplan_suites.paths.scenarios import ABSTRACT, FORMS

if TYPE_CHECKING:
    from sightplan.runs.suite import Suite
    from sightplan_suites.patheval.outputs import KnownRecords
    from sightplan_suites.paths.descriptors import Descriptors
    from sightplan_suites.paths.maps import Point

SUITE = 'patheval'
_EXITS = '0 done; 2 bad usage or bad files'
_MEASURES = 'measures'
_FORM = 'sentences of tasks: abstract, or with what decides spelled out'
_MOST_NAMED = 20
"""Number of skipped entries that are printed; ``--json`` lists all."""
_TABLES = {1: 'fraction of right replies', 2: 'how often the first and the second path was named',
           3: 'fraction of pairs whose lower path is named, by descriptor'}
_SCENARIOS = ("the benchmark's file of tasks, Scenarios.xlsx or .csv (default: the one in the "
              'folder of data)')
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
    form: str = option(ABSTRACT, _FORM, choices=FORMS)
    workers: int = option(1, 'processes that plan; what is written does not depend on them')


generate_arguments = GenerateArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckArguments(generic.CheckArguments):
    """Arguments of ``sightplan suite patheval check``."""

    scenarios: Path | None = option(None, _SCENARIOS, metavar='FILE')


check_arguments = CheckArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreArguments(generic.ScoreArguments):
    """Arguments of ``sightplan suite patheval score``."""

    predictions: Path = option(
        REQUIRED, 'outputs of the release, output_*.json, or a folder of them; or JSON lines '
        '{"id": ..., "answer": the text of the reply}, or a run\'s episodes.jsonl', metavar='PATH')
    view: Literal['2d', '3d'] | None = option(
        None, 'records of this view are those of JSON lines (default: 2d)')
    scenarios: Path | None = option(None, _SCENARIOS, metavar='FILE')


score_arguments = ScoreArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportArguments:
    """Arguments of ``sightplan suite patheval import``."""

    folder: Path = argument('outputs of the release, output_*.json, or a folder of them',
                            metavar='PATH')
    out: Path = option(REQUIRED, 'folder for the runs, one for each file; it is made',
                       metavar='RUNS')
    data: Path | None = option(
        None, 'folder of the records that they are about: then tables divide them by task, map '
        'and difficulty', metavar='DIR')
    scenarios: Path | None = option(None, _SCENARIOS, metavar='FILE')


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
        SWEPT, 'what is measured: the line that is driven, with a least clearance of 0 where it '
        'touches or crosses an obstacle; or its waypoints alone, as the items and tables of '
        'PathEval have it', choices=RULES)


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
    form: str = option(ABSTRACT, _FORM, choices=FORMS)
    scenarios: Path | None = option(
        None, "the benchmark's file of tasks, Scenarios.xlsx or .csv, whose sentences stand in "
        'place of ours', metavar='FILE')


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildArguments:
    """Arguments of ``sightplan suite patheval build``."""

    out: Path = option(REQUIRED, 'the file to write', metavar='FILE.json.gz')
    count: int = option(TEST_COUNT, 'items of each scenario')
    spare: int = option(TEST_SPARE, 'they are drawn from at least N times as many')
    seed: int = option(TEST_SEED, 'one seed always gives the same file', metavar='S')


def check(suite: Suite, arguments: CheckArguments) -> Result:
    """Count what a folder of data holds, and say what cannot be used."""
    from sightplan_suites.patheval import official
    report = official.check(user_path(arguments.data), _file(arguments.scenarios))
    return generic.print_check(suite, arguments.data, report)


def _file(path: Path | None) -> Path | None:
    return None if path is None else user_path(path)


def score(suite: Suite, arguments: ScoreArguments) -> Result:
    """Score outputs of the release, texts of replies, or the lines of a run."""
    from sightplan_suites.patheval import outputs
    path = user_path(arguments.predictions)
    if not outputs.holds_outputs(path):
        options = {'view': arguments.view, 'scenarios': arguments.scenarios}
        return generic.score(suite, arguments, {
            name: str(value) for name, value in options.items() if value is not None})
    if arguments.view is not None:
        raise InputError("--view: the names of the release's outputs say their views (leave it "
                         'out)')
    return _score_outputs(suite, arguments, path)


def _score_outputs(suite: Suite, arguments: ScoreArguments, path: Path) -> Result:
    from sightplan.metrics.measures import aggregates
    from sightplan_suites.patheval import outputs, paper_figures, scoring
    files, skipped = outputs.read_outputs(path, suite.published)
    known = _known(arguments.data, arguments.scenarios)
    lines: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    for file in files:
        made = outputs.lines_of(file, known)
        skipped += [*file.skipped, *made.skipped]
        lines += made.lines
        for sentence in made.notes:
            note(f'sightplan suite: {sentence}')
        scores.append({
            'file': str(file.path), 'model': file.model, 'variant': file.variant,
            'view': file.view, 'items': len(made.lines), 'notes': made.notes,
            'measures': aggregates(made.lines, scoring.MEASURES),
            **scoring.summarise(made.lines)})
    _print_files(scores)
    figures = paper_figures.figures_of(lines, suite.published)
    for table, title in _TABLES.items():
        headings, rows = paper_figures.layout(figures, table)
        if rows:
            print_table(headings, rows, f'\nTable {table}: {title}')
    _say_skipped(skipped)
    return {'suite': SUITE, 'files': scores, 'figures': [one.as_json() for one in figures],
            'skipped': skipped}, DONE if lines and not skipped else FAILED


def _known(data: Path | None, scenarios: Path | None) -> KnownRecords:
    """The records that outputs are about; those of no folder know nothing."""
    from sightplan_suites.patheval.outputs import KnownRecords
    from sightplan_suites.patheval.records import read_records
    return KnownRecords(None if data is None else read_records(
        user_path(data), None, _file(scenarios)))


def _print_files(scores: list[dict[str, Any]]) -> None:
    def cell(measure: dict[str, Any]) -> str:
        return '-' if measure['value'] is None else f'{measure["value"]:.3f}'
    print_table(
        ('model', 'variant', 'view', 'outputs', 'solved', 'solved_lenient', 'perceived', 'first',
         'second', 'neither'),
        [(one['model'], one['variant'], one['view'] or '-', one['items'],
          *(cell(one['measures'][name]) for name in ('solved', 'solved_lenient', 'perceived')),
          *(one['positions'][name] for name in ('first', 'second', 'neither')))
         for one in scores], left=3)


def _say_skipped(skipped: list[dict[str, str]]) -> None:
    if skipped:
        note(f'sightplan suite: {len(skipped)} skipped:')
    for one in skipped[:_MOST_NAMED]:
        note(f'  {one["file"]}: {one["reason"]}')
    if len(skipped) > _MOST_NAMED:
        note(f'  ... and {len(skipped) - _MOST_NAMED} more (--json has all)')


def import_results(arguments: ImportArguments) -> Result:
    """Turn outputs of the release into runs."""
    from sightplan.console.progress import EpisodeBar
    from sightplan_suites.patheval.importing import import_outputs
    path, out = user_path(arguments.folder), user_path(arguments.out)
    with EpisodeBar(transient=True) as bar:
        done = import_outputs(path, out, _known(arguments.data, arguments.scenarios),
                              lambda number, total: bar.stage('files', number, total))
    for sentence in done.notes:
        note(f'sightplan suite: {sentence}')
    _say_skipped(done.skipped)
    kept = f', {len(done.kept)} were there already' if done.kept else ''
    print(f'{len(done.runs)} runs with {done.samples} samples in {out}{kept}')
    return {'suite': SUITE, 'folder': str(path), 'out': str(out),
            'runs': [str(run) for run in done.runs], 'kept': [str(run) for run in done.kept],
            'samples': done.samples, 'skipped': done.skipped, 'notes': done.notes}, (
                FAILED if done.skipped else DONE)


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
    print(f'measured by the rule {arguments.rule}')
    return {_MEASURES: found[0] if len(found) == 1 else found, 'rule': arguments.rule}, DONE


def _paths(file: Path) -> tuple[list[tuple[Point, ...]], bool]:
    """The paths of a file: a planner's runs, or lines ``x y`` of one path; and whether the former.

    Raises:
        InputError: it cannot be read, or holds no path; names file and line.
    """
    from sightplan_suites.paths.path_files import attempts_from_text
    try:
        text = file.read_text('utf-8-sig')
    except (OSError, UnicodeError) as error:
        raise InputError(f'{file}: cannot be read: {error} (name a file of paths)') from error
    lines = text.split('\n')
    if any(line.strip() == '@' for line in lines):
        attempts = attempts_from_text(text, file)
        if attempts.broken:
            raise attempts.broken[0]
        if attempts.failed:
            plural = 's' if attempts.failed > 1 else ''
            note(f'sightplan suite: {attempts.failed} attempt{plural} found nothing')
        return [run.points for run in attempts.runs], True
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
    from sightplan_suites.patheval import official, records, samples
    out = user_path(arguments.out)
    official.check_empty(out)
    items = samples.shipped_items(form=arguments.form,
                                  scenarios_file=_file(arguments.scenarios))
    written = records.write_records(out, items, arguments.view)
    print(', '.join(f'{count} {name}' for name, count in written.items()) + f' in {out}')
    return {'suite': SUITE, 'out': str(out), 'view': arguments.view, 'form': arguments.form,
            **written}, DONE


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
                                      bar.stage, arguments.form)
    print(', '.join(f'{number} {name}' for name, number in written.items()) + f' in {out}')
    return {'suite': suite.name, 'out': str(out), 'split': arguments.split, 'count': count,
            'seed': seed, 'view': arguments.view, 'form': arguments.form, **written}, DONE


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
        verbs, 'import', import_results, "turn the release's outputs of models into runs, which "
        'report and others take', settings=ImportArguments,
        exits='0 done; 1 some outputs cannot be used, which are named; 2 bad usage or no outputs')
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


