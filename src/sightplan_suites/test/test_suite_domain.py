"""Commands that name a suite and no domain: the domain is the suite's."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from sightplan import cli
from sightplan.domains import load_domain
from sightplan.graphs.graph import load_graph
from sightplan.model import InputError
from sightplan.runs.graph_check import check_graph_arguments, with_protocol
from sightplan.runs.suite_domain import with_domain_of_suite
from sightplan.sweeps import read_sweep

GRAPH = Path(__file__).parents[3] / 'config' / 'graphs' / 'experiment.yaml'
FEW = ('--method', 'oracle', '--episodes', '2', '--world-option', 'pictures=none')


def lines(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (out / 'episodes.jsonl').read_text().splitlines()]


def own_puzzles(folder: Path) -> Path:
    """Two of the puzzles in a folder whose name tells nothing."""
    folder.mkdir()
    for file in sorted(load_domain('sliding').split_folder('geoms').glob('*_c1_2_*_i_?.json'))[:2]:
        shutil.copy(file, folder)
    return folder


def test_a_split_of_a_suite_needs_no_domain(tmp_path: Path) -> None:
    assert cli.main(['run', '--suite', 'ivispar', '--split', 'geoms', *FEW,
                     '--out', str(tmp_path / 'run')]) == 0
    assert [(line['domain'], line['split']) for line in lines(tmp_path / 'run')] == [
        ('sliding', 'geoms')] * 2


def test_problems_of_ones_own_have_the_rules_of_the_suite(
        tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert cli.main(['run', '--suite', 'ivispar', '--problems',
                     str(own_puzzles(tmp_path / 'mine')), *FEW,
                     '--out', str(tmp_path / 'run')]) == 0
    found = lines(tmp_path / 'run')
    assert [(line['domain'], line['goal'], line['stop_at_goal'], line['max_actions'])
            for line in found] == [('sliding', 'pictured', True, 20)] * 2
    assert all('deviation' in line['measures'] for line in found)
    assert 'its rules as far as all its splits of sliding have the same' in caplog.text
    assert 'for ,' not in caplog.text


@pytest.mark.parametrize(('arguments', 'domain', 'split'), [
    (('suite:=ivispar', 'split:=geoms'), 'sliding', 'geoms'),
    (('suite:=viplan', 'split:=search'), 'household', 'search'),
    (('suite:=viplan', 'split:=hard'), 'blocksworld', 'hard'),
    (('suite:=viplan', 'split:=hard', 'domain:=household'), 'household', 'hard'),
    (('suite:=ivispar', 'split:=boards_2d', 'method:=ask'), 'blocksworld', 'boards_2d'),
    (('split:=hard',), 'blocksworld', 'hard')])
def test_graphs_know_the_domain_of_their_suite(arguments: tuple[str, ...], domain: str, split: str,
                                               ) -> None:
    named = [one.partition(':=')[0] for one in arguments]
    given = load_graph(GRAPH).values(('method:=oracle', *arguments))
    for names in (named, ()):  # ros2 launch does not tell what was named
        found = with_protocol(given, names)
        assert (found['domain'], found['split']) == (domain, split)
        check_graph_arguments(found)


def test_cells_of_sweeps_know_it(tmp_path: Path) -> None:
    file = tmp_path / 'few.yaml'
    file.write_text('base: {suite: ivispar, split: tiles, method: oracle, episodes: 1}\n'
                    'axes: {seed: [0, 1]}\n')
    assert {cell.settings.domain for cell in read_sweep(str(file)).cells} == {'sliding'}


@pytest.mark.parametrize(('values', 'said'), [
    ({'suite': 'ivispar'}, r'several splits; choose one \(split\): geoms, tiles, boards_3d'),
    ({'suite': 'ivispar', 'split': 'geom'},
     "no split 'geom'; its domains and their splits are sliding: geoms, tiles; samples: boards_"),
    ({'suite': 'viplan', 'split': 'tiny'},
     'blocksworld: simple, medium, hard; household: simple, medium, hard, search'),
    ({'suite': 'ivispar', 'split': 'geoms', 'domain': 'blocksworld'},
     r"no domain 'blocksworld' \(it has sliding\)"),
    ({'suite': 'nobody'}, 'nobody')])
def test_what_a_suite_does_not_tell_is_named_with_what_it_has(values: dict[str, str], said: str,
                                                              ) -> None:
    with pytest.raises(InputError, match=said):
        with_domain_of_suite(values, values)


def test_a_suite_with_several_domains_and_none_that_is_usual_names_them(tmp_path: Path) -> None:
    folder = tmp_path / 'two'
    folder.mkdir()
    (folder / 'suite.yaml').write_text(
        'title: Two\nkind: episodes\ndomains:\n'
        '  sliding: {splits: [geoms], max_actions: 20}\n'
        '  household: {splits: [simple], max_actions: 10}\n')
    found = with_domain_of_suite({'suite': str(folder), 'split': 'geoms'}, ('suite', 'split'))
    assert found['domain'] == 'sliding'
    with pytest.raises(InputError, match='several domains; add --domain with one of sliding, '
                                         'household'):
        with_domain_of_suite({'suite': str(folder), 'split': 'all'}, ('suite', 'split'))
    mine = own_puzzles(tmp_path / 'mine')
    found = with_domain_of_suite({'suite': str(folder), 'problems': str(mine)}, ('problems',))
    assert found['domain'] == 'sliding', 'whose files these are'


@pytest.mark.parametrize(('arguments', 'said'), [
    (('domain:=sliding', 'view:=text'), 'write world_options:=view=text'),
    (('suite:=ivispar', 'split:=geoms', 'view:=text'),
     'of domain sliding; write world_options:=view=text'),
    (('domain:=sliding', 'split:=geoms', 'method:=ground', 'world_options:=view=txt'),
     "view = 'txt', must be one of 3d, 2d, text"),
    (('domain:=sliding', 'world_options:=vie=2d', 'split:=geoms'), "has no option 'vie'"),
    (('domain:=sliding', 'viwe:=text'), "no argument 'viwe'"),
    (('table:=gpt-4.1', 'backend:=noisy_oracle'), 'write backend_options:=table=gpt-4.1'),
    (('table:=gpt-4.1',), 'noisy_oracle, .* write backend:=NAME backend_options:=table=gpt-4.1'),
    (('method:=belief', 'accept:=.9'), 'of method belief; write method_options:=accept=.9')])
def test_settings_of_parts_are_named_where_they_are_given_wrongly(
        arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(['up', str(GRAPH), *arguments]) == 2
    assert re.search(said, capsys.readouterr().err)
