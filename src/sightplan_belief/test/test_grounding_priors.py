"""What a domain lets one expect: situations, and what completes a calibration."""

from __future__ import annotations

import shutil

import pytest

from doubles import PANTRY
from sightplan.domains import Domain, load_domain
from sightplan.model import Atom, InputError, Observation
from sightplan_belief.observation_model import ActionReliability, AnswerRates, ObservationModel
from sightplan_belief.priors import FILE, Priors, read_priors, situation_of

INSIDE = Atom('inside', ('bowl_1', 'cabinet_1'))
OPEN = Atom('open', ('cabinet_1',))
NEXT = Atom('nextto', ('bowl_1', 'cabinet_1'))
PRIORS = Priors(start={'inside': {'++': 0.1, '-+': 0.4, 'any': 0.3}, 'open': {'+': 0.6}},
                later={'inside': {'++': 0.5, 'any': 0.2}, 'open': {'any': 0.7}},
                actions={'grasp': ActionReliability(0.9, 0.1, 0.0)},
                answers={'open': AnswerRates(0.7, 0.3, n_true=6.0)}, rejection=0.2,
                execution_if_inapplicable=0.05)


def test_a_situation_says_of_each_argument_whether_it_is_in_view():
    assert situation_of(INSIDE, {'cabinet_1'}) == '-+'
    assert situation_of(INSIDE, ()) == '--' and situation_of(Atom('idle', ()), ()) == ''


def test_at_the_start_by_situation():
    """An unknown situation counts as any; a predicate without rates has none, but out of view."""
    def found(*visible):
        seen = Observation(visible_objects=visible)
        return PRIORS.at_start([INSIDE, OPEN, NEXT], seen)
    assert found('bowl_1', 'cabinet_1') == {INSIDE: 0.1, OPEN: 0.6}
    assert found('cabinet_1') == {INSIDE: 0.4, OPEN: 0.6, NEXT: 0.2}
    assert found() == {INSIDE: 0.3, OPEN: 0.5, NEXT: 0.2}
    assert PRIORS.at_start([INSIDE, NEXT], None) == {INSIDE: 0.3}
    assert PRIORS.at_start([INSIDE], Observation()) == {INSIDE: 0.3}


def test_of_a_category_in_any_situation():
    """Nothing is inside a window, wherever one looks; of cabinets as of all containers."""
    priors = PRIORS.model_copy(update={'categories': {'inside': {'window': 0.001}}})
    window = Atom('inside', ('bowl_1', 'window_12'))
    for visible in ((), ('bowl_1', 'window_12'), ('window_12',)):
        seen = Observation(visible_objects=visible)
        assert priors.at_start([window, INSIDE], seen) == {
            window: 0.001, INSIDE: PRIORS.at_start([INSIDE], seen)[INSIDE]}
    assert priors.of_scene([window]) == pytest.approx({window: 0.8 * 0.001 + 0.04})
    assert read_priors(load_domain('household')).categories == {
        'inside': {'door': 0.0025, 'window': 0.0012}}


def test_of_a_scene_that_may_be_of_another_kind():
    found = PRIORS.of_scene([INSIDE, OPEN, NEXT])
    assert found == pytest.approx({INSIDE: 0.8 * 0.5 + 0.04, OPEN: 0.8 * 0.7 + 0.04})


def test_it_completes_what_a_calibration_does_not_know():
    alone = PRIORS.complete(None)
    assert alone.rates('open') == PRIORS.answers['open'] and alone.rates('on') == AnswerRates()
    assert alone.action('grasp').success == 0.9
    assert (alone.rejection, alone.execution_if_inapplicable) == (0.2, 0.05)
    learned = AnswerRates(0.8, 0.2, learned='labels')
    known = PRIORS.complete(ObservationModel(
        predicates={'open': learned}, actions={'open-container': ActionReliability()},
        rejection=0.01))
    assert known.rates('open') == learned and known.action('grasp').success == 0.9
    assert known.rejection == 0.01  # learned with the actions


def test_a_domain_without_a_file_expects_nothing():
    assert read_priors(load_domain('blocksworld')) == Priors()


def test_the_file_of_household_is_about_its_words():
    found = read_priors(load_domain('household'))
    assert found.start and found.later and found.answers and found.actions and found.sights


@pytest.mark.parametrize(('text', 'field'), [
    ('start: {isopen: {+: 1.5}}', 'start.isopen'), ('rejection: 0', 'rejection'),
    ('begin: {}', 'begin'), ('sights: [{holds: [], in_view: true, exceptions: 0.1}]', 'sights'),
    ('start: {isopn: {+: 0.5}}', "start.isopn: the domain has no 'isopn' .choose among .*isopen"),
    ('later: {isopen: {++: 0.5}}', r"later.isopen: '\+\+' is not a situation"),
    ('start: {isopen: {x: 0.5}}', "start.isopen: 'x' is not a situation"),
    ('answers: {isopn: {yes_true: 0.5}}', 'answers.isopn'),
    ('actions: {fly: {success: 1, no_op: 0, slip: 0}}', 'actions.fly'),
    ('actions: {open: {success: 1, no_op: 0, slip: 0, effects: {isopn +: 0.9}}}',
     "actions.open.effects: the domain has no 'isopn' .choose among .*isopen"),
    ('sights: [{holds: ["isopn(?c)"], in_view: true, exceptions: 0.1}]', 'sights.0'),
    ('sights: [{holds: ["isopen(?c"], in_view: true, exceptions: 0.1}]', 'sights.0')])
def test_a_malformed_file_is_refused_by_field(tmp_path, text, field):
    folder = tmp_path / 'pantry'
    shutil.copytree(PANTRY, folder)
    (folder / FILE).write_text(text)
    with pytest.raises(InputError, match=field) as error:
        read_priors(Domain(folder))
    assert FILE in str(error.value)
