"""The client behind ``sightplan do``, with an agent that ends an episode at once."""

from __future__ import annotations

from rclpy.action import ActionServer
from rclpy.node import Node
from sightplan_interfaces import msg
from sightplan_interfaces.action import RunEpisode

from nodes_testing import LIMIT_S, spinning
from sightplan_nodes import names, qos
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


def test_an_action_is_told_when_it_begins(capsys) -> None:
    lines, action = StageLines(), msg.SymbolicAction(name='moveblock', args=['r', 'c2'])
    for stage, step in (('waiting for the other nodes', 0), ('reset', 0), ('reset', 0),
                        ('started', 0), ('observe', 0), ('execute', 0), ('act', 1),
                        ('observe', 1), ('execute', 1)):
        lines.take(RunEpisode.Feedback(stage=stage, step=step, action=action))
    assert capsys.readouterr().out.splitlines() == [
        'waiting for the other nodes', 'making the world ready', 'looking and planning',
        '1. moveblock(r, c2) begins', '2. moveblock(r, c2) begins']
