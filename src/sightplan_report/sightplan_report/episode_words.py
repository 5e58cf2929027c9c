"""Words for results of actions, ends of episodes, and methods."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from sightplan.agent import policy_class
from sightplan.metrics import measures
from sightplan.model import FeedbackStatus, SightplanError, StopReason, counted
from sightplan_report.html import words


def became(status: str, message: str) -> str:
    """Describe the result of an action by the status and message of its feedback."""
    text = {FeedbackStatus.EXECUTED.value: 'it was carried out, as far as the world can tell',
            FeedbackStatus.REJECTED.value: 'the world refused it as illegal',
            FeedbackStatus.WITHHELD.value: 'the method held it back; nothing was sent',
            FeedbackStatus.INVALID.value: "the model's reply held no action that can be sent; "
                                          'nothing moved'}.get(status, status)
    return text + because(message)


def because(message: str) -> str:
    """A message in brackets; '' for none."""
    return f' ({message})' if message else ''


_STOPS = {
    StopReason.PLAN_DONE: 'it held that the goal is reached',
    StopReason.GOAL_REACHED: 'the episode was stopped from outside as soon as the goal held in '
                             'the true state, which no method is told',
    StopReason.BUDGET: 'its budget of actions was used up',
    StopReason.REPEATED_ILLEGAL: 'the world refused the same action twice in a row',
    StopReason.NO_PLAN: 'no plan leads from what it believed to the goal; often a sign that '
                        'something was believed wrongly',
    StopReason.PLANNER_TIMEOUT: 'the planner did not end within its limit',
    StopReason.UNPARSED: "a reply of the model could not be read, and the method's settings say "
                         'to stop then',
    StopReason.EMPTY_PLAN: 'the model proposed a plan without actions, which counts as done',
    StopReason.GAVE_UP: 'it gave up',
    StopReason.CANCELLED: 'it was cancelled from outside',
    StopReason.DRY_RUN: 'it was a dry run: the motions of the first action were planned and '
                        'checked, and none was sent',
    StopReason.ERROR: 'an error of the machinery ended it, which says nothing about the method',
}
_ERRORS = {
    'StoppedError': 'the safety gate stopped the robot, and nothing moves before a person re-arms '
                    'it',
    'WorldError': 'the world (simulator or robot) could not carry out a request',
    'BackendError': 'the model could not answer',
    'RefusedError': 'the server of the model refused what it was asked',
    'PlannerError': 'the planner could not be run',
    'DeadlineError': 'something did not reply, or the episode did not end, within its limit',
    'UnknownImageError': "the model's node did not have the picture any more",
    'unexpected': 'an unexpected exception, a defect of the software',
}
_HOLDS = {
    'heartbeat': 'the safety gate held the arm, because a node that it needs fell silent',
    'stale_state': 'the safety gate held the arm, because its joint states were too old',
    'stale_image': 'the safety gate held the arm, because the picture was too old',
}


CHOSEN = (StopReason.PLAN_DONE, StopReason.NO_PLAN, StopReason.GAVE_UP, StopReason.UNPARSED,
          StopReason.PLANNER_TIMEOUT, StopReason.EMPTY_PLAN, StopReason.REPEATED_ILLEGAL)
"""Ends of episodes that a method decides itself."""
CUT_OFF = 'not recorded: the bag is cut off'
NOT_CHOSEN = 'no answer: the method did not choose this end'


def stopped(reason: str, message: str, budget: int | None = None) -> str:
    """Describe in plain words why an episode stopped.

    Args:
        reason: as results have it.
        message: details that came with it.
        budget: actions that it was allowed.
    """
    try:
        known = StopReason(reason)
    except ValueError:
        return words(reason) + because(message)
    text = _STOPS[known]
    if known is StopReason.BUDGET:
        return f'its budget of {counted(budget, "action")} was used up' if budget else text
    if known is StopReason.ERROR:
        cause = next((words for name, words in _HOLDS.items() if message.endswith(f'({name})')),
                     None) or next((words for name, words in _ERRORS.items()
                                    if message.startswith(name)), '')
        text = f'{text}{": " if cause else ""}{cause}'
    return text + because(message)


def result_text(line: Mapping[str, Any]) -> str:
    """Result of an episode by ground truth, in words."""
    if not measures.scored(line):
        return f'not scored: {line["error"] or words(line["stop"])}'
    if measures.solved(line):
        return f'solved in {counted(line["executed"], "action")}'
    if line['failure']:
        return f'failed: {words(line["failure"]["cause"])}'
    return f'not solved ({words(line["stop"])})'


def method_sentence(name: str) -> str:
    """First sentence of a method's module, which says what it does; '' if it is not installed."""
    try:
        module = inspect.getmodule(policy_class(name))
    except SightplanError:
        return ''
    return _first_sentence(inspect.getdoc(module) or '') if module is not None else ''


def _first_sentence(text: str) -> str:
    head = ' '.join(text.partition('\n\n')[0].split())
    _, colon, rest = head.partition(': ')
    return (rest if colon else head).rstrip('.')
