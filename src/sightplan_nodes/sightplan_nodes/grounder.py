"""The node ``grounder``: which atoms hold in an image, asked of a vision-language model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sightplan_interfaces.srv import Ground

from sightplan.grounding import PARSERS, BackendGrounder
from sightplan.model import param
from sightplan.records import messages
from sightplan.runs import asks_for_reasons
from sightplan.vlm.api import Backend
from sightplan_nodes import conversions, names
from sightplan_nodes.backend_node import BackendNode, BackendSettings
from sightplan_nodes.spin import main as run_main


@dataclass(frozen=True, slots=True)
class GrounderSettings(BackendSettings):
    """Parameters of ``grounder``."""

    answers: str = param('strict', 'How replies are read, see sightplan.grounding.parsing',
                         choices=tuple(PARSERS))
    domain: str = param('', 'Domain of the problems: a backend that has a model for each takes '
                            'its; see also method')
    method: str = param('', 'Method that will ask: a backend that simulates errors takes those of '
                            "answers to the method's prompt; empty: to the prompt of each request")


class GrounderNode(BackendNode):
    """Answers questions about images by the service ``~/ground`` (Ground), while active.

    Parameters: see GrounderSettings. For the rest see BackendNode.
    """

    settings: GrounderSettings

    def __init__(self, **node_arguments: Any) -> None:
        super().__init__(names.GROUNDER, GrounderSettings, Ground, '~/ground', **node_arguments)

    def check_backend(self, name: str) -> None:
        """Every backend answers questions."""

    def reasoning(self) -> bool | None:
        """As the prompt of the method has it, if the node was told the method."""
        if not self.settings.method or not self.settings.domain:
            return None
        return asks_for_reasons(self.settings.method, self.settings.domain)

    def domain(self) -> str:
        """As the parameter says."""
        return self.settings.domain

    def use(self, backend: Backend) -> BackendGrounder:
        """Let the core's grounder ask the backend."""
        return BackendGrounder(backend, PARSERS[self.settings.answers])

    def work(self, user: BackendGrounder, request: Ground.Request, response: Ground.Response,
             limit_s: float) -> None:
        """Answer the questions; contract in the base class."""
        started = time.monotonic()
        observation = self.observations.read(request)
        questions = conversions.questions_from_request(request)
        answers = user.ground(observation, questions, limit_s,
                              conversions.prompt_from_msg(request.prompt))
        conversions.fill_answers(response, answers)
        response.model, response.image_id = messages.text(user.model), observation.image_id
        response.seconds = time.monotonic() - started


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(GrounderNode, args)
