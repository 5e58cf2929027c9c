"""What an instruction wants, as goals over the things that are seen.

A sentence becomes *wishes* (``read_instruction``: a small reader of plain instructions about
putting things somewhere), and these become goals over located things (``resolve``).
"""

from sightplan.grounding.instructions.reader import UnreadError, read_instruction
from sightplan.grounding.instructions.wishes import (
    Choice,
    Place,
    Things,
    Wish,
)

__all__ = ['Choice', 'Place', 'Things', 'UnreadError', 'Wish', 'read_instruction']
