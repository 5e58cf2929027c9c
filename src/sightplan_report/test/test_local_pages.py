"""Every local page: this machine alone, who has the address alone, and nothing but the page."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import re
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

import sightplan
from labelling_case import running, serving, three_pictures
from play_case import Session, settings_for
from sightplan_report.commands import label
from sightplan_report.labelling.local_page import LocalServer
from sightplan_suites.point_it_out.rating import RatingServer, RatingSession
from sightplan_suites.point_it_out.traces import ShownTrace


@contextlib.contextmanager
def labelling(folder):
    with serving(folder / 'labels.jsonl', three_pictures()) as server:
        yield server


@contextlib.contextmanager
def playing(folder):
    with running(Session(settings_for(folder)).server) as server:
        yield server


@contextlib.contextmanager
def rating(folder):
    traces = [ShownTrace('s3/1', 'a', 'do it', ((0.1, 0.5), (0.9, 0.5)),
                         lambda: np.zeros((20, 20, 3), np.uint8))]
    with running(RatingServer(RatingSession(traces, folder / 'ratings.jsonl', 'ann'))) as server:
        yield server


PAGES = {'LabelServer': labelling, 'PlayServer': playing, 'RatingServer': rating}
POSTS = {'LabelServer': 'label', 'PlayServer': 'go_on', 'RatingServer': 'rate'}


@pytest.fixture(params=PAGES)
def server(request, tmp_path):
    with PAGES[request.param](tmp_path) as found:
        yield found


def test_all_pages_are_here():
    package = Path(sightplan.__file__).parent
    for file in package.rglob('*.py'):
        if 'LocalServer' in file.read_text('utf-8'):
            name = '.'.join(file.relative_to(package.parent).with_suffix('').parts)
            importlib.import_module(name)
    assert {one.__name__ for one in LocalServer.__subclasses__()} == set(PAGES)


def talk(server, text):
    """What comes back for raw bytes: status, header lines, body; of HTTP/0.9 the body alone."""
    with socket.create_connection(('127.0.0.1', server.server_port), timeout=60) as line:
        line.sendall(text)
        with contextlib.suppress(OSError):
            line.shutdown(socket.SHUT_WR)
        answer = b''
        while part := line.recv(65536):
            answer += part
    if not answer.startswith(b'HTTP/'):
        return 0, [], answer
    head, _, body = answer.partition(b'\r\n\r\n')
    first, *lines = head.decode('latin-1').split('\r\n')
    return int(first.split()[1]), lines, body


def get(server, target, *lines, method='GET', body=b''):
    lines = lines or (f'Host: 127.0.0.1:{server.server_port}',)
    return talk(server, '\r\n'.join(
        (f'{method} {target} HTTP/1.1', *lines, 'Connection: close', '', '')).encode('latin-1')
        + body)


def paths_of(server):
    """All that is served by name, and what is posted to."""
    return [*server.RequestHandlerClass.files, POSTS[type(server).__name__]]


def test_it_listens_on_the_loopback_device_alone(server):
    assert server.socket.getsockname()[0] == '127.0.0.1'
    assert server.url == f'http://127.0.0.1:{server.server_port}/{server.token}/'
    assert len(server.token) >= 24  # 144 bits


def test_each_start_has_another_secret(tmp_path):
    tokens = set()
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        with rating(folder) as server:
            tokens |= {server.token, server.url_once}
    assert len(tokens) == 6


def test_another_name_of_the_machine_is_refused(server):
    """As a page does whose name was pointed to this machine (DNS rebinding)."""
    port = server.server_port
    for hosts in (['evil.example'], [f'evil.example:{port}'], [f'127.0.0.1.evil.example:{port}'],
                  ['127.0.0.1'], [f'0.0.0.0:{port}'], [f'[::1]:{port}'], [''],
                  [f'127.0.0.1:{port}', 'evil.example'], ['evil.example', f'127.0.0.1:{port}'],
                  [f'127.0.0.1:{port}', f'127.0.0.1:{port}']):
        for path in paths_of(server):
            status, lines, body = get(server, f'/{server.token}/{path}',
                                      *(f'Host: {host}' for host in hosts))
            assert status == 403, (hosts, path)
            assert set(json.loads(body)) == {'error'} and server.token.encode() not in body
            assert not any(line.lower().startswith('access-control') for line in lines)
    _, _, body = talk(server, f'GET /{server.token}/\r\n\r\n'.encode())  # HTTP/0.9 names none
    assert set(json.loads(body)) == {'error'}


def test_another_origin_is_refused(server):
    host = f'Host: 127.0.0.1:{server.server_port}'
    for origins in (['http://evil.example'], ['null'], [f'https://127.0.0.1:{server.server_port}'],
                    [f'http://127.0.0.1:{server.server_port}', 'http://evil.example']):
        for method in ('GET', 'POST', 'OPTIONS'):
            status, lines, _ = get(server, f'/{server.token}/{POSTS[type(server).__name__]}', host,
                                   *(f'Origin: {origin}' for origin in origins), method=method)
            assert status == 403, (origins, method)
            assert not any(line.lower().startswith('access-control') for line in lines)


def test_without_the_secret_there_is_nothing(server):
    token = server.token
    for wrong in ('', 'x', token[:-1], f'{token}x', token.swapcase(), '..', '%00', '\xff',
                  f'%{ord(token[0]):x}{token[1:]}', f'x/../{token}'):
        for path in paths_of(server):
            status, _, body = get(server, f'/{wrong}/{path}')
            assert status == 403, (wrong, path)
            assert token.encode() not in body
    assert get(server, f'http://127.0.0.1:{server.server_port}/{token}/')[0] == 403


def test_nothing_outside_of_the_page_is_served(server):
    page = Path(server.RequestHandlerClass.folder)
    inside = next(name for name in server.RequestHandlerClass.files if name)
    assert (page / inside).is_file() and (page.parent / '__init__.py').is_file()
    climbs = [f'{up}{name}' for up in ('../', '..%2f', '%2e%2e/', '..\\', '....//', './../', '/',
                                      f'{inside}/../../')
              for name in ('__init__.py', 'server.py', 'etc/passwd')]
    for path in (*climbs, '/etc/passwd', f'./{inside}', f'{inside}/', f'{inside}%00.html', '.',
                 f'page/{inside}', 'pictures/../../__init__.py', 'pictures/..', 'pictures//etc',
                 f'file://{page}/{inside}', '\xff\xfe', '*'):
        status, _, body = get(server, f'/{server.token}/{path}')
        assert status == 404, path
        assert set(json.loads(body)) == {'error'}


def test_a_link_in_the_folder_of_the_page_leads_nowhere(server, tmp_path, monkeypatch):
    """Files are served by their names in the source, not because they are in the folder."""
    page, secret = tmp_path / 'page', tmp_path / 'secret.txt'
    page.mkdir()
    secret.write_text('secret')
    (page / 'link.txt').symlink_to(secret)
    (page / 'plain.txt').write_text('plain')
    monkeypatch.setattr(server.RequestHandlerClass, 'folder', page)
    for name in ('link.txt', 'plain.txt', '../secret.txt'):
        assert get(server, f'/{server.token}/{name}')[0] == 404


def test_every_reply_has_its_type_and_the_policy(server):
    replies = [get(server, f'/{server.token}/{path}') for path in server.RequestHandlerClass.files]
    kinds = [f'{kind}; charset=utf-8' for _, kind in server.RequestHandlerClass.files.values()]
    replies += [get(server, '/x/'), get(server, f'/{server.token}/x'),
                get(server, f'/{server.token}/', method='PUT'), get(server, '/' + 'x' * 70_000)]
    kinds += ['application/json; charset=utf-8'] * 4
    for (status, lines, _), kind in zip(replies, kinds, strict=True):
        headers = dict(line.split(': ', 1) for line in lines)
        assert headers['Content-Type'] == kind, status
        policy = headers['Content-Security-Policy'].split('; ')
        assert policy[0] == "default-src 'none'" and "frame-ancestors 'none'" in policy
        assert not re.search(r'unsafe|https?:|\*', headers['Content-Security-Policy'])
        assert headers['X-Content-Type-Options'] == 'nosniff'
        assert headers['Referrer-Policy'] == 'no-referrer', 'the address holds the secret'
        assert headers['Cross-Origin-Resource-Policy'] == 'same-origin'
        assert headers['Cache-Control'] == 'no-store'
        assert 'Python' not in headers['Server']


def test_the_secret_is_in_no_log(server, caplog, capfd, monkeypatch):
    def broken(handler, path):
        raise RuntimeError('broken')
    handler = server.RequestHandlerClass
    with caplog.at_level(logging.DEBUG):
        logging.getLogger('sightplan').info('logs are read')
        for path in (*paths_of(server), 'x', '../x'):
            get(server, f'/{server.token}/{path}')
            get(server, f'/{server.token}/{path}', 'Host: evil.example')
        get(server, f'/{server.token}/{"x" * 70_000}')
        get(server, f'/{server.token}/', method='BREW')
        talk(server, f'GET /{server.token}/ {server.token} x\r\n\r\n'.encode())
        talk(server, f'GET /{server.token}/ HTTP/1.1\r\n{"h: x" * 40_000}\r\n\r\n'.encode())
        with socket.create_connection(('127.0.0.1', server.server_port)) as line:
            line.sendall(f'POST /{server.token}/{POSTS[type(server).__name__]} HTTP/1.1\r\n'
                         f'Host: 127.0.0.1:{server.server_port}\r\nContent-Length: 9\r\n'
                         'Content-Type: application/json\r\n\r\n'.encode())
        monkeypatch.setattr(handler, 'get', broken)
        assert get(server, f'/{server.token}/x')[0] == 500
    said = ''.join(capfd.readouterr()) + caplog.text
    assert 'logs are read' in said and 'request failed' in said
    assert server.token not in said


def test_a_browser_is_started_with_an_address_that_holds_once(server, monkeypatch):
    opened = []
    monkeypatch.setattr('webbrowser.open', opened.append)
    monkeypatch.setenv('DISPLAY', ':7')
    monkeypatch.setattr(server, 'serve_forever', lambda: None)
    monkeypatch.setattr(server, 'shutdown', lambda: None)
    label.serve(server, True, lambda: True)
    (url,) = opened
    assert server.token not in url, 'everybody on the machine sees the arguments of programs'
    target = url.removeprefix(f'http://127.0.0.1:{server.server_port}')
    assert get(server, f'{target}x')[0] == get(server, target, 'Host: evil.example')[0] == 403
    assert get(server, target, method='POST')[0] == 403
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(get(server, target)))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _, _ in statuses) == [303, 403, 403, 403]
    (lines,) = (lines for status, lines, _ in statuses if status == 303)
    assert f'Location: /{server.token}/' in lines
    assert get(server, f'/{server.token}/')[0] == 200
