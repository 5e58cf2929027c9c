"""Settings that say how often a model is asked to point at a target."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.model.settings import param

PRIOR_IN_SUITES = 1.0
"""Probability that a sample's target is in its picture: suites ask for what pictures show."""


@dataclass(frozen=True, slots=True)
class PointerSettings:
    """Settings for pointing: number of questions, probability thresholds and checks."""

    max_askings: int = param(9, 'Most askings about one target, to point and to check together; '
                             '1: the model points once', low=1, high=1000)
    accept: float = param(0.95, 'Probability from which a place counts as sure, and asking ends',
                          low=0.0, high=1.0)
    least: float = param(0.5, 'With a lower probability one had better do nothing', low=0.0,
                         high=1.0)
    prior_present: float = param(
        0.9, 'Probability that a target is in the picture, before the model is asked: .9 where '
        'people ask for what they believe to be there, .5 where nothing speaks for either',
        low=0.0, high=1.0)
    checks: bool = param(True, 'Whether the model is asked if marked places are right, and '
                         'whether there is such a thing')
    mark: str = param('piece', 'What is marked for a check: the piece (for things), or a point on '
                      'it (for parts of things and places to act on)', choices=('piece', 'point'))
    views: bool = param(True, 'Whether the model is also shown closer views of all pieces')
