"""Readers of suites' data: every suite's own check, its samples, and predictions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sightplan.model import InputError
from sightplan_bench.hostile.files import command
from sightplan_bench.hostile.targets import Outcome, Seed, Target, beside

_FOLDER = 'suites'
_FORMS = {'.json': 'json', '.jsonl': 'lines', '.pddl': 'pddl', '.png': 'picture', '.txt': 'text'}


def prepare(folder: Path, small: bool = False) -> None:
    """Let every suite write a little of its data; with ``small``, only the quick ones."""
    from sightplan.runs.suite_finding import suite_names
    place = folder / _FOLDER
    place.mkdir(parents=True)
    for name in _QUICK if small else suite_names():
        _SMALL.get(name, _generate)(name, place / name)
    bomb = gzip.compress(bytes(_BOMB), 9)
    (folder / 'bomb.gz').write_bytes(bomb * _BOMBS)


def _generate(name: str, out: Path) -> None:
    """Data as ``sightplan suite NAME generate`` writes them."""
    from sightplan.runs.suite_finding import load_suite
    load_suite(name).generate(out, 1, 0)


def _viplan(name: str, out: Path) -> None:
    """Problems that are shipped: drawing new ones takes seconds."""
    from sightplan.domains import load_domain
    for name in ('blocksworld', 'household'):
        domain = load_domain(name)
        for split in domain.splits[:2]:
            path = domain.problem_files(domain.split_folder(split))[0]
            (out / name / split).mkdir(parents=True)
            (out / name / split / path.name).write_bytes(path.read_bytes())


def _predicates(name: str, out: Path) -> None:
    """Make data of the predicates suite with one picture."""
    from sightplan.vlm.images import encode
    from sightplan_suites.predicates.samples import FILE, draw
    (image, rows), = draw('blocksworld', 'simple', 1, 0)
    (out / rows[0].picture).parent.mkdir(parents=True)
    (out / rows[0].picture).write_bytes(encode(image, 'png'))
    (out / FILE).write_bytes(b''.join(
        json.dumps(row.model_dump()).encode() + b'\n' for row in rows[:20]))


def _grounded_plan(name: str, out: Path) -> None:
    """Tasks of one horizon."""
    from sightplan_suites.grounded_plan.samples import make as write
    write(out, 2, 0, ('medium',))


_SMALL = {'viplan': _viplan, 'predicates': _predicates, 'grounded_plan': _grounded_plan}
_QUICK = ('ivispar', 'predicates', 'viplan')
_BOMB, _BOMBS = 64 << 20, 20
"""Number of bytes that a bomb's member unpacks to, and its number of members."""


def suites(folder: Path) -> dict[str, Path]:
    """The folders of data that ``prepare`` wrote, by suite."""
    return {path.name: path for path in sorted((folder / _FOLDER).iterdir())}


def make(folder: Path) -> list[Target]:
    """Readers of suite data, as targets."""
    return [*_checks(folder), *_samples(folder), *_predictions(folder), *_official(folder)]


def _checks(folder: Path) -> Iterator[Target]:
    for name, place in suites(folder).items():
        files = beside(place)
        for suffix, form in _FORMS.items():
            seeds = tuple(Seed(content, file, files, '') for file, content in files.items()
                          if Path(file).suffix == suffix)
            if seeds:
                yield Target(f'sightplan suite {name} check, {suffix}', 'suites', form, seeds,
                             lambda path, name=name: command(  # type: ignore[misc]
                                 'suite', name, 'check', '--data', str(path), '--json'))


def _samples(folder: Path) -> Iterator[Target]:
    """Readers of the same files as a run uses them."""
    for name, place in suites(folder).items():
        files = beside(place)
        for suffix in ('.json', '.jsonl'):
            seeds = tuple(Seed(content, file, files, '') for file, content in files.items()
                          if Path(file).suffix == suffix)
            if seeds:
                yield Target(f'samples of {name}, {suffix}', 'suites', _FORMS[suffix], seeds,
                             lambda path, name=name: _load(name, path))  # type: ignore[misc]


def _load(name: str, place: Path) -> Outcome | None:
    from sightplan.runs.samples import load_samples
    from sightplan.runs.suite_finding import load_suite
    suite = load_suite(name)
    skipped: list[str] = []
    if 'samples' in suite.kinds:
        for part in load_samples(suite, 'samples', {'data': str(place)}):
            skipped += part.skipped
            for sample in part.items[:3]:
                part.truth(sample.id)
                for one in sample.parts:
                    if not isinstance(one, str) and name != 'ivispar':
                        one.load()
    if 'episodes' in suite.kinds:
        suite.problems(place)
    '\n'.join(skipped).encode()
    return Outcome.SKIPPED if skipped else None


def _predictions(folder: Path) -> Iterator[Target]:
    from sightplan.runs.samples import load_samples, truth_reply
    from sightplan.runs.suite_finding import load_suite
    for name, place in suites(folder).items():
        suite, files = load_suite(name), beside(place)
        lines: list[list[dict[str, Any]]] = []
        if 'episodes' in suite.kinds:
            lines.append([{'id': one, 'answer': ['moveblock(r, c1)', 'move(red_cube, left)']}
                          for one in suite.problems(place)])
        if 'samples' in suite.kinds:
            lines.append([
                {'id': sample.id, 'answer': truth_reply(suite, sample, part.truth(sample.id)).text,
                 'p_yes': 0.5, 'p_no': 0.5}
                for part in load_samples(suite, 'samples', {'data': str(place)})
                for sample in part.items[:4]])
        if name == 'point_it_out':
            lines = [[{'id': 's1s2/0', 'points': [[0.5, 0.5]], 'coordinates': 'unit_xy'},
                      {'id': 's1s2/1', 'boxes': [[0.1, 0.2, 0.3, 0.4]], 'model': 'm',
                       'coordinates': 'permille_yx'},
                      {'id': 's3/0', 'trace': [[1, 2], [3, 4]], 'coordinates': 'pixel_xy'}]]
        yield Target(f'sightplan suite {name} score', 'suites', 'lines', tuple(Seed(
            b''.join(json.dumps(line).encode() + b'\n' for line in rows), 'predictions.jsonl',
            {f'data/{file}': content for file, content in files.items()})
            for rows in lines if rows), lambda path, name=name: command(  # type: ignore[misc]
                'suite', name, 'score', '--data', str(path.parent / 'data'),
                '--predictions', str(path), '--json'))


def _official(folder: Path) -> Iterator[Target]:
    """Files of the papers' own that the suites read besides."""
    from sightplan.runs.suite_finding import load_suite
    from sightplan_suites.patheval.building import read_file
    shipped = load_suite('patheval').folder / 'test.json.gz'
    data = json.loads(gzip.decompress(shipped.read_bytes()))
    small = {**data, 'pairs': data['pairs'][:3],
             'items': [item for item in data['items'] if item[0] < 3][:9]}
    small['maps'] = small['maps'][:1 + max(pair['map'] for pair in small['pairs'])]
    plain = json.dumps(small).encode()

    def packed(path: Path) -> None:
        again = path.with_suffix('.gz')
        again.write_bytes(gzip.compress(path.read_bytes(), 1))
        try:
            read_file(again)
        except InputError as error:
            raise InputError(str(error).replace(again.name, path.name)) from error

    yield Target('items of patheval', 'suites', 'json', (Seed(plain, 'test.json'),), packed)
    yield Target('items of patheval, packed', 'suites', 'bytes', (
        Seed(gzip.compress(plain), 'test.json.gz'),
        Seed((folder / 'bomb.gz').read_bytes(), 'test.json.gz')), lambda path: _ignore(
            read_file(path)))
    yield Target('info.npy of Point-It-Out', 'suites', 'bytes', tuple(
        Seed(content, 'info.npy') for content in _info()), _read_info, (InputError,))
    yield Target('sightplan suite ivispar parse', 'suites', 'lines', (Seed(_REPLIES, 'r.jsonl'),),
                 lambda path: command('suite', 'ivispar', 'parse', '--replies', str(path)))


_REPLIES = b''.join(json.dumps(row).encode() + b'\n' for row in (
    {'id': '1', 'reply': 'action: move red cube left', 'modality': '3d'},
    {'id': '2', 'reply': 'description: a1 red cube\naction: move tile 5 up 2',
     'modality': 'text'}))


def _ignore(found: object) -> None:
    """Ignore a value; it was read for its errors alone."""


def _info() -> list[bytes]:
    """Object arrays of dictionaries, as the benchmark's results are."""
    import io
    import pickle

    import numpy as np
    rows: list[Any] = [{'id': 's1s2/0', 'points': np.array([[0.1, 0.2]]), 'text': 'a',
                        'boxes': [[1, 2, 3, 4]], 'model': 'm', 'ok': True, 'n': None}] * 3
    found = []
    for protocol in (3, 4):
        file = io.BytesIO()
        array = np.empty(len(rows), object)
        array[:] = rows
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        pickle.dump(array, file, protocol)
        found.append(file.getvalue())
    return found


def _read_info(path: Path) -> None:
    from sightplan_suites.point_it_out.info_files import read_info
    read_info(path)
