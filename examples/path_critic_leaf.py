"""A leaf for trees of py_trees that lets the path critic choose a path; see docs/nav2.md."""

import time

import py_trees
from py_trees.common import Access, Status
from sightplan_interfaces.srv import ComparePaths

ERROR, NO_BEST, NO_REPLY = 9000, 9100, 9101
"""The critic's own codes are added to the first. Nav2's are below 1000, and the lowest counts."""


class ChoosePath(py_trees.behaviour.Behaviour):
    """Asks the critic once: RUNNING until it replies, SUCCESS if there is a best path.

    It reads ``map`` (nav_msgs/OccupancyGrid) and ``paths`` (list of nav_msgs/Path) from the
    blackboard when it asks, and writes ``path`` (the best one, None if there is none),
    ``error_code_id``, ``error_msg`` and ``reason``.
    """

    def __init__(self, name, server_timeout_s=5.0, **wanted):
        """Make a leaf.

        Args:
            name: of the leaf.
            server_timeout_s: FAILURE after this time without a reply [s].
            wanted: further fields of the request, such as ``vector`` and ``limits``.
        """
        super().__init__(name)
        self._limit_s, self._wanted = server_timeout_s, wanted
        self._future = None
        self._board = self.attach_blackboard_client()
        for key in ('map', 'paths'):
            self._board.register_key(key, Access.READ)
        for key in ('path', 'error_code_id', 'error_msg', 'reason'):
            self._board.register_key(key, Access.WRITE)

    def setup(self, **kwargs):
        """Make the client; ``node`` is the tree's, and somebody else spins it."""
        self._client = kwargs['node'].create_client(ComparePaths, 'path_critic/compare_paths')

    def initialise(self):
        """Begin anew."""
        self._future, self._until = None, time.monotonic() + self._limit_s

    def update(self):
        """Ask as soon as the critic is there, then wait for its reply."""
        if self._future is None and self._client.service_is_ready():
            self._future = self._client.call_async(ComparePaths.Request(
                map=self._board.map, paths=self._board.paths, timeout_s=self._limit_s,
                vector_given='vector' in self._wanted, **self._wanted))
        if self._future is None or not self._future.done():
            late = time.monotonic() > self._until
            return self._end(NO_REPLY, 'the path critic does not reply') if late else (
                Status.RUNNING)
        reply = self._future.result()
        self._board.reason = reply.reason
        if reply.error_code:
            return self._end(ERROR + reply.error_code, reply.error_msg)
        if not reply.ranking:
            return self._end(NO_BEST, reply.reason)
        return self._end(0, '', self._board.paths[reply.ranking[0]])

    def terminate(self, new_status):
        """Drop a reply that is still to come, when the tree is halted or the time has passed."""
        if self._future is not None and not self._future.done():
            self._client.remove_pending_request(self._future)

    def _end(self, code, message, path=None):
        self._board.error_code_id, self._board.error_msg = code, message
        self._board.path = path
        return Status.SUCCESS if code == 0 else Status.FAILURE
