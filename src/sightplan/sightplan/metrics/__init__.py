"""Scores of episodes and runs, and their intervals."""

from sightplan.metrics.calibration import Bin, Reliability, reliability, reliability_of_sums
from sightplan.metrics.intervals import mean_sem, sem, wilson
from sightplan.metrics.scorer import EpisodeScorer
from sightplan.metrics.summary import belief_reliability, summarise

__all__ = [
    'Bin', 'EpisodeScorer', 'Reliability', 'belief_reliability', 'mean_sem', 'reliability',
    'reliability_of_sums', 'sem', 'summarise', 'wilson',
]
