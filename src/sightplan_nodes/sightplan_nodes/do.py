"""``sightplan do``: reach a goal now, on a running graph, in the world as it stands."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.commands.flags import argument, option
from sightplan.commands.frame import DONE, FAILED, Result, add_command
from sightplan.commands.shared_flags import PlaceArguments
from sightplan.model import (
    CancelledError,
    FeedbackStatus,
    InputError,
    StopReason,
    counted,
    user_path,
)
from sightplan.records import messages
from sightplan_nodes import names

_EXAMPLES = """\
examples:
  sightplan up do                                   # in another shell
  sightplan do --goal "(on g b)"
  sightplan do --goal "(and (on g b) (on b p))" --method ground
  sightplan do --problem tower.pddl
  sightplan do --domain blocksworld --goal "(on r g)" --objects r:block,g:block,c1:column,c2:column
  sightplan do "put the cup on the tray"  # after: sightplan up do domain:=tabletop execution:=arm

Nothing is built or set up: the goal is reached from where things are, which is seen. Ctrl-C
cancels, and an arm holds. The shell needs the ROS_DOMAIN_ID that "sightplan up" printed. The graph
"do" has no vlm_planner: methods that plan with a vision-language model (plan, ...) are not for it.
"""
_REACHED = (StopReason.PLAN_DONE.value, StopReason.GOAL_REACHED.value)
_LONGEST_S = 86_400.0
_STAGES = {names.WAITING_STAGE: 'waiting for the other nodes',
           names.RESET_STAGE: 'making the world ready', 'started': 'looking and planning'}
"""Words that are printed at a stage of an episode, by the stage in the feedback."""
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that cancel: Ctrl-C, ``kill`` and ``timeout``, and the end of the shell's session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoArguments(PlaceArguments):
    """Arguments of ``sightplan do``."""

    instruction: str = argument('what to do, in words, for a method that reads words',
                                metavar='INSTRUCTION', default='')
    goal: str = option('', 'condition that is to hold, in PDDL', metavar='CONDITION')
    problem: Path | None = option(
        None, 'problem file, of which objects and goal count', metavar='FILE')
    domain: str = option('', "domain of the objects (default: the world's)", metavar='DOMAIN')
    objects: str = option('', 'objects that there are (default: those the world was built with)',
                          metavar='NAME:TYPE,...')
    method: str = option('', 'how the agent decides (default: belief; grounded_plan for an '
                         'instruction)', metavar='METHOD')
    max_actions: int = option(30, 'most actions', metavar='N', low=1, high=10_000)
    timeout: float = option(3600.0, 'limit of the whole [s]', metavar='S', low=0.1,
                            high=_LONGEST_S)


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan do``."""
    add_command(
        subparsers, 'do', do, 'reach a goal now, on a running graph',
        'Give the agent of a running graph a goal in the world as it stands, and follow what it '
        'does.', settings=DoArguments, examples=_EXAMPLES,
        exits='0 the agent holds that the goal is reached; 1 it does not, or something failed; 2 '
        'bad usage')


def do(arguments: DoArguments) -> Result:
    """Give the agent a goal, and print what becomes of it."""
    from sightplan_interfaces.action import RunEpisode

    from sightplan_nodes.do_client import connected
    from sightplan_nodes.failures import raise_error
    if not (arguments.instruction.strip() or arguments.goal.strip() or arguments.problem):
        raise InputError('say what is to be reached: --goal "(on r g)", --problem FILE, or, for a '
                         'method that reads words, an instruction')
    goal = RunEpisode.Goal(
        as_it_stands=True, instruction=arguments.instruction, goal=arguments.goal,
        problem_pddl=_text(arguments.problem), domain=arguments.domain,
        objects=[one for one in arguments.objects.split(',') if one.strip()],
        method=arguments.method, max_actions=arguments.max_actions)
    asked_to_stop: list[int] = []
    before = {one: signal.signal(one, lambda number, _: asked_to_stop.append(number))
              for one in _ENDS if signal.getsignal(one) is not signal.SIG_IGN}  # as under nohup
    try:
        with connected(arguments.place) as node:
            result = node.do(goal, arguments.timeout, lambda: bool(asked_to_stop),
                             StageLines().take, _tell_step)
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    cancelled = bool(asked_to_stop) and result.error_code == CancelledError.code
    if not cancelled:
        raise_error(result, 'agent')
    reached = result.stop_reason in _REACHED
    ending = 'cancelled' if cancelled else 'done' if reached else 'not done'
    print(f'{ending} after {counted(result.steps, "action")}: '
          f'{result.message or result.error_msg or result.stop_reason} ({result.seconds:.1f} s)')
    return {'stop_reason': result.stop_reason, 'message': result.message,
            'steps': int(result.steps), 'seconds': float(result.seconds)}, (
                DONE if reached else FAILED)


def _text(problem: Path | None) -> str:
    """The text of a problem file; '' for none."""
    if problem is None:
        return ''
    path = user_path(problem)
    try:
        return path.read_text('utf-8')
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else 'it is no text'
        raise InputError(f'--problem {problem}: cannot be read ({reason}); give a PDDL '
                         'file') from error


class StageLines:
    """Prints a line whenever the agent begins with something else that may take long."""

    def __init__(self) -> None:
        self._last = ''

    def take(self, feedback: Any) -> None:
        """Take the feedback of an episode."""
        line = _STAGES.get(feedback.stage, '')
        if feedback.stage == 'execute':
            line = f'{feedback.step + 1}. {_in_words(feedback.action)} begins'
        if line and line != self._last:
            print(line, flush=True)
            self._last = line


def _in_words(action: Any) -> str:
    return f'{action.name}({", ".join(action.args)})'


def _tell_step(step: Any) -> None:
    """Print an action and what the world said to it."""
    action = _in_words(step.action)
    status = {number: one.value for one, number in messages.numbers(FeedbackStatus).items()}.get(
        step.status, '')
    print(f'{step.index + 1}. {action}: {status}', flush=True)
