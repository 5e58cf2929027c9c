"""docs/your_own.md, done word for word in an empty folder outside of the repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PAGE = Path(__file__).resolve().parent.parent / 'docs' / 'your_own.md'
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)"| (ros))?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
BLOCKS = [match.groups() for match in BLOCK.finditer(PAGE.read_text())]

Run = Callable[[str], str]


def test_every_block_of_the_page_is_a_file_or_a_command() -> None:
    assert PAGE.read_text().count('```') == 2 * len(BLOCKS)
    assert all(title or language == 'bash' for language, title, _, _ in BLOCKS)
    assert len([title for _, title, _, _ in BLOCKS if title]) >= 10


@pytest.fixture(scope='module')
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The empty folder, with the files of the page."""
    return written(tmp_path_factory.mktemp('your_own'))


def written(folder: Path) -> Path:
    """A folder, with the files of the page."""
    for _, title, _, text in BLOCKS:
        if title:
            (folder / title).parent.mkdir(parents=True, exist_ok=True)
            (folder / title).write_text(text)
    return folder


@pytest.fixture(scope='module')
def run(place: Path) -> Run:
    """Runs a command where the page's commands run, with what they export."""
    return runs_in(place)


def runs_in(place: Path) -> Run:
    """Runs a command in a folder, with what earlier ones exported."""
    exported = place / 'exported.sh'
    exported.touch()

    def go(command: str) -> str:
        done = subprocess.run(
            ['bash', '-e', '-c', f'. {exported}\n{command}\nexport -p > {exported}'], cwd=place,
            capture_output=True, text=True, check=False, timeout=1700, env={**os.environ})
        assert done.returncode == 0, f'{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}'
        return done.stdout
    return go


def commands(ros: bool) -> list[str]:
    return [text for language, _, mark, text in BLOCKS
            if language == 'bash' and bool(mark) is ros]


def solved(out: Path) -> list[float]:
    return [json.loads(line)['measures']['solved'] for line in
            (out / 'episodes.jsonl').read_text().splitlines()]


@pytest.mark.slow
def test_the_page_works(place: Path, run: Run) -> None:
    said = [run(block) for block in commands(ros=False)]
    assert 'easy: 2 problems' in said[0]
    assert 'Books of different colours' in said[0]
    assert solved(place / 'runs/oracle') == [1, 1]
    assert len(solved(place / 'runs/noisy')) == 2
    assert solved(place / 'runs/eyes') == [1, 1]
    assert (place / 'shelf.png').stat().st_size > 100
    identity = json.loads((place / 'runs/eyes/run.json').read_text())['identity']
    assert identity['domain'] == 'shelf', 'not the path of the folder'
    assert identity['model'] == 'eyes-1'
    line = json.loads((place / 'runs/eyes/episodes.jsonl').read_text().splitlines()[0])
    assert line['domain'] == 'shelf' and line['predicates']['enumeration']
    found = next(json.loads(line)['found'] for text in said for line in text.splitlines()
                 if '"found"' in line)
    assert [(thing['sure'], thing['doubt']) for thing in found] == [
        (True, ''), (False, "cannot tell: the model does not know 'unicorn'")]
    assert (place / 'runs/finger.jsonl').exists()
    newest = max((place / 'runs').glob('*-shelf-easy-patient'), key=lambda p: p.stat().st_mtime)
    assert solved(newest) == [1, 1]
    assert 'Is the hand empty?' in said[-1] and 'handempty, on blue,lower' in said[-1]


@pytest.mark.slow
def test_a_suite_of_ones_own_is_a_file_of_at_most_60_lines(tmp_path: Path) -> None:
    place = written(tmp_path)
    run = runs_in(place)
    assert len((place / 'photos.py').read_text().splitlines()) <= 60
    assert 'at\nmost 60 lines' in PAGE.read_text()
    run('export PYTHONPATH="$PWD/installed${PYTHONPATH:+:$PYTHONPATH}"')
    said = [run(block) for block in commands(ros=False) if 'photos' in block]
    assert 'suite questions keeps its contract: 3 samples' in said[0]
    assert correct(place / 'runs/script') == [1, 0, 0]
    assert 'truth    No' in said[0] and len(correct(place / 'runs/simulated')) == 3
    rows = (place / 'report-questions/tables/samples.csv').read_text()
    assert 'Is the red thing in the left half of the picture?' in rows
    assert 'suite photos keeps its contract: 3 samples' in said[1]
    assert right(place / 'runs/photos-oracle') == [1, 1, 1]
    assert right(place / 'runs/photos') == [1, 0, 0]
    lines = [json.loads(line) for line in
             (place / 'runs/photos/episodes.jsonl').read_text().splitlines()]
    assert [line['p_yes'] for line in lines] == [0.9, None, 0.9]
    assert len(right(place / 'runs/photos-noisy')) == 3
    assert 'unread                   1 of 3 answers' in said[1]
    assert 'My photos' in said[2] and len(right(place / 'runs/photos-random')) == 3
    page = (place / 'report-photos/report.html').read_text()
    assert 'photos' in page and 'right' in page


def right(out: Path, measure: str = 'right') -> list[float]:
    return [json.loads(line)['measures'][measure] for line in
            (out / 'episodes.jsonl').read_text().splitlines()]


def correct(out: Path) -> list[float]:
    return right(out, 'correct')


@pytest.mark.slow
def test_the_page_works_on_ros(place: Path, run: Run) -> None:
    for block in commands(ros=False):
        if 'pip install' in block:
            run(block.partition('sightplan run')[0])
    for block in commands(ros=True):
        run(block)
    assert solved(place / 'runs/ros') == [1, 1]
    identity = json.loads((place / 'runs/ros/run.json').read_text())['identity']
    assert identity['domain'] == 'shelf' and identity['world']['sha256']
