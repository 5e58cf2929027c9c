"""Journals: what a crash, a full disk, another process and a person's editor leave of them."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import random
import signal
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.model import InputError
from sightplan.model.journal import Journal, StorageError, parse, read_lines

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                        st.text(max_size=3), inner, max_size=3), max_leaves=6)
OBJECTS = st.dictionaries(st.text(max_size=5), JSON, max_size=4)


def data(lines):
    return [line.data for line in lines]


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / 'folder' / 'a.jsonl') as made:
        made.open()
        yield made


def test_naming_a_journal_touches_nothing(tmp_path):
    journal = Journal(tmp_path / 'b' / 'a.jsonl')
    assert journal.read() == [] and not journal.is_open and not (tmp_path / 'b').exists()
    with pytest.raises(InputError, match=r'a\.jsonl: cannot be read'):
        read_lines(journal.path)


@given(st.lists(OBJECTS, max_size=6))
def test_objects_come_back(objects):
    raw = ''.join(json.dumps(one) + '\n' for one in objects).encode()
    content = parse(raw, 'a')
    assert data(content.lines) == objects and not content.truncated and content.whole == len(raw)
    assert [line.where for line in content.lines] == [f'a:{n + 1}' for n in range(len(objects))]


def test_cut_at_200_random_places_everything_before_the_cut_is_read_and_goes_on(tmp_path):
    path, rng = tmp_path / 'a.jsonl', random.Random(1)
    objects = [{'n': n, 'text': 'ä"{}\\' * rng.randrange(9)} for n in range(20)]
    whole = ''.join(json.dumps(one) + '\n' for one in objects).encode()
    ends = [place for place, byte in enumerate(whole) if byte == 10]
    for cut in rng.choices(range(len(whole) + 1), k=200):
        path.write_bytes(whole[:cut])
        kept = sum(end <= cut for end in ends)  # an object that lacks only its line feed is whole
        assert data(Journal(path).read()) == objects[:kept]
        with Journal(path) as journal:
            journal.open()
            anew, content = journal.take_up()
            assert anew and data(content.lines) == objects[:kept]
            journal.append(*objects[kept:])
        assert path.read_bytes() == whole


@pytest.mark.parametrize('rest', [b'\0\0\0', b'\0\0\n', b'{"a": 1\0\0\0}\n', b'{"a', b'{'])
def test_what_a_crash_leaves_at_the_end_is_left_out_and_removed(journal, rest):
    journal.append({'n': 1})
    journal.close()
    with journal.path.open('ab') as file:
        file.write(rest)
    assert data(journal.read()) == [{'n': 1}]
    with pytest.raises(InputError, match=':2: is not JSON'):
        read_lines(journal.path, strict=True)
    journal.open()
    assert journal.take_up()[1].truncated == rest
    assert journal.path.read_bytes() == b'{"n": 1}\n'


@pytest.mark.parametrize(('text', 'words'), [
    ('{"n": 1}\nrubbish\n{"n": 2}\n', ':2: is not JSON .*remove the line'),
    ('{"n": 1}\n\n{"n": 2\n{"n": 3}\n', ':3: is not JSON'),
    ('{"n": 1}\n{"n": 2,}\n', ':2: is not JSON'), ('remember the milk', ':1: is not JSON'),
    ('[1]\n', ':1: is not a JSON object'), ('1', ':1: is not a JSON object'),
    ('[' * 100_000 + '\n', ':1: is not JSON')])
def test_what_no_crash_leaves_is_named_and_left_alone(tmp_path, text, words):
    path = tmp_path / 'a.jsonl'
    path.write_text(text)
    with Journal(path) as journal:
        journal.open()
        for read in (journal.read, journal.take_up, journal.take_up):
            with pytest.raises(InputError, match=r'a\.jsonl' + words):
                read()
    assert path.read_text() == text


def test_files_by_hand_are_read(tmp_path):
    path = tmp_path / 'a.jsonl'
    path.write_text('\ufeff{"n": 1}\r\n\n  \n{"n": 2}')
    assert data(read_lines(path, strict=True).lines) == [{'n': 1}, {'n': 2}]
    assert [line.where[-2:] for line in read_lines(path).lines] == [':1', ':4']
    with Journal(path) as journal:
        journal.open()
        journal.take_up()
        journal.append({'n': 3})
        with path.open('a') as by_hand:
            by_hand.write('{"n": 4}\nx\n')
        with pytest.raises(InputError, match=':7: is not JSON'):
            journal.take_up()
    assert path.read_text().endswith('{"n": 2}\n{"n": 3}\n{"n": 4}\nx\n')


def test_only_what_others_added_is_taken_up(journal):
    other = Journal(journal.path)
    other.open()
    assert journal.take_up()[0] and not journal.take_up()[1].lines
    journal.append({'n': 1})
    other.append({'n': 2})
    anew, content = other.take_up()
    assert anew and data(content.lines) == [{'n': 1}, {'n': 2}]
    anew, content = journal.take_up()
    assert not anew and [line.where[-2:] for line in content.lines] == [':2']
    os.truncate(journal.path, 0)
    other.append({'n': 3})
    anew, content = journal.take_up()
    assert anew and data(content.lines) == [{'n': 3}]
    other.close()


def test_a_lock_is_waited_for_and_follows_a_replaced_file(journal):
    other = Journal(journal.path)
    other.open()
    journal.lock()
    journal.append({'n': 1}, {'n': 2})
    with pytest.raises(InputError, match=r'a\.jsonl: another process is writing'):
        other.lock()
    journal.replace([{'n': 2}])
    with pytest.raises(InputError, match='another process'):
        other.lock(0.01)  # the new file is locked, too
    timer = threading.Timer(0.05, journal.unlock)
    timer.start()
    with other.locked():
        anew, content = other.take_up()
        assert anew and data(content.lines) == [{'n': 2}] and other.in_place
        other.append({'n': 3})
    timer.join()
    assert not journal.take_up()[0] and data(journal.read()) == [{'n': 2}, {'n': 3}]
    os.remove(journal.path)
    assert not journal.in_place
    other.close()


def test_a_file_that_took_the_place_of_another_is_read_from_its_start(journal):
    journal.append({'n': 1})
    with Journal(journal.path) as other:
        other.open()
        with other.locked():
            other.replace([{'n': 2}, {'n': 3}])
    with journal.locked():
        anew, content = journal.take_up()
    assert anew and data(content.lines) == [{'n': 2}, {'n': 3}]


def test_nothing_is_left_of_lines_that_do_not_fit(journal, monkeypatch):
    journal.append({'n': 1})
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, 'write', lambda file, content: write(file, content[:7]))
        with pytest.raises(StorageError, match='No space left.*make room'):
            journal.append({'n': 2}, {'n': 3})
        with pytest.raises(StorageError, match='No space left'):
            journal.replace([{'n': 2}])

    def broken(file):
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    with monkeypatch.context() as patched:
        patched.setattr(os, 'fsync', broken)
        with pytest.raises(StorageError):
            journal.append({'n': 2})
    with pytest.raises(ValueError, match='JSON compliant'):
        journal.append({'n': 2}, {'n': float('nan')})
    assert data(journal.read()) == [{'n': 1}]
    assert [file.name for file in journal.path.parent.iterdir()] == ['a.jsonl']
    journal.append({'n': 4})
    assert data(journal.read()) == [{'n': 1}, {'n': 4}]


def test_a_full_disk_leaves_whole_lines(journal):
    def write():
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            for n in range(100):
                journal.append({'n': n, 'text': 'x' * 30})
        except StorageError:
            os._exit(3)
    child = multiprocessing.get_context('fork').Process(target=write)
    child.start()
    child.join()
    assert child.exitcode == 3
    lines = data(journal.read())
    assert 15 < len(lines) < 25 and [line['n'] for line in lines] == list(range(len(lines)))
    assert journal.path.read_bytes().endswith(b'}\n')


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=60) | st.lists(OBJECTS.map(json.dumps) | st.text(max_size=9),
                                         max_size=4).map(lambda lines: '\n'.join(lines).encode()))
def test_any_bytes_are_read_or_refused(raw):
    try:
        content = parse(raw, 'a')
    except InputError:
        return
    assert raw.endswith(content.truncated) and content.whole + len(content.truncated) == len(raw)
    for line in content.lines:
        assert parse(raw[:line.end], 'a').lines[-1] == line
