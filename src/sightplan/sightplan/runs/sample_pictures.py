"""Pictures of samples that went wrong: the answer beside the truth, kept in the run directory."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from sightplan.model import InputError, Region, plugins
from sightplan.model.journal import cannot_write
from sightplan.model.sample import Picture, Sample
from sightplan.records.evidence import FOLDER, file_name
from sightplan.runs.suite import Suite

_LOG = logging.getLogger(__name__)

MOST_OF_A_CAUSE = 3
"""Most pictures that one process writes for each cause: a few tell what the others are like."""


class SamplePictures:
    """Writes ``failures/<sample>.png`` for samples whose answer is a wrong place.

    Nothing is drawn where the package that draws (``sightplan_report``) is not installed.
    """

    def __init__(self, folder: Path, suite: Suite) -> None:
        """Name the run directory; nothing is touched before a failure is committed.

        Args:
            folder: run directory.
            suite: that says where the truth is (``Suite.truth_regions``).
        """
        self._folder, self._suite = folder, suite
        self._written: Counter[str] = Counter()

    def commit(self, line: MutableMapping[str, Any], sample: Sample) -> None:
        """Write the picture of a sample that asked for a place, and name it as ``picture``.

        Args:
            line: its results; nothing happens without a cause of failure.
            sample: whose results they are.

        Raises:
            InfrastructureError: the picture cannot be written.
        """
        cause = line.get('cause')
        shown = next((part for part in sample.parts if isinstance(part, Picture)), None)
        if not cause or sample.target is None or shown is None or (
                self._written[cause] >= MOST_OF_A_CAUSE):
            return
        try:
            drawing, marking = (plugins.part(name, 'sightplan_report')
                                for name in ('picture', 'marks'))
            answer = tuple(Region.from_json(region) for region in line['answer'] or ())
            drawn = marking.draw_marks(shown.load(), [
                marking.Mark('truth', tuple(self._suite.truth_regions(line['truth']))),
                marking.Mark(f'answer: {sample.target.text}', answer)])
        except InputError:  # nothing draws here, or the answer is no place
            return
        except Exception:  # a defect of a suite costs the picture, not the run
            _LOG.exception('sample %s cannot be drawn', line['id'])
            return
        path = Path(FOLDER) / f'{file_name(line["id"])}.png'
        try:
            (self._folder / FOLDER).mkdir(exist_ok=True)
            drawing.save_png(str(self._folder / path), drawn)
        except OSError as error:
            raise cannot_write(self._folder / path, error) from error
        self._written[cause] += 1
        line['picture'] = str(path)
