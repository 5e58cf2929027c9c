"""Flags that several commands take, declared once: domain, backend and ``KEY=VALUE`` settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sightplan.commands.flags import argument, option
from sightplan.domains import domain_names, domain_reference
from sightplan.model import InputError

OF_TABLES, PLANS_BY_TABLES = 'noisy_oracle', 'noisy_planner'
"""The backends that ``--table`` is short for, for methods that ask questions, and for those whose
model plans: they answer, and plan, by a table of error rates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceArguments:
    """Arguments of a command that asks a running graph: where the graph is."""

    namespace: str = option('', 'namespace of the running graph, if it has one')
    remap: tuple[str, ...] = option(
        (), 'with which the graph was started (repeat for more)', names=('-r',),
        metavar='FROM:=TO')

    @property
    def place(self) -> dict[str, str]:
        """The place, as ``graphs.graph.beside`` takes it."""
        return {'namespace': self.namespace, 'remap': ' '.join(self.remap)}


def domain_flag(description: str = '', *, optional: bool = False, positional: bool = False,
                group: str = '') -> Any:
    """Declare a flag whose value is a domain's reference (see ``domain_reference``).

    Args:
        description: for the help text; '': that it is a name or a path.
        optional: whether it is None if it is not given; else it is then the first installed
            domain.
        positional: whether it is written without a name.
        group: see ``Flag``.
    """
    names = domain_names()
    default = None if optional else names[0]
    description = description or (f'name of an installed domain ({", ".join(names)}), or the path '
                                  'of its folder')
    if positional:
        return argument(description, default=default, metavar='DOMAIN', read=domain_reference)
    return option(default, description, metavar='DOMAIN', read=domain_reference, group=group)


def backend_names() -> tuple[str, ...]:
    """All backends; read when a parser is made, not when a command's module is imported."""
    from sightplan.vlm.api import backend_names as names
    return tuple(names())


def backend_flag(default: str | None = 'embedded',
                 description: str = 'vision-language backend', group: str = '') -> Any:
    """Declare ``--backend``."""
    return option(default, description, choices=backend_names, group=group)


def settings_flag(of: str, group: str = '') -> Any:
    """Declare a repeatable flag that sets ``KEY=VALUE`` of something, such as "the backend"."""
    return option((), f'setting of {of} (repeatable)', metavar='KEY=VALUE', group=group)


def table_flag(group: str = '') -> Any:
    """Declare ``--table``, which is short for the backend that answers by tables."""
    return option(None, f'short for --backend {OF_TABLES} ({PLANS_BY_TABLES} where the model '
                  'plans itself) --backend-option table=NAME: "perfect", a model such as gpt-4.1, '
                  'or the path of a .json or .yaml file of rates, such as '
                  'rates: {default: {p_yes_true: 0.9, p_yes_false: 0.1}} (entries are '
                  'predicates; default stands for all others)',
                  metavar='NAME', group=group)


def backend_with(table: str | None, backend: str | None, plans: bool = False) -> str | None:
    """The backend that is meant.

    Args:
        table: value of ``--table``; None: not given.
        backend: value of ``--backend``; None: not given.
        plans: whether the model of the run's method plans itself.

    Raises:
        InputError: they do not go together.
    """
    if table is None:
        return backend
    meant = PLANS_BY_TABLES if plans else OF_TABLES
    if backend not in (None, meant):
        raise InputError(f'--table is for --backend {meant}, not {backend}; leave one of the '
                         'two out')
    return meant
