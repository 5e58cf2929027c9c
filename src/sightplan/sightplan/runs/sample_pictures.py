"""Pictures of samples: truth and answer as their suite draws them, and those a run keeps."""

from __future__ import annotations

import dataclasses
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError, plugins
from sightplan.model.journal import cannot_write
from sightplan.model.sample import Sample
from sightplan.records.evidence import FOLDER, file_name
from sightplan.runs.suite import Suite
from sightplan.runs.suite_parts import SamplePage, Scored

_LOG = logging.getLogger(__name__)

MOST_OF_A_CAUSE = 3
"""Most pictures that one process writes for each cause: a few tell what the others are like."""
_MOST_LETTERS = 600
"""Most characters of a text in the caption of a picture."""


def page_of(suite: Suite, sample: Sample, line: Mapping[str, Any]) -> SamplePage:
    """Page for people about a line of results.

    Args:
        suite: of the sample.
        sample: with the details of the line.
        line: results of the sample.

    Raises:
        InputError: a picture cannot be loaded.
    """
    page = suite.page(sample, line['answer'], line['truth'],
                      Scored(line['measures'], line['cause']))
    if (unknown := line.get('unknown')) and not line['answer']:
        words = ', '.join(map(repr, dict.fromkeys(unknown)))
        return dataclasses.replace(page, answer=f'cannot tell: it does not know {words}')
    return page


def marked_picture(page: SamplePage) -> NDArray[np.uint8] | None:
    """The picture of a page with its marks, (H, W, 3) uint8 RGB; None if it has none.

    Raises:
        InputError: the package that draws marks (``sightplan_report``) is not installed.
    """
    if page.picture is None or not page.marks:
        return page.picture
    marking = plugins.part('marks', 'sightplan_report')
    drawn: NDArray[np.uint8] = marking.draw_marks(
        page.picture, [marking.Mark(label, regions) for label, regions in page.marks])
    return drawn


def captioned_page(page: SamplePage, line: Mapping[str, Any]) -> bytes | None:
    """The picture of a sample with question, truth and answer below it, as PNG; None without.

    Raises:
        InputError: see ``marked_picture``.
    """
    from sightplan.records.failure_picture import (
        BIG_PX,
        FAINT,
        INK,
        RIGHT,
        WRONG,
        Row,
        with_caption,
    )
    picture = marked_picture(page)
    if picture is None:
        return None
    wrong = line['cause'] is not None
    said = page.answer or f'could not be read: {line["unread"] or "no answer"}'
    return with_caption(picture, [
        Row(str(line['cause'] or 'right').replace('_', ' '), BIG_PX, INK, 28),
        Row(line['id'], colour=FAINT), Row(_cut(page.asked), below_px=20),
        Row(f'truth: {_cut(page.truth)}', colour=RIGHT),
        Row(f'answer: {_cut(said)}', colour=WRONG if wrong else RIGHT),
        Row(page.key, colour=FAINT)])


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f'{text[:_MOST_LETTERS]} ...'


class SamplePictures:
    """Writes ``failures/<sample>.png`` for samples whose answer is wrong."""

    def __init__(self, folder: Path, suite: Suite, lines: Iterable[Mapping[str, Any]] = (),
                 ) -> None:
        """Name the run directory; nothing is touched before a failure is committed.

        Args:
            folder: run directory.
            suite: that draws its samples (``Suite.page``).
            lines: results that are there already, whose pictures count.
        """
        self._folder, self._suite = folder, suite
        self._written = Counter(str(line['cause']) for line in lines if line.get('picture'))

    def commit(self, line: MutableMapping[str, Any], sample: Sample) -> None:
        """Write the picture of a sample, and name it as ``picture``.

        Args:
            line: its results; nothing happens without a cause of failure.
            sample: whose results they are.

        Raises:
            InfrastructureError: the picture cannot be written.
        """
        cause = line.get('cause')
        if not cause or self._written[cause] >= MOST_OF_A_CAUSE:
            return
        try:
            picture = captioned_page(page_of(self._suite, sample, line), line)
        except InputError:  # nothing draws here, or the picture is gone
            return
        except Exception:  # a defect of a suite costs the picture, not the run
            _LOG.exception('sample %s cannot be drawn', line['id'])
            return
        if picture is None:
            return
        path = Path(FOLDER) / f'{file_name(line["id"])}.png'
        try:
            (self._folder / FOLDER).mkdir(exist_ok=True)
            (self._folder / path).write_bytes(picture)
        except OSError as error:
            raise cannot_write(self._folder / path, error) from error
        self._written[cause] += 1
        line['picture'] = str(path)
