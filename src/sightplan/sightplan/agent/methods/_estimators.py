"""What the methods that estimate joint states share: a calibration, and estimators to reuse."""

from __future__ import annotations

from sightplan.agent.policy import Context
from sightplan.grounding.constraints import Constraints, read_constraints
from sightplan.grounding.estimator import Estimator, EstimatorSettings
from sightplan.grounding.observation_model import ObservationModel, read_observation_model
from sightplan.grounding.priors import Priors
from sightplan.model import Atom


class Estimators:
    """One estimator for all problems with the same objects.

    Args:
        calibration: path of a calibration file; '': the domain's priors, else generic
            rates.
        constraints: whether the domain's constraints are used.
        priors: whether the domain's priors are used.

    Attributes:
        rates: what answers and actions are worth.

    Raises:
        InputError: the calibration cannot be read.
    """

    def __init__(self, calibration: str, constraints: bool, priors: bool = True) -> None:
        self.rates = (read_observation_model(calibration) if calibration
                      else ObservationModel.default())
        self._constraints, self._priors = constraints, priors
        self._known: dict[object, Estimator] = {}

    def get(self, context: Context, settings: EstimatorSettings | None = None,
            atoms: frozenset[Atom] | None = None) -> Estimator:
        """The estimator of an episode's problem; ``settings`` and ``atoms`` as in Estimator."""
        key = (context.domain.name, context.domain.pddl,
               tuple(sorted(context.problem.objects.items())), settings, atoms)
        if key not in self._known:
            constraints = (read_constraints(context.domain) if self._constraints
                           else Constraints((), 'none'))
            self._known[key] = Estimator(
                context.domain, context.problem, constraints,
                self.rates, settings, atoms, None if self._priors else Priors())
        return self._known[key]
