"""What the system did when its behaviour was frozen, it does today: see ``goldens/goldens.py``."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / 'goldens'))

import goldens


@pytest.mark.parametrize('part', [
    pytest.param(name, marks=[] if name in goldens.FAST else pytest.mark.slow)
    for name in goldens.PARTS])
def test_a_part_does_what_it_did(part, monkeypatch):
    if part in goldens.ONLY_THERE and not goldens.has_frozen_digits():
        pytest.skip('was frozen with AVX-512, whose last digits are others')
    monkeypatch.chdir(Path(__file__).parent.parent)
    assert goldens.check(part) == []


def test_every_suite_and_method_is_frozen():
    runs = [case for part in goldens.parts.RUNS.values() for case in part.values()]
    methods = {case.get('method', 'human') for case in runs}
    assert methods == goldens.adapter.known_methods()
    suites = {case.get('suite', 'viplan') for case in runs}
    assert suites == goldens.adapter.known_suites()


def test_a_change_is_seen_and_named():
    part = goldens.FAST[0]
    was = goldens.frozen(part)
    key = next(iter(was))
    now = {**was, key: {**was[key], 'stop': 'otherwise'}, 'more': {}}
    del now[list(was)[1]]
    lines = goldens.differences(was, now)
    assert len(lines) == 3
    assert f'{key}: stop: was {was[key]["stop"]}, is otherwise' in lines
    assert goldens.same([3, 'a', 1.0], [3, 'a', 1.0 + 1e-9])
    assert not goldens.same([3, 'a', 1.0], [3, 'a', 1.001])


def test_only_the_order_within_a_belief_hangs_on_the_processor():
    was = {'believed': {'beliefs': [1, 'a', 0.5], 'asked': [1, 'b'], 'stop': 'plan_done'},
           'plain': {'beliefs': [1, 'a'], 'asked': [1, 'b']}, 'none': {'asked': [1, 'b']}}
    kept = goldens.without_last_digits(was)
    assert kept == {**was, 'believed': {'stop': 'plan_done'}}
