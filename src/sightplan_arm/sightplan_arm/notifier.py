"""Notifies listeners of a safety gate from a thread of its own; the gate never waits for them."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from sightplan_arm.gate_status import GateStatus, PlannedMotion

log = logging.getLogger(__name__)

_PLANS = 256  # planned motions that wait for a slow listener; older ones are dropped


@dataclass
class _Listener:
    """A listener to the gate's status, and the last status that it was sent."""

    call: Callable[[GateStatus], None]
    heard: GateStatus | None = None


class Notifier:
    """Calls listeners one after another, in one thread that begins with the first of them.

    Of the status each hears the newest alone; planned motions come one by one.
    """

    def __init__(self, status: Callable[[], GateStatus]) -> None:
        self._status = status
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._listeners: list[_Listener] = []
        self._plan_listeners: list[Callable[[PlannedMotion], None]] = []
        self._plans: deque[PlannedMotion] = deque(maxlen=_PLANS)
        self._thread: threading.Thread | None = None
        self._closed = False

    def on_status(self, listener: Callable[[GateStatus], None]) -> None:
        """Call a function with the status now, and whenever it changes."""
        with self._lock:
            self._listeners.append(_Listener(listener))
        self._begin()

    def on_plan(self, listener: Callable[[PlannedMotion], None]) -> None:
        """Call a function with each planned motion."""
        with self._lock:
            self._plan_listeners.append(listener)
        self._begin()

    def wants_plans(self) -> bool:
        """Whether any function listens to planned motions."""
        return bool(self._plan_listeners)

    def plan(self, motion: PlannedMotion) -> None:
        """Queue a planned motion for the listeners. Does not wait."""
        self._plans.append(motion)
        self.wake()

    def wake(self) -> None:
        """Make the thread check for changes. Does not wait, and takes no lock."""
        self._event.set()

    def close(self) -> None:
        """End the thread after its present notification, unless a listener hangs."""
        self._closed = True
        self.wake()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(1.0)

    def _begin(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name='listeners of the gate',
                                                daemon=True)
                self._thread.start()
        self.wake()

    def _run(self) -> None:
        while True:
            self._event.wait()
            self._event.clear()
            closing = self._closed
            try:
                self._tell()
            except Exception:
                log.exception('the status of the safety gate cannot be told')
            if closing:
                return

    def _tell(self) -> None:
        with self._lock:
            listeners, plan_listeners = self._listeners[:], self._plan_listeners[:]
        while self._plans:
            motion = self._plans.popleft()
            for listener in plan_listeners:
                _call(listener, motion)
        for hearer in listeners:
            status = self._status()
            if status != hearer.heard:
                hearer.heard = status
                _call(hearer.call, status)


def _call(listener: Callable[..., None], argument: object) -> None:
    """Call a listener; its failure must not disturb the others."""
    try:
        listener(argument)
    except Exception:
        log.exception('a listener of the safety gate failed')
