"""The training of the embedded model, on a handful of scenes and steps."""

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

import blocksworld_evaluation as evaluation  # noqa: E402
import blocksworld_questions as questions  # noqa: E402
import blocksworld_scenes as scenes  # noqa: E402
import embedded_model  # noqa: E402
import shards as sharding  # noqa: E402
import train_embedded as train  # noqa: E402
from blocksworld_curriculum import Curriculum  # noqa: E402
from embedded_packed import answer_logits, patch_features  # noqa: E402

# red below green in c1, blue alone in c3, of four columns
TABLE = np.array([[0, 0], [0, 1], [2, 0], [-1, -1], [-1, -1], [-1, -1]], np.int8)
TRUTH = questions.SceneTruth(TABLE.tolist(), 4)
RED, GREEN, BLUE, YELLOW = range(4)


@pytest.fixture(scope='module')
def shards(tmp_path_factory: Any) -> Path:
    pytest.importorskip('pybullet')
    folder = tmp_path_factory.mktemp('shards')
    sharding.write_shards(folder, range(2), draw)
    return folder


def draw(seed: int) -> Any:
    return Curriculum(scenes.Recipe(full_fraction=0.0)).draw(seed, 6)


def run(shards: Path, work: Path, *extra: str) -> None:
    try:
        train.main(['--data', str(shards), '--work', str(work), '--no-render', '--processes', '1',
                    '--batch', '2', '--questions', '3', '--shards', '2', '--held-out', '1',
                    '--save-every', '2', '--report-every', '1', *extra])
    finally:  # the training sets it for its process, which here is everybody's
        torch.set_flush_denormal(False)


def test_truth_of_a_scene() -> None:
    assert TRUTH.on(GREEN, RED) and not TRUTH.on(RED, GREEN) and not TRUTH.on(BLUE, BLUE)
    assert TRUTH.clear(GREEN) and not TRUTH.clear(RED) and not TRUTH.clear(YELLOW)
    assert TRUTH.incolumn(BLUE, 2) and not TRUTH.incolumn(YELLOW, 2)
    assert TRUTH.leftof(0, 3) and not TRUTH.leftof(0, 4) and not TRUTH.leftof(1, 1)
    assert TRUTH.rightof(3, 0) and not TRUTH.rightof(4, 0)


def test_sampled_answers_agree_with_the_truth_and_are_balanced() -> None:
    rng = random.Random(0)
    words = questions.WORDS.vocabulary
    answers: dict[str, list[str]] = {}
    for _ in range(4000):
        ids, position, answer, kind = questions.sample(rng, TRUTH)
        said = [words[i] for i in ids[:position]]
        assert words[ids[position]] == embedded_model.ANSWER
        name = questions.KINDS[kind]
        answers.setdefault(name, []).append(words[answer])
        if name == 'on':
            a, b = (questions.COLOURS.index(w) for w in said
                    if w in questions.COLOURS)
            assert words[answer] == ('yes' if TRUTH.on(a, b) else 'no')
    for name in questions.PREDICATES:
        assert 0.25 < answers[name].count('yes') / len(answers[name]) < 0.6, name


def test_all_paraphrases_fit_and_hold_no_unknown_word() -> None:
    for kind, variants in questions.PARAPHRASES.items():
        for variant in range(len(variants)):
            ids, position = questions.tokens(kind, variant, 0, 1, 2, 3)
            assert questions.ID['<unk>'] not in ids
            assert len(ids) == questions.LENGTH and position < questions.LENGTH


def test_word_labels_tell_place_and_neighbours() -> None:
    labels = questions.scene_labels(TABLE[None], np.array([4], np.int8))[0]
    assert labels[RED].tolist() == [0, 0, GREEN, 6]
    assert labels[GREEN].tolist() == [0, 1, 6, RED]
    assert labels[YELLOW].tolist() == [8, 6, 7, 7]
    assert labels[6 + 0].tolist() == [1, 2, GREEN, 0]
    assert labels[6 + 1].tolist() == [1, 0, 6, 0]
    assert labels[6 + 5].tolist() == [0, 0, 7, 0]


def test_mirroring_a_scene_keeps_picture_and_labels_together(shards: Path) -> None:
    corpus = sharding.Corpus(shards, range(1))
    assert corpus.refresh() == 6
    data = corpus.take(np.arange(6))
    plain = Curriculum().batch(data, None).facts
    seen = set()
    for seed in range(8):
        facts = Curriculum().batch(data, np.random.default_rng(seed)).facts
        table, columns = facts['table'], facts['columns']
        for i in range(6):
            mirrored = not (facts['patch'][i] == plain['patch'][i]).all()
            there = table[i, :, 0] >= 0
            expected = plain['table'][i, there, 0]
            if mirrored:
                expected = columns[i] - 1 - expected
            assert (table[i, there, 0] == expected).all()
            seen.add(mirrored)
    assert seen == {True, False}


def test_patch_colours_follow_the_segmentation() -> None:
    shape = embedded_model.Shape()
    segmentation = np.zeros((192, 256), np.int16)
    segmentation[0:16, 16:32] = 3
    segmentation[16:20, 16:18] = 2  # too little of its patch
    found = scenes.patch_colours(segmentation, shape)
    assert found[0, 1] == 3 and found.sum() == 3


def test_a_shard_is_a_function_of_its_seed(shards: Path, tmp_path: Path) -> None:
    sharding.write_shards(tmp_path, range(1, 2), draw)
    again, first, other = (read(folder, seed) for folder, seed in (
        (tmp_path, 1), (shards, 1), (shards, 0)))
    assert all((again[key] == first[key]).all() for key in first)
    assert not (other['image'] == first['image']).all()


def read(folder: Path, seed: int) -> Any:
    corpus = sharding.Corpus(folder, range(seed, seed + 1))
    return corpus.take(np.arange(corpus.refresh()))


def test_training_pass_equals_the_plain_model() -> None:
    torch.manual_seed(0)
    model = embedded_model.make_model(embedded_model.Shape(), questions.WORDS).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.05)
    rng, pixels = random.Random(1), torch.randn(2, 3, 96, 128)
    asked = [[questions.sample(rng, TRUTH) for _ in range(5)] for _ in range(2)]
    ids, position = (torch.tensor([[q[k] for q in row] for row in asked]) for k in (0, 1))
    with torch.no_grad():
        packed, _ = answer_logits(model, patch_features(model, pixels), ids, position,
                                  questions.WORDS)
        for b in range(2):
            for q in range(5):
                text = ids[b, q, :position[b, q] + 1]
                prompt = torch.cat([torch.tensor([questions.ID['<s>']]),
                                    torch.full((192,), questions.ID['<image>']), text])[None]
                plain = model(input_ids=prompt, pixel_values=pixels[b:b + 1],
                              attention_mask=torch.ones_like(prompt)).logits[0, -1]
                assert torch.allclose(plain, packed[b, q], atol=1e-5)


def test_a_few_steps_train_and_write_a_model_that_loads(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / 'model'
    run(shards, tmp_path / 'work', '--steps', '2', '2', '2', '--out', str(out))
    log = [json.loads(line) for line in (tmp_path / 'work/log.jsonl').read_text().splitlines()]
    assert {line['stage'] for line in log} == {1, 2, 3}
    assert all(np.isfinite(line['means']).all() for line in log if 'means' in line)
    from sightplan_models.embedded import Backend, Settings
    assert Backend(Settings(model_dir=str(out))).name.startswith('model@')


def test_a_resumed_run_ends_like_an_uninterrupted_one(shards: Path, tmp_path: Path,
                                                      monkeypatch: Any) -> None:
    run(shards, tmp_path / 'whole', '--steps', '4', '1', '1')

    class Interrupted(Exception):
        pass

    refresh, calls = sharding.Corpus.refresh, []

    def stop_after_first_checkpoint(self: Any) -> int:
        calls.append(1)
        if len(calls) == 3:  # validation, training, after the first checkpoint
            raise Interrupted
        return refresh(self)

    monkeypatch.setattr(sharding.Corpus, 'refresh', stop_after_first_checkpoint)
    with pytest.raises(Interrupted):
        run(shards, tmp_path / 'parts', '--steps', '4', '1', '1')
    monkeypatch.setattr(sharding.Corpus, 'refresh', refresh)
    run(shards, tmp_path / 'parts', '--steps', '4', '1', '1', '--resume')
    whole, parts = (torch.load(tmp_path / name / 'checkpoint.pt', weights_only=True)['model']
                    for name in ('whole', 'parts'))
    assert all(torch.equal(whole[key], parts[key]) for key in whole)


def test_missing_shards_are_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match='render_scenes'):
        sharding.Corpus(tmp_path, range(4)).refresh()


def test_evaluation_truth_counts_every_ground_atom() -> None:
    stacks, names = (('r', 'g'), (), ('b',)), ('c1', 'c2', 'c3')
    atoms = evaluation.all_atoms(['r', 'g', 'b'], names)
    assert len(atoms) == len(set(atoms)) == 9 + 3 + 9 + 9 + 9
    assert evaluation.true_atoms(stacks, names) == {
        'on g,r', 'clear g', 'clear b', 'incolumn r,c1', 'incolumn g,c1', 'incolumn b,c3',
        'leftof c1,c2', 'leftof c1,c3', 'leftof c2,c3',
        'rightof c2,c1', 'rightof c3,c1', 'rightof c3,c2'}
    assert evaluation.true_atoms(stacks, names) <= set(atoms)


@pytest.mark.parametrize('script', ['train_embedded', 'evaluate_embedded', 'render_scenes'])
def test_scripts_explain_themselves(script: str, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, 'argv', [script, '--help'])
    with pytest.raises(SystemExit) as caught:
        __import__(script).main()
    assert caught.value.code == 0
    assert '--help' in capsys.readouterr().out


def test_model_card_and_accuracies_belong_to_the_shipped_weights() -> None:
    from sightplan_models.embedded import Backend, Settings, shipped_folder
    folder = shipped_folder('blocksworld')
    result = json.loads((folder / 'accuracy.json').read_text())
    assert result['model'] == Backend(Settings(domain='blocksworld')).name
    assert evaluation.table(result) in (folder / 'README.md').read_text()
    for split in scenes.SPLITS:
        suite = result['suites'][split]
        assert suite['scenes'] >= 500 and suite['look_strength'] == 1.0
        for predicate, row in suite['predicates'].items():
            assert row['accuracy'] >= 0.998, (split, predicate)


def test_model_card_controls_fall_to_chance() -> None:
    from sightplan_models.embedded import shipped_folder
    result = json.loads((shipped_folder('blocksworld') / 'accuracy.json').read_text())
    assert len(result['controls']) == 2
    for control in result['controls'].values():
        for predicate in evaluation.PICTURE_PREDICATES:
            row = control['predicates'][predicate]
            assert abs((row['accuracy_yes'] + row['accuracy_no']) / 2 - 0.5) < 0.06
