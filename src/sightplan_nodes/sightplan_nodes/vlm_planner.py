"""The node ``vlm_planner``: a vision-language model proposes a plan or the next action."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sightplan_interfaces.srv import ProposePlan

from sightplan.model import param, user_path
from sightplan.model.query import Model
from sightplan.planning.visual import BackendVisualPlanner
from sightplan.queries.propose import Propose
from sightplan.records import messages
from sightplan.vlm.api import check_backend
from sightplan_nodes import conversions, names
from sightplan_nodes.backend_node import BackendNode, BackendSettings
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.spin import main as run_main


@dataclass(frozen=True, slots=True)
class VlmPlannerSettings(BackendSettings):
    """Parameters of ``vlm_planner``."""

    prompts: str = param('', "Folder of prompts to use instead of a domain's own, as of the "
                             'experiment')


class VlmPlannerNode(BackendNode):
    """Proposes plans by the service ``~/plan`` (ProposePlan), while active.

    Parameters: see VlmPlannerSettings. A backend that replies to yes/no questions only cannot be
    configured. For the rest see BackendNode.
    """

    settings: VlmPlannerSettings

    def __init__(self, **node_arguments: Any) -> None:
        super().__init__(names.VLM_PLANNER, VlmPlannerSettings, ProposePlan, '~/plan',
                         **node_arguments)

    def check_backend(self, name: str) -> None:
        """Refuse a backend that proposes no plans."""
        check_backend(name, Propose, None, self._given_options())

    def use(self, backend: Model) -> BackendVisualPlanner:
        """Let the core's planner ask the backend."""
        prompts = self.settings.prompts
        return BackendVisualPlanner(backend, prompts=user_path(prompts) if prompts else None)

    def work(self, user: BackendVisualPlanner, request: ProposePlan.Request,
             response: ProposePlan.Response, limit_s: float) -> None:
        """Propose a plan; contract in the base class."""
        _, problem = messages.read_problem(request)
        task = conversions.visual_task_from_msg(request, problem, self.observations.read)
        observation = self.observations.read(request.observation)
        started = time.monotonic()
        proposal = user.propose(observation, task, limit_s)
        response.proposal = MESSAGES.to_msg(proposal)
        response.proposal.seconds = time.monotonic() - started


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(VlmPlannerNode, args)
