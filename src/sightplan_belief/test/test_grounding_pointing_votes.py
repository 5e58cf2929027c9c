"""Votes and checks: against brute force, and what must hold for any answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan_belief.pointing.choosing import (
    EXISTS,
    POINT,
    Asking,
    next_asking,
    outcome_chances,
)
from sightplan_belief.pointing.reliability import (
    PUBLISHED,
    AlarmRates,
    CheckerRates,
    PointerRates,
    Reliability,
)
from sightplan_belief.pointing.votes import (
    ABSENT,
    ELSEWHERE,
    SPOTS,
    Answers,
    Check,
    Vote,
    believe,
    fit,
)

DEFAULT = Reliability.default()
PLACES = np.array([90.0, 8.0, 2.0])


def known(hit=0.5, repeat=0.6, confusable=0.5, yes=0.9, no=0.8, check_repeat=0.7, silent=0.1,
          false_alarm=0.4):
    return Reliability(PointerRates.known(hit, repeat, confusable, silent),
                       CheckerRates.known(yes, no, check_repeat), PLACES,
                       CheckerRates.known(0.85, 0.75, 0.5), AlarmRates.known(false_alarm))


UP_TO_FOUR = st.integers(0, 4)


@st.composite
def answers(draw, pieces=UP_TO_FOUR, checks=True):
    """Votes for pieces, spots and absence, some of them divided, and checks."""
    count = draw(pieces)
    said = Answers(count)
    for _ in range(draw(st.integers(0, 5))):
        spots = said.places - count
        named = [ABSENT, *range(count + spots + 1)]
        first, second = draw(st.sampled_from(named)), draw(st.sampled_from(named))
        weight = draw(st.sampled_from([1.0, 1.0, 0.75]))
        on = {first: 1.0} if first == second else {first: weight, second: 1 - weight}
        said = said.voted(Vote(on, draw(st.none() | st.floats(0, 1))))
    for _ in range(draw(st.integers(0, 4)) if checks and said.places else 0):
        said = said.checked(Check(draw(st.integers(0, said.places - 1)), draw(st.floats(0, 1))))
    for _ in range(draw(st.integers(0, 3)) if checks else 0):
        said = said.asked_existence(draw(st.floats(0, 1)))
    return said


def fresh(outcome, truth, pieces, rates):
    """P(outcome | truth) of places that are ('piece', i), ('spot', i) or ('absent', 0)."""
    hit, _, confusable, silent, false_alarm = rates
    if truth[0] == 'absent':
        wrong = false_alarm
        if outcome == truth:
            return 1 - false_alarm
    elif outcome == truth:
        return hit
    elif outcome[0] == 'absent':
        return (1 - hit) * silent
    else:
        wrong = (1 - hit) * (1 - silent)
    others = pieces - (truth[0] == 'piece')
    if not others:
        confusable = 0.0
    if outcome[0] == 'piece':
        return wrong * confusable / others
    return wrong * (1 - confusable) / (SPOTS - (truth[0] == 'spot'))


def brute_force(pieces, votes, checks, existence, model):
    """Posterior by enumeration: of every single spot, of repeated and of fresh answers."""
    pointer, checker, asked, alarm = (model.pointer, model.checker, model.existence, model.alarm)
    truths = ([('piece', i) for i in range(pieces)] + [('spot', i) for i in range(SPOTS)]
              + [('absent', 0)])
    share = model.places / model.places.sum()
    prior = {'piece': share[0] / max(pieces, 1), 'absent': share[2],
             'spot': (share[1] + (0 if pieces else share[0])) / SPOTS}
    posterior = {}
    for truth in truths:
        total = 0.0
        for cell, of_alarm in itertools.product(range(len(pointer.weight)),
                                                range(len(alarm.weight))):
            rates = (pointer.hit[cell], pointer.repeat[cell], pointer.confusable[cell],
                     pointer.silent[cell], alarm.false_alarm[of_alarm])
            for pattern in itertools.product((False, True), repeat=max(len(votes) - 1, 0)):
                chance = pointer.weight[cell] * alarm.weight[of_alarm]
                for number, vote in enumerate(votes):
                    repeats = number > 0 and pattern[number - 1]
                    if number:
                        chance *= rates[1] if repeats else 1 - rates[1]
                    chance *= (float(vote == votes[number - 1]) if repeats
                               else fresh(vote, truth, pieces, rates))
                total += chance
        of_checks = 0.0
        for cell in range(len(checker.weight)):
            chance, last = checker.weight[cell], {}
            for place, yes in checks:
                rate = (checker.yes_right[cell] if place == truth else 1 - checker.no_wrong[cell])
                afresh = rate if yes else 1 - rate
                again = checker.repeat[cell]
                chance *= ((1 - again) * afresh + again * (last[place] == yes)
                           if place in last else afresh)
                last[place] = yes
            of_checks += chance
        of_existence = 0.0
        for cell in range(len(asked.weight)):
            chance, last = asked.weight[cell], None
            rate = (1 - asked.no_wrong[cell] if truth[0] == 'absent' else asked.yes_right[cell])
            for yes in existence:
                afresh = rate if yes else 1 - rate
                again = asked.repeat[cell]
                chance *= (afresh if last is None
                           else (1 - again) * afresh + again * (last == yes))
                last = yes
            of_existence += chance
        posterior[truth] = prior[truth[0]] * total * of_checks * of_existence
    total = sum(posterior.values())
    return {truth: chance / total for truth, chance in posterior.items()}


MODELS = [known(), known(0.3, 0.9, 0.2), Reliability(
    PointerRates(np.array([0.2, 0.6]), np.array([0.1, 0.8]), np.array([0.3, 0.7]),
                 np.array([0.05, 0.4]), np.array([0.4, 0.6])),
    CheckerRates(np.array([0.9, 0.7]), np.array([0.6, 0.95]), np.array([0.1, 0.9]),
                 np.array([0.5, 0.5])), PLACES,
    CheckerRates(np.array([0.95, 0.6]), np.array([0.7, 0.9]), np.array([0.2, 0.8]),
                 np.array([0.3, 0.7])),
    AlarmRates(np.array([0.1, 0.9]), np.array([0.5, 0.5])))]


@pytest.mark.parametrize('model', MODELS)
@pytest.mark.parametrize('pieces', [0, 1, 3])
def test_the_posterior_is_that_of_enumeration(model, pieces):
    named = {('piece', i): i for i in range(pieces)} | {
        ('spot', 0): pieces, ('spot', 1): pieces + 1, ('absent', 0): ABSENT}
    rng = np.random.default_rng(pieces)
    for _ in range(12):
        votes = [list(named)[rng.integers(len(named))] for _ in range(rng.integers(5))]
        # Spots are numbered in the order in which they are first pointed at.
        if ('spot', 1) in votes and ('spot', 0) not in votes[:votes.index(('spot', 1))]:
            votes = [('spot', 1 - i) if kind == 'spot' else (kind, i) for kind, i in votes]
        seen = [place for place in named if place[0] == 'piece' or place in votes
                if place[0] != 'absent']
        checks = [(seen[rng.integers(len(seen))], bool(rng.integers(2)))
                  for _ in range(rng.integers(4) if seen else 0)]
        said = Answers(pieces, tuple(Vote.at(named[place]) for place in votes),
                       tuple(Check(named[place], float(yes)) for place, yes in checks))
        existence = [bool(rng.integers(2)) for _ in range(rng.integers(4))]
        for yes in existence:
            said = said.asked_existence(float(yes))
        belief = believe(said, model)
        expected = brute_force(pieces, votes, checks, existence, model)
        for place, chance in expected.items():
            if place in seen or place[0] == 'absent':
                assert belief.probabilities[named[place]] == pytest.approx(chance), place
        elsewhere = sum(chance for (kind, i), chance in expected.items()
                        if kind == 'spot' and (kind, i) not in seen)
        assert belief.probabilities[ELSEWHERE] == pytest.approx(elsewhere)


def test_the_first_vote_by_hand():
    belief = believe(Answers(8, (Vote.at(3),)), Reliability(
        PointerRates.known(0.5, 0.8), CheckerRates.known(0.9, 0.9, 0.8), np.array([1.0, 0, 0])))
    assert belief.probability == pytest.approx(0.5 / (0.5 + 7 * 0.9 * 0.25 / 7))
    assert (belief.best, belief.probabilities[ELSEWHERE]) == (3, 0)


def test_a_vote_without_pieces_is_worth_the_hit_rate():
    belief = believe(Answers(0, (Vote.at(0),)), known(hit=0.533, repeat=0.4, silent=0.0))
    assert belief.probability == pytest.approx(0.533, abs=0.02)
    again = believe(belief.answers.voted(Vote.at(0)), known(hit=0.533, repeat=0.4, silent=0.0))
    assert again.probability > belief.probability + 0.1


@given(answers())
def test_probabilities_sum_to_one(said):
    for model in (DEFAULT, MODELS[2]):
        belief = believe(said, model)
        assert belief.probabilities.sum() == pytest.approx(1)
        assert (belief.probabilities >= 0).all()
        assert belief.pointer_cells.sum(axis=1) == pytest.approx(1)
        assert belief.checker_cells.sum(axis=1) == pytest.approx(1)
        assert belief.existence_cells.sum(axis=1) == pytest.approx(1)
        assert belief.alarm_cells.sum() == pytest.approx(1)


@given(answers(pieces=st.integers(1, 4)))
def test_chances_of_the_next_answer_sum_to_one(said):
    belief = believe(said, MODELS[2])
    for asking in (POINT, EXISTS, *(Asking(place) for place in range(said.places))):
        chances = outcome_chances(belief, asking)
        assert chances.sum(axis=1) == pytest.approx(1)
        assert (chances >= -1e-12).all()


@given(answers(pieces=st.integers(1, 4)), st.data())
def test_the_belief_after_an_answer_is_as_predicted(said, data):
    """Bayes' rule with the predicted chances of an answer gives the belief after it."""
    belief = believe(said, MODELS[2])
    asking = data.draw(st.sampled_from([POINT, EXISTS, *map(Asking, range(said.places))]))
    if asking.exists:
        outcome = data.draw(st.integers(0, 1))
        after = believe(said.asked_existence(1.0 - outcome), MODELS[2])
    elif asking.place is None:
        outcome = data.draw(st.sampled_from([ABSENT, *range(said.places)]))
        after = believe(said.voted(Vote.at(outcome)), MODELS[2])
    else:
        outcome = data.draw(st.integers(0, 1))
        after = believe(said.checked(Check(asking.place, 1.0 - outcome)), MODELS[2])
    expected = belief.probabilities * outcome_chances(belief, asking)[:, outcome]
    if expected.sum() > 1e-9:
        assert after.probabilities == pytest.approx(expected / expected.sum(), abs=1e-7)


@given(answers(pieces=st.integers(2, 4)), st.randoms())
def test_names_of_pieces_do_not_matter(said, random):
    order = list(range(said.pieces))
    random.shuffle(order)
    name = dict(enumerate(order)) | {ABSENT: ABSENT} | {
        place: place for place in range(said.pieces, said.places)}
    renamed = Answers(
        said.pieces, tuple(Vote({name[p]: w for p, w in vote.on.items()}, vote.probability)
                           for vote in said.votes),
        tuple(Check(name[check.place], check.yes) for check in said.checks), said.existence)
    before, after = believe(said, MODELS[2]), believe(renamed, MODELS[2])
    for place in range(said.places):
        assert after.probabilities[name[place]] == pytest.approx(before.probabilities[place])


@given(answers(pieces=st.integers(2, 4)), st.randoms())
def test_the_order_of_checks_of_different_places_does_not_matter(said, random):
    places = list(range(said.places))
    random.shuffle(places)
    ordered = Answers(said.pieces, said.votes, tuple(
        sorted(said.checks, key=lambda check: places.index(check.place))), said.existence)
    assert believe(ordered, DEFAULT).probabilities == pytest.approx(
        believe(said, DEFAULT).probabilities)


@given(answers(checks=False), st.booleans())
def test_independent_votes_may_come_in_any_order(said, backwards):
    model = known(repeat=0.0)
    votes = said.votes[::-1] if backwards else tuple(sorted(
        said.votes, key=lambda vote: sorted(vote.on.items())))
    assert believe(Answers(said.pieces, votes), model).probabilities[:said.pieces] == (
        pytest.approx(believe(said, model).probabilities[:said.pieces]))


@given(answers(pieces=st.integers(2, 5)), st.data(), st.floats(0.5, 0.95), st.floats(0, 0.99))
def test_another_vote_for_a_piece_never_lowers_it(said, data, hit, repeat):
    model = known(hit, repeat)
    piece = data.draw(st.integers(0, said.pieces - 1))
    before = believe(said, model).probabilities[piece]
    after = believe(said.voted(Vote.at(piece)), model).probabilities[piece]
    assert after >= before - 1e-9


@given(answers(pieces=st.integers(2, 5)), st.data())
def test_a_yes_raises_a_piece_and_a_no_lowers_it(said, data):
    piece = data.draw(st.integers(0, said.pieces - 1))
    said = Answers(said.pieces, said.votes)
    chances = [believe(said.checked(Check(piece, yes)), DEFAULT).probabilities[piece]
               for yes in (0.0, 0.5, 1.0)]
    assert chances[0] < believe(said, DEFAULT).probabilities[piece] < chances[2]
    assert chances[1] == pytest.approx(believe(said, known()).probabilities[piece], abs=1)
    assert chances[0] < chances[1] < chances[2]


def test_what_is_only_repeated_says_nothing():
    model = known(repeat=1.0, check_repeat=1.0)
    said = Answers(4, (Vote.at(1),), (Check(2, 1.0),))
    once = believe(said, model).probabilities
    again = believe(said.voted(Vote.at(1)).checked(Check(2, 1.0)), model).probabilities
    assert again == pytest.approx(once)


def test_a_repeated_vote_counts_less_than_an_independent_one():
    said = Answers(8, (Vote.at(1), Vote.at(1)))
    chances = [believe(said, known(repeat=repeat)).probability for repeat in (0.0, 0.45, 0.8)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > chances[2] + 0.1


def test_a_models_own_probability_takes_the_place_of_its_hit_rate():
    said = [believe(Answers(8, (Vote.at(1, own),)), known(hit=0.5)).probability
            for own in (None, 0.5, 0.2, 0.9, 1.0)]
    assert said[1] == pytest.approx(said[0])
    assert said[2] < said[1] < said[3] < said[4] < 1


def test_a_divided_vote_is_divided_evidence():
    belief = believe(Answers(4, (Vote({1: 0.7, 2: 0.3}),)), known())
    assert belief.probabilities[1] > belief.probabilities[2] > belief.probabilities[0]


def test_it_may_not_be_there():
    said = Answers(4, (Vote.at(ABSENT),) * 2)
    belief = believe(said, known(hit=0.8, repeat=0.2, false_alarm=0.05))
    assert belief.best == ABSENT
    assert belief.probability > 0.8


@given(answers(pieces=st.integers(1, 4)), st.floats(0, 1))
def test_another_reply_that_it_is_not_there_never_raises_here(said, present):
    model = known(hit=0.5, silent=0.2, false_alarm=0.6)
    before = believe(said, model, present)
    after = believe(said.voted(Vote.at(ABSENT)), model, present)
    assert after.present <= before.present + 1e-9


@given(answers(pieces=st.integers(1, 4)), st.floats(0, 1))
def test_a_yes_to_existence_raises_here_and_a_no_lowers_it(said, present):
    said = Answers(said.pieces, said.votes, said.checks)
    no, before, yes = (believe(one, DEFAULT, present).present for one in (
        said.asked_existence(0.0), said, said.asked_existence(1.0)))
    assert no <= before + 1e-12 <= yes + 2e-12


@given(answers(pieces=st.integers(1, 4)))
def test_a_prior_of_0_or_1_is_kept_whatever_is_said(said):
    for model in (DEFAULT, MODELS[2]):
        never, always = believe(said, model, 0.0), believe(said, model, 1.0)
        assert (never.present, never.best) == (0, ABSENT)
        assert always.present == pytest.approx(1)
        assert (always.best != ABSENT) is bool(said.supported)


def test_a_piece_that_nobody_pointed_at_is_no_place_of_what_is_not_there():
    once = Answers(1, (Vote.at(ABSENT),))
    belief = believe(once, Reliability.default(), 0.9)
    assert belief.present > 0.5 and belief.best == ABSENT
    assert belief.probability == pytest.approx(1 - belief.present)
    assert believe(once.checked(Check(0, 1.0)), Reliability.default(), 0.9).best == 0


@given(answers(pieces=st.integers(1, 4)), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_a_larger_prior_never_lowers_here(said, one, other):
    low, high = sorted((one, other))
    assert (believe(said, DEFAULT, low).present
            <= believe(said, DEFAULT, high).present + 1e-9)


@given(answers(pieces=st.integers(1, 4), checks=False), st.floats(0.05, 0.95),
       st.floats(0.05, 0.95))
def test_where_a_model_tells_of_existence_its_votes_only_tell_where(said, exists, present):
    told = Answers(said.pieces, tuple(
        Vote(vote.on, vote.probability, exists) for vote in said.votes))
    belief = believe(told, DEFAULT, present)
    combined = told.told_existence if told.votes else 0.5
    odds = present / (1 - present) * combined / (1 - combined)
    assert belief.present == pytest.approx(odds / (1 + odds))
    where, before = belief.probabilities[:ABSENT], believe(said, DEFAULT).probabilities[:ABSENT]
    assert where / where.sum() == pytest.approx(before / before.sum())


def test_agreeing_false_alarms_are_no_proof_of_existence():
    said = Answers(8, (Vote.at(2),) * 4)
    rare = believe(said, known(false_alarm=0.05, repeat=0.2), 0.5).present
    usual = believe(said, known(false_alarm=0.95, repeat=0.9), 0.5).present
    assert rare > 0.99
    assert usual < 0.8


def test_false_alarms_are_learned():
    learned = fit([(Answers(4, (Vote.at(number % 4),)), ABSENT) for number in range(60)])
    assert learned.means()['alarm']['false_alarm'] > 0.9
    assert learned.means()['places']['absent'] > 0.5
    quiet = fit([(Answers(4, (Vote.at(ABSENT),)).asked_existence(0.0), ABSENT)] * 60)
    assert quiet.means()['alarm']['false_alarm'] < 0.1
    assert quiet.means()['existence']['no_wrong'] > 0.9


def test_without_anything_learned_the_hit_rate_is_a_published_one():
    assert len(PUBLISHED) == 13
    means = DEFAULT.means()
    assert means['pointer']['hit'] == pytest.approx(np.mean(list(PUBLISHED.values())), abs=0.06)
    assert means['places'] == pytest.approx({'piece': 0.96, 'missed': 0.03, 'absent': 0.01})
    assert DEFAULT.pointer.weight.sum() == pytest.approx(1)


def session(hit, repeat, n=150, pieces=8, checker=0.9):
    """Answers about n targets by a simulated model, with what is right."""
    rng, told = np.random.default_rng(7), []
    for _ in range(n):
        truth, said, last = int(rng.integers(pieces)), Answers(pieces), None
        for _ in range(5):
            if last is None or rng.random() >= repeat:
                other = (truth + int(rng.integers(1, pieces))) % pieces
                last = (truth if rng.random() < hit else other if rng.random() < 0.5
                        else pieces + int(rng.integers(40)))
            said = said.voted(Vote.at(last))
        for place in rng.permutation(pieces)[:4]:
            correct = rng.random() < checker
            said = said.checked(Check(int(place), float((int(place) == truth) is correct)))
        told.append((compact(said), truth))
    return told


def compact(said):
    """Spots numbered in the order in which they were pointed at."""
    spots = {}
    names = [spots.setdefault(place, said.pieces + len(spots)) if place >= said.pieces else place
             for vote in said.votes for place in vote.on]
    return Answers(said.pieces, tuple(map(Vote.at, names)), said.checks)


@pytest.mark.parametrize(('hit', 'repeat'), [(0.55, 0.2), (0.3, 0.8)])
def test_rates_are_learned_with_and_without_the_truth(hit, repeat):
    told = session(hit, repeat)
    unaided = Reliability.default()
    for said, _ in told:
        unaided = believe(said, unaided).learned()
    for learned in (fit(told), unaided):
        means = learned.means()
        assert means['pointer']['hit'] == pytest.approx(hit, abs=0.11)
        assert means['pointer']['repeat'] == pytest.approx(repeat, abs=0.11)
        assert means['checker']['yes_right'] == pytest.approx(0.9, abs=0.12)
        assert means['checker']['no_wrong'] == pytest.approx(0.9, abs=0.06)
        assert means['places']['piece'] > 0.92
        assert learned.pointer.weight.sum() == pytest.approx(1)
        assert len(learned.pointer.weight) < len(DEFAULT.pointer.weight)


def test_what_was_wrong_teaches_too():
    belief = believe(Answers(4, (Vote.at(1), Vote.at(1))), DEFAULT)
    hits = [learned.means()['pointer']['hit'] for learned in (
        belief.learned(wrong=[1]), belief.learned(), belief.learned(truth=1))]
    assert hits == sorted(hits)
    assert hits[0] < hits[2] - 0.05


def test_an_impossible_truth_teaches_nothing():
    model = Reliability(PointerRates.default(), CheckerRates.default(), np.array([1.0, 0, 0]))
    assert believe(Answers(2, (Vote.at(1),)), model).learned(truth=ABSENT) is model


def test_the_likeliest_piece_is_checked_where_votes_say_little():
    said = Answers(8, (Vote.at(2),))
    options = [POINT, *map(Asking, range(8))]
    assert next_asking(believe(said, known(repeat=0.95)), options, 8) == Asking(2)
    sure_to_repeat = believe(said, known(repeat=0.0, yes=0.55, no=0.55))
    assert next_asking(sure_to_repeat, options, 8) == POINT


def test_nothing_is_asked_that_tells_nothing():
    belief = believe(Answers(4, (Vote.at(2),)), known(repeat=1.0, yes=0.5, no=0.5))
    assert next_asking(belief, [POINT, *map(Asking, range(4))], 5) is None
    useful = believe(Answers(4, (Vote.at(2),)), known())
    assert next_asking(useful, [POINT], 0) is None
    assert next_asking(useful, [], 5) is None


@settings(max_examples=30)
@given(answers(pieces=st.integers(2, 4)), st.integers(1, 9))
def test_only_what_may_be_asked_is_asked(said, left):
    options = [Asking(0), Asking(1)]
    assert next_asking(believe(said, DEFAULT), options, left) in (*options, None)
