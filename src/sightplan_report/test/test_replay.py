"""Other models' answers to recorded questions: asking, keeping, comparing."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay_doubles import recorded_run, without_truth
from sightplan.grounding import BackendGrounder
from sightplan.metrics import wilson
from sightplan.model import (
    Asked,
    AskPurpose,
    BackendError,
    InputError,
    Usage,
    Verdict,
)
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.queries import Answer, YesNo, yes_no_queries
from sightplan.records.answers_reading import read_answers
from sightplan.replay.answers_store import ANSWERS, NAME, AnswersStore
from sightplan.replay.asking import TODAY, CurrentTruth, PromptNotes, ask_again
from sightplan.replay.batches import Source, Truth, batches, with_batches
from sightplan.replay.comparison import (
    OVERALL,
    Pair,
    agreement,
    answers_of,
    compare,
    flat_rows,
)
from sightplan.vlm.api import make_backend
from sightplan_report.labelling import read_labels

GPT = {'table': 'gpt-4.1'}
GEMMA = {'table': 'gemma-3-27b-it'}


@pytest.fixture(scope='module')
def sources(tmp_path_factory):
    """Three episodes whose answers have the errors of gemma."""
    return recorded_run(tmp_path_factory.mktemp('gemma'), backend_options=GEMMA, seed=4,
                        max_actions=12)


def oracle(options, seed=4):
    truth = CurrentTruth()
    return make_backend('noisy_oracle', {**options, 'seed': seed}, truth), truth


def ask(sources, backend, truth=None, **values):
    return list(ask_again(sources, backend, truth=truth, **values))


def pairs_of(replies, truth=None):
    truth = truth or Truth()
    return [Pair(r.batch.source.key, q.atom.predicate, r.batch.event.purpose.value, old.verdict,
                 new.verdict, truth.holds(r.batch.source, r.batch.event.observation, q.atom))
            for r in replies for q, old, new in zip(
                r.batch.event.questions, r.batch.event.answers, r.answers, strict=True)]


class Eye(ModelByKind):
    """A model that answers from the pixels alone, and counts what it is shown."""

    name = 'eye'
    usage = None

    def __init__(self, fail_after=10**9):
        self.requests = []
        self._left = fail_after

    @answers(YesNo, together=True)
    def answer(self, request, deadline: Deadline):
        self._left -= 1
        if self._left < 0:
            raise BackendError('the server is gone')
        self.requests.append(request)
        light = int(request[0].observation.image.sum())
        return [Answer('Yes' if (light + len(q.question.text)) % 2 else 'No', 0.75, 0.25)
                for q in request]


def test_the_same_model_again_gives_the_same_answers(sources):
    replies = ask(sources, *oracle(GEMMA))
    asked = [batch for source in sources for batch in batches(source)]
    assert [r.batch.key for r in replies] == [batch.key for batch in asked] and asked
    for reply in replies:
        assert reply.answers == reply.batch.event.answers
    found = compare(pairs_of(replies), resamples=100)
    assert any(row['recorded']['accuracy'] < 1. for row in found['predicates'].values())
    for row in [*found['predicates'].values(), found['overall']]:
        assert (row['paired']['only_recorded'], row['paired']['only_new']) == (0, 0)
        assert row['paired']['mcnemar_p'] == 1. and row['paired']['difference']['difference'] == 0.
        assert row['recorded'] == row['new'] and row['agreement']['fraction'] in (1., None)


def test_a_perfect_model_beside_a_faulty_one_counted_by_hand(sources):
    replies = ask(sources, *oracle({'table': 'perfect'}))
    wrong, every, unread = Counter(), Counter(), Counter()
    for source in sources:
        for batch in batches(source):
            state = source.episode.truth.state(batch.event.observation.stamp_ns)
            for question, answer in zip(batch.event.questions, batch.event.answers, strict=True):
                name = question.atom.predicate
                every[name] += 1
                unread[name] += answer.verdict is Verdict.UNPARSED
                wrong[name] += answer.verdict is not (
                    Verdict.YES if question.atom in state else Verdict.NO)
    assert sum(wrong.values()) > 5
    found = compare(pairs_of(replies), resamples=100)
    assert set(found['predicates']) == set(every)
    for name, row in found['predicates'].items():
        assert row['questions'] == row['recorded']['n'] == row['new']['n'] == every[name]
        assert row['recorded']['right'] == every[name] - wrong[name]
        assert row['recorded']['unparsed'] == unread[name]
        assert row['new']['right'] == every[name] and row['new']['accuracy'] == 1.
        assert (row['paired']['only_recorded'], row['paired']['only_new']) == (0, wrong[name])
        # All discordant questions favour one side: p = 2 / 2^n.
        assert row['paired']['mcnemar_p'] == pytest.approx(
            min(1., 2. * .5 ** wrong[name]) if wrong[name] else 1.)
        assert row['paired']['difference']['difference'] == pytest.approx(
            wrong[name] / every[name])
        assert row['paired']['difference']['groups'] <= len(sources)
    assert found['overall']['questions'] == sum(every.values()) == found['with_truth']


def test_without_truth_models_are_compared_by_agreement(sources):
    bare = [without_truth(source) for source in sources]
    eye = Eye()
    found = compare(pairs_of(ask(bare, eye)))
    assert found['with_truth'] == 0 and found['coverage'] == 0.
    assert found['overall']['recorded'] is found['overall']['paired'] is None
    assert 0. < found['overall']['agreement']['fraction'] < 1.
    same = sum(old.verdict is new.verdict for r in ask(bare, Eye())
               for old, new in zip(r.batch.event.answers, r.answers, strict=True))
    assert found['overall']['agreement']['same'] == same
    assert {(r.answers, r.lacks) for r in ask(bare, *oracle(GPT))} == {(None, 'truth')}
    mixed = [bare[0], sources[1]]
    assert [r.lacks for r in ask(mixed, *oracle(GPT))] == [
        *('truth' for _ in batches(bare[0])), *('' for _ in batches(sources[1]))]
    current = CurrentTruth()
    current.use(bare[0].episode)
    with pytest.raises(InputError, match='no ground truth'):
        current.state()


def test_questions_go_out_as_they_were_recorded(sources):
    eye = Eye()
    ask(sources, eye)
    recorded = [batch for source in sources for batch in batches(source)]
    assert [tuple(q.question for q in r) for r in eye.requests] == [
        b.event.questions for b in recorded]
    assert {q.prompt.name for r in eye.requests for q in r} == {'ground'}
    assert all(r[0].observation.image_id == b.event.observation.image_id
               for r, b in zip(eye.requests, recorded, strict=True))


def test_other_wordings_and_changed_prompts(sources):
    def odd(batch):
        questions = [dataclasses.replace(q, text=f'{q.text} Really?')
                     for q in batch.event.questions]
        return dataclasses.replace(
            batch.event, queries=tuple(yes_no_queries(batch.event.observation, questions)),
            prompt='ground@000000000000', memory='')
    old = [with_batches(source, odd) for source in sources]
    notes, eye = PromptNotes(), Eye()
    ask(old, eye, prompts=notes)
    assert all(q.question.text.endswith('Really?') for r in eye.requests for q in r)
    assert list(notes.changed) == ['ground@000000000000']
    assert sources[0].episode.domain.prompt_id('ground') in next(iter(notes.changed.values()))
    eye = Eye()
    ask(old, eye, wording=TODAY)
    assert not any(q.question.text.endswith('Really?') for r in eye.requests for q in r)


def test_the_memory_of_earlier_attempts_is_in_the_prompt(tmp_path):
    sources = recorded_run(tmp_path, method='ground_mem', backend_options=GPT, seed=4,
                           max_actions=12)
    told = [b for s in sources for b in batches(s) if b.event.memory]
    assert told  # else the seed shows nothing
    eye = Eye()
    ask(sources, eye)
    with_memory = [r for r in eye.requests if told[0].event.memory in r[0].prompt.after_image
                   or told[0].event.memory in r[0].prompt.before_image]
    assert with_memory and len(with_memory) < len(eye.requests)


def test_purposes_and_limit(sources):
    only = ask(sources, Eye(), purposes=[AskPurpose.ENUMERATION])
    assert only and all(r.batch.event.purpose is AskPurpose.ENUMERATION for r in only)
    for limit in (1, 2, 5):
        for workers in (1, 3):
            eye = Eye()
            replies = ask(sources, eye, limit=limit, workers=workers)
            shown = {(r.batch.source.key, r.batch.event.observation.image_id) for r in replies}
            assert len(shown) == limit
            whole = [b.key for s in sources for b in batches(s)]
            assert sorted(r.batch.key for r in replies) == sorted(whole[:len(replies)])


def test_several_at_a_time_give_the_same(sources):
    one = {r.batch.key: r.answers for r in ask(sources, Eye())}
    many = {r.batch.key: r.answers for r in ask(sources, Eye(), workers=4)}
    assert one == many


@pytest.mark.parametrize('workers', [1, 4])
def test_what_was_answered_before_a_failure_is_handed_out(sources, workers):
    got = []
    with pytest.raises(BackendError, match='gone'):
        got.extend(ask_again(sources, Eye(fail_after=5), workers=workers))
    assert len(got) == 5


def test_a_missing_image_is_no_answer(sources):
    source = sources[0]
    lost = next(batches(source)).event.observation.image_id
    blind = Source(source.name, dataclasses.replace(source.episode, images={
        k: v for k, v in source.episode.images.items() if k != lost}))
    replies = ask([blind], Eye())
    assert {r.lacks for r in replies} == {'image', ''}
    assert all((r.answers is None) == (r.batch.event.observation.image_id == lost)
               for r in replies)
    # An oracle needs no pixels.
    assert all(r.answers is not None for r in ask([blind], *oracle(GPT)))


def identity(sources):
    return {'bags': {s.name: '0' for s in sources}, 'model': 'x'}


def commit(store, replies, truth=None):
    truth = truth or Truth()
    for r in replies:
        if r.fresh:
            store.append(r.batch, r.questions, r.answers, [truth.holds(
                r.batch.source, r.batch.event.observation, q.atom)
                for q in r.batch.event.questions], 'x', r.prompt, r.seconds)


@pytest.mark.parametrize('kind', ['eye', 'noisy_oracle'])
def test_a_torn_file_is_taken_up_and_ends_as_if_nothing_had_been(sources, tmp_path, kind):
    def model():
        return (Eye(), None) if kind == 'eye' else oracle(GEMMA, seed=7)

    with AnswersStore(tmp_path / 'whole') as store:
        assert store.open(identity(sources)) == {}
        commit(store, ask(sources, *model()))

    def lines(folder):
        return [{k: v for k, v in json.loads(line).items() if k != 'seconds'}
                for line in (folder / ANSWERS).read_text().splitlines()]
    whole = lines(tmp_path / 'whole')
    raw = (tmp_path / 'whole' / ANSWERS).read_bytes()
    rng = random.Random(0)
    for number, cut in enumerate([0, len(raw), *(rng.randrange(len(raw)) for _ in range(12))]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / NAME).write_bytes((tmp_path / 'whole' / NAME).read_bytes())
        (folder / ANSWERS).write_bytes(raw[:cut])
        with AnswersStore(folder) as store:
            done = store.open(identity(sources))
            backend, truth = model()
            replies = ask(sources, backend, truth, done=done)
            assert {r.batch.key for r in replies if not r.fresh} == set(done)
            if kind == 'eye':
                assert len(backend.requests) == sum(r.fresh for r in replies)
            commit(store, replies)
        assert lines(folder) == whole


def test_answers_to_other_questions_are_not_taken_up(sources, tmp_path):
    with AnswersStore(tmp_path) as store:
        store.open(identity(sources))
        commit(store, ask(sources[:1], Eye()))
    with AnswersStore(tmp_path) as store:
        done = store.open(identity(sources))
    first = min(done)
    for wrong in (done[first][1:], (*done[first][1:], done[first][0])):
        for workers in (1, 4):
            with pytest.raises(InputError, match=r'other questions .* another --out'):
                ask(sources, Eye(), done={**done, first: wrong}, workers=workers)


def test_a_damaged_batch_is_asked_again(sources, tmp_path):
    """Lines of a batch are lost in the middle: nothing is put together from two batches."""
    with AnswersStore(tmp_path) as store:
        store.open(identity(sources))
        commit(store, ask(sources, Eye()))
        whole = {r.batch.key: r.answers for r in ask(sources, Eye())}
    lines = (tmp_path / ANSWERS).read_text().splitlines(keepends=True)
    sizes = [json.loads(line)['of'] for line in lines]
    numbers = [json.loads(line)['number'] for line in lines]
    place = next(i for i, n in enumerate(numbers) if n == 1 and sizes[i] > 2 and i > sizes[0])
    for gone in (slice(place, place + 1), slice(place - 1, place),
                 slice(place, place + sizes[place] - 1)):
        kept = lines.copy()
        del kept[gone]
        (tmp_path / ANSWERS).write_text(''.join(kept))
        with AnswersStore(tmp_path) as store:
            done = store.open(identity(sources))
        lost = whole.keys() - done.keys()
        assert len(lost) == 1
        assert {key: [a.verdict for _, a in answers] for key, answers in done.items()} == {
            key: [a.verdict for a in answers] for key, answers in whole.items()
            if key not in lost}


@pytest.mark.parametrize('wrong', [
    {'number': '0'}, {'number': -1}, {'of': 1.0}, {'attempt': None}, {'batch': True}])
def test_a_line_of_a_replay_has_numbers_where_they_belong(tmp_path, wrong):
    entry = {'bag': 'b', 'episode': 'e', 'attempt': 0, 'batch': 0, 'number': 0, 'of': 1,
             'atom': 'on r,g', 'answer': 'yes'}
    for lines, good in (([entry], True), ([{**entry, **wrong}, entry], False)):
        (tmp_path / 'answers.jsonl').write_text(''.join(json.dumps(line) + '\n' for line in lines))
        (tmp_path / 'replay.json').write_text(
            json.dumps({'format': 3, 'identity': {}, 'sessions': []}))
        with AnswersStore(tmp_path) as store, (
                contextlib.nullcontext() if good else pytest.raises(
                    InputError, match=r'answers\.jsonl:1: is not an answer of a replay')):
            assert len(store.open({})) == 1
            assert store.update_truths({('b', 'e', 0, 0): (True,)}) == 1


def test_another_replay_is_not_taken_up(sources, tmp_path):
    with AnswersStore(tmp_path) as store:
        store.open(identity(sources))
        with AnswersStore(tmp_path) as other, pytest.raises(InputError, match='another process'):
            other.open(identity(sources))
    with AnswersStore(tmp_path) as store, pytest.raises(InputError) as caught:
        store.open({**identity(sources), 'model': 'y'})
    assert 'model was "x", now "y"' in str(caught.value) and '--out' in str(caught.value)
    for damaged in ('{', '[' * 100_000):
        (tmp_path / NAME).write_text(damaged)
        with AnswersStore(tmp_path) as store, pytest.raises(InputError, match='damaged'):
            store.open(identity(sources))


def test_an_answer_with_a_number_that_is_none_is_named(sources, tmp_path):
    with AnswersStore(tmp_path) as store:
        store.open(identity(sources))
        commit(store, ask(sources, Eye()))
    text = (tmp_path / ANSWERS).read_text()
    (tmp_path / ANSWERS).write_text(text.replace('"batch": 0', '"batch": 1e999', 1))
    with AnswersStore(tmp_path) as store, pytest.raises(InputError, match=':1: is not an answer'):
        store.open(identity(sources))


def test_calibration_can_learn_from_the_new_answers(sources, tmp_path):
    with AnswersStore(tmp_path) as store:
        store.open(identity(sources))
        commit(store, ask(sources, Eye()))
    answers, actions = read_answers(tmp_path / ANSWERS)
    assert len(answers) == sum(len(b.event.questions) for s in sources for b in batches(s))
    assert not actions and {a.model for a in answers} == {'x'}
    assert {a.questions_sha256 for a in answers} == {sources[0].episode.domain.question_hash}
    assert all(a.truth is not None and a.answer.p_yes == .75 for a in answers)
    assert len({a.problem for a in answers}) == 2 and len({a.episode for a in answers}) == 3


class Said(dict):
    """Labels: (image, atom) to bool."""

    def truth(self, image_id, atom):
        return self.get((image_id, atom))

    def of(self, image_id, atom):
        return {'ann': self[image_id, atom]} if (image_id, atom) in self else {}


@pytest.mark.parametrize('said', [['unclear'], ['yes', 'no'], ['unclear', 'unclear', 'yes']])
def test_labels_that_decide_nothing_leave_no_truth(sources, tmp_path, said):
    source = sources[0]
    batch = next(batches(source))
    look, (first, second, *_) = batch.event.observation, [q.atom for q in batch.event.questions]
    (tmp_path / 'labels.jsonl').write_text(''.join(json.dumps({
        'image': look.image_id, 'atom': str(first), 'label': label, 'who': f'person {number}'})
        + '\n' for number, label in enumerate(said)))
    truth = Truth(read_labels(tmp_path / 'labels.jsonl'))
    assert Truth().holds(source, look, first) is not None
    assert truth.holds(source, look, first) is None and truth.labelled == 0
    assert truth.holds(source, look, second) is Truth().holds(source, look, second)


def test_labels_stand_for_truth_and_win_over_it(sources):
    source = sources[0]
    batch = next(batches(source))
    look, atoms = batch.event.observation, [q.atom for q in batch.event.questions][:4]
    state = source.episode.truth.state(look.stamp_ns)
    said = Said({(look.image_id, atom): atom in state for atom in atoms})
    said[look.image_id, atoms[0]] = atoms[0] not in state  # the person is mistaken, or the bag
    bare = Truth(said)
    found = compare(pairs_of(ask([without_truth(source)], Eye()), bare))
    again = sum(q.atom in atoms for b in batches(source) for q in b.event.questions
                if b.event.observation.image_id == look.image_id)
    assert found['with_truth'] == found['overall']['recorded']['n'] == again
    assert found['coverage'] == again / found['questions'] < 1.
    assert (bare.labelled, bare.compared, bare.disagreements) == (4, 0, [])
    both = Truth(said)
    found = compare(pairs_of(ask([source], Eye()), both))
    assert found['coverage'] == 1. and (both.labelled, both.compared) == (4, 4)
    assert [d[2] for d in both.disagreements] == [atoms[0]]
    assert both.holds(source, look, atoms[0]) is (atoms[0] not in state)


verdicts = st.sampled_from(list(Verdict))


@given(st.lists(st.tuples(verdicts, verdicts, st.sampled_from([True, False, None]),
                          st.sampled_from('ab'), st.sampled_from('xyz'))))
def test_counts_add_up(rows):
    pairs = [Pair(group, name, 'goal', a, b, truth) for a, b, truth, name, group in rows]
    found = compare(pairs, resamples=20)
    known = [p for p in pairs if p.truth is not None]
    assert found['questions'] == len(pairs) == sum(
        row['questions'] for row in found['predicates'].values())
    overall = found['overall']
    if known:
        tp = sum(p.new is Verdict.YES and p.truth for p in known)
        tn = sum(p.new is Verdict.NO and p.truth is False for p in known)
        assert overall['new']['right'] == tp + tn and overall['new']['n'] == len(known)
        paired = overall['paired']
        assert (overall['new']['right'] - overall['recorded']['right']
                == paired['only_new'] - paired['only_recorded'])
        assert paired['difference']['difference'] == pytest.approx(
            overall['new']['accuracy'] - overall['recorded']['accuracy'])
        assert sum(row['new']['right'] for row in found['predicates'].values()
                   if row['new']) == overall['new']['right']
    else:
        assert overall['new'] is overall['paired'] is None
    swapped = agreement([p.new for p in pairs], [p.recorded for p in pairs])
    own = agreement([p.recorded for p in pairs], [p.new for p in pairs])
    assert (own['same'], own['kappa']) == (swapped['same'], pytest.approx(swapped['kappa'])
                                           if swapped['kappa'] is not None else None)
    json.dumps(found, allow_nan=False)
    assert [row['predicate'] for row in flat_rows(found)] == [*found['predicates'], OVERALL]


def test_kappa_and_balanced_accuracy_by_hand():
    yes, no = Verdict.YES, Verdict.NO
    # Cohen's own layout: both yes 20, only first 5, only second 10, both no 15: kappa 0.4.
    first = [yes] * 25 + [no] * 25
    second = [yes] * 20 + [no] * 5 + [yes] * 10 + [no] * 15
    found = agreement(first, second)
    assert found['fraction'] == .7 and found['kappa'] == pytest.approx(.4)
    assert agreement([yes], [yes])['kappa'] is None
    sides = answers_of([yes, yes, no, Verdict.UNPARSED, yes], [True, True, True, True, False])
    assert (sides['right'], sides['unparsed'], sides['true_positive_rate']) == (2, 1, .5)
    assert sides['false_positive_rate'] == 1. and sides['balanced_accuracy'] == .25


def test_answers_of_one_episode_do_not_count_as_independent():
    verdicts = [Verdict.YES] * 30 + [Verdict.NO] * 30
    truths, episodes = [True] * 60, [f'e{k // 10}' for k in range(60)]
    alone = answers_of(verdicts, truths)
    shared = answers_of(verdicts, truths, episodes)
    assert alone['interval95'] == pytest.approx(wilson(30, 60))
    low, high = shared['interval95']
    assert low < wilson(30, 60)[0] - .1 and high > wilson(30, 60)[1] + .1
    assert shared['accuracy'] == alone['accuracy'] == .5
    same = agreement(verdicts, [Verdict.YES] * 60, episodes)
    assert same['interval95'] == pytest.approx([low, high])
    own = [f'e{k}' for k in range(60)]
    assert answers_of(verdicts, truths, own)['interval95'] == alone['interval95']
    assert agreement([Verdict.UNKNOWN], [Verdict.YES], ['e'])['interval95'] == [0., 1.]


def test_what_a_backend_spends_is_added_up(sources):
    class Paid(Eye):
        used = 0

        @property
        def usage(self):
            return Usage(self.used, 10 * self.used, self.used)

        @answers(YesNo, together=True)
        def answer(self, request, deadline: Deadline):
            self.used += 1
            return super().answer(request, deadline)
    backend = Paid()
    assert BackendGrounder(backend).usage == Usage()
    ask(sources, backend)
    assert backend.usage.requests == sum(1 for s in sources for _ in batches(s))


def test_a_batch_says_how_many_actions_came_before(sources):
    for source in sources:
        steps = [batch.step for batch in batches(source)]
        assert steps == sorted(steps) and steps[0] == 0 and steps[-1] > 0
        asked = [e for e in source.episode.events if isinstance(e, Asked)]
        assert len(steps) == len(asked)
