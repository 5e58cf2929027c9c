"""Thoughts and answer tags in replies."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model.reply_text import after_thoughts
from sightplan.vlm.replies import answer_place, is_answered


@pytest.mark.parametrize(('text', 'rest'), [
    ('yes', 'yes'), ('<think>no</think> yes', ' yes'), ('no no</think>yes', 'yes'),
    ('<think>a</think>b</think>c', 'c'), ('<THINK>no</Think>yes', 'yes'),
    ('<think>no', ''), (' \n<think>no', ''), ('<think>a</think>\n<think>b', ''), ('', ''),
    ('yes <think>hm', 'yes '), ('<think>a</think>yes<think>b</think>', 'yes'),
    ('[THINK]no[/THINK]yes', 'yes'), ('<thinking>no', ''), ('◁think▷no◁/think▷yes', 'yes'),
    ('<|begin_of_thought|>no<|end_of_thought|>yes', 'yes'), ('yes<|end|>', 'yes<|end|>'),
    ('<|channel|>analysis<|message|>no<|end|><|start|>assistant<|channel|>final<|message|>yes',
     'yes'), ('<|channel|>analysis<|message|>no', ''), ('analysisSo no.assistantfinalyes', 'yes'),
    ('<explanation>a</explanation>', '<explanation>a</explanation>')])
def test_thoughts_are_left_out(text: str, rest: str) -> None:
    assert after_thoughts(text) == rest


@pytest.mark.parametrize(('text', 'answered'), [
    ('<answer>yes</answer>', True), ('<Answer> yes\n</ANSWER> more', True),
    ('<answer></answer>', False), ('<answer> \n</answer>', False), ('<answer>yes', False),
    ('yes</answer>', False), ('</answer><answer>yes', False),
    ('I put it in <answer></answer>: ', False),
    ('I put it in <answer></answer>: <answer>', False),
    ('I put it in <answer></answer>: <answer>yes</answer>', True),
    ('<think>the format is <answer>Yes or No</answer>', False),
    ('<think>the format is <answer>Yes or No</answer></think>', False),
    ('<think>the format is <answer>Yes or No</answer></think><answer>no</answer>', True)])
def test_an_answer_is_a_closed_tag_that_holds_something(text: str, answered: bool) -> None:
    assert is_answered(text) == answered


@pytest.mark.parametrize(('text', 'word'), [
    ('<answer>yes</answer>', 'yes'), ('<answer> **Yes** </answer>', 'Yes'),
    ('<answer>"no"</answer>', 'no'), ('Yes or no? <answer>\nno', 'no'),
    ('in <answer></answer>: <answer>yes</answer>', 'yes'),
    ('<answer>no</answer> or rather <answer>yes</answer>', 'yes'),
    ('<think>in <answer>Yes or No</answer></think><answer>no</answer>', 'no'),
    ('<answer></answer>', None), ('<answer>...</answer> so yes', None), ('yes', None),
    ('<think><answer>yes</answer>', None), ('', None)])
def test_an_answer_begins_at_its_first_letter(text: str, word: str | None) -> None:
    pieces = re.findall(r'\w+|\W', text)
    place = answer_place(pieces)
    assert (None if place is None else pieces[place]) == word


def test_the_answer_may_be_all_there_is() -> None:
    assert answer_place(['**', 'Yes', '**'], tagged=False) == 1
    assert answer_place(['<think>', 'No', '</think>', '\n', 'Yes'], tagged=False) == 4
    assert answer_place(['<think>', 'No'], tagged=False) is None


def test_a_token_that_holds_tag_and_answer_tells_nothing() -> None:
    assert answer_place(['<answer', '>yes', '</answer>']) is None
    assert answer_place(['<answer', '>*', 'yes', '</answer>']) == 2


@given(st.lists(st.sampled_from(['<think>', '</think>', '<answer>', '</answer>', 'yes', ' ', '*',
                                 '<', 'a', '>y']), max_size=12))
def test_any_tokens_are_read_without_an_error(pieces: list[str]) -> None:
    place = answer_place(pieces)
    assert place is None or any(char.isalnum() for char in pieces[place])
    if is_answered(''.join(pieces)):
        assert '</answer>' in after_thoughts(''.join(pieces))
