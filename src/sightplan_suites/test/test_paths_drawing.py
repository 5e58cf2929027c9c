"""Pictures of paths: what is drawn where, what hides what, and what can be read back."""

import math

import hypothesis
import numpy as np
import pytest
import shapely
from hypothesis import strategies as st

from sightplan.model import InputError
from sightplan_suites.paths import drawing, drawing3d
from sightplan_suites.paths.drawing import Look, TopView, draw_top, look_of, pair
from sightplan_suites.paths.drawing3d import PerspectiveView, draw_perspective
from sightplan_suites.paths.maps import Bounds

START, GOAL = (-36.6, -36.4), (36.1, 36.4)
# Open to the right, so that its notch is neither roof nor side.
CLAW = np.array([(-10, -10), (14, -10), (14, -6), (-4, -6), (-4, 6), (14, 6), (14, 10), (-10, 10)])
# The nearer one is so thin that its side hides that of the farther one.
SLANTED = np.array([(-28.0, 3.6), (-13.0, 3.2), (-13.0, 4.7), (-28.0, 5.0)])
NEARER = np.array([(-30.0, 1.0), (-12.0, 2.6), (-12.0, 2.9), (-30.0, 1.3)])
CLOCKWISE = np.array([(20.0, -25.0), (20.0, -20.0), (28.0, -19.0), (29.0, -26.0)])
OBSTACLES = [CLAW, SLANTED, NEARER, CLOCKWISE]
PATH = np.array([START, (-20, -30), (10, -28), (30, 0), (20, 20), GOAL])
VIEWS = [TopView(), TopView(301, Bounds(0.0, -2.0, 8.0, 3.0)), PerspectiveView(),
         PerspectiveView(640, 360, Bounds(0.0, -2.0, 8.0, 3.0))]


def redness(picture):
    colours = picture.astype(float)
    return np.clip(colours[..., 0] - colours[..., 1:].max(axis=2), 0, None) / 255


@pytest.mark.parametrize('view', VIEWS)
@hypothesis.given(x=st.floats(0, 1), y=st.floats(0, 1))
def test_pixels_of_the_ground_lead_back(view, x, y):
    box = view.bounds
    point = [(box.x_min + x * (box.x_max - box.x_min), box.y_min + y * (box.y_max - box.y_min))]
    pixel = view.project(point)
    height, width = view.shape
    assert -0.51 <= pixel[0, 0] <= width - 0.49 and -0.51 <= pixel[0, 1] <= height - 0.49
    np.testing.assert_allclose(view.unproject(pixel), point, atol=1e-6)


def test_a_raised_plane_leads_back_and_the_sky_nowhere():
    view = PerspectiveView(bounds=Bounds(0.0, 0.0, 8.0, 8.0))
    pixel = view.project([(3.0, 5.0, 0.2)])
    np.testing.assert_allclose(view.unproject(pixel, z=0.2), [(3.0, 5.0)], atol=1e-9)
    assert np.isnan(view.unproject([(640.0, -2000.0)])).all()


def test_the_camera_is_the_papers():
    view = PerspectiveView()
    # The target is in the middle; half the angle of view above it is the upper edge.
    np.testing.assert_allclose(view.project([(0, 0, -10)]), [(639.5, 359.5)])
    away, half = np.array([0, 70, -65]) / math.hypot(70, 65), math.radians(22.5)
    up = np.array([0, 65, 70]) / math.hypot(70, 65)
    edge = np.array(drawing3d.EYE) + 50 * (math.cos(half) * away + math.sin(half) * up)
    np.testing.assert_allclose(view.project(edge[None]), [(639.5, -0.5)], atol=1e-9)


@pytest.mark.parametrize('draw', [draw_top, draw_perspective])
def test_the_same_arguments_give_the_same_bytes(draw):
    for look in (0, 7):
        first, second = (draw(OBSTACLES, PATH, START, GOAL, look=look) for _ in range(2))
        assert first.tobytes() == second.tobytes()
    assert (first != draw(OBSTACLES, PATH, START, GOAL)).any()
    assert (first != draw(OBSTACLES, PATH, START, GOAL, look=8)).any()


def test_from_above_everything_has_its_place_and_colour():
    view = TopView()
    picture = draw_top(OBSTACLES, PATH, START, GOAL)

    def at(x, y):
        column, row = np.rint(view.project([(x, y)])[0]).astype(int)
        return tuple(picture[row, column].tolist())

    assert picture.shape == (448, 448, 3) and picture.dtype == np.uint8
    assert at(-7, 0) == at(10, -8) == at(10, 8) == at(24, -22) == (0, 0, 0)
    assert at(5, 0) == at(0, 30) == (255, 255, 255)
    assert at(-37.4, -36.4) == at(10, -28) == (255, 0, 0)
    assert at(36.9, 36.4) == (0, 0, 255)
    for edge in (picture[0], picture[-1], picture[:, 0], picture[:, -1]):
        assert not edge.any()


def test_walls_that_overlap_are_no_hole():
    cross = [np.array([(-10, -1), (10, -1), (10, 1), (-10, 1)]),
             np.array([(-1, -10), (1, -10), (1, 10), (-1, 10)])]
    assert draw_top(cross, None, START, GOAL)[220:228, 220:228].max() == 0


@pytest.mark.parametrize('angle', [0, 33, 45, 90])
@pytest.mark.parametrize('view', [TopView(), TopView(224)])
def test_widths_are_those_of_points_at_100_dpi(view, angle):
    along = np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
    bare = draw_top([], None, START, GOAL, view)
    lined = draw_top([], [-25 * along, 25 * along], START, GOAL, view)
    zoom = view.size / 448
    area = (redness(lined) - redness(bare)).sum()
    # To a sample, of which there are four in a pixel.
    assert area / (50 * view.scale) == pytest.approx(2 * 100 / 72 * zoom, abs=0.25)
    dot = math.pi / 4 * (11 * 100 / 72 * zoom) ** 2
    assert redness(bare).sum() == pytest.approx(dot, rel=0.04)


def test_the_path_in_perspective_is_as_wide_near_and_far():
    view = PerspectiveView()
    for y in (-25, 25):
        ends = np.array([(-25.0, y), (25.0, y)])
        more = (redness(draw_perspective([], ends, START, GOAL))
                - redness(draw_perspective([], None, START, GOAL))).sum()
        length = np.hypot(*(view.project(ends)[1] - view.project(ends)[0]))
        assert more / length == pytest.approx(3.5, abs=0.25)


def first_hits(view, pixels, polygons):
    """What the rays of pixels meet, by geometry alone: 'floor', 'roof' or number and edge."""
    lower, upper = view.unproject(pixels), view.unproject(pixels, z=drawing3d.WALL_HEIGHT)
    shapes = [shapely.Polygon(polygon) for polygon in polygons]
    found = []
    for begin, end in zip(upper, lower, strict=True):
        ray = shapely.LineString([begin, end])
        hits = []
        for number, (shape, polygon) in enumerate(zip(shapes, polygons, strict=True)):
            if shape.contains(shapely.Point(begin)):
                hits.append((-1.0, 'roof'))
            for edge in range(len(polygon)):
                side = shapely.LineString([polygon[edge], polygon[(edge + 1) % len(polygon)]])
                met = ray.intersection(side)
                if not met.is_empty:
                    hits.append((ray.project(met.centroid), (number, edge)))
        found.append(min(hits)[1] if hits else 'floor')
    return found


def test_what_is_seen_is_what_rays_meet_first(monkeypatch):
    """Without texture a side has one colour, by its direction alone."""
    plain = Look(contrast=0.0)
    monkeypatch.setattr(drawing3d, 'look_of', lambda seed: plain)
    view = PerspectiveView()
    picture = draw_perspective(OBSTACLES, None, START, GOAL)
    rng = np.random.default_rng(5)
    places = np.concatenate([rng.uniform(-30, 30, (150, 2)), *(
        polygon.mean(axis=0) + rng.normal(0, 5, (120, 2)) for polygon in OBSTACLES)])
    pixels = np.rint(view.project(places))
    # Left out: pixels whose neighbourhood shows an edge.
    around = [first_hits(view, pixels + shift, OBSTACLES)
              for shift in ((0, 0), (0.6, 0.6), (-0.6, 0.6), (0.6, -0.6), (-0.6, -0.6))]
    seen = {}
    for pixel, *hits in zip(pixels.astype(int), *around, strict=True):
        if len({str(hit) for hit in hits}) == 1:
            colour = tuple(picture[pixel[1], pixel[0]].tolist())
            seen.setdefault(hits[0], []).append(colour)
    assert set(seen.pop('floor')) == {plain.floor}
    assert set(seen.pop('roof')) == {plain.wall}
    assert len(seen) >= 6
    light = np.array([math.cos(math.radians(215)), math.sin(math.radians(215))])
    for (number, edge), colours in seen.items():
        polygon = OBSTACLES[number]
        along = polygon[(edge + 1) % len(polygon)] - polygon[edge]
        normal = np.array([along[1], -along[0]]) / np.hypot(*along)
        if polygon is CLOCKWISE:
            normal = -normal
        bright = plain.ambient + (0.85 - plain.ambient) * max(0.0, float(normal @ light))
        assert set(colours) == {tuple((np.array(plain.wall) * bright).astype(int).tolist())}


def test_no_crack_between_roof_and_side(monkeypatch):
    monkeypatch.setattr(drawing3d, 'look_of', lambda seed: Look(contrast=0.0, floor=(0, 255, 0)))
    for turn in np.linspace(0, math.pi, 9):
        spin = np.array([(math.cos(turn), -math.sin(turn)), (math.sin(turn), math.cos(turn))])
        wall = np.array([(-20, -3), (20, -3), (20, 3), (-20, 3)]) @ spin.T
        picture = draw_perspective([wall], None, START, GOAL)
        green = (picture == (0, 255, 0)).all(axis=2)[150:550, 300:980]
        # Floor all around in one piece.
        count, _ = drawing.cv2.connectedComponents(green.astype(np.uint8), connectivity=4)
        assert count == 2


def test_walls_hide_the_path_behind_them_and_not_before():
    wall = np.array([(-20, 0), (20, 0), (20, 1), (-20, 1)])
    behind, before = np.array([(-15, 1.8), (15, 1.8)]), np.array([(-15, -1.0), (15, -1.0)])
    assert not (redness(draw_perspective([wall], behind, START, GOAL))[:500] > 0.5).any()
    assert (redness(draw_perspective([wall], before, START, GOAL))[:500] > 0.5).sum() > 800


def test_a_larger_map_gives_the_same_picture():
    big = [tuple(corner * 3 + 7 for corner in np.array(polygon).T) for polygon in OBSTACLES]
    scaled = draw_perspective([np.array(polygon).T for polygon in big], PATH * 3 + 7,
                              np.array(START) * 3 + 7, np.array(GOAL) * 3 + 7,
                              PerspectiveView(bounds=Bounds(-113.0, -113.0, 127.0, 127.0)))
    assert (scaled != draw_perspective(OBSTACLES, PATH, START, GOAL)).mean() < 1e-3


def test_looks_vary_within_bounds():
    assert look_of(0) == Look()
    looks = [look_of(seed) for seed in range(1, 200)]
    assert len(set(looks)) == len(looks)
    assert min(look.line for look in looks) < 0.8 and max(look.line for look in looks) > 1.4
    for look in looks:
        assert 0.75 <= look.line <= 1.5 and 0.8 <= look.dot <= 1.25
        assert look.path[0] >= 231 and max(look.path[1:]) <= 24 and min(look.ground) >= 231
        assert look.goal[2] >= 231 and max(look.goal[:2]) <= 24 and max(look.obstacle) <= 24


def test_a_pair_has_equal_heights_and_no_gap():
    left, right = draw_top(OBSTACLES, PATH, START, GOAL), draw_top(OBSTACLES, None, START, GOAL)
    both = pair(left, right)
    assert both.shape == (448, 896, 3)
    assert (both[:, :448] == left).all() and (both[:, 448:] == right).all()
    assert pair(left, draw_perspective([], None, START, GOAL)).shape == (448, 448 + 796, 3)
    with pytest.raises(InputError, match='right: not a picture'):
        pair(left, right[:, :, 0])


@pytest.mark.parametrize(('change', 'message'), [
    ({'obstacles': [CLAW, CLAW[:2]]}, 'obstacle 2: 2 corners'),
    ({'obstacles': [CLAW * math.nan]}, 'obstacle 1: points: point 1 is not finite'),
    ({'path': [(0, 0, 0)]}, 'shape'),
    ({'start': (1, 2, 3)}, 'start: .*give x and y'),
    ({'goal': 'far'}, 'goal: .*give x and y'),
    ({'look': -1}, 'look: -1'),
    ({'look': True}, 'look: True'),
])
@pytest.mark.parametrize('draw', [draw_top, draw_perspective])
def test_what_cannot_be_drawn_is_named(draw, change, message):
    good = {'obstacles': OBSTACLES, 'path': PATH, 'start': START, 'goal': GOAL}
    with pytest.raises(InputError, match=message):
        draw(**{**good, **change})


@pytest.mark.parametrize(('make', 'message'), [
    (lambda: TopView(8), 'size: 8'),
    (lambda: TopView(448.0), 'size: 448.0'),
    (lambda: PerspectiveView(height=99_999), 'height'),
    (lambda: TopView(bounds=Bounds(0, 0, 0, 1)), 'bounds'),
])
def test_a_camera_that_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
