"""Things in a physics client: one body each, with a link for every part."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sightplan.model import WorldError
from sightplan_arm.geometry import quaternion_from_rotation, rotation_from_rpy
from sightplan_sim.bullet import SCRATCH, Bullet
from sightplan_sim.meshes import Floats
from sightplan_sim.tabletop.meshes import hulls_of, mesh_of
from sightplan_sim.tabletop.shapes import Part, Pose, Thing

SPINNING, ROLLING = 0.004, 0.0006
"""Friction against turning on the spot and against rolling."""

_STILL = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Body:
    """A thing in a client.

    Attributes:
        id: the body.
        links: index of the link of each part, in the order of the thing's parts; -1 is the base.
        centre_m: (3,) the base's frame in the thing's; the client's poses are the base's.
    """

    id: int
    links: tuple[int, ...]
    centre_m: Floats


def add_thing(client: Bullet, thing: Thing, pose: Pose, *, moves: bool = True, seen: bool = True,
              solid: bool = True, opened: Sequence[tuple[str, float]] = ()) -> Body:
    """Put a thing into a physics client.

    Args:
        client: a ``Bullet``.
        thing: what to add.
        pose: of the thing's frame in the client's world.
        moves: whether it has its mass; else it stays where it is. Drawers are held by friction.
        seen: whether it has shapes to draw.
        solid: whether it has shapes to collide with; without, it stays where it is.
        opened: how far parts that slide are out, by name [m].

    Raises:
        WorldError: PyBullet did not take a shape.
    """
    centres = [_centre(part) for part in thing.parts]
    index_of = {'': 0} | {part.name: index for index, part in reversed(
        list(enumerate(thing.parts)))}
    visual = [_visual(client, part, centre) if seen else -1
              for part, centre in zip(thing.parts, centres, strict=True)]
    collision = [_collision(client, part, centre) if solid and part.solid else -1
                 for part, centre in zip(thing.parts, centres, strict=True)]
    masses = [part.mass_kg if moves and solid else 0.0 for part in thing.parts]
    parents = [index_of[part.parent] for part in thing.parts]
    links = range(1, len(thing.parts))
    turn = rotation_from_rpy((0.0, 0.0, pose.yaw))
    body = client.createMultiBody(
        masses[0], collision[0], visual[0], (turn @ centres[0] + pose.position).tolist(),
        quaternion_from_rotation(turn).tolist(),
        linkMasses=masses[1:], linkCollisionShapeIndices=collision[1:],
        linkVisualShapeIndices=visual[1:],
        linkPositions=[(centres[k] - centres[parents[k]]).tolist() for k in links],
        linkOrientations=[_STILL for _ in links],
        linkInertialFramePositions=[(0.0, 0.0, 0.0) for _ in links],
        linkInertialFrameOrientations=[_STILL for _ in links],
        linkParentIndices=[parents[k] for k in links],
        linkJointTypes=[client.JOINT_PRISMATIC if thing.parts[k].slide else client.JOINT_FIXED
                        for k in links],
        linkJointAxis=[_axis(thing.parts[k]) for k in links])
    if body < 0:
        raise WorldError(f'PyBullet made no body of a {thing.category}')
    made = Body(body, tuple(range(-1, len(thing.parts) - 1)), centres[0])
    for name, position in opened:
        link = made.links[index_of[name]]
        client.resetJointState(body, link, position)
    if solid:
        _set_dynamics(client, thing, made)
    return made


def pose_of(client: Bullet, body: Body) -> tuple[Floats, Floats]:
    """Origin (3,) and rotation (3, 3) of a thing's frame in the world."""
    position, quaternion = client.getBasePositionAndOrientation(body.id)
    turn = np.array(client.getMatrixFromQuaternion(quaternion)).reshape(3, 3)
    return np.array(position) - turn @ body.centre_m, turn


def _axis(part: Part) -> tuple[float, float, float]:
    return part.slide.axis if part.slide else (0.0, 0.0, 1.0)


def _set_dynamics(client: Bullet, thing: Thing, body: Body) -> None:
    for part, link in zip(thing.parts, body.links, strict=True):
        if part.solid:
            client.changeDynamics(body.id, link, lateralFriction=thing.friction,
                                  spinningFriction=SPINNING, rollingFriction=ROLLING)
        if part.slide:
            client.changeDynamics(body.id, link, jointLowerLimit=0.0,
                                  jointUpperLimit=part.slide.upper)
            client.setJointMotorControl2(body.id, link, client.VELOCITY_CONTROL,
                                         targetVelocity=0.0, force=part.slide.friction_n)


@functools.lru_cache(maxsize=256)
def _centre(part: Part) -> Floats:
    """Middle of a part's extents in the thing's frame."""
    points = (np.concatenate(hulls_of(part.solid)) if part.solid
              else mesh_of(part.seen).vertices)
    return np.asarray((points.min(axis=0) + points.max(axis=0)) / 2)


def _visual(client: Bullet, part: Part, centre: Floats) -> int:
    mesh = mesh_of(part.seen)
    with SCRATCH.lock:
        vertices, normals, uvs, indices = SCRATCH.fill(
            mesh.vertices - centre, mesh.normals, np.zeros((len(mesh.vertices), 2)),
            mesh.triangles.ravel())
        shape: int = client.createVisualShape(
            client.GEOM_MESH, vertices=vertices, normals=normals, uvs=uvs, indices=indices,
            rgbaColor=(*part.rgb, 1.0), specularColor=(0.0, 0.0, 0.0))
    if shape < 0:
        raise WorldError(f'PyBullet took no mesh of a {part.name}')
    return shape


def _collision(client: Bullet, part: Part, centre: Floats) -> int:
    """All convex pieces of a part as one shape: PyBullet makes them from the groups of a file."""
    with _written([hull - centre for hull in hulls_of(part.solid)]) as path:
        shape: int = client.createCollisionShape(client.GEOM_MESH, fileName=path)
    if shape < 0:
        raise WorldError(f'PyBullet took no convex pieces of a {part.name}')
    return shape


@contextlib.contextmanager
def _written(hulls: Sequence[Floats]) -> Iterator[str]:
    """A file of Wavefront groups, one for each hull; its name is never used twice."""
    lines, start = [], 1
    for index, hull in enumerate(hulls):
        lines.append(f'o piece{index}')
        lines += [f'v {x:.6f} {y:.6f} {z:.6f}' for x, y, z in hull.tolist()]
        count = len(hull)
        lines += [f'f {start + k} {start + (k + 1) % count} {start + (k + 2) % count}'
                  for k in range(count)]
        start += count
    handle, path = tempfile.mkstemp(suffix='.obj', prefix='pieces')
    try:
        with os.fdopen(handle, 'w', encoding='ascii') as file:
            file.write('\n'.join(lines) + '\n')
        yield path
    finally:
        os.unlink(path)
