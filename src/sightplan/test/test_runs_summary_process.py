"""Summaries of runs by a process of their own."""

import json

import pytest

from doubles import TWO_BLOCKS, MemoryWorld, SearchPlanner
from sightplan.model import InfrastructureError
from sightplan.model.journal import StorageError
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run
from sightplan.runs.summary_process import summarise_apart, summarise_run
from small_disk import fill, small_disk


def a_run(folder):
    problems = folder.parent / 'problems'
    problems.mkdir()
    (problems / 'a.pddl').write_text(TWO_BLOCKS)
    run(RunSettings(problems=str(problems), method='oracle', out=str(folder)),
        world=MemoryWorld(), planner=SearchPlanner())
    return RunStore(folder)


def test_it_is_the_same_summary(tmp_path):
    store = a_run(tmp_path / 'run')
    more = {'out': 'here', 'interrupted': True}
    here = summarise_run(store, more)
    assert here['items'] == 1 and here['interrupted'] is True
    (store.folder / 'summary.json').unlink()
    assert summarise_apart(store.folder, more, 240.0) == here
    assert json.loads((store.folder / 'summary.json').read_text()) == here


def test_who_does_not_wait_gets_nothing(tmp_path):
    assert summarise_apart(a_run(tmp_path / 'run').folder, {}, 0.0) == {}


def test_what_goes_wrong_is_said(tmp_path):
    with pytest.raises(InfrastructureError, match=r'run\.json: is missing'):
        summarise_apart(tmp_path, {}, 240.0)


def test_a_full_disk_is_told_from_other_errors(tmp_path):
    with small_disk(tmp_path / 'disk') as disk:
        store = a_run(disk / 'run')
        fill(disk, 0)
        with pytest.raises(StorageError, match=r'summary\.json: cannot be written .No space'):
            summarise_apart(store.folder, {}, 240.0)
