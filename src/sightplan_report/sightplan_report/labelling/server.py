"""The local web server of the labelling page."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import ClassVar

from sightplan.model import InputError
from sightplan.model.reading import Record, validated
from sightplan_report.labelling.labels import ValueField
from sightplan_report.labelling.local_page import (
    LocalServer,
    PageHandler,
    RefusedError,
    json_bytes,
)
from sightplan_report.labelling.session import LabellingSession


class _LabelRequest(Record):
    """Request of the page to save a label."""

    image: str
    atom: str
    label: ValueField


class LabelServer(LocalServer):
    """Serves one labelling session; see ``LocalServer``."""

    def __init__(self, session: LabellingSession, port: int = 0,
                 on_label: Callable[[], None] = lambda: None) -> None:
        """Open the port; ``serve_forever`` answers requests.

        Args:
            session: what is served.
            port: 0 for any free one.
            on_label: called after each label that was saved.

        Raises:
            InputError: the port cannot be used.
        """
        self.session = session
        self.on_label = on_label
        super().__init__(_Handler, 'sightplan label', port)


class _Handler(PageHandler):
    """Serves the page, the session and pictures, and takes labels."""

    folder = Path(__file__).parent / 'page'
    files: ClassVar = {'': ('label.html', 'text/html'), 'label.css': ('label.css', 'text/css'),
                       'label.js': ('label.js', 'text/javascript')}
    server: LabelServer

    def get(self, path: str) -> tuple[bytes, str]:
        """Answer a GET request; see ``PageHandler``."""
        if path == 'session':
            return json_bytes(self.server.session.overview()), 'application/json'
        folder, _, name = path.partition('/')
        if folder == 'pictures':
            try:
                return self.server.session.picture(name), 'image/png'
            except KeyError as error:
                raise RefusedError(HTTPStatus.NOT_FOUND, 'no such picture') from error
            except InputError as error:
                raise RefusedError(HTTPStatus.NOT_FOUND, str(error)) from error
        return super().get(path)

    def post(self, path: str) -> tuple[bytes, str]:
        """Answer a POST request; see ``PageHandler``."""
        if path != 'label':
            return super().post(path)
        try:
            entry = validated(_LabelRequest, self.body(), 'request')
        except InputError as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from error
        try:
            reply = self.server.session.label(entry.image, entry.atom, entry.label)
        except KeyError as error:
            raise RefusedError(HTTPStatus.NOT_FOUND, 'this is not to be labelled') from error
        self.server.on_label()
        return json_bytes(reply), 'application/json'
