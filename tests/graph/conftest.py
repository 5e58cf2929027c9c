"""Starting graphs in tests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from graph_testing import Graph

sys.path.append(str(Path(__file__).parents[2] / 'src/sightplan/test'))  # for fake_openai


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Graph]]:
    """Starts graphs; whatever a test leaves running is ended."""
    graphs: list[Graph] = []

    def begin(*arguments: str, out: Path | None = None, graph_name: str = 'experiment',
              environment: Mapping[str, str] | None = None) -> Graph:
        number = len(graphs)
        out = out or tmp_path / f'run{number}'
        if graph_name == 'experiment':
            arguments = (f'out:={out}', 'backend:=noisy_oracle', *arguments)
        graph = Graph((graph_name, *arguments), tmp_path / f'log{number}.txt', out, environment)
        graphs.append(graph)
        return graph

    yield begin
    for graph in graphs:
        graph.close()
