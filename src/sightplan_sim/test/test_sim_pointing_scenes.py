"""Blocks and homes as scenes to point at."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sightplan.model import InputError
from sightplan.model.scene import SceneSource, TraceTask
from sightplan_sim.blocksworld import pointing as blocks
from sightplan_sim.household import pointing as homes

MODULES = {'blocksworld': blocks, 'household': homes}


@pytest.fixture(scope='module', params=MODULES)
def made(request):
    """Name, source and some of its scenes."""
    with MODULES[request.param].make_source() as source:
        yield request.param, source, [source.scene(seed, held_out=False) for seed in range(4)]


def test_masks_and_depth_fit_the_picture(made) -> None:
    name, _, scenes = made
    for scene in scenes:
        height, width = scene.image.shape[:2]
        assert scene.id.startswith(f'{name}/training/')
        assert scene.depth_m.shape == (height, width) and np.isfinite(scene.depth_m).all()
        assert scene.camera[0] > 100 and scene.camera[2:] == (width / 2, height / 2)
        pieces = {piece.name: piece.mask for piece in scene.pieces}
        assert sum(mask.astype(int) for mask in pieces.values()).max() == 1, 'one owner a pixel'
        for task in scene.tasks:
            assert task.mask.shape == (height, width) and task.mask.sum() >= 60
            assert not task.piece or (task.mask == pieces[task.piece]).all()
    assert Counter(task.kind for scene in scenes for task in scene.tasks).keys() >= {
        'object', 'restriction'}


def test_a_seed_gives_one_scene_and_things_kept_for_tests_are_said_otherwise(made) -> None:
    _, source, scenes = made
    again = source.scene(2, held_out=False)
    assert (again.image == scenes[2].image).all()
    assert [task.text for task in again.tasks] == [task.text for task in scenes[2].tasks]
    held_out = source.scene(2)
    assert held_out.image.shape != again.image.shape or (held_out.image != again.image).any()
    assert '/held_out/' in held_out.id
    training = {way for ways in MODULES[made[0]]._TRAINING.values() for way in ways}
    assert training.isdisjoint(
        way for ways in MODULES[made[0]]._HELD_OUT.values() for way in ways)


def test_a_text_means_one_thing(made) -> None:
    for scene in made[2]:
        meant: dict[str, bytes] = {}
        for task in scene.tasks:
            assert meant.setdefault(task.text, task.mask.tobytes()) == task.mask.tobytes()


def test_there_are_no_motions(made) -> None:
    with pytest.raises(InputError, match='no motions'):
        made[1].follow('x', TraceTask('', (0, 0), (), ''), ((0, 0), (1, 1)))
    source: SceneSource = made[1]
    assert source.scene(0).traces == ()


def test_what_is_above_is_above() -> None:
    with blocks.make_source() as source:
        asked = [(task, scene) for scene in (source.scene(seed, held_out=False)
                                             for seed in range(8)) for task in scene.tasks
                 if 'on top of the' in task.text or 'stands on the' in task.text]
        assert asked
        for task, scene in asked:
            word = next(word for word in blocks.WORDS.values() if word in task.text)
            below = next(piece.mask for piece in scene.pieces if piece.name == word)
            assert task.mask.nonzero()[0].mean() < below.nonzero()[0].mean()
            assert abs(task.mask.nonzero()[1].mean() - below.nonzero()[1].mean()) < 20
