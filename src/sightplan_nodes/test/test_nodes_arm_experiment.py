"""Agent, experiment and recorder with an arm as the world."""

from __future__ import annotations

import json

import pytest
from sightplan_interfaces import msg
from std_srvs.srv import Trigger

from nodes_testing import LIMIT_S, eventually, parameters, spinning
from sightplan.model import InputError, StoppedError
from sightplan_nodes import names, qos
from sightplan_nodes.agent import check_truth
from sightplan_nodes.experiment import ExperimentNode, world_options
from sightplan_nodes.failures import fill_error
from test_nodes_experiment import Others

ARM = {'world': names.ARM_BRIDGE, 'method': 'ground', 'episodes': 3,
       'startup_timeout_s': LIMIT_S}


class ArmOthers(Others):
    """All nodes that experiment speaks to; an arm is the world, and may be stopped."""

    def __init__(self) -> None:
        before, names.SIM_BRIDGE = names.SIM_BRIDGE, names.ARM_BRIDGE
        try:
            super().__init__()
        finally:
            names.SIM_BRIDGE = before
        for name, value in (('robot', 'panda'), ('hardware', 'real'), ('gate.dry_run', True),
                            ('gate.period_s', 0.01), ('latch_file', 'none'),
                            ('robot_sha256', '12')):
            self.sim.declare_parameter(name, value)
        self.stopped_from = 10**6
        self.rearmed = 0
        self.sim.create_service(Trigger, '~/rearm', self._rearm)

    def _rearm(self, request, response):
        self.rearmed += 1
        return response

    def _load(self, request, response):
        super()._load(request, response)
        if len(self.loaded) >= self.stopped_from:
            fill_error(response, StoppedError('a person must re-arm it'))
        return response


class StoppedArm(ArmOthers):
    """The arm was stopped before; a person re-arms it when a run waits for that."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped_from = 1
        self.status = self.sim.create_publisher(msg.ArmStatus, '~/status', qos.LATCHED)
        self.status.publish(msg.ArmStatus(state=msg.ArmStatus.STOPPED))

    def _load(self, request, response):
        super()._load(request, response)
        if len(self.loaded) == 1:
            assert response.error_code == StoppedError.code
            self.stopped_from = 10**6
            self.sim.create_timer(1.0, lambda: self.status.publish(
                msg.ArmStatus(state=msg.ArmStatus.REARMED)))
        return response


@pytest.fixture
def run(tmp_path, capsys):
    def go(others: ArmOthers) -> tuple[int, str]:
        node = ExperimentNode(parameter_overrides=parameters(out=str(tmp_path / 'run'), **ARM))
        with spinning(*others.nodes, node):
            eventually(lambda: node.exit_code is not None, 'the end of the experiment')
        return node.exit_code, capsys.readouterr().err
    return go


def test_a_stopped_arm_breaks_the_run_off(run) -> None:
    others = ArmOthers()
    others.stopped_from = 2
    code, said = run(others)
    assert code == 1
    assert len(others.goals) == 1, 'no further episode is begun, let alone failed'
    assert 'arm_bridge: a person must re-arm it' in said
    assert 'goes on from there' in said
    assert 'start the same command again' in said
    assert '(sightplan arm console), or ros2 service call /arm_bridge/rearm' in said
    assert others.finished[0]['interrupted']
    assert (len(others.loaded), others.rearmed) == (2, 0), 'it is for a person'


def test_a_run_waits_until_an_arm_that_was_stopped_before_is_rearmed(run) -> None:
    """The arm is stopped again when the same command is given: a person must get the time."""
    others = StoppedArm()
    code, said = run(others)
    assert (code, len(others.goals), len(others.loaded)) == (0, 3, 4)
    assert 'for a person to re-arm it: r in the console of the operator' in said
    assert others.rearmed == 0


def test_an_arm_that_is_stopped_in_mid_episode_breaks_the_run_off(run) -> None:
    others = ArmOthers()
    others.errors = {2: StoppedError('stopped by a person')}
    code, _ = run(others)
    assert (code, len(others.goals), len(others.loaded), others.rearmed) == (1, 2, 2, 0)


def test_the_records_name_the_arm_and_what_is_not_the_default(run) -> None:
    others = ArmOthers()
    assert run(others)[0] == 0
    world = json.loads(others.started[0].run_json)['identity']['world']
    assert world == {'world': 'arm_bridge', 'hardware': 'real', 'gate.dry_run': True,
                     'robot_sha256': '12'}


def test_a_symbolic_world_is_recorded_as_ever() -> None:
    given = {'world_options': 'look=0.5', 'camera.width': 320, 'camera.height': 0}
    for more in ({}, {'execution': 'symbolic', 'driven': False}):
        assert world_options('sim_bridge', {'sim_bridge': {**given, **more}}) == {
            'look': 0.5, 'width': 320}


@pytest.mark.parametrize(('method', 'stop_at_goal', 'privileged', 'words'), [
    ('oracle', False, '', "method 'oracle'"), ('ground', True, '', 'stop_at_goal:=no'),
    ('ground', False, 'always', 'privileged:=none')])
def test_what_takes_the_truth_is_refused_for_an_arm(method, stop_at_goal, privileged,
                                                    words) -> None:
    check_truth(names.SIM_BRIDGE, method, stop_at_goal, privileged)
    check_truth(names.ARM_BRIDGE, 'ground', False, 'none')
    with pytest.raises(InputError, match=words):
        check_truth(names.ARM_BRIDGE, method, stop_at_goal, privileged)


@pytest.mark.parametrize(('world', 'hardware', 'given', 'service'), [
    ('sim_bridge', 'real', 'auto', 'sim_bridge/get_state'),
    ('arm_bridge', 'simulated', 'auto', 'hardware/sim_bridge/get_state'),
    ('arm_bridge', 'real', 'auto', ''), ('arm_bridge', 'simulated', '', ''),
    ('arm_bridge', 'real', 'lab/get_state', 'lab/get_state')])
def test_where_the_truth_is(world, hardware, given, service) -> None:
    assert names.truth_service(world, hardware, given) == service
