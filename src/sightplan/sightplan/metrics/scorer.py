"""Scoring one episode from its events and ground truth.

It counts what happened and compares it with the truth: whether the goal holds in the true final
state, which answers were wrong, what each action did, what checks of preconditions and effects
were worth (``judgements.CHECKS``), how many withheld actions had a false precondition, and why an
episode failed (``metrics.failures``). What of this is measured is the suite's to say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sightplan.domains import load_domain
from sightplan.metrics.episodes import episode_measures
from sightplan.metrics.failures import failure_of
from sightplan.metrics.judgements import (
    CHECKS,
    PROPOSAL,
    WRONG_ANSWER,
    Judgements,
)
from sightplan.model import (
    Asked,
    AskPurpose,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeSpec,
    EpisodeStarted,
    FeedbackStatus,
    Literal,
    Observation,
    Observed,
    Planned,
    PlanningStatus,
    Problem,
    ProposalStatus,
    Proposed,
    State,
    Stepped,
    TruthSource,
    Usage,
    Verdict,
)
from sightplan.model.event_handler import EventHandler
from sightplan.model.judged_answer import JudgedAnswer
from sightplan.model.timeline import Fold, Moment, Timeline

COUNTS = ('asked', 'right', 'yes_asked', 'yes_right', 'no_asked', 'no_right', 'unparsed',
          'unknown')
"""Per predicate: ``asked`` holds all; yes_ and no_ are keyed by the truth."""

BELIEF_BINS = 20
"""Bins of equal width into which the probabilities of beliefs are counted."""

Measures = Callable[[Mapping[str, Any], bool | None], Mapping[str, float | None]]

Details = Callable[[Problem, Sequence[State], Mapping[str, Any]], Mapping[str, Any]]

MOST_TEXTS, MOST_CHARACTERS = 5, 600
"""Most unreadable replies of a planning model that are kept, and most characters of each."""

_SENT = (FeedbackStatus.EXECUTED.value, FeedbackStatus.REJECTED.value)


class EpisodeScorer:
    """A Recorder that scores episodes, one after another, as they happen.

    The truth is looked up as each event arrives, because a world forgets an episode's states at
    its next reset.
    """

    def __init__(self, truth: TruthSource | None, suite: str = '',
                 measures: Measures = episode_measures,
                 details: Details | None = None,
                 also: Sequence[Callable[[Moment[EpisodeEvent]], None]] = ()) -> None:
        """Score against ground truth.

        Args:
            truth: None: there is none, as on a robot. Then episodes are not scored, which is no
                error: their lines say how they went as far as the agent knows it, and what it
                claimed (``stop``).
            suite: name of the suite that the episodes belong to, '' for none.
            measures: from a line, and whether the episode is solved (None: not scored), to the
                line's measures.
            details: from a problem, the true states at its beginning and after each step, and a
                line without measures, to what the suite keeps of the way, as plain JSON data.
                It is handed the line with ``replies``, which are not kept: of each reply of a
                planning model the number of steps before it, and its text.
            also: take each event as it was folded, with the truth joined in.
        """
        self._also = also
        self._fold = Fold(truth, way=details is not None)
        self._line = _Line(suite, measures, details)

    def record(self, event: EpisodeEvent) -> None:
        """Take one event of an episode that began with EpisodeStarted."""
        if self._fold.end is not None and not isinstance(event, EpisodeStarted):
            raise ValueError(f'{type(event).__name__} came before EpisodeStarted')
        moment = self._fold.take(event)
        self._line.take(moment, self._fold.has_truth)
        for take in self._also:
            take(moment)

    def result(self) -> dict[str, Any]:
        """The finished episode as one line of results (plain JSON data).

        Besides counts it lists all ``wrong`` answers: purpose, atom, answer, number of actions
        before, id and stamp of the image [ns], truth; and all ``actions``: what was decided (or
        what the model named, if that was invalid), its status for the agent and its true outcome,
        the image it was decided on, whether it was legal (``applicable``), what the check of its
        ``effects`` was worth (one of ``CHECKS``), and the wrong answers that ``misled`` the method
        there. ``goal_unmet`` are the literals of the goal that did not hold at the end, each with
        the last answer about it. ``privileged`` says when facts about what is out of view were
        provided, ``privileged_facts`` how many came with all observations. ``proposals`` counts
        the replies of a planning model by status; ``usage`` is what the models cost, None where
        nobody counted.
        ``cut_off`` lists the replies that ran into their limit of tokens, see
        ``judgements.CUT_REPLY``: purpose (``PROPOSAL`` for a planning model's), atom, what was
        read all the same (``unparsed`` for nothing), number of actions before, and the limit.
        ``details`` are what the suite keeps of the way, and what a ``DetailSource`` adds.
        ``failure`` says why an episode that is not solved failed, see ``metrics.failures``.
        ``beliefs`` are the probabilities that were believed at each step and at the end, counted
        by bin: number, sum of the probabilities, number of true atoms; empty without any.

        Raises:
            ValueError: no episode has ended.
        """
        return self._line.result()


def score(timeline: Timeline, suite: str = '', measures: Measures = episode_measures,
          details: Details | None = None) -> dict[str, Any]:
    """The line of results of an episode that has ended.

    Args:
        timeline: the truth joined in; with the way where there are ``details``.
        suite: and the others, see ``EpisodeScorer``.
        measures: see there.
        details: see there.

    Returns:
        see ``EpisodeScorer.result``.

    Raises:
        ValueError: the episode has not ended.
    """
    line = _Line(suite, measures, details)
    for moment in timeline.moments:
        line.take(moment, timeline.has_truth)
    return line.result()


class _Line(EventHandler):
    """A line of results, made of the moments of an episode."""

    def __init__(self, suite: str, measures: Measures, details: Details | None) -> None:
        self._suite, self._measures, self._details = suite, measures, details
        self._result: dict[str, Any] | None = None

    def take(self, moment: Moment[EpisodeEvent], has_truth: bool) -> None:
        """Count a moment."""
        self._moment, self._then, self._has_truth = moment, moment.truth, has_truth
        if moment.kind is EpisodeStarted:
            self._failure = ''
        self._failure = self._failure or self._then.error or (
            self._then.way_error if self._details is not None else '')
        self.record(moment.event)

    def result(self) -> dict[str, Any]:
        """The line of the last episode; raises as ``EpisodeScorer.result``."""
        if self._result is None:
            raise ValueError('no episode has ended yet')
        return self._result

    def on_observed(self, event: Observed) -> None:
        """Count an observation and its facts."""
        self._line['observations'] += 1
        self._line['privileged_facts'] += len(event.observation.privileged_facts)
        self._saw(event.observation)

    def on_believed(self, event: BeliefUpdated) -> None:
        """Keep the belief for the judgement of steps."""
        self._judgements.believe(event.belief)

    def on_started(self, event: EpisodeStarted) -> None:
        """Begin a line of results."""
        spec = self._spec = event.spec
        self._result = None
        # Where the initial state is not known (on ROS), it is that before the first step.
        known = spec.problem.init != spec.problem.known
        self._path = [spec.problem.init] if known else []
        self._preconditions_right, self._precondition_broken = True, False
        self._judgements = Judgements(spec.problem)
        self._usage: Usage | None = None
        self._named = self._reply = ''
        self._replies: list[tuple[int, str]] = []
        self._line: dict[str, Any] = {
            'id': spec.id, 'suite': self._suite, 'kind': 'episode', 'cluster': spec.cluster,
            'domain': spec.problem.domain_name,
            'split': spec.split,
            'problem': spec.problem.name,
            'method': spec.method,
            'model': '',
            'seed': spec.seed,
            'max_actions': spec.max_actions,
            'failure_probability': spec.failure_probability,
            'stop_at_goal': spec.stop_at_goal,
            'privileged': spec.privileged.value, 'privileged_facts': 0,
            'goal': 'pictured' if spec.pictured_goal else 'told',
            'optimal_length': spec.problem.optimal_length,
            'measures': {}, 'cause': None, 'answer': [], 'details': {},
            'stop': '', 'message': '', 'error': None,
            'steps': 0, 'executed': 0, 'rejected': 0, 'withheld': 0, 'invalid': 0,
            'remaining': 0, 'withheld_true_positive': 0,
            'plans': [], 'actions': [],
            'actions_right': 0, 'actions_counted': 0,
            'observations': 0,
            'questions': 0,
            'predicates': {},
            'wrong': [],
            'enumerations': [],
            'enumerated_at': [],
            'proposals': {}, 'repaired': 0, 'unreadable': [], 'cut_off': [],
            'prompts': {},
            'usage': None,
            'checks': {},
            'beliefs': [],
            'last_observation': None,
            'goal_unmet': [],
            'failure': None,
            'timings_s': {},
            'seconds': 0.0,
        }

    def _saw(self, observation: Observation) -> None:
        self._line['last_observation'] = {'image_id': observation.image_id,
                                          'stamp_ns': observation.stamp_ns}

    def _spent(self, event: Asked | Proposed) -> None:
        """Note the prompt that was used, and what the call cost."""
        if event.prompt:
            prompts = self._line['prompts']
            prompts[event.prompt] = prompts.get(event.prompt, 0) + 1
        if event.usage is not None:
            self._usage = (self._usage or Usage()) + event.usage

    def on_proposed(self, event: Proposed) -> None:
        """Count a reply of a planning model."""
        self._saw(event.observation)
        self._spent(event)
        line, proposal = self._line, event.proposal
        status = proposal.status.value
        line['model'] = proposal.model or line['model']
        if proposal.status is not ProposalStatus.FAILED:
            line['proposals'][status] = line['proposals'].get(status, 0) + 1
        line['repaired'] += proposal.repaired
        if proposal.cut_at:
            line['cut_off'].append([PROPOSAL, '', status, line['steps'], proposal.cut_at])
        self._named, self._reply = proposal.named, status
        if self._details is not None and proposal.text:
            self._replies.append((line['steps'], proposal.text))
        if proposal.status is ProposalStatus.UNPARSED and len(line['unreadable']) < MOST_TEXTS:
            text = proposal.text
            line['unreadable'].append(text if len(text) <= MOST_CHARACTERS else
                                      f'{text[:MOST_CHARACTERS]} ... ({len(text)} characters)')

    def on_asked(self, event: Asked) -> None:
        """Count the usage, and compare answers to yes/no questions with the truth."""
        if not event.observation.shows_goal:
            self._saw(event.observation)
        self._spent(event)
        line = self._line
        line['questions'] += len(event.questions)
        line['model'] = event.model or line['model']
        line['cut_off'] += [
            [event.purpose.value, str(question.atom), answer.verdict.value, line['steps'],
             answer.cut_at]
            for question, answer in zip(event.questions, event.answers, strict=False)
            if answer.cut_at]
        if self._then.state is None:
            return
        table = line['predicates'].setdefault(event.purpose.value, {})
        all_right = True
        positive = truly = False  # an answer, or the truth, differs from what was expected
        false_positives: list[JudgedAnswer] = []
        false_negatives: list[JudgedAnswer] = []
        for judged in self._moment.judged:
            truth, expected, verdict = judged.truth, judged.expected, judged.answer.verdict
            if truth is None:
                continue
            self._judgements.take(judged)
            right = not judged.wrong
            counts = table.setdefault(judged.question.atom.predicate, dict.fromkeys(COUNTS, 0))
            side = 'yes' if truth else 'no'
            counts['asked'] += 1
            counts['right'] += right
            counts['unparsed'] += verdict is Verdict.UNPARSED
            counts['unknown'] += verdict is Verdict.UNKNOWN
            counts[f'{side}_asked'] += 1
            counts[f'{side}_right'] += right
            all_right = all_right and right
            if not right:
                line['wrong'].append([judged.to_json()[key] for key in WRONG_ANSWER])
            if expected is not None:
                positive |= judged.says not in (None, expected)
                truly |= truth != expected
                if not right:
                    (false_negatives if truth != expected else false_positives).append(judged)
        if event.purpose is AskPurpose.ENUMERATION:
            line['enumerations'].append(all_right)
            line['enumerated_at'].append(line['steps'])
        elif event.purpose in (AskPurpose.PRECONDITION, AskPurpose.EFFECT):
            checks = line['checks'].setdefault(event.purpose.value, dict.fromkeys(CHECKS, 0))
            check = (f'{"true" if positive == truly else "false"}_'
                     f'{"positive" if positive else "negative"}')
            checks[check] += 1
            if event.purpose is AskPurpose.PRECONDITION:
                self._preconditions_right = all_right
                self._precondition_broken = truly
            elif line['actions']:
                # The effects of the action that was executed last.
                step = line['actions'][-1]
                step['right'] = step['right'] and all_right
                self._judgements.effects(step, check, {
                    'false_positive': [j for j in false_positives if j.says is not None],
                    'true_positive': self._judgements.behind(event.action, line['steps']),
                    'false_negative': false_negatives}.get(check, []))

    def on_planned(self, event: Planned) -> None:
        """Note the planner's reply."""
        result = event.result
        solved = result.status is PlanningStatus.SOLVED
        self._line['plans'].append({'status': result.status.value, 'step': self._line['steps'],
                                    'length': len(result.plan) if solved else None,
                                    'seconds': result.seconds, 'cached': result.cached})

    def _count_belief(self) -> None:
        """Count the belief that counts now, if the state at its time is known."""
        belief, state = self._then.belief, self._then.believed
        if belief is None or state is None:
            return
        bins = self._line['beliefs'] or [[0, 0.0, 0] for _ in range(BELIEF_BINS)]
        for atom, probability in belief.probabilities.items():
            counts = bins[min(int(probability * BELIEF_BINS), BELIEF_BINS - 1)]
            counts[0] += 1
            counts[1] = round(counts[1] + probability, 6)
            counts[2] += atom in state
        self._line['beliefs'] = bins

    def on_stepped(self, event: Stepped) -> None:
        """Note the action, with its true outcome."""
        self._count_belief()
        line, status = self._line, event.feedback.status
        if status is FeedbackStatus.WITHHELD and self._precondition_broken:
            line['withheld_true_positive'] += 1
        frame = line['last_observation'] or {'image_id': '', 'stamp_ns': 0}
        entry = {
            'action': str(event.action) if event.action is not None else self._named,
            'status': status.value, 'outcome': self._then.outcome,
            'right': status is FeedbackStatus.EXECUTED and self._preconditions_right,
            **frame, 'applicable': None, 'effects': None, 'misled': []}
        if event.action is not None and event.action.region is not None:
            entry['region'] = event.action.region.to_json()
        if status is FeedbackStatus.INVALID:
            entry['proposal'] = self._reply
        self._judgements.step(line['steps'], event.action, status, self._then.state, entry)
        line['actions'].append(entry)
        line['steps'] += 1
        line[status.value] += 1
        if self._details is not None:
            self._walk()
        self._preconditions_right, self._precondition_broken = True, False

    def _walk(self) -> None:
        """Note the true state after a step, and before the first one."""
        if not self._path:
            if self._then.state is None:
                return
            self._path.append(self._then.state)
        after = self._then.after
        self._path.append(self._path[-1] if after is None else after)

    def _problem(self, spec: EpisodeSpec, final: State | None) -> Problem:
        """The problem, with the initial state and goal that an agent is not told."""
        problem = spec.problem
        if problem.goal or not spec.pictured_goal:
            goal = problem.goal
        else:
            about = load_domain(problem.domain).goal_predicates
            place = {name: number for number, name in enumerate(problem.objects)}
            goal = tuple(Literal(atom) for atom in sorted(
                sorted(self._then.goal or ()),
                key=lambda atom: [place.get(name, -1) for name in atom.args])
                if atom.predicate in about)
        if not self._path and final is not None:
            self._path.append(final)
        return dataclasses.replace(problem, goal=goal,
                                   init=self._path[0] if self._path else problem.init)

    def on_ended(self, event: EpisodeEnded) -> None:
        """Finish the line."""
        self._count_belief()
        line = self._line
        solved: bool | None = None
        if event.reason.scored and self._has_truth:
            final = self._then.state
            problem = self._problem(self._spec, final)
            if final is not None and problem.goal:  # an empty goal holds in every state
                solved = problem.goal_met(final)
                line['goal_unmet'] = self._judgements.unmet(problem.goal, final)
        if self._failure:
            solved = None  # what cannot be compared with truth must not count, neither way
        planned = any(p['status'] == PlanningStatus.SOLVED.value for p in line['plans'])
        line.update(
            stop=event.reason.value, message=event.message,
            error=(event.message or event.reason.value) if not event.reason.scored
            else self._failure or None,
            remaining=event.remaining, seconds=event.seconds, timings_s=dict(event.timings_s),
            actions_right=sum(step['right'] for step in line['actions']),
            actions_counted=(len(line['actions']) + event.remaining
                             if planned or line['actions'] else 1),
            usage=None if self._usage is None else dataclasses.asdict(self._usage),
            answer=[step['action'] for step in line['actions'] if step['status'] in _SENT])
        if self._details is not None and solved is not None:
            line['details'] = dict(self._details(problem, self._path,
                                                 {**line, 'replies': self._replies}))
        line['details'] = {**line['details'], **self._then.details}
        line['measures'] = dict(self._measures(line, solved))
        failure = failure_of(line)
        if failure is not None:
            line['failure'], line['cause'] = failure.to_json(), failure.cause.value
            for answer in line['failure']['evidence']['answers']:
                answer['question'] = self._judgements.texts.get(answer['atom'], '')
        self._result = line
