"""Grounding: asks a model about pictures, and reads its answers."""

from sightplan.grounding.backend_grounder import (
    BackendGrounder,
    in_places,
    meaning_of,
    why_unable,
)
from sightplan.model.yes_no_text import PARSERS, parse_prefix, parse_yes_no

__all__ = [
    'BackendGrounder', 'parse_prefix', 'parse_yes_no', 'PARSERS', 'in_places',
    'meaning_of', 'why_unable',
]
