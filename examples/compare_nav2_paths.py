"""Which of three Nav2 planners' paths is best? Prints the order and why.

Without arguments it takes the recorded paths of the bag beside it; with ``X Y`` it asks Nav2 for
paths to that point, and with ``X Y --follow`` drives along the best one. The critic must run
(``sightplan up paths``). docs/nav2.md says what each field means.
"""

import sys
from pathlib import Path as File

import rclpy
from nav_msgs.msg import OccupancyGrid, Path
from rclpy.serialization import deserialize_message
from sightplan_interfaces.msg import PathLimit
from sightplan_interfaces.srv import ComparePaths

from sightplan.records.bag_reading import open_bag


def recorded():
    """The map and the paths of the bag beside this file, by numbers of the messages."""
    bag = open_bag(File(__file__).parent / 'three_paths')
    grid, *paths = (deserialize_message(message.data, kind) for topic, kind in (
        ('/map', OccupancyGrid), ('/plan', Path)) for message in bag.messages([topic]))
    return grid, {f'/plan {number}': path for number, path in enumerate(paths, 1)}


def compare(node, grid, paths):
    """Ask the critic: keep clear of obstacles, on at most 1.5 times the shortest way."""
    request = ComparePaths.Request(map=grid, paths=list(paths.values()), radius=0.3)
    request.vector_given, request.vector = True, [0, 1, 0, 0, 0, 0, 0]  # minimum_clearance: more
    request.limits = [PathLimit(descriptor='length', relation='<=', value=1.5,
                                reference=PathLimit.TIMES_LEAST)]
    client = node.create_client(ComparePaths, 'path_critic/compare_paths')
    if not client.wait_for_service(30.0):
        sys.exit('nobody offers path_critic/compare_paths (start "sightplan up paths")')
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=30.0)
    reply = future.result() if future.done() else sys.exit('the critic does not reply')
    return reply if not reply.error_code else sys.exit(f'the critic says: {reply.error_msg}')


def main(arguments):
    """Print the order and why, and drive along the best path with ``--follow``; returns it."""
    rclpy.init()
    node = rclpy.create_node('compare_nav2_paths')
    if arguments:
        import nav2_actions  # needs nav2_msgs
        grid, paths = nav2_actions.ask_planners(node, float(arguments[0]), float(arguments[1]))
    else:
        grid, paths = recorded()
    if len(paths) < 2:
        sys.exit(f'{len(paths)} planners found a path: there is nothing to compare')
    reply, names = compare(node, grid, paths), list(paths)
    for number in reply.ranking[:len(names) - len({each.path for each in reply.exclusions})]:
        print(f'{names[number]}: the best with probability {reply.best[number]:.2f}')
    for each in reply.exclusions:
        print(f'{names[each.path]} is out: it {each.words}')
    print(reply.reason)
    best = paths[names[reply.ranking[0]]] if reply.ranking else None
    if best is not None and '--follow' in arguments:
        nav2_actions.follow(node, best)
    return best


if __name__ == '__main__':
    main(sys.argv[1:])
