"""YAML that somebody hostile wrote is an error in words, wherever YAML is read."""

from __future__ import annotations

import io

import pytest
import yaml

from sightplan.model import InputError
from sightplan.model.reading import read_data
from sightplan.model.yaml_text import (
    DEEPEST,
    MOST_VALUES,
    compose_yaml,
    load_first,
    load_yaml,
)
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


@pytest.mark.parametrize(('text', 'said'), [
    ('axes: 1\nbase: 2\naxes: 3\n', "^line 3: the key 'axes' stands twice .* first in line 1;"),
    ('a:\n- {"b": 1,\n   b: 2}\n', "^line 3: the key 'b' stands twice"),
    ('1: a\n0x1: b\n', "line 2: the key '0x1' stands twice .* first in line 1"),
    ('on: 1\ntrue: 2\n', "the key 'true' stands twice"),
    ('=: 1\n=: 2', "the key '=' stands twice"),
    ('a: &a {b: 1, b: 2}\nc: {<<: *a}', "line 1: the key 'b' stands twice"),
    ('x: &x {k: 1}\nc: {<<: *x, k: 2, k: 3}', "line 2: the key 'k' stands twice")])
def test_a_key_that_stands_twice_is_refused(text: str, said: str) -> None:
    for load in (load_yaml, load_first):
        with pytest.raises(yaml.YAMLError, match=said):
            load(text)


@pytest.mark.parametrize(('text', 'data'), [
    ('- {a: 1}\n- {a: 1}', [{'a': 1}, {'a': 1}]), ('on: 1\n"on": 2', {True: 1, 'on': 2}),
    ('=: 1', {'=': 1}), ('a: {<<: {b: 1}, <<: {c: 1}}', {'a': {'b': 1, 'c': 1}}),
    # Merging puts keys among a mapping's own, here before it is read itself.
    ('x: {y: {a: &a {<<: &b {k: 1}, k: 2}}}\nc: {<<: *a, k: 3}\nd: {<<: [*a, *b]}',
     {'x': {'y': {'a': {'k': 2}}}, 'c': {'k': 3}, 'd': {'k': 2}})])
def test_keys_that_do_not_stand_twice_are_read(text: str, data: object) -> None:
    assert load_yaml(text) == load_first(text) == data


@pytest.mark.parametrize('value', [
    '2026-99-99', '!!int x', '!!timestamp x', '!!float "."', '"\\U00110000"', f'{"9" * 5000}',
    '!!python/object/apply:os.getpid []'])
def test_values_that_are_none_are_errors_of_yaml(value: str) -> None:
    for load in (load_yaml, load_first):
        with pytest.raises(yaml.YAMLError):
            load(f'a: {value}')


def test_nodes_are_composed_or_the_text_is_no_yaml() -> None:
    node = compose_yaml('a: on\nb: 2\n')
    assert isinstance(node, yaml.MappingNode)
    assert [key.start_mark.line for key, _ in node.value] == [0, 1]
    assert compose_yaml('') is None
    for text in ('a: "\\U00110000"', 'a: [', '[' * 1000):
        with pytest.raises(yaml.YAMLError):
            compose_yaml(text)


@pytest.mark.parametrize('value', [
    '9' * 101, f'-{"9" * 400}', f'0x{"f" * 400}', f'!!int "{"1" * 101}"', f'! {"1" * 101}',
    '59:' * 200 + '59', f'0b{"1" * 2000}'])
def test_integers_that_no_float_can_hold_are_refused(value: str) -> None:
    for load in (load_yaml, load_first, compose_yaml):
        with pytest.raises(yaml.YAMLError, match=r'line 2: an integer of \d+ digits'):
            load(f'a: 1\nb: {value}\n')


@pytest.mark.parametrize(('text', 'value'), [
    ('9' * 100, int('9' * 100)), (f'"{"9" * 400}"', '9' * 400), ('a' * 400, 'a' * 400),
    (f'0.{"1" * 400}', float(f'0.{"1" * 400}'))])
def test_long_texts_and_floats_are_read(text: str, value: object) -> None:
    assert load_yaml(f'a: {text}') == {'a': value}


def test_more_values_than_are_read_in_a_second_are_refused() -> None:
    assert len(load_yaml(f'[{"1," * 1000}]')) == 1000
    with pytest.raises(yaml.YAMLError, match=f'more than {MOST_VALUES} values'):
        load_yaml(f'[{"1," * MOST_VALUES}]')


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
    for text in (*HOSTILE, 'axes: {}\naxes: {}'):
        path.write_text(text)
        with pytest.raises(InputError, match=r'hostile\.yaml'):
            read(path)
