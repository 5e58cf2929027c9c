"""Measure blocksworld's model on freshly rendered scenes, as the grounder uses it.

Every ground atom of every scene is asked in the wording of the domain's questions.yaml, of a
640x480 picture, through the real processor and the packed backend. Besides the three splits:
mixed sizes up to 8 columns, a stronger look than training's centre, and two controls in which the
picture is grey or that of another scene, where a model that reads pixels must fall to chance.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from sightplan.model.query import ask_all
from sightplan.queries import yes_no_queries

os.environ.setdefault('OMP_NUM_THREADS', '1')

import numpy as np

from blocksworld_scenes import (
    FULL,
    LETTERS,
    SPLITS,
    Stacks,
    column_names,
    sample_stacks,
)

FIRST_SEED = 5_000_000
"""Seeds of evaluation scenes start here; training shards use small seeds of another stream."""
PICTURE_PREDICATES = ('on', 'clear', 'incolumn')
SUITES: dict[str, tuple[str, float]] = {
    'simple': ('simple', 1.0), 'medium': ('medium', 1.0), 'hard': ('hard', 1.0),
    'mixed': ('', 1.0), 'simple_strong': ('simple', 2.0), 'medium_strong': ('medium', 2.0),
    'hard_strong': ('hard', 2.0)}
"""Test name to split ('' for 1 to 6 blocks on 1 to 8 columns) and strength of the appearance."""


def true_atoms(stacks: Stacks, names: tuple[str, ...]) -> set[str]:
    """Canonical texts of the atoms that hold in a scene."""
    facts = set()
    for index, (name, stack) in enumerate(zip(names, stacks, strict=True)):
        for level, block in enumerate(stack):
            facts.add(f'incolumn {block},{name}')
            facts.add(f'clear {block}' if level + 1 == len(stack)
                      else f'on {stack[level + 1]},{block}')
        facts.update(f'leftof {name},{other}' for other in names[index + 1:])
        facts.update(f'rightof {name},{other}' for other in names[:index])
    return facts


def all_atoms(blocks: list[str], names: tuple[str, ...]) -> list[str]:
    """Canonical texts of every ground atom, reflexive ones included."""
    return ([f'on {a},{b}' for a in blocks for b in blocks] + [f'clear {b}' for b in blocks]
            + [f'incolumn {b},{c}' for b in blocks for c in names]
            + [f'{p} {c},{d}' for p in ('leftof', 'rightof') for c in names for d in names])


def draw_scene(suite: str, index: int, seed: int) -> tuple[Stacks, Any]:
    """The stacks and the appearance of one evaluation scene, determined by the arguments alone."""
    from sightplan_sim.blocksworld.scene import sample_look

    split, strength = SUITES[suite]
    rng = np.random.default_rng([seed, sorted(SUITES).index(suite), index])
    blocks, columns = SPLITS[split] if split else (int(rng.integers(1, 7)),
                                                   int(rng.integers(1, 9)))
    return sample_stacks(rng, blocks, columns), sample_look(rng, strength)


def run_part(job: tuple[str, int, int, int, int, str, str]) -> dict[str, Any]:
    """Evaluate the scenes ``start, start + step, ...`` of one suite."""
    suite, start, step, count, seed, model_dir, control = job
    from sightplan.domains import load_domain
    from sightplan.model import Atom, Observation
    from sightplan_models.embedded import Backend, Settings
    from sightplan_sim.blocksworld.scene import BlocksScene

    backend = Backend(Settings(model_dir=model_dir, domain='blocksworld'))
    domain = load_domain('blocksworld')
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])  # yes n, ok; no n, ok
    scenes, perfect, errors = 0, 0, list[str]()
    least = 1.0
    with BlocksScene(*FULL) as scene:
        for index in range(start, count, step):
            stacks, look = draw_scene(suite, index, seed)
            names = column_names(len(stacks))
            if control == 'grey':
                image = np.full((FULL[1], FULL[0], 3), 150, np.uint8)
            else:
                shown, style = stacks, look
                if control == 'other':
                    shown, style = draw_scene(suite, index + 1_000_000, seed)
                image = scene.render(shown, column_names(len(shown)), style).rgb
            facts = true_atoms(stacks, names)
            blocks = [b for b in LETTERS if any(b in stack for stack in stacks)]
            atoms = all_atoms(blocks, names)
            request = yes_no_queries(Observation(image=image), tuple(
                domain.question(Atom.parse(atom)) for atom in atoms))
            wrong = 0
            for atom, reply in zip(atoms, ask_all(backend, request), strict=True):
                holds = atom in facts
                right = reply.text == ('yes' if holds else 'no')
                wrong += not right
                tally = counts[atom.partition(' ')[0]]
                tally[0 if holds else 2] += 1
                tally[1 if holds else 3] += right
                least = min(least, (reply.p_yes or 0.0) + (reply.p_no or 0.0))
                if not right and len(errors) < 40:
                    errors.append(f'{suite}/{index} {atom}: said {reply.text} '
                                  f'(p_yes {reply.p_yes:.3f}), stacks '
                                  + ' '.join(''.join(s) or '-' for s in stacks))
            scenes += 1
            perfect += wrong == 0
    return {'counts': dict(counts), 'scenes': scenes, 'perfect': perfect, 'errors': errors,
            'least_mass': least, 'model': backend.name, 'questions': domain.question_hash}


def fraction(right: int, total: int) -> float | None:
    """``right / total``, rounded to 6 places; None if ``total`` is 0."""
    return round(right / total, 6) if total else None


def merge(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Merge the partial results of one suite."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for part in parts:
        for predicate, tally in part['counts'].items():
            counts[predicate] = [a + b for a, b in zip(counts[predicate], tally, strict=True)]
    scenes, perfect = (sum(part[key] for part in parts) for key in ('scenes', 'perfect'))
    total = [sum(tally[k] for tally in counts.values()) for k in range(4)]

    def row(tally: list[int]) -> dict[str, Any]:
        return {'n': tally[0] + tally[2], 'right': tally[1] + tally[3],
                'accuracy': fraction(tally[1] + tally[3], tally[0] + tally[2]),
                'n_yes': tally[0], 'accuracy_yes': fraction(tally[1], tally[0]),
                'n_no': tally[2], 'accuracy_no': fraction(tally[3], tally[2])}

    return {'scenes': scenes, 'all_right': perfect, 'all_right_rate': fraction(perfect, scenes),
            'least_probability_mass': round(min(part['least_mass'] for part in parts), 6),
            'overall': row(total), 'predicates': {p: row(counts[p]) for p in sorted(counts)}}


def table(result: dict[str, Any]) -> str:
    """The accuracies as a Markdown table, as the model card shows them."""
    predicates = ('on', 'clear', 'incolumn', 'leftof', 'rightof')
    lines = ['| test | scenes | questions | ' + ' | '.join(predicates)
             + ' | all | scenes all right |', '|' + '---|' * (len(predicates) + 5)]
    for name, suite in result['suites'].items():
        rows = [suite['predicates'][p] for p in predicates] + [suite['overall']]
        lines.append(f'| {name} | {suite["scenes"]} | {suite["overall"]["n"]} | '
                     + ' | '.join(f'{row["accuracy"]:.5f}' for row in rows)
                     + f' | {suite["all_right_rate"]:.3f} |')
    lines += ['', '| control | ' + ' | '.join(f'{p} yes / no' for p in PICTURE_PREDICATES) + ' |',
              '|' + '---|' * (len(PICTURE_PREDICATES) + 1)]
    for name, suite in result['controls'].items():
        rows = [suite['predicates'][p] for p in PICTURE_PREDICATES]
        lines.append(f'| {name} | ' + ' | '.join(
            f'{row["accuracy_yes"]:.3f} / {row["accuracy_no"]:.3f}' for row in rows) + ' |')
    return '\n'.join(lines) + '\n'


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--model-dir', default='', help='model folder; empty for the shipped one')
    parser.add_argument('--scenes', type=int, default=500, help='scenes of each suite')
    parser.add_argument('--controls', type=int, default=100, help='scenes of each control')
    parser.add_argument('--suites', nargs='+', default=list(SUITES), choices=list(SUITES))
    parser.add_argument('--seed', type=int, default=FIRST_SEED)
    parser.add_argument('--processes', type=int, default=2)
    parser.add_argument('--out', type=Path, default=None, help='JSON file to write')
    args = parser.parse_args(argv)
    started = time.monotonic()
    result: dict[str, Any] = {'seed': args.seed, 'image': '640x480', 'suites': {},
                              'controls': {}}
    jobs = [(suite, suite, '', args.scenes) for suite in args.suites]
    jobs += [(f'{control}_{suite}', suite, control, args.controls)
             for control in ('grey', 'other') for suite in ('medium',) if args.controls]
    with multiprocessing.get_context('spawn').Pool(args.processes) as pool:
        for label, suite, control, count in jobs:
            parts = pool.map(run_part, [
                (suite, k, args.processes, count, args.seed, args.model_dir, control)
                for k in range(args.processes)], chunksize=1)
            merged = merge(parts)
            result['model'], result['question_hash'] = parts[0]['model'], parts[0]['questions']
            result['controls' if control else 'suites'][label] = {
                'look_strength': SUITES[suite][1], **merged}
            rows = merged['predicates']
            print(f'{label:14s} all right {merged["all_right_rate"]:.4f}  ' + '  '.join(
                f'{p} {rows[p]["accuracy"]:.5f}' for p in rows)
                + f'  ({time.monotonic() - started:.0f} s)', flush=True)
            if control:
                for p in PICTURE_PREDICATES:
                    yes, no = rows[p]['accuracy_yes'] or 0, rows[p]['accuracy_no'] or 0
                    print(f'    {p}: balanced accuracy {(yes + no) / 2:.3f}')
            else:
                for line in [e for part in parts for e in part['errors']][:12]:
                    print('    ' + line)
    if args.out is not None:
        args.out.write_text(json.dumps(result, indent=1) + '\n')
        print(f'written to {args.out}; the table of the model card:\n\n{table(result)}')

