"""The picture that shows why an episode failed, with its caption."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

_INK, _FAINT, _PAPER = (35, 35, 35), (110, 110, 110), (250, 250, 248)
# Okabe and Ito's vermillion and bluish green: distinct for colour-blind readers.
_WRONG, _RIGHT = (213, 94, 0), (0, 128, 96)
_MARGIN, _LEAST_WIDTH, _MOST_ROWS, _PAGE_WIDTH = 14, 480, 6, 560


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
    picture = Image.fromarray(image)
    if picture.width < _LEAST_WIDTH:
        factor = -(-_LEAST_WIDTH // picture.width)
        picture = picture.resize((picture.width * factor, picture.height * factor),
                                 Image.Resampling.NEAREST)
    width = picture.width - 2 * _MARGIN
    big, normal = ImageFont.load_default(19), ImageFont.load_default(14)
    texts: list[tuple[str, Any, tuple[int, int, int], int]] = [
        (failure['cause'].replace('_', ' '), big, _INK, 28)]
    where = f'{line["id"]}, step {failure["step"]}'
    where += f', {evidence["action"]}' if evidence['action'] else ''
    texts.append((where, normal, _FAINT, 21))
    texts += [(row, normal, _INK, 20) for row in _wrapped(evidence['text'], normal, width)]
    answers, rest = shown_answers(failure)
    for answer in answers:
        texts += [(row, normal, _INK, 20) for row in _wrapped(
            answer.get('question') or answer['atom'], normal, width)]
        words = {'unparsed': 'could not be read'}.get(answer['answer'], answer['answer'])
        texts.append((f'    {_asker(answer)}: {words}', normal, _WRONG, 19))
        texts.append((f'    truth: {_truth(answer["truth"])}', normal, _RIGHT, 24))
    if rest:
        texts.append((rest, normal, _FAINT, 20))
    page = Image.new('RGB', (picture.width, picture.height + 2 * _MARGIN
                             + sum(height for *_, height in texts)), _PAPER)
    page.paste(picture)
    draw = ImageDraw.Draw(page)
    y = picture.height + _MARGIN
    for text, font, colour, height in texts:
        draw.text((_MARGIN, y), text, colour, font)
        y += height
    buffer = io.BytesIO()
    page.save(buffer, 'png', optimize=True)
    return buffer.getvalue()


def for_page(png: bytes) -> bytes:
    """A picture for a page with many: a JPEG file, at most ``_PAGE_WIDTH`` pixels wide."""
    image = Image.open(io.BytesIO(png)).convert('RGB')
    image.thumbnail((_PAGE_WIDTH, 10 * _PAGE_WIDTH), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, 'jpeg', quality=85)
    return buffer.getvalue()


def for_document(png: bytes) -> bytes:
    """A picture for a document: a small PNG file with few colours."""
    image = Image.open(io.BytesIO(png)).convert('RGB')
    image.thumbnail((_LEAST_WIDTH, 10 * _LEAST_WIDTH), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    # Median cut would spend its colours on the background, and show blue blocks as dark green.
    image.quantize(256, Image.Quantize.MAXCOVERAGE, 2, dither=Image.Dither.NONE).save(
        buffer, 'png', optimize=True)
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


def _wrapped(text: str, font: Any, width: int) -> list[str]:
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
