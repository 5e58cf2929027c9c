"""Which guarantees hold, from what was measured."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import pytest

from sightplan.model import InputError
from sightplan_arm.config import load_robot
from sightplan_arm.gate_status import GUARANTEES, REQUIRED, GateState
from sightplan_arm.guarantees import (
    WINDOW_S,
    ClockMeasured,
    Measured,
    Observed,
    Rate,
    Stamps,
    WatcherSeen,
    assess,
    lacking,
)

ROBOT = load_robot('panda')
STEADY = Measured(200, 100.0, 0.011, 0.02, 0.005)
GOOD = Observed(
    joint_states=STEADY, camera=dataclasses.replace(STEADY, rate_hz=30.0, p95_s=0.04),
    gate=STEADY, heartbeats={'agent': STEADY}, clock=ClockMeasured(200, 1.0, 0.01), stop='',
    watcher=WatcherSeen(0.01, GateState.ARMED), command_limits=True,
    command_limits_said='enforce_command_limits is true', checks={'limits': True}, dry_run=False)


def found(**changed):
    return {one.name: one for one in assess(ROBOT, dataclasses.replace(GOOD, **changed))}


def test_all_are_assessed_and_a_good_arm_lacks_none():
    guarantees = assess(ROBOT, GOOD)
    assert tuple(one.name for one in guarantees) == GUARANTEES
    assert {one.name for one in guarantees if one.holds is not True} == {'dry_run'}
    assert {one.name for one in guarantees if one.required} == set(REQUIRED)
    assert lacking(guarantees) == []
    json.dumps([one.to_json() for one in guarantees])


@pytest.mark.parametrize(('name', 'changed', 'words'), [
    ('joint_states', {'joint_states': dataclasses.replace(STEADY, p95_s=0.2)}, '200 ms'),
    ('joint_states', {'joint_states': dataclasses.replace(STEADY, age_s=0.15)}, '150 ms old'),
    ('joint_states', {'joint_states': Rate().measured(0.0)}, 'no joint states'),
    ('camera', {'camera': Rate().measured(0.0)}, 'no pictures'),
    ('gate', {'gate': dataclasses.replace(STEADY, p95_s=0.3)}, '300 ms'),
    ('stop', {'stop': 'no controller listens on x'}, 'no controller listens on x'),
    ('watcher', {'watcher': WatcherSeen()}, 'has not been heard'),
    ('watcher', {'watcher': WatcherSeen(0.5, GateState.ARMED)}, '500 ms old'),
    ('watcher', {'watcher': WatcherSeen(0.0, GateState.STOPPED, 'it hung')}, 'it hung'),
    ('watcher', {'watcher': WatcherSeen(0.0, GateState.REARMED)}, 'does not hear the gate'),
    ('watcher', {'watcher': WatcherSeen(0.0, GateState.ARMED, '', ('no lock',))}, 'no lock')])
def test_what_is_required_and_does_not_hold_names_measurement_and_remedy(name, changed, words):
    missing = lacking(assess(ROBOT, dataclasses.replace(GOOD, **changed)))
    assert [one.name for one in missing] == [name]
    assert words in missing[0].said
    assert missing[0].remedy
    assert missing[0].remedy in str(missing[0])


@pytest.mark.parametrize(('name', 'holds', 'changed'), [
    ('command_limits', False, {'command_limits': False}),
    ('command_limits', None, {'command_limits': None}),
    ('heartbeats', False, {'heartbeats': {'agent': STEADY, 'grounder': Rate().measured(0.0)}}),
    ('heartbeats', True, {'heartbeats': {}}),
    ('clock', False, {'clock': ClockMeasured(200, 0.5, 0.01)}),
    ('clock', False, {'clock': ClockMeasured(200, 1.0, 0.01, set_back=1)}),
    ('clock', False, {'clock': ClockMeasured(200, 0.0, 0.0, stamped=False)}),
    ('clock', None, {'clock': ClockMeasured()}),
    ('checks', False, {'checks': {'limits': True, 'pictures': False}}),
    ('checks', None, {'checks': None}), ('gate', None, {'gate': None}),
    ('dry_run', True, {'dry_run': True})])
def test_what_else_may_not_hold_or_not_be_known(name, holds, changed):
    one = found(**changed)[name]
    assert one.holds is holds
    assert holds or one.remedy
    assert {True: 'holds', False: 'NOT', None: 'unknown'}[holds] in str(one)


def test_an_arm_in_the_process_needs_no_drivers_and_no_watcher():
    some = found(joint_states=None, camera=None, clock=None, stop=None, watcher=None)
    assert all(some[name].holds for name in ('joint_states', 'camera', 'clock', 'stop', 'watcher'))


def test_a_rate_is_that_of_the_last_seconds():
    rate = Rate()
    for k in range(1000):
        rate.note(0.01 * k)
    rate.note(10.06)
    seen = rate.measured(10.07)
    assert seen.rate_hz == pytest.approx(100.0, rel=0.05)
    assert (seen.longest_s, seen.p95_s) == (pytest.approx(0.07), pytest.approx(0.01))
    assert seen.age_s == pytest.approx(0.01)
    assert seen.n <= WINDOW_S / 0.01 + 1
    late = rate.measured(20.0)
    assert (late.n, late.age_s, late.p95_s) == (0, pytest.approx(9.94), math.inf)


@pytest.mark.parametrize(('times', 'words'), [
    ((1.0, 1.0, 1.0), '3 at one moment of 2 s, so they have no rate'),
    ((1.0,), 'one alone has come in 2 s')])
def test_no_rate_is_said_in_words(times, words):
    """Simulated time may stand still between two looks. Before: "at inf Hz"."""
    rate = Rate()
    for time in times:
        rate.note(time)
    for guarantee in ('gate', 'camera'):
        said = found(**{guarantee: rate.measured(1.05)})[guarantee].said
        assert words in said and 'inf' not in said and 'nan' not in said


def test_stamps_tell_of_clocks():
    stamps = Stamps()
    for k in range(100):
        stamps.note(500.0 + 0.01 * k, 10.0 + 0.01 * k, 500.3 + 0.01 * k)
    seen = stamps.measured(11.0)
    assert (seen.speed, seen.offset_s) == (pytest.approx(1.0), pytest.approx(0.3))
    assert (seen.set_back, seen.stamped) == (0, True)
    stamps.note(499.0, 11.0, 501.3)
    assert stamps.measured(11.0).set_back == 1
    assert Stamps().measured(0.0).n == 0


def test_a_file_says_what_is_required_and_misspelt_names_are_named(tmp_path):
    text = re.sub(r'(?m)^ *required:.*\n', '', ROBOT.file.read_text())

    def robot(required):
        path = tmp_path / 'mine.yaml'
        path.write_text(text.replace('  heartbeat_timeout_s:', f'  required: {required}\n'
                                     '  heartbeat_timeout_s:'))
        return load_robot(str(path))
    assert robot('[dry_run]').safety.required == ('dry_run',)
    assert [one.name for one in lacking(assess(robot('[dry_run]'), GOOD))] == ['dry_run']
    assert robot('[]').safety.required == ()
    with pytest.raises(InputError, match=r'safety\.required.*camera'):
        robot('[camara]')
