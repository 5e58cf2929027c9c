"""The field's nouns as frozen dataclasses, the ports between rooms, and the errors.

Everything here is plain data (plus numpy arrays for images); nothing imports another room.
"""

from sightplan.model.answer import Answer
from sightplan.model.belief import Belief
from sightplan.model.episode import (
    ALREADY_CLOSED,
    ALREADY_OPEN,
    HAND_FULL,
    NOTHING_HELD,
    STILL_HELD,
    Asked,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeSpec,
    EpisodeStarted,
    Feedback,
    FeedbackStatus,
    GoalAdopted,
    ModelKnown,
    Observed,
    Planned,
    Privileged,
    ProblemAdopted,
    Proposed,
    Stepped,
    StopReason,
)
from sightplan.model.errors import (
    BackendError,
    BusyError,
    CancelledError,
    DeadlineError,
    DomainError,
    InfrastructureError,
    InputError,
    PlannerError,
    ProblemError,
    RefusedError,
    SightplanError,
    SpendingCapError,
    StoppedError,
    UnknownImageError,
    WorldError,
    counted,
    did_you_mean,
    excerpt,
)
from sightplan.model.instance import Instance, SeenThings
from sightplan.model.paths import config_files, config_folders, user_path
from sightplan.model.perception import (
    BARE,
    GOAL_NS,
    Alteration,
    AskPurpose,
    GroundingPrompt,
    Observation,
    Question,
    Verdict,
    prompt_id,
)
from sightplan.model.planning import (
    PastStep,
    PlanningResult,
    PlanningStatus,
    PlanningTask,
    Proposal,
    ProposalForm,
    ProposalStatus,
    VisualTask,
)
from sightplan.model.ports import (
    Clock,
    DetailSource,
    GoalView,
    PastOutcomes,
    PrivilegedSource,
    Recorder,
    SymbolicPlanner,
    TextualWorld,
    TruthSource,
    VisualPlanner,
    World,
)
from sightplan.model.problem import Problem
from sightplan.model.region import (
    Form,
    MaskSource,
    Region,
    Target,
    TargetMasks,
)
from sightplan.model.ros_names import is_ros_name
from sightplan.model.settings import check_settings, identity_values, param, settings_fields
from sightplan.model.symbols import Action, Atom, Literal, Plan, State
from sightplan.model.usage import Usage, used_between

__all__ = [
    'ALREADY_CLOSED', 'ALREADY_OPEN', 'BARE', 'GOAL_NS', 'HAND_FULL', 'NOTHING_HELD', 'STILL_HELD',
    'Action', 'Alteration', 'Answer', 'AskPurpose', 'Asked', 'Atom', 'BackendError', 'Belief',
    'BeliefUpdated', 'BusyError', 'CancelledError', 'Clock', 'DeadlineError', 'DetailSource',
    'DomainError', 'EpisodeEnded', 'EpisodeEvent', 'EpisodeSpec', 'EpisodeStarted', 'Feedback',
    'FeedbackStatus', 'GoalAdopted', 'Form', 'GoalView', 'GroundingPrompt',
    'InfrastructureError', 'InputError', 'Instance', 'Literal', 'ModelKnown', 'MaskSource',
    'Observation', 'Observed', 'PastOutcomes', 'PastStep', 'Plan', 'Planned', 'PlannerError',
    'PlanningResult', 'PlanningStatus', 'PlanningTask', 'Privileged', 'PrivilegedSource',
    'Problem', 'ProblemAdopted', 'ProblemError', 'Proposal', 'ProposalForm', 'ProposalStatus',
    'Proposed', 'Question', 'Recorder', 'RefusedError', 'Region', 'SeenThings', 'SightplanError',
    'SpendingCapError', 'State', 'Stepped', 'StopReason', 'StoppedError', 'SymbolicPlanner',
    'Target', 'TargetMasks', 'TextualWorld', 'TruthSource', 'UnknownImageError', 'Usage',
    'Verdict', 'VisualPlanner', 'VisualTask', 'World', 'WorldError', 'check_settings',
    'config_files', 'config_folders', 'counted', 'did_you_mean', 'excerpt', 'identity_values',
    'is_ros_name', 'param', 'prompt_id', 'settings_fields', 'used_between', 'user_path',
]
