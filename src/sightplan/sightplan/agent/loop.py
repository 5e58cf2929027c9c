"""The one episode loop: in process and on ROS, for every method."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from sightplan.agent.context import (
    AS_PROPOSED,
    LOOK,
    AskedModel,
    Reason,
    SubjectModel,
    WorldContext,
)
from sightplan.agent.policy import Act, Decision, Forfeit, Policy, Stop
from sightplan.agent.registry import check_reads_goal
from sightplan.agent.worlds import WorldWrapper, with_rules
from sightplan.model import (
    Action,
    Asked,
    Atom,
    BackendError,
    Belief,
    BeliefUpdated,
    CancelledError,
    Clock,
    DeadlineError,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeSpec,
    EpisodeStarted,
    Feedback,
    FeedbackStatus,
    GoalAdopted,
    InputError,
    Literal,
    ModelKnown,
    Observation,
    Observed,
    PastStep,
    Planned,
    PlannerError,
    PlanningResult,
    PlanningStatus,
    PlanningTask,
    PrivilegedSource,
    Problem,
    ProblemAdopted,
    Proposal,
    ProposalForm,
    ProposalStatus,
    Proposed,
    Recorder,
    SightplanError,
    State,
    Stepped,
    StopReason,
    SymbolicPlanner,
    VisualPlanner,
    VisualTask,
    World,
    excerpt,
    prompt_id,
    used_between,
)
from sightplan.model.journal import StorageError
from sightplan.model.logged import without_seed
from sightplan.model.query import (
    Deadline,
    Failed,
    Model,
    Query,
    Reply,
    start_episode,
    traits_of,
)
from sightplan.model.redaction import without_secrets
from sightplan.model.sample import Sample
from sightplan.model.sealing import sealed
from sightplan.queries import DetectInstances, YesNo

if TYPE_CHECKING:
    from sightplan.domains import Domain, InstantiatedModel

_LOG = logging.getLogger(__name__)

T = TypeVar('T')


@dataclass(frozen=True, slots=True)
class Limits:
    """Wall-clock limits [s]; passing one makes the episode an error, not a failure.

    Attributes:
        ground_s: one call of the grounder; None leaves it to the grounder.
        propose_s: one call of the visual planner; None leaves it to the planner.
        plan_s: one call of the planner (its own TIMEOUT status is a result of the method).
        episode_s: the whole episode; None: none.
    """

    ground_s: float | None = None
    propose_s: float | None = None
    plan_s: float = 60.0
    episode_s: float | None = None


class _Session:
    """The state of an episode behind the policy's WorldContext: its ports and times."""

    def __init__(self, spec: EpisodeSpec, world: WorldWrapper, grounder: Model,
                 planner: SymbolicPlanner, visual_planner: VisualPlanner | None,
                 recorder: Recorder, domain: Domain, policy: Policy,
                 cancelled: Callable[[], bool], limits: Limits, clock: Clock) -> None:
        # The world's luck is a function of its seed: the policy learns neither. The id has the
        # name of the problem in it.
        self._instructed = policy.reads_instruction
        self._visible_facts = policy.reads_visible_facts
        problem = (spec.problem.with_instruction_only() if self._instructed
                   else spec.problem.for_agent(spec.pictured_goal))
        if policy.needs_truth:  # it may know what the true state does not tell: goal and plans
            problem = replace(spec.problem, init=problem.init)
        self.spec = replace(spec, id='', problem=problem, seed=0, failure_probability=0.0,
                            policy_seed=0)
        self.domain = domain
        # From what the policy is told alone: whoever can draw these numbers learns nothing.
        told = (spec.split, sorted(problem.objects.items()), sorted(map(str, problem.goal)),
                problem.instruction)
        self.rng = random.Random(f'policy/{spec.policy_seed}/{told}')
        self.steps = 0
        self.stamp_ns = 0
        self.timings_s = dict.fromkeys(
            ('reset', 'observe', 'ground', 'plan', 'propose', 'act'), 0.0)
        self._full_spec = spec
        self._world, self._grounder, self._planner = world, grounder, planner
        self._visual_planner, self.prompt = visual_planner, policy.prompt
        self._proposed_at: list[Observation] = []
        self._in_view: dict[int, tuple[str, ...] | None] = {}  # by the stamp of each observation
        self._recorder = recorder
        self._known: dict[type, EpisodeEvent] = {}  # the last of each kind of adopted knowledge
        self._cancelled, self._limits, self._clock = cancelled, limits, clock
        self._started = clock()
        self._model: InstantiatedModel | None = None

    @property
    def problem(self) -> Problem:
        return self.spec.problem

    @property
    def answering_model(self) -> str:
        return without_seed(self._grounder.name)

    @property
    def answering_prompt(self) -> str:
        return (self.domain.prompt_id(self.prompt, self._world.describes)
                if traits_of(self._grounder).prompt else '')

    @property
    def model(self) -> InstantiatedModel:
        if self._model is None:
            self._model = self.domain.model(self.problem)
        return self._model

    @property
    def seconds(self) -> float:
        return self._clock() - self._started

    def record(self, event: EpisodeEvent) -> None:
        self._recorder.record(event)

    def reset(self) -> None:
        try:
            with self._stage('reset'):
                self._world.reset(self._full_spec)
                for model in (self._grounder, self._visual_planner):
                    start_episode(model, self._full_spec.id, self.spec.split)
        finally:
            self.record(EpisodeStarted(self._full_spec))

    def observe(self) -> Observation:
        with self._stage('observe'):
            observation = self._world.observe()
        if not self._visible_facts:
            observation = observation.without_visible_facts()
        self.stamp_ns = max(self.stamp_ns, observation.stamp_ns)
        self._in_view[observation.stamp_ns] = observation.visible_objects
        self.record(Observed(observation))
        return observation

    def goal_observation(self) -> Observation:
        with self._stage('observe'):
            goal = self._world.goal_observation()
        self._in_view[goal.stamp_ns] = goal.visible_objects
        return goal

    def adopt_goal(self, goal: Sequence[Literal], source: str = '') -> None:
        self.spec = replace(self.spec, problem=replace(self.problem, goal=tuple(goal)))
        self._record_change(GoalAdopted(tuple(goal), source))

    def adopt_problem(self, objects: Mapping[str, str], goal: Sequence[Literal],
                      source: str = '') -> None:
        if not self._instructed:
            raise InputError('this method was told objects and goal; only one that declares '
                             'reads_instruction finds them itself')
        self.spec = replace(self.spec, problem=replace(self.problem, objects=objects,
                                                       goal=tuple(goal)))
        self._model = None
        self._record_change(ProblemAdopted(dict(objects), tuple(goal), source))

    def model_known(self, model: str, prompt: str) -> None:
        self._record_change(ModelKnown(model, prompt))

    def _record_change(self, event: GoalAdopted | ProblemAdopted | ModelKnown) -> None:
        """Record a change of the method's knowledge, unless it equals the last of its type."""
        if self._known.get(type(event)) != event:
            self._known[type(event)] = event
            self.record(event)

    def asking(self, about: Observation | Sample, backend: str = '',
               reason: Reason = LOOK) -> AskedModel:
        if backend:
            raise InputError('an episode has one model; leave the backend out')
        if isinstance(about, Sample):
            raise InputError('an episode has no samples; ask about an observation')
        model: AskedModel = sealed(AskedModel, SubjectModel(
            self._grounder, '', self._limits.ground_s,
            lambda queries, deadline: self._ask(about, reason, queries, deadline)))
        return model

    def _as_observed(self, observation: Observation) -> Observation:
        """An observation that the policy gives back, with what the world said is in view."""
        if observation.stamp_ns not in self._in_view:
            raise InputError('asked about a picture that was not observed in this episode (ask '
                             'about what observe() or goal_observation() gave)')
        visible = self._in_view[observation.stamp_ns]
        if observation.visible_objects == visible:
            return observation
        return replace(observation, visible_objects=visible)

    def _ask(self, about: Observation, reason: Reason, queries: Sequence[Query[Any]],
             deadline: Deadline) -> list[Reply]:
        """Ask the model about an observation of the episode, and record it.

        Raises:
            InputError: the observation is none of this episode, or a question is about what is
                out of view; yes/no questions are mixed with other queries, or have another number
                of expectations; or the model answers no such queries.
            SightplanError: see ``Model.ask``.
        """
        observation = self._as_observed(about)
        expected = _expected(queries, reason)
        asked = tuple(_about(query, about, observation) for query in queries)
        before, spent = self.timings_s['ground'], self._grounder.usage
        timeout_s = self._limits.ground_s if deadline.timeout_s is None else deadline.timeout_s
        replies: list[Reply] = []
        failure: SightplanError | None = None
        with self._stage('ground'):
            try:
                replies = self._grounder.ask(asked, replace(deadline, timeout_s=timeout_s))
            except SightplanError as error:
                failure, replies = error, _replies_before(error, len(asked))
        name = next((reply.model for reply in replies if reply.model), '') or self._grounder.name
        self.record(Asked(observation, asked, tuple(replies),
                          () if failure else expected, reason.purpose,
                          reason.action, self.timings_s['ground'] - before, name, reason.prompt,
                          used_between(spent, self._grounder.usage), reason.memory))
        if failure is not None:
            raise failure
        return replies

    def propose(self, history: Sequence[PastStep],
                observation: Observation | None = None,
                form: ProposalForm = AS_PROPOSED, past: int = -1) -> Proposal:
        if self._visual_planner is None:
            raise InputError('the method lets a vision-language model plan, but none was given')
        if observation is None:
            observation = self.observe()
        window = min(self.domain.prompts.window(self.prompt) if past < 0 else past,
                     len(self._proposed_at), len(history))
        task = VisualTask(
            self.problem, self.prompt, tuple(history), self.spec.stop_at_goal,
            tuple(self._proposed_at[len(self._proposed_at) - window:]),
            self.goal_observation() if self.spec.pictured_goal else None, form)
        self._proposed_at.append(observation)
        before, spent = self.timings_s['propose'], self._visual_planner.usage
        failure: SightplanError | None = None
        with self._stage('propose'):
            try:
                proposal = self._visual_planner.propose(observation, task, self._limits.propose_s)
            except SightplanError as error:
                failure = error
                proposal = Proposal(ProposalStatus.FAILED, message=_told(error),
                                    model=self._visual_planner.model)
        if failure is None and proposal.status is ProposalStatus.FAILED:  # a node may reply so
            failure = BackendError(
                proposal.message or 'the model proposed nothing, without saying why')
        proposal = replace(proposal, seconds=self.timings_s['propose'] - before)
        self.record(Proposed(observation, proposal,
                             prompt_id(self.prompt, proposal.prompt_sha256),
                             used_between(spent, self._visual_planner.usage),
                             tuple(history)))
        if failure is not None:
            raise failure
        return proposal

    def plan(self, task: PlanningTask) -> PlanningResult:
        with self._stage('plan'):
            result = self._planner.plan(task, self._limits.plan_s)
        self.record(Planned(result))
        if result.status is PlanningStatus.CRASHED:
            raise PlannerError(f'the planner crashed: {result.message or "no message"}')
        return result

    def believe(self, state: State, probabilities: Mapping[Atom, float] | None = None) -> None:
        self.record(BeliefUpdated(Belief(state, dict(probabilities or {}))))

    def execute(self, action: Action) -> Feedback:
        self.model.check(action)
        before_ns, before_s = self.stamp_ns, self.timings_s['act']
        with self._stage('act'):
            feedback = self._world.execute(action)
        self.stamp_ns = max(self.stamp_ns, feedback.stamp_ns)
        self._step(action, feedback, before_ns, self.timings_s['act'] - before_s)
        return feedback

    def withhold(self, action: Action, message: str) -> Feedback:
        feedback = Feedback(FeedbackStatus.WITHHELD, message, self.stamp_ns)
        self._step(action, feedback, self.stamp_ns, 0.0)
        return feedback

    def forfeit(self, message: str) -> None:
        self._step(None, Feedback(FeedbackStatus.INVALID, message, self.stamp_ns), self.stamp_ns,
                   0.0)

    def _step(self, action: Action | None, feedback: Feedback, stamp_ns: int,
              seconds: float) -> None:
        self.record(Stepped(self.steps, action, feedback, stamp_ns, seconds))
        self.steps += 1

    def at_goal(self) -> Stop | None:
        """The end of an episode that is stopped at its goal, once that is reached."""
        if not self._world.is_over():
            return None
        return Stop(StopReason.GOAL_REACHED, 'the goal holds in the true state')

    @contextmanager
    def _stage(self, stage: str) -> Iterator[None]:
        if self._cancelled():
            raise CancelledError(f'cancelled before {stage}')
        if self._limits.episode_s is not None and self.seconds > self._limits.episode_s:
            raise DeadlineError(f'the episode took longer than {self._limits.episode_s:g} s')
        before = self._clock()
        try:
            yield
        finally:
            self.timings_s[stage] += self._clock() - before


def _told(error: SightplanError) -> str:
    return without_secrets(f'{type(error).__name__}: {error}')


def _replies_before(error: SightplanError, count: int) -> list[Reply]:
    """Return the replies that came before a model failed, and ``Failed`` for other queries."""
    missing = Failed(_told(error))
    partial = error.partial if len(error.partial) == count else (None,) * count
    return [missing if reply is None else reply for reply in partial]


def _expected(queries: Sequence[Query[Any]], reason: Reason) -> tuple[bool | None, ...]:
    """Return the expected answer to each yes/no question; empty for other queries.

    Raises:
        InputError: the queries are yes/no questions and others, which records keep apart; or
            questions and expectations differ in number.
    """
    questions = sum(isinstance(query, YesNo) for query in queries)
    if not questions:
        return ()
    if questions < len(queries):
        raise InputError('yes/no questions are asked apart from queries of other kinds; call ask '
                         'for each kind')
    expected = reason.expected or (None,) * questions
    if len(expected) != questions:
        raise InputError(f'{len(expected)} expectations for {questions} questions')
    return expected


def _about(query: Query[Any], about: Observation, observed: Observation) -> Query[Any]:
    """Return a query about an observation, with the objects that the world said are in view.

    Raises:
        InputError: the query is about another observation, or about objects out of view.
    """
    if not isinstance(query, YesNo | DetectInstances):
        return query
    if query.observation is not about:
        raise InputError('a question is about another observation than the model is asked about')
    if isinstance(query, YesNo) and not (
            query.question.in_words or observed.in_view(query.question.atom)):
        # an answer could only be a guess, or a leak
        raise InputError(f'{query.question.atom}: asked about a picture in which not all its '
                         'objects are in view (ask only where Observation.in_view)')
    return query if observed is about else replace(query, observation=observed)


def _drive(policy: Policy, session: _Session) -> Stop:
    """Reset, then decide, act and learn until someone stops or the budget is spent."""
    session.reset()
    if session.spec.pictured_goal:
        check_reads_goal(session.spec.method, policy)
    context: WorldContext = sealed(WorldContext, session)
    stop = session.at_goal() or _returned(policy, 'begin', policy.begin(context), _MAY_STOP)
    while stop is None:
        if session.steps >= session.spec.max_actions:
            return Stop(StopReason.BUDGET, f'{session.steps} actions used')
        decision = _returned(policy, 'decide', policy.decide(context), get_args(Decision))
        if isinstance(decision, Stop):
            return decision
        if isinstance(decision, Forfeit):
            session.forfeit(decision.message)
            continue
        if isinstance(decision, Act):
            feedback = session.execute(decision.action)
            if feedback.status is FeedbackStatus.WITHHELD:
                return Stop(StopReason.DRY_RUN, feedback.message)
        else:
            feedback = session.withhold(decision.action, decision.message)
        stop = (_returned(policy, 'learn', policy.learn(context, decision.action, feedback),
                          _MAY_STOP) or session.at_goal())
    return stop


_MAY_STOP = (Stop, type(None))


def _returned(policy: Policy, method: str, value: T, kinds: tuple[type, ...]) -> T:
    """Return the value that a policy's method returned, after a check of its type.

    Raises:
        InputError: the value is of none of ``kinds``; names class, method and kinds.
    """
    if isinstance(value, kinds):
        return value
    names = ' or '.join('None' if kind is type(None) else kind.__name__ for kind in kinds)
    cls = type(policy)
    raise InputError(f'{cls.__module__}.{cls.__qualname__}.{method} returned '
                     f'{excerpt(repr(value))}; it must return {names} (of sightplan.agent)')


def _is_true(cancelled: Callable[[], bool]) -> bool:
    """Return whether the episode was cancelled; False if finding out raises an error."""
    try:
        return cancelled()
    except SightplanError:
        return False


def run_episode(spec: EpisodeSpec, policy: Policy, world: World, grounder: Model,
                planner: SymbolicPlanner, recorder: Recorder, domain: Domain, *,
                visual_planner: VisualPlanner | None = None,
                goal_reached: Callable[[], bool] | None = None,
                privileged: PrivilegedSource | None = None,
                cancelled: Callable[[], bool] = lambda: False, limits: Limits | None = None,
                clock: Clock = time.monotonic) -> EpisodeEnded:
    """Run one episode and record its events.

    The policy never sees ``spec.problem.init``. Whatever happens, EpisodeStarted comes first and
    EpisodeEnded last: an InfrastructureError, and any unexpected exception (whose traceback is
    logged), ends the episode as ERROR, which is unscored.

    Args:
        spec: problem, seed, budget and failure probability.
        policy: the method, see ``make_policy``.
        world: is reset to the problem.
        grounder: the model that answers the policy's questions; its replies to yes/no questions
            are ``Answer``, see ``grounding.BackendGrounder``.
        planner: finds its plans.
        recorder: takes all events, in order, from this thread.
        domain: the problem's domain.
        visual_planner: plans for a policy that declares ``needs_visual_planner``.
        goal_reached: whether the goal holds in the true state now, see ``worlds.StopAtGoal``.
            Asked after the reset and after each step, and only if the spec says ``stop_at_goal``:
            all that a policy learns from it is that its episode goes on.
        privileged: knows what is out of view, see ``worlds.PrivilegedFacts``. Asked where the
            spec says so (``Privileged``): then an observation has ``privileged_facts``.
        cancelled: polled before every use of a port; once true the episode ends as CANCELLED.
            It may raise a SightplanError instead, which ends the episode as ERROR.
        limits: wall-clock limits.
        clock: monotonic seconds.

    Returns:
        the EpisodeEnded event that was recorded last.

    Raises:
        KeyboardInterrupt: after recording the episode as CANCELLED.
        StorageError: the recorder's disk is full: the episode has no end, and no other would.
    """
    session = _Session(spec, with_rules(world, goal_reached, privileged), grounder, planner,
                       visual_planner, recorder, domain, policy, cancelled, limits or Limits(),
                       clock)
    interrupt: KeyboardInterrupt | None = None
    try:
        stop = _drive(policy, session)
    except CancelledError as error:
        stop = Stop(StopReason.CANCELLED, str(error))
    except KeyboardInterrupt as error:
        interrupt, stop = error, Stop(StopReason.CANCELLED, 'interrupted')
    except StorageError:
        raise
    except SightplanError as error:
        if error.defect:
            _LOG.exception('episode %s ended by a defect', spec.id)
        # A cancelled run takes its helpers (planner process, services) down with it.
        stop = Stop(StopReason.CANCELLED if _is_true(cancelled) else StopReason.ERROR,
                    f'{type(error).__name__}: {error}')
    except Exception as error:  # a defect must not end a sweep of hours
        _LOG.exception('episode %s ended by an unexpected exception', spec.id)
        stop = Stop(StopReason.ERROR, f'unexpected {type(error).__name__}: {error}')
    ended = EpisodeEnded(stop.reason, without_secrets(stop.message), session.steps,
                         policy.remaining, session.stamp_ns, session.seconds,
                         dict(session.timings_s))
    recorder.record(ended)
    if interrupt is not None:
        raise interrupt
    return ended
