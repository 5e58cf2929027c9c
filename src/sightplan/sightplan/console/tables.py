"""Tables of plain text, for terminals and files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence

_GAP = '  '
"""Between two columns."""
_NARROWEST = 12
"""Columns are not folded to fewer characters than these."""
_CONTROLS = dict.fromkeys(code for code in range(32) if chr(code) != '\n')
"""Control characters, which would move the cursor of a terminal."""


def terminal_width() -> int:
    """Columns of the terminal that standard output is; 0 where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def table_lines(headings: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 1,
                width: int = 0) -> list[list[str]]:
    """Lay out a table as lines of text.

    Args:
        headings: of the columns; empty for a table without a first line.
        rows: their cells; a cell may have several lines.
        left: number of columns that are flush left; the others are flush right.
        width: the widest columns are folded until a line has at most so many characters; 0:
            nothing is folded.

    Returns:
        the lines of each row, the headings first if there are any.
    """
    cells = [[str(cell).translate(_CONTROLS).split('\n') for cell in row]
             for row in ([headings] if headings else []) + list(rows)]
    if not cells:
        return []
    widths = [max(len(line) for cell in column for line in cell)
              for column in zip(*cells, strict=True)]
    while width and sum(widths) + len(_GAP) * (len(widths) - 1) > width \
            and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return [_row_lines(row, widths, left) for row in cells]


def _row_lines(row: Sequence[Sequence[str]], widths: Sequence[int], left: int) -> list[str]:
    """The lines of one row, whose cells are folded to the widths of their columns."""
    folded = [[line[start:start + width] for line in cell
               for start in range(0, max(1, len(line)), max(1, width))]
              for cell, width in zip(row, widths, strict=True)]
    lines = []
    for number in range(max(map(len, folded))):
        parts = [cell[number] if number < len(cell) else '' for cell in folded]
        lines.append(_GAP.join(
            part.ljust(width) if place < left else part.rjust(width)
            for place, (part, width) in enumerate(zip(parts, widths, strict=True))).rstrip())
    return lines
