"""Shortest ways through graphs."""

from __future__ import annotations

import heapq
import math

Graph = dict[int, list[tuple[int, float]]]
"""Neighbours of each node, with the cost of going there, 0 or more."""


def shortest_path(graph: Graph, first: int, last: int) -> list[int] | None:
    """Nodes of a shortest way through a graph (Dijkstra); None if there is no way."""
    best, before = {first: 0.0}, {first: first}
    queue = [(0.0, first)]
    while queue:
        cost, node = heapq.heappop(queue)
        if node == last:
            way = [node]
            while way[-1] != first:
                way.append(before[way[-1]])
            return way[::-1]
        if cost > best[node]:
            continue
        for other, length in graph[node]:
            if cost + length < best.get(other, math.inf):
                best[other], before[other] = cost + length, node
                heapq.heappush(queue, (cost + length, other))
    return None
