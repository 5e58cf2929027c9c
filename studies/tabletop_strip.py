r"""A film strip of an episode on the tabletop: each step with its place in the picture.

Use::

    sightplan run --domain tabletop --split medium --method grounded_plan --episodes 1 \
        --world-option execution=arm --bags all --out RUN
    python studies/tabletop_strip.py RUN --out docs/images/tabletop.png

What is drawn was recorded: the pictures that the policy looked at and the regions of its actions.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightplan.model import Action, Asked, Form, Stepped
from sightplan.records import RunStore
from sightplan.records.pictures import bag_image
from sightplan.records.recorded import read_episodes

_COLOUR, _WIDTH, _CAPTION = (235, 40, 60), 400, 30


def panel(image: NDArray[np.uint8], action: Action | None, caption: str) -> NDArray[np.uint8]:
    """A picture with the place of an action, and words below it."""
    shown = image.copy()
    height, width = shown.shape[:2]
    if action is not None and action.region is not None:
        points = [(round(x * width), round(y * height)) for x, y in action.region.points]
        if action.region.form is Form.BOX:
            cv2.rectangle(shown, points[0], points[1], _COLOUR, 3)
        else:
            cv2.drawMarker(shown, points[0], _COLOUR, cv2.MARKER_CROSS, 26, 4)
            cv2.circle(shown, points[0], 16, _COLOUR, 3)
    shown = np.asarray(cv2.resize(shown, (_WIDTH, round(_WIDTH * height / width)),
                                  interpolation=cv2.INTER_AREA), np.uint8)
    words = np.full((_CAPTION, _WIDTH, 3), 255, np.uint8)
    cv2.putText(words, caption, (6, 21), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (20, 20, 20), 1,
                cv2.LINE_AA)
    return np.vstack([shown, words])


def strip(run: Path, episode: str, columns: int) -> NDArray[np.uint8]:
    """The film strip of an episode of a run; '' for the first that has a bag."""
    line = next((one for one in RunStore(run).lines()
                 if one.get('bag') and episode in ('', one['id'])), None)
    if line is None:
        raise SystemExit(f'{run}: no episode {episode or ""} with a bag; run with --bags all')
    bag = run / line['bag']
    timeline = next(iter(read_episodes(bag))).timeline
    looks = [event.observation for event in timeline.events(Asked) if not event.yes_no]
    steps = timeline.events(Stepped)
    panels = []
    for number, seen in enumerate(looks):
        action = steps[number].action if number < len(steps) else None
        image = bag_image(bag, seen.stamp_ns, seen.image_id)
        assert image is not None, 'recorded with the look'
        panels.append(panel(image, action, f'{number + 1} {action}' if action else 'the end'))
    while len(panels) % columns:
        panels.append(np.full_like(panels[0], 255))
    rows = [np.hstack(panels[k:k + columns]) for k in range(0, len(panels), columns)]
    return np.vstack(rows)


def main(arguments: list[str]) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('run', type=Path)
    parser.add_argument('--episode', default='', help='id; empty: the first with a bag')
    parser.add_argument('--columns', type=int, default=3)
    parser.add_argument('--out', type=Path, required=True)
    given = parser.parse_args(arguments)
    picture = strip(given.run, given.episode, given.columns)
    Image.fromarray(picture).quantize(160).save(given.out, optimize=True)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
