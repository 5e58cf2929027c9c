"""The network of the ``embedded`` locator: a picture and words to where in the picture they point.

A picture is encoded once (``Network.look``): a residual network, attention over its coarsest map,
a pyramid back up, and the likeliest centres of things (CenterNet, arXiv 1904.07850). Each becomes
a token of what the maps say where they take its centre to be (as Panoptic-DeepLab groups, arXiv
1911.10194), with its place and size. Each target's words then go through a few layers of
attention among themselves and the things, and to the coarse map (``Network.point``). What comes
out is one vector a target, whose products with what is known of each pixel are the heat maps, as
in MaskFormer (arXiv 2107.06278): the picture costs the same for one target as for ten.

Whether the target is there at all is told by a small part of its own (``Existence``): it sees
what each thing is taken for, which colours are seen where it is, and what the rest of the network
made of the target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from safetensors.torch import load_file
from torch import Tensor, nn

from sightplan_models._locator_words import COLOURS

WIDTH, HEIGHT = 320, 240
"""Size of the picture that the network sees [px]."""
CHANNELS = 5
"""Red, green, blue, relative depth, whether depth is known."""
MAP = HEIGHT // 2, WIDTH // 2
"""Rows and columns of the heat maps."""
COARSE = HEIGHT // 4, WIDTH // 4
"""Rows and columns of the map on which the centres of things are found."""
DENSE = 6
"""Numbers about each place of that map."""
_GROUP = 6.0
"""Decay of a place's weight for a thing, with the squared distance between the centre that the
place states and the thing's, in sizes of the thing."""
_FREQUENCIES = 6
CODE = 4 * _FREQUENCIES
"""Number of features of a point's position; see ``code``."""
_LEVELS = 4
SHADES = _LEVELS**3
"""Number of colours of which the shares are told; see ``shades``."""
_SURE = 12.0
"""Log odds are not told beyond this."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of a network.

    Attributes:
        words: known words, with the one that stands for all others.
        categories: of things; used while it learns only.
        grams: pieces of words that are told apart.
        width: of tokens.
        heads: of attention.
        mlp: of the layer between attentions.
        stem: channels of the first map (stride 2).
        channels: of the maps of strides 4, 8 and 16.
        blocks: residual blocks of each of those.
        vision_layers, text_layers, layers: of attention within the coarsest map, among a target's
            words, and among words, things and the map.
        things: most things of a picture.
        pixel: numbers that are known of each place of the map of stride 4, beside where it is.
        fine: likewise of the heat map's.
    """

    words: int
    categories: int
    grams: int = 4096
    width: int = 128
    heads: int = 4
    mlp: int = 256
    stem: int = 16
    channels: tuple[int, int, int] = (40, 80, 128)
    blocks: tuple[int, int, int] = (1, 2, 2)
    vision_layers: int = 2
    text_layers: int = 1
    layers: int = 3
    things: int = 20
    pixel: int = 32
    fine: int = 16


@dataclass(frozen=True, slots=True)
class Seen:
    """Features of encoded pictures.

    Attributes:
        fine: (B, fine, *MAP) what is known of each place of the heat map.
        pixel: (B, pixel + CODE, *COARSE) likewise of the coarser map: the code is that of the
            centre of the thing that is there.
        grid: (B, N, width) tokens of the coarsest map.
        things: (B, K, width) tokens of the likeliest things.
        at: (B, K) where their centres are in the flattened map of stride 4.
        dense: (B, DENSE, *COARSE) whether a thing's centre is there (logit), offset to the centre
            and size of the thing that is there (x, y, in widths and heights of the picture),
            whether any thing is there (logit).
        maps: (B, C, rows, columns) each, what is known at the strides 4, 8 and 16; see ``pooled``.
        shades: (B, SHADES, *COARSE) shares of the colours of each place; see ``shades``.
        colours: (B, K, SHADES) likewise of each of the likeliest things.
        kinds: (B, K, categories) probability of each category of each of these.
    """

    fine: Tensor
    pixel: Tensor
    grid: Tensor
    things: Tensor
    at: Tensor
    dense: Tensor
    maps: tuple[Tensor, ...]
    shades: Tensor
    colours: Tensor
    kinds: Tensor


@dataclass(frozen=True, slots=True)
class Pointed:
    """Places of targets, as logits.

    Attributes:
        mask: (B, T, *MAP) logits that a place belongs to what is meant; of an inner layer
            (B, T, *COARSE).
        point: the same shape, logits of the places to point at, to be normalised together with
            ``absent``.
        absent: (B, T) logit that what is meant is not in the picture.
        chosen: (B, T, K) logits of the things that may be meant.
        meant: (B, T, L, K) logits that a word names a thing.
        things: (B, T, K, width) what became of each thing.
    """

    mask: Tensor
    point: Tensor
    absent: Tensor
    chosen: Tensor
    meant: Tensor
    things: Tensor


def code(x: Tensor, y: Tensor) -> Tensor:
    """Sines and cosines of places in unit coordinates, (...,) each to (..., CODE)."""
    frequency = math.pi * 2.0 ** torch.arange(_FREQUENCIES, device=x.device, dtype=x.dtype)
    phase = torch.cat([x[..., None] * frequency, y[..., None] * frequency], -1)
    return torch.cat([phase.sin(), phase.cos()], -1)


def places(rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """Unit coordinates x and y of the centres of a map's cells, (rows, columns) each."""
    y, x = torch.meshgrid((torch.arange(rows) + 0.5) / rows,
                          (torch.arange(columns) + 0.5) / columns, indexing='ij')
    return x, y


class Convolution(nn.Sequential):
    """Convolution, then normalisation, then rectification."""

    def __init__(self, inner: int, outer: int, side: int = 3, stride: int = 1) -> None:
        super().__init__(nn.Conv2d(inner, outer, side, stride, side // 2, bias=False),
                         nn.BatchNorm2d(outer), nn.ReLU(inplace=True))


class Block(nn.Module):
    """Two convolutions around which there is a way."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = Convolution(channels, channels)
        self.second = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1, bias=False),
                                    nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to the same."""
        return F.relu(x + self.second(self.first(x)))


class Attention(nn.Module):
    """Attention with several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.memory = nn.Linear(width, 2 * width)

    def keys(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of attended tokens: (B, N, width) to (B, heads, N, part)."""
        both = self.memory(memory).unflatten(-1, (2, self.heads, -1))
        key, value = both.permute(2, 0, 3, 1, 4)
        return key, value

    def forward(self, x: Tensor, keys: tuple[Tensor, Tensor], hidden: Tensor | None = None,
                ) -> Tensor:
        """Attend: (B, M, width) to the same shape; ``hidden``: (B, N) tokens that are ignored."""
        query = self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        weight = query @ keys[0].transpose(-1, -2) / math.sqrt(query.shape[-1])
        if hidden is not None:
            weight = weight.masked_fill(hidden[:, None, None], -1e4)
        out: Tensor = self.out((weight.softmax(-1) @ keys[1]).transpose(1, 2).flatten(2))
        return out


class Layer(nn.Module):
    """Transformer layer: attention among tokens, for some also to other tokens, then an MLP."""

    def __init__(self, shape: Shape, memory: bool = False) -> None:
        super().__init__()
        self.own = Attention(shape.width, shape.heads)
        self.own_norm = nn.LayerNorm(shape.width)
        self.other = Attention(shape.width, shape.heads) if memory else None
        self.other_norm = nn.LayerNorm(shape.width) if memory else None
        self.each = nn.Sequential(nn.LayerNorm(shape.width), nn.Linear(shape.width, shape.mlp),
                                  nn.GELU(), nn.Linear(shape.mlp, shape.width))

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> Tensor:
        """Transform tokens (B, N, width); ``hidden``: (B, N) tokens that are not attended to."""
        normal = self.own_norm(x)
        x = x + self.own(normal, self.own.keys(normal), hidden)
        out: Tensor = x + self.each(x)
        return out

    def with_memory(self, x: Tensor, hidden: Tensor, memory: tuple[Tensor, Tensor], first: int,
                    ) -> Tensor:
        """Transform the tokens of targets, (B, T, N, width).

        The first ``first`` tokens also attend to the keys and values of ``memory``, which a
        picture's targets share.
        """
        assert self.other is not None and self.other_norm is not None
        batch, targets = x.shape[:2]
        flat = x.flatten(0, 1)
        normal = self.own_norm(flat)
        x = x + self.own(normal, self.own.keys(normal), hidden.flatten(0, 1)).view_as(x)
        asking = self.other_norm(x[:, :, :first]).flatten(1, 2)
        heard = self.other(asking, memory).view(batch, targets, first, -1)
        x = torch.cat([x[:, :, :first] + heard, x[:, :, first:]], 2)
        out: Tensor = x + self.each(x)
        return out


class Trunk(nn.Module):
    """Convolutional trunk: pictures to features at several strides."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        four, eight, sixteen = shape.channels
        width = shape.width
        self.shape = shape
        self.stem = Convolution(CHANNELS, shape.stem, 5, 2)
        self.four = nn.Sequential(Convolution(shape.stem, four, 3, 2),
                                  *(Block(four) for _ in range(shape.blocks[0])))
        self.eight = nn.Sequential(Convolution(four, eight, 3, 2),
                                   *(Block(eight) for _ in range(shape.blocks[1])))
        self.sixteen = nn.Sequential(Convolution(eight, sixteen, 3, 2),
                                     *(Block(sixteen) for _ in range(shape.blocks[2])))
        self.token = nn.Linear(sixteen + CODE, width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.vision_layers))
        self.norm = nn.LayerNorm(width)
        self.down_sixteen = nn.Conv2d(width, eight, 1)
        self.mix_eight = Convolution(eight, eight)
        self.down_eight = nn.Conv2d(eight, four, 1)
        self.mix_four = Convolution(four, four)
        x, y = places(HEIGHT // 16, WIDTH // 16)
        self.register_buffer('grid', code(x, y).flatten(0, 1), persistent=False)

    grid: Tensor

    def maps(self, picture: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Features of pictures (B, CHANNELS, HEIGHT, WIDTH), colours and depth from -1 to 1.

        Returns:
            (B, stem, *MAP) the first map; (B, N, width) tokens of the coarsest map; and the maps
            of the strides 4, 8 and 16, the last one after and before attention.
        """
        stem = self.stem(picture)
        four = self.four(stem)
        eight = self.eight(four)
        sixteen = self.sixteen(eight)
        tokens = sixteen.flatten(2).transpose(1, 2)
        tokens = self.token(torch.cat([tokens, self.grid.to(tokens.dtype).expand(
            len(picture), -1, -1)], -1))
        for layer in self.layers:
            tokens = layer(tokens)
        tokens = self.norm(tokens)
        coarse = tokens.transpose(1, 2).unflatten(2, sixteen.shape[2:])
        eight = self.mix_eight(F.relu(eight + _double(self.down_sixteen(coarse))))
        four = self.mix_four(F.relu(four + _double(self.down_eight(eight))))
        return stem, tokens, (four, eight, coarse, sixteen)


class Vision(Trunk):
    """Encoder of pictures: features of places, and tokens of the likeliest things."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        four, eight, sixteen = shape.channels
        width = shape.width
        self.dense = nn.Conv2d(four, DENSE, 1)
        self.pixel = nn.Conv2d(four, shape.pixel, 1)
        self.finer = nn.Conv2d(four, 4 * shape.fine, 1)
        self.finest = nn.Conv2d(shape.stem, shape.fine, 1)
        self.fine = nn.Sequential(nn.ReLU(), nn.Conv2d(shape.fine, shape.fine, 1))
        known = four + eight + width + sixteen
        self.thing = nn.Sequential(nn.Linear(known + CODE + 5, width), nn.GELU(),
                                   nn.Linear(width, width))
        # For learning only: the category by what is known of a thing.
        self.category = nn.Linear(known, shape.categories)
        self.category_of = nn.Linear(width, shape.categories)
        x, y = places(*COARSE)
        self.register_buffer('at', torch.stack([x, y]), persistent=False)
        nn.init.constant_(self.dense.bias[:1], -4.0)  # type: ignore[index]

    at: Tensor

    def forward(self, picture: Tensor) -> Seen:
        """(B, CHANNELS, HEIGHT, WIDTH), colours and depth from -1 to 1."""
        stem, tokens, maps = self.maps(picture)
        four = maps[0]
        dense = self.dense(four).float()
        centre = self.at + dense[:, 1:3]
        pixel = torch.cat([self.pixel(four).float(),
                           code(centre[:, 0], centre[:, 1]).permute(0, 3, 1, 2)], 1)
        fine = self.fine(F.pixel_shuffle(self.finer(four), 2) + self.finest(stem))
        at = peaks(dense[:, 0], self.shape.things)
        shown = shades(picture[:, :3])
        things, colours = self._things(maps, dense, at, shown)
        return Seen(fine.float(), pixel, tokens, things, at, dense, maps, shown, colours,
                    self.category_of(things).float().softmax(-1))

    def _things(self, maps: tuple[Tensor, ...], dense: Tensor, at: Tensor, shown: Tensor,
                ) -> tuple[Tensor, Tensor]:
        """Tokens and colours of the things with centres at given places of the map of stride 4."""
        held = dense.detach()
        said = _take(held, at)
        x, y = self.at.flatten(1)[:, at] + said.permute(2, 0, 1)[1:3]
        size = said[..., 3:5].clamp(min=1.0 / COARSE[1])
        centre = self.at + held[:, 1:3]
        far = (((centre[:, 0, None] - x[..., None, None]) / size[..., 0, None, None])**2
               + ((centre[:, 1, None] - y[..., None, None]) / size[..., 1, None, None])**2)
        weight = torch.exp(-_GROUP * far) * held[:, 5:6].sigmoid()
        known = torch.cat([pooled(maps, weight), code(x, y), said[..., :1].sigmoid(),
                           torch.stack([x, y], -1), said[..., 3:5]], -1)
        return self.thing(known), pooled((shown,), weight)


def _double(x: Tensor) -> Tensor:
    return F.interpolate(x, scale_factor=2, mode='nearest')


def _take(maps: Tensor, at: Tensor) -> Tensor:
    """Values of (B, C, H, W) maps at (B, K) places: (B, K, C)."""
    flat = maps.flatten(2)
    return flat.gather(2, at[:, None].expand(-1, flat.shape[1], -1)).transpose(1, 2)


def pooled(maps: tuple[Tensor, ...], weight: Tensor) -> Tensor:
    """Weighted means of (B, C, h, w) maps of several strides, for each thing.

    Args:
        maps: of a stride 4 or coarser.
        weight: (B, K, *COARSE) of each place for each thing.

    Returns:
        (B, K, the sum of all C).
    """
    found = []
    with torch.autocast(weight.device.type, enabled=False):
        for values in maps:
            step = COARSE[0] // values.shape[2]
            part = (F.avg_pool2d(weight, step) if step > 1 else weight).flatten(2)
            mean = part / part.sum(2, keepdim=True).clamp(min=1e-4)
            found.append(mean @ values.flatten(2).transpose(1, 2).float())
    return torch.cat(found, -1)


def shades(colours: Tensor) -> Tensor:
    """Shares of colours of a lattice, (B, 3, HEIGHT, WIDTH) from -1 to 1 to (B, SHADES, *COARSE).

    A colour between those of the lattice is shared among its neighbours, so that the mean of the
    shares of any region has that region's mean colour, and how it is mixed.
    """
    with torch.autocast(colours.device.type, enabled=False):
        level = (F.avg_pool2d(colours.float(), 2) + 1) * (_LEVELS - 1) / 2
        steps = torch.arange(_LEVELS, device=colours.device).view(-1, 1, 1)
        red, green, blue = (
            (1 - (level[:, k, None] - steps).abs()).clamp(min=0) for k in range(3))
        shares = red[:, :, None, None] * green[:, None, :, None] * blue[:, None, None]
        return F.avg_pool2d(shares.flatten(1, 3), 2)


def peaks(heat: Tensor, count: int) -> Tensor:
    """The highest local maxima of (B, H, W) maps: (B, count) places in the flattened map."""
    heat = heat.detach()
    top = F.max_pool2d(heat[:, None], 5, 1, 2)[:, 0]
    return heat.masked_fill(heat < top, -torch.inf).flatten(1).topk(count, 1).indices


@dataclass(frozen=True, slots=True)
class ExistenceLogits:
    """Logits of whether targets are in the picture, and of what their words mean there.

    Attributes:
        which: (B, T, K + 2) logits of what is meant: one of the things, something else that is in
            the picture, or nothing that is there.
        meant: (B, T, L, K) logits that a word is true of a thing, for learning.
        colour: (B, K, colours) logits of a thing's colour.
    """

    which: Tensor
    meant: Tensor
    colour: Tensor

    @property
    def there(self) -> Tensor:
        """(B, T) log odds that the target is in the picture."""
        return self.which[..., :-1].logsumexp(-1) - self.which[..., -1]


class Existence(nn.Module):
    """Tells whether a target is in the picture, from the target's words and what is seen.

    Names of colours are all the same word to it. How well each thing's colours agree with the
    colours that are named is told apart, from the colours alone: so what it learns of one pair of
    colour and kind holds for pairs that it has never seen.

    Args:
        shape: of the network that it belongs to.
        colours: number of colours that have a name.
        width: of its tokens.
        layers: of attention among question, words and things.
    """

    NUMBERS, PLACES, NAMED = 5, 5, 2

    def __init__(self, shape: Shape, colours: int = len(COLOURS), width: int = 64,
                 layers: int = 3) -> None:
        super().__init__()
        self.order = nn.Embedding(128, width)
        self.known = nn.Embedding(2, width)
        self.tint = nn.Embedding(self.NAMED + 1, width)
        self.kind = nn.Parameter(torch.zeros(3, width))
        self.word = nn.Linear(shape.width, width)
        self.state = nn.Linear(shape.width, width)
        self.category = nn.Linear(shape.categories, width)
        self.colour = nn.Sequential(nn.Linear(SHADES, width), nn.GELU(),
                                    nn.Linear(width, colours))
        self.place = nn.Linear(self.PLACES + 1 + 3 * self.NAMED, width)
        self.around = nn.Sequential(nn.Linear(6 * self.NAMED + self.NUMBERS, width), nn.GELU(),
                                    nn.Linear(width, width))
        own = replace(shape, width=width, mlp=2 * width)
        self.layers = nn.ModuleList(Layer(own) for _ in range(layers))
        self.norm, self.early = nn.LayerNorm(width), nn.LayerNorm(width)
        self.name, self.named = nn.Linear(width, width), nn.Linear(width, width)
        self.match, self.nothing = nn.Linear(width, 1), nn.Linear(width, 2)
        nn.init.normal_(self.kind, 0.0, 0.02)
        for table in (self.order, self.known, self.tint):
            nn.init.normal_(table.weight, 0.0, 0.02)

    def forward(self, sight: Sight, asked: Asked, keep: Tensor | None = None) -> ExistenceLogits:
        """Tell of all targets of all pictures.

        Args:
            sight: the pictures.
            asked: the targets.
            keep: (B, T, 2) factors of what is known of things: category, and what became of them;
                to learn not to rely on one of these alone.
        """
        batch, targets, length = asked.padding.shape
        category, state = self.category(sight.kinds)[:, None], self.state(asked.things)
        if keep is not None:
            category, state = category * keep[..., :1, None], state * keep[..., 1:, None]
        colour = self.colour(sight.colours)
        agree = _agreement(colour[:, None].expand(-1, targets, -1, -1), asked.tint)
        places = sight.places[:, None].expand(-1, targets, -1, -1)
        things = category + state + self.place(torch.cat([
            places, asked.chosen[..., None], agree], -1))
        number = (asked.tint >= 0).cumsum(-1).clamp(max=self.NAMED) * (asked.tint >= 0)
        words = torch.where((asked.tint >= 0)[..., None], self.tint(number), self.word(asked.text)
                            + self.known(asked.known.long())) + self.order.weight[:length]
        shown = self.colour(asked.colours.reshape(batch, targets, 2, SHADES))
        question = self.around(torch.cat([
            _agreement(shown, asked.tint).flatten(2), asked.numbers], -1))
        x = torch.cat([(question + self.kind[0])[:, :, None], words + self.kind[1],
                       things + self.kind[2]], 2).flatten(0, 1)
        hidden = F.pad(asked.padding, (1, things.shape[2])).flatten(0, 1)
        first, *rest = self.layers
        x = first(x, hidden)
        early = self.early(x).unflatten(0, (batch, targets))
        meant = self.name(early[:, :, 1:1 + length]) @ self.named(
            early[:, :, 1 + length:]).transpose(-1, -2) / math.sqrt(x.shape[-1])
        for layer in rest:
            x = layer(x, hidden)
        x = self.norm(x).unflatten(0, (batch, targets))
        which = torch.cat([self.match(x[:, :, 1 + length:])[..., 0], self.nothing(x[:, :, 0])], -1)
        return ExistenceLogits(which.float(), meant.float(), colour.float())


def _agreement(colour: Tensor, tint: Tensor) -> Tensor:
    """Agreement of colours with the first colours that are named.

    Args:
        colour: (B, T, N, colours) logits of the colour of something.
        tint: (B, T, L) number of the colour that a word names; -1: none.

    Returns:
        (B, T, N, 3 * Existence.NAMED) for each: its log odds against the likeliest other, its
        probability, and whether there is such a word at all.
    """
    number = (tint >= 0).cumsum(-1) * (tint >= 0)
    found = []
    for k in range(1, Existence.NAMED + 1):
        which = (torch.where(number == k, tint + 1, 0)).amax(-1)
        named = (which > 0)[..., None].expand(colour.shape[:3])
        at = (which - 1).clamp(min=0)[..., None, None].expand(*colour.shape[:3], 1)
        own = colour.gather(-1, at)[..., 0]
        other = colour.scatter(-1, at, -1e4).amax(-1)
        chance = colour.softmax(-1).gather(-1, at)[..., 0]
        found += [(own - other).clamp(-_SURE, _SURE) / 4 * named, chance * named, named.float()]
    return torch.stack(found, -1)


@dataclass(frozen=True, slots=True)
class Sight:
    """Tensors of pictures that ``Existence`` reads.

    Attributes:
        kinds: (B, K, categories) probability of each category of each of the likeliest things.
        colours: (B, K, SHADES) their colours.
        places: (B, K, Existence.PLACES) centre and size, and whether a centre is there at all.
    """

    kinds: Tensor
    colours: Tensor
    places: Tensor

    @classmethod
    def of(cls, seen: Seen) -> Sight:
        """Return what the encoded pictures show of the things in them."""
        said = _take(seen.dense, seen.at)
        x, y = (value.flatten().to(seen.at.device)[seen.at] for value in places(*COARSE))
        at = torch.cat([torch.stack([x, y], -1) + said[..., 1:3], said[..., 3:5],
                        said[..., :1].sigmoid()], -1)
        return cls(seen.kinds, seen.colours, at)


@dataclass(frozen=True, slots=True)
class Asked:
    """Tensors of targets that ``Existence`` reads.

    Attributes:
        text: (B, T, L, width) vectors of words.
        padding: (B, T, L) bool, where there is no word.
        known: (B, T, L) bool, whether it is a known word.
        tint: (B, T, L) number of the colour that a word names; -1: none; see ``tints``.
        things: (B, T, K, width), see ``Pointed``.
        chosen: (B, T, K) probability of each thing to be meant.
        colours: (B, T, 2 * SHADES) of what is taken for the target and of where it points.
        numbers: (B, T, Existence.NUMBERS) log odds that the target is there, that what is pointed
            at is within three places of the best one and that it is part of the target; of the
            likeliest part; root of the target's share of the picture.
    """

    text: Tensor
    padding: Tensor
    known: Tensor
    tint: Tensor
    things: Tensor
    chosen: Tensor
    colours: Tensor
    numbers: Tensor

    @classmethod
    def of(cls, seen: Seen, reply: Pointed, text: Tensor, padding: Tensor, known: Tensor,
           tint: Tensor) -> Asked:
        """Return what was asked for, and what the network knows of the place it points at."""
        flat = reply.point.flatten(2)
        there = flat.logsumexp(-1) - reply.absent
        score = F.avg_pool2d(flat.softmax(-1).view_as(reply.point), 3, 1, 1,
                             count_include_pad=False)
        best = score.flatten(2).argmax(-1, keepdim=True)
        near = (F.avg_pool2d(score, 7, 1, 3) * 49).flatten(2).gather(2, best)[..., 0]
        near = near.clamp(1e-4, 1 - 1e-4)
        mask = reply.mask.flatten(2)
        part = mask.gather(2, best)[..., 0]
        inside = mask.sigmoid()
        numbers = torch.stack([there, near.logit(), part, mask.amax(-1), inside.mean(-1).sqrt()
                               * _SURE], -1).clamp(-_SURE, _SURE) / 4
        shares = seen.shades.flatten(2).transpose(1, 2)
        found = [(weight := F.avg_pool2d(values, 2).flatten(2)) @ shares
                 / weight.sum(-1, keepdim=True).clamp(min=1e-4)
                 for values in (inside.view_as(reply.mask), score)]
        return cls(text, padding, known, tint, reply.things, reply.chosen.softmax(-1),
                   torch.cat(found, -1), numbers)


class Network(nn.Module):
    """The whole network."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.shape = shape
        self.vision = Vision(shape)
        self.word = nn.Embedding(shape.words, width)
        self.gram = nn.EmbeddingBag(shape.grams, width, mode='mean')
        self.order = nn.Embedding(128, width)
        self.text = nn.ModuleList(Layer(shape) for _ in range(shape.text_layers))
        self.question = nn.Parameter(torch.zeros(width))
        self.kind = nn.Parameter(torch.zeros(3, width))
        self.layers = nn.ModuleList(Layer(shape, memory=True) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(width)
        self.grid_norm = nn.LayerNorm(width)
        self.choose, self.offer = nn.Linear(width, width), nn.Linear(width, width)
        self.name, self.named = nn.Linear(width, width), nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        numbers = shape.pixel + CODE + shape.fine + CODE + 1
        self.out = nn.Sequential(nn.Linear(width, width), nn.GELU(),
                                 nn.Linear(width, 2 * numbers))
        self.existence = Existence(shape)
        x, y = places(*MAP)
        self.register_buffer('at', code(x, y).permute(2, 0, 1), persistent=False)
        nn.init.normal_(self.word.weight, 0.0, 0.05)
        nn.init.normal_(self.gram.weight, 0.0, 0.05)
        nn.init.normal_(self.order.weight, 0.0, 0.02)
        nn.init.normal_(self.kind, 0.0, 0.02)
        last = self.out[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight.mul_(0.3)
            last.bias.zero_()
            last.bias[numbers - 1] = -3.0

    at: Tensor

    def look(self, picture: Tensor) -> Seen:
        """Encode pictures, (B, CHANNELS, HEIGHT, WIDTH)."""
        return self.vision(picture)  # type: ignore[no-any-return]

    def words(self, word: Tensor, grams: Tensor, starts: Tensor) -> Tensor:
        """Vectors of words: ids (U,), pieces of all one after another, where each's begin (U,)."""
        return self.word(word) + self.gram(grams, starts)  # type: ignore[no-any-return]

    def point(self, seen: Seen, text: Tensor, padding: Tensor, all_layers: bool = False,
              ) -> list[Pointed]:
        """Find targets in encoded pictures.

        Args:
            seen: the pictures.
            text: (B, T, L, width) vectors of the targets' words; see ``words``.
            padding: (B, T, L) bool, where there is no word.
            all_layers: whether to tell what the second layer would say, too, for learning.

        Returns:
            What the last layer says, last.
        """
        batch, targets, length = padding.shape
        text = text + self.order.weight[:length]
        flat, apart = text.flatten(0, 1), padding.flatten(0, 1)
        for layer in self.text:
            flat = layer(flat, apart)
        things = seen.things[:, None].expand(-1, targets, -1, -1)
        x = torch.cat([(self.question + self.kind[0]).expand(batch, targets, 1, -1),
                       flat.view_as(text) + self.kind[1], things + self.kind[2]], 2)
        hidden = torch.cat([padding.new_zeros(batch, targets, 1), padding,
                            padding.new_zeros(batch, targets, things.shape[2])], 2)
        grid = self.grid_norm(seen.grid)
        replies = []
        for number, layer in enumerate(self.layers, 1):
            assert isinstance(layer, Layer) and layer.other is not None
            x = layer.with_memory(x, hidden, layer.other.keys(grid), 1 + length)
            last = number == len(self.layers)
            if last or (all_layers and number == 2):
                replies.append(self._pointed(seen, x, length, last))
        return replies

    def exists(self, seen: Seen, reply: Pointed, text: Tensor, padding: Tensor, known: Tensor,
               tint: Tensor) -> Tensor:
        """(B, T) log odds that targets are in the pictures.

        Args:
            seen: the pictures.
            reply: what the last layer said.
            text: (B, T, L, width) vectors of the targets' words; see ``words``.
            padding: (B, T, L) bool, where there is no word.
            known: (B, T, L) bool, whether it is a known word.
            tint: (B, T, L) number of the colour that it names; see ``tints``.
        """
        logits: ExistenceLogits = self.existence(Sight.of(seen), Asked.of(
            seen, reply, text, padding, known, tint))
        return logits.there

    def _pointed(self, seen: Seen, x: Tensor, length: int, whole: bool) -> Pointed:
        x = self.norm(x)
        question, words, things = x[:, :, 0], x[:, :, 1:1 + length], x[:, :, 1 + length:]
        scale = 1 / math.sqrt(x.shape[-1])
        chosen = (self.offer(things) @ self.choose(question)[..., None]).squeeze(-1) * scale
        meant = self.name(words) @ self.named(things).transpose(-1, -2) * scale
        picked = (chosen.softmax(-1)[..., None] * self.value(things)).sum(2)
        both = self.out(question + picked).float().unflatten(-1, (2, -1))
        sizes = (self.shape.pixel + CODE, self.shape.fine, CODE, 1)
        pixel, fine, at, bias = both.split(sizes, -1)
        batch, targets = question.shape[:2]
        coarse = (pixel.flatten(1, 2) @ seen.pixel.flatten(2)).view(batch, 2 * targets, *COARSE)
        known, places = seen.fine, self.at
        if whole:
            coarse = F.interpolate(coarse, scale_factor=2, mode='bilinear')
        else:
            known, places = F.avg_pool2d(known, 2), F.avg_pool2d(places, 2)
        finer = fine.flatten(1, 2) @ known.flatten(2) + at.flatten(1, 2) @ places.flatten(1)
        maps = (coarse + finer.view_as(coarse)).unflatten(1, (targets, 2))
        return Pointed(maps[:, :, 0] + bias[:, :, 0, :, None], maps[:, :, 1], bias[:, :, 1, 0],
                       chosen.float(), meant.float(), things)


def load_weights(network: nn.Module, path: Path) -> None:
    """Give a network the weights of a file, which may be of half precision.

    Raises:
        OSError, SafetensorError, RuntimeError: the file cannot be read, or sizes differ.
        ValueError: it has not just the weights of such a network; names some.
    """
    missing, unknown = network.load_state_dict(
        {name: value.float() for name, value in load_file(path).items()}, strict=False)
    missing = [name for name in missing if not name.endswith('num_batches_tracked')]
    if missing or unknown:
        raise ValueError(f'weights {", ".join([*missing, *unknown][:3])} do not fit')
