"""The size of the hand that the skills make room for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hand:
    """A parallel gripper as boxes, pointing down; by default the Franka hand.

    Attributes:
        half_width_m, half_length_m: of its body, across and along the line on which fingers open.
        above_tip_m: height of its lower side above the tip; less than it is, to be on the safe
            side.
        finger_half_width_m, finger_thickness_m: across and along that line.
        below_tip_m: the fingers end so far below the tip.
    """

    half_width_m: float = 0.033
    half_length_m: float = 0.105
    above_tip_m: float = 0.04
    finger_half_width_m: float = 0.011
    finger_thickness_m: float = 0.022
    below_tip_m: float = 0.012

    @property
    def fingers_m(self) -> float:
        """So far the fingers hang below the body."""
        return self.above_tip_m + self.below_tip_m


HAND = Hand()
"""Of every robot: a smaller hand would have room where this one is refused."""
