"""What is hidden, what is told and pictures with labels, over the whole graph."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from graph_testing import read_bag, result, script
from recorded_testing import check_recorded
from rosbags.rosbag2 import Reader

from sightplan.domains import load_domain
from sightplan.metrics import measures
from sightplan.records.pictures import bag_image
from sightplan.runs import RunSettings, run

pytestmark = pytest.mark.slow

NOISE = 'internvl3-78b'


def lines_of(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def shown(file: Path) -> list[tuple[str, str]]:
    """What a model was shown, request by request: hashes over all words and pictures."""
    return [(line['query'], line['key']) for line in lines_of(file) if line['kind'] == 'reply']


def images(bag: Path) -> dict[str, set[bytes]]:
    """The messages with pictures, as they are: header and pixels."""
    found: dict[str, set[bytes]] = {'/camera/image_raw': set(), '/camera/image_labelled': set()}
    with Reader(bag) as reader:
        for connection, _, data in reader.messages():
            if connection.topic in found:
                found[connection.topic].add(bytes(data))
    return found


def two_of_a_kind(folder: Path) -> Path:
    """A folder with one problem in which two things of a kind are in view from the start."""
    problem = next(p for p in load_domain('household').split_problems('medium')
                   if p.name.startswith('collect_misplaced_items'))
    problems = folder / 'problems'
    problems.mkdir()
    shutil.copy(problem.source, problems)
    return problems


@pytest.mark.parametrize(('method', 'privileged', 'backend'), [
    ('ground', 'initial', 'noisy_oracle'), ('belief', 'suite', 'noisy_oracle'),
    ('belief', 'none', 'noisy_oracle'), ('plan', 'always', 'scripted'),
    ('oracle', 'none', 'noisy_oracle')])
def test_on_ros_as_in_process(start, tmp_path: Path, method: str, privileged: str,
                              backend: str) -> None:
    """Questions, pictures, told facts, actions and scores are the same, to the last bit."""
    options = ({'table': NOISE} if backend == 'noisy_oracle'
               else {'script': str(script(tmp_path, 1, 'household'))})
    asks = method != 'oracle'
    problems = str(two_of_a_kind(tmp_path)) if privileged in ('initial', 'none') and asks else ''
    graph = start('domain:=household', f'method:={method}', f'backend:={backend}', 'episodes:=1',
                  f'privileged:={privileged}', f'backend_options:={json.dumps(options)}',
                  'seed:=2', f'problems:={problems}',
                  *([f'record:={tmp_path / "record"}'] if asks else []))
    inside = tmp_path / 'inside'
    run(RunSettings(domain='household', method=method, backend=backend, backend_options=options,
                    episodes=1, privileged=privileged, seed=2, problems=problems, record=asks,
                    out=str(inside)))
    assert graph.wait() == 0, graph.text
    (here,), (there,) = lines_of(inside / 'episodes.jsonl'), graph.lines()
    assert result(here) == result(there)
    assert measures.scored(here)
    assert here['steps'] > 0
    granted = {'suite': 'always'}.get(privileged, privileged)
    assert there['privileged'] == granted
    identities = [json.loads((folder / 'run.json').read_text())['identity']
                  for folder in (inside, graph.out)]
    assert identities[0] == identities[1]
    assert identities[0]['privileged'] == {'-' if problems else 'simple': granted}
    if asks:
        (record,) = (tmp_path / 'record').iterdir()
        requests = shown(inside / 'replies.jsonl')
        assert len(requests) > 1
        assert shown(record) == requests
    check_recorded(graph.out, [there])
    bag = graph.out / there['bag']
    counts = read_bag(bag)
    assert counts.get('/camera/image_raw', 0) == counts.get('/camera/image_labelled', 0) == (
        there['images'])
    assert (there['images'] > 0, there['images_missing']) == (asks, 0)
    pictures = images(bag)
    assert (pictures['/camera/image_raw'] != pictures['/camera/image_labelled']) is bool(problems)
    for answer in there['wrong']:
        *_, image_id, stamp_ns, _ = answer
        assert bag_image(bag, stamp_ns, image_id) is not None, 'the picture that was judged'
