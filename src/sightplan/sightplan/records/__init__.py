"""Run directories: what was run, one line per finished episode, and a summary."""

from sightplan.records.provenance import provenance
from sightplan.records.run_store import RunStore

__all__ = ['RunStore', 'provenance']
