"""Training of the part of the locator that tells whether a target is there."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TRAINING = Path(__file__).resolve().parents[3] / 'training'
if not TRAINING.is_dir():
    pytest.skip('the training scripts are not part of an installation', allow_module_level=True)
torch = pytest.importorskip('torch')
pytest.importorskip('sightplan_sim.tabletop')
sys.path.insert(0, str(TRAINING))
from safetensors.torch import load_file, save_file  # noqa: E402

import locator_existence as training  # noqa: E402
from sightplan.model.scene import PointingScene  # noqa: E402
from sightplan_models import _embedded_locator as locating  # noqa: E402
from sightplan_models._locator_network import Network, Shape, shades  # noqa: E402
from sightplan_sim.tabletop import make_source  # noqa: E402
from sightplan_sim.tabletop.absences import STRANGERS  # noqa: E402
from sightplan_sim.tabletop.source import table_of  # noqa: E402

SMALL = Shape(4, 2, grams=64, width=32, heads=2, mlp=32, stem=8, channels=(8, 12, 16),
              blocks=(1, 1, 1), vision_layers=1, text_layers=1, layers=3, things=5)


@pytest.fixture(scope='module')
def folder(tmp_path_factory: Any) -> Path:
    """A folder with a locator that has no part for existence yet."""
    torch.manual_seed(3)
    made: Path = tmp_path_factory.mktemp('locator')
    save_file({name: value.half() for name, value in Network(SMALL).state_dict().items()
               if value.is_floating_point() and not name.startswith('existence.')},
              made / locating.WEIGHTS_FILE)
    (made / locating.SETTINGS_FILE).write_text(json.dumps({
        'shape': dataclasses.asdict(SMALL), 'words': ['red', 'mug', 'left'],
        'calibration': [0.1, 0.5, 0.25]}))
    return made


@pytest.fixture(scope='module')
def scene() -> PointingScene:
    source = make_source(traces=False)
    found = source.scene(4, held_out=False)
    source.close()
    return found


def test_half_of_the_targets_are_not_there_and_words_of_tests_are_not_learned(
        scene: PointingScene) -> None:
    assert not set(training.strangers()) & set(STRANGERS)
    names = {piece.name for piece in scene.pieces}
    for seed in range(5):
        targets = training.on_table(scene, table_of(scene.id), random.Random(seed))
        absent = [target for target in targets if target.absent]
        assert 0.3 < len(absent) / len(targets) < 0.7
        assert {'swapped', 'unknown', 'relation'} <= {target.kind for target in absent}
        assert all(target.piece in names for target in targets
                   if target.kind in ('object', 'relation there'))
        assert not any(word in STRANGERS for target in targets for word in target.text.split())


def test_a_misspelt_word_has_a_letter_wrong() -> None:
    said = {training.misspelt('the red bottle', random.Random(seed)) for seed in range(40)}
    assert len(said) > 8 and {'the red botle', 'the red obttle'} & said == {'the red botle'}
    assert all(one.startswith('the red b') and 5 <= len(one.split()[-1]) <= 7 for one in said)
    assert training.misspelt('the red mug', random.Random(1)) == 'the red mug'


def test_shares_of_colours_have_the_mean_colour() -> None:
    colours = torch.rand(1, 3, 240, 320) * 2 - 1
    shares = shades(colours)
    assert shares.shape == (1, 64, 60, 80)
    torch.testing.assert_close(shares.sum(1), torch.ones(1, 60, 80))
    red = torch.arange(4).repeat_interleave(16) * 2 / 3 - 1
    torch.testing.assert_close((shares * red.view(1, -1, 1, 1)).sum(1),
                               torch.nn.functional.avg_pool2d(colours[:, 0], 4))


def test_only_the_part_for_existence_is_learned(monkeypatch: Any, folder: Path, tmp_path: Path,
                                                ) -> None:
    monkeypatch.setattr(training, 'SCENES', 2)
    data = tmp_path / 'known'
    for seed in range(2):
        path = data / f'shard_{seed:06d}'
        path.mkdir(parents=True)
        for key, values in training.draw(str(folder), seed).items():
            np.save(path / f'{key}.npy', values)
    monkeypatch.setattr(training, 'render', lambda *_: None)
    out = tmp_path / 'out'
    training.main(['--start', str(folder), '--out', str(out), '--data', str(data), '--files', '2',
                   '--held-out', '1', '--steps', '60', '--batch', '32', '--calibrate', '1'])
    before, after = (load_file(one / locating.WEIGHTS_FILE) for one in (folder, out))
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert all(name.startswith('existence.') for name in set(after) - set(before))
    lines = [json.loads(line) for line in (out / 'existence_log.jsonl').read_text().splitlines()]
    assert lines[-1]['step'] == 60 and lines[-1]['there'] < lines[0]['there'] * 1.1
    assert set(lines[-1]['auroc']) >= {'swapped', 'kind', 'unknown'}
    assert len(locating.EmbeddedLocator(out)._existence) == 2
