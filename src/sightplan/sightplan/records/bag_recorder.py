"""Bags of episodes that run in this process: the same as the ROS recorder writes.

Each episode becomes a rosbag2 (MCAP) folder of its own in ``bags/`` of the run directory, with the
topics, types, order and numbers of messages of a recording on ROS: the pictures that were
seen, with their calibration, the agent's events, and what the scorer learned of the truth.

An episode under way is in ``bags/.under-way-*/``, readable after each of its steps; it is moved to
its place when it is committed. What a killed process left there is removed when the run is taken
up again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from sightplan.domains import Domain
from sightplan.model import (
    EpisodeEvent,
    EpisodeStarted,
    GoalView,
    InfrastructureError,
    InputError,
    Observed,
    SightplanError,
    TruthSource,
)
from sightplan.model.event_handler import EventHandler
from sightplan.model.journal import StorageError, cannot_write
from sightplan.model.ports import CalibratedWorld, draws_labels
from sightplan.records import topics
from sightplan.records.bag import METADATA, BagWriter
from sightplan.records.bag_messages import BagMessages
from sightplan.records.bag_policy import ALL, FOLDER, KEPT, BagPolicy
from sightplan.records.bag_reading import read_metadata
from sightplan.records.evidence import fresh_name
from sightplan.records.messages import EpisodeMessages, Messages
from sightplan.records.truth import NotedTruth, TruthReply

UNDER_WAY = '.under-way-'
_MARK = {'recorded_by': 'sightplan run'}
_FLUSH_BYTES = 8 * 2**20
_FLUSH_AFTER = (topics.AGENT_EPISODE, topics.AGENT_STEP)


class BagRecorder(EventHandler):
    """A Recorder that writes a bag of each episode.

    It must come before the scorer, and the scorer must ask ``truth`` instead of the world: then
    a bag has everything in the order in which the ROS recorder has it.
    """

    def __init__(self, folder: Path, truth: TruthSource, domain: Domain, keep: str = ALL,
                 compression: str = 'zstd', kept: int = KEPT) -> None:
        """Name the run directory; nothing is touched before an episode begins.

        Args:
            folder: the run directory.
            truth: the world. The calibration of a ``CalibratedWorld`` is recorded, and of a
                ``LabellingWorld`` that draws labels the picture without labels is, too.
            domain: domain of the episodes.
            keep: policy of the bags to keep, see ``BagPolicy``; not ``none``.
            compression: compression of the bags, see ``BagWriter``.
            kept: number of bags that ``last`` keeps.
        """
        self._folder = folder / FOLDER
        self._world, self._compression = truth, compression
        self._policy = BagPolicy(folder, keep, kept)
        self._cdr = BagMessages()
        self._messages = Messages(self._cdr)
        self._labelled = draws_labels(truth)
        self._numbered = EpisodeMessages(self._messages, lambda: self._labelled)
        self._numbered.domain = domain
        self.truth = NotedTruth(truth, self._note_truth)
        """Ground truth for the scorer; all its replies go into the bag."""
        self._bag: _UnderWay | None = None
        self._now_ns = 0

    def record(self, event: EpisodeEvent) -> None:
        """Write one event of the episode loop.

        Raises:
            InfrastructureError: the bag cannot be written.
            StorageError: the disk is full; what there was of this episode is removed, which makes
                room for what is left to say.
        """
        try:
            self._record(event)
        except StorageError:
            self.discard()
            raise

    def _record(self, event: EpisodeEvent) -> None:
        if isinstance(event, EpisodeStarted):
            self.discard()
            self._bag = _UnderWay(self._folder, event.spec.id, self._compression,
                                  self._cdr)
        bag = self._bag
        if bag is None:
            return
        super().record(event)
        topic, message = self._numbered.message(event)
        self._write(topic, message)
        if isinstance(event, EpisodeStarted) and event.spec.pictured_goal:
            self._goal()
        if topic in _FLUSH_AFTER or bag.writer.pending > _FLUSH_BYTES:
            bag.writer.flush(describe=False)

    def commit(self, line: MutableMapping[str, Any]) -> None:
        """Move the bag of an episode to its place, or remove it if it is not kept.

        Args:
            line: the result, before it is committed; gets ``bag`` (name of the folder, below the
                run directory), ``images`` and ``images_missing``.

        Raises:
            InfrastructureError: the bag cannot be written, or another one not removed.
        """
        bag = self._bag
        if bag is None:
            return
        if not self._policy.keeps(line):
            self.discard()
            return
        self._bag = None
        try:
            place = bag.finish(self._folder)
        except InfrastructureError:
            bag.discard()
            raise
        self._policy.committed(place.name)
        line.update(bag=f'{FOLDER}/{place.name}', images=bag.images, images_missing=bag.missing)

    def discard(self) -> None:
        """Remove the bag of the episode that is under way, or was not committed."""
        bag, self._bag = self._bag, None
        if bag is not None:
            bag.discard()

    def close(self) -> None:
        """Finish what is under way."""
        self.discard()
        with contextlib.suppress(OSError):
            self._folder.rmdir()  # if it is empty

    def on_observed(self, event: Observed) -> None:
        """Write an observation's pictures before its message, as they reach a recorder on ROS."""
        bag, seen = self._bag, event.observation
        assert bag is not None
        raw = seen.image if seen.unlabelled is None else seen.unlabelled
        if seen.image is None or raw is None:
            bag.missing += bool(seen.image_id)
            return
        if isinstance(self._world, CalibratedWorld):
            self._write(topics.CAMERA_INFO, self._messages.camera_info_to_msg(
                self._world.camera_info(), seen.stamp_ns))
        pictures = {topics.CAMERA_IMAGE: raw}
        if self._labelled:
            pictures[topics.CAMERA_LABELLED] = seen.image
        for topic, image in pictures.items():
            self._write(topic, self._messages.image_to_msg(image, seen.stamp_ns, seen.frame_id))
        bag.images += 1

    def _goal(self) -> None:
        """Write the picture of the goal, as the world shows it from the reset on."""
        if not isinstance(self._world, GoalView):
            return
        with contextlib.suppress(SightplanError):  # a world that could not be reset
            goal = self._world.goal_observation()
            if goal.image is not None:
                self._write(topics.GOAL_IMAGE, self._messages.image_to_msg(
                    goal.image, 0, goal.frame_id))

    def _note_truth(self, reply: TruthReply) -> None:
        if self._bag is not None:
            self._write(topics.TRUTH,
                        self._messages.truth_to_msg(reply, self._bag.episode_id))

    def _write(self, topic: str, message: Any) -> None:
        assert self._bag is not None
        self._now_ns = max(time.time_ns(), self._now_ns + 1)  # an order, whatever the clock does
        self._bag.writer.write(self._bag.topics[topic], self._now_ns, self._cdr.data(message))


def clean(folder: Path, lines: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
    """Remove what killed processes left: bags of episodes that were never committed.

    Bags that a recorder on ROS wrote, and those that another process is writing, are left alone.
    No other process may commit meanwhile.

    Args:
        folder: the run directory.
        lines: gives the committed episodes; not asked where there are no bags.

    Raises:
        InfrastructureError: something cannot be removed.
    """
    folder = folder / FOLDER
    if not folder.is_dir():
        return
    named = {Path(str(line['bag'])).name for line in lines() if line.get('bag')}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(UNDER_WAY):
            _remove_unless_locked(path)
        elif path.name not in named and _is_ours(path):
            _remove(path)
    with contextlib.suppress(OSError):
        folder.rmdir()  # if it is empty


class _UnderWay:
    """The bag of the episode under way, in a hidden folder that this process has locked."""

    def __init__(self, parent: Path, episode_id: str, compression: str, cdr: BagMessages) -> None:
        self.episode_id = episode_id
        self.images = self.missing = 0
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self._hidden, self._lock = _locked_folder(parent)
        except OSError as error:
            raise cannot_write(parent, error) from error
        try:
            # A recorder on ROS keeps attempts.
            self.writer = BagWriter(self._hidden / fresh_name(parent, episode_id), compression,
                                    {'episode_id': episode_id, **_MARK})
        except InfrastructureError:
            self._forget()
            raise
        self.topics = {topic: self.writer.add_topic(f'/{topic}', cdr.types.get(name),
                                                    topics.bag_qos(topic))
                       for topic, name in topics.RECORDED.items()}

    def finish(self, parent: Path) -> Path:
        """Close the bag, move it to its place, and return that path."""
        self.writer.close()
        place = parent / self.writer.folder.name
        try:
            os.rename(self.writer.folder, place)
            os.rmdir(self._hidden)
        except OSError as error:
            raise cannot_write(place, error) from error
        os.close(self._lock)
        return place

    def discard(self) -> None:
        """Remove the bag."""
        with contextlib.suppress(InfrastructureError):  # of a full disk, for example
            self.writer.close()
        self._forget()

    def _forget(self) -> None:
        shutil.rmtree(self._hidden, ignore_errors=True)
        os.close(self._lock)


def _locked_folder(parent: Path) -> tuple[Path, int]:
    """A new hidden folder and its lock, whatever another process cleans up at this moment."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=UNDER_WAY, dir=parent))
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if folder.exists():
                    return folder, lock
            os.close(lock)


def _is_ours(folder: Path) -> bool:
    """Whether a bag was recorded in process."""
    try:
        custom = read_metadata(folder / METADATA).custom_data or {}
    except InputError:
        return False
    return custom.items() >= _MARK.items()


def _remove_unless_locked(folder: Path) -> None:
    """Remove the folder of a process that is gone."""
    try:
        lock = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise InfrastructureError(f'{folder}: cannot be removed ({error.strerror}); remove it by '
                                  'hand') from error
