"""One goal of an action at a time."""

from __future__ import annotations

from rclpy.action import GoalResponse
from rclpy.action.server import ServerGoalHandle

RESULT_KEPT_S = 30
"""How long a server keeps the goals that ended [s], which it lists in every status message.

rclpy's 15 minutes are thousands of goals of a busy world: its clients and itself become slower
with each. Ours ask for the result as soon as a goal is accepted.
"""


class OneGoal:
    """Callbacks of an action server that takes one goal at a time.

    A goal counts from the very moment it is accepted, not from when its work begins: between the
    two the executor may see to the next request. Pass ``accept`` as ``goal_callback`` and ``take``
    as ``handle_accepted_callback``, and call ``release`` when the work is done. All three belong
    to the executor's thread.
    """

    def __init__(self) -> None:
        self.handle: ServerGoalHandle | None = None

    def accept(self, goal: object) -> GoalResponse:
        """Whether there is no other goal."""
        return GoalResponse.ACCEPT if self.handle is None else GoalResponse.REJECT

    def take(self, handle: ServerGoalHandle) -> None:
        """Note the goal that was accepted, and begin."""
        self.handle = handle
        handle.execute()

    def release(self) -> None:
        """The goal is done."""
        self.handle = None

    @property
    def cancelled(self) -> bool:
        """Whether the goal's client wants no more of it."""
        return self.handle is not None and bool(self.handle.is_cancel_requested)
