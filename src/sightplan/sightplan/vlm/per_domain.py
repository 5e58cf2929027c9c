"""One model in place of several, each of which was made for one domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sightplan.model import Usage, settings_fields
from sightplan.model.query import Model
from sightplan.vlm.api import BACKENDS, backend_content
from sightplan.vlm.wrapping import Wrapper


def has_model_per_domain(backend: str) -> bool:
    """Return whether a backend has a setting ``domain``, which chooses among its models."""
    return any(field.name == 'domain' for field in settings_fields(
        BACKENDS.module(backend).Settings))


def domain_loader(backend: str, options: Mapping[str, Any],
                  make: Callable[[str, Mapping[str, Any]], Model]) -> Callable[[str], Model]:
    """Return a function that loads a backend's model of a domain; equal models are loaded once.

    Args:
        backend: name of the backend.
        options: its options; ``domain`` among them is replaced.
        make: makes a model from the name of the backend and its options.
    """
    made: dict[str, Model] = {}

    def load(domain: str) -> Model:
        values = {**options, 'domain': domain}
        content = backend_content(backend, values) or domain
        if content not in made:
            made[content] = make(backend, values)
        return made[content]
    return load


class ModelPerDomain(Wrapper):
    """Presents the models of several domains as one model; ``use`` chooses which one answers.

    Args:
        load: loads the model of a domain, see ``domain_loader``; called once for each domain.
        domains: domains whose models are loaded at once, at least one; the model of the first
            also answers where no domain is known.
    """

    def __init__(self, load: Callable[[str], Model], domains: Sequence[str]) -> None:
        self._load = load
        self._models = {domain: load(domain) for domain in domains}
        self._first = self._models[domains[0]]
        super().__init__(self._first)

    def use(self, domain: str) -> None:
        """Let the model of a domain answer from now on, and load it if it was not loaded.

        Args:
            domain: name of the domain, or the path of its folder; '' for the first.

        Raises:
            InputError: no model answers queries about the domain.
            BackendError: the model is missing or unfit.
        """
        if domain and domain not in self._models:
            self._models[domain] = self._load(domain)
        self.inner = self._models[domain] if domain else self._first

    @property
    def models(self) -> list[Model]:
        """All models that were loaded, each once."""
        return list({id(model): model for model in self._models.values()}.values())

    @property
    def name(self) -> str:
        """Contract in ``Model``: the names of all models that were loaded."""
        return ', '.join(dict.fromkeys(model.name for model in self.models))

    @property
    def usage(self) -> Usage | None:
        """Contract in ``Model``: that of all models together."""
        known = [usage for model in self.models if (usage := model.usage) is not None]
        return sum(known, Usage()) if known else None
