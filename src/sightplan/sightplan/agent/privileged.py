"""Facts about what is out of view, from ground truth: the source behind ``PrivilegedSource``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sightplan.model import (
    Atom,
    EpisodeSpec,
    Observation,
    Privileged,
    State,
    TruthSource,
    WorldError,
)


class FactsFromTruth:
    """Provides all that is true and false of things out of view, in one episode.

    It stands where the ground truth is: in the process of the world. The wrapper
    ``agent.worlds.PrivilegedFacts``, which the episode loop puts around the world, decides when it
    is asked.

    Args:
        truth: of the world that shows the episode.
        spec: of the episode.
        atoms: those of its problem that may hold (``Domain.worth_asking``).
    """

    def __init__(self, truth: TruthSource, spec: EpisodeSpec, atoms: Sequence[Atom]) -> None:
        self._truth, self._spec, self._atoms = truth, spec, tuple(atoms)
        self._first: State | None = None

    def provide(self, observation: Observation) -> Mapping[Atom, bool]:
        """Return facts by atom (``PrivilegedSource``).

        Atoms whose objects are all in view are left out, except with ``Privileged.REFERENCE``;
        there the facts are those of the problem file as long as the world is as at first.
        """
        if self._spec.privileged is Privileged.NONE:
            raise WorldError(f'episode {self._spec.id} grants no facts (its privileged '
                             f'level is {Privileged.NONE.value})')
        if self._spec.privileged is Privileged.REFERENCE:
            return self._as_reference(self._truth.state(observation.stamp_ns))
        if observation.visible_objects is None:
            return {}
        state = self._truth.state(observation.stamp_ns)
        return {atom: atom in state for atom in self._atoms if not observation.in_view(atom)}

    def _as_reference(self, state: State) -> Mapping[Atom, bool]:
        if self._first is None:
            self._first = state
        if state == self._first:
            state = self._spec.problem.init
        return {atom: atom in state for atom in self._atoms}
