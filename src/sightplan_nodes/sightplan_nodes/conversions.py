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
    Atom,
    Feedback,
    GroundingPrompt,
    InputError,
    Observation,
    Problem,
    Question,
    UnknownImageError,
    VisualTask,
)
from sightplan.records import messages as _recorded
from sightplan.records.messages import (
    STATUSES,
    VERDICTS,
    action_from_msg,
    answer_from_msg,
    asked_from_msg,
    atom_from_msg,
    belief_from_msg,
    ended_from_msg,
    facts_from_msg,
    fill_spec,
    image_from_msg,
    maybe_action_from_msg,
    observation_from_msg,
    observed_from_msg,
    optimal_length,
    past_step_from_msg,
    planned_from_msg,
    planning_result,
    privileged_from_msg,
    probability_from_msg,
    probability_to_msg,
    proposal_from_msg,
    proposed_from_msg,
    question_from_msg,
    read_problem,
    spec_from_msg,
    state_from_msg,
    step_from_msg,
    text,
    time_from_msg,
    truth_from_msg,
    usage_from_msg,
    verdict_from_msg,
    with_view,
)

__all__ = [
    'MESSAGES', 'STATUSES', 'action_from_msg', 'action_to_msg', 'answer_from_msg',
    'answer_to_msg', 'asked_from_msg', 'asked_to_msg', 'atom_from_msg', 'atom_to_msg',
    'belief_from_msg', 'belief_to_msg', 'camera_info_to_msg', 'depth_from_msg', 'depth_to_msg',
    'ended_from_msg', 'ended_to_msg', 'facts_from_msg', 'facts_to_msg', 'feedback_from_result',
    'fill_observation', 'fill_plan', 'fill_spec', 'fill_visual_task', 'header', 'image_from_msg',
    'image_to_msg', 'maybe_action_from_msg', 'observation_from_msg', 'observed_from_msg',
    'observed_to_msg', 'optimal_length',
    'past_step_from_msg', 'past_step_to_msg', 'plan_to_msg', 'planned_from_msg', 'planned_to_msg',
    'planning_result', 'privileged_from_msg', 'prompt_from_msg', 'prompt_to_msg',
    'proposal_from_msg', 'proposal_to_msg', 'proposed_from_msg', 'proposed_to_msg',
    'question_from_msg', 'question_to_msg', 'read_problem', 'spec_from_msg',
    'started_to_msg', 'state_from_msg', 'state_to_msg', 'step_from_msg', 'step_to_msg', 'text',
    'time_from_msg', 'time_to_msg', 'truth_from_msg',
    'truth_to_msg', 'usage_from_msg', 'usage_to_msg', 'view_to_msg', 'visual_task_from_msg',
    'with_view',
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
answer_to_msg = MESSAGES.answer_to_msg
asked_to_msg = MESSAGES.asked_to_msg
atom_to_msg = MESSAGES.atom_to_msg
belief_to_msg = MESSAGES.belief_to_msg
camera_info_to_msg = MESSAGES.camera_info_to_msg
ended_to_msg = MESSAGES.ended_to_msg
fill_plan = MESSAGES.fill_plan
header = MESSAGES.header
image_to_msg = MESSAGES.image_to_msg
facts_to_msg = MESSAGES.facts_to_msg
past_step_to_msg = MESSAGES.past_step_to_msg
plan_to_msg = MESSAGES.plan_to_msg
planned_to_msg = MESSAGES.planned_to_msg
proposal_to_msg = MESSAGES.proposal_to_msg
proposed_to_msg = MESSAGES.proposed_to_msg
question_to_msg = MESSAGES.question_to_msg
started_to_msg = MESSAGES.started_to_msg
state_to_msg = MESSAGES.state_to_msg
step_to_msg = MESSAGES.step_to_msg
time_to_msg = MESSAGES.time_to_msg
observed_to_msg = MESSAGES.observed_to_msg
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
    request.privileged_facts = facts_to_msg(observation.told)
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


def fill_questions(request: Any, questions: Sequence[Question]) -> Any:
    """Write questions into a request of Ground; returns it."""
    texts = [_question_texts(question) for question in questions]
    request.atoms, request.questions = [atom for atom, _ in texts], [words for _, words in texts]
    return request


@functools.lru_cache(4096)
def _question_texts(question: Question) -> tuple[str, str]:
    """Atom and wording; the same questions come with every observation of an episode."""
    return str(question.atom), text(question.text)


def questions_from_request(request: Any) -> list[Question]:
    """The questions of a request of Ground.

    Raises:
        InputError: an atom cannot be read, or they are not as many as the wordings.
    """
    if len(request.atoms) != len(request.questions):
        raise InputError(f'{len(request.atoms)} atoms have {len(request.questions)} wordings')
    return [_question(atom, words)
            for atom, words in zip(request.atoms, request.questions, strict=True)]


@functools.lru_cache(4096)
def _question(atom: str, words: str) -> Question:
    try:
        return Question(Atom.parse(atom), words)
    except ValueError as error:
        raise InputError(f'question {words!r}: {error}') from error


def fill_answers(response: Any, answers: Sequence[Answer]) -> Any:
    """Write answers into a response of Ground; returns it."""
    response.verdicts = [VERDICTS[answer.verdict] for answer in answers]
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


def prompt_to_msg(prompt: GroundingPrompt) -> msg.GroundingPrompt:
    """The words around questions as a message."""
    return msg.GroundingPrompt(
        name=prompt.name, system=text(prompt.system), before_image=text(prompt.before_image),
        after_image=text(prompt.after_image), question=text(prompt.question),
        reasoning=prompt.reasoning, max_tokens=prompt.max_tokens, sha256=prompt.sha256)


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
    request.history = [past_step_to_msg(step) for step in task.history]
    return request


def visual_task_from_msg(request: Any, problem: Problem) -> VisualTask:
    """What a model shall plan for, by a request of ProposePlan.

    Args:
        request: what to read.
        problem: the request's problem, read from its PDDL text.
    """
    return VisualTask(problem.for_agent(), request.prompt,
                      tuple(past_step_from_msg(step) for step in request.history),
                      stops_at_goal=request.stops_at_goal)


def feedback_from_result(result: Any) -> Feedback:
    """The world's reply in a result of ExecuteSkill."""
    return _recorded.feedback_from_msg(result.status, result.message, result.stamp)
