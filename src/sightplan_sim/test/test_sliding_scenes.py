"""Pictures of boards: geometry, occlusion, labels and the background."""

import hashlib
import itertools
import subprocess
import sys

import cv2
import numpy as np
import pytest

from sightplan.domains.sliding.boards import KINDS, SHAPES, Board
from sightplan.domains.sliding.marks import ACTIVE, TINTS
from sightplan_sim.sliding import solids
from sightplan_sim.sliding.drawing import make_scene
from sightplan_sim.sliding.look import Look, sample_look
from sightplan_sim.sliding.pieces import colours, pieces_of
from sightplan_sim.sliding.scene import BACKGROUND
from sightplan_sim.sliding.scene3d import EYE, TARGET, camera
from sliding_cases import COLOURS, geoms, tiles

MANY = (*COLOURS, 'orange', 'purple', 'pink', 'cyan', 'brown', 'black', 'white', 'gray')


def scene(view, board, look=None, **options):
    return make_scene(view, board.size, pieces_of(board, 'here'), look or Look(),
                      **{'width': 320, 'height': 240, 'samples': 2} | options)


def blank(rgb):
    """(H, W) bool: where the background is seen."""
    return (rgb == BACKGROUND).all(axis=-1)


# --- pieces ---------------------------------------------------------------------------------


def test_colours():
    known = colours()
    assert len(known) == 148 and known['red'] == (255, 0, 0) and known['navy'] == (0, 0, 128)
    assert set(MANY) <= set(known)


def test_names():
    board = Board(5, ('light_blue_prism', 'tile_1', 'tile_7', 'tile_13'),
                  ('prism', 'tile', 'tile', 'tile'))
    found = pieces_of(board, 'here')
    assert [piece.words for piece in found] == ['light blue prism', 'tile 1', 'tile 7', 'tile 13']
    known = colours()
    assert [piece.rgb for piece in found] == [known[name] for name in
                                              ('lightblue', 'green', 'red', 'blue')]


# --- 3D ---------------------------------------------------------------------------------------


def test_the_camera_is_ivispars():
    view = camera(4, 1200, 900)
    assert np.allclose(view.position_m, EYE)
    assert np.allclose(view.project(np.array([TARGET])), [[599.5, 449.5]])
    # The upper edge of the picture is 30 degrees above the optical axis.
    way = np.subtract(TARGET, EYE) / np.linalg.norm(np.subtract(TARGET, EYE))
    above = np.array([0.0, -way[2], way[1]])
    edge = np.array(EYE) + way + np.tan(np.radians(30)) * above
    assert np.allclose(view.project(edge[None]), [[599.5, -0.5]])


@pytest.mark.parametrize('size', [2, 3, 5, 6])
def test_boards_of_all_sizes_look_equally_large(size):
    corners = np.array([(x, y, 0.0) for x in (0, 1) for y in (0, 1)])
    assert np.allclose(camera(size, 640, 480).project(size * corners),
                       camera(4, 640, 480).project(4 * corners))


def cast(view, kinds, origins, pixels, piece_size):
    """Which solid each pixel's ray meets first, index + 1, by intersecting all of them."""
    k = view.optics.matrix()
    local = np.column_stack([(pixels - (k[0, 2], k[1, 2])) / (k[0, 0], k[1, 1]),
                             np.ones(len(pixels))])
    rays, eye = local @ view.axes.T, view.position_m
    best, found = np.full(len(pixels), np.inf), np.zeros(len(pixels), int)
    for number, (kind, origin) in enumerate(zip(kinds, origins, strict=True), 1):
        if kind == 'sphere':
            radius = solids.ball_radius(piece_size)
            c = eye - origin - (0.0, 0.0, radius)
            a, b = (rays * rays).sum(axis=1), rays @ c
            under = b * b - a * (c @ c - radius**2)
            depth = np.where(under > 0, (-b - np.sqrt(np.maximum(under, 0))) / a, np.inf)
        else:
            shape = solids.solid(kind, piece_size)
            enter, leave = np.zeros(len(pixels)), np.full(len(pixels), np.inf)
            planes = [(normal, shape.vertices[face[0]] + origin)
                      for face, normal in zip(shape.faces, shape.normals, strict=True)]
            planes.append((np.array([0.0, 0.0, -1.0]), origin))  # solids are open below
            for normal, point in planes:
                speed, gap = rays @ normal, (point - eye) @ normal
                with np.errstate(divide='ignore', invalid='ignore'):
                    t = gap / speed
                enter = np.where(speed < 0, np.maximum(enter, t), enter)
                leave = np.where(speed > 0, np.minimum(leave, t), leave)
            depth = np.where(enter < leave, enter, np.inf)
        nearer = depth < best
        best, found = np.where(nearer, depth, best), np.where(nearer, number, found)
    return found


@pytest.mark.parametrize('piece_size', [solids.SMALL, solids.FILLING])
@pytest.mark.parametrize(('size', 'count', 'strength'), [(4, 14, 0.0), (6, 30, 2.0), (2, 3, 2.0)])
def test_what_hides_what_is_what_rays_say(size, count, strength, piece_size):
    """The painter's order, against rays that know none."""
    board, places = geoms(size, count, 4, MANY)
    look = sample_look(np.random.default_rng(3), strength, count)
    shown = scene('3d', board, look, width=640, height=480, piece_size=piece_size)
    ids = shown.segmentation(places)
    rng = np.random.default_rng(0)
    pixels = np.column_stack([rng.integers(60, 600, 6000), rng.integers(20, 380, 6000)])
    origins = [np.array([cell % size + 0.5, cell // size + 0.5, 0.0]) for cell in places]
    truth = cast(shown.view, board.kinds, origins, pixels.astype(float), piece_size)
    around = np.stack([ids[pixels[:, 1] + dy, pixels[:, 0] + dx]
                       for dx in (-1, 0, 1) for dy in (-1, 0, 1)])
    inside = (around == around[0]).all(axis=0)  # an edge belongs to either side
    assert inside.mean() > 0.8 and len(np.unique(truth)) > count - 2
    assert (ids[pixels[:, 1], pixels[:, 0]] == truth)[inside].all()


@pytest.mark.parametrize('kind', SHAPES)
def test_a_piece_is_drawn_where_its_mask_is(kind):
    """In its own colour; nothing else than its shadow and its cell's name differs around it."""
    board = Board(3, (f'red_{kind}',), (kind,))
    for view in ('3d', '2d'):
        shown = scene(view, board, labels='none')
        rgb, mask = shown.render((4,)).astype(int), shown.segmentation((4,)) == 1
        red = (rgb[..., 0] > 1.5 * rgb[..., 1]) & (rgb[..., 0] > 1.5 * rgb[..., 2])
        assert (red & ~mask).sum() < 0.08 * mask.sum()
        assert (red & mask).sum() > 0.85 * mask.sum()


@pytest.mark.parametrize('kind', KINDS)
def test_no_piece_leaves_its_cell(kind):
    for size in (solids.SMALL, 0.8, solids.FILLING):
        points = solids.outline(kind, size)
        assert np.abs(points[:, :2]).max() <= 0.5 + 1e-9 and points[:, 2].min() >= -1e-9
        assert points[:, 2].max() < solids.TALLEST


def test_pieces_fill_their_cells_unless_they_shall_not():
    """At .62 the pieces are as they were before there was a size; tiles have always one size."""
    def width(kind, *size):
        return 2 * np.abs(solids.outline(kind, *size)[:, :2]).max()

    for kind in SHAPES:
        # The points around a sphere are a little inside it.
        assert width(kind) == pytest.approx(1.0, abs=0.01)
        proportions = np.ptp(solids.outline(kind), axis=0) / np.ptp(
            solids.outline(kind, solids.SMALL), axis=0)
        assert proportions == pytest.approx(proportions[0])
    small = [width(kind, solids.SMALL) for kind in ('cube', 'sphere', 'pyramid', 'cylinder')]
    assert small == pytest.approx([0.62, 0.72, 0.74, 0.62], abs=0.01)
    assert width('cube', 0.81) == pytest.approx(0.81)
    assert width('tile', solids.SMALL) == width('tile') == 0.9


def test_pieces_that_fill_their_cells_hide_others():
    """A cube in front of a sphere leaves its top alone to be seen; a small one leaves most."""
    board = Board(4, ('red_cube', 'blue_sphere'), ('cube', 'sphere'))
    parts = []
    for size in (solids.SMALL, solids.FILLING):
        both = scene('3d', board, piece_size=size).segmentation((9, 13))
        alone = scene('3d', Board(4, ('blue_sphere',), ('sphere',)),
                      piece_size=size).segmentation((13,))
        parts.append((both == 2).sum() / (alone == 1).sum())
    assert parts[0] > 0.85 and 0.2 < parts[1] < 0.7


# --- 2D ---------------------------------------------------------------------------------------


def test_figures_differ():
    masks = []
    for kind in KINDS:
        name = 'tile_1' if kind == 'tile' else f'red_{kind}'
        masks.append(scene('2d', Board(3, (name,), (kind,))).segmentation((4,)) == 1)
    for one, other in itertools.combinations(masks, 2):
        assert (one & other).sum() < 0.9 * (one | other).sum()


def test_cells_are_where_they_should_be_in_2d():
    board = Board(4, ('red_cube', 'blue_sphere'), ('cube', 'sphere'))
    ids = scene('2d', board).segmentation((0, 15))
    (y0, x0), (y1, x1) = (np.argwhere(ids == n).mean(axis=0) for n in (1, 2))
    assert x0 < x1 and y0 > y1
    assert np.isclose(x1 - x0, y0 - y1, atol=1)


# --- labels and background ----------------------------------------------------------------------


@pytest.mark.parametrize('view', ['3d', '2d'])
def test_labels(view):
    """Edge labels change nothing on cells, cells' names nothing but free cells."""
    board, places = geoms(4, 5, 1)
    drawn = {labels: scene(view, board, labels=labels).render(places).astype(int)
             for labels in ('none', 'edge', 'cell', 'both')}
    ids = scene(view, board).segmentation(places)
    inside = cv2.erode((ids > 0).astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    edge, cell = (np.abs(drawn[name] - drawn['none']).sum(axis=-1) > 30
                  for name in ('edge', 'cell'))
    assert edge.sum() > 200 and cell.sum() > 400
    assert not (edge & cell).any()
    assert inside.any() and not cell[inside].any() and not edge[inside].any()
    both = np.where(edge[..., None], drawn['edge'], drawn['cell'])
    assert np.abs(both - drawn['both']).max() <= 30


def test_a_name_is_hidden_by_the_piece_on_its_cell():
    board = Board(4, ('red_sphere',), ('sphere',))
    for view in ('3d', '2d'):
        with_names, without = (scene(view, board, labels=labels).render((5,)).astype(int)
                               for labels in ('both', 'edge'))
        cells = scene(view, Board(4, ('tile_1',), ('tile',))).segmentation((5,)) == 1
        flat = cells & (scene(view, board).segmentation((5,)) == 0)
        assert flat.sum() > 100
        assert np.abs(with_names - without)[flat].max() <= 30


@pytest.mark.parametrize('view', ['3d', '2d'])
@pytest.mark.parametrize(('board', 'places'), [geoms(2, 2), geoms(6, 30, 2, MANY), tiles(5)])
@pytest.mark.parametrize('strength', [0.0, 1.0, 2.0])
def test_the_background_is_one_colour_and_frames_everything(view, board, places, strength):
    assert TINTS[ACTIVE] == BACKGROUND
    look = sample_look(np.random.default_rng(1), strength, len(board.pieces))
    shown = scene(view, board, look)
    rgb = shown.render(places)
    empty = blank(rgb)
    assert empty[[0, -1]].all() and empty[:, [0, -1]].all()
    assert not empty[shown.segmentation(places) > 0].any()
    assert 0.2 < empty.mean() < 0.8


@pytest.mark.parametrize('view', ['3d', '2d'])
def test_a_piece_of_the_backgrounds_colour_is_not_background(view, monkeypatch):
    board = Board(2, ('red_cube',), ('cube',))
    shown = scene(view, board, Look(ambient=1.0, diffuse=0.0), labels='none')
    shown.colours[0] = tuple(map(float, BACKGROUND))
    ids = shown.segmentation((0,))
    assert not blank(shown.render((0,)))[ids > 0].any()


@pytest.mark.parametrize(('width', 'height'), [(200, 480), (1000, 200), (64, 64), (1200, 900)])
@pytest.mark.parametrize('view', ['3d', '2d'])
def test_nothing_is_cut_off_in_pictures_of_any_shape(view, width, height):
    board, places = geoms(4, 16)
    rgb = scene(view, board, width=width, height=height).render(places)
    assert rgb.shape == (height, width, 3)
    empty = blank(rgb)
    assert empty[[0, -1]].all() and empty[:, [0, -1]].all()


SCRIPT = '''
import hashlib, numpy as np
from sliding_cases import geoms
from sightplan_sim.sliding.drawing import make_scene
from sightplan_sim.sliding.look import sample_look
from sightplan_sim.sliding.pieces import pieces_of
board, places = geoms(4, 11, 3)
look = sample_look(np.random.default_rng(1), 1.0, 11)
digest = hashlib.sha256()
for view in ('3d', '2d'):
    digest.update(make_scene(view, 4, pieces_of(board, 'here'), look).render(places).tobytes())
print(digest.hexdigest())
'''


def test_every_process_draws_the_same_bytes(tmp_path):
    from pathlib import Path
    board, places = geoms(4, 11, 3)
    look = sample_look(np.random.default_rng(1), 1.0, 11)
    scene('3d', board, look).render(places)  # something before
    digest = hashlib.sha256()
    for view in ('3d', '2d'):
        shown = scene(view, board, look, width=640, height=480, samples=3)
        shown.render(places[::-1])
        digest.update(shown.render(places).tobytes())
    done = subprocess.run([sys.executable, '-c', SCRIPT], capture_output=True, text=True,
                          timeout=600, check=True, cwd=Path(__file__).parent)
    assert done.stdout.strip() == digest.hexdigest()


def test_looks():
    rng = np.random.default_rng(0)
    assert sample_look(rng, 0.0, 3) == Look()
    usual, wild = sample_look(rng, 1.0, 3), sample_look(rng, 2.0, 3)
    assert usual.azimuth_deg == usual.elevation_deg == 0.0 != wild.azimuth_deg
    assert len(usual.tints) == 3 and usual != sample_look(rng, 1.0, 3)
