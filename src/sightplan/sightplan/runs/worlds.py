"""Worlds by the domain that they show.

What shows a domain's problems is, in this order: the installed world that its ``domain.yaml``
names under ``world``; ``make_world(**options)`` of a ``world.py`` in its folder; the installed
world of the domain's own name; else a ``SymbolicWorld`` that draws nothing. Installed worlds are
entry points of the group ``sightplan.worlds``, functions like ``make_world``.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from sightplan.domains import Domain, SymbolicWorld, load_domain
from sightplan.model import InputError, World, plugins, settings_fields
from sightplan.model.ports import Shown
from sightplan.model.settings import picked

WORLDS = 'sightplan.worlds'
"""Entry points of installed worlds: functions that make one from named options."""


@dataclass(frozen=True, slots=True)
class WorldModule:
    """The names that a run looks for in the module of a world; all may lack.

    Attributes:
        make_world: makes the world from named options; looked for in ``world.py`` of a domain.
        Settings: the dataclass of its options.
        world_identity: given the options, returns what is to be noted besides them.
        shown_with: given the options, returns what the world shows.
    """

    make_world: Callable[..., World] | None = None
    Settings: type[Any] | None = None
    world_identity: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    shown_with: Callable[[Mapping[str, Any]], Shown] | None = None

    @classmethod
    def of(cls, make: Callable[..., Any]) -> WorldModule:
        """The module of a function that makes a world."""
        return picked(cls, inspect.getmodule(make))


def world_names() -> tuple[str, ...]:
    """Names of the installed worlds."""
    return tuple(plugins.entry_points(WORLDS))


def make_world(domain: str, options: Mapping[str, Any] | None = None) -> World:
    """Make the world that shows a domain's problems.

    Args:
        domain: name of the domain, or path of its folder.
        options: settings of the world.

    Raises:
        InputError: there is no such domain, its world is not installed, or the options are wrong.
        WorldError: the world could not be started.
    """
    make, where = world_maker(load_domain(domain))
    try:
        inspect.signature(make).bind(**(options or {}))
    except TypeError as error:
        raise InputError(f'{where}: options {dict(options or {})!r}: {error} (its parameters: '
                         f'{inspect.signature(make)})') from error
    return cast(World, make(**(options or {})))


def world_identity(domain: str | Domain, options: Mapping[str, Any]) -> dict[str, Any]:
    """A world's settings, what they refer to by its content, and the world itself by its own.

    The last holds for a ``world.py`` of a domain's folder (``sha256``: first 12 hex digits).

    The module of the world may have a function ``world_identity(options)``, which gives what is
    to be noted besides the options.

    Args:
        domain: the domain, its name, or the path of its folder.
        options: settings of the world.

    Raises:
        InputError: what the options refer to cannot be read.
    """
    loaded = domain if isinstance(domain, Domain) else load_domain(domain)
    own = None if loaded.world else loaded.part('world')
    found = {**options}
    if own is not None:
        found['sha256'] = hashlib.sha256(Path(str(own.__file__)).read_bytes()).hexdigest()[:12]
    if options:
        module = picked(WorldModule, own) if own else WorldModule.of(world_maker(loaded)[0])
        if module.world_identity is not None:
            found.update(module.world_identity(options))
    return found


def world_choices(domain: str) -> dict[str, tuple[str, ...]] | None:
    """Return the options that the world of a domain takes, each with its choices, () for any.

    They are the parameters of the function that makes the world, and, where that takes any
    name, the fields of the settings dataclass ``Settings`` in its module.

    Args:
        domain: name of the domain, or path of its folder.

    Returns:
        None where only the world itself knows.

    Raises:
        InputError: there is no such domain, or its world is not installed.
    """
    make, _ = world_maker(load_domain(domain))
    parameters = inspect.signature(make).parameters.values()
    found: dict[str, tuple[str, ...]] = {
        one.name: () for one in parameters if one.kind is not one.VAR_KEYWORD}
    if len(found) == len(parameters):
        return found
    settings = settings_class(make)
    return None if settings is None else found | {
        field.name: field.choices or () for field in settings_fields(settings)}


def check_world_options(domain: str, options: Mapping[str, Any], source: str) -> None:
    """Check names and choices of a world's options, as far as they are known without making it.

    Args:
        domain: name of the domain, or path of its folder.
        options: settings of the world.
        source: name of what gave them, for messages.

    Raises:
        InputError: an option is unknown, or its value is none of the choices; names these.
    """
    known = world_choices(domain)
    for name, value in options.items() if known is not None else ():
        assert known is not None
        if name not in known:
            raise InputError(f'{source}: the world of domain {domain} has no option {name!r} '
                             f'(choose one of {", ".join(sorted(known))})')
        if known[name] and value not in known[name]:
            raise InputError(f'{source}: {name} = {value!r}, must be one of '
                             f'{", ".join(known[name])}')


def world_defaults(domain: str) -> dict[str, Any]:
    """Return the defaults of the options of a domain's world, as far as its ``Settings`` has them.

    Args:
        domain: name of the domain, or path of its folder.

    Raises:
        InputError: there is no such domain, or its world is not installed.
    """
    settings = settings_class(world_maker(load_domain(domain))[0])
    return {} if settings is None else {
        field.name: field.default for field in settings_fields(settings)}


def settings_class(make: Callable[..., Any]) -> type[Any] | None:
    """The settings dataclass of a world, in the module of the function that makes it."""
    return WorldModule.of(make).Settings


def shown_with(domain: str | Domain, options: Mapping[str, Any]) -> Shown | None:
    """Return what the world of a domain shows with some options, without making the world.

    The module of the world may have a function ``shown_with(options)``, which gives it.

    Args:
        domain: the domain, its name, or path of its folder.
        options: settings of the world.

    Returns:
        None where only the world itself knows.

    Raises:
        InputError: there is no such domain, or its world is not installed.
    """
    make, _ = world_maker(load_domain(domain) if isinstance(domain, str) else domain)
    if make is SymbolicWorld:
        return Shown(no_pictures='pictures=none')
    known = WorldModule.of(make).shown_with
    return None if known is None else known(options)


def describes(domain: str | Domain, options: Mapping[str, Any]) -> bool:
    """Whether the world of a domain is known to show scenes in words, with some options.

    Args:
        domain: the domain, its name, or path of its folder.
        options: settings of the world.
    """
    shown = shown_with(domain, options)
    return shown is not None and shown.describes


def world_maker(domain: Domain) -> tuple[Callable[..., Any], str]:
    """Return the function that makes a domain's world, and its name in messages.

    Raises:
        InputError: the domain's world is not installed, or has no function ``make_world``.
    """
    if domain.world and domain.world not in world_names():
        raise InputError(f'{domain.folder / "domain.yaml"}: world = {domain.world!r} is not '
                         f'installed (installed: {", ".join(world_names()) or "none"}); install '
                         f'the package that has it{plugins.not_installed("world")}')
    own: ModuleType | None = None if domain.world else domain.part('world')
    if own is not None:
        where = str(domain.folder / 'world.py')
        make = picked(WorldModule, own).make_world
    elif (name := domain.world or domain.name) in world_names():
        make, where = plugins.load_object('world', name, WORLDS), f'world {name}'
    else:
        return SymbolicWorld, f'the world without pictures of domain {domain.name}'
    if not callable(make):
        raise InputError(f'{where}: has no function make_world(**options); add it')
    return make, where
