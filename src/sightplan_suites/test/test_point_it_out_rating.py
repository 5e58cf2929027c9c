"""Point-It-Out: the page on which people rate traces, over real HTTP."""

from __future__ import annotations

import http.client
import io
import json
import os

import numpy as np
import pytest
from PIL import Image

from labelling_case import running
from sightplan import cli
from sightplan.model import InfrastructureError, InputError
from sightplan_report.commands import label
from sightplan_suites.point_it_out.agreement import read_ratings
from sightplan_suites.point_it_out.drawing import draw_trace
from sightplan_suites.point_it_out.rating import SCALE, RatingServer, RatingSession
from sightplan_suites.point_it_out.traces import ShownTrace

GREY = np.full((100, 200, 3), 128, np.uint8)


def shown(item, model, load=lambda: GREY):
    return ShownTrace(item, model, f'do {item}', ((0.1, 0.5), (0.9, 0.5)), load)


TRACES = [shown(f's3/{item}', model) for item in range(6) for model in ('a', 'b')]


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'ratings.jsonl'


@pytest.fixture
def server(path):
    with running(RatingServer(RatingSession(TRACES, path, 'ann'))) as found:
        yield found


def ask(server, where, body=None, token=None, **headers):
    """Status, headers and body of a reply."""
    connection = http.client.HTTPConnection('127.0.0.1', server.server_port, timeout=60)
    sent = {'Host': f'127.0.0.1:{server.server_port}'} | {
        name.replace('_', '-'): value for name, value in headers.items()}
    try:
        connection.request('GET' if body is None else 'POST', f'/{token or server.token}/{where}',
                           body, sent)
        reply = connection.getresponse()
        return reply.status, dict(reply.getheaders()), reply.read()
    finally:
        connection.close()


def post(server, content, **headers):
    status, _, body = ask(server, 'rate', json.dumps(content).encode(),
                          **({'Content_Type': 'application/json'} | headers))
    return status, json.loads(body)


def test_page_session_and_pictures_are_served(server):
    for where, kind in (('', 'text/html'), ('rate.css', 'text/css'),
                        ('rate.js', 'text/javascript'), ('session', 'application/json')):
        status, headers, body = ask(server, where)
        assert status == 200 and body and headers['Content-Type'].startswith(kind)
        assert headers['Content-Security-Policy'].startswith("default-src 'none'")
    session = json.loads(ask(server, 'session')[2])
    assert session['who'] == 'ann' and session['scale'] == list(SCALE) and len(SCALE) == 5
    assert len(session['traces']) == 12 and not any(one['score'] for one in session['traces'])
    status, headers, body = ask(server, 'pictures/0')
    assert status == 200 and headers['Content-Type'] == 'image/png'
    text = session['traces'][0]['text']
    assert (np.asarray(Image.open(io.BytesIO(body))) == draw_trace(
        GREY, TRACES[0].points, text)).all()


def test_nobody_is_told_which_model_drew_a_trace(server):
    told = json.loads(ask(server, 'session')[2])
    assert {key for one in told['traces'] for key in one} == {'text', 'score'}


def test_a_rating_is_on_the_disk_when_the_reply_comes(server, path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, 'fsync', lambda number: synced.append(path.read_text()))
    status, reply = post(server, {'number': 3, 'score': 4})
    assert status == 200 and reply == {'number': 3, 'score': 4, 'rated': 1}
    assert len(synced) == 1 and '"score": 4' in synced[0]
    rating, = read_ratings([path]).ratings
    assert (rating.rater, rating.score, rating.judge) == ('ann', 4, False)
    assert json.loads(ask(server, 'session')[2])['traces'][3]['score'] == 4


def test_a_rating_can_be_changed_and_the_last_one_counts(server, path):
    post(server, {'number': 3, 'score': 4})
    assert post(server, {'number': 3, 'score': 2})[1]['rated'] == 1
    assert [one.score for one in read_ratings([path]).ratings] == [2]


def test_a_person_goes_on_where_they_stopped_and_others_have_ratings_of_their_own(path):
    first = RatingSession(TRACES, path, 'ann')
    for number in (0, 5):
        first.rate(number, 3)
    again, other = (RatingSession(TRACES, path, who) for who in ('ann', 'bob'))
    assert again.overview() == first.overview() and again.rated == 2 and other.rated == 0
    assert [one['text'] for one in other.overview()['traces']] != [
        one['text'] for one in first.overview()['traces']]
    other.rate(0, 1)
    assert len(read_ratings([path]).ratings) == 3


def test_a_rating_that_was_cut_off_harms_no_other(path):
    RatingSession(TRACES, path, 'ann').rate(0, 3)
    with path.open('a') as file:
        file.write('{"id": "s3/1", "mod')
    again = RatingSession(TRACES, path, 'ann')
    assert again.rated == 1
    path.write_text(path.read_text().rstrip('\n'))  # by an editor, while the page is open
    again.rate(1, 4)
    assert RatingSession(TRACES, path, 'ann').rated == 2


@pytest.mark.parametrize(('content', 'status'), [
    ({'number': 12, 'score': 3}, 404), ({'number': -1, 'score': 3}, 404),
    ({'number': 0, 'score': 0}, 400), ({'number': 0, 'score': 6}, 400),
    ({'number': 0, 'score': None}, 400), ({'number': 0, 'score': 2.5}, 400),
    ({'number': '0', 'score': 3}, 400), ({'number': 0}, 400), ([], 400), (None, 400),
    ({'number': 0, 'score': 3, 'model': 'a'}, 400)])
def test_wrong_ratings_are_refused(server, path, content, status):
    found, reply = post(server, content)
    assert found == status and reply['error'] and not path.exists()


@pytest.mark.parametrize('headers', [
    {'Host': 'evil.example:80'}, {'Origin': 'http://evil.example'}, {'Content_Type': 'text/plain'},
    {'Sec_Fetch_Site': 'cross-site'}])
def test_other_pages_cannot_rate(server, path, headers):
    status, _ = post(server, {'number': 0, 'score': 3}, **headers)
    assert status in (403, 415) and not path.exists()


@pytest.mark.parametrize('where', [
    'pictures/12', 'pictures/x', 'pictures/-1', 'pictures/', 'pictures/99999999999',
    'pictures/%C2%B2', 'rating.py', '../rating.py', 'page/rate.js', 'label.js'])
def test_nothing_else_is_served(server, where):
    assert ask(server, where)[0] == 404


def test_only_who_has_the_address_is_served(server):
    status, _, body = ask(server, 'session', token='x' * len(server.token))
    assert status == 403 and b'sightplan suite point_it_out rate' in body


def test_a_picture_that_cannot_be_read_is_said(path):
    def gone():
        raise InputError('a.png: is missing')
    with running(RatingServer(RatingSession([shown('s3/0', 'a', gone)], path, 'ann'))) as server:
        status, _, body = ask(server, 'pictures/0')
        assert status == 404 and b'a.png: is missing' in body


def test_a_rating_that_cannot_be_written_is_no_rating(tmp_path):
    session = RatingSession(TRACES, tmp_path / 'none' / 'r.jsonl', 'ann')
    with pytest.raises(InfrastructureError, match='could not be written'):
        session.rate(0, 3)
    assert session.rated == 0


def test_damaged_ratings_are_named(path):
    path.write_text('nonsense\n')
    with pytest.raises(InputError, match=f'{path}:1'):
        RatingSession(TRACES, path, 'ann')


def test_the_command_serves_until_it_is_interrupted(tmp_path, capsys, monkeypatch):
    from point_it_out_cases import predictions, write_data
    data = write_data(tmp_path / 'data', traces=[
        {'image_path': '0_mark_0.25_0.5.png', 'lang': 'move it'}],
        pictures=['images_s3/0_mark_0.25_0.5.png'])
    file = predictions(tmp_path / 'p.jsonl', {
        'id': 's3/0', 'trace': [[16, 24], [60, 40]], 'coordinates': 'pixel_xy', 'model': 'mine'})

    def served(server, browser):
        assert not browser
        assert server.session.rate(0, 5)['rated'] == 1
    monkeypatch.setattr(label, 'serve', served)
    out = tmp_path / 'r.jsonl'
    words = ['suite', 'point_it_out', 'rate', '--data', str(data), '--predictions', str(file),
             '--out', str(out), '--who', 'ann', '--no-browser', '--json']
    assert cli.main(words) == 0
    printed, err = capsys.readouterr()
    assert json.loads(printed)['rated'] == 1 and 'http://127.0.0.1:' in err
    rating, = read_ratings([out]).ratings
    assert (rating.id, rating.model, rating.rater, rating.score) == ('s3/0', 'mine', 'ann', 5)
    assert cli.main([*words, '--who', 'a\nb']) == 2
