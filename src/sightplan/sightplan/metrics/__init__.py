"""Scores of episodes and runs, and their intervals."""

from sightplan.metrics.calibration import Bin, Reliability, reliability
from sightplan.metrics.intervals import mean_sem, sem, wilson
from sightplan.metrics.scorer import EpisodeScorer
from sightplan.metrics.summary import summarise

__all__ = ['Bin', 'EpisodeScorer', 'Reliability', 'mean_sem', 'reliability', 'sem', 'summarise',
           'wilson']
