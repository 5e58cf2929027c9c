"""Selection of the detected instances that exist: a detector sees things where nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sightplan.grounding.instructions.instances import ACCEPT, named
from sightplan.model import Instance, Verdict
from sightplan.queries.detect import DRAWER, OTHER

YES_OF_THING, YES_OF_NOTHING = 0.85, 0.25
"""Probability of "yes" to whether a marked instance is what it was detected as, if it is and if it
is not: between the rates of good and of gullible models, as this one's are not known."""


def with_checks(seen: Sequence[Instance], looks: int, verdicts: Sequence[Verdict],
                ) -> tuple[Instance, ...]:
    """Return the instances that exist rather than not, after a check of each.

    Before the check an instance that k of n looks saw exists with probability (k + 1) / (n + 2),
    Laplace's rule of succession, with k as the sum of the detections' probabilities. An answer
    that cannot tell leaves it at that. The categories of an instance that is kept sum to its
    probability, and instances are named anew.

    Args:
        seen: as ``instances_of`` gives them.
        looks: number of looks.
        verdicts: answer to the check of each instance.
    """
    kept = []
    for one, verdict in zip(seen, verdicts, strict=True):
        exists = (looks * one.exists + 1) / (looks + 2)
        if verdict.says is not None:
            for_it, against = ((YES_OF_THING, YES_OF_NOTHING) if verdict.says else
                               (1 - YES_OF_THING, 1 - YES_OF_NOTHING))
            exists = exists * for_it / (exists * for_it + (1 - exists) * against)
        if exists >= ACCEPT and one.exists > 0:
            scale = exists / one.exists
            kept.append(replace(one, categories={
                name: min(1.0, chance * scale) for name, chance in one.categories.items()}))
    return named(kept)


def described(one: Instance) -> str:
    """Return an instance as it is asked about, for example ``red mug`` or ``top drawer``."""
    kind, _, level = one.category.partition(':')
    if kind == OTHER:
        return one.region.label or 'thing'
    return f'{level} {kind}' if kind == DRAWER else f'{one.colour} {kind}'.strip()
