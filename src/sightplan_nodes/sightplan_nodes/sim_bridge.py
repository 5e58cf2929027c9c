"""The node ``sim_bridge``: a simulated world behind the names a real robot uses."""

from __future__ import annotations

import bisect
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image
from sightplan_interfaces.srv import GetState, GetView, LoadProblem, ResetWorld

from sightplan.agent import FactsFromTruth
from sightplan.domains import Domain, domain_reference, find_problem, load_domain
from sightplan.model import (
    GOAL_NS,
    Action,
    Atom,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    GoalView,
    InputError,
    Observation,
    Privileged,
    State,
    TruthSource,
    World,
    WorldError,
    param,
    settings_fields,
)
from sightplan.model.option_pairs import parse_options
from sightplan.model.ports import (
    CalibratedWorld,
    CameraUncertainty,
    ContinuedWorld,
    PosedWorld,
    PracticeTable,
    Shown,
    draws_labels,
    shown_by,
)
from sightplan.model.query import close
from sightplan.records import messages
from sightplan.runs import make_world
from sightplan_arm.camera_pose import CameraPose
from sightplan_arm.gate import GateSettings
from sightplan_arm.pace import Pace
from sightplan_nodes import conversions, names, qos
from sightplan_nodes.arm_side import ArmSettings, ArmSide
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.failures import BY_CODE, error_text, fill_error, guarded
from sightplan_nodes.frames import EXACT, WORLD
from sightplan_nodes.memory import FreedMemory
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.simulated_hardware import SimulatedHardware
from sightplan_nodes.spin import main as run_main
from sightplan_nodes.world_node import WorldNode

_HISTORY = 4096


@dataclass(frozen=True, slots=True)
class SimBridgeSettings:
    """Parameters of ``sim_bridge``."""

    domain: str = param('', 'Domain whose world is made at the start; empty: with the first '
                            'problem')
    problem: str = param('', 'Problem of that domain that is set up at the start, SPLIT/NAME or a '
                             'file; empty: none, until one is loaded')
    world_options: str = param('', 'Further settings of the world: key=value,... or JSON')
    reset_timeout_s: float = param(60.0, 'Wall-clock limit of one reset [s]', low=0.1,
                                   high=3600.0)
    execution: str = param(names.SYMBOLIC, 'How skills are carried out: they just happen (or fail '
                           "with the episode's probability), or a simulated arm moves, and "
                           'physics', choices=(names.SYMBOLIC, names.ARM))
    driven: bool = param(False, 'Whether others move the simulated arm, through the topics of its '
                         'controllers; otherwise that begins when one of them appears')
    lockstep: bool = param(False, "Whether a simulated arm's time waits for late nodes, so "
                           'that a busy machine slows it down instead of ending motions')
    clock_hz: float = param(50.0, 'Rate of /clock [Hz]', low=1.0, high=1000.0)


@dataclass(frozen=True, slots=True)
class CameraSettings:
    """Parameters of ``sim_bridge`` under ``camera.``."""

    width: int = param(0, "Width of the image [px]; 0: the world's default", low=0, high=4096)
    height: int = param(0, "Height of the image [px]; 0: the world's default", low=0, high=4096)
    rate_hz: float = param(10.0, 'Rate at which the image is repeated [Hz]; a change of the scene '
                           'is published at once', low=0.1, high=240.0)


class SimWorld(World, TruthSource, Protocol):
    """A simulated world, which implements two ports.

    One that draws labels into its pictures is also a ``LabellingWorld``, and one that knows the
    calibration of its pictures a ``CalibratedWorld``.
    """


@dataclass(frozen=True, slots=True)
class Moment:
    """The world from one time on, until the next moment.

    Attributes:
        stamp_ns: world time at which it begins [ns].
        episode_id: whose it is.
        state: what is true.
        outcome: what became of the last action.
        seen: the observation of it, without pictures.
        privileged: when the episode grants facts about what is out of view.
        facts: these facts; None where they are not granted.
    """

    stamp_ns: int
    episode_id: str
    state: State
    outcome: str
    seen: Observation = field(default_factory=Observation)
    privileged: Privileged = Privileged.NONE
    facts: Mapping[Atom, bool] | None = None


class _Episode:
    """The episode that the world shows, and what it grants to the agent."""

    def __init__(self, world: SimWorld, spec: EpisodeSpec, domain: Domain) -> None:
        self.world, self.spec = world, spec
        self.moved = False
        granted = spec.privileged is not Privileged.NONE
        self._facts = (FactsFromTruth(world, spec, domain.worth_asking(spec.problem))
                       if granted else None)

    def scene(self, outcome: str = '') -> tuple[Observation, Moment]:
        """The picture and the true state of the world now; not stamped yet.

        Raises:
            WorldError: the world does not show itself, or otherwise than it says.
        """
        seen = self.world.observe()
        if seen.image is None and not seen.text:
            raise WorldError('the world gave neither image nor text')
        if seen.unlabelled is not None and not draws_labels(self.world):
            raise WorldError('the world labels its pictures, but has no attribute labels = True')
        granted = self.spec.privileged.grants(self.moved)
        facts = self._facts.provide(seen) if self._facts is not None and granted else None
        return seen, Moment(
            0, self.spec.id, self.world.state(), outcome,
            Observation(visible_objects=seen.visible_objects, text=seen.text),
            self.spec.privileged, facts)


def _uncalibrated(shape: tuple[int, ...], frame_id: str) -> CameraInfo:
    """The message of sensor_msgs for a camera that is not calibrated: K is zero."""
    info = CameraInfo(height=shape[0], width=shape[1])
    info.header.frame_id = frame_id
    return info


def _goal(world: SimWorld) -> tuple[Observation, State]:
    """The picture of the goal, and what is true there.

    Raises:
        WorldError: the world shows no goals.
    """
    if not isinstance(world, GoalView):
        raise WorldError(f'{type(world).__name__} cannot show a goal as a picture '
                         '(set goal:=told)')
    return world.goal_observation(), world.state(GOAL_NS)


@dataclass(frozen=True, slots=True)
class _Frame:
    """The messages that the camera's topics repeat.

    Attributes:
        info, raw, labelled, depth: the messages.
        hangs: where the camera hangs, as ``Frames.move`` takes it; None if that is not known, or
            the arm's frames say it.
    """

    info: CameraInfo
    raw: Image
    labelled: Image | None
    depth: Image | None
    hangs: dict[str, tuple[str, NDArray[np.float64]]] | None


class History:
    """The true states by world time, which comes from the node's own clock."""

    def __init__(self, limit: int = _HISTORY) -> None:
        """Keep the last ``limit`` moments."""
        self._limit = limit
        self._moments: list[Moment] = []
        self._lock = threading.Lock()

    def append(self, moment: Moment) -> None:
        """Add a moment later than all others."""
        with self._lock:
            self._moments.append(moment)
            del self._moments[:-self._limit]

    def note(self, moment: Moment) -> None:
        """Add a moment of the episode under way, if it tells something new."""
        with self._lock:
            last = self._moments[-1] if self._moments else None
            if (last is not None and last.episode_id == moment.episode_id
                    and last.stamp_ns < moment.stamp_ns and last.state != moment.state):
                self._moments.append(moment)
                del self._moments[:-self._limit]

    def at(self, stamp_ns: int, now_ns: int) -> Moment:
        """The moment at a world time; 0 is now.

        Raises:
            WorldError: nothing is known of that time.
        """
        if not self._moments:
            raise WorldError('nothing has been simulated yet; call ~/load_problem first')
        if stamp_ns == 0:
            return self._moments[-1]
        if stamp_ns > now_ns:
            raise WorldError(f'world time {stamp_ns} ns is in the future (it is {now_ns} ns)')
        index = bisect.bisect_right(self._moments, stamp_ns, key=lambda m: m.stamp_ns) - 1
        if index < 0:
            raise WorldError(f'world time {stamp_ns} ns is before the first known moment '
                             f'({self._moments[0].stamp_ns} ns)')
        return self._moments[index]


class SimBridge(WorldNode):
    """A simulated world.

    Parameters: see SimBridgeSettings and, under ``camera.``, CameraSettings; with
    ``execution:=arm`` also those of ArmSide, which are refused without. With an arm a wrong robot,
    or wrong settings of its skills, end the node with exit code 2 at the start.

    Offers what WorldNode does, ``/clock``, ``~/get_state`` (GetState: ground truth, for metrics
    and oracles only) and ``~/provide_facts`` (GetView: facts about what is out of view, as
    far as the episode grants them); with ``execution:=arm`` also what ArmSide does.

    World time starts near zero, runs with the wall clock and never goes back, also not at a
    reset.
    """

    def __init__(self, make_world: Callable[[str, dict[str, Any]], Any] = make_world,
                 **node_arguments: Any) -> None:
        """Start publishing; the world is made for the first problem at the latest.

        Args:
            make_world: domain name and options to world.
            **node_arguments: passed on to rclpy's Node.
        """
        super().__init__(names.SIM_BRIDGE, **node_arguments)
        self._settings = declare_settings(self, SimBridgeSettings)
        self._camera = declare_settings(self, CameraSettings, prefix='camera.')
        size = {'width': self._camera.width, 'height': self._camera.height}
        given = parse_options(self._settings.world_options, 'world_options')
        for name, remedy in _NOT_OPTIONS.items():
            if name in given:
                raise InputError(f'{names.SIM_BRIDGE}: {name} is none of its world_options: '
                                 f'{remedy}')
        self._options = {**{key: value for key, value in size.items() if value}, **given}
        self.exit_code: int | None = None
        if self._settings.execution == names.ARM:
            self._side: ArmSide | None = ArmSide(self)
        else:
            self._side = None
            _refuse_settings_of_arms(self)
        self._hardware: SimulatedHardware | None = None
        self._attaching, self._closed = threading.Lock(), False
        if self._side is not None:
            # Who watches over the arm re-arms it, not a reset.
            self._options = {**self._options, 'execution': names.ARM,
                             'robot': self._side.settings.robot, 'rearm': False}
        self._make_world = make_world
        self._worlds: dict[str, SimWorld] = {}
        self._memory = FreedMemory()
        self._episode: _Episode | None = None
        self._history = History()
        self._shown_goal: tuple[Observation, State] | None = None
        self._goal_pub = self.create_publisher(Image, names.GOAL_IMAGE, qos.LATCHED)
        self._frame: _Frame | None = None
        self._born_ns = time.monotonic_ns() - 10**9
        self._clock_pub = self.create_publisher(Clock, names.CLOCK, qos.CLOCK)
        self.open(self._settings.reset_timeout_s)
        for kind, name, fill in ((GetState, '~/get_state', _fill_state),
                                 (GetView, '~/provide_facts', _fill_facts)):
            self.create_service(kind, name, guarded(self, kind.Response, self._answerer(fill)),
                                callback_group=self.group)
        self.create_timer(1.0 / self._settings.clock_hz, self._tick)
        self.create_timer(1.0 / self._camera.rate_hz, self._repeat)
        if self._settings.domain:
            if not self._settings.problem:  # which else makes the world, and says why it cannot
                self.worker.submit(self._prepare)
            else:
                request = _request(load_domain(self._settings.domain), self._settings.problem)
                self._first = self.create_timer(0.0, partial(self._set_up_first, request))
        elif self._settings.problem:
            raise InputError(f'{names.SIM_BRIDGE}: problem is {self._settings.problem!r}, but of '
                             'no domain: name one, domain:=...')

    def close(self) -> None:
        """Let go of the world."""
        if self._side is not None:
            self._side.close()
        with self._attaching:
            self._closed = True
        if self._hardware is not None:
            self._hardware.close()
        for world in self._worlds.values():
            self.worker.submit(partial(close, world))
        self.worker.close()

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report also the state of the arm; see the base class."""
        super().diagnose(diagnosis)
        diagnosis.note(world_s=self.now_ns() / 1e9)
        if self._side is not None:
            self._side.diagnose(diagnosis)

    def now_ns(self) -> int:
        """World time [ns]."""
        return time.monotonic_ns() - self._born_ns

    # The callbacks, in the executor's thread.

    def _tick(self) -> None:
        self._clock_pub.publish(Clock(clock=MESSAGES.time_to_msg(self.now_ns())))

    def _repeat(self) -> None:
        if self._frame is not None and not self._driven:
            self._publish(self.now_ns())

    @property
    def _driven(self) -> bool:
        """Whether other nodes move the arm, so that pictures are live."""
        return self._hardware is not None and self._hardware.driven

    def cancelled(self, why: str) -> None:
        """Hold the arm, if there is one: what else is under way comes to its end."""
        if self._side is not None:
            self._side.cancelled(why)

    def view(self, request: GetView.Request, response: GetView.Response) -> GetView.Response:
        """The objects in view at a world time."""
        return self._answerer(_fill_view)(request, response)

    def _answerer(self, fill: Callable[[Moment, Any], None]) -> Callable[[Any, Any], Any]:
        """Return a service callback about the world at a ``stamp``; ``fill`` fills the reply."""
        def answer(request: Any, response: Any) -> Any:
            try:
                stamp_ns = messages.time_from_msg(request.stamp)
                moment = self._history.at(0 if stamp_ns == GOAL_NS else stamp_ns, self.now_ns())
                if stamp_ns == GOAL_NS:
                    moment = self._at_goal(moment)
                fill(moment, response)
            except WorldError as error:
                return fill_error(response, error)
            return response
        return answer

    def _at_goal(self, moment: Moment) -> Moment:
        """The true state at the goal.

        Raises:
            WorldError: the episode does not show its goal.
        """
        if self._shown_goal is None:
            raise WorldError('the goal of this episode is told, not shown')
        shown, state = self._shown_goal
        return replace(moment, state=state, outcome='', facts=None, seen=Observation(
            visible_objects=shown.visible_objects, text=shown.text))

    def _show(self, world: SimWorld, seen: Observation, moment: Moment) -> int:
        """Publish a changed scene at once; returns the world time from which on it is shown."""
        stamp_ns = self.now_ns()
        self._history.append(replace(moment, stamp_ns=stamp_ns))
        if seen.image is None:  # in words alone, which ~/get_view has
            self._frame = None
            return stamp_ns
        info = (MESSAGES.camera_info_to_msg(world.camera_info())
                if isinstance(world, CalibratedWorld)
                else _uncalibrated(seen.image.shape, seen.frame_id))
        own_frame = info.header.frame_id
        frame_id = info.header.frame_id = self.frames.named(own_frame)
        hangs = (world.camera_pose() if self._side is None and isinstance(world, PosedWorld)
                 else None)
        raw = seen.image if seen.unlabelled is None else seen.unlabelled
        self._frame = _Frame(
            info, MESSAGES.image_to_msg(raw, stamp_ns, frame_id),
            MESSAGES.image_to_msg(seen.image, stamp_ns, frame_id)
            if draws_labels(world) else None,
            None if seen.depth_m is None
            else conversions.depth_to_msg(seen.depth_m, stamp_ns, frame_id),
            None if hangs is None else {own_frame: (WORLD, hangs)})
        if hangs is not None:
            self.frames.show_camera(stamp_ns, WORLD, CameraPose(hangs, EXACT))
        self._publish(stamp_ns)
        return stamp_ns

    def _publish(self, stamp_ns: int) -> None:
        frame = self._frame
        assert frame is not None
        frame.info.header = MESSAGES.header(stamp_ns, frame.info.header.frame_id)
        self.info_pub.publish(frame.info)
        if frame.hangs is not None:
            self.frames.move(stamp_ns, frame.hangs)
        for publisher, image in ((self.image_pub, frame.raw),
                                 (self.labelled_pub, frame.labelled),
                                 (self.depth_pub, frame.depth)):
            if image is not None and publisher.get_subscription_count():
                image.header = frame.info.header
                publisher.publish(image)

    # What touches the world, in the worker's thread.

    def _prepare(self) -> None:
        """Make the domain's world; errors show with the first problem.

        With an arm wrong input ends the node.
        """
        domain = self._settings.domain
        try:
            self._world(domain)
        except Exception as error:
            self.get_logger().error(
                f'the world of {domain!r} cannot be made: {error_text(error)}')
            if self._side is not None and isinstance(error, InputError):
                self.exit_code = 2

    async def _set_up_first(self, request: LoadProblem.Request) -> None:
        """Set up the problem that is there from the start; wrong input ends the node."""
        self._first.cancel()
        response = await self._load_problem(request, LoadProblem.Response())
        if issubclass(BY_CODE.get(response.error_code, WorldError), InputError):
            self.exit_code = 2

    def _world(self, domain: str) -> SimWorld:
        """The domain's world, made when it is first wanted.

        Raises:
            InputError: it has no arm, and one was asked for.
        """
        domain = domain_reference(domain)
        if domain not in self._worlds:
            world = self._make_world(domain, self._options)
            self._worlds[domain] = world  # which is closed with the node, whatever comes
            if self._side is not None:
                try:
                    self._attach(domain, world)
                except Exception:
                    del self._worlds[domain]
                    close(world)
                    raise
        return self._worlds[domain]

    def _attach(self, domain: str, world: Any) -> None:
        """Put the world's arm behind this node's names."""
        assert self._side is not None
        self._refuse_when_closed()
        if self._hardware is not None:
            raise InputError(f'the arm is in the world of {next(iter(self._worlds))}; start '
                             f'another {names.SIM_BRIDGE} for {domain}')
        pace = Pace(world.arm.now_s) if self._settings.lockstep else None
        world.gate, world.skills = self._side.attach(
            domain, world.arm, world.camera, world.camera.image_age_s, pace=pace,
            camera_frame=world.camera_info().frame_id,
            camera_covariance=(world.camera_covariance() + EXACT
                               if isinstance(world, CameraUncertainty) else None))
        if pace is not None:
            world.arm.until_s = pace.until_s
        with self._attaching:
            self._refuse_when_closed()
            self._hardware = SimulatedHardware(
                self, world, self._side, self._camera.rate_hz, self.now_ns, self._look_back,
                self._settings.lockstep)
        if self._settings.driven:
            self._hardware.leave_to_others()

    def _refuse_when_closed(self) -> None:
        if self._closed:  # while the world was built
            raise WorldError(f'{self.get_name()} was stopped')

    def _look_back(self, stamp_ns: int, state: State) -> None:
        """Note what was true at a time, if it has changed."""
        episode = self._episode
        if episode is not None:
            self._history.note(Moment(stamp_ns, episode.spec.id, state, ''))

    def build(self, problem: LoadProblem.Request) -> Callable[[], None]:
        """Reset the world to a problem; contract in the base class."""
        domain, read = messages.read_problem(problem)
        spec = EpisodeSpec(problem.episode_id, read, '', seed=problem.seed,
                           failure_probability=problem.failure_probability,
                           privileged=messages.privileged_from_msg(problem.privileged),
                           pictured_goal=problem.pictured_goal)
        world = self._world(problem.domain)
        if self._driven:
            return self._set_up(world, spec, domain)
        if self._side is None:
            self._memory.give_back()
            world.reset(spec)
        else:
            self._side.reset(spec.id, lambda: world.reset(spec))
        episode = self._episode = _Episode(world, spec, domain)
        self._shown_goal = _goal(world) if spec.pictured_goal else None
        scene = episode.scene()

        def show() -> None:
            self._show(world, *scene)
        return show

    def _set_up(self, world: SimWorld, spec: EpisodeSpec, domain: Domain) -> Callable[[], None]:
        """Reset a world whose arm others move, and which shows itself by its live pictures."""
        assert self._hardware is not None
        self._episode = None
        if isinstance(world, PracticeTable):  # nobody puts things onto a simulated table
            spec = replace(spec, problem=world.with_start(spec.problem))
        world.reset(spec)
        self._episode = _Episode(world, spec, domain)
        stamp_ns = self.now_ns()
        self._history.append(Moment(stamp_ns, spec.id, world.state(), ''))
        self._hardware.wait_for_picture(stamp_ns, self._settings.reset_timeout_s)
        return lambda: None

    def carry_on(self, request: ResetWorld.Request,
                 ) -> tuple[LoadProblem.Request, Callable[[], None]]:
        """Begin an episode with all things where they are; contract in the base class."""
        episode = self._episode
        if episode is None or self._problem is None:
            raise WorldError('there is nothing in this world yet: start it with a problem '
                             '(problem:=SPLIT/NAME), or call ~/load_problem first')
        if request.domain and domain_reference(request.domain) != self._problem.domain:
            raise InputError(f'this world is of domain {self._problem.domain}, not '
                             f'{request.domain}')
        domain, read = messages.read_problem(self._problem)
        if request.problem_pddl:
            _, wanted = messages.read_problem(request)
            if unknown := sorted(set(wanted.objects) - set(read.objects)):
                raise InputError(f'there is no {", ".join(unknown)} in this world; there are '
                                 f'{", ".join(read.objects)}')
        if self._side is not None and isinstance(episode.world, ContinuedWorld):
            self._side.reset(request.episode_id, episode.world.carry_on)
        self._episode = episode = _Episode(episode.world, replace(
            episode.spec, id=request.episode_id, failure_probability=0.0, pictured_goal=False,
            privileged=Privileged.NONE), domain)
        self._shown_goal = None
        problem = LoadProblem.Request(
            episode_id=request.episode_id, domain=self._problem.domain,
            problem=self._problem.problem, domain_pddl=self._problem.domain_pddl,
            problem_pddl=self._problem.problem_pddl, seed=self._problem.seed)
        scene = episode.scene()

        def show() -> None:
            self._show(episode.world, *scene)
        return problem, show

    def shown(self) -> Shown:
        """Contents of the world's observations; contract in the base class."""
        return Shown() if self._driven or self._episode is None else shown_by(self._episode.world)

    def begin(self) -> Callable[[ResetWorld.Response], None]:
        """Show the world again, now; contract in the base class."""
        episode = self._episode
        assert episode is not None, 'it was built'

        def fill(response: ResetWorld.Response) -> None:
            stamp_ns = self.now_ns()
            if not self._driven and self._frame is not None:
                self._publish(stamp_ns)
            response.stamp = MESSAGES.time_to_msg(stamp_ns)
            goal = None if self._shown_goal is None else self._shown_goal[0]
            if goal is not None and goal.image is not None:
                self._goal_pub.publish(
                    MESSAGES.image_to_msg(goal.image, stamp_ns, self.frames.named(goal.frame_id)))
            response.labelled = draws_labels(episode.world)
            seen = self._history.at(0, stamp_ns).seen
            response.has_view = seen.visible_objects is not None or bool(seen.text)
            response.only_text = not self._driven and self._frame is None
        return fill

    def is_untouched(self) -> bool:
        """Whether the arm, if there is one, is ready and moved by no other client."""
        return not self._driven and (self._side is None or self._side.is_ready())

    def act(self, action: Action) -> Callable[[], tuple[Feedback, int]]:
        """Let the world carry out an action; contract in the base class."""
        episode = self._episode
        if episode is None:
            raise WorldError('nothing to act on yet; call ~/load_problem first')
        if self._driven:
            raise WorldError('the arm is commanded by others, through the topics of its '
                             'controllers; so it carries out no skills of its own')
        feedback = (episode.world.execute(action) if self._side is None
                    else self._side.execute(action, episode.world.execute))
        episode.moved = episode.moved or feedback.status is FeedbackStatus.EXECUTED
        scene = episode.scene(episode.world.last_outcome())
        return lambda: (feedback, self._show(episode.world, *scene))

    def moved(self) -> Callable[[], int]:
        """Show the world, if there is an episode; contract in the base class."""
        episode = self._episode
        if episode is None:
            return self.now_ns
        episode.moved = True
        scene = episode.scene()
        return lambda: self._show(episode.world, *scene)

    def broken_off(self) -> Callable[[], object]:
        """Show where the arm and the things are now; contract in the base class."""
        return (lambda: None) if self._side is None or self._driven else self.moved()


_NOT_OPTIONS = {
    'execution': 'it is an argument of its own, execution:=...',
    'robot': 'it is an argument of its own, robot:=...',
    'rearm': 'here a stopped arm is re-armed by a person, through ~/rearm'}
"""Settings of a world in process that this node decides, and why."""


def _request(domain: Domain, name: str) -> LoadProblem.Request:
    """A request for a problem of a domain by its name.

    Raises:
        InputError: there is none.
    """
    problem = find_problem(domain, name)
    return LoadProblem.Request(
        episode_id=name, domain=problem.domain, problem=problem.name,
        domain_pddl=problem.domain_pddl, problem_pddl=domain.write_problem(problem))


def _refuse_settings_of_arms(node: WorldNode) -> None:
    """Refuse settings of an arm where there is none.

    Raises:
        InputError: one is given, and is not what it is anyway.
    """
    for prefix, cls in (('', ArmSettings), ('gate.', GateSettings)):
        for setting in settings_fields(cls):
            name = prefix + setting.name
            given = node._parameter_overrides.get(name)  # these are not declared here
            if given is None:
                continue
            if getattr(cls(**{setting.name: given.value}), setting.name) != setting.default:
                raise InputError(
                    f'{node.get_name()}: {name} is {given.value!r}, but no arm moves with '
                    f'execution:={names.SYMBOLIC}: say execution:={names.ARM}, or leave '
                    f'{setting.name} away')


def _fill_state(moment: Moment, response: GetState.Response) -> None:
    response.episode_id = moment.episode_id
    response.state = MESSAGES.state_to_msg(moment.state)
    response.last_outcome = moment.outcome
    response.stamp = MESSAGES.time_to_msg(moment.stamp_ns)


def _fill_view(moment: Moment, response: GetView.Response) -> None:
    response.observation = MESSAGES.observation_to_msg(Observation(
        stamp_ns=moment.stamp_ns, visible_objects=moment.seen.visible_objects,
        text=moment.seen.text))
    response.observation.episode_id = moment.episode_id


def _fill_facts(moment: Moment, response: GetView.Response) -> None:
    """Write the granted facts into a response; WorldError if the episode grants none then."""
    if moment.facts is None:
        late = moment.privileged is Privileged.INITIAL
        raise WorldError(
            f'episode {moment.episode_id!r} grants no facts about what is out of view'
            f'{" after its first action" if late else ""} '
            f'(privileged: {moment.privileged.value})')
    response.observation = MESSAGES.observation_to_msg(
        Observation(stamp_ns=moment.stamp_ns, privileged_facts=moment.facts))
    response.observation.episode_id = moment.episode_id


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(SimBridge, args)
