"""Page of one episode, step by step: observations, questions, beliefs, plans, actions, truth.

``view`` puts an episode's bag, or its line of results alone, into the order in which people read
it; the template ``episode.jinja`` draws that.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image

from sightplan.metrics import measures
from sightplan.model import (
    Asked,
    AskPurpose,
    Atom,
    Belief,
    BeliefUpdated,
    EpisodeEnded,
    GoalAdopted,
    InputError,
    Observation,
    Observed,
    Planned,
    ProblemAdopted,
    Proposed,
    Stepped,
    counted,
)
from sightplan.model.event_handler import EventHandler
from sightplan.records.bag_policy import NOT_KEPT
from sightplan.records.evidence import failure_picture
from sightplan.records.failure_picture import for_page
from sightplan.records.recorded import RecordedEpisode
from sightplan_report.explaining import ABOUT
from sightplan_report.explanation import AskedAbout, Change, rows_of
from sightplan_report.grouping import grouped
from sightplan_report.html import jpeg_uri, render, words

HINT = ('This episode has no bag, so its images, right answers and beliefs are not shown. '
        'To record them: sightplan run --bags failed (or all); graphs of ROS nodes record them '
        'unless bags:= says otherwise.')
IMPORTED_HINT = ('The results were imported: they have no bag, so images, right answers and '
                 'beliefs are not known.')
_WIDTH, _QUALITY = 420, 78
_FOLD, _MOST_BELIEFS = 8, 12
_LEAST_CHANGE = 0.05
_MOST_TEXT = 4000
_GOOD = ('success', '')
_ABOUT = {purpose.value: text for purpose, text in ABOUT.items()}
_CHECKED = {'true_positive': 'its check noticed that effects were missing',
            'false_positive': 'its check reported missing effects that were there',
            'false_negative': 'its check missed that effects were missing'}


@dataclass(frozen=True, slots=True)
class Picture:
    """A camera image, small.

    Attributes:
        uri: that holds it; '' where it was shown in an earlier step already.
        image_id: of the observation.
        note: for people: when it was taken, or where it was shown.
        width: of the picture [pixels].
        height: likewise.
    """

    uri: str
    image_id: str
    note: str
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """One event of an episode, as the page shows it.

    Attributes:
        kind: observation, questions, belief, plan, proposal or act.
        title: in words.
        seconds: that it took, None where that is not known.
        picture: what was seen, of an observation.
        rows: questions, wrong ones first, then those about the goal.
        folded: further questions, all of them right or of unknown truth.
        changes: of a belief.
        texts: label and text, of what a model or planner wrote; of an observation, the privileged
            facts that came with it.
        facts: short remarks.
        good: False marks what went wrong, None what is neither.
    """

    kind: str
    title: str
    seconds: float | None = None
    picture: Picture | None = None
    rows: tuple[AskedAbout, ...] = ()
    folded: tuple[AskedAbout, ...] = ()
    changes: tuple[Change, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    facts: tuple[str, ...] = ()
    good: bool | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Events up to an action, the action, and the check of its effects.

    Attributes:
        number: of the action, from 0; None for what came after the last one.
        title: the action, and what became of it.
        blocks: in order.
        here: whether the failure shows here.
    """

    number: int | None
    title: str
    blocks: tuple[Block, ...]
    here: bool = False

    @property
    def wrong(self) -> int:
        """Number of wrong answers."""
        return sum(row.wrong for block in self.blocks for row in block.rows)

    @property
    def scenes(self) -> list[tuple[Block | None, list[Block]]]:
        """Observations (None: before the first), each with the events until the next one."""
        found: list[tuple[Block | None, list[Block]]] = []
        for block in self.blocks:
            if block.kind == 'observation':
                found.append((block, []))
            elif found:
                found[-1][1].append(block)
            else:
                found.append((None, [block]))
        return found


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """All data of an episode's page.

    Attributes:
        key: id of its section, unique in the page.
        line: its line of results.
        subtitle: method, model, run.
        result: in words.
        goal: each literal, and whether it held at the end (None: not known); without a bag only
            those that did not hold.
        picture: that shows the failure, where steps have no pictures.
        steps: in order.
        notes: what is missing, and how to get it.
        whole_goal: whether all literals of the goal are known.
    """

    key: str
    line: Mapping[str, Any]
    subtitle: str
    result: str
    goal: tuple[tuple[str, bool | None], ...]
    picture: Picture | None
    steps: tuple[Step, ...]
    notes: tuple[str, ...]
    whole_goal: bool

    @property
    def solved(self) -> bool | None:
        """Whether it was; None for one that is not scored."""
        return measures.solved(self.line)


def view(line: Mapping[str, Any], folder: Path, key: str = 'episode',
         recorded: RecordedEpisode | None = None, model: str = '', warning: str = '',
         hint: str = HINT) -> EpisodeView:
    """Make the view of an episode.

    Args:
        line: its line of results.
        folder: the run directory.
        key: id of the section.
        recorded: what its bag tells; None: only what the line has is shown.
        model: name of the model, if another than the line's.
        warning: why there is no ``recorded`` though there is a bag.
        hint: what is said where there is no bag.
    """
    failure, picture = line['failure'], None
    unmet = [item['literal'] for item in line['goal_unmet']]
    if recorded is None:
        steps = _steps_of_line(line)
        data = failure_picture(folder, line) if failure else None
        if data is not None:
            small = for_page(data)
            picture = Picture(
                jpeg_uri(small), failure['image_id'], f'the observation that shows it, step '
                f'{failure["step"]}', *Image.open(io.BytesIO(small)).size)
        notes = tuple(filter(None, (warning, '' if line.get('bag') and warning else hint)))
        goal = unmet
    else:
        steps = _Reader(recorded, line).steps()
        notes = tuple(recorded.warnings)
        goal = [str(literal) for literal in recorded.spec.problem.goal]
    if failure:
        here = min(failure['step'], len(steps) - 1)
        steps = [replace(step, here=number == here) for number, step in enumerate(steps)]
    scored = measures.scored(line)
    return EpisodeView(
        key, line, ', '.join(filter(None, (line['method'], model or line['model'], folder.name))),
        result_text(line), tuple((text, (text not in unmet) if scored else None) for text in goal),
        picture, tuple(steps), notes, recorded is not None)


def section(episode: EpisodeView) -> str:
    """Section of a page about an episode, as HTML."""
    return render('episode.jinja', e=episode)


def page(episode: EpisodeView) -> str:
    """A page of one episode alone: HTML, self-contained."""
    return render('alone.html.jinja', title=episode.line['id'], section=section(episode))


# ------------------------------------------------------------------------------------- the bag


class _Reader(EventHandler):
    """Puts events into steps: the checks of an action's effects belong to its step."""

    def __init__(self, recorded: RecordedEpisode, line: Mapping[str, Any]) -> None:
        self._recorded = recorded
        self._line = line
        self._shown: dict[str, str] = {}
        self._current: list[Block] = []
        self._done: list[tuple[int | None, str, list[Block]]] = []
        self._facts: tuple[str, ...] = ()
        self._waiting: list[Block] = []  # observations: they go where their questions go

    def steps(self) -> list[Step]:
        for moment in self._recorded.timeline.moments:
            self._moment = moment
            self.record(moment.event)
        self._current += self._waiting
        if self._current or not self._done:
            self._done.append((None, _end_title(self._line), self._current))
        return [Step(number, title, tuple(blocks)) for number, title, blocks in self._done]

    def on_observed(self, event: Observed) -> None:
        self._observe(event.observation)

    def on_asked(self, event: Asked) -> None:
        if not event.yes_no:
            self._observe(event.observation)
            self._flush().extend(_replies(event))
            return
        blocks = self._current
        if event.purpose is AskPurpose.EFFECT and self._done and not self._current:
            blocks = self._done[-1][2]
        self._observe(event.observation)
        blocks += [*self._waiting, self._questions(event)]
        self._waiting = []

    def on_goal_adopted(self, event: GoalAdopted | ProblemAdopted) -> None:
        self._flush().append(Block('plan', f'goal adopted, from {event.source}', texts=(
            ('goal', ' · '.join(map(str, event.goal))),)))

    def on_problem_adopted(self, event: ProblemAdopted) -> None:
        self.on_goal_adopted(event)

    def on_believed(self, event: BeliefUpdated) -> None:
        after_action = (not self._current and not self._waiting and self._done
                        and self._done[-1][2][-1].kind != 'act')
        blocks = self._done[-1][2] if after_action else self._flush()
        blocks.append(self._beliefs(event.belief))

    def on_planned(self, event: Planned) -> None:
        result = event.result
        self._flush().append(_plan(
            result.status.value, len(result.plan), result.seconds, result.cached,
            ' → '.join(map(str, result.plan)), result.message))

    def on_proposed(self, event: Proposed) -> None:
        self._observe(event.observation)
        self._flush().append(_proposal(event))

    def on_stepped(self, event: Stepped) -> None:
        blocks = self._flush()
        actions, status = self._line['actions'], event.feedback.status.value
        entry = actions[event.index] if event.index < len(actions) else {
            'action': '', 'outcome': '', 'applicable': None, 'effects': None}
        block = _act({**entry, 'status': status}, str(event.action or ''),
                     event.feedback.message, event.seconds)
        self._done.append((event.index, block.title, [*blocks, block]))
        self._current = []

    def on_ended(self, event: EpisodeEnded) -> None:
        self._flush()

    def _flush(self) -> list[Block]:
        self._current += self._waiting
        self._waiting = []
        return self._current

    def _observe(self, observation: Observation) -> None:
        """Show what was seen, once for each step."""
        key = observation.image_id or str(observation.stamp_ns)
        number = len(self._done)
        here = f'step {number}'
        if key in self._shown:
            if self._shown[key] != here and not any(
                    block.kind == 'observation' for block in [*self._current, *self._waiting]):
                self._waiting.append(Block('observation', 'observation', picture=Picture(
                    '', key, f'same picture as in {self._shown[key]}')))
                self._shown[key] = here
            return
        self._shown[key] = here
        image = self._recorded.image(observation)
        picture = None
        if image is not None and min(image.shape[:2]) > 8:
            picture = small_picture(Image.fromarray(image), key,
                                    f'{observation.stamp_ns / 1e9:.2f} s')
        provided = tuple(('true' if holds else 'false', ' · '.join(
            str(atom) for atom, truth in observation.privileged_facts.items() if truth is holds))
            for holds in (True, False) if holds in observation.privileged_facts.values())
        if picture is not None or provided:
            self._waiting.append(Block('observation', 'observation', picture=picture,
                                       texts=provided))

    def _questions(self, event: Asked) -> Block:
        rows = [replace(row, reply=_cut(row.reply)) for row in rows_of(
            self._moment.judged, dict.fromkeys(self._goal, 'goal'), truth=True)]
        what = _ABOUT[event.purpose.value]
        of = f' of {event.action}' if event.action is not None else ''
        facts = tuple(filter(None, (event.model, event.prompt)))
        before, self._facts = self._facts, facts
        return _questions(f'{what}{of}', rows, event.seconds, () if facts == before else facts)

    def _beliefs(self, belief: Belief) -> Block:
        before = self._moment.belief
        if not belief.probabilities:
            return self._state(belief, before)
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
        return Block('belief', title, changes=tuple(chosen[:_MOST_BELIEFS]),
                     facts=(f'and {more} more',) if more > 0 else ())

    def _state(self, belief: Belief, before: Belief | None) -> Block:
        """A belief that is one state: the atoms that are taken for true."""
        def listed(atoms: Iterable[Atom], holds: bool) -> str:
            wrong = {atom for atom in atoms if self._truth(atom) is (not holds)}
            return ' · '.join(f'{atom} ✗' if atom in wrong else str(atom)
                              for atom in sorted(atoms))

        if before is None:
            texts = [('true', listed(belief.state, True))]
            title = f'state: {len(belief.state)} atoms taken for true'
        else:
            texts = [('now true', listed(belief.state - before.state, True)),
                     ('now false', listed(before.state - belief.state, False))]
            title = f'state: {len(belief.state ^ before.state) or "no"} atoms changed'
        return Block('belief', title, texts=tuple(text for text in texts if text[1]))

    @property
    def _goal(self) -> set[Atom]:
        """The atoms of the goal, as the method knows it at the moment."""
        adopted = self._moment.adopted
        goal = self._recorded.spec.problem.goal if adopted is None else adopted.goal
        return {literal.atom for literal in goal}

    def _truth(self, atom: Atom) -> bool | None:
        return self._recorded.timeline.holds(atom, self._moment.now_ns)


def _plan(status: str, length: int | None, took: float | None, cached: bool | None,
          plan: str = '', message: str = '') -> Block:
    solved = status == 'solved'
    title = (f'no plan: {words(status)}' if not solved else
             'plan' if length is None else f'plan of {counted(length, "action")}')
    facts = tuple(filter(None, ('from the cache' if cached else '', message)))
    return Block('plan', title, took, texts=(('plan', plan),) if plan else (), facts=facts,
                 good=None if solved else False)


def _proposal(event: Proposed) -> Block:
    proposal = event.proposal
    good = None if proposal.status.value == 'planned' else False
    title = (f'proposal of {counted(len(proposal.actions), "action")}' if proposal.actions else
             f'proposal: {words(proposal.status.value)}')
    texts = [('plan', ' → '.join(map(str, proposal.actions))), ('why', proposal.explanation),
             ('named', proposal.named if not proposal.actions else ''),
             ('reply', proposal.text)]
    return Block('proposal', title, proposal.seconds,
                 texts=tuple((label, _cut(text)) for label, text in texts if text),
                 facts=tuple(filter(None, (proposal.message,
                                           'repaired before it was read' if proposal.repaired
                                           else '', proposal.model, event.prompt))), good=good)


def _replies(event: Asked) -> list[Block]:
    """Rows of the queries that are no yes/no questions, with their replies in the kinds' words."""
    facts = (event.model,) if event.model else ()
    return [Block('proposal', query.summary(), event.seconds, texts=tuple(
        (label, _cut(', '.join(lines))) for label, lines in reply.texts().items()),
        facts=facts, good=None if reply.usable else False)
        for query, reply in zip(event.queries, event.replies, strict=True)]


def _questions(title: str, rows: Sequence[AskedAbout], took: float | None,
               facts: tuple[str, ...]) -> Block:
    """Wrong ones first, then those about the goal; of many right ones only the first are open."""
    order = sorted(rows, key=lambda row: (not row.wrong, not row.goal, not row.surprising))
    striking = sum(row.wrong or row.goal or row.surprising for row in rows)
    shown = len(rows) if len(rows) <= _FOLD else max(striking, 1)
    wrong = sum(row.wrong for row in rows)
    known = any(row.truth is not None for row in rows)
    remark = (f'{wrong} of {len(rows)} wrong' if wrong else f'all {len(rows)} right' if known
              else f'{len(rows)}, truth not known')
    return Block('questions', title, took, rows=tuple(order[:shown]), folded=tuple(order[shown:]),
                 facts=(remark, *facts), good=False if wrong else None)


# ------------------------------------------------------------------------------------ the line


def _steps_of_line(line: Mapping[str, Any]) -> list[Step]:
    """Steps made of the line of results alone: actions, plans, and wrong answers."""
    actions = line['actions']
    blocks: list[list[Block]] = [[] for _ in range(len(actions) + 1)]
    checks: list[list[Block]] = [[] for _ in actions]
    answers = line['failure']['evidence']['answers'] if line['failure'] else ()
    texts = {answer['atom']: answer.get('question') or '' for answer in answers}
    goal = {item['literal'].removeprefix('not ') for item in line['goal_unmet']}
    for (purpose, number), wrong in grouped(line['wrong'], lambda one: (one[0], one[3])).items():
        if number >= len(blocks):
            continue
        # The effects of an action are asked about after it was counted.
        effect = purpose == AskPurpose.EFFECT.value and number > 0
        done = actions[number - 1]['action'] if number else 'no action'
        rows = tuple(AskedAbout(place, texts.get(atom, ''), atom, answer, truth=truth,
                                matters='goal' if atom in goal else '')
                     for place, (_, atom, answer, _, _, _, truth) in enumerate(wrong))
        (checks[number - 1] if effect else blocks[number]).append(Block(
            'questions', {**_ABOUT, 'effect': f'effects of {done}'}.get(purpose, purpose),
            rows=rows, facts=(f'{len(rows)} wrong; right ones are not kept in the results',),
            good=False))
    for plan in line['plans']:
        blocks[min(plan['step'], len(actions))].append(_plan(
            plan['status'], plan['length'], plan['seconds'], plan['cached']))
    if line['unreadable']:
        blocks[-1].append(Block('proposal', 'replies that could not be read', texts=tuple(
            ('reply', _cut(text)) for text in line['unreadable']), good=False))
    steps = []
    for number, entry in enumerate(actions):
        block = _act(entry)
        steps.append(Step(number, block.title, (*blocks[number], block, *checks[number])))
    if blocks[-1] or not steps:
        steps.append(Step(None, _end_title(line), tuple(blocks[-1])))
    return steps


def _act(entry: Mapping[str, Any], action: str = '', message: str = '',
         took: float | None = None) -> Block:
    """An action and what became of it.

    Args:
        entry: of the line's actions; empty where the line lacks it.
        action: instead of the entry's.
        message: of the feedback.
        took: wall-clock seconds.
    """
    status, outcome = entry['status'], entry['outcome']
    good: bool | None = status == 'executed' and outcome in _GOOD
    facts = [message] if message and message != outcome else []
    if status == 'withheld' and entry['applicable'] is not None:
        facts.append('it was legal' if entry['applicable'] else 'correctly: it was not legal')
        good = None if not entry['applicable'] else False
    if entry.get('proposal'):
        facts.append(words(entry['proposal']))
    if entry['effects'] in _CHECKED:
        facts.append(_CHECKED[entry['effects']])
    became = f': {status}' + (f', in truth {words(outcome)}' if outcome not in _GOOD else '')
    return Block('act', f'{action or entry["action"] or "-"}{became}', took, facts=tuple(facts),
                 good=good)


# ---------------------------------------------------------------------------------- the header


def _end_title(line: Mapping[str, Any]) -> str:
    return f'end: {words(line["stop"])}'


def result_text(line: Mapping[str, Any]) -> str:
    """Result of an episode by ground truth, in words."""
    if not measures.scored(line):
        return f'not scored: {line["error"] or words(line["stop"])}'
    if measures.solved(line):
        return f'solved in {counted(line["executed"], "action")}'
    if line['failure']:
        return f'failed: {words(line["failure"]["cause"])}'
    return f'not solved ({words(line["stop"])})'


def small_picture(image: Image.Image, image_id: str, note: str) -> Picture:
    """An image as a small JPEG in a URI."""
    image.thumbnail((_WIDTH, _WIDTH), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, 'jpeg', quality=_QUALITY, optimize=True)
    return Picture(jpeg_uri(buffer.getvalue()), image_id, note, *image.size)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else (
        f'{text[:_MOST_TEXT]} … ({len(text):,} characters)')


def read_recorded(line: Mapping[str, Any], folder: Path,
                  read: Callable[[Path], Iterable[RecordedEpisode]],
                  ) -> tuple[RecordedEpisode | None, str]:
    """Read a recorded episode from its bag.

    Args:
        line: its line of results; ``bag`` names the bag.
        folder: the run directory.
        read: reads the episodes of a bag.

    Returns:
        the episode, and why there is none.
    """
    if not line.get('bag'):
        return None, ''
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
