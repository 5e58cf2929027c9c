"""Live pictures from a process of their own: PyBullet keeps the interpreter while it renders.

The parent sends where everything is (``Poses``), the child draws, and the pixels come back through
shared memory. If the child dies, nothing else does: there are no pictures any more.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import pickle
import re
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.ctypeslib import as_array
from numpy.typing import NDArray

from sightplan.model import WorldError
from sightplan_sim.arm.simulator import Poses
from sightplan_sim.closing import Closing

_FLAGS = 6  # place in /proc/PID/stat, after the name
_PF_EXITING = 4


class Drawer(Protocol):
    """Renderer of a camera process; a function that can be pickled makes it in the child."""

    def draw(self, poses: Poses, decor: Any) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Colours (H, W, 3) and depth (H, W) [m] of a scene."""


@dataclass(frozen=True, eq=False)
class LivePicture:
    """A picture from the camera process.

    Attributes:
        stamp_s: of the poses that it shows, on the arm's clock.
        rgb: (H, W, 3) uint8.
        depth_m: (H, W) float32, metres along the optical axis; 0 where unknown.
    """

    stamp_s: float
    rgb: NDArray[np.uint8]
    depth_m: NDArray[np.float32]


class CameraProcess(Closing):
    """A child process that draws one picture at a time.

        live = world.camera_process()
        ...                                    # again and again, for example in a timer
        picture = live.take()                  # None: not ready yet, or the child is dead
        live.request(world.arm.poses(), world.camera.decor)

    Args:
        make: makes the drawer, in the child; it must be possible to pickle it.
        width, height: size of its pictures [px].

    All methods return at once, but for ``wait`` and ``close``, and may be called by several
    threads.
    """

    def __init__(self, make: Callable[[], Drawer], width: int, height: int) -> None:
        context = multiprocessing.get_context('spawn')
        self._rgb = context.RawArray(ctypes.c_uint8, height * width * 3)
        self._depth = context.RawArray(ctypes.c_float, height * width)
        self._shape = (height, width)
        self._lock = threading.RLock()
        self._busy = False
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(make, theirs, self._rgb, self._depth, self._shape),
            name='simulated camera', daemon=True)
        self._process.start()
        theirs.close()  # so that only the child holds that end of the pipe open

    @property
    def pid(self) -> int:
        """Process id of the child; 0 before it has started."""
        return int(self._process.pid or 0)

    @property
    def alive(self) -> bool:
        """Whether the child runs; one that was killed does not, though it takes time to end."""
        return self._process.is_alive() and not _is_ending(self._process.pid)

    def request(self, poses: Poses, decor: Any) -> bool:
        """Order a picture of the scene from the child.

        Returns:
            Whether the child took the order: not while it is busy, not if it is dead.
        """
        with self._lock:
            if self._busy or not self.alive:
                return False
            try:
                self._pipe.send((poses, decor))
            except OSError:
                return False
            self._busy = True
            return True

    def take(self) -> LivePicture | None:
        """The picture that was requested; None if it is not ready, or the child is dead.

        Raises:
            WorldError: the child could not draw it; says why.
        """
        return self.wait(0.0)

    def wait(self, timeout_s: float) -> LivePicture | None:
        """Wait up to ``timeout_s`` for the ordered picture; None if it does not come.

        Raises:
            WorldError: the child could not draw it; says why.
        """
        with self._lock:
            if not self._busy:
                return None
            try:
                if not self._pipe.poll(timeout_s):
                    return None
                reply = self._pipe.recv()
            except (OSError, EOFError):
                return None  # dead; busy for ever
            self._busy = False
            if isinstance(reply, str):
                raise WorldError(f'the camera process drew no picture: {reply}')
            rgb = as_array(self._rgb).reshape(*self._shape, 3).copy()
            depth = as_array(self._depth).reshape(self._shape).copy()
            return LivePicture(float(reply), rgb, depth)

    def close(self) -> None:
        """End the child process, by force if it does not end within two seconds."""
        with self._lock:
            self._pipe.close()
            self._busy = True
        self._process.join(2.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(5.0)


def _is_ending(pid: int | None) -> bool:
    """Whether a process was killed (or exits), and has yet to give its memory back."""
    try:
        flags = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[_FLAGS]
        status = Path(f'/proc/{pid}/status').read_text()
    except OSError:  # it is gone; or there is no /proc, and nobody knows
        return False
    pending = re.search(r'^ShdPnd:\s*([0-9a-f]+)$', status, re.MULTILINE)
    killed = pending is not None and int(pending[1], 16) >> (signal.SIGKILL - 1) & 1
    return bool(killed or int(flags) & _PF_EXITING)


def _serve(make: Callable[[], Drawer], pipe: Connection, rgb: Any, depth: Any,
           shape: tuple[int, int]) -> None:
    """Draw the pictures that are ordered, until the parent closes the pipe or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    colours = as_array(rgb).reshape(*shape, 3)
    metres = as_array(depth).reshape(shape)
    drawer = make()
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            poses, decor = pipe.recv()
            try:
                colours[:], metres[:] = drawer.draw(poses, decor)
            except Exception as error:
                pipe.send(f'{type(error).__name__}: {error}')
                continue
            pipe.send(poses.stamp_s)
