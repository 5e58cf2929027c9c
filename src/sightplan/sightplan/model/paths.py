"""Paths that a person gave, and those of installed configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sightplan.model.errors import InputError

_IN_WHEEL = Path(__file__).parents[1] / 'config'
"""Configuration within the package: ``scripts/wheels.py`` puts it there."""


def user_path(given: Path | str) -> Path:
    """Return the path with ``~`` and ``~name`` replaced by home directories; it need not exist.

    Raises:
        InputError: there is no such user, the home directory is not known, or nothing can be at
            the path: it is too long, goes round in links, or leads through a locked folder.
    """
    try:
        path = Path(given).expanduser()
    except RuntimeError as error:
        raise InputError(f'{given}: its home directory is not known; give the path without '
                         f'"~"') from error
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except PermissionError as error:
        raise InputError(f'{path}: a folder above it may not be entered ({error.strerror}); '
                         f'allow it (chmod u+x FOLDER), or give another path') from error
    except OSError as error:
        raise InputError(f'{path}: there can be no such file or folder ({error.strerror}); '
                         f'give another path') from error
    except ValueError as error:
        raise InputError(f'{str(given)!r}: there can be no such file or folder ({error}); '
                         f'give another path') from error
    return path


def config_folders() -> list[Path]:
    """Return the folders share/sightplan_bringup/config that are installed, nearest first.

    The configuration that the pip package brings comes last.
    """
    prefixes = [Path(p) for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    found = [prefix / 'share' / 'sightplan_bringup' / 'config' for prefix in prefixes]
    return [*found, *([_IN_WHEEL] if _IN_WHEEL.is_dir() else [])]


def config_files(folder: str) -> dict[str, Path]:
    """The installed YAML files of a folder of the configuration, by name without suffix."""
    return {path.stem: path for config in reversed(config_folders())
            for path in sorted((config / folder).glob('*.yaml'))}


def visible_folders(root: Path) -> Iterator[Path]:
    """Yield a folder and all below it, sorted, without hidden ones such as ``.git``."""
    for place, names, _ in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith('.'))
        yield Path(place)
