"""Number of requests that a server works on at the same time.

More requests than that wait in the server's queue, and where each slot of the server has a cache
of its own (llama.cpp), they also push each other's prompts out of it. llama.cpp reports its slots.
vLLM and SGLang batch as many requests as their memory holds, and report no number; their
documented defaults (``--max-num-seqs``, ``--max-running-requests``) are above what is chosen here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

DEFAULT_CONCURRENCY = 8
"""Requests at a time to a server that does not report how many it works on."""
_BATCHING_CONCURRENCY = 64
"""Requests at a time to a server that batches whatever comes."""
_BATCHING = ('vllm', 'sglang')
"""Values of ``owned_by`` in the list of models of servers that batch whatever comes."""
_MOST = 1024


@dataclass(frozen=True, slots=True)
class Slots:
    """Requests to have under way at a time.

    Attributes:
        count: their number.
        reason: where the number comes from, for the log.
    """

    count: int
    reason: str


async def find_slots(get: Callable[[str], Awaitable[Any]]) -> Slots:
    """Ask a server how many requests it works on at a time.

    Args:
        get: the JSON that the server has at a path from its root; None if there is none.
    """
    props = await get('/props')
    slots = props.get('total_slots') if isinstance(props, dict) else None
    if isinstance(slots, int) and not isinstance(slots, bool) and slots > 0:
        return Slots(min(slots, _MOST), f'it has {slots} slot{"s" if slots > 1 else ""}')
    models = await get('/v1/models')
    data = models.get('data') if isinstance(models, dict) else None
    first = data[0] if isinstance(data, list) and data else None
    owner = first.get('owned_by') if isinstance(first, dict) else None
    if owner in _BATCHING:
        return Slots(_BATCHING_CONCURRENCY, f'it is {owner}, which batches')
    return Slots(DEFAULT_CONCURRENCY, 'it does not say how many it works on')
