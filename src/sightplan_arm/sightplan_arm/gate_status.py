"""Status of a safety gate: causes, states and settings; see ``sightplan_arm.gate``."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from sightplan.model import param
from sightplan_arm.hardware import JointTrajectory, Vector

REFUSING = ('invalid', 'position_limit', 'velocity_limit', 'acceleration_limit', 'workspace',
            'collision', 'jump', 'moving', 'gripper_limit', 'busy', 'outdated', 'not_reset',
            'declined', 'no_answer')
HOLDING = ('heartbeat', 'stale_state', 'stale_image', 'cancelled', 'gate_late')
LATCHING = ('command_failed', 'measured_position', 'measured_velocity', 'measured_workspace',
            'measured_contact', 'tracking', 'unexpected_motion', 'stop_request', 'watcher')
CAUSES = REFUSING + HOLDING + LATCHING
"""Causes for refusing or ending a command; the table above states the consequence of each."""

HELD_AGAIN = 2
"""Number of times that an arm which is measured to stand elsewhere is commanded to stay there.

It counts anew when the arm has stayed, or is stopped once more. An arm that moves because it is
told where it is measured, as with a wrong encoder, is so not led away step by step.
"""

CONFIRMATIONS = ('off', 'skill', 'motion')

GUARANTEES = ('watcher', 'stop', 'joint_states', 'camera', 'heartbeats', 'gate', 'clock',
              'command_limits', 'checks', 'dry_run')
"""Names of the guarantees; ``sightplan_arm.guarantees`` defines them."""

REQUIRED = ('watcher', 'stop', 'joint_states', 'camera', 'gate')
"""Guarantees that an arm requires to be armed, unless its file states others."""


class GateState(enum.IntEnum):
    """State of the gate, which decides on motions; values as in the message ArmStatus."""

    ARMED = 0
    HOLDING = 1
    STOPPED = 2
    REARMED = 3


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Settings of how the gate runs; the limits it enforces stand in the robot's file.

    ``confirm`` also takes true (``skill``) and false (``off``).
    """

    dry_run: bool = param(False, 'Check and show motions, send none')
    confirm: str = param('off', "What waits for an operator's yes: off, each skill, or each "
                                'motion; true means skill', choices=CONFIRMATIONS)
    confirm_timeout_s: float = param(120.0, 'How long to wait for an operator [s]', low=0.1,
                                     high=3600.0)
    period_s: float = param(0.01, "How often a motion is looked after, on the arm's clock [s]",
                            low=0.001, high=0.05)
    max_points: int = param(5000, 'Points of a trajectory at most', low=2, high=100_000)
    max_duration_s: float = param(60.0, 'Duration of a motion at most [s]', low=0.1, high=600.0)
    still_rad_s: float = param(0.05, 'A joint slower than this is at rest [rad/s]', low=0.001,
                               high=0.5)
    settle_s: float = param(1.0, 'How long the arm may take to come to rest after a motion [s]',
                            low=0.1, high=10.0)
    tracking_delay_s: float = param(0.1, 'How late the arm may follow a motion [s]', low=0.0,
                                    high=1.0)
    guard_rad: float = param(0.01, 'How far a joint may be off in a guarded motion, before '
                             'something is taken to be in the way [rad]', low=0.001, high=0.1)
    guard_delay_s: float = param(0.05, 'How late the arm may follow a guarded motion [s]',
                                 low=0.0, high=1.0)
    position_slack_rad: float = param(0.02, 'How far outside its limits a joint may be measured '
                                            '[rad]', low=0.0, high=0.2)
    velocity_slack: float = param(0.2, 'By which part of its limit a joint may be measured too '
                                       'fast', low=0.0, high=1.0)
    box_slack_m: float = param(0.01, 'How far outside the workspace box a frame may be measured '
                                     '[m]', low=0.0, high=0.1)

    bodies_slack_m: float = param(0.01, 'By how much bodies may be measured nearer than their '
                                        'margin [m]', low=0.0, high=0.1)

    def __post_init__(self) -> None:
        word = str(self.confirm).lower()
        object.__setattr__(self, 'confirm', {'true': 'skill', 'false': 'off'}.get(word, word))


@dataclass(frozen=True)
class GateStatus:
    """Content of the message ArmStatus.

    Attributes:
        state: of the gate.
        cause: of holding or stopping, one of ``CAUSES``; '' otherwise.
        message: what happened, for people.
        moving: whether a motion or its braking is under way, or the arm is not at rest.
        dry_run: whether nothing is sent.
        ready: whether a motion would be let through now.
        waiting_for: what is missing for that, in words.
        pending: id of the motion that waits for an operator's yes; '': none.
        pending_text: what it is.
    """

    state: GateState
    cause: str
    message: str
    moving: bool
    dry_run: bool
    ready: bool
    waiting_for: tuple[str, ...]
    pending: str
    pending_text: str


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A motion that passed the checks, to be shown.

    Attributes:
        what: it is, in words.
        trajectory: of the joints.
        path_m: (K, 3) way of the tip in the table's frame.
    """

    what: str
    trajectory: JointTrajectory
    path_m: Vector
