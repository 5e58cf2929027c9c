"""Secrets that are planted wherever one may be, and are found in nothing that a run leaves."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doubles import TWO_BLOCKS, MemoryWorld
from fake_openai import FakeServer, Reply, chat, error
from play_case import playing, settings_for
from sightplan import cli
from sightplan.model import InfrastructureError, InputError, excerpt, redaction
from sightplan.records.bag_reading import open_bag
from sightplan.runs import RunSettings, worlds

pytest.importorskip('openai')

from sightplan_models import _openai_server

KEY = 'Zulu7plant0Alpha'
"""Of the model's server; nothing but its place in the environment says that it is one."""
PLANTED = {
    'LLM_KEY': KEY,
    'HF_TOKEN': 'hf_PlantedBravo9988',
    'AWS_SECRET_ACCESS_KEY': 'planted/Charlie+77/of+a+cloud',
    'WANDB_API_KEY': '77aa' * 10,
    'DB_PASSWORD': 'planted Delta 55 with blanks',
    'PLUGIN_TOKEN': 'planted-Echo-0044',
    'HTTPS_PROXY': 'http://me:plantedFoxtrot3@proxy.example:3128',
}
SECRETS = [*(value for name, value in PLANTED.items() if name != 'HTTPS_PROXY'),
           'plantedFoxtrot3']


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv('NO_PROXY', '127.0.0.1')
    monkeypatch.setattr(worlds, 'make_world', lambda name, options: MemoryWorld())

    async def at_once(seconds: float) -> None:
        pass
    monkeypatch.setattr(_openai_server, '_sleep', at_once)


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    folder = tmp_path / 'problems'
    folder.mkdir()
    for name in 'abc':
        (folder / f'{name}.pddl').write_text(TWO_BLOCKS)
    return folder


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """All that lies in a folder: files, and what is compressed in bags."""
    for file in sorted(folder.rglob('*')):
        if file.is_file():
            yield str(file.relative_to(folder)), file.read_bytes()
    for bag in sorted({file.parent for file in folder.rglob('*.mcap')}):
        for message in open_bag(bag).messages():
            yield f'{bag.name}: {message.topic}', bytes(message.data)


def found_in(content: bytes, secrets: list[str] = SECRETS) -> list[str]:
    """Secrets in bytes: as they are, as JSON has them, and as URLs have them."""
    return [secret for secret in secrets
            if any(form.encode() in content for form in (
                secret, json.dumps(secret)[1:-1], urllib.parse.quote(secret, safe='')))]


def nothing_leaks(folder: Path, said: str, secrets: list[str] = SECRETS) -> None:
    for name, content in (*contents(folder), ('what was said', said.encode())):
        assert found_in(content, secrets) == [], name


def run_command(folder: Path, problems: Path, url: str, *more: str) -> list[str]:
    options = {'model': 'm', 'base_url': url, 'api_key_env': 'LLM_KEY', 'concurrency': '1',
               'retries': '1'}
    return ['run', '--problems', str(problems), '--out', str(folder), '--backend', 'openai',
            '--record', '--record-images', '--answers-log', '--bags', 'all',
            *(item for name, value in options.items()
              for item in ('--backend-option', f'{name}={value}')), *more]


def echoing(body: dict[str, Any], number: int) -> Reply:
    """What a careless server does with what it was sent: it says it again, everywhere."""
    return (chat(f'No. Your key is {KEY}.', model=KEY),
            error(401, f'Incorrect API key provided: {KEY}.', {'x-key': KEY}, code=KEY, param=KEY),
            error(500, f'Authorization: Bearer {KEY}', {'x-key': KEY}),
            Reply(f'<html>{KEY}</html>'.encode()),
            Reply({'choices': [], 'error': {'request': {'headers': {'authorization': KEY}}}}),
            chat('Yes', refusal=f'not with {KEY}'))[number % 6]


def ends(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> str:
    return ''.join(capfd.readouterr()) + caplog.text


@pytest.mark.parametrize('method', [
    pytest.param('ground', marks=pytest.mark.slow), 'plan'])
def test_a_run_and_what_is_made_of_it_hold_no_secret(
        method: str, tmp_path: Path, problems: Path, capfd: pytest.CaptureFixture[str],
        caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    out = tmp_path / 'out'
    with FakeServer(echoing) as server:
        server.models = [f'model of {KEY}']
        cli.main([*run_command(out / 'run', problems, server.url, '--method', method), '--json'])
    assert any(KEY in header['authorization'] for header in server.headers), 'it is used'
    assert len((out / 'run' / 'episodes.jsonl').read_text().splitlines()) == 3
    assert len(list(out.rglob('*.mcap'))) == 3 and (out / 'run' / 'replies.jsonl').is_file()
    for command in (['report', str(out / 'run'), '--episodes', 'all'],
                    ['failures', str(out / 'run')],
                    ['replay', str(out / 'run'), '--out', str(out / 'replay')]):
        assert cli.main(command) in (0, 1), command
    assert (out / 'run' / 'report').is_dir()
    said = ends(capfd, caplog)
    assert '[key]' in said, 'the server did say it'
    nothing_leaks(out, said)


def test_what_an_http_client_raises_tells_no_secret(
        tmp_path: Path, problems: Path, monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    """An exception of any type, whose message, cause and attributes hold the whole request."""
    caplog.set_level(logging.DEBUG)
    original = _openai_server.Server.__init__

    class Echo(RuntimeError):
        pass

    async def create(**request: Any) -> None:
        cause = Echo(f'POST http://me:plantedFoxtrot3@proxy/ authorization: Bearer {KEY}')
        raise Echo(f'the request failed: {{"authorization": "{KEY}"}}') from cause

    def made(server: Any, **values: Any) -> None:
        original(server, **values)
        monkeypatch.setattr(server._client.chat.completions.with_raw_response, 'create', create)
    monkeypatch.setattr(_openai_server.Server, '__init__', made)
    cli.main(run_command(tmp_path / 'run', problems, 'http://127.0.0.1:1/v1'))
    (line, *_) = map(json.loads, (tmp_path / 'run' / 'episodes.jsonl').read_text().splitlines())
    assert line['stop'] == 'error' and '[key]' in line['message']
    nothing_leaks(tmp_path / 'run', ends(capfd, caplog))


BREAKS = '''
import logging, os, sys
from doubles import MemoryWorld
from sightplan import cli
from sightplan.runs import worlds
from sightplan_models import scripted

def breaks(self, *arguments, **named):
    logging.getLogger('plugin').warning('sent with %s', os.environ['PLUGIN_TOKEN'])
    raise RuntimeError('refused: token=' + os.environ['PLUGIN_TOKEN'] + ', proxy '
                       + os.environ['HTTPS_PROXY'])

scripted.Backend.ask = breaks
worlds.make_world = lambda name, options: MemoryWorld()
sys.exit(cli.main(sys.argv[1:]))
'''


@pytest.mark.slow
def test_what_a_plugin_raises_and_logs_tells_no_secret(tmp_path: Path, problems: Path) -> None:
    """Nobody reads what others' backends do with their keys."""
    script = tmp_path / 'script.json'
    script.write_text(json.dumps({'replies': {}, 'repeat': 'last'}))
    done = subprocess.run(
        [sys.executable, '-c', BREAKS, '-v', 'run', '--problems', str(problems), '--method',
         'plan', '--backend', 'scripted', '--backend-option', f'script={script}', '--bags', 'all',
         '--out', str(tmp_path / 'run')], capture_output=True, text=True, check=False,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(
            [str(Path(__file__).parent), os.environ.get('PYTHONPATH', '')])})
    (line, *_) = map(json.loads, (tmp_path / 'run' / 'episodes.jsonl').read_text().splitlines())
    assert line['stop'] == 'error' and 'refused: token=[key]' in line['message']
    assert 'sent with [key]' in done.stderr and 'Traceback' in done.stderr
    nothing_leaks(tmp_path / 'run', done.stdout + done.stderr)


@pytest.mark.parametrize('option', [
    'LLM_KEY', 'WANDB_API_KEY', 'sk-AbCdEf0123456789', 'hf_PlantedBravo9988'])
@pytest.mark.parametrize('form', [
    lambda secret: ['--backend-option', secret],
    lambda secret: ['--backend-option', f'api_key={secret}'],
    lambda secret: ['--backend-option', f'model={secret}'],
    lambda secret: ['--backend-option', f'concurrency={secret}'],
    lambda secret: ['--backend-option', f'base_url=http://me:{secret}@127.0.0.1:1/v1'],
    lambda secret: ['--backend-option', f'base_url=http://127.0.0.1:1/v1?key={secret}'],
    lambda secret: ['--backend-option', f'extra_body={{"headers": {{"x": "{secret}"}}}}'],
    lambda secret: ['--backend-option', f'api_key_env={secret}'],
    lambda secret: ['--method-option', f'token={secret}'],
    lambda secret: ['--method-option', secret],
    lambda secret: ['--world-option', f'"{secret}']])
def test_a_secret_given_as_an_option_is_not_said(
        option: str, form: Callable[[str], list[str]], tmp_path: Path, problems: Path,
        capfd: pytest.CaptureFixture[str]) -> None:
    secret = PLANTED.get(option, option)
    code = cli.main(run_command(tmp_path / 'run', problems, 'http://127.0.0.1:1/v1',
                                *form(secret)))
    assert code == 2
    nothing_leaks(tmp_path / 'run', ''.join(capfd.readouterr()), [secret])


def test_the_secret_of_a_page_is_in_nothing_that_was_played(
        tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the world is the real one
    caplog.set_level(logging.DEBUG)
    with playing(settings_for(tmp_path)) as session:
        session.begin()
        session.say('give_up')
        token = session.server.token
    assert (tmp_path / 'run' / 'episodes.jsonl').is_file()
    nothing_leaks(tmp_path, ends(capfd, caplog), [token])


# What is taken for a secret.

@pytest.mark.parametrize(('text', 'left'), [
    (f'a {KEY} b', 'a [key] b'),
    (f'{{"x": "{PLANTED["AWS_SECRET_ACCESS_KEY"]}"}}', '{"x": "[key]"}'),
    ('Authorization: Basic bWU6cGFzcw==', 'Authorization: [key]'),
    ("{'authorization': 'Bearer abc.def-123'}", "{'authorization': '[key]'}"),
    ('Bearer abc.def-12345', '[key]'),
    ('Authorization: Token up9Stream8, for x', 'Authorization: [key], for x'),
    ('authorization: Digest username="me", response="0a1b2c"\nnext', 'authorization: [key]\nnext'),
    ("[(b'authorization', b'ApiKey up9Stream8')]", "[(b'authorization', b'[key]')]"),
    ("https://me:p@ss'w/ord@db:5432/x", 'https://[key]@db:5432/x'),
    ('http://host:8080/a@b', None), ('http://[::1]:8000/a@b', None),
    ("{'base_url': 'http://gpu:http','x':'d@e'}", None),
    ('"Authorization": ["Bearer abcsecret"]', '"Authorization": ["[key]"]'),
    ('https://db/?a=1&api_key=abc123&b=2', 'https://db/?a=1&api_key=[key]&b=2'),
    ('?access_token=xyz', '?access_token=[key]'),
    ('ghs_AbCdEf0123456789 github_pat_11ABCDEFG xoxb-123456789012-Ab ya29.a0AfH6SM', ' '.join(
        ['[key]'] * 4)),
    ('eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.SflKxwRJSM a', '[key] a'),
    ('http://me:pass@host/x and https://token@host', 'http://[key]@host/x and https://[key]@host'),
    ('sk-AbCdEf0123456789', '[key]'), ('sk-proj-abcdef_1234567', '[key]'),
    ('sk-' * 100_000, None), ('://a:' * 50_000, None), ('-eyJ' * 50_000, None),
    ('?a_' * 50_000, None), ('authorization ' * 20_000, None), ('bearer ' * 20_000, None),
    ('cannot read /data/key_frames/hf-internal/basic colours.png', None),
    ('http://host:8000/v1: the basic instructions of the bearer', None),
    ('commit 0123456789abcdef0123456789abcdef01234567', None), ('', None)])
def test_what_is_taken_for_a_secret(text: str, left: str | None) -> None:
    assert redaction.without_secrets(text) == (text if left is None else left)


@pytest.mark.parametrize(('name', 'value'), [
    ('SHORT_KEY', 'abc12'), ('SSH_KEY', '/home/me/.ssh/id_0'), ('KEY_BOARD', 'qwertz0123'),
    ('bamboo_buildKey', 'PROJ-PLAN-JOB1'),
    ('GOOGLE_APPLICATION_CREDENTIALS', os.path.relpath(__file__)),
    ('TOKEN_COUNT', '100000000'), ('MODE_KEY', 'blocksworld'), ('SOME_TOKEN', '2026112612'),
    ('ROS_SECURITY_KEYSTORE', 'keystore2')])
def test_what_else_is_in_the_environment_is_no_secret(
        monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert redaction.without_secrets(f'see {value}') == f'see {value}'


@pytest.mark.parametrize(('name', 'value'), [
    ('PGPASSWORD', 'pgSecret99x'), ('OPENAIKEY', 'a-b-c-d-1234'),
    ('AWS_SECRET_ACCESS_KEY', '/bPxRfiCYEXAMPLE0KEY/wJalrXUtnFEMI+K7MDENG'),
    ('AWS_SECRET_ACCESS_KEY', '/bPxRfiCYEXAMPLE0KEYwJalrXUtnFEMI+K7MDENG'),
    ('X_TOKEN', 'p\udce4ssword1')])
def test_what_else_is_a_secret(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert redaction.without_secrets(f'see {value}') == 'see [key]'


def test_a_secret_is_found_as_python_json_and_addresses_have_it(
        monkeypatch: pytest.MonkeyPatch) -> None:
    secret = '-----BEGIN\nMIIE/vQ+"I\\=\n-----END'
    monkeypatch.setenv('MY_PRIVATE_KEY', secret)
    for form in (secret, repr(secret), json.dumps(secret), json.dumps(secret).replace('/', r'\/'),
                 *(quote(secret, safe=safe) for safe in ('', '/')
                   for quote in (urllib.parse.quote, urllib.parse.quote_plus))):
        said = redaction.without_secrets(f'x {form} y')
        assert 'MIIE' not in said and '[key]' in said and said.endswith(' y'), form


def test_a_text_that_is_shortened_has_no_part_of_a_secret() -> None:
    for before in range(3400, 3600):
        assert KEY[:-4] not in str(InfrastructureError('x' * before + KEY + 'y' * 2000))
        assert KEY[:-4] not in str(InputError(excerpt('y' * (before - 3360) + KEY + 'z' * 90)))
    for before in range(60, 90):
        said = unreadable(f'<{"." * before}{KEY}</html>')
        assert KEY[:-4] not in said and '<...' in said


def unreadable(body: str) -> str:
    """What is said of a reply that is no JSON."""
    server = object.__new__(_openai_server.Server)
    server._key = KEY
    failure = server._parsed(body.encode())
    assert isinstance(failure, _openai_server.Failure)
    return failure.message


@pytest.mark.parametrize('kind', ['backend', 'method', 'world', 'suite'])
@pytest.mark.parametrize('value', [KEY, {'a': [f'/dir/{KEY}.json']}, 'sk-proj-abcdef_1234567'])
def test_settings_that_hold_a_secret_are_refused_whatever_they_are_for(
        kind: str, value: object) -> None:
    settings: Any = {f'{kind}_options': {'note': value}}
    with pytest.raises(InputError, match=f'{kind}_options: note looks as if'):
        RunSettings(**settings).check()


def test_names_of_folders_and_of_options_are_no_keys_or_not_repeated() -> None:
    RunSettings(backend_options={'model': '/data/hf_cache2024/SmolVLM'},
                world_options={'scene': '/data/pk-Kitchen01'}).check()
    with pytest.raises(InputError, match=r'method_options: \[key\] looks as if'):
        RunSettings(method_options={'sk-proj-abcdef_1234567': 1}).check()


def test_what_nobody_expected_is_printed_without_secrets(tmp_path: Path) -> None:
    program = tmp_path / 'broken.py'
    program.write_text(
        'import os\nfrom types import SimpleNamespace\nfrom sightplan import cli\n'
        'def fails(arguments):\n    raise RuntimeError(os.environ["PLUGIN_TOKEN"])\n'
        'command = SimpleNamespace(verbose=False, main=fails)\n'
        'cli.make_parser = lambda argv: SimpleNamespace(\n'
        '    parse_known_args=lambda argv: (command, []))\n'
        'cli.main([])\n')
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1 and 'RuntimeError: [key]' in done.stderr
    assert PLANTED['PLUGIN_TOKEN'] not in done.stderr + done.stdout


def test_a_formatter_lets_no_secret_through() -> None:
    record = logging.LogRecord('x', logging.ERROR, __file__, 1, 'sent %s', (KEY,), None)
    try:
        raise RuntimeError(KEY)
    except RuntimeError:
        record.exc_info = sys.exc_info()
    said = redaction.Formatter('%(levelname)s %(message)s').format(record)
    assert said.startswith('ERROR sent [key]') and 'RuntimeError: [key]' in said
