#!/usr/bin/env python3
"""Draw our own pictures, for the classifier that tells foreign pictures from them.

Written are FOLDER/KIND/SPLIT/NUMBER.png, where SPLIT is ``fit``, ``cal`` (for calibration) or
``test``, whose seeds differ; tables for the test have things that no other table has.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from blocksworld_scenes import Recipe, column_names, sample_size, sample_stacks, sample_strength
from household_scenes import MOST, Studio, choose, random_problem
from household_scenes import Recipe as HomeRecipe
from locator_data import scene_source
from sightplan.model import EpisodeSpec, SightplanError
from sightplan_sim.blocksworld.scene import BlocksScene, sample_look
from sightplan_sim.household.settings import Settings
from sightplan_sim.household.world import HouseholdWorld
from sightplan_sim.tabletop import make_source
from sightplan_sim.tabletop.arm_world import TabletopArmWorld
from sightplan_sim.tabletop.source import table_of
from sightplan_suites.paths.drawing import TopView, draw_top, pair
from sightplan_suites.paths.drawing3d import draw_perspective
from train_paths import VIEWS, Drawn
from train_paths import draw_shard as draw_paths
from train_sliding import shown_fresh

Bytes = NDArray[np.uint8]
SPLITS = ('fit', 'cal', 'test')
COUNTS = {'fit': 120, 'cal': 50, 'test': 100}
STRIPS = {'fit': 30, 'cal': 12, 'test': 12}
_BLOCK_SIZES = ((480, 360), (640, 480), (256, 192), (320, 240))
_WORDS = ('pick up the mug', 'step 3: open', '2. place on plate', 'done', 'red block')


def scenes(name: str) -> Callable[[str, int], Iterator[Bytes]]:
    """Scenes as the locator learns from: ``tabletop``, ``blocksworld`` or ``household``."""
    def draw(split: str, count: int) -> Iterator[Bytes]:
        source = scene_source(name)
        first = {'fit': 300_000, 'cal': 910_000, 'test': 510_000}[split]
        for number in range(count):
            yield source.scene(first + number, held_out=split == 'test').image
    return draw


def armed(split: str, count: int) -> Iterator[Bytes]:
    """Tables with an arm in view, parked and in motion."""
    source, world = make_source(traces=False), TabletopArmWorld()
    rng = np.random.default_rng([5, SPLITS.index(split)])
    for number in range(count):
        if number % 3 == 0:
            seed = 700_000 + SPLITS.index(split) * 1_000 + number
            world.reset(table_of(source.scene(seed, held_out=split == 'test').id))
        else:
            at = np.array(world.arm.state().positions, float)
            world.arm.servo(at + rng.uniform(-0.5, 0.5, len(at)))
            world.arm.wait(0.8)
        yield world.camera.observe().rgb
    world.close()


def blocks(split: str, count: int) -> Iterator[Bytes]:
    """Blocks with looks as varied as in training, of several sizes."""
    rng = np.random.default_rng([77, SPLITS.index(split)])
    drawn = [BlocksScene(*size) for size in _BLOCK_SIZES]
    for number in range(count):
        most, columns = sample_size(rng)
        stacks = sample_stacks(rng, most, columns)
        look = sample_look(rng, sample_strength(rng, Recipe()))
        yield drawn[number % len(drawn)].render(stacks, column_names(columns), look).rgb
    for scene in drawn:
        scene.close()


def walks(split: str, count: int) -> Iterator[Bytes]:
    """Homes as the household model learns from, on walks of eight pictures."""
    rng, made = np.random.default_rng([78, SPLITS.index(split)]), 0
    home = 9_000_000 + 100_000 * SPLITS.index(split)
    with Studio() as studio:
        while made < count:
            home += 1
            problem = random_problem(home, HomeRecipe())
            try:
                if len(problem.objects) > MOST:
                    continue
                studio.begin(problem)
            except SightplanError:
                continue
            for _ in range(min(8, count - made)):
                yield studio.picture(bool(made % 2))['image']
                made += 1
                if not (legal := studio.legal()):
                    break
                studio.act(choose(legal, frozenset(problem.of_type('container')), rng), rng, False)


def homes(split: str, count: int) -> Iterator[Bytes]:
    """Homes as their world shows them, half of them with labels."""
    rng, made = np.random.default_rng([79, SPLITS.index(split)]), 0
    home = 9_500_000 + 100_000 * SPLITS.index(split)
    for labels, until in ((True, count // 2), (False, count)):
        with HouseholdWorld(Settings(labels=labels)) as world:
            while made < until:
                home += 1
                problem = random_problem(home, HomeRecipe())
                try:
                    if len(problem.objects) > MOST:
                        continue
                    world.reset(EpisodeSpec(f'world {home}', problem, 'random'))
                    for _ in range(min(4, until - made)):
                        image = world.observe().image
                        assert image is not None
                        yield image
                        made += 1
                        now = world._current()
                        legal = [action for action in now.model.actions
                                 if now.model.applicable(action, now.states[-1])]
                        if not legal:
                            break
                        world.execute(choose(legal, frozenset(), rng))
                except SightplanError:
                    continue


def planned(view: str) -> Callable[[str, int], Iterator[Bytes]]:
    """Planned paths on generated maps, a third in the paper's look."""
    def draw(split: str, count: int) -> Iterator[Bytes]:
        rows, seed = list[dict[str, object]](), 140_000 + 10_000 * SPLITS.index(split)
        while len(rows) < count:
            rows += [json.loads(text) for text in draw_paths(seed)['rows'].tolist() if text]
            seed += 1
        rng = random.Random(split)
        rng.shuffle(rows)
        for number, row in enumerate(rows[:count]):
            look = 0 if number % 3 == 0 else rng.randrange(1, 10**6)
            yield Drawn(row, VIEWS[view], look, rng.randrange(8)).picture
    return draw


def loose(view: str) -> Callable[[str, int], Iterator[Bytes]]:
    """Random points on maps of a few random quadrangles, some as halves of a pair."""
    def draw(split: str, count: int) -> Iterator[Bytes]:
        rng = np.random.default_rng([91, SPLITS.index(split)])
        for number in range(count):
            boxes = []
            for _ in range(int(rng.integers(0, 10))):
                (wide, high), skew = rng.uniform(2, 14, 2), rng.uniform(0.3, 1.0, 2)
                boxes.append(np.array([[0, 0], [wide, 0], [wide * skew[0], high],
                                       [0, high * skew[1]]]) + rng.uniform(-30, 22, 2))
            start, goal = rng.uniform(-30, 30, 2), rng.uniform(-30, 30, 2)
            path = np.r_[[start], rng.uniform(-32, 32, (int(rng.integers(0, 9)), 2)), [goal]]
            look = 0 if number % 2 else int(rng.integers(1, 10**6))
            size = int(rng.choice([256, 400, 512, 640]))
            picture = (draw_perspective(boxes, path, start, goal, None, look)
                       if view == 'perspective' else
                       draw_top(boxes, path, start, goal, TopView(size), look))
            if rng.random() < 0.4:
                both = pair(picture, picture)
                picture = both[:, :both.shape[1] // 2]
            yield picture
    return draw


def boards(split: str, count: int) -> Iterator[Bytes]:
    """Boards of all sizes."""
    for shown in shown_fresh(count, 501 + SPLITS.index(split)):
        yield shown.image


SOURCES = {
    'tabletop': scenes('tabletop'), 'armed': armed, 'blocksworld': scenes('blocksworld'),
    'blocks_looks': blocks, 'household': scenes('household'), 'homes_walk': walks,
    'homes_world': homes, 'paths_top': planned('top'), 'paths_view': planned('perspective'),
    'loose_top': loose('top'), 'loose_view': loose('perspective'), 'boards': boards}
STRIPS_OF = {'strip_tables': ('tabletop', 'armed'),
             'strip_blocks': ('blocksworld', 'blocks_looks'),
             'strip_homes': ('household', 'homes_walk', 'homes_world')}
KINDS = {
    'tables': ('tabletop', 'armed', 'strip_tables'),
    'blocks': ('blocksworld', 'blocks_looks', 'strip_blocks'),
    'homes': ('household', 'homes_walk', 'homes_world', 'strip_homes'),
    'maps from above': ('paths_top', 'loose_top'),
    'maps in perspective': ('paths_view', 'loose_view'), 'boards': ('boards',)}
"""Sources of each kind of pictures."""


def strip(files: list[Path], rng: np.random.Generator) -> Bytes:
    """Several pictures on one page, some marked, some with a line of words below."""
    rows, columns = (int(n) for n in rng.integers(1, 4, 2))
    columns += rows * columns == 1
    width, caption, gap = (int(rng.choice(n)) for n in (
        [240, 320, 400], [0, 0, 20, 30, 40], [0, 0, 4, 10]))
    height = width * 3 // 4
    page = np.full((rows * (height + caption + gap) - gap, columns * (width + gap) - gap, 3),
                   255, np.uint8)
    for place in range(rows * columns):
        read = np.asarray(cv2.imread(str(rng.choice(np.array(files, dtype=object)))))
        image = cv2.resize(read[..., ::-1], (width, height), interpolation=cv2.INTER_AREA)
        if rng.random() < 0.5:
            at = int(rng.integers(20, width - 20)), int(rng.integers(20, height - 20))
            cv2.drawMarker(image, at, (235, 40, 60), cv2.MARKER_CROSS, 22, 3)
            cv2.circle(image, at, 14, (235, 40, 60), 2)
        y, x = place // columns * (height + caption + gap), place % columns * (width + gap)
        page[y:y + height, x:x + width] = image
        if caption:
            cv2.putText(page, str(rng.choice(_WORDS)), (x + 6, y + height + caption - 8),
                        cv2.FONT_HERSHEY_SIMPLEX, 0.5, (20, 20, 20), 1, cv2.LINE_AA)
    return page


def changed(image: Bytes, rng: np.random.Generator) -> Bytes:
    """A picture as people pass it on, at random: cut, resized, lit, blurred, compressed."""
    def chance(least: float) -> bool:
        return bool(rng.random() < least)

    height, width = image.shape[:2]
    if chance(0.5):
        tall, wide = (rng.uniform(0.78, 1, 2) * (height, width)).astype(int)
        top, left = (int(rng.uniform(0, n)) for n in (height - tall + 1, width - wide + 1))
        image = image[top:top + tall, left:left + wide]
    if chance(0.5):
        scale = max(float(np.exp(rng.uniform(np.log(0.35), np.log(1.6)))),
                    130 / min(image.shape[:2]))
        image = np.asarray(cv2.resize(image, None, fx=scale, fy=scale, interpolation=int(
            rng.choice([cv2.INTER_NEAREST, cv2.INTER_LINEAR, cv2.INTER_AREA]))), np.uint8)
    if chance(0.5):
        image = _bytes(image * rng.uniform(0.7, 1.3) + rng.uniform(-12, 12))
    if chance(0.3):
        image = _bytes(255 * (image / 255) ** float(np.exp(rng.uniform(-0.3, 0.3))))
    if chance(0.2):
        image = _bytes(image * rng.uniform(0.92, 1.08, 3))
    if chance(0.25):
        image = _bytes(image + rng.normal(0, rng.uniform(1, 5), image.shape))
    if chance(0.15):
        image = np.asarray(cv2.GaussianBlur(image, (0, 0), rng.uniform(0.4, 1.2)), np.uint8)
    if chance(0.3):
        image = image[:, ::-1]
    if chance(0.2):
        sides = (np.array(image.shape[:2]) * rng.uniform(0.05, 0.25, 2)).astype(int)
        top, left = (sides[0], 0) if chance(0.5) else (0, sides[1])
        image = np.pad(image, ((top, top), (left, left), (0, 0)),
                       constant_values=int(rng.choice([0, 0, 128, 255])))
    if chance(0.6):
        _, data = cv2.imencode('.jpg', np.ascontiguousarray(image[..., ::-1]),
                               [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(30, 96))])
        image = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)[..., ::-1]
    return np.ascontiguousarray(image)


def _bytes(values: NDArray[np.floating[Any]]) -> Bytes:
    return np.asarray(np.clip(values, 0, 255), np.uint8)


def write(folder: Path, image: Bytes) -> None:
    """Write a picture with the next number."""
    folder.mkdir(parents=True, exist_ok=True)
    number = sum(1 for _ in folder.glob('*.png'))
    cv2.imwrite(str(folder / f'{number:05d}.png'), np.ascontiguousarray(image[..., ::-1]))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, required=True, metavar='FOLDER')
    parser.add_argument('--sources', nargs='+', choices=SOURCES, default=list(SOURCES))
    arguments = parser.parse_args()
    for split in SPLITS:
        for name in arguments.sources:
            for image in SOURCES[name](split, COUNTS[split]):
                write(arguments.out / name / split, image)
        rng = np.random.default_rng([92, SPLITS.index(split)])
        for name, sources in STRIPS_OF.items():
            files = [file for source in sources
                     for file in sorted((arguments.out / source / split).glob('*.png'))]
            for _ in range(STRIPS[split] if files else 0):
                write(arguments.out / name / split, strip(files, rng))


if __name__ == '__main__':
    main()
