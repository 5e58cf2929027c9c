"""Pictures: determinism, what is where, and plates that can be read."""

import dataclasses
import gc
import hashlib
import os
import subprocess
import sys

import cv2
import numpy as np
import pytest

from sightplan_sim.blocksworld.scene import COLOURS, BlocksScene, Look, sample_look
from sightplan_sim.lettering import glyph, letter_plate

SCRIPT = '''
import hashlib, numpy as np
from sightplan_sim.blocksworld.scene import BlocksScene, sample_look
digest = hashlib.sha256()
scene = BlocksScene(320, 240)
for seed, stacks in enumerate((['rg', 'b', '', 'y'], ['rgbypo'], ['r', 'g', 'b', '', 'y'])):
    look = sample_look(np.random.default_rng(seed), seed)
    frame = scene.render(stacks, [f'c{i}' for i in range(len(stacks))], look)
    for array in (frame.rgb, frame.depth_m, frame.segmentation):
        digest.update(array.tobytes())
print(digest.hexdigest())
'''


@pytest.fixture(scope='module')
def scene():
    with BlocksScene(320, 240) as made:
        yield made


def digest(frame):
    return hashlib.sha256(frame.rgb.tobytes() + frame.depth_m.tobytes()
                          + frame.segmentation.tobytes()).hexdigest()


def names(n):
    return [f'c{k + 1}' for k in range(n)]


def run(script, **environment):
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True,
                          timeout=600, env={**os.environ, **environment}, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_same_bytes_in_every_process():
    first = run(SCRIPT, PYTHONHASHSEED='1')
    second = run(SCRIPT, PYTHONHASHSEED='2', OMP_NUM_THREADS='2')
    assert len(first.stdout.strip()) == 64
    assert first.stdout == second.stdout
    assert 'build time' not in first.stderr


def test_a_picture_does_not_depend_on_earlier_ones(scene):
    look, other = (sample_look(np.random.default_rng(k), 2.0) for k in (1, 2))
    with BlocksScene(320, 240) as fresh:
        expected = digest(fresh.render(['rg', 'b'], names(2), look))
    scene.render(['rg', 'b'], names(2), other)
    assert digest(scene.render(['rg', 'b'], names(2), look)) == expected
    for stacks in (['b', 'rg'], ['rgbypo', ''], ['', '', 'o'], []):
        if stacks:
            scene.render(stacks, names(len(stacks)), other)
    assert digest(scene.render(('rg', ['b']), tuple(names(2)), look)) == expected


def test_two_scenes_side_by_side_do_not_disturb_each_other(scene):
    look = sample_look(np.random.default_rng(1), 1.0)
    before = digest(scene.render(['r', 'g'], names(2), look))
    with BlocksScene(64, 64) as other:
        other.render(['g', 'r'], names(2), sample_look(np.random.default_rng(2), 2.0))
        assert digest(scene.render(['r', 'g'], names(2), look)) == before


@pytest.mark.parametrize('field', [field.name for field in dataclasses.fields(Look)])
def test_every_factor_of_a_look_is_seen(scene, field):
    """Also what PyBullet would remember from call to call: light and colours."""
    base = dataclasses.replace(Look(), texture=0.05, noise=1.0, specular=0.1)
    drawn = sample_look(np.random.default_rng(5), 2.0)
    if field == 'texture':
        drawn = Look()
    changed = dataclasses.replace(base, **{field: getattr(drawn, field)})
    one = scene.render(['rg', 'b'], names(2), base).rgb
    two = scene.render(['rg', 'b'], names(2), changed).rgb
    assert (one != two).any()
    assert np.array_equal(one, scene.render(['rg', 'b'], names(2), base).rgb)


@pytest.mark.parametrize('field', ['ambient', 'diffuse', 'light_rgb', 'light_azimuth_deg',
                                   'light_elevation_deg', 'specular'])
def test_light_falls_on_the_blocks(scene, field):
    base = Look(specular=0.0)
    changed = dataclasses.replace(base, **{field: {
        'ambient': 0.4, 'diffuse': 0.3, 'light_rgb': (1.0, 0.8, 0.7), 'light_azimuth_deg': -40.0,
        'light_elevation_deg': 20.0, 'specular': 0.5}[field]})
    one, two = (scene.render(['rg', 'b'], names(2), look) for look in (base, changed))
    blocks = cv2.erode((one.segmentation > 0).astype(np.uint8), np.ones((5, 5))) > 0
    assert (one.rgb[blocks] != two.rgb[blocks]).any(axis=-1).mean() > 0.1


def test_a_closed_or_forgotten_scene_gives_its_simulator_back():
    import pybullet
    closed, forgotten = BlocksScene(64, 64), BlocksScene(64, 64)
    clients = [closed._bullet._client, forgotten._bullet._client]
    assert all(pybullet.isConnected(physicsClientId=client) for client in clients)
    closed.close()
    closed.close()
    del forgotten
    gc.collect()
    assert not any(pybullet.isConnected(physicsClientId=client) for client in clients)


def test_shapes_and_types(scene):
    frame = scene.render(['rg', 'b'], names(2), Look())
    assert (frame.rgb.shape, frame.rgb.dtype) == ((240, 320, 3), np.uint8)
    assert (frame.depth_m.shape, frame.depth_m.dtype) == ((240, 320), np.float32)
    assert (frame.segmentation.shape, frame.segmentation.dtype) == ((240, 320), np.int16)
    assert set(np.unique(frame.segmentation)) == {0, 1, 2, 3}
    assert np.isfinite(frame.depth_m).all()
    assert frame.depth_m.min() > 0.1


@pytest.mark.parametrize('n_columns', range(1, 9))
def test_blocks_are_seen_in_their_column_and_order(scene, n_columns):
    """Every column count: each block's mask is nearest to its column, stacks in order."""
    rng = np.random.default_rng(n_columns)
    for strength in (0.0, 1.0, 2.0):
        look = sample_look(rng, strength)
        stacks = [[] for _ in range(n_columns)]
        for colour in rng.permutation(list(COLOURS)):
            stacks[rng.integers(n_columns)].append(str(colour))
        frame = scene.render(stacks, names(n_columns), look)
        layout = scene.layout(n_columns, 6)
        for column, stack in enumerate(stacks):
            heights = []
            for level, colour in enumerate(stack):
                rows, columns = np.nonzero(frame.segmentation == COLOURS.index(colour) + 1)
                assert len(rows) > 60, 'every block is visible'
                places = frame.camera.project(np.array(
                    [(x, 0.0, (level + 0.5) * 0.05) for x in layout.column_x_m]))
                assert np.argmin(np.abs(places[:, 0] - columns.mean())) == column
                heights.append(rows.mean())
            assert heights == sorted(heights, reverse=True)


def test_full_height_stack_in_the_outermost_of_eight_columns(scene):
    for column in (0, 7):
        stacks = ['rgbypo' if k == column else '' for k in range(8)]
        frame = scene.render(stacks, names(8), sample_look(np.random.default_rng(0), 2.0))
        assert set(np.unique(frame.segmentation)) == set(range(7))
        border = np.ones(frame.segmentation.shape, bool)
        border[2:-2, 2:-2] = False
        assert not frame.segmentation[border].any()


def test_blocks_have_the_colour_they_are_named_after(scene):
    frame = scene.render(list(COLOURS), names(6), Look())
    hsv = cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2HSV)
    hues = {'r': 0, 'o': 15, 'y': 27, 'g': 62, 'b': 109, 'p': 146}  # of 180
    for index, colour in enumerate(COLOURS):
        hue = int(np.median(hsv[frame.segmentation == index + 1][:, 0]))
        away = min((hue - hues[colour]) % 180, (hues[colour] - hue) % 180)
        assert away <= 6, (colour, hue)


def plate_pictures(labels, width, height, look):
    """What each plate shows, cut out upright; the same plate size for all."""
    with BlocksScene(width, height) as scene:
        frame = scene.render([''] * len(labels), labels, look)
        layout = scene.layout(len(labels), 0)
    cuts = []
    for x in layout.column_x_m:
        half_w, half_h = min(0.45 * layout.pitch_m, 0.0375), 0.44 * 0.035
        z = -0.54 * 0.035
        corners = frame.camera.project(np.array(
            [(x - half_w, -0.0575, z + half_h), (x + half_w, -0.0575, z + half_h),
             (x + half_w, -0.0575, z - half_h), (x - half_w, -0.0575, z - half_h)]))
        target = np.array([(0, 0), (63, 0), (63, 23), (0, 23)], np.float32)
        warp = cv2.getPerspectiveTransform(corners.astype(np.float32), target)
        grey = cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2GRAY)
        cuts.append(cv2.warpPerspective(grey, warp, (64, 24)).astype(float))
    return cuts


@pytest.mark.parametrize('size', [(640, 480), (320, 240)])
@pytest.mark.parametrize('strength', [0.0, 1.0])
def test_plates_can_be_read(size, strength):
    """Template matching: each of c1..c8 matches its own lettering best, by a margin."""
    labels = names(8)
    look = sample_look(np.random.default_rng(7), strength)
    templates = []
    for label in labels:
        ink = letter_plate(label, 2.0, 96)
        templates.append(255.0 - cv2.resize(ink, (64, 24), interpolation=cv2.INTER_AREA))
    for column, cut in enumerate(plate_pictures(labels, *size, look)):
        scores = [np.corrcoef(cut.ravel(), t.ravel())[0, 1] for t in templates]
        assert int(np.argmax(scores)) == column
        assert sorted(scores)[-1] - sorted(scores)[-2] > 0.02
        assert cut.max() - cut.min() > 100, 'ink stands out from the plate'


def test_plates_follow_the_given_names(scene):
    """The same scene with other names differs on the plates only."""
    one = scene.render(['r', 'g'], ['c1', 'c2'], Look())
    two = scene.render(['r', 'g'], ['c2', 'c1'], Look())
    changed = (one.rgb != two.rgb).any(axis=-1)
    assert 20 < changed.sum() < 2500
    edge = scene.camera(2, 2, Look()).project(np.array([(0.0, -0.0575, 0.0)]))[0, 1]
    assert np.nonzero(changed)[0].min() > edge


def test_every_glyph_is_different_and_long_names_fit():
    letters = 'abcdefghijklmnopqrstuvwxyz0123456789_-.'
    plates = [letter_plate(letter, 1.0, 64).tobytes() for letter in letters]
    assert len(set(plates)) == len(letters)
    assert letter_plate('C', 1.0, 64).tobytes() == letter_plate('c', 1.0, 64).tobytes()
    assert glyph('ß') != glyph('s')
    for text in ('column_12', 'a_very_long_column_name', 'gjpqy', 'c1'):
        ink = letter_plate(text, 2.2, 96)
        assert ink.max() > 200
        assert not ink[0].any() and not ink[-1].any()
        assert not ink[:, 0].any() and not ink[:, -1].any()


@pytest.mark.parametrize(('stacks', 'labels', 'words'), [
    ([], [], '0 columns'),
    ([''] * 9, names(9), '9 columns'),
    (['x'], ['c1'], "unknown colour 'x'"),
    (['rr'], ['c1'], "'r' is in the stacks twice"),
    (['r', 'r'], ['c1', 'c2'], 'twice'),
    (['r'], ['c1', 'c2'], '2 names for 1 columns'),
])
def test_what_cannot_be_shown_is_named(scene, stacks, labels, words):
    with pytest.raises(ValueError, match=words):
        scene.render(stacks, labels, Look())


@pytest.mark.parametrize('wrong', [{'width': 8}, {'supersampling': 5}])
def test_bad_scene_settings(wrong):
    with pytest.raises(ValueError, match='picture|supersampling'):
        BlocksScene(**{'width': 64, 'height': 64, **wrong})


def test_supersampling_smooths_edges_but_not_the_mask():
    look = Look(shadow=0.0)
    frames = []
    for supersampling in (1, 2, 4):
        with BlocksScene(160, 120, supersampling=supersampling) as scene:
            frames.append(scene.render(['r'], ['c1'], look))
    masks = [frame.segmentation > 0 for frame in frames]
    assert (masks[0] ^ masks[1]).mean() < 0.01
    assert (masks[1] ^ masks[2]).mean() < 0.01
    colours = [len(np.unique(frame.rgb[20:80].reshape(-1, 3), axis=0)) for frame in frames]
    assert colours[0] < colours[1]


def test_wide_angle_and_odd_pictures_do_not_break():
    for width, height, fov in ((64, 64, 90.0), (400, 100, 20.0), (100, 400, 30.0)):
        with BlocksScene(width, height, fov_deg=fov) as scene:
            for seed in range(4):
                look = sample_look(np.random.default_rng(seed), 2.0)
                frame = scene.render(['rg', '', 'b'], names(3), look)
                assert set(np.unique(frame.segmentation)) == {0, 1, 2, 3}
                assert np.isfinite(frame.depth_m).all()


def test_shadow_darkens_the_table_only(scene):
    lit = scene.render(['rg', ''], names(2), Look(shadow=0.0))
    dark = scene.render(['rg', ''], names(2), Look(shadow=0.5))
    difference = lit.rgb.astype(int) - dark.rgb.astype(int)
    assert difference.min() >= 0
    assert (difference.max(axis=-1) > 10).sum() > 100
    assert difference[lit.segmentation > 0].max() <= 60  # smooth edges of blocks only
    assert np.median(difference[lit.segmentation > 0]) == 0


def test_positions_follow_the_stacks(scene):
    scene.place(['rg', '', 'b'], Look())
    positions = scene.positions_m()
    assert set(positions) == set('rgb')
    assert positions['g'][2] - positions['r'][2] == pytest.approx(0.05)
    assert positions['b'][0] - positions['r'][0] == pytest.approx(2 * scene.layout(3, 3).pitch_m)
