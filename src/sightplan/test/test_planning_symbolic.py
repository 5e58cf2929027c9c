"""The symbolic planner: three ways to have no plan, a limit that really kills, checked plans."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from doubles import pantry
from sightplan.domains import load_domain
from sightplan.domains.blocksworld.generator import SPLITS
from sightplan.graphs.graph import load_graph
from sightplan.model import (
    Action,
    Atom,
    DomainError,
    InputError,
    Literal,
    PlannerError,
    PlanningStatus,
    PlanningTask,
    Problem,
    ProblemError,
    SymbolicPlanner,
)
from sightplan.planning import _worker, symbolic
from sightplan.planning.symbolic import FastDownwardPlanner, PlannerSettings

GRAPHS = Path(__file__).resolve().parents[3] / 'config' / 'graphs'
DOMAIN = load_domain('blocksworld')
LIMIT_S = 240.0
BLIND = 'astar(blind())'


def task_of(problem: Problem, init: frozenset[Atom] | None = None) -> PlanningTask:
    return PlanningTask(DOMAIN.pddl, DOMAIN.write_problem(problem, init))


def endless_task(size: int = 14) -> PlanningTask:
    """Turning round a tower: 14 blocks are far too much for blind search."""
    blocks = [f'x{number}' for number in range(size)]

    def tower(order: list[str]) -> str:
        on = ' '.join(f'(on {a} {b})' for a, b in itertools.pairwise(order))
        return f'{on} (clear {order[0]}) ' + ' '.join(f'(incolumn {b} c1)' for b in order)

    return PlanningTask(DOMAIN.pddl, (
        f'(define (problem endless) (:domain blocksworld) '
        f'(:objects {" ".join(blocks)} - block c1 c2 c3 c4 c5 c6 - column) '
        f'(:init {tower(blocks)}) (:goal (and {tower(blocks[::-1])})))'))


def processes_of_group(group: int) -> list[str]:
    """Command names of the living processes of a process group."""
    return list(members(group).values())


def members(group: int) -> dict[int, str]:
    """The living processes of a process group and their command names."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError), open(f'/proc/{pid}/stat', encoding='utf-8') as file:
            name, _, rest = file.read().partition(' (')[2].rpartition(') ')
            state, _, process_group = rest.split()[:3]
            if int(process_group) == group and state not in 'ZX':
                found[int(pid)] = name
    return found


def wait_for(condition, seconds: float = LIMIT_S) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())


@pytest.fixture(scope='module')
def planner():
    with FastDownwardPlanner() as found:
        yield found


@pytest.fixture
def blind():
    with FastDownwardPlanner(PlannerSettings(search=BLIND)) as found:
        yield found


def test_is_a_symbolic_planner(planner) -> None:
    assert isinstance(planner, SymbolicPlanner)


def test_a_search_that_is_none_is_named(planner) -> None:
    task = task_of(DOMAIN.split_problems('simple')[0])
    message = "search of the planning task = 'nope' is no search; choose lama-first, short"
    with pytest.raises(InputError, match=message):
        planner.plan(dataclasses.replace(task, search='nope'), LIMIT_S)
    for search in ('seq-nope', 'astar(nope())'):  # only Fast Downward can say so
        result = planner.plan(dataclasses.replace(task, search=search), LIMIT_S)
        assert result.status is PlanningStatus.CRASHED
        assert result.message.startswith(
            f'search = {search!r} cannot be used; choose lama-first, short, optimal, or correct')


@pytest.mark.parametrize('search', ['astar(lmcut()', 'astar(foo())', 'seq-nope'])
def test_a_search_that_fast_downward_cannot_read_is_refused_at_once(search) -> None:
    with pytest.raises(InputError, match='planner: search = .* cannot be used; choose lama-first'):
        FastDownwardPlanner(PlannerSettings(search=search))
    with FastDownwardPlanner(PlannerSettings(search='astar(blind())')) as planner:
        found = planner.plan(task_of(DOMAIN.split_problems('simple')[0]), LIMIT_S)
    assert found.status is PlanningStatus.SOLVED


@pytest.mark.parametrize('split', DOMAIN.splits)
def test_default_plans_of_the_splits_are_valid_and_as_long_as_promised(planner, split) -> None:
    for problem in DOMAIN.split_problems(split)[::3]:
        result = planner.plan(task_of(problem), LIMIT_S)
        assert result.status is PlanningStatus.SOLVED, result.message
        assert DOMAIN.model(problem).first_flaw(result.plan, problem.init, problem.goal) is None
        assert SPLITS[split].accepts(problem, len(result.plan))
        assert len(result.plan) <= 1.5 * problem.optimal_length


def test_the_simple_split_is_drawn_again_problem_by_problem() -> None:
    from sightplan.planning.splits import draw_split
    settings, drawn = draw_split(DOMAIN, 'simple')
    assert settings == SPLITS['simple'].settings
    assert [DOMAIN.write_problem(p) for _, p in drawn] == [
        DOMAIN.write_problem(p) for p in DOMAIN.split_problems('simple')]


def test_plans_for_goals_of_ones_own_are_close_to_the_shortest() -> None:
    """With the search of the graph ``do``; lama-first has up to 1.4 times the actions here."""
    search = load_graph(GRAPHS / 'do.yaml').values([])['planner_search']
    with FastDownwardPlanner(PlannerSettings(search=search)) as planner:
        for problem in DOMAIN.split_problems('hard')[:8]:
            plan = planner.plan(task_of(problem), LIMIT_S).plan
            assert problem.optimal_length <= len(plan) <= 1.3 * problem.optimal_length


def test_blind_search_confirms_the_stored_optimal_lengths(blind) -> None:
    for split in DOMAIN.splits:
        for problem in DOMAIN.split_problems(split)[::8]:
            assert len(blind.plan(task_of(problem), LIMIT_S).plan) == problem.optimal_length


@pytest.fixture(scope='module')
def optimal():
    with FastDownwardPlanner(PlannerSettings(search='optimal')) as found:
        yield found


@pytest.mark.parametrize('split', DOMAIN.splits)
def test_optimal_plans_are_the_shortest(optimal, split) -> None:
    for problem in DOMAIN.split_problems(split)[::5]:
        result = optimal.plan(task_of(problem), LIMIT_S)
        assert len(result.plan) == problem.optimal_length and not result.message


def test_optimal_and_blind_search_agree_about_any_state_and_goal(optimal, blind) -> None:
    rng = random.Random(3)
    seen = []
    for number in range(12):
        problem = rng.choice(DOMAIN.split_problems('simple'))
        atoms = [a for a in DOMAIN.model(problem).atoms if a.predicate in ('on', 'clear')]
        if number % 2:
            problem = dataclasses.replace(problem, goal=tuple(
                Literal(atom, rng.random() < 0.5) for atom in rng.sample(atoms, 3)))
        init = set(problem.init) ^ set(rng.sample(atoms, number % 3))
        task = task_of(problem, frozenset(init))
        ours, theirs = (planner.plan(task, LIMIT_S) for planner in (optimal, blind))
        assert (ours.status, len(ours.plan)) == (theirs.status, len(theirs.plan))
        seen.append(len(ours.plan) if ours.status is PlanningStatus.SOLVED else None)
    assert None in seen and len(set(seen)) >= 4


def test_a_known_problem_is_not_translated_again(optimal, monkeypatch) -> None:
    problem = DOMAIN.split_problems('hard')[7]
    plan = optimal.plan(task_of(problem), LIMIT_S).plan
    replies = []
    ask = type(optimal._worker).ask
    monkeypatch.setattr(type(optimal._worker), 'ask', lambda *arguments: replies.append(
        ask(*arguments)) or replies[-1])
    state, model = problem.init, DOMAIN.model(problem)
    for done, action in enumerate(plan, start=1):
        state = model.apply(action, state)
        result = optimal.plan(task_of(problem, state), LIMIT_S)
        assert len(result.plan) == len(plan) - done and not result.cached
    assert [reply['reused'] for reply in replies] == [True] * len(plan)
    optimal.plan(task_of(dataclasses.replace(problem, goal=problem.goal[1:])), LIMIT_S)
    assert not replies[-1]['reused']
    # What a plan is does not depend on what was planned before.
    with FastDownwardPlanner(PlannerSettings(search='optimal')) as fresh:
        assert fresh.plan(task_of(problem), LIMIT_S).plan == plan


UNTYPED = """
(define (domain shelf) (:requirements :strips)
  (:predicates (at ?x ?y) (truck ?x) (loc ?x) (incity ?x ?c) (city ?c))
  (:action drive :parameters (?t ?f ?to ?c)
    :precondition (and (truck ?t) (loc ?f) (loc ?to) (city ?c) (at ?t ?f) (incity ?f ?c)
      (incity ?to ?c))
    :effect (and (at ?t ?to) (not (at ?t ?f)))))
"""


@pytest.mark.parametrize('search', ['lama-first', 'short'])
def test_actions_are_not_instantiated_that_nobody_needs(search: str) -> None:
    """Four parameters without types and 30 objects: 810,000 actions, 784 of them reachable."""
    places = [f'o{number}' for number in range(2, 30)]
    problem = (f'(define (problem p) (:domain shelf) (:objects o0 o1 {" ".join(places)}) '
               f'(:init (truck o0) (city o1) (at o0 o2) '
               f'{" ".join(f"(loc {place}) (incity {place} o1)" for place in places)}) '
               f'(:goal (at o0 o3)))')
    with FastDownwardPlanner(PlannerSettings(search=search)) as planner:
        began = time.monotonic()
        result = planner.plan(PlanningTask(UNTYPED, problem), LIMIT_S)
        assert [str(action) for action in result.plan] == ['drive(o0, o2, o3, o1)']
        assert time.monotonic() - began < 30


def test_a_limit_that_passes_before_the_search_is_no_result_of_the_method(blind) -> None:
    blind.plan(task_of(DOMAIN.split_problems('simple')[0]), LIMIT_S)
    for search in (BLIND, 'short'):
        result = blind.plan(dataclasses.replace(endless_task(), search=search), 0.01)
        assert result.status is PlanningStatus.CRASHED
        assert 'instantiated' in result.message and 'planner_timeout_s' in result.message
    reply = {'code': -signal.SIGPROF, 'plan': '', 'log': ''}
    problem = DOMAIN.split_problems('simple')[0]
    assert [symbolic._judge({**reply, 'searched': searched}, problem).status
            for searched in (True, False)] == [PlanningStatus.TIMEOUT, PlanningStatus.CRASHED]
    assert symbolic._judge({**reply, 'code': 21}, problem).status is PlanningStatus.CRASHED


AXIOMS = """
(define (domain towers) (:requirements :adl) (:types block)
  (:constants table - block)
  (:predicates (on ?a - block ?b - block) (lit ?a - block))
  (:action lift :parameters (?a - block ?b - block ?c - block)
    :precondition (and (on ?a ?b) (not (= ?a ?c)) (not (= ?b ?c)) (not (= ?a table))
      (forall (?x - block) (not (on ?x ?a)))
      (or (= ?c table) (forall (?x - block) (not (on ?x ?c)))))
    :effect (and (not (on ?a ?b)) (on ?a ?c)
      (when (forall (?x - block) (not (lit ?x))) (lit ?a)))))
"""


def test_optimal_plans_of_a_task_with_derived_variables(optimal) -> None:
    problem = ('(define (problem p) (:domain towers) (:objects a b c d - block) '
               '(:init (on a b) (on b c) (on c table) (on d table)) '
               '(:goal (and (on c d) (on d b) (lit d))))')
    told = []
    for search in ('optimal', BLIND):
        result = optimal.plan(PlanningTask(AXIOMS, problem, search), LIMIT_S)
        assert (result.status, result.message) == (PlanningStatus.SOLVED, '')
        told.append(len(result.plan))
    assert told[0] == told[1] >= 4
    never = problem.replace('(lit d)', '(lit b)')
    assert optimal.plan(PlanningTask(AXIOMS, never, 'optimal'), LIMIT_S).status is (
        PlanningStatus.UNSOLVABLE)


def test_another_domain_s_optimal_plans() -> None:
    domain = pantry()
    with FastDownwardPlanner() as planner:
        for problem in domain.split_problems('small'):
            task = PlanningTask(domain.pddl, domain.write_problem(problem), 'optimal')
            assert len(planner.plan(task, LIMIT_S).plan) == problem.optimal_length


@pytest.mark.slow
def test_beyond_its_limit_the_optimal_search_gives_way() -> None:
    settings = PlannerSettings(search='optimal', gives_way_s=0.2)
    with FastDownwardPlanner(settings) as planner:
        result = planner.plan(endless_task(9), LIMIT_S)
        assert result.status is PlanningStatus.SOLVED and result.plan
        assert result.message.startswith('perhaps not the shortest plan: ')
        assert planner.plan(endless_task(9), LIMIT_S).cached
        pid = planner._worker._process.pid
        simple = DOMAIN.split_problems('simple')[0]
        plan = planner.plan(task_of(simple), LIMIT_S).plan
        assert len(plan) == simple.optimal_length
        assert planner._worker._process.pid == pid  # the worker outlives the limit
    # However long it might take, half of the time is left for the other search.
    with FastDownwardPlanner(PlannerSettings(search='optimal')) as planner:
        planner.plan(task_of(simple), LIMIT_S)
        result = planner.plan(endless_task(9), 10.0)
        assert result.status is PlanningStatus.SOLVED
        assert result.message.startswith('perhaps not the shortest plan: ')


def test_the_state_is_put_into_a_translation() -> None:
    text = ('begin_version\n3\nend_version\nbegin_metric\n0\nend_metric\n3\n'
            'begin_variable\nvar0\n-1\n2\nAtom on(r, g)\nNegatedAtom on(r, g)\nend_variable\n'
            'begin_variable\nvar1\n{layer}\n2\n{first}\nNegatedAtom done()\nend_variable\n'
            'begin_variable\nvar2\n-1\n2\nAtom on(g, r)\nNegatedAtom on(g, r)\nend_variable\n'
            '0\nbegin_state\n{values}\nend_state\nbegin_goal\n1\n0 0\nend_goal\n0\n0\n')
    first = 'Atom done()'
    plain = text.format(layer=-1, first=first, values='0\n0\n0')
    assert _worker._started_in(plain, frozenset({'on(g, r)', 'done()', 'gone(r)'})) == (
        text.format(layer=-1, first=first, values='1\n0\n0'), False)
    derived = text.format(layer=0, first=first, values='0\n1\n0')
    assert _worker._started_in(derived, frozenset({'on(r, g)', 'done()'})) == (
        text.format(layer=0, first=first, values='0\n1\n1'), True)
    with pytest.raises(ValueError, match='variable 1 is not one atom: Atom other'):
        _worker._started_in(text.format(layer=-1, first='Atom other()', values='0\n0\n0'),
                            frozenset())


def test_a_translation_is_kept_only_when_it_was_completed() -> None:
    for finished in (True, False):
        fd = os.memfd_create('x', os.MFD_ALLOW_SEALING)
        if finished:
            _worker._keep(fd, 'all of it')
        else:
            os.write(fd, b'a part')
        assert _worker._kept(fd) == ('all of it' if finished else None)


def test_a_goal_that_holds_is_solved_by_the_empty_plan(planner) -> None:
    problem = DOMAIN.split_problems('simple')[0]
    for goal in ((), tuple(Literal(a) for a in sorted(problem.init))):
        result = planner.plan(task_of(dataclasses.replace(problem, goal=goal)), LIMIT_S)
        assert (result.status, result.plan) == (PlanningStatus.SOLVED, ())


def test_unsolvable_tasks_are_told_apart(planner) -> None:
    problem = DOMAIN.split_problems('simple')[0]
    block = problem.of_type('block')[0]
    impossible = (Literal(Atom('on', (block, block))),)
    contradiction = (Literal(Atom('clear', (block,))), Literal(Atom('clear', (block,)), False))
    for goal in (impossible, contradiction):
        result = planner.plan(task_of(dataclasses.replace(problem, goal=goal)), LIMIT_S)
        assert (result.status, result.plan) == (PlanningStatus.UNSOLVABLE, ())
        assert result.message
    stuck = planner.plan(PlanningTask(DOMAIN.pddl, (
        '(define (problem s) (:domain blocksworld) (:objects r g - block c1 c2 - column) '
        '(:init (on r g) (clear r) (incolumn r c1) (incolumn g c1)) '
        '(:goal (and (on g r) (incolumn r c1))))')), LIMIT_S)
    assert stuck.status is PlanningStatus.UNSOLVABLE


@pytest.mark.parametrize('search', ['lama-first', 'short', 'optimal'])
def test_contradictory_beliefs_give_an_answer(search: str) -> None:
    """What a vision model believes may be impossible; that is no reason to fall over."""
    rng = random.Random(7)
    seen = set()
    with FastDownwardPlanner(PlannerSettings(search=search)) as planner:
        for number in range(12):
            problem = rng.choice(DOMAIN.split_problems(rng.choice(DOMAIN.splits)))
            init = set(problem.init) if number % 10 else set()
            init ^= set(rng.sample(DOMAIN.model(problem).atoms, rng.randint(1, 8)))
            result = planner.plan(task_of(problem, frozenset(init)), LIMIT_S)
            seen.add(result.status)
    assert seen == {PlanningStatus.SOLVED, PlanningStatus.UNSOLVABLE}


def test_the_time_limit_kills_and_the_next_task_is_solved(blind) -> None:
    assert blind.plan(task_of(DOMAIN.split_problems('simple')[0]), LIMIT_S).plan
    group = blind._worker._process.pid
    assert processes_of_group(group)
    result = blind.plan(endless_task(), 3.0)
    assert (result.status, result.plan) == (PlanningStatus.TIMEOUT, ())
    assert not result.cached and result.message
    assert wait_for(lambda: processes_of_group(group) == [])
    assert not blind.plan(endless_task(), 0.01).cached
    assert blind.plan(task_of(DOMAIN.split_problems('simple')[1]), LIMIT_S).plan


def in_search(planner: FastDownwardPlanner) -> bool:
    worker = planner._worker
    return worker is not None and 'downward' in processes_of_group(worker._process.pid)


def start(planner: FastDownwardPlanner) -> tuple[threading.Thread, list]:
    results: list = []
    thread = threading.Thread(
        target=lambda: results.append(planner.plan(endless_task(), LIMIT_S)), daemon=True)
    thread.start()
    assert wait_for(lambda: in_search(planner))
    return thread, results


def test_a_killed_worker_is_a_crash_leaves_no_search_behind_and_is_replaced(blind) -> None:
    thread, results = start(blind)
    pid = blind._worker._process.pid
    os.kill(pid, signal.SIGKILL)
    thread.join(30)
    assert results[0].status is PlanningStatus.CRASHED
    assert wait_for(lambda: processes_of_group(pid) == [])
    assert blind.plan(task_of(DOMAIN.split_problems('simple')[0]), LIMIT_S).plan


def test_a_killed_search_is_a_crash_and_the_worker_lives(blind) -> None:
    thread, results = start(blind)
    pid = blind._worker._process.pid
    os.kill(next(p for p, name in members(pid).items() if name == 'downward'), signal.SIGKILL)
    thread.join(30)
    assert results[0].status is PlanningStatus.CRASHED and 'code -9' in results[0].message
    assert blind.plan(task_of(DOMAIN.split_problems('simple')[0]), LIMIT_S).plan
    assert blind._worker._process.pid == pid


def test_closing_ends_a_search_and_all_processes() -> None:
    planner = FastDownwardPlanner(PlannerSettings(search=BLIND))
    thread, results = start(planner)
    pid = planner._worker._process.pid
    planner.close()
    thread.join(30)
    assert results[0].status is PlanningStatus.CRASHED
    assert wait_for(lambda: processes_of_group(pid) == [])
    planner.close()
    with pytest.raises(PlannerError, match='closed'):
        planner.plan(endless_task(), 1.0)


@pytest.mark.parametrize('worker_too', [False, True])
def test_nothing_survives_a_killed_parent(worker_too: bool) -> None:
    code = (
        'import sys, threading, time\n'
        'from test_planning_symbolic import *\n'
        'planner = FastDownwardPlanner(PlannerSettings(search=BLIND))\n'
        'start(planner)\n'
        'print(planner._worker._process.pid, flush=True)\n'
        'time.sleep(600)\n')
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    parent = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE,
                              env={**os.environ, 'PYTHONPATH': path})
    try:
        group = int(parent.stdout.readline())
        assert 'downward' in processes_of_group(group)
        if worker_too:  # and the parent can do nothing about it
            parent.send_signal(signal.SIGSTOP)
            os.kill(group, signal.SIGKILL)
            assert wait_for(lambda: processes_of_group(group) == [])
    finally:
        parent.kill()
        parent.communicate()
    assert wait_for(lambda: processes_of_group(group) == [])


def test_running_out_of_memory_is_a_crash() -> None:
    with FastDownwardPlanner() as planner:
        planner.settings = dataclasses.replace(planner.settings, memory_mib=28)  # Python alone: 20
        result = planner.plan(endless_task(), LIMIT_S)
    assert result.status is PlanningStatus.CRASHED and 'memory' in result.message.lower()


def test_a_planner_that_cannot_start_is_an_error(monkeypatch) -> None:
    for engine in ('slow-upward', 'unified-planning:slow-upward'):
        planner = FastDownwardPlanner(PlannerSettings(engine=engine))
        with planner, pytest.raises(PlannerError, match='slow-upward'):
            planner.plan(task_of(DOMAIN.split_problems('simple')[0]), LIMIT_S)
    monkeypatch.setattr(sys, 'executable', '/no/such/python')
    with FastDownwardPlanner() as planner, pytest.raises(PlannerError, match='no/such'):
        planner.plan(task_of(DOMAIN.split_problems('simple')[0]), LIMIT_S)


@pytest.mark.parametrize('settings', [
    PlannerSettings(cache_size=-1), PlannerSettings(memory_mib=1), PlannerSettings(search=3),
    PlannerSettings(gives_way_s=0.0)])
def test_settings_are_checked(settings) -> None:
    with pytest.raises(InputError):
        FastDownwardPlanner(settings)


def test_results_are_cached_by_exact_task(planner) -> None:
    problem = DOMAIN.split_problems('medium')[3]
    first = planner.plan(task_of(problem), LIMIT_S)
    again = planner.plan(task_of(problem), 0.0)
    assert again.cached and again.seconds == 0.0 and again.plan == first.plan
    spaced = PlanningTask(DOMAIN.pddl, DOMAIN.write_problem(problem) + ' ')
    assert not planner.plan(spaced, LIMIT_S).cached
    impossible = dataclasses.replace(problem, goal=(Literal(Atom.parse('on r,r')),),
                                     objects={**problem.objects, 'r': 'block'})
    assert not planner.plan(task_of(impossible), LIMIT_S).cached
    assert planner.plan(task_of(impossible), LIMIT_S).cached


def test_the_oldest_result_leaves_the_cache() -> None:
    tasks = [task_of(p) for p in DOMAIN.split_problems('simple')[:3]]
    with FastDownwardPlanner(PlannerSettings(cache_size=2)) as planner:
        for task in (tasks[0], tasks[1], tasks[0], tasks[2]):
            planner.plan(task, LIMIT_S)
        assert [planner.plan(tasks[i], LIMIT_S).cached for i in (0, 2, 1)] == [True, True, False]
    with FastDownwardPlanner(PlannerSettings(cache_size=0)) as planner:
        assert not any(planner.plan(tasks[0], LIMIT_S).cached for _ in range(2))


def test_the_same_task_gives_the_same_plan_in_every_process() -> None:
    tasks = [task_of(p) for p in DOMAIN.split_problems('hard')[:5]]
    plans = []
    for _ in range(2):
        with FastDownwardPlanner() as planner:
            plans.append([planner.plan(task, LIMIT_S).plan for task in tasks])
    assert plans[0] == plans[1]


def test_threads_take_turns() -> None:
    problems = DOMAIN.split_problems('simple')[:12]
    results: dict[str, object] = {}
    with FastDownwardPlanner() as planner:
        def work(part: list[Problem]) -> None:
            for problem in part:
                results[problem.name] = planner.plan(task_of(problem), LIMIT_S)
        threads = [threading.Thread(target=work, args=(problems[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for problem in problems:
        plan = results[problem.name].plan
        assert DOMAIN.model(problem).first_flaw(plan, problem.init, problem.goal) is None


def test_waiting_for_another_thread_counts_against_the_limit(blind) -> None:
    thread, _ = start(blind)
    result = blind.plan(task_of(DOMAIN.split_problems('simple')[0]), 0.1)
    assert result.status is PlanningStatus.CRASHED and 'busy' in result.message
    blind.close()
    thread.join(30)


def test_texts_that_are_no_task_are_refused(planner) -> None:
    good = task_of(DOMAIN.split_problems('simple')[0])
    with pytest.raises(ProblemError, match='planning task:1: '):
        planner.plan(PlanningTask(good.domain_pddl, '(define'), LIMIT_S)
    with pytest.raises(DomainError, match='domain of the planning task:1: '):
        planner.plan(PlanningTask('', good.problem_pddl), LIMIT_S)


REPLIES = {
    'success without a plan': ({'code': 0, 'plan': '', 'log': ''}, 'without a plan'),
    'a plan that stops short': ({'code': 0, 'plan': '; cost = 0', 'log': ''}, 'not reached'),
    'an action that does not exist': ({'code': 0, 'plan': '(fly r)', 'log': ''}, 'unknown action'),
    'an action that is not applicable': (
        {'code': 0, 'plan': '(moveblock {top} {home})', 'log': ''}, 'not applicable'),
    'out of memory': ({'code': 22, 'plan': '', 'log': ''}, 'out of memory'),
    'an unreadable plan': ({'code': 0, 'plan': '()', 'log': ''}, 'unreadable'),
    'an unknown exit code': ({'code': 34, 'plan': '', 'log': 'unsupported'}, 'unsupported'),
    'a signal': ({'code': -11, 'plan': '', 'log': ''}, 'code -11'),
}


@pytest.mark.parametrize('name', REPLIES)
def test_replies_are_not_believed(name: str) -> None:
    problem = DOMAIN.split_problems('simple')[0]
    home = next(a for a in problem.init if a.predicate == 'incolumn'
                and Atom('clear', a.args[:1]) in problem.init)
    reply, words = REPLIES[name]
    reply = {**reply, 'plan': reply['plan'].format(top=home.args[0], home=home.args[1])}
    result = symbolic._judge(reply, problem)
    assert result.status is PlanningStatus.CRASHED and words in result.message


def test_any_engine_of_unified_planning_can_be_used() -> None:
    problem = DOMAIN.split_problems('simple')[0]
    with FastDownwardPlanner() as ours, FastDownwardPlanner(
            PlannerSettings(engine='unified-planning:fast-downward')) as theirs:
        plan = theirs.plan(task_of(problem), LIMIT_S).plan
        assert len(plan) == len(ours.plan(task_of(problem), LIMIT_S).plan)
        assert all(isinstance(action, Action) for action in plan)


def test_processes_that_another_engine_starts_are_killed_with_it() -> None:
    with FastDownwardPlanner(PlannerSettings(engine='unified-planning:fast-downward')) as planner:
        thread = threading.Thread(target=planner.plan, args=(endless_task(60), LIMIT_S))
        thread.start()
        assert wait_for(lambda: planner._worker is not None and len(
            processes_of_group(planner._worker._process.pid)) >= 3)
        group = planner._worker._process.pid
        planner.close()
        assert wait_for(lambda: processes_of_group(group) == [])
        thread.join(30)


def test_a_forked_process_gets_a_worker_of_its_own(planner) -> None:
    task = task_of(DOMAIN.split_problems('simple')[0])
    planner.plan(task, LIMIT_S)
    other = task_of(DOMAIN.split_problems('simple')[1])
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            code = 0 if planner.plan(other, LIMIT_S).plan else 2
            planner.close()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert planner._worker.alive()
    assert planner.plan(other, LIMIT_S).plan
