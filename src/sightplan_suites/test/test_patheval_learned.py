"""Probes and small models that are trained on pairs of paths: what they can and cannot learn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip('torch')

from sightplan_models._embedded_paths_network import Network, Shape  # noqa: E402
from sightplan_suites.patheval import records, samples  # noqa: E402
from sightplan_suites.paths.labels import ORDER  # noqa: E402

TRAINING = Path(__file__).resolve().parents[3] / 'training'
MODULES = ('paths_features', 'paths_probes', 'paths_tuned', 'paths_results')


@pytest.fixture
def modules(monkeypatch: Any) -> Any:
    monkeypatch.syspath_prepend(str(TRAINING))
    yield {name: __import__(name) for name in MODULES}
    torch.set_flush_denormal(False)  # a training sets it for its process, here everybody's
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def encoder() -> Network:
    torch.manual_seed(0)
    return Network(Shape(4, 8, (1,))).eval()


def pictures_of(features: Any, vectors: Any) -> Any:
    return features.Pictures([], vectors, {})


def test_a_linear_probe_cannot_tell_equality_and_a_difference_can(modules: Any) -> None:
    probes = modules['paths_probes']
    torch.manual_seed(0)
    vectors = torch.randn(300, 4)
    train, held_out = probes.same_pairs(150, 0), probes.same_pairs(150, 1)
    held_out = probes.Pairs(held_out.numbers + 150, held_out.truth)
    assert (train.numbers[0::2, 0] == train.numbers[0::2, 1]).all()
    assert (train.numbers[1::2, 0] != train.numbers[1::2, 1]).all()
    found = {}
    for name, probe in (('linear', probes.Linear(4, 1)),
                        ('difference', probes.Compare(4, 1, signed=False))):
        probes.fit(probe, vectors, train, 1e-2, 25, 32)
        [(right, count)] = probes.evaluate(probe, vectors, held_out)
        found[name] = right / count
    assert found['linear'] < 0.65 and found['difference'] > 0.95


def test_order_and_difference_are_asked_of_what_they_are_about(modules: Any) -> None:
    probes = modules['paths_probes']
    numbers = torch.tensor([[0, 1], [2, 3], [4, 5]])
    values = torch.zeros(3, 2, 7)
    length = ORDER.index('path_length')
    values[0, 0, length], values[1, 1, length], values[2, 0, length] = 50.0, 60.0, 49.0
    order = probes.order_pairs(numbers, values).truth
    assert order[:2, length].tolist() == [1.0, 0.0] and order[2].isnan().all()
    differ = probes.difference_pairs(numbers, values, 0).truth
    assert differ[2, length] == 0.0 and (differ[:2, length] == 1.0).sum() == 1
    both = probes.both_orders(probes.questions(numbers, values))
    assert both.numbers[3].tolist() == [1, 0] and both.truth[3, length] == 0.0
    assert torch.equal(both.truth[:3, 7:].nan_to_num(9), both.truth[3:, 7:].nan_to_num(9))
    assert probes.right(torch.tensor([[1.0], [1.0], [-1.0]]),
                        torch.tensor([[1.0], [0.0], [torch.nan]])) == [(1, 2)]


def test_pictures_are_read_once_and_kept(modules: Any, encoder: Network, tmp_path: Path) -> None:
    features = modules['paths_features']
    items = samples.shipped_items(64)[:6]
    first = features.read_pictures(items, encoder, tmp_path)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = features.read_pictures(items, encoder, tmp_path)
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert torch.equal(first.features, again.features) and first.rows == again.rows
    with pytest.raises(SystemExit, match='other items'):
        features.read_pictures(items[:1], encoder, tmp_path)
    (tmp_path / 'rows.json').unlink()  # as if it had been interrupted
    (tmp_path / 'features_000.npy').unlink()
    once_more = features.read_pictures(items, encoder, tmp_path)
    assert torch.allclose(first.features, once_more.features) and first.rows == once_more.rows
    numbers = first.of(items)
    assert numbers.shape == (6, 2) and int(numbers.max()) + 1 == len(first.features)
    with torch.no_grad():
        vectors = features.pooled(encoder, first.load(numbers[0].tolist()))
    assert torch.allclose(vectors, first.features[numbers[0]], atol=1e-4)


def test_a_folder_of_items_is_needed(modules: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match='--split train'):
        modules['paths_features'].train_items(tmp_path)
    records.write_records(tmp_path, samples.shipped_items(32)[:3], '2d')
    assert len(modules['paths_features'].train_items(tmp_path)[0]) == 3


@pytest.mark.slow
def test_a_model_learns_what_a_task_wants_from_descriptors(modules: Any) -> None:
    """Two tasks, one number that differs: more of it is better for one, less for the other."""
    tuned = modules['paths_tuned']
    torch.manual_seed(0)
    values = torch.randn(600, 2, 7)
    more = torch.arange(600) % 2 == 0
    better = ((values[:, 1, 3] > values[:, 0, 3]) == more).long()
    texts = ['a long way is good' if one else 'be quick' for one in more.tolist()]
    data = tuned.Batch(texts, torch.zeros(600, 2, dtype=torch.long), values, better)
    inputs = tuned.Inputs(pictures=False, values=True)
    chosen = torch.arange(500), torch.arange(500, 600)
    model, curve = tuned.learn(inputs, data, torch.zeros(1, 4), chosen, 30, 0)
    assert len(curve) == 30 and max(curve) > 0.85
    found = tuned.answers(model, data, torch.zeros(1, 4), chosen[1])
    assert tuned.share(found, better[500:]) == pytest.approx(max(curve))


def test_encoder_and_model_are_tuned_and_those_given_stay(modules: Any, encoder: Network,
                                                          tmp_path: Path) -> None:
    features, tuned = modules['paths_features'], modules['paths_tuned']
    items = samples.shipped_items(64)[:8]
    pictures = features.read_pictures(items, encoder, tmp_path)
    scale = tuned.scale_of(pictures, features.values_of(items))
    data = tuned.batch_of(items, pictures, scale)
    torch.manual_seed(0)
    model = tuned.Model(tuned.Inputs(), pictures.features.shape[1])
    groups = tuned.by_pairs(items, torch.arange(8), 10, 2, 0)
    assert sorted(torch.cat(groups).tolist()) == list(range(8))
    before = [[one.clone() for one in part.parameters()] for part in (model, encoder)]
    after = tuned.tune(model, encoder, data, pictures, scale, groups, 1e-2, lambda *_: None)
    for part, old, new in zip((model, encoder), before, after, strict=True):
        assert all(map(torch.equal, part.parameters(), old))
        assert not all(map(torch.equal, new.parameters(), old))


def test_names_are_fresh_where_they_are_random(modules: Any) -> None:
    tuned = modules['paths_tuned']
    at = torch.tensor([3, 4])
    given = tuned.named(tuned.Inputs(), at, 0)
    assert torch.equal(given[0], given[1]) and given.shape == (2, 2, tuned.NAME_LENGTH)
    first, again, later = (tuned.named(tuned.Inputs(random=True), at, epoch)
                           for epoch in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, later)
    assert not torch.equal(first[0], first[1])


def test_maps_kept_apart_are_no_maps_to_learn_from(modules: Any) -> None:
    tuned, items = modules['paths_tuned'], samples.shipped_items()
    learn, apart = ([items[k].map for k in part.tolist()] for part in tuned.apart(items))
    assert len(learn) + len(apart) == len(items) and apart and not set(learn) & set(apart)
    reworded = tuned.paraphrased(items)
    assert not {item.task for item in items} & set(reworded)
    assert reworded == tuned.paraphrased(items)


def test_results_of_one_part_leave_the_other(modules: Any, tmp_path: Path) -> None:
    update, file = modules['paths_results'].update, tmp_path / 'a' / 'learned.json'
    update(file, 'tuned', {'rows': []})
    update(file, 'probes', {'same': 1})
    assert '"rows"' in file.read_text() and '"same"' in file.read_text()
