"""The first-load check of a model says what is wrong with it."""

import json
import math
from dataclasses import dataclass, replace

import pytest

from sightplan import cli
from sightplan.commands import doctor_model
from sightplan.model import BackendError, Form, InputError, Region, Usage
from sightplan.model.query import ModelByKind, Traits, answers
from sightplan.queries import Answer, Locate, LocateReply, YesNo


@dataclass
class Eyes:
    """A model that sees colours, and is broken in a way of one's choice."""

    blind: bool = False
    text: str = ''
    factor: float = 1.0
    bare: bool = False
    wrong: bool = False
    lost: str = ''
    fails: str = ''
    alone: float | None = None
    accepts = frozenset({YesNo})
    traits = Traits()
    name = 'eyes@1'
    usage = Usage(4, 100, 4)
    closed = False

    def ask(self, queries, deadline):
        if self.fails:
            raise BackendError(self.fails)
        return [self.reply(query) for query in queries]

    def reply(self, query):
        red, _, blue = query.observation.image[0, 0]
        asked_red = 'red' in query.question.text
        yes = (True if self.blind else bool(red > blue) == asked_red) != self.wrong
        p = (0.9 if yes else 0.05) * self.factor
        text = self.text or ('Yes' if yes else 'No')
        return Answer(text, *(() if self.bare else (p, 0.95 * self.factor - p)))

    def ask_plainly(self, queries):
        if self.alone is None:
            return None
        return [replace(self.reply(query), p_yes=self.reply(query).p_yes + self.alone)
                for query in queries]

    @property
    def pictures_lost(self):
        return self.lost

    @property
    def picture_check(self):
        return 'a picture takes more tokens than none'

    def check_pictures(self):
        pass

    def close(self):
        self.closed = True


def checked(monkeypatch, model):
    monkeypatch.setattr(doctor_model, 'make_backend', lambda name, values: model)
    checks, measured = doctor_model.check_model('openai', {})
    return {check.name: check for check in checks}, measured


def test_a_good_model_passes_and_is_measured(monkeypatch):
    model = Eyes(alone=1e-6)
    checks, measured = checked(monkeypatch, model)
    assert [name for name, check in checks.items() if not check.ok] == []
    assert list(checks) == ['loads', 'answers', 'probabilities', 'pictures', 'sense',
                            'shared = plain', 'seconds', 'memory']
    assert not any(check.remedy for check in checks.values())
    assert (measured['right'], measured['asked'], measured['with_probabilities']) == (4, 4, 4)
    assert measured['shared_gap'] == pytest.approx(1e-6) and measured['mass'] == .95
    assert measured['memory_mib'] > 0 and measured['requests'] == 4 and model.closed
    assert 'red picture: "Is the picture red?" 0.900' in checks['sense'].detail


@pytest.mark.parametrize(('model', 'failed', 'words'), [
    (Eyes(blind=True), {'pictures', 'sense'}, 'do not reach the model'),
    (Eyes(wrong=True), {'sense'}, '0 of 4 answers right'),
    (Eyes(text='<think> Well'), {'answers'}, 'enable_thinking'),
    (Eyes(factor=1e-3), {'probabilities'}, 'means to say something else'),
    (Eyes(factor=math.nan), {'answers'}, 'overflows'),
    (Eyes(factor=1.2), {'answers'}, 'p_yes = 1.08; a probability lies in'),
    (Eyes(factor=1.1), {'probabilities'}, 'no probability'),
    (Eyes(alone=0.3), {'shared = plain'}, 'mechanism=plain'),
    (Eyes(alone=math.nan), {'shared = plain'}, 'mechanism=plain'),
    (Eyes(lost='the server drops pictures; serve another model'), {'pictures'}, 'serve another'),
    (Eyes(fails='no GPU; choose device cpu'), {'answers'}, 'choose device cpu')])
def test_what_is_wrong_is_named(monkeypatch, model, failed, words):
    checks, _ = checked(monkeypatch, model)
    bad = {name: check for name, check in checks.items() if not check.ok}
    assert failed == set(bad) and all(check.remedy for check in bad.values())
    assert any(words in f'{check.detail} {check.remedy}' for check in bad.values())


def test_a_model_without_probabilities_is_judged_by_its_words(monkeypatch):
    checks, measured = checked(monkeypatch, Eyes(bare=True))
    assert all(check.ok for check in checks.values())
    assert 'logprobs' in checks['probabilities'].remedy and measured['with_probabilities'] == 0
    assert not checked(monkeypatch, Eyes(bare=True, blind=True))[0]['pictures'].ok


def test_a_model_that_does_not_load_says_why(monkeypatch):
    def make(name, values):
        raise BackendError('openai: nothing listens there; start the server')
    monkeypatch.setattr(doctor_model, 'make_backend', make)
    loads, memory = doctor_model.check_model('openai', {})[0]
    assert not loads.ok and 'start the server' in loads.detail and memory.ok


def test_the_command_prints_or_returns_it(monkeypatch, capsys):
    monkeypatch.setattr(doctor_model, 'make_backend', lambda name, values: Eyes(blind=True))
    asked = ['doctor', '--backend', 'openai', '--backend-option', 'model=x']
    assert cli.main(asked) == 1
    assert 'FAIL  pictures' in capsys.readouterr().out
    assert cli.main([*asked, '--json']) == 1
    result = json.loads(capsys.readouterr().out)
    assert not result['ok'] and result['measured']['model'] == 'eyes@1'
    assert {check['name'] for check in result['checks']} >= {'loads', 'pictures', 'sense'}


@pytest.mark.parametrize('more', [
    ['--backend-option', 'model=x'], ['--backend', 'openai', '--backend-option', 'modle=x'],
    ['--backend', 'noisy_oracle'], ['--backend', 'transformers']])
def test_bad_usage_is_code_2(more, capsys):
    assert cli.main(['doctor', *more]) == 2
    assert capsys.readouterr().err


@pytest.mark.slow
def test_the_shipped_model_is_asked_about_its_own_pictures():
    pytest.importorskip('sightplan_sim')
    checks, measured = doctor_model.check_model('embedded', {})
    assert all(check.ok for check in checks), checks
    assert measured['right'] > 0.75 * measured['asked'] and measured['shared_gap'] < 1e-5


def test_an_oracle_is_no_model_to_check():
    with pytest.raises(InputError, match='answers from the truth'):
        doctor_model.check_model('noisy_oracle', {})


class Finger(ModelByKind):
    """A model that points at a colour, and answers no questions."""

    name = 'finger@1'

    def __init__(self, reply: LocateReply | None = None) -> None:
        self.given = reply

    @answers(Locate)
    def locate(self, query, deadline):
        if self.given is not None:
            return self.given
        rgb = doctor_model.COLOURS['red' if 'red' in query.target.text else 'blue']
        rows, columns = (query.image == rgb).all(axis=2).nonzero()
        height, width = query.image.shape[:2]
        return LocateReply((Region(Form.POINT, ((columns.mean() / width,
                                                 rows.mean() / height),)),))


@pytest.mark.parametrize(('reply', 'failed', 'words'), [
    (None, set(), '4 of 4 places are on the thing'),
    (LocateReply((Region(Form.POINT, ((0.25, 0.5),)),)), {'pictures', 'sense'}, '2 of 4 places'),
    (LocateReply(), {'answers'}, "of 'the red square': not there"),
    (LocateReply(unread='prose'), {'answers'}, 'unread: prose'),
    (LocateReply(unknown=('square',)), set(), "it does not know 'square'"),
    (LocateReply((Region(Form.POINT, ((80, 112),)),)), {'answers'}, 'divide x by the width')])
def test_a_model_that_only_points_is_asked_for_places(monkeypatch, reply, failed, words):
    monkeypatch.setattr(doctor_model, 'backend_class', lambda name: Finger)
    monkeypatch.setattr(doctor_model, 'check_backend', lambda name, kind: None)
    checks, measured = checked(monkeypatch, Finger(reply))
    assert {name for name, check in checks.items() if not check.ok} == failed
    assert any(words in check.detail for check in checks.values())
    assert measured['model'] == 'finger@1'
