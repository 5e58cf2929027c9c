"""The page on which people play, in a real browser."""

from __future__ import annotations

import pytest

from play_case import SMALL, playing, settings_for

pytestmark = pytest.mark.slow


@pytest.fixture
def session(tmp_path):
    with playing(settings_for(tmp_path)) as found:
        found.until(lambda told: told['phase'] == 'ready')
        yield found


def started(page, session):
    """The page, in the first puzzle, once its pictures are there."""
    page.goto(session.server.url)
    page.wait_for_selector('#next:visible')
    page.keyboard.press('Enter')  # the button has the focus
    page.wait_for_selector('#pieces button:enabled')
    for name in ('now', 'goal'):
        page.wait_for_function(f"() => document.querySelector('#{name}').naturalWidth === 96")
    return page


def made(page, number):
    """Wait until so many moves are shown as made."""
    page.wait_for_function("number => document.querySelectorAll('#log li').length === number "
                           "&& !document.querySelector('#waiting').textContent", arg=number)


def text_has(page, where, words):
    """Wait until words are part of a text."""
    page.wait_for_function(
        '([where, words]) => document.querySelector(where).textContent.includes(words)',
        arg=[where, words])


def shown(page):
    """Which picture is to be seen."""
    return [name for name in ('now', 'goal')
            if page.eval_on_selector(f'#{name}', 'one => getComputedStyle(one).visibility')
            == 'visible']


def test_puzzles_are_played_by_keys_and_typed_lines(page, session, console) -> None:
    started(page, session)
    assert page.locator('#pieces button').all_inner_texts() == ['red cube', 'blue sphere']
    page.keyboard.press('ArrowLeft')
    assert page.inner_text('#message') == 'choose a piece first'
    page.click('#pieces button:has-text("red cube")')
    page.keyboard.press('ArrowLeft')
    made(page, 1)
    assert page.inner_text('#message') == 'red cube left: there is no next cell'
    page.click('#pad [data-direction=up]')
    made(page, 2)
    assert 'the next cell is taken' in page.inner_text('#message')
    assert page.inner_text('#moves') == '2 of 20 moves made'
    page.keyboard.press('ArrowRight')
    page.wait_for_selector('#next:visible')
    assert page.inner_text('#headline') == 'Solved'
    assert '1 of 2 · 1 solved · ann' in page.inner_text('#counts')
    page.keyboard.press('Enter')
    text_has(page, '#counts', '2 of 2')
    made(page, 0)
    page.keyboard.type('move red cube right, red cube up')  # what is typed goes to the line
    page.keyboard.press('Enter')
    text_has(page, '#about', '2 solved')
    assert page.inner_text('#headline') == 'Solved'
    assert session.summary.result(timeout=60)['solved'] == 2
    assert console == []


def test_ctrl_and_a_button_show_the_goal(page, session, console) -> None:
    started(page, session)
    assert shown(page) == ['now']
    page.keyboard.down('Control')
    assert shown(page) == ['goal']
    page.keyboard.up('Control')
    assert shown(page) == ['now']
    page.click('#show')
    assert (shown(page), page.get_attribute('#show', 'aria-pressed')) == (['goal'], 'true')
    page.click('#show')
    assert shown(page) == ['now']
    assert console == []


def test_the_goal_is_shown_beside_the_board_if_asked(page, session, console) -> None:
    started(page, session)
    page.click('#beside')
    assert shown(page) == ['now', 'goal']
    board, goal = (page.locator(f'#{name}').bounding_box() for name in ('now', 'goal'))
    assert goal['x'] >= board['x'] + board['width'] and abs(goal['y'] - board['y']) < 2
    page.keyboard.down('Control')
    assert shown(page) == ['now', 'goal']
    page.keyboard.up('Control')
    page.click('#pieces button:has-text("red cube")')
    page.click('#pad [data-direction=left]')
    made(page, 1)
    assert shown(page) == ['now', 'goal'], 'also after a move'
    page.click('#beside')
    assert shown(page) == ['now']
    assert console == []


@pytest.mark.parametrize('view', ['2d', 'text'])
def test_the_command_may_begin_with_the_goal_beside(page, tmp_path, console, view) -> None:
    options = {**SMALL, 'view': view}
    with playing(settings_for(tmp_path, world_options=options), goal_beside=True) as found:
        found.until(lambda told: told['phase'] == 'ready')
        page.goto(found.server.url)
        page.wait_for_selector('#next:visible')
        page.keyboard.press('Enter')
        page.wait_for_selector('#pieces button:enabled')
        assert page.get_attribute('#beside', 'aria-pressed') == 'true'
        if view == 'text':
            assert page.inner_text('#words').split('\n') == ['A1 red cube', 'A2 blue sphere']
            assert page.inner_text('#goal-words').split('\n') == ['B1 red cube', 'A2 blue sphere']
            page.click('#beside')
            assert not page.is_visible('#goal-words')
        else:
            assert shown(page) == ['now', 'goal']
    assert console == []


def test_a_line_that_cannot_be_read_stays_and_costs_nothing(page, session) -> None:
    started(page, session)
    page.fill('#line', 'green cube left')
    page.keyboard.press('Enter')
    page.wait_for_selector('#message.bad')
    assert 'there is no green cube' in page.inner_text('#message')
    assert page.input_value('#line') == 'green cube left'
    page.keyboard.press('ArrowLeft')  # moves the cursor
    assert page.inner_text('#moves') == '0 of 20 moves made'


def test_giving_up_is_asked_for_twice_and_a_reload_changes_nothing(page, session, console) -> None:
    started(page, session)
    page.click('#up')
    assert page.inner_text('#up') == 'Really give up?'
    page.reload()
    page.wait_for_selector('#pieces button:enabled')
    assert session.state()['phase'] == 'playing'
    page.click('#up')
    page.click('#up')
    page.wait_for_selector('#next:visible')
    assert page.inner_text('#headline') == 'Given up'
    assert console == []


def test_who_closes_the_program_is_told_how_to_go_on(page, session) -> None:
    started(page, session)
    session.game.close()
    text_has(page, '#headline', 'The program was ended')
    assert '0 of 2 puzzles are played' in page.inner_text('#about')


def test_it_fits_a_narrow_window(page, session, console) -> None:
    page.set_viewport_size({'width': 390, 'height': 844})
    started(page, session)
    assert page.evaluate('document.documentElement.scrollWidth') <= 390
    assert console == []
