"""A run of episodes: problems, world, model and planner, the episode loop and its scorer."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from sightplan.agent import (
    FactsFromTruth,
    Limits,
    Policy,
    make_policy,
    needs_grounder,
    needs_model,
    needs_planner,
    needs_visual_planner,
    run_episode,
)
from sightplan.domains import Domain, load_domain
from sightplan.grounding import PARSERS, BackendGrounder
from sightplan.metrics import EpisodeScorer
from sightplan.metrics.episodes import episode_measures
from sightplan.metrics.scorer import Details, Measures
from sightplan.model import (
    BackendError,
    BeliefUpdated,
    CancelledError,
    EpisodeEvent,
    EpisodeSpec,
    GoalView,
    InputError,
    PlannerError,
    PlanningResult,
    PlanningTask,
    Privileged,
    PrivilegedSource,
    Problem,
    ProblemError,
    Recorder,
    StopReason,
    SymbolicPlanner,
    TruthSource,
    VisualPlanner,
    World,
    user_path,
)
from sightplan.model.ports import BeliefDisplay, EpisodeCheck, RenderedWorld, shown_by
from sightplan.model.query import Deadline, Model, Query, Reply
from sightplan.model.timeline import Moment
from sightplan.planning.visual import BackendVisualPlanner
from sightplan.records import AnswersLog, RunStore, bag_policy, bag_recorder
from sightplan.records.bag_recorder import BagRecorder
from sightplan.records.evidence import FailureImages
from sightplan.runs import protocols, rules, worlds
from sightplan.runs.driver import singly
from sightplan.runs.identity import identity
from sightplan.runs.method_check import (
    check_instructions,
    check_method,
    check_model,
    check_problem,
    check_sequence,
    check_shown,
    check_starts,
    warn_of_learned_problems,
)
from sightplan.runs.problem_folders import read_problems, remark, splits_of
from sightplan.runs.rules import suite_of
from sightplan.runs.settings import (
    RunSettings,
    prompts_folder,
    resolved_backend_options,
)
from sightplan.runs.spread import chosen
from sightplan.runs.suite import Suite
from sightplan.runs.suite_rules import EPISODES
from sightplan.runs.work import Line, closing
from sightplan.vlm.api import (
    backend_reads_prompt,
    make_backend,
)

_LOG = logging.getLogger(__name__)


def select_problems(settings: RunSettings,
                    ) -> tuple[Domain, list[tuple[str, Problem]], list[ProblemError]]:
    """The domain, (split, problem) pairs in order, and what is wrong with bad files.

    Raises:
        InputError: unknown domain, split or folder, or not one usable problem.
    """
    domain_file = user_path(settings.domain_file) if settings.domain_file else None
    domain = load_domain(settings.domain, domain_file, prompts=prompts_folder(settings))
    errors: list[ProblemError] = []
    if settings.problems:
        pairs, errors = read_problems(settings, domain)
    else:
        pairs = [(split, problem) for split in splits_of(settings, domain)
                 for problem in domain.split_problems(split)]
    if not pairs:
        where = settings.problems or f'split {settings.split!r} of domain {settings.domain!r}'
        raise InputError(f'{where}: there is not one usable problem'
                         + ''.join(f'\n  {error}' for error in errors))
    return domain, pairs, errors


class EpisodePlan:
    """The episodes of a run; contract in ``work.Plan``.

    Attributes:
        kind: ``episodes``.
        settings: of the run, with what its protocol sets.
        domain: of the run.
        pairs: (split, problem) in order.
        suite: that it belongs to, None for none.
        items: the episodes, in order; an episode's seed depends on its id and the run's seed, that
            of its policy on the run's seed and the number of the trial.
        skipped: problem files that cannot be used, and why.
    """

    kind = EPISODES

    def __init__(self, settings: RunSettings) -> None:
        """Select the problems.

        Raises:
            InputError: unknown suite, domain, split or folder, or not one usable problem.
        """
        self.settings = settings = protocols.apply(settings)
        self.domain, self.pairs, errors = select_problems(settings)
        self.suite = suite_of(settings, self.domain)
        self.skipped = [str(error) for error in errors]
        self.items = [self._spec(*place) for place in chosen(
            settings.episodes or len(self.pairs), self.pairs)]
        self.notes = {'problems': len(self.pairs)}

    def say_whose_rules(self) -> None:
        """Tell people whose rules hold for problems of a folder, and what they are."""
        if not self.settings.problems:
            return
        rules = {spec.split: ', '.join(_rules_in_words(spec)) for spec in self.items}
        _LOG.warning('%s', remark(self.settings, self.domain, self.pairs,
                                  '' if self.suite is None else self.suite.name, rules))

    def identity(self, model: str | None) -> dict[str, Any]:
        """Contract in ``work.Plan``."""
        return identity(self.settings, self.suite, self.domain, self.pairs, model)

    def model_options(self) -> dict[str, Any] | None:
        """Contract in ``work.Plan``."""
        return (resolved_backend_options(self.settings) if needs_model(self.settings.method)
                else None)

    def _spec(self, trial: int, index: int) -> EpisodeSpec:
        settings, suite, domain = self.settings, self.suite, self.domain.name
        split, problem = self.pairs[index]
        episode_id = f'{domain}/{split or "-"}/{problem.name}#{trial}'
        return EpisodeSpec(
            episode_id, problem, settings.method, split, _seed(f'{settings.seed}\x1f{episode_id}'),
            rules.budget(settings, suite, domain, split), settings.failure_probability,
            rules.stops_at_goal(settings, suite, domain, split),
            rules.privileged(settings, suite, domain, split),
            rules.pictured_goal(settings, suite, domain, split),
            _seed(f'policy\x1f{settings.seed}\x1f{trial}'))


def _rules_in_words(spec: EpisodeSpec) -> Iterator[str]:
    """Yield the rules of an episode, one phrase each."""
    yield f'{spec.max_actions} actions'
    yield 'ends at the goal' if spec.stop_at_goal else 'does not end at the goal'
    if spec.privileged is not Privileged.NONE:
        yield f'privileged facts {spec.privileged.value}'
    if spec.pictured_goal:
        yield 'goal shown as a picture'


def _seed(words: str) -> int:
    """A seed of 32 bits."""
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:4], 'big')


def make_planner(settings: RunSettings) -> SymbolicPlanner:
    """The symbolic planner of a run: the domain's own where it has one, else Fast Downward."""
    from sightplan.planning.own import with_own
    from sightplan.planning.symbolic import FastDownwardPlanner, PlannerSettings
    return with_own(load_domain(settings.domain), settings.planner_search, lambda: (
        FastDownwardPlanner(PlannerSettings(search=settings.planner_search))))


def episode_scorer(truth: TruthSource | None, suite: Suite | None,
                   also: Sequence[Callable[[Moment[EpisodeEvent]], None]] = ()) -> EpisodeScorer:
    """The scorer of a suite's episodes, None: of no suite."""
    return EpisodeScorer(truth, *scored_by(suite), also)


def scored_by(suite: Suite | None) -> tuple[str, Measures, Details | None]:
    """Return name, measures and details of a suite, as ``metrics.score`` takes them.

    Without a suite these are '', the usual measures of episodes, and None.
    """
    if suite is None:
        return '', episode_measures, None
    return (suite.name, suite.episode_measures,
            suite.episode_details if suite.keeps_details else None)


class EpisodeRunner:
    """Runs episodes in process; contract in ``work.Runner``."""

    def __init__(self, settings: RunSettings, *, world: World | None = None,
                 planner: SymbolicPlanner | None = None, recorders: Sequence[Recorder] = (),
                 policy: Policy | None = None) -> None:
        """Select the problems, and check that the method can work on them.

        Args:
            settings: what to run, checked.
            world: instead of the installed one for the domain; stays open.
            planner: instead of Fast Downward; stays open.
            recorders: take the events of all episodes, too, after the scorer has.
            policy: instead of the one that the settings name, and of the same method; where it
                has a ``model``, results name that.

        Raises:
            InputError: the settings are wrong.
        """
        self._recorders = tuple(recorders)
        self._given = world, planner, policy
        self.plan = EpisodePlan(settings)
        self._settings = settings = self.plan.settings
        self._domain = self.plan.domain
        method = check_method(settings, self._domain)
        check_problem(self.plan.settings, self._domain, self.plan.pairs[0][1])
        check_sequence(method, self.plan.pairs)
        check_starts(self.plan.settings, self._domain, self.plan.pairs)
        check_instructions(settings, self.plan.pairs)
        warn_of_learned_problems(settings, self.plan.pairs)
        self.plan.say_whose_rules()

    def open(self, stack: ExitStack) -> None:
        """Make the world and the policy, and start the planner."""
        settings = self._settings
        world, planner, policy = self._given
        self._world = world or closing(stack, worlds.make_world(
            self._domain.reference, settings.world_options))
        if not isinstance(self._world, TruthSource):
            raise InputError(f'the world of domain {self._domain.name!r} offers no ground '
                             f'truth, so that episodes cannot be scored in process')
        self._truth: TruthSource = self._world
        if (any(spec.pictured_goal for spec in self.plan.items)
                and not isinstance(self._world, GoalView)):
            raise InputError(f'goal: the world of domain {self._domain.name!r} cannot show '
                             'goals as pictures; choose goal=told')
        if isinstance(self._world, EpisodeCheck):
            self._world.check(self.plan.items)  # what it cannot show need not be tried
        self._policy = policy or make_policy(settings.method, settings.method_options, self._world)
        if planner is None and not needs_planner(settings.method):
            planner = _NoPlanner()
        self._planner = planner or closing(stack, make_planner(settings))

    def load(self, options: dict[str, Any], given: Model | None, stack: ExitStack) -> Model:
        """Load the model, which may read the truth of the world; contract in ``work.Runner``."""
        settings = self._settings
        check_shown(settings.backend, settings.method, settings.method_options,
                    shown_by(self._world))
        if given is not None:
            return given
        check_model(self._settings)
        made = closing(stack, make_backend(self._settings.backend, options, self._truth))
        check_model(self._settings, made)
        return made

    def session(self) -> dict[str, Any]:
        """The renderer of the world, where it has one."""
        return {'renderer': self._world.renderer if isinstance(self._world, RenderedWorld)
                else None}

    def begin(self, store: RunStore, backend: Model | None, stack: ExitStack) -> None:
        """Contract in ``work.Runner``."""
        settings = self._settings
        self._grounder: Model = _NoGrounder()
        self._visual_planner: VisualPlanner | None = None
        if backend is not None:
            if needs_grounder(settings.method):
                self._grounder = BackendGrounder(backend, PARSERS[settings.answers])
            if needs_visual_planner(settings.method):
                self._visual_planner = BackendVisualPlanner(backend, self._domain)
        with store.locked():
            bag_recorder.clean(store.folder, store.lines)
        self._bags: BagRecorder | None = None
        if settings.bags != bag_policy.NONE:
            self._bags = closing(stack, BagRecorder(store.folder, self._truth, self._domain,
                                                    settings.bags, kept=settings.bags_kept))
        truth = self._bags.truth if self._bags else self._truth
        self._log: AnswersLog | None = None
        if settings.answers_log:
            self._log = closing(stack, AnswersLog(
                store.folder, self._truth, self._domain.question_hash,
                backend_reads_prompt(settings.backend)))
            with store.locked() as done:
                self._log.open(done)
        self._scorer = episode_scorer(truth, self.plan.suite,
                                      () if self._log is None else (self._log.take,))
        self._images = FailureImages(store.folder) if settings.failure_images else None
        mine = (self._bags, self._scorer, *self._recorders, self._images,
                BeliefForwarder(self._world) if isinstance(self._world, BeliefDisplay) else None)
        self._recorder = CompositeRecorder(*(recorder for recorder in mine
                                             if recorder is not None))

    def batches(self, missing: Sequence[EpisodeSpec]) -> Iterable[Sequence[EpisodeSpec]]:
        """Return the missing episodes in batches of one."""
        return singly(missing)

    def make(self, batch: Sequence[EpisodeSpec], cancelled: Callable[[], bool]) -> Sequence[Line]:
        """Run one episode; contract in ``work.Runner``."""
        spec, = batch
        settings = self._settings
        ended = run_episode(
            spec, self._policy, self._world, self._grounder, self._planner, self._recorder,
            self._domain, visual_planner=self._visual_planner,
            goal_reached=_goal_reached(spec, self._truth),
            privileged=_privileged(spec, self._truth, self._domain), cancelled=cancelled,
            limits=Limits(settings.grounder_timeout_s, settings.propose_timeout_s,
                          settings.planner_timeout_s))
        line = self._scorer.result()
        line['model'] = line['model'] or self._policy.model
        if ended.reason is StopReason.CANCELLED:
            raise CancelledError(line['message'])
        return (line,)

    def before(self, line: Line) -> None:
        """Write its bag, its picture and its answers."""
        if self._bags is not None:
            self._bags.commit(line)
        if self._images is not None:
            self._images.commit(line)
        if self._log is not None:
            self._log.commit()


class CompositeRecorder:
    """Sends every event to several recorders."""

    def __init__(self, *recorders: Recorder) -> None:
        self._recorders = recorders

    def record(self, event: EpisodeEvent) -> None:
        """Contract in ``Recorder``."""
        for recorder in self._recorders:
            recorder.record(event)


class BeliefForwarder:
    """Forwards belief updates to a world that makes use of them."""

    def __init__(self, world: BeliefDisplay) -> None:
        self._world = world

    def record(self, event: EpisodeEvent) -> None:
        """Contract in ``Recorder``."""
        if isinstance(event, BeliefUpdated):
            self._world.expect(event.belief)


class _NoGrounder:
    """Stands in for the model of methods that ask nothing, so that no model is loaded."""

    name = ''
    usage = None
    accepts: frozenset[type[Query[Any]]] = frozenset()

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        raise BackendError('this method was not expected to ask questions '
                           '(its Policy declares needs_grounder = False)')


class _NoPlanner:
    """Stands in for the planner of methods that do not plan, so that no planner is started."""

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        raise PlannerError('this method was not expected to plan '
                           '(its Policy declares needs_planner = False)')


def _goal_reached(spec: EpisodeSpec, truth: TruthSource) -> Callable[[], bool]:
    """Whether an episode's goal holds in the true state now: for the loop alone."""
    return lambda: spec.problem.goal_met(truth.state())


def _privileged(spec: EpisodeSpec, truth: TruthSource, domain: Domain,
                ) -> PrivilegedSource | None:
    """Return the loop's source of facts that are out of view; None if none are provided."""
    if spec.privileged is Privileged.NONE:
        return None
    return FactsFromTruth(truth, spec, domain.worth_asking(spec.problem))
