"""Estimators that methods share: they are made once for problems with the same objects."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.agent.context import WorldContext
from sightplan.domains import Domain
from sightplan.model import Atom
from sightplan_belief.constraints import Constraints, read_constraints
from sightplan_belief.estimator import Estimator, EstimatorSettings
from sightplan_belief.observation_model import ObservationModel, read_observation_model
from sightplan_belief.priors import Priors, known_rates


@dataclass(frozen=True, slots=True)
class BeliefChoices:
    """Settings by which methods with a belief read files; the defaults are of one without them.

    Attributes:
        calibration: file of a calibration; '' for what the domain has.
        constraints: whether the domain's constraints are used.
        priors: whether the domain's priors are used.
        inference: how joint states are kept; '' where none are.
    """

    calibration: str = ''
    constraints: bool = True
    priors: bool = True
    inference: str = ''


class Estimators:
    """Estimators by problem: problems with the same objects share one.

    Args:
        calibration: path of a calibration file; '': the domain's priors, else generic
            rates.
        constraints: whether the domain's constraints are used.
        priors: whether the domain's priors are used.
        rates: what answers and actions are worth, instead of a calibration.

    Attributes:
        rates: what answers and actions are worth.

    Raises:
        InputError: the calibration cannot be read.
    """

    def __init__(self, calibration: str, constraints: bool, priors: bool = True,
                 rates: ObservationModel | None = None) -> None:
        self._given = rates is not None or bool(calibration)
        self.rates = rates or (read_observation_model(calibration) if calibration
                               else ObservationModel.default())
        self._constraints, self._priors = constraints, priors
        self._known: dict[object, Estimator] = {}
        self._of_models: dict[tuple[str, ...], Estimators] = {}

    def answering(self, domain: Domain, model: str, prompt: str = '') -> Estimators:
        """Estimators with the calibration that the domain has of an answering model.

        Args:
            domain: of the questions.
            model: exact name of the model that answers.
            prompt: see ``ObservationModel.check``.

        Returns:
            these where there is none, or rates were given, or priors are not to be used.
        """
        if self._given or not self._priors:
            return self
        key = (domain.reference, model, prompt)
        if key not in self._of_models:
            rates = known_rates(domain, model, prompt)
            self._of_models[key] = self if rates is None else Estimators(
                '', self._constraints, self._priors, rates)
        return self._of_models[key]

    def get(self, context: WorldContext, settings: EstimatorSettings | None = None,
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
