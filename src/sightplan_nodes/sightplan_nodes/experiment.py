"""The node ``experiment``: walks the problems of a run, and shows how far it is."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sightplan_interfaces import msg
from sightplan_interfaces.action import RunEpisode, RunExperiment
from sightplan_interfaces.srv import (
    FinishRun,
    Ground,
    LoadProblem,
    ProposePlan,
    StartRun,
)
from std_srvs.srv import Trigger

from sightplan.agent import (
    answerer_class,
    answerer_settings,
    needs_grounder,
    needs_planner,
    needs_visual_planner,
    policy_settings,
)
from sightplan.console.progress import ProgressBar
from sightplan.console.results_table import show
from sightplan.domains import Domain
from sightplan.model import (
    BusyError,
    CancelledError,
    DeadlineError,
    EpisodeSpec,
    InfrastructureError,
    InputError,
    SightplanError,
    SpendingCapError,
    StoppedError,
    Usage,
    param,
    settings_fields,
)
from sightplan.model.option_pairs import parse_options
from sightplan.model.ports import Shown
from sightplan.model.redaction import without_secrets
from sightplan.records import RunStore, messages
from sightplan.runs import (
    EpisodePlan,
    Line,
    Progress,
    Refusals,
    RunSettings,
    default_out,
    identity,
    run,
    session,
    suite_reference,
    walk,
    why_useless,
)
from sightplan.runs.method_check import check_shown, warn_of_learned_problems
from sightplan.runs.protocols import apply, check_followed
from sightplan.runs.settings import OURS
from sightplan.runs.suite_finding import sample_suite
from sightplan_arm.config import ROBOT_HASH
from sightplan_arm.gate import GateSettings
from sightplan_nodes import names, qos
from sightplan_nodes.agent import check_truth
from sightplan_nodes.arm_side import ArmSettings
from sightplan_nodes.calls import ActionCaller, ParameterReader, ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.failures import BY_CODE, error_text, fill_error, guarded, raise_error
from sightplan_nodes.goals import RESULT_KEPT_S, OneGoal
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.remote_model import RosModel
from sightplan_nodes.spin import main as run_main
from sightplan_nodes.work import Worker

_NOT_PARAMETERS = ('backend', 'answers', 'planner_search', 'planner_timeout_s',
                   'grounder_timeout_s', 'propose_timeout_s', 'record', 'record_images',
                   'answers_log', 'failure_images', 'bags', 'bags_kept')
"""Fields of RunSettings that are other nodes' parameters, which are asked for them, and what goes
into files of its own in process: here the bags have it."""


_BUSY_AGAIN_S = 0.5
_STATUS_COMES_S = 2.0
_VIEWER_COMES_S = 15.0
_FINISH_S = 120.0
"""Limit for the recorder to summarise a run, however long it was [s]."""
_HARDWARE = f'{names.HARDWARE}/{names.SIM_BRIDGE}'


@dataclass(frozen=True, slots=True)
class ExperimentSettings:
    """Parameters of ``experiment``, besides the core's RunSettings."""

    world: str = param(names.SIM_BRIDGE, 'Node that is the world', choices=names.WORLDS)
    autostart: bool = param(True, 'Run at once what the parameters say, show the scores, '
                                  'and exit; '
                                  'otherwise wait for goals of ~/run_experiment')
    rerun: str = param('', 'Where rerun_viewer shows the run: the first picture waits until it '
                           'sees the world; empty: there is no viewer')
    startup_timeout_s: float = param(
        180.0, 'Limit for the other nodes to be ready (a model may be loading) [s]', low=0.1,
        high=3600.0)
    episode_timeout_s: float = param(600.0, 'Limit of one episode [s]', low=0.1, high=86400.0)
    reset_timeout_s: float = param(90.0, 'Limit for the world to take a problem [s]', low=0.1,
                                   high=3600.0)
    result_timeout_s: float = param(30.0, 'Limit for the recorder to commit an episode after its '
                                          'end [s]', low=0.1, high=3600.0)
    call_timeout_s: float = param(20.0, 'Limit of small service calls [s]', low=0.1, high=600.0)
    suite_options: str = param('', 'Settings of a suite of samples: key=value,... or JSON')
    method_options: str = param('', 'Settings of a method that answers samples: key=value,... or '
                                    'JSON; of episodes the agent has them')


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run.

    Attributes:
        summary: content of summary.json.
        error: what broke it off, or None.
    """

    summary: dict[str, Any]
    error: SightplanError | None = None


class ExperimentNode(Node):
    """Runs all episodes of a split or folder that are not recorded yet.

    Parameters: see ExperimentSettings and the core's RunSettings (those that are no other node's).
    Serves the action ``~/run_experiment`` (RunExperiment). It asks the recorder to open the run
    and which episodes it has, sends each missing one to ``agent/run_episode``, and waits until
    the recorder has committed its result. With ``autostart`` it ends with the exit codes of
    ``sightplan run``: 0 when done; 1 when the run failed (it was broken off, or an episode or a
    sample ended in an error and is not scored, or not one reply could be read); 2 when the
    settings are wrong.

    A suite of samples has no world and no episodes: the method runs in this node as it runs
    without ROS, asks the model of the node ``grounder``, and this node writes the results.
    """

    def __init__(self, **node_arguments: Any) -> None:
        """Start serving, and with ``autostart`` working."""
        super().__init__(names.EXPERIMENT, **node_arguments)
        self._settings = declare_settings(self, ExperimentSettings)
        self._run_settings = declare_settings(self, RunSettings, leave_out=_NOT_PARAMETERS)
        self.exit_code: int | None = None
        self.stop_signal = 0
        self._stop = threading.Event()
        self._goal = OneGoal()
        self._results: queue.SimpleQueue[msg.EpisodeResult] = queue.SimpleQueue()
        group = ReentrantCallbackGroup()
        self._agent = ActionCaller(self, RunEpisode, names.RUN_EPISODE, names.AGENT)
        self._start_run = ServiceCaller(self, StartRun, names.START_RUN, names.METRICS_RECORDER)
        self._world = self._settings.world
        self._load_problem = ServiceCaller(self, LoadProblem, names.load_problem(self._world),
                                           self._world)
        self._at, self._done, self._planned = '', 0, 0  # the run under way
        self._recorder = ''  # process that records it
        self._session = ''  # what its episodes bear
        self._arm: msg.ArmStatus | None = None  # the newest status, if an arm is the world
        self.create_subscription(msg.ArmStatus, names.arm_status(self._world), self._see_arm,
                                 qos.LATCHED, callback_group=group)
        self._finish_run = ServiceCaller(self, FinishRun, names.FINISH_RUN,
                                         names.METRICS_RECORDER)
        self._models = {
            names.GROUNDER: ServiceCaller(self, Ground, names.GROUND, names.GROUNDER),
            names.VLM_PLANNER: ServiceCaller(self, ProposePlan, names.PROPOSE_PLAN,
                                             names.VLM_PLANNER)}
        self._start_run_of = {node: ServiceCaller(self, StartRun, f'{node}/start_run', node,
                                                  repeatable=True)
                              for node in self._models}
        nodes = (self._world, names.SYMBOLIC_PLANNER, names.AGENT, names.METRICS_RECORDER,
                 *self._models, _HARDWARE)
        self._readers = {node: ParameterReader(self, node, self._settings.call_timeout_s)
                         for node in nodes}
        self.create_subscription(msg.EpisodeResult, names.EPISODE_RESULT, self._results.put,
                                 qos.RESULTS, callback_group=group)
        self._viewer = (self.create_client(Trigger, names.VIEWER_READY)
                        if self._settings.rerun else None)
        self._model = RosModel(self, names.GROUNDER, cancelled=self._cancelled,
                               start_run=self._start_run_of[names.GROUNDER])
        self._worker = Worker(self, names.EXPERIMENT)
        self._server = ActionServer(
            self, RunExperiment, '~/run_experiment',
            guarded(self, RunExperiment.Result, self._serve), callback_group=group,
            goal_callback=self._accept, handle_accepted_callback=self._goal.take,
            cancel_callback=lambda _: CancelResponse.ACCEPT, result_timeout=RESULT_KEPT_S)
        if self._settings.autostart:
            self._worker.submit(self._autostart)

    def close(self) -> None:
        """Leave the run as it is, to be taken up again.

        When somebody stops the experiment, the episode under way is cancelled and will be
        repeated. When the graph breaks down it is left alone: it is an error, and recorded so.
        """
        if self.stop_signal == signal.SIGTERM:
            return
        self._stop.set()
        self._worker.close(timeout_s=6.0)

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report the progress of the run; see ``Diagnosis``."""
        diagnosis.note(episode=self._at, episodes_done=self._done, episodes_planned=self._planned)

    def _see_arm(self, status: msg.ArmStatus) -> None:
        self._arm = status

    def _how_to_rearm(self) -> str:
        service = self.resolve_service_name(names.rearm(self._world))
        space = self.get_namespace()
        where = '' if space == '/' else f' --namespace {space.strip("/")}'
        where += '' if self._world == names.ARM_BRIDGE else f' --world {self._world}'
        return (f'r in the console of the operator (sightplan arm console{where}), or '
                f'ros2 service call {service} std_srvs/srv/Trigger')

    def _cancelled(self) -> bool:
        return self._stop.is_set() or self._goal.cancelled

    # Started by parameters.

    def _autostart(self) -> None:
        code = 1
        try:
            with ProgressBar() as bar:
                outcome = self.walk(self._run_settings, bar)
            if outcome.summary:
                show(outcome.summary)
                sys.stdout.flush()
            if outcome.error is not None:
                code = 2 if isinstance(outcome.error, InputError) else 1
                self._say(str(outcome.error))
                if outcome.summary:
                    self._say('broken off after {0} of {planned} {1}; started again with '
                              'out:={out} it goes on from there'.format(
                                  *_items(outcome.summary), **outcome.summary))
                if isinstance(outcome.error, StoppedError):
                    self._say(f'how to go on: see to the arm, start the same command again, and '
                              f're-arm it when asked: {self._how_to_rearm()}')
            elif useless := why_useless(outcome.summary):
                self._say(useless)
            elif outcome.summary['errors']:
                self._say('{errors} of {0} {1} ended in an error and are not scored; '
                          'started again with out:={out} it repeats them'.format(
                              *_items(outcome.summary), **outcome.summary))
            else:
                code = 0
        except InputError as error:
            self._say(str(error))
            code = 2
        except SightplanError as error:
            if not self._stop.is_set() and self.context.ok():  # else who ends it says why
                self._say(f'{type(error).__name__}: {error}')
        except Exception as error:
            self.get_logger().fatal(f'unexpected {error_text(error)}')
        self.exit_code = code
        if self.executor is not None:
            self.executor.wake()

    def _say(self, text: str) -> None:
        sys.stderr.write(f'experiment: {without_secrets(text)}\n')
        sys.stderr.flush()

    # Started by a goal.

    def _accept(self, goal: RunExperiment.Goal) -> GoalResponse:
        return GoalResponse.REJECT if self._settings.autostart else self._goal.accept(goal)

    async def _serve(self, handle: ServerGoalHandle) -> RunExperiment.Result:
        result = RunExperiment.Result()
        goal = handle.request
        settings = dataclasses.replace(
            self._run_settings, suite=goal.suite, domain=goal.domain, split=goal.split,
            problems=goal.problems_dir, domain_file=goal.domain_file, method=goal.method,
            protocol=goal.protocol or OURS,
            episodes=goal.episodes, seed=goal.seed, max_actions=goal.max_actions,
            failure_probability=goal.failure_probability,
            stop_at_goal=goal.stop_at_goal or 'suite', privileged=goal.privileged or 'suite',
            goal=goal.goal or 'suite')
        try:
            outcome = await self._worker.call(
                lambda: self.walk(settings, _FeedbackProgress(handle)))
        except Exception as error:
            handle.abort()
            fill_error(result, error)
            self.get_logger().error(result.error_msg)
            return result
        finally:
            self._goal.release()
        if outcome.summary:
            result.episodes, _ = _items(outcome.summary)
            result.errors = outcome.summary['errors']
            result.out = outcome.summary['out']
        if outcome.error is None and (useless := why_useless(outcome.summary)):
            outcome = Outcome(outcome.summary, InfrastructureError(useless))
        if outcome.error is None:
            handle.succeed()
            return result
        if handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return fill_error(result, outcome.error)

    # The run, in the worker's thread.

    def walk(self, settings: RunSettings, progress: Any) -> Outcome:
        """Run the items that are not recorded yet; see the class.

        Args:
            settings: of the run; backend and options of other nodes are asked of them.
            progress: the core's Progress.

        Raises:
            InputError: the settings are wrong, or the run directory holds another run.
            DeadlineError: a node is not there; names it.
            CancelledError: cancelled before the run was open.
        """
        settings.check()
        out = settings.out or default_out(settings)
        settings = dataclasses.replace(settings, out=os.path.abspath(os.path.expanduser(out)))
        if settings.suite:  # the recorder reads it, too
            settings = dataclasses.replace(settings, suite=suite_reference(settings.suite))
        if sample_suite(settings.suite, settings.split) is not None:
            return self._walk_samples(settings, progress)
        plan = EpisodePlan(settings)
        for spec in plan.items:
            check_truth(self._world, settings.method, spec.stop_at_goal, spec.privileged.value)
        models = _models(settings.method)
        settings, model, graph = self._ask_nodes(settings, models)
        check_followed(settings)
        warn_of_learned_problems(settings, plan.pairs)
        plan.say_whose_rules()
        reply = self.open_run(StartRun.Request(
            out=settings.out, resume=settings.resume, retry_errors=settings.retry_errors,
            run_json=json.dumps({
                'identity': identity(settings, plan.suite, plan.domain, plan.pairs, model),
                'session': {**session(settings), 'graph': graph}})),
            self._settings.call_timeout_s)
        self._recorder = self._process(names.EPISODE_RESULT)
        self._wait_for_viewer()
        folder, told = Path(reply.out), dict.fromkeys(models, '')

        def tell_models() -> None:
            """Tell models what the run has spent: also one that was started again meanwhile."""
            for node in models:
                process = self._process(names.SPENDING[node])
                if told[node] and process in ('', told[node]):
                    continue
                # One that was started again may have a model to load first.
                limit_s = (self._settings.startup_timeout_s if told[node]
                           else self._settings.call_timeout_s)
                self._start_run_of[node].checked(StartRun.Request(
                    out=reply.out, spent=_spent(folder, reply.spent)), limit_s, self._cancelled)
                told[node] = process or 'unknown'
        tell_models()
        progress.started(folder, RunStore(folder).lines(), len(plan.items), plan.skipped)
        self._done, self._planned = len(reply.committed), len(plan.items)
        broken: SightplanError | None = None
        begun = False
        check = (partial(check_shown, settings.backend, settings.method, settings.method_options)
                 if models else lambda shown: None)
        refusals = Refusals()
        missing: dict[str, str] = {}  # episodes without a line though others go on, and why

        def make(batch: Sequence[EpisodeSpec], _: Callable[[], bool]) -> Sequence[Line]:
            nonlocal broken, begun
            line: Line | None = None
            self._at = batch[0].id
            try:
                tell_models()
                line, error = self._episode(batch[0], plan.domain, wait_for_arm=not begun,
                                            check=check)
                begun = True
                self._done += line is not None
            except SightplanError as stopped:
                broken = stopped
            else:
                # A node that is silent now will not answer the next episode; a model whose limit
                # on spending is reached will not either, nor will an arm that was stopped move.
                if isinstance(error, (DeadlineError, CancelledError, StoppedError)):
                    broken = error
                elif line is None:
                    missing[batch[0].id] = str(error or 'it was cancelled')
                else:
                    try:
                        refusals.heed((line,))
                    except CancelledError as stopped:
                        broken = stopped
            return () if line is None else (line,)

        walk(plan.items, set(reply.committed), make, lambda line: None,  # the recorder commits
             cancelled=lambda: broken is not None, progress=progress.item)
        if missing and broken is None:
            first, why = next(iter(missing.items()))
            broken = InfrastructureError(f'{len(missing)} of the episodes left no result, such as '
                                         f'{first}: {why}')
        return self._finish(FinishRun.Request(
            planned=len(plan.items), problems=len(plan.pairs),
            problems_skipped=[messages.text(problem) for problem in plan.skipped],
            interrupted=broken is not None,
            stopped_by='' if broken is None or self._cancelled() else messages.text(str(broken))),
            broken)

    def _walk_samples(self, settings: RunSettings, progress: Any) -> Outcome:
        """Run the samples that are not recorded yet, with the model of the grounder.

        Raises:
            InputError: the settings are wrong, the model needs ground truth, or the run directory
                holds another run.
            DeadlineError: the grounder is not there.
        """
        mine = self._settings
        settings = dataclasses.replace(
            settings, suite_options=parse_options(mine.suite_options, 'suite_options'),
            method_options=parse_options(mine.method_options, 'method_options',
                                         type(answerer_settings(settings.method))))
        model: RosModel | None = None
        if answerer_class(settings.method).needs_model:
            model = self._model
            model.begin_run()
            model.wait_until_there(mine.startup_timeout_s)
            if model.traits.truth:
                raise InputError(f'{model.name} replies from the ground truth of a world, and '
                                 'samples have none: choose a model that looks at pictures')
            given = self._readers[names.GROUNDER].read(mine.startup_timeout_s, self._cancelled)
            model.recorded = bool(given.get('record'))
            options = json.loads(given['backend_settings'])
            if 'domain' not in parse_options(given['backend_options'],
                                             f'backend_options of {names.GROUNDER}'):
                options.pop('domain', None)  # of the node's own model; each sample has its own
            settings = dataclasses.replace(
                settings, backend=given['backend'], answers=given['answers'],
                backend_options=options)
        summary = run(settings, _Watched(self, progress), cancelled=self._cancelled,
                      backend=model)
        error: SightplanError | None = None
        if summary['interrupted']:
            stopped_by = summary['stopped_by']
            error = (SpendingCapError(stopped_by) if stopped_by
                     else CancelledError('the run was cancelled'))
        return Outcome(summary, error)

    def count(self, done: int, planned: int) -> None:
        """Keep for the diagnosis how many items of the run are done, and how many it has."""
        self._done, self._planned = done, planned

    def open_run(self, request: StartRun.Request, timeout_s: float) -> StartRun.Response:
        """Have the recorder open a run, whose episodes ``_episode`` then sends.

        Waits for an episode that nobody waits for any more: its agent ends it by itself.

        Raises:
            BusyError: an episode is still under way when the time is over.
            InputError: the folder holds another run.
            DeadlineError: the recorder is silent.
            CancelledError: cancelled meanwhile.
        """
        end_s = time.monotonic() + timeout_s
        while True:
            try:
                left_s = max(_BUSY_AGAIN_S, end_s - time.monotonic())
                reply = self._start_run.checked(request, left_s, self._cancelled)
                break
            except BusyError:
                if time.monotonic() >= end_s:
                    raise
                time.sleep(_BUSY_AGAIN_S)
        self._session = reply.session
        return reply

    def _process(self, topic: str) -> str:
        """Id of the process of a node, new for each start of the node; '': unknown.

        Args:
            topic: that only this node publishes.
        """
        return ' '.join(sorted(bytes(end.endpoint_gid).hex() for end in
                               self.get_publishers_info_by_topic(topic)))

    def _finish(self, request: FinishRun.Request, broken: SightplanError | None) -> Outcome:
        if self._stop.is_set():
            return Outcome({}, broken)  # the recorder, which is stopped too, writes the summary
        try:
            self._finish_run.wait_until_there(self._settings.call_timeout_s)
            reply = self._finish_run.checked(request, _FINISH_S)
        except SightplanError as error:
            return Outcome({}, broken or error)
        return Outcome(json.loads(reply.summary_json), broken)

    def _ask_nodes(self, settings: RunSettings, models: Sequence[str],
                   ) -> tuple[RunSettings, str, dict[str, dict[str, Any]]]:
        """Wait for the nodes and ask them what they were started with.

        Returns:
            The settings with the other nodes' in them, the model's name, all nodes' parameters.

        Raises:
            InputError: a model was made for another domain; says what to do.
            DeadlineError: a node is not there; names it.
        """
        limit_s = self._settings.startup_timeout_s
        others = [self._world, names.AGENT, names.METRICS_RECORDER]
        if needs_planner(settings.method):
            others.append(names.SYMBOLIC_PLANNER)
        self._start_run.wait_until_there(limit_s, self._cancelled)
        self._agent.wait_until_there(limit_s, self._cancelled)
        for node in models:
            self._models[node].wait_until_there(limit_s, self._cancelled)
        graph = {node: self._readers[node].read(limit_s, self._cancelled)
                 for node in (*others, *models)}
        agent = graph[names.AGENT]
        for node, given in graph.items():
            if given.get('world', self._world) != self._world:
                raise InputError(f'the world is {self._world}, but for {node} it is '
                                 f'{given["world"]}: start both with the same world:=')
        for node in (names.AGENT, *(node for node in models if node == names.VLM_PLANNER)):
            if graph[node].get('prompts', '') != settings.prompts:
                raise InputError(f'the prompts of the experiment are {settings.prompts!r}, but '
                                 f'for {node} they are {graph[node].get("prompts", "")!r}: start '
                                 'both with the same prompts:=')
        if graph[self._world].get('hardware') == names.SIMULATED:
            graph[_HARDWARE] = self._readers[_HARDWARE].read(limit_s, self._cancelled)
        unasked = apply(settings)  # what no node has for the method, such as how answers are read
        changes: dict[str, Any] = {
            'answers': unasked.answers, 'planner_search': unasked.planner_search,
            'world_options': world_options(self._world, graph),
            'method_options': parse_options(
                agent['method_options'], 'method_options of agent',
                type(policy_settings(settings.method))),
            'planner_timeout_s': agent['plan_timeout_s'],
            'grounder_timeout_s': agent['ground_timeout_s'],
            'propose_timeout_s': agent['propose_timeout_s']}
        if names.SYMBOLIC_PLANNER in graph:
            changes['planner_search'] = graph[names.SYMBOLIC_PLANNER]['search']
        model = ''
        for node in models:
            given = graph[node]
            served = given.get('model_domain', '')
            if served not in ('', settings.domain):
                raise InputError(
                    f"{node}'s model {given['model']} was made for domain {served!r}, and the "
                    f'experiment is about {settings.domain!r}: start {node} with '
                    f'domain:={settings.domain}, or with a model for any domain')
            model, changes['backend'] = given['model'], given['backend']
            changes['backend_options'] = json.loads(given['backend_settings'])
            changes['answers'] = given.get('answers', unasked.answers)
        return dataclasses.replace(settings, **changes), model, graph

    def _wait_for_viewer(self) -> None:
        """Give a viewer time to find the world, whose first picture it shall show.

        It has a service for saying so, which is there only then.
        """
        end_s = time.monotonic() + _VIEWER_COMES_S
        while (self._viewer is not None and not self._cancelled()
               and not self._viewer.service_is_ready()):
            if time.monotonic() >= end_s:
                self.get_logger().warning(
                    f'{names.RERUN_VIEWER} has not found {self._world} within '
                    f'{_VIEWER_COMES_S:g} s: it may not show the first pictures')
                return
            time.sleep(0.02)

    def _episode(self, spec: EpisodeSpec, domain: Domain, wait_for_arm: bool,
                 check: Callable[[Shown], None],
                 ) -> tuple[dict[str, Any] | None, SightplanError | None]:
        """Run one episode; returns its committed line, and the error that ended it, if any.

        The world is given the whole problem, the agent all but its initial state.

        Args:
            spec: the episode.
            domain: its domain.
            wait_for_arm: whether to wait for a person to re-arm a robot that was stopped.
            check: raises an InputError if the model cannot work from what the world shows.

        Raises:
            InputError: the model cannot work from what the world shows.
            DeadlineError: world, agent or recorder is silent.
            CancelledError: cancelled.
            StoppedError: the robot was stopped and waits for a person.
            SightplanError: the episode could not even be started.
        """
        problem = spec.problem
        request = LoadProblem.Request(
            episode_id=spec.id, domain=problem.domain, problem=problem.name,
            domain_pddl=problem.domain_pddl, problem_pddl=domain.write_problem(problem),
            seed=spec.seed, failure_probability=spec.failure_probability,
            privileged=spec.privileged.value, pictured_goal=spec.pictured_goal)
        reply = self._load_problem(request, self._settings.reset_timeout_s, self._cancelled)
        if (wait_for_arm and BY_CODE.get(reply.error_code) is StoppedError
                and self._is_rearmed(reply.error_msg)):
            reply = self._load_problem(request, self._settings.reset_timeout_s, self._cancelled)
        if BY_CODE.get(reply.error_code) is StoppedError:  # no episode can begin
            raise_error(reply, self._world)
        check(Shown(reply.no_pictures, reply.describes))
        # What else is wrong, the agent meets as well, when it begins: it goes on record there.
        with contextlib.suppress(queue.Empty):
            while True:
                self._results.get_nowait()  # of earlier attempts at episodes of the same name
        goal = messages.fill_spec(
            RunEpisode.Goal(), spec, domain.write_problem(
                problem.for_agent(spec.pictured_goal)))
        goal.session = self._session
        result = self._agent(goal, self._settings.episode_timeout_s, self._cancelled)
        error: SightplanError | None = None
        try:
            raise_error(result, names.AGENT)
        except SpendingCapError as caught:
            error = caught
        except CancelledError as caught:
            if self._cancelled():
                raise
            error = InfrastructureError(f'the episode was cancelled by someone else: {caught}')
        except SightplanError as caught:
            if not result.stop_reason:  # it did not start, so that nothing will be committed
                raise
            error = caught
        line = self._await_result(spec.id)
        return (line if line['stop'] != 'cancelled' else None), error

    def _is_rearmed(self, said: str) -> bool:
        """Wait for a person to re-arm an arm that was stopped before this run began.

        Args:
            said: by the world about the stop.

        Raises:
            CancelledError: cancelled meanwhile.
        """
        asked, sure_s = False, time.monotonic() + _STATUS_COMES_S
        topic = names.arm_status(self._world)
        for _ in _ticks(self._settings.startup_timeout_s, self._cancelled):
            arm = self._arm
            stopped = arm is not None and arm.state == msg.ArmStatus.STOPPED
            if not stopped and (asked or time.monotonic() > sure_s):
                return asked and arm is not None  # else it is not the arm's gate that refuses
            if asked and not self.count_publishers(topic):
                return False
            if not asked and stopped:
                asked = True
                self._say(f'{said}. Waiting up to {self._settings.startup_timeout_s:g} s for a '
                          f'person to re-arm it: {self._how_to_rearm()}')
            time.sleep(0.1)
        return False

    def _await_result(self, episode_id: str) -> dict[str, Any]:
        """The line of results, once the recorder has committed it.

        Raises:
            DeadlineError: it did not come in time.
            InfrastructureError: the recorder is not the one that opened the run: another one does
                not know of it, and does not record it.
        """
        for _ in _ticks(self._settings.result_timeout_s, self._cancelled):
            try:
                result = self._results.get(timeout=0.1)
            except queue.Empty:
                recorders = set(self._process(names.EPISODE_RESULT).split())
                self._recorder = self._recorder or ' '.join(recorders)
                # Unseen, it may come back; one that was killed before leaves late.
                if not recorders <= set(self._recorder.split()):
                    raise InfrastructureError(
                        f'{names.METRICS_RECORDER} has ended, or was started again, since the '
                        f'run began; {episode_id} is not recorded. The same command goes on'
                    ) from None
                continue
            if result.episode_id == episode_id:
                line: dict[str, Any] = json.loads(result.result_json)
                return line
        raise DeadlineError(
            f'{names.METRICS_RECORDER} did not commit the result of {episode_id} within '
            f'{self._settings.result_timeout_s:g} s; it hangs or has died')


def world_options(world: str, graph: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Options of the world for the records: all that changes results.

    Args:
        world: the node that is the world.
        graph: parameters by node; with those of the simulated hardware, if that is there.

    Raises:
        InputError: its options cannot be read.
    """
    given = graph[world]
    if world == names.ARM_BRIDGE:
        options = {'world': world, 'hardware': given['hardware'], **_arm_settings(given)}
        if _HARDWARE in graph:
            options['simulator'] = world_options(_HARDWARE, graph)
        return options
    options = parse_options(given['world_options'], f'world_options of {world}')
    if given.get('execution', names.SYMBOLIC) != names.SYMBOLIC:
        options.update(_arm_settings(given), execution=given['execution'])
    options.update({key: given[f'camera.{key}'] for key in ('width', 'height')
                    if given[f'camera.{key}']})
    return options


def _arm_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the robot, and the settings of gate and skills that differ from their defaults.

    Where a stop is kept changes no result.
    """
    defaults = {**{field.name: field.default for field in settings_fields(ArmSettings)
                   if field.name != 'latch_file'},
                **{f'gate.{field.name}': field.default for field in settings_fields(GateSettings)}}
    defaults[ROBOT_HASH] = ''
    return {key: given[key] for key, default in defaults.items()
            if given.get(key, default) != default}


def _spent(folder: Path, otherwise: msg.Usage) -> msg.Usage:
    """Cost of a run by its records; ``otherwise`` where these are on another machine."""
    with contextlib.suppress(InputError):
        spent = RunStore(folder).run_info().get('spent')
        if spent is not None:
            return MESSAGES.usage_to_msg(Usage(**spent))
    return otherwise


def _models(method: str) -> list[str]:
    """Names of the nodes with a model that a method needs."""
    needed = {names.GROUNDER: needs_grounder(method),
              names.VLM_PLANNER: needs_visual_planner(method)}
    return [node for node in needed if needed[node]]


def _ticks(limit_s: float, cancelled: Callable[[], bool]) -> Any:
    """Yield until a time has passed.

    Raises:
        CancelledError: cancelled meanwhile.
    """
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if cancelled():
            raise CancelledError('cancelled while waiting for a result')
        yield


def _items(summary: Mapping[str, Any]) -> tuple[int, str]:
    """Return the number of items of a summary, and their kind in words."""
    episodes = summary['episodes']
    return (summary['items'], 'samples') if episodes is None else (episodes, 'episodes')


class _Watched:
    """Progress of a run of samples that the node's diagnosis counts, too."""

    def __init__(self, node: ExperimentNode, progress: Progress) -> None:
        self._node, self._progress = node, progress
        self._done = self._planned = 0

    def started(self, out: Path, done: Sequence[Any], total: int, skipped: Sequence[str]) -> None:
        self._done, self._planned = len(done), total
        self._node.count(self._done, self._planned)
        self._progress.started(out, done, total, skipped)

    def item(self, line: Any) -> None:
        self._done += 1
        self._node.count(self._done, self._planned)
        self._progress.item(line)


class _FeedbackProgress:
    """The core's Progress as feedback of the action."""

    def __init__(self, handle: ServerGoalHandle) -> None:
        self._handle = handle
        self._feedback = RunExperiment.Feedback()
        self._began, self._done = time.monotonic(), 0

    def started(self, out: Path, done: Sequence[Any], total: int, skipped: Sequence[str]) -> None:
        self._feedback.done, self._feedback.total = len(done), total
        self._handle.publish_feedback(self._feedback)

    def item(self, line: Any) -> None:
        feedback = self._feedback
        feedback.done, self._done = feedback.done + 1, self._done + 1
        feedback.episode_id = line['id']
        pace_s = (time.monotonic() - self._began) / self._done
        feedback.eta_s = pace_s * (feedback.total - feedback.done)
        self._handle.publish_feedback(feedback)


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(ExperimentNode, args)
