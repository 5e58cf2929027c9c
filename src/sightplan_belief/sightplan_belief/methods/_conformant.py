"""Likely joint states of independent atoms, and one plan that works in all of them.

States are rows of a matrix of truth values. A plan is *conformant* for some states if it leads
from each of them to the goal, where the preconditions of an action are conditions of its effects:
a step that cannot be done does nothing.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import InstantiatedModel
from sightplan.domains.batches import BatchModel
from sightplan.model import Action, Atom, Literal, State

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Plan = tuple[Action, ...]


def likely_states(probabilities: Sequence[float], mass: float, limit: int,
                  ) -> tuple[Bools, Floats]:
    """The most probable joint states of independent atoms, best first.

    They are enumerated by the atoms in which they differ from the best one: by the sum of these
    atoms' log-odds (absolute), which is by how much they are less probable.

    Args:
        probabilities: P(true) of each of n atoms, in (0, 1).
        mass: states are collected until they hold this much of the probability.
        limit: at most so many states; with many undecided atoms they hold less than ``mass``.

    Returns:
        (K, n) the states, and (K,) their probabilities.
    """
    p = np.asarray(probabilities, np.float64)
    best = p > 0.5
    costs = np.abs(np.log(p) - np.log1p(-p))
    order = np.argsort(costs, kind='stable')
    top = float(np.log(np.where(best, p, 1.0 - p)).sum())
    states: list[Bools] = []
    weights: list[float] = []
    held = 0.0
    # Each set of flipped atoms is made once: from the one that lacks its last atom, or has the
    # atom before instead.
    queue: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    while queue and len(states) < limit and held < mass:
        cost, flipped = heapq.heappop(queue)
        state = best.copy()
        state[order[list(flipped)]] ^= True
        states.append(state)
        weights.append(math.exp(top - cost))
        held += weights[-1]
        after = flipped[-1] + 1 if flipped else 0
        if after < len(order):
            step = float(costs[order[after]])
            heapq.heappush(queue, (cost + step, (*flipped, after)))
            if flipped:
                heapq.heappush(queue, (cost + step - float(costs[order[after - 1]]),
                                       (*flipped[:-1], after)))
    return np.array(states, np.bool_).reshape(-1, len(p)), np.array(weights)


class ConformantPlanner:
    """Makes conformant plans out of plans for single states.

    The plan so far is followed from all states; of those that miss the goal one is chosen, and a
    plan from where it is left is appended, and so on. What the whole does not need is then
    taken out again. This is done twice, choosing the first and the last state; the shorter plan
    counts. Every plan that is returned was followed from every state.

    Args:
        model: what actions do.
        atoms: the columns of states; any other atom counts as false.
        goal: what must hold in the end.
        plan: a plan from one state to the goal; None if there is none.
        rounds: how many plans are put together at most.
    """

    def __init__(self, model: InstantiatedModel, atoms: Sequence[Atom], goal: Sequence[Literal],
                 plan: Callable[[State], Plan | None], rounds: int = 24) -> None:
        self._batch = BatchModel(model, atoms)
        self._atoms, self._goal, self._plan, self._rounds = tuple(atoms), goal, plan, rounds

    def after(self, plan: Sequence[Action], states: Bools) -> Bools:
        """States (K, n) after a plan; a step does nothing where it is not applicable."""
        for action in plan:
            states = self._batch.effects(action, states, self._batch.applicable(action, states))
        return states

    def executed(self, action: Action, states: Bools) -> Bools:
        """States (J, n) after an action, of those (K, n) in which it is applicable."""
        return self._batch.effects(action, states[self._batch.applicable(action, states)])

    def reached(self, states: Bools) -> Bools:
        """(K,) in which states the goal holds."""
        return self._batch.holds(self._goal, states)

    def conformant(self, plan: Sequence[Action], states: Bools) -> bool:
        """Whether a plan leads to the goal from all states (K, n)."""
        return bool(self.reached(self.after(plan, states)).all())

    def solve(self, states: Bools) -> tuple[Plan, int] | None:
        """Find a plan that works in all states or, failing that, in the first ones.

        Args:
            states: (K, n), best first, K > 0.

        Returns:
            the plan, and in how many of the first states it works; None if there is not even
            one from the first state.
        """
        count = len(states)
        while count:
            made = (self._repaired(states[:count], chosen) for chosen in (0, -1))
            found = [self.pruned(plan, states[:count]) for plan in made if plan is not None]
            if found:
                return min(found, key=len), count
            count //= 2
        return None

    def _repaired(self, states: Bools, chosen: int) -> Plan | None:
        plan: Plan = ()
        for _ in range(self._rounds + 1):
            ends = self.after(plan, states)
            missed = np.flatnonzero(~self.reached(ends))
            if not len(missed):
                return plan
            end = ends[missed[chosen]]
            more = self._plan(frozenset(
                atom for atom, true in zip(self._atoms, end, strict=True) if true))
            if not more:
                return None
            plan += more
        return None

    def pruned(self, plan: Plan, states: Bools) -> Plan:
        """A plan without steps that it works without, judged from the last step to the first.

        This is repeated until no single step can be left out.

        A plan that is not conformant for the states (K, n) comes back as it is.
        """
        if not self.conformant(plan, states):
            return plan
        while True:
            before = len(plan)
            for number in reversed(range(before)):
                shorter = plan[:number] + plan[number + 1:]
                if self.conformant(shorter, states):
                    plan = shorter
            if len(plan) == before:
                return plan
