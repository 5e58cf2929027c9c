"""A small folder in the forms of the benchmark's release, made by hand; sentences are ours."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from sightplan.vlm.images import encode
from sightplan_suites.patheval.scenarios import vectors
from sightplan_suites.paths.descriptors import KEYS, NAMES, WAYPOINTS, describe_all
from sightplan_suites.paths.labels import ORDER
from sightplan_suites.paths.maps import GOAL, START, ObstacleMap, map_text

RANDOM, MAZE = 'SceneRandom_Frac12_0', 'SceneMaze_Dims10_3'
BLOCK = ((-10.0, -10.0), (10.0, -10.0), (10.0, 10.0), (-10.0, 10.0))
MAPS = {RANDOM: ObstacleMap(RANDOM, (BLOCK,)),
        MAZE: ObstacleMap(MAZE, (tuple((x + 5, y) for x, y in BLOCK),))}
NEAR = (START, (-30.0, 12.0), (-5.0, 12.0), (11.0, 30.0), GOAL)
FAR = (START, (-36.0, 36.0), GOAL)
BENT = (START, (-36.0, 36.0), (-20.0, 12.0), (0.0, 38.0), GOAL)
ARRIVED = {RANDOM: (NEAR, FAR, BENT), MAZE: (FAR, NEAR)}
"""Paths of each map that end at the goal: their places are their ids."""
ASTRAY = (START, (0.0, -20.0))
SENTENCES = {number: f'Task {number} of a stranger: go, see & "wave"' + '.' * (number % 2)
             for number in range(1, 16)}
QUESTION = 'Which path better achieves the task?'
THRESHOLDS = (0.8, 0.8, 0.8, 50, 90, 1, 30)
PAIRS = (  # map, ids, task, annotation: of these only the last has no better path
    (RANDOM, (0, 1), 8, 'Path 2'), (RANDOM, (0, 2), 1, 'Path 1'), (MAZE, (0, 1), 2, 'Path 1'),
    (RANDOM, (1, 2), 5, 'Unresolved'))


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def attempt(path: Sequence[tuple[float, float]], radius: float = 0.75) -> str:
    return '@\n' + ''.join(f'{x:g} {y:g}\n' for x, y in path) + f'Robot Radius: {radius}\n'


def values(name: str, number: int) -> dict[str, float]:
    return describe_all(MAPS[name], [ARRIVED[name][number]], rule=WAYPOINTS)[0].to_json()


def write_environments(folder: Path) -> None:
    """Environments, and planned paths in files of the same names."""
    for name, item in MAPS.items():
        write(folder / 'data' / f'{name}Obstacles.txt', map_text(item))
    write(folder / 'paths-rrt' / f'{RANDOM}Obstacles.txt',
          attempt(NEAR) + attempt(()) + attempt(ASTRAY) + attempt(FAR) + attempt(BENT))
    write(folder / 'paths-rrt' / f'{MAZE}Obstacles.txt', attempt(FAR) + attempt(NEAR))


def table() -> list[list[Any]]:
    """Rows of the file of tasks."""
    return [['Scenario', *KEYS], *(
        [text, *(dict(zip(ORDER, vectors()[number], strict=True))[name] for name in NAMES)]
        for number, text in SENTENCES.items())]


def workbook(rows: Sequence[Sequence[Any]], shared: bool = True) -> dict[str, str]:
    """Parts of an .xlsx file: texts in a table of their own, or in their cells."""
    texts: list[str] = []

    def cell(row: int, column: int, value: Any) -> str:
        place = f'r="{chr(ord("A") + column)}{row}"'
        if not isinstance(value, str):
            return f'<c {place}><v>{value}</v></c>'
        if not shared:
            return f'<c {place} t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        texts.append(value)
        return f'<c {place} t="s"><v>{len(texts) - 1}</v></c>'
    body = ''.join(f'<row r="{number}">' + ''.join(
        cell(number, at, value) for at, value in enumerate(row)) + '</row>'
        for number, row in enumerate(rows, 1))
    main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
    ids = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
    return {
        'xl/workbook.xml': f'<workbook xmlns="{main}" xmlns:r="{ids}"><sheets>'
                           '<sheet name="Tasks" sheetId="1" r:id="rId3"/></sheets></workbook>',
        'xl/_rels/workbook.xml.rels': '<Relationships><Relationship Id="rId3" '
                                      'Target="worksheets/sheet1.xml"/></Relationships>',
        'xl/worksheets/sheet1.xml': f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData>'
                                    '</worksheet>',
        **({'xl/sharedStrings.xml': f'<sst xmlns="{main}">' + ''.join(
            f'<si><t>{escape(text)}</t></si>' for text in texts) + '</sst>'} if shared else {})}


def write_workbook(path: Path, parts: Mapping[str, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as packed:
        for name, text in parts.items():
            packed.writestr(name, text)
    return path


def pair_entry(pair: tuple[str, tuple[int, int], int, str]) -> dict[str, Any]:
    name, ids, task, annotation = pair
    return {**{f'Path {place}': {
        'file': f'{name}Obstacles.txt', 'id': number, 'metrics': values(name, number),
        'path': [list(point) for point in ARRIVED[name][number]]}
        for place, number in enumerate(ids, 1)},
        'Scenario': SENTENCES[task], 'file': f'{name}Obstacles.txt', 'annotation': annotation}


def write_pairs(folder: Path) -> None:
    """Pair samples with their thresholds."""
    write(folder / 'pairs' / 'pairs.json', json.dumps([pair_entry(pair) for pair in PAIRS]))
    write(folder / 'pairs' / 'params.txt', '\n'.join(map(str, THRESHOLDS)))


def record(number: int, view: str) -> dict[str, Any]:
    name, ids, task, annotation = PAIRS[number]
    return {'id': number, 'image': f'combined_images/{number}_{view}.png', 'conversations': [
        {'from': 'human', 'value': f'<image>\n{SENTENCES[task]}. {QUESTION}'},
        {'from': 'gpt', 'value': annotation}],
        'metrics': {f'Path {place}': values(name, one) for place, one in enumerate(ids, 1)}}


def write_records(folder: Path) -> None:
    """Records of both views, with the same ids."""
    for view, stem in (('2D', 'test_dataset_2D'), ('3D', 'test_auto_dataset_3D')):
        write(folder / f'{stem}_formatted.json', json.dumps(
            [record(number, view) for number in range(3)]))
        for number in range(3):
            image = np.full((8, 16, 3), 40 * number + (view == '3D'), np.uint8)
            write(folder / 'combined_images' / f'{number}_{view}.png', encode(image, 'png'))


def write_release(folder: Path) -> Path:
    """Write the whole release, except the models' outputs."""
    write_environments(folder)
    write_pairs(folder)
    write_records(folder)
    write_workbook(folder / 'Scenarios.xlsx', workbook(table()))
    return folder
