"""The core's dataclasses as ROS messages, and back.

Functions come in pairs ``x_to_msg`` and ``x_from_msg``; for every value that a message can carry
the round trip gives an equal value. What is recorded is converted by ``sightplan.records``, which
does the same for bags without ROS; here its functions are bound to ROS's messages, beside those
for requests and depth.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import builtin_interfaces.msg
import numpy as np
import sensor_msgs.msg
import sightplan_interfaces.msg
import std_msgs.msg
from numpy.typing import NDArray
from sensor_msgs.msg import Image
from sightplan_interfaces import msg

from sightplan.model import (
    BARE,
    Answer,
    Feedback,
    GroundingPrompt,
    InputError,
    Observation,
    PastStep,
    Problem,
    Question,
    UnknownImageError,
    Verdict,
    VisualTask,
)
from sightplan.records import messages as _recorded
from sightplan.records.messages import (
    belief_from_msg,
    ended_from_msg,
    facts_from_msg,
    fill_spec,
    from_msg,
    image_from_msg,
    maybe_action_from_msg,
    numbers,
    observation_from_msg,
    optimal_length,
    privileged_from_msg,
    probability_from_msg,
    probability_to_msg,
    proposal_from_msg,
    read_problem,
    spec_from_msg,
    state_from_msg,
    text,
    time_from_msg,
    truth_from_msg,
    usage_from_msg,
    verdict_from_msg,
    with_view,
)

__all__ = [
    'MESSAGES', 'action_to_msg', 'belief_from_msg', 'camera_info_to_msg', 'depth_from_msg',
    'depth_to_msg', 'ended_from_msg', 'ended_to_msg', 'event_to_msg', 'facts_from_msg',
    'facts_to_msg', 'feedback_from_result', 'fill_observation', 'fill_plan', 'fill_spec',
    'fill_visual_task', 'from_msg', 'header', 'image_from_msg', 'image_to_msg',
    'maybe_action_from_msg', 'numbers', 'observation_from_msg', 'optimal_length',
    'privileged_from_msg', 'prompt_from_msg', 'proposal_from_msg', 'read_problem',
    'spec_from_msg', 'started_to_msg', 'state_from_msg', 'state_to_msg', 'text', 'time_from_msg',
    'time_to_msg', 'to_msg', 'truth_from_msg', 'truth_to_msg', 'usage_from_msg', 'usage_to_msg',
    'view_to_msg', 'visual_task_from_msg', 'with_view',
]

_PACKAGES = {'builtin_interfaces': builtin_interfaces.msg, 'sensor_msgs': sensor_msgs.msg,
             'sightplan_interfaces': sightplan_interfaces.msg, 'std_msgs': std_msgs.msg}


@functools.cache
def _class(name: str) -> Any:
    package, _, kind = name.split('/')
    return getattr(_PACKAGES[package], kind)


def _make(name: str, /, **fields: Any) -> Any:
    return _class(name)(**fields)


MESSAGES = _recorded.Messages(_make)
"""Makes the messages that are recorded, as ROS's."""

action_to_msg = MESSAGES.action_to_msg
camera_info_to_msg = MESSAGES.camera_info_to_msg
ended_to_msg = MESSAGES.ended_to_msg
event_to_msg = MESSAGES.event_to_msg
facts_to_msg = MESSAGES.facts_to_msg
fill_plan = MESSAGES.fill_plan
header = MESSAGES.header
image_to_msg = MESSAGES.image_to_msg
started_to_msg = MESSAGES.started_to_msg
state_to_msg = MESSAGES.state_to_msg
time_to_msg = MESSAGES.time_to_msg
to_msg = MESSAGES.to_msg
truth_to_msg = MESSAGES.truth_to_msg
usage_to_msg = MESSAGES.usage_to_msg
view_to_msg = MESSAGES.view_to_msg


# depth

def depth_to_msg(depth_m: NDArray[np.float32], stamp_ns: int, frame_id: str = '') -> Image:
    """A depth image as a message.

    Args:
        depth_m: (H, W) float32, metres, NaN where unknown.
        stamp_ns: time of the exposure [ns].
        frame_id: optical frame.
    """
    rows, columns = depth_m.shape
    return Image(header=header(stamp_ns, frame_id), height=rows, width=columns,
                 encoding='32FC1', is_bigendian=0, step=columns * 4,
                 data=_recorded.byte_array(depth_m.astype('<f4', copy=False)))


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
        rows = np.ascontiguousarray(_recorded.image_rows(message, 4))
        return rows.view(f'{order}f4').astype(np.float32)
    if message.encoding == '16UC1':
        units = np.ascontiguousarray(_recorded.image_rows(message, 2)).view(f'{order}u2')
        return np.where(units == 0, np.nan, units * unit_m).astype(np.float32)
    raise InputError(f'depth image: encoding {message.encoding!r} is not 32FC1 or 16UC1')


# requests

def fill_observation(request: Any, observation: Observation, with_image: bool = True) -> Any:
    """Write an observation into a request to a model (Ground, ProposePlan); returns it.

    Args:
        request: what to fill.
        observation: what the model is shown.
        with_image: whether the image itself is sent; else its id stands for it.

    Raises:
        InputError: it has no image.
    """
    if observation.image is None:
        raise InputError('this observation has no image; models on ROS are shown one')
    if with_image:
        request.image = image_to_msg(observation.image, observation.stamp_ns, observation.frame_id)
    else:
        request.image.header = header(observation.stamp_ns, observation.frame_id)
    request.image_id = observation.image_id
    request.view = view_to_msg(observation)
    request.privileged_facts = facts_to_msg(observation.privileged_facts)
    return request


class RequestedObservations:
    """The observations in requests to a model: an image is sent once, then named by its id."""

    def __init__(self, most_bytes: int = 64 * 2**20) -> None:
        """Keep the images that were sent last, up to a size; the newest in any case."""
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, Observation] = OrderedDict()

    def read(self, request: Any) -> Observation:
        """The observation of a request.

        Raises:
            UnknownImageError: its image was not sent, or is not kept any more.
            InputError: its image cannot be read.
        """
        if request.image.data or not request.image_id:
            seen = observation_from_msg(request.image)
            self._keep(seen)
        elif request.image_id in self._kept:
            self._kept.move_to_end(request.image_id)
            stamp = request.image.header
            seen = dataclasses.replace(self._kept[request.image_id], frame_id=stamp.frame_id,
                                       stamp_ns=time_from_msg(stamp.stamp))
        else:
            raise UnknownImageError(f'image {request.image_id!r} is not known here (any more); '
                                    'send it with the request')
        return with_view(seen, request.view, request.privileged_facts)

    def _keep(self, seen: Observation) -> None:
        self._kept[seen.image_id] = seen
        self._kept.move_to_end(seen.image_id)
        while len(self._kept) > 1 and self._size() > self._most_bytes:
            self._kept.popitem(last=False)

    def _size(self) -> int:
        return sum(seen.image.nbytes for seen in self._kept.values() if seen.image is not None)


def fill_answers(response: Any, answers: Sequence[Answer]) -> Any:
    """Write answers into a response of Ground; returns it."""
    response.verdicts = [numbers(Verdict)[answer.verdict] for answer in answers]
    response.p_yes = [probability_to_msg(answer.p_yes) for answer in answers]
    response.p_no = [probability_to_msg(answer.p_no) for answer in answers]
    response.texts = [text(answer.text) for answer in answers]
    return response


def answers_from_response(response: Any, questions: Sequence[Question]) -> list[Answer]:
    """The answers to questions in a response of Ground.

    Raises:
        InputError: unknown numbers, or not one answer per question.
    """
    fields = (response.verdicts, response.p_yes, response.p_no, response.texts)
    if any(len(field) != len(questions) for field in fields):
        raise InputError(f'{len(questions)} questions have {len(response.verdicts)} answers')
    return [Answer(question.atom, verdict_from_msg(verdict), probability_from_msg(p_yes),
                   probability_from_msg(p_no), reply)
            for question, verdict, p_yes, p_no, reply in zip(questions, *fields, strict=True)]


def prompt_from_msg(message: msg.GroundingPrompt) -> GroundingPrompt:
    """A message's words around questions; one that was left empty stands for none."""
    return GroundingPrompt(
        message.name or BARE.name, message.system, message.before_image, message.after_image,
        message.question or BARE.question, message.reasoning,
        int(message.max_tokens) or BARE.max_tokens, message.sha256)


def fill_visual_task(request: Any, task: VisualTask, problem_pddl: str) -> Any:
    """Write what a model shall plan for into a request of ProposePlan; returns it.

    Args:
        request: what to fill.
        task: what the model is asked.
        problem_pddl: text of its problem, as Domain.write_problem gives it.
    """
    problem = task.problem
    request.domain, request.problem = problem.domain, problem.name
    request.domain_pddl, request.problem_pddl = problem.domain_pddl, problem_pddl
    request.prompt, request.stops_at_goal = task.prompt, task.stops_at_goal
    request.history = [to_msg(step) for step in task.history]
    return request


def visual_task_from_msg(request: Any, problem: Problem) -> VisualTask:
    """What a model shall plan for, by a request of ProposePlan.

    Args:
        request: what to read.
        problem: the request's problem, read from its PDDL text.
    """
    return VisualTask(problem.for_agent(), request.prompt,
                      tuple(from_msg(PastStep, step) for step in request.history),
                      stops_at_goal=request.stops_at_goal)


def feedback_from_result(result: Any) -> Feedback:
    """The world's reply in a result of ExecuteSkill."""
    return _recorded.feedback_from_msg(result.status, result.message, result.stamp)
