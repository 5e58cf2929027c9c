"""The training of the embedded locator, on drawn scenes and for a few steps."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightplan.metrics.intervals import fraction_interval
from sightplan.model import Form, InputError, Target
from sightplan.model.query import Deadline, ModelByKind, answers, ask_one
from sightplan.model.scene import Piece, PointingScene, PointingTask
from sightplan.queries.locate import Locate, LocateReply

TRAINING = Path(__file__).resolve().parents[3] / 'training'
if not TRAINING.is_dir():
    pytest.skip('the training scripts are not part of an installation', allow_module_level=True)
sys.path.insert(0, str(TRAINING))

torch = pytest.importorskip('torch')
pytest.importorskip('cv2')
import torch.nn.functional as F  # noqa: E402, N812 (its usual name)

import locator_data as data  # noqa: E402
import locator_evaluate as evaluate  # noqa: E402
import locator_train as train  # noqa: E402
import locator_wording as wording  # noqa: E402
from shards import write_shards  # noqa: E402
from sightplan_models._embedded_locator import EmbeddedLocator  # noqa: E402
from sightplan_models._locator_network import (  # noqa: E402
    COARSE,
    DENSE,
    MAP,
    Pointed,
    Seen,
    Vision,
    pooled,
)
from sightplan_models._locator_words import mirrored, words_of  # noqa: E402

SOURCE = 'test_embedded_locator_training:DrawnScenes'
COLOURS = {'red': (220, 30, 30), 'green': (30, 200, 30), 'blue': (30, 30, 220)}


class DrawnScenes:
    """A square and a disc on grey, apart from each other."""

    def scene(self, seed: int, *, held_out: bool = True) -> PointingScene:
        rng = np.random.default_rng([seed, held_out])
        image = np.full((480, 640, 3), 150, np.uint8)
        depth = np.full((480, 640), 1.0, np.float32)
        y, x = np.mgrid[:480, :640]
        pieces, tasks = [], []
        first = 160 if rng.random() < 0.5 else 480
        for name, column in (('box', first), ('ball', 640 - first)):
            row, column = 240 + int(rng.integers(-90, 90)), column + int(rng.integers(-60, 60))
            mask = (np.maximum(abs(x - column), abs(y - row)) < 50 if name == 'box'
                    else (x - column)**2 + (y - row)**2 < 50**2)
            colour = str(rng.choice(list(COLOURS)))
            image[mask], depth[mask] = COLOURS[colour], 0.9
            pieces.append(Piece(f'{name} 1', name, mask))
            side = 'left' if column < 320 else 'right'
            tasks += [PointingTask(f'the {colour} {name}', 's1', 'object', mask, f'{name} 1'),
                      PointingTask(f'the thing on the {side}', 's1', 'restriction', mask,
                                   f'{name} 1')]
        tasks.append(PointingTask('a free place', 's2', 'recommend', depth == 1.0))
        return PointingScene(f'drawn/{seed}', image, depth, (500, 500, 320, 240), tuple(pieces),
                             tuple(tasks))

    def follow(self, scene_id: str, task: Any, trace: Any) -> dict[str, Any]:
        raise NotImplementedError


@pytest.fixture(scope='module')
def shards(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp('shards')
    write_shards(folder, range(3), data.drawer([SOURCE], 4))
    return folder


@pytest.fixture(scope='module')
def rows() -> Any:
    return data.draw_shard([SOURCE], 6, 1)


VOCABULARY = data.Vocabulary(('', 'the', 'red', 'box', 'left'), ('ball', 'box'))


def batches(targets: int = 4) -> data.Batches:
    return data.Batches(VOCABULARY, 64, targets)


# Wording ---------------------------------------------------------------------------------------

def said(text: str, times: int = 300) -> set[str]:
    ways, rng = wording.Wording(['mug', 'drawer box', 'fork', 'scissors']), random.Random(4)
    return {ways.reworded(text, rng) for _ in range(times)}


def test_a_text_is_said_in_many_ways_that_keep_what_it_is_about() -> None:
    found = said('where is it safe to hold the red mug?')
    assert len(found) > 100
    assert all('red' in words_of(way) for way in found)
    assert all(('mug' in way) for way in found)
    assert any('harm' in way for way in found)


def test_names_are_put_in_other_words_and_keep_their_parts() -> None:
    found = said('the fork with the blue handle')
    assert len(found) > 60 and all('blue' in way and 'fork' in way for way in found)
    assert any(way.startswith('that fork') for way in found)
    assert any('drawer box' in way and 'painted pink' in way
               for way in said('the pink drawer box', 1000))


def test_left_never_becomes_right() -> None:
    found = said('the mug left of the drawer box', 1000)
    assert not any('right' in way.replace('right away', '').replace('right by', '')
                   for way in found)


def test_no_phrasing_that_scenes_keep_for_tests_is_learned() -> None:
    kept = pytest.importorskip('sightplan_sim.tabletop.wording')
    import yaml

    held_out: list[str] = []

    def walk(node: Any) -> None:
        for key, value in (node.items() if isinstance(node, dict) else enumerate(node)):
            if key == 'held_out':
                held_out.extend(value)
            elif isinstance(value, dict | list):
                walk(value)

    walk(yaml.safe_load(kept.FILE.read_text()))
    assert len(held_out) > 50 and wording.check(held_out) == []
    assert wording.check(['What has {something} which {someone}?', 'The {x} which {y} has!']) == [
        'the {x} which {y} has']


# Shards and batches ----------------------------------------------------------------------------

def test_a_shard_holds_what_the_scene_says(rows: Any) -> None:
    scene = DrawnScenes().scene(6, held_out=False)
    assert rows['image'].shape == (6, 240, 320, 3) and rows['text'][0, 0] == scene.tasks[0].text
    assert [str(kind) for kind in rows['kind'][0, :5]] == [
        's1 object', 's1 restriction', 's1 object', 's1 restriction', 's2 recommend']
    assert rows['piece'][0, :6].tolist() == [0, 0, 1, 1, -1, -1]
    for k, task in enumerate(scene.tasks):
        mask = np.unpackbits(rows['mask'][0, k]).reshape(MAP)
        assert mask.mean() == pytest.approx(task.mask.mean(), abs=0.005)
        assert (mask[::5, ::5] == task.mask[2::20, 2::20]).mean() > 0.98
    for index, piece in enumerate(scene.pieces, 1):
        assert (rows['owner'][0] == index).mean() == pytest.approx(piece.mask.mean(), abs=0.005)
    assert set(np.unique(rows['depth'][0])) == {900, 1000}


def test_scenes_for_training_are_not_those_held_out() -> None:
    maker = DrawnScenes()
    assert not np.array_equal(maker.scene(6).image, maker.scene(6, held_out=False).image)
    with pytest.raises(InputError, match='maker of scenes'):
        data.scene_source('no such maker')


def test_a_batch_as_it_is_has_all_targets_with_masks_and_words(rows: Any) -> None:
    batch = batches().make(rows, None)
    assert batch.used.all() and batch.used.shape == (6, 5) and not batch.absent.any()
    assert batch.kind[0][4] == 's2 recommend' and batch.piece[0].tolist() == [1, 1, 2, 2, 0]
    assert np.array_equal(batch.mask[0, 0], np.unpackbits(rows['mask'][0, 0]).reshape(MAP))
    words = words_of(str(rows['text'][0, 0]))
    ids = batch.word[batch.text[0, 0, :len(words)]].tolist()
    assert ids == [VOCABULARY.ids().get(word, 0) for word in words]
    assert not batch.padding[0, 0, :len(words)].any() and batch.padding[0, 0, len(words):].all()
    named = batch.named[0, 0, :len(words)]
    assert named.nonzero().tolist() == [[2, 1]], words  # the third word names the first thing


def test_what_is_known_of_places_fits_the_picture(rows: Any) -> None:
    batch = batches().make(rows, None)
    rows_, columns = COARSE
    for index in (1, 2):
        at = (batch.owner[0] == index).nonzero()
        row, column = at[0].tolist()
        x = (column + 0.5) / columns + float(batch.where[0, 0, row, column])
        y = (row + 0.5) / rows_ + float(batch.where[0, 1, row, column])
        middle = (at.float().mean(0) + 0.5) / torch.tensor([rows_, columns])
        assert (y, x) == pytest.approx(middle.tolist(), abs=0.02)
        assert batch.heat[0, int(y * rows_), int(x * columns)] > 0.99
        assert float(batch.where[0, 2, row, column]) == pytest.approx(100 / 640, abs=0.02)
        assert batch.category[0, index - 1] == {1: 2, 2: 1}[index]


def test_views_turn_pictures_masks_and_words_together(rows: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(data, 'FLIP_RATE', 1.0)
    monkeypatch.setattr(wording.Wording, 'reworded', lambda self, text, rng: text)
    monkeypatch.setattr(data, 'KNOWN_RATE', 1.0)
    ids = VOCABULARY.ids()
    seen_left = moved = 0
    for seed in range(6):
        batch = batches(5).make(rows, np.random.default_rng(seed))
        for b in range(6):
            for t in range(int(batch.used[b].sum())):
                if batch.absent[b, t] or batch.kind[b][t] == 's2 recommend':
                    continue
                mask = batch.mask[b, t]
                columns = mask.nonzero()[:, 1].float()
                colour = batch.picture[b, :3, ::2, ::2][:, mask].mean(1)
                assert colour.max() - colour.min() > 0.5  # the thing is where its mask is
                owner = batch.owner[b][mask[::2, ::2]]
                assert (owner == batch.piece[b, t]).float().mean() > 0.9
                moved += int(abs(float(mask.float().sum()) - 785) > 60)
                if ids['left'] in batch.word[batch.text[b, t]].tolist():
                    assert columns.mean() < 85
                    seen_left += 1
    assert seen_left > 5 and moved > 5


def test_a_mirror_in_training_is_that_of_the_backend(rows: Any) -> None:
    view = data.View(flip=True)
    said = batches()._said('the mug on the left', view, np.random.default_rng(1))
    assert 'left' not in said and 'right' in mirrored(mirrored(said))


def test_some_targets_are_absent_and_then_nothing_of_the_kind_is_there(rows: Any) -> None:
    alone = {key: value.copy() for key, value in rows.items()}
    alone['category'][:3, 1] = ''  # the first three scenes have no ball
    alone['piece'][:3, 2:] = -1
    batch = batches().make(alone, np.random.default_rng(3))
    assert batch.absent[:3].any() and not batch.absent[3:].any()
    assert not batch.mask[batch.absent].any()


def test_depth_is_missing_at_times_and_poor_at_others(rows: Any) -> None:
    known = torch.cat([batches().make(rows, np.random.default_rng(seed)).picture[:, 4].mean((1, 2))
                       for seed in range(8)])
    assert 0.1 < (known == 0).float().mean() < 0.7
    assert ((known > 0.5) & (known < 1)).any()


# Learning --------------------------------------------------------------------------------------

def perfect(batch: data.Batch) -> tuple[Vision, Seen, Pointed]:
    """What says the truth; the one map that it has is the category itself."""
    at = batch.heat.flatten(1).topk(2, 1).indices
    owner = batch.owner.flatten(1).gather(1, at)
    kind = F.pad(batch.category, (1, 0))
    dense = torch.zeros(len(at), DENSE, *COARSE)
    dense[:, 0] = torch.where(batch.heat > 0.999, 12.0, -12.0)
    dense[:, 1:5] = batch.where
    dense[:, 5] = torch.where(batch.owner > 0, 12.0, -12.0)
    known = 20 * F.one_hot(kind, 3).float()[..., 1:]
    one = known.gather(1, batch.owner.flatten(1)[..., None].expand(-1, -1, 2))
    maps = (one.transpose(1, 2).unflatten(2, COARSE),)
    things = known.gather(1, owner[..., None].expand(-1, -1, 2))
    vision = torch.nn.Module()
    vision.category = vision.category_of = torch.nn.Identity()
    mask = torch.where(batch.mask, 12.0, -12.0)
    chosen = torch.where(owner[:, None] == batch.piece[..., None], 9.0, -9.0)
    named = batch.named.gather(3, owner[:, None, None].expand(*batch.named.shape[:3], -1))
    nothing = torch.zeros(0)
    seen = Seen(nothing, nothing, nothing, things, at, dense, maps, nothing, nothing, nothing)
    return vision, seen, Pointed(mask, mask.clone(), torch.where(batch.absent, 30.0, -30.0),
                                 chosen, torch.where(named, 9.0, -9.0), nothing)


def test_the_loss_is_least_where_all_is_right_and_each_part_tells_its_fault(rows: Any) -> None:
    batch = batches().make(rows, None)
    vision, seen, reply = perfect(batch)
    parts = train.losses(vision, seen, [reply], batch)
    assert {key for key, value in parts.items() if value > 0.02} == set()
    for part, other in (('mask 0', {'mask': -reply.mask}), ('dice 0', {'mask': -reply.mask}),
                        ('point 0', {'point': -reply.point}), ('choice 0', {
                            'chosen': -reply.chosen}), ('name 0', {'meant': -reply.meant})):
        fault = dataclasses.replace(reply, **other)
        assert train.losses(vision, seen, [fault], batch)[part] > 0.5, part
    batch.absent[0, 0], batch.mask[0, 0] = True, False
    assert train.losses(vision, seen, [perfect(batch)[2]], batch)['point 0'] < 0.02
    assert train.losses(vision, seen, [reply], batch)['point 0'] > 0.5
    for part, channel in (('centre', slice(0, 1)), ('where', slice(1, 5)), ('owned', slice(5, 6))):
        dense = seen.dense.clone()
        dense[:, channel] = 1 - dense[:, channel]
        fault = dataclasses.replace(seen, dense=dense)
        assert train.losses(vision, fault, [reply], batch)[part] > 0.3, part
    for part, wrong in (('category', {'maps': (seen.maps[0].roll(1, 1),)}),
                        ('token', {'things': seen.things.roll(1, 2)})):
        fault = dataclasses.replace(seen, **wrong)
        assert train.losses(vision, fault, [reply], batch)[part] > 0.3, part


def test_what_is_known_of_a_thing_is_the_mean_of_its_places() -> None:
    weight = torch.zeros(1, 2, *COARSE)
    weight[0, 0, :8, :8], weight[0, 1, 8:16, :4] = 1.0, 0.5
    fine = torch.zeros(1, 1, *COARSE)
    fine[0, 0, :8, :4] = 2.0
    coarse = torch.zeros(1, 3, COARSE[0] // 4, COARSE[1] // 4)
    coarse[0, 1, 2, 0] = 7.0
    found = pooled((fine, coarse), weight)
    assert found.shape == (1, 2, 4)
    assert found[0, 0].tolist() == pytest.approx([1.0, 0.0, 0.0, 0.0])
    assert found[0, 1].tolist() == pytest.approx([0.0, 0.0, 3.5, 0.0])


def test_gradients_keep_their_layout_when_they_are_averaged(shards: Path, tmp_path: Path,
                                                           monkeypatch: Any) -> None:
    """The fused optimizer pairs weights and gradients by their places in memory."""
    trainer = train.Trainer(0, train.Settings(processes=2, shards=3, held_out=1, batch=2,
                                              targets=2, vision_steps=1, bfloat16=False),
                            shards, tmp_path)
    torch.stack(list(trainer.loss().values())).sum().backward()
    before = {name: p.grad.clone() for name, p in trainer.network.named_parameters()
              if p.grad is not None}
    monkeypatch.setattr(train.dist, 'all_reduce', lambda flat: flat.mul_(2))
    trainer.reduce()
    for name, parameter in trainer.network.named_parameters():
        assert parameter.grad.stride() == parameter.stride(), name
        assert torch.equal(parameter.grad, before.get(name, torch.zeros_like(parameter))), name


def test_what_was_learned_is_kept_when_there_are_more_words_and_things(
        shards: Path, tmp_path: Path) -> None:
    run(shards, tmp_path / 'first', '--steps', '2')
    known = train.read_vocabulary(tmp_path / 'first')
    fewer = data.Vocabulary(known.words[:4], known.categories[:1])
    start = tmp_path / 'less'
    start.mkdir()
    (start / 'vocabulary.json').write_text(json.dumps(dataclasses.asdict(fewer)))
    weights = train.make_network(fewer).state_dict()
    torch.save({'mean': weights}, start / 'checkpoint.pt')
    trainer = train.Trainer(0, train.Settings(shards=3, held_out=1), shards, tmp_path,
                            start / 'checkpoint.pt')
    assert trainer.vocabulary.words[:4] == fewer.words
    assert set(trainer.vocabulary.words) == set(known.words)
    assert len(trainer.vocabulary.words) == len(known.words)
    for name, value in trainer.network.state_dict().items():
        part = value[tuple(map(slice, weights[name].shape))]
        assert torch.equal(part, weights[name]), name
    assert trainer.network.word.weight.shape[0] == len(known.words)


def test_makers_take_turns(tmp_path: Path) -> None:
    assert train.turns(['a:2', 'm:f:1']) == ('a', 'a', 'm:f')
    for wrong in ('a', 'a:0', 'a:x', ':2'):
        with pytest.raises(SystemExit, match='NAME:SHARDS'):
            train.turns([wrong])


def run(shards: Path, work: Path, *extra: str) -> None:
    try:
        train.main(['--data', str(shards), '--work', str(work), '--no-render', '--shards', '3',
                    '--held-out', '1', '--batch', '2', '--targets', '3', '--save-every', '2',
                    '--report-every', '1', '--no-bfloat16', '--vision-steps', '1',
                    *extra])
    finally:  # the training sets it for its process, which here is everybody's
        torch.set_flush_denormal(False)


@pytest.mark.slow
def test_training_goes_on_exactly_and_makes_a_model_that_locates(
        shards: Path, tmp_path: Path, capsys: Any) -> None:
    whole, parts, out = tmp_path / 'whole', tmp_path / 'parts', tmp_path / 'made' / 'model'
    run(shards, whole, '--steps', '4')
    monkey = train.Trainer.log
    stopped = []

    def stop(self: Any, **values: Any) -> None:
        monkey(self, **values)
        if self.step == 2 and 'validation' not in values and not stopped:
            stopped.append(1)
            self.store()
            raise KeyboardInterrupt

    train.Trainer.log = stop
    try:
        with pytest.raises(KeyboardInterrupt):
            run(shards, parts, '--steps', '4')
    finally:
        train.Trainer.log = monkey
    run(shards, parts, '--steps', '4', '--resume', '--out', str(out))
    one, two = (torch.load(folder / 'checkpoint.pt', weights_only=True)
                for folder in (whole, parts))
    assert one['step'] == two['step'] == 4
    for name, value in one['network'].items():
        torch.testing.assert_close(two['network'][name], value, rtol=1e-4, atol=1e-5)
    log = [json.loads(line) for line in (parts / 'log.jsonl').read_text().splitlines()]
    assert 'category' in log[0] and 'point 0' not in log[0] and 'point 0' in log[1]
    assert log[-1]['validation'].keys() == {'s1 object', 's1 restriction', 's2 recommend'}
    scene = DrawnScenes().scene(0)
    reply = ask_one(EmbeddedLocator(out), Locate(scene.image, Target('the red box', Form.BOX),
                                                 scene.depth_m))
    assert reply.probability is not None and len(reply.regions) == 1
    calibrated = evaluate.calibrate(SOURCE, out, 4)
    assert json.loads((out / 'locator.json').read_text())['calibration'] == [
        round(w, 4) for w in calibrated]


# Evaluation ------------------------------------------------------------------------------------

def test_hits_boxes_and_tables_are_counted_right() -> None:
    mask = np.zeros((10, 20), bool)
    mask[2:6, 4:12] = True
    region = evaluate.Region
    assert evaluate.on_mask(region(Form.POINT, ((0.2, 0.2),)), mask)
    assert not evaluate.on_mask(region(Form.POINT, ((0.6, 0.2),)), mask)
    assert not evaluate.on_mask(region(Form.POINT, ((1.0, 1.0),)), mask)
    assert evaluate.box_score(region(Form.BOX, ((0.2, 0.2), (0.6, 0.6))), mask) == 1.0
    assert evaluate.box_score(region(Form.BOX, ((0.2, 0.2), (0.4, 0.6))), mask) == 0.5
    mask[2:4, 8:12] = False  # the tight box now has an IoU of 24 / 32
    assert evaluate.box_score(region(Form.BOX, ((0.2, 0.2), (0.6, 0.6))), mask) == 1.0
    rows = [{'scene': str(k // 2), 'view': 'depth', 'stage': 's2', 'kind': kind, 'hit': hit,
             'box': 0.5, 'p': 0.75} for k, (kind, hit) in enumerate(
                 [('afd', True), ('contact', True), ('afd', False), ('safety', True)])]
    found = evaluate.table(rows)['depth']
    assert found['s2']['on_mask']['mean'] == 0.75 and found['s2']['on_mask']['n'] == 4
    assert found['s2 afd, contact']['on_mask']['mean'] == 0.6667
    low, high = fraction_interval([(2, 2), (1, 2)])  # by scene
    assert (found['s2']['on_mask']['low'], found['s2']['on_mask']['high']) == (
        round(low, 4), round(high, 4))
    assert found['calibration']['ece'] == 0.0 and found['calibration']['bins'] == [[0.75, 0.75, 4]]


def test_the_fit_finds_the_odds() -> None:
    rng = np.random.default_rng(2)
    known = rng.normal(0, 2, (20_000, 2))
    odds = -0.5 + 1.5 * known[:, 0] - 0.7 * known[:, 1]
    right = rng.random(len(known)) < 1 / (1 + np.exp(-odds))
    assert evaluate.fitted(known, right) == pytest.approx((-0.5, 1.5, -0.7), abs=0.08)


class _Knows(ModelByKind):
    """A backend that points at the middle of the mask of the first task with such a text."""

    name = 'knows'

    def __init__(self, scene: PointingScene) -> None:
        self._scene = scene

    @answers(Locate)
    def locate(self, request: Locate, deadline: Deadline) -> Any:
        task = next(t for t in self._scene.tasks if t.text == request.target.text)
        y, x = np.argwhere(task.mask).mean(0) / task.mask.shape
        points = ((x, y),) if request.target.form is Form.POINT else ((0.0, 0.0), (1.0, 1.0))
        reply = evaluate.Region(request.target.form, points, probability=0.9)
        grey = not np.ptp(request.image)
        return LocateReply((reply,), probability=0.1 if grey else 0.9)


def test_each_task_is_asked_in_each_view() -> None:
    scene = DrawnScenes().scene(3)
    rows = evaluate.ask_scene(_Knows(scene), scene, ['depth', 'grey'])
    assert len(rows) == 2 * len(scene.tasks) and {row['view'] for row in rows} == {'depth', 'grey'}
    things = [row for row in rows if row['stage'] == 's1']
    assert all(row['hit'] for row in things) and {row['p'] for row in things} == {0.1, 0.9}
