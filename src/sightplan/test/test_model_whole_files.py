"""Files that are replaced as a whole."""

import os
import stat

import pytest

from sightplan.model.whole_files import replacing


@pytest.mark.parametrize('synced', [False, True])
def test_a_file_takes_its_place_when_it_is_whole(tmp_path, synced):
    path = tmp_path / 'a.txt'
    path.write_text('old')
    with replacing(path, synced) as temporary:
        temporary.write_text('new')
        assert path.read_text() == 'old' and temporary.parent == tmp_path
    assert path.read_text() == 'new' and os.listdir(tmp_path) == ['a.txt']
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / 'a.txt'
    path.write_text('old')

    def write():
        with replacing(path) as temporary:
            temporary.write_text('ne')
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        write()
    assert path.read_text() == 'old' and os.listdir(tmp_path) == ['a.txt']


def test_an_error_names_the_file_and_not_the_one_beside_it(tmp_path):
    (tmp_path / 'folder').mkdir()
    for path, kind in ((tmp_path / 'folder', IsADirectoryError),
                       (tmp_path / 'none' / 'a.txt', FileNotFoundError)):
        with pytest.raises(kind) as caught, replacing(path) as temporary:
            temporary.write_text('new')
        assert caught.value.filename == str(path) and str(caught.value).endswith(f": '{path}'")
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / 'a.txt'):
        (tmp_path / 'another').read_text()
    assert caught.value.filename == str(tmp_path / 'another')
    assert os.listdir(tmp_path) == ['folder']


def test_content_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    path, seen = tmp_path / 'a.txt', []
    monkeypatch.setattr(os, 'fsync', lambda handle: seen.append(path.exists()))
    with replacing(path, synced=True) as temporary:
        temporary.write_text('new')
    assert seen == [False, True]  # the file, then its folder
