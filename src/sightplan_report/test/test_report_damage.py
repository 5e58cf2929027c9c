"""Whatever stands in the files of a run, a report is made or says what is wrong."""

import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from report_cases import asked, counts, identity, line
from sightplan.model import InputError
from sightplan_report import page
from sightplan_report.export import export
from sightplan_report.results import gather
from sightplan_report.tables import make_tables

WRONG = {'purpose': 'effect', 'atom': 'on a,b', 'answer': 'yes', 'truth': False, 'step': 1,
         'image_id': 'i', 'stamp_ns': 5}
FAILED = line(1, False, stop='plan_done', failure=None, message='m',
              actions=[{'action': 'a', 'status': 'executed', 'outcome': 'success', 'stamp_ns': 4,
                        'image_id': 'i', 'applicable': True, 'effects': 'false_negative',
                        'misled': [WRONG]}],
              wrong=[['effect', 'on a,b', 'yes', 1, 'i', 5, False]],
              goal_unmet=[{'literal': 'on a,b', 'last': WRONG}],
              last_observation={'image_id': 'i', 'stamp_ns': 4}, beliefs=[[2, .5, 1]] * 20,
              usage={'requests': 2, 'prompt_tokens': 7, 'completion_tokens': 1, 'cost_usd': .1},
              **asked({'on': counts(7, 10)}, 4, 6, 2, wrong=1))
TOLD = line(2, False, usage={'requests': 1, 'prompt_tokens': 2, 'completion_tokens': 3}, failure={
    'cause': 'budget', 'step': 2, 'image_id': 'i', 'evidence': {
        'text': 't', 'stamp_ns': 4, 'action': 'a', 'answers': [WRONG], 'answer_count': 1}})
STUCK = {**FAILED, 'id': 'blocksworld/simple/p3#0', 'problem': 'p3', 'stop': 'no_plan'}
LINES = [line(0, True, **asked({'on': counts(10, 10)}, 4, 6, 2)), FAILED, TOLD, STUCK]
ANSWER = {'episode': FAILED['id'], 'split': 'simple', 'step': 1, 'image': 'i',
          'stamp_ns': 5, 'atom': 'on a,b', 'answer': 'yes', 'p_yes': .5, 'p_no': .25,
          'truth': True}
SESSION = {'started': '2026-01-02T03:04:05+00:00', 'commit': 'c', 'dirty': False,
           'packages': {'numpy': '2'}, 'settings': {'episodes': 4}}
FILES = {'lines': LINES, 'answers': [ANSWER],
         'run': {'format': 3, 'identity': identity(), 'sessions': [SESSION]},
         'index': {'sweep': 's', 'cells': [{'dir': 'a', 'labels': {'variant': 'v'},
                                            'episodes': 4}]}}

LEAVES = (st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.sampled_from([
    -1, 0, 5, 2 ** 53, 2 ** 63, 2 ** 64, 10 ** 30, 10 ** 400, -10 ** 400, 1e308, '..', 'a\0b',
    '\ud800', 'x' * 5000, 'no_plan', 'plan_done', 'repeated_illegal', 'no', 'unparsed']))
JUNK = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=5)


def places(content, path=()):
    """Paths of all values in JSON content, itself not among them."""
    items = (content.items() if isinstance(content, dict)
             else enumerate(content) if isinstance(content, list) else ())
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


PLACES = sorted(places(FILES), key=str)


def changed(content, path, value):
    """The content with another value at a path."""
    content = json.loads(json.dumps(content))
    *above, last = path
    place = content
    for key in above:
        place = place[key]
    place[last] = value
    return content


def write(folder, files):
    """A sweep of one run; what is not a list of lines stands in a line of its own."""
    run = folder / 'a'
    run.mkdir(parents=True, exist_ok=True)
    for name, key in (('episodes', 'lines'), ('answers', 'answers')):
        lines = files[key] if isinstance(files[key], list) else [files[key]]
        (run / f'{name}.jsonl').write_text(''.join(json.dumps(one) + '\n' for one in lines))
    (run / 'run.json').write_text(json.dumps(files['run']))
    (folder / 's.sweep.json').write_text(json.dumps(files['index']))


def report(folder):
    """All of a report: tables, their files, the page with all episodes."""
    results = gather(folder)
    tables = make_tables(results)
    export(results, folder / 'out', tables)
    page.build(results, tables, page.Settings(episodes=page.ALL))


@given(st.sampled_from(PLACES), JUNK)
@example(('lines', 1, 'usage', 'prompt_tokens'), None)
@example(('lines', 1, 'seconds'), 10 ** 400)
@example(('lines', 1, 'predicates', 'enumeration', 'on', 'right'), 11)
@example(('lines', 1, 'predicates', 'enumeration', 'on', 'asked'), 2 ** 63)
@example(('lines', 1, 'beliefs', 0), [1e308, 1e308, 1e308])
@example(('lines', 1, 'actions', 0, 'stamp_ns'), 'abc')
@example(('lines', 1, 'actions', 0, 'misled'), 5)
@example(('lines', 1, 'wrong', 0), [1])
@example(('lines', 1, 'goal_unmet', 0), {})
@example(('lines', 1, 'steps'), 2 ** 63)
@example(('answers', 0, 'episode'), [])
@example(('answers', 0, 'p_yes'), 10 ** 400)
@example(('run', 'identity', 'seed'), 2 ** 64)
@example(('run', 'identity', 'failure_probability'), 10 ** 400)
@example(('run', 'sessions', 0, 'settings', 'episodes'), 2 ** 63)
@example(('index', 'cells', 0, 'dir'), 'x' * 5000)
@example(('index', 'cells', 0, 'episodes'), 2 ** 63)
@settings(max_examples=10, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.slow
def test_whatever_stands_in_the_files_is_reported_or_named(tmp_path, path, junk):
    write(tmp_path, changed(FILES, path, junk))
    said = str(tmp_path)
    try:
        report(tmp_path)
    except InputError as error:
        said = str(error)
    assert str(tmp_path) in said


def test_whole_files_leave_nothing_out(tmp_path):
    write(tmp_path, FILES)
    report(tmp_path)
    results = gather(tmp_path)
    assert results.warnings == () and len(results.runs[0].lines) == len(LINES)
    assert results.runs[0].labels == {'variant': 'v'} and len(list(results.runs[0].answers())) == 1


@given(st.recursive(st.text(max_size=3) | st.sampled_from(['a\0b', '..', 'x' * 5000, '\ud800']),
                    lambda inner: st.lists(inner, max_size=2)
                    | st.fixed_dictionaries({'name': inner}), max_leaves=3))
@example([{'name': 'a\0b'}])
@example([{'name': 'x' * 5000}])
@example([{'name': '../kept'}])
@settings(max_examples=10, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_index_of_tables_hinders_no_export(tmp_path, entries):
    write(tmp_path, FILES)
    out = tmp_path / 'out'
    (out / 'tables').mkdir(parents=True, exist_ok=True)
    (out / 'kept.csv').write_text('')
    (out / 'tables' / 'index.json').write_text(json.dumps({'tables': entries}))
    results = gather(tmp_path)
    export(results, out, make_tables(results))
    assert (out / 'kept.csv').exists()


def test_an_index_of_tables_that_is_nested_too_deep(tmp_path):
    write(tmp_path, FILES)
    (tmp_path / 'out' / 'tables').mkdir(parents=True)
    (tmp_path / 'out' / 'tables' / 'index.json').write_text('[' * 100_000)
    report(tmp_path)
