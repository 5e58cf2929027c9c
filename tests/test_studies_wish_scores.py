"""Scores of what a model understands of sentences about paths."""

import math

import pytest

from sightplan_suites.paths.scenarios import Scenario
from wish_scores import noisy_asker, score_wishes

SHORT = (0, 0, 0, -1, 0, 0, 0)
TASKS = (Scenario(1, 'quick', SHORT, 'Be quick.', ('Hurry.',)),
         Scenario(2, 'safe', (1, 1, 0, 0, 0, -1, -1), 'Be safe.', ()))


def test_scores_of_a_simulated_model():
    right = score_wishes(noisy_asker(0.0, 0.0), TASKS)
    assert (right.texts, right.vectors) == (3, 3) and set(right.signs.values()) == {3}
    wrong = score_wishes(noisy_asker(1.0, 1.0), TASKS)
    assert wrong.vectors == 0 and wrong.log_score < right.log_score
    assert wrong.turned['path_length'] == 2, 'yes to what is false: more for less'
    silent = score_wishes(noisy_asker(0.0, 0.0, unparsed=1.0), TASKS, paraphrases=False)
    assert silent.texts == 2 and silent.log_score == pytest.approx(
        (10 * math.log(0.5) + 4 * math.log(0.25)) / 14, abs=0.11)
