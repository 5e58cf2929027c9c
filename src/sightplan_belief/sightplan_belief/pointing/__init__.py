"""Belief about where a model points, with the probability that the place is right.

What may be meant are the *pieces* of a picture (``pieces``). What a model points at is a *vote*
for one of them, and what it says about a marked piece is a *check* (``votes``); it may also be
asked whether there is such a thing at all. All of it is weighed by what is known of the model
(``reliability``). A ``Pointer`` (``asking``) asks what is worth most (``choosing``) until it is
sure, or says that it is not.
"""

from sightplan.model.pointer_settings import PointerSettings
from sightplan_belief.pointing.asking import Located, Pointer
from sightplan_belief.pointing.pieces import Pieces, propose_pieces
from sightplan_belief.pointing.reliability import (
    AlarmRates,
    CheckerRates,
    PointerRates,
    Reliability,
)
from sightplan_belief.pointing.votes import ABSENT, Answers, Belief, Check, Vote, believe, fit

__all__ = [
    'ABSENT', 'AlarmRates', 'Answers', 'Belief', 'Check', 'CheckerRates', 'Located', 'Pieces',
    'Pointer', 'PointerRates', 'PointerSettings', 'Reliability', 'Vote', 'believe', 'fit',
    'propose_pieces',
]
