"""Tables and plots of the untold study from run directories."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import study_document
import untold_study
from doubles import InsideEngine, MemoryWorld, SearchPlanner
from sightplan.metrics.paired import sign_flip_exact
from sightplan.model import InputError
from sightplan.runs import worlds
from sightplan.sweeps import Options, parse_sweep, read_sweep, run_sweep
from sightplan_bench.step_cost import Timed
from sightplan_models._confusion import load_table
from test_studies_belief import rows, without_tables
from untold_results import (
    Cell,
    Results,
    accepted,
    compared,
    origin,
    overview,
    paired,
    read_results,
    success,
    tasks,
    told,
    useless_against_blind,
)

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / 'studies' / 'untold.md'
SWEEPS = ROOT / 'config' / 'sweeps'

MAIN = """
base: {episodes: 3, split: simple}
axes:
  kind:
    belief: {method: belief, method_options.search: ''}
    blind: {method: blind, method_options.search: ''}
    oracle: {method: oracle}
    three_valued: {method: ground}
    log_odds: {method: ground, seed: 1}
  table: [gpt-4.1, perfect]
exclude: [{kind: [three_valued, log_odds], table: perfect}]
"""
COST = {'splits': {'hard': {'episodes': 2, 'steps': 9, 'survey_ms': 50.0, 'step_ms': 12.34,
                            'step_ms_most': 170.0}},
        'memory': {'problem': 'locking_up_0', 'containers': 14, 'mib': 192.3, 'before_mib': 53.3}}


def as_household(entry, **changed):
    """A cell as if it had been run in homes where nothing is told."""
    settings = {**entry['settings'], 'privileged': 'none', **changed}
    settings['method'] = entry['labels']['kind']
    return {**entry, 'settings': settings}


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    """A small sweep of blocks, as if it were the study's sweeps of homes."""
    from sightplan.planning import symbolic
    folder = tmp_path_factory.mktemp('runs')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worlds, 'make_world', lambda name, options=None: MemoryWorld())
        patch.setattr(symbolic, 'FastDownwardPlanner', lambda settings=None: SearchPlanner())
        result = run_sweep(parse_sweep(yaml.safe_load(MAIN), 'untold', 'untold'), folder,
                           Options(1, engine=InsideEngine))
        assert result['done'] == result['episodes'] and not result['failed_infrastructure']
    index = json.loads((folder / 'untold.sweep.json').read_text())
    made = index['cells']
    index['cells'] = [as_household(entry) for entry in made]
    [ours] = [entry for entry in index['cells'] if entry['labels'] == {
        'kind': 'belief', 'table': 'gpt-4.1'}]
    # What was run is linked under other names, as cells of the other kinds.
    def also(name, labels=None, calibration=None, **changed):
        (folder / name).symlink_to(folder / ours['dir'])
        index['cells'].append({**ours, 'dir': name, 'labels': labels or {},
                               'calibration': calibration,
                               'settings': {**ours['settings'], **changed}})
    also('independent', backend_options={'table': 'gpt-4.1', 'together': 0.0})
    also('calibrated', calibration='labelled-x')
    also('useless', backend_options={'table': 'config/sweeps/tables/useless.yaml'})
    also('told', privileged='always')
    also('pictures', backend='embedded', backend_options={})
    also('full', {'variant': 'full'})
    also('other', {'variant': 'no priors'})
    index['cells'].append({**ours, 'dir': 'not_yet', 'settings': {
        **ours['settings'], 'split': 'search'}})
    (folder / 'untold.sweep.json').write_text(json.dumps(index))
    (folder / 'household_cost.json').write_text(json.dumps(COST))
    return folder


def blank(folder):
    """Write the shipped document without any table."""
    (folder / 'untold.md').write_text(without_tables(DOCUMENT.read_text()))


def test_everything_is_regenerated_into_the_shipped_document(runs, tmp_path, capsys):
    blank(tmp_path)
    assert untold_study.main([str(runs), '--out', str(tmp_path)]) == 0
    assert 'for want of results' not in capsys.readouterr().out
    document = (tmp_path / 'untold.md').read_text()
    assert without_tables(document) == without_tables(DOCUMENT.read_text())
    for name in ('success', 'reliability', 'ablations'):
        picture = (tmp_path / 'untold' / f'{name}.png').read_bytes()
        assert picture.startswith(b'\x89PNG') and len(picture) > 5_000
        assert f'](untold/{name}.png)' in document
    assert '1 of 14 cells have no results yet' in document and 'seeds 0, 1.' in document
    assert [row[:3] for row in rows(document, 'success-together')] == [
        ['gpt-4.1', '`belief`', 'no'], ['gpt-4.1', '`belief`', 'yes'],
        ['gpt-4.1', '`three_valued`', 'no'], ['gpt-4.1', '`log_odds`', 'no']]
    assert [row[:3] for row in rows(document, 'success-independent')] == [
        ['gpt-4.1', '`belief`', 'no']]
    assert [row[:3] for row in rows(document, 'told')][:2] == [
        ['gpt-4.1', 'correlated errors', 'never'],
        ['gpt-4.1', 'correlated errors', 'always']]
    assert [row[0] for row in rows(document, 'ablations')] == ['full', 'no priors']
    assert {row[0] for row in rows(document, 'paired')} == {
        '`blind`', '`three_valued`', '`log_odds`'}
    assert rows(document, 'cost') == [['hard', '9', '50.0', '12.3', '170']]
    assert '14 containers' in document and '192 MiB' in document
    assert untold_study.main([str(runs), '--out', str(tmp_path)]) == 0
    assert (tmp_path / 'untold.md').read_text() == document


def test_what_there_are_no_results_of_is_left_as_it_is(runs, tmp_path):
    only = tmp_path / 'only'
    only.mkdir()
    index = json.loads((runs / 'untold.sweep.json').read_text())
    for cell in index['cells']:
        if cell['settings']['method'] == 'blind':
            (only / cell['dir']).symlink_to(runs / cell['dir'])
    (only / 'untold.sweep.json').write_text(json.dumps(index))
    blank(tmp_path)
    said = '\n'.join(untold_study.regenerate([only], tmp_path))
    assert 'for want of results: ' in said
    assert {'success-together', 'paired', 'told', 'embedded', 'ablations', 'useless', 'cost'} <= {
        *said.partition('for want of results: ')[2].split('\n')[0].split(', ')}
    document = (tmp_path / 'untold.md').read_text()
    assert [row[0] for row in rows(document, 'overview')] == ['`blind`']


def test_wrong_use_is_explained(tmp_path, capsys):
    assert untold_study.main([str(tmp_path), '--out', str(tmp_path)]) == 2
    assert 'holds no sweep' in capsys.readouterr().err
    with pytest.raises(InputError, match='no finished episodes'):
        origin(Results(()))


def test_the_document_has_a_place_for_all_that_there_can_be(runs):
    made = untold_study.make_tables(read_results([runs]), COST)
    assert set(study_document.names_of(DOCUMENT.read_text())) == {
        *made, *(f'plot-{name}' for name in ('success', 'reliability', 'ablations'))}


# -------------------------------------------------------------------------- made-up episodes


def made(method, model, solved, split='hard', errors='together', calibrated=False,
         privileged='none', message='', stop='budget', planned=0):
    """A cell of the episodes 0, 1, ... of problems task_0, task_1, ..., solved or not."""
    lines = tuple(
        {'id': f'{split}/{number}', 'cluster': f'{split}/{number}', 'problem': f'task_{number}',
         'measures': {'solved': float(good)}, 'questions': 2, 'steps': 4, 'seconds': 1.0,
         'stop': stop, 'message': message, 'failure': None if good else {'cause': 'budget'},
         'beliefs': []}
        for number, good in enumerate(solved))
    asks = method != 'blind'
    return Cell(f'{method}-{model}-{split}-{errors}-{calibrated}-{privileged}', method, model,
                split, errors if asks else '', calibrated, 0, privileged, '', lines,
                planned or len(lines))


CELLS = (made('belief', 'a', [1] * 9 + [0]), made('belief', 'b', [1] * 8 + [0, 0]),
         made('belief', 'a', [1, 0], 'search'),
         made('blind', '', [1] * 6 + [0] * 3 + [1]), made('blind', '', [1, 1], 'search'),
         made('three_valued', 'a', [0] * 10), made('belief', 'useless', [1] * 5 + [0] * 5))


def body(text):
    return [[cell.strip() for cell in line.strip('|').split('|')]
            for line in text.splitlines()[2:]]


def test_pairs_are_the_same_episodes_beside_every_model():
    found = {tuple(row[:4]): row[4:] for row in body(paired(Results(CELLS)))}
    hard = found['`blind`', 'correlated errors', 'no', 'hard']
    assert hard[:3] == ['20', '.85', '.70'] and hard[3].startswith('+.15 (')
    assert hard[4:6] == ['5', '2'] and hard[6] == (
        f'{sign_flip_exact([2, 2, 1, -2]):.3f}'.lstrip('0'))
    assert found['`blind`', 'correlated errors', 'no', '**all**'][0] == '22'
    rival = found['`three_valued`', 'correlated errors', 'no', '**all**']
    assert rival[:3] == ['10', '.90', '.00']
    assert ('`log_odds`', 'correlated errors', 'no', 'hard') not in found


def test_words_tell_where_it_is_below():
    text = compared(Results(CELLS))
    blind = text.splitlines()[0]
    assert 'of 3 cells' in blind and 'more in 2, as many in 0, fewer in 1' in blind
    assert 'by .50, for a on search' in blind and '`log_odds`' not in text
    assert useless_against_blind(Results(CELLS)) == (
        'With useless answers and without a calibration `belief` differs from `blind` by −.20 '
        'on hard.')


def test_rows_are_models_and_all_models_together():
    text = overview(Results(CELLS))
    assert '`belief` | correlated errors | .85 (' in text and 'useless answers' in text
    short = success(Results((made('belief', 'a', [1, 0], planned=75),)), 'together')
    assert ', n = 2 |' in short


def test_levels_of_what_is_told():
    cells = (made('belief', 'a', [1]), made('belief', 'a', [1], privileged='always'),
             made('belief', 'a', [0], errors='independent', privileged='always'),
             made('belief', 'a', [0], calibrated=True), made('blind', '', [0]))
    assert [row[:3] for row in body(told(Results(cells)))] == [
        ['a', 'correlated errors', 'never'], ['a', 'correlated errors', 'always'],
        ['a', 'independent errors', 'always'], ['none: `blind`', '', 'never']]


def test_wrongly_accepted_goals_are_told_from_those_given_up():
    sure = made('belief', 'a', [1, 1, 0], stop='plan_done',
                message='the goal holds with P = 0.981')
    best = made('belief', 'a', [1, 0, 0, 0], 'search', stop='plan_done',
                message='the goal holds with P = 0.970, and nothing is known')
    spent = made('belief', 'b', [0, 0])
    [row] = body(accepted(Results((sure, best, spent))))
    assert row[:4] == ['`belief`', '9', '3', '1'] and row[4].startswith('.33 (')
    assert row[5:] == ['6', '3', '2', '0']


def test_tasks_are_listed_from_the_worst():
    cells = (made('belief', 'a', [1, 1, 0]), made('belief', 'a', [0, 0, 0], 'search'),
             made('belief', 'a', [1], 'simple'))
    assert [row[:2] for row in body(tasks(Results(cells)))] == [['search', 'task'],
                                                                ['hard', 'task']]


# ------------------------------------------------------------------------------ what is shipped


def test_shipped_sweeps_share_the_cells_of_the_method_as_it_is(monkeypatch):
    monkeypatch.chdir(ROOT)
    main, parts, levels = (
        {cell.name for cell in read_sweep(SWEEPS / f'{name}.yaml').cells}
        for name in ('untold', 'untold_ablations', 'untold_told'))
    assert len(main & parts) == 12  # full, and with a calibration
    assert len(main & levels) == 12  # three models and blind, never told


def test_shipped_tables_are_what_they_say():
    said = load_table('gpt-4.1')
    unknown = load_table(str(SWEEPS / 'tables' / 'gpt-4.1-unknown.yaml'))
    for split, own in unknown.splits.items():
        for predicate, rates in own.items():
            plain = said.rates(split, predicate)
            assert (rates.error_true, rates.error_false, rates.unparsed) == (
                plain.error_true, plain.error_false, plain.unparsed)
            assert rates.unknown_true == rates.unknown_false == 0.22
    useless = load_table(str(SWEEPS / 'tables' / 'useless.yaml')).rates('hard', 'open')
    assert useless.error_true == useless.error_false == 0.5


def test_a_method_is_timed_without_what_it_waits_for(monkeypatch):
    clock = SimpleNamespace(now_s=0.0)
    monkeypatch.setattr('sightplan_bench.step_cost.time',
                        SimpleNamespace(perf_counter=lambda: clock.now_s))

    class Planner:
        def plan(self):
            clock.now_s += 1000.0

    class Policy:
        remaining = 3

        def decide(self, context):
            clock.now_s += 0.25
            planner.plan()
            return 'act'

        def learn(self, context, *arguments):
            return None

    timed = Timed(Policy())
    planner = timed.leave_out(Planner(), 'plan')
    assert timed.decide(None) == 'act' and timed.learn(None, 1, 2) is None
    assert timed.remaining == 3 and timed.step_ms == [250.0], 'the plan took 1000 s'
