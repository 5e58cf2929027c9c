"""Sweeps: many runs described by one YAML file, made by several processes, resumable."""

from sightplan.sweeps.cells import Calibration, Cell, Sweep, parse_sweep, read_sweep
from sightplan.sweeps.running import default_jobs, estimate, run_sweep, status

__all__ = [
    'Calibration', 'Cell', 'Sweep', 'default_jobs', 'estimate', 'parse_sweep', 'read_sweep',
    'run_sweep', 'status',
]
