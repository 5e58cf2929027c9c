"""The household's embedded model: its words, its training, and what it sees."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightplan.domains import load_domain
from sightplan.model import EpisodeSpec, Observation
from sightplan.model.query import ask_all
from sightplan.queries import yes_no_queries
from sightplan_models.embedded import (
    Backend,
    Settings,
    question_model_of_transformers,
    shipped_folder,
)

torch = pytest.importorskip('torch')
pytest.importorskip('transformers')
pytest.importorskip('pybullet')
from tiny_models import one_by_one  # noqa: E402

TRAINING = Path(__file__).resolve().parents[3] / 'training'
sys.path.insert(0, str(TRAINING))
DOMAIN = load_domain('household')


@cache
def backend() -> Backend:
    return Backend(Settings(domain='household'))


Look = tuple[Any, tuple[Any, ...], frozenset[Any]]
"""Observation, atoms in view, true state."""


def walk() -> Generator[Look]:
    """A few looks along seeded walks of legal actions."""
    sim = pytest.importorskip('sightplan_sim.household.world')
    with sim.make_world() as world:
        for split in ('simple', 'medium', 'hard'):
            for problem in DOMAIN.split_problems(split)[1::9]:
                rng = random.Random(problem.name)
                world.reset(EpisodeSpec('look', problem, 'random', seed=3))
                model, worth = DOMAIN.model(problem), DOMAIN.worth_asking(problem)
                for step in range(6):
                    if step % 2:
                        look = world.observe()
                        atoms = tuple(atom for atom in worth if look.in_view(atom))
                        yield look, atoms, world.state()
                    legal = [a for a in model.actions if model.applicable(a, world.state())]
                    world.execute(rng.choice(sorted(legal, key=str)))


@cache
def looks() -> tuple[Look, ...]:
    return tuple(walk())


@cache
def first_look() -> Look:
    """The first one with many atoms."""
    with closing(walk()) as found:
        return next(look for look in found if len(look[1]) > 5)


def right(shown: list[Observation]) -> tuple[float, float, float]:
    """Accuracy on all atoms, on true ones, on false ones, with these to see for the looks."""
    told: dict[bool, list[bool]] = {True: [], False: []}
    for seen, (_, atoms, state) in zip(shown, looks(), strict=True):
        if not atoms:
            continue
        request = yes_no_queries(seen, tuple(map(DOMAIN.question, atoms)))
        for atom, reply in zip(atoms, ask_all(backend(), request), strict=True):
            told[atom in state].append((reply.text == 'yes') is (atom in state))
    return (float(np.mean(told[True] + told[False])), float(np.mean(told[True])),
            float(np.mean(told[False])))


@pytest.mark.slow
def test_walks_through_homes_are_read_well() -> None:
    for shown in ([look for look, _, _ in looks()],
                  [replace(look, depth_m=None) for look, _, _ in looks()]):
        every, yes, no = right(shown)
        assert every > 0.8 and yes > 0.6 and no > 0.8, (every, yes, no)


@pytest.mark.slow
def test_pixels_matter() -> None:
    """A grey picture and that of another look are worth nothing."""
    shown = [look for look, _, _ in looks()]
    seen = sum(right(shown)[1:]) / 2
    grey = [Observation(image=np.full_like(look.image, 150)) for look in shown]
    for others in (grey, shown[5:] + shown[:5]):
        assert sum(right(others)[1:]) / 2 < seen - 0.15


def test_same_picture_same_answers() -> None:
    look, atoms, _ = first_look()
    request = yes_no_queries(look, tuple(map(DOMAIN.question, atoms)))
    again = Backend(Settings(domain='household'))
    assert ask_all(backend(), request) == ask_all(backend(), request) == ask_all(again, request)


def test_answers_equal_those_of_transformers_one_prompt_at_a_time() -> None:
    look, atoms, _ = first_look()
    request = yes_no_queries(look, tuple(map(DOMAIN.question, atoms))[:12])
    reference = question_model_of_transformers(shipped_folder('household'), Settings())
    ours, theirs = ask_all(backend(), request), one_by_one(reference, request)
    assert look.depth_m is not None and backend().traits == reference.traits
    for one, other in zip(ours, theirs, strict=True):
        assert one.text == other.text
        assert one.p_yes == pytest.approx(other.p_yes, abs=1e-5)
        assert one.p_no == pytest.approx(other.p_no, abs=1e-5)


def test_the_shipped_tokenizer_knows_every_question() -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(shipped_folder('household'))
    for split in DOMAIN.splits:
        for problem in DOMAIN.split_problems(split):
            for atom in DOMAIN.worth_asking(problem):
                words = tokenizer.tokenize(DOMAIN.question(atom).text)
                expected = [atom.args[0], atom.predicate, *atom.args[1:]]
                if atom.predicate == 'holding':
                    expected = ['holding', atom.args[0]]
                assert words == expected, DOMAIN.question(atom).text


def test_model_card_and_accuracies_belong_to_the_shipped_weights() -> None:
    evaluation = pytest.importorskip('household_evaluation')
    folder = shipped_folder('household')
    result = json.loads((folder / 'accuracy.json').read_text())
    assert result['model'] == backend().name
    assert evaluation.table(result) in (folder / 'README.md').read_text()
    means = evaluation.published()
    best = {p: max(model[p] for model in means.values()) for p in evaluation.PREDICATES}
    assert sum(result['mean'][p]['accuracy'] > best[p] for p in evaluation.PREDICATES) >= 4
    for predicate in evaluation.PREDICATES:
        seen = result['total'][predicate]['balanced']
        for control in result['controls'].values():
            assert control[predicate]['balanced'] < seen
