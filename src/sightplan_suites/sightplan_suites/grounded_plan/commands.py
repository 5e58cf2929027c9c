"""Verbs of ``sightplan suite grounded_plan``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands import suite as generic
from sightplan.commands.flags import REQUIRED, option
from sightplan.commands.frame import DONE, FAILED, Result, add_command, note, print_table
from sightplan.console.results_table import measure_text
from sightplan.model import InputError, user_path
from sightplan.runs.dataset import nothing_usable, write_file
from sightplan_suites.grounded_plan.coordinates import Coords
from sightplan_suites.grounded_plan.predictions import SKIP, ZERO
from sightplan_suites.grounded_plan.scoring import CRITERIA

if TYPE_CHECKING:
    from sightplan.runs.suite import Suite
    from sightplan_suites.grounded_plan.predictions import Prediction
    from sightplan_suites.grounded_plan.records import Dataset, Item

SUITE = 'grounded_plan'
_MOST_NAMED = 20
"""Number of skipped entries that are printed; ``--json`` lists all."""
_NO_NAME = re.compile(r'[^\w.-]+')
_LONGEST_NAME = 100


@dataclass(frozen=True, kw_only=True)
class _PlanOptions:
    """Options of reading predicted plans and comparing them with the true ones."""

    grasp_criterion: str = option(
        '', 'when the box of a grasp, an opening or a closing fits: intersection over union of at '
        'least .5, or its middle (or a point) in the true box (default: that of the run whose '
        f'lines these are, else {CRITERIA[0]})', choices=CRITERIA)
    coords: str = option(
        '', 'convention of lines that say none (default: of actions that of their record, of '
        'texts of replies permille_xyxy)', choices=tuple(Coords))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreArguments(_PlanOptions, generic.ScoreArguments):
    """Arguments of ``sightplan suite grounded_plan score``."""

    missing: str = option(
        SKIP, 'tasks without a prediction are not scored, or count 0', choices=(SKIP, ZERO))


score_arguments = ScoreArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayArguments(_PlanOptions):
    """Arguments of ``sightplan suite grounded_plan overlay``."""

    data: Path | None = option(
        None, 'file or folder of records, with their pictures (default: the tasks of the run '
        'whose lines these are)', metavar='PATH')
    predictions: Path = option(
        REQUIRED, 'JSON lines, as the verb score takes them', metavar='FILE')
    out: Path = option(REQUIRED, 'folder for the pictures; it is made', metavar='DIR')


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeArguments:
    """Arguments of ``sightplan suite grounded_plan make``."""

    out: Path = option(REQUIRED, 'folder for the files; it is made', metavar='DIR')
    count: int = option(25, 'tasks of each horizon and kind of instruction')
    seed: int = option(0, 'one seed always gives the same files', metavar='S')
    horizon: str = option(
        'all', '1 to 4, 5 to 8 or 9 to 26 primitives', choices=('short', 'medium', 'long', 'all'))
    scenes: str = option(
        'tabletop', 'their maker, an entry point of sightplan.grounded_plan_scenes',
        metavar='NAME')
    training: bool = option(False, 'things and wordings for training (default: those held out)')


def score(suite: Suite, arguments: ScoreArguments) -> Result:
    """Score a file of predictions: actions in declared coordinates, or texts of replies."""
    from sightplan_suites.grounded_plan import predictions
    path = user_path(arguments.predictions)
    data = _tasks(arguments.data, path, pictures=False)
    found = predictions.score_file(data, path, arguments.grasp_criterion, arguments.coords,
                                   arguments.missing)
    _print_score(found, len(data.items), arguments.missing == predictions.ZERO)
    answered = len(found['missing']) < len(data.items)
    if not data.items:
        none = nothing_usable(data.where, data.skipped, 'record')
        note(f'sightplan suite: {none}')
    elif not answered:
        note(f'sightplan suite: {path}: holds not one answer that can be used, see above')
    return ({'suite': suite.name, 'data': str(arguments.data), **found},
            DONE if answered else FAILED)


def _tasks(data: Path | None, predictions: Path, pictures: bool = True) -> Dataset:
    """The tasks of a folder of data, or those of the run whose lines the predictions are.

    Raises:
        InputError: neither is there, or the run's tasks cannot be had again.
    """
    from sightplan.records import RunStore
    from sightplan.runs.run_samples import options_of_run
    from sightplan_suites.grounded_plan import records, samples
    if data is not None:
        return records.read_records(user_path(data), pictures=pictures)
    if not (predictions.parent / 'run.json').is_file():
        raise InputError(f'{predictions}: is not in a run directory; name the folder of records '
                         '(--data)')
    info = RunStore(predictions.parent).run_info()
    splits = [split for split in samples.SPLITS if split in info['identity']['samples']]
    return samples.dataset(options_of_run(info), splits)


def _print_score(found: dict[str, Any], tasks: int, zero: bool) -> None:
    print(f'{"answers":24} {len(found["items"])} (grasp criterion {found["grasp_criterion"]})')
    for name, measure in found['measures'].items():
        if measure['n']:
            print(f'{name:24} {measure_text(measure)}')
    if found['items']:
        names = ('tsr', 'tsr_lenient', 'arr', 'precision', 'f1')
        print_table(('part', 'n', *names), [
            (part, values['tsr']['n'], *(f'{values[name]["value"]:.3f}' for name in names))
            for part, values in found['by_part'].items()])
    for name, count in found['causes'].items():
        print(f'cause {name:24} {count}')
    if found['missing']:
        note(f'sightplan suite: WARNING: {len(found["missing"])} of {tasks} tasks have no '
             f'prediction, such as {found["missing"][0]}; they '
             + ('count 0' if zero else 'are NOT scored (--missing zero counts them 0)'))
    if found['changed']:
        note(f'sightplan suite: WARNING: the truth of {len(found["changed"])} tasks is another '
             f'one in these records than it was in the run, such as that of '
             f'{found["changed"][0]}; the scores are not those of the run')
    for field, where in list(found['unknown_fields'].items())[:_MOST_NAMED]:
        note(f'sightplan suite: {where}: {field} is unknown, and is read over')
    if found['skipped']:
        note(f'sightplan suite: {len(found["skipped"])} skipped:')
    for item in found['skipped'][:_MOST_NAMED]:
        about = f' (of {item["id"]})' if 'id' in item else ''
        note(f'  {item["file"]}: {item["reason"]}{about}')
    if len(found['skipped']) > _MOST_NAMED:
        note(f'  ... and {len(found["skipped"]) - _MOST_NAMED} more (--json has all)')


def overlay(arguments: OverlayArguments) -> Result:
    """Draw plans on their pictures."""
    from sightplan_suites.grounded_plan import predictions
    from sightplan_suites.grounded_plan.fields import field_table
    from sightplan_suites.grounded_plan.scenes import png
    out, path = user_path(arguments.out), user_path(arguments.predictions)
    data = _tasks(arguments.data, path)
    read = predictions.read_predictions(path, field_table(data.files.folder))
    known = {item.id: item for item in data.items}
    skipped: list[dict[str, str]] = [*data.skipped, *read.skipped]
    files: list[str] = []
    for where, prediction in read.predictions:
        item = known.get(prediction.id)
        if item is None:
            skipped.append({'file': where, 'id': prediction.id,
                            'reason': f'no usable record of {data.where} has this id'})
            continue
        if predictions.is_of_another(prediction, item):
            skipped.append({'file': where, 'id': prediction.id,
                            'reason': predictions.OF_ANOTHER})
            continue
        file = _file_of(out, item.id, files)
        try:
            image = data.load(item)
        except InputError as error:
            skipped.append({'file': item.image, 'id': item.id, 'reason': str(error)})
            continue
        write_file(file, png(_overlay(image, item, prediction, arguments)))
        files.append(str(file))
    for one in skipped[:_MOST_NAMED]:
        note(f'skipped: {one["file"]}: {one["reason"]}')
    print(f'{len(files)} pictures in {out}, {len(skipped)} skipped')
    return {'suite': SUITE, 'out': str(out), 'pictures': files, 'skipped': skipped}, (
        DONE if files else FAILED)


def _overlay(image: Any, item: Item, prediction: Prediction, arguments: OverlayArguments,
             ) -> Any:
    from sightplan.runs.suite_parts import Unread
    from sightplan_suites.grounded_plan import drawing, pages, predictions, scoring
    plans = item.task.plans
    try:
        steps = predictions.steps_of(prediction, item, arguments.coords)
    except Unread as unread:
        return drawing.draw_plans(image, item.task.instruction, plans, (), (),
                                  f'cannot be read: {unread}')
    found = scoring.best_score(plans, steps, arguments.grasp_criterion or prediction.criterion
                               or scoring.IOU)
    verdict = 'right' if found.tsr else f'wrong ({", ".join(dict.fromkeys(found.causes))})'
    return drawing.draw_plans(image, item.task.instruction, plans, steps,
                              pages.right_steps(found, steps), verdict, found.plan)


def _file_of(out: Path, name: str, taken: list[str]) -> Path:
    """A file's name from an id, which may hold anything."""
    stem = _NO_NAME.sub('_', name).strip('._')[:_LONGEST_NAME] or 'plan'
    path, number = out / f'{stem}.png', 1
    while str(path) in taken:
        number += 1
        path = out / f'{stem}-{number}.png'
    return path


def make(arguments: MakeArguments) -> Result:
    """Write scenes of our own as records with pictures."""
    from sightplan_suites.grounded_plan import samples
    out = user_path(arguments.out)
    horizons = samples.SPLITS if arguments.horizon == 'all' else (arguments.horizon,)
    written = samples.make(out, arguments.count, arguments.seed, horizons, arguments.scenes,
                           held_out=not arguments.training)
    print(', '.join(f'{count} {name}' for name, count in written.items()) + f' in {out}')
    return {'suite': SUITE, 'out': str(out), 'count': arguments.count, 'seed': arguments.seed,
            'horizons': list(horizons), **written}, DONE


def add_parsers(verbs: Any) -> None:
    """Register the verbs that this suite has of its own."""
    add_command(
        verbs, 'overlay', overlay, 'draw plans on their pictures, the true ones beside them',
        settings=OverlayArguments,
        exits='0 done; 1 not one can be drawn; 2 bad usage or bad files')
    add_command(
        verbs, 'make', make,
        'write scenes of our own, of one horizon or all, as records with pictures',
        settings=MakeArguments, exits='0 done; 2 bad usage or bad files')
