"""Names of topics, services and actions: one place, because clients and servers must agree.

All names are relative, so that a whole graph can be pushed into a namespace. A name that starts
with a node's name is what other nodes call its private name (``sim_bridge/reset`` is ``~/reset``
of the node ``sim_bridge``).
"""

# What is recorded is named in the core, which reads and writes bags without ROS.
from sightplan.records.topics import AGENT as AGENT
from sightplan.records.topics import AGENT_ADOPTED as AGENT_ADOPTED
from sightplan.records.topics import AGENT_ASKED as AGENT_ASKED
from sightplan.records.topics import AGENT_BELIEF as AGENT_BELIEF
from sightplan.records.topics import AGENT_EPISODE as AGENT_EPISODE
from sightplan.records.topics import AGENT_OBSERVATION as AGENT_OBSERVATION
from sightplan.records.topics import AGENT_PLAN as AGENT_PLAN
from sightplan.records.topics import AGENT_PROPOSAL as AGENT_PROPOSAL
from sightplan.records.topics import AGENT_STEP as AGENT_STEP
from sightplan.records.topics import CAMERA_IMAGE as CAMERA_IMAGE
from sightplan.records.topics import CAMERA_INFO as CAMERA_INFO
from sightplan.records.topics import CAMERA_LABELLED as CAMERA_LABELLED
from sightplan.records.topics import GOAL_IMAGE as GOAL_IMAGE
from sightplan.records.topics import METRICS_RECORDER as METRICS_RECORDER
from sightplan.records.topics import TRUTH as TRUTH

CAMERA_DEPTH = 'camera/depth/image_raw'
CAMERA_POSE = 'camera/pose'
"""Pose of the camera in a fixed frame, with its covariance (PoseWithCovarianceStamped)."""
CLOCK = '/clock'
TF, TF_STATIC, ROBOT_DESCRIPTION = '/tf', '/tf_static', 'robot_description'

SIM_BRIDGE = 'sim_bridge'
ARM_BRIDGE = 'arm_bridge'
ARM_WATCHER = 'arm_watcher'
WORLDS = (SIM_BRIDGE, ARM_BRIDGE)
"""The nodes that can be the world: same topics, services and action, but for ONLY_SIMULATED."""
GROUNDER = 'grounder'
SYMBOLIC_PLANNER = 'symbolic_planner'
VLM_PLANNER = 'vlm_planner'
PATH_CRITIC = 'path_critic'
EXPERIMENT = 'experiment'
RERUN_VIEWER = 'rerun_viewer'
BAG_PLAYER = 'bag_player'
NODES = (SIM_BRIDGE, ARM_BRIDGE, ARM_WATCHER, GROUNDER, SYMBOLIC_PLANNER, VLM_PLANNER, PATH_CRITIC,
         EXPERIMENT, RERUN_VIEWER, AGENT, METRICS_RECORDER, BAG_PLAYER)
"""The nodes of graphs; ``interfaces`` has a function for each of them."""
VIEWER_READY = f'{RERUN_VIEWER}/ready'
"""Service that is there once the viewer gets the world's pictures."""

GET_STATE = f'{SIM_BRIDGE}/get_state'
PROVIDE_FACTS = f'{SIM_BRIDGE}/provide_facts'
ONLY_SIMULATED = frozenset({GET_STATE, PROVIDE_FACTS, CLOCK, GOAL_IMAGE})
"""All that sim_bridge offers and arm_bridge does not: ground truth, a clock of its own, and a
picture of the goal."""
EXECUTE_SKILL = 'execute_skill'
GRASP_AT = 'grasp_at'
GROUND = f'{GROUNDER}/ground'
ASK = f'{GROUNDER}/ask'
LOCATE = f'{GROUNDER}/locate'
DETECTIONS, DETECTIONS_3D = f'{GROUNDER}/detections', f'{GROUNDER}/detections_3d'
"""The newest detections of the grounder's model in a camera picture (vision_msgs)."""
PLAN = f'{SYMBOLIC_PLANNER}/plan'
PROPOSE_PLAN = f'{VLM_PLANNER}/plan'
RUN_EPISODE = f'{AGENT}/run_episode'
WAITING_STAGE, RESET_STAGE = 'waiting for the other nodes', 'reset'
"""Stages of an episode, in the action's feedback, before it starts."""
START_RUN = f'{METRICS_RECORDER}/start_run'
FINISH_RUN = f'{METRICS_RECORDER}/finish_run'
SPENDING = {node: f'{node}/spending' for node in (GROUNDER, VLM_PLANNER)}
EPISODE_RESULT = f'{METRICS_RECORDER}/episode_result'
HEARTBEAT = 'heartbeat'
PACE = 'pace'
"""Latest time that simulated hardware may reach (stamp of a Heartbeat), in its namespace."""
PRESENCE = '/presence'
"""Topic on which every node publishes every second that it lives, and which nodes it hears."""
DIAGNOSTICS = '/diagnostics'
JOINT_STATES = 'joint_states'
JOINT_COMMANDS = 'joint_commands'
"""Topic on which real controllers command the joints of simulated hardware (JointState)."""
SKILL_REPORT = 'skill_report'

NEEDED_SERVICES = {
    SIM_BRIDGE: f'{SIM_BRIDGE}/reset', ARM_BRIDGE: f'{ARM_BRIDGE}/reset', GROUNDER: GROUND,
    VLM_PLANNER: PROPOSE_PLAN, SYMBOLIC_PLANNER: PLAN, METRICS_RECORDER: START_RUN}
NEEDED_ACTIONS = {SIM_BRIDGE: EXECUTE_SKILL, ARM_BRIDGE: EXECUTE_SKILL, AGENT: RUN_EPISODE}
"""The service, and the action, that other nodes need of a node, by the node."""

AUTO = 'auto'
SYMBOLIC, ARM = 'symbolic', 'arm'
"""Ways in which sim_bridge carries out skills: it places things, or moves its simulated arm."""
REAL, SIMULATED = 'real', 'simulated'
HARDWARE = 'hardware'
"""Namespace of the simulated hardware: a sim_bridge that arm_bridge moves as it would a robot."""


def load_problem(world: str) -> str:
    """Service that builds a problem's world; ``world`` is the node that is the world."""
    return f'{world}/load_problem'


def reset(world: str) -> str:
    """Service that begins an episode in the world that was built."""
    return f'{world}/reset'


def get_view(world: str) -> str:
    """Service that says what is in view."""
    return f'{world}/get_view'


def arm_status(world: str) -> str:
    """Topic of the state of an arm's safety gate; ``world`` is the node that moves the arm.

    Of a world there is also a service of this name, which says what is guaranteed.
    """
    return f'{world}/status'


def gate_heartbeat(world: str) -> str:
    """Topic of the heartbeats of the thread of an arm's safety gate."""
    return f'{world}/heartbeat'


def guarantees(world: str) -> str:
    """Topic of the guarantees that hold for an arm now, as JSON."""
    return f'{world}/guarantees'


def stop(world: str) -> str:
    """Service that stops an arm; latched."""
    return f'{world}/stop'


def rearm(world: str) -> str:
    """Service with which a person ends a stop."""
    return f'{world}/rearm'


def confirm(world: str) -> str:
    """Service with which an operator lets a motion pass, or refuses it."""
    return f'{world}/confirm'


def markers(world: str) -> str:
    """Topic of what an arm's node is about to do, for viewers."""
    return f'{world}/markers'


def truth_service(world: str, hardware: str, given: str = AUTO) -> str:
    """The service of ground truth (GetState) that scores use; '' where there is none.

    Args:
        world: node that is the world.
        hardware: REAL or SIMULATED: what arm_bridge moves.
        given: another name, '' for none, or AUTO.
    """
    if given != AUTO:
        return given
    if world == SIM_BRIDGE:
        return GET_STATE
    return f'{HARDWARE}/{GET_STATE}' if hardware == SIMULATED else ''


def setup_service(hardware: str, given: str = AUTO) -> str:
    """The service (LoadProblem) that puts a problem's blocks onto the table; '': a person does.

    Args:
        hardware: REAL or SIMULATED.
        given: another name, '' for none, or AUTO.
    """
    if given != AUTO:
        return given
    return f'{HARDWARE}/{load_problem(SIM_BRIDGE)}' if hardware == SIMULATED else ''


def driver(name: str, hardware: str) -> str:
    """A driver's topic or action: as the robot's file has it, or that of simulated hardware."""
    return name if hardware == REAL else f'{HARDWARE}/{name.lstrip("/")}'
