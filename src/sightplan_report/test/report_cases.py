"""Runs and lines of results written by hand, for tests of reports."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sightplan.model import Answer, Atom, InputError, Question
from sightplan.model.sample import Sample, SampleReply
from sightplan.runs import (
    RunSettings,
    load_suite,
    problems_sha256,
    select_problems,
    suite_for,
)
from sightplan.runs.rules import of_suite
from sightplan.runs.samples import score_reply

SPLITS = ('simple', 'medium', 'hard')


def counts(right: int, asked: int, true: int | None = None, unparsed: int = 0,
           unknown: int = 0) -> dict[str, int]:
    """Counts of one predicate; without ``true`` all atoms are true."""
    true = asked if true is None else true
    yes_right = min(right, true)
    return {'asked': asked, 'right': right, 'yes_asked': true, 'yes_right': yes_right,
            'no_asked': asked - true, 'no_right': right - yes_right, 'unparsed': unparsed,
            'unknown': unknown}


def line(number: int = 0, solved: bool = True, *, scored: bool = True,
         **fields: Any) -> dict[str, Any]:
    """A line of results as the scorer writes it: problem ``p<number>`` of split simple."""
    domain, split = fields.get('domain', 'blocksworld'), fields.get('split', 'simple')
    problem = f'{domain}/{split or "-"}/p{number}'
    found: dict[str, Any] = {
        'id': f'{problem}#0', 'suite': 'viplan', 'kind': 'episode', 'cluster': problem,
        'domain': domain,
        'split': split, 'problem': f'p{number}', 'method': 'ground', 'model': '',
        'seed': 1000 + number, 'max_actions': 20, 'failure_probability': 0.0,
        'stop_at_goal': False, 'privileged': 'none', 'privileged_facts': 0, 'optimal_length': 2,
        'stop': 'plan_done' if solved else 'budget',
        'message': '', 'error': None, 'steps': 2, 'executed': 2, 'rejected': 0, 'withheld': 0,
        'invalid': 0, 'remaining': 0, 'withheld_true_positive': 0,
        'plans': [{'status': 'solved', 'step': 0, 'length': 2, 'seconds': .1, 'cached': False}],
        'actions': [], 'actions_right': 2, 'actions_counted': 2, 'observations': 3, 'questions': 0,
        'predicates': {}, 'wrong': [], 'enumerations': [], 'enumerated_at': [], 'proposals': {},
        'repaired': 0, 'unreadable': [], 'prompts': {}, 'usage': None, 'checks': {},
        'beliefs': [], 'last_observation': None, 'goal_unmet': [],
        'failure': None if solved else {'cause': 'budget', 'step': 2, 'image_id': '',
                                        'evidence': {'text': '', 'stamp_ns': 0,
                                                     'action': '', 'answers': [],
                                                     'answer_count': 0}},
        'answer': [], 'timings_s': {'reset': .5, 'act': .25}, 'seconds': 1.0}
    found.update(fields)
    measured = load_suite('viplan').episode_measures(found, solved)
    return {'measures': measured if scored else dict.fromkeys(measured),
            'cause': (found['failure'] or {}).get('cause'), **found}


def sample(number: int = 0, truth: bool = True, reply: str = 'Yes', p_yes: float | None = None,
           **fields: Any) -> dict[str, Any]:
    """A line of a sample of suite predicates, two to a picture, scored by the suite."""
    suite = load_suite('predicates')
    picture, atom = f'blocksworld/simple/{number // 2}', f'on b{number},c1'
    question = Sample(f'{picture}/{atom}', 'simple', picture, (),
                      Question(Atom.parse(atom), 'Is it?'), 'blocksworld')
    said = Answer(reply, p_yes, None if p_yes is None else 1 - p_yes)
    return {'id': question.id, 'suite': 'predicates', 'kind': 'sample', 'cluster': picture,
            'domain': 'blocksworld', 'split': 'simple', 'method': 'ask', 'model': 'eyes@1',
            'seed': number, **score_reply(
                suite, question, truth, SampleReply.of_answer(said)), 'error': None,
            'usage': None, 'seconds': .5, 'reply': reply, 'p_yes': said.p_yes,
            'p_no': said.p_no, 'truth': truth,
            'details': {'atom': atom, 'predicate': 'on'}, **fields}


def asked(enumeration: Mapping[str, dict[str, int]], precondition: int = 0, effect: int = 0,
          checks: int = 0, wrong: int = 0) -> dict[str, Any]:
    """Fields of an episode with one enumeration at the start and checks of its actions.

    Args:
        enumeration: predicate to counts.
        precondition: questions about preconditions, all answered correctly.
        effect: questions about effects.
        checks: number of checked actions.
        wrong: how many answers about effects are wrong.
    """
    tables = {'enumeration': dict(enumeration)}
    made: dict[str, dict[str, int]] = {}
    if checks:
        tables['precondition'] = {'clear': counts(precondition, precondition)}
        tables['effect'] = {'on': counts(effect - wrong, effect)}
        kinds = ('true_positive', 'false_positive', 'false_negative')
        made = {purpose: {'true_negative': checks, **dict.fromkeys(kinds, 0)}
                for purpose in ('precondition', 'effect')}
    all_right = all(c['right'] == c['asked'] for c in enumeration.values())
    questions = sum(c['asked'] for table in tables.values() for c in table.values())
    return {'predicates': tables, 'checks': made, 'enumerations': [all_right],
            'enumerated_at': [0], 'questions': questions}


def papers(domain: str = 'blocksworld', method: str = 'ground') -> dict[str, Any]:
    """Return the identity of a run by the paper's protocol: the name, and the world's options."""
    found = load_suite('viplan').protocol_settings('paper', domain, method, 'simple')
    return {'protocol': 'paper', 'world': {
        name.removeprefix('world_options.'): value for name, (value, _) in found.items()
        if name.startswith('world_options.')}}


@functools.cache
def shipped(domain: str, split: str) -> str:
    """Hash of the problems of a split; of a domain of one's own any."""
    try:
        found, pairs, _ = select_problems(RunSettings(domain=domain, split=split))
    except InputError:
        return 'p0'
    return problems_sha256(found, pairs)


def identity(**fields: Any) -> dict[str, Any]:
    """What a run's results depend on; ``method`` and ``backend`` may be names.

    Problems and rules are the shipped ones of domain and split, unless others are given.
    """
    found: dict[str, Any] = {
        'suite': 'viplan', 'domain': 'blocksworld', 'domain_sha256': 'd0',
        'questions_sha256': 'q0',
        'split': 'simple', 'method': 'ground',
        'backend': 'noisy_oracle', 'model': 'noisy_oracle(gpt-4.1/plain, seed 0)',
        'prompt': {'name': 'ground', 'sha256': 'r0'}, 'seed': 0, 'failure_probability': 0.0,
        'world': {'pictures': 'none'}}
    found.update(fields)
    method = found['method'] if isinstance(found['method'], str) else found['method']['name']
    splits = SPLITS if found['split'] == 'all' else (found['split'] or '-',)
    for rule, other in (('max_actions', 20), ('stop_at_goal', False), ('privileged', 'none'),
                        ('goal', 'told')):
        values = (of_suite(rule, suite_for(found['domain'], split), found['domain'], method, split,
                           found.get('protocol', 'ours'))
                  for split in splits)
        found.setdefault(rule, {split: other if value is None else value
                                for split, value in zip(splits, values, strict=True)})
    found.setdefault('problems', {'count': 25, 'sha256': shipped(found['domain'], found['split'])})
    for key in ('method', 'backend'):
        if isinstance(found[key], str):
            found[key] = {'name': found[key]}
    return found


def write_run(folder: Path, lines: Iterable[Mapping[str, Any]], **fields: Any) -> Path:
    """A run directory; fields are those of the identity."""
    folder.mkdir(parents=True, exist_ok=True)
    session = {'started': '2026-01-02T03:04:05+00:00', 'commit': 'c0ffee', 'dirty': False,
               'sightplan': '0.2.0', 'python': '3.12.1', 'platform': 'Linux',
               'packages': {'numpy': '2.0'}, 'settings': {'episodes': 4}}
    (folder / 'run.json').write_text(json.dumps(
        {'format': 3, 'identity': identity(**fields), 'sessions': [session]}))
    (folder / 'episodes.jsonl').write_text(''.join(json.dumps(one) + '\n' for one in lines))
    return folder


def write_index(folder: Path, name: str, cells: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """The index of a sweep: directory and labels of each cell."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f'{name}.sweep.json').write_text(json.dumps({'sweep': name, 'source': '', 'cells': [
        {'dir': directory, 'labels': dict(labels), 'episodes': 4, 'calibration': None,
         'settings': {}} for directory, labels in cells]}))
