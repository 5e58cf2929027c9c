"""Pieces of small drawn scenes whose depth is known: boxes and balls on a table."""

from __future__ import annotations

import numpy as np
import pytest

from sightplan.model import Form, InputError, Region
from sightplan_belief.pointing.pieces import Pieces, propose_pieces

WIDTH, HEIGHT, FOCAL = 320, 240, 300.0
CAMERA = (FOCAL, FOCAL, WIDTH / 2, HEIGHT / 2)
EYE = np.array([0.0, -0.6, 0.55])
TABLE = (120, 110, 100)
FAR = (60, 70, 90)
RED, GREEN, BLUE, YELLOW, WHITE = (200, 30, 30), (30, 160, 60), (40, 60, 200), (220, 200, 30), (
    235, 235, 235)


def rays():
    """Directions of all pixels in the world, with 1 along the optical axis."""
    forward = np.array([0.0, 0.05, 0.0]) - EYE
    forward /= np.linalg.norm(forward)
    right = np.array([1.0, 0.0, 0.0])
    down = np.cross(forward, right)
    x = (np.arange(WIDTH) + 0.5 - WIDTH / 2) / FOCAL
    y = (np.arange(HEIGHT) + 0.5 - HEIGHT / 2) / FOCAL
    return forward + x[None, :, None] * right + y[:, None, None] * down


class Scene:
    """What is nearest along each ray.

    Args:
        floor: whether there is a floor below the table, and not nothing.
    """

    def __init__(self, floor=True):
        self.rays = rays()
        self.depth = np.full((HEIGHT, WIDTH), np.inf)
        self.image = np.zeros((HEIGHT, WIDTH, 3))
        self.image[:] = FAR
        self.owner = np.full((HEIGHT, WIDTH), -1)
        self.count = 0
        if floor:
            self._plane(-0.7, 10.0, FAR)
        self._plane(0.0, 0.4, TABLE)

    def ball(self, x, y, radius, colour, z=None):
        centre = np.array([x, y, radius if z is None else z]) - EYE
        a = (self.rays ** 2).sum(-1)
        b = (self.rays * centre).sum(-1)
        root = b ** 2 - a * (centre @ centre - radius ** 2)
        depth = np.where(root > 0, (b - np.sqrt(np.maximum(root, 0))) / a, np.inf)
        self._draw(depth, colour)
        return self

    def box(self, x, y, size, colour, z=0.0):
        low = np.array([x, y, z]) - np.array([size[0], size[1], 0]) / 2 - EYE
        high = low + size
        with np.errstate(divide='ignore', invalid='ignore'):
            a, b = low / self.rays, high / self.rays
        near, far = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
        self._draw(np.where((near < far) & (near > 0), near, np.inf), colour)
        return self

    def _plane(self, z, half, colour):
        with np.errstate(divide='ignore'):
            depth = (z - EYE[2]) / self.rays[..., 2]
        at = EYE + depth[..., None] * self.rays
        inside = (depth > 0) & (np.abs(at[..., :2]) < half).all(-1)
        nearer = inside & (depth < self.depth)
        self.depth[nearer], self.image[nearer] = depth[nearer], colour

    def _draw(self, depth, colour):
        nearer = depth < self.depth
        self.depth[nearer], self.image[nearer] = depth[nearer], colour
        self.owner[nearer] = self.count
        self.count += 1

    def masks(self):
        return [self.owner == index for index in range(self.count)]

    def seen(self, noise_m=0.0, holes=0.0):
        """Image and depth, as a sensor gives them."""
        rng = np.random.default_rng(3)
        image = np.clip(self.image + rng.normal(0, 3, self.image.shape), 0, 255).astype(np.uint8)
        depth = np.where(np.isfinite(self.depth), self.depth, 0)
        depth = depth + noise_m * rng.normal(size=depth.shape) * (depth > 0)
        depth[rng.random(depth.shape) < holes] = 0
        return image, depth.astype(np.float32)


def found(pieces, masks, least=0.5):
    """For each thing whether one piece has an IoU of ``least``."""
    cut = [pieces.mask(index) for index in range(pieces.count)]
    return [max((np.count_nonzero(mask & piece) / np.count_nonzero(mask | piece)
                 for piece in cut), default=0) >= least for mask in masks]


def apart(**options):
    scene = Scene(**options)
    return (scene.ball(-0.2, 0.1, 0.05, RED).ball(0.15, -0.1, 0.03, GREEN)
            .box(0.0, 0.15, (0.12, 0.06, 0.1), BLUE).box(0.2, 0.15, (0.05, 0.05, 0.02), YELLOW)
            .box(-0.15, -0.15, (0.15, 0.02, 0.01), WHITE))


@pytest.mark.parametrize('floor', [True, False])
@pytest.mark.parametrize(('noise_m', 'holes'), [(0, 0), (0.001, 0), (0, 0.05)])
def test_things_apart_are_pieces(floor, noise_m, holes):
    scene = apart(floor=floor)
    pieces = propose_pieces(*scene.seen(noise_m, holes), CAMERA)
    assert all(found(pieces, scene.masks(), 0.7))
    assert pieces.count == scene.count


def test_things_that_touch_are_cut_apart():
    scene = (Scene().box(0.0, 0.0, (0.15, 0.15, 0.06), BLUE).ball(0.0, 0.0, 0.04, YELLOW, 0.1)
             .box(-0.2, 0.1, (0.07, 0.07, 0.12), RED).ball(-0.125, 0.08, 0.04, GREEN))
    pieces = propose_pieces(*scene.seen(), CAMERA)
    assert all(found(pieces, scene.masks(), 0.7))


def test_a_flat_thing_of_two_materials_is_one_piece():
    scene = (Scene().box(-0.25, 0.0, (0.12, 0.1, 0.045), BLUE)
             .box(-0.13, 0.0, (0.12, 0.1, 0.012), WHITE))
    pieces = propose_pieces(*scene.seen(), CAMERA)
    assert found(pieces, [scene.owner >= 0], 0.7) == [True]
    assert pieces.count == 1


def test_a_handle_is_no_thing_of_its_own():
    scene = (Scene().box(0.0, 0.0, (0.12, 0.12, 0.12), BLUE)
             .box(0.0, -0.1, (0.02, 0.08, 0.06), WHITE))
    pieces = propose_pieces(*scene.seen(), CAMERA)
    assert found(pieces, [scene.owner >= 0], 0.7) == [True]
    assert pieces.count == 1


def test_neither_a_label_nor_a_bend_divides_a_thing():
    label = (Scene().box(-0.05, 0.0, (0.1, 0.1, 0.15), BLUE)
             .box(0.05, 0.0, (0.1, 0.1, 0.15), YELLOW))
    bend = (Scene().box(0.0, 0.1, (0.2, 0.08, 0.2), RED).box(0.0, 0.0, (0.2, 0.12, 0.06), RED))
    for scene in (label, bend):
        pieces = propose_pieces(*scene.seen(), CAMERA)
        assert pieces.count == 1
        assert found(pieces, [scene.owner >= 0], 0.7) == [True]


def test_what_hides_another_thing_is_another_piece():
    scene = (Scene().box(0.0, 0.2, (0.2, 0.03, 0.15), RED)
             .box(0.02, 0.05, (0.06, 0.06, 0.16), RED))
    pieces = propose_pieces(*scene.seen(), CAMERA)
    assert all(found(pieces, scene.masks(), 0.7))


def test_what_stands_beside_the_table_is_no_piece():
    scene = apart()
    scene.box(0.3, 0.8, (0.4, 0.2, 1.1), GREEN, -0.7)
    pieces = propose_pieces(*scene.seen(), CAMERA)
    assert pieces.count == scene.count - 1
    assert np.count_nonzero(scene.masks()[-1]) > 1000
    assert not (pieces.labels[scene.masks()[-1]] >= 0).any()


def test_small_holes_in_the_depth_are_filled():
    scene = apart()
    pieces = propose_pieces(*scene.seen(holes=0.25), CAMERA)
    assert all(found(pieces, scene.masks()[:3], 0.9))


def test_the_camera_need_not_be_known():
    scene = apart()
    assert sum(found(propose_pieces(*scene.seen()), scene.masks())) >= scene.count - 1


def test_an_empty_table_has_no_pieces():
    image, depth = Scene().seen()
    assert propose_pieces(image, depth, CAMERA).count == 0
    assert propose_pieces(image).count == 0


def test_without_depth_colours_are_all_there_is():
    scene = (Scene(floor=False).ball(-0.2, 0.1, 0.05, RED).ball(0.1, -0.1, 0.04, GREEN)
             .ball(0.15, 0.15, 0.05, BLUE))
    pieces = propose_pieces(scene.seen()[0])
    assert all(found(pieces, scene.masks(), 0.7))


def test_a_spot_of_another_colour_belongs_to_its_thing():
    image = np.full((HEIGHT, WIDTH, 3), TABLE, np.uint8)
    image[80:140, 100:180] = RED
    image[105:112, 130:137] = WHITE
    pieces = propose_pieces(image)
    assert pieces.count == 1
    assert (pieces.labels[105:112, 130:137] == 0).all()


@pytest.mark.parametrize('depth', [
    np.zeros((HEIGHT, WIDTH)), np.full((HEIGHT, WIDTH), np.nan),
    np.random.default_rng(0).uniform(0.5, 5.0, (HEIGHT, WIDTH))])
def test_depth_without_a_table_is_not_used(depth):
    image = apart().seen()[0]
    with_depth = propose_pieces(image, depth.astype(np.float32), CAMERA)
    assert np.array_equal(with_depth.labels, propose_pieces(image).labels)
    assert with_depth.count > 0


@pytest.mark.parametrize('shape', [(1, 1), (5, 300), (16, 16), (17, 64)])
def test_tiny_and_uniform_pictures_have_no_pieces(shape):
    image = np.full((*shape, 3), 90, np.uint8)
    for depth in (None, np.zeros(shape, np.float32), np.ones(shape, np.float32)):
        assert propose_pieces(image, depth).count == 0


def test_a_depth_of_another_size_is_refused():
    with pytest.raises(InputError, match='aligned'):
        propose_pieces(np.zeros((20, 30, 3), np.uint8), np.ones((10, 15), np.float32))


LABELS = np.full((100, 200), -1, np.int32)
LABELS[20:40, 20:60] = 0
LABELS[45:75, 40:80] = 1
PIECES = Pieces(LABELS)


def point(x, y):
    return Region(Form.POINT, ((x / 200, y / 100),))


def box(left, top, right, bottom):
    return Region(Form.BOX, ((left / 200, top / 100), (right / 200, bottom / 100)))


@pytest.mark.parametrize(('region', 'weights'), [
    (point(20, 20), {0: 1}), (point(19, 20), {0: 1}), (point(10, 20), {}), (point(17.4, 17.4), {}),
    (point(200, 100), {}), (point(60, 76.5), {1: 1}),
    (box(20, 20, 60, 40), {0: 1}), (box(22, 22, 58, 38), {0: 1}), (box(45, 45, 80, 75), {1: 1}),
    (box(20, 20, 21, 21), {0: 1}), (box(150, 10, 190, 30), {}),
    (Region(Form.TRACE, ((0.2, 0.3), (0.9, 0.9))), {0: 1})])
def test_what_a_region_is_meant_for(region, weights):
    assert PIECES.weights(region) == pytest.approx(weights)


def test_a_box_over_two_pieces_is_meant_for_both():
    weights = PIECES.weights(box(20, 20, 80, 75))
    assert weights == pytest.approx({0: 0.4, 1: 0.6})


def test_what_a_piece_is():
    assert (PIECES.count, PIECES.extents) == (2, ((20, 20, 60, 40), (40, 45, 80, 75)))
    assert PIECES.box(1) == box(40, 45, 80, 75)
    assert PIECES.box_iou(box(40, 45, 80, 60), 1) == pytest.approx(0.5)
    x, y = PIECES.inner_point(1)
    assert PIECES.on((x, y), 1)
    assert 58 <= y * 100 <= 62


def test_what_was_cut_is_remembered_by_its_content():
    image, depth = Scene().box(0.0, 0.0, (0.12, 0.12, 0.12), BLUE).seen()
    first = propose_pieces(image, depth, CAMERA)
    assert propose_pieces(image.copy(), depth.copy(), CAMERA) is first
    assert not first.labels.flags.writeable
    labels = first.labels.copy()
    for other in ((image, depth, None), (image, None, CAMERA), (255 - image, depth, CAMERA)):
        assert propose_pieces(*other) is not first
    depth[:] = 0.0  # the same array with another content
    assert propose_pieces(image, depth, CAMERA) is not first
    assert np.array_equal(first.labels, labels)
