"""A stop that outlasts the process: kept in a file until a person re-arms the arm."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from sightplan.model import InputError
from sightplan.model.whole_files import replacing
from sightplan_arm.gate import CAUSES, Gate, GateState

_REMEDY = ('a stop is kept there until a person re-arms the arm; set the parameter latch_file, or '
           'XDG_STATE_HOME, to a place that can be written (latch_file none: not kept)')


def default_latch_file(robot_file: Path, namespace: str) -> Path:
    """The folder where the stop of an arm is kept: below XDG_STATE_HOME, or ~/.local/state.

    Args:
        robot_file: the arm's configuration; its name stands for the arm.
        namespace: of the node that moves it.
    """
    state = os.environ.get('XDG_STATE_HOME', '')
    folder = Path(state) if os.path.isabs(state) else Path.home() / '.local' / 'state'
    within = quote(namespace.strip('/'), safe='')
    return folder / 'sightplan' / f'stopped_{robot_file.stem}{within and f"@{within}"}.json'


def latch_path(given: str, keeps: bool, robot_file: Path, namespace: str) -> Path | None:
    """The file where a stop is kept; None: it is not kept.

    Args:
        given: parameter ``latch_file``: a path, '' for the default, or none.
        keeps: whether stops are kept by default.
        robot_file: the arm's configuration.
        namespace: of the node.
    """
    if given == 'none' or (not given and not keeps):
        return None
    return Path(given).expanduser() if given else default_latch_file(robot_file, namespace)


def keep_stop(path: Path, cause: str, message: str) -> None:
    """Write the file of a stop.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, synced=True) as file:
        file.write_text(json.dumps({'cause': cause, 'message': message}) + '\n')


class Latch:
    """Keeps a file as long as a gate is stopped.

    Thread-safe. What goes wrong with the file while the arm is looked after is reported and
    changes nothing: the gate itself stays stopped. It is to be tried again.

    Attributes:
        unkept: why the file is not as it should be, with the remedy; '': it is.
    """

    def __init__(self, path: Path, report: Callable[[str], None]) -> None:
        """Make the folder.

        Args:
            path: of the file.
            report: is given what goes wrong later.

        Raises:
            InputError: no file can be written there.
        """
        self.path, self._report = path, report
        self._lock = threading.Lock()
        self._gate: Gate | None = None
        self._kept, self.unkept = False, ''
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f'{path.parent} cannot be made ({error}): {_REMEDY}') from error
        if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
            raise InputError(f'{path} cannot be written: {_REMEDY}')

    def restore(self, gate: Gate) -> None:
        """Stop a gate that begins, if the last one was stopped and not re-armed.

        A file that cannot be read stands for a stop, too.
        """
        with self._lock:
            self._gate = gate
            try:
                text = self.path.read_text()
            except FileNotFoundError:
                return
            except (OSError, UnicodeError) as error:
                cause, message = '', f'{self.path} cannot be read ({error})'
            else:
                cause, message = _read(text)
            self._kept = True
        gate.stop(cause if cause in CAUSES else 'stop_request',
                  f'stopped before this node was started: {message or "it is not known why"}')

    def follow(self) -> None:
        """Write the file if the gate is stopped now, remove it if not."""
        with self._lock:  # the gate is asked under it: whoever comes last has seen the newest
            assert self._gate is not None
            status = self._gate.status()
            stopped = status.state is GateState.STOPPED
            if stopped == self._kept:
                self.unkept = ''
                return
            try:
                if stopped:
                    keep_stop(self.path, status.cause, status.message)
                else:
                    self.path.unlink(missing_ok=True)
            except OSError as error:
                unkept = (f'the arm {"was stopped" if stopped else "was re-armed"}, but that '
                          f'cannot be kept in {self.path} ({error}): {_REMEDY}')
                if unkept != self.unkept:
                    self.unkept = unkept
                    self._report(unkept)
                return
            self._kept, self.unkept = stopped, ''


def _read(text: str) -> tuple[str, str]:
    """Cause and message; empty where there are none."""
    try:
        found = json.loads(text)
    except ValueError:
        return '', ''
    if not isinstance(found, dict):
        return '', ''
    return str(found.get('cause', '')), str(found.get('message', ''))
