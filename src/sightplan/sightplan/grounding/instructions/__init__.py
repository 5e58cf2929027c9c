"""Goals of an instruction over the things that are seen.

A sentence becomes *wishes* (``read_instruction``: a small reader of plain instructions about
putting things somewhere), and these become goals over the things that are seen (``resolve``). Or
a vision-language model, which understands free language, proposes the goals (``propose_goal``),
and they are checked (``read_goal``).
"""

from sightplan.grounding.instructions.instances import (
    Stage,
    UnresolvedError,
    clear_part,
    instances_of,
    resolve,
)
from sightplan.grounding.instructions.proposals import content, propose_goal, read_goal
from sightplan.grounding.instructions.reader import UnreadError, read_instruction
from sightplan.grounding.instructions.tracking import Memory, matched
from sightplan.grounding.instructions.wishes import (
    Condition,
    Hold,
    Place,
    Relation,
    Things,
    Where,
    Wish,
)
from sightplan.model import Instance
from sightplan.queries.detect import DRAWER

__all__ = [
    'DRAWER', 'Condition', 'Hold', 'Instance', 'Memory', 'Place', 'Relation', 'Stage', 'Things',
    'UnreadError', 'UnresolvedError', 'Where', 'Wish', 'clear_part', 'content', 'instances_of',
    'matched', 'propose_goal', 'read_goal', 'read_instruction', 'resolve',
]
