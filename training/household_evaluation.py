"""Measure household's model in homes it has never seen, as ``ground`` uses it.

The benchmark's problems in several homes each (no home to learn from is one of them), walks of
the actions that solve them, half of them replaced by any legal one, some failing. At every step
all ground atoms in view that may hold are asked in the wording of the domain's questions, of the
world's own labelled picture, through the real processor and backend; of a model that was made for
depth, too, both with and without it. Two controls: a grey picture, and that of another moment,
where a model that reads pixels must fall to chance.
"""

from __future__ import annotations

import argparse
import importlib.resources
import json
import multiprocessing
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from sightplan.model.query import ask_all
from sightplan.queries import yes_no_queries

PREDICATES = ('holding', 'inside', 'nextto', 'ontop', 'open', 'reachable')
SPLITS = ('simple', 'medium', 'hard')
CONTROLS = ('grey', 'other')
BLIND = 'without depth'
MOST_STEPS = {'simple': 10, 'medium': 20, 'hard': 30}
"""Actions of an episode (ViPlan)."""
NOISE, FAILURE_RATE = 0.5, 0.06

Counts = dict[str, list[int]]
"""Predicate to numbers of true atoms, true atoms answered yes, false atoms, false atoms answered
yes."""


def walk(world: Any, domain: Any, problem: Any, planner: Any, rng: np.random.Generator,
         most: int) -> Any:
    """Yield observation and true state after every step, the first observation included."""
    from dataclasses import replace

    from sightplan.model import PlanningTask

    model = domain.model(problem)
    yield world.observe(), world.state()
    for _ in range(most):
        state = world.state()
        if all((literal.atom in state) is literal.positive for literal in problem.goal):
            return
        legal = [action for action in model.actions if model.applicable(action, state)]
        if not legal:
            return
        action = legal[int(rng.integers(len(legal)))]
        if rng.random() >= NOISE:
            now = replace(problem, init=state)
            found = planner.plan(PlanningTask(domain.pddl, domain.write_problem(now)), 20.0)
            if found.plan:
                action = found.plan[0]
        world.execute(action)
        yield world.observe(), world.state()


def run_part(job: tuple[str, int, int, tuple[int, ...], int, int, int, str]) -> dict[str, Any]:
    """Problems ``start, start + step, ...`` of one split in some homes, up to some pictures."""
    split, start, step, homes, seed, most, pictures, model_dir = job
    from dataclasses import replace

    from sightplan.domains import load_domain
    from sightplan.model import EpisodeSpec, Observation
    from sightplan.planning.symbolic import FastDownwardPlanner
    from sightplan_models.embedded import Backend, Settings
    from sightplan_sim.household.world import make_world

    backend = Backend(Settings(model_dir=model_dir, domain='household'))
    domain = load_domain('household')
    counts: dict[str, Counts] = {name: defaultdict(lambda: [0, 0, 0, 0])
                                 for name in ('seen', BLIND, *CONTROLS)}
    calibration = np.zeros((10, 3))
    observations, perfect, errors = 0, 0, list[str]()
    planner = FastDownwardPlanner()
    before: Observation | None = None
    for home in homes:
        if observations >= pictures:
            break
        world = make_world(home=home)
        for problem in domain.split_problems(split)[start::step]:
            if observations >= pictures:
                break
            rng = np.random.default_rng([seed, home, *problem.name.encode()])
            world.reset(EpisodeSpec('evaluation', problem, 'evaluation', split,
                                    seed=int(rng.integers(10**6)),
                                    failure_probability=FAILURE_RATE))
            worth = domain.worth_asking(problem)
            for observation, state in walk(world, domain, problem, planner, rng,
                                           min(most, MOST_STEPS[split])):
                atoms = [atom for atom in worth if observation.in_view(atom)]
                if not atoms:
                    continue
                if observations >= pictures:
                    break
                questions = tuple(domain.question(atom) for atom in atoms)
                grey = Observation(image=np.full_like(observation.image, 150))
                blind = replace(observation, depth_m=None) if backend.traits.depth else None
                shown = {'seen': observation, BLIND: blind, 'grey': grey, 'other': before}
                for name, picture in shown.items():
                    if picture is None or (name in CONTROLS and observations % 5):
                        continue
                    replies = ask_all(backend, yes_no_queries(picture, questions))
                    wrong = 0
                    for atom, reply in zip(atoms, replies, strict=True):
                        holds, said = atom in state, reply.text == 'yes'
                        tally = counts[name][atom.predicate]
                        tally[0 if holds else 2] += 1
                        tally[1 if holds else 3] += said is holds
                        wrong += said is not holds
                        if name == 'seen':
                            p = (reply.p_yes or 0.0) / max((reply.p_yes or 0.0)
                                                           + (reply.p_no or 0.0), 1e-9)
                            calibration[min(9, int(10 * p))] += (1, p, holds)
                            if said is not holds and len(errors) < 30:
                                errors.append(f'{split}/{problem.name}/{home} {atom}: said '
                                              f'{reply.text} ({p:.2f})')
                    if name == 'seen':
                        perfect += wrong == 0
                observations += 1
                before = observation
        world.close()
    return {'counts': {name: dict(of) for name, of in counts.items()},
            'observations': observations, 'perfect': perfect, 'errors': errors,
            'model': backend.name, 'questions': domain.question_hash,
            'calibration': calibration.tolist()}


def row(tally: list[int]) -> dict[str, Any]:
    """Counts and accuracies of one predicate."""
    yes, yes_right, no, no_right = tally
    n = yes + no
    balanced = (yes_right / yes + no_right / no) / 2 if yes and no else None
    return {'n': n, 'n_yes': yes, 'accuracy': fraction(yes_right + no_right, n),
            'accuracy_yes': fraction(yes_right, yes), 'accuracy_no': fraction(no_right, no),
            'balanced': None if balanced is None else round(balanced, 4),
            'majority': fraction(max(yes, no), n)}


def fraction(right: int, total: int) -> float | None:
    """``right / total``, rounded to 4 places; None if ``total`` is 0."""
    return round(right / total, 4) if total else None


def added(parts: list[Counts]) -> Counts:
    """Counts of parts together."""
    total: Counts = defaultdict(lambda: [0, 0, 0, 0])
    for part in parts:
        for predicate, tally in part.items():
            total[predicate] = [a + b for a, b in zip(total[predicate], tally, strict=True)]
    return total


def rows(counts: Counts) -> dict[str, Any]:
    """Rows of the table: one for each predicate, and one for all together."""
    out = {p: row(counts[p]) for p in PREDICATES if p in counts}
    out['all'] = row([sum(tally[k] for tally in counts.values()) for k in range(4)])
    return out


def published() -> dict[str, dict[str, float]]:
    """ViPlan's table 18: model to predicate to accuracy, the mean over the splits."""
    text = (importlib.resources.files('sightplan_suites') / 'viplan/published.json').read_text()
    found: dict[str, dict[str, list[float]]] = {}
    for row in json.loads(text)['rows']:
        predicate = row['measure'].removeprefix('predicate_accuracy.')
        if (row['source'] == 'tables 10 and 18' and row['where']['domain'] == 'household'
                and predicate in PREDICATES and row['where']['split'] in SPLITS):
            found.setdefault(row['model'], {}).setdefault(predicate, []).append(row['value'])
    return {model: {predicate: round(float(np.mean(values[predicate])), 3)
                    for predicate in PREDICATES} for model, values in found.items()}


def table(result: dict[str, Any]) -> str:
    """The accuracies as Markdown, as the model card shows them."""
    means = published()
    best = {p: max(means, key=lambda model: means[model][p]) for p in PREDICATES}
    head = '| | ' + ' | '.join(PREDICATES) + ' |\n|' + '---|' * (len(PREDICATES) + 1)
    lines = [head]

    def line(name: str, values: Any) -> None:
        lines.append(f'| {name} | ' + ' | '.join(
            '-' if v is None else v if isinstance(v, str) else f'{v:.3f}' for v in values) + ' |')

    splits = result['splits']
    for name in splits:
        line(f'{name}: accuracy', [splits[name]['predicates'].get(p, {}).get('accuracy')
                                   for p in PREDICATES])
    mean = result['mean']
    line('**mean of the splits: accuracy**', [mean[p]['accuracy'] for p in PREDICATES])
    line('best of 24 models in ViPlan, table 18', [means[best[p]][p] for p in PREDICATES])
    line('which is', [best[p] for p in PREDICATES])
    line('Qwen2.5-VL 72B there', [means['Qwen2.5-VL 72B'][p] for p in PREDICATES])
    line('Gemma-3 27B there', [means['Gemma-3 27B'][p] for p in PREDICATES])
    line('GPT-5.2 there', [means['GPT-5.2'][p] for p in PREDICATES])
    total = result['total']
    line('always the commoner answer, here', [mean[p]['majority'] for p in PREDICATES])
    line('**balanced accuracy**', [total[p]['balanced'] for p in PREDICATES])
    line('accuracy on true atoms', [total[p]['accuracy_yes'] for p in PREDICATES])
    line('accuracy on false atoms', [total[p]['accuracy_no'] for p in PREDICATES])
    if BLIND in result:
        line(f'balanced, {BLIND}', [result[BLIND].get(p, {}).get('balanced')
                                      for p in PREDICATES])
    line('atoms asked', [str(total[p]['n']) for p in PREDICATES])
    line('of which true', [str(total[p]['n_yes']) for p in PREDICATES])
    for name, control in result['controls'].items():
        line(f'balanced, {name} picture', [control.get(p, {}).get('balanced')
                                           for p in PREDICATES])
    return '\n'.join(lines) + '\n'


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--model-dir', default='', help='model folder; empty for the shipped one')
    parser.add_argument('--homes', type=int, nargs='+', default=[0, 1, 2, 3, 4, 5],
                        help='which homes each problem takes place in, in this order')
    parser.add_argument('--pictures', type=int, default=500,
                        help='of each split; no more homes are visited than that takes')
    parser.add_argument('--splits', nargs='+', default=list(SPLITS), choices=SPLITS)
    parser.add_argument('--steps', type=int, default=20, help='most actions of a walk')
    parser.add_argument('--every', type=int, default=1, help='only every so many problems')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--processes', type=int, default=2)
    parser.add_argument('--out', type=Path, default=None, help='JSON file to write')
    args = parser.parse_args(argv)
    started = time.monotonic()
    n = args.processes * args.every
    result: dict[str, Any] = {'seed': args.seed, 'homes': args.homes,
                              'pictures': args.pictures, 'splits': {}}
    every: list[dict[str, Any]] = []
    with multiprocessing.get_context('spawn').Pool(args.processes) as pool:
        for split in args.splits:
            parts = pool.map(run_part, [
                (split, k * args.every, n, tuple(args.homes), args.seed, args.steps,
                 (args.pictures + k) // args.processes, args.model_dir)
                for k in range(args.processes)], chunksize=1)
            every += parts
            observations = sum(part['observations'] for part in parts)
            found = rows(added([part['counts']['seen'] for part in parts]))
            result['splits'][split] = {
                'observations': observations,
                'all_right': fraction(sum(part['perfect'] for part in parts), observations),
                'predicates': found}
            print(f'{split}: {observations} observations  ' + '  '.join(
                f'{p} {r["accuracy"]:.3f} ({r["balanced"] or 0:.3f})' for p, r in found.items())
                + f'  ({time.monotonic() - started:.0f} s)', flush=True)
            for text in [e for part in parts for e in part['errors']][:12]:
                print('    ' + text)
    result['model'], result['question_hash'] = every[0]['model'], every[0]['questions']
    result['total'] = rows(added([part['counts']['seen'] for part in every]))
    result['mean'] = {p: {key: mean_of([s['predicates'][p][key]
                                        for s in result['splits'].values()
                                        if p in s['predicates']])
                          for key in ('accuracy', 'majority')} for p in PREDICATES}
    blind = added([part['counts'][BLIND] for part in every])
    if blind:
        result[BLIND] = rows(blind)
    result['controls'] = {name: rows(added([part['counts'][name] for part in every]))
                          for name in CONTROLS}
    calibration = np.sum([part['calibration'] for part in every], axis=0)
    result['calibration'] = [
        {'n': int(count), 'said': round(said / count, 3), 'true': round(true / count, 3)}
        for count, said, true in calibration if count]
    print(f'\n{table(result)}')
    if args.out is not None:
        args.out.write_text(json.dumps(result, indent=1) + '\n')
        print(f'written to {args.out}')


def mean_of(values: list[float]) -> float | None:
    """Mean of numbers, None of none."""
    return round(float(np.mean(values)), 4) if values else None
