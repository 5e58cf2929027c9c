"""The node arm_watcher beside a scripted driver: alone, and with arm_bridge whose gate hangs."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from rcl_interfaces.msg import ParameterType
from rclpy.node import Node
from rclpy.parameter import Parameter
from sightplan_interfaces import msg
from std_srvs.srv import Trigger

from arm_testing import LONG_S, MOVE_S, Driver, ScriptedSkills, patient_robot
from nodes_testing import LIMIT_S, eventually, parameters, spinning
from sightplan.model import DeadlineError, StoppedError, WorldError
from sightplan_arm import watcher
from sightplan_arm.config import load_robot
from sightplan_arm.gate_status import GUARANTEES
from sightplan_arm.hardware import JointTrajectory
from sightplan_nodes import (
    arm_live,
    arm_side,
    arm_watcher,
    calls,
    controllers,
    names,
    qos,
)
from sightplan_nodes.arm_bridge import ArmBridge
from sightplan_nodes.arm_watcher import ArmWatcher, ControllerLock
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.controllers import ControllerState
from sightplan_nodes.heartbeats import Beat, Heartbeats
from sightplan_nodes.live_measures import LiveMeasures
from sightplan_nodes.spin import leave
from test_nodes_arm_bridge import Client

STATUS = msg.ArmStatus
LIMITS = {'heartbeat_timeout_s': 1.5, 'state_timeout_s': 5.0, 'image_timeout_s': 5.0}


class Listener:
    """Hears the watcher, and re-arms it."""

    def __init__(self) -> None:
        self.node = node = Node('listener')
        self.statuses: list[STATUS] = []
        node.create_subscription(STATUS, names.arm_status(names.ARM_WATCHER),
                                 self.statuses.append, qos.LATCHED)
        self.rearm = ServiceCaller(node, Trigger, names.rearm(names.ARM_WATCHER),
                                   names.ARM_WATCHER)
        self.state_of = ServiceCaller(node, Trigger, names.arm_status(names.ARM_BRIDGE),
                                      names.ARM_BRIDGE)

    def is_in(self, state: int) -> bool:
        return bool(self.statuses) and self.statuses[-1].state == state


def turn(driver: Driver, seconds: float) -> None:
    """Have the arm move for so long, without anybody's command."""
    here, there = driver.posture.copy(), driver.posture.copy()
    there[-1] += 0.1 * seconds
    still = np.zeros_like(here)
    speed = still.copy()
    speed[-1] = 0.1
    with driver._lock:
        driver._motion = time.monotonic(), JointTrajectory(
            np.array([0.0, seconds]), np.stack([here, there]), np.stack([speed, speed]))


def watcher_of(robot: str, **settings: object) -> ArmWatcher:
    return ArmWatcher(parameter_overrides=parameters(
        robot=robot, hardware=names.SIMULATED, **settings))


class Gate:
    """Says that it lives, as the gate of arm_bridge does, until it is killed."""

    def __init__(self) -> None:
        self.node = Node(names.ARM_BRIDGE)
        beat = Beat(self.node, names.gate_heartbeat(names.ARM_BRIDGE))
        self.timer = self.node.create_timer(0.01, beat.publish)


@pytest.mark.usefixtures('ros')
def test_it_brakes_and_locks_an_arm_whose_gate_dies_and_keeps_that(tmp_path) -> None:
    robot, kept = patient_robot(tmp_path, **LIMITS), tmp_path / 'kept.json'
    driver, gate, listener = Driver(robot), Gate(), Listener()
    node = watcher_of(robot, latch_file=str(kept))
    with spinning(driver.node, gate.node, listener.node, node):
        eventually(lambda: listener.is_in(STATUS.ARMED) and listener.statuses[-1].ready)
        turn(driver, 60.0)
        gate.timer.cancel()
        eventually(lambda: driver.stopped, 'the stop of the hardware')
        assert not driver.followed[-1].velocities[-1].any()
        eventually(lambda: listener.is_in(STATUS.STOPPED))
        assert listener.statuses[-1].cause == 'watcher'
        assert json.loads(kept.read_text())['cause'] == 'watcher'
        gate.timer.reset()
        eventually(lambda: listener.rearm(Trigger.Request(), LIMIT_S).success, 'that it stands')
        eventually(lambda: listener.is_in(STATUS.ARMED))
        eventually(lambda: not driver.stopped)


@pytest.mark.usefixtures('ros')
def test_it_says_what_it_lacks(tmp_path) -> None:
    listener = Listener()
    node = watcher_of(patient_robot(tmp_path, **LIMITS))
    with spinning(listener.node, node):
        eventually(lambda: bool(listener.statuses))
        status = listener.statuses[-1]
        assert (status.ready, status.state) == (False, STATUS.REARMED)
        said = '; '.join(status.waiting_for)
        for what in ('no joint states', 'no controller listens', 'sim_bridge/stop is not there'):
            assert what in said


@pytest.fixture
def guarded(tmp_path, monkeypatch, ros):
    """Driver, arm_bridge that wants a watcher, its client, and the agent's heartbeats."""
    made: list[ScriptedSkills] = []

    def make(domain, *arguments, **options):
        made.append(ScriptedSkills(*arguments, **options))
        return made[-1]
    monkeypatch.setattr(arm_side, 'load_skills', make)
    monkeypatch.setattr(calls, '_NO_PARAMETERS_S', 0.05)
    robot = patient_robot(tmp_path, watched=True, **LIMITS)
    driver, client, listener = Driver(robot), Client(), Listener()
    bridge = ArmBridge(parameter_overrides=parameters(robot=robot, hardware=names.SIMULATED))
    agent = Node(names.AGENT)
    return SimpleNamespace(
        robot=robot, driver=driver, client=client, listener=listener, bridge=bridge,
        skills=made[0], agent=agent, beats=Heartbeats(agent),
        nodes=(bridge, driver.node, client.node, listener.node, agent))


def test_without_the_watcher_the_arm_is_not_armed(guarded, monkeypatch) -> None:
    g = guarded
    monkeypatch.setattr(arm_side, 'BEATS_COME_S', 0.5)
    with spinning(*g.nodes):
        reply = g.client.load()
        assert reply.error_code == WorldError.code
        for words in ('guarantee watcher does not hold', 'has not been heard',
                      'remedy: start arm_watcher', 'safety.required of', 'patient.yaml'):
            assert words in reply.error_msg
        eventually(lambda: any('guarantee watcher' in what
                               for what in g.client.statuses[-1].waiting_for))
        told = g.listener.state_of(Trigger.Request(), LIMIT_S)
        assert not told.success
        found = {one['name']: one for one in json.loads(told.message)['guarantees']}
        assert found['watcher']['holds'] is False
        assert found['joint_states']['measured']['rate_hz'] > 0
        assert g.driver.followed == []
        g.beats.close()


def test_a_gate_that_hangs_in_mid_motion_is_stopped_and_stays_so(guarded) -> None:
    """And no reset of an episode ends that, though the gate is back at once."""
    g = guarded
    node = watcher_of(g.robot)
    with spinning(*g.nodes, node):
        assert g.client.load().error_msg == ''
        g.skills.move_s = LONG_S
        thread, _ = g.client.later()
        eventually(lambda: len(g.driver.followed) > 0, 'the motion')
        hangs, ended = threading.Event(), threading.Event()

        def hang() -> None:
            with g.bridge._side._gate._lock:
                hangs.set()
                ended.wait(LIMIT_S)
        threading.Thread(target=hang, daemon=True).start()
        hangs.wait(LIMIT_S)
        eventually(lambda: g.driver.stopped, 'the stop of the hardware')
        eventually(lambda: g.listener.is_in(STATUS.STOPPED))
        ended.set()
        thread.join(LIMIT_S)
        g.skills.move_s = MOVE_S
        eventually(lambda: g.client.statuses[-1].cause == 'watcher', 'the stop of the gate')
        followed = len(g.driver.followed)
        for reply in (g.client.execute(), g.client.load(), g.client.reset()):
            assert reply.error_code == StoppedError.code
        assert len(g.driver.followed) == followed
        eventually(lambda: g.client.trigger(names.rearm(names.ARM_BRIDGE)).success)
        eventually(lambda: not g.driver.stopped)
        assert g.client.execute().error_code == WorldError.code, 'not before the next episode'
        assert g.client.load().error_msg == ''
        assert g.client.execute().error_msg == ''
        told = g.listener.state_of(Trigger.Request(), LIMIT_S)
        assert told.success, told.message
        g.beats.close()


def test_a_gate_that_was_only_late_holds_and_the_next_reset_goes_on(guarded, monkeypatch) -> None:
    g = guarded
    monkeypatch.setattr(watcher, 'LATCH_S', LIMIT_S)
    node = watcher_of(g.robot)
    with spinning(*g.nodes, node):
        assert g.client.load().error_msg == ''
        g.skills.move_s = LONG_S
        thread, results = g.client.later()
        eventually(lambda: len(g.driver.followed) > 0, 'the motion')
        with g.bridge._side._gate._lock:
            eventually(lambda: g.driver.stopped, 'the stop of the hardware')
        thread.join(LIMIT_S)
        g.skills.move_s = MOVE_S
        assert results[0].error_code == WorldError.code
        eventually(lambda: not g.driver.stopped, 'that it follows again')
        eventually(lambda: g.listener.is_in(STATUS.ARMED))
        assert g.client.statuses[-1].state == STATUS.HOLDING
        assert g.client.execute().error_code == WorldError.code
        assert g.client.load().error_msg == ''
        assert g.client.execute().error_msg == ''
        g.beats.close()


def test_a_stop_while_the_watcher_is_asked_to_rearm_stays(guarded, monkeypatch) -> None:
    g = guarded
    node = watcher_of(g.robot)
    with spinning(*g.nodes, node):
        assert g.client.load().error_msg == ''
        assert g.client.trigger(names.stop(names.ARM_BRIDGE)).success
        side = g.bridge._side
        ask = side._rearm_watcher

        def stopped_meanwhile(*args: object) -> Trigger.Response:
            assert g.client.trigger(names.stop(names.ARM_BRIDGE)).success
            return ask(*args)
        monkeypatch.setattr(side, '_rearm_watcher', stopped_meanwhile)
        reply = g.client.trigger(names.rearm(names.ARM_BRIDGE))
        assert (reply.success, 'stopped once more' in reply.message) == (False, True)
        assert g.client.load().error_code == StoppedError.code
        monkeypatch.setattr(side, '_rearm_watcher', ask)
        eventually(lambda: g.client.trigger(names.rearm(names.ARM_BRIDGE)).success)
        assert g.client.load().error_msg == ''
        g.beats.close()


def test_a_driver_that_is_not_unlocked_is_told_of(guarded) -> None:
    g = guarded
    node = watcher_of(g.robot)
    with spinning(*g.nodes, node):
        assert g.client.load().error_msg == ''
        assert g.client.trigger(names.stop(names.ARM_BRIDGE)).success
        node._lock.why_locked = lambda timeout_s: 'it said no'
        eventually(lambda: 'the driver was not unlocked: it said no' in g.client.trigger(
            names.rearm(names.ARM_BRIDGE)).message)
        assert g.client.load().error_code == StoppedError.code
        del node._lock.why_locked
        eventually(lambda: g.client.trigger(names.rearm(names.ARM_BRIDGE)).success)
        g.beats.close()


def test_no_skill_begins_without_what_is_required(guarded, monkeypatch) -> None:
    """Heartbeats alone do not tell that the watcher could stop the arm."""
    g = guarded
    node = watcher_of(g.robot)
    with spinning(*g.nodes, node):
        assert g.client.load().error_msg == ''
        assert g.client.execute().error_msg == ''
        moved = len(g.driver.followed)
        monkeypatch.setattr(arm_side, 'BEATS_COME_S', 0.5)
        node._watcher._reach = lambda: 'the controller is inactive: activate it'
        eventually(lambda: bool(g.bridge._side._missing()))
        reply = g.client.execute()
        assert reply.error_code == WorldError.code
        assert 'guarantee watcher does not hold' in reply.error_msg
        assert 'the controller is inactive' in reply.error_msg
        assert len(g.driver.followed) == moved
        node._watcher._reach = lambda: ''
        eventually(lambda: not g.bridge._side._missing())
        assert g.client.execute().error_msg == ''
        g.beats.close()


def test_within_a_skill_nothing_moves_while_the_watcher_does_not_hear_the_gate(
        guarded, monkeypatch) -> None:
    """It leaves an arm alone that has stood for a while without a gate, though it lives itself."""
    g = guarded
    monkeypatch.setattr(arm_side, 'BEATS_COME_S', 0.5)
    monkeypatch.setattr(watcher, 'SETTLE_S', 0.1)
    node = watcher_of(g.robot)
    with spinning(*g.nodes, node):
        assert g.client.load().error_msg == ''
        assert g.client.execute().error_msg == ''
        moved = len(g.driver.followed)
        monkeypatch.setattr(g.bridge._side, '_await_guarantees', lambda: None)  # of the beginning
        node._watcher.beat = lambda *age_s: None
        eventually(lambda: g.listener.is_in(STATUS.REARMED), 'that it watches no more')
        time.sleep(0.5)  # some heartbeats later
        assert ('no heartbeat of arm_bridge, which arm_watcher needs'
                in g.client.execute().error_msg)
        assert len(g.driver.followed) == moved
        del node._watcher.beat
        eventually(lambda: g.client.execute().error_msg == '')
        g.beats.close()


@pytest.mark.parametrize('bridge', [True, False])
def test_a_live_check_asks_the_world_or_listens_to_the_drivers(guarded, bridge) -> None:
    g = guarded
    asking = arm_live.LiveClient()
    nodes = g.nodes if bridge else g.nodes[1:]
    if not bridge:
        g.bridge.close()
        leave(g.bridge)
    with spinning(*nodes, asking):
        if bridge:
            eventually(lambda: bool(g.client.statuses))
        answer = asking.look(g.robot, LIMIT_S if bridge else 0.2)
        found = {one['name']: one for one in answer['guarantees']}
        assert list(found) == list(GUARANTEES)
        assert answer['asked'] == (names.ARM_BRIDGE if bridge else '')
        assert found['watcher']['holds'] is False
        assert answer['may_be_armed'] is False
        assert (found['gate']['holds'] is None) is not bridge
        if not bridge:
            assert found['joint_states']['measured']['rate_hz'] > 0
            assert found['clock']['measured']['n'] > 1
        g.beats.close()


def test_a_live_check_says_in_which_namespace_an_arm_is() -> None:
    elsewhere, asking = Node(names.ARM_BRIDGE, namespace='robot2'), arm_live.LiveClient()
    with spinning(elsewhere, asking):
        eventually(lambda: (names.ARM_BRIDGE, '/robot2')
                   in asking.get_node_names_and_namespaces())
        with pytest.raises(DeadlineError, match='without a namespace; there is one with '
                                                '--namespace robot2$'):
            asking.look('panda', 0.0)


class Limits(Node):
    """A controller_manager that has the parameter of Jazzy."""

    def __init__(self) -> None:
        super().__init__('controller_manager')
        self.declare_parameter('enforce_command_limits', False)


def test_the_controller_manager_is_asked_whether_it_enforces_limits(tmp_path) -> None:
    node, manager = Node('asking'), Limits()
    measures = LiveMeasures(node, load_robot('panda'), names.REAL)

    def said() -> tuple[bool | None, str]:
        seen = measures.observed((), '')
        return seen.command_limits, seen.command_limits_said
    assert said() == (None, 'no controller_manager answers')
    with spinning(node, manager):
        eventually(lambda: said() == (
            False, 'enforce_command_limits of controller_manager is false'))
        manager.set_parameters([Parameter('enforce_command_limits', value=True)])
        eventually(lambda: said()[0] is True)
        manager.undeclare_parameter('enforce_command_limits')
        eventually(lambda: 'has no parameter' in said()[1])


class Manager:
    """A controller_manager as a node has it: its clients, and what they ask.

    Attributes:
        asked: to switch.
        ok: what it says of a switch.
        stuck: whether it switches nothing all the same.
        silent: whether it answers nothing.
        states: of its controllers.
        pending: questions without an answer.
    """

    def __init__(self) -> None:
        self.asked: list[SimpleNamespace] = []
        self.ok = self.there = True
        self.silent = self.stuck = False
        self.states: dict[str, str] = {}
        self.fatal: list[str] = []
        self.pending: list[object] = []
        self.limits: object = None
        self.timer: Callable[[], None] = lambda: None

    def create_client(self, kind: object, name: str, callback_group: object) -> SimpleNamespace:
        answer = {'switch_controller': self._switch, 'list_controllers': self._list,
                  'get_parameters': lambda request: self.limits}[name.rpartition('/')[2]]
        return SimpleNamespace(
            srv_name=f'/{name}', service_is_ready=lambda: self.there,
            call_async=lambda request: self._call(answer, request),
            remove_pending_request=self.pending.remove)

    def create_timer(self, period_s: float, call: Callable[[], None], **options: object) -> None:
        self.timer = call

    def get_logger(self) -> SimpleNamespace:
        return SimpleNamespace(fatal=lambda text, **options: self.fatal.append(text))

    def _call(self, answer: Callable[[object], object], request: object) -> SimpleNamespace:
        reply, silent = answer(request), self.silent
        future = SimpleNamespace(
            done=lambda: not silent, result=lambda: reply,
            add_done_callback=lambda call: None if silent else call(future))
        self.pending += [future] * silent
        return future

    def _switch(self, request: SimpleNamespace) -> SimpleNamespace:
        self.asked.append(request)
        if self.ok and not self.stuck:
            self.states |= dict.fromkeys(getattr(request, 'activate_controllers', []), 'active')
            self.states |= dict.fromkeys(getattr(request, 'deactivate_controllers', []),
                                         'inactive')
        return SimpleNamespace(ok=self.ok)

    def _list(self, request: object) -> SimpleNamespace:
        return SimpleNamespace(controller=[SimpleNamespace(name=name, state=state)
                                           for name, state in self.states.items()])


class Request(SimpleNamespace):
    BEST_EFFORT = 1


def test_a_silent_controller_manager_is_not_believed_for_ever(monkeypatch) -> None:
    manager = Manager()
    manager.limits = SimpleNamespace(values=[SimpleNamespace(
        type=ParameterType.PARAMETER_BOOL, bool_value=True)])
    measures = LiveMeasures(manager, load_robot('panda'), names.REAL)
    manager.timer()
    assert measures.observed((), '').command_limits is True
    manager.silent = True
    manager.timer()
    assert measures.observed((), '').command_limits is True, 'it may be slow'
    monkeypatch.setattr(controllers, 'SILENT_S', -1.0)
    for _ in range(5):
        manager.timer()
    seen = measures.observed((), '')
    assert (seen.command_limits, seen.command_limits_said) == (
        None, 'no controller_manager answers')
    assert len(manager.pending) == 1
    monkeypatch.setattr(controllers, 'SILENT_S', 3.0)
    manager.timer()
    assert len(manager.pending) == 1, 'an answer is waited for, and nothing is asked meanwhile'
    manager.silent = False
    monkeypatch.setattr(controllers, 'SILENT_S', -1.0)
    manager.timer()
    assert measures.observed((), '').command_limits is True


@pytest.fixture
def managed(monkeypatch):
    """A controller_manager whose controller of the arm is active, and the lock by it."""
    monkeypatch.setitem(sys.modules, 'controller_manager_msgs.srv', SimpleNamespace(
        SwitchController=SimpleNamespace(Request=Request),
        ListControllers=SimpleNamespace(Request=Request)))
    manager = Manager()
    manager.states = {'panda_arm_controller': 'active'}
    return manager, ControllerLock(manager, load_robot('panda'))


def test_a_controller_is_deactivated_and_activated_by_its_manager(managed) -> None:
    manager, lock = managed
    assert lock.missing() == ''
    manager.timer()
    assert not manager.asked, 'nothing is wanted of it yet'
    lock.close()
    assert manager.asked[-1] == Request(strictness=1,
                                        deactivate_controllers=['panda_arm_controller'])
    assert lock.is_closed()
    lock.open()
    assert manager.asked[-1].activate_controllers == ['panda_arm_controller']
    assert not lock.is_closed()
    assert lock.why_locked(LIMIT_S) == ''
    manager.ok = False
    lock.close()
    assert not lock.is_closed()
    assert 'panda_arm_controller was not deactivated' in manager.fatal[-1]
    manager.states['panda_arm_controller'] = 'inactive'
    lock.open()
    assert 'panda_arm_controller was not activated' in lock.why_locked(0.01)
    manager.ok = True
    lock.open()
    assert lock.why_locked(LIMIT_S) == ''
    manager.there = False
    assert 'arm.controller_manager' in lock.missing()
    lock.open()
    assert 'is not there' in lock.why_locked(LIMIT_S)
    manager.there, manager.silent = True, True
    lock.open()
    assert 'has not answered' in lock.why_locked(0.01)


@pytest.mark.parametrize('close', [True, False])
def test_a_switch_that_is_said_to_be_done_is_not_believed(managed, monkeypatch, close) -> None:
    """At best effort a manager says so of a controller that has stayed as it was."""
    manager, lock = managed
    manager.states['panda_arm_controller'] = 'active' if close else 'inactive'
    manager.stuck = True
    (lock.close if close else lock.open)()
    assert not lock.is_closed()
    said = f'panda_arm_controller is {"active" if close else "inactive"}'
    if close:
        assert said in manager.fatal[-1]
    else:
        assert said in lock.why_locked(0.01)
    manager.stuck = False
    monkeypatch.setattr(arm_watcher, 'OPEN_AGAIN_S', 0.0)
    if close:
        manager.states['panda_arm_controller'] = 'inactive'  # it only took a while
        manager.timer()
        assert lock.is_closed()
    else:
        manager.timer()
        assert len(manager.asked) == 2, 'it is asked again'
        assert lock.why_locked(LIMIT_S) == ''
        asked = len(manager.asked)
        manager.states['panda_arm_controller'] = 'inactive'
        manager.timer()
        assert len(manager.asked) == asked, 'somebody else wants it so'


@pytest.mark.parametrize(('states', 'said'), [
    ({'panda_arm_controller': 'active'}, ''),
    ({'panda_arm_controller': 'inactive'}, 'is inactive: activate it'),
    ({'broadcaster': 'active'}, 'has no controller panda_arm_controller (it has broadcaster)'),
    (None, 'does not say whether panda_arm_controller is active')])
def test_a_controller_must_be_active(monkeypatch, states, said) -> None:
    """An inactive one has its topics and services, too."""
    monkeypatch.setitem(sys.modules, 'controller_manager_msgs.srv', SimpleNamespace(
        ListControllers=SimpleNamespace(Request=Request)))
    manager = Manager()
    manager.silent, manager.states = states is None, states or {}
    state = ControllerState(manager, load_robot('panda'))
    assert 'does not say' in state.missing(), 'nobody has been asked yet'
    manager.timer()
    assert said in state.missing() and bool(said) == bool(state.missing())
    monkeypatch.setattr(controllers, 'SILENT_S', -1.0)
    assert 'does not say' in state.missing(), 'an old answer counts for nothing'
    manager.there = False
    assert state.missing() == '', 'a driver without a controller_manager'


def test_without_the_messages_of_a_manager_the_remedy_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, 'controller_manager_msgs.srv', None)
    lock = ControllerLock(Manager(), load_robot('panda'))
    lock.close()
    assert not lock.is_closed()
    assert 'ros-jazzy-controller-manager-msgs' in lock.missing()
