"""The pointer: what it asks, what counts as a vote, when it stops, and what it says."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.model import (
    BackendError,
    DeadlineError,
    Form,
    InputError,
    Region,
    SpendingCapError,
    Target,
    TargetMasks,
)
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.query import Deadline, ModelByKind, Traits, answers, ask_one
from sightplan.model.whereabouts import UNLIKE, Whereabouts
from sightplan.queries import Answer, Check, Exists
from sightplan.queries.locate import Locate, LocateReply
from sightplan_belief.pointing import (
    ABSENT,
    AlarmRates,
    CheckerRates,
    Pieces,
    Pointer,
    PointerRates,
    Reliability,
)
from sightplan_belief.pointing.asking import probability_of_yes
from sightplan_belief.pointing.windows import Window, windows
from sightplan_models import noisy_locator

HEIGHT, WIDTH = 240, 400
LABELS = np.full((HEIGHT, WIDTH), -1, np.int32)
for index in range(4):
    LABELS[100:140, 120 + 40 * index:150 + 40 * index] = index
PIECES, NO_PIECES = Pieces(LABELS), Pieces(np.full((HEIGHT, WIDTH), -1, np.int32))
IMAGE = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
MUG = Target('the red mug')
ASKED, ALARM = CheckerRates.known(0.9, 0.8, 0.8), AlarmRates.known(0.4)
RELIABLE = Reliability(PointerRates.known(0.6, 0.3), CheckerRates.known(0.9, 0.9, 0.8),
                       np.array([96.0, 3.0, 1.0]), ASKED, ALARM)


def at(column, row):
    return Region(Form.POINT, ((column / WIDTH, row / HEIGHT),))


def on(piece):
    return at(135 + 40 * piece, 120)


def box(left, top, right, bottom):
    return Region(Form.BOX, ((left / WIDTH, top / HEIGHT), (right / WIDTH, bottom / HEIGHT)))


def reply(*regions, **more):
    return LocateReply(regions, 'I see it', **more)


UNREAD = LocateReply(text='?', unread='no numbers')
NOT_THERE = reply()


class Scripted(ModelByKind):
    """Says what it is told to, the last reply again and again."""

    name, traits = 'scripted', Traits('masks')

    def __init__(self, *replies):
        self.replies, self.requests, self.deadlines = replies, [], []

    @answers(Locate)
    def locate(self, request, deadline: Deadline):
        self.requests.append(request)
        self.deadlines.append(deadline)
        return self.replies[min(len(self.requests), len(self.replies)) - 1]


class Checked(Scripted):
    """Says what it is told to, and lets another one check."""

    def __init__(self, checker, *replies):
        super().__init__(*replies)
        self.checker = checker

    @answers(Check)
    def check(self, query, deadline: Deadline):
        return self.checker(query)


class ScriptedCheck:
    """Tells whether a piece is the right one; remembers what it was asked."""

    def __init__(self, right=None, answer=None):
        self.right, self.reply, self.requests = right, answer, []

    def __call__(self, request):
        self.requests.append(request)
        if self.reply is not None:
            return self.reply
        return Answer('Yes' if PIECES.at(request.region.centre) == self.right else 'No')


def located(replies, check=None, form=Form.POINT, pieces=PIECES, reliability=RELIABLE,
            **options):
    backend = Scripted(*replies) if check is None else Checked(check, *replies)
    pointer = Pointer(backend, PointerSettings(**options), reliability)
    found = pointer.locate(Locate(IMAGE, Target('the red mug', form)), pieces=pieces)
    return found, backend


def test_one_point():
    found, backend = located([reply(on(2))], max_askings=1)
    assert len(backend.requests) == 1
    assert (found.place, found.askings, found.checks) == (2, 1, 0)
    assert found.regions == (dataclasses.replace(
        on(2), label='the red mug', probability=found.probability),)
    assert 0.6 < found.probability < 0.95
    assert not found.sure
    assert np.array_equal(found.mask, LABELS == 2)


def test_asking_ends_when_it_is_sure():
    found, backend = located([reply(on(1))], ScriptedCheck(1))
    assert found.sure
    assert found.probability >= 0.95
    assert found.place == 1
    assert 1 < len(found.asked) < 9
    assert [request.attempt for request in backend.requests] == list(range(found.askings))


def test_a_check_corrects_votes():
    found, _ = located([reply(on(1))], ScriptedCheck(3), reliability=Reliability(
        PointerRates.known(0.5, 0.9), CheckerRates.known(0.95, 0.95, 0.9), RELIABLE.places))
    assert found.place == 3
    assert found.checks >= 2
    x, y = found.regions[0].points[0]
    assert LABELS[int(y * HEIGHT), int(x * WIDTH)] == 3


def test_it_says_that_it_is_not_sure():
    found, backend = located([reply(on(0)), reply(on(1)), reply(on(2)), reply(on(3))] * 3,
                             max_askings=8)
    assert len(backend.requests) == 8
    assert not found.sure
    assert found.abstained
    assert found.probability < 0.5


def test_checks_can_be_left_out():
    checker = ScriptedCheck(0)
    found, _ = located([reply(on(0)), reply(on(1))], checker, checks=False)
    assert not checker.requests
    assert found.checks == 0
    assert found.askings > 1


def test_nothing_more_is_asked_when_nothing_more_is_told():
    found, backend = located([reply(on(0))], reliability=Reliability(
        PointerRates.known(0.5, 1.0), CheckerRates.known(0.9, 0.9, 0.5), RELIABLE.places))
    assert len(backend.requests) == found.askings == 1
    assert not found.sure


def test_a_place_is_checked_twice_at_most_and_each_time_in_other_words():
    checker = ScriptedCheck(answer=Answer('', 0.55, 0.45))
    found, _ = located([reply(on(0)), UNREAD], checker, max_askings=60, accept=1.0)
    marked = [(PIECES.at(request.region.centre), request.attempt) for request in checker.requests]
    assert sorted(marked) == [(piece, number) for piece in range(4) for number in range(2)]
    assert found.checks == 8


def test_what_is_marked_for_a_check():
    checker = ScriptedCheck(1)
    located([reply(at(122 + 40, 102))], checker, mark='piece', accept=0.999)
    first = checker.requests[0]
    assert first.region == PIECES.box(1)
    assert np.array_equal(first.mask, LABELS == 1)
    checker = ScriptedCheck(1)
    located([reply(at(122 + 40, 102))], checker, mark='point', accept=0.999)
    assert checker.requests[0].mask is None
    assert checker.requests[0].region == at(122 + 40, 102)
    others = [request.region.centre for request in checker.requests[1:]]
    assert all(PIECES.at(centre) is not None for centre in others)


@pytest.mark.parametrize(('replies', 'votes'), [
    ([UNREAD], 0), ([UNREAD, reply(on(1)), reply(on(1))], 2), ([NOT_THERE], 3)])
def test_what_cannot_be_read_is_no_vote(replies, votes):
    found, _ = located(replies, max_askings=3)
    assert len(found.belief.answers.votes) == votes


def test_if_nothing_can_be_read_nothing_is_said():
    found, backend = located([UNREAD], ScriptedCheck(answer=Answer('maybe')))
    assert (found.regions, found.probability, found.place, found.mask) == ((), 0.0, None, None)
    assert found.unread == 'no numbers'
    assert found.abstained
    assert len(backend.requests) <= 2
    assert len(found.asked) <= 9
    assert found.to_reply() == LocateReply((), '?', None, 'no numbers')


def test_checks_help_where_points_cannot_be_read():
    found, _ = located([UNREAD], ScriptedCheck(2), reliability=Reliability(
        PointerRates.known(0.5, 0.5), CheckerRates.known(0.95, 0.95, 0.8), RELIABLE.places))
    assert found.place == 2
    assert found.regions[0].points[0] == PIECES.inner_point(2)


def test_unread_checks_are_no_evidence():
    unread, _ = located([reply(on(1))], ScriptedCheck(answer=Answer('hm')), max_askings=3)
    assert not unread.belief.answers.checks
    assert sum(bool(asked.unread) for asked in unread.asked) == unread.checks


def test_it_may_not_be_there():
    found, _ = located([NOT_THERE])
    assert (found.place, found.regions, found.mask) == (ABSENT, (), None)
    assert not found.unread
    assert found.probability > 0.8
    assert found.to_reply().regions == ()


def test_without_pieces_points_near_each_other_are_one_spot():
    close, far = at(200, 120), at(30, 30)
    found, _ = located([reply(close), reply(far), reply(at(205, 124)), reply(at(198, 118))],
                       pieces=NO_PIECES, max_askings=4)
    assert (found.place, found.mask) == (0, None)
    assert found.regions[0].points == close.points
    assert found.belief.probabilities[0] > 3 * found.belief.probabilities[1]
    once, _ = located([reply(close)], pieces=NO_PIECES, max_askings=1)
    assert once.probability == pytest.approx(0.6, abs=0.02)


def test_what_no_piece_covers_can_win():
    found, _ = located([reply(at(30, 30)), reply(at(32, 31)), reply(at(31, 28))], max_askings=9,
                       reliability=Reliability(PointerRates.known(0.8, 0.1),
                                               CheckerRates.known(0.9, 0.9, 0.8),
                                               RELIABLE.places))
    assert found.place == 4
    assert found.probability >= 0.95
    assert not found.sure and found.doubt == 'no check confirmed that it is there'
    assert found.mask is None


def test_votes_that_agree_are_checked_before_anything_is_sure():
    """However probable a place is by votes: existence is what a check must confirm."""
    votes = [reply(on(1), probability=0.99)]
    for says, checks in (('Yes', 1), ('No', 2), ('mu', 2)):
        found, _ = located(votes, ScriptedCheck(answer=Answer(says)))
        assert found.sure is (says == 'Yes') and found.checks == checks
        assert bool(found.doubt) is not found.sure
    alone, _ = located(votes)
    told, _ = located([dataclasses.replace(votes[0], exists=0.95)])
    doubted, _ = located([dataclasses.replace(votes[0], exists=0.3)])
    strange, _ = located([dataclasses.replace(votes[0], exists=0.9, unknown=('unicorn',))])
    assert told.sure and not (alone.sure or doubted.sure or strange.sure)
    assert alone.doubt == 'no check confirmed that it is there' in doubted.doubt
    assert "the model does not know 'unicorn'" in strange.doubt
    assert strange.whereabouts is Whereabouts.CANNOT_TELL and told.whereabouts is Whereabouts.HERE
    last, _ = located(votes, ScriptedCheck(answer=Answer('Yes')), max_askings=1)
    assert not last.sure and last.checks == 0, 'no asking was left for a check'


def test_a_spot_is_checked_by_its_point():
    checker = ScriptedCheck(answer=Answer('Yes'))
    located([reply(at(30, 30))], checker, pieces=NO_PIECES)
    assert checker.requests
    assert all(request.mask is None and request.region == at(30, 30)
               for request in checker.requests)


def test_points_of_one_reply_are_votes_in_part():
    found, _ = located([reply(on(0), on(0), on(1))], form=Form.POINTS, max_askings=1)
    [vote] = found.belief.answers.votes
    assert vote.on == pytest.approx({0: 2 / 3, 1: 1 / 3})
    assert len(found.regions) == 3
    single, _ = located([reply(on(0), on(0), on(1))], max_askings=1)
    assert single.belief.answers.votes[0].on == {0: 1.0}


def test_boxes():
    loose, tight = box(155, 90, 195, 150), box(159, 99, 191, 141)
    found, _ = located([reply(loose), reply(tight), reply(tight)], form=Form.BOX, max_askings=3)
    assert found.place == 1
    assert found.regions[0].points == tight.points
    unseen, _ = located([reply(tight)], ScriptedCheck(2), form=Form.BOX, reliability=Reliability(
        PointerRates.known(0.5, 0.95), CheckerRates.known(0.95, 0.95, 0.9), RELIABLE.places))
    assert unseen.regions[0].points == PIECES.box(2).points


def test_of_points_on_a_piece_the_middle_one_is_chosen():
    corner, middle, other = at(121, 101), at(130, 120), at(140, 130)
    found, _ = located([reply(corner), reply(middle), reply(other)], max_askings=3)
    assert found.regions[0].points == middle.points


def test_a_point_just_beside_a_piece_is_moved_onto_it():
    found, _ = located([reply(at(118, 120))], max_askings=1)
    assert found.place == 0
    assert PIECES.on(found.regions[0].points[0], 0)


def test_a_trace_is_asked_for_once():
    trace = Region(Form.TRACE, (on(1).points[0], (0.9, 0.9)))
    checker = ScriptedCheck(1)
    found, backend = located([reply(trace)], checker, form=Form.TRACE)
    assert found.regions[0].points == trace.points
    assert (len(backend.requests), len(checker.requests)) == (1, 0)


def test_a_models_own_probability_counts():
    sure, _ = located([reply(on(1), probability=0.99)])
    unsure, _ = located([reply(on(1), probability=0.3)], max_askings=1)
    assert sure.probability >= 0.95
    assert sure.askings == 1
    assert unsure.probability < 0.7
    with pytest.raises(BackendError, match='probability'):
        located([reply(on(1), probability=1.2)])


class Seeing(ModelByKind):
    """Points at the middle of the red pixels that it is shown; remembers what that was."""

    name = 'seeing'

    def __init__(self, needs_truth=False):
        self.traits, self.requests = Traits('masks' if needs_truth else ''), []

    @answers(Locate)
    def locate(self, request, deadline: Deadline):
        self.requests.append(request)
        rows, columns = np.nonzero(request.image[..., 0] > 128)
        height, width = request.image.shape[:2]
        return reply(Region(Form.POINT, (((columns.mean() + 0.5) / width,
                                          (rows.mean() + 0.5) / height),)))


def red(piece):
    image = IMAGE.copy()
    image[piece == LABELS] = (200, 0, 0)
    return image


def test_closer_views_are_mapped_to_the_whole_picture():
    backend = Seeing()
    depth = np.arange(HEIGHT * WIDTH, dtype=np.float32).reshape(HEIGHT, WIDTH)
    pointer = Pointer(backend, PointerSettings(max_askings=4, accept=1.0), RELIABLE)
    found = pointer.locate(Locate(red(2), MUG, depth), pieces=PIECES)
    assert [vote.on for vote in found.belief.answers.votes] == [{2: 1.0}] * 4
    points = [asked.reply.regions[0].points[0] for asked in found.asked]
    assert points == [pytest.approx(points[0])] * 4
    sizes = [request.size for request in backend.requests]
    assert sizes[0] == sizes[3] == (WIDTH, HEIGHT)
    assert sizes[1][0] < sizes[2][0] < WIDTH
    assert all(request.depth_m.shape == request.image.shape[:2] for request in backend.requests)
    # The depth of a view is the part of the depth that lies there.
    assert backend.requests[1].depth_m[0, 0] == depth[85, 105]


@pytest.mark.parametrize(('needs_truth', 'views'), [(True, True), (False, False)])
def test_the_whole_picture_where_views_are_not_wanted(needs_truth, views):
    backend = Seeing(needs_truth)
    Pointer(backend, PointerSettings(max_askings=3, accept=1.0, views=views),
            RELIABLE).locate(Locate(red(0), MUG), pieces=PIECES)
    assert {request.size for request in backend.requests} == {(WIDTH, HEIGHT)}


def test_windows_show_all_pieces():
    assert windows(NO_PIECES) == [Window.whole(WIDTH, HEIGHT)]
    whole, near, far = windows(PIECES)
    assert whole.fraction == 1
    assert near.fraction < far.fraction < 0.8
    for window in (near, far):
        assert window.left <= 120
        assert window.right >= 270
        assert window.top <= 100
        assert window.bottom >= 140
    filling = Pieces(np.where(np.arange(HEIGHT)[:, None] < 200, 0, LABELS).astype(np.int32))
    assert len(windows(filling)) == 1


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_regions_of_windows_by_pixels(numbers):
    window = Window(50, 20, 250, 120, WIDTH, HEIGHT)
    x1, y1, x2, y2 = numbers
    region = window.region(Region(Form.TRACE, ((x1, y1), (x2, y2))))
    expected = [((50 + 200 * x) / WIDTH, (20 + 100 * y) / HEIGHT) for x, y in ((x1, y1), (x2, y2))]
    assert np.allclose(region.points, expected)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Slow(Scripted):
    """Takes a second for each reply, of the time that it is given."""

    def __init__(self, clock, *replies):
        super().__init__(*replies)
        self.clock = clock

    @answers(Locate)
    def locate(self, request, deadline: Deadline):
        if deadline.timeout_s < 1:
            raise DeadlineError('too slow')
        self.clock.now += 1
        return super().locate(request, deadline)


@pytest.mark.parametrize(('timeout_s', 'askings'), [(2.5, 2), (3.0, 3), (100.0, 5)])
def test_when_time_runs_out_what_is_known_is_said(timeout_s, askings):
    clock = Clock()
    backend = Slow(clock, reply(on(0)), reply(on(1)))
    pointer = Pointer(backend, PointerSettings(max_askings=5, accept=1.0), RELIABLE, clock)
    found = pointer.locate(Locate(IMAGE, MUG), pieces=PIECES, timeout_s=timeout_s)
    assert found.askings == askings
    assert [deadline.timeout_s for deadline in backend.deadlines] == [
        pytest.approx(timeout_s - number) for number in range(askings)]


class Failing(Scripted):
    """Answers the first few requests, and fails then."""

    def __init__(self, good, *replies):
        super().__init__(*replies)
        self.good = good

    @answers(Locate)
    def locate(self, request, deadline: Deadline):
        if len(self.requests) >= self.good:
            raise BackendError('the reply has no content')
        return super().locate(request, deadline)


def test_when_the_model_fails_what_is_known_is_said(caplog):
    settings = PointerSettings(max_askings=5, accept=1.0)
    found = Pointer(Failing(2, reply(on(0))), settings, RELIABLE).locate(
        Locate(IMAGE, MUG), pieces=PIECES)
    assert found.askings == 2 and found.place == 0 and 'no content' in caplog.text
    with pytest.raises(BackendError):
        Pointer(Failing(0, reply(on(0))), settings, RELIABLE).locate(
            Locate(IMAGE, MUG), pieces=PIECES)


@pytest.mark.parametrize('timeout_s', [0.5, 0.0])
def test_no_answer_in_time_is_an_error(timeout_s):
    clock = Clock()
    pointer = Pointer(Slow(clock, reply(on(0))), clock=clock)
    with pytest.raises(DeadlineError):
        pointer.locate(Locate(IMAGE, MUG), pieces=PIECES, timeout_s=timeout_s)


@pytest.mark.parametrize('error', [BackendError, SpendingCapError, InputError])
def test_errors_of_the_model_are_passed_on(error):
    class Broken(Scripted):
        @answers(Locate)
        def locate(self, request, deadline: Deadline):
            raise error('no')

    with pytest.raises(error):
        Pointer(Broken()).locate(Locate(IMAGE, MUG), pieces=PIECES)


def test_settings_are_checked():
    with pytest.raises(InputError, match='max_askings'):
        Pointer(Scripted(), settings=PointerSettings(max_askings=0))
    with pytest.raises(InputError, match='mark'):
        Pointer(Scripted(), settings=PointerSettings(mark='circle'))


@pytest.mark.parametrize('shape', [(1, 1), (3, 500), (64, 64)])
def test_pictures_without_anything_in_them(shape):
    pointer = Pointer(Scripted(reply(Region(Form.POINT, ((1.0, 1.0),)))))
    for depth in (None, np.zeros(shape, np.float32)):
        found = pointer.locate(Locate(np.zeros((*shape, 3), np.uint8), MUG, depth))
        assert found.belief.answers.pieces == 0
        assert found.regions[0].points == ((1.0, 1.0),)


UNIT = st.floats(0, 1)
POINTS = st.one_of(st.tuples(UNIT, UNIT).map(lambda point: Region(Form.POINT, (point,))),
                   st.integers(0, 3).map(on))
BOXES = st.tuples(UNIT, UNIT, UNIT, UNIT).map(
    lambda b: Region(Form.BOX, ((b[0], b[1]), (b[2], b[3]))))


def replies_of(form):
    """Lists of replies that may be given where a form was asked for."""
    regions = st.lists(BOXES if form is Form.BOX else POINTS, max_size=3).map(tuple)
    one = st.just(UNREAD) | st.builds(LocateReply, regions, st.text(max_size=3),
                                      st.none() | UNIT)
    return st.tuples(st.just(form), st.lists(one, min_size=1, max_size=6))


YES_NO = st.builds(Answer, st.sampled_from(['Yes', 'No', 'maybe', '', 'Yes or no']),
                   st.none() | st.floats(0, 1), st.none() | st.floats(0, 1))


@settings(max_examples=60)
@given(st.sampled_from([Form.POINT, Form.POINTS, Form.BOX]).flatmap(replies_of), YES_NO,
       st.integers(1, 12), st.booleans(), st.booleans())
def test_whatever_is_answered_the_budget_holds(said, yes_no, most, cut, checks):
    form, replies = said
    checker = ScriptedCheck(answer=yes_no)
    found, backend = located(replies, checker if checks else None, form,
                             PIECES if cut else NO_PIECES, max_askings=most)
    assert len(backend.requests) + len(checker.requests) == len(found.asked) <= most
    assert 0.0 <= found.probability <= 1.0
    assert found.sure <= (found.probability >= 0.95)
    assert found.sure == (not found.doubt and not found.unread)
    assert not found.sure or found.checks or found.place == ABSENT
    assert not (found.sure and found.abstained)
    assert bool(found.unread) == (found.place is None)
    assert (found.mask is not None) == (found.place is not None and 0 <= found.place < 4 and cut)
    assert bool(found.regions) == (found.place not in (None, ABSENT))


@pytest.mark.parametrize(('answer', 'expected'), [
    (Answer('Yes.'), 1.0), (Answer('no'), 0.0), (Answer('perhaps'), None),
    (Answer('', 0.3, 0.1), 0.75), (Answer('yes', 0.0, 0.0), 1.0),
    (Answer('yes', 0.2, None), 1.0), (Answer(''), None)])
def test_what_a_check_says(answer, expected):
    assert probability_of_yes(answer) == (None if expected is None else pytest.approx(expected))


def test_learning_from_targets():
    pointer = Pointer(Checked(ScriptedCheck(1), reply(on(1))))
    found = pointer.locate(Locate(IMAGE, MUG), pieces=PIECES)
    before = pointer.reliability
    assert found.belief.reliability is before
    rates = []
    for right in (False, None, True):
        pointer.reliability = before
        pointer.learn(found, right)
        rates.append(pointer.reliability.means()['pointer']['hit'])
    assert rates == sorted(rates)
    assert rates[0] < before.means()['pointer']['hit'] < rates[2]


def test_learning_from_several_targets_does_not_depend_on_when():
    def learned(together):
        pointer = Pointer(Checked(ScriptedCheck(1), reply(on(1))), PointerSettings(accept=1.0))
        pointer.reliability = dataclasses.replace(
            pointer.reliability, checker=CheckerRates.known(0.8, 0.8, 0.5))
        found = [pointer.locate(Locate(IMAGE, MUG), pieces=PIECES) for _ in range(2)]
        for one in found:
            pointer.learn(one, True)
        return pointer.reliability.means()['pointer']['hit']

    pointer = Pointer(Checked(ScriptedCheck(1), reply(on(1))), PointerSettings(accept=1.0))
    pointer.reliability = dataclasses.replace(
        pointer.reliability, checker=CheckerRates.known(0.8, 0.8, 0.5))
    one = pointer.locate(Locate(IMAGE, MUG), pieces=PIECES)
    pointer.learn(one, True)
    once = pointer.reliability.means()['pointer']['hit']
    pointer.learn(one, True)
    assert pointer.reliability.means()['pointer']['hit'] == pytest.approx(learned(True))
    assert pointer.reliability.means()['pointer']['hit'] > once


def test_what_could_not_be_read_teaches_nothing():
    pointer = Pointer(Scripted(UNREAD))
    before = pointer.reliability.means()
    pointer.learn(pointer.locate(Locate(IMAGE, MUG), pieces=PIECES), True)
    assert pointer.reliability.means()['pointer'] == pytest.approx(before['pointer'])


class Truth:
    def masks(self, target):
        number = int(target.split()[-1])
        return TargetMasks(PIECES.mask(number), tuple(
            PIECES.mask(other) for other in range(4) if other != number))


def test_the_simulated_model_with_checks_beats_its_own_points():
    model = noisy_locator.Backend(noisy_locator.Settings(repeat=0.8), Truth())
    pointer = Pointer(model)
    right, first = 0, 0
    for seed in range(40):
        image = np.full_like(IMAGE, seed)
        for piece in range(4):
            request = Locate(image, Target(f'thing {piece}'))
            found = pointer.locate(request, pieces=PIECES)
            right += found.place == piece
            first += [PIECES.at(region.centre) for region in ask_one(model, request).regions
                      ] == [piece]
            pointer.learn(found)
    assert right > first + 0.15 * 160


NOWHERE = -9
"""No place at all: all checks are answered "no"."""


class Existing(Checked):
    """Says what it is told to, also whether there is such a thing."""

    def __init__(self, says, checker, *replies):
        super().__init__(checker, *replies)
        self.says, self.asked = says, []

    @answers(Exists)
    def exists(self, query, deadline: Deadline):
        self.asked.append(query)
        return self.says


def look_for(says, right=None, **options):
    """What is found by a model that says yes or no to existence, and checks by the truth.

    It points at the piece that is right; where none is, at one piece after the other.
    """
    replies = [reply(on(piece)) for piece in ((0, 1, 2, 3) * 3 if right is None else (right,))]
    model = Existing(says, ScriptedCheck(NOWHERE if right is None else right), *replies)
    known = dataclasses.replace(RELIABLE, existence=CheckerRates.known(0.95, 0.95, 0.2))
    pointer = Pointer(model, PointerSettings(**options), known)
    return pointer.locate(Locate(IMAGE, MUG), pieces=PIECES), model


def test_existence_is_asked_where_it_is_doubtful_each_time_in_other_words():
    found, model = look_for(Answer('No'), prior_present=0.5)
    assert [query.attempt for query in model.asked] == list(range(len(model.asked)))
    assert 1 <= len(model.asked) <= 3 and model.asked[0].target == MUG
    assert (found.whereabouts, found.place, found.regions) == (Whereabouts.NOT_HERE, ABSENT, ())
    assert found.probability > 0.9 and found.present == pytest.approx(1 - found.probability)
    assert found.checks == len(found.asked) - found.askings
    there, model = look_for(Answer('Yes'), 1, prior_present=0.1)
    assert model.asked and there.whereabouts is Whereabouts.HERE and there.place == 1
    _, model = look_for(Answer('Yes'), 1, checks=False, prior_present=0.5)
    assert not model.asked


def test_an_answer_on_existence_that_is_neither_yes_nor_no_is_no_evidence():
    found, model = look_for(Answer('hm'), prior_present=0.5, accept=1.0)
    assert len(model.asked) == 2, 'not again, after two that cannot be read'
    assert not found.belief.answers.existence


@pytest.mark.parametrize(('prior', 'whereabouts'), [
    (0.0, Whereabouts.NOT_HERE), (1.0, Whereabouts.HERE)])
def test_who_knows_beforehand_is_not_convinced(prior, whereabouts):
    found, _ = look_for(Answer('No' if prior else 'Yes'), 1, prior_present=prior)
    assert found.whereabouts is whereabouts and found.present == pytest.approx(prior)


def test_what_the_model_tells_of_existence_counts_beside_its_pointing():
    doubted, _ = located([reply(on(1), probability=0.9, exists=0.02)])
    assert doubted.whereabouts is Whereabouts.NOT_HERE and doubted.probability > 0.8
    told, _ = located([reply(on(1), probability=0.9, exists=0.9)])
    assert told.whereabouts is Whereabouts.HERE and told.place == 1 and told.present > 0.97


def test_of_words_that_are_not_known_the_votes_say_nothing_about_existence():
    strange, _ = located([reply(on(1), probability=0.99, unknown=('unicorn',))],
                         prior_present=0.6)
    assert strange.whereabouts is Whereabouts.CANNOT_TELL
    assert strange.present == pytest.approx(0.6)
    assert strange.probability < 0.6 and not strange.sure


def test_of_a_foreign_picture_it_cannot_tell_whatever_the_votes_say():
    found, backend = located([reply(on(1), probability=0.99, exists=0.99, foreign=0.8)])
    assert found.whereabouts is Whereabouts.CANNOT_TELL and UNLIKE in found.doubt
    assert not found.regions and not found.sure and found.present is None
    assert len(backend.requests) == 1


def test_whether_a_picture_is_foreign_the_whole_of_it_tells():
    told = reply(on(1), probability=0.9, exists=0.9, foreign=0.1)
    found, _ = located([told, dataclasses.replace(told, foreign=0.9)], accept=0.999)
    assert found.whereabouts is Whereabouts.HERE and found.askings > 1


def test_false_alarms_are_learned_from_targets_that_are_not_there():
    model = Existing(Answer('No'), ScriptedCheck(NOWHERE), reply(on(1)))
    pointer = Pointer(model, PointerSettings(prior_present=0.5))
    before = pointer.reliability.means()['alarm']['false_alarm']
    for _ in range(12):
        pointer.learn(pointer.locate(Locate(IMAGE, MUG), pieces=PIECES))
    assert pointer.reliability.means()['alarm']['false_alarm'] > before + 0.1
