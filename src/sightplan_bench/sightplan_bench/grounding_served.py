"""``sightplan bench grounding --model``: questions about one picture, by the way they are asked.

The same questions about the same picture go to one model in process, to ``sightplan serve`` with
that model (one client, and four at once), to a server of OpenAI's protocol if one is named, and
to ``generate`` in process, one prompt a question. All of it is measured: processor, HTTP, reading.
Every repeat is of a picture that nobody has seen, so that no cache of pictures helps; within a
picture a server's cache of prompts does.
"""

from __future__ import annotations

import contextlib
import datetime
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from sightplan.model import Atom, GroundingPrompt, InputError, Observation, Question
from sightplan.model.query import Model, ask_all, close
from sightplan.queries import Answer, Generate, yes_no_queries
from sightplan.sweeps.serving import Server
from sightplan.vlm.api import make_backend
from sightplan_bench.devices import describe_device

_CLIENTS = 4
_PICTURE = (120, 160, 3)
_PROMPT = GroundingPrompt('bench', 'Answer with one word, Yes or No.', 'This is the table:', '',
                          'Question: {question}', max_tokens=1)


def run(model: str, number: int, repeats: int, seed: int, threads: int,
        server: str = '', server_model: str = '') -> dict[str, Any]:
    """Measure all ways in one run; times are of the wall's clock.

    Args:
        model: folder of the model, as the backend ``transformers`` takes it.
        number: how many questions.
        repeats: measurements of each way, of which the median is told.
        seed: of pictures.
        threads: CPU threads of the model in process and behind ``sightplan serve``.
        server: address of a server of OpenAI's protocol; '' for none.
        server_model: name of its model.

    Raises:
        InputError: there is no such model.
        BackendError: a model cannot answer.
    """
    if server and not server_model:
        raise InputError('--server: name the model of the server, too: --server-model NAME')
    from sightplan.records.provenance import provenance

    random = np.random.default_rng(seed)
    questions = [Question(Atom('on', (f'b{one}', 'table')),
                          f'Is block number {one} on the table?') for one in range(number)]
    options = {'model': model, 'device': 'cpu', 'threads': threads}

    def picture() -> Observation:
        return Observation(random.integers(0, 256, _PICTURE, dtype=np.uint8))

    def ask(asked: Model, seen: Observation) -> list[Answer]:
        return ask_all(asked, yes_no_queries(seen, questions, _PROMPT))

    def generate(asked: Model, seen: Observation) -> None:
        assert seen.image is not None
        for question in questions:
            ask_all(asked, [Generate(_PROMPT.system, (
                _PROMPT.before_image, seen.image, _PROMPT.ask(question.text)), 1)])

    local = make_backend('transformers', options)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        served = Server('transformers', options, Path(folder) / 'serve.log')
        stack.callback(served.close)
        served.start()
        clients = [make_backend('decisions', {
            'wire': wire, 'base_url': served.address.url, 'model': served.address.model,
            'api_key_env': ''}) for wire in ('openai', *['sightplan'] * _CLIENTS)]

        def at_once(seen: Observation) -> None:
            with ThreadPoolExecutor(_CLIENTS) as pool:
                list(pool.map(ask, clients[1:], [picture() for _ in range(_CLIENTS)]))

        ways: dict[str, tuple[Callable[[Observation], object], int]] = {
            'shared prefix in process': (lambda seen: ask(local, seen), 1),
            'sightplan serve, /v1/decisions': (lambda seen: ask(clients[0], seen), 1),
            'sightplan serve, /v1/queries': (lambda seen: ask(clients[1], seen), 1),
            f'sightplan serve, {_CLIENTS} clients at once': (at_once, _CLIENTS)}
        if server:
            clients.append(make_backend('openai', {'base_url': server, 'model': server_model,
                                                   'api_key_env': ''}))
            ways['openai server, warm'] = (lambda seen: ask(clients[-1], seen), 1)
        ways['generate in process'] = (lambda seen: generate(local, seen), 1)
        for client in clients:
            stack.callback(close, client)
        difference = _difference(ask(local, seen := picture()), ask(clients[0], seen))
        times: dict[str, list[float]] = {name: [] for name in ways}
        for repeat in range(repeats + 1):  # in turn, so that a busy machine is so for all
            for name, (call, pictures) in ways.items():
                seen = picture()
                start = time.perf_counter()
                call(seen)
                took = 1e3 * (time.perf_counter() - start) / pictures
                if repeat:  # the first is to warm up
                    times[name].append(round(took, 3))
    found: dict[str, dict[str, Any]] = {
        name: {'ms': round(statistics.median(took), 3), 'least_ms': min(took), 'all_ms': took}
        for name, took in times.items()}
    base = found['shared prefix in process']['ms']
    about = provenance()
    return {
        'bench': 'grounding-served',
        'date': datetime.datetime.now(datetime.UTC).date().isoformat(),
        'device': describe_device('cpu'), 'threads': threads, 'versions': {
            name: about['packages'].get(name) for name in ('torch', 'transformers', 'openai')},
        'commit': about['commit'], 'dirty': about['dirty'], 'model': local.name,
        'server_model': server_model, 'questions': number, 'repeats': repeats, 'clock': 'wall',
        'picture': list(_PICTURE[:2]), 'max_difference': difference, 'results': {
            name: {**row, 'over_in_process': round(row['ms'] / base, 2)}
            for name, row in found.items()}}


def _difference(ours: Sequence[Answer], theirs: Sequence[Answer]) -> float:
    """Largest difference of two probabilities."""
    return max(abs((a.p_yes or 0.0) - (b.p_yes or 0.0)) for a, b in zip(ours, theirs, strict=True))
