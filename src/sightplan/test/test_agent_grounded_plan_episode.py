"""The method ``grounded_plan`` in the episode loop, over a table of boxes.

The table knows boxes and nothing of names: what is grasped is what the sent box covers, and where
it is put is where the sent point is. Whoever looks sees the boxes, under names of his own.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from doubles import Answering, EventList
from sightplan.agent import PolicyBase, make_policy, run_episode
from sightplan.agent.methods.grounded_plan import elsewhere, is_inside, room_in, spread
from sightplan.domains import load_domain
from sightplan.model import (
    HAND_FULL,
    NOTHING_HELD,
    STILL_HELD,
    Action,
    Asked,
    Atom,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    Form,
    InputError,
    Instance,
    Literal,
    Observation,
    Problem,
    ProblemAdopted,
    Region,
    SeenThings,
    Stepped,
    StopReason,
)
from sightplan.model.region import box_iou
from sightplan.planning.symbolic import FastDownwardPlanner

TABLE = {'a': (0.1, 'mug'), 'b': (0.3, 'mug'), 'c': (0.5, 'apple'), 't': (0.7, 'tray')}
MUGS = 'Put both mugs on the tray.'


class Boxes(Answering):
    """World and eyes.

    Args:
        slips: how many grasps in a row get nothing, and the robot does not notice.
        fails: likewise, and the robot notices.
        drops: of which things, by their keys, the first placing ends beside the tray.
        nudges: what else is moved by the first step, and how far.
        hides: of which things, by their keys, nothing is seen once they were put somewhere; the
            robot says that it does not see them.
        pushes: whether the second placing pushes off what was put there first, once.
        unsure: how sure the eyes are of categories.
        goal: what they say that the instruction wants, where they are asked.
        blinks: in how many looks they tell nothing.
        blocked: which things, by their keys, can be taken only when something is on the tray.
        refuses: a thing, by its key, that is seen where the first placing is refused.
    """

    model = 'eyes'

    def __init__(self, slips: int = 0, fails: int = 0, drops: str = '',
                 nudges: dict[str, float] | None = None, pushes: bool = False,
                 hides: str = '', unsure: float = 1.0, goal: str = '', blinks: int = 0,
                 blocked: str = '', refuses: str = '') -> None:
        self.goal, self.blinks, self.told = goal, blinks, []
        self.pushes, self.hides, self.blocked = pushes, hides, blocked
        self.refuses = refuses
        self.hidden: set[str] = set()
        self.fails, self.slips, self.drops, self.unsure = fails, slips, drops, unsure
        self.nudges = dict(nudges or {})
        self.looks: list[int] = []

    def reset(self, spec):
        self.at = {name: (x, 0.4) for name, (x, _) in TABLE.items()}
        self.hand, self.sent = '', []
        self.now = 1

    def box(self, name):
        x, y = self.at[name]
        wide = 0.2 if name == 't' else 0.08
        return Region(Form.BOX, ((x, y), (x + wide, y + wide)))

    def observe(self):
        self.now += 1
        image = np.full((48, 64, 3), self.now % 256, np.uint8)
        return Observation(image, stamp_ns=self.now)

    def tell_apart(self, observation, looks=1, timeout_s=None, instruction='', tries=1):
        self.looks.append(looks)
        self.told.append(instruction)
        if self.blinks > 0:
            self.blinks -= 1
            return SeenThings(unread='the reply holds no place that can be read')
        names = sorted((name for name in self.at if name != self.hand
                        and name not in self.hidden),
                       key=lambda name: self.at[name])
        seen = tuple(Instance(f'seen_{k}', self.box(name), {TABLE[name][1]: self.unsure},
                              {'red': 1.0}) for k, name in enumerate(names))
        return SeenThings(seen, self.goal if instruction else '')

    def execute(self, action: Action) -> Feedback:
        self.sent.append(action)
        self.now += 1
        message = ''
        for name, by in self.nudges.items():
            self.at[name] = (self.at[name][0] + by, self.at[name][1])
        self.nudges = {}
        if action.name == 'grasp':
            best = max((name for name in self.at if name != self.hand),
                       key=lambda name: box_iou(self.box(name), action.region))
            if box_iou(self.box(best), action.region) < 0.8 or self.fails > 0:
                self.fails -= 1
                message = 'the fingers closed on nothing'
            elif best in self.blocked and not self.on_tray():
                message = 'the hand would come to -3 mm from a thing'
            elif self.slips > 0:
                self.slips -= 1
            else:
                self.hand = best
        else:
            x, y = action.region.centre
            if not self.hand:
                message = NOTHING_HELD
            elif self.refuses:  # and what looks like it is seen there
                self.at[self.refuses], self.refuses = (x - 0.04, y - 0.04), ''
                return Feedback(FeedbackStatus.EXECUTED, f'no room: {STILL_HELD}', self.now)
            elif self.hand in self.hides:
                self.hidden.add(self.hand)
                message = 'it is not seen where it was put down'
            if self.hand in self.drops and self.hand:
                self.drops, message = '', 'the fingers closed on the way'
                x, y = 0.2, 0.8
            if self.hand:
                self.at[self.hand] = (x - 0.04, y - 0.04)
            if self.pushes and (first := self.on_tray() - {self.hand}):
                self.pushes = False
                self.at[first.pop()] = (0.3, 0.8)
            self.hand = ''
        return Feedback(FeedbackStatus.EXECUTED, message, self.now)

    def on_tray(self):
        (left, top), (right, bottom) = self.box('t').points
        return {name for name in 'abc' if left <= self.box(name).centre[0] <= right
                and top <= self.box(name).centre[1] <= bottom}


@pytest.fixture(scope='module')
def planner():
    with FastDownwardPlanner() as made:
        yield made


def problem(instruction: str = MUGS) -> Problem:
    domain = load_domain('tabletop')
    return Problem('short_0', 'tabletop', {'secret_1': 'thing', 'secret_2': 'surface'},
                   frozenset(), (Literal(Atom('on', ('secret_1', 'secret_2'))),), domain.pddl,
                   instruction=instruction)


def play(boxes: Boxes, planner, instruction: str = MUGS, **options):
    events = EventList()
    spec = EpisodeSpec('e', problem(instruction), 'grounded_plan', max_actions=30)
    ended = run_episode(spec, make_policy('grounded_plan', options), boxes, boxes, planner, events,
                        load_domain('tabletop'))
    return ended, events


def test_both_mugs_and_nothing_else_come_to_the_tray(planner) -> None:
    boxes = Boxes()
    ended, events = play(boxes, planner)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}
    assert [action.name for action in boxes.sent] == ['grasp', 'place-on'] * 2
    assert all(action.region is not None for action in boxes.sent)
    assert boxes.looks == [5, 1, 1, 1, 5]
    adopted = [event for event in events.events if isinstance(event, ProblemAdopted)][-1]
    assert {literal.atom.predicate for literal in adopted.goal} == {'on'}
    assert len(adopted.goal) == 2
    assert {name for literal in adopted.goal for name in literal.atom.args} <= {*adopted.objects}
    assert adopted.source.startswith('the instruction, stage 1 of 1')
    told = [event for event in events.events if isinstance(event, Asked)]
    assert len(told) == 5 and told[0].model == 'eyes' and len(told[0].replies[0].instances) == 4


def test_what_a_later_stage_moves_on_is_not_brought_back(planner, monkeypatch) -> None:
    monkeypatch.setitem(TABLE, 'p', (0.92, 'plate'))
    boxes = Boxes()
    ended, _ = play(boxes, planner, 'First put the apple on the tray. '
                                    'Then put the apple on the plate.')
    assert ended.reason is StopReason.PLAN_DONE
    assert [action.name for action in boxes.sent] == ['grasp', 'place-on'] * 2
    assert box_iou(boxes.box('c'), boxes.box('p')) > 0.5


def test_a_picture_of_which_nothing_is_told_says_nothing(planner) -> None:
    class Blinks(Boxes):
        def tell_apart(self, *args, **kwargs):
            told = super().tell_apart(*args, **kwargs)
            return told if len(self.looks) in (1, 5) else SeenThings(unread='no reply')

    boxes = Blinks()
    ended, _ = play(boxes, planner)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}
    assert len(boxes.sent) == 4


def test_a_full_hand_holds_what_was_taken_last_and_nothing_else(planner) -> None:
    class Full(Boxes):
        def execute(self, action):
            if action.name == 'grasp' and not self.sent:
                self.sent.append(action)
                self.now += 1
                return Feedback(FeedbackStatus.EXECUTED, HAND_FULL, self.now)
            return super().execute(action)

    boxes = Full()
    ended, _ = play(boxes, planner)
    assert [action.name for action in boxes.sent[:2]] == ['grasp', 'grasp'], 'it took nothing yet'
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}


def test_one_look_is_enough_for_eyes_that_are_sure(planner) -> None:
    boxes = Boxes(unsure=0.9)
    ended, _ = play(boxes, planner, looks=1)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}


def test_names_and_goal_of_the_problem_stay_unknown(planner) -> None:
    """Neither objects nor goal reach the policy: it works, and names things by itself."""
    boxes = Boxes()
    play(boxes, planner)
    named = {name for action in boxes.sent for name in action.args}
    assert named and not any(name.startswith('secret') for name in named)


def test_what_was_moved_is_taken_where_it_is_now(planner) -> None:
    boxes = Boxes(nudges={'b': 0.03, 't': -0.02})
    ended, _ = play(boxes, planner)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}
    assert 'found anew by looking again: ' in ended.message
    assert 'found anew by looking again: 0' not in ended.message


class Overlooks(Boxes):
    """One thing is not seen until the plan is done; then it is, as surely as given."""

    def __init__(self, name: str, sure: float = 1.0) -> None:
        super().__init__()
        self.overlooked, self.sure = name, sure

    def tell_apart(self, *args, **kwargs):
        at = self.box(self.overlooked)
        told = super().tell_apart(*args, **kwargs)
        if len(self.looks) == 1 or self.looks[-1] == 1:
            return SeenThings(tuple(one for one in told.instances if one.region != at))
        return SeenThings(tuple(
            replace(one, categories=dict.fromkeys(one.categories, self.sure))
            if one.region == at else one for one in told.instances))


@pytest.mark.parametrize(('overlooked', 'sure', 'instruction', 'moved'), [
    ('b', 1.0, 'Put all of the mugs on the tray.', 'ab'),
    ('a', 1.0, 'Put all of the mugs on the tray.', 'ab'),
    ('b', 0.4, 'Put all of the mugs on the tray.', 'a'),
    ('c', 1.0, 'Put all of the mugs on the tray.', 'ab')])
def test_what_was_overlooked_at_first_is_done_in_the_end(planner, overlooked, sure, instruction,
                                                         moved) -> None:
    boxes = Overlooks(overlooked, sure)
    ended, _ = play(boxes, planner, instruction)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == set(moved)
    late = len(set(moved) & {overlooked})
    assert ended.message.endswith(f'found late: {late}')
    assert [action.name for action in boxes.sent] == ['grasp', 'place-on'] * len(moved)


@pytest.mark.parametrize(('sure', 'times', 'grasps'), [(0.9, 2, 3), (0.9, 1, 2), (0.4, 2, 2)])
def test_what_most_looks_see_elsewhere_is_believed_until_the_next_picture(
        planner, sure, times, grasps) -> None:
    class Ghosts(Boxes):
        def tell_apart(self, *args, **kwargs):
            told = super().tell_apart(*args, **kwargs)
            if len(self.looks) not in range(2, 2 + times):
                return told
            # After the first steps the mug that is left is seen, by some of the looks, elsewhere.
            away = Region(Form.BOX, ((0.42, 0.4), (0.5, 0.48)))
            return SeenThings(tuple(
                replace(one, region=away, categories={'mug': sure})
                if 'mug' in one.categories and one.region.centre[0] < 0.5 else one
                for one in told.instances))

    boxes = Ghosts()
    ended, _ = play(boxes, planner)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}
    assert [action.name for action in boxes.sent].count('grasp') == grasps


def test_a_grasp_that_fails_is_tried_again(planner) -> None:
    boxes = Boxes(fails=1)
    ended, _ = play(boxes, planner)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}
    assert ended.message.endswith('steps repeated: 1; things found late: 0')


def test_a_grasp_that_only_seems_to_succeed_is_seen_through(planner) -> None:
    boxes = Boxes(slips=1)
    ended, _ = play(boxes, planner)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}


def test_a_thing_that_was_dropped_is_fetched(planner) -> None:
    boxes = Boxes(drops='a')
    ended, _ = play(boxes, planner)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}
    assert [action.name for action in boxes.sent].count('grasp') == 3


def test_what_is_in_the_hand_though_it_looks_otherwise_is_put_down(planner) -> None:
    """The eyes still see it where it was; the hand says that it is full."""
    class Lingers(Boxes):
        def tell_apart(self, *args, **kwargs):
            told = super().tell_apart(*args, **kwargs)
            if len(self.looks) != 2:
                return told
            still = Instance('ghost', self.box(self.hand), {'mug': 1.0}, {'red': 1.0})
            return SeenThings((*told.instances, still))

        def execute(self, action):
            if action.name == 'grasp' and self.hand:
                self.sent.append(action)
                return Feedback(FeedbackStatus.EXECUTED, HAND_FULL, self.now)
            return super().execute(action)

    boxes = Lingers()
    ended, _ = play(boxes, planner)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}
    assert [action.name for action in boxes.sent] == [
        'grasp', 'grasp', 'place-on', 'grasp', 'place-on']


@pytest.mark.parametrize(('accept', 'moved'), [(0.0, {'a', 'b'}), (0.05, set())])
def test_what_is_clear_is_done_first_where_nobody_minds(planner, accept, moved) -> None:
    """Of two mugs one is seen at first: the other one is, once there are more pictures."""
    boxes = Overlooks('b')
    ended, _ = play(boxes, planner, accept=accept)
    assert boxes.on_tray() == moved
    assert ended.reason is (StopReason.PLAN_DONE if moved else StopReason.GAVE_UP)


def test_what_stays_unclear_is_said_in_the_end(planner) -> None:
    ended, _ = play(boxes := Boxes(), planner, 'Put the apple and the three mugs on the tray.',
                    accept=0.0)
    assert ended.reason is StopReason.GAVE_UP and '2 mug seen' in ended.message
    assert boxes.on_tray() == {'a', 'b', 'c'}


def test_what_is_pushed_off_its_place_later_is_put_there_again(planner) -> None:
    boxes = Boxes(pushes=True)
    ended, _ = play(boxes, planner)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}
    assert [action.name for action in boxes.sent].count('grasp') == 3


@pytest.mark.parametrize('count', range(1, 10))
def test_what_goes_to_one_place_is_spread_over_it(count: int) -> None:
    place = Region(Form.BOX, ((0.2, 0.1), (0.6, 0.5)))
    points = [spread(place, number, count).centre for number in range(count)]
    assert len(set(points)) == count
    assert all(0.2 < x < 0.6 and 0.1 < y < 0.5 for x, y in points)
    assert [y for _, y in points] == sorted(y for _, y in points), 'the back first'
    inside = [spread(place, number, count, inside=True).centre for number in range(count)]
    for (x, y), (x_in, y_in) in zip(points, inside, strict=True):  # farther from walls
        assert abs(x_in - 0.4) <= abs(x - 0.4) and abs(y_in - 0.3) <= abs(y - 0.3)
    assert count == 1 or inside != points
    if count == 1:
        assert points == [pytest.approx((0.4, 0.3))]


def test_things_go_into_a_drawer_above_its_front() -> None:
    drawer = Region(Form.BOX, ((0.2, 0.1), (0.6, 0.5)))
    points = [spread(room_in(drawer, 'drawer'), number, 4).centre for number in range(4)]
    assert all(0.1 < y < 0.34 for _, y in points)
    assert room_in(drawer, 'surface') == drawer


def test_a_tall_thing_at_the_back_of_a_tray_is_on_it_by_its_foot() -> None:
    tray = Region(Form.BOX, ((0.4, 0.4), (0.6, 0.5)))
    assert is_inside(Region(Form.BOX, ((0.48, 0.2), (0.52, 0.45))), tray)
    assert not is_inside(Region(Form.BOX, ((0.48, 0.1), (0.52, 0.35))), tray)
    assert not is_inside(Region(Form.BOX, ((0.1, 0.4), (0.2, 0.5))), tray)


def test_what_is_hidden_where_it_was_put_counts_as_put_and_is_named(planner) -> None:
    """Neither seen there nor anywhere else, and the hand is empty."""
    boxes = Boxes(hides='a')
    ended, _ = play(boxes, planner)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}
    assert re.search(r'steps repeated: 1; things found late: 0; '
                     r'put down and not seen since: seen_0$', ended.message)


def test_what_is_seen_again_is_not_named(planner) -> None:
    class Blinks(Boxes):
        def execute(self, action: Action) -> Feedback:
            if len(self.sent) > 2:
                self.hidden.clear()
                self.at['a'] = (0.8, 0.46)
            return super().execute(action)
    ended, _ = play(Blinks(hides='a'), planner)
    assert ended.reason is StopReason.PLAN_DONE and 'not seen' not in ended.message


def test_what_fails_again_and_again_is_given_up(planner) -> None:
    ended, _ = play(Boxes(fails=99), planner, tries=2)
    assert ended.reason is StopReason.GAVE_UP and 'failed 3 times' in ended.message
    assert 'closed on nothing' in ended.message and ended.steps == 5, 'both mugs, one again'


def test_what_the_hand_still_holds_was_not_put_whatever_is_seen(planner, monkeypatch) -> None:
    monkeypatch.setitem(TABLE, 'd', (0.02, 'mug'))
    boxes = Boxes(refuses='d')
    ended, _ = play(boxes, planner, 'Put the mug furthest to the right on the tray.')
    assert ended.reason is StopReason.PLAN_DONE and 'b' in boxes.on_tray()
    assert [action.name for action in boxes.sent][:3] == ['grasp', 'place-on', 'place-on']


@pytest.mark.parametrize('blocked', ['a', 'b'])
def test_what_cannot_be_taken_is_put_off_until_the_rest_is_done(planner, blocked: str) -> None:
    boxes = Boxes(blocked=blocked)
    ended, _ = play(boxes, planner)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}


def test_what_cannot_be_taken_in_the_end_either_is_given_up(planner) -> None:
    boxes = Boxes(blocked='ab')
    ended, _ = play(boxes, planner)
    assert ended.reason is StopReason.GAVE_UP and '-3 mm' in ended.message
    assert ended.steps == 7 and not boxes.on_tray()


@pytest.mark.parametrize('instruction', ['Put the bottle on the tray.', 'Sing a song.'])
def test_what_cannot_be_read_or_found_moves_nothing(planner, instruction: str) -> None:
    boxes = Boxes()
    ended, _ = play(boxes, planner, instruction)
    assert ended.reason is StopReason.GAVE_UP and ended.message and not boxes.sent


def test_nothing_moves_where_it_is_not_sure_what_is_meant(planner) -> None:
    boxes = Boxes(unsure=0.6)
    ended, _ = play(boxes, planner, accept=0.9)
    assert ended.reason is StopReason.GAVE_UP and 'accept = 0.9' in ended.message
    assert not boxes.sent
    ended, _ = play(boxes, planner, accept=0.1)
    assert ended.reason is StopReason.PLAN_DONE


def test_nothing_is_grasped_that_is_not_located_surely_enough(planner) -> None:
    """How sure it has to be is asked for each thing, however sure the plan is as a whole."""
    boxes = Boxes(unsure=0.6)
    ended, _ = play(boxes, planner, accept=0.0, located=0.95)
    assert ended.reason is StopReason.GAVE_UP and 'located = 0.95' in ended.message
    assert not boxes.sent
    ended, _ = play(boxes, planner, accept=0.0, located=0.5)
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'b'}


def test_a_problem_without_instruction_is_refused() -> None:
    with pytest.raises(InputError, match='no instruction'):
        problem('').with_instruction_only()


def test_told_an_instruction_nobody_knows_objects_or_goal() -> None:
    told = problem().with_instruction_only()
    assert (told.objects, told.goal, told.init, told.known) == ({}, (), frozenset(), frozenset())
    assert told.instruction == MUGS


def test_other_methods_cannot_take_their_own_objects() -> None:
    class Taking(PolicyBase):
        remaining = 0

        def begin(self, context):
            context.adopt_problem({}, ())

    ended = run_episode(EpisodeSpec('e', problem(), 'taking'), Taking(), Boxes(), Boxes(), None,
                        EventList(), load_domain('tabletop'))
    assert ended.reason is StopReason.ERROR and 'reads_instruction' in ended.message


def test_steps_are_numbered_and_have_places(planner) -> None:
    _, events = play(Boxes(), planner)
    steps = [event for event in events.events if isinstance(event, Stepped)]
    assert [step.index for step in steps] == [0, 1, 2, 3]
    assert all(step.action.region is not None for step in steps)


def test_the_model_says_what_is_meant(planner) -> None:
    """Free words, which no reader of plain instructions knows; numbers go from left to right."""
    put = '[{"thing": 3, "into": 4}, {"thing": 1, "into": 4}]'
    boxes = Boxes(goal=f'{{"stages": [{{"put": {put}}}]}}')
    ended, events = play(boxes, planner, 'My snack, and what I drink coffee from, over there.',
                         reader='model')
    assert ended.reason is StopReason.PLAN_DONE and boxes.on_tray() == {'a', 'c'}
    assert boxes.told == ['My snack, and what I drink coffee from, over there.'] + [''] * 4
    told = [event for event in events.events if isinstance(event, Asked)]
    assert told[0].replies[0].goal == boxes.goal and not told[1].replies[0].goal


def test_a_picture_that_nobody_can_read_moves_nothing(planner) -> None:
    boxes = Boxes(blinks=1)
    ended, _ = play(boxes, planner)
    assert (ended.reason, boxes.sent) == (StopReason.GAVE_UP, [])
    assert 'no place that can be read' in ended.message


@pytest.mark.parametrize(('wanted', 'moves'), [
    ((('a', 'bowl'), ('b', 'bowl')), False), ((('a', 'ghost'), ('b', 'ghost')), True),
    ((('b', 'ghost'),), False), ((('a', 'bowl'), ('b', 'ghost')), False)])
def test_what_was_put_where_it_was_wanted_is_not_wanted_elsewhere(wanted, moves) -> None:
    """A full bowl that is taken for another one."""
    def goals(*pairs: tuple[str, str]) -> list[list[Literal]]:
        return [[Literal(Atom('in', pair)) for pair in pairs]]
    state = frozenset({Atom('in', ('a', 'bowl')), Atom('in', ('b', 'drawer')), Atom('handempty')})
    assert elsewhere(state, goals(('a', 'bowl'), ('b', 'bowl')), goals(*wanted)) is moves
