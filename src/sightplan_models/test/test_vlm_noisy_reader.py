"""The backend noisy_reader: boards read with published errors."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sightplan.domains.sliding.boards import Board, cell_names, next_atoms
from sightplan.model import GOAL_NS, Atom, InputError, Observation, Question, State
from sightplan.model.query import ask_all
from sightplan.queries import yes_no_queries
from sightplan_models.noisy_reader import UNREADABLE, Backend, Settings, content, rates_of

PIECES = ('red_cube', 'blue_sphere', 'green_pyramid', 'yellow_cylinder', 'red_sphere',
          'blue_cube')
KINDS = tuple(piece.rpartition('_')[2] for piece in PIECES)
BOARD = Board(4, PIECES, KINDS)
CELLS = (0, 3, 6, 9, 12, 15)
QUESTIONS = tuple(Question(Atom('at', (piece, cell)), '') for piece in PIECES
                  for cell in cell_names(4))


class Truth:
    """A board that stands still, and another one that is the goal."""

    def __init__(self, placement: tuple[int, ...] = CELLS) -> None:
        self.placement = placement

    def state(self, stamp_ns: int | None = None) -> State:
        placement = CELLS[::-1] if stamp_ns == GOAL_NS else self.placement
        return BOARD.facts(placement) | next_atoms(4)

    def last_outcome(self) -> str:
        return ''


def backend(truth: Truth | None = None, **settings: Any) -> Backend:
    return Backend(Settings(**settings), truth or Truth())


def read(model: Backend, image: int, stamp_ns: int = 1) -> set[tuple[str, str]] | None:
    """What is said to be where, on one picture."""
    observation = Observation.elsewhere(f'{image:016x}', stamp_ns)
    replies = ask_all(model, yes_no_queries(observation, QUESTIONS))
    if replies[0].text == UNREADABLE:
        return None
    return {question.atom.args for question, reply in zip(QUESTIONS, replies, strict=True)
            if reply.text == 'Yes'}


def test_perfect_eyes_read_the_board_and_the_goal() -> None:
    model = backend(table='perfect')
    names = cell_names(4)
    assert read(model, 1) == {(p, names[c]) for p, c in zip(PIECES, CELLS, strict=True)}
    assert read(model, 2, GOAL_NS) == {(p, names[c]) for p, c in zip(PIECES, CELLS[::-1],
                                                                    strict=True)}


def test_the_view_is_the_one_that_is_shown_unless_it_is_set(
        caplog: pytest.LogCaptureFixture) -> None:
    truth = Truth()
    truth.view = '2d'  # type: ignore[attr-defined]
    shown, flat, solid = (backend(truth, repeat=0.0, **settings) for settings in (
        {}, {'view': '2d'}, {'view': '3d'}))
    assert shown.name == flat.name != solid.name
    readings = [[read(model, image) for image in range(40)] for model in (shown, flat, solid)]
    assert readings[0] == readings[1] != readings[2] and not caplog.text
    unknown = backend(repeat=0.0)
    assert [read(unknown, image) for image in range(40)] == readings[2]
    assert caplog.text.count('the view that is shown is not known') == 1
    truth.view = '2d'  # type: ignore[attr-defined]
    unknown._truth = truth
    assert read(unknown, 50) == read(flat, 50), 'views of samples may change'
    assert content(Settings()) not in {content(Settings(view=view)) for view in ('2d', '3d')}


@pytest.mark.parametrize('table', ['sonnet-3.5', 'gpt-4o', 'internvl2.5-78b'])
def test_pieces_are_read_as_often_as_the_paper_counted(table: str) -> None:
    """Rightly read, and whole replies that cannot be; a right one is never made by chance."""
    model, rates, n = backend(table=table, repeat=0.0), rates_of(table, '3d'), 1500
    names = cell_names(4)
    readings = [read(model, number) for number in range(n)]
    unread = sum(reading is None for reading in readings) / n
    assert unread == pytest.approx(rates.unread, abs=4 * math.sqrt(0.25 / n))
    read_ones = [reading for reading in readings if reading is not None]
    right = sum((piece, names[cell]) in reading for reading in read_ones
                for piece, cell in zip(PIECES, CELLS, strict=True)) / len(read_ones) / len(PIECES)
    # Another piece may be taken for it on its very cell only if two stand there: never.
    assert right == pytest.approx(rates.correct, abs=0.03)


def test_the_same_picture_is_read_the_same_whatever_the_order() -> None:
    model, again = backend(table='gpt-4o', seed=3), backend(table='gpt-4o', seed=3)
    first = read(model, 5)
    assert read(model, 5) == first == read(again, 5)
    observation = Observation.elsewhere(f'{5:016x}', 1)
    replies = ask_all(model, yes_no_queries(observation, QUESTIONS[::-1]))
    assert {question.atom.args for question, reply in zip(QUESTIONS[::-1], replies, strict=True)
            if reply.text == 'Yes'} == first


def test_a_piece_that_stands_still_is_read_as_before_as_often_as_is_said() -> None:
    always = backend(table='sonnet-3.5', repeat=1.0)
    assert read(always, 1) == read(always, 2) == read(always, 3)
    truth = Truth()
    moved = backend(truth, table='sonnet-3.5', repeat=1.0)
    before = read(moved, 1) or set()
    truth.placement = (1, *CELLS[1:])
    after = read(moved, 2) or set()
    assert {item for item in before if item[0] in PIECES[1:]} & after, 'the others stood still'
    moved.start_episode('another')
    assert any((read(moved, number) or set()) != after for number in range(3, 9)), 'it forgets'


def test_other_questions_and_tables_are_named() -> None:
    model = backend(table='perfect')
    reply, = ask_all(model, yes_no_queries(Observation.elsewhere('1', 1), (
        Question(Atom('on', ('a', 'b')), ''),)))
    assert 'noisy_oracle' in reply.text
    with pytest.raises(InputError, match=r'table = .nobody. is unknown \(known: sonnet-3.5'):
        backend(table='nobody')
