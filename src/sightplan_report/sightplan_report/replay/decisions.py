"""Decisions of a method on changed answers: its policy runs again over a recording.

The policy runs in the very loop of live episodes; what it sees, what it is answered, what its
planner finds and what the world says come from the recording, and nobody is asked anything. Where
it then decides what was recorded, one answer at a time can be changed before a decision: left out
(as a reply that cannot be read), or reversed. What it decides instead shows what the answer
was good for.

A question that was never asked about a picture has no recorded answer: it is answered as one that
cannot be read, and counted. Of a look that was never taken the last picture is shown again: the
world did not change before the decision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple, Self

from sightplan.agent import make_policy, run_episode
from sightplan.agent.registry import needs_truth, needs_visual_planner
from sightplan.model import (
    Action,
    Answer,
    Asked,
    Atom,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    InputError,
    Observation,
    Observed,
    Planned,
    PlanningResult,
    PlanningTask,
    Privileged,
    Stepped,
    SymbolicPlanner,
    Verdict,
    WorldError,
)
from sightplan.model.answer import YES_NO
from sightplan.model.event_handler import EventHandler
from sightplan.model.query import Deadline, Query, Reply, Traits, close
from sightplan.planning.own import with_own
from sightplan.queries import YesNo
from sightplan.records.recorded import RecordedEpisode
from sightplan_report.episode_view import Otherwise, Tested
from sightplan_report.episode_words import CHOSEN

Key = tuple[int, int]
"""An answer: number of its batch in the episode, and its place in the batch; both from 0."""


class Decision(NamedTuple):
    """Decision of a policy: ``act``, ``withhold``, ``forfeit`` or ``stop``, and its object."""

    kind: str
    what: str

    def __str__(self) -> str:
        if self.kind == 'stop':
            return f'stop ({self.what.replace("_", " ")})'
        return {'act': f'do {self.what}', 'withhold': f'hold {self.what} back'}.get(
            self.kind, 'propose nothing that can be sent')


class NotRepeatedError(InputError):
    """Raised if the policy cannot be run again as it was; says why."""


class Decisions:
    """A recorded episode whose decisions can be made again.

    A context manager that may hold a planner.

    Args:
        episode: the recording.
        options: settings of the method, as of the run.
        reads_prompt: whether the answers of its model depend on a prompt.
        search: setting of the planner, as of the run.
        planner: instead of the one of runs, for what no recorded plan is for; stays open.

    Raises:
        NotRepeatedError: no policy with these settings does what was recorded; says why.
    """

    def __init__(self, episode: RecordedEpisode, options: Mapping[str, Any] | None = None, *,
                 reads_prompt: bool = True, search: str = 'lama-first',
                 planner: SymbolicPlanner | None = None) -> None:
        self._episode, self._reads_prompt = episode, reads_prompt
        self._stack = ExitStack()
        _check(episode)
        try:
            self._policy = make_policy(episode.spec.method, dict(options or {}), None)
        except InputError as error:
            raise NotRepeatedError(f'its method cannot be made again: {error}') from error
        self.recorded = recorded_decisions(episode)
        self._plans = _RecordedPlanner(episode, lambda: planner or self._started(search))
        try:
            self._check_repeats()
        except BaseException:
            self._stack.close()
            raise

    def _check_repeats(self) -> None:
        again, missing = self._run({}, len(self.recorded) - 1)
        self._plans.in_order = False
        for number, (was, now) in enumerate(zip(self.recorded, again, strict=False)):
            if was != now:
                raise NotRepeatedError(
                    f'run again on the recorded answers, the method would {now} at decision '
                    f'{number}, where it is recorded to {was}: it was run with other settings or '
                    f'by another version')
        if len(again) < len(self.recorded) or missing:
            raise NotRepeatedError('run again on the recorded answers, the method asks other '
                                   'questions: it was run with other settings or by another '
                                   'version')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def test(self, decision: int, key: Key) -> Tested:
        """Change one answer that came before a decision, and after the one before.

        Args:
            decision: its number, from 0; that of the last action plus one: the end.
            key: the answer.

        Returns:
            what would have been decided without it and, where that is the same, on the opposite
            answer; nothing for an answer that said neither yes nor no, or an end that the method
            did not decide.
        """
        answer = _batches(self._episode)[key[0]].answers[key[1]]
        if answer.verdict.says is None or decision >= len(self.recorded):
            return Tested(*key)
        without = self._otherwise(decision, key, Answer(verdict=Verdict.UNPARSED))
        if without.differs:
            return Tested(*key, without)
        return Tested(*key, without, self._otherwise(decision, key, answer.opposite()))

    def _otherwise(self, decision: int, key: Key, answer: Answer) -> Otherwise:
        found, missing = self._run({key: answer}, decision)
        now = found[decision] if decision < len(found) else Decision('stop', 'ended earlier')
        return Otherwise(str(now), now != self.recorded[decision], missing)

    def _run(self, changes: Mapping[Key, Answer], until: int) -> tuple[list[Decision], int]:
        """Decisions up to a number, and the number of questions without a recorded answer."""
        episode = self._episode
        world = _RecordedWorld(episode)
        eyes = _RecordedGrounder(episode, changes, self._reads_prompt)
        watcher = _DecisionRecorder(until, world)
        granted = episode.spec.privileged is not Privileged.NONE
        run_episode(episode.spec, self._policy, world, eyes, self._plans, watcher, episode.domain,
                    goal_reached=lambda: False, privileged=_RecordedFacts() if granted else None,
                    cancelled=lambda: watcher.over)
        return watcher.decisions, eyes.missing

    def _started(self, search: str) -> SymbolicPlanner:
        from sightplan.planning.symbolic import FastDownwardPlanner, PlannerSettings
        planner = with_own(self._episode.domain, search,
                           lambda: FastDownwardPlanner(PlannerSettings(search=search)))
        self._stack.callback(close, planner)
        return planner


def recorded_decisions(episode: RecordedEpisode) -> list[Decision]:
    """Decisions of an episode: its actions and, if the method chose it, its end."""
    found = [_decision(event) for event in episode.timeline.events(Stepped)]
    end = episode.timeline.end
    if end is not None and end.reason in CHOSEN:
        found.append(Decision('stop', end.reason.value))
    return found


def _decision(event: Stepped) -> Decision:
    status = event.feedback.status
    if event.action is None:
        return Decision('forfeit', '')
    return Decision('withhold' if status is FeedbackStatus.WITHHELD else 'act', str(event.action))


def _check(episode: RecordedEpisode) -> None:
    """Refuse an episode that cannot be repeated, or need not be."""
    method = episode.spec.method
    if not _batches(episode):
        raise NotRepeatedError('it asked no yes/no questions')
    if episode.lost:
        raise NotRepeatedError('an event of the recording is missing')
    if other := {query.kind for event in episode.timeline.events(Asked)
                 for query in event.queries} - {YES_NO}:
        raise NotRepeatedError(f'it asked other queries, too: {", ".join(sorted(other))}')
    if any(event.observation.altered is not None or event.observation.shows_goal
           for event in _batches(episode)):
        raise NotRepeatedError('whole pictures were read, in several views')
    try:
        unfit = needs_truth(method) or needs_visual_planner(method)
    except InputError as error:
        raise NotRepeatedError(f'its method is not installed: {error}') from error
    if unfit:
        raise NotRepeatedError(f'{method} does not decide by answers alone')


def _batches(episode: RecordedEpisode) -> list[Asked]:
    return [moment.event for moment in episode.timeline.batches]


# ------------------------------------------------------------------------------------ the ports


class _DecisionRecorder(EventHandler):
    """A Recorder that notes decisions, up to one."""

    def __init__(self, until: int, world: _RecordedWorld) -> None:
        self._until, self._world = until, world
        self.decisions: list[Decision] = []

    @property
    def over(self) -> bool:
        return len(self.decisions) > self._until

    def record(self, event: EpisodeEvent) -> None:
        if not self.over:
            super().record(event)

    def on_stepped(self, event: Stepped) -> None:
        self.decisions.append(_decision(event))
        if self.decisions[-1].kind != 'act':
            self._world.go_on()

    def on_ended(self, event: EpisodeEnded) -> None:
        self.decisions.append(Decision('stop', event.reason.value))


class _RecordedWorld:
    """World that shows the recorded observations, and gives the recorded feedback."""

    def __init__(self, episode: RecordedEpisode) -> None:
        self._episode = episode
        self._looks = [[event.observation for event in step.events(Observed)]
                       for step in episode.timeline.steps]
        self._steps = episode.timeline.events(Stepped)
        self._step = self._look = 0
        self._last: Observation | None = None

    def reset(self, spec: EpisodeSpec) -> None:
        """Do nothing: the recording stands at its start."""

    def observe(self) -> Observation:
        """The next observation before the next action; the last one again if there are no more."""
        looks = self._looks[self._step] if self._step < len(self._looks) else []
        if self._look < len(looks):
            self._last = looks[self._look]
            self._look += 1
        if self._last is None:
            raise WorldError('nothing was ever seen')
        return self._last

    def execute(self, action: Action) -> Feedback:
        """Recorded feedback to this action; after a differing action, a plain success."""
        was = self._steps[self._step] if self._step < len(self._steps) else None
        self.go_on()
        if was is None or was.action != action or was.feedback.status is FeedbackStatus.WITHHELD:
            return Feedback(FeedbackStatus.EXECUTED)
        return was.feedback

    def go_on(self) -> None:
        """Move on to the next recorded action, whether this one was sent or not."""
        self._step, self._look = self._step + 1, 0


class _RecordedGrounder:
    """A model that gives recorded answers, some of them changed."""

    usage = None
    accepts: frozenset[type[Query[Any]]] = frozenset({YesNo})

    def __init__(self, episode: RecordedEpisode, changes: Mapping[Key, Answer],
                 reads_prompt: bool) -> None:
        self.traits = Traits(prompt=reads_prompt)
        self.name = next((event.model for event in _batches(episode) if event.model), '')
        self._of_look: defaultdict[tuple[int, str, Atom], list[Answer]] = defaultdict(list)
        self._of_image: dict[tuple[str, Atom], Answer] = {}
        self.missing = 0
        for number, event in enumerate(_batches(episode)):
            seen = event.observation
            for place, (question, answer) in enumerate(zip(
                    event.questions, event.answers, strict=True)):
                given = changes.get((number, place), answer)
                self._of_look[seen.stamp_ns, seen.image_id, question.atom].append(given)
                if seen.image_id:
                    self._of_image[seen.image_id, question.atom] = given

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """The answers that were given about this look, else about the very same picture."""
        return [self._answer(query.observation, query.question.atom) for query in queries
                if isinstance(query, YesNo)]

    def _answer(self, seen: Observation, atom: Atom) -> Answer:
        given = self._of_look.get((seen.stamp_ns, seen.image_id, atom))
        if given:
            return given.pop(0) if len(given) > 1 else given[0]
        if (seen.image_id, atom) in self._of_image:
            return self._of_image[seen.image_id, atom]
        self.missing += 1
        return Answer(verdict=Verdict.UNPARSED)


class _RecordedPlanner:
    """A planner that gives the recorded plans, in order; later, for the same tasks.

    What no recorded plan is for is searched for.
    """

    def __init__(self, episode: RecordedEpisode, start: Callable[[], SymbolicPlanner]) -> None:
        self._start = start
        self._planner: SymbolicPlanner | None = None
        self._recorded = [event.result for event in episode.timeline.events(Planned)]
        self._known: dict[PlanningTask, PlanningResult] = {}
        self.in_order = True

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        """The plan for a task; contract in the port."""
        if self.in_order and self._recorded:
            self._known.setdefault(task, self._recorded.pop(0))
        elif task not in self._known:
            if self._planner is None:
                self._planner = self._start()
            self._known[task] = self._planner.plan(task, timeout_s)
        return self._known[task]


class _RecordedFacts:
    """Provides the facts that are recorded with an observation."""

    def provide(self, observation: Observation) -> dict[Atom, bool]:
        """Privileged facts that the recording has for the observation."""
        return dict(observation.privileged_facts)
