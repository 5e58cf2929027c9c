"""Maximum one-to-one matching, grown by one vertex at a time (Kuhn's augmenting paths)."""

from __future__ import annotations

from collections.abc import Sequence


class Matching:
    """A maximum matching between added vertices and fixed partners.

    After every ``add`` it is a maximum one of all that was added: n additions take at most
    n * edges steps.
    """

    def __init__(self, partners: int) -> None:
        """Start with an empty matching.

        Args:
            partners: how many there are.
        """
        self.partner: list[int | None] = [None] * partners
        """Vertex that each partner is matched with; None without one."""
        self.size = 0
        self._fitting: dict[int, Sequence[int]] = {}

    def add(self, vertex: int, fitting: Sequence[int]) -> bool:
        """Add a vertex, and match it if that is possible.

        Args:
            vertex: its number, different from all before.
            fitting: the partners that it may be matched with.

        Returns:
            Whether one more is matched than before.
        """
        self._fitting[vertex] = fitting
        grown = self._augment(vertex, set())
        self.size += grown
        return grown

    def _augment(self, vertex: int, seen: set[int]) -> bool:
        for partner in self._fitting[vertex]:
            if partner in seen:
                continue
            seen.add(partner)
            held = self.partner[partner]
            if held is None or self._augment(held, seen):
                self.partner[partner] = vertex
                return True
        return False
