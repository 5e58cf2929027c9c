"""The bench of safety: what it makes of joint states, and that it knows all ways to an arm."""

from __future__ import annotations

import argparse
import json
import math

import pytest
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from nodes_testing import eventually, spinning
from sightplan_bench import safety as bench_safety
from sightplan_bench.safety import Kill, Results, Stop, spread, standstill
from sightplan_bench.safety_node import Bench, Sample
from sightplan_nodes import names


def samples(*speeds: float, step_s: float = 0.01) -> list[Sample]:
    """Joint states each 10 ms, of one joint that moves as fast as given."""
    found, position = [], 0.0
    for number, speed in enumerate(speeds):
        position += speed * step_s
        found.append(Sample(number * step_s, speed, (0.0, position)))
    return found


def test_standstill_is_the_first_sample_after_the_last_that_moved():
    seen = samples(0.5, 0.5, 0.3, 0.01, 0.1, 0.019, *[0.0] * 100)
    still_ms, again, way = standstill(seen, 0.005, 1.0)
    assert still_ms == pytest.approx(45.0)
    assert not again
    assert way == pytest.approx(0.0042, abs=2e-4)


def test_motion_after_the_arm_stood_is_another_one():
    seen = samples(0.5, *[0.0] * 70, 0.05, *[0.0] * 30)
    assert standstill(seen, 0.0, 1.0)[:2] == (pytest.approx(10.0), True)
    assert standstill(seen, 0.0, 0.7)[:2] == (pytest.approx(10.0), False)
    assert standstill(seen, 0.0, 1.0, settle_s=0.8)[:2] == (pytest.approx(720.0), False)


def test_an_arm_that_never_stands_and_one_that_is_not_measured():
    assert standstill(samples(*[0.5] * 50), 0.0, 0.49)[0] == math.inf
    with pytest.raises(bench_safety._NotMade, match=r'no joint states came for more than 0\.1 s'):
        standstill([*samples(0.5, 0.5), Sample(0.2, 0.0, (0.0, 0.0))], 0.0, 0.2)
    with pytest.raises(bench_safety._NotMade):
        standstill(samples(0.5, 0.0), 0.0, 1.0)  # nothing came after the first


def kill(**changed: object) -> Kill:
    fields = {'kind': 'agent', 'sign_ms': -3.0, 'command_ms': 80.0, 'still_ms': 150.0,
              'travel_rad': 0.1, 'cause': 'heartbeat', 'moved_again': False, 'refused': True}
    return Kill(**{**fields, **changed})


def stop(**changed: object) -> Stop:
    fields = {'in_motion': True, 'still_ms': 90.0, 'attempts': 10, 'moved': False,
              'still_after_rearm': True}
    return Stop(**{**fields, **changed})


@pytest.mark.parametrize('bad', [
    {'kills': [kill(still_ms=200.1)]}, {'kills': [kill(moved_again=True)]},
    {'kills': [kill(refused=False)]}, {'stops': [stop(moved=True)]},
    {'stops': [stop(still_after_rearm=False)]}])
def test_one_bad_trial_spoils_the_result(bad):
    good = Results([kill()], [stop()])
    assert good.good
    assert not Results([*bad.get('kills', []), kill()], [*bad.get('stops', []), stop()]).good


def test_what_is_printed():
    results = Results([kill(), kill(still_ms=250.0, command_ms=None)], [stop(), stop(
        in_motion=False, still_ms=0.0)])
    found = json.loads(json.dumps(results.summary()))
    assert found['kills']['agent'] == found['kills']['all']
    assert found['kills']['all']['n'] == 2
    assert found['kills']['all']['hold_command_ms']['n'] == 1
    assert found['kills']['all']['standstill_ms'] == {
        'n': 2, 'median': 150.0, 'p95': 250.0, 'max': 250.0, 'over_limit': 1}
    assert found['stops']['still_ms'] == {
        'n': 1, 'median': 90.0, 'p95': 90.0, 'max': 90.0, 'over_limit': 0}
    assert (found['stops']['n'], found['stops']['attempts']) == (2, 20)
    assert spread(list(range(100)))['p95'] == 94


class Arm(Node):
    """Has a way to be moved that the bench does not know, or none."""

    def __init__(self, service: str, topic: str) -> None:
        super().__init__(names.ARM_BRIDGE)
        self.create_service(Trigger, names.stop(names.ARM_BRIDGE), lambda request, reply: reply)
        if service:
            self.create_service(Trigger, service, lambda request, reply: reply)
        if topic:
            self.create_subscription(JointTrajectory, topic, lambda message: None, 1)


@pytest.mark.parametrize(('service', 'topic'), [
    ('', ''), ('~/jog', ''), ('elsewhere/stop', ''), ('', 'follow')])
def test_a_new_way_to_the_arm_must_be_tried(ros, service, topic):
    bench = Bench('panda')
    with spinning(bench, Arm(service, topic)):
        eventually(lambda: f'/{names.stop(names.ARM_BRIDGE)}' in {
            name for name, _ in bench.get_service_names_and_types()})
        if not service and not topic:
            bench._check_paths()
            return
        with pytest.raises(AssertionError, match='which the bench does not try'):
            bench._check_paths()


def test_bad_counts_are_refused():
    parser = argparse.ArgumentParser()
    bench_safety.add_parser(parser.add_subparsers())
    with pytest.raises(SystemExit):
        parser.parse_args(['safety', '--trials', '-1'])
