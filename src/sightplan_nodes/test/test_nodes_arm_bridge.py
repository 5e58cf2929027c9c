"""The node arm_bridge over a scripted driver and scripted skills."""

from __future__ import annotations

import contextlib
import threading
import time

import numpy as np
import pytest
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import CameraInfo, Image, JointState
from sightplan_interfaces import msg
from sightplan_interfaces.action import ExecuteSkill
from sightplan_interfaces.srv import Confirm, GetView, LoadProblem, ResetWorld
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from arm_testing import LONG_S, MOVE_RAD, MOVE_S, Driver, ScriptedSkills, patient_robot
from nodes_testing import LIMIT_S, eventually, parameters, problem, spinning
from sightplan.model import (
    Atom,
    Belief,
    BeliefUpdated,
    CancelledError,
    InputError,
    StoppedError,
    WorldError,
)
from sightplan.records import messages
from sightplan_arm.hardware import ArmStoppedError
from sightplan_arm.skills import load_skills
from sightplan_nodes import arm_side, calls, names, qos
from sightplan_nodes.arm_bridge import ArmBridge
from sightplan_nodes.calls import ActionCaller, ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.failures import raise_error
from sightplan_nodes.heartbeats import Heartbeats
from sightplan_nodes.latch import default_latch_file

WORLD = names.ARM_BRIDGE
ACTION = msg.SymbolicAction(name='moveblock', args=['r', 'c1'])
DOMAIN, FIRST = problem()


class Client:
    """What experiment, agent and operator do with the node."""

    def __init__(self) -> None:
        self.node = node = Node('client')
        self.statuses: list[msg.ArmStatus] = []
        self.reports: list[msg.SkillReport] = []
        self.images: list[Image] = []
        self.infos: list[CameraInfo] = []
        self.joints: list[JointState] = []
        self.markers: list[MarkerArray] = []
        for kind, topic, sink, profile in (
                (msg.ArmStatus, names.arm_status(WORLD), self.statuses, qos.LATCHED),
                (msg.SkillReport, names.SKILL_REPORT, self.reports, qos.EVENTS),
                (Image, names.CAMERA_IMAGE, self.images, qos.SENSOR),
                (CameraInfo, names.CAMERA_INFO, self.infos, qos.SENSOR),
                (JointState, names.JOINT_STATES, self.joints, qos.SENSOR),
                (MarkerArray, names.markers(WORLD), self.markers, qos.LATCHED)):
            node.create_subscription(kind, topic, sink.append, profile)
        self.beliefs = node.create_publisher(msg.Belief, names.AGENT_BELIEF, qos.EVENTS)
        self._load = ServiceCaller(node, LoadProblem, names.load_problem(WORLD), WORLD)
        self._reset = ServiceCaller(node, ResetWorld, names.reset(WORLD), WORLD)
        self.view = ServiceCaller(node, GetView, names.get_view(WORLD), WORLD)
        self._triggers = {name: ServiceCaller(node, Trigger, name, WORLD)
                          for name in (names.stop(WORLD), names.rearm(WORLD))}
        self._confirm = ServiceCaller(node, Confirm, names.confirm(WORLD), WORLD)
        self._skill = ActionCaller(node, ExecuteSkill, names.EXECUTE_SKILL, WORLD)
        self.cancel = threading.Event()

    def load(self, text: str = '') -> LoadProblem.Response:
        """Load a problem as the experiment does."""
        return self._load(LoadProblem.Request(
            episode_id='e', domain='blocksworld', problem=FIRST.name, domain_pddl=DOMAIN.pddl,
            problem_pddl=text or DOMAIN.write_problem(FIRST), seed=3), LIMIT_S)

    def reset(self, episode_id: str = 'e') -> ResetWorld.Response:
        """Reset as the agent does."""
        return self._reset(ResetWorld.Request(episode_id=episode_id), LIMIT_S)

    def execute(self) -> ExecuteSkill.Result:
        return self._skill(ExecuteSkill.Goal(action=ACTION), LIMIT_S, self.cancel.is_set)

    def later(self) -> tuple[threading.Thread, list[ExecuteSkill.Result]]:
        """Begin an action; the list gets its result."""
        results: list[ExecuteSkill.Result] = []
        thread = threading.Thread(target=lambda: results.append(self.execute()), daemon=True)
        thread.start()
        return thread, results

    def trigger(self, name: str) -> Trigger.Response:
        return self._triggers[name](Trigger.Request(), LIMIT_S)

    def confirm(self, motion: str, accept: bool) -> Confirm.Response:
        return self._confirm(Confirm.Request(motion=motion, accept=accept), LIMIT_S)


class Bench:
    """Node, driver, client, and the agent's heartbeats."""

    def __init__(self, folder, monkeypatch, limits: dict[str, float], settings: dict) -> None:
        made: list[ScriptedSkills] = []

        def make(domain, *arguments, **options):
            made.append(ScriptedSkills(*arguments, **options))
            return made[-1]
        monkeypatch.setattr(arm_side, 'load_skills', make)
        robot = patient_robot(folder, **limits)
        self.driver, self.client = Driver(robot), Client()
        self.bridge = ArmBridge(parameter_overrides=parameters(**{
            'robot': robot, 'hardware': names.SIMULATED, **settings}))
        self.skills, = made
        self.agent = Node(names.AGENT)
        self.heartbeats = Heartbeats(self.agent)

    def moving(self) -> bool:
        return len(self.driver.followed) > 0


@pytest.fixture
def bench(tmp_path, monkeypatch):
    @contextlib.contextmanager
    def make(limits: dict[str, float] | None = None, change=lambda driver: None,
             **settings: object):
        monkeypatch.setattr(calls, '_NO_PARAMETERS_S', 0.05)  # the driver's node has another name
        made = Bench(tmp_path, monkeypatch, limits or {}, settings)
        change(made.driver)
        with spinning(made.bridge, made.driver.node, made.client.node, made.agent):
            yield made
            made.heartbeats.close()
    return make


def test_only_the_setup_is_told_the_initial_state(bench) -> None:
    """Also a lying one changes nothing for the skills: they get none at all."""
    text = DOMAIN.write_problem(FIRST)
    init = text[text.index('(:init'):text.index('(:goal')]
    block = sorted(FIRST.of_type('block'))[0]
    columns = FIRST.of_type('column')
    lie = f'(:init (incolumn {block} {columns[-1]}) (clear {block}))\n'
    with bench() as b:
        reply = b.client.load(text.replace(init, lie))
        assert reply.error_code == 0, reply.error_msg
        assert b.driver.setups[0].problem_pddl == text.replace(init, lie)
        assert b.driver.setups[0].seed == 3
        first = b.client.reset()
        assert first.error_code == 0, first.error_msg
        assert (len(b.driver.setups), len(b.driver.again), len(b.skills.problems)) == (1, 0, 1)
        again = b.client.reset()
        assert again.error_code == 0, again.error_msg
        assert [request.episode_id for request in b.driver.again] == ['e']
        told = list(b.skills.problems)
        assert len(told) == 2
        assert all(p.init == frozenset() and p.optimal_length is None for p in told)
        assert told[0].goal == FIRST.goal
        assert lie.strip() not in str(b.bridge.__dict__), 'it is forgotten'
        assert not DOMAIN.parse_problem(b.bridge._problem.problem_pddl, 'kept').init
        other = b.client.reset('another')
        assert 'no problem was loaded' in other.error_msg
        assert (len(b.driver.setups), len(b.driver.again)) == (1, 1)


def test_a_table_that_cannot_be_set_up_is_an_error(bench) -> None:
    with bench() as b:
        b.driver.setup_error = WorldError('the table is on fire')
        assert 'the table is on fire' in b.client.load().error_msg
        assert b.skills.problems == []


def test_an_action_moves_the_arm_and_is_reported(bench) -> None:
    with bench() as b:
        b.client.load()
        b.client.reset()
        before = b.driver.posture.copy()
        result = b.client.execute()
        assert (result.status, result.message, result.error_msg) == (
            msg.Step.EXECUTED, 'turned', '')
        assert abs(b.driver.posture[-1] - before[-1] - MOVE_RAD) < 0.01
        eventually(lambda: bool(b.client.reports), 'the report')
        report = b.client.reports[0]
        assert (report.cause, report.episode_id, list(report.phases)) == ('done', 'e', ['turn'])
        assert report.action == ACTION
        stamp_ns = messages.time_from_msg(result.stamp)
        eventually(lambda: any(messages.time_from_msg(i.header.stamp) >= stamp_ns
                               for i in b.client.images), 'an image of it')
        shown = {messages.time_from_msg(i.header.stamp) for i in b.client.images}
        assert {messages.time_from_msg(i.header.stamp) for i in b.client.infos} & shown
        assert b.client.images[-1].header.frame_id == 'eye', 'passed on as it came'
        eventually(lambda: len(b.client.joints) > 3)
        assert list(b.client.joints[-1].name) == b.driver.names
        eventually(lambda: b.client.statuses[-1].state == msg.ArmStatus.ARMED
                   and not b.client.statuses[-1].moving)
        assert {marker.ns for marker in b.client.markers[-1].markers} == {'workspace', 'plan'}
        reply = b.client.view(GetView.Request(), LIMIT_S)
        assert (reply.error_code, reply.observation.knows_visible,
                reply.observation.episode_id) == (0, False, 'e')


def test_without_the_agent_nothing_moves(bench) -> None:
    with bench({'heartbeat_timeout_s': 2.0}) as b:
        b.heartbeats.close()
        assert b.client.load().error_code == 0, 'the experiment may park it all the same'
        assert b.client.reset().error_code == 0
        time.sleep(2.1)  # the last one is too old now
        result = b.client.execute()
        assert 'no heartbeat of agent (heartbeat)' in result.error_msg
        assert result.error_code == WorldError.code
        assert b.driver.followed == []


def test_an_action_waits_for_nodes_that_were_never_heard(bench) -> None:
    with bench() as b:
        b.client.load()
        b.heartbeats.close()
        b.heartbeats = Heartbeats(b.agent, lambda: [names.GROUNDER])
        thread, results = b.client.later()
        time.sleep(0.5)
        assert b.driver.followed == []
        grounder = Node(names.GROUNDER)
        beats = Heartbeats(grounder)
        try:
            thread.join(LIMIT_S)
            assert (results[0].error_msg, results[0].status) == ('', msg.Step.EXECUTED)
        finally:
            beats.close()
            grounder.destroy_node()


@pytest.mark.slow
def test_a_lost_agent_or_what_it_needs_holds_the_arm(bench) -> None:
    with bench({'heartbeat_timeout_s': 2.0}) as b:
        b.client.load()
        b.skills.move_s = LONG_S
        thread, results = b.client.later()
        eventually(b.moving, 'the motion')
        b.heartbeats.close()
        thread.join(LIMIT_S)
        b.skills.move_s = MOVE_S
        assert 'no heartbeat of agent' in results[0].error_msg
        assert len(b.driver.followed) == 2, 'the second is what brakes it'
        assert np.abs(b.driver.followed[1].velocities[-1]).max() == 0.0
        assert b.client.statuses[-1].cause == 'heartbeat'
        again = b.client.execute()
        assert again.error_code == WorldError.code, 'held until the next episode'
        b.heartbeats = Heartbeats(b.agent, lambda: ['grounder'])
        assert b.client.load().error_code == 0
        assert 'grounder' in b.client.execute().error_msg


@pytest.mark.parametrize(('attribute', 'cause'), [('frozen', 'stale_state'),
                                                  ('blind', 'stale_image')])
def test_a_silent_driver_holds_the_arm(bench, attribute: str, cause: str) -> None:
    with bench({'state_timeout_s': 2.0, 'image_timeout_s': 2.0}) as b:
        b.client.load()
        b.skills.move_s = LONG_S
        thread, results = b.client.later()
        eventually(b.moving, 'the motion')
        setattr(b.driver, attribute, True)
        thread.join(LIMIT_S)
        b.skills.move_s = MOVE_S
        assert f'({cause})' in results[0].error_msg
        assert b.client.statuses[-1].state == msg.ArmStatus.HOLDING


def test_a_cancelled_action_holds_the_arm(bench) -> None:
    with bench() as b:
        b.client.load()
        b.skills.move_s = LONG_S
        thread, results = b.client.later()
        eventually(b.moving, 'the motion')
        b.client.cancel.set()
        thread.join(LIMIT_S)
        b.skills.move_s = MOVE_S
        assert results[0].error_code == CancelledError.code, 'no failure of the arm'
        assert '(cancelled)' in results[0].error_msg
        assert len(b.driver.followed) >= 2  # a brake that comes late is sent again
        b.client.cancel.clear()
        assert b.client.load().error_code == 0
        assert b.client.execute().error_code == 0


def test_a_stop_lasts_until_a_person_rearms_and_an_episode_begins(bench) -> None:
    with bench() as b:
        b.client.load()
        b.skills.move_s = LONG_S
        thread, results = b.client.later()
        eventually(b.moving, 'the motion')
        assert b.client.trigger(names.stop(WORLD)).success
        thread.join(LIMIT_S)
        b.skills.move_s = MOVE_S
        with pytest.raises(StoppedError, match='stop_request'):
            raise_error(results[0], WORLD)
        setups = len(b.driver.setups)
        for reply in (b.client.execute(), b.client.load(), b.client.reset()):
            assert reply.error_code == StoppedError.code
        assert 'rearm' in b.client.load().error_msg, 'says what to do'
        assert len(b.driver.setups) == setups, 'nor is the table touched'
        eventually(lambda: b.client.trigger(names.rearm(WORLD)).success, 'that the arm stands')
        moved = len(b.driver.followed)  # brakes that came late were sent again
        assert b.client.execute().error_code == WorldError.code, 'not before the next episode'
        assert len(b.driver.followed) == moved
        assert b.client.reset().error_code == 0
        assert b.client.execute().error_code == 0


def test_an_operator_says_yes_or_no(bench) -> None:
    with bench(gate__confirm='motion') as b:
        b.client.load()
        assert not b.client.confirm('', True).success, 'nothing waits'
        for accept in (False, True):
            thread, results = b.client.later()
            eventually(lambda: bool(b.client.statuses[-1].pending), 'the question')
            assert b.driver.followed == []
            pending = b.client.statuses[-1]
            assert 'turn for' in pending.pending_text
            assert not b.client.confirm('no such motion', True).success
            assert b.client.confirm(pending.pending, accept).success
            thread.join(LIMIT_S)
            assert ('(declined)' in results[0].error_msg) is (not accept)
            eventually(lambda: not b.client.statuses[-1].pending)
        assert len(b.driver.followed) == 1


def test_a_reset_that_was_given_up_moves_nothing_whatever_an_operator_says(bench) -> None:
    with bench(gate__confirm='motion', reset_timeout_s=6.0) as b:
        reset = b.skills.reset

        def park(given) -> None:
            reset(given)
            b.skills.execute(ACTION)
        b.skills.reset = park
        assert 'was not done within 6 s' in b.client.load().error_msg
        eventually(lambda: b.client.statuses[-1].state == msg.ArmStatus.HOLDING)
        assert 'given up' in b.client.statuses[-1].message
        assert not b.client.confirm('', True).success
        assert b.driver.followed == []


def test_a_reset_that_was_given_up_before_the_arm_was_to_move_does_not_move_it(bench) -> None:
    with bench(reset_timeout_s=6.0) as b:
        began, over, moved = threading.Event(), threading.Event(), []
        b.bridge._wait_for_hardware = lambda: (began.set(), over.wait(LIMIT_S))
        b.skills.reset = moved.append
        assert 'was not done within 6 s' in b.client.load().error_msg
        assert began.is_set()
        over.set()
        b.bridge.worker.close(LIMIT_S)
        assert moved == []


def test_a_dry_run_shows_and_sends_nothing(bench) -> None:
    with bench(gate__dry_run=True) as b:
        b.client.load()
        assert b.client.execute().error_code == 0
        eventually(lambda: any(m.ns == 'plan' for ms in b.client.markers for m in ms.markers))
        plan = next(m for ms in b.client.markers for m in ms.markers if m.ns == 'plan')
        assert len(plan.points) > 2
        assert (b.driver.followed, b.driver.gripped) == ([], [])
        assert b.client.statuses[-1].dry_run


def test_the_skills_hear_what_the_agent_believes_now(bench) -> None:
    belief = Belief(frozenset({Atom('clear', ('r',))}), {Atom('clear', ('r',)): 0.75})
    with bench() as b:
        b.client.load()
        eventually(lambda: b.client.beliefs.get_subscription_count() == 1)
        for episode_id in ('another', 'e'):
            message = MESSAGES.event_to_msg(BeliefUpdated(belief), episode_id, 7, 1)
            b.client.beliefs.publish(message)
        eventually(lambda: bool(b.skills.beliefs))
        assert b.skills.beliefs == [belief], 'beliefs of other episodes say nothing'
        b.client.execute()
        assert b.skills.beliefs == [belief], 'it holds until the next one, as in process'


@pytest.mark.parametrize(('change', 'words'), [
    (lambda d: d.names.__setitem__(0, 'elbow'), ['panda_joint1', 'elbow', 'patient.yaml']),
    (lambda d: setattr(d, 'frozen', True), ['no joint states', 'hardware/joint_states']),
    (lambda d: setattr(d, 'blind', True), ['hardware/camera/image_raw', 'start the driver'])])
def test_what_the_driver_lacks_is_named(bench, change, words: list[str]) -> None:
    with bench(change=change, startup_timeout_s=3.0) as b:
        said = b.client.load().error_msg
        for word in words:
            assert word in said


def test_settings_of_skills_are_passed_on_and_wrong_ones_named(bench, tmp_path,
                                                               monkeypatch) -> None:
    with bench(skill_options='speed=0.5') as b:
        assert b.skills.settings == {'speed': 0.5}
    monkeypatch.setattr(arm_side, 'load_skills', load_skills)
    for settings, words in (({'skill_options': 'spede=0.5'}, 'spede'),
                            ({'robot': 'no_such_robot'}, 'no_such_robot'),
                            ({'gate.period_s': 7.0}, 'gate.period_s'),
                            ({'domain': 'household'}, 'household')):
        with pytest.raises(InputError, match=words):
            ArmBridge(parameter_overrides=parameters(**settings))


def test_another_domain_is_refused(bench) -> None:
    with bench(domain='blocksworld') as b:
        b.bridge._settings = type(b.bridge._settings)(domain='household',
                                                      hardware=names.SIMULATED)
        assert 'household' in b.client.load().error_msg
        assert b.skills.problems == []


def test_a_stop_outlasts_the_node(bench, tmp_path) -> None:
    file = tmp_path / 'state' / 'stopped.json'
    with bench(latch_file=str(file)) as b:
        b.client.load()
        b.skills.move_s = LONG_S
        thread, _ = b.client.later()
        eventually(b.moving, 'the motion')
        assert not file.exists()
        assert b.client.trigger(names.stop(WORLD)).success
        assert file.is_file(), 'before the answer'
        thread.join(LIMIT_S)
        b.skills.move_s = MOVE_S
    file.write_text(file.read_text().replace('a stop was asked for', 'the lab was on fire'))
    for _ in range(2):
        with bench(latch_file=str(file)) as b:
            for reply in (b.client.load(), b.client.execute()):
                assert reply.error_code == StoppedError.code
                assert 'stop_request' in reply.error_msg
                assert 'lab was on fire' in reply.error_msg
            assert b.client.statuses[-1].state == msg.ArmStatus.STOPPED
            assert b.driver.followed == []
    with bench(latch_file=str(file)) as b:
        assert b.client.load().error_code == StoppedError.code
        eventually(lambda: b.client.trigger(names.rearm(WORLD)).success, 'that it rests')
        assert not file.exists()
        assert b.client.execute().error_code == WorldError.code
        assert b.driver.followed == [], 'not before a reset'
        assert b.client.load().error_code == 0
        assert b.client.execute().error_code == 0
    with bench(latch_file=str(file)) as b:
        assert b.client.load().error_code == 0


def test_what_stops_by_itself_is_kept_as_well(bench, tmp_path) -> None:
    file = tmp_path / 'stopped.json'
    with bench(latch_file=str(file)) as b:
        b.client.load()
        b.bridge._arm.on_trouble('the controller gave up')
        eventually(file.exists, 'the file')
        assert 'command_failed' in file.read_text()


def test_a_stop_that_cannot_be_kept_is_told_of_and_kept_later(bench, tmp_path) -> None:
    folder = tmp_path / 'state'
    with bench(latch_file=str(folder / 'stopped.json')) as b:
        b.client.load()
        folder.rmdir()
        folder.write_text('')  # in the way
        assert b.client.trigger(names.stop(WORLD)).success
        time.sleep(1.0)
        waiting = '; '.join(b.client.statuses[-1].waiting_for)
        assert 'cannot be kept in' in waiting and 'latch_file' in waiting
        folder.unlink()
        time.sleep(1.5)
        assert 'stop_request' in (folder / 'stopped.json').read_text()
        assert 'cannot be kept' not in '; '.join(b.client.statuses[-1].waiting_for)


@pytest.mark.parametrize('content', [b'', b'\xff', b'[]', b'{"cause": "nonsense"}'])
def test_a_file_that_cannot_be_read_is_a_stop(bench, tmp_path, content: bytes) -> None:
    file = tmp_path / 'stopped.json'
    file.write_bytes(content)
    with bench(latch_file=str(file)) as b:
        assert b.client.load().error_code == StoppedError.code


def test_where_stops_are_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv('XDG_STATE_HOME', str(tmp_path))
    panda, other = tmp_path / 'panda.yaml', tmp_path / 'ur5e.yaml'
    places = [default_latch_file(panda, '/'), default_latch_file(panda, '/a/b'),
              default_latch_file(panda, '/a_b'), default_latch_file(other, '/')]
    assert len(set(places)) == 4
    assert {place.parent for place in places} == {tmp_path / 'sightplan'}
    monkeypatch.delenv('XDG_STATE_HOME')
    monkeypatch.setenv('HOME', str(tmp_path))
    assert default_latch_file(panda, '/') == (
        tmp_path / '.local' / 'state' / 'sightplan' / 'stopped_panda.json')
    for hardware, latch_file, kept in (('real', '', True), ('real', 'none', False),
                                       ('simulated', '', False)):
        bridge = ArmBridge(parameter_overrides=parameters(hardware=hardware,
                                                          latch_file=latch_file))
        assert (bridge._side._latch is not None) is kept
        bridge.close()
        bridge.destroy_node()
    (tmp_path / 'file').write_text('')
    with pytest.raises(InputError, match='latch_file'):
        ArmBridge(parameter_overrides=parameters(latch_file=str(tmp_path / 'file' / 'x')))


def test_a_node_that_closes_in_mid_motion_says_that_the_arm_stands(bench) -> None:
    """Else the watcher would stop an arm that a gate has left in order."""
    with bench() as b:
        b.client.load()
        b.skills.move_s = LONG_S
        thread, _ = b.client.later()
        eventually(b.moving, 'the motion')
        eventually(lambda: b.client.statuses[-1].moving)
        b.skills.gate._notifier.wake = lambda: None  # whose thread is late
        b.bridge.close()
        thread.join(LIMIT_S)
        eventually(lambda: not b.client.statuses[-1].moving)
        assert b.client.statuses[-1].state == msg.ArmStatus.HOLDING


def test_nothing_moves_once_the_node_closes(bench) -> None:
    """Also a skill that is between two motions when that happens."""
    with bench() as b:
        b.client.load()
        turn, between, on = b.skills.execute, threading.Event(), threading.Event()

        def think(action):
            between.set()
            assert on.wait(LIMIT_S)
            return turn(action)
        b.skills.execute = think
        _, results = b.client.later()
        assert between.wait(LIMIT_S)
        closer = threading.Thread(target=b.bridge.close)
        closer.start()
        eventually(lambda: b.skills.gate.status().state.name == 'HOLDING', 'the hold')
        time.sleep(0.1)
        assert b.bridge._side._watchdog.is_alive(), 'as long as the skill is at work'
        on.set()
        closer.join(LIMIT_S)
        eventually(lambda: bool(results))
        assert results[0].error_code == WorldError.code
        assert b.driver.followed == []
        assert not b.bridge._side._watchdog.is_alive()
        b.skills.gate.new_episode()
        with pytest.raises(ArmStoppedError):
            turn(None)
        assert b.driver.followed == [], 'nor after a reset that was under way'


def test_an_action_that_is_cancelled_while_it_waits_never_begins(bench) -> None:
    with bench() as b:
        b.client.load()
        busy = threading.Event()
        b.bridge.worker.submit(lambda: busy.wait(LIMIT_S))
        thread, _ = b.client.later()
        eventually(lambda: b.bridge._goal.handle is not None, 'the goal')
        b.client.cancel.set()
        eventually(lambda: b.bridge._goal.cancelled, 'the cancel')
        busy.set()
        thread.join(LIMIT_S)
        assert b.driver.followed == []
        b.client.cancel.clear()
        assert b.client.execute().error_code == 0, 'the next one does'


def test_an_action_that_is_cancelled_as_it_begins_does_not_move(bench) -> None:
    """Between the worker's look whether it is wanted, and the moment from which a cancel holds."""
    with bench() as b:
        b.client.load()
        act = b.bridge.act

        def cancelled_now(action):
            b.client.cancel.set()
            eventually(lambda: b.bridge._goal.cancelled, 'the cancel')
            return act(action)
        b.bridge.act = cancelled_now
        thread, _ = b.client.later()
        thread.join(LIMIT_S)
        assert b.driver.followed == []


def test_a_stop_that_meets_a_cancelled_action_is_told_as_a_stop(bench) -> None:
    with bench() as b:
        b.client.load()

        def stopped(action):
            b.client.cancel.set()
            eventually(lambda: b.bridge._goal.cancelled, 'the cancel')
            raise StoppedError('the arm was stopped')
        b.bridge.act = stopped
        thread, results = b.client.later()
        thread.join(LIMIT_S)
        assert results[0].error_code == StoppedError.code


def test_messages_that_cannot_be_taken_are_dropped(bench, monkeypatch) -> None:
    known = Belief(frozenset({Atom('clear', ('r',))}), {Atom('clear', ('r',)): 0.75})
    with bench() as b:
        b.client.load()
        eventually(lambda: b.client.beliefs.get_subscription_count() == 1)
        b.client.beliefs.publish(MESSAGES.event_to_msg(BeliefUpdated(known), 'e', 7, 1))
        eventually(lambda: b.skills.beliefs == [known])
        b.client.beliefs.publish(msg.Belief(episode_id='e', state=[msg.Atom()]))
        eventually(lambda: len(b.skills.beliefs) == 2)
        assert b.skills.beliefs[-1].probabilities == {}, 'what was expected before is not any more'

        def broken(*args):
            raise ValueError('broken')
        with monkeypatch.context() as context:
            context.setattr(b.skills.gate, 'beat', broken)
            context.setattr(b.bridge._side, 'joints_pub', None)
            context.setattr(b.bridge, '_pubs', {})
            time.sleep(0.3)
        assert b.client.execute().error_code == 0, 'the node lives'


def test_services_answer_whatever_goes_wrong(bench, monkeypatch) -> None:
    with bench() as b:
        b.client.load()

        def broken(*args):
            raise ValueError('broken')
        for name in ('stop', 'status', 'confirm'):
            with monkeypatch.context() as context:
                context.setattr(b.skills.gate, name, broken)
                reply = (b.client.confirm('', True) if name == 'confirm' else b.client.trigger(
                    names.stop(WORLD) if name == 'stop' else names.rearm(WORLD)))
            assert not reply.success
            assert 'broken' in reply.message
        assert b.client.load().error_code == 0


def test_services_say_what_they_did_not_do(bench) -> None:
    with bench() as b:
        b.client.load()
        reply = b.client.trigger(names.rearm(WORLD))
        assert (reply.success, 'nothing to re-arm' in reply.message) == (False, True)
        called: list[str] = []
        b.bridge._side.detach(lambda: called.append('stop'), lambda: called.append('rearm'))
        for service in (names.stop, names.rearm):
            assert b.client.trigger(service(WORLD)).success
        assert called == ['stop', 'rearm'], "the hardware's own"
        reply = b.client.confirm('', True)
        assert not reply.success
        assert 'commanded by others' in reply.message
        assert 'emergency stop' in reply.message


@pytest.mark.parametrize(('topic', 'part'), [(names.CAMERA_IMAGE, 'image'),
                                             (names.CAMERA_INFO, 'info')])
def test_a_driver_that_nobody_else_would_hear_is_refused(bench, topic: str, part: str) -> None:
    kind = Image if part == 'image' else CameraInfo
    with bench() as b:
        b.bridge._passed_on.discard(part)  # as with a driver whose topic has our name
        assert b.client.load().error_code == 0
        b.driver.node.create_publisher(kind, topic, qos_profile_sensor_data)
        eventually(lambda: b.bridge.count_publishers(topic) == 2)
        reply = b.client.load()
        assert reply.error_code == WorldError.code
        assert f'driver publishes {topic} as best effort' in reply.error_msg
