"""Sweeps: what a file stands for, and making what is missing of it."""

import hashlib
import itertools
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from doubles import InsideEngine, MemoryWorld, SearchPlanner
from sightplan import cli, sweeps
from sightplan.domains import load_domain
from sightplan.domains.problem_keys import problem_key
from sightplan.model import InputError, SpendingCapError, WorldError
from sightplan.records import RunStore
from sightplan.runs import OpenRun, RunSettings, worlds
from sightplan.runs.suite_finding import load_suite
from sightplan.sweeps import (
    Options,
    calibrations,
    check_sweep,
    engines,
    estimate,
    parse_sweep,
    read_sweep,
    run_sweep,
    status,
)
from sightplan.sweeps.calibrations import calibration_runs
from sightplan.sweeps.cells import calibration_file
from sightplan.sweeps.guesses import Figures, guess
from sightplan.sweeps.schedule import Job, Schedule
from sightplan_belief import observation_model
from sightplan_belief.observation_model import read_observation_model
from sightplan_models import noisy_oracle

CONFIG = Path(__file__).parents[3] / 'config' / 'sweeps'


def sweep_of(text: str, name: str = 'test'):
    return parse_sweep(yaml.safe_load(text), name, f'{name}.yaml')


SMALL = """
base: {backend: noisy_oracle, episodes: 3}
axes:
  method: [ground, oracle]
  table: [perfect, gpt-4.1]
  split: [simple, hard]
"""


# ------------------------------------------------------------------------------------- cells


def test_cells_are_the_product_of_the_axes():
    sweep = sweep_of("""
        base: {backend: noisy_oracle, world_options.pictures: none}
        axes: {table: [perfect, gpt-4.1], split: [simple, hard], failure_probability: [0, 0.1]}
        """)
    assert len(sweep.cells) == 8 and sweep.episodes == 200
    cell = sweep.cells[-1]
    assert cell.labels == {'table': 'gpt-4.1', 'split': 'hard', 'failure_probability': 0.1}
    assert cell.settings.split == 'hard' and cell.settings.failure_probability == 0.1
    assert cell.settings.backend_options == {'table': 'gpt-4.1'}
    assert cell.settings.world_options == {'pictures': 'none'}
    assert cell.name.startswith('ground-gpt_4.1-hard-fail0.1-')


def test_methods_that_ask_nothing_are_not_multiplied_by_tables():
    sweep = sweep_of(SMALL)
    found = [(c.settings.method, c.labels.get('table'), c.settings.split) for c in sweep.cells]
    assert len(found) == 4 + 2
    assert {f for f in found if f[0] == 'oracle'} == {
        ('oracle', None, 'simple'), ('oracle', None, 'hard')}
    oracle = next(c for c in sweep.cells if c.settings.method == 'oracle')
    assert oracle.settings.backend_options == {}


def test_methods_whose_model_plans_keep_their_backend_and_drop_what_is_about_questions(tmp_path):
    (tmp_path / 'replies.yaml').write_text('- "{}"')
    sweep = sweep_of(f"""
        base: {{split: simple, backend_options.script: {tmp_path}/replies.yaml,
                propose_timeout_s: 5, grounder_timeout_s: 6}}
        axes:
          backend: [scripted]
          answers: [strict, prefix]
          method: [plan, action_cot, ground_mem, random]
        """)
    found = [(c.settings.method, c.settings.backend_options != {}, c.labels.get('answers'),
              c.settings.propose_timeout_s, c.settings.grounder_timeout_s) for c in sweep.cells]
    assert sorted(found) == [
        ('action_cot', True, None, 5, 300.), ('ground_mem', True, 'prefix', 300., 6),
        ('ground_mem', True, 'strict', 300., 6), ('plan', True, None, 5, 300.),
        ('random', False, None, 300., 300.)]
    assert any(cell.name.startswith('plan-scripted-simple-') for cell in sweep.cells)


def test_a_backend_that_cannot_plan_is_named_with_its_cell():
    with pytest.raises(InputError, match='cell .*method=plan.*noisy_oracle.*cannot plan'):
        sweep_of('axes: {method: [ground, plan], backend: [noisy_oracle]}')


def test_a_table_is_of_the_simulated_model_that_the_method_asks():
    sweep = sweep_of('axes: {method: [ground, plan, action_cot], table: [InternVL3-78B]}')
    assert {cell.settings.method: (cell.settings.backend, cell.settings.backend_options['table'])
            for cell in sweep.cells} == {
        'ground': ('noisy_oracle', 'InternVL3-78B'), 'plan': ('noisy_planner', 'InternVL3-78B'),
        'action_cot': ('noisy_planner', 'InternVL3-78B')}
    with pytest.raises(InputError, match='short for backend noisy_planner.*noisy_oracle'):
        sweep_of('axes: {method: [plan], backend: [noisy_oracle], table: [perfect]}')


def test_named_values_set_several_fields_and_cells_that_are_the_same_are_one():
    sweep = sweep_of("""
        base: {method: belief, table: gpt-4.1}
        axes:
          variant:
            full: {}
            small: {method_options.k: 16}
            no rules: {method_options.constraints: false}
            also full: {calibration: ''}
        """)
    assert [c.labels['variant'] for c in sweep.cells] == ['full', 'small', 'no rules']
    assert [dict(c.settings.method_options) for c in sweep.cells] == [
        {}, {'k': 16}, {'constraints': False}]
    assert len({c.name for c in sweep.cells}) == 3


def test_protocols_are_an_axis_and_contradictions_are_named_with_their_cell():
    text = """
        base: {backend: noisy_oracle, backend_options.table: gpt-4.1, split: simple}
        axes: {protocol: [ours, paper]}
        """
    ours, paper = sweep_of(text).cells
    assert (ours.settings.answers, paper.settings.answers) == ('strict', 'prefix')
    assert paper.settings.protocol == paper.content['protocol'] == 'paper'
    assert paper.name.startswith('ground-paper-gpt_4.1-simple-')
    assert ours.name != paper.name
    # What is named counts even where it is the default.
    with pytest.raises(InputError, match="cell protocol=paper: answers = 'strict' contradicts"):
        sweep_of(text.replace('split:', 'answers: strict, split:'))
    with pytest.raises(InputError, match="protocol=papr: suite viplan has no protocol 'papr'"):
        sweep_of(text.replace('paper', 'papr'))


def test_exclusions_and_further_cells():
    sweep = sweep_of("""
        base: {table: perfect}
        axes: {split: [simple, medium, hard], failure_probability: [0, 0.1]}
        exclude:
          - {split: [simple, medium], failure_probability: 0.1}
        cells:
          - {method: [oracle, idle], split: [simple, hard]}
          - {method: oracle, split: simple}
        """)
    assert [(c.settings.method, c.settings.split, c.settings.failure_probability)
            for c in sweep.cells] == [
        ('ground', 'simple', 0), ('ground', 'medium', 0), ('ground', 'hard', 0),
        ('ground', 'hard', 0.1), ('oracle', 'simple', 0), ('oracle', 'hard', 0),
        ('idle', 'simple', 0), ('idle', 'hard', 0)]
    assert sweep.cells[-1].labels == {'method': 'idle', 'split': 'hard'}


def test_the_name_of_a_cell_depends_on_its_settings_alone():
    one = sweep_of('{base: {table: gpt-4.1}, axes: {split: [simple, hard], seed: [0, 1]}}')
    two = sweep_of("""
        base: {table: gpt-4.1, split: hard, answers_log: false}
        axes: {names: {some: {seed: 1}}}
        """)
    assert two.cells[0].name in {c.name for c in one.cells}
    assert len({c.name for c in one.cells}) == 4
    far = sweep_of('{base: {domain: household, table: gpt-4.1}, axes: {split: [hard]}}')
    assert far.cells[0].name.startswith('ground-gpt_4.1-household-hard-')


def names_with(**base):
    """Directories of cells and calibrations of a sweep with further settings."""
    sweep = parse_sweep({
        'base': {'split': 'simple', 'backend': 'openai', 'backend_options.model': 'm',
                 'calibration': 'c', **base},
        'axes': {'method': ['belief', 'plan']},
        'calibrations': {'c': {'table': 'each', 'problems': 3}}}, 'test', 'test.yaml')
    return [c.name for c in sweep.cells] + [c.stem for c in sweep.calibrations]


def test_caps_limits_and_what_is_written_do_not_change_the_directories():
    plain = names_with()
    assert len(set(plain)) == 3
    for key, value in {'max_cost_usd': 5.0, 'max_tokens_total': 9, 'price_in': 1.0,
                       'concurrency': 2, 'timeout_s': 3.0, 'retries': 1}.items():
        assert names_with(**{f'backend_options.{key}': value}) == plain, key
    assert names_with(grounder_timeout_s=9.0, propose_timeout_s=9.0, record=True, answers_log=True,
                      record_images=True, failure_images=False) == plain
    for changed in (names_with(**{'backend_options.temperature': 1.0}),
                    names_with(**{'backend_options.model': 'n'})):
        assert not set(changed) & set(plain)
    assert not set(names_with(seed=1)[:2]) & set(plain)


def test_cells_with_different_caps_share_a_calibration():
    sweep = sweep_of("""
        base: {backend: openai, backend_options.model: m, calibration: c, method: belief}
        axes:
          size: {small: {split: simple, backend_options.max_tokens_total: 9}, big: {split: hard}}
        calibrations: {c: {table: each, like: simple}}
        """)
    assert len(sweep.cells) == 2
    [calibration] = sweep.calibrations
    assert ('backend_options.max_tokens_total', 9) in calibration.base


def test_a_raised_cap_goes_on_in_the_same_directory(memory, capped, tmp_path):
    def limited(limit_s):
        return sweep_of(SIMPLE.replace('base: {', f'base: {{grounder_timeout_s: {limit_s}, '))
    capped(9)
    one = run_sweep(limited(10), tmp_path, INSIDE)
    capped(10_000)
    two = run_sweep(limited(20), tmp_path, INSIDE)
    assert one['done'] and two['done'] == 12 == one['done'] + two['new']


def test_cells_that_would_share_a_directory_are_refused():
    with pytest.raises(InputError) as caught:
        sweep_of("""
            base: {backend: openai, backend_options.model: m}
            axes: {backend_options.concurrency: [1, 8]}
            """)
    assert ('cell backend_options.concurrency=8: differs from another cell only in '
            'backend_options.concurrency, on which no result depends '
            '(backend_options.concurrency: 8 and 1)') in str(caught.value)


def test_words_of_which_yaml_makes_booleans_are_understood():
    sweep = sweep_of("""
        base: {backend: openai, backend_options.model: m, backend_options.logprobs: off}
        axes:
          method: [plan, ground]
          stop_at_goal: [no, yes, suite]
        exclude: [{method: ground, stop_at_goal: [yes, 'suite']}]
        cells: [{method: action, stop_at_goal: [yes, 'no']}]
        """)
    assert [(c.settings.method, c.settings.stop_at_goal) for c in sweep.cells] == [
        ('plan', 'no'), ('plan', 'yes'), ('plan', 'suite'), ('ground', 'no'),
        ('action', 'yes'), ('action', 'no')]
    assert {c.settings.backend_options['logprobs'] for c in sweep.cells} == {'off'}
    assert sweep.cells[0].labels['stop_at_goal'] == 'no'
    assert len(sweep.only(['stop_at_goal=yes']).cells) == 2


WITH_CALIBRATION = ('{base: {method: belief, table: perfect, calibration: auto}, '
                    'axes: {seed: [1]}')


@pytest.mark.parametrize(('text', 'words'), [
    ('{axes: {splitt: [simple]}}', 'test.yaml: cell splitt=simple: splitt: is unknown'),
    ('{axes: {split: [none]}}', "split=none: split 'none' is unknown"),
    ('{axes: {split: simple}}', 'axes: split: give a list'),
    ('{axes: {method: [oracel]}}', "method 'oracel' is unknown"),
    ('{axes: {episodes: [-1]}}', 'episodes = -1 is out of bounds'),
    ('{axes: {method_options.k: [1]}}', "has no setting 'k'"),
    ('{base: {backend_options.tabel: x, backend: noisy_oracle}, axes: {seed: [1]}}',
     "has no setting 'tabel'"),
    ('{axis: {split: [simple]}}',
     'test.yaml: axis is unknown (known: name, about, base, axes'),
    ('{suite: viplan, table: [gpt-4.1]}',
     'test.yaml: suite, table: fields of runs stand below base, or, with a list of values'),
    ('{base: {split: simple}}', 'not one cell'),
    ('{base: [1], axes: {seed: [1]}}', 'base = [1]: input should be an object'),
    ('{axes: {seed: [1]}, exclude: {seed: 1}}',
     "exclude = {'seed': 1}: input should be a valid array"),
    (WITH_CALIBRATION + '}', "calibration: auto: there is none for table 'perfect'"),
    (WITH_CALIBRATION + ', calibrations: {a: {table: each, tabel: 1}}}',
     'test.yaml: calibrations.a.tabel is unknown'),
    (WITH_CALIBRATION + ', calibrations: {a: {table: each, problems: many}}}',
     "calibrations.a.problems = 'many': input should be a valid integer"),
])
def test_what_is_wrong_is_named(text, words):
    with pytest.raises(InputError) as caught:
        sweep_of(text)
    assert words in str(caught.value)


def test_only():
    sweep = sweep_of(SMALL)
    assert {c.settings.split for c in sweep.only(['split=hard']).cells} == {'hard'}
    assert len(sweep.only(['method=ground', 'table=gpt-4.1,perfect']).cells) == 4
    assert len(sweep.only(['backend_options.table=perfect']).cells) == 2
    assert len(sweep.only(['episodes=3']).cells) == 6
    for condition, words in [('split', 'KEY=VALUE'), ('colour=red', 'axes are method, '),
                             ('split=medium', 'values of split are simple, hard')]:
        with pytest.raises(InputError, match=words):
            sweep.only([condition])


def test_cells_vary_in_privileged_facts_and_calibrations_follow():
    sweep = sweep_of('''
        base: {domain: household, table: perfect, calibration: c}
        axes: {method: [belief], privileged: [suite, initial, none]}
        cells: [{domain: blocksworld, method: belief}]
        calibrations: {c: {table: each, like: simple}}
    ''')
    assert [cell.settings.privileged for cell in sweep.cells[:3]] == ['suite', 'initial', 'none']
    assert [cell.labels['privileged'] for cell in sweep.cells[:3]] == ['suite', 'initial', 'none']
    provided = [dict(cell.calibration.base).get('privileged') for cell in sweep.cells]
    assert provided == ['always', 'initial', None, None]
    assert len({cell.calibration.stem for cell in sweep.cells}) == 4
    assert len({cell.name for cell in sweep.cells}) == 4


def test_calibrations_are_those_of_the_cells():
    sweep = sweep_of("""
        base: {calibration: auto, backend_options.repeat: 0.5, world_options.pictures: none}
        axes:
          method: [belief, ground, blind]
          table: [perfect, gpt-4.1]
          split: [simple, hard]
          failure_probability: [0.0, 0.1]
        calibrations:
          special: {table: gpt-4.1, like: simple, problems: 3, failure_probability: 0.5}
          standard: {table: each, like: [simple, hard], seed: 5000000}
        """)
    assert len(sweep.cells) == 8 + 8 + 4
    kinds = {(c.settings.method, c.settings.backend_options.get('table'),
              c.settings.failure_probability): c.calibration for c in sweep.cells}
    assert kinds['ground', 'perfect', 0.0] is None and kinds['blind', None, 0.0] is None
    special, plain = kinds['belief', 'gpt-4.1', 0.1], kinds['belief', 'perfect', 0.1]
    assert (special.name, special.like, special.failure_probability) == (
        'special', ('simple',), 0.5)
    assert (plain.name, plain.like, plain.failure_probability, plain.problems) == (
        'standard', ('simple', 'hard'), 0.1, 10)
    assert len(sweep.calibrations) == 3  # special once, standard for both probabilities
    assert len({c.stem for c in sweep.calibrations}) == 3
    names = {c.name for c in sweep.cells}
    assert len(names) == len(sweep.cells)


def test_fields_can_be_changed_on_the_command_line(tmp_path):
    sweep = read_sweep(CONFIG / 'methods.yaml', ['backend=scripted', 'episodes=3'])
    assert {cell.settings.episodes for cell in sweep.cells} == {3} and len(sweep.cells) == 24
    for change, words in [('episodes', 'KEY=VALUE'), ('episodes=[', 'not YAML'),
                          ('episods=1', 'episods: is unknown')]:
        with pytest.raises(InputError, match=words):
            read_sweep(CONFIG / 'smoke.yaml', [change])


def changed_folder(tmp_path):
    """Problems of one's own, and the sweep of them."""
    folder = tmp_path / 'problems'
    folder.mkdir()
    source = load_domain('blocksworld').split_folder('simple')
    for path in sorted(source.glob('*.pddl'))[:2]:
        (folder / path.name).write_bytes(path.read_bytes())
    table = tmp_path / 'table.yaml'
    table.write_text('rates: {default: {p_yes_true: 0.9, p_yes_false: 0.1}}')
    return folder, table, f"""
        base: {{problems: {folder}, table: {table}, calibration: auto}}
        axes: {{method: [belief, ground, oracle]}}
        calibrations: {{c: {{table: each, like: simple, problems: 2}}}}
        """


def test_what_a_cell_refers_to_is_part_of_its_name(tmp_path, monkeypatch):
    import sightplan
    folder, table, text = changed_folder(tmp_path)
    belief, ground, oracle = (cell.name for cell in sweep_of(text).cells)
    [calibration] = sweep_of(text).calibrations
    assert [c.name for c in sweep_of(text).cells] == [belief, ground, oracle]
    table.write_text('rates: {default: {p_yes_true: 0.8, p_yes_false: 0.1}}')
    names = [c.name for c in sweep_of(text).cells]
    assert names[0] != belief and names[1] != ground and names[2] == oracle
    assert sweep_of(text).calibrations[0].stem != calibration.stem
    next(folder.glob('*.pddl')).unlink()
    assert sweep_of(text).cells[2].name != oracle
    names = {c.name for c in sweep_of(text).cells}
    with monkeypatch.context() as patch:
        patch.setattr(sightplan, '__version__', '99')
        assert not names & {c.name for c in sweep_of(text).cells}
        assert sweep_of(text).calibrations[0].stem != sweep_of(text.replace(
            'problems: 2', 'problems: 3')).calibrations[0].stem
    domain = load_domain('blocksworld')
    real = domain.prompt_hash
    monkeypatch.setattr(domain, 'prompt_hash', lambda *prompt: real(*prompt)[::-1])
    assert {c.name for c in sweep_of(text).cells} & names == {sweep_of(text).cells[2].name}


def test_directories_of_other_versions_are_named(memory, tmp_path, capsys):
    _, table, text = changed_folder(tmp_path)
    file = tmp_path / 'mine.yaml'
    file.write_text(text.replace('belief, ', ''))
    out = tmp_path / 'out'
    run_sweep(read_sweep(file), out, INSIDE)
    assert cli.main(['sweep', str(file), '--out', str(out), '--status']) == 0
    assert 'belong to no cell' not in capsys.readouterr().out
    old = next(c.name for c in read_sweep(file).cells if c.settings.method == 'ground')
    table.write_text('rates: {default: {p_yes_true: 0.8, p_yes_false: 0.1}}')
    assert cli.main(['sweep', str(file), '--out', str(out), '--status', '--json']) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)['leftovers'] == [old] and json.loads(shown.out)['missing'] == 2
    assert 'belong to no cell of this sweep (made by another version, or' in shown.err
    assert f'with what was changed since): {old}' in shown.err
    assert run_sweep(read_sweep(file), out, INSIDE)['failures'] == []


def test_a_time_limit_of_the_planner_may_change(memory, tmp_path):
    text = '{base: {episodes: 2, table: perfect, planner_timeout_s: 60.0}, axes: {seed: [0]}}'
    run_sweep(sweep_of(text), tmp_path, INSIDE)
    again = run_sweep(sweep_of(text.replace('60.0', '5.0')), tmp_path, INSIDE)
    assert (again['done'], again['new']) == (2, 0)


@pytest.mark.parametrize('path', sorted(CONFIG.glob('*.yaml')), ids=lambda p: p.stem)
def test_shipped_sweeps_can_be_read(path):
    sweep = read_sweep(path)
    assert sweep.name == path.stem and sweep.episodes >= 100


# ----------------------------------------------------------------------------------- running


@pytest.fixture
def memory(monkeypatch):
    """Runs in this process with test doubles instead of simulator and planner."""
    from sightplan.planning import symbolic
    monkeypatch.setattr(worlds, 'make_world', lambda name, options=None: MemoryWorld())
    monkeypatch.setattr(symbolic, 'FastDownwardPlanner', lambda settings=None: SearchPlanner())


INSIDE = Options(1, engine=InsideEngine)
"""One worker, in this process."""


SIMPLE = """
base: {episodes: 4, split: simple, backend: noisy_oracle}
axes: {method: [ground, oracle], table: [perfect, gpt-4.1]}
"""


class Watcher:
    def __init__(self):
        self.stages, self.over, self.ticks = [], {}, []

    def begin(self, what, episodes, done):
        self.stages.append((what, episodes, done))

    def show(self, status):
        self.ticks.append(status.done)

    def finished(self, name, error):
        self.over[name] = error


def test_what_is_missing_is_made_once(memory, tmp_path):
    sweep, watcher = sweep_of(SIMPLE), Watcher()
    result = run_sweep(sweep, tmp_path, INSIDE, watcher)
    assert result == {
        'sweep': 'test', 'out': str(tmp_path), 'cells': 3, 'episodes': 12, 'done': 12, 'new': 12,
        'duplicates': 0, 'failed_infrastructure': 0, 'scored': 12, 'solved': result['solved'],
        'seconds': result['seconds'], 'interrupted': False, 'stopped_by': '',
        'stopped_kind': '', 'failures': [], 'spent': None,
        'metrics': str(tmp_path / 'metrics.json'), 'metrics_sha256': hashlib.sha256(
            (tmp_path / 'metrics.json').read_bytes()).hexdigest()}
    assert result['solved'] >= 8
    assert watcher.stages == [('episodes', 12, 0)] and watcher.ticks[-1] == 12
    assert set(watcher.over) == {c.name for c in sweep.cells}
    before = {path: path.read_bytes() for path in tmp_path.glob('*/episodes.jsonl')}
    assert len(before) == 3
    again = run_sweep(sweep, tmp_path, INSIDE, watcher)
    assert (again['done'], again['new'], again['duplicates']) == (12, 0, 0)
    assert watcher.stages[-1] == ('episodes', 12, 12)
    assert before == {path: path.read_bytes() for path in tmp_path.glob('*/episodes.jsonl')}
    index = json.loads((tmp_path / 'test.sweep.json').read_text())
    assert [cell['dir'] for cell in index['cells']] == [c.name for c in sweep.cells]
    assert index['cells'][0]['labels'] == {'method': 'ground', 'table': 'perfect'}


def test_more_cells_later_and_another_sweep_share_what_is_done(memory, tmp_path):
    run_sweep(sweep_of(SIMPLE).only(['method=oracle']), tmp_path, INSIDE)
    index = json.loads((tmp_path / 'test.sweep.json').read_text())
    assert len(index['cells']) == len(sweep_of(SIMPLE).cells), 'reports see what is done of all'
    result = run_sweep(sweep_of(SIMPLE), tmp_path, INSIDE)
    assert (result['done'], result['new']) == (12, 8)
    other = sweep_of('{base: {episodes: 4, table: perfect}, axes: {method: [ground, idle]}}', 'o')
    result = run_sweep(other, tmp_path, INSIDE)
    assert (result['done'], result['new']) == (8, 4)


def test_a_cell_that_fails_is_reported_and_stops_no_other(memory, tmp_path):
    table = tmp_path / 'gone.json'
    table.write_text('{"rates": {"default": {"p_yes_true": 0.9, "p_yes_false": 0.1}}}')

    class Remover(Watcher):
        def begin(self, *stage):  # after the sweep was checked
            table.unlink()
    sweep = sweep_of(SIMPLE.replace('perfect', str(table)))
    result = run_sweep(sweep, tmp_path / 'out', INSIDE, Remover())
    assert result['done'] == 8
    [failure] = result['failures']
    assert failure['cell'].startswith('ground-gone-simple-') and 'gone.json' in failure['error']


def test_a_defect_in_a_run_is_reported(memory, tmp_path, monkeypatch):
    def broken(name, options=None):
        raise RuntimeError('a defect')
    monkeypatch.setattr(worlds, 'make_world', broken)
    result = run_sweep(sweep_of(SIMPLE), tmp_path, INSIDE)
    assert [f['error'] for f in result['failures']] == ['unexpected RuntimeError: a defect'] * 3


def test_unscored_episodes_are_counted_and_repeated(memory, tmp_path, monkeypatch):
    class Broken(MemoryWorld):
        def reset(self, spec):
            if spec.problem.name == 'problem_08':
                raise WorldError('out of order')
            super().reset(spec)
    sweep = sweep_of(SIMPLE).only(['method=oracle'])
    with monkeypatch.context() as patch:
        patch.setattr(worlds, 'make_world', lambda name, options=None: Broken())
        result = run_sweep(sweep, tmp_path, INSIDE)
        assert (result['done'], result['failed_infrastructure']) == (4, 1)
    result = run_sweep(sweep, tmp_path, INSIDE)
    assert (result['done'], result['failed_infrastructure'], result['solved']) == (4, 0, 4)


def test_it_stops_when_told_and_goes_on_later(memory, tmp_path, monkeypatch):
    class Slow(MemoryWorld):
        def reset(self, spec):
            time.sleep(0.3)
            super().reset(spec)
    monkeypatch.setattr(worlds, 'make_world', lambda name, options=None: Slow())
    looks = itertools.count()
    sweep = sweep_of(SIMPLE)
    slow = run_sweep(sweep, tmp_path, INSIDE, stopped=lambda: next(looks) > 2)
    assert slow['interrupted'] and slow['done'] < 12
    result = run_sweep(sweep, tmp_path, INSIDE)
    assert (result['done'], result['duplicates'], result['interrupted']) == (12, 0, False)


def test_a_deadly_episode_is_given_up_and_named_and_the_others_go_on(
        memory, tmp_path, monkeypatch):
    sweep = sweep_of('{base: {episodes: 3, table: perfect}, axes: {seed: [0, 1, 2]}}')
    real, deadly = OpenRun.make, 'blocksworld/simple/problem_08#0'
    tries = tmp_path / 'tries'

    def make(self, batch, *more):
        if self.settings.seed == 1 and batch[0].id == deadly:
            with tries.open('a') as file:
                file.write('x')
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, batch, *more)
    monkeypatch.setattr(OpenRun, 'make', make)
    context = multiprocessing.get_context('fork')
    monkeypatch.setattr(engines.multiprocessing, 'get_context', lambda kind: context)
    result = run_sweep(sweep, tmp_path / 'out', Options(1))
    assert (result['done'], result['duplicates'], result['failed_infrastructure']) == (8, 0, 1)
    [failure] = result['failures']
    assert failure['cell'] == sweep.cells[1].name and failure['episode'] == deadly
    assert 'died 3 times' in failure['error'] and tries.read_text() == 'xxx'


PICTURES = """
base: {suite: predicates, suite_options.count: 2, suite_options.domain: blocksworld, split: simple}
axes: {method: [ask, random, oracle], table: [perfect]}
"""


def test_a_sweep_of_samples_is_made_once_and_taken_up(tmp_path):
    sweep = sweep_of(PICTURES)
    assert [(cell.settings.method, cell.labels.get('table')) for cell in sweep.cells] == [
        ('ask', 'perfect'), ('random', None), ('oracle', None)]
    left = estimate(sweep, tmp_path)
    assert (left.missing, left.basis) == (sweep.episodes, 'guessed')
    assert left.total.questions == sweep.cells[0].episodes, 'only ask has a model'
    with pytest.raises(InputError, match='predicates: has samples.*without --graph'):
        run_sweep(sweep, tmp_path, Options(1, graph=True))
    whole = run_sweep(sweep, tmp_path, INSIDE)
    assert (whole['done'], whole['duplicates'], whole['failures']) == (sweep.episodes, 0, [])
    assert whole['failed_infrastructure'] == 0 and whole['scored'] == sweep.episodes
    assert whole['solved'] is None, 'accuracy is no success'
    metrics = [cell['metrics'] for cell in
               json.loads((tmp_path / 'metrics.json').read_text())['cells']]
    assert [found['items'] for found in metrics] == [sweep.cells[0].episodes] * 3
    accuracy = [found['measures']['accuracy']['value'] for found in metrics]
    assert accuracy[0] == accuracy[2] == 1.0 and accuracy[1] < 1.0
    path = tmp_path / sweep.cells[0].name / 'episodes.jsonl'
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b''.join(lines[:3]) + lines[3][:20])
    again = run_sweep(sweep, tmp_path, INSIDE)
    assert (again['done'], again['new']) == (sweep.episodes, len(lines) - 3)
    assert again['metrics_sha256'] == whole['metrics_sha256']
    assert estimate(sweep, tmp_path).missing == 0
    assert run_sweep(sweep, tmp_path, Options(1, graph=True))['new'] == 0, 'nothing is to be run'


def test_samples_of_one_picture_are_asked_for_together():
    job = Job('a', RunSettings(), tuple('abcdefgh'), clusters=dict(zip(
        'abcdefgh', '11122222', strict=True)))
    schedule = Schedule([job], {}, workers=2, retries=0, command='c', lock='')
    assert [schedule.next().items, schedule.next().items] == [tuple('abc'), tuple('defgh')]


def test_an_estimate_is_measured_where_it_can_be_and_guessed_elsewhere(memory, tmp_path):
    sweep = sweep_of(SIMPLE)
    left = estimate(sweep, tmp_path)
    assert (left.missing, left.measured, left.basis) == (12, 0, 'guessed')
    run_sweep(sweep.only(['table=perfect']), tmp_path, INSIDE)
    left = estimate(sweep, tmp_path)
    assert (left.missing, left.measured, left.basis) == (8, 0, 'guessed')
    run_sweep(sweep.only(['method=oracle']), tmp_path, INSIDE)
    cell = next(c for c in sweep.cells if c.labels.get('table') == 'perfect')
    path = tmp_path / cell.name / 'episodes.jsonl'
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text(''.join(json.dumps(line) + '\n' for line in lines[:3]))
    left = estimate(sweep, tmp_path)
    assert (left.missing, left.measured, left.basis) == (5, 1, 'partly measured')
    assert left.from_measured.seconds == pytest.approx(sum(x['seconds'] for x in lines[:3]) / 3)
    assert left.from_measured.questions == pytest.approx(
        sum(x['questions'] for x in lines[:3]) / 3)
    assert left.from_rule.questions > 0
    assert status(sweep, tmp_path)['done'] == 7


def test_a_guess_is_corrected_by_what_the_nearest_measured_kind_took(tmp_path):
    sweep = sweep_of("""
        base: {backend: openai, model: InternVL3-78B}
        axes: {split: [simple, hard], method: [ground, ground_mem, plan]}""")
    first = estimate(sweep, tmp_path)
    assert (first.corrected, first.basis) == (0, 'guessed')
    cell = sweep.cells[0]
    expected = guess(cell.settings)
    usage = {'requests': 3 * round(expected.requests), 'prompt_tokens': 7, 'completion_tokens': 1}
    (tmp_path / cell.name).mkdir()
    (tmp_path / cell.name / 'episodes.jsonl').write_text(json.dumps({
        'id': 'x', 'error': None, 'seconds': 1.0, 'questions': 3 * round(expected.questions),
        'usage': usage, 'measures': {'solved': 1.0}}) + '\n')
    left = estimate(sweep, tmp_path)
    assert (left.missing, left.measured, left.corrected) == (149, 24, 75)
    others = sum((guess(cell.settings) for cell in sweep.cells[1:]), Figures())
    plans = sum((guess(cell.settings) for cell in sweep.cells if cell.settings.method == 'plan'),
                Figures())
    asked = (others.requests - plans.requests) * 25
    assert left.from_rule.requests == pytest.approx(3 * asked + plans.requests * 25, rel=.01)


def test_questions_of_viplan_are_guessed_by_model_protocol_and_memory():
    effort = load_suite('viplan').effort
    place = ('blocksworld', 'hard', 'ground')
    known, _ = effort.find('ours', *place, 'InternVL3-78B')
    assert known == effort.find('ours', *place, 'OpenGVLab/InternVL3-78B-hf')[0]
    typical, memory = effort.find('ours', *place, 'a model of mine')
    assert known != typical and memory == 0.0
    questions, memory = effort.find('ours', 'blocksworld', 'hard', 'ground_mem', 'InternVL3-78B')
    assert questions == known and memory > 0
    assert effort.find('ours', *place[:2], 'plan', 'InternVL3-78B') is None
    home = ('household', 'simple', 'ground', 'InternVL3-78B')
    assert effort.find('paper', *home)[0] > effort.find('ours', *home)[0], 'other navigation'
    assert effort.find('none', *home) == effort.find('ours', *home)


def test_the_model_has_an_easy_name():
    text = '{base: {backend: openai}, axes: {method: [ground, plan]}}'
    sweep = parse_sweep(yaml.safe_load(text), 't', 't.yaml', {'model': 'Qwen'})
    assert {cell.settings.backend_options['model'] for cell in sweep.cells} == {'Qwen'}
    both = sweep_of('{base: {backend: openai}, axes: {model: [a, b], split: [simple]}}')
    assert [cell.settings.backend_options['model'] for cell in both.cells] == ['a', 'b']
    assert [cell.labels['model'] for cell in both.cells] == ['a', 'b']
    assert read_sweep(CONFIG / 'methods.yaml', ['model=X']).cells[0].settings.backend_options == {
        'model': 'X'}
    with pytest.raises(InputError, match='model is short for backend_options.model'):
        sweep_of('{base: {model: a, backend_options.model: b}, axes: {method: [ground]}}')
    with pytest.raises(InputError, match='model is missing.*--set model=NAME'):
        check_sweep(sweep_of(text))


def test_viplan_has_the_papers_cells_and_its_splits():
    sweep = read_sweep(CONFIG / 'viplan.yaml', ['model=m', 'episodes=5'])
    assert len(sweep.cells) == 48 and sweep.episodes == 240
    assert {cell.settings.split for cell in sweep.cells} == {'simple', 'medium', 'hard'}
    assert {cell.settings.domain for cell in sweep.cells} == {'blocksworld', 'household'}
    paper = read_sweep(CONFIG / 'viplan.yaml', ['model=m', 'protocol=paper'])
    assert {cell.settings.protocol for cell in paper.cells} == {'paper'}
    assert not {cell.name for cell in paper.cells} & {cell.name for cell in sweep.cells}


def test_the_help_says_what_installed_sweeps_are_about(capsys):
    with pytest.raises(SystemExit):
        cli.main(['sweep', '--help'])
    said = capsys.readouterr().out
    assert 'viplan            ViPlan whole' in said
    assert all(sweeps.installed_sweeps().values())


def test_tokens_and_money_are_guessed_for_models_that_see():
    model = 'backend: openai, backend_options.model: m, split: simple'
    sweep = sweep_of(f"""
        base: {{{model}, backend_options.price_in: 1.0, backend_options.price_out: 10.0}}
        axes: {{method: [ground, ground_cot, plan, oracle]}}""")
    ground, cot, plan, oracle = (guess(cell.settings) for cell in sweep.cells)
    assert min(ground.questions, cot.questions) > 50
    assert plan.questions == oracle.questions == 0
    assert cot.completion_tokens > 10 * ground.completion_tokens
    assert ground.cost_usd == pytest.approx(
        (ground.prompt_tokens + 10 * ground.completion_tokens) / 1e6)
    assert 0 < plan.prompt_tokens < ground.prompt_tokens and oracle.cost_usd is None
    free = sweep_of(f'{{base: {{{model}}}, axes: {{method: [ground]}}}}')
    assert guess(free.cells[0].settings).cost_usd is None


CALIBRATED = """
base: {episodes: 2, split: simple, calibration: auto}
axes: {method: [belief, ground], table: [gpt-4.1, gemma-3-27b-it]}
calibrations: {standard: {table: each, like: simple, problems: 3}}
"""


def test_calibrations_are_learned_before_from_other_problems(memory, tmp_path):
    sweep, watcher = sweep_of(CALIBRATED), Watcher()
    result = run_sweep(sweep, tmp_path, INSIDE, watcher)
    assert (result['done'], result['failures']) == (8, [])
    assert watcher.stages == [('calibrations', 6, 0), ('episodes', 8, 0)]
    taken = {problem_key(p) for p in load_domain('blocksworld').split_problems('simple')}
    for calibration in sweep.calibrations:
        model = read_observation_model(calibration_file(tmp_path, calibration))
        assert calibration.table in model.model and model.learned == 'labels'
        assert len(model.problems) == 3 and not taken & set(model.problems)
    used = {cell.settings.backend_options['table']: RunStore(tmp_path / cell.name).run_info()
            for cell in sweep.cells if cell.settings.method == 'belief'}
    assert 'gemma_3_27b_it' in used['gemma-3-27b-it']['identity']['method']['calibration']
    again = Watcher()
    assert run_sweep(sweep, tmp_path, INSIDE, again)['new'] == 0
    assert again.stages == [('episodes', 8, 8)]


def test_without_its_calibration_a_cell_fails_alone(memory, tmp_path, monkeypatch):
    def broken(domain, split, calibration, folder):
        raise InputError(f'{folder}: cannot be written')
    monkeypatch.setattr(calibrations, '_draw_problems', broken)
    result = run_sweep(sweep_of(CALIBRATED), tmp_path, INSIDE)
    assert result['done'] == 4
    assert len(result['failures']) == 4  # two calibrations, two cells
    assert 'cannot be written' in result['failures'][0]['error']


CAP = 'the cap is reached: 5 of 5 USD; raise max_cost_usd'


@pytest.fixture
def capped(monkeypatch):
    """Answers of noisy_oracle until so many calls were made; then the cap is reached."""
    left, real = [0], noisy_oracle.Backend.answer

    def answer(self, queries, deadline):
        left[0] -= 1
        if left[0] < 0:
            raise SpendingCapError(CAP)
        return real(self, queries, deadline)
    monkeypatch.setattr(noisy_oracle.Backend, 'answer', answer)

    def allow(calls):
        left[0] = calls
    return allow


def test_a_spending_cap_stops_the_sweep_and_says_so(memory, capped, tmp_path):
    sweep, watcher = sweep_of(SIMPLE), Watcher()
    capped(9)
    result = run_sweep(sweep, tmp_path, INSIDE, watcher)
    first = sweep.cells[0]
    assert first.settings.method == 'ground'
    assert result['interrupted'] and result['stopped_by'] == f'{first.name}: {CAP}'
    assert watcher.over[first.name] == CAP
    assert 0 < result['done'] < 4
    assert result['done'] == len(RunStore(tmp_path / first.name).lines())
    capped(10_000)
    result = run_sweep(sweep, tmp_path, INSIDE)
    assert (result['done'], result['interrupted'], result['stopped_by']) == (12, False, '')


def test_a_calibration_is_not_learned_from_a_part(memory, capped, tmp_path):
    sweep = sweep_of(CALIBRATED).only(['method=belief', 'table=gpt-4.1'])
    [calibration] = sweep.calibrations
    capped(9)
    result = run_sweep(sweep, tmp_path, INSIDE)
    [run] = calibration_runs(tmp_path, calibration)
    assert 0 < len(RunStore(run.out).lines()) < 3
    assert not calibration_file(tmp_path, calibration).exists()
    assert result['interrupted'] and CAP in result['stopped_by'] and result['done'] == 0
    capped(10_000)
    result = run_sweep(sweep, tmp_path, INSIDE)
    assert (result['done'], result['failures']) == (2, [])
    model = read_observation_model(calibration_file(tmp_path, calibration))
    assert len(model.problems) == 3


def test_a_calibration_waits_for_episodes_that_ended_in_an_error(memory, tmp_path, monkeypatch):
    class Broken(MemoryWorld):
        def reset(self, spec):
            if spec.id.endswith('_01#0'):
                raise WorldError('out of order')
            super().reset(spec)
    sweep = sweep_of(CALIBRATED).only(['method=belief', 'table=gpt-4.1'])
    [calibration] = sweep.calibrations
    with monkeypatch.context() as patch:
        patch.setattr(worlds, 'make_world', lambda name, options=None: Broken())
        result = run_sweep(sweep, tmp_path, INSIDE)
    assert not calibration_file(tmp_path, calibration).exists()
    assert '2 of 3 episodes could be scored (' in result['failures'][0]['error']
    assert 'out of order' in result['failures'][0]['error']
    result = run_sweep(sweep, tmp_path, INSIDE)
    assert (result['done'], result['failures']) == (2, [])


def test_a_calibration_is_asked_for_with_the_prompt_of_its_cells(tmp_path):
    (tmp_path / 'script.yaml').write_text("answers: {default: 'No'}")
    text = (f'{{base: {{backend: scripted, backend_options.script: {tmp_path}/script.yaml, '
            'calibration: c}, axes: {method: [decode]}, '
            'calibrations: {c: {table: each, method: METHOD}}}')
    assert sweep_of(text.replace('METHOD', 'belief')).calibrations
    with pytest.raises(InputError, match="c: method: 'ground_cot' asks with the prompt"):
        sweep_of(text.replace('METHOD', 'ground_cot'))
    assert sweep_of("""
        {base: {backend: embedded, calibration: c}, axes: {method: [decode]},
         calibrations: {c: {table: each, method: ground_cot}}}""").calibrations


def test_the_command_line_says_what_stopped_a_sweep(memory, capped, tmp_path, monkeypatch, capsys):
    file = tmp_path / 'one.yaml'
    file.write_text(SIMPLE)
    monkeypatch.setattr(sweeps, 'run_sweep', lambda sweep, out, _, *more: (
        run_sweep(sweep, out, INSIDE, *more)))
    capped(9)
    assert cli.main(['sweep', str(file), '--out', str(tmp_path / 'out'), '--json']) == 1
    out, err = capsys.readouterr()
    assert f'{CAP} (settings of the backend stand in {file}, as backend_options.NAME)' in err
    assert 'sightplan sweep: broken off; the same command goes on' in err
    assert CAP in json.loads(out.splitlines()[-1])['stopped_by']


def test_the_problems_of_a_calibration_are_drawn_once(tmp_path):
    [one, two] = sweep_of(CALIBRATED).calibrations
    first, second = calibration_runs(tmp_path, one), calibration_runs(tmp_path, two)
    assert first[0].problems == second[0].problems and first[0].out != second[0].out
    assert first[0].answers_log and first[0].backend_options == {'table': 'gpt-4.1'}


def test_a_crash_while_problems_are_drawn_leaves_nothing_behind(tmp_path, monkeypatch):
    [one, _] = sweep_of(CALIBRATED).calibrations
    generator = load_domain('blocksworld').part('generator')
    real = generator.write_folder

    def crash(domain, folder, settings, problems):
        real(domain, folder, settings, problems)
        (folder / 'index.yaml').write_text('settings: {')  # as far as it came
        raise KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr(generator, 'write_folder', crash)
        with pytest.raises(KeyboardInterrupt):
            calibration_runs(tmp_path, one)
    assert not list((tmp_path / 'calibrations' / 'problems').iterdir())
    [run] = calibration_runs(tmp_path, one)
    folder = Path(run.problems)
    assert len(list(folder.glob('*.pddl'))) == 3 and len(list(folder.parent.iterdir())) == 1


def test_a_part_of_the_problems_of_a_calibration_is_drawn_again(tmp_path):
    [one, _] = sweep_of(CALIBRATED).calibrations
    folder = Path(calibration_runs(tmp_path, one)[0].problems)
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / 'index.yaml').unlink()
    next(folder.glob('*.pddl')).unlink()
    calibration_runs(tmp_path, one)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == whole


def test_problems_that_another_sweep_has_drawn_meanwhile_are_taken(tmp_path, monkeypatch):
    [one, _] = sweep_of(CALIBRATED).calibrations
    generator = load_domain('blocksworld').part('generator')
    real = generator.write_folder
    folder = tmp_path / 'calibrations' / 'problems' / 'blocksworld-simple-3-1000000'

    def late(domain, path, settings, problems):
        real(domain, path, settings, problems)
        real(domain, folder, settings, problems)
    monkeypatch.setattr(generator, 'write_folder', late)
    [run] = calibration_runs(tmp_path, one)
    assert Path(run.problems) == folder.resolve() and (folder / 'index.yaml').is_file()


def test_a_crash_while_a_calibration_is_written_costs_that_calibration_only(
        memory, tmp_path, monkeypatch):
    sweep = sweep_of(CALIBRATED).only(['method=belief', 'table=gpt-4.1'])

    def full(path, synced=False):
        raise OSError(28, 'No space left on device')
    with monkeypatch.context() as patch:
        patch.setattr(observation_model, 'replacing', full)
        broken = run_sweep(sweep, tmp_path, INSIDE)
    assert broken['done'] == 0 and 'cannot be' in broken['failures'][0]['error']
    whole = run_sweep(sweep, tmp_path, INSIDE)
    assert (whole['done'], whole['failures']) == (2, [])


# ------------------------------------------------------------------------------- command line


REAL = """
base: {backend: noisy_oracle, world_options.pictures: none, split: simple, episodes: 25}
axes: {method: [oracle, ground], table: [perfect], seed: [0, 1]}
"""


def nobody_is_left(group: int) -> bool:
    """Whether all processes of a group end soon."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_command_line(tmp_path, capsys):
    file = tmp_path / 'quick.yaml'
    file.write_text(REAL.replace('episodes: 25', 'episodes: 2'))
    out = str(tmp_path / 'out')
    assert cli.main(['sweep', str(file), '--out', out, '--dry-run', '--json']) == 0
    plan = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (plan['episodes'], plan['missing'], plan['basis']) == (8, 8, 'guessed')
    assert plan['questions'] > 0 and plan['hours'] > 0 and plan['prompt_tokens'] == 0
    assert not (tmp_path / 'out').exists()
    assert cli.main(['sweep', str(file), '--out', out, '--jobs', '2', '--json']) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {key: result[key] for key in (
        'episodes', 'done', 'duplicates', 'failed_infrastructure', 'solved')} == {
        'episodes': 8, 'done': 8, 'duplicates': 0, 'failed_infrastructure': 0, 'solved': 8}
    assert cli.main(['sweep', str(file), '--out', out, '--dry-run']) == 0
    assert '4 cells, 8 episodes, 0 missing' in capsys.readouterr().out
    assert cli.main(['sweep', str(file), '--out', out, '--only', 'seed=7']) == 2
    assert 'values of seed are 0, 1' in capsys.readouterr().err
    assert cli.main(['sweep', str(file), '--out', out, '--jobs', '-1']) == 2


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_nothing_is_run_twice(tmp_path):
    file = tmp_path / 'long.yaml'
    file.write_text(REAL)
    out = tmp_path / 'out'
    command = [sys.executable, '-m', 'sightplan.cli', 'sweep', str(file), '--out', str(out),
               '--jobs', '2', '--json']
    # A terminal sends Ctrl-C to the whole group: so does this test.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    deadline = time.monotonic() + 240
    while not list(out.glob('ground*/episodes.jsonl')) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=600)
    broken = json.loads(stdout.splitlines()[-1])
    assert process.returncode == 1, stderr
    assert broken['interrupted'] and broken['done'] < 100
    assert nobody_is_left(process.pid)
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    result = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert (result['done'], result['duplicates'], result['failed_infrastructure']) == (100, 0, 0)
    assert result['new'] == 100 - broken['done']


@pytest.mark.slow
def test_workers_end_with_a_parent_that_was_killed(tmp_path):
    file = tmp_path / 'long.yaml'
    file.write_text(REAL)
    out = tmp_path / 'out'
    process = subprocess.Popen(
        [sys.executable, '-m', 'sightplan.cli', 'sweep', str(file), '--out', str(out), '--jobs',
         '2'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 240
    while not list(out.glob('*/episodes.jsonl')) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert nobody_is_left(process.pid)
