"""What a task wants of paths, and which path is best for it: beliefs, orders, pictures, errors."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import Answer, DeadlineError, InputError, Verdict
from sightplan.model.query import Deadline, ModelByKind, Traits
from sightplan.model.query import answers as answers_kind
from sightplan.queries import Choose, Generate, TextReply, YesNo
from sightplan.queries.choose import ChoiceReply
from sightplan_suites.paths.critic import (
    CriticSettings,
    PathCritic,
    compare_paths,
    compare_pictures,
    rank_paths,
)
from sightplan_suites.paths.descriptors import Descriptors
from sightplan_suites.paths.labels import ORDER, PATHEVAL, label_pair
from sightplan_suites.paths.maps import Bounds, ObstacleMap
from sightplan_suites.paths.preference import (
    in_thresholds,
    order_paths,
    thresholds_on,
    vector_from_text,
)
from sightplan_suites.paths.reasons import reason
from sightplan_suites.paths.wishes import (
    LESS,
    MORE,
    Wish,
    Wishes,
    WishSettings,
    certain,
    understand,
    understood_wishes,
    wish_prompt,
    wish_questions,
)

SHORT = (0, 0, 0, -1, 0, 0, 0)
WALL = ObstacleMap('wall', (((-5.0, 5.0), (5.0, 5.0), (5.0, 10.0), (-5.0, 10.0)),))
STRAIGHT = [(-30.0, 0.0), (30.0, 0.0)]
ROUND = [(-30.0, 0.0), (-30.0, 39.0), (30.0, 39.0), (30.0, 0.0)]

DESCRIPTORS = st.builds(
    Descriptors, *(st.sampled_from((0.0, 0.4, 0.8, 1.2, 2.0)) for _ in range(3)),
    st.sampled_from((100.0, 125.0, 150.0, 160.0, 210.0)),
    st.sampled_from((0.0, 60.0, 90.0, 200.0)), st.integers(0, 3),
    st.sampled_from((0.0, 15.0, 30.0, 120.0)))
VECTORS = st.tuples(*(st.sampled_from((-1, 0, 1)),) * 7).filter(any)
CHANCES = st.lists(st.floats(0.05, 1.0), min_size=3, max_size=3).map(
    lambda parts: tuple(part / sum(parts) for part in parts))
BELIEFS = st.tuples(*(CHANCES,) * 7).map(lambda items: Wishes(tuple(
    Wish(name, *chances) for name, chances in zip(ORDER, items, strict=True))))


USUAL = WishSettings()


def answers(vector, settings=USUAL, p=None):
    """What somebody says who understood a task."""
    signs, found = dict(zip(ORDER, vector, strict=True)), []
    for question in wish_questions(settings):
        yes = signs[question.atom.args[0]] == {MORE: 1, LESS: -1}[question.atom.predicate]
        chances = () if p is None else ((p, 1 - p) if yes else (1 - p, p))
        found.append((question, Answer('yes' if yes else 'no', *chances)))
    return found


class Reader(ModelByKind):
    """A model that reads tasks, with or without yes/no questions about texts."""

    name = 'reader'

    def __init__(self, vector, kinds=(YesNo, Generate), **traits):
        self.vector, self.requests, self.accepts = vector, [], frozenset(kinds)
        self.traits = Traits(**{'texts': True, **traits})

    def _yes(self, text):
        known = {question.text: answer.verdict is Verdict.YES
                 for question, answer in answers(self.vector)}
        return next(yes for asked, yes in known.items() if asked in text)

    @answers_kind(YesNo, together=True)
    def answer(self, request, deadline: Deadline):
        self.requests.append(request)
        return [Answer('Yes' if self._yes(query.question.text) else 'No')
                for query in request]

    @answers_kind(Generate)
    def generate(self, request, deadline: Deadline):
        self.requests.append(request)
        return TextReply('Yes.' if self._yes(request.parts[-1]) else 'No.')


# What is wanted.

@given(VECTORS)
def test_who_answers_right_is_understood(vector):
    found = understood_wishes(answers(vector), WishSettings(), 'm')
    assert found.vector == vector and found.model == 'm'
    assert all(0.9 < wish.sure < 1 for wish in found.wishes)
    assert all(math.isclose(sum(wish.probabilities), 1) for wish in found.wishes)


def test_without_answers_the_prior_is_believed():
    found = understood_wishes([], WishSettings(matters=0.6))
    assert {wish.probabilities for wish in found.wishes} == {(0.3, 0.4, 0.3)}


def test_one_answer_by_hand():
    settings = WishSettings(wordings=1, yes_true=0.8, yes_false=0.2)
    yes = [(question, answer) for question, answer in answers((1, *SHORT[1:]), settings)
           if question.atom.args[0] == 'average_clearance' and question.atom.predicate == MORE]
    assert len(yes) == 1
    wish = understood_wishes(yes, settings).wishes[0]
    # 1/4 and 1/4 beforehand; yes is 4 times as likely where more is better.
    assert wish.probabilities == pytest.approx((0.25 / 1.75, 0.5 / 1.75, 1 / 1.75))


def test_probabilities_count_for_as_much_as_they_say():
    plain, sure, half, leaning = (
        understood_wishes(answers(SHORT, p=p), WishSettings()).wishes[3].less
        for p in (None, 1.0, 0.5, 0.7))
    assert plain == sure > leaning > half == pytest.approx(0.25)


def test_yes_to_both_means_that_it_matters_and_nobody_knows_how():
    both = [(question, Answer('yes'))
            for question in wish_questions(WishSettings())]
    wish = understood_wishes(both, WishSettings()).wishes[0]
    assert wish.less == wish.more > 0.4


def test_what_says_nothing_changes_nothing():
    silent = [(question, Answer(verdict=verdict)) for question, verdict in zip(
        wish_questions(WishSettings()), itertools.cycle((Verdict.UNPARSED, Verdict.UNKNOWN)),
        strict=False)]
    assert understood_wishes(silent, WishSettings()).wishes == understood_wishes(
        [], WishSettings()).wishes


def test_more_wordings_say_more_unless_they_hang_together():
    def sure(wordings, together):
        settings = WishSettings(wordings=wordings, together=together)
        return understood_wishes(answers(SHORT, settings), settings).wishes[3].less
    assert sure(3, 0.0) > sure(3, 0.5) > sure(1, 0.5)
    assert sure(3, 1.0) == pytest.approx(sure(1, 0.0))


def test_a_task_is_read_without_a_picture():
    for backend in (Reader(SHORT), Reader(SHORT, texts=False),
                    Reader(SHORT, (Generate,))):
        assert understand(backend, ' Be quick. ').vector == SHORT
    understand(backend := Reader(SHORT), ' Be quick. ')
    asked, = backend.requests
    first = asked[0]
    assert (first.observation.image, first.observation.text) == (None, 'Be quick.')
    assert first.prompt == wish_prompt() and len(asked) == 42


def test_a_model_of_free_text_is_asked_one_by_one():
    backend = Reader(SHORT, texts=False)
    understand(backend, 'Be quick.', WishSettings(wordings=1))
    assert len(backend.requests) == 14
    prompt = wish_prompt()
    for request in backend.requests:
        assert request.system == prompt.system
        assert request.parts[:3] == (prompt.before_image, 'Be quick.', prompt.after_image)
    with pytest.raises(DeadlineError, match='0 of 42 questions'):
        understand(backend, 'Be quick.', timeout_s=0.0)


def test_who_only_looks_is_refused():
    with pytest.raises(InputError, match='pictures only'):
        understand(Reader(SHORT, (YesNo,), texts=False), 'Be quick.')
    with pytest.raises(InputError, match='scenario: is empty'):
        understand(Reader(SHORT), '  ')


def test_all_questions_differ_and_name_both_sides():
    questions = wish_questions(WishSettings())
    assert len({question.text for question in questions}) == len(questions) == 42
    assert {question.atom.args[0] for question in questions} == set(ORDER)


def test_vectors_in_words():
    assert vector_from_text('0,0,0,-1,0,0,0') == vector_from_text('path_length=-1') == SHORT
    assert vector_from_text('sharp_turns=-1, average_clearance=1') == (1, 0, 0, 0, -1, 0, 0)
    for bad in ('', '1,2', 'width=1', 'path_length=x', '0,0,0,0,0,0,0', 'path_length=2'):
        with pytest.raises(InputError, match='vector'):
            vector_from_text(bad)


@given(BELIEFS)
def test_probabilities_of_vectors_are_those_of_their_signs(wishes):
    vectors, chances = wishes.vectors()
    assert len(vectors) == 3**7 and chances.sum() == pytest.approx(1)
    for place, wish in enumerate(wishes.wishes):
        assert chances[vectors[:, place] == -1].sum() == pytest.approx(wish.less)


# Orders.

@given(DESCRIPTORS, DESCRIPTORS, VECTORS, st.booleans())
def test_two_paths_stand_as_they_are_labelled(first, second, vector, strict):
    label = label_pair(first, second, vector, strict=strict)
    found = rank_paths((first, second), certain(vector), PATHEVAL, strict=strict)
    if label.choice is not None:
        assert found.order[0] == label.choice - 1 and max(found.best) == 1
    elif not label.votes:
        assert found.best == (0.5, 0.5)


@given(st.lists(DESCRIPTORS, min_size=2, max_size=5), VECTORS, CHANCES, CHANCES)
def test_the_expectation_is_that_of_all_vectors_one_by_one(paths, vector, one, other):
    doubtful = Wishes((Wish(ORDER[0], *one), *certain(vector).wishes[1:-1],
                       Wish(ORDER[-1], *other)))
    found, best = rank_paths(paths, doubtful), np.zeros(len(paths))
    for (sign, chance), (last, chance_of_last) in itertools.product(
            zip((-1, 0, 1), one, strict=True), zip((-1, 0, 1), other, strict=True)):
        single = (sign, *vector[1:-1], last)
        alone = rank_paths(paths, certain(single)).best if any(single) else (1 / len(paths),) * (
            len(paths))
        best += chance * chance_of_last * np.array(alone)
    assert found.best == pytest.approx(best)
    assert found.better + found.better.T == pytest.approx(np.ones_like(found.better))
    assert found.best[found.order[0]] == pytest.approx(max(found.best))


@given(st.lists(DESCRIPTORS, min_size=3, max_size=6), VECTORS)
def test_who_beats_all_others_is_the_best(paths, vector):
    def beats(one, other):
        return rank_paths((paths[one], paths[other]), certain(vector)).best[0] == 1
    winners = [one for one in range(len(paths))
               if all(beats(one, other) for other in range(len(paths)) if other != one)]
    if winners:
        assert rank_paths(paths, certain(vector)).order[0] == winners[0]


@given(st.lists(DESCRIPTORS, min_size=2, max_size=5), BELIEFS, st.randoms())
def test_the_order_of_the_paths_does_not_matter(paths, wishes, random):
    places = list(range(len(paths)))
    random.shuffle(places)
    found, moved = rank_paths(paths, wishes), rank_paths([paths[k] for k in places], wishes)
    assert moved.best == pytest.approx([found.best[k] for k in places])


def test_a_conflict_is_decided_in_thresholds():
    long = Descriptors(1, 1, 1, 200.0, 0.0, 0, 0.0)
    wide = dataclasses.replace(long, path_length=260.0, minimum_clearance=1 + 1.5 * 0.8)
    wider = dataclasses.replace(wide, minimum_clearance=1 + 1.1 * 0.8)
    vector = (0, 1, 0, -1, 0, 0, 0)  # 60 longer: 1.2 thresholds
    assert rank_paths((long, wide), certain(vector)).best == (0, 1)
    assert rank_paths((long, wider), certain(vector)).best == (1, 0)


def test_who_differs_too_little_shares_and_stands_first_by_what_it_gains_on_others():
    near, far = (Descriptors(clearance, 9, 9, 100.0, 0.0, 0, 0.0) for clearance in (2.0, 2.5))
    worst = dataclasses.replace(near, minimum_clearance=0.5)
    found = rank_paths((near, worst, far), certain((0, 1, 0, 0, 0, 0, 0)))
    assert found.best == (0.5, 0, 0.5) and found.order == (2, 0, 1)


def test_doubt_is_shared_out_by_hand():
    """Path 1 is longer and that is all: it is best as often as longer is better."""
    short = Descriptors(1, 1, 1, 100.0, 0.0, 0, 0.0)
    long = dataclasses.replace(short, path_length=200.0)
    wishes = dataclasses.replace(certain(SHORT), wishes=tuple(
        Wish(name, 0.3, 0.2, 0.5) if name == 'path_length' else Wish(name, 0, 1, 0)
        for name in ORDER))
    assert rank_paths((long, short), wishes).best == pytest.approx((0.6, 0.4))


# Paths on a map.

def test_paths_on_a_map_are_measured_and_the_reason_is_told():
    found = compare_paths(WALL, [ROUND, STRAIGHT], certain((0, 0, 0, -1, 0, -1, 0)))
    assert found.ranking == (1, 0) and found.best == (0, 1)
    assert found.descriptors[0].path_length == 138 and found.descriptors[1].maximum_angle == 0
    assert found.reason == (
        'Path 2 of 2 is the best with probability 1.00. For it, compared with path 1: '
        'length 60 against 138 (shorter is better); sharpest turn 0° against 90° (gentler is '
        'better).')


THROUGH = [(-30.0, 7.0), (30.0, 7.0)]
ALONG = [(-30.0, 5.0), (30.0, 5.0)]


@pytest.mark.parametrize(('bad', 'how'), [
    (THROUGH, 'leads for 10 through obstacle 1 at -5, 7'),
    (ALONG, 'leads for 10 through obstacle 1 at -5, 5')])
def test_a_path_that_crosses_an_obstacle_is_never_the_best(bad, how):
    """Not even where all that is wanted speaks for it, nor where nothing else is left."""
    found = compare_paths(WALL, [bad, ROUND], certain(SHORT))
    assert (found.best, found.ranking, found.crossing) == ((0, 1), (1, 0), (0,))
    assert found.reason == (
        'Path 2 is the best with probability 1.00, the only one that is not out. '
        f'Path 1 is out: it {how}.')
    found = compare_paths(WALL, [ROUND, bad, STRAIGHT], certain(SHORT))
    assert (found.best, found.ranking) == ((0, 0, 1), (2, 0, 1))
    assert found.descriptors[1].minimum_clearance == 0
    assert found.reason.startswith('Path 3, of 2 that are compared, is the best with probability')
    assert found.reason.endswith(f'Path 2 is out: it {how}.')
    assert found.to_json()['out'][1][0]['what'] == 'obstacle 1'
    found = PathCritic(Reader(SHORT)).compare(WALL, [bad, STRAIGHT], 'Be quick.')
    assert found.best == pytest.approx((0, 1)) and found.ranking == (1, 0)


def test_where_all_paths_cross_there_is_no_best():
    found = compare_paths(WALL, [THROUGH, ALONG, THROUGH], certain(SHORT), numbers=(4, 9, 2))
    assert (found.best, found.ranking, found.crossing) == ((0, 0, 0), (), (0, 1, 2))
    assert found.reason.startswith('There is no best path: all are out. Path 4 is out: it leads')
    assert found.to_json()['ranking'] == [] and all(found.to_json()['out'])


def test_paths_that_are_alike_share_and_one_without_numbers_is_refused():
    assert compare_paths(WALL, [STRAIGHT] * 3, certain(SHORT)).best == pytest.approx((1 / 3,) * 3)
    odd = Descriptors(math.nan, 1, 1, 1, 0, 0, 0)
    for rank in (rank_paths, lambda paths, wishes: order_paths(paths, SHORT)):
        with pytest.raises(InputError, match=r'paths\[1\]: minimum_clearance is nan'):
            rank([Descriptors(1, 1, 1, 1, 0, 0, 0), odd], certain(SHORT))


def test_a_conflict_is_told_as_it_was_decided():
    """Of several, the first may lose against the second, and win more of the others."""
    rng, kinds = np.random.default_rng(0), set()
    for _ in range(600):
        paths = [Descriptors(*rng.uniform(0, 3, 3), rng.uniform(100, 400), rng.uniform(0, 600),
                             int(rng.integers(0, 4)), rng.uniform(0, 180))
                 for _ in range(rng.integers(2, 7))]
        vector = tuple(int(sign) for sign in rng.integers(-1, 2, 7))
        if not any(vector):
            continue
        ranked = rank_paths(paths, certain(vector))
        text = reason(ranked.order, ranked.best, paths, certain(vector), PATHEVAL)
        net = (in_thresholds(paths, PATHEVAL)[1] @ np.array(vector))[tuple(ranked.order[:2])]
        other = f'path {ranked.order[1] + 1}'
        if 'They conflict' in text:
            assert net > 0
        if 'the sum of differences is for' in text:
            assert net < 0 and f'is for {other}; compared with all others' in text
        kinds |= {kind for kind in ('They conflict', 'differences is for') if kind in text}
    assert len(kinds) == 2


def test_paths_are_called_by_their_numbers():
    through = [(-30.0, 7.0), (0.0, 7.0), (30.0, 7.0)]
    found = compare_paths(WALL, [ROUND, STRAIGHT, through], certain(SHORT), numbers=(4, 9, 2))
    assert found.reason.startswith('Path 9, of 2 that are compared, is the best with')
    assert 'compared with path 4' in found.reason
    assert 'Path 2 is out: it leads for 10' in found.reason


def test_doubt_is_named():
    found = compare_paths(WALL, [ROUND, STRAIGHT], understood_wishes([], WishSettings()))
    assert 'It is not known what is wanted of average clearance' in found.reason


def test_thresholds_fit_the_map():
    assert thresholds_on(WALL) == PATHEVAL
    room = dataclasses.replace(WALL, polygons=(), bounds=Bounds(0, 0, 8, 4))
    assert thresholds_on(room).path_length == pytest.approx(5)
    assert thresholds_on(room).minimum_clearance == pytest.approx(0.08)
    assert thresholds_on(room).sharp_turns == 1


def test_the_scale_of_lengths_leaves_clearances_alone():
    near = [(-30.0, 3.0), (30.0, 3.0)]
    for differences in ('robot', 'published'):
        one, other = (compare_paths(WALL, [STRAIGHT, near], certain(SHORT), CriticSettings(
            differences=differences, length_scale=scale)).thresholds for scale in (1.0, 0.1))
        assert other.path_length == pytest.approx(one.path_length / 10)
        assert dataclasses.replace(other, path_length=one.path_length) == one


@pytest.mark.parametrize(('paths', 'what'), [
    ([STRAIGHT], 'paths: 1 of them'), ([STRAIGHT] * 17, 'paths: 17 of them'),
    ([STRAIGHT, [(0, 0)]], r'paths\[1\] has 1 points'),
    ([[(1, 1), (1, 1)], STRAIGHT], r'paths\[0\] has 2 points, fewer than two different'),
    ([STRAIGHT, [(0, 0), (math.nan, 0)]], r'paths\[1\]: points: point 2 is not finite')])
def test_paths_that_cannot_be_compared_are_named(paths, what):
    backend = Reader(SHORT)
    for compare in (lambda: compare_paths(WALL, paths, certain(SHORT)),
                    lambda: PathCritic(backend).compare(WALL, paths, 'Be quick.')):
        with pytest.raises(InputError, match=what):
            compare()
    assert not backend.requests, 'nobody is paid for an answer about them'


def test_the_critic_asks_once_a_task_and_never_with_a_vector():
    critic = PathCritic(backend := Reader(SHORT))
    for scenario in ('Be quick.', 'Be quick.', 'Hurry.'):
        assert critic.compare(WALL, [ROUND, STRAIGHT], scenario).ranking == (1, 0)
    assert critic.compare(WALL, [ROUND, STRAIGHT], 'Slow.', vector=SHORT).best == (0, 1)
    assert len(backend.requests) == 2


# Pictures alone.

class Looks(ModelByKind):
    """Sees how bright a picture is, and likes what comes first."""

    usage = None
    name = 'looks'

    def __init__(self, bias=1.0):
        self.bias, self.requests = bias, []

    @answers_kind(Choose)
    def choose(self, request, deadline: Deadline):
        self.requests.append(request)
        first, second = (float(part.mean()) for part in request.parts
                         if not isinstance(part, str))
        p = 1 / (1 + math.exp(-(first - second) / 10 - self.bias))
        return ChoiceReply((p, 1 - p), 0 if p > 0.5 else 1)


def pictures(*values):
    return [np.full((8, 8, 3), value, np.uint8) for value in values]


def test_pictures_alone_are_compared_in_pairs():
    two = compare_pictures(looks := Looks(bias=9.0), pictures(100, 140), 'Be bright.')
    assert two.ranking == (1, 0) and len(looks.requests) == 2
    assert any('Be bright.' in part for part in looks.requests[0].parts if isinstance(part, str))
    many = compare_pictures(Looks(), pictures(10, 90, 200, 50), 'Be bright.')
    assert many.ranking == (2, 1, 3, 0) and many.descriptors == () and many.wishes is None
    assert 'No map was known: 6 pairs' in many.reason
    few = compare_pictures(Looks(), pictures(10, 90, 200, 50), 'Be bright.',
                           CriticSettings(pairs=2))
    assert 'No map was known: 2 pairs' in few.reason and max(few.best) < max(many.best)


class Blind(ModelByKind):
    """Cannot tell anything of dark pictures."""

    name = 'blind'

    @answers_kind(Choose)
    def choose(self, request, deadline: Deadline):
        dark = any(part.mean() < 50 for part in request.parts if not isinstance(part, str))
        return (ChoiceReply(cannot_tell='a picture is unlike those that it was made for') if dark
                else ChoiceReply((0.9, 0.1), 0))


def test_of_pictures_that_the_model_cannot_tell_apart_none_is_the_best():
    found = compare_pictures(Blind(), pictures(10, 20), 'Be bright.', vector=(1, 0, 0, 0, 0, 0, 0))
    assert found.ranking == () and found.best == (0.5, 0.5)
    assert found.cannot_tell == 'a picture is unlike those that it was made for'
    assert found.reason == ('It cannot be told which path is the best: a picture is unlike those '
                            'that it was made for.')
    assert found.to_json()['cannot_tell'] == found.cannot_tell
    some = compare_pictures(Blind(), pictures(10, 90, 200), 'Be bright.',
                            vector=(1, 0, 0, 0, 0, 0, 0))
    assert some.ranking and not some.cannot_tell
    assert '2 pairs could not be told apart' in some.reason


def test_a_vector_reaches_who_reads_no_sentences():
    compare_pictures(looks := Looks(), pictures(1, 2), '', vector=(1, 0, 0, -1, 0, 0, 0))
    assert looks.requests[0].properties == (('average_clearance', 1), ('path_length', -1))
    assert 'shorter (length)' in looks.requests[0].parts[-1]


def test_pictures_that_cannot_be_compared_are_refused():
    with pytest.raises(InputError, match='pictures: 1 of them'):
        compare_pictures(Looks(), pictures(1), 'Be bright.')
    with pytest.raises(InputError, match='scenario: is empty'):
        compare_pictures(Looks(), pictures(1, 2), '')
    with pytest.raises(InputError, match='cannot compare pictures'):
        compare_pictures(Reader(SHORT, (YesNo,)), pictures(1, 2), 'Be bright.')
