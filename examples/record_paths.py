"""Write the bag ``examples/three_paths``: a map and three paths, as Nav2 publishes them.

    python examples/record_paths.py FOLDER

The hall has two racks with a narrow gap between them. The paths are drawn by hand in the manner
of three kinds of planners: one through the gap, one in smooth bends around the racks, one in
straight lines close along their corners. ``ros2 bag record /map /plan`` beside
``compare_nav2_paths.py X Y`` records the same topics of a running Nav2.
"""

import itertools
import sys
from pathlib import Path

import numpy as np

from sightplan.records.bag import BagWriter, Qos
from sightplan.records.bag_messages import BagMessages

CELL, WIDTH, HEIGHT = 0.1, 120, 80
RACKS = ((40, 15, 80, 36), (40, 44, 80, 65))  # left, bottom, right, top [cells]
PATHS = (
    ((1.5, 4.0), (10.5, 4.0)),
    ((1.5, 4.0), (3.4, 7.2), (8.6, 7.2), (10.5, 4.0)),
    ((1.5, 4.0), (3.9, 1.4), (8.1, 1.4), (10.5, 4.0)))
SMOOTH = (False, True, False)
START_NS = 1_700_000_000_000_000_000


def cells():
    """Occupancies (rows, columns): walls and racks."""
    found = np.full((HEIGHT, WIDTH), 100, np.int8)
    found[1:-1, 1:-1] = 0
    for left, bottom, right, top in RACKS:
        found[bottom:top, left:right] = 100
    return found


def poses(corners, smooth):
    """Points (N, 2) every 0.1 m along straight lines, rounded within a metre if wanted."""
    lines = [np.linspace(a, b, round(float(np.hypot(*np.subtract(b, a))) / 0.1), endpoint=False)
             for a, b in itertools.pairwise(corners)]
    points = np.vstack([*lines, corners[-1:]])
    if smooth:
        padded = np.pad(points, ((10, 10), (0, 0)), 'edge')
        points[1:-1] = [padded[at:at + 21].mean(axis=0) for at in range(1, len(points) - 1)]
    return points.round(3)


def main(folder):
    """Write the bag."""
    make, writer = BagMessages(), BagWriter(Path(folder))

    def header(number):
        return make('std_msgs/msg/Header', frame_id='map',
                    stamp=make('builtin_interfaces/msg/Time', sec=START_NS // 10**9 + number))

    def pose(number, x, y):
        place = make('geometry_msgs/msg/Pose', position=make('geometry_msgs/msg/Point', x=x, y=y),
                     orientation=make('geometry_msgs/msg/Quaternion', w=1.0))
        return make('geometry_msgs/msg/PoseStamped', header=header(number), pose=place)

    grid = make('nav_msgs/msg/OccupancyGrid', header=header(0), data=cells().ravel(),
                info=make('nav_msgs/msg/MapMetaData', resolution=CELL, width=WIDTH, height=HEIGHT,
                          origin=pose(0, 0.0, 0.0).pose))
    paths = [make('nav_msgs/msg/Path', header=header(number), poses=[
        pose(number, float(x), float(y)) for x, y in poses(corners, smooth)])
        for number, (corners, smooth) in enumerate(zip(PATHS, SMOOTH, strict=True), 1)]
    topics = {name: writer.add_topic(name, make.types.get(kind), qos) for name, kind, qos in (
        ('/map', 'nav_msgs/msg/OccupancyGrid', Qos(1, durability='transient_local')),
        ('/plan', 'nav_msgs/msg/Path', Qos(1)))}
    for number, message in enumerate([grid, *paths]):
        writer.write(topics['/map' if number == 0 else '/plan'], START_NS + number * 10**9,
                     make.data(message))
    writer.close()


if __name__ == '__main__':
    main(*sys.argv[1:])
