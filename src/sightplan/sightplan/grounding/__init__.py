"""From pixels to what holds: asking a model, weighing its answers, and believing.

``Estimator`` turns answers about one scene into one consistent state, ``JointBelief`` follows it
over time; both are usable without ROS and without the episode loop.
"""

from sightplan.grounding.backend_grounder import BackendGrounder
from sightplan.grounding.constraints import Constraints, read_constraints
from sightplan.grounding.estimator import Estimate, Estimator, EstimatorSettings, Evidence
from sightplan.grounding.joint_belief import FilterSettings, JointBelief
from sightplan.grounding.locate_picture import BackendLocator, Found, locate
from sightplan.grounding.observation_model import ObservationModel, read_observation_model
from sightplan.grounding.one_picture import Seen, ask, ask_freely
from sightplan.grounding.parsing import PARSERS, parse_prefix, parse_yes_no
from sightplan.grounding.pointing import PointerSettings

__all__ = [
    'PARSERS', 'BackendGrounder', 'BackendLocator', 'Constraints', 'Estimate', 'Estimator',
    'EstimatorSettings', 'Evidence', 'FilterSettings', 'Found', 'JointBelief', 'ObservationModel',
    'PointerSettings', 'Seen', 'ask', 'ask_freely', 'locate', 'parse_prefix', 'parse_yes_no',
    'read_constraints', 'read_observation_model',
]
