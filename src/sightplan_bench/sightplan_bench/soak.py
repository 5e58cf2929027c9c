"""``sightplan bench soak``: thousands of episodes on one graph, as in a week of use.

One graph stays up. Its world, agent, planner, grounder and recorder are sent episodes of several
domains and methods in turn, as the node ``experiment`` sends them, into one run. Watched are the
episodes that are lost, the memory of each node, the disk, the logs and the pace; each has a bound.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    note,
    print_table,
    stop_flag,
)
from sightplan.console.progress import EpisodeBar
from sightplan.metrics import measures
from sightplan.model import EpisodeSpec, InputError, SightplanError, user_path
from sightplan.model.journal import Journal
from sightplan.records import RunStore
from sightplan.records.bag_policy import LAST
from sightplan.records.description import write_json
from sightplan.records.provenance import provenance
from sightplan_bench.soak_samples import RUN, Arguments, Sample, read_samples

EVERY = 20
"""Episodes from one sample to the next."""
WARM = 500
"""Episodes after which the memory of a node may grow no more."""
PACE = 100
"""Number of episodes at the beginning and at the end whose pace is compared."""
MOST_GROWTH, LEAST_PACE = 0.05, 0.95
SAMPLES, RESULT = 'samples.jsonl', 'soak.json'


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan bench soak``."""
    add_command(
        subparsers, 'soak', measure, 'thousands of episodes on one graph: memory, disk, pace',
        'Send episodes of several domains and methods in turn to one graph, and watch that none '
        'is lost, and that memory, disk, logs and pace stay within bounds. With the same --out '
        'it goes on where it was.', settings=Arguments,
        exits='0 done; 1 a bound is broken, or it was broken off; 2 bad usage')


def measure(arguments: Arguments) -> Result:
    """Run the missing episodes, and compare the result with the bounds."""
    if arguments.episodes < 1 or arguments.bags_kept < 1:
        raise InputError('--episodes and --bags-kept must be 1 or more')
    out = user_path(arguments.out)
    specs = episodes(arguments)
    broken = _run(arguments, out, specs)
    result = {'domains': arguments.domains, 'methods': arguments.methods,
              'split': arguments.split, 'table': arguments.table, 'bags': arguments.bags,
              'bags_kept': arguments.bags_kept, 'pace_by': 'cpu' if arguments.cpu else 'wall',
              **outcome([spec.id for spec in specs], RunStore(out / RUN).lines(),
                        read_samples(out / SAMPLES), arguments.bags_kept
                        if arguments.bags == LAST else None, by_cpu=arguments.cpu),
              'broken_off': broken, 'machine': f'{os.cpu_count()} CPUs',
              'provenance': provenance()}
    write_json(out / RESULT, result)
    _print(result)
    if broken:
        note(f'bench soak: {broken}; the same command with --out {out} goes on from there')
    return result, FAILED if broken or result['broken'] else DONE


def episodes(arguments: Arguments) -> list[EpisodeSpec]:
    """All episodes, of each domain and method in turn.

    Raises:
        InputError: unknown domain, method or split.
    """
    from sightplan.runs import EpisodePlan, RunSettings
    kinds = [(domain, method) for domain in arguments.domains for method in arguments.methods]
    plans = []
    for number, (domain, method) in enumerate(kinds):
        settings = RunSettings(
            domain=domain, split=arguments.split, method=method, backend='noisy_oracle',
            seed=arguments.seed, episodes=max(1, len(range(
                number, arguments.episodes, len(kinds)))))
        settings.check()
        plans.append([dataclasses.replace(spec, id=f'{method}/{spec.id}')
                      for spec in EpisodePlan(settings).items])
    return [plans[number % len(kinds)][number // len(kinds)]
            for number in range(arguments.episodes)]


def _run(arguments: Arguments, out: Path, specs: Sequence[EpisodeSpec]) -> str:
    """Run the missing episodes; returns the reason of an interruption, '' for none."""
    from sightplan_bench.soak_graph import SoakGraph
    out.mkdir(parents=True, exist_ok=True)
    session = 1 + max((sample.session for sample in read_samples(out / SAMPLES)), default=-1)
    with stop_flag() as stop, Journal(out / SAMPLES) as journal, EpisodeBar() as bar:
        if {spec.id for spec in specs} <= RunStore(out / RUN).done():
            return ''
        journal.open()
        journal.lock()
        try:
            with SoakGraph(arguments, out, session) as graph:
                missing = [spec for spec in specs if spec.id not in graph.done]
                bar.begin('episodes', len(specs), len(specs) - len(missing))
                warm = min(len(missing), len(arguments.domains) * len(arguments.methods))
                for number, spec in enumerate(missing, 1 - warm):
                    if stop():
                        return 'interrupted'
                    graph.run(spec)
                    if number >= 0 and (number % EVERY == 0 or spec is missing[-1]):
                        journal.append(dataclasses.asdict(graph.sample(number)))
                    bar.stage('episodes', len(specs) - len(missing) + number + warm, len(specs))
        except SightplanError as error:
            return str(error)
    return ''


def outcome(planned: Sequence[str], lines: Sequence[Mapping[str, Any]],
            samples: Sequence[Sample], kept: int | None, by_cpu: bool = False) -> dict[str, Any]:
    """Compare the samples with the bounds.

    Args:
        planned: ids of the episodes.
        lines: of results.
        samples: of all sessions; memory and pace are those of the longest one.
        kept: how many bags may be there; None: any number.
        by_cpu: compare the pace by processor time.

    Returns:
        plain JSON data; ``hundreds`` has the pace of each, ``broken`` the names of the bounds that
        do not hold, ``too_short_for`` of those that nothing is known of: the longest session must
        have WARM + PACE episodes for the memory, and 2 PACE for the pace.
    """
    from sightplan_nodes.log_files import LIMIT_BYTES
    scored = [line['id'] for line in lines if measures.scored(line)]
    found: dict[str, Any] = {
        'episodes': len(planned), 'done': len(lines), 'lost': len(set(planned) - set(scored)),
        'twice': len(scored) - len(set(scored)),
        'solved': sum(bool(measures.solved(line)) for line in lines),
        'sessions': len({sample.session for sample in samples})}
    longest = _longest(samples)
    if not longest:
        return {**found, 'broken': ['episodes'] if found['lost'] else [],
                'too_short_for': ['memory', 'pace']}
    last = longest[-1]
    warm = min(WARM, last.episodes // 2)
    memory = {node: {'after_warming_mib': _memory(longest, node, warm),
                     'at_the_end_mib': _memory(longest, node, last.episodes - PACE),
                     'shared_at_the_end_mib': last.shared_mib[node]}
              for node in last.memory_mib}
    pace = {'first': _pace(longest, 0, PACE),
            'last': _pace(longest, last.episodes - PACE, last.episodes)}
    for found_at in memory.values():
        found_at['growth'] = round(
            found_at['at_the_end_mib'] / found_at['after_warming_mib'] - 1.0, 4)
    ratios = {name: round(pace['last'][name] / pace['first'][name], 4)
              for name in ('episodes_per_s', 'episodes_per_cpu_s')}
    held = {
        'episodes': not found['lost'] and not found['twice'],
        'memory': all(of['growth'] <= MOST_GROWTH for of in memory.values()),
        'disk': kept is None or last.bags <= kept,
        'logs': last.log_bytes <= 2 * LIMIT_BYTES * len(memory) * max(1, found['sessions']),
        'pace': ratios['episodes_per_cpu_s' if by_cpu else 'episodes_per_s'] >= LEAST_PACE}
    short = [name for name, least in (('memory', WARM + PACE), ('pace', 2 * PACE))
             if last.episodes < least]
    return {**found, 'session': {'episodes': last.episodes, 'seconds': round(last.seconds, 1),
                                 'warm_after': warm},
            'memory': memory, 'pace': pace, 'pace_ratio': ratios,
            'hundreds': [_pace(longest, begin, begin + PACE) for begin in range(
                0, last.episodes - PACE + 1, PACE)],
            'disk': {'bytes': last.disk_bytes, 'bag_bytes': last.bag_bytes, 'bags': last.bags,
                     'most_bag_bytes': max(sample.bag_bytes for sample in longest)},
            'log_bytes': last.log_bytes, 'too_short_for': short,
            'broken': [name for name, good in held.items() if not good and name not in short]}


def _longest(samples: Sequence[Sample]) -> list[Sample]:
    """Samples of the session with most episodes."""
    sessions: dict[int, list[Sample]] = {}
    for sample in samples:
        sessions.setdefault(sample.session, []).append(sample)
    return max(sessions.values(), key=lambda of: of[-1].episodes, default=[])


def _memory(samples: Sequence[Sample], node: str, begin: int) -> float:
    """Median over the samples of a hundred episodes [MiB]."""
    near = [sample.memory_mib[node] for sample in samples
            if begin <= sample.episodes <= begin + PACE]
    return round(statistics.median(near or [samples[-1].memory_mib[node]]), 1)


def _pace(samples: Sequence[Sample], begin: int, end: int) -> dict[str, float]:
    """Episodes per second and per processor second between two numbers of episodes."""
    first = max((s for s in samples if s.episodes <= begin), key=lambda s: s.episodes,
                default=samples[0])
    last = min((s for s in samples if s.episodes >= end), key=lambda s: s.episodes,
               default=samples[-1])
    count = max(1, last.episodes - first.episodes)
    return {'episodes_per_s': round(count / max(1e-9, last.seconds - first.seconds), 4),
            'episodes_per_cpu_s': round(count / max(1e-9, last.cpu_s - first.cpu_s), 4),
            'load': last.load}


def _print(result: Mapping[str, Any]) -> None:
    rows: list[tuple[object, ...]] = [
        ('episodes done', f'{result["done"]} of {result["episodes"]}'),
        ('lost', result['lost']), ('twice', result['twice'])]
    if 'pace' in result:
        rows += [(f'episodes/s, {which} hundred', '{episodes_per_s:.3f} ({episodes_per_cpu_s:.3f} '
                  'per second of processor time, load {load:.1f})'.format(**result['pace'][which]))
                 for which in ('first', 'last')]
        for node, of in result['memory'].items():
            rows.append((f'memory of {node}', (
                f'{of["after_warming_mib"]:.0f} MiB after {result["session"]["warm_after"]}, '
                f'{of["at_the_end_mib"]:.0f} at the end ({of["growth"]:+.1%})')))
        disk = result['disk']
        rows += [('disk', (f'{disk["bytes"] / 2**20:.1f} MiB, of which '
                           f'{disk["bag_bytes"] / 2**20:.1f} in {disk["bags"]} bags')),
                 ('logs', f'{result["log_bytes"]} bytes')]
    if result['too_short_for']:
        rows.append(('too short to judge', ', '.join(result['too_short_for'])))
    rows.append(('bounds broken', ', '.join(result['broken']) or 'none'))
    print_table(('', ''), rows)
