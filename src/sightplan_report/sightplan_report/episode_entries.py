"""Events of a step of an episode, one by one, as its page shows them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

from PIL import Image

from sightplan.model import (
    Asked,
    AskPurpose,
    Atom,
    Belief,
    BeliefUpdated,
    EpisodeEvent,
    GoalAdopted,
    Observation,
    Observed,
    Planned,
    ProblemAdopted,
    Proposed,
    counted,
)
from sightplan.model.event_handler import EventHandler
from sightplan.model.timeline import Moment
from sightplan.records.recorded import RecordedEpisode
from sightplan_report.episode_view import AnswerRow, Batch, Change, Entry, Picture
from sightplan_report.grouping import grouped
from sightplan_report.html import jpeg_uri, words

ABOUT = {AskPurpose.ENUMERATION: 'what holds', AskPurpose.GOAL: 'whether the goal holds',
         AskPurpose.PICTURED_GOAL: 'what the picture of the goal shows',
         AskPurpose.PRECONDITION: 'preconditions', AskPurpose.EFFECT: 'effects',
         AskPurpose.LOOK: 'what else is seen'}
_ABOUT = {purpose.value: text for purpose, text in ABOUT.items()}
_WIDTH, _QUALITY, _LEAST_PIXELS = 420, 78, 8
_MOST_BELIEFS, _LEAST_CHANGE = 12, 0.05
_GOOD = ('success', '')
_CHECKED = {'true_positive': 'its check noticed that effects were missing',
            'false_positive': 'its check reported missing effects that were there',
            'false_negative': 'its check missed that effects were missing'}


class Entries(EventHandler):
    """Makes the entries of an episode's moments, step by step.

    Args:
        recorded: the episode.
    """

    def __init__(self, recorded: RecordedEpisode) -> None:
        self._recorded = recorded
        self._shown: dict[str, str] = {}  # where each picture was shown last
        self._facts: tuple[str, ...] = ()

    def of(self, moments: Iterable[Moment[EpisodeEvent]], batches: Mapping[int, Batch], where: str,
           ) -> tuple[Entry, ...]:
        """The entries of moments.

        Args:
            moments: the next ones, of one step.
            batches: the questions of the episode's batches, by their numbers.
            where: the step, in words.
        """
        self._found: list[Entry] = []
        self._batches, self._where = batches, where
        for moment in moments:
            self._moment = moment
            self.record(moment.event)
        return tuple(self._found)

    def on_observed(self, event: Observed) -> None:
        """Show the picture."""
        self._observe(event.observation)

    def on_asked(self, event: Asked) -> None:
        """Show questions and answers, or other queries and replies."""
        self._observe(event.observation)
        if not event.yes_no:
            self._found += _replies(event)
            return
        batch = self._batches[self._moment.batch]
        facts = tuple(filter(None, (batch.model, batch.prompt)))
        before, self._facts = self._facts, facts
        self._found.append(_questions(batch, () if facts == before else facts))

    def on_goal_adopted(self, event: GoalAdopted | ProblemAdopted) -> None:
        """Show the goal, and where it was read."""
        self._found.append(Entry('plan', f'goal adopted, from {event.source}', texts=(
            ('goal', ' · '.join(map(str, event.goal))),)))

    def on_problem_adopted(self, event: ProblemAdopted) -> None:
        """Show the goal, and where it was read."""
        self.on_goal_adopted(event)

    def on_believed(self, event: BeliefUpdated) -> None:
        """Show what changed of the belief."""
        self._found.append(self._beliefs(event.belief) if event.belief.probabilities else
                           self._state(event.belief))

    def on_planned(self, event: Planned) -> None:
        """Show the plan, or that there is none."""
        result = event.result
        self._found.append(_plan(
            result.status.value, len(result.plan), result.seconds, result.cached,
            ' → '.join(map(str, result.plan)), result.message))

    def on_proposed(self, event: Proposed) -> None:
        """Show the model's proposed actions."""
        self._observe(event.observation)
        self._found.append(_proposal(event))

    def _observe(self, seen: Observation) -> None:
        """Show what was seen, once for each step."""
        key = seen.image_id or str(seen.stamp_ns)
        if key in self._shown:
            if self._shown[key] != self._where and not any(
                    entry.kind == 'observation' for entry in self._found):
                self._found.append(Entry('observation', 'observation', picture=Picture(
                    '', key, f'same picture as in {self._shown[key]}')))
                self._shown[key] = self._where
            return
        self._shown[key] = self._where
        image = self._recorded.image(seen)
        picture = None
        if image is not None and min(image.shape[:2]) > _LEAST_PIXELS:
            picture = _small(Image.fromarray(image), key, 'the picture of the goal'
                             if seen.shows_goal else f'{seen.stamp_ns / 1e9:.2f} s')
        provided = tuple(('true' if holds else 'false', ' · '.join(
            str(atom) for atom, truth in seen.privileged_facts.items() if truth is holds))
            for holds in (True, False) if holds in seen.privileged_facts.values())
        if picture is not None or provided:
            self._found.append(Entry('observation', 'observation', picture=picture,
                                     texts=provided))

    def _beliefs(self, belief: Belief) -> Entry:
        before = self._moment.belief
        past, goal = before.probabilities if before else {}, self._goal
        changes = [Change(str(atom), past.get(atom), p, self._truth(atom), atom in goal)
                   for atom, p in belief.probabilities.items()]
        if before is None:
            title = f'first belief, {len(changes)} atoms'
            chosen = [c for c in changes if c.goal or 0.02 < (c.after or 0.0) < 0.98]
            chosen.sort(key=lambda c: (not c.goal, abs((c.after or 0.0) - 0.5), c.atom))
        else:
            chosen = [c for c in changes if c.before is None or c.moved >= _LEAST_CHANGE]
            title = (f'belief: {len(chosen) or "none"} of {len(changes)} atoms changed by '
                     f'{_LEAST_CHANGE:.2f} or more')
            chosen.sort(key=lambda c: (not c.goal, -c.moved, c.atom))
        more = len(chosen) - _MOST_BELIEFS
        return Entry('belief', title, changes=tuple(chosen[:_MOST_BELIEFS]),
                     facts=(f'and {more} more',) if more > 0 else ())

    def _state(self, belief: Belief) -> Entry:
        """A belief that is one state: the atoms that are taken for true."""
        def listed(atoms: Iterable[Atom], holds: bool) -> str:
            return ' · '.join(f'{atom} ✗' if self._truth(atom) is (not holds) else str(atom)
                              for atom in sorted(atoms))

        before = self._moment.belief
        if before is None:
            texts = [('true', listed(belief.state, True))]
            title = f'state: {len(belief.state)} atoms taken for true'
        else:
            texts = [('now true', listed(belief.state - before.state, True)),
                     ('now false', listed(before.state - belief.state, False))]
            title = f'state: {len(belief.state ^ before.state) or "no"} atoms changed'
        return Entry('belief', title, texts=tuple(text for text in texts if text[1]))

    @property
    def _goal(self) -> set[Atom]:
        """The atoms of the goal, as the method knows it at the moment."""
        adopted = self._moment.adopted
        goal = self._recorded.spec.problem.goal if adopted is None else adopted.goal
        return {literal.atom for literal in goal}

    def _truth(self, atom: Atom) -> bool | None:
        return self._recorded.timeline.holds(atom, self._moment.now_ns)


def _plan(status: str, length: int | None, took: float | None, cached: bool | None,
          plan: str = '', message: str = '') -> Entry:
    solved = status == 'solved'
    title = (f'no plan: {words(status)}' if not solved else
             'plan' if length is None else f'plan of {counted(length, "action")}')
    facts = tuple(filter(None, ('from the cache' if cached else '', message)))
    return Entry('plan', title, took, texts=(('plan', plan),) if plan else (), facts=facts,
                 good=None if solved else False)


def _proposal(event: Proposed) -> Entry:
    proposal = event.proposal
    good = None if proposal.status.value == 'planned' else False
    title = (f'proposal of {counted(len(proposal.actions), "action")}' if proposal.actions else
             f'proposal: {words(proposal.status.value)}')
    texts = [('plan', ' → '.join(map(str, proposal.actions))), ('why', proposal.explanation),
             ('named', proposal.named if not proposal.actions else ''),
             ('reply', proposal.text)]
    return Entry('proposal', title, proposal.seconds,
                 texts=tuple(text for text in texts if text[1]), facts=tuple(filter(None, (
                     proposal.message, 'repaired before it was read' if proposal.repaired else '',
                     proposal.model, event.prompt))), good=good)


def _replies(event: Asked) -> list[Entry]:
    """Rows of the queries that are no yes/no questions, with their replies in the kinds' words."""
    facts = (event.model,) if event.model else ()
    return [Entry('proposal', query.summary(), event.seconds, texts=tuple(
        (label, ', '.join(lines)) for label, lines in reply.texts().items()),
        facts=facts, good=None if reply.usable else False)
        for query, reply in zip(event.queries, event.replies, strict=True)]


def _questions(batch: Batch, facts: tuple[str, ...]) -> Entry:
    wrong = sum(row.wrong for row in batch.rows)
    known = any(row.truth is not None for row in batch.rows)
    remark = (f'{wrong} of {len(batch.rows)} wrong' if wrong else f'all {len(batch.rows)} right'
              if known else f'{len(batch.rows)}, truth not known')
    return Entry('questions', batch.about, batch.seconds, batch=batch, facts=(remark, *facts),
                 good=False if wrong else None)


def act(entry: Mapping[str, Any], action: str = '', took: float | None = None) -> Entry:
    """An action and what became of it.

    Args:
        entry: of the line's actions.
        action: instead of the entry's.
        took: wall-clock seconds.
    """
    status, outcome = entry['status'], entry['outcome']
    good: bool | None = status == 'executed' and outcome in _GOOD
    facts = []
    if status == 'withheld' and entry['applicable'] is not None:
        facts.append('it was legal' if entry['applicable'] else 'correctly: it was not legal')
        good = None if not entry['applicable'] else False
    if entry.get('proposal'):
        facts.append(words(entry['proposal']))
    if entry['effects'] in _CHECKED:
        facts.append(_CHECKED[entry['effects']])
    title = f'{action or entry["action"] or "-"}: {status}' + (
        f', in truth {words(outcome)}' if outcome not in _GOOD else '')
    return Entry('act', title, took, facts=tuple(facts), good=good)


def entries_of_line(line: Mapping[str, Any],
                    ) -> tuple[list[tuple[Entry, ...]], list[tuple[Entry, ...]]]:
    """Entries about the plans, wrong answers and unreadable replies of a line of results.

    Returns:
        the entries before each action and before the end, and those of the checks after each.
    """
    actions = line['actions']
    before: list[list[Entry]] = [[] for _ in range(len(actions) + 1)]
    after: list[list[Entry]] = [[] for _ in range(len(actions) + 1)]
    answers = line['failure']['evidence']['answers'] if line['failure'] else ()
    texts = {answer['atom']: answer.get('question') or '' for answer in answers}
    goal = {item['literal'].removeprefix('not ') for item in line['goal_unmet']}
    for (purpose, number), wrong in grouped(line['wrong'], lambda one: (one[0], one[3])).items():
        if number > len(actions):
            continue
        # The effects of an action are asked about after it was counted.
        check = purpose == AskPurpose.EFFECT.value and number > 0
        done = actions[number - 1]['action'] if number else 'no action'
        rows = tuple(AnswerRow(place, texts.get(atom, ''), atom, answer, truth=truth,
                                goal=atom in goal)
                     for place, (_, atom, answer, _, _, _, truth) in enumerate(wrong))
        about = {**_ABOUT, 'effect': f'effects of {done}'}.get(purpose, purpose)
        (after[number - 1] if check else before[number]).append(Entry(
            'questions', about, batch=Batch(-1, about, '', None, line['model'], rows),
            facts=(f'{len(rows)} wrong; right ones are not kept in the results',), good=False))
    for plan in line['plans']:
        before[min(plan['step'], len(actions))].append(_plan(
            plan['status'], plan['length'], plan['seconds'], plan['cached']))
    if line['unreadable']:
        before[-1].append(Entry('proposal', 'replies that could not be read', texts=tuple(
            ('reply', text) for text in line['unreadable']), good=False))
    return list(map(tuple, before)), list(map(tuple, after))


def _small(image: Image.Image, image_id: str, note: str) -> Picture:
    """An image as a small JPEG in a URI."""
    image.thumbnail((_WIDTH, _WIDTH), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, 'jpeg', quality=_QUALITY, optimize=True)
    return Picture(jpeg_uri(buffer.getvalue()), image_id, note, *image.size)
