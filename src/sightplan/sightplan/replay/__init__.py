"""What recorded episodes say afterwards: metrics again, other models' answers, other estimators.

All of it works on iterators of ``RecordedEpisode`` (``sightplan.records.recorded``), wherever they
come from; ``sources`` finds those of bags, runs and sweeps. The command ``sightplan replay`` is
``sightplan_report.commands.replay``.
"""
