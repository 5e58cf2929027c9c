"""Names of topics, services and actions: one place, because clients and servers must agree.

All names are relative, so that a whole graph can be pushed into a namespace. A name that starts
with a node's name is what other nodes call its private name (``sim_bridge/reset`` is ``~/reset``
of the node ``sim_bridge``).
"""

CAMERA_IMAGE = 'camera/image_raw'
CAMERA_LABELLED = 'camera/image_labelled'
CAMERA_INFO = 'camera/camera_info'
CAMERA_DEPTH = 'camera/depth/image_raw'
CLOCK = '/clock'

SIM_BRIDGE = 'sim_bridge'
GROUNDER = 'grounder'
SYMBOLIC_PLANNER = 'symbolic_planner'
VLM_PLANNER = 'vlm_planner'
AGENT = 'agent'
METRICS_RECORDER = 'metrics_recorder'
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

AGENT_LOOK = f'{AGENT}/look'
AGENT_ANSWERS = f'{AGENT}/answers'
AGENT_BELIEF = f'{AGENT}/belief'
AGENT_PLAN = f'{AGENT}/plan'
AGENT_PROPOSAL = f'{AGENT}/proposal'
AGENT_STEP = f'{AGENT}/step'
AGENT_EPISODE = f'{AGENT}/episode'

TRUTH = f'{METRICS_RECORDER}/truth'
"""Topic of the truth in recorded bags; it is written to the bag only, never published."""
