"""Apply actions to many states at once, given as the rows of a matrix of truth values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.domains.instantiation import AllOf, Ground, InstantiatedModel
from sightplan.model import Action, Atom, Literal

Bools = NDArray[np.bool_]
_Test = Callable[[Bools], Bools]
"""Function from (K, n) states to (K,) truth values."""


@dataclass(frozen=True, slots=True)
class _Effects:
    """Compiled effects of an action that set atoms to one value.

    Attributes:
        value: what they set atoms to.
        always: columns that are set whatever the state.
        simple: effects whose conditions are conjunctions, by the number of their literals.
        others: other conditions, each with the columns that it sets.
    """

    value: bool
    always: NDArray[np.intp]
    simple: tuple[_Conjunctions, ...]
    others: tuple[tuple[_Test, NDArray[np.intp]], ...]


@dataclass(frozen=True, slots=True)
class _Conjunctions:
    """C conditions of m literals each, and the columns that they set.

    They are evaluated together: an action of many objects has dozens of them.

    Attributes:
        columns, wanted: (C, m) columns of the literals, and whether they are positive.
        sources: (P,) the condition of each of P effects, in the order of the columns that they
            set.
        starts: (S,) where the effects on each column that is set begin.
        targets: (S,) these columns.
    """

    columns: NDArray[np.intp]
    wanted: Bools
    sources: NDArray[np.intp]
    starts: NDArray[np.intp]
    targets: NDArray[np.intp]

    def set_in(self, values: Bools) -> Bools:
        """Return in which of (K, n) states each of the columns is set, (K, S)."""
        true = (values[:, self.columns] == self.wanted).all(axis=-1)
        return np.logical_or.reduceat(true[:, self.sources], self.starts, axis=1)


@dataclass(frozen=True, slots=True)
class _Batch:
    """A compiled action: its precondition, and its effects by value (False first)."""

    applicable: _Test
    effects: tuple[_Effects, ...]


class BatchModel:
    """The transition model of a problem for states given as rows.

    Args:
        model: what actions do.
        atoms: the columns of the matrices; an atom that is none of them counts as false.
    """

    def __init__(self, model: InstantiatedModel, atoms: Sequence[Atom]) -> None:
        self._model = model
        self._number = {atom: i for i, atom in enumerate(atoms)}
        self._compiled: dict[Action, _Batch] = {}

    def applicable(self, action: Action, values: Bools) -> Bools:
        """Return for each of the states (K, n) whether an action is applicable, (K,)."""
        return self._batch(action).applicable(values)

    def effects(self, action: Action, values: Bools, where: Bools | None = None) -> Bools:
        """Return the states (K, n) after an action.

        Args:
            action: its effects are as ``InstantiatedModel.effects`` says, applicable or not.
            values: (K, n) the states before it.
            where: (K,) in which states it happens; the others stay; None: in all.
        """
        after = values.copy()
        for effects in self._batch(action).effects:
            if effects.always.size:
                if where is None:
                    after[:, effects.always] = effects.value
                else:
                    after[np.flatnonzero(where)[:, None], effects.always] = effects.value
            for part in effects.simple:
                chosen = part.set_in(values)
                if where is not None:
                    chosen &= where[:, None]
                kept = after[:, part.targets]
                after[:, part.targets] = kept | chosen if effects.value else kept & ~chosen
            for test, columns in effects.others:
                chosen = test(values) if where is None else test(values) & where
                after[np.flatnonzero(chosen)[:, None], columns] = effects.value
        return after

    def set_by(self, action: Action, predicate: str, value: bool) -> NDArray[np.intp]:
        """Return the columns of a predicate's atoms that an action may set to ``value``."""
        effects = self._model.ground(action).effects
        return np.array(sorted({self._number[atom] for atom, set_to, _ in effects
                                if atom.predicate == predicate and set_to is value
                                and atom in self._number}), np.intp)

    def may_set(self, action: Action) -> NDArray[np.intp]:
        """Return the columns that an action may set."""
        return np.array(sorted({self._number[atom] for atom, _, _ in
                                self._model.ground(action).effects if atom in self._number}),
                        np.intp)

    def holds(self, literals: Sequence[Literal], values: Bools) -> Bools:
        """Return for each of the states (K, n) whether all literals hold, (K,)."""
        return self._test(AllOf(tuple(literals)))(values)

    def test(self, literals: Sequence[Literal]) -> Callable[[Bools], Bools]:
        """Return a function that tells for each of (K, n) states whether all literals hold."""
        return self._test(AllOf(tuple(literals)))

    def _batch(self, action: Action) -> _Batch:
        found = self._compiled.get(action)
        if found is None:
            ground = self._model.ground(action)
            effects = []
            for value in (False, True):  # where an atom is both deleted and added, it is added
                by_condition: dict[Ground, list[int]] = {}
                for atom, set_to, condition in ground.effects:
                    if set_to is value and atom in self._number:
                        by_condition.setdefault(condition, []).append(self._number[atom])
                effects.append(self._effects(value, by_condition))
            found = self._compiled[action] = _Batch(
                self._test(ground.precondition), tuple(effects))
        return found

    def _effects(self, value: bool, by_condition: dict[Ground, list[int]]) -> _Effects:
        """Compile effects, given as the columns that they set under each condition."""
        always = np.array(by_condition.pop(AllOf(), []), np.intp)
        by_size: dict[int, list[tuple[tuple[Literal, ...], list[int]]]] = {}
        others = []
        for condition, columns in by_condition.items():
            parts = condition.parts if isinstance(condition, AllOf) else (condition,)
            literals = tuple(part for part in parts if isinstance(part, Literal))
            if len(literals) < len(parts):
                others.append((self._test(condition), np.array(columns, np.intp)))
            elif not any(part.positive and part.atom not in self._number for part in literals):
                known = tuple(part for part in literals if part.atom in self._number)
                by_size.setdefault(len(known), []).append((known, columns))
        return _Effects(value, always, tuple(map(self._conjunctions, by_size.values())),
                        tuple(others))

    def _conjunctions(self, parts: Sequence[tuple[tuple[Literal, ...], list[int]]],
                      ) -> _Conjunctions:
        """Compile conditions with equally many literals, each with the columns that it sets."""
        shape = len(parts), len(parts[0][0])
        pairs = sorted((column, number) for number, (_, columns) in enumerate(parts)
                       for column in columns)
        targets, starts = np.unique([column for column, _ in pairs], return_index=True)
        return _Conjunctions(
            np.array([[self._number[literal.atom] for literal in literals]
                      for literals, _ in parts], np.intp).reshape(shape),
            np.array([[literal.positive for literal in literals]
                      for literals, _ in parts], np.bool_).reshape(shape),
            np.array([number for _, number in pairs], np.intp), starts, targets)

    def _test(self, condition: Ground) -> _Test:
        if isinstance(condition, Literal):
            return self._all_of((condition,), ())
        literals = tuple(part for part in condition.parts if isinstance(part, Literal))
        others = tuple(self._test(part) for part in condition.parts
                       if not isinstance(part, Literal))
        return (self._all_of if isinstance(condition, AllOf) else self._any_of)(literals, others)

    def _all_of(self, literals: Sequence[Literal], others: Sequence[_Test]) -> _Test:
        if any(literal.positive and literal.atom not in self._number for literal in literals):
            return lambda values: np.zeros(len(values), np.bool_)
        columns, wanted = self._known(literals)

        def test(values: Bools) -> Bools:
            found: Bools = (values[:, columns] == wanted).all(axis=1)
            for other in others:
                found &= other(values)
            return found
        return test

    def _any_of(self, literals: Sequence[Literal], others: Sequence[_Test]) -> _Test:
        if any(not literal.positive and literal.atom not in self._number for literal in literals):
            return lambda values: np.ones(len(values), np.bool_)
        columns, wanted = self._known(literals)

        def test(values: Bools) -> Bools:
            found: Bools = (values[:, columns] == wanted).any(axis=1)
            for other in others:
                found |= other(values)
            return found
        return test

    def _known(self, literals: Sequence[Literal]) -> tuple[NDArray[np.intp], Bools]:
        known = [literal for literal in literals if literal.atom in self._number]
        return (np.array([self._number[literal.atom] for literal in known], np.intp),
                np.array([literal.positive for literal in known], np.bool_))
