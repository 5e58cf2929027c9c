"""Small tasks of GroundedPlanBench, and a maker of scenes that only draws."""

from __future__ import annotations

import importlib.metadata
import json

import numpy as np

from sightplan.model.grounded_plan import (
    GroundedPlanScene,
    GroundedPlanTask,
    PlanBlock,
    PlanUnit,
    UnitKind,
)
from sightplan.model.scene import Piece
from sightplan.runs.dataset import write_file
from sightplan_suites.grounded_plan.coordinates import Coords, box_region, box_to_unit
from sightplan_suites.grounded_plan.scenes import png

SIZE = (640, 480)
DRAWER, RED, BLUE, TRAY = [400, 300, 600, 380], [100, 200, 160, 280], [200, 210, 260, 290], [
    420, 310, 580, 370]


def pick(target, box, where='drawer', there=TRAY):
    """A pick_place unit of a record."""
    return {'type': 'pick_place', 'grasp': {'target': target, 'bbox': box},
            'place': {'target': where, 'bbox': there}}


def block(*units, order='sequential'):
    """A block of a record."""
    return {'order': order, 'units': list(units)}


OPEN = {'type': 'open', 'target': 'drawer', 'bbox': DRAWER}
CLOSE = {'type': 'close', 'target': 'drawer', 'bbox': DRAWER}
PLAN = [block(OPEN), block(pick('red cup', RED), pick('blue cup', BLUE), order='unordered'),
        block(CLOSE)]
"""Open the drawer, put both cups in, close it: 6 primitives."""


def record(**changes):
    """A record; None takes a field away."""
    row = {'id': 'a', 'scene_id': 's', 'pair_id': 'p', 'image': 'images/a.png',
           'image_size': list(SIZE), 'coords': 'pixel_xyxy',
           'instruction': 'put both cups in the drawer', 'instruction_type': 'explicit',
           'horizon': {'n_actions': 6, 'bucket': 'medium'}, 'plan': PLAN, **changes}
    return {name: value for name, value in row.items() if value is not None}


def grasp(box, target='it'):
    """A step of a prediction."""
    return {'action': 'grasp', 'target': target, 'bbox': list(box)}


def place(point, target='there'):
    """A step of a prediction."""
    return {'action': 'place', 'target': target, 'point': list(point)}


def opened(box=DRAWER):
    """A step of a prediction."""
    return {'action': 'open', 'target': 'drawer', 'bbox': list(box)}


def closed(box=DRAWER):
    """A step of a prediction."""
    return {'action': 'close', 'target': 'drawer', 'bbox': list(box)}


IN = (500, 340)
"""Inside of the tray."""


def right(first=RED, second=BLUE):
    """The actions of the plan, which is the same with the cups exchanged."""
    return [opened(), grasp(first), place(IN), grasp(second), place(IN), closed()]


def write_lines(path, *rows):
    """JSON lines; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows))
    return path


def write_data(folder, *rows, pictures=('images/a.png',), size=SIZE):
    """A folder of records with pictures of noise; returns it."""
    write_lines(folder / 'episodes.jsonl', *rows)
    for number, name in enumerate(pictures):
        pixels = np.random.default_rng(number).integers(0, 255, (size[1], size[0], 3), np.uint8)
        write_file(folder / name, png(pixels))
    return folder


def region(box, coords=Coords.PIXEL_XYXY, size=SIZE):
    """A box in pixels as a region."""
    return box_region(box_to_unit(box, coords, size))


def unit(box, there=TRAY):
    """A true pick_place unit, in pixels."""
    return PlanUnit(UnitKind.PICK_PLACE, 'it', region(box), 'there', region(there))


class DrawnTasks:
    """Coloured squares, a tray and a drawer front on a table; four squares look alike."""

    size = 160, 120
    tasks = 1

    def scene(self, seed, horizon, *, held_out=True, explicit=True):
        rng = np.random.default_rng([seed, len(horizon), held_out])
        width, height = self.size
        image = np.full((height, width, 3), 190, np.uint8)
        image[:, :, 0] += rng.integers(0, 30, (height, 1), np.uint8)
        boxes = {f'square {number}': (8 + 18 * number, int(rng.integers(10, 50)))
                 for number in range(8)}
        pieces = []
        for name, (x, y) in boxes.items():
            pieces.append(self._piece(name, 'square', (x, y, x + 12, y + 12)))
        tray, drawer = (10, 80, 60, 110), (90, 70, 150, 110)
        pieces += [self._piece('tray', 'tray', tray), self._piece('drawer', 'drawer', drawer)]
        for piece, colour in zip(pieces, ((200, 40, 40),) * 4 + ((40, 90, 200),) * 4 + (
                (120, 80, 40), (230, 230, 200)), strict=True):
            image[piece.mask] = colour
        count = {'short': 2, 'medium': 3, 'long': 5}[horizon]
        moved = [PlanUnit(UnitKind.PICK_PLACE, piece.name, self._region(piece), 'drawer'
                          if horizon != 'short' else 'tray',
                          self._region(pieces[9 if horizon != 'short' else 8]))
                 for piece in pieces[:count]]
        blocks = [PlanBlock(tuple(moved), True)]
        if horizon != 'short':
            front = self._region(pieces[9])
            blocks = [PlanBlock((PlanUnit(UnitKind.OPEN, 'drawer', front),)), *blocks,
                      PlanBlock((PlanUnit(UnitKind.CLOSE, 'drawer', front),))]
        tasks = [GroundedPlanTask(words.format(count, number), explicit, tuple(blocks),
                                  f'pair{number}')
                 for number in range(self.tasks) for explicit, words in (
                     (True, 'put {} squares away, please ({})'),
                     (False, 'tidy up the {} squares ({})'))]
        return GroundedPlanScene(
            f'drawn/{horizon}/{seed}', image, np.full((height, width), 0.75, np.float32),
            (150.0, 150.0, 80.0, 60.0), tuple(pieces), tuple(tasks))

    def _piece(self, name, category, box):
        mask = np.zeros(self.size[::-1], bool)
        mask[box[1]:box[3], box[0]:box[2]] = True
        return Piece(name, category, mask)

    def _region(self, piece):
        from sightplan_suites.grounded_plan.scenes import mask_box
        return box_region(mask_box(piece.mask))


def install_scenes(monkeypatch, source=DrawnTasks, name='tabletop'):
    """Let a class be the maker of scenes that is found by a name."""
    from sightplan.model import plugins
    from sightplan_suites.grounded_plan import samples, scenes
    point = importlib.metadata.EntryPoint(name, 'grounded_plan_cases:DrawnTasks', scenes.GROUP)
    real, load = plugins.entry_points, plugins.load_object
    monkeypatch.setattr(plugins, 'entry_points', lambda group: (
        {name: point} if group == scenes.GROUP else real(group)))
    monkeypatch.setattr(plugins, 'load_object', lambda kind, name, group: (
        source if group == scenes.GROUP else load(kind, name, group)))
    scenes._scene_source.cache_clear()
    samples._drawn.cache_clear()


def no_scenes(monkeypatch):
    """Let no maker of scenes be installed."""
    from sightplan.model import plugins
    from sightplan_suites.grounded_plan import samples, scenes
    real = plugins.entry_points
    monkeypatch.setattr(plugins, 'entry_points', lambda group: (
        {} if group == scenes.GROUP else real(group)))
    samples._drawn.cache_clear()
