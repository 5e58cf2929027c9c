"""Optional facts that simulated models read from their source of truth."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class KnowsEpisode(Protocol):
    """A source of truth that knows which episode it is about, as a service does."""

    @property
    def episode_id(self) -> str:
        """The episode; '' for none."""


@runtime_checkable
class KnowsView(Protocol):
    """A source of truth that knows how the world is shown."""

    @property
    def view(self) -> str:
        """Name of the view; '' if it is not known, or changes."""


def episode_of(truth: object) -> str:
    """The episode that a source of truth is about; '' if it does not know."""
    return truth.episode_id if isinstance(truth, KnowsEpisode) else ''


def view_of(truth: object) -> str:
    """View in which the world is shown, by its source of truth; '' if it is not known."""
    return truth.view if isinstance(truth, KnowsView) else ''
