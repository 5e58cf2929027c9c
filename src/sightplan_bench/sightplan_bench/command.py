"""``sightplan bench``: median durations of costly parts, as one JSON object.

No figure passes or fails: speed is measured, tests never assert it. Every figure is a median over
repetitions on the machine at hand; compare figures of one run, not single times.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sightplan.commands.flags import option
from sightplan.commands.frame import Result, add_command
from sightplan.commands.shared_flags import domain_flag
from sightplan.domains import load_domain
from sightplan.model import EpisodeSpec, PlanningTask, Question
from sightplan_bench.output import say, shown

QUESTIONS = 60
SEED = 20260


@dataclass(frozen=True, slots=True)
class Size:
    """Amount of measuring.

    Attributes:
        domain: name of the domain.
        episodes: of each figure about whole episodes.
        repeats: of each other figure.
    """

    domain: str = 'blocksworld'
    episodes: int = 5
    repeats: int = 15


def _median_ms(call: Callable[[], Any], repeats: int) -> float:
    """Median wall-clock milliseconds of a call, after one warm-up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return round(statistics.median(times), 2)


def bench_render(size: Size) -> dict[str, Any]:
    """Milliseconds per rendered frame of the domain's world, a move before each frame."""
    from sightplan.runs import make_world
    domain = load_domain(size.domain)
    problem = domain.split_problems('hard')[0]
    world = make_world(size.domain)
    model = domain.model(problem)
    world.reset(EpisodeSpec('bench', problem, 'random', seed=SEED))
    rng, times = random.Random(SEED), []
    state = problem.init
    for _ in range(size.repeats + 1):
        action = rng.choice([a for a in model.actions if model.applicable(a, state)])
        state = model.apply(action, state)
        world.execute(action)
        start = time.perf_counter()
        image = world.observe().image
        times.append(1e3 * (time.perf_counter() - start))
    assert image is not None
    return {'render_ms': round(statistics.median(times[1:]), 2),
            'render_size': f'{image.shape[1]}x{image.shape[0]}'}


def bench_steps(size: Size) -> dict[str, Any]:
    """CPU milliseconds of a step in each world: act, settle, take a picture, read the truth.

    Random legal actions in five hard problems (of a domain without such: of its first split);
    time of the process, since a step is to fit one core, however busy the machine is.
    """
    from sightplan.runs import make_world, world_names
    found: dict[str, Any] = {}
    for name in world_names():
        domain, rng, times = load_domain(name), random.Random(SEED), []
        world: Any = make_world(name)
        problems = domain.split_problems('hard' if 'hard' in domain.splits else domain.splits[0])
        for problem in problems[::max(1, len(problems) // 5)]:
            model = domain.model(problem)
            world.reset(EpisodeSpec('bench', problem, 'random', seed=SEED))
            for _ in range(size.repeats):
                legal = [a for a in model.actions if model.applicable(a, world.state())]
                name_of = rng.choice(sorted({a.name for a in legal}))
                action = rng.choice([a for a in legal if a.name == name_of])
                start = time.process_time()
                world.execute(action)
                world.observe()
                world.state()
                times.append(1e3 * (time.process_time() - start))
        world.close()
        found |= {f'{name}_step_ms': round(statistics.median(times), 2),
                  f'{name}_step_ms_most': round(max(times), 2)}
    return found


def bench_embedded(size: Size) -> dict[str, Any]:
    """Questions per second of the ``embedded`` backend: 60 questions about one image.

    Two images take turns, because the backend keeps what it encoded last.
    """
    from sightplan.model.query import ask_all
    from sightplan.queries import yes_no_queries
    from sightplan.runs import make_world
    from sightplan.vlm import make_backend
    domain = load_domain(size.domain)
    problem = domain.split_problems('hard')[0]
    world = make_world(size.domain)
    world.reset(EpisodeSpec('bench', problem, 'ground', seed=SEED))
    seen = world.observe()
    assert seen.image is not None
    images = itertools.cycle([seen, dataclasses.replace(
        seen, image=np.ascontiguousarray(seen.image[:, ::-1]), _digest=[])])
    questions: tuple[Question, ...] = tuple(
        domain.question(atom) for atom in domain.model(problem).atoms[:QUESTIONS])
    backend = make_backend('embedded', {'domain': size.domain})
    ms = _median_ms(lambda: ask_all(backend, yes_no_queries(next(images), questions)),
                    size.repeats)
    return {'embedded_ms_per_60_questions': ms,
            'embedded_questions_per_s': round(1e3 * len(questions) / ms, 1)}


def bench_planner(size: Size) -> dict[str, Any]:
    """Milliseconds per plan on the hard split, without any cache."""
    from sightplan.planning.symbolic import FastDownwardPlanner
    domain = load_domain(size.domain)
    problems = domain.split_problems('hard')[:2 * size.repeats + 1]
    planner = FastDownwardPlanner()
    times = []
    try:
        for number, problem in enumerate(problems):
            task = PlanningTask(problem.domain_pddl, domain.write_problem(problem))
            start = time.perf_counter()
            planner.plan(task, 60.0)
            if number:  # the first one starts the worker process
                times.append(1e3 * (time.perf_counter() - start))
    finally:
        planner.close()
    return {'plan_ms_hard': round(statistics.median(times), 2)}


def _episodes_per_minute(seconds: float, episodes: int) -> float:
    return round(60.0 * episodes / seconds, 2)


def bench_in_process(size: Size) -> dict[str, Any]:
    """Episodes per minute of ``sightplan run`` (ground, embedded, medium split)."""
    from sightplan.runs import RunSettings, run
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run(RunSettings(domain=size.domain, split='medium', method='ground', backend='embedded',
                        episodes=size.episodes, seed=SEED, out=str(Path(folder) / 'run')))
        return {'episodes_per_minute_in_process':
                _episodes_per_minute(time.perf_counter() - start, size.episodes)}


def bench_replay(size: Size) -> dict[str, Any]:
    """Episodes per minute: recorded live, asked again of the same model, and scored again."""
    from sightplan.replay.asking import ask_again
    from sightplan.replay.rescored import score_again
    from sightplan.replay.sources import Sources
    from sightplan.runs import RunSettings, run
    from sightplan.vlm.api import make_backend
    with tempfile.TemporaryDirectory() as folder:
        run(RunSettings(domain=size.domain, split='medium', method='ground', backend='embedded',
                        episodes=1, seed=SEED, out=str(Path(folder) / 'warm')))
        times = [time.perf_counter()]
        out = Path(folder) / 'run'
        run(RunSettings(domain=size.domain, split='medium', method='ground', backend='embedded',
                        episodes=size.episodes, seed=SEED, out=str(out), bags='all'))
        times.append(time.perf_counter())
        sources = Sources.find([out])
        backend = make_backend('embedded', {'domain': size.domain})
        for _ in ask_again(sources.read(), backend):
            pass
        times.append(time.perf_counter())
        for _ in score_again(sources):
            pass
        times.append(time.perf_counter())
    return {f'episodes_per_minute_{name}': _episodes_per_minute(after - before, size.episodes)
            for name, (before, after) in zip(('recorded', 'replayed', 'scored_again'),
                                             itertools.pairwise(times), strict=True)}


def bench_recording(size: Size) -> dict[str, Any]:
    """Cost of a bag of an episode in process: milliseconds and megabytes (medium split)."""
    from sightplan.domains import load_domain
    from sightplan.metrics import EpisodeScorer
    from sightplan.records.bag_recorder import BagRecorder
    from sightplan.runs import OpenRun, RunSettings, make_world
    world: Any = make_world(size.domain)
    events = _Events()
    times = []
    with tempfile.TemporaryDirectory() as folder, OpenRun(
            RunSettings(domain=size.domain, split='medium', method='ground', seed=SEED,
                        backend='noisy_oracle', failure_images=False, out=f'{folder}/run'),
            world=world, recorders=[events]) as opened:
        bags = BagRecorder(Path(folder), world, load_domain(size.domain))
        for spec in opened.work.plan.items[:size.episodes]:
            events.taken.clear()
            opened.walk([spec])
            scorer = EpisodeScorer(bags.truth)
            start = time.perf_counter()
            for event in events.taken:
                bags.record(event)
                scorer.record(event)
            bags.commit(scorer.result())
            times.append(time.perf_counter() - start)
        written = sum(file.stat().st_size for file in Path(folder).glob('bags/*/*'))
    return {'bag_ms_per_episode': round(1e3 * statistics.median(times), 1),
            'bag_mb_per_episode': round(written / 1e6 / len(times), 2)}


class _Events:
    """Recorder that keeps all events."""

    def __init__(self) -> None:
        self.taken: list[Any] = []

    def record(self, event: Any) -> None:
        self.taken.append(event)


def bench_bags(size: Size) -> dict[str, Any]:
    """Reading a bag with pictures: megabytes of messages per second, and messages per second.

    As recorders write them: for each picture of the domain's world eight events, chunks
    compressed with zstd. Events alone are read without the pictures' chunks being unpacked.
    """
    from sightplan.records.bag import BagWriter, MessageTypes
    from sightplan.records.bag_reading import open_bag
    from sightplan.runs import make_world
    world: Any = make_world(size.domain)
    problem = load_domain(size.domain).split_problems('hard')[0]
    world.reset(EpisodeSpec('bench', problem, 'random', seed=SEED))
    image, types = world.observe().image, MessageTypes()
    kinds = {name: types.store.types[name] for name in (
        'sensor_msgs/msg/Image', 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time')}
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        writer = BagWriter(Path(folder) / 'bag')
        pictures = writer.add_topic('/image', types.get('sensor_msgs/msg/Image'))
        events = writer.add_topic('/event', types.get('std_msgs/msg/Header'))
        for number in range(100):
            stamp = kinds['builtin_interfaces/msg/Time'](number, 0)
            header = kinds['std_msgs/msg/Header'](stamp, 'camera')
            message = kinds['sensor_msgs/msg/Image'](
                header, *image.shape[:2], 'rgb8', 0, 3 * image.shape[1], image.reshape(-1))
            writer.write(pictures, 10 * number, bytes(
                types.store.serialize_cdr(message, 'sensor_msgs/msg/Image')))
            writer.flush()
            for event in range(8):
                writer.write(events, 10 * number + event, bytes(
                    types.store.serialize_cdr(header, 'std_msgs/msg/Header')))
            writer.flush()
        writer.close()
        sizes = [len(message.data) for message in open_bag(writer.folder).messages()]
        for name, topics in (('all', None), ('events', ['/event'])):
            ms = _median_ms(lambda wanted=topics: sum(  # type: ignore[misc]
                1 for _ in open_bag(writer.folder).messages(wanted)), size.repeats)
            count = len(sizes) if topics is None else 800
            found[f'bag_messages_per_s_{name}'] = round(1e3 * count / ms)
            if topics is None:
                found['bag_mb_per_s'] = round(sum(sizes) / 1e3 / ms, 1)
    return found


def bench_estimate(size: Size) -> dict[str, Any]:
    """Milliseconds of a joint estimate from one answer about every ground atom, one thread."""
    from sightplan_bench.belief_cost import measure
    found: dict[str, Any] = {}
    for blocks, columns in ((6, 4), (12, 6)):
        cost = measure([(blocks, columns)], errors=[0.02], cases=size.repeats, seed=SEED)[0]
        found[f'estimate_ms_{blocks}_blocks'] = round(1e3 * cost['median_s'], 2)
        found[f'estimate_answers_{blocks}_blocks'] = cost['answers']
    return found


def bench_belief(size: Size) -> dict[str, Any]:
    """Inference of the method ``belief`` on the hard split, with simulated answers.

    First survey of a scene, and every further step: deciding on an action, moving the belief and
    choosing questions; not what the world, the model and the planner take.
    """
    from sightplan.runs import RunSettings
    from sightplan_bench.step_cost import thinking
    found = thinking(RunSettings(
        domain=size.domain, split='hard', method='belief', backend='noisy_oracle',
        episodes=size.episodes + 1, seed=SEED, world_options={'pictures': 'none'},
        backend_options={'table': 'gpt-4.1'}))
    return {'belief_survey_ms': round(statistics.median(found.begin_ms[1:]), 2),
            'belief_step_ms': round(statistics.median(found.step_ms), 2),
            'belief_step_ms_most': round(max(found.step_ms), 2)}


def bench_household(size: Size) -> dict[str, Any]:
    """Inference time of ``belief`` in homes without privileged facts, and memory of an episode.

    Of the problems of the splits hard and search as many as there are episodes; the rest as
    ``bench_belief``. The memory is the peak of a process of its own in the home with most
    containers, without the planner's processes, and its part from before the episode.
    """
    from sightplan_bench.step_cost import measure as cost
    found = cost(size.episodes, SEED)
    return {**{f'household_belief_{name}_{split}': round(own[name], 2)
               for split, own in found['splits'].items()
               for name in ('survey_ms', 'step_ms', 'step_ms_most')},
            'household_memory_mib': round(found['memory']['mib'], 1),
            'household_memory_before_mib': round(found['memory']['before_mib'], 1)}


def bench_locating(size: Size) -> dict[str, Any]:
    """The embedded locator on one core; see ``pointing_cost.locating``."""
    from sightplan_bench.pointing_cost import locating
    return locating(size.repeats, SEED)


def bench_scoring(size: Size) -> dict[str, Any]:
    """The scores of 500 items of Point-It-Out; see ``pointing_cost.scoring``."""
    from sightplan_bench.pointing_cost import scoring
    return scoring(size.repeats, SEED)


def bench_sliding(size: Size) -> dict[str, Any]:
    """Sliding puzzles; see ``sliding_cost.measure``."""
    from sightplan_bench.sliding_cost import measure as cost
    return cost(size.repeats, size.episodes, SEED)


def bench_paths(size: Size) -> dict[str, Any]:
    """Paths on maps; see ``paths_cost.measure``."""
    from sightplan_bench.paths_cost import measure as cost
    return cost(size.repeats, SEED)


def bench_grounded_plan(size: Size) -> dict[str, Any]:
    """Plans that point at the picture; see ``grounded_plan_cost.measure``."""
    from sightplan_bench.grounded_plan_cost import measure as cost
    return cost(size.repeats, SEED)


def bench_tabletop_arm(size: Size) -> dict[str, Any]:
    """The simulated arm at a table; see ``grounded_plan_cost.arm``."""
    from sightplan_bench.grounded_plan_cost import arm
    return arm(min(size.repeats, 5), SEED)


def bench_commands(size: Size) -> dict[str, Any]:
    """Commands that people wait for, each a process; see ``commands_cost.measure``."""
    from sightplan_bench.commands_cost import measure
    return measure(min(size.repeats, 5), SEED)


def _ros_tool(*arguments: str, timeout_s: float = 300.0) -> str:
    """Standard output of a helper command in the workspace's environment."""
    done = subprocess.run([sys.executable, '-m', *arguments], capture_output=True, text=True,
                          timeout=timeout_s, env=os.environ, check=False)
    if done.returncode:
        raise RuntimeError(f'{" ".join(arguments)} ended with {done.returncode}: '
                           f'{done.stderr.strip()[-400:]}')
    return done.stdout


def bench_ros_ground(size: Size) -> dict[str, Any]:
    """Round trip of ``grounder/ground`` with a 640x480 image against the in-process call."""
    return dict(json.loads(_ros_tool('sightplan_bench.ros').splitlines()[-1]))


def bench_ros_episodes(size: Size) -> dict[str, Any]:
    """Episodes per minute of the whole graph, with and without its start and end."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / 'run'
        start = time.perf_counter()
        _ros_tool('sightplan.cli', 'up', 'experiment', f'domain:={size.domain}', 'split:=medium',
                  'method:=ground', 'backend:=embedded', f'episodes:={size.episodes}',
                  f'seed:={SEED}', f'out:={out}')
        whole = time.perf_counter() - start
        summary = json.loads((out / 'summary.json').read_text())
        return {'episodes_per_minute_ros': _episodes_per_minute(summary['seconds'], size.episodes),
                'episodes_per_minute_ros_with_start': _episodes_per_minute(whole, size.episodes)}


PARTS: dict[str, Callable[[Size], dict[str, Any]]] = {
    'rendering': bench_render, 'steps': bench_steps, 'embedded': bench_embedded,
    'planning': bench_planner, 'bags': bench_bags, 'recording': bench_recording,
    'estimate': bench_estimate, 'belief': bench_belief, 'household': bench_household,
    'locating': bench_locating, 'scoring': bench_scoring, 'sliding': bench_sliding,
    'paths': bench_paths, 'grounded-plan': bench_grounded_plan,
    'tabletop-arm': bench_tabletop_arm, 'episodes': bench_in_process,
    'replay': bench_replay, 'commands': bench_commands}
"""Benchmarks that run in this process."""

ROS_PARTS = {'ros-ground': bench_ros_ground, 'ros-episodes': bench_ros_episodes}
"""Benchmarks that run on ROS 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Arguments of ``sightplan bench`` without a sub-command."""

    domain: str = domain_flag()
    episodes: int = option(5, 'episodes per end-to-end figure', low=1)
    repeats: int = option(15, 'repetitions of the other figures', low=1)
    part: tuple[str, ...] = option(
        (), f'measure this part alone (repeatable): {", ".join((*PARTS, *ROS_PARTS))}',
        metavar='NAME', choices=(*PARTS, *ROS_PARTS))
    no_ros: bool = option(False, 'leave out what needs ROS')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan bench`` and its sub-commands."""
    from sightplan_bench import (
        arm,
        gate,
        grounding,
        hearing,
        pointing_grasps,
        robustness,
        safety,
        soak,
        starts,
        sweep,
    )
    parser = add_command(
        subparsers, 'bench', measure,
        'measure speed: rendering, questions, planning, ROS, episodes',
        'Measure what costs time and print one JSON object of medians. Without a sub-command: '
        'rendering, the embedded model, planning, beliefs, pointing, ROS, episodes.',
        settings=Arguments, exits='0 done; 1 a part failed; 2 bad usage')
    parts = parser.add_subparsers(metavar='', title='sub-commands')
    for module in (sweep, grounding, arm, pointing_grasps, gate, robustness, safety, soak,
                   hearing, starts):
        module.add_parser(parts)


def measure(arguments: Arguments) -> Result:
    """Run all measurements; a failing one is reported as an error, not as a number."""
    from sightplan.records.provenance import provenance
    size = Size(arguments.domain, arguments.episodes, arguments.repeats)
    parts = PARTS if arguments.no_ros else {**PARTS, **ROS_PARTS}
    result: dict[str, Any] = {'machine': f'{platform.machine()}, {os.cpu_count()} CPUs',
                              'seed': SEED, 'repeats': size.repeats, 'provenance': provenance()}
    failed = {}
    for name in arguments.part or parts:
        say(name, 'begins')
        try:
            result.update({**PARTS, **ROS_PARTS}[name](size))
        except Exception as error:  # one broken part must not hide the others' figures
            failed[name] = f'{type(error).__name__}: {error}'
            say(name, f'failed: {failed[name]}')
    if failed:
        result['failed'] = failed
    return shown(result, not failed)
