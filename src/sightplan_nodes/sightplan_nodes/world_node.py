"""Base of every node that is the world: its interface, with one request at a time."""

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
from sightplan_interfaces.srv import GetView, LoadProblem, ResetWorld

from sightplan.model import (
    Action,
    CancelledError,
    DeadlineError,
    Feedback,
    FeedbackStatus,
    StoppedError,
    WorldError,
)
from sightplan.model.ports import Shown
from sightplan.records import messages
from sightplan_nodes import names, qos
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.failures import dropping, error_text, fill_error, guarded
from sightplan_nodes.frames import Frames
from sightplan_nodes.goals import RESULT_KEPT_S, OneGoal
from sightplan_nodes.work import Worker


class WorldNode(Node):
    """A world behind topics, services and an action.

    Publishes ``camera/image_raw``, ``camera/camera_info``, ``camera/depth/image_raw`` (32FC1,
    metres) and ``camera/image_labelled`` (with the same stamps; only where a world labels its
    pictures, which is what models are shown then). Serves ``~/load_problem`` (LoadProblem: builds
    the world, once), ``~/reset`` (ResetWorld: begins the episode in it), ``~/get_view`` (GetView:
    what is in view) and the action ``execute_skill`` (ExecuteSkill).

    An image whose stamp is not before the one a reset or skill returned shows its result. An
    episode that is begun once more, or in a world that has changed since, is built once more. The
    work is done in one thread, one request after another; a subclass calls ``open`` when it is
    ready for requests.

    Attributes:
        group: reentrant callback group of what is served.
        worker: the thread.
        by_agent: whether the agent asked for the world that is built, or was built last.
        frames: publishes transforms.
        image_pub, labelled_pub, info_pub, depth_pub: publishers of the camera.
    """

    def __init__(self, name: str, **node_arguments: Any) -> None:
        super().__init__(name, **node_arguments)
        self.group = ReentrantCallbackGroup()
        self.worker = Worker(self, f'{name} world')
        self.frames = Frames(self)
        self.image_pub = self.create_publisher(Image, names.CAMERA_IMAGE, qos.SENSOR)
        self.labelled_pub = self.create_publisher(Image, names.CAMERA_LABELLED, qos.SENSOR)
        self.info_pub = self.create_publisher(CameraInfo, names.CAMERA_INFO, qos.SENSOR)
        self.depth_pub = self.create_publisher(Image, names.CAMERA_DEPTH, qos.SENSOR)
        self._goal = OneGoal()
        self._actions: list[ActionServer] = []
        self._unwanted = threading.Event()  # whether the goal was cancelled
        self._given_up = threading.Event()  # whether nobody waits for the world any more
        self._problem: LoadProblem.Request | None = None
        self._built = False  # whether the world is as it was built for the problem
        self.by_agent = False

    def open(self, reset_timeout_s: float) -> None:
        """Create the services and the action.

        Args:
            reset_timeout_s: wall-clock limit of building the world.
        """
        self._reset_timeout_s = reset_timeout_s
        for kind, service, callback in ((LoadProblem, '~/load_problem', self._load_problem),
                                        (ResetWorld, '~/reset', self._reset),
                                        (GetView, '~/get_view', self.view)):
            self.create_service(kind, service, guarded(self, kind.Response, callback),
                                callback_group=self.group)
        self.offer(ExecuteSkill, names.EXECUTE_SKILL, self._execute,
                   lambda goal: goal.action.name)

    def offer(self, kind: Any, name: str, carry_out: Callable[[Any], Callable[[Any], None]],
              words: Callable[[Any], str]) -> None:
        """Create an action of the world; one goal at a time is accepted over all its actions.

        Args:
            kind: of the action; its result has ``error_code`` and ``error_msg``.
            name: of the action.
            carry_out: does what a goal asks for, in the worker's thread, and returns what makes
                it visible and fills the result, in the executor's thread.
            words: what a goal is called, for the log.
        """
        async def execute(handle: ServerGoalHandle) -> Any:
            return await self._carry_out(handle, kind, carry_out, words)
        self._actions.append(ActionServer(
            self, kind, name, guarded(self, kind.Result, execute), callback_group=self.group,
            goal_callback=self._goal.accept, handle_accepted_callback=self._goal.take,
            cancel_callback=self._cancel, result_timeout=RESULT_KEPT_S))

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report the episode and the request under way; a subclass adds more; see Diagnosis."""
        problem = self._problem
        diagnosis.note(episode=None if problem is None else problem.episode_id,
                       problem=None if problem is None else problem.problem,
                       carries_out_a_goal=self._goal.handle is not None,
                       jobs_waiting=self.worker.waiting)

    # What a subclass does.

    @abstractmethod
    def build(self, problem: LoadProblem.Request) -> Callable[[], None]:
        """Build a problem's initial state for an episode, in the worker's thread.

        Args:
            problem: as it was loaded, or, for an episode that is begun once more, as ``keep``
                has kept it.

        Returns:
            what shows it, in the executor's thread.
        """

    def keep(self, problem: LoadProblem.Request) -> LoadProblem.Request:
        """The data of a problem that an episode needs when it is begun once more."""
        return problem

    @abstractmethod
    def begin(self) -> Callable[[ResetWorld.Response], None]:
        """Begin the episode in the world that was built, in the worker's thread.

        Returns:
            what fills the response, in the executor's thread.
        """

    @abstractmethod
    def carry_on(self, request: ResetWorld.Request,
                 ) -> tuple[LoadProblem.Request, Callable[[], None]]:
        """Begin an episode in the world as it stands, in the worker's thread.

        Args:
            request: of the episode; with an empty ``domain``: about what the world was built for.

        Returns:
            what the episode is about, as ``keep`` keeps it, and what shows the world, in the
            executor's thread.

        Raises:
            WorldError: nothing was built, and the request names no domain.
        """

    @abstractmethod
    def act(self, action: Action) -> Callable[[], tuple[Feedback, int]]:
        """Carry out an action, in the worker's thread.

        Returns:
            what makes its result visible, in the executor's thread, and returns the feedback and
            the time from which on images show it [ns].
        """

    @abstractmethod
    def moved(self) -> Callable[[], int]:
        """Return what shows the world after a motion that is no action; in the worker's thread.

        Returns:
            what makes it visible, in the executor's thread, and returns the time from which on
            images show it [ns].
        """

    def broken_off(self) -> Callable[[], object]:
        """Return what shows the world after an interrupted action; in the worker's thread.

        Returns:
            what makes visible what became of it, in the executor's thread.
        """
        return lambda: None

    @abstractmethod
    def view(self, request: GetView.Request, response: GetView.Response) -> GetView.Response:
        """Return the objects that are in view."""

    def is_untouched(self) -> bool:
        """Whether an episode may begin in the world that was built; in the worker's thread."""
        return True

    def cancelled(self, why: str) -> None:
        """Ask the request under way (action or building) to stop; it may still end normally."""

    def check_cancelled(self) -> None:
        """Raise CancelledError if no client waits any more for the request under way."""
        if self._unwanted.is_set():
            raise CancelledError('the action was cancelled before it began')
        if self._given_up.is_set():
            raise CancelledError('the world was given up before the arm was to move')

    # The callbacks, in the executor's thread.

    def create_subscription(self, msg_type: Any, topic: str, callback: Callable[..., Any],
                            qos_profile: Any, **options: Any) -> Any:
        """Create a subscription that drops messages which cannot be read.

        What leaves a callback ends the node, and others' messages must not end what looks after
        an arm.
        """
        return super().create_subscription(
            msg_type, topic, dropping(self, topic, callback), qos_profile, **options)

    def shown(self) -> Shown:
        """Contents of observations of the episode that was built; of a camera: pictures."""
        return Shown()

    async def _load_problem(self, request: LoadProblem.Request,
                            response: LoadProblem.Response) -> LoadProblem.Response:
        return await self._in_time(f'building {request.problem!r}', response,
                                   lambda: self._load(request, response))

    async def _reset(self, request: ResetWorld.Request,
                     response: ResetWorld.Response) -> ResetWorld.Response:
        return await self._in_time(f'the reset for {request.episode_id!r}', response,
                                   lambda: self._begin(request, response))

    async def _in_time(self, what: str, response: Any,
                       work: Callable[[], Callable[[], None]]) -> Any:
        """Let the worker do something about the world, and show it; returns the response."""
        given_up = threading.Event()

        def start() -> Callable[[], None]:
            self._given_up = given_up
            return work()
        try:
            show = await self.worker.call(start, self._reset_timeout_s)
        except Exception as error:
            if isinstance(error, DeadlineError) and self._given_up is given_up:
                given_up.set()
                self.cancelled(f'{what} took too long and was given up')
            self.get_logger().error(f'{what} failed: {error_text(error)}')
            return fill_error(response, error)
        show()
        return response

    def _load(self, problem: LoadProblem.Request, response: LoadProblem.Response,
              ) -> Callable[[], None]:
        """Build the world of an episode, in the worker's thread."""
        self._problem, self._built, self.by_agent = self.keep(problem), False, False
        show = self.build(problem)
        shown = self.shown()
        response.no_pictures, response.describes = shown.no_pictures, shown.describes
        self._built = True
        return show

    def _begin(self, request: ResetWorld.Request, response: ResetWorld.Response,
               ) -> Callable[[], None]:
        """Begin an episode, in the worker's thread.

        Raises:
            WorldError: no problem was loaded for it; see also ``carry_on``.
        """
        show: Callable[[], None] | None
        if request.as_it_stands:
            self._built = self.by_agent = False
            self._problem, show = self.carry_on(request)
            _fill_objects(response, self._problem)
        else:
            problem = self._problem
            if problem is None or problem.episode_id != request.episode_id:
                raise WorldError(f'no problem was loaded for episode {request.episode_id!r}; call '
                                 '~/load_problem first')
            as_built, self._built = self._built and self.is_untouched(), False
            self.by_agent = not as_built
            show = None if as_built else self.build(problem)
        fill = self.begin()

        def show_and_fill() -> None:
            if show is not None:
                show()
            fill(response)
        return show_and_fill

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        self._unwanted.set()  # before: an action that begins at this moment sees it
        self.cancelled('the action was cancelled')
        return CancelResponse.ACCEPT

    async def _carry_out(self, handle: ServerGoalHandle, kind: Any,
                         carry_out: Callable[[Any], Callable[[Any], None]],
                         words: Callable[[Any], str]) -> Any:
        result = kind.Result()
        try:
            if handle.is_cancel_requested:
                handle.canceled()
                return result
            fill = await self.worker.call(lambda: self._act(carry_out, handle.request))
        except CancelledError as error:
            return await self._broken_off(handle, result, error)
        except Exception as error:
            if (handle.is_cancel_requested and isinstance(error, WorldError)
                    and not isinstance(error, StoppedError)):
                # The arm holds because of it; a stop that lasts is told as one.
                return await self._broken_off(handle, result, CancelledError(str(error)))
            self.get_logger().error(f'{words(handle.request)} failed: {error_text(error)}')
            await self._show_broken_off()
            handle.abort()
            return fill_error(result, error)
        finally:
            self._unwanted.clear()
            self._goal.release()
        fill(result)
        handle.publish_feedback(kind.Feedback(progress=1.0))
        handle.succeed()  # also when cancelled meanwhile: a skill that was done was done
        return result

    async def _broken_off(self, handle: ServerGoalHandle, result: Any,
                          error: CancelledError) -> Any:
        """End a goal that its client cancelled, or that nobody waits for; returns its result."""
        await self._show_broken_off()
        if handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return fill_error(result, error)

    async def _show_broken_off(self) -> None:
        """Show the world after a goal that failed; errors are only logged."""
        try:
            show = await self.worker.call(self.broken_off)
            show()
        except Exception as error:
            self.get_logger().error(f'the world cannot be shown: {error_text(error)}')

    def _act(self, carry_out: Callable[[Any], Callable[[Any], None]],
             goal: Any) -> Callable[[Any], None]:
        """Run a goal in the worker's thread, where it may have waited."""
        self.check_cancelled()
        self._built = False
        return carry_out(goal)

    def _execute(self, goal: ExecuteSkill.Goal) -> Callable[[ExecuteSkill.Result], None]:
        show = self.act(messages.from_msg(Action, goal.action))

        def fill(result: ExecuteSkill.Result) -> None:
            feedback, stamp_ns = show()
            result.status = messages.numbers(FeedbackStatus)[feedback.status]
            result.message = messages.text(feedback.message)
            result.stamp = MESSAGES.time_to_msg(stamp_ns)
        return fill


def _fill_objects(response: ResetWorld.Response, problem: LoadProblem.Request) -> None:
    """Write what a world was built for into a response: its objects, and facts of no secret."""
    domain, read = messages.read_problem(problem)
    response.domain, response.domain_pddl = problem.domain, problem.domain_pddl
    response.problem_pddl = domain.write_problem(read.for_agent(pictured_goal=True))
