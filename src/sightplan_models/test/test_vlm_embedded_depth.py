"""Depth as a fourth channel of what the embedded model sees."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.domains import load_domain
from sightplan.model import Atom, Observation, Question
from sightplan.model.query import ask_all
from sightplan.queries import YesNo, yes_no_queries
from sightplan.vlm.api import backend_content
from sightplan_models._depth import FARTHEST_M, NEAREST_M, depth_channel
from sightplan_models._transformers_questions import _with_depth
from sightplan_models.embedded import Backend, Settings

torch = pytest.importorskip('torch')
pytest.importorskip('transformers')
from tiny_models import make_tiny_vlm, one_by_one  # noqa: E402

TEXTS = ('Is the red block clear?', 'Is the blue block on top of the green block?')
IMAGE = np.random.default_rng(0).integers(0, 256, (64, 96, 3)).astype(np.uint8)
NEAR = np.full((64, 96), 0.5, np.float32)
FAR = np.full((64, 96), 8.0, np.float32)


@pytest.fixture(scope='module')
def folder(tmp_path_factory: Any) -> Path:
    return make_tiny_vlm(tmp_path_factory.mktemp('models') / 'tiny', channels=4)


@pytest.fixture(scope='module')
def backend(folder: Path) -> Backend:
    return Backend(Settings(model_dir=str(folder)))


def request(depth_m: Any = None, image: Any = IMAGE) -> list[YesNo]:
    return yes_no_queries(Observation(image=image, depth_m=depth_m),
                          tuple(Question(Atom('probe'), text) for text in TEXTS))


def said(backend: Backend, depth_m: Any = None) -> list[float]:
    return [reply.p_yes or 0.0 for reply in ask_all(backend, request(depth_m))]


def test_depth_changes_answers_and_its_lack_is_no_depth(backend: Backend) -> None:
    near, far, none = (said(backend, depth) for depth in (NEAR, FAR, None))
    assert near != pytest.approx(far, abs=1e-6) and near != pytest.approx(none, abs=1e-6)
    assert said(backend, np.full_like(NEAR, np.nan)) == pytest.approx(none, abs=1e-7)
    assert said(backend, NEAR) == near, 'the picture alone does not tell what was encoded'


def test_without_depth_it_is_another_run(folder: Path, backend: Backend) -> None:
    blind = Backend(Settings(model_dir=str(folder), depth=False))
    assert said(blind, NEAR) == said(blind, FAR) == pytest.approx(said(backend), abs=1e-6)
    assert blind.main.has_depth and not blind.traits.depth and backend.traits.depth
    assert blind.name == f'{backend.name} depth=false'
    assert backend_content('embedded', {'model_dir': str(folder)}) in backend.name


def test_bags_hold_no_depth_and_the_name_says_so(folder: Path, backend: Backend) -> None:
    from sightplan.replay.another_model import AnotherModel, AskSettings

    episode = SimpleNamespace(domain=load_domain('blocksworld'), truth=None)
    sources: Any = SimpleNamespace(read=lambda: [SimpleNamespace(episode=episode)], warnings={})
    again = AnotherModel(AskSettings('embedded', {'model_dir': str(folder)}), sources)
    assert again.model == f'{backend.name} depth=false'


def test_shared_prompts_see_the_same_depth(backend: Backend) -> None:
    packed, plain = ask_all(backend, request(NEAR)), one_by_one(backend, request(NEAR))
    assert backend.main.mechanism == 'packed'
    for fast, slow in zip(packed, plain, strict=True):
        assert fast.p_yes == pytest.approx(slow.p_yes, abs=1e-5)


def test_a_model_of_three_channels_takes_no_notice(tmp_path: Path) -> None:
    plain = Backend(Settings(model_dir=str(make_tiny_vlm(tmp_path / 'plain'))))
    assert not plain.main.has_depth and not plain.traits.depth
    assert said(plain, NEAR) == said(plain)
    same = Backend(Settings(model_dir=str(tmp_path / 'plain'), depth=False))
    assert same.name == plain.name


def test_the_fourth_channel_is_as_in_training() -> None:
    depth_m = np.full((4, 8), np.nan, np.float32)
    depth_m[0, 0], depth_m[2, 6] = FARTHEST_M, 1.0
    pixels = _with_depth(torch.zeros(2, 3, 2, 4), [depth_m, None])
    assert pixels.shape == (2, 4, 2, 4) and not pixels[:, :3].any()
    byte = int(depth_channel(np.ones((1, 1), np.float32))[0, 0])
    assert pixels[0, 3, 0, 0] == 1.0 and pixels[0, 3, 1, 3] == pytest.approx(byte / 127.5 - 1)
    assert (pixels[1, 3] == -1.0).all() and (pixels[0, 3] == -1.0).sum() == 6


@given(st.lists(st.floats(NEAREST_M, FARTHEST_M), min_size=2, max_size=20))
def test_steps_of_depth_are_of_equal_ratio(metres: list[float]) -> None:
    found = depth_channel(np.array([metres], np.float32))[0].astype(int)
    order = np.argsort(metres)
    assert (np.diff(found[order]) >= 0).all() and found.min() >= 1
    back = NEAREST_M * (FARTHEST_M / NEAREST_M) ** ((found - 1) / 254)
    assert np.allclose(back, metres, rtol=0.01)


def test_what_is_not_known_is_zero() -> None:
    depth_m = np.array([[np.nan, np.inf, -1.0, 0.0, 1e-3, 99.0]], np.float32)
    assert depth_channel(depth_m).tolist() == [[0, 0, 0, 0, 1, 255]]
