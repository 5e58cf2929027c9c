"""The embedded locator: what it reads, what it sees, what it replies, and the shipped network."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightplan.model import BackendError, DeadlineError, Form, InputError, Region, Target
from sightplan.model.query import ask_one, can_ask, part_name
from sightplan.model.whereabouts import Whereabouts
from sightplan.queries.locate import Locate, LocateReply
from sightplan.vlm.api import check_backend
from sightplan_belief import locate
from sightplan_models import embedded
from sightplan_models._locator_pictures import channels, fit, put_depth, put_image
from sightplan_models._locator_words import ids_of, mirrored, pieces, unknown_words, words_of
from sightplan_models._small_networks import KEPT
from sightplan_models.embedded import LOCATOR, SHIPPED, Backend, Settings, locator_is_shipped

torch = pytest.importorskip('torch')
from safetensors.torch import save_file  # noqa: E402

from sightplan_models import _embedded_locator as locating  # noqa: E402
from sightplan_models._locator_network import (  # noqa: E402
    COARSE,
    HEIGHT,
    MAP,
    WIDTH,
    Network,
    Pointed,
    Shape,
    code,
    peaks,
)

SEEN = WIDTH, HEIGHT
SMALL = Shape(4, 2, grams=64, width=32, heads=2, mlp=32, stem=8, channels=(8, 12, 16),
              blocks=(1, 1, 1), vision_layers=1, text_layers=1, layers=3, things=5)
RNG = np.random.default_rng(5)
IMAGE = RNG.integers(0, 256, (480, 640, 3), np.uint8)
DEPTH = RNG.uniform(0.5, 2.0, (480, 640)).astype(np.float32)


@pytest.fixture(scope='module')
def untrained(tmp_path_factory: Any) -> Path:
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp('models') / 'untrained'
    folder.mkdir()
    weights = {name: value.half() for name, value in Network(SMALL).state_dict().items()
               if value.is_floating_point()}
    save_file(weights, folder / locating.WEIGHTS_FILE)
    (folder / locating.SETTINGS_FILE).write_text(json.dumps({
        'shape': dataclasses.asdict(SMALL), 'words': ['red', 'mug', 'left'],
        'calibration': [0.1, 0.5, 0.25], 'existence': [-1.0, 0.5]}))
    return folder


@pytest.fixture
def small(untrained: Path) -> Any:
    return locating.EmbeddedLocator(untrained)


def request(text: str = 'the red mug', form: Form = Form.POINT, **rest: Any) -> Locate:
    return Locate(IMAGE, Target(text, form), **rest)


# Words -----------------------------------------------------------------------------------------

def test_words_are_read_without_case_and_signs_and_never_none() -> None:
    assert words_of("  Where's the RED-hot mug, please?") == (
        "where's", 'the', 'red', 'hot', 'mug', 'please')
    assert words_of('?!') == words_of('') == ('',)
    assert len(words_of('mug ' * 1000)) == 40
    assert ids_of(['mug', 'yonder'], {'mug': 3}) == [3, 0]


def test_unknown_words_share_pieces_with_their_like() -> None:
    many = 1 << 20
    mug, mugs, fork = (set(pieces(word, many)) for word in ('mug', 'mugs', 'fork'))
    assert len(mug & mugs) >= 2 and not mug & fork
    assert pieces('', 64) and all(0 <= piece < 64 for piece in pieces('whatever', 64))


def test_a_mirror_swaps_left_and_right_and_twice_is_as_before() -> None:
    said = words_of('the leftmost mug to the right of the bowl on the left')
    assert mirrored(said) == words_of('the rightmost mug to the left of the bowl on the right')
    assert mirrored(mirrored(said)) == said


# Pictures --------------------------------------------------------------------------------------

@pytest.mark.parametrize('attempt', range(10))
@pytest.mark.parametrize('size', [(640, 480), (1280, 720), (300, 900), (40, 30)])
def test_a_mark_is_found_again_where_it_was(attempt: int, size: tuple[int, int]) -> None:
    width, height = size
    image = np.zeros((height, width, 3), np.uint8)
    x, y = int(0.7 * width), int(0.3 * height)
    image[max(0, y - height // 20):y + height // 20 + 1,
          max(0, x - width // 20):x + width // 20 + 1] = 255
    frame = fit(size, SEEN, attempt)
    seen = put_image(image, frame, SEEN).astype(float)
    assert seen.shape == (HEIGHT, WIDTH, 3)
    inside = seen[frame.top:frame.top + frame.height, frame.left:frame.left + frame.width]
    assert inside.shape[:2] == (frame.height, frame.width)
    rows, columns = np.nonzero(inside[..., 0] > 127)
    found = frame.to_picture(columns.mean() + 0.5 + frame.left, rows.mean() + 0.5 + frame.top)
    marked = (np.argwhere(image[..., 0] > 0).mean(0) + 0.5) / (height, width)
    assert found == pytest.approx(marked[::-1], abs=0.02)
    depth = put_depth(image[..., 0].astype(np.float32), frame, SEEN)
    assert depth[frame.top:frame.top + frame.height,
                 frame.left:frame.left + frame.width][rows, columns].mean() > 200


def test_attempts_are_different_views_always_the_same_ones() -> None:
    frames = [fit((640, 480), SEEN, attempt) for attempt in range(9)]
    assert frames == [fit((640, 480), SEEN, attempt) for attempt in range(9)]
    assert len(set(frames)) == 9 and frames[0].width == WIDTH and not frames[0].mirrored
    assert frames[1] == dataclasses.replace(frames[0], mirrored=True)
    assert all(f.left >= 0 and f.top >= 0 and f.left + f.width <= WIDTH
               and f.top + f.height <= HEIGHT for f in frames)


def test_a_place_beside_the_picture_becomes_its_edge() -> None:
    frame = fit((300, 900), SEEN)
    assert frame.to_picture(0, 0) == (0.0, 0.0) and frame.to_picture(WIDTH, HEIGHT) == (1.0, 1.0)


def test_depth_is_relative_and_may_be_missing() -> None:
    image = IMAGE[:HEIGHT, :WIDTH]
    depth = DEPTH[:HEIGHT, :WIDTH].copy()
    depth[:40] = 0
    depth[40:60] = np.nan
    seen = channels(image, depth)
    assert seen.shape == (5, HEIGHT, WIDTH) and np.abs(seen).max() <= 1
    assert np.isfinite(seen).all() and not seen[3:, :60].any() and seen[4, 60:].all()
    assert np.allclose(channels(image, 10 * depth), seen, atol=1e-5)
    assert np.array_equal(channels(image, None)[:3], seen[:3])
    assert not channels(image, None)[3:].any() and not channels(image, 0 * depth)[3:].any()


# Network ---------------------------------------------------------------------------------------

def test_peaks_are_local_maxima_highest_first() -> None:
    heat = torch.full((1, *COARSE), -9.0)
    heat[0, 10, 20], heat[0, 10, 21], heat[0, 40, 70] = 3.0, 2.0, 2.5
    assert peaks(heat, 2).tolist() == [[10 * COARSE[1] + 20, 40 * COARSE[1] + 70]]


def test_codes_tell_places_apart() -> None:
    x, y = torch.rand(2, 50)
    found = code(x, y)
    apart = torch.cdist(found, found) + torch.eye(50) * 9
    assert found.shape == (50, 24) and apart.min() > 1e-3


@pytest.fixture(scope='module')
def net() -> Any:
    torch.manual_seed(1)
    return Network(SMALL).eval()


@torch.inference_mode()
def test_targets_of_one_picture_do_not_disturb_each_other(net: Any) -> None:
    torch.manual_seed(2)
    seen = net.look(torch.randn(2, 5, HEIGHT, WIDTH))
    text, padding = torch.randn(2, 3, 6, 32), torch.zeros(2, 3, 6, dtype=torch.bool)
    padding[1, 2, 4:] = True
    together = net.point(seen, text, padding)[-1]
    assert together.mask.shape == together.point.shape == (2, 3, *MAP)
    assert together.chosen.shape == (2, 3, 5) and together.absent.shape == (2, 3)
    short = net.point(seen, text[:, 2:, :4], padding[:, 2:, :4])[-1]
    torch.testing.assert_close(short.mask[1, 0], together.mask[1, 2], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(short.absent[1, 0], together.absent[1, 2], atol=1e-4, rtol=1e-4)
    assert not torch.allclose(together.mask[1, 1], together.mask[1, 2])


@torch.inference_mode()
def test_the_order_of_words_counts_and_inner_layers_tell_too(net: Any) -> None:
    seen = net.look(torch.randn(1, 5, HEIGHT, WIDTH))
    text, padding = torch.randn(1, 1, 6, 32), torch.zeros(1, 1, 6, dtype=torch.bool)
    inner, last = net.point(seen, text, padding, all_layers=True)
    turned = net.point(seen, text.flip(2), padding)[-1]
    assert not torch.allclose(turned.mask, last.mask, atol=1e-6)
    assert inner.mask.shape[2:] == COARSE and last.mask.shape[2:] == MAP
    torch.testing.assert_close(net.point(seen, text, padding)[-1].mask, last.mask)


# Replies ---------------------------------------------------------------------------------------

def pointed(*spots: tuple[int, int, float], absent: float = -9.0) -> Pointed:
    """Heat maps with squares of 7x7 cells around spots, each with its logit."""
    mask, point = torch.full((1, 1, *MAP), -6.0), torch.full((1, 1, *MAP), -9.0)
    for row, column, logit in spots:
        mask[0, 0, row - 3:row + 4, column - 3:column + 4] = 4.0
        point[0, 0, row - 1:row + 2, column - 1:column + 2] = logit
    return Pointed(mask, point, torch.full((1, 1), absent), torch.zeros(1, 1, 5),
                   torch.zeros(1, 1, 1, 5), torch.zeros(1, 1, 5, 32))


def say(monkeypatch: Any, small: Any, reply: Pointed) -> None:
    monkeypatch.setattr(small, '_read', lambda sight, words: (reply, 0.0))


def test_a_point_is_the_likeliest_place(monkeypatch: Any, small: Any) -> None:
    say(monkeypatch, small, pointed((30, 100, 3.0), (90, 20, 2.0)))
    found = ask_one(small, request())
    assert found.regions[0].points == (pytest.approx((100.5 / 160, 30.5 / 120)),)
    assert found.regions[0].form is Form.POINT and len(found.regions) == 1
    assert found.probability == found.regions[0].probability and not found.unread


def test_a_lone_spike_is_not_trusted(monkeypatch: Any, small: Any) -> None:
    reply = pointed((30, 100, 3.0))
    reply.point[0, 0, 80, 20] = 3.6
    say(monkeypatch, small, reply)
    (x, _), = ask_one(small, request()).regions[0].points
    assert x == pytest.approx(100.5 / 160)


def test_a_box_is_the_extent_of_the_part_that_is_pointed_at(monkeypatch: Any, small: Any) -> None:
    say(monkeypatch, small, pointed((30, 100, 3.0), (90, 20, 2.0)))
    box, = ask_one(small, request(form=Form.BOX)).regions
    assert box.form is Form.BOX
    assert box.points == (pytest.approx((97 / 160, 27 / 120)),
                          pytest.approx((104 / 160, 34 / 120)))


def test_a_box_in_a_mirror_is_turned_back(monkeypatch: Any, small: Any) -> None:
    say(monkeypatch, small, pointed((30, 100, 3.0)))
    (x1, y1), (x2, y2) = ask_one(small, request(form=Form.BOX, attempt=1)).regions[0].points
    assert (x1, y1, x2, y2) == pytest.approx((1 - 104 / 160, 27 / 120, 1 - 97 / 160, 34 / 120))


def test_a_box_has_an_area_even_where_nothing_seems_to_be_meant(monkeypatch: Any, small: Any,
                                                                ) -> None:
    say(monkeypatch, small, dataclasses.replace(
        pointed((30, 100, 3.0)), mask=torch.full((1, 1, *MAP), -6.0)))
    (x1, y1), (x2, y2) = ask_one(small, request(form=Form.BOX)).regions[0].points
    assert x2 > x1 and y2 > y1


def test_points_are_one_for_each_part_the_best_first(monkeypatch: Any, small: Any) -> None:
    say(monkeypatch, small, pointed((90, 20, 2.0), (30, 100, 3.0), (60, 140, 1.0)))
    regions = ask_one(small, request(form=Form.POINTS)).regions
    assert [region.points[0] for region in regions] == [
        pytest.approx(((c + 0.5) / 160, (r + 0.5) / 120))
        for r, c in ((30, 100), (90, 20), (60, 140))]
    assert all(region.form is Form.POINT for region in regions)
    say(monkeypatch, small, dataclasses.replace(
        pointed((30, 100, 3.0)), mask=torch.full((1, 1, *MAP), -6.0)))
    assert len(ask_one(small, request(form=Form.POINTS)).regions) == 1


def test_what_is_likely_absent_is_less_probable(monkeypatch: Any, small: Any) -> None:
    found = []
    for absent in (-9.0, 3.0, 9.0):
        say(monkeypatch, small, pointed((30, 100, 3.0), absent=absent))
        found.append(ask_one(small, request()).probability)
    assert found == sorted(found, reverse=True) and found[0] - found[2] > 0.2


def test_nothing_beside_the_picture_is_pointed_at(monkeypatch: Any, small: Any) -> None:
    say(monkeypatch, small, pointed((60, 10, 9.0), (60, 80, 3.0)))
    tall = Locate(np.ascontiguousarray(IMAGE[:, :200]), Target('the red mug'))
    (x, y), = ask_one(small, tall).regions[0].points
    assert (x, y) == pytest.approx((0.5, 0.5), abs=0.02)


def test_a_probability_is_a_logistic_regression_of_the_evidence() -> None:
    assert locating.calibrated((0.0, 0.0), (0.0, 1.0, 1.0)) == 0.5
    assert locating.calibrated((2.0, -1.0), (0.5, 1.0, 2.0)) == pytest.approx(
        1 / (1 + np.exp(-0.5)))
    score, inside = torch.zeros(MAP), torch.full(MAP, 0.5)
    score[5, 5], score[5, 9] = 0.5, 0.25
    near, part = locating.evidence(score, inside, 5, 5)
    assert near == pytest.approx(0.0, abs=1e-5) and part == pytest.approx(0.0)


# The locator -----------------------------------------------------------------------------------

def test_a_picture_is_encoded_once_for_all_its_targets(monkeypatch: Any, small: Any) -> None:
    looked = []
    look = small._network.look
    monkeypatch.setattr(small._network, 'look', lambda x: looked.append(1) or look(x))
    first = [ask_one(small, request(text, depth_m=DEPTH)) for text in ('the mug', 'a red thing')]
    assert len(looked) == 1
    assert ask_one(small, dataclasses.replace(request('the mug', depth_m=DEPTH),
                                            image=IMAGE.copy())) == first[0]
    assert len(looked) == 1
    ask_one(small, request('the mug'))  # without depth it is another picture
    ask_one(small, request('the mug', attempt=1))
    assert len(looked) == 3
    for k in range(6):
        ask_one(small, Locate(np.full_like(IMAGE, k), Target('the mug')))
    assert len(looked) == 9 and len(small._kept) == KEPT
    ask_one(small, request('the mug', depth_m=DEPTH))
    assert len(looked) == 10


def test_depth_and_words_matter(small: Any, untrained: Path) -> None:
    def chance(**rest: Any) -> float | None:
        found: LocateReply = ask_one(small, request(**rest))
        return found.probability

    plain = chance(text='the red mug')
    assert plain == chance(text='The red mug?') and plain != chance(text='the left mug')
    assert plain != chance(text='the red mug', depth_m=DEPTH)
    flat = locating.EmbeddedLocator(untrained, use_depth=False)
    assert ask_one(flat, request(depth_m=DEPTH)).probability == plain


def test_attempts_vary_and_repeat(small: Any) -> None:
    found = [ask_one(small, request(attempt=k)) for k in range(5)]
    assert found == [ask_one(small, request(attempt=k)) for k in range(5)]
    assert len({reply.probability for reply in found}) == 5


def test_a_mirrored_view_is_asked_about_the_other_side(monkeypatch: Any, small: Any) -> None:
    asked = []
    read = small._read
    monkeypatch.setattr(small, '_read', lambda sight, words: (
        asked.append(words) or read(sight, words)))
    for attempt in (0, 1, 2, 3):
        ask_one(small, request('the mug on the left', attempt=attempt))
    assert [words[-1] for words in asked] == ['left', 'right', 'left', 'right']


def test_another_size_of_picture_and_of_depth(small: Any) -> None:
    for size in ((2, 3), (500, 40), (720, 1280)):
        image = RNG.integers(0, 256, (*size, 3), np.uint8)
        reply = ask_one(small, Locate(image, Target('mug', Form.BOX), DEPTH[:7, :9]))
        assert all(0 <= v <= 1 for point in reply.regions[0].points for v in point)
        assert 0 <= reply.probability <= 1


def test_traces_and_what_is_no_picture_are_refused(small: Any) -> None:
    with pytest.raises(InputError, match='draws no traces'):
        ask_one(small, request(form=Form.TRACE))
    for bad in (IMAGE[..., 0], IMAGE.astype(float), IMAGE[:0], None):
        with pytest.raises(InputError, match='uint8 RGB'):
            ask_one(small, Locate(bad, Target('mug')))
    with pytest.raises(InputError, match='depth'):
        ask_one(small, request(depth_m=DEPTH[0]))


def test_a_time_limit_that_passed_is_an_error(small: Any) -> None:
    ask_one(small, request(), 60.0)
    with pytest.raises(DeadlineError, match='limit was 0.00'):
        ask_one(small, request(), 0.0)


def test_the_name_tells_weights_and_settings_apart(untrained: Path, tmp_path: Path) -> None:
    names = {locating.EmbeddedLocator(untrained).name}
    for file in (locating.WEIGHTS_FILE, locating.SETTINGS_FILE):
        folder = tmp_path / file / 'untrained'
        folder.mkdir(parents=True)
        for name in (locating.WEIGHTS_FILE, locating.SETTINGS_FILE):
            (folder / name).write_bytes((untrained / name).read_bytes())
        if file == locating.SETTINGS_FILE:
            (folder / file).write_text((folder / file).read_text().replace('0.25', '0.5'))
        else:
            content = bytearray((folder / file).read_bytes())
            content[-1] ^= 1
            (folder / file).write_bytes(content)
        names.add(locating.EmbeddedLocator(folder).name.rpartition('@')[2])
    assert len(names) == 3


@pytest.mark.parametrize('harm', ['gone', 'torn', 'unfit', 'nonsense'])
def test_a_folder_without_a_locator_is_named(untrained: Path, tmp_path: Path, harm: str) -> None:
    for name in (locating.WEIGHTS_FILE, locating.SETTINGS_FILE):
        (tmp_path / name).write_bytes((untrained / name).read_bytes())
    weights, settings = tmp_path / locating.WEIGHTS_FILE, tmp_path / locating.SETTINGS_FILE
    if harm == 'gone':
        weights.unlink()
    elif harm == 'torn':
        weights.write_bytes(weights.read_bytes()[:100])
    elif harm == 'unfit':
        settings.write_text(settings.read_text().replace('"width": 32', '"width": 64'))
    else:
        settings.write_text('[]')
    with pytest.raises(BackendError, match='locator_dir') as error:
        locating.EmbeddedLocator(tmp_path)
    assert str(tmp_path) in str(error.value)


# The backend -----------------------------------------------------------------------------------

@cache
def backend(folder: str = '', depth: bool = True) -> Backend:
    return Backend(Settings(locator_dir=folder, depth=depth))


def test_the_backend_points_and_loads_that_only_then(untrained: Path) -> None:
    made = Backend(Settings(locator_dir=str(untrained)))
    assert can_ask(made, Locate) and made._parts[Locate].loaded is None
    reply = ask_one(made, request(depth_m=DEPTH))
    assert made._parts[Locate].loaded is not None and reply.regions[0].form is Form.POINT
    assert reply.model == part_name(made, Locate) == locating.EmbeddedLocator(untrained).name
    assert reply == ask_one(locating.EmbeddedLocator(untrained), request(depth_m=DEPTH))
    flat = backend(str(untrained), depth=False)
    assert ask_one(flat, request(depth_m=DEPTH)) == ask_one(flat, request())


def test_without_shipped_weights_the_backend_says_so(monkeypatch: Any, tmp_path: Path) -> None:
    assert locator_is_shipped() == (
        SHIPPED / LOCATOR / locating.WEIGHTS_FILE).is_file()
    monkeypatch.setattr(embedded, 'locator_is_shipped', lambda: False)
    made = Backend()
    assert not can_ask(made, Locate)
    with pytest.raises(InputError, match='without the weights of a locator') as error:
        ask_one(made, request())
    assert 'locator_dir' in str(error.value)
    with pytest.raises(InputError, match='cannot point'):
        check_backend('embedded', Locate, made)


def test_a_missing_folder_is_an_error_of_locating_only(tmp_path: Path) -> None:
    made = Backend(Settings(locator_dir=str(tmp_path / 'nowhere')))
    with pytest.raises(BackendError, match='nowhere'):
        ask_one(made, request())


# The shipped network ---------------------------------------------------------------------------

SHIPS = pytest.mark.skipif(not locator_is_shipped(), reason='no weights are shipped')


some_scenes = pytest.mark.parametrize('count', [5, pytest.param(12, marks=pytest.mark.slow)])


@cache
def scene_of(number: int) -> Any:
    tabletop = pytest.importorskip('sightplan_sim.tabletop')
    return tabletop.make_source().scene(600_000 + number)


@cache
def located(number: int, depth: bool = True, grey: bool = False) -> list[tuple[Any, bool, float]]:
    """The tasks of a scene, whether the point is right, and its probability."""
    scene, found = scene_of(number), []
    image = np.full_like(scene.image, 128) if grey else scene.image
    for task in scene.tasks:
        if not grey or task.stage == 's1':
            region: Region = ask_one(backend(depth=depth), Locate(image, Target(task.text),
                                                                  scene.depth_m)).regions[0]
            (column, row), = region.pixels(*scene.image.shape[1::-1])
            assert region.probability is not None
            found.append((task, bool(task.mask[min(row, 479), min(column, 639)]),
                          region.probability))
    return found


def hits(count: int, pick: Any, **how: bool) -> list[bool]:
    return [right for number in range(count) for task, right, _ in located(number, **how)
            if pick(task) and task.mask.any()]


@SHIPS
def test_the_shipped_folder_is_small_and_has_its_card() -> None:
    folder = SHIPPED / LOCATOR
    assert sum(file.stat().st_size for file in folder.glob('*.safetensors')) <= 8 * 2**20
    assert (folder / 'README.md').is_file()
    measured = json.loads((folder / 'accuracy.json').read_text())
    assert measured['held_out'] and measured['views']['depth']['s1']['on_mask']['n'] >= 1000


def is_thing(task: Any) -> bool:
    return bool(task.stage == 's1')


@SHIPS
@some_scenes
def test_it_points_at_things_and_parts_that_it_never_saw(count: int) -> None:
    found = hits(count, is_thing)
    assert len(found) > 8 * count and np.mean(found) >= 0.75
    found = hits(count, lambda task: task.kind in ('afd', 'contact'))
    assert len(found) > 5 * count and np.mean(found) >= 0.6


@SHIPS
@some_scenes
def test_it_looks_at_the_picture(count: int) -> None:
    flat = hits(count, is_thing, grey=True, depth=False)
    grey = hits(count, is_thing, grey=True)
    assert np.mean(flat) < 0.15 and np.mean(grey) < np.mean(hits(count, is_thing)) - 0.2


@SHIPS
def test_its_boxes_hold_its_points_and_what_is_meant() -> None:
    scene = scene_of(0)
    for task in scene.tasks:
        ask = Locate(scene.image, Target(task.text, Form.BOX), scene.depth_m)
        (x1, y1), (x2, y2) = ask_one(backend(), ask).regions[0].points
        (x, y), = ask_one(backend(), dataclasses.replace(
            ask, target=Target(task.text))).regions[0].points
        assert x1 <= x <= x2 and y1 <= y <= y2


@SHIPS
@some_scenes
def test_its_probability_is_higher_where_it_is_right(count: int) -> None:
    found = [one for number in range(count) for one in located(number)]
    right, wrong = ([p for _, hit, p in found if hit is wanted] for wanted in (True, False))
    assert len(wrong) > 5 and np.mean(right) - np.mean(wrong) > 0.15


# What it does not know.

@pytest.mark.parametrize(('text', 'unknown'), [
    ('the red mug', ()), ('Where is the mug whose red is left?', ()),
    ('the red unicorn', ('unicorn',)), ('a mug, a mug and a Dog', ('a', 'and', 'dog')),
    ('the tuba', ('tuba',)), ('???', ('',)), ('', ('',)), ('where is it', ('it',)),
    ('the', ('',)),
    (' '.join(['red'] * 41), ('red',))])
def test_words_that_are_not_known_or_not_read_are_told(text: str,
                                                       unknown: tuple[str, ...]) -> None:
    """Also those that training texts had at random, which mean nothing to it."""
    assert unknown_words(text, {'red', 'mug', 'left', 'tuba'}) == unknown


def test_a_reply_tells_which_words_are_unknown_and_whether_the_target_exists(small: Any) -> None:
    for form in (Form.POINT, Form.POINTS, Form.BOX):
        reply = ask_one(small, Locate(IMAGE, Target('the red unicorn', form)))
        assert reply.unknown == ('unicorn',) and 0.0 <= reply.exists <= 1.0


@pytest.mark.skipif(not locator_is_shipped(), reason='no locator is shipped')
def test_the_unicorn_is_sure_nowhere_and_what_is_there_is() -> None:
    """In pictures of the documentation."""
    pictures = Path(__file__).parents[3] / 'docs' / 'images'
    absent, bottle = locate(pictures / 'tabletop.png', ['the unicorn', 'the bottle'])
    assert not absent.sure and "does not know 'unicorn'" in absent.doubt
    assert absent.whereabouts is Whereabouts.CANNOT_TELL and "'unicorn'" in absent.reason
    assert bottle.whereabouts is Whereabouts.NOT_HERE and bottle.probability > 0.7
    there, = locate(pictures / 'blocks.png', ['the red block'])
    assert there.sure and not there.doubt, there
    assert there.whereabouts is Whereabouts.HERE and there.present > 0.95
    plainly, = locate(pictures / 'tabletop.png', ['the unicorn'], max_askings=1)
    assert not plainly.sure and "does not know 'unicorn'" in plainly.doubt
