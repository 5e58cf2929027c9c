"""A graph that is shown in the Rerun viewer while it runs."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip('rerun')


def test_a_graph_is_shown(start, tmp_path) -> None:
    """Every look, answer and step of the run is in the file; what was live is in the bag, too."""
    from rerun.chunk import RrdReader
    path = tmp_path / 'shown.rrd'
    graph = start('episodes:=1', 'method:=belief', 'backend_options:=table=gpt-4.1',
                  f'rerun:={path}')
    assert graph.wait() == 0, graph.text
    (line,) = graph.lines()
    reader = RrdReader(str(path))
    rows: dict[str, int] = {}
    for chunk in reader.stream(store=reader.recordings()[0]).to_chunks():
        column = {'camera/image': 'Image:buffer', 'action': 'TextDocument:text',
                  'answers/log': 'TextLog:text'}.get(chunk.entity_path.lstrip('/'))
        if column is not None:
            rows[column] = rows.get(column, 0) + sum(
                bool(row.get(column)) for row in chunk.to_record_batch().to_pylist())
    assert rows == {'Image:buffer': line['images'], 'TextDocument:text': line['steps'],
                    'TextLog:text': line['questions']}


def test_where_it_cannot_be_shown_is_named(start) -> None:
    graph = start('rerun:=nowhere.txt', 'episodes:=1')
    assert graph.wait() == 2, graph.text
    assert 'must be FILE.rrd' in graph.text
