"""Scores of episodes and runs, and their intervals."""

from sightplan.metrics.intervals import mean_sem, sem, wilson
from sightplan.metrics.scorer import EpisodeScorer
from sightplan.metrics.summary import summarise

__all__ = ['EpisodeScorer', 'mean_sem', 'sem', 'summarise', 'wilson']
