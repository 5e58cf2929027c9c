"""A disk that becomes full during a run: what there was can be read, and the run goes on later."""

import json

import pytest

from doubles import TWO_BLOCKS, MemoryWorld, SearchPlanner
from sightplan.model.journal import StorageError
from sightplan.records import RunStore
from sightplan.records.recorded import read_episodes
from sightplan.runs import RunSettings, run
from small_disk import fill, small_disk

EPISODES = 12


@pytest.fixture
def problems(tmp_path):
    folder = tmp_path / 'problems'
    folder.mkdir()
    (folder / 'a.pddl').write_text(TWO_BLOCKS)
    return folder


@pytest.mark.parametrize('room', range(20_000, 130_000, 22_000))
def test_a_run_ends_cleanly_and_goes_on_when_there_is_room(tmp_path, problems, room):
    def go():
        return run(RunSettings(problems=str(problems), method='ground', backend='noisy_oracle',
                               episodes=EPISODES, bags='all', out=str(disk / 'run')),
                   world=MemoryWorld(), planner=SearchPlanner())
    with small_disk(tmp_path / 'disk') as disk:
        store = RunStore(disk / 'run')
        filler = fill(disk, room)
        with pytest.raises(StorageError, match=r'disk/run.*No space left.*make room there, or '):
            go()
        lines = store.lines()
        assert len(lines) < EPISODES
        assert all(line['error'] is None for line in lines), 'no episode is to blame for the disk'
        for line in lines:
            (episode,) = read_episodes(disk / 'run' / line['bag'])
            assert episode.warnings == () and episode.spec.id == line['id']
        filler.unlink()
        assert go()['scored'] == EPISODES
        assert [line['id'] for line in store.lines()[:len(lines)]] == [
            line['id'] for line in lines]
        named = sorted(line['bag'] for line in store.lines())
        assert named == sorted(f'bags/{path.name}' for path in (disk / 'run' / 'bags').iterdir())
        assert json.loads((disk / 'run' / 'summary.json').read_text())['items'] == EPISODES


def test_keeping_the_last_bags_keeps_the_disk_from_becoming_full(tmp_path, problems):
    with small_disk(tmp_path / 'disk') as disk:
        fill(disk, 250_000)
        settings = RunSettings(problems=str(problems), method='ground', backend='noisy_oracle',
                               episodes=2 * EPISODES, bags='last', bags_kept=2,
                               out=str(disk / 'run'))
        summary = run(settings, world=MemoryWorld(), planner=SearchPlanner())
        assert summary['scored'] == 2 * EPISODES
        there = [line['id'] for line in RunStore(disk / 'run').lines()
                 if (disk / 'run' / line['bag']).exists()]
        assert there == [line['id'] for line in RunStore(disk / 'run').lines()][-2:]
