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
from collections.abc import Callable, Mapping
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
    Target,
)
from sightplan.model.region import LEAST_TO_ACT
from sightplan_nodes import names
from sightplan_nodes.asking import answer_request
from sightplan_nodes.calls import ActionCaller, ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.query_messages import fill_targets, found_from_response

_APPEAR_S = 10.0
ABSTAINED = 'abstained'
"""The cause where nothing was tried: it is not sure where the thing is, or that it is there."""


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
            ``cause`` and ``message`` of the report; ``region`` and ``probability`` of where the
            thing is taken to be.

        Raises:
            SightplanError: grounder or world is not there, or it went wrong there.
        """
        world = self._world(cancelled)
        found: dict[str, Any] = {}
        region: Region | None = None
        if not request.put_back:
            region = _given(request) or self._found(request, cancelled, found)
            if region is None:
                return found
            found['region'] = region.to_json()
        call = ActionCaller(self, GraspAt, names.GRASP_AT, world)
        result = call.checked(GraspAt.Goal(
            region=msg.Region() if region is None else MESSAGES.region_to_msg(region),
            label=request.target, part=request.is_part), request.timeout_s, cancelled)
        return {**found, 'world': world, 'cause': result.cause, 'message': result.message}

    def _world(self, cancelled: Callable[[], bool]) -> str:
        """The node of this namespace that is the world.

        Raises:
            CancelledError: cancelled while it was awaited.
            DeadlineError: there is none.
        """
        end = time.monotonic() + _APPEAR_S
        while True:
            here = {name for name, space in self.get_node_names_and_namespaces()
                    if space == self.get_namespace()}
            there = [name for name in names.WORLDS if name in here]
            if there:
                return there[0]
            if cancelled():
                raise CancelledError('cancelled before anything moved')
            if time.monotonic() > end:
                raise DeadlineError(f'{" or ".join(names.WORLDS)} is not there within '
                                    f'{_APPEAR_S:g} s: start a graph with an arm (sightplan up '
                                    'grasp), with the same ROS_DOMAIN_ID')
            time.sleep(0.1)

    def _found(self, request: Request, cancelled: Callable[[], bool],
               answer: dict[str, Any]) -> Region | None:
        """Return the place that the grounder found; None if it is not sure (see ``answer``)."""
        targets = [Target(request.target, Form.POINT)]
        asked = fill_targets(Locate.Request(
            accept=request.least, timeout_s=request.timeout_s,
            mark='point' if request.is_part else ''), targets)
        response = self._locate.checked(asked, request.timeout_s, cancelled)
        thing, = found_from_response(response, targets)
        answer['probability'] = thing.probability
        if thing.unread:
            answer |= {'cause': ABSTAINED, 'message': f'the reply cannot be used: {thing.unread}'}
        elif not thing.regions:
            answer |= {'cause': ABSTAINED, 'message': f'{request.target} was not found: '
                       f'{thing.missing}'}
        elif not thing.sure or (thing.probability or 0.0) < request.least:
            answer |= {'cause': ABSTAINED, 'region': thing.regions[0].to_json(), 'message':
                       f'it is not sure where {request.target} is'
                       f'{": " if thing.doubt else ""}{thing.doubt}; say where with --at to have '
                       'it grasped all the same'}
        else:
            return dataclasses.replace(thing.regions[0], probability=thing.probability)
        return None


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
