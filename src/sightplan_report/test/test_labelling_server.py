"""The labelling server over real HTTP: who may ask, what is written, what is never sent."""

from __future__ import annotations

import http.client
import io
import json
import os
import threading
import time

import numpy as np
import pytest

from labelling_case import (  # noqa: F401
    CLEAR,
    IDS,
    ON,
    asked,
    episode,
    path_fixture,
    picture,
    server_fixture,
    serving,
    three_pictures,
)
from sightplan.model import InputError
from sightplan_report.labelling import LabelValue, read_labels

YES, NO, UNCLEAR = LabelValue


def ask(server, where, method='GET', body=None, token=None, **headers):
    """Status, headers and body of a reply; ``None`` leaves a header out."""
    connection = http.client.HTTPConnection('127.0.0.1', server.server_port, timeout=240)
    sent = {'Host': f'127.0.0.1:{server.server_port}'} | {
        name.replace('_', '-'): value for name, value in headers.items()}
    prefix = server.token if token is None else token
    try:
        connection.putrequest(method, f'/{prefix}/{where}' if prefix else where, skip_host=True)
        if body is not None and 'Content-Length' not in sent:
            sent['Content-Length'] = str(len(body))
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        reply = connection.getresponse()
        return reply.status, dict(reply.getheaders()), reply.read()
    finally:
        connection.close()


def post(server, image=IDS[0], atom='on r,g', label='yes', **headers):
    body = json.dumps({'image': image, 'atom': atom, 'label': label}).encode()
    status, _, content = ask(server, 'label', 'POST', body,
                             **({'Content_Type': 'application/json'} | headers))
    return status, json.loads(content)


def test_the_page_its_files_and_pictures_are_served(server):
    for where, kind in (('', 'text/html'), ('label.css', 'text/css'),
                        ('label.js', 'text/javascript'), ('session', 'application/json')):
        status, headers, body = ask(server, where)
        assert status == 200 and body
        assert headers['Content-Type'].startswith(kind)
        assert headers['Cache-Control'] == 'no-store'
        assert headers['X-Content-Type-Options'] == 'nosniff'
        assert headers['Referrer-Policy'] == 'no-referrer'
        policy = headers['Content-Security-Policy']
        assert policy.startswith("default-src 'none'") and 'unsafe' not in policy
        assert "frame-ancestors 'none'" in policy
    from PIL import Image
    status, headers, body = ask(server, f'pictures/{IDS[1]}')
    assert (status, headers['Content-Type']) == (200, 'image/png')
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(body))), picture(1))


def test_a_label_is_on_the_disk_when_the_reply_comes(server, path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, 'fsync', lambda number: synced.append(path.read_bytes()))
    assert post(server) == (200, {'image': IDS[0], 'atom': 'on r,g', 'label': 'yes',
                                  'labelled': 1})
    assert synced == [path.read_bytes()]
    (label,) = read_labels(path)
    assert (label.image, label.atom, label.value, label.who) == (IDS[0], ON, YES, 'ann')
    assert (label.question, label.bag) == ('Is it true that on r,g?', 'bags/a')
    assert (label.episode, label.stamp_ns) == ('blocksworld/simple/problem_00#0', 1_000)
    assert label.time is not None
    assert post(server, label='unclear')[1]['labelled'] == 1
    assert post(server, label=None)[1] == {'image': IDS[0], 'atom': 'on r,g', 'label': None,
                                           'labelled': 0}
    assert [json.loads(line)['label'] for line in path.read_text().splitlines()] == [
        'yes', 'unclear', None]


def test_what_was_said_twice_is_written_once(server, path):
    assert post(server) == post(server)
    assert post(server, atom='clear r', label=None)[0] == 200
    assert len(path.read_text().splitlines()) == 1


def test_the_session_goes_on_where_it_stopped(path):
    with serving(path, three_pictures()) as server:
        post(server)
        post(server, atom='clear r', label='no')
        post(server, IDS[1], label='unclear')
    with serving(path, three_pictures()) as server:
        told = json.loads(ask(server, 'session')[2])
        assert [[q['label'] for q in image['questions']] for image in told['images']] == [
            ['yes', 'no'], ['unclear', None], [None, None]]
        assert (told['start'], told['who']) == (1, 'ann')
        assert post(server, IDS[1], 'clear r')[1]['labelled'] == 4
        assert json.loads(ask(server, 'session')[2])['start'] == 2
    with serving(path, three_pictures(), 'bob') as server:
        told = json.loads(ask(server, 'session')[2])
        assert not any(q['label'] for image in told['images'] for q in image['questions'])
        assert told['start'] == 0


def test_the_page_gets_neither_truth_nor_answers(path):
    recorded = episode(asked(0, {ON: 'yes', CLEAR: 'no'}))  # its truth fails when it is touched
    with serving(path, recorded) as server:
        content = ask(server, 'session')[2].decode()
        (image,) = json.loads(content)['images']
        assert [set(q) for q in image['questions']] == [
            {'atom', 'predicate', 'text', 'label'}] * 2
        assert 'truth' not in content and 'tiny' not in content
    with serving(path, recorded, show_answers=True) as server:
        (image,) = json.loads(ask(server, 'session')[2])['images']
        assert image['questions'][0]['answers'] == [{'model': 'tiny', 'answer': 'yes'}]


@pytest.mark.parametrize('headers', [
    {'Host': 'evil.example'}, {'Host': None}, {'Host': '127.0.0.1'}, {'Host': 'localhost:1'},
    {'Origin': 'http://evil.example'}, {'Origin': 'null'}, {'Origin': 'https://localhost'},
    {'Sec_Fetch_Site': 'cross-site'}, {'Sec_Fetch_Site': 'same-site'},
    {'token': 'wrong'}])
def test_strangers_are_refused(server, path, headers):
    for where in ('session', f'pictures/{IDS[0]}', 'label.js'):
        status, sent, body = ask(server, where, **headers)
        assert status == 403, where
        assert set(json.loads(body)) == {'error'}
        assert 'Access-Control-Allow-Origin' not in sent
    if 'token' not in headers:
        assert post(server, **headers)[0] == 403
    assert path.read_bytes() == b''


def test_our_own_names_are_admitted(server):
    for name in ('127.0.0.1', 'localhost'):
        host = f'{name}:{server.server_port}'
        assert post(server, Host=host, Origin=f'http://{host}',
                    Sec_Fetch_Site='same-origin')[0] == 200
    # A link in a terminal or a mail leads to the page itself.
    assert ask(server, '', Sec_Fetch_Site='cross-site')[0] == 200


def test_without_the_secret_there_is_nothing(server):
    for where in ('/', '/label.js', '/favicon.ico', '//', f'/?{server.token}'):
        status, _, body = ask(server, where, token='')
        assert status == 403 and server.token.encode() not in body


@pytest.mark.parametrize('where', [
    '../server.py', '..%2fserver.py', 'label.js/../label.html', './label.js', 'page/label.js',
    'pictures/../../../../etc/passwd', 'pictures/', f'pictures/{IDS[5]}', 'pictures/%00',
    '/etc/passwd', 'label', 'session/'])
def test_nothing_else_is_served(server, where):
    assert ask(server, where)[0] == 404


@pytest.mark.parametrize(('body', 'headers', 'status'), [
    (b'{"image": "x"', {}, 400),
    (b'[]', {}, 400),
    (b'{"image": 3, "atom": "on r,g", "label": "yes"}', {}, 400),
    (b'{"image": "a", "atom": "on r,g"}', {}, 400),
    (b'{"image": "a", "atom": "on r,g", "label": "maybe"}', {}, 400),
    (b'[' * 4000, {}, 400),
    (b'\xff', {}, 400),
    (b'{"image": "a", "atom": "on r,g", "label": "yes"}', {}, 404),
    (json.dumps({'image': IDS[0], 'atom': 'on g,r', 'label': 'yes'}).encode(), {}, 404),
    (json.dumps({'image': IDS[0], 'atom': 'On Off(', 'label': 'yes'}).encode(), {}, 404),
    (b' ' * 4097, {}, 413),
    (b'', {'Content_Length': '9' * 5000}, 413),
    (b'', {'Content_Length': '-1'}, 411),
    (b'', {'Content_Length': None}, 411),
    (b'{}', {'Content_Type': 'text/plain'}, 415),
    (b'{}', {'Content_Type': None}, 415)])
def test_malformed_labels_are_refused(server, path, body, headers, status):
    headers = {'Content_Type': 'application/json', 'Content-Length': str(len(body))} | {
        name.replace('_', '-', 1) if name == 'Content_Length' else name: value
        for name, value in headers.items()}
    got, _, content = ask(server, 'label', 'POST', body, **headers)
    assert got == status
    assert json.loads(content)['error']
    assert path.read_bytes() == b''
    assert post(server)[0] == 200


@pytest.mark.parametrize('method', ['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])
def test_other_methods_are_refused(server, method):
    status, headers, body = ask(server, 'label', method)
    assert (status, headers['Allow']) == (405, 'GET, POST')
    assert headers['Content-Security-Policy'].startswith("default-src 'none'")
    assert bool(body) is (method != 'HEAD')
    assert ask(server, 'label', method, token='wrong')[0] == 403
    assert ask(server, 'label', method, Host='evil.example')[0] == 403


@pytest.mark.parametrize(('method', 'where', 'status'), [
    ('GET', 'x' * 70_000, 414), ('BREW', 'label', 501)])
def test_what_is_no_request_is_refused_with_the_headers_of_all_replies(
        server, method, where, status):
    got, headers, body = ask(server, where, method)
    assert got == status and set(json.loads(body)) == {'error'}
    assert headers['Content-Security-Policy'].startswith("default-src 'none'")
    assert headers['X-Content-Type-Options'] == 'nosniff' and 'x' * 100 not in str(body)


def test_a_second_session_of_one_person_is_seen(path):
    with serving(path, three_pictures()) as first, serving(path, three_pictures()) as second:
        post(first, label='yes')
        post(second, label='no')
        (shown, *_), *_ = (i['questions'] for i in json.loads(ask(first, 'session')[2])['images'])
        assert shown['label'] == 'no'
        post(second, label='unclear')
        assert post(first, label='no')[1]['label'] == 'no'  # what it knew before
        assert [label.value for label in read_labels(path)] == [NO]
        assert post(second, atom='clear r')[1]['labelled'] == 2


def test_many_posts_at_once_are_all_written(path):
    recorded = three_pictures()
    with serving(path, recorded) as server:
        replies = []

        def work(number):
            for _ in range(5):
                for value in ('yes', 'no', None):
                    replies.append(post(server, IDS[number % 3],
                                        ('on r,g', 'clear r')[number // 3], value))
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {status for status, _ in replies} == {200}
        assert len(path.read_text().splitlines()) == len(replies) == 90
        assert len(read_labels(path)) == 0


def test_the_same_from_many_at_once_is_written_once(server, path, monkeypatch):
    monkeypatch.setattr(os, 'fsync', lambda number: time.sleep(0.02))
    threads = [threading.Thread(target=post, args=(server,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(path.read_text().splitlines()) == 1


def test_a_label_that_cannot_be_written_is_not_shown_as_saved(server, path):
    os.remove(path)
    status, content = post(server)
    assert status == 500
    assert 'was deleted' in content['error']
    assert not any(q['label'] for image in json.loads(ask(server, 'session')[2])['images']
                   for q in image['questions'])


def test_a_picture_that_has_gone_is_said(path):
    with serving(path, episode(asked(0, {ON: 'yes'}), without=(0,))) as server:
        status, _, body = ask(server, f'pictures/{IDS[0]}')
        assert status == 404
        assert 'holds no picture' in json.loads(body)['error']


def test_a_port_in_use_is_said(server, path, tmp_path):
    with pytest.raises(InputError, match=f'--port {server.server_port}: cannot be used'), \
            serving(tmp_path / 'b', three_pictures(), port=server.server_port):
        pass
