"""Prior probabilities of a domain's atoms, before any answer.

Most of what could be true of things is false, and what is in view already tells a lot: a thing
that is nowhere to be seen is likely to be inside of something closed. A domain's ``priors.yaml``
says how likely, learned by ``sightplan priors`` from homes that are in no split; how often its
actions do what they should; and how models answer about it, from published tables of models.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field

from sightplan.domains import Domain
from sightplan.domains.schema import Schema
from sightplan.model import Atom, InputError, Observation
from sightplan.model.reading import Record, read_file
from sightplan_belief.observation_model import (
    ActionReliability,
    AnswerRates,
    ObservationModel,
    read_observation_model,
)
from sightplan_belief.visibility import VisibilityRule, check_rule

FILE = 'priors.yaml'
ANY = 'any'
_HIDDEN = 0.2
"""P(true) of an atom with objects out of view, in a domain without a file."""
_ELSEWHERE, _GENERIC = 0.2, 0.2
"""Probability of a scene of an unknown kind, and P(true) in such a scene."""

_Rate = Annotated[float, Field(gt=0.0, lt=1.0)]
_Situations = dict[str, _Rate]


class Priors(Record):
    """Content of a domain's ``priors.yaml``.

    Attributes:
        start: P(true) when an episode begins, by predicate and situation. A situation has a ``+``
            for every argument that is in view and a ``-`` for every one that is not; ``any`` is
            whatever is in view.
        later: the same over the states of random rollouts.
        categories: P(true) in any situation, by predicate and category of the last argument (its
            name without the number), where that is far below what ``start`` says: nothing is ever
            inside a window.
        actions: by schema, what becomes of an action that is executed.
        answers: by predicate, how models answer questions, as mean and strength of a Beta
            distribution over models.
        sights: what is in view, and what is not, by where it is.
        rejection: P(an action is refused | its preconditions hold).
        execution_if_inapplicable: P(an action is carried out | its preconditions do not hold).
    """

    start: dict[str, _Situations] = Field(default_factory=dict)
    later: dict[str, _Situations] = Field(default_factory=dict)
    categories: dict[str, dict[str, _Rate]] = Field(default_factory=dict)
    actions: dict[str, ActionReliability] = Field(default_factory=dict)
    answers: dict[str, AnswerRates] = Field(default_factory=dict)
    sights: tuple[VisibilityRule, ...] = ()
    rejection: _Rate = 0.03
    execution_if_inapplicable: _Rate = 0.001

    def at_start(self, atoms: Iterable[Atom], seen: Observation | None) -> dict[Atom, float]:
        """P(atom is true) when an episode begins, before any answer.

        Args:
            atoms: which; those left out are as likely as not.
            seen: the first observation; None: nothing is known about what is in view.
        """
        visible = None if seen is None else seen.visible_objects
        found = {}
        for atom in atoms:
            situation = ANY if visible is None else situation_of(atom, visible)
            p = self.in_situation(atom, situation)
            if p is not None:
                found[atom] = p
        return found

    def in_situation(self, atom: Atom, situation: str) -> float | None:
        """P(atom is true) in a situation, if no action has changed it; None: no idea."""
        by_category = self._of_category(atom)
        if by_category is not None:
            return by_category
        if atom.predicate in self.start:
            rates = self.start[atom.predicate]
            return rates.get(situation, rates.get(ANY, 0.5))
        return _HIDDEN if '-' in situation else None

    def _of_category(self, atom: Atom) -> float | None:
        rates = self.categories.get(atom.predicate)
        return rates.get(category_of(atom.args[-1])) if rates and atom.args else None

    def of_scene(self, atoms: Iterable[Atom]) -> dict[Atom, float]:
        """P(atom is true) in a scene of which only a picture is known, before any answer.

        All objects count as in view. The scene may also be of another kind than those that the
        rates were learned from: then every atom has the same low probability.
        """
        found = {}
        for atom in atoms:
            rates = self.later.get(atom.predicate)
            if rates:
                rate = self._of_category(atom)
                if rate is None:
                    rate = rates.get('+' * len(atom.args), rates.get(ANY, 0.5))
                found[atom] = (1.0 - _ELSEWHERE) * rate + _ELSEWHERE * _GENERIC
        return found

    def complete(self, model: ObservationModel | None) -> ObservationModel:
        """Observation model with the priors for all that a model's own rates leave out."""
        known = model or ObservationModel.default()
        if not known.actions:  # answers alone were learned from
            known = dataclasses.replace(
                known, rejection=self.rejection,
                execution_if_inapplicable=self.execution_if_inapplicable)
        return dataclasses.replace(known, predicates={**self.answers, **known.predicates},
                                   actions={**self.actions, **known.actions})


def situation_of(atom: Atom, visible: Collection[str]) -> str:
    """Visibility of an atom's objects: ``+`` for each one in view, ``-`` for each other one."""
    return ''.join('+' if name in visible else '-' for name in atom.args)


def category_of(name: str) -> str:
    """Category of an object by its name: ``window`` of ``window_2``."""
    return name.rstrip('0123456789').rstrip('_')


class DomainFiles(Protocol):
    """The parts of a domain that its priors and calibrations are read by."""

    @property
    def folder(self) -> Path | None:
        """Folder of its files; None: it is not installed, and has none."""

    @property
    def schema(self) -> Schema:
        """Its predicates and actions."""


def read_priors(domain: DomainFiles) -> Priors:
    """A domain's priors; empty without a file, as for a domain that is not installed.

    Raises:
        InputError: the file is malformed, or about other things; names file and field.
    """
    if domain.folder is None or not (domain.folder / FILE).is_file():
        return Priors()
    schema = domain.schema
    return _read(domain.folder / FILE, tuple((name, len(predicate.types))
                                      for name, predicate in schema.predicates.items()),
                 tuple(schema.actions))


def known_rates(domain: Domain, model: str, prompt: str = '') -> ObservationModel | None:
    """The calibration of a model that comes with a domain (``calibrations/NAME.json``).

    Args:
        domain: where it is looked for, and whose questions it must be about.
        model: exact name of the model.
        prompt: see ``ObservationModel.check``.

    Returns:
        None where none belongs to this model, wording and prompt.

    Raises:
        InputError: a calibration of the domain cannot be read; names the file.
    """
    for path in _calibrations(domain) if model else ():
        rates = _read_rates(path)
        with contextlib.suppress(InputError):
            rates.check(model, domain, prompt)
            return rates
    return None


def check_calibrations(domain: DomainFiles) -> None:
    """Check that all calibrations that come with a domain can be read.

    Raises:
        InputError: one of them cannot; names file and field.
    """
    for path in _calibrations(domain):
        _read_rates(path)


def _calibrations(domain: DomainFiles) -> list[Path]:
    return sorted(domain.folder.glob('calibrations/*.json')) if domain.folder else []


_read_rates = functools.lru_cache(maxsize=64)(read_observation_model)


@functools.lru_cache(maxsize=16)
def _read(path: Path, predicates: tuple[tuple[str, int], ...], actions: tuple[str, ...]) -> Priors:
    found, places = read_file(Priors, path), dict(predicates)
    named = [(f'{part}.{name}', name, places)
             for part in ('start', 'later', 'categories', 'answers')
             for name in getattr(found, part)]
    named += [(f'actions.{name}', name, dict.fromkeys(actions, 0)) for name in found.actions]
    named += [(f'actions.{name}.effects', effect[:-2], places)
              for name, action in found.actions.items() for effect in action.effects]
    for number, rule in enumerate(found.sights):
        try:
            check_rule(rule, places)
        except ValueError as error:
            raise InputError(f'{path}: sights.{number}: {error}') from error
    for field, name, known in named:
        if name not in known:
            raise InputError(f'{path}: {field}: the domain has no {name!r} (choose among '
                             f'{", ".join(known)})')
    for part in ('start', 'later'):
        for name, situations in getattr(found, part).items():
            for situation in situations:
                if situation != ANY and (len(situation) != places[name]
                                         or set(situation) - set('+-')):
                    raise InputError(
                        f'{path}: {part}.{name}: {situation!r} is not a situation: write a + or - '
                        f'for each of {places[name]} arguments, or {ANY}')
    return found
