"""A sweep whose workers share one ``sightplan serve``: the same results, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip('torch')
pytest.importorskip('uvicorn')

_SWEEP = """\
base: {domain: blocksworld, backend: embedded, method: ground, split: simple, episodes: 8}
axes: {failure_probability: [0.1]}
"""
_PROGRAM = 'import sys; from sightplan.cli import main; sys.exit(main())'
_LONGEST_S = 500.0


def children(parent: int) -> Iterator[tuple[int, bytes]]:
    """Ids and command lines of the processes that a process started."""
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            status = (folder / 'stat').read_text().rpartition(')')[2].split()
            if int(status[1]) == parent and status[0] != 'Z':
                yield int(folder.name), (folder / 'cmdline').read_bytes()
        except OSError:
            continue


def wait_for(found: Callable[[], object], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + _LONGEST_S
    while not found():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)


def sweep(file: Path, out: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, '-c', _PROGRAM, 'sweep', str(file), '--out', str(out),
                             '--json', *arguments], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_four_workers_on_one_server_lose_nothing_when_one_and_the_server_are_killed(
        tmp_path: Path) -> None:
    file = tmp_path / 'shared.yaml'
    file.write_text(_SWEEP)
    alone = sweep(file, tmp_path / 'alone', '--jobs', '1', '--serve', 'off')
    said = alone.communicate(timeout=_LONGEST_S)[0]
    assert alone.returncode == 0
    shared = sweep(file, tmp_path / 'shared', '--jobs', '4', '--serve', 'on', '--retries', '5')
    servers: list[int] = []
    try:
        def lines() -> int:
            return sum(path.read_bytes().count(b'\n')
                       for path in (tmp_path / 'shared').glob('*/episodes.jsonl'))

        def running(word: bytes) -> list[int]:
            return [pid for pid, command in children(shared.pid) if word in command]

        wait_for(lambda: lines() >= 1, shared)
        servers += running(b'--until-eof')
        assert len(servers) == 1
        os.kill(running(b'spawn_main')[0], signal.SIGKILL)
        os.kill(servers[0], signal.SIGKILL)
        wait_for(lambda: set(running(b'--until-eof')) - set(servers) or lines() >= 8, shared)
        servers += running(b'--until-eof')
        told = json.loads(shared.communicate(timeout=_LONGEST_S)[0].splitlines()[-1])
    finally:
        if shared.poll() is None:
            shared.kill()
            shared.wait()
    assert (shared.returncode, told['done'], told['duplicates']) == (0, 8, 0)
    assert told['metrics_sha256'] == json.loads(said.splitlines()[-1])['metrics_sha256']
    assert not any(Path(f'/proc/{pid}').exists() for pid in servers)
