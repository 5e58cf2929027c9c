"""The node symbolic_planner over a scripted planner, and over the real one."""

from __future__ import annotations

import math

import pytest
from rclpy.node import Node
from sightplan_interfaces.srv import Plan

from nodes_testing import LIMIT_S, ScriptedPlanner, parameters, problem, spinning
from sightplan.model import (
    Action,
    DeadlineError,
    PlannerError,
    PlanningResult,
    PlanningStatus,
    PlanningTask,
)
from sightplan.records import messages
from sightplan_nodes import names
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.failures import raise_error
from sightplan_nodes.symbolic_planner import SymbolicPlannerNode


@pytest.fixture
def planner():
    return ScriptedPlanner()


@pytest.fixture
def call(planner: ScriptedPlanner):
    node = SymbolicPlannerNode(lambda settings: planner,
                               parameter_overrides=parameters(timeout_s=7.0, cache_size=3))
    client = Node('client')
    service = ServiceCaller(client, Plan, names.PLAN, names.SYMBOLIC_PLANNER)
    with spinning(node, client):
        yield lambda timeout_s=0.0, limit_s=LIMIT_S: service(
            Plan.Request(domain_pddl='D', problem_pddl='P', timeout_s=timeout_s), limit_s)


@pytest.mark.parametrize('result', [
    PlanningResult(PlanningStatus.SOLVED, (Action('moveblock', ('r', 'c1')),), 0.5, True),
    PlanningResult(PlanningStatus.UNSOLVABLE, message='no'),
    PlanningResult(PlanningStatus.TIMEOUT, seconds=9.0),
    PlanningResult(PlanningStatus.CRASHED, message='segmentation fault')])
def test_every_result_comes_through(call, planner: ScriptedPlanner,
                                    result: PlanningResult) -> None:
    planner.result = result
    reply = call()
    assert reply.error_code == 0
    assert messages.from_msg(PlanningResult, reply) == result


def test_task_and_limit(call, planner: ScriptedPlanner) -> None:
    for timeout_s in (0.0, math.nan, -1.0, 2.5):
        call(timeout_s)
    assert [task for task, _ in planner.calls] == [PlanningTask('D', 'P')] * 4
    limits = [limit_s for _, limit_s in planner.calls]
    assert limits == [pytest.approx(limit_s, abs=1.0) for limit_s in (7.0, 7.0, 7.0, 2.5)]
    assert all(limit_s <= 7.0 for limit_s in limits), 'less what has passed already'


def test_an_error_is_no_result(call, planner: ScriptedPlanner) -> None:
    planner.result = PlannerError('no Fast Downward here')
    reply = call()
    assert reply.status == 0
    with pytest.raises(PlannerError, match='symbolic_planner: no Fast Downward here'):
        raise_error(reply, names.SYMBOLIC_PLANNER)


def test_a_client_gives_up_by_itself(call, planner: ScriptedPlanner) -> None:
    planner.may_go_on.clear()
    with pytest.raises(DeadlineError, match='symbolic_planner did not answer'):
        call(limit_s=0.3)
    planner.may_go_on.set()
    assert call().error_code == 0


def test_closing_ends_a_search(planner: ScriptedPlanner) -> None:
    node = SymbolicPlannerNode(lambda settings: planner)
    with spinning(node):
        pass
    assert planner.closed


def test_the_real_planner() -> None:
    domain, first = problem()
    node, client = SymbolicPlannerNode(), Node('client')
    service = ServiceCaller(client, Plan, names.PLAN, names.SYMBOLIC_PLANNER)
    with spinning(node, client):
        reply = service(Plan.Request(domain_pddl=domain.pddl,
                                     problem_pddl=domain.write_problem(first)), 120.0)
    result = messages.from_msg(PlanningResult, reply)
    assert result.status is PlanningStatus.SOLVED
    model, state = domain.model(first), first.init
    for action in result.plan:
        state = model.apply(action, state)
    assert first.goal_met(state)
