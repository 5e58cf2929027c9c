"""The core's dataclasses as ROS messages, and back.

Functions come in pairs ``x_to_msg`` and ``x_from_msg``; for every value that a message can carry
the round trip gives an equal value. An absent probability or price (None) travels as NaN. What a
message's text cannot carry, and models do write (a NUL, half of a surrogate pair), becomes U+FFFD.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from sensor_msgs.msg import Image
from sightplan_interfaces import msg
from std_msgs.msg import Header

from sightplan.model import (
    BARE,
    Action,
    Answer,
    Asked,
    AskPurpose,
    Atom,
    Belief,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeSpec,
    EpisodeStarted,
    Feedback,
    FeedbackStatus,
    GroundingPrompt,
    InputError,
    Observation,
    Observed,
    PastStep,
    Planned,
    PlanningResult,
    PlanningStatus,
    Privileged,
    Problem,
    Proposal,
    ProposalStatus,
    Proposed,
    Question,
    State,
    Stepped,
    StopReason,
    Usage,
    Verdict,
    VisualTask,
)

T = TypeVar('T')

VERDICTS = {Verdict.YES: msg.Answer.YES, Verdict.NO: msg.Answer.NO,
            Verdict.UNPARSED: msg.Answer.UNPARSED}
PURPOSES = {AskPurpose.ENUMERATION: msg.AnswerArray.ENUMERATION,
            AskPurpose.PRECONDITION: msg.AnswerArray.PRECONDITION,
            AskPurpose.EFFECT: msg.AnswerArray.EFFECT, AskPurpose.GOAL: msg.AnswerArray.GOAL}
EXPECTATIONS = {None: msg.AnswerArray.EXPECT_NOTHING, True: msg.AnswerArray.EXPECT_YES,
                False: msg.AnswerArray.EXPECT_NO}
STATUSES = {FeedbackStatus.EXECUTED: msg.Step.EXECUTED,
            FeedbackStatus.REJECTED: msg.Step.REJECTED,
            FeedbackStatus.WITHHELD: msg.Step.WITHHELD,
            FeedbackStatus.INVALID: msg.Step.INVALID}
PLANNING_STATUSES = {PlanningStatus.SOLVED: msg.PlanStamped.SOLVED,
                     PlanningStatus.UNSOLVABLE: msg.PlanStamped.UNSOLVABLE,
                     PlanningStatus.TIMEOUT: msg.PlanStamped.TIMEOUT,
                     PlanningStatus.CRASHED: msg.PlanStamped.CRASHED}
PROPOSAL_STATUSES = {ProposalStatus.PLANNED: msg.Proposal.PLANNED,
                     ProposalStatus.UNPARSED: msg.Proposal.UNPARSED,
                     ProposalStatus.EMPTY: msg.Proposal.EMPTY,
                     ProposalStatus.UNKNOWN_ACTION: msg.Proposal.UNKNOWN_ACTION,
                     ProposalStatus.WRONG_ARGUMENTS: msg.Proposal.WRONG_ARGUMENTS}

_COLOUR_ORDERS = {'rgb8': (0, 1, 2), 'bgr8': (2, 1, 0), 'rgba8': (0, 1, 2), 'bgra8': (2, 1, 0),
                  'mono8': (0, 0, 0)}
_CHANNELS = {'rgb8': 3, 'bgr8': 3, 'rgba8': 4, 'bgra8': 4, 'mono8': 1}
_NO_LENGTH = -1
_NO_TEXT = re.compile('[\0\ud800-\udfff]')


def _member(table: dict[T, int], value: int, field: str) -> T:
    """The key that a message's number stands for.

    Raises:
        InputError: the number stands for nothing; names the field.
    """
    for key, number in table.items():
        if number == value:
            return key
    raise InputError(f'{field} = {value} is not a value of this interface; sender and receiver '
                     'must be built from the same version')


def text(value: str) -> str:
    """A text as messages and logs can carry it.

    What comes from a model, a server or a file may not fit: half of a surrogate pair has no
    encoding in UTF-8, and NUL would end the text.
    """
    return _NO_TEXT.sub('\ufffd', value)


# time

def time_to_msg(stamp_ns: int) -> Time:
    """Nanoseconds as a message."""
    seconds, nanoseconds = divmod(stamp_ns, 10**9)
    return Time(sec=seconds, nanosec=nanoseconds)


def time_from_msg(time: Time) -> int:
    """A message's time [ns]."""
    return int(time.sec) * 10**9 + int(time.nanosec)


def header(stamp_ns: int, frame_id: str = '') -> Header:
    """A header with time and frame."""
    return Header(stamp=time_to_msg(stamp_ns), frame_id=frame_id)


# symbols

def atom_to_msg(atom: Atom) -> msg.Atom:
    """An atom as a message."""
    return msg.Atom(predicate=atom.predicate, args=list(atom.args))


def atom_from_msg(message: msg.Atom) -> Atom:
    """A message's atom.

    Raises:
        InputError: a name is not a lower-case PDDL name.
    """
    try:
        return Atom(message.predicate, tuple(message.args))
    except ValueError as error:
        raise InputError(str(error)) from error


def state_to_msg(state: Iterable[Atom]) -> list[msg.Atom]:
    """A state's true atoms, in a fixed order."""
    return [atom_to_msg(atom) for atom in sorted(state)]


def state_from_msg(messages: Iterable[msg.Atom]) -> State:
    """The state whose true atoms these are."""
    return frozenset(atom_from_msg(message) for message in messages)


def action_to_msg(action: Action | None) -> msg.SymbolicAction:
    """An action as a message; an empty name stands for none."""
    if action is None:
        return msg.SymbolicAction()
    return msg.SymbolicAction(name=action.name, args=list(action.args))


def action_from_msg(message: msg.SymbolicAction) -> Action:
    """A message's action.

    Raises:
        InputError: a name is not a lower-case PDDL name.
    """
    try:
        return Action(message.name, tuple(message.args))
    except ValueError as error:
        raise InputError(str(error)) from error


def maybe_action_from_msg(message: msg.SymbolicAction) -> Action | None:
    """A message's action, or None when its name is empty."""
    return action_from_msg(message) if message.name else None


# images

def image_to_msg(image: NDArray[np.uint8], stamp_ns: int, frame_id: str = '') -> Image:
    """An RGB image as a message, in well under a millisecond.

    Args:
        image: (H, W, 3) uint8.
        stamp_ns: time of the exposure [ns].
        frame_id: optical frame.
    """
    rows, columns, _ = image.shape
    return Image(header=header(stamp_ns, frame_id), height=rows, width=columns, encoding='rgb8',
                 is_bigendian=0, step=columns * 3, data=_byte_array(image))


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
                 data=_byte_array(depth_m.astype('<f4', copy=False)))


def _byte_array(values: NDArray[Any]) -> array[int]:
    """Bytes in the one container that message fields take without a look at each element."""
    data = array('B')
    data.frombytes(np.ascontiguousarray(values).tobytes())
    return data


def _rows(message: Image, bytes_per_pixel: int) -> NDArray[np.uint8]:
    """(H, W * bytes_per_pixel) view of a message's bytes, without its rows' padding.

    Raises:
        InputError: the sizes do not fit together.
    """
    used = message.width * bytes_per_pixel
    if message.step < used or len(message.data) < message.step * message.height:
        raise InputError(
            f'image: {message.width} x {message.height} {message.encoding} with step '
            f'{message.step} needs {max(used, message.step) * message.height} bytes, not '
            f'{len(message.data)}')
    data = np.frombuffer(message.data, np.uint8, message.step * message.height)
    return data.reshape(message.height, message.step)[:, :used]


def image_from_msg(message: Image) -> NDArray[np.uint8]:
    """A message's RGB image: (H, W, 3) uint8, read-only.

    Raises:
        InputError: an encoding that is not rgb8, bgr8, rgba8, bgra8 or mono8, or wrong sizes.
    """
    if message.encoding not in _CHANNELS:
        raise InputError(f'image: encoding {message.encoding!r} is not one of '
                         f'{", ".join(_CHANNELS)}; convert it (for example with image_proc)')
    channels = _CHANNELS[message.encoding]
    pixels = _rows(message, channels).reshape(message.height, message.width, channels)
    if message.encoding != 'rgb8':
        pixels = pixels[..., _COLOUR_ORDERS[message.encoding]]
    image = np.ascontiguousarray(pixels)
    image.flags.writeable = False
    return image


def depth_from_msg(message: Image) -> NDArray[np.float32]:
    """A message's depth image: (H, W) float32, metres, NaN where unknown.

    Takes 32FC1 (metres) and 16UC1 (millimetres, 0 for unknown, as real cameras send).

    Raises:
        InputError: another encoding, or wrong sizes.
    """
    order = '>' if message.is_bigendian else '<'
    if message.encoding == '32FC1':
        rows = np.ascontiguousarray(_rows(message, 4))
        return rows.view(f'{order}f4').astype(np.float32)
    if message.encoding == '16UC1':
        millimetres = np.ascontiguousarray(_rows(message, 2)).view(f'{order}u2')
        return np.where(millimetres == 0, np.nan, millimetres * 1e-3).astype(np.float32)
    raise InputError(f'depth image: encoding {message.encoding!r} is not 32FC1 or 16UC1')


def observation_from_msg(message: Image) -> Observation:
    """What the agent sees in an image message."""
    return Observation(image=image_from_msg(message), stamp_ns=time_from_msg(message.header.stamp),
                       frame_id=message.header.frame_id)


# what else is known about a look

def view_to_msg(observation: Observation) -> msg.View:
    """What is known about a look besides pictures and told facts, as a message."""
    visible = observation.visible_objects
    return msg.View(knows_visible=visible is not None,
                    visible_objects=list(visible or ()), text=text(observation.text or ''))


def with_view(observation: Observation, message: msg.View,
              told: Iterable[msg.Fact] = ()) -> Observation:
    """A look with what else is known about it.

    Args:
        observation: the look.
        message: what is in view.
        told: privileged information.
    """
    visible = tuple(message.visible_objects) if message.knows_visible else None
    return dataclasses.replace(observation, visible_objects=visible, text=message.text or None,
                               told=told_from_msg(told))


def fill_look(request: Any, observation: Observation) -> Any:
    """Write a look into a request to a model (Ground, ProposePlan); returns it.

    Raises:
        InputError: it has no image.
    """
    if observation.image is None:
        raise InputError('this look has no image; models on ROS are shown one')
    request.image = image_to_msg(observation.image, observation.stamp_ns, observation.frame_id)
    request.view, request.told = view_to_msg(observation), told_to_msg(observation.told)
    return request


def requested_look(request: Any) -> Observation:
    """The look in a request to a model."""
    return with_view(observation_from_msg(request.image), request.view, request.told)


def told_to_msg(told: Mapping[Atom, bool]) -> list[msg.Fact]:
    """Facts as messages, in their order (prompts keep it)."""
    return [msg.Fact(atom=atom_to_msg(atom), holds=holds) for atom, holds in told.items()]


def told_from_msg(messages: Iterable[msg.Fact]) -> dict[Atom, bool]:
    """Facts in messages."""
    return {atom_from_msg(message.atom): bool(message.holds) for message in messages}


def privileged_from_msg(value: str) -> Privileged:
    """When privileged information is told; an empty text stands for never.

    Raises:
        InputError: another text than a value of Privileged.
    """
    try:
        return Privileged(value or Privileged.NONE.value)
    except ValueError as error:
        raise InputError(f'privileged = {text(value)!r} is not one of '
                         f'{", ".join(level.value for level in Privileged)}') from error


# questions and answers

def question_to_msg(question: Question) -> msg.Question:
    """A question as a message."""
    return msg.Question(atom=atom_to_msg(question.atom), text=text(question.text))


def question_from_msg(message: msg.Question) -> Question:
    """A message's question."""
    return Question(atom_from_msg(message.atom), message.text)


def _probability_to_msg(value: float | None) -> float:
    return math.nan if value is None else value


def _probability_from_msg(value: float) -> float | None:
    return None if math.isnan(value) else value


def answer_to_msg(answer: Answer) -> msg.Answer:
    """An answer as a message; a missing probability becomes NaN."""
    return msg.Answer(atom=atom_to_msg(answer.atom), verdict=VERDICTS[answer.verdict],
                      p_yes=_probability_to_msg(answer.p_yes),
                      p_no=_probability_to_msg(answer.p_no), text=text(answer.text))


def answer_from_msg(message: msg.Answer) -> Answer:
    """A message's answer."""
    return Answer(atom_from_msg(message.atom), _member(VERDICTS, message.verdict, 'verdict'),
                  _probability_from_msg(message.p_yes), _probability_from_msg(message.p_no),
                  message.text)


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


def usage_to_msg(usage: Usage | None) -> msg.Usage:
    """What a model's use cost, as a message; None: nobody counted."""
    if usage is None:
        return msg.Usage(cost_usd=math.nan)
    return msg.Usage(counted=True, requests=usage.requests, prompt_tokens=usage.prompt_tokens,
                     completion_tokens=usage.completion_tokens,
                     cost_usd=math.nan if usage.cost_usd is None else usage.cost_usd)


def usage_from_msg(message: msg.Usage) -> Usage | None:
    """What a model's use cost; None: nobody counted."""
    if not message.counted:
        return None
    return Usage(int(message.requests), int(message.prompt_tokens),
                 int(message.completion_tokens),
                 None if math.isnan(message.cost_usd) else message.cost_usd)


# planning

def plan_to_msg(plan: Sequence[Action]) -> list[msg.SymbolicAction]:
    """A plan's actions as messages."""
    return [action_to_msg(action) for action in plan]


def fill_plan(reply: Any, result: PlanningResult) -> Any:
    """Write a planner's result into a PlanStamped or a response of Plan; returns it."""
    reply.status = PLANNING_STATUSES[result.status]
    reply.actions = plan_to_msg(result.plan)
    reply.seconds, reply.cached = result.seconds, result.cached
    reply.message = text(result.message)
    return reply


def planning_result(reply: Any) -> PlanningResult:
    """The planner's result in a PlanStamped or in a response of Plan."""
    return PlanningResult(_member(PLANNING_STATUSES, reply.status, 'status'),
                          tuple(action_from_msg(action) for action in reply.actions),
                          reply.seconds, reply.cached, reply.message)


def past_step_to_msg(step: PastStep) -> msg.PastStep:
    """A step that a prompt tells of, as a message."""
    return msg.PastStep(action=text(step.action), outcome=text(step.outcome))


def past_step_from_msg(message: msg.PastStep) -> PastStep:
    """A message's step that a prompt tells of."""
    return PastStep(message.action, message.outcome)


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


def proposal_to_msg(proposal: Proposal) -> msg.Proposal:
    """A model's plan as a message."""
    return msg.Proposal(
        status=PROPOSAL_STATUSES[proposal.status], actions=plan_to_msg(proposal.actions),
        named=text(proposal.named), message=text(proposal.message),
        explanation=text(proposal.explanation), repaired=proposal.repaired,
        text=text(proposal.text), model=text(proposal.model), prompt_sha256=proposal.prompt_sha256,
        seconds=proposal.seconds)


def proposal_from_msg(message: msg.Proposal) -> Proposal:
    """A message's plan of a model.

    Raises:
        InputError: an unknown status, or one that does not go with the actions.
    """
    status = _member(PROPOSAL_STATUSES, message.status, 'status')
    if (status is ProposalStatus.PLANNED) is not bool(message.actions):
        raise InputError(f'a proposal is {status.value} with {len(message.actions)} actions; only '
                         'one that is planned has actions, and at least one')
    return Proposal(
        status, tuple(action_from_msg(action) for action in message.actions), message.named,
        message.message, message.explanation, message.repaired, message.text, message.model,
        message.prompt_sha256, message.seconds)


# episodes

def fill_spec(message: Any, spec: EpisodeSpec, problem_pddl: str) -> Any:
    """Write an episode's specification into an EpisodeEvent or a goal of RunEpisode.

    Args:
        message: what to fill.
        spec: the episode.
        problem_pddl: text of its problem, as Domain.write_problem gives it.
    """
    problem = spec.problem
    message.episode_id, message.split, message.method = spec.episode_id, spec.split, spec.method
    message.domain, message.problem = problem.domain, problem.name
    message.domain_pddl, message.problem_pddl = problem.domain_pddl, problem_pddl
    length = problem.optimal_length
    message.optimal_length = _NO_LENGTH if length is None else length
    message.seed, message.max_actions = spec.seed, spec.max_actions
    message.failure_probability = spec.failure_probability
    message.stop_at_goal, message.privileged = spec.stop_at_goal, spec.privileged.value
    return message


def optimal_length(message: Any) -> int | None:
    """The optimal plan length of an EpisodeEvent or a goal of RunEpisode; None: unknown."""
    return None if message.optimal_length == _NO_LENGTH else int(message.optimal_length)


def spec_from_msg(message: Any, problem: Problem) -> EpisodeSpec:
    """The specification in an EpisodeEvent or a goal of RunEpisode.

    Args:
        message: what to read.
        problem: the message's problem, read from its PDDL text.

    Raises:
        InputError: a level of privileged information that there is not.
    """
    return EpisodeSpec(message.episode_id, problem, message.method, message.split,
                       int(message.seed), int(message.max_actions),
                       float(message.failure_probability), bool(message.stop_at_goal),
                       privileged_from_msg(message.privileged))


def started_to_msg(event: EpisodeStarted, problem_pddl: str, stamp_ns: int,
                   sequence: int) -> msg.EpisodeEvent:
    """The start of an episode as a message."""
    message = msg.EpisodeEvent(header=header(stamp_ns), kind=msg.EpisodeEvent.STARTED,
                               sequence=sequence)
    return fill_spec(message, event.spec, problem_pddl)


def ended_to_msg(event: EpisodeEnded, spec: EpisodeSpec, sequence: int) -> msg.EpisodeEvent:
    """The end of an episode as a message (without the problem's text)."""
    message = fill_spec(msg.EpisodeEvent(), spec, '')
    message.domain_pddl = ''
    message.header = header(event.stamp_ns)
    message.kind, message.sequence = msg.EpisodeEvent.ENDED, sequence
    message.stop_reason, message.message = event.reason.value, text(event.message)
    message.steps, message.remaining, message.seconds = event.steps, event.remaining, event.seconds
    message.timings_json = json.dumps(event.timings_s)
    return message


def ended_from_msg(message: msg.EpisodeEvent) -> EpisodeEnded:
    """The end of an episode.

    Raises:
        InputError: an unknown reason, or timings that are not JSON.
    """
    try:
        reason = StopReason(message.stop_reason)
        timings = json.loads(message.timings_json or '{}')
    except ValueError as error:
        raise InputError(f'end of episode {message.episode_id}: {error}') from error
    return EpisodeEnded(reason, message.message, int(message.steps), int(message.remaining),
                        time_from_msg(message.header.stamp), message.seconds,
                        {str(stage): float(s) for stage, s in timings.items()})


def look_to_msg(event: Observed, episode_id: str, sequence: int,
                labelled: bool = False) -> msg.Look:
    """A look as a message: the image itself is on a topic of the camera's, at the same stamp.

    Args:
        event: the look.
        episode_id: of the episode.
        sequence: number of the message in the episode.
        labelled: whether the image is on the topic of pictures with labels.
    """
    seen = event.observation
    return msg.Look(header=header(seen.stamp_ns, seen.frame_id), episode_id=episode_id,
                    sequence=sequence, image_id=seen.image_id, labelled=labelled,
                    view=view_to_msg(seen), told=told_to_msg(seen.told))


def look_from_msg(message: msg.Look) -> Observed:
    """A look, without its image."""
    seen = Observation.elsewhere(
        message.image_id, time_from_msg(message.header.stamp), message.header.frame_id)
    return Observed(with_view(seen, message.view, message.told))


def asked_to_msg(event: Asked, episode_id: str, sequence: int) -> msg.AnswerArray:
    """Questions and answers about one image as a message."""
    seen = event.observation
    return msg.AnswerArray(
        header=header(seen.stamp_ns, seen.frame_id), episode_id=episode_id, sequence=sequence,
        image_id=seen.image_id, model=text(event.model), purpose=PURPOSES[event.purpose],
        action=action_to_msg(event.action),
        questions=[question_to_msg(question) for question in event.questions],
        answers=[answer_to_msg(answer) for answer in event.answers],
        expected=[EXPECTATIONS[value] for value in event.expected], seconds=event.seconds,
        prompt=event.prompt, usage=usage_to_msg(event.usage))


def asked_from_msg(message: msg.AnswerArray) -> Asked:
    """Questions and answers, about a look without its image."""
    return Asked(
        Observation.elsewhere(message.image_id, time_from_msg(message.header.stamp),
                              message.header.frame_id),
        tuple(question_from_msg(question) for question in message.questions),
        tuple(answer_from_msg(answer) for answer in message.answers),
        tuple(_member(EXPECTATIONS, value, 'expected') for value in message.expected),
        _member(PURPOSES, message.purpose, 'purpose'), maybe_action_from_msg(message.action),
        message.seconds, message.model, message.prompt, usage_from_msg(message.usage))


def belief_to_msg(event: BeliefUpdated, episode_id: str, stamp_ns: int,
                  sequence: int) -> msg.Belief:
    """A belief as a message."""
    belief = event.belief
    return msg.Belief(
        header=header(stamp_ns), episode_id=episode_id, sequence=sequence,
        state=state_to_msg(belief.state),
        probabilities=[msg.AtomProbability(atom=atom_to_msg(atom), probability=value)
                       for atom, value in sorted(belief.probabilities.items())])


def belief_from_msg(message: msg.Belief) -> BeliefUpdated:
    """A message's belief."""
    return BeliefUpdated(Belief(
        state_from_msg(message.state),
        {atom_from_msg(entry.atom): entry.probability for entry in message.probabilities}))


def planned_to_msg(event: Planned, episode_id: str, stamp_ns: int,
                   sequence: int) -> msg.PlanStamped:
    """A planner's reply as a message."""
    message = msg.PlanStamped(header=header(stamp_ns), episode_id=episode_id, sequence=sequence)
    return fill_plan(message, event.result)


def planned_from_msg(message: msg.PlanStamped) -> Planned:
    """A message's planner reply."""
    return Planned(planning_result(message))


def proposed_to_msg(event: Proposed, episode_id: str, sequence: int) -> msg.ProposalStamped:
    """A model's plan about one image as a message."""
    seen = event.observation
    return msg.ProposalStamped(
        header=header(seen.stamp_ns, seen.frame_id), episode_id=episode_id, sequence=sequence,
        image_id=seen.image_id, prompt=event.prompt, proposal=proposal_to_msg(event.proposal),
        usage=usage_to_msg(event.usage))


def proposed_from_msg(message: msg.ProposalStamped) -> Proposed:
    """A message's plan of a model, for a look without its image."""
    return Proposed(
        Observation.elsewhere(message.image_id, time_from_msg(message.header.stamp),
                              message.header.frame_id),
        proposal_from_msg(message.proposal), message.prompt, usage_from_msg(message.usage))


def step_to_msg(event: Stepped, episode_id: str, sequence: int) -> msg.Step:
    """A step as a message."""
    return msg.Step(
        header=header(event.stamp_ns), episode_id=episode_id, sequence=sequence,
        index=event.index, action=action_to_msg(event.action),
        status=STATUSES[event.feedback.status], message=text(event.feedback.message),
        after=time_to_msg(event.feedback.stamp_ns), seconds=event.seconds)


def step_from_msg(message: msg.Step) -> Stepped:
    """A message's step."""
    status = _member(STATUSES, message.status, 'status')
    action = (None if status is FeedbackStatus.INVALID
              else action_from_msg(message.action))
    return Stepped(
        int(message.index), action,
        Feedback(status, message.message, time_from_msg(message.after)),
        time_from_msg(message.header.stamp), message.seconds)


def feedback_from_result(result: Any) -> Feedback:
    """The world's reply in a result of ExecuteSkill."""
    return Feedback(_member(STATUSES, result.status, 'status'), result.message,
                    time_from_msg(result.stamp))
