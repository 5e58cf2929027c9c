"""Network of the ``embedded`` detector: it finds and separates the things in a picture.

It sees what the locator's network sees, through a trunk of the same kind, and finds the likeliest
centres of things (CenterNet, arXiv 1904.07850). Each place says in which box its thing is, as in
FCOS (arXiv 1904.01355); a thing's box is the mean of what the places say that take its centre for
theirs (as Panoptic-DeepLab groups, arXiv 1911.10194), its category and whether it is open come
from the mean of what the maps say there. Its colour is read apart from its category: from the
pixels of the part that gives a thing its colour, each seen by itself, so that a colour is known on
things that never had it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from sightplan_models._locator_network import (
    COARSE,
    CODE,
    MAP,
    Shape,
    Trunk,
    code,
    peaks,
    places,
    pooled,
)

DENSE = 6
"""Numbers about each place, as those of the locator: whether a centre is there (logit), offset to
the centre and size of the thing that is there, whether a thing is there (logit)."""
TINT = 24
"""Numbers about the colour of each place."""
_GROUP = 6.0
"""Decay of a place's weight for a thing, with the squared distance between the centre that the
place states and the thing's, in sizes of the thing."""
_BOX_SCALE = 0.1


@dataclass(frozen=True, slots=True)
class Seen:
    """Features of the places of pictures.

    Attributes:
        dense: (B, DENSE, *COARSE).
        edges: (B, 4, *COARSE) left, top, right and bottom of the box of what is there, in unit
            coordinates.
        coloured: (B, *MAP) logit that the part that gives a thing its colour is there.
        tint: (B, TINT, *MAP) what is known of the colour.
        maps: of strides 4, 8 and 16; see ``Trunk.maps``.
    """

    dense: Tensor
    edges: Tensor
    coloured: Tensor
    tint: Tensor
    maps: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Things found in pictures.

    Attributes:
        score: (B, K) logit that a centre is there.
        box: (B, K, 4) left, top, right, bottom in unit coordinates.
        category: (B, K, categories) logits.
        colour: (B, K, colours) logits.
        opened: (B, K) logit that it stands open.
    """

    score: Tensor
    box: Tensor
    category: Tensor
    colour: Tensor
    opened: Tensor


class Network(Trunk):
    """The whole network.

    Args:
        shape: of the trunk; ``words`` and what belongs to them is of no account.
        colours: that are told apart.
    """

    def __init__(self, shape: Shape, colours: int) -> None:
        super().__init__(shape)
        four, eight, sixteen = shape.channels
        width, fine = shape.width, shape.fine
        self.dense = nn.Conv2d(four, DENSE, 1)
        self.finer = nn.Conv2d(four, 4 * fine, 1)
        self.finest = nn.Conv2d(shape.stem, fine, 1)
        self.fine = nn.Sequential(nn.ReLU(), nn.Conv2d(fine, fine, 1))
        self.coloured = nn.Sequential(nn.ReLU(), nn.Conv2d(fine, 1, 1))
        self.near, self.sharp = nn.Conv2d(four, four, 3, 1, 1), nn.Conv2d(4 * fine, four, 1)
        self.edges = nn.Conv2d(four, 4, 1)
        known = four + eight + width + sixteen
        self.thing = nn.Sequential(nn.Linear(known + CODE + 5, width), nn.GELU(),
                                   nn.Linear(width, width))
        self.heads = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
        self.category = nn.Linear(width, shape.categories)
        self.opened = nn.Linear(width, 1)
        self.refine = nn.Linear(width, 4)
        self.tint = nn.Sequential(nn.Conv2d(9, 32, 1), nn.ReLU(), nn.Conv2d(32, TINT, 1),
                                  nn.ReLU())
        self.colour = nn.Sequential(nn.Linear(2 * TINT, 64), nn.ReLU(), nn.Linear(64, colours))
        x, y = places(*COARSE)
        self.register_buffer('at', torch.stack([x, y]), persistent=False)
        nn.init.zeros_(self.refine.weight)
        nn.init.zeros_(self.refine.bias)
        nn.init.constant_(self.dense.bias[:1], -4.0)  # type: ignore[index]

    at: Tensor

    def look(self, picture: Tensor) -> Seen:
        """Features of the places of pictures (B, CHANNELS, HEIGHT, WIDTH)."""
        stem, _, maps = self.maps(picture)
        four = maps[0]
        fine = self.fine(F.pixel_shuffle(self.finer(four), 2) + self.finest(stem))
        edges = self.edges(F.relu(self.near(four) + self.sharp(F.pixel_unshuffle(fine, 2))))
        sign = edges.new_tensor([-1, -1, 1, 1])[:, None, None] * _BOX_SCALE
        return Seen(self.dense(four), self.at.repeat(2, 1, 1) + sign * F.softplus(edges),
                    self.coloured(fine)[:, 0], self.tints(picture), maps)

    def tints(self, picture: Tensor) -> Tensor:
        """Features of the colour of each place: (B, TINT, *MAP)."""
        rgb = F.avg_pool2d(picture[:, :3], 2)
        level = torch.cat([rgb.mean((2, 3)), rgb.std((2, 3))], 1)[..., None, None]
        found: Tensor = self.tint(torch.cat([rgb, level.expand(-1, -1, *MAP)], 1))
        return found

    def colours(self, tint: Tensor, weight: Tensor) -> Tensor:
        """Colours of things by the weights of places, (B, K, *MAP): (B, K, colours) logits."""
        own = _mean(tint, weight)
        around = tint.mean((2, 3))[:, None].expand_as(own)
        return self.colour(torch.cat([own, around], -1))  # type: ignore[no-any-return]

    def find(self, seen: Seen, count: int) -> tuple[Tensor, Found]:
        """The likeliest things, with their centres; see ``at_centres``."""
        at = peaks(seen.dense[:, 0], count)
        return at, self.at_centres(seen, at)

    def at_centres(self, seen: Seen, at: Tensor) -> Found:
        """Things with their centres at given places (B, K) of the flattened map of stride 4."""
        held = seen.dense.detach()
        said = _take(held, at)
        x, y = self.at.flatten(1)[:, at] + said.permute(2, 0, 1)[1:3]
        size = said[..., 3:5].clamp(min=1.0 / COARSE[1])
        centre = self.at + held[:, 1:3]
        far = (((centre[:, 0, None] - x[..., None, None]) / size[..., 0, None, None])**2
               + ((centre[:, 1, None] - y[..., None, None]) / size[..., 1, None, None])**2)
        weight = torch.exp(-_GROUP * far) * held[:, 5:6].sigmoid()
        known = torch.cat([pooled(seen.maps, weight), code(x, y), said[..., :1].sigmoid(),
                           torch.stack([x, y], -1), said[..., 3:5]], -1)
        token = self.thing(known)
        thing = self.heads(token)
        box = _mean(seen.edges, weight)
        sides = (box[..., 2:] - box[..., :2]).clamp(min=0).repeat(1, 1, 2)
        fine = F.interpolate(weight, scale_factor=2, mode='nearest')
        # In powers: what is uncertain is much, and would outweigh a thin handle.
        colour = self.colours(seen.tint, (fine**2 * seen.coloured.sigmoid()[:, None])**2)
        return Found(_take(seen.dense[:, :1], at)[..., 0], box + sides * self.refine(thing),
                     self.category(token), colour, self.opened(thing)[..., 0])


def _mean(maps: Tensor, weight: Tensor) -> Tensor:
    """Weighted means of (B, C, H, W) maps, (B, K, H, W) the weights: (B, K, C)."""
    part = weight.flatten(2)
    part = part / part.sum(2, keepdim=True).clamp(min=1e-4)
    return part @ maps.flatten(2).transpose(1, 2)


def _take(maps: Tensor, at: Tensor) -> Tensor:
    """Values of (B, C, H, W) maps at (B, K) places: (B, K, C)."""
    flat = maps.flatten(2)
    return flat.gather(2, at[:, None].expand(-1, flat.shape[1], -1)).transpose(1, 2)
