"""A table with a drawer unit of boxes, without physics.

What is held by its handle moves it, and a tip that runs against its front pushes it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from box_pictures import Box
from boxes_double import BoxTable, box

HEIGHT_M, DEPTH_M, WIDTH_M, UPPER_M = 0.16, 0.18, 0.22, 0.13
OUT = np.array([0.0, -1.0])
DRAWER = ('front', 'bar', 'floor', 'left', 'right', 'content')


def unit(x=0.0, y=0.14, opened_m=0.0, handle=True):
    """Boxes of a unit whose upper drawer slides towards the camera."""
    face = y - DEPTH_M / 2
    at = face - opened_m
    made = {
        'lower': box('grey', x, y, (WIDTH_M, DEPTH_M, HEIGHT_M / 2)),
        'top': Box('grey', (x, y, HEIGHT_M - 0.004), sides_m=(WIDTH_M, DEPTH_M, 0.008)),
        'lower front': Box('white', (x, face - 0.006, 0.042), sides_m=(WIDTH_M, 0.012, 0.070)),
        'front': Box('white', (x, at - 0.006, 0.12), sides_m=(WIDTH_M, 0.012, 0.074)),
        'floor': Box('white', (x, at + 0.075, 0.092), sides_m=(0.19, 0.15, 0.006)),
        'left': Box('white', (x - 0.095, at + 0.075, 0.108), sides_m=(0.006, 0.15, 0.036)),
        'right': Box('white', (x + 0.095, at + 0.075, 0.108), sides_m=(0.006, 0.15, 0.036))}
    if handle:
        made['bar'] = Box('orange', (x + 0.06, at - 0.030, 0.12), sides_m=(0.012, 0.036, 0.036))
    return made


@dataclass
class DrawerTable(BoxTable):
    """A table with a unit, whose drawer goes where its bar is taken, as far as it can.

    Attributes:
        stuck_m: the drawer cannot be pushed in further than this.
    """

    stuck_m: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        self.closed = self._at() + self.opened_from

    opened_from: float = 0.0

    def opened_m(self):
        """How far the drawer is out."""
        return float((self._at() - self.closed) * OUT[1])

    def _at(self):
        return self.boxes['front'].centre_m[1]

    def _carry(self):
        if self.held is None:
            self._push_front()
            return
        if self.held[0] != 'bar':
            super()._carry()
            return
        before = self.boxes['bar']
        super()._carry()
        moved = self.boxes['bar'].centre_m[1] - before.centre_m[1]
        self.boxes['bar'] = before
        self._slide(moved * OUT[1])

    def _push_front(self):
        x, y, z = self.tip()[:3, 3] - self.boxes['front'].centre_m
        half = self.robot.gripper.hand.finger_half_width_m
        wide, thick, high = np.array(self.boxes['front'].sides_m) / 2
        into = half + thick + y  # its outer face looks along -y
        if abs(x) < wide and abs(z) < high and 0.0 < into < 0.02:
            self._slide(-into)

    def _slide(self, by_m):
        """Move the drawer outwards, as far as it can."""
        wanted = self.opened_m() + by_m
        step = (float(np.clip(wanted, self.stuck_m, UPPER_M)) - self.opened_m()) * OUT[1]
        for name in DRAWER:
            if name not in self.boxes:
                continue
            one = self.boxes[name]
            x, y, z = one.centre_m
            self.boxes[name] = dataclasses.replace(one, centre_m=(x, y + step, z))

    def _let_go(self):
        if self.held is not None and self.held[0] == 'bar':
            self.held = None
        super()._let_go()
