"""Base of the nodes that load a vision-language model and answer requests with it."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from lifecycle_msgs.srv import ChangeState
from numpy.typing import NDArray
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from sightplan_interfaces import msg
from sightplan_interfaces.srv import Ask, StartRun

from sightplan.domains import load_domain
from sightplan.model import (
    InputError,
    Observation,
    SightplanError,
    Usage,
    dataclass_json,
    param,
    used_between,
)
from sightplan.model.option_pairs import parse_options
from sightplan.model.query import (
    Deadline,
    Model,
    Query,
    Reply,
    carry_over,
    check_pictures,
    close,
    traits_of,
)
from sightplan.records import messages
from sightplan.vlm.api import (
    backend_class,
    backend_settings,
    make_backend,
    resolved_options,
)
from sightplan.vlm.per_domain import ModelPerDomain, domain_loader, has_model_per_domain
from sightplan.vlm.recording import Recorded
from sightplan_nodes import conversions, qos, query_messages
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.depth import DepthImages
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.failures import error_text
from sightplan_nodes.heartbeats import Heartbeats
from sightplan_nodes.memory import FreedMemory
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.ports import RosTruth, TruthSettings
from sightplan_nodes.remote_model import ACCEPTS, MODEL, TRAITS, names_of_kinds
from sightplan_nodes.stamped_images import StampedImages, camera_pictures
from sightplan_nodes.work import Worker, WorkerService

_SPENDING_PERIOD_S = 0.5

Work = Callable[[Any, Any, Any, float], None]
"""A function that answers one request, see ``BackendNode.work``."""


@runtime_checkable
class _AboutDomain(Protocol):
    """A request that says what its questions are about."""

    domain: str
    """A domain; '' for the node's own."""


class _Ledger:
    """Counts what a run spends on a model, and publishes it even when a request fails.

    Used from all threads.
    """

    def __init__(self, publish: Callable[[msg.Usage], None]) -> None:
        self._send = publish
        self._lock = threading.Lock()
        self._backend: Model | None = None
        self._out = ''
        self._before = Usage()
        self._published: Usage | None = None

    def open(self, backend: Model, out: str) -> None:
        """Begin to count what the run in the directory ``out`` spends on a model."""
        with self._lock:
            self._backend, self._out = backend, out
            self._before, self._published = backend.usage or Usage(), None
        self.publish()

    def close(self) -> None:
        """Publish the last count; the model is closed."""
        self.publish()
        with self._lock:
            self._backend = None

    def publish(self) -> None:
        """Publish what the run has spent, if that has changed."""
        with self._lock:
            usage = None if self._backend is None else self._backend.usage
            if usage is None or usage - self._before == self._published:
                return
            self._published = usage - self._before
            message = MESSAGES.usage_to_msg(self._published)
            message.run = self._out
            self._send(message)


class _ModelPerDomain(ModelPerDomain):
    """The models of a node by domain; replies of others than the node's own bear their names."""

    @property
    def name(self) -> str:
        """Exact name of the model in use."""
        return self.inner.name

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Ask the model in use; contract in ``Model``."""
        replies = self.inner.ask(queries, deadline)
        if self.inner is self._first:
            return replies
        return [reply if reply.model else dataclasses.replace(reply, model=self.inner.name)
                for reply in replies]

    def close(self) -> None:
        """Close all models."""
        for model in self.models:
            close(model)


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """Parameters of every node that loads a model."""

    backend: str = param('embedded', 'Vision-language backend: a module of '
                                     'sightplan_models')
    backend_options: str = param('', 'Settings of the backend: key=value,... or JSON')
    seed: int = param(0, 'Seeds a backend that has a seed and was given none', low=0,
                      high=2**32 - 1)
    record: str = param('', 'Folder for replies-<node>.jsonl: all requests to the model and its '
                            'replies, as the backend "replay" takes them; empty: none')
    autostart: bool = param(True, 'Configure and activate at the start; otherwise wait for a '
                                  'lifecycle manager')
    from_camera: bool = param(True, "Take pictures from the camera's topics; else requests carry "
                                    'them, which is less where a slow network lies between')
    timeout_s: float = param(60.0, 'Limit of a request that sets none [s]', low=0.1, high=3600.0)


class BackendNode(LifecycleNode):
    """A lifecycle node with a model and services that ask it.

    *configure* loads the model, which may take long or fail (the log says why); *activate* opens
    the services, *deactivate* closes them: while a service is there, it answers. Every such node
    serves ``~/ask`` (Ask), which takes any query that the model answers. A backend with a model
    for each domain loads that of a request's ``domain`` when the first request names it, unless
    the parameter ``backend_options`` chooses one. The pictures that
    requests name are taken from ``camera/image_raw`` and ``camera/image_labelled`` by their stamp,
    depth for a model that needs it from ``camera/depth/image_raw``. The model works in a thread of
    its own, so lifecycle and parameter services answer meanwhile. The parameters ``model``,
    ``accepts``, ``traits``, ``model_domain`` and ``backend_settings``, read-only, show what is in
    use.
    The service ``~/start_run`` (StartRun) tells a model with a limit on spending what its run has
    spent so far; from then on ``~/spending`` (Usage) says what the run spends, twice a second and
    with every reply. ``heartbeat`` says that the node is alive.

    A subclass says how the model is used: ``use``, ``work``, ``other_services``.
    """

    def __init__(self, name: str, settings: type[BackendSettings], service: type,
                 service_name: str, **node_arguments: Any) -> None:
        """Declare the parameters.

        Args:
            name: of the node.
            settings: settings dataclass of the parameters.
            service: type of the service; its requests have ``timeout_s``, ``episode_id``,
                ``split`` and ``new_episode``, its responses the error fields and ``usage``.
            service_name: of the service.
            **node_arguments: passed on to rclpy's LifecycleNode.
        """
        super().__init__(name, **node_arguments)
        self._service_change_state.callback = self._refusing(self._service_change_state.callback)
        self.settings = declare_settings(self, settings)
        self._truth_settings = declare_settings(self, TruthSettings)
        self.exit_code: int | None = None
        self._service_type, self._service_name = service, service_name
        self._offered: list[WorkerService] = []
        self._backend: Model | None = None
        self._per_domain: ModelPerDomain | None = None
        self._user: Any = None
        self._truth: RosTruth | None = None
        self._episode_id = ''
        self._memory = FreedMemory()
        self.observations = conversions.RequestedObservations()
        self._pictures: dict[str, StampedImages] = {}
        self._depth: DepthImages | None = None
        self._worker = Worker(self, name)
        self._heartbeats = Heartbeats(self)
        publisher = self.create_publisher(msg.Usage, '~/spending', qos.LATCHED)
        self._ledger = _Ledger(publisher.publish)
        self.create_timer(_SPENDING_PERIOD_S, self._ledger.publish)
        self._stopping = False
        if self.settings.autostart:
            self._starter = self.create_timer(0.0, self._autostart)

    @abstractmethod
    def check_backend(self, name: str) -> None:
        """Refuse a backend that does not answer the node's requests, before it is loaded.

        Raises:
            InputError: names one that can.
        """

    @abstractmethod
    def use(self, backend: Model) -> Any:
        """The core's class that asks the model, such as a grounder; it has ``start_episode``."""

    @abstractmethod
    def work(self, user: Any, request: Any, response: Any, limit_s: float) -> None:
        """Answer one request, in the worker's thread.

        Args:
            user: what ``use`` returned.
            request: the request.
            response: to fill.
            limit_s: wall-clock limit [s].
        """

    def other_services(self) -> tuple[tuple[type, str, Work], ...]:
        """Further services that ask the model: type (as that of the first), name, and work."""
        return ()

    def subscribe(self, backend: Model) -> None:
        """Subscribe to the topics of pictures that the model needs; undone by ``unsubscribe``."""
        if self.settings.from_camera:
            self.observations.published = self._pictures = camera_pictures(self)
        if traits_of(backend).depth:
            self._depth = DepthImages(self)
            self.observations.depth_at = self._depth.at

    def unsubscribe(self) -> None:
        """End all subscriptions to pictures."""
        for pictures in self._pictures.values():
            pictures.close()
        self.observations.published = self._pictures = {}
        if self._depth is not None:
            self._depth.close()
            self._depth = self.observations.depth_at = None

    def reasoning(self) -> bool | None:
        """Whether the model will be asked for its reasons; None: not known beforehand."""
        return None

    def domain(self) -> str:
        """Domain of the problems; '': not known beforehand."""
        return ''

    def close(self) -> None:
        """Forget waiting requests."""
        self._stopping = True
        self._close_services()
        self._worker.close(timeout_s=1.0)
        self._heartbeats.close()
        self._forget()

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report the model in use and the number of waiting requests; see ``Diagnosis``."""
        backend = self._backend
        diagnosis.note(backend=self.settings.backend,
                       model=None if backend is None else backend.name,
                       episode=self._episode_id, jobs_waiting=self._worker.waiting)

    def _autostart(self) -> None:
        self._starter.cancel()
        if self.trigger_configure() is TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()
        else:
            self.exit_code = 1

    # Lifecycle.

    def _refusing(self, change: Callable[..., ChangeState.Response],
                  ) -> Callable[..., ChangeState.Response]:
        """Return rclpy's callback of ``~/change_state`` that refuses impossible transitions.

        rclpy's own lets the error leave, which ends the node without a reply.
        """
        def serve(request: ChangeState.Request,
                  response: ChangeState.Response) -> ChangeState.Response:
            try:
                return change(request, response)
            except rclpy_implementation.RCLError as error:
                response.success = False
                said = ' '.join(str(error).split())
                self.get_logger().error(f'transition {request.transition.id} was refused: {said}; '
                                        f'see {self.get_name()}/get_available_transitions')
                return response
        return serve

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model."""
        started = time.monotonic()
        name = self.settings.backend
        try:
            self.check_backend(name)
            options = self._options()
            self.loading = True
            backend = self._loaded(name, options)
            served = traits_of(backend).domain
            self.subscribe(backend)
            check_pictures(backend)
            if self.settings.record:
                # Each node has a file of its own; replay takes the folder with all of them.
                backend = Recorded(
                    backend, Path(self.settings.record) / f'replies-{self.get_name()}.jsonl',
                    name=name, settings=backend_settings(name, options))
            self._backend, self._user = backend, self.use(backend)
        except SightplanError as error:
            self.get_logger().fatal(
                f'backend {name!r} cannot be used: {error_text(error)}')
            return TransitionCallbackReturn.FAILURE
        except Exception as error:
            self.get_logger().fatal(
                f'backend {name!r} broke while loading: {error_text(error)}')
            return TransitionCallbackReturn.FAILURE
        finally:
            self.loading = False
        model = messages.text(backend.name)
        self._show(MODEL, model, 'Exact name of the model in use')
        self._show(ACCEPTS, names_of_kinds(backend.accepts), 'Kinds of queries that it answers')
        self._show(TRAITS, json.dumps(dataclass_json.encode(traits_of(backend))),
                   'What is known of the model, as JSON: fields of sightplan.model.query.Traits')
        self._show('model_domain', served, 'Domain that this model was made for; empty: for any')
        self._show('backend_settings', json.dumps(dataclasses.asdict(
            backend_settings(name, options))), 'All settings of the backend in use, as JSON')
        self.get_logger().info(f'{model} is loaded ({time.monotonic() - started:.1f} s)')
        return TransitionCallbackReturn.SUCCESS

    def _loaded(self, name: str, options: Mapping[str, Any]) -> Model:
        """Load a backend's model, which changes with the domain of requests if there is a choice.

        Raises:
            InputError: an unknown backend or option, or the world has no truth for an oracle.
            BackendError: the model is missing or unfit.
        """
        truth = self._truth_for(name)
        if (truth is not None or not has_model_per_domain(name)
                or 'domain' in self._given_options()):
            return make_backend(name, options, truth)
        self._per_domain = _ModelPerDomain(domain_loader(name, options, make_backend),
                                           (str(options.get('domain', '')),))
        return self._per_domain

    def _given_options(self) -> dict[str, Any]:
        """The options of the backend that the node's parameters give.

        Raises:
            InputError: they cannot be read; names the remedy.
        """
        cls = type(backend_settings(self.settings.backend))
        return parse_options(self.settings.backend_options, 'backend_options', cls)

    def _truth_for(self, backend: str) -> RosTruth | None:
        """Ground truth, for a backend that is an oracle.

        Raises:
            InputError: the world has none.
        """
        if not traits_of(backend_class(backend)).truth:
            return None
        if not self._truth_settings.service:
            raise InputError(f'backend {backend!r} takes ground truth, which '
                             f'{self._truth_settings.world} does not have: choose another')
        if self._truth is None:
            self._truth = RosTruth(self, lambda: self._stopping, self._truth_settings.service)
        return self._truth

    def _options(self) -> dict[str, Any]:
        """The backend's options, with what they leave open and the node's parameters decide.

        Raises:
            InputError: they cannot be read; names the remedy.
        """
        domain = self.domain()
        return resolved_options(self.settings.backend, self._given_options(), self.settings.seed,
                                self.reasoning(), load_domain(domain) if domain else None)

    def _show(self, name: str, value: str | list[str], description: str) -> None:
        """Show a fact as a read-only parameter, so that records can name it."""
        if self.has_parameter(name):  # rclpy neither sets nor undeclares what is read-only
            self._parameters[name] = Parameter(name, value=value)
            return
        self.declare_parameter(name, value, ParameterDescriptor(description=description,
                                                                read_only=True),
                               ignore_override=True)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the services."""
        asking = ((self._service_type, self._service_name, self.work), (Ask, '~/ask', self._ask),
                  *self.other_services())
        offered: tuple[tuple[Any, str, Callable[..., None]], ...] = (
            (StartRun, '~/start_run', self._start_run),
            *((kind, name, partial(self._answer, work)) for kind, name, work in asking))
        self._offered = [WorkerService(self, kind, name, self._worker, answer,
                                       self.settings.timeout_s)
                         for kind, name, answer in offered]
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the services."""
        self._close_services()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the model."""
        self._forget()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget services and model."""
        self._close_services()
        self._forget()
        return TransitionCallbackReturn.SUCCESS

    def _close_services(self) -> None:
        for service in self._offered:
            service.close()
        self._offered = []

    # The services.

    def _start_run(self, request: StartRun.Request, response: StartRun.Response,
                   limit_s: float) -> None:
        """Let the model's limits count as if it had spent just what the run has."""
        assert self._backend is not None, 'the service is there only while active'
        if traits_of(self._backend).capped:
            spent = messages.usage_from_msg(request.spent) or Usage()
            # What this process has spent is in the model's own count, whatever it was for.
            priced = dataclasses.replace(spent, cost_usd=spent.cost_usd or 0.0)
            carry_over(self._backend, priced - (self._backend.usage or Usage()))
            self._ledger.open(self._backend, request.out)

    def depth_of(self, observation: Observation) -> NDArray[np.float32] | None:
        """Depth of a picture of a request for queries that have room for it; None without."""
        return observation.depth_m

    def _ask(self, user: Any, request: Ask.Request, response: Ask.Response,
             limit_s: float) -> None:
        """Pass queries of any kind on to the model; contract of ``work``."""
        assert self._backend is not None, 'the service is there only while active'
        deadline = Deadline(limit_s, request.keep_going)
        seen = [self.observations.read(one) for one in request.observations]
        queries = query_messages.read_queries(request.queries, seen, self.depth_of)
        response.model = messages.text(self._backend.name)
        try:
            replies = self._backend.ask(queries, deadline)
        except SightplanError as error:  # what was answered nevertheless is paid for
            response.replies = query_messages.write_replies(error.partial)
            raise
        response.replies = query_messages.write_replies(replies)
        self.without_failing(lambda: self.replied(seen, queries, replies))

    def without_failing(self, show: Callable[[], None]) -> None:
        """Show what a model found; an error is logged: the reply is paid for, and is sent."""
        try:
            show()
        except Exception as error:
            self.get_logger().error(
                f'a reply is sent, but what it found is not published: {type(error).__name__}: '
                f'{error}')

    def replied(self, seen: Sequence[Observation], queries: Sequence[Query[Any]],
                replies: Sequence[Reply]) -> None:
        """Note replies to a request of ``~/ask``, in the worker's thread.

        Args:
            seen: observations of the request.
            queries: about them.
            replies: one per query.
        """

    def _answer(self, work: Work, request: Any, response: Any, limit_s: float) -> None:
        backend, user = self._backend, self._user
        assert backend is not None, 'the service is there only while active'
        if self._per_domain is not None:
            self._per_domain.use(request.domain if isinstance(request, _AboutDomain) else '')
        new = request.new_episode or request.episode_id != self._episode_id
        if request.episode_id and new:
            self._episode_id = request.episode_id
            user.start_episode(request.episode_id, request.split)
            self._memory.give_back()
        before = backend.usage
        try:
            work(user, request, response, limit_s)
        finally:
            self._ledger.publish()
            response.usage = MESSAGES.usage_to_msg(used_between(before, backend.usage))

    def _forget(self) -> None:
        self._ledger.close()
        self.unsubscribe()
        backend, self._backend, self._user, self._per_domain = self._backend, None, None, None
        close(backend)
