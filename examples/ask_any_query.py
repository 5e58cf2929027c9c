"""Ask the grounder a query of any kind, in JSON, about the camera's next picture.

With a graph that has a grounder and a camera (``sightplan up do``) in another shell:

    python ask_any_query.py '{"kind": "yes_no", "observation": 0, "question":
        {"atom": "on g,b", "text": "Is the green block on top of the blue block?"}}'

    python ask_any_query.py '{"kind": "locate", "image": {"image": "0"},
        "target": {"text": "the green block", "form": "point"}}'

Kinds of your own travel in the same way; ``observation`` is a number in ``observations``, and so
is the text of ``image`` where a query shows a picture by itself.
"""

import json
import sys

import rclpy
from rclpy.utilities import remove_ros_args
from rclpy.wait_for_message import wait_for_message
from sensor_msgs.msg import Image
from sightplan_interfaces.msg import Observation
from sightplan_interfaces.srv import Ask


def main(arguments):
    """Print the reply; returns it, as plain data."""
    if len(arguments) != 1:
        sys.exit(__doc__)
    rclpy.init()
    node = rclpy.create_node('ask_any_query')
    came, picture = wait_for_message(Image, node, 'camera/image_raw', time_to_wait=30.0)
    if not came:
        sys.exit('no picture on camera/image_raw (start "sightplan up do")')
    client = node.create_client(Ask, 'grounder/ask')
    if not client.wait_for_service(30.0):
        sys.exit('nobody offers grounder/ask (start "sightplan up do")')
    seen = Observation(header=picture.header, image=[picture])
    future = client.call_async(Ask.Request(observations=[seen], queries=arguments))
    rclpy.spin_until_future_complete(node, future, timeout_sec=60.0)
    reply = future.result() if future.done() else sys.exit('the grounder does not reply')
    if reply.error_code:
        sys.exit(f'the grounder says: {reply.error_msg}')
    print(f'{reply.model}: {reply.replies[0]}')
    return json.loads(reply.replies[0])


if __name__ == '__main__':
    main(remove_ros_args(sys.argv)[1:])
