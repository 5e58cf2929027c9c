"""Tools, cutlery, fruit, boxes and other solid things, in random sizes and proportions."""

from __future__ import annotations

import math

from sightplan_sim.tabletop.draw import Draw
from sightplan_sim.tabletop.meshes import blended
from sightplan_sim.tabletop.shapes import (
    Box,
    Part,
    Points2,
    Primitive,
    Slab,
    Slide,
    Thing,
    Tube,
    Turned,
)
from sightplan_sim.tabletop.thing_parts import (
    DARK,
    IRON,
    PAPER,
    STEEL,
    WHITE,
    WOOD,
    ball_profile,
    bar,
    barrel,
    finished,
    flat_rod,
    mixed,
    part,
    ring,
    smooth,
    tinted,
)

FLAT_Y = (0.0, 1.0, 0.0)


def knife(draw: Draw, colour: str) -> Thing:
    """A kitchen knife, lying on its side."""
    rgb = draw.shade(colour)
    grip, long = draw.span('grip', 0.095, 0.115), draw.span('blade', 0.100, 0.145)
    wide, thick = draw.span('width', 0.024, 0.036), draw.span('thickness', 0.015, 0.019)
    x = (grip - long) / 2
    tip = draw.span('tip', 0.62, 0.85)
    outline: Points2 = ((x, -wide / 2), (x + tip * long, -wide / 2),
                        (x + 0.92 * long, -0.28 * wide), (x + long, 0.36 * wide),
                        (x + 0.9 * long, wide / 2), (x, wide / 2))
    return finished(draw, 'knife', colour, [
        part('handle', rgb, flat_rod(x - grip, x + 0.004, 0.024, thick), 0.07),
        part('blade', STEEL, Slab(outline, 0.003, (0.0, 0.0, 0.001)), 0.05)],
        'handle')


def fork(draw: Draw, colour: str) -> Thing:
    """A fork with four prongs."""
    rgb = draw.shade(colour)
    grip, long = draw.span('grip', 0.095, 0.115), draw.span('neck', 0.035, 0.050)
    wide, prong = draw.span('width', 0.024, 0.030), draw.span('prongs', 0.042, 0.052)
    x = (grip - long - prong - 0.016) / 2
    root = x + long + 0.016
    palm = Slab(((x + long - 0.004, -0.3 * wide), (x + long + 0.008, -wide / 2),
                 (root, -wide / 2), (root, wide / 2), (x + long + 0.008, wide / 2),
                 (x + long - 0.004, 0.3 * wide)), 0.004)
    gaps = [(k - 1.5) * wide / 4 for k in range(4)]
    tines = [Box((prong, 0.55 * wide / 4, 0.004), (root + prong / 2, y, 0.002)) for y in gaps]
    return finished(draw, 'fork', colour, [
        part('handle', rgb, flat_rod(x - grip, x + 0.006, 0.016, 0.012), 0.04),
        part('neck', STEEL, Box((long + 0.004, 0.008, 0.006), (x + long / 2, 0.0, 0.003)), 0.01),
        part('prongs', STEEL, [palm, *tines], 0.02, [palm, Box(
            (prong, gaps[-1] - gaps[0] + 0.55 * wide / 4, 0.004),
            (root + prong / 2, 0.0, 0.002))])], 'handle')


def spoon(draw: Draw, colour: str) -> Thing:
    """A spoon with an oval head."""
    rgb = draw.shade(colour)
    grip, long = draw.span('grip', 0.095, 0.120), draw.span('neck', 0.030, 0.050)
    half_x, half_y = draw.span('head', 0.026, 0.033), draw.span('head width', 0.018, 0.023)
    x = (grip - long - 2 * half_x) / 2
    head = (x + long + half_x - 0.004, 0.0, 0.0)
    stretch = half_y / half_x
    shell = Turned(((0.0, 0.0), (0.55 * half_x, 0.001), (0.9 * half_x, 0.006), (half_x, 0.010),
                    (0.92 * half_x, 0.0102)), head, stretch=stretch)
    dish = Turned(((0.92 * half_x, 0.0102), (0.78 * half_x, 0.006), (0.5 * half_x, 0.003),
                   (0.0, 0.0022)), head, stretch=stretch)
    return finished(draw, 'spoon', colour, [
        part('handle', rgb, flat_rod(x - grip, x + 0.006, 0.016, 0.012), 0.04),
        part('neck', STEEL, bar((x, 0.0, 0.006), (x + long, 0.0, 0.008), 0.004, FLAT_Y), 0.01),
        part('head', tinted(STEEL, 0.92), [shell, dish], 0.02, [shell])], 'handle')


def spatula(draw: Draw, colour: str) -> Thing:
    """A spatula for turning food in a pan."""
    rgb = draw.shade(colour)
    grip, long = draw.span('grip', 0.10, 0.12), draw.span('neck', 0.05, 0.075)
    x_head, y_head = draw.span('head', 0.070, 0.090), draw.span('head width', 0.050, 0.064)
    x = (grip - long - x_head) / 2
    root = x + long
    outline: Points2 = ((root, -0.36 * y_head), (root + 0.012, -y_head / 2),
                        (root + x_head, -y_head / 2), (root + x_head, y_head / 2),
                        (root + 0.012, y_head / 2), (root, 0.36 * y_head))
    slots = [Box((0.55 * x_head, 0.10 * y_head, 0.0006),
                 (root + 0.55 * x_head, k * 0.25 * y_head, 0.0043)) for k in (-1, 0, 1)]
    head_rgb = draw.pick((STEEL, DARK, WOOD))
    return finished(draw, 'spatula', colour, [
        part('handle', rgb, flat_rod(x - grip, x + 0.006, 0.022, 0.015), 0.05),
        part('neck', STEEL, Box((long + 0.01, 0.010, 0.006), (x + long / 2, 0.0, 0.004)), 0.02),
        part('head', head_rgb, Slab(outline, 0.004), 0.03),
        part('slots', tinted(head_rgb, 0.45), slots, parent='head')], 'handle')


def screwdriver(draw: Draw, colour: str) -> Thing:
    """A screwdriver with a thick handle and a flat tip."""
    rgb = draw.shade(colour)
    grip, long = draw.span('grip', 0.085, 0.105), draw.span('shaft', 0.080, 0.125)
    r, rod = draw.span('radius', 0.013, 0.0165), draw.span('rod', 0.0033, 0.0045)
    x = (grip - long) / 2
    lie = (math.pi / 2, math.pi / 8, math.pi / 2)  # along x, on a flat of its eight
    low = r * math.cos(math.pi / 8)
    body: Points2 = ((0.0, 0.0), (0.75 * r, 0.0), (r, 0.006), (r, 0.62 * grip),
                     (0.72 * r, 0.78 * grip), (0.95 * r, 0.90 * grip), (0.7 * r, grip),
                     (0.0, grip))
    # What collides has no waist, in which fingers would get wedged.
    stout = body[:4] + body[5:]
    tip = Slab(((x + long - 0.016, -rod), (x + long - 0.006, -1.5 * rod), (x + long, -1.4 * rod),
                (x + long, 1.4 * rod), (x + long - 0.006, 1.5 * rod), (x + long - 0.016, rod)),
               0.0025, (0.0, 0.0, low - 0.00125))
    return finished(draw, 'screwdriver', colour, [
        part('handle', rgb, Turned(body, (x - grip, 0.0, low), lie, sides=8), 0.06,
             [Turned(stout, (x - grip, 0.0, low), lie, sides=8)]),
        part('grip ring', DARK, Turned(ring(0.6 * r, 1.02 * r, 0.30 * grip, 0.36 * grip),
                                       (x - grip, 0.0, low), lie, sides=8), parent='handle'),
        part('shaft', STEEL, Turned(barrel(rod, 0.0, long - 0.012), (x, 0.0, low), lie, sides=12),
             0.015),
        part('tip', IRON, tip, 0.005, parent='shaft')], 'handle')


def hammer(draw: Draw, colour: str) -> Thing:
    """A hammer whose steel head lies crosswise."""
    rgb = draw.shade(colour)
    long, face = draw.span('handle', 0.175, 0.220), draw.span('face', 0.012, 0.0155)
    wide = draw.span('head', 0.075, 0.100)
    x, z = long / 2 - 0.02, face
    bend = 0.30 * wide
    peen = ((x - 0.8 * face, -0.08 * wide), (x + 0.8 * face, -0.08 * wide),
            (x + 0.7 * face, 0.42 * wide), (x - 0.7 * face, 0.42 * wide))
    head: list[Primitive] = [
        Turned(((0.0, 0.0), (face, 0.0), (face, 0.012), (0.72 * face, 0.02), (0.72 * face, bend),
                (0.0, bend)), (x, -0.5 * wide, z), (-math.pi / 2, 0.0, 0.0), sides=18),
        Box((1.7 * face, 0.32 * wide, 2.0 * face), (x, -0.5 * wide + bend + 0.1 * wide, z)),
        Slab(peen, 0.5 * face, (0.0, 0.0, z - 0.25 * face))]
    shaft = bar((-long / 2, 0.0, 0.0085), (x - 0.5 * face, 0.0, z), 0.0105, FLAT_Y, 1.25, 0.8)
    return finished(draw, 'hammer', colour, [
        part('handle', rgb, shaft, 0.12),
        part('head', IRON, head, 0.28)], 'handle')


def brush(draw: Draw, colour: str) -> Thing:
    """A paint brush, lying flat."""
    rgb = draw.shade(colour)
    grip, wide = draw.span('handle', 0.110, 0.135), draw.span('width', 0.035, 0.055)
    hair = draw.span('bristles', 0.040, 0.058)
    thick = draw.span('thickness', 0.014, 0.018)
    x = (grip - hair - 0.022) / 2
    z = thick / 2
    neck = Tube(((x - grip, 0.0, z), (x - 0.9 * grip, 0.0, z), (x - 0.5 * grip, 0.0, z),
                 (x - 0.2 * grip, 0.0, z), (x, 0.0, z)),
                (0.6 * z, z, z, z, z), FLAT_Y, 0.42 * wide / thick * 1.15)
    return finished(draw, 'brush', colour, [
        part('handle', rgb, neck, 0.04),
        part('collar', STEEL, Box((0.024, wide, thick), (x + 0.010, 0.0, z)), 0.01),
        part('bristles', draw.pick(((0.85, 0.74, 0.52), (0.30, 0.24, 0.20))),
             Slab(((x + 0.020, -0.48 * wide), (x + 0.022 + hair, -0.44 * wide),
                   (x + 0.022 + hair, 0.44 * wide), (x + 0.020, 0.48 * wide)), 0.82 * thick,
                  (0.0, 0.0, 0.05 * thick)), 0.01)], 'handle')


def scissors(draw: Draw, colour: str) -> Thing:
    """A little open, lying flat."""
    rgb = draw.shade(colour)
    long, loop = draw.span('blades', 0.085, 0.110), draw.span('loops', 0.019, 0.024)
    spread = draw.span('spread', 0.16, 0.30)
    blades, loops = [], []
    for side, z in ((1.0, 0.004), (-1.0, 0.0065)):
        a = side * spread / 2
        cos, sin = math.cos(a), math.sin(a)
        outline = [(-0.012, -0.006), (long, -0.0015), (long, 0.0015), (0.01, 0.007),
                   (-0.012, 0.006)]
        blades.append(Slab(tuple((x * cos - y * sin, x * sin + y * cos) for x, y in outline),
                           0.0025, (0.0, 0.0, z)))
        centre = (-0.060 * cos - loop * 0.3, -side * (0.012 + 0.85 * loop))
        path = tuple((centre[0] + 1.35 * loop * math.cos(2 * math.pi * k / 14),
                      centre[1] + loop * math.sin(2 * math.pi * k / 14), 0.006)
                     for k in range(14))
        loops += [Tube(path, (0.0048,) * 14, (0.0, 0.0, 1.0), 1.25, closed=True),
                  bar((-0.008 * cos, -0.008 * sin, 0.006),
                      (centre[0] + 1.25 * loop, centre[1] + side * 0.25 * loop, 0.006), 0.0055,
                      (0.0, 0.0, 1.0))]
    pin = Turned(barrel(0.0045, 0.0, 0.0115), sides=14)
    return finished(draw, 'scissors', colour, [
        part('handle', rgb, loops, 0.04),
        part('blades', STEEL, blades, 0.04),
        part('pin', IRON, pin)], 'handle')


def book(draw: Draw, colour: str) -> Thing:
    """A closed book that lies flat."""
    rgb = draw.shade(colour)
    x, y = draw.span('width', 0.105, 0.140), draw.span('length', 0.150, 0.190)
    h, t = draw.span('height', 0.018, 0.040), 0.003
    covers = [Box((x, y, t), (0.0, 0.0, z)) for z in (t / 2, h - t / 2)]
    title = [Box((0.6 * x, 0.10 * y, 0.0006), (0.0, 0.22 * y, h)),
             Box((0.4 * x, 0.04 * y, 0.0006), (0.0, 0.08 * y, h))]
    ink = (0.94, 0.90, 0.74) if colour not in ('white', 'yellow', 'pink') else (0.2, 0.2, 0.25)
    return finished(draw, 'book', colour, [
        part('body', rgb, covers, 0.30, [Box((x, y, h), (0.0, 0.0, h / 2))]),
        part('spine', tinted(rgb, 0.8), Box((t, y, h), (-x / 2 + t / 2 - 0.001, 0.0, h / 2))),
        part('pages', PAPER, Box((x - 2 * t, y - 2 * t, h - 2 * t), (0.0, 0.0, h / 2))),
        part('title', ink, title, parent='body')])


def box(draw: Draw, colour: str) -> Thing:
    """A carton that stands, with a printed front."""
    rgb = draw.shade(colour)
    x, y = draw.span('width', 0.055, 0.085), draw.span('depth', 0.035, 0.060)
    h = draw.span('height', 0.090, 0.150)
    print_rgb = draw.pick((WHITE, (0.93, 0.80, 0.30), tinted(rgb, 0.5)))
    if colour in ('white', 'yellow'):
        print_rgb = draw.pick(((0.25, 0.35, 0.55), (0.55, 0.25, 0.25)))
    return finished(draw, 'box', colour, [
        part('body', rgb, Box((x, y, h), (0.0, 0.0, h / 2)), 0.25),
        part('label', print_rgb,
             [Box((0.74 * x, y + 0.001, 0.30 * h), (0.0, 0.0, 0.62 * h)),
              Box((0.50 * x, y + 0.001, 0.08 * h), (0.0, 0.0, 0.28 * h))], parent='body'),
        part('flap', mixed(rgb, (0.80, 0.70, 0.55), 0.45),
             [Box((x, 0.46 * y, 0.0012), (0.0, 0.25 * y, h + 0.0006)),
              Box((x, 0.46 * y, 0.0012), (0.0, -0.25 * y, h + 0.0006))])])


def drawer_box(draw: Draw, colour: str) -> Thing:
    """A small chest with one drawer that slides out at the front."""
    rgb = draw.shade(colour)
    x, y = draw.span('width', 0.130, 0.165), draw.span('depth', 0.100, 0.125)
    h, t = draw.span('height', 0.075, 0.105), 0.008
    frame = [Box((x, y, t), (0.0, 0.0, z)) for z in (t / 2, h - t / 2)]
    frame += [Box((t, y, h - 2 * t), (s * (x - t) / 2, 0.0, h / 2)) for s in (-1, 1)]
    frame.append(Box((x - 2 * t, t, h - 2 * t), (0.0, (y - t) / 2, h / 2)))
    front = -y / 2 - 0.004
    wide, tall = x - 0.012, h - 0.014
    inner = [Box((wide, 0.010, tall), (0.0, front, h / 2)),
             Box((wide - 0.02, y - 0.03, 0.004), (0.0, -0.008, t + 0.006)),
             *(Box((0.004, y - 0.03, 0.6 * tall), (s * (wide - 0.02) / 2, -0.008, 0.45 * h))
               for s in (-1, 1)),
             Box((wide - 0.02, 0.004, 0.6 * tall), (0.0, y / 2 - 0.026, 0.45 * h))]
    slide = Slide((0.0, -1.0, 0.0), 0.6 * y)
    pull_rgb = draw.pick((STEEL, DARK, (0.80, 0.66, 0.30)))
    if draw.chance(0.5):
        r = draw.span('knob', 0.010, 0.014)
        name = 'knob'
        pull: Primitive = Turned(
            ((0.0, 0.0), (0.5 * r, 0.0), (0.5 * r, 0.010),
             *ball_profile(r, 0.006, 0.006 + 1.7 * r)[2:]),
            (0.0, front - 0.004, h / 2), (math.pi / 2, 0.0, 0.0), sides=16)
    else:
        half = draw.span('bow', 0.024, 0.034)
        path = tuple((half * math.cos(math.pi * k / 10),
                      front - 0.003 - 0.024 * math.sin(math.pi * k / 10) ** 0.45, h / 2)
                     for k in range(11))
        name, pull = 'handle', Tube(path, (0.0045,) * 11, (0.0, 0.0, 1.0), 1.2)
    drawer = Part('drawer', mixed(rgb, WHITE, 0.22), tuple(inner), tuple(inner), 0.20,
                  slide=slide)
    return finished(draw, 'drawer box', colour, [
        part('body', rgb, frame, 0.70), drawer, part(name, pull_rgb, pull, 0.02,
                                                     parent='drawer')])


def banana(draw: Draw, colour: str) -> Thing:
    """Bent, lying on its side."""
    rgb = draw.shade(colour)
    long, thick = draw.span('length', 0.075, 0.092), draw.span('thickness', 0.0155, 0.0190)
    bend = draw.span('bend', 0.75, 1.05)
    radii = tuple(thick * max(0.32, 1 - abs(2 * k / 12 - 1) ** 3.5 * 0.7) for k in range(13))
    angles = [bend * (2 * k / 12 - 1) for k in range(13)]
    path = tuple((long / bend * math.sin(a) * 1.1, -long / bend * (math.cos(a) - 0.8), r)
                 for a, r in zip(angles, radii, strict=True))
    tip = path[-1]
    out = (tip[0] + 0.016 * math.cos(bend), tip[1] - 0.016 * math.sin(bend), tip[2])
    body = Tube(path, radii, (0.0, 0.0, 1.0))
    return finished(draw, 'banana', colour, [
        part('body', rgb, body, 0.12, blended(body)),
        part('stem', (0.36, 0.28, 0.14),
             Tube((tip, out), (0.32 * thick, 0.26 * thick), (0.0, 0.0, 1.0)), 0.005)])


def apple(draw: Draw, colour: str) -> Thing:
    """An apple with a stem."""
    rgb = draw.shade(colour)
    r, squash = draw.span('radius', 0.030, 0.038), draw.span('squash', 0.82, 0.95)
    h = 2 * r * squash
    outer = smooth([(0.0, 0.05 * h), (0.28 * r, 0.0), (0.72 * r, 0.14 * h), (r, 0.52 * h),
                    (0.80 * r, 0.90 * h), (0.42 * r, h), (0.0, 0.88 * h)], 3)
    stem = Tube(((0.0, 0.0, 0.86 * h), (0.002, 0.0, h), (0.006, 0.0, h + 0.014)),
                (0.0022, 0.0022, 0.0028), FLAT_Y)
    return finished(draw, 'apple', colour, [
        part('body', rgb, Turned(outer), 0.16),
        part('stem', (0.33, 0.22, 0.12), stem, 0.002)])


def ball(draw: Draw, colour: str) -> Thing:
    """A ball with a stripe around it."""
    rgb = draw.shade(colour)
    r = draw.span('radius', 0.024, 0.034)
    tilt = draw.span('tilt', 0.2, 1.2)
    band = 0.16 * r
    stripe: Points2 = tuple(
        (math.sqrt((1.006 * r) ** 2 - z * z), z) for z in (-band, 0.0, band))
    shape = ball_profile(r, 0.0, 2 * r, 14)
    return finished(draw, 'ball', colour, [
        part('body', rgb, Turned(shape), 0.06),
        part('stripe', WHITE if colour not in ('white', 'yellow') else (0.25, 0.30, 0.5),
             Turned(((0.9 * r, -band), *stripe, (0.9 * r, band)), (0.0, 0.0, r),
                    (tilt, 0.0, 0.0)), parent='body')])
