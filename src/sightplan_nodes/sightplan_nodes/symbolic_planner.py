"""The node ``symbolic_planner``: plans from PDDL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from sightplan_interfaces.srv import Plan

from sightplan.model import PlanningTask, SymbolicPlanner, param
from sightplan.model.query import close
from sightplan.planning.own import OwnPlanner
from sightplan.planning.symbolic import SEARCHES, FastDownwardPlanner, PlannerSettings
from sightplan_nodes import names
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.heartbeats import Heartbeats
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.spin import main as run_main
from sightplan_nodes.work import Worker, WorkerService

_GRACE_S = 5.0  # for the planner to report its own timeout


@dataclass(frozen=True, slots=True)
class SymbolicPlannerSettings:
    """Parameters of ``symbolic_planner``."""

    timeout_s: float = param(60.0, 'Limit of a request that sets none [s]', low=0.1, high=3600.0)


def _planner(settings: PlannerSettings) -> SymbolicPlanner:
    """Fast Downward; before it, planners of domains that bring one, unless a search is set."""
    general = FastDownwardPlanner(settings)
    general.warm_up()
    return OwnPlanner(lambda: general) if settings.search in SEARCHES else general


class SymbolicPlannerNode(Node):
    """Searches for plans.

    Parameters: see SymbolicPlannerSettings and the core's PlannerSettings. Serves ``~/plan``
    (Plan), one request after another, in a thread. Publishes ``heartbeat``.
    """

    def __init__(self, make_planner: Callable[[PlannerSettings], SymbolicPlanner]
                 = _planner, **node_arguments: Any) -> None:
        """Start serving.

        Args:
            make_planner: settings to planner.
            **node_arguments: passed on to rclpy's Node.
        """
        super().__init__(names.SYMBOLIC_PLANNER, **node_arguments)
        self._settings = declare_settings(self, SymbolicPlannerSettings)
        self._planner = make_planner(declare_settings(self, PlannerSettings))
        self._worker = Worker(self, names.SYMBOLIC_PLANNER)
        self._heartbeats = Heartbeats(self)
        self._service = WorkerService(
            self, Plan, '~/plan', self._worker, self._plan, self._settings.timeout_s, _GRACE_S)

    def close(self) -> None:
        """End a search that is under way."""
        close(self._planner)
        self._service.close()
        self._worker.close(timeout_s=2.0)
        self._heartbeats.close()

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report the number of waiting requests; see ``Diagnosis``."""
        diagnosis.note(jobs_waiting=self._worker.waiting)

    def _plan(self, request: Plan.Request, response: Plan.Response, limit_s: float) -> None:
        task = PlanningTask(request.domain_pddl, request.problem_pddl, request.search)
        MESSAGES.fill_plan(response, self._planner.plan(task, limit_s))


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(SymbolicPlannerNode, args)
