"""The events of an episode as messages of ``sightplan_interfaces``, and back; images, too.

Most dataclasses have a message with fields of the same names: ``Messages.to_msg`` and ``from_msg``
convert these field by field, by the types of the dataclass. ``from_msg`` and the other functions
``x_from_msg`` read any object with the fields of the message: one of ROS, or a dataclass of
``rosbags``. ``Messages`` is given what makes a message. For every value that a message can carry
the round trip gives an equal value. An absent probability or price (None) travels as NaN. What a
message's text cannot carry, and models do write (a NUL, half of a surrogate pair), becomes U+FFFD.

``bag_messages.BagMessages`` makes messages and their bytes without ROS.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import math
import re
import struct
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from sightplan.model import (
    Action,
    Alteration,
    Answer,
    Asked,
    Atom,
    Belief,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeSpec,
    EpisodeStarted,
    Feedback,
    FeedbackStatus,
    Form,
    GoalAdopted,
    GroundingPrompt,
    InputError,
    Instance,
    Literal,
    ModelKnown,
    Observation,
    Observed,
    PastStep,
    Plan,
    Planned,
    PlanningResult,
    Privileged,
    Problem,
    ProblemAdopted,
    Proposal,
    ProposalStatus,
    Proposed,
    Question,
    Region,
    State,
    Stepped,
    StopReason,
    Usage,
    Verdict,
)
from sightplan.model.answer import YES_NO
from sightplan.model.ports import Calibration
from sightplan.queries import answered
from sightplan.records import topics
from sightplan.records.queries_json import (
    named_prompt,
    queries_to_json,
    read_asked,
    replies_to_json,
)
from sightplan.records.truth import TruthReply

if TYPE_CHECKING:
    from sightplan.domains import Domain

T = TypeVar('T')

PACKAGE = 'sightplan_interfaces'
DEFINITIONS = Path(__file__).parent / 'msg'
"""The .msg files of the package ``sightplan_interfaces``."""

STARTED, ENDED = 1, 2
"""Numbers of the kinds of EpisodeEvent."""
STATE, OUTCOME = 0, 1
"""Kinds of Truth."""

_ADOPTED: Mapping[type, int] = {GoalAdopted: 1, ProblemAdopted: 2, ModelKnown: 3}
"""Kinds of Adopted."""

EXPECTATIONS = {None: 0, True: 1, False: 2}

_COLOUR_ORDERS = {'rgb8': (0, 1, 2), 'bgr8': (2, 1, 0), 'rgba8': (0, 1, 2), 'bgra8': (2, 1, 0),
                  'mono8': (0, 0, 0)}
_CHANNELS = {'rgb8': 3, 'bgr8': 3, 'rgba8': 4, 'bgra8': 4, 'mono8': 1}
_STAMP = {0: struct.Struct('>iI'), 1: struct.Struct('<iI')}
_LENGTH = {0: struct.Struct('>I'), 1: struct.Struct('<I')}
_HEADER_BYTES = 12
_NO_LENGTH = -1
_SEED_BITS = 32
_NO_TEXT = re.compile('[\0\ud800-\udfff]')


class Make(Protocol):
    """Makes a message; fields that are not given have their defaults."""

    def __call__(self, name: str, /, **fields: Any) -> Any:
        """A message of a type, such as ``std_msgs/msg/Header``."""


@functools.cache
def numbers(kind: type[enum.Enum]) -> Mapping[Any, int]:
    """The numbers that stand for the members of an enumeration in messages: in order, from 1."""
    return {member: number for number, member in enumerate(kind, start=1)}


def _member(table: Mapping[T, int], value: int, field: str) -> T:
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

    A text from a model, a server or a file may hold characters that messages cannot carry: half of
    a surrogate pair has no encoding in UTF-8, and NUL would end the text.
    """
    return value if value.isprintable() else _NO_TEXT.sub('\ufffd', value)


def raw_stamp_ns(data: bytes) -> int:
    """Stamp [ns] of a serialized message that begins with a header (CDR encoding).

    Raises:
        InputError: it is too short to have one.
    """
    if len(data) < _HEADER_BYTES:
        raise InputError(f'a message of {len(data)} bytes has no header')
    seconds, nanoseconds = _STAMP[data[1] & 1].unpack_from(data, 4)
    return int(seconds) * 10**9 + int(nanoseconds)


def raw_frame_id(data: bytes) -> str:
    """Frame of a serialized message that begins with a header (CDR encoding); '' for none."""
    if len(data) < _HEADER_BYTES + 4:
        return ''
    length, = _LENGTH[data[1] & 1].unpack_from(data, _HEADER_BYTES)
    begin = _HEADER_BYTES + 4
    return data[begin:begin + length].rstrip(b'\0').decode('utf-8', 'replace')


def time_from_msg(time: Any) -> int:
    """A message's time [ns]."""
    return int(time.sec) * 10**9 + int(time.nanosec)


# dataclasses, field by field

_MESSAGES = {Atom: 'Atom', Action: 'SymbolicAction', Answer: 'Answer', Usage: 'Usage',
             GroundingPrompt: 'GroundingPrompt', PastStep: 'PastStep', Proposal: 'Proposal',
             Alteration: 'Alteration'}
"""The messages that have the fields of a dataclass."""
_OTHER_NAMES = {'plan': 'actions'}
_APART: Mapping[type, tuple[str, ...]] = {
    Asked: ('observation', 'queries', 'replies', 'expected'), Proposed: ('observation',),
    Answer: ('model',)}
"""Fields, by dataclass, that are converted separately or that no message has."""


@functools.cache
def _fields(kind: Any) -> tuple[tuple[str, str, Any], ...]:
    """Return a dataclass's fields: name, name in messages, and type of each."""
    hints = get_type_hints(kind)
    return tuple((field.name, _OTHER_NAMES.get(field.name, field.name), hints[field.name])
                 for field in dataclasses.fields(kind) if field.name not in _APART.get(kind, ()))


@functools.cache
def _readers(kind: Any) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    """Return a dataclass's fields: name, name in messages, and the function that reads each."""
    return tuple((own, name, _reader(of, name)) for own, name, of in _fields(kind))


def _reader(kind: Any, name: str) -> Callable[[Any], Any]:
    """Return the function that converts a message's field to a value of type ``kind``."""
    if kind in _FROM_FIELD:
        return _FROM_FIELD[kind]
    if kind in _MESSAGES:
        return functools.partial(from_msg, kind)
    if get_origin(kind) is tuple:
        read = _reader(get_args(kind)[0], name)
        return lambda values: tuple(map(read, values))
    table = numbers(kind)
    return lambda value: _member(table, value, name)


def _values(kind: Any, message: Any) -> dict[str, Any]:
    """Values of a dataclass's fields out of a message."""
    return {own: read(getattr(message, name)) for own, name, read in _readers(kind)}


def from_msg(kind: type[T], message: Any) -> T:
    """A dataclass out of a message with fields of the same names.

    Raises:
        InputError: a number stands for nothing, or a name is not a lower-case PDDL name.
    """
    try:
        return kind(**_values(kind, message))
    except ValueError as error:
        raise InputError(str(error)) from error


def state_from_msg(messages: Iterable[Any]) -> State:
    """The state whose true atoms these are."""
    return frozenset(from_msg(Atom, message) for message in messages)


def maybe_action_from_msg(message: Any) -> Action | None:
    """A message's action, or None when its name is empty."""
    return from_msg(Action, message) if message.name else None


def usage_from_msg(message: Any) -> Usage | None:
    """Return the usage of a model; None if it was not counted."""
    return from_msg(Usage, message) if message.counted else None


def proposal_from_msg(message: Any) -> Proposal:
    """A message's plan of a model.

    Raises:
        InputError: an unknown status, or one that does not go with the actions.
    """
    found = from_msg(Proposal, message)
    if (found.status is ProposalStatus.PLANNED) is not bool(found.actions):
        raise InputError(f'a proposal is {found.status.value} with {len(found.actions)} actions; '
                         'only one that is planned has actions, and at least one')
    return found


def form_from_msg(value: int) -> Form:
    """The form of a place that a number stands for; 0 stands for a point.

    Raises:
        InputError: the number stands for nothing.
    """
    forms: dict[int, Form] = {number: form for form, number in numbers(Form).items()}
    forms[0] = Form.POINT
    if value not in forms:
        raise InputError(f'form = {value} is not one of ' + ', '.join(
            f'{number} ({form})' for form, number in numbers(Form).items()))
    return forms[value]


def region_from_msg(message: Any) -> Region:
    """A message's place in a picture.

    Raises:
        InputError: an unknown form, or points that do not go with it.
    """
    try:
        return Region(form_from_msg(message.form),
                      tuple((float(x), float(y))
                            for x, y in zip(message.x, message.y, strict=True)),
                      message.label, probability_from_msg(message.probability))
    except ValueError as error:
        raise InputError(f'region: {error}') from error


def maybe_region_from_msg(messages: Sequence[Any]) -> Region | None:
    """Return the place in a list of at most one message; None if the list is empty."""
    return region_from_msg(messages[0]) if len(messages) else None


def instance_from_msg(message: Any) -> Instance:
    """A message's thing that was told apart.

    Raises:
        InputError: its place is no box, or names and probabilities are not as many.
    """
    if (len(message.categories) != len(message.category_probabilities)
            or len(message.colours) != len(message.colour_probabilities)):
        raise InputError(f'instance {message.name!r}: names and probabilities are not as many')
    try:
        return Instance(
            message.name, region_from_msg(message.region),
            dict(zip(message.categories, map(float, message.category_probabilities),
                     strict=True)),
            dict(zip(message.colours, map(float, message.colour_probabilities), strict=True)),
            probability_from_msg(message.opened))
    except ValueError as error:
        raise InputError(f'instance: {error}') from error


def verdict_from_msg(value: int) -> Verdict:
    """A message's verdict.

    Raises:
        InputError: the number stands for nothing.
    """
    verdict: Verdict = _member(numbers(Verdict), value, 'verdict')
    return verdict


def probability_to_msg(value: float | None) -> float:
    """Convert a probability or price to a number; None to NaN."""
    return math.nan if value is None else value


def probability_from_msg(value: float) -> float | None:
    """Convert a number to a probability or price; NaN to None."""
    return None if math.isnan(value) else float(value)


_FROM_FIELD: Mapping[Any, Callable[[Any], Any]] = {
    str: str, int: int, float: float, bool: bool, float | None: probability_from_msg,
    Action | None: maybe_action_from_msg, Usage | None: usage_from_msg,
    Region | None: maybe_region_from_msg, Proposal: proposal_from_msg,
    Instance: instance_from_msg}


# images

def byte_array(values: NDArray[Any]) -> array[int]:
    """Bytes in the one container that ROS's fields take without checking each element."""
    data = array('B')
    data.frombytes(np.ascontiguousarray(values).tobytes())
    return data


def image_rows(message: Any, bytes_per_pixel: int) -> NDArray[np.uint8]:
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


def image_from_msg(message: Any) -> NDArray[np.uint8]:
    """A message's RGB image: (H, W, 3) uint8, read-only.

    Raises:
        InputError: an encoding that is not rgb8, bgr8, rgba8, bgra8 or mono8, or wrong sizes.
    """
    if message.encoding not in _CHANNELS:
        raise InputError(f'image: encoding {message.encoding!r} is not one of '
                         f'{", ".join(_CHANNELS)}; convert it (for example with image_proc)')
    channels = _CHANNELS[message.encoding]
    pixels = image_rows(message, channels).reshape(message.height, message.width, channels)
    if message.encoding != 'rgb8':
        pixels = pixels[..., _COLOUR_ORDERS[message.encoding]]
    image = np.ascontiguousarray(pixels)
    image.flags.writeable = False
    return image


def observation_from_msg(message: Any) -> Observation:
    """Return an image message as an observation of the agent."""
    return Observation(image=image_from_msg(message), stamp_ns=time_from_msg(message.header.stamp),
                       frame_id=message.header.frame_id)


# what else is known about an observation

def with_knowledge(observation: Observation, message: Any) -> Observation:
    """An observation with what a message of it says besides its picture: view, text and facts."""
    visible = tuple(message.visible_objects) if message.knows_visible else None
    return dataclasses.replace(observation, visible_objects=visible, text=message.text or None,
                               privileged_facts=facts_from_msg(message.privileged_facts))


def facts_from_msg(messages: Iterable[Any]) -> dict[Atom, bool]:
    """Facts that are known, in messages."""
    return {atom: value > 0.5 for atom, value in _probabilities_from_msg(messages).items()}


def _probabilities_from_msg(messages: Iterable[Any]) -> dict[Atom, float]:
    return {from_msg(Atom, message.atom): float(message.probability) for message in messages}


def privileged_from_msg(value: str) -> Privileged:
    """Return the setting when privileged information is provided; an empty text means never.

    Raises:
        InputError: another text than a value of Privileged.
    """
    try:
        return Privileged(value or Privileged.NONE.value)
    except ValueError as error:
        raise InputError(f'privileged = {text(value)!r} is not one of '
                         f'{", ".join(level.value for level in Privileged)}') from error


# episodes

def fill_spec(message: Any, spec: EpisodeSpec, problem_pddl: str) -> Any:
    """Write an episode's specification into an EpisodeEvent or a goal of RunEpisode.

    The problem's text is as ``Domain.write_problem`` gives it.
    """
    problem = spec.problem
    message.episode_id, message.split, message.method = spec.id, spec.split, spec.method
    message.domain, message.problem = problem.domain, problem.name
    message.domain_pddl, message.problem_pddl = problem.domain_pddl, problem_pddl
    length = problem.optimal_length
    message.optimal_length = _NO_LENGTH if length is None else length
    message.instruction = text(problem.instruction)
    message.seed = spec.policy_seed << _SEED_BITS | spec.seed
    message.max_actions = spec.max_actions
    message.failure_probability = spec.failure_probability
    message.stop_at_goal, message.privileged = spec.stop_at_goal, spec.privileged.value
    message.pictured_goal = spec.pictured_goal
    return message


def optimal_length(message: Any) -> int | None:
    """The optimal plan length of an EpisodeEvent or a goal of RunEpisode; None: unknown."""
    return None if message.optimal_length == _NO_LENGTH else int(message.optimal_length)


def read_problem(message: Any, prompts: Path | None = None) -> tuple[Domain, Problem]:
    """Domain and problem of a message that has the texts of both.

    Those of an EpisodeEvent or a goal of RunEpisode are read by ``read_episode_problem``. The
    texts in the message are used, not files, so that nodes on other machines, and bags replayed
    later, need none.

    Args:
        message: names the domain, and has the texts.
        prompts: folder of prompts that replace the domain's own; None for none.

    Raises:
        DomainError, ProblemError: a text cannot be used.
    """
    from sightplan.domains import load_domain
    domain = load_domain(message.domain, prompts=prompts)
    if message.domain_pddl and message.domain_pddl != domain.pddl:
        domain = load_domain(message.domain, domain_pddl=message.domain_pddl, prompts=prompts)
    return domain, domain.parse_problem(message.problem_pddl, message.problem,
                                        f'problem {message.problem!r} of the request')


def read_episode_problem(message: Any, prompts: Path | None = None) -> tuple[Domain, Problem]:
    """Domain and problem of an EpisodeEvent or a goal of RunEpisode; see ``read_problem``.

    The problem has the instruction and the optimal plan length of the message.
    """
    domain, problem = read_problem(message, prompts)
    return domain, dataclasses.replace(problem, optimal_length=optimal_length(message),
                                       instruction=message.instruction)


def spec_from_msg(message: Any, problem: Problem) -> EpisodeSpec:
    """The specification in an EpisodeEvent or a goal of RunEpisode.

    Raises:
        InputError: a level of privileged information that there is not.
    """
    policy_seed, seed = divmod(int(message.seed), 1 << _SEED_BITS)
    return EpisodeSpec(message.episode_id, problem, message.method, message.split,
                       seed, int(message.max_actions),
                       float(message.failure_probability), bool(message.stop_at_goal),
                       privileged_from_msg(message.privileged), bool(message.pictured_goal),
                       policy_seed)


def ended_from_msg(message: Any) -> EpisodeEnded:
    """The end of an episode.

    Raises:
        InputError: an unknown reason, or not one time for each stage.
    """
    try:
        reason = StopReason(message.stop_reason)
        timings = {str(stage): float(seconds) for stage, seconds
                   in zip(message.stages, message.stage_seconds, strict=True)}
    except ValueError as error:
        raise InputError(f'end of episode {message.episode_id}: {error}') from error
    return EpisodeEnded(reason, message.message, int(message.steps), int(message.remaining),
                        time_from_msg(message.header.stamp), float(message.seconds), timings)


def _elsewhere(message: Any) -> Observation:
    """Return the observation that a message is about, without its image."""
    return Observation.elsewhere(message.image_id, time_from_msg(message.header.stamp),
                                 message.header.frame_id)


def _seen(message: Any, observed: Mapping[int, Observation]) -> Observation:
    """The observation that a message is about, with what is known about it, without its image."""
    asked = _elsewhere(message)
    known = observed.get(asked.stamp_ns)
    return asked if known is None or known.image_id != asked.image_id else known


def _asked_about(message: Any, observed: Mapping[int, Observation]) -> Observation:
    """The observation that queries showed: as ``_seen``, or altered as the message says."""
    if not message.altered.zoom:
        return _seen(message, observed)
    asked = _elsewhere(message)
    return dataclasses.replace(observed.get(asked.stamp_ns, asked), _digest=[asked.image_id],
                               altered=from_msg(Alteration, message.altered))


def event_from_msg(topic: str, message: Any,
                   observed: Mapping[int, Observation] = MappingProxyType({})) -> EpisodeEvent:
    """An event but the first of its episode; what it observed comes without its image.

    Args:
        topic: relative name, one of ``topics.EVENTS``.
        message: from that topic.
        observed: what the agent observed before, by stamp [ns].

    Raises:
        InputError: it cannot be read.
    """
    match topic:
        case topics.AGENT_EPISODE:
            return ended_from_msg(message)
        case topics.AGENT_OBSERVATION:
            return Observed(with_knowledge(_elsewhere(message), message))
        case topics.AGENT_ASKED:
            return _asked_from_msg(message, _asked_about(message, observed))
        case topics.AGENT_ADOPTED:
            return _adopted_from_msg(message)
        case topics.AGENT_BELIEF:
            return BeliefUpdated(belief_from_msg(message))
        case topics.AGENT_PLAN:
            return Planned(from_msg(PlanningResult, message))
        case topics.AGENT_PROPOSAL:
            return Proposed(_seen(message, observed), **_values(Proposed, message))
        case _:
            return _step_from_msg(message)


def belief_from_msg(message: Any) -> Belief:
    """A message's belief; its probabilities keep their order."""
    return Belief(state_from_msg(message.state),
                  _probabilities_from_msg(message.probabilities))


def _asked_from_msg(message: Any, seen: Observation) -> Asked:
    if not len(message.queries):
        answers = message.answers
        return answered(seen, [Question(from_msg(Atom, one.atom), one.question)
                               for one in answers],
                        [from_msg(Answer, one) for one in answers],
                        [_member(EXPECTATIONS, one.expected, 'expected') for one in answers],
                        words=named_prompt(message.prompt), **_values(Asked, message))
    try:
        queries, replies = read_asked([json.loads(one) for one in message.queries],
                                      [json.loads(one) for one in message.replies], seen)
    except (TypeError, ValueError) as error:
        raise InputError(f'queries of kind {message.kind!r}: {error}') from error
    return Asked(seen, queries, replies, **_values(Asked, message))


def _adopted_from_msg(message: Any) -> GoalAdopted | ProblemAdopted | ModelKnown:
    kind = _member(_ADOPTED, message.kind, 'kind')
    if kind is ModelKnown:
        return ModelKnown(**_values(ModelKnown, message))
    goal = tuple(Literal(from_msg(Atom, fact.atom), fact.probability > 0.5)
                 for fact in message.goal)
    if kind is GoalAdopted:
        return GoalAdopted(goal, message.source)
    if len(message.objects) != len(message.types):
        raise InputError(f'{len(message.objects)} objects with {len(message.types)} types')
    return ProblemAdopted(dict(zip(message.objects, message.types, strict=True)), goal,
                          message.source)


def _step_from_msg(message: Any) -> Stepped:
    feedback = feedback_from_msg(message.status, message.message, message.after)
    action = (None if feedback.status is FeedbackStatus.INVALID
              else from_msg(Action, message.action))
    return Stepped(int(message.index), action, feedback, time_from_msg(message.header.stamp),
                   float(message.seconds))


def feedback_from_msg(status: int, message: str, stamp: Any) -> Feedback:
    """The world's reply in the fields of a Step, or of a result of ExecuteSkill."""
    return Feedback(_member(numbers(FeedbackStatus), status, 'status'), message,
                    time_from_msg(stamp))


def truth_from_msg(message: Any) -> TruthReply:
    """A reply about ground truth.

    Raises:
        InputError: neither a state nor an outcome.
    """
    stamp_ns = time_from_msg(message.header.stamp)
    if message.kind == STATE:
        return TruthReply(stamp_ns, state=state_from_msg(message.state), error=message.error)
    if message.kind == OUTCOME:
        return TruthReply(stamp_ns, outcome=message.last_outcome, error=message.error)
    raise InputError(f'truth: kind = {message.kind} is neither {STATE} nor {OUTCOME}')


class EventReader:
    """Reads the messages of one episode, in order: all but its start, which names the problem.

    Only an observation's own message holds the knowledge about it; the reader adds that knowledge
    to later events about the observation.
    """

    def __init__(self) -> None:
        """Begin an episode."""
        self._observed: dict[int, Observation] = {}

    def event(self, topic: str, message: Any) -> EpisodeEvent:
        """The next event.

        Raises:
            InputError: it cannot be read.
        """
        event = event_from_msg(topic, message, self._observed)
        if isinstance(event, Observed):
            self._observed[event.observation.stamp_ns] = event.observation
        return event


class Messages:
    """The core's dataclasses as messages of a kind: those of ROS, or those of ``rosbags``."""

    def __init__(self, make: Make) -> None:
        """Make messages with ``make``."""
        self._make = make
        self._of_fields: dict[Any, list[tuple[str, str, Callable[[Any], Any]]]] = {}
        self._writers: dict[Any, Callable[[Any], Any]] = {
            str: text, int: int, float: float, bool: bool, float | None: probability_to_msg,
            Action | None: self.action_to_msg, Usage | None: self.usage_to_msg,
            Instance: self.instance_to_msg,
            Region | None: lambda region: [] if region is None else [self.region_to_msg(region)]}

    def _own(self, name: str, /, **fields: Any) -> Any:
        return self._make(f'{PACKAGE}/msg/{name}', **fields)

    def time_to_msg(self, stamp_ns: int) -> Any:
        """Nanoseconds as a message."""
        seconds, nanoseconds = divmod(stamp_ns, 10**9)
        return self._make('builtin_interfaces/msg/Time', sec=seconds, nanosec=nanoseconds)

    def header(self, stamp_ns: int, frame_id: str = '') -> Any:
        """A header with time and frame."""
        return self._make('std_msgs/msg/Header', stamp=self.time_to_msg(stamp_ns),
                          frame_id=frame_id)

    def to_msg(self, value: Any) -> Any:
        """A dataclass as the message that has its fields."""
        return self._own(_MESSAGES[type(value)], **self._put(value))

    def _put(self, value: Any) -> dict[str, Any]:
        """The fields of a dataclass as those of a message."""
        kind: Any = type(value)
        if kind not in self._of_fields:
            self._of_fields[kind] = [(own, name, self._writer(of))
                                     for own, name, of in _fields(kind)]
        return {name: write(getattr(value, own)) for own, name, write in self._of_fields[kind]}

    def _writer(self, kind: Any) -> Callable[[Any], Any]:
        """Return the function that converts a value of type ``kind`` to a message's field."""
        if kind not in self._writers:
            if kind in _MESSAGES:
                self._writers[kind] = self.to_msg
            elif get_origin(kind) is tuple:
                each = self._writer(get_args(kind)[0])
                self._writers[kind] = lambda values: [each(value) for value in values]
            else:
                self._writers[kind] = numbers(kind).__getitem__
        return self._writers[kind]

    def state_to_msg(self, state: Iterable[Atom]) -> list[Any]:
        """A state's true atoms, in a fixed order."""
        return [self.to_msg(atom) for atom in sorted(state)]

    def action_to_msg(self, action: Action | None) -> Any:
        """An action as a message; an empty name stands for none."""
        return self._own('SymbolicAction') if action is None else self.to_msg(action)

    def region_to_msg(self, region: Region) -> Any:
        """A place in a picture as a message."""
        return self._own('Region', form=numbers(Form)[region.form],
                         x=[x for x, _ in region.points], y=[y for _, y in region.points],
                         label=text(region.label),
                         probability=probability_to_msg(region.probability))

    def instance_to_msg(self, instance: Instance) -> Any:
        """A thing that was told apart as a message."""
        return self._own(
            'Instance', name=instance.name, region=self.region_to_msg(instance.region),
            categories=list(instance.categories),
            category_probabilities=list(instance.categories.values()),
            colours=list(instance.colours), colour_probabilities=list(instance.colours.values()),
            opened=probability_to_msg(instance.opened))

    def usage_to_msg(self, usage: Usage | None) -> Any:
        """Return the usage of a model as a message; ``usage`` is None if it was not counted."""
        if usage is None:
            return self._own('Usage', cost_usd=math.nan)
        return self._own('Usage', counted=True, **self._put(usage))

    def fill_plan(self, reply: Any, result: PlanningResult) -> Any:
        """Write a planner's result into a PlanStamped or a response of Plan; returns it."""
        for name, value in self._put(result).items():
            setattr(reply, name, value)
        return reply

    def image_to_msg(self, image: NDArray[np.uint8], stamp_ns: int, frame_id: str = '') -> Any:
        """An RGB image as a message, in well under a millisecond.

        Args:
            image: (H, W, 3) uint8.
            stamp_ns: time of the exposure [ns].
            frame_id: optical frame.
        """
        rows, columns, _ = image.shape
        return self._make(
            topics.IMAGE_TYPE, header=self.header(stamp_ns, frame_id), height=rows, width=columns,
            encoding='rgb8', is_bigendian=0, step=columns * 3, data=byte_array(image))

    def camera_info_to_msg(self, camera: Calibration, stamp_ns: int = 0) -> Any:
        """A camera's calibration as a message: an ideal pinhole, without distortion."""
        k = [float(value) for value in camera.matrix.ravel()]
        return self._make(
            topics.RECORDED[topics.CAMERA_INFO], header=self.header(stamp_ns, camera.frame_id),
            height=camera.height, width=camera.width, distortion_model='plumb_bob', d=[0.0] * 5,
            k=k, r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            p=[*k[:3], 0.0, *k[3:6], 0.0, *k[6:], 0.0])

    def observation_to_msg(self, observation: Observation) -> Any:
        """An observation as a message, without its picture and where that is."""
        return self._own('Observation',
                         header=self.header(observation.stamp_ns, observation.frame_id),
                         image_id=observation.image_id, **self._knowledge(observation))

    def _knowledge(self, observation: Observation) -> dict[str, Any]:
        """Return an observation's visible objects, text and privileged facts as message fields."""
        visible = observation.visible_objects
        return {'knows_visible': visible is not None, 'visible_objects': list(visible or ()),
                'text': text(observation.text or ''),
                'privileged_facts': self._facts(observation.privileged_facts.items())}

    def _facts(self, facts: Iterable[tuple[Atom, float]]) -> list[Any]:
        """Atoms with their probabilities as messages, in their order (prompts keep it)."""
        return [self._own('Fact', atom=self.to_msg(atom), probability=float(value))
                for atom, value in facts]

    # The events of an episode; ``sequence`` is the number of the message in it.

    def started_to_msg(self, event: EpisodeStarted, problem_pddl: str, stamp_ns: int,
                       sequence: int) -> Any:
        """The start of an episode as a message."""
        message = self._own('EpisodeEvent', header=self.header(stamp_ns), kind=STARTED,
                            sequence=sequence)
        return fill_spec(message, event.spec, problem_pddl)

    def ended_to_msg(self, event: EpisodeEnded, spec: EpisodeSpec, sequence: int) -> Any:
        """The end of an episode as a message (without the problem's text)."""
        message = fill_spec(self._own(
            'EpisodeEvent', stages=list(event.timings_s),
            stage_seconds=[float(seconds) for seconds in event.timings_s.values()]), spec, '')
        message.domain_pddl = ''
        message.header = self.header(event.stamp_ns)
        message.kind, message.sequence = ENDED, sequence
        message.stop_reason, message.message = event.reason.value, text(event.message)
        message.steps, message.remaining = event.steps, event.remaining
        message.seconds = event.seconds
        return message

    def event_to_msg(self, event: EpisodeEvent, episode_id: str, sequence: int,
                     stamp_ns: int = 0, labelled: bool = False) -> Any:
        """An event between start and end as a message.

        An observation's image itself is on a topic of the camera's, with the same stamp.

        Args:
            event: the event.
            episode_id: of the episode.
            sequence: number of the message in the episode.
            stamp_ns: world time of an event that does not say it (a belief, a plan) [ns].
            labelled: whether the image is on the topic of pictures with labels.
        """
        frame_id, fields = '', dict[str, Any]()
        if isinstance(event, Observed | Asked | Proposed):
            seen = event.observation
            stamp_ns, frame_id, fields['image_id'] = seen.stamp_ns, seen.frame_id, seen.image_id
        if isinstance(event, Observed):
            kind = 'Observation'
            fields |= {'labelled': labelled, 'published': bool(seen.image_id),
                       **self._knowledge(seen)}
        elif isinstance(event, Asked):
            kind = 'Asked'
            fields |= self._asked_to_fields(event)
            if seen.altered is not None:
                fields['altered'] = self.to_msg(seen.altered)
        elif isinstance(event, Proposed):
            kind, fields = 'ProposalStamped', {**fields, **self._put(event)}
        elif isinstance(event, GoalAdopted | ProblemAdopted | ModelKnown):
            kind, fields = 'Adopted', self._adopted_to_fields(event)
        elif isinstance(event, Planned):
            kind, fields = 'PlanStamped', self._put(event.result)
        elif isinstance(event, BeliefUpdated):
            kind, fields = 'Belief', {
                'state': self.state_to_msg(event.belief.state),
                'probabilities': self._facts(event.belief.probabilities.items())}
        else:
            assert isinstance(event, Stepped), 'the start and the end have methods of their own'
            kind, stamp_ns, feedback = 'Step', event.stamp_ns, event.feedback
            fields = {'index': event.index, 'action': self.action_to_msg(event.action),
                      'status': numbers(FeedbackStatus)[feedback.status],
                      'message': text(feedback.message),
                      'after': self.time_to_msg(feedback.stamp_ns), 'seconds': event.seconds}
        return self._own(kind, header=self.header(stamp_ns, frame_id), episode_id=episode_id,
                         sequence=sequence, **fields)

    def _asked_to_fields(self, event: Asked) -> dict[str, Any]:
        """Queries and replies, as fields of a message: yes/no questions, or any in JSON."""
        fields = {**self._put(event), 'kind': event.queries[0].kind if event.queries else YES_NO}
        if event.yes_no:
            return {**fields, 'answers': [
                self._own('Answer', atom=self.to_msg(question.atom), question=text(question.text),
                          expected=EXPECTATIONS[expected], **self._put(answer))
                for question, answer, expected in zip(event.questions, event.answers,
                                                      event.expected, strict=True)]}
        return {**fields,
                'shown': [text(f'{query.summary()}: {reply.summary()}') for query, reply in
                          zip(event.queries, event.replies, strict=True)],
                'queries': [text(json.dumps(one)) for one in queries_to_json(event)],
                'replies': [text(json.dumps(one)) for one in replies_to_json(event)]}

    def _adopted_to_fields(self, event: GoalAdopted | ProblemAdopted | ModelKnown,
                           ) -> dict[str, Any]:
        """Return an adopted goal or problem, or a model's identity, as fields of a message."""
        kind = _ADOPTED[type(event)]
        if isinstance(event, ModelKnown):
            return {'kind': kind, **self._put(event)}
        objects = event.objects if isinstance(event, ProblemAdopted) else {}
        return {'kind': kind, 'source': text(event.source), 'objects': list(objects),
                'types': list(objects.values()),
                'goal': self._facts((one.atom, one.positive) for one in event.goal)}

    def truth_to_msg(self, reply: TruthReply, episode_id: str) -> Any:
        """A reply about ground truth, as a message."""
        return self._own(
            'Truth', header=self.header(reply.stamp_ns), episode_id=episode_id,
            kind=STATE if reply.state is not None else OUTCOME,
            state=self.state_to_msg(reply.state or ()), last_outcome=text(reply.outcome or ''),
            error=text(reply.error))


_TOPICS = {**dict.fromkeys(_ADOPTED, topics.AGENT_ADOPTED),
           Observed: topics.AGENT_OBSERVATION, Asked: topics.AGENT_ASKED,
           BeliefUpdated: topics.AGENT_BELIEF, Planned: topics.AGENT_PLAN,
           Proposed: topics.AGENT_PROPOSAL, Stepped: topics.AGENT_STEP}


class EpisodeMessages:
    """The events of episodes, one after another, as numbered messages on their topics.

    Messages on different topics may overtake each other, so each bears its number in the episode.
    """

    def __init__(self, messages: Messages, labelled: Callable[[], bool] = lambda: False) -> None:
        """Make messages with ``messages``.

        Args:
            messages: makes them.
            labelled: whether observations show pictures with labels, which have a topic of
                their own.
        """
        self._messages, self._labelled = messages, labelled
        self._spec: EpisodeSpec | None = None
        self._stamp_ns = 0
        self._plans: dict[int, Plan] = {}  # by the numbers of their messages
        self.sequence = 0
        """Number of the next message."""
        self.domain: Domain | None = None
        """Domain of the next episode; must be set before the episode starts."""
        self.session = ''
        """Session of the run that the next episode belongs to; '' if it belongs to none."""

    def message(self, event: EpisodeEvent) -> tuple[str, Any]:
        """Return the relative topic name and the message of the next event."""
        topic, message = self._next(event)
        message.session = self.session
        return topic, message

    def _next(self, event: EpisodeEvent) -> tuple[str, Any]:
        make = self._messages
        if isinstance(event, EpisodeStarted):
            assert self.domain is not None, "the episode's domain must be set first"
            self._spec, self.sequence, self._stamp_ns = event.spec, 1, 0
            self._plans.clear()
            pddl = self.domain.write_problem(
                event.spec.problem.for_agent(event.spec.pictured_goal))
            return topics.AGENT_EPISODE, make.started_to_msg(event, pddl, 0, 0)
        assert self._spec is not None, 'EpisodeStarted comes first'
        number, episode_id = self.sequence, self._spec.id
        self.sequence += 1
        if isinstance(event, EpisodeEnded):
            return topics.AGENT_EPISODE, make.ended_to_msg(event, self._spec, number)
        if isinstance(event, Observed):
            self._stamp_ns = event.observation.stamp_ns
        elif isinstance(event, Stepped):
            self._stamp_ns = event.feedback.stamp_ns
        message = make.event_to_msg(event, episode_id, number, self._stamp_ns, self._labelled())
        if isinstance(event, Planned):
            self._plans[number] = event.result.plan
        elif isinstance(event, Proposed):
            self._plans[number] = event.proposal.actions
        elif isinstance(event, Stepped):
            message.plan = max((at for at, plan in self._plans.items() if event.action in plan),
                               default=0)
        return _TOPICS[type(event)], message
