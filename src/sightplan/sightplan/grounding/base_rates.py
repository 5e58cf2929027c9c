"""How often atoms are true before anybody has said anything, by what is in view.

Most of what could be true of things is false, and what is in view already tells a lot: a thing that
is nowhere to be seen is likely to be inside of something closed. A domain's ``base_rates.yaml``
says how likely, learned by ``sightplan base-rates`` from homes that are in no split.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from sightplan.domains import Domain
from sightplan.model import Atom, Observation
from sightplan.model.reading import Record, read_file

FILE = 'base_rates.yaml'
ANY = 'any'

_Rate = Annotated[float, Field(gt=0.0, lt=1.0)]
_Table = dict[str, dict[str, _Rate]]


class _File(Record):
    start: _Table = {}
    later: _Table = {}


@dataclass(frozen=True, slots=True)
class BaseRates:
    """Prior probabilities of atoms.

    Attributes:
        start: when an episode begins: predicate to situation to P(true). A situation has a + for
            every argument that is in view and a - for every one that is not; ``any`` is whatever
            is in view.
        later: the same over all states of random rollouts.
        known: whether the domain has such a file.
    """

    start: Mapping[str, Mapping[str, float]]
    later: Mapping[str, Mapping[str, float]]
    known: bool

    def prior(self, atoms: Iterable[Atom], seen: Observation | None, start: bool = True,
              ) -> dict[Atom, float]:
        """P(atom is true) before any answer.

        Args:
            atoms: which.
            seen: what is in view; None: nothing is known about that.
            start: whether an episode is just beginning.
        """
        visible = None if seen is None else seen.visible_objects
        found = {}
        for atom in atoms:
            rates = (self.start if start else self.later).get(atom.predicate, {})
            situation = ANY if visible is None else ''.join(
                '+' if name in visible else '-' for name in atom.args)
            if self.known:
                found[atom] = rates.get(situation, rates.get(ANY, 0.5))
            elif visible is not None and '-' in situation:
                found[atom] = 0.2
        return found


def read_base_rates(domain: Domain) -> BaseRates:
    """A domain's base rates; without a file half of all atoms are true.

    Raises:
        InputError: the file is malformed; names file and field.
    """
    path = domain.folder / FILE
    if not path.is_file():
        return BaseRates({}, {}, False)
    found = read_file(_File, path)
    return BaseRates(found.start, found.later, True)
