"""Counts of the requests and tokens that models used, and their cost."""

from __future__ import annotations

from dataclasses import dataclass

_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests, tokens and money spent on a model.

    Sums and differences of costs are rounded to a millionth of a millionth dollar, so that they
    do not depend on the order of adding.

    Attributes:
        requests: calls of the model.
        prompt_tokens: tokens that went in, those of images included where the model counts them.
        completion_tokens: tokens that came out.
        cost_usd: price of it all [USD]; None where no price is known.
    """

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; its cost is that of the parts whose price is known."""
        costs = [u.cost_usd for u in (self, other) if u.cost_usd is not None]
        return Usage(self.requests + other.requests, self.prompt_tokens + other.prompt_tokens,
                     self.completion_tokens + other.completion_tokens,
                     round(sum(costs), _DIGITS) if costs else None)

    def __sub__(self, other: Usage) -> Usage:
        """Return the usage since ``other``, an earlier reading of the same counter."""
        cost = (None if self.cost_usd is None
                else round(self.cost_usd - (other.cost_usd or 0.0), _DIGITS))
        return Usage(self.requests - other.requests, self.prompt_tokens - other.prompt_tokens,
                     self.completion_tokens - other.completion_tokens, cost)


def used_between(before: Usage | None, after: Usage | None) -> Usage | None:
    """Return the usage between two readings of a counter; None if it is not counted."""
    return None if after is None else after - (before or Usage())
