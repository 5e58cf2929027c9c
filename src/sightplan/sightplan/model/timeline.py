"""The timeline of an episode: its events, folded once into steps with what was known at each.

Whoever scores, shows, explains or replays an episode reads a ``Timeline`` and walks no events.
Whoever takes events as they come (a log, a bag) derives from ``EventHandler``, or reads the
moments that a ``Fold`` makes of them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar, cast

from sightplan.model.belief import Belief
from sightplan.model.episode import (
    Asked,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeSpec,
    EpisodeStarted,
    FeedbackStatus,
    GoalAdopted,
    Observed,
    ProblemAdopted,
    Proposed,
    Stepped,
)
from sightplan.model.judged_answer import JudgedAnswer
from sightplan.model.perception import IN_WORDS, AskPurpose, Observation
from sightplan.model.ports import TruthSource
from sightplan.model.problem import Problem
from sightplan.model.symbols import Atom, State
from sightplan.model.truth_then import NOTHING_KNOWN, TruthJoin, TruthThen
from sightplan.model.usage import Usage

E = TypeVar('E', bound=EpisodeEvent, covariant=True)

Adopted = GoalAdopted | ProblemAdopted


_ABOUT_PICTURES = (Observed, Asked, Proposed)


@dataclass(frozen=True, slots=True)
class Moment(Generic[E]):
    """An event together with what was known before it.

    Attributes:
        number: of the event in the timeline, from 0.
        event: what happened.
        step: number of actions before it.
        batch: number of batches of yes/no questions before it.
        now_ns: world time of the last observation, this one included [ns]; 0 before the first.
        moved: whether an action was carried out before it.
        belief: that was published last before it; None before the first.
        adopted: the goal or problem that the method adopted last, this event included; None where
            it goes by what it was told.
        received_ns: when it was recorded [ns since 1970]; 0 where that is not known.
        truth: what was true then, as far as the fold was given the truth.
    """

    number: int
    event: E
    step: int
    batch: int
    now_ns: int
    moved: bool
    belief: Belief | None
    adopted: Adopted | None
    received_ns: int = 0
    truth: TruthThen = NOTHING_KNOWN

    @property
    def kind(self) -> type:
        """The class of the event."""
        return type(self.event)

    @property
    def asked(self) -> Asked | None:
        """The event, if it is a batch of yes/no questions."""
        event: object = self.event
        return event if isinstance(event, Asked) and event.yes_no else None

    @property
    def judged(self) -> tuple[JudgedAnswer, ...]:
        """The answers to yes/no questions, each with what was true; empty for other events."""
        event, state = self.asked, self.truth.state
        return () if event is None else tuple(
            JudgedAnswer(event, place, self.step, None if state is None or question.in_words
                         else question.atom in state)
            for place, question in enumerate(event.questions))

    @property
    def observation(self) -> Observation | None:
        """The picture that the event is about; None for events that are about none."""
        return (self.event.observation
                if isinstance(self.event, _ABOUT_PICTURES) else None)


@dataclass(frozen=True, slots=True)
class Step:
    """The moments that led to an action, with the action; or those after the last action.

    Attributes:
        index: of the action, from 0; None for what came after the last one.
        moments: in order; the action is the last one, if there is one.
        action: what was decided and what became of it; None after the last action.
        believed: the belief at its decision, or at the end; None where none was published.
        adopted: the goal or problem that the method had adopted then; None: what it was told.
        now_ns: world time of the last observation then [ns].
    """

    index: int | None
    moments: tuple[Moment[EpisodeEvent], ...]
    action: Stepped | None
    believed: Belief | None
    adopted: Adopted | None
    now_ns: int

    @property
    def fresh(self) -> bool:
        """Whether a belief was published after the last action, or none ever before this step."""
        return (not self.moments or self.moments[0].belief is None
                or any(moment.kind is BeliefUpdated for moment in self.moments))

    @property
    def checks(self) -> tuple[Moment[EpisodeEvent], ...]:
        """The moments that check the effects of the action before, up to the belief after them.

        They begin the step; () where nothing is checked.
        """
        count = 0
        for number, moment in enumerate(self.moments, 1):
            asked = moment.asked
            if (asked is not None and asked.purpose is AskPurpose.EFFECT) or (
                    count and moment.kind is BeliefUpdated):
                count = number
            elif moment.kind is not Observed:
                break
        return self.moments[:count] if self.moments[:1] and self.moments[0].step else ()

    def of(self, kind: type[E]) -> list[Moment[E]]:
        """Return the step's moments of a kind of event, in order."""
        return _of(self.moments, kind)

    def events(self, kind: type[E]) -> list[E]:
        """Return the step's events of a kind, in order."""
        return [moment.event for moment in self.of(kind)]


class Fold:
    """Turns the events of episodes into moments as they come, without keeping them.

    Attributes:
        end: the last event, if that is how the episode ended; None as long as it has not.
    """

    def __init__(self, truth: TruthSource | None = None, *, way: bool = False,
                 states: Mapping[int, State] = MappingProxyType({})) -> None:
        """Begin before the first event.

        Args:
            truth: ground truth to join in; None: there is none, or nobody needs it.
            way: whether the states after all steps are looked up, too.
            states: true states that are known already, by world time [ns].
        """
        self._join = TruthJoin(truth, way, states)
        self._begin()

    def _begin(self) -> None:
        self.end: EpisodeEnded | None = None
        self._spec: EpisodeSpec | None = None
        self._number = self._step = self._batch = self._now_ns = 0
        self._moved = False
        self._belief: Belief | None = None
        self._adopted: Adopted | None = None

    def take(self, event: EpisodeEvent, received_ns: int = 0) -> Moment[EpisodeEvent]:
        """Fold the next event.

        Args:
            event: the first is EpisodeStarted; another one begins anew.
            received_ns: when it was recorded [ns since 1970]; 0: not known.

        Raises:
            ValueError: the first event is not EpisodeStarted.
        """
        if isinstance(event, EpisodeStarted):
            self._begin()
            self._spec = event.spec
        elif self._spec is None:
            raise ValueError(f'{type(event).__name__} came before EpisodeStarted')
        if isinstance(event, Observed):
            self._now_ns = event.observation.stamp_ns
        elif isinstance(event, GoalAdopted | ProblemAdopted):
            self._adopted = event
        moment = Moment(self._number, event, self._step, self._batch, self._now_ns,
                        self._moved, self._belief, self._adopted, received_ns,
                        self._join.of(event))
        self._number += 1
        if moment.asked is not None:
            self._batch += 1
        elif isinstance(event, BeliefUpdated):
            self._belief = event.belief
        elif isinstance(event, Stepped):
            self._step += 1
            self._moved = self._moved or (
                event.feedback.status is FeedbackStatus.EXECUTED)
        self.end = event if isinstance(event, EpisodeEnded) else None
        return moment

    @property
    def spec(self) -> EpisodeSpec:
        """The spec of the episode.

        Raises:
            ValueError: nothing has begun.
        """
        if self._spec is None:
            raise ValueError('no episode has begun')
        return self._spec

    @property
    def has_truth(self) -> bool:
        """Whether there is any ground truth."""
        return self._join.has_truth

    def holds(self, atom: Atom, stamp_ns: int) -> bool | None:
        """Whether an atom held at a world time [ns]; None where that is not known.

        It never is of an atom that stands for a question in words.
        """
        state = self._join.states.get(stamp_ns)
        return None if state is None or atom.predicate == IN_WORDS else atom in state


class Timeline(Fold):
    """The moments of an episode, folded event by event; incomplete episodes have no ``end``.

    Attributes:
        moments: all, in order.
    """

    def _begin(self) -> None:
        super()._begin()
        self.moments: list[Moment[EpisodeEvent]] = []

    @classmethod
    def of_events(cls, events: Iterable[EpisodeEvent], received_ns: Sequence[int] = (),
                  truth: TruthSource | None = None, *, way: bool = False,
                  states: Mapping[int, State] = MappingProxyType({})) -> Timeline:
        """Fold all events of an episode; arguments as of ``Fold``."""
        timeline = cls(truth, way=way, states=states)
        for event, received in zip(events, itertools.chain(received_ns, itertools.repeat(0)),
                                   strict=False):
            timeline.take(event, received)
        return timeline

    def take(self, event: EpisodeEvent, received_ns: int = 0) -> Moment[EpisodeEvent]:
        """Fold the next event, and keep its moment; contract in ``Fold``."""
        moment = super().take(event, received_ns)
        self.moments.append(moment)
        return moment

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, one for each action, and a last one for what came after the last action."""
        groups: list[list[Moment[EpisodeEvent]]] = [[] for _ in range(self._step + 1)]
        for moment in self.moments:
            groups[moment.step].append(moment)
        found = []
        for group in groups[:-1]:
            action = group[-1].event
            assert isinstance(action, Stepped)
            found.append(Step(action.index, tuple(group), action, group[-1].belief,
                              group[-1].adopted, group[-1].now_ns))
        found.append(Step(None, tuple(groups[-1]), None, self._belief, self._adopted,
                          self._now_ns))
        return tuple(found)

    @property
    def models(self) -> tuple[str, ...]:
        """Exact names of the models that answered or proposed, in the order of their first."""
        names = (call.proposal.model if isinstance(call, Proposed) else call.model
                 for call in self._calls)
        return tuple(dict.fromkeys(name for name in names if name))

    @property
    def usage(self) -> Usage | None:
        """Total usage of the models in the episode; None if none was counted."""
        total: Usage | None = None
        for call in self._calls:
            if call.usage is not None:
                total = (total or Usage()) + call.usage
        return total

    @property
    def adopted(self) -> list[Adopted]:
        """The goals and problems that the method adopted, in order."""
        return [moment.event for moment in self.moments
                if isinstance(moment.event, GoalAdopted | ProblemAdopted)]

    @property
    def batches(self) -> list[Moment[Asked]]:
        """The moments at which yes/no questions were answered, in order."""
        return [moment for moment in self.of(Asked) if moment.asked is not None]

    @property
    def _calls(self) -> list[Asked | Proposed]:
        """The events in which a model was asked."""
        return [moment.event for moment in self.moments
                if isinstance(moment.event, Asked | Proposed)]

    def of(self, kind: type[E]) -> list[Moment[E]]:
        """The moments of a kind, in order."""
        return _of(self.moments, kind)

    def events(self, kind: type[E]) -> list[E]:
        """The events of a kind, in order."""
        return [moment.event for moment in self.of(kind)]


def problem_known(told: Problem, adopted: Adopted | None) -> Problem:
    """Return the problem that a method knows: the given one with the adopted goal or objects."""
    if isinstance(adopted, GoalAdopted):
        return dataclasses.replace(told, goal=adopted.goal)
    if isinstance(adopted, ProblemAdopted):
        return dataclasses.replace(told, objects=adopted.objects, goal=adopted.goal,
                                   init=frozenset(), known=frozenset())
    return told


def _of(moments: Iterable[Moment[EpisodeEvent]], kind: type[E]) -> list[Moment[E]]:
    return [cast('Moment[E]', moment) for moment in moments if moment.kind is kind]
