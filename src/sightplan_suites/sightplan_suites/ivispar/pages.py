"""Page for people about a board: its picture, and what stands where in truth and answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model.sample import Sample
from sightplan.runs.suite_parts import SamplePage, Scored, shown_pictures
from sightplan_suites.ivispar.drawing import draw_board
from sightplan_suites.ivispar.inference import FORMAT_ERRORS, Placed
from sightplan_suites.ivispar.reading import items_of

KEY = ('Right of the picture: what is true, and what was answered, seen from above. A green '
       'frame: both agree in cell, colour and shape; a red one: they do not.')
_GAP_PX = 10


def page(item: Sample, answer: Mapping[str, Any] | None, truth: Sequence[Sequence[str]],
         scored: Scored) -> SamplePage:
    """Contract in ``runs.suite.Suite``."""
    true, size = [Placed(*entry) for entry in truth], item.details['size']
    items = items_of(answer)
    both = {*true} & {*items.placed}
    boards = [draw_board(title, size, pieces, both) for title, pieces in (
        ('truth', true), ('answer' if answer is not None else 'no answer was read',
                          items.placed))]
    image = shown_pictures(item)
    picture = np.concatenate(boards, axis=1) if image is None else _beside(image, boards)
    asked = f'What stands where on this board of {size} x {size} cells?'
    return SamplePage(picture, asked, ', '.join(map(str, true)), _said(answer), KEY)


def _said(answer: Mapping[str, Any] | None) -> str:
    if answer is None:
        return ''
    items = items_of(answer)
    said = ', '.join(map(str, items.placed)) or 'no piece'
    twice = [str(piece) for piece, count in Counter(items.placed).items() if count > 1]
    errors = [f'{count} x {FORMAT_ERRORS[kind]}' for kind, count in items.errors.items()]
    return said + (f'; twice: {", ".join(twice)}' if twice else '') + (
        f'; not in the form: {", ".join(errors)}' if errors else '')


def _beside(image: NDArray[np.uint8], boards: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """A picture with the boards below each other at its right; the shorter side is filled up."""
    column = np.concatenate([
        boards[0], np.full((_GAP_PX, boards[0].shape[1], 3), 255, np.uint8), boards[1]])
    height = max(image.shape[0], column.shape[0])
    left, right = (np.pad(one, ((0, height - one.shape[0]), (0, 0), (0, 0)), constant_values=255)
                   for one in (image, column))
    return np.concatenate([left, np.full((height, _GAP_PX, 3), 255, np.uint8), right], axis=1)
