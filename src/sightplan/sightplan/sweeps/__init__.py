"""Sweeps: many runs described by one YAML file, made by several workers, resumable."""

from sightplan.sweeps.cells import (
    Calibration,
    Cell,
    Sweep,
    installed_sweeps,
    parse_sweep,
    read_sweep,
)
from sightplan.sweeps.checks import check_sweep
from sightplan.sweeps.committed import METRICS, damaged, leftovers, status
from sightplan.sweeps.engines import LocalEngine
from sightplan.sweeps.estimates import Estimate, Estimator, estimate
from sightplan.sweeps.running import Options, Status, default_jobs, run_sweep

__all__ = [
    'METRICS', 'Calibration', 'Cell', 'Estimate', 'Estimator', 'LocalEngine', 'Options', 'Status',
    'Sweep', 'check_sweep', 'damaged', 'default_jobs', 'estimate', 'installed_sweeps', 'leftovers',
    'parse_sweep', 'read_sweep', 'run_sweep', 'status',
]
