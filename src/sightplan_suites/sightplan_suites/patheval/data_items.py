"""Items of a folder: of its records, else of its pair samples, else of its environments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sightplan.model import InputError
from sightplan.runs.dataset import Skipped
from sightplan_suites.patheval import building, official, pair_samples, records
from sightplan_suites.patheval.items import Item, View
from sightplan_suites.patheval.json_files import read_json_files
from sightplan_suites.patheval.scenarios import vectors
from sightplan_suites.patheval.tasks_file import Tasks, find_tasks, find_thresholds, our_tasks
from sightplan_suites.patheval.writing import check_folder
from sightplan_suites.paths.labels import PATHEVAL


@dataclass(frozen=True, eq=False)
class FolderItems:
    """Items of a folder, with sentences about what cannot be used, and a hash of the data."""

    items: list[Item]
    skipped: list[str]
    sha256: str


def items_in(folder: Path, view: View, scenarios_file: Path | None, count: int, seed: int,
             size: int, form: str) -> FolderItems:
    """Read or make the items of a folder.

    Args:
        folder: of records with pictures, of pair samples with environments, or of environments
            with planned paths.
        view: of the pictures.
        scenarios_file: the file of tasks; None: the one that the folder holds, if any.
        count: items of each task that are made of environments.
        seed: of their draws.
        size: of pictures that are drawn, see ``items.draw``.
        form: of the sentences of tasks of our own, see ``paths.scenarios``.

    Raises:
        InputError: there is not one item, or a file of tasks or thresholds cannot be used.
    """
    check_folder(folder)
    files = read_json_files(folder)
    samples = pair_samples.read_pair_samples(files)
    tasks = find_tasks(folder, scenarios_file)
    thresholds = find_thresholds(folder) or PATHEVAL
    found = records.records_of(folder, view, files,
                               records.RecordContext(tasks, samples, thresholds))
    if found.items:
        return FolderItems(found.items, _sentences(found.skipped), found.sha256)
    if found.seen:
        problems = _sentences(found.skipped)
        raise InputError(f'{folder}: holds not one record that can be used; of {len(problems)} '
                         f'problems the first: {problems[0]}')
    made = official.read_environments(folder)
    skipped = [*made.skipped, *found.skipped, *samples.skipped]
    if samples.found:
        items, undrawn = pair_samples.items_of(samples, made.by_name, made.arrived,
                                               tasks or our_tasks(), thresholds, size)
        skipped += undrawn
    else:
        chosen = building.choose(made.pairs, vectors(), count, seed, thresholds)
        items = in_sentences([building.item_of(one, size, form, thresholds)
                              for one in chosen], tasks)
    if not items:
        raise InputError(f'{folder}: holds no records, no pair samples whose environments are '
                         'there, and no environment with at least two planned paths (see '
                         '"sightplan suite patheval plan")'
                         + (f'; {_sentences(skipped)[0]}' if skipped else ''))
    digest = hashlib.sha256(json.dumps([made.sha256, *(
        [item.id, item.pictured.name] for item in items)]).encode())
    return FolderItems(items, _sentences(skipped), digest.hexdigest()[:12])


def in_sentences(items: Sequence[Item], tasks: Tasks | None) -> list[Item]:
    """Items of our own tasks in the sentences of a file; None: as they are.

    Raises:
        InputError: the file has no task of an item's number, or one with another vector.
    """
    if tasks is None:
        return list(items)
    for number in sorted({item.scenario for item in items}):
        task = tasks.by_number.get(number)
        if task is None or task.vector != vectors()[number]:
            raise InputError(f'scenarios: task {number} of the file is missing, or its -1, 0 and '
                             "1 are not those of the paper's task of this number (keep the tasks "
                             "in the order of the benchmark's file)")
    return [replace(item, task=tasks.by_number[item.scenario].text) for item in items]


def _sentences(skipped: Iterable[Skipped]) -> list[str]:
    return [f'{one["file"]}: {one["reason"]}' for one in skipped]
