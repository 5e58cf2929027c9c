"""Tries real servers with tiny models, and writes what works to docs/compatibility.md.

``python studies/server_compatibility.py try`` starts each server that is installed and writes
``studies/data/servers/*.json``; LiteLLM, where the environment variable LITELLM names its program.
``throughput [MODEL.gguf]`` measures requests a second on llama.cpp; ``tables`` writes the page
from these files.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sightplan.model import BARE, Atom, DeadlineError, Observation, Question, SightplanError
from sightplan.model.query import ask_all, ask_one, close
from sightplan.queries import Generate, YesNo, yes_no_queries
from sightplan.vlm.api import make_backend
from study_document import DATA, DOCS, rewrite, store
from study_results import table

sys.path.append(str(DOCS.parent / 'src' / 'sightplan_models' / 'test'))

MEASURED = DATA / 'servers'
FEATURES = ('answers', 'logprobs', 'schema', 'pictures', 'system role', 'text only', 'cancel')
_SCHEMA = {'type': 'object', 'required': ['sure'], 'additionalProperties': False,
           'properties': {'sure': {'type': 'boolean'}}}
_QUESTIONS, _SLOTS, _REPEATS = 60, 4, 3
_LONG_TOKENS, _LONG_TOKENS_OF_GATEWAY = 800, 12_000
"""Tokens of a reply that takes long beside a request's own time, which is longer at a gateway."""
_VERSION = 'import importlib.metadata; print(importlib.metadata.version("litellm"))'


def questions(count: int, text: str = '') -> list[YesNo]:
    """Yes/no questions about a noise picture of 160 x 120 pixels, or about a text."""
    image = np.random.default_rng(0).integers(0, 256, (120, 160, 3), np.uint8)
    return yes_no_queries(Observation(text=text) if text else Observation(image), tuple(
        Question(Atom('p', (str(i),)), f'Is block number {i} on the table?')
        for i in range(count)), BARE)


class Trial:
    """One server with one model, tried feature by feature through the backend ``openai``."""

    def __init__(self, server: Any, model: str, long_tokens: int = _LONG_TOKENS) -> None:
        """Keep the server, which runs, the model's name there, and how long a long reply is."""
        self._server, self._model, self._long_tokens = server, model, long_tokens

    def results(self) -> dict[str, str]:
        """Result of each feature: works, works around (how), or refused (why)."""
        found = {}
        for feature in FEATURES:
            try:
                found[feature] = getattr(self, '_' + feature.replace(' ', '_'))()
            except SightplanError as error:
                found[feature] = f'refused: {_short(str(error))}'
        return found

    @contextlib.contextmanager
    def _backend(self, **settings: Any) -> Iterator[Any]:
        made = make_backend('openai', {'model': self._model, 'base_url': self._server.url,
                                       'retries': 0, **settings})
        try:
            yield made
        finally:
            close(made)

    def _answers(self) -> str:
        with self._backend() as backend:
            replies = ask_all(backend, questions(2, 'A table with two blocks.'))
        return 'works' if all(reply.text for reply in replies) else 'refused: no text'

    def _logprobs(self) -> str:
        status, reply = self._raw(logprobs=True, top_logprobs=20)
        if status != 200:
            return f'refused: HTTP {status}'
        return 'works' if reply['choices'][0].get('logprobs') else (
            'works around: the field is ignored; answers have no probabilities')

    def _schema(self) -> str:
        with self._backend() as backend:
            said = ask_one(backend, Generate('', ('Are you sure?',), 40, json_schema=_SCHEMA))
        with contextlib.suppress(ValueError):
            if isinstance(json.loads(said.text)['sure'], bool):
                return 'works'
        return 'works around: the field is ignored; replies are read as free text'

    def _pictures(self) -> str:
        with self._backend() as backend:
            backend.check_pictures()
            ask_all(backend, questions(2))
        return 'works'

    def _system_role(self) -> str:
        counts = [self._raw(*more)[1]['usage']['prompt_tokens']
                  for more in ((), ({'role': 'system', 'content': 'You look at blocks.'},))]
        return 'works' if counts[1] > counts[0] else 'works around: system_role=user'

    def _text_only(self) -> str:
        with self._backend() as backend:
            said = ask_one(backend, Generate('', ('What is there?', 'Answer.'), 8))
        parts = self._raw(content=[{'type': 'text', 'text': 'What is there?'}])[0]
        return ('works' if said.text else 'refused: no text') + (
            '' if parts == 200 else f' (a list of texts gets HTTP {parts}: one string is sent)')

    def _cancel(self) -> str:
        """Whether a request that nobody waits for ends: the next one would wait for it."""
        with self._backend() as backend:
            prompt = Generate('', ('Go on.',), 4)
            ask_one(backend, prompt)
            plain_s = _seconds(lambda: ask_one(backend, prompt))
        endless = self._raw(ignore_eos=True)[0] == 200
        with self._backend(extra_body='{"ignore_eos": true}' if endless else '') as backend:
            whole_s = _seconds(lambda: ask_one(backend, Generate(
                '', ('Go on and on.',), self._long_tokens)))
            if whole_s < 3 * plain_s:
                return 'not known: the model ends its turn early'
            with contextlib.suppress(DeadlineError):
                ask_one(backend, Generate('', ('Go on and on!',), self._long_tokens), whole_s / 8)
            after_s = _seconds(lambda: ask_one(backend, prompt))
        return 'works' if after_s < plain_s + whole_s / 3 else (
            f'works around: the server goes on for nobody ({after_s / plain_s:.0f} times the '
            'usual time for the next request)')

    def _raw(self, *before: dict[str, Any], content: Any = 'Well?',
             **fields: Any) -> tuple[int, Any]:
        found: tuple[int, Any] = self._server.post('/v1/chat/completions', {
            'model': self._model, 'messages': [*before, {'role': 'user', 'content': content}],
            'max_tokens': 2, 'temperature': 0, **fields})
        return found


def _seconds(work: Callable[[], object]) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start


def _short(message: str) -> str:
    words = ' '.join(message.replace('127.0.0.1', 'server').split())
    _, _, inner = words.partition('(')
    return (inner or words)[:110].split(');')[0]


def try_servers(folder: Path, only: str) -> None:
    """Try each server with a model that sees, and llama.cpp with one that reads text alone."""
    from real_servers import llama_cpp, transformers_serve
    from tiny_gguf import make_tiny_gguf
    from tiny_models import make_tiny_vlm
    files = make_tiny_gguf(folder)
    version = importlib.metadata.version
    wheel = f'xllamacpp {version("xllamacpp")}'
    vision = make_tiny_vlm(folder / 'llava')
    for name, title, server, model in (
            ('llama_cpp', f'llama.cpp ({wheel}), tiny Qwen2-VL',
             llama_cpp(folder / 'log', files.text, files.projector), 'tiny'),
            ('llama_cpp_text', f'llama.cpp ({wheel}), the same without its projector',
             llama_cpp(folder / 'log', files.text), 'tiny'),
            ('transformers_serve', f'`transformers serve` ({version("transformers")}), tiny LLaVA',
             transformers_serve(folder / 'serve.log', vision), str(vision)),
            *_gateways(folder, files)):
        if only and only != name:
            continue
        with server:
            found = Trial(server, model, _LONG_TOKENS_OF_GATEWAY if name == 'litellm' else
                          _LONG_TOKENS).results()
        store(MEASURED / f'{name}.json', {
            'server': title, 'tried': datetime.date.today().isoformat(), 'features': found})
        print(name, json.dumps(found, indent=1))


def _gateways(folder: Path, files: Any) -> Iterator[tuple[str, str, Any, str]]:
    """LiteLLM in front of llama.cpp, if the environment variable LITELLM names its program."""
    from real_servers import RealServer, free_port, llama_cpp
    program = os.environ.get('LITELLM')
    if not program:
        return
    behind = llama_cpp(folder / 'behind.log', files.text, files.projector,
                       context=_LONG_TOKENS_OF_GATEWAY + 4000)
    version = subprocess.run([Path(program).with_name('python'), '-c', _VERSION],
                             capture_output=True, text=True, check=True).stdout.strip()

    class Gateway(RealServer):  # type: ignore[misc]  # of the tests, unchecked
        def start(self) -> RealServer:
            behind.start()
            return super().start()

        def kill(self) -> None:
            super().kill()
            behind.kill()
    yield ('litellm', f'LiteLLM {version} in front of llama.cpp',
           Gateway('program', {'words': [
               program, '--model', 'openai/tiny', '--api_base', behind.url, '--alias', 'tiny',
               '--host', '127.0.0.1'], 'path': '/health/liveliness', 'environment': {
                   'OPENAI_API_KEY': 'none',
                   'LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY': 'true'}},
               folder / 'litellm.log', free_port()), 'openai/tiny')


def throughput(folder: Path, model: Path | None) -> None:
    """Measure requests a second on llama.cpp, by number of requests at a time and cache."""
    from real_servers import llama_cpp
    from tiny_gguf import make_tiny_gguf
    files = make_tiny_gguf(folder)
    text = '' if model is None else 'The table is brown. ' * 30
    server = (llama_cpp(folder / 'log', files.text, files.projector, slots=_SLOTS) if model is None
              else llama_cpp(folder / 'log', model, slots=_SLOTS, context=2048))
    rows = []
    with server:
        for cache in (True, False):
            for concurrency in (1, _SLOTS, 2 * _SLOTS):
                rates = [_rate(server.url, concurrency, cache, text) for _ in range(_REPEATS)]
                rows.append({'cache_prompt': cache, 'concurrency': concurrency,
                             'requests_per_s': statistics.median(rates)})
                print(rows[-1], flush=True)
    store(MEASURED / f'throughput_{"tiny" if model is None else "text"}.json', {
        'model': 'tiny Qwen2-VL, one picture' if model is None else model.stem,
        'slots': _SLOTS, 'rows': rows})


def _rate(url: str, concurrency: int, cache: bool, text: str) -> float:
    backend = make_backend('openai', {
        'model': 'tiny', 'base_url': url, 'concurrency': concurrency,
        'extra_body': json.dumps({'cache_prompt': cache})})
    try:
        asked = questions(_QUESTIONS if not text else _QUESTIONS // 5, text)
        ask_all(backend, asked[:1])
        return len(asked) / _seconds(lambda: ask_all(backend, asked))
    finally:
        close(backend)


def features_table() -> str:
    """Server by feature, as tried."""
    rows = []
    for path in sorted(MEASURED.glob('*.json')):
        measured = json.loads(path.read_text('utf-8'))
        if 'features' in measured:
            rows.append([measured['server'], measured['tried'],
                         *(measured['features'][one] for one in FEATURES)])
    return table(['server', 'tried', *FEATURES], rows)


def throughput_table() -> str:
    """Requests a second by model, cache and requests at a time."""
    rows = []
    for path in sorted(MEASURED.glob('throughput_*.json')):
        measured = json.loads(path.read_text('utf-8'))
        rates = {(row['cache_prompt'], row['concurrency']): row['requests_per_s']
                 for row in measured['rows']}
        rows += [[measured['model'], str(cache).lower(),
                  *(f'{rates[cache, one]:.1f}' for one in (1, _SLOTS, 2 * _SLOTS))]
                 for cache in (True, False)]
    return table(['model', '`cache_prompt`', '1 at a time', f'{_SLOTS} (the slots)',
                  f'{2 * _SLOTS}'], rows)


def write_tables() -> None:
    """Write the tables of the page."""
    print(*rewrite(DOCS / 'compatibility.md', {'servers': features_table(),
                                               'throughput': throughput_table()}), sep='\n')


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('action', choices=('try', 'throughput', 'tables'))
    parser.add_argument('model', nargs='?', type=Path, help='a GGUF file of a text model')
    parser.add_argument('--only', default='', help='name of one server to try')
    arguments = parser.parse_args()
    MEASURED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.action == 'try':
            try_servers(Path(folder), arguments.only)
        elif arguments.action == 'throughput':
            throughput(Path(folder), arguments.model)
    if arguments.action == 'tables':
        write_tables()


if __name__ == '__main__':
    main()
