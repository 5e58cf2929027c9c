"""Reliability of a model that points at things and that checks marked ones.

Its rates are uncertain, so they are a weighted grid: all that is believed is integrated over it,
and each target changes its weights, whether or not anybody tells what was right.

Without anything learned the hit rate is about that of one of 13 published models, each as likely
as the others; of persistence nothing is known; and a checker is better than chance, and rather
alike about right and about wrong places.

Where nobody tells what was right, how often a model says "yes" to a wrong place is what answers
tell least about, because asking ends when they agree. Outcomes or labelled targets settle it.

How often a model points at something although the target is not there (a false alarm), and how
often it says "not there" although it is, Point-It-Out does not measure: it asks only for what is
there. So false alarms are taken to be anything from rare to the rule, and of misses on targets
that are there a few hundredths to a third are "not there".
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PUBLISHED = {
    'claude-3.7': 0.122, 'gemini-2.0-flash': 0.232, 'gemini-2.5-flash': 0.192,
    'gemini-2.5-pro': 0.301, 'gpt-4o': 0.151, 'gpt-4o-mini': 0.093, 'gpt-o3': 0.170,
    'gpt-o4-mini': 0.111, 'molmo-7b': 0.533, 'qwen2.5-vl': 0.409, 'robobrain': 0.033,
    'robopoint': 0.342, 'roborefer': 0.581}
"""Average of S1 of Point-It-Out (arXiv 2509.25794, Table 7).

Molmo, RoboPoint and RoboRefer point: theirs are hit rates. The others draw boxes: theirs are mean
normalised IoUs, which are a little below the rate at which a box is around the right thing.
"""

_PSEUDO_ASKINGS = 10.0
"""Weight of a published rate for other people's pictures [askings]."""

_LEAST_WEIGHT = 1e-6
"""Weight relative to the largest below which rates are dropped."""

_SILENT = np.array([0.02, 0.1, 0.3])
"""Probabilities, all the same beforehand, that a miss on a target that is there is "not there"."""
_FALSE_ALARM = np.array([0.05, 0.15, 0.3, 0.45, 0.6, 0.8, 0.95])
"""Rates of false alarms, all as likely beforehand."""

_PLACES = np.array([48.0, 1.5, 0.5])
"""Prior counts: 96 of 100 targets are pieces, 3 were missed, 1 is absent. The last one counts
only where no prior of being there is given (``believe``)."""

_HIT = np.linspace(0.025, 0.975, 20)
_REPEAT = np.linspace(0.0, 0.95, 20)
_CONFUSABLE = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
_CORRECT = np.array([0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.825, 0.85, 0.875, 0.9, 0.925, 0.95, 0.975])
_CHECK_REPEAT = np.array([0.0, 0.25, 0.5, 0.8, 0.95])
_ALIKE = 0.7
"""Standard deviation of the difference between a checker's two rates [logits]."""


@dataclass(frozen=True, eq=False)
class PointerRates:
    """Rates of a model's pointing, with their weights.

    Attributes:
        hit: (C,) probability that a place is on what was asked for.
        repeat: (C,) probability that an asking gets the answer of the asking before it, whatever
            that was; else the answer is drawn afresh.
        confusable: (C,) probability that a wrong place is another piece.
        silent: (C,) probability that a miss on a target that is there is no place, but the reply
            that it is not there.
        weight: (C,) probability of these four, in sum 1.
    """

    hit: Floats
    repeat: Floats
    confusable: Floats
    silent: Floats
    weight: Floats

    @classmethod
    def default(cls) -> Self:
        """Rates of an unknown model: it is taken to be like the published ones."""
        hit, repeat, confusable, silent = _grid(_HIT, _REPEAT, _CONFUSABLE, _SILENT)
        rates = np.array(list(PUBLISHED.values()))[:, None]
        densities = hit ** (_PSEUDO_ASKINGS * rates) * (1 - hit) ** (_PSEUDO_ASKINGS * (1 - rates))
        weight = (densities / densities.sum(axis=1, keepdims=True)).mean(axis=0)
        return cls(hit, repeat, confusable, silent, weight / weight.sum())

    @classmethod
    def known(cls, hit: float, repeat: float, confusable: float = 0.5,
              silent: float = 0.1) -> Self:
        """The rates of a model that are beyond doubt."""
        return cls(*(np.array([value]) for value in (hit, repeat, confusable, silent, 1.0)))

    def means(self) -> dict[str, float]:
        """Expected value of each rate."""
        return _means(self)


@dataclass(frozen=True, eq=False)
class AlarmRates:
    """Rates of pointing at something although the target is not there, with their weights.

    Attributes:
        false_alarm: (C,) probability that a model points at something all the same.
        weight: (C,) probability of this rate, in sum 1.
    """

    false_alarm: Floats
    weight: Floats

    @classmethod
    def default(cls) -> Self:
        """Rates of an unknown model: anything from rare to the rule."""
        return cls(_FALSE_ALARM.copy(), np.full(len(_FALSE_ALARM), 1 / len(_FALSE_ALARM)))

    @classmethod
    def known(cls, false_alarm: float) -> Self:
        """A rate that is beyond doubt."""
        return cls(np.array([false_alarm]), np.array([1.0]))

    def means(self) -> dict[str, float]:
        """Expected value of the rate."""
        return _means(self)


@dataclass(frozen=True, eq=False)
class CheckerRates:
    """Rates of a model's yes/no answers, with their weights.

    They are about a marked place (is it right?), or about existence (is there such a thing?).

    Attributes:
        yes_right: (C,) probability of "yes" about the right place, or about a thing that is there.
        no_wrong: (C,) probability of "no" about a wrong place, or about a thing that is not there.
        repeat: (C,) probability that it answers as at the last time about the same.
        weight: (C,) probability of these three, in sum 1.
    """

    yes_right: Floats
    no_wrong: Floats
    repeat: Floats
    weight: Floats

    @classmethod
    def default(cls) -> Self:
        """Rates of an unknown model: better than chance, and similar to one another."""
        from scipy.special import logit  # slow to import

        yes_right, no_wrong, repeat = _grid(_CORRECT, _CORRECT, _CHECK_REPEAT)
        weight = np.exp(-0.5 * ((logit(yes_right) - logit(no_wrong)) / _ALIKE) ** 2)
        return cls(yes_right, no_wrong, repeat, weight / weight.sum())

    @classmethod
    def known(cls, yes_right: float, no_wrong: float, repeat: float) -> Self:
        """The rates of a model that are beyond doubt."""
        return cls(*(np.array([value]) for value in (yes_right, no_wrong, repeat, 1.0)))

    def means(self) -> dict[str, float]:
        """Expected value of each rate."""
        return _means(self)


@dataclass(frozen=True, eq=False)
class Reliability:
    """Reliability of a model, as far as it is known.

    Attributes:
        pointer: of its pointing at what is there.
        checker: of its checking of marked places.
        places: (3,) how many targets are taken to have been one of the pieces, elsewhere in the
            picture (a piece was missed), and not in the picture: a Dirichlet distribution.
        existence: of its answers on whether there is such a thing.
        alarm: of its pointing at what is not there.
    """

    pointer: PointerRates
    checker: CheckerRates
    places: Floats
    existence: CheckerRates = dataclasses.field(default_factory=CheckerRates.default)
    alarm: AlarmRates = dataclasses.field(default_factory=AlarmRates.default)

    @classmethod
    def default(cls) -> Self:
        """Reliability of a model before anything was learned."""
        return cls(PointerRates.default(), CheckerRates.default(), _PLACES.copy())

    def after(self, pointer: Floats, checker: Floats, existence: Floats, alarm: Floats,
              places: Floats) -> Self:
        """Update the reliability with one more target.

        Args:
            pointer: (C,) weights of the pointer's rates.
            checker: (D,) of the checker's.
            existence: (E,) of the answers on existence.
            alarm: (F,) of the rates of false alarms.
            places: (3,) probability of each kind of place.
        """
        return dataclasses.replace(
            self, pointer=_likely(self.pointer, pointer), checker=_likely(self.checker, checker),
            existence=_likely(self.existence, existence), alarm=_likely(self.alarm, alarm),
            places=self.places + places)

    def means(self) -> dict[str, dict[str, float]]:
        """Expected rates, for people."""
        piece, missed, absent = (self.places / self.places.sum()).tolist()
        return {**{part: getattr(self, part).means() for part in _PARTS},
                'places': {'piece': piece, 'missed': missed, 'absent': absent}}


_Rates = TypeVar('_Rates', PointerRates, CheckerRates, AlarmRates)
_PARTS: Mapping[str, Any] = {'pointer': PointerRates, 'checker': CheckerRates,
                             'existence': CheckerRates, 'alarm': AlarmRates}
"""Parts of a reliability that are weighted rates, and their classes."""


def _means(rates: PointerRates | CheckerRates | AlarmRates) -> dict[str, float]:
    """Expected value of each rate."""
    return {field.name: float(rates.weight @ getattr(rates, field.name))
            for field in dataclasses.fields(rates) if field.name != 'weight'}


def _grid(*axes: Floats) -> list[Floats]:
    """All combinations of values, a column for each axis."""
    return list(np.array(list(itertools.product(*axes))).T)


def _likely(rates: _Rates, weight: Floats) -> _Rates:
    """Rates with new weights; rates with a negligible weight are dropped."""
    keep = weight > _LEAST_WEIGHT * weight.max()
    kept = {field.name: getattr(rates, field.name)[keep] for field in dataclasses.fields(rates)}
    return dataclasses.replace(rates, **{**kept, 'weight': weight[keep] / weight[keep].sum()})
