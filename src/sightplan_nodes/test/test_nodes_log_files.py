"""Log files of nodes are bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sightplan_nodes.log_files import LogFile


def test_a_long_log_begins_again(tmp_path: Path) -> None:
    mine, other = tmp_path / 'python_7_1.log', tmp_path / 'python_77_1.log'
    log = LogFile(tmp_path, limit_bytes=100, pid=7)
    with mine.open('ab', buffering=0) as written:  # as ROS has it open
        for path in (mine, other):
            path.write_bytes(b'x' * 100)
        log.trim()
        assert mine.stat().st_size == 100, 'not too long yet'
        for number in range(5):
            written.write(b'%d' % number * 101)
            log.trim()
        assert mine.stat().st_size == 0
        written.write(b'more')
    assert mine.read_bytes() == b'more', 'no hole where it was cut'
    assert (tmp_path / 'python_7_1.log.1').read_bytes() == b'4' * 101
    assert other.stat().st_size == 100, "another process's"


def test_it_is_begun_again_where_it_cannot_be_kept(tmp_path: Path) -> None:
    path = tmp_path / 'python_7_1.log'
    path.write_bytes(b'x' * 101)
    (tmp_path / 'python_7_1.log.1').mkdir()
    LogFile(tmp_path, limit_bytes=100, pid=7).trim()
    assert path.stat().st_size == 0


_CHATTY = '''
from sightplan_nodes import log_files, spin
from rclpy.node import Node
log_files._EVERY_S = 0.0
log_files.LogFile.__init__.__defaults__ = (None, 10_000, None)
class Chatty(Node):
    exit_code = None
    def __init__(self):
        super().__init__('chatty')
        self.said = 0
        self.create_timer(0.0, self.say)
    def say(self):
        self.said += 1
        self.get_logger().error('x' * 1000)
        self.exit_code = 0 if self.said == 100 else None
spin.main(Chatty)
'''


def test_a_node_that_logs_much_fills_no_disk(tmp_path: Path) -> None:
    environment = {**os.environ, 'ROS_LOG_DIR': str(tmp_path),
                   'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'}
    done = subprocess.run([sys.executable, '-c', _CHATTY], env=environment, check=False,
                          capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr
    sizes = {path.suffix: path.stat().st_size for path in tmp_path.iterdir()}
    assert set(sizes) == {'.log', '.1'}
    assert sum(sizes.values()) < 3 * 10_000, 'a hundred thousand bytes were logged'
