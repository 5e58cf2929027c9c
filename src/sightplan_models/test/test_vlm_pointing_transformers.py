"""The backend ``transformers`` points: what it is shown, sizes that processors tell, replies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightplan.model.query import Deadline, ask_one, dataclasses
from sightplan.queries import TextReply

torch = pytest.importorskip('torch')
pytest.importorskip('transformers')

import tiny_models  # noqa: E402
from hub_folders import make_hub_folder  # noqa: E402
from sightplan.model import Form, InputError, Target  # noqa: E402
from sightplan.queries.coordinates import resized_size  # noqa: E402
from sightplan.queries.detect import Detect  # noqa: E402
from sightplan.queries.generate import Generate  # noqa: E402
from sightplan.queries.locate import Locate  # noqa: E402
from sightplan_models import transformers as module  # noqa: E402
from sightplan_models._local_models import LocalModel  # noqa: E402
from sightplan_models._model_loading import Settings, load  # noqa: E402

torch.set_num_threads(1)
IMAGE = np.full((96, 128, 3), 120, np.uint8)


@pytest.fixture(scope='module')
def folder(tmp_path_factory: Any) -> Path:
    return tiny_models.make_tiny_vlm(tmp_path_factory.mktemp('llava'))


@pytest.fixture(scope='module')
def qwen(tmp_path_factory: Any) -> LocalModel:
    folder = make_hub_folder(tmp_path_factory.mktemp('qwen'), 'qwen2_5_vl')
    settings = Settings(str(folder), device='cpu')
    return LocalModel('transformers', *load('transformers', settings), settings)


def make(folder: Path, reply: str = '', truncated: bool = False, **options: Any) -> Any:
    """A backend whose model says what is told; what it was asked is kept."""
    backend: Any = module.Backend(Settings(str(folder), device='cpu', **options))
    backend.asked = []

    def generate(query: Generate, deadline: Deadline) -> TextReply:
        backend.asked.append(query)
        backend.deadline = deadline
        return TextReply(reply, truncated)

    if reply:
        backend.chat.generate = generate
    return backend


def find(form: Form = Form.POINT, **more: Any) -> Locate:
    return Locate(IMAGE, Target('the red mug', form), **more)


def test_a_place_in_the_words_of_the_declared_family(folder: Path) -> None:
    backend = make(folder, '<point x="25" y="50" alt="mug">mug</point>', pointing='xml_percent')
    reply = ask_one(backend, find(), 9.0)
    [asked] = backend.asked
    assert reply.regions[0].points == ((0.25, 0.5),) and reply.unread == ''
    assert asked.parts[0] is IMAGE and 'the red mug' in asked.parts[1]
    assert (asked.max_tokens, asked.system) == (384, '')
    assert backend.deadline.timeout_s == 9.0


def test_a_declared_convention_and_another_wording_for_each_attempt(folder: Path) -> None:
    backend = make(folder, '<points coords="1 1 250 500">mug</points>', pointing='xml_percent',
                   coordinates='permille_xy')
    for attempt in range(10):
        assert ask_one(backend, find(attempt=attempt)).regions[0].points == ((0.25, 0.5),)
    assert len({asked.parts[1] for asked in backend.asked}) == 10


def test_a_real_reply_is_read_or_has_its_reason(folder: Path) -> None:
    reply = ask_one(make(folder, pointing='tuples_unit'), find())
    assert reply.text and bool(reply.regions) is not bool(reply.unread)


def test_a_processor_that_tells_no_size_is_refused_with_what_to_set(folder: Path) -> None:
    backend = make(folder, '[{"point_2d": [3, 4]}]', pointing='json_box_resized')
    with pytest.raises(InputError, match='does not tell the size.*set coordinates to'):
        ask_one(backend, find())
    assert not backend.asked
    backend = make(folder, '[{"point_2d": [32, 48]}]', pointing='json_box_resized',
                   coordinates='pixel_xy')
    assert ask_one(backend, find()).regions[0].points == ((0.25, 0.5),)


@pytest.mark.parametrize('shape', [(96, 128), (30, 31), (480, 640), (61, 300)])
def test_the_size_as_the_model_sees_it_is_the_processors(qwen: LocalModel, shape: Any) -> None:
    image = np.full((*shape, 3), 120, np.uint8)
    limits = qwen._processor.image_processor.size
    assert qwen.resized(image) == resized_size(
        shape[::-1], 28, limits['shortest_edge'], limits['longest_edge'])


def test_pixels_of_the_resized_picture_are_read_in_its_size(qwen: LocalModel, folder: Path,
                                                            monkeypatch: Any) -> None:
    backend = make(folder, '[{"point_2d": [42, 42]}]', pointing='json_box_resized')
    monkeypatch.setattr(backend, 'style', dataclasses.replace(backend.style, resized=qwen.resized))
    assert qwen.resized(IMAGE) == (140, 84)
    assert ask_one(backend, find()).regions[0].points == ((0.3, 0.5),)


def test_an_unknown_family_is_refused_before_anything_is_loaded(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, 'load', lambda *args: pytest.fail('loaded'))
    with pytest.raises(InputError, match='no pointing family'):
        module.Backend(Settings('/not/there', pointing='guess'))


def test_all_things_are_listed(folder: Path) -> None:
    backend = make(folder, '[{"label": "grey tray", "bbox_2d": [0.1, 0.2, 0.3, 0.4]}]')
    [tray] = ask_one(backend, Detect(IMAGE), 9.0).detections
    assert (tray.category, tray.colour) == ('tray', 'grey')
    [asked] = backend.asked
    assert asked.parts[0] is IMAGE and 'fractions of the picture' in asked.parts[1]
    assert backend.deadline.timeout_s == 9.0
