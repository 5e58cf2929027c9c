"""iVISPAR: measures of an episode by hand, and the published numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sightplan.model.reading import read_file
from sightplan.runs.published import PublishedFile
from sightplan_suites.ivispar import measures

OPTIMAL = [3, 2, 1, 0]
DETOUR = [3, 4, 3, 2, 1, 0]
"""One step away from the goal, then straight to it."""


@pytest.mark.parametrize(('distances', 'deviation', 'minimum', 'progress', 'solved', 'optimal'), [
    (OPTIMAL, 0, 0, 100.0, True, True),
    (DETOUR, 2, 0, 100.0, True, False),
    # illegal moves only
    ([3] * 21, 3, 3, 0.0, False, False),
    ([4, 5, 6, 7, 8] + [8] * 16, 8, 4, -100.0, False, False),
    ([2, 1, 2] + [1, 2] * 9, 2, 1, 0.0, False, False),
    # given up
    ([4, 3, 2], 2, 2, 50.0, False, False),
    # solved at the start
    ([0], 0, 0, 100.0, True, True),
    # what follows the goal does not count
    ([3, 2, 1, 0, 1, 2], 0, 0, 100.0, True, True),
    # solved by the last action
    ([1] * 20 + [0], 1, 0, 100.0, True, False),
    # and one too late
    ([1] * 21 + [0], 1, 1, 0.0, False, False),
    # c1 above the number of actions
    ([25] * 30, 25, 25, 0.0, False, False),
    ([None, 2, 1], None, 1, None, False, None),
    ([None, None, 1, 0], None, 0, 100.0, True, None),
])
def test_measures_by_hand(distances, deviation, minimum, progress, solved, optimal):
    assert measures.deviation(distances) == deviation
    assert measures.minimum(distances) == minimum
    assert measures.progress(distances) == progress
    assert (measures.until_solved(distances)[-1] == 0) is solved
    assert measures.completed_optimally(distances) is optimal


def test_regret_is_0_on_a_shortest_way_and_2_after_a_step_away():
    assert measures.regrets(OPTIMAL) == (0, 0, 0, 0)
    assert measures.regrets(DETOUR) == (0, 2, 2, 2, 2, 2)
    assert measures.regrets([3, 3, 3, 2]) == (0, 1, 2, 2)
    assert measures.regrets(DETOUR)[3] == measures.deviation(DETOUR)


def test_curves_are_padded_to_20_actions():
    found = measures.curves(DETOUR)
    assert found.distance == (3, 4, 3, 2, 1, 0, *[0] * 15)
    assert found.regret == (0, 2, 2, 2, 2, 2, *[2] * 15)
    assert found.progress[:3] == (0.0, pytest.approx(-100 / 3), 0.0)
    assert found.progress[5:] == (100.0,) * 16
    given_up = measures.curves([2, 1])
    assert given_up.distance[1:] == (1,) * 20 and given_up.progress[1:] == (50.0,) * 20
    assert {len(found.distance), len(given_up.regret)} == {21}


@pytest.mark.parametrize('wrong', [[], [2, -1]])
def test_what_is_no_episode_is_refused(wrong):
    with pytest.raises(ValueError, match='distances are numbers from 0'):
        measures.curves(wrong)


# -------------------------------------------------------------------------------------- published

MODELS = ('Sonnet-3.5', 'Gemini-2.0-flash', 'GPT-4o', 'InternVL2.5-78B', 'LLaVA-OneVision-72B',
          'Qwen2-72B')


@pytest.fixture(scope='module')
def published():
    table = read_file(PublishedFile, Path(measures.__file__).parent / 'published.json')
    keys = [(row.model, row.measure, row.where['modality']) for row in table.rows]
    assert len(set(keys)) == len(keys)
    return table, dict(zip(keys, table.rows, strict=True))


def test_tables_2_to_5_are_whole(published):
    table, rows = published
    counts = {f'table {number}': sum(row.source == f'table {number}' for row in table.rows)
              for number in (2, 3, 4, 5)}
    # 7 models x (4 + 4 + 3); 7 x 5 x 4; (3 + 1) x 7 x 3, twice
    assert counts == {'table 2': 77, 'table 3': 140, 'table 4': 84, 'table 5': 84}
    assert [row.model for row in table.rows if row.source not in counts] == ['Random']
    sums = Counter()
    for row in table.rows:
        sums[row.source, row.where['modality']] += row.value
    # Of each column as printed, per cent as fractions.
    columns = [(f'table {number}', modality) for number in (2, 3, 4, 5)
               for modality in ('all', '3d', '2d', 'text') if number < 4 or modality != 'text']
    assert [round(sums[column], 4) for column in columns] == [
        41.6979, 42.5252, 39.9102, 39.0882, 121.8, 129.91, 111.42, 123.93,
        30.64, 33.67, 27.58, 34.54, 37.63, 31.45]
    for key, value in {('Sonnet-3.5', 'completed', '2d'): 0.8967,
                       ('Qwen2-72B', 'deviation', 'text'): 5.90,
                       ('GPT-4o', 'OD', 'text'): 7.71,
                       ('LLaVA-OneVision-72B', 'coordinate', '3d'): 3.95}.items():
        assert rows[key].value == value


def test_inferred_fractions_follow_from_the_correct_pieces(published):
    _, rows = published
    for model in MODELS:
        for modality in ('3d', '2d'):
            correct = rows[model, 'correct', modality].value
            assert rows[model, 'inference', modality].value == pytest.approx(
                correct / 6.5, abs=8e-4), (model, modality)


def test_averages_of_tables_4_and_5_and_of_the_inference_follow(published):
    _, rows = published
    for group, models in (('closed', MODELS[:3]), ('open', MODELS[3:])):
        for measure in ('correct', 'missed', 'hallucinated', 'coordinate', 'colour', 'shape',
                        'format'):
            for modality in ('3d', '2d'):
                mean = sum(rows[model, measure, modality].value for model in models) / 3
                printed = rows[f'Average of {group}-source models', measure, modality].value
                assert mean == pytest.approx(printed, abs=0.0101), (group, measure, modality)
    for modality in ('all', '3d', '2d'):
        mean = sum(rows[model, 'inference', modality].value for model in MODELS) / 6
        assert mean == pytest.approx(rows['Average', 'inference', modality].value, abs=1.5e-4)


def test_actions_of_an_episode_are_at_most_its_steps(published):
    _, rows = published
    for model in MODELS:
        for modality in ('3d', '2d', 'text'):
            total = sum(rows[model, kind, modality].value for kind in (
                'EM', 'IM', 'OD', 'OB', 'IC'))
            assert 5 < total <= measures.STEPS + 0.05, (model, modality)


def test_format_errors_are_those_that_the_appendix_counts(published):
    """Of 300 boards each; an answer without mark costs one for each of its 6.5 pieces."""
    _, rows = published

    def printed(model):
        return 300 * sum(rows[model, 'format', modality].value for modality in ('3d', '2d'))
    for model, count in {'Sonnet-3.5': 0, 'Gemini-2.0-flash': 24 + 2 + 2 + 1,
                         'LLaVA-OneVision-72B': 105 + 86 + 9 + 21 + 1,
                         'Qwen2-72B': 130 + 1 + 1 + 1}.items():
        assert printed(model) == pytest.approx(count, abs=3), model
    unmarked, others = 145, 21 + 1 + 1 + 47
    assert (printed('InternVL2.5-78B') - others) / unmarked == pytest.approx(6.5, abs=0.5)


def test_models_are_found_under_the_names_of_their_checkpoints(published):
    table, _ = published
    names = {row.model.lower() for row in table.rows}
    assert set(table.aliases.values()) <= names and names.isdisjoint(table.aliases)
    assert all(name == name.lower() for name in table.aliases)
