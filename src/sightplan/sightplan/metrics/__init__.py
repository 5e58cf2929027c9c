"""Scores of episodes and runs, and their intervals."""

from sightplan.metrics.calibration import Bin, Reliability, reliability, reliability_of_sums
from sightplan.metrics.failures import (
    RULES,
    Cause,
    Failure,
    cause_of,
    failure_of,
    without_truth,
)
from sightplan.metrics.intervals import mean_sem, sem, wilson
from sightplan.metrics.paired import (
    Comparison,
    PairedDifference,
    compare,
    holm,
    mcnemar_exact,
    paired_bootstrap,
)
from sightplan.metrics.scorer import EpisodeScorer, score
from sightplan.metrics.summary import belief_reliability, failure_counts, summarise_episodes

__all__ = [
    'Bin', 'Cause', 'Comparison', 'EpisodeScorer', 'Failure', 'PairedDifference',
    'RULES', 'Reliability', 'belief_reliability', 'cause_of', 'compare',
    'failure_counts', 'failure_of', 'holm', 'mcnemar_exact', 'mean_sem', 'paired_bootstrap',
    'reliability', 'reliability_of_sums', 'score', 'sem', 'summarise_episodes', 'wilson',
    'without_truth',
]
