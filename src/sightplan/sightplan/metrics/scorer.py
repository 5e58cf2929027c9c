"""Scoring one episode from its events and ground truth.

The paper's rules are those of ViPlan's evaluation:

* an episode is *solved* when the goal holds in the true final state, whatever the method believes;
* *predicate accuracy* counts the questions of enumerations only;
* an *action* is right when it was executed and all answers about its preconditions and effects are
  true; the actions that were still planned at the end count as not right, and an episode without
  any plan counts as one action that is not right.

Ours, beside them, say what the checks were worth: how often a check raised the alarm and whether
there was one to raise, and how many withheld actions were withheld rightly.
"""

from __future__ import annotations

from typing import Any

from sightplan.model import (
    Asked,
    AskPurpose,
    Belief,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeSpec,
    EpisodeStarted,
    FeedbackStatus,
    InfrastructureError,
    Observed,
    Planned,
    PlanningStatus,
    State,
    Stepped,
    TruthSource,
    Verdict,
)

COUNTS = ('asked', 'right', 'yes_asked', 'yes_right', 'no_asked', 'no_right', 'unparsed')
"""Per predicate: ``asked`` holds the unparsed ones too; yes_ and no_ are keyed by the truth."""

CHECKS = ('alarm_right', 'alarm_wrong', 'quiet_right', 'quiet_wrong')
"""Checks of an action by their outcome: alarm (an answer differs from what was expected) or quiet,
right or wrong by the truth of the same atoms."""

BELIEF_BINS = 20
"""Bins of equal width into which the probabilities of beliefs are counted."""


class EpisodeScorer:
    """A Recorder that looks up ground truth by stamp and scores episodes, one after another.

    The truth is looked up as each event arrives, because a world forgets an episode's states at
    its next reset.
    """

    def __init__(self, truth: TruthSource) -> None:
        """Score against ``truth``."""
        self._truth = truth
        self._result: dict[str, Any] | None = None
        self._spec: EpisodeSpec | None = None
        self._now_ns = 0
        self._belief: tuple[int, Belief] | None = None

    def record(self, event: EpisodeEvent) -> None:
        """Take one event of an episode that began with EpisodeStarted."""
        if isinstance(event, EpisodeStarted):
            self._start(event.spec)
        elif self._spec is None:
            raise ValueError(f'{type(event).__name__} came before EpisodeStarted')
        elif isinstance(event, Observed):
            self._line['looks'] += 1
            self._now_ns = max(self._now_ns, event.observation.stamp_ns)
        elif isinstance(event, BeliefUpdated):
            self._belief = (self._now_ns, event.belief)
        elif isinstance(event, Asked):
            self._asked(event)
        elif isinstance(event, Planned):
            self._planned(event)
        elif isinstance(event, Stepped):
            self._stepped(event)
        elif isinstance(event, EpisodeEnded):
            self._ended(event)

    def result(self) -> dict[str, Any]:
        """The finished episode as one line of results (plain JSON data).

        Besides counts it lists all ``wrong`` answers: purpose, atom, answer, number of actions
        before; and all ``actions`` with their status for the agent and their true outcome.
        ``beliefs`` are the probabilities that were believed at each step and at the end, counted
        by bin: number, sum of the probabilities, number of true atoms; empty without any.

        Raises:
            ValueError: no episode has ended.
        """
        if self._result is None:
            raise ValueError('no episode has ended yet')
        return self._result

    def _start(self, spec: EpisodeSpec) -> None:
        self._spec = spec
        self._result = None
        self._states: dict[int, State] = {}
        self._failure = ''
        self._preconditions_right = True
        self._now_ns = 0
        self._belief = None
        self._line: dict[str, Any] = {
            'episode_id': spec.episode_id,
            'domain': spec.problem.domain,
            'split': spec.split,
            'problem': spec.problem.name,
            'method': spec.method,
            'model': '',
            'seed': spec.seed,
            'max_actions': spec.max_actions,
            'failure_probability': spec.failure_probability,
            'optimal_length': spec.problem.optimal_length,
            'scored': False, 'solved': False, 'stop': '', 'message': '', 'error': None,
            'steps': 0, 'executed': 0, 'rejected': 0, 'withheld': 0, 'remaining': 0,
            'withheld_rightly': 0,
            'plans': [], 'actions': [],
            'actions_right': 0, 'actions_counted': 0,
            'looks': 0,
            'questions': 0,
            'predicates': {},
            'wrong': [],
            'enumerations': [],
            'checks': {},
            'beliefs': [],
            'timings_s': {},
            'seconds': 0.0,
        }

    def _true_state(self, stamp_ns: int | None) -> State | None:
        """The true state, or None (noted as a failure) if the world cannot tell."""
        if stamp_ns is not None and stamp_ns in self._states:
            return self._states[stamp_ns]
        try:
            state = self._truth.state(stamp_ns)
        except InfrastructureError as error:
            self._failure = self._failure or f'no ground truth: {error}'
            return None
        if stamp_ns is not None:
            self._states[stamp_ns] = state
        return state

    def _asked(self, event: Asked) -> None:
        line = self._line
        line['questions'] += len(event.questions)
        line['model'] = event.model or line['model']
        state = self._true_state(event.observation.stamp_ns)
        if state is None:
            return
        table = line['predicates'].setdefault(event.purpose.value, {})
        all_right = True
        alarm = true_alarm = False
        for question, answer, expected in zip(event.questions, event.answers, event.expected,
                                              strict=True):
            truth = question.atom in state
            unparsed = answer.verdict is Verdict.UNPARSED
            right = not unparsed and (answer.verdict is Verdict.YES) is truth
            counts = table.setdefault(question.atom.predicate, dict.fromkeys(COUNTS, 0))
            side = 'yes' if truth else 'no'
            counts['asked'] += 1
            counts['right'] += right
            counts['unparsed'] += unparsed
            counts[f'{side}_asked'] += 1
            counts[f'{side}_right'] += right
            all_right = all_right and right
            if not right:
                line['wrong'].append([event.purpose.value, str(question.atom),
                                      answer.verdict.value, line['steps']])
            if expected is not None:
                alarm = alarm or (not unparsed and (answer.verdict is Verdict.YES) != expected)
                true_alarm = true_alarm or truth != expected
        if event.purpose is AskPurpose.ENUMERATION:
            line['enumerations'].append(all_right)
        elif event.purpose in (AskPurpose.PRECONDITION, AskPurpose.EFFECT):
            checks = line['checks'].setdefault(event.purpose.value, dict.fromkeys(CHECKS, 0))
            kind = 'alarm' if alarm else 'quiet'
            checks[f'{kind}_{"right" if alarm == true_alarm else "wrong"}'] += 1
            if event.purpose is AskPurpose.PRECONDITION:
                self._preconditions_right = all_right
                self._precondition_broken = true_alarm
            elif line['actions']:
                # The effects of the action that was executed last.
                step = line['actions'][-1]
                step['right'] = step['right'] and all_right

    def _planned(self, event: Planned) -> None:
        result = event.result
        solved = result.status is PlanningStatus.SOLVED
        self._line['plans'].append({'status': result.status.value,
                                    'length': len(result.plan) if solved else None,
                                    'seconds': result.seconds, 'cached': result.cached})

    def _count_belief(self) -> None:
        """Count the last belief, if there is one of a known time that was not counted yet."""
        if self._belief is None:
            return
        stamp_ns, belief = self._belief
        self._belief = None
        state = self._true_state(stamp_ns) if stamp_ns and belief.probabilities else None
        if state is None:
            return
        bins = self._line['beliefs'] or [[0, 0.0, 0] for _ in range(BELIEF_BINS)]
        for atom, probability in belief.probabilities.items():
            counts = bins[min(int(probability * BELIEF_BINS), BELIEF_BINS - 1)]
            counts[0] += 1
            counts[1] = round(counts[1] + probability, 6)
            counts[2] += atom in state
        self._line['beliefs'] = bins

    def _stepped(self, event: Stepped) -> None:
        self._count_belief()
        self._now_ns = max(self._now_ns, event.feedback.stamp_ns)
        line, status = self._line, event.feedback.status
        outcome = ''
        if status is not FeedbackStatus.WITHHELD:
            try:
                outcome = self._truth.last_outcome()
            except InfrastructureError as error:
                self._failure = self._failure or f'no ground truth: {error}'
        elif self._precondition_broken:
            line['withheld_rightly'] += 1
        line['steps'] += 1
        line[status.value] += 1
        line['actions'].append({
            'action': str(event.action), 'status': status.value, 'outcome': outcome,
            'right': status is FeedbackStatus.EXECUTED and self._preconditions_right})
        self._preconditions_right, self._precondition_broken = True, False

    def _ended(self, event: EpisodeEnded) -> None:
        assert self._spec is not None
        self._count_belief()
        line = self._line
        scored = event.reason.scored
        if scored:
            final = self._true_state(event.stamp_ns or None)
            if final is not None:
                line['solved'] = self._spec.problem.goal_met(final)
        if self._failure:
            # What cannot be compared with truth must not count, neither way.
            scored, line['solved'] = False, False
        planned = any(p['status'] == PlanningStatus.SOLVED.value for p in line['plans'])
        line.update(
            scored=scored, stop=event.reason.value, message=event.message,
            error=(event.message or event.reason.value) if not event.reason.scored
            else self._failure or None,
            remaining=event.remaining, seconds=event.seconds, timings_s=dict(event.timings_s),
            actions_right=sum(step['right'] for step in line['actions']),
            actions_counted=(len(line['actions']) + event.remaining
                             if planned or line['actions'] else 1))
        self._result = line
        self._spec = None

    _precondition_broken = False
