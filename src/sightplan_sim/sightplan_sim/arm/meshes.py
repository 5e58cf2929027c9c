"""Visual meshes of arms: the Panda's, reduced to a twentieth of their triangles.

``studies/panda_meshes.py`` made ``panda_meshes.npz`` from the meshes of pybullet_data;
``panda_meshes.md`` says whose they are and what was changed. Other arms are shown by the
primitives of their URDF.
"""

from __future__ import annotations

import functools
import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightplan_arm.config import RobotConfig
from sightplan_sim.bullet import Bullet
from sightplan_sim.meshes import Mesh, Profile, box, fitted, shaded, turned

FILE = Path(__file__).with_name('panda_meshes.npz')
SHADES = {'white': (0.92, 0.93, 0.94), 'dark': (0.24, 0.24, 0.27)}
"""Colours of the parts, sRGB in [0, 1]."""
_SIDES = 32  # sides of the prism that stands for a cylinder or a sphere


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


def meshes_of(robot: RobotConfig) -> tuple[LinkMesh, ...]:
    """Visual meshes of a robot: the Panda's, or for other robots the primitives of their URDF."""
    return panda_meshes() if is_panda(robot) else _primitives(robot.urdf)


def is_panda(robot: RobotConfig) -> bool:
    """Whether a robot's joints are those of the Panda of pybullet_data."""
    joints = {joint.get('name') for joint in read_urdf().iter('joint')}
    return joints.issuperset((*robot.arm.joints, *robot.gripper.joints))


def make_link_bodies(bullet: Bullet, at_m: tuple[float, float, float],
                     robot: RobotConfig) -> list[tuple[str, int]]:
    """Bodies that show the arm and collide with nothing.

    Returns:
        For each mesh, the name of the link with which it moves, and the body.
    """
    made = []
    meshes = meshes_of(robot)
    for mesh, (vertices, normals, indices) in zip(meshes, _lists(meshes), strict=True):
        shape = bullet.createVisualShape(
            bullet.GEOM_MESH, vertices=vertices, normals=normals, indices=indices,
            rgbaColor=[*SHADES[mesh.shade], 1.0], specularColor=[0.4, 0.4, 0.4])
        made.append((mesh.link, int(bullet.createMultiBody(0, -1, shape, at_m))))
    return made


@functools.lru_cache(maxsize=4)
def _lists(meshes: tuple[LinkMesh, ...],
           ) -> tuple[tuple[list[list[float]], list[list[float]], list[int]], ...]:
    """Meshes as PyBullet wants them; it never frees them, so it gets the same ones again."""
    return tuple((mesh.vertices_m.tolist(), mesh.normals.tolist(), mesh.triangles.ravel().tolist())
                 for mesh in meshes)


@functools.lru_cache(maxsize=4)
def _primitives(urdf: Path) -> tuple[LinkMesh, ...]:
    """The boxes, cylinders and spheres that a URDF shows, as meshes."""
    root = ET.parse(urdf).getroot()  # noqa: S314  the user's own file
    bright = {one.get('name', ''): _brightness(one) for one in root.findall('material')}
    meshes = []
    for link in root.findall('link'):
        for visual in link.findall('visual'):
            solid = _solid(visual)
            if solid is None:
                continue
            material = visual.find('material')
            shade = 1.0 if material is None else bright.get(
                material.get('name', ''), _brightness(material))
            origin = visual.find('origin')
            xyz, rpy = (_numbers(None if origin is None else origin.get(key)) for key in (
                'xyz', 'rpy'))
            placed = solid.placed(xyz, rpy)
            meshes.append(LinkMesh(link.get('name', ''), 'white' if shade > 0.5 else 'dark',
                                   placed.vertices, placed.normals, placed.triangles))
    return tuple(meshes)


def _brightness(material: ET.Element) -> float:
    colour = material.find('color')
    return 1.0 if colour is None else float(np.mean(_numbers(colour.get('rgba'))[:3]))


def _numbers(text: str | None) -> NDArray[np.float64]:
    return np.array([float(part) for part in (text or '0 0 0').split()])


def _solid(visual: ET.Element) -> Mesh | None:
    """The mesh of a box, cylinder or sphere; None: it is of another kind."""
    for one in visual.iter('box'):
        return shaded(fitted(box())).stretched(_numbers(one.get('size')))
    for one in visual.iter('cylinder'):
        radius, length = float(one.get('radius', 0)), float(one.get('length', 0))
        return _unit_round(((0, 0), (1, 0), (1, 1), (0, 1))).stretched(
            (2 * radius, 2 * radius, length))
    for one in visual.iter('sphere'):
        angles = np.linspace(0, math.pi, _SIDES // 2 + 1)[1:-1]
        arc = ((0.0, -1.0), *zip(np.sin(angles).tolist(), (-np.cos(angles)).tolist(), strict=True),
               (0.0, 1.0))
        return _unit_round(arc).stretched(np.full(3, 2 * float(one.get('radius', 0))))
    return None


def _unit_round(profile: Profile) -> Mesh:
    return shaded(fitted(turned(profile, _SIDES)))


def panda_folder() -> Path:
    """Folder in which pybullet_data keeps the Panda."""
    import pybullet_data
    return Path(pybullet_data.getDataPath()) / 'franka_panda'


def read_urdf() -> ET.ElementTree[ET.Element]:
    """The Panda's URDF of pybullet_data."""
    return ET.parse(panda_folder() / 'panda.urdf')  # noqa: S314  a file of an installed package
