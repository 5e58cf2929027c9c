"""What the report adds for iVISPAR: tables 2 to 5 beside ours, and figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sightplan.agent import Act
from sightplan.agent.methods.human import Policy, Settings
from sightplan.model import Action
from sightplan.runs import RunSettings, load_suite, run
from sightplan_report.figures import of_suites
from sightplan_report.page import build
from sightplan_report.results import Results, gather
from sightplan_report.tables import make_tables

pytest.importorskip('sightplan_sim.sliding.world')

SUITE = load_suite('ivispar')


class Stubborn:
    """A person who pushes one piece to and fro."""

    def __init__(self, name: str) -> None:
        self.name, self._count = name, 0

    def begin(self, context: Any, observation: Any, goal: Any) -> None:
        self._piece = context.problem.of_type('cube', 'sphere', 'pyramid', 'cylinder')[0]

    def ask(self, context: Any) -> Act:
        self._count += 1
        return Act(Action('move', (self._piece, ('left', 'right')[self._count % 2])))

    def learn(self, action: Any, feedback: Any, observation: Any) -> None:
        pass


@pytest.fixture(scope='module')
def results(tmp_path_factory: Any) -> Results:
    out = tmp_path_factory.mktemp('runs')
    plain = {'pictures': 'none'}
    for view in ('3d', '2d'):
        for method in ('astar', 'random'):
            run(RunSettings(domain='sliding', split='geoms', method=method, episodes=4,
                            world_options={**plain, 'view': view}, out=str(out / method / view)))
        run(RunSettings(
            suite='ivispar', split=f'boards_{view}', method='ask', episodes=4,
            backend='noisy_reader', backend_options={'table': 'gpt-4o', 'view': view},
            suite_options={'width': 64, 'height': 64}, out=str(out / 'boards' / view)))
    for name in ('ann', 'bo'):
        run(RunSettings(domain='sliding', split='geoms', method='human', episodes=3,
                        world_options=plain, out=str(out / name)),
            policy=Policy(Settings(), Stubborn(name)))
    run(RunSettings(domain='sliding', split='tiles', method='astar', episodes=2,
                    world_options=plain, out=str(out / 'tiles')))
    run(RunSettings(domain='sliding', split='geoms', method='ground', episodes=4,
                    backend='noisy_reader', backend_options={'table': 'gpt-4o'},
                    world_options=plain, out=str(out / 'ground')))
    return gather(out)


@pytest.fixture(scope='module')
def tables(results: Results) -> Mapping[str, Any]:
    found = {table.name: table for table in SUITE.module('report').tables(results.runs)}
    assert set(found) == {'completed', 'actions', 'boards', 'boards_by_pieces'}
    return found


def one(table: Any, **cells: Any) -> Mapping[str, Any]:
    row, = [row for row in table.rows if cells.items() <= row.items()]
    return row


def test_ours_and_the_papers_stand_in_one_table(tables: Mapping[str, Any]) -> None:
    table = tables['completed']
    ours = one(table, method='astar', view='2d', split='geoms')
    assert (ours['source'], ours['n'], ours['completed'], ours['deviation']) == ('here', 4, 1.0,
                                                                                 0.0)
    paper = one(table, model='Sonnet-3.5', view='2d')
    assert paper['source'].startswith('paper, ') and paper['deviation'] == 1.44
    assert (paper['completed'], paper['inference']) == (0.8967, 0.8462)
    assert one(table, model='Random', view='3d')['deviation'] is None
    assert not [row for row in table.rows if row['view'] == 'text'], 'no run of ours has it'
    assert one(table, method='astar', split='tiles')['n'] == 2
    assert one(tables['actions'], model='GPT-4o', view='3d', method=None)['OD'] == 6.36
    found = one(tables['actions'], method='astar', view='3d', split='geoms')
    assert found['EM'] > 0 and found['IM'] == found['OD'] == found['OB'] == found['IC'] == 0


def test_board_inference_stands_beside_tables_4_and_5(tables: Mapping[str, Any]) -> None:
    row = one(tables['boards'], source='here', view='3d')
    assert (row['backend'], row['model'], row['n']) == ('noisy_reader', 'GPT-4o', 4)
    assert row['variant'] is None, 'what is shown is no variant of it'
    assert row['correct'] + row['missed'] <= 11 and row['E1'] == 0
    paper = one(tables['boards'], model='GPT-4o', view='2d', method=None)
    assert (paper['correct'], paper['hallucinated'], paper['accuracy']) == (4.15, 0.04, 0.6385)
    assert sum(row['n'] for row in tables['boards_by_pieces'].rows) == 8
    inferred = one(tables['completed'], method='ground')['inference']
    assert inferred == row['accuracy'], 'the same model on the same view'


def test_people_have_rows_and_one_of_all(tables: Mapping[str, Any]) -> None:
    rows = [row for row in tables['completed'].rows if row['method'] == 'human']
    assert [(row['model'], row['n'], row['variant']) for row in rows] == [
        ('ann', 3, None), ('bo', 3, None), ('all 2 people', 6, None)]
    assert not [row for row in tables['completed'].rows
                if row['source'] != 'here' and 'uman' in str(row['model'])], 'none was measured'
    assert 'without a number that was measured' in tables['completed'].note


def test_its_figures_are_in_the_page(results: Results) -> None:
    drawn = list(of_suites(results))
    assert {section for section, _ in drawn} == {'suites'}
    captions = ' '.join(figure.caption for _, figure in drawn)
    svgs = {figure.svg.split('aria-label="')[1].split(':')[0] for _, figure in drawn}
    assert svgs == {
        'Completed, geoms', 'Step deviation, geoms', 'Classes of actions, geoms',
        'Completed, tiles', 'Step deviation, tiles', 'Classes of actions, tiles',
        'Step by step, geoms', 'Step by step, tiles',
        'Board inference by number of pieces', 'Distance to the goal by pieces and length'}
    assert 'It has no number of people' in captions
    completed = next(figure.svg for _, figure in drawn if 'Completed, geoms' in figure.svg)
    for name in ('human, ann', 'human, all 2 people', 'ground, GPT-4o, noisy_reader', 'astar',
                 'Sonnet-3.5', 'Random', '3D', '2D'):
        assert f'>{name}</text>' in completed, name
    heat = next(figure.svg for _, figure in drawn if 'Distance to the goal by' in figure.svg)
    assert '>human, ann (3D): at the end</text>' in heat and '(3D): smallest</text>' in heat
    assert 'astar (3D)' not in heat, 'who reached every goal is left out'
    few = dataclasses.replace(results, runs=tuple(
        run for run in results.runs if run.method == 'human' or run.kind == 'sample'))
    page = build(few, make_tables(few)).html
    assert 'aria-label="Completed, geoms: 3D, human, ann' in page and 'tables 4 and 5' in page


def test_the_way_of_an_episode_is_drawn_step_by_step(results: Results) -> None:
    of_people = tuple(run for run in results.runs if run.method == 'human')
    figure = next(figure for figure in SUITE.module('report').figures(of_people)
                  if 'Step by step' in figure.svg)
    described = figure.svg.split('aria-label="')[1].split('"')[0]
    assert 'human, ann' in described and 'no numbers of single steps' in figure.caption
    for title in ('distance to the goal [moves], 3D', 'regret R(t) [moves], 3D',
                  'progress [per cent], 3D'):
        assert f'>{title}</text>' in figure.svg
    lines = [line for run in of_people for line in run.lines if line['model'].endswith('ann')]
    mean = sum(line['details']['distances'][0] for line in lines) / 3
    assert f'distance to the goal [moves], 3D, human, ann: {mean:.2g}'[:-1] in described


@pytest.mark.slow
def test_the_papers_puzzles_from_a_folder_stand_beside_its_numbers(results: Results) -> None:
    """Problems of one's own have no split; where k and c1 are known, they may be the paper's."""
    runs = tuple(run for run in results.runs if run.method == 'random')
    own = tuple(dataclasses.replace(run, lines=tuple({**line, 'split': ''} for line in run.lines))
                for run in runs)
    report = SUITE.module('report')
    completed = report.tables(own)[0]
    assert one(completed, model='Sonnet-3.5', view='2d')['deviation'] == 1.44
    drawn = {figure.svg.split('aria-label="')[1].split(':')[0]: figure.svg
             for figure in report.figures(own) if figure.svg}
    assert 'Sonnet-3.5' in drawn['Completed, -']
    assert 'Distance to the goal by pieces and length' in drawn
    for changes in ({'optimal_length': None}, {'details': {'pieces': 8, 'tiles': True,
                                                           'distances': [1], 'classes': []}}):
        others = tuple(dataclasses.replace(run, lines=tuple(
            {**line, **changes} for line in run.lines)) for run in own)
        assert not [row for row in report.tables(others)[0].rows if row['source'] != 'here']


def test_without_its_runs_there_is_nothing(results: Results) -> None:
    assert SUITE.module('report').tables(()) == []
    assert not [figure for figure in SUITE.module('report').figures(()) if figure.svg]
    boards = [run for run in results.runs if run.kind == 'sample']
    assert [table.name for table in SUITE.module('report').tables(boards)] == [
        'boards', 'boards_by_pieces']


def test_runs_that_differ_in_more_are_told_apart(results: Results) -> None:
    """The same readings of larger pictures are another row, with what tells it apart."""
    boards = next(run for run in results.runs if run.kind == 'sample')
    split = boards.lines[0]['split']
    identity = {**boards.identity, 'samples': {**boards.identity['samples'], split: {
        **boards.identity['samples'][split], 'width': 1200}}}
    other = dataclasses.replace(boards, identity=identity, folder=Path('other'))
    table = next(table for table in SUITE.module('report').tables((boards, other))
                 if table.name == 'boards')
    assert {row['variant'] for row in table.rows if row['source'] == 'here'} == {
        'width 64', 'width 1200'}


@pytest.mark.parametrize('rule', [{'max_actions': {'geoms': 99}}, {'goal': {'geoms': 'told'}},
                                  {'stop_at_goal': {'geoms': False}}])
def test_the_papers_numbers_stand_beside_episodes_by_its_rules_only(results: Results,
                                                                    rule: Any) -> None:
    report = SUITE.module('report')
    ruled = tuple(run for run in results.runs if run.method == 'random')
    assert [row for row in report.tables(ruled)[0].rows if row['source'] != 'here']
    others = tuple(dataclasses.replace(run, identity={**run.identity, **rule}) for run in ruled)
    rows = report.tables(others)[0].rows
    assert rows and not [row for row in rows if row['source'] != 'here']
    assert not [figure for figure in report.figures(others) if 'Sonnet' in figure.svg]
