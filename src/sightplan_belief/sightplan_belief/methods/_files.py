"""The files that methods with a belief read: calibration, priors and constraints of a domain."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from types import SimpleNamespace
from typing import Any, cast

from sightplan.agent.context import WorldContext
from sightplan.domains import Domain
from sightplan.model import InputError, Problem, excerpt, user_path
from sightplan.model.settings import picked
from sightplan_belief.constraints import instantiate, read_constraints
from sightplan_belief.methods._believing import make_filter
from sightplan_belief.methods._estimators import BeliefChoices, Estimators
from sightplan_belief.observation_model import read_observation_model
from sightplan_belief.priors import check_calibrations, read_priors


class BeliefFiles:
    """Files of methods like ``belief``; see ``agent.method_files.MethodFiles``."""

    def check(self, settings: Any, domain: Domain, asks: bool) -> None:
        """Read the domain's priors, and the calibrations that come with them."""
        choices = picked(BeliefChoices, settings)
        if not choices.priors:
            return
        read_priors(domain)
        if asks and not choices.calibration:
            check_calibrations(domain)

    def identity(self, settings: Any, domain: Domain, answered_by: tuple[str, str] | None,
                 ) -> dict[str, Any]:
        """Name and hash of the calibration, and the hash of the constraints."""
        values: dict[str, Any] = {}
        if settings.calibration:
            path = user_path(settings.calibration)
            calibration = read_observation_model(path)
            calibration.check_domain(domain)
            if answered_by is not None:
                model, prompt = answered_by
                calibration.check(model, domain, prompt)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
            values['calibration'] = f'{path.name}@{digest}'
        if settings.constraints is True:
            values['constraints'] = read_constraints(domain).sha256
        return values

    def learned_problems(self, settings: Any) -> Collection[str]:
        """Keys of the problems whose answers the calibration was learned from."""
        return read_observation_model(settings.calibration).problems

    def check_problem(self, settings: Any, domain: Domain, problem: Problem) -> None:
        """Check that joint states of the problem can be kept with these settings.

        Raises:
            InputError: they are to be sampled, but the constraints demand that something holds.
        """
        if picked(BeliefChoices, settings).inference != 'sampled':
            return
        setting = SimpleNamespace(model=domain.model(problem), problem=problem, domain=domain)
        make_filter(cast(WorldContext, setting),
                    Estimators('', settings.constraints, settings.priors), settings)

    def check_starts(self, settings: Any, domain: Domain,
                     pairs: Iterable[tuple[str, Problem]]) -> None:
        """Check that no problem begins in a state that the domain's rules call impossible."""
        if not settings.constraints:
            return
        from sightplan_belief.learning.constraints import Sample, find_violation
        constraints, theories = read_constraints(domain), {}
        for _, problem in pairs:
            objects = tuple(sorted(problem.objects.items()))
            if objects not in theories:
                theories[objects] = instantiate(constraints, domain.schema, problem.objects)
            if theories[objects].possible(problem.init):
                continue
            sample = Sample.of(problem, domain.schema, [problem.init])
            for rule in constraints.rules:
                found = None if rule.violation_rate else find_violation(rule, [sample])
                if found is not None:
                    atoms = ', '.join(f'{"" if true else "not "}{atom}'
                                      for atom, true in found.atoms.items())
                    raise InputError(
                        f'{problem.source or problem.name}: begins in a state that the rule '
                        f'{rule.name!r} of {constraints.source} calls impossible '
                        f'({excerpt(atoms, 200)}); correct one of the two, or set constraints to '
                        f'false')
