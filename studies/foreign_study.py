"""What ``sightplan locate`` says about pictures that the shipped network was not made for.

Use::

    python studies/foreign_study.py ask FOREIGN      # of foreign_pictures.py
    python studies/foreign_study.py gallery FOREIGN  # writes docs/images/foreign.jpg

``data/foreign/asked.json`` has the pictures, all kept from fitting and calibration, what was asked
about each (written while looking at it, with whether that is there), and what was answered.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from sightplan.cli import main as sightplan
from sightplan.metrics import wilson
from study_document import DATA

ASKED = DATA / 'foreign' / 'asked.json'
SHOWN = DATA.parents[1] / 'docs' / 'images' / 'foreign.jpg'
GALLERY = {
    'chelsea.png': 'the unicorn', 'coffee.png': 'the elephant', 'astronaut.png': 'the orange suit',
    'grace_hopper.jpg': 'the black hat', 'marched/0001.png': 'the pink block',
    'marched/0005.png': 'the green block', 'marched/0009.png': 'the green block',
    'plots_in_3d/0005.png': 'the purple block', 'textures/0001.png': 'the red mug'}
"""Pictures that may be shown here, and what is asked about each."""
_WIDTH, _HEIGHT, _COLUMNS, _CAPTION = 300, 225, 3, 40


def ask(picture: Path, targets: Sequence[str]) -> dict[str, Any]:
    """The reply of the command about targets in a picture.

    Raises:
        SystemExit: the command failed.
    """
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        code = sightplan(['locate', str(picture), *targets, '--json'])
    if code:
        raise SystemExit(f'{picture}: locate ended with {code}')
    found: dict[str, Any] = json.loads(said.getvalue())
    return found


def ask_all(foreign: Path) -> None:
    """Ask about every picture anew, and write the answers."""
    known = json.loads(ASKED.read_text())
    for row in known['pictures']:
        told = ask(foreign / row['picture'], [one['text'] for one in row['requests']])
        known['model'] = told['model']
        for one, thing in zip(row['requests'], told['found'], strict=True):
            one.update({key: thing[key] for key in ('answer', 'probability', 'sure', 'reason')})
    rows = ',\n'.join(map(json.dumps, known['pictures']))
    ASKED.write_text(f'{{"model": {json.dumps(known["model"])}, "pictures": [\n{rows}\n]}}\n')


def table() -> str:
    """What was answered, as Markdown."""
    rows = json.loads(ASKED.read_text())['pictures']
    lines = ['| pictures | asked for | n | here | not here | cannot tell | sure |',
             '|---|---|---|---|---|---|---|']
    groups = [(sort, truth) for sort in ('photo', 'render') for truth in ('there', 'absent')]
    for sort, truth in [*groups, ('', '')]:
        found = [one for row in rows for one in row['requests']
                 if sort in ('', row['sort']) and truth in ('', one['truth'])]
        sure = sum(one['sure'] for one in found)
        low, high = wilson(sure, len(found))
        number = len({row['picture'] for row in rows if sort in ('', row['sort'])})
        said = [sum(one['answer'] == answer for one in found)
                for answer in ('here', 'not here', 'cannot tell')]
        name = {'photo': 'photographs', 'render': 'other renders'}.get(sort, 'all')
        lines.append(f'| {number} {name} | {truth or "all"} | {len(found)} | {said[0]} | '
                     f'{said[1]} | {said[2]} | {sure} ({sure / len(found):.3f}; '
                     f'{low:.3f}-{high:.3f}) |')
    return '\n'.join(lines)


def gallery(foreign: Path) -> None:
    """Show some pictures with what is answered."""
    known = {row['file'] if row['sort'] == 'photo' else row['picture']: row
             for row in json.loads(ASKED.read_text())['pictures']}
    rows = -(-len(GALLERY) // _COLUMNS)
    page = Image.new('RGB', (_COLUMNS * _WIDTH, rows * (_HEIGHT + _CAPTION)), 'white')
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(13)
    for place, (name, target) in enumerate(GALLERY.items()):
        row = next(row for file, row in known.items() if file.endswith(name))
        thing = ask(foreign / row['picture'], [target])['found'][0]
        image = Image.open(foreign / row['picture']).convert('RGB')
        image.thumbnail((_WIDTH - 8, _HEIGHT))
        x, y = place % _COLUMNS * _WIDTH, place // _COLUMNS * (_HEIGHT + _CAPTION)
        page.paste(image, (x + (_WIDTH - image.width) // 2, y + (_HEIGHT - image.height) // 2))
        chance = '' if thing['probability'] is None else f' ({thing["probability"]:.2f})'
        pen.text((x + 8, y + _HEIGHT + 4), f'{target}: {thing["answer"]}{chance}', 'black', font)
        print(f'{name}: {target}: {thing["answer"]}{chance} {thing["reason"]}')
    page.save(SHOWN, quality=85)


def main(argv: Sequence[str] | None = None) -> int:
    """Ask, or show; returns the exit code."""
    parser = argparse.ArgumentParser(prog='python studies/foreign_study.py',
                                     description='Ask about foreign pictures.')
    parser.add_argument('part', choices=('ask', 'gallery', 'table'))
    parser.add_argument('foreign', type=Path, nargs='?', help='folder of foreign_pictures.py')
    arguments = parser.parse_args(argv)
    if arguments.part != 'table' and arguments.foreign is None:
        parser.error('name the folder of the foreign pictures')
    if arguments.part == 'ask':
        ask_all(arguments.foreign)
    if arguments.part == 'gallery':
        gallery(arguments.foreign)
    print(table())
    return 0


if __name__ == '__main__':
    sys.exit(main())
