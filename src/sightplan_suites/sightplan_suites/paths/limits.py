"""Limits that a path must keep, and costs that a preference is worth, as data and as short texts.

A path that breaks a limit is *out*: it is never the best, however much speaks for it. A trade-off
is softer: what is wanted of a path is worth a cost up to it ("keep well clear, unless that is
10 m longer"); a path that costs more stays in the comparison, but comes after all that do not.

Both name one of the seven descriptors (``descriptors``), by its name or by a short word:
``length``, ``clearance`` (the least), ``turn`` (the sharpest), ``turning`` (in total),
``sharp_turns``. They are given as texts, ``clearance>=0.5``, ``length<=30``, ``length<=1.2x``
(times that of the shortest path that is offered), ``length<=+10`` (longer than the shortest by
that); as fields of a request of ROS; or they are read from a sentence. Lengths are in the unit of
the map (metres on a robot's grid), angles in degrees.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sightplan.model import InputError
from sightplan_suites.paths.descriptors import NAMES

AT_LEAST, AT_MOST = '>=', '<='
ABSOLUTE, TIMES_LEAST, ABOVE_LEAST = 'absolute', 'times_least', 'above_least'
REFERENCES = (ABSOLUTE, TIMES_LEAST, ABOVE_LEAST)
"""Kinds of a limit's value: the limit itself; a factor of the least value among the paths that are
offered; or how much it is above that."""

LEFT, RIGHT = 'left', 'right'
SIDES = ('', LEFT, RIGHT)

SHORT_NAMES = {
    'clearance': 'minimum_clearance', 'length': 'path_length', 'turn': 'maximum_angle',
    'turning': 'smoothness', 'sharp': 'sharp_turns', 'turns': 'sharp_turns'}
"""Short words for descriptors, beside their names."""

_ANGLES = ('smoothness', 'maximum_angle')
_UNITS = {'': 1.0, 'm': 1.0, 'cm': 0.01, 'mm': 0.001, 'km': 1000.0}
_ANGLE_UNITS = {'': 1.0, 'deg': 1.0, '°': 1.0}
_LIMIT = re.compile(r'\s*(\w+)\s*(>=|<=|=>|=<)\s*(\+?)\s*([0-9.eE-]+)\s*(x|%|[a-z]{1,3}|°)?\s*$')
_COST = re.compile(r'\s*(\w+)\s*(\+)\s*([0-9.eE-]+)\s*(%|[a-z]{1,3}|°)?\s*$')
_LIMIT_FORM = ('NAME>=VALUE, NAME<=VALUE, NAME<=FACTORx (of the least that is offered) or '
               'NAME<=+MORE (than the least that is offered, or MORE%)')


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on one descriptor.

    Attributes:
        name: of the descriptor, one of ``descriptors.NAMES``.
        relation: ``AT_LEAST`` or ``AT_MOST``.
        value: the limit, a factor or a difference, see ``reference``.
        reference: one of ``REFERENCES``; relative ones only with ``AT_MOST``.
    """

    name: str
    relation: str
    value: float
    reference: str = ABSOLUTE

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            InputError: there is no such descriptor, relation or reference, or the value cannot
                be a limit.
        """
        _check_name(self.name, 'limit')
        if self.relation not in (AT_LEAST, AT_MOST):
            raise InputError(f'limit of {self.name}: relation {self.relation!r} (give '
                             f'{AT_LEAST} or {AT_MOST})')
        if self.reference not in REFERENCES:
            raise InputError(f'limit of {self.name}: reference {self.reference!r} (choose among '
                             f'{", ".join(REFERENCES)})')
        if self.reference != ABSOLUTE and self.relation != AT_MOST:
            raise InputError(f'limit of {self.name}: {self.reference} needs {AT_MOST} (give an '
                             'absolute value)')
        least = 1.0 if self.reference == TIMES_LEAST else 0.0
        if not (math.isfinite(self.value) and self.value >= least):
            raise InputError(f'limit of {self.name}: {self.value:g} (give a finite number, '
                             f'{least:g} or more)')

    def bound(self, least: float) -> float:
        """The value that is not to be passed.

        Args:
            least: the least value of the descriptor among the paths that are offered.
        """
        return {ABSOLUTE: self.value, TIMES_LEAST: self.value * least,
                ABOVE_LEAST: self.value + least}[self.reference]

    @property
    def text(self) -> str:
        """The limit as ``limit_from_text`` reads it."""
        value = {ABSOLUTE: f'{self.value:g}', TIMES_LEAST: f'{self.value:g}x',
                 ABOVE_LEAST: f'+{self.value:g}'}[self.reference]
        return f'{self.name}{self.relation}{value}'


@dataclass(frozen=True, slots=True)
class TradeOff:
    """The most that what is wanted may cost, compared with the cheapest path that is not out.

    Attributes:
        cost: the descriptor that it costs, mostly ``path_length``.
        most: how much more of it than the cheapest path has is still worth it.
        relative: whether ``most`` is a fraction of what the cheapest path has.
    """

    cost: str
    most: float
    relative: bool = False

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            InputError: there is no such descriptor, or the value is no finite number from 0 on.
        """
        _check_name(self.cost, 'trade-off')
        if not (math.isfinite(self.most) and self.most >= 0):
            raise InputError(f'trade-off: {self.cost} {self.most:g} more (give a finite number '
                             'from 0 on)')

    def bound(self, least: float) -> float:
        """The greatest cost that is worth it.

        Args:
            least: the cost of the cheapest path that is not out.
        """
        return least * (1 + self.most) if self.relative else least + self.most

    @property
    def text(self) -> str:
        """The trade-off as ``trade_off_from_text`` reads it."""
        more = f'{100 * self.most:g}%' if self.relative else f'{self.most:g}'
        return f'{self.cost}+{more}'


@dataclass(frozen=True, slots=True)
class PathLimits:
    """All that a path must keep, and what a preference may cost.

    Attributes:
        limits: on descriptors.
        keep_out: names of areas that the robot must not enter (``areas``).
        keep_side: ``'right'`` or ``'left'``: the side that the robot must keep to (``sides``);
            ``''``: either.
        trade_offs: the most that what is wanted may cost; a path beyond one is not out, but comes
            after all that keep them.
    """

    limits: tuple[Limit, ...] = ()
    keep_out: tuple[str, ...] = ()
    keep_side: str = ''
    trade_offs: tuple[TradeOff, ...] = ()

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            InputError: the side is none, or an area has no name.
        """
        if self.keep_side not in SIDES:
            raise InputError(f'keep_side {self.keep_side!r} (give {LEFT} or {RIGHT})')
        if not all(name.strip() for name in self.keep_out):
            raise InputError('keep_out: an area has no name (name it)')

    def __bool__(self) -> bool:
        """Whether there is any limit or trade-off."""
        return self != NO_LIMITS

    def joined(self, other: PathLimits) -> PathLimits:
        """Union of two sets of limits, each limit once.

        Raises:
            InputError: one says left and the other right.
        """
        if self.keep_side and other.keep_side and self.keep_side != other.keep_side:
            raise InputError(f'keep_side: {self.keep_side} and {other.keep_side} (give one)')
        return PathLimits(
            tuple(dict.fromkeys((*self.limits, *other.limits))),
            tuple(dict.fromkeys((*self.keep_out, *other.keep_out))),
            self.keep_side or other.keep_side,
            tuple(dict.fromkeys((*self.trade_offs, *other.trade_offs))))

    def to_json(self) -> dict[str, Any]:
        """The limits as JSON data, in the texts that options have."""
        return {'limits': [item.text for item in self.limits], 'keep_out': list(self.keep_out),
                'keep_side': self.keep_side, 'unless': [item.text for item in self.trade_offs]}


NO_LIMITS = PathLimits()


def limits_from_texts(limits: Sequence[str] = (), keep_out: Sequence[str] = (),
                      keep_side: str = '', unless: Sequence[str] = ()) -> PathLimits:
    """Limits from texts, as options give them.

    Args:
        limits: such as ``clearance>=0.5``; see the module.
        keep_out: names of areas.
        keep_side: ``'left'``, ``'right'`` or ``''``.
        unless: trade-offs, such as ``length+10`` or ``length+20%``.

    Raises:
        InputError: a text has another form, or names no descriptor.
    """
    return PathLimits(tuple(map(limit_from_text, limits)), tuple(keep_out), keep_side,
                      tuple(map(trade_off_from_text, unless)))


def limit_from_text(text: str) -> Limit:
    """A limit from a text such as ``length<=30``, ``clearance>=50cm`` or ``length<=1.2x``.

    Raises:
        InputError: the text has another form, or names no descriptor.
    """
    found = _LIMIT.match(text)
    if found is None:
        raise InputError(f'limit {text!r} (write {_LIMIT_FORM})')
    word, sign, plus, number, unit = found.groups()
    name, relation = descriptor_name(word, f'limit {text!r}'), _relation(sign)
    value = _number(number, f'limit {text!r}')
    if unit == 'x' or unit == '%':
        if (unit == 'x') == bool(plus):
            raise InputError(f'limit {text!r} (write {_LIMIT_FORM})')
        factor = value if unit == 'x' else 1 + value / 100
        return Limit(name, relation, factor, TIMES_LEAST)
    value *= _factor(name, unit, f'limit {text!r}')
    return Limit(name, relation, value, ABOVE_LEAST if plus else ABSOLUTE)


def trade_off_from_text(text: str) -> TradeOff:
    """A trade-off from a text such as ``length+10``, ``length+10m`` or ``length+20%``.

    Raises:
        InputError: the text has another form, or names no descriptor.
    """
    found = _COST.match(text)
    if found is None:
        raise InputError(f'unless {text!r} (write NAME+MORE or NAME+MORE%, such as length+10)')
    word, _, number, unit = found.groups()
    name, value = descriptor_name(word, f'unless {text!r}'), _number(number, f'unless {text!r}')
    if unit == '%':
        return TradeOff(name, value / 100, relative=True)
    return TradeOff(name, value * _factor(name, unit, f'unless {text!r}'))


def descriptor_name(word: str, where: str) -> str:
    """The name of a descriptor from its name or from a short word.

    Raises:
        InputError: there is no such descriptor; names ``where`` and all names.
    """
    name = SHORT_NAMES.get(word, word)
    _check_name(name, where)
    return name


def _check_name(name: str, where: str) -> None:
    if name not in NAMES:
        raise InputError(f'{where}: {name!r} is not a descriptor (choose among '
                         f'{", ".join((*NAMES, *SHORT_NAMES))})')


def _relation(sign: str) -> str:
    return {'=>': AT_LEAST, '=<': AT_MOST}.get(sign, sign)


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f'{where}: {text!r} is not a number') from None


def _factor(name: str, unit: str | None, where: str) -> float:
    units = _ANGLE_UNITS if name in _ANGLES else {'': 1.0} if name == 'sharp_turns' else _UNITS
    if (unit or '') not in units:
        raise InputError(f'{where}: unit {unit!r} (give '
                         f'{", ".join(name for name in units if name) or "none"})')
    return units[unit or '']
