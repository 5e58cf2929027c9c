"""Which bags are kept."""

import errno
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.graphs.graph import find_graph
from sightplan.model import InfrastructureError
from sightplan.model.journal import StorageError
from sightplan.records.bag import METADATA
from sightplan.records.bag_policy import ALL, FAILED, KEEP, LAST, NONE, BagPolicy
from sightplan.runs import RunSettings
from sightplan.sweeps.graphs import graph_arguments

SOLVED, FAILURE, ERROR = ({'measures': {'solved': value}} for value in (1, 0, None))


def write(run: Path, name: str, closed_ns: int) -> None:
    """A bag that was closed at a time."""
    folder = run / 'bags' / name
    folder.mkdir(parents=True)
    (folder / METADATA).write_text('x')
    os.utime(folder, ns=(closed_ns, closed_ns))


def there(run: Path) -> list[str]:
    return sorted(name for name in os.listdir(run / 'bags') if name != '.kept.json')


@pytest.mark.parametrize(('keep', 'kept'), [
    (NONE, [False, False, False]), (FAILED, [False, True, True]), (LAST, [True] * 3),
    (ALL, [True] * 3)])
def test_what_is_kept_of_an_episode(tmp_path, keep, kept):
    policy = BagPolicy(tmp_path, keep)
    assert [policy.keeps(line) for line in (SOLVED, FAILURE, ERROR)] == kept
    assert policy.writes == (keep != NONE)


@settings(max_examples=60, deadline=None)
@given(kept=st.integers(1, 4), restarts=st.lists(st.booleans(), max_size=12),
       workers=st.integers(1, 2))
def test_the_last_ones_are_kept_whoever_wrote_them(kept, restarts, workers):
    """As many processes as there are, and however often the run is taken up again."""
    with tempfile.TemporaryDirectory() as name:
        run = Path(name)
        policies = [BagPolicy(run, LAST, kept) for _ in range(workers)]
        for number, restart in enumerate(restarts):
            if restart:
                policies = [BagPolicy(run, LAST, kept) for _ in range(workers)]
            write(run, f'e{number}', number)
            policies[number % workers].committed(f'e{number}')
            assert there(run) == sorted(f'e{n}' for n in range(max(0, number + 1 - kept),
                                                                number + 1))


@pytest.mark.parametrize('keep', sorted(set(KEEP) - {LAST}))
def test_only_last_removes_anything(tmp_path, keep):
    for number in range(3):
        write(tmp_path, f'e{number}', number)
        BagPolicy(tmp_path, keep, 1).committed(f'e{number}')
    assert there(tmp_path) == ['e0', 'e1', 'e2']


def test_bags_of_one_moment_go_in_their_order(tmp_path):
    policy = BagPolicy(tmp_path, LAST, 2)
    for name in 'dcba':
        write(tmp_path, name, 7)
        policy.committed(name)
    assert there(tmp_path) == ['a', 'b']


def test_the_newest_is_kept_though_the_clock_went_back(tmp_path):
    for number, at_s in enumerate((9000, 9001, 5, 6, 7)):
        write(tmp_path, f'e{number}', at_s)
        BagPolicy(tmp_path, LAST, 2).committed(f'e{number}')
    assert there(tmp_path) == ['e3', 'e4']


def test_nothing_but_bags_is_removed(tmp_path):
    (tmp_path / 'bags' / 'notes').mkdir(parents=True)
    (tmp_path / 'bags' / 'notes' / 'mine.txt').write_text('x')
    (tmp_path / 'bags' / '.under-way-1').mkdir()
    write(tmp_path / 'bags' / '.under-way-1', 'b', 0)
    write(tmp_path, 'old', 1)
    BagPolicy(tmp_path, LAST, 1).committed('old')
    write(tmp_path, 'new', 2)
    BagPolicy(tmp_path, LAST, 1).committed('new')
    assert there(tmp_path) == ['.under-way-1', 'new', 'notes']


def test_what_a_killed_process_was_removing_goes_with_the_next(tmp_path):
    (tmp_path / 'bags' / '.removed-x').mkdir(parents=True)
    write(tmp_path, 'new', 2)
    BagPolicy(tmp_path, LAST, 1).committed('new')
    assert there(tmp_path) == ['new']


def test_a_bag_that_cannot_be_removed_is_named(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, 'Permission denied')
    write(tmp_path, 'old', 1)
    BagPolicy(tmp_path, LAST, 1).committed('old')
    write(tmp_path, 'new', 2)
    monkeypatch.setattr(shutil, 'rmtree', refuse)
    with pytest.raises(InfrastructureError, match='old: cannot be removed .Permission denied'):
        BagPolicy(tmp_path, LAST, 1).committed('new')


@pytest.mark.parametrize(('chosen', 'kept'), [
    ({}, {'bags': 'all', 'bags_kept': 100}),
    ({'bags': 'last', 'bags_kept': 7}, {'bags': 'last', 'bags_kept': 7}),
    ({'bags': 'failed'}, {'bags': 'failed', 'bags_kept': 100})])
def test_a_graph_of_a_sweep_keeps_what_its_file_says(chosen, kept):
    graph = find_graph('experiment')
    values = graph.values(graph_arguments(RunSettings(**chosen)))
    recorder = next(node for node in graph.nodes if node.name == 'metrics_recorder')
    assert {name: recorder.resolved(values)[name] for name in kept} == kept


def test_what_was_there_before_is_never_removed(tmp_path):
    """A run of which all bags were kept is taken up with another wish."""
    for number in range(3):
        write(tmp_path, f'old{number}', number)
    for number in range(3, 7):
        write(tmp_path, f'new{number}', number)
        BagPolicy(tmp_path, LAST, 2).committed(f'new{number}')
    assert there(tmp_path) == ['new5', 'new6', 'old0', 'old1', 'old2']


def test_a_bag_that_is_a_link_is_left_alone(tmp_path):
    write(tmp_path / 'elsewhere', 'real', 0)
    policy = BagPolicy(tmp_path, LAST, 1)
    for number in range(3):
        write(tmp_path, f'e{number}', number + 1)
        if not number:
            (tmp_path / 'bags' / 'link').symlink_to(tmp_path / 'elsewhere' / 'bags' / 'real')
        policy.committed(f'e{number}')
    assert there(tmp_path) == ['e2', 'link']
    assert (tmp_path / 'elsewhere' / 'bags' / 'real' / METADATA).is_file()


def test_a_full_disk_ends_the_run_also_where_only_the_list_has_no_room(tmp_path, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, 'No space left on device')
    write(tmp_path, 'e0', 0)
    monkeypatch.setattr('sightplan.records.bag_policy.replacing', full)
    with pytest.raises(StorageError, match=r'\.kept\.json.*make\s+room'):
        BagPolicy(tmp_path, LAST, 1).committed('e0')
    assert there(tmp_path) == ['e0']


def test_a_damaged_list_of_what_is_not_to_be_removed_is_named(tmp_path):
    write(tmp_path, 'e0', 0)
    (tmp_path / 'bags' / '.kept.json').write_text('{')
    with pytest.raises(InfrastructureError, match=r'\.kept\.json.*remove it'):
        BagPolicy(tmp_path, LAST, 1).committed('e0')
    assert there(tmp_path) == ['e0']
