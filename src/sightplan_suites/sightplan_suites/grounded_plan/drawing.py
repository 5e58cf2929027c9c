"""A true plan and a predicted one on the picture, side by side, as in figure 4 of the paper."""

from __future__ import annotations

import functools
import importlib.util
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import Region
from sightplan.model.grounded_plan import GroundedStep, PlanBlock, Primitive, UnitKind
from sightplan.model.region import Form

TRUE, RIGHT, WRONG = (30, 110, 220), (20, 140, 60), (210, 40, 30)
"""RGB of true units, and of predicted ones that are matched or not."""
_PAPER, _INK = (255, 255, 255), (0, 0, 0)
_FONT_PX, _LINE_PX, _MARGIN_PX, _WIDTH_PX, _DOT_PX = 14, 18, 10, 2, 5
_LETTER_PX = 8.0  # about the width of a letter
_GAP_PX, _NEAR_PX = 8, 12
NARROWEST_PX = 480


def draw_plans(image: NDArray[np.uint8], instruction: str,
               plans: Sequence[Sequence[PlanBlock]], steps: Sequence[GroundedStep],
               right: Sequence[bool], verdict: str, plan: int = 0) -> NDArray[np.uint8]:
    """Draw both plans with numbered boxes and points, and list their steps below.

    Args:
        image: (H, W, 3) uint8 RGB.
        instruction: stands above; '' for none.
        plans: the right plans, one of which stands on the left; units of one unordered block have
            a common letter.
        steps: the predicted plan, on the right.
        right: of each step, whether its unit is matched.
        verdict: stands above the predicted plan.
        plan: number of the right plan that is drawn.

    Returns:
        (H + strips, 2 W + gap, 3) uint8 RGB; what lies beside the picture is cut off. A picture
        that is less than ``NARROWEST_PX`` wide is enlarged, so that numbers can be read.
    """
    enlarged = -(-NARROWEST_PX // image.shape[1])
    image = image.repeat(enlarged, axis=0).repeat(enlarged, axis=1)
    true, named = _true_marks(plans[plan])
    truth = 'truth' if len(plans) == 1 else f'truth: plan {plan + 1} of {len(plans)} right ones'
    marks = [(number, step.region, RIGHT if ok else WRONG)
             for number, (step, ok) in enumerate(zip(steps, right, strict=True), 1)]
    said = [(f'{number}. {step.action or "?"} {step.target}'
             + ('' if step.region is not None else ' (no region)'), colour)
            for (number, _, colour), step in zip(marks, steps, strict=True)]
    width = image.shape[1]
    rows = ([_text([(title, _INK)], width) for title in (truth, f'prediction: {verdict}')],
            [_marked(image, some) for some in (true, marks)],
            [_text(lines or [('no steps', _INK)], width) for lines in (named, said)])
    title = [_text([(instruction, _INK)], 2 * width + _GAP_PX)] if instruction else []
    return np.concatenate([*title, *(_beside(*row) for row in rows)])


_LONGEST_PX = 1200
"""Longest edge of a picture that a plan is drawn on."""
_COLOURS = ((30, 110, 220), (200, 90, 10), (20, 140, 60), (150, 40, 170), (190, 30, 60),
            (0, 130, 140), (120, 90, 20))
"""RGB of units, one after another."""


def draw_plan(image: NDArray[np.uint8], instruction: str, steps: Sequence[GroundedStep],
              faults: Sequence[str], notes: Sequence[str] = ()) -> NDArray[np.uint8]:
    """Draw a plan with numbered boxes and points, and its legend below.

    Args:
        image: (H, W, 3) uint8 RGB.
        instruction: stands above.
        steps: the plan; a grasp and its place have one colour.
        faults: of each step, what is wrong with it, '' if nothing is; stands in red.
        notes: stand below the steps.

    Returns:
        (H', W', 3) uint8 RGB, at least ``NARROWEST_PX`` wide. A small picture is enlarged, and a
        large one made smaller, so that the numbers can be read.
    """
    image = _legible(image)
    colours, unit = [], -1
    for step in steps:
        unit += step.primitive is not Primitive.PLACE or unit < 0
        colours.append(_COLOURS[unit % len(_COLOURS)])
    marks = [(number, step.region, WRONG if fault else colour) for number, (step, fault, colour)
             in enumerate(zip(steps, faults, colours, strict=True), 1)]
    said = [(f'{number}. {step.action or "?"} {step.target}' + (f': {fault}' if fault else ''),
             colour) for (number, _, colour), step, fault in zip(marks, steps, faults,
                                                                 strict=True)]
    width = max(image.shape[1], NARROWEST_PX)
    picture = np.full((image.shape[0], width, 3), 255, np.uint8)
    picture[:, :image.shape[1]] = _marked(image, marks)
    return np.concatenate([_text([(instruction, _INK)], width), picture,
                           _text([*said, *((note, _INK) for note in notes)], width)])


def _legible(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture in a size in which the numbers of steps can be read beside its things."""
    from PIL import Image
    height, width = image.shape[:2]
    if max(height, width) > _LONGEST_PX:
        scale = _LONGEST_PX / max(height, width)
        size = max(1, round(width * scale)), max(1, round(height * scale))
        image = np.asarray(Image.fromarray(np.ascontiguousarray(image)).resize(size))
    height, width = image.shape[:2]
    enlarged = max(1, min(-(-NARROWEST_PX // width), _LONGEST_PX // height))
    return image.repeat(enlarged, axis=0).repeat(enlarged, axis=1)


Mark = tuple[int, Region | None, tuple[int, int, int]]
Named = tuple[str, tuple[int, int, int]]


def _true_marks(blocks: Sequence[PlanBlock]) -> tuple[list[Mark], list[Named]]:
    """Marks and words of a true plan."""
    marks: list[Mark] = []
    said: list[Named] = []
    ends: list[int] = []
    letters = iter('ABCDEFGHIJKLMNOPQRSTUVWXYZ')
    for block in blocks:
        free = f' (any order: {next(letters, "*")})' if block.unordered else ''
        if block.after is not None:
            free += f' (after {_ends(ends, block.after)})' if block.after else ' (at any time)'
        for unit in block.units:
            verb = 'grasp' if unit.kind is UnitKind.PICK_PLACE else str(unit.kind)
            pairs = [(verb, unit.target, unit.region)]
            if unit.place is not None:
                pairs.append(('place', unit.destination, unit.place))
            for action, target, region in pairs:
                others = unit.others if region is unit.place else ()
                number = len(said) + 1
                marks += [(number, one, TRUE) for one in (region, *(one for _, one in others))]
                names = ''.join(f' or {name}' for name, _ in others)
                said.append((f'{number}. {action} {target}{names}{free}', TRUE))
        ends.append(len(said))
    return marks, said


def _ends(ends: Sequence[int], blocks: Sequence[int]) -> str:
    """Numbers of the last steps of blocks."""
    return ' and '.join(str(ends[number]) for number in blocks)


def true_steps(blocks: Sequence[PlanBlock]) -> list[str]:
    """The steps of a true plan in words, such as ``grasp red cup (any order: A)``."""
    _, named = _true_marks(blocks)
    return [text.partition('. ')[2] for text, _ in named]


def _marked(image: NDArray[np.uint8], marks: Sequence[Mark]) -> NDArray[np.uint8]:
    from PIL import Image
    from PIL import ImageDraw as Draw
    picture = Image.fromarray(np.ascontiguousarray(image))
    canvas = Draw.Draw(picture)
    ends: dict[tuple[int, int], float] = {}
    for number, region, colour in marks:
        if region is None:
            continue
        points = [_pixel(point, picture.size) for point in region.points]
        if region.form is Form.BOX:
            (x1, x2), (y1, y2) = (sorted(values) for values in zip(*points, strict=True))
            canvas.rectangle((x1, y1, x2, y2), outline=colour, width=_WIDTH_PX)
            _number(canvas, (x1, y1), number, colour, ends)
        else:
            x, y = points[0]
            canvas.ellipse((x - _DOT_PX, y - _DOT_PX, x + _DOT_PX, y + _DOT_PX), fill=colour,
                           outline=_PAPER)
            _number(canvas, (x + _DOT_PX, y - _DOT_PX), number, colour, ends)
    return np.asarray(picture)


def _pixel(point: tuple[float, float], size: tuple[int, int]) -> tuple[float, float]:
    """A point in pixels, clipped to a picture's width or height beyond the picture."""
    return (min(max(point[0], -1.0), 2.0) * size[0], min(max(point[1], -1.0), 2.0) * size[1])


def _number(canvas: Any, corner: tuple[float, float], number: int, colour: tuple[int, int, int],
            ends: dict[tuple[int, int], float]) -> None:
    """Draw the number of a step on a plate; plates at one corner stand side by side.

    Args:
        canvas: to draw on.
        corner: where, in pixels.
        number: of the step.
        colour: of the plate.
        ends: by rounded corner, where the last plate there ends; it is kept up.
    """
    font, key = _font(), (round(corner[0] / _NEAR_PX), round(corner[1] / _NEAR_PX))
    x, y = ends.get(key, corner[0]) + 3, max(0.0, corner[1] - _FONT_PX - 2)
    plate = canvas.textbbox((x, y), str(number), font=font)
    canvas.rectangle((plate[0] - 2, plate[1] - 1, plate[2] + 2, plate[3] + 1), fill=colour)
    canvas.text((x, y), str(number), _PAPER, font)
    ends[key] = plate[2] + 3


def _text(lines: Sequence[Named], width: int) -> NDArray[np.uint8]:
    """White, with lines of text in their colours, wrapped."""
    from PIL import Image
    from PIL import ImageDraw as Draw
    letters = max(8, int((width - 2 * _MARGIN_PX) / _LETTER_PX))
    wrapped = [(part, colour) for text, colour in lines
               for part in textwrap.wrap(text, letters) or ['']]
    strip = Image.new('RGB', (width, _LINE_PX * len(wrapped) + _MARGIN_PX), _PAPER)
    canvas = Draw.Draw(strip)
    for number, (text, colour) in enumerate(wrapped):
        canvas.text((_MARGIN_PX, _MARGIN_PX // 2 + _LINE_PX * number), text, colour, _font())
    return np.asarray(strip)


@functools.cache
def _font() -> Any:
    """A font with the letters of many languages where matplotlib brings one, else Pillow's."""
    from PIL import ImageFont
    found = importlib.util.find_spec('matplotlib')
    for folder in (found.submodule_search_locations or ()) if found else ():
        file = Path(folder) / 'mpl-data' / 'fonts' / 'ttf' / 'DejaVuSans.ttf'
        if file.is_file():
            return ImageFont.truetype(str(file), _FONT_PX - 1)
    return ImageFont.load_default(_FONT_PX)


def _beside(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Two pictures of one width beside each other, the lower one filled up with white."""
    height = max(one.shape[0], other.shape[0])
    gap = np.full((height, _GAP_PX, 3), 255, np.uint8)
    left, right = (np.pad(half, ((0, height - half.shape[0]), (0, 0), (0, 0)),
                          constant_values=255) for half in (one, other))
    return np.concatenate([left, gap, right], axis=1)
