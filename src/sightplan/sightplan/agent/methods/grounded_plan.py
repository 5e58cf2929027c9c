"""``grounded_plan``: an instruction is carried out step by step, each at its place in the picture.

The policy is given an instruction in words and nothing else. All things in the picture are told
apart, the instruction becomes goals over these instances (``sightplan.agent.grounded_plans`` tells
who reads it), and a planner plans stage by stage. Each step is sent with the place of its
instance; what goes to one place is spread over it. After each step the policy looks again, and
remembers (``Memory``): where things are and what they are is told by all pictures together. By
that the instruction is read anew; what of a stage is clear is done before the rest. What did not
come about, or does not hold any more, is planned for and done again. Where it is not sure enough
what is meant, it says so and moves nothing.

Of samples, which have no world, the plan itself is the reply (``_grounded_plan_samples``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sightplan.agent.asking import detect_instances, plan_from
from sightplan.agent.context import WorldContext
from sightplan.agent.grounded_plans import (
    BY_MODEL,
    READER,
    READERS,
    SEARCH,
    SURFACE,
    TRIES,
    Staged,
    believed,
    place_of,
    primitive_of,
    staged,
    top_of,
)
from sightplan.agent.methods._grounded_plan_samples import Answerer as Answerer
from sightplan.agent.methods._grounded_plan_samples import SampleSettings as SampleSettings
from sightplan.agent.policy import Act, Decision, PolicyBase, Stop, without_plan
from sightplan.grounding.instructions import (
    DRAWER,
    Hold,
    Memory,
    Stage,
    clear_part,
    read_goal,
    read_instruction,
    resolve,
)
from sightplan.model import (
    ALREADY_CLOSED,
    ALREADY_OPEN,
    HAND_FULL,
    NOTHING_HELD,
    STILL_HELD,
    Action,
    Atom,
    Feedback,
    FeedbackStatus,
    InputError,
    Instance,
    Literal,
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
_GROWN = 0.15
"""A thing is in or on a place if its middle or its foot is in the place's box, grown by this."""
_INSIDE = (0.12, 0.6)
"""The inside of an open drawer, as fractions of its box's height from the top.

The camera sees the drawer from above its front, which fills the box below. Found from 15 open
drawers of drawn tables."""
_UNKNOWN: tuple[Literal, ...] = (Literal(Atom('unread', ())),)
"""Goal of a stage whose goal is not known."""
_SPREAD, _SPREAD_INSIDE = 0.7, 0.55
"""Fraction of a place's box, around its middle, over which things are spread that go there.

The first is for a place onto which things are put; the second is for one into which they are put,
whose walls are in the picture, too."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of carrying out an instruction."""

    looks: int = param(5, 'how often the model is asked what is in the first picture, each time '
                       'in another view', low=1, high=9)
    checks: bool = param(False, 'whether a model that can is asked of each thing in the first '
                         'picture, marked, whether it is one; what exists less likely than not '
                         'is left out')
    looks_again: int = param(1, 'likewise after a step that is not the last of a part; a model '
                             'that is always sure may be wrong, and needs several', low=1, high=9)
    accept: float = param(0.05, 'nothing is moved for a stage of the instruction whose things are '
                          'right with less than this probability (a model that reads it gives '
                          'none)', low=0.0, high=1.0)
    located: float = param(0.5, 'nothing is grasped that is what it is taken for with less than '
                           'this probability, by all looks so far', low=0.0, high=1.0)
    tries: int = param(3, 'how often a step is tried', low=1, high=9)
    reader: str = param('words', READER, choices=READERS)
    proposals: int = param(2, TRIES, low=1, high=9)


class Policy(PolicyBase):
    """Carries out an instruction over instances."""

    needs_grounder = needs_planner = True
    reads_instruction = True

    def __init__(self, settings: Settings) -> None:
        """Keep how instructions are carried out."""
        self._settings = settings
        self._work = Staged({}, frozenset(), ())
        self._memory = Memory((), 1)
        self._state: State = frozenset()
        self._plan: Plan = ()
        self._slid: dict[str, Primitive] = {}
        self._failed: Counter[Action] = Counter()
        self._tried: Counter[str] = Counter()
        self._aside: set[str] = set()
        self._put_off: set[str] = set()
        self._unseen: set[str] = set()  # since they were put down
        self._stage = self._moved = self._repeated = self._late = 0
        self._aspect, self._unread, self._taken = 1.0, '', ''

    @property
    def remaining(self) -> int:
        """Actions of the current plan that are not carried out yet."""
        return len(self._plan)

    def begin(self, context: WorldContext) -> Stop | None:
        """Tell things apart, read the instruction, and plan its first stage."""
        self._stage = self._moved = self._repeated = self._late = 0
        self._plan, self._slid, self._failed, self._tried = (), {}, Counter(), Counter()
        self._aside, self._put_off, self._unseen, self._taken = set(), set(), set(), ''
        observation = context.observe()
        self._aspect, instruction = _aspect(observation), context.problem.instruction
        by_model = self._by_model = self._settings.reader == BY_MODEL
        self._stages: tuple[Stage, ...] = ()
        told = detect_instances(context, observation, self._settings.looks,
                                instruction=instruction if by_model else '',
                                tries=self._settings.proposals, checks=self._settings.checks)
        if told.unread:
            return Stop(StopReason.GAVE_UP, told.unread)
        if told.cannot_tell:
            return Stop(StopReason.GAVE_UP, f'it cannot tell what there is: {told.cannot_tell}')
        self._memory = Memory(told.instances, self._settings.looks)
        self._work, self._state, self._unread = Staged({}, frozenset(), ()), frozenset(), ''
        try:
            if by_model:
                stages = read_goal(told.goal, told.instances)
                self._work = staged(stages, told.instances)
            else:
                stages, self._work, self._unread = self._read(instruction)
        except InputError as error:
            return Stop(StopReason.GAVE_UP, str(error))
        if self._unread and self._settings.accept > 0:
            return Stop(StopReason.GAVE_UP, self._unread)
        if unsure := _unsure(stages, self._settings.accept):
            return Stop(StopReason.GAVE_UP, unsure)
        self._stages = tuple(stages)
        self._state = self._work.state
        return self._next_plan(context)

    def _read(self, instruction: str) -> tuple[tuple[Stage, ...], Staged, str]:
        """Return stages and goals of the instruction, by all that was seen so far, and an error.

        Each stage has two goals: the part that is clear, and then all of it, so that more pictures
        have been seen when the rest is decided. If the things meant cannot be told, the full goals
        are those of the last reading, or unknown, and the error, else '', says why.

        Raises:
            InputError: the instruction cannot be read.
        """
        wishes, seen = read_instruction(instruction), self._memory.as_at_first()
        if any(place.hold is Hold.BESIDE for wish in wishes for _, place in wish.goods):
            raise InputError(f'cannot carry out {instruction!r}: things are put in or on places, '
                             'not next to others')
        old = self._work
        known = {name: Atom('open', (name,)) in self._state
                 for name, kind in old.objects.items() if kind == DRAWER}
        stages = clear_part(wishes, seen, self._aspect)
        clear = staged(stages, believed(seen, stages), known)
        try:
            stages = resolve(wishes, seen, self._aspect)
            full, unread = staged(stages, believed(seen, stages), known), ''
        except InputError as error:
            stages, unread = (), str(error)
            agree = all(old.objects.get(name, kind) == kind
                        for name, kind in clear.objects.items())
            full = replace(clear, objects={**old.objects, **clear.objects},
                           goals=old.goals[1::2] if old.goals and agree else
                           tuple(_UNKNOWN for _ in wishes))
        goals = list[tuple[Literal, ...]]()
        for sure, whole in zip(clear.goals, full.goals, strict=True):
            part = tuple(one for one in sure if one.atom.predicate != 'open')
            same = set(part) == {one for one in whole if one.atom.predicate != 'open'}
            goals += [whole if same else part, whole]
        return stages, replace(full, objects={**clear.objects, **full.objects},
                               goals=tuple(goals)), unread

    def _next_plan(self, context: WorldContext) -> Stop | None:
        """Plan for the first stage that is not reached yet."""
        while self._stage < len(self._work.goals):
            goal = self._work.goals[self._stage]
            if goal == _UNKNOWN:
                return Stop(StopReason.GAVE_UP, self._unread)
            if all((literal.atom in self._state) is literal.positive for literal in goal):
                self._stage += 1
                continue
            if rest := self._rest(goal) if self._aside else ():
                goal = rest
            else:
                self._aside = set()  # nothing else is left to do: they once more
            context.adopt_problem(self._work.objects, goal, self._source())
            context.believe(self._state)
            found = plan_from(context, self._state, SEARCH)
            self._plan = found.plan or ()
            return without_plan(found)
        unseen = (f'; put down and not seen since: {", ".join(sorted(self._unseen))}'
                  if self._unseen else '')
        return Stop(StopReason.PLAN_DONE, f'places found anew by looking again: {self._moved}; '
                    f'steps repeated: {self._repeated}; things found late: {self._late}{unseen}')

    def _source(self) -> str:
        """Return in words the source of the goal of the stage under way."""
        parts = 1 if self._by_model else 2  # what is clear of a stage, and then all of it
        number, count = self._stage // parts, len(self._work.goals) // parts
        sure = self._stages[number].probability if number < len(self._stages) else None
        return (f'the instruction{" as the model read it" if self._by_model else ""}, '
                f'stage {number + 1} of {count}' + (
                    '' if sure is None else f' (these things are meant with {sure:.2f})'))

    def decide(self, context: WorldContext) -> Decision:
        """The next step, at its place as it was seen last."""
        action = self._plan[0]
        about = self._memory[action.args[-1]]
        sure = about.categories.get(about.category, 0.0)
        if primitive_of(action) is Primitive.GRASP and sure < self._settings.located:
            return Stop(StopReason.GAVE_UP, f'{about.name} is not grasped: it is that with '
                        f'{sure:.2f} only, less than located = {self._settings.located:g}')
        if primitive_of(action) is not Primitive.PLACE:
            return Act(replace(action, region=place_of(action, about)))
        goes = {literal.atom.args[0] for goal in self._work.goals for literal in goal
                if literal.atom.args[1:] == (about.name,)}
        number = self._tried[about.name]  # nothing is put upon what may lie there already
        kind = self._work.objects[about.name]
        return Act(replace(action, region=spread(
            room_in(top_of(about), kind), number, max(len(goes), number + 1),
            inside=kind != SURFACE)))

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Look again, update the places of all things, and read the instruction anew."""
        if primitive_of(action) is Primitive.PLACE:
            self._tried[action.args[-1]] += 1
        done = self._look(context, action, feedback)
        if done:
            self._state = context.model.apply(action, self._state)
            self._plan = self._plan[1:]
        else:
            self._failed[action] += 1
            self._repeated += 1
            if self._failed[action] >= self._settings.tries and not self._puts_off(action):
                return Stop(StopReason.GAVE_UP, f'{action} failed {self._failed[action]} times: '
                            f'{feedback.message or "it is not seen to be done"}')
            self._plan = ()
        if self._reread(context):
            self._plan = ()
        if self._plan:
            context.believe(self._state)
            return None
        return self._next_plan(context)

    def _rest(self, goal: Sequence[Literal]) -> tuple[Literal, ...]:
        """Return the goal without the things put aside; () if nothing of that is left to do."""
        rest = tuple(literal for literal in goal if literal.atom.predicate in ('on', 'in')
                     and literal.atom.args[0] not in self._aside)
        return rest if any(literal.atom not in self._state for literal in rest) else ()

    def _puts_off(self, action: Action) -> bool:
        """Whether a thing that cannot be taken is left for later, once: others may go first."""
        thing = action.args[0]
        if primitive_of(action) is not Primitive.GRASP or thing in self._put_off:
            return False
        others = self._aside - {thing}
        self._put_off.add(thing)
        self._aside.add(thing)
        return bool(others or self._rest(self._work.goals[self._stage]))

    def _look(self, context: WorldContext, action: Action, feedback: Feedback) -> bool:
        """Update the places of things; return whether an action had its effect."""
        looks = (self._settings.looks_again if len(self._plan) > 1 else
                 self._settings.looks)  # it is decided anew what is left to do
        about, primitive = action.args[0], primitive_of(action)
        said_done = feedback.status is FeedbackStatus.EXECUTED and not feedback.message
        inside = {atom.args[0]: atom.args[1] for atom in self._state
                  if atom.predicate in ('on', 'in')}
        shut = {name for name, kind in self._work.objects.items()
                if kind == DRAWER and Atom('open', (name,)) not in self._state
                and (name not in action.args or (primitive is Primitive.CLOSE and said_done))}
        before = {name: self._memory[name].region for name in self._work.objects}
        refused = feedback.message.endswith(STILL_HELD)
        if primitive is Primitive.PLACE and action.region is not None and not refused:
            self._memory.put(about, _around(action.region, before[about]))
        seen = detect_instances(context, context.observe(), looks)
        found = {} if seen.unread or seen.cannot_tell else self._memory.look(
            seen.instances, looks,
            {about} | {thing for thing, place in inside.items() if place == about},
            {thing for thing, place in inside.items() if place in shut},
            lifted=about if refused or (primitive is Primitive.GRASP and said_done) else '',
            filled=[before[place] for place in {*inside.values(), *action.args[1:]}])
        elsewhere = {name for name in {*found} & {*before} - {about}
                     if inside.get(name) != about
                     and box_iou(self._memory[name].region, before[name]) < _MOVED}
        self._moved += len(elsewhere)
        for thing in elsewhere & set(inside):  # nobody took it out, and there it is
            place = inside[thing]
            if not is_inside(self._memory[thing].region, self._memory[place].region):
                self._state -= {Atom(kind, (thing, place)) for kind in ('on', 'in')}
                self._repeated += 1
                self._plan = self._plan[:1]  # the rest is planned anew
        self._unseen -= {*found}
        here = found.get(about)
        if primitive is Primitive.GRASP:
            if said_done:
                self._taken = about
            return ((feedback.message == HAND_FULL and self._taken == about) or (said_done and (
                here is None or box_iou(here.region, before[about]) < _SAME)))
        if primitive is Primitive.PLACE:
            return not refused and self._is_put(action, here, feedback, said_done)
        wanted = primitive is Primitive.OPEN
        opened = None if here is None else here.opened
        # What the hand itself has slid the other way is not there already: that was another one.
        already = (feedback.message == (ALREADY_OPEN if wanted else ALREADY_CLOSED)
                   and self._slid.get(about, primitive) is primitive)
        if said_done:
            self._slid[about] = primitive
        return said_done or already or (opened is not None and (opened >= 0.5) is wanted)

    def _is_put(self, action: Action, here: Instance | None, feedback: Feedback,
                said_done: bool) -> bool:
        """Return whether the placed thing is in or on its place."""
        about, place = action.args
        if here is None:  # of what is neither in the hand nor seen elsewhere nothing is known
            gone = feedback.message == NOTHING_HELD
            self._unseen |= {about} if gone else set()
            return said_done or gone
        if is_inside(here.region, self._memory[place].region):
            return True
        # It lies somewhere else: it is in the hand no more.
        self._state = (self._state - {Atom('held', (about,))}) | {Atom('handempty')}
        return False

    def _reread(self, context: WorldContext) -> bool:
        """Read the instruction by all that was seen; return whether its meaning changed.

        A thing in the hand goes to its first place. A thing that was put somewhere stays there.
        """
        if self._settings.reader == BY_MODEL or Atom('handempty') not in self._state:
            return False
        try:
            stages, work, unread = self._read(context.problem.instruction)
        except InputError:  # what is seen now makes no sense of it: what it meant before holds
            return False
        before = self._work.goals, self._state
        own = {name for atom in self._state if atom.predicate in ('in', 'on')
               for name in atom.args}
        if any(work.objects.get(name, self._work.objects[name]) != self._work.objects[name]
               for name in own) or _unsure(stages, self._settings.accept):
            return False
        if elsewhere(self._state, self._work.goals, work.goals):
            return False
        self._unread, self._stages = unread, stages
        self._late += len({name for name in _placed(work.goals) - _placed(self._work.goals)
                           if self._memory.is_late(name)})
        self._work = replace(work, objects={
            **{name: kind for name, kind in self._work.objects.items() if name in own},
            **work.objects})
        self._state = work.state | {atom for atom in self._state
                                    if atom.predicate in ('in', 'on')}
        self._stage = min([self._stage, *(
            number for number, goal in enumerate(work.goals)
            if any(literal.atom.predicate in ('on', 'in') and literal.atom not in self._state
                   and literal.atom.args[0] not in _placed(work.goals[number + 1:])
                   for literal in goal))])
        return (self._work.goals, self._state) != before


_Goals = Iterable[Iterable[Literal]]


def elsewhere(state: State, before: _Goals, goals: _Goals) -> bool:
    """Return whether goals want a thing elsewhere that is at the place wanted before."""
    done = {atom.args for atom in state if atom.predicate in ('on', 'in')} & _placings(before)
    things = {thing for thing, _ in done}
    return any(thing in things and (thing, place) not in done
               for thing, place in _placings(goals))


def _placings(goals: _Goals) -> set[tuple[str, ...]]:
    """Return the pairs of thing and place that goals want."""
    return {literal.atom.args for goal in goals for literal in goal
            if literal.atom.predicate in ('on', 'in')}


def _placed(goals: _Goals) -> set[str]:
    """Things that goals put somewhere."""
    return {thing for thing, _ in _placings(goals)}


def _around(point: Region, box: Region) -> Region:
    """A box as large as another one, around a point."""
    (x, y), ((left, top), (right, bottom)) = point.centre, box.points
    wide, high = (right - left) / 2, (bottom - top) / 2
    return Region(Form.BOX, ((x - wide, y - high), (x + wide, y + high)))


def room_in(place: Region, kind: str) -> Region:
    """The part of a place's box where things can be put: of a drawer, that above its front."""
    if kind != DRAWER:
        return place
    (left, top), (right, bottom) = place.points
    high = bottom - top
    return Region(Form.BOX, ((left, top + _INSIDE[0] * high), (right, top + _INSIDE[1] * high)))


def spread(place: Region, number: int, count: int, inside: bool = False) -> Region:
    """Return the point in a place's box for the next thing, spaced so that all have room.

    The rows farthest from the camera are filled first, since things in front hide them.

    Args:
        place: the place's box.
        number: number of things that were put there before.
        count: number of things that will be there in the end.
        inside: whether the things are put into the place, and not onto it.
    """
    (left, top), (right, bottom) = place.points
    part = _SPREAD_INSIDE if inside else _SPREAD
    columns = math.ceil(math.sqrt(max(1, count)))
    rows = math.ceil(max(1, count) / columns)
    row, column = divmod(number % (rows * columns), columns)
    across = ((column + 0.5) / columns - 0.5) * part + 0.5
    down = ((row + 0.5) / rows - 0.5) * part + 0.5
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
    """Return which stage of an instruction is too unsure, and why; '' if none is."""
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
