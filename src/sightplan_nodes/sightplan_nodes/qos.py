"""Named quality-of-service profiles, each with its reason."""

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

SENSOR = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=60,
    reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""Images and camera info. Offered reliable, so that the recorder gets every judged image and a
viewer may still ask for best effort. Deep, six seconds of a camera, because the recorder must not
miss the one image that was judged while a busy machine keeps it waiting."""

EVENTS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1000,
    reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""The agent's events. A lost one would falsify a score, so they are reliable and deep; and kept
for late joiners, so that nothing is lost when a recorder is discovered a moment after the first
event (which also makes belief and plan latched topics)."""

RESULTS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=10,
    reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""The recorder's acknowledgements, one an episode, which somebody waits for: each is some
kilobytes, and a thousand of them would stay in memory."""

LATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1,
    reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Profile for subscribers that want the last value only, whenever they join (belief, plan)."""

POSES = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=60,
    reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Subscriptions to a camera's latched poses. Deep as SENSOR, because a picture is asked about a
while after it was taken, when the camera may have moved on."""

CLOCK = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1,
    reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE)
"""/clock, as rclpy's and rclcpp's time sources ask for it: only the newest time matters."""

DRIVER = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=5,
    reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE)
"""Subscriptions to drivers of cameras and arms. They publish as they like: asking for best effort
matches reliable publishers, too, whereas asking for reliable would get nothing from the others."""

COMMANDS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1,
    reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""Motions for an arm. None may be lost, least of all the one that holds it; and only the newest
counts: it takes the place of all before it."""

HEARTBEAT = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=10,
    reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE)
"""Heartbeats. A lost one is followed by the next; one that is sent again late would make a dead
node look alive. Depth: several nodes share the topic."""

PRESENCE = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=100,
    reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE)
"""Presence messages of all nodes of a graph. As heartbeats; deep, so that all of a large graph fit
in however late a node gets to them."""

DIAGNOSTICS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=10,
    reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""The quality of service that publishers and viewers of /diagnostics expect."""

TF = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=100,
    reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""/tf, as tf2 publishes it and listens to it."""

NEWEST = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1,
    reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""Profile for subscribers that want new values only: earlier ones are of no use to them."""
