"""What is seen of the Panda: its visual meshes with a twentieth of the triangles.

``docs/studies/panda_meshes.py`` made ``panda_meshes.npz`` from the meshes of pybullet_data;
``panda_meshes.md`` says whose they are and what was changed.
"""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightplan_sim.bullet import Bullet

FILE = Path(__file__).with_name('panda_meshes.npz')
SHADES = {'white': (0.92, 0.93, 0.94), 'dark': (0.24, 0.24, 0.27)}
"""Colours of the parts, sRGB in [0, 1]."""


@dataclass(frozen=True, eq=False)
class LinkMesh:
    """Triangles of one colour that move with a link.

    Attributes:
        link: name of the link in the URDF.
        shade: a key of ``SHADES``.
        vertices_m: (V, 3) in the link's frame.
        normals: (V, 3) unit vectors.
        triangles: (T, 3) indices of vertices.
    """

    link: str
    shade: str
    vertices_m: NDArray[np.float64]
    normals: NDArray[np.float64]
    triangles: NDArray[np.int64]


@functools.cache
def panda_meshes() -> tuple[LinkMesh, ...]:
    """The meshes that are shipped, in the order of the links."""
    with np.load(FILE) as data:
        names = sorted({key.rsplit('/', 1)[0] for key in data})
        return tuple(LinkMesh(
            name.split('/')[0], name.split('/')[1], data[f'{name}/vertices'].astype(np.float64),
            data[f'{name}/normals'].astype(np.float64) / 127.0,
            data[f'{name}/triangles'].astype(np.int64)) for name in names)


def make_link_bodies(bullet: Bullet, at_m: tuple[float, float, float]) -> list[tuple[str, int]]:
    """Bodies that show the arm and touch nothing.

    Returns:
        For each mesh, the name of the link with which it moves, and the body.
    """
    made = []
    for mesh, (vertices, normals, indices) in zip(panda_meshes(), _lists(), strict=True):
        shape = bullet.createVisualShape(
            bullet.GEOM_MESH, vertices=vertices, normals=normals, indices=indices,
            rgbaColor=[*SHADES[mesh.shade], 1.0], specularColor=[0.4, 0.4, 0.4])
        made.append((mesh.link, int(bullet.createMultiBody(0, -1, shape, at_m))))
    return made


@functools.cache
def _lists() -> tuple[tuple[list[list[float]], list[list[float]], list[int]], ...]:
    """The meshes as PyBullet wants them; it never frees them, so it gets the same ones again."""
    return tuple((mesh.vertices_m.tolist(), mesh.normals.tolist(), mesh.triangles.ravel().tolist())
                 for mesh in panda_meshes())


def panda_folder() -> Path:
    """Where pybullet_data keeps the Panda."""
    import pybullet_data
    return Path(pybullet_data.getDataPath()) / 'franka_panda'


def read_urdf() -> ET.ElementTree[ET.Element]:
    """The Panda's URDF of pybullet_data."""
    return ET.parse(panda_folder() / 'panda.urdf')  # noqa: S314  a file of an installed package
