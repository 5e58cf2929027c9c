"""Episodes played by people: the game between an episode and a local page, and its server."""

from sightplan_report.playing.game import Game

__all__ = ['Game']
