"""All readers that are tried, and the good inputs that they are given."""

from __future__ import annotations

from pathlib import Path

from sightplan_bench.hostile import bags, files, pictures, replies, suite_data
from sightplan_bench.hostile.targets import KINDS, Target


def prepare(folder: Path, kinds: tuple[str, ...], small: bool = False) -> None:
    """Write the files from which the good inputs of some kinds are made; takes seconds.

    Args:
        folder: empty.
        kinds: of inputs.
        small: without what takes more than a moment: a run, and data of suites that is drawn.
    """
    if {'bags', 'lines'} & {*kinds}:
        bags.prepare(folder, small)
    if {'suites', 'replies', 'pictures'} & {*kinds}:
        suite_data.prepare(folder, small)


def targets(folder: Path, kinds: tuple[str, ...] = KINDS) -> list[Target]:
    """Readers of some kinds, with the good inputs that ``prepare`` made in a folder."""
    made = {'bags': bags.make, 'pictures': pictures.make, 'suites': suite_data.make,
            'replies': replies.make}
    plain = [target for target in files.make(folder) if target.kind in kinds]
    found = [*plain, *(target for kind in kinds if kind in made for target in made[kind](folder))]
    return sorted((target for target in found if target.seeds),
                  key=lambda target: KINDS.index(target.kind))
