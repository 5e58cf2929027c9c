"""``astar``: shortest plans from ground truth, by an exact search; iVISPAR's optimal player.

In a domain that brings a planner of its own (``sliding``: A*) that is asked, elsewhere Fast
Downward's search for shortest plans.
"""

from __future__ import annotations

from sightplan.agent.methods.oracle import Policy as Oracle
from sightplan.agent.methods.oracle import Settings as OracleSettings
from sightplan.model import TruthSource
from sightplan.model.settings import NoSettings

Settings = NoSettings


class Policy(Oracle):
    """``oracle`` with the search for shortest plans."""

    def __init__(self, settings: Settings, truth: TruthSource) -> None:
        """Keep the source of truth."""
        super().__init__(OracleSettings('optimal'), truth)
