"""The reader of sentences about paths: what it takes them to want, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.model import InputError
from sightplan_suites.paths.areas import Area
from sightplan_suites.paths.sentences import (
    Reading,
    UnreadSentenceError,
    name_words,
    named_in,
    read_sentence,
    taken_words,
)

SHORT = {'minimum_clearance': 'min', 'average_clearance': 'avg', 'maximum_clearance': 'max',
         'path_length': 'length', 'smoothness': 'total', 'sharp_turns': 'sharp',
         'maximum_angle': 'angle'}
LIMITS = {'minimum_clearance': 'clearance', 'path_length': 'length', 'maximum_angle': 'turn',
          'smoothness': 'turning'}
CASES = [tuple(part.strip() for part in line.split('|', 1))
         for line in Path(__file__).with_name('path_sentences.txt').read_text().splitlines()
         if line.strip() and not line.startswith('#')]
SQUARE = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))


def words_of(reading: Reading) -> set[str]:
    """The wishes and limits of a sentence, as ``path_sentences.txt`` writes them."""
    limits = {re.sub('^[a-z_]+(?=[<>])', lambda m: LIMITS.get(m[0], m[0]), limit.text)
              for limit in reading.limits.limits}
    return ({SHORT[name] + '-+'[sign > 0] for name, sign in reading.wants.items()} | limits
            | {f'out:{name}' for name in reading.limits.keep_out}
            | ({f'side:{reading.limits.keep_side}'} if reading.limits.keep_side else set())
            | {f'unless:{one.text.removeprefix("path_")}' for one in reading.limits.trade_offs})


@pytest.mark.parametrize(('wanted', 'text'), CASES, ids=[text[:40] for _, text in CASES])
def test_sentences_in_many_voices(wanted: str, text: str) -> None:
    if wanted == 'refuse':
        with pytest.raises(UnreadSentenceError):
            read_sentence(text)
        return
    allowed = set(' '.join(re.findall(r'\[(.*?)\]', wanted)).split())
    must = set(re.sub(r'\[.*?\]', '', wanted).split())
    found = words_of(read_sentence(text))
    for name in [one for one in must if one.startswith('out:')]:
        said = name_words(name[4:].replace('_', ' '))
        fits = [one for one in found if one.startswith('out:') and said <= name_words(one[4:])]
        assert len(fits) == 1, (name, found)
        must, found = must - {name}, found - set(fits)
    assert must <= found <= must | allowed


def test_the_answer_says_what_was_understood() -> None:
    reading = read_sentence('Not through the nursery, please, at least half a metre from '
                            'anything, and as straight as you can, unless it is much longer.')
    said = taken_words(reading.wants, reading.limits, reading)
    assert said == ('Taken to want: little turning in total; at least 0.5 from anything; not '
                    'through the nursery; not if length becomes more than 50 % above the least. '
                    'Assumed: "it is much longer" taken for 50 % more than the shortest.')
    implied = read_sentence('The boys are tired. The battery is nearly empty.')
    said = taken_words(implied.wants, implied.limits, implied)
    assert said == ('Taken to want: a short path. Because of: little energy. Not used: the boys '
                    'are tired.')


def test_a_limit_has_no_exception() -> None:
    with pytest.raises(UnreadSentenceError, match=re.escape(
            "it makes an exception to the limit 'not through the nursery'")):
        read_sentence('Short, not through the nursery, unless that is 10 m longer.')


@pytest.mark.parametrize(('text', 'word'), [
    ('The shortest blorgy way.', 'blorgy'), ('Take the scenic route.', 'scenic'),
    ('Short, and never trumble the walls.', 'trumble'),
    ('Not more than five minutes, and short.', '#5min'),
    ('It should be short and long.', 'both small and large'),
    ('Keep to the left and to the right.', 'left and right')])
def test_what_is_not_understood_is_named(text: str, word: str) -> None:
    with pytest.raises(UnreadSentenceError, match=re.escape(word)):
        read_sentence(text)


def test_areas_are_found_by_their_names() -> None:
    areas = tuple(Area(name, (SQUARE,)) for name in ('nursery', 'wet aisle', 'dry aisle'))
    def named(text: str) -> tuple[str, ...]:
        return named_in(read_sentence(text), areas).keep_out
    assert named('Not through the old nursery.') == ('nursery',)
    assert named('Stay out of the wet aisle and the nursery.') == ('wet aisle', 'nursery')
    with pytest.raises(InputError, match='wet aisle or dry aisle'):
        named('Stay out of the aisle.')
    with pytest.raises(InputError, match='there are nursery, wet aisle, dry aisle'):
        named('Keep out of the attic.')


@pytest.mark.parametrize(('plain', 'negated'), [
    ('Take the twisty way.', 'Do not take the twisty way.'),
    ('Take the long way.', 'Do not take the long way.'),
    ('Take the short way.', 'Do not take the short way.')])
def test_a_negation_turns_a_wish(plain: str, negated: str) -> None:
    turned = {name: -sign for name, sign in read_sentence(plain).wants.items()}
    assert read_sentence(negated).wants == turned


@pytest.mark.parametrize('text', [
    'The battery is not empty.', 'Length does not matter.', 'Never mind the detour.'])
def test_a_denied_reason_is_no_wish(text: str) -> None:
    with pytest.raises(UnreadSentenceError):
        read_sentence(text)


CLAUSES = ('Take the shortest way', 'Keep 50 cm from the shelves', 'Not through the nursery',
           'As few turns as possible', 'Keep to the right', 'No turn over 60 degrees',
           'The boys are tired')


@given(st.lists(st.sampled_from(CLAUSES), min_size=1, unique=True).filter(
    lambda some: some != ['The boys are tired']), st.sampled_from(['. ', ', ', '; ']))
@settings(max_examples=60, deadline=None)
def test_the_order_of_clauses_does_not_matter(clauses: list[str], between: str) -> None:
    first, last = (words_of(read_sentence(between.join(some))) for some in (
        clauses, clauses[::-1]))
    assert first == last


WORDS = sorted({word for _, text in CASES for word in text.split()})


@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=14))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(words: list[str]) -> None:
    try:
        reading = read_sentence(' '.join(words))
    except UnreadSentenceError:
        return
    assert reading.wants or reading.limits
    assert all(sign in (-1, 1) for sign in reading.wants.values())
    assert taken_words(reading.wants, reading.limits, reading).startswith('Taken to want')
