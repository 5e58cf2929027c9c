"""``sightplan bench hearing``: nodes of a graph are killed; does one go deaf unnoticed?

One graph of an experiment stays up, kept by ``sightplan up``, which here starts a killed node
again. Each trial kills (SIGKILL) one node at a random moment while pictures and heartbeats flow,
and waits until all nodes hear each other again; ``up`` may have to find and restart a deaf one for
that, or end the graph and name it. Then one episode is run over the graph, since hearing is for
working. A trial in which neither happens within a limit is one in which somebody is silently deaf.
"""

from __future__ import annotations

import dataclasses
import os
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightplan.commands.flags import option
from sightplan.commands.frame import DONE, FAILED, Result, add_command, print_table, stop_flag
from sightplan.console.progress import EpisodeBar
from sightplan.model import InputError, user_path
from sightplan.model.journal import Journal
from sightplan.records.description import write_json
from sightplan.records.provenance import provenance
from sightplan_bench.hearing_trials import ENDED, FIXED, SILENT, WHOLE, Trial, read_trials
from sightplan_bench.safety_results import spread

TRIALS, LOGS, RESULT = 'trials.jsonl', 'log', 'hearing.json'
@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Arguments of ``sightplan bench hearing``."""

    kills: int = option(1000, 'in all', low=0)
    limit: float = option(
        180.0, 'for the graph to be whole again, or to end', low=0.001, metavar='S')
    no_episodes: bool = option(False, 'run no episode after each kill')
    seed: int = option(0, 'of moments and victims')
    out: str = option('hearing', 'trials, logs and result', metavar='DIR')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan bench hearing``."""
    add_command(
        subparsers, 'hearing', measure, 'kill nodes of a graph: does one go deaf unnoticed?',
        'Kill (SIGKILL) nodes of a graph at random moments, have them started again, and see '
        'whether all nodes hear each other again, or the deaf one is named. With the same --out '
        'it goes on where it was.', settings=Arguments,
        exits='0 done; 1 a node stayed silently deaf, or it was broken off; 2 bad usage')


def measure(arguments: Arguments) -> Result:
    """Make the trials that are missing, and count all of them."""
    from sightplan_bench.hearing_graph import HearingGraph
    from sightplan_bench.kept_graph import NODES
    if arguments.limit <= 0.0:
        raise InputError('--limit must be more than 0')
    out = user_path(arguments.out)
    (out / LOGS).mkdir(parents=True, exist_ok=True)
    broken, here = '', provenance()
    with stop_flag() as stop, Journal(out / TRIALS) as journal, EpisodeBar() as bar:
        trials = read_trials(journal)
        journal.open()
        journal.lock()
        bar.begin('kills', arguments.kills, len(trials))
        while len(trials) < arguments.kills and not broken:
            session = 1 + max((trial.session for trial in trials), default=-1)
            with HearingGraph(out / LOGS, not arguments.no_episodes) as graph:
                while len(trials) < arguments.kills and graph.runs and not broken:
                    number = len(trials)
                    chance = random.Random(f'{arguments.seed} {number}')
                    trial = graph.trial(number, session, chance.choice(NODES),
                                        chance.uniform(0.0, 1.0), arguments.limit)
                    trial = dataclasses.replace(trial, commit=here['commit'])
                    trials.append(trial)
                    journal.append(dataclasses.asdict(trial))
                    bar.stage('kills', len(trials), arguments.kills)
                    broken = 'interrupted' if stop() else ''
                    if trial.outcome == SILENT:
                        break  # the graph's later events would add nothing
    result = {**outcome(trials), 'broken_off': broken, 'machine': f'{os.cpu_count()} CPUs',
              'provenance': here}
    write_json(out / RESULT, result)
    _print(result)
    return result, FAILED if broken or result['outcomes'].get(SILENT) else DONE


def outcome(trials: Sequence[Trial]) -> dict[str, Any]:
    """Summary of all trials, as JSON data."""
    return {'n': len(trials), 'sessions': len({trial.session for trial in trials}),
            'outcomes': dict(Counter(trial.outcome for trial in trials)),
            'killed': dict(Counter(trial.node for trial in trials)),
            'said': [{'number': trial.number, 'killed': trial.node, 'said': list(trial.said)}
                     for trial in trials if trial.said],
            'seconds': {kind: spread([trial.seconds for trial in trials if trial.outcome == kind],
                                     2) for kind in (WHOLE, FIXED, ENDED)},
            'episodes': sum(trial.episode is not None for trial in trials),
            'episodes_failed': [{'number': trial.number, 'killed': trial.node,
                                 'said': trial.episode} for trial in trials if trial.episode],
            'load': spread([trial.load for trial in trials], 2),
            'commits': list(dict.fromkeys(trial.commit for trial in trials if trial.commit))}


def _print(result: Mapping[str, Any]) -> None:
    outcomes, seconds = result['outcomes'], result['seconds']
    print_table(('', ''), [
        ('kills', f'{result["n"]} in {result["sessions"]} graphs'),
        *((f'{kind}', f'{outcomes.get(kind, 0)}' + (
            f', after {seconds[kind]["median"]} s, longest {seconds[kind]["max"]} s'
            if seconds.get(kind, {}).get('n') else '')) for kind in (WHOLE, FIXED, ENDED, SILENT)),
        ('episodes afterwards',
         f'{result["episodes"]}, {len(result["episodes_failed"])} of them failed')])
