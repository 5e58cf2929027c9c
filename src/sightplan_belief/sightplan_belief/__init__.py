"""Beliefs about the world from pictures: ask a model, weigh its answers, estimate states.

``Estimator`` turns answers about one scene into one consistent state, ``JointBelief`` follows it
over time; both are usable without ROS and without the episode loop.
"""

from sightplan.model.pointer_settings import PointerSettings
from sightplan_belief.constraints import Constraints, read_constraints
from sightplan_belief.estimator import Estimate, Estimator, EstimatorSettings, Evidence
from sightplan_belief.joint_belief import FilterSettings, JointBelief
from sightplan_belief.locate_picture import BackendLocator, Found, locate
from sightplan_belief.observation_model import ObservationModel, read_observation_model
from sightplan_belief.one_picture import Seen, ask, ask_freely

__all__ = [
    'ask', 'ask_freely', 'BackendLocator', 'Constraints', 'Estimate', 'Estimator',
    'EstimatorSettings', 'Evidence', 'FilterSettings', 'Found', 'JointBelief', 'locate',
    'ObservationModel', 'PointerSettings', 'read_constraints', 'read_observation_model', 'Seen',
]
