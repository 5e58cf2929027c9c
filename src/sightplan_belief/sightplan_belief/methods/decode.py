"""``decode``: ``ground``, but every enumeration is decoded to the most probable possible state.

The one difference to ``ground``: before it plans, the answers of an enumeration are replaced by
the possible state that explains them best. All else is as in ``ground``, also that any answer to
a precondition or effect question that is not as expected starts over. It measures what joint
estimation alone gives, without asking again and without a belief over time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sightplan.agent.context import WorldContext
from sightplan.agent.methods import ground
from sightplan.model import Answer, Atom, Observation, param
from sightplan_belief.estimator import evidence_of
from sightplan_belief.methods._estimators import Estimators
from sightplan_belief.methods._files import BeliefFiles


@dataclass(frozen=True, slots=True)
class Settings(ground.Settings):
    """Settings of the method ``decode``."""

    calibration: str = param('', 'Calibration file of the model (see "sightplan calibrate"); '
                             "empty: the domain's priors, else generic rates")
    constraints: bool = param(True, "Whether to use the domain's constraints")


class Policy(ground.Policy):
    """Enumerate, decode, plan, check, act, check, and start over on a mismatch."""

    reads_visible_facts = False  # a decoded state takes facts for certain
    files = BeliefFiles()

    def __init__(self, settings: Settings) -> None:
        """Read the calibration, and set up the estimators.

        Raises:
            InputError: it cannot be read.
        """
        super().__init__(settings)
        self._estimators = Estimators(settings.calibration, settings.constraints)

    def _correct(self, context: WorldContext, observation: Observation,
                 answers: Mapping[Atom, Answer]) -> None:
        """Replace the belief by the most probable possible state.

        What is out of view and was provided is certain; what was believed of it earlier counts as
        an answer; of what is not known at all the constraints alone decide.

        Raises:
            InputError: the calibration belongs to another model, wording, prompt or domain.
        """
        self._estimators.rates.check(context.answering_model, context.domain,
                                     context.answering_prompt)
        earlier = {atom: Answer('Yes' if value else 'No') for atom, value in self._belief.items()
                   if atom in self._worth and not observation.in_view(atom)
                   and atom not in observation.privileged_facts}
        estimators = self._estimators.answering(
            context.domain, context.answering_model, context.answering_prompt)
        if estimators is not self._estimators:
            context.model_known(context.answering_model, context.answering_prompt)
        estimate = estimators.get(context).estimate(
            evidence_of({**answers, **earlier}), observation.privileged_facts)
        for atom in estimate.marginals:
            self._belief[atom] = atom in estimate.state
        self._probabilities.update(estimate.marginals)
        context.believe(ground.believed_state(self._belief), self._probabilities)
