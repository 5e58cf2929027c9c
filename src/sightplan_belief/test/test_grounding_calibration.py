"""Learning an observation model, with and without labels."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random

import numpy as np
import pytest

from doubles import two_blocks
from sightplan.domains import load_domain
from sightplan.domains.problem_keys import problem_key
from sightplan.model import Action, Answer, Atom, InputError, State, Verdict
from sightplan.model.logged import LoggedAction, LoggedAnswer
from sightplan_belief.learning.calibration import (
    Hindsight,
    calibrate,
    calibrate_episodes,
    calibrate_unlabelled,
    check_same_origin,
    estimator_marginals,
    guess_problem,
)
from sightplan_belief.observation_model import AnswerRates, ObservationModel
from sightplan_belief.priors import read_priors

DOMAIN = load_domain('blocksworld')
YES, NO, UNPARSED, UNKNOWN = Verdict.YES, Verdict.NO, Verdict.UNPARSED, Verdict.UNKNOWN
TRUE_RATES = {'on': AnswerRates(0.85, 0.04, repeat=0.45), 'clear': AnswerRates(0.93, 0.3),
              'incolumn': AnswerRates(0.97, 0.02), 'leftof': AnswerRates(0.99, 0.01),
              'rightof': AnswerRates(0.99, 0.01)}


def states(n: int, seed: int = 0) -> list[tuple[str, State]]:
    """True states of random scenes with four blocks, three columns."""
    rng = random.Random(seed)
    columns, blocks = ['c1', 'c2', 'c3'], ['r', 'g', 'b', 'y']
    found = []
    for number in range(n):
        rng.shuffle(blocks)
        piles: dict[str, list[str]] = {column: [] for column in columns}
        for block in blocks:
            piles[rng.choice(columns)].append(block)
        state = {Atom('incolumn', (block, column)) for column, pile in piles.items()
                 for block in pile}
        for pile in piles.values():
            state |= {Atom('on', (upper, lower)) for lower, upper in itertools.pairwise(pile)}
            state |= {Atom('clear', (pile[-1],))} if pile else set()
        for i, left in enumerate(columns):
            for right in columns[i + 1:]:
                state |= {Atom('leftof', (left, right)), Atom('rightof', (right, left))}
        found.append((f'episode {number}', frozenset(state)))
    return found


def simulate(rates: dict[str, AnswerRates], n: int = 20, images: int = 2, seed: int = 0,
             unread: float = 0.0) -> list[LoggedAnswer]:
    """Answers to all questions about random scenes, each seen in a number of images."""
    rng = random.Random(seed)
    problem = guess_problem(DOMAIN, states(1)[0][1])
    atoms = DOMAIN.model(problem).atoms
    answers = []
    for episode, state in states(n, seed):
        last: dict[Atom, Verdict] = {}
        for image in range(images):
            for atom in atoms:
                chance = rates[atom.predicate].yes(last.get(atom))[atom in state]
                verdict = YES if rng.random() < chance else NO
                last[atom] = verdict
                if rng.random() < unread:
                    verdict = UNPARSED
                answers.append(LoggedAnswer(
                    atom, Answer(verdict=verdict), atom in state, image=f'{episode}/{image}',
                    episode=episode, domain='blocksworld', model='m',
                    questions_sha256=DOMAIN.question_hash))
    return answers


def test_rates_and_repeats_are_recovered_from_labels() -> None:
    found = calibrate(simulate(TRUE_RATES, 60, 3), [], DOMAIN)
    for predicate, true in TRUE_RATES.items():
        rates = found.model.rates(predicate)
        assert rates.learned == 'labels'
        assert rates.yes_true == pytest.approx(true.yes_true, abs=0.05)
        assert rates.yes_false == pytest.approx(true.yes_false, abs=0.05)
    assert found.model.rates('on').repeat == pytest.approx(0.45, abs=0.12)
    assert (found.model.model, found.model.domain, found.model.learned) == (
        'm', 'blocksworld', 'labels')
    assert found.model.answers == len(simulate(TRUE_RATES, 60, 3))
    assert len(found.model.problems) == 60
    found.model.check('m', DOMAIN)


def test_held_out_gains_and_calibrated_predictions() -> None:
    found = calibrate(simulate(TRUE_RATES, 40), [], DOMAIN)
    for report in found.predicates:
        assert report.gain is not None and report.gain > 0
        assert len(report.predictions) == report.answers
        # The mean of calibrated probabilities is the fraction of true atoms.
        fraction = sum(p.truth for p in report.predictions) / report.answers
        mean = sum(p.learned for p in report.predictions) / report.answers
        assert mean == pytest.approx(fraction, abs=0.03)


def test_a_predicate_without_gain_keeps_the_defaults() -> None:
    default = AnswerRates()
    few = [dataclasses.replace(a, answer=Answer('Yes' if i % 7 == 3 else 'No'))
           for i, a in enumerate(simulate(dict.fromkeys(TRUE_RATES, default), 2, 1, seed=5))
           if a.atom.predicate == 'clear']
    # Episodes of opposite character: what one teaches is wrong in the other.
    odd = [dataclasses.replace(a, answer=Answer(
        'Yes' if (a.episode == 'episode 0') is a.truth else 'No'))
           for a in few]
    found = calibrate(odd, [], DOMAIN)
    [report] = found.predicates
    assert report.gain is not None and report.gain <= 0
    assert report.rates == default and not found.model.predicates
    assert all(p.default == p.learned for p in report.predictions)


def test_few_answers_of_one_image_are_smoothed_but_kept() -> None:
    answers = [LoggedAnswer(Atom('clear', ('r',)), Answer('Yes'), True, episode='e')]
    found = calibrate(answers, [], DOMAIN)
    [report] = found.predicates
    assert report.gain is None and report.predictions == ()
    assert report.rates.yes_true == pytest.approx((1 + 0.9 * 4) / 5)
    assert report.rates.yes_false == pytest.approx(0.1)


def test_asking_again_about_an_image_counts_once() -> None:
    once = simulate(TRUE_RATES, 5, 1)
    found = [calibrate(answers, [], DOMAIN) for answers in (once, once + once)]
    assert found[0] == found[1]


def test_unreadable_answers_are_learned_and_tell_of_the_truth_only_if_that_helps() -> None:
    even = calibrate(simulate(TRUE_RATES, 20, unread=0.2), [], DOMAIN).model.rates('incolumn')
    assert even.unread_true == even.unread_false == pytest.approx(0.2, abs=0.04)
    rng = random.Random(3)
    telling = [dataclasses.replace(a, answer=Answer()) if a.truth and rng.random() < 0.4 else a
               for a in simulate(TRUE_RATES, 20)]
    rates = calibrate(telling, [], DOMAIN).model.rates('incolumn')
    assert rates.unread_true == pytest.approx(0.4, abs=0.1) and rates.unread_false < 0.01


def sometimes_unknown(answers: list[LoggedAnswer], true: float, false: float,
                      ) -> list[LoggedAnswer]:
    """Some answers are "unknown", by the truth of their atoms."""
    rng = random.Random(5)
    return [dataclasses.replace(a, answer=Answer('Unknown'))
            if rng.random() < (true if a.truth else false)
            else a for a in answers]


def test_unknown_is_learned_and_leaves_the_other_rates_as_they_are() -> None:
    answers = simulate(TRUE_RATES, 40)
    rates, plain = (calibrate(given, [], DOMAIN).model.rates('incolumn')
                    for given in (sometimes_unknown(answers, 0.5, 0.2), answers))
    assert rates.unknown_true == pytest.approx(0.5, abs=0.06)
    assert rates.unknown_false == pytest.approx(0.2, abs=0.06)
    assert (rates.yes_true, rates.yes_false) == pytest.approx(
        (plain.yes_true, plain.yes_false), abs=0.02)
    assert rates.unread_true < 0.01 and plain.unknown_true < 0.01
    even = calibrate(sometimes_unknown(answers, 0.3, 0.3), [], DOMAIN).model.rates('on')
    assert even.unknown_true == even.unknown_false == pytest.approx(0.3, abs=0.04)


def test_unknown_is_learned_without_labels() -> None:
    answers = sometimes_unknown(simulate(TRUE_RATES, 20, 2, seed=2), 0.3, 0.3)
    hidden = [dataclasses.replace(a, truth=None) for a in answers]
    rates = calibrate_unlabelled(hidden, DOMAIN, estimator_marginals(DOMAIN)).model.rates('on')
    assert rates.unknown_true == pytest.approx(0.3, abs=0.06)
    assert rates.yes_true == pytest.approx(TRUE_RATES['on'].yes_true, abs=0.08)


def with_probabilities(answers: list[LoggedAnswer], informative: bool) -> list[LoggedAnswer]:
    """Probabilities that know when the verdict is wrong, or that know nothing."""
    rng = random.Random(4)
    changed = []
    for answer in answers:
        wrong = (answer.verdict is YES) is not answer.truth
        sure = rng.gauss(1.0 if wrong and informative else 4.0, 0.7)
        p = 1.0 / (1.0 + math.exp(-sure if answer.verdict is YES else sure))
        changed.append(dataclasses.replace(answer, answer=dataclasses.replace(
            answer.answer, p_yes=p, p_no=1.0 - p)))
    return changed


def test_probabilities_are_used_where_they_help() -> None:
    answers = simulate(TRUE_RATES, 40)
    for informative in (True, False):
        found = calibrate(with_probabilities(answers, informative), [], DOMAIN)
        report = next(r for r in found.predicates if r.predicate == 'on')
        assert report.platt_gain is not None
        assert (report.platt_gain > 0) is informative
        assert (found.model.rates('on').platt is not None) is informative
    plain = next(r for r in calibrate(answers, [], DOMAIN).predicates if r.predicate == 'on')
    assert plain.platt_gain is None


@pytest.mark.slow
def test_without_labels_the_constraints_teach_the_rates() -> None:
    answers = simulate(TRUE_RATES, 25, 2, seed=2)
    hidden = [dataclasses.replace(a, truth=None) for a in answers]
    found = calibrate_unlabelled(hidden, DOMAIN, estimator_marginals(DOMAIN))
    assert found.model.learned == 'em' and len(found.log_evidence) > 1
    assert found.log_evidence[-1] > found.log_evidence[0] + 1.0
    labelled = calibrate(answers, [], DOMAIN)
    for predicate in TRUE_RATES:
        rates, known = (m.model.rates(predicate) for m in (found, labelled))
        assert rates.yes_true == pytest.approx(known.yes_true, abs=0.05)
        assert rates.yes_false == pytest.approx(known.yes_false, abs=0.05)
    assert all(report.predictions == () for report in found.predicates)
    # The truth is for judging only: it changes no rate.
    judged = calibrate_unlabelled(answers, DOMAIN, estimator_marginals(DOMAIN))
    assert judged.model == found.model
    assert all(len(report.predictions) == report.answers for report in judged.predicates)


# --- whole episodes ------------------------------------------------------------------------------

def in_hindsight(answers: list[LoggedAnswer], known: float, asked: list[ObservationModel]):
    """Episodes that know, at their ends, what was true, as surely as that."""
    episodes: dict[str, list[LoggedAnswer]] = {}
    for answer in answers:
        episodes.setdefault(answer.episode, []).append(answer)

    def follow(own: list[LoggedAnswer]):
        truths = np.array([known if a.truth else 1.0 - known for a in own])
        unchanged, seen = np.zeros((len(own), 2)), set()
        for number, answer in enumerate(own):
            if answer.atom in seen:
                unchanged[number] = 1.0 - truths[number], truths[number]
            seen.add(answer.atom)

        def called(model: ObservationModel) -> Hindsight:
            asked.append(model)
            return Hindsight(tuple(own), truths, unchanged)
        return called
    return [follow(own) for own in episodes.values()]


def test_episodes_that_know_the_truth_give_the_rates_of_labels() -> None:
    answers = simulate(TRUE_RATES, 12, 3)
    found = calibrate_episodes(in_hindsight(answers, 1.0, []), DOMAIN)
    labels = calibrate(answers, [], DOMAIN).model
    assert (found.model.learned, found.episodes, found.iterations) == ('em', 12, 2)
    assert found.model == dataclasses.replace(labels, learned='em', predicates={
        name: dataclasses.replace(rates, learned='em')
        for name, rates in labels.predicates.items()})


def test_no_episode_confirms_itself() -> None:
    """In the second round each episode is judged by the rates of all others."""
    good, bad = ([dataclasses.replace(a, answer=Answer('Yes' if a.truth is right else 'No'),
                                      episode=str(n))
                  for a in simulate(TRUE_RATES, 1, 1)] for n, right in enumerate((True, False)))
    asked: list[ObservationModel] = []
    calibrate_episodes(in_hindsight(good + bad, 1.0, asked), DOMAIN)
    assert asked[0] == asked[1] == ObservationModel.default()
    first, second = (model.rates('incolumn') for model in asked[2:4])
    assert first.yes_true < 0.6 and first.yes_false > 0.6  # by the bad one
    assert second.yes_true > 0.9 and second.yes_false < 0.1
    assert first.n_true + first.n_false == len([a for a in bad if a.atom.predicate == 'incolumn'])


def test_pairs_are_counted_as_jointly_known() -> None:
    """Of atoms of which nothing is known but that they did not change, all pairs count."""
    answers = [a for a in simulate(TRUE_RATES, 3, 2) if a.atom.predicate == 'on']
    [report] = calibrate_episodes(in_hindsight(answers, 0.5, []), DOMAIN).predicates
    assert report.pairs == len(answers) // 2


def test_episodes_without_answers_say_so() -> None:
    with pytest.raises(InputError, match='not one answer'):
        calibrate_episodes([lambda model: Hindsight((), np.zeros(0), np.zeros((0, 2)))], DOMAIN)


def test_the_defaults_are_what_the_domain_says_of_models() -> None:
    """What is compared with, smoothed towards, and kept where answers teach nothing."""
    home = load_domain('household')
    expected = read_priors(home).answers['open']
    atom = Atom('open', ('door_1',))
    few = [LoggedAnswer(atom, Answer('Yes'), True, episode='e')]
    [report] = calibrate(few, [], home).predicates
    strength = expected.strength_true
    assert report.rates.yes_true == pytest.approx(
        (1.0 + expected.yes_true * strength) / (1.0 + strength))
    assert report.rates.yes_false == pytest.approx(expected.yes_false)
    odd = [LoggedAnswer(atom, Answer('Yes' if (n == 0) is truth else 'No'), truth, image=str(i),
                        episode=str(n)) for n in (0, 1) for truth in (True, False)
           for i in range(8 * truth, 8 + 8 * truth)]
    found = calibrate(odd, [], home)
    [report] = found.predicates
    assert report.gain is not None and report.gain <= 0.0
    assert report.rates == expected and not found.model.predicates
    assert {p.default for p in report.predictions} == {p.learned for p in report.predictions}


def test_em_stops_and_takes_the_fullest_images() -> None:
    answers = simulate(TRUE_RATES, 4, 1)
    # Few answers on an image say little about its state.
    lonely = [dataclasses.replace(a, image='lonely') for a in answers[:5]]
    seen: list[int] = []
    calls = []

    def marginals(problem, evidence, model: ObservationModel):
        seen.append(len(evidence))
        return {item.atom: 0.5 for item in evidence}, -float(len(seen))

    found = calibrate_unlabelled(answers + lonely, DOMAIN, marginals, most_images=3,
                                 progress=lambda *call: calls.append(call))
    assert set(seen) == {len(answers) // 4} and len(seen) == 2 * 3
    assert len(found.log_evidence) == 2 and found.model.answers == 3 * len(answers) // 4
    assert calls[0] == (1, 3, None) and calls[-1] == (3, 3, -5.0)
    seen.clear()
    calibrate_unlabelled(answers + lonely, DOMAIN, marginals)
    assert set(seen) == {len(answers) // 4}


def log(action: str, before: State, after: State, executed: bool = True) -> LoggedAction:
    return LoggedAction(Action.parse(action), executed, before, after, 'e', domain='blocksworld')


def test_action_reliabilities_come_from_true_states() -> None:
    problem, model = two_blocks(), DOMAIN.model(two_blocks())
    before = problem.init
    move, slip = Action('moveblock', ('r', 'c2')), Action('moveblock', ('r', 'c3'))
    done, slipped = model.apply(move, before), model.apply(slip, before)
    partly = done - {Atom('clear', ('g',))}
    lines = ([log(str(move), before, done)] * 60 + [log(str(move), before, partly)] * 20
             + [log(str(move), before, before)] * 10 + [log(str(move), before, slipped)] * 10
             + [log(str(move), before, before, False)] * 5
             + [log('moveblock(g, c2)', before, before, False)] * 50)
    answers = [LoggedAnswer(Atom('clear', ('r',)), Answer('Yes'), True, episode='e')]
    found = calibrate(answers, lines, DOMAIN).model
    action = found.action('moveblock')
    assert action.n == 100
    assert action.success == pytest.approx(0.8, abs=0.03)
    assert action.no_op == action.slip == pytest.approx(0.1, abs=0.02)
    assert action.effect('clear', True) == pytest.approx(0.75, abs=0.02)
    assert action.effect('incolumn', True) == 1.0
    assert found.rejection == pytest.approx(5 / 105, abs=0.01)
    assert found.execution_if_inapplicable == 0.001


def test_rare_failures_stay_thinkable() -> None:
    before = two_blocks().init
    move = Action('moveblock', ('r', 'c2'))
    line = log(str(move), before, DOMAIN.model(two_blocks()).apply(move, before))
    answers = [LoggedAnswer(Atom('clear', ('r',)), Answer('Yes'), True, episode='e')]
    action = calibrate(answers, [line] * 100, DOMAIN).model.action('moveblock')
    assert 0.98 < action.success < 0.995 and action.no_op > 0.001 and action.slip > 0.001


def test_given_problems_are_used_by_their_keys() -> None:
    problem = two_blocks()
    atom = Atom('clear', ('r',))
    answers = [LoggedAnswer(atom, Answer('Yes'), True, episode='e', problem=problem_key(problem))]
    asked = []

    def marginals(problem, evidence, model):
        asked.append(set(problem.objects))
        return {atom: 0.9}, 0.0

    calibrate_unlabelled(answers, DOMAIN, marginals, [problem])
    calibrate_unlabelled(answers, DOMAIN, marginals)
    assert asked[0] == set(problem.objects) and asked[-1] == {'r'}


def test_mixed_answers_are_refused() -> None:
    one = LoggedAnswer(Atom('clear', ('r',)), Answer('Yes'), True, model='m, seed 1', domain='d',
                       questions_sha256='q')
    check_same_origin([one, dataclasses.replace(one, model='m, seed 2')])
    for change, message in (({'model': 'other'}, '--model'), ({'domain': 'other'}, '--domain'),
                            ({'questions_sha256': 'other'}, 'one wording')):
        with pytest.raises(InputError, match=message):
            check_same_origin([one, dataclasses.replace(one, **change)])


def test_what_cannot_be_learned_from_says_so() -> None:
    with pytest.raises(InputError, match='--em'):
        calibrate([LoggedAnswer(Atom('clear', ('r',)), Answer('Yes'))], [], DOMAIN)
    with pytest.raises(InputError, match='not one answer'):
        calibrate_unlabelled([], DOMAIN, estimator_marginals(DOMAIN))
    with pytest.raises(InputError, match='not an atom of domain blocksworld'):
        calibrate([LoggedAnswer(Atom('inside', ('r',)), Answer('Yes'), True)], [], DOMAIN)
    with pytest.raises(InputError, match='r is a block elsewhere, here a column'):
        guess_problem(DOMAIN, [Atom('clear', ('r',)), Atom('incolumn', ('g', 'r'))])
    with pytest.raises(InputError, match='fly'):
        calibrate([LoggedAnswer(Atom('clear', ('r',)), Answer('Yes'), True)],
                  [log('fly(r)', two_blocks().init, frozenset())], DOMAIN)
