"""``--domain``, wherever a command takes one: a name, or the path of a folder."""

from __future__ import annotations

import argparse
from typing import Any

from sightplan.domains import domain_names, domain_reference
from sightplan.model import InputError


def add_domain(parser: Any, name: str = '--domain', *, optional: bool = False,
               **extra: Any) -> None:
    """Add the argument; its value is the domain's reference (see ``domain_reference``).

    Args:
        parser: or a group of one.
        name: of the argument.
        optional: whether it is None if it is not given; else it is the first installed domain.
        **extra: for ``add_argument``.
    """
    default = None if optional else domain_names()[0]
    extra.setdefault('help', f'name of an installed domain ({", ".join(domain_names())}), or the '
                     f'path of its folder{f" (default: {default})" if default else ""}')
    parser.add_argument(name, type=_reference, default=default, metavar='DOMAIN', **extra)


def _reference(text: str) -> str:
    try:
        return domain_reference(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
