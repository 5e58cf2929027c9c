"""Clients, services and subscriptions that threads of ours serve, instead of rclpy's executor.

Each time rclpy's executor waits, it collects everything that its nodes wait for, which costs about
a millisecond; and what it receives it has to hand to the thread that asked. That is too much for a
request that is answered in a few milliseconds. The executor skips clients and services in a
``NoExecutorGroup``; a thread waits for them with ``take_reply`` or ``take_request``.
"""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.client import Client
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription


class NoExecutorGroup(CallbackGroup):
    """A callback group whose clients, services and subscriptions no executor serves."""

    def can_execute(self, entity: Any) -> bool:
        """False: no executor may serve the entity."""
        return False

    beginning_execution = can_execute


def take_reply(node: Node, client: Client, timeout_s: float) -> None:
    """Wait for one reply, and set it as the result of its request's future.

    Args:
        node: owns the client.
        client: in a NoExecutorGroup.
        timeout_s: wall-clock limit [s].

    Raises:
        InvalidHandle: node or client was destroyed.
        RCLError: the ROS context was shut down.
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
        return  # nobody waits for it any more
    future.set_result(reply)


def take_message(node: Node, subscription: Subscription, timeout_s: float) -> Any:
    """Wait for one message.

    Args:
        node: owns the subscription.
        subscription: in a NoExecutorGroup.
        timeout_s: wall-clock limit [s].

    Returns:
        the message; None: there was none in time.

    Raises:
        InvalidHandle: node or subscription was destroyed.
        RCLError: the ROS context was shut down.
    """
    with subscription.handle, node.context.handle:
        waiting = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, node.context.handle)
        waiting.clear_entities()
        waiting.add_subscription(subscription.handle)
        waiting.wait(round(1e9 * timeout_s))
        if not waiting.get_ready_entities('subscription'):
            return None
        taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    return None if taken is None else taken[0]


def take_request(node: Node, service: Service, wake: GuardCondition,
                 timeout_s: float) -> tuple[Any, Any] | None:
    """Wait for one request.

    Args:
        node: owns the service.
        service: in a NoExecutorGroup.
        wake: ends the wait when another thread triggers it.
        timeout_s: wall-clock limit [s].

    Returns:
        The request and its header, for the reply; None: there was none in time.

    Raises:
        InvalidHandle: node, service or guard condition was destroyed.
        RCLError: the ROS context was shut down.
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
