"""YAML that somebody hostile wrote is an error in words, wherever YAML is read."""

from __future__ import annotations

import io

import pytest
import yaml

from sightplan.model import InputError
from sightplan.model.reading import read_data
from sightplan.model.yaml_text import DEEPEST, load_yaml
from sightplan.records.bag_reading import read_metadata
from sightplan.sweeps.cells import read_sweep

HOSTILE = ('[' * 100_000, '{a: ' * 100_000, '- ' * 100_000, '? ' * 100_000, '&a [' * 50_000,
           'a:\n' + ''.join(' ' * k + '- \n' for k in range(1, 1500)))


@pytest.mark.parametrize('text', HOSTILE)
def test_too_deep_a_nesting_is_refused(text: str) -> None:
    for source in (text, text.encode(), io.StringIO(text)):
        with pytest.raises(yaml.YAMLError, match=f'more than {DEEPEST} levels deep'):
            load_yaml(source)


def test_what_people_write_is_read() -> None:
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
