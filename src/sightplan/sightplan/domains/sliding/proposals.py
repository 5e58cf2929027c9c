"""Read a model's free-text reply as a proposed move, by the rules of ``replies``."""

from __future__ import annotations

from sightplan.domains.instantiation import InstantiatedModel
from sightplan.domains.prompts import Became, PlanningPrompt
from sightplan.domains.sliding.replies import (
    DONE,
    MOVE,
    NO_COMMAND,
    NO_MARKER,
    START,
    Command,
    named_move,
    read_reply,
)
from sightplan.model import Action, Proposal, ProposalStatus
from sightplan.model.reply_text import refuses


def read_proposal(text: str, prompt: PlanningPrompt, model: InstantiatedModel,
                  truncated: bool = False) -> Proposal:
    """Read a reply; one that refuses (``model.reply_text.refuses``) proposes nothing.

    Args:
        text: the raw reply.
        prompt: what was asked for.
        model: actions and objects of the problem.
        truncated: whether the reply was cut off.

    Returns:
        the proposal, without model and hash; a move that is to be repeated is a plan of several.
    """
    command = Command(reason=NO_MARKER) if refuses(text) else read_reply(text)
    kept = text.encode('utf-8', 'replace').decode('utf-8').replace('\0', ' ')
    pieces = tuple(dict.fromkeys(action.args[0] for action in model.actions))

    def refused(status: ProposalStatus, message: str) -> Proposal:
        return Proposal(status, named=_named(command), message=message,
                        repaired=command.repaired, text=kept)
    if prompt.opening and command.verb == START:
        return Proposal(ProposalStatus.STARTED, named=START, text=kept)
    if command.verb == DONE:
        return refused(ProposalStatus.EMPTY, prompt.became(Became.EMPTY))
    if command.reason in (NO_MARKER, NO_COMMAND):
        return refused(ProposalStatus.UNPARSED, prompt.became(
            Became.CUT_OFF if truncated else Became.UNREADABLE))
    if not command.reason and command.verb != MOVE:
        return refused(ProposalStatus.UNKNOWN_ACTION,
                       prompt.became(Became.UNKNOWN_ACTION, known=MOVE))
    if command.reason:
        return refused(ProposalStatus.WRONG_ARGUMENTS, prompt.became(
            Became.WRONG_PARAMETERS, known='COLOUR SHAPE DIRECTION'))
    found = named_move(command, pieces)
    if isinstance(found, str):
        return refused(ProposalStatus.WRONG_ARGUMENTS, prompt.became(
            Became.UNKNOWN_OBJECT, name=f'"{_piece(command)}"', type='piece',
            known=', '.join(piece.replace('_', ' ') for piece in pieces)))
    return Proposal(ProposalStatus.PLANNED, (Action('move', found),) * command.times,
                    command.text, repaired=command.repaired, text=kept)


def write_proposal(action: Action) -> str:
    """Return a reply that proposes a move: ``action: move blue cube up``."""
    piece, direction = action.args
    return f'action: {MOVE} {piece.replace("_", " ")} {direction}'


def _named(command: Command) -> str:
    """Return the words of a command, which may be incomplete."""
    return ' '.join(word for word in (command.verb, _piece(command), command.direction) if word)


def _piece(command: Command) -> str:
    number = '' if command.number is None else str(command.number)
    return ' '.join(word for word in (command.colour, command.shape, number) if word)
