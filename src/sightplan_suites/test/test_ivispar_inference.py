"""iVISPAR: what a model says stands where, compared with the board."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.domains.sliding.boards import SHAPES as EVERY_SHAPE
from sightplan.domains.sliding.boards import cell_names
from sightplan_suites.ivispar.inference import (
    COLOURS,
    FORMAT_ERRORS,
    SHAPES,
    Inference,
    Items,
    Placed,
    Vocabulary,
    compare,
    perfect_answer,
    pieces_on,
    read_answer,
    read_description,
)

BOARD = (Placed('a3', 'green', 'sphere'), Placed('d1', 'blue', 'cylinder'),
         Placed('b4', 'yellow', 'cube'))
KINDS = list(itertools.product(COLOURS, SHAPES))


def drawn(rng, count):
    """A random board of the paper's size."""
    kinds, cells = rng.sample(KINDS, count), rng.sample(cell_names(4), count)
    return tuple(Placed(cell, *kind) for cell, kind in zip(cells, kinds, strict=True))


@pytest.mark.parametrize(('item', 'kind'), [
    ('a4 empty', 'E1'), ('c3 blank', 'E1'), ('b1 no object', 'E1'), ('a1 none none', 'E1'),
    ('c1 none pyramid', 'E2'), ('b2 sphere', 'E2'), ('b2 red', 'E2'), ('b2', 'E2'),
    ('b2 black cone', 'E3'), ('b3 red block', 'E3'), ('b4 cylinder yellow', 'E4'),
    ('d4 blue and red cube', 'E5'), ('d1 multicoloured cube', 'E5'), ('a2 a3 green pyramid', 'E5'),
    ('f4 yellow pyramid', 'E6'), ('c5 green pyramid', 'E6'), ('c0 green pyramid', 'E6'),
    ('d2 blue cylinder summary a4 yellow cylinder b4 blue sphere', 'E7'),
    ('d3 green sphere https user images githubusercontent com', 'E7'),
    ('d3 green sphere here', 'E7'),
    ('obj in objectsitems if obj none output', 'E7'), ('we will create the solution', 'E7'),
    ('yellow objectshape must be exactly one of cube', 'E7'), ('green sphere', 'E7'),
])
def test_every_kind_of_format_error(item, kind):
    """The paper's examples (appendix A.6.1), and some of ours."""
    assert read_answer(f'Solution: a3 green sphere, {item}') == Items(BOARD[:1], {kind: 1})


def infer(answer, board, vocabulary=None):
    """What an answer is worth."""
    return compare(read_answer(answer, vocabulary), board)


@pytest.mark.parametrize('answer', [
    'Solution: a3 green sphere, d1 blue cylinder, b4 yellow cube',
    'The solution: none yet.\n**Solution:** A3 green sphere, D1 blue cylinder,\nB4 yellow cube.',
    'solution:\n- a3: green circle\n- d1: blue hexagon\n- b4: yellow square\n',
])
def test_a_perfect_answer(answer):
    assert infer(answer, BOARD) == Inference(correct=3)


@pytest.mark.parametrize(('items', 'expected'), [
    ('', {'missed': 3}),
    ('a3 green sphere', {'correct': 1, 'missed': 2}),
    # Two pieces swapped are two wrong cells, though colours and shapes would explain it as well.
    ('d1 green sphere, a3 blue cylinder, b4 yellow cube', {'correct': 1, 'coordinate': 2}),
    ('a3 green sphere, d1 blue cube, b4 yellow cylinder', {'correct': 1, 'shape': 2}),
    ('a3 green cube, d1 blue cylinder, b4 yellow cube', {'correct': 2, 'shape': 1}),
    ('a3 red sphere, d1 blue cylinder, c4 yellow cube', {'correct': 1, 'colour': 1,
                                                         'coordinate': 1}),
    ('a3 green sphere, d1 blue cylinder, b4 red pyramid', {'correct': 2, 'missed': 1,
                                                           'hallucinated': 1}),
    ('a3 green sphere, d1 blue cylinder, b4 yellow cube, c2 red pyramid',
     {'correct': 3, 'hallucinated': 1}),
    ('a3 green sphere, a3 green sphere', {'correct': 1, 'missed': 2, 'hallucinated': 1}),
    ('a3 green sphere, d1 cylinder, c1 empty, b4 yellow cube',
     {'correct': 2, 'missed': 1, 'format': {'E1': 1, 'E2': 1}}),
])
def test_matching_by_hand(items, expected):
    assert infer(f'Solution: {items}', BOARD) == Inference(**expected)


def test_pieces_of_one_colour_are_matched_so_that_least_is_wrong():
    board = (Placed('a1', 'red', 'cube'), Placed('b1', 'red', 'sphere'))
    assert infer('Solution: a1 red sphere, b1 red cube', board) == Inference(coordinate=2)
    # Cell by cell two shapes are wrong; piece by piece two cells and a shape would be.
    assert infer('Solution: a1 red pyramid, b1 red cube', board) == Inference(shape=2)
    assert infer('Solution: b1 red pyramid', board) == Inference(shape=1, missed=1)


def test_an_answer_without_mark_costs_a_format_error_for_each_piece():
    found = infer('a3 green sphere, d1 blue cylinder', BOARD)
    assert found == Inference(format={'E8': 3}) and found.format_errors == 3
    assert set(FORMAT_ERRORS) == {f'E{number}' for number in range(1, 9)}
    assert infer('', ()) == Inference()


def test_the_list_after_description_needs_no_mark():
    items = read_description('a3 green sphere, d1 blue cylinder, b4 yellow cube')
    assert compare(items, BOARD) == Inference(correct=3)
    assert read_description('') == Items((), {})


def test_perfect_answers_to_300_boards_average_6_5():
    rng = random.Random(0)
    boards = [drawn(rng, count) for count in range(2, 12) for _ in range(30)]
    found = [infer(perfect_answer(board), board) for board in boards]
    assert sum(one.correct for one in found) / len(found) == 6.5
    assert all(one == Inference(correct=one.correct) for one in found)


def test_other_boards_have_other_words():
    board = pieces_on(5, ('light_blue_prism', 'red_cone', 'tile_3'), (24, 0, 1))
    assert board == (Placed('a1', 'red', 'cone'), Placed('e5', 'light blue', 'prism'))
    words = Vocabulary(5, ('light blue', 'blue', 'red'), ('prism', 'cone'))
    assert infer('Solution: e5 Light Blue prism, a1 red cone', board, words) == Inference(
        correct=2)
    assert infer('Solution: e5 blue prism', board, words) == Inference(colour=1, missed=1)


@pytest.mark.parametrize(('said', 'piece'), [
    ('a1 red semicircle', 'red_cone'), ('a1 red Diamond', 'red_prism'),
    ('a1 red circle', 'red_sphere')])
def test_flat_shapes_are_solid_ones(said, piece):
    words = Vocabulary(4, COLOURS, EVERY_SHAPE)
    assert read_answer(f'Solution: {said}', words).placed == (
        Placed('a1', *piece.split('_')),)


ITEMS = st.builds(Placed, st.sampled_from(cell_names(4)), st.sampled_from(COLOURS),
                  st.sampled_from(SHAPES))


@given(st.lists(ITEMS, max_size=5), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_no_other_matching_is_better(said, rng):
    """Against all ways to pair at most four pieces with what was said."""
    board = drawn(rng, rng.randint(0, 4))
    found = compare(Items(tuple(said), {}), board)

    def worth(pairs):
        fields = [(a.cell != b.cell, a.colour != b.colour, a.shape != b.shape) for a, b in pairs]
        allowed = [sum(f) for f in fields if not (f[1] and f[2])]
        return -len(allowed), sum(allowed)
    padded = [*said, *[None] * len(board)]
    best = min(worth([(a, b) for a, b in zip(order, board, strict=True) if a is not None])
               for order in set(itertools.permutations(padded, len(board))))
    wrong = found.coordinate + found.colour + found.shape
    assert (found.missed - len(board), wrong) == best
    assert found.hallucinated == len(said) + best[0]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(
    ['solution:', 'a1', 'red', 'cube', ',', 'none', '\n', 'z9', 'and']), max_size=12).map(
        ' '.join)))
def test_whatever_is_said_pieces_and_items_are_counted_once(text):
    found, items = infer(text, BOARD), read_answer(text)
    if items.marked:
        assert found.hallucinated + len(BOARD) - found.missed == len(items.placed)
        assert found.format == items.errors
    else:
        assert found == Inference(format={'E8': 3})
