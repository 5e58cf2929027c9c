"""Named errors of the core as error codes in replies, and back.

Every service response and action result carries ``error_code`` (0: none) and ``error_msg``. This
is the only place that turns one into the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from rclpy.node import Node
from rclpy.serialization import serialize_message

from sightplan import model
from sightplan.model import InfrastructureError, SightplanError
from sightplan.model.redaction import without_secrets
from sightplan.records.messages import text
from sightplan_nodes import names
from sightplan_nodes.diagnosis import LAST_ERROR

NO_ERROR = 0


def _classes(cls: type[SightplanError]) -> list[type[SightplanError]]:
    return [cls, *(sub for child in cls.__subclasses__() for sub in _classes(child))]


BY_CODE: dict[int, type[SightplanError]] = {
    cls.code: cls for cls in _classes(SightplanError) if cls.__module__ == model.errors.__name__}
"""The error class of each stable code."""


def fill_error(reply: Any, error: BaseException) -> Any:
    """Write an exception into a reply's error fields.

    Args:
        reply: a service response or action result with ``error_code`` and ``error_msg``.
        error: an expected error keeps its code; any other becomes InfrastructureError, with its
            type named, because the method is not to blame for it. Its text may be anybody's, a
            server's for example.
    """
    kind = type(error) if isinstance(error, SightplanError) else InfrastructureError
    reply.error_code = kind.code
    reply.error_msg = error_text(error)
    LAST_ERROR.note(reply.error_msg)
    return reply


def error_text(error: BaseException) -> str:
    """The message of an exception without secrets; with its type, if it was not expected."""
    return without_secrets(text(str(error) if isinstance(error, SightplanError)
                                else f'{type(error).__name__}: {error}'))


def dropping(node: Node, topic: str, callback: Callable[..., Any]) -> Callable[..., None]:
    """A subscription's callback that drops a message that cannot be taken, and logs it.

    rclpy lets what leaves a callback end the node, and after a process was killed a message of 0
    bytes may come.

    Args:
        node: logs what went wrong.
        topic: for the log.
        callback: takes messages.
    """
    def take(*arguments: Any) -> None:
        try:
            callback(*arguments)
        except Exception as error:
            node.get_logger().error(f'a message on {topic} is dropped: {error_text(error)}',
                                    throttle_duration_sec=1.0)
    # rclpy asks the signature whether the callback wants what is known of the message, too.
    take.__signature__ = inspect.signature(callback)  # type: ignore[attr-defined]
    return take


def guarded(node: Node, reply_type: type,
            callback: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A callback of a service or action that always has a reply, one that can be sent.

    rclpy lets what leaves a callback, or a reply that cannot be serialised, end the node.

    Args:
        node: logs what went wrong.
        reply_type: type of a service's response or an action's result, with the error fields.
        callback: what serves; it may be a coroutine function.
    """
    async def serve(*arguments: Any) -> Any:
        try:
            reply = callback(*arguments)
            if inspect.isawaitable(reply):
                reply = await reply
            serialize_message(reply)
        except Exception as error:
            reply = fill_error(reply_type(), error)
            node.get_logger().error(
                f'{reply_type.__name__} cannot be given: {reply.error_msg}')
        return reply
    return serve


def error_from_text(said: str) -> SightplanError:
    """Return the exception named by the message of an episode that ended as an error.

    Args:
        said: ``TypeName: message``, as the episode loop writes it; any other text is an
            InfrastructureError.
    """
    name, _, message = said.partition(': ')
    for cls in BY_CODE.values():
        if cls.__name__ == name:
            return cls(message)
    return InfrastructureError(said)


def raise_error(reply: Any, node: str) -> None:
    """Raise the exception that a reply carries, if any.

    Args:
        reply: a service response or action result.
        node: name of the node that replied, for the message, unless that begins with the name of
            a node already.

    Raises:
        SightplanError: the subclass with the reply's code; a code from a newer version of the
            interfaces becomes InfrastructureError.
    """
    if reply.error_code == NO_ERROR:
        return
    cls = BY_CODE.get(reply.error_code, InfrastructureError)
    message = reply.error_msg
    says_who = message.partition(' ')[0].rstrip(':') in (node, *names.NODES)
    raise cls(message if says_who else f'{node}: {message}')
