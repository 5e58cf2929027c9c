"""Cost of pointing: the embedded locator on one core, and the scores of a whole benchmark."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sightplan.model import Target

TARGETS = 10
ITEMS = 500
"""Number of items: as many as S1 and S2 of Point-It-Out have."""
_A_SCENE = 21  # smallest number of items of a scene


def locating(repeats: int, seed: int) -> dict[str, float]:
    """Median milliseconds of one target and of ten in a new picture of 640x480, one thread."""
    import torch

    from sightplan.model.query import ask_one
    from sightplan.queries.locate import Locate
    from sightplan.vlm.api import make_backend
    from sightplan_sim.tabletop import make_source
    scene = make_source(traces=False).scene(seed, held_out=True)
    texts = [*itertools.islice(itertools.cycle(task.text for task in scene.tasks), TARGETS)]
    backend = make_backend('embedded', {})
    found = {}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for count in (1, TARGETS):
            times = []
            for number in range(repeats + 1):  # the first one loads the network
                image = np.roll(scene.image, 8 * number + count, 1)  # encoded pictures are kept
                start = time.perf_counter()
                for text in texts[:count]:
                    ask_one(backend, Locate(image, Target(text), scene.depth_m))
                times.append(1e3 * (time.perf_counter() - start))
            found[f'locate_ms_{count}'] = round(statistics.median(times[1:]), 2)
    finally:
        torch.set_num_threads(threads)
    return found


def scoring(repeats: int, seed: int) -> dict[str, float]:
    """CPU seconds and memory of ``sightplan suite point_it_out score`` about 500 items.

    A process of its own, with its start; scenes of ours in the benchmark's format. With few
    repeats there are fewer items.
    """
    from sightplan_suites.point_it_out.samples import generate
    with tempfile.TemporaryDirectory() as folder:
        data, predictions = Path(folder) / 'data', Path(folder) / 'predictions.jsonl'
        wanted = min(ITEMS, 35 * repeats)
        written = generate(data, -(-wanted // _A_SCENE), seed)
        count = min(wanted, int(written['places']))
        predictions.write_text(''.join(json.dumps({
            'id': f's1s2/{number}', 'boxes': [[0.3, 0.3, 0.6, 0.6]],
            'coordinates': 'unit_xy'}) + '\n' for number in range(count)))
        done = subprocess.run(
            [sys.executable, '-c', _SCORE, 'suite', 'point_it_out', 'score', '--data', str(data),
             '--predictions', str(predictions), '--json'],
            capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f'the scores ended with {done.returncode}: {done.stderr[-400:]}')
    seconds, kib = map(float, done.stderr.splitlines()[-1].split())
    return {'score_items': count, 'score_cpu_s': round(seconds, 2),
            'score_mib': round(kib / 1024, 1)}


# What a process has used before it became this one does not count: so not its ru_maxrss.
_SCORE = """
import pathlib, re, sys, time
from sightplan.cli import main
code = main(sys.argv[1:])
print(time.process_time(),
      re.search('VmHWM:[^0-9]*([0-9]+)', pathlib.Path('/proc/self/status').read_text())[1],
      file=sys.stderr)
sys.exit(code)
"""
