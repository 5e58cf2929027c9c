"""Start of the ``sightplan`` command: while it loads, Ctrl-C ends it without a traceback."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Load the command line, and run it; exit codes as of ``sightplan.cli.main``."""
    heeded = signal.getsignal(signal.SIGINT)
    if heeded is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from sightplan.cli import run
    return run(before=lambda: signal.signal(signal.SIGINT, heeded))


if __name__ == '__main__':
    sys.exit(main())
