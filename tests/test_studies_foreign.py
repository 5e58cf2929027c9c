"""The pictures that embedded networks were not made for, and what the study found."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / 'studies'))

import foreign_pictures  # noqa: E402
import foreign_study  # noqa: E402
from foreign_renders import RENDERERS  # noqa: E402


def test_no_package_is_in_two_splits() -> None:
    rows = json.loads(foreign_pictures.LISTED.read_text())
    splits: dict[str, set[str]] = {}
    for row in rows:
        splits.setdefault(row['package'], set()).add(row['split'])
    assert all(len(found) == 1 for found in splits.values())
    assert len({row['sha256'] for row in rows}) == len(rows)


def test_what_was_asked_is_about_pictures_kept_for_the_test_and_no_place_is_sure() -> None:
    kept = {row['sha256'][:12] for row in json.loads(foreign_pictures.LISTED.read_text())
            if row['split'] == 'test'}
    rows = json.loads(foreign_study.ASKED.read_text())['pictures']
    for row in rows:
        folder, name = row['picture'].split('/')
        assert (Path(name).stem in kept if folder == 'packages'
                else RENDERERS[folder].split == 'test')
    for sort in ('photo', 'render'):
        assert sum(row['sort'] == sort for row in rows) >= 60
    asked = [one for row in rows for one in row['requests']]
    assert len(asked) >= 300 and sum(one['sure'] for one in asked) <= 0.05 * len(asked)
    assert not any(one['sure'] and one['answer'] == 'here' for one in asked)
    assert foreign_study.table() in (ROOT / 'studies' / 'foreign.md').read_text()


def test_listed_pictures_are_found_in_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    file = io.BytesIO()
    Image.fromarray(np.zeros((20, 30, 3), np.uint8)).save(file, 'png')
    (tmp_path / 'archives').mkdir()
    with zipfile.ZipFile(tmp_path / 'archives' / 'pack.whl', 'w') as archive:
        archive.writestr('pack/black.png', file.getvalue())
    listed = [{'package': 'pack', 'version': '1', 'file': name, 'split': 'fit', 'sort': 'photo',
               'sha256': hashlib.sha256(data).hexdigest()}
              for name, data in (('black.png', file.getvalue()), ('gone.png', b''))]
    (tmp_path / 'list.json').write_text(json.dumps(listed))
    monkeypatch.setattr(foreign_pictures, 'LISTED', tmp_path / 'list.json')
    assert foreign_pictures.main(['collect', str(tmp_path / 'archives'), '--out',
                                  str(tmp_path / 'out')]) == 0
    row, = json.loads((tmp_path / 'out' / 'pictures.json').read_text())
    assert (tmp_path / 'out' / row['path']).exists() and row['source'] == 'pack'
    assert 'missing: pack 1: gone.png' in capsys.readouterr().err


@pytest.mark.parametrize('name', RENDERERS)
def test_each_way_of_drawing_draws(name: str) -> None:
    image = next(iter(RENDERERS[name].draw(1, 5)))
    assert image.ndim == 3 and image.shape[2] == 3 and image.dtype == np.uint8
    assert min(image.shape[:2]) >= 240
