"""Counts what a ViPlan episode asks a model, for the estimates of sweeps: ``effort.json``.

Use::

    python studies/viplan_effort.py --out src/sightplan_suites/sightplan_suites/viplan/effort.json

Runs the grounding methods with the published error rates of each model (``noisy_oracle``, no
pictures), some problems of each split, and counts questions and the memory put before them. An
answer takes no part in how many are asked except by being right or wrong, so that ``ground`` and
``ground_mem`` ask equally many here. Rows that the file has already are kept.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from sightplan.model import Asked, EpisodeEnded, EpisodeEvent
from sightplan.runs import RunSettings, run
from sightplan.runs.suite_finding import load_suite

METHODS = {'ground': 'ground_mem', 'ground_cot': 'ground_mem_cot'}
"""Methods by how they ask, and the variant of each that runs."""
WITH_MEMORY = {variant: method for method, variant in METHODS.items()}
SPLITS = 'simple', 'medium', 'hard'
FEW = 'perfect', 'InternVL3-78B', 'gemma-3-27b-it'
"""Models of the rows under the paper's protocol, which has another navigation in household."""
MODELS = (
    'perfect', 'InternVL3-78B', 'InternVL3-8B', 'Mistral-Small-3.1-24B-Instruct-2503',
    'Molmo-7B-D-0924', 'Phi-4-multimodal-instruct', 'Qwen2.5-VL-72B-Instruct',
    'Qwen2.5-VL-7B-Instruct', 'aya-vision-32b', 'aya-vision-8b', 'deepseek-vl2',
    'gemma-3-12b-it', 'gemma-3-27b-it', 'gpt-4.1', 'gpt-4.1-nano',
    'llava-onevision-qwen2-72b-ov-hf', 'llava-onevision-qwen2-7b-ov-hf')


class Counter:
    """Recorder that counts, for each episode, its questions and the characters of memory."""

    def __init__(self) -> None:
        self.episodes: list[tuple[int, int]] = []
        self._questions = self._memory = 0

    def record(self, event: EpisodeEvent) -> None:
        """Contract in ``Recorder``."""
        if isinstance(event, Asked):
            self._questions += len(event.queries)
            self._memory += len(event.queries) * len(event.memory)
        elif isinstance(event, EpisodeEnded):
            self.episodes.append((self._questions, self._memory))
            self._questions = self._memory = 0


def cells() -> Iterator[tuple[str, str, str, str, str]]:
    """Protocol, domain, split, method and model of all rows."""
    yield from itertools.product(('ours',), load_suite('viplan').domains, SPLITS, METHODS, MODELS)
    yield from itertools.product(('paper',), ('household',), SPLITS, METHODS, FEW)


def measure(protocol: str, domain: str, split: str, method: str, model: str, episodes: int,
            ) -> dict[str, Any]:
    """Return one row of ``effort.json``."""
    counter = Counter()
    with tempfile.TemporaryDirectory() as folder:
        run(RunSettings(
            protocol=protocol, domain=domain, split=split, method=METHODS[method],
            backend='noisy_oracle', backend_options={'table': model},
            world_options={'pictures': 'none'}, failure_images=False, episodes=episodes,
            out=f'{folder}/run'), recorders=(counter,))
    questions = [count for count, _ in counter.episodes]
    return {'protocol': protocol, 'domain': domain, 'split': split, 'method': method,
            'model': model, 'n': len(questions), 'questions': round(fmean(questions), 1),
            'sd': round(stdev(questions), 1),
            'memory': round(sum(memory for _, memory in counter.episodes)
                            / max(1, sum(questions)), 1)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--out', type=Path, required=True, help='file to write')
    parser.add_argument('--episodes', type=int, default=10, help='episodes of each row')
    chosen = parser.parse_args(arguments)
    rows = json.loads(chosen.out.read_text())['rows'] if chosen.out.is_file() else []
    there = {(row['protocol'], row['domain'], row['split'], row['method'], row['model'])
             for row in rows}
    for cell in cells():
        if cell not in there:
            rows.append(measure(*cell, chosen.episodes))
            lines = ',\n  '.join(json.dumps(row) for row in rows)
            chosen.out.write_text(f'{{"about": "{ABOUT}",\n'
                                  f' "with_memory": {json.dumps(WITH_MEMORY)},\n'
                                  f' "rows": [\n  {lines}\n ]}}\n')


ABOUT = ('What an episode asks a model, measured by studies/viplan_effort.py with the published '
         'error rates of each model (n problems a row, seed 0), by protocol. questions: mean '
         'number of yes/no questions, sd: its deviation between episodes, memory: mean '
         'characters that the variants with memory put before a question.')


if __name__ == '__main__':
    main()
