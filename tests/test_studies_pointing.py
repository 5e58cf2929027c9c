"""The study of votes and checks, on fewer targets."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pointing_study as study
from sightplan.model import Target
from sightplan.model.query import ask_one
from sightplan.queries import Check
from sightplan.queries.locate import Locate
from sightplan_belief.pointing import Pieces

NOISE = study.Noise('molmo-7b', 0.533, 0.45, 0.9)


def requests(n, attempt=0):
    return [Locate(np.zeros((32, 64, 3), np.uint8), Target(str(number)), attempt=attempt)
            for number in range(n)]


def places(noise, n, attempt=0):
    model = study.SimulatedModel(noise)
    return [study.PIECES.at(ask_one(model, request).regions[0].centre)
            for request in requests(n, attempt)]


def test_the_simulated_model_errs_as_it_should():
    n, truth = 2000, [study.truth_of(str(number)) for number in range(2000)]
    first, second = places(NOISE, n), places(NOISE, n, 1)
    right = np.array([a == b for a, b in zip(first, truth, strict=True)])
    assert np.mean(right) == pytest.approx(0.533, abs=0.03)
    missed = [place for place, hit in zip(first, right, strict=True) if not hit]
    assert np.mean([place is None for place in missed]) == pytest.approx(0.5, abs=0.05)
    # An answer comes again if it is repeated, or drawn again by chance.
    piece = 0.467 / 2 / 7
    by_chance = 0.533 ** 2 + 7 * piece ** 2 + (0.467 / 2) ** 2
    same = np.mean([a == b for a, b in zip(first, second, strict=True)])
    assert same == pytest.approx(0.45 + 0.55 * by_chance, abs=0.03)


def test_the_simulated_checks_err_as_they_should():
    model = study.SimulatedModel(NOISE)
    correct, same = [], []
    for request in requests(1500):
        piece = int(study.uniform(request.target.text, 'which') * 8)
        said = [ask_one(model, Check(request.image, request.target, study.PIECES.box(piece),
                                     attempt=attempt)).text for attempt in (0, 1)]
        correct.append((said[0] == 'Yes') == (piece == study.truth_of(request.target.text)))
        same.append(said[0] == said[1])
    assert np.mean(correct) == pytest.approx(0.9, abs=0.03)
    assert np.mean(same) == pytest.approx(0.8 + 0.2 * (0.9 ** 2 + 0.1 ** 2), abs=0.03)


@pytest.mark.parametrize(('repeat', 'checker', 'gain'), [
    (0.45, 0.9, 0.25), *(pytest.param(*row, marks=pytest.mark.slow) for row in (
        (0.45, 0.8, 0.22), (0.8, 0.9, 0.18), (0.8, 0.8, 0.1)))])
@pytest.mark.parametrize('knowledge', ['known', 'session'])
def test_votes_and_checks_are_worth_it(repeat, checker, gain, knowledge):
    noise = study.Noise('molmo-7b', 0.533, repeat, checker)
    row = study.measure(noise, knowledge, 'votes and checks', 300)
    assert row.gain > gain
    assert row.ece < 0.09
    assert row.points + row.checks <= 9


@pytest.mark.slow
def test_learning_makes_up_for_what_is_not_known():
    noise = study.Noise('molmo-7b', 0.533, 0.45, 0.8)
    rows = {knowledge: study.measure(noise, knowledge, 'votes and checks', 150)
            for knowledge in ('fitted', 'told', 'none')}
    assert rows['none'].success < rows['told'].success
    assert rows['none'].success < rows['fitted'].success


def test_the_study_writes_what_it_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(study, 'MODELS', {'molmo-7b': 0.533})
    monkeypatch.setattr(study, 'REPEATS', (0.8,))
    monkeypatch.setattr(study, 'KNOWLEDGE', ('known',))
    assert study.main(['--n', '5', '--out', str(tmp_path / 'new')]) == 0
    rows = study.read_rows(tmp_path / 'new' / 'votes.json')
    assert [(row.way, row.checker) for row in rows] == [
        ('one point', None), ('votes', None), ('votes and checks', 0.9),
        ('votes and checks', 0.8)]
    text = (tmp_path / 'new' / 'votes.md').read_text()
    assert text.strip() == capsys.readouterr().out.strip()
    assert len(text.splitlines()) == 2 + 2 + 4
    assert json.loads((tmp_path / 'new' / 'votes.json').read_text())[0]['n'] == 5


def test_the_scene_has_eight_pieces_with_room_between_them():
    assert isinstance(study.PIECES, Pieces)
    assert study.PIECES.count == 8
    assert len(study.BACKGROUND) > 200
