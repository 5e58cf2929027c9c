"""Draw configurations of blocks as text."""

from __future__ import annotations

from sightplan.domains.blocksworld.generator import stacks_of
from sightplan.model import Problem, State


def draw(problem: Problem, facts: State) -> str:
    """Return the stacks as text, with the names of the columns below.

    Args:
        problem: whose objects they are.
        facts: the atoms that are true.

    Raises:
        InputError: the facts do not give every block one place.
    """
    stacks = stacks_of(problem, facts)
    names = problem.of_type('column')
    width = max((len(name) for name in (*names, *problem.of_type('block'))), default=1)
    lines = []
    for height in reversed(range(max((len(stack) for stack in stacks), default=0))):
        cells = (stack[height] if height < len(stack) else '' for stack in stacks)
        lines.append('  '.join(cell.center(width) for cell in cells).rstrip())
    lines.append('  '.join('-' * width for _ in stacks))
    lines.append('  '.join(name.center(width) for name in names).rstrip())
    return '\n'.join(lines)
