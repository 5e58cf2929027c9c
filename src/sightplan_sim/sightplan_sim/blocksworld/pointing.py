"""Stacks of coloured blocks as scenes to point at, with exact masks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sightplan.model.region import Mask
from sightplan.model.scene import Piece, PointingScene, PointingTask
from sightplan_sim.blocksworld.scene import COLOURS, BlocksScene, sample_look
from sightplan_sim.still_scenes import StillScenes

LEAST_PIXELS = 100
"""Blocks with fewer visible pixels are not asked about."""
MOST_COLUMNS = 6
MOST_OF_A_KIND = 4
WORDS = {'r': 'red', 'g': 'green', 'b': 'blue', 'y': 'yellow', 'p': 'purple', 'o': 'orange'}

Phrasings = tuple[str, ...]
_TRAINING: dict[str, Phrasings] = {
    'block': ('the {0} block', 'the block that is {0}', 'the {0} cube'),
    'above': ('the block on top of the {0} block', 'the block that stands on the {0} one'),
    'below': ('the block under the {0} block', 'the block that the {0} block stands on'),
    'top': ('the topmost block of the stack with the {0} block',),
    'left': ('the leftmost stack of blocks', 'the stack that is furthest left'),
    'right': ('the rightmost stack of blocks', 'the stack that is furthest right'),
    'free': ('a block that can be picked up without moving another one',
             'a block with nothing on top of it')}
_HELD_OUT: dict[str, Phrasings] = {
    'block': ('the cube whose colour is {0}', 'that {0} block'),
    'above': ('which block does the {0} one carry?',),
    'below': ('what is the {0} block resting on?',),
    'top': ('the highest block in the tower that has the {0} one',),
    'left': ('the first stack from the left',),
    'right': ('the last stack, counted from the left',),
    'free': ('a block that is free to be lifted',)}

Stacks = tuple[tuple[str, ...], ...]


class BlocksSource(StillScenes):
    """Makes scenes; see ``sightplan.model.scene.SceneSource``. Not safe for threads."""

    def __init__(self) -> None:
        self._scene = BlocksScene()

    def close(self) -> None:
        """Give the physics client back."""
        self._scene.close()

    def scene(self, seed: int, *, held_out: bool = True) -> PointingScene:
        """See ``SceneSource``."""
        rng = np.random.default_rng([seed, int(held_out), 72])
        stacks = _stacks(rng)
        names = [f'c{number}' for number in range(1, len(stacks) + 1)]
        frame = self._scene.render(stacks, names, sample_look(rng, float(rng.uniform(0, 1.5))))
        masks = {colour: frame.segmentation == number
                 for number, colour in enumerate(COLOURS, 1)}
        optics = frame.camera.optics
        focal = optics.focal_px
        return PointingScene(
            f'blocksworld/{"held_out" if held_out else "training"}/{seed}', frame.rgb,
            frame.depth_m, (focal, focal, optics.width / 2, optics.height / 2),
            tuple(Piece(WORDS[colour], 'block', mask) for colour, mask in masks.items()
                  if mask.any()),
            tuple(_tasks(stacks, masks, rng, _HELD_OUT if held_out else _TRAINING)))


def make_source() -> BlocksSource:
    """A source of scenes."""
    return BlocksSource()


def _stacks(rng: np.random.Generator) -> Stacks:
    columns = int(rng.integers(2, MOST_COLUMNS + 1))
    share = rng.dirichlet([float(rng.choice([0.5, 3.0]))] * columns)
    stacks: list[list[str]] = [[] for _ in range(columns)]
    for colour in rng.permutation(list(COLOURS))[:int(rng.integers(2, len(COLOURS) + 1))]:
        stacks[int(rng.choice(columns, p=share))].append(str(colour))
    return tuple(map(tuple, stacks))


def _tasks(stacks: Stacks, masks: dict[str, Mask], rng: np.random.Generator,
           phrasings: dict[str, Phrasings]) -> Iterator[PointingTask]:
    def chosen(asked: Sequence[tuple[str, str, NDArray[np.bool_], str]], stage: str, kind: str,
               ) -> Iterator[PointingTask]:
        for k in rng.permutation(len(asked))[:MOST_OF_A_KIND]:
            way, word, mask, piece = asked[k]
            text = str(rng.choice(phrasings[way])).format(word)
            yield PointingTask(text, stage, kind, mask, piece)

    seen = {colour for colour, mask in masks.items() if mask.sum() >= LEAST_PIXELS}
    yield from chosen([('block', WORDS[c], masks[c], WORDS[c]) for c in sorted(seen)],
                      's1', 'object')
    related = []
    for stack in stacks:
        for below, above in itertools.pairwise(stack):
            if {below, above} <= seen:
                related += [('above', WORDS[below], masks[above], WORDS[above]),
                            ('below', WORDS[above], masks[below], WORDS[below])]
        if len(stack) > 2 and {stack[0], stack[-1]} <= seen:
            related.append(('top', WORDS[stack[0]], masks[stack[-1]], WORDS[stack[-1]]))
    full = [stack for stack in stacks if stack]
    if len(full) > 1:
        related += [(way, '', np.logical_or.reduce([masks[c] for c in stack]), '')
                    for way, stack in (('left', full[0]), ('right', full[-1]))]
    yield from chosen(related, 's1', 'restriction')
    free = [masks[stack[-1]] for stack in full if stack[-1] in seen]
    if free:
        yield from chosen([('free', '', np.logical_or.reduce(free), '')], 's2', 'recommend')
