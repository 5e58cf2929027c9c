"""Run directories: what was run, one line per finished episode, and a summary."""

from sightplan.records.answers_log import AnswersLog
from sightplan.records.provenance import provenance
from sightplan.records.run_store import RunStore

__all__ = ['AnswersLog', 'RunStore', 'provenance']
