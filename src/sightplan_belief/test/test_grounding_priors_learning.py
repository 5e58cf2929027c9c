"""Learning priors: what is counted on walks, how models answer, and the command."""

from __future__ import annotations

import argparse
import json
import random
import re
import shlex

import numpy as np
import pytest

from doubles import MemoryWorld, SearchPlanner
from sightplan import cli
from sightplan.commands.flags import read_flags
from sightplan.domains import load_domain
from sightplan.model import Action, Atom, Observation, PlanningTask
from sightplan.model.reading import read_file
from sightplan_belief.commands import priors as command
from sightplan_belief.learning.priors import Counts, answers_of, as_yaml, walk
from sightplan_belief.priors import FILE, Priors, read_priors
from sightplan_belief.visibility import VisibilityRule

HOME = load_domain('household')
PROBLEM = HOME.parse_problem("""(define (problem p) (:domain household)
  (:objects bowl_1 - movable cabinet_1 - container table_1 - object)
  (:init (inside bowl_1 cabinet_1)) (:goal (and (ontop bowl_1 table_1))))""", 'p')
INSIDE, OPEN = Atom('inside', ('bowl_1', 'cabinet_1')), Atom('open', ('cabinet_1',))
HIDDEN = VisibilityRule(holds=('inside(?o, ?c)', 'not open(?c)'), in_view=False, exceptions=0.5)
ACT = Action('open-container', ('cabinet_1',))


def test_states_are_counted_by_what_is_in_view():
    counts = Counts()
    counts.see('start', [INSIDE, OPEN], Observation(visible_objects=('cabinet_1',)),
               frozenset({INSIDE}))
    counts.see('start', [INSIDE], Observation(), frozenset())
    found = {key[1:]: n for key, n in counts.atoms.items() if n}
    assert found == {
        ('inside', 'any', 'all'): 2, ('inside', 'any', 'true'): 1, ('inside', '-+', 'all'): 1,
        ('inside', '-+', 'true'): 1, ('open', 'any', 'all'): 1, ('open', '+', 'all'): 1}
    assert counts.states == 2


@pytest.mark.parametrize(('seen', 'filled', 'found'), [
    (300, 0, {'inside': {'window': 0.0017}}), (300, 30, None), (50, 0, None)])
def test_a_category_of_which_nothing_was_ever_true_is_told_apart(tmp_path, seen, filled, found):
    counts, window = Counts(), Atom('inside', ('bowl_1', 'window_1'))
    for number in range(seen):
        counts.see('start', [INSIDE, window], Observation(), frozenset(
            {INSIDE} if number % 2 else {window} if number < filled else ()))
    text = as_yaml(counts, {}, 'made by hand')
    (tmp_path / FILE).write_text(text)
    assert read_file(Priors, tmp_path / FILE).categories == (found or {}), text


def test_what_became_of_actions():
    """All done; nothing done; half done; an action with nothing to do is none."""
    counts, reach = Counts(), Atom('reachable', ('cabinet_1',))
    wanted = {OPEN: True, reach: True}
    for after in (frozenset({OPEN, reach}), frozenset(), frozenset({OPEN})):
        counts.act(ACT, wanted, frozenset(), after)
    counts.act(ACT, wanted, frozenset({OPEN, reach}), frozenset())
    assert counts.actions == {'open-container': 3} and counts.nothing == {'open-container': 1}
    assert counts.effects['open-container', 'reachable', 'done'] == 1
    assert counts.effects['open-container', 'reachable', 'all'] == 2
    assert counts.effects['open-container', 'open', 'done'] == 2


def test_exceptions_from_sights_are_counted():
    counts = Counts()
    for visible in (('bowl_1',), ('cabinet_1',), None):
        counts.sight([HIDDEN], [INSIDE, OPEN], Observation(visible_objects=visible),
                     frozenset({INSIDE}))
    assert counts.sights == {(0, 'all'): 2, (0, 'exceptions'): 1}


def test_rates_over_models_have_the_moments_of_the_models():
    rng = np.random.default_rng(0)
    true, false = rng.beta(6.0, 2.0, 4000), rng.beta(1.0, 9.0, 4000)
    found = answers_of([{'open': (float(t), float(f))} for t, f in zip(true, false, strict=True)])
    assert found['open'] == pytest.approx(
        {'yes_true': 0.75, 'n_true': 8.0, 'yes_false': 0.1, 'n_false': 10.0}, rel=0.06)
    few = [{'open': (0.5, 0.5)}] * 2
    assert answers_of(few) == {}
    alike = answers_of([*few, {'open': (0.9, 0.5)}])['open']
    assert alike['n_true'] == pytest.approx(3.4, abs=0.1) and alike['n_false'] > 1000
    apart = answers_of([{'open': (p, 0.5)} for p in (0.0, 1.0, 1.0)])['open']
    assert apart['n_true'] == 2.0  # few models are no law


def test_the_text_is_a_file_of_priors_with_half_a_case_on_either_side(tmp_path):
    counts = Counts()
    for number in range(9):
        seen = Observation(visible_objects=('cabinet_1',) if number else ())
        state = frozenset({OPEN}) if number < 5 else frozenset({INSIDE})
        counts.see('start', [OPEN, INSIDE], seen, state)
        counts.sight([HIDDEN], [INSIDE, OPEN], seen, state)
        counts.act(ACT, {OPEN: True}, frozenset(), frozenset({OPEN}))
    counts.refusals.update({'applicable': 19, 'refused': 0, 'inapplicable': 9, 'carried out': 4})
    text = as_yaml(counts, {'open': {'yes_true': 0.7, 'n_true': 4.0, 'yes_false': 0.2,
                                     'n_false': 3.0}}, 'Made by\na test', [HIDDEN])
    assert text.startswith('# Made by\n# a test\n')
    (tmp_path / 'priors.yaml').write_text(text)
    found = read_file(Priors, tmp_path / 'priors.yaml')
    assert found.start['open'] == {'+': pytest.approx(4.5 / 9, abs=1e-4), '-': 0.75, 'any': 0.55}
    assert set(found.start['inside']) == {'-+', '--', 'any'}
    assert found.actions['open-container'].no_op == 0.05
    assert found.rejection == 0.025 and found.execution_if_inapplicable == 0.45
    assert found.answers['open'].yes_true == 0.7 and found.answers['open'].n_false == 3.0
    assert found.sights == (HIDDEN.model_copy(update={'exceptions': 0.1}),)


def test_a_walk_begins_at_the_start_and_goes_on_with_actions():
    planner, counts = SearchPlanner(HOME), Counts()

    def plan(problem, state):
        return planner.plan(PlanningTask(HOME.pddl, HOME.write_problem(problem, state)), 1.0).plan

    world = MemoryWorld(HOME, lambda problem, state: set(problem.objects))
    for seed in range(4):
        walk(counts, HOME, world, PROBLEM, 8, plan, random.Random(seed))
    assert counts.homes == 4 and 4 < counts.states <= 4 * 9
    assert counts.atoms['start', 'inside', '++', 'all'] == 4 == counts.atoms[
        'start', 'inside', '++', 'true']
    assert counts.atoms['later', 'open', '+', 'true'] > 0 and not counts.nothing
    assert counts.refusals['applicable'] == counts.states - 4 - counts.refusals['inapplicable']
    assert counts.refusals['refused'] == counts.refusals['carried out'] == 0
    assert sum(counts.actions.values()) > 0


def test_the_command_writes_priors_and_leaves_models_out(tmp_path, capsys):
    out = tmp_path / 'priors.yaml'
    call = ['priors', 'learn', '--domain', 'household', '--split', 'simple', '--problems', '1',
            '--steps', '2', '--world-option', 'pictures=none', '--leave-out', 'gpt', '--out',
            str(out), '--json']
    assert cli.main(call) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report['problems'] == 1 and 1 < report['states'] <= 3
    assert report['models'] and not any(name.startswith('gpt') for name in report['models'])
    text = out.read_text()
    assert ', without gpt-4.1, gpt-4.1-nano.' in ' '.join(text.replace('#', '').split())
    found = read_file(Priors, out)
    assert set(found.start) <= set(HOME.schema.predicates) and found.sights and found.answers
    assert cli.main(call) == 2 and 'there is such a file' in capsys.readouterr().err
    assert cli.main([*call[:-3], '--split', 'nowhere']) == 2
    assert 'nowhere' in capsys.readouterr().err


@pytest.fixture
def learn(monkeypatch, capsys):
    """Exit code and standard error of the command; fails if it walks."""
    def walked(*arguments):
        raise AssertionError('it walks')
    monkeypatch.setattr('sightplan_belief.learning.priors.walk', walked)

    def call(*arguments):
        try:
            code = cli.main(['priors', 'learn', '--domain', 'household', '--world-option',
                             'pictures=none', *map(str, arguments)])
        except SystemExit as error:
            code = error.code
        return code, capsys.readouterr().err
    return call


@pytest.mark.parametrize('name', ['gpt-5', '', 'perfect'])
def test_a_model_to_leave_out_that_is_not_there_is_refused_before_any_walk(learn, name):
    code, err = learn('--leave-out', 'gpt-4.1', '--leave-out', name)
    assert code == 2 and f'--leave-out {name!r}' in err and 'InternVL3-78B' in err


def test_a_place_that_cannot_be_written_is_found_before_any_walk(learn, tmp_path):
    code, err = learn('--out', tmp_path / 'nowhere/priors.yaml')
    assert code == 2 and 'nowhere' in err and 'cannot be written' in err and 'name a file' in err


def test_some_problems_are_needed(learn):
    code, err = learn('--problems', 0)
    assert code == 2 and '--problems' in err and 'at least 1' in err


def test_the_file_of_household_names_the_command_that_makes_it():
    """Its splits and models are those that the command takes today."""
    text = (HOME.folder / FILE).read_text('utf-8')
    made, = re.findall(r'Made by "sightplan (.*?)": 120 problems of simple, medium, hard', text)
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    parsed = parser.parse_args(shlex.split(made))
    options = read_flags(parsed.command_settings, parsed)
    assert options.domain == 'household' and options.split == ('simple', 'medium', 'hard')
    assert options.problems * len(options.split) == 120 and options.first_seed == 100_000
    left_out = command.tables_left_out(options.leave_out)
    names, tables = command.confusion_rates(HOME, left_out)
    assert f'{len(names)} models, without {", ".join(left_out)}.' in text
    found = read_priors(HOME).answers
    expected = answers_of(tables)
    assert {name: {key: getattr(rates, key) for key in expected[name]}
            for name, rates in found.items()} == expected
