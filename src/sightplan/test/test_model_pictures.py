"""Pictures' files: what is no 8-bit RGB becomes one as it looks, or is refused by name."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sightplan.cli import main
from sightplan.model import InputError
from sightplan.model.picture_files import read_image
from sightplan.records.messages import image_from_msg
from sightplan_belief import ask, locate

GREY16 = np.tile(np.linspace(0, 65_535, 64).astype(np.uint16), (48, 1))
GREY = (GREY16 >> 8).astype(np.uint8)
COLOUR = np.stack([GREY, GREY[:, ::-1], GREY // 2], axis=2)


def png_of_16_bits(values: NDArray[np.uint16]) -> bytes:
    """A PNG of (H, W) or (H, W, 3) numbers; Pillow writes grey ones only."""
    cv2 = pytest.importorskip('cv2')
    return bytes(cv2.imencode('.png', values if values.ndim == 2 else values[..., ::-1])[1])


def written(folder: Path, image: Image.Image, name: str, **options: object) -> Path:
    image.save(folder / name, **options)
    return folder / name


@pytest.mark.parametrize('name', ['a.png', 'a.tif', 'a.pgm'])
def test_grey_of_16_bits_is_scaled(tmp_path: Path, name: str) -> None:
    image = read_image(written(tmp_path, Image.fromarray(GREY16), name))
    assert image.dtype == np.uint8 and image.shape == (48, 64, 3)
    assert (image == GREY[:, :, None]).all()


def test_colours_of_16_bits_are_scaled(tmp_path: Path) -> None:
    path = tmp_path / 'a.png'
    path.write_bytes(png_of_16_bits(COLOUR.astype(np.uint16) * 257))
    assert (read_image(path) == COLOUR).all()


def test_a_negative_of_16_bits_is_turned_round(tmp_path: Path) -> None:
    path = written(tmp_path, Image.fromarray(GREY16), 'a.tif', tiffinfo={262: 0})
    assert (read_image(path) == 255 - GREY[:, :, None]).all()


@pytest.mark.parametrize('shape', [(48, 64), (48, 64, 3)])
def test_fewer_bits_than_the_file_has_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """Of a camera with 12 bits, or depth in millimetres: nearly black, if it were scaled."""
    path = tmp_path / 'deep.png'
    path.write_bytes(png_of_16_bits(np.resize(np.arange(4096, dtype=np.uint16), shape)))
    with pytest.raises(InputError, match=r'deep\.png: has 16 bits a channel, but its brightest.*'
                                         '8 bits a channel'):
        read_image(path)


@pytest.mark.parametrize(('values', 'kind'), [
    ((GREY16 / 65_535).astype(np.float32), 'floating point'),
    (GREY16.astype(np.float32), 'floating point'), (GREY16.astype(np.int32), '32 bits'),
    (GREY16.astype(np.int32) - 9, '32 bits')])
def test_numbers_of_which_nobody_knows_the_white_are_refused(
        tmp_path: Path, values: NDArray[np.float32], kind: str) -> None:
    path = written(tmp_path, Image.fromarray(values), 'f.tif')
    with pytest.raises(InputError, match=f'f.tif: holds numbers of {kind}'):
        read_image(path)


def test_what_is_transparent_is_white_and_not_what_is_hidden_there(tmp_path: Path) -> None:
    shown = Image.fromarray(COLOUR)
    alpha = np.zeros((48, 64), np.uint8)
    alpha[:, 32:] = 255
    shown.putalpha(Image.fromarray(alpha))
    image = read_image(written(tmp_path, shown, 'a.png'))
    assert (image[:, :32] == 255).all() and (image[:, 32:] == COLOUR[:, 32:]).all()
    flat = Image.fromarray(np.repeat([[[204, 0, 0]], [[0, 204, 0]]], 5, 1).astype(np.uint8))
    palette = flat.convert('P')
    image = read_image(written(tmp_path, palette, 'p.png', transparency=palette.getpixel((0, 0))))
    assert (image[0] == 255).all() and (image[1] == (0, 204, 0)).all()


def test_a_picture_that_is_transparent_everywhere_is_refused(tmp_path: Path) -> None:
    shown = Image.fromarray(COLOUR)
    shown.putalpha(0)
    with pytest.raises(InputError, match=r'a\.png: is transparent everywhere'):
        read_image(written(tmp_path, shown, 'a.png'))


@pytest.mark.parametrize(('mode', 'name', 'most'), [
    ('RGB', 'a.png', 0), ('RGB', 'a.webp', 40), ('P', 'a.gif', 60), ('P', 'a.png', 60),
    ('CMYK', 'a.jpg', 12), ('CMYK', 'a.tif', 3), ('YCbCr', 'a.jpg', 12), ('RGBA', 'a.png', 0)])
def test_other_kinds_look_as_they_look(tmp_path: Path, mode: str, name: str, most: int) -> None:
    image = read_image(written(tmp_path, Image.fromarray(COLOUR).convert(mode), name))
    assert np.abs(image.astype(int) - COLOUR).max() <= most


def test_one_bit_and_a_turn_by_exif(tmp_path: Path) -> None:
    black = Image.fromarray(GREY).point(lambda value: 255 * (value > 99)).convert('1')
    assert (read_image(written(tmp_path, black, 'b.png')) == 255 * (GREY > 99)[:, :, None]).all()
    turned = Image.fromarray(COLOUR)
    exif = turned.getexif()
    exif[274] = 6  # the camera was held upright
    image = read_image(written(tmp_path, turned, 'e.png', exif=exif))
    assert (image == np.rot90(COLOUR, -1)).all()


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    for name in ('t.png', 't.jpg'):
        path = written(tmp_path, Image.fromarray(COLOUR), name)
        content = path.read_bytes()
        path.write_bytes(content[:len(content) // 2])
        with pytest.raises(InputError, match=name):
            read_image(path)


def test_a_content_that_is_at_hand_is_read_likewise() -> None:
    buffer = io.BytesIO()
    Image.fromarray(GREY16).save(buffer, 'PNG')
    assert (read_image(Path('held.png'), buffer.getvalue()) == GREY[:, :, None]).all()
    with pytest.raises(InputError, match=r'held\.png'):
        read_image(Path('held.png'), b'')


def test_ask_refuses_depth_that_is_given_as_a_picture(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / 'deep.png'
    path.write_bytes(png_of_16_bits(np.full((48, 64), 900, np.uint16)))
    scene = ['--domain', 'blocksworld', '--objects', 'r:block,c1:column']
    for command in (['ask', str(path), *scene],
                    ['locate', str(path), 'the red block']):
        assert main([*command, '--json']) == 2
        assert '16 bits a channel' in json.dumps(capsys.readouterr())


@pytest.mark.parametrize('image', [
    GREY16, np.repeat(GREY16[:, :, None], 3, 2), GREY, COLOUR / 255.0,
    np.zeros((0, 4, 3), np.uint8), np.zeros((4, 4, 4), np.uint8)])
def test_arrays_that_are_no_pictures_are_refused(image: NDArray[np.uint8]) -> None:
    with pytest.raises(InputError, match='uint8 RGB'):
        ask(image, 'blocksworld', objects={'r': 'block', 'c1': 'column'})
    with pytest.raises(InputError, match='uint8 RGB'):
        locate(image, 'the red block')


@pytest.mark.parametrize('encoding', ['mono16', 'rgb16', 'bgr16', '16UC1', '8UC3'])
def test_images_on_topics_and_in_bags_are_of_8_bits_or_refused(encoding: str) -> None:
    class Message:
        width, height, step, data = 4, 2, 24, bytes(48)

    message = Message()
    message.encoding = encoding
    with pytest.raises(InputError, match=f'{encoding}.*convert it'):
        image_from_msg(message)
