"""Page for people about a question about paths: which path is better, and which was named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sightplan.model.sample import Sample
from sightplan.runs.suite_parts import SamplePage, Scored, shown_pictures
from sightplan_suites.patheval.asking import CHOICE, NEEDED, called, key_of
from sightplan_suites.paths.descriptors import NAMES
from sightplan_suites.paths.drawing import mark_halves

KEY = ('Below the paths: which one is right (green band). Above them: which one was answered '
       '(green band if it is right, red if not).')
_FORMAL = ('The left half of the picture', 'Write the answer', 'Each path has these properties',
           'Several paths are proposed')
"""Beginnings of paragraphs that are left out of the question."""
_FORM = re.compile(r'\s*\bWrite (?:the answer|their names)\b[^\n]*$')
"""The sentence on the form of the answer."""


def page(item: Sample, answer: Mapping[str, Any] | None, truth: Mapping[str, Any],
         scored: Scored) -> SamplePage:
    """Contract in ``runs.suite.Suite``."""
    picture, asked = shown_pictures(item), _asked(item)
    if item.details['asks'] == NEEDED:
        return SamplePage(picture, asked, _names(truth['needed']),
                          '' if answer is None else _names(answer['lenient'] or ()))
    options = item.choices[0].options if item.choices else ('the first', 'the second')
    if item.details['asks'] != CHOICE:
        return SamplePage(picture, asked, _lower(truth['lower'], options),
                          '' if answer is None else _lower(answer['lenient'] or {}, options,
                                                           truth['lower']))
    named = None if answer is None else answer['lenient'] if answer['strict'] is None else (
        answer['strict'])
    drawn = None if picture is None else mark_halves(picture, truth['better'], named)
    return SamplePage(drawn, asked, _called(options, truth['better']),
                      '' if answer is None else _said(answer, options),
                      '' if picture is None else KEY)


def _asked(item: Sample) -> str:
    """The request without what it says about picture and form of the answer."""
    text = item.parts[-1]
    assert isinstance(text, str), 'the text is the last part'
    parts = text.split('\nAnswer:')[0].split('\n\n')
    kept = [_FORM.sub('', part) for part in parts if not part.startswith(_FORMAL)]
    return '\n'.join(part for part in kept if part) or text


def _called(options: tuple[str, ...], position: int | None) -> str:
    if position is None:
        return 'none of both'
    return f'{called(options[position])} ({("shown left", "shown right")[position]})'


def _said(answer: Mapping[str, Any], options: tuple[str, ...]) -> str:
    strict, lenient = answer['strict'], answer['lenient']
    said = _called(options, lenient if strict is None else strict)
    if strict != lenient:
        said += ('; not in the form that was asked for' if strict is None else
                 f'; read leniently: {_called(options, lenient)}')
    return said + (f'. Explanation: {answer["explanation"]}' if answer['explanation'] else '')


def _names(names: Any) -> str:
    return '; '.join(map(key_of, names)) or 'none'


def _lower(lower: Mapping[str, int | None], options: tuple[str, ...],
           truth: Mapping[str, int | None] | None = None) -> str:
    """Path that has less of each descriptor; beside the truth, what is wrong is marked."""
    def said(name: str) -> str:
        position = lower.get(name)
        text = called(options[position]) if position is not None else (
            'not named' if truth is not None else 'both alike')
        wrong = truth is not None and truth[name] is not None and position != truth[name]
        return f'{key_of(name)}: {text}' + (' (wrong)' if wrong else '')
    return '; '.join(map(said, NAMES))
