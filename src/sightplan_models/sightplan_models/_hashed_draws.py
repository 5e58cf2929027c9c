"""Draws that are hashes of their subjects, and are correlated on a picture.

They are a Gaussian copula. What is drawn about an atom is Phi(z), with z the weighted sum of three
independent standard normal draws: one that all atoms on the picture have in common, one for the
atom's things (the sum over them, scaled to variance 1; each has its own on each picture) and one
of the atom's own. So each draw by itself is uniform, whatever the weights are, and draws on
different pictures are independent.
"""

from __future__ import annotations

import hashlib
import math
from statistics import NormalDist

from sightplan.model import Atom

PICTURE = 0.2
"""Fraction of the variance shared on a picture that all draws share; the rest is shared by
thing."""

_NORMAL = NormalDist()


def draw(together: float, atom: Atom, picture: tuple[str, ...]) -> float:
    """The draw about an atom on a picture.

    Args:
        together: fraction of the variance of z that is the picture's and the things', in [0, 1];
            0: independent draws.
        atom: what it is about; one without arguments shares with others the picture's part only.
        picture: key of the picture: seed, episode, what the draw decides, image.

    Returns:
        In [0, 1], uniform over keys.
    """
    if not together:
        return uniform(*picture[:-1], str(atom), picture[-1])
    things = sorted(set(atom.args))
    by_picture = together * PICTURE
    by_thing = together - by_picture if things else 0.0
    z = math.sqrt(by_picture) * normal(*picture)
    for thing in things:
        z += math.sqrt(by_thing / len(things)) * normal(*picture, 'thing', thing)
    own = 1.0 - by_picture - by_thing
    return _NORMAL.cdf(z + math.sqrt(own) * normal(*picture, 'own', str(atom)))


def uniform(*key: str) -> float:
    """A draw in [0, 1] that is its key's alone, uniform over keys."""
    return _hash(*key) / 2.0 ** 56


def normal(*key: str) -> float:
    """A standard normal draw that is its key's alone."""
    # 52 bits and a half: never 0 or 1, where the quantile is infinite.
    return _NORMAL.inv_cdf((_hash(*key) // 16 + 0.5) / 2.0 ** 52)


def _hash(*key: str) -> int:
    """First 56 bits of the hash of a key."""
    return int.from_bytes(hashlib.sha256('\x1f'.join(key).encode()).digest()[:7], 'big')
