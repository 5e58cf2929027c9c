"""Which paths are paired, which of two is better, and what the tasks prefer."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import InputError
from sightplan_suites.paths import (
    NAMES,
    Descriptors,
    Label,
    Skipped,
    Thresholds,
    Unlabelled,
    label_pair,
    load_scenarios,
    needed,
    scaled,
    select_pairs,
)
from sightplan_suites.paths.scenarios import ABSTRACT, SPELLED

BASE = Descriptors(minimum_clearance=1.0, maximum_clearance=5.0, average_clearance=3.0,
                   path_length=150.0, smoothness=500.0, sharp_turns=2, maximum_angle=100.0)
SHORT = {'min': 'minimum_clearance', 'max': 'maximum_clearance', 'avg': 'average_clearance',
         'len': 'path_length', 'smooth': 'smoothness', 'sharp': 'sharp_turns',
         'angle': 'maximum_angle'}
NO, CONFLICT = Unlabelled.NOT_SIGNIFICANT, Unlabelled.CONFLICT

# What path 1 has more of than path 2; number of the task; the answer (strict, if it differs).
CASES = [
    # Only turning matters: 1, 7, 10.
    ({'sharp': -1}, 1, 1, NO),
    ({'sharp': 1}, 1, 2, NO),
    ({'sharp': -2}, 7, 1),
    ({'angle': -30}, 10, 1, NO),
    ({'angle': 31}, 10, 2),
    ({'angle': 29.75}, 10, NO),
    ({'smooth': 90}, 1, 2, NO),
    ({'smooth': -200, 'angle': -29}, 1, 1),
    ({'smooth': -200, 'sharp': 2}, 1, CONFLICT),
    ({'smooth': -200, 'sharp': 1}, 1, CONFLICT, 1),
    ({'min': 3, 'avg': 3, 'max': 3, 'len': 300}, 1, NO),
    # More room, longer: 2. Hidden, shorter: 3. Beside the beds, longer: 14.
    ({'len': 50}, 2, 1, NO),
    ({'len': -60}, 2, 2),
    ({'len': 49.5, 'min': 0.75}, 2, NO),
    ({'len': 60, 'min': -1}, 2, CONFLICT),
    ({'len': 60, 'max': -9, 'sharp': 9}, 2, 1),
    ({'avg': -1, 'max': -1, 'len': -60}, 3, 1),
    ({'avg': -1, 'max': 1}, 3, CONFLICT),
    ({'avg': 1, 'min': -3}, 3, 2),
    ({'len': 60, 'avg': 0.5}, 14, 1),
    ({'len': 60, 'avg': 1}, 14, CONFLICT),
    # Everything but the greatest clearance: 4.
    ({'min': 1, 'avg': 1, 'len': -60, 'sharp': -2, 'angle': -40, 'smooth': -100}, 4, 1),
    ({'min': 1, 'avg': 1, 'len': -60, 'sharp': -2, 'angle': 40, 'smooth': -100}, 4, CONFLICT),
    ({'max': 9}, 4, NO),
    # 5, 6, 8, 12, 15.
    ({'min': 1, 'len': 60}, 5, CONFLICT),
    ({'min': -1, 'avg': 9}, 5, 2),
    ({'angle': -90}, 6, NO),
    ({'min': 1, 'avg': 2, 'len': 200}, 8, 1),
    ({'len': 60, 'angle': -90}, 12, 2),
    ({'len': 60, 'avg': -1, 'max': -1, 'sharp': -3}, 15, 1),
    ({}, 4, NO),
]


def more(changes):
    return Descriptors(**{name: getattr(BASE, name) + next(
        (value for short, value in changes.items() if SHORT[short] == name), 0)
        for name in NAMES})


@pytest.mark.parametrize('case', CASES, ids=str)
@pytest.mark.parametrize('strict', [False, True])
def test_labels_by_hand(case, strict):
    changes, number, answer = case[0], case[1], case[-1] if strict else case[2]
    vector = next(item.vector for item in load_scenarios() if item.id == number)
    first, second = more(changes), BASE
    found = label_pair(first, second, vector, strict=strict)
    expected = (None, answer) if isinstance(answer, Unlabelled) else (answer, None)
    assert (found.choice, found.reason) == expected
    # The other way around it is the other path.
    mirrored = label_pair(second, first, vector, strict=strict)
    assert (mirrored.choice, mirrored.reason) == (
        (3 - answer, None) if isinstance(answer, int) else (None, answer))


def test_a_label_tells_the_votes():
    found = label_pair(more({'len': 60, 'min': -1, 'sharp': 9}), BASE, (1, 1, 0, 1, 0, 0, 0))
    assert found == Label(None, CONFLICT, (('minimum_clearance', 2), ('path_length', 1)))


def test_equal_paths_never_vote():
    none = Thresholds(**dict.fromkeys(NAMES, 0.0))
    assert label_pair(BASE, BASE, (1, 1, 1, 1, 1, 1, 1), thresholds=none).reason is NO
    assert label_pair(more({'max': 0.01}), BASE, (0, 0, 1, 0, 0, 0, 0),
                      thresholds=none).choice == 1


@pytest.mark.parametrize('vector', [(0,) * 7, (1,) * 6, (2, 0, 0, 0, 0, 0, 0)])
def test_a_vector_is_checked(vector):
    with pytest.raises(InputError, match='vector'):
        label_pair(BASE, BASE, vector)


PAPER = [
    (0, 0, 0, 0, -1, -1, -1), (1, 1, 0, 1, 0, 0, 0), (-1, 0, -1, -1, 0, 0, 0),
    (1, 1, 0, -1, -1, -1, -1), (0, 1, 0, -1, 0, 0, 0), (0, 1, 0, 0, -1, 0, -1),
    (0, 0, 0, 0, -1, -1, -1), (1, 1, 0, 0, 0, 0, 0), (0, 1, 0, 0, -1, -1, -1),
    (0, 0, 0, 0, -1, -1, -1), (1, 1, 0, 0, -1, -1, -1), (0, 0, 0, -1, -1, 0, -1),
    (1, 1, 0, 0, -1, -1, -1), (-1, 0, -1, 1, 0, 0, 0), (-1, 0, -1, 1, -1, -1, -1)]


def test_the_scenarios_are_those_of_the_paper():
    scenarios = load_scenarios()
    assert [item.id for item in scenarios] == list(range(1, 16))
    assert [item.vector for item in scenarios] == PAPER
    texts = [text for item in scenarios for text in (item.text, *item.paraphrases)]
    assert len(texts) == len(set(texts)) == 60
    assert all(20 <= len(text.split()) <= 75 for text in texts[::4])
    assert all(item.wordings(SPELLED) == (item.text, *item.paraphrases) for item in scenarios)
    assert scenarios[4].needed == needed((0, 1, 0, -1, 0, 0, 0)) == (
        'minimum_clearance', 'path_length')


DESCRIPTORS = re.compile(
    r'\b(clear|clearance|distance|distant|remote|near|nearer|nearest|close|closer|closest|closely'
    r'|far|farther|farthest|away|gap|room|roomy|roomier|space|spacious|wide|width|narrow|tight'
    r'|tightest|berth|hug|cling|wall|obstacle|border|short|shorter|shortest|long|longer|longest'
    r'|length|brief|quick|direct|detour|extra|metres travelled|cover|coverage|area|turn'
    r'|sharp|sharply|abrupt|bend|corner|curve|angle|steep|steeply|smooth|smoothly|straight|gentle|gently|steer'
    r'|steering|swerve|zigzag|winding|direction|path|route|way|course|flow|avoid|descriptor'
    r'|least|greatest|average|total|maximum|minimum|sum)(s|es|ed|ing)?\b', re.IGNORECASE)
"""Words that name a descriptor, or say in other words what is wanted of one."""


def test_abstract_sentences_name_no_descriptor():
    scenarios = load_scenarios()
    texts = [text for item in scenarios for text in item.wordings(ABSTRACT)]
    assert len(texts) == len(set(texts)) and all(len(item.abstract) >= 3 for item in scenarios)
    assert all(8 <= len(text.split()) <= 32 for text in texts)
    assert {text: found[0] for text in texts if (found := DESCRIPTORS.search(text))} == {}
    assert all(DESCRIPTORS.search(text) for item in scenarios for text in item.wordings(SPELLED))


@pytest.mark.parametrize(('entry', 'message'), [
    ('{id: 1, theme: a, prefers: {speed: 1}, text: b}', "unknown descriptor 'speed'"),
    ('{id: 1, theme: a, prefers: {path_length: 2}, text: b}', 'scenario 1: prefers'),
    ('{id: 1, theme: a, prefers: {}, text: b}', 'no descriptor matters'),
    ('{id: 1, theme: a, prefers: {path_length: 1}, text: " "}', 'abstract wording is empty'),
    ('{id: 1, theme: a, prefers: {path_length: 1}}', 'text'),
    ('\n- '.join(['{id: 1, theme: a, prefers: {path_length: 1}, text: b}'] * 2),
     'scenario 1 is there twice'),
])
def test_wrong_scenarios_are_refused(tmp_path, entry, message):
    file = tmp_path / 'own.yaml'
    file.write_text(f'- {entry}\n')
    with pytest.raises(InputError, match=message) as caught:
        load_scenarios(file)
    assert str(caught.value).startswith(str(file))


def path(*values):
    return Descriptors(*(values + (0.0,) * (5 - len(values))), sharp_turns=0, maximum_angle=0.0)


def test_descriptors_are_scaled_over_the_paths_of_a_map():
    assert scaled([path(1, 7), path(3, 7), path(2, 7)])[:, :2].tolist() == [
        [0, 0], [1, 0], [0.5, 0]]


def test_pairs_are_the_farthest_whose_paths_are_unused():
    # On a line: 0 and 10 first; 1 and 6 next, since both of 9 and 1 to 10 are used.
    chosen = select_pairs([path(value) for value in (1, 10, 0, 6)])
    assert [(pair.first, pair.second) for pair in chosen.pairs] == [(1, 2), (0, 3)]
    assert [pair.distance for pair in chosen.pairs] == pytest.approx([1.0, 0.5])
    assert select_pairs([path(value) for value in range(9)], 3).pairs[0] == (
        select_pairs([path(value) for value in range(9)]).pairs[0])


def test_of_equally_far_pairs_the_earlier_paths_come_first():
    chosen = select_pairs([path(0), path(1), path(0), path(1)])
    assert [(pair.first, pair.second) for pair in chosen.pairs] == [(0, 1), (2, 3)]


def test_too_few_paths_are_skipped_with_a_reason():
    for paths in ([], [BASE]):
        chosen = select_pairs(paths)
        assert chosen.pairs == () and chosen.reason is Skipped.TOO_FEW_PATHS
    assert select_pairs([BASE, BASE]).pairs[0].distance == 0
    with pytest.raises(InputError, match='count = 0'):
        select_pairs([BASE, BASE], 0)


@given(st.lists(st.lists(st.integers(0, 5), min_size=5, max_size=5), min_size=2, max_size=9),
       st.integers(1, 6))
def test_no_path_is_in_two_pairs_and_none_farther_was_left_out(values, count):
    chosen = select_pairs([path(*map(float, item)) for item in values], count).pairs
    members = [number for pair in chosen for number in (pair.first, pair.second)]
    assert len(members) == len(set(members)) and len(chosen) == min(count, len(values) // 2)
    distances = [pair.distance for pair in chosen]
    assert distances == sorted(distances, reverse=True)
    points = scaled([path(*map(float, item)) for item in values])
    used: set[int] = set()
    for pair in chosen:
        rest = [n for n in range(len(values)) if n not in used]
        assert pair.distance == pytest.approx(max(
            math.dist(points[a], points[b]) for a in rest for b in rest))
        used |= {pair.first, pair.second}
