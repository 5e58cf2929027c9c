"""The report in a browser: opened from disk, without a network, in wide and narrow windows."""

import pytest

from report_cases import asked, counts, line, write_run
from sightplan_report.episode_page import page as episode_page
from sightplan_report.episode_reader import view
from sightplan_report.page import Settings, build
from sightplan_report.results import gather
from sightplan_report.tables import make_tables
from test_report_page import HOSTILE

pytestmark = pytest.mark.slow

WIDTHS = (400, 1280)


@pytest.fixture(scope='module')
def report(tmp_path_factory):
    """A report of two methods and a model with a name that would like to be a script."""
    folder = tmp_path_factory.mktemp('browser')
    causes = ('budget', 'no_plan', 'effect_misread')
    for method, share in (('ground', 2), ('plan', 4)):
        lines = []
        for number in range(12):
            one = line(number, number % share == 0, method=method, model='m', seconds=number + .5,
                       split=('simple', 'hard')[number % 2], message=HOSTILE,
                       actions=[{'action': HOSTILE, 'status': 'executed', 'outcome': 'success',
                                 'image_id': '', 'stamp_ns': 0, 'applicable': None,
                                 'effects': None, 'misled': []}],
                       **asked({'on': counts(9, 10)}))
            if one['failure']:
                one['failure'] = {**one['failure'], 'cause': causes[number % 3]}
            lines.append(one)
        write_run(folder / method, lines, method=method, model=HOSTILE)
    results = gather(folder)
    path = folder / 'report.html'
    path.write_text(build(results, make_tables(results), Settings('A report')).html)
    return path


@pytest.fixture
def opened(page, report, request):
    """The report, opened; what it asked for besides itself is in ``page.asked_for``."""
    page.asked_for = []
    page.on('request', lambda r: r.url.startswith('data:') or page.asked_for.append(r.url))
    page.goto(report.as_uri())
    return page


def test_it_opens_from_disk_without_network_or_errors(opened, console, report):
    assert console == []
    assert opened.asked_for == [report.as_uri()]
    assert opened.title() == 'A report'
    assert opened.evaluate('window.alerted') is None
    for key in ('success', 'models', 'failures', 'cost', 'paired', 'episodes', 'provenance',
                'notes'):
        assert opened.locator(f'h2#{key}').is_visible(), key
        assert opened.locator(f'.contents a[href="#{key}"]').count() == 1
    assert opened.locator('svg.plot').count() >= 4
    assert opened.locator('.episode:visible').count() == 0


def test_an_episode_is_shown_alone_and_left_again(opened, console):
    opened.locator('#list a').first.click()
    shown = opened.locator('.episode:visible')
    assert shown.count() == 1 and not opened.locator('main').is_visible()
    first = shown.locator('h2').inner_text()
    opened.keyboard.press('n')
    assert opened.locator('.episode:visible h2').inner_text() != first
    opened.keyboard.press('p')
    assert opened.locator('.episode:visible h2').inner_text() == first
    opened.locator('.episode:visible .turn a').first.click()
    assert opened.locator('main').is_visible()
    assert opened.locator('.episode:visible').count() == 0
    opened.go_back()
    assert opened.locator('.episode:visible').count() == 1
    assert console == []


def column(page, number):
    return page.evaluate('''(number) => [...document.querySelectorAll('#list tbody tr')]
        .filter((row) => !row.hidden).map((row) => row.cells[number].textContent.trim())''',
                         number)


def test_a_click_on_a_heading_sorts(opened, console):
    head = opened.locator('#list thead th', has_text='seconds')
    head.click()
    rising = [float(text) for text in column(opened, 7)]
    assert rising == sorted(rising) and rising[0] < rising[-1]
    assert head.get_attribute('aria-sort') == 'ascending'
    head.focus()
    opened.keyboard.press('Enter')
    assert [float(text) for text in column(opened, 7)] == rising[::-1]
    opened.locator('#list thead th', has_text='episode').click()
    names = column(opened, 0)
    assert names.index('blocksworld/hard/p9#0') < names.index('blocksworld/hard/p11#0'), (
        'numbers in names count as numbers')
    assert head.get_attribute('aria-sort') is None and console == []


def test_tables_are_sorted_by_all_digits(opened):
    table = opened.locator('table[data-table=success]')
    head = table.locator('thead tr:last-child th', has_text='success').first
    place = head.evaluate('(cell) => cell.cellIndex')
    head.click()
    values = table.locator('tbody').evaluate(
        '(body, place) => [...body.rows].map((row) => row.cells[place].dataset.v)', place)
    known = [float(value) for value in values if value is not None]
    assert known == sorted(known) and values[:len(known)].count(None) == 0, 'unknown ones last'


def test_the_list_is_filtered(opened, console):
    assert opened.locator('#shown').inner_text() == '24 of 24 shown'
    opened.select_option('select[name=method]', 'plan')
    opened.select_option('select[name=split]', 'hard')
    assert set(column(opened, 1)) == {'plan'} and set(column(opened, 3)) == {'hard'}
    assert opened.locator('#shown').inner_text() == '6 of 24 shown'
    opened.fill('input[name=text]', 'MISREAD')
    assert set(column(opened, 4)) == {'✗ effect misread'}
    opened.fill('input[name=text]', 'nothing has this')
    assert column(opened, 0) == [] and console == []


@pytest.mark.parametrize('width', WIDTHS)
def test_nothing_is_wider_than_the_window(opened, report, width):
    opened.set_viewport_size({'width': width, 'height': 800})
    for place in ('', '#e0'):
        opened.goto(f'{report.as_uri()}{place}')
        opened.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert opened.evaluate('document.documentElement.scrollWidth') <= width, place or 'report'


def test_it_is_complete_without_scripts(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator('h2#success').is_visible() and not page.locator('form.filter').is_visible()
    page.locator('#list a').first.click()
    assert page.locator('.episode:visible').count() == 1
    assert not page.locator('main').is_visible()
    context.close()


def test_the_page_of_one_episode(page, console, report, tmp_path):
    run = gather(report.parent / 'plan').runs[0]
    path = tmp_path / 'episode.html'
    path.write_text(episode_page(view(run.lines[1], folder=run.folder)))
    page.goto(path.as_uri())
    assert page.locator('.episode h2').is_visible() and page.locator('.step').count() >= 1
    assert console == [] and page.evaluate('document.scripts.length') == 0
    page.set_viewport_size({'width': 400, 'height': 800})
    assert page.evaluate('document.documentElement.scrollWidth') <= 400
