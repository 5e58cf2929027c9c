"""``python -m sightplan_nodes.grasp REQUEST``: what ``sightplan arm grasp`` asks a running graph.

The grounder is asked where the thing is, and the world's node to take it there (``grasp_at``). The
request, and the answer on the last line of standard output, are JSON objects. A signal, or the end
of standard input, cancels: the arm holds.
"""

from __future__ import annotations

import dataclasses
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from sightplan_interfaces import msg
from sightplan_interfaces.action import GraspAt
from sightplan_interfaces.srv import Locate

from sightplan.model import (
    CancelledError,
    DeadlineError,
    Form,
    InputError,
    Region,
    SightplanError,
    Target,
    WorldError,
)
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.region import LEAST_TO_ACT
from sightplan.model.whereabouts import Whereabouts
from sightplan.records import messages
from sightplan_arm.skills.report import OCCUPIED
from sightplan_belief import Found
from sightplan_belief.grasp_choice import Choice, choose_grasp
from sightplan_nodes import names
from sightplan_nodes.asking import answer_request
from sightplan_nodes.calls import ActionCaller, ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.query_messages import fill_targets, found_from_response

_APPEAR_S = 10.0
_LEAST_S = 0.1


@dataclass(frozen=True, slots=True)
class Request:
    """A request of ``sightplan arm grasp``.

    Attributes:
        target: what to take, in words; '' with ``put_back``.
        points: where it is, in unit coordinates: one for a point, more for a trace along which it
            is to be carried; none: the grounder is asked.
        part: whether to take it just there; None: if the words name a part of something.
        put_back: whether to put back what is held instead.
        least: probability from which the grounder is believed, if a check confirmed that the
            thing is there and its model knows the words; ``LEAST_TO_ACT`` or more.
        timeout_s: of the grounder's answer, and of the motions.

    Raises:
        InputError: nothing is asked for, or a number is out of bounds.
    """

    target: str = ''
    points: tuple[tuple[float, float], ...] = ()
    part: bool | None = None
    put_back: bool = False
    least: float = LEAST_TO_ACT
    timeout_s: float = 120.0

    def __post_init__(self) -> None:
        if not (self.target or self.points or self.put_back):
            raise InputError('say what to grasp, or where it is')
        if self.put_back and (self.target or self.points):
            raise InputError('what is held is put back, whatever it is: name nothing besides')
        if not LEAST_TO_ACT <= self.least <= 1.0:
            raise InputError(f'least is {self.least:g}; give a probability from '
                             f'{LEAST_TO_ACT:g} to 1, or the place itself')
        if not 0.1 <= self.timeout_s <= 3600.0:
            raise InputError(f'timeout_s is {self.timeout_s:g}; give 0.1 to 3600 s')
        _given(self)

    @property
    def is_part(self) -> bool:
        """Whether the thing is taken exactly where it is pointed at."""
        return ' of ' in f' {self.target} ' if self.part is None else self.part


class GraspClient(Node):
    """Asks the grounder for a place and the world for a grasp; spins in another thread."""

    def __init__(self, name: str = 'grasp') -> None:
        super().__init__(name)
        self._locate = ServiceCaller(self, Locate, names.LOCATE, names.GROUNDER)

    def grasp(self, request: Request, cancelled: Callable[[], bool]) -> dict[str, Any]:
        """Carry out the request.

        Returns:
            ``cause`` and ``message`` of the report; ``whereabouts``, ``region`` and
            ``probability`` of the thing; ``like``: what is like it, where it is not grasped.

        Raises:
            SightplanError: grounder or world is not there, or it went wrong there.
        """
        world = self._world(cancelled)
        found: dict[str, Any] = {}
        present: float | None
        region, present = _given(request), None
        if region is None and not request.put_back:
            choice = self._choose(request, cancelled, world, found)
            if choice.region is None:
                return {**found, 'cause': choice.cause, 'message': choice.message}
            region, present = choice.region, choice.present
        if region is not None:
            found['region'] = region.to_json()
        result = self._move(GraspAt.Goal(
            region=msg.Region() if region is None else MESSAGES.region_to_msg(region),
            label=request.target, part=request.is_part,
            present=messages.probability_to_msg(present)), request.timeout_s, cancelled, world)
        return {**found, 'world': world, 'cause': result.cause, 'message': result.message}

    def _world(self, cancelled: Callable[[], bool]) -> str:
        """The node of this namespace that is the world.

        Raises:
            CancelledError: cancelled while it was awaited.
            DeadlineError: there is none.
            WorldError: an agent is there, with which the world would refuse to grasp.
        """
        end = time.monotonic() + _APPEAR_S
        while True:
            here = {name for name, space in self.get_node_names_and_namespaces()
                    if space == self.get_namespace()}
            there = [name for name in names.WORLDS if name in here]
            if there:
                if names.AGENT in here:
                    raise WorldError(
                        f'the node {names.AGENT} is there, and may move the arm in an episode: '
                        'end its graph, and use that of "sightplan up grasp"')
                return there[0]
            if cancelled():
                raise CancelledError('cancelled before anything moved')
            if time.monotonic() > end:
                raise DeadlineError(f'{" or ".join(names.WORLDS)} is not there within '
                                    f'{_APPEAR_S:g} s: start a graph with an arm (sightplan up '
                                    'grasp), with the same ROS_DOMAIN_ID')
            time.sleep(0.1)

    def _choose(self, request: Request, cancelled: Callable[[], bool], world: str,
                answer: dict[str, Any]) -> Choice:
        """Choose where to grasp; look again where the arm may have hidden something.

        Args:
            request: what is asked for.
            cancelled: whether to give up.
            world: node that moves the arm.
            answer: is told what was found.
        """
        end = time.monotonic() + request.timeout_s

        def ask(targets: Sequence[Target], settings: PointerSettings | None) -> list[Found]:
            left_s = max(end - time.monotonic(), _LEAST_S)
            asked = fill_targets(Locate.Request(
                accept=request.least, timeout_s=left_s,
                mark='point' if request.is_part else ''), targets, settings)
            return found_from_response(self._locate.checked(asked, left_s, cancelled), targets)
        choice = choose_grasp(request.target, ask, request.least)
        if choice.region is None:
            cleared = self._clear_view(request, cancelled, world)
            if isinstance(cleared, str):
                choice = dataclasses.replace(choice, message=f'{choice.message}; {cleared}')
            elif cleared.cause == OCCUPIED:
                # The thing may be the one in the hand: what is like it is no news.
                choice = dataclasses.replace(choice, cause=OCCUPIED, message=cleared.message,
                                             like=())
            elif cleared.moved:
                choice = choose_grasp(request.target, ask, request.least)
        found = choice.found
        answer |= {'whereabouts': str(found.whereabouts), 'probability': found.probability}
        if choice.region is not None:
            answer['probability'] = choice.region.probability
        elif found.whereabouts is Whereabouts.HERE:
            answer['region'] = found.regions[0].to_json()
        if choice.like:
            answer['like'] = [{'target': one.target.text, 'region': one.regions[0].to_json(),
                               'probability': one.probability} for one in choice.like]
        return choice

    def _clear_view(self, request: Request, cancelled: Callable[[], bool],
                    world: str) -> GraspAt.Result | str:
        """Have the arm move out of the camera's view; why it did not, in words, if it fails."""
        try:
            return self._move(GraspAt.Goal(clear_view=True, label=request.target),
                              request.timeout_s, cancelled, world)
        except CancelledError:
            raise
        except SightplanError as error:
            return f'the arm was not moved out of the view: {error}'

    def _move(self, goal: GraspAt.Goal, timeout_s: float, cancelled: Callable[[], bool],
              world: str) -> GraspAt.Result:
        """Let the arm move.

        Raises:
            DeadlineError: it took too long; says which clock counts and how to allow more.
            SightplanError: the world is not there, or it went wrong there.
        """
        try:
            result: GraspAt.Result = ActionCaller(self, GraspAt, names.GRASP_AT, world).checked(
                goal, timeout_s, cancelled)
        except DeadlineError as error:
            raise DeadlineError(
                f"{error}; --timeout allows more. It counts seconds of the computer's clock, "
                'which goes on while the time of a simulated arm waits for a busy computer'
            ) from error
        return result


def _given(request: Request) -> Region | None:
    """The place that the request names; None if it names none."""
    if not request.points:
        return None
    form = Form.POINT if len(request.points) == 1 else Form.TRACE
    return Region(form, request.points, request.target)


def read_request(data: Mapping[str, Any]) -> Request:
    """A request from plain JSON data.

    Raises:
        InputError: it is none.
    """
    try:
        points = tuple((float(x), float(y)) for x, y in data.get('points', ()))
        return Request(**{**data, 'points': points})
    except (TypeError, ValueError) as error:
        raise InputError(f'{data} is no request to grasp something: {error}') from error


def _watch_stdin(cancel: threading.Event) -> None:
    """Cancel when standard input ends, which means that the caller is gone."""
    def wait() -> None:
        sys.stdin.read()
        cancel.set()
    threading.Thread(target=wait, name='standard input', daemon=True).start()


def main() -> int:
    """Do what the first argument asks for, and print the answer.

    A signal, or the end of standard input, cancels: the arm holds.
    """
    cancel = threading.Event()
    signals: list[int] = []  # an event's lock could be held by the handler of the signal before
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: signals.append(got))
    _watch_stdin(cancel)
    return answer_request(
        'grasp', read_request, GraspClient,
        lambda node, request: node.grasp(request, lambda: bool(signals) or cancel.is_set()))


if __name__ == '__main__':
    sys.exit(main())
