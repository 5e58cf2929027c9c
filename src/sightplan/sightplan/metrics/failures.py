"""Causes of failed episodes: one for each, by rules, with the step and the image that show it.

The ViPlan paper sorts failures by hand (appendix A); here rules do it, from an episode's line of
results alone. That line holds what happened and, since metrics may see the truth, which answers
were wrong, so that runs can be sorted again later, also those of another machine.

``RULES`` are in order of precedence: an episode's cause is that of the first rule that applies.
Two ideas are behind the order.

* **How it ended comes first.** A method that says "done" has failed in another way than one that
  found no plan. Then the last cycle counts: what happened since the plan in hand was made, and
  what made the method start over (its last *setback*: an action that was withheld or rejected,
  or effects that were answered otherwise than expected). When the budget ran out, a setback
  counts only if it broke off a plan that would have fitted into the budget.
* **A wrong answer is a deeper cause than the pattern that it leads to.** That an illegal action is
  tried twice says less than which precondition was taken for true. Patterns in the actions
  (oscillation, repetition) are the cause where no answer was asked for, as with a model that plans
  itself, or none was wrong.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.metrics.judgements import PROPOSAL, WRONG_ANSWER, says
from sightplan.metrics.measures import scored, solved
from sightplan.model import AskPurpose, FeedbackStatus, ProposalStatus, StopReason, Verdict
from sightplan.model.reading import read_data

REPEATED = 2
"""Least number of equal failed steps in a row at the end that are a pattern."""

OSCILLATION = 4
"""Least number of steps at the end that alternate between two actions: A, B, A, B."""

MOST_ANSWERS = 8
"""Most answers that are kept as evidence of a failure."""


class Cause(enum.Enum):
    """Causes of failure; ``RULES`` says when each applies."""

    INFRASTRUCTURE = 'infrastructure'
    CUT_OFF = 'cut_off'
    UNPARSABLE = 'unparsable'
    PRECONDITION_JUDGED_FALSE = 'precondition_judged_false'
    PRECONDITION_JUDGED_TRUE = 'precondition_judged_true'
    EFFECT_MISREAD = 'effect_misread'
    GOAL_MISJUDGED = 'goal_misjudged'
    NO_PLAN = 'planner_found_nothing'
    STATE_MISJUDGED = 'state_misjudged'
    OSCILLATION = 'oscillation'
    REPEATED_ILLEGAL = 'repeated_illegal'
    BUDGET = 'budget'
    STOPPED_EARLY = 'stopped_early'
_NEITHER = (Verdict.UNPARSED.value, Verdict.UNKNOWN.value)
"""Answers that say neither yes nor no."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Cause of one episode's failure, with its evidence.

    Attributes:
        cause: the one cause.
        step: number of the step that shows the failure, from 0: the actions used before it.
        text: one sentence for people.
        image_id: id of the image that shows the failure; '' if there is none, or it is unknown.
        stamp_ns: time of that image on the world's clock [ns]; 0 if it is not known.
        action: the action that the failure is about; '' if there is none.
        answers: the answers that decided, as in ``line['actions'][i]['misled']``; at most
            ``MOST_ANSWERS``.
        answer_count: number of all answers that decided.
    """

    cause: Cause
    step: int
    text: str
    image_id: str = ''
    stamp_ns: int = 0
    action: str = ''
    answers: tuple[Mapping[str, Any], ...] = ()
    answer_count: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the failure as plain data, as an episode's line of results holds it."""
        return {'cause': self.cause.value, 'step': self.step, 'image_id': self.image_id,
                'evidence': {'text': self.text, 'stamp_ns': self.stamp_ns, 'action': self.action,
                             'answers': [dict(answer) for answer in self.answers],
                             'answer_count': self.answer_count}}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that names a cause: ``find`` returns the failure if the rule applies, else None."""

    cause: Cause
    when: str
    example: str
    find: Callable[[_Episode], Failure | None] = field(repr=False)


def called_off(line: Mapping[str, Any]) -> bool:
    """Whether an episode was cancelled, or was a dry run: neither scored nor failed."""
    return line.get('stop') in {reason.value for reason in StopReason if reason.called_off}


def without_truth(line: Mapping[str, Any]) -> bool:
    """Whether an episode ended without a known result, as on a robot, or without a known goal."""
    return (not scored(line) and line.get('error') is None
            and line.get('stop') in {reason.value for reason in StopReason if reason.scored})


def failure_of(line: Mapping[str, Any]) -> Failure | None:
    """Return the failure of an episode, by the first rule that applies.

    Returns:
        the failure; None if the episode was solved, cancelled or a dry run, or has no known
        truth.
    """
    if solved(line) or called_off(line) or without_truth(line):
        return None
    episode = _Episode(line)
    for rule in RULES:
        found = rule.find(episode)
        if found is not None:
            return found
    raise AssertionError('the last rule applies to every episode')


def cause_of(line: Mapping[str, Any]) -> str | None:
    """Name of the cause: the recorded one, or by the rules where none was recorded."""
    if line.get('failure'):
        return str(line['failure']['cause'])
    found = failure_of(line)
    return None if found is None else found.cause.value


_Step = Mapping[str, Any]
"""A step: an entry of ``line['actions']``, with its ``index``."""

_Reply = tuple[str, str, int]
"""Purpose, atom and step of a reply, by which ``line['cut_off']`` knows it."""


def _refused(step: _Step) -> bool:
    """Whether what was wanted could not be done: illegal, or no known action at all."""
    return bool(step['action']) and step['status'] in (FeedbackStatus.REJECTED.value,
                                                       FeedbackStatus.INVALID.value)


def _unreadable(step: _Step) -> bool:
    return bool(step['status'] == FeedbackStatus.INVALID.value
                and step['proposal'] == ProposalStatus.UNPARSED.value)


@dataclass(frozen=True, slots=True)
class _Setback:
    """The event that made the method start over; ``cause`` is None if no answer was at fault."""

    step: _Step
    cause: Cause | None
    answers: Sequence[Mapping[str, Any]]
    text: str


class _Episode:
    """A line of results, read for the rules."""

    def __init__(self, line: Mapping[str, Any]) -> None:
        self.line, self.used = line, int(line['steps'])
        self.steps = [{'index': index, **entry} for index, entry in enumerate(line['actions'])]
        self._wrong = [dict(zip(WRONG_ANSWER, entry, strict=True)) for entry in line['wrong']]
        self._enumerated_at: list[int] = line['enumerated_at']
        self._starts = [*(plan['step'] for plan in line['plans']), *self._enumerated_at]
        self._plans = [(plan['step'], plan['length']) for plan in line['plans']
                       if plan['length'] is not None]
        self._cut = {(purpose, atom, step): tokens for purpose, atom, answer, step, tokens
                     in line.get('cut_off', ()) if answer == Verdict.UNPARSED.value}
        self.setback = self._last_setback()

    def ended(self, *reasons: StopReason) -> bool:
        return self.line['stop'] in {reason.value for reason in reasons}

    def limits(self, replies: Iterable[_Reply]) -> list[int]:
        """Limits of tokens that unreadable replies ran into.

        Args:
            replies: purpose, atom and step of each, as in ``judgements.CUT_REPLY``.

        Returns:
            the limits in ascending order, each once; [] unless most of the replies were cut off.
        """
        found = [self._cut.get(reply) for reply in replies]
        cut = [tokens for tokens in found if tokens is not None]
        return sorted(set(cut)) if 2 * len(cut) > len(found) else []

    def answers_now(self) -> list[Mapping[str, Any]]:
        """Return the wrong answers after the last step."""
        return [answer for answer in self._wrong if answer['step'] == self.used]

    def wrong(self, purpose: AskPurpose, step: int) -> list[Mapping[str, Any]]:
        """Return the wrong answers to questions of one purpose that were asked at a step."""
        return [answer for answer in self._wrong
                if answer['purpose'] == purpose.value and answer['step'] == step]

    def enumeration(self) -> tuple[int, list[Mapping[str, Any]]]:
        """Return the step of the last enumeration (-1 for none) and its wrong answers."""
        at = max(self._enumerated_at, default=-1)
        return at, self.wrong(AskPurpose.ENUMERATION, at)

    def failure(self, cause: Cause, text: str, step: int | _Step | None = None,
                answers: Sequence[Mapping[str, Any]] = ()) -> Failure:
        """Return a failure with the image of its first answer, else its step, else the last."""
        number, action = self.used, ''
        shown = self.line['last_observation'] or {'image_id': '', 'stamp_ns': 0}
        if isinstance(step, int):
            number = step
        elif step is not None:
            number, action, shown = step['index'], step['action'], step
        if answers:
            shown = answers[0]
        return Failure(cause, number, text, shown['image_id'], shown['stamp_ns'], action,
                       tuple(answers[:MOST_ANSWERS]), len(answers))

    def judged(self, cause: Cause, text: str, step: int | _Step | None,
               answers: Sequence[Mapping[str, Any]]) -> Failure:
        """Return ``failure``, with another cause where only answers without yes or no decided.

        It is ``CUT_OFF`` if most of them ran into a limit of tokens, else ``UNPARSABLE``.
        """
        if answers and all(a['answer'] in _NEITHER for a in answers):
            if limits := self.limits(map(_reply_of, answers)):
                return self.failure(Cause.CUT_OFF, f'{text} Most answers to this were cut off '
                                                   f'at {_tokens(limits)}.', step, answers)
            return self.failure(Cause.UNPARSABLE, f'{text} No answer to this could be read.',
                                step, answers)
        return self.failure(cause, text, step, answers)

    def _last_setback(self) -> _Setback | None:
        """Return the last setback; if the budget ran out, the last of a plan that fitted it."""
        for step in reversed(self.steps):
            found = self._setback(step)
            if found is not None and (not self.ended(StopReason.BUDGET) or self._fitted(step)):
                return found
        return None

    def _fitted(self, step: _Step) -> bool:
        """Whether the plan in hand at a step could be carried out within the budget."""
        plans = [plan for plan in self._plans if plan[0] <= step['index']]
        return not plans or sum(plans[-1]) <= self.line['max_actions']

    def too_long(self) -> str:
        """Return in words by how much the last plan exceeded the actions left; '' if it fitted."""
        if not self._plans or sum(self._plans[-1]) <= self.used:
            return ''
        start, length = self._plans[-1]
        return f'; the last plan needed {length} actions, and {self.used - start} were left'

    def _setback(self, step: _Step) -> _Setback | None:
        """Return the setback of a step; None if the method went on as planned."""
        if step['status'] == FeedbackStatus.WITHHELD.value:
            return self._withheld(step)
        if step['status'] == FeedbackStatus.REJECTED.value:
            answers = step['misled']
            return _Setback(
                step, Cause.PRECONDITION_JUDGED_TRUE if answers else None, answers,
                f'{step["action"]} was tried although it was illegal: '
                f'{_in_words(answers)}.' if answers else f'{step["action"]} was illegal.')
        if step['status'] == FeedbackStatus.EXECUTED.value and step['index'] + 1 in self._starts:
            return self._executed(step)
        return None

    def _withheld(self, step: _Step) -> _Setback:
        known = step['applicable'] is not None
        answers = step['misled'] if known else self.wrong(AskPurpose.PRECONDITION, step['index'])
        if answers and step['applicable'] is not False:
            return _Setback(
                step, Cause.PRECONDITION_JUDGED_FALSE, answers,
                f'{step["action"]} was withheld although it was legal: {_in_words(answers)}.')
        if step['applicable'] or not answers:
            return _Setback(step, None, (), f'{step["action"]} was withheld.')
        return _Setback(step, _cause_of_belief(answers), answers,
                        f'{step["action"]} was planned, and withheld for a good reason: earlier '
                        f'{_in_words(answers)}.')

    def _executed(self, step: _Step) -> _Setback | None:
        if step['effects'] == 'false_positive':
            return _Setback(step, Cause.EFFECT_MISREAD, step['misled'],
                            f'{step["action"]} did what it should, but '
                            f'{_in_words(step["misled"])}, and the method started over.')
        if step['effects'] != 'true_positive':
            return None
        if step['outcome'] not in ('success', ''):
            return _Setback(step, None, (), f'{step["action"]} went wrong in the world.')
        missed = self._missed_before(step)
        answers = missed['misled'] if missed else step['misled']
        if not answers:
            return _Setback(step, None, (), f'{step["action"]} had other effects than expected.')
        text = f'{step["action"]} could not do what was expected, because '
        text += (f'{missed["action"]} had other effects, which was missed: ' if missed
                 else f'after {_count(answers[0]["step"])} ')
        return _Setback(step, _cause_of_belief(answers), answers, f'{text}{_in_words(answers)}.')

    def _missed_before(self, step: _Step) -> _Step | None:
        """The last step since all was enumerated whose lack of effects was missed."""
        at = max((at for at in self._enumerated_at if at <= step['index']), default=0)
        return next((earlier for earlier in reversed(self.steps[at:step['index']])
                     if earlier['effects'] == 'false_negative' and earlier['misled']), None)

    def still_misread(self, answers: Sequence[Mapping[str, Any]]) -> bool:
        """Whether what was misread was misread again when all was asked after it, if it was."""
        at, wrong = self.enumeration()
        if at != self.used:
            return True
        return bool({a['atom'] for a in answers} & {a['atom'] for a in wrong})

    def oscillation(self) -> int:
        """Return the number of last steps that alternate between two actions; 0 for too few."""
        steps = self.steps
        if len(steps) < OSCILLATION or not all(step['action'] for step in steps[-2:]) or (
                steps[-1]['action'] == steps[-2]['action']):
            return 0
        length = 2
        while length < len(steps) and steps[-length - 1]['action'] == steps[-length + 1]['action']:
            length += 1
        return length if length >= OSCILLATION else 0

    def repetition(self) -> int:
        """Return the number of last steps that are the same action, refused each time."""
        length = 0
        for step in reversed(self.steps):
            if not _refused(step) or step['action'] != self.steps[-1]['action']:
                break
            length += 1
        return length


def _reply_of(answer: Mapping[str, Any]) -> _Reply:
    return answer['purpose'], answer['atom'], answer['step']


def _tokens(limits: Sequence[int]) -> str:
    return f'the limit of {" or ".join(map(str, limits))} tokens'


def _cause_of_belief(answers: Sequence[Mapping[str, Any]]) -> Cause:
    """Return the cause of a wrong belief, by the purpose of the first wrong answer."""
    return (Cause.EFFECT_MISREAD if answers[0]['purpose'] == AskPurpose.EFFECT.value
            else Cause.STATE_MISJUDGED)


def _count(steps: int) -> str:
    return f'{steps} step{"" if steps == 1 else "s"}'


def _in_words(answers: Sequence[Mapping[str, Any]]) -> str:
    """Return wrong answers in words."""
    if not answers:
        return 'an answer said otherwise'
    first = answers[0]
    words = {'yes': f'"{first["atom"]}" was taken for true',
             'no': f'"{first["atom"]}" was taken for false',
             'unknown': f'the model could not tell whether "{first["atom"]}" is true',
             }.get(first['answer'], f'the answer about "{first["atom"]}" could not be read')
    more = len(answers) - 1
    return words + (f' (and {more} more answer{"s were" if more > 1 else " was"} wrong)'
                    if more else '')


# The rules, each a function from an episode to its failure.

def _infrastructure(episode: _Episode) -> Failure | None:
    if scored(episode.line):
        return None
    reason = episode.line['error'] or episode.line['message'] or 'it was not scored'
    return episode.failure(Cause.INFRASTRUCTURE, f'The episode says nothing about the method: '
                                                 f'{reason}')


def _cut_off(episode: _Episode) -> Failure | None:
    if episode.ended(StopReason.UNPARSED):
        answers = [answer for answer in episode.answers_now()
                   if answer['answer'] == Verdict.UNPARSED.value]
        limits = episode.limits(map(_reply_of, answers) if answers else
                                [(PROPOSAL, '', episode.used)])
        return None if not limits else episode.failure(
            Cause.CUT_OFF, f'The episode ended at a reply that was cut off at {_tokens(limits)} '
            'before it said anything that can be read.', None, answers)
    lost = episode.steps[-REPEATED:]
    if not (episode.ended(StopReason.BUDGET) and len(lost) == REPEATED
            and all(_unreadable(step) for step in lost)):
        return None
    limits = episode.limits((PROPOSAL, '', step['index']) for step in lost)
    count = sum(bool(episode.limits([(PROPOSAL, '', step['index'])])) for step in episode.steps)
    return None if not limits else episode.failure(
        Cause.CUT_OFF, f'{count} of {len(episode.steps)} steps were lost to replies that were cut '
        f'off at {_tokens(limits)}, the last ones, too.', lost[-1])


def _unparsable(episode: _Episode) -> Failure | None:
    message = episode.line['message']
    if episode.ended(StopReason.UNPARSED):
        answers = [answer for answer in episode.answers_now()
                   if says(answer['answer']) is None]
        return episode.failure(Cause.UNPARSABLE, f'The episode ended at a reply that could not '
                               f'be read: {message or "no message"}', None, answers)
    lost = episode.steps[-REPEATED:]
    if (episode.ended(StopReason.BUDGET) and len(lost) == REPEATED
            and all(_unreadable(step) for step in lost)):
        count = sum(_unreadable(step) for step in episode.steps)
        return episode.failure(Cause.UNPARSABLE, f'{count} of {len(episode.steps)} steps were '
                               f'lost to replies that could not be read, the last ones, too.',
                               lost[-1])
    return None


def _setback_is(cause: Cause, *reasons: StopReason) -> Callable[[_Episode], Failure | None]:
    def find(episode: _Episode) -> Failure | None:
        setback = episode.setback
        if setback is None or setback.cause is not cause or not episode.ended(*reasons):
            return None
        if (episode.ended(StopReason.NO_PLAN, StopReason.PLANNER_TIMEOUT)
                and not episode.still_misread(setback.answers)):
            return None
        return episode.judged(cause, setback.text, setback.step, setback.answers)
    return find


def _effect_misread(episode: _Episode) -> Failure | None:
    if not episode.ended(StopReason.PLAN_DONE):
        return _FALSE_POSITIVE(episode)
    for entry in episode.line['goal_unmet']:
        last = entry.get('last')
        if last and last['purpose'] == AskPurpose.EFFECT.value and _is_wrong(last):
            step = episode.steps[last['step'] - 1] if (
                0 < last['step'] <= len(episode.steps)) else None
            return episode.judged(
                Cause.EFFECT_MISREAD, f'The goal needs "{entry["literal"]}", and after '
                f'{step["action"] if step else "the last action"} {_in_words([last])}.', step,
                [last])
    return None


def _missed_effect(episode: _Episode) -> Failure | None:
    if not episode.ended(StopReason.PLAN_DONE) or _goal_answers(episode):
        return None
    planned = max((start for start in episode._starts if start <= episode.used), default=0)
    for step in reversed(episode.steps[planned:]):
        if step['effects'] == 'false_negative' and step['misled']:
            return episode.judged(
                Cause.EFFECT_MISREAD, f'{step["action"]} did not do what it should, which was '
                f'missed: {_in_words(step["misled"])}.', step, step['misled'])
    return None


def _goal_answers(episode: _Episode) -> list[Mapping[str, Any]]:
    """The wrong answers by which what is missing for the goal was taken for given."""
    lasts = [entry.get('last') for entry in episode.line['goal_unmet']]
    return [last for last in lasts if last and _is_wrong(last)]


def _is_wrong(answer: Mapping[str, Any]) -> bool:
    said = says(answer['answer'])
    return said is None or said is not answer['truth']


def _goal_misjudged(episode: _Episode) -> Failure | None:
    says_done = episode.ended(StopReason.EMPTY_PLAN) and not episode.line['stop_at_goal']
    if not episode.ended(StopReason.PLAN_DONE) and not says_done:
        return None
    missing = [entry['literal'] for entry in episode.line['goal_unmet']]
    answers = _goal_answers(episode)
    return episode.judged(
        Cause.GOAL_MISJUDGED, 'The method ended the episode as if the goal held'
        + (f', but {", ".join(missing)} was missing' if missing else '')
        + (f': {_in_words(answers)}.' if answers else '.'),
        answers[0]['step'] if answers else None, answers)


def _no_plan(episode: _Episode) -> Failure | None:
    if not episode.ended(StopReason.NO_PLAN, StopReason.PLANNER_TIMEOUT, StopReason.EMPTY_PLAN):
        return None
    at, wrong = episode.enumeration()
    # One that says neither yes nor no leaves its atom false: it misleads about what is true only.
    wrong = [a for a in wrong if says(a['answer']) is not None or a['truth'] is not False]
    read = [a for a in wrong if says(a['answer']) is not None]
    message = episode.line['message']
    text = ('The planner ran out of time' if episode.ended(StopReason.PLANNER_TIMEOUT)
            else 'The model that plans proposed to do nothing'
            if episode.ended(StopReason.EMPTY_PLAN) else 'The planner found no plan')
    text += f' after {_count(episode.used)}' if episode.used else ' at the start'
    if wrong and at == episode.used:
        text += f'; in the state it planned from {_in_words(read or wrong)}'
    elif message and not episode.ended(StopReason.EMPTY_PLAN):
        text += f': {message}'
    return episode.judged(Cause.NO_PLAN, f'{text}.', episode.used,
                          (read or wrong) if at == episode.used else ())


def _oscillation(episode: _Episode) -> Failure | None:
    length = episode.oscillation() if episode.ended(StopReason.BUDGET) else 0
    if not length:
        return None
    first, second = episode.steps[-length], episode.steps[-length + 1]
    return episode.failure(
        Cause.OSCILLATION, f'The last {length} steps alternate between {first["action"]} and '
        f'{second["action"]}.', episode.steps[-1])


def _repeated_illegal(episode: _Episode) -> Failure | None:
    if episode.ended(StopReason.REPEATED_ILLEGAL):
        last = episode.steps[-1] if episode.steps else None
        return episode.failure(
            Cause.REPEATED_ILLEGAL, f'{last["action"] if last else "An action"} was illegal '
            f'{max(REPEATED, episode.repetition())} times in a row.', last)
    length = episode.repetition() if episode.ended(StopReason.BUDGET) else 0
    if length < REPEATED:
        return None
    return episode.failure(
        Cause.REPEATED_ILLEGAL, f'{episode.steps[-1]["action"]} was tried {length} times in a row '
        f'at the end, and could not be done.', episode.steps[-1])


def _budget(episode: _Episode) -> Failure | None:
    if not episode.ended(StopReason.BUDGET):
        return None
    counts = [f'{n} {status.value}' for status in FeedbackStatus
              if (n := sum(step['status'] == status.value for step in episode.steps))]
    failed = sum(step['status'] == FeedbackStatus.EXECUTED.value
                 and step['outcome'] not in ('', 'success') for step in episode.steps)
    if failed:
        counts.append(f'{failed} failed in execution')
    return episode.failure(
        Cause.BUDGET, f'The budget of {episode.used} actions was used up'
        f'{": " + ", ".join(counts) if counts else ""}{episode.too_long()}.',
        episode.steps[-1] if episode.steps else None)


def _stopped_early(episode: _Episode) -> Failure | None:
    message = episode.line['message']
    return episode.failure(Cause.STOPPED_EARLY, f'The episode ended ({episode.line["stop"]})'
                           f' before the goal was reached{": " + message if message else ""}.')


_STUCK = (StopReason.BUDGET, StopReason.NO_PLAN, StopReason.PLANNER_TIMEOUT)
_FALSE_POSITIVE = _setback_is(Cause.EFFECT_MISREAD, *_STUCK)

_FINDERS: Mapping[str, Callable[[_Episode], Failure | None]] = {
    'infrastructure': _infrastructure,
    'cut_off': _cut_off,
    'unparsable': _unparsable,
    'withheld_legal_action': _setback_is(Cause.PRECONDITION_JUDGED_FALSE, *_STUCK),
    'tried_illegal_action': _setback_is(Cause.PRECONDITION_JUDGED_TRUE, StopReason.BUDGET,
                                        StopReason.REPEATED_ILLEGAL),
    'effect_misread': _effect_misread,
    'missed_effect': _missed_effect,
    'goal_misjudged': _goal_misjudged,
    'no_plan': _no_plan,
    'state_misjudged': _setback_is(Cause.STATE_MISJUDGED, StopReason.BUDGET),
    'oscillation': _oscillation,
    'repeated_illegal': _repeated_illegal,
    'budget': _budget,
    'stopped_early': _stopped_early,
}

RULES: tuple[Rule, ...] = tuple(
    Rule(Cause(row['cause']), row['when'], row['example'], _FINDERS[row['rule']])
    for row in read_data(Path(__file__).parent / 'failure_rules.yaml'))
"""All rules, in order of precedence; the last one applies to every episode."""
