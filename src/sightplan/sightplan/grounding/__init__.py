"""From questions about an image to verdicts: asking a backend and reading its replies."""

from sightplan.grounding.backend_grounder import BackendGrounder
from sightplan.grounding.parsing import PARSERS, parse_prefix, parse_yes_no

__all__ = ['PARSERS', 'BackendGrounder', 'parse_prefix', 'parse_yes_no']
