"""Point-It-Out: the page on which people rate traces, in a real browser."""

from __future__ import annotations

import json

import numpy as np
import pytest

from labelling_case import running
from sightplan_suites.point_it_out.agreement import read_ratings
from sightplan_suites.point_it_out.drawing import draw_trace
from sightplan_suites.point_it_out.rating import SCALE, RatingServer, RatingSession
from sightplan_suites.point_it_out.traces import ShownTrace

pytestmark = pytest.mark.slow

GREY = np.full((300, 400, 3), 128, np.uint8)
TRACES = [ShownTrace(f's3/{item}', model, f'put thing {item} into the box',
                     ((0.1, 0.5), (0.9, 0.2)), lambda: GREY)
          for item in range(2) for model in ('a', 'b')]


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'ratings.jsonl'


@pytest.fixture
def server(path):
    with running(RatingServer(RatingSession(TRACES, path, 'ann'))) as found:
        yield found


def opened(page, server):
    page.goto(server.url)
    page.wait_for_selector('#scale button')
    return page


def counted(page, number):
    """Wait until so many ratings are confirmed."""
    page.wait_for_function(
        "number => document.querySelector('#counts').textContent.includes(`, ${number} rated`)",
        arg=number)


def test_keys_and_clicks_rate_and_go_on(page, server, path, console) -> None:
    opened(page, server)
    assert page.locator('#scale button').all_inner_texts() == [
        f'{number}: {words}' for number, words in enumerate(SCALE, 1)]
    page.wait_for_function("() => document.querySelector('#picture').naturalWidth > 0")
    size = page.eval_on_selector('#picture', 'one => [one.naturalWidth, one.naturalHeight]')
    drawn = draw_trace(GREY, TRACES[0].points, TRACES[0].text)
    assert size == [drawn.shape[1], drawn.shape[0]]
    texts = []
    for number, rating in enumerate('5214'):
        texts.append(page.inner_text('#task'))
        if number == 1:
            page.locator('#scale button').nth(int(rating) - 1).click()
        else:
            page.keyboard.press(rating)
        counted(page, number + 1)
    assert 'all traces are rated' in page.inner_text('#said')
    assert sorted(texts) == sorted(trace.text for trace in TRACES)
    assert sorted(one['score'] for one in map(json.loads, path.read_text().splitlines())
                  if 'score' in one) == [1, 2, 4, 5]
    assert len(read_ratings([path]).ratings) == 4
    assert console == []


def test_one_goes_back_changes_ones_mind_and_goes_on_later(page, server, path, console) -> None:
    opened(page, server)
    page.keyboard.press('3')
    counted(page, 1)
    page.keyboard.press('ArrowLeft')
    assert page.get_attribute('#scale button:nth-child(3)', 'aria-pressed') == 'true'
    page.keyboard.press('1')
    page.wait_for_function("() => document.querySelector('#said').textContent === 'rated 1'")
    page.reload()
    page.wait_for_selector('#scale button')
    counted(page, 1)
    assert 'trace 2 of 4' in page.inner_text('#counts')
    assert console == []


def test_a_rating_that_is_not_saved_is_not_shown_as_chosen(page, server) -> None:
    opened(page, server)
    page.route('**/rate', lambda route: route.abort())
    page.keyboard.press('4')
    page.wait_for_selector('#banner:not([hidden])')
    assert 'not saved' in page.inner_text('#banner')
    assert page.locator('[aria-pressed=true]').count() == 0
    page.unroute('**/rate')
    page.keyboard.press('4')
    counted(page, 1)
    assert page.is_hidden('#banner')


def test_it_fits_a_narrow_window(page, server, console) -> None:
    page.set_viewport_size({'width': 400, 'height': 800})
    opened(page, server)
    assert page.evaluate('document.documentElement.scrollWidth') <= 400
    assert console == []


def test_the_address_that_holds_once_leads_to_the_page(page, server, console) -> None:
    once = server.url_once
    page.goto(once)
    page.wait_for_selector('#scale button')
    assert page.url == server.url and console == []
    assert page.goto(once).status == 403
