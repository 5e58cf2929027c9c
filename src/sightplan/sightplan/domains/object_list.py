"""Objects as people write them: a list of NAME:TYPE."""

from __future__ import annotations

from collections.abc import Iterable

from sightplan.model import InputError


def read_objects(pairs: Iterable[str], where: str = 'objects') -> dict[str, str]:
    """Return the type of each object by its name, in lower case, as PDDL folds them.

    Args:
        pairs: such as ``red:block``.
        where: what the pairs were given as, for messages.

    Raises:
        InputError: one is of another form, or a name comes twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, colon, kind = (part.strip().lower() for part in pair.partition(':'))
        if not (name and colon and kind):
            raise InputError(f'{where}: {pair!r} must have the form NAME:TYPE')
        if name in found:
            raise InputError(f'{where}: {name} is named twice; name it once')
        found[name] = kind
    return found
