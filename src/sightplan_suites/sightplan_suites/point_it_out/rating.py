"""Local page on which a person rates traces; ``agreement`` evaluates the ratings.

A person sees each trace as a judge does, without its model, in an order of their own, and gives a
rating from 1 to 5. Each rating is on the disk before it is shown as saved.
"""

from __future__ import annotations

import io
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar

from sightplan.model import InfrastructureError, InputError, SightplanError
from sightplan.model.journal import Journal
from sightplan.model.reading import Record, validated
from sightplan_report.labelling.local_page import (
    LocalServer,
    PageHandler,
    RefusedError,
    json_bytes,
)
from sightplan_suites.point_it_out.agreement import Rating, Score, read_ratings
from sightplan_suites.point_it_out.drawing import draw_trace
from sightplan_suites.point_it_out.traces import ShownTrace

SCALE = ('makes no sense for the task', 'some of the direction is right, nothing else',
         'sensible, with a serious flaw', 'right, but for small deviations',
         'passes every place that matters; the task would be done')
"""Meaning of the ratings from 1 to 5, as judges read it, too."""


class RatingSession:
    """Takes ratings of one person and writes them at once; safe for use from several threads."""

    def __init__(self, traces: Sequence[ShownTrace], path: Path, who: str) -> None:
        """Go on where this person stopped.

        Args:
            traces: what is to be rated.
            path: file that ratings are added to; earlier ones of the person are taken from it.
            who: the person.

        Raises:
            InputError: the file cannot be read or written; names the line.
        """
        self.who, self.path = who, path
        if path.exists():
            self._add()
        # By the person alone, so that the order is the same when they come back.
        self._traces = sorted(traces, key=lambda trace: random.Random(
            f'{who}\x1f{trace.id}\x1f{trace.model}').random())
        self._scores: dict[tuple[str, str], int] = {
            (rating.id, rating.model): rating.score
            for rating in read_ratings([path] if path.exists() else []).ratings
            if rating.rater == who and not rating.judge and rating.score is not None}
        self._lock = threading.Lock()

    @property
    def total(self) -> int:
        """Number of traces to rate."""
        return len(self._traces)

    @property
    def rated(self) -> int:
        """Number of traces that this person has rated."""
        return sum((trace.id, trace.model) in self._scores for trace in self._traces)

    def overview(self) -> dict[str, Any]:
        """JSON data of the page: person, meaning of ratings, text and rating of each trace."""
        return {'who': self.who, 'scale': list(SCALE), 'traces': [
            {'text': trace.text, 'score': self._scores.get((trace.id, trace.model))}
            for trace in self._traces]}

    def picture(self, number: int) -> bytes:
        """A trace on its picture, a PNG file.

        Raises:
            KeyError: there is no such trace.
            InputError: its picture cannot be read.
        """
        from PIL import Image
        trace = self._trace(number)
        buffer = io.BytesIO()
        Image.fromarray(draw_trace(trace.load(), trace.points, trace.text)).save(buffer, 'PNG')
        return buffer.getvalue()

    def rate(self, number: int, score: int) -> dict[str, Any]:
        """Take one rating; it is on the disk when this returns.

        Returns:
            JSON-ready: what counts now.

        Raises:
            KeyError: there is no such trace.
            InfrastructureError: the rating could not be written.
        """
        trace = self._trace(number)
        line = Rating(id=trace.id, model=trace.model, rater=self.who, score=score)
        with self._lock:
            try:
                self._add(line.model_dump(mode='json', exclude_defaults=True))
            except SightplanError as error:
                raise InfrastructureError(f'the rating could not be written: {error}') from error
            self._scores[trace.id, trace.model] = score
        return {'number': number, 'score': score, 'rated': self.rated}

    def _add(self, *lines: Mapping[str, Any]) -> None:
        """Append lines, after repairing an end that a crash may have truncated."""
        with Journal(self.path) as journal:
            journal.open(parents=False)
            with journal.locked():
                journal.take_up()
                journal.append(*lines)

    def _trace(self, number: int) -> ShownTrace:
        if not 0 <= number < len(self._traces):
            raise KeyError(number)
        return self._traces[number]


class _RateRequest(Record):
    """Request of the page to save a rating."""

    number: int
    score: Score


class RatingServer(LocalServer):
    """Serves one session of ratings."""

    def __init__(self, session: RatingSession, port: int = 0,
                 on_rating: Callable[[], None] = lambda: None) -> None:
        """Open the port; ``serve_forever`` answers requests.

        Args:
            session: what is served.
            port: 0 for any free one.
            on_rating: called after each rating that was saved.

        Raises:
            InputError: the port cannot be used.
        """
        self.session, self.on_rating = session, on_rating
        super().__init__(_Handler, 'sightplan suite point_it_out rate', port)


class _Handler(PageHandler):
    """Serves the page, the session and pictures, and takes ratings."""

    folder = Path(__file__).parent / 'page'
    files: ClassVar = {'': ('rate.html', 'text/html'), 'rate.css': ('rate.css', 'text/css'),
                       'rate.js': ('rate.js', 'text/javascript')}
    server: RatingServer

    def get(self, path: str) -> tuple[bytes, str]:
        """Answer a GET request; see ``PageHandler``."""
        if path == 'session':
            return json_bytes(self.server.session.overview()), 'application/json'
        folder, _, name = path.partition('/')
        if folder == 'pictures' and name.isascii() and name.isdigit() and len(name) < 9:
            try:
                return self.server.session.picture(int(name)), 'image/png'
            except KeyError as error:
                raise RefusedError(HTTPStatus.NOT_FOUND, 'no such trace') from error
            except InputError as error:
                raise RefusedError(HTTPStatus.NOT_FOUND, str(error)) from error
        return super().get(path)

    def post(self, path: str) -> tuple[bytes, str]:
        """Answer a POST request; see ``PageHandler``."""
        if path != 'rate':
            return super().post(path)
        try:
            entry = validated(_RateRequest, self.body(), 'request')
        except InputError as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from error
        try:
            reply = self.server.session.rate(entry.number, entry.score)
        except KeyError as error:
            raise RefusedError(HTTPStatus.NOT_FOUND, 'no such trace') from error
        self.server.on_rating()
        return json_bytes(reply), 'application/json'
