"""Makes the view of an episode: out of its bag, or out of its line of results alone."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image

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
    FeedbackStatus,
    InputError,
    Literal,
    Observed,
    Planned,
    PlanningStatus,
    ProposalStatus,
    Proposed,
    SightplanError,
    Stepped,
    StopReason,
    counted,
)
from sightplan.model.timeline import Step, problem_known
from sightplan.records.bag_policy import NOT_KEPT
from sightplan.records.behaviour_tree import NodeChange
from sightplan.records.evidence import failure_picture
from sightplan.records.failure_picture import for_page
from sightplan.records.recorded import RecordedEpisode, read_episodes
from sightplan_report.episode_entries import ABOUT, Entries, act, entries_of_line
from sightplan_report.episode_truth import truth_of, truth_of_line
from sightplan_report.episode_view import (
    Batch,
    Change,
    Deciding,
    Entry,
    EpisodeView,
    Fact,
    Picture,
    StepView,
    TruthExplained,
    Why,
    believed,
    rows_of,
)
from sightplan_report.episode_words import (
    CHOSEN,
    CUT_OFF,
    NOT_CHOSEN,
    became,
    because,
    method_sentence,
    stopped,
)
from sightplan_report.html import jpeg_uri, words

_NO_BAG = ('This episode has no bag, so its images, right answers and beliefs are not shown. To '
           'record them: sightplan run --bags failed (or all); graphs of ROS nodes record them '
           'unless bags:= says otherwise.')
_IMPORTED = ('The results were imported: they have no bag, so images, right answers and beliefs '
             'are not known.')
_LEAST_CHANGE, _MOST_CHANGES, _MOST_PICTURES = 0.05, 8, 2
_MOST_ALTERNATIVES, _MOST_THINGS, _MOST_OBSTACLES = 3, 24, 3
_OTHER_TIME = ('the bag has the status log of a behaviour tree, but nothing of the time of this '
               'episode')
_AFTERWARDS_NS = 10**9
"""Time after an episode in which events of a behaviour tree still belong to it [ns]."""
T = TypeVar('T')

_GOAL_HELD = (StopReason.PLAN_DONE, StopReason.GOAL_REACHED)


def view(line: Mapping[str, Any], recorded: RecordedEpisode | None = None, *,
         folder: Path | None = None, key: str = 'episode', title: str = '', model: str = '',
         notes: Sequence[str] = (), tree: Sequence[NodeChange] = (), live: bool = True,
         ) -> EpisodeView:
    """Make the view of an episode.

    Args:
        line: its line of results, live or scored again.
        recorded: what its bag tells; None: only what the line has is shown.
        folder: the run directory; None for a bag without one.
        key: id of its section.
        title: its id, and which attempt; '': its id.
        model: name of the model, if another than that of the record.
        notes: what else is to be said about the record.
        tree: what a behaviour tree did meanwhile, in the order of its times.
        live: whether the line was written when the episode was carried out: what a bag that is
            cut off does not tell is taken from it.
    """
    made = _of_line(line, notes) if recorded is None else _Reader(
        recorded, line, tree, live).view(notes)
    failure, steps = line['failure'], made.steps
    if failure:
        here = min(failure['step'], len(steps) - 1)
        steps = (*steps[:here], replace(steps[here], here=True), *steps[here + 1:])
    return replace(
        made, steps=steps, key=key, title=title or made.title, model=model or made.model,
        run=folder.name if folder else '',
        picture=None if recorded else _failure_picture(folder, line))


def _failure_picture(folder: Path | None, line: Mapping[str, Any]) -> Picture | None:
    failure = line['failure']
    data = failure_picture(folder, line) if folder and failure else None
    if data is None:
        return None
    small = for_page(data)
    return Picture(
        jpeg_uri(small), failure['image_id'], f'the observation that shows it, step '
        f'{failure["step"]}', *Image.open(io.BytesIO(small)).size)


def _reached(line: Mapping[str, Any], goal: Iterable[str] | None,
             ) -> tuple[tuple[str, bool | None], ...]:
    """Each literal of a goal (None: those that did not hold), and whether it held at the end."""
    unmet = [item['literal'] for item in line['goal_unmet']]
    scored = measures.scored(line)
    return tuple((text, text not in unmet if scored else None)
                 for text in (unmet if goal is None else goal))


def _of_line(line: Mapping[str, Any], notes: Sequence[str]) -> EpisodeView:
    """An episode of which there is no bag, as far as its results tell."""
    unknown = Deciding('none', 'questions are not kept in results')
    entries, checks = entries_of_line(line)
    steps = [StepView(
        number, entry['action'] or '', entry['status'], became(entry['status'], ''), unknown,
        Why(_why_of_line(line, number, entry)), act(entry), entries=before, checks=after)
        for number, (entry, before, after) in enumerate(zip(line['actions'], entries, checks,
                                                            strict=False))]
    why = stopped(line['stop'], line['message'], line.get('max_actions'))
    steps.append(StepView(None, '', '', '', unknown, Why(why), _end(line), entries=entries[-1]))
    return EpisodeView(
        line['id'], line['id'], line['method'], method_sentence(line['method']), line['model'],
        ' '.join(filter(None, (line['domain'], line['split'], line['problem']))), '', (), '',
        line['stop'], why, line.get('max_actions'), tuple(steps), truth_of_line(line),
        tuple(notes), line, _reached(line, None), False, '', None, '')


def _why_of_line(line: Mapping[str, Any], number: int, entry: Mapping[str, Any]) -> str:
    plans = ['no plan (' + words(plan['status']) + ')' if plan['status'] != 'solved' else
             'a plan' if plan['length'] is None else
             f'a plan of {counted(plan["length"], "action")}'
             for plan in line['plans'] if plan['step'] == number]
    if plans:
        return 'the planner found ' + ', then '.join(plans)
    return (f'the model named it ({words(entry["proposal"])})' if entry.get('proposal') else
            'no plan was made anew for it')


def _end(line: Mapping[str, Any]) -> Entry:
    return Entry('end', f'end: {words(line["stop"])}')


def read_recorded(line: Mapping[str, Any], folder: Path, imported: bool = False,
                  read: Callable[[Path], Iterable[RecordedEpisode]] = read_episodes,
                  ) -> tuple[RecordedEpisode | None, str]:
    """Read a recorded episode from its bag.

    Args:
        line: its line of results; ``bag`` names the bag.
        folder: the run directory.
        imported: whether the results were imported.
        read: reads the episodes of a bag.

    Returns:
        the episode, and why there is none.
    """
    if not line.get('bag'):
        return None, _IMPORTED if imported else _NO_BAG
    bag = folder / str(line['bag'])
    if not bag.exists():
        return None, f'{bag.name}: {NOT_KEPT}, so only what the results have is shown'
    try:
        for episode in read(bag):
            if episode.spec.id == line['id']:
                return episode, ''
    except InputError as error:
        return None, f'the bag cannot be read ({error}), so only what the results have is shown'
    return None, f'{bag.name}: the bag does not hold this episode'


class _Reader:
    """Makes the steps of a timeline, in order."""

    def __init__(self, episode: RecordedEpisode, line: Mapping[str, Any],
                 tree: Sequence[NodeChange], live: bool) -> None:
        self._episode, self._line, self._live = episode, line, live
        self._timeline = episode.timeline
        self._now: Step = self._timeline.steps[0]  # the step under way
        self._models: dict[str, InstantiatedModel | None] = {}
        self._plans: list[tuple[Action, ...]] = []
        self._done: list[Action] = []
        self._refused = ''
        self._own_names = _instructed(episode.spec.method)
        self._tree = tree

    def view(self, notes: Sequence[str]) -> EpisodeView:
        """The whole view of the episode."""
        episode, spec, line = self._episode, self._episode.spec, self._line
        steps, tree_note = self._with_tree(self._steps())
        ended = self._timeline.end
        goal, goal_from = self._known_goal()
        if ended is not None:
            reason, message = ended.reason.value, ended.message
            if ended.reason not in CHOSEN:
                steps[-1] = replace(steps[-1], deciding=Deciding('none', NOT_CHOSEN))
        elif self._live:
            reason, message = line['stop'], line['message']
            steps[-1] = replace(steps[-1], deciding=Deciding('none', CUT_OFF),
                                why=Why('not recorded'))
            cut = (f'the bag is cut off after {len(steps) - 1} of {len(line["actions"])} '
                   'actions; how it ended stands in the results')
            notes = (*notes, cut)
        else:
            reason = message = ''
        return EpisodeView(
            spec.id, spec.id, spec.method, method_sentence(spec.method),
            ', '.join(self._timeline.models),
            ' '.join(filter(None, (spec.problem.domain_name, spec.split, spec.problem.name))),
            spec.problem.instruction if self._own_names else '', tuple(map(str, goal)), goal_from,
            reason, stopped(reason, message, spec.max_actions) if reason else
            'the recording ends before the episode does: why it stopped is not recorded',
            spec.max_actions, tuple(steps), self._truth(),
            tuple(dict.fromkeys((*episode.warnings, *notes, *tree_note))), line,
            _reached(line, map(str, spec.problem.goal)), True, '', None, '')

    def _truth(self) -> TruthExplained | None:
        if self._timeline.has_truth:
            return truth_of(self._timeline, self._line, self._own_names)
        return truth_of_line(self._line) if self._live else None

    def _with_tree(self, steps: list[StepView]) -> tuple[list[StepView], tuple[str, ...]]:
        """Put changes of a tree to the steps during which they were recorded; and a note."""
        moments = self._timeline.moments
        first, last = moments[0].received_ns, moments[-1].received_ns + _AFTERWARDS_NS
        own = [change for change in self._tree if first <= change.log_ns <= last]
        if not own:
            return steps, (_OTHER_TIME,) if self._tree else ()
        bounds = [0, *(moment.received_ns for moment in self._timeline.of(Stepped)), last]
        return [replace(step, tree=tuple(change for change in own if low < change.log_ns <= high))
                for step, (low, high) in zip(steps, itertools.pairwise(bounds), strict=True)], ()

    # --- the goal, as the method knew it --------------------------------------------------------

    def _known_goal(self) -> tuple[tuple[Literal, ...], str]:
        """All that the method wanted in the episode, and where it knew it from, in words."""
        spec = self._episode.spec
        adopted = {event.source: event.goal for event in self._timeline.adopted}
        if self._own_names:
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
        return () if spec.pictured_goal or self._own_names else spec.problem.goal

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

    # --- steps ----------------------------------------------------------------------------------

    def _steps(self) -> list[StepView]:
        steps = self._timeline.steps
        entries = Entries(self._episode)
        found: list[StepView] = []
        for number, step in enumerate(steps):
            self._now = step
            made = self._step(step)
            batches = {batch.number: batch for batch in made.batches}
            if step.checks:
                found[-1] = replace(found[-1], checks=entries.of(
                    step.checks, batches, f'step {number - 1}'))
            found.append(replace(made, entries=entries.of(
                step.moments[len(step.checks):], batches,
                'the end' if step.action is None else f'step {number}')))
            self._refused = (str(step.action.action) if step.action is not None and
                             step.action.feedback.status is FeedbackStatus.REJECTED else '')
        beliefs = [step.believed for step in steps]
        return [replace(one, then=_changes(before, after)) for one, before, after in zip(
            found, beliefs, [*beliefs[1:], None], strict=True)]

    def _step(self, step: Step) -> StepView:
        stepped = step.action
        action = stepped.action if stepped is not None else None
        pictures: dict[str, None] = {}
        for moment in step.moments:
            seen = moment.observation
            if seen is not None and seen.image_id and seen.altered is None and not (
                    moment.kind is Observed and pictures):
                pictures[seen.image_id] = None
        provided = len(next((event.observation.privileged_facts
                             for event in reversed(step.events(Observed))), ()))
        said: dict[str, tuple[str, ...]] = {}  # in reply to other queries than yes/no questions
        for event in step.events(Asked):
            if not event.yes_no and not event.failed:
                said = event.replies[-1].texts()
        things = [line for label, lines in said.items() if label not in ('goal', 'unread')
                  for line in lines]
        proposals, plans = step.events(Proposed), step.events(Planned)
        needed = self._preconditions(action)
        self._plans += [planned.result.plan for planned in plans
                        if planned.result.status is PlanningStatus.SOLVED]
        why = self._why(action, plans, proposals)
        if 'goal' in said or 'unread' in said:
            why = replace(why, reply=' '.join(said.get('goal', ())),
                          explanation=' '.join(said.get('unread', ())))
        batches = self._asked(step, self._matters(needed, why, action))
        deciding = Deciding('words' if proposals else 'none', self._without_questions(
            bool(proposals), bool(things), provided, why))
        made = StepView(
            step.index, str(action or ''), '', '', deciding, why, _end(self._line),
            step.now_ns / 1e9 if step.now_ns > 0 else None, tuple(pictures)[-_MOST_PICTURES:],
            provided=provided, things=tuple(things[:_MOST_THINGS]), batches=batches,
            believed=step.fresh and step.believed is not None)
        if step.fresh:
            made = replace(made, preconditions=self._facts(needed), goal=self._facts(self._goal),
                           obstacles=self._obstacles(action))
        return made if stepped is None else self._acted(made, stepped)

    def _acted(self, made: StepView, stepped: Stepped) -> StepView:
        """Add the action to a step, and what became of it."""
        status, actions = stepped.feedback.status, self._line['actions']
        if stepped.action is not None and status is FeedbackStatus.EXECUTED:
            self._done.append(stepped.action)
        entry = actions[stepped.index] if stepped.index < len(actions) else {
            'action': '', 'outcome': '', 'applicable': None, 'effects': None}
        shown = act({**entry, 'status': status.value}, made.action, stepped.seconds)
        return replace(made, status=status.value, act=shown,
                       became=became(status.value, stepped.feedback.message))

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

    def _asked(self, step: Step, matters: Mapping[Atom, str]) -> tuple[Batch, ...]:
        """The yes/no questions of a step."""
        updates, goal, found = step.of(BeliefUpdated), {one.atom for one in self._goal}, []
        for moment in step.of(Asked):
            if moment.asked is None:
                continue
            event, before = moment.event, moment.belief
            after = next((update.event.belief for update in updates
                          if update.number > moment.number), None)
            if event.purpose is AskPurpose.PICTURED_GOAL:  # it is about another picture
                before = after = None
            of = f' of {event.action}' if event.action is not None else ''
            found.append(Batch(
                moment.batch, f'{ABOUT[event.purpose]}{of}', event.observation.image_id,
                event.seconds, event.model, rows_of(moment.judged, matters, goal, before, after),
                event.prompt))
        return tuple(found)

    def _preconditions(self, action: Action | None) -> tuple[Literal, ...]:
        return self._of_model(lambda model, one: model.preconditions(one), action)

    def _of_model(self, ask: Callable[[InstantiatedModel, Action], Iterable[T]],
                  action: Action | None) -> tuple[T, ...]:
        """Literals of an action in the instantiated model; none, if the model lacks the action."""
        if action is not None and self._model is not None:
            with contextlib.suppress(InputError, KeyError, ValueError):
                return tuple(ask(self._model, action))
        return ()

    def _facts(self, literals: Iterable[Literal]) -> tuple[Fact, ...]:
        return tuple(_fact(literal, self._now.believed) for literal in literals)

    def _obstacles(self, action: Action | None) -> tuple[tuple[Fact, ...], ...]:
        """Sets of literals that together would make an action illegal, the likeliest first."""
        found = [self._facts(literals) for literals in self._of_model(
            lambda model, one: model.obstacles(one), action) if len(literals) > 1]
        likely = [facts for facts in found if min(map(_chance, facts)) >= _LEAST_CHANGE]
        likely.sort(key=lambda facts: -min(map(_chance, facts)))
        return tuple(likely[:_MOST_OBSTACLES])

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
        """Rest of a plan whose first actions were done last; nothing if they were not."""
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
    if proposal.status is ProposalStatus.FAILED:
        text = f'the model failed: {proposal.message}'
    elif count:
        text = f'the model proposed {counted(count, "action")}; this is the first'
    else:
        text = (f'the model proposed no action that can be sent: {words(proposal.status.value)}'
                + (f', {proposal.message}' if proposal.message else ''))
    return Why(text, tuple(map(str, proposal.actions)), 1 if count else 0, towards, (),
               proposal.explanation, proposal.text,
               tuple((past.action, past.outcome) for past in event.history))


def _instructed(method: str) -> bool:
    try:
        return reads_instruction(method)
    except InputError:
        return False
