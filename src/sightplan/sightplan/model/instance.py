"""A thing that is seen in a picture, told apart from all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sightplan.model.region import Form, Region


class Classified:
    """What has probabilities of its categories and its colours."""

    __slots__ = ()
    categories: Mapping[str, float]
    colours: Mapping[str, float]

    @property
    def category(self) -> str:
        """The likeliest category; '' without any."""
        return max(self.categories, key=self.categories.__getitem__, default='')

    @property
    def colour(self) -> str:
        """The likeliest colour; '' without any."""
        return max(self.colours, key=self.colours.__getitem__, default='')


@dataclass(frozen=True, eq=False)
class Instance(Classified):
    """A thing that is seen, told apart from all others.

    Attributes:
        name: unique, a lower-case PDDL name such as ``mug_2``.
        region: its box.
        categories: probability of each; ``drawer:top`` and ``drawer:bottom`` for drawers.
        colours: probability of each.
        opened: probability that it stands open; None for what does not open.
    """

    name: str
    region: Region
    categories: Mapping[str, float]
    colours: Mapping[str, float]
    opened: float | None = None

    def __post_init__(self) -> None:
        """Refuse regions that are no box.

        Raises:
            ValueError: it is none.
        """
        if self.region.form is not Form.BOX:
            raise ValueError(f'{self.name}: a thing is seen in a box, not in a '
                             f'{self.region.form}')


@dataclass(frozen=True, eq=False)
class SeenThings:
    """What a model tells of a picture in which it has told all things apart.

    Attributes:
        instances: the things.
        goal: its reply about what an instruction wants of them, if it was asked; else ''.
        unread: why nothing can be told of the picture, or of the instruction; '' if it can.
        model: exact name of the model that found the things; '' if it is not known.
    """

    instances: tuple[Instance, ...] = ()
    goal: str = ''
    unread: str = ''
    model: str = ''
