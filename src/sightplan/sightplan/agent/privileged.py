"""Facts about what is out of view, from ground truth: the source behind ``PrivilegedSource``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sightplan.model import Atom, EpisodeSpec, Observation, Privileged, TruthSource, WorldError


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

    def provide(self, observation: Observation) -> Mapping[Atom, bool]:
        """Return facts by atom (``PrivilegedSource``), without atoms whose objects are in view."""
        if self._spec.privileged is Privileged.NONE:
            raise WorldError(f'episode {self._spec.id} grants no facts (its privileged '
                             f'level is {Privileged.NONE.value})')
        if observation.visible_objects is None:
            return {}
        state = self._truth.state(observation.stamp_ns)
        return {atom: atom in state for atom in self._atoms if not observation.in_view(atom)}
