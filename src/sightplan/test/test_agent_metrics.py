"""Intervals, the scorer (one episode scored by hand) and the summary."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles import MemoryWorld, ScriptedPlanner, SearchPlanner, TruthGrounder, spec_of, two_blocks
from sightplan.agent import make_policy, run_episode
from sightplan.console import results_table
from sightplan.metrics import (
    EpisodeScorer,
    belief_reliability,
    mean_sem,
    measures,
    sem,
    summarise_episodes,
    wilson,
)
from sightplan.metrics.measures import aggregate
from sightplan.model import (
    Action,
    Answer,
    AskPurpose,
    Atom,
    Belief,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeStarted,
    Feedback,
    FeedbackStatus,
    Observation,
    Observed,
    Planned,
    PlanningResult,
    PlanningStatus,
    Question,
    Recorder,
    Stepped,
    StopReason,
    Verdict,
    WorldError,
)
from sightplan.queries import answered
from sightplan.runs import load_suite
from sightplan.runs.summary import summarise

YES, NO, UNPARSED = Verdict.YES, Verdict.NO, Verdict.UNPARSED


# Intervals

@pytest.mark.parametrize(('k', 'n', 'low', 'high'), [
    # Known values: Newcombe 1998 (81/263, 15/148, 0/20, 1/29), and 25 of 25.
    (81, 263, .2553, .3662), (15, 148, .0624, .1605), (0, 20, 0., .1611), (1, 29, .0061, .1718),
    (25, 25, .8668, 1.)])
def test_wilson_known_values(k, n, low, high):
    assert wilson(k, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_without_trials_knows_nothing():
    assert wilson(0, 0) == (0., 1.)


@pytest.mark.parametrize(('k', 'n'), [(-1, 3), (4, 3), (1, 0)])
def test_wilson_refuses_impossible_counts(k, n):
    with pytest.raises(ValueError, match='of'):
        wilson(k, n)


counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_wilson_holds_the_share_and_stays_in_bounds(kn):
    k, n = kn
    low, high = wilson(k, n)
    assert 0. <= low <= k / n <= high <= 1. and low < high


@given(counts)
def test_wilson_is_symmetric(kn):
    k, n = kn
    low, high = wilson(k, n)
    assert wilson(n - k, n) == pytest.approx((1. - high, 1. - low), abs=1e-12)


@given(counts)
def test_wilson_narrows_with_more_trials(kn):
    k, n = kn
    low, high = wilson(k, n)
    low4, high4 = wilson(4 * k, 4 * n)
    assert high4 - low4 < high - low


@given(counts)
def test_wilson_bounds_solve_the_score_equation(kn):
    k, n = kn
    for bound in wilson(k, n):
        if 0. < bound < 1.:
            z = (k / n - bound) / math.sqrt(bound * (1. - bound) / n)
            assert abs(z) == pytest.approx(1.959964, abs=1e-4)


def test_the_papers_standard_errors():
    # Table 6 prints .76 (0.09), .48 (0.10), .92 (0.05), 1.00 (0.00) for 25 problems.
    assert [round(sem(p, 25), 2) for p in (.76, .48, .92, 1.)] == [.09, .1, .05, 0.]
    assert sem(.5, 0) == 0.
    assert mean_sem([.3, .4]) == pytest.approx(.25)
    assert mean_sem([]) == 0.


# The scorer

class Timeline:
    """Ground truth by stamp."""

    def __init__(self, **states):
        self.states = {int(k[1:]): frozenset(map(Atom.parse, v)) for k, v in states.items()}
        self.outcomes = []

    def state(self, stamp_ns=None):
        stamp = max(self.states) if stamp_ns is None else stamp_ns
        if stamp not in self.states:
            raise WorldError(f'no state at {stamp}')
        return self.states[stamp]

    def last_outcome(self):
        return self.outcomes.pop(0)


IMAGE = Observation(np.zeros((1, 1, 3), np.uint8))


def asked(stamp, purpose, answers, expected=None, action=None):
    """``answers``: atom text to verdict; ``expected``: atom text to bool."""
    atoms = [Atom.parse(text) for text in answers]
    return answered(Observation(IMAGE.image, stamp),
                 tuple(Question(a, str(a)) for a in atoms),
                 tuple(Answer(verdict=v) for v in answers.values()),
                 tuple((expected or {}).get(text) for text in answers), purpose, action, .5, 'vlm')


R_TO_2, G_TO_2, R_TO_3 = (Action('moveblock', a) for a in (('r', 'c2'), ('g', 'c2'), ('r', 'c3')))
PRE, EFF, ENUM = AskPurpose.PRECONDITION, AskPurpose.EFFECT, AskPurpose.ENUMERATION
DONE, REFUSED, HELD = FeedbackStatus.EXECUTED, FeedbackStatus.REJECTED, FeedbackStatus.WITHHELD
START = ('on r,g', 'incolumn r,c1', 'incolumn g,c1', 'clear r')
MOVED = ('incolumn r,c2', 'incolumn g,c1', 'clear r', 'clear g')
GOAL = ('incolumn r,c2', 'incolumn g,c2', 'on g,r', 'clear g')


def plan(*actions, status=PlanningStatus.SOLVED):
    return Planned(PlanningResult(status, actions, .25))


def score(truth, *events, spec=None):
    scorer = EpisodeScorer(truth)
    assert isinstance(scorer, Recorder)
    for event in (EpisodeStarted(spec or spec_of()), *events):
        scorer.record(event)
    line = scorer.result()
    assert json.loads(json.dumps(line, allow_nan=False)) == line
    return line


@pytest.fixture
def by_hand():
    """Six steps: right, false positive, rejected, true positive, wrong effect answer, right.

    At 10 the start; from 20 red is in column 2; from 60 green stands on it: the goal.
    """
    truth = Timeline(t10=START, t20=MOVED, t21=MOVED, t30=MOVED, t31=MOVED, t40=MOVED, t50=MOVED,
                     t60=GOAL, t61=GOAL)
    truth.outcomes = ['success', 'illegal', 'no_op', 'success']
    return score(
        truth,
        # Enumeration: 5 of 7 right, one wrong on a true atom, one unreadable on a false one.
        asked(10, ENUM, {'clear r': YES, 'clear g': UNPARSED, 'on r,g': NO, 'on g,r': NO,
                         'incolumn r,c1': YES, 'incolumn g,c1': YES, 'incolumn g,c2': NO}),
        plan(R_TO_2, G_TO_2),
        # 1: all answers right.
        asked(10, PRE, {'clear r': YES, 'incolumn r,c2': NO},
              {'clear r': True, 'incolumn r,c2': False}, R_TO_2),
        Stepped(0, R_TO_2, Feedback(DONE, '', 20)),
        asked(21, EFF, {'incolumn r,c2': YES, 'incolumn r,c1': NO},
              {'incolumn r,c2': True, 'incolumn r,c1': False}, R_TO_2),
        # 2: withheld for a wrong answer.
        asked(21, PRE, {'clear g': NO, 'incolumn g,c2': NO},
              {'clear g': True, 'incolumn g,c2': False}, G_TO_2),
        Stepped(1, G_TO_2, Feedback(HELD, 'clear g', 21)),
        asked(21, ENUM, {'clear r': YES, 'clear g': YES}),
        plan(G_TO_2),
        # 3: illegal (red is in column 2 already), asked nothing wrong about what was asked.
        asked(21, PRE, {'incolumn r,c2': NO}, {'incolumn r,c2': False}, R_TO_2),
        Stepped(2, R_TO_2, Feedback(REFUSED, 'not legal', 30)),
        # 4: withheld for a good reason.
        asked(31, PRE, {'incolumn r,c2': YES}, {'incolumn r,c2': False}, R_TO_2),
        Stepped(3, R_TO_2, Feedback(HELD, 'incolumn r,c2', 31)),
        # 5: nothing happened, but the answers say that it did.
        asked(31, PRE, {'clear g': YES}, {'clear g': True}, G_TO_2),
        Stepped(4, G_TO_2, Feedback(DONE, '', 40)),
        asked(50, EFF, {'on g,r': YES}, {'on g,r': True}, G_TO_2),
        # 6: right.
        asked(50, PRE, {'clear g': YES}, {'clear g': True}, G_TO_2),
        Stepped(5, G_TO_2, Feedback(DONE, '', 60)),
        asked(61, EFF, {'on g,r': YES, 'clear r': UNPARSED}, {'on g,r': True, 'clear r': False},
              G_TO_2),
        plan(R_TO_3, status=PlanningStatus.UNSOLVABLE),
        EpisodeEnded(StopReason.NO_PLAN, 'no plan', 6, 2, 61, 12.5, {'ground': 3.}))


@pytest.mark.parametrize(('goal', 'solved'), [(None, False), ((), None)])
def test_an_episode_of_an_instruction_alone_is_not_scored_by_its_empty_goal(goal, solved):
    """The empty goal of an instruction that was given up would always hold."""
    problem = two_blocks()
    told = problem if goal is None else dataclasses.replace(
        problem, goal=goal, instruction='put the red mug on the tray')
    line = score(Timeline(t10=START), EpisodeEnded(StopReason.GAVE_UP, 'not sure', 0, 0, 10),
                 spec=spec_of(told))
    assert measures.solved(line) is solved
    assert bool(line['failure']) is (solved is False) and line['error'] is None
    summary = summarise_episodes([line])
    assert (summary['scored'], summary['errors']) == (int(solved is not None), 0)
    assert summary.get('without_truth') == (1 if solved is None else None)
    assert summary['success_rate'] == (None if solved is None else 0.)


def test_by_hand_what_became_of_it(by_hand):
    wanted = {'stop': 'no_plan', 'message': 'no plan',
              'error': None, 'steps': 6, 'executed': 3, 'rejected': 1, 'withheld': 2,
              'withheld_true_positive': 1, 'remaining': 2, 'seconds': 12.5,
              'timings_s': {'ground': 3.}, 'model': 'vlm', 'questions': 22,
              'enumerations': [False, True], 'id': 'test/two#0', 'split': 'simple',
              'problem': 'two', 'domain': 'blocksworld', 'method': 'ground'}
    assert {key: by_hand[key] for key in wanted} == wanted
    assert (measures.scored(by_hand), measures.solved(by_hand)) == (True, True)


def test_by_hand_predicates_split_by_truth(by_hand):
    assert by_hand['predicates']['enumeration'] == {
        'clear': {'asked': 4, 'right': 3, 'yes_asked': 3, 'yes_right': 3, 'no_asked': 1,
                  'no_right': 0, 'unparsed': 1, 'unknown': 0},
        'on': {'asked': 2, 'right': 1, 'yes_asked': 1, 'yes_right': 0, 'no_asked': 1,
               'no_right': 1, 'unparsed': 0, 'unknown': 0},
        'incolumn': {'asked': 3, 'right': 3, 'yes_asked': 2, 'yes_right': 2, 'no_asked': 1,
                     'no_right': 1, 'unparsed': 0, 'unknown': 0}}
    assert by_hand['predicates']['precondition']['clear'] == {
        'asked': 4, 'right': 3, 'yes_asked': 4, 'yes_right': 3, 'no_asked': 0, 'no_right': 0,
        'unparsed': 0, 'unknown': 0}
    assert by_hand['predicates']['precondition']['incolumn'] == {
        'asked': 4, 'right': 3, 'yes_asked': 2, 'yes_right': 1, 'no_asked': 2, 'no_right': 2,
        'unparsed': 0, 'unknown': 0}
    assert by_hand['predicates']['effect']['on'] == {
        'asked': 2, 'right': 1, 'yes_asked': 1, 'yes_right': 1, 'no_asked': 1, 'no_right': 0,
        'unparsed': 0, 'unknown': 0}


def test_by_hand_actions_by_the_papers_rule(by_hand):
    # Right: only step 1. Step 6 had an unreadable answer. Of 6 steps and 2 remaining actions.
    assert (by_hand['actions_right'], by_hand['actions_counted']) == (1, 8)
    assert [a['right'] for a in by_hand['actions']] == [True] + [False] * 5
    assert [a['outcome'] for a in by_hand['actions']] == [
        'success', '', 'illegal', '', 'no_op', 'success']


def test_by_hand_what_the_checks_were_worth(by_hand):
    assert by_hand['checks'] == {
        # Negative: true in 1, 5 and 6, false in 3. Positive: false in 2, true in 4.
        'precondition': {'true_positive': 1, 'false_positive': 1, 'true_negative': 3,
                         'false_negative': 1},
        # True negatives after 1 and 6, missed the no-op after 5.
        'effect': {'true_positive': 0, 'false_positive': 0, 'true_negative': 2,
                   'false_negative': 1}}


def test_by_hand_every_wrong_answer_is_listed(by_hand):
    image = IMAGE.image_id
    assert by_hand['wrong'] == [
        ['enumeration', 'clear g', 'unparsed', 0, image, 10, False],
        ['enumeration', 'on r,g', 'no', 0, image, 10, True],
        ['precondition', 'clear g', 'no', 1, image, 21, True],
        ['precondition', 'incolumn r,c2', 'no', 2, image, 21, True],
        ['effect', 'on g,r', 'yes', 5, image, 50, False],
        ['effect', 'clear r', 'unparsed', 6, image, 61, False]]


def test_by_hand_plans(by_hand):
    assert by_hand['plans'] == [
        {'status': 'solved', 'step': 0, 'length': 2, 'seconds': .25, 'cached': False},
        {'status': 'solved', 'step': 2, 'length': 1, 'seconds': .25, 'cached': False},
        {'status': 'unsolvable', 'step': 6, 'length': None, 'seconds': .25, 'cached': False}]


def action_accuracy(line):
    """ViPlan's, of a single scored episode."""
    suite = load_suite('viplan')
    own = {**line, 'measures': suite.episode_measures(line, True)}
    found = suite.summarise([own])['action_accuracy']
    measure = next(one for one in suite.measures('episodes') if one.name == 'action_accuracy')
    assert aggregate([own], measure).value == found
    return found


def test_the_table_says_over_which_answers_the_accuracy_is(by_hand):
    """Before: "predicate accuracy 1" beside 16 questions, 2 of which were answered wrongly."""
    summary = {**summarise([by_hand], None), 'planned': 1, 'repeated_lines': [],
               'problems_skipped': []}
    summary['measures']['predicate_accuracy'] = {'value': 0.875, 'interval95': None}
    table = dict(results_table.rows(summary))
    assert table['predicate accuracy'] == (
        '0.875\nover 8 answers to enumerations of the state; 0.8 over all 20')


def test_by_hand_summary(by_hand):
    summary = summarise_episodes([by_hand])
    accuracy = summary['predicate_accuracy']
    assert accuracy['overall'] == pytest.approx(7 / 8)
    assert accuracy['overall_unparsed_wrong'] == pytest.approx(7 / 9)
    assert accuracy['per_predicate'] == pytest.approx({'clear': 1., 'on': .5, 'incolumn': 1.})
    assert accuracy['macro'] == pytest.approx(5 / 6)
    assert (accuracy['yes'], accuracy['no']) == (pytest.approx(5 / 6), pytest.approx(2 / 3))
    assert accuracy['all_questions'] == pytest.approx(16 / 20)
    assert action_accuracy(by_hand) == pytest.approx(1 / 8)
    assert summary['unparsed'] == 2
    assert summary['enumerations'] == {'count': 2, 'exact': 1, 'first_exact': 0}
    assert summary['questions'] == 22


def believed(**probabilities):
    return BeliefUpdated(Belief(frozenset(), {
        Atom.parse(text.replace('_', ' ', 1).replace('_', ',')): p
        for text, p in probabilities.items()}))


def test_what_is_believed_when_one_acts_and_at_the_end_is_compared_with_the_truth_then():
    truth = Timeline(t10=START, t20=MOVED, t21=MOVED)
    truth.outcomes = ['success']
    line = score(
        truth, believed(clear_r=.5),  # of no known time: nothing was seen yet
        Observed(Observation(None, 10)), believed(clear_r=.01),  # not the last one
        believed(clear_r=.92, clear_g=.31, incolumn_r_c1=1.),
        Stepped(0, R_TO_2, Feedback(DONE, '', 20)), believed(clear_g=.9),
        Observed(Observation(None, 21)), believed(clear_g=.33, incolumn_r_c1=0.),
        EpisodeEnded(StopReason.PLAN_DONE, '', 1, 0, 21))
    bins = line['beliefs']
    assert len(bins) == 20
    assert {i: b for i, b in enumerate(bins) if b[0]} == {
        0: [1, 0., 0], 6: [2, .64, 1], 18: [1, .92, 1], 19: [1, 1., 1]}
    found = belief_reliability([line])
    assert (found.n, found.groups) == (5, 1)
    assert found.ece == pytest.approx((.36 + .08) / 5)
    assert summarise_episodes([line])['belief_reliability']['ece'] == found.ece
    again = belief_reliability([line, line])  # two rounds of a problem share their luck
    assert (again.n, again.groups, again.ece) == (10, 1, found.ece)


def test_without_probabilities_there_is_no_reliability(by_hand):
    assert by_hand['beliefs'] == []
    assert summarise_episodes([by_hand])['belief_reliability'] is None


def test_an_episode_without_a_plan_counts_one_action():
    line = score(Timeline(t1=START), asked(1, ENUM, {'clear r': NO}),
                 plan(status=PlanningStatus.UNSOLVABLE),
                 EpisodeEnded(StopReason.NO_PLAN, '', 0, 0, 1))
    assert (line['actions_right'], line['actions_counted'], measures.solved(line)) == (0, 1, False)


def test_an_empty_plan_counts_no_action():
    line = score(Timeline(t1=GOAL), plan(), EpisodeEnded(StopReason.PLAN_DONE, '', 0, 0, 1))
    assert (line['actions_counted'], measures.solved(line)) == (0, True)


@pytest.mark.parametrize('reason', [StopReason.ERROR, StopReason.CANCELLED])
def test_errors_and_cancelled_episodes_are_unscored_and_not_looked_up(reason):
    line = score(Timeline(t1=GOAL), EpisodeEnded(reason, 'why', 0, 0, 77))
    assert (measures.scored(line), measures.solved(line), line['error']) == (False, None, 'why')


def test_without_ground_truth_an_episode_is_unscored():
    line = score(Timeline(t1=START), asked(2, ENUM, {'clear r': YES}),
                 EpisodeEnded(StopReason.PLAN_DONE, '', 0, 0, 1))
    assert not measures.scored(line) and not measures.solved(line)
    assert line['error'] == 'no ground truth: no state at 2'
    assert line['questions'] == 1


def test_solved_is_decided_by_the_final_state_whatever_the_reason():
    for reason in (StopReason.BUDGET, StopReason.REPEATED_ILLEGAL, StopReason.UNPARSED):
        assert measures.solved(score(Timeline(t1=START, t5=GOAL),
                                     EpisodeEnded(reason, '', 0, 0, 5)))
    assert measures.solved(score(Timeline(t1=GOAL, t5=START), EpisodeEnded(
        StopReason.PLAN_DONE, '', 0, 0, 5))) is False


def test_the_state_now_counts_when_the_end_has_no_stamp():
    assert measures.solved(score(Timeline(t1=GOAL), EpisodeEnded(StopReason.GAVE_UP)))


def test_one_scorer_serves_many_episodes():
    scorer = EpisodeScorer(Timeline(t1=GOAL))
    with pytest.raises(ValueError, match='no episode'):
        scorer.result()
    lines = []
    for number in range(2):
        scorer.record(EpisodeStarted(spec_of(id=f'e{number}')))
        with pytest.raises(ValueError, match='no episode'):
            scorer.result()
        scorer.record(asked(1, ENUM, {'clear g': YES}))
        scorer.record(EpisodeEnded(StopReason.PLAN_DONE, '', 0, 0, 1))
        lines.append(scorer.result())
    assert [line['questions'] for line in lines] == [1, 1]
    with pytest.raises(ValueError, match='before EpisodeStarted'):
        scorer.record(asked(1, ENUM, {'clear g': YES}))


def test_scoring_a_real_episode_of_ground_with_a_perfect_grounder():
    world = MemoryWorld()
    scorer = EpisodeScorer(world)
    run_episode(spec_of(), make_policy('ground'), world, TruthGrounder(world), SearchPlanner(),
                scorer, world.domain)
    line = scorer.result()
    assert measures.solved(line) and measures.scored(line)
    assert line['questions'] == len(world.model.atoms) + 2 * 2 + 5 + 5
    assert line['actions_right'] == line['actions_counted'] == 2
    assert all(c['asked'] == c['right'] for t in line['predicates'].values() for c in t.values())
    assert line['enumerations'] == [True]


def test_the_scorer_sees_errors_that_the_policy_cannot():
    world = MemoryWorld()
    scorer = EpisodeScorer(world)

    def wrong(atom, truth, call):
        return NO if str(atom) == 'leftof c1,c2' else None
    run_episode(spec_of(), make_policy('ground'), world, TruthGrounder(world, wrong),
                ScriptedPlanner(PlanningResult(PlanningStatus.SOLVED)), scorer, world.domain)
    leftof = scorer.result()['predicates']['enumeration']['leftof']
    assert (leftof['yes_asked'], leftof['yes_right'], leftof['no_right']) == (3, 2, 6)


# The summary

def lines_of(*specs):
    """(solved, stop, split) triples to lines."""
    lines = []
    for number, (solved, stop, split) in enumerate(specs):
        truth = Timeline(t1=GOAL if solved else START)
        lines.append(score(truth, EpisodeEnded(StopReason(stop), '', 0, 0, 1, 2., {'act': 1.}),
                           spec=spec_of(id=f'e{number}', split=split)))
    return lines


def test_errors_and_cancelled_are_counted_apart_from_failures():
    summary = summarise_episodes(lines_of(
        (1, 'plan_done', 's'), (0, 'budget', 's'), (0, 'error', 's'), (0, 'cancelled', 's'),
        (1, 'plan_done', 's')))
    assert (summary['episodes'], summary['scored'], summary['solved']) == (5, 3, 2)
    assert (summary['errors'], summary['cancelled']) == (1, 1)
    assert summary['success_rate'] == pytest.approx(2 / 3)
    assert summary['interval95'] == pytest.approx(list(wilson(2, 3)))
    assert summary['sem'] == pytest.approx(sem(2 / 3, 3))
    assert summary['stops'] == {'budget': 1, 'cancelled': 1, 'error': 1, 'plan_done': 2}
    assert (summary['seconds'], summary['seconds_per_episode']) == (10., 2.)
    assert summary['stage_seconds'] == {'act': 5.}


def test_nothing_scored_gives_no_rate():
    for lines in ([], lines_of((0, 'error', 's'))):
        summary = summarise_episodes(lines)
        assert summary['success_rate'] is None and summary['interval95'] == [0., 1.]
        json.dumps(summary, allow_nan=False)


def test_several_splits_are_shown_apart_and_averaged_as_in_the_paper():
    lines = lines_of(*[(1, 'plan_done', 'a')] * 4, (1, 'plan_done', 'b'), (0, 'budget', 'b'))
    summary = summarise_episodes(lines)
    assert summary['splits']['a']['success_rate'] == 1.
    assert summary['splits']['b']['success_rate'] == .5
    assert summary['mean_of_splits']['success_rate'] == .75
    assert summary['mean_of_splits']['sem'] == pytest.approx(.5 * math.sqrt(.25 / 2))
    assert 'splits' not in summarise_episodes(lines[:3])


def test_methods_that_ask_nothing_have_no_action_accuracy():
    [line] = lines_of((1, 'plan_done', 's'))
    assert line['questions'] == 0 and action_accuracy(line) is None


def test_keys_that_others_rely_on():
    summary = summarise_episodes(lines_of((1, 'plan_done', 's')))
    assert {'episodes', 'solved', 'success_rate', 'interval95', 'predicate_accuracy', 'questions',
            'errors', 'seconds'} <= set(summary)
    assert {'overall', 'per_predicate'} <= set(summary['predicate_accuracy'])


def test_plan_lengths_are_compared_with_the_optimum():
    problem = dataclasses.replace(two_blocks(), optimal_length=2)
    world = MemoryWorld()
    scorer = EpisodeScorer(world)
    run_episode(spec_of(problem, method='oracle'), make_policy('oracle', truth=world), world,
                TruthGrounder(world), SearchPlanner(), scorer, world.domain)
    summary = summarise_episodes([scorer.result()])
    assert summary['plans']['length_ratio'] == {'mean': 1., 'max': 1.}
