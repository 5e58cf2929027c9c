"""The action grasp_at of worlds with an arm, and the client behind ``sightplan arm grasp``."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from rclpy.node import Node
from sightplan_interfaces import msg
from sightplan_interfaces.action import GraspAt
from sightplan_interfaces.srv import LoadProblem, Locate, ResetWorld
from std_srvs.srv import Trigger

from arm_testing import Driver, ScriptedSkills, patient_robot
from nodes_testing import LIMIT_S, eventually, parameters, problem, spinning
from sightplan.cli import main
from sightplan.model import (
    CancelledError,
    DeadlineError,
    Form,
    InputError,
    Region,
    StoppedError,
    WorldError,
)
from sightplan_arm import command
from sightplan_arm.geometry import inverse, transform
from sightplan_arm.skills.motions import MotionSequence
from sightplan_arm.skills.report import Stopwatch
from sightplan_nodes import arm_side, calls, grasp, names, qos
from sightplan_nodes.arm_bridge import ArmBridge
from sightplan_nodes.calls import ActionCaller, ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.failures import raise_error
from sightplan_nodes.grasp import GraspClient, Request, read_request
from sightplan_nodes.sim_bridge import SimBridge

WORLD = names.SIM_BRIDGE


class Client:
    """Somebody who points."""

    def __init__(self, world: str = WORLD) -> None:
        self.node = node = Node('client')
        self.reports: list[msg.SkillReport] = []
        node.create_subscription(msg.SkillReport, names.SKILL_REPORT, self.reports.append,
                                 qos.EVENTS)
        self._load = ServiceCaller(node, LoadProblem, names.load_problem(world), world)
        self._reset = ServiceCaller(node, ResetWorld, names.reset(world), world)
        self._stop = ServiceCaller(node, Trigger, names.stop(world), world)
        self._grasp = ActionCaller(node, GraspAt, names.GRASP_AT, world)
        self.cancel = threading.Event()

    def load(self) -> None:
        domain, first = problem()
        raise_error(self._load(LoadProblem.Request(
            episode_id='e', domain='blocksworld', problem=first.name, seed=3,
            domain_pddl=domain.pddl, problem_pddl=domain.write_problem(first)), LIMIT_S), WORLD)

    def stop(self) -> None:
        assert self._stop(Trigger.Request(), LIMIT_S).success

    def clear_view(self) -> GraspAt.Result:
        return self._grasp.checked(GraspAt.Goal(clear_view=True), LIMIT_S)

    def grasp(self, region: Region | None = None, label: str = 'block') -> GraspAt.Result:
        return self._grasp.checked(GraspAt.Goal(
            region=msg.Region() if region is None else MESSAGES.region_to_msg(region),
            label=label),
            LIMIT_S, self.cancel.is_set)


@pytest.fixture
def table(tmp_path):
    """A bridge to a simulated arm with blocks, and a client."""
    @contextlib.contextmanager
    def make(**settings: object):
        bridge = SimBridge(parameter_overrides=parameters(**{
            'execution': names.ARM, 'robot': patient_robot(tmp_path), 'domain': 'blocksworld',
            **settings}))
        client = Client()
        with spinning(bridge, client.node):
            eventually(lambda: bool(bridge._worlds), 'the arm')
            yield bridge, client
    return make


def arm_world(bridge: SimBridge):
    return next(iter(bridge._worlds.values()))


def unit(bridge: SimBridge, point_m) -> tuple[float, float]:
    """Unit coordinates of a point of the table."""
    world = arm_world(bridge)
    at = transform(inverse(world.robot.camera.pose), point_m)
    info = world.camera_info()
    column, row = (info.matrix @ (at / at[2]))[:2]
    return (float(column) + 0.5) / info.width, (float(row) + 0.5) / info.height


def topmost(bridge: SimBridge) -> tuple[str, np.ndarray]:
    """The block that stands highest, and where it is."""
    blocks = {name: np.array(pose[:3])
              for name, pose in arm_world(bridge).arm.poses().blocks.items()}
    name = max(blocks, key=lambda one: float(blocks[one][2]))
    return name, blocks[name]


def on(bridge: SimBridge) -> tuple[str, Region]:
    """That block, and a region on its front."""
    name, (x, y, z) = topmost(bridge)
    return name, Region(Form.POINT, (unit(bridge, (x, y - 0.025, z)),))


# --- the action ---------------------------------------------------------------------------------

def test_a_block_that_is_pointed_at_is_lifted_by_friction_and_put_back(table) -> None:
    with table() as (bridge, client):
        client.load()
        name, region = on(bridge)
        before = topmost(bridge)[1]
        result = client.grasp(region, 'the Block')
        assert (result.cause, result.message) == ('done', '')
        lifted = np.array(arm_world(bridge).arm.poses().blocks[name][:3])
        assert lifted[2] - before[2] > 0.1
        assert client.grasp(region).cause == 'occupied'
        assert client.grasp().cause == 'done'  # put back
        at = np.array(arm_world(bridge).arm.poses().blocks[name][:3])
        assert at == pytest.approx(before, abs=0.01)
        eventually(lambda: len(client.reports) == 3, 'the reports')
        assert [(one.cause, one.action.name) for one in client.reports] == [
            ('done', 'grasp'), ('occupied', 'grasp'), ('done', 'put_back')]
        assert client.reports[0].action.args == ['the_block']
        client.load()  # and an episode may begin


def test_without_a_problem_the_table_is_bare_and_nothing_is_found(table) -> None:
    with table() as (bridge, client):
        bare = Region(Form.POINT, (unit(bridge, (0.0, -0.08, 0.0)),))
        assert client.grasp(bare).cause == 'not_found'
        assert client.grasp().cause == 'unknown'  # nothing to put back


def test_a_place_that_cannot_be_read_is_an_error(table) -> None:
    with table() as (_, client), pytest.raises(InputError, match='form = 9'):
        client._grasp.checked(GraspAt.Goal(region=msg.Region(form=9)), LIMIT_S)


def test_a_stopped_arm_takes_nothing(table) -> None:
    with table() as (bridge, client):
        client.load()
        client.stop()
        with pytest.raises(StoppedError):
            client.grasp(on(bridge)[1])


def test_who_cancels_holds_the_arm(table) -> None:
    with table() as (bridge, client):
        client.load()
        gate = arm_world(bridge).gate
        gate.on_status(lambda status: client.cancel.set() if status.moving else None)
        with pytest.raises((CancelledError, WorldError)):
            client.grasp(on(bridge)[1])
        assert not bridge._side.is_ready()
        client.cancel.clear()
        eventually(lambda: not gate.status().moving, 'the arm standing')


@pytest.mark.slow
def test_after_a_hold_what_is_held_is_put_back_and_the_camera_shows_it(table, monkeypatch) -> None:
    with table() as (bridge, client):
        client.load()
        before = topmost(bridge)[1]
        name, region = on(bridge)
        arm, gate, shown = arm_world(bridge).arm, arm_world(bridge).gate, bridge._frame
        follow = gate.follow

        def held_at_the_top(trajectory, what: str, *around, **options) -> bool:
            done = follow(trajectory, what, *around, **options)
            if what.startswith('up with'):
                monkeypatch.undo()
                gate.hold('cancelled', 'somebody cancelled')
                gate.check_armed()
            return done
        monkeypatch.setattr(gate, 'follow', held_at_the_top)
        with pytest.raises((CancelledError, WorldError)):
            client.grasp(region)
        assert not bridge._side.is_ready()
        assert arm.poses().blocks[name][2] > before[2] + 0.1, 'it stays in the hand'
        eventually(lambda: bridge._frame is not shown, 'a picture of it')
        assert client.grasp(region).cause == 'occupied'
        result = client.grasp()
        assert result.cause == 'done', result.message
        assert np.array(arm.poses().blocks[name][:3]) == pytest.approx(before, abs=0.01)


def test_while_an_agent_is_there_nothing_is_grasped(table) -> None:
    with table() as (bridge, client):
        client.load()
        beats = client.node.create_publisher(msg.Heartbeat, names.HEARTBEAT, qos.HEARTBEAT)
        eventually(lambda: beats.get_subscription_count() > 0, 'a listener')
        beats.publish(msg.Heartbeat(node=names.AGENT))
        eventually(lambda: bridge._side._agent_heard_s > 0, 'the heartbeat')
        with pytest.raises(WorldError, match='agent'):
            client.grasp(on(bridge)[1])


@pytest.mark.parametrize(('chance', 'present', 'refused'), [
    (0.5, 0.99, 'at this place is 0.5, and 0.9'), (0.89, math.nan, 'at this place is 0.89'),
    (0.95, 0.89, 'that it exists is 0.89, and 0.9'), (0.9, 0.9, ''), (math.nan, math.nan, ''),
    (0.0, 0.0, '')])
def test_the_action_takes_nothing_that_a_model_was_not_sure_of(chance, present, refused) -> None:
    """Whoever asks: the rule does not depend on the command."""
    why = arm_side._too_improbable(GraspAt.Goal(region=msg.Region(
        form=msg.Region.POINT, x=[0.5], y=[0.5], probability=chance), present=present))
    assert refused in why and bool(why) is bool(refused)


def test_a_place_that_is_too_improbable_is_not_found_and_nothing_moves(table) -> None:
    with table() as (bridge, client):
        client.load()
        name, region = on(bridge)
        before = topmost(bridge)[1]
        result = client.grasp(dataclasses.replace(region, probability=0.8))
        assert result.cause == 'not_found' and '0.9 is needed' in result.message
        assert topmost(bridge)[1] == pytest.approx(before, abs=1e-3)
        cleared = client.clear_view()
        assert (cleared.cause, cleared.moved) == ('done', False)
        assert client.grasp(region).cause == 'done'
        for refused in (client.grasp(dataclasses.replace(region, probability=0.8)),
                        client.clear_view()):
            assert refused.cause == 'occupied', 'the hand is full, whatever else there is'
        assert arm_world(bridge).arm.poses().blocks[name][2] > before[2] + 0.1


def test_an_arm_in_the_view_of_the_camera_moves_out_of_it(table) -> None:
    with table() as (bridge, client):
        client.load()
        world, skills = arm_world(bridge), bridge._side._pointing
        assert skills.is_parked()
        motions = MotionSequence(skills._paths, world.robot.arm.park)
        motions.joints('test', 'into the view', world.robot.arm.ready)
        with world.gate.skill('test'):
            skills._follow(motions.take(), Stopwatch(world.arm.now_s))
        assert not skills.is_parked()
        result = client.clear_view()
        assert (result.cause, result.moved) == ('done', True)
        assert skills.is_parked()


def test_to_clear_the_view_names_no_place(table) -> None:
    with table() as (_, client), pytest.raises(InputError, match='leave the region out'):
        client._grasp.checked(GraspAt.Goal(clear_view=True, region=msg.Region(
            form=msg.Region.POINT, x=[0.5], y=[0.5])), LIMIT_S)


def test_points_without_a_form_are_no_wish_to_put_back(table) -> None:
    with table() as (_, client), pytest.raises(InputError, match='form 0'):
        client._grasp.checked(GraspAt.Goal(region=msg.Region(x=[0.5], y=[0.5])), LIMIT_S)


def test_settings_of_the_skills_are_the_nodes(table) -> None:
    with table(pointing_options='lift_m=0.1') as (bridge, client):
        client.load()
        name, region = on(bridge)
        before = topmost(bridge)[1]
        assert client.grasp(region).cause == 'done'
        lifted = np.array(arm_world(bridge).arm.poses().blocks[name][:3])
        assert 0.05 < lifted[2] - before[2] < 0.12


def test_arm_bridge_tells_what_its_camera_does_not_show(tmp_path, monkeypatch) -> None:
    """The scripted camera sees a wall at 1 m, and no table."""
    monkeypatch.setattr(arm_side, 'load_skills',
                        lambda domain, *arguments, **options: ScriptedSkills(*arguments))
    monkeypatch.setattr(calls, '_NO_PARAMETERS_S', 0.05)
    robot = patient_robot(tmp_path)
    driver, client = Driver(robot), Client(names.ARM_BRIDGE)
    bridge = ArmBridge(parameter_overrides=parameters(robot=robot, hardware=names.SIMULATED))
    with (spinning(bridge, driver.node, client.node),
          pytest.raises(InputError, match='of the table is seen')):
        client.grasp(Region(Form.POINT, ((0.5, 0.5),)))


# --- the client ---------------------------------------------------------------------------------

class Graph:
    """A grounder and a world that do as they are told."""

    def __init__(self, world: str = WORLD) -> None:
        from rclpy.action import ActionServer
        self.grounder, self.world = Node(names.GROUNDER), Node(world)
        self.located = msg.Located(
            target='the mug', probability=0.9, sure=True, present=0.95,
            regions=[MESSAGES.region_to_msg(Region(Form.POINT, ((0.25, 0.75),)))])
        self.hidden = False
        """Whether the arm stands before the thing, which is not seen until it moves away."""
        self.occupied = False
        self.takes_until: threading.Event | None = None
        """Awaited before each motion ends; None: nothing is."""
        self.goals: list[GraspAt.Goal] = []
        self.cleared = 0
        self.asked: list[Locate.Request] = []
        self.grounder.create_service(Locate, names.LOCATE, self._locate)
        ActionServer(self.world, GraspAt, names.GRASP_AT, self._grasp)

    def _locate(self, request: Locate.Request, response: Locate.Response) -> Locate.Response:
        self.asked.append(request)
        nothing = msg.Located(probability=0.97, present=0.03, sure=True)
        if request.form == msg.Region.BOX:
            self.located.regions = [MESSAGES.region_to_msg(Region(
                Form.BOX, ((0.2, 0.7), (0.3, 0.8))))]
        response.found = [
            self.located if target in ('the mug', 'the rim of the bowl') and not self.hidden
            else nothing for target in request.targets]
        return response

    def _grasp(self, handle) -> GraspAt.Result:
        if self.takes_until is not None:
            self.takes_until.wait(LIMIT_S)
        handle.succeed()
        if handle.request.clear_view:
            self.cleared += 1
            if self.occupied:
                return GraspAt.Result(cause='occupied', message='the hand is full')
            moved, self.hidden = self.hidden, False
            return GraspAt.Result(cause='done', moved=moved)
        self.goals.append(handle.request)
        return GraspAt.Result(cause='done', message='')

    def ask(self, request: Request) -> dict:
        client = GraspClient()
        with spinning(self.grounder, self.world, client):
            return client.grasp(request, lambda: False)


def test_what_is_named_is_located_and_grasped_there() -> None:
    graph = Graph()
    answer = graph.ask(Request('the mug'))
    assert answer == {'probability': 0.9, 'world': WORLD, 'cause': 'done', 'message': '',
                      'whereabouts': 'here',
                      'region': {'form': 'point', 'points': [[0.25, 0.75]], 'probability': 0.9}}
    assert graph.asked[0].targets == ['the mug'] and graph.asked[0].accept == 0.9
    assert graph.goals[0].label == 'the mug' and not graph.goals[0].part
    assert graph.asked[0].mark == '', 'a whole thing is checked by its outline'
    assert list(graph.goals[0].region.x) == [0.25] and graph.goals[0].region.probability == 0.9
    assert graph.goals[0].present == 0.95 and graph.cleared == 0


@pytest.mark.parametrize(('changes', 'cause', 'words'), [
    ({'probability': 0.89}, 'abstained', 'not sure where the mug is'),
    ({'present': 0.89}, 'abstained', 'that it exists is below 0.9'),
    ({'regions': []}, 'not_found', 'there is no mug (P = 0.90)'),
    ({'regions': [], 'sure': False, 'doubt': 'the probability is below 0.9'}, 'not_found',
     'there is no mug'),
    ({'regions': [], 'sure': False, 'doubt': "cannot tell: the model does not know 'mug'"},
     'abstained', "whether there is a mug: the model does not know 'mug'"),
    ({'unread': 'no numbers'}, 'abstained', 'no numbers'),
    ({'sure': False, 'doubt': 'no check confirmed that it is there'}, 'abstained',
     'no check confirmed'),
    ({'probability': math.nan}, 'abstained', 'not sure where')])
def test_what_is_not_sure_is_not_grasped(changes, cause, words) -> None:
    graph = Graph()
    for name, value in changes.items():
        setattr(graph.located, name, value)
    answer = graph.ask(Request('the mug'))
    assert answer['cause'] == cause and words in answer['message']
    assert graph.goals == []


def test_what_the_arm_hid_is_looked_for_again_once_it_is_out_of_the_view() -> None:
    graph = Graph()
    graph.hidden = True
    assert graph.ask(Request('the mug'))['cause'] == 'done'
    assert graph.cleared == 1 and len(graph.goals) == 1


def test_nobody_looks_again_where_nothing_moved() -> None:
    graph = Graph()
    answer = graph.ask(Request('the kettle'))
    assert (answer['cause'], answer['whereabouts']) == ('not_found', 'not here')
    asked = [list(request.targets) for request in graph.asked]
    assert asked == [['the kettle'], ['the teapot', 'the jug']] and graph.cleared == 1


def test_a_full_hand_is_told_before_what_is_not_found() -> None:
    graph = Graph()
    graph.occupied = True
    answer = graph.ask(Request('the kettle'))
    assert (answer['cause'], answer['message']) == ('occupied', 'the hand is full')
    assert graph.goals == [] and 'like' not in answer


def test_what_is_like_an_absent_thing_is_named_with_its_place() -> None:
    graph = Graph()
    answer = graph.ask(Request('the cup'))
    assert (answer['cause'], graph.goals) == ('not_found', [])
    assert 'what is like it: a mug' in answer['message']
    assert answer['like'][0]['target'] == 'the mug'


def test_a_place_a_trace_and_putting_back_need_no_grounder() -> None:
    for request, form in ((Request('the mug', ((0.1, 0.2),)), msg.Region.POINT),
                          (Request('', ((0.1, 0.2), (0.3, 0.4))), msg.Region.TRACE),
                          (Request(put_back=True), 0)):
        graph = Graph(names.ARM_BRIDGE)
        assert graph.ask(request)['world'] == names.ARM_BRIDGE
        assert graph.asked == [] and graph.goals[0].region.form == form


def test_a_part_is_taken_where_it_is_pointed_at() -> None:
    assert Request('the handle of the drawer').is_part
    assert not Request('the mug').is_part and not Request('the offcut').is_part
    assert not Request('the handle of the drawer', part=False).is_part
    graph = Graph()
    graph.ask(Request('the rim of the bowl'))
    assert graph.goals[0].part and graph.asked[0].mark == 'point'


def test_a_limit_that_has_passed_names_its_flag_and_its_clock() -> None:
    graph, client, given_up = Graph(), GraspClient(), threading.Event()
    graph.takes_until = given_up
    with spinning(graph.grounder, graph.world, client):
        with pytest.raises(DeadlineError, match=r'within 0\.5 s.*; --timeout allows more.*clock'):
            client.grasp(Request('the mug', ((0.5, 0.5),), timeout_s=0.5), lambda: False)
        given_up.set()


def test_without_a_world_it_says_what_to_start(monkeypatch) -> None:
    monkeypatch.setattr(grasp, '_APPEAR_S', 0.2)
    client = GraspClient()
    with spinning(client), pytest.raises(DeadlineError, match='sightplan up'):
        client.grasp(Request('the mug'), lambda: False)


@pytest.mark.parametrize('data', [
    {}, {'target': 'x', 'points': [[1]]}, {'wobble': 1}, {'target': 'x', 'put_back': True},
    {'target': 'x', 'least': math.nan}, {'target': 'x', 'timeout_s': math.inf},
    {'target': 'x', 'timeout_s': -1.0}, {'target': 'x', 'least': 1.5},
    {'target': 'x', 'least': 0.5}])
def test_requests_that_make_no_sense_are_refused(data) -> None:
    with pytest.raises(InputError):
        read_request(data)


# --- the command --------------------------------------------------------------------------------

@pytest.mark.parametrize(('arguments', 'wanted'), [
    (['the red mug'], {'target': 'the red mug', 'points': []}),
    (['mug', '--at', '0.41,0.63'], {'points': [(0.41, 0.63)]}),
    (['mug', '--trace', '0.1,0.2', '0.3,0.4', '--no-part'],
     {'points': [(0.1, 0.2), (0.3, 0.4)], 'part': False}),
    (['--put-back'], {'put_back': True, 'points': []}),
    (['mug', '--namespace', 'left', '-r', 'a:=b', '-r', 'c:=d'],
     {'place': {'namespace': 'left', 'remap': 'a:=b c:=d'}})])
def test_the_command_asks_the_graph(monkeypatch, capsys, arguments, wanted) -> None:
    asked = []
    monkeypatch.setattr(command, '_ask_graph', lambda request: asked.append(request) or {
        'cause': 'done', 'message': '', 'probability': 0.91, 'world': WORLD})
    assert main(['arm', 'grasp', *arguments]) == 0
    assert {key: asked[0][key] for key in wanted} == wanted
    assert 'done (P = 0.91)' in capsys.readouterr().out
    read_request({name: value for name, value in json.loads(json.dumps(asked[0])).items()
                  if name != 'place'})  # and the client reads it


@pytest.mark.parametrize(('answer', 'words'), [
    ({'cause': 'no_grasp', 'message': 'too wide'}, 'no_grasp: too wide'),
    ({'cause': 'not_found', 'message': 'there is no mug (P = 0.97)', 'probability': 0.97},
     'not_found: there is no mug (P = 0.97)\n'),
    ({'error': 'nobody is there', 'code': 3}, 'error: nobody is there')])
def test_what_was_not_lifted_is_a_failure(monkeypatch, capsys, answer, words) -> None:
    monkeypatch.setattr(command, '_ask_graph', lambda request: answer)
    assert main(['arm', 'grasp', 'the mug']) == 1
    said = capsys.readouterr()
    assert words in said.out + said.err


@pytest.mark.parametrize('arguments', [
    [], ['--at', '1.2,0.5'], ['--at', 'left'], ['mug', '--at', ''], ['mug', '--at', 'nan,0.5'],
    ['mug', '--trace', '0.1,0.2'], ['mug', '--put-back'], ['mug', '--least', 'nan'],
    ['mug', '--least', '1.1'], ['mug', '--least', '0.5'], ['mug', '--timeout', 'inf'],
    ['mug', '--timeout', '0']])
def test_wrong_arguments_are_refused(capsys, arguments) -> None:
    assert main(['arm', 'grasp', *arguments]) == 2
    assert 'sightplan arm grasp' in capsys.readouterr().err


def test_only_the_world_of_its_own_namespace_is_asked(monkeypatch) -> None:
    monkeypatch.setattr(grasp, '_APPEAR_S', 0.3)
    elsewhere, client = Node(WORLD, namespace='hardware'), GraspClient()
    with spinning(elsewhere, client):
        eventually(lambda: (WORLD, '/hardware') in client.get_node_names_and_namespaces())
        with pytest.raises(DeadlineError, match='sightplan up grasp'):
            client.grasp(Request('the mug'), lambda: False)
        with pytest.raises(CancelledError):
            client.grasp(Request('the mug'), lambda: True)


FAKE = """
import pathlib, signal, sys, threading, time
cancel = threading.Event()
signal.signal(signal.SIGINT, lambda *_: cancel.set())
threading.Thread(target=lambda: (sys.stdin.read(), cancel.set()), daemon=True).start()
here = pathlib.Path(__file__).parent
(here / 'begun').touch()
end = time.monotonic() + 60
while not cancel.is_set() and time.monotonic() < end:
    time.sleep(0.01)  # asking again, as calls.py does: a lock's wait may outlast a signal
(here / 'cancelled').touch()
print('{"error": "cancelled"}')
"""
ASK = "from sightplan_arm import command; print(command._ask_graph({'target': 'x'}))"


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_who_is_ended_cancels_what_it_asked_for(tmp_path, number) -> None:
    """Also where the signal reaches this process alone."""
    package = tmp_path / 'sightplan_nodes'
    package.mkdir()
    (package / '__init__.py').touch()
    (package / 'grasp.py').write_text(FAKE)
    path = os.pathsep.join([str(tmp_path), os.environ.get('PYTHONPATH', '')])
    process = subprocess.Popen([sys.executable, '-c', ASK], text=True, stdout=subprocess.PIPE,
                               env={**os.environ, 'PYTHONPATH': path})
    eventually((package / 'begun').exists, 'the request')
    process.send_signal(number)
    said, _ = process.communicate(timeout=LIMIT_S)
    eventually((package / 'cancelled').exists, 'the cancelling')
    if number == signal.SIGINT:
        assert 'cancelled' in said


def test_beside_an_agent_nothing_is_grasped_and_nothing_is_asked() -> None:
    """The world would refuse it, much later."""
    graph, agent = Graph(), Node(names.AGENT)
    client = GraspClient()
    with spinning(graph.grounder, graph.world, agent, client):
        eventually(lambda: names.AGENT in client.get_node_names(), 'the agent')
        with pytest.raises(WorldError, match='the node agent is there.*end its graph'):
            client.grasp(Request('the mug'), lambda: False)
    assert not graph.asked
