"""Names of topics, services and actions: one place, because clients and servers must agree.

All names are relative, so that a whole graph can be pushed into a namespace. A name that starts
with a node's name is what other nodes call its private name (``sim_bridge/reset`` is ``~/reset``
of the node ``sim_bridge``).
"""

from sightplan.records.topics import (
    AGENT,
    AGENT_ANSWERS,
    AGENT_BELIEF,
    AGENT_EPISODE,
    AGENT_LOOK,
    AGENT_PLAN,
    AGENT_PROPOSAL,
    AGENT_STEP,
    CAMERA_IMAGE,
    CAMERA_INFO,
    CAMERA_LABELLED,
    METRICS_RECORDER,
    TRUTH,
)

__all__ = [  # what is recorded is named in the core, which reads and writes bags without ROS
    'AGENT', 'AGENT_ANSWERS', 'AGENT_BELIEF', 'AGENT_EPISODE', 'AGENT_LOOK', 'AGENT_PLAN',
    'AGENT_PROPOSAL', 'AGENT_STEP', 'CAMERA_DEPTH', 'CAMERA_IMAGE', 'CAMERA_INFO',
    'CAMERA_LABELLED', 'CLOCK', 'EPISODE_RESULT', 'EXECUTE_SKILL', 'EXPERIMENT', 'FINISH_RUN',
    'GET_STATE', 'GET_VIEW', 'GROUND', 'GROUNDER', 'HEARTBEAT', 'METRICS_RECORDER', 'PLAN',
    'PROPOSE_PLAN', 'RESET', 'RUN_EPISODE', 'SIM_BRIDGE', 'SPENDING', 'START_RUN',
    'SYMBOLIC_PLANNER', 'TELL', 'TRUTH', 'VLM_PLANNER', 'arm_status', 'confirm', 'rearm', 'stop',
]

CAMERA_DEPTH = 'camera/depth/image_raw'
CLOCK = '/clock'

SIM_BRIDGE = 'sim_bridge'
GROUNDER = 'grounder'
SYMBOLIC_PLANNER = 'symbolic_planner'
VLM_PLANNER = 'vlm_planner'
EXPERIMENT = 'experiment'

RESET = f'{SIM_BRIDGE}/reset'
GET_STATE = f'{SIM_BRIDGE}/get_state'
GET_VIEW = f'{SIM_BRIDGE}/get_view'
TELL = f'{SIM_BRIDGE}/tell'
EXECUTE_SKILL = 'execute_skill'
GROUND = f'{GROUNDER}/ground'
PLAN = f'{SYMBOLIC_PLANNER}/plan'
PROPOSE_PLAN = f'{VLM_PLANNER}/plan'
RUN_EPISODE = f'{AGENT}/run_episode'
START_RUN = f'{METRICS_RECORDER}/start_run'
FINISH_RUN = f'{METRICS_RECORDER}/finish_run'
SPENDING = {node: f'{node}/spending' for node in (GROUNDER, VLM_PLANNER)}
EPISODE_RESULT = f'{METRICS_RECORDER}/episode_result'
HEARTBEAT = 'heartbeat'


def arm_status(world: str) -> str:
    """Topic of the state of an arm's safety gate; ``world`` is the node that moves the arm."""
    return f'{world}/arm_status'


def stop(world: str) -> str:
    """Service that stops an arm; latched."""
    return f'{world}/stop'


def rearm(world: str) -> str:
    """Service with which a person ends a stop."""
    return f'{world}/rearm'


def confirm(world: str) -> str:
    """Service with which an operator lets a motion pass, or refuses it."""
    return f'{world}/confirm'
