"""Results of ``sightplan bench safety``: kills, stops, and their summary."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KINDS = ('grounder', 'camera', 'agent', 'arm_bridge')
"""Kinds of processes that are killed."""

HANG = 'hang'
"""The process of the gate is not killed, but stands still for a second."""

LIMIT_MS = 200.0
"""Within which the arm has to hold."""


@dataclass(frozen=True)
class Kill:
    """Result of killing a process in mid-motion.

    Attributes:
        kind: of process.
        sign_ms: when its last sign of life came here.
        command_ms: when the last command came to the controller's topic; None if none did: the
            arm came to the end of a motion before it would have been broken off.
        still_ms: from when on no joint moved.
        travel_rad: way of the joint that went farthest after the kill.
        cause: of the gate's hold, or of the watcher's stop where the gate was killed.
        afterwards: causes for which the gate stopped the arm while it held, in their order. Where
            the gate had no time to tell of the hold before, that of the stop is ``cause``.
        moved_again: whether anything moved after the arm stood, before the next reset.
        refused: whether the arm refused an action, and after the gate's death a reset, once the
            killed process was back.
        load: of the machine, in the last minute.
    """

    kind: str
    sign_ms: float
    command_ms: float | None
    still_ms: float
    travel_rad: float
    cause: str
    moved_again: bool
    refused: bool
    load: float = 0.0
    afterwards: Sequence[str] = ()


@dataclass(frozen=True)
class Stop:
    """Result of one latched stop.

    Whether the arm moves afterwards shows in the next stop in motion.

    Attributes:
        in_motion: whether the arm moved when it was asked for.
        still_ms: from when on no joint moved; 0 if none did.
        attempts: number of attempts to move it.
        moved: whether anything moved or was commanded after the arm stood, or an attempt was not
            refused, before it was re-armed.
        still_after_rearm: whether nothing moved between re-arming and the reset.
        load: of the machine, in the last minute.
    """

    in_motion: bool
    still_ms: float
    attempts: int
    moved: bool
    still_after_rearm: bool
    load: float = 0.0


@dataclass
class Results:
    """Results of all parts, on all graphs.

    Attributes:
        kills, stops: one by one.
        moves: causes of the reports of undisturbed moves, with their numbers.
        move_loads: of the machine, in the last minute, as each move began.
        needless: holds and stops that nobody caused, by cause, in all parts.
        failed: trials that could not be made, by reason.
        gaps: longest and usual time between messages, undisturbed, by what they are [ms]; of the
            last graph with moves.
        deaf: what was said of a deaf node with which a graph ended.
        graphs: what each was measured with (``conditions``), and by which commit.
        seconds: that all of them ran.
    """

    kills: list[Kill] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    moves: Counter[str] = field(default_factory=Counter)
    move_loads: list[float] = field(default_factory=list)
    needless: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    gaps: dict[str, dict[str, Any]] = field(default_factory=dict)
    deaf: list[str] = field(default_factory=list)
    graphs: list[Mapping[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def take(self, line: Mapping[str, Any]) -> None:
        """Add a line of the trials: an object with one field, whose name is the kind of result."""
        ((kind, data),) = line.items()
        match kind:
            case 'kill':
                self.kills.append(Kill(**data))
            case 'stop':
                self.stops.append(Stop(**data))
            case 'move':
                self.moves[data] += 1
            case 'load':
                self.move_loads.append(float(data))
            case 'needless':
                self.needless.update(data)
            case 'failed':
                self.failed[data] += 1
            case 'gaps':
                self.gaps = data
            case 'deaf':
                self.deaf.append(data)
            case 'graph':
                self.graphs.append(data)
            case 'seconds':
                self.seconds += data
            case _:
                raise ValueError(f'there is no {kind!r}')

    def count(self, kind: str) -> int:
        """Number of kills of a kind of process."""
        return sum(kill.kind == kind for kill in self.kills)

    def summary(self) -> dict[str, Any]:
        """Summary of the results that is printed."""
        found: dict[str, Any] = {}
        if self.kills:
            by_kind = {kind: [k for k in self.kills if k.kind == kind]
                       for kind in (*KINDS, HANG)}
            found['kills'] = {kind: _kills(kills) for kind, kills in by_kind.items() if kills}
            found['kills']['all'] = _kills(self.kills)
        if self.stops:
            moving = [s.still_ms for s in self.stops if s.in_motion]
            found['stops'] = {
                'n': len(self.stops), 'in_motion': len(moving),
                'attempts': sum(s.attempts for s in self.stops),
                'moved': sum(s.moved for s in self.stops),
                'moved_after_rearm_before_reset':
                    sum(not s.still_after_rearm for s in self.stops),
                'still_ms': spread(moving), 'load': spread([s.load for s in self.stops], 2)}
        if self.moves:
            found['moves'] = {'n': sum(self.moves.values()), **self.moves,
                              'load': spread(self.move_loads, 2)}
            found['gaps_ms'] = self.gaps
        found['needless_holds'] = dict(self.needless)
        found['trials_not_made'] = dict(self.failed)
        found['graphs'], found['deaf'] = len(self.graphs), self.deaf
        found['commits'] = list(dict.fromkeys(graph['commit'] for graph in self.graphs))
        found['seconds'] = round(self.seconds)
        return found

    @property
    def good(self) -> bool:
        """Whether nothing moved against the rules, and everything held in time."""
        return (all(k.still_ms <= LIMIT_MS and not k.moved_again and k.refused
                    for k in self.kills)
                and all(not s.moved and s.still_after_rearm for s in self.stops))


def _kills(kills: Sequence[Kill]) -> dict[str, Any]:
    commands = [k.command_ms for k in kills if k.command_ms is not None]
    return {'n': len(kills), 'last_sign_of_life_ms': spread([k.sign_ms for k in kills]),
            'hold_command_ms': spread(commands),
            'standstill_ms': spread([k.still_ms for k in kills]),
            'travel_rad': spread([k.travel_rad for k in kills], 3),
            'moved_again': sum(k.moved_again for k in kills),
            'not_refused': sum(not k.refused for k in kills),
            'causes': dict(Counter(k.cause for k in kills)),
            'stopped_afterwards': dict(Counter(itertools.chain.from_iterable(
                k.afterwards for k in kills))),
            'load': spread([k.load for k in kills], 2)}


def spread(values: Sequence[float], digits: int = 1) -> dict[str, Any]:
    """Number, median, 95th percentile and maximum; of times, also how many exceed the limit."""
    if not values:
        return {'n': 0}
    ordered = sorted(values)
    at = {'n': len(ordered), 'median': ordered[(len(ordered) - 1) // 2],
          'p95': ordered[min(len(ordered) - 1, -(-95 * len(ordered) // 100) - 1)],
          'max': ordered[-1]}
    rounded: dict[str, Any] = {k: v if k == 'n' else round(v, digits) for k, v in at.items()}
    if digits == 1:
        rounded['over_limit'] = sum(v > LIMIT_MS for v in ordered)
    return rounded
