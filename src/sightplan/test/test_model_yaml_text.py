"""YAML that somebody hostile wrote is an error in words, wherever YAML is read."""

from __future__ import annotations

import io

import pytest
import yaml

from sightplan.model import InputError
from sightplan.model.reading import read_data
from sightplan.model.yaml_text import DEEPEST, load_first, load_yaml
from sightplan.records.bag_reading import read_metadata
from sightplan.sweeps.cells import read_sweep

HOSTILE = ('[' * 100_000, '{a: ' * 100_000, '- ' * 100_000, '? ' * 100_000, '&a [' * 50_000,
           'a:\n' + ''.join(' ' * k + '- \n' for k in range(1, 1500)))


@pytest.mark.parametrize('text', HOSTILE)
def test_too_deep_a_nesting_is_refused(text: str) -> None:
    for source in (text, text.encode(), io.StringIO(text)):
        with pytest.raises(yaml.YAMLError, match=f'more than {DEEPEST} levels deep'):
            load_yaml(source)


BOMB = 'a: &a [x, x, x, x, x, x, x, x, x]\n' + ''.join(
    f'{name}: &{name} [{", ".join([f"*{before}"] * 9)}]\n'
    for before, name in zip('abcdefgh', 'bcdefghi', strict=True))


@pytest.mark.parametrize(('text', 'said'), [
    (BOMB, 'aliases repeat more than'), ('&a [*a]', 'stands in what it stands for'),
    ('a: &a {b: *a}', 'stands in what it stands for'),
    (f'a: &a {"x" * 1000}\nb: [{", ".join(["*a"] * 200)}]', 'aliases repeat more than')])
def test_aliases_that_repeat_too_much_are_refused(text: str, said: str) -> None:
    for load in (load_yaml, load_first):
        with pytest.raises(yaml.YAMLError, match=said):
            load(text)


def test_aliases_that_people_write_are_read() -> None:
    assert load_yaml('a: &a {b: 1}\nc: {<<: *a, d: 2}\ne: [*a, *a]') == {
        'a': {'b': 1}, 'c': {'b': 1, 'd': 2}, 'e': [{'b': 1}, {'b': 1}]}


@pytest.mark.parametrize('value', [
    '2026-99-99', '!!int x', '!!timestamp x', '!!float "."', '"\\U00110000"', f'{"9" * 5000}',
    '!!python/object/apply:os.getpid []'])
def test_values_that_are_none_are_errors_of_yaml(value: str) -> None:
    for load in (load_yaml, load_first):
        with pytest.raises(yaml.YAMLError):
            load(f'a: {value}')


def test_what_people_write_is_read() -> None:
    assert load_first('a: 1\n---\nb: 2\n') == {'a': 1} and load_first('') is None
    assert load_yaml('a: [1, {b: x}]\n') == {'a': [1, {'b': 'x'}]}
    assert load_yaml('[' * DEEPEST + ']' * DEEPEST)
    assert load_yaml('') is None
    with pytest.raises(yaml.YAMLError):
        load_yaml('a: [')


@pytest.mark.parametrize('read', [read_data, read_metadata, read_sweep])
def test_files_are_refused_with_their_names(tmp_path, read) -> None:
    path = tmp_path / 'hostile.yaml'
    for text in HOSTILE:
        path.write_text(text)
        with pytest.raises(InputError, match=r'hostile\.yaml'):
            read(path)
