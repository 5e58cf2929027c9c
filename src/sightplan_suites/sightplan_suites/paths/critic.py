"""Choice of the best of several paths for a task: geometry is measured, a model reads the task.

On a known map nobody needs to look: the descriptors of each path are computed
(``paths.descriptors``), and only what the task wants of them is believed (``path_wishes``). For
each vector of preferences the paths have an order, and the probability that a path is the best is
the exact sum over all vectors, 3^7 at most, weighed by the belief. Where no map is known pictures
of the paths are compared in pairs (``queries.choose``).

The order under one vector: in a pair, a descriptor counts if it differs significantly
(``paths.labels``), and counts for as many thresholds as it differs; what is for and what is
against a path is added up (its *net*). So two paths of which all significant differences favour
one have that one as the better, as in PathEval's labels; and a conflict, which has no label
there, is decided by the larger sum. Among more paths the best is that which wins most pairs, a tie
counting half; of those that win equally many each is the best with equal probability, and the
order lists the one first whose nets have the larger sum.

A path that touches or crosses an obstacle, between its points, too, is never the best: the others
are compared without it, and it comes last. Where all do, there is no best and no order. A path
that leaves the map is refused. In pictures nobody checks any of that.

The thresholds are published for maps 80 wide. On other maps those of lengths and clearances are
scaled by the longer side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from sightplan.model import InputError, check_settings, param
from sightplan.model.query import Model, Part, can_ask
from sightplan.queries.choose import Choose, compare
from sightplan.vlm.api import ModelUser
from sightplan_belief.ranking import MOST, RankingBelief
from sightplan_suites.paths import reasons as path_reasons
from sightplan_suites.paths.descriptors import Descriptors, describe_all
from sightplan_suites.paths.labels import ORDER, PATHEVAL, Thresholds, Vector
from sightplan_suites.paths.maps import ObstacleMap, as_points
from sightplan_suites.paths.preference import in_thresholds, thresholds_on
from sightplan_suites.paths.wishes import Wishes, WishSettings, certain, understand

_ZERO = 1e-9
"""Sums of differences in thresholds that are nearer to 0 are 0."""
_NAMES = ('A', 'B')
"""Neutral names of the two paths that are compared in pictures."""
_ASKED = """\
Picture {first} and picture {second} show the same map with obstacles, and a path on it from the \
start to the goal. The task: {scenario}
Which of the two paths suits the task better? Write one line "Answer: {first}" or \
"Answer: {second}"."""


@dataclass(frozen=True, slots=True)
class CriticSettings:
    """Settings of comparing paths."""

    length_scale: float = param(0.0, 'factor of the published thresholds of lengths and '
                                'clearances; 0: longer side of the map by 80, the side of the '
                                'maps that they were published for', low=0.0, high=1000.0)
    strict: bool = param(False, 'a difference must exceed its threshold to count, not only reach '
                         'it')
    sure: float = param(0.75, 'probability below which it counts as unknown whether a '
                        'descriptor matters', low=0.34, high=0.999)
    pairs: int = param(0, 'pairs of pictures that are asked about; 0: all, up to 16', low=0,
                       high=120)
    orders: str = param('both', 'whether a pair of pictures is shown in both orders, or in one',
                        choices=('both', 'one'))


@dataclass(frozen=True, slots=True)
class Ranked:
    """An order of paths under a belief over wishes.

    Attributes:
        order: indices from 0, the best first.
        best: probability of each path to be the best; sums to 1.
        better: (n, n), probability that the first index is better than the second; ties count
            half, as on the diagonal.
    """

    order: tuple[int, ...]
    best: tuple[float, ...]
    better: NDArray[np.float64] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Critique:
    """Result of a comparison.

    Attributes:
        ranking: indices of the paths from 0, the best first; those that touch or cross an
            obstacle last. (): all do, so that there is no best.
        best: probability of each path to be the best; sums to 1, or to 0 if there is no best.
        descriptors: of each path; () where pictures were compared.
        wishes: what is believed that the task wants; None where pictures were compared in words.
        thresholds: from which difference on descriptors counted.
        reason: why, in words; it counts paths from 1, or calls them as they are numbered.
        model: who was asked; '' for nobody.
        crossing: indices of the paths that touch or cross an obstacle; () where pictures were
            compared, as it is not known there.
    """

    ranking: tuple[int, ...]
    best: tuple[float, ...]
    descriptors: tuple[Descriptors, ...]
    wishes: Wishes | None
    thresholds: Thresholds
    reason: str
    model: str = ''
    crossing: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data; paths are numbered from 1."""
        wants = self.wishes.wishes if self.wishes is not None else ()
        return {
            'ranking': [number + 1 for number in self.ranking],
            'best': [round(chance, 6) for chance in self.best],
            'descriptors': [item.to_json() for item in self.descriptors],
            'wishes': {wish.name: {'less': round(wish.less, 6), 'neither': round(wish.neither, 6),
                                   'more': round(wish.more, 6)} for wish in wants},
            'crossing': [number + 1 for number in self.crossing],
            'reason': self.reason, 'model': self.model}


def rank_paths(descriptors: Sequence[Descriptors], wishes: Wishes,
               thresholds: Thresholds = PATHEVAL, *, strict: bool = False) -> Ranked:
    """Order measured paths; see the module.

    Args:
        descriptors: of 2 to 16 paths.
        wishes: what is wanted.
        thresholds: from which difference on a descriptor counts; all above 0.
        strict: a difference must exceed its threshold, not only reach it.

    Raises:
        InputError: too few or too many paths, a descriptor is not finite, or a threshold is 0.
    """
    _check_count(len(descriptors), 'paths')
    return _ranked(descriptors, wishes, thresholds, strict)


def _ranked(descriptors: Sequence[Descriptors], wishes: Wishes, thresholds: Thresholds,
            strict: bool) -> Ranked:
    """``rank_paths`` of one path or more."""
    net, chances = _nets(descriptors, wishes, thresholds, strict)
    count = len(descriptors)
    won = (net > 0) + 0.5 * (net == 0)
    wins = won.sum(axis=2)
    leading = wins == wins.max(axis=1, keepdims=True)
    best = chances @ (leading / leading.sum(axis=1, keepdims=True))
    expected = np.stack([chances @ wins, chances @ net.sum(axis=2)], axis=1).round(9)
    order = sorted(range(count), key=lambda k: (-round(best[k], 9), *-expected[k]))
    order[1:] = sorted(order[1:], key=lambda k: tuple(-expected[k]))
    better = np.tensordot(chances, won, 1)
    return Ranked(tuple(order), tuple(float(chance) for chance in best), better)


def _nets(descriptors: Sequence[Descriptors], wishes: Wishes, thresholds: Thresholds,
          strict: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Net of each path against each other under each vector, (N, n, n), and P(vector), (N,)."""
    _, apart = in_thresholds(descriptors, thresholds, strict=strict)
    vectors, chances = wishes.vectors()
    count = len(descriptors)
    net = (vectors @ apart.reshape(-1, len(ORDER)).T).reshape(
        len(vectors), count, count)
    net[abs(net) < _ZERO] = 0.0
    return net, chances


def compare_paths(item: ObstacleMap, paths: Sequence[npt.ArrayLike], wishes: Wishes,
                  settings: CriticSettings | None = None, *, numbers: Sequence[int] = (),
                  ) -> Critique:
    """Measure paths on a map, and order them by wishes.

    Args:
        item: the map.
        paths: 2 to 16, each (N, 2), its points in units of the map.
        wishes: what is wanted; ``path_wishes.certain`` or ``understand``.
        settings: how they are compared.
        numbers: what the reason calls the paths; (): it counts them from 1.

    Raises:
        InputError: too few or too many paths; or one has fewer than two points, repeats one, or
            leaves the map; names ``paths[i]`` and the point, counted from 0.
    """
    settings = settings or CriticSettings()
    check_settings(settings)
    arrays = checked_paths(item, paths)
    descriptors = describe_all(item, arrays)
    thresholds = thresholds_on(item, settings.length_scale)
    crossing = tuple(at for at, one in enumerate(descriptors) if one.minimum_clearance <= 0)
    free = [at for at in range(len(arrays)) if at not in crossing]
    names = numbers or range(1, len(arrays) + 1)
    reason = path_reasons.of_crossing([names[at] for at in crossing], [names[at] for at in free])
    if not free:
        return Critique((), (0.0,) * len(arrays), descriptors, wishes, thresholds, reason,
                        wishes.model, crossing)
    ranked = _ranked([descriptors[at] for at in free], wishes, thresholds, settings.strict)
    order = tuple(free[at] for at in ranked.order)
    chances = dict(zip(free, ranked.best, strict=True))
    best = tuple(chances.get(at, 0.0) for at in range(len(arrays)))
    if len(free) > 1:
        why = path_reasons.reason(order, best, descriptors, wishes, thresholds,
                                  strict=settings.strict, sure=settings.sure, numbers=names)
        reason = f'{why} {reason}'.strip()
    return Critique((*order, *crossing), best, descriptors, wishes, thresholds, reason,
                    wishes.model, crossing)


def checked_paths(item: ObstacleMap, paths: Sequence[npt.ArrayLike],
                  ) -> list[NDArray[np.float64]]:
    """Paths as arrays (N, 2).

    Raises:
        InputError: as ``compare_paths``.
    """
    _check_count(len(paths), 'paths')
    arrays = []
    for number, path in enumerate(paths):
        try:
            points = as_points(path)
        except InputError as error:
            raise InputError(f'paths[{number}]: {error}') from error
        if len(points) < 2:
            raise InputError(f'paths[{number}] has {len(points)} points (a path needs a start and '
                             'an end)')
        outside = ~item.bounds.contain(points, -_ZERO)
        if outside.any():
            at, box = int(np.argmax(outside)), item.bounds
            raise InputError(
                f'paths[{number}], point {at} lies off the map at {points[at, 0]:g}, '
                f'{points[at, 1]:g} (the map is from {box.x_min:g}, {box.y_min:g} to '
                f'{box.x_max:g}, {box.y_max:g})')
        same = (np.diff(points, axis=0) == 0).all(axis=1)
        if same.any():
            raise InputError(f'paths[{number}], point {int(np.argmax(same)) + 1} repeats the one '
                             'before (remove it)')
        arrays.append(points)
    return arrays


def compare_pictures(model: Model, pictures: Sequence[NDArray[np.uint8]], scenario: str,
                     settings: CriticSettings | None = None, *, vector: Vector | None = None,
                     timeout_s: float | None = None) -> Critique:
    """Order paths by pictures of them alone, where no map is known.

    Pairs are asked about in both orders (``queries.choose.compare``); of three or more paths those
    pairs whose answers tell most come first (``RankingBelief``).

    Args:
        model: what compares.
        pictures: one of each of 2 to 16 paths, (H, W, 3) uint8 RGB.
        scenario: the task in words; may be '' with a vector.
        settings: how many pairs, and in how many orders.
        vector: what is better, for a model that reads no sentences.
        timeout_s: wall-clock limit of all pairs together [s]; asking ends when it has passed, if
            one pair was asked about.

    Raises:
        InputError: too few or too many pictures, no task, or the model cannot compare.
        BackendError: the model could not answer.
        DeadlineError: the first pair was not answered within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    settings = settings or CriticSettings()
    check_settings(settings)
    _check_count(len(pictures), 'pictures')
    wishes = None if vector is None else certain(vector)
    if wishes is None and not scenario.strip():
        raise InputError('scenario: is empty (say the task in words, or give a vector)')
    if not can_ask(model, Choose):
        raise InputError(f'model {model.name} cannot compare pictures; choose a backend that '
                         'replies in free text, or that chooses')
    begin, belief = time.monotonic(), RankingBelief(len(pictures))
    most = len(pictures) * (len(pictures) - 1) // 2
    unread = 0
    for number in range(min(settings.pairs or MOST, most)):
        left = None if timeout_s is None else timeout_s - (time.monotonic() - begin)
        if left is not None and left <= 0 and number:
            break
        pair = belief.next_pair() if len(pictures) > 2 else (0, 1)
        found = compare(model, _asker(pictures, pair, scenario, vector), settings.orders, left)
        unread += sum(bool(reply.unread) for reply in found.replies)
        belief.add(*pair, found.log_odds)
    ranking = belief.ranking()
    reason = path_reasons.of_pictures(ranking, unread)
    return Critique(ranking.order, ranking.best, (), wishes, PATHEVAL, reason, model.name)


def _asker(pictures: Sequence[NDArray[np.uint8]], pair: tuple[int, int], scenario: str,
           vector: Vector | None) -> Callable[[int, int], Choose]:
    """Makes the query about a pair in an order."""
    properties = tuple((name, sign) for name, sign in zip(
        ORDER, vector or (0,) * len(ORDER), strict=True) if sign)
    task = scenario.strip() or path_reasons.of_wishes(properties)

    def ask(first: int, second: int) -> Choose:
        parts: list[Part] = []
        for name, which in zip(_NAMES, (first, second), strict=True):
            parts += [f'Picture {name}:', pictures[pair[which]]]
        parts.append(_ASKED.format(first=_NAMES[0], second=_NAMES[1], scenario=task))
        subjects = tuple(f'path {pair[which] + 1}' for which in (first, second))
        return Choose(tuple(parts), _NAMES, subjects, properties)

    return ask


def _check_count(count: int, what: str) -> None:
    if not 2 <= count <= MOST:
        raise InputError(f'{what}: {count} of them (give 2 to {MOST})')


class PathCritic(ModelUser):
    """Comparer of paths for tasks; it asks a model for the wishes of a task.

    Args:
        model: what reads tasks.
        wishes: how much is asked, and what answers are worth.
        settings: how paths are compared.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, model: Model, wishes: WishSettings | None = None,
                 settings: CriticSettings | None = None) -> None:
        super().__init__(model)
        self._wishes, self._settings = wishes or WishSettings(), settings or CriticSettings()
        check_settings(self._wishes)
        check_settings(self._settings)
        self._last: tuple[str, Wishes] | None = None

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Forget the last task, and inform the model; see the base class."""
        self._last = None
        super().start_episode(episode_id, split)

    def wishes(self, scenario: str, timeout_s: float | None = None) -> Wishes:
        """Wishes of a task; those of the last task are kept. Raises as ``understand``."""
        if self._last is None or self._last[0] != scenario:
            self._last = scenario, understand(self._model, scenario, self._wishes, timeout_s)
        return self._last[1]

    def compare(self, item: ObstacleMap, paths: Sequence[npt.ArrayLike], scenario: str = '',
                vector: Vector | None = None, timeout_s: float | None = None, *,
                numbers: Sequence[int] = ()) -> Critique:
        """Order paths on a map.

        Args:
            item: the map.
            paths: as ``compare_paths``.
            scenario: the task in words.
            vector: what is better; taken as certain, then nobody is asked. None: as the task
                wants.
            timeout_s: wall-clock limit of asking [s]; None for the backend's own.
            numbers: as ``compare_paths``.

        Raises:
            InputError: as ``compare_paths`` and ``understand``.
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """
        checked_paths(item, paths)  # before any answer is paid for
        wishes = self.wishes(scenario, timeout_s) if vector is None else certain(vector)
        return compare_paths(item, paths, wishes, self._settings, numbers=numbers)

    def compare_pictures(self, pictures: Sequence[NDArray[np.uint8]], scenario: str = '',
                         vector: Vector | None = None, timeout_s: float | None = None,
                         ) -> Critique:
        """Order paths by pictures of them; see the function of that name."""
        return compare_pictures(self._model, pictures, scenario, self._settings, vector=vector,
                                timeout_s=timeout_s)
