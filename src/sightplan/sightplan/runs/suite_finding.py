"""Find suites by entry points of any package, and by their paths.

An entry point of the group ``sightplan.suites`` names an object that is a ``Suite``
(``my_pictures = my_package.my_pictures:suite``), or a package whose folder holds ``suite.yaml``. A
path is that of such a folder, of a Python file that calls its suite ``suite``, or of a table of
questions (``runs.question_table``).
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from sightplan.model import InputError, check_settings, plugins, settings_fields
from sightplan.runs.question_table import SUFFIXES, question_table
from sightplan.runs.suite import Suite
from sightplan.runs.suite_folder import MARKER, read_suite
from sightplan.runs.suite_rules import SAMPLES

GROUP = 'sightplan.suites'
_OBJECT = 'suite'
"""The name of the suite object in a Python file."""
_FILES = ('.py', *SUFFIXES)
"""Ends of the names of files that are suites."""
T = TypeVar('T')


def suite_names() -> tuple[str, ...]:
    """Names of the suites that are found without a path, sorted."""
    return tuple(plugins.folders(None, MARKER, GROUP))


def load_suite(name: str) -> Suite:
    """Load a suite.

    Args:
        name: its name, or the path of its folder or file.

    Raises:
        InputError: there is none, or it cannot be used; says what is wrong.
    """
    if (suite := _at_file(name)) is not None:
        return suite
    point = plugins.entry_points(GROUP).get(name)
    if point is not None and point.attr:
        return _checked(plugins.load_object('suite', name, GROUP), point.value, name)
    return read_suite(_folder(name))


def _folder(name: str) -> plugins.Folder:
    """The folder of a suite.

    Raises:
        InputError: there is none; names a file that may be meant, where there is one.
    """
    try:
        return plugins.find_folder('suite', name, None, MARKER, GROUP)
    except InputError as error:
        if name and os.path.isfile(name):
            raise InputError(f'suite {name!r}: is no folder, and its name does not end in '
                             f'{" or ".join(_FILES)}, as those of files that are suites do '
                             '(give such a file, or a folder; save a spreadsheet as CSV in '
                             'UTF-8)') from error
        meant = [file for file in (f'{name}{suffix}' for suffix in _FILES)
                 if name and os.path.isfile(file)]
        if name and os.path.isdir(name):
            meant += [str(one) for one in sorted(Path(name).iterdir()) if one.suffix in SUFFIXES]
        if meant:
            file = meant[0] if '/' in meant[0] else f'./{meant[0]}'
            raise InputError(f'{error}; or did you mean the file {file}?') from error
        raise


def suite_reference(name: str) -> str:
    """Return a suite's name or absolute path, which finds it from any working directory.

    Args:
        name: one of ``suite_names()``, or the path of a folder or file.

    Raises:
        InputError: there is no such suite.
    """
    if (suite := _at_file(name)) is not None:
        return str(suite.source)
    return _folder(name).reference


def suite_settings(name: str, cls: type[T], options: Mapping[str, Any]) -> T:
    """Settings of a suite from its options (``--suite-option``).

    Args:
        name: of the suite.
        cls: dataclass of its settings.
        options: as given.

    Raises:
        InputError: an unknown option or a bad value.
    """
    known = [found.name for found in settings_fields(cls)]
    for option in options:
        if option not in known:
            raise InputError(f'suite {name} has no option {option!r}; it has {", ".join(known)}')
    settings = cls(**options)
    check_settings(settings, f'suite {name}')
    return settings


def sample_suite(name: str, split: str) -> Suite | None:
    """The suite of a run of samples; None: it is one of episodes.

    Args:
        name: of the suite that the run names, or its path; '' for none.
        split: that the run names.

    Raises:
        InputError: there is no such suite.
    """
    suite = load_suite(name) if name else None
    return suite if suite is not None and suite.kind_of(split) == SAMPLES else None


def suite_for(domain: str, split: str) -> Suite | None:
    """The suite of episodes that a domain's split belongs to, None if there is none."""
    for suite in map(load_suite, suite_names()):
        if domain in suite.domains and split in suite.domains[domain].splits:
            return suite
    return None


def _at_file(name: str) -> Suite | None:
    """The suite of a file, by its path; None for another name, which is no file's.

    Raises:
        InputError: there is no such file, or its suite cannot be used.
    """
    if name.endswith('.py'):
        return _of_file(Path(name))
    if not name.lower().endswith(SUFFIXES):
        return None
    suite = question_table(name)
    _check_name(suite.source)
    return suite


def _check_name(path: Path) -> None:
    """Check that a suite that is called like its file has a name of its own.

    Raises:
        InputError: it has not.
    """
    if path.stem in suite_names():
        raise InputError(f'suite {str(path)!r}: {path.stem} is the name of another suite; rename '
                         'the file')


def _of_file(path: Path) -> Suite:
    """The suite of a Python file, read again when the file has changed.

    Raises:
        InputError: there is no such file, or its suite cannot be used.
    """
    try:
        path = path.expanduser().resolve()
        changed_ns = os.stat(path).st_mtime_ns
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f'suite {str(path)!r}: cannot be read ({error}); give the path of a '
                         'Python file') from error
    _check_name(path)
    return _read_file(path, changed_ns)


@functools.lru_cache(maxsize=64)
def _read_file(path: Path, changed_ns: int) -> Suite:
    name = f'sightplan_suite_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}'
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f'{path}: cannot be imported: {type(error).__name__}: {error} (correct '
                         'it)') from error
    return _checked(getattr(module, _OBJECT, None), f'{path}: {_OBJECT}', path.stem)


def _checked(found: object, where: str, name: str) -> Suite:
    """An object, if it is a suite that is called as it is found.

    Raises:
        InputError: it is none; says what it lacks.
    """
    if not isinstance(found, Suite):
        raise InputError(f'{where} is no suite but {type(found).__name__}; make it an object of a '
                         f'class that inherits from sightplan.runs.Suite')
    suite = found
    missing = [part for part in ('name', 'title') if not getattr(suite, part, '')]
    if missing:
        raise InputError(f'{where} has no {" and no ".join(missing)}; add it to '
                         f'{type(suite).__name__}')
    if not suite.kinds:
        raise InputError(f'{where} has neither splits of samples nor domains of episodes; add '
                         f'splits to {type(suite).__name__}, such as splits = ("all_of_it",)')
    if suite.name != name:
        raise InputError(f'{where} has name = {suite.name!r}, but its file or entry point is '
                         f'called {name!r}; write name = {name!r}, or rename that')
    return suite
