"""Items of our own: maps are drawn, paths planned, pairs chosen, labelled and sampled.

All of it is a function of a seed and a number alone. Maps come from the four families in turn,
each family's in an order drawn from the seed; when all maps of a seed are used up, those of the
next seed follow. Maps are added until every scenario has labelled pairs enough, and as many as
wanted are drawn from each scenario's. Half of a scenario's items show the better path first; where
their number is odd, every second scenario has one more of these.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.model import InputError
from sightplan.model.json_text import load_json
from sightplan.model.whole_files import replacing
from sightplan_suites.patheval import scenarios
from sightplan_suites.patheval.items import Drawn, Item
from sightplan_suites.paths.descriptors import NAMES, WAYPOINTS, Descriptors, describe_all
from sightplan_suites.paths.generator import FAMILIES, VARIANTS, generate_map
from sightplan_suites.paths.labels import PATHEVAL, Thresholds, Vector, label_pair
from sightplan_suites.paths.maps import ObstacleMap, Point
from sightplan_suites.paths.path_files import PathRun
from sightplan_suites.paths.planner_settings import PlannerSettings
from sightplan_suites.paths.planning import plan_paths
from sightplan_suites.paths.scenarios import ABSTRACT
from sightplan_suites.paths.selection import select_pairs

TEST_SEED, TEST_COUNT = 0, 70
"""Seed of the items that are shipped, and their number for each scenario."""
TEST_SPARE = 3
"""Labelled pairs drawn for each shipped item, so that the items are about many maps."""
TRAIN_SEED, TRAIN_COUNT = 5_000_000, 900
"""First seed of the training items, and their number for each scenario: 13,500 in all."""
SHIPPED = Path(__file__).with_name('test.json.gz')
MOST_BYTES = 2**26
"""Largest size of an unpacked file of items [bytes]; that of training has 16 million."""

_TURN = ('waves', 'random', 'rings', 'maze')
_DECIMALS = 4


@dataclass(frozen=True, eq=False)
class PathPair:
    """Two paths of one map.

    Attributes:
        map: where they lead.
        number: among the map's pairs, from 0, the farthest first.
        paths: points of both.
        values: what they are like.
    """

    map: ObstacleMap
    number: int
    paths: tuple[tuple[Point, ...], tuple[Point, ...]]
    values: tuple[Descriptors, Descriptors]

    @property
    def name(self) -> str:
        """Unique name of the pair, such as ``SceneWaves_Lines5_3/0``."""
        return f'{self.map.name}/{self.number}'


@dataclass(frozen=True, eq=False)
class Chosen:
    """A pair for a scenario.

    Attributes:
        pair: the two paths.
        scenario: its number.
        swapped: whether the second path is shown first.
    """

    pair: PathPair
    scenario: int
    swapped: bool


def map_names(seed: int) -> Iterator[tuple[str, int, int, int]]:
    """Family, value, variant and seed of one map after the other, without end."""
    for at in itertools.count(seed):
        rng = random.Random(f'maps {at}')
        queues = []
        for name in _TURN:
            family = FAMILIES[name]
            maps = [(name, value, variant, at) for value in range(family.low, family.high + 1)
                    for variant in range(VARIANTS)]
            queues.append(sorted(maps, key=lambda one: rng.random()))
        for row in itertools.zip_longest(*queues):
            yield from filter(None, row)


def planned(item: ObstacleMap, seed: int, settings: PlannerSettings | None = None,
            ) -> tuple[PathRun, ...]:
    """The valid runs of a planner on a map; their points are rounded to a ten thousandth."""
    digest = hashlib.sha256(f'{seed} {item.name}'.encode()).digest()
    runs = plan_paths(item, settings or PlannerSettings(), int.from_bytes(digest[:4], 'big'))
    found = (run.to_run() for run in runs)
    return tuple(PathRun(_rounded(run.points), round(run.radius, _DECIMALS))
                 for run in found if run is not None and run.arrived())


def pairs_of(item: ObstacleMap, runs: Sequence[PathRun]) -> tuple[PathPair, ...]:
    """The pairs of a map's runs that differ most; none where there are fewer than two."""
    values = [Descriptors.from_json({key: round(value, _DECIMALS) for key, value in
                                     one.to_json().items()}, item.name)
              for one in describe_all(item, [run.points for run in runs], rule=WAYPOINTS)]
    return tuple(PathPair(item, number, (runs[pair.first].points, runs[pair.second].points),
                          (values[pair.first], values[pair.second]))
                 for number, pair in enumerate(select_pairs(values).pairs))


def choose(pairs: Sequence[PathPair], vectors: Mapping[int, Vector], count: int, seed: int,
           thresholds: Thresholds = PATHEVAL) -> list[Chosen]:
    """Draw items for every scenario from labelled pairs, in the order of the pairs.

    Args:
        pairs: of all maps.
        vectors: of the scenarios, by number.
        count: items wanted of each scenario; fewer where there are not so many.
        seed: of the draws.
        thresholds: smallest differences that count.
    """
    found: list[tuple[int, Chosen]] = []
    for scenario, labels in labelled(pairs, vectors, thresholds).items():
        rng = random.Random(f'items {seed} {scenario}')
        drawn = sorted(labels, key=lambda one: rng.random())[:count]
        firsts = (len(drawn) + scenario % 2) // 2
        # The better one is shown first in the first half.
        found += [(at, Chosen(pairs[at], scenario, swapped=(labels[at] == 2) is (place < firsts)))
                  for place, at in enumerate(drawn)]
    return [one for _, one in sorted(found, key=lambda entry: (entry[0], entry[1].scenario))]


def labelled(pairs: Sequence[PathPair], vectors: Mapping[int, Vector],
             thresholds: Thresholds = PATHEVAL) -> dict[int, dict[int, int]]:
    """Better path (1 or 2) by scenario and position of a pair.

    Pairs without a label do not occur.
    """
    found: dict[int, dict[int, int]] = {}
    for scenario, vector in vectors.items():
        labels = ((at, label_pair(*pair.values, vector, thresholds=thresholds).choice)
                  for at, pair in enumerate(pairs))
        found[scenario] = {at: choice for at, choice in labels if choice is not None}
    return found


@dataclass(frozen=True, eq=False)
class Built:
    """Items of a seed, with all runs on the maps that they are about."""

    items: list[Chosen]
    runs: Mapping[str, tuple[PathRun, ...]]


def maps_of(seed: int) -> Iterator[ObstacleMap]:
    """The maps of a seed one after the other, without end; each has a name of its own."""
    for family, value, variant, at in map_names(seed):
        item = generate_map(family, value, variant, at)
        if at != seed:  # the next seed has maps of the same names
            item = ObstacleMap(f'{item.name}_{at - seed}', item.polygons)
        yield item


def check_numbers(count: int, seed: int, spare: int = 1) -> None:
    """Check the arguments of ``build``.

    Raises:
        InputError: ``count`` or ``spare`` is below 1, or ``seed`` below 0.
    """
    if min(count, spare) < 1 or seed < 0:
        raise InputError(f'count = {count}, spare = {spare}, seed = {seed}: count and spare must '
                         'be at least 1, and seed at least 0')


def build(count: int, seed: int, vectors: Mapping[int, Vector],
          progress: Callable[[str], None] = lambda text: None, spare: int = 1,
          maps: Iterable[tuple[ObstacleMap, tuple[PathRun, ...]]] | None = None,
          least_found: Callable[[int], None] = lambda least: None) -> Built:
    """Make items: the same arguments always give the same ones.

    Args:
        count: of each scenario.
        seed: of maps, paths and draws.
        vectors: of the scenarios, by number.
        progress: is told of every map.
        spare: every scenario has at least so many times ``count`` labelled pairs to draw from.
        maps: those of ``maps_of(seed)`` with what ``planned`` gives; None: they are made.
        least_found: is told after every map how many labels the scenario with the fewest has.

    Raises:
        InputError: ``count`` or ``spare`` is below 1, or ``seed`` below 0.
    """
    check_numbers(count, seed, spare)
    pairs: list[PathPair] = []
    runs: dict[str, tuple[PathRun, ...]] = {}
    labels: Counter[int] = Counter(dict.fromkeys(vectors, 0))
    if maps is None:
        maps = ((item, planned(item, seed)) for item in maps_of(seed))
    for number, (item, found) in enumerate(maps, 1):
        runs[item.name] = found
        new = pairs_of(item, found)
        pairs += new
        labels.update({number: len(those) for number, those in labelled(new, vectors).items()})
        least = min(labels.values())
        progress(f'{number} maps, {len(pairs)} pairs, at least {least} of {spare * count} '
                 'labels of each scenario')
        least_found(least)
        if least >= spare * count:
            break
    items = choose(pairs, vectors, count, seed)
    used = {one.pair.map.name for one in items}
    return Built(items, {name: found for name, found in runs.items() if name in used})


def item_of(one: Chosen, size: int = 0, form: str = ABSTRACT,
            thresholds: Thresholds = PATHEVAL) -> Item:
    """Make a chosen pair an item; its picture is drawn when it is used.

    Args:
        one: the pair, its scenario and order.
        size: of pictures, see ``items.draw``.
        form: of the sentence of its task, see ``paths.scenarios``.
        thresholds: that it was chosen by.
    """
    (first, second), (path, other) = one.pair.values, one.pair.paths
    if one.swapped:
        (first, second), (path, other) = (second, first), (other, path)
    task = scenarios.scenario(one.scenario)
    label = label_pair(first, second, task.vector, thresholds=thresholds)
    assert label.choice is not None, f'{one.pair.name}: has no label for {one.scenario}'
    name = f'{one.pair.name}/{"ba" if one.swapped else "ab"}'
    text = task.wordings(form)[0]
    return Item(f'{one.pair.name}/s{one.scenario:02}', one.pair.map.name, one.pair.name,
                one.scenario, text, task.vector, (first, second), label.choice - 1,
                tuple(name for name, _ in label.votes),
                Drawn(name, one.pair.map, (path, other), size), thresholds)


# ----------------------------------------------------------------------------- the file of items


def write_file(items: Sequence[Chosen], path: Path) -> None:
    """Write items with their maps and paths, compressed; the same items give the same bytes."""
    pairs = list({one.pair.name: one.pair for one in items}.values())
    maps = list({pair.map.name: pair.map for pair in pairs}.values())
    places = {item.name: at for at, item in enumerate(maps)}
    numbers = {pair.name: at for at, pair in enumerate(pairs)}
    content = {
        'maps': [{'name': item.name, 'polygons': [_flat(one) for one in item.polygons]}
                 for item in maps],
        'pairs': [{'map': places[pair.map.name], 'number': pair.number,
                   'paths': [_flat(one) for one in pair.paths],
                   'values': [one.values() for one in pair.values]} for pair in pairs],
        'items': [[numbers[one.pair.name], one.scenario, int(one.swapped)] for one in items]}
    text = json.dumps(content, separators=(',', ':'))
    with replacing(path) as new:
        new.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def read_file(path: Path) -> list[Chosen]:
    """Read the file that ``write_file`` wrote.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        with gzip.open(path) as packed:
            text = packed.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise ValueError(f'it unpacks to more than {MOST_BYTES} bytes')
        content: dict[str, Any] = load_json(text)
        maps = [ObstacleMap(one['name'], tuple(map(_points, one['polygons'])))
                for one in content['maps']]
        pairs = [PathPair(maps[one['map']], one['number'], _two(map(_points, one['paths'])),
                          _two(Descriptors(**dict(zip(NAMES, found, strict=True)))
                               for found in one['values'])) for one in content['pairs']]
        return [Chosen(pairs[at], scenario, bool(swapped))
                for at, scenario, swapped in content['items']]
    except (OSError, EOFError, zlib.error, ValueError, RecursionError, KeyError, IndexError,
            TypeError, AttributeError) as error:
        raise InputError(f'{path}: holds no items ({error}); make it with "sightplan suite '
                         'patheval build"') from error


def _two(found: Iterator[Any]) -> tuple[Any, Any]:
    first, second = found
    return first, second


def _rounded(points: Sequence[Point]) -> tuple[Point, ...]:
    return tuple((round(x, _DECIMALS), round(y, _DECIMALS)) for x, y in points)


def _flat(points: Sequence[Point]) -> list[float]:
    return [int(value) if value == int(value) else value for point in points for value in point]


def _points(flat: Sequence[float]) -> tuple[Point, ...]:
    return tuple((float(x), float(y)) for x, y in zip(flat[::2], flat[1::2], strict=True))
