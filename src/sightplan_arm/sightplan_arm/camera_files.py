"""Files about the camera: its calibration, pictures with depth, and its pose in a robot's file."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import cv2
import numpy as np
import yaml
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from pydantic import Field, FiniteFloat, model_validator

from sightplan.model import InputError
from sightplan.model.array_files import load_array
from sightplan.model.picture_files import picture_size
from sightplan.model.reading import Record
from sightplan.model.whole_files import replacing
from sightplan.model.yaml_text import load_first, load_yaml
from sightplan_arm.geometry import distance, make_pose, rotation_from_rpy, rpy_from_rotation
from sightplan_arm.hardware import Vector

_MODELS = ('plumb_bob', 'rational_polynomial', '')
_COVARIANCE = 'pose_covariance'


@dataclass(frozen=True, eq=False)
class CameraInfo:
    """Calibration of a camera.

    Attributes:
        width, height: size of its pictures [px].
        matrix: (3, 3) K; pixel (0, 0) is the centre of the top-left pixel.
        distortion: (4,), (5,), (8,), (12,) or (14,) coefficients, as OpenCV takes them.
    """

    width: int
    height: int
    matrix: Vector
    distortion: Vector


class Point(Record):
    """A point for a calibration: its position, and its pixel or its corner of the board.

    Attributes:
        xyz: the place in the table's frame [m]; or
        joints: of the arm [rad], whose tip touched it.
        pixel: that shows it; or
        corner: of the board, that it is.
    """

    xyz: tuple[FiniteFloat, FiniteFloat, FiniteFloat] | None = None
    joints: tuple[FiniteFloat, ...] | None = None
    pixel: tuple[FiniteFloat, FiniteFloat] | None = None
    corner: int | None = None

    @model_validator(mode='after')
    def _one_of_each(self) -> Self:
        if (self.xyz is None) == (self.joints is None) or (
                self.pixel is None) == (self.corner is None):
            raise ValueError('one of xyz and joints, and one of pixel and corner are needed')
        return self


class Points(Record):
    """A file of points to calibrate from."""

    points: Annotated[tuple[Point, ...], Field(min_length=1)]


def read_camera_info(path: Path) -> CameraInfo:
    """Read a calibration, as camera_calibration or ``ros2 topic echo --once`` write it.

    Raises:
        InputError: it cannot be read, or something in it is wrong; names file and field.
    """
    data = read_yaml(path)

    def numbers(names: Sequence[str], default: list[float] | None = None) -> Vector:
        for name in names:
            value = data.get(name)
            if isinstance(value, dict):
                value = value.get('data')
            if value is not None:
                try:
                    found = np.array(value, dtype=np.float64).ravel()
                except (TypeError, ValueError) as error:
                    raise InputError(f'{path}: {name}: not a list of numbers') from error
                if not np.isfinite(found).all():
                    raise InputError(f'{path}: {name}: not all of its numbers are finite')
                return found
        if default is None:
            raise InputError(f'{path}: {names[0]}: missing (write what `ros2 topic echo --once '
                             'camera/camera_info` prints, or a file of camera_calibration)')
        return np.array(default)

    matrix = numbers(('k', 'K', 'camera_matrix'))
    if matrix.shape != (9,) or min(matrix[0], matrix[4]) <= 0:
        raise InputError(f'{path}: k: 9 numbers with positive focal lengths are needed; all zero '
                         'means that the camera is not calibrated')
    distortion = checked_distortion(
        str(path), data.get('distortion_model', ''),
        numbers(('d', 'D', 'distortion_coefficients'), [0.0] * 5))
    size = []
    for names in (('width', 'image_width'), ('height', 'image_height')):
        value = next((data[name] for name in names if name in data), None)
        if not isinstance(value, int) or value < 1:
            raise InputError(f'{path}: {names[0]}: a number of pixels is needed')
        size.append(value)
    return CameraInfo(size[0], size[1], matrix.reshape(3, 3), distortion)


def checked_camera(matrix: ArrayLike, distortion: ArrayLike) -> tuple[Vector, Vector]:
    """K (3, 3) and coefficients (D,) of a camera, as OpenCV takes them.

    Raises:
        InputError: they are none.
    """
    k, d = (np.ascontiguousarray(v, dtype=np.float64) for v in (matrix, distortion))
    if k.shape != (3, 3) or not np.isfinite(k).all() or min(k[0, 0], k[1, 1]) <= 0:
        raise InputError(f'camera matrix {k.tolist()}: a pinhole matrix (3, 3) is needed '
                         '(camera_info must be calibrated)')
    if d.ndim != 1 or len(d) not in (4, 5, 8, 12, 14) or not np.isfinite(d).all():
        raise InputError(f'distortion {d.tolist()}: 5 coefficients (plumb_bob) are needed')
    return k, d


def checked_distortion(source: str, model: str, coefficients: Vector) -> Vector:
    """Coefficients of a lens, as OpenCV takes them; five zeros where there are none.

    Args:
        source: file or topic, for messages.
        model: name in a CameraInfo; '' stands for OpenCV's own.
        coefficients: (K,).

    Raises:
        InputError: a model, or a number of coefficients, that OpenCV's functions do not take.
    """
    if model not in _MODELS:
        raise InputError(f'{source}: distortion_model: {model} is not supported (only '
                         f'{" and ".join(_MODELS[:2])}): use rectified pictures')
    if len(coefficients) not in (0, 4, 5, 8, 12, 14):
        raise InputError(f'{source}: d: {len(coefficients)} coefficients; plumb_bob has 5')
    if not np.isfinite(coefficients).all():
        raise InputError(f'{source}: d: not all of its numbers are finite')
    return coefficients if len(coefficients) else np.zeros(5)


def read_yaml(path: Path) -> dict[str, Any]:
    """The first document of a YAML file that holds a mapping.

    Raises:
        InputError: it cannot be read, or holds something else.
    """
    try:
        data = load_first(path.read_text('utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f'{path}: cannot be read: {error}') from error
    if not isinstance(data, dict):
        raise InputError(f'{path}: not a mapping (write "key: value" lines)')
    return data


def read_depth(path: Path, scale_m: float) -> NDArray[np.float32]:
    """(H, W) metres from a 16-bit PNG (units of ``scale_m``), or from a .npy file.

    A .npy file of whole numbers is scaled, too; one of floating point is in metres.

    Raises:
        InputError: it cannot be read or has the wrong shape.
    """
    if path.suffix == '.npy':
        try:
            depth = load_array(path)
        except (OSError, ValueError) as error:
            raise InputError(f'{path}: cannot be read: {error}') from error
    else:
        depth = _decode(path)
    if depth.ndim != 2 or depth.dtype.kind not in 'uif' or depth.dtype == np.uint8:
        raise InputError(f'{path}: depth of shape {depth.shape}, {depth.dtype}: (H, W) of 16-bit '
                         'or floating point numbers is needed')
    scale = 1.0 if depth.dtype.kind == 'f' else scale_m
    with np.errstate(over='ignore'):  # points that far away count as infinitely far
        return np.asarray(depth, np.float32) * np.float32(scale)


def _decode(path: Path) -> NDArray[Any]:
    try:
        content = path.read_bytes()
        picture_size(content)
        picture = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    except OSError as error:
        raise InputError(f'{path}: cannot be read: {error}') from error
    except (ValueError, MemoryError, cv2.error) as error:
        raise InputError(f'{path}: not a picture that can be read: {error} (PNG or JPEG is '
                         'needed)') from error
    if picture is None:
        raise InputError(f'{path}: not a picture that can be read (PNG or JPEG is needed)')
    return np.asarray(picture)


def write_png(path: Path, picture: NDArray[np.uint8], dpi: int | None = None) -> None:
    """Write a picture, RGB or grey, with its resolution for printers.

    Raises:
        InputError: it cannot be written.
    """
    content = io.BytesIO()
    Image.fromarray(picture).save(content, 'png', **({'dpi': (dpi, dpi)} if dpi else {}))
    _replace(path, content.getvalue())


def _replace(path: Path, data: bytes) -> None:
    """Replace a file as a whole, its permissions kept."""
    path = path.resolve()
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        with replacing(path) as part:
            part.write_bytes(data)
        path.chmod(mode)
    except OSError as error:
        raise InputError(f'{path}: cannot be written: {error}') from error


def pose_lines(pose: Vector, note: str = '', covariance: Vector | None = None) -> list[str]:
    """The blocks ``pose:`` and ``pose_covariance:`` of a robot's file, not indented."""
    xyz, rpy = ([f'{value:.6f}' for value in values]
                for values in (pose[:3, 3], np.degrees(rpy_from_rotation(pose[:3, :3]))))
    return [f'pose:{f"  # {note}" if note else ""}', f'  xyz: [{", ".join(xyz)}]',
            f'  rpy_deg: [{", ".join(rpy)}]',
            *([] if covariance is None else _covariance_lines(covariance))]


def _covariance_lines(covariance: Vector | None) -> list[str]:
    if covariance is None:
        return [f'{_COVARIANCE}: null']
    return [f'{_COVARIANCE}:',
            *(f'  - [{", ".join(f"{value:.6e}" for value in row)}]' for row in covariance)]


def write_camera_pose(path: Path, pose: Vector, note: str = '',
                      covariance: Vector | None = None) -> None:
    """Replace ``camera.pose`` and its covariance in a robot's file.

    Every other line stays as it is.

    Args:
        path: of the file.
        pose: (4, 4) of the optical frame in the table's frame.
        note: becomes a comment; '' for none.
        covariance: (6, 6) of the pose; None: it is not known.

    Raises:
        InputError: the file has no such block that can be replaced, or cannot be written; it is
            as it was then.
    """
    before = read_yaml(path)
    text = path.read_text('utf-8')
    lines = text.splitlines()
    found = _block(lines, 'pose')
    if found is None:
        raise InputError(f'{path}: camera.pose: no block "camera:" with a line "pose:" in it; '
                         'paste the block that is printed')
    start, end = found
    indent = re.match(r' *', lines[start])[0]  # type: ignore[index]
    comments = [line for line in lines[start + 1:end] if line.lstrip().startswith('#')]
    block = [indent + line for line in pose_lines(pose, note)]
    lines[start:end] = [block[0], *comments, *block[1:]]
    behind = start + len(comments) + len(block)
    old = _block(lines, _COVARIANCE)
    if old is not None or covariance is not None:
        lines[slice(*(old or (behind, behind)))] = [
            indent + line for line in _covariance_lines(covariance)]
    after = '\n'.join(lines) + ('\n' if text.endswith('\n') else '')
    if not _differs_in_pose_only(before, after, pose, covariance):
        raise InputError(f'{path}: camera.pose: cannot be replaced by itself; write it in lines '
                         'of its own, or paste the block that is printed')
    _replace(path, after.encode('utf-8'))


def _differs_in_pose_only(before: dict[str, Any], after: str, pose: Vector,
                          covariance: Vector | None) -> bool:
    try:
        written = load_yaml(after)
        found = written['camera'].pop('pose')
        before['camera'].pop('pose')
        before['camera'].pop(_COVARIANCE, None)
        kept = written['camera'].pop(_COVARIANCE, None)
        if (kept is None) != (covariance is None) or (
                covariance is not None and not np.allclose(kept, covariance, 1e-5, 0.0)):
            return False
        rotation = rotation_from_rpy(np.radians(found['rpy_deg']))
        metres, turn = distance(make_pose(found['xyz'], rotation), pose)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError):
        return False
    return bool(written == before) and metres < 1e-5 and turn < 1e-6


def _block(lines: Sequence[str], name: str) -> tuple[int, int] | None:
    """First line of a field of ``camera``, and the one behind its last; None: it has none."""
    def depth(line: str) -> int:
        return len(line) - len(line.lstrip())

    inside = False
    for number, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith('#'):
            continue
        if depth(line) == 0:
            inside = bool(re.match(r'camera\s*:\s*(#.*)?$', line))
        elif inside and re.match(rf'\s+{name}\s*:', line):
            end = number + 1
            for after in range(number + 1, len(lines)):
                if lines[after].strip() and depth(lines[after]) <= depth(line):
                    break
                if lines[after].strip():
                    end = after + 1
            return number, end
    return None
