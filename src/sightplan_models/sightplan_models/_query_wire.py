"""Queries of any kind as JSON for ``POST /v1/queries`` of ``sightplan serve``, and back.

A query is written as recordings have it, with pictures and depth by their ids, and the arrays
themselves stand once beside all queries, as base64 of NumPy's file format. What no model is shown
stays behind (``Query.without_hidden``). Arrays of replies stand within them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan import queries as _kinds  # noqa: F401 (their queries are read)
from sightplan.model import InputError, Observation
from sightplan.model.array_files import array_from_text, array_to_text
from sightplan.model.dataclass_json import decode, encode
from sightplan.model.query import Query


def to_wire(queries: Sequence[Query[Any]]) -> dict[str, Any]:
    """The body of a request, without the name of the model."""
    arrays: dict[str, str] = {}

    def keep(array: NDArray[Any]) -> Any:
        written = encode(array)
        [name] = written.values()
        if name not in arrays:
            arrays[name] = array_to_text(array)
        return written

    return {'queries': [query.without_hidden().to_json(hooks={np.ndarray: keep})
                        for query in queries], 'arrays': arrays}


def from_wire(body: Mapping[str, Any]) -> list[Query[Any]]:
    """The queries of a request; questions about one observation share one object.

    Raises:
        InputError: it is something else; names the field.
    """
    written, held = body.get('queries'), body.get('arrays', {})
    if not isinstance(written, list) or not written or not isinstance(held, Mapping) or not all(
            isinstance(one, Mapping) for one in written):
        raise InputError('queries: must be a list of queries, one at least, and arrays an object; '
                         'send what the backend decisions with wire=sightplan sends')
    arrays: dict[str, NDArray[Any]] = {}
    seen: dict[str, Observation] = {}

    def array(name: str) -> NDArray[Any]:
        if name not in arrays:
            try:
                arrays[name] = array_from_text(held[name])
            except (KeyError, ValueError) as error:
                raise InputError(f'arrays: {name} is missing or no array ({error}); send each '
                                 'array as base64 of an .npy file') from error
        return arrays[name]

    def observation(data: Any) -> Observation:
        key = json.dumps(data, sort_keys=True)
        if key not in seen:
            seen[key] = decode(Observation, data, array)
        return seen[key]

    return [Query.from_json(one, array, hooks={Observation: observation}) for one in written]

