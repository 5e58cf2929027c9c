"""Finding all things in a picture: the contract, and what ``embedded`` does with candidates."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightplan.model import BackendError, DeadlineError, Form, InputError, Region
from sightplan.model.query import ModelByKind, ask_one, can_ask, part_name
from sightplan.queries.detect import (
    CABINET,
    CATEGORIES,
    COLOURS,
    DRAWERS,
    OTHER,
    Detect,
    Detection,
    DetectReply,
)
from sightplan.vlm.api import check_backend
from sightplan_models import embedded
from sightplan_models.embedded import DETECTOR, SHIPPED, Backend, Settings

torch = pytest.importorskip('torch')
from safetensors.torch import save_file  # noqa: E402

from sightplan_models import _embedded_detector as detecting  # noqa: E402
from sightplan_models._detector_network import Found, Network  # noqa: E402
from sightplan_models._locator_network import COARSE, HEIGHT, WIDTH, Shape  # noqa: E402
from sightplan_models._locator_pictures import fit  # noqa: E402

KINDS = ('mug', 'teapot', 'fork', CABINET, *DRAWERS)
HUES = ('red', 'green', 'blue')
SMALL = Shape(1, len(KINDS), width=32, heads=2, mlp=32, stem=8, channels=(8, 12, 16),
              blocks=(1, 1, 1), vision_layers=1, fine=4)
RNG = np.random.default_rng(5)
IMAGE = RNG.integers(0, 256, (480, 640, 3), np.uint8)
DEPTH = RNG.uniform(0.5, 2.0, (480, 640)).astype(np.float32)
BOX = Region(Form.BOX, ((0.1, 0.2), (0.3, 0.6)))


@pytest.fixture(scope='module')
def untrained(tmp_path_factory: Any) -> Path:
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp('models') / 'untrained'
    folder.mkdir()
    network = Network(SMALL, len(HUES))
    torch.nn.init.constant_(network.dense.bias[:1], 1.0)
    save_file({name: value.half() for name, value in network.state_dict().items()
               if value.is_floating_point()}, folder / detecting.WEIGHTS_FILE)
    (folder / detecting.SETTINGS_FILE).write_text(json.dumps({
        'shape': dataclasses.asdict(SMALL), 'categories': KINDS, 'colours': HUES,
        'calibration': detecting.NO_CALIBRATION}))
    return folder


# The contract ----------------------------------------------------------------------------------

def test_a_detection_tells_its_likeliest_category_and_colour() -> None:
    found = Detection(BOX, {'cup': 0.3, 'mug': 0.6}, {'red': 0.2, 'pink': 0.7}, 0.9)
    assert (found.category, found.colour) == ('mug', 'pink')
    assert Detection(BOX, {}).category == Detection(BOX, {}).colour == ''


@pytest.mark.parametrize(('change', 'message'), [
    ({'region': Region(Form.POINT, ((0.1, 0.1),))}, 'box'),
    ({'categories': {'mug': 0.7, 'cup': 0.7}}, 'categories'),
    ({'colours': {'red': -0.1}}, 'colours'),
    ({'probability': 1.2}, 'probability'),
    ({'opened': 1.2}, 'opened'),
])
def test_what_is_no_detection_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Detection(**{'region': BOX, 'categories': {'mug': 0.7}, **change})


def test_a_backend_that_cannot_detect_is_named_with_those_that_can() -> None:
    class Blind(ModelByKind):
        """Finds nothing."""

    assert not can_ask(Blind(), Detect)
    with pytest.raises(InputError, match="'blind' cannot find all things"):
        check_backend('blind', Detect, Blind())


def test_the_request_knows_its_size() -> None:
    assert Detect(IMAGE).size == (640, 480)


# Candidates ------------------------------------------------------------------------------------

def found(boxes: Any, kinds: Any, scores: Any) -> Found:
    """What the network would say of things of these boxes and kinds."""
    category = torch.full((1, len(kinds), len(KINDS)), -3.0)
    for k, kind in enumerate(kinds):
        category[0, k, KINDS.index(kind)] = 3.0
    colour = torch.zeros(1, len(kinds), len(HUES))
    colour[..., 1] = 2.0
    return Found(torch.tensor([scores]), torch.tensor([boxes]), category, colour,
                 torch.full((1, len(kinds)), 1.5))


def told(untrained: Path, *args: Any, attempt: int = 0) -> list[Detection]:
    made = detecting.EmbeddedDetector(untrained)
    return made.told(made._distinct(found(*args), fit((640, 480), (WIDTH, HEIGHT), attempt)))


def test_of_one_thing_the_likeliest_candidate_is_told(untrained: Path) -> None:
    one, beside = [0.1, 0.1, 0.3, 0.3], [0.11, 0.1, 0.31, 0.3]
    half = [0.1, 0.1, 0.3, 0.2]
    kept = told(untrained, [one, beside, half], ['mug', 'fork', 'mug'], [1.0, 2.0, 0.5])
    assert [one.category for one in kept] == ['fork', 'mug']
    assert kept[0].probability == pytest.approx(1 / (1 + np.exp(-2.0)))
    assert np.ravel(kept[0].region.points) == pytest.approx(beside)
    assert kept[1].probability == pytest.approx(1 / (1 + np.exp(-0.5)))
    apart = told(untrained, [one, half], ['mug', 'fork'], [1.0, 0.5])
    assert [one.category for one in apart] == ['mug', 'fork']
    assert [one.category for one in told(
        untrained, [one, half], ['mug', 'mug'], [1.0, 0.5])] == ['mug']


def test_a_cabinet_is_not_its_drawer(untrained: Path) -> None:
    one = [0.1, 0.1, 0.3, 0.3]
    kept = told(untrained, [one, one], [CABINET, DRAWERS[0]], [1.0, 0.9])
    assert {one.category for one in kept} == {CABINET, DRAWERS[0]}


def test_drawers_are_open_or_closed_and_have_no_colour(untrained: Path) -> None:
    mug, drawer = told(untrained, [[0.1, 0.1, 0.3, 0.3], [0.5, 0.5, 0.7, 0.7]],
                       ['mug', DRAWERS[1]], [1.0, 0.9])
    assert mug.opened is None and mug.colour == 'green'
    assert drawer.opened == pytest.approx(1 / (1 + np.exp(-1.5))) and not drawer.colours


def test_of_two_drawers_one_is_the_upper_one(untrained: Path) -> None:
    above, below = [0.5, 0.3, 0.7, 0.45], [0.5, 0.5, 0.7, 0.65]
    for kinds in ((DRAWERS[0], DRAWERS[0]), (DRAWERS[1], DRAWERS[1])):
        first, second = told(untrained, [below, above], kinds, [1.0, 0.9])
        assert (first.category, second.category) == (DRAWERS[1], DRAWERS[0])
    one = told(untrained, [below], [DRAWERS[0]], [1.0])
    assert one[0].category == DRAWERS[0]


def test_what_is_no_category_counts_as_other(untrained: Path) -> None:
    [pot] = told(untrained, [[0.1, 0.1, 0.3, 0.3]], ['teapot'], [1.0])
    assert pot.category == OTHER and set(pot.categories) <= set(CATEGORIES)
    assert sum(pot.categories.values()) == pytest.approx(1.0)


def test_what_is_improbable_or_has_no_extent_is_left_out(untrained: Path) -> None:
    assert told(untrained, [[0.1, 0.1, 0.3, 0.3]], ['mug'], [-2.0]) == []
    assert told(untrained, [[0.3, 0.1, 0.3, 0.3]], ['mug'], [2.0]) == []


def test_boxes_of_a_mirrored_view_are_the_pictures(untrained: Path) -> None:
    [one] = told(untrained, [[0.1, 0.1, 0.3, 0.4]], ['mug'], [1.0], attempt=1)
    assert np.ravel(one.region.points) == pytest.approx([0.7, 0.1, 0.9, 0.4])


def test_overlap_is_intersection_over_union() -> None:
    assert detecting.overlap((0, 0, 2, 2), (1, 0, 3, 2)) == pytest.approx(1 / 3)
    assert detecting.overlap((0, 0, 1, 1), (1, 1, 2, 2)) == 0


# The network -----------------------------------------------------------------------------------

def test_a_thing_is_read_where_places_take_its_centre_for_theirs() -> None:
    network = Network(SMALL, len(HUES)).eval()
    with torch.no_grad():
        seen = network.look(torch.zeros(1, 5, HEIGHT, WIDTH))
        columns = COARSE[1]
        dense = torch.zeros_like(seen.dense)
        dense[:, 3:5], dense[:, 5] = 0.05, -9.0
        box = torch.zeros_like(seen.edges)
        for left, value in ((10, 0.2), (50, 0.8)):
            x = (torch.arange(left, left + 8) + 0.5) / columns
            dense[0, 1, 20:26, left:left + 8] = (left + 4.5) / columns - x
            dense[0, 5, 20:26, left:left + 8] = 9.0
            box[0, :2, 20:26, left:left + 8] = value - 0.1
            box[0, 2:, 20:26, left:left + 8] = value
        at = torch.tensor([[23 * columns + 14, 23 * columns + 54]])
        read = network.at_centres(dataclasses.replace(seen, dense=dense, edges=box), at)
    assert read.box[0].numpy() == pytest.approx(
        np.array([[0.1, 0.1, 0.2, 0.2], [0.7, 0.7, 0.8, 0.8]]), abs=0.01)


# The backend -----------------------------------------------------------------------------------

def test_the_backend_detects_and_loads_that_only_then(untrained: Path) -> None:
    made = Backend(Settings(detector_dir=str(untrained)))
    assert can_ask(made, Detect) and made._parts[Detect].loaded is None
    reply = ask_one(made, Detect(IMAGE, DEPTH))
    assert made._parts[Detect].loaded is not None and isinstance(reply,
            DetectReply) and reply.detections
    chances = [one.probability for one in reply.detections]
    assert chances == sorted(chances, reverse=True)
    assert all(set(one.categories) <= set(CATEGORIES) and set(one.colours) <= set(COLOURS)
               for one in reply.detections)
    assert reply.model == part_name(made, Detect) == detecting.EmbeddedDetector(untrained).name
    assert ask_one(made, Detect(IMAGE, DEPTH)) == reply
    assert reply == ask_one(detecting.EmbeddedDetector(untrained), Detect(IMAGE, DEPTH))
    flat = Backend(Settings(detector_dir=str(untrained), depth=False))
    assert ask_one(flat, Detect(IMAGE, DEPTH)) == ask_one(flat, Detect(IMAGE))


def test_without_shipped_weights_the_backend_says_so(monkeypatch: Any) -> None:
    assert embedded.detector_is_shipped() == (
        SHIPPED / DETECTOR / detecting.WEIGHTS_FILE).is_file()
    monkeypatch.setattr(embedded, 'detector_is_shipped', lambda: False)
    made = Backend()
    assert not can_ask(made, Detect)
    with pytest.raises(InputError, match='without the weights of a detector') as error:
        ask_one(made, Detect(IMAGE))
    assert 'detector_dir' in str(error.value)


def test_a_missing_or_unfit_folder_is_an_error_of_detecting_only(
        untrained: Path, tmp_path: Path) -> None:
    made = Backend(Settings(detector_dir=str(tmp_path / 'nowhere')))
    with pytest.raises(BackendError, match='nowhere'):
        ask_one(made, Detect(IMAGE))
    for name in (detecting.WEIGHTS_FILE, detecting.SETTINGS_FILE):
        (tmp_path / name).write_bytes((untrained / name).read_bytes())
    settings = tmp_path / detecting.SETTINGS_FILE
    settings.write_text(settings.read_text().replace('"fork", ', ''))
    with pytest.raises(BackendError, match='detector_dir'):
        detecting.EmbeddedDetector(tmp_path)


def test_what_is_no_picture_is_refused_and_deadlines_hold(untrained: Path) -> None:
    made = detecting.EmbeddedDetector(untrained)
    with pytest.raises(InputError, match='uint8 RGB'):
        ask_one(made, Detect(IMAGE[..., 0]))
    with pytest.raises(InputError, match='depth'):
        ask_one(made, Detect(IMAGE, DEPTH[None]))
    with pytest.raises(DeadlineError, match='limit'):
        ask_one(made, Detect(IMAGE), 0.0)


def test_of_a_picture_that_it_was_not_made_for_it_cannot_tell(untrained: Path) -> None:
    detector = detecting.EmbeddedDetector(untrained, unlike=lambda picture: 'it is a photograph')
    reply = ask_one(detector, Detect(IMAGE))
    assert reply == DetectReply(cannot_tell='it is a photograph')
    assert reply.summary() == 'cannot tell: it is a photograph'
