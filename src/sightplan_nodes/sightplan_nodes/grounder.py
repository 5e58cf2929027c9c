"""The node ``grounder``: which atoms hold in an image, asked of a vision-language model."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sightplan_interfaces.srv import Ground

from sightplan.grounding import PARSERS, BackendGrounder
from sightplan.model import SightplanError, param, settings_fields
from sightplan.vlm.api import backend_needs_truth, backend_settings, make_backend
from sightplan_nodes import conversions, names
from sightplan_nodes.failures import fill_error
from sightplan_nodes.options import parse_options
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.ports import RosTruth
from sightplan_nodes.spin import main as run_main
from sightplan_nodes.work import Worker


@dataclass(frozen=True, slots=True)
class GrounderSettings:
    """Parameters of ``grounder``."""

    backend: str = param('embedded', 'Vision-language backend: a module of '
                                     'sightplan.vlm.backends')
    backend_options: str = param('', 'Settings of the backend: key=value,... or JSON')
    answers: str = param('strict', 'How replies are read, see sightplan.grounding.parsing',
                         choices=tuple(PARSERS))
    seed: int = param(0, 'Seeds a backend that has a seed and was given none', low=0,
                      high=2**32 - 1)
    autostart: bool = param(True, 'Configure and activate at the start; otherwise wait for a '
                                  'lifecycle manager')
    timeout_s: float = param(60.0, 'Limit of a request that sets none [s]', low=0.1, high=3600.0)
    truth_timeout_s: float = param(10.0, 'Limit of a look at ground truth, for oracles [s]',
                                   low=0.1, high=600.0)


class GrounderNode(LifecycleNode):
    """Answers questions about images.

    Parameters: see GrounderSettings. *configure* loads the model, which may take long or fail
    (the log says why); *activate* opens the service ``~/ground`` (Ground), *deactivate* closes
    it: while the service is there, it answers. The model works in a thread of its own, so
    lifecycle and parameter services answer meanwhile.
    """

    def __init__(self, **node_arguments: Any) -> None:
        """Declare the parameters; see the class."""
        super().__init__(names.GROUNDER, **node_arguments)
        self.settings = declare_settings(self, GrounderSettings)
        self.exit_code: int | None = None
        self._grounder: BackendGrounder | None = None
        self._episode_id = ''
        self._service: Any = None
        self._worker = Worker(self, names.GROUNDER)
        self._stopping = False
        if self.settings.autostart:
            self._starter = self.create_timer(0.0, self._autostart)

    def close(self) -> None:
        """Forget waiting requests."""
        self._stopping = True
        self._worker.close(timeout_s=1.0)

    def _autostart(self) -> None:
        self._starter.cancel()
        if self.trigger_configure() is TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()
        else:
            self.exit_code = 1

    # Lifecycle.

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model."""
        started = time.monotonic()
        name = self.settings.backend
        try:
            truth = None
            if backend_needs_truth(name):
                truth = RosTruth(self, self.settings.truth_timeout_s, lambda: self._stopping)
            options = self._options()
            self._grounder = BackendGrounder(make_backend(name, options, truth),
                                             PARSERS[self.settings.answers])
        except SightplanError as error:
            self.get_logger().fatal(f'backend {name!r} cannot be used: {error}')
            return TransitionCallbackReturn.FAILURE
        except Exception as error:
            self.get_logger().fatal(
                f'backend {name!r} broke while loading: {type(error).__name__}: {error}')
            return TransitionCallbackReturn.FAILURE
        self._tell('model', self._grounder.model, 'Exact name of the model in use')
        self._tell('backend_settings', json.dumps(dataclasses.asdict(
            backend_settings(name, options))), 'All settings of the backend in use, as JSON')
        self.get_logger().info(f'{self._grounder.model} is loaded '
                               f'({time.monotonic() - started:.1f} s)')
        return TransitionCallbackReturn.SUCCESS

    def _options(self) -> dict[str, Any]:
        """The backend's options as given, with the run's seed where it takes one.

        Raises:
            InputError: they cannot be read; names the remedy.
        """
        cls = type(backend_settings(self.settings.backend))
        options = parse_options(self.settings.backend_options, 'backend_options', cls)
        if 'seed' in {field.name for field in settings_fields(cls)}:
            options.setdefault('seed', self.settings.seed)
        return options

    def _tell(self, name: str, value: str, description: str) -> None:
        """Show a fact as a read-only parameter, so that records can name it."""
        if self.has_parameter(name):
            self.undeclare_parameter(name)
        self.declare_parameter(name, value, ParameterDescriptor(description=description,
                                                                read_only=True),
                               ignore_override=True)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the service."""
        self._service = self.create_service(Ground, '~/ground', self._ground,
                                            callback_group=ReentrantCallbackGroup())
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the service."""
        self.destroy_service(self._service)
        self._service = None
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the model."""
        self._grounder = None
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget service and model."""
        if self._service is not None:
            self.destroy_service(self._service)
            self._service = None
        self._grounder = None
        return TransitionCallbackReturn.SUCCESS

    # The service.

    async def _ground(self, request: Ground.Request,
                      response: Ground.Response) -> Ground.Response:
        limit_s = request.timeout_s or self.settings.timeout_s
        started = time.monotonic()
        try:
            await self._worker.call(lambda: self._answer(request, response, limit_s), limit_s)
        except Exception as error:
            # A late answer may still be written into the old response; that one is not sent.
            response = fill_error(Ground.Response(), error)
            self.get_logger().error(response.error_msg)
        response.seconds = time.monotonic() - started
        return response

    def _answer(self, request: Ground.Request, response: Ground.Response,
                limit_s: float) -> None:
        grounder = self._grounder
        assert grounder is not None, 'the service is there only while active'
        if request.episode_id and request.episode_id != self._episode_id:
            self._episode_id = request.episode_id
            grounder.start_episode(request.episode_id, request.split)
        observation = conversions.observation_from_msg(request.image)
        questions = [conversions.question_from_msg(question) for question in request.questions]
        answers = grounder.ground(observation, questions, limit_s)
        response.answers = [conversions.answer_to_msg(answer) for answer in answers]
        response.model, response.image_id = grounder.model, observation.image_id


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(GrounderNode, args)
