"""Plots of the report: valid SVG, everything at its place, safe to put side by side."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from sightplan.metrics.calibration import reliability
from sightplan_report.plots import COLOURS, Curve, Dot, curves, dots, fractions, reliabilities

SVG = '{http://www.w3.org/2000/svg}'
HREF = '{http://www.w3.org/1999/xlink}href'
HOSTILE = '<script>alert("x")</script> $a_b$ & "c"'
DOTS = (Dot('ground', 'simple', 0.25, 0.1, 0.5, 20, published=0.75),
        Dot('ground', 'hard', 0.5, 0.3, 0.7, 20), Dot('belief', 'simple', 1.0, 0.8, 1.0, 20),
        Dot('belief', 'hard', 0.0, 0.0, 0.2, 20))
CURVES = (Curve('ground', ((10, 1.0, 0.8, 1.0, 9), (100, 0.5, 0.3, 0.7, 9)),
                ((10, 0.9), (100, 0.4))), Curve('belief', ((10, 0.75, 0.6, 0.9, 4),)))


def reliable(n=200):
    p = np.linspace(0.0, 1.0, n)
    return reliability(p, p > 0.5, groups=list(range(n)), resamples=10)


def every(name='plot', text='ground'):
    return [
        dots(f'{name}-dots', [*DOTS, Dot(text, 'other', 0.5, 0.4, 0.6, 3)], 'Success', 'solved'),
        curves(f'{name}-curves', [*CURVES, Curve(text, ((20, 0.5, 0.4, 0.6, 3),))], 'Compounding',
               'answers', 'solved'),
        reliabilities(f'{name}-reliable', [(text, reliable())] * 5, 'Calibration'),
        fractions(f'{name}-fractions', [(text, {'budget': 3, 'no_plan': 1})], 'Causes',
                  'fraction')]


def test_plots_are_valid_svg_whose_ids_are_unique_in_a_page():
    ids = []
    for svg in (*every('one'), *every('two')):
        root = ElementTree.fromstring(svg)
        assert root.tag == f'{SVG}svg'
        own = [e.get('id') for e in root.iter() if e.get('id')]
        used = {e.get(HREF)[1:] for e in root.iter() if e.get(HREF)} | set(
            re.findall(r'url\(#([^)]+)\)', svg))
        assert used <= set(own), 'what a plot refers to is in it'
        ids += own
    assert len(ids) == len(set(ids)) > 8


def test_the_same_numbers_give_the_same_bytes():
    svg = dots('a', DOTS, 'Success', 'solved')
    assert svg == dots('a', DOTS, 'Success', 'solved')
    assert not re.search(r'20\d\d-\d\d', svg), 'no date'


def test_text_stays_text_and_cannot_become_markup():
    for svg in every(text=HOSTILE):
        assert '<script' not in svg
        root = ElementTree.fromstring(svg)
        texts = ''.join(''.join(e.itertext()) for e in root.iter(f'{SVG}text'))
        assert '$a_b$' in texts or '$a_b$' in svg, 'names are no formulas'
        assert 'alert' in root.get('aria-label')


def test_the_label_tells_the_numbers():
    svg = dots('a', DOTS, 'Success by method', 'solved')
    label = ElementTree.fromstring(svg).get('aria-label')
    assert label.startswith('Success by method: ground, simple 0.25 (0.10 to 0.50), n 20, '
                            'published 0.75; ')
    many = [Dot(f'method {k}', 'simple', 0.5, 0.4, 0.6, 20) for k in range(90)]
    label = ElementTree.fromstring(dots('a', many, 'Success', 'solved')).get('aria-label')
    assert len(label) < 1000 and label.endswith('; and more')


def marks(svg, colour):
    """Positions of the markers of a colour, that of the legend last."""
    found = []
    for use in ElementTree.fromstring(svg).iter(f'{SVG}use'):
        if colour.lower() in (use.get('style') or '').lower():
            found += [(float(use.get('x')), float(use.get('y')))] * (use.get('x') != '0')
    return found


def test_markers_stand_where_their_numbers_are():
    svg = dots('a', DOTS, 'Success', 'solved')
    (published, y3), (x1, y1), (x2, y2), _ = marks(svg, COLOURS[0])
    (x3, y4), (x4, y5), _ = marks(svg, COLOURS[1])
    scale = (x2 - x4)  # from 0 to 1
    assert x1 == pytest.approx(x4 + 0.25 * scale) and x3 == pytest.approx(x4 + 0.5 * scale)
    assert published == pytest.approx(x4 + 0.75 * scale) and y3 == y1
    assert y1 < y4 < y2 < y5, 'rows in order, series within them'


def test_series_differ_by_more_than_colour():
    svg = dots('a', DOTS, 'Success', 'solved')
    shapes = {colour: {use.get(HREF) for use in ElementTree.fromstring(svg).iter(f'{SVG}use')
                       if colour.lower() in (use.get('style') or '').lower()}
              for colour in COLOURS[:2]}
    assert not shapes[COLOURS[0]] & shapes[COLOURS[1]]
    bars = fractions('b', [('x', {'a': 1, 'b': 1, 'c': 1})], 'Causes', 'fraction')
    assert bars.count('<pattern') == 2, 'the first part is plain, the others have hatches'
    lines = curves('c', [Curve(str(k), ((1, 0.1, 0, 1, 1), (9, 0.2, 0, 1, 1))) for k in range(3)],
                   'Curves', 'x', 'y')
    assert len(set(re.findall(r'stroke-dasharray: ([^;]+)', lines))) == 2


def test_curves_go_down_where_the_fraction_does():
    svg = curves('a', CURVES[:1], 'Compounding', 'answers', 'solved')
    (x1, y1), (x2, y2) = marks(svg, COLOURS[0])[:2]
    assert x1 < x2 and y1 < y2, 'y of SVG points down'


def test_few_probabilities_in_a_bin_are_drawn_hollow():
    p = np.concatenate([np.full(50, 0.05), np.full(5, 0.95)])
    svg = reliabilities('a', [('belief', reliability(p, p > 0.5))], 'Calibration')
    filled = [use for use in ElementTree.fromstring(svg).iter(f'{SVG}use')
              if f'fill: {COLOURS[0].lower()}' in (use.get('style') or '').lower()]
    hollow = [use for use in ElementTree.fromstring(svg).iter(f'{SVG}use')
              if 'fill-opacity: 0' in (use.get('style') or '').lower()]
    assert (len(filled), len(hollow)) == (1, 1)
    assert 'n 55' in svg


def test_nothing_to_draw_is_no_plot():
    assert [dots('a', [], '', ''), curves('a', [Curve('x', ())], '', '', ''),
            reliabilities('a', [], ''), fractions('a', [('x', {})], '', '')] == [''] * 4


def test_zero_on_a_logarithmic_axis_is_drawn_at_its_end():
    points = [Dot('blind', 's', 0.0, 0.0, 0.0, 5), Dot('ground', 's', 90.0, 80.0, 99.0, 5)]
    svg = dots('a', points, 'Q', 'questions', fraction=False, log=True)
    (zero, _), (many, _), _ = marks(svg, COLOURS[0])
    assert zero < many


def test_a_name_that_breaks_ids_is_refused():
    with pytest.raises(ValueError, match='named by letters'):
        dots('a b"', DOTS, '', '')


def test_two_points_at_one_place_are_refused():
    with pytest.raises(ValueError, match=r"2 points are called \('ground', 'simple'\)"):
        dots('a', [DOTS[0], DOTS[0]], 'Success', 'solved')


def boxes(svg):
    """Left and right end of the axes, out of their clip paths."""
    rect = next(e for e in ElementTree.fromstring(svg).iter(f'{SVG}rect'))
    left = float(rect.get('x'))
    return left, left + float(rect.get('width'))


@pytest.mark.parametrize(('svg', 'count'), [
    (dots('a', DOTS, 'Success', 'solved'), 5), (curves('b', CURVES, 'Curves', 'x', 'y'), 3),
    (dots('c', [Dot('x', '', -1.0, -1.0, -0.5, 3)], 'D', 'd', fraction=False, zero=True), 1)])
def test_every_marker_is_there_and_inside_the_axes(svg, count):
    left, right = boxes(svg)
    xs = [float(use.get('x')) for group in ElementTree.fromstring(svg).iter(f'{SVG}g')
          if group.get('clip-path') for use in group.iter(f'{SVG}use')]
    assert len(xs) == count and all(left <= x <= right for x in xs)


def test_published_numbers_are_not_hidden_by_measured_ones():
    (_, _), *_ = both = marks(dots('a', [Dot('x', 's', 0.5, 0.4, 0.6, 9, published=0.5)], 'S',
                                   'solved'), COLOURS[0])
    (x1, y1), (x2, y2) = both[:2]
    assert x1 == x2 and abs(y1 - y2) > 2


def test_series_stand_in_the_order_that_is_wanted():
    def first(order):
        svg = dots('a', DOTS, 'S', 'solved', order=order)
        texts = [''.join(e.itertext()).strip() for e in ElementTree.fromstring(svg).iter(
            f'{SVG}text')]
        return texts.index('hard') < texts.index('simple')
    assert first(('hard', 'simple')) and not first(('simple', 'hard'))


def test_long_names_are_folded_and_stay_apart():
    long = 'a very long name of a method, with many words ' * 9
    rows = [f'{long} {middle} {long}' for middle in ('one', 'two')]
    svg = dots('a', [Dot(row, 's', 0.5, 0.4, 0.6, 3) for row in rows], 'S', 'solved')
    texts = ' '.join(''.join(e.itertext()).strip() for e in ElementTree.fromstring(svg).iter(
        f'{SVG}text'))
    assert ' one ' in texts and ' two ' in texts
    assert '…' in dots('a', [Dot(rows[0], 's', 0.5, 0.4, 0.6, 3)], 'S', 'solved')


def test_models_at_the_same_number_are_drawn_beside_each_other():
    svg = curves('a', [Curve(name, ((10, 0.5, 0.4, 0.6, 9), (20, 0.5, 0.4, 0.6, 9)))
                       for name in 'ab'], 'C', 'x', 'y')
    (x1, _), (x2, _) = marks(svg, COLOURS[0])[:2]
    (x3, _), _ = marks(svg, COLOURS[1])[:2]
    assert 2 < x3 - x1 < 0.1 * (x2 - x1)
