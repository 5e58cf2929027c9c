"""The study of what is not there, on fewer targets."""

from __future__ import annotations

import dataclasses
import json

import pytest

import existence_study as study
from sightplan.model.query import ask_one
from sightplan_belief.pointing import ABSENT


@pytest.mark.parametrize('prior', [0.5, 0.9])
def test_a_part_of_the_targets_is_nowhere(prior):
    truth = study.Truth(prior)
    pieces = [truth.piece(str(number)) for number in range(1000)]
    assert sum(piece != ABSENT for piece in pieces) / 1000 == pytest.approx(prior, abs=0.05)
    for number in range(20):
        found = truth.masks(str(number))
        assert found.target.any() == (pieces[number] != ABSENT)
        assert len(found.others) == (7 if found.target.any() else 8)


def test_the_model_points_at_what_is_not_there_as_often_as_told():
    truth = study.Truth(0.5)
    model = study.noisy(0.5, 0.4, truth)
    absent = [number for number in range(1200) if truth.piece(str(number)) == ABSENT]
    alarms = [bool(ask_one(model, study.query(number)).regions) for number in absent]
    assert sum(alarms) / len(absent) == pytest.approx(0.4, abs=0.06)


def test_existence_is_told_by_a_model_whose_rates_are_known():
    row = study.measure('molmo-7b', 0.4, 0.5, 'known', 40)
    assert row.existence > 0.85 and row.hits > 0.7 and row.askings <= 9
    assert f'| known | 0.5 | molmo-7b | 0.4 | {row.existence:.3f} ' in study.table([row])


def asked(kind, whereabouts, chance, right, sure=False):
    return study.Asked(kind, 'a', 'b', whereabouts, chance,
                       chance if whereabouts == 'here' else None, right, sure,
                       chance if whereabouts == 'here' else 1 - chance)


def test_kinds_of_targets_are_counted_apart():
    rows = {row.kind: row for row in study.kind_rows([
        asked('there', 'here', 0.9, True, True), asked('there', 'here', 0.9, False),
        asked('kind', 'not here', 0.9, True), asked('colour', 'here', 0.9, False, True),
        asked('relation', 'here', 0.9, False, True)])}
    assert (rows['there'].n, rows['there'].right, rows['there'].sure) == (2, 0.5, 0.5)
    assert (rows['absent'].n, rows['absent'].here, rows['absent'].sure) == (2, 0.5, 0.5)
    assert rows['kind'].sure == 0 < rows['kind'].high
    assert (rows['look-alikes'].n, rows['look-alikes'].auroc) == (1, 0.5)
    assert rows['kind'].auroc == 1 and rows['there'].auroc is None


def test_each_number_of_askings_has_a_file_of_its_own(monkeypatch, tmp_path):
    both = [dataclasses.replace(asked(kind, 'here', 0.9, True), model='m', foreign=True)
            for kind in ('there', 'kind', 'colour')]
    monkeypatch.setattr(study, 'ask_tables', lambda scenes, askings: (
        (prior, one) for prior in study.PRIORS for one in both))
    for askings, name in (('1', 'existence_embedded.json'), ('9', 'existence_embedded_9.json')):
        assert study.main(['embedded', '--n', '1', '--askings', askings,
                           '--out', str(tmp_path)]) == 0
        found = json.loads((tmp_path / name).read_text())
        assert (found['model'], found['askings'], found['refused']) == ('m', int(askings), ['a'])


def test_calibration_is_weighted_to_the_prior():
    found = [study.Asked('there', 'a', 'b', 'here', 0.8, 0.8, True, False, 0.8),
             *[study.Asked('kind', 'a', 'b', 'here', 0.8, 0.8, False, False, 0.8)] * 4]
    for prior, error in ((0.8, 0.0), (0.5, 0.3)):
        assert study.calibration_of(found, prior) == pytest.approx((error, error), abs=0.02)
