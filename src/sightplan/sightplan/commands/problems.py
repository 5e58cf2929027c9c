"""``sightplan problems``: list, generate, show and picture planning problems."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.commands.flags import REQUIRED, argument, option
from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    add_group,
    file_to_write,
    note,
    read_options,
)
from sightplan.commands.shared_flags import backend_flag, domain_flag, settings_flag
from sightplan.domains import Domain, domain_names, find_problem, load_domain, read_folder
from sightplan.model import (
    EpisodeSpec,
    InputError,
    PlanningResult,
    PlanningStatus,
    PlanningTask,
    Problem,
    ProblemError,
    TruthSource,
    World,
    WorldError,
    check_settings,
    counted,
    plugins,
    settings_fields,
)
from sightplan.model.ports import WorldFromAbove, shown_by
from sightplan.model.settings import SettingField
from sightplan.planning.splits import PLAN_TIMEOUT_S, draw_split

_SHORTEST = 'astar(blind())'  # exact for every domain without action costs
_MOST_PICTURES = 400
_LARGEST_PICTURE = 2048
_LARGEST_SHEET_MP = 100
_USUAL_COUNT = 10
"""Number of problems that are generated without a split."""

_EXAMPLES = """\
examples:
  sightplan problems list
  sightplan problems list --problems my_problems/ --domain-file my_domain.pddl
  sightplan problems show simple/problem_03
  sightplan problems show my_problems/first.pddl --json
  sightplan problems generate --blocks 4 --columns 3 --count 10 --seed 7 --out my_problems
  sightplan problems pictures --split all --count 20 --out starts.png
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _FolderArguments:
    """Arguments of every sub-command that reads a folder of problems."""

    domain: str = domain_flag()
    problems: Path | None = option(
        None, 'a folder with *.pddl files instead of the splits', metavar='DIR')
    domain_file: Path | None = option(
        None, 'domain file of the same vocabulary that the problems are for', metavar='FILE')


@dataclass(frozen=True, slots=True, kw_only=True)
class ListArguments(_FolderArguments):
    """Arguments of ``sightplan problems list``."""

    split: str | None = option(None, 'only this split')


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateArguments:
    """Arguments of ``sightplan problems generate``, without the settings of generators."""

    domain: str = domain_flag()
    split: str | None = option(
        None, 'as this split of the benchmark is drawn, instead of the sizes below')
    generator_option: tuple[str, ...] = settings_flag('the generator of a domain of your own')
    count: int | None = option(
        None, f'number of problems (default: {_USUAL_COUNT}; with --split: as many as it has; '
        'fewer are some of all kinds of these, more are drawn with further seeds)', low=1,
        metavar='K')
    seed: int = option(0, 'first seed', low=0, metavar='S')
    out: Path = option(REQUIRED, 'folder for the files; it is made', metavar='DIR')


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowArguments:
    """Arguments of ``sightplan problems show``."""

    problem: str = argument('SPLIT/NAME, such as simple/problem_03, or a file')
    domain: str = domain_flag()
    domain_file: Path | None = option(
        None, 'domain file of the same vocabulary that the problem is for', metavar='FILE')
    image: Path | None = option(
        None, 'write a picture of the start, as the camera sees it', metavar='PNG')
    backend: str | None = backend_flag(
        None, 'with --image: ask this vision-language model every question about the picture, '
        'and write its answers beside it')
    seed: int = option(0, 'with --image: seed of the look', metavar='S')


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturesArguments(_FolderArguments):
    """Arguments of ``sightplan problems pictures``."""

    split: str | None = option(None, 'a split, or all of them: "all" (the default)')
    count: int = option(
        20, 'number of problems, chosen evenly', low=1, high=_MOST_PICTURES, metavar='K')
    out: Path = option(REQUIRED, 'file for the sheet; its folder must exist', metavar='PNG')
    columns: int = option(5, 'pictures in a row', low=1, high=_MOST_PICTURES)
    size: int = option(
        320, 'width of a picture on the sheet', low=1, high=_LARGEST_PICTURE, metavar='PX')
    seed: int = option(0, 'seed of the looks', low=0, high=2**32 - 1, metavar='S')
    world_option: tuple[str, ...] = settings_flag('the simulated world')
    overview: bool = option(False, 'look from above instead of through the camera')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan problems`` with its own sub-commands."""
    commands = add_group(subparsers, 'problems',
                         'list, generate, show and picture planning problems', '', _EXAMPLES)

    def add(name: str, main: Callable[[Any], Result], about: str, settings: type) -> None:
        add_command(
            commands, name, main, about, settings=settings, failures=(ProblemError,),
            exits='0 done; 1 a problem cannot be used, or has no plan; 2 bad usage')

    add('list', list_problems, 'list the splits, or check the files of a folder', ListArguments)
    add('generate', generate_problems, 'draw new problems from a seed', _generate_arguments())
    add('show', show_problem, 'draw a problem and find a shortest plan', ShowArguments)
    add('pictures', picture_problems, 'draw how many problems begin, on one sheet',
        PicturesArguments)


def _generate_arguments() -> type:
    """``GenerateArguments`` with a flag for every setting of the domains' generators."""
    return dataclasses.make_dataclass('GenerateArguments', [
        (name, field.type | None, option(
            None, f'{field.description} ({_values_of(name)})',
            metavar='NAME' if field.choices else 'N' if field.type in (int, float) else 'NAMES'))
        for name, field in _generator_fields().items()],
        bases=(GenerateArguments,), frozen=True, slots=True, kw_only=True)


def _generator_fields() -> dict[str, SettingField]:
    """Every setting of the domains' generators, by name."""
    fields: dict[str, SettingField] = {}
    for _, field in _fields_by_domain():
        fields.setdefault(field.name, field)
    return fields


def _fields_by_domain() -> Iterator[tuple[str, SettingField]]:
    """Yield the settings of the domains' generators, each with the name of its domain."""
    for name in domain_names():
        module = load_domain(name).part('generator')
        for field in settings_fields(module.Settings) if module else ():
            yield name, field


def _values_of(setting: str) -> str:
    """Return values and default of a setting of generators, by domain where these differ."""
    texts = {domain: f'{_values(field)}default: {_in_words(field.default)}'
             for domain, field in _fields_by_domain() if field.name == setting}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return '; '.join(f'{domain}: {text.replace("; ", ", ")}' for domain, text in texts.items())


def _values(field: SettingField) -> str:
    """Return the values that a setting may have, as far as they are bounded, for a help text."""
    if field.choices:
        return f'{", ".join(field.choices)}; '
    bounds = ('' if field.low is None else f'at least {field.low}',
              '' if field.high is None else f'at most {field.high}')
    if all(bounds):
        return f'{field.low} to {field.high}; '
    return ''.join(f'{bound}; ' for bound in bounds if bound)


def _in_words(default: object) -> str:
    return {True: 'yes', False: 'no'}[default] if isinstance(default, bool) else str(default)


def list_problems(arguments: ListArguments) -> Result:
    """List problems with their sizes and optimal lengths."""
    domain = load_domain(arguments.domain, arguments.domain_file)
    errors: list[ProblemError] = []
    if arguments.problems is not None:
        problems, errors = read_folder(domain, arguments.problems)
        groups = {str(arguments.problems): problems}
    elif arguments.domain_file is not None:
        raise InputError('--domain-file belongs to --problems DIR (name the folder, too)')
    else:
        names = (domain.splits or ('',)) if arguments.split is None else (arguments.split,)
        groups = {name: domain.split_problems(name) for name in names}
    for name, problems in groups.items():
        print(f'{domain.name} {name}: {len(problems)} problems')
        for problem in problems:
            sizes = ', '.join(f'{n} {kind}{"s" * (n != 1)}'
                              for kind, n in _sizes(problem).items())
            length = 'unknown' if problem.optimal_length is None else problem.optimal_length
            print(f'  {problem.name}  {sizes}, shortest plan: {length}')
    for error in errors:
        note(f'sightplan problems list: {error}')
    return {
        'domain': domain.name,
        'splits': {name: [_entry(p) for p in problems] for name, problems in groups.items()},
        'errors': [str(error) for error in errors]}, FAILED if errors else DONE


def _sizes(problem: Problem) -> dict[str, int]:
    return dict(Counter(problem.objects.values()))


def _entry(problem: Problem) -> dict[str, Any]:
    return {'name': problem.name, 'sizes': _sizes(problem),
            'optimal_length': problem.optimal_length, 'file': problem.source}


def generate_problems(arguments: GenerateArguments) -> Result:
    """Write a folder of new problems."""
    domain = load_domain(arguments.domain)
    generator = domain.generator
    given = {name: getattr(arguments, name) for name in _generator_fields()}
    given = {name: value for name, value in given.items() if value is not None} | read_options(
        arguments.generator_option, generator.Settings, '--generator-option')
    if arguments.split is not None:
        if arguments.split not in generator.SPLITS:
            raise InputError(f'--split {arguments.split!r} is unknown (choose one of '
                             f'{", ".join(generator.SPLITS)})')
        if given:
            raise InputError(f'--split {arguments.split} sets all sizes '
                             f'(leave out {", ".join(given)})')
        settings, seeds = _drawn_as_split(domain, arguments.split, arguments)
    else:
        unknown = given.keys() - {field.name for field in settings_fields(generator.Settings)}
        if unknown:
            raise InputError(f'the generator of {domain.name} has no setting '
                             f'{", ".join(sorted(unknown))} (leave it out)')
        settings = generator.Settings(**given)
        check_settings(settings, f'the generator of {domain.name}')
        seeds = list(generator.generate(domain, settings, arguments.count or _USUAL_COUNT,
                                        arguments.seed))
    count = generator.write_folder(domain, arguments.out, settings, seeds)
    print(f'{count} problems in {arguments.out}')
    return {'domain': domain.name, 'out': str(arguments.out),
            'settings': dataclasses.asdict(settings),
            'problems': [_entry(problem) | {
                'seed': seed, 'file': str(arguments.out / domain.problem_file(problem)[0])}
                for seed, problem in seeds]}, DONE


def _drawn_as_split(domain: Domain, split: str, arguments: GenerateArguments,
                    ) -> tuple[Any, list[tuple[int, Problem]]]:
    """Return settings, seeds and problems of a split, or so many of them as are wanted."""
    from sightplan.runs.spread import kind_of_problem, spread
    count = arguments.count or 0
    usual = domain.generator.SPLITS[split].count
    settings, seeds = draw_split(domain, split, max(count, usual) if count else 0, arguments.seed)
    if 0 < count < len(seeds):
        kinds = [(split, kind_of_problem(problem.name)) for _, problem in seeds]
        seeds = [seeds[index] for index in sorted(spread(kinds, count))]
    return settings, seeds


def shortest_plan(domain: Domain, problem: Problem) -> PlanningResult:
    """A shortest plan, by the domain's own exact search if it has one, else by the planner.

    Raises:
        PlannerError: the planner could not be started.
    """
    from sightplan.planning.symbolic import FastDownwardPlanner, PlannerSettings
    exact = domain.generator.optimal_plan if domain.part('generator') else None
    if exact is not None:
        with contextlib.suppress(InputError):  # it cannot read this problem: ask the planner
            plan = exact(problem)
            if plan is not None:
                return PlanningResult(PlanningStatus.SOLVED, plan)
    with FastDownwardPlanner(PlannerSettings(search=_SHORTEST)) as planner:
        return planner.plan(PlanningTask(domain.pddl, domain.write_problem(problem)),
                            PLAN_TIMEOUT_S)


def show_problem(arguments: ShowArguments) -> Result:
    """Draw a problem, with its goal in words and a shortest plan; 1 without a plan."""
    domain = load_domain(arguments.domain, arguments.domain_file)
    problem = find_problem(domain, arguments.problem)
    if arguments.backend and not arguments.image:
        raise InputError('--backend goes with --image: name the file for the picture')
    if arguments.image:
        write_picture(domain, problem, arguments.image, arguments.backend, arguments.seed)
    result = shortest_plan(domain, problem)
    solved = result.status is PlanningStatus.SOLVED
    views = _views(domain, problem)
    print(f'{domain.name} {problem.name} ({problem.source})\n')
    print(_side_by_side(views))
    print(f'\n{domain.goal_text(problem)}\n')
    if solved:
        print(f'a shortest plan, {counted(len(result.plan), "action")}:')
        for number, action in enumerate(result.plan, start=1):
            print(f'{number:3}  {action}')
    else:
        print(f'no plan: {result.status.value} ({result.message})')
    return {
        **_entry(problem), 'domain': domain.name,
        'optimal_length': len(result.plan) if solved else problem.optimal_length,
        'objects': dict(problem.objects),
        'init': [str(atom) for atom in sorted(problem.init)],
        'goal': [str(literal) for literal in problem.goal],
        'goal_text': domain.goal_text(problem), 'drawings': views,
        'planning': result.status.value, 'message': result.message,
        'plan': [str(action) for action in result.plan] if solved else None,
    }, DONE if solved else FAILED


def write_picture(domain: Domain, problem: Problem, path: Path, backend: str | None,
                  seed: int) -> None:
    """Write what the camera sees at the start, with a model's answers beside it if one is named.

    Raises:
        InputError: unknown backend, no world shows this domain, or the file cannot be written.
        WorldError: the world cannot show the problem.
        BackendError: the model cannot answer.
    """
    from sightplan.grounding import BackendGrounder
    from sightplan.runs import make_world
    from sightplan.vlm.api import make_backend, resolved_options
    drawing = plugins.part('picture', 'sightplan_report')
    world = make_world(domain.reference)
    world.reset(EpisodeSpec('picture', problem, 'picture', seed=seed))
    observation = world.observe()
    picture = observation.image
    if picture is None:
        raise InputError(f'the world of {domain.name} has no camera')
    if backend:
        truth = world if isinstance(world, TruthSource) else None
        questions = [domain.question(atom) for atom in domain.model(problem).atoms]
        options = resolved_options(backend, {}, seed, domain=domain)
        answers = BackendGrounder(make_backend(backend, options, truth)).ground(
            observation, questions)
        true_atoms = truth.state() if truth is not None else None
        picture = drawing.draw_answers(picture, questions, answers, true_atoms)
    try:
        drawing.save_png(str(path), picture)
    except OSError as error:
        raise InputError(f'{path}: cannot be written: {error}') from error
    note(f'picture: {path}')


def picture_problems(arguments: PicturesArguments) -> Result:
    """Write a sheet with the first frame of evenly chosen problems.

    A problem that the world cannot show gets an empty cell, and the exit code is 1.
    """
    from sightplan.runs import ALL_SPLITS, RunSettings, make_world, select_problems
    from sightplan.runs.work import closing
    drawing = plugins.part('picture', 'sightplan_report')
    sheet = plugins.part('contact_sheet', 'sightplan_report')
    out = _check_sheet(arguments)
    domain, pairs, errors = select_problems(RunSettings(
        domain=arguments.domain, split=arguments.split or ALL_SPLITS,
        problems=str(arguments.problems or ''), domain_file=str(arguments.domain_file or '')))
    options = read_options(arguments.world_option, None, '--world-option')
    count = min(arguments.count, len(pairs))
    megapixels = count * arguments.size ** 2 / 1e6
    if megapixels > _LARGEST_SHEET_MP:
        raise InputError(f'{count} pictures of {arguments.size} pixels make a sheet of '
                         f'{megapixels:.0f} megapixels, more than {_LARGEST_SHEET_MP} '
                         '(lower --count or --size)')
    chosen = [pairs[(2 * i + 1) * len(pairs) // (2 * count)] for i in range(count)]
    cells, failed = [], [str(error) for error in errors]
    with contextlib.ExitStack() as stack:
        world = closing(stack, make_world(domain.reference, options))
        look = _looker(world, domain, arguments)
        for number, (split, problem) in enumerate(chosen, 1):
            name = f'{split}/{problem.name}' if split else problem.name
            note(f'{number}/{count} {name}')
            try:
                world.reset(EpisodeSpec(name, problem, 'picture', split, arguments.seed))
                words, image = look()
                cells.append(sheet.Picture(name, words, sheet.shrunk(image, arguments.size)))
            except WorldError as error:
                failed.append(f'{name}: {error}')
                cells.append(sheet.Picture(name, f'cannot be shown: {error}'))
    try:
        drawing.save_png(str(out), sheet.draw_sheet(cells, arguments.columns, arguments.size))
    except OSError as error:
        raise InputError(f'{out}: cannot be written: {error}') from error
    print(f'{len(cells)} pictures in {out}')
    for message in failed:
        note(f'sightplan problems pictures: {message}')
    return {'domain': domain.name, 'out': str(out), 'errors': failed,
            'problems': [{'name': cell.title, 'text': cell.text, 'shown': cell.image is not None}
                         for cell in cells]}, FAILED if failed else DONE


def _check_sheet(arguments: PicturesArguments) -> Path:
    """Check the arguments of ``pictures`` before any work is done; returns the sheet's path."""
    if arguments.problems is not None and arguments.split is not None:
        raise InputError('--split and --problems exclude each other (leave one out)')
    if arguments.domain_file is not None and arguments.problems is None:
        raise InputError('--domain-file belongs to --problems DIR (name the folder, too)')
    if arguments.out.suffix.lower() != '.png':
        raise InputError(f'--out {arguments.out} must end in .png')
    return file_to_write(arguments.out)


def _looker(world: World, domain: Domain, arguments: PicturesArguments,
            ) -> Callable[[], tuple[str, NDArray[np.uint8]]]:
    """Return a function that gives words and picture (uint8) of the world as it is now.

    Raises:
        InputError: the world draws no pictures, or has no view from above though it is asked for.
    """
    if shown_by(world).no_pictures:
        asked = any(option.startswith('pictures=') for option in arguments.world_option)
        raise InputError(f'the world of {domain.name} draws no pictures' + (
            ' with these options (leave out --world-option pictures=none)' if asked else ''))
    overview = (world.overview if arguments.overview and isinstance(world, WorldFromAbove)
                else None)
    if arguments.overview and overview is None:
        raise InputError(f'the world of {domain.name} has no view from above '
                         '(leave out --overview)')

    def look() -> tuple[str, NDArray[np.uint8]]:
        observation = world.observe()
        image = observation.image if overview is None else overview(arguments.size)
        if image is None:
            raise InputError(f'the world of {domain.name} has no camera')
        visible = observation.visible_objects
        words = '' if visible is None else f'in view: {", ".join(visible) or "no object"}'
        return words, image

    return look


def _views(domain: Domain, problem: Problem) -> dict[str, str]:
    """Start and goal as text: drawn by the domain where it can, else the facts."""
    drawing = domain.part('drawing')
    goal = frozenset(literal.atom for literal in problem.goal if literal.positive)
    views = {}
    for name, facts in (('start', problem.init), ('goal', goal)):
        try:
            if drawing is None:
                raise InputError('this domain draws nothing')
            views[name] = drawing.draw(problem, facts)
        except InputError:
            views[name] = '\n'.join(str(atom) for atom in sorted(facts))
    return views


def _side_by_side(views: Mapping[str, str]) -> str:
    blocks = []
    for name, text in views.items():
        lines = text.splitlines()
        width = max(len(line) for line in [name, *lines])
        blocks.append((name.ljust(width), [line.ljust(width) for line in lines], width))
    height = max(len(lines) for _, lines, _ in blocks)
    rows = [[title for title, _, _ in blocks]]
    padded = [[' ' * width] * (height - len(lines)) + lines for _, lines, width in blocks]
    rows.extend([list(cells) for cells in itertools.zip_longest(*padded)])
    return '\n'.join('  ' + '     '.join(cells).rstrip() for cells in rows)
