"""What an instruction wants, as goals over the things that are seen.

A sentence becomes *wishes* (``read_instruction``: a small reader of plain instructions about
putting things somewhere), and these become goals over the things that are seen (``resolve``).
"""

from sightplan.grounding.instructions.instances import (
    Stage,
    UnresolvedError,
    instances_of,
    resolve,
)
from sightplan.grounding.instructions.reader import UnreadError, content, read_instruction
from sightplan.grounding.instructions.tracking import matched
from sightplan.grounding.instructions.wishes import (
    DRAWER,
    Choice,
    Place,
    Things,
    Wish,
)
from sightplan.model import Instance

__all__ = [
    'DRAWER', 'Choice', 'Instance', 'Place', 'Stage', 'Things', 'UnreadError', 'UnresolvedError',
    'Wish', 'content', 'instances_of', 'matched', 'read_instruction', 'resolve',
]
