"""Order of the columns of a blocksworld problem."""

from __future__ import annotations

from sightplan.model import InputError, Problem


def column_order(problem: Problem) -> tuple[str, ...]:
    """Names of the columns from left to right.

    As ``leftof`` and ``rightof`` facts say; columns they leave open as the problem lists them.

    Raises:
        InputError: the facts run in a circle; names the problem and the columns.
    """
    columns = problem.of_type('column')
    left_of: dict[str, set[str]] = {column: set() for column in columns}
    for atom in problem.init:
        if atom.predicate in ('leftof', 'rightof'):
            left, right = atom.args if atom.predicate == 'leftof' else atom.args[::-1]
            if left in left_of and right in left_of:
                left_of[right].add(left)
    order: list[str] = []
    while len(order) < len(columns):
        ready = next((c for c in columns if c not in order and left_of[c] <= set(order)), None)
        if ready is None:
            stuck = ', '.join(c for c in columns if c not in order)
            where = f'{problem.source}: ' if problem.source not in ('', problem.name) else ''
            raise InputError(f'{where}problem {problem.name}: leftof and rightof run in a circle '
                             f'among {stuck}')
        order.append(ready)
    return tuple(order)
