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

A path that cannot be driven or breaks a limit is *out* (``exclusions``): it is never the best, the
others are compared without it, and it comes last. Where all are, there is no best and no order. A
trade-off (``limits``) bounds what a preference may cost: paths that cost more come after all that
do not. In pictures nobody checks any of that.

Paths whose probabilities to be the best differ by no more than ``tie`` from the highest are
*tied*.

Which differences count follows from the robot and the paths (``robot_bases``); the thresholds that
PathEval published for its maps count in its suite, and here only if they are asked for.
"""

from __future__ import annotations

import dataclasses
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
from sightplan_suites.paths.areas import Area
from sightplan_suites.paths.descriptors import SWEPT, Descriptors, described, drive_all
from sightplan_suites.paths.exclusions import (
    OBSTACLE,
    UNKNOWN_CELLS,
    Exclusion,
    find_exclusions,
)
from sightplan_suites.paths.labels import ORDER, PATHEVAL, Thresholds, Vector
from sightplan_suites.paths.limits import NO_LIMITS, PathLimits
from sightplan_suites.paths.maps import ObstacleMap, as_points
from sightplan_suites.paths.preference import in_thresholds, thresholds_on
from sightplan_suites.paths.robot_bases import (
    UNKNOWN_ROBOT,
    RobotBase,
    differences_that_matter,
)
from sightplan_suites.paths.sentences import UnreadSentenceError
from sightplan_suites.paths.sides import SideSettings
from sightplan_suites.paths.wishes import (
    Task,
    Wishes,
    WishSettings,
    can_read_tasks,
    certain,
    understand_task,
)

_ZERO = 1e-9
"""Sums of differences in thresholds that are nearer to 0 are 0."""
_NAMES = ('A', 'B')
"""Neutral names of the two paths that are compared in pictures."""
_ASKED = """\
Picture {first} and picture {second} show the same map with obstacles, and a path on it from the \
start to the goal. The task: {scenario}
Which of the two paths suits the task better? Write one line "Answer: {first}" or \
"Answer: {second}"."""


ROBOT, PUBLISHED = 'robot', 'published'
DIFFERENCES = (ROBOT, PUBLISHED)


@dataclass(frozen=True, slots=True)
class CriticSettings:
    """Settings of comparing paths."""

    differences: str = param('robot', 'which differences count: those that matter to the robot, '
                             "or PathEval's thresholds, scaled to the map", choices=DIFFERENCES)
    length_scale: float = param(1.0, 'factor of the difference of lengths that counts',
                                low=1e-6, high=1000.0)
    tolerance: float = param(0.0, 'farthest that a path may lie from the line that is driven '
                             'along it, in the unit of the map; 0: 0.77 cells, or a thousandth of '
                             'the longer side of a map without cells', low=0.0, high=1000.0)
    tie: float = param(0.02, 'paths are tied whose probability to be the best is less than the '
                       'highest by this at most', low=0.0, high=0.5)
    side_fraction: float = param(0.8, 'fraction of the way that must be on the side that a path '
                                 'is to keep to', low=0.501, high=1.0)
    corridor: float = param(0.0, 'greatest distance of the walls of a corridor, in the unit of '
                            "the map; 0: a quarter of the map's shorter side", low=0.0,
                            high=1000.0)
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
        ranking: indices of the paths from 0, the best first; those that are out last. (): all
            are, so that there is no best.
        best: probability of each path to be the best; sums to 1, or to 0 if there is no best.
        descriptors: of each path, by the rule ``SWEPT``; () where pictures were compared.
        wishes: what is believed that the task wants; None where pictures were compared in words.
        thresholds: from which difference on descriptors counted.
        reason: why, in words; it counts paths from 1, or calls them as they are numbered.
        model: who was asked; '' for nobody.
        exclusions: of each path, why it is out; () where pictures were compared, as it is not
            known there.
        tied: indices of the paths that are the best as far as can be told; () if one is.
        beyond: indices of paths that cost more than what is wanted is worth.
        limits: that were checked.
        taken: what the task was taken to want, in words; '' where no words were read.
        cannot_tell: why it cannot be told which path is the best, such as pictures unlike those
            that the model was made for: then there is no ranking, and all are equally probable.
    """

    ranking: tuple[int, ...]
    best: tuple[float, ...]
    descriptors: tuple[Descriptors, ...]
    wishes: Wishes | None
    thresholds: Thresholds
    reason: str
    model: str = ''
    exclusions: tuple[tuple[Exclusion, ...], ...] = ()
    tied: tuple[int, ...] = ()
    beyond: tuple[int, ...] = ()
    limits: PathLimits = NO_LIMITS
    taken: str = ''
    cannot_tell: str = ''

    @property
    def out(self) -> tuple[int, ...]:
        """Indices of the paths that are out."""
        return tuple(at for at, found in enumerate(self.exclusions) if found)

    @property
    def crossing(self) -> tuple[int, ...]:
        """Indices of the paths that touch or cross an obstacle or unknown cells."""
        return tuple(at for at, found in enumerate(self.exclusions) if any(
            each.kind in (OBSTACLE, UNKNOWN_CELLS) for each in found))

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data; paths are numbered from 1."""
        wants = self.wishes.wishes if self.wishes is not None else ()
        return {
            'ranking': [number + 1 for number in self.ranking],
            'best': [round(chance, 6) for chance in self.best],
            'tied': [number + 1 for number in self.tied],
            'beyond': [number + 1 for number in self.beyond],
            'out': [[each.to_json() for each in found] for found in self.exclusions],
            'descriptors': [item.to_json() for item in self.descriptors],
            'rule': SWEPT if self.descriptors else '',
            'differences': {name: round(getattr(self.thresholds, name), 6) for name in ORDER}
            if self.descriptors else {},
            'wishes': {wish.name: {'less': round(wish.less, 6), 'neither': round(wish.neither, 6),
                                   'more': round(wish.more, 6)} for wish in wants},
            'limits': self.limits.to_json(), 'taken': self.taken,
            'cannot_tell': self.cannot_tell, 'reason': self.reason, 'model': self.model}


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
                  limits: PathLimits = NO_LIMITS, areas: Sequence[Area] = (),
                  robot: RobotBase = UNKNOWN_ROBOT, taken: str = '') -> Critique:
    """Measure paths on a map, and order them by wishes.

    Args:
        item: the map.
        paths: 2 to 16, each (N, 2), its points in units of the map.
        wishes: what is wanted; ``path_wishes.certain`` or ``understand``.
        settings: how they are compared.
        numbers: what the reason calls the paths; (): it counts them from 1.
        limits: that a path must keep, and what a preference may cost.
        areas: that limits may name.
        robot: its outline, and which differences matter to it.
        taken: what the task was taken to want, in words.

    Raises:
        InputError: too few or too many paths; or one has fewer than two different points; names
            ``paths[i]``, counted from 0. Or limits name an area that there is not.
    """
    settings = settings or CriticSettings()
    check_settings(settings)
    drives = drive_all(item, checked_paths(paths), robot.footprint, settings.tolerance or None)
    descriptors = tuple(described(item, drive, robot.footprint) for drive in drives)
    exclusions = find_exclusions(item, drives, descriptors, limits, areas, robot.footprint,
                                 SideSettings(settings.side_fraction, settings.corridor))
    free = [at for at, found in enumerate(exclusions) if not found]
    names = numbers or range(1, len(paths) + 1)
    reasons = path_reasons.of_exclusions(exclusions, names)
    if not free:
        return Critique((), (0.0,) * len(paths), descriptors, wishes, PATHEVAL, reasons,
                        wishes.model, exclusions, limits=limits, taken=taken)
    thresholds = _thresholds(item, [descriptors[at] for at in free], robot, settings)
    worth, beyond = _worth_their_cost(descriptors, free, limits)
    order, best = _placed(len(paths), worth, descriptors, wishes, thresholds, settings.strict)
    behind = _placed(len(paths), beyond, descriptors, wishes, thresholds, settings.strict)[0]
    tied = _tied(best, settings.tie)
    why = path_reasons.reason(
        (*order, *behind), best, descriptors, wishes, thresholds, strict=settings.strict,
        sure=settings.sure, numbers=names, tied=tied, worth=len(order))
    dear = path_reasons.of_trade_offs(beyond, worth, descriptors, limits, names)
    if not beyond and _too_dear(descriptors, free, limits):
        dear = 'No path keeps all that what is wanted may cost, so that this decides nothing.'
    ranking = (*order, *behind, *(at for at in range(len(paths)) if at not in free))
    return Critique(ranking, best, descriptors, wishes, thresholds,
                    ' '.join(part for part in (why, dear, reasons) if part), wishes.model,
                    exclusions, tied, tuple(beyond), limits, taken)


def _thresholds(item: ObstacleMap, free: Sequence[Descriptors], robot: RobotBase,
                settings: CriticSettings) -> Thresholds:
    if settings.differences == ROBOT:
        return differences_that_matter(item, free, robot, settings.length_scale)
    found = thresholds_on(item)
    return dataclasses.replace(found, path_length=found.path_length * settings.length_scale)


def _too_dear(descriptors: Sequence[Descriptors], free: Sequence[int], limits: PathLimits,
              ) -> list[int]:
    """Paths that cost more than what is wanted is worth, by any of the trade-offs."""
    bounds = {each.cost: each.bound(min(getattr(descriptors[at], each.cost) for at in free))
              for each in limits.trade_offs}
    return [at for at in free if any(
        getattr(descriptors[at], name) > bound + _ZERO for name, bound in bounds.items())]


def _worth_their_cost(descriptors: Sequence[Descriptors], free: Sequence[int], limits: PathLimits,
                      ) -> tuple[list[int], list[int]]:
    """Paths within all trade-offs, and paths that cost more than what is wanted is worth.

    Two trade-offs may leave no path: what is cheap in one cost is dear in another. Then they
    decide nothing.
    """
    dear = _too_dear(descriptors, free, limits)
    return (list(free), []) if len(dear) == len(free) else (
        [at for at in free if at not in dear], dear)


def _placed(count: int, chosen: Sequence[int], descriptors: Sequence[Descriptors], wishes: Wishes,
            thresholds: Thresholds, strict: bool) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The order of some of the paths, and the probability of each of all to be their best."""
    if not chosen:
        return (), (0.0,) * count
    ranked = _ranked([descriptors[at] for at in chosen], wishes, thresholds, strict)
    chances = dict(zip(chosen, ranked.best, strict=True))
    return (tuple(chosen[at] for at in ranked.order),
            tuple(chances.get(at, 0.0) for at in range(count)))


def _tied(best: Sequence[float], tie: float) -> tuple[int, ...]:
    """Indices of the paths whose probability to be the best is the highest, if there are more."""
    close = tuple(at for at, chance in enumerate(best) if chance > max(best) - tie - _ZERO
                  and chance > 0)
    return close if len(close) > 1 else ()


def checked_paths(paths: Sequence[npt.ArrayLike]) -> list[NDArray[np.float64]]:
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
        if len(points) < 2 or (points == points[0]).all():
            raise InputError(f'paths[{number}] has {len(points)} points, fewer than two different '
                             'ones (a path needs a start and an end)')
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
    if vector is None and not scenario.strip():
        raise InputError('scenario: is empty (say the task in words, or give a vector)')
    if not can_ask(model, Choose):
        raise InputError(f'model {model.name} cannot compare pictures; choose a backend that '
                         'replies in free text, or that chooses')
    taken = ''
    if vector is None and not can_read_tasks(model):
        vector, taken = _read_for_pictures(scenario)
    wishes = None if vector is None else certain(vector)
    begin, belief = time.monotonic(), RankingBelief(len(pictures))
    most = len(pictures) * (len(pictures) - 1) // 2
    unread, silent = 0, list[str]()
    for number in range(min(settings.pairs or MOST, most)):
        left = None if timeout_s is None else timeout_s - (time.monotonic() - begin)
        if left is not None and left <= 0 and number:
            break
        pair = belief.next_pair() if len(pictures) > 2 else (0, 1)
        found = compare(model, _asker(pictures, pair, scenario, vector), settings.orders, left)
        unread += sum(bool(reply.unread) for reply in found.replies)
        silent += [found.cannot_tell] if found.cannot_tell else []
        belief.add(*pair, found.log_odds)
    ranking = belief.ranking()
    if silent and len(silent) == len(ranking.asked):
        return Critique((), (1 / len(pictures),) * len(pictures), (), wishes, PATHEVAL,
                        path_reasons.of_nothing_told(silent[0]), model.name, taken=taken,
                        cannot_tell=silent[0])
    tied = _tied(ranking.best, settings.tie)
    reason = path_reasons.of_pictures(ranking, unread, tied, silent)
    return Critique(ranking.order, ranking.best, (), wishes, PATHEVAL, reason, model.name,
                    tied=tied, taken=taken)


def _read_for_pictures(scenario: str) -> tuple[Vector | None, str]:
    """Wishes that the reader finds in a task, for a model that may read no words; None if none.

    Raises:
        InputError: the task has limits, which cannot be checked in pictures.
    """
    try:
        task = understand_task(None, scenario)
    except UnreadSentenceError:
        return None, ''
    if task.limits:
        raise InputError(f'scenario: {task.taken} No limit can be checked without a map (leave '
                         'it out, or give MAP and PATHS)')
    return task.wishes.vector, task.taken


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
        model: what reads tasks; where it reads no texts the reader does.
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
        self._last: tuple[tuple[str, tuple[Area, ...]], Task] | None = None

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Forget the last task, and inform the model; see the base class."""
        self._last = None
        super().start_episode(episode_id, split)

    def task(self, scenario: str, timeout_s: float | None = None, areas: Sequence[Area] = (),
             ) -> Task:
        """Return wishes and limits of a task; that of the last one is kept.

        Raises:
            InputError, BackendError, DeadlineError, SpendingCapError: as ``understand_task``.
        """
        key = scenario, tuple(areas)
        if self._last is None or self._last[0] != key:
            self._last = key, understand_task(self._model, scenario, areas, self._wishes,
                                              timeout_s)
        return self._last[1]

    def compare(self, item: ObstacleMap, paths: Sequence[npt.ArrayLike], scenario: str = '',
                vector: Vector | None = None, timeout_s: float | None = None, *,
                numbers: Sequence[int] = (), limits: PathLimits = NO_LIMITS,
                areas: Sequence[Area] = (), robot: RobotBase = UNKNOWN_ROBOT,
                wishes: Wishes | None = None) -> Critique:
        """Order paths on a map.

        Args:
            item: the map.
            paths: as ``compare_paths``.
            scenario: the task in words.
            vector: what is better; taken as certain, then nobody is asked. None: as the task
                wants.
            timeout_s: wall-clock limit of asking [s]; None for the backend's own.
            numbers: as ``compare_paths``.
            limits: as ``compare_paths``.
            areas: as ``compare_paths``.
            robot: as ``compare_paths``.
            wishes: what is wanted; then nobody is asked. None: what vector or task say.

        Raises:
            InputError: as ``compare_paths`` and ``understand_task``.
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """
        checked_paths(paths)  # before any answer is paid for
        taken = ''
        if wishes is None and vector is not None:
            wishes = certain(vector)
        elif wishes is None:
            task = self.task(scenario, timeout_s, areas)
            wishes, taken, limits = task.wishes, task.taken, limits.joined(task.limits)
        return compare_paths(item, paths, wishes, self._settings, numbers=numbers, limits=limits,
                             areas=areas, robot=robot, taken=taken)

    def compare_pictures(self, pictures: Sequence[NDArray[np.uint8]], scenario: str = '',
                         vector: Vector | None = None, timeout_s: float | None = None,
                         ) -> Critique:
        """Order paths by pictures of them; see the function of that name."""
        return compare_pictures(self._model, pictures, scenario, self._settings, vector=vector,
                                timeout_s=timeout_s)
