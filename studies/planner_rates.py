"""Fits the error rates of simulated planning models to the success that ViPlan publishes.

Use::

    python studies/planner_rates.py            # writes planner_rates.json of sightplan_models
    python studies/planner_rates.py --measure DIR --seeds 3   # prints measured success

For every model, domain, method and split of the paper's tables 9 and 11 to 13 it searches, by
bisection, the probability that a proposal is wrong after a right one, so that the probability of
solving a problem, in the mean over the 25 shipped problems, is the published success. That
probability is computed without random numbers, for a planner that needs as many right proposals as
the shortest plan has actions, within the budget of the suite: see ``success``.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.domains import SymbolicWorld, load_domain
from sightplan.metrics import failure_counts
from sightplan.metrics.measures import solved_of
from sightplan.records import RunStore
from sightplan.runs import RunSettings, Suite, load_suite, run
from sightplan.runs.rules import of_suite
from sightplan_models._planner_rates import DEFAULT, EMPTY, ILLEGAL, UNREADABLE, WRONG_NAME

DATA = (Path(__file__).parents[1] / 'src' / 'sightplan_models' / 'sightplan_models' / 'data'
        / 'planner_rates.json')
SPLITS = ('simple', 'medium', 'hard')
FIVE = ('InternVL3.5 38B', 'InternVL3 78B', 'Qwen3-VL 32B', 'Qwen2.5-VL 72B', 'Gemma-3 27B')
"""The models that the paper selected."""
METHODS = ('plan', 'plan_cot', 'action', 'action_cot')
REPEAT = 0.9
SHARES = {
    DEFAULT: {ILLEGAL: 0.8, WRONG_NAME: 0.08, UNREADABLE: 0.1, EMPTY: 0.02},
    **{model: {ILLEGAL: 0.55, WRONG_NAME: 0.08, UNREADABLE: 0.35, EMPTY: 0.02}
       for model in ('Qwen3-VL 32B', 'InternVL3.5 38B')}}
_HALVINGS = 40
_SOURCE = ('arXiv 2505.13180v2, tables 9, 11, 12 and 13 (success). Fitted by '
           'studies/planner_rates.py.')
_ABOUT = (
    'models: model to domain to method to split to the probability that a proposal is wrong after '
    'a right one. It was fitted so that the success computed for the 25 shipped problems is the '
    'published one; none and all of 25 solved problems are taken for 0.5 and 24.5. repeat: '
    'probability that a wrong proposal is wrong again in the same way. The paper prints no '
    'frequencies: it says that failed actions are tried until the episode ends (appendix A.1), '
    'and that Qwen3-VL 32B and InternVL3.5 38B are particularly prone to replies that cannot be '
    'parsed (section 5). repeat and shares are ours.')


def success(error: float, length: int, budget: int, repeat: float, empty: float) -> float:
    """Probability of ``length`` right proposals before the budget is used up.

    A proposal is wrong with probability ``error`` after a right one; a fraction ``empty`` of these
    ends the episode. Any other one is wrong again with probability ``repeat``, else the next is
    drawn like one after a right proposal.

    Args:
        error: see above.
        length: number of actions of the shortest plan.
        budget: most proposals.
        repeat: see above.
        empty: see above.
    """
    # Right proposals that are missing, to the probability of being there after a right, or a
    # wrong, proposal.
    right, stuck = {length: 1.0}, dict.fromkeys(range(1, length + 1), 0.0)
    for _ in range(budget):
        fresh = {left: right.get(left, 0.0) + (1.0 - repeat) * stuck[left] for left in stuck}
        held = {left: repeat * stuck[left] + error * (1.0 - empty) * fresh[left] for left in stuck}
        done = right.get(0, 0.0)
        right = {left - 1: (1.0 - error) * there for left, there in fresh.items()}
        right[0] = right.get(0, 0.0) + done
        stuck = held
    return right.get(0, 0.0)


def fitted(published: float, lengths: Sequence[int], budget: int, shares: Mapping[str, float],
           ) -> float:
    """Error rate at which the mean success over problems is the published one."""
    wanted = min(max(published, 0.5 / len(lengths)), 1.0 - 0.5 / len(lengths))
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        mean = sum(success(middle, length, budget, REPEAT, shares[EMPTY])
                   for length in lengths) / len(lengths)
        low, high = (middle, high) if mean > wanted else (low, middle)
    return round(low, 4)


@functools.cache
def plan_lengths(domain: str, split: str) -> tuple[int, ...]:
    """Lengths of the shortest plans of a split's problems."""
    return tuple(int(problem.optimal_length or 0)
                 for problem in load_domain(domain).split_problems(split))


def rates(suite: Suite) -> dict[str, Any]:
    """Content of ``planner_rates.json``."""
    models: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for model in suite.published.models:
        shares = SHARES.get(model, SHARES[DEFAULT])
        for domain in suite.domains:
            for method in METHODS:
                found = {}
                for split in SPLITS:
                    row = suite.published.find(model, 'solved', domain=domain, method=method,
                                               split=split, failure_probability=0.0)
                    if row is not None and row.n:
                        budget = of_suite('max_actions', suite, domain, method, split)
                        found[split] = fitted(row.value, plan_lengths(domain, split), int(budget),
                                              shares)
                if found:
                    models.setdefault(model, {}).setdefault(domain, {})[method] = found
    return {'source': _SOURCE, 'about': _ABOUT, 'repeat': REPEAT, 'shares': SHARES,
            'aliases': suite.published.aliases, 'models': models}


def measured(folder: Path, seeds: int) -> Iterator[str]:
    """Run ``plan`` with the simulated five models of the paper; yields lines of a Markdown table.

    Episodes are those of the suite, in a world in memory that is the PDDL itself.

    Args:
        folder: takes the runs; those that are there go on.
        seeds: number of seeds, from 0.
    """
    suite = load_suite('viplan')
    yield '| domain | model | simple | medium | hard | failed by |'
    yield '|---|---|---|---|---|---|'
    for domain in suite.domains:
        for model in FIVE:
            lines = [line for seed in range(seeds) for line in _episodes(
                folder / f'{domain}-{model}-{seed}', domain, model, seed)]
            cells = []
            for split in SPLITS:
                found = solved_of(line for line in lines if line['split'] == split)
                row = suite.published.find(model, 'solved', domain=domain, method='plan',
                                           split=split, failure_probability=0.0)
                assert row is not None
                cells.append(f'{found.rate:.2f} [{found.low:.2f}, {found.high:.2f}], '
                             f'paper {row.value:.2f}')
            causes = failure_counts(lines)['fractions']
            yield f'| {domain} | {model} | {" | ".join(cells)} | ' + ', '.join(
                f'{cause} {share:.2f}' for cause, share in causes.items()) + ' |'


def _episodes(folder: Path, domain: str, model: str, seed: int) -> Sequence[Mapping[str, Any]]:
    for split in SPLITS:
        run(RunSettings(domain=domain, split=split, method='plan', backend='noisy_planner',
                        backend_options={'table': model}, seed=seed, failure_images=False,
                        out=str(folder / split)), world=SymbolicWorld())
    return [line for split in SPLITS for line in RunStore(folder / split).lines()]


def main(argv: Sequence[str] | None = None) -> int:
    """Fit and write; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog='python studies/planner_rates.py',
        description='Fit the error rates of the backend noisy_planner to published success.')
    parser.add_argument('--out', type=Path, default=DATA, metavar='FILE',
                        help='file to write (default: the one of sightplan_models)')
    parser.add_argument('--measure', type=Path, metavar='DIR',
                        help='write no file, but run episodes into this folder, and print success')
    parser.add_argument('--seeds', type=int, default=3, metavar='N', help='seeds (default: 3)')
    arguments = parser.parse_args(argv)
    if arguments.measure is not None:
        for line in measured(arguments.measure, arguments.seeds):
            print(line, flush=True)
        return 0
    arguments.out.write_text(json.dumps(rates(load_suite('viplan')), indent=1) + '\n', 'utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
