"""The labelling page in a real browser."""

from __future__ import annotations

import json
import re

import pytest

from labelling_case import (  # noqa: F401
    CLEAR,
    IDS,
    ON,
    Atom,
    asked,
    episode,
    path_fixture,
    server_fixture,
    serving,
    three_pictures,
)
from sightplan_report.labelling import read_labels

pytestmark = pytest.mark.slow


def said(path):
    """Lines of the file: number of the picture, atom, label."""
    lines = map(json.loads, path.read_text().splitlines())
    return [(IDS.index(line['image']), line['atom'], line['label']) for line in lines]


def opened(page, server):
    page.goto(server.url)
    page.wait_for_selector('[role=option]')
    return page


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def saved(page, number):
    """Wait until so many labels are confirmed."""
    page.wait_for_function(
        "number => document.title.startsWith(number + '/') "
        "&& !document.querySelector('.pending')", arg=number)


def marks(page):
    """What each question of the picture shows as its label."""
    return [re.sub(r'^mark ?| *$', '', kind) for kind in page.eval_on_selector_all(
        '.mark', 'all => all.map(mark => mark.className)')]


def current(page):
    return page.inner_text('#question')


def test_three_pictures_are_labelled_with_the_keyboard(page, console, server, path):
    opened(page, server)
    assert current(page) == 'Is it true that on r,g?'
    press(page, 'y')
    assert 'ready' not in (page.get_attribute('#next', 'class') or '')
    press(page, 'n')
    assert 'ready' in page.get_attribute('#next', 'class')
    press(page, 'Enter', 'u', 'y', 'Space', '2', '1')
    saved(page, 6)
    assert said(path) == [(0, 'on r,g', 'yes'), (0, 'clear r', 'no'), (1, 'on r,g', 'unclear'),
                          (1, 'clear r', 'yes'), (2, 'on r,g', 'no'), (2, 'clear r', 'yes')]
    assert page.inner_text('#counts') == '6 of 6 labelled, 0 pictures left'
    press(page, 'Enter')
    assert 'All questions have a label' in page.inner_text('#banner')
    assert page.eval_on_selector('#picture', 'image => [image.naturalWidth, image.naturalHeight]'
                                 ) == [40, 30]
    assert 'crisp' in page.get_attribute('#picture', 'class')
    assert console == []


def test_the_whole_picture_is_in_view_and_can_be_enlarged(page, server):
    def sizes():
        return page.evaluate('''() => ['#picture', '#frame'].flatMap(name => {
            const box = document.querySelector(name).getBoundingClientRect();
            return [box.width, box.height];
        })''')
    for width, height in ((1280, 800), (1600, 500), (900, 1200), (400, 700)):
        page.set_viewport_size({'width': width, 'height': height})
        opened(page, server)
        page.wait_for_selector('#picture.crisp')
        picture, frame = sizes()[:2], sizes()[2:]
        assert picture[0] <= frame[0] + 1 and picture[1] <= frame[1] + 1
        assert page.eval_on_selector('#picture', 'image => getComputedStyle(image).objectFit'
                                     ) == 'contain'
        press(page, '+')
        assert sizes()[0] == pytest.approx(1.5 * picture[0])
        press(page, '-')
        assert sizes()[:2] == pytest.approx(picture)


def test_a_reload_goes_on(page, console, server, path):
    opened(page, server)
    press(page, 'y', 'n', 'Enter', 'u')
    saved(page, 3)
    page.reload()
    page.wait_for_selector('[role=option]')
    assert marks(page) == ['unclear', '']
    assert current(page) == 'Is it true that clear r?'
    press(page, 'ArrowLeft')
    assert marks(page) == ['yes', 'no']
    opened(page, server)  # the bare address: where one stopped
    assert marks(page) == ['unclear', '']
    assert console == []


def test_undo_and_taking_back(page, console, server, path):
    opened(page, server)
    press(page, 'y', 'k', 'n', 'Backspace')
    assert current(page) == 'Is it true that on r,g?'
    saved(page, 1)
    press(page, 'z', 'Backspace')
    saved(page, 0)
    press(page, 'j', 'u', 'ArrowUp', 'ArrowUp', 'ArrowDown', 'x')
    saved(page, 0)
    assert said(path) == [
        (0, 'on r,g', 'yes'), (0, 'on r,g', 'no'), (0, 'on r,g', 'yes'), (0, 'on r,g', None),
        (0, 'clear r', 'unclear'), (0, 'clear r', None)]
    assert len(read_labels(path)) == 0
    assert console == []


def test_undo_goes_back_to_its_picture(page, server, path):
    opened(page, server)
    press(page, 'y', 'Enter', 'Backspace')
    saved(page, 0)
    assert current(page) == 'Is it true that on r,g?'
    assert page.inner_text('#where').startswith('Picture 1 of 3, question 1 of 2')


def test_no_label_is_lost_when_the_connection_is(page, console, server, path):
    opened(page, server)
    page.route('**/label', lambda route: route.abort())
    press(page, 'y', 'n')
    page.wait_for_selector('#banner:has-text("No connection"):has-text("2 labels are not saved")')
    assert marks(page) == ['yes pending', 'no pending']
    assert page.inner_text('#counts') == '0 of 6 labelled, 3 pictures left'
    assert said(path) == []
    press(page, 'k', 'u')
    page.unroute('**/label')
    saved(page, 2)
    page.wait_for_selector('#banner', state='hidden')
    assert said(path) == [(0, 'on r,g', 'yes'), (0, 'clear r', 'no'), (0, 'on r,g', 'unclear')]
    assert all('ERR_FAILED' in text for text in console)


def test_a_lost_reply_writes_nothing_twice(page, server, path):
    opened(page, server)

    def lose(route):
        route.fetch()
        route.abort()
    page.route('**/label', lose, times=1)
    press(page, 'y', 'n')
    saved(page, 2)
    assert said(path) == [(0, 'on r,g', 'yes'), (0, 'clear r', 'no')]


def test_what_the_server_cannot_write_is_not_shown_as_saved(page, server, path):
    opened(page, server)
    path.unlink()
    press(page, 'y')
    page.wait_for_selector('#banner:not([hidden])')
    assert 'was deleted' in page.inner_text('#banner')
    assert marks(page) == ['yes pending', '']


def test_buttons_do_what_keys_do(page, console, server, path):
    opened(page, server)
    page.click('text=Cannot tell')
    page.click('[role=option] >> nth=0')
    assert page.get_attribute('[data-do=unclear]', 'aria-pressed') == 'true'
    page.click('[data-do=yes]')
    page.click('[data-do=next]')
    page.click('[data-do=no]')
    saved(page, 2)
    press(page, 'y')  # keys go on after a click
    saved(page, 3)
    page.click('[data-do=undo]')
    page.click('[data-do=back]')
    saved(page, 2)
    assert marks(page) == ['yes', '']
    page.click('#help')
    assert page.is_visible('dialog')
    press(page, 'y', 'Escape')
    assert not page.is_visible('dialog')
    page.focus('[data-do=unclear]')
    press(page, 'Enter')  # a button that has the focus does its own
    saved(page, 3)
    assert said(path)[-1] == (0, 'clear r', 'unclear')
    assert console == []


def test_the_rest_of_a_group_is_no(page, path):
    atoms = {Atom('on', (f'x{n}', 'g')): 'no' for n in range(4)} | {CLEAR: 'no'}
    with serving(path, episode(asked(0, atoms))) as server:
        opened(page, server)
        press(page, 'y', 'Shift+N')
        saved(page, 4)
        assert marks(page) == ['yes', 'no', 'no', 'no', '']
        assert current(page) == 'Is it true that clear r?'
        press(page, 'Backspace')
        saved(page, 1)
        assert marks(page) == ['yes', '', '', '', '']


def told_time(page):
    """Seconds on the picture and seconds that are left, None while these are not told."""
    found = re.fullmatch(r'(\d+):(\d\d) on this picture(?:, about (\d+):(\d\d) left)?',
                         page.inner_text('#time'))
    here, left = (None if minutes is None else 60 * int(minutes) + int(seconds)
                  for minutes, seconds in (found.group(1, 2), found.group(3, 4)))
    return here, left


def test_the_time_left_is_told_late_and_follows_undo(page, path):
    page.clock.install()  # it also runs by itself, fast or slowly: times are compared
    atoms = {Atom('on', (f'x{n}', 'g')): 'no' for n in range(10)}
    with serving(path, episode(asked(0, atoms))) as server:
        opened(page, server)
        press(page, *'yyyyy')
        saved(page, 5)
        here, left = told_time(page)
        assert left == (here if here >= 30 else None)
        page.clock.run_for(40_000)
        here, left = told_time(page)
        assert here >= 40 and left == here, 'half of the questions are labelled'
        press(page, 'z')
        saved(page, 4)
        assert told_time(page)[1] is None


def test_a_recorded_text_is_no_markup(page, console, path):
    recorded = episode(asked(0, {ON: 'yes'}))
    object.__setattr__(recorded.events[-1].questions[0], 'text', '<img src=x onerror=alert(1)>?')
    with serving(path, recorded) as server:
        opened(page, server)
        assert current(page) == '<img src=x onerror=alert(1)>?'
        assert page.locator('img').count() == 1
    assert console == []


def test_answers_are_shown_only_on_request(page, path):
    with serving(path, three_pictures()) as server:
        opened(page, server)
        assert not page.is_visible('#answers') and 'tiny' not in page.content()
    with serving(path, three_pictures(), show_answers=True) as server:
        opened(page, server)
        assert page.inner_text('#answers') == 'tiny: yes'


def test_a_picture_that_is_lost_is_said(page, path):
    with serving(path, episode(asked(0, {ON: 'yes'}), without=(0,))) as server:
        opened(page, server)
        page.wait_for_selector('#no-picture:not([hidden])')
        assert 'cannot be shown' in page.inner_text('#no-picture')


def test_it_fits_a_phone_and_can_be_read_aloud(page, server):
    page.set_viewport_size({'width': 360, 'height': 740})
    opened(page, server)
    assert page.evaluate('document.documentElement.scrollWidth') <= 360
    assert page.get_by_role('button', name='Yes').is_visible()
    options = page.get_by_role('option')
    assert options.count() == 2
    press(page, 'y')
    saved(page, 1)
    assert options.nth(0).get_attribute('aria-label') == 'Is it true that on r,g? yes'
    assert page.get_attribute('#questions', 'aria-activedescendant') == 'question-1'
    assert options.nth(1).get_attribute('aria-selected') == 'true'
    assert page.locator('[aria-live=polite]').inner_text() == 'yes: Is it true that on r,g?'
