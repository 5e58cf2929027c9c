"""What a model that plans is shown: past states in a window, the goal, and what is now."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.domains import load_domain
from sightplan.domains.sliding import marks
from sightplan.model import (
    GOAL_NS,
    InputError,
    Observation,
    PastStep,
    VisualTask,
)
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.planning.visual import BackendVisualPlanner
from sightplan.queries import Generate, TextReply

SLIDING = load_domain('sliding')
PROBLEM = SLIDING.split_problems('geoms')[0]
WINDOW = SLIDING.prompts.window('action')


class Listening(ModelByKind):
    """A backend that notes what it is shown."""

    name = 'listening'

    def __init__(self) -> None:
        self.requests: list[Generate] = []

    @answers(Generate)
    def generate(self, request: Generate, deadline: Deadline) -> TextReply:
        self.requests.append(request)
        return TextReply('action: move red cube left')


def picture(number: int, stamp_ns: int = 1) -> Observation:
    """A board of one colour, whose lower left pixel has a number."""
    image = np.full((60, 80, 3), marks.TINTS[marks.ACTIVE], np.uint8)
    image[-1, 0] = number
    return Observation(image, stamp_ns)


def words(number: int, stamp_ns: int = 1) -> Observation:
    return Observation(text=f'state {number}', stamp_ns=stamp_ns)


def history(count: int) -> tuple[PastStep, ...]:
    return tuple(PastStep(f'push {number}', f'outcome {number}') for number in range(count))


def shown(now: Observation, past: tuple[Observation, ...] = (), goal: Observation | None = None,
          steps: int | None = None) -> list[Any]:
    """The parts of one request."""
    backend = Listening()
    BackendVisualPlanner(backend, SLIDING).propose(now, VisualTask(
        PROBLEM.for_agent(goal is not None), 'action',
        history(len(past) if steps is None else steps), past=past, goal=goal))
    request, = backend.requests
    return list(request.parts)


def scenes(parts: list[Any]) -> list[tuple[int, tuple[int, ...]]]:
    """Number and background of each picture."""
    return [(int(part[-1, 0, 0]), tuple(part[-1, -1].tolist())) for part in parts
            if not isinstance(part, str)]


def test_pictures_come_as_past_goal_and_now_and_are_marked_so() -> None:
    parts = shown(picture(9), (picture(1), picture(2)), picture(5, GOAL_NS))
    assert scenes(parts) == [(1, marks.TINTS['past']), (2, marks.TINTS['past']),
                             (5, marks.TINTS['goal']), (9, marks.TINTS['active'])]
    assert all(isinstance(part, str) and part for part in parts[::2]), 'each is announced'


@settings(max_examples=25, deadline=None)
@given(st.lists(st.booleans(), max_size=WINDOW), st.booleans(), st.booleans(),
       st.integers(0, 5))
def test_any_mixture_of_pictures_and_words_keeps_its_order(
        past: list[bool], now: bool, goal: bool, more: int) -> None:
    """True: a picture. There may be more steps than are shown."""
    seen = [(picture if one else words)(number) for number, one in enumerate(past, 1)]
    parts = shown((picture if now else words)(8), tuple(seen),
                  (picture if goal else words)(7, GOAL_NS), len(past) + more)
    found = [int(part[-1, 0, 0]) if not isinstance(part, str) else int(part[6:])
             for part in parts if not isinstance(part, str) or part.startswith('state ')]
    assert found == [*range(1, len(past) + 1), 7, 8]


def test_each_past_state_is_told_with_what_was_done_there() -> None:
    parts = shown(picture(9), (picture(1), picture(2)), None, steps=5)
    first = next(number for number, part in enumerate(parts) if not isinstance(part, str))
    assert 'push 3' in parts[first - 1]
    assert 'outcome 3' in parts[first - 1]
    assert 'push 4' in parts[first + 1]
    assert 'push 2' not in parts[first - 1], 'what came before has no picture'
    assert len(scenes(parts)) == 3


def test_a_goal_that_is_told_is_not_shown() -> None:
    told, pictured = shown(picture(9)), shown(picture(9), (), picture(5, GOAL_NS))
    assert len(scenes(told)) == 1
    assert len(scenes(pictured)) == 2
    cell = PROBLEM.goal[0].atom.args[1].upper()
    text = ' '.join(part for part in told if isinstance(part, str))
    assert cell in text


def test_more_past_states_than_steps_are_refused() -> None:
    with pytest.raises(ValueError, match='zip'):
        shown(picture(9), (picture(1), picture(2)), None, steps=1)


@pytest.mark.parametrize('place', ['now', 'past', 'goal'])
def test_what_shows_nothing_is_refused(place: str) -> None:
    nothing = Observation(stamp_ns=1)
    with pytest.raises(InputError, match='neither image nor text'):
        shown(nothing if place == 'now' else picture(9),
              (nothing,) if place == 'past' else (), nothing if place == 'goal' else None)
