"""Clients and services that a thread waits for by itself, beside the executor.

A turn of rclpy's executor costs about a millisecond, because it makes a new set of all that its
nodes wait for, and hands its results to another thread: too much for a request that is answered
in a few milliseconds. What is in a group ``Beside`` is left alone by it.
"""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.client import Client
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.service import Service


class Beside(CallbackGroup):
    """What is in it is never an executor's to serve."""

    def can_execute(self, entity: Any) -> bool:
        """Never."""
        return False

    beginning_execution = can_execute


def take_reply(node: Node, client: Client, timeout_s: float) -> None:
    """Wait for a reply, and make the future of its request come true.

    Args:
        node: the client's.
        client: one in a group Beside.
        timeout_s: wall-clock limit [s].
    """
    with client.handle, node.context.handle:
        waiting = rclpy_implementation.WaitSet(0, 0, 0, 1, 0, 0, node.context.handle)
        waiting.clear_entities()
        waiting.add_client(client.handle)
        waiting.wait(round(1e9 * timeout_s))
        if not waiting.get_ready_entities('client'):
            return
        header, reply = client.handle.take_response(client.srv_type.Response)
    if header is None:
        return
    try:
        future = client.get_pending_request(header.request_id.sequence_number)
    except KeyError:
        return  # it was given up
    future.set_result(reply)


def take_request(node: Node, service: Service, wake: GuardCondition,
                 timeout_s: float) -> tuple[Any, Any] | None:
    """Wait for a request; returns it with its header, or None.

    Args:
        node: the service's.
        service: one in a group Beside.
        wake: ends the wait when it is triggered.
        timeout_s: wall-clock limit [s].

    Raises:
        InvalidHandle: node, service or guard condition was destroyed.
    """
    with service.handle, wake.handle, node.context.handle:
        waiting = rclpy_implementation.WaitSet(0, 1, 0, 0, 1, 0, node.context.handle)
        waiting.clear_entities()
        waiting.add_service(service.handle)
        waiting.add_guard_condition(wake.handle)
        waiting.wait(round(1e9 * timeout_s))
        if not waiting.get_ready_entities('service'):
            return None
        request, header = service.handle.service_take_request(service.srv_type.Request)
    return None if header is None else (request, header)
