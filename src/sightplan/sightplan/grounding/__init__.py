"""From questions about an image to verdicts: asking a backend and reading its replies."""

from sightplan.grounding.backend_grounder import BackendGrounder
from sightplan.grounding.parsing import parse_yes_no

__all__ = ['BackendGrounder', 'parse_yes_no']
