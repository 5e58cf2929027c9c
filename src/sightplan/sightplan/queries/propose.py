"""``Propose``: a prompt for a plan, or for the next action, with the task that it states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sightplan.model.dataclass_json import NO_HOOKS, Hook
from sightplan.model.planning import VisualTask
from sightplan.model.query import NOT_SHOWN
from sightplan.queries.generate import Generate


@dataclass(frozen=True, eq=False)
class Propose(Generate):
    """A prompt for a plan, or for the next action, with the task that it states.

    To a model that writes text it is a ``Generate`` like any other: kind, key and recording are
    the same. A simulated planner reads no prompt; it works from the task, which says no more than
    the prompt does, and from the truth that it is given where it is made.

    Attributes:
        task: objects, goal and earlier steps, as the prompt tells them.
        stamp_ns: time of the observation that is shown, on the world's clock [ns].
        single: whether the next action is asked for instead of a plan.
        reasoning: whether the reply is to have an explanation.
    """

    cannot_answer: ClassVar[str] = 'cannot plan'

    task: VisualTask = field(kw_only=True, metadata=NOT_SHOWN)
    stamp_ns: int = field(default=0, kw_only=True, metadata=NOT_SHOWN)
    single: bool = field(default=False, kw_only=True, metadata=NOT_SHOWN)
    reasoning: bool = field(default=False, kw_only=True, metadata=NOT_SHOWN)

    def to_json(self, *, hooks: Mapping[Any, Hook] = NO_HOOKS) -> dict[str, Any]:
        """Return the prompt alone, which is all that a model is shown; see ``Query.to_json``."""
        return Generate(self.system, self.parts, self.max_tokens, self.json_schema,
                        self.draw).to_json(hooks=hooks)
