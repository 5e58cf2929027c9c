"""Detections of a model in a picture as messages of vision_msgs, which other programs read."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from sightplan.model import Form, Observation, Region
from sightplan.model.instance import Instance
from sightplan.model.query import Query, Reply
from sightplan.model.region import Target
from sightplan.model.whereabouts import Whereabouts, is_foreign
from sightplan.queries import Detect, DetectReply, LocateReply
from sightplan.queries import Locate as LocateQuery
from sightplan.records.messages import text
from sightplan_arm.camera_pose import CameraPose
from sightplan_arm.geometry import make_pose
from sightplan_belief import Found
from sightplan_belief.pointing.depth_pieces import Camera
from sightplan_belief.pointing.surfaces import Surface, surface_of
from sightplan_nodes import names, qos
from sightplan_nodes.camera_topics import CameraPoses
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.frames import pose_to_msg

ANY_TURN = math.pi**2 / 3
"""Variance of an angle of which nothing is known [rad^2]: that of a uniform one."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing that was found in a picture.

    Attributes:
        region: a point or a box.
        classes: the probability that it is there and is of a class, by the names of classes; NaN:
            the model offers none.
        name: unique in its picture; '' for none.
    """

    region: Region
    classes: Mapping[str, float]
    name: str = ''


def things_of_found(found: Iterable[Found]) -> list[Thing] | None:
    """Things at the places of targets that are no traces; None: see ``all_things``."""
    return all_things(None if one.whereabouts is Whereabouts.CANNOT_TELL else
                      _places(one.target, one.regions, one.probability)
                      for one in found if one.target.form is not Form.TRACE)


def all_things(found: Iterable[Sequence[Thing] | None]) -> list[Thing] | None:
    """All things of a picture.

    Args:
        found: things of each target or query; None: it cannot be told.

    Returns:
        none: there is nothing; None: nothing was found, and not of all it can be told.
    """
    each = list(found)
    things = [thing for some in each if some is not None for thing in some]
    return things if things or (each and None not in each) else None


def things_of_instances(instances: Iterable[Instance]) -> list[Thing]:
    """Things that were told apart."""
    return [Thing(one.region, one.categories, one.name) for one in instances]


def asks_for_things(query: Query[Any]) -> TypeGuard[Detect | LocateQuery]:
    """Whether a query is about things in a picture, and not about traces or facts."""
    return isinstance(query, Detect) or (
        isinstance(query, LocateQuery) and query.target.form is not Form.TRACE)


def things_of_reply(query: Query[Any], reply: Reply | None) -> list[Thing] | None:
    """Things of a model's reply; None: it is about no things, or says that it cannot tell."""
    if isinstance(reply, DetectReply) and not reply.unread and not reply.cannot_tell:
        return [Thing(one.region, {name: one.probability * chance
                                   for name, chance in one.categories.items()})
                for one in reply.detections]
    if (isinstance(query, LocateQuery) and isinstance(reply, LocateReply)
            and query.target.form is not Form.TRACE and not reply.unread
            and not is_foreign(reply.foreign) and (reply.regions or not reply.unknown)):
        return _places(query.target, reply.regions, reply.probability)
    return None


def _places(target: Target, regions: Sequence[Region], probability: float | None) -> list[Thing]:
    """Things at the places of a target."""
    first = [probability] + [None] * len(regions)
    chances = [one.probability if one.probability is not None else given
               for one, given in zip(regions, first, strict=False)]
    return [Thing(region, {target.text: math.nan if chance is None else chance})
            for region, chance in zip(regions, chances, strict=True)]


class Detections:
    """Publishes the things found last, as Detection2DArray and Detection3DArray.

    Where vision_msgs is not installed nothing is published.
    """

    def __init__(self, node: Node) -> None:
        """Create the publishers, and subscribe to the camera's pose."""
        self._poses = CameraPoses(node)
        try:
            self._msg: Any = importlib.import_module('vision_msgs.msg')
        except ImportError:
            self._msg = None
            return
        self._flat_pub, self._solid_pub = (
            node.create_publisher(kind, name, qos.LATCHED)
            for kind, name in ((self._msg.Detection2DArray, names.DETECTIONS),
                               (self._msg.Detection3DArray, names.DETECTIONS_3D)))

    def publish(self, seen: Observation, things: Sequence[Thing] | None,
                depth_m: NDArray[np.float32] | None = None, camera: Camera | None = None) -> None:
        """Publish things of a picture.

        In three dimensions they are in the frame of ``camera/pose`` where its covariance is known,
        which then is part of theirs; else in the camera's optical frame.

        Args:
            seen: the picture; of one that came from no camera, with neither stamp nor frame,
                nothing is published.
            things: none: there is nothing; None: it cannot be told, and nothing is published. One
                without a class whose probability is above 0 is left out.
            depth_m: (H, W) of the picture [m], 0 where unknown; None: not known, and nothing is
                published in three dimensions.
            camera: its calibration; None: likewise.
        """
        if (self._msg is None or things is None or seen.image is None
                or not (seen.stamp_ns or seen.frame_id)):
            return
        things = [thing for thing in things if any(thing.classes.values())]
        height, width = seen.image.shape[:2]
        header = MESSAGES.header(seen.stamp_ns, seen.frame_id)
        self._flat_pub.publish(self._msg.Detection2DArray(header=header, detections=[
            self._flat(thing, header, width, height) for thing in things]))
        if things and (depth_m is None or camera is None):
            return
        fixed = self._poses.at(seen.stamp_ns)
        if fixed is None or fixed[1].covariance is None:
            pose = CameraPose(np.eye(4))
        else:
            frame, pose = fixed
            header = MESSAGES.header(seen.stamp_ns, frame)
        surfaces = [] if depth_m is None or camera is None else [
            (thing, surface_of(thing.region, depth_m, camera)) for thing in things]
        self._solid_pub.publish(self._msg.Detection3DArray(header=header, detections=[
            self._solid(thing, surface, header, pose)
            for thing, surface in surfaces if surface is not None]))

    def _flat(self, thing: Thing, header: Any, width: int, height: int) -> Any:
        """A Detection2D; a point has a box of size 0."""
        (left, top), (right, bottom) = thing.region.points[0], thing.region.points[-1]
        x, y = (left + right) / 2 * width, (top + bottom) / 2 * height
        return self._msg.Detection2D(
            header=header, id=text(thing.name), results=self._results(thing),
            bbox=self._msg.BoundingBox2D(
                center=self._msg.Pose2D(position=self._msg.Point2D(x=x, y=y)),
                size_x=(right - left) * width, size_y=(bottom - top) * height))

    def _solid(self, thing: Thing, surface: Surface, header: Any, camera: CameraPose) -> Any:
        """A Detection3D; its box has the axes of the camera."""
        point, covariance = camera.carry(surface.centre_m, surface.covariance)
        whole = np.diag([0.0] * 3 + [ANY_TURN] * 3)
        whole[:3, :3] = covariance
        box = self._msg.BoundingBox3D(center=pose_to_msg(make_pose(point, camera.pose[:3, :3])))
        box.size.x, box.size.y, box.size.z = map(float, surface.size_m)
        results = self._results(thing)
        for one in results:
            one.pose.pose, one.pose.covariance = box.center, whole.ravel()
        return self._msg.Detection3D(header=header, id=text(thing.name), results=results, bbox=box)

    def _results(self, thing: Thing) -> list[Any]:
        """The hypotheses about a thing, the likeliest first."""
        return [self._msg.ObjectHypothesisWithPose(hypothesis=self._msg.ObjectHypothesis(
            class_id=text(name), score=float(chance)))
            for name, chance in sorted(thing.classes.items(), key=lambda item: -item[1])
            if chance != 0.0]
