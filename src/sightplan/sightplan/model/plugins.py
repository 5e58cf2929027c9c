"""Find domains, suites, backends, methods and other plugins in packages and folders.

A thing is found by its name among the entry points of all installed packages; a domain also as a
folder beside ours, and domains and suites as the path of a folder. A package declares its own,
for example::

    entry_points={
        'sightplan.backends': ['mine = my_package.my_backend'],     # a module
        'sightplan.domains': ['pantry = my_package.pantry'],        # a package whose folder it is
    }

Groups: ``sightplan.domains``, ``.suites``, ``.backends``, ``.methods``, ``.worlds``, ``.skills``
and ``.commands``; ``.parts`` is for our own packages (``part``).
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from sightplan.model.errors import InfrastructureError, InputError, SightplanError, did_you_mean
from sightplan.model.settings import check_settings, settings_fields

T = TypeVar('T')
_ANY_TRUTH = '*'
"""Marks a class that is built with any ground truth."""

PARTS = 'sightplan.parts'
"""Group of entry points for objects that one of our packages offers to others; see ``part``."""

BRINGS_MORE = {
    'backend': 'sightplan_models', 'method': 'sightplan_belief', 'suite': 'sightplan_suites',
    'world': 'sightplan_sim', 'maker of scenes': 'sightplan_sim',
    'maker of scenes for grounded plans': 'sightplan_sim'}
"""Package of ours that offers more plugins than the core, by kind of plugin."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of files and modules, such as a domain.

    Attributes:
        name: what it is called.
        path: where it is.
        package: name of the Python package that it is, or is made one by.
        reference: what finds it again from any working directory: its name, or its path if it
            was found by that.
    """

    name: str
    path: Path
    package: str
    reference: str

    @classmethod
    def at(cls, path: Path) -> Folder:
        """Return the folder at a path, which no package declares."""
        path = path.expanduser().resolve()
        return cls(path.name, path, _made_up(path), str(path))

    def module(self, name: str) -> ModuleType | None:
        """Import a module of the folder; None if it has no such file.

        Raises:
            InputError: the file cannot be imported; names the file.
        """
        file = self.path / f'{name}.py'
        if not file.is_file():
            return None
        if self.package == _made_up(self.path):
            package = ModuleType(self.package)
            package.__path__ = [str(self.path)]
            sys.modules.setdefault(self.package, package)
        try:
            return importlib.import_module(f'{self.package}.{name}')
        except (Exception, SystemExit) as error:
            raise InputError(f'{file}: cannot be imported: {type(error).__name__}: {error} '
                             f'(correct it)') from error


def entry_points(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """Return the entry points of a group by name, sorted; for equal names ours, or the first.

    The installed packages are read once (some 0.1 s), and again when ``sys.path`` has changed.
    """
    return dict(_entry_points(group, importlib.metadata.entry_points, tuple(sys.path)))


@functools.lru_cache(maxsize=64)
def _entry_points(group: str, read: Callable[..., Iterable[importlib.metadata.EntryPoint]],
                  path: tuple[str, ...]) -> dict[str, importlib.metadata.EntryPoint]:
    points: dict[str, importlib.metadata.EntryPoint] = {}
    for point in sorted(read(group=group), key=lambda point: (
            point.name, not point.value.startswith('sightplan'), point.value)):
        points.setdefault(point.name, point)
    return points


class Registry(Generic[T]):
    """Classes of one kind with their settings, each in a module of its own, found by name.

    Args:
        kind: what they are, for messages: ``backend``, ``method``.
        group: of entry points, whose values are modules.
        part: name of the class in each module, beside its dataclass ``Settings``.
        declares: class attributes that a class of another package must have.
        contract: the protocol whose methods and properties its instances must have.
        base: what the class may inherit from to have these attributes, for messages; '' if there
            is nothing.
        truth_of: tells of a class which ground truth it is built with: the name of a method of
            that truth; '' for none. The default: those that declare ``needs_truth`` are built
            with any.
    """

    def __init__(self, kind: str, group: str, part: str,
                 declares: Sequence[str], contract: type, base: str = '',
                 truth_of: Callable[[Any], str] | None = None) -> None:
        self._kind, self._group = kind, group
        self._parts: dict[str, Sequence[str]] = {'Settings': (), part: declares}
        self._part, self._contract, self._base = part, contract, base
        self._truth_of = truth_of or (lambda cls: _ANY_TRUTH if cls.needs_truth else '')

    def names(self) -> tuple[str, ...]:
        """Return the names of all installed plugins of this kind, sorted."""
        return tuple(entry_points(self._group))

    def module(self, name: str) -> Any:
        """Return the module of a plugin by name.

        Raises:
            InputError: there is none, or one of another package cannot be imported or lacks a
                part.
        """
        module = self._load(name)
        for part, names in self._parts.items():
            missing = [n for n in names if not hasattr(getattr(module, part, None), n)]
            if not hasattr(module, part) or missing:
                point = entry_points(self._group)[name]
                raise InputError(f'{self._kind} {name!r} of {_origin(point)} '
                                 f'{self._lack(point, module, part, missing)}')
        return module

    def _lack(self, point: importlib.metadata.EntryPoint, module: object, part: str,
              missing: Sequence[str]) -> str:
        """Say that a plugin lacks a class, or a class its attributes, and what to do."""
        if not isinstance(module, ModuleType):
            return (f'names {point.attr!r} of a module, not the module; write {point.name} = '
                    f'{point.module}, whose classes {" and ".join(self._parts)} are found')
        if not hasattr(module, part):
            return f'has no class {part}; add it to {point.value}'
        inherit = f'inherit from {self._base}, or ' if self._base else ''
        return f'has a class {part} without {", ".join(missing)}; {inherit}add it to {part}'

    def _load(self, name: str) -> Any:
        """Return the module of a plugin, unchecked; errors are those of ``module``."""
        if name not in entry_points(self._group):
            raise unknown(self._kind, name, self.names())
        return load_object(self._kind, name, self._group)

    def _settings_class(self, name: str) -> type[Any]:
        """Return the settings dataclass of a plugin by name."""
        found: type[Any] = self.module(name).Settings
        return found

    def cls(self, name: str) -> type[T]:
        """Return the class of a plugin by name; its attributes say what it needs.

        Raises:
            InputError: see ``module``.
        """
        found: type[T] = getattr(self.module(name), self._part)
        return found

    def settings(self, name: str, values: Mapping[str, Any] | None = None) -> Any:
        """Return the settings of a plugin, with ``values`` in place of defaults.

        Raises:
            InputError: an unknown name or field, or a bad value.
        """
        cls, values = self._settings_class(name), values or {}
        known = {f.name: f for f in settings_fields(cls)}
        for key in values:
            if key not in known:
                raise InputError(f'{self._kind} {name!r} has no setting {key!r}; it has '
                                 f'{", ".join(known) or "none"}')
        settings = cls(**{key: known[key].value(value) for key, value in values.items()})
        check_settings(settings, f'{self._kind} {name}')
        return settings

    def make(self, name: str, values: Mapping[str, Any] | None = None, truth: Any = None) -> T:
        """Make an instance of a plugin; only a class that declares the need gets the truth.

        Raises:
            InputError: unknown name, bad settings, or truth is needed and missing, or not of the
                kind that the class reads; or what is made lacks a part of the contract.
        """
        settings, cls = self.settings(name, values), cast(Any, self.cls(name))
        read = self._truth_of(cls)
        if cls.__init__ is object.__init__ and cls.__new__ is object.__new__:
            raise InputError(f'{self._kind} {name!r}: {cls.__module__}.{cls.__qualname__} does '
                             'not take its settings; add def __init__(self, settings'
                             f'{", truth" if read else ""})')
        if not read:
            return self._complete(name, self._made(name, cls, settings))
        if truth is None:
            raise InputError(f'{self._kind} {name!r} reads ground truth, which is not offered '
                             f'here')
        if read != _ANY_TRUTH and not hasattr(truth, read):
            raise InputError(f'{self._kind} {name!r} reads another truth ({read}) than that of '
                             f'episodes; choose another {self._kind}')
        return self._complete(name, self._made(name, cls, settings, truth))

    def _made(self, name: str, cls: Any, *arguments: Any) -> Any:
        """Return an instance of a plugin's class.

        Raises:
            SightplanError: as the class does; an InfrastructureError for any other exception.
        """
        try:
            return cls(*arguments)
        except SightplanError:
            raise
        except (Exception, SystemExit) as error:
            failure = InfrastructureError(
                f'{self._kind} {name!r}: {cls.__module__}.{cls.__qualname__} raised '
                f'{type(error).__name__}: {error}')
            failure.defect = True
            raise failure from error

    def _complete(self, name: str, made: Any) -> T:
        """Return the made object after a check that it has all parts of the contract.

        Raises:
            InputError: a method or attribute of the contract is missing.
        """
        for part, wanted in vars(self._contract).items():
            if part.startswith('_'):
                continue
            where = f'{self._kind} {name!r}: {type(made).__module__}.{type(made).__qualname__}'
            if inspect.isfunction(wanted) and not callable(getattr(made, part, None)):
                signature = str(inspect.signature(wanted)).replace("'", '')
                raise InputError(f'{where} has no method {part}; add {part}{signature}')
            if isinstance(wanted, property) and not (hasattr(type(made), part)
                                                     or hasattr(made, part)):
                raise InputError(f'{where} has no attribute {part}; add it: '
                                 f'{(wanted.__doc__ or "").splitlines()[0]}')
        return cast(T, made)


def folders(root: Path | None, marker: str, group: str) -> dict[str, Path]:
    """Return folders by name: those in ``root`` with a file ``marker``, and those of a group.

    An entry point that cannot be found is left out; ``find_folder`` says what is wrong with it.
    """
    found = {}
    if root is not None and root.is_dir():
        with os.scandir(root) as entries:
            found = {entry.name: root / entry.name for entry in entries
                     if os.path.exists(f'{entry.path}/{marker}')}
    for name, point in entry_points(group).items():
        place = _folder_of(point)
        if place is not None and name not in found:
            found[name] = place
    return dict(sorted(found.items()))


def find_folder(kind: str, name: str, root: Path | None, marker: str, group: str) -> Folder:
    """Return the folder with a name or path.

    A path has a separator, or is an existing folder that holds ``marker``.

    Args:
        kind: what it is, for messages: ``domain``, ``suite``.
        name: a name or a path.
        root: where ours are: the folder of the package whose name is ``group``; None: all are
            entry points.
        marker: file that such a folder holds.
        group: of entry points, whose values are packages or modules beside ``marker``.

    Raises:
        InputError: there is none; names the file that is missing. Or its name is that of
            another one, so that results could not be told apart.
    """
    if root is not None and name.isidentifier() and (root / name / marker).exists():
        return Folder(name, root / name, f'{group}.{name}', name)
    found = folders(root, marker, group)
    if name not in found and ('/' in name or Path(name).expanduser().is_dir()):
        try:
            path = Path(name).expanduser().resolve()
        except (ValueError, RuntimeError) as error:  # no file can be called so; no such user
            raise InputError(f'{kind} {name!r}: is no folder ({error}); correct the name'
                             ) from error
        if not (path / marker).is_file():
            raise InputError(f'{kind} {name!r}: {path / marker} is missing; give the folder that '
                             f'holds it')
        ours = next((known for known, place in found.items() if place.resolve() == path), None)
        if ours is None:
            if path.name in found:
                raise InputError(f'{kind} {name!r}: {path.name} is the name of another {kind}, '
                                 f'in {found[path.name]}; rename the folder')
            return Folder.at(path)
        name = ours
    if name in found:
        path = found[name]
        if path.parent == root:
            return Folder(name, path, f'{group}.{name}', name)
        module = entry_points(group)[name].module
        spec = importlib.util.find_spec(module)
        is_package = spec is not None and spec.submodule_search_locations
        return Folder(name, path, module if is_package else module.rpartition('.')[0], name)
    point = entry_points(group).get(name)
    if point is not None:
        raise InputError(f'{kind} {name!r} of {_origin(point)} cannot be used: there is no '
                         f'{marker} beside {point.value}; reinstall or correct that package')
    raise unknown(kind, name, found)


def load_object(kind: str, name: str, group: str) -> Any:
    """Load the object that an entry point names.

    Raises:
        InputError: there is none of that name, or its package cannot be imported.
    """
    point = entry_points(group).get(name)
    if point is None:
        raise unknown(kind, name, entry_points(group))
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise InputError(f'{kind} {name!r} of {_origin(point)} cannot be used: '
                         f'{type(error).__name__}: {error}; reinstall or correct that package'
                         ) from error


def part(name: str, package: str) -> Any:
    """Load an object of one of our packages for a package that must not import it.

    Args:
        name: of an entry point of the group ``sightplan.parts``.
        package: the package that brings it, for the message.

    Raises:
        InputError: the package is not installed, or cannot be imported.
    """
    if name not in entry_points(PARTS):
        raise InputError(f'this needs {package}, which is not installed (pip install {package})')
    return load_object('part', name, PARTS)


def unknown(kind: str, name: str, names: Iterable[str]) -> InputError:
    """Return the error for an unknown name; its message lists the known ones."""
    known = tuple(names)
    choice = f'choose one of {", ".join(known)}' if known else 'none is installed'
    return InputError(f'{kind} {name!r} is unknown; {choice}{did_you_mean(name, known)}'
                      f'{not_installed(kind)}')


def not_installed(kind: str) -> str:
    """Return a hint at our package that offers more of a kind; '' if it is installed."""
    package = BRINGS_MORE.get(kind, '')
    if not package or importlib.util.find_spec(package) is not None:
        return ''
    return f'; {package}, which is not installed, brings more (pip install {package})'


def _made_up(path: Path) -> str:
    """Return a package name for a folder that no package declares; unique for its path."""
    return f'sightplan_folder_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}'


def _folder_of(point: importlib.metadata.EntryPoint) -> Path | None:
    """Return the folder of an entry point's module; None if it cannot be found."""
    try:
        return _module_folder(point.module, tuple(sys.path))
    except Exception:  # not installed any more, or a parent package breaks when it is imported
        return None


@functools.lru_cache(maxsize=256)
def _module_folder(module: str, search_path: tuple[str, ...]) -> Path:
    """Return the folder of a package, or the one that holds a module; results are cached.

    Raises:
        ModuleNotFoundError: there is none on this search path.
    """
    spec = importlib.util.find_spec(module)
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    if spec is None or not spec.origin:
        raise ModuleNotFoundError(module)
    return Path(spec.origin).parent


def _origin(point: importlib.metadata.EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else point.module
    return f'package {package} ({point.group}: {point.name} = {point.value})'
