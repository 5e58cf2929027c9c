"""A planning problem as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from sightplan.model.errors import InputError
from sightplan.model.symbols import Literal, Plan, State

NAMELESS = 'problem'
"""Name that a policy sees instead of the name of any problem."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Objects, initial state and goal of one planning problem.

    Attributes:
        name: the file's stem (unique in its split), not the name inside the file.
        domain: what finds its domain: a name, for example ``blocksworld``, or, of a domain that is
            not installed, the absolute path of its folder.
        objects: object name to type name, in the order of the file.
        init: atoms true at the start. The simulator's business: a policy that looks through
            a camera must not read it (``for_agent`` removes it).
        goal: conjunction of literals, in the order of the file.
        domain_pddl: text of the domain file the problem belongs to.
        optimal_length: length of a shortest plan, None when unknown.
        source: where the problem was read from, for messages.
        known: those atoms of ``init`` that are no secret, because they are about the place itself
            and never change: which cells of a board are next to each other.
        plans: sequences of actions that came with the problem, by name, right or wrong.
        instruction: what a person would say who wants the goal; '' for nothing.
    """

    name: str
    domain: str
    objects: Mapping[str, str]
    init: State
    goal: tuple[Literal, ...]
    domain_pddl: str = field(repr=False, default='')
    optimal_length: int | None = None
    source: str = ''
    known: State = frozenset()
    plans: Mapping[str, Plan] = field(default_factory=dict)
    instruction: str = ''

    def __post_init__(self) -> None:
        object.__setattr__(self, 'objects', MappingProxyType(dict(self.objects)))
        object.__setattr__(self, 'plans', MappingProxyType(dict(self.plans)))

    def __reduce__(self):  # type: ignore[no-untyped-def]  # MappingProxyType cannot be pickled
        return (Problem, (self.name, self.domain, dict(self.objects), self.init, self.goal,
                          self.domain_pddl, self.optimal_length, self.source, self.known,
                          dict(self.plans), self.instruction))

    @property
    def domain_name(self) -> str:
        """The domain's name, as results have it."""
        return self.domain.rpartition('/')[2]

    def of_type(self, *types: str) -> tuple[str, ...]:
        """Objects whose type is one of ``types`` (no subtyping), in the order of the file."""
        return tuple(name for name, kind in self.objects.items() if kind in types)

    def for_agent(self, pictured_goal: bool = False) -> Problem:
        """Return the problem without what its file tells about the initial state.

        A policy must not know the length of the shortest plan, stored plans or the file's path
        either. The name becomes ``NAMELESS`` for all problems, because file names tell such
        things (``SGP_b_4_g_7_c1_12_c2_3``: 12 moves).

        Args:
            pictured_goal: whether the goal is shown as a picture: then it is left out, too.
        """
        return replace(self, name=NAMELESS, init=self.known,
                       goal=() if pictured_goal else self.goal, optimal_length=None, source='',
                       plans={})

    def with_instruction_only(self) -> Problem:
        """Return the problem without its objects and goal, so that only the instruction is left.

        Raises:
            InputError: the problem has no instruction.
        """
        if not self.instruction:
            raise InputError(f'{self.source or self.name} comes with no instruction in words; '
                             'choose problems that do, such as those of domain tabletop, or a '
                             'method that is told its goal')
        return replace(self.for_agent(), objects={}, init=frozenset(), known=frozenset(), goal=())

    def goal_met(self, state: State) -> bool:
        """Whether every goal literal holds."""
        return all(literal.holds_in(state) for literal in self.goal)
