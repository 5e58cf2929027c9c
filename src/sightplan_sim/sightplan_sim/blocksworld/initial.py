"""Initial scenes: facts of a problem become stacks of coloured blocks in ordered columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sightplan.domains import load_domain
from sightplan.model import Atom, InputError, Problem, State, WorldError
from sightplan_arm.columns import column_order
from sightplan_sim.blocksworld.camera import MAX_COLUMNS


@dataclass(frozen=True, slots=True)
class Scenario:
    """Columns, blocks and stacks of a problem.

    Attributes:
        columns: names of the columns, left to right.
        colours: block name to colour letter.
        stacks: per column, colour letters from bottom to top.
    """

    columns: tuple[str, ...]
    colours: Mapping[str, str]
    stacks: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> dict[str, str]:
        """Colour letter to block name."""
        return {colour: name for name, colour in self.colours.items()}


def read_scenario(problem: Problem) -> Scenario:
    """Read stacks and columns from a problem's initial facts.

    ``incolumn`` may be left out for a block that stands on another, and ``clear`` for the top
    of a stack; both are then what the geometry makes them.

    Raises:
        WorldError: the facts are incomplete, contradictory or physically impossible, a block
            has no colour, or there are too many columns; names file, problem and fact.
    """
    where = f'problem {problem.name}'
    if problem.source not in ('', problem.name):
        where = f'{problem.source}: {where}'
    blocks, columns = problem.of_type('block'), problem.of_type('column')
    others = [name for name in problem.objects if name not in (*blocks, *columns)]
    if others:
        raise WorldError(f'{where}: object {others[0]} is a {problem.objects[others[0]]}; '
                         'this world knows the types block and column')
    if not 1 <= len(columns) <= MAX_COLUMNS:
        raise WorldError(f'{where}: {len(columns)} columns; this world shows 1 to {MAX_COLUMNS}')
    try:
        colours = load_domain('blocksworld').identify(problem, 'block')
    except InputError as error:
        raise WorldError(f'problem {problem.name}: {error}') from error  # names the file
    _check_objects(where, problem)
    try:
        order = column_order(problem)
    except InputError as error:
        raise WorldError(str(error)) from error
    below = _supports(where, problem.init)
    column_of = _columns_of(where, blocks, below, problem.init)
    piles: dict[str, list[str]] = {column: [] for column in order}
    above = {lower: upper for upper, lower in below.items()}
    for block in blocks:
        if block in below:
            continue
        pile = piles[column_of[block]]
        if pile:
            raise WorldError(f'{where}: {pile[0]} and {block} both stand at the bottom of '
                             f'{column_of[block]}; one must be on the other')
        top: str | None = block
        while top is not None:
            pile.append(top)
            top = above.get(top)
    for pile in piles.values():
        for block in pile[:-1]:
            if any(a.predicate == 'clear' and a.args == (block,) for a in problem.init):
                raise WorldError(f'{where}: {block} is clear, but {above[block]} is on it')
    return Scenario(order, dict(colours),
                    tuple(tuple(colours[b] for b in piles[column]) for column in order))


def with_row(problem: Problem) -> Problem:
    """Return a problem without initial facts with one block in each column, in their order.

    Raises:
        WorldError: there are more blocks than columns.
    """
    if problem.init:
        return problem
    blocks, columns = problem.of_type('block'), column_order(problem)
    if len(blocks) > len(columns):
        raise WorldError(f'problem {problem.name}: no fact says where {len(blocks)} blocks are, '
                         f'and {len(columns)} columns have no room for one each; write facts '
                         'under :init, or name more columns')
    return replace(problem, init=frozenset(
        Atom('incolumn', place) for place in zip(blocks, columns, strict=False)))


_KINDS = {'on': ('block', 'block'), 'incolumn': ('block', 'column'), 'clear': ('block',),
          'leftof': ('column', 'column'), 'rightof': ('column', 'column')}


def _check_objects(where: str, problem: Problem) -> None:
    for atom in sorted(problem.init):
        kinds = _KINDS.get(atom.predicate)
        if kinds is None:
            raise WorldError(f'{where}: unknown fact ({atom}); this world knows '
                             f'{", ".join(_KINDS)}')
        if tuple(problem.objects.get(name) for name in atom.args) != kinds:
            raise WorldError(f'{where}: ({atom}) must name {" and ".join(kinds)} objects of the '
                             'problem')


def _supports(where: str, init: State) -> dict[str, str]:
    """Each block that stands on another, and which; no block carries two."""
    below: dict[str, str] = {}
    carried: dict[str, str] = {}
    for atom in sorted(a for a in init if a.predicate == 'on'):
        upper, lower = atom.args
        if upper in below:
            raise WorldError(f'{where}: {upper} is on both {below[upper]} and {lower}')
        if lower in carried:
            raise WorldError(f'{where}: {carried[lower]} and {upper} are both on {lower}')
        below[upper], carried[lower] = lower, upper
    return below


def _bottom(where: str, block: str, below: Mapping[str, str]) -> str:
    """The lowest block of the stack that a block is in."""
    chain = [block]
    while chain[-1] in below:
        lower = below[chain[-1]]
        if lower in chain:
            circle = ' on '.join([*chain[chain.index(lower):], lower])
            raise WorldError(f'{where}: {circle}: a block cannot be above itself')
        chain.append(lower)
    return chain[-1]


def _columns_of(where: str, blocks: tuple[str, ...], below: Mapping[str, str],
                init: State) -> dict[str, str]:
    stated: dict[str, str] = {}
    for atom in sorted(a for a in init if a.predicate == 'incolumn'):
        block, column = atom.args
        if stated.setdefault(block, column) != column:
            raise WorldError(f'{where}: {block} is in two columns, {stated[block]} and {column}')
    found: dict[str, str] = {}
    for block in blocks:
        bottom = _bottom(where, block, below)
        if bottom not in stated:
            raise WorldError(f'{where}: no fact says in which column {bottom} is')
        if stated.get(block, stated[bottom]) != stated[bottom]:
            raise WorldError(f'{where}: {block} is in {stated[block]}, but stands on a stack in '
                             f'{stated[bottom]}')
        found[block] = stated[bottom]
    return found
