"""Plots in panels: bars with lines to compare them with, stacks, and heatmaps."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from sightplan_report.panels import BarPanel, HeatPanel, StackPanel, bars, heatmaps, stacks
from sightplan_report.plots import Dot

SVG = '{http://www.w3.org/2000/svg}'
HOSTILE = '<script>alert("x")</script> $a_b$ & "c"'
BARS = (BarPanel('3D', (Dot('ours', '', 0.25, 0.2, 0.3, 40), Dot(HOSTILE, '', 0.5, 0.4, 0.6, 9)),
                 {'theirs': 0.75}), BarPanel('2D', (Dot('ours', '', 1.0, 0.9, 1.0, 40),)))
STACKS = (StackPanel('3D', (('ours', {'EM': 5.0, 'IM': 0.01}), (HOSTILE, {'EM': 1.0})),
                     frozenset({HOSTILE})),)
HEATS = (HeatPanel('end', {(2, 3): 0.0, (4, 3): 7.25}), HeatPanel(HOSTILE, {(2, 4): 1.0}))


def every(name: str = 'a') -> list[str]:
    return [bars(f'{name}-bars', BARS, 'Completed', 'fraction'),
            bars(f'{name}-numbers', BARS[:1], 'Deviation', 'moves', fraction=False),
            stacks(f'{name}-stacks', STACKS, 'Actions', 'actions'),
            heatmaps(f'{name}-heat', HEATS, 'Distance', 'c1', 'k')]


def texts(svg: str) -> list[str]:
    return [''.join(e.itertext()) for e in ElementTree.fromstring(svg).iter(f'{SVG}text')]


def test_they_are_valid_svg_with_ids_of_their_own_and_text_that_stays_text() -> None:
    ids = []
    for svg in (*every('one'), *every('two')):
        assert '<script' not in svg
        root = ElementTree.fromstring(svg)
        ids += [e.get('id') for e in root.iter() if e.get('id')]
        assert any('<script>' in text for text in texts(svg))
    assert len(ids) == len(set(ids))
    assert every() == every(), 'the same numbers give the same bytes'


def test_bars_have_their_rows_once_and_lines_their_names() -> None:
    svg = every()[0]
    assert texts(svg).count('ours') == 1 and {'theirs', '3D', '2D', 'fraction'} <= set(texts(svg))
    label = ElementTree.fromstring(svg).get('aria-label') or ''
    assert '3D, ours: 0.25 (0.2 to 0.3), n 40' in label.replace('0.20', '0.2').replace(
        '0.30', '0.3')


def test_stacks_say_numbers_where_there_is_room_for_them() -> None:
    said = texts(every()[2])
    assert '5.0' in said and '0.0' not in said and {'EM', 'IM'} <= set(said)


def test_heatmaps_have_one_scale_and_a_figure_in_each_cell() -> None:
    svg = every()[3]
    assert {'0.0', '7.2', '1.0', 'c1', 'k'} <= set(texts(svg))
    colours = re.findall(r'fill: (#[0-9a-f]{6})', svg)
    assert '#00263d' in colours and '#f3f1ea' in colours, 'the largest of all, and none'


@pytest.mark.parametrize('draw', [
    lambda: bars('a', [BarPanel('3D', ())], 'T', 'x'), lambda: stacks('a', [], 'T', 'x'),
    lambda: heatmaps('a', [HeatPanel('end', {})], 'T', 'x', 'y')])
def test_nothing_to_show_is_no_picture(draw: object) -> None:
    assert draw() == ''  # type: ignore[operator]
