"""What every reader of a file from outside must do with one that is malformed; one list of them.

A reader refuses such a file with an ``InputError`` that names the file, and the field or line
where it is one of these; it never ends with another exception. A new reader is a new entry of
``READERS``: a good file, how it is read, and which of its fields it may not lack.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sightplan.domains import Domain
from sightplan.graphs.graph import load_graph
from sightplan.model import InputError, config_files
from sightplan.model.journal import read_lines
from sightplan.model.plugins import Folder
from sightplan.records import RunStore
from sightplan.records.answers_reading import read_answers
from sightplan.runs.suite_folder import read_suite
from sightplan.sweeps.cells import read_sweep
from sightplan.vlm import make_backend, recording
from sightplan_arm.camera_files import read_camera_info
from sightplan_arm.config import load_robot
from sightplan_belief.observation_model import ObservationModel, read_observation_model
from sightplan_belief.priors import read_priors
from sightplan_models._confusion import load_table
from sightplan_report.labelling.labels import read_labels
from sightplan_suites.paths.areas import read_areas
from sightplan_suites.paths.robot_bases import read_robot_base

Place = tuple[str | int, ...]
"""A field: keys and numbers that lead to it."""


@dataclass(frozen=True)
class Reader:
    """A reader, and a good file of it.

    Attributes:
        name: unique.
        file: name of the file, whose suffix tells JSON, JSON lines and YAML.
        good: content: of JSON lines a list of objects.
        read: reads the file of a path.
        needs: fields that must be there.
        wrong: fields, and a value that each refuses.
        strict: whether unknown fields are refused.
        lists: whether a list may stand in place of the whole.
        may_be_empty: whether an empty file is one without content.
        beside: other files of its folder.
    """

    name: str
    file: str
    good: Any
    read: Callable[[Path], object]
    needs: tuple[Place, ...] = ()
    wrong: tuple[tuple[Place, Any], ...] = ()
    strict: bool = True
    lists: bool = False
    may_be_empty: bool = False

    @property
    def lines(self) -> bool:
        """Whether it is a file of JSON lines."""
        return self.file.endswith('.jsonl')

    def text(self, content: Any) -> str:
        """Content as the text of its file."""
        if self.lines:
            return ''.join(json.dumps(line) + '\n' for line in content)
        return json.dumps(content) if self.file.endswith('.json') else str(
            yaml.safe_dump(content, sort_keys=False))


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def _pantry(path: Path) -> Domain:
    """The domain of the tests with this file in place of its own."""
    folder = path.parent / 'pantry'
    if not folder.exists():
        folder.mkdir()
        for one in (Path(__file__).parent / 'domains' / 'pantry').rglob('*'):
            if one.is_file():
                copied = folder / one.relative_to(Path(__file__).parent / 'domains' / 'pantry')
                copied.parent.mkdir(parents=True, exist_ok=True)
                copied.write_bytes(one.read_bytes())
    (folder / path.name).write_bytes(path.read_bytes())
    return Domain(folder)


_ANSWER = {'atom': 'clear r', 'answer': 'yes', 'p_yes': 0.9, 'p_no': 0.1, 'truth': True,
           'episode': 'a', 'problem': 'a', 'domain': 'blocksworld', 'model': 'm', 'image': '7'}
_LABEL = {'who': 'a', 'atom': 'on r,g', 'image': '1' * 12, 'label': 'yes', 'stamp_ns': 5}
_REPLY = {'kind': 'reply', 'query': 'text', 'episode': '', 'key': 'k', 'images': [],
          'content': {}, 'reply': {'text': 'that'}}
_RECORDING = {'kind': 'recording', 'format': recording.FORMAT, 'model': 'm'}
_RATE = {'p_yes_true': 0.9, 'p_yes_false': 0.1, 'n_true': 10, 'n_false': 20}

READERS = (
    Reader('calibration', 'cal.json', ObservationModel().to_json(), read_observation_model,
           wrong=((('rejection',), 0), (('rejection',), 'x'), (('other', 'yes_true'), True),
                  (('other', 'yes_true'), math.nan), (('problems',), 'x'), (('format',), 99),
                  (('answers',), -1))),
    Reader('sweep', 'a.yaml', {'base': {'split': 'simple', 'table': 'perfect'},
                               'axes': {'seed': [1, 2]}}, read_sweep,
           wrong=((('base',), [1]), (('axes',), 3))),
    Reader('graph', 'g.yaml', _yaml(config_files('graphs')['experiment']), load_graph,
           needs=(('nodes',), ('nodes', 0, 'executable')),
           wrong=((('arguments', 0, 'type'), 'real'), (('nodes',), 'x'))),
    Reader('table of rates', 't.json', {'rates': {'on': _RATE}},
           lambda path: load_table(str(path)),
           needs=(('rates',), ('rates', 'on', 'p_yes_true'), ('rates', 'on', 'p_yes_false')),
           wrong=((('rates', 'on', 'p_yes_true'), 1.9), (('rates', 'on', 'p_yes_true'), '1'),
                  (('rates', 'on', 'p_yes_true'), True), (('rates', 'on', 'n_true'), -1),
                  (('rates', 'on', 'n_false'), math.nan), (('rates', 'on'), 0.9),
                  (('rates',), {}))),
    Reader('script of replies', 's.yaml', {'replies': ['a'], 'answers': {'default': 'Yes'}},
           lambda path: make_backend('scripted', {'script': str(path)}), lists=True,
           wrong=((('replies',), 'a'), (('replies',), [None]), (('answers',), ['a']),
                  (('answers', 'default'), {'text': 'a', 'p_no': math.nan}))),
    Reader('robot', 'r.yaml', _yaml(config_files('robots')['panda']),
           lambda path: load_robot(str(path)), needs=(('arm',), ('safety',)),
           wrong=((('arm',), 3), (('safety', 'heartbeat_timeout_s'), 'x'),
                  (('safety', 'heartbeat_timeout_s'), math.nan))),
    Reader('base of a robot', 'b.yaml', {'base': {'radius_m': 0.3,
                                                  'differences': {'path_length': 2.0}}},
           lambda path: read_robot_base(str(path)), strict=False, needs=(('base',),),
           wrong=((('base', 'radius_m'), 'x'), (('base', 'radius_m'), math.nan),
                  (('base', 'differences', 'path_length'), -1.0), (('base',), 3))),
    Reader('areas', 'a.yaml', {'areas': [
        {'name': 'nursery', 'polygon': [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]]}]}, read_areas,
           needs=(('areas',), ('areas', 0, 'name'), ('areas', 0, 'polygon')),
           wrong=((('areas', 0, 'name'), 3), (('areas', 0, 'polygon'), [[0.0, 0.0]]),
                  (('areas', 0, 'polygon'), 'x'))),
    Reader('camera', 'c.yaml', {'image_width': 4, 'image_height': 3, 'camera_matrix': {
        'rows': 3, 'cols': 3, 'data': [1.0, 0, 2, 0, 1.0, 2, 0, 0, 1]}}, read_camera_info,
           strict=False),
    Reader('priors of a domain', 'priors.yaml', {'start': {'isopen': {'+': 0.5}}},
           lambda path: read_priors(_pantry(path)), may_be_empty=True,
           wrong=((('start', 'isopen', '+'), 1.5), (('start', 'isopen'), 3))),
    Reader('journal', 'j.jsonl', [{'n': 1}, {'n': 2}], lambda path: read_lines(path, strict=True),
           strict=False, may_be_empty=True),
    Reader('recording', 'r.jsonl', [_RECORDING, _REPLY], recording.read_recording, strict=False,
           needs=((0, 'kind'), (0, 'model'), (1, 'key'), (1, 'query'), (1, 'reply')),
           wrong=(((0, 'format'), 1), ((1, 'reply', 'text'), 3), ((1, 'images'), [{}]),
                  ((1, 'kind'), 'x'))),
    Reader('answers', 'a.jsonl', [_ANSWER, dict(_ANSWER)],
           read_answers, needs=((1, 'atom'), (1, 'answer')), strict=False, may_be_empty=True,
           wrong=(((1, 'truth'), 1), ((1, 'answer'), 'maybe'), ((1, 'p_yes'), 2))),
    Reader('labels', 'l.jsonl', [_LABEL, {**_LABEL, 'who': 'b'}], read_labels, strict=False,
           needs=((0, 'atom'), (1, 'image')), may_be_empty=True,
           wrong=(((1, 'label'), 'maybe'), ((0, 'stamp_ns'), 'x'))),
    Reader('description of a run', 'run.json', {'format': 3, 'identity': {}, 'sessions': []},
           lambda path: RunStore(path.parent).run_info(), strict=False,
           wrong=((('format',), 99),)),
    Reader('suite', 'suite.yaml', {'title': 'Mine', 'kind': 'samples', 'splits': ['one']},
           lambda path: read_suite(Folder.at(path.parent)),
           wrong=((('kind',), 'x'), (('splits',), 3), (('title',), 5)), needs=(('kind',),)),
)
every_reader = pytest.mark.parametrize('reader', READERS, ids=lambda one: one.name)


def refused(reader: Reader, path: Path, *words: str) -> str:
    """The message with which a file is refused: it names the file, and has these words."""
    with pytest.raises(InputError) as caught:
        reader.read(path)
    message = str(caught.value)
    assert path.name[:200] in message and all(word in message for word in words), message
    assert len(message) < 5000 and 'Traceback' not in message
    return message


def said(reader: Reader, path: Path) -> str:
    """The message with which a file is refused; '' if it is read."""
    try:
        reader.read(path)
    except InputError as error:
        return str(error)
    return ''


def written(reader: Reader, folder: Path, content: bytes | str) -> Path:
    """A file of this content."""
    path = folder / reader.file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def changed(tree: Any, place: Place, value: Any = None, *, lack: bool = False) -> Any:
    """A copy with another value at a field, or without it."""
    tree = copy.deepcopy(tree)
    at = tree
    for key in place[:-1]:
        at = at[key]
    if lack:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return tree


@every_reader
def test_a_good_file_is_read_whatever_its_line_ends_and_mark(reader: Reader, tmp_path: Path,
                                                             ) -> None:
    text = reader.text(reader.good)
    reader.read(written(reader, tmp_path, text))
    reader.read(written(reader, tmp_path, text.replace('\n', '\r\n')))


@every_reader
@pytest.mark.parametrize('what', ['missing', 'folder', 'long name'])
def test_what_is_no_file_is_refused(reader: Reader, what: str, tmp_path: Path) -> None:
    path = tmp_path / reader.file
    if what == 'folder':
        path.mkdir()
    elif what == 'long name':
        path = tmp_path / ('x' * 300 + reader.file)
    if reader.name == 'priors of a domain' or (what == 'long name' and reader.name in (
            'description of a run', 'suite')):
        pytest.skip('the file is found by its folder')
    refused(reader, path)


def malformed(reader: Reader) -> Iterator[tuple[str, bytes]]:
    """Contents that no reader may take, by what is wrong with them."""
    good = reader.text(reader.good).encode()
    if not reader.may_be_empty:
        yield 'empty', b''
    if reader.lines:
        yield from ((f'line of {bad[:5]!r}', bad + b'\n' + good) for bad in (
            b'[1]', b'3', b'"x"', b'null', b'{', b'{"a": ', b'rubbish', b'{"a": 1,}', b'[' * 9999))
        yield 'another coding', b'{"\xff\xfe": 1}\n' + good
        return
    yield 'another coding', b'\xff\xfe\xff' + good
    yield 'truncated', b'{"a": [' if reader.file.endswith('.json') else b'a: ['
    yield 'bytes of nothing', b'\0' * 64
    yield 'number', b'3'
    yield 'too deep', b'[' * 100_000
    yield 'too deep mapping', b'{"a": ' * 100_000
    if reader.file.endswith('.yaml'):
        yield 'too deep list', b'- ' * 100_000
    if not reader.lists:
        yield 'list', b'[1]'
    if not reader.may_be_empty:
        yield 'null', b'null'


@pytest.mark.parametrize(('reader', 'content'), [
    pytest.param(reader, content, id=f'{reader.name}: {what}')
    for reader in READERS for what, content in malformed(reader)])
def test_malformed_content_is_refused(reader: Reader, content: bytes, tmp_path: Path) -> None:
    message = refused(reader, written(reader, tmp_path, content))
    if reader.lines and content:
        assert f'{reader.file}:1' in message


@pytest.mark.parametrize(('reader', 'place'), [
    pytest.param(reader, place, id=f'{reader.name}: {place}')
    for reader in READERS for place in reader.needs])
def test_a_missing_field_is_named(reader: Reader, place: Place, tmp_path: Path) -> None:
    content = reader.text(changed(reader.good, place, lack=True))
    refused(reader, written(reader, tmp_path, content), *(
        (f'{reader.file}:{int(place[0]) + 1}',) if reader.lines else (str(place[-1]),)))


@pytest.mark.parametrize(('reader', 'place', 'value'), [
    pytest.param(reader, place, value, id=f'{reader.name}: {place} = {value}')
    for reader in READERS for place, value in reader.wrong])
def test_a_wrong_value_is_named(reader: Reader, place: Place, value: Any, tmp_path: Path) -> None:
    content = reader.text(changed(reader.good, place, value))
    refused(reader, written(reader, tmp_path, content), *(
        (f'{reader.file}:{int(place[0]) + 1}',) if reader.lines else (str(place[-1]),)))


@every_reader
def test_an_unknown_field_is_named(reader: Reader, tmp_path: Path) -> None:
    if not reader.strict:
        pytest.skip('what it does not know it leaves to others')
    content = reader.text({**reader.good, 'qwertz': 1})
    refused(reader, written(reader, tmp_path, content), 'qwertz')


def places(tree: Any, place: Place = ()) -> Iterator[Place]:
    """All fields of a tree, of lists the first two elements."""
    items = (tree.items() if isinstance(tree, dict) else
             enumerate(tree[:2]) if isinstance(tree, list) else ())
    for key, value in items:
        yield (*place, key)
        yield from places(value, (*place, key))


@every_reader
@pytest.mark.parametrize('value', [None, True, 'x\0\ud800', [], {}, -1, 0, 1e308, math.nan,
                                   math.inf, 10**400, [[[]]]], ids=lambda one: repr(one)[:12])
def test_any_other_value_is_taken_or_refused_by_name(reader: Reader, value: Any, tmp_path: Path,
                                                     ) -> None:
    for place in list(places(reader.good))[:15]:
        try:
            content = reader.text(changed(reader.good, place, value))
            path = written(reader, tmp_path, content)
        except (ValueError, yaml.YAMLError):
            continue  # this form has no such value
        message = said(reader, path)
        assert not message or reader.file in message, place


@every_reader
def test_a_key_that_stands_twice_in_yaml_is_refused(reader: Reader, tmp_path: Path) -> None:
    if not reader.file.endswith('.yaml'):
        pytest.skip('JSON takes the last')
    text = reader.text(reader.good)
    key = next(iter(reader.good))
    refused(reader, written(reader, tmp_path, f'{text}{key}: 1\n'), str(key))
