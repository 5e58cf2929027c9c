"""A crate to put things into, and a folded napkin: further things of scenes to tidy."""

from __future__ import annotations

from sightplan_sim.tabletop.draw import Draw
from sightplan_sim.tabletop.shapes import Box, Room, Thing
from sightplan_sim.tabletop.thing_parts import finished, part, tinted


def crate(draw: Draw, colour: str) -> Thing:
    """A shallow open box with a grip hole's bar on each short side; holds other things."""
    rgb = draw.shade(colour)
    x, y = draw.span('length', 0.215, 0.250), draw.span('width', 0.155, 0.185)
    h, t = draw.span('height', 0.045, 0.060), 0.008
    floor = Box((x - 2 * t, y - 2 * t, 0.007), (0.0, 0.0, 0.0035))
    walls = [Box((x, t, h), (0.0, s * (y - t) / 2, h / 2)) for s in (-1, 1)]
    walls += [Box((t, y - 2 * t, h), (s * (x - t) / 2, 0.0, h / 2)) for s in (-1, 1)]
    edge = [Box((x + 0.003, t + 0.003, 0.006), (0.0, s * (y - t) / 2, h)) for s in (-1, 1)]
    edge += [Box((t + 0.003, y - 2 * t, 0.006), (s * (x - t) / 2, 0.0, h)) for s in (-1, 1)]
    slats = [Box((x - 4 * t, 0.001, 0.10 * h), (0.0, s * (y / 2 + 0.0003), z * h))
             for s in (-1, 1) for z in (0.3, 0.6)]
    return finished(draw, 'crate', colour, [
        part('body', rgb, [floor, *walls], 0.45),
        part('rim', tinted(rgb, 1.12), edge),
        part('slats', tinted(rgb, 0.72), slats, parent='body')],
        room=Room(x / 2 - t - 0.003, y / 2 - t - 0.003, 0.007, round=False))


def napkin(draw: Draw, colour: str) -> Thing:
    """A thick cloth napkin, folded to a narrow bar with a hem."""
    rgb = draw.shade(colour)
    x, y = draw.span('length', 0.105, 0.130), draw.span('width', 0.040, 0.054)
    h = draw.span('height', 0.018, 0.026)
    layers = [Box((x, y, 0.30 * h), (0.0, 0.0, z * h)) for z in (0.15, 0.85)]
    layers.append(Box((x - 0.003, y - 0.003, 0.5 * h), (0.0, 0.0, 0.5 * h)))
    hem = [Box((x + 0.0006, 0.004, 0.0008), (0.0, s * 0.36 * y, h)) for s in (-1, 1)]
    return finished(draw, 'napkin', colour, [
        part('body', rgb, layers, 0.05, [Box((x, y, h), (0.0, 0.0, h / 2))]),
        part('hem', tinted(rgb, 0.8 if sum(rgb) > 1.2 else 1.5), hem, parent='body')])
