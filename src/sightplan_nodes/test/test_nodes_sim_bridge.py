"""The node sim_bridge over a scripted world."""

from __future__ import annotations

import contextlib
import gc
import signal

import numpy as np
import pytest
import rclpy
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image
from sightplan_interfaces.action import ExecuteSkill
from sightplan_interfaces.msg import Step, SymbolicAction
from sightplan_interfaces.srv import GetState, GetView, LoadProblem, ResetWorld

from nodes_testing import LIMIT_S, ScriptedWorld, eventually, parameters, problem, spinning
from sightplan.model import (
    GOAL_NS,
    Action,
    Atom,
    EpisodeSpec,
    InputError,
    Observation,
    SightplanError,
    WorldError,
)
from sightplan.records import messages
from sightplan_nodes import conversions, names, qos
from sightplan_nodes.calls import ActionCaller, ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.failures import raise_error
from sightplan_nodes.ports import Deadlines, RosWorld
from sightplan_nodes.sim_bridge import History, Moment, SimBridge
from sightplan_nodes.spin import run

ACTION = SymbolicAction(name='moveblock', args=['r', 'c1'])


class Client:
    """What a test does with the node."""

    def __init__(self, world: ScriptedWorld) -> None:
        self.world = world
        self.node = Node('client')
        self.images: list[Image] = []
        self.labelled: list[Image] = []
        self.infos: list[CameraInfo] = []
        self.depths: list[Image] = []
        self.times: list[int] = []
        for kind, topic, sink in ((Image, names.CAMERA_IMAGE, self.images),
                                  (Image, names.CAMERA_LABELLED, self.labelled),
                                  (CameraInfo, names.CAMERA_INFO, self.infos),
                                  (Image, names.CAMERA_DEPTH, self.depths)):
            self.node.create_subscription(kind, topic, sink.append, qos.SENSOR)
        self.node.create_subscription(
            Clock, names.CLOCK, lambda m: self.times.append(messages.time_from_msg(m.clock)),
            qos.CLOCK)
        self._load = ServiceCaller(self.node, LoadProblem, names.load_problem(names.SIM_BRIDGE),
                                   names.SIM_BRIDGE)
        self._reset = ServiceCaller(self.node, ResetWorld, names.reset(names.SIM_BRIDGE),
                                    names.SIM_BRIDGE)
        self._state = ServiceCaller(self.node, GetState, names.GET_STATE, names.SIM_BRIDGE)
        self._view = ServiceCaller(self.node, GetView, names.get_view(names.SIM_BRIDGE),
                                   names.SIM_BRIDGE)
        self._provide = ServiceCaller(self.node, GetView, names.PROVIDE_FACTS,
                                      names.SIM_BRIDGE)
        self.skill = ActionCaller(self.node, ExecuteSkill, names.EXECUTE_SKILL, names.SIM_BRIDGE)

    def load(self, episode_id: str = 'e', **changes: object) -> LoadProblem.Response:
        domain, first = problem()
        request = LoadProblem.Request(
            episode_id=episode_id, domain='blocksworld', problem=first.name, seed=3,
            domain_pddl=domain.pddl, problem_pddl=domain.write_problem(first),
            failure_probability=0.25)
        for name, value in changes.items():
            setattr(request, name, value)
        return self._load(request, LIMIT_S)

    def begin(self, episode_id: str = 'e') -> ResetWorld.Response:
        return self._reset(ResetWorld.Request(episode_id=episode_id), LIMIT_S)

    def reset(self, episode_id: str = 'e', **changes: object) -> ResetWorld.Response:
        """Load the problem and begin; the first error of both."""
        loaded = self.load(episode_id, **changes)
        if loaded.error_code:
            return loaded
        return self.begin(episode_id)

    def state(self, stamp_ns: int = 0) -> GetState.Response:
        return self._state(GetState.Request(stamp=MESSAGES.time_to_msg(stamp_ns)), LIMIT_S)

    def view(self, stamp_ns: int = 0) -> GetView.Response:
        return self._view(GetView.Request(stamp=MESSAGES.time_to_msg(stamp_ns)), LIMIT_S)

    def facts(self, stamp_ns: int = 0) -> GetView.Response:
        return self._provide(GetView.Request(stamp=MESSAGES.time_to_msg(stamp_ns)),
                             LIMIT_S)

    def execute(self) -> ExecuteSkill.Result:
        return self.skill(ExecuteSkill.Goal(action=ACTION), LIMIT_S)

    def image_since(self, stamp_ns: int) -> Image:
        def fresh() -> list[Image]:
            return [image for image in self.images
                    if messages.time_from_msg(image.header.stamp) >= stamp_ns]
        eventually(lambda: bool(fresh()), 'a fresh image')
        return fresh()[0]


@pytest.fixture
def client():
    with made() as made_client:
        yield made_client


@contextlib.contextmanager
def made(**settings: object):
    world = ScriptedWorld()
    options: list[dict] = []

    def make(domain: str, given: dict) -> ScriptedWorld:
        options.append({'domain': domain, **given})
        return world

    bridge = SimBridge(make, parameter_overrides=parameters(camera__rate_hz=50.0, **settings))
    client = Client(world)
    client.options = options
    client.bridge = bridge
    with spinning(bridge, client.node):
        yield client


def ns(time) -> int:
    return messages.time_from_msg(time)


def test_reset_builds_the_problem_of_the_request(client: Client) -> None:
    reply = client.reset('my/episode#0')
    assert reply.error_code == 0, reply.error_msg
    _, first = problem()
    spec = client.world.log[0]
    assert spec.problem.init == first.init
    assert (spec.id, spec.seed, spec.failure_probability) == ('my/episode#0', 3, 0.25)
    assert client.options == [{'domain': 'blocksworld'}], 'made at the first reset'


def test_the_world_is_built_once_and_again_only_if_it_has_changed(client: Client) -> None:
    def built() -> int:
        return sum(isinstance(entry, EpisodeSpec) for entry in client.world.log)
    assert client.load().error_code == 0
    assert built() == 1
    first = client.begin()
    assert (first.error_code, built()) == (0, 1), 'as it was built'
    assert client.image_since(ns(first.stamp)).data[0] == 1
    assert client.begin().error_code == 0
    assert built() == 2, 'begun once more'
    client.load()
    client.execute()
    assert (client.begin().error_code, built()) == (0, 4), 'something has moved'
    refused = client.begin('another')
    assert refused.error_code == WorldError.code
    assert 'no problem was loaded' in refused.error_msg
    assert built() == 4


def test_images_since_the_stamp_show_the_result(client: Client) -> None:
    stamp_ns = ns(client.reset().stamp)
    assert client.image_since(stamp_ns).data[0] == 1
    stamp_ns = ns(client.execute().stamp)
    assert client.image_since(stamp_ns).data[0] == 2
    before = [i for i in client.images if ns(i.header.stamp) < stamp_ns]
    assert {i.data[0] for i in before} == {1}, 'older images show the old scene'
    after = [i for i in client.images if ns(i.header.stamp) >= stamp_ns]
    assert {i.data[0] for i in after} == {2}


def test_the_image_is_repeated_with_new_stamps(client: Client) -> None:
    client.reset()
    eventually(lambda: len(client.images) >= 4)
    stamps = [ns(image.header.stamp) for image in client.images]
    assert stamps == sorted(set(stamps))


def test_calibration_and_depth_come_with_the_image(client: Client) -> None:
    stamp_ns = ns(client.reset().stamp)
    image = client.image_since(stamp_ns)
    eventually(lambda: bool(client.infos) and bool(client.depths))
    info = next(i for i in client.infos if i.header.stamp == image.header.stamp)
    assert (info.width, info.height) == (image.width, image.height) == (6, 4)
    assert list(info.k) == [5.0, 0.0, 2.5, 0.0, 5.0, 1.5, 0.0, 0.0, 1.0]
    assert info.header.frame_id == image.header.frame_id == 'scripted_frame'
    np.testing.assert_array_equal(conversions.depth_from_msg(client.depths[0]), np.ones((4, 6)))


def test_no_image_before_the_first_reset(client: Client) -> None:
    eventually(lambda: len(client.times) > 3)
    assert not client.images
    reply = client.state()
    with pytest.raises(WorldError, match='sim_bridge.*load_problem'):
        raise_error(reply, 'sim_bridge')


def test_truth_at_any_world_time(client: Client) -> None:
    first = ns(client.reset('one').stamp)
    second = ns(client.execute().stamp)
    third = ns(client.reset('two').stamp)
    _, start = problem()
    init = frozenset(start.init)
    truth = {stamp: client.state(stamp) for stamp in (first, second - 1, second, third, 0)}
    states = {k: messages.state_from_msg(reply.state) for k, reply in truth.items()}
    assert states[first] == states[second - 1] == states[third] == states[0] == init
    assert states[second] == init - {min(init)}
    assert [truth[k].episode_id for k in (first, second, third)] == ['one', 'one', 'two']
    assert truth[second].last_outcome == 'outcome 1'
    assert truth[third].last_outcome == ''


@pytest.mark.parametrize('stamp_ns', [1, 10**18])
def test_truth_of_unknown_times_is_an_error(client: Client, stamp_ns: int) -> None:
    client.reset()
    assert client.state(stamp_ns).error_code == WorldError.code


def test_rejected_action(client: Client) -> None:
    client.reset()
    client.world.reject = 'not legal'
    result = client.execute()
    assert (result.status, result.message) == (Step.REJECTED, 'not legal')
    client.world.reject = ''
    assert client.execute().status == Step.EXECUTED


@pytest.mark.parametrize(('error', 'code'), [
    (WorldError('stuck'), WorldError.code), (InputError('odd'), InputError.code),
    (ZeroDivisionError('oops'), 10)])
def test_errors_of_the_world_reach_the_caller(client: Client, error: Exception,
                                              code: int) -> None:
    client.reset()
    client.world.fail = error
    for reply in (client.execute(), client.reset()):
        assert reply.error_code == code
        with pytest.raises(SightplanError, match=str(error)):
            raise_error(reply, 'sim_bridge')
    client.world.fail = None
    assert client.execute().error_code == 0, 'the node goes on'


@pytest.mark.parametrize(('field', 'text', 'words'), [
    ('problem_pddl', '(define', 'problem_00'), ('domain', 'nowhere', 'nowhere'),
    ('domain_pddl', '(define (domain x))', 'domain')])
def test_bad_requests_name_what_is_wrong(client: Client, field: str, text: str,
                                         words: str) -> None:
    reply = client.reset(**{field: text})
    assert reply.error_code in (3, 4)
    assert words in reply.error_msg


def test_acting_before_a_reset_is_an_error(client: Client) -> None:
    assert client.execute().error_code == WorldError.code


def test_one_skill_at_a_time_and_the_node_stays_alive(client: Client) -> None:
    import threading
    client.reset()
    client.world.may_go_on.clear()
    results: list[ExecuteSkill.Result] = []
    first = threading.Thread(target=lambda: results.append(client.execute()))
    first.start()
    eventually(lambda: len(client.world.log) == 2, 'the first skill')
    with pytest.raises(WorldError, match='busy'):
        client.execute()
    assert client.state().error_code == 0, 'other requests are served meanwhile'
    client.world.may_go_on.set()
    first.join(LIMIT_S)
    assert results[0].status == Step.EXECUTED


def test_a_skill_that_has_begun_is_finished_in_spite_of_a_cancellation(client: Client) -> None:
    client.reset()
    client.world.may_go_on.clear()
    polled = []

    def cancelled() -> bool:
        polled.append(1)
        if len(polled) > 3:
            client.world.may_go_on.set()
        return len(polled) > 2

    result = client.skill(ExecuteSkill.Goal(action=ACTION), LIMIT_S, cancelled)
    assert result.status == Step.EXECUTED
    assert client.world.moves == 1


def test_world_time_never_goes_back(client: Client) -> None:
    for _ in range(3):
        client.reset()
    eventually(lambda: len(client.times) > 10)
    assert client.times == sorted(client.times)
    assert client.times[0] > 0


def test_settings_of_the_camera_reach_the_world() -> None:
    with made(camera__width=320, world_options='look=0.5,fov_deg=30', domain='blocksworld') as c:
        c.reset()
        assert c.options == [
            {'domain': 'blocksworld', 'width': 320, 'look': 0.5, 'fov_deg': 30}], 'made once'


def test_a_closed_node_closes_its_world() -> None:
    with made() as client:
        client.reset()
    assert client.world.log[-1] == 'closed'


def test_a_world_that_cannot_be_closed_does_not_keep_the_others_open() -> None:
    def fail() -> None:
        raise OSError('gone')
    worlds = [ScriptedWorld(), ScriptedWorld()]
    worlds[0].close = fail
    left = iter(worlds)
    bridge = SimBridge(lambda domain, options: next(left))
    for domain in ('blocksworld', 'household'):
        bridge._world(domain)
    bridge.close()
    bridge.destroy_node()
    assert worlds[1].log == ['closed']


def test_a_world_that_is_built_while_the_node_closes_gets_no_arm() -> None:
    def make(domain: str, options: dict) -> ScriptedWorld:
        bridge._closed = True
        return ScriptedWorld()
    bridge = SimBridge(make, parameter_overrides=parameters(execution='arm'))
    with pytest.raises(WorldError, match='was stopped'):
        bridge._world('blocksworld')
    bridge.close()
    bridge.destroy_node()


def test_history_is_bounded() -> None:
    history = History(limit=3)
    for stamp in range(10, 20):
        history.append(Moment(stamp, 'e', frozenset(), str(stamp)))
    assert history.at(18, 100).outcome == '18'
    with pytest.raises(WorldError):
        history.at(12, 100)


def test_labelled_pictures_have_a_topic_of_their_own(client: Client) -> None:
    client.world.labels = True
    reply = client.reset()
    assert reply.labelled
    stamp_ns = ns(reply.stamp)
    raw = client.image_since(stamp_ns)
    eventually(lambda: any(i.header.stamp == raw.header.stamp for i in client.labelled),
               'the labelled picture of the same stamp')
    labelled = next(i for i in client.labelled if i.header.stamp == raw.header.stamp)
    pixels = messages.image_from_msg(raw)
    assert (pixels == 1).all()
    assert (messages.image_from_msg(labelled)[0] == 255).all()
    np.testing.assert_array_equal(messages.image_from_msg(labelled)[1:], pixels[1:])
    assert labelled.header == raw.header


def test_a_world_without_labels_has_one_topic(client: Client) -> None:
    reply = client.reset()
    assert not reply.labelled
    client.image_since(ns(client.execute().stamp))
    assert not client.labelled


def test_labels_that_were_not_announced_are_an_error(client: Client) -> None:
    """The agent would look at another topic than the one that has them."""
    seen = Observation(image=np.zeros((4, 6, 3), np.uint8),
                       unlabelled=np.ones((4, 6, 3), np.uint8))
    client.world.observe = lambda: seen
    assert 'no attribute labels' in client.reset().error_msg


def test_what_was_in_view_at_any_world_time(client: Client) -> None:
    client.world.visible, client.world.text = ('r', 'c1'), 'a red block'
    reply = client.reset('one')
    assert reply.has_view
    client.world.visible, client.world.text = (), None
    second = ns(client.execute().stamp)
    for stamp_ns, visible, words in ((ns(reply.stamp), ['r', 'c1'], 'a red block'),
                                     (second - 1, ['r', 'c1'], 'a red block'),
                                     (second, [], ''), (0, [], '')):
        found = client.view(stamp_ns)
        assert found.error_code == 0, found.error_msg
        assert found.observation.knows_visible
        seen = found.observation
        assert (list(seen.visible_objects), seen.text) == (visible, words)
        assert found.observation.episode_id == 'one'
    assert client.view(10**18).error_code == WorldError.code


def test_a_world_that_does_not_say_what_is_in_view(client: Client) -> None:
    assert not client.reset().has_view
    assert not client.view().observation.knows_visible


def told(reply: GetView.Response) -> dict:
    raise_error(reply, 'sim_bridge')
    return messages.facts_from_msg(reply.observation.privileged_facts)


def test_privileged_facts_are_those_out_of_view(client: Client) -> None:
    domain, first = problem()
    client.world.visible = tuple(first.objects)[:2]
    stamp_ns = ns(client.reset(privileged='always').stamp)
    truth = client.world.state()
    facts = told(client.facts(stamp_ns))
    hidden = [atom for atom in domain.model(first).atoms
              if not {*atom.args} <= {*client.world.visible}]
    assert facts == {atom: atom in truth for atom in hidden}
    assert list(facts) == hidden, 'in their order, which prompts keep'
    assert True in facts.values()
    client.world.visible = tuple(first.objects)
    second = ns(client.execute().stamp)
    assert told(client.facts(second)) == {}
    assert told(client.facts(stamp_ns)) == facts, 'of the world as it was'


@pytest.mark.parametrize('privileged', ['', 'none'])
def test_privileged_facts_are_refused_unless_granted(client: Client, privileged: str) -> None:
    client.world.visible = ()
    client.reset('always', privileged='always')
    stamp_ns = ns(client.reset('mine', privileged=privileged).stamp)
    for when in (stamp_ns, 0):
        reply = client.facts(when)
        assert not reply.observation.privileged_facts
        with pytest.raises(WorldError, match="'mine' grants no facts"):
            raise_error(reply, 'sim_bridge')


def test_initial_facts_end_with_the_first_action(client: Client) -> None:
    client.world.visible = ()
    first = ns(client.reset(privileged='initial').stamp)
    facts = told(client.facts(first))
    assert facts
    client.world.reject = 'not legal'
    rejected = ns(client.execute().stamp)
    assert told(client.facts(rejected)) == facts, 'nothing has moved'
    client.world.reject = ''
    for stamp_ns in (ns(client.execute().stamp), 0):
        with pytest.raises(WorldError, match='no facts .* after its first action'):
            told(client.facts(stamp_ns))
    assert told(client.facts(first)) == facts


def test_the_agent_cannot_grant_itself_anything(client: Client) -> None:
    """It resets by name: what the experiment gave for the episode stays."""
    client.world.visible = ()
    client.reset('mine', privileged='none')
    client.reset('mine', problem_pddl='', privileged='always')
    assert client.facts().error_code == WorldError.code


def test_an_unknown_level_of_privileged_information_is_named(client: Client) -> None:
    reply = client.reset(privileged='sometimes')
    assert reply.error_code == InputError.code
    assert "'sometimes' is not one of none, initial, always" in reply.error_msg


@pytest.mark.parametrize(('name', 'value'), [
    ('gate.dry_run', True), ('gate.confirm', 'motion'), ('skill_options', 'speed=0.1'),
    ('robot', 'ur5e')])
def test_settings_of_an_arm_are_refused_without_one(name: str, value: object, capfd) -> None:
    assert code_of(**{name: value}) == 2
    said = capfd.readouterr().err
    assert f'{name} is {value!r}, but no arm moves with execution:=symbolic' in said
    assert 'say execution:=arm' in said


def test_settings_of_an_arm_that_are_as_always_are_no_matter() -> None:
    with made(robot='panda', gate__dry_run=False, gate__confirm='false', skill_options='') as c:
        assert c.reset().error_code == 0


def code_of(**settings: object) -> int:
    """Exit code of a node that ends by itself."""
    words = [word for name, value in settings.items()
             for word in ('-p', f'{name}:={str(value).lower() if value is True else value}')]
    rclpy.try_shutdown()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return run(SimBridge, ['--ros-args', *words])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        gc.collect()  # a node that could not be made would stay on the graph
        if not rclpy.ok():
            rclpy.init()


def test_a_wrong_robot_ends_the_node_at_once(capfd) -> None:
    assert code_of(execution='arm', robot='pandda') == 2
    assert 'pandda' in capfd.readouterr().err


@pytest.mark.parametrize(('option', 'remedy'), [
    ('execution=arm', 'execution:='), ('robot=ur5e', 'robot:='), ('rearm=true', '~/rearm')])
def test_what_the_node_decides_is_no_option_of_its_world(option, remedy, capfd) -> None:
    assert code_of(world_options=option) == 2
    assert remedy in capfd.readouterr().err


@pytest.mark.parametrize('settings', [{'skill_options': 'sped=0.1'}, {'domain': 'blocksworl'}])
def test_what_an_arm_cannot_begin_with_ends_the_node(settings: dict, capfd) -> None:
    assert code_of(**{'execution': 'arm', 'domain': 'blocksworld', **settings}) == 2
    assert 'cannot be made' in ''.join(capfd.readouterr())


def test_a_world_that_cannot_show_its_first_problem_says_so_once(capfd) -> None:
    assert code_of(execution='arm', domain='blocksworld', problem='simple/problem_00',
                   skill_options='sped=0.1') == 2
    said = [line for line in ''.join(capfd.readouterr()).splitlines() if 'sped' in line]
    assert len(said) == 1 and 'problem_00' in said[0], said


class GoalWorld(ScriptedWorld):
    """One that can show its goal."""

    def goal_observation(self) -> Observation:
        return Observation(np.full((2, 2, 3), 77, np.uint8), GOAL_NS, 'camera')

    def state(self, stamp_ns: int | None = None):
        return (frozenset({Atom('clear', ('g',))}) if stamp_ns == GOAL_NS
                else super().state(stamp_ns))


def test_a_goal_is_shown_where_it_is_pictured_and_its_truth_has_a_stamp() -> None:
    with made() as client:
        client.world.__class__ = GoalWorld
        goals: list[Image] = []
        client.node.create_subscription(Image, names.GOAL_IMAGE, goals.append, qos.LATCHED)
        assert client.reset('told').error_code == 0
        assert 'is told' in client.state(GOAL_NS).error_msg
        begun = client.reset('shown', pictured_goal=True)
        assert begun.error_code == 0, begun.error_msg
        eventually(lambda: bool(goals), 'the picture of the goal')
        assert (messages.image_from_msg(goals[0]) == 77).all()
        assert ns(goals[0].header.stamp) == ns(begun.stamp), 'it is of this episode'
        goal, now = client.state(GOAL_NS), client.state()
        assert messages.state_from_msg(goal.state) == {Atom('clear', ('g',))}
        assert messages.state_from_msg(now.state) != messages.state_from_msg(goal.state)
        assert len(goals) == 1, 'the one whose goal is told shows none'


class WordyWorld(GoalWorld):
    """One that is observed in words alone."""

    def observe(self) -> Observation:
        return Observation(text=f'a board after {self.moves} moves')

    def goal_observation(self) -> Observation:
        return Observation(text='a board at its goal', stamp_ns=GOAL_NS)


def test_a_world_without_pictures_is_observed_in_words() -> None:
    with made() as client:
        client.world.__class__ = WordyWorld
        world = RosWorld(client.node, Deadlines())
        spec = EpisodeSpec('words', problem(), 'action', pictured_goal=True)
        assert client.load('words', pictured_goal=True).error_code == 0
        world.reset(spec)
        first = world.observe()
        assert (first.text, first.image, first.image_id) == ('a board after 0 moves', None, '')
        goal = world.goal_observation()
        assert (goal.text, goal.image, goal.shows_goal) == ('a board at its goal', None, True)
        done = world.execute(messages.from_msg(Action, ACTION))
        second = world.observe()
        assert second.text == 'a board after 1 moves'
        assert second.stamp_ns >= done.stamp_ns > first.stamp_ns
        assert not client.images


def test_a_world_that_cannot_show_goals_says_so(client: Client) -> None:
    assert 'goal:=told' in client.reset('shown', pictured_goal=True).error_msg
