"""Files of robots and cameras that somebody hostile wrote."""

from __future__ import annotations

import pytest
import yaml

from sightplan.model import InputError, config_files
from sightplan.model.picture_files import read_image
from sightplan_arm.camera_files import read_camera_info, read_depth
from sightplan_arm.config import load_robot


@pytest.mark.parametrize('value', ['2026-99-99', '!!int x', '"\\U00110000"', '&a [*a]',
                                   f'[{"9" * 400}, 0, 320]'])
def test_values_of_yaml_that_are_none_are_refused(tmp_path, value) -> None:
    path = tmp_path / 'camera.yaml'
    path.write_text(f'k: {value}\nwidth: 640\nheight: 480\n')
    for read in (read_camera_info, lambda path: load_robot(str(path))):
        with pytest.raises(InputError, match=r'camera\.yaml'):
            read(path)


def test_an_unknown_field_of_one_of_several_is_named(tmp_path) -> None:
    text = config_files('robots')['panda'].read_text()
    data = yaml.safe_load(text)
    data['safety']['checked_points'] = {'panda_hand': [{'nothing': 1}]}
    data['safety'].setdefault('bodies', {})['pairs'] = [{'nothing': 1}]
    path = tmp_path / 'panda.yaml'
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(InputError, match=r'panda\.yaml: safety\.'):
        load_robot(str(path))


@pytest.mark.parametrize('content', [
    b'', b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\1\0\0\0\1\0\0' + bytes(99), b'P5 60000 60000 255\n',
    b'II*\0' + bytes(99), b'\xff\xd8' + bytes(99)])
def test_pictures_that_claim_too_much_or_are_none_are_refused(tmp_path, content) -> None:
    path = tmp_path / 'p.png'
    path.write_bytes(content)
    for read in (read_image, lambda path: read_depth(path, 0.001)):
        with pytest.raises(InputError, match=r'p\.png'):
            read(path)


@pytest.mark.parametrize('head', [
    '(((', "{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 100000), }"])
def test_depth_of_numpy_with_a_damaged_head_is_refused(tmp_path, head) -> None:
    path = tmp_path / 'd.npy'
    content = head.encode().ljust(117) + b'\n'
    path.write_bytes(b'\x93NUMPY\1\0' + len(content).to_bytes(2, 'little') + content)
    with pytest.raises(InputError, match=r'd\.npy'):
        read_depth(path, 0.001)
