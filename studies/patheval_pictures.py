"""Draws the pictures of ``studies/patheval.md``.

Use::

    python studies/patheval_pictures.py

* ``pair-2d.png`` and ``pair-3d.png``: an item of the suite as a model sees it;
* ``critic.png``: what ``sightplan paths compare`` draws, of the suite's paths on one map;
* ``household.png``: one drive of a robot over the floor of a home, by what is wanted of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from sightplan import cli
from sightplan.agent import make_policy, run_episode
from sightplan.domains import Domain, load_domain
from sightplan.model import EpisodeSpec, InputError
from sightplan.model.query import Model
from sightplan.runs import RunSettings, make_planner
from sightplan_report.picture import save_png
from sightplan_report.plots import COLOURS, INK, LINES
from sightplan_sim.household import make_world
from sightplan_sim.household.driving import Drive
from sightplan_suites.patheval import official
from sightplan_suites.patheval.items import Drawn, Item
from sightplan_suites.patheval.samples import shipped_items
from sightplan_suites.patheval.scenarios import scenario
from sightplan_suites.paths import ObstacleMap
from sightplan_suites.paths.drawing import pair
from sightplan_suites.paths.labels import ORDER
from sightplan_suites.paths.path_files import PathRun
from study_document import STUDIES

ITEM = 'SceneWaves_Lines8_3/1/s02'
"""The item that is shown."""
TASK = 2
"""Number (1 or 2) of the critic's task: that of the item."""
WIDTH_3D = 640
"""Width of one path's picture in perspective [px]."""
PLAIN, AWAY = 'the first that a planner finds', 'keep away from everything'
WANTED: Mapping[str, str | None] = {PLAIN: None, AWAY: 'minimum_clearance=1'}
"""Drives that are shown, and their vectors."""
PROBLEMS = 10
"""Number of episodes that are searched."""
_DONE, _USAGE = 0, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Draw; returns the exit code."""
    parser = argparse.ArgumentParser(prog='python studies/patheval_pictures.py',
                                     description='Draw the pictures of studies/patheval.md.')
    parser.add_argument('--out', type=Path, default=STUDIES / 'patheval', metavar='DIR',
                        help='folder for the pictures (default: %(default)s)')
    out = parser.parse_args(argv).out
    try:
        out.mkdir(parents=True, exist_ok=True)
        pairs(out)
        critic(out / 'critic.png')
        household(out / 'household.png')
    except (InputError, OSError) as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    return _DONE


def pairs(out: Path) -> None:
    """An item from above and in perspective."""
    for view, size in (('2d', 0), ('3d', WIDTH_3D)):
        item = find(shipped_items(size), ITEM)
        save_png(str(out / f'pair-{view}.png'), pair(*item.pictured.halves(view)))  # type: ignore[arg-type]
        print(f'{view}: {item.task} Path {item.better + 1} is better: {", ".join(item.votes)}')


def find(items: Sequence[Item], name: str) -> Item:
    """An item by its id.

    Raises:
        InputError: there is none of this name.
    """
    found = next((item for item in items if item.id == name), None)
    if found is None:
        raise InputError(f'the suite has no item {name} (name one of '
                         f'"sightplan suite patheval export")')
    return found


def critic(file: Path) -> None:
    """Compare the suite's paths on the map of the item, and draw them."""
    name = ITEM.partition('/')[0]
    drawn = [item.pictured for item in shipped_items() if item.map == name]
    shown = [one for one in drawn if isinstance(one, Drawn)]
    paths = list(dict.fromkeys(path for one in shown for path in one.paths))
    task = scenario(TASK)
    vector = ','.join(f'{name}={sign}' for name, sign in zip(ORDER, task.vector, strict=True)
                      if sign)
    with tempfile.TemporaryDirectory() as folder:
        official.write_environment(Path(folder), shown[0].map, [PathRun(path, 1.0)
                                                                for path in paths])
        command = ['paths', 'compare', str(official.environment_file(Path(folder), name)),
                   str(official.paths_file(Path(folder), name)), '--vector', vector,
                   '--scenario', task.text, '--footprint', '0', '--picture', str(file)]
        if cli.main(command):
            raise InputError('sightplan paths compare failed; its message is above')


def household(file: Path) -> None:
    """The first drive that is another one where the robot is to keep away than without a wish."""
    domain = load_domain('household')
    for problem in domain.split_problems('simple')[:PROBLEMS]:
        spec = EpisodeSpec(f'{problem.name}#0', problem, 'oracle', 'simple')
        found = {wanted: drives(spec, domain, vector) for wanted, vector in WANTED.items()}
        for number, item in enumerate(found[PLAIN][0]):
            taken = {wanted: own[number] for wanted, (_, own) in found.items()}
            if taken[PLAIN].chosen != taken[AWAY].chosen:
                draw_drives(item, taken).savefig(file, dpi=110, facecolor='white')
                for wanted, drive in taken.items():
                    print(f'{problem.name}: {drive.target}: {wanted}: {_about(drive)}')
                return
    raise InputError(f'no drive of {PROBLEMS} episodes depends on what is wanted')


def drives(spec: EpisodeSpec, domain: Domain, vector: str | None,
           ) -> tuple[list[ObstacleMap], tuple[Drive, ...]]:
    """The drives of one episode, and the floor as it was after each."""
    options: dict[str, Any] = {'pictures': 'none', 'paths': 'planned'}
    if vector is not None:
        options['path_vector'] = vector
    floors: list[ObstacleMap] = []
    with make_world(**options) as world:
        def note(event: object) -> None:
            while len(floors) < len(world.drives):
                floors.append(world.floor_map())
        run_episode(spec, make_policy('oracle', {}, world), world,
                    cast(Model, None),  # the oracle asks nobody
                    make_planner(RunSettings(domain=domain.name, method='oracle')),
                    SimpleNamespace(record=note), domain)
        return floors, world.drives


def draw_drives(item: ObstacleMap, taken: Mapping[str, Drive]) -> Figure:
    """Drives between the same two places on a floor, each with its clearance and length."""
    box = item.bounds
    wide, high = box.x_max - box.x_min, box.y_max - box.y_min
    figure = Figure((8.6, 8.6 * high / wide * 0.62 + 0.2))
    axes = figure.add_axes((0.01, 0.02, 0.62, 0.96))
    axes.add_collection(PolyCollection([np.array(polygon) for polygon in item.polygons],
                                       facecolors='#b9b9b4', edgecolors='#b9b9b4'))
    axes.set(xlim=(box.x_min, box.x_max), ylim=(box.y_min, box.y_max), aspect='equal', xticks=[],
             yticks=[])
    for number, (wanted, drive) in enumerate(taken.items()):
        axes.plot([pose.x for pose in drive.poses], [pose.y for pose in drive.poses],
                  color=COLOURS[number % len(COLOURS)], linestyle=LINES[number % len(LINES)],
                  linewidth=2.2, label=f'{wanted}\n{_about(drive)}')
    ends = next(iter(taken.values())).poses
    axes.plot(ends[0].x, ends[0].y, 'o', color=INK, markersize=7)
    axes.plot(ends[-1].x, ends[-1].y, '*', color=INK, markersize=11)
    figure.legend(loc='center left', bbox_to_anchor=(0.64, 0.5), frameon=False, fontsize=8.5,
                  labelcolor=INK, labelspacing=1.2)
    return figure


def _about(drive: Drive) -> str:
    path = drive.taken
    assert path is not None
    return (f'nearest {path.minimum_clearance:.2f} m, length {path.path_length:.2f} m, '
            f'turns {path.smoothness:.0f}°')


if __name__ == '__main__':
    sys.exit(main())
