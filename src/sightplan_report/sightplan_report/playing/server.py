"""The local web server of the page on which a person plays."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import ClassVar, TypeVar

from sightplan.model import InputError
from sightplan.model.reading import Record, validated
from sightplan_report.labelling.local_page import (
    LocalServer,
    PageHandler,
    RefusedError,
    json_bytes,
)
from sightplan_report.playing.game import Game, StaleError

_LONGEST_NUMBER = 9  # digits


class _PuzzleRequest(Record):
    """Request of the page about a puzzle, by its number from 1."""

    puzzle: int


class _MoveRequest(_PuzzleRequest):
    piece: str
    direction: str


class _LineRequest(_PuzzleRequest):
    line: str


R = TypeVar('R', bound=_PuzzleRequest)


class PlayServer(LocalServer):
    """Serves one game; see ``LocalServer``."""

    def __init__(self, game: Game, port: int = 0) -> None:
        """Open the port; ``serve_forever`` answers requests.

        Args:
            game: what is served.
            port: 0 for any free one.

        Raises:
            InputError: the port cannot be used.
        """
        self.game = game
        super().__init__(_Handler, 'sightplan play', port)


class _Handler(PageHandler):
    """Serves the page, states and pictures, and takes moves."""

    folder = Path(__file__).parent / 'page'
    files: ClassVar = {'': ('play.html', 'text/html'), 'play.css': ('play.css', 'text/css'),
                       'play.js': ('play.js', 'text/javascript')}
    server: PlayServer

    def get(self, path: str) -> tuple[bytes, str]:
        """``state``, ``state/VERSION`` (waits for a later one) and ``pictures/NUMBER``."""
        folder, _, name = path.partition('/')
        number = (int(name) if name.isascii() and name.isdigit() and len(name) <= _LONGEST_NUMBER
                  else None)
        game = self.server.game
        if path == 'state' or (folder == 'state' and number is not None):
            return json_bytes(game.state(-1 if number is None else number)), 'application/json'
        if folder == 'pictures' and number is not None:
            try:
                return game.picture(number), 'image/png'
            except KeyError as error:
                raise RefusedError(HTTPStatus.NOT_FOUND, 'no such picture (any more)') from error
        return super().get(path)

    def post(self, path: str) -> tuple[bytes, str]:
        """``move``, ``type``, ``give_up`` and ``go_on``; the reply is the state."""
        takers = {'move': self._move, 'type': self._type, 'give_up': self._give_up,
                  'go_on': self._go_on}
        if path not in takers:
            return super().post(path)
        try:
            takers[path]()
        except InputError as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from error
        except StaleError as error:
            raise RefusedError(HTTPStatus.CONFLICT, str(error)) from error
        return json_bytes(self.server.game.state()), 'application/json'

    def _move(self) -> None:
        wish = self._read(_MoveRequest)
        self.server.game.move(wish.puzzle, wish.piece, wish.direction)

    def _type(self) -> None:
        wish = self._read(_LineRequest)
        self.server.game.type(wish.puzzle, wish.line)

    def _give_up(self) -> None:
        self.server.game.give_up(self._read(_PuzzleRequest).puzzle)

    def _go_on(self) -> None:
        self.server.game.go_on(self._read(_PuzzleRequest).puzzle)

    def _read(self, kind: type[R]) -> R:
        return validated(kind, self.body(), 'request')
