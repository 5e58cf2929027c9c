"""Fixtures for tests of the backend ``openai`` against a local server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fake_openai import FakeServer
from sightplan.vlm.api import make_backend


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries come at once, and no variable of the environment names a server or a key."""
    from sightplan_models import _openai_server

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)
    monkeypatch.setattr(_openai_server, '_sleep', sleep)
    for name in ('OPENAI_BASE_URL', 'OPENAI_API_KEY', 'HTTP_PROXY', 'http_proxy'):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make() -> Iterator[Callable[..., Any]]:
    """A function that makes the backend for a server; it is closed at the end."""
    made = []

    def call(server: FakeServer, **values: Any) -> Any:
        made.append(make_backend('openai', {'model': 'm', 'base_url': server.url, **values}))
        return made[-1]
    yield call
    for backend in made:
        backend.close()
