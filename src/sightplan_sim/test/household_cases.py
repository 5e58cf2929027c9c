"""Homes made by hand, of plain boxes: what the household's tests know by heart."""

from __future__ import annotations

import math

from sightplan.domains import load_domain
from sightplan.model import EpisodeSpec, Problem
from sightplan_sim.household.robot import Robot, RobotBody
from sightplan_sim.household.shapes import (
    Home,
    Joint,
    Link,
    Model,
    Part,
    Placed,
    Region,
    Room,
    Station,
    Vec3,
)

GREY = (0.5, 0.5, 0.5)
START = Station(0.0, 0.0, 0.0)


def box(size: Vec3, at: Vec3) -> Part:
    return Part('box', size, at, GREY)


def block(size: Vec3 = (0.08, 0.08, 0.08), mass: float = 0.2, kind: str = 'box') -> Model:
    """One primitive that stands on its origin."""
    part = Part(kind, size, (0.0, 0.0, size[2] / 2), GREY)
    return Model('block', (Link((part,)),), size, mass=mass,
                 surfaces=(Region((0.0, 0.0, size[2]), (size[0] / 2, size[1] / 2, 0.0)),)
                 if kind == 'box' else ())


def table(w: float = 1.0, d: float = 0.7, h: float = 0.7) -> Model:
    legs = tuple(box((0.05, 0.05, h - 0.04), (sx * (w / 2 - 0.03), sy * (d / 2 - 0.03),
                                              (h - 0.04) / 2))
                 for sx in (-1, 1) for sy in (-1, 1))
    top = box((w, d, 0.04), (0.0, 0.0, h - 0.02))
    return Model('table', (Link((top, *legs)),), (w, d, h),
                 surfaces=(Region((0.0, 0.0, h), (w / 2, d / 2, 0.0)),))


def shelf(w: float = 0.8, d: float = 0.3, boards: tuple[float, ...] = (0.3, 0.7, 1.1)) -> Model:
    """Boards between two sides; surfaces from the middle one."""
    h = boards[-1] + 0.02
    parts = [box((w, d, 0.02), (0.0, 0.0, z + 0.01)) for z in boards]
    parts += [box((0.02, d, h), (s * (w / 2 + 0.01), 0.0, h / 2)) for s in (-1, 1)]
    surfaces = [Region((0.0, 0.0, z + 0.02), (w / 2 - 0.03, d / 2 - 0.02, 0.0)) for z in boards]
    return Model('shelf', (Link(tuple(parts)),), (w + 0.04, d, h),
                 surfaces=(surfaces[1], surfaces[0], surfaces[2]))


def cabinet(w: float = 0.8, d: float = 0.5, low: float = 0.5, high: float = 0.95) -> Model:
    """A chest with one door, hinged on the left, over a plinth."""
    t = 0.02
    base = Link((
        box((w, d, low), (0.0, 0.0, low / 2)),
        box((w, d, t), (0.0, 0.0, high - t / 2)),
        box((w, t, high - low), (0.0, d / 2 - t / 2, (low + high) / 2)),
        box((t, d, high - low), (-w / 2 + t / 2, 0.0, (low + high) / 2)),
        box((t, d, high - low), (w / 2 - t / 2, 0.0, (low + high) / 2))))
    door = Link((box((w - 0.01, t, high - low - 0.01), (w / 2, -t / 2 - 0.002, 0.0)),),
                Joint('hinge', (-w / 2, -d / 2, (low + high) / 2), (0.0, 0.0, -1.0),
                      math.radians(100)))
    room = Region((0.0, 0.0, (low + high - t) / 2),
                  (w / 2 - t, d / 2 - t, (high - low - t) / 2))
    return Model('cabinet', (base, door), (w, d, high),
                 surfaces=(Region((0.0, 0.0, high), (w / 2, d / 2, 0.0)),), cavities=(room,))


def chest(w: float = 0.6, d: float = 0.5, h: float = 0.8) -> Model:
    """A chest with one drawer at its top."""
    t, low = 0.02, 0.55
    base = Link((
        box((w, d, low), (0.0, 0.0, low / 2)), box((w, d, t), (0.0, 0.0, h - t / 2)),
        box((w, t, h - low), (0.0, d / 2 - t / 2, (low + h) / 2)),
        box((t, d, h - low), (-w / 2 + t / 2, 0.0, (low + h) / 2)),
        box((t, d, h - low), (w / 2 - t / 2, 0.0, (low + h) / 2))))
    inner, deep, tall = w - 2 * t - 0.02, d - t - 0.02, 0.16
    drawer = Link((
        box((inner, deep, t), (0.0, 0.0, t / 2)),
        box((inner, t, tall), (0.0, -deep / 2 + t / 2, tall / 2)),
        box((inner, t, tall), (0.0, deep / 2 - t / 2, tall / 2)),
        box((t, deep, tall), (-inner / 2 + t / 2, 0.0, tall / 2)),
        box((t, deep, tall), (inner / 2 - t / 2, 0.0, tall / 2))),
        Joint('slide', (0.0, -0.015, low + 0.01), (0.0, -1.0, 0.0), 0.4))
    room = Region((0.0, 0.0, t + 0.075), (inner / 2 - t, deep / 2 - t, 0.075), 1)
    return Model('cabinet', (base, drawer), (w, d, h), cavities=(room,),
                 surfaces=(Region((0.0, 0.0, h), (w / 2, d / 2, 0.0)),))


def walls(low: tuple[float, float], high: tuple[float, float]) -> tuple[Placed, ...]:
    (x0, y0), (x1, y1) = low, high
    sides = (((x1 - x0, 0.1, 2.4), ((x0 + x1) / 2, y1 + 0.05)),
             ((x1 - x0, 0.1, 2.4), ((x0 + x1) / 2, y0 - 0.05)),
             ((0.1, y1 - y0, 2.4), (x1 + 0.05, (y0 + y1) / 2)),
             ((0.1, y1 - y0, 2.4), (x0 - 0.05, (y0 + y1) / 2)))
    return tuple(Placed(f'wall {k}', block(size, 0.0), (*at, 0.0))
                 for k, (size, at) in enumerate(sides))


def home(furniture: tuple[Placed, ...] = (), things: tuple[Placed, ...] = (),
         start: Station = START, decor: tuple[Placed, ...] = ()) -> Home:
    """One room of 5 x 5 m around the origin."""
    low, high = (-2.5, -2.5), (2.5, 2.5)
    return Home((Room(low, high, 'room'),), walls(low, high), decor, furniture, things, start)


def problem(objects: str, init: str = '', goal: str = '', name: str = 'p') -> Problem:
    return load_domain('household').parse_problem(
        f'(define (problem {name}) (:domain household) (:objects {objects}) (:init {init}) '
        f'(:goal (and {goal})))', name)


def robot(x: float = 0.0, y: float = 0.0, yaw: float = 0.0, held: str = '',
          zone: tuple[str, ...] = ()) -> Robot:
    return Robot(RobotBody(), Station(x, y, yaw), held, frozenset(zone))


def episode(of: Problem, seed: int = 0, failure: float = 0.0) -> EpisodeSpec:
    return EpisodeSpec(f'{of.name}#{seed}', of, 'none', seed=seed, failure_probability=failure)
