"""Sweeps: many runs described by one YAML file, made by several workers, resumable."""

from sightplan.sweeps.cells import Calibration, Cell, Sweep, parse_sweep, read_sweep
from sightplan.sweeps.engines import LocalEngine
from sightplan.sweeps.estimates import Estimate, estimate
from sightplan.sweeps.running import (
    METRICS,
    How,
    Tick,
    damaged,
    default_jobs,
    leftovers,
    run_sweep,
    status,
)

__all__ = [
    'METRICS', 'Calibration', 'Cell', 'Estimate', 'How', 'LocalEngine', 'Sweep', 'Tick',
    'damaged', 'default_jobs', 'estimate', 'leftovers', 'parse_sweep', 'read_sweep',
    'run_sweep', 'status',
]
