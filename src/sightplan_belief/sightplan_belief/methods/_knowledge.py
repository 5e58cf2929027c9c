"""Three-valued knowledge of a state: every atom is known true, known false, or unknown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from sightplan.domains import InstantiatedModel
from sightplan.domains.instantiation import AllOf, Ground
from sightplan.model import Action, Atom, Literal, State

Conjunction = tuple[Literal, ...]


class Knowledge:
    """Facts known from answers and from results of actions.

    What an action brought to light counts more than an answer: where a refusal contradicts what
    is known, what came from answers is forgotten. Otherwise the last news counts.

    Args:
        model: what actions do.
        atoms: that may hold; any other is known to be false.
    """

    def __init__(self, model: InstantiatedModel, atoms: Iterable[Atom]) -> None:
        self._model = model
        self._atoms = frozenset(atoms)
        self._known: dict[Atom, bool] = {}
        self._answered: set[Atom] = set()  # known from answers alone
        self._refusals: list[tuple[Conjunction, ...]] = []

    @property
    def refusals(self) -> tuple[tuple[Conjunction, ...], ...]:
        """Conjunctions of each unexplained refusal, one of which must hold."""
        return tuple(self._refusals)

    def value(self, condition: Ground) -> bool | None:
        """Whether a condition holds, by Kleene's logic; None: unknown."""
        if isinstance(condition, Literal):
            value = self._known.get(condition.atom,
                                    None if condition.atom in self._atoms else False)
            return None if value is None else value is condition.positive
        values = [self.value(part) for part in condition.parts]
        decisive = not isinstance(condition, AllOf)  # true decides a disjunction
        if decisive in values:
            return decisive
        return None if None in values else not decisive

    def unknown(self, atom: Atom) -> bool:
        """Whether an atom's value is unknown."""
        return self.value(Literal(atom)) is None

    def assumed(self, assumptions: Mapping[Atom, bool]) -> State:
        """State in which unknown atoms have assumed values, false by default."""
        true = {atom for atom, value in self._known.items() if value}
        true.update(atom for atom, value in assumptions.items() if value and self.unknown(atom))
        return frozenset(true)

    # --- news -----------------------------------------------------------------------------------

    def answer(self, atom: Atom, value: bool) -> None:
        """Take the word of an answer."""
        self._known[atom] = value
        self._answered.add(atom)
        self._explain()

    def know(self, atom: Atom, value: bool) -> None:
        """Take in facts from an action's result, or privileged facts."""
        if atom in self._atoms:
            self._known[atom] = value
            self._answered.discard(atom)

    def executed(self, action: Action) -> None:
        """Take in that an action was carried out: it could be, and has its effects."""
        for literal in self._model.preconditions(action):
            self.know(literal.atom, literal.positive)
        changes: dict[Atom, dict[bool, set[bool | None]]] = {}
        for atom, value, condition in self._model.ground(action).effects:
            chance = self.value(condition)
            if chance is not False and atom in self._atoms:
                changes.setdefault(atom, {True: set(), False: set()})[value].add(chance)
        after: dict[Atom, bool | None] = {}
        for atom, chances in changes.items():
            after[atom] = self._after(self._known.get(atom), chances[True], chances[False])
        for atom, new in after.items():
            if new is None:
                self._forget(atom)
            elif True in changes[atom][new]:
                self.know(atom, new)
        self._refusals = [
            refusal for refusal in self._refusals
            if not any(literal.atom in changes for part in refusal for literal in part)]
        self._explain()

    def refused(self, action: Action) -> None:
        """Take in that an action was not applicable."""
        obstacles = self._model.obstacles(action)
        for doubted in (self._answered, self._known):
            left = self._possible(obstacles)
            if left:
                break
            self._forget(*{literal.atom for part in obstacles for literal in part}
                         .intersection(doubted))
        self._refusals.append(self._possible(obstacles))
        self._explain()

    # --- inside ---------------------------------------------------------------------------------

    @staticmethod
    def _after(old: bool | None, added: Collection[bool | None],
               deleted: Collection[bool | None]) -> bool | None:
        """An atom's value after effects that surely (True) or perhaps (None) happen."""
        if True in added:
            return True
        if None in added:
            return True if old and not deleted else None
        return False if True in deleted or old is False else None

    def _forget(self, *atoms: Atom) -> None:
        for atom in atoms:
            self._known.pop(atom, None)
            self._answered.discard(atom)

    def _possible(self, obstacles: Iterable[Conjunction]) -> tuple[Conjunction, ...]:
        return tuple(part for part in obstacles
                     if not any(self.value(literal) is False for literal in part))

    def _explain(self) -> None:
        """Draw the conclusion of every refusal of which one explanation is left."""
        open_ = self._refusals
        while True:
            self._refusals, before = [], len(open_)
            for refusal in open_:
                left = self._possible(refusal)
                if len(left) == 1:
                    for literal in left[0]:
                        if self.unknown(literal.atom):
                            self.know(literal.atom, literal.positive)
                elif left and not any(all(self.value(literal) for literal in part)
                                      for part in left):
                    self._refusals.append(left)
            open_ = self._refusals
            if len(open_) == before:
                return
