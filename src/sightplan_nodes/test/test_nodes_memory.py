"""Freed memory goes back to the system."""

from __future__ import annotations

from sightplan_nodes.memory import FreedMemory


def test_it_is_given_back_now_and_then() -> None:
    now, calls = [100.0], []

    def trim(pad: int) -> int:
        calls.append((now[0], pad))
        return 1
    memory = FreedMemory(trim, lambda: now[0])
    for now[0] in (100.0, 101.0, 129.9, 130.0, 500.0, 500.0):
        memory.give_back()
    assert calls == [(100.0, 0), (130.0, 0), (500.0, 0)]


def test_the_real_one_can_be_called() -> None:
    FreedMemory().give_back()
