"""Cost of sliding puzzles: a picture, a search, a step of ``belief``, a run of all 300."""

from __future__ import annotations

import statistics
import tempfile
import time
from typing import Any

from sightplan.domains import load_domain
from sightplan.domains.sliding.boards import Board, shortest
from sightplan.model import EpisodeSpec
from sightplan.runs import OpenRun, RunSettings, make_world
from sightplan_bench.step_cost import thinking

_SPLIT = 'geoms'
_PICTURES = {'width': 640, 'height': 480}


def measure(repeats: int, episodes: int, seed: int) -> dict[str, float]:
    """Costs on one core.

    Args:
        repeats: boards that are drawn.
        episodes: of ``belief``, of those with most pieces, and with more of them runs of
            ``astar`` over all puzzles (fewer than 10: over as many).
        seed: of looks and errors.

    Returns:
        ``sliding_frame_ms`` (median of a 3D picture of a new board, 640x480), ``sliding_astar_ms``
        and ``sliding_astar_ms_most`` (shortest plans of the 300), ``sliding_belief_step_ms`` and
        ``..._most`` (what ``belief`` thinks for an action, without planning, with GPT-4o's reading
        errors, the goal pictured), ``sliding_run_s`` and ``sliding_run_episodes`` (a run of
        ``astar``).
    """
    problems = load_domain('sliding').split_problems(_SPLIT)
    return {**_frames(problems, repeats, seed), **_searches(problems), **_steps(episodes, seed),
            **_run(episodes, seed)}


def _frames(problems: list[Any], repeats: int, seed: int) -> dict[str, float]:
    times = []
    with make_world('sliding', _PICTURES) as world:  # type: ignore[attr-defined]
        for number in range(repeats + 1):  # the first one loads OpenCV
            problem = problems[number * 7 % len(problems)]
            world.reset(EpisodeSpec('frame', problem, 'bench', seed=seed + number))
            started = time.perf_counter()
            world.observe()
            times.append(1e3 * (time.perf_counter() - started))
    return {'sliding_frame_ms': round(statistics.median(times[1:]), 2)}


def _searches(problems: list[Any]) -> dict[str, float]:
    times = []
    for problem in problems:
        board = Board.of(problem)
        start, goal = board.arrangement(problem.init), board.goal(problem)
        started = time.perf_counter()
        shortest(board.size, start, goal)
        times.append(1e3 * (time.perf_counter() - started))
    return {'sliding_astar_ms': round(statistics.median(times), 3),
            'sliding_astar_ms_most': round(max(times), 2)}


def _steps(episodes: int, seed: int) -> dict[str, float]:
    found = thinking(RunSettings(
        domain='sliding', split=_SPLIT, method='belief', backend='noisy_reader',
        episodes=episodes + 1, seed=seed, goal='pictured', stop_at_goal='no',
        failure_images=False,
        world_options={'pictures': 'none'}, backend_options={'table': 'gpt-4o'}))
    return {'sliding_belief_step_ms': round(statistics.median(found.step_ms), 2),
            'sliding_belief_step_ms_most': round(max(found.step_ms), 2)}


def _run(episodes: int, seed: int) -> dict[str, float]:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, OpenRun(RunSettings(
            domain='sliding', split=_SPLIT, method='astar', seed=seed, failure_images=False,
            episodes=0 if episodes >= 10 else episodes, out=f'{folder}/run',
            world_options={'pictures': 'none'})) as opened:
        walked = opened.walk()
        opened.summarise(walked)
        count = len(opened.store.lines())
    return {'sliding_run_s': round(time.perf_counter() - started, 2),
            'sliding_run_episodes': count}
