"""What every node that is the world offers: names, types and the way of one request at a time."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image
from sightplan_interfaces.action import ExecuteSkill
from sightplan_interfaces.srv import GetView, ResetWorld

from sightplan.model import Action, CancelledError, DeadlineError, Feedback, WorldError
from sightplan_nodes import conversions, names, qos
from sightplan_nodes.failures import fill_error, guarded
from sightplan_nodes.goals import OneGoal
from sightplan_nodes.work import Worker


class WorldNode(Node):
    """A world behind topics, services and an action.

    Publishes ``camera/image_raw``, ``camera/camera_info``, ``camera/depth/image_raw`` (32FC1,
    metres) and ``camera/image_labelled`` (with the same stamps; only where a world labels its
    pictures, which is what models are shown then). Serves ``~/reset`` (ResetWorld),
    ``~/get_view`` (GetView: what is in view) and the action ``execute_skill`` (ExecuteSkill).

    An image whose stamp is not before the one a reset or skill returned shows its result. The
    work is done in one thread, one request after another; a subclass calls ``open`` when it is
    ready for requests.

    Attributes:
        group: reentrant callback group of what is served.
        worker: the thread.
        by_agent: whether the agent asked for the reset that is under way, or was the last.
        image_pub, labelled_pub, info_pub, depth_pub: publishers of the camera.
    """

    def __init__(self, name: str, **node_arguments: Any) -> None:
        """Create the publishers."""
        super().__init__(name, **node_arguments)
        self.group = ReentrantCallbackGroup()
        self.worker = Worker(self, f'{name} world')
        self.image_pub = self.create_publisher(Image, names.CAMERA_IMAGE, qos.SENSOR)
        self.labelled_pub = self.create_publisher(Image, names.CAMERA_LABELLED, qos.SENSOR)
        self.info_pub = self.create_publisher(CameraInfo, names.CAMERA_INFO, qos.SENSOR)
        self.depth_pub = self.create_publisher(Image, names.CAMERA_DEPTH, qos.SENSOR)
        self._goal = OneGoal()
        self._unwanted = threading.Event()  # whether the goal was cancelled
        self._given_up = threading.Event()  # whether nobody waits for the last reset any more
        self._given: ResetWorld.Request | None = None
        self.by_agent = False

    def open(self, reset_timeout_s: float) -> None:
        """Serve.

        Args:
            reset_timeout_s: wall-clock limit of one reset.
        """
        self._reset_timeout_s = reset_timeout_s
        self.create_service(ResetWorld, '~/reset',
                            guarded(self, ResetWorld.Response, self._reset),
                            callback_group=self.group)
        self.create_service(GetView, '~/get_view',
                            guarded(self, GetView.Response, self.view),
                            callback_group=self.group)
        self._skills = ActionServer(
            self, ExecuteSkill, names.EXECUTE_SKILL,
            guarded(self, ExecuteSkill.Result, self._execute), callback_group=self.group,
            goal_callback=self._goal.accept, handle_accepted_callback=self._goal.take,
            cancel_callback=self._cancel)

    # What a subclass does.

    @abstractmethod
    def build(self, request: ResetWorld.Request) -> Callable[[ResetWorld.Response], None]:
        """Begin an episode, in the worker's thread.

        Args:
            request: with the whole problem, as it was given for this episode; see ``keep``.

        Returns:
            what fills the response, in the executor's thread.
        """

    @abstractmethod
    def act(self, action: Action) -> Callable[[], tuple[Feedback, int]]:
        """Carry out an action, in the worker's thread.

        Returns:
            what makes its result visible, in the executor's thread, and returns the feedback and
            the time from which on images show it [ns].
        """

    @abstractmethod
    def view(self, request: GetView.Request, response: GetView.Response) -> GetView.Response:
        """What is in view."""

    def keep(self, request: ResetWorld.Request) -> ResetWorld.Request:
        """What to keep of a request that gives the whole problem of an episode."""
        return request

    def cancelled(self, why: str) -> None:
        """The action or reset under way shall not go on; it may come to its end all the same."""

    def check_cancelled(self) -> None:
        """Raise CancelledError if nobody waits any more for what the worker sees to."""
        if self._unwanted.is_set():
            raise CancelledError('the action was cancelled before it began')
        if self._given_up.is_set():
            raise CancelledError('the reset was given up before the arm was to move')

    # The callbacks, in the executor's thread.

    def create_subscription(self, msg_type: Any, topic: str, callback: Callable[[Any], Any],
                            qos_profile: Any, **options: Any) -> Any:
        """As in the base class, but a message that cannot be taken is dropped.

        What leaves a callback ends the node, and others' messages must not end what looks after
        an arm.
        """
        def take(message: Any) -> None:
            try:
                callback(message)
            except Exception as error:
                self.get_logger().error(conversions.text(
                    f'a message on {topic} is dropped: {type(error).__name__}: {error}'),
                    throttle_duration_sec=1.0)
        return super().create_subscription(msg_type, topic, take, qos_profile, **options)

    async def _reset(self, request: ResetWorld.Request,
                     response: ResetWorld.Response) -> ResetWorld.Response:
        given_up = threading.Event()

        def begin() -> Callable[[ResetWorld.Response], None]:
            self._given_up = given_up
            return self.build(self._whole(request))
        try:
            fill = await self.worker.call(begin, self._reset_timeout_s)
        except Exception as error:
            if isinstance(error, DeadlineError) and self._given_up is given_up:
                given_up.set()
                self.cancelled('the reset took too long and was given up')
            self.get_logger().error(
                conversions.text(f'reset to {request.problem!r} failed: {error}'))
            return fill_error(response, error)
        fill(response)
        return response

    def _whole(self, request: ResetWorld.Request) -> ResetWorld.Request:
        """The request with the problem that was given for its episode.

        Raises:
            WorldError: none was given.
        """
        self.by_agent = not request.problem_pddl  # it must not know the whole problem
        if request.problem_pddl:
            self._given = self.keep(request)
        elif self._given is None or self._given.episode_id != request.episode_id:
            raise WorldError(f'no problem was given for episode {request.episode_id!r}; call '
                             '~/reset with the whole problem first')
        return self._given

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        self._unwanted.set()  # before: an action that begins at this moment sees it
        self.cancelled('the action was cancelled')
        return CancelResponse.ACCEPT

    async def _execute(self, handle: ServerGoalHandle) -> ExecuteSkill.Result:
        result = ExecuteSkill.Result()
        try:
            if handle.is_cancel_requested:
                handle.canceled()
                return result
            action = conversions.action_from_msg(handle.request.action)
            show = await self.worker.call(lambda: self._act(action))
        except CancelledError as error:
            if handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return fill_error(result, error)
        except Exception as error:
            self.get_logger().error(
                conversions.text(f'{handle.request.action.name} failed: {error}'))
            handle.abort()
            return fill_error(result, error)
        finally:
            self._unwanted.clear()
            self._goal.release()
        feedback, stamp_ns = show()
        handle.publish_feedback(ExecuteSkill.Feedback(progress=1.0))
        result.status = conversions.STATUSES[feedback.status]
        result.message = conversions.text(feedback.message)
        result.stamp = conversions.time_to_msg(stamp_ns)
        handle.succeed()  # also when cancelled meanwhile: a skill that was done was done
        return result

    def _act(self, action: Action) -> Callable[[], tuple[Feedback, int]]:
        """In the worker's thread, where an action may have waited."""
        self.check_cancelled()
        return self.act(action)
