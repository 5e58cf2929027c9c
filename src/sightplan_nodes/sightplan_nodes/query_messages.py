"""Queries and replies as messages: the only place where a kind of query meets ROS.

Every kind travels through the service ``~/ask`` (Ask), also one of another package: a query is the
JSON of its dataclass (``sightplan.model.dataclass_json``), in which

* an observation is its number in the request's ``observations``,
* a picture is ``{"image": its id}``, and one of these observations has it; by hand it may be the
  number of that observation as text, ``{"image": "0"}``,
* another array, such as depth, is ``{"npy": the .npy file in base64}``,
* an atom is its text, such as ``"on r,g"``.

A kind that is asked so often that JSON would be slow has a service of its own, in ``TYPED``.
Services that do more than pass a query on (``~/locate`` asks until it is sure) have their
conversions here, too.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sightplan_interfaces import msg, srv

from sightplan.model import (
    BARE,
    Answer,
    Atom,
    Form,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    Target,
    Verdict,
)
from sightplan.model import dataclass_json as codec
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.query import Query, Reply, Rgb
from sightplan.model.region import Point
from sightplan.model.whereabouts import Whereabouts
from sightplan.queries import YesNo
from sightplan.records import messages
from sightplan.records.messages import text
from sightplan_belief import Found
from sightplan_nodes.conversions import MESSAGES

_DEPTH = 'depth_m'
"""Name of the field of queries that holds the depth of their picture."""


# any kind, as JSON

class _Writer:
    """Writes queries as JSON and collects the observations that they are about."""

    def __init__(self, observation_of: Callable[[Rgb], Observation]) -> None:
        self.observations: list[Observation] = []
        self._observation_of = observation_of
        self.hooks: Mapping[Any, codec.Hook] = {
            Atom: str, Observation: self._number, np.ndarray: self._array}

    def _number(self, seen: Observation) -> int:
        for number, other in enumerate(self.observations):
            if other is seen:
                return number
        self.observations.append(seen)
        return len(self.observations) - 1

    def _array(self, array: NDArray[Any]) -> dict[str, str]:
        if not codec.is_picture(array):
            return codec.written_out(array)
        name = codec.picture_id(array)
        if all(other.image_id != name for other in self.observations):
            self.observations.append(self._observation_of(array))
        return {codec.PICTURE: name}


def write_queries(queries: Sequence[Query[Any]], observation_of: Callable[[Rgb], Observation],
                  ) -> tuple[list[str], list[Observation]]:
    """Queries as JSON, and the observations that have their pictures.

    Args:
        queries: of any kinds.
        observation_of: gives an observation of a picture that a query shows by itself.
    """
    writer = _Writer(observation_of)
    return [json.dumps(query.to_json(hooks=writer.hooks)) for query in queries], (
        writer.observations)


def read_queries(written: Sequence[str], observations: Sequence[Observation],
                 depth_of: Callable[[Observation], NDArray[np.float32] | None],
                 ) -> list[Query[Any]]:
    """Queries out of their JSON; one that has room for depth and none gets that of its picture.

    Args:
        written: what ``write_queries`` gives.
        observations: of the request.
        depth_of: gives the depth of an observation, (H, W) [m]; None without.

    Raises:
        InputError: they are something else, or of a kind that nobody has imported.
    """
    pictures = {seen.image_id: seen for seen in observations if seen.image is not None}
    numbers = dict(enumerate(observations))
    shown = {**{str(number): seen for number, seen in numbers.items() if seen.image is not None},
             **pictures}

    def array(name: str) -> NDArray[Any]:
        if name not in shown:
            raise InputError(f'picture {name[:60]} is in no observation of the request')
        return cast(Rgb, shown[name].image)

    hooks: Mapping[Any, codec.Hook] = {Atom: Atom.parse, Observation: numbers.__getitem__}
    queries = [Query.from_json(_object(one), array, hooks=hooks) for one in written]
    return [_with_depth(query, pictures, depth_of) for query in queries]


def _with_depth(query: Query[Any], pictures: Mapping[str, Observation],
                depth_of: Callable[[Observation], NDArray[np.float32] | None]) -> Query[Any]:
    fields = {one.name: one for one in dataclasses.fields(cast(Any, query))}
    if _DEPTH not in fields or getattr(query, _DEPTH) is not None or not query.pictures:
        return query
    seen = pictures[query.picture_ids[0]]
    found: Query[Any] = dataclasses.replace(cast(Any, query), **{_DEPTH: depth_of(seen)})
    return found


def write_replies(replies: Sequence[Reply | None]) -> list[str]:
    """Replies as JSON; an empty text for a query that was not answered."""
    return ['' if reply is None else json.dumps(reply.to_json(hooks={Atom: str}))
            for reply in replies]


def read_replies(written: Sequence[str], queries: Sequence[Query[Any]]) -> list[Reply]:
    """Replies to queries out of their JSON.

    Raises:
        InputError: they are something else, or not one per query.
    """
    found = partial_replies(written, queries)
    if None in found:
        raise InputError(f'query {found.index(None)} of {len(queries)} has no reply')
    return cast(list[Reply], found)


def partial_replies(written: Sequence[str], queries: Sequence[Query[Any]]) -> list[Reply | None]:
    """The replies that a call that failed had nevertheless; None for other queries.

    Raises:
        InputError: they are something else, or not one per query.
    """
    if len(written) != len(queries):
        raise InputError(f'{len(queries)} queries have {len(written)} replies')
    hooks: Mapping[Any, codec.Hook] = {Atom: Atom.parse}
    return [query.reply_type.from_json(_object(one), hooks=hooks) if one else None
            for query, one in zip(queries, written, strict=True)]


def _object(written: str) -> Mapping[str, Any]:
    try:
        found = json.loads(written)
    except (ValueError, RecursionError) as error:
        raise InputError(f'{written[:60]!r} is not JSON: {error}') from error
    if not isinstance(found, dict):
        raise InputError(f'{written[:60]!r} is not a JSON object')
    return found


# kinds with a service of their own

@dataclass(frozen=True)
class TypedService:
    """The service of one kind of query.

    Attributes:
        type: of the service; its requests are about one ``observation``.
        name: of the service, without that of its node.
        fill: writes queries that go to a model together into a request.
        replies: reads the replies out of a response.
        partial: reads out of the response of a call that failed the replies that came before,
            None where there was none; empty where it does not say.
    """

    type: Any
    name: str
    fill: Callable[[Any, Sequence[Any]], Any]
    replies: Callable[[Any, Sequence[Any]], list[Reply]]
    partial: Callable[[Any, Sequence[Any]], list[Reply | None]]


def _fill_yes_no(request: srv.Ground.Request, queries: Sequence[YesNo]) -> None:
    request.prompt = prompt_to_msg(queries[0].prompt)
    fill_questions(request, [query.question for query in queries])


def _yes_no_replies(response: srv.Ground.Response, queries: Sequence[YesNo]) -> list[Reply]:
    return list(answers_from_response(response, [query.question for query in queries]))


def _partial_yes_no(response: srv.Ground.Response, queries: Sequence[YesNo],
                    ) -> list[Reply | None]:
    if not response.verdicts:
        return []
    return list(partial_answers(response, [query.question for query in queries]))


TYPED: Mapping[type[Query[Any]], TypedService] = {
    YesNo: TypedService(srv.Ground, 'ground', _fill_yes_no, _yes_no_replies, _partial_yes_no)}
"""Kinds whose queries have an ``observation``, and a service that is faster than ``~/ask``."""


# ~/ground and ~/locate

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


def fill_answers(response: Any, answers: Sequence[Answer | None]) -> Any:
    """Write answers into a response of Ground; returns it.

    Of a call that failed, None stands for a question that was not answered before: verdict 0.
    """
    numbers = messages.numbers(Verdict)
    response.verdicts = [0 if one is None else numbers[one.verdict] for one in answers]
    for name in ('p_yes', 'p_no', 'p_unknown'):
        setattr(response, name, [messages.probability_to_msg(
            None if one is None else getattr(one, name)) for one in answers])
    response.texts = ['' if one is None else text(one.text) for one in answers]
    response.reasons = ['' if one is None else text(one.reason) for one in answers]
    response.cut_at = [0 if one is None else one.cut_at for one in answers]
    response.bounded = [one is not None and one.bounded for one in answers]
    return response


def answers_from_response(response: Any, questions: Sequence[Question]) -> list[Answer]:
    """The answers to questions in a response of Ground.

    Raises:
        InputError: unknown numbers, or not one answer per question.
    """
    found = partial_answers(response, questions)
    missing = [question.text for question, one in zip(questions, found, strict=True)
               if one is None]
    if missing:
        raise InputError(f'verdict 0 stands for nothing; {missing[0]!r} was not answered')
    return cast(list[Answer], found)


def partial_answers(response: Any, questions: Sequence[Question]) -> list[Answer | None]:
    """The answers that a call that failed had before; None for other questions.

    Raises:
        InputError: unknown numbers, or not one answer per question.
    """
    fields = (response.verdicts, response.p_yes, response.p_no, response.texts,
              response.p_unknown, response.cut_at or [0] * len(questions),
              response.reasons or [''] * len(questions),
              response.bounded or [False] * len(questions))
    if any(len(field) != len(questions) for field in fields):
        raise InputError(f'{len(questions)} questions have {len(response.verdicts)} answers')
    probability = messages.probability_from_msg
    return [None if verdict == 0 else
            Answer(reply, probability(p_yes), probability(p_no), probability(p_unknown),
                   bool(bounded), int(cut_at), verdict=messages.verdict_from_msg(verdict),
                   reason=reason)
            for verdict, p_yes, p_no, reply, p_unknown, cut_at, reason, bounded in zip(
                *fields, strict=True)]


def fill_targets(request: Any, targets: Sequence[Target], settings: PointerSettings | None = None,
                 start: Point | None = None) -> Any:
    """Write targets into a request of Locate; returns the request.

    Args:
        request: what to fill.
        targets: what to find, all of one form.
        settings: how long the model is asked (max_askings, accept, prior_present); None: as the
            node has it.
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
        request.prior_present = settings.prior_present
    return request


def targets_from_request(request: Any) -> list[Target]:
    """The targets of a request of Locate.

    Raises:
        InputError: its form is unknown.
    """
    form = messages.form_from_msg(request.form)
    return [Target(words, form) for words in request.targets]


def fill_found(response: Any, found: Sequence[Found]) -> Any:
    """Write places into a response of Locate; returns the response."""
    response.found = [msg.Located(
        target=text(thing.target.text),
        whereabouts=messages.numbers(Whereabouts)[thing.whereabouts],
        reason=text(thing.reason), present=messages.probability_to_msg(thing.present),
        regions=[MESSAGES.region_to_msg(r) for r in thing.regions],
        probability=messages.probability_to_msg(thing.probability), sure=thing.sure,
        unread=text(thing.unread), text=text(thing.text), askings=thing.askings,
        checks=thing.checks, doubt=text(thing.doubt),
        unknown=[text(word) for word in thing.unknown]) for thing in found]
    return response


def found_from_response(response: Any, targets: Sequence[Target]) -> list[Found]:
    """The places in a response of Locate.

    Raises:
        InputError: there is not one place per target, or a region cannot be read.
    """
    if len(response.found) != len(targets):
        raise InputError(f'{len(targets)} targets have {len(response.found)} places')
    return [Found(target, tuple(messages.region_from_msg(region) for region in located.regions),
                  messages.probability_from_msg(located.probability), bool(located.sure),
                  located.unread, located.text, int(located.askings), int(located.checks),
                  response.model, located.doubt, tuple(located.unknown),
                  messages.probability_from_msg(located.present))
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
