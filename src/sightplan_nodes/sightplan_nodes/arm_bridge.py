"""The node ``arm_bridge``: a real arm and camera behind the names of ``sim_bridge``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import JointState
from sightplan_interfaces.srv import GetView, LoadProblem, ResetWorld

from sightplan.domains import domain_reference
from sightplan.model import Action, Feedback, InputError, WorldError, param
from sightplan.records import messages
from sightplan_arm.config import RobotConfig
from sightplan_nodes import names
from sightplan_nodes.arm_side import ArmSide
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.ros_arm import RosArm, RosCamera
from sightplan_nodes.spin import main as run_main
from sightplan_nodes.world_node import WorldNode


@dataclass(frozen=True, slots=True)
class ArmBridgeSettings:
    """Parameters of ``arm_bridge``, besides those of ArmSide."""

    domain: str = param('blocksworld', 'Domain whose actions the arm carries out')
    hardware: str = param(names.REAL, 'What is moved: a real robot, by the names of its file, or '
                          f'a simulated one (a sim_bridge in the namespace {names.HARDWARE})',
                          choices=(names.REAL, names.SIMULATED))
    lockstep: bool = param(False, 'Whether ages are those of the time of simulated hardware, '
                           'which waits for late nodes (its parameter of this name); a real '
                           'robot does not wait')
    setup: str = param(names.AUTO, 'Service (LoadProblem) that puts the blocks onto the table, '
                       'and beside it one (ResetWorld, ~/reset) that does it again; empty: a '
                       "person does; auto: the simulated hardware's, if it is one")
    reset_timeout_s: float = param(90.0, 'Wall-clock limit of one reset [s]', low=0.1,
                                   high=3600.0)
    startup_timeout_s: float = param(30.0, 'How long to wait for the first joint states and '
                                     'pictures [s]', low=0.1, high=3600.0)
    observe_timeout_s: float = param(5.0, 'How long to wait for a picture [s]', low=0.1, high=60.0)


class ArmBridge(WorldNode):
    """A robot arm as the world, known only by its camera and joint states, without ground truth.

    Parameters: see ArmBridgeSettings and ArmSide. Offers what WorldNode and ArmSide do.
    Listens to the drivers that the robot's file names (joint states; image, info and depth of
    its camera) and commands its controllers; see RosArm. What they publish is passed on as it
    comes, stamps included.

    ``~/load_problem`` is given a problem, of which the initial state is dropped before anything
    reads it (only the service that sets a simulated table up gets it). It parks the arm and checks
    by the camera that the table is ready. While the arm is stopped it fails with StoppedError. A
    stop of a real arm outlasts the node.
    """

    def __init__(self, **node_arguments: Any) -> None:
        super().__init__(names.ARM_BRIDGE, **node_arguments)
        self._settings = s = declare_settings(self, ArmBridgeSettings)
        self._side = ArmSide(self, s.hardware)
        robot = self._side.robot
        self._choose_what_to_pass_on(robot)
        self._arm = RosArm(self, robot, s.hardware, self._relay_joints, s.lockstep)
        self._camera = RosCamera(self, robot.camera, s.hardware, self._relay, self._arm.pace,
                                 robot.safety.image_timeout_s)
        self._pubs = {'image': self.image_pub, 'info': self.info_pub, 'depth': self.depth_pub}
        gate, self._skills_of_arm = self._side.attach(
            s.domain, self._arm, self._camera, self._camera.image_age_s,
            self._wait_for_hardware, self._arm.unreachable, self._arm.pace)
        self._arm.on_trouble = lambda message: gate.stop('command_failed', message)
        service = names.setup_service(s.hardware, s.setup)
        table = service.rpartition('/')[0]
        self._setup = ServiceCaller(self, LoadProblem, service, table) if service else None
        self._setup_again = (ServiceCaller(self, ResetWorld, names.reset(table), table)
                             if service else None)
        self._episode_id = ''
        self._closing = False
        self.open(s.reset_timeout_s)

    def close(self) -> None:
        """Hold the arm, and end the thread that works."""
        self._closing = True
        self._side.close()
        self.worker.close(timeout_s=3.0)

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report also the state of the arm and the age of its drivers' messages."""
        super().diagnose(diagnosis)
        self._side.diagnose(diagnosis)
        diagnosis.note(joint_states_s_ago=self._arm.state_age_s(),
                       picture_s_ago=self._camera.image_age_s())
        for missing in (self._arm.missing(), self._camera.missing()):
            if missing:
                diagnosis.warn(missing)

    def _choose_what_to_pass_on(self, robot: RobotConfig) -> None:
        """Choose the driver topics to republish; a driver may publish under our names already."""
        config = robot.camera
        self._passed_on = {part for part, theirs, ours in (
            ('joints', robot.arm.joint_states, names.JOINT_STATES),
            ('image', config.image, names.CAMERA_IMAGE), ('info', config.info, names.CAMERA_INFO),
            ('depth', config.depth, names.CAMERA_DEPTH))
            if self.resolve_topic_name(names.driver(theirs, self._settings.hardware))
            != self.resolve_topic_name(ours)}

    def _check_reliable(self) -> None:
        """Refuse a camera whose best-effort pictures reliable subscribers would not receive.

        Raises:
            WorldError: it publishes under our name, and less reliably than others ask for.
        """
        for part, topic in (('image', names.CAMERA_IMAGE), ('info', names.CAMERA_INFO)):
            if part in self._passed_on:
                continue
            for end in self.get_publishers_info_by_topic(topic):
                if end.qos_profile.reliability is ReliabilityPolicy.BEST_EFFORT:
                    raise WorldError(
                        f'{end.node_name} publishes {topic} as best effort, which agent and '
                        'recorder do not take: remap the topics of the camera, give the new '
                        f'names in the robot file, and {names.ARM_BRIDGE} passes them on')

    # The callbacks, in the executor's thread.

    def view(self, request: GetView.Request, response: GetView.Response) -> GetView.Response:
        """Return an empty view: in a real world it is not known what is in view."""
        response.observation.episode_id = self._episode_id
        return response

    def cancelled(self, why: str) -> None:
        """Hold the arm, if an action or a reset moves it."""
        self._side.cancelled(why)

    def _relay(self, part: str, data: bytes) -> None:
        if part == 'image' and self._side.measures is not None:
            self._side.measures.note_picture()
        if part in self._passed_on and self._pubs[part].get_subscription_count():
            self._pubs[part].publish(data)

    def _relay_joints(self, message: JointState) -> None:
        if self._side.measures is not None:
            self._side.measures.note_joints(message)
        if 'joints' in self._passed_on:
            self._side.joints_pub.publish(message)

    # In the worker's thread.

    def build(self, problem: LoadProblem.Request) -> Callable[[], None]:
        """Take the table as it is, or as ``setup`` makes it; contract in the base class."""
        self._check_domain(problem.domain)
        self._side.check_not_stopped()
        if self._setup is not None and self._setup_again is not None:
            self._side.let_go()  # of an arm that the simulator puts elsewhere
            limit_s = self._settings.reset_timeout_s
            if self.by_agent:  # whose initial state was forgotten here
                again = ResetWorld.Request(episode_id=problem.episode_id)
                self._setup_again.checked(again, limit_s, self._check_closing)
            else:
                self._setup.checked(problem, limit_s, self._check_closing)
        return self._take_table(self.keep(problem))

    def _check_domain(self, domain: str) -> None:
        """Refuse a problem of another domain than the arm's."""
        if domain != domain_reference(self._settings.domain):
            raise InputError(f'this arm carries out the actions of {self._settings.domain}; the '
                             f'problem is of {domain}: start {names.ARM_BRIDGE} with '
                             f'domain:={domain}')

    def _take_table(self, problem: LoadProblem.Request) -> Callable[[], None]:
        """Park the arm, and check by the camera that the table is ready for an episode."""
        self._side.check_not_stopped()
        self._episode_id = problem.episode_id
        self._wait_for_hardware()
        _, read = messages.read_problem(problem)
        self._side.reset(problem.episode_id, lambda: self._skills_of_arm.reset(read))
        return lambda: None

    def keep(self, problem: LoadProblem.Request) -> LoadProblem.Request:
        """The problem without its initial state, which only ``setup`` is given."""
        domain, read = messages.read_problem(problem)
        return LoadProblem.Request(
            episode_id=problem.episode_id, domain=problem.domain, problem=problem.problem,
            domain_pddl=problem.domain_pddl, problem_pddl=domain.write_problem(read.for_agent()))

    def begin(self) -> Callable[[ResetWorld.Response], None]:
        """Wait for a picture; contract in the base class."""
        stamp_ns = self._camera.observe(self._settings.observe_timeout_s).stamp_ns

        def fill(response: ResetWorld.Response) -> None:
            response.stamp = MESSAGES.time_to_msg(stamp_ns)
        return fill

    def carry_on(self, request: ResetWorld.Request,
                 ) -> tuple[LoadProblem.Request, Callable[[], None]]:
        """Take the table as it is; contract in the base class."""
        problem = self._problem
        if request.domain:
            problem = LoadProblem.Request(
                episode_id=request.episode_id, domain=request.domain, problem=request.problem,
                domain_pddl=request.domain_pddl, problem_pddl=request.problem_pddl)
        if problem is None:
            raise WorldError(f'{names.ARM_BRIDGE} does not know what is on its table: name domain '
                             'and objects with the goal (--domain blocksworld --objects '
                             'g:block,b:block,c1:column,c2:column), or give a problem file')
        self._check_domain(problem.domain)
        problem.episode_id = request.episode_id
        return problem, self._take_table(self.keep(problem))

    def is_untouched(self) -> bool:
        """Return whether the arm is ready."""
        return self._side.is_ready()

    def act(self, action: Action) -> Callable[[], tuple[Feedback, int]]:
        """Let the arm carry out an action; contract in the base class."""
        feedback = self._side.execute(
            action, lambda wanted: self._skills_of_arm.execute(wanted).feedback)
        stamp_ns = self._camera.observe(self._settings.observe_timeout_s).stamp_ns
        return lambda: (feedback, stamp_ns)

    def moved(self) -> Callable[[], int]:
        """Wait for a picture; contract in the base class."""
        stamp_ns = self._camera.observe(self._settings.observe_timeout_s).stamp_ns
        return lambda: stamp_ns

    def _wait_for_hardware(self) -> None:
        """Wait for the first joint states and pictures.

        Raises:
            WorldError: they do not come; says which.
        """
        end = time.monotonic() + self._settings.startup_timeout_s
        while True:
            missing = self._arm.missing() or self._camera.missing()
            if not missing:
                return self._check_reliable()
            if time.monotonic() >= end:
                raise WorldError(missing)
            self._check_closing()
            time.sleep(0.02)

    def _check_closing(self) -> bool:
        if self._closing:
            raise WorldError(f'{names.ARM_BRIDGE} was stopped')
        return False


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(ArmBridge, args)
