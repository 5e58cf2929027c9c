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
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import Image
from sightplan_interfaces import msg

from sightplan.model import (
    BARE,
    Answer,
    Atom,
    Feedback,
    Form,
    GroundingPrompt,
    InputError,
    Observation,
    PastStep,
    Problem,
    Question,
    Target,
    UnknownImageError,
    Verdict,
    VisualTask,
)
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.region import Point
from sightplan.records import messages
from sightplan.records.messages import text
from sightplan_belief import Found


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

def fill_observation(request: Any, observation: Observation, with_image: bool = True) -> Any:
    """Write an observation into a request to a model (Ground, TellApart, ProposePlan); returns it.

    Args:
        request: what to fill.
        observation: what the model is shown.
        with_image: whether the image itself is sent; else its id stands for it.

    Raises:
        InputError: it has neither image nor text.
    """
    _check_shows_something(observation)
    if with_image and observation.image is not None:
        request.image = MESSAGES.image_to_msg(observation.image, observation.stamp_ns,
                                              observation.frame_id)
    else:
        request.image.header = MESSAGES.header(observation.stamp_ns, observation.frame_id)
    request.image_id = observation.image_id
    if hasattr(request, 'view'):
        request.view = MESSAGES.view_to_msg(observation)
        request.privileged_facts = MESSAGES.facts_to_msg(observation.privileged_facts)
    return request


DepthAt = Callable[[int], NDArray[np.float32] | None]
"""Gives the depth of a picture, (H, W) [m], by the picture's stamp [ns]; None: there is none."""


class RequestedObservations:
    """The observations in requests to a model: an image is sent once, then named by its id.

    Attributes:
        depth_at: gives the depth of a picture by its stamp [ns]; None: the model needs none.
    """

    def __init__(self, most_bytes: int = 64 * 2**20) -> None:
        """Keep the images that were sent last, up to a size; the newest in any case."""
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, Observation] = OrderedDict()
        self.depth_at: DepthAt | None = None

    def read(self, request: Any) -> Observation:
        """The observation of a request.

        Raises:
            UnknownImageError: its image was not sent, or is not kept any more.
            InputError: its image cannot be read.
        """
        words = not request.image.data and not request.image_id and bool(request.view.text)
        seen = _without_picture(request.image) if words else self.picture(request)
        return messages.with_view(seen, request.view, request.privileged_facts)

    def picture(self, request: Any, depth_at: DepthAt | None = None) -> Observation:
        """The picture of a request, without what else is known about the observation.

        Args:
            request: with ``image`` and ``image_id``. A picture that is named by its id without a
                stamp has the stamp that it was sent with.
            depth_at: gives its depth, where it has none yet; None: as the attribute says, of a
                picture that is sent.

        Raises:
            UnknownImageError: it was not sent, or is not kept any more.
            InputError: it cannot be read.
        """
        if request.image.data or not request.image_id:
            seen = messages.observation_from_msg(request.image)
            depth_at = depth_at or self.depth_at
        elif request.image_id in self._kept:
            seen = self._kept[request.image_id]
            stamp_ns = messages.time_from_msg(request.image.header.stamp)
            if stamp_ns or request.image.header.frame_id:
                seen = dataclasses.replace(seen, frame_id=request.image.header.frame_id,
                                           stamp_ns=stamp_ns)
        else:
            raise UnknownImageError(f'image {request.image_id!r} is not known here (any more); '
                                    'send it with the request')
        if depth_at is not None and seen.depth_m is None:
            seen = dataclasses.replace(seen, depth_m=depth_at(seen.stamp_ns))
        self._keep(seen)
        return seen

    def _keep(self, seen: Observation) -> None:
        self._kept[seen.image_id] = seen
        self._kept.move_to_end(seen.image_id)
        while len(self._kept) > 1 and self._size() > self._most_bytes:
            self._kept.popitem(last=False)

    def _size(self) -> int:
        return sum(part.nbytes for seen in self._kept.values()
                   for part in (seen.image, seen.depth_m) if part is not None)


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
    response.verdicts = [messages.numbers(Verdict)[answer.verdict] for answer in answers]
    response.p_yes = [messages.probability_to_msg(answer.p_yes) for answer in answers]
    response.p_no = [messages.probability_to_msg(answer.p_no) for answer in answers]
    response.p_unknown = [messages.probability_to_msg(answer.p_unknown) for answer in answers]
    response.texts = [text(answer.text) for answer in answers]
    return response


def answers_from_response(response: Any, questions: Sequence[Question]) -> list[Answer]:
    """The answers to questions in a response of Ground.

    Raises:
        InputError: unknown numbers, or not one answer per question.
    """
    fields = (response.verdicts, response.p_yes, response.p_no, response.texts,
              response.p_unknown)
    if any(len(field) != len(questions) for field in fields):
        raise InputError(f'{len(questions)} questions have {len(response.verdicts)} answers')
    return [Answer(question.atom, messages.verdict_from_msg(verdict),
                   messages.probability_from_msg(p_yes), messages.probability_from_msg(p_no),
                   reply, messages.probability_from_msg(p_unknown))
            for question, verdict, p_yes, p_no, reply, p_unknown in zip(
                questions, *fields, strict=True)]


def fill_targets(request: Any, targets: Sequence[Target], settings: PointerSettings | None = None,
                 start: Point | None = None) -> Any:
    """Write what to find into a request of Locate; returns it.

    Args:
        request: what to fill.
        targets: what to find, all of one form.
        settings: how long the model is asked (max_askings, accept); None: as the node has it.
        start: where a trace is to begin.

    Raises:
        InputError: there are targets of different forms.
    """
    forms = {target.form for target in targets}
    if len(forms) > 1:
        raise InputError(f'a request asks for one form, not for {", ".join(sorted(forms))}: send '
                         'one for each')
    request.targets = [text(target.text) for target in targets]
    request.form = next((messages.numbers(Form)[form] for form in forms), 0)
    request.start = list(start or ())
    if settings is not None:
        request.max_askings, request.accept = settings.max_askings, settings.accept
    return request


def targets_from_request(request: Any) -> list[Target]:
    """What to find by a request of Locate.

    Raises:
        InputError: its form is unknown.
    """
    form = messages.form_from_msg(request.form)
    return [Target(words, form) for words in request.targets]


def fill_found(response: Any, found: Sequence[Found]) -> Any:
    """Write where things are into a response of Locate; returns it."""
    response.found = [msg.Located(
        target=text(thing.target.text), regions=[MESSAGES.region_to_msg(r) for r in thing.regions],
        probability=messages.probability_to_msg(thing.probability), sure=thing.sure,
        unread=text(thing.unread), text=text(thing.text), askings=thing.askings,
        checks=thing.checks, doubt=text(thing.doubt)) for thing in found]
    return response


def found_from_response(response: Any, targets: Sequence[Target]) -> list[Found]:
    """Where things are, by a response of Locate.

    Raises:
        InputError: there is not one place per target, or a region cannot be read.
    """
    if len(response.found) != len(targets):
        raise InputError(f'{len(targets)} targets have {len(response.found)} places')
    return [Found(target, tuple(messages.region_from_msg(region) for region in located.regions),
                  messages.probability_from_msg(located.probability), bool(located.sure),
                  located.unread, located.text, int(located.askings), int(located.checks),
                  response.model, located.doubt)
            for target, located in zip(targets, response.found, strict=True)]


def prompt_to_msg(prompt: GroundingPrompt) -> msg.GroundingPrompt:
    """The words around questions as a message."""
    message: msg.GroundingPrompt = MESSAGES.to_msg(prompt)
    return message


def prompt_from_msg(message: msg.GroundingPrompt) -> GroundingPrompt:
    """A message's words around questions; one that was left empty stands for none."""
    return GroundingPrompt(
        message.name or BARE.name, message.system, message.before_image, message.after_image,
        message.question or BARE.question, message.reasoning,
        int(message.max_tokens) or BARE.max_tokens, message.sha256, message.unknown,
        message.reading)


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
    request.history = [MESSAGES.to_msg(step) for step in task.history]
    goals = [] if task.goal is None else [task.goal]
    request.past, request.past_views = _pictures_and_views(task.past)
    request.goal, request.goal_view = _pictures_and_views(goals)
    return request


def _pictures_and_views(seen: Sequence[Observation]) -> tuple[list[Image], list[msg.View]]:
    """Observations as messages; one in words alone has an empty picture.

    Raises:
        InputError: one has neither image nor text.
    """
    for observation in seen:
        _check_shows_something(observation)
    return [Image(header=MESSAGES.header(one.stamp_ns, one.frame_id)) if one.image is None
            else MESSAGES.image_to_msg(one.image, one.stamp_ns, one.frame_id) for one in seen], [
        MESSAGES.view_to_msg(one) for one in seen]


def _check_shows_something(observation: Observation) -> None:
    if observation.image is None and not observation.text:
        raise InputError('this observation has neither image nor text; models on ROS are shown '
                         'one of them')


def _without_picture(message: Image) -> Observation:
    """The observation that an empty picture stands for."""
    return Observation(stamp_ns=messages.time_from_msg(message.header.stamp),
                       frame_id=message.header.frame_id)


def _shown(pictures: Sequence[Image], views: Sequence[msg.View]) -> list[Observation]:
    """Observations out of messages.

    Raises:
        InputError: there is not one view for each picture, or one cannot be read.
    """
    if len(pictures) != len(views):
        raise InputError(f'{len(pictures)} pictures have {len(views)} views')
    return [messages.with_view(messages.observation_from_msg(picture) if picture.data
                               else _without_picture(picture), view)
            for picture, view in zip(pictures, views, strict=True)]


def visual_task_from_msg(request: Any, problem: Problem) -> VisualTask:
    """What a model shall plan for, by a request of ProposePlan.

    Args:
        request: what to read.
        problem: the request's problem, read from its PDDL text.
    """
    return VisualTask(problem.for_agent(), request.prompt,
                      tuple(messages.from_msg(PastStep, step) for step in request.history),
                      stops_at_goal=request.stops_at_goal,
                      past=tuple(_shown(request.past, request.past_views)),
                      goal=next(iter(_shown(request.goal, request.goal_view)), None))


def feedback_from_result(result: Any) -> Feedback:
    """The world's reply in a result of ExecuteSkill."""
    return messages.feedback_from_msg(result.status, result.message, result.stamp)
