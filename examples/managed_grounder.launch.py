"""Start a grounder from a launch file of your own, and configure and activate it when you want.

    ros2 launch examples/managed_grounder.launch.py backend:=embedded

The grounder is a lifecycle node: its model is loaded when it is configured, and it answers while
it is active. By itself it does both at the start; here the launch file does, as a lifecycle
manager (Nav2's, for example) would.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, RegisterEventHandler
from launch.events import matches_action
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from lifecycle_msgs.msg import Transition


def generate_launch_description():
    """The grounder; it is activated once it has been configured."""
    grounder = LifecycleNode(
        package='sightplan_nodes', executable='grounder', name='grounder', namespace='eyes',
        output='screen', parameters=[{'autostart': False, 'domain': 'blocksworld',
                                      'backend': LaunchConfiguration('backend')}],
        remappings=[('camera/image_raw', '/camera/image_raw'),  # else those in its namespace
                    ('camera/camera_info', '/camera/camera_info')])

    def change(transition):
        return EmitEvent(event=ChangeState(
            lifecycle_node_matcher=matches_action(grounder), transition_id=transition))
    return LaunchDescription([
        DeclareLaunchArgument('backend', default_value='embedded', description='Who answers'),
        RegisterEventHandler(OnStateTransition(
            target_lifecycle_node=grounder, start_state='configuring', goal_state='inactive',
            entities=[change(Transition.TRANSITION_ACTIVATE)])),
        grounder,
        change(Transition.TRANSITION_CONFIGURE),
    ])
