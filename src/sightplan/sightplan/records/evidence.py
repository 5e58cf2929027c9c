"""Pictures of failures: kept while an episode runs, or found again in its bag."""

from __future__ import annotations

import itertools
import re
from collections import OrderedDict
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import (
    EpisodeStarted,
    Observation,
    Observed,
)
from sightplan.model.event_handler import EventHandler
from sightplan.model.journal import cannot_write
from sightplan.records.pictures import bag_image

FOLDER = 'failures'
_LEAST_PIXELS = 32  # worlds that draw no pictures give a few pixels that distinguish states


class FailureImages(EventHandler):
    """A Recorder that keeps the episode's frames, and writes the one that shows why it failed.

    A run then holds one picture for each failed episode, ``failures/<episode>.png``. The ``most``
    different frames that were seen last are kept uncompressed, since most episodes need none of
    them (0.9 MB each at 640x480; an episode has one more frame than actions carried out).
    """

    def __init__(self, folder: Path, most: int = 32) -> None:
        """Name the run directory; nothing is touched before a failure is committed."""
        self._folder = folder
        self._most = most
        self._frames: OrderedDict[str, NDArray[np.uint8]] = OrderedDict()

    def on_started(self, event: EpisodeStarted) -> None:
        """Forget the frames of the episode before."""
        self._frames.clear()

    def on_observed(self, event: Observed) -> None:
        """Keep the frame."""
        self._keep(event.observation)

    def commit(self, line: MutableMapping[str, Any]) -> None:
        """Write the picture of a failed episode, and name it in the line as ``picture``.

        Args:
            line: result of the episode that has just ended; nothing happens if it did not fail,
                or if nothing was seen that could be shown.

        Raises:
            InfrastructureError: the picture cannot be written.
        """
        failure = line.get('failure')
        if not failure or failure['image_id'] not in self._frames:
            return
        from sightplan.records.failure_picture import captioned
        path = Path(FOLDER) / f'{file_name(line["id"])}.png'
        picture = captioned(self._frames[failure['image_id']], line)
        try:
            (self._folder / FOLDER).mkdir(exist_ok=True)
            (self._folder / path).write_bytes(picture)
        except OSError as error:
            raise cannot_write(self._folder / path, error) from error
        failure['picture'] = str(path)

    def _keep(self, observation: Observation) -> None:
        image = observation.image
        if image is None or min(image.shape[:2]) < _LEAST_PIXELS:
            return
        if observation.image_id in self._frames:
            self._frames.move_to_end(observation.image_id)
            return
        self._frames[observation.image_id] = image.copy()
        while len(self._frames) > self._most:
            self._frames.popitem(last=False)


def file_name(episode_id: str) -> str:
    """An episode's id as a name of a file, which keeps letters of all alphabets."""
    return re.sub(r'[^\w.-]+', '_', episode_id).strip('_.') or 'episode'


def fresh_name(parent: Path, episode_id: str) -> str:
    """A name of a file or folder for an episode that is not there yet: attempts are numbered."""
    name = file_name(episode_id)
    names = itertools.chain((name,), (f'{name}.{attempt}' for attempt in itertools.count(2)))
    return next(found for found in names if not (parent / found).exists())


def failure_picture(folder: Path, line: Mapping[str, Any]) -> bytes | None:
    """The captioned picture of a failed episode, as PNG.

    Returns:
        the file that was written when it failed, or the image from its bag; None if there is
        neither.
    """
    failure: Mapping[str, Any] = line.get('failure') or {}
    name = failure.get('picture')
    if isinstance(name, str) and (folder / name).is_file():
        return (folder / name).read_bytes()
    stamp_ns = (failure.get('evidence') or {}).get('stamp_ns') or 0
    if not line.get('bag') or not stamp_ns:
        return None
    image = bag_image(folder / str(line['bag']), stamp_ns, failure['image_id'])
    if image is None:
        return None
    from sightplan.records.failure_picture import captioned
    return captioned(image, line)
