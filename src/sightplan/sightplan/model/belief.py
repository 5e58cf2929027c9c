"""The agent's belief about the world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sightplan.model.symbols import Atom, State


@dataclass(frozen=True, slots=True)
class Belief:
    """Probability per atom; an atom that is not mentioned is unknown, not false.

    Attributes:
        probabilities: P(atom is true) in [0, 1].
        state: the state the agent acts on (its point estimate), atoms true in it.
    """

    state: State
    probabilities: Mapping[Atom, float] = field(default_factory=dict)
