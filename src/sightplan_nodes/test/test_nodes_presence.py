"""Nodes say that they are there, whom they hear, and how they are."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sightplan_interfaces import msg

from nodes_testing import eventually, parameters, spinning
from sightplan.graphs.hearing import HEARD_S, LOST_S
from sightplan.graphs.keep_alive import KEEP_ALIVE_VARIABLE
from sightplan.graphs.keeping import PIPE_VARIABLE
from sightplan.model import InputError
from sightplan_arm.gate_status import GateState
from sightplan_nodes import failures, health, names, qos, spin
from sightplan_nodes import presence as presence_module
from sightplan_nodes.agent import AgentNode
from sightplan_nodes.arm_bridge import ArmBridge
from sightplan_nodes.diagnosis import LAST_ERROR, Diagnosis, Level
from sightplan_nodes.experiment import ExperimentNode
from sightplan_nodes.grounder import GrounderNode
from sightplan_nodes.metrics_recorder import MetricsRecorder
from sightplan_nodes.presence import HeardNodes, Presence
from sightplan_nodes.sim_bridge import SimBridge
from sightplan_nodes.status import BUSY_S, NodeStatus
from sightplan_nodes.symbolic_planner import SymbolicPlannerNode


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


# HeardNodes: what a node makes of what it hears. No ROS.

def listening(clock: Clock, heard_nodes: HeardNodes, hears: dict[str, list[str]],
              seconds: float) -> list[str]:
    """What a node complains of after others have said for so long whom they hear."""
    for _ in range(round(seconds)):
        clock.now += 1.0
        for node, heard in hears.items():
            heard_nodes.hear(node, heard)
        found = heard_nodes.lost_connections()
    return found


@pytest.fixture
def heard_nodes() -> tuple[Clock, HeardNodes]:
    clock = Clock()
    return clock, HeardNodes('me', clock)


def test_a_node_among_those_that_hear_each_other_has_nothing_to_complain_of(heard_nodes) -> None:
    clock, mine = heard_nodes
    assert listening(clock, mine, {'me': [], 'agent': ['me', 'eyes'], 'eyes': ['me', 'agent']},
                     2 * LOST_S) == []
    assert mine.ages() == {'agent': 0.0, 'eyes': 0.0}, 'itself it does not hear'
    clock.now += HEARD_S + 1
    assert mine.ages() == {}


def test_who_is_deaf_to_one_says_so_and_so_does_who_is_not_heard(heard_nodes) -> None:
    clock, mine = heard_nodes
    said = listening(clock, mine, {'agent': ['me', 'eyes']}, LOST_S + 2)
    assert said == ['has not heard eyes for 21 s, which agent hears: restart this node, or eyes']
    said = listening(clock, mine, {'agent': ['me', 'eyes'], 'eyes': ['agent']}, LOST_S + 2)
    assert said == ['eyes has not heard this node for 21 s: restart eyes, or this node']
    assert listening(clock, mine, {'agent': ['me', 'eyes'], 'eyes': ['agent', 'me']}, 1) == []


def test_who_hears_nobody_any_more_says_so_unless_they_said_that_they_end(heard_nodes) -> None:
    clock, mine = heard_nodes
    assert listening(clock, mine, {}, 2 * LOST_S) == [], 'it is alone'
    listening(clock, mine, {'agent': ['me'], 'eyes': ['me']}, 2)
    said = listening(clock, mine, {}, LOST_S + HEARD_S + 2)
    assert len(said) == 1 and said[0].startswith('hears nobody any more, and heard agent, eyes')
    mine.forget('agent')
    mine.forget('eyes')
    assert listening(clock, mine, {}, 2) == []


# A diagnosis.

def test_a_diagnosis_has_the_worst_level_and_values_that_can_be_read() -> None:
    diagnosis = Diagnosis()
    assert diagnosis.status('n').message == 'OK' and diagnosis.status('n').level == b'\0'
    diagnosis.error('broken')
    diagnosis.warn('and late')
    diagnosis.note(yes=True, none=None, never=float('inf'), ratio=1 / 3, many=('b', 'a'), text='',
                   some={'a': 0.5}, count=3)
    status = diagnosis.status('hardware/n')
    assert (status.name, status.level, status.message) == (
        'hardware/n', b'\2', 'broken; and late')
    assert {one.key: one.value for one in status.values} == {
        'yes': 'yes', 'none': '-', 'never': '-', 'ratio': '0.333', 'many': 'a, b', 'text': '-',
        'some': 'a 0.5', 'count': '3'}


def test_a_lone_surrogate_in_words_can_be_sent() -> None:
    diagnosis = Diagnosis()
    diagnosis.error('\ud800 and \0')
    diagnosis.note(odd='\ud800')
    diagnosis.status('n').message.encode()


# On ROS.

class Watcher(Node):
    """Collects what is said on both topics."""

    def __init__(self) -> None:
        super().__init__('watcher')
        self.beats: list[msg.Heartbeat] = []
        self.arrays: list[DiagnosticArray] = []
        self.create_subscription(msg.Heartbeat, names.PRESENCE, self.beats.append, qos.PRESENCE)
        self.create_subscription(DiagnosticArray, names.DIAGNOSTICS, self.arrays.append,
                                 qos.DIAGNOSTICS)

    def newest(self, node: str) -> dict[str, str]:
        """The newest status of a node: level, message and values by name."""
        for array in reversed(self.arrays):
            (status,) = array.status
            if status.name == node:
                return {'LEVEL': Level(status.level[0]).name, 'MESSAGE': status.message,
                        **{one.key: one.value for one in status.values}}
        return {}


@contextlib.contextmanager
def present(*nodes: Node) -> Iterator[list[Presence]]:
    """Nodes that are there, as ``spin.run`` lets them be in a graph that is kept alive."""
    with spinning(*nodes):
        status = [NodeStatus(node) for node in nodes]
        found = [Presence(node, one, {}) for node, one in zip(nodes, status, strict=True)]
        try:
            yield found
        finally:
            for one in (*found, *status):
                one.close()


@contextlib.contextmanager
def watched(*nodes: Node) -> Iterator[list[NodeStatus]]:
    """Nodes that say how they are, as ``spin.run`` lets them."""
    with spinning(*nodes):
        found = [NodeStatus(node) for node in nodes]
        try:
            yield found
        finally:
            for one in found:
                one.close()


def test_nodes_say_whom_they_hear_and_that_they_end(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for function in ('init', 'try_shutdown'):  # ROS is there already
        monkeypatch.setattr(health.rclpy, function, lambda **_: None)
    watcher = Watcher()
    with spinning(watcher):
        for module in ('presence', 'status'):
            monkeypatch.setattr(f'sightplan_nodes.{module}.PERIOD_S', 0.05)
        with present(Node('eyes'), Node('sim', namespace='/hardware')) as (eyes, sim):
            eventually(lambda: list(eyes.heard_nodes.ages()) == ['hardware/sim'], 'eyes to hear')
            eventually(lambda: list(sim.heard_nodes.ages()) == ['eyes'], 'sim to hear')
            eventually(lambda: any(beat.node == 'eyes' and list(beat.hears) == ['hardware/sim']
                                   for beat in watcher.beats), 'eyes to say so')
            assert health.main(['--hears', '--json', '--timeout', '0.5']) == health.HEALTHY
            table = json.loads(capsys.readouterr().out)['hears']
            assert table == {'eyes': ['hardware/sim'], 'hardware/sim': ['eyes']}
            eventually(lambda: watcher.newest('eyes').get('hears_s_ago', '').startswith(
                'hardware/sim '), 'the diagnostics')
            sim.close()
            eventually(lambda: not eyes.heard_nodes.ages(), 'eyes to know that sim has ended')
        eventually(lambda: sum(not (beat.header.stamp.sec or beat.header.stamp.nanosec)
                               for beat in watcher.beats) == 2, 'that both have ended')


def test_what_is_lost_is_logged_once_and_on_diagnostics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('sightplan.graphs.hearing.LOST_S', 1.0)
    for module in ('sightplan.graphs.hearing', 'sightplan_nodes.presence'):
        monkeypatch.setattr(f'{module}.HEARD_S', 2.0)
    for module in ('presence', 'status'):
        monkeypatch.setattr(f'sightplan_nodes.{module}.PERIOD_S', 0.05)
    watcher, said = Watcher(), []
    with spinning(watcher), present(Node('eyes'), Node('agent'), Node('arm')) as (eyes, agent, _):
        hear = eyes.heard_nodes.hear
        for one in (eyes, agent):
            monkeypatch.setattr(one, '_node', _Saying(one._node, said))
        monkeypatch.setattr(eyes.heard_nodes, 'hear', lambda node, hears: (
            None if node == 'agent' else hear(node, hears)))
        eventually(lambda: 'has not heard agent' in watcher.newest('eyes').get('MESSAGE', ''),
                   'the report')
        assert watcher.newest('eyes')['LEVEL'] == 'ERROR'
        eventually(lambda: 'eyes has not heard this node' in watcher.newest('agent').get(
            'MESSAGE', ''), 'the report of the other')
        count = len(watcher.arrays)
        eventually(lambda: len(watcher.arrays) > count + 30, 'more of them')
        assert sum('has not heard agent' in words for _, words in said) == 1, said
        monkeypatch.setattr(eyes.heard_nodes, 'hear', hear)
        eventually(lambda: ('eyes', 'hears and is heard again') in said, 'the end of it')
        eventually(lambda: 'heard' not in watcher.newest('eyes')['MESSAGE'], 'its end there')


class _Saying:
    """A node whose log is kept."""

    def __init__(self, node: Node, said: list[tuple[str, str]]) -> None:
        self._node, self._said = node, said

    def __getattr__(self, name: str):
        return getattr(self._node, name)

    def get_logger(self) -> _Saying:
        return self

    def error(self, words: str) -> None:
        self._said.append((self._node.get_name(), words))

    info = error


def test_a_launcher_is_told_through_its_pipe() -> None:
    reading, writing = os.pipe()
    node = Node('eyes')
    with spinning(node), open(reading, 'rb') as lines:
        status = NodeStatus(node)
        presence = Presence(node, status, {PIPE_VARIABLE: str(writing)})
        assert json.loads(lines.readline()) == {
            'node': 'eyes', 'pid': os.getpid(), 'hears': [], 'others': {}}
        presence.close()
        status.close()
    os.close(writing)


def test_a_node_whose_executor_hangs_says_so_itself() -> None:
    node = Node('eyes')  # nobody spins it
    status = NodeStatus(node)
    status._turned_at -= BUSY_S + 1
    assert 'answers nobody' in status.diagnose().words[0]
    status.turned()
    assert status.diagnose().words == []
    status.close()
    node.destroy_node()


def test_a_diagnosis_that_breaks_says_so() -> None:
    class Broken(Node):
        def diagnose(self, diagnosis: Diagnosis) -> None:
            diagnosis.note(before=1)
            raise ZeroDivisionError('oops')
    with watched(Broken('eyes')) as (eyes,):
        found = eyes.diagnose()
        assert found.values['before'] == '1' and found.level is Level.WARN
        assert found.words == ['cannot say how it is: ZeroDivisionError: oops']


def test_half_a_heartbeat_does_not_end_the_hearing(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, take = [], presence_module.take_message

    def take_or_break(*arguments: object) -> object:
        taken.append(1)
        if len(taken) == 2:
            raise ValueError('half a message')
        return take(*arguments)
    monkeypatch.setattr(presence_module, 'take_message', take_or_break)
    with present(Node('eyes'), Node('agent')) as (eyes, agent):
        eventually(lambda: len(taken) > 3, 'more of them')
        eventually(lambda: ('agent' in eyes.heard_nodes.ages()
                            and 'eyes' in agent.heard_nodes.ages()), 'to hear')


def test_the_last_error_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reply:
        error_code, error_msg = 0, ''
    monkeypatch.setattr(LAST_ERROR, 'count', 0)
    failures.fill_error(Reply(), InputError('the red thing is blue'))
    with watched(Node('eyes')) as (eyes,):
        values = eyes.diagnose().values
    assert (values['errors'], values['last_error']) == ('1', 'the red thing is blue')


def diagnosed(node: Node) -> Diagnosis:
    diagnosis = Diagnosis()
    node.diagnose(diagnosis)
    return diagnosis


@pytest.mark.parametrize(('kind', 'given', 'values'), [
    (AgentNode, {}, {'episode': '-', 'needs': '-', 'picture_s_ago': '-', 'jobs_waiting': '0'}),
    (SimBridge, {}, {'problem': '-', 'carries_out_a_goal': 'no'}),
    (SimBridge, {'execution': 'arm'}, {'robot': 'panda', 'gate': '-', 'hardware': 'in process'}),
    (SymbolicPlannerNode, {}, {'jobs_waiting': '0'}),
    (MetricsRecorder, {}, {'run': '-', 'episode': '-', 'episodes_committed': '0'}),
    (ExperimentNode, {'autostart': False}, {'episodes_done': '0', 'episodes_planned': '0'})])
def test_each_node_says_what_is_its_own(kind, given, values) -> None:
    node = kind(parameter_overrides=parameters(**given))
    with spinning(node):
        found = diagnosed(node)
    assert found.level is Level.OK and found.words == []
    assert values.items() <= found.values.items()


def test_a_model_says_its_state_and_its_name() -> None:
    node = GrounderNode(parameter_overrides=parameters(
        autostart=False, backend='noisy_oracle', backend_options='table=perfect'))
    with watched(node) as (status,):
        found = status.diagnose()
        assert found.level is Level.WARN and found.words == ['is unconfigured, not active']
        assert found.values['lifecycle'] == 'unconfigured' and found.values['model'] == '-'
        assert node.trigger_configure().name == node.trigger_activate().name == 'SUCCESS'
        found = status.diagnose()
        assert found.words == [] and found.values['lifecycle'] == 'active'
        assert found.values['model'].startswith('noisy_oracle')


def test_an_arm_says_what_holds_it_and_what_is_not_guaranteed() -> None:
    node = ArmBridge(parameter_overrides=parameters(hardware='simulated'))
    with spinning(node):
        eventually(lambda: diagnosed(node).level is Level.ERROR, 'the guarantees to be looked at')
        found = diagnosed(node)
        words = '; '.join(found.words)
        assert 'no joint states come' in words and 'guarantee ' in words and 'remedy' in words
        assert found.values['gate'] in GateState.__members__
        assert 'no' in [value for key, value in found.values.items() if 'guarantee_' in key]
        node._side._gate.stop('stop_request', 'by hand')
        assert any(one.startswith('the arm is stopped (stop_request): by hand; re-arm it')
                   for one in diagnosed(node).words)


# The console.

def test_the_console_shows_who_hears_whom() -> None:
    found = health.presence_health({'agent': ['eyes'], 'eyes': []})
    assert [(one.node, one.healthy, one.reason) for one in found] == [
        ('agent', True, 'hears eyes'), ('eyes', False, 'hears nobody; not agent')]
    (nobody,) = health.presence_health({})
    assert not nobody.healthy and 'no node says that it is there' in nobody.reason


def test_a_busy_executor_hears_all_the_same() -> None:
    """It is the thread that hears."""
    blocked = threading.Event()

    class Busy(Node):
        def __init__(self) -> None:
            super().__init__('busy')
            self.create_timer(0.0, lambda: blocked.wait(20.0))
    with present(Busy(), Node('eyes')) as (busy, _):
        eventually(lambda: 'eyes' in busy.heard_nodes.ages(), 'the busy one to hear')
        blocked.set()


@pytest.mark.parametrize('wanted', ['', '1'])
def test_a_node_is_kept_alive_only_where_somebody_asks(
        monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setenv(KEEP_ALIVE_VARIABLE, wanted)
    with watched(Node('eyes')) as (status,):
        added = spin._keep_alive(status._node, status)
        assert [type(one).__name__ for one in added] == ['Presence'] * bool(wanted)
        assert status._node.count_publishers(names.PRESENCE) == len(added)
        for one in added:
            one.close()
