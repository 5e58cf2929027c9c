"""How well the reader of instructions understands sentences of people who saw only the pictures.

Reads files of sentences with their goals (``studies/data/grounded_plan/people/README.md`` says
whose they are, and explains the format), gives the reader the true things of each scene, so that
the figures are about language alone, and compares what would be true at the end with the goal:

    python studies/people_sentences.py studies/data/grounded_plan/people/tune.jsonl
    python studies/people_sentences.py --only-tune --refused
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.agent.grounded_plans import staged
from sightplan.grounding.instructions import Stage, read_instruction, resolve
from sightplan.metrics.intervals import wilson
from sightplan.model import InputError, Instance
from sightplan.model.region import Form, Region
from sightplan.queries.detect import DRAWERS

DATA = Path(__file__).parent / 'data' / 'grounded_plan' / 'people'
TABLE = 'table'
RIGHT, WRONG, REFUSED = 'rightly understood', 'wrongly understood', 'refused'


@dataclass(frozen=True)
class Scene:
    """The true things of a picture.

    Attributes:
        aspect: width over height of the picture.
        things: all of them, as perfect eyes see them; in the order of the numbers in the picture.
    """

    aspect: float
    things: tuple[Instance, ...]

    def number(self, name: str) -> int:
        """Return the number of a thing in the picture, from 1."""
        return 1 + next(k for k, one in enumerate(self.things) if one.name == name)


@dataclass
class End:
    """What a reading makes true at the end.

    Attributes:
        places: number of each thing that is moved, and the number of its place, or ``table``.
        near: number of each thing that is put next to another one, and the number of that.
        drawers: number of each drawer, and whether it is open at the end.
        filled: numbers of the drawers into which something is put.
        begin: whether a drawer was open at the beginning.
    """

    places: dict[int, int | str] = field(default_factory=dict)
    near: dict[int, int] = field(default_factory=dict)
    drawers: dict[int, bool] = field(default_factory=dict)
    filled: set[int] = field(default_factory=set)
    begin: dict[int, bool] = field(default_factory=dict)
    upper: dict[int, int] = field(default_factory=dict)


def scene_of(record: Mapping[str, Any], names: Sequence[str]) -> Scene:
    """Return a scene from its record, with its things in the order of some names."""
    width, height = record['size']
    by_name = {one['name']: one for one in record['things']}
    things = []
    for name in names:
        one = by_name[name]
        a, b, c, d = one['box']
        things.append(
            Instance(
                name.replace(' ', '_'),
                Region(Form.BOX, ((a, b), (c, d))),
                {one['category']: 1.0},
                {one['colour']: 1.0} if one['colour'] else {},
                None if one['opened'] is None else float(one['opened']),
            )
        )
    return Scene(width / height, tuple(things))


def read(text: str, scene: Scene) -> tuple[Stage, ...]:
    """Return the stages that the reader makes of a sentence about a scene.

    Raises:
        InputError: the sentence is refused.
    """
    stages = resolve(read_instruction(text), scene.things, scene.aspect)
    staged(stages, scene.things)
    return stages


def end_of(stages: Sequence[Stage], scene: Scene) -> End:
    """Return what is true when all stages were carried out, with as little as possible done."""
    end = End()
    levels = {
        one.category: scene.number(one.name) for one in scene.things if one.category in DRAWERS
    }
    top, bottom = (levels.get(one) for one in DRAWERS)
    if top is not None and bottom is not None:
        end.upper = {bottom: top}
    end.begin = {
        scene.number(one.name): (one.opened or 0.0) >= 0.5
        for one in scene.things
        if one.category in DRAWERS
    }
    end.drawers = dict(end.begin)
    for stage in stages:
        for thing, place in stage.placements:
            number = scene.number(place)
            end.places[scene.number(thing)] = number
            end.near.pop(scene.number(thing), None)
            if number in end.drawers:
                end.filled.add(number)
                end.drawers[number] = True
                if number in end.upper:
                    end.drawers[end.upper[number]] = False
        for thing, anchor in stage.beside:
            end.places[scene.number(thing)] = TABLE
            end.near[scene.number(thing)] = scene.number(anchor)
        if stage.drawer and stage.closed is not None:
            end.drawers[scene.number(stage.drawer)] = not stage.closed
    return end


def differences(goal: Mapping[str, Any], end: End) -> list[str]:
    """Return how an end differs from a goal; empty if it does not."""
    found: list[str] = []
    left = dict(end.places)
    wanted = set()
    for move in goal.get('moves', ()):
        places = move['to_one_of'] if 'to_one_of' in move else [move['to']]
        wanted |= set(places)
        if 'one_of' in move:
            count = move.get('any', 1)
            fitting = [one for one in move['one_of'] if left.get(one) in places]
            if len(fitting) != count:
                found.append(f'{len(fitting)} of {move["one_of"]} go to {places}, not {count}')
            for one in fitting[:count]:
                del left[one]
            continue
        for one in move['things']:
            place = left.pop(one, None)
            if place is None and TABLE in places and 'near' not in move:
                continue
            if place not in places:
                found.append(f'{one} goes to {place}, not {places}')
            near = move.get('near')
            if near is not None and end.near.get(one) not in (
                near if isinstance(near, list) else [near]
            ):
                found.append(f'{one} is not next to {near}')
    found += [f'{one} goes to {place}' for one, place in left.items()]
    return found + _drawer_differences(goal, end, wanted)


def _drawer_differences(goal: Mapping[str, Any], end: End, wanted: set[int | str]) -> list[str]:
    """Return the drawers that end otherwise than a goal wants.

    What the goal does not speak of stays as it is; a drawer that things go into may end either
    way unless the goal tells, and the upper one may end closed where things go into the lower one.
    """
    said = {int(one): state == 'open' for one, state in goal.get('drawers', {}).items()}
    free = {int(one) for one in goal.get('optional_drawers', {})} | (wanted & {*end.drawers})
    free |= {
        end.upper[one]
        for one in end.filled
        if one in end.upper and not end.drawers[end.upper[one]]
    }
    found = []
    for number, opened in end.drawers.items():
        if number in said:
            if opened is not said[number]:
                found.append(f'drawer {number} ends {"open" if opened else "closed"}')
        elif number not in free and opened is not end.begin[number]:
            found.append(f'drawer {number} ends {"open" if opened else "closed"}, untold')
    return found


def with_note(goal: Mapping[str, Any], note: str) -> dict[str, Any]:
    """Return a goal with what a writer's note says of next to what things go on the table."""
    beside = re.search(r'beside (\d+)', note)
    if beside is None:
        return dict(goal)
    return {
        **goal,
        'moves': [
            {'near': int(beside[1]), **move} if move.get('to') == TABLE else move
            for move in goal['moves']
        ],
    }


def judged(record: Mapping[str, Any], scene: Scene) -> tuple[str, str]:
    """Return how a sentence was understood, and why, or what is wrong."""
    goal = with_note(record['goal'], record.get('note', ''))
    try:
        stages = read(record['text'], scene)
    except InputError as error:
        return (RIGHT if goal.get('unclear') else REFUSED), str(error)
    end = end_of(stages, scene)
    accepted = [*([] if goal.get('unclear') else [goal]), *goal.get('other_goals', ())]
    wrong = [differences(one, end) for one in accepted]
    if any(not one for one in wrong):
        return RIGHT, ''
    return WRONG, '; '.join(wrong[0]) if wrong else 'it is unclear what is meant'


def word_of(why: str) -> str:
    """Return the word or the reason for which a sentence was refused."""
    known = re.search(r"does not know '([^']*)'", why)
    if known:
        return known[1]
    why = re.sub(r"^cannot read (['\"]).*\1: ", '', why)
    return re.sub(r"'[^']*'", '...', why)


def rate(count: int, n: int) -> str:
    """Return a rate with its interval."""
    low, high = wilson(count, n)
    return f'{count} of {n}, {count / n:.3f} ({low:.3f} to {high:.3f})'


def main() -> None:
    """Print how well sentences are understood."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('files', nargs='*', type=Path, default=None)
    parser.add_argument('--only-tune', action='store_true', help='only the half that tunes')
    parser.add_argument('--refused', action='store_true', help='print each refused sentence')
    arguments = parser.parse_args()
    files = arguments.files or (
        [DATA / 'tune.jsonl'] if arguments.only_tune else sorted(DATA.glob('t*.jsonl'))
    )
    scenes = json.loads((DATA / 'scenes.json').read_text())
    for path in files:
        records = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
        print(f'{path.name}: {len(records)} sentences')
        _report(records, scenes, arguments.refused)


def _report(
    records: Sequence[Mapping[str, Any]], scenes: Mapping[str, Any], refused: bool
) -> None:
    counts: dict[str, Counter[str]] = {}
    words: Counter[str] = Counter()
    for record in records:
        said, why = judged(record, scene_of(scenes[record['scene']], record['numbers']))
        counts.setdefault(record['hand'], Counter())[said] += 1
        if said == REFUSED:
            words[word_of(why)] += 1
        if said == WRONG or (refused and said == REFUSED):
            print(f'  {said}: {record["id"]}: {record["text"]}\n    {why}')
    for hand in (*sorted(counts), 'all'):
        one = sum(counts.values(), Counter()) if hand == 'all' else counts[hand]
        n = sum(one.values())
        print(
            f'{hand}: '
            + '; '.join(f'{name} {rate(one[name], n)}' for name in (RIGHT, WRONG, REFUSED))
        )
    print('refused for: ' + '; '.join(f'{word} {count}' for word, count in words.most_common()))


if __name__ == '__main__':
    main()
