"""``noisy_reader``: ground truth about boards, seen through published reading errors; no model.

It stands in for a model that reads which piece is on which cell (domain ``sliding``), in
experiments that need only its errors. Each picture is read once, piece by piece, with the
frequencies of a table (iVISPAR, Tables 4 and 5). A piece is read rightly, missed, or read wrongly:
with another coordinate (a next cell with probability ``near``, else any other), with another
colour or shape (never both), or with both kinds of error. What is read so may be the name of
another piece, on the board or not. Besides, a piece may be invented, and now and then a whole
reply cannot be read.

Questions are answered from that reading: "Is the red cube on cell B2?" with yes if that was read,
"Is cell B2 empty?" with yes if nothing was read there.

Errors persist as those of models do: with probability ``repeat`` a piece that has not moved is
read as on the last picture, right or wrong; else anew. The same picture always gets the same
reading, as at temperature 0.

Every draw is a hash of seed, episode, picture and piece, so that the order of questions does not
matter. It has no probabilities to offer.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sightplan.model import InputError, State, TruthSource, param
from sightplan.model.query import Deadline, ModelByKind, Traits, answers
from sightplan.queries import Answer, YesNo
from sightplan_models._hashed_draws import uniform
from sightplan_models._truths import episode_of, view_of

_LOG = logging.getLogger(__name__)
_RATES = Path(__file__).parent / 'data' / 'reading_rates.json'
_PIECES = 6.5
"""Mean number of geoms on the boards of the published table."""

_COLOURS = ('red', 'green', 'blue', 'yellow')
_SHAPES = ('cube', 'pyramid', 'sphere', 'cylinder')
_AT, _EMPTY, _NEXT = 'at', 'empty', 'next'
_AUTO, _VIEWS = 'auto', ('3d', '2d')

UNREADABLE = '(noisy_reader: a reply that cannot be read)'
NO_BOARD = '(noisy_reader: {}: it reads boards of sliding alone; choose noisy_oracle)'

Item = tuple[str, str]
"""Name of a piece and of a cell, as read."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the backend ``noisy_reader``."""

    table: str = param('sonnet-3.5', 'Model whose reading errors it has (sonnet-3.5, '
                       'gemini-2.0-flash, gpt-4o, internvl2.5-78b, llava-ov-72b, qwen2-72b), or '
                       'perfect')
    view: str = param('auto', 'Pictures that the errors were counted on; auto: those of the view '
                      'that is shown, 3d where that is not known', choices=(_AUTO, *_VIEWS))
    near: float = param(0.7, 'Fraction of wrong coordinates that are those of a next cell (no '
                        'paper tells it)', low=0.0, high=1.0)
    repeat: float = param(0.45, 'Probability that a piece that has not moved is read as on the '
                          'last picture', low=0.0, high=1.0)
    seed: int = param(0, 'Seed of the errors', low=0)


@dataclass(frozen=True, slots=True)
class Rates:
    """Error rates of reading a piece.

    Attributes:
        correct, missed: probabilities; the rest is read wrongly.
        coordinate: P(another cell | read wrongly).
        attribute: P(another colour or shape | read wrongly).
        colour: P(the colour is wrong | one of the two is).
        invented: expected number of invented pieces a board.
        unread: P(a whole reply cannot be read).
    """

    correct: float
    missed: float
    coordinate: float
    attribute: float
    colour: float
    invented: float
    unread: float

    @classmethod
    def of(cls, counts: tuple[float, ...]) -> Rates:
        """Rates from a published row: mean numbers per board in the paper's order of columns."""
        correct, missed, invented, coordinate, colour, shape, unread = counts
        read = _PIECES - unread  # of an unread reply each piece counts as a format error
        wrong = max(read - correct - missed, 1e-9)
        named = colour + shape
        return cls(correct / read, missed / read, min(1.0, coordinate / wrong),
                   min(1.0, named / wrong), colour / named if named else 0.5, invented,
                   unread / _PIECES)


PERFECT = Rates(1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0)


@functools.cache
def rates_of(table: str, view: str) -> Rates:
    """The rates of a model of the table.

    Raises:
        InputError: there is none of that name.
    """
    if table == 'perfect':
        return PERFECT
    models = json.loads(_RATES.read_text('utf-8'))['models']
    if table not in models:
        raise InputError(f'noisy_reader: table = {table!r} is unknown (known: '
                         f'{", ".join(models)}, perfect)')
    return Rates.of(tuple(models[table][view]))


def content(settings: Settings, kind: object = None) -> str:
    """Hash of the rates; see ``api.backend_content``."""
    views = _VIEWS if settings.view == _AUTO else (settings.view,)
    found = ''.join(repr(rates_of(settings.table, view)) for view in views)
    return hashlib.sha256(found.encode()).hexdigest()[:12]


class Backend(ModelByKind):
    """Answers questions from readings of the true board with a model's errors."""

    traits = Traits('state', pixels=False, texts=True, prompt=False, history=True)
    _view_reported = False  # whether the unknown view was reported in the log

    def __init__(self, settings: Settings, truth: TruthSource) -> None:
        """Look up the rates.

        Raises:
            InputError: the table is unknown.
        """
        self._settings, self._truth = settings, truth
        self._view = self._known_view() or _AUTO
        self._rates = rates_of(settings.table, _VIEWS[0] if self._view == _AUTO else self._view)
        self._new_episode('')

    def _known_view(self) -> str:
        """View by the settings, or by the source of truth; '' if neither states it."""
        if self._settings.view != _AUTO:
            return self._settings.view
        shown = view_of(self._truth)
        return shown if shown in _VIEWS else ''

    def _look_rates_up(self) -> None:
        """Rates of the present view, looked up again where the view can change.

        Where it is not known, that is logged once.
        """
        view = self._known_view()
        if not view and not self._view_reported:
            self._view_reported = True
            _LOG.warning('noisy_reader: the view that is shown is not known, so that it errs as '
                         'on pictures in %s; set view=%s for the others', *_VIEWS)
        self._rates = rates_of(self._settings.table, view or _VIEWS[0])

    @property
    def name(self) -> str:
        """Table and settings; the view is "auto" as long as it may change."""
        s = self._settings
        return (f'noisy_reader({s.table} {self._view}, near {s.near:g}, repeat {s.repeat:g}, seed '
                f'{s.seed})')

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Start an episode: forget what was read before."""
        self._new_episode(episode_id)

    def _new_episode(self, episode: str) -> None:
        self._episode = episode
        self._read: dict[tuple[bool, str], frozenset[Item] | None] = {}
        # By (whether of the goal, piece): its true cell, and what was read of it last.
        self._last: dict[tuple[bool, str], tuple[str, Item | None]] = {}

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Answer all questions about one picture from one reading, in order.

        One that is about something else than ``at`` and ``empty`` gets a reply that says so, which
        is neither yes nor no.

        Raises:
            WorldError: there is no ground truth for the time of the image.
        """
        observation, episode = queries[0].observation, episode_of(self._truth)
        if episode and episode != self._episode:
            self._new_episode(episode)
        key = (observation.shows_goal,
               observation.image_id or f'stamp {observation.stamp_ns}')
        if key not in self._read:
            if self._view == _AUTO:
                self._look_rates_up()
            self._read[key] = self._reading(
                self._truth.state(observation.stamp_ns), *key)
        read = self._read[key]
        if read is None:
            return [Answer(UNREADABLE)] * len(queries)
        taken = {cell for _, cell in read}
        replies = []
        for query in queries:
            atom = query.question.atom
            if atom.predicate not in (_AT, _EMPTY):
                replies.append(Answer(NO_BOARD.format(atom)))
                continue
            yes = atom.args in read if atom.predicate == _AT else atom.args[0] not in taken
            replies.append(Answer('Yes' if yes else 'No'))
        return replies

    def _reading(self, state: State, of_goal: bool, image: str) -> frozenset[Item] | None:
        """Draw what is read on a picture; None if the reply cannot be read."""
        cells: dict[str, list[str]] = {}
        for atom in sorted(state):
            if atom.predicate == _NEXT:
                cells.setdefault(atom.args[0], []).append(atom.args[1])
        if self._draw(image, 'unread') < self._rates.unread:
            return None
        items: list[Item] = []
        for atom in sorted(state):
            if atom.predicate != _AT:
                continue
            piece, cell = atom.args
            last = self._last.get((of_goal, piece))
            if last is not None and last[0] == cell and (
                    self._draw(image, 'repeat', piece) < self._settings.repeat):
                item = last[1]
            else:
                item = self._item(piece, cell, cells, image)
            self._last[of_goal, piece] = (cell, item)
            if item is not None:
                items.append(item)
        for number in range(math.ceil(self._rates.invented)):
            if self._draw(image, 'invented', str(number)) < self._rates.invented - number:
                items.append(self._invented(sorted(cells), image, str(number)))
        return frozenset(items)

    def _item(self, piece: str, cell: str, cells: Mapping[str, list[str]], image: str,
              ) -> Item | None:
        """Draw what is read of a piece; None if it is missed."""
        rates, which = self._rates, self._draw(image, 'which', piece)
        if which < rates.correct:
            return piece, cell
        if which < rates.correct + rates.missed:
            return None
        both = max(0.0, rates.coordinate + rates.attribute - 1.0)
        kind = self._draw(image, 'kind', piece)
        moved = kind < rates.coordinate
        renamed = kind < both or kind >= rates.coordinate
        return (self._renamed(piece, image) if renamed else piece,
                self._elsewhere(cell, cells, image, piece) if moved else cell)

    def _elsewhere(self, cell: str, cells: Mapping[str, list[str]], image: str, piece: str) -> str:
        others = sorted(other for other in cells if other != cell)
        if self._draw(image, 'near', piece) < self._settings.near:
            others = sorted(cells[cell])
        return self._chosen(others, image, 'cell', piece)

    def _renamed(self, piece: str, image: str) -> str:
        colour, _, shape = piece.rpartition('_')
        if self._draw(image, 'attribute', piece) < self._rates.colour:
            others = [other for other in _COLOURS if other != colour]
            return f'{self._chosen(others, image, "colour", piece)}_{shape}'
        others = [other for other in _SHAPES if other != shape]
        return f'{colour}_{self._chosen(others, image, "shape", piece)}'

    def _invented(self, cells: list[str], image: str, number: str) -> Item:
        colour, shape = (self._chosen(list(known), image, what, number) for known, what in (
            (_COLOURS, 'new colour'), (_SHAPES, 'new shape')))
        return f'{colour}_{shape}', self._chosen(cells, image, 'new cell', number)

    def _chosen(self, options: list[str], image: str, what: str, of: str) -> str:
        return options[int(self._draw(image, what, of) * len(options))]

    def _draw(self, image: str, *about: str) -> float:
        return uniform(str(self._settings.seed), self._episode, *about, image)
