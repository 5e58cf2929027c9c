"""How the classifier of foreign pictures is fitted and measured, on made-up features."""

import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip('torch')
pytest.importorskip('sightplan_sim.tabletop')

TRAINING = Path(__file__).resolve().parents[3] / 'training'
if not TRAINING.is_dir():
    pytest.skip('the training scripts are not part of an installation', allow_module_level=True)
sys.path.insert(0, str(TRAINING))

import train_world as training  # noqa: E402
from sightplan_models._embedded_world import classified, foreign_log_odds  # noqa: E402


def test_what_is_fitted_tells_foreign_pictures_from_own_ones_of_another_split():
    rng = np.random.default_rng(0)
    kinds = np.tile(np.arange(training.FOREIGN + 1), 60)
    splits = np.repeat(training.SPLITS, len(kinds) // len(training.SPLITS))
    features = rng.normal(0, 0.3, (len(kinds), 12))
    features[np.arange(len(kinds)), kinds] += 1
    foreign = kinds == training.FOREIGN
    seen = training.Seen(torch.from_numpy(features).float(), kinds, splits,
                         np.where(foreign, 'elsewhere', 'ours'),
                         np.where(foreign, np.where(rng.random(len(kinds)) < 0.5, 'photo',
                                                    'render'), 'own'),
                         rng.random(len(kinds)) < 0.5)
    weights = {name: one.float().numpy() for name, one in training.fitted(seen).items()}
    odds = np.array([foreign_log_odds(row, [0])
                     for row in classified(seen.features.numpy(), weights)])
    found = training.measured(odds, seen, [0], (0.0, 1.0))
    assert found['photographs and renders']['n'] == (foreign & (splits == 'test')).sum()
    low, high = found['photographs and renders']['auroc_interval']
    assert 0.9 < low <= found['photographs and renders']['auroc'] <= high <= 1
    assert found['photographs and renders']['told'] > 0.8 > 0.2 > found['own']['refused']
