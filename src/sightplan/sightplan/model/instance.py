"""Things detected in a picture, each apart from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sightplan.model.query import Reply
from sightplan.model.region import Form, Region


class Classified:
    """Base of objects that have probabilities for their categories and colours."""

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
    """A thing detected in a picture.

    Attributes:
        name: unique, a lower-case PDDL name such as ``mug_2``.
        region: its box.
        categories: probability of each; ``drawer:top`` and ``drawer:bottom`` for drawers. They
            sum to the probability that there is such a thing at all.
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

    @property
    def exists(self) -> float:
        """Probability that there is such a thing, of whatever category."""
        return min(1.0, sum(self.categories.values()))

    def in_words(self) -> str:
        """Return the instance as text, such as ``mug_2: red mug 0.98 (or cup 0.02)``."""
        second = sorted(self.categories.items(), key=lambda item: -item[1])[1:2]
        return (f'{self.name}: {" ".join(filter(None, (self.colour, self.category)))} '
                f'{self.categories.get(self.category, 0.0):.2f}'
                + ''.join(f' (or {name} {p:.2f})' for name, p in second if p >= 0.01)
                + ('' if self.opened is None else f', open {self.opened:.2f}'))


@dataclass(frozen=True, eq=False)
class SeenThings(Reply):
    """Reply of a model that detected all things in a picture.

    ``model`` is '' if the model's name is not known.

    Attributes:
        instances: the things.
        goal: the model's reply about what an instruction wants of them, if it was asked; else ''.
        unread: why the picture or the instruction could not be read; '' if both could.
        cannot_tell: why it cannot be told what the picture shows; then there are no instances. ''
            if it can.
    """

    instances: tuple[Instance, ...] = ()
    goal: str = ''
    unread: str = ''
    cannot_tell: str = ''

    @property
    def usable(self) -> bool:
        """Whether things were found, and all was read."""
        return not self.unread and not self.cannot_tell and bool(self.instances)

    def summary(self) -> str:
        """Return the number and names of the things, or why it cannot be told."""
        if self.cannot_tell:
            return f'cannot tell: {self.cannot_tell}'
        names = ', '.join(one.name for one in self.instances)
        return f'{len(self.instances)} things told apart: {names}'

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Return lines about the things, the goal and what could not be read, by label."""
        lines = {'things': tuple(one.in_words() for one in self.instances), 'goal': (self.goal,),
                 'unread': (self.unread,), 'cannot tell': (self.cannot_tell,)}
        return {label: found for label, found in lines.items() if any(found)}
