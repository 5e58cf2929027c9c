"""Optional parts of a node that the program that runs it, and its status, use."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sightplan_nodes.diagnosis import Diagnosis


@runtime_checkable
class LoadingNode(Protocol):
    """A node that loads something for long: a signal interrupts it while it does."""

    loading: bool


@runtime_checkable
class EndingNode(Protocol):
    """A node that may end by itself."""

    exit_code: int | None
    """Exit code of the process; None while the node goes on."""


@runtime_checkable
class ClosingNode(Protocol):
    """A node that has something to do before the ROS context goes down."""

    def close(self) -> None:
        """Close; called once, in a thread, while the executor still spins.

        The attribute ``stop_signal`` is then SIGINT (somebody wants to stop), SIGTERM (the graph
        is going down, or its launcher is gone), or 0.
        """


@runtime_checkable
class DiagnosedNode(Protocol):
    """A node that adds to its status."""

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Add what is to be known, and what is wrong."""
