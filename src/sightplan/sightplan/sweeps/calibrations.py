"""Calibrations of a sweep: from answers about problems that are in no split."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sightplan.domains import Domain, load_domain
from sightplan.domains.problem_keys import problem_key
from sightplan.model import InputError, did_you_mean, plugins
from sightplan.records.answers_log import NAME as ANSWERS
from sightplan.records.answers_reading import read_answers
from sightplan.runs import EpisodePlan, RunSettings
from sightplan.sweeps.cells import Calibration, calibration_file, run_settings, slug

INDEX = 'index.yaml'
"""The file that a folder of problems has when it is whole."""


def calibration_runs(out: Path, calibration: Calibration) -> list[RunSettings]:
    """Write the problems of a calibration, and return the runs from which it is learned.

    No split has these problems: they are drawn from other seeds, and a problem that a split has,
    too, is left out.

    Raises:
        InputError: the domain has no generator, or no such split.
    """
    check_recipe(calibration)
    fields = dict(calibration.base)
    domain = load_domain(str(fields['domain']))
    runs = []
    for split in calibration.like:
        folder = (out / 'calibrations' / 'problems'
                  / f'{domain.name}-{slug(split)}-{calibration.problems}-{calibration.seed}')
        if not (folder / INDEX).is_file():
            _draw_problems(domain, split, calibration, folder)
        runs.append(run_settings({
            **fields, 'problems': str(folder.resolve()), 'episodes': calibration.episodes,
            'seed': calibration.seed % 2**32, 'answers_log': True,
            'failure_probability': calibration.failure_probability,
            'out': str(out / 'calibrations' / 'runs' / f'{calibration.stem}-{slug(split)}')}))
    return runs


def check_recipe(calibration: Calibration) -> None:
    """Check that problems like those of the splits of a calibration can be drawn.

    Raises:
        InputError: the domain has no generator, or no such split; names calibration and field.
    """
    domain = load_domain(str(dict(calibration.base)['domain']))
    try:
        splits = tuple(domain.generator.SPLITS)
    except InputError as error:
        raise InputError(f'calibrations: {calibration.name}: {error}') from error
    for split in calibration.like:
        if split not in splits:
            raise InputError(f'calibrations: {calibration.name}: like: {split!r} is unknown '
                             f'(choose of {", ".join(splits)}){did_you_mean(split, splits)}')


def _draw_problems(domain: Domain, split: str, calibration: Calibration, folder: Path) -> None:
    generator = domain.generator
    settings = generator.SPLITS[split].settings
    taken = {problem_key(p) for name in domain.splits for p in domain.split_problems(name)}
    drawn = list(generator.generate(domain, settings, calibration.problems, calibration.seed,
                                    accept=lambda p: problem_key(p) not in taken))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix='.new.') as temporary:
            whole = Path(temporary, folder.name)
            generator.write_folder(domain, whole, settings, drawn)
            if folder.is_dir() and not (folder / INDEX).is_file():
                shutil.rmtree(folder)  # a part, of something that crashed
            os.rename(whole, folder)
    except OSError as error:
        if not (folder / INDEX).is_file():  # another sweep may have drawn the same ones
            raise InputError(f'{folder}: cannot be written ({error.strerror}); choose another '
                             f'--out') from error


def learned(out: Path, calibration: Calibration) -> bool:
    """Whether the file of a calibration is there, and can be used.

    Raises:
        InputError: the file is malformed.
    """
    path = calibration_file(out, calibration)
    if path.is_file():
        plugins.part('observation_model', 'sightplan_belief').read_observation_model(path)
    return path.is_file()


def learn(out: Path, calibration: Calibration, runs: Sequence[RunSettings]) -> None:
    """Learn a calibration from the answers of its runs and write its file.

    Raises:
        InputError: there are no answers to learn from.
    """
    answers, actions, problems = [], [], []
    for number, settings in enumerate(runs):
        found, moves = read_answers(Path(settings.out) / ANSWERS)
        plan = EpisodePlan(settings)
        # In the order of the episodes, whatever the order in which they were made.
        place = {spec.id: n for n, spec in enumerate(plan.items)}
        found.sort(key=lambda answer: place.get(answer.episode, len(place)))
        moves.sort(key=lambda action: place.get(action.episode, len(place)))
        # Two runs name their episodes alike.
        answers += [dataclasses.replace(a, episode=f'{number}:{a.episode}') for a in found]
        actions += [dataclasses.replace(a, episode=f'{number}:{a.episode}') for a in moves]
        problems += [problem for _, problem in plan.pairs]
    learning = plugins.part('calibration', 'sightplan_belief')
    result = learning.calibrate(answers, actions, load_domain(runs[0].domain), problems)
    result.model.write(calibration_file(out, calibration))
