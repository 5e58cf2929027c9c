"""Reading yes/no replies."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sightplan.grounding import PARSERS, parse_prefix, parse_yes_no
from sightplan.model import Verdict
from sightplan.model.yes_no_text import probabilities_apply

YES, NO, UNPARSED, UNKNOWN = Verdict.YES, Verdict.NO, Verdict.UNPARSED, Verdict.UNKNOWN


@pytest.mark.parametrize(('text', 'verdict'), [
    ('Yes', YES), ('no', NO), (' YES. ', YES), ('No!', NO), ('**No**', NO), ('"yes"', YES),
    ('- yes', YES), ('Yes, the red block is on top.', YES), ('No; it is below.', NO),
    ('yes\n\nBecause it is.', YES), ('_No_'.replace('_', '*'), NO), ('no.yes', UNPARSED),
    ('no.no', NO),
    ('', UNPARSED), ('   ', UNPARSED), ('maybe', UNPARSED), ('I think yes', YES),
    ('The answer is no.', NO),
    ('not', UNPARSED), ('Not at all', NO), ('now', UNPARSED), ('None', UNPARSED),
    ('nobody', UNPARSED), ('yesterday', UNPARSED), ('no-one', UNPARSED), ("no'", UNPARSED),
    ('yes_1', UNPARSED), ('n', UNPARSED), ('true', YES), ('a true one', UNPARSED), ('1', UNPARSED),
    ('Yes or no', UNPARSED), ('yes/no', UNPARSED), ('No, or yes?', UNPARSED),
    ('yes and no', UNPARSED), ('yes | no', UNPARSED), ('No or rather: none', NO),
    ('<answer>Yes</answer>', YES), ('<answer>\nNo.\n</answer>', NO),
    ('<explanation>No block is there.</explanation><answer>yes</answer>', YES),
    ('No way. <ANSWER>Yes</ANSWER> trailing', YES),
    ('<answer>Yes', YES), ('yes <answer>No', NO),
    ('<answer>Yes, it is', UNPARSED), ('<answer>', UNPARSED), ('<answer></answer>', UNPARSED),
    ('yes <answer>perhaps</answer>', UNPARSED), ('yes</answer>', UNPARSED),
    ('<answer>yes</answer><answer>yes</answer>', UNPARSED),
    ('</answer>yes<answer>yes', UNPARSED), ('<answer>yes<answer>no</answer>', UNPARSED),
    ('<explanation>yes</explanation>', UNPARSED),
    ('<think>No, it is not.</think>\nYes', YES), ('<think>No</think>', UNPARSED),
    ('Is it? No.\n</think>\n\nYes.', YES), ('<think>no', UNPARSED), ('<THINK>no</THINK>yes', YES),
    ('<think>The format is <answer>Yes or No</answer>.</think><answer>no</answer>', NO),
    ('<think>The format is <answer>Yes</answer>.', UNPARSED),
    ('I put it in <answer></answer>: <answer>yes</answer>', YES),
    ('Unknown', UNKNOWN), ('unknown.', UNKNOWN), ('**UNKNOWN**', UNKNOWN), ('unclear', UNKNOWN),
    ("I don't know.", UNKNOWN), ('I do not know', UNKNOWN), ('I don’t know', UNKNOWN),
    ('I cannot tell from this picture.', UNKNOWN), ("Can't tell", UNKNOWN),
    ('It cannot be determined.', UNKNOWN), ('It is not clear whether it is.', UNKNOWN),
    ('Not sure', UNKNOWN), ("I'm not sure", UNKNOWN), ('impossible to tell', UNKNOWN),
    ('Not enough information', UNKNOWN), ('<answer>Unknown</answer>', UNKNOWN),
    ('<answer>unknown', UNKNOWN), ('<explanation>No.</explanation><answer>unknown', UNKNOWN),
    ('<think>yes</think>I cannot say', UNKNOWN),
    ('Unknown, but probably yes', UNPARSED), ('unknown or no', UNPARSED),
    ('Yes or unknown', UNPARSED), ('no/unknown', UNPARSED), ('No, I cannot tell', UNPARSED),
    ('yes, unknown to many', YES), ('unknowns', UNPARSED), ('unknown-ish', UNPARSED),
    ('cannot', UNPARSED), ('I cannot see it', UNKNOWN), ('the unknown', UNPARSED),
    ('yes <answer> </answer>', UNPARSED), ('<answer></answer>yes<answer>', UNPARSED),
])
def test_examples(text, verdict):
    assert parse_yes_no(text) is verdict


padding = st.text(alphabet=' \t\n.,!?"\'*()', max_size=4)


@given(st.sampled_from(['yes', 'no']), padding, padding, st.booleans())
def test_case_and_punctuation_do_not_matter(word, before, after, upper):
    # An apostrophe right after the word belongs to the word.
    text = before + (word.upper() if upper else word) + ' ' + after
    assert parse_yes_no(text) is Verdict(word)


@given(st.sampled_from(['yes', 'no']), st.characters(categories=['L', 'Nd']))
def test_a_longer_word_is_another_word(word, letter):
    assert parse_yes_no(f'{word}{letter} it is') is UNPARSED


WORDS = ('yes', 'no', 'unknown', 'I', 'cannot', 'tell', 'not', 'sure', 'or', '/', '.', 'it', 'is',
         '<answer>', '</answer>')


@given(st.lists(st.sampled_from(WORDS), max_size=6).map(' '.join))
def test_no_yes_and_no_no_is_swallowed_by_unknown(text):
    said = parse_yes_no(text)
    decided = text.partition('<answer>')[2].partition('</answer>')[0] or text
    if said is UNKNOWN:
        assert not {'yes', 'no'} & set(decided.split())
    first, then = (*text.split(), '', '')[:2]
    article = first == 'no' and then in ('tell', 'sure')  # as in "no block is there"
    offered = re.search(r'(?:yes|no|unknown)(?: (?:or|/))+ (?:yes|no|unknown)', text)
    if first in ('yes', 'no') and not article and not offered and '<' not in text:
        assert said in (Verdict(first), UNPARSED)


PIECES = ['yes', 'no', 'unknown', 'or', 'and', '/', '|', ',', ' ', '\n', '-', '_', 'the', '=', "'"]


@given(st.sampled_from(['yes', 'no']), st.lists(st.sampled_from(PIECES), max_size=7).map(''.join))
def test_an_alternative_makes_an_answer_none(word, rest):
    word_alone = re.match(r"(?![\w'’]|-\w)", rest)
    alternative = re.match(r'\W*(?:/|\||,?\s*\b(?:or|and)\b)\W*(?:yes|no|unknown)\b', rest)
    said = parse_yes_no(word + rest)
    others = re.findall(r'yes|no|unknown', rest)
    article = word == 'no' and re.match(
        r'[ _\']*(?!(?:or|and|the|yes|no)\b)[^\W_]', rest)
    if word_alone and alternative and len(others) == 1:
        assert said is UNPARSED
    elif not others:  # an article, as in "no other block", is no answer
        assert said is (Verdict(word) if word_alone and not article else UNPARSED)
    elif word_alone and not alternative and not article:
        assert said in (Verdict(word), UNPARSED)


@pytest.mark.parametrize('text', ['yes, no', 'no; yes', 'Yes\nNo', 'yes no yes no', 'No. Yes.'])
def test_answers_that_contradict_each_other_are_none(text):
    assert parse_yes_no(text) is UNPARSED


@pytest.mark.parametrize(('text', 'verdict'), [
    ('no' + '=' * 500_000 + '\t' * 500_000, NO), ('[' * 1_000_000, UNPARSED),
    ('no' + ' ' * 500_000 + 'or' + ',' * 500_000 + 'yes', UNPARSED),
    ('it is ' + ' ' * 1_000_000, UNPARSED), ('<answer>' + ' ' * 1_000_000, UNPARSED)])
@pytest.mark.timeout(100)
def test_reading_a_long_reply_takes_no_longer_than_its_length(text, verdict):
    """What takes the square of the length takes minutes, and what does not less than a second."""
    assert parse_yes_no(text) is verdict


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_error(text):
    assert parse_yes_no(text) in Verdict


@given(st.text(max_size=40))
def test_a_reasoning_never_decides_when_there_are_tags(text):
    assert parse_yes_no(f'<explanation>{text}</explanation>') is UNPARSED or '<' in text


@given(st.text(alphabet=st.characters(exclude_characters='<'), max_size=30),
       st.sampled_from(['yes', 'no']))
def test_the_tag_decides_whatever_stands_around_it(text, word):
    assert parse_yes_no(f'{text}<answer>{word}</answer>{text}') is Verdict(word)


@pytest.mark.parametrize(('text', 'verdict'), [
    ('Yes', YES), ('No.', NO), ('not', NO), ('now', NO), ('None of them', NO), ('nothing', NO),
    ('yesterday', YES), ('I think yes', YES), ('It is not', NO), ('The answer is\nno', UNPARSED),
    ('maybe', UNPARSED), ('', UNPARSED), ('<answer> No </answer>', NO), ('<answer>Yes', YES),
    ('<explanation>yes</explanation>', UNPARSED),
    ('<explanation>no</explanation><answer>yes</answer>', YES)])
def test_the_reference_rule(text, verdict):
    assert parse_prefix(text) is verdict


def test_rules_have_names():
    assert PARSERS['strict'] is parse_yes_no and PARSERS['prefix'] is parse_prefix


@given(st.text(max_size=60))
@example('NOT KNOWN')  # That there is no way to tell is read by the strict rule alone.
def test_the_strict_rule_never_contradicts_the_reference_on_plain_text(text):
    strict = parse_yes_no(text)
    plain = text.strip(' \t\n.,!?"\'*()')
    if strict in (YES, NO) and '<' not in text and plain[:3].lower().startswith(('yes', 'no')):
        assert parse_prefix(plain) is strict


@pytest.mark.parametrize(('text', 'rates'), [
    ('Yes', True), ('no.', True), ('**False**', True), ('The answer is no.', True),
    ('No idea.', False), ('Yes, no', False), ('Yes. Wait, no: that is the blue block.', False),
    ('No doubt about it: yes.', False)])
def test_probabilities_of_a_first_word_that_is_not_the_answer_do_not_count(
        text: str, rates: bool) -> None:
    assert probabilities_apply(text, parse_yes_no(text)) is rates
