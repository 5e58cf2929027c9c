"""Measure which questions in words ``embedded`` answers, and how often rightly.

Use::

    python studies/questions_study.py --n 12

Unrelated questions and wordings of questions of a domain are those of ``data/questions``; those of
``held_out.yaml`` were written before the reader of questions was, and not looked at while it was
made. On pictures of n problems of each domain the domain's own questions are put to the model as
they are, and to the grounder; and wordings about objects of the picture are put to the grounder,
half of them about what is true.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import yaml

from sightplan.domains import Domain, load_domain
from sightplan.grounding import BackendGrounder
from sightplan.metrics import wilson
from sightplan.model import Atom, EpisodeSpec, Observation, Problem, Question, State
from sightplan.model.query import ask_all
from sightplan.queries import yes_no_queries
from sightplan.runs import worlds
from sightplan.vlm.api import make_backend

DATA = Path(__file__).parent / 'data' / 'questions'
DOMAINS = ('blocksworld', 'household')
_WORDINGS_A_PICTURE = 40


def questions(file: str) -> dict[str, Any]:
    """The lists of a file of ``data/questions``."""
    found: dict[str, Any] = yaml.safe_load((DATA / f'{file}.yaml').read_text('utf-8'))
    return found


def in_words(name: str, file: str) -> None:
    """Print how many questions of a file are read, and how many of them rightly."""
    domain, given = load_domain(name), questions(file)
    taken = [text for text in given['unrelated'] if domain.read_question(text)]
    right = wrong = 0
    for text, fact in given[name]:
        opposite, (predicate, *args) = fact.startswith('not '), fact.removeprefix('not ').split()
        found = domain.read_question(text)
        meant = domain.question(Atom(predicate, tuple(args))).text, opposite
        right += found is not None and (found.text, found.opposite) == meant
        wrong += found is not None and (found.text, found.opposite) != meant
    print(f'{name} {file}: {len(taken)} of {len(given["unrelated"])} unrelated questions are '
          f'answered {taken}; of {len(given[name])} wordings {right} are read rightly, '
          f'{wrong} wrongly')


def pictures(domain: Domain, n: int) -> Iterator[tuple[Problem, Observation, State]]:
    """Pictures of how problems begin, from all splits in turn."""
    problems = [problem for several in zip(*(
        domain.split_problems(split)[:n] for split in domain.splits), strict=False)
        for problem in several][:n]
    world: Any = worlds.make_world(domain.name)
    try:
        for problem in problems:
            world.reset(EpisodeSpec(problem.name, problem, domain.splits[0], seed=1))
            yield problem, world.observe(), world.state()
    finally:
        world.close()


def wordings(domain: Domain, problem: Problem, seen: Observation, state: State, draw: Random,
             ) -> list[tuple[str, bool]]:
    """Held-out wordings about objects of a problem, and whether yes is right."""
    told: dict[str, list[tuple[str, bool]]] = {'yes': [], 'no': []}
    asked = [atom for atom in domain.worth_asking(problem) if seen.in_view(atom)
             and len(set(atom.args)) == len(atom.args)]
    for text, fact in questions('held_out')[domain.name]:
        opposite, (predicate, *args) = fact.startswith('not '), fact.removeprefix('not ').split()
        for atom in draw.sample(asked, len(asked))[:60]:
            if atom.predicate == predicate:
                kinds = domain.schema.predicates[predicate].types
                words = text
                for at, name in enumerate(args):
                    words = words.replace(name, f'<{at}>')
                for at, (name, kind) in enumerate(zip(atom.args, kinds, strict=True)):
                    spoken = domain.wording.object_text(name, kind)
                    short = spoken.removesuffix(' block') if kind == 'block' else name
                    words = words.replace(f'<{at}>', short)
                right = (atom in state) is not opposite
                told['yes' if right else 'no'].append((words, right))
    return [one for kind in told.values()
            for one in draw.sample(kind, min(len(kind), _WORDINGS_A_PICTURE // 2))]


def on_pictures(name: str, n: int) -> None:
    """Print accuracies on pictures."""
    domain, model = load_domain(name), make_backend('embedded', {'domain': name})
    grounder, draw = BackendGrounder(model), Random(0)
    own = paired = asked = read = right = put = changed = 0
    for problem, seen, state in pictures(domain, n):
        atoms = [atom for atom in domain.worth_asking(problem) if seen.in_view(atom)]
        told = [domain.question(atom) for atom in atoms]
        plain = [reply.verdict.says for reply in ask_all(model, yes_no_queries(seen, told))]
        again = [reply.verdict.says for reply in grounder.ground(seen, told)]
        truth = [atom in state for atom in atoms]
        asked += len(atoms)
        own += sum(one is true for one, true in zip(plain, truth, strict=True))
        paired += sum(one is true for one, true in zip(again, truth, strict=True))
        changed += sum(one is not other for one, other in zip(plain, again, strict=True))
        for text, yes in wordings(domain, problem, seen, state, draw):
            put += 1
            if domain.read_question(text) is not None:
                [answer] = grounder.ground(seen, [Question.of_words(text)])
                read += 1
                right += answer.verdict.says is yes
    low, high = wilson(right, read)
    print(f'{name}: {n} pictures; {asked} questions of the domain: right {own / asked:.4f} asked '
          f'plainly, {paired / asked:.4f} by the grounder, {changed} answers differ; {put} '
          f'held-out wordings: {read / put:.3f} are answered, {right / read:.3f} '
          f'[{low:.3f}, {high:.3f}] of these rightly')


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n')[0])
    parser.add_argument('--n', type=int, default=12, help='number of pictures of each domain')
    given = parser.parse_args(arguments)
    for name in DOMAINS:
        for file in ('tuned', 'held_out'):
            in_words(name, file)
    for name in DOMAINS:
        if given.n:
            on_pictures(name, given.n)
    return 0


if __name__ == '__main__':
    sys.exit(main())
