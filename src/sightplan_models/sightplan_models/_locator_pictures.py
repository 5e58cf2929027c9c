"""Pictures as the network of the ``embedded`` locator sees them, and back to where they came from.

A picture of any size is made to fit, unsqueezed, and stands in the middle; what is beside it is
grey and of unknown depth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.model.region import Point

GREY = 128
DEPTH_GAIN = 4.0
"""Factor of relative depth: a quarter nearer or farther fills the range."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Place of a picture within the network's input, in its pixels.

    Attributes:
        left, top: of the picture's corner.
        width, height: of the picture.
        mirrored: whether it is seen in a mirror.
    """

    left: int
    top: int
    width: int
    height: int
    mirrored: bool = False

    def to_picture(self, x: float, y: float) -> Point:
        """Point of the network's input [px] in unit coordinates of the picture, clipped to it."""
        across = min(max((x - self.left) / self.width, 0.0), 1.0)
        return (1.0 - across if self.mirrored else across,
                min(max((y - self.top) / self.height, 0.0), 1.0))


def fit(size: tuple[int, int], seen: tuple[int, int], attempt: int = 0) -> Frame:
    """Place of a picture within the network's input.

    Args:
        size: width and height of the picture [px].
        seen: likewise of what the network sees.
        attempt: 0 shows it as large as possible. Each other number gives another, always the same
            view: odd ones in a mirror, from 2 on smaller and in another corner.
    """
    scale = min(seen[0] / size[0], seen[1] / size[1])
    if attempt > 1:
        scale *= 1.0 - 0.04 * (1 + (attempt // 2 - 1) % 4)
    width, height = (max(1, round(side * scale)) for side in size)
    spare = seen[0] - width, seen[1] - height
    corner = ((0.5, 0.5) if attempt < 2 else
              ((0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0))[attempt // 2 % 4])
    return Frame(round(spare[0] * corner[0]), round(spare[1] * corner[1]), width, height,
                 attempt % 2 == 1)


def put_image(image: NDArray[np.uint8], frame: Frame, seen: tuple[int, int]) -> NDArray[np.uint8]:
    """A picture (H, W, 3), as it is seen: (seen height, seen width, 3)."""
    from PIL import Image

    small = np.asarray(Image.fromarray(np.ascontiguousarray(image)).resize(
        (frame.width, frame.height), Image.Resampling.BILINEAR))
    out = np.full((seen[1], seen[0], 3), GREY, np.uint8)
    _inside(out, frame)[:] = small[:, ::-1] if frame.mirrored else small
    return out


def put_depth(depth_m: NDArray[np.float32], frame: Frame, seen: tuple[int, int],
              ) -> NDArray[np.float32]:
    """Depth (H, W) [m] of any size, nearest pixels taken; 0 where it is not known."""
    rows = ((np.arange(frame.height) + 0.5) * depth_m.shape[0] / frame.height).astype(int)
    columns = ((np.arange(frame.width) + 0.5) * depth_m.shape[1] / frame.width).astype(int)
    small = depth_m[rows[:, None], columns]
    out = np.zeros((seen[1], seen[0]), np.float32)
    _inside(out, frame)[:] = small[:, ::-1] if frame.mirrored else small
    return out


def _inside(out: NDArray[np.generic], frame: Frame) -> NDArray[np.generic]:
    return out[frame.top:frame.top + frame.height, frame.left:frame.left + frame.width]


def channels(image: NDArray[np.uint8], depth_m: NDArray[np.float32] | None,
             ) -> NDArray[np.float32]:
    """Input of the network: (5, H, W), colours from -1 to 1, relative depth, whether it is known.

    Depth counts relative to the picture's median, so that its unit and the distance of the camera
    matter little.

    Args:
        image: (H, W, 3).
        depth_m: (H, W), 0 or no number where unknown; None for none.
    """
    out = np.zeros((5, *image.shape[:2]), np.float32)
    out[:3] = image.transpose(2, 0, 1).astype(np.float32) / 127.5 - 1.0
    if depth_m is not None:
        known = np.isfinite(depth_m) & (depth_m > 0.0)
        if known.any():
            relative = np.log(np.where(known, depth_m, 1.0) / np.median(depth_m[known]))
            out[3] = np.where(known, np.clip(DEPTH_GAIN * relative, -1.0, 1.0), 0.0)
            out[4] = known
    return out
