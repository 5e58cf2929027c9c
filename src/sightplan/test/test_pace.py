"""Time left, and time spans in words."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from sightplan.console import progress
from sightplan.console.progress import EpisodeBar, Pace, duration, with_progress


@pytest.mark.parametrize(('seconds', 'text'), [
    (0, '0:00:00'), (59.6, '0:01:00'), (3723, '1:02:03'), (360_000, '100:00:00')])
def test_a_time_span(seconds, text):
    assert duration(seconds) == text


def test_the_rest_takes_as_long_as_what_was_done():
    times = iter((10.0, 40.0, 40.0))
    pace = Pace(lambda: next(times))
    assert pace.time_left(0, 5) == 'unknown'
    assert pace.time_left(3, 5) == '0:00:50'
    assert pace.time_left(3, -1) == '0:00:00'


def test_what_takes_long_to_make_says_every_ten_seconds_how_far_it_is(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(progress.time, 'monotonic', lambda: now)
    monkeypatch.setattr(Pace.__init__, '__defaults__', (lambda: now,))
    made = []
    for one in with_progress('abcd', 'scenes drawn', 12, lambda one: 3):
        made.append(one)
        now += 6.0
    assert made == [*'abcd']
    assert capsys.readouterr().err == ('[6/12] scenes drawn, ETA 0:00:12\n'
                                       '[12/12] scenes drawn, ETA 0:00:00\n')


def test_a_stage_of_nothing_is_not_announced(capsys):
    """Before, a report without pages ended with an unexplained "pages: 0"."""
    with EpisodeBar() as bar:
        bar.stage('tables', 0, 2)
        bar.stage('pages', 0, 0)
    assert capsys.readouterr().err == 'tables: 2\n'


@pytest.mark.parametrize('there', [True, False])
def test_a_bar_on_a_terminal_where_rich_is_installed_and_else_lines(monkeypatch, capsys, there):
    monkeypatch.setattr(sys.stderr, 'isatty', lambda: True, raising=False)
    monkeypatch.setenv('TERM', 'xterm')
    if not there:
        monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
    with EpisodeBar() as bar:
        assert bar.plain is not there
        bar.stage('episodes', 0, 4)
        bar.stage('episodes', 4, 4)
        bar.say('all [of] them')
    said = capsys.readouterr().err
    assert 'all [of] them' in said and ('4/4' in said) is there
