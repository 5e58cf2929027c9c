"""Pictures that show why an episode or a sample failed, with their captions."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

INK, FAINT, _PAPER = (35, 35, 35), (110, 110, 110), (250, 250, 248)
# Okabe and Ito's vermillion and bluish green: distinct for colour-blind readers.
WRONG, RIGHT = (213, 94, 0), (0, 128, 96)
BIG_PX = 19
"""Size of the letters of a caption's first row."""
_MARGIN, _LEAST_WIDTH, _MOST_WIDTH, _MOST_ROWS, _PAGE_WIDTH = 14, 480, 1300, 6, 560


def encode_png(image: NDArray[np.uint8]) -> bytes:
    """An (H, W, 3) uint8 RGB image as PNG, quickly rather than small."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, 'png', compress_level=1)
    return buffer.getvalue()


def captioned(image: NDArray[np.uint8], line: Mapping[str, Any]) -> bytes:
    """The image of a failure with what was asked, answered and true below it.

    Args:
        image: (H, W, 3) uint8 RGB; one narrower than the caption needs is enlarged.
        line: the failed episode's line of results, with its ``failure``.

    Returns:
        a PNG file.
    """
    failure, evidence = line['failure'], line['failure']['evidence']
    where = f'{line["id"]}, step {failure["step"]}'
    where += f', {evidence["action"]}' if evidence['action'] else ''
    rows = [Row(failure['cause'].replace('_', ' '), BIG_PX, INK, 28), Row(where, colour=FAINT),
            Row(evidence['text'], below_px=20)]
    answers, rest = shown_answers(failure)
    for answer in answers:
        rows.append(Row(answer.get('question') or answer['atom'], below_px=20))
        words = {'unparsed': 'could not be read'}.get(answer['answer'], answer['answer'])
        rows.append(Row(f'    {_asker(answer)}: {words}', colour=WRONG, below_px=19))
        rows.append(Row(f'    truth: {_truth(answer["truth"])}', colour=RIGHT, below_px=24))
    if rest:
        rows.append(Row(rest, colour=FAINT, below_px=20))
    return with_caption(image, rows)


@dataclass(frozen=True, slots=True)
class Row:
    """A text of a caption, which is wrapped into as many lines as it needs.

    Attributes:
        text: the text; '' for none.
        size_px: of the letters.
        colour: RGB.
        below_px: height of each line.
    """

    text: str
    size_px: int = 14
    colour: tuple[int, int, int] = INK
    below_px: int = 21


def with_caption(image: NDArray[np.uint8], rows: Sequence[Row]) -> bytes:
    """An image with texts below it.

    Args:
        image: (H, W, 3) uint8 RGB; one narrower than a caption needs is enlarged, one so wide that
            its letters would be tiny is made smaller.
        rows: of the caption, from above.

    Returns:
        a PNG file.
    """
    picture = Image.fromarray(image)
    if picture.width < _LEAST_WIDTH:
        factor = -(-_LEAST_WIDTH // picture.width)
        picture = picture.resize((picture.width * factor, picture.height * factor),
                                 Image.Resampling.NEAREST)
    picture.thumbnail((_MOST_WIDTH, picture.height), Image.Resampling.LANCZOS)
    width = picture.width - 2 * _MARGIN
    texts = [(part, row) for row in rows for part in _lines(row, width)]
    page = Image.new('RGB', (picture.width, picture.height + 2 * _MARGIN
                             + sum(row.below_px for _, row in texts)), _PAPER)
    page.paste(picture)
    draw = ImageDraw.Draw(page)
    y = picture.height + _MARGIN
    for text, row in texts:
        draw.text((_MARGIN, y), text, row.colour, ImageFont.load_default(row.size_px))
        y += row.below_px
    buffer = io.BytesIO()
    page.save(buffer, 'png', compress_level=1)
    return buffer.getvalue()


def _lines(row: Row, width: int) -> list[str]:
    """The lines of a row; each keeps the row's indentation."""
    if not row.text.strip():
        return []
    indent = row.text[:len(row.text) - len(row.text.lstrip())]
    font = ImageFont.load_default(row.size_px)
    return [indent + part for text in row.text.split('\n')
            for part in _wrapped(text, font, width - font.getlength(indent))]


def for_page(png: bytes) -> bytes:
    """A picture for a page with many: a JPEG file, at most ``_PAGE_WIDTH`` pixels wide."""
    image = Image.open(io.BytesIO(png)).convert('RGB')
    image.thumbnail((_PAGE_WIDTH, 10 * _PAGE_WIDTH), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, 'jpeg', quality=85)
    return buffer.getvalue()


def shown_answers(failure: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], str]:
    """The wrong answers that a caption lists, and what it says of the others, '' without any.

    Only wrong answers about the shown image are listed.
    """
    evidence = failure['evidence']
    own = [answer for answer in evidence['answers'] if not about_another_frame(answer, failure)]
    shown, more = own[:_MOST_ROWS], evidence['answer_count'] - len(own[:_MOST_ROWS])
    if more <= 0:
        return shown, ''
    elsewhere = ' (some about other images)' if len(own) < len(evidence['answers']) else ''
    return shown, f'... and {more} more wrong answer{"s" if more > 1 else ""}{elsewhere}'


def about_another_frame(answer: Mapping[str, Any], failure: Mapping[str, Any]) -> bool:
    """Whether an answer is known to be about another image than the failure's."""
    return bool(answer.get('image_id')) and answer['image_id'] != failure['image_id']


def _asker(answer: Mapping[str, Any]) -> str:
    return 'believed' if answer['purpose'] == 'belief' else f'answer ({answer["purpose"]})'


def _truth(truth: object) -> str:
    return {True: 'yes', False: 'no'}.get(truth, 'not known') if isinstance(
        truth, bool) else 'not known'


def _wrapped(text: str, font: Any, width: float) -> list[str]:
    """Wrap text into rows of at most ``width`` pixels; a longer word stays whole."""
    rows, row = [], ''
    for word in text.split():
        longer = f'{row} {word}'.strip()
        if row and font.getlength(longer) > width:
            rows.append(row)
            row = word
        else:
            row = longer
    return [*rows, row] if row else rows
