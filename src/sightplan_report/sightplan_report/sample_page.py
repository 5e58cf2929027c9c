"""Page of one sample: its picture with truth and answer, what was asked, and how it was scored.

What is shown comes from the sample's suite (``Suite.page``), which makes or loads the sample again
with the options of the run. Where it cannot, the picture that the run kept is shown, if it kept
one, and the line of results in words; the page says why.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightplan.metrics import measures
from sightplan.model import InputError, SightplanError, excerpt
from sightplan.runs.run_samples import RunSamples, samples_of_run
from sightplan.runs.sample_pictures import captioned_page, marked_picture, page_of
from sightplan.runs.suite import Suite
from sightplan.runs.suite_parts import SamplePage
from sightplan.runs.suite_rules import SAMPLES
from sightplan_report.html import cut, fraction, jpeg_uri, render, words

_LOG = logging.getLogger(__name__)

_WIDEST_PX, _QUALITY = 1100, 82
RIGHT, WRONG, NOT_SCORED = 'right', 'wrong', 'not scored'
"""Results of samples that did not fail, as lists have them."""


@dataclass(frozen=True, slots=True)
class SampleView:
    """A sample as its page shows it.

    Attributes:
        key: id of the section.
        line: its line of results.
        subtitle: suite, split, method, model and run.
        result: in words.
        uri: that holds the picture; '' without one.
        size: width and height of the picture.
        asked: what was asked.
        truth: what is true.
        answer: what was answered; '' if nothing was read.
        legend: what colours and marks mean.
        scores: name and value of each measure that the sample has.
        models: exact names of the models that answered it.
        notes: what is missing, and why.
    """

    key: str
    line: Mapping[str, Any]
    subtitle: str
    result: str
    uri: str
    size: tuple[int, int]
    asked: str
    truth: str
    answer: str
    legend: str
    scores: tuple[tuple[str, str], ...]
    models: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def right(self) -> bool | None:
        """Whether the answer is right; None for a sample that is not scored."""
        return is_right(self.line)

    @property
    def paragraphs(self) -> list[str]:
        """Lines of the question or instruction that the model was given, without empty ones."""
        return [text for text in self.asked.split('\n') if text.strip()]


def is_right(line: Mapping[str, Any]) -> bool | None:
    """Whether the answer of a line is right; None for a sample that is not scored."""
    return line['cause'] is None if measures.scored(line) else None


def result_of(line: Mapping[str, Any]) -> str:
    """Cause of a wrong answer, ``RIGHT``, or ``NOT_SCORED``."""
    return {None: NOT_SCORED, True: RIGHT}.get(is_right(line)) or str(line['cause'])


class SamplesOfRuns:
    """The samples of runs, made or loaded again when the first one of a split is wanted."""

    def __init__(self) -> None:
        self._found: dict[tuple[Path, str], RunSamples] = {}

    def page(self, folder: Path, info: Mapping[str, Any], suite: Suite | None,
             line: Mapping[str, Any]) -> tuple[SamplePage | None, str]:
        """Page about a line; None and the reason if its sample cannot be had again.

        Args:
            folder: the run directory.
            info: content of its ``run.json``.
            suite: of the run; None: it is not installed.
            line: of results.
        """
        if suite is None:
            return None, f'suite {line["suite"]} is not installed'
        key = folder, line['split']
        if key not in self._found:
            self._found[key] = samples_of_run(info, suite, [line['split']])
        sample = self._found[key].sample(line)
        if sample is None:
            return None, self._found[key].why_missing(line)
        try:
            return page_of(suite, sample, line), ''
        except SightplanError as error:
            return None, str(error)
        except Exception as error:  # a defect of a suite costs the page's picture, not the report
            _LOG.exception('sample %s cannot be shown', line['id'])
            return None, f'its suite cannot show it ({type(error).__name__}: {error})'

    def picture(self, folder: Path, info: Mapping[str, Any], suite: Suite | None,
                line: Mapping[str, Any]) -> bytes | None:
        """The captioned picture of a line as PNG: drawn again, or the one that the run kept."""
        page, _ = self.page(folder, info, suite, line)
        try:
            found = None if page is None else captioned_page(page, line)
        except InputError:
            found = None
        return found or kept_picture(folder, line)


def kept_picture(folder: Path, line: Mapping[str, Any]) -> bytes | None:
    """The picture of a sample that its run kept, as PNG; None if there is none."""
    file = folder / str(line.get('picture') or '')
    return file.read_bytes() if line.get('picture') and file.is_file() else None


def view(line: Mapping[str, Any], folder: Path, info: Mapping[str, Any], suite: Suite | None,
         samples: SamplesOfRuns, key: str = 'sample', model: str = '') -> SampleView:
    """Make the view of a sample.

    Args:
        line: its line of results.
        folder: the run directory.
        info: content of its ``run.json``.
        suite: of the run; None: it is not installed.
        samples: of the runs.
        key: id of the section.
        model: name of the model in tables; '' for that of the line.
    """
    page, why = samples.page(folder, info, suite, line)
    notes = []
    if page is None:
        notes.append(f'The sample cannot be shown from the data of its suite: {why}.')
        kept = kept_picture(folder, line)
        notes.append('The picture is the one that the run kept.' if kept else
                     'The run kept no picture of it.')
        image = None if kept is None else np.asarray(Image.open(io.BytesIO(kept)).convert('RGB'))
        page = SamplePage(image, str(line['details'].get('question')
                                     or line['details'].get('instruction') or ''),
                          excerpt(json.dumps(line['truth'])),
                          '' if line['answer'] is None else excerpt(json.dumps(line['answer'])))
    uri, size = _small(marked_picture(page))
    return SampleView(
        key, line, subtitle_of(line, folder, model), _result_text(line), uri, size,
        cut(page.asked), cut(page.truth), cut(page.answer), page.key,
        tuple(_scores(line, suite)), tuple(filter(None, line['model'].split(' + '))),
        tuple(notes))


def subtitle_of(line: Mapping[str, Any], folder: Path, model: str = '') -> str:
    """Suite, split, method, model and run of a line.

    Args:
        line: of results.
        folder: the run directory.
        model: name of the model in tables; '' for that of the line.
    """
    return ', '.join(filter(None, (line['suite'], line['split'], line['method'],
                                   model or line['model'], folder.name)))


def section(sample: SampleView) -> str:
    """Section of a page about a sample, as HTML."""
    return render('sample.jinja', s=sample)


def page_alone(sample: SampleView) -> str:
    """A page of one sample alone: HTML, self-contained."""
    return render('alone.html.jinja', title=sample.line['id'], section=section(sample))


def text_of(sample: SampleView) -> str:
    """The page of a sample as text for a terminal."""
    line = sample.line
    picture = str(line['details'].get('picture') or '')
    rows = [('sample', f'{line["id"]} ({sample.subtitle})'), ('asked', sample.asked),
            ('picture', '' if picture in line['id'] else picture),
            ('answer', sample.answer or _unread(line)), ('truth', sample.truth),
            ('result', sample.result),
            ('scores', ', '.join(f'{name} {value}' for name, value in sample.scores)),
            ('by', ' + '.join(sample.models)), ('reply', cut(line.get('reply') or '')),
            *(('note', note) for note in sample.notes)]
    return ''.join(f'{name:8} {text.strip()}\n'.replace('\n', f'\n{"":9}').rstrip(' ')
                   for name, text in rows if text.strip())


def to_json(sample: SampleView) -> dict[str, Any]:
    """Return the content of a sample's page (question, answer, truth, measures) as JSON data."""
    line = sample.line
    return {'id': line['id'], 'suite': line['suite'], 'split': line['split'],
            'method': line['method'], 'model': line['model'], 'cause': line['cause'],
            'asked': sample.asked, 'answer': sample.answer, 'truth': sample.truth,
            'unread': line['unread'], 'reply': line.get('reply') or '',
            'measures': dict(line['measures']), 'notes': list(sample.notes)}


def _result_text(line: Mapping[str, Any]) -> str:
    right = is_right(line)
    if right is None:
        return f'not scored: {line["error"] or "no reason is known"}'
    if right:
        return RIGHT
    cause = words(line['cause'])
    return WRONG if cause == WRONG else f'{WRONG}: {cause}'


def _unread(line: Mapping[str, Any]) -> str:
    return f'could not be read: {line.get("unread") or "no answer"}'


def _scores(line: Mapping[str, Any], suite: Suite | None) -> Iterable[tuple[str, str]]:
    """Yield the measures that a suite declares, then others of the line that are not 0."""
    values = line['measures']
    declared = [] if suite is None else [measure.name for measure in suite.measures(SAMPLES)]
    for name in dict.fromkeys((*declared, *values)):
        if (value := values.get(name)) is not None and (value or name in declared):
            yield words(name), f'{value:g}' if value == int(value) else fraction(value, 3)


def _small(image: NDArray[np.uint8] | None) -> tuple[str, tuple[int, int]]:
    if image is None:
        return '', (0, 0)
    picture = Image.fromarray(image)
    picture.thumbnail((_WIDEST_PX, 10 * _WIDEST_PX), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, 'jpeg', quality=_QUALITY, optimize=True)
    return jpeg_uri(buffer.getvalue()), picture.size


def spread(shelves: Sequence[Sequence[Any]]) -> list[Any]:
    """Items of shelves that take turns: the first of each, the second of each, and so on."""
    most = max(map(len, shelves), default=0)
    return [shelf[place] for place in range(most) for shelf in shelves if place < len(shelf)]
