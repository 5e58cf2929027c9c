"""Worlds by the domain that they show."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from typing import Any, cast

from sightplan.model import InputError, World

WORLDS = 'sightplan.worlds'


def world_names() -> tuple[str, ...]:
    """Domains for which a world is installed (entry points of the group sightplan.worlds)."""
    return tuple(sorted({p.name for p in importlib.metadata.entry_points(group=WORLDS)}))


def make_world(domain: str, options: Mapping[str, Any] | None = None) -> World:
    """Make the world that shows a domain's problems.

    Args:
        domain: name of the domain.
        options: settings of the world.

    Raises:
        InputError: no world for this domain is installed, or the options are wrong.
        WorldError: the world could not be started.
    """
    found = importlib.metadata.entry_points(group=WORLDS, name=domain)
    if not found:
        raise InputError(f'no world for domain {domain!r} is installed (installed: '
                         f'{", ".join(world_names()) or "none"}); build the workspace, or install '
                         f'the package that has it')
    return cast(World, next(iter(found)).load()(**(options or {})))


def world_identity(domain: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """A world's settings, and what they refer to by its content, where the world says so.

    The module of a world's entry point may have a function ``world_identity(options)``, which
    gives what is to be noted besides the options.

    Args:
        domain: name of the domain.
        options: settings of the world.

    Raises:
        InputError: what the options refer to cannot be read.
    """
    found = {**options}
    for entry in importlib.metadata.entry_points(group=WORLDS, name=domain) if options else ():
        more = getattr(importlib.import_module(entry.module), 'world_identity', None)
        found.update(more(options) if more is not None else {})
    return found
