"""The training of the household's model, on a handful of pictures and steps."""

from __future__ import annotations

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
sys.path.insert(0, str(TRAINING))

torch = pytest.importorskip('torch')
pytest.importorskip('pybullet')

import embedded_model  # noqa: E402
import household_labels as labels  # noqa: E402
import household_questions as questions  # noqa: E402
import household_scenes as scenes  # noqa: E402
import shards as sharding  # noqa: E402
import train_embedded as train  # noqa: E402
from embedded_packed import answer_logits, patch_features  # noqa: E402
from household_curriculum import (  # noqa: E402
    Curriculum,
    cell_targets,
    known,
    name_targets,
    sensed,
)


def draw(seed: int) -> Any:
    return Curriculum().draw(seed, 8)


@pytest.fixture(scope='module')
def shards(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp('homes')
    sharding.write_shards(folder, range(2), draw)
    return folder


@pytest.fixture(scope='module')
def data(shards: Path) -> Any:
    corpus = sharding.Corpus(shards, range(2))
    return corpus.take(np.arange(corpus.refresh()))


def test_ways_to_say_the_same_are_the_same_tokens() -> None:
    tokenizer = embedded_model.make_tokenizer(questions.WORDS)
    for texts in (('Is the bowl_1 on top of the table_2?', 'is bowl_1 on table_2',
                   'Is the bowl_1 resting on the table_2?'),
                  ('Is the gym_shoe_1 inside the carton_1?', 'Is gym_shoe_1 in the carton_1?'),
                  ('Is the robot holding the apple_3?', 'Does the robot hold the apple_3?'),
                  ('Is the door_1 in reach of the robot?', 'Is the door_1 within reach?'),
                  ('Is the bowl_1 open?', 'Is the bowl.n.01_1 open?', 'is the bowl_n_01_1 open?')):
        assert len({tuple(tokenizer(text).input_ids) for text in texts}) == 1
        assert questions.ID['<unk>'] not in tokenizer(texts[0]).input_ids


def test_a_name_means_its_category_and_number() -> None:
    words = questions.WORDS
    weight = torch.randn(len(words.vocabulary), 4)
    table = words.table(weight)
    assert torch.allclose(table[words.ids['sock_2']],
                          weight[words.ids['sock']] + weight[words.ids['2']])
    assert torch.equal(table[words.ids['open']], weight[words.ids['open']])


def test_categories_are_those_of_the_world() -> None:
    catalog = pytest.importorskip('sightplan_sim.household.catalog')

    assert set(catalog.MOVABLES) | {'plaything'} == {
        c for c, kind in questions.CATEGORIES.items() if kind == 'movable'}
    assert set(catalog.CONTAINERS) == {
        c for c, kind in questions.CATEGORIES.items() if kind == 'container'}
    assert set(catalog.FURNITURE) == {
        c for c, kind in questions.CATEGORIES.items() if kind == 'object'}


def test_a_shard_is_a_function_of_its_seed(shards: Path, tmp_path: Path) -> None:
    sharding.write_shards(tmp_path, range(1, 2), draw)
    again, first, other = (sharding.Corpus(folder, range(seed, seed + 1))
                           for folder, seed in ((tmp_path, 1), (shards, 1), (shards, 0)))
    again, first, other = (c.take(np.arange(c.refresh())) for c in (again, first, other))
    assert all((again[key] == first[key]).all() for key in first)
    assert not (other['image'] == first['image']).all()


def test_no_home_to_learn_from_is_a_benchmarks() -> None:
    from sightplan.domains import load_domain

    domain = load_domain('household')
    known = {p.name for split in domain.splits for p in domain.split_problems(split)}
    drawn = {scenes.random_problem(seed, scenes.Recipe()).name for seed in range(40)}
    assert len(drawn) == 40 and not drawn & known


def test_patches_show_things_before_furniture() -> None:
    owner = np.full((240, 240), -1)
    owner[0:16, 16:32] = 0
    owner[2:6, 18:22] = 1
    owner[40:43, 0:3] = 1  # too little of its patch
    cells = scenes.cells_of(owner, [False, True])
    assert cells[0, 1].tolist() == [2, 1]
    assert cells.astype(bool).sum() == 2


def scene() -> dict[str, Any]:
    """Two bowls and a table; bowl_1 is on the table, bowl_2 is held."""
    most = scenes.MOST
    place = {name: k for k, name in enumerate(questions.CATEGORIES)}
    out: dict[str, Any] = {
        'image': np.full((240, 240, 3), 200, np.uint8),
        'depth': np.full((240, 240), 100, np.uint8),
        'cells': np.zeros((15, 15, 2), np.uint8), 'number': np.zeros(most, np.int8),
        'category': np.full(most, -1, np.int16), 'kind': np.zeros(most, np.int8),
        'rect': np.zeros((most, 4), np.int16), 'hull': np.zeros((most, 10, 2), np.float32)}
    for key in ('visible', 'open', 'held', 'reach'):
        out[key] = np.zeros(most, bool)
    for key in ('ontop', 'inside', 'nextto'):
        out[key] = np.zeros((most, most), bool)
    for k, (category, number, kind, rect) in enumerate((
            ('bowl', 1, 1, (100, 200, 130, 220)), ('bowl', 2, 1, (220, 400, 260, 440)),
            ('table', 1, 3, (60, 210, 300, 330)))):
        out['category'][k], out['number'][k], out['kind'][k] = place[category], number, kind
        out['rect'][k], out['visible'][k] = rect, True
    out['ontop'][0, 2] = out['held'][1] = out['reach'][2] = True
    out['cells'][13, 7, 0], out['cells'][6, 3] = 2, (1, 3)
    return out


def test_every_atom_in_view_is_asked_once_and_answered_rightly() -> None:
    words = questions.WORDS.vocabulary
    true = {'reachable table_1', 'holding bowl_2', 'ontop bowl_1 table_1'}
    asked = set()
    for item in questions.items(questions.SceneTruth(scene())):
        assert words[item.ids[item.position]] == embedded_model.ANSWER
        predicate = questions.PREDICATES[item.kind]
        names = [words[i] for i in item.ids[:item.position] if words[i] != predicate]
        atom = ' '.join((predicate, *names))
        assert (atom in true) is (item.answer == questions.YES) and atom not in asked
        asked.add(atom)
    pairs = [(a, b) for a in ('bowl_1', 'bowl_2') for b in ('bowl_1', 'bowl_2', 'table_1')]
    assert asked == {
        *(f'reachable {name}' for name in ('bowl_1', 'bowl_2', 'table_1')),
        'holding bowl_1', 'holding bowl_2',  # nothing here opens
        *(f'{p} {a} {b}' for p in ('ontop', 'nextto') for a, b in pairs if a != b)}


def test_near_misses_are_close_or_of_a_kind_for_which_it_holds() -> None:
    near = {item.about for item in questions.items(questions.SceneTruth(scene()))
            if item.near and questions.PREDICATES[item.kind] == 'ontop'}
    assert near == {(1, 2)}  # another bowl on the table


@pytest.mark.parametrize('hard', [0.0, 0.5])
def test_yes_and_no_weigh_the_same(hard: float) -> None:
    for kind, (share, yes, no, near) in enumerate(questions.SHARES):
        def weight(answer: int, close: bool, kind: int = kind) -> float:
            return questions.balance(questions.Item([], 2, answer, kind, (0, 1), close), hard)

        assert weight(questions.YES, False) * yes == pytest.approx(share / 2)
        negative = weight(questions.NO, False) * no
        if kind > 2:
            negative = weight(questions.NO, False) * (no - near) + weight(
                questions.NO, True) * near
        assert negative == pytest.approx(share / 2)
    assert sum(row[0] for row in questions.SHARES) == pytest.approx(1.0)


def test_too_many_questions_are_drawn_by_what_they_weigh() -> None:
    batch = Curriculum().batch({key: values[None] for key, values in scene().items()}, None)
    every = Curriculum().ask(random.Random(0), batch, 60, 1.0)
    some = Curriculum().ask(random.Random(0), batch, 4, 1.0)
    assert every.weight is not None and some.weight is not None
    assert some.ids.shape[1] == 4 and every.ids.shape[1] == 13
    assert some.weight.sum().item() == pytest.approx(every.weight.sum().item())


def test_lessons_are_worded_as_the_grounder_asks() -> None:
    from sightplan.domains import load_domain
    from sightplan.model import Atom

    domain, tokenizer = load_domain('household'), embedded_model.make_tokenizer(questions.WORDS)
    found = questions.items(questions.SceneTruth(scene() | {
        'kind': np.array([1, 1, 2, *[0] * 13])}))  # a table that opens
    names = ('bowl_1', 'bowl_2', 'table_1')
    assert {item.kind for item in found} == set(range(6))
    for item in found:
        atom = Atom(questions.PREDICATES[item.kind],
                    tuple(names[k] for k in item.about if k >= 0))
        asked = tokenizer(domain.question(atom).text + embedded_model.ANSWER).input_ids
        assert asked == list(item.ids[:item.position + 1]), atom


def test_depth_is_a_channel_that_may_be_missing_or_poor() -> None:
    rng, depth = np.random.default_rng(0), np.full((240, 240), 100, np.uint8)
    depth[:, 120:], depth[0] = 160, 0
    drawn = [sensed(depth, rng) for _ in range(200)]
    none = np.mean([not one.any() for one in drawn])
    exact = np.mean([(one == depth).all() for one in drawn])
    assert none == pytest.approx(0.25, abs=0.1) and exact == pytest.approx(0.35, abs=0.12)
    for one in drawn:
        assert not one[0].any()
        there = one > 0
        assert (np.abs(one.astype(int) - depth)[there] < 16).all()
    assert known(np.array([[0, 1, 2, 255]], np.uint8)).tolist() == [[0, 0, 2, 255]]


def test_what_is_seen_has_four_channels_and_can_do_without_the_last(data: Any) -> None:
    batch = Curriculum().batch(data, None)
    assert batch.image.shape[1:] == (4, 240, 240)
    assert torch.equal(batch.image[:, 3], torch.from_numpy(known(data['depth'])) / 127.5 - 1)
    views = Curriculum().views(batch)
    assert (views['without depth'].image[:, 3] == -1).all()
    assert torch.equal(views['without depth'].image[:, :3], views[''].image[:, :3])
    far = name_targets(batch)['n_distance'].numpy()
    assert ((far >= 0) <= data['visible']).all() and (far >= 0).any() and far.max() < 32


def test_what_is_seldom_true_is_drawn_more_often(data: Any, shards: Path) -> None:
    weight = Curriculum().emphasis(data)
    rare = (data['nextto'] & data['visible'][:, :, None]
            & data['visible'][:, None]).any((1, 2))
    assert (weight > 0).all() and (not rare.any() or weight[rare].min() > 1.5)
    corpus = sharding.Corpus(shards, range(2), Curriculum().emphasis)
    count = corpus.refresh()
    drawn = np.bincount(corpus.draw(np.random.default_rng(0), 20_000), minlength=count)
    assert drawn / 20_000 == pytest.approx(weight / weight.sum(), abs=0.02)


def test_a_mirror_keeps_picture_and_places_together() -> None:
    plain = scene()
    plain['image'][:, :120] = plain['depth'][:, :120] = 0
    other = labels.mirrored(plain)
    assert (other['image'][:, 120:] == 0).all() and (other['image'][:, :120] == 200).all()
    assert not other['depth'][:, 120:].any() and other['depth'][:, :120].all()
    assert other['rect'][0].tolist() == [350, 200, 380, 220] and not other['rect'][3].any()
    assert other['cells'][6, 11].tolist() == [1, 3]
    again = labels.mirrored(other)
    assert all((again[key] == plain[key]).all() for key in plain)


def test_numbers_are_dealt_out_within_a_category() -> None:
    plain, seen = scene(), set()
    for seed in range(12):
        number = labels.renumbered(plain, np.random.default_rng(seed))['number'].tolist()
        assert sorted(number[:2]) == [1, 2] and number[2] == 1
        seen.add(tuple(number[:2]))
    assert seen == {(1, 2), (2, 1)}
    plain['category'][:2] = list(questions.CATEGORIES).index('plaything')
    assert all(labels.renumbered(plain, np.random.default_rng(seed))['number'][0] == 1
               for seed in range(12))


def test_only_what_can_be_mistaken_is_labelled() -> None:
    plain = scene()
    assert [box.name for box in labels.label_boxes(plain)] == ['bowl_1', 'bowl_2']
    assert (labels.labelled(plain) != plain['image']).any()
    plain['visible'][1] = False
    assert not labels.label_boxes(plain)
    assert (labels.labelled(plain) == plain['image']).all()


def test_hints_tell_states_and_places(data: Any) -> None:
    facts = {key: values[None] for key, values in scene().items()}
    batch = Curriculum().batch(facts, None)
    names = name_targets(batch)
    assert names['n_x'][0, :3].tolist() == [7, 15, 11]
    assert names['n_held'][0, :3].tolist() == [0, 1, -100]
    place = {name: k + 1 for k, name in enumerate(questions.CATEGORIES)}
    assert names['n_on'][0, :2].tolist() == [place['table'], 0]
    cells, _ = cell_targets(batch)
    assert cells['thing'][13 * 15 + 7] == place['bowl'] and cells['held'][13 * 15 + 7] == 1
    assert cells['furniture'][6 * 15 + 3] == place['table']
    assert cells['thing_number'][6 * 15 + 3] == 1 and cells['furniture_number'][6 * 15 + 3] == 0
    assert data['visible'].any(1).mean() > 0.5  # and real pictures show something


def test_training_pass_equals_the_plain_model(data: Any) -> None:
    torch.manual_seed(0)
    curriculum = Curriculum()
    model = embedded_model.make_model(curriculum.shape, curriculum.words)
    batch = curriculum.batch({key: values[:3] for key, values in data.items()}, None)
    asked = curriculum.ask(random.Random(1), batch, 4, 0.0)
    with torch.no_grad():
        model.train()
        patch_features(model, batch.image)  # gives the normalisation something to go by
        model.eval()
        packed, _ = answer_logits(model, patch_features(model, batch.image), asked.ids,
                                  asked.position, curriculum.words)
        weight = model.get_input_embeddings().weight
        weight.copy_(curriculum.words.table(weight))
        for b in range(3):
            for q in range(4):
                text = asked.ids[b, q, :asked.position[b, q] + 1]
                ids = curriculum.words.ids
                prompt = torch.cat([torch.tensor([ids['<s>']]), torch.full((225,), ids['<image>']),
                                    text])[None]
                plain = model(input_ids=prompt, pixel_values=batch.image[b:b + 1],
                              attention_mask=torch.ones_like(prompt)).logits[0, -1]
                assert torch.allclose(plain, packed[b, q], atol=1e-4)


@pytest.mark.slow
def test_a_few_steps_train_and_write_a_model_that_loads(shards: Path, tmp_path: Path) -> None:
    try:
        train.main(['--domain', 'household', '--data', str(shards), '--work',
                    str(tmp_path / 'work'), '--no-render', '--processes', '1', '--batch', '2',
                    '--questions', '3', '--shards', '2', '--held-out', '1', '--save-every', '2',
                    '--report-every', '1', '--steps', '2', '0', '2', '--out',
                    str(tmp_path / 'model')])
    finally:  # the training sets it for its process, which here is everybody's
        torch.set_flush_denormal(False)
    log = [json.loads(line) for line in (tmp_path / 'work/log.jsonl').read_text().splitlines()]
    assert {line['stage'] for line in log} == {1, 3}
    assert all(np.isfinite(line['means']).all() for line in log if 'means' in line)
    from sightplan_models.embedded import Backend, Settings
    assert Backend(Settings(model_dir=str(tmp_path / 'model'))).name.startswith('model@')


def test_the_exam_counts_both_kinds_of_errors() -> None:
    evaluation = __import__('household_evaluation')
    row = evaluation.row([4, 3, 16, 16])
    assert row['accuracy'] == 0.95 and row['balanced'] == 0.875 and row['majority'] == 0.8
    assert row['n'] == 20 and row['n_yes'] == 4
    means = evaluation.published()
    assert len(means) == 24
    assert means['Mistral-Small-3.1 24B']['inside'] == pytest.approx(0.933, abs=1e-3)
