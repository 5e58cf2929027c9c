"""A model whose answers are read."""

import numpy as np
import pytest

from sightplan.domains import load_domain
from sightplan.grounding import BackendGrounder
from sightplan.model import Atom, BackendError, InputError, Observation, Question, Verdict
from sightplan.model.query import Deadline, ModelByKind, Traits, answers
from sightplan.queries import Answer, DetectInstances, YesNo, yes_no_queries

LOOK = Observation(np.zeros((2, 2, 3), np.uint8), 5)
QUESTIONS = tuple(Question(Atom('clear', (b,)), f'Is {b} clear?') for b in 'rgb')


class FixedBackend(ModelByKind):
    name = 'fixed 1.0'

    def __init__(self, *replies):
        self.replies, self.requests, self.episodes = list(replies), [], []

    @answers(YesNo, together=True)
    def answer(self, queries, deadline: Deadline):
        self.requests.append((queries, deadline))
        return self.replies

    def start_episode(self, episode_id, split=''):
        self.episodes.append((episode_id, split))


def test_is_a_grounder_and_names_its_model():
    grounder = BackendGrounder(FixedBackend())
    assert {YesNo, DetectInstances} & grounder.accepts == {YesNo}, 'it cannot detect'
    assert grounder.model == 'fixed 1.0'


def test_all_questions_go_out_in_one_request():
    backend = FixedBackend(*[Answer('yes')] * 3)
    BackendGrounder(backend).ground(LOOK, QUESTIONS, 7.0)
    [(queries, deadline)] = backend.requests
    assert tuple(query.question for query in queries) == QUESTIONS and deadline.timeout_s == 7.0
    assert {id(query.observation) for query in queries} == {id(LOOK)}


def test_answers_keep_order_text_and_probabilities():
    backend = FixedBackend(Answer('Yes', .8, .1), Answer('No'), Answer('hm', .2, .3))
    answers = BackendGrounder(backend).ground(LOOK, QUESTIONS)
    assert [a.verdict for a in answers] == [Verdict.YES, Verdict.NO, Verdict.UNPARSED]
    assert [(a.p_yes, a.p_no) for a in answers] == [(.8, .1), (None, None), (.2, .3)]
    assert [a.text for a in answers] == ['Yes', 'No', 'hm']


@pytest.mark.parametrize('text', ['No idea.', 'Yes, no', 'No one can tell.'])
def test_probabilities_of_a_first_word_that_is_no_answer_are_dropped(text):
    backend = FixedBackend(Answer(text, .05, .9), Answer('No', .05, .9),
                           Answer('hm', .05, .9))
    dropped, kept, other = BackendGrounder(backend).ground(LOOK, QUESTIONS)
    assert dropped.verdict.says is None and (dropped.p_yes, dropped.p_no) == (None, None)
    assert kept.p_no == other.p_no == .9


def test_no_questions_cost_no_call():
    backend = FixedBackend()
    assert BackendGrounder(backend).ground(LOOK, ()) == []
    assert not backend.requests


@pytest.mark.parametrize('replies', [[], [Answer('yes')] * 2, [Answer('yes')] * 4])
def test_a_wrong_number_of_replies_is_an_error(replies):
    with pytest.raises(BackendError, match='replies to 3 queries'):
        BackendGrounder(FixedBackend(*replies)).ground(LOOK, QUESTIONS)


@pytest.mark.parametrize('bad', [-.1, 1.1, float('nan'), float('inf')])
@pytest.mark.parametrize('field', ['p_yes', 'p_no'])
def test_an_impossible_probability_is_an_error(field, bad):
    backend = FixedBackend(Answer('yes', **{field: bad}))
    with pytest.raises(BackendError, match=field):
        BackendGrounder(backend).ground(LOOK, QUESTIONS[:1])


def test_an_impossible_probability_costs_its_own_answer_alone():
    """The other replies of the batch are paid for, and stay."""
    good = Answer('yes', .9, .1)
    backend = FixedBackend(good, Answer('yes', float('nan'), .1), Answer('no'))
    with pytest.raises(BackendError, match='p_yes = nan') as caught:
        BackendGrounder(backend).ground(LOOK, QUESTIONS)
    assert caught.value.partial == [good, None, Answer('no')]


class BlocksModel(FixedBackend):
    """A model of blocksworld that knows where the red block is, and nothing else."""

    traits = Traits(domain='blocksworld')

    def __init__(self, fail_at: int = 0) -> None:
        super().__init__()
        self.calls, self.fail_at = 0, fail_at

    @answers(YesNo, together=True)
    def answer(self, queries, deadline):
        self.calls += 1
        if self.calls == self.fail_at:
            raise BackendError('lost')
        place = load_domain('blocksworld').question(Atom('incolumn', ('red', 'c2'))).text
        return [Answer('Yes' if q.question.text == place else 'No') for q in queries]


COVERED = [Question.of_words(f'Does the {colour} block have anything on it?')
           for colour in ('red', 'purple')]


def test_of_a_thing_that_is_not_there_the_opposite_cannot_be_told():
    model = BlocksModel()
    there, not_there = BackendGrounder(model).ground(LOOK, COVERED)
    assert there.verdict is Verdict.YES
    assert (not_there.verdict, not_there.reason, not_there.p_yes) == (
        Verdict.UNKNOWN, 'the purple block is not there', None)
    assert model.calls == 3


@pytest.mark.parametrize(('fail_at', 'left'), [(2, [None, Verdict.UNKNOWN]),
                                               (3, [Verdict.YES, None])])
def test_where_it_cannot_be_asked_whether_a_thing_is_there_other_answers_are_kept(fail_at, left):
    with pytest.raises(BackendError, match='lost') as raised:
        BackendGrounder(BlocksModel(fail_at)).ground(LOOK, COVERED)
    assert [one and one.verdict for one in raised.value.partial] == left


def test_a_refused_question_does_not_cost_the_others_where_the_rest_is_to_be_asked():
    """With keep_going a refused question does not cost the others."""
    questions = [Question.of_words('Is the red block in column 2?'),
                 Question.of_words('Is there an elephant?'),
                 Question.of_words('Is the red block in column 1?')]
    for keep_going, answered in ((False, [None] * 3), (True, [Verdict.YES, None, Verdict.NO])):
        model = BlocksModel()
        with pytest.raises(InputError, match='elephant') as raised:
            BackendGrounder(model).ask(yes_no_queries(LOOK, questions),
                                       Deadline(keep_going=keep_going))
        assert [one and one.verdict for one in raised.value.partial] == answered
        assert model.calls == keep_going


def test_episodes_are_announced_to_backends_that_want_to_know():
    backend = FixedBackend()
    BackendGrounder(backend).start_episode('e1', 'hard')
    assert backend.episodes == [('e1', 'hard')]

    class Plain(ModelByKind):
        name = 'plain'

        @answers(YesNo, together=True)
        def answer(self, request, deadline: Deadline):
            return []
    BackendGrounder(Plain()).start_episode('e1')
