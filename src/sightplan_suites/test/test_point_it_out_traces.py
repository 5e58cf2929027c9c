"""Point-It-Out: traces drawn, judged by models, rated by people."""

from __future__ import annotations

import json

import numpy as np
import pytest

from point_it_out_cases import install_scenes, predictions, write_data
from sightplan import cli
from sightplan.model import InputError, Usage
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.queries import Generate, TextReply
from sightplan.runs import RunSettings, load_suite, run
from sightplan.runs.suite_parts import Unread
from sightplan_suites.point_it_out import agreement, judging, samples, scenes, traces
from sightplan_suites.point_it_out.agreement import Preference, Rating, Ratings
from sightplan_suites.point_it_out.drawing import END, START, STRIP_PX, draw_trace

SUITE = load_suite('point_it_out')
GREY = np.full((100, 200, 3), 128, np.uint8)


# ------------------------------------------------------------------------------------- drawing


def test_a_trace_goes_from_red_to_blue_below_the_task():
    drawn = draw_trace(GREY, [(0.1, 0.5), (0.9, 0.5)], 'push the mug')
    assert drawn.shape == (100 + STRIP_PX, 200, 3) and (GREY == 128).all()
    picture = drawn[STRIP_PX:]
    assert tuple(picture[50, 20]) == START and tuple(picture[50, 180]) == END
    row = picture[50, 30:170].astype(int)
    assert (np.diff(row[:, 0]) <= 0).all() and (np.diff(row[:, 2]) >= 0).all()
    assert tuple(picture[20, 100]) == (128, 128, 128)
    strip = drawn[:STRIP_PX]
    assert (strip == 255).mean() > 0.5 and (strip < 100).any()


def test_the_prompts_say_the_colours_that_are_drawn():
    assert START == (255, 0, 0) and END == (0, 0, 255)
    for name in ('judge', 'judge_pair'):
        text = ' '.join(SUITE.prompt(name).before.split())
        assert 'starts where the line is red' in text or 'it starts where the line is red' in text
        assert 'goes over to blue' in text


def test_a_long_task_gets_a_higher_strip_and_nothing_is_lost():
    drawn = draw_trace(GREY, [(0, 0), (1, 1)], 'move it ' * 40)
    assert drawn.shape[0] > 100 + 2 * STRIP_PX and drawn.shape[1] == 200


@pytest.mark.parametrize('trace', [
    [(0.5, 0.5), (0.5, 0.5)], [(-9, -9), (9, 9)], [(1, 1), (0, 0), (1, 0)], [(0.5, 0.5)] * 50])
def test_odd_traces_are_drawn(trace):
    assert draw_trace(GREY, trace, '').shape == (140, 200, 3)
    assert draw_trace(GREY, trace, 'ünïcødé 杯子').shape[1] == 200


# ------------------------------------------------------------------------------------- judging


@pytest.mark.parametrize(('text', 'score'), [
    ('{"explanation": "fine", "score": 4}', 4), ('```json\n{"score": 5}\n```', 5),
    ('<think>{"score": 1}</think> {"score": 3}', 3), ('I say {"score": "2"}.', 2),
    ('{"score": 4.0}', 4), ('{"score": 4} and so {"score": 4}', 4),
    ('[{"score": 4}]', 4), ("{'score': 4,}  # rather good", 4)])
def test_ratings_are_read(text, score):
    assert judging.read_rating(text).value == score


@pytest.mark.parametrize('text', [
    '', '4', 'score: 4', '{"score": 0}', '{"score": 6}', '{"score": 3.5}', '{"score": true}',
    '{"score": null}', '{"score": "four"}', '{"score": [4]}', '{"rating": 4}', '{"score": 4',
    '{"score": 3} {"score": 4}', '<think>{"score": 4}', '{' * 5000, '{"score": 1e999}',
    '{"score": NaN}', '[4]', '{"score": {"score": 4}}'])
def test_what_is_no_rating_is_unread(text):
    with pytest.raises(Unread) as unread:
        judging.read_rating(text)
    assert str(unread.value)


@pytest.mark.parametrize(('text', 'better'), [
    ('{"better": "A"}', 'A'), ('{"explanation": "x", "better": " b "}', 'B'),
    ('{"better": "C"}', None), ('{"better": ""}', None), ('{"better": "A"} {"better": "B"}', None),
    ('A', None), ('{"better": 1}', None)])
def test_preferences_are_read(text, better):
    if better is None:
        with pytest.raises(Unread):
            judging.read_better(text)
    else:
        assert judging.read_better(text).value == better


class Replies(ModelByKind):
    """A judge that says what it is given, and keeps what it was asked."""

    name = 'the judge'
    usage = Usage()

    def __init__(self, *texts):
        self.texts, self.requests = list(texts), []

    @answers(Generate)
    def generate(self, request, deadline: Deadline):
        self.requests.append(request)
        return TextReply(self.texts[(len(self.requests) - 1) % len(self.texts)])


def shown(item, model):
    return traces.ShownTrace(item, model, 'push it', ((0.1, 0.5), (0.9, 0.5)), lambda: GREY)


def test_a_judge_sees_the_trace_and_is_not_asked_again():
    backend = Replies('{"score": 4, "explanation": "good"}', 'no')
    made = [shown('s3/0', 'a'), shown('s3/1', 'a')]
    found = list(judging.Judge(SUITE, backend, Ratings(())).ratings(made))
    assert [(one.id, one.model, one.rater, one.judge, one.score) for one in found] == [
        ('s3/0', 'a', 'the judge', True, 4), ('s3/1', 'a', 'the judge', True, None)]
    assert found[0].explanation == 'good' and 'JSON' in found[1].unread
    request = backend.requests[0]
    image, = (part for part in request.parts if not isinstance(part, str))
    assert (image == draw_trace(GREY, made[0].points, 'push it')).all()
    more = Replies('{"score": 1}')
    again = judging.Judge(SUITE, more, Ratings(tuple(found)))
    assert [one.id for one in again.ratings([*made, shown('s3/2', 'a')])] == ['s3/2']


def test_pairs_are_shown_in_both_orders():
    backend = Replies('{"better": "A"}')
    made = [shown('s3/0', 'a'), shown('s3/0', 'b'), shown('s3/1', 'a')]
    found = list(judging.Judge(SUITE, backend, Ratings(())).pairs(made))
    assert [(one.models, one.better) for one in found] == [(('a', 'b'), 'a'), (('b', 'a'), 'b')]
    assert len([part for part in backend.requests[0].parts if not isinstance(part, str)]) == 2
    won = agreement.preferred(found)  # whatever stands first wins: nothing is won by that
    assert won['a']['value'] == won['b']['value'] == 0.5
    assert list(judging.Judge(SUITE, backend, Ratings((), tuple(found))).pairs(made)) == []


# ----------------------------------------------------------------------------------- agreement


def rated(item, model, *scores, judge=False):
    return [Rating(id=item, model=model, rater=f'{"judge" if judge else "person"} {number}',
                   judge=judge, score=score) for number, score in enumerate(scores)]


def summary(*ratings, **more):
    return agreement.summarise(Ratings(tuple(one for part in ratings for one in part)), **more)


def test_four_of_five_people_agree_by_hand():
    found = summary(rated('s3/0', 'a', 4, 4, 4, 4, 4), rated('s3/1', 'a', 4, 4, 4, 4, 1),
                    rated('s3/2', 'a', 4, 4, 4, 1, 1), rated('s3/3', 'a', 1, 2, 3, 4, 5),
                    rated('s3/4', 'a', 4, 4, 4, 4), rated('s3/5', 'a', 4, 4, 4, 4, 4, 1))
    assert found['agreement']['value'] == 0.5 and found['agreement']['n'] == 4
    low, high = found['agreement']['interval95']
    assert low < 0.5 < high
    assert summary(rated('s3/0', 'a', 3, 3, 1), raters=3, alike=2)['agreement']['value'] == 1.0
    assert summary()['agreement'] == {'value': None, 'interval95': None, 'n': 0}


def test_means_are_over_traces_and_not_over_ratings():
    found = summary(rated('s3/0', 'a', 5, 5, 5, 5), rated('s3/1', 'a', 1),
                    rated('s3/1', 'a', 2, judge=True))
    assert found['models']['a'] == {'people': {'mean': 3.0, 'traces': 2},
                                    'judge': {'mean': 2.0, 'traces': 1}}


def test_a_judge_that_picks_the_best_and_the_worst_by_hand():
    people = [rated('s3/0', 'a', 5, 4), rated('s3/0', 'b', 3, 3), rated('s3/0', 'c', 1, 2),
              rated('s3/1', 'a', 1, 1), rated('s3/1', 'b', 5, 5), rated('s3/1', 'c', 3, 3)]
    judge = [rated('s3/0', 'a', 5, judge=True), rated('s3/0', 'b', 1, judge=True),
             rated('s3/0', 'c', 2, judge=True), rated('s3/1', 'a', 1, judge=True),
             rated('s3/1', 'b', 4, judge=True), rated('s3/1', 'c', 2, judge=True)]
    found = summary(*people, *judge)
    assert found['picks_best']['value'] == 1.0 and found['picks_worst']['value'] == 0.5
    assert found['picks_best']['n'] == found['picks_worst']['n'] == 2


def test_a_judge_that_finds_all_alike_picks_by_chance():
    people = [rated('s3/0', 'a', 5), rated('s3/0', 'b', 1), rated('s3/0', 'c', 3)]
    judge = [rated('s3/0', model, 3, judge=True) for model in 'abc']
    found = summary(*people, *judge)['picks_best']
    assert found['value'] == pytest.approx(1 / 3) and found['interval95'] is None


def test_items_that_tell_nothing_do_not_count():
    alike = [rated('s3/0', 'a', 3), rated('s3/0', 'b', 3), rated('s3/0', 'a', 1, judge=True),
             rated('s3/0', 'b', 5, judge=True)]
    alone = [rated('s3/1', 'a', 3), rated('s3/1', 'a', 3, judge=True)]
    unread = [rated('s3/2', 'a', 3), rated('s3/2', 'b', 1), rated('s3/2', 'a', 5, judge=True),
              rated('s3/2', 'b', None, judge=True)]
    found = summary(*alike, *alone, *unread)
    assert found['picks_best']['n'] == 0 and found['unread'] == 1


def test_a_later_rating_takes_the_place_of_an_earlier_one(tmp_path):
    path = tmp_path / 'r.jsonl'
    lines = [{'id': 's3/0', 'model': 'a', 'rater': 'ann', 'score': score} for score in (1, 5)]
    lines.append({'id': 's3/0', 'models': ['a', 'b'], 'rater': 'j', 'better': 'b'})
    path.write_text('\n'.join(map(json.dumps, lines)))
    found = agreement.read_ratings([path])
    assert [one.score for one in found.ratings] == [5]
    assert found.preferences == (Preference(id='s3/0', models=('a', 'b'), rater='j', better='b'),)


@pytest.mark.parametrize('line', [
    'nonsense', '3', '{"id": "s3/0", "model": "a", "rater": "x", "score": 6}', '\xff',
    '{"id": "s3/0", "model": "a", "rater": "x", "score": 3.5}',
    '{"id": "s3/0", "models": ["a", "b"], "rater": "x", "better": "c"}', '{"better": 3}'])
def test_wrong_ratings_are_named(tmp_path, line):
    path = tmp_path / 'r.jsonl'
    path.write_text(f'\n{line}\n', 'latin1')
    with pytest.raises(InputError, match=f'{path}:2'):
        agreement.read_ratings([path])


# ------------------------------------------------------------------------------------ commands


@pytest.fixture
def drawn(monkeypatch):
    install_scenes(monkeypatch)
    yield
    samples._drawn.cache_clear()
    scenes._scene_source.cache_clear()


def command(capsys, *words):
    capsys.readouterr()
    code = cli.main(['suite', 'point_it_out', *map(str, words), '--json'])
    out, err = capsys.readouterr()
    return code, json.loads(out.splitlines()[-1]) if out else {}, err


def test_runs_are_judged_and_compared_with_people(drawn, tmp_path, capsys):
    for method in ('oracle', 'random'):
        run(RunSettings(suite='point_it_out', method=method, split='s3', seed=3,
                        out=str(tmp_path / method), suite_options={'count': 3}))
    runs = ('--run', tmp_path / 'oracle', '--run', tmp_path / 'random')
    script, out = tmp_path / 'script.json', tmp_path / 'judge.jsonl'
    script.write_text(json.dumps({'replies': ['{"score": 5}'] * 3 + ['{"score": 2}'] * 2 + ['?']}))
    judge = ('judge', *runs, '--backend', 'scripted', '--backend-option', f'script={script}',
             '--out', out)
    code, found, _ = command(capsys, *judge)
    assert code == 0 and found['judgements'] == 6 and found['unread'] == 1
    assert command(capsys, *judge)[1]['judgements'] == 0  # all is there
    people = tmp_path / 'people.jsonl'
    people.write_text(''.join(json.dumps({
        'id': f's3/{item}', 'model': model, 'rater': f'person {rater}', 'score': score}) + '\n'
        for item in range(3) for model, score in (('oracle', 4), ('random', 1))
        for rater in range(5)))
    code, found, _ = command(capsys, 'agreement', people, out)
    assert code == 0 and found['agreement']['value'] == 1.0 and found['agreement']['n'] == 6
    assert found['models']['oracle']['judge'] == {'mean': 5.0, 'traces': 3, 'published': None}
    assert found['picks_best']['value'] == found['picks_worst']['value'] == 1.0
    assert found['picks_best']['n'] == 2 and found['unread'] == 1
    assert [found[name]['published'] for name in ('agreement', 'picks_best', 'picks_worst')] == [
        0.82, 0.76, 0.84]
    code, found, _ = command(capsys, 'agreement', people, out, '--alike', 3)
    assert code == 0 and found['agreement']['published'] is None  # appendix G has four of five
    script.write_text(json.dumps({'replies': ['{"better": "B"}'] * 6}))
    pairs = (*judge[:-1], tmp_path / 'pairs.jsonl', '--pairs')
    assert command(capsys, *pairs)[1]['judgements'] == 6
    code, found, _ = command(capsys, 'agreement', tmp_path / 'pairs.jsonl')
    assert code == 0 and found['preferences']['oracle']['n'] == 6


def test_files_of_predictions_are_judged(tmp_path, capsys):
    data = write_data(tmp_path / 'data', traces=[
        {'image_path': '0_mark_0.25_0.5.png', 'lang': 'move it'}],
        pictures=['images_s3/0_mark_0.25_0.5.png'])
    path = predictions(
        tmp_path / 'p.jsonl', {'id': 's3/0', 'trace': [[16, 24], [60, 40]],
                               'coordinates': 'pixel_xy', 'model': 'gpt-o3'},
        {'id': 's3/9', 'trace': [[1, 2], [3, 4]], 'coordinates': 'pixel_xy'})
    script, out = tmp_path / 'script.json', tmp_path / 'judge.jsonl'
    script.write_text(json.dumps({'replies': ['{"score": 3}']}))
    code, found, _ = command(capsys, 'judge', '--data', data, '--predictions', path, '--backend',
                             'scripted', '--backend-option', f'script={script}', '--out', out)
    assert code == 0 and found['judgements'] == 1
    code, found, _ = command(capsys, 'agreement', out)
    assert found['models']['gpt-o3']['judge'] == {'mean': 3.0, 'traces': 1, 'published': 2.45}
    assert found['models']['gpt-o3']['people']['published'] == 3.20


def test_traces_must_be_named_once(drawn, tmp_path, capsys):
    run(RunSettings(suite='point_it_out', method='random', split='all', out=str(tmp_path / 'run'),
                    suite_options={'count': 2}))
    where = ('--run', tmp_path / 'run')
    more = ('--backend', 'scripted', '--out', tmp_path / 'out')
    assert len(traces.traces_of_runs([tmp_path / 'run'])) == 2
    for words, said in (((), 'name runs'), ((*where, '--data', 'x'), 'name runs'),
                        (('--predictions', 'x'), 'name runs'), ((*where, *where), 'two traces')):
        code, _, err = command(capsys, 'judge', *words, *more)
        assert code == 2 and said in err
    run(RunSettings(suite='point_it_out', method='random', split='s1', out=str(tmp_path / 's1'),
                    suite_options={'count': 2}))
    code, _, err = command(capsys, 'judge', '--run', tmp_path / 's1', *more)
    assert code == 2 and 'not one trace' in err


def test_traces_are_not_shown_on_other_data(drawn, tmp_path):
    data = tmp_path / 'data'
    samples.generate(data, 2, 0)
    run(RunSettings(suite='point_it_out', method='random', split='s3', out=str(tmp_path / 'run'),
                    suite_options={'data': str(data)}))
    entries = json.loads((data / 's3.json').read_text())
    (data / 's3.json').write_text(json.dumps(entries[::-1]))
    with pytest.raises(InputError, match='not those'):
        traces.traces_of_runs([tmp_path / 'run'])
