"""Files of robots and cameras that somebody hostile wrote."""

from __future__ import annotations

import pytest

from sightplan.model import InputError
from sightplan_arm.camera_files import read_yaml
from sightplan_arm.config import load_robot


@pytest.mark.parametrize('read', [read_yaml, lambda path: load_robot(str(path))])
@pytest.mark.parametrize('text', ['[' * 100_000, '{a: ' * 100_000, '- ' * 100_000])
def test_too_deep_a_nesting_is_refused_with_the_name_of_the_file(tmp_path, read, text) -> None:
    path = tmp_path / 'hostile.yaml'
    path.write_text(text)
    with pytest.raises(InputError, match=r'hostile\.yaml.*levels deep'):
        read(path)
