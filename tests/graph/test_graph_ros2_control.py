"""The simulated robot behind a real controller_manager, as docs/real_robot.md has it rehearsed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from graph_testing import LIMIT_S, eventually

from sightplan.graphs.up import reserved_domain
from sightplan_arm.config import load_robot

PACKAGES = ('controller_manager', 'joint_state_broadcaster', 'joint_trajectory_controller',
            'joint_state_topic_hardware_interface', 'gripper_controllers')


def missing() -> str:
    """What is not installed; '': all is."""
    for package in PACKAGES:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            return package
    return ''


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=f'the ROS package {missing()} is not installed'),
    pytest.mark.skipif(os.getloadavg()[0] > len(os.sched_getaffinity(0)),
                       reason='it is in real time, and this computer is busy')]

ROBOT = load_robot('panda')
HARDWARE = '''
  <ros2_control name="panda" type="system">
    <hardware>
      <plugin>joint_state_topic_hardware_interface/JointStateTopicSystem</plugin>
      <param name="joint_commands_topic">/hardware/joint_commands</param>
      <param name="joint_states_topic">/hardware/joint_states</param>
      <param name="trigger_joint_command_threshold">-1</param>
    </hardware>
{joints}
  </ros2_control>
</robot>
'''
JOINT = ('    <joint name="{name}">{command}<state_interface name="position"/>'
         '<state_interface name="velocity"/></joint>')
CONTROLLERS = '''
controller_manager:
  ros__parameters:
    update_rate: 100
    enforce_command_limits: true
    joint_state_broadcaster: {{type: joint_state_broadcaster/JointStateBroadcaster}}
    panda_arm_controller: {{type: joint_trajectory_controller/JointTrajectoryController}}
    panda_hand_controller: {{type: position_controllers/GripperActionController}}
panda_arm_controller:
  ros__parameters:
    joints: [{joints}]
    command_interfaces: [position]
    state_interfaces: [position, velocity]
panda_hand_controller:
  ros__parameters: {{joint: panda_finger_joint1, allow_stalling: true, goal_tolerance: 0.001}}
'''
DESCRIBE = '''
import sys, rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node('description')
said = node.create_publisher(String, '/robot_description', QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
said.publish(String(data=open(sys.argv[1]).read()))
rclpy.spin(node)
'''
NAMES = ('joint_state_broadcaster', 'panda_arm_controller', 'panda_hand_controller')


def files(folder: Path, interface: str) -> tuple[Path, Path, Path]:
    """URDF with hardware, parameters of the controllers, and the robot's file."""
    urdf, controllers, robot = (folder / name for name in (
        'panda.urdf', 'controllers.yaml', 'rehearsal.yaml'))
    joints = [JOINT.format(name=name, command='' if name == ROBOT.gripper.joints[1] else
                           '<command_interface name="position"/>')  # the other finger mimics one
              for name in (*ROBOT.arm.joints, *ROBOT.gripper.joints)]
    urdf.write_text(ROBOT.urdf.read_text().replace(
        '</robot>', HARDWARE.format(joints='\n'.join(joints))))
    controllers.write_text(CONTROLLERS.format(joints=', '.join(ROBOT.arm.joints)))
    text = ROBOT.file.read_text().replace('interface: auto', f'interface: {interface}')
    for field, value in (('image', '/hardware/camera/image_raw'),
                         ('info', '/hardware/camera/camera_info'),
                         ('depth', '/hardware/camera/depth/image_raw'),
                         ('state_timeout_s', 3.0), ('image_timeout_s', 3.0),
                         ('heartbeat_timeout_s', 3.0), ('tracking_tolerance_rad', 0.3)):
        text, count = re.subn(rf'(?m)^( +{field}:).*', rf'\1 {value}', text)
        assert count == 1, field
    robot.write_text(text)
    return urdf, controllers, robot


@contextlib.contextmanager
def running(*command: str, environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen]:
    """A process that is ended at the end, with whatever it started."""
    with log.open('wb') as out:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield process
    finally:
        for number, limit_s in ((signal.SIGINT, 20.0), (signal.SIGKILL, 20.0)):
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, number)
                process.wait(limit_s)


@pytest.mark.parametrize('interface', ['auto', 'action'])
def test_an_episode_over_real_controllers(start, tmp_path: Path, interface: str) -> None:
    urdf, controllers, robot = files(tmp_path, interface)
    out, programs = tmp_path / 'run', Path(get_package_prefix('controller_manager'),
                                           'lib/controller_manager')
    with reserved_domain() as domain, contextlib.ExitStack() as stack:
        there = {'ROS_DOMAIN_ID': str(domain), 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}

        def run(log: str, *command: str) -> subprocess.Popen:
            return stack.enter_context(running(
                *command, environment={**os.environ, **there}, log=tmp_path / log))
        run('description.txt', sys.executable, '-c', DESCRIBE, str(urdf))
        arm = start('world:=arm_bridge', 'hardware:=simulated', 'lockstep:=false',
                    '--only=hardware/sim_bridge', out=out, environment=there)
        run('control.txt', str(programs / 'ros2_control_node'), '--ros-args', '--params-file',
            str(controllers))
        spawner = run('spawner.txt', sys.executable, str(programs / 'spawner'), *NAMES,
                      '--controller-manager-timeout', str(LIMIT_S), '--param-file',
                      str(controllers))
        assert spawner.wait(LIMIT_S) == 0, (tmp_path / 'spawner.txt').read_text()
        graph = start(
            'world:=arm_bridge', 'hardware:=real', f'robot:={robot}', 'backend:=embedded',
            'setup:=/hardware/sim_bridge/load_problem', 'method:=belief', 'stop_at_goal:=no',
            'privileged:=none', 'episodes:=1', f'out:={out}', out=out, environment=there)
        eventually(lambda: graph.process.poll() is not None, 'the end of the run')
        assert graph.wait() == 0, graph.text
        line, = graph.lines()
    assert line['stop'] == 'plan_done' and line['steps'] > 0
    assert 'are not followed' not in arm.text
