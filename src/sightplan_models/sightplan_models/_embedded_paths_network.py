"""Network that reads paths from pictures of maps, and the seven properties made of its maps.

It is convolutional all through. For each cell of ``STRIDE`` by ``STRIDE`` pixels it tells how much
of the path lies there (length), how many of its points, by how much it turns there, how many turns
are sharp, and how far away a point there is from obstacles. The seven descriptors of PathEval are
sums, means and extremes of these maps, so that nothing has to be learned about where a path lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from torch import Tensor, nn

STRIDE = 4
TOP_SIZE = 256, 256
"""Width and height [px] at which pictures from above are read."""
PERSPECTIVE_SIZE = 384, 216
"""Width and height [px] at which pictures in perspective are read."""
READINGS = ('minimum_clearance', 'maximum_clearance', 'average_clearance', 'path_length',
            'smoothness', 'sharp_turns', 'maximum_angle')
"""Properties that are read, in PathEval's order; lengths in units of the map, angles in
degrees."""
FARTHEST = 20.0
"""A clearance above this [unit of the map] is read as this."""

_QUARTER = 90.0
_SOFT = 0.25
"""Softness of the least and the greatest clearance [unit of the map]."""
_SOFT_ANGLE = 0.05
_EPS = 1e-4


@dataclass(frozen=True, slots=True)
class Shape:
    """Width of a network.

    Attributes:
        first: channels at full resolution.
        width: channels of the cells.
        dilations: of its blocks, in order.
    """

    first: int = 12
    width: int = 48
    dilations: tuple[int, ...] = (1, 2, 4, 8, 4, 1)


@dataclass(frozen=True, eq=False)
class Maps:
    """Maps of a path's properties; each is (N, h, w), of cells.

    Attributes:
        length: of the path [unit of the map].
        points: number of its points.
        turn: sum of turning angles [quarter turns].
        sharp: number of sharp turns.
        clearance: of a point there [unit of the map].
    """

    length: Tensor
    points: Tensor
    turn: Tensor
    sharp: Tensor
    clearance: Tensor


class _Block(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=dilation, dilation=dilation, bias=False)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block; the shape stays the same."""
        out: Tensor = x + F.relu(self.norm(self.conv(x)))
        return out


class Network(nn.Module):
    """Network that makes maps of path properties from pictures.

    Args:
        shape: see Shape.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()

        def layer(inputs: int, outputs: int, stride: int) -> nn.Sequential:
            return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
                                 nn.BatchNorm2d(outputs), nn.ReLU())

        self.stem = nn.Sequential(layer(5, shape.first, 1), layer(shape.first, 2 * shape.first, 2),
                                  layer(2 * shape.first, shape.width, 2))
        self.body = nn.Sequential(*(_Block(shape.width, d) for d in shape.dilations))
        self.head = nn.Conv2d(shape.width, 5, 1)

    def features(self, pictures: Tensor) -> Tensor:
        """Features (N, width, h, w) of cells, from which the maps are made.

        Args:
            pictures: (N, 3, H, W) float in [0, 1].
        """
        n, _, height, width = pictures.shape
        y = torch.linspace(-1, 1, height).view(1, 1, height, 1).expand(n, 1, height, width)
        x = torch.linspace(-1, 1, width).view(1, 1, 1, width).expand(n, 1, height, width)
        found: Tensor = self.body(self.stem(torch.cat((pictures - 0.5, x, y), 1)))
        return found

    def forward(self, pictures: Tensor) -> Maps:
        """Make the maps of pictures.

        Args:
            pictures: (N, 3, H, W) float in [0, 1].
        """
        out = self.head(self.features(pictures))
        length, points, turn, sharp = (F.softplus(2 * out[:, k] - 3) for k in range(4))
        return Maps(length, points, turn, sharp, F.softplus(out[:, 4] + 2))


def read(maps: Maps) -> Tensor:
    """(N, 7): the readings of ``READINGS``, differentiable."""
    points = maps.points.flatten(1)
    clearance = maps.clearance.flatten(1).clamp(max=FARTHEST)
    weight = points / (points.sum(1, keepdim=True) + _EPS)
    sure = torch.log(points.clamp(max=1.0) ** 2 + 1e-9)
    least = -_SOFT * (torch.logsumexp(sure - clearance / _SOFT, 1))
    most = _SOFT * (torch.logsumexp(sure + clearance / _SOFT, 1))
    turn = F.avg_pool2d(maps.turn[:, None], 3, 1, 1)[:, 0].flatten(1) * 9
    greatest = _SOFT_ANGLE * torch.logsumexp(turn / _SOFT_ANGLE, 1)
    return torch.stack((
        least, most, (weight * clearance).sum(1), maps.length.flatten(1).sum(1),
        maps.turn.flatten(1).sum(1) * _QUARTER, maps.sharp.flatten(1).sum(1),
        greatest * _QUARTER), 1)


def prepared(picture: NDArray[np.uint8]) -> Tensor:
    """(3, H, W) float in [0, 1]: a picture at the size at which it is read.

    Args:
        picture: (H, W, 3) uint8 RGB of one map: a square seen from above, or a wider one in
            perspective.
    """
    width, height = PERSPECTIVE_SIZE if is_perspective(picture) else TOP_SIZE
    pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255
    if pixels.shape[1:] != (height, width):
        pixels = F.interpolate(pixels[None], (height, width), mode='area')[0]
    return pixels


def is_perspective(picture: NDArray[np.uint8]) -> bool:
    """Whether a picture of one map is in perspective: it is wider than high."""
    return bool(picture.shape[1] > 1.3 * picture.shape[0])
