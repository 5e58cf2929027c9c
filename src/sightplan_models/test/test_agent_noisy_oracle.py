"""The noisy oracle: rates, persistence, determinism, tables."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.domains import load_domain
from sightplan.model import (
    Atom,
    BackendError,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    TruthSource,
    Verdict,
)
from sightplan.model.query import ask_all
from sightplan.queries import yes_no_queries
from sightplan.vlm.api import backend_names, backend_settings, make_backend, resolved_options
from sightplan_models._confusion import load_table, table_names

CLEAR = [Atom('clear', (f'b{i}',)) for i in range(2000)]


class FixedTruth:
    """The same atoms are true for ever, until ``true`` is changed."""

    def __init__(self, true=()):
        self.true = frozenset(true)

    def state(self, stamp_ns=None):
        return self.true

    def last_outcome(self):
        return ''


def look(number):
    pixels = np.full((1, 1, 3), 0, np.uint8)
    pixels[0, 0] = (number // 65536, number // 256 % 256, number % 256)
    return Observation(pixels, number)


def ask(backend, atoms, image=1):
    request = yes_no_queries(look(image), tuple(Question(a, str(a)) for a in atoms))
    return [reply.text for reply in ask_all(backend, request)]


def table_file(tmp_path, **rates):
    path = tmp_path / 'table.json'
    path.write_text(json.dumps({'rates': rates}))
    return str(path)


def noisy(tmp_path, truth, p_yes_true=.9, p_yes_false=.2, p_unparsed=0., **settings):
    table = table_file(tmp_path, clear={
        'p_yes_true': p_yes_true, 'p_yes_false': p_yes_false, 'p_unparsed': p_unparsed})
    return make_backend('noisy_oracle', {'table': table, **settings}, truth)


def test_it_is_a_backend_that_must_be_given_truth():
    assert 'noisy_oracle' in backend_names()
    assert not [name for name in backend_names() if name.startswith('_')]
    assert isinstance(FixedTruth(), TruthSource)
    with pytest.raises(InputError, match='ground truth'):
        make_backend('noisy_oracle')


def test_the_perfect_table_makes_no_error_and_claims_no_probability():
    backend = make_backend('noisy_oracle', {}, FixedTruth(CLEAR[:5]))
    assert ask(backend, CLEAR[:10]) == ['Yes'] * 5 + ['No'] * 5
    request = yes_no_queries(look(1), (Question(CLEAR[0], ''),))
    assert (ask_all(backend, request)[0].p_yes, ask_all(backend, request)[0].p_no) == (None, None)


@pytest.mark.parametrize(('true', 'wanted'), [(True, .9), (False, .2)])
def test_first_answers_follow_the_table(tmp_path, true, wanted):
    backend = noisy(tmp_path, FixedTruth(CLEAR if true else ()))
    fraction = ask(backend, CLEAR).count('Yes') / len(CLEAR)
    assert fraction == pytest.approx(wanted, abs=.035)


@pytest.mark.parametrize(('repeat', 'error'), [(0., .2), (.45, .05), (.45, .2), (.9, .2),
                                               (.45, .7)])
def test_errors_repeat_as_set_and_their_fraction_stays_that_of_the_table(tmp_path, repeat, error):
    backend = noisy(tmp_path, FixedTruth(), p_yes_false=error, repeat=repeat)
    rounds = [[text == 'Yes' for text in ask(backend, CLEAR, image)] for image in range(1, 7)]
    for answers in rounds:
        assert sum(answers) / len(answers) == pytest.approx(error, abs=.045)
    wrong = again = 0
    for before, after in itertools.pairwise(rounds):
        wrong += sum(before)
        again += sum(b and a for b, a in zip(before, after, strict=True))
    # Errors never avoid each other: independence (fraction = error) is the least persistence.
    assert again / wrong == pytest.approx(max(repeat, error), abs=.09)


def test_the_same_image_gets_the_same_answers(tmp_path):
    backend = noisy(tmp_path, FixedTruth(CLEAR[:500]), p_yes_true=.8, p_yes_false=.2, repeat=.9)
    first = ask(backend, CLEAR[:1000], image=1)
    other = ask(backend, CLEAR[:1000], image=2)
    assert first != other
    assert ask(backend, CLEAR[:1000], image=1) == first
    assert ask(backend, CLEAR[:1000], image=2) == other


def test_the_order_and_grouping_of_questions_about_an_image_do_not_matter(tmp_path):
    truth = FixedTruth(CLEAR[:500])
    one, two = (noisy(tmp_path, truth, p_yes_true=.6, p_yes_false=.4) for _ in range(2))
    for image in (1, 2, 3):
        forward = ask(one, CLEAR[:200], image)
        backward = [ask(two, [atom], image)[0] for atom in reversed(CLEAR[:200])]
        assert forward == backward[::-1]


def test_a_changed_truth_is_drawn_afresh(tmp_path):
    truth = FixedTruth()
    backend = noisy(tmp_path, truth, p_yes_true=.7, p_yes_false=.3, repeat=1.)
    before = [text == 'Yes' for text in ask(backend, CLEAR, 1)]
    truth.true = frozenset(CLEAR)
    after = [text == 'No' for text in ask(backend, CLEAR, 2)]
    both = sum(b and a for b, a in zip(before, after, strict=True)) / sum(before)
    assert both == pytest.approx(.3, abs=.04)


def test_seed_and_episode_change_the_errors_and_nothing_else_does(tmp_path):
    def answers(seed=0, episode='e1'):
        backend = noisy(tmp_path, FixedTruth(), p_yes_false=.5, seed=seed)
        backend.start_episode(episode)
        return ask(backend, CLEAR[:300])
    assert answers() == answers()
    assert answers() != answers(seed=1)
    assert answers() != answers(episode='e2')


def test_errors_are_those_of_answers_with_reasons_where_they_are_asked_for():
    """A chain of thought costs this model most of its readable answers about columns."""
    atoms = [Atom('leftof', (f'c{i}', 'c0')) for i in range(200)]

    def unread(cot, reasoning):
        backend = make_backend('noisy_oracle', {'table': 'Phi-4-multimodal-instruct', 'cot': cot,
                                                'split': 'simple'}, FixedTruth())
        request = yes_no_queries(look(1), tuple(Question(a, '') for a in atoms),
                                 GroundingPrompt(reasoning=reasoning))
        return sum('cannot be read' in reply.text for reply in ask_all(backend, request))
    assert (unread('auto', True), unread('auto', False)) == (unread('yes', False),
                                                             unread('no', True))
    assert unread('yes', True) == 200 > unread('no', False)


def test_the_same_image_can_be_asked_about_in_both_ways():
    backend, plain, cot = (make_backend('noisy_oracle', {'table': 'gemma-3-12b-it', 'cot': kind},
                                        FixedTruth()) for kind in ('auto', 'no', 'yes'))
    questions = tuple(Question(Atom('on', (f'b{i}', 'b0')), '') for i in range(300))
    for image in (1, 2):
        for reasoning, alone in ((False, plain), (True, cot)):
            request = yes_no_queries(look(image), questions, GroundingPrompt(reasoning=reasoning))
            assert ask_all(backend, request) == ask_all(alone, request)
    assert ask_all(plain, request) != ask_all(cot, request)


def test_a_models_name_tells_the_kind_of_its_errors(tmp_path):
    def name(table, **options):
        return make_backend('noisy_oracle', {'table': table, **options}, FixedTruth()).name
    assert name('gpt-4.1', cot='no') == 'noisy_oracle(gpt-4.1/plain, repeat 0.45, seed 0)'
    assert name('gpt-4.1', cot='yes') == 'noisy_oracle(gpt-4.1/cot, repeat 0.45, seed 0)'
    assert name('gpt-4.1') == 'noisy_oracle(gpt-4.1/as asked, repeat 0.45, seed 0)'
    assert name('gpt-4.1', pseudo_count=.5).startswith('noisy_oracle(gpt-4.1/as asked+0.5,')
    mine = table_file(tmp_path, clear={'p_yes_true': 1., 'p_yes_false': 0.})
    for table in ('perfect', mine):  # one kind of rates serves for both
        assert len({name(table, cot=cot) for cot in ('auto', 'yes', 'no')}) == 1


@pytest.mark.parametrize(('given', 'meant'), [
    (True, 'yes'), (False, 'no'), ('true', 'yes'), ('False', 'no'), ('auto', 'auto')])
def test_yes_and_no_may_have_been_read_as_truth_values(given, meant):
    assert backend_settings('noisy_oracle', {'cot': given}).cot == meant


@pytest.mark.parametrize('cot', ['maybe', 1, None])
def test_another_kind_of_errors_is_refused(cot):
    with pytest.raises(InputError, match='backend noisy_oracle: cot = .* must be'):
        backend_settings('noisy_oracle', {'cot': cot})


def test_a_new_episode_forgets_the_history(tmp_path):
    fresh, used = (noisy(tmp_path, FixedTruth(), p_yes_false=.5, repeat=1.) for _ in range(2))
    used.start_episode('e1')
    ask(used, CLEAR[:300], 1)
    for backend in (fresh, used):
        backend.start_episode('e2')
    assert ask(used, CLEAR[:300], 2) == ask(fresh, CLEAR[:300], 2)


def test_a_truth_source_that_names_its_episode_starts_them_by_itself(tmp_path):
    class Named(FixedTruth):
        episode_id = 'e1'
    truth = Named()
    backend = noisy(tmp_path, truth, p_yes_false=.5, repeat=1.)
    first = ask(backend, CLEAR[:300], 1)
    truth.episode_id = 'e2'
    assert ask(backend, CLEAR[:300], 1) != first


def test_without_an_image_the_stamp_tells_looks_apart(tmp_path):
    backend = noisy(tmp_path, FixedTruth(), p_yes_false=.5, repeat=0.)
    questions = tuple(Question(a, '') for a in CLEAR[:300])

    def texts(stamp):
        request = yes_no_queries(Observation(stamp_ns=stamp), questions)
        return [reply.text for reply in ask_all(backend, request)]
    assert texts(1) == texts(1)
    assert texts(1) != texts(2)


def test_unreadable_answers_have_their_fraction_and_cannot_be_read(tmp_path):
    from sightplan.grounding import parse_yes_no
    from sightplan.model import Verdict
    backend = noisy(tmp_path, FixedTruth(), p_unparsed=.25)
    verdicts = [parse_yes_no(text) for text in ask(backend, CLEAR)]
    assert verdicts.count(Verdict.UNPARSED) / len(CLEAR) == pytest.approx(.25, abs=.03)


UNKNOWN_RATES = {'p_yes_true': .9, 'p_yes_false': .3, 'p_unknown_true': .4, 'p_unknown_false': .2}


def ask_offering(backend, atoms, image=1,
                 unknown=True):
    request = yes_no_queries(look(image), tuple(Question(a, str(a)) for a in atoms),
                             GroundingPrompt(unknown=unknown))
    return [reply.text for reply in ask_all(backend, request)]


@pytest.mark.parametrize(('true', 'rate', 'yes'), [(True, .4, .9), (False, .2, .3)])
def test_unknown_has_its_fraction_and_leaves_the_others_theirs(tmp_path, true, rate, yes):
    from sightplan.grounding import parse_yes_no
    from sightplan.model import Verdict
    backend = make_backend('noisy_oracle', {'table': table_file(tmp_path, clear=UNKNOWN_RATES)},
                           FixedTruth(CLEAR if true else ()))
    said = [parse_yes_no(text) for text in ask_offering(backend, CLEAR)]
    assert said.count(Verdict.UNKNOWN) / len(CLEAR) == pytest.approx(rate, abs=.04)
    assert said.count(Verdict.YES) / (len(CLEAR) - said.count(Verdict.UNKNOWN)) == pytest.approx(
        yes, abs=.04)


def test_unknown_is_said_only_where_it_is_offered_and_by_the_table(tmp_path):
    table = table_file(tmp_path, clear=UNKNOWN_RATES)
    backend = make_backend('noisy_oracle', {'table': table}, FixedTruth())
    assert 'Unknown' in ask_offering(backend, CLEAR[:100])
    plain = ask_offering(backend, CLEAR[:100], unknown=False)
    assert 'Unknown' not in plain
    assert plain == ask(make_backend('noisy_oracle', {'table': table}, FixedTruth()), CLEAR[:100])
    assert 'Unknown' not in ask_offering(noisy(tmp_path, FixedTruth()), CLEAR[:100])


def test_unknown_persists_as_errors_do(tmp_path):
    backend = make_backend('noisy_oracle', {
        'table': table_file(tmp_path, clear=UNKNOWN_RATES), 'repeat': .7}, FixedTruth())
    before, after = ([text == 'Unknown' for text in ask_offering(backend, CLEAR, image)]
                     for image in (1, 2))
    both = sum(b and a for b, a in zip(before, after, strict=True))
    assert both / sum(before) == pytest.approx(.7, abs=.08)
    assert sum(after) / len(after) == pytest.approx(.2, abs=.04)


def test_an_unknown_predicate_is_an_input_error_that_names_it(tmp_path):
    backend = noisy(tmp_path, FixedTruth())
    with pytest.raises(InputError, match="'holding'.*clear"):
        ask(backend, [Atom('holding', ('x',))])


def test_a_question_in_words_whose_answer_no_truth_tells_is_refused():
    class Knowing(FixedTruth):
        known_words = frozenset({Question.of_words('Is it day?').atom})

    def asked(truth, text):
        request = yes_no_queries(look(1), (Question.of_words(text),))
        return ask_all(make_backend('noisy_oracle', {}, truth), request)[0].text

    with pytest.raises(InputError, match='Is it day'):
        asked(FixedTruth(CLEAR), 'Is it day?')
    assert asked(Knowing(Knowing.known_words), 'Is it day?') == 'Yes'
    assert asked(Knowing(), 'Is it day?') == 'No'
    with pytest.raises(InputError, match='Is it night'):
        asked(Knowing(), 'Is it night?')


def test_truth_is_looked_up_at_the_time_of_the_image(tmp_path):
    stamps = []

    class Past(FixedTruth):
        def state(self, stamp_ns=None):
            stamps.append(stamp_ns)
            if stamp_ns == 7:
                raise BackendError('none')
            return frozenset()
    backend = noisy(tmp_path, Past())
    ask(backend, CLEAR[:1], image=6)
    assert stamps == [6]


# Errors that hang together

THINGS = [Atom('clear', (f'b{i}',)) for i in range(4)]
PAIRS = [Atom('on', ('b0', 'b1')), Atom('on', ('b0', 'b2')), Atom('on', ('b3', 'b4'))]


def errors_on_pictures(tmp_path, atoms, pictures=3000, error=.3, episodes=True, **settings):
    """(pictures, atoms) whether the answer about a false atom was wrong."""
    table = table_file(tmp_path, default={'p_yes_true': .9, 'p_yes_false': error})
    backend = make_backend('noisy_oracle', {'table': table, **settings}, FixedTruth())
    rows = []
    for number in range(pictures):
        if episodes:
            backend.start_episode(f'e{number}')
        rows.append([text == 'Yes' for text in ask(backend, atoms, number)])
    return np.array(rows, float)


@pytest.mark.parametrize('together', [.3, 1.])
def test_errors_that_hang_together_have_the_tables_rates(tmp_path, together):
    atoms = [*THINGS, *PAIRS, Atom('handempty', ())]
    wrong = errors_on_pictures(tmp_path, atoms, together=together)
    assert wrong.mean(0) == pytest.approx(np.full(len(atoms), .3), abs=.035)


def test_errors_about_a_common_thing_hang_together_most(tmp_path):
    wrong = errors_on_pictures(tmp_path, [*THINGS, *PAIRS], together=.6)
    found = np.corrcoef(wrong.T)
    common = [found[0, 4], found[0, 5], found[1, 4], found[2, 5], found[3, 6], found[4, 5]]
    apart = [found[0, 1], found[2, 3], found[4, 6], found[0, 6]]
    assert min(common) > .1 > max(apart)
    assert np.mean(apart) > 0.03
    independent = np.corrcoef(errors_on_pictures(tmp_path, [*THINGS, *PAIRS]).T)
    assert abs(independent - np.eye(7)).max() < .07


def test_errors_that_hang_together_persist_as_others_do(tmp_path):
    wrong = errors_on_pictures(tmp_path, [*THINGS, *PAIRS], error=.2, episodes=False,
                               together=.5, repeat=.6)
    assert wrong.mean() == pytest.approx(.2, abs=.03)
    before, after = wrong[:-1], wrong[1:]
    assert (before * after).sum() / before.sum() == pytest.approx(.6, abs=.05)


def test_the_order_of_questions_does_not_matter_where_errors_hang_together(tmp_path):
    table = table_file(tmp_path, default={'p_yes_true': .9, 'p_yes_false': .4})
    one, two = (make_backend('noisy_oracle', {'table': table, 'together': .5}, FixedTruth())
                for _ in range(2))
    atoms = [*THINGS, *PAIRS]
    for image in (1, 2, 3):
        assert ask(one, atoms, image) == ask(two, atoms[::-1], image)[::-1]


def test_a_domain_says_how_errors_hang_together():
    def resolved(domain, **options):
        return resolved_options('noisy_oracle', options, 0, domain=load_domain(domain))
    assert resolved('household')['together'] == load_domain('household').errors_together > 0.
    assert resolved('blocksworld')['together'] == 0.
    assert resolved('household', together=0.)['together'] == 0.
    assert 'together' not in resolved_options('noisy_oracle', {}, 0)
    names = [make_backend('noisy_oracle', resolved('household', **options), FixedTruth()).name
             for options in ({}, {'together': 0.})]
    assert names == ['noisy_oracle(perfect, repeat 0.45, together 0.3, seed 0)',
                     'noisy_oracle(perfect, repeat 0.45, seed 0)']


@given(fraction=st.floats(0, 1), repeat=st.floats(0, 1))
def test_the_chance_of_an_error_is_a_probability_and_keeps_its_fraction(fraction, repeat):
    backend = make_backend('noisy_oracle', {'repeat': repeat}, FixedTruth())
    stay, turn = backend._chance(fraction, True), backend._chance(fraction, False)
    assert 0. <= turn <= 1. and 0. <= stay <= 1.
    assert fraction * stay + (1. - fraction) * turn == pytest.approx(fraction)


# Tables

def test_sixteen_models_come_with_the_package_with_both_domains_predicates():
    names = table_names()
    assert len(names) == 17 and names[0] == 'perfect'
    for name in names:
        for cot in (False, True):
            table = load_table(name, cot)
            for split in ('simple', 'medium', 'hard', 'another'):
                for predicate in ('on', 'clear', 'incolumn', 'leftof', 'rightof', 'holding',
                                  'inside', 'nextto', 'ontop', 'open', 'reachable'):
                    rates = table.rates(split, predicate)
                    assert 0. <= rates.unparsed <= 1.


def test_a_known_cell():
    rates = load_table('InternVL3-78B').rates('hard', 'clear')
    assert rates.error_true == pytest.approx(1 - .9878)
    assert rates.error_false == 0.
    assert rates.unparsed == 0.


def test_names_fold_case_and_cot_is_another_table():
    assert load_table('GPT-4.1').name == 'gpt-4.1/plain'
    assert load_table('gpt-4.1', cot=True).name == 'gpt-4.1/cot'
    plain, cot = (load_table('gpt-4.1', mode).rates('hard', 'on') for mode in (False, True))
    assert plain != cot


def test_unknown_splits_get_the_mean_weighted_by_the_number_of_answers(tmp_path):
    path = tmp_path / 't.json'
    path.write_text(json.dumps({'splits': {
        'a': {'on': {'p_yes_true': 1., 'p_yes_false': 0., 'n_true': 30, 'n_false': 10}},
        'b': {'on': {'p_yes_true': .6, 'p_yes_false': .4, 'n_true': 10, 'n_false': 30}}}}))
    rates = load_table(str(path)).rates('c', 'on')
    assert rates.error_true == pytest.approx(.1)
    assert rates.error_false == pytest.approx(.3)


def test_the_episodes_split_chooses_the_row(tmp_path):
    path = tmp_path / 't.json'
    path.write_text(json.dumps({'splits': {
        'a': {'clear': {'p_yes_true': 1., 'p_yes_false': 0.}},
        'b': {'clear': {'p_yes_true': 1., 'p_yes_false': 1.}}}}))

    def first(split_option, split):
        backend = make_backend('noisy_oracle', {'table': str(path), 'split': split_option},
                               FixedTruth())
        backend.start_episode('e', split)
        return ask(backend, CLEAR[:1])[0]
    assert (first('auto', 'a'), first('auto', 'b')) == ('No', 'Yes')
    assert (first('b', 'a'), first('a', 'b')) == ('Yes', 'No')


def test_pseudo_counts_soften_rates_that_rest_on_few_answers(tmp_path):
    rates = load_table('InternVL3-78B', pseudo_count=.5).rates('medium', 'clear')
    assert rates.error_true == pytest.approx(.5 / 90)
    assert rates.error_false == pytest.approx(.5 / 37)
    pooled = load_table('InternVL3-78B', pseudo_count=.5).rates('mine', 'clear')
    assert 0. < pooled.error_false == pytest.approx(.5 / 117)
    table = table_file(tmp_path, on={'p_yes_true': 1., 'p_yes_false': 0.})
    assert load_table(table, pseudo_count=.5).rates('', 'on').error_true == 0.
    assert load_table('gpt-4.1', pseudo_count=.5).name == 'gpt-4.1/plain+0.5'


def test_rates_of_unknown_are_read_and_pooled_over_splits(tmp_path):
    path = tmp_path / 't.json'
    path.write_text(json.dumps({'splits': {
        'a': {'on': UNKNOWN_RATES}, 'b': {'on': {'p_yes_true': 1., 'p_yes_false': 0.}}}}))
    table = load_table(str(path))
    assert (table.rates('a', 'on').unknown_true, table.rates('b', 'on').unknown_true) == (.4, 0.)
    assert table.rates('c', 'on').unknown_false == pytest.approx(.1)


def test_a_predicate_that_was_never_answered_readably_stays_unreadable():
    # This model gave no readable answer about false leftof atoms after a chain of thought.
    rates = load_table('Phi-4-multimodal-instruct', cot=True).rates('simple', 'leftof')
    assert rates.error_false is None
    backend = make_backend('noisy_oracle', {'table': 'Phi-4-multimodal-instruct', 'cot': True,
                                            'split': 'simple'}, FixedTruth())
    assert 'cannot be read' in ask(backend, [Atom('leftof', ('c1', 'c2'))])[0]


def test_a_users_yaml_file_with_a_default(tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text("rates:\n  'on': {p_yes_true: 0.9, p_yes_false: 0.1}\n"
                    '  default: {p_yes_true: 1, p_yes_false: 0}\n')
    table = load_table(str(path))
    assert table.name.startswith('mine@')
    assert table.rates('any', 'on').error_false == .1
    assert table.rates('any', 'clear').error_false == 0.


@pytest.mark.parametrize(('text', 'message'), [
    ('{}', 'exactly one of'),
    ('{"rates": {"a": %s}, "splits": {"s": {"a": %s}}}'
     % (('{"p_yes_true": 1, "p_yes_false": 0}',) * 2), 'exactly one of'),
    ('{"rates": {"on": {"p_yes_true": 1, "p_yes_false": 0, "x": 1}}}', 'rates.on.x is unknown'),
    *((f'{{"splits": {{"s": {{"on": {{"p_yes_true": 1, "p_yes_false": 0, {field}}}}}}}}}',
       f'splits.s.on.{name}')
      for field, name in (('"n_true": "many"', 'n_true'), ('"unparsable": "x"', 'unparsable'),
                          ('"n_true": null', 'n_true'), ('"n_false": NaN', 'n_false'),
                          ('"n_true": 1e400', 'n_true'), ('"p_unparsed": null', 'p_unparsed'))),
    ('{"splits": {"simple": 3}}', 'splits'),
    ('{"splits": 3}', 'splits = 3'),
    ('{"rates": {"on": {"p_yes_true": 1, "p_yes_false": 0, "p_unknown_true": 2}}}',
     'rates.on.p_unknown_true = 2'),
])
def test_malformed_files_name_file_and_field(tmp_path, text, message):
    path = tmp_path / 'bad.json'
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        make_backend('noisy_oracle', {'table': str(path)}, FixedTruth())
    assert 'bad.json' in str(caught.value)


def test_a_bare_on_in_yaml_is_explained(tmp_path):
    path = tmp_path / 'bad.yaml'
    path.write_text('rates:\n  on: {p_yes_true: 1, p_yes_false: 0}\n')
    with pytest.raises(InputError, match='quotes'):
        load_table(str(path))


@pytest.mark.parametrize('name', ['gpt-9', '/nowhere/table.json', 'nowhere.yaml'])
def test_unknown_tables_are_input_errors(name):
    with pytest.raises(InputError, match=name):
        load_table(name)


def test_it_says_that_it_cannot_tell_as_often_of_true_as_of_false_atoms(tmp_path):
    backend = noisy(tmp_path, FixedTruth(CLEAR[:1000]), cannot_tell=0.2)
    replies = ask_all(backend, yes_no_queries(look(1), tuple(
        Question(atom, str(atom)) for atom in CLEAR)))
    silent = [reply.verdict is Verdict.UNKNOWN and reply.reason == 'the model says so'
              for reply in replies]
    assert 'cannot tell 0.2' in backend.name
    assert [sum(silent[:1000]), sum(silent[1000:])] == pytest.approx([200, 200], abs=50)
