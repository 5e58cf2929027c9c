"""``grounded_plan``: an instruction is carried out step by step, each at its place in the picture.

The policy is given an instruction in words and nothing else. All things in the picture are told
apart, the instruction becomes goals over these instances (``sightplan.agent.grounded_plans`` tells
who reads it), and a planner plans stage by stage. Each step is sent with the place of its
instance; what goes to one place is spread over it. After each step the policy looks again. Where a
thing is not where it was, the next step goes to where it is seen now; what did not come about, or
does not hold any more within its stage, is planned for and done again. Where it is not sure enough
what is meant, it says so and moves nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sightplan.agent.grounded_plans import (
    BY_MODEL,
    READER,
    READERS,
    SEARCH,
    TRIES,
    Staged,
    place_of,
    primitive_of,
    staged,
)
from sightplan.agent.policy import Act, Context, Decision, Stop, without_plan
from sightplan.grounding.instructions import (
    Stage,
    matched,
    read_goal,
    read_instruction,
    resolve,
)
from sightplan.model import (
    ALREADY_CLOSED,
    ALREADY_OPEN,
    NOTHING_HELD,
    Action,
    Atom,
    Feedback,
    FeedbackStatus,
    InputError,
    Instance,
    Observation,
    Plan,
    State,
    StopReason,
    param,
)
from sightplan.model.grounded_plan import Primitive
from sightplan.model.region import Form, Region, box_iou

_SAME = 0.8
"""A thing still lies where it was grasped if the boxes overlap by this (intersection over union):
else what is seen there is something else, and the robot is believed."""
_MOVED = 0.6
"""A thing was found anew if its boxes overlap less than this."""
_SURE = 0.8
"""A thing is believed to be somewhere else if it is seen there with this probability, or twice."""
_ROUNDS = 3
"""So often it is looked for what was overlooked."""
_LATE = 0.5
"""What was overlooked is believed to be there if it is seen with this probability."""
_GROWN = 0.15
"""A thing is in or on a place if its middle or its foot is in the place's box, grown by this."""
_LEFT = 0.3
"""What was put somewhere has left it if its box overlaps less than this with what it was then."""
_SPREAD = 0.55
"""Things that go to one place are spread over the middle of its box, this part of it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How an instruction is carried out."""

    looks: int = param(5, 'how often the model is asked what is in the first picture, each time '
                       'in another view', low=1, high=9)
    looks_again: int = param(1, 'likewise after each step; a model that is always sure may be '
                             'wrong, and needs several', low=1, high=9)
    accept: float = param(0.05, 'nothing is moved for a stage of the instruction whose things are '
                          'right with less than this probability (a model that reads it gives '
                          'none)', low=0.0, high=1.0)
    tries: int = param(3, 'how often a step is tried', low=1, high=9)
    reader: str = param('words', READER, choices=READERS)
    proposals: int = param(2, TRIES, low=1, high=9)


class Policy:
    """Carries out an instruction over instances."""

    needs_truth = needs_visual_planner = False
    needs_grounder = needs_planner = True
    reads_instruction = tells_apart = True
    prompt = ''

    def __init__(self, settings: Settings) -> None:
        """Keep how instructions are carried out."""
        self._settings = settings
        self._work = Staged({}, frozenset(), ())
        self._things: dict[str, Instance] = {}
        self._state: State = frozenset()
        self._plan: Plan = ()
        self._put: dict[str, Region] = {}
        self._elsewhere: dict[str, Region] = {}
        self._first: tuple[Instance, ...] = ()
        self._slid: dict[str, Primitive] = {}
        self._failed: Counter[Action] = Counter()
        self._stage = self._moved = self._repeated = self._found_late = 0
        self._aspect, self._rounds = 1.0, 0

    @property
    def remaining(self) -> int:
        """Actions of the current plan that are not carried out yet."""
        return len(self._plan)

    def begin(self, context: Context) -> Stop | None:
        """Tell things apart, read the instruction, and plan its first stage."""
        self._stage = self._moved = self._repeated = 0
        self._plan, self._put, self._elsewhere, self._slid = (), {}, {}, {}
        self._failed, self._found_late, self._rounds = Counter(), 0, 0
        observation = context.observe()
        aspect, instruction = _aspect(observation), context.problem.instruction
        by_model = self._settings.reader == BY_MODEL
        told = context.tell_apart(self._settings.looks, observation,
                                  instruction if by_model else '', self._settings.proposals)
        if told.unread:
            return Stop(StopReason.GAVE_UP, told.unread)
        seen = told.instances
        try:
            stages = (read_goal(told.goal, seen) if by_model else
                      resolve(read_instruction(instruction), seen, aspect))
            self._work = staged(stages, seen)
        except InputError as error:
            return Stop(StopReason.GAVE_UP, str(error))
        if unsure := _unsure(stages, self._settings.accept):
            return Stop(StopReason.GAVE_UP, unsure)
        self._first, self._aspect = seen, aspect
        self._things = {one.name: one for one in seen}
        self._state = self._work.state
        return self._next_plan(context)

    def _next_plan(self, context: Context) -> Stop | None:
        """Plan for the first stage that is not reached yet."""
        while self._stage < len(self._work.goals):
            goal = self._work.goals[self._stage]
            if all((literal.atom in self._state) is literal.positive for literal in goal):
                self._stage += 1
                continue
            context.adopt_problem(self._work.objects, goal)
            context.believe(self._state)
            found = context.plan(self._state, SEARCH)
            self._plan = found.plan or ()
            return without_plan(found)
        if self._rounds < _ROUNDS and self._overlooked(context):
            return self._next_plan(context)
        return Stop(StopReason.PLAN_DONE, f'places found anew by looking again: {self._moved}; '
                    f'steps repeated: {self._repeated}; things found late: {self._found_late}')

    def decide(self, context: Context) -> Decision:
        """The next step, at its place as it was seen last."""
        action = self._plan[0]
        about = self._things[action.args[-1]]
        if primitive_of(action) is not Primitive.PLACE:
            return Act(replace(action, region=place_of(action, about)))
        goal = [literal.atom for literal in self._work.goals[self._stage]
                if literal.atom.args[1:] == (about.name,)]
        number = sum(atom in self._state for atom in goal) + self._failed[action]
        return Act(replace(action, region=spread(
            about.region, number, max(len(goal), number + 1))))

    def learn(self, context: Context, action: Action, feedback: Feedback) -> Stop | None:
        """Look again: is it as it should be, and where is everything now?"""
        done = self._look(context, action, feedback)
        if done:
            self._state = context.model.apply(action, self._state)
            self._plan = self._plan[1:]
            if self._plan:
                context.believe(self._state)
                return None
            return self._next_plan(context)
        self._failed[action] += 1
        self._repeated += 1
        if self._failed[action] >= self._settings.tries:
            return Stop(StopReason.GAVE_UP, f'{action} failed {self._failed[action]} times: '
                        f'{feedback.message or "it is not seen to be done"}')
        return self._next_plan(context)

    def _look(self, context: Context, action: Action, feedback: Feedback) -> bool:
        """Update where things are; returns whether an action did what it should."""
        told = context.tell_apart(self._settings.looks_again).instances
        about, primitive = action.args[0], primitive_of(action)
        found = {name: one for name, one in matched(self._things, told).items()
                 if name == about or self._is_believed(name, one)}
        said_done = feedback.status is FeedbackStatus.EXECUTED and not feedback.message
        before = self._things[about].region
        for name, one in found.items():
            old = self._things[name]
            if name != about and box_iou(one.region, old.region) < _MOVED:
                self._moved += 1
            self._things[name] = replace(
                old, region=one.region,
                opened=old.opened if one.opened is None else one.opened)
        here = found.get(about)
        self._forget_what_left(found, about)
        if primitive is Primitive.GRASP:
            return said_done and (here is None or box_iou(here.region, before) < _SAME)
        if primitive is Primitive.PLACE:
            inside = here is not None and is_inside(here.region,
                                                    self._things[action.args[-1]].region)
            if here is not None and inside:
                self._put[about] = here.region
            elif here is not None:  # it lies somewhere else: it is in the hand no more
                self._state = (self._state - {Atom('held', (about,))}) | {Atom('handempty')}
            # Of what is neither in the hand nor seen elsewhere nothing better is known.
            return inside or (here is None and (said_done or feedback.message == NOTHING_HELD))
        wanted = primitive is Primitive.OPEN
        opened = None if here is None else here.opened
        # What the hand itself has slid the other way is not there already: that was another one.
        already = (feedback.message == (ALREADY_OPEN if wanted else ALREADY_CLOSED)
                   and self._slid.get(about, primitive) is primitive)
        if said_done:
            self._slid[about] = primitive
        return said_done or already or (opened is not None and (opened >= 0.5) is wanted)

    def _overlooked(self, context: Context) -> bool:
        """Look as at first: is there anything that the instruction means, and nobody saw?

        What is seen now and was not before is read into the instruction beside what was seen at
        first, where it was then. Work goes on, from the first stage that it adds things to, if
        nothing else is wanted than before.
        """
        if self._settings.reader == BY_MODEL:
            return False
        told = context.tell_apart(self._settings.looks).instances
        known = {one.name for one in matched(self._things, told).values()}
        # Where something lay that was moved away, there may be what it hid.
        taken = [*self._things.values(), *(
            one for one in self._first
            if box_iou(one.region, self._things[one.name].region) >= _MOVED)]
        self._rounds += 1
        new = tuple(replace(one, name=f'late{self._rounds}_{one.name}') for one in told
                    if one.name not in known
                    and one.categories.get(one.category, 0.0) >= _LATE
                    and not any(box_iou(one.region, other.region) >= _LEFT for other in taken))
        if not new:
            return False
        try:
            stages = resolve(read_instruction(context.problem.instruction),
                             (*self._first, *new), self._aspect)
            work = staged(stages, (*self._first, *new))
        except InputError:
            return False
        if _unsure(stages, self._settings.accept):
            return False
        if len(work.goals) != len(self._work.goals):
            return False
        stages_with = [number for number, (goal, before) in enumerate(zip(
            work.goals, self._work.goals, strict=True)) if set(goal) != set(before)]
        added = {literal for goal in work.goals for literal in goal} - {
            literal for goal in self._work.goals for literal in goal}
        late = {literal.atom.args[0] for literal in added}
        kept = all(set(before) <= set(goal) for goal, before in zip(
            work.goals, self._work.goals, strict=True))
        if not stages_with or not kept or not late <= {one.name for one in new}:
            return False
        self._stage = stages_with[0]
        self._found_late += len(late)
        self._first, self._work = (*self._first, *new), work
        self._things.update((one.name, one) for one in new)
        return True

    def _is_believed(self, name: str, seen: Instance) -> bool:
        """Whether a thing is taken to be where it was seen: where it was, or surely elsewhere."""
        known, before = self._things[name], self._elsewhere.pop(name, None)
        if (box_iou(seen.region, known.region) >= _MOVED
                or seen.categories.get(known.category, 0.0) >= _SURE
                or (before is not None and box_iou(seen.region, before) >= _MOVED)):
            return True
        self._elsewhere[name] = seen.region
        return False

    def _forget_what_left(self, found: Mapping[str, Instance], about: str) -> None:
        """What this stage put somewhere and is seen elsewhere now is not taken to be there."""
        wanted = {literal.atom for literal in self._work.goals[self._stage]}
        for atom in self._state & wanted:
            if atom.predicate not in ('on', 'in') or atom.args[0] == about:
                continue
            thing, place = atom.args
            now, then = found.get(thing), self._put.get(thing)
            if (now is not None and then is not None and box_iou(now.region, then) < _LEFT
                    and not is_inside(now.region, self._things[place].region)):
                self._state -= {atom}
                self._repeated += 1
                self._plan = self._plan[:1]  # the rest is planned anew


def spread(place: Region, number: int, count: int) -> Region:
    """Where in a place's box the next thing is put, so that all have room: a point.

    What is nearest to the camera is filled first: the arm comes from the other side.

    Args:
        place: its box.
        number: how many things were put there before.
        count: how many there will be.
    """
    (left, top), (right, bottom) = place.points
    columns = math.ceil(math.sqrt(max(1, count)))
    rows = math.ceil(max(1, count) / columns)
    row, column = divmod(number % (rows * columns), columns)
    across = ((column + 0.5) / columns - 0.5) * _SPREAD + 0.5
    down = (0.5 - (row + 0.5) / rows) * _SPREAD + 0.5
    return Region(Form.POINT, ((left + across * (right - left), top + down * (bottom - top)),))


def is_inside(thing: Region, place: Region) -> bool:
    """Whether the middle or the foot of a thing's box is in that of a place, or nearly."""
    x, middle = thing.centre
    foot = thing.points[1][1] - 0.1 * (thing.points[1][1] - thing.points[0][1])
    (left, top), (right, bottom) = place.points
    wide, high = _GROWN * (right - left), _GROWN * (bottom - top)
    return left - wide <= x <= right + wide and any(
        top - high <= y <= bottom + high for y in (middle, foot))


def _unsure(stages: Sequence[Stage], accept: float) -> str:
    """What is not sure enough of an instruction; '' if all is."""
    for number, stage in enumerate(stages, 1):
        if stage.probability is not None and stage.probability < accept:
            meant = (', '.join(thing for thing, _ in stage.placements) or stage.drawer
                     or 'none of those that are seen')
            return (f'it is not sure which things stage {number} means: {meant}, right with '
                    f'{stage.probability:.2f} only, less than accept = {accept:g}')
    return ''


def _aspect(observation: Observation) -> float:
    if observation.image is None:
        raise InputError('an instruction is carried out in what is seen; there is no picture '
                         '(choose a world that draws, such as execution=arm)')
    height, width = observation.image.shape[:2]
    return float(width / height)
