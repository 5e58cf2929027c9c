"""Files of planned paths: read, written, what is wrong in them, and which runs arrived."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import InputError
from sightplan_suites.paths import (
    GOAL,
    START,
    Bounds,
    PathRun,
    path_runs_from_text,
    path_runs_text,
    read_path_runs,
    write_path_runs,
)

RUNS = (PathRun((START, (0.0, -1.5), GOAL), 0.75), PathRun((START, (1e-7, 2.0)), 1.25))


def test_runs_are_read_and_written(tmp_path):
    text = ('@\n-36.6031 -36.4332\n0 -1.5\n36.0982 36.363\nRobot Radius: 0.75\n'
            '@\n-36.6031\t-36.4332\n\n1e-07 2\nRobot Radius: 1.25\n')
    assert path_runs_from_text(text, 'x') == RUNS
    write_path_runs(RUNS, tmp_path / 'paths.txt')
    assert read_path_runs(tmp_path / 'paths.txt') == RUNS
    assert (tmp_path / 'paths.txt').read_text() == path_runs_text(RUNS)
    assert path_runs_from_text('', 'x') == ()


@pytest.mark.parametrize(('dx', 'dy', 'arrived'), [
    (0, 0, True), (1.49, -1.49, True), (1.6, 0, False), (0, -1.6, False)])
def test_a_run_has_arrived_near_the_goal_along_both_axes(dx, dy, arrived):
    assert PathRun((START, (GOAL[0] + dx, GOAL[1] + dy)), 1.0).arrived() is arrived
    assert PathRun((START, (5.0 + dx, 6.0 + dy)), 1.0).arrived((5.0, 6.0)) is arrived


@pytest.mark.parametrize(('text', 'message'), [
    ('1 2\n', '1: .*outside of a run'),
    ('Robot Radius: 1\n', '1: .*outside of a run'),
    ('@\n1 2\n@\n', '3: a run begins before'),
    ('@\n1 2\n3 4\n', 'the last run is truncated'),
    ('@\n1 2\nRobot Radius: 1\n', '3: the run has 1 points'),
    ('@\nRobot Radius: 1\n', '2: the run has 0 points'),
    ('@\n1 2\n3\nRobot Radius: 1\n', "3: '3' is not a point"),
    ('@\n1 2\n3 four\nRobot Radius: 1\n', "3: 'four' is not a number"),
    ('@\n1 2\n3 nan\nRobot Radius: 1\n', "3: 'nan' is not finite"),
    ('@\n1 2\n3 41\nRobot Radius: 1\n', '3: the path leaves the map at 3 41'),
    ('@\n1 2\n3 4\nRobot Radius: 0\n', '4: robot radius 0'),
    ('@\n1 2\n3 4\nRobot Radius: \n', "4: '' is not a number"),
])
def test_what_cannot_be_used_is_refused(text, message):
    with pytest.raises(InputError, match=f'^paths.txt:{message}' if message[0].isdigit()
                       else message):
        path_runs_from_text(text, 'paths.txt')


def test_other_bounds():
    text = '@\n1 2\n3 41\nRobot Radius: 1\n'
    assert len(path_runs_from_text(text, 'x', Bounds(0, 0, 50, 50))) == 1


@given(st.text(alphabet='@0123456789. -e\nRobot adius:', max_size=60))
def test_any_text_is_runs_or_an_input_error(text):
    try:
        found = path_runs_from_text(text, 'x')
    except InputError:
        return
    assert path_runs_from_text(path_runs_text(found), 'x') == found


COORDINATE = st.floats(-40, 40)


@given(st.lists(st.builds(
    PathRun, st.lists(st.tuples(COORDINATE, COORDINATE), min_size=2, max_size=5).map(tuple),
    st.floats(0.01, 5)), max_size=4).map(tuple))
def test_what_is_written_is_read(runs):
    assert path_runs_from_text(path_runs_text(runs), 'x') == runs
