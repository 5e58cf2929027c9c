"""The contract kit: what is checked of any suite, ours or a stranger's, without a model.

``sightplan suite NAME contract`` runs it, and so do our tests for our own suites.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sightplan.domains import load_domain
from sightplan.metrics.measures import FRACTION, MEAN, STATISTIC, aggregates
from sightplan.model import Answer, InputError, excerpt
from sightplan.model.sample import Picture, Sample, SampleReply
from sightplan.runs import protocols
from sightplan.runs.samples import asks_for_text, load_samples, score_reply, truth_reply
from sightplan.runs.suite import Suite
from sightplan.runs.suite_parts import Samples, Unread
from sightplan.runs.suite_rules import ALL_SAMPLES, SAMPLES

_MOST_SAMPLES, _MOST_HOLLOW = 50, 3
"""Number of samples of each split whose pictures, truths and true replies are checked, and
number of samples to which replies without an answer are given; the first ones count."""
_NO_ANSWERS = ('', ' \n', '...', '{', '[[', 'null', 'NaN', '<answer></answer>', '\0', '🤖',
               'As a model, I cannot see.')
"""Replies that contain no answer."""


def violations(suite: Suite, options: Mapping[str, Any] | None = None) -> list[str]:
    """Return the ways in which a suite breaks its contract, see ``check_suite``; [] if none."""
    return check_suite(suite, options)[0]


def check_suite(suite: Suite, options: Mapping[str, Any] | None = None) -> tuple[list[str], int]:
    """Check a suite.

    Args:
        suite: the suite.
        options: options of its samples, such as the folder of their data.

    Returns:
        the ways in which it breaks its contract (``Suite``), as sentences; and the number of its
        samples.

    Raises:
        InputError: its samples cannot be made or loaded with these options.
    """
    count = 0
    found = [*itertools.chain.from_iterable(_of_measures(suite, kind) for kind in suite.kinds),
             *_of_published(suite), *protocols.violations(suite)]
    if SAMPLES in suite.kinds:
        first = load_samples(suite, ALL_SAMPLES, options or {})
        second = load_samples(suite, ALL_SAMPLES, options or {})
        if [part.identity for part in first] != [part.identity for part in second]:
            found.append('samples() gives another identity when it is called again: a run could '
                         'not be resumed')
        count = sum(len(part.items) for part in first)
        for part in first:
            found += _of_samples(suite, part)
        if not found:
            try:
                found += _of_scores(suite, first)
            except InputError as error:  # a value that is none of its measure's kind
                found.append(str(error))
    return list(dict.fromkeys(found)), count


def _of_measures(suite: Suite, kind: str) -> Iterator[str]:
    measures = suite.measures(kind)
    names = [measure.name for measure in measures]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f'measures({kind!r}) has two measures called {name}'
    if sum(measure.primary for measure in measures) != 1:
        yield f'measures({kind!r}) must have exactly one measure with primary=True'
    for measure in measures:
        where = f'measure {measure.name} of {kind}'
        if not measure.about:
            yield f'{where} does not say what it is about'
        if measure.kind == MEAN and measure.about.startswith('fraction of'):
            yield (f'{where} is a fraction, but is declared as a mean: 0 of 5 would have no '
                   'interval')
        if measure.kind == STATISTIC and not (measure.counts or measure.needs or measure.halves):
            yield f'{where} does not say which items count (counts, needs or halves)'
        if measure.bounded_by and (measure.bounded_by not in names
                                   or measure.bounded_by == measure.name):
            yield f'{where} is bounded by {measure.bounded_by}, which is no other measure'


def _of_published(suite: Suite) -> Iterator[str]:
    try:
        _ = suite.published.models
    except InputError as error:
        yield str(error)


def _of_samples(suite: Suite, part: Samples) -> Iterator[str]:
    if not part.items:
        yield 'samples() gives a split without samples'
    if not _is_json(part.identity):
        yield 'samples() gives an identity that is no plain JSON data'
    loaded: set[str] = set()
    yield from _of_domains(part.items)
    for sample in part.items[:_MOST_SAMPLES]:
        where = f'sample {sample.id!r}'
        if sample.split not in suite.splits:
            yield f'{where} has split {sample.split!r}, which is none of {", ".join(suite.splits)}'
        if not sample.cluster:
            yield f'{where} has no cluster; give it the name of its picture, or its own id'
        if not sample.parts:
            yield f'{where} shows nothing: it has no parts'
        if suite.asks_for_text and not asks_for_text(sample):
            yield f'{where} asks for no text, and the suite says that all do (asks_for_text)'
        if not _is_json([part.truth(sample.id), sample.details]):
            yield f'{where} has a truth or details that are no plain JSON data'
        if sample.question is not None and sample.parts[-1:] != (sample.question.text,):
            yield f'{where} has a question whose text is not its last part'
        for picture in (one for one in sample.parts if isinstance(one, Picture)):
            if picture.name not in loaded:  # many samples are about one picture
                loaded.add(picture.name)
                yield from _of_picture(picture)


def _of_domains(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield the errors in the domains of questions, which a run loads, and in their atoms."""
    unusable: dict[str, str] = {}
    for sample in samples:
        asked = [*([sample.question] if sample.question is not None else []), *sample.questions]
        where = f'sample {sample.id!r}'
        if asked and not sample.domain and not all(question.in_words for question in asked):
            yield (f'{where} has a question about an atom, but no domain, so that models get it '
                   'as free text; name its domain, or make it a question in words (Sample.yes_no)')
        if not sample.domain or sample.domain in unusable:
            continue
        try:
            domain = load_domain(sample.domain)
        except InputError as error:
            unusable[sample.domain] = str(error)
            yield f'{where} is about domain {sample.domain!r}, which cannot be loaded: {error}'
            continue
        for question in asked:
            try:
                domain.question(question.atom)
            except InputError as error:
                yield f'{where} asks about {question.atom}: {error}'


def _of_picture(picture: Picture) -> Iterator[str]:
    try:
        image = picture.load()
    except InputError as error:
        yield str(error)
        return
    if getattr(image, 'dtype', None) != 'uint8' or image.ndim != 3 or image.shape[2] != 3:
        yield f'picture {picture.name!r} is no array of shape (H, W, 3) of type uint8'


def _of_scores(suite: Suite, parts: Sequence[Samples]) -> Iterator[str]:
    """Yield the errors in reading and scoring true replies, guesses and replies without answer."""
    lines = []
    for part in parts:
        for number, sample in enumerate(part.items[:_MOST_SAMPLES]):
            truth = part.truth(sample.id)
            line, wrong = _scored(suite, sample, truth, truth_reply(suite, sample, truth))
            yield from wrong
            if line['cause'] is not None or line['unread']:
                said = excerpt(repr(suite.write(truth, sample)))
                yield (f'sample {sample.id!r}: the true reply {said} is not right: '
                       f'{line["unread"] or line["cause"]}')
            lines.append(line)
            for text in _NO_ANSWERS if number < _MOST_HOLLOW else ():
                yield from _of_no_answer(suite, sample, truth, text)
            for answer in (line['answer'], None) if number < _MOST_HOLLOW else ():
                yield from _of_page(suite, sample, answer, truth)
            yield from _of_guess(suite, sample, truth)
    primary = suite.primary(SAMPLES)
    best = aggregates(lines, [primary])[primary.name]['value']
    if primary.kind == FRACTION and best != (1.0 if primary.higher_is_better else 0.0):
        yield f'the true replies get {best} in the primary measure {primary.name}'


def _of_page(suite: Suite, sample: Sample, answer: Any, truth: Any) -> Iterator[str]:
    """Yield the errors in what people are shown of the true answer, or of none."""
    where = f'sample {sample.id!r}: page() of {"no" if answer is None else "the true"} answer'
    scored = suite.score(sample, answer, truth, SampleReply())
    try:
        page = suite.page(sample, answer, truth, scored)
    except Exception as error:
        yield f'{where} fails: {type(error).__name__}: {error}'
        return
    image = page.picture
    if image is not None and (image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3):
        yield f'{where} gives a picture that is no array of shape (H, W, 3) of type uint8'
    for name in ('asked', 'truth', 'answer', 'key'):
        if not isinstance(getattr(page, name), str):
            yield f'{where} gives {name} = {getattr(page, name)!r}, which is no text'
    if not (page.asked and page.truth) or bool(page.answer) is (answer is None):
        yield (f'{where} must say what was asked, what is true and what was answered (nothing '
               'where no answer was read)')


def _of_no_answer(suite: Suite, sample: Sample, truth: Any, text: str) -> Iterator[str]:
    said = f'sample {sample.id!r}: the reply {text!r}'
    try:
        suite.read(text, sample)
    except Unread as unread:
        if not str(unread):
            yield f'{said} is unread, but the exception does not say why'
    except Exception as error:
        yield f'{said} makes read() fail: {type(error).__name__}: {error} (raise Unread)'
        return
    line, wrong = _scored(suite, sample, truth, SampleReply.of_answer(Answer(text, 0.5, 0.5)))
    yield from wrong
    if line['unread'] and line['cause'] is None:
        yield f'{said} is unread, but score() names no cause of failure for the answer None'
    if line['unread'] and any(line['measures'].get(measure.name) for measure in suite.measures(
            SAMPLES) if measure.kind == FRACTION and measure.higher_is_better):
        yield f'{said} is unread, but scores in {line["measures"]}'


def _of_guess(suite: Suite, sample: Sample, truth: Any) -> Iterator[str]:
    try:
        text = suite.guess(sample, random.Random(sample.id))
    except InputError:  # it cannot guess, which is allowed
        return
    line, wrong = _scored(suite, sample, truth, SampleReply(text))
    yield from wrong
    if line['unread']:
        yield (f'sample {sample.id!r}: guess() gives {excerpt(repr(text))}, which read() cannot '
               f'read: {line["unread"]}')


def _scored(suite: Suite, sample: Sample, truth: Any, reply: SampleReply,
            ) -> tuple[dict[str, Any], list[str]]:
    """Return the line of a reply, and the errors in its measures."""
    found = score_reply(suite, sample, truth, reply)
    wrong = [f'sample {sample.id!r}: score() gives {name} = {value!r}, which is no finite number'
             for name, value in found['measures'].items()
             if value is not None and not (isinstance(value, (int, float))
                                           and math.isfinite(value))]
    missing = [measure.name for measure in suite.measures(SAMPLES)
               if measure.kind != STATISTIC and measure.name not in found['measures']]
    if missing:
        wrong.append(f'score() gives no value for {", ".join(missing)}')
    return {'id': sample.id, 'kind': 'sample', 'cluster': sample.cluster, 'split': sample.split,
            'domain': sample.domain, 'details': sample.details, **found}, wrong


def _is_json(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) is not None) or value is None
    except (TypeError, ValueError):
        return False
