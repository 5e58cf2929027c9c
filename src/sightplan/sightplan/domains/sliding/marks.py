"""Marks on pictures of boards, so that a model can tell past, present and goal apart.

iVISPAR colours the background of each picture and writes a word into its upper right corner. The
worlds here draw on a background of exactly one colour, the active one, which is replaced.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

PAST, ACTIVE, GOAL = 'past', 'active', 'goal'
TINTS: Final = {PAST: (141, 153, 174), ACTIVE: (82, 138, 174), GOAL: (100, 191, 106)}
"""RGB of the background by what a picture shows (iVISPAR, from its configuration)."""

_WHITE, _DARK = (255, 255, 255), (40, 40, 40)


def mark(image: NDArray[np.uint8], what: str, how: str = 'both') -> NDArray[np.uint8]:
    """Return a picture with the tint and word for past, active or goal.

    Args:
        image: (H, W, 3) uint8 RGB; its background is exactly the active tint.
        what: a key of ``TINTS``.
        how: ``colour`` for the tint alone, ``word`` for the word alone, or ``both``.

    Returns:
        Another picture of the same shape.
    """
    marked = image.copy()
    if how != 'word':
        marked[(image == TINTS[ACTIVE]).all(axis=-1)] = TINTS[what]
    if how == 'colour':
        return marked
    height, width = image.shape[:2]
    picture = Image.fromarray(marked)
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(max(8.0, height / 20.0))
    _, _, wide, high = pen.textbbox((0, 0), what, font=font)
    gap = max(2, height // 80)
    left, right, bottom = width - wide - 4 * gap, width - gap, high + 3 * gap
    pen.rounded_rectangle((left, gap, right, bottom), 2 * gap, fill=_WHITE)
    pen.text(((left + right) / 2, (gap + bottom) / 2), what, _DARK, font, anchor='mm')
    return np.asarray(picture)
