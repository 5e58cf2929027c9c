"""A domain's own planner is asked first, and only what it can answer."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sightplan.domains import load_domain
from sightplan.model import (
    InputError,
    PlanningResult,
    PlanningStatus,
    PlanningTask,
    Problem,
    ProblemError,
)
from sightplan.planning.own import OwnPlanner, with_own

SLIDING, BLOCKS = load_domain('sliding'), load_domain('blocksworld')
BOARD = SLIDING.split_problems('geoms')[40]
TOWER = BLOCKS.split_problems('simple')[0]


class General:
    """A planner that notes what it is asked, and that it was closed."""

    def __init__(self) -> None:
        self.asked: list[PlanningTask] = []
        self.made = self.closed = 0

    def __call__(self) -> General:
        self.made += 1
        return self

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        self.asked.append(task)
        return PlanningResult(PlanningStatus.TIMEOUT, message=f'general, {timeout_s:g} s')

    def close(self) -> None:
        self.closed += 1


def task(domain: Any, problem: Problem, search: str = '', **changed: str) -> PlanningTask:
    return PlanningTask(changed.get('domain_pddl', domain.pddl),
                        changed.get('problem_pddl', domain.write_problem(problem)), search)


@pytest.mark.parametrize('search', ['', 'short'])
def test_a_domain_with_a_planner_of_its_own_needs_no_other(search: str) -> None:
    general = General()
    result = OwnPlanner(general).plan(task(SLIDING, BOARD, search), 5.0)
    assert result.status is PlanningStatus.SOLVED
    assert result.seconds > 0.0
    assert SLIDING.model(BOARD).first_flaw(result.plan, BOARD.init, BOARD.goal) is None
    assert len(result.plan) >= (BOARD.optimal_length or 0)
    assert general.made == 0, 'nor is one made'


@pytest.mark.parametrize('asked', [
    pytest.param(task(BLOCKS, TOWER), id='a domain without one'),
    pytest.param(task(SLIDING, BOARD, 'astar(lmcut())'), id='a search of Fast Downward'),
    pytest.param(task(SLIDING, BOARD, domain_pddl=SLIDING.pddl + '; changed'), id='another text'),
    pytest.param(task(SLIDING, BOARD, problem_pddl='(define (problem p) (:domain nowhere))'),
                 id='an unknown domain'),
    pytest.param(task(SLIDING, BOARD, problem_pddl='no PDDL'), id='no problem at all'),
    pytest.param(task(SLIDING, BOARD, problem_pddl='(define (problem p) (:domain sliding))'),
                 id='one that cannot be parsed')])
def test_the_general_planner_is_asked_for_all_else(asked: PlanningTask) -> None:
    general = General()
    planner = OwnPlanner(general)
    assert planner.plan(asked, 7.0).message == 'general, 7 s'
    assert planner.plan(asked, 7.0).message == 'general, 7 s'
    assert general.asked == [asked, asked]
    assert general.made == 1, 'it is made when it is first needed, once'
    planner.close()
    assert general.closed == 1


def test_a_planner_that_was_never_needed_is_not_closed() -> None:
    general = General()
    OwnPlanner(general).close()
    assert (general.made, general.closed) == (0, 0)


def stub(answer: PlanningResult | Exception) -> Any:
    """The sliding domain with another planner."""
    def plan(problem: Problem, search: str) -> PlanningResult:
        if isinstance(answer, Exception):
            raise answer
        return answer
    return SimpleNamespace(schema=SLIDING.schema, pddl=SLIDING.pddl,
                           parse_problem=SLIDING.parse_problem,
                           part=lambda name: SimpleNamespace(plan=plan))


@pytest.mark.parametrize('error', [InputError('no board'), ProblemError('no board')])
def test_a_problem_that_is_not_of_its_kind_goes_to_the_general_planner(error: Exception) -> None:
    general = General()
    OwnPlanner(general, stub(error)).plan(task(SLIDING, BOARD), 7.0)
    assert len(general.asked) == 1


def test_an_error_of_the_planner_is_not_hidden() -> None:
    general = General()
    with pytest.raises(ZeroDivisionError):
        OwnPlanner(general, stub(ZeroDivisionError())).plan(task(SLIDING, BOARD), 7.0)
    assert general.made == 0


@pytest.mark.parametrize('status', [PlanningStatus.UNSOLVABLE, PlanningStatus.TIMEOUT])
def test_no_plan_is_an_answer_too(status: PlanningStatus) -> None:
    general = General()
    given = PlanningResult(status, message='own')
    result = OwnPlanner(general, stub(given)).plan(task(SLIDING, BOARD), 7.0)
    assert (result.status, result.message) == (status, 'own')
    assert general.made == 0


def test_a_goal_that_leaves_out_pieces_is_for_the_general_planner() -> None:
    general = General()
    text = SLIDING.write_problem(BOARD)
    first = BOARD.goal[0].atom
    partial = text[:text.index('(:goal')] + f'(:goal (at {first.args[0]} {first.args[1]})))'
    OwnPlanner(general).plan(task(SLIDING, BOARD, problem_pddl=partial), 7.0)
    assert len(general.asked) == 1


def test_a_run_gets_the_own_planner_unless_a_search_of_fast_downward_is_named() -> None:
    general = General()
    assert isinstance(with_own(SLIDING, '', general), OwnPlanner)
    assert isinstance(with_own(SLIDING, 'short', general), OwnPlanner)
    assert general.made == 0
    assert with_own(SLIDING, 'astar(blind())', general) is general
    assert with_own(BLOCKS, '', general) is general


def test_a_folder_may_bring_one(tmp_path: Path) -> None:
    """A domain that is not installed, by its path."""
    folder = tmp_path / 'towers'
    shutil.copytree(Path(load_domain.__code__.co_filename).parent / 'blocksworld', folder)
    action = BLOCKS.model(TOWER).actions[0]
    (folder / 'planner.py').write_text(
        'from sightplan.model import Action, PlanningResult, PlanningStatus\n'
        'def plan(problem, search):\n'
        f'    return PlanningResult(PlanningStatus.SOLVED, ({action!r},), message=search)\n')
    domain = load_domain(str(folder))
    general = General()
    result = with_own(domain, 'short', general).plan(task(domain, TOWER, 'short'), 7.0)
    assert (result.plan, result.message, general.made) == ((action,), 'short', 0)
