"""Ask the grounder where something is in the camera's next picture, and whether a fact holds.

With a graph that has a grounder and a camera (``sightplan up do``) in another shell:

    python ask_about_picture.py "the mug"
    python ask_about_picture.py "on g,b" "Is the green block on top of the blue block?" "the mug"

A fact is asked about by an atom of the domain, and a question in words.
"""

import sys

import rclpy
from rclpy.utilities import remove_ros_args
from sightplan_interfaces.msg import Located
from sightplan_interfaces.srv import Ground, Locate


def ask(node, kind, name, request):
    """The grounder's reply to a request about the next picture of camera/image_raw."""
    client = node.create_client(kind, name)
    if not client.wait_for_service(30.0):
        sys.exit(f'nobody offers {name} (start "sightplan up do")')
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=60.0)
    reply = future.result() if future.done() else sys.exit('the grounder does not reply')
    return reply if not reply.error_code else sys.exit(f'the grounder says: {reply.error_msg}')


def main(arguments):
    """Print the answer about an atom, if there is one, and the place of a thing; returns both."""
    rclpy.init()
    if len(arguments) not in (1, 3):
        sys.exit(__doc__)
    *fact, thing = arguments
    node, said = rclpy.create_node('ask_about_picture'), None
    if fact:
        atom, question = fact
        said = ask(node, Ground, 'grounder/ground',
                   Ground.Request(atoms=[atom], questions=[question]))
        print(f'{question} {said.texts[0]} (P(yes) = {said.p_yes[0]:.3f})')
        if any(said.read_as):
            print(f'The question was read as: {said.read_as[0]}')
    found, = ask(node, Locate, 'grounder/locate', Locate.Request(targets=[thing])).found
    where = {Located.HERE: 'here', Located.NOT_HERE: 'not here'}.get(found.whereabouts, 'unclear')
    places = [(list(one.x), list(one.y)) for one in found.regions]
    print(f'{thing}: {where} {places} (P(it exists) = {found.present:.3f}) {found.reason}')
    return said, found


if __name__ == '__main__':
    main(remove_ros_args(sys.argv)[1:])
