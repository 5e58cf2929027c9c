"""The node ``grounder``: asks a model what holds in an image, and where things are."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sightplan_interfaces import msg
from sightplan_interfaces.srv import Ground, Locate, TellApart

from sightplan.agent import answers_only_samples
from sightplan.domains import domain_names, load_domain
from sightplan.grounding import PARSERS, BackendGrounder, in_places, meaning_of
from sightplan.model import Answer, InputError, Observation, Question, SightplanError, param
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.query import Deadline, Model, Query, Reply, can_ask, traits_of
from sightplan.queries import Detect, yes_no_queries
from sightplan.queries import Locate as LocateQuery
from sightplan.records import messages
from sightplan.runs import asks_for_reasons
from sightplan_belief import BackendLocator
from sightplan_nodes import names, query_messages
from sightplan_nodes.backend_node import BackendNode, BackendSettings, Work
from sightplan_nodes.camera_topics import Intrinsics
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.depth import DepthImages
from sightplan_nodes.detections import (
    Detections,
    Thing,
    all_things,
    asks_for_things,
    things_of_found,
    things_of_instances,
    things_of_reply,
)
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.spin import main as run_main
from sightplan_nodes.stamped_images import next_picture

_NEXT_PICTURE_S = 5.0
"""Limit for the next picture of the camera, which sends many a second [s]."""

_RESERVE = 0.1
"""Fraction of the time limit of ~/locate that is kept for sending the reply."""


@dataclass(frozen=True, slots=True)
class GrounderSettings(BackendSettings):
    """Parameters of ``grounder``."""

    answers: str = param('strict', 'How replies are read, see sightplan.model.yes_no_text',
                         choices=tuple(PARSERS))
    domain: str = param('', 'Domain of the problems: a backend that has a model for each takes '
                            'its; see also method')
    method: str = param('', 'Method that will ask: a backend that simulates errors takes those of '
                            "answers to the method's prompt; empty: to the prompt of each request")


@dataclass(frozen=True, slots=True)
class LocateSettings(PointerSettings):
    """Parameters of ``~/locate``."""

    depth: bool = param(True, 'Whether depth is used where it is published')


class GrounderNode(BackendNode):
    """Answers questions about images, and says where things are in them, while active.

    Services: ``~/ground`` (Ground), ``~/locate`` (Locate) and ``~/tell_apart`` (TellApart). Of a
    backend that cannot point, ``~/locate`` replies with an error that names those that can,
    and so does ``~/tell_apart`` for a model that cannot find all things. A request without a
    picture is about that of ``camera/image_raw`` whose stamp it has, and without a stamp about
    the next one. Depth of the picture is taken from
    ``camera/depth/image_raw``, by its stamp, and its calibration from ``camera/camera_info``,
    where they are published.

    What was found last in a picture of the camera is on the latched topics ``~/detections``
    (Detection2DArray of vision_msgs) and, where its depth is known, ``~/detections_3d``
    (Detection3DArray).

    Parameters: see GrounderSettings, and LocateSettings with the prefix ``locate.``. For the rest
    see BackendNode.
    """

    settings: GrounderSettings

    def __init__(self, **node_arguments: Any) -> None:
        super().__init__(names.GROUNDER, GrounderSettings, Ground, '~/ground', **node_arguments)
        self._locate_settings = declare_settings(self, LocateSettings, 'locate.')
        self._locator: BackendLocator | None = None
        self._intrinsics = Intrinsics(self)
        self._detections = Detections(self)

    def check_backend(self, name: str) -> None:
        """Accept every backend; contract in the base class."""

    def other_services(self) -> tuple[tuple[type, str, Work], ...]:
        """``~/locate`` and ``~/tell_apart``; a model that cannot point replies with an error."""
        return ((Locate, '~/locate', self._locate), (TellApart, '~/tell_apart', self._tell_apart))

    def subscribe(self, backend: Model) -> None:
        """Subscribe to depth, too, if the model points or detects; contract in the base class."""
        super().subscribe(backend)
        if self._depth is None and self._locate_settings.depth and (
                can_ask(backend, LocateQuery) or can_ask(backend, Detect)):
            self._depth = DepthImages(self)

    def reasoning(self) -> bool | None:
        """Whether the prompt of the parameter ``method`` asks for reasons; None without one."""
        method = self.settings.method
        if not method or not self.settings.domain or answers_only_samples(method):
            return None
        return asks_for_reasons(method, self.settings.domain)

    def domain(self) -> str:
        """The value of the parameter ``domain``."""
        return self.settings.domain

    def use(self, backend: Model) -> BackendGrounder:
        """Let the core's grounder ask the backend."""
        self._locator = (BackendLocator(self.settings.backend, backend)
                         if can_ask(backend, LocateQuery) else None)
        return BackendGrounder(backend, PARSERS[self.settings.answers])

    def work(self, user: BackendGrounder, request: Ground.Request, response: Ground.Response,
             limit_s: float) -> None:
        """Answer the questions; contract in the base class."""
        started = time.monotonic()
        asked = request.observation
        if not asked.text:
            self._fill_picture(asked, limit_s)
        observation = self.observations.read(asked)
        questions = query_messages.questions_from_request(request)
        known = request.domain or self.settings.domain or traits_of(user).domain
        refused = [self._why_refused(question, known, bool(request.domain))
                   for question in questions]
        able = [question for question, why in zip(questions, refused, strict=True) if not why]
        if any(refused) and not (request.keep_going and able):
            raise InputError(next(filter(None, refused)))
        meant = [meaning_of(user, question) for question in questions]
        if any(meant):
            response.read_as = [messages.text(str(one or '')) for one in meant]
        try:
            answers = user.ask(
                yes_no_queries(observation, able,
                               query_messages.prompt_from_msg(request.prompt)),
                Deadline(limit_s, request.keep_going))
        except SightplanError as error:  # what was answered before it is paid for
            query_messages.fill_answers(
                response, cast(list[Answer | None], in_places(error.partial, refused)))
            raise
        query_messages.fill_answers(
            response, cast(list[Answer | None], in_places(answers, refused)))
        response.model, response.image_id = messages.text(user.model), observation.image_id
        response.seconds = time.monotonic() - started
        if any(refused):
            raise InputError(next(filter(None, refused)))

    def _why_refused(self, question: Question, known: str, named: bool) -> str:
        """Return why a question is refused: no domain has its atom, or it is not about it.

        Args:
            question: of the request.
            known: domain of the request, of the node or of its model; '' where none is known.
            named: whether the request names the domain.

        Returns:
            '' if it is not refused; else the reason, with the remedy.
        """
        if question.in_words or not known:
            return ''
        domain = load_domain(known)
        if named or domain.wording.knows(question.atom) or not any(
                load_domain(other).wording.knows(question.atom) for other in domain_names()):
            try:
                domain.check_question(question)
            except InputError as error:
                return str(error)
        return ''

    def _locate(self, user: BackendGrounder, request: Locate.Request, response: Locate.Response,
                limit_s: float) -> None:
        """Say where things are; contract of ``work``."""
        started = time.monotonic()
        assert self._backend is not None, 'the service is there only while active'
        # One that cannot point is refused in words by the class.
        asked = self._locator or BackendLocator(self.settings.backend, self._backend)
        targets = query_messages.targets_from_request(request)
        seen = self._picture(request, limit_s)
        assert seen.image is not None, 'a picture has one'
        usual = self._locate_settings
        settings = dataclasses.replace(usual, max_askings=request.max_askings or usual.max_askings,
                                       accept=request.accept or usual.accept,
                                       mark=request.mark or usual.mark,
                                       prior_present=(request.prior_present
                                                      or usual.prior_present))
        depth_m = self._aligned(seen)
        height, width = seen.image.shape[:2]
        camera = None if depth_m is None else self._intrinsics.of(width, height)
        left_s = (1 - _RESERVE) * limit_s - (time.monotonic() - started)
        found = asked.locate(
            seen.image, targets, settings, depth_m=depth_m, camera=camera,
            start=tuple(request.start) or None, timeout_s=left_s)
        query_messages.fill_found(response, found)
        self.without_failing(lambda: self._detections.publish(
            seen, things_of_found(found), depth_m, camera))
        response.header = MESSAGES.header(seen.stamp_ns, seen.frame_id)
        response.model, response.image_id = messages.text(asked.model), seen.image_id
        response.seconds = time.monotonic() - started

    def _tell_apart(self, user: BackendGrounder, request: TellApart.Request,
                    response: TellApart.Response, limit_s: float) -> None:
        """Find all things in a picture; contract of ``work``."""
        started = time.monotonic()
        seen = self._picture(request, limit_s)
        looks, tries = max(1, request.looks), max(1, request.tries)
        requests = looks + (tries if request.instruction else 0)
        left_s = (1 - _RESERVE) * limit_s - (time.monotonic() - started)
        depth_m = self._aligned(seen)
        found = user.tell_apart(dataclasses.replace(seen, depth_m=depth_m), looks,
                                max(left_s, 0.0) / requests, request.instruction, tries)
        if found.instances or not (found.cannot_tell or found.unread):
            self.without_failing(lambda: self._show_things(
                seen, things_of_instances(found.instances), depth_m))
        response.instances = [MESSAGES.instance_to_msg(one) for one in found.instances]
        response.goal, response.unread = messages.text(found.goal), messages.text(found.unread)
        response.cannot_tell = messages.text(found.cannot_tell)
        response.header = MESSAGES.header(seen.stamp_ns, seen.frame_id)
        response.model, response.image_id = messages.text(user.model), seen.image_id
        response.seconds = time.monotonic() - started

    def replied(self, seen: Sequence[Observation], queries: Sequence[Query[Any]],
                replies: Sequence[Reply]) -> None:
        """Publish what the replies found in pictures; contract in the base class."""
        for picture in seen:
            asked = [(query, reply) for query, reply in zip(queries, replies, strict=True)
                     if query.pictures and query.picture_ids[0] == picture.image_id
                     and asks_for_things(query)]
            things = all_things(things_of_reply(query, reply) for query, reply in asked)
            if things is not None:
                self._show_things(picture, things, asked[-1][0].depth_m)

    def _show_things(self, seen: Observation, things: Sequence[Thing],
                     depth_m: NDArray[np.float32] | None) -> None:
        """Publish what was found in a picture."""
        camera = None
        if depth_m is not None and things:
            camera = self._intrinsics.of(depth_m.shape[1], depth_m.shape[0])
        self._detections.publish(seen, things, depth_m, camera)

    def _picture(self, request: Locate.Request | TellApart.Request,
                 limit_s: float) -> Observation:
        """The picture of a request; the camera's next one, if it has none."""
        asked = request.observation
        self._fill_picture(asked, limit_s)
        return self.observations.picture(
            asked, None if self._depth is None else self._depth.at)

    def _fill_picture(self, asked: msg.Observation, limit_s: float) -> None:
        """Let an observation without a picture be about one of the camera's.

        Its stamp names the picture; without a stamp it is the next one, whose header it gets.

        Raises:
            InputError: it has a stamp, and this node takes no pictures from the camera.
            DeadlineError: no picture came.
        """
        if asked.image or asked.image_id or asked.published:
            return
        stamp_ns = messages.time_from_msg(asked.header.stamp)
        if stamp_ns and not self._pictures:
            raise InputError(f'the picture of world time {stamp_ns} ns is not known: this node '
                             'takes none from the camera (from_camera: false); send the picture '
                             'with the request, or leave out the stamp for the next one')
        if stamp_ns:
            asked.published = True
            return
        limit_s = min(limit_s, _NEXT_PICTURE_S)
        camera = self._pictures.get(names.CAMERA_IMAGE)
        asked.image = [camera.next(limit_s) if camera else next_picture(self, limit_s)]
        asked.header = asked.image[0].header

    def depth_of(self, observation: Observation) -> NDArray[np.float32] | None:
        """Depth from the camera's topic, if it is aligned with the picture; None without.

        A picture that was on no topic has no stamp, by which its depth could be found.
        """
        if observation.depth_m is None and self._depth is not None and observation.stamp_ns:
            observation = dataclasses.replace(
                observation, depth_m=self._depth.at(observation.stamp_ns))
        return self._aligned(observation)

    def _aligned(self, seen: Observation) -> NDArray[np.float32] | None:
        """Depth of a picture, 0 where unknown; None without, and if it is not aligned with it."""
        if seen.depth_m is None or seen.image is None:
            return None
        if seen.depth_m.shape != seen.image.shape[:2]:
            self.get_logger().warning(
                f'{names.CAMERA_DEPTH}: depth of shape {seen.depth_m.shape} is not aligned with a '
                f'picture of shape {seen.image.shape[:2]}; things are located without it')
            return None
        return np.nan_to_num(seen.depth_m, nan=0.0, posinf=0.0, neginf=0.0)


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(GrounderNode, args)
