"""Vessels: things that hold others, in random sizes and proportions."""

from __future__ import annotations

import math

from sightplan_sim.tabletop.draw import Draw
from sightplan_sim.tabletop.shapes import Box, Part, Points2, Rgb, Room, Thing, Tube, Turned, Vec3
from sightplan_sim.tabletop.thing_parts import (
    DARK,
    IRON,
    STEEL,
    WHITE,
    WOOD,
    ball_profile,
    bar,
    barrel,
    finished,
    inner_tint,
    lining,
    loop_handle,
    mixed,
    outside,
    part,
    radius_at,
    rim,
    ring,
    smooth,
    tinted,
    walls,
)


def _vessel(draw: Draw, rgb: Rgb, outer: Points2, thickness: float, floor: float,
            mass_kg: float, rim_rgb: Rgb | None = None) -> list[Part]:
    """Body, opening and rim of a round, hollow thing."""
    return [part('body', rgb, outside(outer), mass_kg, walls(outer, thickness, floor)),
            part('opening', inner_tint(draw, rgb), lining(outer, thickness, floor)),
            part('rim', rim_rgb or tinted(rgb, 1.12), rim(outer, thickness))]


def _knob(rgb: Rgb, z: float, radius: float, height: float, kind: str) -> Part:
    """A knob on top of a lid."""
    if kind == 'ball':
        shape: Points2 = ((0.0, z), (0.45 * radius, z), (0.45 * radius, z + 0.25 * height),
                          *ball_profile(radius, z + 0.2 * height, z + height)[1:])
    else:
        shape = ((0.0, z), (0.55 * radius, z), (0.55 * radius, z + 0.5 * height),
                 (radius, z + 0.6 * height), (radius, z + height), (0.0, z + height))
    return part('knob', rgb, Turned(shape, sides=16), 0.02, parent='lid')


def mug(draw: Draw, colour: str) -> Thing:
    """A mug with one handle."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.033, 0.042), draw.span('height', 0.075, 0.105)
    waist = draw.span('waist', 0.86, 1.04)
    outer = ((0.9 * waist * r, 0.0), (waist * r, 0.004), (r * (1 + waist) / 2, 0.5 * h), (r, h))
    thick = draw.span('handle', 0.0045, 0.0065)
    reach = draw.span('reach', 0.024, 0.034)
    top, bottom = 0.86 * h, 0.2 * h
    handle = loop_handle(draw.pick(('round', 'square', 'ear')),
                         (radius_at(outer, top), radius_at(outer, bottom)), top, bottom, reach,
                         thick, 1.3)
    return finished(draw, 'mug', colour, [
        *_vessel(draw, rgb, outer, 0.0045, 0.006, 0.20),
        part('handle', rgb, handle, 0.05)])


def cup(draw: Draw, colour: str) -> Thing:
    """A cup without a handle."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.030, 0.038), draw.span('height', 0.070, 0.115)
    foot = draw.span('foot', 0.62, 0.85) * r
    outer = ((foot, 0.0), (r, h))
    return finished(draw, 'cup', colour, _vessel(draw, rgb, outer, 0.004, 0.006, 0.12))


def bowl(draw: Draw, colour: str) -> Thing:
    """A round, wide bowl."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.050, 0.090), draw.span('height', 0.045, 0.070)
    foot = draw.span('foot', 0.38, 0.55)
    outer = smooth([(foot * r, 0.0), (0.80 * r, 0.32 * h), (0.96 * r, 0.68 * h), (r, h)], 3)
    parts = _vessel(draw, rgb, outer, 0.006, 0.008, 0.25,
                    draw.pick((None, None, WHITE)) if colour != 'white' else None)
    return finished(draw, 'bowl', colour, parts, room=Room(
        0.62 * r, 0.62 * r, 0.014, round=True))


def plate(draw: Draw, colour: str) -> Thing:
    """Flat, with a raised rim."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.080, 0.110), draw.span('height', 0.018, 0.026)
    well = draw.span('well', 0.60, 0.72)
    outer = ((0.55 * r, 0.0), (well * r, 0.003), (0.97 * r, 0.85 * h), (r, h))
    edge = tinted(rgb, 0.7) if draw.chance(0.6) else tinted(rgb, 1.1)
    band = ((well * r, 0.0072), (0.97 * r, 0.85 * h + 0.004), (r, h + 0.001))
    return finished(draw, 'plate', colour, [
        part('body', rgb, [outside(outer), Turned((*reversed(band), (0.0, 0.0072)))], 0.30,
             walls(outer, 0.005, 0.007)),
        part('rim', edge, Turned(((r - 0.0002, h - 0.003), (r + 0.001, h), (r, h + 0.0016),
                                  (0.86 * r, h * 0.62 + 0.0048), (0.86 * r, h * 0.6))))],
        room=Room(well * r * 0.9, well * r * 0.9, 0.0075, round=True))


def pan(draw: Draw, colour: str) -> Thing:
    """A frying pan with one long handle."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.075, 0.100), draw.span('height', 0.036, 0.048)
    long = draw.span('handle', 0.12, 0.16)
    outer = ((0.82 * r, 0.0), (0.87 * r, 0.003), (r, h))
    thick = draw.span('thickness', 0.0085, 0.0115)
    rise = draw.span('rise', 0.004, 0.022)
    start: Vec3 = (r - 0.004, 0.0, 0.80 * h)
    handle_rgb = draw.pick((DARK, WOOD, tinted(rgb, 0.55)))
    return finished(draw, 'pan', colour, [
        part('body', rgb, outside(outer), 0.50, walls(outer, 0.004, 0.006)),
        part('opening', draw.pick((DARK, IRON, tinted(rgb, 0.5))), lining(outer, 0.004, 0.006)),
        part('rim', tinted(rgb, 1.15), rim(outer, 0.004, 0.004)),
        part('handle', handle_rgb,
             bar(start, (r + long, 0.0, 0.8 * h + rise), thick, (0.0, 1.0, 0.0), 1.2), 0.10)])


def pot(draw: Draw, colour: str) -> Thing:
    """A cooking pot with two handles and a lid with a knob."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.065, 0.088), draw.span('height', 0.065, 0.095)
    outer = ((0.93 * r, 0.0), (r, 0.006), (r, h))
    dome = draw.span('dome', 0.012, 0.024)
    thick, reach = draw.span('handle', 0.005, 0.007), draw.span('reach', 0.020, 0.030)
    lid_rgb = draw.pick((rgb, STEEL, tinted(rgb, 0.85)))
    half = 0.35 * r
    handles = []
    for side in (-1.0, 1.0):
        path = tuple((side * (0.97 * r - 0.003 + reach * math.sin(math.pi * k / 8) ** 0.6),
                      half * math.cos(math.pi * k / 8), 0.78 * h) for k in range(9))
        handles.append(Tube(path, (thick,) * 9, (0.0, 0.0, 1.0), 0.8))
    lid: Points2 = ((0.0, h), (1.02 * r, h), (1.02 * r, h + 0.005),
                    *smooth([(0.97 * r, h + 0.007), (0.6 * r, h + 0.75 * dome),
                             (0.16 * r, h + dome)], 3), (0.0, h + dome))
    return finished(draw, 'pot', colour, [
        part('body', rgb, outside(outer), 0.60, [Turned(((0.0, 0.0), *outer, (0.0, h)))]),
        part('handle', draw.pick((DARK, rgb, STEEL)), handles, 0.08),
        part('lid', lid_rgb, Turned(lid), 0.15),
        _knob(draw.pick((DARK, WOOD, IRON)), h + dome, draw.span('knob', 0.011, 0.016),
              draw.span('knob height', 0.018, 0.026), draw.pick(('ball', 'disc')))])


def kettle(draw: Draw, colour: str) -> Thing:
    """A kettle with a handle over the top and a short spout."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.062, 0.080), draw.span('height', 0.080, 0.110)
    top = draw.span('top', 0.42, 0.58)
    outer = smooth([(0.92 * r, 0.0), (r, 0.22 * h), (0.88 * r, 0.66 * h), (top * r, h)], 4)
    bail, thick = draw.span('bail', 0.055, 0.080), draw.span('handle', 0.006, 0.0085)
    wide = 0.82 * r
    z0 = 0.70 * h
    arch = tuple((wide * math.cos(math.pi * k / 12), 0.0,
                  z0 + (h - z0 + bail) * math.sin(math.pi * k / 12) ** 0.8) for k in range(13))
    spout = draw.span('spout', 0.040, 0.055)
    pipe = Tube(((0.80 * r, 0.0, 0.45 * h), (0.92 * r + 0.3 * spout, 0.0, 0.60 * h),
                 (0.96 * r + 0.75 * spout, 0.0, 0.88 * h), (0.96 * r + spout, 0.0, h)),
                (0.020, 0.016, 0.012, 0.011), (0.0, 1.0, 0.0))
    lid = ((0.0, h), (top * r * 0.96, h), (top * r * 0.96, h + 0.005), (0.5 * top * r, h + 0.011),
           (0.0, h + 0.012))
    return finished(draw, 'kettle', colour, [
        part('body', rgb, Turned(((0.0, 0.0), *outer, (0.0, h))), 0.45),
        part('handle', draw.pick((DARK, WOOD, STEEL)),
             Tube(arch, (thick,) * 13, (0.0, 1.0, 0.0), 1.25), 0.08),
        part('spout', draw.pick((rgb, tinted(rgb, 0.8), STEEL)), pipe, 0.05),
        part('lid', draw.pick((tinted(rgb, 0.85), STEEL)), Turned(lid), 0.05),
        _knob(DARK, h + 0.012, draw.span('knob', 0.009, 0.012),
              draw.span('knob height', 0.014, 0.020), 'ball')])


def teapot(draw: Draw, colour: str) -> Thing:
    """Round, with a handle at the side, a spout and a lid with a knob."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.052, 0.066), draw.span('height', 0.080, 0.100)
    mouth = draw.span('mouth', 0.42, 0.52)
    outer = smooth([(0.55 * r, 0.0), (0.93 * r, 0.24 * h), (r, 0.48 * h), (0.82 * r, 0.78 * h),
                    (mouth * r, h)], 3)
    spout = draw.span('spout', 0.042, 0.055)
    pipe = Tube(((-0.80 * r, 0.0, 0.30 * h), (-r - 0.35 * spout, 0.0, 0.42 * h),
                 (-r - 0.62 * spout, 0.0, 0.72 * h), (-r - spout, 0.0, 0.96 * h)),
                (0.017, 0.013, 0.0095, 0.0085), (0.0, 1.0, 0.0))
    handle = loop_handle(draw.pick(('round', 'ear')),
                         (radius_at(outer, 0.82 * h), radius_at(outer, 0.22 * h)), 0.82 * h,
                         0.22 * h, draw.span('reach', 0.030, 0.040),
                         draw.span('handle', 0.005, 0.007), 1.2)
    dome = 0.016
    lid = ((0.0, h), (mouth * r * 1.05, h), (mouth * r * 1.05, h + 0.004),
           (0.75 * mouth * r, h + 0.011), (0.3 * mouth * r, h + dome), (0.0, h + dome))
    return finished(draw, 'teapot', colour, [
        part('body', rgb, Turned(((0.0, 0.0), *outer, (0.0, h))), 0.35),
        part('handle', rgb, handle, 0.05),
        part('spout', rgb, pipe, 0.04),
        part('lid', draw.pick((tinted(rgb, 0.82), tinted(rgb, 0.82), WHITE)), Turned(lid), 0.05),
        _knob(tinted(rgb, 0.7), h + dome, draw.span('knob', 0.008, 0.011),
              draw.span('knob height', 0.012, 0.018), 'ball')])


def jug(draw: Draw, colour: str) -> Thing:
    """Tall and open, with a handle and a lip to pour from."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.042, 0.054), draw.span('height', 0.130, 0.170)
    neck = draw.span('neck', 0.68, 0.80)
    outer = smooth([(0.72 * r, 0.0), (r, 0.30 * h), (neck * r, 0.76 * h), (0.88 * r, h)], 4)
    handle = loop_handle(draw.pick(('round', 'ear', 'square')),
                         (radius_at(outer, 0.88 * h), radius_at(outer, 0.32 * h)), 0.88 * h,
                         0.32 * h, draw.span('reach', 0.030, 0.042),
                         draw.span('handle', 0.005, 0.0075), 1.2)
    lip = Tube(((-0.80 * r, 0.0, 0.86 * h), (-0.98 * r, 0.0, 0.95 * h),
                (-0.88 * r - 0.016, 0.0, 1.015 * h)), (0.010, 0.011, 0.008), (0.0, 1.0, 0.0))
    return finished(draw, 'jug', colour, [
        *_vessel(draw, rgb, outer, 0.0045, 0.007, 0.40),
        part('handle', rgb, handle, 0.06),
        part('spout', tinted(rgb, 1.08), lip, 0.02)])


def bottle(draw: Draw, colour: str) -> Thing:
    """A bottle with a neck, a cap and a label."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.027, 0.037), draw.span('height', 0.170, 0.235)
    neck = draw.span('neck', 0.34, 0.46) * r
    start = draw.span('shoulder', 0.56, 0.70) * h
    shoulder = smooth([(r, start), (0.86 * r, start + 0.09 * h), (neck * 1.1, start + 0.19 * h),
                       (neck, 0.90 * h)], 4)
    outer = ((0.0, 0.0), (0.92 * r, 0.0), (r, 0.004), *shoulder, (0.0, 0.90 * h))
    low = draw.span('label', 0.14, 0.24) * h
    cap_rgb = draw.pick((DARK, WHITE, tinted(rgb, 0.6), STEEL))
    return finished(draw, 'bottle', colour, [
        part('body', rgb, Turned(outer), 0.35),
        part('label', _label(draw, colour), Turned(ring(r - 0.001, r + 0.0006, low,
                                                        min(low + 0.30 * h, start - 0.004))),
             parent='body'),
        part('cap', cap_rgb, Turned(barrel(neck * 1.22, 0.885 * h, h, 0.002), sides=18), 0.01)])


def can(draw: Draw, colour: str) -> Thing:
    """A drink's can or a tin."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.027, 0.034), draw.span('height', 0.095, 0.160)
    outer = ((0.0, 0.0), (0.86 * r, 0.0), (r, 0.007), (r, h - 0.009), (0.84 * r, h), (0.0, h))
    top = Turned(((0.82 * r, h - 0.001), (0.845 * r, h + 0.0006), (0.80 * r, h + 0.0012),
                  (0.0, h + 0.0008)))
    tab = Turned(barrel(0.30 * r, 0.0, 0.003), at=(0.2 * r, 0.0, h), sides=14)
    parts = [part('body', rgb, Turned(outer), 0.33), part('top', STEEL, [top, tab])]
    if draw.chance(0.7):
        low, high = draw.span('band', 0.25, 0.4) * h, draw.span('band top', 0.55, 0.75) * h
        parts.append(part('label', _label(draw, colour),
                          Turned(ring(r - 0.001, r + 0.0005, low, high)), parent='body'))
    return finished(draw, 'can', colour, parts)


def _label(draw: Draw, colour: str) -> Rgb:
    """A label in a colour unlike that of the thing under it."""
    light, dark = (0.93, 0.91, 0.84), (0.20, 0.21, 0.24)
    if colour in ('white', 'yellow', 'pink'):
        return draw.pick((dark, (0.45, 0.45, 0.47)))
    return draw.pick((light, (0.86, 0.82, 0.70)))


def jar(draw: Draw, colour: str) -> Thing:
    """A short, wide jar with a screw lid; its content gives it its colour."""
    rgb = draw.shade(colour)
    r, h = draw.span('radius', 0.031, 0.039), draw.span('height', 0.075, 0.110)
    lid_h = draw.span('lid', 0.014, 0.020)
    outer = ((0.0, 0.0), (0.92 * r, 0.0), (r, 0.005), (r, h - lid_h - 0.012),
             (0.84 * r, h - lid_h - 0.001), (0.84 * r, h - lid_h), (0.0, h - lid_h))
    low = draw.span('label', 0.18, 0.28) * h
    return finished(draw, 'jar', colour, [
        part('body', rgb, Turned(outer), 0.30),
        part('label', _label(draw, colour),
             Turned(ring(r - 0.001, r + 0.0006, low, low + 0.32 * h)), parent='body'),
        part('lid', draw.pick((STEEL, DARK, WHITE, WOOD)),
             Turned(barrel(0.93 * r, h - lid_h, h, 0.002)), 0.03)])


def tray(draw: Draw, colour: str) -> Thing:
    """Rectangular, with a raised edge and two handles; holds other things."""
    rgb = draw.shade(colour)
    x, y = draw.span('length', 0.22, 0.27), draw.span('width', 0.16, 0.20)
    h, t = draw.span('height', 0.020, 0.030), 0.008
    sides = [Box((x, t, h), (0.0, s * (y - t) / 2, h / 2)) for s in (-1, 1)]
    sides += [Box((t, y - 2 * t, h), (s * (x - t) / 2, 0.0, h / 2)) for s in (-1, 1)]
    floor = Box((x - 2 * t, y - 2 * t, 0.006), (0.0, 0.0, 0.003))
    half = draw.span('handle', 0.030, 0.040)
    handles = []
    for side in (-1.0, 1.0):
        path = tuple((side * (x / 2 - 0.004 + 0.026 * math.sin(math.pi * k / 8) ** 0.5),
                      half * math.cos(math.pi * k / 8), 0.65 * h) for k in range(9))
        handles.append(Tube(path, (0.005,) * 9, (0.0, 0.0, 1.0)))
    return finished(draw, 'tray', colour, [
        part('body', tinted(rgb, 0.88), [floor, *sides], 0.55),
        part('rim', rgb, [Box((x + 0.001, t + 0.001, 0.004), (0.0, s * (y - t) / 2, h))
                          for s in (-1, 1)]
             + [Box((t + 0.001, y - 2 * t, 0.004), (s * (x - t) / 2, 0.0, h)) for s in (-1, 1)]),
        part('handle', draw.pick((DARK, WOOD, STEEL, mixed(rgb, DARK, 0.5))), handles, 0.05)],
        room=Room(x / 2 - t - 0.004, y / 2 - t - 0.004, 0.006, round=False))
