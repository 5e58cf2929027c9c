"""Makes the explanation of an episode: out of its bag, or out of its line of results alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sightplan.agent import reads_instruction
from sightplan.domains import InstantiatedModel
from sightplan.metrics import measures
from sightplan.model import (
    Action,
    Asked,
    AskPurpose,
    Atom,
    Belief,
    BeliefUpdated,
    EpisodeEvent,
    FeedbackStatus,
    InputError,
    Literal,
    Observation,
    Observed,
    Planned,
    PlanningStatus,
    Proposed,
    SightplanError,
    StopReason,
    counted,
)
from sightplan.model.timeline import Moment, Step, problem_known
from sightplan.records.behaviour_tree import NodeChange
from sightplan.records.recorded import RecordedEpisode
from sightplan_report.explanation import (
    Batch,
    Change,
    Deciding,
    Explanation,
    Fact,
    StepExplained,
    TruthExplained,
    Why,
    believed,
    rows_of,
)
from sightplan_report.explanation_words import (
    CHOSEN,
    CUT_OFF,
    NOT_CHOSEN,
    became,
    because,
    method_sentence,
    stopped,
)
from sightplan_report.html import words

NO_BAG = ('This episode has no bag, so pictures, questions and beliefs are not known. To record '
          'them: sightplan run --bags all (failed: of those that are not solved); graphs of ROS '
          'nodes record them unless bags:= says otherwise.')
ABOUT = {AskPurpose.ENUMERATION: 'what holds', AskPurpose.GOAL: 'whether the goal holds',
         AskPurpose.PICTURED_GOAL: 'what the picture of the goal shows',
         AskPurpose.PRECONDITION: 'preconditions', AskPurpose.EFFECT: 'effects',
         AskPurpose.LOOK: 'what else is seen'}
_LEAST_CHANGE, _MOST_CHANGES, _MOST_PICTURES = 0.05, 8, 2
_MOST_ALTERNATIVES, _MOST_THINGS, _MOST_OBSTACLES = 3, 24, 3
_OTHER_TIME = ('the bag has the status log of a behaviour tree, but nothing of the time of this '
               'episode')
_HALF, _UNSURE = 0.5, 0.1
"""Probability 1/2, and the distance from it within which a belief is undecided."""
_AFTERWARDS_NS = 10**9
"""Time after an episode in which events of a behaviour tree still belong to it [ns]."""


def explain(episode: RecordedEpisode, line: Mapping[str, Any], *, title: str = '',
            tree: Sequence[NodeChange] = (), notes: Sequence[str] = (),
            live: bool = False) -> Explanation:
    """Explain a recorded episode.

    Args:
        episode: what its bag tells.
        line: its line of results, live or scored again.
        title: its id, and which attempt; '': its id.
        tree: what a behaviour tree did meanwhile, in the order of its times.
        notes: what else is to be said about the record.
        live: whether the line was written when the episode was carried out: what a bag that is
            cut off does not tell is taken from it.
    """
    first, last = (episode.received_ns[0], episode.received_ns[-1]) if episode.received_ns else (
        0, 0)
    own = [change for change in tree if first <= change.log_ns <= last + _AFTERWARDS_NS]
    if tree and not own:
        notes = (*notes, _OTHER_TIME)
    return _Reader(episode, line, own, live).explanation(title, notes)


def _plan_in_words(length: int | None) -> str:
    return 'a plan' if length is None else f'a plan of {counted(length, "action")}'


def explain_line(line: Mapping[str, Any], notes: Sequence[str] = ()) -> Explanation:
    """Explain an episode of which there is no bag, as far as its results tell."""
    plans, steps = list(line['plans']), []
    for number, entry in enumerate(line['actions']):
        own = [plan for plan in plans if plan['step'] == number]
        text = ('the planner found ' + ', then '.join(
            _plan_in_words(plan['length']) if plan['status'] == 'solved'
            else f'no plan ({words(plan["status"])})' for plan in own)
            if own else f'the model named it ({words(entry["proposal"])})'
            if entry.get('proposal') else 'no plan was made anew for it')
        steps.append(StepExplained(
            number, entry['action'] or '', entry['status'],
            became(entry['status'], ''), None, (), (), (), (), 0, (), (), False,
            Deciding('none', 'questions are not kept in results'), Why(text)))
    end = StepExplained(None, '', '', '', None, (), (), (), (), 0, (), (), False,
                        Deciding('none', 'questions are not kept in results'),
                        Why('see why it stopped'))
    return Explanation(
        line['id'], line['id'], line['method'], method_sentence(line['method']), line['model'],
        ' '.join(filter(None, (line['domain'], line['split'], line['problem']))), '', (), '',
        line['stop'], stopped(line['stop'], line['message'], line.get('max_actions')),
        line.get('max_actions'), (*steps, end), _truth_of_line(line), tuple(notes) or (NO_BAG,))


_GOAL_HELD = (StopReason.PLAN_DONE, StopReason.GOAL_REACHED)


class _Reader:
    """Explains the steps of a timeline, in order."""

    def __init__(self, episode: RecordedEpisode, line: Mapping[str, Any],
                 tree: Sequence[NodeChange], live: bool) -> None:
        self._episode, self._line, self._live = episode, line, live
        self._timeline = episode.timeline
        self._now: Step = self._timeline.steps[0]  # the step under way
        self._models: dict[str, InstantiatedModel | None] = {}
        self._plans: list[tuple[Action, ...]] = []
        self._done: list[Action] = []
        self._refused = ''
        self._seen: dict[str, Observation] = {}
        self._differs: tuple[int | None, tuple[Change, ...]] | None = None
        self._misplanned: tuple[int | None, tuple[Change, ...]] | None = None
        self._decisions = self._compared = 0
        self._answered: dict[Atom, None] = {}  # atoms answered with yes or no
        self._wrong: list[tuple[int | None, Atom, str, str]] = []
        self._own_names = _instructed(episode.spec.method)
        self._tree = list(tree)

    def explanation(self, title: str, notes: Sequence[str]) -> Explanation:
        """The whole explanation of the episode."""
        episode, spec = self._episode, self._episode.spec
        steps = self._steps()
        ended = self._timeline.end
        goal, goal_from = self._known_goal()
        told = spec.problem.instruction if _instructed(spec.method) else ''
        if ended is not None:
            reason, message = ended.reason.value, ended.message
            if ended.reason not in CHOSEN:
                steps[-1] = replace(steps[-1], deciding=Deciding('none', NOT_CHOSEN))
        elif self._live:
            reason, message = self._line['stop'], self._line['message']
            steps[-1] = replace(steps[-1], deciding=Deciding('none', CUT_OFF),
                                why=Why('not recorded'))
            cut = (f'the bag is cut off after {len(steps) - 1} of {len(self._line["actions"])} '
                   'actions; how it ended stands in the results')
            notes = (*notes, cut)
        else:
            reason = message = ''
        return Explanation(
            spec.id, title or spec.id, spec.method, method_sentence(spec.method),
            ', '.join(self._timeline.models),
            ' '.join(filter(None, (spec.problem.domain_name, spec.split, spec.problem.name))),
            told, tuple(map(str, goal)), goal_from,
            reason, stopped(reason, message, spec.max_actions) if reason else
            'the recording ends before the episode does: why it stopped is not recorded',
            spec.max_actions, tuple(steps), self._truth(),
            tuple(dict.fromkeys((*episode.warnings, *notes))), '', self._seen)

    # --- the goal, as the method knew it --------------------------------------------------------

    def _known_goal(self) -> tuple[tuple[Literal, ...], str]:
        """All that the method wanted in the episode, and where it knew it from, in words."""
        spec = self._episode.spec
        adopted = {event.source: event.goal for event in self._timeline.adopted}
        if _instructed(spec.method):
            if not adopted:
                return (), 'an instruction, of which the method made no goal'
            every = dict.fromkeys(literal for goal in adopted.values() for literal in goal)
            return tuple(every), (
                'read from ' + '; '.join(f'{source}: {" and ".join(map(str, goal))}'
                                         for source, goal in adopted.items()))
        if spec.pictured_goal:
            return () if not adopted else [*adopted.values()][-1], (
                f'read from {", ".join(adopted)}' if adopted else 'shown as a picture')
        return spec.problem.goal, 'told'

    @property
    def _goal(self) -> tuple[Literal, ...]:
        """The goal as the method knew it at the step under way."""
        if self._now.adopted is not None:
            return self._now.adopted.goal
        spec = self._episode.spec
        return () if spec.pictured_goal or _instructed(spec.method) else spec.problem.goal

    @property
    def _model(self) -> InstantiatedModel | None:
        """The actions of the problem as the method knew it at the step under way."""
        if self._own_names and self._now.adopted is None:
            return None
        problem = problem_known(self._episode.spec.problem, self._now.adopted)
        key = repr((problem.objects, problem.goal))
        if key not in self._models:
            try:
                self._models[key] = self._episode.domain.model(problem)
            except SightplanError:
                self._models[key] = None
        return self._models[key]

    @property
    def _belief(self) -> Belief | None:
        """The belief at the decision of the step under way."""
        return self._now.believed

    # --- steps ----------------------------------------------------------------------------------

    def _steps(self) -> list[StepExplained]:
        steps = self._timeline.steps
        found: list[StepExplained] = []
        for step in steps:
            self._now = step
            found.append(self._step(step))
            self._refused = (str(step.action.action) if step.action is not None and
                             step.action.feedback.status is FeedbackStatus.REJECTED else '')
        beliefs = [step.believed for step in steps]
        found = [replace(one, then=_changes(before, after)) for one, before, after in zip(
            found, beliefs, [*beliefs[1:], None], strict=True)]
        return _with_tree(found, self._tree, [step.moments[-1].received_ns for step in steps[:-1]])

    def _step(self, step: Step) -> StepExplained:
        number, stepped = step.index, step.action
        action = stepped.action if stepped is not None else None
        pictures: dict[str, None] = {}
        for moment in step.moments:
            if moment.observation is not None and not (moment.kind is Observed and pictures):
                self._show(moment.observation, pictures)
        provided = len(next((event.observation.privileged_facts
                             for event in reversed(step.events(Observed))), ()))
        said: dict[str, tuple[str, ...]] = {}  # in reply to other queries than yes/no questions
        for event in step.events(Asked):
            if not event.yes_no and not event.failed:
                said = event.replies[-1].texts()
        things = [line for label, lines in said.items() if label not in ('goal', 'unread')
                  for line in lines]
        proposals = step.events(Proposed)
        plans = step.events(Planned)
        updates = step.of(BeliefUpdated)
        # Whether a belief was published since the last action.
        fresh = bool(updates) or not step.moments or step.moments[0].belief is None
        for moment in step.moments:
            if moment.asked is not None:
                self._check(number, moment)
            elif moment.kind is Planned:
                self._compare_state(number, moment.belief, moment.now_ns)
        needed = self._preconditions(action)
        for planned in plans:
            if planned.result.status is PlanningStatus.SOLVED:
                self._plans.append(planned.result.plan)
        why = self._why(action, plans, proposals)
        if 'goal' in said or 'unread' in said:
            why = replace(why, reply=' '.join(said.get('goal', ())),
                          explanation=' '.join(said.get('unread', ())))
        matter = self._matters(needed, why, action)
        asked = [self._asked(moment, next(
            (update.event.belief for update in updates if update.number > moment.number), None),
            matter) for moment in step.of(Asked) if moment.asked is not None]
        if fresh:
            self._compare(number)
        if action is not None and stepped is not None and (
                stepped.feedback.status is FeedbackStatus.EXECUTED):
            self._done.append(action)
        kind = 'words' if proposals else 'none'
        return StepExplained(
            number, str(action or ''), stepped.feedback.status.value if stepped else '',
            became(stepped.feedback.status.value, stepped.feedback.message) if stepped else '',
            step.now_ns / 1e9 if step.now_ns > 0 else None,
            tuple(pictures)[-_MOST_PICTURES:], self._facts(needed if fresh else ()),
            self._obstacles(action) if fresh else (), self._facts(self._goal if fresh else ()),
            provided, tuple(things[:_MOST_THINGS]), tuple(asked),
            fresh and self._belief is not None,
            Deciding(kind, self._without_questions(bool(proposals), bool(things), provided, why)),
            why)

    def _without_questions(self, proposed: bool, detected: bool, provided: int, why: Why) -> str:
        """Explain what decided where no question did."""
        if proposed:
            return 'no question: the model proposed it'
        if self._refused:
            return f'no question: {self._refused} was refused'
        found = [text for text, is_so in (
            ('the things found in the picture', detected),
            ('the facts that were provided', provided > 0),
            ('the plan, which it continues', why.step > 1)) if is_so]
        return 'no question: ' + (f'it follows from {" and ".join(found)}' if found else
                                  'none was asked before it')

    def _show(self, seen: Observation, pictures: dict[str, None]) -> None:
        if seen.image_id and seen.altered is None:
            pictures[seen.image_id] = None
            self._seen[seen.image_id] = seen

    def _asked(self, moment: Moment[Asked], after: Belief | None,
               matters: Mapping[Atom, str]) -> Batch:
        event, before = moment.event, moment.belief
        of = f' of {event.action}' if event.action is not None else ''
        if event.purpose is AskPurpose.PICTURED_GOAL:  # it is about another picture
            before = after = None
        return Batch(moment.batch, f'{ABOUT[event.purpose]}{of}', event.observation.image_id,
                     event.seconds, event.model, rows_of(
                         moment.judged, matters, before, after, self._timeline.has_truth))

    def _preconditions(self, action: Action | None) -> tuple[Literal, ...]:
        if action is None or self._model is None:
            return ()
        try:
            return self._model.preconditions(action)
        except (InputError, KeyError, ValueError):
            return ()

    def _facts(self, literals: Iterable[Literal]) -> tuple[Fact, ...]:
        return tuple(_fact(literal, self._belief) for literal in literals)

    def _obstacles(self, action: Action | None) -> tuple[tuple[Fact, ...], ...]:
        """Sets of literals that together would make an action illegal, the likeliest first."""
        if action is None or self._model is None:
            return ()
        try:
            found = [self._facts(literals) for literals in self._model.obstacles(action)
                     if len(literals) > 1]
        except (InputError, KeyError, ValueError):
            return ()
        chances = [(min(_chance(fact) for fact in facts), facts) for facts in found]
        chances.sort(key=lambda pair: -pair[0])
        return tuple(facts for chance, facts in chances[:_MOST_OBSTACLES]
                     if chance >= _LEAST_CHANGE)

    def _why_ended(self, plans: Sequence[Planned]) -> str:
        """Say what was left of the last plan when the episode ended.

        Args:
            plans: since the last action, all of them solved.
        """
        ended = self._timeline.end
        plan = self._plans[-1] if self._plans else ()
        left = plan if plans else self._left(plan)
        were = 'was' if len(left) == 1 else 'were'
        if ended is not None and ended.reason in _GOAL_HELD:
            return 'the goal holds, as far as is known: ' + (
                f'{counted(len(left), "action")} of the last plan {were} not needed' if left else
                'nothing of the last plan was left')
        if not left:
            return 'nothing was planned after the last action'
        return (f'{left[0]} was next, or under way, when the episode ended: '
                f'{counted(len(left), "action")} of {len(plan)} of the last plan {were} left')

    def _left(self, plan: tuple[Action, ...]) -> tuple[Action, ...]:
        """What is left of a plan whose first actions were done last; nothing if they were not."""
        for count in range(min(len(plan), len(self._done)), 0, -1):
            if tuple(self._done[-count:]) == plan[:count]:
                return plan[count:]
        return ()

    def _matters(self, needed: Sequence[Literal], why: Why, action: Action | None,
                 ) -> dict[Atom, str]:
        """Purpose of atoms: the plan's actions, the action's precondition, or the goal."""
        found: dict[Atom, str] = {}
        for text in why.plan:
            try:
                step = Action.parse(text)
            except ValueError:
                continue
            found |= {literal.atom: 'plan' for literal in self._preconditions(step)}
        found |= {literal.atom: 'goal' for literal in self._goal}
        return found | {literal.atom: 'precondition' for literal in needed}

    # --- why ------------------------------------------------------------------------------------

    def _why(self, action: Action | None, plans: Sequence[Planned],
             proposals: Sequence[Proposed]) -> Why:
        towards = tuple(fact for fact in self._facts(self._goal) if fact.held is not True)
        if proposals:
            return _why_proposed(proposals[-1], towards)
        failed = [one.result for one in plans if one.result.status is not PlanningStatus.SOLVED]
        if action is None:
            text = ('the planner found no plan from what was believed'
                    f'{because(failed[-1].message)}' if failed else self._why_ended(plans))
            return Why(text, towards=towards)
        own = [one.result.plan for one in plans if one.result.status is PlanningStatus.SOLVED]
        firsts = [plan for plan in own if plan and plan[0] == action]
        others = tuple(dict.fromkeys(' → '.join(map(str, plan)) for plan in reversed(own)
                                     if plan and plan[0] != action))[:_MOST_ALTERNATIVES]
        if firsts:
            plan = firsts[-1]
            return Why(f'it is the first of a plan of {counted(len(plan), "action")} that the '
                       'planner found now',
                       tuple(map(str, plan)), 1, towards, others)
        again = self._done[-1:] == [action]
        earlier = self._plan_in_hand(action, self._done) or (
            self._plan_in_hand(action, self._done[:-1]) if again else None)
        if earlier is not None:
            plan, place = earlier
            return Why(f'it is action {place + 1} of {len(plan)} of a plan that was found '
                       f'earlier{", once more" if again else ""}',
                       tuple(map(str, plan[place:])), place + 1, towards, others)
        if action.name in self._episode.domain.views:
            return Why('it gives another view, to learn what could not be seen', towards=towards,
                       alternatives=others)
        sentence = method_sentence(self._episode.spec.method)
        return Why('no recorded plan has it' + (f'; it is what the method does: {sentence}'
                                                if sentence else ''),
                   towards=towards, alternatives=others)

    def _plan_in_hand(self, action: Action, done: Sequence[Action],
                      ) -> tuple[tuple[Action, ...], int] | None:
        """The earlier plan that an action continues, and the action's place in it.

        Of all places in all plans the one before which most of what was done last stands; of
        several the last one.
        """
        best: tuple[int, tuple[Action, ...], int] | None = None
        for plan in self._plans:
            for place, other in enumerate(plan):
                if other != action:
                    continue
                same = sum(1 for _ in itertools.takewhile(
                    lambda pair: pair[0] == pair[1],
                    zip(reversed(plan[:place]), reversed(done), strict=False)))
                if (same or not place) and (best is None or same >= best[0]):
                    best = same, plan, place
        return None if best is None else best[1:]

    # --- truth ----------------------------------------------------------------------------------

    def _compare(self, number: int | None) -> None:
        """Note the first belief at a decision that contains an error."""
        if not self._timeline.has_truth or self._belief is None:
            return
        pairs = self._beside_truth(self._belief, self._now.now_ns)
        self._decisions += 1
        self._compared += bool(pairs)
        wrong = [Change(str(atom), value, float(true)) for atom, value, true in pairs
                 if value is not None and abs(value - _HALF) > _UNSURE
                 and (value > _HALF) is not true]
        if self._differs is None:
            self._differs = _worst_first(number, wrong)

    def _compare_state(self, number: int | None, belief: Belief | None, now_ns: int) -> None:
        """Note the first planned-from state that contains an error.

        A state takes a side where the belief is unsure, and what is asked before an action may
        correct the belief after its plan was made.
        """
        if self._misplanned is None and belief is not None:
            state = belief.state
            self._misplanned = _worst_first(number, [
                Change(str(atom), float(atom in state) if value is None else value, float(true))
                for atom, value, true in self._beside_truth(belief, now_ns)
                if (atom in state) is not true])

    def _beside_truth(self, belief: Belief, now_ns: int,
                      ) -> list[tuple[Atom, float | None, bool]]:
        """Atoms, the belief in each, and whether it is true now, as far as that is known."""
        if not self._timeline.has_truth or self._own_names:
            return []
        atoms = dict.fromkeys((*belief.probabilities, *sorted(belief.state), *self._answered))
        return [(atom, believed(belief, atom), true) for atom in atoms
                if (true := self._timeline.holds(atom, now_ns)) is not None]

    def _check(self, number: int | None, moment: Moment[EpisodeEvent]) -> None:
        """Note wrong answers about an observation; a picture of the goal is skipped."""
        if not self._timeline.has_truth:
            return
        for judged in moment.judged:
            if judged.says is None or judged.event.purpose is AskPurpose.PICTURED_GOAL:
                continue
            question = judged.question
            self._answered[question.atom] = None
            if judged.wrong:
                self._wrong.append((number, question.atom, question.text,
                                    judged.answer.verdict.value))

    def _agreement(self) -> str:
        """Explain why no difference between belief and truth is shown."""
        if not self._timeline.of(BeliefUpdated):
            return 'the method published no belief'
        if self._own_names:
            return ('the belief is about things by names of its own, so it is not compared with '
                    'the truth')
        if not self._compared:
            return ('belief and truth could not be compared: no truth was recorded for the times '
                    'of its decisions')
        if self._timeline.end is None:
            return (f'at {self._compared} of {self._decisions} decisions that were recorded the '
                    'belief agreed with the truth')
        if self._compared < self._decisions:
            return (f'at {self._compared} of {self._decisions} decisions the belief agreed with '
                    'the truth; for the others no truth was recorded')
        return 'at every decision the belief agreed with the truth'

    def _truth(self) -> TruthExplained | None:
        if not self._timeline.has_truth:
            return _truth_of_line(self._line) if self._live else None
        found = _truth_of_line(self._line)
        differs = self._differs or self._misplanned
        if differs is None:
            return replace(found, first=self._agreement())
        number, wrong = differs
        atoms = {change.atom for change in wrong}
        answers = dict.fromkeys(
            ('the end' if step is None else f'step {step}', question, answer)
            for step, atom, question, answer in self._wrong
            if str(atom) in atoms and (number is None or (step is not None and step <= number)))
        where = 'at the end' if number is None else f'when action {number} was decided'
        what = 'belief and truth first differed' if self._differs else (
            'whenever an action was decided the belief was right or unsure, but the state from '
            'which its plan was made first differed from the truth')
        return replace(found, step=number, differences=wrong[:_MOST_CHANGES], first=(
            f'{what} {where}: {len(wrong)} atom'
            f'{"s" if len(wrong) != 1 else ""} '
            f'{"were" if len(wrong) != 1 else "was"} believed wrongly'),
            answers=tuple(answers)[-_MOST_CHANGES:])


def _worst_first(number: int | None, wrong: list[Change],
                 ) -> tuple[int | None, tuple[Change, ...]] | None:
    """Wrong beliefs at a decision, the worst first; None if there are none."""
    wrong.sort(key=lambda change: -change.moved)
    return (number, tuple(wrong)) if wrong else None


def _with_tree(steps: Sequence[StepExplained], tree: Sequence[NodeChange],
               times: Sequence[int]) -> list[StepExplained]:
    """Put changes of a tree to the steps during which they were recorded."""
    if not tree:
        return list(steps)
    found = []
    for place, step in enumerate(steps):
        low = times[place - 1] if place else 0
        high = times[place] if place < len(times) else None
        found.append(replace(step, tree=tuple(
            change for change in tree
            if change.log_ns > low and (high is None or change.log_ns <= high))))
    return found


def _fact(literal: Literal, belief: Belief | None) -> Fact:
    if belief is None:
        return Fact(str(literal), None, None)
    p = belief.probabilities.get(literal.atom)
    held = (literal.atom in belief.state) is literal.positive
    if p is None:
        return Fact(str(literal), None, held)
    return Fact(str(literal), p if literal.positive else 1.0 - p, held)


def _chance(fact: Fact) -> float:
    return float(bool(fact.held)) if fact.probability is None else fact.probability


def _changes(before: Belief | None, after: Belief | None) -> tuple[Change, ...]:
    if before is None or after is None:
        return ()
    atoms = dict.fromkeys((*before.probabilities, *after.probabilities,
                           *sorted(before.state ^ after.state)))
    changes = [Change(str(atom), believed(before, atom), believed(after, atom)) for atom in atoms]
    large = [one for one in changes if one.moved >= _LEAST_CHANGE]
    large.sort(key=lambda one: (-one.moved, one.atom))
    return tuple(large[:_MOST_CHANGES])


def _why_proposed(event: Proposed, towards: tuple[Fact, ...]) -> Why:
    proposal = event.proposal
    count = len(proposal.actions)
    text = (f'the model proposed {counted(count, "action")}; this is the first'
            if count else f'the model proposed no action that can be sent: '
            f'{words(proposal.status.value)}' + (f', {proposal.message}' if proposal.message
                                                  else ''))
    return Why(text, tuple(map(str, proposal.actions)), 1 if count else 0, towards, (),
               proposal.explanation, proposal.text,
               tuple((past.action, past.outcome) for past in event.history))


def _instructed(method: str) -> bool:
    try:
        return reads_instruction(method)
    except InputError:
        return False


def _truth_of_line(line: Mapping[str, Any]) -> TruthExplained:
    failure = line.get('failure') or {}
    solved = measures.solved(line)
    result = ('not scored: ' + str(line['error'] or words(line['stop'])) if solved is None else
              'the goal held at the end: solved' if solved else
              'the goal did not hold at the end: not solved')
    return TruthExplained(
        result, outcomes=tuple(
            (number, entry['action'] or '-', words(entry['outcome']))
            for number, entry in enumerate(line['actions'])
            if entry['outcome'] not in ('success', '')),
        wrong_answers=len(line['wrong']),
        goal_unmet=tuple(item['literal'] for item in line['goal_unmet']),
        cause=f'{words(failure["cause"])}: {failure["evidence"]["text"]}' if failure else '')
