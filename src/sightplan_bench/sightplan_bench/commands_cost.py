"""Time of commands that a person waits for: ``sightplan ask`` and ``sightplan explain``.

Each is a process of its own, as a person starts it. Beside the time on the clock stands the
processor time of the process and its children, which other work on the machine changes less.
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sightplan.domains import load_domain
from sightplan.model import EpisodeSpec
from sightplan.records.failure_picture import encode_png
from sightplan.runs import RunSettings, make_world, run

QUESTION = 'Is the red block on top of the green block?'


def measure(repeats: int, seed: int) -> dict[str, Any]:
    """Medians of the times of some commands [s].

    Args:
        repeats: number of processes of each command.
        seed: of the picture and of the episode.

    Returns:
        by command: ``..._s`` on the clock, ``..._cpu_s`` of processor time. ``ask`` is one
        question to the shipped model; ``explain`` is of one episode of ``belief`` on the hard
        split.
    """
    with tempfile.TemporaryDirectory() as folder:
        picture, out = Path(folder) / 'picture.png', Path(folder) / 'run'
        world: Any = make_world('blocksworld')
        problem = load_domain('blocksworld').split_problems('simple')[0]
        world.reset(EpisodeSpec('bench', problem, 'random', seed=seed))
        picture.write_bytes(encode_png(world.observe().image))
        with contextlib.redirect_stderr(io.StringIO()):
            run(RunSettings(domain='blocksworld', split='hard', method='belief', episodes=1,
                            backend='noisy_oracle', seed=seed, bags='all', out=str(out)))
        found: dict[str, Any] = {}
        for name, arguments in (('ask', (str(picture), '--question', QUESTION)),
                                ('explain', (str(out),))):
            times = [_times((name, *arguments)) for _ in range(repeats)]
            found[f'{name}_s'] = round(statistics.median(wall for wall, _ in times), 2)
            found[f'{name}_cpu_s'] = round(statistics.median(cpu for _, cpu in times), 2)
        return found


def _times(arguments: Sequence[str]) -> tuple[float, float]:
    """Time on the clock and processor time of a command [s]."""
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, '-P', '-m', 'sightplan', *arguments],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read().decode(errors='replace')
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f'sightplan {" ".join(arguments)}: {said.strip()[-400:]}')
    return time.perf_counter() - start, used.ru_utime + used.ru_stime
