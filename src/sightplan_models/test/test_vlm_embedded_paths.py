"""The reader of paths: what its maps mean, and that it compares what is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightplan.model.query import ask_one

torch = pytest.importorskip('torch')

from sightplan.model import BackendError, InputError  # noqa: E402
from sightplan.queries.choose import Choose  # noqa: E402
from sightplan.vlm.api import make_backend  # noqa: E402
from sightplan_models import embedded  # noqa: E402
from sightplan_models._embedded_paths import PathReader  # noqa: E402
from sightplan_models._embedded_paths_network import (  # noqa: E402
    READINGS,
    Maps,
    is_perspective,
    prepared,
    read,
)
from sightplan_models.embedded import paths_are_shipped  # noqa: E402
from sightplan_suites.paths.descriptors import NAMES, describe  # noqa: E402
from sightplan_suites.paths.drawing import draw_top, pair  # noqa: E402
from sightplan_suites.paths.drawing3d import draw_perspective  # noqa: E402
from sightplan_suites.paths.maps import GOAL, START, ObstacleMap  # noqa: E402

BOXES = tuple(((x, y), (x + 6.0, y), (x + 6.0, y + 6.0), (x, y + 6.0))
              for x, y in ((-20.0, 0.0), (0.0, -22.0), (8.0, 8.0), (-8.0, 18.0), (20.0, -12.0)))
SHORT = (START, (0.0, 0.0), GOAL)
LONG = (START, (-30.0, 30.0), (-14.0, -30.0), (10.0, 30.0), (24.0, -30.0), GOAL)
shipped = pytest.mark.skipif(not paths_are_shipped(), reason='no weights of a reader of paths')


def test_readings_are_the_descriptors_in_their_order() -> None:
    assert READINGS == NAMES


def test_readings_are_sums_means_and_extremes_of_the_maps() -> None:
    points = torch.zeros(1, 8, 8)
    clearance, turn, sharp = torch.full((1, 8, 8), 3.0), torch.zeros(1, 8, 8), torch.zeros(1, 8, 8)
    for row, column, near in ((0, 0, 6.0), (4, 4, 1.0), (7, 7, 5.0)):
        points[0, row, column] = 1.0
        clearance[0, row, column] = near
    turn[0, 4, 4], turn[0, 1, 6], sharp[0, 4, 4] = 1.5, 0.5, 1.0
    length = torch.zeros(1, 8, 8)
    length[0, 2, :] = 2.0

    found = dict(zip(READINGS, read(Maps(length, points, turn, sharp, clearance))[0].tolist(),
                     strict=True))

    assert found['path_length'] == pytest.approx(16)
    assert found['smoothness'] == pytest.approx(180)
    assert found['sharp_turns'] == pytest.approx(1)
    assert found['maximum_angle'] == pytest.approx(135, abs=12)
    assert found['average_clearance'] == pytest.approx(4, abs=0.01)
    assert found['minimum_clearance'] == pytest.approx(1, abs=0.1)
    assert found['maximum_clearance'] == pytest.approx(6, abs=0.1)


def test_pictures_of_any_size_are_read_at_one() -> None:
    top = draw_top(BOXES, SHORT, START, GOAL)
    seen = draw_perspective(BOXES, SHORT, START, GOAL)

    assert prepared(top).shape == (3, 256, 256) and not is_perspective(top)
    assert prepared(seen).shape == (3, 216, 384) and is_perspective(seen)


def test_a_folder_without_weights_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r'train_paths\.py'):
        PathReader(tmp_path)


@shipped
@pytest.mark.parametrize('draw', [draw_top, draw_perspective])
@pytest.mark.parametrize('swap', [False, True])
def test_the_longer_path_is_told_from_a_picture_of_both(draw: object, swap: bool) -> None:
    pictures = [draw(BOXES, path, START, GOAL) for path in (SHORT, LONG)]  # type: ignore[operator]
    first, second = pictures[::-1] if swap else pictures
    backend = make_backend('embedded', {})
    truth = describe(ObstacleMap('boxes', BOXES), LONG)
    assert truth.smoothness > 300

    for name, sign in (('path_length', -1), ('smoothness', -1), ('sharp_turns', 1)):
        reply = ask_one(backend, Choose((pair(first, second), 'Which?'), ('Path 1', 'Path 2'),
                                        (), ((name, sign),)))
        longer = 0 if swap else 1
        assert reply.chosen == (longer if sign > 0 else 1 - longer), name
        sure = 0.55 if name == 'sharp_turns' else 0.9
        assert reply.probabilities is not None and max(reply.probabilities) > sure


@shipped
@pytest.mark.parametrize(('properties', 'parts', 'says'), [
    ((), 1, 'no sentences: none was named'),
    ((('beauty', 1),), 1, 'beauty was named'),
    ((('path_length', 1),), 0, 'this sample has none')])
def test_what_it_cannot_compare_is_said(properties: tuple[tuple[str, int], ...], parts: int,
                                        says: str) -> None:
    picture = np.full((256, 512, 3), 255, np.uint8)
    request = Choose(('Which?', *[picture] * parts), ('Path 1', 'Path 2'), (), properties)
    with pytest.raises(InputError, match=says):
        ask_one(make_backend('embedded', {}), request)


@shipped
def test_of_a_picture_that_it_was_not_made_for_it_cannot_tell() -> None:
    folder = Path(embedded.SHIPPED) / embedded.PATHS
    reader = PathReader(folder, unlike=lambda picture: 'too white' if picture.min() > 250 else '')
    white = np.full((256, 256, 3), 255, np.uint8)
    drawn = draw_top(BOXES, SHORT, START, GOAL)
    query = Choose((white, drawn), ('Path 1', 'Path 2'), (), (('path_length', -1),))
    reply = ask_one(reader, query)
    assert reply.cannot_tell == 'too white' and reply.chosen is None is reply.probabilities
