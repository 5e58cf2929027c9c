"""The core's dataclasses as ROS messages, and back.

Functions come in pairs ``x_to_msg`` and ``x_from_msg``; for every value that a message can carry
the round trip gives an equal value. What is recorded is converted by ``sightplan.records``, also
for bags without ROS: ``x_from_msg`` are its functions, ``x_to_msg`` the methods of ``MESSAGES``.
Here are those for requests and depth.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import Image
from sightplan_interfaces import msg

from sightplan.model import (
    Feedback,
    InputError,
    Observation,
    PastStep,
    Problem,
    ProposalForm,
    UnknownImageError,
    VisualTask,
)
from sightplan.records import messages
from sightplan_nodes import names


@functools.cache
def _class(name: str) -> Any:
    package, _, kind = name.split('/')
    return getattr(importlib.import_module(f'{package}.msg'), kind)


def _make(name: str, /, **fields: Any) -> Any:
    return _class(name)(**fields)


MESSAGES = messages.Messages(_make)
"""Makes the messages that are recorded, as ROS's."""


# depth

def depth_to_msg(depth_m: NDArray[np.float32], stamp_ns: int, frame_id: str = '') -> Image:
    """A depth image as a message.

    Args:
        depth_m: (H, W) float32, metres, NaN where unknown.
        stamp_ns: time of the exposure [ns].
        frame_id: optical frame.
    """
    rows, columns = depth_m.shape
    return Image(header=MESSAGES.header(stamp_ns, frame_id), height=rows, width=columns,
                 encoding='32FC1', is_bigendian=0, step=columns * 4,
                 data=messages.byte_array(depth_m.astype('<f4', copy=False)))


def depth_from_msg(message: Image, unit_m: float = 1e-3) -> NDArray[np.float32]:
    """A message's depth image: (H, W) float32, metres, NaN where unknown.

    Takes 32FC1 (metres) and 16UC1 (in units, 0 for unknown, as real cameras send).

    Args:
        message: the image.
        unit_m: metres per unit of 16UC1.

    Raises:
        InputError: another encoding, or wrong sizes.
    """
    order = '>' if message.is_bigendian else '<'
    if message.encoding == '32FC1':
        rows = np.ascontiguousarray(messages.image_rows(message, 4))
        return rows.view(f'{order}f4').astype(np.float32)
    if message.encoding == '16UC1':
        units = np.ascontiguousarray(messages.image_rows(message, 2)).view(f'{order}u2')
        return np.where(units == 0, np.nan, units * unit_m).astype(np.float32)
    raise InputError(f'depth image: encoding {message.encoding!r} is not 32FC1 or 16UC1')


# requests

def observation_to_request(observation: Observation, topic: str = '',
                           with_image: bool = True) -> msg.Observation:
    """An observation as a request to a model has it.

    Args:
        observation: what the model is asked about.
        topic: camera's topic on which its picture was published, with its stamp: the node takes
            it from there. Empty: it is on none.
        with_image: whether a picture that is on no topic is sent; else its id stands for it.

    Raises:
        InputError: it has neither image nor text.
    """
    if observation.image is None and not observation.text:
        raise InputError('this observation has neither image nor text; models on ROS are shown '
                         'one of them')
    message: msg.Observation = MESSAGES.observation_to_msg(observation)
    if topic:
        message.published, message.labelled = True, topic == names.CAMERA_LABELLED
    elif with_image and observation.image is not None:
        message.image = [MESSAGES.image_to_msg(observation.image, observation.stamp_ns,
                                               observation.frame_id)]
    return message


DepthAt = Callable[[int], NDArray[np.float32] | None]
"""Gives the depth of a picture, (H, W) [m], by the picture's stamp [ns]; None: there is none."""


class PublishedPictures(Protocol):
    """Protocol of a source of the pictures that were published on a topic."""

    def at(self, stamp_ns: int) -> Image:
        """The picture of a stamp [ns].

        Raises:
            UnknownImageError: it did not come; says why that may be.
        """


class RequestedObservations:
    """The observations in requests to a model.

    A picture is taken from the camera's topic, or comes with a request; then it is known by its
    id for as long as there is room.

    Attributes:
        depth_at: gives the depth of a picture by its stamp [ns]; None: the model needs none.
        published: gives pictures by the topic on which they are published.
    """

    def __init__(self, most_bytes: int = 64 * 2**20,
                 published: Mapping[str, PublishedPictures] | None = None) -> None:
        """Keep the pictures that were asked about last, up to a size; the newest in any case."""
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, Observation] = OrderedDict()
        self.depth_at: DepthAt | None = None
        self.published: Mapping[str, PublishedPictures] = published or {}

    def read(self, message: msg.Observation) -> Observation:
        """The observation of a request.

        Raises:
            UnknownImageError: its picture did not come on its topic, was not sent, or is not kept
                any more.
            InputError: its picture cannot be read, or is another one than its id says.
        """
        if not message.image and not message.image_id and message.text:
            return messages.with_knowledge(
                Observation(stamp_ns=messages.time_from_msg(message.header.stamp),
                            frame_id=message.header.frame_id), message)
        return messages.with_knowledge(self.picture(message), message)

    def picture(self, message: msg.Observation, depth_at: DepthAt | None = None) -> Observation:
        """The picture of a request, without what else is known about the observation.

        Args:
            message: the observation. A picture that is named by its id without a stamp has the
                stamp with which it came.
            depth_at: gives its depth, where it has none yet; None: as the attribute says.

        Raises:
            UnknownImageError, InputError: see ``read``.
        """
        seen = None if message.image else self._kept.get(message.image_id)
        if seen is None:
            seen, depth_at = self._new(message), depth_at or self.depth_at
        stamp_ns = messages.time_from_msg(message.header.stamp)
        frames = [message.header.frame_id, seen.frame_id]
        if message.published:
            frames.reverse()  # the camera knows its frame
        seen = dataclasses.replace(seen, frame_id=frames[0] or frames[1],
                                   stamp_ns=stamp_ns or seen.stamp_ns)
        if depth_at is not None and seen.depth_m is None:
            seen = dataclasses.replace(seen, depth_m=depth_at(seen.stamp_ns))
        self.keep(seen)
        return seen

    def _new(self, message: msg.Observation) -> Observation:
        """Return a picture that is not kept here, from its topic or from the request."""
        wanted = message.image_id
        if message.image:
            seen = messages.observation_from_msg(message.image[0])
            if wanted and seen.image_id != wanted:
                raise InputError(f'the picture of the request is {seen.image_id}, not {wanted} as '
                                 'the request says')
            return seen
        topic = names.CAMERA_LABELLED if message.labelled else names.CAMERA_IMAGE
        if message.published and topic in self.published:
            stamp_ns = messages.time_from_msg(message.header.stamp)
            seen = messages.observation_from_msg(self.published[topic].at(stamp_ns))
            if wanted and seen.image_id != wanted:
                raise UnknownImageError(
                    f'{topic}: the picture of world time {stamp_ns} ns is {seen.image_id}, not '
                    f'{wanted} as the request says; send that one with the request')
            return seen
        if not wanted:
            raise InputError('the observation of the request has neither picture, image_id, nor '
                             'text')
        raise UnknownImageError(f'image {wanted!r} is not known here (any more); send it with the '
                                'request')

    def keep(self, seen: Observation) -> None:
        """Keep a picture, and forget those that were asked about longest ago."""
        self._kept[seen.image_id] = seen
        self._kept.move_to_end(seen.image_id)
        while len(self._kept) > 1 and self._size() > self._most_bytes:
            self._kept.popitem(last=False)

    def _size(self) -> int:
        return sum(part.nbytes for seen in self._kept.values()
                   for part in (seen.image, seen.depth_m) if part is not None)


def fill_visual_task(request: Any, task: VisualTask, problem_pddl: str,
                     shown: Callable[[Observation], msg.Observation] = observation_to_request,
                     ) -> Any:
    """Write a task into a request of ProposePlan; returns the request.

    Args:
        request: what to fill.
        task: what the model is asked.
        problem_pddl: text of its problem, as Domain.write_problem gives it.
        shown: makes messages of the observations of the past and of the goal.
    """
    problem = task.problem
    request.domain, request.problem = problem.domain, problem.name
    request.domain_pddl, request.problem_pddl = problem.domain_pddl, problem_pddl
    request.prompt, request.stops_at_goal = task.prompt, task.stops_at_goal
    request.history = [MESSAGES.to_msg(step) for step in task.history]
    request.history_form, request.reply_form = task.form.history, task.form.reading
    request.reply_tokens = task.form.max_tokens
    request.without_lists, request.marks = not task.form.lists, task.form.marks
    request.flat_shapes, request.wants_description = task.form.flat, task.form.description
    request.opening = task.form.opening
    request.past = [shown(seen) for seen in task.past]
    request.goal = [] if task.goal is None else [shown(task.goal)]
    return request


def visual_task_from_msg(request: Any, problem: Problem,
                         read: Callable[[msg.Observation], Observation]) -> VisualTask:
    """The task of a request of ProposePlan.

    Args:
        request: what to read.
        problem: the request's problem, read from its PDDL text.
        read: reads the observations of the past and of the goal.
    """
    return VisualTask(problem.for_agent(), request.prompt,
                      tuple(messages.from_msg(PastStep, step) for step in request.history),
                      stops_at_goal=request.stops_at_goal,
                      past=tuple(read(seen) for seen in request.past),
                      goal=next((read(seen) for seen in request.goal), None),
                      form=ProposalForm(request.history_form or 'list',
                                        request.reply_form or 'repaired',
                                        request.reply_tokens, not request.without_lists,
                                        request.marks or 'both', request.flat_shapes,
                                        request.wants_description, request.opening))


def feedback_from_result(result: Any) -> Feedback:
    """The world's reply in a result of ExecuteSkill."""
    return messages.feedback_from_msg(result.status, result.message, result.stamp)
