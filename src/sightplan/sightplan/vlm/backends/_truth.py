"""What is true in an observation, for backends that stand in for a model."""

from __future__ import annotations

from sightplan.model import InputError, Observation, State, TruthSource


def true_state(truth: TruthSource, observation: Observation) -> State:
    """The atoms that hold in what an observation shows: the state at its time, or the goal.

    Raises:
        InputError: it shows the goal, and this world does not tell what holds there.
        WorldError: there is no ground truth for the time of the image.
    """
    if not observation.shows_goal:
        return truth.state(observation.stamp_ns)
    goal_state = getattr(truth, 'goal_state', None)
    if goal_state is None:
        raise InputError('the picture shows the goal, and nobody can tell what holds there '
                         '(choose goal=told, or a backend that looks at pictures)')
    state: State = goal_state()
    return state
