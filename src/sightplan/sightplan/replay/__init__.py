"""Replay of recorded episodes: metrics again, other models' answers, other estimators.

All functions work on iterators of ``RecordedEpisode`` (``sightplan.records.recorded``) from any
source; ``sources`` finds the episodes of bags, runs and sweeps. The command ``sightplan replay``
is ``sightplan_report.commands.replay``.
"""
