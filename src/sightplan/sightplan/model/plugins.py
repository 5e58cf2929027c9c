"""What can be brought from outside: modules and folders beside our own, and entry points.

A thing is found by its name in three places: in this repository (a module or a folder that is
simply there), among the entry points of all installed packages, and, for domains and suites, as
the path of a folder. Ours have no privilege: a package declares its own, for example::

    entry_points={
        'sightplan.backends': ['mine = my_package.my_backend'],     # a module
        'sightplan.domains': ['pantry = my_package.pantry'],        # a package whose folder it is
    }

Groups: ``sightplan.domains``, ``.suites``, ``.backends``, ``.methods``, ``.answerers``,
``.worlds``, ``.skills`` and ``.commands``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import pkgutil
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from sightplan.model.errors import InputError, did_you_mean


def entry_points(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """Entry points of a group by name, sorted; of several with one name the first counts."""
    points: dict[str, importlib.metadata.EntryPoint] = {}
    for point in sorted(importlib.metadata.entry_points(group=group),
                        key=lambda point: (point.name, point.value)):
        points.setdefault(point.name, point)
    return points


def module_names(package: ModuleType, group: str) -> tuple[str, ...]:
    """Names of the modules of a package of ours (not those with "_") and of a group."""
    ours = (module.name for module in pkgutil.iter_modules(package.__path__)
            if not module.name.startswith('_'))
    return tuple(sorted({*ours, *entry_points(group)}))


def load_module(kind: str, name: str, package: ModuleType, group: str) -> Any:
    """The module of a name.

    Args:
        kind: what it is, for messages: ``backend``, ``method``.
        name: of the module.
        package: where ours are.
        group: of entry points, whose values are modules.

    Raises:
        InputError: there is none, or one of another package cannot be imported.
    """
    if importlib.util.find_spec(f'{package.__name__}.{name}') is not None and (
            name.isidentifier() and not name.startswith('_')):
        return importlib.import_module(f'{package.__name__}.{name}')
    point = entry_points(group).get(name)
    if point is None:
        raise unknown(kind, name, module_names(package, group))
    try:
        return point.load()
    except Exception as error:
        raise InputError(f'{kind} {name!r} of {_origin(point)} cannot be used: '
                         f'{type(error).__name__}: {error}; reinstall or correct that package'
                         ) from error


def folders(root: Path, marker: str, group: str) -> dict[str, Path]:
    """Folders by name: those below ``root`` that hold the file ``marker``, and of a group.

    An entry point that cannot be found is left out; ``folder`` says what is wrong with it.
    """
    found = {path.parent.name: path.parent for path in root.glob(f'*/{marker}')}
    for name, point in entry_points(group).items():
        place = _folder_of(point)
        if place is not None and name not in found:
            found[name] = place
    return dict(sorted(found.items()))


def folder(kind: str, name: str, root: Path, marker: str, group: str) -> Path:
    """The folder of a name, or of a path (one with a separator, or an existing one with marker).

    Args:
        kind: what it is, for messages: ``domain``, ``suite``.
        name: a name or a path.
        root: where ours are.
        marker: file that such a folder holds.
        group: of entry points, whose values are packages or modules beside ``marker``.

    Raises:
        InputError: there is none; names the file that is missing.
    """
    found = folders(root, marker, group)
    if name in found:
        return found[name]
    path = Path(name).expanduser()
    if '/' in name or path.is_dir():
        if not (path / marker).is_file():
            raise InputError(f'{kind} {name!r}: {path / marker} is missing; give the folder that '
                             f'holds it')
        return path.resolve()
    point = entry_points(group).get(name)
    if point is not None:
        raise InputError(f'{kind} {name!r} of {_origin(point)} cannot be used: there is no '
                         f'{marker} beside {point.value}; reinstall or correct that package')
    raise unknown(kind, name, found)


def unknown(kind: str, name: str, names: Iterable[str]) -> InputError:
    """The error of a name that is not known; names those that are."""
    known = tuple(names)
    return InputError(f'{kind} {name!r} is unknown; choose one of {", ".join(known)}'
                      f'{did_you_mean(name, known)}')


def _folder_of(point: importlib.metadata.EntryPoint) -> Path | None:
    try:
        spec = importlib.util.find_spec(point.module)
    except Exception:  # a parent package that breaks when it is imported
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin).parent if spec.origin else None


def _origin(point: importlib.metadata.EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else point.module
    return f'package {package} ({point.group}: {point.name} = {point.value})'
