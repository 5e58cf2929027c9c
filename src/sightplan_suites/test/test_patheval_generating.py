"""Folders of data of our own: the same bytes, also after an interruption and by many workers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightplan import cli
from sightplan.model import InputError
from sightplan_suites.patheval import building, generating, records, samples
from sightplan_suites.paths.path_files import PathRun


@pytest.fixture
def planned(monkeypatch: Any) -> list[str]:
    """Paths that need no planner; the names of the maps that they were asked for."""
    asked: list[str] = []

    def runs(item: Any, seed: int) -> Any:
        asked.append(item.name)
        rng = np.random.default_rng([*item.name.encode(), seed])
        return tuple(PathRun(tuple(map(tuple, np.round(rng.uniform(-39, 39, (6, 2)), 4).tolist())),
                             1.0) for _ in range(12))
    monkeypatch.setattr(building, 'planned', runs)
    return asked


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob('*')) if path.is_file()}


def test_a_seed_gives_the_same_bytes_also_after_an_interruption(tmp_path: Path,
                                                                planned: list[str]) -> None:
    whole, broken = tmp_path / 'whole', tmp_path / 'broken'
    written = generating.generate(whole, 2, 7)
    assert written['records'] == 30 and written['segments'] == 6
    every = list(planned)
    assert len(every) == len(set(every)) >= written['environments']

    class Interrupt(Exception):
        """A person interrupts."""

    stages: list[tuple[str, int, int]] = []

    def stop(what: str, done: int, total: int) -> None:
        stages.append((what, done, total))
        if what == stops_at:
            raise Interrupt
    for stops_at in ('items of each scenario', 'records', ''):
        planned.clear()
        if stops_at:
            with pytest.raises(Interrupt):
                generating.generate(broken, 2, 7, stage=stop)
            assert (broken / generating.UNFINISHED).exists()
        else:
            generating.generate(broken, 2, 7, stage=stop)
    assert planned == []  # all maps were there, and their paths were read
    assert stages[-1] == ('records', 30, 30)
    assert contents(broken) == contents(whole)
    assert not (whole / generating.UNFINISHED).exists()
    other = tmp_path / 'other'
    generating.generate(other, 2, 8)
    assert contents(other) != contents(whole)


def test_a_folder_is_gone_on_with_for_the_same_arguments_only(tmp_path: Path,
                                                              planned: list[str]) -> None:
    out = tmp_path / 'out'
    out.mkdir()
    (out / generating.UNFINISHED).write_text(json.dumps({'count': 1, 'seed': 7, 'view': '2d'}))
    for arguments, said in (((2, 7), "'count': 2"), ((1, 8), "'seed': 8")):
        with pytest.raises(InputError, match=said):
            generating.generate(out, *arguments)
    with pytest.raises(InputError, match="'view': '3d'"):
        generating.generate(out, 1, 7, '3d')
    (out / generating.UNFINISHED).write_text('nonsense')
    with pytest.raises(InputError, match='UNFINISHED'):
        generating.generate(out, 1, 7)
    assert planned == []
    for count, seed, workers in ((0, 0, 1), (1, -1, 1), (1, 0, 0)):
        with pytest.raises(InputError):
            generating.generate(tmp_path / 'new', count, seed, workers=workers)
    assert not (tmp_path / 'new').exists()


def test_records_have_the_conversation_format(tmp_path: Path, planned: list[str]) -> None:
    out = tmp_path / 'out'
    generating.generate(out, 1, 7)
    row = json.loads((out / records.RECORDS).read_text())[0]
    assert [one['from'] for one in row['conversations']] == ['human', 'gpt']
    assert row['conversations'][0]['value'].startswith('<image>\n')
    assert row['conversations'][1]['value'] in ('Path 1', 'Path 2')
    assert set(row['metrics']) == {'Path 1', 'Path 2'} and len(row['metrics']['Path 1']) == 7
    found = records.read_records(out)
    assert len(found.items) == 15 and not found.skipped


def test_the_split_train_is_written_by_its_name(tmp_path: Path, monkeypatch: Any) -> None:
    seen: list[tuple[Any, ...]] = []

    def generate(out: Path, count: int, seed: int, view: str, workers: int, stage: Any,
                 form: str) -> dict[str, int]:
        seen.append((count, seed, view, workers))
        assert form == 'abstract'
        return {'records': 15 * count}
    monkeypatch.setattr(generating, 'generate', generate)
    words = ['suite', 'patheval', 'generate', '--out', str(tmp_path / 'x')]
    for more in ([], ['--split', 'train'], ['--split', 'train', '--count', '25', '--workers', '2'],
                 ['--seed', '4', '--view', '3d']):
        assert cli.main([*words, *more]) == 0
    assert seen == [(25, 0, '2d', 1), (900, 5_000_000, '2d', 1), (25, 5_000_000, '2d', 2),
                    (25, 4, '3d', 1)]
    assert 15 * building.TRAIN_COUNT == 13_500


def test_no_map_to_learn_from_is_one_of_the_test() -> None:
    """The first maps of the split, against those that are shipped."""
    shipped = {item.pictured.map.polygons for item in samples.shipped_items()}  # type: ignore[attr-defined]
    for item, _ in zip(building.maps_of(building.TRAIN_SEED), range(60), strict=False):
        assert item.polygons not in shipped


@pytest.mark.slow
def test_workers_write_the_same(tmp_path: Path, monkeypatch: Any) -> None:
    """Real paths on the first map, by this process and by another one."""
    monkeypatch.setattr(generating, '_AHEAD', 0)  # a map takes seconds
    folders = [tmp_path / 'one', tmp_path / 'two']
    found = [generating._Maps(folder, 3).each(workers)
             for folder, workers in zip(folders, (1, 2), strict=True)]
    try:
        (item, runs), (other, again) = map(next, found)
    finally:
        for one in found:
            one.close()
    assert (item.name, runs) == (other.name, again) and runs
    assert contents(folders[0]) == contents(folders[1])
