"""Problems and a tiny reference model of blocksworld, written apart from the world's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sightplan.model import Atom, EpisodeSpec, Problem, State

Stacks = Mapping[str, Sequence[str]]
"""Column to blocks, bottom to top; the columns in order from left to right."""


def atoms(stacks: Stacks) -> State:
    """All true atoms of a state."""
    found = set()
    columns = list(stacks)
    for i, column in enumerate(columns):
        found |= {Atom('leftof', (column, other)) for other in columns[i + 1:]}
        found |= {Atom('rightof', (column, other)) for other in columns[:i]}
        pile = stacks[column]
        found |= {Atom('incolumn', (block, column)) for block in pile}
        found |= {Atom('on', pair) for pair in zip(pile[1:], pile, strict=False)}
        if pile:
            found.add(Atom('clear', (pile[-1],)))
    return frozenset(found)


def move(stacks: Stacks, block: str, column: str) -> dict[str, list[str]] | None:
    """The state after a move, None if it is not legal."""
    after = {name: list(pile) for name, pile in stacks.items()}
    source = next(name for name, pile in after.items() if block in pile)
    if source == column or after[source][-1] != block:
        return None
    after[column].append(after[source].pop())
    return after


def problem(stacks: Stacks, name: str = 'p', init: State | None = None) -> Problem:
    """A problem that starts in a state, or in the facts given."""
    objects = dict.fromkeys((b for pile in stacks.values() for b in pile), 'block')
    objects |= dict.fromkeys(stacks, 'column')
    return Problem(name, 'blocksworld', objects, atoms(stacks) if init is None else init, ())


def episode(stacks: Stacks, seed: int = 0, failure: float = 0.0, name: str = 'p',
            init: State | None = None) -> EpisodeSpec:
    """An episode on that problem."""
    return EpisodeSpec(f'{name}#{seed}', problem(stacks, name, init), 'none', seed=seed,
                       failure_probability=failure)
