"""Running many episodes in this process: problems, world, backend, loop, scorer, run store.

The pieces are used apart as well: on ROS the experiment node walks the same list of episodes
(``select_problems``, ``episode_specs``) and the recorder opens the same run (``identity``).
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, cast

import sightplan
from sightplan.agent import (
    Limits,
    PrivilegedFacts,
    make_policy,
    needs_grounder,
    needs_model,
    needs_planner,
    needs_visual_planner,
    policy_settings,
    prompt_name,
    run_episode,
)
from sightplan.domains import Domain, load_domain, read_folder, worlds
from sightplan.grounding import PARSERS, BackendGrounder
from sightplan.grounding.constraints import read_constraints
from sightplan.grounding.observation_model import read_observation_model
from sightplan.metrics import EpisodeScorer, summarise
from sightplan.model import (
    Answer,
    BackendError,
    Belief,
    BeliefUpdated,
    EpisodeEvent,
    EpisodeSpec,
    Grounder,
    GroundingPrompt,
    InputError,
    Observation,
    PlannerError,
    PlanningResult,
    PlanningTask,
    Privileged,
    PrivilegedSource,
    Problem,
    ProblemError,
    Question,
    Recorder,
    StopReason,
    SymbolicPlanner,
    TruthSource,
    Usage,
    VisualPlanner,
    World,
    check_settings,
    identity_values,
    param,
    user_path,
)
from sightplan.planning.visual import BackendVisualPlanner
from sightplan.records import AnswersLog, RunStore, bag_recorder, provenance
from sightplan.records.bag_recorder import BagRecorder
from sightplan.records.evidence import FailureImages
from sightplan.suites import suite_for
from sightplan.vlm import recording
from sightplan.vlm.api import (
    Backend,
    backend_generates,
    backend_needs_pixels,
    backend_reads_prompt,
    backend_settings,
    cannot_generate,
    make_backend,
    resolved_options,
)

ALL_SPLITS = 'all'
_DEFAULT_MAX_ACTIONS = 20
_Thing = TypeVar('_Thing')


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What to run. ``check`` it before use; ``run`` does."""

    domain: str = param('blocksworld', 'Domain: the name of an installed one, or the path of its folder')
    split: str = param('simple', f'Split of the domain; "{ALL_SPLITS}": all of them')
    problems: str = param('', 'Folder of problem files to use instead of a split')
    domain_file: str = param('', 'Another domain file of the same vocabulary, with problems')
    method: str = param('ground', 'Method: a module of sightplan.agent.methods')
    backend: str = param('embedded', 'Vision-language backend: a module of sightplan.vlm.backends')
    answers: str = param('strict', 'How replies are read: strict, or prefix (as the ViPlan '
                         'reference does: "not" and "now" are no)', choices=tuple(PARSERS))
    episodes: int = param(0, 'Number of episodes; 0: one per problem; more than there are '
                          'problems: further rounds over them, with other seeds', low=0)
    seed: int = param(0, 'Seed of everything random: looks, failures, noise', low=0,
                      high=2**32 - 1)
    max_actions: int = param(0, "Budget of actions per episode; 0: the suite's", low=0)
    failure_probability: float = param(0.0, 'Chance that the world bungles a legal action',
                                       low=0.0, high=1.0)
    stop_at_goal: str = param('suite', 'Whether an episode ends as soon as the goal holds in the '
                              'true state, which no robot is told: yes, no, or suite (as the '
                              'suite grants it to the method; no, where there is no suite)',
                              choices=('suite', 'yes', 'no'))
    privileged: str = param('suite', 'When a method is told true facts about what is out of view: '
                            'none (never), initial (before its first action), always, or suite '
                            '(as the suite grants it for the domain; none, where there is no '
                            'suite)', choices=('suite', *(level.value for level in Privileged)))
    planner_search: str = param('lama-first', "Search of the planner: lama-first (the paper's), "
                                'short (plans close to the shortest), optimal (shortest plans; '
                                'lama-first where that takes long), or one of Fast Downward')
    planner_timeout_s: float = param(60.0, 'Wall-clock limit of one planner call [s]', low=0.1,
                                     identity=False)
    grounder_timeout_s: float = param(300.0, 'Wall-clock limit of one grounder call [s]',
                                      low=0.1, identity=False)
    propose_timeout_s: float = param(300.0, 'Wall-clock limit of one call of a model that plans '
                                     '[s]', low=0.1, identity=False)
    out: str = param('', 'Run directory; empty: runs/<time>-<domain>-<split>-<method>',
                     identity=False)
    resume: bool = param(True, 'Take up a run that is already there (else that is an error)',
                         identity=False)
    retry_errors: bool = param(True, 'When resuming, repeat episodes that ended in an error',
                               identity=False)
    answers_log: bool = param(False, 'Write all answers and executed actions, with the truth, to '
                              'answers.jsonl in the run directory, for "sightplan calibrate"',
                              identity=False)
    failure_images: bool = param(True, 'Write a picture of each failed episode, where the world '
                                 'draws any, to failures/ in the run directory', identity=False)
    bags: str = param(bag_recorder.NONE, 'Write a rosbag2 bag of each episode, or of each failed '
                      'one, to bags/ in the run directory, as the recorder on ROS does',
                      choices=bag_recorder.KEEP, identity=False)
    record: bool = param(False, 'Write all requests to and replies from the model to '
                         f'{recording.NAME} in the run directory, for backend replay',
                         identity=False)
    record_images: bool = param(False, 'With record: also write each image once, to '
                                f'{recording.IMAGES}/ in the run directory', identity=False)
    backend_options: Mapping[str, Any] = field(default_factory=dict)
    method_options: Mapping[str, Any] = field(default_factory=dict)
    world_options: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Check types, bounds and combinations.

        Raises:
            InputError: names the field and the remedy.
        """
        check_settings(self)
        if self.domain_file and not self.problems:
            raise InputError('domain_file goes with problems: name their folder, too')


class Progress(Protocol):
    """Is told how a run goes; called from the running thread."""

    def started(self, out: Path, done: Sequence[Mapping[str, Any]], total: int,
                skipped: Sequence[str]) -> None:
        """The run is open: lines committed by earlier sessions, episodes in all, bad problems."""

    def episode(self, line: Mapping[str, Any]) -> None:
        """One more episode is committed."""


class _Silent:
    def started(self, out: Path, done: Sequence[Mapping[str, Any]], total: int,
                skipped: Sequence[str]) -> None:
        pass

    def episode(self, line: Mapping[str, Any]) -> None:
        pass


class _Both:
    """Two recorders as one."""

    def __init__(self, *recorders: Recorder) -> None:
        self._recorders = recorders

    def record(self, event: EpisodeEvent) -> None:
        for recorder in self._recorders:
            recorder.record(event)


class _Confiding:
    """Tells a world that wants to hear it what the policy believes (``expect(belief)``)."""

    def __init__(self, expect: Callable[[Belief], None]) -> None:
        self._expect = expect

    def record(self, event: EpisodeEvent) -> None:
        if isinstance(event, BeliefUpdated):
            self._expect(event.belief)


class _NoGrounder:
    """For methods that ask nothing, so that no model need be loaded."""

    model = ''
    usage = None

    def ground(self, observation: Observation, questions: Sequence[Question],
               timeout_s: float | None = None,
               prompt: GroundingPrompt | None = None) -> list[Answer]:
        raise BackendError('this method was not expected to ask questions '
                           '(its Policy declares needs_grounder = False)')


class _NoPlanner:
    """For methods without a symbolic planner, so that none need be started."""

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        raise PlannerError('this method was not expected to plan '
                           '(its Policy declares needs_planner = False)')


def select_problems(settings: RunSettings,
                    ) -> tuple[Domain, list[tuple[str, Problem]], list[ProblemError]]:
    """The domain, (split, problem) pairs in order, and what is wrong with bad files.

    Raises:
        InputError: unknown domain, split or folder, or not one usable problem.
    """
    domain_file = user_path(settings.domain_file) if settings.domain_file else None
    domain = load_domain(settings.domain, domain_file)
    errors: list[ProblemError] = []
    if settings.problems:
        problems, errors = read_folder(domain, user_path(settings.problems))
        pairs = [('', problem) for problem in problems]
    else:
        splits = domain.splits if settings.split == ALL_SPLITS else (settings.split,)
        pairs = [(split, problem) for split in splits for problem in domain.split_problems(split)]
    if not pairs:
        where = settings.problems or f'split {settings.split!r} of domain {settings.domain!r}'
        raise InputError(f'{where}: there is not one usable problem'
                         + ''.join(f'\n  {error}' for error in errors))
    return domain, pairs, errors


def episode_specs(settings: RunSettings, domain: Domain,
                  pairs: Sequence[tuple[str, Problem]]) -> list[EpisodeSpec]:
    """The episodes of a run, in order; an episode's seed depends on its id and the run's seed."""
    specs = []
    for number in range(settings.episodes or len(pairs)):
        trial, index = divmod(number, len(pairs))
        split, problem = pairs[index]
        episode_id = f'{domain.name}/{split or "-"}/{problem.name}#{trial}'
        digest = hashlib.sha256(f'{settings.seed}\x1f{episode_id}'.encode()).digest()
        specs.append(EpisodeSpec(
            episode_id, problem, settings.method, split, int.from_bytes(digest[:4], 'big'),
            budget(settings, domain.reference, split), settings.failure_probability,
            stops_at_goal(settings, domain.reference, split),
            privileged(settings, domain.reference, split)))
    return specs


def budget(settings: RunSettings, domain: str, split: str) -> int:
    """Actions per episode: as set, else the suite's for method and split, else 20."""
    if settings.max_actions:
        return settings.max_actions
    suite = suite_for(domain, split)
    return (suite.budget(domain, settings.method, split) if suite is not None
            else _DEFAULT_MAX_ACTIONS)


def stops_at_goal(settings: RunSettings, domain: str, split: str) -> bool:
    """Whether episodes end at the goal: as set, else as the suite grants it, else not."""
    if settings.stop_at_goal != 'suite':
        return settings.stop_at_goal == 'yes'
    suite = suite_for(domain, split)
    return suite is not None and suite.stops_at_goal(domain, settings.method)


def privileged(settings: RunSettings, domain: str, split: str) -> Privileged:
    """When facts about what is out of view are told: as set, else as the suite grants it."""
    if settings.privileged != 'suite':
        return Privileged(settings.privileged)
    suite = suite_for(domain, split)
    return Privileged.NONE if suite is None else suite.privileged(domain)


def resolved_backend_options(settings: RunSettings) -> dict[str, Any]:
    """The backend's options, with what they leave open and seed and method decide.

    Raises:
        InputError: unknown backend, unknown option or bad value, or a backend that cannot plan
            for a method that lets the model plan.
    """
    if needs_visual_planner(settings.method) and not backend_generates(settings.backend):
        raise cannot_generate(settings.backend)
    return resolved_options(settings.backend, settings.backend_options, settings.seed,
                            asks_for_reasons(settings.method, settings.domain), settings.domain)


def asks_for_reasons(method: str, domain: str) -> bool:
    """Whether a method asks its questions so that the answers begin with reasons.

    Raises:
        InputError: unknown method or domain.
    """
    prompt = prompt_name(method)
    return (needs_grounder(method) and bool(prompt)
            and load_domain(domain).grounding_prompt(prompt).reasoning)


def identity(settings: RunSettings, domain: Domain, pairs: Sequence[tuple[str, Problem]],
             model: str | None) -> dict[str, Any]:
    """All that changes results: a resumed run must agree in it. Plain JSON data.

    Args:
        settings: of the run.
        domain: of the run.
        pairs: all problems of the run.
        model: exact name of the model that answers, '' for none; None: it is not loaded yet, and
            the rest is wanted.

    Raises:
        InputError: the method's calibration cannot be read, or belongs to another model, or what
            the world's options refer to cannot be read.
    """
    asks = needs_model(settings.method)
    prompt = prompt_name(settings.method)
    splits = dict.fromkeys(split for split, _ in pairs)
    backend = (identity_values(backend_settings(
        settings.backend, resolved_backend_options(settings))) if asks else {})
    return {
        'sightplan': sightplan.__version__,
        'domain': domain.name,
        'domain_sha256': hashlib.sha256(domain.pddl.encode()).hexdigest()[:12],
        'domain_settings_sha256': domain.settings_hash,
        'questions_sha256': domain.question_hash,
        'split': '' if settings.problems else settings.split,
        'problems': {'count': len(pairs), 'sha256': problems_sha256(domain, pairs)},
        'method': {'name': settings.method, **_method_identity(settings, domain, model)},
        'backend': {'name': settings.backend, **backend} if asks else None,
        'model': model,
        'prompt': {'name': prompt, 'sha256': domain.prompt_hash(prompt)} if prompt else None,
        'answers': settings.answers if needs_grounder(settings.method) else None,
        'seed': settings.seed,
        'max_actions': {split or '-': budget(settings, domain.reference, split) for split in splits},
        'stop_at_goal': {split or '-': stops_at_goal(settings, domain.reference, split)
                         for split in splits},
        'privileged': {split or '-': privileged(settings, domain.reference, split).value
                       for split in splits},
        'failure_probability': settings.failure_probability,
        'planner': ({'search': settings.planner_search} if needs_planner(settings.method)
                    else None),
        'world': worlds.world_identity(domain.reference, settings.world_options),
    }


def problems_sha256(domain: Domain, pairs: Sequence[tuple[str, Problem]]) -> str:
    """Hash of (split, problem) pairs, as the identity of a run has it."""
    digest = hashlib.sha256()
    for split, problem in pairs:
        digest.update(f'{split}/{problem.name}\n{domain.write_problem(problem)}\n'.encode())
    return digest.hexdigest()[:12]


def answering_prompt(settings: RunSettings, domain: Domain) -> str:
    """Prompt around the questions, ``name@sha256``; '' if answers do not depend on it."""
    return (domain.prompt_id(prompt_name(settings.method))
            if backend_reads_prompt(settings.backend) else '')


def _method_identity(settings: RunSettings, domain: Domain, model: str | None) -> dict[str, Any]:
    """The method's settings; what they refer to counts by its content."""
    values = dataclasses.asdict(policy_settings(settings.method, settings.method_options))
    if values.get('calibration'):
        path = user_path(values['calibration'])
        calibration = read_observation_model(path)
        if needs_grounder(settings.method) and model is not None:
            calibration.check(model, domain, answering_prompt(settings, domain))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        values['calibration'] = f'{path.name}@{digest}'
    if values.get('constraints') is True:
        values['constraints'] = read_constraints(domain).sha256
    return values


def session(settings: RunSettings, world: World | None = None) -> dict[str, Any]:
    """What is noted about one start of a run: time, provenance, renderer, settings."""
    renderer = getattr(world, 'renderer', None)
    return {
        'started': datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds'),
        **provenance(),
        'renderer': renderer if isinstance(renderer, (str, dict)) else None,
        'settings': dataclasses.asdict(settings),
    }


def default_out(settings: RunSettings) -> str:
    """A fresh run directory below ``runs/``, named by time and content."""
    now = datetime.datetime.now().strftime('%Y%m%d-%H%M%S')
    what = Path(settings.problems).name if settings.problems else settings.split
    first = Path('runs') / f'{now}-{Path(settings.domain).name}-{what}-{settings.method}'
    names = itertools.chain((first,), (first.with_name(f'{first.name}-{n}')
                                       for n in itertools.count(2)))
    return str(next(name for name in names if not name.exists()))


def run(settings: RunSettings, progress: Progress | None = None, *,
        cancelled: Callable[[], bool] = lambda: False, world: World | None = None,
        planner: SymbolicPlanner | None = None,
        recorders: Sequence[Recorder] = ()) -> dict[str, Any]:
    """Run all episodes that are not committed yet, one after another.

    Args:
        settings: what to run.
        progress: is told how it goes.
        cancelled: once true, the current episode is broken off (and not committed: a resumed run
            repeats it), and the summary of the finished ones is written.
        world: instead of the installed one for the domain.
        planner: instead of Fast Downward.
        recorders: take the events of all episodes, too, after the scorer has.

    Returns:
        the content of ``summary.json``: see ``metrics.summarise``, plus ``out``, ``problems``
        (number), ``problems_skipped``, ``interrupted``, ``stopped_by`` (what interrupted it, with
        the remedy: a spending cap; '' for a person), ``spent`` (by all sessions on a backend that
        can cap it, broken off episodes included; else None), ``planned`` (episodes), and what was
        run by which commit and versions: see ``RunStore.origin``.

    Raises:
        InputError: the settings are wrong, or ``out`` holds another run.
        InfrastructureError: the world, the model or the planner could not be started.
        KeyboardInterrupt: after the summary was written.
    """
    progress = progress or _Silent()
    with OpenRun(settings, world=world, planner=planner, recorders=recorders) as opened:
        done = set(opened.done)
        progress.started(opened.store.folder, opened.store.lines(), len(opened.specs),
                         opened.skipped)
        interrupted, stopped_by = False, ''
        try:
            for spec in opened.specs:
                if spec.episode_id in done:
                    continue
                if cancelled():
                    interrupted = True
                    break
                line = opened.episode(spec, cancelled)
                if line['stop'] == StopReason.CANCELLED.value:
                    interrupted = True
                    stopped_by = '' if cancelled() else line['message']
                    break
                progress.episode(line)
        except KeyboardInterrupt:
            interrupted = True
            raise
        finally:
            summary = opened.summarise(interrupted, stopped_by)
    return summary


class OpenRun:
    """A run directory that is open, with all that its episodes need. Use as a context manager."""

    def __init__(self, settings: RunSettings, *, world: World | None = None,
                 planner: SymbolicPlanner | None = None, backend: Backend | None = None,
                 recorders: Sequence[Recorder] = (), command: str = '',
                 fence: Callable[[], None] | None = None) -> None:
        """Make the world, load the model, start the planner, open the run.

        Args:
            settings: what to run.
            world: instead of the installed one for the domain; stays open.
            planner: instead of Fast Downward; stays open.
            backend: instead of the one that the settings name; stays open.
            recorders: take the events of all episodes, too, after the scorer has.
            command: see ``RunStore.open``: several processes may make episodes of a run.
            fence: see ``RunStore.open``.

        Raises:
            InputError: the settings are wrong, or ``out`` holds another run.
            InfrastructureError: the world, the model or the planner could not be started.
        """
        settings.check()
        if not settings.out:
            settings = dataclasses.replace(settings, out=default_out(settings))
        self.settings = settings
        self.domain, self.pairs, errors = select_problems(settings)
        self.specs = episode_specs(settings, self.domain, self.pairs)
        self.skipped = [str(error) for error in errors]
        policy_settings(settings.method, settings.method_options)
        with ExitStack() as stack:
            self._world = world or _made(stack, worlds.make_world(
                self.domain.reference, settings.world_options))
            if not isinstance(self._world, TruthSource):
                raise InputError(f'the world of domain {self.domain.name!r} offers no ground '
                                 f'truth, so that episodes cannot be scored in process')
            self._truth: TruthSource = self._world
            check = getattr(self._world, 'check', None)
            if callable(check):
                check(self.specs)  # what this world cannot show need not be tried
            if needs_model(settings.method):
                options = resolved_backend_options(settings)
                if (backend_needs_pixels(settings.backend)
                        and not getattr(self._world, 'pictures', True)):
                    raise InputError(
                        f'backend {settings.backend!r} looks at pictures, but this world draws '
                        f'none (world option pictures=none); let it draw, or choose a backend '
                        f'that needs no pictures, such as noisy_oracle')
                backend = backend or _made(
                    stack, make_backend(settings.backend, options, self._world))
            else:
                backend = None
            if planner is None and not needs_planner(settings.method):
                planner = _NoPlanner()
            self._planner = planner or _made(stack, make_planner(settings))
            self._policy = make_policy(settings.method, settings.method_options, self._world)
            self.store = stack.enter_context(RunStore(settings.out))
            self.done: AbstractSet[str] = self.store.open(
                identity(settings, self.domain, self.pairs, backend.model if backend else ''),
                session(settings, self._world), settings.resume,
                retry_errors=settings.retry_errors, command=command, fence=fence)
            self.store.note('problems_skipped', self.skipped)
            self._spending = _Spending(self.store, backend)
            self._grounder: Grounder = _NoGrounder()
            self._visual_planner: VisualPlanner | None = None
            if backend is not None:
                if settings.record or settings.record_images:
                    backend = _made(stack, recording.recorded(
                        backend, self.store.folder / recording.NAME, name=settings.backend,
                        settings=backend_settings(settings.backend, options),
                        images=settings.record_images))
                if needs_grounder(settings.method):
                    self._grounder = BackendGrounder(backend, PARSERS[settings.answers])
                if needs_visual_planner(settings.method):
                    self._visual_planner = BackendVisualPlanner(backend, self.domain)
            with self.store.locked():
                bag_recorder.clean(self.store.folder, self.store.lines)
            self._bags: BagRecorder | None = None
            if settings.bags != bag_recorder.NONE:
                self._bags = _made(stack, BagRecorder(
                    self.store.folder, self._truth, self.domain, settings.bags))
            self._scorer = EpisodeScorer(self._bags.truth if self._bags else self._truth)
            self._log: AnswersLog | None = None
            if settings.answers_log:
                self._log = AnswersLog(self.store.folder, self._truth, self.domain.question_hash,
                                       backend_reads_prompt(settings.backend))
                with self.store.locked() as done:
                    self._log.open(done)
            self._images = FailureImages(self.store.folder) if settings.failure_images else None
            expect = getattr(self._world, 'expect', None)
            mine = (self._bags, self._scorer, *recorders, self._log, self._images,
                    _Confiding(expect) if callable(expect) else None)
            self._recorder = _Both(*(recorder for recorder in mine if recorder is not None))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the directory, and end what was started for it."""
        self._stack.close()

    def episode(self, spec: EpisodeSpec, cancelled: Callable[[], bool] = lambda: False,
                keep_errors: bool = True) -> dict[str, Any]:
        """Run one episode, and commit it unless it was cancelled.

        Args:
            spec: one of ``specs``.
            cancelled: once true, the episode is broken off.
            keep_errors: whether to commit an episode that could not be scored, too.

        Returns:
            its line of results.

        Raises:
            InfrastructureError: it could not be committed.
            KeyboardInterrupt: it was broken off.
        """
        settings = self.settings
        self._spending.begin()
        try:
            ended = run_episode(
                spec, self._policy, self._world, self._grounder, self._planner, self._recorder,
                self.domain, visual_planner=self._visual_planner,
                goal_reached=_goal_reached(spec, self._truth),
                privileged=_privileged(spec, self._truth, self.domain), cancelled=cancelled,
                limits=Limits(settings.grounder_timeout_s, settings.propose_timeout_s,
                              settings.planner_timeout_s))
            line = self._scorer.result()
            if ended.reason is not StopReason.CANCELLED and (line['scored'] or keep_errors):
                self.store.append(line, before=lambda: self._write_more(line))
        finally:
            self._spending.note()
        return line

    def _write_more(self, line: dict[str, Any]) -> None:
        """What is on disk about an episode before its line is."""
        if self._bags is not None:
            self._bags.commit(line)
        if self._images is not None:
            self._images.commit(line)
        if self._log is not None:
            self._log.commit()

    def summarise(self, interrupted: bool = False, stopped_by: str = '') -> dict[str, Any]:
        """Write ``summary.json``, see ``run``: of all lines, in the order of the episodes."""
        return write_summary(self.store, self.specs, len(self.pairs), interrupted, stopped_by)


def write_summary(store: RunStore, specs: Sequence[EpisodeSpec], problems: int,
                  interrupted: bool = False, stopped_by: str = '') -> dict[str, Any]:
    """Write ``summary.json`` of a run, see ``run``.

    Args:
        store: the run.
        specs: all its episodes, in order.
        problems: number of its problems.
        interrupted: whether it was broken off.
        stopped_by: by what, '' for a person.

    Raises:
        InputError: ``run.json`` is missing or damaged.
    """
    info = store.run_info()
    return store.write_summary({
        **summarise(ordered(store.lines(), specs)), 'out': str(store.folder),
        'planned': len(specs), 'problems': problems,
        'problems_skipped': info.get('problems_skipped', []), 'interrupted': interrupted,
        'stopped_by': stopped_by, 'spent': info.get('spent')})


def ordered(lines: Sequence[dict[str, Any]], specs: Sequence[EpisodeSpec],
            ) -> list[dict[str, Any]]:
    """Lines of results in the order of the episodes, in whatever order they were committed."""
    place = {spec.episode_id: number for number, spec in enumerate(specs)}
    return sorted(lines, key=lambda line: place.get(line['episode_id'], len(place)))


def make_planner(settings: RunSettings) -> SymbolicPlanner:
    """The symbolic planner of a run."""
    from sightplan.planning.symbolic import FastDownwardPlanner, PlannerSettings
    return FastDownwardPlanner(PlannerSettings(search=settings.planner_search))


class _Spending:
    """Keeps in ``run.json`` what all sessions of a run spent on a backend that has caps.

    That is more than the lines of the episodes tell: what was spent on episodes that were broken
    off, or ended in an error and were repeated, is in it. What other processes spend on the run
    at the same time counts from one episode to the next.
    """

    def __init__(self, store: RunStore, backend: Backend | None) -> None:
        self._store = store
        self._backend = backend if hasattr(backend, 'carry_over') else None
        self._noted = Usage()
        self.begin()
        self.note()

    def begin(self) -> None:
        """Tell the backend what others have spent, towards its cap."""
        if self._backend is not None:
            cast(Any, self._backend).carry_over(self._read() - self._noted)

    def note(self) -> None:
        """Put on disk what was spent since the last time."""
        if self._backend is None or self._backend.usage is None:
            return
        usage = self._backend.usage
        with self._store.locked():
            self._store.note('spent', dataclasses.asdict(self._read() + (usage - self._noted)))
        self._noted = usage

    def _read(self) -> Usage:
        return Usage(**self._store.run_info().get('spent') or {})


def _goal_reached(spec: EpisodeSpec, truth: TruthSource) -> Callable[[], bool]:
    """Whether an episode's goal holds in the true state now: for the loop alone."""
    return lambda: spec.problem.goal_met(truth.state())


def _privileged(spec: EpisodeSpec, truth: TruthSource, domain: Domain,
                ) -> PrivilegedSource | None:
    """Who tells what is out of view: for the loop alone."""
    if spec.privileged is Privileged.NONE:
        return None
    return PrivilegedFacts(truth, spec, domain.worth_asking(spec.problem))


def _made(stack: ExitStack, thing: _Thing) -> _Thing:
    """The thing, which the stack will close if it can be closed."""
    close = getattr(thing, 'close', None)
    if callable(close):
        stack.callback(close)
    return thing
