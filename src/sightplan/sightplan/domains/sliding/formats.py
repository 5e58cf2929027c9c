"""Problem files of this domain: iVISPAR's JSON."""

from __future__ import annotations

import dataclasses
import json
import logging

from sightplan.domains.domain import Domain
from sightplan.domains.sliding.boards import Board, cell_names, next_atoms
from sightplan.domains.sliding.configs import (
    SEQUENCES,
    Config,
    config_text,
    disagreements,
    optimal_length,
    parse_config,
)
from sightplan.model import Action, Atom, Literal, Problem

SUFFIX = '.json'

_LOG = logging.getLogger(__name__)


def read(domain: Domain, text: str, name: str, source: str) -> Problem:
    """Read a puzzle file.

    Where it disagrees with what is so, that is logged, and what is so counts; a shortest length
    that the search does not find within its limit is unknown.

    Args:
        domain: this one.
        text: its text.
        name: of the problem.
        source: the file, for messages.

    Raises:
        ProblemError: it cannot be used; names file, field and remedy.
    """
    config = parse_config(text, source)
    optimal = optimal_length(config)
    for what in disagreements(config, optimal):
        _LOG.warning('%s: %s', source, what)
    return problem_of(domain, dataclasses.replace(config, c1=optimal), name, source)


def problem_of(domain: Domain, config: Config, name: str, source: str = '') -> Problem:
    """Return a puzzle as a problem of the domain."""
    cells, board = cell_names(config.size), Board(config.size, config.pieces, config.kinds)
    known = next_atoms(config.size)
    return Problem(
        name=name, domain=domain.reference,
        objects={**dict(zip(config.pieces, config.kinds, strict=True)),
                 **dict.fromkeys(cells, 'cell')},
        init=board.facts(config.start) | known,
        goal=tuple(Literal(Atom('at', (piece, cells[cell])))
                   for piece, cell in zip(config.pieces, config.goal, strict=True)),
        domain_pddl=domain.pddl, optimal_length=config.c1, source=source, known=known,
        plans={key: board.plan(moves) for key, moves in config.sequences.items()})


def config_of(problem: Problem) -> Config:
    """Return a problem as a puzzle.

    Raises:
        InputError: it has no board, or start or goal do not give every piece one cell.
    """
    board = Board.of(problem)
    start, goal = board.arrangement(problem.init, f'{problem.name}: init'), board.goal(problem)
    return Config(problem.name, board.size, board.pieces, board.kinds, start, goal,
                  problem.optimal_length, None,
                  {name: tuple(_move(board, action) for action in problem.plans[name])
                   for name in SEQUENCES if name in problem.plans})


def _move(board: Board, action: Action) -> tuple[int, str]:
    piece, direction = action.args
    return board.pieces.index(piece), direction


def write(domain: Domain, problem: Problem) -> str:
    """Return the text of a problem's puzzle file.

    Raises:
        InputError: see ``config_of``.
        ProblemError: no shortest sequence was found.
    """
    fields = []
    for key, value in config_text(config_of(problem)).items():
        text = json.dumps(value)
        if key == 'landmarks':
            text = '[\n  ' + ',\n  '.join(map(json.dumps, value)) + ']'
        fields.append(f' {json.dumps(key)}: {text}')
    return '{\n' + ',\n'.join(fields) + '\n}\n'
