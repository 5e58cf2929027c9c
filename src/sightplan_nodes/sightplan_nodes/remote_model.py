"""A model that runs in another node, as a ``Model`` of the core.

Every call blocks the calling thread, which must not be the executor's, for at most its deadline;
then DeadlineError names the node that is silent.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from sightplan_interfaces import msg
from sightplan_interfaces.srv import Ask, StartRun

from sightplan.model import (
    DeadlineError,
    InputError,
    Observation,
    SightplanError,
    SpendingCapError,
    UnknownImageError,
    Usage,
    dataclass_json,
    used_between,
)
from sightplan.model.query import (
    Deadline,
    Model,
    Query,
    Reply,
    Rgb,
    Traits,
    ask_in_batches,
    known_kinds,
)
from sightplan.records import messages
from sightplan.vlm.wrapping import Wrapper
from sightplan_nodes import conversions, query_messages
from sightplan_nodes.calls import ParameterReader, ServiceCaller, never
from sightplan_nodes.conversions import MESSAGES

MODEL, ACCEPTS, TRAITS, ANSWERS = 'model', 'accepts', 'traits', 'answers'
"""Read-only parameters of a node that has a model: its exact name, the kinds of queries that it
answers ('*' for every kind), its traits as JSON, and how replies to yes/no questions are read."""

_KNOWN = 64
"""Number of pictures that a node was shown last, and that are named and not sent again."""

_FACTS_S = 5.0
"""Limit for a node to reply with these parameters [s]."""

_REPLY_S = 2.0
"""Time that a reply may be late [s]: the node keeps the limit itself, and its error says more."""


@dataclass(frozen=True, slots=True)
class PublishedPicture:
    """Publication of a picture: the camera's topic, and stamp [ns] and frame on it."""

    topic: str
    stamp_ns: int
    frame_id: str = ''


Published = Callable[[str], PublishedPicture | None]
"""Says where the picture of an id was published; None: nowhere."""


def nowhere(image_id: str) -> None:
    """No picture was published."""


def names_of_kinds(accepts: Iterable[type[Query[Any]]]) -> list[str]:
    """The kinds that a model answers, as the parameter ``accepts`` has them."""
    return sorted(kind.kind if 'kind' in vars(kind) else '*' for kind in accepts)


class ModelClient:
    """Base of clients of a node that has a model.

    It names the episode in every request, sends a picture only if the node cannot have it yet,
    and adds up what the requests cost.

    Attributes:
        capped: the limit on spending that a request of this episode has met, or None.
    """

    def __init__(self, node: Node, srv_type: type, name: str, limit_s: float,
                 cancelled: Callable[[], bool] = never, published: Published = nowhere) -> None:
        """Create the client of a service.

        Args:
            node: owns the client; its executor must spin in another thread.
            srv_type: type of the service.
            name: of the service; it begins with the name of the node that serves it.
            limit_s: wall-clock limit of a call for which the caller sets none [s].
            cancelled: polled.
            published: says where pictures were published.
        """
        self._node, self._limit_s, self._published = node, limit_s, published
        self.server, self._cancelled = name.rpartition('/')[0], cancelled
        self._service = ServiceCaller(node, srv_type, name, self.server)
        self._model = ''
        self._usage: Usage | None = None
        self._episode_id = self._split = ''
        self._new_episode = False
        self._known: OrderedDict[str, None] = OrderedDict()  # pictures that the node has seen
        self._named_published = self._said_lost = False
        self.capped: SpendingCapError | None = None
        self._received: Any = None  # reply to the last call, also to one that failed

    @property
    def usage(self) -> Usage | None:
        """Cost of all calls so far; None where nobody counts."""
        return self._usage

    def wait_until_there(self, timeout_s: float) -> None:
        """Wait for the service, which appears when the node is active.

        Raises:
            DeadlineError: it is not there in time.
        """
        self._service.wait_until_there(timeout_s, self._cancelled)

    def is_there(self) -> bool:
        """Whether the service is discovered."""
        return self._service.is_there()

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Name the episode in the requests to come."""
        self._episode_id, self._split, self._new_episode = episode_id, split, True
        self.capped = None

    def _send(self, request: Any, show: Callable[[Any, bool], None], timeout_s: float | None,
              service: ServiceCaller | None = None) -> Any:
        """Send a request about observations, and return the response.

        A picture goes with the request only if it was not published and not sent before, or has
        not reached the node otherwise, which is logged.

        Args:
            request: what to send.
            show: writes the observations into the request; with True all pictures are sent.
            timeout_s: wall-clock limit [s]; None: the usual one.
            service: another one of the same node than the usual one.

        Raises:
            InputError: there is neither image nor text.
            SightplanError: the reply's error.
        """
        self._named_published = False
        show(request, False)
        request.episode_id, request.split = self._episode_id, self._split
        request.new_episode, self._new_episode = self._new_episode, False
        request.timeout_s = self._limit_s if timeout_s is None else timeout_s
        service = service or self._service
        try:
            reply = self._call(service, request)
        except UnknownImageError as error:  # lost, or known to the process before this one
            if self._named_published and not self._said_lost:
                self._said_lost = True
                self._node.get_logger().warning(
                    f'{self.server} takes no pictures from the camera, which are sent to it '
                    f'instead: {error}')
            show(request, True)
            reply = self._call(service, request)
        return reply

    def _shown(self, observation: Observation, send: bool = False) -> msg.Observation:
        """An observation for a request.

        Args:
            observation: what the model is asked about.
            send: whether its picture is sent although the node might have it.
        """
        if send:
            return conversions.observation_to_request(observation)
        name = observation.image_id
        published = self._published(name) if name else None
        self._named_published |= published is not None
        message = conversions.observation_to_request(
            observation, '' if published is None else published.topic,
            with_image=name not in self._known)
        if name:
            self._known[name] = None
            self._known.move_to_end(name)
            while len(self._known) > _KNOWN:
                self._known.popitem(last=False)
        return message

    def _call(self, service: ServiceCaller, request: Any) -> Any:
        try:
            return service.checked(request, request.timeout_s + _REPLY_S, self._cancelled,
                                   self._count)
        except SpendingCapError as error:
            self.capped = error
            raise

    def _count(self, reply: Any) -> None:
        """Add up what a call cost, also one that failed, and keep its reply."""
        self._received = reply
        spent = messages.usage_from_msg(reply.usage)
        if spent is not None:
            self._usage = (self._usage or Usage()) + spent


class RosModel(ModelClient):
    """The model of another node: callers use it like one of their own process.

    Yes/no questions go through the node's service ``~/ground``, all other queries, also of kinds
    of other packages, through ``~/ask``; see ``query_messages``.

    Attributes:
        accepts: kinds of queries that it answers; every kind until ``wait_until_there`` has asked
            the node.
        traits: what is known of the model; the usual ones until then.
        answers: how replies to yes/no questions are read, a name in ``grounding.PARSERS``.
        recorded: whether the node writes down what its model is asked and replies.
    """

    def __init__(self, node: Node, server: str, limit_s: float = 60.0,
                 cancelled: Callable[[], bool] = never, published: Published = nowhere,
                 start_run: ServiceCaller | None = None) -> None:
        """Create the clients of a node.

        Args:
            node: see ModelClient, as for ``limit_s``, ``cancelled`` and ``published``.
            server: name of the node that has the model.
            limit_s: wall-clock limit of a call for which the caller sets none [s].
            cancelled: polled.
            published: says where pictures were published.
            start_run: client of the node's ``~/start_run``, for runs that were begun earlier and
                whose model has a limit on spending; None: nobody tells the node of these.
        """
        super().__init__(node, Ask, f'{server}/ask', limit_s, cancelled, published)
        self._typed = {
            kind: (typed, ServiceCaller(node, typed.type, f'{server}/{typed.name}', server))
            for kind, typed in query_messages.TYPED.items()}
        self._start_run = start_run
        self._parameters = ParameterReader(node, server, _FACTS_S)
        self.accepts: frozenset[type[Query[Any]]] = frozenset({Query})
        self.traits, self.answers, self.recorded = Traits(), 'strict', False
        self._parts: dict[tuple[str, type[Query[Any]]], str] = {}

    @property
    def name(self) -> str:
        """Exact name of the model; '' where that is not known yet."""
        return self._model

    def part_name(self, kind: type[Query[Any]]) -> str:
        """Exact name of the model that answered a kind last; that of the node's until then."""
        return self.part_for('', kind) or self.name

    def part_for(self, domain: str, kind: type[Query[Any]]) -> str:
        """Exact name in the last reply to a kind of queries about a domain; '' without one."""
        return self._parts.get((domain, kind), '')

    def wait_until_there(self, timeout_s: float) -> None:
        """Wait for the service, and ask the node which model it has.

        So rates that a domain has for the model are used before the first question, as in
        process. The model of a node that does not say it is known by its first reply.

        Raises:
            DeadlineError: it is not there in time.
            InputError: what the node says of its model cannot be read.
        """
        super().wait_until_there(timeout_s)
        try:
            facts = self._parameters.read(_FACTS_S, self._cancelled,
                                          (MODEL, ACCEPTS, TRAITS, ANSWERS))
        except DeadlineError:  # the node has no services for parameters
            return
        self._model = str(facts.get(MODEL, self._model))
        self.answers = str(facts.get(ANSWERS, self.answers))
        if ACCEPTS in facts:
            kinds: dict[str, type[Query[Any]]] = {'*': Query, **known_kinds()}
            self.accepts = frozenset(kinds[name] for name in facts[ACCEPTS] if name in kinds)
        if TRAITS in facts:
            self.traits = dataclass_json.decode(Traits, json.loads(facts[TRAITS]))

    def begin_run(self) -> None:
        """Count what calls cost from nothing again: another run begins."""
        self._usage = None

    def carry_over(self, spent: Usage) -> None:
        """Count what earlier sessions of a run spent towards the limit of the model.

        The node is told what the whole run has spent, with the calls since ``begin_run``.
        """
        if self._start_run is not None:
            whole = spent + (self._usage or Usage())
            self._start_run.checked(StartRun.Request(spent=MESSAGES.usage_to_msg(whole)), _FACTS_S,
                                    self._cancelled)

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Reply to queries, in their order; contract in ``Model``."""
        return self.ask_about('', queries, deadline)

    def ask_about(self, domain: str, queries: Sequence[Query[Any]], deadline: Deadline,
                  ) -> list[Reply]:
        """Reply to queries about a domain, in their order; '' for the node's own domain."""
        return ask_in_batches(
            queries, lambda batch: self._ask_batch(domain, batch, deadline), deadline.keep_going)

    def for_domain(self, domain: str) -> Model:
        """The node's model for a domain; contract in ``ServesDomains``.

        The node loads it now, which may take some seconds.
        """
        return _DomainModel(self, domain, self.name_for(domain))

    def name_for(self, domain: str) -> str:
        """Exact name of the node's model for a domain, which the node loads if it has to.

        Raises:
            InputError: the node has none.
            DeadlineError: the node does not reply in time.
        """
        return str(self._send(Ask.Request(domain=domain), lambda request, send: None, None).model)

    def _ask_batch(self, domain: str, queries: Sequence[Query[Any]], deadline: Deadline,
                   ) -> list[Reply]:
        left_s = deadline.left_s
        if left_s is not None and left_s <= 0.0:
            raise DeadlineError(f'{self.server}: the time limit has passed')
        typed = self._typed.get(type(queries[0]))
        if typed is None:
            return self._ask_any(domain, queries, deadline)
        conversion, service = typed
        seen = queries[0].observation  # type: ignore[attr-defined]  # see TYPED

        def show(request: Any, send: bool) -> None:
            request.observation = self._shown(seen, send)
        request = conversion.type.Request(domain=domain, keep_going=deadline.keep_going)
        conversion.fill(request, queries)
        with self._partial(lambda reply: conversion.partial(reply, queries)):
            reply = self._send(request, show, left_s, service)
        if not domain:
            self._model = reply.model
        return conversion.replies(reply, queries)

    def _ask_any(self, domain: str, queries: Sequence[Query[Any]], deadline: Deadline,
                 ) -> list[Reply]:
        written, seen = query_messages.write_queries(queries, self._observation_of)

        def show(request: Any, send: bool) -> None:
            request.observations = [self._shown(one, send) for one in seen]
        request = Ask.Request(queries=written, domain=domain, keep_going=deadline.keep_going)
        with self._partial(lambda reply: query_messages.partial_replies(reply.replies, queries)):
            reply = self._send(request, show, deadline.left_s)
        if not domain:
            self._model = reply.model
        replies = query_messages.read_replies(reply.replies, queries)
        self._parts.update({(domain, type(query)): one.model
                            for query, one in zip(queries, replies, strict=True)})
        return replies

    @contextlib.contextmanager
    def _partial(self, read: Callable[[Any], list[Reply | None]]) -> Iterator[None]:
        """Give the error of a call the replies that the node had nevertheless (``partial``).

        Args:
            read: reads them out of the response.
        """
        self._received = None
        try:
            yield
        except SightplanError as error:
            if self._received is not None:
                with contextlib.suppress(InputError):  # it is no reply to these queries
                    error.partial = read(self._received)
            raise

    def _observation_of(self, picture: Rgb) -> Observation:
        """An observation of a picture that a query shows by itself."""
        seen = Observation(picture)
        published = self._published(seen.image_id)
        return seen if published is None else Observation(
            picture, published.stamp_ns, published.frame_id)


class _DomainModel(Wrapper):
    """The model that another node has for one domain.

    Its traits name no domain: the node itself refuses questions that its model was not made for.
    """

    def __init__(self, node: RosModel, domain: str, name: str) -> None:
        super().__init__(node)
        self._node, self._domain, self._name = node, domain, name
        self._usage: Usage | None = None

    @property
    def traits(self) -> Traits:
        """Traits of the model."""
        return dataclasses.replace(self._node.traits, domain='')

    @property
    def name(self) -> str:
        """Exact name of the model."""
        return self._name

    def part_name(self, kind: type[Query[Any]]) -> str:
        """Exact name of the model that answered a kind last; that of this model until then."""
        return self._node.part_for(self._domain, kind) or self._name

    @property
    def usage(self) -> Usage | None:
        """Cost of the calls to this model; None where nobody counts."""
        return self._usage

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Reply to queries about the domain; contract in ``Model``."""
        before = self._node.usage
        try:
            return self._node.ask_about(self._domain, queries, deadline)
        finally:
            spent = used_between(before, self._node.usage)
            if spent is not None:
                self._usage = (self._usage or Usage()) + spent
