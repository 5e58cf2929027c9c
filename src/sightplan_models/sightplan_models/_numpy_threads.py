"""Number of threads of numpy's matrix products.

OpenBLAS, which comes with numpy, takes all processors by default. Its threads wait for each other
by spinning: products as small as those of the shipped models then take some 20 times the
processor time on a busy machine. numpy has no function for their number.
"""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path

_SETTERS = ('scipy_openblas_set_num_threads64_', 'scipy_openblas_set_num_threads',
            'openblas_set_num_threads64_', 'openblas_set_num_threads')
"""Names of the function in the builds of OpenBLAS: numpy's own and those of distributions."""


def set_numpy_threads(count: int) -> int:
    """Set the number of threads of all copies of OpenBLAS that this process has loaded.

    Args:
        count: of threads, at least 1.

    Returns:
        number of copies; 0 where numpy was built with another library, which is left as it is.
    """
    found = 0
    for path in _loaded('openblas'):
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(path)
            setter = next((getattr(library, name) for name in _SETTERS if hasattr(library, name)),
                          None)
            if setter is not None:
                setter(ctypes.c_int(count))
                found += 1
    return found


def _loaded(name: str) -> list[str]:
    """Paths of the shared libraries of this process whose file names hold a text."""
    try:
        lines = Path('/proc/self/maps').read_text().splitlines()
    except OSError:
        return []
    paths = dict.fromkeys(line.split(maxsplit=5)[5] for line in lines if '/' in line)
    return [path for path in paths if name in path.rpartition('/')[2]]
