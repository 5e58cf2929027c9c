"""A camera image beside the questions asked about it and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model import Answer, Atom, Question, State, Verdict

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_INK, _PAPER, _RULE = (40, 40, 40), (250, 250, 248), (205, 205, 200)
# Okabe and Ito's blue and vermillion: told apart by colour-blind readers; grey for neither.
_COLOUR = {Verdict.YES: (0, 114, 178), Verdict.NO: (213, 94, 0),
           Verdict.UNPARSED: (120, 120, 120), Verdict.UNKNOWN: (120, 120, 120)}
_ROW, _MARGIN = 20, 12
_MOST_ROWS = 120


def draw_answers(image: NDArray[np.uint8], questions: Sequence[Question],
                 answers: Sequence[Answer], truth: State | None = None,
                 width: int = 560, belief: Mapping[Atom, float] | None = None,
                 ) -> NDArray[np.uint8]:
    """Draw the image with a column of questions and answers at its right.

    Args:
        image: (H, W, 3) uint8 RGB.
        questions: what was asked; as many as fit are shown, and the rest is counted.
        answers: one per question.
        truth: the true state, when known: wrong answers are marked and come first, then what
            is answered with yes.
        width: width of the text column [pixels].
        belief: probability of each atom after all answers: a further column, and what is
            believed comes first. The picture gets paper below it where all questions need it.

    Returns:
        (H, W + width, 3) uint8 RGB; H is that of the picture, or more with a belief.
    """
    if len(questions) != len(answers):
        raise ValueError(f'{len(questions)} questions but {len(answers)} answers')
    pairs = sorted(zip(questions, answers, strict=True),
                   key=lambda pair: (not _wrong(pair[0], pair[1], truth),
                                     -round((belief or {}).get(pair[0].atom, 0.0)),
                                     pair[1].verdict is not Verdict.YES))
    if belief is not None:
        missing = 2 * _MARGIN + _ROW * (min(len(pairs), _MOST_ROWS) + 1) - image.shape[0]
        image = np.pad(image, ((0, max(0, missing)), (0, 0), (0, 0)), constant_values=250)
    height = image.shape[0]
    page = np.full((height, width, 3), _PAPER, np.uint8)
    rows = (height - 2 * _MARGIN) // _ROW - 1
    shown = len(questions) if len(questions) <= rows else rows - 1

    def write(text: str, x: int, row: int, colour: tuple[int, int, int] = _INK,
              thickness: int = 1) -> None:
        cv2.putText(page, text, (x, _MARGIN + _ROW * row + 14), _FONT, 0.42, colour, thickness,
                    cv2.LINE_AA)

    middle = width - (130 if belief is None else 200)
    write('question', _MARGIN, 0, thickness=2)
    write('answer', middle, 0, thickness=2)
    write('P(yes)', middle + 64, 0, thickness=2)
    if belief is not None:
        write('belief', width - 66, 0, thickness=2)
    for row, (question, answer) in enumerate(pairs[:shown], 1):
        y = _MARGIN + _ROW * row
        cv2.line(page, (_MARGIN, y), (width - _MARGIN, y), _RULE, 1)
        write(question.text, _MARGIN, row)
        wrong = _wrong(question, answer, truth)
        said = ('cannot tell' if answer.verdict is Verdict.UNKNOWN else answer.verdict.value)
        write(said + (' (!)' if wrong else ''), middle, row,
              _COLOUR[answer.verdict], 2 if wrong else 1)
        # the fonts of OpenCV are ASCII
        write(answer.p_yes_text().replace('≤ ', '<').replace('≥ ', '>'), middle + 64, row)
        if belief is not None:
            p_true = belief[question.atom]
            write(f'{p_true:.3f}', width - 66, row,
                  _COLOUR[Verdict.YES if p_true > 0.5 else Verdict.NO])
    if shown < len(questions):
        write(f'... and {len(questions) - shown} more', _MARGIN, shown + 1)
    return np.hstack([image, page])


def _wrong(question: Question, answer: Answer, truth: State | None) -> bool:
    return truth is not None and answer.verdict.says not in (None, question.atom in truth)


def save_png(path: str, image: NDArray[np.uint8]) -> None:
    """Write an (H, W, 3) uint8 RGB image: PNG, or JPEG in a file that is called so.

    Raises:
        OSError: the file cannot be written.
    """
    form = '.jpg' if Path(path).suffix.lower() in ('.jpg', '.jpeg') else '.png'
    done, data = cv2.imencode(form, cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    if not done:
        raise OSError(f'{path}: the image could not be encoded')
    with open(path, 'wb') as file:
        file.write(data.tobytes())
