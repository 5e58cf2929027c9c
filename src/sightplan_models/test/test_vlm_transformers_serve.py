"""The backend ``openai`` against a real ``transformers serve`` with tiny random models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sightplan.model import BARE, Atom, Observation, Question
from sightplan.model.query import ask_all, ask_one
from sightplan.queries import Generate, YesNo, yes_no_queries
from sightplan.vlm.api import make_backend

pytest.importorskip('openai')
pytest.importorskip('fastapi')

from real_servers import RealServer, transformers_serve
from tiny_models import make_tiny_vlm

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    folder = make_tiny_vlm(tmp_path_factory.mktemp('llava'))
    with transformers_serve(tmp_path_factory.mktemp('log') / 'serve.log', folder) as started:
        yield started


@pytest.fixture
def backend(server: RealServer) -> Iterator[Any]:
    made = make_backend('openai', {'model': server.options['model'], 'base_url': server.url,
                                   'retries': 1})
    yield made
    made.close()


def questions(seen: Observation) -> list[YesNo]:
    return yes_no_queries(seen, tuple(
        Question(Atom('p', (str(i),)), f'Is it {i}?') for i in range(4)), BARE)


def test_answers_about_pictures_and_texts_have_no_probabilities(
        backend: Any, caplog: pytest.LogCaptureFixture) -> None:
    backend.check_pictures()
    image = np.zeros((48, 64, 3), np.uint8)
    for seen in (Observation(image), Observation(text='Row 1: 3 1 2')):
        for reply in ask_all(backend, questions(seen)):
            assert reply.text and reply.p_yes is None and reply.p_no is None
    assert not backend.pictures_lost
    assert 'no probabilities' in caplog.text
    said = ask_one(backend, Generate('Reply.', ('Look:', image, 'Well?'), 8, json_schema={
        'type': 'object'}))
    assert said.text and backend.usage.prompt_tokens > 0
