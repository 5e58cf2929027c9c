"""Makes the tables of three pages: ``python studies/docs_tables.py``.

``docs/models.md`` from ``docs/models.yaml``; ``performance.md`` in ``docs/`` and ``studies/`` from
``studies/data/performance/*.json``, each of which ``sightplan bench grounding --out`` wrote.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from study_document import DATA, DOCS, STUDIES, rewrite
from study_results import table

CARDS_GB = (24, 48, 80, 141)
_SPARE_GIB = 4.0
"""Context, encoded prompt and one pass of questions, beside the weights."""
_RUN = 'sightplan run --split simple --method ground'


def entries() -> list[dict[str, Any]]:
    """The list of models."""
    loaded: list[dict[str, Any]] = yaml.safe_load((DOCS / 'models.yaml').read_text())
    return loaded


def backend(entry: Mapping[str, Any]) -> str:
    """The backend that runs a model."""
    return 'openai' if entry['type'] is None or 'server' in entry else 'transformers'


def command(entry: Mapping[str, Any]) -> str:
    """The line that runs it."""
    options = {'model': entry.get('served_as', entry['run'])}
    if 'server' in entry:
        options |= {'base_url': 'http://localhost:8000/v1'}
    options |= entry.get('options', {})
    return ' '.join([_RUN, f'--backend {backend(entry)}',
                     *(f'--backend-option {key}={value}' for key, value in options.items())])


def weights_gib(entry: Mapping[str, Any]) -> float:
    """Weights in bf16: two bytes a parameter."""
    return 2e9 * float(entry['parameters']) / 2 ** 30


def fits(gib: float) -> str:
    """The smallest sufficient memory: one card, or an even number of cards of 80 GB."""
    needed_gb = (gib + _SPARE_GIB) * 2 ** 30 / 1e9
    for card in CARDS_GB:
        if needed_gb <= card:
            return f'{card} GB'
    cards = 2
    while needed_gb > 80 * cards:
        cards *= 2
    return f'{cards} x 80 GB'


def model_blocks(tested: Collection[str]) -> dict[str, str]:
    """The generated parts of models.md.

    Args:
        tested: architectures of which random-weight models pass the test of shared prefixes.
    """
    known = entries()
    local = [entry for entry in known if entry['type'] is not None]
    sizes = [[
        entry['name'], f'`{entry["run"]}`' + (' (gated)' if entry.get('gated') else ''),
        f'`{entry["type"]}`', f'{entry["parameters"]:.1f}', f'{weights_gib(entry):.0f}',
        fits(weights_gib(entry)), backend(entry),
        'architecture' if architecture(entry) in tested else 'nothing'] for entry in local]
    notes = [f'- **{entry["name"]}** (`{entry["paper"]}` in the paper): {entry["why"]}.'
             if entry['paper'] != entry['run'] else f'- **{entry["name"]}**: {entry["why"]}.'
             for entry in known if 'why' in entry]
    lines = []
    for entry in known:
        lines.append(f'# {entry["name"]}')
        if 'server' in entry:
            lines.append(entry['server'])
        lines.append(command(entry))
    return {
        'models': table(['model', 'identifier', 'type', 'parameters, 10⁹', 'weights, GiB',
                         'fits on', 'backend', 'tried here'], sizes, right=8),
        'notes': '\n'.join(notes),
        'commands': '\n'.join(['```text', *lines, '```']),
    }


def architecture(entry: Mapping[str, Any]) -> str:
    """Name of the random-weight model that stands for it in the tests."""
    return str(entry.get('tried', entry['type']))


def results() -> dict[str, dict[str, Any]]:
    """Recorded results of ``sightplan bench grounding``, by the file's name."""
    return {path.stem: json.loads(path.read_text())
            for path in sorted((DATA / 'performance').glob('*.json'), key=lambda path: path.stem)}


def performance_blocks() -> dict[str, str]:
    """The generated parts of studies/performance.md."""
    runs, times = [], []
    for name, run in results().items():
        runs.append([
            name, _where(run), f'`{run["config"]}`, {run["parameters"] / 1e9:.2f}', run['dtype'],
            run['wording'], f'{run["tokens"]["image"]} of {run["tokens"]["prefix"]}',
            f'{run["rates"]["flops_per_s"] / 1e12:.3g} / {run["rates"]["bytes_per_s"] / 1e9:.0f}',
            f'{run["versions"]["torch"]} / {run["versions"]["transformers"]}',
            f'{run["date"]}, {run["commit"][:12]}' + '+' * bool(run['dirty'])])
        times += [_line(name, run, row) for row in run['results']]
    return {
        'runs': table(['run', 'on', 'model, 10⁹ parameters', 'type', 'questions', 'image tokens',
                       'TFLOP/s / GB/s, measured', 'torch / transformers', 'date, commit'], runs,
                      right=10),
        'times': table(['run', 'questions', 'their tokens', 'plain, ms', 'ours, ms', 'floor, ms',
                        'plain / ours', 'ours / floor', 'memory plain / ours, MiB', 'largest ΔP'],
                       times, right=10)}


def speed_blocks() -> dict[str, str]:
    """The generated part of docs/performance.md: both ways, where both were measured."""
    speeds = [[
        _where(run), f'{run["parameters"] / 1e9:.2f}', run['dtype'],
        f'{row["questions"]}' + ('' if run['wording'] == 'random' else f', {run["wording"]}'),
        f'{row["plain"]["ms"] / 1000:.3g} s', f'{row["shared"]["ms"] / 1000:.2g} s',
        f'**{row["plain_over_shared"]:.1f}**']
        for run in results().values() for row in run['results'] if 'plain_over_shared' in row]
    return {'speeds': table(['on', 'parameters, 10⁹', 'type', 'questions', 'one prompt each',
                             'picture encoded once', 'times faster'], speeds, right=8)}


def _where(run: Mapping[str, Any]) -> str:
    """The device of a run."""
    device = run['device']
    if device['kind'] == 'cuda':
        return str(device['name'])
    return f'{device["name"]}, {run["threads"]} of {device["cpus"]} shared cores'


def _line(name: str, run: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    def number(value: float | None) -> str:
        return '-' if value is None else f'{value:,.0f}' if value >= 100 else f'{value:.3g}'

    plain, shared = row.get('plain', {}), row['shared']
    tokens = str(row['distinct_suffix_tokens'])
    if row['distinct_suffix_tokens'] != row['suffix_tokens']:
        tokens += f' of {row["suffix_tokens"]}'
    return [
        f'{name}, {run["mechanism"]}', str(row['questions']), tokens, number(plain.get('ms')),
        number(shared['ms']), number(row['floor']['ms']),
        '-' if 'plain_over_shared' not in row else f'**{row["plain_over_shared"]:.1f}**',
        f'{row["shared_over_floor"]:.2f}',
        f'{number(plain.get("extra_mib"))} / {number(shared["extra_mib"])}',
        '-' if 'agreement' not in row else f'{row["agreement"]["max_difference"]:.1e}']


def pages() -> dict[Path, dict[str, str]]:
    """Generated parts of each page."""
    return {DOCS / 'models.md': model_blocks(tested()),
            DOCS / 'performance.md': speed_blocks(),
            STUDIES / 'performance.md': performance_blocks()}


def tested() -> frozenset[str]:
    """Architectures of which the tests make folders as the hub has them, with random weights."""
    folder = str(DOCS.parent / 'src' / 'sightplan_models' / 'test')
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import hub_folders
    return frozenset(hub_folders.FOLDERS)


if __name__ == '__main__':
    for page, parts in pages().items():
        rewrite(page, parts)
