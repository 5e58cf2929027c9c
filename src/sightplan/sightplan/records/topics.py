"""Topics that are recorded of an episode, with their types and their quality of service.

Publishing nodes, recorders on ROS and in process, and readers all take them from this module.
All names are relative, so that a whole graph can be pushed into a namespace (``relative`` finds
them there).
"""

from __future__ import annotations

from collections.abc import Iterable

from sightplan.records.bag import Qos

AGENT = 'agent'
METRICS_RECORDER = 'metrics_recorder'

CAMERA_IMAGE = 'camera/image_raw'
GOAL_IMAGE = 'goal/image_raw'
CAMERA_LABELLED = 'camera/image_labelled'
CAMERA_INFO = 'camera/camera_info'

AGENT_EPISODE = f'{AGENT}/episode'
AGENT_OBSERVATION = f'{AGENT}/observation'
AGENT_ASKED = f'{AGENT}/asked'
AGENT_ADOPTED = f'{AGENT}/adopted'
AGENT_BELIEF = f'{AGENT}/belief'
AGENT_PLAN = f'{AGENT}/plan'
AGENT_PROPOSAL = f'{AGENT}/proposal'
AGENT_STEP = f'{AGENT}/step'

TRUTH = f'{METRICS_RECORDER}/truth'
"""Topic of the truth in recorded bags; it is written to the bag only, never published."""

IMAGE_TYPE = 'sensor_msgs/msg/Image'

EVENTS = {
    AGENT_EPISODE: 'sightplan_interfaces/msg/EpisodeEvent',
    AGENT_OBSERVATION: 'sightplan_interfaces/msg/Observation',
    AGENT_ASKED: 'sightplan_interfaces/msg/Asked',
    AGENT_ADOPTED: 'sightplan_interfaces/msg/Adopted',
    AGENT_BELIEF: 'sightplan_interfaces/msg/Belief',
    AGENT_PLAN: 'sightplan_interfaces/msg/PlanStamped',
    AGENT_PROPOSAL: 'sightplan_interfaces/msg/ProposalStamped',
    AGENT_STEP: 'sightplan_interfaces/msg/Step',
}
"""The agent's events: topic to type."""

RECORDED = {
    **EVENTS,
    CAMERA_IMAGE: IMAGE_TYPE,
    CAMERA_LABELLED: IMAGE_TYPE,
    CAMERA_INFO: 'sensor_msgs/msg/CameraInfo',
    GOAL_IMAGE: IMAGE_TYPE,
    TRUTH: 'sightplan_interfaces/msg/Truth',
}
"""All that recorders write, in the order in which a bag lists it: topic to type."""

SENSOR_QOS = Qos(60, 'reliable', 'volatile')
EVENTS_QOS = Qos(1000, 'reliable', 'transient_local')
LATCHED_QOS = Qos(1, 'reliable', 'transient_local')


def bag_qos(topic: str) -> Qos:
    """Return the quality of service that a bag notes for a recorded topic."""
    if topic == GOAL_IMAGE:
        return LATCHED_QOS
    return EVENTS_QOS if topic in EVENTS or topic == TRUTH else SENSOR_QOS


def relative(name: str, known: Iterable[str] = tuple(RECORDED)) -> tuple[str, str] | None:
    """Split the name of a recorded topic into its namespace and a known relative name.

    Args:
        name: as recorded, for example ``/arm_1/agent/step``.
        known: relative names.

    Returns:
        namespace (``/arm_1``, '' without) and relative name; None if it is none of them.
    """
    for topic in known:
        if name == topic:
            return '', topic
        if name.endswith(f'/{topic}'):
            return name[:-len(topic) - 1], topic
    return None
