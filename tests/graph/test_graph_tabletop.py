"""A household table on ROS: an instruction in words, a camera, a simulated arm."""

from __future__ import annotations

import pytest
from graph_testing import bag_content
from recorded_testing import check_recorded

from arm_testing import patient_robot
from sightplan.metrics import measures

pytestmark = pytest.mark.slow


def test_an_instruction_is_carried_out_and_its_bag_replays(start, tmp_path) -> None:
    """The agent is told the instruction and nothing else; the truth is the scorer's alone."""
    robot = patient_robot(tmp_path, 'panda_tabletop', state_timeout_s=10.0, image_timeout_s=10.0,
                          heartbeat_timeout_s=10.0, tracking_tolerance_rad=0.3)
    graph = start('domain:=tabletop', 'split:=short', 'method:=grounded_plan', 'episodes:=1',
                  'backend:=embedded', 'execution:=arm', f'robot:={robot}',
                  'episode_timeout_s:=900')
    assert graph.wait() == 0, graph.text
    line, = graph.lines()
    assert (measures.scored(line), measures.solved(line)) == (True, True), graph.text
    assert line['executed'] >= 2 and line['images_missing'] == 0
    assert line['model'].startswith('embedded_model/detector@')
    check_recorded(graph.out, [line])
    told = next(content for topic, content in bag_content(graph.out / line['bag']).items()
                if topic.endswith('agent/asked'))
    assert len(told) == 1 + line['executed'] + 1, (
        'what the topic is, and a look before each step and after the last')
