"""The client behind ``sightplan do``, with an agent that ends an episode at once."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager

import pytest
from rclpy.action import ActionServer
from rclpy.node import Node
from sightplan_interfaces import msg
from sightplan_interfaces.action import RunEpisode

from nodes_testing import LIMIT_S, eventually, spinning
from sightplan import cli
from sightplan.model import BusyError, InputError, SightplanError
from sightplan_nodes import do_client, names, qos
from sightplan_nodes.do import StageLines
from sightplan_nodes.do_client import DoClient

STEPS, EPISODES = 12, 10


class HastyAgent(Node):
    """Publishes all steps of an episode, and its result, the moment that it gets a goal."""

    def __init__(self) -> None:
        super().__init__(names.AGENT)
        self._pub = self.create_publisher(msg.Step, names.AGENT_STEP, qos.EVENTS)
        self._server = ActionServer(self, RunEpisode, names.RUN_EPISODE, self._run)

    def _run(self, handle) -> RunEpisode.Result:
        for index in range(STEPS):
            self._pub.publish(msg.Step(episode_id=handle.request.episode_id, index=index))
            handle.publish_feedback(RunEpisode.Feedback(stage='act', step=index + 1))
        handle.succeed()
        return RunEpisode.Result(stop_reason='plan_done', steps=STEPS)


def test_no_step_of_a_short_episode_is_lost() -> None:
    """Each episode is that of a client which the agent does not know yet."""
    agent = HastyAgent()
    with spinning(agent):
        for _ in range(EPISODES):
            client, heard = DoClient(), list[msg.Step]()
            with spinning(client):
                result = client.do(RunEpisode.Goal(), LIMIT_S, lambda: False, lambda stage: None,
                                   heard.append)
            assert result.steps == STEPS
            assert [step.index for step in heard] == list(range(STEPS))
        agent._server.destroy()  # a later test has another one


def test_an_action_is_told_when_it_begins(capsys) -> None:
    lines, action = StageLines(), msg.SymbolicAction(name='moveblock', args=['r', 'c2'])
    for stage, step in (('waiting for the other nodes', 0), ('reset', 0), ('reset', 0),
                        ('started', 0), ('observe', 0), ('execute', 0), ('act', 1),
                        ('observe', 1), ('execute', 1)):
        lines.take(RunEpisode.Feedback(stage=stage, step=step, action=action))
    assert capsys.readouterr().out.splitlines() == [
        'waiting for the other nodes', 'making the world ready', 'looking and planning',
        '1. moveblock(r, c2) begins', '2. moveblock(r, c2) begins']


class SlowAgent(Node):
    """Takes its time with a goal."""

    def __init__(self, node: str = names.AGENT, action: str = names.RUN_EPISODE, **given) -> None:
        super().__init__(node, **given)
        self.go, self.busy = threading.Event(), threading.Event()
        self._pub = self.create_publisher(msg.EpisodeEvent, names.AGENT_EPISODE, qos.EVENTS)
        self._server = ActionServer(self, RunEpisode, action, self._run)

    def _run(self, handle) -> RunEpisode.Result:
        self._pub.publish(msg.EpisodeEvent(
            kind=msg.EpisodeEvent.STARTED, episode_id=handle.request.episode_id, method='ground',
            problem='tower'))
        self.busy.set()
        self.go.wait(LIMIT_S)
        handle.succeed()
        return RunEpisode.Result()


def given(client: DoClient, **goal) -> RunEpisode.Result:
    return client.do(RunEpisode.Goal(**goal), LIMIT_S, lambda: False, lambda _: None,
                     lambda _: None)


def test_a_busy_agent_is_named_with_its_episode_before_a_goal_is_sent() -> None:
    agent, first, second = SlowAgent(), DoClient(), DoClient()
    with spinning(first, second), spinning(agent):
        thread = threading.Thread(target=given, args=(first,), kwargs={'episode_id': 'goal-1'})
        thread.start()
        try:
            assert agent.busy.wait(LIMIT_S)
            with pytest.raises(BusyError, match=r'busy with episode goal-1 \(method ground, '
                                                r'problem tower\): wait until'):
                given(second)
        finally:
            agent.go.set()
            thread.join(LIMIT_S)


def test_an_agent_whose_action_was_remapped_is_not_said_to_be_missing() -> None:
    client = DoClient()
    with spinning(client, SlowAgent(action='goal')):
        eventually(lambda: client._nobody().endswith('as in -r agent/run_episode:=NAME'),
                   'the words')


def test_the_namespace_of_another_agent_is_given_to_copy() -> None:
    client = DoClient()
    with spinning(client, SlowAgent(namespace='/bot1')):
        eventually(lambda: client._nobody().endswith('there is one with --namespace bot1'),
                   'the words')


def test_a_method_whose_planner_is_not_there_is_refused_with_those_that_are_possible(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(do_client, '_APPEAR_S', 0.0)
    client = DoClient()
    with spinning(client):
        client._check_planner('belief', lambda: False)
        with pytest.raises(InputError, match='method plan needs the node vlm_planner.* belief, '):
            client._check_planner('plan', lambda: False)


@pytest.mark.parametrize('arguments', [(), ('--goal', ''), ('--method', 'belief')])
def test_without_a_goal_the_flags_are_named(capsys, arguments: tuple[str, ...]) -> None:
    assert cli.main(['do', *arguments]) == 2
    said = capsys.readouterr().err
    assert '--goal "(on r g)", --problem FILE' in said and 'problem_pddl' not in said


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_and_is_waited_out(monkeypatch: pytest.MonkeyPatch, number) -> None:
    """An arm holds at once, also where a shell closes."""
    asked = []

    class Client:
        def do(self, goal, timeout_s, cancelled, stage, step) -> RunEpisode.Result:
            os.kill(os.getpid(), number)
            asked.append(cancelled())
            raise SightplanError('cancelled')

    @contextmanager
    def connected(place):
        yield Client()
    monkeypatch.setattr(do_client, 'connected', connected)
    before = {one: signal.signal(one, lambda *_: None) for one in (
        signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        assert cli.main(['do', '--goal', 'on r g']) == 1
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert asked == [True]
