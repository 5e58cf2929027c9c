"""Queries of any kind as JSON for ``POST /v1/queries`` of ``sightplan serve``, and back.

A query is written as recordings have it, with pictures and depth by their ids, and the arrays
themselves stand once beside all queries, as base64 of NumPy's file format. What no model is shown
stays behind: the world's facts, unlabelled pictures, subjects of choices.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan import queries as _kinds  # noqa: F401 (their queries are read)
from sightplan.model import InputError, Observation
from sightplan.model.dataclass_json import decode, encode
from sightplan.model.query import Query
from sightplan.queries import Choose, YesNo


def to_wire(queries: Sequence[Query[Any]]) -> dict[str, Any]:
    """The body of a request, without the name of the model."""
    arrays: dict[str, str] = {}

    def keep(array: NDArray[Any]) -> Any:
        written = encode(array)
        [name] = written.values()
        if name not in arrays:
            buffer = io.BytesIO()
            np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
            arrays[name] = base64.b64encode(buffer.getvalue()).decode()
        return written

    return {'queries': [_bare(query).to_json(hooks={np.ndarray: keep}) for query in queries],
            'arrays': arrays}


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
                data = base64.b64decode(held[name], validate=True)
                arrays[name] = np.load(io.BytesIO(data), allow_pickle=False)
            except (KeyError, ValueError, TypeError, EOFError, MemoryError) as error:
                raise InputError(f'arrays: {name} is missing or no array ({error}); send each '
                                 'array as base64 of an .npy file') from error
        return arrays[name]

    def observation(data: Any) -> Observation:
        key = json.dumps(data, sort_keys=True)
        if key not in seen:
            seen[key] = decode(Observation, data, array)
        return seen[key]

    return [Query.from_json(one, array, hooks={Observation: observation}) for one in written]


def _bare(query: Query[Any]) -> Query[Any]:
    """The query without what no model is shown."""
    if isinstance(query, YesNo):
        seen = query.observation
        return dataclasses.replace(query, observation=Observation(
            seen.image, depth_m=seen.depth_m, text=seen.text))
    if isinstance(query, Choose):
        return dataclasses.replace(query, subjects=())
    return query
