"""Makes the shipped meshes of the Panda: those of pybullet_data with 5 % of the triangles.

    python studies/panda_meshes.py --out src/sightplan_sim/sightplan_sim/arm/panda_meshes.npz

``panda_meshes.md`` beside that file says whose they are and what was changed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan_arm.geometry import make_pose, rotation_from_rpy, transform
from sightplan_sim.arm.meshes import LinkMesh, panda_folder, read_urdf

CELL_M = 0.015
FINER_M = {'finger': 0.004, 'hand': 0.008, 'link0': 0.004, 'link7': 0.004}
"""Vertices in a cell of this side become one; finer where there is little to begin with."""


def simplified_panda(cell_m: float = CELL_M) -> tuple[LinkMesh, ...]:
    """The visual meshes of pybullet_data, simplified; takes seconds."""
    folder = panda_folder()
    dark_texels = _dark_texels(folder / 'meshes' / 'visual' / 'colors.png')
    made = []
    for link in read_urdf().iter('link'):
        for visual in link.findall('visual'):
            mesh, origin = visual.find('geometry/mesh'), visual.find('origin')
            if mesh is None:
                continue
            path = folder / mesh.get('filename', '').removeprefix('package://')
            pose = np.eye(4)
            if origin is not None:
                xyz, rpy = ([float(v) for v in origin.get(key, '0 0 0').split()]
                            for key in ('xyz', 'rpy'))
                pose = make_pose(xyz, rotation_from_rpy(rpy))
            corners, normals, dark = _read_obj(path, dark_texels)
            corners = transform(pose, corners)
            normals = normals @ pose[:3, :3].T
            for shade, chosen in (('white', ~dark), ('dark', dark)):
                if chosen.any():
                    made.append(LinkMesh(link.get('name', ''), shade, *_cluster(
                        corners[chosen], normals[chosen],
                        min(cell_m, FINER_M.get(path.stem, cell_m)))))
    return tuple(made)


def write(meshes: Sequence[LinkMesh], path: Path) -> None:
    """Write meshes to a file that ``panda_meshes`` reads."""
    arrays: dict[str, Any] = {}
    for mesh in meshes:
        name = f'{mesh.link}/{mesh.shade}'
        arrays[f'{name}/vertices'] = np.round(mesh.vertices_m, 5).astype(np.float32)
        arrays[f'{name}/normals'] = np.round(mesh.normals * 127).astype(np.int8)
        arrays[f'{name}/triangles'] = mesh.triangles.astype(np.uint16)
    np.savez_compressed(path, **arrays)


def _dark_texels(path: Path) -> NDArray[np.bool_]:
    picture = cv2.imread(str(path))
    if picture is None:
        raise InputError(f'{path}: not a picture')
    return np.asarray(picture.max(axis=2) < 200)


def _read_obj(path: Path, dark_texels: NDArray[np.bool_],
              ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Corners (T, 3, 3) and normals (T, 3, 3) of the triangles, and which are dark (T,)."""
    materials = _dark_materials(path.with_suffix('.mtl'))
    vertices: list[list[float]] = []
    normals: list[list[float]] = []
    texels: list[bool] = []
    h, w = dark_texels.shape
    corners, directions, dark = [], [], []
    painted = False
    for line in path.read_text().splitlines():
        kind, *words = line.split() or ['']
        if kind == 'v':
            vertices.append([float(v) for v in words[:3]])
        elif kind == 'vn':
            normals.append([float(v) for v in words[:3]])
        elif kind == 'vt':
            u, v = float(words[0]) % 1, (1 - float(words[1])) % 1
            texels.append(bool(dark_texels[min(int(v * h), h - 1), min(int(u * w), w - 1)]))
        elif kind == 'usemtl':
            painted = materials.get(words[0], False)
        elif kind == 'f':
            parts = [word.split('/') for word in words]
            for k in range(1, len(parts) - 1):
                triangle = (parts[0], parts[k], parts[k + 1])
                at = [vertices[int(part[0]) - 1] for part in triangle]
                corners.append(at)
                directions.append([normals[int(part[2]) - 1] for part in triangle]
                                  if len(triangle[0]) > 2 else [_normal(at)] * 3)
                texel = parts[0][1] if len(parts[0]) > 1 else ''
                dark.append(painted or bool(texel and texels[int(texel) - 1]))
    return np.array(corners), np.array(directions), np.array(dark, dtype=np.bool_)


def _normal(corners: list[list[float]]) -> list[float]:
    a, b, c = np.array(corners)
    across = np.cross(b - a, c - a)
    return [float(v) for v in across / max(float(np.linalg.norm(across)), 1e-12)]


def _dark_materials(path: Path) -> dict[str, bool]:
    """For each material, whether it is dark by its diffuse colour; a texture may say otherwise."""
    found: dict[str, bool] = {}
    name = ''
    for line in path.read_text().splitlines() if path.exists() else ():
        words = line.split()
        if words and words[0] == 'newmtl':
            name = words[1]
        elif words and words[0] == 'Kd':
            found[name] = max(float(v) for v in words[1:4]) < 0.5
    return found


def _cluster(corners: NDArray[np.float64], normals: NDArray[np.float64], cell_m: float,
             ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Merge vertices by cells (Rossignac and Borrel, 1993); creases stay sharp.

    A cell's vertices move to their mean; each of the directions that its surfaces have there
    (by sign and greatest part) keeps a normal of its own.
    """
    points, directions = corners.reshape(-1, 3), normals.reshape(-1, 3)
    _, cell = np.unique(np.floor(points / cell_m).astype(int), axis=0, return_inverse=True)
    cell = cell.ravel()
    count = np.bincount(cell)
    middle = np.stack([np.bincount(cell, points[:, k]) / count for k in range(3)], axis=1)
    axis = np.abs(directions).argmax(axis=1)
    side = 2 * axis + (directions[np.arange(len(axis)), axis] > 0)
    keys, vertex = np.unique(np.stack([cell, side], axis=1), axis=0, return_inverse=True)
    vertex = vertex.ravel()
    normal = np.stack([np.bincount(vertex, directions[:, k]) for k in range(3)], axis=1)
    normal = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    cells, triangles = cell.reshape(-1, 3), vertex.reshape(-1, 3)
    alive = ((cells[:, 0] != cells[:, 1]) & (cells[:, 1] != cells[:, 2])
             & (cells[:, 2] != cells[:, 0]))
    triangles = triangles[alive]
    _, first = np.unique(np.sort(cells[alive], axis=1), axis=0, return_index=True)
    triangles = triangles[np.sort(first)]
    used, renumbered = np.unique(triangles, return_inverse=True)
    return middle[keys[used, 0]], normal[used], renumbered.reshape(-1, 3)


def main(args: Sequence[str] | None = None) -> int:
    """Make the file of meshes."""
    parser = argparse.ArgumentParser(
        prog='python studies/panda_meshes.py', formatter_class=argparse.RawTextHelpFormatter,
        description="Simplify the Panda's visual meshes of pybullet_data.",
        epilog='example:\n  python studies/panda_meshes.py --out panda_meshes.npz')
    parser.add_argument('--out', required=True, type=Path, help='file to write, .npz')
    parser.add_argument('--cell-mm', type=float, default=CELL_M * 1e3,
                        help='vertices closer than this become one (default %(default)s)')
    options = parser.parse_args(args)
    if options.cell_mm <= 0:
        parser.error('--cell-mm must be positive')
    meshes = simplified_panda(options.cell_mm / 1e3)
    try:
        write(meshes, options.out)
    except OSError as error:
        print(f'{options.out}: {error.strerror}', file=sys.stderr)
        return 1
    print(f'{options.out}: {sum(len(m.triangles) for m in meshes)} triangles in '
          f'{len(meshes)} parts', file=sys.stderr)
    return 0


if __name__ == '__main__':
    sys.exit(main())
