"""``DetectInstances``: all things in a picture over several looks, each with a name of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sightplan.model.instance import SeenThings
from sightplan.model.perception import Observation
from sightplan.model.query import Query, Reply


@dataclass(frozen=True, eq=False)
class DetectInstances(Query[SeenThings]):
    """Find all things in a picture and tell them apart; a grounder asks a model to ``Detect``.

    Attributes:
        observation: the look in which they are to be found.
        looks: number of times the model is asked, each time about another view of the picture.
        instruction: what the model shall say the goal of, over the things; '' for nothing.
        tries: most times that the model is asked for the goal.
        checks: whether a model that can is asked of each marked thing whether it is one; what
            exists less likely than not is then no instance.
    """

    observation: Observation
    looks: int = 1
    instruction: str = ''
    tries: int = 1
    checks: bool = False

    kind: ClassVar[str] = 'detect_instances'
    reply_type: ClassVar[type[Reply]] = SeenThings

    def summary(self) -> str:
        """Return a short text with the number of times that the model looks."""
        return f'all things, told apart in {self.looks} look{"" if self.looks == 1 else "s"}'
