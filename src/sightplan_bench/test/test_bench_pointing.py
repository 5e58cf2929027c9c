"""Named things are pointed at, grasped and lifted: what is counted, and how a run goes on."""

import json

import numpy as np
import pytest

from sightplan.cli import main
from sightplan.model import Form, InputError, Region
from sightplan_bench import pointing_grasps as bench
from sightplan_bench.pointing_grasps import (
    ABSTAINED,
    DROPPED,
    LIFTED,
    NOTHING,
    WRONG,
    Bench,
    Choosers,
    Plan,
    Scenes,
    describe,
    outcome_of,
)
from sightplan_sim.tabletop.arm_world import Settings, TabletopArmWorld
from sightplan_sim.tabletop.graspable import is_graspable

SEED = 2000


@pytest.fixture(scope='module')
def world():
    with TabletopArmWorld(Settings(**bench.ERRORS)) as made:
        yield made


@pytest.fixture(scope='module')
def sight(world):
    return Scenes(world).show(SEED)


def run(capsys, *arguments):
    """Exit code, result and messages of the command."""
    code = main(['bench', 'pointing', '--json', *arguments])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else None, said.err


# --- counting -----------------------------------------------------------------------------------

@pytest.mark.parametrize(('lifted', 'dropped', 'outcome'), [
    (['mug 1'], [], LIFTED), (['mug 1'], ['can 1'], LIFTED), (['can 1'], [], WRONG),
    (['mug 1', 'can 1'], [], WRONG), ([], ['mug 1'], DROPPED), ([], ['can 1'], DROPPED),
    ([], [], NOTHING)])
def test_what_became_of_a_grasp_is_told_by_the_truth(lifted, dropped, outcome):
    assert outcome_of('mug 1', lifted, dropped) == outcome


def line(number, category, right, outcome, cause='done'):
    return {'seed': number, 'id': f'tabletop/held_out/{number}', 'text': f'the {category}',
            'category': category, 'pointers': {'point': {
                'right': right, 'outcome': outcome, 'cause': cause, 'message': '', 'askings': 1,
                'checks': 0}}}


def test_rates_are_of_what_was_chosen_rightly_and_of_all():
    lines = [line(1, 'mug', True, LIFTED), line(2, 'mug', True, DROPPED, 'dropped'),
             line(3, 'can', False, WRONG), line(4, 'can', False, ABSTAINED),
             line(5, 'can', True, NOTHING, 'no_grasp'), {'seed': 6, 'skipped': 'nothing'}]
    found = describe(lines, ['point'])
    assert (found['scenes'], found['skipped']) == (5, 1)
    mine = found['point']
    assert (mine['n'], mine['chosen'], mine['lifted_of_chosen'], mine['lifted']) == (5, 3, 1, 1)
    assert mine['chosen_rate'] == pytest.approx(0.6)
    assert mine['lifted_of_chosen_rate'] == pytest.approx(1 / 3, abs=1e-3)
    low, high = mine['lifted_of_chosen_interval95']
    assert 0.0 < low < 1 / 3 < high < 1.0
    assert mine['outcomes'] == {LIFTED: 1, WRONG: 1, NOTHING: 1, DROPPED: 1, ABSTAINED: 1}
    assert mine['by_category'] == {'can': {'lifted': 0, 'n': 1}, 'mug': {'lifted': 1, 'n': 2}}
    assert len(mine['failed']) == 2 and 'no_grasp' in ''.join(mine['failed'])


def test_without_scenes_there_are_no_rates():
    mine = describe([], ['point'])['point']
    assert (mine['n'], mine['chosen_rate'], mine['chosen_interval95']) == (0, None, None)


# --- scenes and pointers ------------------------------------------------------------------------

def test_a_scene_names_one_thing_that_can_be_grasped_in_words_that_mean_it_alone(sight):
    placed = sight.table.named(sight.name)
    assert is_graspable(placed.thing)
    assert sight.mask(sight.name).sum() >= bench.LEAST_PIXELS
    assert placed.thing.colour in sight.text or sum(
        one.thing.category == placed.thing.category for one in sight.table.things) == 1


def test_what_is_chosen_is_what_most_pixels_show(sight):
    mask = sight.mask(sight.name)
    other = next(one.name for one in sight.table.things
                 if one.name != sight.name and sight.mask(one.name).sum() > 100)
    assert sight.thing_at(mask) == sight.name
    assert sight.thing_at(sight.mask(other)) == other
    assert sight.thing_at(np.zeros_like(mask)) == ''
    ys, xs = np.nonzero(mask)
    point = ((xs[0] + 0.5) / 640, (ys[0] + 0.5) / 480)
    assert sight.thing_at(Region(Form.POINT, (point,))) == sight.name
    ys, xs = np.nonzero(sight.frame.table)
    assert sight.thing_at(Region(Form.POINT, ((xs[0] / 640, ys[0] / 480),))) == ''
    assert sight.thing_at(Region(Form.POINT, ((-0.2, 0.5),))) == ''


def test_pointers_choose_pieces(sight):
    choosers = Choosers(Plan(seed=3))
    shown, figures = choosers.choose('shown', sight)
    assert sight.thing_at(shown) == sight.name and figures['iou'] > 0.5
    where, figures = choosers.choose('point', sight)
    assert where is not None and (figures['askings'], figures['checks']) == (1, 0)
    _, figures = choosers.choose('believing', sight)
    assert 2 <= figures['askings'] + figures['checks'] <= 9


def test_a_believing_pointer_is_told_what_was_right_only_where_that_is_planned(sight):
    for knowledge, learned in (('told', True), ('known', False), ('none', False)):
        choosers = Choosers(Plan(knowledge=knowledge))
        choosers.choose('believing', sight)
        before = choosers._pointer('believing').reliability
        choosers.tell(True)
        after = choosers._pointer('believing').reliability
        assert (after is not before) is learned
    known = Choosers(Plan(repeat=0.8))._pointer('believing').reliability
    assert known.pointer.means() == pytest.approx({'hit': 0.533, 'repeat': 0.8, 'confusable': 0.5,
                                                   'silent': 0.0})


def test_nothing_is_grasped_without_a_choice_and_one_piece_only_once(world, monkeypatch):
    taken = []
    plain = Bench._grasp
    monkeypatch.setattr(Bench, '_grasp', lambda self, sight, where: (
        taken.append(where), plain(self, sight, where))[1])
    monkeypatch.setattr(Choosers, 'tell', lambda self, right: None)
    monkeypatch.setattr(Choosers, 'choose', lambda self, name, sight: (
        None if name == 'embedded' else sight.mask(sight.name), {}))
    found = Bench(Plan(pointers=('point', 'shown', 'embedded')), world).run(SEED)['pointers']
    assert len(taken) == 1
    assert found['point'] == found['shown'] and found['point']['outcome'] == LIFTED
    assert found['point']['right'] and found['point']['displaced'] == []
    assert found['embedded'] == {'chosen': '', 'right': False, 'outcome': ABSTAINED}


# --- the command --------------------------------------------------------------------------------

@pytest.mark.slow
def test_a_run_goes_on_where_it_was_left(tmp_path, capsys):
    out = str(tmp_path / 'out')
    wanted = ('--first', str(SEED), '--pointer', 'shown', '--out', out)
    code, result, said = run(capsys, '--scenes', '1', *wanted)
    assert code == 0 and result['shown']['n'] == 1 and '[1/1]' in said
    kept = (tmp_path / 'out' / bench.LINES).read_text()
    code, again, _ = run(capsys, '--scenes', '1', *wanted)
    assert code == 0 and (tmp_path / 'out' / bench.LINES).read_text() == kept
    assert again == result
    code, _, said = run(capsys, '--scenes', '1', *wanted, '--seed', '4')
    assert code == 2 and 'other settings' in said


@pytest.mark.parametrize(('arguments', 'words'), [
    (('--scenes', '0'), '--scenes'), (('--repeat', '1.5'), '--repeat'),
    (('--table', 'gpt-9'), 'gpt-9'), (('--world-option', 'wobble=1'), 'wobble'),
    (('--first', '-1'), '--first')])
def test_wrong_arguments_are_named(tmp_path, capsys, arguments, words):
    code, _, said = run(capsys, '--out', str(tmp_path / 'out'), *arguments)
    assert code == 2 and words in said
    assert not (tmp_path / 'out').exists()


def test_nothing_is_known_of_another_thing_than_the_one_that_is_named(sight):
    truth = bench.SceneTruth()
    with pytest.raises(InputError, match='nothing is known'):
        truth.masks(sight.text)
    truth.sight = sight
    found = truth.masks(sight.text)
    assert np.array_equal(found.target, sight.mask(sight.name))
    assert not any((found.target & other).any() for other in found.others)
