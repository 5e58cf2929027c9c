"""The state that a node reports on ``/diagnostics``: a level, a message, and values."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from sightplan.records.messages import text


class Level(IntEnum):
    """Severity of a status; values as in DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2


@dataclass
class Diagnosis:
    """Findings about a node, the worst of which is its level, and values.

    A node with something of its own to say has a method ``diagnose(diagnosis)`` that adds to it.
    It is called from a thread beside the executor, once a second: it reads, takes no lock that
    others hold for long, and asks nobody.
    """

    level: Level = Level.OK
    words: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)

    def warn(self, words: str) -> None:
        """Add a warning about something that may become an error."""
        self._find(Level.WARN, words)

    def error(self, words: str) -> None:
        """Add an error."""
        self._find(Level.ERROR, words)

    def note(self, **values: Any) -> None:
        """Add values by name; numbers are rounded, and what is None or never came is a dash."""
        self.values.update({name: _shown(value) for name, value in values.items()})

    def distrust(self, joints: Sequence[str]) -> None:
        """Name the joints whose reported velocities do not fit their positions, if there are any.

        Args:
            joints: their names, as ``CheckedArm.distrusted`` gives them.
        """
        if joints:
            self.warn(f'the velocities that the driver reports of {", ".join(joints)} do not fit '
                      'the positions, which are relied on: see to the driver')

    def status(self, name: str) -> DiagnosticStatus:
        """The diagnosis as a message; ``name`` is the node's, with its namespace."""
        return DiagnosticStatus(
            level=bytes([self.level]), name=text(name),
            message=text('; '.join(self.words) or 'OK'),
            values=[KeyValue(key=text(key), value=text(value))
                    for key, value in self.values.items()])

    def _find(self, level: Level, words: str) -> None:
        self.level = max(self.level, level)
        self.words.append(words)


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return '-'
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, float):
        return f'{value:.3g}'
    if isinstance(value, Mapping):
        return ', '.join(f'{key} {_shown(one)}' for key, one in value.items()) or '-'
    if isinstance(value, (list, tuple, set, frozenset)):
        return ', '.join(sorted(map(str, value))) or '-'
    return str(value) or '-'


class LastError:
    """The error that a process met last: one process is one node."""

    def __init__(self) -> None:
        """Begin without an error."""
        self._last: tuple[float, str] | None = None
        self.count = 0

    def note(self, words: str) -> None:
        """Record an error that happened just now."""
        self._last = time.monotonic(), words
        self.count += 1

    def add_to(self, diagnosis: Diagnosis) -> None:
        """Add the last error and its time to a diagnosis."""
        last = self._last
        if last is not None:
            diagnosis.note(errors=self.count, last_error=last[1],
                           last_error_s_ago=time.monotonic() - last[0])


LAST_ERROR = LastError()
"""The last error of this process; ``failures`` records each that a node replies or logs."""
