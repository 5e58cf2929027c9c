"""The field's nouns as frozen dataclasses, the ports between rooms, and the errors.

Everything here is plain data (plus numpy arrays for images); nothing imports another room.
"""

from sightplan.model.belief import Belief
from sightplan.model.episode import (
    Asked,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeSpec,
    EpisodeStarted,
    Feedback,
    FeedbackStatus,
    Observed,
    Planned,
    Stepped,
    StopReason,
)
from sightplan.model.errors import (
    BackendError,
    CancelledError,
    DeadlineError,
    DomainError,
    InfrastructureError,
    InputError,
    PlannerError,
    ProblemError,
    SightplanError,
    WorldError,
)
from sightplan.model.paths import user_path
from sightplan.model.perception import Answer, AskPurpose, Observation, Question, Verdict
from sightplan.model.planning import PlanningResult, PlanningStatus, PlanningTask
from sightplan.model.ports import Clock, Grounder, Recorder, SymbolicPlanner, TruthSource, World
from sightplan.model.problem import Problem
from sightplan.model.settings import check_settings, param, settings_fields
from sightplan.model.symbols import Action, Atom, Literal, Plan, State

__all__ = [
    'Action', 'Answer', 'AskPurpose', 'Asked', 'Atom', 'BackendError', 'Belief', 'BeliefUpdated',
    'CancelledError', 'Clock', 'DeadlineError', 'DomainError', 'EpisodeEnded', 'EpisodeEvent',
    'EpisodeSpec', 'EpisodeStarted', 'Feedback', 'FeedbackStatus', 'Grounder',
    'InfrastructureError', 'InputError', 'Literal', 'Observation', 'Observed', 'Plan', 'Planned',
    'PlannerError', 'PlanningResult', 'PlanningStatus', 'PlanningTask', 'Problem', 'ProblemError',
    'Question', 'Recorder', 'SightplanError', 'State', 'Stepped', 'StopReason', 'SymbolicPlanner',
    'TruthSource', 'Verdict', 'World', 'WorldError', 'check_settings', 'param',
    'settings_fields', 'user_path',
]
